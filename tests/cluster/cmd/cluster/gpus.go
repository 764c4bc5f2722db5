package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// withGPUs is ./dev up: a cluster whose nodes have GPUs and the agent, until it is told to end. What follows "--" are options
// of the agents.
func withGPUs(ctx context.Context, args []string) error {
	began := time.Now()
	var agents []string
	if at := slices.Index(args, "--"); at >= 0 {
		args, agents = args[:at], args[at+1:]
	}
	options := cluster.Options{Progress: os.Stderr}
	name, profile := "main", "a100"
	err := parse("gpus", args, func(f *flag.FlagSet) {
		f.IntVar(&options.Nodes, "nodes", 1, "")
		f.StringVar(&profile, "profile", profile, "")
	})
	if err != nil {
		return err
	}
	if options.Nodes < 1 || options.Nodes > cluster.MostNodes {
		return fmt.Errorf("up: --nodes takes 1 to %d; %w", cluster.MostNodes, errUsage)
	}
	if options, err = gpus.Cluster(gpus.WithAgent(options, agents...), profile); err != nil {
		return fmt.Errorf("up: --profile: %w; %w", err, errUsage)
	}
	c, err := cluster.Start(ctx, name, options)
	if err != nil {
		return err
	}
	err = untilTold(ctx, c, profile, agents, began)
	fmt.Fprintln(os.Stderr, "ending it")
	return errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
}

func untilTold(ctx context.Context, c *cluster.Cluster, profile string, agents []string, began time.Time) error {
	says, cards, _ := gpus.Describe(profile)
	for _, n := range c.Nodes {
		follow, err := gpus.Follow(ctx, n)
		if err != nil {
			return err
		}
		defer follow()
		err = c.WaitNode(ctx, n.Name, "hand out its GPUs", func(node *corev1.Node) bool {
			count := node.Status.Allocatable["nvidia.com/gpu"]
			return count.Value() == int64(cards) || len(agents) > 0 && isReady(node)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%5.1f s  %s hands out %s\n", time.Since(began).Seconds(), n.Name, says)
	}
	if _, err := c.Scraper(ctx); err != nil {
		return err
	}
	if err := leaveRunning(ctx, c); err != nil {
		return err
	}
	showGPUs(c)
	var running sync.WaitGroup
	for _, n := range c.Nodes {
		for _, agent := range n.Services {
			running.Go(func() {
				agent.KeepRunning(ctx, func(what string) {
					fmt.Fprintf(os.Stderr, "%5.1f s  %s\n", time.Since(began).Seconds(), what)
				})
			})
		}
	}
	running.Wait()
	return nil
}

// isReady tells whether the agent serves its GPUs, whatever it was told to make of them.
func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(is corev1.NodeCondition) bool {
		return is.Type == "GPUsReady" && is.Status == corev1.ConditionTrue
	})
}

func showGPUs(c *cluster.Cluster) {
	const kubectl = "./dev cluster kubectl"
	const columns = `-o 'custom-columns=NODE:.metadata.name,GPUS:.status.allocatable.nvidia\.com/gpu'`
	fmt.Printf("\nkubeconfig: %s\nlogs:       %s\n", c.PersonKubeconfig(), c.LogDir())
	fmt.Printf("\nTry, in another shell:\n\n")
	fmt.Printf("  # the GPUs that each node hands out\n  %s get nodes %s\n\n", kubectl, columns)
	fmt.Printf("  # a Pod that asks for two, and prints what it got\n  %s run gpus --image=%s --image-pull-policy=Never --restart=Never --rm --attach "+
		"--override-type=strategic --overrides='{\"spec\":{\"containers\":[{\"name\":\"gpus\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}' "+
		"-- sh -c 'sleep 1; ls -l /dev/nvidia[0-9]*; env | grep NVIDIA'\n\n", kubectl, cluster.BusyboxImage)
	fmt.Printf("  # a GPU falls off the bus: it leaves, and comes back once it answers well again (also: lose, hang, heal)\n"+
		"  %s sim xid node-1 1 79 && timeout 20 %s get nodes --watch %s | uniq\n\n", fairlead(), kubectl, columns)
	fmt.Printf("  # what the agent counts\n  ./dev cluster enter lan busybox wget -qO- --header=\"Authorization: Bearer $(%s create token %s)\" http://%s:%s/metrics\n\n", kubectl, cluster.ScraperAccount, c.Nodes[0].Address, gpus.Port)
	fmt.Printf("Ctrl-C ends all of it.\n")
}

// fairlead is the program as one would type it in the checkout.
func fairlead() string {
	program, err := gpus.Program("fairlead")
	if err != nil {
		return "build/fairlead"
	}
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, program); err == nil && !strings.HasPrefix(short, "..") {
			return short
		}
	}
	return program
}
