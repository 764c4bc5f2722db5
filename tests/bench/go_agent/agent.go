package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cards = 8

// node is a fake one, and what runs on it.
type node struct {
	build, topology, dir, kubeconfig string
	cdi                              string // in memory, as /var/run/cdi is
	kubelet                          *kubelet
	mps                              string    // where the MPS daemon has its files; empty: there is none
	agent                            *exec.Cmd // ours, or a peer of it
	began                            time.Time
	log                              *os.File
}

func (n *node) path(part ...string) string { return filepath.Join(append([]string{n.dir}, part...)...) }

func newNode(build, topology, dir, kubeconfig string) (*node, error) {
	n := &node{build: build, topology: topology, dir: dir, kubeconfig: kubeconfig}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := n.fake("up", topology); err != nil {
		return nil, err
	}
	if err := n.fake("tree", filepath.Join(build, "tests/fake/libnvidia-ml.so.1")); err != nil {
		return nil, err
	}
	if err := n.cacheLibraries(); err != nil {
		return nil, err
	}
	memory, err := os.MkdirTemp("/dev/shm", "agent-cdi")
	if err != nil {
		return nil, err
	}
	n.cdi = memory
	if n.log, err = os.Create(n.path("log")); err == nil {
		n.kubelet, err = newKubelet(n.path("kubelet"), n.cdi)
	}
	return n, err
}

// driver is where the libraries are below the root: nothing but its ld.so.cache names the directory.
const driver = "usr/local/driver/lib"

// cacheLibraries moves the driver's libraries from their usual directory to one that only ld.so.cache tells of.
func (n *node) cacheLibraries() error {
	root, ldconfig := n.path("fake", "root"), "/sbin/ldconfig"
	for _, dir := range []string{"etc", filepath.Dir(driver)} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(root, "usr/lib/x86_64-linux-gnu"), filepath.Join(root, driver)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "etc/ld.so.conf"), []byte("/"+driver+"\n"), 0o644); err != nil {
		return err
	}
	if said, err := exec.Command(ldconfig, "-r", root).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", ldconfig, err, said)
	}
	return nil
}

// hooked: what is measured is measured with the hook, and with libraries from the cache.
func (n *node) hooked() error {
	files, _ := filepath.Glob(filepath.Join(n.cdi, "*.json"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), "fairlead-cdi-hook") && strings.Contains(string(text), "/"+driver+"/libcuda.so") {
			return nil
		}
	}
	return fmt.Errorf("no CDI file of %v has the hook and the driver's libraries", files)
}

// fake is fakectl VERB NODE WORD...
func (n *node) fake(verb string, words ...string) error {
	said, err := exec.Command(filepath.Join(n.build, "tests/fake/fakectl"), append([]string{verb, n.path("fake")}, words...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fakectl %s %v: %w: %s", verb, words, err, said)
	}
	return nil
}

// start begins an agent that remembers nothing.
func (n *node) start(flags ...string) error {
	if err := os.RemoveAll(n.path("state")); err != nil {
		return err
	}
	root := n.path("fake", "root")
	n.agent = exec.Command(filepath.Join(n.build, "fairlead"), append([]string{"node", "--node-name=bench",
		"--driver-root=" + root, "--sysfs=" + root + "/sys", "--proc=" + root + "/proc", "--kubeconfig=" + n.kubeconfig,
		"--kubelet-dir=" + n.path("kubelet"), "--cdi-dir=" + n.cdi, "--state-dir=" + n.path("state"),
		"--runtime-socket=" + n.kubelet.runtime(), "--listen=unix:" + n.path("pages.sock"),
		"--control-socket=" + n.path("control.sock"), "--metrics-listen=unix:" + n.path("metrics.sock"),
		"--unpooled=true"}, flags...)...)
	n.agent.Stderr = n.log
	n.agent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if n.mps != "" { // the agent mounts a tmpfs there
		n.agent.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	n.kubelet.forget()
	n.began = time.Now()
	return n.agent.Start()
}

// startShared begins one that shares each card among so many clients of an MPS daemon, the fake one.
func (n *node) startShared(each int) error {
	n.mps = n.path("mps")
	config := n.path("mps.yaml")
	err := os.WriteFile(config, fmt.Appendf(nil, "version: v1\nsharing: {mps: {failRequestsGreaterThanOne: false, "+
		"resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n", each), 0o600)
	if err != nil {
		return err
	}
	if err := n.start("--mps-root="+n.mps, "--config-file="+config); err != nil {
		return err
	}
	return n.kubelet.served(cards * each)
}

// endDaemon ends the MPS daemon, which outlives its agent. Its pid file lies in a mount of the agent's alone.
func (n *node) endDaemon() {
	text, err := os.ReadFile(filepath.Join(n.mps, "nvidia.com/gpu/.daemon"))
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if pid, err := strconv.Atoi(first); err == nil && pid > 1 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (n *node) stop() {
	if n.agent == nil {
		return
	}
	n.agent.Process.Signal(syscall.SIGTERM)
	n.agent.Wait()
	n.agent = nil
}

func (n *node) end() {
	n.stop()
	if n.mps != "" {
		n.endDaemon()
	}
	n.kubelet.end()
	n.log.Close()
	os.RemoveAll(n.cdi)
}

// children are the pids of its children.
func (n *node) children() []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.agent.Process.Pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(text)) {
			if number, err := strconv.Atoi(pid); err == nil {
				all = append(all, number)
			}
		}
	}
	return all
}

// settled: the child for calls and the one for events run.
func (n *node) settled() bool {
	children := n.children()
	for _, pid := range children {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.Contains(string(line), "\x00gpu\x00") {
			return false
		}
	}
	return len(children) == 2
}

// used is memory in MiB of parent and children, without the mappings of the fake driver: its libraries and its node.
// Pss is what they take of this machine; it moves with whoever else has the same libraries open, so that growth shows in
// what they have written and share with nobody.
type used struct{ pss, written float64 }

func (n *node) used() (used, error) {
	var sum used
	for _, pid := range append(n.children(), n.agent.Process.Pid) {
		file, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
		if err != nil {
			return sum, err
		}
		ours := false
		for lines := bufio.NewScanner(file); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if len(words) >= 5 && strings.Contains(words[0], "-") {
				name := filepath.Base(words[len(words)-1])
				ours = name != "fake-node" && !strings.HasPrefix(name, "libnvidia-ml.so") && !strings.HasPrefix(name, "libcuda.so")
				continue
			}
			if !ours {
				continue
			}
			kib, _ := strconv.ParseFloat(words[1], 64)
			switch words[0] {
			case "Pss:":
				sum.pss += kib / 1024
			case "Private_Dirty:":
				sum.written += kib / 1024
			}
		}
		file.Close()
	}
	return sum, nil
}

// cpu is what all threads of these have had.
func cpu(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if len(threads) == 0 {
			return 0, fmt.Errorf("process %d is gone", pid)
		}
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if err != nil {
				continue // a worker that has just ended
			}
			ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(ns)
		}
	}
	return sum, nil
}

// metrics are the lines that begin so.
func (n *node) metrics(begin string) ([]string, error) {
	client := http.Client{Transport: unixTransport(n.path("pages.sock"))}
	defer client.CloseIdleConnections()
	got, err := client.Get("http://agent/metrics")
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, begin) {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// metric is the sum of all series whose line begins so.
func (n *node) metric(begin string) (float64, error) {
	lines, err := n.metrics(begin)
	sum := 0.0
	for _, line := range lines {
		words := strings.Fields(line)
		value, _ := strconv.ParseFloat(words[len(words)-1], 64)
		sum += value
	}
	return sum, err
}
