package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// All that a cluster makes lies below two names that follow from its own: the folder baseDir/NAME,
// with every mount and namespace in it, and the cgroup fairlead-cluster-NAME, with every process in it.
// The folder is the first thing made and the last removed. So there is no list to be kept, and an
// aborted cluster is removed by whoever comes next.

const (
	baseDir      = "/run/fairlead-cluster"
	cgroupPrefix = "fairlead-cluster-"
	lockSuffix   = ".lock"
)

func clusterDir(name string) string { return filepath.Join(baseDir, name) }

// nameLock is held by the process that owns a cluster; the kernel releases it when that process dies.
type nameLock struct{ file *os.File }

var errInUse = errors.New("in use")

func lockName(name string) (*nameLock, error) {
	path := clusterDir(name) + lockSuffix
	for {
		if err := os.MkdirAll(baseDir, 0o755); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process removed the folder meanwhile
		}
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			owner, _ := os.ReadFile(path)
			file.Close()
			return nil, fmt.Errorf("the cluster %q is %w by process %s", name, errInUse, strings.TrimSpace(string(owner)))
		}
		if isFile(file, path) {
			file.Truncate(0)
			fmt.Fprintln(file, os.Getpid())
			return &nameLock{file}, nil
		}
		file.Close() // locked a file that its last owner has just removed
	}
}

func isFile(file *os.File, path string) bool {
	a, errA := file.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// release removes the lock if no cluster is left under it, and lets go of it.
func (l *nameLock) release() {
	if l == nil {
		return
	}
	if _, err := os.Stat(strings.TrimSuffix(l.file.Name(), lockSuffix)); errors.Is(err, fs.ErrNotExist) {
		os.Remove(l.file.Name())
		restoreWatches()
		os.Remove(baseDir) // only if it was the last
	}
	l.file.Close()
}

// Down ends a cluster, whoever started it, unless a living process is using it.
// It tells whether there was one.
func Down(ctx context.Context, name string) (found bool, err error) {
	if !validName.MatchString(name) {
		return false, fmt.Errorf("%q %w", name, ErrName)
	}
	h, err := findHierarchies()
	if err != nil {
		return false, err
	}
	if !slices.Contains(allNames(h), name) {
		return false, nil
	}
	lock, err := lockName(name)
	if err != nil {
		return true, err
	}
	c := &Cluster{Name: name, hierarchies: h, lock: lock}
	return true, c.Stop(ctx)
}

// RemoveLeftovers removes every cluster that neither a living process owns nor somebody left running.
func RemoveLeftovers(ctx context.Context) error {
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	for _, name := range allNames(h) {
		if Kept(name) {
			continue
		}
		if _, err := Down(ctx, name); err != nil && !errors.Is(err, errInUse) {
			return fmt.Errorf("remove what an aborted cluster %q left: %w", name, err)
		}
	}
	return nil
}

// Names returns the clusters that were left running for people.
func Names() []string {
	var kept []string
	entries, _ := os.ReadDir(baseDir)
	for _, entry := range entries {
		if entry.IsDir() && Kept(entry.Name()) {
			kept = append(kept, entry.Name())
		}
	}
	return kept
}

// allNames finds clusters by what is left of them.
func allNames(h hierarchies) []string {
	found := map[string]bool{}
	entries, _ := os.ReadDir(baseDir)
	for _, entry := range entries {
		if name, isLock := strings.CutSuffix(entry.Name(), lockSuffix); isLock || entry.IsDir() {
			found[name] = true
		}
	}
	for _, hierarchy := range append(h.controllers, h.unified) {
		groups, _ := filepath.Glob(filepath.Join(hierarchy, cgroupPrefix+"*"))
		for _, group := range groups {
			found[strings.TrimPrefix(filepath.Base(group), cgroupPrefix)] = true
		}
	}
	return slices.DeleteFunc(sortedKeys(found), func(name string) bool { return !validName.MatchString(name) })
}

// remove ends all processes of a cluster, then takes its cgroups, mounts, namespaces and folder away.
// It does not mind what is missing, so it also finishes what an aborted removal began.
func remove(ctx context.Context, h hierarchies, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := h.killAll(ctx, cgroupPrefix+name); err != nil {
		return err
	}
	if err := h.remove(ctx, cgroupPrefix+name); err != nil {
		return err
	}
	dir := clusterDir(name)
	for {
		// Takes along every mount below, and with the held namespaces their mounts and interfaces.
		err := unix.Unmount(dir, unix.MNT_DETACH)
		if err == unix.EINVAL || err == unix.ENOENT {
			break
		}
		if err != nil {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
	return os.RemoveAll(dir)
}
