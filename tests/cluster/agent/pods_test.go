package agent

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// Kubernetes' device_plugin_test.go:220 and :281, and R61: what nobody has asked for is nobody's.
func TestAPodSeesItsCardsAndCannotOpenAnother(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("two", 2))
	r.runs(sleeper("none", 0))
	ids := r.listed()["two/main"]
	if len(ids) != 2 || !strings.HasPrefix(ids[0], "GPU-") {
		t.Fatalf("PodResources says that it has %q", ids)
	}
	cards := r.cards("two", "main")
	if len(cards) != 2 {
		t.Fatalf("it sees %q", cards)
	}
	all := strings.Fields(r.in("two", "main", "cd /dev && ls -d nvidia*"))
	for _, common := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		if !slices.Contains(all, common) {
			t.Errorf("it does not see %s: %q", common, all)
		}
	}
	if seen := r.cards("none", "main"); len(seen) != 0 {
		t.Errorf("a Pod that asks for none sees %q", seen)
	}
	for minor := range 8 {
		name := "nvidia" + string(rune('0'+minor))
		own := slices.Contains(cards, name)
		// A granted one is there for the kernel, which has no such device; one that is not granted is refused.
		want := map[bool]string{true: "No such device or address", false: "Operation not permitted"}
		for pod, granted := range map[string]bool{"two": own, "none": false} {
			said := r.in(pod, "main", "mknod /tmp/"+name+" c 195 "+name[6:]+" 2>&1; cat /tmp/"+name+" 2>&1; rm -f /tmp/"+name)
			if !strings.Contains(said, want[granted]) {
				t.Errorf("%s opens %s, granted %v: %q", pod, name, granted, said)
			}
		}
	}
}

func TestTwoContainersHaveACardEach(t *testing.T) {
	r := oneNode(t)
	pod := sleeper("pair", 1)
	other := *pod.Spec.Containers[0].DeepCopy()
	other.Name = "other"
	pod.Spec.Containers = append(pod.Spec.Containers, other)
	r.runs(pod)
	a, b := r.cards("pair", "main"), r.cards("pair", "other")
	if len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("they see %q and %q", a, b)
	}
	if r.only("pair/main") == r.only("pair/other") {
		t.Error("the kubelet says that both have the same")
	}
}

// device_plugin_test.go:692: an init container's card goes on to the app; one that keeps running keeps its own.
func TestInitContainersShareTheirCardAndThoseThatKeepRunningDoNot(t *testing.T) {
	r := oneNode(t)
	pod := sleeper("inits", 1)
	first, side := *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy()
	first.Name, first.Command = "first", []string{"sh", "-c", "ls -d /dev/nvidia[0-9]*"}
	always := corev1.ContainerRestartPolicyAlways
	side.Name, side.RestartPolicy = "side", &always
	pod.Spec.InitContainers = []corev1.Container{first, side}
	r.runs(pod)
	log, err := r.c.Kubectl(cluster.Within(t, moment), "logs", "inits", "-c", "first")
	r.must(err)
	inits, sides, mains := strings.TrimPrefix(strings.TrimSpace(log), "/dev/"), r.cards("inits", "side"), r.cards("inits", "main")
	if len(sides) != 1 || len(mains) != 1 || sides[0] == mains[0] {
		t.Errorf("the one that keeps running sees %q, the app %q", sides, mains)
	}
	if inits != mains[0] && inits != sides[0] {
		t.Errorf("the init container's GPU %q is nobody's: %q, %q", inits, sides, mains)
	}
	if listed := r.listed(); listed["inits/first"] != nil || len(listed["inits/side"]) != 1 {
		t.Errorf("PodResources lists %v", listed)
	}
}

// One card, ten shares: two Pods see the same one, and the kubelet knows them apart.
func TestSharesOfACardAreHandedOut(t *testing.T) {
	r := oneNode(t)
	const file = "/etc/fairlead-shares.yaml"
	r.must(r.n.WriteFile(file, []byte("version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 10}\n"), 0o644))
	r.replaced("--config-file="+file, "--shared-devices-allocation-policy=packed")
	r.hasGPUs(80, 80)
	r.runs(sleeper("share-1", 1))
	r.runs(sleeper("share-2", 1))
	one, two := r.only("share-1/main"), r.only("share-2/main")
	card, share, ok := strings.Cut(one, "::")
	if !ok || share == "" || !strings.HasPrefix(two, card+"::") || one == two {
		t.Errorf("they have %q and %q, which should be two shares of one GPU", one, two)
	}
	if a, b := r.cards("share-1", "main"), r.cards("share-2", "main"); len(a) != 1 || !slices.Equal(a, b) {
		t.Errorf("they see %q and %q", a, b)
	}
}

func TestContainersGetCardsByOtherStrategies(t *testing.T) {
	r := oneNode(t)
	for _, row := range []struct{ strategy, env string }{
		{"envvar", "NVIDIA_VISIBLE_DEVICES=GPU-"},
		{"device-specs", ""},
		{"volume-mounts", "NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"},
		{"cdi-annotations", ""},
	} {
		t.Run(row.strategy, func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			flags := []string{"--device-list-strategy=" + row.strategy}
			if row.strategy == "volume-mounts" {
				flags = append(flags, "--pass-device-specs=true")
			}
			r.replaced(flags...)
			r.ready()
			r.hasGPUs(8, 8)
			name := "by-" + row.strategy
			r.runs(sleeper(name, 1))
			if cards := r.cards(name, "main"); len(cards) != 1 {
				t.Errorf("it sees %q", cards)
			}
			if env := r.in(name, "main", "env"); !strings.Contains(env, row.env) {
				t.Errorf("its environment is\n%s", env)
			}
			r.must(r.c.DeletePod(cluster.Within(t, moment), name))
		})
	}
}

// device_plugin_test.go:465: what has ended stays as it ended, whatever is restarted.
func TestAPodThatHasEndedStaysSo(t *testing.T) {
	r := oneNode(t)
	pod := sleeper("short", 1)
	pod.Spec.Containers[0].Command = []string{"true"}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	r.removes("short")
	_, err := r.c.Client.CoreV1().Pods("default").Create(t.Context(), pod, create)
	r.must(err)
	r.must(r.c.WaitPodPhase(cluster.Within(t, moment), "short", corev1.PodSucceeded))
	r.must(r.agent.Kill(t.Context()))
	r.must(r.n.Kubelet.Restart(t.Context()))
	r.must(r.agent.Start(t.Context()))
	r.ready()
	r.hasGPUs(8, 8)
	r.must(r.c.WaitPodPhase(cluster.Within(t, moment), "short", corev1.PodSucceeded))
	if ids := r.listed()["short/main"]; ids != nil {
		t.Errorf("PodResources says that it still has %q", ids)
	}
}
