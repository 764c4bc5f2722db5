package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Every process of a cluster is born in a cgroup below fairlead-cluster-NAME in the version 2 hierarchy
// and stays there whatever it forks. So the whole cluster, or all of one node, ends at one write,
// and nothing has to be remembered about processes. The kubelet's own limits live below the same
// name in whatever hierarchies the machine has.

// hierarchies are the places where the machine shows its cgroups.
type hierarchies struct {
	unified     string   // version 2
	controllers []string // version 1, one a controller; none on a machine with version 2 alone
}

func findHierarchies() (hierarchies, error) {
	var h hierarchies
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return h, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		place := strings.Fields(before)[4]
		switch kind, _, _ := strings.Cut(after, " "); kind {
		case "cgroup":
			h.controllers = append(h.controllers, place)
		case "cgroup2":
			if h.unified == "" {
				h.unified = place
			}
		}
	}
	if h.unified == "" {
		return h, errors.New("no cgroup2 file system is mounted; mount one: mount -t cgroup2 none /sys/fs/cgroup/unified")
	}
	return h, lines.Err()
}

// makeProcessCgroup makes a cgroup that processes are started in.
func (h hierarchies) makeProcessCgroup(name string) error {
	return os.MkdirAll(filepath.Join(h.unified, name), 0o755)
}

// makeNodeCgroup makes the cgroup below which a kubelet keeps its Pods.
func (h hierarchies) makeNodeCgroup(name string) error {
	if err := h.makeProcessCgroup(name); err != nil {
		return err
	}
	if len(h.controllers) == 0 {
		return h.enableControllers(name)
	}
	for _, controller := range h.controllers {
		if err := os.MkdirAll(filepath.Join(controller, name), 0o755); err != nil {
			return err
		}
		if err := inheritCpuset(controller, name); err != nil {
			return err
		}
	}
	return nil
}

// inheritCpuset copies the processors and memory nodes from level to level:
// a new cpuset is empty, and nothing can run in it.
func inheritCpuset(controller, name string) error {
	parent := controller
	for _, level := range strings.Split(name, "/") {
		child := filepath.Join(parent, level)
		for _, key := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(parent, key))
			if errors.Is(err, fs.ErrNotExist) {
				continue // not the cpuset hierarchy
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(child, key), value, 0); err != nil {
				return err
			}
		}
		parent = child
	}
	return nil
}

// enableControllers passes all controllers down to name on a machine with version 2 alone.
func (h hierarchies) enableControllers(name string) error {
	names, err := os.ReadFile(filepath.Join(h.unified, "cgroup.controllers"))
	if err != nil {
		return err
	}
	place := h.unified
	for _, level := range append([]string{""}, strings.Split(name, "/")...) {
		place = filepath.Join(place, level)
		for _, controller := range strings.Fields(string(names)) {
			err := os.WriteFile(filepath.Join(place, "cgroup.subtree_control"), []byte("+"+controller), 0)
			if err != nil {
				return fmt.Errorf("pass the %s controller on: %w", controller, err)
			}
		}
	}
	return nil
}

// killAll ends every process in the cgroup and below it, and waits until they are gone.
func (h hierarchies) killAll(ctx context.Context, name string) error {
	place := filepath.Join(h.unified, name)
	err := os.WriteFile(filepath.Join(place, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return waitUntilEmpty(ctx, filepath.Join(place, "cgroup.events"))
}

// waitUntilEmpty waits for the kernel's word that no live process is left in a cgroup.
func waitUntilEmpty(ctx context.Context, events string) error {
	file, err := os.Open(events)
	if err != nil {
		return err
	}
	defer file.Close()
	text := make([]byte, 256)
	for {
		n, err := file.ReadAt(text, 0)
		if n == 0 {
			return err
		}
		if strings.Contains(string(text[:n]), "populated 0") {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("processes in %s would not end: %w", filepath.Dir(events), ctx.Err())
		}
		change := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLPRI}}
		if _, err := unix.Poll(change, 100); err != nil && err != unix.EINTR {
			return err
		}
	}
}

// remove removes the cgroup and all below it in every hierarchy. Its processes must be gone.
func (h hierarchies) remove(ctx context.Context, name string) error {
	for _, hierarchy := range append(h.controllers, h.unified) {
		if err := removeTree(ctx, filepath.Join(hierarchy, name)); err != nil {
			return err
		}
	}
	return nil
}

func removeTree(ctx context.Context, place string) error {
	entries, err := os.ReadDir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := removeTree(ctx, filepath.Join(place, entry.Name())); err != nil {
			return err
		}
	}
	// The kernel lets go of dead processes a moment after it has reported them gone.
	return eventually(ctx, 5*time.Millisecond, "remove "+place, func() error {
		err := unix.Rmdir(place)
		if err == unix.ENOENT {
			return nil
		}
		return err
	})
}
