package agent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

var create = metav1.CreateOptions{}

// device_plugin_test.go:293, 349, 403, 518, 571 and R92: whatever is killed around it, a Pod keeps its card and is not
// disturbed, and the resource comes back.
func TestWhateverIsKilledAPodKeepsItsCard(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("kept", 1))
	id, cards := r.only("kept/main"), r.cards("kept", "main")
	for _, row := range []struct {
		says string
		kill func(t *testing.T, r *rig)
	}{
		{"the agent", func(t *testing.T, r *rig) {
			r.must(r.agent.Kill(t.Context()))
			r.must(r.agent.Start(t.Context()))
		}},
		{"the agent, asked to end", func(t *testing.T, r *rig) {
			r.must(r.agent.Terminate(t.Context()))
			left, err := os.ReadDir(r.n.Path("/var/lib/kubelet/device-plugins"))
			r.must(err)
			for _, file := range left {
				if strings.Contains(file.Name(), "fairlead") {
					t.Errorf("%s is left behind", file.Name())
				}
			}
			r.must(r.agent.Start(t.Context()))
		}},
		{"its children", func(t *testing.T, r *rig) {
			children := r.children()
			if len(children) < 2 {
				t.Fatalf("it has the children %v", children)
			}
			for _, child := range children {
				r.must(unix.Kill(child, unix.SIGKILL))
			}
		}},
		{"the kubelet", func(t *testing.T, r *rig) {
			r.must(r.n.Kubelet.Kill(t.Context()))
			r.must(r.n.Kubelet.Start(t.Context()))
		}},
		{"the kubelet and the agent", func(t *testing.T, r *rig) {
			r.must(r.n.Kubelet.Kill(t.Context()))
			r.must(r.agent.Kill(t.Context()))
			r.must(r.agent.Start(t.Context()))
			r.must(r.n.Kubelet.Start(t.Context()))
		}},
		{"containerd", func(t *testing.T, r *rig) {
			r.must(r.n.Containerd.Kill(t.Context()))
			r.must(r.n.Containerd.Start(t.Context()))
			r.must(r.c.WaitNodeReady(cluster.Within(t, time.Minute), "node-1", true))
		}},
		{"the API server", func(t *testing.T, r *rig) {
			r.must(r.c.APIServer.Kill(t.Context()))
			r.must(r.c.APIServer.Start(t.Context()))
		}},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			row.kill(t, r)
			r.ready()
			r.within(time.Minute).hasGPUs(8, 8)
			r.undisturbed("kept")
			if now := r.only("kept/main"); now != id {
				t.Errorf("it has %s, and had %s", now, id)
			}
			next := "after-" + strings.ReplaceAll(strings.ReplaceAll(row.says, " ", "-"), ",", "")
			r.runs(sleeper(strings.ToLower(next), 1))
			if now := r.cards(strings.ToLower(next), "main"); len(now) != 1 || now[0] == cards[0] {
				t.Errorf("the next one sees %q, the first one has %q", now, cards)
			}
		})
	}
}

