package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// replacedWithin is how long after the agent has registered a Pod that waited for that may take until it runs. After a
// reboot the kubelet has its own share: it refuses Pods within a second and tells of it at its next beat, ten seconds
// after its start, and only then are there Pods in their place.
const (
	replacedWithin = 10 * time.Second
	kubeletsBeat   = 10 * time.Second
)

func labelled(name string) map[string]string { return map[string]string{"app": name} }

// daemonSet runs the agent as a DaemonSet until the end of the test.
func (r *rig) daemonSet() {
	r.Helper()
	r.asPods()
	pod := agentPod(r.n, "")
	grace := int64(10)
	pod.Spec.TerminationGracePeriodSeconds = &grace // it takes back what it has put there
	sets := r.c.Client.AppsV1().DaemonSets("default")
	_, err := sets.Create(r.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labelled("agent")},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled("agent")}, Spec: pod.Spec}}}, create)
	r.must(err)
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := r.c.Kubectl(ctx, "delete", "daemonset", "agent", "--cascade=foreground", "--wait")
		if err != nil {
			r.Error(err)
		}
	})
}

// agentsPod is the youngest Pod of the agent that serves, other than one.
func (r *rig) agentsPod(other string) (name string) {
	r.Helper()
	until(r, "another Pod of the agent that is ready", func() (bool, string) {
		pods := r.pods("agent")
		name = ""
		for _, pod := range pods {
			if pod.Name != other && pod.DeletionTimestamp == nil && isReady(&pod) {
				name = pod.Name
			}
		}
		return name != "", describe(pods)
	})
	return name
}

func (r *rig) pods(app string) []corev1.Pod {
	r.Helper()
	list, err := r.c.Client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{LabelSelector: "app=" + app})
	r.must(err)
	return list.Items
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func describe(pods []corev1.Pod) string {
	var all []string
	for _, pod := range pods {
		all = append(all, fmt.Sprintf("%s %s %s ready=%v leaving=%v", pod.Name, pod.Status.Phase, pod.Status.Reason, isReady(&pod),
			pod.DeletionTimestamp != nil))
	}
	return strings.Join(all, "; ")
}

// registers waits until an agent has put a socket into the kubelet's folder since a moment, and tells when: it registers
// with the next thing that it does.
func (r *rig) registers(since time.Time) (at time.Time) {
	r.Helper()
	until(r, "a socket of the agent's", func() (bool, string) {
		sockets, err := filepath.Glob(r.n.Path("/var/lib/kubelet/device-plugins/fairlead-*.sock"))
		r.must(err)
		at = time.Time{}
		for _, socket := range sockets {
			if info, err := os.Stat(socket); err == nil && info.ModTime().After(at) {
				at = info.ModTime()
			}
		}
		return at.After(since), fmt.Sprint(sockets, at)
	})
	return at
}

// Each user's container counts its cards before anything else, and ends with this when they are not two.
const wrongCards = 7

// users is a Deployment of Pods with two cards each.
func (r *rig) users(replicas int32) {
	r.Helper()
	pod := sleeper("user", 2)
	pod.Spec.Containers[0].Command = []string{"sh", "-c",
		fmt.Sprintf("n=$(ls -d /dev/nvidia[0-9]* 2>/dev/null | wc -l); [ $n = 2 ] || { echo it has $n GPUs; exit %d; }; echo runs; exec sleep 100000", wrongCards)}
	_, err := r.c.Client.AppsV1().Deployments("default").Create(r.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labelled("user")},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelled("user")}, Spec: pod.Spec}}}, create)
	r.must(err)
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := r.c.Kubectl(ctx, "delete", "deployment", "user", "--cascade=foreground", "--wait"); err != nil {
			r.Error(err)
		}
	})
}

// allRun waits until so many users run, and returns them.
func (r *rig) allRun(count int) (names []string) {
	r.Helper()
	until(r, fmt.Sprintf("%d users run", count), func() (bool, string) {
		pods := r.pods("user")
		names = nil
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil && isReady(&pod) {
				names = append(names, pod.Name)
			}
		}
		return len(names) == count, describe(pods)
	})
	slices.Sort(names)
	return names
}

