package cluster_test

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(abortedName); name != "" {
		startToBeAborted(name)
	}
	cluster.Main(m)
}

// fourNodes is the cluster that most tests share.
func fourNodes(t *testing.T) *cluster.Cluster {
	t.Helper()
	return cluster.ForTest(t, cluster.Options{Nodes: 4})
}

func TestAnAPIServerAloneTakesObjects(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	ctx := cluster.Within(t, 20*time.Second)
	version, err := c.Kubectl(ctx, "version")
	cluster.Must(t, err)
	if !strings.Contains(version, "Server Version: v1.36.3") {
		t.Errorf("kubectl version says\n%s", version)
	}
	pod := cluster.NewPod("stored-only", "", "true")
	_, err = c.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	cluster.Must(t, err)
	cluster.Must(t, c.DeletePod(ctx, pod.Name))
}

func TestCustomResourcesAreServed(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	ctx := cluster.Within(t, 20*time.Second)
	cluster.Must(t, c.Apply(ctx, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buoys.fairlead.test}
spec:
  group: fairlead.test
  scope: Namespaced
  names: {kind: Buoy, plural: buoys, singular: buoy, listKind: BuoyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {depth: {type: integer, maximum: 50, default: 3}}}
`))
	_, err := c.Kubectl(ctx, "wait", "--for=condition=Established", "crd/buoys.fairlead.test", "--timeout=10s")
	cluster.Must(t, err)
	cluster.Must(t, c.Apply(ctx, "{apiVersion: fairlead.test/v1, kind: Buoy, metadata: {name: red, namespace: default}, spec: {}}"))
	depth, err := c.Kubectl(ctx, "get", "buoy", "red", "-o", "jsonpath={.spec.depth}")
	cluster.Must(t, err)
	if depth != "3" {
		t.Errorf("the default is %q, not 3", depth)
	}
	err = c.Apply(ctx, "{apiVersion: fairlead.test/v1, kind: Buoy, metadata: {name: deep, namespace: default}, spec: {depth: 51}}")
	if err == nil || !strings.Contains(err.Error(), "should be less than or equal to 50") {
		t.Errorf("a depth of 51 gave: %v", err)
	}
}

func TestFourNodesAreReady(t *testing.T) {
	c := fourNodes(t)
	nodes, err := c.Client.CoreV1().Nodes().List(cluster.Within(t, 10*time.Second), metav1.ListOptions{})
	cluster.Must(t, err)
	if len(nodes.Items) != 4 {
		t.Fatalf("%d nodes", len(nodes.Items))
	}
	for i, node := range nodes.Items {
		if node.Status.NodeInfo.KubeletVersion != "v1.36.3" || node.Status.NodeInfo.ContainerRuntimeVersion != "containerd://2.2.9" {
			t.Errorf("%s runs %s and %s", node.Name, node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.ContainerRuntimeVersion)
		}
		if address := node.Status.Addresses[0].Address; address != c.Nodes[i].Address {
			t.Errorf("%s has the address %s, not %s", node.Name, address, c.Nodes[i].Address)
		}
	}
}

func TestEighteenNodesTakePods(t *testing.T) {
	c := cluster.NewForTest(t, cluster.Options{Nodes: cluster.MostNodes})
	ctx := cluster.Within(t, 2*time.Minute)
	for _, node := range c.Nodes {
		_, err := c.Client.CoreV1().Pods("default").Create(ctx, cluster.NewPod("on-"+node.Name, node.Name, "sleep", "1000"), metav1.CreateOptions{})
		cluster.Must(t, err)
	}
	for _, node := range c.Nodes {
		pod, err := c.WaitPodReady(ctx, "on-"+node.Name)
		cluster.Must(t, err)
		if pod.Spec.NodeName != node.Name || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("%s is %s on %s", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		}
	}
}

func TestFurtherFlagsReachThePrograms(t *testing.T) {
	c := cluster.NewForTest(t, cluster.Options{Flags: map[string][]string{
		"kube-apiserver": {"--service-account-max-token-expiration=2h"},
	}})
	pid, err := c.APIServer.Pid()
	cluster.Must(t, err)
	line, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
	cluster.Must(t, err)
	if !strings.Contains(string(line), "--service-account-max-token-expiration=2h") {
		t.Errorf("the API server runs as %q", strings.ReplaceAll(string(line), "\x00", " "))
	}
}
