package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// device_plugin_failures_test.go:154, device_plugin_failures_pod_status_test.go:126 and R95: a card that breaks while a
// Pod uses it is handed out no more, all who should know are told, and it comes back with nothing restarted.
func TestACardThatBreaksUnderAPodLeavesAndComesBack(t *testing.T) {
	for _, row := range []struct {
		says, reason string
		broken       []string // "GPU" stands for the card
		limit        time.Duration
	}{
		{"R95 a fatal XID", "Xid79", []string{"lose", "GPU"}, moment},
		{"R95 an uncorrected error of memory", "Ecc", []string{"ecc", "GPU", "uncorrected", "3"}, moment},
		// An A100 does not tell of this by itself: it is seen at the next look, which is every half a minute.
		{"R95 a driver that asks for a reset", "NeedsReset", []string{"recovery", "GPU", "reset"}, 45 * time.Second},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			r.heals()
			r.runs(sleeper("user", 1))
			r.runs(sleeper("neighbour", 1))
			id := r.only("user/main")
			began, err := r.agent.Pid()
			r.must(err)
			words := append([]string{}, row.broken...)
			words[1] = r.number(id)
			r.say(words...)
			t.Logf("allocatable follows after %v", r.within(row.limit).hasGPUs(7, 8))
			r.health("user", id, "Unhealthy")
			r.undisturbed("user")
			r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
			r.event("Pod", "user", row.reason)
			r.event("Node", "node-1", row.reason)
			_, metrics := r.page("/metrics")
			if !strings.Contains(metrics, `fairlead_resource_devices{resource="nvidia.com/gpu",health="Unhealthy"} 1`) ||
				!strings.Contains(metrics, `device="`+id+`",state="Unhealthy"`) {
				t.Errorf("no metric says so:\n%s", metrics)
			}
			r.say("heal", r.number(id))
			t.Logf("and is back after %v", r.within(time.Minute).hasGPUs(8, 8))
			r.health("user", id, "Healthy")
			r.condition(corev1.ConditionTrue, "Ready")
			r.undisturbed("user")
			r.undisturbed("neighbour")
			if now, err := r.agent.Pid(); err != nil || now != began {
				t.Errorf("the agent is process %d, and was %d: %v", now, began, err)
			}
		})
	}
}

// device_plugin_failures_test.go:128 and :206: one card, four cards.
func TestAllocatableFollowsHealthAndNoNeighbourSuffers(t *testing.T) {
	r := oneNode(t)
	r.heals()
	for _, cards := range [][]string{{"5"}, {"0", "2", "4", "6"}} {
		for _, card := range cards {
			r.say("lose", card)
		}
		r.hasGPUs(int64(8-len(cards)), 8)
		r.say("heal")
		r.within(time.Minute).hasGPUs(8, 8)
	}
}

// A call that does not return costs a child and one card; the others go on.
func TestADriverThatHangsOrCrashesCostsOneCardAtMost(t *testing.T) {
	for _, row := range []struct {
		says, metric string
		words        []string
	}{
		{"a call that does not return", "fairlead_gpu_child_abandoned_total", []string{"hang", "any", "3"}},
		{"a child that even SIGKILL does not end", "fairlead_gpu_child_abandoned_total", []string{"hang", "any", "3", "frozen"}},
		{"a library that crashes", "fairlead_gpu_child_crashes_total", []string{"crash", "any", "3", "4"}},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			r.heals()
			r.settled() // nothing is left of what an earlier test has done to the children
			before := r.metric(row.metric)
			r.say(row.words...)
			r.say("xid", "3", "8") // which makes the agent look at it
			r.hasGPUs(7, 8)
			until(r, "the GPU is left out, for that", func() (bool, string) {
				_, text := r.page("/metrics")
				return strings.Contains(text, `state="Unhealthy",cause="Hung"} 1`), text
			})
			if now := r.metric(row.metric); now <= before {
				t.Errorf("%s was %v and is %v", row.metric, before, now)
			}
			r.runs(sleeper("other", 7))
			r.say("heal")
			r.within(90*time.Second).hasGPUs(8, 8)
			r.undisturbed("other")
		})
	}
}

// driver is what the agent says of it: its state and its version.
func (r *rig) driver() string {
	_, text := r.page("/metrics")
	var state, version string
	for _, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, `fairlead_driver_state{state="`); ok && strings.HasSuffix(name, `"} 1`) {
			state = strings.TrimSuffix(name, `"} 1`)
		}
		if name, ok := strings.CutPrefix(line, `fairlead_driver_info{version="`); ok {
			version = strings.TrimSuffix(name, `"} 1`)
		}
	}
	return state + " " + version
}

// becomes changes the driver and its files while the agent stands still, so that no state between is ever seen: a folder
// that was made anew looks like the one that was there.
func (r *rig) becomes(words ...string) {
	r.Helper()
	r.must(r.agent.Stop())
	_, err := gpus.Say(context.Background(), r.n, append([]string{"driver"}, words...)...)
	if err == nil {
		err = gpus.Tree(context.Background(), r.n)
	}
	r.must(r.agent.Continue())
	r.must(err)
}

// loads makes the driver one of a version, and waits until the agent has children that say so.
func (r *rig) loads(version string) {
	r.Helper()
	r.becomes("loaded", version)
	until(r, "the driver "+version, func() (bool, string) {
		now := r.driver()
		return now == "Ready "+version, now
	})
}

const usualDriver = "570.133.20"

