package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// finding waits until a metric says of a Pod that something is wrong inside of it, or no longer.
func (r *rig) finding(pod, reason string, is bool) {
	r.Helper()
	line := `fairlead_pod_finding{namespace="default",pod="` + pod + `",reason="` + reason + `"} 1`
	until(r, fmt.Sprintf("%s of %s: %v", reason, pod, is), func() (bool, string) {
		_, text := r.page("/metrics")
		return strings.Contains(text, line) == is, text
	})
}

// note is what an Event about a Pod says.
func (r *rig) note(pod, reason string) string {
	r.Helper()
	all, err := r.c.Client.EventsV1().Events("").List(r.Context(), metav1.ListOptions{})
	r.must(err)
	for _, e := range all.Items {
		if isAbout(&e, "Pod", pod) && e.Reason == reason {
			return e.Note
		}
	}
	r.Fatalf("%s has no Event %s", pod, reason)
	return ""
}

// devices is the cgroup of version 1 that decides which devices a Pod's container may open: the container has a shell.
func (r *rig) devices(pod string) string {
	r.Helper()
	for _, line := range strings.Split(r.in(pod, "main", "cat /proc/self/cgroup"), "\n") {
		if _, path, ok := strings.Cut(line, ":devices:"); ok {
			return path
		}
	}
	return ""
}

// I3, I6: a driver that was changed under running Pods. A Pod that has its files mounted is told, with the command that
// helps; a Pod that comes later is not; it is over when the Pod is gone.
func TestADriverThatWasChangedUnderRunningPods(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--look-every=1s")
	r.runs(sleeper("stale", 1))
	if _, text := r.page("/metrics"); strings.Contains(text, "fairlead_pod_finding{") {
		t.Errorf("before any change:\n%s", text)
	}
	r.Cleanup(func() { r.loads(usualDriver) })
	r.loads("580.65.06")
	r.within(time.Minute).hasGPUs(8, 8)
	r.finding("stale", "DriverChanged", true)
	r.event("Pod", "stale", "DriverChanged")
	note := r.note("stale", "DriverChanged")
	for _, word := range []string{".so." + usualDriver, "580.65.06", "kubectl delete pod -n default stale"} {
		if !strings.Contains(note, word) {
			t.Errorf("the Event does not say %q: %s", word, note)
		}
	}
	r.undisturbed("stale")
	r.runs(sleeper("fresh", 1))
	time.Sleep(5 * time.Second) // two looks: nothing must happen meanwhile
	_, text := r.page("/metrics")
	if strings.Contains(text, `fairlead_pod_finding{namespace="default",pod="fresh"`) {
		t.Errorf("a Pod of the new driver is called stale:\n%s", text)
	}
	if status, text := r.page("/explain?kind=PodFinding&name=default/stale"); status != 200 || !strings.Contains(text, "DriverChanged") {
		t.Errorf("/explain says %d %s", status, text)
	}
	r.must(r.c.DeletePod(cluster.Within(t, time.Minute), "stale"))
	r.finding("stale", "DriverChanged", false)
}

// A process that has the driver's library mapped is named, also where the Pod holds no GPU and nothing is mounted.
func TestAProcessThatHasTheFormerDriverMappedIsNamed(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--look-every=1s")
	r.runs(sleeper("holder", 1))
	library := "/tmp/libcuda.so." + usualDriver // a program is mapped as a library is
	pod := cluster.NewPod("mapper", "node-1", "sh", "-c",
		"cp /bin/busybox "+library+" && ln -s "+library+" /tmp/busybox && exec /tmp/busybox sleep 100000")
	r.runs(pod)
	r.Cleanup(func() { r.loads(usualDriver) })
	r.loads("580.65.06")
	r.finding("mapper", "DriverChanged", true)
	r.event("Pod", "mapper", "DriverChanged")
	if note := r.note("mapper", "DriverChanged"); !strings.Contains(note, "its process ") || !strings.Contains(note, "(pid ") {
		t.Errorf("the Event names no process: %s", note)
	}
}

// I6: what `systemctl daemon-reload` does with the systemd cgroup driver. The container's cgroup does not let it open its
// GPU any more; its Pod is told, its neighbour is not, and it is over when it may again.
func TestAContainerThatMayNotOpenItsGPUAnyMoreIsTold(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--look-every=1s")
	r.runs(sleeper("lost", 1))
	r.runs(sleeper("neighbour", 1))
	card := r.node(r.only("lost/main"))
	cgroup := r.devices("lost")
	if cgroup == "" {
		t.Skip("the rules of cgroup version 2 are a BPF program, which cannot be read")
	}
	dir := filepath.Join("/sys/fs/cgroup/devices", cgroup)
	list, err := os.ReadFile(filepath.Join(dir, "devices.list"))
	r.must(err)
	var taken []string
	for _, rule := range strings.Split(string(list), "\n") {
		if strings.HasPrefix(rule, "c 195:") {
			taken = append(taken, rule)
		}
	}
	if len(taken) == 0 {
		t.Fatalf("its cgroup allows no GPU: the test is none:\n%s", list)
	}
	for _, rule := range taken {
		r.must(os.WriteFile(filepath.Join(dir, "devices.deny"), []byte(rule), 0))
	}
	r.finding("lost", "DeviceAccessLost", true)
	r.event("Pod", "lost", "DeviceAccessLost")
	if note := r.note("lost", "DeviceAccessLost"); !strings.Contains(note, "/dev/nvidia") ||
		!strings.Contains(note, "kubectl delete pod -n default lost") || !strings.Contains(note, "--dev-char-links=true") {
		t.Errorf("it has lost /dev/%s, and the Event says %s", card, note)
	}
	if _, text := r.page("/metrics"); strings.Contains(text, `fairlead_pod_finding{namespace="default",pod="neighbour"`) {
		t.Errorf("its neighbour is told too:\n%s", text)
	}
	r.undisturbed("lost")
	for _, rule := range taken {
		r.must(os.WriteFile(filepath.Join(dir, "devices.allow"), []byte(rule), 0))
	}
	r.finding("lost", "DeviceAccessLost", false)
}
