package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead/tests/cluster"
)

// Deletion, with the real garbage collector behind it.
func TestDeletion(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{Controllers: true})
	maps := c.Client.CoreV1().ConfigMaps("default")
	// family makes an owner with two dependents; one of them is held by a finalizer.
	family := func(t *testing.T, name string) (owner *corev1.ConfigMap) {
		t.Helper()
		owner, err := maps.Create(t.Context(), configMap(name), metav1.CreateOptions{})
		cluster.Must(t, err)
		yes := true
		for _, child := range []string{"held", "free"} {
			m := configMap(name + "-" + child)
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID, BlockOwnerDeletion: &yes}}
			if child == "held" {
				m.Finalizers = []string{"test.fairlead.dev/hold"}
			}
			_, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
			cluster.Must(t, err)
		}
		return owner
	}
	letGo := func(t *testing.T, name string) {
		t.Helper()
		_, err := maps.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		cluster.Must(t, err)
	}
	gone := func(t *testing.T, name string) {
		t.Helper()
		until(t, 30*time.Second, "the end of "+name, func() (bool, string) {
			m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(m, err)
		})
	}
	del := func(t *testing.T, name string, more ...string) string {
		t.Helper()
		last, _ := call(t, c, c.Kubeconfig(), append([]string{"delete", "kind=configmap", "space=default", "name=" + name}, more...)...)
		return last
	}
	ok := func(t *testing.T, last string) {
		t.Helper()
		if !strings.HasPrefix(last, "done 200") {
			t.Fatalf("said %q", last)
		}
	}

	t.Run("in the foreground the owner stays until those below are gone", func(t *testing.T) {
		t.Parallel()
		family(t, "fore")
		ok(t, del(t, "fore", "propagation=Foreground"))
		gone(t, "fore-free")
		m, err := maps.Get(t.Context(), "fore", metav1.GetOptions{})
		cluster.Must(t, err)
		if m.DeletionTimestamp == nil || len(m.Finalizers) != 1 || m.Finalizers[0] != "foregroundDeletion" {
			t.Errorf("%+v", m.ObjectMeta)
		}
		letGo(t, "fore-held")
		gone(t, "fore")
	})
	t.Run("in the background the owner goes first", func(t *testing.T) {
		t.Parallel()
		family(t, "back")
		ok(t, del(t, "back", "propagation=Background"))
		_, err := maps.Get(t.Context(), "back", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%v", err)
		}
		gone(t, "back-free")
		letGo(t, "back-held")
		gone(t, "back-held")
	})
	t.Run("orphans stay, without their owner", func(t *testing.T) {
		t.Parallel()
		family(t, "orphan")
		ok(t, del(t, "orphan", "propagation=Orphan"))
		gone(t, "orphan")
		m, err := maps.Get(t.Context(), "orphan-free", metav1.GetOptions{})
		cluster.Must(t, err)
		if len(m.OwnerReferences) != 0 {
			t.Errorf("%+v", m.OwnerReferences)
		}
		letGo(t, "orphan-held")
	})
	t.Run("a finalizer holds, and a watch tells of the end only at the end", func(t *testing.T) {
		t.Parallel()
		family(t, "hold")
		d := run(t, c, c.Kubeconfig(), "follow", "kind=configmap", "space=default", "fields=metadata.name=hold-held")
		from := d.waitFor(0, moment, "synced")
		ok(t, del(t, "hold-held"))
		from = d.waitFor(from, moment, "put default/hold-held")
		ok(t, del(t, "hold-held")) // again, while it goes
		letGo(t, "hold-held")
		d.waitFor(from, moment, "gone default/hold-held")
	})
	t.Run("the uid that was seen deletes", func(t *testing.T) {
		t.Parallel()
		owner := family(t, "uid")
		ok(t, del(t, "uid", "uid="+string(owner.UID)))
		gone(t, "uid")
	})
	t.Run("the uid of an object of the same name that is gone deletes nothing", func(t *testing.T) {
		t.Parallel()
		old, err := maps.Create(t.Context(), configMap("again"), metav1.CreateOptions{})
		cluster.Must(t, err)
		ok(t, del(t, "again"))
		_, err = maps.Create(t.Context(), configMap("again"), metav1.CreateOptions{})
		cluster.Must(t, err)
		if last := del(t, "again", "uid="+string(old.UID)); !strings.HasPrefix(last, "failed conflict 409 Conflict Operation cannot be fulfilled on ConfigMap \"again\": the UID in the precondition") {
			t.Errorf("said %q", last)
		}
		_, err = maps.Get(t.Context(), "again", metav1.GetOptions{})
		cluster.Must(t, err)
	})
	t.Run("the version that was seen deletes, an older one does not", func(t *testing.T) {
		t.Parallel()
		old, err := maps.Create(t.Context(), configMap("version"), metav1.CreateOptions{})
		cluster.Must(t, err)
		now, err := maps.Patch(t.Context(), "version", types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
		cluster.Must(t, err)
		if last := del(t, "version", "version="+old.ResourceVersion); !strings.HasPrefix(last, "failed conflict 409 Conflict Operation cannot be fulfilled") {
			t.Errorf("said %q", last)
		}
		ok(t, del(t, "version", "version="+now.ResourceVersion))
		gone(t, "version")
	})
	t.Run("both preconditions must hold", func(t *testing.T) {
		t.Parallel()
		m, err := maps.Create(t.Context(), configMap("both"), metav1.CreateOptions{})
		cluster.Must(t, err)
		if last := del(t, "both", "uid="+string(m.UID), "version=1"); !strings.HasPrefix(last, "failed conflict 409") {
			t.Errorf("said %q", last)
		}
		ok(t, del(t, "both", "uid="+string(m.UID), "version="+m.ResourceVersion))
	})
	t.Run("a namespace goes with all that is in it, and a watch tells of each", func(t *testing.T) {
		t.Parallel()
		space(t, c, "goes")
		for i := range 5 {
			put(t, c, "goes", fmt.Sprint("o-", i), nil)
		}
		d := run(t, c, c.Kubeconfig(), "follow", "kind=configmap", "space=goes")
		d.waitFor(0, moment, "synced")
		last, _ := call(t, c, c.Kubeconfig(), "delete", "kind=namespace", "name=goes")
		ok(t, last)
		until(t, 30*time.Second, "the end of all", func() (bool, string) {
			v := d.seen()
			return len(v.objects) == 0, fmt.Sprint(v.objects)
		})
		until(t, 30*time.Second, "the end of the namespace", func() (bool, string) {
			_, err := c.Client.CoreV1().Namespaces().Get(t.Context(), "goes", metav1.GetOptions{})
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	})
}

// Several managers on one object, beyond the table of TestCalls: a custom kind whose list-map the API server merges by
// the schema that our own table printed.
func TestManagersShareAnObject(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	defineGadgets(t, c)
	ns := space(t, c, "managers")
	gadget(t, c, ns, "g", "{text: t}")
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`, kind, status)
	}
	status := func(manager string, conditions ...string) []string {
		return []string{"apply", "kind=gadget", "space=" + ns, "name=g", "subresource=status", "manager=" + manager,
			`body={"apiVersion":"test.fairlead.dev/v1","kind":"Gadget","metadata":{"name":"g"},"status":{"conditions":[` +
				strings.Join(conditions, ",") + `]}}`}
	}
	for _, row := range []struct {
		says       string
		args       []string
		last       string
		has, hasNo string
	}{
		{"one manager's condition", status("one", condition("A", "True")), "done 200", `"type":"A"`, ""},
		{"another's beside it", status("two", condition("B", "True")), "done 200", `"type":"A"`, ""},
		{"each keeps the other's", status("one", condition("A", "False"), condition("C", "True")), "done 200", `"type":"B"`, ""},
		{"a condition of another's is a conflict, told with its key", status("one", condition("B", "False")),
			`failed conflict 409 Conflict .status.conditions[type="B"].status: conflict with "two"`, "", ""},
		{"force takes it", append(status("one", condition("B", "False")), "force=1"), "done 200", `"status":"False","type":"B"`, ""},
		{"what a manager leaves out goes, if nobody else has it", status("one", condition("B", "False")), "done 200", `"type":"B"`, `"type":"A"`},
		{"a condition twice is refused", status("two", condition("D", "True"), condition("D", "False")),
			`failed try again later 500 InternalError failed to create typed patch object (/g; test.fairlead.dev/v1, Kind=Gadget): .status.conditions: duplicate entries for key [type="D"]`, "", ""},
		{"a condition without its key is refused", status("two", `{"status":"True"}`), "failed ", "", ""},
		{"a value that the schema forbids, with its path", status("two", condition("E", "Perhaps")),
			`failed invalid 422 Invalid Gadget.test.fairlead.dev "g" is invalid: status.conditions[1].status: Unsupported value: "Perhaps"`, "", ""},
		{"a status is no spec: the subresource leaves the spec alone", append(status("two", condition("F", "True"))[:6],
			`body={"apiVersion":"test.fairlead.dev/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"text":"other"},"status":{"conditions":[]}}`),
			"done 200", `"text":"t"`, `"text":"other"`},
	} {
		t.Run(row.says, func(t *testing.T) {
			last, objects := call(t, c, c.Kubeconfig(), row.args...)
			all := strings.Join(withoutManaged(objects), "\n")
			if !strings.HasPrefix(last, row.last) || !strings.Contains(all, row.has) || row.hasNo != "" && strings.Contains(all, row.hasNo) {
				t.Errorf("said %q with %s, want %q with %q and without %q", last, all, row.last, row.has, row.hasNo)
			}
		})
	}
}
