package agent

import (
	"context"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead/tests/cluster"
)

// dry are options of a request that is admitted or refused, and changes nothing.
var dry = []string{metav1.DryRunAll}

// keptOfAMessage is what an error of the agent (FL_ERR_TEXT) keeps of a server's message, beside the name of the object.
const keptOfAMessage = 220

// as is a client with a token of the account, bound to a Node or, with "", to nothing.
func (r *rig) as(account, node string) *kubernetes.Clientset {
	r.Helper()
	request := &authenticationv1.TokenRequest{}
	if node != "" {
		is, err := r.c.Client.CoreV1().Nodes().Get(r.Context(), node, metav1.GetOptions{})
		r.must(err)
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: node, UID: is.UID}
	}
	got, err := r.c.Client.CoreV1().ServiceAccounts("fairlead").CreateToken(r.Context(), account, request, metav1.CreateOptions{})
	r.must(err)
	config := rest.AnonymousClientConfig(r.c.Config)
	config.BearerToken = got.Status.Token
	client, err := kubernetes.NewForConfig(config)
	r.must(err)
	return client
}

// elsewhere adds a Node without a kubelet until the end of the test.
func (r *rig) elsewhere(node string) {
	r.Helper()
	nodes := r.c.Client.CoreV1().Nodes()
	_, err := nodes.Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	r.must(err)
	r.Cleanup(func() {
		if err := nodes.Delete(context.Background(), node, metav1.DeleteOptions{}); err != nil {
			r.Error(err)
		}
	})
}

// adds a Pod that nothing ends, until the end of the test.
func (r *rig) adds(node, pod string) {
	r.Helper()
	pods := r.c.Client.CoreV1().Pods("default")
	_, err := pods.Create(r.Context(), cluster.NewPod(pod, node, "sleep", "1"), metav1.CreateOptions{})
	r.must(err)
	r.Cleanup(func() {
		now := int64(0)
		err := pods.Delete(context.Background(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if err != nil && !apierrors.IsNotFound(err) {
			r.Error(err)
		}
	})
}

// binds gives the account what an option needs, as docs/INSTALL.md says, until the end of the test.
func (r *rig) binds(account, option string) (unbind func()) {
	r.Helper()
	name := account + "-" + option
	bindings := r.c.Client.RbacV1().ClusterRoleBindings()
	_, err := bindings.Create(r.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "fairlead"}}}, metav1.CreateOptions{})
	r.must(err)
	unbind = func() {
		if err := bindings.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			r.Error(err)
		}
	}
	r.Cleanup(unbind)
	return unbind
}

// keepsToItsNode asks in the name of the agent's account for what each option needs: it is refused until the option's role
// is bound, and then wherever the Node or the Pod is not of the node that the token names. Evictions are not limited, as
// SECURITY.md says. The Pods are "before", of node-1, and new ones of a second Node: a policy knows a Pod at once.
func (r *rig) keepsToItsNode(account string) {
	r.Helper()
	const here, there = "node-1", "node-elsewhere"
	r.elsewhere(there)
	annotate := []byte(`{"metadata":{"annotations":{"a":"b"}}}`)
	patches := func(parts ...string) func(*kubernetes.Clientset, string) error {
		return func(c *kubernetes.Clientset, node string) error {
			_, err := c.CoreV1().Nodes().Patch(r.Context(), node, types.MergePatchType, annotate, metav1.PatchOptions{DryRun: dry}, parts...)
			return err
		}
	}
	podOf := map[string]string{here: "before"} // there: a new one for each row
	unbind := func() {}
	for _, row := range []struct {
		option  string // "": none is needed
		limited bool
		asks    func(*kubernetes.Clientset, string) error
	}{
		{"", true, patches("status")},
		{"startup-taint", true, patches()},
		{"mig-manager", true, patches()},
		{"remove-refused-pods", true, func(c *kubernetes.Clientset, node string) error {
			return c.CoreV1().Pods("default").Delete(r.Context(), podOf[node], metav1.DeleteOptions{DryRun: dry})
		}},
		{"evict-after", false, func(c *kubernetes.Clientset, node string) error {
			return c.PolicyV1().Evictions("default").Evict(r.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: podOf[node], Namespace: "default"},
				DeleteOptions: &metav1.DeleteOptions{DryRun: dry}})
		}},
	} {
		own, other, nobodys := r.as(account, here), r.as(account, there), r.as(account, "")
		podOf[there] = "elsewhere" + row.option
		if row.option != "" {
			unbind() // two options may need the same
			until(r, row.option+" is refused until it is bound", func() (bool, string) {
				err := row.asks(own, here)
				return apierrors.IsForbidden(err), errorText(err)
			})
			unbind = r.binds(account, row.option)
		}
		until(r, row.option+" is allowed at home", func() (bool, string) {
			err := row.asks(own, here)
			return err == nil, errorText(err)
		})
		r.adds(there, podOf[there])
		text := errorText(row.asks(own, there))
		if !row.limited {
			if text != errorText(nil) {
				r.Errorf("%s, elsewhere: %s", row.option, text)
			}
			continue
		}
		if kept := text[:min(len(text), keptOfAMessage)]; !strings.Contains(kept, "run the agent as a Pod, or with a token bound to its Node") {
			r.Errorf("%s, elsewhere: %s", row.option, kept)
		}
		if !strings.Contains(text, "the token of '"+here+"'") {
			r.Errorf("%s, elsewhere: %s", row.option, text)
		}
		for _, client := range []*kubernetes.Clientset{other, nobodys} {
			if err := row.asks(client, here); !apierrors.IsForbidden(err) {
				r.Errorf("%s, with another's token: %v", row.option, err)
			}
		}
	}
	r.isKeptByPolicy(account, func() error { return patches("status")(r.as(account, here), there) })
}

// isKeptByPolicy takes the policy's binding away: what was refused is allowed then, so nothing else had refused it.
func (r *rig) isKeptByPolicy(policy string, ask func() error) {
	r.Helper()
	bindings := r.c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding, err := bindings.Get(r.Context(), policy, metav1.GetOptions{})
	r.must(err)
	r.must(bindings.Delete(r.Context(), policy, metav1.DeleteOptions{}))
	until(r, "without the policy it is allowed", func() (bool, string) {
		err := ask()
		return err == nil, errorText(err)
	})
	binding.ObjectMeta = metav1.ObjectMeta{Name: policy}
	_, err = bindings.Create(r.Context(), binding, metav1.CreateOptions{})
	r.must(err)
	until(r, "with the policy it is refused again", func() (bool, string) {
		err := ask()
		return apierrors.IsForbidden(err), errorText(err)
	})
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
