package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// world is a folder with a kubelet and an agent in it.
type world struct {
	program, dir string
	kubelet      *kubelet
	agent        *agent
	handOvers    int
	began        time.Time   // the agent's process
	handing      atomic.Bool // one plugin has been told to go, the next is not served yet
}

// moment is for what takes milliseconds, and longer on a machine that does much else.
const moment = 10 * time.Second

func (w *world) comes(devices string, within time.Duration) error {
	for until := time.Now().Add(within); ; time.Sleep(200 * time.Microsecond) {
		got := w.kubelet.devices(resource)
		if got == devices {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("within %v the devices are %q and not %q", within, got, devices)
		}
	}
}

// stays checks that nothing moves for a while.
func (w *world) stays(devices string, while time.Duration) error {
	for until := time.Now().Add(while); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if got := w.kubelet.devices(resource); got != devices {
			return fmt.Errorf("the devices became %q", got)
		}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const both = "GPU-0 GPU-1"

// removed takes a folder away in which the plugin makes its sockets anew meanwhile.
func removed(dir string) error {
	for tries := 0; ; tries++ {
		err := os.RemoveAll(dir)
		if !errors.Is(err, syscall.ENOTEMPTY) || tries == 100 {
			return err
		}
	}
}

var cases = []struct {
	says string
	run  func(w *world) error
}{
	{"a list is registered, follows, and is allocated from", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		fmt.Printf("# from the start of the process to its list at the kubelet: %v\n", time.Since(w.began).Round(100*time.Microsecond))
		if err := first(w.agent.want("GPU-0 GPU-1!"), w.comes("GPU-0 GPU-1!", time.Second)); err != nil {
			return err
		}
		registered := w.kubelet.count()
		if err := w.stays("GPU-0 GPU-1!", 3*time.Second); err != nil || w.kubelet.count() != registered {
			return fmt.Errorf("at rest: %d registrations more, %v", w.kubelet.count()-registered, err)
		}
		reply, _, err := w.kubelet.admit(resource, "GPU-0")
		if err != nil {
			return err
		}
		if names := reply.ContainerResponses[0].CdiDevices; len(names) != 1 || names[0].Name != "test.dev/gpu=GPU-0" {
			return fmt.Errorf("got %v", reply)
		}
		if _, _, err = w.kubelet.admit(resource, "GPU-1"); err == nil || !strings.Contains(err.Error(), "Unavailable") {
			return fmt.Errorf("an unhealthy one: %v", err)
		}
		if _, _, err = w.kubelet.admit(resource, "GPU-9"); err == nil || !strings.Contains(err.Error(), "InvalidArgument") {
			return fmt.Errorf("an unknown one: %v", err)
		}
		return nil
	}},
	{"a kubelet that restarts has it back within a second", func(w *world) error {
		return w.restarts(false, 500*time.Millisecond, time.Second)
	}},
	{"so has one that wipes its folder", func(w *world) error { return w.restarts(true, 500*time.Millisecond, time.Second) }},
	{"and one that was away for longer", func(w *world) error { return w.restarts(true, 6*time.Second, time.Second) }},
	{"a folder that goes and comes back", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		w.kubelet.stop(true)
		if err := removed(filepath.Join(w.dir, "plugins")); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond)
		return first(w.kubelet.start(), w.comes(both, moment))
	}},
	{"an old stream that ends after the new one began", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		for i := 0; i < 20; i++ { // the kubelet lets go of whoever is current, as if an old stream had ended
			w.kubelet.mu.Lock()
			if c := w.kubelet.clients[resource]; c != nil {
				c.conn.Close()
				w.kubelet.lost(resource)
			}
			w.kubelet.mu.Unlock()
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
		}
		return first(w.comes(both, time.Second), w.stays(both, time.Second))
	}},
	{"a kubelet that takes 12 s to answer Register", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		w.kubelet.stop(true)
		w.kubelet.slow = 12 * time.Second
		return first(w.kubelet.start(), w.comes(both, 20*time.Second), w.stays(both, 2*time.Second))
	}},
	{"our socket is unlinked by somebody", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		sockets, _ := filepath.Glob(filepath.Join(w.dir, "plugins", "fairlead-*.sock"))
		if len(sockets) != 1 {
			return fmt.Errorf("sockets: %v", sockets)
		}
		os.Remove(sockets[0])
		before := w.kubelet.registrations
		for until := time.Now().Add(time.Second); time.Now().Before(until) && w.kubelet.registrations == before; {
			time.Sleep(time.Millisecond)
		}
		again, _ := filepath.Glob(filepath.Join(w.dir, "plugins", "fairlead-*.sock"))
		if len(again) != 1 || w.kubelet.registrations == before {
			return fmt.Errorf("afterwards: %v, %d registrations", again, w.kubelet.registrations-before)
		}
		return w.comes(both, time.Second)
	}},
	{"two agents in a rolling update: the new one takes over, and the old one's end costs a moment", func(w *world) error {
		if err := w.comes(both, moment); err != nil {
			return err
		}
		for i := 0; i < 10; i++ {
			next, err := startAgent(w.program, w.dir, both)
			if err != nil {
				return err
			}
			for before := w.kubelet.count(); w.kubelet.count() == before; {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond)
			old := w.agent
			w.agent = next
			if i%2 == 0 {
				old.kill()
			} else {
				old.stop()
			}
			time.Sleep(30 * time.Millisecond)
			if err := w.comes(both, time.Second); err != nil {
				return fmt.Errorf("update %d: %w", i, err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		sockets, _ := filepath.Glob(filepath.Join(w.dir, "plugins", "fairlead-*.sock"))
		if len(sockets) != 1 {
			return fmt.Errorf("those who were killed left %v", sockets)
		}
		return w.stays(both, time.Second)
	}},
	{"who has a device is known", func(w *world) error {
		w.kubelet.mu.Lock()
		w.kubelet.holders = []*pods.PodResources{{Name: "web", Namespace: "default", Containers: []*pods.ContainerResources{{
			Name: "main", Devices: []*pods.ContainerDevices{{ResourceName: resource, DeviceIds: []string{"GPU-1"}},
				{ResourceName: resource, DeviceIds: []string{"GPU-1", "GPU-0"}}}}}}}
		w.kubelet.mu.Unlock()
		if err := w.comes(both, moment); err != nil {
			return err
		}
		if _, _, err := w.kubelet.admit(resource, "GPU-0"); err != nil {
			return err
		}
		for until := time.Now().Add(time.Second); ; time.Sleep(20 * time.Millisecond) {
			text, err := w.agent.look()
			if err != nil {
				return err
			}
			if strings.Contains(text, "holder default/web/main/nvidia.com/gpu GPU-0,GPU-1") {
				return nil
			}
			if time.Now().After(until) {
				return fmt.Errorf("it knows %q", text)
			}
		}
	}},
	{"hand-overs to the vendor's plugin and back, Pods coming all the time", func(w *world) error { return w.handOver() }},
}

func (k *kubelet) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.registrations
}

func (w *world) restarts(wipe bool, away, within time.Duration) error {
	if err := w.comes(both, moment); err != nil {
		return err
	}
	for i := 0; i < 3; i++ {
		w.kubelet.stop(wipe)
		time.Sleep(away)
		if err := w.kubelet.start(); err != nil {
			return err
		}
		began := time.Now()
		if err := w.comes(both, within); err != nil {
			return err
		}
		fmt.Printf("# back after %v\n", time.Since(began).Round(100*time.Microsecond))
	}
	return w.stays(both, 300*time.Millisecond)
}

// served waits until the resource's client is the vendor's, or ours.
func (w *world) served(byVendor bool) error {
	for until := time.Now().Add(moment); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		w.kubelet.mu.Lock()
		c := w.kubelet.clients[resource]
		good := c != nil && c.lists > 0 && c.vendor == byVendor
		w.kubelet.mu.Unlock()
		if good {
			return nil
		}
	}
	return fmt.Errorf("not served by the vendor's plugin: %v", byVendor)
}

