package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"fairlead/tests/cluster"
)

// What the kubelet's own suites (test/e2e_node of Kubernetes 1.36.3) ask of a plugin, with the agent in place of theirs.
// Cases that are not here are in the test of the thing that they are about, which names their line.

// device_plugin_failures_test.go: each failure that their plugin makes, and with ours it ends.
func TestAPluginThatFailsComesBack(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("before", 1))
	b := r.between()
	b.grows("ListAndWatch", 0, moment)
	r.hasGPUs(8, 8)
	broken := errors.New("made to fail")

	t.Run("options cannot be had, so that Register fails and no list is asked for", func(t *testing.T) { // 102
		r := &rig{t, r.c, r.n, r.agent}
		b.r = r
		b.fails(broken, broken)
		r.hasGPUs(0, 8)
		// The agent asks once at a time: a list that was under way is over when options are asked for the next time.
		b.grows("GetDevicePluginOptions", b.called("GetDevicePluginOptions"), moment)
		lists := b.called("ListAndWatch")
		b.grows("Register", b.called("Register"), moment)
		b.grows("GetDevicePluginOptions", b.called("GetDevicePluginOptions"), moment)
		if now := b.called("ListAndWatch"); now != lists {
			t.Errorf("a list was asked for %d times after that", now-lists)
		}
		r.undisturbed("before")
		b.fails(nil, nil)
		r.hasGPUs(8, 8)
	})
	t.Run("the list fails at once", func(t *testing.T) { // 257
		r := &rig{t, r.c, r.n, r.agent}
		b.r = r
		b.fails(nil, broken)
		r.hasGPUs(0, 8)
		b.grows("ListAndWatch", b.called("ListAndWatch"), moment) // theirs is never asked again; ours asks for it
		r.undisturbed("before")
		b.fails(nil, nil)
		r.hasGPUs(8, 8)
	})
	t.Run("the list fails later", func(t *testing.T) { // 286
		r := &rig{t, r.c, r.n, r.agent}
		b.r = r
		for range 3 {
			asked := b.called("ListAndWatch")
			b.fails(nil, broken)
			b.fails(nil, nil)
			b.grows("ListAndWatch", asked, moment)
			r.hasGPUs(8, 8)
		}
		r.undisturbed("before")
	})
	r.runs(sleeper("after", 1))
}

// device_plugin_test.go:293 and :403: a container that ends and is started anew has the same card, also when the kubelet
// was restarted in between, and when the agent is away: nobody asks it again.
func TestAContainerThatIsStartedAnewHasTheSameCard(t *testing.T) {
	r := oneNode(t)
	pod := sleeper("again", 1)
	pod.Spec.Containers[0].Command = []string{"sh", "-c", "while [ ! -e /tmp/end ]; do sleep 0.1; done"}
	r.runs(pod)
	id, cards := r.only("again/main"), r.cards("again", "main")
	t.Cleanup(func() {
		if !r.agent.Running() {
			r.must(r.agent.Start(context.Background()))
		}
		r.ready()
		r.within(time.Minute).hasGPUs(8, 8)
	})
	for i, row := range []struct {
		says   string
		before func(r *rig)
	}{
		{"nothing else happens", func(*rig) {}},
		{"the kubelet is restarted before", func(r *rig) { r.must(r.n.Kubelet.Restart(r.Context())) }},
		{"the agent is away", func(r *rig) { r.must(r.agent.Terminate(r.Context())) }},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			row.before(r)
			until(r, "a command in it", func() (bool, string) { // a kubelet that has just started does not know it yet
				said, err := r.c.Exec(t.Context(), "again", "true")
				return err == nil, said
			})
			r.in("again", "main", "touch /tmp/end")
			r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "again", "runs again", func(pod *corev1.Pod) bool {
				return pod != nil && len(pod.Status.ContainerStatuses) == 1 && int(pod.Status.ContainerStatuses[0].RestartCount) == i+1 &&
					pod.Status.ContainerStatuses[0].State.Running != nil
			}))
			if now := r.only("again/main"); now != id {
				t.Errorf("it has %s, and had %s", now, id)
			}
			if now := r.cards("again", "main"); !slices.Equal(now, cards) {
				t.Errorf("it sees %q, and saw %q", now, cards)
			}
		})
	}
}

// device_plugin_failures_test.go:327: without the agent nothing can be handed out, and five minutes later there is
// nothing; it is back at once when the agent is, and who holds a card has it all the time.
func TestAPluginThatIsStoppedLeavesNothingAndComesBack(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("holder", 1))
	id := r.only("holder/main")
	r.must(r.agent.Terminate(t.Context()))
	t.Cleanup(func() {
		if !r.agent.Running() {
			r.must(r.agent.Start(context.Background()))
		}
		r.ready()
		r.within(time.Minute).hasGPUs(8, 8)
	})
	r.hasGPUs(0, 8)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		t.Logf("the kubelet forgets it after %v", r.within(6*time.Minute).hasGPUs(0, 0))
	}
	r.undisturbed("holder")
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.hasGPUs(8, 8)
	r.undisturbed("holder")
	if now := r.only("holder/main"); now != id {
		t.Errorf("it has %s, and had %s", now, id)
	}
}

