// Command cluster starts, shows and ends a real Kubernetes on this machine. People call it through ./dev cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"fairlead/tests/cluster"
)

const usage = `Usage: ./dev cluster VERB [OPTION...]

  up [--nodes N | --api-only] [--name NAME]
                            start a cluster and leave it running (one node, named main)
  gpus [--nodes N] [--profile P]
                            one whose nodes have fake GPUs and the agent, until Ctrl-C: this is ./dev up
  down [--name NAME]        end it without a trace
  kubectl [--name NAME] ... run kubectl against it
  enter [--name NAME] MACHINE [COMMAND...]
                            run a command, or a shell, on node-1, node-2 …, control or lan
  status                    show what runs
  build                     build the programs of Kubernetes, once
  smoke                     start one with GPUs, run a Pod that asks for two, look, and end it
  test [--long] [FOLDER...] [NAME...]
                            run the tests that use a real cluster, those of the folders, or those whose names hold
                            NAME; --long: each for as long as it is meant to take
  bench [--agent | --api]   measure how fast a cluster comes and goes, how fast the agent follows a kubelet, or what
                            requests cost the real API server and the embedded one
`

// errUsage marks errors that are the caller's: exit status 2.
var errUsage = errors.New("see ./dev cluster --help")

type verb func(ctx context.Context, args []string) error

var verbs = map[string]verb{
	"up":      up,
	"gpus":    withGPUs,
	"down":    down,
	"kubectl": kubectl,
	"enter":   enter,
	"status":  status,
	"smoke":   smoke,
	"test":    test,
	"bench":   bench,
	"relay":   relay, // started by up
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		fmt.Print(usage)
		return 0
	}
	var err error
	if f, ok := verbs[args[0]]; ok {
		err = f(ctx, args[1:])
	} else {
		err = fmt.Errorf("cluster: there is no %q; there are up, gpus, down, kubectl, enter, status, build, smoke, test and bench; %w", args[0], errUsage)
	}
	var ended exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return int(ended)
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		return 0
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted; what was started has been ended")
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, errUsage) || errors.Is(err, cluster.ErrName) {
		return 2
	}
	return 1
}

// exitStatus ends the program with a status and without a further word.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// parse reads a verb's options and refuses what is left over.
func parse(name string, args []string, define func(*flag.FlagSet)) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	define(flags)
	var known []string
	flags.VisitAll(func(f *flag.Flag) { known = append(known, "--"+f.Name) })
	allowed := "it takes no options"
	if len(known) > 0 {
		allowed = "its options are " + strings.Join(known, ", ")
	}
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = fmt.Errorf("cluster %s: %w; %s; %w", name, err, allowed, errUsage)
	}
	return err
}

func up(ctx context.Context, args []string) error {
	var name string
	options := cluster.Options{Progress: os.Stderr}
	apiOnly := false
	err := parse("up", args, func(f *flag.FlagSet) {
		f.StringVar(&name, "name", "main", "")
		f.IntVar(&options.Nodes, "nodes", 1, "")
		f.BoolVar(&apiOnly, "api-only", false, "")
	})
	if err != nil {
		return err
	}
	if apiOnly && options.Nodes == 1 {
		options.Nodes = 0
	} else if apiOnly {
		return fmt.Errorf("cluster up: --api-only means no nodes; leave --nodes out; %w", errUsage)
	} else if options.Nodes < 1 || options.Nodes > cluster.MostNodes {
		return fmt.Errorf("cluster up: --nodes takes 1 to %d; for none, use --api-only; %w", cluster.MostNodes, errUsage)
	}
	if cluster.Kept(name) {
		return runsAlready(name)
	}
	c, err := cluster.Start(ctx, name, options)
	if err != nil {
		return err
	}
	if err := leaveRunning(ctx, c); err != nil {
		return errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return show(name)
}

// runsAlready shows a cluster instead of starting it, unless some of it has died meanwhile.
func runsAlready(name string) error {
	c, err := cluster.Open(name)
	if err != nil {
		return err
	}
	for _, part := range c.Parts() {
		if !part.Running() {
			return fmt.Errorf("of the cluster %q, %s on %s has died, see %s; end it and start another: ./dev cluster down%s",
				name, part.Name, part.Machine.Name, part.LogFile(), nameOption(name))
		}
	}
	fmt.Fprintf(os.Stderr, "the cluster %q runs already, with %d nodes\n", name, len(c.Nodes))
	return show(name)
}

func leaveRunning(ctx context.Context, c *cluster.Cluster) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := c.StartRelay(ctx, program); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Keep()
}

func nameOption(name string) string {
	if name == "main" {
		return ""
	}
	return " --name " + name
}

