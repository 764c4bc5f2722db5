// Package gpus gives the nodes of a cluster GPUs that are not there, and runs the agent on them: for the tests and for
// ./dev up. The driver is the fake of tests/fake; all of a node's part lies in the cluster's own folder, under gpus.
package gpus

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairlead/tests/cluster"
)

// Root is where a node has its driver: as the GPU Operator installs one.
const Root = "/run/nvidia/driver"

const folder = "gpus"

// A profile says what the nodes have.
type profile struct {
	topology string
	cards    int
	says     string
	rack     bool // the nodes are of one NVLink domain
}

var profiles = map[string]profile{
	"a100":  {"dgx-a100.yaml", 8, "8 × A100-SXM4-80GB", false},
	"h100":  {"dgx-h100.yaml", 8, "8 × H100", false},
	"h200":  {"dgx-h200.yaml", 8, "8 × H200", false},
	"nvl72": {"gb200-nvl72.yaml", 4, "4 × GB200 of an NVL72", true},
	"t4":    {"two-t4.yaml", 2, "2 × T4", false},
	"mixed": {"mixed.yaml", 7, "7 GPUs of five kinds", false},
}

// Profiles are the names of all profiles.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }

// Describe says in words what a profile has, and how many cards.
func Describe(name string) (says string, cards int, ok bool) {
	p, ok := profiles[name]
	return p.says, p.cards, ok
}

// Build is the folder of the C build.
func Build() string {
	if build := os.Getenv("FAIRLEAD_BUILD"); build != "" {
		return build
	}
	return filepath.Join(source(), "build")
}

// source is the checkout: this module is two folders below.
func source() string {
	at, err := os.Getwd()
	for err == nil && at != "/" {
		if _, err := os.Stat(filepath.Join(at, "tests", "fake", "topology")); err == nil {
			return at
		}
		at = filepath.Dir(at)
	}
	return "."
}

// Program is a file of the build.
func Program(path ...string) (string, error) {
	file, err := filepath.Abs(filepath.Join(append([]string{Build()}, path...)...))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return "", fmt.Errorf("%w; ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	return file, nil
}

// Cluster adds to what a cluster is made of: each node has the cards of the profile.
func Cluster(options cluster.Options, profileName string) (cluster.Options, error) {
	p, ok := profiles[profileName]
	if !ok {
		return options, fmt.Errorf("there is no profile %q; there are %s", profileName, strings.Join(Profiles(), ", "))
	}
	fakectl, err := Program("tests", "fake", "fakectl")
	if err != nil {
		return options, err
	}
	library, err := Program("tests", "fake", "libnvidia-ml.so.1")
	if err != nil {
		return options, err
	}
	topology, err := filepath.Abs(filepath.Join(source(), "tests", "fake", "topology", p.topology))
	if err != nil {
		return options, err
	}
	options.Kind += " " + profileName
	before := options.Mounts
	options.Mounts = func(node int) []cluster.Mount {
		mounts := []cluster.Mount{{Source: filepath.Join(place(node), "root"), Target: Root}}
		if before != nil {
			mounts = append(mounts, before(node)...)
		}
		return mounts
	}
	options.Prepare = func(ctx context.Context, dir string, nodes int) error {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(fakectl, filepath.Join(dir, folder, "fakectl")); err != nil {
			return err
		}
		for node := 1; node <= nodes; node++ {
			seed, number := node, 0
			if p.rack {
				seed, number = 1, node-1
			}
			home := filepath.Join(dir, place(node))
			if err := run(ctx, fakectl, "up", home, topology, strconv.Itoa(seed), strconv.Itoa(number)); err != nil {
				return err
			}
			if err := run(ctx, fakectl, "tree", home, library); err != nil {
				return err
			}
		}
		return nil
	}
	return options, nil
}

func place(node int) string { return filepath.Join(folder, fmt.Sprintf("node-%d", node)) }

func run(ctx context.Context, program string, args ...string) error {
	said, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, said)
	}
	return nil
}

// Say changes the fake driver of a node, in the words of tests/fake/README.md, and returns what it said.
func Say(ctx context.Context, n *cluster.Node, words ...string) (string, error) {
	said, err := fakectl(ctx, n, "say", words...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("say %s to %s: %w\n%s", strings.Join(words, " "), n.Name, err, said)
	}
	return string(said), err
}

