package agent

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// clock is the wall clock of an agent: it can be set, where the machine's cannot.
type clock struct {
	file  string
	ahead time.Duration
}

func (c *clock) step(by time.Duration) error {
	c.ahead += by
	return os.WriteFile(c.file, binary.NativeEndian.AppendUint64(nil, uint64(c.ahead)), 0o644)
}

// withClock runs the agent with a clock of its own until the end of the test.
func (r *rig) withClock() *clock {
	r.Helper()
	c := &clock{file: filepath.Join(r.TempDir(), "clock")}
	r.must(c.step(0))
	program, err := gpus.Program("fairlead")
	r.must(err)
	library, err := gpus.Program("tests", "fake", "libfake-clock.so")
	r.must(err)
	agent := r.n.Part("/usr/bin/env", append([]string{"LD_PRELOAD=" + library, "FAIRLEAD_FAKE_CLOCK=" + c.file, program},
		gpus.Flags(r.n)...)...)
	agent.Name = "agent"
	r.replacedBy(agent)
	return c
}

// told is what the agent has done that others see: a clock that steps is no reason for more of it.
func (r *rig) told() map[string]float64 {
	r.Helper()
	all := map[string]float64{}
	for _, name := range []string{"fairlead_plugin_lists_total", "fairlead_plugin_registrations_total", "fairlead_events_total",
		"fairlead_writes_total", "fairlead_gpu_child_starts_total"} {
		all[name] = r.metric(name)
	}
	return all
}

// agrees fails when a moment is none of the agent's clock between then and now.
func (c *clock) agrees(t *testing.T, what string, at, then time.Time) {
	t.Helper()
	then, now := then.Add(c.ahead-time.Second), time.Now().Add(c.ahead) // of conditions only whole seconds are known
	if at.Before(then) || at.After(now) {
		t.Errorf("%s is of %v, and not between %v and %v", what, at, then, now)
	}
}

// The wall clock steps by an hour, forth and back: no card leaves for that and nothing is told again; what is told is of
// that clock; what a card must wait for before it comes back is measured by another one, also by an agent that starts
// when what it remembers lies in the future.
func TestAWallClockThatStepsMovesNoCard(t *testing.T) {
	r := oneNode(t)
	r.heals()
	clock := r.withClock()
	r.settled()
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	r.grown()
	for _, by := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour} {
		until(r, "an agent at rest", func() (bool, string) {
			before := r.told()
			time.Sleep(500 * time.Millisecond)
			after := r.told()
			return fmt.Sprint(before) == fmt.Sprint(after), fmt.Sprint(before, after)
		})
		before := r.told()
		r.must(clock.step(by))
		time.Sleep(time.Second) // in which something would be done if the step were a reason
		if after := r.told(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("a step by %v: %v became %v", by, before, after)
		}
		r.hasGPUs(8, 8)
	}

	r.must(clock.step(time.Hour))
	broken := time.Now()
	r.say("lose", r.number(id))
	r.hasGPUs(7, 8)
	r.health("user", id, "Unhealthy")
	clock.agrees(t, "the condition of a GPU that broke", r.since(corev1.ConditionFalse, "GPUsUnhealthy"), broken)
	clock.agrees(t, "its Event", r.lastEvent("Pod", "user", "Xid79", broken), broken)

	r.must(clock.step(-2 * time.Hour))
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	healed := time.Now()
	r.say("heal")
	t.Logf("back after %v", r.within(time.Minute).hasGPUs(8, 8))
	r.health("user", id, "Healthy")
	clock.agrees(t, "the condition of GPUs that are well", r.since(corev1.ConditionTrue, "Ready"), healed)
	r.undisturbed("user")
}

// since is when the Node's condition came to be so.
func (r *rig) since(status corev1.ConditionStatus, reason string) (at time.Time) {
	r.Helper()
	r.must(r.c.WaitNode(cluster.Within(r, moment), r.n.Name, "has a condition "+reason, func(node *corev1.Node) bool {
		for _, condition := range node.Status.Conditions {
			if condition.Status == status && condition.Reason == reason && condition.Type == "GPUsReady" {
				at = condition.LastTransitionTime.Time
				return true
			}
		}
		return false
	}))
	return at
}

// lastEvent is when an Event was told last, of those that were made since then by the API server's clock: an earlier test
// had a Pod of that name.
func (r *rig) lastEvent(kind, name, reason string, since time.Time) (at time.Time) {
	r.Helper()
	since = since.Truncate(time.Second)
	until(r, "an Event "+reason+" of "+kind+" "+name, func() (bool, string) {
		all, err := r.c.Client.EventsV1().Events("").List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, e := range all.Items {
			if isAbout(&e, kind, name) && e.Reason == reason && e.EventTime.After(at) && !e.CreationTimestamp.Time.Before(since) {
				at = e.EventTime.Time
			}
		}
		return !at.IsZero(), fmt.Sprint(len(all.Items), " Events")
	})
	return at
}
