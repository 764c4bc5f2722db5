package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Part is one server of the cluster: etcd, the API server, a kubelet, or one under test.
type Part struct {
	Name    string // the program's name
	Machine *Machine

	program string
	args    []string
	env     []string     // further environment
	files   []*os.File   // further open files, from number 3
	ready   func() error // nil once it serves
}

// Part describes a further server for the machine, such as one under test. Start starts it; from then
// on it is killed, stopped and restarted like any other part, and ends with the machine.
func (m *Machine) Part(program string, args ...string) *Part {
	return &Part{Name: filepath.Base(program), Machine: m, program: program, args: args}
}

// ReadyWhen says how to tell that the part serves; without it, running is enough.
func (p *Part) ReadyWhen(ready func() error) *Part {
	p.ready = ready
	return p
}

func (p *Part) title() string { return p.Name + " on " + p.Machine.Name }
func (p *Part) pidFile() string {
	return filepath.Join(p.Machine.cluster.dir, "parts", p.Machine.Name+"."+p.Name)
}

// LogFile is where the part writes.
func (p *Part) LogFile() string {
	return filepath.Join(p.Machine.cluster.LogDir(), p.Machine.Name+"."+p.Name+".log")
}

// Start starts the part and returns once it serves.
func (p *Part) Start(ctx context.Context) error {
	if err := p.launch(ctx); err != nil {
		return err
	}
	return p.WaitReady(ctx)
}

// launch starts the part and returns at once.
func (p *Part) launch(ctx context.Context) error {
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	// The part outlives ctx, which is about its start only.
	cmd := p.Machine.command(context.WithoutCancel(ctx), p.Name, p.program, p.args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, p.files
	cmd.Env = append(cmd.Env, p.env...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.title(), err)
	}
	began, err := startTime(cmd.Process.Pid)
	if err != nil {
		return p.WithLog(fmt.Errorf("%s ended at once", p.title()))
	}
	err = os.WriteFile(p.pidFile(), fmt.Appendf(nil, "%d %d\n", cmd.Process.Pid, began), 0o644)
	go cmd.Wait() // nobody else collects it
	return err
}

// WaitReady waits until the part serves.
func (p *Part) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ended := false
	err := eventually(ctx, 10*time.Millisecond, "wait for "+p.title(), func() error {
		var err error
		if p.ready != nil {
			err = p.ready()
		}
		if err != nil && !p.Running() {
			ended = true
			cancel()
		}
		return err
	})
	if ended {
		err = fmt.Errorf("%s ended instead of serving", p.title())
	}
	return p.WithLog(err)
}

// Kill ends the part at once (SIGKILL) and returns when it is gone. What it started lives on.
func (p *Part) Kill(ctx context.Context) error { return p.end(ctx, unix.SIGKILL) }

// Terminate asks the part to end (SIGTERM) and returns when it is gone.
func (p *Part) Terminate(ctx context.Context) error { return p.end(ctx, unix.SIGTERM) }

// Stop freezes the part (SIGSTOP): it keeps its connections and answers nothing. The signal comes to a thread that runs on
// another processor with that one's next interrupt, so it returns when each of them is seen stopped.
func (p *Part) Stop() error {
	if err := p.Signal(unix.SIGSTOP); err != nil {
		return err
	}
	pid, err := p.Pid()
	if err != nil {
		return err
	}
	return WaitStopped(pid)
}

// Continue lets a stopped part go on (SIGCONT).
func (p *Part) Continue() error { return p.Signal(unix.SIGCONT) }

// Restart ends the part as an operator would, starts it again, and returns once it serves.
func (p *Part) Restart(ctx context.Context) error {
	if err := p.Terminate(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
}

// KeepRunning starts the part again whenever it ends, until ctx does, as a kubelet does with a container of a DaemonSet: at
// once the first time, then after 10 s, 20 s and so on up to five minutes, and as the first time once it has run for ten.
// Each time it tells what it does.
func (p *Part) KeepRunning(ctx context.Context, tell func(string)) {
	var wait time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		p.waitEnded(ctx)
		if time.Since(began) >= 10*time.Minute {
			wait = 0
		}
		if ctx.Err() != nil {
			return
		}
		tell(fmt.Sprintf("%s has ended and starts again in %v; its log is %s", p.title(), wait, p.LogFile()))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(max(2*wait, 10*time.Second), 5*time.Minute)
		if err := p.Start(ctx); err != nil && ctx.Err() == nil {
			tell(err.Error())
		}
	}
}