// XIDs of applications and those that the operator ignores are told and cost nothing; one that needs a reset takes the card
// away, and a harmless one that comes later does not bring it back.
func TestXIDsOfEachKind(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--recovery-wait=1s", "--recovery-checks=6", "--disable-health-checks=74")
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	for _, row := range []struct {
		says, xid   string
		allocatable int64
	}{
		{"of an application, which its Pod is told of", "13", 8},
		{"ignored by the operator", "74", 8},
		{"that asks to look", "8", 8},
		{"that needs a reset", "48", 7},
		{"of an application, after one that needs a reset", "31", 7},
		{"of an application, and a second time", "13", 7},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			if row.allocatable == 7 && row.xid != "48" {
				r.say("xid", r.number(id), "48") // six looks without it bring the card back, so it comes again
			}
			count := func() float64 {
				return r.metric(`fairlead_gpu_faults_total{card="` + r.address(id) + `",fault="xid` + row.xid + `"}`)
			}
			before := count()
			r.say("xid", r.number(id), row.xid)
			until(r, "the report is counted", func() (bool, string) { return count() == before+1, fmt.Sprint(before, count()) })
			r.hasGPUs(row.allocatable, 8)
			if row.xid == "13" || row.xid == "31" { // issue §6: an XID of an application is an Event on its Pod
				r.event("Pod", "user", "Xid"+row.xid)
			}
			time.Sleep(2 * time.Second) // some looks, and a beat of the kubelet's
			r.hasGPUs(row.allocatable, 8)
			r.undisturbed("user")
		})
	}
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
}

// Absent, of another version than its library: nothing is handed out, Pods go on, and it is taken up again by itself.
func TestADriverThatIsAwayComesBack(t *testing.T) {
	for _, row := range []struct {
		says, reason string
		state        []string
	}{
		{"unloaded by force", "Absent", []string{"absent"}},
		{"of another version than its library", "Mismatch", []string{"mismatch"}},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			r.heals()
			r.runs(sleeper("holder", 1))
			r.becomes(row.state...)
			t.Cleanup(func() { r.loads(usualDriver) })
			until(r, row.reason, func() (bool, string) {
				now := r.driver()
				return strings.HasPrefix(now, row.reason+" "), now
			})
			r.must(r.c.WaitNode(cluster.Within(t, moment), "node-1", "hands out no GPU", func(node *corev1.Node) bool {
				count := node.Status.Allocatable[gpu]
				return count.Value() == 0
			}))
			r.undisturbed("holder")
			r.loads(usualDriver)
			r.settled()
			r.undisturbed("holder")
			r.runs(sleeper("next", 1))
		})
	}
}

// A driver of another version takes the place of the one that Pods have: it is followed each time, and no Pod suffers.
func TestADriverThatIsUpgradedIsFollowed(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.runs(sleeper("holder", 1)) // it has files of the driver's folder, which stays behind it
	t.Cleanup(func() { r.loads(usualDriver) })
	for _, version := range []string{"580.65.06", "575.57.08", "580.65.06"} {
		r.loads(version)
		r.undisturbed("holder")
	}
	r.settled()
	r.runs(sleeper("next", 1))
	if files := r.in("next", "main", "find / -xdev -name 'libnvidia-ml.so.*' 2>/dev/null"); !strings.Contains(files, "580.65.06") {
		t.Errorf("a Pod of the new driver has %q", files)
	}
}

// Asked by command on the node, or by the label that the GPU Operator sets: no process of ours has the driver within two
// seconds, Pods go on, and the cards are back when the wish is gone.
func TestTheDriverIsLetGoOfWhenAskedTo(t *testing.T) {
	const label = "nvidia.com/gpu.deploy.device-plugin"
	program, err := gpus.Program("fairlead")
	cluster.Must(t, err)
	for _, row := range []struct {
		says      string
		ask, goOn func(r *rig) error
	}{
		{"by command",
			func(r *rig) error { return r.n.Command(context.Background(), program, "pause", "a test").Run() },
			func(r *rig) error { return r.n.Command(context.Background(), program, "resume").Run() }},
		{"by label",
			func(r *rig) error {
				_, err := r.c.Kubectl(context.Background(), "label", "--overwrite", "node", "node-1", label+"=paused-for-mig-change")
				return err
			},
			func(r *rig) error {
				_, err := r.c.Kubectl(context.Background(), "label", "--overwrite", "node", "node-1", label+"-")
				return err
			}},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			r.heals()
			t.Cleanup(func() {
				row.goOn(r)
			})
			r.settled()
			r.runs(sleeper("stays", 1))
			if len(r.children()) == 0 {
				t.Fatal("the agent has no children")
			}
			began := time.Now()
			r.must(row.ask(r))
			until(r, "no process has the driver", func() (bool, string) { return len(r.children()) == 0, fmt.Sprint(r.children()) })
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("that took %v", took)
			}
			r.say("driver", "unload") // refused while anybody has it open
			r.say("driver", "loaded")
			r.must(r.agent.Kill(t.Context()))
			r.must(r.agent.Start(t.Context()))
			r.ready()
			if state := r.driver(); !strings.HasPrefix(state, "Paused") {
				t.Errorf("to the agent that comes anew the driver is %s", state)
			}
			until(r, "it is left alone", func() (bool, string) { return len(r.children()) == 0, fmt.Sprint(r.children()) })
			r.say("driver", "unload")
			r.say("driver", "loaded")
			r.must(row.goOn(r))
			until(r, "the children are back", func() (bool, string) { return len(r.children()) >= 2, fmt.Sprint(r.children()) })
			r.within(time.Minute).hasGPUs(8, 8)
			r.undisturbed("stays")
		})
	}
}
