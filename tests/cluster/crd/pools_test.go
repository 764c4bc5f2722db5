package crd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster"
)

// pools installs the CRDs of gpu.deckhouse.io as `fairlead crd` prints them.
func pools(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.ForTest(t, cluster.Options{})
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	crds, err := exec.CommandContext(t.Context(), filepath.Join(build, "fairlead"), "crd").Output()
	cluster.Must(t, err)
	cluster.Must(t, c.Apply(t.Context(), string(crds)))
	for _, plural := range []string{"gpudevices", "gpunodestates", "gpupools", "clustergpupools"} {
		eventually(t, func() error { _, err := c.Kubectl(t.Context(), "get", plural); return err })
		conditions, err := c.Kubectl(t.Context(), "get", "crd", plural+".gpu.deckhouse.io",
			"-o", "jsonpath={.status.conditions[?(@.type=='NonStructuralSchema')].message}")
		cluster.Must(t, err)
		if conditions != "" {
			t.Errorf("%s: %s", plural, conditions)
		}
	}
	return c
}

func TestPoolsAreCheckedByTheirSchema(t *testing.T) {
	c := pools(t)
	const card = "resource: {unit: Card}"
	for _, row := range []struct{ says, kind, name, spec, message string }{
		{"a pool of whole GPUs", "GPUPool", "a", card, ""},
		{"R27: a MIG pool has a profile", "GPUPool", "a", "resource: {unit: MIG}", "resource.migProfile is required when unit=MIG"},
		{"R27: a pool of whole GPUs has none", "GPUPool", "a", "resource: {unit: Card, migProfile: 1g.10gb}",
			"resource.migProfile is not allowed when unit=Card"},
		{"R27: a profile has its form", "GPUPool", "a", "resource: {unit: MIG, migProfile: 1c.3g.20gb}", "migProfile"},
		{"R27: in any case", "GPUPool", "a", "resource: {unit: MIG, migProfile: 1G.10GB}", ""},
		{"R26: units by name", "GPUPool", "a", "resource: {unit: Slice}", `supported values: "Card", "MIG"`},
		{"R28: at least one slice", "GPUPool", "a", "resource: {unit: Card, slicesPerUnit: 0}", "slicesPerUnit"},
		{"R28: at most 64", "GPUPool", "a", "resource: {unit: Card, slicesPerUnit: 65}", "slicesPerUnit"},
		{"a DRA pool of whole GPUs", "GPUPool", "a", "backend: DRA, " + card, ""},
		{"a DRA pool has no MIG devices", "GPUPool", "a", "backend: DRA, resource: {unit: MIG, migProfile: 1g.10gb}",
			"backend=DRA currently supports only unit=Card"},
		{"a DRA pool has no slices", "GPUPool", "a", "backend: DRA, resource: {unit: Card, slicesPerUnit: 2}",
			"backend=DRA does not support slicesPerUnit>1"},
		{"Spread needs zones", "GPUPool", "a", card + ", scheduling: {topologyKey: ''}",
			"scheduling.topologyKey is required when strategy=Spread"},
		{"BinPack does not", "GPUPool", "a", card + ", scheduling: {strategy: BinPack, topologyKey: ''}", ""},
		{"a taint's key is not blank", "GPUPool", "a", card + ", scheduling: {taints: [{key: ' '}]}", "scheduling.taints[0].key"},
		{"a taint's effect is one of three", "GPUPool", "a", card + ", scheduling: {taints: [{key: a, effect: Never}]}", "effect"},
		{"R66: ids have four digits", "GPUPool", "a", card + ", deviceSelector: {include: {pciVendors: ['0x10de']}}", "pciVendors[0]"},
		{"a name is a label", "GPUPool", "a.b", card, "metadata.name must have at most 63 characters"},
		{"a name has 63 characters at most", "GPUPool", strings.Repeat("a", 64), card, "metadata.name must have at most 63 characters"},
		{"a name with 63 characters", "ClusterGPUPool", strings.Repeat("a", 63), card, ""},
		{"a reserved name", "GPUPool", "present", card, "metadata.name is reserved"},
		{"a name that is reserved for the other kind only", "ClusterGPUPool", "present", card, ""},
		{"an unknown field", "GPUPool", "a", card + ", resources: {}", `unknown field "spec.resources"`},
	} {
		t.Run(row.says, func(t *testing.T) {
			_, err := c.Kubectl(t.Context(), "create", "--dry-run=server", "--validate=strict", "-f",
				manifest(t, row.kind, row.name, row.spec))
			switch {
			case row.message == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.message != "" && (err == nil || !strings.Contains(err.Error(), row.message)):
				t.Errorf("said %v, want %q", err, row.message)
			}
		})
	}
}

