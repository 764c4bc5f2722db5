package cluster

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// The main goroutine keeps the process's first thread to itself: a goroutine that ends on it, locked to it, would leave it in
// a machine's namespaces for good, and /proc/self is that thread's.
func init() { runtime.LockOSThread() }

// namespaces names the files that hold a machine's namespaces.
// An empty name stands for the caller's own namespace.
type namespaces struct {
	net   string
	mount string
}

// do runs f on a thread inside the namespaces.
// Processes that f starts and sockets that f opens stay inside them.
func (n namespaces) do(f func() error) error {
	return onOwnThread(func() error {
		if err := n.enter(); err != nil {
			return err
		}
		return f()
	})
}

// onOwnThread runs f on a thread that is thrown away afterwards, whatever f did to it.
func onOwnThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		result <- f()
	}()
	return <-result
}

// enter moves the calling thread. The files are opened first, since the mount namespace may hide them.
func (n namespaces) enter() error {
	type step struct {
		file *os.File
		kind int
	}
	var steps []step
	for _, s := range []struct {
		path string
		kind int
	}{{n.net, unix.CLONE_NEWNET}, {n.mount, unix.CLONE_NEWNS}} {
		if s.path == "" {
			continue
		}
		file, err := os.Open(s.path)
		if err != nil {
			return fmt.Errorf("enter a namespace: %w", err)
		}
		defer file.Close()
		steps = append(steps, step{file, s.kind})
	}
	for _, s := range steps {
		if s.kind == unix.CLONE_NEWNS {
			// A thread that shares its root and working directory may not change mounts.
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare the working directory: %w", err)
			}
		}
		if err := unix.Setns(int(s.file.Fd()), s.kind); err != nil {
			return fmt.Errorf("enter %s: %w", s.file.Name(), err)
		}
	}
	return nil
}

// makeNetwork creates an empty network namespace and holds it at the file.
func makeNetwork(file string) error {
	return holdNamespace(file, "net", func() error { return unix.Unshare(unix.CLONE_NEWNET) }, nil)
}

// makeMounts creates a mount namespace, lets set arrange it, and holds it at the file.
func makeMounts(file string, set func() error) error {
	return holdNamespace(file, "mnt", func() error {
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") // what holds it is not to be seen inside
	}, set)
}

// holdNamespace runs create on a thread of its own and mounts that thread's namespace on the file, so that it lives until
// the file is unmounted, with no process needed inside; then set runs there.
func holdNamespace(file, kind string, create, set func() error) error {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return onOwnThread(func() error {
		own := fmt.Sprintf("/proc/%d/task/%d/ns/%s", os.Getpid(), unix.Gettid(), kind)
		hold := func() error {
			if err := create(); err != nil {
				return fmt.Errorf("make a %s namespace: %w", kind, err)
			}
			// From a thread that has stayed outside, where the file is to be seen.
			return onOwnThread(func() error { return unix.Mount(own, file, "", unix.MS_BIND, "") })
		}
		err := hold()
		if errors.Is(err, unix.EINVAL) {
			err = holdOnAnyProcessor(hold)
		}
		if err != nil {
			return fmt.Errorf("hold the namespace at %s: %w", file, err)
		}
		if set == nil {
			return nil
		}
		return set()
	})
}

// holdOnAnyProcessor tries again on each processor. The kernel lets a mount namespace be held only from one with a smaller
// number, and takes numbers from a stock of each processor's: from inside a namespace that was made a moment ago, as that of
// tests/fresh, those of another processor may be smaller.
func holdOnAnyProcessor(hold func() error) error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return err
	}
	err := error(unix.EINVAL)
	for cpu := 0; cpu < len(allowed)*64 && errors.Is(err, unix.EINVAL); cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil { // the thread's, which ends with this
			return err
		}
		err = hold()
	}
	return err
}
