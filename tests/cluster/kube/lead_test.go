package kube

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }

// peak is the most memory that the driver ever had.
func peak(t *testing.T, d *driver) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	cluster.Must(t, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	return strings.Fields(rest)[0]
}

// electors are two replicas with short times: 3 s, 2 s, 300 ms.
func electors(t *testing.T, c *cluster.Cluster, lease string) (a, b *driver) {
	t.Helper()
	fence := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "fence-" + lease}}
	_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), fence, metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() {
		c.Client.CoreV1().ConfigMaps("default").Delete(context.Background(), "fence-"+lease, metav1.DeleteOptions{})
	})
	args := []string{"lead", "name=" + lease, "duration=3000", "giveup=2000", "retry=300", "write=1", "fence=fence-" + lease}
	a = run(t, c, c.Kubeconfig(), append(args, "id=a")...)
	a.waitFor(0, moment, "leads 1")
	b = run(t, c, c.Kubeconfig(), append(args, "id=b")...)
	b.waitFor(0, moment, "leader a")
	return a, b
}

func TestOnlyOneLeads(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	a, b := electors(t, c, "one")
	time.Sleep(6 * time.Second) // twice the duration
	for _, line := range append(a.all(), b.all()...) {
		if line == "leads 0 term=0" || strings.HasPrefix(line, "write failed") {
			t.Errorf("said %q", line)
		}
	}
	for _, line := range b.all() {
		if strings.HasPrefix(line, "leads") {
			t.Errorf("the second one said %q", line)
		}
	}
	lease, err := c.Client.CoordinationV1().Leases("default").Get(t.Context(), "one", metav1.GetOptions{})
	cluster.Must(t, err)
	if *lease.Spec.HolderIdentity != "a" || *lease.Spec.LeaseTransitions != 0 || *lease.Spec.LeaseDurationSeconds != 3 ||
		lease.Spec.AcquireTime == nil || time.Since(lease.Spec.RenewTime.Time) > 2*time.Second {
		t.Errorf("the Lease says %+v", lease.Spec)
	}
}

func TestACleanEndHandsOver(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	a, b := electors(t, c, "clean")
	began := time.Now()
	a.tell("stop")
	b.waitFor(0, moment, "leads 1 term=1")
	took := time.Since(began)
	a.waitFor(0, moment, "stopped 0")
	if took > 1500*time.Millisecond {
		t.Errorf("handed over after %v", took)
	}
	t.Logf("handed over after %v", took)
}

func TestAKilledLeaderIsReplacedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	a, b := electors(t, c, "killed")
	began := time.Now()
	a.signal(unix.SIGKILL)
	b.waitFor(0, moment, "leads 1 term=1")
	took := time.Since(began)
	if took < 2*time.Second || took > 10*time.Second {
		t.Errorf("replaced after %v, its duration is 3 s", took)
	}
}

// The leader is stopped for long; another leads; the first goes on. Not one write with the old term arrives.
func TestAStoppedLeaderDoesNotWriteWhenItGoesOn(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	for round, stop := range []time.Duration{5 * time.Second, 8 * time.Second, 60 * time.Second} {
		t.Run("stopped for "+stop.String(), func(t *testing.T) {
			t.Parallel()
			a, b := electors(t, c, fmt.Sprint("stopped-", round))
			watch, err := c.Client.CoreV1().ConfigMaps("default").Watch(t.Context(),
				metav1.ListOptions{FieldSelector: fmt.Sprint("metadata.name=fence-stopped-", round)})
			cluster.Must(t, err)
			defer watch.Stop()
			a.signal(unix.SIGSTOP)
			b.waitFor(0, moment, "leads 1 term=1")
			time.Sleep(stop - 4*time.Second)
			a.signal(unix.SIGCONT)
			a.waitFor(0, moment, "leads 0")
			time.Sleep(2 * time.Second)
			b.signal(unix.SIGKILL)
			old, writes := false, 0
			for end := time.After(time.Second); ; {
				select {
				case event := <-watch.ResultChan():
					data := event.Object.(*corev1.ConfigMap).Data
					writes++
					old = old || data["by"] == "b"
					if old && data["by"] == "a" && data["term"] == "0" {
						t.Errorf("a write of the old term came after the new one: %v", data)
					}
					continue
				case <-end:
				}
				break
			}
			if !old || writes < 20 {
				t.Errorf("%d writes, of the new leader: %v", writes, old)
			}
		})
	}
}

// Without the API server nobody leads for longer than it may be believed.
func TestALeaderThatCannotRenewStops(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{})
	a, _ := electors(t, c, "alone")
	cluster.Must(t, c.APIServer.Stop())
	began := time.Now()
	from := a.waitFor(0, moment, "leads 0")
	// Another may lead 3 s after the last renewal, which was up to 300 ms before.
	if took := time.Since(began); took > 2700*time.Millisecond {
		t.Errorf("it believed for %v", took)
	}
	cluster.Must(t, c.APIServer.Continue())
	_ = from
}

func TestEventsAsKubectlShowsThem(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "subject"}}
	about, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), about, metav1.CreateOptions{})
	cluster.Must(t, err)
	d := run(t, c, c.Kubeconfig(), "event", "kind=configmap", "space=default", "name=subject", "uid="+string(about.UID),
		"reason=CapacityLow", "warning=1", "note=no GPU is ready")
	var text string
	for until := time.Now().Add(moment); !strings.Contains(text, "CapacityLow") && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		text, err = c.Kubectl(t.Context(), "get", "events", "-n", "default", "--no-headers")
		cluster.Must(t, err)
	}
	for _, want := range []string{"Warning", "CapacityLow", "configmap/subject", "no GPU is ready"} {
		if !strings.Contains(text, want) {
			t.Errorf("kubectl shows %q, without %q", text, want)
		}
	}
	for range 9 {
		d.tell("event")
	}
	d.wait(0, moment, "ten said", func(line string) bool { return line == "said 0 0" })
	list, err := c.Client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	ours := slices.DeleteFunc(list.Items, func(event eventsv1.Event) bool { return event.Regarding.UID != about.UID })
	if len(ours) != 1 {
		t.Fatalf("%d Events, want one for all that is the same: %+v", len(ours), ours)
	}
	event := ours[0]
	if event.ReportingController != "fairlead.dev/driver" || event.Action != "Test" || event.Regarding.UID != about.UID {
		t.Errorf("it says %+v", event)
	}
	// What goes on is written again, once a minute.
	for until := time.Now().Add(75 * time.Second); event.Series == nil && time.Now().Before(until); time.Sleep(time.Second) {
		got, err := c.Client.EventsV1().Events("default").Get(t.Context(), event.Name, metav1.GetOptions{})
		cluster.Must(t, err)
		event = *got
	}
	if event.Series == nil || event.Series.Count != 10 {
		t.Errorf("its series is %+v, want ten", event.Series)
	}
	described, err := c.Kubectl(t.Context(), "describe", "configmap", "subject")
	cluster.Must(t, err)
	if !strings.Contains(described, "CapacityLow") {
		t.Errorf("kubectl describe does not show it: %s", described)
	}
}
