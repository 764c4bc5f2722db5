// Package cluster starts a real Kubernetes on this machine, for tests and for people who want to try things:
// etcd, the API server, the controller manager, the scheduler, and nodes with containerd and a kubelet,
// each in namespaces of its own.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MostNodes is how many nodes a cluster may have.
const MostNodes = 18

// Options say what a cluster is made of.
type Options struct {
	// Nodes is the number of nodes; none means an API server alone.
	Nodes int
	// Controllers starts the controller manager and the scheduler too. With nodes they always run.
	Controllers bool
	// Flags are further flags, by the name of the program: kube-apiserver, kubelet …
	Flags map[string][]string
	// Mounts is what each node, counted from 1, gets beside its usual files.
	Mounts func(node int) []Mount
	// Prepare makes what the Mounts need inside of the cluster's own folder, before there are nodes.
	Prepare func(ctx context.Context, dir string, nodes int) error
	// Services are servers of the host that run on a node before its kubelet does, from each boot on. It is asked once
	// the node has its files, and may write some; what does not answer soon is waited for by its ReadyWhen.
	Services func(n *Node) ([]*Part, error)
	// Manifests are applied as soon as the API server answers.
	Manifests string
	// Kind tells apart what Mounts, Prepare and Services make: tests share a cluster whose options are the same.
	Kind string
	// Progress is told what happens; nil for nobody.
	Progress io.Writer
}

// Cluster is a running Kubernetes.
type Cluster struct {
	Name    string
	LAN     *Machine // where tests and people sit: it sees the API server and the nodes over the network
	Control *Machine // etcd, API server, controller manager, scheduler
	Nodes   []*Node

	Etcd, APIServer, ControllerManager, Scheduler *Part

	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Config  *rest.Config // an administrator's, dialing inside the test network

	options     Options
	dir         string
	programs    string
	hierarchies hierarchies
	lock        *nameLock
	authority   *authority
	admin       identity
	began       time.Time
	progress    sync.Mutex

	scraperLock  sync.Mutex
	scraperToken string // of the account that may see /metrics
}

// ErrName refuses a name that could not be a part of paths.
var ErrName = errors.New("is no name for a cluster: use up to 32 of a-z, 0-9 and -")

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// Start starts a cluster and returns once all of it serves and all nodes are Ready.
// What an aborted cluster of any name has left behind is removed first.
func Start(ctx context.Context, name string, options Options) (*Cluster, error) {
	if options.Nodes < 0 || options.Nodes > MostNodes {
		return nil, fmt.Errorf("%d nodes: a cluster has 0 to %d", options.Nodes, MostNodes)
	}
	if missing := Missing(); len(missing) > 0 {
		return nil, fmt.Errorf("this machine cannot run a cluster: %s", missing[0])
	}
	options.Controllers = options.Controllers || options.Nodes > 0
	if err := RemoveLeftovers(ctx); err != nil {
		return nil, err
	}
	removeOldLogs()
	c, err := describe(name, options)
	if err != nil {
		return nil, err
	}
	c.lock, err = lockName(name)
	if err != nil {
		return nil, err
	}
	if Kept(name) {
		c.lock.release()
		return nil, fmt.Errorf("the cluster %q runs already; end it first: ./dev cluster down --name %s", name, name)
	}
	if err := allowWatches(options.Nodes); err != nil {
		c.lock.release()
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.end(context.WithoutCancel(ctx), true))
	}
	return c, nil
}

// Open returns a cluster that an earlier process started and left running.
func Open(name string) (*Cluster, error) {
	text, err := os.ReadFile(filepath.Join(clusterDir(name), "kept.json"))
	if err != nil {
		return nil, fmt.Errorf("no cluster %q runs; start one: ./dev cluster up --name %s", name, name)
	}
	var kept keptState
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("the state of cluster %q is damaged (%w); end it: ./dev cluster down --name %s", name, err, name)
	}
	c, err := describe(name, Options{Nodes: kept.Nodes, Controllers: kept.Controllers, Flags: kept.Flags})
	if err != nil {
		return nil, err
	}
	return c, c.connectClients()
}

// keptState is what another process needs to know about a cluster that was left running.
type keptState struct {
	Nodes       int
	Controllers bool
	Flags       map[string][]string
}

