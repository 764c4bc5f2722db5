// The CDI library that containerd and CRI-O use reads the files that our agent writes, for each topology of the fake
// driver, and puts each of their devices into a container's configuration.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

const kind = "k8s.device-plugin.nvidia.com/gpu"

type tested struct {
	topology string
	cards    int
	words    []string // said before the agent looks
	names    []string // that must be there beside the cards'
}

var topologies = []tested{
	{topology: "dgx-a100.yaml", cards: 8},
	{topology: "dgx-h100.yaml", cards: 8},
	{topology: "dgx-h200.yaml", cards: 8},
	{topology: "gb200-nvl72.yaml", cards: 4},
	{topology: "two-t4.yaml", cards: 2},
	{topology: "mixed.yaml", cards: 7},
}

// machine is a node of its own with an agent on it.
type machine struct {
	folder  string
	program string
	agent   *exec.Cmd
}

func (m *machine) path(parts ...string) string {
	return filepath.Join(append([]string{m.folder}, parts...)...)
}

func run(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return nil
}

func (m *machine) start(fakectl, library, topology string, words []string) error {
	if err := run(fakectl, "up", m.path("node"), topology); err != nil {
		return err
	}
	for _, word := range words {
		if err := run(fakectl, append([]string{"say", m.path("node")}, strings.Fields(word)...)...); err != nil {
			return err
		}
	}
	if err := run(fakectl, "tree", m.path("node"), library); err != nil {
		return err
	}
	for _, folder := range []string{"cdi", "state", "kubelet/device-plugins", "kubelet/pod-resources"} {
		if err := os.MkdirAll(m.path(folder), 0o755); err != nil {
			return err
		}
	}
	root := m.path("node", "root")
	m.agent = exec.Command(m.program, "node", "--node-name=n", "--driver-root="+root, "--sysfs="+root+"/sys",
		"--proc="+root+"/proc", "--kubelet-dir="+m.path("kubelet"), "--cdi-dir="+m.path("cdi"),
		"--runtime-socket="+m.path("none.sock"), "--state-dir="+m.path("state"), "--listen=127.0.0.1:0",
		"--gds-enabled=true", "--mofed-enabled=true", "--gdrcopy-enabled=true", "--imex-channel-ids=[0]")
	m.agent.Env = []string{"HOME=" + m.folder, "KUBECONFIG="}
	log, err := os.Create(m.path("log"))
	if err != nil {
		return err
	}
	defer log.Close()
	m.agent.Stdout, m.agent.Stderr = log, log
	return m.agent.Start()
}

func (m *machine) stop() {
	if m.agent != nil && m.agent.Process != nil {
		_ = m.agent.Process.Kill()
		_ = m.agent.Wait()
	}
}

