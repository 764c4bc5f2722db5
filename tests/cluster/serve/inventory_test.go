package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fairlead/tests/cluster"
)

var (
	deviceResource  = schema.GroupVersionResource{Group: "gpu.deckhouse.io", Version: "v1alpha1", Resource: "gpudevices"}
	stateResource   = schema.GroupVersionResource{Group: "gpu.deckhouse.io", Version: "v1alpha1", Resource: "gpunodestates"}
	featureResource = schema.GroupVersionResource{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Resource: "nodefeatures"}
)

// inventory is a cluster of Nodes that have no kubelet, whose NodeFeatures the test writes as agents do.
type inventory struct {
	*testing.T
	c          *cluster.Cluster
	kubeconfig string // of the controller's own account
}

// newInventory installs what docs/POOLS.md says, and node feature discovery's kind.
func newInventory(t *testing.T) *inventory {
	t.Helper()
	c := cluster.NewForTest(t, cluster.Options{Controllers: true})
	v := &inventory{T: t, c: c, kubeconfig: filepath.Join(t.TempDir(), "controller.conf")}
	for _, args := range [][]string{{"crd"}, {"crd", "ModuleConfig"}} {
		crds, err := c.Command(t.Context(), program(t, "fairlead"), args...).Output()
		cluster.Must(t, err)
		cluster.Must(t, c.Apply(t.Context(), string(crds)))
	}
	cluster.Must(t, c.Apply(t.Context(), nodeFeatureKind))
	manifest, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "install", "controller.yaml"))
	cluster.Must(t, err)
	cluster.Must(t, c.Apply(t.Context(), string(manifest)))
	until(t, "kinds", func() (bool, string) {
		text, err := c.Kubectl(t.Context(), "get", "gpudevices,gpunodestates,nodefeatures,moduleconfigs", "-A")
		return err == nil, fmt.Sprint(text, err)
	})
	v.account()
	return v
}

const nodeFeatureKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: nodefeatures.nfd.k8s-sigs.io
  annotations: {api-approved.kubernetes.io: "unapproved, a test's"}
spec:
  group: nfd.k8s-sigs.io
  scope: Namespaced
  names: {kind: NodeFeature, listKind: NodeFeatureList, plural: nodefeatures, singular: nodefeature}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

// account makes the kubeconfig with which the Deployment's Pods would run.
func (v *inventory) account() {
	v.Helper()
	token, err := v.c.Kubectl(v.Context(), "create", "token", "-n", "fairlead", "fairlead-controller")
	cluster.Must(v, err)
	config, err := clientcmd.LoadFromFile(v.c.Kubeconfig())
	cluster.Must(v, err)
	context := config.Contexts[config.CurrentContext]
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{context.AuthInfo: {Token: strings.TrimSpace(token)}}
	cluster.Must(v, clientcmd.WriteToFile(*config, v.kubeconfig))
}

// step runs a subtest; what it or its controllers miss fails it, and not the test around it.
func (v *inventory) step(name string, f func(t *testing.T), ds ...*controller) {
	whole := v.T
	whole.Helper()
	whole.Run(name, func(t *testing.T) {
		v.T = t
		for _, d := range ds {
			d.t = t
		}
		f(t)
	})
	v.T = whole
	for _, d := range ds {
		d.t = whole
	}
}

func (v *inventory) starts() *controller {
	v.Helper()
	return startFile(v.T, v.c, program(v.T, "fairlead"), "controller", v.kubeconfig, "fairlead")
}

// node makes a Node and the NodeFeature of its agent.
func (v *inventory) node(name string, labels map[string]string, addresses ...string) {
	v.Helper()
	node, err := v.c.Client.CoreV1().Nodes().Create(v.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	cluster.Must(v, err)
	var gpus []any
	for i, address := range addresses {
		gpus = append(gpus, map[string]any{"attributes": map[string]any{"index": fmt.Sprint(i), "vendor": "10de", "device": "20b0",
			"class": "0302", "pci.address": address, "uuid": "GPU-" + name + "-" + address, "product": "NVIDIA A100-SXM4-80GB"}})
	}
	feature := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
		"metadata": map[string]any{"name": "nvidia-features-for-" + name + "-fairlead", "namespace": "default",
			"labels": map[string]any{"nfd.node.kubernetes.io/node-name": name}},
		"spec": map[string]any{"features": map[string]any{"flags": map[string]any{}, "attributes": map[string]any{},
			"instances": map[string]any{"nvidia.com/gpu": map[string]any{"elements": gpus}}}}}}
	feature.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}})
	_, err = v.c.Dynamic.Resource(featureResource).Namespace("default").Apply(v.Context(), feature.GetName(), feature,
		metav1.ApplyOptions{FieldManager: "agent", Force: true})
	cluster.Must(v, err)
}