// Keep lets the cluster run on after this process; Stop or `./dev cluster down` ends it.
func (c *Cluster) Keep() error {
	text, err := json.Marshal(keptState{c.options.Nodes, c.options.Controllers, c.options.Flags})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, "kept.json"), text, 0o644)
}

// Kept tells whether a cluster of that name was left running.
func Kept(name string) bool {
	_, err := os.Stat(filepath.Join(clusterDir(name), "kept.json"))
	return err == nil
}

// describe lays out a cluster's machines and parts without touching anything.
func describe(name string, options Options) (*Cluster, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("%q %w", name, ErrName)
	}
	h, err := findHierarchies()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Name:        name,
		options:     options,
		dir:         clusterDir(name),
		programs:    os.Getenv(programsVariable),
		hierarchies: h,
		began:       time.Now(),
	}
	c.LAN = &Machine{Name: "lan", Address: lanAddress, cluster: c}
	c.Control = &Machine{Name: "control", Address: controlAddress, cluster: c}
	c.controlParts()
	for number := 1; number <= options.Nodes; number++ {
		c.Nodes = append(c.Nodes, c.newNode(number))
	}
	return c, nil
}

func (c *Cluster) cgroup() string           { return cgroupPrefix + c.Name }
func (c *Cluster) insideKubeconfig() string { return filepath.Join(c.dir, "pki", "admin.kubeconfig") }

// LogDir holds a log file for each part. It is kept when a start fails.
func (c *Cluster) LogDir() string { return filepath.Join(CacheDir(), "logs", c.Name) }

// Dir is the folder that all of the cluster is kept in; it goes with the cluster.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig is an administrator's kubeconfig for programs inside the test network.
func (c *Cluster) Kubeconfig() string { return c.insideKubeconfig() }

// PersonKubeconfig is where the kubeconfig for a person's shell is, if the cluster was started for one.
func (c *Cluster) PersonKubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// writePersonKubeconfig writes the kubeconfig for a person's shell, which reaches the API server at server.
func (c *Cluster) writePersonKubeconfig(server string) error {
	return writeSecret(c.PersonKubeconfig(), c.authority.kubeconfig(server, c.admin))
}

// Node returns a node, counted from 1.
func (c *Cluster) Node(number int) *Node { return c.Nodes[number-1] }

// machines are all that are plugged into the switch.
func (c *Cluster) machines() []*Machine {
	machines := []*Machine{c.Control}
	for _, node := range c.Nodes {
		machines = append(machines, node.Machine)
	}
	return machines
}

func (c *Cluster) start(ctx context.Context) error {
	c.began = time.Now()
	c.tell("starting " + c.summary())
	if err := c.layOut(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	apiServes := make(chan struct{})
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return c.startControl(ctx, apiServes) },
	}
	for _, node := range c.Nodes {
		steps = append(steps, func(ctx context.Context) error { return node.start(ctx, apiServes) })
	}
	return inParallel(ctx, steps...)
}

