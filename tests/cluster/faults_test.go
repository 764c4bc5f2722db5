package cluster_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

// startAgain starts a part that the test has ended, also when the test fails half way.
func startAgain(t *testing.T, part *cluster.Part) {
	t.Cleanup(func() {
		if part.Running() {
			return
		}
		if err := part.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// apiAnswers tells whether the API server answers a real request in time.
func apiAnswers(t *testing.T, c *cluster.Cluster, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	return err
}

func TestEveryPartCanBeKilledAndStarted(t *testing.T) {
	c := fourNodes(t)
	for _, part := range c.Parts() {
		if part.Machine != c.Control && part.Machine != c.Node(1).Machine {
			continue
		}
		t.Run(part.Name, func(t *testing.T) {
			startAgain(t, part)
			before, err := part.Pid()
			cluster.Must(t, err)
			cluster.Must(t, part.Kill(t.Context()))
			if part.Running() {
				t.Fatal("it still runs")
			}
			if err := part.Stop(); err == nil || !strings.Contains(err.Error(), "is not running") {
				t.Errorf("stopping a dead part gives %v", err)
			}
			cluster.Must(t, part.Start(t.Context()))
			after, err := part.Pid()
			cluster.Must(t, err)
			if before == after || !part.Running() {
				t.Errorf("process %d before, %d after", before, after)
			}
			cluster.Must(t, part.Restart(t.Context()))
		})
	}
	for _, node := range c.Nodes {
		cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
	}
	cluster.Must(t, apiAnswers(t, c, 10*time.Second))
}

func TestAFrozenAPIServerAnswersNothing(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	cluster.Must(t, c.APIServer.Stop())
	defer c.APIServer.Continue()
	if err := apiAnswers(t, c, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped API server: %v", err)
	}
	cluster.Must(t, c.APIServer.Continue())
	cluster.Must(t, apiAnswers(t, c, 10*time.Second))
}

func TestAFrozenEtcdFailsWrites(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	cluster.Must(t, c.Etcd.Stop())
	defer c.Etcd.Continue()
	write := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := c.Client.CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "frozen-"}}, metav1.CreateOptions{})
		return err
	}
	if write(time.Second) == nil {
		t.Error("a write succeeded without etcd")
	}
	cluster.Must(t, c.Etcd.Continue())
	cluster.Must(t, write(10*time.Second))
}

func TestObjectsOutliveTheirServers(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	startAgain(t, c.APIServer)
	startAgain(t, c.Etcd)
	_, err := c.Kubectl(t.Context(), "create", "configmap", "anchor")
	cluster.Must(t, err)
	cluster.Must(t, c.Etcd.Kill(t.Context()))
	cluster.Must(t, c.APIServer.Kill(t.Context()))
	if err := apiAnswers(t, c, time.Second); err == nil {
		t.Error("a dead API server answered")
	}
	cluster.Must(t, c.Etcd.Start(t.Context()))
	cluster.Must(t, c.APIServer.Start(t.Context()))
	_, err = c.Kubectl(t.Context(), "delete", "configmap", "anchor")
	cluster.Must(t, err)
}

func TestPodsWaitForTheirScheduler(t *testing.T) {
	c := fourNodes(t)
	startAgain(t, c.Scheduler)
	cluster.Must(t, c.Scheduler.Kill(t.Context()))
	pod, err := c.Client.CoreV1().Pods("default").Create(t.Context(), cluster.NewPod("waiting", "", "sleep", "1000"), metav1.CreateOptions{})
	cluster.Must(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if c.WaitPod(short, pod.Name, "is on a node", func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }) == nil {
		t.Error("it came to a node without a scheduler")
	}
	cluster.Must(t, c.Scheduler.Start(t.Context()))
	_, err = c.WaitPodReady(t.Context(), pod.Name)
	cluster.Must(t, err)
	cluster.Must(t, c.DeletePod(t.Context(), pod.Name))
}

func TestContainersOutliveKubeletAndContainerd(t *testing.T) {
	c := fourNodes(t)
	node := c.Node(2)
	startAgain(t, node.Kubelet)
	startAgain(t, node.Containerd)
	pod := runPod(t, c, cluster.NewPod("steady", node.Name, "sh", "-c", "echo steady > /tmp/state; exec sleep 1000"))
	cluster.Must(t, node.Kubelet.Kill(t.Context()))
	cluster.Must(t, node.Containerd.Kill(t.Context()))
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, false))
	cluster.Must(t, node.Containerd.Start(t.Context()))
	cluster.Must(t, node.Kubelet.Start(t.Context()))
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
	after, err := c.WaitPodReady(t.Context(), "steady")
	cluster.Must(t, err)
	if a, b := pod.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]; a.ContainerID != b.ContainerID || b.RestartCount != 0 {
		t.Errorf("container %s became %s, with %d restarts", a.ContainerID, b.ContainerID, b.RestartCount)
	}
	execWants(t, c, "steady", "steady", "cat", "/tmp/state")
}