// devices are those of a Node, by name; "" is of all.
func (v *inventory) devices(node string) map[string]*unstructured.Unstructured {
	v.Helper()
	options := metav1.ListOptions{}
	if node != "" {
		options.FieldSelector = "status.nodeName=" + node
	}
	list, err := v.c.Dynamic.Resource(deviceResource).List(v.Context(), options)
	cluster.Must(v, err)
	all := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		all[list.Items[i].GetName()] = &list.Items[i]
	}
	return all
}

func (v *inventory) has(node string, count int, so func(*unstructured.Unstructured) bool) {
	v.Helper()
	// The garbage collector learns of new kinds every 30 s.
	ctx := cluster.Within(v.T, 3*time.Minute)
	for {
		all, n := v.devices(node), 0
		for _, device := range all {
			if so(device) {
				n++
			}
		}
		if n == count && len(all) == count {
			return
		}
		select {
		case <-ctx.Done():
			v.Fatalf("of %q there are %d devices, %d of them as they should be, and not %d", node, len(all), n, count)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// versions are the resourceVersions of all that the controller writes.
func (v *inventory) versions() string {
	v.Helper()
	text, err := v.c.Kubectl(v.Context(), "get", "gpudevices,gpunodestates", "-o",
		`jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}`)
	cluster.Must(v, err)
	return text
}

func managed(want bool) func(*unstructured.Unstructured) bool {
	return func(device *unstructured.Unstructured) bool {
		is, found, _ := unstructured.NestedBool(device.Object, "status", "managed")
		return found && is == want
	}
}

func id(device *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(device.Object, "status", "inventoryID")
	return text
}

func addresses(first, count int) (all []string) {
	for i := range count {
		all = append(all, fmt.Sprintf("0000:%02x:00.0", first+i))
	}
	return all
}

func TestInventoryOfACluster(t *testing.T) {
	v := newInventory(t)
	one := v.starts()
	one.untilLeads()
	began := time.Now()
	for _, name := range []string{"w1", "w2", "w3", "w4"} {
		v.node(name, nil, addresses(1, 8)...)
	}

	v.step("R37 R38 each GPU of each Node has a device within seconds", func(t *testing.T) {
		v.has("", 32, managed(true))
		t.Logf("32 devices after %v", time.Since(began).Round(time.Millisecond))
		text, err := v.c.Kubectl(t.Context(), "get", "gpudevices", "--no-headers", "--field-selector", "status.nodeName=w2")
		cluster.Must(t, err)
		if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 8 ||
			!strings.HasPrefix(strings.Join(strings.Fields(lines[0]), " "), "w2-0-10de-20b0 w2 Discovered true ") {
			t.Errorf("kubectl shows\n%s", text)
		}
		device := v.devices("w2")["w2-7-10de-20b0"]
		owners := device.GetOwnerReferences()
		if id(device) != "w2/0000:08:00.0" || len(owners) != 1 || owners[0].Kind != "Node" || owners[0].Controller != nil {
			t.Errorf("%v", device.Object)
		}
		until(t, "the node's state", func() (bool, string) {
			text, err := v.c.Kubectl(t.Context(), "get", "gpunodestate", "w2", "--no-headers")
			return err == nil && strings.HasPrefix(strings.Join(strings.Fields(text), " "), "w2 w2 True "), fmt.Sprint(text, err)
		})
	}, one)

	v.step("R48 the Events tell of devices, and of the Node's condition", func(t *testing.T) {
		until(t, "Events", func() (bool, string) {
			text, err := v.c.Kubectl(t.Context(), "get", "events.events.k8s.io", "-n", "default", "--no-headers", "-o",
				"custom-columns=R:.reason,K:.regarding.kind,N:.note")
			return err == nil && strings.Contains(text, "GPUDeviceDetected") && strings.Contains(text, "GPUInventoryConditionChanged") &&
				strings.Contains(text, "Condition InventoryComplete changed to true (InventorySynced)"), fmt.Sprint(text, err)
		})
	}, one)

	v.step("R42 a Node is disabled by its label, and comes back", func(t *testing.T) {
		for _, row := range []struct {
			value string
			is    bool
		}{{`"false"`, false}, {"null", true}} {
			_, err := v.c.Client.CoreV1().Nodes().Patch(t.Context(), "w1", types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"gpu.deckhouse.io/enabled":`+row.value+`}}}`), metav1.PatchOptions{})
			cluster.Must(t, err)
			v.has("w1", 8, managed(row.is))
		}
	}, one)

	v.step("R16 R15 settings are followed, and a bad one is told by name and changes nothing", func(t *testing.T) {
		config := func(settings string) {
			cluster.Must(t, v.c.Apply(t.Context(), "apiVersion: deckhouse.io/v1alpha1\nkind: ModuleConfig\nmetadata: {name: gpu-control-plane}\n"+
				"spec: {enabled: true, version: 1, settings: {"+settings+"}}\n"))
		}
		attached := func(device *unstructured.Unstructured) bool {
			is, _, _ := unstructured.NestedBool(device.Object, "status", "autoAttach")
			return is
		}
		config("deviceApproval: {mode: automatic}")
		v.has("", 32, attached)
		before := v.versions()
		config("deviceApproval: {mode: Perhaps}")
		until(t, "the condition", func() (bool, string) {
			text, err := v.c.Kubectl(t.Context(), "get", "moduleconfig", "gpu-control-plane", "-o",
				"jsonpath={.status.conditions[?(@.type=='SettingsValid')].message}")
			return err == nil && strings.Contains(text, `unknown deviceApproval.mode "Perhaps"`), fmt.Sprint(text, err)
		})
		one.atRest()
		if after := v.versions(); after != before {
			t.Errorf("written:\n%s\n%s", before, after)
		}
		config("deviceApproval: {mode: Manual}")
		v.has("", 32, func(d *unstructured.Unstructured) bool { return !attached(d) })
	}, one)

	v.step("R40 a Node that comes again with other GPUs has new devices", func(t *testing.T) {
		cluster.Must(t, v.c.Client.CoreV1().Nodes().Delete(t.Context(), "w3", metav1.DeleteOptions{}))
		v.node("w3", nil, addresses(0xa0, 2)...)
		v.has("w3", 2, func(d *unstructured.Unstructured) bool { return strings.HasPrefix(id(d), "w3/0000:a") })
	}, one)

	v.step("Nodes that are called alike have devices of their own", func(t *testing.T) {
		v.node("a.b", nil, "0000:3b:00.0")
		v.node("a-b", nil, "0000:3b:00.0")
		v.has("a.b", 1, func(d *unstructured.Unstructured) bool { return id(d) == "a.b/0000:3b:00.0" })
		v.has("a-b", 1, func(d *unstructured.Unstructured) bool { return id(d) == "a-b/0000:3b:00.0" })
	}, one)

	v.step("R21 what people set stays", func(t *testing.T) {
		_, err := v.c.Kubectl(t.Context(), "annotate", "gpudevice", "w2-0-10de-20b0", "gpu.deckhouse.io/assignment=a100")
		cluster.Must(t, err)
		_, err = v.c.Kubectl(t.Context(), "label", "gpudevice", "w2-0-10de-20b0", "gpu.deckhouse.io/ignore=true")
		cluster.Must(t, err)
		until(t, "Ignored", func() (bool, string) {
			text, err := v.c.Kubectl(t.Context(), "get", "gpudevice", "w2-0-10de-20b0", "-o",
				"jsonpath={.status.conditions[?(@.type=='Ignored')].status} {.metadata.annotations.gpu\\.deckhouse\\.io/assignment}")
			return err == nil && text == "True a100", fmt.Sprint(text, err)
		})
	}, one)

	v.step("R33 a leader that is killed is followed by one that writes nothing", func(t *testing.T) {
		one.atRest()
		before := v.versions()
		two := v.starts()
		two.untilReady(200, "")
		cluster.Must(t, one.cmd.Process.Kill())
		<-one.done
		two.untilLeads()
		two.atRest()
		if after := v.versions(); after != before {
			t.Errorf("written:\n%s\n%s", before, after)
		}
		_, err := v.c.Kubectl(context.Background(), "delete", "gpudevice", "w4-3-10de-20b0")
		cluster.Must(t, err)
		v.has("w4", 8, managed(true))
		if sum := two.sum("fairlead_writes_total"); sum != 2 {
			t.Errorf("%v writes for a device that was deleted, and not 2", sum)
		}
		two.untilReady(200, "ready")
	})
}
