package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const insideVariable = "FAIRLEAD_INSIDE_A_NEW_NAMESPACE"

// A program that was started in a mount namespace of its own makes and holds further ones, whatever processor made its own.
func TestMountNamespacesAreHeldFromANewOne(t *testing.T) {
	SkipIfImpossible(t)
	if os.Getenv(insideVariable) != "" {
		for n := range 32 {
			file := filepath.Join(t.TempDir(), strconv.Itoa(n))
			arranged := false
			Must(t, makeMounts(file, func() error { arranged = true; return nil }))
			if !arranged {
				t.Fatal("a namespace that is held was not arranged")
			}
			Must(t, namespaces{mount: file}.do(func() error { return nil }))
			Must(t, unix.Unmount(file, unix.MNT_DETACH))
		}
		return
	}
	var allowed unix.CPUSet
	Must(t, unix.SchedGetaffinity(0, &allowed))
	for cpu := range len(allowed) * 64 {
		if !allowed.IsSet(cpu) {
			continue
		}
		Must(t, onOwnThread(func() error {
			var one unix.CPUSet
			one.Set(cpu)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				return err
			}
			if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(0, &allowed); err != nil {
				return err
			}
			inside := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			inside.Env = append(os.Environ(), insideVariable+"=yes")
			if said, err := inside.CombinedOutput(); err != nil {
				t.Errorf("in a namespace of processor %d: %v\n%s", cpu, err, strings.TrimSpace(string(said)))
			}
			return nil
		}))
	}
}
