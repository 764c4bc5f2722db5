package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const smokeCards = 2

// smoke starts one node with eight cards and the agent, runs a Pod that asks for two, looks at what it got, and ends all
// of it.
func smoke(ctx context.Context, args []string) error {
	if err := parse("smoke", args, func(*flag.FlagSet) {}); err != nil {
		return err
	}
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}), "a100")
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, fmt.Sprintf("smoke-%d", os.Getpid()), options)
	if err != nil {
		return err
	}
	err = aPodGetsItsCards(ctx, c)
	if err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))); err == nil {
		fmt.Printf("a Pod on a real kubelet got %d of 8 GPUs\n", smokeCards)
	}
	return err
}

func aPodGetsItsCards(ctx context.Context, c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	agent := c.Node(1).Services[0]
	if err := c.WaitNode(ctx, c.Node(1).Name, "hand out its GPUs", handsOut); err != nil {
		return agent.WithLog(err)
	}
	pod := cluster.NewPod("smoke", c.Node(1).Name, "sleep", "1000")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(smokeCards, resource.DecimalSI)}
	if _, err := c.RunPod(ctx, pod); err != nil {
		return agent.WithLog(err)
	}
	said, err := c.Exec(ctx, "smoke", "sh", "-c", "ls -d /dev/nvidia[0-9]*")
	if err != nil {
		return err
	}
	if cards := strings.Fields(said); len(cards) != smokeCards {
		return fmt.Errorf("a Pod that asks for %d GPUs sees %q", smokeCards, cards)
	}
	return nil
}
