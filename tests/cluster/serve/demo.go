// Package serve holds a running controller to the real API server: the role of `fairlead controller`, with the
// capabilities of tests/cmd/demo_lamp.c and tests/run/demo_children.c.
package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead/tests/cluster"
)

const (
	moment = time.Minute // for what takes a second, and longer on a machine that does much else
	lan    = "10.77.0.1" // where the tests sit, and the controllers with them
	lease  = "demo-controller"
)

var (
	lampResource = schema.GroupVersionResource{Group: "test.fairlead.dev", Version: "v1", Resource: "lamps"}
	crdResource  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// program is a file of the build.
func program(t testing.TB, path ...string) string {
	t.Helper()
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	file, err := filepath.Abs(filepath.Join(append([]string{build}, path...)...))
	cluster.Must(t, err)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%v; ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	return file
}

// step runs a subtest; what its controllers miss fails it, and not the test around it. Controllers live as long as the
// test that started them, so they are started outside of steps, or with that test.
func step(t *testing.T, name string, f func(t *testing.T), ds ...**controller) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for _, d := range ds {
			(*d).t = t
		}
		f(t)
	})
	for _, d := range ds {
		(*d).t = t
	}
}

// controller is one running replica.
type controller struct {
	t    *testing.T
	c    *cluster.Cluster
	cmd  *cluster.Command
	url  string
	http *http.Client
	log  string
	done chan struct{}
}

var nextPort = 18080

// start starts a replica that answers at a port of its own.
func start(t *testing.T, c *cluster.Cluster, flags ...string) *controller {
	t.Helper()
	return startRole(t, c, "controller", flags...)
}

func startRole(t *testing.T, c *cluster.Cluster, role string, flags ...string) *controller {
	t.Helper()
	return startFile(t, c, program(t, "tests", "cmd", "demo_controller"), role, c.Kubeconfig(), "default", flags...)
}

// startFile starts a role of another program, with a kubeconfig and the namespace of its Lease.
func startFile(t *testing.T, c *cluster.Cluster, file, role, kubeconfig, space string, flags ...string) *controller {
	t.Helper()
	nextPort++
	address := net.JoinHostPort(lan, strconv.Itoa(nextPort))
	d := &controller{t: t, c: c, url: "http://" + address, done: make(chan struct{})}
	d.http = &http.Client{Timeout: moment, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return c.LAN.Dial(ctx, address) },
	}}
	args := append([]string{role, "--kubeconfig", kubeconfig, "--listen", address, "--lease-namespace", space,
		"--lease-duration", "3s", "--lease-give-up", "2s", "--lease-retry", "300ms"}, flags...)
	d.cmd = c.Command(context.Background(), file, args...)
	log, err := os.CreateTemp(t.TempDir(), "controller")
	cluster.Must(t, err)
	d.cmd.Stderr, d.log = log, log.Name()
	cluster.Must(t, d.cmd.Start())
	go func() {
		d.cmd.Wait()
		close(d.done)
	}()
	t.Cleanup(func() {
		d.cmd.Process.Signal(unix.SIGCONT)
		d.cmd.Process.Kill()
		<-d.done
		if t.Failed() {
			t.Logf("controller %v said:\n%s", flags, d.said())
		}
	})
	return d
}

func (d *controller) said() string {
	text, _ := os.ReadFile(d.log)
	return string(text)
}

// get asks one of its pages.
func (d *controller) get(path string) (status int, body string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, d.url+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	if path != "/readyz" && path != "/healthz" {
		request = d.c.AsScraper(request)
	}
	reply, err := d.http.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err.Error()
	}
	return reply.StatusCode, string(text)
}

// until waits until something is so; what is the sentence of a failure.
func until(t *testing.T, what string, ok func() (bool, string)) {
	t.Helper()
	var last string
	for end := time.Now().Add(moment); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var is bool
		if is, last = ok(); is {
			return
		}
	}
	t.Fatalf("%s did not come to be so within %v; last: %s", what, moment, last)
}

// untilReady waits until /readyz answers so; the words must hold want.
func (d *controller) untilReady(status int, want string) {
	d.t.Helper()
	until(d.t, fmt.Sprintf("/readyz %d %q", status, want), func() (bool, string) {
		got, body := d.get("/readyz")
		return got == status && strings.Contains(body, want), fmt.Sprint(got, " ", body)
	})
}

