package kube

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"fairlead/tests/cluster"
)

// Most of these tests wait most of their time, so more of them run at once than there are cores.
func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "6")
	}
	cluster.Main(m)
}

func config(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{%s}}`, name, data)
}

func deployment(container, more string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":`+
		`{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":%q,"image":"x"%s}]}}}}`,
		container, more)
}

// TestCalls goes through the verbs, one after the other: each row finds what the rows before it have left.
func TestCalls(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	rows := []struct {
		says string
		args string // words; BODY stands for body
		body string
		last string // what the last line begins with
		has  string // what the object holds; ! before it: must not
	}{
		{"an object is read", "get kind=namespace name=default", "", "done 200 1", `"name":"default"`},
		{"an object that is not there", "get kind=configmap space=default name=none", "",
			`failed not found 404 NotFound configmaps "none" not found`, ""},
		{"a kind that is not there", "get kind=widget space=default name=none", "",
			"failed not found 404 NotFound the server answers 404", ""},
		{"an object is made", "create kind=configmap space=default name=a body=BODY", config("a", `"x":"1"`), "done 201 1", `"x":"1"`},
		{"but not twice", "create kind=configmap space=default name=a body=BODY", config("a", `"x":"1"`),
			`failed exists 409 AlreadyExists configmaps "a" already exists`, ""},
		{"a name that may not be", "create kind=configmap space=default body=BODY", config("A_", ""),
			`failed invalid 422 Invalid ConfigMap "A_" is invalid: metadata.name: Invalid value`, ""},
		{"a namespace that is not there", "create kind=configmap space=nowhere body=BODY", config("a", ""),
			`failed not found 404 NotFound namespaces "nowhere" not found`, ""},
		{"a body that is no JSON", "create kind=configmap space=default body=BODY", "{", "failed invalid 400 BadRequest", ""},
		{"an unknown field is passed over", "create kind=configmap space=default body=BODY dry=1",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"dta":{}}`, "done 201 1", "!dta"},
		{"unless told to be strict", "create kind=configmap space=default body=BODY strict=1",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"dta":{}}`,
			`failed invalid 400 BadRequest ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"`, ""},
		{"a dry run leaves nothing behind", "get kind=configmap space=default name=u", "", "failed not found 404", ""},

		{"apply makes what is not there", "apply kind=configmap space=default name=s manager=one body=BODY",
			config("s", `"x":"1","y":"1"`), "done 201 1", `"x":"1"`},
		{"apply again changes nothing", "apply kind=configmap space=default name=s manager=one body=BODY",
			config("s", `"x":"1","y":"1"`), "done 200 1", `"x":"1"`},
		{"another manager's field is a conflict, told with manager and field",
			"apply kind=configmap space=default name=s manager=two body=BODY", config("s", `"x":"2","z":"2"`),
			`failed conflict 409 Conflict .data.x: conflict with "one"`, ""},
		{"two of them are told both", "apply kind=configmap space=default name=s manager=two body=BODY",
			config("s", `"x":"2","y":"2"`), `failed conflict 409 Conflict .data.x: conflict with "one"; .data.y: conflict with "one"`, ""},
		{"the same value is no conflict, and both own it", "apply kind=configmap space=default name=s manager=two body=BODY",
			config("s", `"x":"1","z":"2"`), "done 200 1", `"z":"2"`},
		{"what one of two owners leaves stays", "apply kind=configmap space=default name=s manager=one body=BODY",
			config("s", `"y":"1"`), "done 200 1", `"x":"1"`},
		{"what its last owner leaves goes", "apply kind=configmap space=default name=s manager=two body=BODY",
			config("s", `"z":"2"`), "done 200 1", `!"x":"1"`},
		{"force takes a field", "apply kind=configmap space=default name=s manager=two force=1 body=BODY",
			config("s", `"y":"2","z":"2"`), "done 200 1", `"y":"2"`},
		{"and its former owner meets a conflict", "apply kind=configmap space=default name=s manager=one body=BODY",
			config("s", `"y":"1"`), `failed conflict 409 Conflict .data.y: conflict with "two"`, ""},
		{"an apply with another object's uid is refused", "apply kind=configmap space=default name=s manager=two body=BODY",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","uid":"0"},"data":{"z":"3"}}`,
			`failed invalid 422 Invalid ConfigMap "s" is invalid: metadata.uid: Invalid value: "0": field is immutable`, ""},
		{"and where there is none any more it makes none", "apply kind=configmap space=default name=none manager=two body=BODY",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"none","uid":"0"},"data":{"z":"3"}}`, "failed conflict 409 Conflict", ""},
		{"a list-map: one manager's container", "apply kind=deployment space=default name=d manager=one body=BODY",
			deployment("one", ""), "done 201 1", `"name":"one"`},
		{"and another's beside it", "apply kind=deployment space=default name=d manager=two body=BODY",
			deployment("two", ""), "done 200 1", `"name":"one"`},
		{"which goes alone", "apply kind=deployment space=default name=d manager=two body=BODY",
			strings.Replace(deployment("two", ""), `"containers":[{"name":"two","image":"x"}]`, `"containers":[]`, 1), "done 200 1", `!"name":"two"`},
		{"a list-map's key twice is refused", "apply kind=deployment space=default name=d manager=two body=BODY",
			deployment("two", `,"ports":[{"containerPort":1},{"containerPort":1}]`), "failed", ""},

		{"a merge patch", "patch kind=configmap space=default name=a body=BODY", `{"data":{"x":null,"y":"2"}}`, "done 200 1", `"y":"2"`},
		{"a JSON patch", "json-patch kind=configmap space=default name=a body=BODY", `[{"op":"add","path":"/data/z","value":"3"}]`,
			"done 200 1", `"z":"3"`},
		{"a JSON patch whose test fails", "json-patch kind=configmap space=default name=a body=BODY",
			`[{"op":"test","path":"/data/z","value":"4"},{"op":"remove","path":"/data/z"}]`, "failed invalid 422 Invalid", ""},
		{"a JSON patch of a version that is no more", "json-patch kind=configmap space=default name=a body=BODY",
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"},{"op":"remove","path":"/data/z"}]`,
			"failed conflict 409 Conflict Operation cannot be fulfilled on configmaps", ""},
		{"a merge patch of a version that is no more", "patch kind=configmap space=default name=a body=BODY",
			`{"metadata":{"resourceVersion":"1"},"data":{"z":"9"}}`, "failed conflict 409 Conflict Operation cannot be fulfilled", ""},
		{"a patch of nothing", "patch kind=configmap space=default name=none body=BODY", `{}`, "failed not found 404 NotFound", ""},
		{"the status subresource", "patch kind=namespace name=default subresource=status body=BODY", `{"status":{"conditions":[]}}`,
			"done 200 1", `"phase":"Active"`},
		{"a subresource that is not there", "patch kind=configmap space=default name=a subresource=status body=BODY", `{}`,
			"failed not found 404 NotFound", ""},

		{"delete with another's uid", "delete kind=configmap space=default name=a uid=0", "",
			"failed conflict 409 Conflict Operation cannot be fulfilled", ""},
		{"delete with an old version", "delete kind=configmap space=default name=a version=1", "",
			"failed conflict 409 Conflict Operation cannot be fulfilled", ""},
		{"a dry run deletes nothing", "delete kind=configmap space=default name=a dry=1", "", "done 200 1", ""},
		{"delete", "delete kind=configmap space=default name=a", "", "done 200 1", `"status":"Success"`},
		{"delete what is gone", "delete kind=configmap space=default name=a", "", "failed not found 404 NotFound", ""},
		{"foreground deletion waits for those below", "delete kind=deployment space=default name=d propagation=Foreground", "",
			"done 200 1", `foregroundDeletion`},
		{"and shows meanwhile", "get kind=deployment space=default name=d", "", "done 200 1", `deletionTimestamp`},
		{"orphaning does, too", "delete kind=deployment space=default name=d propagation=Orphan", "", "done 200 1", ""},

		{"a path of its own", "get path=/version", "", "done 200 1", `"gitVersion"`},
		{"an answer that is no JSON", "get path=/healthz", "", "failed invalid 200 - the API server's answer", ""},
		{"a path that is not there", "get path=/nowhere", "", "failed not found 404 NotFound the server answers 404", ""},
		{"a label selector", "list kind=namespace labels=kubernetes.io/metadata.name=default", "", "done 200 1", `"default"`},
		{"a label selector of a set", "list kind=namespace labels=kubernetes.io/metadata.name_in_(default,kube-system)", "", "done 200 2", ""},
		{"a label selector that is none", "list kind=namespace labels=a=b=c", "", "failed invalid 400 BadRequest", ""},
		{"a field selector", "list kind=namespace fields=metadata.name!=default", "", "done 200 3", ""},
		{"a field that cannot be selected by", "list kind=configmap fields=data.x=1", "", "failed invalid 400 BadRequest", ""},
		{"a list by pages of one", "list kind=namespace limit=1", "", "done 200 4", ""},
		{"a list of nothing", "list kind=pod", "", "done 200 0", ""},
		{"a list of a kind that is not there", "list kind=widget", "", "failed not found 404 NotFound", ""},
	}
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			args := strings.Fields(row.args)
			for i := range args {
				args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "BODY", row.body), "_in_", " in ")
			}
			last, objects := call(t, c, c.Kubeconfig(), args...)
			if !strings.HasPrefix(last, row.last) {
				t.Fatalf("said %q, want %q", last, row.last)
			}
			want, not := strings.CutPrefix(row.has, "!")
			if row.has != "" && strings.Contains(strings.Join(withoutManaged(objects), "\n"), want) == not {
				t.Errorf("%q (not: %v) in %s", want, not, objects)
			}
		})
	}
}

