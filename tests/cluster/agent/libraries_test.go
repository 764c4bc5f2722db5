package agent

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// withTree gives a test a node of its own, whose driver's files are changed before the agent starts.
func withTree(t *testing.T, change func(root string) error, flags ...string) *rig {
	t.Helper()
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}, flags...), "a100")
	cluster.Must(t, err)
	prepare := options.Prepare
	options.Prepare = func(ctx context.Context, dir string, nodes int) error {
		if err := prepare(ctx, dir, nodes); err != nil {
			return err
		}
		return change(filepath.Join(dir, "gpus", "node-1", "root"))
	}
	return apart(t, options)
}

// A driver without libcuda: eight cards that answer, and none is advertised. The condition and /readyz name the places
// that were searched. When the library comes, nothing has to be restarted.
func TestRow08WithoutLibcudaNothingIsAdvertised(t *testing.T) {
	r := withTree(t, func(root string) error {
		found, err := filepath.Glob(filepath.Join(root, "usr/lib/x86_64-linux-gnu/libcuda.so*"))
		if err != nil || len(found) == 0 {
			t.Errorf("the tree has no libcuda to take away: %v", err)
		}
		for _, file := range found {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
		return nil
	})
	for _, place := range []string{"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/etc/ld.so.cache", gpus.Root} {
		r.must(r.c.WaitNode(cluster.Within(t, moment), "node-1", "names "+place, func(node *corev1.Node) bool {
			for _, condition := range node.Status.Conditions {
				if condition.Type == "GPUsReady" {
					return condition.Status == corev1.ConditionFalse && condition.Reason == "LibrariesMissing" &&
						strings.Contains(condition.Message, "libcuda.so.") && strings.Contains(condition.Message, place)
				}
			}
			return false
		}))
	}
	if status, text := r.page("/readyz"); status == http.StatusOK || !strings.Contains(text, "libcuda.so.") {
		t.Errorf("/readyz says %d %q", status, text)
	}
	node, err := r.c.Client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	r.must(err)
	if count, advertised := node.Status.Capacity[gpu]; advertised {
		t.Errorf("%v are advertised", count)
	}
	if files, err := filepath.Glob(r.n.Path("/var/run/cdi/*nvidia*")); err != nil || len(files) > 0 {
		t.Errorf("CDI files: %q, %v", files, err)
	}
	r.must(gpus.Tree(t.Context(), r.n))
	t.Logf("advertised after %v", r.hasGPUs(8, 8))
	r.condition(corev1.ConditionTrue, "Ready")
	r.ready()
}

// Device nodes that lie elsewhere than the driver's files, as on a node whose driver is in a container: they are in the
// CDI file, and a Pod starts with them.
func TestRow07DeviceNodesOfDevRoot(t *testing.T) {
	r := withTree(t, func(root string) error {
		if err := os.Mkdir(filepath.Join(root, "elsewhere"), 0o755); err != nil {
			return err
		}
		return os.Rename(filepath.Join(root, "dev"), filepath.Join(root, "elsewhere", "dev"))
	}, "--dev-root="+gpus.Root+"/elsewhere")
	r.hasGPUs(8, 8)
	r.ready()
	r.removes("two")
	r.runs(sleeper("two", 2))
	if cards := r.cards("two", "main"); len(cards) != 2 {
		t.Errorf("the container sees %q", cards)
	}
	if words := r.in("two", "main", "ls /dev/nvidiactl && echo $NVIDIA_CTK_LIBCUDA_DIR"); !strings.Contains(words,
		"/dev/nvidiactl\n/usr/lib/x86_64-linux-gnu") {
		t.Errorf("the container has %q", words)
	}
}
