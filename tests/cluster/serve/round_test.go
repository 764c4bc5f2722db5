package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

func makeNode(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{
		Taints: []corev1.Taint{{Key: "other", Value: "1", Effect: corev1.TaintEffectNoSchedule}}}}
	_, err := c.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { c.Client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

func status(t *testing.T, c *cluster.Cluster, name string) (seen int64, mirrored, message string) {
	t.Helper()
	got, err := lamps(c).Get(t.Context(), name, metav1.GetOptions{})
	cluster.Must(t, err)
	seen, _, _ = unstructured.NestedInt64(got.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
	for _, each := range conditions {
		if condition := each.(map[string]any); condition["type"] == "Mirrored" {
			return seen, condition["status"].(string), condition["message"].(string)
		}
	}
	return seen, "", ""
}

func eventsOf(t *testing.T, c *cluster.Cluster, name string) (found []string) {
	t.Helper()
	list, err := c.Client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	for _, each := range list.Items {
		if each.Regarding.Name == name {
			count := int32(1)
			if each.Series != nil {
				count = each.Series.Count
			}
			found = append(found, fmt.Sprintf("%s %s x%d by %s", each.Type, each.Reason, count, each.ReportingController))
		}
	}
	return found
}

// The whole round, each step on what the steps before it have left.
func TestRound(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	makeNode(t, c, "n1")
	makeNode(t, c, "n2")
	whole := t // controllers and CRD live as long as the test that begins them
	d := start(t, c)

	step(t, "without the CRD it is ready, and says what is absent", func(t *testing.T) {
		d.untilReady(200, "the API server has no lamps.test.fairlead.dev")
	}, &d)
	install(t, c)
	step(t, "with the CRD there is nothing more to say", func(t *testing.T) {
		until(t, "/readyz", func() (bool, string) { _, body := d.get("/readyz"); return body == "ready\n", body })
	}, &d)
	put(t, c, lamp("a", "text", "hello", "node", "n1"))
	step(t, "its status says which generation was seen", func(t *testing.T) {
		until(t, "the generation", func() (bool, string) { seen, _, _ := status(t, c, "a"); return seen == 1, fmt.Sprint(seen) })
	}, &d)
	step(t, "a second object is made by its field manager", func(t *testing.T) {
		says(t, c, "a", "hello")
		got, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "lamp-a", metav1.GetOptions{})
		cluster.Must(t, err)
		if len(got.ManagedFields) != 1 || got.ManagedFields[0].Manager != "demo-map" ||
			got.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("its fields are managed by %+v", got.ManagedFields)
		}
	}, &d)
	step(t, "a condition says so", func(t *testing.T) {
		until(t, "Mirrored", func() (bool, string) {
			_, is, message := status(t, c, "a")
			return is == "True" && message == "ConfigMap lamp-a", is + " " + message
		})
	}, &d)
	step(t, "a taint stands beside another's", func(t *testing.T) {
		untilTaint(t, c, "n1", "default.a")
		node, err := c.Client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		cluster.Must(t, err)
		if len(node.Spec.Taints) < 2 || node.Spec.Taints[0].Key != "other" {
			t.Errorf("the taints are %+v", node.Spec.Taints)
		}
	}, &d)
	step(t, "an Event tells of it once", func(t *testing.T) {
		until(t, "the Event", func() (bool, string) { found := eventsOf(t, c, "a"); return len(found) > 0, "none" })
		d.atRest()
		if found := eventsOf(t, c, "a"); len(found) != 1 || found[0] != "Normal Same x1 by test.fairlead.dev/demo" {
			t.Errorf("Events: %q", found)
		}
	}, &d)
	step(t, "a Lamp that wants nothing costs one write", func(t *testing.T) {
		d.atRest()
		before := d.sum("fairlead_writes_total")
		put(t, c, lamp("bare"))
		until(t, "the generation", func() (bool, string) { seen, _, _ := status(t, c, "bare"); return seen == 1, fmt.Sprint(seen) })
		d.atRest()
		if writes := d.sum("fairlead_writes_total") - before; writes != 1 {
			t.Errorf("%v writes", writes)
		}
	}, &d)
	step(t, "a changed spec is followed", func(t *testing.T) {
		put(t, c, lamp("a", "text", "good day", "node", "n1"))
		says(t, c, "a", "good day")
	}, &d)
	step(t, "what somebody changes is put right", func(t *testing.T) {
		_, err := c.Client.CoreV1().ConfigMaps("default").Patch(t.Context(), "lamp-a", types.MergePatchType,
			[]byte(`{"data":{"text":"nonsense"}}`), metav1.PatchOptions{})
		cluster.Must(t, err)
		says(t, c, "a", "good day")
	}, &d)
	step(t, "what somebody deletes is made again", func(t *testing.T) {
		cluster.Must(t, c.Client.CoreV1().ConfigMaps("default").Delete(t.Context(), "lamp-a", metav1.DeleteOptions{}))
		says(t, c, "a", "good day")
	}, &d)
	step(t, "the taint moves with the spec", func(t *testing.T) {
		put(t, c, lamp("a", "text", "good day", "node", "n2"))
		untilTaint(t, c, "n2", "default.a")
		untilTaint(t, c, "n1", "")
	}, &d)
	step(t, "at rest no plan is called and nothing is written", func(t *testing.T) {
		d.atRest()
		before, plans := versions(t, c), d.sum("fairlead_plans_total")
		time.Sleep(3 * time.Second)
		sameVersions(t, before, versions(t, c))
		if now := d.sum("fairlead_plans_total"); now != plans {
			t.Errorf("%v plans at rest", now-plans)
		}
	}, &d)
	step(t, "a restart writes nothing", func(t *testing.T) {
		before := versions(t, c)
		d.stop()
		d = start(whole, c)
		d.untilReady(200, "ready")
		d.untilLeads()
		d.atRest()
		if plans, writes := d.sum("fairlead_plans_total"), d.sum("fairlead_writes_total"); plans < 2 || writes != 0 {
			t.Errorf("%v plans, %v writes", plans, writes)
		}
		sameVersions(t, before, versions(t, c))
		if found := eventsOf(t, c, "a"); len(found) != 1 {
			t.Logf("Events by now: %q", found)
		}
	}, &d)
	step(t, "when the CRD vanishes it stays ready and says so", func(t *testing.T) {
		uninstall(t, c)
		d.untilReady(200, "the API server has no lamps.test.fairlead.dev")
		if status, _ := d.get("/healthz"); status != 200 {
			t.Errorf("/healthz %d", status)
		}
	}, &d)
	step(t, "when it comes back, so does the work", func(t *testing.T) {
		install(whole, c)
		put(t, c, lamp("b", "text", "again"))
		says(t, c, "b", "again")
	}, &d)
	step(t, "what belonged to those that went is gone", func(t *testing.T) {
		untilTaint(t, c, "n2", "")
		until(t, "the ConfigMap of a", func() (bool, string) {
			_, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "lamp-a", metav1.GetOptions{})
			return err != nil, "is there"
		})
		cluster.Must(t, lamps(c).Delete(t.Context(), "b", metav1.DeleteOptions{}))
		until(t, "the ConfigMap of b", func() (bool, string) {
			_, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "lamp-b", metav1.GetOptions{})
			return err != nil, "is there"
		})
	}, &d)
}

