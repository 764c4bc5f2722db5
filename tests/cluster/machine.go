package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The test network. It exists only inside network namespaces, so all clusters use the same addresses.
const (
	lanAddress     = "10.77.0.1" // the switch, where the tests and a person's kubectl sit
	controlAddress = "10.77.0.2" // the API server
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
)

func nodeAddress(number int) string { return fmt.Sprintf("10.77.0.%d", 10+number) }
func podSubnet(number int) string   { return fmt.Sprintf("10.244.%d.0/24", number) }
func podGateway(number int) string  { return fmt.Sprintf("10.244.%d.1", number) }

// Machine is one of the pretended computers of a cluster: a node, the one with the control plane
// ("control"), or the one that the tests sit at ("lan").
type Machine struct {
	Name    string
	Address string

	cluster   *Cluster
	ownMounts bool
	probing   sync.Once
	probe     *http.Client
}

func (m *Machine) netFile() string   { return filepath.Join(m.cluster.dir, "ns", m.Name+".net") }
func (m *Machine) mountFile() string { return filepath.Join(m.cluster.dir, "ns", m.Name+".mnt") }
func (m *Machine) cgroup() string    { return m.cluster.cgroup() + "/" + m.Name }

func (m *Machine) namespaces() namespaces {
	n := namespaces{net: m.netFile()}
	if m.ownMounts {
		n.mount = m.mountFile()
	}
	return n
}

// Do runs f on a thread inside the machine: files that it opens are the machine's files,
// sockets are on the machine's network. f must not start goroutines that expect the same.
func (m *Machine) Do(f func() error) error { return m.namespaces().do(f) }

// Command is a program that will run inside a machine. It is used like an exec.Cmd.
type Command struct {
	*exec.Cmd
	machine *Machine
	cgroup  string
}

// Command prepares a program to run inside the machine. It ends with the machine, at the latest.
func (m *Machine) Command(ctx context.Context, name string, args ...string) *Command {
	return m.command(ctx, "commands", name, args...)
}

func (m *Machine) command(ctx context.Context, group, name string, args ...string) *Command {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Args[0] = name
	// What is the tests' own would be reported by Fairlead's programs, which take such names for misspelt options.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(each string) bool { return strings.HasPrefix(each, "FAIRLEAD_") })
	return &Command{Cmd: cmd, machine: m, cgroup: m.cgroup() + "/" + group}
}

// Start starts the program. A name without a slash is looked up inside the machine.
func (c *Command) Start() error {
	h := c.machine.cluster.hierarchies
	if err := h.makeProcessCgroup(c.cgroup); err != nil {
		return err
	}
	group, err := os.Open(filepath.Join(h.unified, c.cgroup))
	if err != nil {
		return err
	}
	defer group.Close()
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	c.SysProcAttr.UseCgroupFD = true
	c.SysProcAttr.CgroupFD = int(group.Fd())
	return c.machine.Do(func() error {
		c.Path, c.Err = exec.LookPath(c.Args[0])
		if c.Dir == "" && c.machine.ownMounts {
			c.Dir = "/"
		}
		return c.Cmd.Start()
	})
}

// Run starts the program and waits for its end. An error carries what the program wrote to its stderr.
func (c *Command) Run() error {
	var stderr bytes.Buffer
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	err := c.Start()
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s on %s: %w\n%s", strings.Join(c.Args, " "), c.machine.Name, err, stderr.String())
	}
	return nil
}

// Output runs the program and returns what it wrote to its stdout.
func (c *Command) Output() (string, error) {
	var stdout bytes.Buffer
	c.Stdout = &stdout
	err := c.Run()
	return stdout.String(), err
}

// connectMachines makes every machine's network and plugs it into the switch.
// The switch also routes between the machines' Pods.
func (c *Cluster) connectMachines(ctx context.Context) error {
	if err := makeNetwork(c.LAN.netFile()); err != nil {
		return err
	}
	if err := c.LAN.ip(ctx,
		"link set lo up",
		"link add switch type bridge",
		"addr add "+lanAddress+"/24 dev switch",
		"link set switch up"); err != nil {
		return err
	}
	if err := c.LAN.forwardPackets(); err != nil {
		return err
	}
	for _, machine := range c.machines() {
		if err := machine.connect(ctx); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := c.LAN.ip(ctx, "route add "+podSubnet(node.Number)+" via "+node.Address); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the machine's network: a cable with one end in the switch and the other named eth0.
func (m *Machine) connect(ctx context.Context) error {
	if err := makeNetwork(m.netFile()); err != nil {
		return err
	}
	if err := m.cluster.LAN.ip(ctx,
		"link add "+m.cable()+" type veth peer name eth0 netns "+m.netFile(),
		"link set "+m.cable()+" master switch up"); err != nil {
		return err
	}
	if err := m.ip(ctx,
		"link set lo up",
		"addr add "+m.Address+"/24 dev eth0",
		"link set eth0 up",
		"route add default via "+lanAddress); err != nil {
		return err
	}
	return m.forwardPackets()
}

// disconnect takes the machine's network away for good, as a reboot does.
func (m *Machine) disconnect(ctx context.Context) error {
	if err := m.cluster.LAN.ip(ctx, "link del "+m.cable()); err != nil {
		return err
	}
	return unix.Unmount(m.netFile(), unix.MNT_DETACH)
}

// CutNetwork pulls the machine's network cable.
func (m *Machine) CutNetwork(ctx context.Context) error {
	return m.cluster.LAN.ip(ctx, "link set "+m.cable()+" down")
}

// HealNetwork plugs the machine's network cable in again.
func (m *Machine) HealNetwork(ctx context.Context) error {
	return m.cluster.LAN.ip(ctx, "link set "+m.cable()+" up")
}

func (m *Machine) cable() string { return "to-" + m.Name }

// ip runs lines of the ip command in the machine's network.
func (m *Machine) ip(ctx context.Context, lines ...string) error {
	network := &Machine{Name: m.Name, cluster: m.cluster} // with the host's files
	cmd := network.Command(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	return cmd.Run()
}

func (m *Machine) forwardPackets() error {
	return namespaces{net: m.netFile()}.do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})
}