// waitEnded returns once the part does not run, or ctx has ended.
func (p *Part) waitEnded(ctx context.Context) {
	fd, err := p.open()
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for ctx.Err() == nil && !hasEnded(fd, 100*time.Millisecond) {
	}
}

// Signal sends any signal.
func (p *Part) Signal(signal unix.Signal) error {
	fd, err := p.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// Running tells whether the part's process lives.
func (p *Part) Running() bool {
	fd, err := p.open()
	unix.Close(fd)
	return err == nil
}

// whileRunning waits with f, whose context ends when the part does.
func (p *Part) whileRunning(ctx context.Context, f func(context.Context) error) error {
	fd, err := p.open()
	if err != nil {
		return p.WithLog(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer unix.Close(fd)
		for ctx.Err() == nil {
			if hasEnded(fd, 100*time.Millisecond) {
				cancel(fmt.Errorf("%s ended", p.title()))
			}
		}
	}()
	err = f(ctx)
	cancel(nil)
	<-watched
	return p.WithLog(err)
}

// WithLog adds to an error what the part said last.
func (p *Part) WithLog(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nthe log of %s, %s, ends:\n%s", err, p.title(), p.LogFile(), logTail(p.LogFile()))
}

// Pid returns the process id of the running part.
func (p *Part) Pid() (int, error) {
	pid, _, err := p.recorded()
	return pid, err
}

func (p *Part) end(ctx context.Context, signal unix.Signal) error {
	fd, err := p.open()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
		return fmt.Errorf("signal %s: %w", p.title(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !hasEnded(fd, 100*time.Millisecond) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s did not end on signal %v: %w", p.title(), signal, ctx.Err())
		}
	}
	return nil
}

// open returns a handle on the part's process, never on another one that got the same number.
func (p *Part) open() (int, error) {
	pid, began, err := p.recorded()
	if errors.Is(err, fs.ErrNotExist) {
		return -1, fmt.Errorf("%s was never started", p.title())
	}
	if err != nil {
		return -1, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, fmt.Errorf("%s is not running (process %d: %w)", p.title(), pid, err)
	}
	if now, err := startTime(pid); err != nil || now != began || hasEnded(fd, 0) {
		unix.Close(fd)
		return -1, fmt.Errorf("%s is not running", p.title())
	}
	return fd, nil
}

func (p *Part) recorded() (pid int, began uint64, err error) {
	text, err := os.ReadFile(p.pidFile())
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(string(text), &pid, &began)
	return pid, began, err
}

// hasEnded waits for the end of a process, at most as long as told.
func hasEnded(fd int, atMost time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(fds, int(atMost.Milliseconds()))
	return n > 0
}

// WaitStopped waits until each thread of a process stands still, which nothing but the process's own state tells.
func WaitStopped(pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return eventually(ctx, time.Millisecond, fmt.Sprintf("wait for process %d to stop", pid), func() error {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err == nil && len(threads) == 0 {
			err = errors.New("it is gone")
		}
		for _, thread := range threads {
			fields, err := statFields(thread)
			if err != nil {
				return err
			}
			if fields[0] != "T" {
				return fmt.Errorf("%s is %s", thread, fields[0])
			}
		}
		return err
	})
}

// ProcessorTime is what a process has used of all processors since its start.
func ProcessorTime(pid int) (time.Duration, error) {
	const ofAllThreads = 2 // CPUCLOCK_SCHED, as clock_getcpuclockid(3) gives it
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofAllThreads), &used); err != nil {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}

// startTime is the moment of a process's start, in the kernel's ticks since boot.
func startTime(pid int) (uint64, error) {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[22-3], 10, 64)
}

// statFields are the fields of such a file from the third one on, which is the state: the name before it, in parentheses,
// may hold anything.
func statFields(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return nil, fmt.Errorf("%s is too short", path)
	}
	return fields, nil
}