func holder(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	got, err := c.Client.CoordinationV1().Leases("default").Get(t.Context(), lease, metav1.GetOptions{})
	if err != nil || got.Spec.HolderIdentity == nil {
		return ""
	}
	return *got.Spec.HolderIdentity
}

func TestReplicas(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	install(t, c)
	a := start(t, c, "--identity", "a")
	a.untilLeads()
	b := start(t, c, "--identity", "b")
	step(t, "a standby is ready, with warm caches", func(t *testing.T) {
		b.untilReady(200, "ready")
		put(t, c, lamp("x", "text", "1"))
		says(t, c, "x", "1")
		until(t, "its cache", func() (bool, string) {
			got := b.sum("fairlead_cache_objects", "kind=Lamp")
			return got == 1, fmt.Sprint(got)
		})
		if b.sum("fairlead_plans_total") != 0 || b.sum("fairlead_writes_total") != 0 {
			t.Errorf("it plans or writes")
		}
		a.atRest() // all that follows from the Lamp is written, and told
	}, &a, &b)
	step(t, "SIGTERM gives the Lease back, and the standby takes over within 2 s", func(t *testing.T) {
		began := time.Now()
		ended := a.stop()
		b.untilLeads()
		took := time.Since(began)
		if took > 2*time.Second {
			t.Errorf("taken over after %v", took)
		}
		if ended > time.Second {
			t.Errorf("it took %v to end", ended)
		}
		t.Logf("ended after %v, taken over after %v", ended, took)
	}, &a, &b)
	step(t, "who takes over writes nothing that is so already", func(t *testing.T) {
		b.atRest()
		if writes := b.sum("fairlead_writes_total"); writes != 0 {
			t.Errorf("%v writes", writes)
		}
	}, &a, &b)
	step(t, "and goes on with the work", func(t *testing.T) {
		put(t, c, lamp("x", "text", "2"))
		says(t, c, "x", "2")
	}, &a, &b)
	step(t, "writes on their way end before the Lease goes", func(t *testing.T) {
		for i := range 200 {
			put(t, c, lamp(fmt.Sprint("many-", i), "text", "1"))
		}
		before := time.Now()
		b.stop()
		if held := holder(t, c); held != "" {
			t.Errorf("the Lease is held by %q", held)
		}
		if strings.Contains(b.said(), "not stopped in time") {
			t.Errorf("it was cut off after %v: %s", time.Since(before), b.said())
		}
	}, &a, &b)
	step(t, "the next one finishes what was left, each with what it needs", func(t *testing.T) {
		d := start(t, c)
		says(t, c, "many-199", "1")
		d.atRest()
		for i := range 200 {
			says(t, c, fmt.Sprint("many-", i), "1")
		}
		d.stop()
	}, &a, &b)
	step(t, "a second signal ends it at once", func(t *testing.T) {
		d := start(t, c, "--grace", "10m")
		d.untilLeads()
		cluster.Must(t, c.APIServer.Stop())
		defer c.APIServer.Continue()
		cluster.Must(t, d.cmd.Process.Signal(unix.SIGTERM))
		until(t, "its end", func() (bool, string) { return strings.Contains(d.said(), `"msg":"stopping"`), d.said() })
		time.Sleep(300 * time.Millisecond)
		select {
		case <-d.done:
			t.Fatalf("the first signal was enough while the API server was frozen: %s", d.said())
		default:
		}
		began := time.Now()
		d.stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	}, &a, &b)
	step(t, "one that is not to ask for a Lease just leads", func(t *testing.T) {
		d := start(t, c, "--no-lead")
		d.untilAlive()
		put(t, c, lamp("x", "text", "3"))
		says(t, c, "x", "3")
		if holder(t, c) == "" {
			d.stop()
		}
	}, &a, &b)
}

