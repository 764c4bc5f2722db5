package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster/gpus"
)

const (
	shared      = corev1.ResourceName("nvidia.com/gpu.shared")
	configLabel = "nvidia.com/device-plugin.config"
	configs     = "/etc/fairlead-configs"
)

// labelled gives the Node a label, or takes it away when the value is empty.
func (r *rig) labelled(value string) {
	r.Helper()
	var label any
	if value != "" {
		label = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{configLabel: label}}})
	r.must(err)
	_, err = r.c.Client.CoreV1().Nodes().Patch(r.Context(), r.n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	r.must(err)
}

var registration = regexp.MustCompile(`Got registration request.*resourceName="([^"]*)"`)

// registered is what the kubelet has been told since a place in its log, and the place where that ends.
func (r *rig) registered(since int) (names []string, end int) {
	r.Helper()
	text, err := os.ReadFile(r.n.Kubelet.LogFile())
	r.must(err)
	for _, line := range registration.FindAllStringSubmatch(string(text[since:]), -1) {
		if !slices.Contains(names, line[1]) {
			names = append(names, line[1])
		}
	}
	return names, len(text)
}

// onlyShared checks that the kubelet was told of the shared GPUs, and of nothing else.
func (r *rig) onlyShared(since int) {
	r.Helper()
	until(r, "the kubelet told of "+string(shared), func() (bool, string) {
		names, _ := r.registered(since)
		return slices.Contains(names, string(shared)), strings.Join(names, " ")
	})
	if names, _ := r.registered(since); !slices.Equal(names, []string{string(shared)}) {
		r.Errorf("the kubelet was told of %q, and the label asks for %s", names, shared)
	}
}

// configured replaces the agent by one with several configurations: "default" serves GPUs as they are, "shared" each twice
// and under another name.
func (r *rig) configured(label string) (since int) {
	r.Helper()
	r.must(r.n.WriteFile(configs+"/default", []byte("version: v1\n"), 0o644))
	r.must(r.n.WriteFile(configs+"/shared", []byte("version: v1\nsharing: {timeSlicing: {renameByDefault: true, "+
		"resources: [{name: nvidia.com/gpu, replicas: 2}]}}\n"), 0o644))
	r.labelled(label)
	r.Cleanup(func() {
		patch := []byte(fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, configLabel))
		if _, err := r.c.Client.CoreV1().Nodes().Patch(context.Background(), r.n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			r.Error(err)
		}
	})
	// A resource that a Pod of an earlier test holds by the agent's book would be served for it.
	r.grown()
	until(r, "an agent whose book is empty", func() (bool, string) {
		left := r.metricWith("fairlead_cache_objects", `kind="Booking"`)
		return left == 0, fmt.Sprint(left, " Bookings")
	})
	_, since = r.registered(0)
	other, err := gpus.Agent(r.n, "--config-dir="+configs)
	r.must(err)
	r.replacedBy(other)
	return since
}

// N §3: nothing is registered before the Node's label was read, not even for a moment; after a restart what was chosen is
// served, also while the API server is away.
func TestTheLabelledConfigurationIsServedFromTheFirstMoment(t *testing.T) {
	r := oneNode(t)
	since := r.configured("shared")
	r.onlyShared(since)
	r.has(shared, 16, 16)

	_, since = r.registered(0)
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.onlyShared(since)

	_, since = r.registered(0)
	r.must(r.c.APIServer.Kill(t.Context()))
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.onlyShared(since)
	r.ready()
	r.must(r.c.APIServer.Start(t.Context()))
	r.has(shared, 16, 16)
	r.onlyShared(since)
}

// Row 38: a label that names no file keeps what is served, and where nothing was served, nothing is.
func TestRow38ALabelThatNamesNoFile(t *testing.T) {
	r := oneNode(t)
	since := r.configured("shared")
	r.has(shared, 16, 16)
	r.labelled("missing")
	r.condition(corev1.ConditionFalse, "Configuration")
	r.onlyShared(since)
	r.has(shared, 16, 16)

	r.must(r.agent.Terminate(t.Context()))
	left, err := filepath.Glob(r.n.Path("/var/lib/fairlead") + "/agent*")
	r.must(err)
	if len(left) == 0 {
		t.Fatal("nothing is remembered on the disk")
	}
	for _, file := range left {
		r.must(os.RemoveAll(file))
	}
	_, since = r.registered(0)
	r.must(r.agent.Start(t.Context()))
	until(r, "an agent that says what it waits for", func() (bool, string) {
		status, text := r.page("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "'missing'"), text
	})
	r.condition(corev1.ConditionFalse, "ConfigurationUnknown")
	if names, _ := r.registered(since); len(names) != 0 {
		t.Errorf("the kubelet was told of %q", names)
	}
	r.labelled("shared")
	r.ready()
	r.onlyShared(since)
}
