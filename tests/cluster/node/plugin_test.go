package node

import (
	"context"
	"net"
	"sort"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

func oneNode(t *testing.T) (*cluster.Cluster, *cluster.Node) {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{Nodes: 1})
	return c, c.Node(1)
}

func amount(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

// allocatable waits until the Node's status says so many of so many.
func allocatable(t *testing.T, c *cluster.Cluster, want, capacity int64) time.Duration {
	t.Helper()
	began := time.Now()
	cluster.Must(t, c.WaitNode(t.Context(), "node-1", "its devices", func(node *corev1.Node) bool {
		got, all := node.Status.Allocatable[name], node.Status.Capacity[name]
		return got.Value() == want && all.Value() == capacity
	}))
	return time.Since(began)
}

const name = corev1.ResourceName(resourceName)

// holding is a running Pod with so many devices.
func holding(t *testing.T, c *cluster.Cluster, pod string, devices int64) *corev1.Pod {
	t.Helper()
	spec := cluster.NewPod(pod, "node-1", "sleep", "100000")
	spec.Spec.Containers[0].Resources.Limits = corev1.ResourceList{name: amount(devices)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.DeletePod(ctx, pod); err != nil {
			t.Error(err)
		}
	})
	running, err := c.RunPod(t.Context(), spec)
	cluster.Must(t, err)
	return running
}

// sees is what the container was given by CDI, and what its environment says.
func sees(t *testing.T, c *cluster.Cluster, pod string) (cdi, env string) {
	t.Helper()
	text, err := c.Exec(t.Context(), pod, "env")
	cluster.Must(t, err)
	var ids []string
	for _, line := range strings.Fields(text) {
		if id, ok := strings.CutPrefix(line, "CDI_"); ok {
			ids = append(ids, strings.ReplaceAll(strings.TrimSuffix(id, "=yes"), "_", "-"))
		}
		if value, ok := strings.CutPrefix(line, "NVIDIA_VISIBLE_DEVICES="); ok {
			env = value
		}
	}
	sort.Strings(ids)
	return strings.Join(ids, ","), env
}

func TestAPodGetsADeviceAndIsKnownToHaveIt(t *testing.T) {
	c, node := oneNode(t)
	a := runAgent(t, c, node, "GPU-0 GPU-1")
	t.Logf("allocatable after %v", allocatable(t, c, 2, 2))
	holding(t, c, "one", 1)
	cdi, env := sees(t, c, "one")
	if cdi != "GPU-0" && cdi != "GPU-1" || env != cdi {
		t.Errorf("it sees %q by CDI and %q in its environment", cdi, env)
	}
	a.knows("holder default/one/main/nvidia.com/gpu "+cdi, moment)
	holding(t, c, "two", 1)
	other, _ := sees(t, c, "two")
	if other == cdi || other == "" {
		t.Errorf("the second one sees %q, the first one %q", other, cdi)
	}
}

// deviceHealth is what the Pod's status says of its only device.
func deviceHealth(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		for _, allocated := range status.AllocatedResourcesStatus {
			if allocated.Name == name && len(allocated.Resources) == 1 {
				return string(allocated.Resources[0].ResourceID) + " " + string(allocated.Resources[0].Health)
			}
		}
	}
	return ""
}

func TestAnUnhealthyDeviceLeavesAndComesBack(t *testing.T) {
	c, node := oneNode(t)
	a := runAgent(t, c, node, "GPU-0 GPU-1")
	allocatable(t, c, 2, 2)
	holding(t, c, "sick", 1)
	id, _ := sees(t, c, "sick")
	both := map[string]string{"GPU-0": "GPU-0! GPU-1", "GPU-1": "GPU-0 GPU-1!"}
	a.offer(both[id])
	t.Logf("allocatable drops after %v", allocatable(t, c, 1, 2))
	cluster.Must(t, c.WaitPod(t.Context(), "sick", "its device's health", func(pod *corev1.Pod) bool {
		return deviceHealth(pod) == id+" Unhealthy" && pod.Status.Phase == corev1.PodRunning
	}))
	a.offer("GPU-0 GPU-1")
	t.Logf("and is back after %v", allocatable(t, c, 2, 2))
	cluster.Must(t, c.WaitPod(t.Context(), "sick", "its device's health", func(pod *corev1.Pod) bool {
		return deviceHealth(pod) == id+" Healthy"
	}))
}

func TestARefusedAllocationSaysWhyInThePod(t *testing.T) {
	c, node := oneNode(t)
	a := runAgent(t, c, node, "GPU-0")
	allocatable(t, c, 1, 1)
	a.offer("")
	allocatable(t, c, 0, 0)
	pod := cluster.NewPod("refused", "node-1", "sleep", "1000")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{name: amount(1)}
	t.Cleanup(func() { c.DeletePod(context.Background(), "refused") })
	_, err := c.RunPod(cluster.Within(t, 5*time.Second), pod)
	if err == nil {
		t.Error("a Pod runs with a device that is not there")
	}
	a.offer("GPU-0")
	allocatable(t, c, 1, 1)
}

