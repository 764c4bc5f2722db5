package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// calls is how often a call of the fake driver was made, by all who have it open.
func (r *rig) calls(name string) (count int) {
	r.Helper()
	text, err := gpus.Say(context.Background(), r.n, "calls")
	r.must(err)
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, err := fmt.Sscan(rest, &count)
			r.must(err)
		}
	}
	return count
}

// events is how many Events of a reason an object has; one that is repeated is one.
func (r *rig) events(kind, name, reason string) (count int) {
	r.Helper()
	all, err := r.c.Client.EventsV1().Events("").List(r.Context(), metav1.ListOptions{})
	r.must(err)
	for _, e := range all.Items {
		if isAbout(&e, kind, name) && e.Reason == reason {
			count++
		}
	}
	return count
}

// Waiting for events fails on and on, and the cards are healthy: no card leaves the list, nobody is told of anything, and
// the agent's child does not spin. When it works again, events are heard.
func TestWaitingForEventsThatFailsOnAndOnIsNoAlarm(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.listens()
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	told := func() int { return r.events("Pod", "user", "Fails") + r.events("Pod", "user", "Lost") }
	before := told() // of an earlier test's Pod of that name
	r.say("fail", "event_wait", "999")
	r.say("calls", "reset")
	r.say("xid", r.number(id), "13") // an application's, which ends the wait that is under way
	const length = 12 * time.Second
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if healthy := r.metric(`fairlead_resource_devices{resource="nvidia.com/gpu",health="Healthy"}`); healthy != 8 {
			t.Fatalf("the kubelet is told of %v healthy GPUs", healthy)
		}
	}
	// One at once, then after 1, 2, 4 and 8 s; the wait that was under way ends first.
	waits, looks := r.calls("event_wait"), r.calls("memory_info")
	t.Logf("in %v: %d waits, %d calls for memory", length, waits, looks)
	if waits < 2 || waits > 8 {
		t.Errorf("%d waits in %v", waits, length)
	}
	r.hasGPUs(8, 8)
	r.condition(corev1.ConditionTrue, "Ready")
	if now := told(); now != before {
		t.Errorf("the Pod was told of something: %d Events, and %d before", now, before)
	}
	r.undisturbed("user")
	r.say("heal")
	until(r, "an XID is heard again", func() (bool, string) {
		r.say("xid", r.number(id), "43") // an application's: the card stays healthy
		time.Sleep(time.Second)
		all, err := r.c.Client.EventsV1().Events("").List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, e := range all.Items {
			if isAbout(&e, "Pod", "user") && e.Reason == "Xid43" {
				return true, ""
			}
		}
		return false, "no Event"
	})
	r.hasGPUs(8, 8)
}

// A card that is pulled out while a Pod uses it: it stays listed as Unhealthy while the Pod holds it, the Pod is told, and
// it leaves the list with the Pod. A card that nobody holds leaves at once. Both come back.
func TestACardThatIsPulledLeavesWithItsPod(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--recovery-wait=1s", "--look-every=1s")
	r.runs(sleeper("user", 1))
	r.runs(sleeper("neighbour", 1))
	id := r.only("user/main")
	card := r.number(id)
	r.say("pull", card)
	r.must(gpus.Tree(t.Context(), r.n)) // the bus has it no more
	r.Cleanup(func() {
		r.say("heal")
		if err := gpus.Tree(context.Background(), r.n); err != nil {
			r.Error(err)
		}
		r.within(time.Minute).hasGPUs(8, 8)
	})
	t.Logf("listed as Unhealthy after %v", r.within(time.Minute).hasGPUs(7, 8))
	r.health("user", id, "Unhealthy")
	until(r, "the Pod is told that its GPU is gone", func() (bool, string) {
		for _, reason := range []string{"Gone", "Lost", "Xid79"} {
			if r.events("Pod", "user", reason) > 0 {
				return true, ""
			}
		}
		return false, "no Event"
	})
	until(r, "the condition says that it is gone", func() (bool, string) {
		said := r.gpusReady()
		return strings.Contains(said, id) && strings.Contains(said, ": Gone: "), said
	})
	r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
	r.undisturbed("user")
	r.undisturbed("neighbour")
	r.must(r.c.DeletePod(cluster.Within(t, time.Minute), "user"))
	t.Logf("gone with its Pod after %v", r.within(time.Minute).hasGPUs(7, 7))
	r.say("heal")
	r.must(gpus.Tree(t.Context(), r.n))
	t.Logf("and back after %v", r.within(time.Minute).hasGPUs(8, 8))
	r.undisturbed("neighbour")
}

