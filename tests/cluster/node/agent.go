// Package node holds the node agent to a real kubelet. What is run as the agent is decided in one place, start: today
// tests/node/driver.c, which has the kubelet's side of the agent and reads its device lists from a file.
package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

const (
	resourceName = "nvidia.com/gpu"
	cdiKind      = "test.dev/gpu"
	moment       = time.Minute // for what takes a second, and longer on a machine that does much else
)

// agent is the agent of one node.
type agent struct {
	t     *testing.T
	node  *cluster.Node
	file  string // what it should offer
	log   *os.File
	cmd   *cluster.Command
	stdin io.WriteCloser
	done  chan struct{}

	mu    sync.Mutex
	lines []string
}

// program is a program of the build folder.
func program(t *testing.T) string {
	t.Helper()
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	path, err := filepath.Abs(filepath.Join(build, "tests", "node", "node_driver"))
	cluster.Must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	return path
}

// runAgent starts an agent that offers these devices ("GPU-0 GPU-1!", the second one unhealthy) until the test ends.
func runAgent(t *testing.T, c *cluster.Cluster, node *cluster.Node, devices string) *agent {
	t.Helper()
	a := &agent{t: t, node: node, file: filepath.Join(t.TempDir(), "offers")}
	var err error
	a.log, err = os.Create(filepath.Join(t.TempDir(), "log"))
	cluster.Must(t, err)
	a.write(devices)
	a.describeDevices(devices)
	a.start()
	a.knows("unwatched -", moment)
	t.Cleanup(func() {
		a.kill()
		a.log.Close()
		// The next test must not take what the Node's status still says for its own.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.WaitNode(ctx, node.Name, "has no devices", hasNoDevices); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			text, _ := os.ReadFile(a.log.Name())
			t.Logf("the agent said:\n%s\n%s", strings.Join(a.lines, "\n"), text)
		}
	})
	return a
}

func hasNoDevices(node *corev1.Node) bool {
	left := node.Status.Allocatable[resourceName]
	return left.IsZero()
}

// start is the only place that knows what program the agent is.
func (a *agent) start() {
	a.t.Helper()
	a.cmd = a.node.Command(context.Background(), program(a.t), a.file)
	a.cmd.Stderr = a.log
	var err error
	a.stdin, err = a.cmd.StdinPipe()
	cluster.Must(a.t, err)
	out, err := a.cmd.StdoutPipe()
	cluster.Must(a.t, err)
	cluster.Must(a.t, a.cmd.Start())
	done := make(chan struct{})
	a.done = done
	cmd := a.cmd
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			a.mu.Lock()
			a.lines = append(a.lines, scanner.Text())
			a.mu.Unlock()
		}
		cmd.Wait()
		close(done)
	}()
}

// stop ends it in order, kill does not.
func (a *agent) stop() {
	a.stdin.Close()
	<-a.done
}

func (a *agent) kill() {
	a.cmd.Process.Kill()
	a.stop()
}

// write says what it should offer.
func (a *agent) write(devices string) {
	a.t.Helper()
	var units []string
	for _, id := range strings.Fields(devices) {
		name, sick := strings.CutSuffix(id, "!")
		units = append(units, fmt.Sprintf(`{"id":%q,"healthy":%v,"why":"a test says so","shown":%q}`, name, !sick, name))
	}
	text := fmt.Sprintf(`[{"metadata":{"name":%q},"ways":["cdi-cri","envvar"],"cdiKind":%q,"units":[%s]}]`, resourceName, cdiKind,
		strings.Join(units, ","))
	cluster.Must(a.t, os.WriteFile(a.file, []byte(text), 0o600))
}

func (a *agent) offer(devices string) {
	a.t.Helper()
	a.write(devices)
	_, err := io.WriteString(a.stdin, "read\n")
	cluster.Must(a.t, err)
}

// describeDevices writes the CDI file that the agent's own sink will write later: each device is a variable.
func (a *agent) describeDevices(devices string) {
	a.t.Helper()
	var all []string
	for _, id := range strings.Fields(strings.ReplaceAll(devices, "!", "")) {
		all = append(all, fmt.Sprintf(`{"name":%q,"containerEdits":{"env":["CDI_%s=yes"]}}`, id, strings.ReplaceAll(id, "-", "_")))
	}
	text := fmt.Sprintf(`{"cdiVersion":"0.5.0","kind":%q,"devices":[%s]}`, cdiKind, strings.Join(all, ","))
	cluster.Must(a.t, a.node.WriteFile("/var/run/cdi/test.dev-gpu.json", []byte(text), 0o644))
}

// look returns what it knows of holders and sockets.
func (a *agent) look() string {
	a.t.Helper()
	a.mu.Lock()
	from := len(a.lines)
	a.mu.Unlock()
	if _, err := io.WriteString(a.stdin, "look\n"); err != nil {
		a.t.Fatal(err)
	}
	for until := time.Now().Add(moment); time.Now().Before(until); time.Sleep(time.Millisecond) {
		a.mu.Lock()
		text := strings.Join(a.lines[from:], "\n")
		a.mu.Unlock()
		if strings.HasSuffix(text, "looked") {
			return text
		}
	}
	a.t.Fatal("the agent does not answer")
	return ""
}

// knows waits until what it knows holds the text.
func (a *agent) knows(text string, within time.Duration) time.Duration {
	a.t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		got := a.look()
		if strings.Contains(got, text) {
			return time.Since(began)
		}
		if time.Since(began) > within {
			a.t.Fatalf("within %v the agent does not know %q, but\n%s", within, text, got)
		}
	}
}
