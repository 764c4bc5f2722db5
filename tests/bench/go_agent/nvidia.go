package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// NVIDIA's device plugin has its place compiled in.
const pluginFolder = "/var/lib/kubelet/device-plugins"

const turns = 7

// The rows about it, in their order.
var besideNVIDIA = [...]string{
	"process start to registered, p50 of NVIDIA's plugin's",
	"Pss at its start, of NVIDIA's plugin's",
	"Allocate by a grpc-go client, p50 of NVIDIA's plugin's",
	"Allocate by a grpc-go client, p99 of NVIDIA's plugin's",
	"GetPreferredAllocation, 2 of 8, p50 of NVIDIA's plugin's",
	"GetPreferredAllocation, 4 of 8, p50 of NVIDIA's plugin's",
	"Pss after 40,000 calls, of NVIDIA's plugin's",
}

// absent says instead of each row that there is nothing to be beside. What a row is of has a bar of its own elsewhere.
func absent(why string) {
	note("NVIDIA's plugin is not measured: %s", why)
	for _, name := range besideNVIDIA {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.Encode(map[string]any{"name": name, "value": "no peer", "unit": "x", "bar": "<= 0.999", "ok": true})
	}
}

// contain becomes a program, once a line comes in, that finds the folder where the kubelet has its device plugins. It is in
// a mount namespace that is its own.
func contain(folder, program string, args []string) error {
	if err := syscall.Mount("none", "/var/lib", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("cover /var/lib: %w", err)
	}
	if err := os.MkdirAll(pluginFolder, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(folder, pluginFolder, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", pluginFolder, err)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}

// startNVIDIA begins NVIDIA's plugin on the node, in place of an agent.
func (n *node) startNVIDIA(program string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	n.agent = exec.Command(self, "contain", n.path("kubelet", "device-plugins"), program, "--device-discovery-strategy=nvml")
	n.agent.Env = append(os.Environ(), "LD_LIBRARY_PATH="+n.path("fake", "root", driver))
	n.agent.Stderr = n.log
	n.agent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Unshareflags: syscall.CLONE_NEWNS}
	in, err := n.agent.StdinPipe()
	if err != nil {
		return err
	}
	out, err := n.agent.StdoutPipe()
	if err != nil {
		return err
	}
	if err := n.agent.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		return fmt.Errorf("no place for NVIDIA's plugin: %q, %w", line, err)
	}
	go io.Copy(io.Discard, lines)
	n.kubelet.forget()
	n.began = time.Now()
	_, err = io.WriteString(in, "\n")
	return err
}

// registers returns how long it took from the start of a plugin until it was registered, and leaves it running.
func (n *node) registers(start func() error) (time.Duration, error) {
	n.stop()
	if err := start(); err != nil {
		return 0, err
	}
	if err := n.kubelet.served(cards); err != nil {
		return 0, err
	}
	return n.kubelet.registered.Sub(n.began), nil
}

// nvidia measures NVIDIA's own plugin on a node like ours, in turns with ours.
func nvidia(program string) func(n *node) error {
	return func(ours *node) error {
		if program == "" {
			absent("it could not be built")
			return nil
		}
		theirs, err := newNode(ours.build, ours.topology, filepath.Join(ours.dir, "nvidia"), ours.kubeconfig)
		if err != nil {
			return err
		}
		err = besides(ours, theirs, program)
		theirs.end()
		if err != nil {
			said, _ := os.ReadFile(theirs.path("log"))
			err = fmt.Errorf("%w\n%s", err, said[max(0, len(said)-4000):])
		}
		return err
	}
}

func besides(ours, theirs *node, program string) error {
	var starts [2]times
	for range turns {
		for k, start := range []func() error{
			func() error { return ours.start() }, func() error { return theirs.startNVIDIA(program) }} {
			took, err := []*node{ours, theirs}[k].registers(start)
			if err != nil {
				return err
			}
			starts[k] = append(starts[k], took)
		}
		if err := until(5*time.Second, "both children", ours.settled); err != nil {
			return err
		}
	}
	note("process start to registered: ours %v; NVIDIA's %v", starts[0], starts[1])
	ratio := func(i int, ours, theirs float64) { row(besideNVIDIA[i], ours/theirs, "x", 0.999) }
	ratio(0, us(starts[0].at(0.5)), us(starts[1].at(0.5)))
	if err := memoryBeside(ours, theirs, 1); err != nil {
		return err
	}
	took, err := inTurns(ours.kubelet.client(), theirs.kubelet.client())
	if err != nil {
		return err
	}
	for k, who := range []string{"ours", "NVIDIA's"} {
		note("%s: empty call %v; Allocate %v", who, took[k][0], took[k][1])
	}
	ratio(2, us(took[0][1].at(0.5)), us(took[1][1].at(0.5)))
	ratio(3, us(took[0][1].at(0.99)), us(took[1][1].at(0.99)))
	for i, size := range []int{2, 4} {
		a, b := ours.kubelet.client(), theirs.kubelet.client()
		took, err := interleaved(batch*batches/10, prefer(a.plugin, a.ids, size), prefer(b.plugin, b.ids, size))
		if err != nil {
			return err
		}
		note("GetPreferredAllocation, %d of 8: ours %v; NVIDIA's %v", size, took[0], took[1])
		ratio(4+i, us(took[0].at(0.5)), us(took[1].at(0.5)))
	}
	return memoryBeside(ours, theirs, 6)
}

func memoryBeside(ours, theirs *node, i int) error {
	time.Sleep(settle)
	a, err := ours.used()
	if err != nil {
		return err
	}
	b, err := theirs.used()
	if err != nil {
		return err
	}
	note("Pss: ours %.1f MiB, NVIDIA's %.1f MiB", a.pss, b.pss)
	row(besideNVIDIA[i], a.pss/b.pss, "x", 0.999)
	return nil
}

// client is a plugin as the kubelet has it, and the devices that it listed.
type client struct {
	plugin api.DevicePluginClient
	ids    []string
}

func (k *kubelet) client() client {
	k.mu.Lock()
	defer k.mu.Unlock()
	return client{k.plugin, slices.Sorted(maps.Keys(k.healthy))}
}
