package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	middle     = corev1.ResourceName("nvidia.com/mig-2g.20gb")
	migConfig  = "nvidia.com/mig.config"
	migState   = migConfig + ".state"
	migManager = "nvidia.com/gpu.deploy.mig-manager"
)

// migNode has eight H100 that an agent partitions: their mode changes without a reset.
func migNode(t *testing.T) *rig {
	t.Helper()
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}, undamped, "--mig-manager=true", "--mig-strategy=mixed"), "h100")
	cluster.Must(t, err)
	c := cluster.ForTest(t, options)
	r := &rig{t, c, c.Node(1), c.Node(1).Services[0]}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(r.agent.LogFile())
			t.Logf("the agent's log ends:\n%s", tail(string(text), 40))
		}
	})
	r.ready()
	r.follows(func() {
		r.sets(map[string]any{migConfig: "all-disabled", migManager: nil})
		r.within(moment).hasGPUs(8, 8)
		r.sets(map[string]any{migConfig: nil, migState: nil})
	})
	return r
}

// sets sets labels of the Node; nil removes one.
func (r *rig) sets(labels map[string]any) {
	r.Helper()
	var set []string
	for key, value := range labels {
		if value == nil {
			set = append(set, fmt.Sprintf("%q:null", key))
		} else {
			set = append(set, fmt.Sprintf("%q:%q", key, value))
		}
	}
	patch := `{"metadata":{"labels":{` + strings.Join(set, ",") + `}}}`
	_, err := r.c.Client.CoreV1().Nodes().Patch(context.Background(), r.n.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	r.must(err)
}

// allocates waits until a Pod may have so many of a resource. A kubelet counts what is gone for five minutes on.
func (r *rig) allocates(name corev1.ResourceName, count int64) {
	r.Helper()
	r.must(r.c.WaitNode(cluster.Within(r, moment), r.n.Name, fmt.Sprintf("allocates %d %s", count, name), func(node *corev1.Node) bool {
		got := node.Status.Allocatable[name]
		return got.Value() == count
	}))
}

// states follows the state that the Node's label says. What it returns is all that it said, when it has come to one.
func (r *rig) states() (until func(last string) []string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*moment)
	r.Cleanup(cancel)
	watch, err := r.c.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", r.n.Name).String()})
	r.must(err)
	return func(last string) (all []string) {
		r.Helper()
		for event := range watch.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok {
				continue
			}
			if state := node.Labels[migState]; state != "" && (len(all) == 0 || all[len(all)-1] != state) {
				all = append(all, state)
			}
			if len(all) > 1 && all[len(all)-1] == last {
				return all
			}
		}
		r.Fatalf("the label's states are %q; %q did not come", all, last)
		return nil
	}
}

// partitioned waits until the Node's label and condition say that a layout is applied, or why not.
func (r *rig) partitioned(state, reason, words string) {
	r.Helper()
	r.must(r.c.WaitNode(cluster.Within(r, moment), r.n.Name, "is "+state+", "+reason+": "+words, func(node *corev1.Node) bool {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "MIGConfigured" {
				return node.Labels[migState] == state && condition.Reason == reason && strings.Contains(condition.Message, words)
			}
		}
		return false
	}))
}

// instances are the UUIDs of all MIG devices, and the GPU that each is on.
func (r *rig) instances() map[string]string {
	r.Helper()
	text, err := gpus.Say(context.Background(), r.n, "show")
	r.must(err)
	all := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "mig" {
			all[f[2]], _, _ = strings.Cut(f[1], ":")
		}
	}
	return all
}

// partitionedBut waits until each of the other seven GPUs has seven instances; the one that "holder" has stays as it is.
func (r *rig) partitionedBut(held, id string) {
	r.Helper()
	until(r, "seven GPUs are partitioned", func() (bool, string) {
		count := 0
		for _, gpu := range r.instances() {
			if gpu != held {
				count++
			}
		}
		return count == 7*7, fmt.Sprint(count)
	})
	if r.instances()[id] != held {
		r.Errorf("the held MIG device %s is gone: %v", id, r.instances())
	}
	r.undisturbed("holder")
}

