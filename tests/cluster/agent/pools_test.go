package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	slicedPool = corev1.ResourceName("cluster.gpu.deckhouse.io/sliced")
	migPool    = corev1.ResourceName("gpu.deckhouse.io/parts")
)

// poolNode has eight H100, an agent that serves pools, and what a controller would make: CRDs, and a GPUDevice of the first
// GPU. While the agent starts for the first time there are no CRDs.
func poolNode(t *testing.T) (r *rig, uuid string) {
	t.Helper()
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}, undamped, "--gpu-pools"), "h100")
	cluster.Must(t, err)
	c := cluster.ForTest(t, options)
	r = &rig{t, c, c.Node(1), c.Node(1).Services[0]}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(r.agent.LogFile())
			t.Logf("the agent's log ends:\n%s", tail(string(text), 60))
			said, _ := c.Kubectl(context.Background(), "get", "gpudevices,gpupools,clustergpupools", "-A", "-o", "yaml")
			t.Log(said)
		}
	})
	r.ready()
	r.hasGPUs(8, 8)
	program, err := gpus.Program("fairlead")
	r.must(err)
	crds, err := exec.CommandContext(t.Context(), program, "crd").Output()
	r.must(err)
	r.must(c.Apply(t.Context(), string(crds)))
	all, err := gpus.Say(t.Context(), r.n, "show")
	r.must(err)
	for _, line := range strings.Split(all, "\n") {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "gpu" && f[1] == "0" {
			uuid = f[2]
		}
	}
	until(r, "GPUDevices can be made", func() (bool, string) {
		err := c.Apply(t.Context(), "apiVersion: gpu.deckhouse.io/v1alpha1\nkind: GPUDevice\nmetadata: {name: d}\nspec: {}\n")
		return err == nil, errorText(err)
	})
	r.Cleanup(func() {
		_, err := c.Kubectl(context.Background(), "delete", "gpudevices,clustergpupools,gpupools", "--all", "-A")
		if err != nil {
			r.Error(err)
		}
		r.within(moment).hasGPUs(8, 8)
	})
	return r, uuid
}

// pool makes a pool, whose kind and namespace follow from its resource.
func (r *rig) pool(kind, name, resource string) {
	r.Helper()
	r.must(r.c.Apply(r.Context(), fmt.Sprintf("apiVersion: gpu.deckhouse.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\n"+
		"spec: {resource: {%s}}\n", kind, name, resource)))
}

// deviceIs writes the GPUDevice as the controller would: "" as the annotation removes it, "null" as the reference too.
func (r *rig) deviceIs(uuid, annotation, value, state, ref string) {
	r.Helper()
	if annotation != "" {
		_, err := r.c.Kubectl(r.Context(), "annotate", "--overwrite", "gpudevice", "d", annotation+value)
		r.must(err)
	}
	_, err := r.c.Kubectl(r.Context(), "patch", "gpudevice", "d", "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"nodeName":%q,"managed":true,"state":%q,"poolRef":%s,"hardware":{"uuid":%q,"pci":{"address":%q}}}}`,
			r.n.Name, state, ref, uuid, r.address(uuid)))
	r.must(err)
}

// isConfigured waits for the condition that the agent writes.
func (r *rig) isConfigured(want, words string) {
	r.Helper()
	until(r, "the GPUDevice says "+want+" "+words, func() (bool, string) {
		said, err := r.c.Kubectl(r.Context(), "get", "gpudevice", "d", "-o",
			"jsonpath={range .status.conditions[?(@.type=='Configured')]}{.status} {.reason} {.message}{end}")
		if err != nil {
			said = err.Error()
		}
		return strings.HasPrefix(said, want) && strings.Contains(said, words) && (want == "") == (said == ""), said
	})
}

// R61, R85, R86, R92, R64, R107: a GPU joins a pool, is shared there, survives the API server's and the agent's absence, and
// leaves again, while its Pod runs on.
func TestAGPUServesThePoolThatItBelongsTo(t *testing.T) {
	r, uuid := poolNode(t)
	const assignment = "cluster.gpu.deckhouse.io/assignment"
	r.pool("ClusterGPUPool", "sliced", "unit: Card, slicesPerUnit: 2")
	r.deviceIs(uuid, assignment, "=sliced", "PendingAssignment", `{"name":"sliced"}`)
	r.isConfigured("True Applied", "2 units")
	r.allocates(slicedPool, 2)
	r.allocates(gpu, 7)
	r.runs(partOf("user", slicedPool))
	if id := r.only("user/main"); !strings.HasPrefix(id, uuid+"::") {
		t.Errorf("the Pod has %s, which is no part of %s", id, uuid)
	}
	if cards := r.cards("user", "main"); len(cards) != 1 {
		t.Errorf("the Pod sees the GPUs %q", cards)
	}

	_, before := r.registered(0)
	r.must(r.c.APIServer.Kill(t.Context()))
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	until(r, "without the API server the pool is served", func() (bool, string) {
		names, _ := r.registered(before)
		return slices.Contains(names, string(slicedPool)), fmt.Sprint(names)
	})
	r.must(r.c.APIServer.Start(t.Context()))
	r.isConfigured("True Applied", "2 units")
	r.runs(partOf("second", slicedPool))

	r.deviceIs(uuid, assignment, "-", "PendingAssignment", `{"name":"sliced"}`)
	r.isConfigured("False CardInUse", "; Pod default/")
	r.allocates(slicedPool, 0)
	r.allocates(gpu, 7)
	r.undisturbed("user")
	for _, pod := range []string{"user", "second"} {
		r.must(r.c.DeletePod(cluster.Within(t, moment), pod))
	}
	r.isConfigured("False Drained", "nobody holds it")
	r.allocates(gpu, 7)
	r.deviceIs(uuid, "", "", "Ready", "null")
	r.allocates(gpu, 8)
	r.isConfigured("", "")
}

// R30, R86: a GPU of a MIG pool has as many MIG devices of its profile as fit, and is whole again when it has left.
func TestAGPUOfAMIGPoolIsPartitionedForIt(t *testing.T) {
	r, uuid := poolNode(t)
	const assignment = "gpu.deckhouse.io/assignment"
	r.follows(func() { r.within(moment).hasGPUs(8, 8) })
	r.pool("GPUPool", "parts", "unit: MIG, migProfile: 1g.10gb")
	r.deviceIs(uuid, assignment, "=parts", "PendingAssignment", `{"name":"parts","namespace":"default"}`)
	r.isConfigured("True Applied", "7 units")
	r.allocates(migPool, 7)
	r.allocates(gpu, 7)
	r.runs(partOf("part", migPool))
	if id := r.only("part/main"); !strings.HasPrefix(id, "MIG-") {
		t.Errorf("the Pod has %s, which is no MIG device", id)
	}
	r.deviceIs(uuid, assignment, "-", "PendingAssignment", `{"name":"parts","namespace":"default"}`)
	r.isConfigured("False CardInUse", "/part")
	r.allocates(migPool, 0)
	r.undisturbed("part")
	if n := len(r.instances()); n != 7 {
		t.Errorf("while a Pod runs there are %d instances, not 7", n)
	}
	r.must(r.c.DeletePod(cluster.Within(t, moment), "part"))
	r.isConfigured("False Drained", "nobody holds it")
	if n := len(r.instances()); n != 0 {
		t.Errorf("%d instances are left", n)
	}
	r.deviceIs(uuid, "", "", "Ready", "null")
	r.allocates(gpu, 8)
}
