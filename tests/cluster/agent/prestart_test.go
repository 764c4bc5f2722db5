package agent

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// mortal describes a Pod whose container ends when it is told to, and is then started anew by the kubelet.
func mortal(name string) *corev1.Pod {
	pod := sleeper(name, 1)
	pod.Spec.Containers[0].Command = []string{"sh", "-c", "until [ -e /end ]; do sleep 0.1; done"}
	return pod
}

func (r *rig) toldToEnd(pod string) {
	r.Helper()
	r.in(pod, "main", "touch /end")
}

// restarted waits until the container of a Pod runs after so many restarts.
func (r *rig) restarted(name string, times int32) {
	r.Helper()
	r.must(r.c.WaitPod(cluster.Within(r, 2*moment), name, "runs anew", func(pod *corev1.Pod) bool {
		return pod != nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount >= times &&
			pod.Status.ContainerStatuses[0].Ready
	}))
}

// notStarted waits until the kubelet says why it does not start the container of a Pod.
func (r *rig) notStarted(name, why string) {
	r.Helper()
	until(r, name+" is not started: "+why, func() (bool, string) {
		all, err := r.c.Client.EventsV1().Events("default").List(r.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var notes []string
		for _, e := range all.Items {
			if isAbout(&e, "Pod", name) && e.Reason == "Failed" {
				notes = append(notes, e.Note)
			}
		}
		said := strings.Join(notes, "\n")
		return strings.Contains(said, "PreStartContainer") && strings.Contains(said, why), said
	})
}

// Asked before each start of a container, the agent refuses one whose card is not well. Its price, for which it is off by
// default: without the agent no container starts anew, until the agent is back.
func TestAskedBeforeEachStartOfAContainer(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--pre-start=true")
	for _, name := range []string{"well", "sick", "alone"} {
		r.runs(mortal(name))
	}
	r.toldToEnd("well")
	r.restarted("well", 1)

	id := r.only("sick/main")
	r.say("lose", r.number(id))
	r.hasGPUs(7, 8)
	r.toldToEnd("sick")
	r.notStarted("sick", `"nvidia.com/gpu": device `+id+" is not healthy")

	r.must(r.agent.Kill(t.Context()))
	r.toldToEnd("alone")
	r.notStarted("alone", "has been stopped")
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.say("heal")
	r.restarted("alone", 1)
	r.restarted("sick", 1)
	r.within(moment*2).hasGPUs(8, 8)
}

// As it is by default: the agent is not there, and a container starts anew all the same.
func TestAContainerStartsAnewWithoutTheAgent(t *testing.T) {
	r := oneNode(t)
	r.runs(mortal("again"))
	cards := r.cards("again", "main")
	r.must(r.agent.Kill(t.Context()))
	r.toldToEnd("again")
	r.restarted("again", 1)
	if now := r.cards("again", "main"); len(now) != 1 || now[0] != cards[0] {
		t.Errorf("it sees %q, and saw %q", now, cards)
	}
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.hasGPUs(8, 8)
}