// file is there when its rename is done: what is found is whole.
func (m *machine) file(ctx context.Context, kind string) (string, error) {
	name := m.path("cdi", strings.ReplaceAll(kind, "/", "-")+".json")
	for {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(m.path("log"))
			return "", fmt.Errorf("no %s: %s", name, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func container() *oci.Spec {
	return &oci.Spec{Version: "1.2.0", Process: &oci.Process{Args: []string{"true"}}, Linux: &oci.Linux{}}
}

// inject puts one device into a container and says which cards' nodes came with it.
func inject(cache *cdi.Cache, name string) ([]string, *oci.Spec, error) {
	spec := container()
	if missing, err := cache.InjectDevices(spec, kind+"="+name); err != nil {
		return nil, nil, fmt.Errorf("%s: %v: %w", name, missing, err)
	}
	var cards []string
	common := map[string]bool{"/dev/nvidiactl": false, "/dev/nvidia-uvm": false, "/dev/nvidia-uvm-tools": false}
	for _, device := range spec.Linux.Devices {
		if _, ok := common[device.Path]; ok {
			common[device.Path] = true
		} else if strings.TrimLeft(strings.TrimPrefix(device.Path, "/dev/nvidia"), "0123456789") == "" {
			cards = append(cards, device.Path)
		}
		if device.Type != "c" || device.Major == 0 {
			return nil, nil, fmt.Errorf("%s: %s has no numbers", name, device.Path)
		}
	}
	for path, ok := range common {
		if !ok {
			return nil, nil, fmt.Errorf("%s: no %s", name, path)
		}
	}
	for _, rule := range spec.Linux.Resources.Devices {
		if !rule.Allow || rule.Major == nil || rule.Minor == nil {
			return nil, nil, fmt.Errorf("%s: a rule for more than one device: %+v", name, rule)
		}
	}
	for _, mount := range spec.Mounts {
		if _, err := os.Stat(mount.Source); err != nil {
			return nil, nil, err
		}
	}
	return cards, spec, nil
}

// beside is what containers get beside their cards. Its device nodes come when the agent is long there: it is told by
// the directories in which they lie, and not by the clock, which takes a minute.
func beside(m *machine) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	vendor := strings.TrimSuffix(kind, "gpu")
	for i, extra := range []struct{ name, node string }{
		{"gds=all", "/dev/nvidia-fs0"},
		{"gdrcopy=all", "/dev/gdrdrv"},
		{"mofed=all", "/dev/infiniband/uverbs0"},
		{"imex-channel=0", "/dev/nvidia-caps-imex-channels/channel0"},
	} {
		node := m.path("node", "root", extra.node)
		if err := os.MkdirAll(filepath.Dir(node), 0o755); err != nil {
			return err
		}
		if err := syscall.Mknod(node, syscall.S_IFCHR|0o666, 195<<8|(200+i)); err != nil && err != syscall.EEXIST {
			return err
		}
		class, _, _ := strings.Cut(extra.name, "=")
		if _, err := m.file(ctx, vendor+class); err != nil {
			return err
		}
		cache, err := cdi.NewCache(cdi.WithSpecDirs(m.path("cdi")), cdi.WithAutoRefresh(false))
		if err != nil {
			return err
		}
		if errs := cache.GetErrors(); len(errs) > 0 {
			return fmt.Errorf("the library says: %v", errs)
		}
		spec := container()
		if missing, err := cache.InjectDevices(spec, vendor+extra.name); err != nil {
			return fmt.Errorf("%s: %v: %w", extra.name, missing, err)
		}
		if len(spec.Linux.Devices) != 1 || spec.Linux.Devices[0].Path != extra.node {
			return fmt.Errorf("%s brings %+v, and not %s", extra.name, spec.Linux.Devices, extra.node)
		}
	}
	return nil
}

func check(m *machine, fakectl, library, topologies string, t tested) error {
	if err := m.start(fakectl, library, filepath.Join(topologies, t.topology), t.words); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	file, err := m.file(ctx, kind)
	if err != nil {
		return err
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(m.path("cdi")), cdi.WithAutoRefresh(false))
	if err != nil {
		return err
	}
	if errs := cache.GetErrors(); len(errs) > 0 {
		return fmt.Errorf("the library says: %v", errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if strings.Contains(string(text), "metadata") || !json.Valid(text) {
		return fmt.Errorf("a file of ours has what CDI does not know: %s", text)
	}
	byCard := map[string][]string{}
	for _, qualified := range cache.ListDevices() {
		name, ours := strings.CutPrefix(qualified, kind+"=")
		if !ours {
			continue
		}
		cards, spec, err := inject(cache, name)
		if err != nil {
			return err
		}
		want := 1
		if name == "all" {
			want = t.cards
		}
		if len(cards) != want {
			return fmt.Errorf("%s has %v, and not %d GPUs", name, cards, want)
		}
		if name != "all" {
			byCard[cards[0]] = append(byCard[cards[0]], name)
		}
		if !slices.Contains(spec.Process.Env, "NVIDIA_VISIBLE_DEVICES=void") {
			return fmt.Errorf("%s: environment %v", name, spec.Process.Env)
		}
		if err := linked(spec); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(byCard) != t.cards {
		return fmt.Errorf("%d GPUs have names, not %d", len(byCard), t.cards)
	}
	for card, names := range byCard {
		if len(names) != 2 || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "GPU-") }) {
			return fmt.Errorf("%s is called %v: a UUID and an index are wanted", card, names)
		}
	}
	return beside(m)
}

// linked: a program of ours that is there, and that can be run, makes the link by which programs open libcuda.
func linked(spec *oci.Spec) error {
	if spec.Hooks == nil {
		return fmt.Errorf("no hook")
	}
	for _, hook := range spec.Hooks.CreateContainer {
		if !slices.ContainsFunc(hook.Args, func(arg string) bool {
			return strings.HasPrefix(arg, "libcuda.so.") && strings.HasSuffix(arg, "/libcuda.so.1")
		}) {
			continue
		}
		info, err := os.Stat(hook.Path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			return fmt.Errorf("the hook %s is not executable: %v", hook.Path, info.Mode())
		}
		return nil
	}
	return fmt.Errorf("no hook links libcuda.so.1: %v", spec.Hooks.CreateContainer)
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: cdi FAIRLEAD FAKECTL LIBRARY TOPOLOGIES")
		os.Exit(2)
	}
	failed := false
	fmt.Printf("1..%d\n", len(topologies))
	for i, t := range topologies {
		folder, err := os.MkdirTemp("", "fairlead-cdi-")
		m := &machine{folder: folder, program: os.Args[1]}
		if err == nil {
			err = check(m, os.Args[2], os.Args[3], os.Args[4], t)
		}
		m.stop()
		_ = os.RemoveAll(folder)
		verdict := "ok"
		if err != nil {
			verdict, failed = "not ok", true
			fmt.Printf("# %s\n", strings.ReplaceAll(err.Error(), "\n", "\n# "))
		}
		fmt.Printf("%s %d - %s\n", verdict, i+1, t.topology)
	}
	if failed {
		os.Exit(1)
	}
}