func TestTheAPIServerIsNotThereYet(t *testing.T) {
	c := cluster.NewForTest(t, cluster.Options{})
	install(t, c)
	cluster.Must(t, c.APIServer.Kill(t.Context()))
	d := start(t, c)
	step(t, "it lives, is not ready, and says for what it waits", func(t *testing.T) {
		d.untilReady(503, "refused")
		if status, _ := d.get("/healthz"); status != 200 {
			t.Errorf("/healthz %d", status)
		}
		if _, body := d.get("/readyz"); !strings.HasPrefix(body, "waits for lamps.test.fairlead.dev: ") {
			t.Errorf("it says %q", body)
		}
	}, &d)
	step(t, "and works when it comes", func(t *testing.T) {
		cluster.Must(t, c.APIServer.Start(t.Context()))
		d.untilReady(200, "ready")
		put(t, c, lamp("a", "text", "late"))
		says(t, c, "a", "late")
	}, &d)
}

// explainAccount is what docs/OPERATING.md tells to make.
const explainAccount = `apiVersion: v1
kind: ServiceAccount
metadata: {name: fairlead-explain, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fairlead-explain}
rules: [{nonResourceURLs: [/explain], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fairlead-explain}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fairlead-explain}
subjects: [{kind: ServiceAccount, name: fairlead-explain, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: nearly, namespace: default}
rules: [{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [fairlead-explain], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nearly, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nearly}
subjects: [{kind: User, name: nearly}]
`

