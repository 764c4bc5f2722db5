// Package agent holds `fairlead node` to a real kubelet, containerd and runc: Pods that run and look, on nodes whose
// GPUs are not there (tests/fake).
//
// A test leaves the node as it found it: eight cards that are healthy, an agent that runs.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	gpu    = corev1.ResourceName("nvidia.com/gpu")
	moment = time.Minute // for what takes seconds, and longer on a machine that does much else
)

// rig is a node with eight cards, and its agent as a service of the host.
type rig struct {
	*testing.T
	c     *cluster.Cluster
	n     *cluster.Node
	agent *cluster.Part
}

// undamped is for a node whose GPUs one test after the other breaks: what flaps comes back as soon as what does not.
const undamped = "--recovery-wait-max=0s"

// oneNode is shared by the tests of this package.
func oneNode(t *testing.T) *rig {
	t.Helper()
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}, undamped), "a100")
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
	r.settled() // a card that came back in the last test may have been counted by the Node before the kubelet was told
	return r
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// say changes the fake driver.
func (r *rig) say(words ...string) {
	r.Helper()
	_, err := gpus.Say(context.Background(), r.n, words...)
	r.must(err)
}

// heals undoes at the end of the test what it breaks.
func (r *rig) heals() {
	r.Cleanup(func() {
		for _, words := range [][]string{{"driver", "loaded"}, {"heal"}} {
			if _, err := gpus.Say(context.Background(), r.n, words...); err != nil {
				r.Error(err)
			}
		}
		r.within(time.Minute).hasGPUs(8, 8)
	})
}

// within is the rig with a context that lives on in a Cleanup.
type bounded struct {
	*rig
	limit time.Duration
}

func (r *rig) within(limit time.Duration) bounded { return bounded{r, limit} }

// has waits until the Node has so many of a resource: allocatable, and in all.
func (b bounded) has(name corev1.ResourceName, allocatable, capacity int64) time.Duration {
	b.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	b.must(b.c.WaitNode(ctx, b.n.Name, fmt.Sprintf("has %d of %d %s", allocatable, capacity, name), func(node *corev1.Node) bool {
		got, all := node.Status.Allocatable[name], node.Status.Capacity[name]
		return got.Value() == allocatable && all.Value() == capacity
	}))
	return time.Since(began)
}

func (b bounded) hasGPUs(allocatable, capacity int64) time.Duration {
	b.Helper()
	return b.has(gpu, allocatable, capacity)
}

func (r *rig) has(name corev1.ResourceName, allocatable, capacity int64) time.Duration {
	r.Helper()
	return r.within(moment).has(name, allocatable, capacity)
}

func (r *rig) hasGPUs(allocatable, capacity int64) time.Duration {
	r.Helper()
	return r.has(gpu, allocatable, capacity)
}

// wants is a container's limit.
func wants(name corev1.ResourceName, count int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{name: *resource.NewQuantity(count, resource.DecimalSI)}}
}

// sleeper describes a Pod that holds so many GPUs.
func sleeper(name string, count int64) *corev1.Pod {
	pod := cluster.NewPod(name, "node-1", "sleep", "100000")
	if count > 0 {
		pod.Spec.Containers[0].Resources = wants(gpu, count)
	}
	return pod
}

// runs runs a Pod for the length of the test.
func (r *rig) runs(pod *corev1.Pod) *corev1.Pod {
	r.Helper()
	r.removes(pod.Name)
	running, err := r.c.RunPod(cluster.Within(r, moment), pod)
	r.must(err)
	return running
}

func (r *rig) removes(pod string) {
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.c.DeletePod(ctx, pod); err != nil && !strings.Contains(err.Error(), "not found") {
			r.Error(err)
		}
	})
}

// in runs a shell command in a container.
func (r *rig) in(pod, container, command string) string {
	r.Helper()
	text, err := r.c.Kubectl(cluster.Within(r, moment), "exec", pod, "-c", container, "--", "sh", "-c", command)
	r.must(err)
	return strings.TrimSpace(text)
}

// cards are the device nodes of cards that a container sees: nvidia2 nvidia3.
func (r *rig) cards(pod, container string) []string {
	r.Helper()
	return strings.Fields(r.in(pod, container, "cd /dev && ls -d nvidia[0-9]* 2>/dev/null || true"))
}

// listed is what PodResources says each container has: "pod/container" and IDs. A kubelet that has just started does not
// listen yet, and one that many ask turns some of them away.
func (r *rig) listed() (all map[string][]string) {
	r.Helper()
	until(r, "an answer of PodResources", func() (bool, string) {
		var err error
		all, err = r.listedNow(cluster.Within(r, moment))
		if code := status.Code(err); code != codes.Unavailable && code != codes.ResourceExhausted {
			r.must(err)
		}
		return err == nil, fmt.Sprint(err)
	})
	return all
}

