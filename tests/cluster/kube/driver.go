// Package kube holds the client of src/kube to the real API server, by the hands of tests/kube/driver.c.
package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

// driver is one running client.
type driver struct {
	t     *testing.T
	cmd   *cluster.Command
	stdin io.WriteCloser
	done  chan struct{}
	log   string // what it writes to stderr

	mu    sync.Mutex
	lines []string
}

// run starts the driver with a kubeconfig.
func run(t *testing.T, c *cluster.Cluster, kubeconfig string, args ...string) *driver {
	t.Helper()
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	program, err := filepath.Abs(filepath.Join(build, "tests", "kube", "kube_driver"))
	cluster.Must(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	d := &driver{t: t, done: make(chan struct{})}
	d.cmd = c.Command(context.Background(), program, append([]string{kubeconfig}, args...)...)
	d.stdin, err = d.cmd.StdinPipe()
	cluster.Must(t, err)
	out, err := d.cmd.StdoutPipe()
	cluster.Must(t, err)
	log, err := os.CreateTemp(t.TempDir(), "driver")
	cluster.Must(t, err)
	d.cmd.Stderr, d.log = log, log.Name()
	cluster.Must(t, d.cmd.Start())
	go d.read(out)
	t.Cleanup(func() {
		d.stdin.Close()
		d.cmd.Process.Signal(unix.SIGCONT)
		d.cmd.Process.Kill()
		<-d.done
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("driver %s said:\n%s\n%s", strings.Join(args, " "), strings.Join(tail(d.all(), 60), "\n"), text)
		}
	})
	return d
}

func (d *driver) read(out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		d.mu.Lock()
		d.lines = append(d.lines, scanner.Text())
		d.mu.Unlock()
	}
	d.cmd.Wait()
	close(d.done)
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// all returns what was said so far.
func (d *driver) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

// tell writes a line to its stdin.
func (d *driver) tell(line string) {
	_, err := io.WriteString(d.stdin, line+"\n")
	cluster.Must(d.t, err)
}

func (d *driver) signal(s unix.Signal) {
	cluster.Must(d.t, d.cmd.Process.Signal(s))
	if s == unix.SIGSTOP {
		cluster.Must(d.t, cluster.WaitStopped(d.cmd.Process.Pid))
	}
}

// wait waits until what was said since line `from` satisfies, and returns the line after the one that did.
func (d *driver) wait(from int, limit time.Duration, what string, ok func(line string) bool) int {
	d.t.Helper()
	for until := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		lines := d.all()
		for i := from; i < len(lines); i++ {
			if ok(lines[i]) {
				return i + 1
			}
		}
		if time.Now().After(until) {
			d.t.Fatalf("no %s within %v; last said: %q", what, limit, tail(lines, 5))
		}
	}
}

// waitFor waits for a line that begins so.
func (d *driver) waitFor(from int, limit time.Duration, prefix string) int {
	d.t.Helper()
	return d.wait(from, limit, strconv.Quote(prefix), func(line string) bool { return strings.HasPrefix(line, prefix) })
}

// call runs one request to its end: its last line, and the objects that came.
func call(t *testing.T, c *cluster.Cluster, kubeconfig string, args ...string) (last string, objects []string) {
	t.Helper()
	d := run(t, c, kubeconfig, args...)
	select {
	case <-d.done:
	case <-time.After(60 * time.Second):
		t.Fatalf("%v does not end", args)
	}
	for _, line := range d.all() {
		if text, ok := strings.CutPrefix(line, "object "); ok {
			objects = append(objects, text)
		} else {
			last = line
		}
	}
	return last, objects
}

// view is what a follower knows by what its driver was told: name to version.
type view struct {
	objects map[string]string
	synced  bool
	fulls   int
	wrong   []string // what must never be told
}

// seen replays what was told. Outside of a full state each change must be news, and nothing unknown may go.
func (d *driver) seen() view {
	v := view{objects: map[string]string{}}
	var marked map[string]string
	for _, line := range d.all() {
		words := strings.Fields(line)
		switch words[0] {
		case "begin":
			marked = map[string]string{}
		case "put":
			if marked != nil {
				marked[words[1]] = words[2]
			} else if !newer(words[2], v.objects[words[1]]) {
				v.wrong = append(v.wrong, fmt.Sprintf("%s twice or late (known %s)", line, v.objects[words[1]]))
			}
			v.objects[words[1]] = words[2]
		case "gone":
			if _, known := v.objects[words[1]]; !known {
				v.wrong = append(v.wrong, line+" of nothing")
			}
			delete(v.objects, words[1])
			delete(marked, words[1])
		case "synced":
			v.objects, marked, v.synced, v.fulls = marked, nil, true, v.fulls+1
		case "absent":
			v.objects, marked, v.synced = map[string]string{}, nil, false
		}
	}
	return v
}

func newer(version, known string) bool {
	a, _ := strconv.ParseUint(version, 10, 64)
	b, _ := strconv.ParseUint(known, 10, 64)
	return a > b
}
