package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// What containers get beside their cards, of nodes of the host with numbers that no driver has (those of cards, which
// nobody can open): there, with the right numbers, and with rights; and gone from the next Pod when it is switched off,
// while the one that has it can start anew.
func TestAContainerHasWhatWasAskedForBesideItsCards(t *testing.T) {
	r := oneNode(t)
	minors := map[string]uint32{"nvidia-fs0": 200, "infiniband/uverbs0": 201, "infiniband/rdma_cm": 202, "gdrdrv": 203}
	dev := gpus.Root + "/dev/"
	r.must(r.n.Do(func() error { return os.MkdirAll(dev+"infiniband", 0o755) }))
	for name, minor := range minors {
		r.must(r.n.Do(func() error {
			if err := unix.Mknod(dev+name, unix.S_IFCHR|0o666, int(unix.Mkdev(195, minor))); err != nil {
				return err
			}
			return os.Chmod(dev+name, 0o666)
		}))
		r.Cleanup(func() { r.must(r.n.Do(func() error { return os.Remove(dev + name) })) })
	}
	t.Run("switched on", func(t *testing.T) {
		on := &rig{t, r.c, r.n, r.agent} // whose agent ends with this, and the Pod does not
		on.replaced("--gds-enabled=true", "--mofed-enabled=true", "--gdrcopy-enabled=true")
		r.runs(mortal("beside"))
		for name, minor := range minors {
			said := r.in("beside", "main", "stat -c '%F %t:%T %a' /dev/"+name+" 2>&1; cat /dev/"+name+" 2>&1; true")
			if want := fmt.Sprintf("character special file c3:%x", minor); !strings.Contains(said, want) {
				t.Errorf("/dev/%s is %q, not %q", name, said, want)
			}
			// Granted: the kernel has no such device; one that is not granted is refused.
			if !strings.Contains(said, "No such device or address") {
				t.Errorf("/dev/%s opens as %q", name, said)
			}
		}
		if said := r.in("beside", "main", "mknod /tmp/other c 195 204; cat /tmp/other 2>&1; true"); !strings.Contains(said, "Operation not permitted") {
			t.Errorf("a node that nobody has asked for opens as %q", said)
		}
	})
	for _, class := range []string{"gds", "mofed", "gdrcopy"} {
		r.must(exists(r.n.Path("/run/cdi/k8s.device-plugin.nvidia.com-" + class + ".json")))
	}
	r.runs(sleeper("after", 1))
	if said := r.in("after", "main", "ls /dev"); strings.Contains(said, "gdrdrv") || strings.Contains(said, "infiniband") {
		t.Errorf("it was switched off, and the next Pod sees\n%s", said)
	}
	// The kubelet gives the names again to a container that starts anew.
	r.toldToEnd("beside")
	r.restarted("beside", 1)
	if said := r.in("beside", "main", "ls /dev"); !strings.Contains(said, "gdrdrv") {
		t.Errorf("it has started anew and sees\n%s", said)
	}
	for _, pod := range []string{"beside", "after"} {
		r.must(r.c.DeletePod(cluster.Within(t, moment), pod))
	}
	// That a Pod has ended is seen by the next look at the kubelet, which is believed half a minute after its start.
	var left []string
	for end := time.Now().Add(75 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		all, err := filepath.Glob(r.n.Path("/run/cdi") + "/*")
		r.must(err)
		left = slices.DeleteFunc(all, func(path string) bool { return strings.HasSuffix(path, "-gpu.json") })
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("no Pod has a GPU, and there are %q", left)
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}