// metrics scrapes it and parses what comes as Prometheus does.
func (d *controller) metrics() map[string]*dto.MetricFamily {
	d.t.Helper()
	status, body := d.get("/metrics")
	if status != 200 {
		d.t.Fatalf("/metrics: %d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(body)))
	cluster.Must(d.t, err)
	return families
}

// sum adds up the series of a family that have these labels ("kind=Lamp").
func (d *controller) sum(name string, labels ...string) (sum float64) {
	d.t.Helper()
	family := d.metrics()[name]
	for _, metric := range family.GetMetric() {
		has := 0
		for _, label := range metric.GetLabel() {
			for _, want := range labels {
				if label.GetName()+"="+label.GetValue() == want {
					has++
				}
			}
		}
		if has == len(labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return sum
}

func (d *controller) untilAlive() {
	d.t.Helper()
	until(d.t, "/healthz", func() (bool, string) { got, body := d.get("/healthz"); return got == 200, body })
}

func (d *controller) untilLeads() {
	d.t.Helper()
	d.untilAlive()
	until(d.t, "leadership", func() (bool, string) { return d.sum("leader_election_master_status") == 1, d.said() })
}

// atRest waits until no write is made and no plan is called for a while.
func (d *controller) atRest() {
	d.t.Helper()
	d.untilAlive()
	var before float64 = -1
	until(d.t, "rest", func() (bool, string) {
		now := d.sum("fairlead_plans_total") + d.sum("fairlead_writes_total") + d.sum("workqueue_adds_total")
		same := now == before
		before = now
		time.Sleep(300 * time.Millisecond)
		return same && d.sum("workqueue_depth") == 0, fmt.Sprint(now)
	})
}

// stop ends it as Kubernetes does, and returns how long that took.
func (d *controller) stop() time.Duration {
	d.t.Helper()
	began := time.Now()
	cluster.Must(d.t, d.cmd.Process.Signal(unix.SIGTERM))
	select {
	case <-d.done:
	case <-time.After(moment):
		d.t.Fatalf("it does not end:\n%s", d.said())
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("it ended with %d:\n%s", code, d.said())
	}
	return time.Since(began)
}

// install puts the CRD of Lamps there, and takes it away with the test.
func install(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	text, err := c.Command(t.Context(), program(t, "tests", "cmd", "demo_controller"), "crd").Output()
	cluster.Must(t, err)
	cluster.Must(t, c.Apply(t.Context(), string(text)))
	cluster.Must(t, c.WaitFor(t.Context(), "is established", crdResource, "", "lamps.test.fairlead.dev",
		func(crd *unstructured.Unstructured) bool {
			if crd == nil {
				return false
			}
			conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
			for _, condition := range conditions {
				if each := condition.(map[string]any); each["type"] == "Established" && each["status"] == "True" {
					return true
				}
			}
			return false
		}))
	t.Cleanup(func() { uninstall(t, c) })
}

func uninstall(t *testing.T, c *cluster.Cluster) {
	ctx := context.Background()
	c.Dynamic.Resource(crdResource).Delete(ctx, "lamps.test.fairlead.dev", metav1.DeleteOptions{})
	cluster.Must(t, c.WaitFor(ctx, "is gone", crdResource, "", "lamps.test.fairlead.dev",
		func(crd *unstructured.Unstructured) bool { return crd == nil }))
}

func lamps(c *cluster.Cluster) dynamic.ResourceInterface {
	return c.Dynamic.Resource(lampResource).Namespace("default")
}

// lamp is one with this spec: "text", "hello", "node", "n1".
func lamp(name string, spec ...string) *unstructured.Unstructured {
	fields := map[string]any{}
	for i := 0; i+1 < len(spec); i += 2 {
		fields[spec[i]] = spec[i+1]
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.fairlead.dev/v1", "kind": "Lamp", "metadata": map[string]any{"name": name}, "spec": fields,
	}}
}

func put(t *testing.T, c *cluster.Cluster, object *unstructured.Unstructured) {
	t.Helper()
	_, err := lamps(c).Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "person", Force: true})
	cluster.Must(t, err)
}

// says waits until the ConfigMap of a Lamp says so.
func says(t *testing.T, c *cluster.Cluster, name, text string) {
	t.Helper()
	until(t, "ConfigMap lamp-"+name, func() (bool, string) {
		got, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "lamp-"+name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return got.Data["text"] == text, fmt.Sprint(got.Data)
	})
}

// taint is the value of our taint on a Node.
func taint(t *testing.T, c *cluster.Cluster, node string) string {
	t.Helper()
	got, err := c.Client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	cluster.Must(t, err)
	for _, each := range got.Spec.Taints {
		if each.Key == "test.fairlead.dev/lamp" {
			return each.Value
		}
	}
	return ""
}

func untilTaint(t *testing.T, c *cluster.Cluster, node, value string) {
	t.Helper()
	until(t, "the taint of "+node, func() (bool, string) { got := taint(t, c, node); return got == value, got })
}

// versions are the resourceVersions of all that the controller writes.
func versions(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	all := map[string]string{}
	list, err := lamps(c).List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	for _, each := range list.Items {
		all["lamp "+each.GetName()] = each.GetResourceVersion()
	}
	config, err := c.Client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: "test.fairlead.dev/lamp"})
	cluster.Must(t, err)
	for _, each := range config.Items {
		all["map "+each.Name] = each.ResourceVersion
	}
	nodes, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	for _, each := range nodes.Items {
		all["node "+each.Name] = each.ResourceVersion
	}
	return all
}

func sameVersions(t *testing.T, before, after map[string]string) {
	t.Helper()
	if !maps.Equal(before, after) {
		t.Errorf("something was written: before %v, after %v", before, after)
	}
}

// fairlead runs a person's command: what it printed, what it complained of, its status.
func fairlead(t *testing.T, c *cluster.Cluster, args ...string) (out, complaint string, status int) {
	t.Helper()
	cmd := c.Command(t.Context(), program(t, "fairlead"), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