func TestANodeWithAFrozenKubeletIsNotReady(t *testing.T) {
	c := fourNodes(t)
	node := c.Node(4)
	cluster.Must(t, node.Kubelet.Stop())
	defer node.Kubelet.Continue()
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, false))
	cluster.Must(t, node.Kubelet.Continue())
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
}

func TestANodeWithoutNetworkIsNotReady(t *testing.T) {
	c := fourNodes(t)
	node := c.Node(3)
	cluster.Must(t, node.CutNetwork(t.Context()))
	defer node.HealNetwork(context.Background())
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if connection, err := node.Dial(short, c.Control.Address+":6443"); err == nil {
		connection.Close()
		t.Error("the node still reaches the API server")
	}
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, false))
	cluster.Must(t, node.HealNetwork(t.Context()))
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
}

func TestAnAPIServerWithoutNetworkIsOutOfReach(t *testing.T) {
	c := fourNodes(t)
	cluster.Must(t, c.Control.CutNetwork(t.Context()))
	defer c.Control.HealNetwork(context.Background())
	for _, machine := range []*cluster.Machine{c.LAN, c.Node(1).Machine} {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		connection, err := machine.Dial(short, c.Control.Address+":6443")
		cancel()
		if err == nil {
			connection.Close()
			t.Errorf("%s still reaches it", machine.Name)
		}
	}
	connection, err := c.Control.Dial(t.Context(), c.Control.Address+":6443")
	cluster.Must(t, err)
	connection.Close()
	cluster.Must(t, c.Control.HealNetwork(t.Context()))
	for _, node := range c.Nodes {
		cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
	}
}

func TestAServerUnderTestIsAPartLikeAnyOther(t *testing.T) {
	c := fourNodes(t)
	node := c.Node(1)
	config, err := c.KubeconfigFor("tester", "system:masters")
	cluster.Must(t, err)
	cluster.Must(t, node.WriteFile("/run/tester.conf", config, 0o600))
	text, err := node.Command(t.Context(), "kubectl", "--kubeconfig=/run/tester.conf", "auth", "whoami", "-o", "name").Output()
	if err != nil {
		t.Error(text, err)
	}
	server := node.Part("/bin/busybox", "nc", "-ll", "-p", "7000", "-e", "echo", "served").ReadyWhen(func() error {
		connection, err := c.LAN.Dial(t.Context(), node.Address+":7000")
		if err == nil {
			connection.Close()
		}
		return err
	})
	cluster.Must(t, server.Start(t.Context()))
	cluster.Must(t, server.Restart(t.Context()))
	cluster.Must(t, server.Kill(t.Context()))
	err = node.Part("/bin/busybox", "nc", "-no-such-option").ReadyWhen(func() error { return errors.New("never") }).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ended instead of serving") || !strings.Contains(err.Error(), "Usage: nc") {
		t.Errorf("a server that does not start gives: %v", err)
	}
}

// unlikeNodes is a cluster of two nodes that differ, for the tests of what a node is made of.
func unlikeNodes(t *testing.T) *cluster.Cluster {
	t.Helper()
	const library = "/bin/busybox" // any file will do
	return cluster.ForTest(t, cluster.Options{Nodes: 2, Mounts: func(node int) []cluster.Mount {
		if node == 1 {
			return []cluster.Mount{{Target: "/var/lib/small", Size: 1 << 20}}
		}
		return []cluster.Mount{
			{Source: library, Target: "/usr/lib/libdriver.so.1", ReadOnly: true},
			{Source: "/usr/lib/cni", Target: "/run/driver/root", ReadOnly: true},
			{Target: "/proc/driver", Size: 1 << 20},
		}
	}})
}

