package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime"
	"sort"
	"strings"
)

// The images that every node has. Pods use them with imagePullPolicy Never.
const (
	BusyboxImage = "fairlead.test/busybox:1"
	PauseImage   = "fairlead.test/pause:1"
)

// Image is a container image made of files of this machine.
type Image struct {
	Name       string
	Files      map[string]string // path in the image, such as bin/server: file of the host
	Links      map[string]string // path in the image, such as bin/sh: where the link points
	Entrypoint []string          // what always runs
	Command    []string          // its arguments, or what runs without an entrypoint, unless a Pod says otherwise
	Env        []string
}

// baseImages are the pause and busybox images; pause is a busybox that sleeps.
func baseImages() ([]Image, error) {
	const busybox = "/bin/busybox"
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list the applets of %s: %w; install the package busybox-static", busybox, err)
	}
	links := map[string]string{}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			links["bin/"+applet] = "busybox"
		}
	}
	files := map[string]string{"bin/busybox": busybox}
	env := []string{"PATH=/bin"}
	return []Image{
		{Name: BusyboxImage, Files: files, Links: links, Command: []string{"/bin/sh"}, Env: env},
		{Name: PauseImage, Files: files, Entrypoint: []string{"/bin/busybox", "tail", "-f", "/dev/null"}, Env: env},
	}, nil
}

// WriteImages writes images into one archive that Node.LoadImage takes.
func WriteImages(archive string, images ...Image) error {
	blobs := map[string][]byte{}
	var manifests []map[string]any
	for _, image := range images {
		manifest, err := image.addTo(blobs)
		if err != nil {
			return fmt.Errorf("make the image %s: %w", image.Name, err)
		}
		manifests = append(manifests, manifest)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": manifests})
	if err != nil {
		return err
	}
	files := map[string][]byte{"index.json": index, "oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	for digest, blob := range blobs {
		files["blobs/sha256/"+strings.TrimPrefix(digest, "sha256:")] = blob
	}
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	out := tar.NewWriter(file)
	for _, name := range sortedKeys(files) {
		if err := addFile(out, name, 0o644, files[name]); err != nil {
			return err
		}
	}
	return out.Close()
}

// addTo puts the image's blobs among the others and returns its line of the index.
func (image Image) addTo(blobs map[string][]byte) (map[string]any, error) {
	layer, err := image.layer()
	if err != nil {
		return nil, err
	}
	add := func(kind string, blob []byte) map[string]any {
		sum := sha256.Sum256(blob)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs[digest] = blob
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": digest, "size": len(blob)}
	}
	layerEntry := add("layer.v1.tar", layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": image.Entrypoint, "Cmd": image.Command, "Env": image.Env},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []any{layerEntry["digest"]}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        add("config.v1+json", config),
		"layers":        []any{layerEntry},
	})
	if err != nil {
		return nil, err
	}
	entry := add("manifest.v1+json", manifest)
	entry["annotations"] = map[string]string{"io.containerd.image.name": image.Name}
	return entry, nil
}

// layer is the image's only layer, the same bytes for the same files.
func (image Image) layer() ([]byte, error) {
	var buffer bytes.Buffer
	out := tar.NewWriter(&buffer)
	for _, folder := range image.folders() {
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: folderMode(folder)})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range sortedKeys(image.Files) {
		content, err := os.ReadFile(image.Files[name])
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(image.Files[name])
		if err != nil {
			return nil, err
		}
		if err := addFile(out, name, int64(info.Mode().Perm()), content); err != nil {
			return nil, err
		}
	}
	for _, name := range sortedKeys(image.Links) {
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: image.Links[name], Mode: 0o777})
		if err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return buffer.Bytes(), err
}

// folders are all folders that the files need, and /tmp, parents first.
func (image Image) folders() []string {
	needed := map[string]bool{"tmp": true}
	for _, names := range []map[string]string{image.Files, image.Links} {
		for name := range names {
			for folder := path.Dir(name); folder != "." && folder != "/"; folder = path.Dir(folder) {
				needed[folder] = true
			}
		}
	}
	return sortedKeys(needed)
}

func folderMode(folder string) int64 {
	if folder == "tmp" {
		return 0o1777
	}
	return 0o755
}

func addFile(out *tar.Writer, name string, mode int64, content []byte) error {
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}
	if err := out.WriteHeader(&header); err != nil {
		return err
	}
	_, err := io.Copy(out, bytes.NewReader(content))
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
