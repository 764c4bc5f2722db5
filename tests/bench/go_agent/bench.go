package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	starts        = 21
	turnWait      = 300 * time.Millisecond // the API server is asked FL_ROLE_ALONE_WAIT after the start
	batch         = 100
	batches       = 200 // of each kind of call: 40,000 calls
	pairs         = 600
	many          = 1_000_000
	inFlight      = 32
	registrations = 1000
	polls         = 100_000
	warmPart      = 10 // growth is counted from this part of a load on: what was touched the first time is there by then
	settle        = 2 * time.Second
	byTheClock    = 60 * time.Second // FL_FOLDER_POLL, the rarest look of an agent's first minutes
	cardDeadline  = 4 * time.Second  // FL_GPU_CARD_DEADLINE
	mib           = 12.0
	growth        = 0.1
)

var ctx = context.Background()

// memory prints the row of one moment.
func (n *node) memory(when string) (used, error) {
	time.Sleep(settle)
	now, err := n.used()
	if err == nil {
		row("agent and its children, 8 GPUs, without the fake driver: "+when, now.pss, "MiB Pss", mib)
	}
	return now, err
}

// warm is what growth is counted from. What the agent does by the clock it has done once by then: its first time takes
// memory too, and would be taken for the load's if it happened to come in the midst of it.
func (n *node) warm() (used, error) {
	time.Sleep(max(settle, time.Until(n.began.Add(byTheClock+settle))))
	return n.used()
}

// grown prints both rows after a load: what there is, and by how much that grew since a tenth of it.
func (n *node) grown(before used, when string) error {
	now, err := n.memory(when)
	if err == nil {
		row("... what they have written to, growth since a tenth of that", now.written-before.written, "MiB", growth)
	}
	return err
}

// ---- the start ----

func (n *node) startTimes() error {
	var took, turns times
	calls := map[string]times{}
	for range starts {
		n.stop()
		if err := n.start(); err != nil {
			return err
		}
		if err := n.kubelet.served(cards); err != nil {
			return err
		}
		took = append(took, n.kubelet.registered.Sub(n.began))
		// A child that is not yet a program of its own has the agent's sockets: the next agent would find them served.
		if err := until(5*time.Second, "both children", n.settled); err != nil {
			return err
		}
		if err := n.hooked(); err != nil {
			return err
		}
		time.Sleep(turnWait)
		turn, err := n.metric("fairlead_turn_longest_seconds")
		if err != nil {
			return err
		}
		turns = append(turns, time.Duration(turn*1e9))
		lines, _ := n.metrics("fairlead_call_longest_seconds{")
		for _, line := range lines {
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "fairlead_call_longest_seconds{"), "} ")
			seconds, _ := strconv.ParseFloat(value, 64)
			calls[name] = append(calls[name], time.Duration(seconds*1e9))
		}
	}
	note("process start to registered: %v", took)
	row("agent: process start to registered, p50 of 21", ms(took.at(0.5)), "ms", 10)
	note("longest turn of each process: %v; its longest call: %v", turns, calls)
	// Who else runs on this machine lengthens turns, but not those of every process.
	row("agent: longest turn since its start, shortest of 21", ms(turns.at(0)), "ms", 2)
	return nil
}

// ---- calls, one in flight ----

type call func(i int) error

func empty(p api.DevicePluginClient) call {
	return func(int) error {
		_, err := p.GetDevicePluginOptions(ctx, &api.Empty{})
		return err
	}
}

func allocate(p api.DevicePluginClient, ids []string) call {
	return func(i int) error {
		got, err := p.Allocate(ctx, &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{
			DevicesIds: ids[i%len(ids):][:1]}}})
		if err == nil && (len(got.ContainerResponses) != 1 || len(got.ContainerResponses[0].CdiDevices)+len(got.ContainerResponses[0].Envs) < 1) {
			err = fmt.Errorf("Allocate answers %v", got)
		}
		return err
	}
}

