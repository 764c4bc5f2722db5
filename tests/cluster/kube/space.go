package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"fairlead/tests/cluster"
)

// space makes a namespace, so that tests which run at the same time do not see each other's objects. It stays until
// the cluster ends: without a controller manager no namespace ever goes.
func space(t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	_, err := c.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	cluster.Must(t, err)
	return name
}

// put makes a ConfigMap, or changes it.
func put(t *testing.T, c *cluster.Cluster, space, name string, labels map[string]string, data ...string) {
	t.Helper()
	m := configMap(name)
	m.Labels, m.Data = labels, map[string]string{}
	for i := 0; i+1 < len(data); i += 2 {
		m.Data[data[i]] = data[i+1]
	}
	maps := c.Client.CoreV1().ConfigMaps(space)
	_, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(t.Context(), m, metav1.UpdateOptions{})
	}
	cluster.Must(t, err)
}

func drop(t *testing.T, c *cluster.Cluster, space, name string) {
	t.Helper()
	cluster.Must(t, c.Client.CoreV1().ConfigMaps(space).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// informerOf is client-go's own informer on the ConfigMaps of a namespace.
func informerOf(t *testing.T, c *cluster.Cluster, space string) cache.Store {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(c.Client, 0, informers.WithNamespace(space))
	store := factory.Core().V1().ConfigMaps().Informer().GetStore()
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	return store
}

// until asks again and again, and fails with what it was told last.
func until(t *testing.T, limit time.Duration, what string, ok func() (bool, string)) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		done, last := ok()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s did not come within %v; last seen: %s", what, limit, last)
		}
	}
}

// etcd asks etcd's own gateway.
func etcd(t *testing.T, c *cluster.Cluster, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	cluster.Must(t, err)
	client := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return c.Control.Dial(ctx, address) },
		DisableKeepAlives: true,
	}}
	response, err := client.Post("http://127.0.0.1:2379"+path, "application/json", bytes.NewReader(text))
	cluster.Must(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	cluster.Must(t, err)
	out := map[string]any{}
	if err := json.Unmarshal(answer, &out); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("etcd answers %s %s", response.Status, answer)
	}
	return out
}

// compact makes etcd forget all that was before now.
func compact(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	header := etcd(t, c, "/v3/kv/range", map[string]any{"key": "AA=="})["header"].(map[string]any)
	etcd(t, c, "/v3/kv/compaction", map[string]any{"revision": header["revision"], "physical": true})
}

var (
	widgetResource = schema.GroupVersionResource{Group: "test.fairlead.dev", Version: "v1", Resource: "widgets"}
	gadgetResource = schema.GroupVersionResource{Group: "test.fairlead.dev", Version: "v1", Resource: "gadgets"}
)

// defineGadgets installs the definition that the driver prints from the kind's own table.
func defineGadgets(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	_, objects := call(t, c, c.Kubeconfig(), "definition")
	cluster.Must(t, c.Apply(t.Context(), objects[0]))
	until(t, moment, "the kind", func() (bool, string) {
		_, err := c.Dynamic.Resource(gadgetResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// count is how many lines begin so.
func count(lines []string, prefix string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}
