package agent

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// bare gives a test a node of its own, whose agent starts before anything of the driver is there: no library, no device
// nodes, nothing in /proc, and no card on the bus.
func bare(t *testing.T) *rig {
	t.Helper()
	fakectl, err := gpus.Program("tests", "fake", "fakectl")
	cluster.Must(t, err)
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}), "a100")
	cluster.Must(t, err)
	prepare := options.Prepare
	options.Prepare = func(ctx context.Context, dir string, nodes int) error {
		if err := prepare(ctx, dir, nodes); err != nil {
			return err
		}
		home := filepath.Join(dir, "gpus", "node-1")
		words := [][]string{{"say", home, "driver", "absent"}}
		for card := range 8 {
			words = append(words, []string{"say", home, "pull", fmt.Sprint(card)})
		}
		for _, words := range append(words, []string{"tree", home}) {
			if said, err := exec.CommandContext(ctx, fakectl, words...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w\n%s", words, err, said)
			}
		}
		for _, what := range []string{"usr", "lib", "dev", "run"} {
			if err := os.RemoveAll(filepath.Join(home, "root", what)); err != nil {
				return err
			}
		}
		return nil
	}
	return apart(t, options)
}

// Neither cards nor a driver when the agent starts: it advertises nothing and says why. They come one after the other,
// as they do where the driver is installed by a container, and nothing has to be restarted.
func TestADriverThatComesLateIsTakenUp(t *testing.T) {
	r := bare(t)
	began, err := r.agent.Pid()
	r.must(err)
	home := filepath.Join(r.c.Dir(), "gpus", "node-1")
	r.removes("waits")
	_, err = r.c.Client.CoreV1().Pods("default").Create(t.Context(), sleeper("waits", 8), create)
	r.must(err)
	for _, row := range []struct {
		says, why string
		comes     func() error
	}{
		{"nothing at all", "there is no libnvidia-ml.so.1 under / or " + gpus.Root, func() error { return nil }},
		{"GPUs on the bus", "there is no libnvidia-ml.so.1", func() error {
			r.say("heal") // which loads the driver, too
			r.say("driver", "absent")
			return exec.CommandContext(t.Context(), filepath.Join(home, "..", "fakectl"), "tree", home).Run()
		}},
		{"the library, and no driver in the kernel", "not loaded", func() error { return gpus.Tree(t.Context(), r.n) }},
	} {
		r.must(row.comes())
		r.must(r.c.WaitNode(cluster.Within(t, moment), "node-1", "says "+row.why, func(node *corev1.Node) bool {
			for _, condition := range node.Status.Conditions {
				if condition.Type == "GPUsReady" {
					return condition.Status == corev1.ConditionFalse && condition.Reason == "DriverNotReady" &&
						strings.Contains(condition.Message, row.why)
				}
			}
			return false
		}))
		if _, metrics := r.page("/metrics"); !strings.Contains(metrics, `fairlead_driver_state{state="Absent"} 1`) {
			t.Errorf("%s: no metric says so", row.says)
		}
		until(r, "ready, for nothing is missing that the agent could wait for", func() (bool, string) {
			status, text := r.page("/readyz")
			return status == http.StatusOK, text
		})
		node, err := r.c.Client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		r.must(err)
		if count, advertised := node.Status.Capacity[gpu]; advertised {
			t.Errorf("%s: %v are advertised", row.says, count)
		}
	}
	r.event("Node", "node-1", "DriverNotReady")
	pod, err := r.c.Client.CoreV1().Pods("default").Get(t.Context(), "waits", metav1.GetOptions{})
	r.must(err)
	if pod.Status.Phase != corev1.PodPending {
		t.Fatalf("the Pod is %s: %s", pod.Status.Phase, pod.Status.Message)
	}
	r.say("driver", "loaded")
	r.must(gpus.Tree(t.Context(), r.n))
	t.Logf("advertised after %v", r.hasGPUs(8, 8))
	_, err = r.c.WaitPodReady(cluster.Within(t, moment), "waits")
	r.must(err)
	if cards := r.cards("waits", "main"); len(cards) != 8 {
		t.Errorf("it sees %q", cards)
	}
	r.condition(corev1.ConditionTrue, "Ready")
	r.ready()
	if now, err := r.agent.Pid(); err != nil || now != began || !r.agent.Running() {
		t.Errorf("the agent is process %d, and was %d: %v", now, began, err)
	}
	said, err := os.ReadFile(r.agent.LogFile())
	r.must(err)
	if !strings.Contains(string(said), "DriverNotReady") {
		t.Errorf("the log does not say what was waited for:\n%s", said)
	}
}