func prefer(p api.DevicePluginClient, ids []string, size int) call {
	return func(int) error {
		got, err := p.GetPreferredAllocation(ctx, &api.PreferredAllocationRequest{
			ContainerRequests: []*api.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: ids, AllocationSize: int32(size)}}})
		if err == nil && (len(got.ContainerResponses) != 1 || len(got.ContainerResponses[0].DeviceIDs) != size) {
			err = fmt.Errorf("GetPreferredAllocation answers %v", got)
		}
		return err
	}
}

// interleaved makes these calls in turns, on one connection.
func interleaved(rounds int, calls ...call) ([]times, error) {
	took := make([]times, len(calls))
	for i := range rounds {
		for k, c := range calls {
			began := time.Now()
			if err := c(i); err != nil {
				return nil, err
			}
			took[k] = append(took[k], time.Since(began))
		}
	}
	return took, nil
}

// inTurns calls two plugins, a batch each in turns: empty calls and Allocates.
func inTurns(plugins ...client) (took [2][2]times, err error) {
	for i := range batches + 1 {
		for k, c := range plugins {
			got, err := interleaved(batch, empty(c.plugin), allocate(c.plugin, c.ids))
			if err != nil {
				return took, err
			}
			for m := range got {
				if i > 0 { // the first warms up
					took[k][m] = append(took[k][m], got[m]...)
				}
			}
		}
	}
	return took, nil
}

// besidePeer calls ours and the one in grpc-go, a batch each in turns.
func (n *node) besidePeer(ids []string) error {
	path := n.path("peer.sock")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	peer := exec.Command(self, "plugin", path)
	peer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := peer.StdoutPipe()
	if err != nil {
		return err
	}
	if err := peer.Start(); err != nil {
		return err
	}
	defer func() { peer.Process.Kill(); peer.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("the plugin in grpc-go says %q: %w", line, err)
	}
	conn, err := dial(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	theirs, theirIDs := api.NewDevicePluginClient(conn), []string{}
	for i := range cards {
		theirIDs = append(theirIDs, peerID(i))
	}
	took, err := inTurns(client{n.kubelet.plugin, ids}, client{theirs, theirIDs})
	if err != nil {
		return err
	}
	for k, who := range []string{"ours", "grpc-go's"} {
		note("%s: empty call %v; Allocate %v", who, took[k][0], took[k][1])
	}
	p50, p99 := took[0][1].at(0.5), took[0][1].at(0.99)
	row("Allocate by a grpc-go client, p50 of an empty call's on the same socket", us(p50)/us(took[0][0].at(0.5)), "x", 1.1)
	row("Allocate, p50 of a grpc-go plugin's", us(p50)/us(took[1][1].at(0.5)), "x", 0.999)
	row("Allocate, p99 of a grpc-go plugin's", us(p99)/us(took[1][1].at(0.99)), "x", 0.999)
	return nil
}

// handler is what Allocate costs the agent above the empty call: of pairs of batches the middle one by what their
// processor time differs. Ten times a second at most the agent looks who holds what, because it was asked for devices:
// that look falls into some batch, of either kind, and is none of the handler's. The means have it, and are noted.
func (n *node) handler(ids []string, how string) error {
	calls := [2]call{empty(n.kubelet.plugin), allocate(n.kubelet.plugin, ids)}
	var all [2]time.Duration
	var more times
	for i := range pairs {
		var spent [2]time.Duration
		for at := range calls {
			k := (i + at) % len(calls) // who comes first takes turns
			before, err := cpu(n.agent.Process.Pid)
			if err != nil {
				return err
			}
			if _, err := interleaved(batch, calls[k]); err != nil {
				return err
			}
			after, err := cpu(n.agent.Process.Pid)
			if err != nil {
				return err
			}
			spent[k] = after - before
			all[k] += spent[k]
		}
		more = append(more, spent[1]-spent[0])
	}
	each := func(k int) float64 { return us(all[k]) / batch / pairs }
	note("the agent's own time on average: an empty call %.2f us, Allocate %.2f us", each(0), each(1))
	row("Allocate, the agent's processor time above an empty call's"+how, us(more.at(0.5))/batch, "us", 5)
	return nil
}

func (n *node) preferred(ids []string) error {
	for _, size := range []int{2, 4} {
		took, err := interleaved(batch*batches/10, empty(n.kubelet.plugin), prefer(n.kubelet.plugin, ids, size))
		if err != nil {
			return err
		}
		note("GetPreferredAllocation, %d of 8: %v; empty call %v", size, took[1], took[0])
		row(fmt.Sprintf("GetPreferredAllocation by a grpc-go client, %d of 8, p50 above an empty call's", size),
			ms(took[1].at(0.5))-ms(took[0].at(0.5)), "ms", 0.1)
	}
	return nil
}

// ---- loads ----

func (n *node) allocates(ids []string, count int) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	var failure atomic.Value
	one := allocate(n.kubelet.plugin, ids)
	for range inFlight {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				if err := one(int(i)); err != nil {
					failure.Store(err)
					return
				}
			}
		}()
	}
	wait.Wait()
	if err, ok := failure.Load().(error); ok {
		return err
	}
	return nil
}

