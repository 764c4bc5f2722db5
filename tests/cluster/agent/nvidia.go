package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// nvidias is NVIDIA's own plugin for the rig's node, not yet started; it ends with the test. Without flags it hands out
// device nodes.
func (r *rig) nvidias(flags ...string) *cluster.Part {
	r.Helper()
	build := exec.CommandContext(r.Context(), filepath.Join(gpus.Build(), "..", "tests", "peer", "build"),
		"../bench/go_nvidia", "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=") // it loads the driver's library
	said, err := build.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 77 {
		r.Skipf("skipped: %s", failed.Stderr)
	}
	r.must(err)
	if len(flags) == 0 {
		flags = []string{"--pass-device-specs=true"}
	}
	words := []string{"LD_LIBRARY_PATH=" + gpus.Root + "/usr/lib/x86_64-linux-gnu", strings.TrimSpace(string(said)),
		"--device-discovery-strategy=nvml", "--nvidia-driver-root=" + gpus.Root, "--container-driver-root=" + gpus.Root}
	plugin := r.n.Part("env", append(words, flags...)...)
	plugin.Name = "nvidia"
	r.Cleanup(func() {
		if plugin.Running() {
			r.must(plugin.Kill(context.Background()))
		}
		if r.Failed() {
			text, _ := os.ReadFile(plugin.LogFile())
			r.Logf("the log of NVIDIA's plugin ends:\n%s", tail(string(text), 40))
		}
	})
	return plugin
}

// counted is how many cards the kubelet can hand out, from moment to moment: the Node's status is a beat behind.
type counted struct {
	r     *rig
	mu    sync.Mutex
	now   int
	since time.Time
	times int // that it has changed
}

// kubeletCounts asks it until the end of the test.
func (r *rig) kubeletCounts() *counted {
	r.Helper()
	connection, err := grpc.NewClient("unix:///"+r.n.Path("/var/lib/kubelet/pod-resources/kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.must(err)
	c := &counted{r: r, now: -1, since: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.Cleanup(func() { cancel(); <-done; connection.Close() })
	client := podresources.NewPodResourcesListerClient(connection)
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			reply, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
			if err == nil {
				c.take(reply)
			}
		}
	}()
	return c
}

func (c *counted) take(reply *podresources.AllocatableResourcesResponse) {
	ids := map[string]bool{}
	for _, devices := range reply.Devices {
		for _, id := range devices.DeviceIds {
			if devices.ResourceName == string(gpu) {
				ids[id] = true
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != len(ids) {
		c.now, c.since = len(ids), time.Now()
		c.times++
	}
}

// changes is how often the count has changed.
func (c *counted) changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times
}

// comesTo waits until so many cards can be handed out, and says since when that is so.
func (c *counted) comesTo(count int) (since time.Time) {
	c.r.Helper()
	until(c.r, fmt.Sprint("a kubelet that counts ", count), func() (bool, string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		since = c.since
		return c.now == count, fmt.Sprint(c.now)
	})
	return since
}

// stays waits until all eight cards can be handed out and have been for a while, and nobody has registered meanwhile:
// neither plugin fights.
func (c *counted) stays(within, quiet time.Duration) {
	c.r.Helper()
	var now, registered int
	var since time.Time
	for end := time.Now().Add(within + quiet); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if count := c.r.registrations(); count != registered {
			registered, since = count, time.Now()
		}
		c.mu.Lock()
		now = c.now
		if c.since.After(since) {
			since = c.since
		}
		c.mu.Unlock()
		if now == 8 && time.Since(since) >= quiet {
			return
		}
	}
	c.r.Fatalf("the kubelet counts %d GPUs since %v, after %d registrations", now, time.Since(since), registered)
}

// registrations is how often anybody has registered with the kubelet since its log began.
func (r *rig) registrations() int {
	r.Helper()
	text, err := os.ReadFile(r.n.Kubelet.LogFile())
	r.must(err)
	return strings.Count(string(text), "Got registration request from device plugin")
}