// manifest writes an object into a file; the spec is the inside of a YAML flow mapping.
func manifest(t *testing.T, kind, name, spec string) string {
	t.Helper()
	text := "apiVersion: gpu.deckhouse.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
	path := filepath.Join(t.TempDir(), "object.yaml")
	cluster.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestR89KeyFieldsOfAPoolStay(t *testing.T) {
	c := pools(t)
	_, err := c.Kubectl(t.Context(), "create", "-f", manifest(t, "ClusterGPUPool", "stays", "resource: {unit: Card}"))
	cluster.Must(t, err)
	t.Cleanup(func() { c.Kubectl(cluster.Within(t, time.Minute), "delete", "clustergpupool", "stays") })
	for _, row := range []struct{ says, spec, message string }{
		{"resource", "resource: {unit: Card, slicesPerUnit: 2}", "spec.resource"},
		{"backend", "backend: DRA, resource: {unit: Card}", "spec.backend"},
		{"deviceSelector", "resource: {unit: Card}, deviceSelector: {include: {migCapable: true}}", "deviceSelector"},
		{"nodeSelector", "resource: {unit: Card}, nodeSelector: {matchLabels: {a: b}}", "nodeSelector"},
		{"scheduling", "resource: {unit: Card}, scheduling: {taintsEnabled: false}", "scheduling"},
		{"how GPUs join may change", "resource: {unit: Card}, deviceAssignment: {requireAnnotation: false}", ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			_, err := c.Kubectl(t.Context(), "replace", "--dry-run=server", "-f", manifest(t, "ClusterGPUPool", "stays", row.spec))
			switch {
			case row.message == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.message != "" && (err == nil || !strings.Contains(err.Error(), row.message)):
				t.Errorf("said %v, want %q", err, row.message)
			}
		})
	}
}

func TestPoolsAsKubectlShowsThem(t *testing.T) {
	c := pools(t)
	list, err := c.Client.Discovery().ServerResourcesForGroupVersion("gpu.deckhouse.io/v1alpha1")
	cluster.Must(t, err)
	shorts := map[string][]string{"gpudevices": {"gdevice", "gpudev"}, "gpunodestates": nil, "gpupools": {"gpup"},
		"clustergpupools": {"cgpupool", "cgpu"}}
	for _, resource := range list.APIResources {
		if want, ok := shorts[resource.Name]; ok {
			if !slices.Equal(resource.ShortNames, want) || !slices.Equal(resource.Categories, []string{"deckhouse", "gpu"}) {
				t.Errorf("%s: %v, %v", resource.Name, resource.ShortNames, resource.Categories)
			}
			delete(shorts, resource.Name)
		}
	}
	if len(shorts) > 0 {
		t.Errorf("not served: %v", shorts)
	}
	for _, field := range []string{"status.nodeName", "status.poolRef.name", "status.state"} {
		_, err := c.Kubectl(t.Context(), "get", "gpudevices", "--field-selector", field+"=x")
		cluster.Must(t, err)
	}
	path := filepath.Join(t.TempDir(), "device.yaml")
	cluster.Must(t, os.WriteFile(path, []byte(
		"apiVersion: gpu.deckhouse.io/v1alpha1\nkind: GPUDevice\nmetadata: {name: n-0-10de-20b0}\nspec: {}\n"), 0o600))
	_, err = c.Kubectl(t.Context(), "create", "-f", path)
	cluster.Must(t, err)
	t.Cleanup(func() { c.Kubectl(cluster.Within(t, time.Minute), "delete", "gpudevice", "n-0-10de-20b0") })
	_, err = c.Kubectl(t.Context(), "patch", "gpudevice", "n-0-10de-20b0", "--subresource=status", "--type=merge", "-p",
		`{"status":{"nodeName":"n","state":"Assigned","managed":true,"poolRef":{"name":"train"},`+
			`"hardware":{"product":"NVIDIA A100","uuid":"GPU-1"}}}`)
	cluster.Must(t, err)
	text, err := c.Kubectl(t.Context(), "get", "gpudev", "-o", "wide", "--no-headers", "--field-selector", "status.state=Assigned")
	cluster.Must(t, err)
	columns := strings.Join(strings.Fields(text), " ")
	if !strings.HasPrefix(columns, "n-0-10de-20b0 n Assigned true train ") || !strings.HasSuffix(columns, " NVIDIA A100 GPU-1") {
		t.Errorf("kubectl shows %q", columns)
	}
}
