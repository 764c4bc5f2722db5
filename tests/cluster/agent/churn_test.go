package agent

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"

	"fairlead/tests/cluster/gpus"
)

// churn makes Pods and deletes them, so many at a time, until it is told to stop. Each looks at what it has and says so.
type churn struct {
	*rig
	cards map[string]string // UUID: the name of its device node

	pods toolscache.Store // as the API server tells them

	mu      sync.Mutex
	owned   map[string][]string // by Pod, as the kubelet tells it; looked at every tenth of a second
	gaps    [][2]time.Time      // when there may be no agent
	bad     []string
	looks   int // of the kubelet's word
	started int // Pods that ran
	refused int // Pods that the kubelet refused in a gap
	anew    int // containers that were started a second time, on purpose
}

// Each container says which cards it sees, what is in its environment, and which it can open. Every fourth ends once and is
// started anew; its words are in a volume until then, for the kubelet may clear away the first one's log.
const looksAround = `cd /dev; said=${TWICE:-/tmp}/said
{ echo "sees" $(ls -d nvidia[0-9]* 2>/dev/null) "env" $NVIDIA_VISIBLE_DEVICES
for i in 0 1 2 3 4 5 6 7; do mknod /tmp/$i c 195 $i; cat /tmp/$i 2>&1 | grep -q 'No such device' && echo "opens nvidia$i"; done; } >> $said
[ -n "$TWICE" ] && [ ! -e $TWICE/once ] && { touch $TWICE/once; exit 0; }
cat $said; echo done; exec sleep 100000`

func (c *churn) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bad) < 20 {
		c.bad = append(c.bad, fmt.Sprintf(format, args...))
	}
}

// gap is a while in which a Pod may be refused for want of an agent.
func (c *churn) gap(f func()) {
	began := time.Now()
	f()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, [2]time.Time{began, time.Now()})
}

// says is what a Pod has said so far.
func (c *churn) says(pod *corev1.Pod) string {
	files, _ := filepath.Glob(c.n.Path(fmt.Sprintf("/var/log/pods/default_%s_%s/main/*.log", pod.Name, pod.UID)))
	slices.Sort(files)
	var all strings.Builder
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, line := range strings.Split(string(text), "\n") {
			if _, words, ok := strings.Cut(line, " F "); ok { // TIME STREAM F WORDS
				all.WriteString(words + "\n")
			}
		}
	}
	return all.String()
}

// saysOnce is what a container that ends once has said before it did.
func (c *churn) saysOnce(pod *corev1.Pod) string {
	said, _ := os.ReadFile(c.n.Path(fmt.Sprintf("/var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/twice/said", pod.UID)))
	return string(said)
}

// watches keeps what the API server and the kubelet tell, until the context ends. I1: an ID has one owner at each look.
func (c *churn) watches(ctx context.Context) {
	told := toolscache.NewListWatchFromClient(c.c.Client.CoreV1().RESTClient(), "pods", "default", fields.Everything())
	go toolscache.NewReflector(told, &corev1.Pod{}, c.pods, 0).RunWithContext(ctx)
	go func() {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			listed, err := c.listedNow(ctx)
			if err != nil {
				continue // a kubelet that throttles
			}
			of := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(listed)) {
				for _, id := range listed[name] {
					if of[id] != "" {
						c.complain("%s and %s both have %s", of[id], name, id)
					}
					of[id] = name
				}
			}
			c.mu.Lock()
			c.owned = listed
			c.looks++
			c.mu.Unlock()
		}
	}()
}

func (c *churn) pod(name string) *corev1.Pod {
	object, _, _ := c.pods.GetByKey("default/" + name)
	pod, _ := object.(*corev1.Pod)
	return pod
}

func (c *churn) owns(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned[name+"/main"]
}

