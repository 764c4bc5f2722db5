package agent

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// A driver that answers nothing but errors for longer than a child takes that is replaced: no card is handed out, those
// who should know are told, and all of it is over when it answers.
func TestADriverThatFailsAsAWholeComesBack(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.runs(sleeper("holder", 1))
	id := r.only("holder/main")
	pid, err := r.agent.Pid()
	r.must(err)
	r.say("fail", "init", "999")
	began := time.Now()
	for _, child := range r.children() {
		r.must(unix.Kill(child, unix.SIGKILL)) // the next one hears nothing else
	}
	t.Logf("no GPU is handed out after %v", r.hasGPUs(0, 8))
	if took := time.Since(began); took < 9*time.Second {
		t.Errorf("a child that is replaced would have cost the GPUs: they were gone after %v", took)
	}
	r.condition(corev1.ConditionFalse, "DriverNotReady")
	r.health("holder", id, "Unhealthy")
	r.event("Pod", "holder", "DriverSick")
	r.event("Node", r.n.Name, "DriverNotReady") // and not one for each GPU
	r.undisturbed("holder")
	if _, metrics := r.page("/metrics"); !strings.Contains(metrics, `cause="DriverSick"} 1`) {
		t.Errorf("no metric says so:\n%s", metrics)
	}
	r.say("heal")
	t.Logf("all are back after %v", r.hasGPUs(8, 8))
	r.condition(corev1.ConditionTrue, "Ready")
	r.health("holder", id, "Healthy")
	r.undisturbed("holder")
	if now := r.only("holder/main"); now != id {
		t.Errorf("it has %s, and had %s", now, id)
	}
	r.runs(sleeper("next", 7))
	if now, err := r.agent.Pid(); err != nil || now != pid {
		t.Errorf("the agent is process %d, and was %d: %v", now, pid, err)
	}
}

// R95: an XID 79 of a card that answers all the same, as one does that the driver has brought back. It leaves the
// kubelet's list at once, who holds it is told, and it is back by itself after looks without a fault.
func TestR95AFatalXIDOfACardThatAnswers(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--recovery-wait=1s")
	r.listens()
	r.runs(sleeper("user", 1))
	r.runs(sleeper("neighbour", 1))
	id := r.only("user/main")
	pid, err := r.agent.Pid()
	r.must(err)
	c := r.kubeletCounts()
	c.stays(soon, 0)
	began := time.Now()
	r.say("xid", r.number(id), "79")
	took := c.comesTo(7).Sub(began)
	t.Logf("out of the kubelet's list after %v", took)
	if took > 5*time.Second {
		t.Errorf("that took %v", took)
	}
	r.hasGPUs(7, 8)
	r.health("user", id, "Unhealthy")
	r.event("Pod", "user", "Xid79")
	r.described(r.named(id) + ": XID 79: ")
	r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
	r.undisturbed("user")
	t.Logf("and back after %v", r.within(time.Minute).hasGPUs(8, 8))
	r.health("user", id, "Healthy")
	r.condition(corev1.ConditionTrue, "Ready")
	r.described(r.named(id) + ": answers, no fault left")
	r.undisturbed("user")
	r.undisturbed("neighbour")
	if now, err := r.agent.Pid(); err != nil || now != pid {
		t.Errorf("the agent is process %d, and was %d: %v", now, pid, err)
	}
}
