package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

// Rows of the contract's list (node-interfaces.md §13.7) that are about a container's start, on the node that all share:
// its driver is the driver container's.
var sharedHost = hosts[3]

// says waits for a Pod's containers and checks what each has said.
func (r *rig) says(pod *corev1.Pod, words map[string][]string) {
	r.Helper()
	said := r.ended(pod)
	for container, all := range words {
		text := said[pod.Name+"/"+container]
		for _, word := range append(all, "the program ended with 0\n") {
			if !strings.Contains(text, word) {
				r.Errorf("%s does not say %q, but\n%s", container, word, text)
			}
		}
	}
}

// An image and a Pod that have an LD_LIBRARY_PATH keep it, and the program finds the driver's library all the same.
func TestRow22TheLibraryPathOfImageAndPodIsKept(t *testing.T) {
	r := oneNode(t)
	b, err := newBoxMaker(t.TempDir())
	r.must(err)
	withPath := box{"path", debianBox}
	image, err := b.image(withPath, "LD_LIBRARY_PATH=/opt/image")
	r.must(err)
	archive := filepath.Join(b.dir, "path.tar")
	r.must(cluster.WriteImages(archive, image))
	r.must(r.n.LoadImage(t.Context(), archive))
	pod := looker("row22", r.n.Name, []box{withPath}, way{"image", asUser(0), ""}, way{"pod", asUser(0), ""})
	pod.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "LD_LIBRARY_PATH", Value: "/opt/pod"}}
	found := "libcuda.so.1: " + sharedHost.libraries + "/libcuda.so."
	r.says(pod, map[string][]string{
		"path-image": {"LD_LIBRARY_PATH is [/opt/image]\n", found},
		"path-pod":   {"LD_LIBRARY_PATH is [/opt/pod]\n", found},
	})
}

// Entries of the image's cache are kept: by them alone the program finds its libc and a library of its own.
func TestRow23TheImagesCacheEntriesAreKept(t *testing.T) {
	r := oneNode(t)
	loadBoxes(t, r.n)
	r.says(looker("row23", r.n.Name, boxes[1:2], ways[0]), map[string][]string{
		"rhel-root": {"libown.so.1: /" + ownFolder + "/libown.so.1 answers 7\n", "libcuda.so.1: " + sharedHost.libraries + "/libcuda.so."},
	})
}

// On a root file system that it may not write, a user without rights finds libraries, for the runtime makes the root
// read-only after the hook, and its files can be read by everybody.
func TestRow27AReadOnlyRootAndUser1000(t *testing.T) {
	r := oneNode(t)
	loaded := loadBoxes(t, r.n)
	both := way{"1000", func(security *corev1.SecurityContext) { asUser(1000)(security); readOnlyRoot(security) },
		"user 1000\ntouch: /written: Read-only file system"}
	said := r.ended(looker("row27", r.n.Name, loaded, both))
	for _, box := range loaded {
		t.Run(box.name, func(t *testing.T) { sees(t, said["row27/"+box.name+"-1000"], sharedHost, box, both) })
	}
}

// In a user namespace of its own, whose root is nobody on the host: device nodes, links, cache and libraries are there. A
// runtime cannot make device nodes there, and mounts those of the host's own /dev, which is why the host is one that has
// them there, and not in the driver's root.
func TestRow28HostUsersFalse(t *testing.T) {
	cos := hosts[2]
	options, err := hostsCluster(1, cos)
	cluster.Must(t, err)
	r := apart(t, options)
	loaded := loadBoxes(t, r.n)
	allowUserNamespaces(t, r.n)
	r.hasGPUs(8, 8)
	inside := way{"inside", func(*corev1.SecurityContext) {}, "      65536\n"} // as many users as it may have
	pod := looker("row28", r.n.Name, loaded, inside)
	no, class := false, userns
	pod.Spec.HostUsers, pod.Spec.RuntimeClassName = &no, &class
	said := r.ended(pod)
	for _, box := range loaded {
		t.Run(box.name, func(t *testing.T) {
			text := said["row28/"+box.name+"-inside"]
			sees(t, text, cos, box, inside)
			if strings.Contains(text, "users from          0          0 ") {
				t.Errorf("its root is the host's:\n%s", text)
			}
		})
	}
}

// byHand is a container that the test starts without a kubelet, in a root of its own, with a CDI device.
type byHand struct {
	r    *rig
	root string // as the node sees it
	kind string // of the agent's CDI devices
}

func (r *rig) byHand(name string) byHand {
	r.Helper()
	h := byHand{r: r, root: "/var/lib/" + name}
	b, err := newBoxMaker(r.TempDir())
	r.must(err)
	r.must(b.root(boxes[0], r.n.Path(h.root)))
	files, err := filepath.Glob(r.n.Path("/run/cdi") + "/*nvidia*gpu*.json")
	if err != nil || len(files) != 1 {
		r.Fatalf("CDI files: %q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	r.must(err)
	var spec struct{ Kind string }
	r.must(json.Unmarshal(text, &spec))
	h.kind = spec.Kind
	r.Cleanup(func() {
		if err := os.RemoveAll(r.n.Path(h.root)); err != nil {
			r.Error(err)
		}
	})
	return h
}

// run runs a shell's words in it and returns what they said.
func (h byHand) run(name, words string) string {
	h.r.Helper()
	said, err := h.r.n.Command(cluster.Within(h.r, moment), "ctr", "-a", "/run/containerd/containerd.sock", "run", "--rm", "--rootfs",
		"--cgroup=", "--env="+boxPath, "--device="+h.kind+"=0", h.root, name, "/bin/sh", "-c", words).Output()
	h.r.must(err)
	return said
}

// A root that is on a read-only disk: nothing can be written for the loader, and the container starts all the same.
func TestRow29AContainerOnAReadOnlyDiskStarts(t *testing.T) {
	r := oneNode(t)
	h := r.byHand("row29")
	root := r.n.Path(h.root)
	cache, err := os.ReadFile(filepath.Join(root, "etc/ld.so.cache"))
	r.must(err)
	if said := h.run("row29-writable", looks); !strings.Contains(said, "the program ended with 0\n") { // makes places to mount on
		t.Fatalf("on a disk that can be written it says\n%s", said)
	}
	for _, name := range []string{"libcuda.so", "libcuda.so.1"} {
		r.must(os.Remove(filepath.Join(root, sharedHost.libraries, name)))
	}
	r.must(os.WriteFile(filepath.Join(root, "etc/ld.so.cache"), cache, 0o644))
	r.readOnly(h.root)
	said := h.run("row29", looks)
	for _, word := range []string{"the program ended with 127\n", "touch: /written: Read-only file system\n", "/dev/nvidiactl\n", "not the real one\n"} {
		if !strings.Contains(said, word) {
			t.Errorf("it does not say %q, but\n%s", word, said)
		}
	}
	if now, err := os.ReadFile(filepath.Join(root, "etc/ld.so.cache")); err != nil || string(now) != string(cache) {
		t.Errorf("the image's cache is another one now, or gone: %v", err)
	}
}