func makeLease(t *testing.T, c *cluster.Cluster, name, holder string) {
	t.Helper()
	leases := c.Client.CoordinationV1().Leases("default")
	_, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}, metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { leases.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

type thief struct {
	port    string
	headers chan http.Header
}

// stealingPod is a Pod "thief" that writes down what it is shown.
func stealingPod(t *testing.T, c *cluster.Cluster) thief {
	t.Helper()
	var listener net.Listener
	cluster.Must(t, c.LAN.Do(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(lan, "0"))
		return err
	}))
	theirs := thief{headers: make(chan http.Header, 1)}
	_, theirs.port, _ = net.SplitHostPort(listener.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		select {
		case theirs.headers <- request.Header.Clone():
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"lines":["stolen"]}`)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	pods := c.Client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), cluster.NewPod("thief", "", "true"), metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { pods.Delete(context.Background(), "thief", *metav1.NewDeleteOptions(0)) })
	pod.Status.PodIP, pod.Status.PodIPs = lan, []corev1.PodIP{{IP: lan}}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	cluster.Must(t, err)
	return theirs
}

func TestExplain(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	install(t, c)
	d := start(t, c, "--identity", "demo-0_1")
	put(t, c, lamp("a", "text", "hello"))
	says(t, c, "a", "hello")
	until(t, "Mirrored", func() (bool, string) { _, is, _ := status(t, c, "a"); return is == "True", is })
	d.atRest()
	_, port, _ := strings.Cut(strings.TrimPrefix(d.url, "http://"), ":")

	// The Pod that the controller would be, so that the API server's proxy finds it.
	_, err := c.Client.CoreV1().ServiceAccounts("default").Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err == nil {
		t.Cleanup(func() {
			c.Client.CoreV1().ServiceAccounts("default").Delete(context.Background(), "default", metav1.DeleteOptions{})
		})
	}
	pods := c.Client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), cluster.NewPod("demo-0", "", "true"), metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { pods.Delete(context.Background(), "demo-0", *metav1.NewDeleteOptions(0)) })
	pod.Status.PodIP, pod.Status.PodIPs = lan, []corev1.PodIP{{IP: lan}}
	_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	cluster.Must(t, err)
	nobody, err := c.KubeconfigFor("nobody")
	cluster.Must(t, err)
	nobodyFile := filepath.Join(t.TempDir(), "nobody")
	cluster.Must(t, os.WriteFile(nobodyFile, nobody, 0o600))
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "see-leases"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}}}}
	_, err = c.Client.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{})
	cluster.Must(t, err)
	_, err = c.Client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "see-leases"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "see-leases"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "halfway"}, {Kind: "User", Name: "nearly"}}}, metav1.CreateOptions{})
	cluster.Must(t, err)
	halfway, err := c.KubeconfigFor("halfway")
	cluster.Must(t, err)
	halfwayFile := filepath.Join(t.TempDir(), "halfway")
	cluster.Must(t, os.WriteFile(halfwayFile, halfway, 0o600))

	nearly, err := c.KubeconfigFor("nearly")
	cluster.Must(t, err)
	nearlyFile := filepath.Join(t.TempDir(), "nearly")
	cluster.Must(t, os.WriteFile(nearlyFile, nearly, 0o600))
	makeLease(t, c, "climber", "x:1/proxy/../../../../else/pods/http:evil_0")

	person, err := c.ScraperKubeconfig(t.Context())
	cluster.Must(t, err)
	personFile := filepath.Join(t.TempDir(), "person")
	cluster.Must(t, os.WriteFile(personFile, person, 0o600))

	cluster.Must(t, c.Apply(t.Context(), explainAccount))
	byLease := []string{"--lease", lease, "--lease-namespace", "default", "--controller-port", port}
	asked := append([]string{"--kubeconfig", personFile}, byLease...)
	const text = "condition Mirrored True, Same: ConfigMap lamp-a\nlamp: Mirror: ConfigMap lamp-a should say 'hello'\n"
	rows := []struct {
		says   string
		args   []string
		out    string // begins so
		why    string // is in the complaint
		status int
	}{
		{"by the Lease and the proxy", append([]string{"lamp", "a"}, asked...), text, "", 0},
		{"by a short name and a namespace", append([]string{"lamps.test.fairlead.dev", "a", "-n", "default"}, asked...), text, "", 0},
		{"for programs", append([]string{"lamp", "a", "-o", "json"}, asked...), `{"kind":"Lamp","namespace":"default","name":"a","lines":["condition`, "", 0},
		{"an object that is not there", append([]string{"lamp", "z"}, asked...), "", "there is no Lamp default/z", 1},
		{"in another namespace there is none", append([]string{"lamp", "a", "-n", "else"}, asked...), "", "there is no Lamp else/a", 1},
		{"a kind that nobody knows", append([]string{"rocket", "a"}, asked...), "", "it knows Lamp, ConfigMap, Node", 1},
		{"no Lease", []string{"lamp", "a", "--lease", "none", "--lease-namespace", "default"}, "", "there is no Lease default/none", 1},
		{"who may see nothing", append([]string{"lamp", "a", "--kubeconfig", nobodyFile}, byLease...), "", "you may not see who leads", 1},
		{"who may see the Lease only", append([]string{"lamp", "a", "--kubeconfig", halfwayFile}, byLease...), "", "you may not get a token of ServiceAccount default/fairlead-explain", 1},
		{"who may ask for the token, too", append([]string{"lamp", "a", "--kubeconfig", nearlyFile}, byLease...), "", "you may not ask the controller", 1},
		{"who has a certificate and no token", append([]string{"lamp", "a"}, byLease...), text, "", 0},
		{"an account that is not there", append([]string{"lamp", "a", "--account", "none"}, byLease...), "", "there is no ServiceAccount default/none: create it", 1},
		{"an account without the right", append([]string{"lamp", "a", "--account", "default"}, byLease...), "", "user 'system:serviceaccount:default:default' may not get /explain", 1},
		{"a holder that is no Pod", []string{"lamp", "a", "--lease", "climber", "--lease-namespace", "default"}, "", "does not begin with the name of a Pod", 1},
		{"a port where nobody answers", []string{"lamp", "a", "--lease", lease, "--lease-namespace", "default", "--controller-port", "1"}, "", "Pod demo-0, port 1", 1},
		{"nothing is asked", []string{}, "", "KIND", 2},
		{"a kubeconfig that is not there", []string{"lamp", "a", "--kubeconfig", "/nowhere"}, "", "/nowhere", 1},
		{"a controller elsewhere without TLS", []string{"lamp", "a", "--controller", "http://10.77.0.1:8080"}, "", "loopback", 1},
	}
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			out, complaint, status := fairlead(t, c, append([]string{"explain"}, row.args...)...)
			if status != row.status || !strings.HasPrefix(out, row.out) || !strings.Contains(complaint, row.why) {
				t.Errorf("status %d, printed %q, complained %q", status, out, complaint)
			}
			if row.status == 0 && row.out == text && out != text {
				t.Errorf("printed %q", out)
			}
		})
	}
	step(t, "a Pod that a Lease names gets no credentials of the person's, and none that an API server takes", func(t *testing.T) {
		theirs := stealingPod(t, c)
		token, err := c.Scraper(t.Context())
		cluster.Must(t, err)
		makeLease(t, c, "thief", "thief_0")
		out, complaint, status := fairlead(t, c, "explain", "lamp", "a", "--kubeconfig", personFile, "--lease", "thief",
			"--lease-namespace", "default", "--controller-port", theirs.port)
		if status != 0 || !strings.HasPrefix(out, "stolen") {
			t.Fatalf("status %d, printed %q, complained %q", status, out, complaint)
		}
		header := <-theirs.headers
		if text := fmt.Sprint(header); strings.Contains(text, token) {
			t.Errorf("it got the person's token: %s", text)
		}
		got := strings.TrimPrefix(header.Get("Fairlead-Authorization"), "Bearer ")
		if got == "" {
			t.Fatalf("no token at all: %v", header)
		}
		review, err := c.Client.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: got}}, metav1.CreateOptions{})
		cluster.Must(t, err)
		if review.Status.Authenticated {
			t.Errorf("the API server takes it as %s", review.Status.User.Username)
		}
	}, &d)
	step(t, "one on this machine is asked itself", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "s")
		b := start(t, c, "--listen", "unix:"+socket)
		until(t, "the socket", func() (bool, string) { _, err := os.Stat(socket); return err == nil, b.said() })
		var out, complaint string
		until(t, "its words", func() (bool, string) {
			var status int
			out, complaint, status = fairlead(t, c, "explain", "lamp", "a", "--controller", "unix:"+socket)
			return status == 0, complaint
		})
		if !strings.Contains(out, "another replica leads") {
			t.Errorf("a standby says %q", out)
		}
	}, &d)
	step(t, "the Pod that holds the Lease is gone", func(t *testing.T) {
		cluster.Must(t, pods.Delete(t.Context(), "demo-0", *metav1.NewDeleteOptions(0)))
		_, complaint, status := fairlead(t, c, append([]string{"explain", "lamp", "a"}, byLease...)...)
		if status != 1 || !strings.Contains(complaint, "Pod default/demo-0 held the Lease "+lease+" and is gone") {
			t.Errorf("status %d, complained %q", status, complaint)
		}
	}, &d)
	step(t, "nobody leads", func(t *testing.T) {
		d.stop()
		_, complaint, status := fairlead(t, c, append([]string{"explain", "lamp", "a"}, byLease...)...)
		if status != 1 || !strings.Contains(complaint, "no controller leads just now") {
			t.Errorf("status %d, complained %q", status, complaint)
		}
	}, &d)
}

