package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

// The whole loop on the real API server, with the capability of tests/kube/driver_loop.c: a Gadget wants a ConfigMap
// with its text and a taint on its Node, and says in its status what is so.

func gadget(t *testing.T, c *cluster.Cluster, space, name, spec string) {
	t.Helper()
	cluster.Must(t, c.Apply(t.Context(), fmt.Sprintf("{apiVersion: test.fairlead.dev/v1, kind: Gadget, metadata: {name: %s, namespace: %s}, spec: %s}",
		name, space, spec)))
}

func dropGadget(t *testing.T, c *cluster.Cluster, space, name string) {
	t.Helper()
	cluster.Must(t, c.Dynamic.Resource(gadgetResource).Namespace(space).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

func theGadget(t *testing.T, c *cluster.Cluster, space, name string) *unstructured.Unstructured {
	t.Helper()
	g, err := c.Dynamic.Resource(gadgetResource).Namespace(space).Get(t.Context(), name, metav1.GetOptions{})
	cluster.Must(t, err)
	return g
}

func condition(g *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(g.Object, "status", "conditions")
	for _, one := range conditions {
		if m := one.(map[string]any); m["type"] == kind {
			return m
		}
	}
	return nil
}

// says waits until the Gadget's ConfigMap says so.
func says(t *testing.T, c *cluster.Cluster, space, name, text string) {
	t.Helper()
	until(t, moment, "the ConfigMap of "+name, func() (bool, string) {
		m, err := c.Client.CoreV1().ConfigMaps(space).Get(t.Context(), "gadget-"+name, metav1.GetOptions{})
		return err == nil && m.Data["text"] == text, fmt.Sprint(m.Data, err)
	})
}

// settled waits until its status answers the spec as it is, and says that all is well.
func settled(t *testing.T, c *cluster.Cluster, space, name string) *unstructured.Unstructured {
	t.Helper()
	var g *unstructured.Unstructured
	until(t, moment, "the status of "+name, func() (bool, string) {
		g = theGadget(t, c, space, name)
		seen, _, _ := unstructured.NestedInt64(g.Object, "status", "observedGeneration")
		m := condition(g, "Mirrored")
		return seen == g.GetGeneration() && m != nil && m["status"] == "True", fmt.Sprint(g.Object["status"])
	})
	return g
}

func node(t *testing.T, c *cluster.Cluster, name string, taints ...corev1.Taint) {
	t.Helper()
	_, err := c.Client.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}, metav1.CreateOptions{})
	cluster.Must(t, err)
}

// taintsOf gives key=value of each.
func taintsOf(t *testing.T, c *cluster.Cluster, name string) map[string]string {
	t.Helper()
	n, err := c.Client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	cluster.Must(t, err)
	out := map[string]string{}
	for _, taint := range n.Spec.Taints {
		out[taint.Key] = taint.Value
	}
	return out
}

const ourTaint = "test.fairlead.dev/gadget"

func loop(t *testing.T, c *cluster.Cluster, space string) *driver {
	t.Helper()
	return run(t, c, c.Kubeconfig(), "loop", "space="+space)
}

// rests waits until nothing was planned or written for a while, and gives how much was.
func rests(t *testing.T, d *driver) (lines []string) {
	t.Helper()
	for quiet := 0; quiet < 50; time.Sleep(20 * time.Millisecond) {
		now := d.all()
		if quiet++; len(now) != len(lines) {
			lines, quiet = now, 0
		}
	}
	return lines
}