func (r *rig) listedNow(ctx context.Context) (map[string][]string, error) {
	connection, err := grpc.NewClient("unix:///"+r.n.Path("/var/lib/kubelet/pod-resources/kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	reply, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, pod := range reply.PodResources {
		for _, container := range pod.Containers {
			key := pod.Name + "/" + container.Name
			for _, devices := range container.Devices {
				for _, id := range devices.DeviceIds {
					if !slices.Contains(all[key], id) {
						all[key] = append(all[key], id)
					}
				}
			}
			slices.Sort(all[key])
		}
	}
	return all, nil
}

// only is the one ID that a container has.
func (r *rig) only(container string) string {
	r.Helper()
	var ids []string
	until(r, "PodResources knows the one device of "+container, func() (bool, string) {
		ids = r.listed()[container] // a kubelet that has just started knows of it a moment later
		return len(ids) == 1, strings.Join(ids, " ")
	})
	return ids[0]
}

// shown is what the fake driver shows of a card: gpu NUMBER UUID ADDRESS minor MINOR.
func (r *rig) shown(uuid string) []string {
	r.Helper()
	uuid, _, _ = strings.Cut(uuid, "::")
	text, err := gpus.Say(context.Background(), r.n, "show")
	r.must(err)
	for _, line := range strings.Split(text, "\n") {
		if fields := strings.Fields(line); len(fields) > 5 && fields[2] == uuid {
			return fields
		}
	}
	r.Fatalf("no GPU %s; there are\n%s", uuid, text)
	return nil
}

// number is a card's place in the driver's list, which is what the fake driver calls it.
func (r *rig) number(uuid string) string {
	r.Helper()
	return r.shown(uuid)[1]
}

// address is a card's place on the bus, as the agent says it.
func (r *rig) address(uuid string) string {
	r.Helper()
	_, address, _ := strings.Cut(r.shown(uuid)[3], "0000") // the driver has eight digits before the colon
	return address
}

// node is the name of a card's device node.
func (r *rig) node(uuid string) string {
	r.Helper()
	return "nvidia" + r.shown(uuid)[5]
}

// health is what a Pod's status says of a device.
func (r *rig) health(pod, id, health string) {
	r.Helper()
	r.within(moment).health(pod, id, health)
}

func (b bounded) health(pod, id, health string) {
	b.Helper()
	b.must(b.c.WaitPod(cluster.Within(b, b.limit), pod, "says that "+id+" is "+health, func(pod *corev1.Pod) bool {
		for _, status := range pod.Status.ContainerStatuses {
			for _, allocated := range status.AllocatedResourcesStatus {
				for _, device := range allocated.Resources {
					if string(device.ResourceID) == id && string(device.Health) == health {
						return true
					}
				}
			}
		}
		return false
	}))
}

// undisturbed fails when a container of the Pod has been started anew, or the Pod has failed.
func (r *rig) undisturbed(name string) {
	r.Helper()
	pod, err := r.c.Client.CoreV1().Pods("default").Get(r.Context(), name, metav1.GetOptions{})
	r.must(err)
	if pod.Status.Phase != corev1.PodRunning {
		r.Errorf("%s is %s: %s %s", name, pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.RestartCount != 0 {
			r.Errorf("%s of %s was started %d times anew", status.Name, name, status.RestartCount)
		}
	}
}

// event waits for an Event about an object, of a reason.
func (r *rig) event(kind, name, reason string) {
	r.Helper()
	until(r, "an Event "+reason+" of "+kind+" "+name, func() (bool, string) {
		all, err := r.c.Client.EventsV1().Events("").List(r.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var reasons []string
		for _, e := range all.Items {
			if isAbout(&e, kind, name) {
				reasons = append(reasons, e.Reason)
			}
		}
		return slices.Contains(reasons, reason), strings.Join(reasons, " ")
	})
}

func isAbout(e *eventsv1.Event, kind, name string) bool {
	return e.Regarding.Kind == kind && e.Regarding.Name == name
}

// described waits until kubectl describe shows the Node with these words. It asks for Events by the Node's UID, as well as
// with its name in that place.
func (r *rig) described(words string) {
	r.Helper()
	until(r, "a description of the Node with "+words, func() (bool, string) {
		text, err := r.c.Kubectl(r.Context(), "describe", "node", r.n.Name)
		if err != nil {
			return false, err.Error()
		}
		_, events, _ := strings.Cut(text, "\nEvents:")
		return strings.Contains(events, words), events
	})
}

// named is how an Event names a GPU.
func (r *rig) named(uuid string) string {
	r.Helper()
	return fmt.Sprintf("GPU %s (%s, index %s)", r.address(uuid), uuid, r.number(uuid))
}

// condition waits until the Node has the agent's condition with a status and a reason.
func (r *rig) condition(status corev1.ConditionStatus, reason string) {
	r.Helper()
	r.must(r.c.WaitNode(cluster.Within(r, moment), r.n.Name, "has a condition "+reason, func(node *corev1.Node) bool {
		for _, condition := range node.Status.Conditions {
			if condition.Status == status && condition.Reason == reason {
				return true
			}
		}
		return false
	}))
}

func until(r *rig, what string, so func() (bool, string)) {
	r.Helper()
	untilWithin(r, moment, what, so)
}

func untilWithin(r *rig, limit time.Duration, what string, so func() (bool, string)) {
	r.Helper()
	var last string
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var is bool
		if is, last = so(); is {
			return
		}
	}
	r.Fatalf("%s did not come to be so within %v; last: %s", what, limit, last)
}

// page asks one of the agent's pages.
func (r *rig) page(path string) (int, string) { return r.pageAt(gpus.Port, path, true) }

// pageAt asks a page at a port of the agent's, with a scraper's token where one may be needed, or without.
func (r *rig) pageAt(port, path string, token bool) (int, string) {
	client := &http.Client{Timeout: moment, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return r.c.LAN.Dial(ctx, address) }}}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+net.JoinHostPort(r.n.Address, port)+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	if token && path != "/readyz" && path != "/healthz" {
		request = r.c.AsScraper(request)
	}
	reply, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err.Error()
	}
	return reply.StatusCode, string(text)
}