// device_plugin_failures_pod_status_test.go:186: also a Pod whose image cannot be had shows how its card is.
func TestAPodThatWaitsForItsImageShowsItsCard(t *testing.T) {
	r := oneNode(t)
	r.heals()
	pod := sleeper("imageless", 1)
	pod.Spec.Containers[0].Image = "127.0.0.1:1/not:there"
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
	r.removes("imageless")
	_, err := r.c.Client.CoreV1().Pods("default").Create(t.Context(), pod, create)
	r.must(err)
	r.must(r.c.WaitPod(cluster.Within(t, time.Minute), "imageless", "waits for its image", func(pod *corev1.Pod) bool {
		return pod != nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil &&
			pod.Status.ContainerStatuses[0].State.Waiting.Reason == "ImagePullBackOff"
	}))
	id := r.only("imageless/main")
	r.health("imageless", id, "Healthy")
	r.say("lose", r.number(id))
	r.health("imageless", id, "Unhealthy")
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
	r.health("imageless", id, "Healthy")
}

// resources is a client of the kubelet's PodResources.
func (r *rig) resources() podresources.PodResourcesListerClient {
	r.Helper()
	connection, err := grpc.NewClient("unix:///"+r.n.Path("/var/lib/kubelet/pod-resources/kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.must(err)
	r.Cleanup(func() { connection.Close() })
	return podresources.NewPodResourcesListerClient(connection)
}

// lists waits until PodResources lists these Pods, and no others, each with so many cards.
func (r *rig) lists(want map[string]int) {
	r.Helper()
	client := r.resources()
	until(r, fmt.Sprintf("PodResources lists %v", want), func() (bool, string) {
		reply, err := client.List(r.Context(), &podresources.ListPodResourcesRequest{})
		if err != nil {
			return false, err.Error()
		}
		has := map[string]int{}
		for _, pod := range reply.PodResources {
			has[pod.Name] = 0
			for _, container := range pod.Containers {
				for _, devices := range container.Devices {
					has[pod.Name] += len(devices.DeviceIds)
				}
			}
		}
		return fmt.Sprint(has) == fmt.Sprint(want), fmt.Sprint(has)
	})
}

// ends is a Pod that holds so many cards and has ended.
func (r *rig) ends(name string, count int64, command string) {
	r.Helper()
	pod := sleeper(name, count)
	pod.Spec.Containers[0].Command = []string{command}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	r.removes(name)
	_, err := r.c.Client.CoreV1().Pods("default").Create(r.Context(), pod, create)
	r.must(err)
	r.must(r.c.WaitPodPhase(cluster.Within(r, moment), name, map[string]corev1.PodPhase{"true": corev1.PodSucceeded, "false": corev1.PodFailed}[command]))
}

// holders waits until the agent knows of so many containers that have a card. It asks when a card is handed out, and
// every half a minute: of who is gone it may learn as late as that.
func (r *rig) holders(count float64) {
	r.Helper()
	known := func() float64 { return r.metric(`fairlead_cache_objects{kind="Holder"}`) }
	for end := time.Now().Add(45 * time.Second); known() != count; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("the agent knows of %v holders, not of %v", known(), count)
		}
	}
}