// withoutManaged cuts managedFields out, which name every field.
func withoutManaged(objects []string) (out []string) {
	for _, object := range objects {
		if from := strings.Index(object, `"managedFields":[`); from >= 0 {
			depth, i := 0, from+len(`"managedFields":`)
			for ; i < len(object); i++ {
				switch object[i] {
				case '[':
					depth++
				case ']':
					depth--
				}
				if depth == 0 {
					break
				}
			}
			object = object[:from] + object[i+1:]
		}
		out = append(out, object)
	}
	return out
}

func TestDiscoveryFindsWhatClientGoFinds(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	d := run(t, c, c.Kubeconfig(), "discover")
	<-d.done
	got := map[string]bool{}
	for _, line := range d.all() {
		if words := strings.Fields(line); words[0] == "resource" {
			got[strings.TrimPrefix(strings.TrimPrefix(words[1], "*"), "/")+" "+words[2]] = true
		}
	}
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(c.Config).ServerGroupsAndResources()
	cluster.Must(t, err)
	count := 0
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			count++
			if !got[list.GroupVersion+" "+resource.Name] {
				t.Errorf("%s %s was not found", list.GroupVersion, resource.Name)
			}
		}
	}
	if count != len(got) || count < 40 {
		t.Errorf("%d found, client-go finds %d", len(got), count)
	}
}

