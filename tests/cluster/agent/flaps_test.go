package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gpusReady is what the Node's condition says.
func (r *rig) gpusReady() string {
	r.Helper()
	node, err := r.c.Client.CoreV1().Nodes().Get(context.Background(), r.n.Name, metav1.GetOptions{})
	r.must(err)
	for _, condition := range node.Status.Conditions {
		if condition.Type == "GPUsReady" {
			return condition.Message
		}
	}
	return ""
}

// A GPU that breaks and heals each second: the kubelet sees some of that and then no more, the condition says how often it
// broke and how long it stays away, an agent that is started anew knows it, and when it is well it comes back.
func TestAGPUThatFlaps(t *testing.T) {
	const wait = 3 * time.Second
	r := oneNode(t)
	r.heals()
	r.replaced("--recovery-wait="+wait.String(), "--recovery-wait-max=10m", "--recovery-checks=1")
	r.listens()
	r.runs(sleeper("flapper", 1))
	id := r.only("flapper/main")
	card := r.number(id)
	c := r.kubeletCounts()
	c.stays(soon, 0)
	flaps := func(lasts time.Duration) {
		t.Helper()
		for end := time.Now().Add(lasts); time.Now().Before(end); {
			r.say("lose", card)
			time.Sleep(400 * time.Millisecond) // that is what flapping means
			r.say("heal")
			time.Sleep(600 * time.Millisecond)
		}
	}
	before := c.changes()
	flaps(12 * time.Second)
	until(r, "the condition says that it flaps", func() (bool, string) {
		said := r.gpusReady()
		return strings.Contains(said, "Flapping: break count ") && strings.Contains(said, " without a fault"), said
	})
	t.Log(r.gpusReady())
	first := c.changes()
	flaps(12 * time.Second)
	broke := time.Now()
	// Lost, back and lost again is what it takes to know: from then on nobody is told.
	if told := first - before; told < 1 || told > 5 {
		t.Errorf("the kubelet's count changed %d times", told)
	}
	if told := c.changes() - first; told > 0 {
		t.Errorf("it went on changing, %d times", told)
	}
	r.event("Node", r.n.Name, "Flapping")
	r.event("Pod", "flapper", "Flapping")
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	until(r, "an agent that is started anew knows it", func() (bool, string) {
		said := r.gpusReady()
		return strings.Contains(said, "Flapping: break count "), said
	})
	t.Logf("it came back after %v", r.within(time.Minute).hasGPUs(8, 8))
	if took := time.Since(broke); took < 2*wait {
		t.Errorf("it came back %v after it had been broken last", took)
	}
	r.health("flapper", id, "Healthy")
	r.condition(corev1.ConditionTrue, "Ready")
	r.undisturbed("flapper")
}