// lastRan is when the last one of these users said that it runs.
func (r *rig) lastRan(names []string) (last time.Time) {
	r.Helper()
	for _, name := range names {
		said, err := r.c.Kubectl(r.Context(), "logs", name, "--timestamps")
		r.must(err)
		stamp, _, _ := strings.Cut(said, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		r.must(err)
		if at.After(last) {
			last = at
		}
	}
	return last
}

// eachHasItsCards holds what users see against what the kubelet says: nobody has what another one has.
func (r *rig) eachHasItsCards(names []string) {
	r.Helper()
	listed, seen := r.listed(), map[string]string{}
	for _, name := range names {
		var want []string
		for _, id := range listed[name+"/main"] {
			want = append(want, r.node(id))
		}
		slices.Sort(want)
		if cards := r.cards(name, "main"); len(cards) != 2 || !slices.Equal(cards, want) {
			r.Errorf("%s sees %q, the kubelet has given it %q", name, cards, want)
		}
		for _, card := range want {
			if seen[card] != "" {
				r.Errorf("%s and %s both have %s", seen[card], name, card)
			}
			seen[card] = name
		}
	}
}

// withoutAgent is what the kubelet says of a Pod that wants cards while there is no agent, or whose agent has gone between
// two steps of the Pod's admission: before Allocate is called, or while it is.
var withoutAgent = []string{"no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
	"cannot allocate unregistered device nvidia.com/gpu", "Insufficient nvidia.com/gpu",
	"has been stopped, which is unexpected", "code = Unavailable desc = connection error"}

// watchUsers tells at the end of the test of each Pod that has ever started with wrong cards, or that was refused for a
// reason that a plugin which is not there does not explain.
func (r *rig) watchUsers() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	watch, err := r.c.Client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{LabelSelector: "app=user"})
	r.must(err)
	var wait sync.WaitGroup
	bad, refused := map[string]string{}, map[string]string{}
	wait.Go(func() {
		for event := range watch.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			for _, status := range pod.Status.ContainerStatuses {
				for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
					if ended != nil && ended.ExitCode == wrongCards {
						bad[pod.Name] = "it started with wrong GPUs: " + ended.Message
					}
				}
			}
			if pod.Status.Phase == corev1.PodFailed {
				refused[pod.Name] = pod.Status.Reason + ": " + pod.Status.Message
			}
		}
	})
	r.Cleanup(func() {
		cancel()
		wait.Wait()
		for name, why := range bad {
			r.Errorf("%s: %s", name, why)
		}
		for name, why := range refused {
			if !slices.ContainsFunc(withoutAgent, func(words string) bool { return strings.Contains(why, words) }) {
				r.Errorf("%s: %s", name, why)
			}
		}
		r.Logf("%d Pods were refused while no agent was there: %v", len(refused), refused)
	})
}

