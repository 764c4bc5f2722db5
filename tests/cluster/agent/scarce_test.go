package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

// confined puts the agent into a control group of its own, under either version of the kernel's, and gives the group's
// directory. It is out again at the end of the test. The machine may lack the controller: then the reason.
func (r *rig) confined(controller string) (dir, lacks string) {
	r.Helper()
	pid, err := r.agent.Pid()
	r.must(err)
	const root = "/sys/fs/cgroup"
	above := filepath.Join(root, controller) // version 1: a hierarchy for each
	if _, err := os.Stat(filepath.Join(above, "cgroup.procs")); err != nil {
		above = root
		if err := os.WriteFile(filepath.Join(above, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return "", fmt.Sprintf("this machine has no controller %s: %v", controller, err)
		}
	}
	home := above
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	r.must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if parts := strings.SplitN(line, ":", 3); len(parts) == 3 && (above == root && parts[1] == "" || parts[1] == controller) {
			home = filepath.Join(above, parts[2])
		}
	}
	dir = filepath.Join(above, fmt.Sprintf("fairlead-tight-%d", pid))
	r.must(os.Mkdir(dir, 0o755))
	r.Cleanup(func() {
		procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		r.must(err)
		for _, one := range strings.Fields(string(procs)) {
			os.WriteFile(filepath.Join(home, "cgroup.procs"), []byte(one), 0) // one that has just ended needs no home
		}
		until(r, "the group is empty", func() (bool, string) {
			err := os.Remove(dir)
			return err == nil, fmt.Sprint(err)
		})
	})
	r.must(os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0))
	return dir, ""
}

// No process and no thread more may be made: what is served stays served and what breaks is told by the children that
// are there; without them, that none can be started is told, and no GPU is handed out that nobody asks. It heals.
func TestAnAgentAtItsLimitOfProcessesStaysAndHeals(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.listens()
	pid, err := r.agent.Pid()
	r.must(err)
	dir, lacks := r.confined("pids")
	if lacks != "" {
		t.Skip(lacks)
	}
	limit := filepath.Join(dir, "pids.max")
	current, err := os.ReadFile(filepath.Join(dir, "pids.current"))
	r.must(err)
	r.must(os.WriteFile(limit, current, 0))
	r.Cleanup(func() { os.WriteFile(limit, []byte("max"), 0) })
	r.runs(sleeper("tight", 1))
	r.say("lose", r.number(r.only("tight/main")))
	r.hasGPUs(7, 8)
	const failures = "fairlead_gpu_child_start_failures_total"
	before := r.metric(failures)
	for _, child := range r.children() {
		r.must(unix.Kill(child, unix.SIGKILL))
	}
	until(r, "a metric counts what is refused", func() (bool, string) {
		now := r.metric(failures)
		return now > before, fmt.Sprint(before, now)
	})
	t.Logf("no GPU is handed out after %v", r.hasGPUs(0, 8))
	r.condition(corev1.ConditionFalse, "DriverNotReady")
	until(r, "the condition names the limit", func() (bool, string) {
		said := r.gpusReady()
		return strings.Contains(said, "its process cannot be started") &&
			strings.Contains(said, "Resource temporarily unavailable") && strings.Contains(said, "pids.max"), said
	})
	if status, _ := r.page("/healthz"); status != 200 {
		t.Errorf("/healthz says %d: it would be started anew, for nothing", status)
	}
	r.undisturbed("tight")
	r.must(os.WriteFile(limit, []byte("max"), 0))
	r.say("heal")
	t.Logf("and all are back after %v", r.within(time.Minute).hasGPUs(8, 8))
	r.condition(corev1.ConditionTrue, "Ready")
	r.undisturbed("tight")
	if now, err := r.agent.Pid(); err != nil || now != pid || !r.agent.Running() {
		t.Errorf("the agent is process %d, and was %d: %v", now, pid, err)
	}
}

// throttled lets the agent have a small part of its time, as the kernel does above memory.high: by that where there is
// version 2's controller, else by stopping it most of the time.
func (r *rig) throttled() (over func()) {
	r.Helper()
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		if dir, lacks := r.confined("memory"); lacks == "" {
			high := filepath.Join(dir, "memory.high")
			r.must(os.WriteFile(high, []byte("0"), 0))
			return func() { r.must(os.WriteFile(high, []byte("max"), 0)) }
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			r.agent.Stop()
			time.Sleep(450 * time.Millisecond) // that is what throttling means
			r.agent.Continue()
			time.Sleep(50 * time.Millisecond)
		}
	}()
	var once bool
	over = func() {
		if !once {
			once = true
			cancel()
			<-ended
		}
	}
	r.Cleanup(over)
	return over
}

// An agent that gets a tenth of its time is slow, and nothing else: Pods start, a GPU that breaks is handed out no more,
// none of its children is taken for one that hangs, and nothing is left of it afterwards.
func TestAnAgentThatIsThrottledServesAndHeals(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.listens()
	pid, err := r.agent.Pid()
	r.must(err)
	hung := r.metric("fairlead_gpu_child_abandoned_total")
	over := r.throttled()
	began := time.Now()
	r.removes("slow")
	_, err = r.c.RunPod(cluster.Within(t, time.Minute), sleeper("slow", 1))
	r.must(err)
	t.Logf("a Pod runs after %v", time.Since(began))
	id := r.only("slow/main")
	r.say("lose", r.number(id))
	t.Logf("a lost GPU is handed out no more after %v", r.within(time.Minute).hasGPUs(7, 8))
	r.within(time.Minute).health("slow", id, "Unhealthy")
	r.say("heal")
	t.Logf("and is back after %v", r.within(time.Minute).hasGPUs(8, 8))
	over()
	r.settled()
	r.runs(sleeper("next", 7))
	if now := r.metric("fairlead_gpu_child_abandoned_total"); now != hung {
		t.Errorf("%v children were given up that did nothing wrong", now-hung)
	}
	r.undisturbed("slow")
	if now, err := r.agent.Pid(); err != nil || now != pid || !r.agent.Running() {
		t.Errorf("the agent is process %d, and was %d: %v", now, pid, err)
	}
}