func (n *node) restarts(count int) (times, error) {
	var took times
	for range count {
		n.kubelet.stop()
		began := time.Now()
		if err := n.kubelet.start(); err != nil {
			return nil, err
		}
		if err := n.kubelet.served(cards); err != nil {
			return nil, err
		}
		took = append(took, n.kubelet.listed.Sub(began))
	}
	return took, nil
}

func loaded(n *node, ids []string) error {
	if err := n.allocates(ids, many/warmPart); err != nil {
		return err
	}
	before, err := n.warm()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := n.allocates(ids, many-many/warmPart); err != nil {
		return err
	}
	note("%d Allocates, %d in flight: %v", many-many/warmPart, inFlight, time.Since(began).Round(time.Millisecond))
	if err := n.grown(before, "after 1,000,000 Allocates"); err != nil {
		return err
	}
	first, err := n.restarts(registrations / warmPart)
	if err != nil {
		return err
	}
	if before, err = n.warm(); err != nil {
		return err
	}
	took, err := n.restarts(registrations - registrations/warmPart)
	if err != nil {
		return err
	}
	if err := n.grown(before, "after 1,000 registrations more"); err != nil {
		return err
	}
	took = append(took, first...)
	note("kubelet.sock accepts to list taken in: %v", took)
	row("kubelet.sock accepts to device list taken in, longest of 1,000", ms(took.at(1)), "ms", 1000)
	return nil
}

// ---- faults ----

func (n *node) sick() int {
	count := 0
	for _, healthy := range n.kubelet.healthy {
		if !healthy {
			count++
		}
	}
	return count
}

func (n *node) fatalXID(each int, how string) error {
	var took times
	for i := range cards {
		began := time.Now()
		if err := n.fake("say", "xid", strconv.Itoa(i), "79"); err != nil {
			return err
		}
		if err := n.kubelet.comes(5*time.Second, "the card's end", func() bool { return n.sick() == (i+1)*each }); err != nil {
			return err
		}
		took = append(took, n.kubelet.listed.Sub(began))
	}
	note("fatal XID, the program that says so included, to list: %v", took)
	row("fatal XID to ListAndWatch message, longest of 8"+how, ms(took.at(1)), "ms", 100)
	return nil
}

