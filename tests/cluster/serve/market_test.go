package serve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"fairlead/tests/cluster"
)

// Parents, children, finalizers and claims of tests/run/demo_children.h on the real API server: two controllers share one
// Square, each of which plans for the Markets of one side.

const marketGroup = "demo.fairlead.test"

func markets(c *cluster.Cluster, plural string) dynamic.ResourceInterface {
	resource := c.Dynamic.Resource(schema.GroupVersionResource{Group: marketGroup, Version: "v1", Resource: plural})
	if plural == "squares" { // they have no namespace
		return resource
	}
	return resource.Namespace("default")
}

func marketObject(kind, name string, labels map[string]any, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": marketGroup + "/v1", "kind": kind,
		"metadata": map[string]any{"name": name, "labels": labels}, "spec": spec}}
}

func applyMarket(t *testing.T, c *cluster.Cluster, name, side string, goods ...any) {
	t.Helper()
	_, err := markets(c, "markets").Apply(t.Context(), name, marketObject("Market", name, map[string]any{"side": side}, map[string]any{"goods": append([]any{}, goods...)}),
		metav1.ApplyOptions{FieldManager: "person", Force: true})
	cluster.Must(t, err)
}

// revision is what orders all writes of one API server.
func revision(t *testing.T, o *unstructured.Unstructured) int {
	t.Helper()
	n, err := strconv.Atoi(o.GetResourceVersion())
	cluster.Must(t, err)
	return n
}

// history is all that a watch has told of the objects of a kind, in order.
type history struct {
	lock sync.Mutex
	all  []told
}

type told struct {
	what   string
	object *unstructured.Unstructured
}

func follow(t *testing.T, c *cluster.Cluster, plural string) *history {
	t.Helper()
	list, err := markets(c, plural).List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	watch, err := markets(c, plural).Watch(context.Background(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	cluster.Must(t, err)
	h := &history{}
	t.Cleanup(watch.Stop)
	go func() {
		for event := range watch.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				h.lock.Lock()
				h.all = append(h.all, told{string(event.Type), object})
				h.lock.Unlock()
			}
		}
	}()
	return h
}

func (h *history) so() []told {
	h.lock.Lock()
	defer h.lock.Unlock()
	return slices.Clone(h.all)
}

// first is the revision of the first event of an object of which this is true.
func (h *history) first(t *testing.T, name string, is func(told) bool) (found int) {
	t.Helper()
	until(t, "the event of "+name, func() (bool, string) {
		for _, one := range h.so() {
			if one.object.GetName() == name && is(one) {
				found = revision(t, one.object)
				return true, ""
			}
		}
		return false, "none"
	})
	return found
}

func stallsOf(t *testing.T, c *cluster.Cluster) (names []string) {
	t.Helper()
	list, err := markets(c, "stalls").List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	for _, one := range list.Items {
		names = append(names, one.GetName())
	}
	return names
}

func untilStalls(t *testing.T, c *cluster.Cluster, want ...string) {
	t.Helper()
	until(t, fmt.Sprint("stalls ", want), func() (bool, string) {
		is := stallsOf(t, c)
		return slices.Equal(is, want), fmt.Sprint(is)
	})
}

// untilSays waits for the reason and the words of a Market's condition, for its newest spec.
func untilSays(t *testing.T, c *cluster.Cluster, name, reason, words string) {
	t.Helper()
	until(t, "the condition of "+name, func() (bool, string) {
		got, err := markets(c, "markets").Get(t.Context(), name, metav1.GetOptions{})
		cluster.Must(t, err)
		conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
		if len(conditions) != 1 {
			return false, fmt.Sprint(conditions)
		}
		is := conditions[0].(map[string]any)
		return is["reason"] == reason && is["message"] == words && is["observedGeneration"] == got.GetGeneration(), fmt.Sprint(is)
	})
}

func holderOf(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	square, err := markets(c, "squares").Get(t.Context(), "s", metav1.GetOptions{})
	cluster.Must(t, err)
	market, _, _ := unstructured.NestedString(square.Object, "spec", "market")
	return market
}

func patchMarket(t *testing.T, c *cluster.Cluster, plural, name, patch string) {
	t.Helper()
	_, err := markets(c, plural).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	cluster.Must(t, err)
}

