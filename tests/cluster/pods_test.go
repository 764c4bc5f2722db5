package cluster_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead/tests/cluster"
)

func itoa(n int) string { return strconv.Itoa(n) }

// runPod runs a Pod for the length of the test.
func runPod(t *testing.T, c *cluster.Cluster, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.DeletePod(ctx, pod.Name); err != nil {
			t.Error(err)
		}
	})
	running, err := c.RunPod(t.Context(), pod)
	cluster.Must(t, err)
	return running
}

// execWants runs a command in a Pod and compares what it prints.
func execWants(t *testing.T, c *cluster.Cluster, want, pod string, command ...string) {
	t.Helper()
	got, err := c.Exec(t.Context(), pod, command...)
	cluster.Must(t, err)
	if strings.TrimSpace(got) != want {
		t.Errorf("%s in %s printed %q, not %q", strings.Join(command, " "), pod, got, want)
	}
}

func TestPodsRunOnEveryNode(t *testing.T) {
	c := fourNodes(t)
	for _, node := range c.Nodes {
		t.Run(node.Name, func(t *testing.T) {
			name := "hello-" + node.Name
			pod := runPod(t, c, cluster.NewPod(name, node.Name, "sh", "-c", "echo $HOSTNAME is afloat; exec sleep 1000"))
			if pod.Spec.NodeName != node.Name {
				t.Errorf("it runs on %s", pod.Spec.NodeName)
			}
			logs, err := c.Logs(t.Context(), name)
			cluster.Must(t, err)
			if logs != name+" is afloat\n" {
				t.Errorf("its log is %q", logs)
			}
			execWants(t, c, "42", name, "sh", "-c", "echo $((6 * 7))")
		})
	}
}

func TestAPodThatEndsSucceeds(t *testing.T) {
	c := fourNodes(t)
	pod := cluster.NewPod("short", "", "true")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	cluster.Must(t, c.Apply(t.Context(), `{apiVersion: v1, kind: Pod, metadata: {name: short, namespace: default}, spec: {
		restartPolicy: Never, containers: [{name: main, image: "`+cluster.BusyboxImage+`", imagePullPolicy: Never, command: ["true"]}]}}`))
	cluster.Must(t, c.WaitPodPhase(t.Context(), "short", corev1.PodSucceeded))
	cluster.Must(t, c.DeletePod(t.Context(), "short"))
}

func TestPodsReachOneAnotherAcrossNodes(t *testing.T) {
	c := fourNodes(t)
	pod := cluster.NewPod("server", "node-1", "nc", "-ll", "-p", "8080", "-e", "echo", "ahoy")
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 1,
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}},
	}
	server := runPod(t, c, pod)
	for _, node := range []string{"node-1", "node-2"} {
		t.Run("from "+node, func(t *testing.T) {
			name := "client-on-" + node
			runPod(t, c, cluster.NewPod(name, node, "sleep", "1000"))
			execWants(t, c, "ahoy", name, "nc", "-w", "5", server.Status.PodIP, "8080")
		})
	}
	for _, machine := range []*cluster.Machine{c.LAN, c.Control, c.Node(2).Machine} {
		t.Run("from the machine "+machine.Name, func(t *testing.T) {
			connection, err := machine.Dial(cluster.Within(t, 5*time.Second), server.Status.PodIP+":8080")
			cluster.Must(t, err)
			defer connection.Close()
			got, err := io.ReadAll(connection)
			cluster.Must(t, err)
			if string(got) != "ahoy\n" {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

func TestAnImageMadeHereRuns(t *testing.T) {
	c := fourNodes(t)
	greeting := filepath.Join(t.TempDir(), "greeting")
	cluster.Must(t, os.WriteFile(greeting, []byte("made here\n"), 0o644))
	archive := filepath.Join(t.TempDir(), "image.tar")
	cluster.Must(t, cluster.WriteImages(archive, cluster.Image{
		Name:       "fairlead.test/greeter:1",
		Files:      map[string]string{"bin/busybox": "/bin/busybox", "etc/greeting": greeting},
		Entrypoint: []string{"/bin/busybox"},
		Command:    []string{"tail", "-f", "/etc/greeting"},
	}))
	cluster.Must(t, c.Node(2).LoadImage(t.Context(), archive))
	pod := cluster.NewPod("greeter", "node-2")
	pod.Spec.Containers[0].Image = "fairlead.test/greeter:1"
	runPod(t, c, pod)
	logs, err := c.Logs(t.Context(), "greeter")
	cluster.Must(t, err)
	if logs != "made here\n" {
		t.Errorf("its log is %q", logs)
	}
}

func TestACDIDeviceReachesTheContainer(t *testing.T) {
	c := fourNodes(t)
	node := c.Node(3)
	// As a GPU's: the granted device has a driver that is not there, so opening it says "no such device".
	cluster.Must(t, node.WriteFile("/var/run/cdi/lamp.json", []byte(`{
		"cdiVersion": "0.6.0", "kind": "fairlead.test/lamp",
		"devices": [{"name": "one", "containerEdits": {
			"env": ["LAMP=lit"],
			"deviceNodes": [{"path": "/dev/lamp0", "type": "c", "major": 195, "minor": 0}]}}]}`), 0o644))
	serveDevice(t, node, "fairlead.test/lamp", "fairlead.test/lamp=one")
	cluster.Must(t, c.WaitNode(t.Context(), node.Name, "offers a lamp", func(n *corev1.Node) bool {
		lamps := n.Status.Allocatable["fairlead.test/lamp"]
		return lamps.Value() == 1
	}))
	pod := cluster.NewPod("lighthouse", "", "sleep", "1000")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"fairlead.test/lamp": resource.MustParse("1")}
	running := runPod(t, c, pod)
	if running.Spec.NodeName != node.Name {
		t.Errorf("it runs on %s", running.Spec.NodeName)
	}
	execWants(t, c, "lit", "lighthouse", "sh", "-c", "echo $LAMP")
	execWants(t, c, "cat: can't open '/dev/lamp0': No such device or address", "lighthouse", "sh", "-c", "cat /dev/lamp0 2>&1 || true")
	execWants(t, c, "cat: can't open '/tmp/lamp1': Operation not permitted", "lighthouse", "sh", "-c",
		"mknod /tmp/lamp1 c 195 1 && cat /tmp/lamp1 2>&1 || true")
}
