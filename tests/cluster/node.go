package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Node is a machine with containerd and a kubelet.
//
// It sees the files of the host with these exceptions. /run, /dev, /var/lib and /var/log are its
// own; of /etc, /usr and /opt it has the host's, and what it writes there stays its own. Its
// /usr/local/bin holds the programs of the cluster. /run is empty after a reboot, the rest is kept.
type Node struct {
	*Machine
	Number     int
	Containerd *Part
	Kubelet    *Part
	Services   []*Part // those of Options.Services; a test may change them, and the next boot follows

	mounts []Mount
}

// Mount puts something of the host into a node.
type Mount struct {
	Source   string // a file or folder of the host, or of the cluster's own folder (no leading /), or "" for an empty disk
	Target   string // where the node sees it; made if it is not there
	Size     int64  // an empty disk's size in bytes
	ReadOnly bool
}

const bootIDFile = "/proc/sys/kernel/random/boot_id"

func (c *Cluster) newNode(number int) *Node {
	name := fmt.Sprintf("node-%d", number)
	node := &Node{
		Machine: &Machine{Name: name, Address: nodeAddress(number), cluster: c, ownMounts: true},
		Number:  number,
	}
	if c.options.Mounts != nil {
		node.mounts = c.options.Mounts(number)
	}
	node.Containerd = c.part(node.Machine, "containerd", node.containerdReady)
	node.Containerd.program = "containerd" // in the node's own /usr/local/bin
	node.Kubelet = c.part(node.Machine, "kubelet", node.kubeletReady,
		"--config=/etc/kubernetes/kubelet.yaml",
		"--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--hostname-override="+name,
		"--node-ip="+node.Address)
	node.Kubelet.program = "kubelet"
	return node
}

// disk is the folder in which the host keeps what is the node's own.
func (n *Node) disk(name string) string {
	return filepath.Join(n.cluster.dir, "nodes", n.Name, name)
}

// Path is where the host sees a file that the node has under /run, /dev, /var/lib or /var/log.
func (n *Node) Path(inside string) string {
	for _, own := range []struct{ prefix, disk string }{
		{"/run", "run"}, {"/var/run", "run"}, {"/dev", "dev"}, {"/var/lib", "lib"}, {"/var/log", "log"},
	} {
		if rest, ok := strings.CutPrefix(inside, own.prefix); ok && (rest == "" || rest[0] == '/') {
			return n.disk(own.disk) + rest
		}
	}
	panic("the host cannot see " + inside + " of a node; use Do or a Command")
}

// WriteFile writes a file as the node sees it and makes the folders above it.
func (n *Node) WriteFile(path string, content []byte, mode os.FileMode) error {
	return n.Do(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, mode)
	})
}