// hang lets one card's call never come back, deaf to all but SIGKILL, while Pods come. Looks are close together here, so
// the card is asked, and its deadline runs, from when the call is made to hang; what is between counts against us.
func (n *node) hang(ids []string) error {
	before := n.children()
	end := make(chan struct{})
	result := make(chan error, 1)
	var took times
	go func() {
		one := allocate(n.kubelet.plugin, ids[1:])
		for i := 0; ; i++ {
			select {
			case <-end:
				result <- nil
				return
			default:
			}
			began := time.Now()
			if err := one(i % 4); err != nil {
				result <- fmt.Errorf("an Allocate while the driver hangs: %w", err)
				return
			}
			took = append(took, time.Since(began))
			time.Sleep(time.Millisecond)
		}
	}()
	began := time.Now()
	if err := n.fake("say", "hang", "uuid", "0", "deaf"); err != nil {
		return err
	}
	var replaced time.Duration
	err := until(20*time.Second, "another child", func() bool {
		now := n.children()
		gone, come := 0, 0
		for _, pid := range before {
			if !slices.Contains(now, pid) {
				gone++
			}
		}
		for _, pid := range now {
			if !slices.Contains(before, pid) {
				come++
			}
		}
		replaced = time.Since(began)
		return gone > 0 && come > 0
	})
	close(end)
	if err := <-result; err != nil {
		return err
	}
	if err != nil {
		return err
	}
	note("hung: another child after %v; Allocate meanwhile %v", replaced.Round(time.Millisecond), took)
	row("hung driver: its child is replaced, after its deadline of 4 s", ms(replaced-cardDeadline), "ms", 1000)
	row("hung driver: longest Allocate meanwhile", ms(took.at(1)), "ms", 100)
	return nil
}

func (n *node) polled() (float64, error) { return n.metric(`fairlead_gpu_calls_total{call="card"`) }

// looks has the cards looked at all the time.
func looks(n *node) error {
	n.stop()
	if err := n.start("--look-every=1ms"); err != nil {
		return err
	}
	if err := n.kubelet.served(cards); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(n.kubelet.healthy))
	var done float64
	var before used
	began := time.Now()
	for _, count := range []float64{polls / warmPart, polls} {
		for done < count {
			time.Sleep(100 * time.Millisecond)
			var err error
			if done, err = n.polled(); err != nil {
				return err
			}
			if time.Since(began) > 10*time.Minute {
				return fmt.Errorf("%.0f looks in ten minutes", done)
			}
		}
		if count < polls {
			var err error
			if before, err = n.used(); err != nil {
				return err
			}
		}
	}
	note("%.0f looks at a card: %v", done, time.Since(began).Round(time.Millisecond))
	if err := n.grown(before, "after 100,000 looks at a card"); err != nil {
		return err
	}
	return n.hang(ids)
}

// ---- other nodes ----

// shares is a node whose cards are parted in ten.
func shares(n *node) error {
	const each = 10
	config := n.path("config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil,
		"version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n", each), 0o600); err != nil {
		return err
	}
	n.stop()
	if err := n.start("--config-file=" + config); err != nil {
		return err
	}
	if err := n.kubelet.served(cards * each); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(n.kubelet.healthy))
	for _, size := range []int{8, 40} {
		took, err := interleaved(batch*batches/10, prefer(n.kubelet.plugin, ids, size))
		if err != nil {
			return err
		}
		note("GetPreferredAllocation, %d of 8 x 10 shares: %v", size, took[0])
		row(fmt.Sprintf("GetPreferredAllocation by a grpc-go client, %d of 8 GPUs x 10 shares, p99", size),
			ms(took[0].at(0.99)), "ms", 2)
	}
	return nil
}

// mps is a node whose cards are shared by MPS.
func mps(n *node) error {
	const each = 10
	if err := n.startShared(each); err != nil {
		return err
	}
	if err := n.hooked(); err != nil {
		return err
	}
	if _, err := n.memory("at its start, MPS on"); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(n.kubelet.healthy))
	took, err := interleaved(batch*batches/10, empty(n.kubelet.plugin), allocate(n.kubelet.plugin, ids),
		prefer(n.kubelet.plugin, ids, 8))
	if err != nil {
		return err
	}
	note("MPS on: empty call %v; Allocate %v; GetPreferredAllocation, 8 of 8 x 10 shares: %v", took[0], took[1], took[2])
	row("Allocate by a grpc-go client, MPS on, p50 of an empty call's on the same socket",
		us(took[1].at(0.5))/us(took[0].at(0.5)), "x", 1.1)
	row("GetPreferredAllocation by a grpc-go client, 8 of 8 GPUs x 10 shares of MPS, p99", ms(took[2].at(0.99)), "ms", 2)
	if err := n.handler(ids, ", MPS on"); err != nil {
		return err
	}
	if err := n.allocates(ids, many/warmPart); err != nil {
		return err
	}
	if _, err := n.memory("after 100,000 Allocates, MPS on"); err != nil {
		return err
	}
	return n.fatalXID(each, ", MPS on")
}