// podresources_test.go, with the agent as the plugin; each step also asks whether the agent has understood the same.
func TestPodResourcesAndTheAgentAgree(t *testing.T) {
	r := oneNode(t)
	step := func(name string, f func(t *testing.T, r *rig)) {
		t.Run(name, func(t *testing.T) { f(t, &rig{t, r.c, r.n, r.agent}) })
	}
	here := func(r *rig, name string, count int64) {
		t.Helper()
		_, err := r.c.RunPod(cluster.Within(r, moment), sleeper(name, count))
		r.must(err)
	}
	gone := func(r *rig, name string) { r.must(r.c.DeletePod(cluster.Within(r, moment), name)) }
	t.Cleanup(func() {
		for _, name := range []string{"a", "b", "c", "none"} {
			r.c.DeletePod(context.Background(), name)
		}
	})
	step("List without Pods is empty", func(t *testing.T, r *rig) { // 530
		r.lists(map[string]int{})
		r.holders(0)
	})
	step("List has a Pod without devices, and ones that are added", func(t *testing.T, r *rig) { // 530
		here(r, "none", 0)
		here(r, "a", 1)
		r.lists(map[string]int{"none": 0, "a": 1})
		here(r, "b", 2)
		r.lists(map[string]int{"none": 0, "a": 1, "b": 2})
		r.holders(2)
	})
	step("List has no more what is deleted", func(t *testing.T, r *rig) { // 530
		gone(r, "a")
		r.lists(map[string]int{"none": 0, "b": 2})
	})
	step("an init container that has ended is not listed", func(t *testing.T, r *rig) { // 530
		pod := sleeper("c", 1)
		first := *pod.Spec.Containers[0].DeepCopy()
		first.Name, first.Command, first.Resources = "first", []string{"true"}, wants(gpu, 2)
		pod.Spec.InitContainers = []corev1.Container{first}
		_, err := r.c.RunPod(cluster.Within(t, moment), pod)
		r.must(err)
		r.lists(map[string]int{"none": 0, "b": 2, "c": 1})
		r.holders(2)
	})
	step("what is allocatable is what is registered", func(t *testing.T, r *rig) { // 851
		reply, err := r.resources().GetAllocatableResources(t.Context(), &podresources.AllocatableResourcesRequest{})
		r.must(err)
		var listed, cards []string
		for _, devices := range reply.Devices {
			if devices.ResourceName == string(gpu) {
				listed = append(listed, devices.DeviceIds...)
			}
		}
		sort.Strings(listed)
		listed = slices.Compact(listed) // an ID is told once for each NUMA node
		_, metrics := r.page("/metrics")
		for _, line := range strings.Split(metrics, "\n") {
			if _, rest, ok := strings.Cut(line, `device="`); ok && strings.HasPrefix(line, "fairlead_card_health{") {
				uuid, _, _ := strings.Cut(rest, `"`)
				cards = append(cards, uuid)
			}
		}
		sort.Strings(cards)
		if len(listed) != 8 || !slices.Equal(listed, cards) {
			t.Errorf("allocatable are %q, the agent has %q", listed, cards)
		}
	})
	step("Get tells of a Pod that there is, and not of another", func(t *testing.T, r *rig) { // 908, 1226
		client := r.resources()
		reply, err := client.Get(t.Context(), &podresources.GetPodResourcesRequest{PodName: "b", PodNamespace: "default"})
		r.must(err)
		if devices := reply.PodResources.Containers[0].Devices; len(devices) == 0 || devices[0].ResourceName != string(gpu) {
			t.Errorf("it has %v", devices)
		}
		if reply, err := client.Get(t.Context(), &podresources.GetPodResourcesRequest{PodName: "nobody", PodNamespace: "default"}); err == nil {
			t.Errorf("of a Pod that there is not it says %v", reply)
		}
	})
	step("a Pod that has ended is neither listed nor a holder", func(t *testing.T, r *rig) { // 908, 1376, 1502
		r.ends("good", 1, "true")
		r.ends("bad", 1, "false")
		r.lists(map[string]int{"none": 0, "b": 2, "c": 1})
		_, err := r.resources().Get(t.Context(), &podresources.GetPodResourcesRequest{PodName: "good", PodNamespace: "default"})
		if err == nil {
			t.Error("Get tells of a Pod that has ended")
		}
		here(r, "a", 1) // makes the agent look
		r.holders(3)
	})
	step("when all have ended the list is empty and all GPUs are free", func(t *testing.T, r *rig) { // 1595
		for _, name := range []string{"none", "a", "b", "c"} {
			gone(r, name)
		}
		r.ends("last", 8, "true")
		r.ends("last-again", 8, "true")
		r.lists(map[string]int{})
	})
	step("somebody else asks all the time, so that the agent is turned away, and it knows soon after", func(t *testing.T, r *rig) { // 2055
		client, refused := r.resources(), 0
		asks, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(asks)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := client.List(context.Background(), &podresources.ListPodResourcesRequest{}); err != nil {
					refused++
				}
			}
		}()
		looks := r.metric("fairlead_holders_looks_total")
		began := time.Now()
		here(r, "a", 1)
		time.Sleep(2 * time.Second)
		rate := (r.metric("fairlead_holders_looks_total") - looks) / time.Since(began).Seconds()
		close(stop)
		<-asks
		t.Logf("%d of its calls were refused; the agent looked %.1f times a second", refused, rate)
		if refused == 0 {
			t.Error("the kubelet has refused nothing: this shows nothing")
		}
		if rate > 10 {
			t.Errorf("the agent looks %.1f times a second", rate)
		}
		r.lists(map[string]int{"a": 1})
		r.holders(1)
	})
	step("the same after the kubelet was restarted", func(t *testing.T, r *rig) { // 1937
		here(r, "b", 2)
		before := r.listed()
		r.must(r.n.Kubelet.Restart(t.Context()))
		r.ready()
		r.lists(map[string]int{"a": 1, "b": 2})
		if after := r.listed(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("it lists %v, and listed %v", after, before)
		}
		r.within(time.Minute).hasGPUs(8, 8)
		r.holders(2)
	})
}