var restarts = []struct {
	says string
	do   func(t *testing.T, node *cluster.Node, a *agent)
}{
	{"the agent ends and starts", func(t *testing.T, _ *cluster.Node, a *agent) { a.stop(); a.start() }},
	{"the agent is killed and starts", func(t *testing.T, _ *cluster.Node, a *agent) { a.kill(); a.start() }},
	{"the kubelet restarts", func(t *testing.T, node *cluster.Node, _ *agent) { restartKubelet(t, node) }},
	{"the kubelet restarts, then the agent", func(t *testing.T, node *cluster.Node, a *agent) {
		restartKubelet(t, node)
		a.kill()
		a.start()
	}},
	{"the agent goes, the kubelet restarts, the agent comes", func(t *testing.T, node *cluster.Node, a *agent) {
		a.kill()
		restartKubelet(t, node)
		a.start()
	}},
	{"the kubelet goes, the agent restarts, the kubelet comes", func(t *testing.T, node *cluster.Node, a *agent) {
		cluster.Must(t, node.Kubelet.Kill(t.Context()))
		a.kill()
		a.start()
		cluster.Must(t, node.Kubelet.Start(t.Context()))
	}},
}

func restartKubelet(t *testing.T, node *cluster.Node) {
	t.Helper()
	cluster.Must(t, node.Kubelet.Kill(t.Context()))
	cluster.Must(t, node.Kubelet.Start(t.Context()))
}

func TestAssignmentsOutliveRestartsInEveryOrder(t *testing.T) {
	c, node := oneNode(t)
	a := runAgent(t, c, node, "GPU-0 GPU-1")
	allocatable(t, c, 2, 2)
	before := holding(t, c, "stays", 1)
	cdi, _ := sees(t, c, "stays")
	for _, restart := range restarts {
		t.Run(restart.says, func(t *testing.T) {
			whole := a.t
			a.t = t
			defer func() { a.t = whole }()
			restart.do(t, node, a)
			a.knows("unwatched -", moment)
			allocatable(t, c, 2, 2)
			a.knows("holder default/stays/main/nvidia.com/gpu "+cdi, moment)
			pod, err := c.WaitPodReady(t.Context(), "stays")
			cluster.Must(t, err)
			if pod.UID != before.UID || pod.Status.ContainerStatuses[0].RestartCount != 0 ||
				pod.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID {
				t.Errorf("the Pod was disturbed: %+v", pod.Status.ContainerStatuses[0])
			}
			another(t, c)
			if other, _ := sees(t, c, "other"); other == cdi || other == "" {
				t.Errorf("another Pod sees %q, the first one %q", other, cdi)
			}
		})
	}
}

// another is a Pod "other" with the device that nobody has. A kubelet that has just started still counts those whom its
// checkpoint names and who are gone by now, and the Node's status is a beat behind, so it may refuse the first ones.
func another(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	t.Cleanup(func() { c.DeletePod(context.WithoutCancel(t.Context()), "other") })
	for try := 0; ; try++ {
		pod := cluster.NewPod("other", "node-1", "sleep", "100000")
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{name: amount(1)}
		_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		cluster.Must(t, err)
		message := ""
		cluster.Must(t, c.WaitPod(t.Context(), "other", "is decided", func(pod *corev1.Pod) bool {
			if pod == nil {
				return false
			}
			message = pod.Status.Message
			return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodFailed
		}))
		if message == "" {
			return
		}
		if try == 20 || !strings.Contains(message, "Requested: 1, Available: 0") && !strings.Contains(message, "no healthy devices") {
			t.Fatal(message)
		}
		cluster.Must(t, c.DeletePod(t.Context(), "other"))
		time.Sleep(time.Second)
	}
}

// accepts waits until somebody listens at the kubelet's socket.
func accepts(t *testing.T, path string) time.Time {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(200 * time.Microsecond) {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return time.Now()
		}
	}
	t.Fatal("the kubelet does not listen")
	return time.Time{}
}

func TestTheResourceIsBackWithinASecondOfTheKubeletsSocket(t *testing.T) {
	c, node := oneNode(t)
	a := runAgent(t, c, node, "GPU-0 GPU-1")
	allocatable(t, c, 2, 2)
	path := node.Path("/var/lib/kubelet/device-plugins/kubelet.sock")
	for i := 0; i < 3; i++ {
		cluster.Must(t, node.Kubelet.Kill(t.Context()))
		a.knows("unwatched nvidia.com/gpu", moment)
		started := make(chan error, 1)
		go func() { started <- node.Kubelet.Start(t.Context()) }()
		at := accepts(t, path)
		a.knows("unwatched -", moment)
		took := time.Since(at)
		t.Logf("watched %v after the socket accepts", took)
		if took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		cluster.Must(t, <-started)
		allocatable(t, c, 2, 2)
	}
}