func TestNodesDifferInTheirFiles(t *testing.T) {
	c := unlikeNodes(t)
	plain, special := c.Node(1), c.Node(2)
	cluster.Must(t, special.Do(func() error {
		return errors.Join(
			os.MkdirAll("/proc/driver/nvidia/gpus", 0o755),
			unix.Mknod("/dev/nvidia0", unix.S_IFCHR|0o666, int(unix.Mkdev(195, 0))))
	}))
	for _, path := range []string{"/usr/lib/libdriver.so.1", "/run/driver/root/bridge", "/proc/driver/nvidia/gpus", "/dev/nvidia0"} {
		if _, err := special.Command(t.Context(), "ls", path).Output(); err != nil {
			t.Error(err)
		}
		if err := plain.Do(func() error { _, err := os.Stat(path); return err }); !os.IsNotExist(err) {
			t.Errorf("%s on %s: %v", path, plain.Name, err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s on the host: %v", path, err)
		}
	}
	if err := special.Do(func() error { return os.WriteFile("/usr/lib/libdriver.so.1", nil, 0) }); !errors.Is(err, unix.EROFS) {
		t.Errorf("writing to what is read-only: %v", err)
	}
	cluster.Must(t, special.WriteFile("/etc/cdi/x.json", []byte("{}"), 0o644))
	if _, err := os.Stat("/etc/cdi/x.json"); !os.IsNotExist(err) {
		t.Errorf("the host sees what a node writes to /etc: %v", err)
	}
}

func TestAFullDiskRefusesWritesUntilItIsFreed(t *testing.T) {
	node := unlikeNodes(t).Node(1)
	free, err := node.FillDisk("/var/lib/small")
	cluster.Must(t, err)
	write := func() error { return node.WriteFile("/var/lib/small/state", []byte("x"), 0o644) }
	if err := write(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("writing to a full disk: %v", err)
	}
	cluster.Must(t, free())
	cluster.Must(t, write())
	if _, err := node.FillDisk("/var/lib"); err == nil || !strings.Contains(err.Error(), "small Size") {
		t.Errorf("filling the host's memory: %v", err)
	}
}

func TestARebootKeepsDisksAndBringsPodsBack(t *testing.T) {
	c := unlikeNodes(t)
	node := c.Node(1)
	pod := cluster.NewPod("sailor", node.Name, "sleep", "1000")
	before := runPod(t, c, pod)
	info, err := c.Client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	cluster.Must(t, err)
	for _, path := range []string{"/run/gone", "/var/lib/kept", "/var/lib/small/kept", "/etc/kept"} {
		cluster.Must(t, node.WriteFile(path, []byte("x"), 0o644))
	}
	cluster.Must(t, node.PowerOff(t.Context()))
	if node.Kubelet.Running() || node.Containerd.Running() {
		t.Error("a server outlived the power")
	}
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, false))
	cluster.Must(t, node.PowerOn(t.Context()))

	cluster.Must(t, c.WaitNode(t.Context(), node.Name, "has a new boot id", func(n *corev1.Node) bool {
		return n.Status.NodeInfo.BootID != info.Status.NodeInfo.BootID
	}))
	cluster.Must(t, c.WaitNodeReady(t.Context(), node.Name, true))
	old := before.Status.ContainerStatuses[0].ContainerID
	cluster.Must(t, c.WaitPod(t.Context(), pod.Name, "runs again", func(pod *corev1.Pod) bool {
		if pod == nil || len(pod.Status.ContainerStatuses) == 0 {
			return false
		}
		status := pod.Status.ContainerStatuses[0]
		return status.Ready && status.ContainerID != old && status.RestartCount > 0
	}))
	execWants(t, c, "back", pod.Name, "echo", "back")
	cluster.Must(t, node.Do(func() error {
		if _, err := os.Stat("/run/gone"); !os.IsNotExist(err) {
			t.Errorf("/run/gone after the reboot: %v", err)
		}
		for _, path := range []string{"/var/lib/kept", "/var/lib/small/kept", "/etc/kept"} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("after the reboot: %v", err)
			}
		}
		return nil
	}))
}

func TestARebootInOneGo(t *testing.T) {
	c := unlikeNodes(t)
	cluster.Must(t, c.Node(2).Reboot(t.Context()))
	cluster.Must(t, c.WaitNodeReady(t.Context(), "node-2", true))
}

func TestAPartThatIsKeptRunningStartsAgain(t *testing.T) {
	c := fourNodes(t)
	part := c.Node(1).Part("/bin/busybox", "sleep", "100000")
	part.Name = "kept"
	cluster.Must(t, part.Start(t.Context()))
	t.Cleanup(func() {
		if part.Running() {
			cluster.Must(t, part.Kill(context.Background()))
		}
	})
	ctx, cancel := context.WithCancel(cluster.Within(t, time.Minute))
	defer cancel()
	told, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		part.KeepRunning(ctx, func(what string) {
			select {
			case told <- what:
			case <-ctx.Done():
			}
		})
	}()
	tells := func(want string) {
		t.Helper()
		select {
		case what := <-told:
			if !strings.Contains(what, want) {
				t.Errorf("it tells %q, not %q", what, want)
			}
		case <-ctx.Done():
			t.Fatalf("it does not tell that it %s", want)
		}
	}
	before, err := part.Pid()
	cluster.Must(t, err)
	cluster.Must(t, part.Kill(ctx))
	tells("kept on node-1 has ended and starts again in 0s")
	after, err := part.Pid()
	for ; err != nil || after == before || !part.Running(); after, err = part.Pid() {
		if ctx.Err() != nil {
			t.Fatal("it does not start again")
		}
		time.Sleep(time.Millisecond)
	}
	cluster.Must(t, part.Kill(ctx))
	tells("starts again in 10s") // what ends again and again waits longer
	cancel()
	<-ended
	if part.Running() {
		t.Error("it runs though nobody keeps it running")
	}
}
