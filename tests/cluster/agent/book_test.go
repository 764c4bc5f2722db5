package agent

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"

// hears waits until an object has Events of these reasons, for longer than an agent takes to believe a new kubelet.
func (r *rig) hears(kind, name string, reasons ...string) {
	r.Helper()
	var got []string
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		all, err := r.c.Client.EventsV1().Events("").List(r.Context(), metav1.ListOptions{})
		r.must(err)
		got = nil
		for _, e := range all.Items {
			if isAbout(&e, kind, name) {
				got = append(got, e.Reason)
			}
		}
		if !slices.ContainsFunc(reasons, func(reason string) bool { return !slices.Contains(got, reason) }) {
			return
		}
	}
	r.Fatalf("%s %s has Events %v, and should have %v", kind, name, got, reasons)
}

// booked waits until the agent has a Pod in its book.
func (r *rig) booked(pod string) {
	r.Helper()
	until(r, pod+" is booked", func() (bool, string) {
		status, text := r.page("/explain?kind=Booking&name=default/" + pod + "/main/nvidia.com/gpu")
		return status == 200, text
	})
}

// uid is the Node's.
func (r *rig) uid() types.UID {
	r.Helper()
	node, err := r.c.Client.CoreV1().Nodes().Get(r.Context(), r.n.Name, metav1.GetOptions{})
	r.must(err)
	return node.UID
}

// paused has the driver released for a while.
func (r *rig) paused(length time.Duration) {
	r.Helper()
	program, err := gpus.Program("fairlead")
	r.must(err)
	r.must(r.n.Command(r.Context(), program, "pause", "a test").Run())
	time.Sleep(length) // nothing must happen meanwhile
	r.must(r.n.Command(r.Context(), program, "resume").Run())
	r.within(time.Minute).hasGPUs(8, 8)
}

// tainted adds a taint of somebody else to the Node, or removes it.
func (r *rig) tainted(key string, is bool) {
	r.Helper()
	word := key + "=x:NoSchedule"
	if !is {
		word = key + "-"
	}
	_, err := r.c.Kubectl(context.Background(), "taint", "node", r.n.Name, word)
	r.must(err)
}

// taints waits until the Node has just these taints.
func (r *rig) taints(keys ...string) {
	r.Helper()
	slices.Sort(keys)
	r.must(r.c.WaitNode(cluster.Within(r, moment), r.n.Name, "has the taints "+strings.Join(keys, " "), func(node *corev1.Node) bool {
		var got []string
		for _, taint := range node.Spec.Taints {
			got = append(got, taint.Key)
		}
		slices.Sort(got)
		return slices.Equal(got, keys)
	}))
}

// I1, I6: the kubelet's checkpoint is deleted while it is down. It then counts no device for a Pod that runs with one,
// and gives the device to another Pod. Both Pods are told, a metric says so, and it is over when they are gone.
func TestAPodThatTheKubeletForgotIsTold(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("forgotten", 1))
	id := r.only("forgotten/main")
	r.booked("forgotten")
	r.must(r.n.Kubelet.Kill(t.Context()))
	r.must(os.Remove(r.n.Path(checkpoint)))
	r.must(r.n.Kubelet.Start(t.Context()))
	r.ready()
	r.within(time.Minute).hasGPUs(8, 8)
	r.hears("Pod", "forgotten", "DeviceForgotten")
	if ids := r.listed()["forgotten/main"]; len(ids) != 0 {
		t.Fatalf("the kubelet still counts %v: the test is none", ids)
	}
	if conflicts := r.metric(`fairlead_device_conflict{namespace="default",pod="forgotten"`); conflicts != 1 {
		t.Errorf("the metric says %v", conflicts)
	}

	// The agent prefers the same device as before, for the kubelet calls it free.
	r.runs(sleeper("second", 1))
	if now := r.only("second/main"); now != id {
		t.Fatalf("the second Pod has %s, the forgotten one %s: the test is none", now, id)
	}
	r.hears("Pod", "forgotten", "DeviceHeldTwice")
	r.hears("Pod", "second", "DeviceHeldTwice")

	// What is known of it outlives the agent.
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	until(r, "the metric after a restart", func() (bool, string) {
		_, text := r.page("/metrics")
		return strings.Contains(text, `pod="forgotten",resource="nvidia.com/gpu",reason="DeviceForgotten"} 1`), text
	})
	r.undisturbed("forgotten")
	r.undisturbed("second")

	r.must(r.c.DeletePod(cluster.Within(t, time.Minute), "forgotten"))
	r.runs(sleeper("third", 1)) // Allocate has the agent look anew
	until(r, "no conflict is left", func() (bool, string) {
		_, text := r.page("/metrics")
		return !strings.Contains(text, "fairlead_device_conflict{"), text
	})
	r.undisturbed("second")
}