func (w *world) handOver() error {
	if err := w.comes(both, moment); err != nil {
		return err
	}
	w.kubelet.mu.Lock()
	w.kubelet.gaps = nil
	w.kubelet.mu.Unlock()
	end, admitted, inGap, outside := make(chan struct{}), 0, 0, 0
	var wait sync.WaitGroup
	wait.Add(1)
	go func() {
		defer wait.Done()
		for {
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
			before := w.handing.Load()
			_, gap, err := w.kubelet.admit(resource, "GPU-0")
			switch {
			case err == nil:
				admitted++
			case gap || before || w.handing.Load():
				inGap++
			default:
				outside++
			}
		}
	}()
	err := w.handOverMany()
	close(end)
	wait.Wait()
	gaps := w.kubelet.gaps
	sort.Slice(gaps, func(i, j int) bool { return gaps[i] < gaps[j] })
	if err != nil || len(gaps) == 0 {
		return fmt.Errorf("%d gaps: %w", len(gaps), err)
	}
	p99 := gaps[(len(gaps)-1)*99/100]
	fmt.Printf("# %d hand-overs: gap p50 %v, p99 %v, longest %v; %d Pods admitted, %d failed in a gap, %d outside of one\n",
		len(gaps), gaps[len(gaps)/2], p99, gaps[len(gaps)-1], admitted, inGap, outside)
	if p99 > 200*time.Millisecond || outside > 0 {
		return fmt.Errorf("gap p99 %v, %d Pods failed outside of a gap", p99, outside)
	}
	return nil
}