// layOut makes the folder, the keys, the images and the networks: all that needs no server.
func (c *Cluster) layOut(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	// One file system holds all that the cluster writes; private, since namespaces are held in it.
	if err := unix.Mount("fairlead-"+c.Name, c.dir, "tmpfs", 0, "mode=700"); err != nil {
		return fmt.Errorf("mount a file system at %s: %w", c.dir, err)
	}
	if err := unix.Mount("", c.dir, "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, folder := range []string{"ns", "parts", "pki", "nodes"} {
		if err := os.Mkdir(filepath.Join(c.dir, folder), 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(c.LogDir()), os.MkdirAll(c.LogDir(), 0o755)); err != nil {
		return err
	}
	if err := c.makeCertificates(); err != nil {
		return err
	}
	if c.options.Prepare != nil {
		if err := c.options.Prepare(ctx, c.dir, len(c.Nodes)); err != nil {
			return err
		}
	}
	if err := c.connectMachines(ctx); err != nil {
		return err
	}
	return c.connectClients()
}

func (c *Cluster) summary() string {
	switch len(c.Nodes) {
	case 0:
		return "an API server"
	case 1:
		return "a cluster of one node"
	default:
		return fmt.Sprintf("a cluster of %d nodes", len(c.Nodes))
	}
}

func (c *Cluster) startControl(ctx context.Context, apiServes chan<- struct{}) error {
	// Without etcd the API server's first attempt to connect fails, and it waits before the next.
	if err := c.Etcd.Start(ctx); err != nil {
		return err
	}
	if err := c.APIServer.Start(ctx); err != nil {
		return err
	}
	if c.options.Manifests != "" {
		if err := c.Apply(ctx, c.options.Manifests); err != nil {
			return err
		}
	}
	close(apiServes)
	c.tell("the API server answers")
	if !c.options.Controllers {
		return nil
	}
	if err := inParallel(ctx, c.ControllerManager.Start, c.Scheduler.Start, c.waitForDefaultAccount); err != nil {
		return err
	}
	c.tell("the controller manager and the scheduler answer")
	return nil
}

func (n *Node) start(ctx context.Context, apiServes <-chan struct{}) error {
	if err := n.prepare(); err != nil {
		return err
	}
	if err := n.powerOn(); err != nil {
		return err
	}
	if err := n.Containerd.Start(ctx); err != nil {
		return err
	}
	if err := n.loadBaseImages(ctx); err != nil {
		return err
	}
	if n.cluster.options.Services != nil {
		var err error
		if n.Services, err = n.cluster.options.Services(n); err != nil {
			return err
		}
	}
	if err := n.startServices(ctx); err != nil {
		return err
	}
	select {
	case <-apiServes:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := n.Kubelet.launch(ctx); err != nil {
		return err
	}
	err := n.Kubelet.whileRunning(ctx, func(ctx context.Context) error {
		return n.cluster.WaitNodeReady(ctx, n.Name, true)
	})
	if err != nil {
		return err
	}
	n.cluster.tell(n.Name + " is Ready")
	return nil
}

func (n *Node) loadBaseImages(ctx context.Context) error {
	images, err := baseImages()
	if err != nil {
		return err
	}
	archive := n.disk("images.tar")
	if err := WriteImages(archive, images...); err != nil {
		return err
	}
	defer os.Remove(archive)
	return n.LoadImage(ctx, archive)
}

// Stop ends the cluster without a trace.
func (c *Cluster) Stop(ctx context.Context) error { return c.end(ctx, false) }

func (c *Cluster) end(ctx context.Context, keepLogs bool) error {
	err := remove(ctx, c.hierarchies, c.Name)
	if !keepLogs {
		err = errors.Join(err, os.RemoveAll(c.LogDir()))
		os.Remove(filepath.Dir(c.LogDir())) // only if it was the last
	}
	c.lock.release()
	return err
}

func (c *Cluster) tell(what string) {
	if c.options.Progress == nil {
		return
	}
	c.progress.Lock()
	defer c.progress.Unlock()
	fmt.Fprintf(c.options.Progress, "%5.1f s  %s\n", time.Since(c.began).Seconds(), what)
}

// inParallel runs all steps at once; the first that fails cancels the others, and its error is returned.
func inParallel(ctx context.Context, steps ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for _, step := range steps {
		all.Go(func() {
			if err := step(ctx); err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		})
	}
	all.Wait()
	return first
}

// Machines are all machines of the cluster.
func (c *Cluster) Machines() []*Machine { return append([]*Machine{c.LAN}, c.machines()...) }

// Parts are all servers that the cluster should have running.
func (c *Cluster) Parts() []*Part {
	parts := []*Part{c.Etcd, c.APIServer}
	if c.options.Controllers {
		parts = append(parts, c.ControllerManager, c.Scheduler)
	}
	for _, node := range c.Nodes {
		parts = append(parts, node.Containerd, node.Kubelet)
	}
	return parts
}

// Started are all servers that were started, those that somebody added to a machine included: by another process too.
func (c *Cluster) Started() []*Part {
	parts := c.Parts()
	for _, m := range c.Machines() {
		files, _ := filepath.Glob(filepath.Join(c.dir, "parts", m.Name+".*"))
		for _, file := range files {
			name := strings.TrimPrefix(filepath.Base(file), m.Name+".")
			if !slices.ContainsFunc(parts, func(p *Part) bool { return p.Machine.Name == m.Name && p.Name == name }) {
				parts = append(parts, &Part{Name: name, Machine: m})
			}
		}
	}
	return parts
}

// Programs is the folder of Kubernetes' programs.
func (c *Cluster) Programs() string { return c.programs }
