package cluster_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead/tests/cluster"
)

// do runs tests/cluster/do as a person does.
func do(t *testing.T, args ...string) (output string, status int) {
	t.Helper()
	program := os.Getenv("FAIRLEAD_CLUSTER_DO")
	if program == "" {
		t.Skip("skipped: run it through ./dev test cluster")
	}
	text, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil && exitCode(err) < 0 {
		t.Fatalf("%s: %v", program, err)
	}
	return string(text), exitCode(err)
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if ended, ok := err.(*exec.ExitError); ok {
		return ended.ExitCode()
	}
	return -1
}

func TestAPersonStartsUsesAndEndsACluster(t *testing.T) {
	cluster.SkipIfImpossible(t)
	name := "person-" + itoa(os.Getpid())
	t.Cleanup(func() { cluster.Down(t.Context(), name) })
	wants := func(want string, status int, args ...string) string {
		t.Helper()
		output, got := do(t, args...)
		if got != status || !strings.Contains(output, want) {
			t.Fatalf("%s: status %d and\n%s\nwanted status %d and %q", strings.Join(args, " "), got, output, status, want)
		}
		return output
	}
	guide := wants("node-1 is Ready", 0, "up", "--nodes", "1", "--name", name)
	wants("runs already", 0, "up", "--name", name)
	wants("kube-scheduler           runs", 0, "status")
	opened, err := cluster.Open(name)
	cluster.Must(t, err)
	cluster.Must(t, opened.LAN.Part("/bin/sleep", "1000").Start(t.Context()))
	wants("sleep                    runs", 0, "status")
	cluster.Must(t, cluster.RemoveLeftovers(t.Context()))

	// The commands that it prints work when pasted, and so does the kubeconfig outside the test network.
	commands := 0
	for _, line := range strings.Split(guide, "\n") {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "./dev cluster ")
		if !ok {
			continue
		}
		commands++
		text, err := exec.Command("sh", "-c", os.Getenv("FAIRLEAD_CLUSTER_DO")+" "+rest).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, text)
		}
		if strings.Contains(rest, "run hello") && !strings.Contains(string(text), "Fairlead says hello") {
			t.Errorf("%s printed %s", line, text)
		}
	}
	if commands != 3 {
		t.Errorf("%d commands to try in\n%s", commands, guide)
	}
	wants("node-1", 0, "enter", "--name", name, "node-1", "cat", "/etc/hostname")
	wants("no machine \"node-7\"; there are lan, control, node-1", 2, "enter", "--name", name, "node-7")
	wants("has ended", 0, "down", "--name", name)
	wants("no cluster", 0, "down", "--name", name)
	wants("start one: ./dev cluster up --name "+name, 1, "kubectl", "--name", name, "get", "pods")
	if found := trace(t, name); found != "" {
		t.Errorf("left behind:\n%s", found)
	}
}

func TestInterruptingAStartEndsAllOfIt(t *testing.T) {
	cluster.SkipIfImpossible(t)
	name := "interrupt-" + itoa(os.Getpid())
	cmd := exec.Command(os.Getenv("FAIRLEAD_CLUSTER_DO"), "up", "--nodes", "2", "--name", name)
	progress, err := cmd.StderrPipe()
	cluster.Must(t, err)
	cluster.Must(t, cmd.Start())
	lines := bufio.NewScanner(progress)
	for lines.Scan() && !strings.Contains(lines.Text(), "the API server answers") {
	}
	cluster.Must(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
	}
	if status := exitCode(cmd.Wait()); status != 1 {
		t.Errorf("status %d", status)
	}
	cluster.Must(t, os.RemoveAll(os.Getenv("FAIRLEAD_CACHE")+"/logs/"+name)) // kept, since it did not start
	if found := trace(t, name); found != "" {
		t.Errorf("left behind:\n%s", found)
	}
}

func TestWithoutGoTheTestsAreSkippedNotPassed(t *testing.T) {
	program := os.Getenv("FAIRLEAD_CLUSTER_DO")
	if program == "" {
		t.Skip("skipped: run it through ./dev test cluster")
	}
	bin := t.TempDir()
	for _, tool := range []string{"sh", "dirname", "id", "find", "grep", "wc"} {
		path, err := exec.LookPath(tool)
		cluster.Must(t, err)
		cluster.Must(t, os.Symlink(path, filepath.Join(bin, tool)))
	}
	cmd := exec.Command(program, "test")
	cmd.Env = []string{"PATH=" + bin, "HOME=" + t.TempDir()}
	text, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if err != nil || !strings.Contains(string(text), "Go is missing; install") ||
		!strings.HasPrefix(last, "0 passed, 0 failed, ") || last == "0 passed, 0 failed, 0 skipped" {
		t.Errorf("%v and\n%s", err, text)
	}
}

func TestWrongOptionsAreRefusedWithTheRightOnes(t *testing.T) {
	for _, try := range []struct {
		args string
		want string
	}{
		{"sail", "there are up, gpus, down, kubectl, enter, status, build, smoke, test and bench"},
		{"up --node 3", "its options are --api-only, --name, --nodes"},
		{"up --nodes 19", "--nodes takes 1 to 18"},
		{"up --nodes 0", "--nodes takes 1 to 18"},
		{"up --nodes 2 --api-only", "leave --nodes out"},
		{"up --name Sea", "is no name for a cluster"},
		{"up now", `"now" is not understood`},
		{"down --all", "its options are --name"},
		{"status --wide", "it takes no options"},
		{"smoke --nodes 2", "it takes no options"},
		{"test NoSuchTestAnywhere", "there are:"},
		{"test --list", "it takes --long, folders and names of tests"},
	} {
		t.Run(try.args, func(t *testing.T) {
			output, status := do(t, strings.Fields(try.args)...)
			if status != 2 || !strings.Contains(output, try.want) {
				t.Errorf("status %d and\n%s", status, output)
			}
		})
	}
}