// The agent as a DaemonSet: its Pod is deleted, the set is rolled either way, the node reboots. Pods that run are not
// disturbed, those that wait run within ten seconds of the new agent's registration, after a reboot within a beat of the
// kubelet's more, and none starts with a wrong card.
func TestTheAgentAsADaemonSetIsReplaced(t *testing.T) {
	r := oneNode(t)
	r.daemonSet()
	now := r.agentsPod("")
	r.hasGPUs(8, 8)
	r.watchUsers()
	r.users(4)
	r.allRun(4)
	roll := func(strategy string) func(r *rig) {
		return func(r *rig) {
			patch := fmt.Sprintf(`{"spec": {"updateStrategy": {"rollingUpdate": {%s}}, "template": {"metadata": {"annotations": {"at": "%v"}}}}}`,
				strategy, time.Now().UnixNano())
			_, err := r.c.Client.AppsV1().DaemonSets("default").Patch(r.Context(), "agent", types.StrategicMergePatchType, []byte(patch),
				metav1.PatchOptions{})
			r.must(err)
		}
	}
	for _, row := range []struct {
		says    string
		replace func(r *rig)
		reboot  bool
	}{
		{"its Pod is deleted", func(r *rig) {
			r.must(r.c.Client.CoreV1().Pods("default").Delete(r.Context(), now, metav1.DeleteOptions{}))
		}, false},
		{"its Pod is deleted and not waited for", func(r *rig) {
			zero := int64(0)
			r.must(r.c.Client.CoreV1().Pods("default").Delete(r.Context(), now, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		}, false},
		{"the set is rolled, the old one first", roll(`"maxUnavailable": 1, "maxSurge": 0`), false},
		{"the set is rolled, the new one first", roll(`"maxUnavailable": 0, "maxSurge": 1`), false},
		{"the node reboots", func(r *rig) { r.must(r.n.Reboot(r.Context())) }, true},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			before := r.allRun(4)
			began := time.Now()
			row.replace(r)
			victim := before[0]
			if row.reboot {
				r.must(r.c.WaitNodeReady(cluster.Within(t, time.Minute), "node-1", true))
				until(r, "the agent's Pod has started anew", func() (bool, string) {
					pods := r.pods("agent")
					return len(pods) == 1 && isReady(&pods[0]) && pods[0].Status.ContainerStatuses[0].RestartCount > 0 &&
						pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.After(began.Add(-time.Second)), describe(pods)
				})
			} else { // one user goes in the middle of it, and its replacement needs what it had
				r.must(r.c.Client.CoreV1().Pods("default").Delete(t.Context(), victim, metav1.DeleteOptions{}))
				now = r.agentsPod(now)
			}
			registered := r.registers(began)
			var after []string
			until(r, "the users are those of now", func() (bool, string) {
				after = r.allRun(4) // the one that was deleted is still there, and ready, for a moment
				return row.reboot || !slices.Contains(after, victim), fmt.Sprint(after)
			})
			took := r.lastRan(after).Sub(registered)
			t.Logf("registered %v after the beginning, all users run %v after that", registered.Sub(began), took)
			limit := replacedWithin
			if row.reboot {
				limit += kubeletsBeat
			}
			if took > limit {
				t.Errorf("it took %v", took)
			}
			r.eachHasItsCards(after)
			for _, name := range before {
				if name != victim && !row.reboot {
					r.undisturbed(name)
				}
			}
			r.within(time.Minute).hasGPUs(8, 8)
		})
	}
}

// TestTheInstallationOfTheDocs applies the files of docs/install as they are, but for the image, for where the fake driver is,
// and for their names, as the cluster has rights of that name already; and has the agent go again.
func TestTheInstallationOfTheDocs(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("before", 1))
	r.asPods()
	const name = "fairlead-docs"
	args := fmt.Sprintf("- --driver-root=%s\n            - --driver-root-ctr-path=/host%[1]s\n"+
		"            - --sysfs=/host%[1]s/sys\n            - --proc=/host%[1]s/proc\n", gpus.Root)
	changes := strings.NewReplacer("fairlead-node", name, "image: fairlead:latest", "image: "+agentImage,
		"- --driver-root-ctr-path=/host\n", args)
	for _, file := range []string{"rbac.yaml", "daemonset.yaml"} {
		text, err := os.ReadFile("../../../docs/install/" + file)
		r.must(err)
		path := filepath.Join(t.TempDir(), file)
		r.must(os.WriteFile(path, []byte(changes.Replace(string(text))), 0o644))
		r.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := r.c.Kubectl(ctx, "delete", "--cascade=foreground", "--ignore-not-found", "--wait", "-f", path); err != nil {
				r.Error(err)
			}
		})
		_, err = r.c.Kubectl(cluster.Within(t, moment), "apply", "-f", path)
		r.must(err)
	}
	until(r, "its Pod is ready", func() (bool, string) {
		list, err := r.c.Client.CoreV1().Pods("fairlead").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(list.Items) != 1 {
			return false, fmt.Sprint(err, describe(list.Items))
		}
		return isReady(&list.Items[0]), describe(list.Items)
	})
	r.hasGPUs(8, 8)
	r.runs(sleeper("after", 2))
	r.condition(corev1.ConditionTrue, "Ready")
	r.undisturbed("before")
	r.keepsToItsNode(name)
}