func TestPages(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	install(t, c)
	d := start(t, c)
	d.untilLeads()
	put(t, c, lamp("pages", "text", "hello"))
	says(t, c, "pages", "hello")
	step(t, "the first page names the others", func(t *testing.T) {
		_, body := d.get("/")
		for _, page := range []string{"/healthz", "/readyz", "/metrics", "/explain"} {
			if !strings.Contains(body, "\n"+page+" ") {
				t.Errorf("no %s in %q", page, body)
			}
		}
	}, &d)
	step(t, "a page that is not there", func(t *testing.T) {
		if status, _ := d.get("/nothing"); status != 404 {
			t.Errorf("%d", status)
		}
	}, &d)
	step(t, "a question without a name", func(t *testing.T) {
		if status, body := d.get("/explain?kind=lamp"); status != 400 || !strings.Contains(body, "what should be explained?") {
			t.Errorf("%d %s", status, body)
		}
	}, &d)
	step(t, "Prometheus' own parser reads the metrics", func(t *testing.T) {
		families := d.metrics()
		if len(families) < 30 {
			t.Errorf("only %d families", len(families))
		}
		for name, family := range families {
			if family.GetHelp() == "" || len(family.GetMetric()) == 0 {
				t.Errorf("%s: no help or no value", name)
			}
		}
	}, &d)
	step(t, "with the names that dashboards know", func(t *testing.T) {
		families := d.metrics()
		for _, name := range []string{
			"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_open_fds",
			"process_max_fds", "process_start_time_seconds", "fairlead_build_info", "leader_election_master_status",
			"workqueue_depth", "workqueue_adds_total", "workqueue_retries_total", "workqueue_queue_duration_seconds",
			"workqueue_work_duration_seconds", "rest_client_requests_total", "rest_client_request_duration_seconds",
		} {
			if families[name] == nil {
				t.Errorf("no %s", name)
			}
		}
		if age := time.Since(time.Unix(int64(d.sum("process_start_time_seconds")), 0)); age < 0 || age > time.Minute {
			t.Errorf("it began %v ago", age)
		}
		if rss := d.sum("process_resident_memory_bytes"); rss < 1<<20 || rss > 64<<20 {
			t.Errorf("resident: %v", rss)
		}
	}, &d)
	step(t, "sixteen scrapes at once", func(t *testing.T) {
		done := make(chan int)
		for range 16 {
			go func() { status, _ := d.get("/metrics"); done <- status }()
		}
		for range 16 {
			if status := <-done; status != 200 {
				t.Errorf("%d", status)
			}
		}
	}, &d)
}
