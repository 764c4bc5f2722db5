package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	restarts = 7
	beat     = 1.0 // seconds: nodeStatusUpdateFrequency of the nodes
	plugins  = "/var/lib/kubelet/device-plugins/"
)

// benchAgent kills the kubelet of a node with eight cards and times its next one, from when it accepts registrations until
// it has the agent's list, and until the Node says so.
func benchAgent(ctx context.Context) error {
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}), "a100")
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, "bench-agent", options)
	if err != nil {
		return err
	}
	defer c.Stop(context.WithoutCancel(ctx))
	if err := c.WaitNode(ctx, c.Nodes[0].Name, "hand out its GPUs", handsOut); err != nil {
		return err
	}
	var lists, nodes []float64
	for range restarts {
		list, node, err := kubeletRestart(ctx, c.Nodes[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "bench_agent: a kubelet accepts; list taken in after %.3f s, allocatable after %.3f s\n", list, node)
		lists, nodes = append(lists, list), append(nodes, node)
	}
	printLongest("a real kubelet.sock accepts to device list taken in, longest of 7", lists, 1)
	printLongest("a real kubelet.sock accepts to allocatable, beats of 1 s, longest of 7", nodes, beat+1)
	return nil
}

func handsOut(node *corev1.Node) bool {
	gpus := node.Status.Allocatable["nvidia.com/gpu"]
	return gpus.Value() == 8
}

// kubeletRestart returns the seconds from when the socket accepts until the list is taken in and until the Node has it.
// The Node is made to say zero before: what it says after is the new kubelet's.
func kubeletRestart(ctx context.Context, n *cluster.Node) (list, node float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := n.Kubelet.Kill(ctx); err != nil {
		return 0, 0, err
	}
	patch := []byte(`{"status":{"capacity":{"nvidia.com/gpu":"0"},"allocatable":{"nvidia.com/gpu":"0"}}}`)
	_, err = n.Cluster().Client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return 0, 0, err
	}
	before, err := os.Stat(n.Path(plugins + "kubelet_internal_checkpoint"))
	if err != nil {
		return 0, 0, err
	}
	started, listed, said := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	var accepts, taken, allocatable time.Time
	go func() { started <- n.Kubelet.Start(ctx) }()
	go func() {
		err := n.Cluster().WaitNode(ctx, n.Name, "hand out its GPUs again", handsOut)
		allocatable = time.Now()
		said <- err
	}()
	go func() {
		var err error
		if accepts, err = when(ctx, "kubelet.sock accepts", func() bool { return serves(n) }); err == nil {
			taken, err = when(ctx, "the list is taken in", func() bool { return tookIn(n, before.ModTime()) })
		}
		listed <- err
	}()
	for _, step := range []chan error{started, listed, said} {
		if err := <-step; err != nil {
			return 0, 0, err
		}
	}
	return taken.Sub(accepts).Seconds(), allocatable.Sub(accepts).Seconds(), nil
}

// when is the moment from which something is so that nobody tells.
func when(ctx context.Context, what string, so func() bool) (time.Time, error) {
	for !so() {
		if ctx.Err() != nil {
			return time.Time{}, fmt.Errorf("not within a minute: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Now(), nil
}

func serves(n *cluster.Node) bool {
	connection, err := net.Dial("unix", n.Path(plugins+"kubelet.sock"))
	if err != nil {
		return false
	}
	connection.Close()
	return true
}

// tookIn tells whether the kubelet has written down eight healthy devices: it does so with each list that it took in.
func tookIn(n *cluster.Node, before time.Time) bool {
	file := n.Path(plugins + "kubelet_internal_checkpoint")
	now, err := os.Stat(file)
	if err != nil || now.ModTime().Equal(before) {
		return false
	}
	var state struct {
		Data struct{ RegisteredDevices map[string][]string }
	}
	text, err := os.ReadFile(file)
	return err == nil && json.Unmarshal(text, &state) == nil && len(state.Data.RegisteredDevices["nvidia.com/gpu"]) == 8
}

func printLongest(name string, seconds []float64, bar float64) {
	longest := float64(int(slices.Max(seconds)*1000)) / 1000
	printOne(row{name, longest, "s", fmt.Sprintf("<= %g", bar), longest <= bar})
}