// steady lets Pods come between two hand-overs.
func (w *world) steady() {
	w.handing.Store(false)
	time.Sleep(10 * time.Millisecond)
	w.handing.Store(true)
}

func (w *world) handOverMany() error {
	for i := 0; i < w.handOvers; i++ {
		w.handing.Store(true)
		w.agent.stop()
		// The vendor's plugin registers once and never looks again, so the kubelet must have seen the end of ours: it
		// would take the new one with it. A Pod that is replaced takes longer than this.
		if err := w.comes("-", moment); err != nil {
			return err
		}
		v, err := startVendor(w.dir)
		if err != nil {
			return err
		}
		if err := w.served(true); err != nil {
			return fmt.Errorf("hand-over %d: %w", i, err)
		}
		w.steady()
		v.stop()
		if w.agent, err = startAgent(w.program, w.dir, both); err != nil {
			return err
		}
		if err := w.served(false); err != nil {
			return fmt.Errorf("hand-over %d: %w", i, err)
		}
		w.steady()
	}
	return nil
}

func drive(program string, handOvers int) int {
	failed := 0
	for i, c := range cases {
		if err := one(program, handOvers, c.run); err != nil {
			failed++
			fmt.Printf("not ok %d - %s\n# %v\n", i+1, c.says, err)
			continue
		}
		fmt.Printf("ok %d - %s\n", i+1, c.says)
	}
	fmt.Printf("1..%d\n", len(cases))
	if failed > 0 {
		return 1
	}
	return 0
}

func one(program string, handOvers int, run func(w *world) error) error {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &world{program: program, dir: dir, kubelet: newKubelet(dir), handOvers: handOvers}
	if err := w.kubelet.start(); err != nil {
		return err
	}
	defer func() { w.kubelet.stop(true) }()
	w.began = time.Now()
	if w.agent, err = startAgent(program, dir, both); err != nil {
		return err
	}
	defer func() { w.agent.stop() }()
	if err := run(w); err != nil {
		return err
	}
	w.kubelet.mu.Lock()
	defer w.kubelet.mu.Unlock()
	if c := w.kubelet.clients[resource]; c != nil && c.repeats > 0 {
		return fmt.Errorf("%d lists were repeated", c.repeats)
	}
	return nil
}
