package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead/tests/cluster"
)

// Each rule of the controller's role is needed: without it the controller says what it is refused, or does less.
func TestInventoryNeedsEachOfItsRights(t *testing.T) {
	v := newInventory(t)
	v.node("w1", nil, addresses(1, 2)...)
	roles := v.c.Client.RbacV1().ClusterRoles()
	whole, err := roles.Get(t.Context(), "fairlead-controller", metav1.GetOptions{})
	cluster.Must(t, err)
	set := func(t *testing.T, without string, verbs ...string) {
		role, err := roles.Get(t.Context(), "fairlead-controller", metav1.GetOptions{})
		cluster.Must(t, err)
		role.Rules = nil
		for _, rule := range whole.Rules {
			rule := *rule.DeepCopy()
			if rule.Resources[0] == without {
				rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
			}
			if len(rule.Verbs) > 0 {
				role.Rules = append(role.Rules, rule)
			}
		}
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		cluster.Must(t, err)
	}
	reads := []string{"watch", "list"} // a server that streams lists is not asked for the second
	for _, row := range []struct {
		resource string
		verbs    []string
	}{
		{"nodes", reads}, {"nodefeatures", reads}, {"gpudevices", reads}, {"gpunodestates", reads}, {"moduleconfigs", reads},
		{"gpudevices", []string{"create"}}, {"gpudevices", []string{"patch"}},
		{"gpunodestates", []string{"create"}}, {"gpunodestates", []string{"patch"}}, {"gpudevices/status", []string{"patch"}},
	} {
		t.Run(strings.Join(row.verbs, "+")+" "+row.resource, func(t *testing.T) {
			set(t, row.resource, row.verbs...)
			for _, kind := range []schema.GroupVersionResource{deviceResource, stateResource} {
				cluster.Must(t, v.c.Dynamic.Resource(kind).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
			}
			d := (&inventory{t, v.c, v.kubeconfig}).starts()
			until(t, "the refusal", func() (bool, string) {
				_, ready := d.get("/readyz") // of reads; writes are logged with the server's words
				said := strings.ReplaceAll(d.said()+ready, `\"`, `"`)
				refused := func(verb string) bool {
					return strings.Contains(said, fmt.Sprintf("cannot %s resource %q", verb, row.resource))
				}
				return slices.ContainsFunc(row.verbs, refused), said
			})
			cluster.Must(t, d.cmd.Process.Kill())
			<-d.done
		})
	}
	set(t, "")
	d := v.starts()
	v.has("w1", 2, managed(true))
	d.atRest()
	if text := d.said(); strings.Contains(text, "forbidden") {
		t.Errorf("with all rights it is refused something:\n%s", text)
	}
}