// prepare makes the node's disks and writes what a real node has under /etc.
func (n *Node) prepare() error {
	for _, name := range []string{"run", "lib/kubelet", "lib/containerd", "log", "dev", "etc", "etc.work",
		"usr", "usr.work", "opt", "opt.work"} {
		if err := os.MkdirAll(n.disk(name), 0o755); err != nil {
			return err
		}
	}
	serving, err := n.cluster.authority.issue(n.Name, nil, n.Name, n.Address)
	if err != nil {
		return err
	}
	etc := n.disk("etc")
	for _, name := range []string{"kubernetes", "containerd", "cni/net.d", "cdi"} {
		if err := os.MkdirAll(filepath.Join(etc, name), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		makeDevices(n.disk("dev")),
		writeSecret(filepath.Join(etc, "kubernetes/ca.crt"), n.cluster.authority.pem),
		serving.write(filepath.Join(etc, "kubernetes"), "kubelet"),
		n.cluster.writeKubeconfig(filepath.Join(etc, "kubernetes/kubelet.conf"), "system:node:"+n.Name, "system:nodes"),
		os.WriteFile(filepath.Join(etc, "kubernetes/kubelet.yaml"), n.kubeletConfig(), 0o644),
		os.WriteFile(filepath.Join(etc, "containerd/config.toml"), []byte(containerdConfig), 0o644),
		os.WriteFile(filepath.Join(etc, "cni/net.d/10-pods.conflist"), n.podNetwork(), 0o644),
		os.WriteFile(filepath.Join(etc, "hostname"), []byte(n.Name+"\n"), 0o644),
		os.WriteFile(filepath.Join(etc, "machine-id"), fmt.Appendf(nil, "%032x\n", n.Number), 0o644))
}

// makeDevices gives the node the devices that every machine has.
func makeDevices(dev string) error {
	for _, device := range []struct {
		name         string
		major, minor uint32
	}{
		{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9},
		{"kmsg", 1, 11}, {"tty", 5, 0}, {"fuse", 10, 229},
	} {
		path := filepath.Join(dev, device.name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(device.major, device.minor))); err != nil {
			return fmt.Errorf("make the device %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // whatever the umask
			return err
		}
	}
	for _, folder := range []string{"pts", "shm", "mqueue"} {
		if err := os.Mkdir(filepath.Join(dev, folder), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Chmod(filepath.Join(dev, "shm"), 0o1777),
		os.Symlink("pts/ptmx", filepath.Join(dev, "ptmx")),
		os.Symlink("/proc/self/fd", filepath.Join(dev, "fd")),
		os.Symlink("/proc/self/fd/0", filepath.Join(dev, "stdin")),
		os.Symlink("/proc/self/fd/1", filepath.Join(dev, "stdout")),
		os.Symlink("/proc/self/fd/2", filepath.Join(dev, "stderr")))
}

// powerOn makes the node's cgroup and its view of the files: what a machine has before any service starts.
func (n *Node) powerOn() error {
	if err := n.cluster.hierarchies.makeNodeCgroup(n.cgroup()); err != nil {
		return err
	}
	if err := os.WriteFile(n.disk("boot-id"), newBootID(), 0o444); err != nil {
		return err
	}
	if err := n.makeEmptyDisks(); err != nil {
		return err
	}
	if err := makeMounts(n.mountFile(), n.arrangeFiles); err != nil {
		return fmt.Errorf("make the files of %s: %w", n.Name, err)
	}
	return nil
}

// arrangeFiles runs inside the node's new mount namespace.
func (n *Node) arrangeFiles() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	sources, err := n.openSources() // before anything hides them
	if err != nil {
		return err
	}
	defer closeAll(sources)
	for _, tree := range []string{"etc", "usr", "opt"} {
		if err := n.overlay(tree); err != nil {
			return err
		}
	}
	bind := func(source, target string) error {
		if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s to %s: %w", source, target, err)
		}
		return nil
	}
	err = errors.Join(
		bind(n.cluster.programs, "/usr/local/bin"),
		bind("/dev/pts", n.disk("dev")+"/pts"),
		bind(n.disk("dev"), "/dev"),
		bind(n.disk("lib"), "/var/lib"),
		bind(n.disk("log"), "/var/log"),
		bind(n.disk("boot-id"), bootIDFile))
	if err != nil {
		return err
	}
	for i, mount := range n.mounts {
		if err := mount.carryOut(sources[i], n.disk("run")); err != nil {
			return err
		}
	}
	if err := bind(n.disk("run"), "/run"); err != nil {
		return err
	}
	// Mounts travel between the node and its containers as on a real machine.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// overlay lets the node write into one of the host's trees and keeps what it writes.
func (n *Node) overlay(tree string) error {
	options := fmt.Sprintf("lowerdir=/%s,upperdir=%s,workdir=%s", tree, n.disk(tree), n.disk(tree+".work"))
	if err := unix.Mount("overlay", "/"+tree, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay /%s: %w", tree, err)
	}
	return nil
}

// openSources opens the host's side of the caller's mounts.
func (n *Node) openSources() (sources []*os.File, err error) {
	for _, mount := range n.mounts {
		path := mount.Source
		if path == "" {
			path = n.emptyDisk(mount)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(n.cluster.dir, path)
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(sources)
			return nil, fmt.Errorf("mount %s into %s: %w", path, n.Name, err)
		}
		sources = append(sources, os.NewFile(uintptr(fd), path))
	}
	return sources, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

// carryOut mounts an opened source. run stands for /run, which is mounted last since it hides
// the cluster's own folder.
func (m Mount) carryOut(source *os.File, run string) error {
	target := m.Target
	if rest, ok := strings.CutPrefix(target, "/run/"); ok {
		target = filepath.Join(run, rest)
	}
	if err := makeTarget(source, target); err != nil {
		return err
	}
	from := fmt.Sprintf("/proc/self/fd/%d", source.Fd())
	if err := unix.Mount(from, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source.Name(), m.Target, err)
	}
	if m.ReadOnly {
		return unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	}
	return nil
}

// makeTarget makes a file or folder for something to be mounted on.
func makeTarget(source *os.File, target string) error {
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o644)
}