// An NVLink that goes down: both XIDs take the card out at once with what to do about the link, Pods that run are told,
// and it comes back after looks without a fault.
func TestAnNVLinkThatGoesDownIsTold(t *testing.T) {
	for _, row := range []struct{ xid, says string }{
		{"74", "an NVLink has failed"}, {"155", "an NVLink went down"},
	} {
		t.Run("XID "+row.xid, func(t *testing.T) {
			r := oneNode(t)
			r.heals()
			r.replaced("--recovery-wait=1s")
			r.listens()
			r.runs(sleeper("user", 2))
			r.runs(sleeper("neighbour", 1))
			ids := r.listed()["user/main"]
			r.say("link", r.number(ids[0]), "0", "down")
			r.say("xid", r.number(ids[0]), row.xid)
			r.hasGPUs(7, 8)
			r.health("user", ids[0], "Unhealthy")
			r.event("Pod", "user", "Xid"+row.xid)
			r.event("Node", r.n.Name, "Xid"+row.xid)
			if note := r.note("user", "Xid"+row.xid); !strings.Contains(note, row.says) || !strings.Contains(note, "nvidia-smi -r") {
				t.Errorf("the Event says %s", note)
			}
			if r.events("Pod", "neighbour", "Xid"+row.xid) != 0 {
				t.Errorf("a Pod of other GPUs is told")
			}
			r.undisturbed("user")
			r.say("heal")
			r.within(time.Minute).hasGPUs(8, 8)
			r.health("user", ids[0], "Healthy")
			r.undisturbed("user")
			r.undisturbed("neighbour")
		})
	}
}

// A boot after which the cards have other addresses and other device nodes: each Pod has the card that it had, by its
// UUID, with the node that this card has now, and none is refused.
func TestABootWithOtherMinorsAndAnotherOrderOfCards(t *testing.T) {
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}), "a100")
	cluster.Must(t, err)
	r := apart(t, options)
	r.ready()
	r.hasGPUs(8, 8)
	had, node, address := map[string]string{}, map[string]string{}, map[string]string{}
	for _, pod := range []string{"first", "second", "third"} {
		r.runs(sleeper(pod, 1))
		had[pod] = r.only(pod + "/main")
		node[pod], address[pod] = r.node(had[pod]), r.address(had[pod])
	}
	home := filepath.Join(r.c.Dir(), "gpus", "node-1")
	topology := filepath.Join(r.c.Dir(), "other.yaml")
	r.must(os.WriteFile(topology, []byte(`name: dgx-a100
driver: 570.133.20
cuda: 12080
gpus:
- {model: a100-sxm4-80gb, buses: [189, 183, 144, 135, 78, 71, 15, 7], perSwitch: 2, perBridge: 2, perNuma: 4,
   minors: [5, 4, 7, 6, 1, 0, 3, 2]}
nvlink: switch
`), 0o644))
	r.must(r.n.PowerOff(t.Context()))
	fakectl := filepath.Join(home, "..", "fakectl")
	if said, err := exec.CommandContext(t.Context(), fakectl, "up", home, topology, "1", "0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	r.must(gpus.Tree(t.Context(), r.n))
	r.must(r.n.PowerOn(t.Context()))
	r.must(r.c.WaitNodeReady(cluster.Within(t, time.Minute), "node-1", true))
	moved := 0
	for pod, id := range had {
		r.must(r.c.WaitPod(cluster.Within(t, time.Minute), pod, "runs again", func(now *corev1.Pod) bool {
			if now != nil && now.Status.Phase == corev1.PodFailed {
				t.Fatalf("%s: %s: %s", pod, now.Status.Reason, now.Status.Message)
			}
			return now != nil && now.Status.Phase == corev1.PodRunning && len(now.Status.ContainerStatuses) == 1 &&
				now.Status.ContainerStatuses[0].RestartCount == 1 && now.Status.ContainerStatuses[0].Ready
		}))
		if now := r.only(pod + "/main"); now != id {
			t.Errorf("%s has %s, and had %s", pod, now, id)
		}
		if cards := r.cards(pod, "main"); len(cards) != 1 || cards[0] != r.node(id) {
			t.Errorf("%s sees %q, and its GPU is %s now, %s before", pod, cards, r.node(id), node[pod])
		}
		if r.node(id) != node[pod] && r.address(id) != address[pod] {
			moved++
		}
		r.health(pod, id, "Healthy")
	}
	if moved != len(had) {
		t.Fatalf("%d of %d GPUs have moved: the test is none", moved, len(had))
	}
	r.hasGPUs(8, 8)
	r.condition(corev1.ConditionTrue, "Ready")
	r.runs(sleeper("rest", 5))
}
