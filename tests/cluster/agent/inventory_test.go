package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead/tests/cluster/gpus"
)

var gpuDevices = schema.GroupVersionResource{Group: "gpu.deckhouse.io", Version: "v1alpha1", Resource: "gpudevices"}

// controls starts a controller that ends with the test.
func (r *rig) controls() {
	r.Helper()
	file, err := gpus.Program("fairlead")
	r.must(err)
	log, err := os.Create(filepath.Join(r.TempDir(), "controller.log"))
	r.must(err)
	command := r.c.Command(context.Background(), file, "controller", "--kubeconfig", r.c.Kubeconfig(), "--listen", "10.77.0.1:18999",
		"--lead=false")
	command.Stderr = log
	r.must(command.Start())
	r.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		if r.Failed() {
			text, _ := os.ReadFile(log.Name())
			r.Logf("the controller said:\n%s", tail(string(text), 40))
		}
	})
}

func (r *rig) inventory() []unstructured.Unstructured {
	r.Helper()
	list, err := r.c.Dynamic.Resource(gpuDevices).List(r.Context(), metav1.ListOptions{})
	r.must(err)
	return list.Items
}

// hasDevices waits until there are so many, each with what only an agent knows.
func (r *rig) hasDevices(count int) map[string]string {
	r.Helper()
	versions := map[string]string{}
	until(r, fmt.Sprint(count, " devices"), func() (bool, string) {
		clear(versions)
		for _, device := range r.inventory() {
			id, _, _ := unstructured.NestedString(device.Object, "status", "inventoryID")
			uuid, _, _ := unstructured.NestedString(device.Object, "status", "hardware", "uuid")
			address, _, _ := unstructured.NestedString(device.Object, "status", "hardware", "pci", "address")
			product, _, _ := unstructured.NestedString(device.Object, "status", "hardware", "product")
			if id == r.n.Name+"/"+address && strings.HasPrefix(uuid, "GPU-") && product != "" {
				versions[device.GetName()] = device.GetResourceVersion()
			}
		}
		return len(versions) == count, fmt.Sprint(versions)
	})
	return versions
}

// R37 with a real agent: its NodeFeature is where the controller has UUIDs and addresses from. A restart of the agent and a
// GPU that falls off the bus write nothing.
func TestInventoryHasTheGPUsThatTheAgentTells(t *testing.T) {
	r := oneNode(t)
	r.heals()
	_, err := r.c.Dynamic.Resource(crds).Create(r.Context(), features(), metav1.CreateOptions{})
	r.must(err)
	file, err := gpus.Program("fairlead")
	r.must(err)
	kinds, err := r.c.Command(r.Context(), file, "crd").Output()
	r.must(err)
	r.must(r.c.Apply(r.Context(), string(kinds)))
	r.Cleanup(func() {
		for _, plural := range []string{"nodefeatures.nfd.k8s-sigs.io", "gpudevices.gpu.deckhouse.io", "gpunodestates.gpu.deckhouse.io",
			"gpupools.gpu.deckhouse.io", "clustergpupools.gpu.deckhouse.io"} {
			r.must(r.c.Dynamic.Resource(crds).Delete(context.Background(), plural, metav1.DeleteOptions{}))
		}
	})
	r.controls()
	before := r.hasDevices(8)
	r.must(r.agent.Restart(r.Context()))
	r.hasGPUs(8, 8)
	after := r.hasDevices(8)
	for name, version := range before {
		if after[name] != version {
			t.Errorf("%s was written when the agent was restarted: %s, %s", name, version, after[name])
		}
	}
	r.say("lose", "3")
	r.hasGPUs(7, 8)
	if lost := r.hasDevices(8); len(lost) != 8 {
		t.Errorf("a GPU that is lost has no device: %v", lost)
	}
}
