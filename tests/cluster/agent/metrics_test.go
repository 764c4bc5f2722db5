package agent

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster"
)

// metricsPort is where the agent serves what it reads of the GPUs.
const metricsPort = "9400"

// gpuLines are the lines of a metric of the GPUs that have the label.
func (r *rig) gpuLines(metric, label string) (lines []string) {
	status, text := r.pageAt(metricsPort, "/metrics", true)
	if status != http.StatusOK {
		return nil
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, metric+"{") && strings.Contains(line, label) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Whoever looks at a dashboard must see a Pod on the GPU that it has, from its admission on and no longer than it runs.
func TestGPUMetricsNameAPodWhileItRuns(t *testing.T) {
	r := oneNode(t)
	until(r, "lines of eight GPUs", func() (bool, string) {
		lines := r.gpuLines("DCGM_FI_DEV_GPU_TEMP", "modelName=")
		return len(lines) == 8, strings.Join(lines, "\n")
	})
	if status, text := r.pageAt(metricsPort, "/metrics", false); status != http.StatusUnauthorized {
		t.Errorf("without a token it answers %d: %.200s", status, text)
	}
	if status, text := r.pageAt(metricsPort, "/health", false); status != http.StatusOK || strings.TrimSpace(text) != "OK" {
		t.Errorf("/health answers %d: %.200s", status, text)
	}
	// A kubelet that has just started may forget Pods for a moment, so the first one is believed to be gone later.
	for _, row := range []struct {
		pod  string
		gone time.Duration
	}{{"first", time.Minute}, {"second", 15 * time.Second}} {
		pod := row.pod
		r.runs(sleeper(pod, 1))
		id := r.only(pod + "/main")
		named := `container="main",namespace="default",pod="` + pod + `"`
		untilWithin(r, time.Second, "a line that names the Pod", func() (bool, string) {
			lines := r.gpuLines("DCGM_FI_DEV_GPU_UTIL", named)
			return len(lines) == 1 && strings.Contains(lines[0], `UUID="`+id+`"`), strings.Join(lines, "\n")
		})
		if other := r.gpuLines("DCGM_FI_DEV_GPU_UTIL", "pod="); len(other) != 1 {
			t.Errorf("lines name Pods on other GPUs: %q", other)
		}
		r.must(r.c.DeletePod(cluster.Within(t, moment), pod))
		untilWithin(r, row.gone, "no line names the Pod", func() (bool, string) {
			lines := r.gpuLines("DCGM_FI_DEV_GPU_UTIL", "pod=")
			return len(lines) == 0, strings.Join(lines, "\n")
		})
	}
}