func installMarkets(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	text, err := c.Command(t.Context(), program(t, "tests", "cmd", "demo_controller"), "market-crds").Output()
	cluster.Must(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		cluster.Must(t, c.Apply(t.Context(), line))
	}
	for _, plural := range []string{"markets", "stalls", "squares"} {
		until(t, plural, func() (bool, string) {
			_, err := markets(c, plural).List(t.Context(), metav1.ListOptions{})
			return err == nil, fmt.Sprint(err)
		})
		t.Cleanup(func() {
			c.Dynamic.Resource(crdResource).Delete(context.Background(), plural+"."+marketGroup, metav1.DeleteOptions{})
		})
	}
}

const finalizerPolicy = "fairlead-test-no-finalizer"

// refuseFinalizer has the API server refuse every finalizer of one Market.
func refuseFinalizer(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	t.Cleanup(func() { allowFinalizer(t, c) })
	cluster.Must(t, c.Apply(t.Context(), fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s},
spec: {matchConstraints: {resourceRules: [{apiGroups: [%[2]s], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [markets]}]},
validations: [{expression: "!has(object.metadata.finalizers) || !object.metadata.name.startsWith('%[3]s')", message: no finalizer here}]}}`,
		finalizerPolicy, marketGroup, name)))
	cluster.Must(t, c.Apply(t.Context(), fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding,
metadata: {name: %[1]s}, spec: {policyName: %[1]s, validationActions: [Deny]}}`, finalizerPolicy)))
	probe := marketObject("Market", name+"-probe", nil, map[string]any{"goods": []any{}})
	probe.SetFinalizers([]string{"demo.fairlead.test/probe"})
	until(t, "the policy", func() (bool, string) {
		_, err := markets(c, "markets").Create(t.Context(), probe.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no finalizer here"), fmt.Sprint(err)
	})
}

