package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// fakeFolder is where the fake driver has its libraries, below the driver's root.
const fakeFolder = "usr/lib/x86_64-linux-gnu"

// host is a kind of host by how it keeps the driver's files.
type host struct {
	name      string
	libraries string                  // where a container has them
	smi       string                  // where a container has nvidia-smi
	shape     func(root string) error // makes it of the fake driver's tree
	nodes     bool                    // device nodes are those of the host's own /dev, not of the driver's root
}

var hosts = []host{
	{"debian", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/bin/nvidia-smi", debianHost, false},
	{"rhel", "/usr/lib64", "/usr/bin/nvidia-smi", rhelHost, false},
	{"cos", "/lib64", "/bin/nvidia-smi", cosHost, true},
	{"driver-container", "/usr/lib/x86_64-linux-gnu", "/usr/bin/nvidia-smi", func(string) error { return nil }, false},
	{"talos", "/usr/local/lib", "/usr/local/bin/nvidia-smi", talosHost, false},
}

// move renames files of a tree, from and to in turn.
func move(root string, names ...string) error {
	for i := 0; i < len(names); i += 2 {
		to := filepath.Join(root, names[i+1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(root, names[i]), to); err != nil {
			return err
		}
	}
	return nil
}

// links makes links of a tree, the link and its text in turn.
func links(root string, names ...string) error {
	for i := 0; i < len(names); i += 2 {
		link := filepath.Join(root, names[i])
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(names[i+1], link); err != nil {
			return err
		}
	}
	return nil
}

// debianHost: Debian's packages of the driver, with their alternatives.
func debianHost(root string) error {
	const current = "/usr/lib/x86_64-linux-gnu/nvidia/current"
	return errors.Join(
		move(root, fakeFolder, "moved"),
		move(root, "moved", strings.TrimPrefix(current, "/"), "usr/bin/nvidia-smi", "usr/lib/nvidia/current/nvidia-smi"),
		links(root, fakeFolder+"/libcuda.so.1", "/etc/alternatives/glx--libcuda.so.1",
			"etc/alternatives/glx--libcuda.so.1", current+"/libcuda.so.1",
			fakeFolder+"/libnvidia-ml.so.1", "/etc/alternatives/glx--libnvidia-ml.so.1",
			"etc/alternatives/glx--libnvidia-ml.so.1", current+"/libnvidia-ml.so.1",
			"usr/bin/nvidia-smi", "/etc/alternatives/nvidia--nvidia-smi",
			"etc/alternatives/nvidia--nvidia-smi", "/usr/lib/nvidia/current/nvidia-smi"))
}

func rhelHost(root string) error {
	return errors.Join(move(root, fakeFolder, "usr/lib64"), links(root, "lib64", "usr/lib64"))
}

// cosHost: Google's installer; without links, cache and /dev.
func cosHost(root string) error {
	err := move(root, fakeFolder, "lib64", "usr/bin", "bin")
	found, globbed := filepath.Glob(filepath.Join(root, "lib64", "libcuda.so*"))
	for _, file := range found {
		if info, looked := os.Lstat(file); looked == nil && info.Mode()&os.ModeSymlink != 0 {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return errors.Join(err, globbed, os.Remove(filepath.Join(root, "usr/lib")), os.Remove(filepath.Join(root, "usr")),
		os.Rename(filepath.Join(root, "dev"), filepath.Join(root, "of-the-host")))
}

// talosHost: libraries in a directory that the linker's cache alone names.
func talosHost(root string) error {
	if err := move(root, fakeFolder, "usr/local/lib", "usr/bin", "usr/local/bin"); err != nil {
		return err
	}
	return makeCache(root, "/usr/local/lib")
}

// makeCache writes the linker's configuration and cache of a root.
func makeCache(root string, folders ...string) error {
	if err := os.MkdirAll(filepath.Join(root, "etc/ld.so.conf.d"), 0o755); err != nil {
		return err
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(root, "etc/ld.so.conf"), []byte("include /etc/ld.so.conf.d/*.conf\n"), 0o644),
		os.WriteFile(filepath.Join(root, "etc/ld.so.conf.d/own.conf"), []byte(strings.Join(folders, "\n")+"\n"), 0o644))
	if err != nil {
		return err
	}
	if said, err := exec.Command("/sbin/ldconfig", "-X", "-r", root).CombinedOutput(); err != nil {
		return fmt.Errorf("ldconfig -r %s: %w\n%s", root, err, said)
	}
	return nil
}

// mounts put a host's device nodes into the node's own /dev.
func (h host) mounts(number int) (mounts []cluster.Mount) {
	if !h.nodes {
		return nil
	}
	names := []string{"nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"}
	for card := range 8 {
		names = append(names, fmt.Sprint("nvidia", card))
	}
	for _, name := range names {
		mounts = append(mounts, cluster.Mount{Source: filepath.Join("gpus", fmt.Sprint("node-", number), "root/of-the-host", name),
			Target: "/dev/" + name})
	}
	return mounts
}

// sharedGPUs has an agent hand out each card so many times: more containers than cards are to start at once.
const sharedGPUs = "/etc/kubernetes/fairlead-shared.yaml"

func shares(n *cluster.Node, replicas int) error {
	return n.WriteFile(sharedGPUs, fmt.Appendf(nil,
		"version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n", replicas), 0o644)
}

// hostsCluster describes a cluster with one node of each of these kinds of host.
func hostsCluster(replicas int, hosts ...host) (cluster.Options, error) {
	options := cluster.Options{Nodes: len(hosts), Mounts: func(number int) []cluster.Mount { return hosts[number-1].mounts(number) }}
	options, err := gpus.Cluster(gpus.WithAgent(options, "--config-file="+sharedGPUs), "a100")
	if err != nil {
		return options, err
	}
	prepare, services := options.Prepare, options.Services
	options.Prepare = func(ctx context.Context, dir string, nodes int) error {
		if err := prepare(ctx, dir, nodes); err != nil {
			return err
		}
		for i, host := range hosts {
			if err := host.shape(filepath.Join(dir, "gpus", fmt.Sprint("node-", i+1), "root")); err != nil {
				return fmt.Errorf("%s: %w", host.name, err)
			}
		}
		return nil
	}
	options.Services = func(n *cluster.Node) ([]*cluster.Part, error) {
		if err := shares(n, replicas); err != nil {
			return nil, err
		}
		return services(n)
	}
	return options, nil
}