func (n *Node) emptyDisk(m Mount) string {
	return n.disk("disk" + strings.ReplaceAll(m.Target, "/", "-"))
}

// makeEmptyDisks makes the small disks among the mounts, once: what is on them outlives a reboot.
func (n *Node) makeEmptyDisks() error {
	for _, m := range n.mounts {
		if m.Source != "" {
			continue
		}
		place := n.emptyDisk(m)
		if err := os.Mkdir(place, 0o755); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := unix.Mount("disk", place, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", m.Size)); err != nil {
			return fmt.Errorf("make a disk of %d bytes: %w", m.Size, err)
		}
	}
	return nil
}

// LoadImage gives the node an image from an archive on the host.
func (n *Node) LoadImage(ctx context.Context, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := n.Command(ctx, "ctr", "-a", containerdSocket, "-n", "k8s.io", "images", "import", "--local", "-")
	cmd.Stdin = file
	return cmd.Run()
}

// Reboot ends every process of the node, empties its /run, gives it a new boot id and network,
// and starts containerd and the kubelet again. It returns once both serve.
func (n *Node) Reboot(ctx context.Context) error {
	if err := n.PowerOff(ctx); err != nil {
		return err
	}
	return n.PowerOn(ctx)
}

// PowerOff ends every process of the node at once and empties its /run.
func (n *Node) PowerOff(ctx context.Context) error {
	h := n.cluster.hierarchies
	if err := h.killAll(ctx, n.cgroup()); err != nil {
		return err
	}
	if err := h.remove(ctx, n.cgroup()); err != nil {
		return err
	}
	if err := n.disconnect(ctx); err != nil {
		return err
	}
	if err := unix.Unmount(n.mountFile(), unix.MNT_DETACH); err != nil {
		return err
	}
	if err := os.RemoveAll(n.disk("run")); err != nil {
		return err
	}
	return os.Mkdir(n.disk("run"), 0o755)
}

// PowerOn starts a node that PowerOff ended.
func (n *Node) PowerOn(ctx context.Context) error {
	if err := n.connect(ctx); err != nil {
		return err
	}
	if err := n.powerOn(); err != nil {
		return err
	}
	if err := n.Containerd.Start(ctx); err != nil {
		return err
	}
	if err := n.startServices(ctx); err != nil {
		return err
	}
	return n.Kubelet.Start(ctx)
}

func (n *Node) startServices(ctx context.Context) error {
	for _, service := range n.Services {
		if err := service.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Cluster is what the node belongs to.
func (n *Node) Cluster() *Cluster { return n.cluster }

// FillDisk writes into a folder of the node until not one byte more fits, and returns how to free it again.
// Fill only a disk that a Mount with a Size made: the others share the host's memory.
func (n *Node) FillDisk(folder string) (free func() error, err error) {
	var limit unix.Statfs_t
	path := filepath.Join(folder, ".filled")
	free = func() error { return n.Do(func() error { return os.Remove(path) }) }
	err = n.Do(func() error {
		if err := unix.Statfs(folder, &limit); err != nil {
			return err
		}
		if size := int64(limit.Blocks) * limit.Bsize; size > 1<<30 {
			return fmt.Errorf("%s on %s is %d bytes large; give the node a Mount with a small Size there", folder, n.Name, size)
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		block := make([]byte, 64<<10)
		for len(block) > 0 {
			if _, err = file.Write(block); err != nil {
				block = block[:len(block)/2]
			}
		}
		if !errors.Is(err, unix.ENOSPC) {
			return err
		}
		return nil
	})
	return free, err
}

// containerdReady asks what the kubelet asks first: the socket is there before the service behind it is, and a kubelet that
// comes in between ends.
func (n *Node) containerdReady() error {
	connection, err := grpc.NewClient("unix:///"+n.Path(containerdSocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return connection.Invoke(ctx, "/runtime.v1.RuntimeService/Version", &emptypb.Empty{}, &emptypb.Empty{})
}

func (n *Node) kubeletReady() error { return n.answers("http://127.0.0.1:10248/healthz") }

func newBootID() []byte {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Appendf(nil, "%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