// show prints what a person needs to use a running cluster.
func show(name string) error {
	c, err := cluster.Open(name)
	if err != nil {
		return err
	}
	kubectl := "./dev cluster kubectl" + nameOption(name)
	fmt.Printf("\nkubeconfig: %s\n\nTry:\n", c.PersonKubeconfig())
	if len(c.Nodes) == 0 {
		fmt.Printf("  %s get namespaces\n", kubectl)
		fmt.Printf("  %s create configmap hello --from-literal=name=Fairlead\n", kubectl)
		fmt.Printf("  %s get configmap hello -o yaml\n", kubectl)
	} else {
		fmt.Printf("  %s get nodes -o wide\n", kubectl)
		fmt.Printf("  %s run hello --image=%s --image-pull-policy=Never --restart=Never --rm --attach -- sh -c \"sleep 1; echo Fairlead says hello\"\n", kubectl, cluster.BusyboxImage)
		fmt.Printf("  %s get events\n", kubectl)
	}
	fmt.Printf("End it: ./dev cluster down%s\n", nameOption(name))
	return nil
}

func down(ctx context.Context, args []string) error {
	var name string
	if err := parse("down", args, func(f *flag.FlagSet) { f.StringVar(&name, "name", "", "") }); err != nil {
		return err
	}
	if name == "" {
		name = "main"
		if running := cluster.Names(); len(running) == 1 {
			name = running[0]
		}
	}
	found, err := cluster.Down(ctx, name)
	if err := errors.Join(err, cluster.RemoveLeftovers(ctx)); err != nil {
		return err
	}
	if !found {
		fmt.Printf("no cluster %q runs\n", name)
		return nil
	}
	fmt.Printf("the cluster %q has ended\n", name)
	return nil
}

func status(_ context.Context, args []string) error {
	if err := parse("status", args, func(*flag.FlagSet) {}); err != nil {
		return err
	}
	names := cluster.Names()
	if len(names) == 0 {
		fmt.Println("no cluster runs; start one: ./dev cluster up")
	}
	for _, name := range names {
		c, err := cluster.Open(name)
		if err != nil {
			return err
		}
		fmt.Printf("cluster %s, kubeconfig %s, logs %s\n", name, c.PersonKubeconfig(), c.LogDir())
		for _, part := range c.Started() {
			state := "runs"
			if !part.Running() {
				state = "does not run"
			}
			fmt.Printf("  %-8s %-24s %s\n", part.Machine.Name, part.Name, state)
		}
	}
	return nil
}

// choose returns the cluster that a verb is about: the one named first, or the only one that runs.
func choose(args []string) (*cluster.Cluster, []string, error) {
	if len(args) > 1 && args[0] == "--name" {
		c, err := cluster.Open(args[1])
		return c, args[2:], err
	}
	if len(args) > 0 {
		if name, ok := strings.CutPrefix(args[0], "--name="); ok {
			c, err := cluster.Open(name)
			return c, args[1:], err
		}
	}
	name := "main"
	switch running := cluster.Names(); {
	case len(running) == 1:
		name = running[0]
	case len(running) > 1 && !cluster.Kept("main"):
		return nil, nil, fmt.Errorf("several clusters run: %s; choose one with --name", strings.Join(running, ", "))
	}
	c, err := cluster.Open(name)
	return c, args, err
}

func kubectl(_ context.Context, args []string) error {
	c, args, err := choose(args)
	if err != nil {
		return err
	}
	program := filepath.Join(c.Programs(), "kubectl")
	environment := append(os.Environ(), "KUBECONFIG="+c.PersonKubeconfig())
	err = syscall.Exec(program, append([]string{"kubectl"}, args...), environment)
	return fmt.Errorf("run %s: %w", program, err)
}

func enter(ctx context.Context, args []string) error {
	c, args, err := choose(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("cluster enter: which machine? There are %s; %w", strings.Join(machineNames(c), ", "), errUsage)
	}
	for _, machine := range c.Machines() {
		if machine.Name != args[0] {
			continue
		}
		command := append(args[1:], "sh")
		if len(args) > 1 {
			command = args[1:]
		}
		return runOn(ctx, machine, command)
	}
	return fmt.Errorf("cluster enter: no machine %q; there are %s; %w", args[0], strings.Join(machineNames(c), ", "), errUsage)
}

func machineNames(c *cluster.Cluster) (names []string) {
	for _, machine := range c.Machines() {
		names = append(names, machine.Name)
	}
	return names
}

func runOn(ctx context.Context, machine *cluster.Machine, command []string) error {
	cmd := machine.Command(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{} // the person's terminal stays its own
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s on %s: %w", command[0], machine.Name, err)
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return err
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return exitStatus(max(code, 1))
	}
	return nil
}

func relay(_ context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("cluster relay: it takes an address; %w", errUsage)
	}
	return cluster.Relay(args[0])
}
