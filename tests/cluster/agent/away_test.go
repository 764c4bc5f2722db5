package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// long says whether tests run as long as they are meant to, or as short as every run can wait.
func long() bool { return os.Getenv("FAIRLEAD_LONG") != "" }

// I1 to I9: the agent is killed again and again, at moments that nobody chose, while Pods run. Nothing is lost and no Pod
// is disturbed. FAIRLEAD_LONG=1: 200 times.
func TestKilledAgainAndAgainTheAgentLosesNothing(t *testing.T) {
	r := oneNode(t)
	times := 20
	if long() {
		times = 200
	}
	r.runs(sleeper("one", 1))
	r.runs(sleeper("three", 3))
	had := fmt.Sprint(r.listed())
	for i := range times {
		r.must(r.agent.Kill(t.Context()))
		r.must(r.agent.Start(t.Context()))
		if i%3 == 0 { // else it is killed wherever it is by then
			r.ready()
		} else {
			time.Sleep(time.Duration(i*7%60) * time.Millisecond)
		}
	}
	r.ready()
	r.within(time.Minute).hasGPUs(8, 8)
	r.undisturbed("one")
	r.undisturbed("three")
	if now := fmt.Sprint(r.listed()); now != had {
		t.Errorf("they have %s, and had %s", now, had)
	}
	r.runs(sleeper("four", 4))
	if cards := r.cards("four", "main"); len(cards) != 4 {
		t.Errorf("the next one sees %q", cards)
	}
	if _, metrics := r.page("/metrics"); strings.Contains(metrics, "fairlead_device_conflict{") {
		t.Errorf("a conflict is told:\n%s", metrics)
	}
	left, err := os.ReadDir(r.n.Path("/var/lib/kubelet/device-plugins"))
	r.must(err)
	count := 0
	for _, file := range left {
		if strings.HasPrefix(file.Name(), "fairlead-") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("there are %d sockets: %v", count, left)
	}
}

// The API server is away while a container restarts: the kubelet restarts it with its card, and nothing of ours waits for
// the API server. FAIRLEAD_LONG=1: for three minutes.
func TestContainersRestartWhileTheAPIServerIsAway(t *testing.T) {
	r := oneNode(t)
	away := 15 * time.Second
	if long() {
		away = 3 * time.Minute
	}
	pod := sleeper("restarts", 1)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.Containers[0].Command = []string{"sh", "-c", "ls /dev/nvidia[0-9]* > /dev/null && sleep 4"}
	pod.Spec.Containers[0].Args = nil
	r.runs(pod)
	id := r.only("restarts/main")
	r.must(r.c.APIServer.Kill(t.Context()))
	began := time.Now()
	for time.Since(began) < away {
		if status, text := r.page("/healthz"); status != 200 {
			t.Errorf("the agent says %d %s", status, text)
		}
		if now := r.only("restarts/main"); now != id {
			t.Errorf("it has %s, and had %s", now, id)
		}
		time.Sleep(time.Second)
	}
	r.must(r.c.APIServer.Start(t.Context()))
	r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "restarts", "was restarted with its GPU", func(pod *corev1.Pod) bool {
		return pod != nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 0
	}))
	r.ready()
	r.within(time.Minute).hasGPUs(8, 8)
	r.removes("afterwards")
	_, err := r.c.RunPod(cluster.Within(t, 2*time.Minute), sleeper("afterwards", 1)) // the kubelet backs off meanwhile
	r.must(err)
}

// A kubelet that does not read its list (it stands still): what waits for it is bounded, and the newest list is what it
// has when it goes on.
func TestAKubeletThatDoesNotReadHasTheNewestListAfterwards(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--recovery-wait=0s", "--recovery-checks=1")
	r.must(r.n.Kubelet.Stop())
	for range 10 {
		r.say("lose", "5")
		r.advertises(7)
		r.say("heal", "5")
		r.advertises(8)
	}
	r.say("lose", "6")
	r.advertises(7)
	r.must(r.n.Kubelet.Continue())
	r.within(time.Minute).hasGPUs(7, 8)
	r.say("heal", "6")
	r.within(time.Minute).hasGPUs(8, 8)
}

// advertises waits until the agent advertises so many healthy cards.
func (r *rig) advertises(cards float64) {
	r.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		now := r.metric(`fairlead_resource_devices{resource="nvidia.com/gpu",health="Healthy"}`)
		if now == cards {
			return
		}
		if time.Now().After(end) {
			r.Fatalf("the agent advertises %v GPUs, not %v", now, cards)
		}
	}
}

// A Node that is deleted and made again has conditions and Events again.
func TestANodeThatIsMadeAgainHasItsConditionsAgain(t *testing.T) {
	r := oneNode(t)
	before := r.uid()
	r.must(r.c.Client.CoreV1().Nodes().Delete(t.Context(), r.n.Name, metav1.DeleteOptions{}))
	r.must(r.n.Kubelet.Restart(t.Context())) // a kubelet registers once
	r.must(r.c.WaitNodeReady(cluster.Within(t, time.Minute), r.n.Name, true))
	if r.uid() == before {
		t.Fatal("it is the same Node: the test is none")
	}
	r.condition(corev1.ConditionTrue, "Ready")
	r.must(r.c.WaitNode(cluster.Within(t, time.Minute), r.n.Name, "has GPUsReady", func(node *corev1.Node) bool {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "GPUsReady" && condition.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	}))
	r.within(time.Minute).hasGPUs(8, 8)
	r.runs(sleeper("anew", 1))
}

// A Pod's own annotation cdi.k8s.io/... is the Pod's, not the container's: containerd injects nothing for it, whoever asks
// for a card gets that card alone, and nothing of ours breaks.
func TestAPodsOwnCDIAnnotationGivesItNoCard(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("holder", 1))
	id := r.only("holder/main")
	for _, row := range []struct {
		name  string
		count int64
	}{{"greedy", 0}, {"greedy-one", 1}} {
		pod := sleeper(row.name, row.count)
		pod.Annotations = map[string]string{"cdi.k8s.io/mine": "k8s.device-plugin.nvidia.com/gpu=" + id}
		r.runs(pod)
		cards := r.cards(row.name, "main")
		if int64(len(cards)) != row.count || (row.count > 0 && cards[0] == r.node(id)) {
			t.Errorf("%s sees %q, and %s is another Pod's", row.name, cards, r.node(id))
		}
	}
	r.ready()
}