func TestTheLoop(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	defineGadgets(t, c)
	ns := space(t, c, "loop")
	maps := c.Client.CoreV1().ConfigMaps(ns)
	d, outer := loop(t, c, ns), t
	patch := func(name, body string, how ...string) {
		t.Helper()
		_, err := c.Dynamic.Resource(gadgetResource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType, []byte(body),
			metav1.PatchOptions{}, how...)
		cluster.Must(t, err)
	}

	t.Run("a wish becomes an object and a status that answers it", func(t *testing.T) {
		gadget(t, c, ns, "a", "{text: one}")
		says(t, c, ns, "a", "one")
		g := settled(t, c, ns, "a")
		if g.GetGeneration() != 1 {
			t.Errorf("its generation is %d: our status has counted as a change of its spec", g.GetGeneration())
		}
	})
	t.Run("each field has the manager that its owner is called", func(t *testing.T) {
		m, err := maps.Get(t.Context(), "gadget-a", metav1.GetOptions{})
		cluster.Must(t, err)
		if len(m.ManagedFields) != 1 || m.ManagedFields[0].Manager != "driver-map" || m.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("the ConfigMap has %+v", m.ManagedFields)
		}
		for _, of := range theGadget(t, c, ns, "a").GetManagedFields() {
			if of.Manager == "driver-status" && of.Subresource != "status" {
				t.Errorf("the Gadget has %+v", of)
			}
		}
	})
	t.Run("the condition's flip is one Event, in the words of kubectl", func(t *testing.T) {
		until(t, moment, "the Event", func() (bool, string) {
			text, err := c.Kubectl(t.Context(), "get", "events", "-n", ns, "--no-headers")
			return strings.Count(text, "gadget/a") == 1 && strings.Contains(text, "Normal") && strings.Contains(text, "Same"), fmt.Sprint(text, err)
		})
	})
	t.Run("a changed wish is followed, and answered by its generation", func(t *testing.T) {
		patch("a", `{"spec":{"text":"two"}}`)
		says(t, c, ns, "a", "two")
		if g := settled(t, c, ns, "a"); g.GetGeneration() != 2 {
			t.Errorf("its generation is %d", g.GetGeneration())
		}
	})
	t.Run("a status written as a part of the object is passed over by the server, and by us", func(t *testing.T) {
		before := settled(t, c, ns, "a").GetResourceVersion()
		patch("a", `{"status":{"observedGeneration":77}}`)
		if got := theGadget(t, c, ns, "a").GetResourceVersion(); got != before {
			t.Errorf("version %s became %s", before, got)
		}
	})
	t.Run("a status that somebody else writes is set right", func(t *testing.T) {
		patch("a", `{"status":{"observedGeneration":77}}`, "status")
		settled(t, c, ns, "a")
	})
	t.Run("a condition that somebody else adds stays", func(t *testing.T) {
		cluster.Must(t, applyStatus(t, c, ns, "a", "theirs", `{"conditions":[{"type":"Theirs","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`))
		patch("a", `{"spec":{"text":"three"}}`)
		says(t, c, ns, "a", "three")
		if g := settled(t, c, ns, "a"); condition(g, "Theirs") == nil || condition(g, "Mirrored") == nil {
			t.Errorf("%v", g.Object["status"])
		}
	})
	t.Run("and goes alone", func(t *testing.T) {
		cluster.Must(t, applyStatus(t, c, ns, "a", "theirs", `{}`))
		if g := settled(t, c, ns, "a"); condition(g, "Theirs") != nil || condition(g, "Mirrored") == nil {
			t.Errorf("%v", g.Object["status"])
		}
	})
	t.Run("lastTransitionTime is kept while the status is the same", func(t *testing.T) {
		before := condition(settled(t, c, ns, "a"), "Mirrored")["lastTransitionTime"]
		time.Sleep(1100 * time.Millisecond)
		patch("a", `{"metadata":{"labels":{"x":"y"}}}`)
		rests(t, d)
		if got := condition(settled(t, c, ns, "a"), "Mirrored")["lastTransitionTime"]; got != before {
			t.Errorf("%v became %v", before, got)
		}
	})
	t.Run("what somebody changes is set right", func(t *testing.T) {
		_, err := maps.Patch(t.Context(), "gadget-a", types.MergePatchType, []byte(`{"data":{"text":"theirs","more":"stays"}}`), metav1.PatchOptions{})
		cluster.Must(t, err)
		says(t, c, ns, "a", "three")
	})
	t.Run("and what of it is not ours stays", func(t *testing.T) {
		m, err := maps.Get(t.Context(), "gadget-a", metav1.GetOptions{})
		cluster.Must(t, err)
		if m.Data["more"] != "stays" {
			t.Errorf("it holds %v", m.Data)
		}
	})
	t.Run("what somebody deletes is made again", func(t *testing.T) {
		drop(t, c, ns, "gadget-a")
		says(t, c, ns, "a", "three")
	})
	t.Run("explain prints the plan's words", func(t *testing.T) {
		from := len(d.all())
		d.tell("explain a")
		d.wait(from, moment, "the words", func(line string) bool {
			return strings.HasPrefix(line, "explained") && strings.Contains(line, "ConfigMap gadget-a should say 'three'")
		})
	})
	t.Run("at rest nothing is planned and nothing written", func(t *testing.T) {
		before := len(rests(t, d))
		time.Sleep(3 * time.Second)
		if got := d.all()[before:]; len(got) > 0 {
			t.Errorf("said %q", got)
		}
	})
	t.Run("other objects of the watched kinds cause no plan", func(t *testing.T) {
		before := len(rests(t, d))
		put(t, c, ns, "another", nil, "a", "b")
		drop(t, c, ns, "another")
		time.Sleep(500 * time.Millisecond)
		if got := d.all()[before:]; len(got) > 0 {
			t.Errorf("said %q", got)
		}
	})
	t.Run("200 wishes at once are exactly 200 objects by 200 writes", func(t *testing.T) {
		before := len(rests(t, d))
		var manifest strings.Builder
		for i := range 200 {
			fmt.Fprintf(&manifest, "---\n{apiVersion: test.fairlead.dev/v1, kind: Gadget, metadata: {name: many-%d, namespace: %s}, spec: {text: t%d}}\n", i, ns, i)
		}
		cluster.Must(t, c.Apply(t.Context(), manifest.String()))
		for i := range 200 {
			says(t, c, ns, fmt.Sprint("many-", i), fmt.Sprint("t", i))
		}
		if n := count(rests(t, d)[before:], "write want ConfigMap"); n != 200 {
			t.Errorf("%d writes", n)
		}
	})
	t.Run("a restart writes nothing", func(t *testing.T) {
		rests(t, d)
		d.signal(unix.SIGKILL)
		<-d.done
		d = loop(outer, c, ns) // for the rest of the test
		d.waitFor(0, moment, "plan")
		lines := rests(t, d)
		if n := count(lines, "write"); n != 0 || count(lines, "plan") < 201 {
			t.Errorf("%d plans, %d writes", count(lines, "plan"), n)
		}
	})
	t.Run("a wish that goes takes its object with it", func(t *testing.T) {
		dropGadget(t, c, ns, "a")
		until(t, moment, "the end of the ConfigMap", func() (bool, string) {
			_, err := maps.Get(t.Context(), "gadget-a", metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	})
}

func applyStatus(t *testing.T, c *cluster.Cluster, space, name, manager, status string) error {
	body := fmt.Sprintf(`{"apiVersion":"test.fairlead.dev/v1","kind":"Gadget","metadata":{"name":%q,"namespace":%q},"status":%s}`, name, space, status)
	_, err := c.Dynamic.Resource(gadgetResource).Namespace(space).Patch(t.Context(), name, types.ApplyPatchType, []byte(body),
		metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

func TestTaintsThatOthersChangeToo(t *testing.T) {
	t.Parallel()
	// A cluster of its own: the drivers of other tests know no Gadget of its name, and would take its taint out each time.
	c := cluster.NewForTest(t, cluster.Options{})
	defineGadgets(t, c)
	ns := space(t, c, "taints")
	node(t, c, "hammered", corev1.Taint{Key: "theirs", Value: "first", Effect: corev1.TaintEffectNoSchedule})
	d := loop(t, c, ns)
	ours := func(want string) {
		t.Helper()
		until(t, moment, "our taint", func() (bool, string) {
			taints := taintsOf(t, c, "hammered")
			return taints[ourTaint] == want, fmt.Sprint(taints)
		})
	}

	t.Run("ours comes beside theirs", func(t *testing.T) {
		gadget(t, c, ns, "g", "{text: t, node: hammered}")
		ours("g")
		if taintsOf(t, c, "hammered")["theirs"] != "first" {
			t.Errorf("%v", taintsOf(t, c, "hammered"))
		}
	})
	t.Run("taken away by somebody it comes again", func(t *testing.T) {
		_, err := c.Client.CoreV1().Nodes().Patch(t.Context(), "hammered", types.MergePatchType,
			[]byte(`{"spec":{"taints":[{"key":"theirs","value":"first","effect":"NoSchedule"}]}}`), metav1.PatchOptions{})
		cluster.Must(t, err)
		ours("g")
	})
	t.Run("another writer hammers: nothing of theirs is ever lost, and ours is there in the end", func(t *testing.T) {
		// They read, change their own and write what they read, as kubectl and controllers do; ours comes and goes meanwhile.
		var lost, conflicts int
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			want := "first"
			for i := 0; ctx.Err() == nil; i++ {
				n, err := c.Client.CoreV1().Nodes().Get(ctx, "hammered", metav1.GetOptions{})
				if err != nil {
					continue
				}
				for j := range n.Spec.Taints {
					if n.Spec.Taints[j].Key == "theirs" {
						if n.Spec.Taints[j].Value != want {
							lost++
						}
						n.Spec.Taints[j].Value = fmt.Sprint("v", i)
					}
				}
				if _, err = c.Client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{}); err == nil {
					want = fmt.Sprint("v", i)
				} else if apierrors.IsConflict(err) {
					conflicts++
				}
			}
		})
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf(`[{"op":"add","path":"/spec/taints/-","value":{"key":"extra-%d","effect":"NoSchedule"}}]`, i%1000)
				if _, err := c.Client.CoreV1().Nodes().Patch(ctx, "hammered", types.JSONPatchType, []byte(key), metav1.PatchOptions{}); err == nil && i < 1000 {
					continue
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		for i := range 20 {
			text := fmt.Sprintf(`{"spec":{"node":%q}}`, []string{"", "hammered"}[i%2])
			_, err := c.Dynamic.Resource(gadgetResource).Namespace(ns).Patch(t.Context(), "g", types.MergePatchType, []byte(text), metav1.PatchOptions{})
			cluster.Must(t, err)
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		all.Wait()
		ours("g")
		extra := 0
		for key := range taintsOf(t, c, "hammered") {
			if strings.HasPrefix(key, "extra-") {
				extra++
			}
		}
		writes := count(d.all(), "write ")
		t.Logf("%d conflicts of theirs, %d further taints, %d writes of ours", conflicts, extra, writes)
		if lost > 0 || extra < 10 || conflicts == 0 {
			t.Errorf("%d of their values were lost, %d of their taints are there, %d conflicts", lost, extra, conflicts)
		}
		for i := range extra {
			if _, there := taintsOf(t, c, "hammered")[fmt.Sprint("extra-", i)]; !there {
				t.Errorf("extra-%d was lost", i)
			}
		}
	})
	t.Run("ours goes alone", func(t *testing.T) {
		before := taintsOf(t, c, "hammered")
		dropGadget(t, c, ns, "g")
		ours("")
		now := taintsOf(t, c, "hammered") // a last one of theirs may have come meanwhile: its writer had been cancelled
		for key := range before {
			if _, there := now[key]; there == (key == ourTaint) {
				t.Errorf("%s: there %v; %v became %v", key, there, before, now)
			}
		}
	})
}

// A foreign manager takes our field again and again.
func TestAFieldThatAForeignManagerTakes(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	defineGadgets(t, c)
	ns := space(t, c, "contested")
	d := loop(t, c, ns)
	gadget(t, c, ns, "g", "{text: ours}")
	says(t, c, ns, "g", "ours")
	settled(t, c, ns, "g")
	ctx, cancel := context.WithCancel(t.Context())
	var foreign sync.WaitGroup
	taken := 0
	foreign.Go(func() {
		for ctx.Err() == nil {
			m, err := c.Client.CoreV1().ConfigMaps(ns).Get(ctx, "gadget-g", metav1.GetOptions{})
			if err == nil && m.Data["text"] == "ours" {
				body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"gadget-g"},"data":{"text":"theirs"}}`
				force := true
				if _, err = c.Client.CoreV1().ConfigMaps(ns).Patch(ctx, "gadget-g", types.ApplyPatchType, []byte(body),
					metav1.PatchOptions{FieldManager: "foreign", Force: &force}); err == nil {
					taken++
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var g *unstructured.Unstructured
	t.Run("is told as a condition, with what to look at", func(t *testing.T) {
		until(t, 30*time.Second, "the condition", func() (bool, string) {
			g = theGadget(t, c, ns, "g")
			return condition(g, "Contested") != nil, fmt.Sprint(g.Object["status"])
		})
		text, _ := json.Marshal(condition(g, "Contested"))
		for _, want := range []string{"data[text]", "driver-map", "managedFields"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("it says %s, without %q", text, want)
			}
		}
	})
	t.Run("is not fought over for ever", func(t *testing.T) {
		before := count(rests(t, d), "write want ConfigMap")
		time.Sleep(3 * time.Second)
		after := count(d.all(), "write want ConfigMap")
		if after != before || after < 3 || after > 8 {
			t.Errorf("%d writes, and %d more while it rests", before, after-before)
		}
		t.Logf("%d writes, taken %d times", after, taken)
	})
	t.Run("is an Event of warning", func(t *testing.T) {
		until(t, moment, "the Event", func() (bool, string) {
			text, err := c.Kubectl(t.Context(), "get", "events", "-n", ns, "--no-headers")
			return strings.Contains(text, "Warning") && strings.Contains(text, "TakenAway"), fmt.Sprint(text, err)
		})
	})
	t.Run("is explained", func(t *testing.T) {
		from := len(d.all())
		d.tell("explain g")
		d.wait(from, moment, "the words", func(line string) bool {
			return strings.HasPrefix(line, "explained") && strings.Contains(line, "reverted by another writer")
		})
	})
	cancel()
	foreign.Wait()
	t.Run("and a new wish ends the rest", func(t *testing.T) {
		gadget(t, c, ns, "g", "{text: anew}")
		says(t, c, ns, "g", "anew")
		until(t, moment, "the end of the condition", func() (bool, string) {
			g = theGadget(t, c, ns, "g")
			return condition(g, "Contested") == nil, fmt.Sprint(g.Object["status"])
		})
	})
}

// The kind that the loop is about comes late, goes, and comes again; and its API server is killed under load.
func TestTheLoopWithoutItsKindAndWithoutItsServer(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{})
	d := loop(t, c, "default")
	t.Run("before its kind is there it plans nothing", func(t *testing.T) {
		time.Sleep(2 * time.Second)
		if lines := d.all(); len(lines) != 0 {
			t.Errorf("said %q", lines)
		}
	})
	t.Run("when the kind comes it begins", func(t *testing.T) {
		defineGadgets(t, c)
		gadget(t, c, "default", "g", "{text: one}")
		says(t, c, "default", "g", "one")
		settled(t, c, "default", "g")
	})
	t.Run("when the kind vanishes with its objects it goes on living", func(t *testing.T) {
		_, err := c.Kubectl(t.Context(), "delete", "crd", "gadgets.test.fairlead.dev")
		cluster.Must(t, err)
		rests(t, d)
		if count(d.all(), "failed") > 0 {
			t.Errorf("said %q", d.all())
		}
	})
	t.Run("and when it comes again it converges again", func(t *testing.T) {
		defineGadgets(t, c)
		gadget(t, c, "default", "h", "{text: two}")
		says(t, c, "default", "h", "two")
		settled(t, c, "default", "h")
	})
	t.Run("killed again and again under load, everything converges", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		last := make([]int, 40)
		var all sync.WaitGroup
		all.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				n := i % len(last)
				body := fmt.Sprintf(`{"apiVersion":"test.fairlead.dev/v1","kind":"Gadget","metadata":{"name":"k-%d"},"spec":{"text":"v%d"}}`, n, i)
				force := true
				if _, err := c.Dynamic.Resource(gadgetResource).Namespace("default").Patch(ctx, fmt.Sprint("k-", n), types.ApplyPatchType, []byte(body),
					metav1.PatchOptions{FieldManager: "person", Force: &force}); err == nil {
					last[n] = i
				} else {
					time.Sleep(50 * time.Millisecond)
				}
			}
		})
		for range 2 {
			time.Sleep(time.Second)
			cluster.Must(t, c.APIServer.Kill(t.Context()))
			cluster.Must(t, c.APIServer.Start(t.Context()))
		}
		time.Sleep(time.Second)
		cancel()
		all.Wait()
		// What was written may have been written although nobody said so: what the server has is what counts.
		list, err := c.Dynamic.Resource(gadgetResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
		cluster.Must(t, err)
		for _, g := range list.Items {
			text, _, _ := unstructured.NestedString(g.Object, "spec", "text")
			says(t, c, "default", g.GetName(), text)
			settled(t, c, "default", g.GetName())
		}
		before := len(rests(t, d))
		time.Sleep(time.Second)
		if len(d.all()) != before {
			t.Errorf("it does not rest: %q", d.all()[before:])
		}
	})
}
