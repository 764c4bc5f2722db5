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
		{"a fatal XID", "Xid79", []string{"lose", "GPU"}, moment},
		{"an uncorrected error of memory", "Ecc", []string{"ecc", "GPU", "uncorrected", "3"}, moment},
		// An A100 does not tell of this by itself: it is seen at the next look, which is every half a minute.
		{"a driver that asks for a reset", "NeedsReset", []string{"recovery", "GPU", "reset"}, 45 * time.Second},
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
			r.condition(corev1.ConditionFalse, "CardsUnhealthy")
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
			before := r.metric(row.metric)
			r.say(row.words...)
			r.say("xid", "3", "79") // which makes the agent look at it
			r.hasGPUs(7, 8)
			until(r, "a child is lost", func() (bool, string) {
				now := r.metric(row.metric)
				return now > before, fmt.Sprint(now)
			})
			r.runs(sleeper("other", 7))
			r.say("heal")
			r.within(90*time.Second).hasGPUs(8, 8)
			r.undisturbed("other")
		})
	}
}

// Absent, of another version than its library: nothing is handed out, Pods go on, and it is taken up again by itself.
func TestADriverThatIsAwayComesBack(t *testing.T) {
	for _, row := range []struct {
		says  string
		state []string
	}{
		{"unloaded by force", []string{"driver", "absent"}},
		{"of another version than its library", []string{"driver", "mismatch"}},
		{"upgraded", []string{"driver", "loaded", "580.65.06"}},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			starts := func() float64 { return r.metric("fairlead_gpu_child_starts_total") }
			// The driver is loaded, and its children are new ones.
			loads := func(version string) {
				before := starts()
				r.say("driver", "loaded", version)
				r.must(gpus.Tree(context.Background(), r.n))
				until(r, "children of the driver "+version, func() (bool, string) {
					now := starts()
					return now > before, fmt.Sprint(now)
				})
			}
			r.heals()
			r.runs(sleeper("holder", 1))
			if row.state[1] == "loaded" {
				t.Cleanup(func() { loads("570.133.20") })
				loads(row.state[2])
			} else {
				r.say(row.state...)
				r.must(gpus.Tree(t.Context(), r.n))
				r.must(r.c.WaitNode(cluster.Within(t, moment), "node-1", "hands out no card", func(node *corev1.Node) bool {
					count := node.Status.Allocatable[gpu]
					return count.Value() == 0
				}))
				loads("570.133.20")
			}
			r.within(time.Minute).hasGPUs(8, 8)
			r.undisturbed("holder")
			r.settled()
			r.runs(sleeper("next", 1))
		})
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
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("that took %v", took)
			}
			r.say("driver", "unload") // refused while anybody has it open
			r.say("driver", "loaded")
			r.must(row.goOn(r))
			until(r, "the children are back", func() (bool, string) { return len(r.children()) >= 2, fmt.Sprint(r.children()) })
			r.within(time.Minute).hasGPUs(8, 8)
			r.undisturbed("stays")
		})
	}
}
