package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

// R61: a card that is in no pool is not exposed to Pods: not as a resource, not to one that names it in its environment,
// and not to one that has a card of the pool.
func TestR61ACardInNoPoolIsNobodys(t *testing.T) {
	const train = corev1.ResourceName("gpu.deckhouse.io/train")
	r := oneNode(t)
	r.replaced("--unpooled=false", "--pool="+string(train)+"=0,1")
	r.hasGPUs(0, 8) // of the one before; the kubelet forgets it after five minutes
	r.has(train, 2, 2)
	pooled := sleeper("pooled", 0)
	pooled.Spec.Containers[0].Resources = wants(train, 2)
	r.runs(pooled)
	greedy := sleeper("greedy", 0)
	greedy.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}, {Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "all"}}
	r.runs(greedy)
	var own []string
	for _, id := range r.listed()["pooled/main"] {
		own = append(own, r.node(id))
		if number := r.number(id); number != "0" && number != "1" {
			t.Errorf("it was given GPU %s", number)
		}
	}
	slices.Sort(own)
	if cards := r.cards("pooled", "main"); len(own) != 2 || !slices.Equal(cards, own) {
		t.Errorf("the pool's Pod sees %q and was given %q", cards, own)
	}
	if all := r.in("greedy", "main", "cd /dev && ls -d nvidia* 2>/dev/null || true"); all != "" {
		t.Errorf("a Pod that asks for all by its environment sees %q", all)
	}
	for minor := range 8 {
		for pod, granted := range map[string]bool{"pooled": slices.Contains(own, fmt.Sprint("nvidia", minor)), "greedy": false} {
			said := r.in(pod, "main", fmt.Sprintf("mknod /tmp/card c 195 %d; cat /tmp/card 2>&1; rm /tmp/card", minor))
			if denied := strings.Contains(said, "Operation not permitted"); denied == granted {
				t.Errorf("%s opens GPU %d: %q", pod, minor, said)
			}
		}
	}
	r.removes("third")
	third := sleeper("third", 0)
	third.Spec.Containers[0].Resources = wants(train, 1)
	_, err := r.c.Client.CoreV1().Pods("default").Create(t.Context(), third, create)
	r.must(err)
	r.must(r.c.WaitPod(cluster.Within(t, moment), "third", "cannot be scheduled", func(pod *corev1.Pod) bool { // six are free, and not its
		return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, "Insufficient "+string(train))
		})
	}))
}

// counts are what the agent tells others, and how often: the kubelet, the API server, the driver's children.
func (r *rig) counts() map[string]float64 {
	r.Helper()
	all := map[string]float64{}
	for _, name := range []string{"fairlead_plugin_lists_total", "fairlead_plugin_registrations_total", "fairlead_writes_total",
		"fairlead_events_total", "fairlead_gpu_child_starts_total", "fairlead_gpu_child_crashes_total"} {
		all[name] = r.metric(name)
	}
	return all
}

// grown waits until the kubelet is so old that the agent believes what it does not tell of: until then it learns of Pods,
// and writes what it has learnt. Its age is that of its socket, as for the agent.
func (r *rig) grown() {
	r.Helper()
	r.must(r.n.Do(func() error {
		info, err := os.Stat("/var/lib/kubelet/pod-resources/kubelet.sock")
		if err == nil {
			time.Sleep(time.Until(info.ModTime().Add(33 * time.Second)))
		}
		return err
	}))
}

// rests waits until the agent has told nobody anything for a while.
func (r *rig) rests() map[string]float64 {
	r.Helper()
	r.grown()
	before := r.counts()
	until(r, "an agent at rest", func() (bool, string) {
		time.Sleep(time.Second)
		now := r.counts()
		still := fmt.Sprint(now) == fmt.Sprint(before)
		before = now
		return still, fmt.Sprint(now)
	})
	return before
}

