package agent

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

// readOnly makes a folder of the node one that cannot be written, for whoever opens it from now on, until it is told
// to be writable again.
func (r *rig) readOnly(folder string) (writable func()) {
	r.Helper()
	remount := func(flags uintptr) error {
		return r.n.Do(func() error { return unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "") })
	}
	r.must(r.n.Do(func() error { return unix.Mount(folder, folder, "", unix.MS_BIND, "") }))
	r.Cleanup(func() {
		if err := r.n.Do(func() error { return unix.Unmount(folder, unix.MNT_DETACH) }); err != nil {
			r.Error(err)
		}
	})
	r.must(remount(unix.MS_RDONLY))
	return func() { r.Helper(); r.must(remount(0)) }
}

// What is remembered cannot be written, from the agent's start on: a card that breaks is handed out no more and all are
// told, Pods go on, it is said what is wrong, and when the disk can be written nothing has been lost.
func TestAFolderOfStateThatIsReadOnlyKeepsNoBadNewsBack(t *testing.T) {
	const dir = "/var/lib/fairlead"
	r := oneNode(t)
	r.heals()
	r.settled()
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	r.must(r.agent.Kill(t.Context()))
	writable := r.readOnly(dir)
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.listens()
	r.hasGPUs(8, 8)
	r.say("lose", r.number(id))
	r.hasGPUs(7, 8)
	r.health("user", id, "Unhealthy")
	r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
	r.event("Pod", "user", "Xid79")
	r.event("Node", "node-1", "Xid79")
	until(r, "it is said that nothing can be remembered", func() (bool, string) {
		status, text := r.page("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(text, dir) && strings.Contains(text, "Read-only"), text
	})
	r.runs(sleeper("other", 1))
	time.Sleep(time.Second) // bad news that is taken back would be so now
	r.hasGPUs(7, 8)
	writable()
	r.ready()
	// What an agent that dies right now would leave is the whole truth: the next one knows it before it looks.
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.hasGPUs(7, 8)
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
	r.health("user", id, "Healthy")
	r.undisturbed("user")
	r.undisturbed("other")
}

// The folder of CDI files cannot be written, and the file is gone, as after a boot: no card is handed out, for containers
// would start without it; that is said, bad news goes out, and it heals.
func TestAFolderOfCDIFilesThatIsReadOnlyIsToldAndHeals(t *testing.T) {
	const dir = "/run/cdi"
	r := oneNode(t)
	r.heals()
	r.settled()
	r.runs(sleeper("first", 1)) // has the card that breaks in other tests, which is slower to come back
	r.runs(sleeper("user", 1))
	id := r.only("user/main")
	r.must(r.agent.Kill(t.Context()))
	files, err := os.ReadDir(r.n.Path(dir))
	r.must(err)
	for _, file := range files {
		r.must(os.Remove(r.n.Path(dir) + "/" + file.Name()))
	}
	if len(files) == 0 {
		t.Fatal("there was no CDI file")
	}
	writable := r.readOnly(dir)
	r.must(r.agent.Start(t.Context()))
	r.condition(corev1.ConditionFalse, "CDINotWritten")
	until(r, "it is said that it is not ready, why, and what to do", func() (bool, string) {
		status, text := r.page("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(text, dir+"/") &&
			strings.Contains(text, "Read-only file system: mount it so that it can be written"), text
	})
	until(r, "there is a number for it", func() (bool, string) {
		_, text := r.page("/metrics")
		return strings.Contains(text, "fairlead_cdi_file_unwritable{file="), text
	})
	r.hasGPUs(0, 8)
	r.removes("waits")
	for !r.isUnschedulable(sleeper("waits", 1)) { // the scheduler had not heard yet, and the kubelet refused it
		r.must(r.c.DeletePod(r.Context(), "waits"))
	}
	r.say("lose", r.number(id))
	r.event("Pod", "user", "Xid79")
	r.must(r.c.WaitNode(cluster.Within(t, moment), r.n.Name, "says both what is wrong", func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == "GPUsReady" && condition.Status == corev1.ConditionFalse &&
				strings.Contains(condition.Message, "is not in the CDI file") &&
				strings.Contains(condition.Message, id+" (GPU ")
		})
	}))
	until(r, "it is said what cannot be written", func() (bool, string) {
		_, text := r.page("/explain?kind=CdiSpec&name=any")
		return strings.Contains(text, dir) && strings.Contains(text, "Read-only"), text
	})
	writable()
	r.hasGPUs(7, 8)
	_, err = r.c.WaitPodReady(cluster.Within(t, moment), "waits")
	r.must(err)
	if cards := r.cards("waits", "main"); len(cards) != 1 {
		t.Errorf("it sees %q", cards)
	}
	r.undisturbed("user")
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
	r.ready()
}

// isUnschedulable makes a Pod, and tells whether it waits for the scheduler; else the kubelet has refused it.
func (r *rig) isUnschedulable(pod *corev1.Pod) (waits bool) {
	r.Helper()
	_, err := r.c.Client.CoreV1().Pods("default").Create(r.Context(), pod, create)
	r.must(err)
	r.must(r.c.WaitPod(cluster.Within(r, moment), pod.Name, "is told that there are no GPUs", func(pod *corev1.Pod) bool {
		waits = pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Reason == corev1.PodReasonUnschedulable
		})
		return waits || pod != nil && pod.Status.Phase == corev1.PodFailed
	}))
	return waits
}
