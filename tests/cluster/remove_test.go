package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster"
)

// trace is all that a cluster named name has in the kernel and on disk, plus what any cluster could
// have left under no name of its own.
func trace(t *testing.T, name string) string {
	t.Helper()
	var found []string
	add := func(kind string, lines ...string) {
		for _, line := range lines {
			found = append(found, kind+" "+line)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	cluster.Must(t, err)
	for _, line := range strings.Split(string(mounts), "\n") {
		if strings.Contains(line, name) {
			add("mount", line)
		}
	}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, name) {
			add("cgroup", path)
		}
		return nil
	})
	processes, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, process := range processes {
		text, _ := os.ReadFile(process)
		if strings.Contains(string(text), name) && !isZombie(filepath.Dir(process)) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(process), "cmdline"))
			add("process", strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	for _, pattern := range []string{"/run/fairlead-cluster/" + name + "*", os.Getenv("FAIRLEAD_CACHE") + "/logs/" + name} {
		files, _ := filepath.Glob(pattern)
		add("file", files...)
	}
	return strings.Join(found, "\n")
}

func isZombie(process string) bool {
	status, err := os.ReadFile(filepath.Join(process, "status"))
	return err != nil || strings.Contains(string(status), "State:\tZ")
}

// hostState is what must be the same before and after a cluster, whatever other clusters come and go meanwhile.
func hostState(t *testing.T) string {
	t.Helper()
	var state []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	cluster.Must(t, err)
	state = append(state, strings.Split(string(mounts), "\n")...)
	for _, pattern := range []string{"/run/*", "/var/lib/*", "/var/log/*", "/etc/cni*", "/etc/cdi*", "/etc/kubernetes*", "/dev/*",
		"/opt/*", "/sys/class/net/*"} {
		files, _ := filepath.Glob(pattern)
		state = append(state, files...)
	}
	others := func(line string) bool { return strings.Contains(line, "fairlead-cluster") }
	return strings.Join(slices.DeleteFunc(state, others), "\n")
}

func TestDownLeavesNoTrace(t *testing.T) {
	name := "trace-" + itoa(os.Getpid())
	cluster.SkipIfImpossible(t)
	cluster.Must(t, cluster.RemoveLeftovers(t.Context()))
	before := hostState(t)
	c, err := cluster.Start(t.Context(), name, cluster.Options{Nodes: 2})
	cluster.Must(t, err)
	_, err = c.RunPod(t.Context(), cluster.NewPod("resident", "node-1", "sleep", "1000"))
	cluster.Must(t, errOr(err, c.Node(2).Kubelet.Stop()))
	if found := trace(t, name); !strings.Contains(found, "process /pause") && !strings.Contains(found, "tail -f /dev/null") ||
		!strings.Contains(found, "mount ") || !strings.Contains(found, "cgroup ") || !strings.Contains(found, "file ") {
		t.Errorf("a running cluster should be seen, but there is only\n%s", found)
	}
	began := time.Now()
	cluster.Must(t, c.Stop(context.Background()))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if found := trace(t, name); found != "" {
		t.Errorf("left behind:\n%s", found)
	}
	if after := hostState(t); after != before {
		t.Errorf("the host changed\nbefore:\n%s\nafter:\n%s", before, after)
	}
}

func errOr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

const abortedName = "FAIRLEAD_TEST_ABORTED_CLUSTER"

// startToBeAborted is what the process does that the next test kills.
func startToBeAborted(name string) {
	_, err := cluster.Start(context.Background(), name, cluster.Options{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

// A starter is killed at many moments, the last when it has long finished; the next start cleans up.
func TestWhatAnAbortedStartLeavesIsRemoved(t *testing.T) {
	cluster.SkipIfImpossible(t)
	own, err := os.Executable()
	cluster.Must(t, err)
	for _, moment := range []time.Duration{20, 40, 60, 90, 120, 160, 250, 500, 1500, 2500, 3500, 7000} {
		moment *= time.Millisecond
		t.Run(moment.String(), func(t *testing.T) {
			name := fmt.Sprintf("abort-%d-%d", os.Getpid(), moment.Milliseconds())
			starter := exec.Command(own)
			starter.Env = append(os.Environ(), abortedName+"="+name)
			var output bytes.Buffer
			starter.Stdout, starter.Stderr = &output, &output
			cluster.Must(t, starter.Start())
			time.Sleep(moment) // the moment is the test's input, not a wait
			if err := cluster.RemoveLeftovers(t.Context()); err != nil {
				t.Errorf("with a starter at work: %v", err)
			}
			cluster.Must(t, starter.Process.Kill())
			starter.Wait()
			if strings.Contains(output.String(), "rror") {
				t.Errorf("the starter was disturbed: %s", output.String())
			}
			t.Logf("it left:\n%s", trace(t, name))
			cluster.Must(t, cluster.RemoveLeftovers(t.Context()))
			if found := trace(t, name); found != "" {
				t.Errorf("left behind:\n%s", found)
			}
		})
	}
}