// A label partitions the GPUs. Another one later changes what nobody holds at once; the GPU of a Pod is named and waits, its
// MIG device stays what it is, and it changes when the Pod has gone.
func TestTheLabelOfANodePartitionsItsGPUs(t *testing.T) {
	r := migNode(t)
	r.hasGPUs(8, 8)
	states := r.states()
	r.sets(map[string]any{migConfig: "all-disabled"})
	r.partitioned("success", "Applied", "all-disabled")
	r.sets(map[string]any{migConfig: "all-balanced"})
	if all := states("success"); !slices.Equal(all, []string{"success", "pending", "success"}) {
		t.Errorf("the label's states are %q", all)
	}
	r.partitioned("success", "Applied", "all-balanced")
	r.has(small, 16, 16)
	r.has(middle, 8, 8)
	r.has(large, 8, 8)
	r.allocates(gpu, 0)

	r.runs(partOf("holder", large))
	id := r.only("holder/main")
	if caps := r.caps("holder"); len(caps) != 2 {
		t.Errorf("the holder sees the capabilities %q", caps)
	}
	own := r.instances()[id]
	if own == "" {
		t.Fatalf("no MIG device %s: %v", id, r.instances())
	}

	r.sets(map[string]any{migConfig: "all-1g.10gb"})
	r.partitioned("pending", "CardInUse", "default/holder")
	r.partitionedBut(own, id)
	if r.only("holder/main") != id {
		t.Error("the holder has another device")
	}
	r.must(r.c.DeletePod(cluster.Within(t, moment), "holder"))
	began := time.Now()
	r.partitioned("success", "Applied", "all-1g.10gb")
	t.Logf("%v after the holder's end the layout is applied", time.Since(began))
	r.has(small, 56, 56)
	r.allocates(large, 0)
}

// What cannot be is refused with its reason, and changes nothing. NVIDIA's mig-manager, where it is, has the node to itself.
func TestALayoutThatCannotBeChangesNothing(t *testing.T) {
	r := migNode(t)
	r.sets(map[string]any{migConfig: "all-3g.40gb"})
	r.partitioned("success", "Applied", "all-3g.40gb")
	before := r.instances()
	r.sets(map[string]any{migConfig: "all-9g.99gb"})
	r.partitioned("failed", "ProfileNotSupported", "9g.99gb")
	r.sets(map[string]any{migConfig: "nonsense"})
	r.partitioned("failed", "UnknownLayout", "nonsense")
	r.sets(map[string]any{migManager: "true"})
	r.condition("False", "MIGManagerActive")
	r.sets(map[string]any{migConfig: "all-7g.80gb"})
	r.has(large, 16, 16)
	if after := r.instances(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("there were %v, and are %v", before, after)
	}
	r.sets(map[string]any{migManager: "false"})
	r.partitioned("success", "Applied", "all-7g.80gb")
	if count := len(r.instances()); count != 8 {
		t.Errorf("there are %d MIG devices", count)
	}
}

// Killed again and again while it partitions, with a Pod that holds a part: in the end all is as wanted, and the Pod's is the
// same.
func TestAnAgentThatIsKilledGoesOnPartitioning(t *testing.T) {
	r := migNode(t)
	r.sets(map[string]any{migConfig: "all-balanced"})
	r.partitioned("success", "Applied", "all-balanced")
	r.has(middle, 8, 8)
	r.runs(partOf("holder", middle))
	id := r.only("holder/main")
	own := r.instances()[id]
	for i, layout := range []string{"all-1g.10gb", "all-3g.40gb", "all-1g.20gb", "all-1g.10gb"} {
		r.sets(map[string]any{migConfig: layout})
		for range 3 {
			time.Sleep(rand.N(time.Duration(100+150*i) * time.Millisecond))
			r.must(r.agent.Kill(t.Context()))
			r.must(r.agent.Start(t.Context()))
		}
		r.partitioned("pending", "CardInUse", "default/holder")
	}
	r.partitionedBut(own, id)
	r.must(r.c.DeletePod(cluster.Within(t, moment), "holder"))
	r.partitioned("success", "Applied", "all-1g.10gb")
	r.has(small, 56, 56)
}