func allowFinalizer(t *testing.T, c *cluster.Cluster) {
	ctx, policies := context.Background(), c.Client.AdmissionregistrationV1()
	for _, err := range []error{
		policies.ValidatingAdmissionPolicyBindings().Delete(ctx, finalizerPolicy, metav1.DeleteOptions{}),
		policies.ValidatingAdmissionPolicies().Delete(ctx, finalizerPolicy, metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

func TestMarkets(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{Controllers: true})
	installMarkets(t, c)
	a := startRole(t, c, "markets", "--lead=false", "--labels", "side=a")
	b := startRole(t, c, "markets", "--lead=false", "--labels", "side=b")
	for _, d := range []*controller{a, b} {
		d.untilReady(200, "ready")
	}
	seen, stalls, squares := follow(t, c, "markets"), follow(t, c, "stalls"), follow(t, c, "squares")

	applyMarket(t, c, "m", "a", "figs", "nuts")
	step(t, "its children name it, and its status is of its generation", func(t *testing.T) {
		untilSays(t, c, "m", "AllStalls", "2 of 2 stalls")
		market, err := markets(c, "markets").Get(t.Context(), "m", metav1.GetOptions{})
		cluster.Must(t, err)
		for _, name := range []string{"m-figs", "m-nuts"} {
			stall, err := markets(c, "stalls").Get(t.Context(), name, metav1.GetOptions{})
			cluster.Must(t, err)
			yes := true
			want := metav1.OwnerReference{APIVersion: marketGroup + "/v1", Kind: "Market", Name: "m", UID: market.GetUID(), Controller: &yes,
				BlockOwnerDeletion: &yes}
			if owners := stall.GetOwnerReferences(); len(owners) != 1 || fmt.Sprint(metav1.GetControllerOf(stall)) != fmt.Sprint(&want) {
				t.Errorf("%s: %+v", name, owners)
			}
		}
	}, &a)
	step(t, "while its finalizer is refused no child is made", func(t *testing.T) {
		refuseFinalizer(t, c, "h")
		applyMarket(t, c, "h", "a", "figs")
		until(t, "the refusal", func() (bool, string) {
			_, body := a.get("/explain?kind=Market&namespace=default&name=h")
			return strings.Contains(body, "no finalizer here"), body
		})
		a.untilAlive()
		if is := stallsOf(t, c); slices.Contains(is, "h-figs") {
			t.Errorf("stalls: %q", is)
		}
		allowFinalizer(t, c)
		untilSays(t, c, "h", "AllStalls", "1 of 1 stalls")
		cluster.Must(t, markets(c, "markets").Delete(t.Context(), "h", metav1.DeleteOptions{}))
		untilStalls(t, c, "m-figs", "m-nuts")
	}, &a)
	step(t, "another's object of a child's name is left, and told; the child is made when it is gone", func(t *testing.T) {
		_, err := markets(c, "stalls").Create(t.Context(), marketObject("Stall", "m-plums", nil, map[string]any{"sells": "hats"}), metav1.CreateOptions{})
		cluster.Must(t, err)
		applyMarket(t, c, "m", "a", "figs", "nuts", "plums")
		untilSays(t, c, "m", "StallTaken", "m-plums is that of somebody who has set no controller: delete it, or sell something else")
		cluster.Must(t, markets(c, "stalls").Delete(t.Context(), "m-plums", metav1.DeleteOptions{}))
		untilSays(t, c, "m", "AllStalls", "3 of 3 stalls")
	}, &a)
	step(t, "what is not wanted any more goes, what is not its own stays", func(t *testing.T) {
		_, err := markets(c, "stalls").Create(t.Context(), marketObject("Stall", "free", nil, map[string]any{"sells": "hats"}), metav1.CreateOptions{})
		cluster.Must(t, err)
		applyMarket(t, c, "m", "a", "nuts")
		untilStalls(t, c, "free", "m-nuts")
	}, &a)
	applyMarket(t, c, "n", "b")
	_, err := markets(c, "squares").Create(t.Context(), marketObject("Square", "s", nil, map[string]any{}), metav1.CreateOptions{})
	cluster.Must(t, err)
	step(t, "of two who claim at the same version one is refused with 409, and the other has it", func(t *testing.T) {
		refused := func() float64 {
			return a.sum("fairlead_writes_total", "kind=Square", "outcome=conflict") + b.sum("fairlead_writes_total", "kind=Square", "outcome=conflict")
		}
		for round := 0; round < 50; round++ { // both are told at a time, and one may be too late to claim
			until(t, "a holder", func() (bool, string) { is := holderOf(t, c); return is == "m" || is == "n", is })
			a.atRest()
			b.atRest()
			if refused() > 0 {
				return
			}
			patchMarket(t, c, "squares", "s", `{"spec":{"market":null}}`)
		}
		t.Error("no claim was refused")
	}, &a, &b)
	step(t, "no claim took it from the other", func(t *testing.T) {
		holder := ""
		for _, one := range squares.so() {
			next, _, _ := unstructured.NestedString(one.object.Object, "spec", "market")
			if holder != "" && next != "" && next != holder {
				t.Errorf("at %s it went from %s to %s", one.object.GetResourceVersion(), holder, next)
			}
			holder = next
		}
	})
	step(t, "a parent that goes stays until its last child is gone, and the square is free before", func(t *testing.T) {
		patchMarket(t, c, "stalls", "m-nuts", `{"metadata":{"finalizers":["demo.fairlead.test/slow"]}}`)
		cluster.Must(t, markets(c, "markets").Delete(t.Context(), "m", metav1.DeleteOptions{}))
		until(t, "the child that goes", func() (bool, string) {
			stall, err := markets(c, "stalls").Get(t.Context(), "m-nuts", metav1.GetOptions{})
			cluster.Must(t, err)
			return stall.GetDeletionTimestamp() != nil, "it does not"
		})
		until(t, "the other holder", func() (bool, string) { is := holderOf(t, c); return is == "n", is })
		a.atRest()
		market, err := markets(c, "markets").Get(t.Context(), "m", metav1.GetOptions{})
		cluster.Must(t, err)
		if market.GetDeletionTimestamp() == nil || len(market.GetFinalizers()) != 1 {
			t.Errorf("%+v", market.Object["metadata"])
		}
		patchMarket(t, c, "stalls", "m-nuts", `{"metadata":{"finalizers":null}}`)
		until(t, "the end of m", func() (bool, string) {
			_, err := markets(c, "markets").Get(t.Context(), "m", metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
		isDeleted := func(one told) bool { return one.what == "DELETED" }
		if child, parent := stalls.first(t, "m-nuts", isDeleted), seen.first(t, "m", isDeleted); child > parent {
			t.Errorf("the child ended at %d, its parent at %d", child, parent)
		}
		untilStalls(t, c, "free")
	}, &a)
}