// device_plugin_test.go:636: a Pod that is deleted while the kubelet is down gives its cards back.
func TestCardsOfAPodDeletedWhileTheKubeletIsDownAreFree(t *testing.T) {
	r := oneNode(t)
	_, err := r.c.RunPod(cluster.Within(t, moment), sleeper("all", 8))
	r.must(err)
	r.must(r.n.Kubelet.Kill(t.Context()))
	zero := int64(0)
	r.must(r.c.Client.CoreV1().Pods("default").Delete(t.Context(), "all", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	r.must(r.n.Kubelet.Start(t.Context()))
	r.ready()
	r.hasGPUs(8, 8)
	// The kubelet gives the cards back when it has ended the containers; until then it refuses.
	r.removes("again")
	until(r, "a Pod runs with all eight", func() (bool, string) {
		pod, err := r.c.Client.CoreV1().Pods("default").Get(t.Context(), "again", metav1.GetOptions{})
		switch {
		case err != nil:
			_, err = r.c.Client.CoreV1().Pods("default").Create(t.Context(), sleeper("again", 8), create)
			return false, fmt.Sprint(err)
		case pod.Status.Phase == corev1.PodFailed:
			err = r.c.Client.CoreV1().Pods("default").Delete(t.Context(), "again", metav1.DeleteOptions{GracePeriodSeconds: &zero})
			return false, fmt.Sprint(pod.Status.Message, err)
		}
		return pod.Status.Phase == corev1.PodRunning, string(pod.Status.Phase)
	})
}

// reboots is how often a node is rebooted: the whole number by hand, and some in every run.
func reboots() int {
	if os.Getenv("FAIRLEAD_LONG") != "" {
		return 20
	}
	return 3
}

// As a service of the host the agent is there before the kubelet looks: no Pod is refused after a boot.
func TestRebootsWithTheAgentOnTheHostRefuseNoPod(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("booted", 2))
	ids := strings.Join(r.listed()["booted/main"], " ")
	for boot := range reboots() {
		r.must(r.n.Reboot(t.Context()))
		r.must(r.c.WaitNodeReady(cluster.Within(t, time.Minute), "node-1", true))
		r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "booted", "runs again", func(pod *corev1.Pod) bool {
			if pod != nil && pod.Status.Phase == corev1.PodFailed {
				t.Fatalf("boot %d: %s: %s", boot+1, pod.Status.Reason, pod.Status.Message)
			}
			return pod != nil && pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) == 1 &&
				int(pod.Status.ContainerStatuses[0].RestartCount) == boot+1 && pod.Status.ContainerStatuses[0].Ready
		}))
		if now := strings.Join(r.listed()["booted/main"], " "); now != ids {
			t.Errorf("boot %d: it has %s, and had %s", boot+1, now, ids)
		}
		if cards := r.cards("booted", "main"); len(cards) != 2 {
			t.Errorf("boot %d: it sees %q", boot+1, cards)
		}
	}
	r.hasGPUs(8, 8)
}

// device_plugin_test.go:938 and device_manager_test.go:181: without the agent the kubelet refuses, and says so; with it
// all is well again, and nothing was restarted for that.
func TestABootWithoutTheAgentIsRefusedByTheKubeletAndHealsWithIt(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("early", 1))
	services := r.n.Services
	r.n.Services = nil
	t.Cleanup(func() { r.n.Services = services })
	r.must(r.n.Reboot(t.Context()))
	r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "early", "is refused", func(pod *corev1.Pod) bool {
		return pod != nil && pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "UnexpectedAdmissionError" &&
			strings.Contains(pod.Status.Message, "no healthy devices present")
	}))
	if ids := r.listed()["early/main"]; ids != nil {
		t.Errorf("PodResources says that it has %q", ids)
	}
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.hasGPUs(8, 8)
	r.runs(sleeper("late", 1))
}

// The kubelet's folder is removed as a whole and made anew, while somebody else's socket keeps the old one alive: the
// kernel does not say that it is gone. The next restart of the kubelet is seen in the new one all the same.
func TestTheKubeletsFolderIsMadeAnewAndFollowed(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("stays", 1))
	dir := r.n.Path("/var/lib/kubelet/device-plugins")
	other, err := net.Listen("unix", filepath.Join(dir, "other.sock"))
	r.must(err)
	other.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { other.Close() })
	for round := range 3 {
		began := time.Now()
		r.must(r.n.Kubelet.Kill(t.Context()))
		if round == 0 {
			r.remove(dir)
		}
		r.must(r.n.Kubelet.Start(t.Context()))
		until(r, "the agent's socket", func() (bool, string) {
			files, _ := filepath.Glob(filepath.Join(dir, "fairlead-*.sock"))
			return len(files) == 1, fmt.Sprint(files)
		})
		r.ready()
		r.hasGPUs(8, 8)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("round %d: that took %v", round, took)
		}
		r.undisturbed("stays")
	}
	r.runs(sleeper("next", 1))
}
