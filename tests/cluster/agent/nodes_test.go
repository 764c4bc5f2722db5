package agent

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// fourNodes are four nodes with eight cards and an agent each, as rigs.
func fourNodes(t *testing.T) (rigs []*rig) {
	t.Helper()
	options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 4}), "a100")
	cluster.Must(t, err)
	c := cluster.NewForTest(t, options)
	for _, n := range c.Nodes {
		r := &rig{t, c, n, n.Services[0]}
		t.Cleanup(func() {
			if t.Failed() {
				text, _ := os.ReadFile(r.agent.LogFile())
				t.Logf("the log of %s's agent ends:\n%s", n.Name, tail(string(text), 20))
			}
		})
		rigs = append(rigs, r)
	}
	for _, r := range rigs {
		r.ready()
		r.within(time.Minute).hasGPUs(8, 8)
	}
	return rigs
}

// owners are who has which card, over all nodes; a card with two fails the test. Of each Pod there is at most one card.
func owners(rigs []*rig) map[string]string {
	rigs[0].Helper()
	all := map[string]string{}
	for _, r := range rigs {
		for container, ids := range r.listed() {
			if len(ids) == 0 {
				continue
			}
			if len(ids) > 1 {
				r.Errorf("%s on %s has %q", container, r.n.Name, ids)
			}
			if other, taken := all[ids[0]]; taken {
				r.Errorf("%s is that of %s and of %s", ids[0], container, other)
			}
			all[ids[0]] = container
		}
	}
	return all
}

// Four nodes, 32 cards, and a Deployment of 32 Pods that want one each: every card is somebody's, none is two Pods'. What
// happens to one node is nothing to the others: an agent that is killed, a node that reboots, a card that breaks.
func TestFourNodesHandOutAllTheirCardsAndOneDoesNotDisturbAnother(t *testing.T) {
	rigs := fourNodes(t)
	c := rigs[0].c
	count, labels := int32(32), map[string]string{"app": "many"}
	template := sleeper("", 1)
	template.Labels = labels
	template.Spec.NodeSelector = nil
	_, err := c.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "many"},
		Spec: appsv1.DeploymentSpec{Replicas: &count, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec}},
	}, create)
	cluster.Must(t, err)
	running(t, c, 32, "")
	before := owners(rigs)
	if len(before) != 32 {
		t.Fatalf("%d GPUs are somebody's, not 32: %v", len(before), before)
	}
	others := map[string]int{} // processes of agents that nothing happens to
	for _, r := range rigs[2:] {
		pid, err := r.agent.Pid()
		cluster.Must(t, err)
		others[r.n.Name] = pid
	}

	// All at once: so it is, when it is.
	broken := "0"
	rigs[2].say("lose", broken)
	cluster.Must(t, rigs[0].agent.Kill(t.Context()))
	cluster.Must(t, rigs[1].n.Reboot(t.Context()))
	rigs[2].within(moment).hasGPUs(7, 8)
	cluster.Must(t, rigs[0].agent.Start(t.Context()))
	for i, r := range rigs {
		r.ready()
		r.within(time.Minute).hasGPUs(map[bool]int64{true: 7, false: 8}[i == 2], 8)
	}
	running(t, c, 32, rigs[1].n.Name)
	after := owners(rigs)
	for id, owner := range before {
		if after[id] != owner {
			t.Errorf("%s was that of %s, and is that of %q", id, owner, after[id])
		}
	}
	if len(after) != 32 {
		t.Errorf("%d GPUs are somebody's, not 32", len(after))
	}
	for _, pod := range pods(t, c) {
		restarts := pod.Status.ContainerStatuses[0].RestartCount
		if rebooted := pod.Spec.NodeName == rigs[1].n.Name; restarts != map[bool]int32{true: 1, false: 0}[rebooted] {
			t.Errorf("%s on %s was started %d times anew", pod.Name, pod.Spec.NodeName, restarts)
		}
	}
	for _, r := range rigs[2:] {
		if pid, err := r.agent.Pid(); err != nil || pid != others[r.n.Name] || !r.agent.Running() {
			t.Errorf("the agent of %s is process %d, and was %d: %v", r.n.Name, pid, others[r.n.Name], err)
		}
	}
	for _, r := range rigs {
		all := slices.Sorted(strings.SplitSeq(r.everyEvent(), "\n"))
		if told := slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, "Xid79") }); told != (r == rigs[2]) {
			t.Errorf("%s: is it told of a GPU that broke? %v:\n%s", r.n.Name, told, strings.Join(all, "\n"))
		}
	}
	rigs[2].say("heal")
	rigs[2].within(time.Minute).hasGPUs(8, 8)
}

func pods(t *testing.T, c *cluster.Cluster) []corev1.Pod {
	t.Helper()
	all, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=many"})
	cluster.Must(t, err)
	return all.Items
}

// running waits until so many Pods of the Deployment run, and there are no more; those of a node that was rebooted, anew.
func running(t *testing.T, c *cluster.Cluster, count int, rebooted string) {
	t.Helper()
	last := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ready, all := 0, pods(t, c)
		for _, pod := range all {
			statuses := pod.Status.ContainerStatuses
			if len(statuses) == 1 && statuses[0].Ready && (pod.Spec.NodeName != rebooted || statuses[0].RestartCount > 0) {
				ready++
			}
			if pod.Status.Phase == corev1.PodFailed {
				t.Fatalf("%s failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
			}
		}
		last = fmt.Sprintf("%d of %d Pods are ready", ready, len(all))
		if ready == count && len(all) == count {
			return
		}
	}
	t.Fatal(last)
}

// everyEvent is what was told of the Node, a line each.
func (r *rig) everyEvent() string {
	r.Helper()
	all, err := r.c.Client.EventsV1().Events("").List(context.Background(), metav1.ListOptions{})
	r.must(err)
	var lines []string
	for _, e := range all.Items {
		if isAbout(&e, "Node", r.n.Name) {
			lines = append(lines, e.Reason+": "+e.Note)
		}
	}
	return strings.Join(lines, "\n")
}
