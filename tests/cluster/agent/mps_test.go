package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	mpsRoot   = "/run/nvidia/mps"
	mpsConfig = "/etc/kubernetes/fairlead-mps.yaml"
	mpsDir    = mpsRoot + "/nvidia.com/gpu"
)

// mpsFile is what a file holds, as the node sees it: pipe is a mount.
func (r *rig) mpsFile(name string) string {
	var text []byte
	r.must(r.n.Do(func() error {
		text, _ = os.ReadFile(filepath.Join(mpsDir, name))
		return nil
	}))
	return string(text)
}

func (r *rig) mpsPid() int {
	r.Helper()
	var pid int
	until(r, "a pid of the MPS control daemon", func() (bool, string) {
		text := r.mpsFile("pipe/nvidia-cuda-mps-control.pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(text))
		return pid > 1, text
	})
	return pid
}

func (r *rig) computeMode(mode string) {
	r.Helper()
	until(r, "compute mode "+mode, func() (bool, string) {
		text, err := gpus.Say(context.Background(), r.n, "show")
		r.must(err)
		return strings.Count(text, "compute-mode "+mode) == 8, text
	})
}

// sharesByMPS is an agent that shares each card with four clients, until the end of the test: then it leaves nothing.
func (r *rig) sharesByMPS(shares int) {
	r.Helper()
	r.must(r.n.WriteFile(mpsConfig, fmt.Appendf(nil,
		"version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n", shares), 0o644))
	r.Cleanup(func() { // after the usual agent is back
		until(r, "no trace of MPS", func() (bool, string) {
			started, log := r.mpsFile(".started"), r.mpsFile("log/control.log")
			return started == "" && log == "" && r.metric("fairlead_mps_daemon") == 0, started + log
		})
	})
	r.replaced("--mps-root="+mpsRoot, "--config-file="+mpsConfig)
}

// Rows 17 and 39 of node-interfaces.md §13.7.
func TestRow39MPSLimitsBeforeHealthyDaemonKilledAgentRestarted(t *testing.T) {
	r := oneNode(t)
	r.sharesByMPS(4)
	r.hasGPUs(32, 32)
	log := r.mpsFile("log/control.log")
	for card := range 8 {
		if !strings.Contains(log, fmt.Sprintf("set_default_device_pinned_mem_limit %d 20480M", card)) {
			t.Errorf("no memory limit of GPU %d: %s", card, log)
		}
	}
	if !strings.Contains(log, "set_default_active_thread_percentage 25") || r.mpsFile(".started") == "" {
		t.Errorf("no limit of threads: %s", log)
	}
	r.computeMode("3")
	r.condition(corev1.ConditionTrue, "Ready")

	t.Run("what a Pod gets", func(t *testing.T) {
		for _, name := range []string{"one", "two"} {
			r.runs(sleeper(name, 1))
			if got := r.in(name, "main", "echo $CUDA_MPS_PIPE_DIRECTORY"); got != "/mps/nvidia.com/gpu/pipe" {
				t.Errorf("%s: the pipe directory is %q", name, got)
			}
			if got := r.in(name, "main", "ls /mps/nvidia.com/gpu/pipe"); !strings.Contains(got, "control") {
				t.Errorf("%s: no control socket: %q", name, got)
			}
			if id := r.only(name + "/main"); !strings.Contains(id, "::") {
				t.Errorf("%s has %q, which is no share", name, id)
			}
		}
		r.in("one", "main", "echo hello > /dev/shm/word; touch /mps/nvidia.com/gpu/pipe/written")
		if got := r.in("two", "main", "cat /dev/shm/word"); got != "hello" {
			t.Errorf("/dev/shm is not shared: %q", got)
		}
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/dev/shm/word", r.mpsPid())); err != nil || string(text) != "hello\n" {
			t.Errorf("/dev/shm is not that of the daemon: %q %v", text, err)
		}
	})
	t.Run("row 17: nobody is a client of the host's MPS", func(t *testing.T) {
		plain := sleeper("plain", 0)
		r.runs(plain)
		for _, pod := range []string{"one", "plain"} {
			if got := r.in(pod, "main", "ls -d /tmp/nvidia-mps 2>/dev/null; true"); got != "" {
				t.Errorf("%s sees %q", pod, got)
			}
		}
		if got := r.in("plain", "main", "ls -d /mps 2>/dev/null; echo $CUDA_MPS_PIPE_DIRECTORY"); got != "" {
			t.Errorf("a Pod without a GPU sees %q", got)
		}
	})
	t.Run("a daemon that is killed", func(t *testing.T) {
		pid := r.mpsPid()
		r.must(syscall.Kill(pid, syscall.SIGKILL))
		r.event("Node", "node-1", "MPSDaemon")
		r.within(moment).hasGPUs(32, 32)
		until(r, "another daemon", func() (bool, string) {
			now := r.mpsFile("pipe/nvidia-cuda-mps-control.pid")
			return now != "" && now != fmt.Sprintln(pid), now
		})
		r.condition(corev1.ConditionTrue, "Ready")
		r.undisturbed("one")
		if r.metric("fairlead_mps_failures") < 1 {
			t.Error("no metric counts it")
		}
	})
	t.Run("an agent that restarts adopts it", func(t *testing.T) {
		pid := r.mpsPid()
		r.must(r.agent.Kill(context.Background()))
		r.must(r.agent.Start(context.Background()))
		r.ready()
		r.hasGPUs(32, 32)
		if now := r.mpsPid(); now != pid {
			t.Errorf("the daemon was process %d and is %d", pid, now)
		}
		if strings.Count(r.mpsFile("log/control.log"), "start\n") > 2 {
			t.Error("it was started anew")
		}
		r.undisturbed("one")
	})
	t.Run("a fault of a client", func(t *testing.T) {
		fault := r.n.Path(mpsDir + "/fault")
		r.must(os.WriteFile(fault, []byte("fault"), 0o644))
		r.hasGPUs(0, 32)
		r.condition(corev1.ConditionFalse, "MPSFault")
		r.event("Node", "node-1", "MPSFault")
		r.must(os.Remove(fault))
		r.within(2*moment).hasGPUs(32, 32)
	})
	for _, name := range []string{"one", "two"} {
		r.must(r.c.DeletePod(cluster.Within(t, moment), name))
	}
}

func TestRow39MPS49SharesRefused(t *testing.T) {
	r := oneNode(t)
	r.must(r.n.WriteFile(mpsConfig, []byte(
		"version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 49}]}}\n"), 0o644))
	r.replaced("--mps-root="+mpsRoot, "--config-file="+mpsConfig)
	r.condition(corev1.ConditionFalse, "Configuration")
	r.hasGPUs(8, 8)
	if started := r.mpsFile(".started"); started != "" {
		t.Errorf("a daemon was started: %s", started)
	}
}
