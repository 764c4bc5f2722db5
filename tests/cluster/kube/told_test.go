package kube

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// refusers are a webhook that nobody answers, a group whose server is not there, and a quota that is used up.
const refusers = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- name: nobody.test.fairlead.dev
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {webhook: nobody}}
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-secrets}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name != 'secret'", message: "put secrets into a Secret"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-secrets}
spec: {policyName: no-secrets, validationActions: [Deny]}
---
apiVersion: v1
kind: Namespace
metadata: {name: told-webhook, labels: {webhook: nobody}}
---
apiVersion: v1
kind: Namespace
metadata: {name: told}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.away.test.fairlead.dev}
spec: {group: away.test.fairlead.dev, version: v1, groupPriorityMinimum: 10, versionPriority: 10, insecureSkipTLSVerify: true, service: {name: away, namespace: told}}
`

// What a person reads when the real API server refuses.
func TestWhatAPersonIsTold(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	cluster.Must(t, c.Apply(t.Context(), refusers))
	cluster.Must(t, c.Apply(t.Context(), definition))
	t.Cleanup(func() {
		c.Kubectl(cluster.Within(t, time.Minute), "delete", "apiservice/v1.away.test.fairlead.dev")
	})
	dir := t.TempDir()
	big := func(size int, kind, more string) string {
		path := filepath.Join(dir, fmt.Sprint(kind, size))
		version := map[string]string{"ConfigMap": "v1", "Widget": "test.fairlead.dev/v1"}[kind]
		cluster.Must(t, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"big"},%s:{"x":%q}}`,
			version, kind, more, strings.Repeat("x", size)), 0o600))
		return "body=@" + path
	}
	_, err := c.Client.CoreV1().Pods("told").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
	cluster.Must(t, err)
	until(t, moment, "the policy", func() (bool, string) {
		_, err := c.Client.CoreV1().ConfigMaps("told").Create(t.Context(), configMap("secret"), metav1.CreateOptions{DryRun: []string{"All"}})
		return err != nil, "no refusal"
	})
	until(t, moment, "the kind", func() (bool, string) {
		_, err := c.Dynamic.Resource(widgetResource).Namespace("told").List(t.Context(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})

	for _, row := range []struct {
		says, args, body, last string
	}{
		{"400: a value of the wrong type, with its path", "create kind=configmap space=told",
			`body={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":1}}`, "failed invalid 400 BadRequest "},
		{"400: another object's name", "apply kind=configmap space=told name=other manager=m", "body=" + config("this", ""),
			"failed invalid 400 BadRequest "},
		{"400: another kind's object", "create kind=configmap space=told",
			`body={"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, "failed invalid 400 BadRequest "},
		{"400: another namespace's object", "create kind=configmap space=told",
			`body={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`,
			"failed invalid 400 BadRequest the namespace of the provided object does not match"},
		{"400: a continue token that is none", "get path=/api/v1/namespaces?limit=1&continue=x", "", "failed invalid 400 BadRequest "},
		{"403: a namespace that is going takes nothing new", "create kind=configmap space=told-going", "body=" + config("a", ""),
			`failed denied 403 Forbidden configmaps "a" is forbidden: unable to create new content in namespace told-going because it is being terminated`},
		{"404: a kind with a subresource that it has not", "get kind=namespace name=default subresource=scale", "", "failed not found 404"},
		{"405: a method that a resource does not know", "delete path=/apis/authorization.k8s.io/v1/subjectaccessreviews", "",
			"failed not supported 405 MethodNotAllowed "},
		{"406: a format that nobody speaks", "get kind=namespace name=default accept=application/x-none", "",
			"failed not supported 406 MethodNotAllowed 406: Not Acceptable  Available representations: application/json"},
		{"409: a namespace twice", "create kind=namespace", `body={"apiVersion":"v1","kind":"Namespace","metadata":{"name":"told"}}`,
			`failed exists 409 AlreadyExists namespaces "told" already exists`},
		{"413: a body that the server does not take", "create kind=configmap space=told", big(4<<20, "ConfigMap", `"data"`),
			"failed too big 413 RequestEntityTooLarge "},
		{"422: a ConfigMap that is over size", "create kind=configmap space=told", big(1100<<10, "ConfigMap", `"data"`),
			`failed invalid 422 Invalid ConfigMap "big" is invalid: []: Too long: may not be more than 1048576 bytes`},
		{"500: a widget that etcd does not take", "create kind=widget space=told", big(2<<20, "Widget", `"spec"`),
			"failed try again later 500 InternalError rpc error: code = ResourceExhausted"},
		{"422: several things wrong, the first with its path", "create kind=pod space=told",
			`body={"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"A_"},{"name":"b"}]}}`,
			`failed invalid 422 Invalid Pod "a" is invalid: [spec.containers[0].name: Invalid value: "A_"`},
		{"422: a policy's own words", "create kind=configmap space=told", "body=" + config("secret", ""),
			`failed invalid 422 Invalid configmaps "secret" is forbidden: ValidatingAdmissionPolicy 'no-secrets' with binding 'no-secrets' denied request: put secrets into a Secret`},
		{"422: an immutable field", "patch kind=pod space=told name=p", `body={"spec":{"containers":[{"name":"d","image":"i"}]}}`,
			`failed invalid 422 Invalid Pod "p" is invalid: spec`},
		{"500: a webhook that nobody answers", "create kind=configmap space=told-webhook", "body=" + config("a", ""),
			`failed try again later 500 InternalError Internal error occurred: failed calling webhook "nobody.test.fairlead.dev"`},
		{"503: a group whose server is not there", "get path=/apis/away.test.fairlead.dev/v1 timeout=2 once=1", "",
			"failed try again later 503 InternalError the server answers 503"},
		{"504: a request that took too long", "get path=/api/v1/namespaces?timeout=1us once=1", "", "failed try again later 504 Timeout "},
		{"a JSON patch that is no list", "json-patch kind=pod space=told name=p", `body={"op":"add"}`, "failed invalid 400 BadRequest "},
		{"a JSON patch to a path that is not there", "json-patch kind=pod space=told name=p",
			`body=[{"op":"replace","path":"/spec/none/x","value":1}]`, "failed invalid 422 Invalid "},
		{"apply without a kind in its body", "apply kind=configmap space=told name=a manager=m", `body={"metadata":{"name":"a"}}`,
			"failed invalid 400 BadRequest "},
		{"apply with managedFields in its body", "apply kind=configmap space=told name=a manager=m",
			`body={"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`,
			"failed invalid 400 BadRequest metadata.managedFields must be nil"},
		{"a dry run tells what would be refused", "create kind=configmap space=told dry=1", "body=" + config("secret", ""),
			`failed invalid 422 Invalid configmaps "secret" is forbidden`},
		{"a dry run of an apply shows what would be", "apply kind=configmap space=told name=dry manager=m dry=1",
			"body=" + config("dry", `"x":"1"`), "done 201 1"},
		{"and leaves nothing behind", "get kind=configmap space=told name=dry", "", "failed not found 404"},
		{"a name with a slash is no way out of its path", "get kind=configmap space=told name=../../namespaces", "",
			"failed not found 404 NotFound "},
	} {
		t.Run(row.says, func(t *testing.T) {
			args := strings.Fields(row.args)
			if row.body != "" {
				args = append(args, row.body)
			}
			if strings.Contains(row.args, "told-going") {
				space(t, c, "told-going")
				_, err := c.Client.CoreV1().ConfigMaps("told-going").Create(t.Context(), configMap("x"), metav1.CreateOptions{})
				cluster.Must(t, err)
				cluster.Must(t, c.Client.CoreV1().Namespaces().Delete(t.Context(), "told-going", metav1.DeleteOptions{}))
			}
			last, _ := call(t, c, c.Kubeconfig(), args...)
			// An API server whose deadline falls into an answer that it has begun resets the stream instead.
			for range 20 {
				if !strings.Contains(row.args, "timeout=1us") || !strings.Contains(last, "has reset the stream") {
					break
				}
				last, _ = call(t, c, c.Kubeconfig(), args...)
			}
			if !strings.HasPrefix(last, row.last) {
				t.Errorf("said %q, want %q", last, row.last)
			}
			t.Log(last)
		})
	}

	t.Run("415: a patch in a format that the server does not know", func(t *testing.T) {
		p := newProxy(t, c, func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Set("Content-Type", "application/x-none")
			return false
		})
		last, _ := call(t, c, p.config, "patch", "kind=pod", "space=told", "name=p", `body={}`)
		if !strings.HasPrefix(last, "failed not supported 415 MethodNotAllowed 415: Unsupported Media Type") {
			t.Errorf("said %q", last)
		}
	})
	t.Run("an object of 1.4 MB is made, read, listed, watched and applied", func(t *testing.T) {
		body := big(1400000, "Widget", `"spec"`)
		for _, args := range [][]string{
			{"create", body}, {"get", "name=big"}, {"list"}, {"apply", "name=big", "manager=m", body, "force=1"},
		} {
			last, objects := call(t, c, c.Kubeconfig(), append([]string{args[0], "kind=widget", "space=told"}, args[1:]...)...)
			if !strings.HasPrefix(last, "done 20") || len(objects) != 1 || len(objects[0]) < 1400000 {
				t.Errorf("%s said %q, %d objects", args[0], last, len(objects))
			}
		}
		d := run(t, c, c.Kubeconfig(), "follow", "kind=widget", "space=told")
		d.waitFor(0, moment, "put told/big")
		from := d.waitFor(0, moment, "synced")
		cluster.Must(t, c.Dynamic.Resource(widgetResource).Namespace("told").Delete(t.Context(), "big", metav1.DeleteOptions{}))
		d.waitFor(from, moment, "gone told/big")
	})
}
