package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// What the agent remembers, and what may happen to it: it is set aside and made anew, and never a loop of crashes.
func TestWhatIsRememberedIsTornAndTheAgentGoesOn(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("stays", 1))
	id := r.only("stays/main")
	const dir = "/var/lib/fairlead"
	for _, row := range []struct {
		says  string
		spoil func(content []byte) []byte
	}{
		{"torn", func(content []byte) []byte { return content[:len(content)*2/3] }},
		{"flipped", func(content []byte) []byte { content[len(content)/2] ^= 0x55; return content }},
		{"empty", func([]byte) []byte { return nil }},
		{"of another program", func([]byte) []byte { return []byte(strings.Repeat("what is this?\n", 100)) }},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			r.must(r.agent.Kill(t.Context()))
			files, err := os.ReadDir(r.n.Path(dir))
			r.must(err)
			if len(files) == 0 {
				t.Fatalf("nothing is remembered in %s", dir)
			}
			for _, file := range files {
				if file.IsDir() { // the hook's program, which is no record
					continue
				}
				path := r.n.Path(dir) + "/" + file.Name()
				content, err := os.ReadFile(path)
				r.must(err)
				r.must(os.WriteFile(path, row.spoil(content), 0o600))
			}
			r.must(r.agent.Start(t.Context()))
			r.ready()
			r.hasGPUs(8, 8)
			r.undisturbed("stays")
			if now := r.only("stays/main"); now != id {
				t.Errorf("it has %s, and had %s", now, id)
			}
			r.event("Node", "node-1", "JournalNotAsLeft")
		})
	}
}

// An agent that is stopped for a while (SIGSTOP) goes on where it was.
func TestAnAgentThatStoodStillGoesOn(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.must(r.agent.Stop())
	r.say("lose", "6")
	time.Sleep(3 * time.Second) // that is what standing still means
	r.must(r.agent.Continue())
	r.hasGPUs(7, 8)
	r.say("heal", "6")
	r.within(time.Minute).hasGPUs(8, 8)
}

// Two agents in a rolling update: the second one waits for what the first one remembers, and takes over when it ends.
func TestASecondAgentWaitsAndTakesOver(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("through", 1))
	second, err := gpus.Agent(r.n) // at the same port
	r.must(err)
	second.Name = "agent-2"
	ctx := context.Background()
	r.must(second.Start(ctx))
	t.Cleanup(func() {
		if second.Running() {
			second.Kill(ctx)
		}
		if !r.agent.Running() {
			r.must(r.agent.Start(ctx))
		}
		r.ready()
	})
	until(r, "two agents", func() (bool, string) { return second.Running() && r.agent.Running(), "" })
	r.ready()
	began := time.Now()
	r.must(r.agent.Terminate(ctx))
	until(r, "the second one serves", func() (bool, string) {
		entries, err := os.ReadDir(r.n.Path("/var/lib/kubelet/device-plugins"))
		if err != nil {
			return false, err.Error()
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		all := strings.Join(names, " ")
		return strings.Contains(all, "fairlead-gpu"), all
	})
	t.Logf("taken over within %v", time.Since(began))
	r.ready() // and the pages are the second one's
	r.hasGPUs(8, 8)
	until(r, "a Pod that starts now", func() (bool, string) {
		name := fmt.Sprintf("taken-%d", time.Now().UnixNano())
		r.removes(name)
		_, err := r.c.RunPod(cluster.Within(t, 5*time.Second), sleeper(name, 1))
		return err == nil, fmt.Sprint(err)
	})
	r.undisturbed("through")
}

// Few files may be open: what is served stays served.
func TestAnAgentThatMayOpenNoMoreFilesStaysAndHeals(t *testing.T) {
	r := oneNode(t)
	r.heals()
	pid, err := r.agent.Pid()
	r.must(err)
	var before unix.Rlimit
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	r.must(err)
	tight := unix.Rlimit{Cur: uint64(len(open)), Max: 20000}
	r.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before))
	tight.Max = before.Max
	r.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &tight, nil))
	t.Cleanup(func() { unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil) })
	r.runs(sleeper("tight", 1))
	r.say("lose", r.number(r.only("tight/main")))
	r.hasGPUs(7, 8)
	for _, child := range r.children() {
		unix.Kill(child, unix.SIGKILL)
	}
	r.must(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil))
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
	if now, err := r.agent.Pid(); err != nil || now != pid || !r.agent.Running() {
		t.Errorf("the agent is process %d, and was %d: %v", now, pid, err)
	}
}

// A disk that is full: a card that breaks is handed out no more all the same and told, Pods go on, and it heals.
func TestADiskThatIsFullKeepsNoBadNewsBack(t *testing.T) {
	const dir = "/var/lib/fairlead"
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1, Mounts: func(int) []cluster.Mount {
		return []cluster.Mount{{Target: dir, Size: 1 << 20}}
	}}), "a100")
	cluster.Must(t, err)
	c := cluster.NewForTest(t, options)
	r := &rig{t, c, c.Node(1), c.Node(1).Services[0]}
	r.ready()
	r.hasGPUs(8, 8)
	_, err = r.c.RunPod(cluster.Within(t, moment), sleeper("user", 1))
	r.must(err)
	id := r.only("user/main")
	free, err := r.n.FillDisk(dir)
	r.must(err)
	r.say("lose", r.number(id))
	r.hasGPUs(7, 8)
	r.health("user", id, "Unhealthy")
	r.condition(corev1.ConditionFalse, "GPUsUnhealthy")
	_, err = r.c.RunPod(cluster.Within(t, moment), sleeper("other", 1))
	r.must(err)
	r.must(r.agent.Kill(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.within(time.Minute).hasGPUs(7, 8)
	r.undisturbed("user")
	r.must(free())
	r.say("heal")
	r.within(90*time.Second).hasGPUs(8, 8)
	r.health("user", id, "Healthy")
	r.undisturbed("user")
	r.ready()
}