// rest waits until the agent does no more than it does day by day: it asks a young kubelet more often, for
// FL_HOLDERS_GRACE, and GPUs that are new for ten seconds.
func (n *node) rest() {
	time.Sleep(max(12*time.Second-time.Since(n.began), 32*time.Second-time.Since(n.kubelet.began)))
}

// idle measures both nodes over the same time.
func idle(plain, shared *node, span time.Duration) error {
	const each = 10
	if err := plain.start(); err != nil {
		return err
	}
	if err := plain.kubelet.served(cards); err != nil {
		return err
	}
	if err := shared.startShared(each); err != nil {
		return err
	}
	plain.rest()
	shared.rest()
	nodes := []*node{plain, shared}
	var pids [2][]int
	var before [2]time.Duration
	for i, n := range nodes {
		var err error
		pids[i] = append(n.children(), n.agent.Process.Pid)
		if before[i], err = cpu(pids[i]...); err != nil {
			return err
		}
	}
	time.Sleep(span)
	for i, how := range []string{"", ", MPS on"} {
		after, err := cpu(pids[i]...)
		if err != nil {
			return err
		}
		note("idle for %v%s: %v of processor time", span, how, after-before[i])
		row(fmt.Sprintf("agent and its children, idle over %.0f s%s", span.Seconds(), how),
			100*(after-before[i]).Seconds()/span.Seconds(), "% of a core", 0.02)
	}
	return nil
}

func start(n *node) error { return n.startTimes() }

func quiet(n *node) error {
	if err := n.start(); err != nil {
		return err
	}
	if err := n.kubelet.served(cards); err != nil {
		return err
	}
	if _, err := n.memory("at its start"); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(n.kubelet.healthy))
	if err := n.besidePeer(ids); err != nil {
		return err
	}
	if _, err := n.memory("after 40,000 calls"); err != nil {
		return err
	}
	if err := n.handler(ids, ""); err != nil {
		return err
	}
	if err := n.preferred(ids); err != nil {
		return err
	}
	if err := loaded(n, ids); err != nil {
		return err
	}
	return n.fatalXID(1, "")
}

// one runs a part on a node of its own.
func one(n *node, run func(n *node) error, err error) error {
	if err == nil {
		err = run(n)
		n.end()
	}
	if err != nil {
		said, _ := os.ReadFile(n.path("log"))
		return fmt.Errorf("%w\n%s", err, said[max(0, len(said)-4000):])
	}
	return nil
}

func bench(build, topology string, span time.Duration, program string, parts []string) error {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	api, err := serveAPI(kubeconfig)
	if err != nil {
		return err
	}
	wanted := func(part string) bool { return len(parts) == 0 || slices.Contains(parts, part) }
	// The one that rests has a kubelet that is no longer young by then.
	resting, err := newNode(build, topology, filepath.Join(dir, "idle"), kubeconfig)
	if err != nil {
		return err
	}
	defer resting.end()
	shared, err := newNode(build, topology, filepath.Join(dir, "idle-mps"), kubeconfig)
	if err != nil {
		return err
	}
	defer shared.end()
	for _, part := range []struct {
		name string
		run  func(n *node) error
	}{{"start", start}, {"quiet", quiet}, {"nvidia", nvidia(program)}, {"shares", shares}, {"mps", mps}, {"looks", looks},
		{"labels", labels(api)}, {"mig", layouts(api)}, {"metrics", telemetry(span)}} {
		if !wanted(part.name) {
			continue
		}
		gpus := topology
		if part.name == "mig" || part.name == "metrics" { // their mode changes without a reset, and they count profiling metrics
			gpus = filepath.Join(filepath.Dir(topology), "dgx-h100.yaml")
		}
		n, err := newNode(build, gpus, filepath.Join(dir, part.name), kubeconfig)
		if err := one(n, part.run, err); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if !wanted("idle") {
		return nil
	}
	return one(resting, func(n *node) error { return idle(n, shared, span) }, nil)
}
