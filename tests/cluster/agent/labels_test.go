package agent

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	crds         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	nodeFeatures = schema.GroupVersionResource{Group: "nfd.k8s-sigs.io", Version: "v1alpha1", Resource: "nodefeatures"}
)

type object = map[string]any

// members is the schema of an object whose members have that schema.
func members(of object) object { return object{"type": "object", "additionalProperties": of} }

// features is NFD's kind, as far as the agent's object has it: the three parts of spec.features are required.
func features() *unstructured.Unstructured {
	text := object{"type": "string"}
	elements := func(of object) object {
		return members(object{"type": "object", "required": []any{"elements"}, "properties": object{"elements": of}})
	}
	instance := object{"type": "object", "required": []any{"attributes"}, "properties": object{"attributes": members(text)}}
	spec := object{"type": "object", "required": []any{"features"}, "properties": object{
		"labels": members(text),
		"features": object{"type": "object", "required": []any{"flags", "attributes", "instances"}, "properties": object{
			"flags": elements(members(object{"type": "object"})), "attributes": elements(members(text)),
			"instances": elements(object{"type": "array", "items": instance}),
		}},
	}}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "nodefeatures.nfd.k8s-sigs.io", "annotations": object{"api-approved.kubernetes.io": "unapproved, a test's"}},
		"spec": object{"group": "nfd.k8s-sigs.io", "scope": "Namespaced",
			"names": object{"kind": "NodeFeature", "listKind": "NodeFeatureList", "plural": "nodefeatures", "singular": "nodefeature"},
			"versions": []any{object{"name": "v1alpha1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{
				"type": "object", "required": []any{"spec"}, "properties": object{"spec": spec}}}}}},
	}}
}

// labels waits for the agent's NodeFeature, and for labels of it; since when all are as they are.
func (r *rig) labels(want map[string]string) (since string) {
	r.Helper()
	name := "nvidia-features-for-" + r.n.Name + "-fairlead"
	until(r, "a NodeFeature with the labels", func() (bool, string) {
		got, err := r.c.Dynamic.Resource(nodeFeatures).Namespace("default").Get(r.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		labels, _, _ := unstructured.NestedStringMap(got.Object, "spec", "labels")
		for key, value := range want {
			if labels["nvidia.com/"+key] != value {
				return false, fmt.Sprint(labels)
			}
		}
		if owners := got.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != r.uid() || got.GetLabels()["nfd.node.kubernetes.io/node-name"] != r.n.Name {
			return false, fmt.Sprint(got.Object["metadata"])
		}
		since = labels["nvidia.com/gfd.timestamp"]
		return since != "", "no nvidia.com/gfd.timestamp"
	})
	return since
}

// Without NFD the Node's condition names it. As soon as its kind is there, the agent writes the labels; they stay while the
// driver is away and over a restart of the agent, and follow what changes.
func TestLabelsAreWrittenAsANodeFeature(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.condition("False", "NoNodeFeature")
	_, err := r.c.Dynamic.Resource(crds).Create(r.Context(), features(), metav1.CreateOptions{})
	r.must(err)
	remove := func() error {
		return r.c.Dynamic.Resource(crds).Delete(context.Background(), "nodefeatures.nfd.k8s-sigs.io", metav1.DeleteOptions{})
	}
	t.Cleanup(func() {
		if err := remove(); !apierrors.IsNotFound(err) {
			t.Errorf("the kind was there still: %v", err)
		}
	})
	all := map[string]string{"gpu.product": "NVIDIA-A100-SXM4-80GB", "gpu.count": "8", "gpu.replicas": "1",
		"gpu.family": "ampere", "gpu.compute.major": "8", "mig.capable": "true", "mps.capable": "false", "vgpu.present": "false"}
	since := r.labels(all)
	r.condition("True", "NodeFeature")

	r.say("driver", "absent")
	r.hasGPUs(0, 8)
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(r.Context()))
	r.say("driver", "loaded")
	r.ready()
	r.hasGPUs(8, 8)
	if now := r.labels(all); now != since { // the checks are attributes, which changed
		t.Errorf("a label was changed: at %s, before at %s", now, since)
	}

	r.must(remove())
	r.condition("False", "NoNodeFeature")
}