// Pods that lose the race with the agent at a boot are named in one Event on the Node with the command that removes
// them; --remove-refused-pods removes those that have a controller.
func TestPodsRefusedAtABootAreNamedInOneEvent(t *testing.T) {
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}), "a100")
	cluster.Must(t, err)
	r := apart(t, options)
	r.ready()
	r.hasGPUs(8, 8)
	yes := true
	owned := func(name string) *corev1.Pod {
		pod := sleeper(name, 1)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: r.n.Name, UID: r.uid(),
			Controller: &yes}}
		return pod
	}
	for _, pod := range []*corev1.Pod{sleeper("first", 1), sleeper("second", 2), owned("owned")} {
		r.runs(pod)
	}
	services := r.n.Services
	r.n.Services = nil // it is not there when the kubelet admits its Pods
	r.must(r.n.Reboot(t.Context()))
	r.n.Services = services
	for _, name := range []string{"first", "second", "owned"} {
		r.must(r.c.WaitPod(cluster.Within(t, time.Minute), name, "is refused", func(pod *corev1.Pod) bool {
			return pod != nil && pod.Status.Phase == corev1.PodFailed
		}))
	}
	r.must(r.agent.Start(t.Context()))
	r.hears("Node", r.n.Name, "AdmissionFailed")
	all, err := r.c.Client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
	r.must(err)
	count := 0
	for _, e := range all.Items {
		if isAbout(&e, "Node", r.n.Name) && e.Reason == "AdmissionFailed" {
			count++
			if !strings.Contains(e.Note, "kubectl delete pod -n default first owned second") {
				t.Errorf("the Event says %q", e.Note)
			}
		}
	}
	if count != 1 {
		t.Errorf("there are %d Events", count)
	}
	other, err := gpus.Agent(r.n, "--remove-refused-pods=true")
	r.must(err)
	r.must(r.agent.Terminate(t.Context()))
	r.agent = other
	r.must(r.agent.Start(t.Context()))
	r.must(r.c.WaitPod(cluster.Within(t, 90*time.Second), "owned", "is removed", func(pod *corev1.Pod) bool { return pod == nil }))
	for _, name := range []string{"first", "second"} {
		_, err := r.c.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		r.must(err) // those that nobody would make anew stay
		r.must(r.c.DeletePod(cluster.Within(t, time.Minute), name))
	}
	r.hears("Node", r.n.Name, "None")
}

// --evict-after: a Pod whose GPU is dead leaves after the grace period, its neighbour stays, and a pause evicts nobody.
func TestAPodWhoseGPUIsDeadIsEvictedAfterAGracePeriod(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--evict-after=3s", "--recovery-wait=1s")
	r.runs(sleeper("dead", 1))
	r.runs(sleeper("neighbour", 1))
	uid, err := r.c.Client.CoreV1().Pods("default").Get(t.Context(), "dead", metav1.GetOptions{})
	r.must(err)
	r.paused(5 * time.Second)
	r.undisturbed("dead")
	id := r.only("dead/main")
	began := time.Now()
	r.say("lose", r.number(id))
	r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "dead", "is evicted", func(pod *corev1.Pod) bool {
		return pod == nil || pod.UID != uid.UID || pod.DeletionTimestamp != nil
	}))
	took := time.Since(began)
	t.Logf("evicted after %v", took)
	if took < 3*time.Second {
		t.Errorf("it was evicted after %v already", took)
	}
	r.hears("Pod", "dead", "GPUDead")
	r.undisturbed("neighbour")
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
}

// --startup-taint: the taint is there until the GPUs are ready, others' taints stay, and it does not come back.
func TestATaintKeepsPodsAwayUntilTheGPUsAreReady(t *testing.T) {
	const key = "startup-taint.cluster-autoscaler.kubernetes.io/nvidia-gpu-not-ready"
	r := oneNode(t)
	r.heals()
	r.tainted("someone.example/else", true)
	r.Cleanup(func() { r.tainted("someone.example/else", false) })
	r.must(r.agent.Terminate(t.Context()))
	r.say("driver", "absent")
	usual := r.agent
	other, err := gpus.Agent(r.n, "--startup-taint=true", "--recovery-wait=0s", "--recovery-checks=1")
	r.must(err)
	r.agent = other
	r.n.Services = []*cluster.Part{other}
	r.must(other.Start(t.Context()))
	r.Cleanup(func() {
		ctx := context.Background()
		r.n.Services = []*cluster.Part{usual}
		if other.Running() {
			r.must(other.Terminate(ctx))
			r.must(usual.Start(ctx))
		}
		r.agent = usual
		r.ready()
	})
	r.taints("someone.example/else", key)
	r.say("driver", "loaded")
	r.taints("someone.example/else")
	r.hears("Node", r.n.Name, "Started")
	r.say("driver", "absent")
	r.hasGPUs(0, 8)
	r.taints("someone.example/else")

	// In the next boot it comes back, until the option is switched off.
	r.must(other.Terminate(t.Context()))
	r.must(r.patchStarted("the GPUs were ready after boot 0"))
	r.must(other.Start(t.Context()))
	r.taints("someone.example/else", key)
	r.must(other.Terminate(t.Context()))
	r.agent = usual
	r.must(usual.Start(t.Context()))
	r.taints("someone.example/else")
	r.say("driver", "loaded")
	r.within(time.Minute).hasGPUs(8, 8)
}

// patchStarted writes the message of the condition GPUsStarted as if it came from another boot.
func (r *rig) patchStarted(message string) error {
	_, err := r.c.Client.CoreV1().Nodes().Patch(r.Context(), r.n.Name, types.StrategicMergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"GPUsStarted","message":"`+message+`"}]}}`), metav1.PatchOptions{}, "status")
	return err
}