// live runs one Pod after the other in a place of its own.
func (c *churn) live(place int, until time.Time) {
	pods := c.c.Client.CoreV1().Pods("default")
	random := rand.New(rand.NewPCG(uint64(place), 1))
	zero := int64(0)
	for round := 0; time.Now().Before(until); round++ {
		pod := sleeper(fmt.Sprintf("churn-%d-%d", place, round), 1)
		pod.Spec.NodeSelector, pod.Spec.NodeName = nil, c.n.Name // without the scheduler, which would wait
		main := &pod.Spec.Containers[0]
		main.Command = []string{"sh", "-c", looksAround}
		twice := random.IntN(4) == 0
		if twice {
			pod.Spec.Volumes = []corev1.Volume{{Name: "twice", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			main.VolumeMounts = []corev1.VolumeMount{{Name: "twice", MountPath: "/twice"}}
			main.Env = []corev1.EnvVar{{Name: "TWICE", Value: "/twice"}}
		}
		began := time.Now()
		if _, err := pods.Create(context.Background(), pod, create); err != nil {
			c.complain("create %s: %v", pod.Name, err)
			return
		}
		c.follow(pod.Name, began, twice)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		if err := pods.Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			c.complain("delete %s: %v", pod.Name, err)
		}
		// Its card is free when the kubelet says so, which is after the Pod has left the API.
		if !within(time.Minute, func() bool { return c.pod(pod.Name) == nil && c.owns(pod.Name) == nil }) {
			c.complain("%s is not gone a minute after it was deleted: it has %q", pod.Name, c.owns(pod.Name))
			return
		}
	}
}

func within(limit time.Duration, so func() bool) bool {
	for end := time.Now().Add(limit); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// follow waits until a Pod has said all, or was refused, and looks at that.
func (c *churn) follow(name string, began time.Time, twice bool) {
	var said string
	ended := within(4*time.Minute, func() bool {
		pod := c.pod(name)
		if pod == nil {
			return false
		}
		if pod.Status.Phase == corev1.PodRunning {
			said = c.says(pod)
		}
		return pod.Status.Phase == corev1.PodFailed || strings.HasSuffix(said, "done\n")
	})
	switch pod := c.pod(name); {
	case !ended && twice && pod != nil && c.saysOnce(pod) != "": // a kubelet that is busy starts it anew much later
		c.holds(pod, c.saysOnce(pod)+"done\n", false)
	case !ended:
		c.complain("%s did not get to its end: it said %q", name, said)
	case pod.Status.Phase == corev1.PodFailed:
		c.wasRefused(pod, began)
	default:
		c.holds(pod, said, twice)
	}
}

// wasRefused: I3 and I5 allow that only while there was no agent, or while a card broke.
func (c *churn) wasRefused(pod *corev1.Pod, began time.Time) {
	in := within(moment, func() bool { // a gap is known when it has ended
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.gaps, func(gap [2]time.Time) bool { return began.Before(gap[1]) && time.Now().After(gap[0]) })
	})
	if !in {
		c.complain("%s was refused: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

// holds: I1 and I9: what the container sees and can open is the card that the kubelet has given it, and no other; I2: each
// time that it starts.
func (c *churn) holds(pod *corev1.Pod, said string, twice bool) {
	var ids []string
	if !within(moment, func() bool { ids = c.owns(pod.Name); return len(ids) == 1 }) {
		c.complain("PodResources says that %s has %q", pod.Name, ids)
		return
	}
	uuid, _, _ := strings.Cut(ids[0], "::")
	want := fmt.Sprintf("sees %s env %s\nopens %s\n", c.cards[uuid], "void", c.cards[uuid])
	if twice {
		want += want
	}
	if said != want+"done\n" {
		c.complain("%s has %s, which is %s, and says:\n%s", pod.Name, ids[0], c.cards[uuid], said)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started++
	if twice {
		c.anew++
	}
}

// Pods come and go while the agent is killed and a card breaks and heals, and what must stay true does: I1 to I9 of the
// design, each named where it is looked at. FAIRLEAD_LONG=1: 110 Pods at a time, which is what a kubelet takes, for five
// minutes.
func TestPodsComeAndGoAndI1ToI9Hold(t *testing.T) {
	long := os.Getenv("FAIRLEAD_LONG") != ""
	for _, row := range []struct {
		says            string
		replicas        int64
		places, atLong  int
		lasts, longTime time.Duration
	}{
		{"a GPU each", 1, 6, 6, 10 * time.Second, time.Minute},
		{"a share each", 16, 20, 109, 15 * time.Second, 5 * time.Minute},
	} {
		t.Run(row.says, func(t *testing.T) {
			if long {
				row.places, row.lasts = row.atLong, row.longTime
			}
			churned(t, row.replicas, row.places, row.lasts)
		})
	}
}

func churned(t *testing.T, replicas int64, places int, lasts time.Duration) {
	const file = "/etc/fairlead-churn.yaml"
	r := oneNode(t)
	r.heals()
	r.must(r.n.WriteFile(file, fmt.Appendf(nil,
		"version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: %d}\n", replicas), 0o644))
	flags := []string{"--recovery-wait=2s", "--recovery-checks=1"}
	if replicas > 1 {
		flags = append(flags, "--config-file="+file)
	}
	r.replaced(flags...)
	r.hasGPUs(8*replicas, 8*replicas)
	c := &churn{rig: r, cards: map[string]string{}, pods: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	text, err := gpus.Say(t.Context(), r.n, "show")
	r.must(err)
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "GPU-") {
			c.cards[word] = r.node(word)
		}
	}
	r.runs(sleeper("kept", 1))
	kept := r.only("kept/main")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.watches(ctx)
	writes := func() float64 { // but for what follows Pods on the node itself: the book on its disk, what to look into
		own := r.metricWith("fairlead_writes_total", `kind="Booking"`) + r.metricWith("fairlead_writes_total", `kind="Inspection"`)
		return r.metric("fairlead_writes_total") - own + r.metric("fairlead_events_total")
	}
	before, end := writes(), time.Now().Add(lasts)
	var all sync.WaitGroup
	for place := range places {
		all.Go(func() {
			time.Sleep(lasts / 8 * time.Duration(place) / time.Duration(places))
			c.live(place, end)
		})
	}
	time.Sleep(lasts / 4)
	if now := writes(); now != before { // I8: a Pod that comes or goes is booked, and no reason to write anything else
		t.Errorf("the agent has written %v times while nothing but Pods came and went", now-before)
	}
	c.gap(func() { // I3, I4
		r.must(r.agent.Kill(t.Context()))
		r.must(r.agent.Start(t.Context()))
		r.ready()
		r.settledAt(8*replicas, 8*replicas)
	})
	time.Sleep(lasts / 8)
	card := r.number(kept)
	c.gap(func() { // I5: those who have another card start all the same, or it will be told
		began := time.Now()
		r.say("lose", card)
		r.hasGPUs(7*replicas, 8*replicas)
		r.health("kept", kept, "Unhealthy")
		r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
		if took := time.Since(began); took > 5*time.Second { // I9
			t.Errorf("that a GPU is lost was known %v later", took)
		}
	})
	r.event("Pod", "kept", "Xid79") // I6: and a metric
	_, metrics := r.page("/metrics")
	if said := fmt.Sprintf(`fairlead_resource_devices{resource="nvidia.com/gpu",health="Unhealthy"} %d`, replicas); !strings.Contains(metrics, said) {
		t.Errorf("no metric says %s", said)
	}
	time.Sleep(lasts / 4)
	r.say("heal") // I7
	r.within(time.Minute).hasGPUs(8*replicas, 8*replicas)
	r.within(2*time.Minute).health("kept", kept, "Healthy") // a kubelet with 110 Pods tells of each when it comes by
	all.Wait()
	cancel()
	r.undisturbed("kept") // I3
	if now := r.only("kept/main"); now != kept {
		t.Errorf("the one that was there all the time has %s, and had %s", now, kept)
	}
	if left := r.listed(); len(left) != 1 {
		t.Errorf("the kubelet still has %v", left)
	}
	r.runs(sleeper("last", 1))
	r.holders(2) // the agent knows the same
	aside, err := filepath.Glob(r.n.Path("/var/lib/fairlead") + "/*aside*")
	if err != nil || len(aside) > 0 { // I4
		t.Errorf("%q was set aside: %v", aside, err)
	}
	for _, bad := range c.bad {
		t.Error(bad)
	}
	t.Logf("%d Pods ran, %d of them twice, %d were refused in gaps; %d looks at who has what", c.started, c.anew, c.refused, c.looks)
	if c.started < places {
		t.Errorf("only %d Pods ran", c.started)
	}
}