func TestAPersonWithoutRightsIsToldSo(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	text, err := c.KubeconfigFor("nobody")
	cluster.Must(t, err)
	path := filepath.Join(t.TempDir(), "config")
	cluster.Must(t, os.WriteFile(path, text, 0o600))
	last, _ := call(t, c, path, "get", "kind=configmap", "space=default", "name=a")
	want := `failed denied 403 Forbidden configmaps "a" is forbidden: User "nobody" cannot get resource "configmaps"`
	if !strings.HasPrefix(last, want) {
		t.Errorf("said %q, want %q", last, want)
	}
}

// tokenFor gives a token of a service account that may do everything, and a kubeconfig that names a file with it.
func tokenFor(t *testing.T, c *cluster.Cluster, account string) (kubeconfig, file, token string) {
	t.Helper()
	ctx := cluster.Within(t, time.Minute)
	_, err := c.Client.CoreV1().ServiceAccounts("default").Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	cluster.Must(t, err)
	_, err = c.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "default"}},
	}, metav1.CreateOptions{})
	cluster.Must(t, err)
	made, err := c.Client.CoreV1().ServiceAccounts("default").CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	cluster.Must(t, err)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	cluster.Must(t, os.WriteFile(ca, c.Config.CAData, 0o600))
	if len(c.Config.CAData) == 0 {
		text, err := os.ReadFile(c.Config.CAFile)
		cluster.Must(t, err)
		cluster.Must(t, os.WriteFile(ca, text, 0o600))
	}
	file = filepath.Join(dir, "token")
	cluster.Must(t, os.WriteFile(file, []byte(made.Status.Token+"\n"), 0o600))
	kubeconfig = filepath.Join(dir, "config")
	cluster.Must(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `
clusters: [{name: c, cluster: {server: %q, certificate-authority: ca.crt}}]
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, c.Config.Host), 0o600))
	return kubeconfig, file, made.Status.Token
}

func TestATokenInAFileThatIsNotOneIsRefused(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubeconfig, file, _ := tokenFor(t, c, "wrong")
	cluster.Must(t, os.WriteFile(file, []byte("not.a.token"), 0o600))
	last, _ := call(t, c, kubeconfig, "get", "kind=namespace", "name=default")
	if last != "failed denied 401 Unauthorized Unauthorized" {
		t.Errorf("said %q", last)
	}
	cluster.Must(t, os.WriteFile(file, nil, 0o600))
	last, _ = call(t, c, kubeconfig, "get", "kind=namespace", "name=default")
	if !strings.HasPrefix(last, "failed invalid 0 - token file '") || !strings.HasSuffix(last, "' is empty") {
		t.Errorf("said %q", last)
	}
}

// A token is revoked while the client writes; the new one is in the file by then.
func TestATokenIsRotatedInFlight(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubeconfig, file, _ := tokenFor(t, c, "rotated")
	_, _, second := tokenFor(t, c, "rotated-two")
	d := run(t, c, kubeconfig, "repeat", "name=rotating", "every=5")
	from := d.waitFor(0, moment, "done 20")
	cluster.Must(t, os.WriteFile(file+".new", []byte(second), 0o600))
	cluster.Must(t, os.Rename(file+".new", file))
	cluster.Must(t, c.Client.CoreV1().ServiceAccounts("default").Delete(t.Context(), "rotated", metav1.DeleteOptions{}))
	// The API server remembers a token for some seconds, so the refusal comes while calls are under way: there are 15
	// seconds of them at least, and as much longer as this machine is slower.
	d.waitFor(from, 3*time.Minute, "done 3000")
	for _, line := range d.all() {
		if strings.HasPrefix(line, "failed") {
			t.Errorf("a call failed while the token was rotated: %s", line)
		}
	}
}

func TestAPluginGivesTheToken(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubeconfig, file, token := tokenFor(t, c, "plugin")
	cluster.Must(t, os.Remove(file))
	dir := filepath.Dir(kubeconfig)
	plugin := filepath.Join(dir, "plugin")
	cluster.Must(t, os.WriteFile(plugin, fmt.Appendf(nil, `#!/bin/sh
printf '%%s' "$KUBERNETES_EXEC_INFO" > %s/told
echo x >> %s/runs
cat <<END
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}
END
`, dir, dir, token), 0o700))
	text, err := os.ReadFile(kubeconfig)
	cluster.Must(t, err)
	write := func(exec string) {
		cluster.Must(t, os.WriteFile(kubeconfig, []byte(strings.Replace(string(text), "{tokenFile: token}", "{exec: {"+exec+"}}", 1)), 0o600))
	}
	const version = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
	write(version + "command: ./plugin, provideClusterInfo: true")
	d := run(t, c, kubeconfig, "repeat", "name=plugged", "every=5")
	d.waitFor(0, moment, "done 20")
	runs, _ := os.ReadFile(filepath.Join(dir, "runs"))
	if string(runs) != "x\n" {
		t.Errorf("the plugin ran %d times for 20 calls", len(runs)/2)
	}
	told, _ := os.ReadFile(filepath.Join(dir, "told"))
	if !strings.Contains(string(told), `"server":"`+c.Config.Host+`"`) || !strings.Contains(string(told), "certificate-authority-data") {
		t.Errorf("it was told %s", told)
	}

	for _, row := range []struct{ says, exec, last string }{
		{"a plugin that fails says why", "command: sh, args: [-c, 'echo one >&2; echo log in first >&2; exit 3']",
			"failed denied 0 - '/bin/sh': it ended with 3: log in first"},
		{"a plugin that prints nothing", "command: 'true'", "failed invalid 0 - '"},
		{"a plugin that is not there", "command: nowhere-at-all, installHint: 'apt install it'", "failed "},
	} {
		t.Run(row.says, func(t *testing.T) {
			write(version + row.exec)
			last, _ := call(t, c, kubeconfig, "get", "kind=namespace", "name=default")
			if !strings.HasPrefix(strings.Replace(last, "/usr/bin/", "/bin/", 1), row.last) {
				t.Errorf("said %q", last)
			}
		})
	}
}
