// The program api uses an API server as controllers do: by client-go's informers, reflector, pager, leader election and
// event recorder, and by controller-runtime's manager, cache and client. `api URL` for one that takes everyone, or
// `api KUBECONFIG`. Speaks TAP.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
)

// patience is for what must come.
const patience = 30 * time.Second

type object = map[string]any

var (
	tools      = schema.GroupVersionResource{Group: "peer.fairlead.dev", Version: "v1", Resource: "tools"}
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// bench is what a case works with: a namespace of its own, and clients.
type bench struct {
	context.Context
	space   string
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
	watches *atomic.Int32 // watches that began with the initial events
}

var cases = []struct {
	sentence string
	run      func(*bench) error
}{
	{"a shared informer knows what is there, and is told what comes, changes and goes", informer},
	{"a reflector begins with a watch-list, and needs no list", watchList},
	{"an informer's index and a label selector hold the objects that they should", selective},
	{"a pager reads a list in pages", inPages},
	{"writers that retry on conflict lose no write", conflicts},
	{"two appliers share an object, and a third meets a conflict", appliers},
	{"discovery and its mapper find a kind by its short name", mapper},
	{"of two candidates one leads, and the other follows when it lets go", leaders},
	{"a recorder's event is stored and found by its object", recorder},
	{"a controller of controller-runtime brings all objects to Ready by server-side apply", controller},
	{"a finalizer holds an object until its controller has cleaned up", finalizer},
	{"controller-runtime's cache answers by field index and stops telling of what left its selector", indexed},
}

func main() {
	ctrl.SetLogger(logr.Discard())
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: api URL|KUBECONFIG")
		os.Exit(2)
	}
	config, watches, err := connect(os.Args[1])
	if err == nil {
		err = define(config)
	}
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
	fmt.Printf("1..%d\n", len(cases))
	status := 0
	for i, each := range cases {
		err := one(config, watches, i, each.run)
		if err == nil {
			fmt.Printf("ok %d - %s\n", i+1, each.sentence)
			continue
		}
		status = 1
		fmt.Printf("not ok %d - %s\n# %s\n", i+1, each.sentence, strings.ReplaceAll(err.Error(), "\n", "\n# "))
	}
	os.Exit(status)
}

// connect reads where the server is, and counts the watch-lists that are asked of it.
func connect(where string) (*rest.Config, *atomic.Int32, error) {
	config := &rest.Config{Host: where}
	if !strings.HasPrefix(where, "http://") {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", where); err != nil {
			return nil, nil, err
		}
	}
	config.QPS, config.Burst = -1, -1
	config.ContentType = "application/json"
	watches := &atomic.Int32{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, watches} })
	return config, watches, nil
}

type counter struct {
	http.RoundTripper
	watches *atomic.Int32
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK && r.URL.Query().Get("sendInitialEvents") == "true" {
		c.watches.Add(1)
	}
	return response, err
}

// one runs a case in a namespace of its own.
func one(config *rest.Config, watches *atomic.Int32, number int, run func(*bench) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	b := &bench{Context: ctx, space: fmt.Sprintf("peer-%d", number+1), config: config, watches: watches}
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if b.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	space := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": b.space}}}
	if _, err := b.dynamic.Resource(namespaces).Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return err
	}
	return run(b)
}

// define installs the kind that all cases use.
func define(config *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	spec := object{"type": "object", "properties": object{
		"size":  object{"type": "integer", "minimum": int64(0)},
		"owner": object{"type": "string"},
	}}
	condition := object{"type": "object", "required": []any{"type", "status"}, "properties": object{
		"type": object{"type": "string"}, "status": object{"type": "string"}, "reason": object{"type": "string"},
		"message": object{"type": "string"}, "lastTransitionTime": object{"type": "string", "format": "date-time"}}}
	status := object{"type": "object", "properties": object{"size": object{"type": "integer"}, "conditions": object{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"}, "items": condition}}}
	crd := &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "tools.peer.fairlead.dev"},
		"spec": object{"group": tools.Group, "scope": "Namespaced",
			"names": object{"plural": "tools", "singular": "tool", "kind": "Tool", "listKind": "ToolList", "shortNames": []any{"tl"}},
			"versions": []any{object{"name": tools.Version, "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": spec, "status": status}}}}}},
	}}
	if _, err := client.Resource(crds).Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "peer", Force: true}); err != nil {
		return err
	}
	return until(ctx, "the kind", func() error {
		_, err := client.Resource(tools).List(ctx, metav1.ListOptions{})
		return err
	})
}

// until asks again and again.
func until(ctx context.Context, what string, try func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, errors.Join(err, ctx.Err()))
		}
	}
}

func tool(name string, spec object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{"apiVersion": "peer.fairlead.dev/v1", "kind": "Tool",
		"metadata": object{"name": name}, "spec": spec}}
}

func (b *bench) tools() dynamic.ResourceInterface {
	return b.dynamic.Resource(tools).Namespace(b.space)
}

func (b *bench) create(name string, spec object) (*unstructured.Unstructured, error) {
	return b.tools().Create(b, tool(name, spec), metav1.CreateOptions{})
}
