package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	turns = 5
	quiet = 1500 * time.Millisecond // for which nobody registers, and nothing changes
	soon  = 5 * time.Second
)

// ours and theirs wait until it is this one that serves, and that what it does is seen on the Node.
func (r *rig) ours(c *counted) {
	r.Helper()
	r.condition(corev1.ConditionTrue, "Ready")
	r.listensAt(1)
	c.stays(soon, quiet)
	r.hasGPUs(8, 8)
}

func (r *rig) theirs(c *counted) {
	r.Helper()
	// Theirs that fails to register once (the kubelet may have closed its connection with that of ours) waits for 30 s.
	untilWithin(r, time.Minute, "theirs serves, and ours does not", func() (bool, string) {
		said, sockets := r.gpusReady(), r.sockets()
		return strings.Contains(said, "is served by another plugin") && len(sockets) == 0, fmt.Sprint(said, sockets)
	})
	c.stays(soon, quiet)
	r.hasGPUs(8, 8)
}

// listensAt waits until ours has so many sockets.
func (r *rig) listensAt(count int) {
	r.Helper()
	until(r, "sockets of the agent's", func() (bool, string) {
		sockets := r.sockets()
		return len(sockets) == count, strings.Join(sockets, " ")
	})
}

// sockets are those of ours in the kubelet's folder.
func (r *rig) sockets() []string {
	r.Helper()
	sockets, err := filepath.Glob(r.n.Path("/var/lib/kubelet/device-plugins/fairlead-*.sock"))
	r.must(err)
	return sockets
}

// takes runs a Pod that gets a card which nobody else has.
func (r *rig) takes(pod string) {
	r.Helper()
	r.runs(sleeper(pod, 1))
	id := r.only(pod + "/main")
	for other, ids := range r.listed() {
		if other != pod+"/main" && slices.Contains(ids, id) {
			r.Errorf("%s and %s have %s", pod, other, id)
		}
	}
	r.sees(pod, id)
}

func (r *rig) sees(pod, id string) {
	r.Helper()
	if cards := r.cards(pod, "main"); len(cards) != 1 || cards[0] != r.node(id) {
		r.Errorf("%s has %s, which is %s, and sees %q", pod, id, r.node(id), cards)
	}
}

// kept says that a Pod still has its card.
func (r *rig) kept(pod, id string) {
	r.Helper()
	r.undisturbed(pod)
	if now := r.only(pod + "/main"); now != id {
		r.Errorf("%s has %s, and had %s", pod, now, id)
	}
	r.sees(pod, id)
}

// The kubelet's last registration wins, and the end of the stream before takes it away again: whichever order the two have
// it in, cards are handed out within seconds, and by one of them. Theirs is told to end, or is killed and leaves its
// socket behind.
func TestNVIDIAsPluginComesAndGoesWhileOursServes(t *testing.T) {
	r := oneNode(t)
	theirs, c := r.nvidias(), r.kubeletCounts()
	r.takes("kept")
	id := r.only("kept/main")
	for turn := range turns {
		r.must(theirs.Start(t.Context()))
		r.theirs(c)
		r.takes(fmt.Sprint("theirs-", turn))
		if turn%2 == 0 {
			r.must(theirs.Terminate(t.Context()))
		} else {
			r.must(theirs.Kill(t.Context()))
		}
		r.ours(c)
		r.kept("kept", id)
	}
	r.takes("ours")
	r.ready()
}

// Started while theirs serves, ours says so and stays out of its way, and ends without taking anything away. It takes over
// as soon as theirs has gone.
func TestOursComesAndGoesWhileNVIDIAsPluginServes(t *testing.T) {
	r := oneNode(t)
	theirs, c := r.nvidias(), r.kubeletCounts()
	r.must(theirs.Start(t.Context()))
	r.theirs(c)
	r.takes("kept")
	id := r.only("kept/main")
	for turn := range turns {
		before := r.registrations()
		r.must(r.agent.Terminate(t.Context()))
		r.must(r.agent.Start(t.Context()))
		r.theirs(c)
		r.ready()
		if after := r.registrations(); after != before {
			t.Errorf("turn %d: somebody has registered %d times, though theirs has served all the time", turn, after-before)
		}
		r.must(theirs.Terminate(t.Context()))
		r.ours(c)
		r.takes(fmt.Sprint("ours-", turn))
		r.kept("kept", id)
		if turn < turns-1 {
			r.must(theirs.Start(t.Context()))
			r.theirs(c)
		}
	}
}

// A kubelet that starts is registered with by both, in any order.
func TestTheKubeletRestartsWhileNVIDIAsPluginAndOursAreThere(t *testing.T) {
	r := oneNode(t)
	theirs, c := r.nvidias(), r.kubeletCounts()
	r.takes("kept")
	id := r.only("kept/main")
	r.must(theirs.Start(t.Context()))
	r.theirs(c)
	for range 3 {
		r.must(r.n.Kubelet.Kill(t.Context()))
		r.must(r.n.Kubelet.Start(t.Context()))
		r.theirs(c)
		r.kept("kept", id)
	}
	r.must(theirs.Terminate(t.Context()))
	r.ours(c)
	r.takes("next")
}

// Both write the same CDI file under the same names: what the kubelet was told by one of them is found by a container that
// starts anew while the other one serves.
func TestNVIDIAsPluginAndOursFindTheCDINamesOfOneAnother(t *testing.T) {
	r := oneNode(t)
	r.heals()
	c := r.kubeletCounts()
	theirs := r.nvidias("--device-list-strategy=cdi-cri", "--nvidia-cdi-hook-path=/bin/true") // there are no hooks here
	startsAnew := func(pod, id string, times int32) {
		r.toldToEnd(pod)
		r.restarted(pod, times)
		r.sees(pod, id)
	}
	r.runs(mortal("by-ours"))
	ours := r.only("by-ours/main")
	r.must(theirs.Start(t.Context()))
	r.theirs(c)
	r.runs(mortal("by-theirs"))
	other := r.only("by-theirs/main")
	r.sees("by-theirs", other)
	startsAnew("by-ours", ours, 1)
	r.must(theirs.Terminate(t.Context()))
	r.ours(c)
	startsAnew("by-theirs", other, 1)
	r.takes("next")
}
