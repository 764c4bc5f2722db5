package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster"
)

// command is what kubectl is called with, and what it reads from its stdin.
type command struct {
	args  string
	stdin string
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.kubectl.fairlead.dev}
spec:
  group: kubectl.fairlead.dev
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bt]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 10}
              crew: {type: array, x-kubernetes-list-type: set, items: {type: string}}
          status: {type: object, properties: {phase: {type: string}}}
`

func boat(name, more string) string {
	return fmt.Sprintf("apiVersion: kubectl.fairlead.dev/v1\nkind: Boat\nmetadata: {name: %s}\n%s\n", name, more)
}

// commands are what people do with a custom resource.
var commands = []command{
	{args: "create -f -", stdin: "apiVersion: v1\nkind: Namespace\nmetadata: {name: kubectl}"},
	{args: "apply -f -", stdin: definition},
	{args: "wait --for=condition=Established --timeout=30s crd/boats.kubectl.fairlead.dev"},
	{args: "apply -f -", stdin: boat("a", "spec: {size: 1, crew: [x]}")},
	{args: "apply -f -", stdin: boat("a", "spec: {size: 1, crew: [x]}")},
	{args: "apply -f -", stdin: boat("a", "spec: {size: 2}")},
	{args: "get boats -o yaml"},
	{args: "get bt/a -o yaml --show-managed-fields"},
	{args: "get boat a -o jsonpath={.spec.size}"},
	{args: "get boats.v1.kubectl.fairlead.dev -o name"},
	{args: "get boats a b -o name"},
	{args: "apply --server-side -f -", stdin: boat("b", "spec: {size: 1}")},
	{args: "apply --server-side -f -", stdin: boat("b", "spec: {size: 2}")},
	{args: "apply --server-side --field-manager=other -f -", stdin: boat("b", "spec: {size: 3}")},
	{args: "apply --server-side --field-manager=other --force-conflicts -f -", stdin: boat("b", "spec: {size: 3}")},
	{args: "apply -f -", stdin: boat("c", "spec: {size: 11}")},
	{args: "apply -f -", stdin: boat("c", "spec: {colour: red}")},
	{args: "apply --validate=warn -f -", stdin: boat("c", "spec: {colour: red}")},
	{args: "create -f -", stdin: boat("a", "")},
	{args: "create --dry-run=server -o yaml -f -", stdin: boat("d", "spec: {size: 4}")},
	{args: `patch boat a --type merge -p {"spec":{"size":5}}`},
	{args: `patch boat a --type merge -p {"spec":{"size":5}}`},
	{args: `patch boat a --type json -p [{"op":"replace","path":"/spec/size","value":6}]`},
	{args: `patch boat a --type json -p [{"op":"remove","path":"/spec/nothing"}]`},
	{args: `patch boat a --subresource=status --type merge -p {"status":{"phase":"Afloat"}}`},
	{args: "wait --for=jsonpath={.status.phase}=Afloat --timeout=30s boat/a"},
	{args: "label boat a x=y"},
	{args: "annotate boat a x=y"},
	{args: "get boats -l x=y -o name"},
	{args: "get boats --field-selector metadata.name=b -o name"},
	{args: "replace -f -", stdin: boat("nothing", "")},
	{args: "create -f -", stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owner}\ndata: {a: b}"},
	{args: "get configmap owner -o yaml"},
	{args: "delete boat b --cascade=orphan"},
	{args: "delete boat c --cascade=foreground"},
	{args: "delete boat a --cascade=background --wait=false"},
	{args: "wait --for=delete --timeout=30s boat/a"},
	{args: "get boats -o name"},
	{args: "delete boat a"},
	{args: "delete boat a --ignore-not-found"},
	{args: "get ships"},
	{args: "delete crd boats.kubectl.fairlead.dev"},
	{args: "delete namespace kubectl"},
}

// person is kubectl with one of the servers.
type person struct {
	c          *cluster.Cluster
	kubeconfig string
	cache      string
}

func (p person) command(ctx context.Context, args ...string) *cluster.Command {
	cmd := p.c.Command(ctx, filepath.Join(os.Getenv("FAIRLEAD_CLUSTER_PROGRAMS"), "kubectl"), args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+p.kubeconfig, "KUBECACHEDIR="+p.cache)
	return cmd
}

// run tells how a command ended and what it printed.
func (p person) run(ctx context.Context, what command) string {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := append([]string{"-n", "kubectl"}, strings.Fields(what.args)...)
	cmd := p.command(ctx, args...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(what.stdin), &out, &out
	var ended *exec.ExitError
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil && !errors.As(err, &ended) {
		return err.Error()
	}
	return fmt.Sprintf("status %d\n%s", cmd.ProcessState.ExitCode(), plain(out.String()))
}

var passing = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: "N"`},
}

func plain(text string) string {
	for _, each := range passing {
		text = each.of.ReplaceAllString(text, each.by)
	}
	return text
}

// TestKubectlSeesNoDifference gives the same commands to both servers.
func TestKubectlSeesNoDifference(t *testing.T) {
	c := cluster.ForTest(t, options)
	real := person{c, c.Kubeconfig(), t.TempDir()}
	ours := person{c, kubeconfigOfOurs(t, c), t.TempDir()}
	for number, each := range commands {
		t.Run(fmt.Sprintf("%02d kubectl %s", number+1, each.args), func(t *testing.T) {
			wanted, got := real.run(t.Context(), each), ours.run(t.Context(), each)
			if wanted != got {
				t.Errorf("the real API server:\n%s\nours:\n%s", wanted, got)
			}
		})
	}
}

// startOurs runs our server where kubectl runs, until the test ends.
func startOurs(t *testing.T, c *cluster.Cluster) (url string) {
	t.Helper()
	cmd := c.Command(context.Background(), ours(t), "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	cluster.Must(t, err)
	cmd.Stderr = os.Stderr
	cluster.Must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if url == "" {
		t.Fatalf("it printed no address but %q: %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	return url
}

func kubeconfigOfOurs(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: %q}}]\n"+
		"contexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {}}]\n", startOurs(t, c))
	cluster.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestKubectlWatches sees `get -w` print what comes.
func TestKubectlWatches(t *testing.T) {
	c := cluster.ForTest(t, options)
	real := person{c, c.Kubeconfig(), t.TempDir()}
	ours := person{c, kubeconfigOfOurs(t, c), t.TempDir()}
	for name, each := range map[string]person{"the real one": real, "ours": ours} {
		t.Run(name, func(t *testing.T) { watchOne(t, each) })
	}
}

func watchOne(t *testing.T, p person) {
	ctx := cluster.Within(t, time.Minute)
	watch := p.command(ctx, "get", "configmaps", "-n", "default", "-w", "-o", "name", "-l", "watched=yes")
	out, err := watch.StdoutPipe()
	cluster.Must(t, err)
	cluster.Must(t, watch.Start())
	lines := bufio.NewScanner(out)
	const watched = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: watched, namespace: default, labels: {watched: \"yes\", n: \"%d\"}}\n"
	for i := range 2 {
		apply := p.command(ctx, "apply", "--server-side", "-f", "-")
		apply.Stdin = strings.NewReader(fmt.Sprintf(watched, i))
		if said, err := apply.Output(); err != nil {
			t.Fatalf("%s %v", said, err)
		}
	}
	for range 2 {
		if !lines.Scan() || lines.Text() != "configmap/watched" {
			t.Fatalf("it printed %q", lines.Text())
		}
	}
	watch.Process.Kill()
	watch.Wait()
}
