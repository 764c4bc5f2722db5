package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

const moment = time.Minute // for what takes a second, and longer on a machine that does much else

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func create(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name), metav1.CreateOptions{})
	cluster.Must(t, err)
}

func remove(t *testing.T, c *cluster.Cluster, name string) {
	t.Helper()
	cluster.Must(t, c.Client.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// informer is client-go's own, on the same objects.
func informer(t *testing.T, c *cluster.Cluster) cache.Store {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(c.Client, 0, informers.WithNamespace("default"))
	store := factory.Core().V1().ConfigMaps().Informer().GetStore()
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	return store
}

// sameAs waits until the driver has seen what client-go's informer has, and that nothing was told that must not be.
func sameAs(t *testing.T, d *driver, store cache.Store, limit time.Duration) view {
	t.Helper()
	for until := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		want := map[string]string{}
		for _, object := range store.List() {
			m := object.(*corev1.ConfigMap)
			want[m.Namespace+"/"+m.Name] = m.ResourceVersion
		}
		v := d.seen()
		if maps.Equal(v.objects, want) {
			if len(v.wrong) > 0 {
				t.Fatalf("told wrongly: %q", v.wrong)
			}
			return v
		}
		if time.Now().After(until) {
			t.Fatalf("%d objects seen, client-go's informer has %d\nseen: %v\nwant: %v", len(v.objects), len(want), v.objects, want)
		}
	}
}

func follow(t *testing.T, c *cluster.Cluster, args ...string) *driver {
	t.Helper()
	d := run(t, c, c.Kubeconfig(), append([]string{"follow", "kind=configmap", "space=default"}, args...)...)
	d.waitFor(0, moment, "synced")
	return d
}

func TestChangesAreToldAsTheyCome(t *testing.T) {
	for _, how := range []string{"stream", "list"} {
		t.Run(how, func(t *testing.T) {
			c := cluster.ForTest(t, cluster.Options{})
			store := informer(t, c)
			create(t, c, "before-"+how)
			d := follow(t, c, how+"=1")
			from := len(d.all())
			create(t, c, "one-"+how)
			from = d.waitFor(from, moment, "put default/one-"+how)
			_, err := c.Client.CoreV1().ConfigMaps("default").Patch(t.Context(), "one-"+how, types.MergePatchType,
				[]byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
			cluster.Must(t, err)
			from = d.waitFor(from, moment, "put default/one-"+how)
			remove(t, c, "one-"+how)
			d.waitFor(from, moment, "gone default/one-"+how)
			remove(t, c, "before-"+how)
			if v := sameAs(t, d, store, moment); v.fulls != 1 {
				t.Errorf("%d full states", v.fulls)
			}
		})
	}
}

func TestAnObjectThatLeavesTheSelectorIsGone(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	d := follow(t, c, "labels=in=yes")
	m := configMap("labelled")
	m.Labels = map[string]string{"in": "yes"}
	_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
	cluster.Must(t, err)
	from := d.waitFor(0, moment, "put default/labelled")
	_, err = c.Client.CoreV1().ConfigMaps("default").Patch(t.Context(), "labelled", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"in":"no"}}}`), metav1.PatchOptions{})
	cluster.Must(t, err)
	d.waitFor(from, moment, "gone default/labelled")
	remove(t, c, "labelled")
}

// Watches end as agreed, one after the other, and nobody notices.
func TestAWatchThatEndsAsAgreedGoesOnWhereItWas(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	store := informer(t, c)
	d := follow(t, c, "timeout=1")
	for i := range 30 {
		create(t, c, fmt.Sprint("agreed-", i))
		time.Sleep(200 * time.Millisecond)
	}
	for i := range 30 {
		remove(t, c, fmt.Sprint("agreed-", i))
	}
	if v := sameAs(t, d, store, moment); v.fulls != 1 {
		t.Errorf("%d full states for watches that ended as agreed", v.fulls)
	}
}

// Changes are made while the client is stopped; the API server still remembers its version.
func TestAStoppedClientResumesWithoutAFullState(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	store := informer(t, c)
	d := follow(t, c)
	create(t, c, "kept")
	d.waitFor(0, moment, "put default/kept")
	d.signal(unix.SIGSTOP)
	for i := range 50 {
		create(t, c, fmt.Sprint("while-", i))
	}
	remove(t, c, "while-0")
	remove(t, c, "kept")
	d.signal(unix.SIGCONT)
	if v := sameAs(t, d, store, moment); v.fulls != 1 {
		t.Errorf("%d full states", v.fulls)
	}
	for i := range 49 {
		remove(t, c, fmt.Sprint("while-", i+1))
	}
	sameAs(t, d, store, moment)
}

// A restarted API server has forgotten old versions: 410, a new full state, nothing lost and nothing told twice.
func TestAForgottenVersionMeansANewFullState(t *testing.T) {
	for _, how := range []string{"stream", "list"} {
		t.Run(how, func(t *testing.T) {
			c := cluster.NewForTest(t, cluster.Options{})
			store := informer(t, c)
			for i := range 20 {
				create(t, c, fmt.Sprint("old-", i))
			}
			d := follow(t, c, how+"=1")
			from := len(d.all())
			d.signal(unix.SIGSTOP)
			// Twice, so that the second one's cache begins after the changes that nobody has told the client.
			for round := range 2 {
				cluster.Must(t, c.APIServer.Restart(t.Context()))
				for i := range 10 {
					create(t, c, fmt.Sprint("new-", round, "-", i))
					remove(t, c, fmt.Sprint("old-", 10*round+i))
				}
			}
			d.signal(unix.SIGCONT)
			d.waitFor(from, 30*time.Second, "synced")
			v := sameAs(t, d, store, moment)
			if v.fulls != 2 {
				t.Errorf("%d full states, want the first and one after the restart", v.fulls)
			}
			create(t, c, "after")
			sameAs(t, d, store, moment)
		})
	}
}

// Without the watch cache the API server hands on etcd's own compaction, within the watch or as an answer.
func TestCompactionMeansANewFullState(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{Flags: map[string][]string{
		"kube-apiserver": {"--watch-cache=false", "--etcd-compaction-interval=2s"},
	}})
	store := informer(t, c)
	create(t, c, "old")
	d := follow(t, c, "timeout=1") // ended while it is stopped, so that it has to resume
	d.signal(unix.SIGSTOP)
	for i := range 40 {
		create(t, c, fmt.Sprint("new-", i))
		time.Sleep(200 * time.Millisecond)
	}
	remove(t, c, "old")
	time.Sleep(6 * time.Second)
	d.signal(unix.SIGCONT)
	v := sameAs(t, d, store, moment)
	if v.fulls < 2 {
		t.Errorf("%d full states: it resumed from what the server has forgotten", v.fulls)
	}
}

func TestAServerWithoutInitialEventsIsListed(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{Flags: map[string][]string{"kube-apiserver": {"--feature-gates=WatchList=false"}}})
	store := informer(t, c)
	create(t, c, "one")
	d := follow(t, c)
	create(t, c, "two")
	if v := sameAs(t, d, store, moment); v.fulls != 1 {
		t.Errorf("%d full states", v.fulls)
	}
}

// Writers write on while the API server is killed again and again.
func TestAKilledAPIServerUnderLoadLosesNothing(t *testing.T) {
	loseNothing(t, (*cluster.Part).Kill)
}

// One that ends in order says so to those who watch, and answers some of what comes meanwhile.
func TestAnAPIServerThatRestartsUnderLoadLosesNothing(t *testing.T) {
	loseNothing(t, (*cluster.Part).Terminate)
}

// loseNothing has an informer of client-go's see the same as we do, however the server ends.
func loseNothing(t *testing.T, end func(*cluster.Part, context.Context) error) {
	c := cluster.NewForTest(t, cluster.Options{})
	store := informer(t, c)
	d, short := follow(t, c), follow(t, c, "timeout=2", "list=1")
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("load-%d-%d", w, i%25)
				maps := c.Client.CoreV1().ConfigMaps("default")
				switch i % 3 {
				case 0:
					maps.Create(ctx, configMap(name), metav1.CreateOptions{})
				case 1:
					maps.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, i), metav1.PatchOptions{})
				case 2:
					maps.Delete(ctx, name, metav1.DeleteOptions{})
				}
			}
		})
	}
	for range 3 {
		time.Sleep(time.Second)
		cluster.Must(t, end(c.APIServer, t.Context()))
		cluster.Must(t, c.APIServer.Start(t.Context()))
	}
	time.Sleep(time.Second)
	cancel()
	writers.Wait()
	create(t, c, "last")
	for _, d := range []*driver{d, short} {
		v := sameAs(t, d, store, 60*time.Second)
		t.Logf("%d lines, %d full states", len(d.all()), v.fulls)
	}
}

// A frozen API server answers nothing and closes nothing: it shows within the deadline, and heals by itself.
func TestAFrozenAPIServerIsNoticed(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{})
	d := follow(t, c)
	cluster.Must(t, c.APIServer.Stop())
	began := time.Now()
	from := d.waitFor(len(d.all()), 30*time.Second, "state broken")
	took := time.Since(began)
	t.Logf("noticed after %v", took)
	if took > 26*time.Second {
		t.Errorf("noticed after %v, the bar is 25 s", took)
	}
	cluster.Must(t, c.APIServer.Continue())
	d.waitFor(from, 60*time.Second, "state live")
	create(t, c, "after")
	d.waitFor(from, moment, "put default/after")
	if v := d.seen(); v.fulls != 1 || len(v.wrong) > 0 {
		t.Errorf("%d full states, %q", v.fulls, v.wrong)
	}
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.fairlead.dev}
spec:
  group: test.fairlead.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const widget = `{apiVersion: test.fairlead.dev/v1, kind: Widget, metadata: {name: w, namespace: default}}`

// A kind comes late, goes with its objects, and comes again.
func TestAKindComesLateAndVanishes(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	d := run(t, c, c.Kubeconfig(), "follow", "kind=widget")
	from := d.waitFor(0, moment, "absent")
	time.Sleep(4 * time.Second) // asked less and less often by now: the definition's watch is what makes it quick
	for round := range 2 {
		began := time.Now()
		cluster.Must(t, c.Apply(t.Context(), definition))
		from = d.waitFor(from, moment, "synced")
		t.Logf("round %d: read %v after the definition", round, time.Since(began))
		for until := time.Now().Add(moment); ; time.Sleep(100 * time.Millisecond) {
			if err := c.Apply(t.Context(), widget); err == nil {
				break
			} else if time.Now().After(until) {
				t.Fatal(err)
			}
		}
		from = d.waitFor(from, moment, "put default/w")
		_, err := c.Kubectl(t.Context(), "delete", "crd", "widgets.test.fairlead.dev")
		cluster.Must(t, err)
		from = d.waitFor(from, moment, "absent")
	}
	if v := d.seen(); len(v.wrong) > 0 || len(v.objects) > 0 {
		t.Errorf("%v %q", v.objects, v.wrong)
	}
}

// Rights may come later.
func TestAWatchWaitsForItsRights(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	text, err := c.KubeconfigFor("late")
	cluster.Must(t, err)
	path := t.TempDir() + "/config"
	cluster.Must(t, writeFile(path, text))
	d := run(t, c, path, "follow", "kind=configmap", "space=default")
	from := d.waitFor(0, moment, "state broken")
	if !strings.Contains(d.all()[from-1], `User "late" cannot watch resource "configmaps"`) {
		t.Errorf("said %q", d.all()[from-1])
	}
	_, err = c.Kubectl(t.Context(), "create", "clusterrolebinding", "late", "--clusterrole=cluster-admin", "--user=late")
	cluster.Must(t, err)
	d.waitFor(from, moment, "synced")
}

// Fifty thousand Pods, by pages and as a stream. One is made by the API server, the others are put into etcd beside it
// as they would stand there, with other names: what is listed and watched is what counts here, not how it came.
func TestFiftyThousandPods(t *testing.T) {
	c := cluster.NewForTest(t, cluster.Options{})
	const pods = 50000
	pod := cluster.NewPod("p-00000", "", "sleep", "1")
	pod.Spec.NodeSelector = map[string]string{"no": "where"}
	pod.Labels = map[string]string{"app": "many"}
	_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	cluster.Must(t, err)
	began := time.Now()
	const folder = "/registry/pods/default/"
	encode := base64.StdEncoding.EncodeToString
	answer := etcd(t, c, "/v3/kv/range", map[string]any{"key": encode([]byte(folder + "p-00000"))})
	text, err := base64.StdEncoding.DecodeString(answer["kvs"].([]any)[0].(map[string]any)["value"].(string))
	cluster.Must(t, err)
	live, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "p-00000", metav1.GetOptions{})
	cluster.Must(t, err)
	// Names and UIDs are as long as the first one's, so that the lengths around them in the protobuf hold.
	for from := 1; from < pods; from += 100 {
		var puts []any
		for i := from; i < min(from+100, pods); i++ {
			name, uid := fmt.Sprintf("p-%05d", i), fmt.Sprintf("%08x%s", i, live.UID[8:])
			value := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("p-00000"), []byte(name)), []byte(live.UID), []byte(uid))
			puts = append(puts, map[string]any{"requestPut": map[string]any{"key": encode([]byte(folder + name)), "value": encode(value)}})
		}
		etcd(t, c, "/v3/kv/txn", map[string]any{"success": puts})
	}
	t.Logf("made in %v, %d bytes each", time.Since(began), len(text))
	for _, how := range []string{"list", "stream"} {
		began = time.Now()
		d := run(t, c, c.Kubeconfig(), "follow", "kind=pod", "quiet=1", how+"=1")
		from := d.waitFor(0, 2*time.Minute, "synced")
		words := strings.Fields(d.all()[from-1])
		if words[2] != fmt.Sprint(pods) {
			t.Errorf("%s: %s Pods, want %d", how, words[2], pods)
		}
		t.Logf("%s: %v; %s; peak %s kB", how, time.Since(began), strings.Join(words[3:], " "), peak(t, d))
	}
}