// metric is the sum of all series of a metric.
func (r *rig) metric(name string) float64 { return r.metricWith(name, "") }

// metricWith is the sum of those lines that have the label, as `kind="Booking"`.
func (r *rig) metricWith(name, label string) (sum float64) {
	_, text := r.page("/metrics")
	for _, line := range strings.Split(text, "\n") {
		var value float64
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, name) && strings.Contains(line, label) && at > 0 {
			if _, err := fmt.Sscan(line[at+1:], &value); err == nil {
				sum += value
			}
		}
	}
	return sum
}

// remove takes a folder away in which the agent makes its sockets anew meanwhile.
func (r *rig) remove(dir string) {
	r.Helper()
	err := os.RemoveAll(dir)
	for tries := 0; errors.Is(err, syscall.ENOTEMPTY) && tries < 100; tries++ {
		err = os.RemoveAll(dir)
	}
	r.must(err)
}

// ready waits until the agent says that it waits for nothing.
func (r *rig) ready() {
	r.Helper()
	until(r, "the agent ready", func() (bool, string) {
		status, text := r.page("/readyz")
		return status == http.StatusOK, text
	})
}

// listens waits until all cards report their faults by themselves, which is a moment after an agent is ready: what is
// reported before is known by its effects alone, and by no number.
func (r *rig) listens() {
	r.Helper()
	until(r, "eight GPUs that report", func() (bool, string) {
		cards := r.metric("fairlead_gpu_cards_reporting")
		return cards == 8, fmt.Sprint(cards)
	})
}

// settled waits until the agent tells the kubelet of eight healthy cards. What the Node says is a beat behind: after a test
// that took cards away it may still be the state before that.
func (r *rig) settled() {
	r.Helper()
	r.settledAt(8, 8)
}

func (r *rig) settledAt(allocatable, capacity int64) {
	r.Helper()
	healthy := func() float64 {
		return r.metric(`fairlead_resource_devices{resource="nvidia.com/gpu",health="Healthy"}`)
	}
	for end := time.Now().Add(time.Minute); healthy() != float64(allocatable); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("the kubelet is told of %v healthy GPUs, not of %v", healthy(), allocatable)
		}
	}
	r.within(time.Minute).hasGPUs(allocatable, capacity)
}

// replaced runs an agent with further flags, or none, in place of the one that there is, until the end of the test.
func (r *rig) replaced(flags ...string) {
	r.Helper()
	other, err := gpus.Agent(r.n, append([]string{undamped}, flags...)...) // the last of two counts
	r.must(err)
	r.replacedBy(other)
}

func (r *rig) replacedBy(other *cluster.Part) {
	r.Helper()
	ctx := context.Background()
	r.must(r.agent.Terminate(ctx))
	r.must(other.Start(ctx))
	usual := r.agent
	r.agent = other
	r.n.Services = []*cluster.Part{other}
	r.ready()
	r.Cleanup(func() {
		r.n.Services = []*cluster.Part{usual}
		if err := other.Terminate(ctx); err != nil {
			r.Error(err)
		}
		if err := usual.Start(ctx); err != nil {
			r.Fatal(err)
		}
		r.agent = usual
		r.ready()
		r.within(time.Minute).hasGPUs(8, 8)
	})
}

// children are the processes of the agent that have the driver's library.
func (r *rig) children() (pids []int) {
	r.Helper()
	pid, err := r.agent.Pid()
	r.must(err)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	r.must(err)
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
