package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const (
	small = corev1.ResourceName("nvidia.com/mig-1g.10gb")
	large = corev1.ResourceName("nvidia.com/mig-3g.40gb")
)

// partition is a part of a card, as the fake driver shows it.
type partition struct {
	profile, gi, ci string
	caps            []string // its device nodes: nvidia-cap30
}

// follows has the driver's device nodes follow its partitions a moment later, as on a real node, until whole has ended them at
// the end of the test. It is what the node has below /.
func (r *rig) follows(whole func()) (seen string) {
	r.Helper()
	seen = filepath.Join(r.c.Dir(), "gpus", r.n.Name, "root")
	end, err := gpus.Follow(context.Background(), r.n)
	r.must(err)
	r.Cleanup(func() {
		whole()
		until(r, "no capability is left of a GPU's", func() (bool, string) {
			left, _ := filepath.Glob(seen + "/proc/driver/nvidia/capabilities/gpu*/mig/gi*/access")
			return len(left) == 0, strings.Join(left, " ")
		})
		end()
	})
	return seen
}

// cut switches MIG on for the first card and makes partitions of these profiles. The card is whole again at the end of the
// test.
func (r *rig) cut(profiles ...string) map[string]partition {
	r.Helper()
	seen := r.follows(func() { r.say("mig", "0", "off") })
	r.say("mig", "0", "on")
	program, err := gpus.Program("tests", "fake", "partition")
	r.must(err)
	words := append([]string{seen + "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "0"}, profiles...)
	if said, err := exec.Command(program, words...).CombinedOutput(); err != nil {
		r.Fatalf("%v: %v\n%s", words, err, said)
	}
	all, err := gpus.Say(context.Background(), r.n, "show")
	r.must(err)
	parts := map[string]partition{}
	minor := ""
	for _, line := range strings.Split(all, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) > 5 && f[0] == "gpu" && f[1] == "0":
			minor = f[5]
		case len(f) > 7 && f[0] == "mig" && strings.HasPrefix(f[1], "0:"):
			p := partition{profile: f[3], gi: f[5], ci: f[7]}
			for _, file := range []string{"gi" + p.gi, "gi" + p.gi + "/ci" + p.ci} {
				p.caps = append(p.caps, r.capability(seen+"/proc/driver/nvidia/capabilities/gpu"+minor+"/mig/"+file+"/access"))
			}
			slices.Sort(p.caps)
			parts[f[2]] = p
		}
	}
	if len(parts) != len(profiles) {
		r.Fatalf("there are %d partitions, not %d:\n%s", len(parts), len(profiles), all)
	}
	return parts
}

// capability is the device node that a file of the driver's in /proc names.
func (r *rig) capability(file string) (node string) {
	r.Helper()
	until(r, file, func() (bool, string) {
		text, err := os.ReadFile(file)
		var minor int
		if err == nil {
			_, err = fmt.Sscanf(string(text), "DeviceFileMinor: %d", &minor)
		}
		node = fmt.Sprint("nvidia-cap", minor)
		return err == nil, fmt.Sprint(err)
	})
	return node
}

// partOf describes a Pod that holds partitions.
func partOf(name string, resource corev1.ResourceName) *corev1.Pod {
	pod := sleeper(name, 0)
	pod.Spec.Containers[0].Resources = wants(resource, 1)
	return pod
}

// caps are the capabilities that a container sees.
func (r *rig) caps(pod string) []string {
	r.Helper()
	caps := strings.Fields(r.in(pod, "main", "ls /dev/nvidia-caps 2>/dev/null || true"))
	slices.Sort(caps)
	return caps
}

// A card that is cut: its parts are resources of their own, a container sees the card's device node, the two capabilities
// of its part and no other, and cannot open those of a neighbour. One part that fails leaves alone.
func TestAPodSeesItsPartOfACardAndCannotOpenAnother(t *testing.T) {
	r := oneNode(t)
	r.heals()
	r.replaced("--mig-strategy=mixed")
	parts := r.cut("1g.10gb", "1g.10gb", "3g.40gb")
	r.has(small, 2, 2)
	r.has(large, 1, 1)
	r.within(moment).hasGPUs(7, 7)

	r.runs(partOf("part", small))
	r.runs(partOf("other", small))
	r.runs(partOf("wide", large))
	id := r.only("part/main")
	for _, pod := range []string{"part", "other", "wide"} {
		part, ok := parts[r.only(pod+"/main")]
		if !ok {
			t.Fatalf("%s has %s, which is no partition of %v", pod, r.only(pod+"/main"), parts)
		}
		if caps := r.caps(pod); !slices.Equal(caps, part.caps) {
			t.Errorf("%s sees %q, its part has %q", pod, caps, part.caps)
		}
		if cards := r.cards(pod, "main"); len(cards) != 1 {
			t.Errorf("%s sees the GPUs %q", pod, cards)
		}
		if env := r.in(pod, "main", "env | grep ^NVIDIA_VISIBLE_DEVICES= || true"); env != "NVIDIA_VISIBLE_DEVICES=void" {
			t.Errorf("%s is told %q", pod, env)
		}
		for uuid, other := range parts {
			for _, node := range other.caps {
				want := map[bool]string{true: "No such device or address", false: "Operation not permitted"}[slices.Contains(part.caps, node)]
				said := r.in(pod, "main", "mknod /tmp/cap c 121 "+strings.TrimPrefix(node, "nvidia-cap")+" 2>&1; cat /tmp/cap 2>&1; rm -f /tmp/cap")
				if !strings.Contains(said, want) {
					t.Errorf("%s opens %s of %s: %q, and not %q", pod, node, uuid, said, want)
				}
			}
		}
	}
	if r.only("other/main") == id {
		t.Error("two Pods have one part")
	}

	r.say("xid", "0", "95", parts[id].gi, parts[id].ci)
	r.has(small, 1, 2)
	r.health("part", id, "Unhealthy")
	r.event("Pod", "part", "Xid95")
	r.has(large, 1, 1)
	r.hasGPUs(7, 7)
	r.within(moment*2).has(small, 2, 2)
	for _, pod := range []string{"part", "other", "wide"} {
		r.undisturbed(pod)
		r.must(r.c.DeletePod(cluster.Within(t, moment), pod))
	}
}

// Parts of a card, each handed out several times.
func TestSharesOfAPartOfACardAreHandedOut(t *testing.T) {
	r := oneNode(t)
	const file = "/etc/fairlead-mig-shares.yaml"
	r.must(r.n.WriteFile(file, []byte("version: v1\nflags: {migStrategy: mixed}\nsharing:\n  timeSlicing:\n    resources:\n"+
		"    - {name: nvidia.com/mig-1g.10gb, replicas: 4}\n"), 0o644))
	r.replaced("--config-file="+file, "--shared-devices-allocation-policy=packed")
	parts := r.cut("1g.10gb", "1g.10gb")
	r.has(small, 8, 8)
	r.hasGPUs(7, 7)
	r.runs(partOf("share-1", small))
	r.runs(partOf("share-2", small))
	one, two := r.only("share-1/main"), r.only("share-2/main")
	part, share, ok := strings.Cut(one, "::")
	if !ok || share == "" || !strings.HasPrefix(two, part+"::") || one == two {
		t.Errorf("they have %q and %q, which should be two shares of one part", one, two)
	}
	for _, pod := range []string{"share-1", "share-2"} {
		if caps := r.caps(pod); !slices.Equal(caps, parts[part].caps) {
			t.Errorf("%s sees %q, its part has %q", pod, caps, parts[part].caps)
		}
		r.must(r.c.DeletePod(cluster.Within(t, moment), pod))
	}
}
