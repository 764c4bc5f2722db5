package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// agent is a running node_driver.
type agent struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	file  string
	mu    sync.Mutex
	lines []string
	done  chan struct{}
}

const resource = "nvidia.com/gpu"

// units as the driver reads them: "GPU-0 GPU-1!".
func wishes(units string) string {
	var all []string
	for _, id := range strings.Fields(units) {
		name, sick := strings.CutSuffix(id, "!")
		all = append(all, fmt.Sprintf(`{"id":%q,"healthy":%v,"shown":%q}`, name, !sick, name))
	}
	return fmt.Sprintf(`[{"metadata":{"name":%q},"ways":["cdi-cri"],"cdiKind":"test.dev/gpu","units":[%s]}]`, resource,
		strings.Join(all, ","))
}

func startAgent(program, dir, units string) (*agent, error) {
	file, err := os.CreateTemp(dir, "wishes")
	if err != nil {
		return nil, err
	}
	file.Close()
	a := &agent{file: file.Name(), done: make(chan struct{})}
	if err := os.WriteFile(a.file, []byte(wishes(units)), 0o600); err != nil {
		return nil, err
	}
	a.cmd = exec.Command(program, a.file, "plugins="+filepath.Join(dir, "plugins"), "pods="+filepath.Join(dir, "pods"))
	a.cmd.Stderr = io.Discard
	if os.Getenv("VERBOSE") != "" {
		a.cmd.Stderr = os.Stderr
	}
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			a.mu.Lock()
			a.lines = append(a.lines, scanner.Text())
			a.mu.Unlock()
		}
		a.cmd.Wait()
		close(a.done)
	}()
	return a, nil
}

func (a *agent) want(units string) error {
	if err := os.WriteFile(a.file, []byte(wishes(units)), 0o600); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdin, "read\n")
	return err
}

// look returns what it knows.
func (a *agent) look() (string, error) {
	a.mu.Lock()
	from := len(a.lines)
	a.mu.Unlock()
	if _, err := io.WriteString(a.stdin, "look\n"); err != nil {
		return "", err
	}
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		a.mu.Lock()
		text := strings.Join(a.lines[from:], "\n")
		a.mu.Unlock()
		if strings.HasSuffix(text, "looked") {
			return text, nil
		}
	}
	return "", fmt.Errorf("it does not answer")
}

// stop is an orderly end, kill is none.
func (a *agent) stop() {
	a.stdin.Close()
	<-a.done
}

func (a *agent) kill() {
	a.cmd.Process.Kill()
	<-a.done
}