// Tree makes the node's files anew, as after the driver came, went or changed its version.
func Tree(ctx context.Context, n *cluster.Node) error {
	library, err := Program("tests", "fake", "libnvidia-ml.so.1")
	if err != nil {
		return err
	}
	if said, err := fakectl(ctx, n, "tree", library).CombinedOutput(); err != nil {
		return fmt.Errorf("make the files of %s anew: %w\n%s", n.Name, err, said)
	}
	return nil
}

// Follow has the driver's device nodes follow its MIG devices, as on a real node, until what it returns is called.
func Follow(ctx context.Context, n *cluster.Node) (end func(), err error) {
	follow := fakectl(ctx, n, "follow")
	if err := follow.Start(); err != nil {
		return nil, fmt.Errorf("have the device nodes of %s follow its MIG devices: %w", n.Name, err)
	}
	return func() {
		follow.Process.Kill()
		follow.Wait()
	}, nil
}

func fakectl(ctx context.Context, n *cluster.Node, verb string, args ...string) *exec.Cmd {
	dir := n.Cluster().Dir()
	args = append([]string{verb, filepath.Join(dir, place(n.Number))}, args...)
	return exec.CommandContext(ctx, filepath.Join(dir, folder, "fakectl"), args...)
}

// Kubeconfig is where a node has the agent's way to the API server.
const Kubeconfig = "/etc/kubernetes/fairlead-node.conf"

// Port is where an agent answers probes and gives its metrics.
const Port = "9401"

// User is who the agents are to the API server.
const User = "fairlead-node"

// Rights are what an agent asks the API server for, as a manifest:
//   - its own Node: the label that names a configuration, and its condition;
//   - DeviceClasses: names that they claim are not served;
//   - its taint (--startup-taint); its Pods (--remove-refused-pods, --evict-after);
//   - its GPUDevices, and their pools (--gpu-pools);
//   - Events: what happens to cards, told of the Node and of Pods;
//   - reviews of the tokens that whoever asks for /metrics and /explain shows.
const Rights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fairlead-node}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
- {apiGroups: [""], resources: [nodes], verbs: [patch]}
- {apiGroups: [""], resources: [pods], verbs: [list, watch, delete]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
- {apiGroups: [resource.k8s.io], resources: [deviceclasses], verbs: [get, list, watch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], resourceNames: [nodefeatures.nfd.k8s-sigs.io, gpudevices.gpu.deckhouse.io, gpupools.gpu.deckhouse.io, clustergpupools.gpu.deckhouse.io], verbs: [watch]}
- {apiGroups: [gpu.deckhouse.io], resources: [gpudevices, gpupools, clustergpupools], verbs: [list, watch]}
- {apiGroups: [gpu.deckhouse.io], resources: [gpudevices/status], verbs: [patch]}
- {apiGroups: [nfd.k8s-sigs.io], resources: [nodefeatures], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fairlead-node}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-node}
subjects:
- {kind: User, apiGroup: rbac.authorization.k8s.io, name: ` + User + `}
`

// Flags are how an agent is told of the fake node.
func Flags(n *cluster.Node) []string {
	return []string{"node", "--node-name=" + n.Name, "--kubeconfig=" + Kubeconfig, "--listen=" + n.Address + ":" + Port,
		"--sysfs=" + Root + "/sys", "--proc=" + Root + "/proc", "--unpooled=true", "--log-format=text"}
}

// Agent describes the agent as a service of the node, and gives it a kubeconfig. Its Rights are the cluster's to give.
func Agent(n *cluster.Node, flags ...string) (*cluster.Part, error) {
	program, err := Program("fairlead")
	if err != nil {
		return nil, err
	}
	config, err := n.Cluster().KubeconfigFor(User)
	if err != nil {
		return nil, err
	}
	agent := n.Part(program, append(Flags(n), flags...)...)
	agent.Name = "agent"
	return agent, n.WriteFile(Kubeconfig, config, 0o600)
}

// WithAgent adds to what a cluster is made of: each node has the agent as a service of the host.
func WithAgent(options cluster.Options, flags ...string) cluster.Options {
	options.Manifests += Rights
	options.Kind += " agent " + strings.Join(flags, " ")
	options.Services = func(n *cluster.Node) ([]*cluster.Part, error) {
		agent, err := Agent(n, flags...)
		return []*cluster.Part{agent}, err
	}
	return options
}
