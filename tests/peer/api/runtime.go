package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func kind() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("peer.fairlead.dev/v1")
	u.SetKind("Tool")
	return u
}

func kinds() *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	u.SetAPIVersion("peer.fairlead.dev/v1")
	u.SetKind("ToolList")
	return u
}

// manage runs a manager whose cache holds the namespace, with a controller, until end is called.
func (b *bench) manage(do func(context.Context, client.Client, *unstructured.Unstructured) error, setup func(ctrl.Manager) error) (m ctrl.Manager, end func() error, err error) {
	skip := true // the names of controllers, of which several cases have the same
	m, err = ctrl.NewManager(b.config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{b.space: {}}},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err == nil && setup != nil {
		err = setup(m)
	}
	if err == nil && do != nil {
		err = ctrl.NewControllerManagedBy(m).For(kind()).Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			u := kind()
			if err := m.GetClient().Get(ctx, r.NamespacedName, u); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			return reconcile.Result{}, do(ctx, m.GetClient(), u)
		}))
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(b)
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	if !m.GetCache().WaitForCacheSync(ctx) {
		cancel()
		return nil, nil, errors.New("the cache did not sync")
	}
	return m, func() error { cancel(); return <-ended }, nil
}

// ready applies a condition as controllers do.
func ready(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
	if u.GetDeletionTimestamp() != nil {
		return nil
	}
	size, _, _ := unstructured.NestedInt64(u.Object, "spec", "size")
	wanted := kind()
	wanted.SetName(u.GetName())
	wanted.SetNamespace(u.GetNamespace())
	wanted.Object["status"] = object{"size": size, "conditions": []any{object{"type": "Ready", "status": "True"}}}
	return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("peer"), client.ForceOwnership)
}

func isReady(u *unstructured.Unstructured, size int64) error {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	got, _, _ := unstructured.NestedInt64(u.Object, "status", "size")
	if len(conditions) != 1 || got != size {
		return fmt.Errorf("%s has the status %v", u.GetName(), u.Object["status"])
	}
	return nil
}

func controller(b *bench) error {
	const many = 30
	for i := range many {
		if _, err := b.create(fmt.Sprintf("t%d", i), object{"size": int64(i)}); err != nil {
			return err
		}
	}
	m, end, err := b.manage(ready, nil)
	if err != nil {
		return err
	}
	changed := kind()
	changed.SetName("t0")
	changed.SetNamespace(b.space)
	_, err = controllerutil.CreateOrUpdate(b, m.GetClient(), changed, func() error {
		return unstructured.SetNestedField(changed.Object, int64(77), "spec", "size")
	})
	if err != nil {
		return errors.Join(err, end())
	}
	err = until(b, "all to be ready", func() error {
		list := kinds()
		if err := m.GetClient().List(b, list, client.InNamespace(b.space)); err != nil {
			return err
		}
		var wrong []error
		for i := range list.Items {
			size, _, _ := unstructured.NestedInt64(list.Items[i].Object, "spec", "size")
			wrong = append(wrong, isReady(&list.Items[i], size))
		}
		if len(list.Items) != many {
			wrong = append(wrong, fmt.Errorf("%d objects", len(list.Items)))
		}
		return errors.Join(wrong...)
	})
	return errors.Join(err, end())
}

const held = "peer.fairlead.dev/held"

func finalizer(b *bench) error {
	cleaned := make(chan string, 100)
	_, end, err := b.manage(func(ctx context.Context, c client.Client, u *unstructured.Unstructured) error {
		if u.GetDeletionTimestamp() == nil {
			if controllerutil.AddFinalizer(u, held) {
				return c.Update(ctx, u)
			}
			return nil
		}
		if controllerutil.RemoveFinalizer(u, held) {
			cleaned <- u.GetName()
			return client.IgnoreNotFound(c.Update(ctx, u))
		}
		return nil
	}, nil)
	if err != nil {
		return err
	}
	if _, err := b.create("a", object{}); err != nil {
		return errors.Join(err, end())
	}
	err = until(b, "the finalizer", func() error {
		u, err := b.tools().Get(b, "a", metav1.GetOptions{})
		if err == nil && !slices.Contains(u.GetFinalizers(), held) {
			err = errors.New("is not there")
		}
		return err
	})
	if err == nil {
		err = b.tools().Delete(b, "a", metav1.DeleteOptions{})
	}
	if err == nil {
		err = until(b, "the end", func() error {
			if _, err := b.tools().Get(b, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it is still there"), err)
			}
			return nil
		})
	}
	if err == nil && len(cleaned) == 0 {
		err = errors.New("it went and nobody cleaned up")
	}
	return errors.Join(err, end())
}

func indexed(b *bench) error {
	m, end, err := b.manage(nil, func(m ctrl.Manager) error {
		return m.GetFieldIndexer().IndexField(b, kind(), "owner", func(o client.Object) []string {
			owner, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "spec", "owner")
			return []string{owner}
		})
	})
	if err != nil {
		return err
	}
	owned := func(wanted ...string) error {
		list := kinds()
		if err := m.GetClient().List(b, list, client.InNamespace(b.space), client.MatchingFields{"owner": "me"},
			client.MatchingLabelsSelector{Selector: labels.Everything()}); err != nil {
			return err
		}
		var names []string
		for _, each := range list.Items {
			names = append(names, each.GetName())
		}
		slices.Sort(names)
		if !slices.Equal(names, wanted) {
			return fmt.Errorf("owned are %q", names)
		}
		return nil
	}
	for name, owner := range map[string]string{"a": "me", "b": "you", "c": "me"} {
		if _, err = b.create(name, object{"owner": owner}); err != nil {
			return errors.Join(err, end())
		}
	}
	err = until(b, "the index", func() error { return owned("a", "c") })
	if err == nil {
		_, err = b.tools().Patch(b, "a", types.MergePatchType, []byte(`{"spec":{"owner":"you"}}`), metav1.PatchOptions{})
	}
	if err == nil {
		err = until(b, "the index after the change", func() error { return owned("c") })
	}
	return errors.Join(err, end())
}
