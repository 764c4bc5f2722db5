package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// A box is an image of some shape with the program tests/fake/uses_cuda.c, and a library that only the image's own loader
// configuration finds (of busybox: the loader's own directories).
type box struct {
	name string
	make func(b *boxMaker, root string) error
}

const (
	ownFolder  = "opt/own/lib" // of the image's library
	usesCuda   = "/app/uses-cuda"
	glibc      = "/lib64/ld-linux-x86-64.so.2"
	muslLoader = "/lib/ld-musl-x86_64.so.1"
)

var boxes = []box{{"debian", debianBox}, {"rhel", rhelBox}, {"musl", muslBox}, {"busybox", busyboxBox}}

func (b box) image() string { return "fairlead.test/box-" + b.name + ":1" }

// boxMaker has the files of this machine that images are made of.
type boxMaker struct {
	program, own, libc      string // for glibc
	muslProgram, muslOwn    string
	busybox, whyNoMusl, dir string
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// put copies files into an image's root, from and to in turn.
func put(root string, names ...string) (err error) {
	for i := 0; i < len(names); i += 2 {
		err = errors.Join(err, copyFile(names[i], filepath.Join(root, names[i+1])))
	}
	return err
}

func write(root, name, content string) error {
	file := filepath.Join(root, name)
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644))
}

// debianBox: glibc in the directory of its architecture, /lib and the like as links into /usr, with a cache.
func debianBox(b *boxMaker, root string) error {
	return errors.Join(
		put(root, b.program, usesCuda, b.libc, "usr/lib/x86_64-linux-gnu/libc.so.6", glibc, "usr"+glibc, b.own, ownFolder+"/libown.so.1"),
		links(root, "lib", "usr/lib", "lib64", "usr/lib64", "bin", "usr/bin"), put(root, b.busybox, "usr/bin/busybox"),
		write(root, "etc/debian_version", "12.0\n"), makeCache(root, "/"+ownFolder))
}

// rhelBox: glibc in /usr/lib64. This machine's glibc finds its libc there by the cache alone: nothing starts without the
// image's own entries.
func rhelBox(b *boxMaker, root string) error {
	return errors.Join(
		put(root, b.program, usesCuda, b.libc, "usr/lib64/libc.so.6", glibc, "usr"+glibc, b.own, ownFolder+"/libown.so.1"),
		links(root, "lib", "usr/lib", "lib64", "usr/lib64", "bin", "usr/bin"), put(root, b.busybox, "usr/bin/busybox"),
		write(root, "etc/redhat-release", "9\n"), makeCache(root, "/usr/lib64", "/"+ownFolder))
}

func muslBox(b *boxMaker, root string) error {
	return errors.Join(
		put(root, b.muslProgram, usesCuda, muslLoader, muslLoader, b.muslOwn, ownFolder+"/libown.so.1", b.busybox, "bin/busybox"),
		write(root, "etc/alpine-release", "3.20.0\n"), write(root, "etc/ld-musl-x86_64.path", "/lib\n/usr/lib\n/"+ownFolder+"\n"))
}

// busyboxBox: a static busybox and what a program of glibc needs; no /etc.
func busyboxBox(b *boxMaker, root string) error {
	return put(root, b.program, usesCuda, b.libc, "lib/libc.so.6", glibc, glibc, b.own, "lib/libown.so.1", b.busybox, "bin/busybox")
}

// newBoxMaker compiles the program for musl and finds the rest.
func newBoxMaker(dir string) (*boxMaker, error) {
	b := &boxMaker{dir: dir, libc: "/lib/x86_64-linux-gnu/libc.so.6"}
	var errs [4]error
	b.program, errs[0] = gpus.Program("tests", "fake", "uses_cuda")
	b.own, errs[1] = gpus.Program("tests", "fake", "libown.so.1")
	cuda, err := gpus.Program("tests", "fake", "libcuda.so.1")
	errs[2] = err
	b.busybox, errs[3] = exec.LookPath("busybox")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	compiler, err := exec.LookPath("musl-gcc")
	if err != nil {
		b.whyNoMusl = "the package musl-tools is missing: ./dev setup installs it"
		return b, nil
	}
	b.muslProgram, b.muslOwn = filepath.Join(dir, "uses-cuda"), filepath.Join(dir, "libown.so.1")
	fake := filepath.Join(gpus.Build(), "..", "tests", "fake")
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libown.so.1", "-o", b.muslOwn, filepath.Join(fake, "own.c")},
		{"-Wl,--allow-shlib-undefined", "-o", b.muslProgram, filepath.Join(fake, "uses_cuda.c"), cuda, b.muslOwn},
	} {
		if said, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("musl-gcc %s: %w\n%s", strings.Join(args, " "), err, said)
		}
	}
	return b, nil
}

// root makes a box's files in a directory, with a shell in it.
func (b *boxMaker) root(box box, root string) error {
	if err := box.make(b, root); err != nil {
		return fmt.Errorf("the image %s: %w", box.name, err)
	}
	bin, err := os.Readlink(filepath.Join(root, "bin"))
	if err != nil {
		bin = "bin"
	}
	var names []string
	for _, applet := range []string{"sh", "ls", "cat", "readlink", "id", "touch"} {
		names = append(names, bin+"/"+applet, "busybox")
	}
	return links(root, names...)
}

// boxPath is the PATH of all boxes.
const boxPath = "PATH=/usr/local/bin:/usr/bin:/bin:/app"

// image makes a box's image, with further environment.
func (b *boxMaker) image(box box, env ...string) (cluster.Image, error) {
	root := filepath.Join(b.dir, "root-"+box.name)
	image := cluster.Image{Name: box.image(), Files: map[string]string{}, Links: map[string]string{}, Env: append([]string{boxPath}, env...)}
	if err := b.root(box, root); err != nil {
		return image, err
	}
	return image, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.Type()&fs.ModeSymlink != 0:
			image.Links[name], err = os.Readlink(path)
		case entry.Type().IsRegular():
			image.Files[name] = path
		}
		return err
	})
}

// loadBoxes gives nodes the images, and returns those that this machine can make.
func loadBoxes(t *testing.T, nodes ...*cluster.Node) (made []box) {
	t.Helper()
	b, err := newBoxMaker(t.TempDir())
	cluster.Must(t, err)
	var images []cluster.Image
	for _, box := range boxes {
		if box.name == "musl" && b.whyNoMusl != "" {
			t.Run("musl", func(t *testing.T) { t.Skip("skipped: " + b.whyNoMusl) })
			continue
		}
		image, err := b.image(box)
		cluster.Must(t, err)
		images, made = append(images, image), append(made, box)
	}
	archive := filepath.Join(b.dir, "boxes.tar")
	cluster.Must(t, cluster.WriteImages(archive, images...))
	var wait sync.WaitGroup
	errs := make([]error, len(nodes))
	for i, node := range nodes {
		wait.Go(func() { errs[i] = node.LoadImage(t.Context(), archive) })
	}
	wait.Wait()
	cluster.Must(t, errors.Join(errs...))
	return made
}