// volume is a folder with one file that changes as those of a ConfigMap's volume do: the file leads through a link, which
// is swapped for another one.
func (r *rig) volume(folder, file string, every time.Duration, contents ...[]byte) {
	r.Helper()
	r.must(r.n.Do(func() error {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for i, content := range contents {
			if i > 0 {
				time.Sleep(every)
			}
			old, _ := os.Readlink(folder + "/..data")
			held, err := os.MkdirTemp(folder, "..")
			if err != nil {
				return err
			}
			if err := errors.Join(os.WriteFile(held+"/"+file, content, 0o644),
				os.Symlink(filepath.Base(held), folder+"/..data_tmp"),
				os.Rename(folder+"/..data_tmp", folder+"/..data")); err != nil {
				return err
			}
			if old != "" {
				err = os.RemoveAll(folder + "/" + old)
			} else {
				err = os.Symlink("..data/"+file, folder+"/"+file)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// R92: a change that comes a hundred times is told a few times, one that changes nothing is not told at all, and no Pod
// is restarted for any of it.
func TestR92ChangesAreFewAndIdempotentAndRestartNoPod(t *testing.T) {
	const folder, file = "/etc/fairlead-r92", "config.yaml"
	shares := func(n int) []byte {
		return fmt.Appendf(nil, "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: %d}\n", n)
	}
	r := oneNode(t)
	r.volume(folder, file, 0, shares(2))
	r.replaced("--config-file="+folder+"/"+file, "--recovery-wait=1s", "--recovery-wait-max=10m")
	r.hasGPUs(16, 16)
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	for _, row := range []struct {
		says   string
		change func(r *rig)
		lists  float64 // at most, for the kubelet
		writes float64 // at most, for the API server
		has    int64
		of     int64
		// Started at most: a card that comes back is listened to by another one.
		children float64
	}{
		{"R92 time passes", func(*rig) { time.Sleep(5 * time.Second) }, 0, 0, 16, 16, 0},
		{"R92 the same configuration is written a hundred times", func(r *rig) {
			r.volume(folder, file, 25*time.Millisecond, slices.Repeat([][]byte{shares(2)}, 100)...)
		}, 0, 0, 16, 16, 0},
		{"R92 a configuration goes to and fro a hundred times", func(r *rig) {
			// 2.5 s: ten looks, each of them a list and two writes, and as many again by half for a slow machine.
			r.volume(folder, file, 25*time.Millisecond, append(slices.Repeat([][]byte{shares(3), shares(2)}, 50), shares(3))...)
			r.hasGPUs(24, 24)
		}, 15, 30, 24, 24, 0},
		{"R92 a GPU tells of the same fault a hundred times", func(r *rig) {
			card := r.number(id)
			r.say("lose", card) // which tells of it once, and lasts
			for range 99 {
				r.say("xid", card, "79")
			}
			r.hasGPUs(21, 24)
		}, 4, 16, 21, 24, 0}, // conditions GPUsReady and GPUChecksPassed, each with its Event
		{"R92 it is healed", func(r *rig) {
			r.say("heal")
			r.within(time.Minute).hasGPUs(24, 24)
		}, 4, 16, 24, 24, 1},
		{"R92 the driver's folder is touched a hundred times", func(r *rig) {
			for i := range 100 {
				r.must(r.n.WriteFile(fmt.Sprintf("/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.%d~", i), nil, 0o644))
			}
			_, err := r.n.Command(context.Background(), "sh", "-c", "rm /run/nvidia/driver/usr/lib/x86_64-linux-gnu/*~").Output()
			r.must(err)
		}, 0, 0, 24, 24, 0},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			const inside = `kind="Readiness"` // for /readyz: written in memory only
			before, own := r.rests(), r.metricWith("fairlead_writes_total", inside)
			row.change(r)
			after := r.rests()
			own = r.metricWith("fairlead_writes_total", inside) - own
			lists, writes := after["fairlead_plugin_lists_total"]-before["fairlead_plugin_lists_total"],
				after["fairlead_writes_total"]-before["fairlead_writes_total"]-own+after["fairlead_events_total"]-before["fairlead_events_total"]
			t.Logf("%v lists, %v writes and events", lists, writes)
			if lists > row.lists || writes > row.writes {
				t.Errorf("%v lists and %v writes; at most %v and %v were due\nbefore %v\nafter  %v", lists, writes, row.lists, row.writes, before, after)
			}
			for _, never := range []string{"fairlead_plugin_registrations_total", "fairlead_gpu_child_crashes_total"} {
				if before[never] != after[never] {
					t.Errorf("%s was %v and is %v", never, before[never], after[never])
				}
			}
			const children = "fairlead_gpu_child_starts_total"
			if after[children]-before[children] > row.children {
				t.Errorf("%v children were started, at most %v were due", after[children]-before[children], row.children)
			}
			r.hasGPUs(row.has, row.of)
			r.undisturbed("user")
			if now := r.only("user/main"); now != id {
				t.Errorf("the Pod has %s, and had %s", now, id)
			}
		})
	}
}
