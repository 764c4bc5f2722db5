package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead/tests/cluster/gpus"
)

const (
	nfdModule = "sigs.k8s.io/node-feature-discovery"
	nfdConfig = "/etc/kubernetes/nfd.conf"
	nfdFiles  = "/etc/kubernetes/node-feature-discovery/features.d"
	nfdList   = "nfd.node.kubernetes.io/feature-labels"
)

// nfd is a program of node feature discovery on the rig's node; it ends with the test.
func (r *rig) nfd(name string, flags ...string) {
	r.Helper()
	build := exec.CommandContext(r.Context(), filepath.Join(gpus.Build(), "..", "tests", "peer", "build"), "nfd", nfdModule+"/cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	said, err := build.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 77 {
		r.Skipf("skipped: %s", failed.Stderr)
	}
	r.must(err)
	config, err := os.ReadFile(r.c.Kubeconfig())
	r.must(err)
	r.must(r.n.WriteFile(nfdConfig, config, 0o600))
	part := r.n.Part("env", append([]string{"NODE_NAME=" + r.n.Name, "KUBERNETES_NAMESPACE=default",
		strings.TrimSpace(string(said)), "-kubeconfig=" + nfdConfig}, flags...)...)
	part.Name = name
	r.must(part.Start(r.Context()))
	r.Cleanup(func() {
		if part.Running() {
			r.must(part.Kill(context.Background()))
		}
		if r.Failed() {
			text, _ := os.ReadFile(part.LogFile())
			r.Logf("the log of %s ends:\n%s", name, tail(string(text), 40))
		}
	})
}

// nfdKinds are node feature discovery's own.
func (r *rig) nfdKinds() {
	r.Helper()
	var module struct{ Dir string }
	download := exec.CommandContext(r.Context(), "go", "mod", "download", "-json", nfdModule)
	download.Dir = filepath.Join(gpus.Build(), "..", "tests", "peer", "nfd")
	said, err := download.Output()
	r.must(err)
	r.must(json.Unmarshal(said, &module))
	kinds := filepath.Join(module.Dir, "deployment", "base", "nfd-crds", "nfd-api-crds.yaml")
	r.must(r.c.ApplyFile(r.Context(), kinds))
	r.Cleanup(func() {
		for _, plural := range []string{"nodefeatures", "nodefeaturerules", "nodefeaturegroups"} {
			r.must(r.c.Dynamic.Resource(crds).Delete(context.Background(), plural+".nfd.k8s-sigs.io", metav1.DeleteOptions{}))
		}
	})
}

// nodeLabels waits until the Node has these labels (nvidia.com); an empty value: it has not.
func (r *rig) nodeLabels(want map[string]string) {
	r.Helper()
	until(r, fmt.Sprint("a Node with ", want), func() (bool, string) {
		node, err := r.c.Client.CoreV1().Nodes().Get(r.Context(), r.n.Name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		for key, value := range want {
			if got, ok := node.Labels["nvidia.com/"+key]; got != value || ok != (value != "") {
				return false, fmt.Sprint(node.Labels)
			}
		}
		return true, ""
	})
}

// feature makes a NodeFeature as GPU feature discovery writes them.
func (r *rig) feature(name string, labels map[string]any) {
	r.Helper()
	_, err := r.c.Dynamic.Resource(nodeFeatures).Namespace("default").Create(r.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
		"metadata": object{"name": name, "namespace": "default", "labels": object{"nfd.node.kubernetes.io/node-name": r.n.Name}},
		"spec":     object{"features": object{"flags": object{}, "attributes": object{}, "instances": object{}}, "labels": labels},
	}}, metav1.CreateOptions{})
	r.must(err)
}

// The real master merges what the agent writes, whatever GPU feature discovery has left, and from each place that the agent
// may write to.
func TestNodeFeatureDiscoveryPutsTheLabelsOnTheNode(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.nfdKinds()
	r.nfd("nfd-master", "-port=18080")
	all := map[string]string{"gpu.product": "NVIDIA-A100-SXM4-80GB", "gpu.count": "8", "mig.capable": "true"}
	r.nodeLabels(all)
	r.condition("True", "NodeFeature")

	// An object of GFD's that nobody owns: equal keys are the agent's; one that adds a label goes.
	theirs := "nvidia-features-for-" + r.n.Name
	r.feature(theirs, map[string]any{"nvidia.com/gpu.count": "7", "nvidia.com/mig-1g.10gb.count": "3"})
	until(r, "no object of GFD's", func() (bool, string) {
		_, err := r.c.Dynamic.Resource(nodeFeatures).Namespace("default").Get(r.Context(), theirs, metav1.GetOptions{})
		return err != nil, "it is there"
	})
	r.nodeLabels(map[string]string{"gpu.count": "8", "mig-1g.10gb.count": ""})

	// On the Node itself.
	r.replaced("--labels=node")
	r.condition("True", "Node")
	r.nodeLabels(all)
	until(r, "labels that NFD does not have", func() (bool, string) {
		node, err := r.c.Client.CoreV1().Nodes().Get(r.Context(), r.n.Name, metav1.GetOptions{})
		return err == nil && !strings.Contains(node.Annotations[nfdList], "nvidia.com/"), fmt.Sprint(err)
	})
	_, err := r.c.Dynamic.Resource(nodeFeatures).Namespace("default").Get(r.Context(), theirs+"-fairlead", metav1.GetOptions{})
	if err == nil {
		t.Error("the NodeFeature is there still")
	}

	// In the worker's file.
	r.must(r.n.WriteFile(nfdFiles+"/others", []byte("example.com/other=1\n"), 0o644))
	r.nfd("nfd-worker", "-port=18081", "-no-owner-refs", "-label-sources=local", "-feature-sources=local",
		`-options={"core": {"sleepInterval": "1s"}}`) // it reads files once in so long, a minute by default
	r.replaced("--labels=file", "--labels-file="+nfdFiles+"/gpus")
	r.condition("True", "File")
	r.nodeLabels(all)

	r.replaced("--labels=none", "--labels-file="+nfdFiles+"/gpus")
	r.nodeLabels(map[string]string{"gpu.product": "", "gpu.count": "", "mig.capable": ""})
}
