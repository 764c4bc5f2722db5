package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
)

// told is what an informer's handler was told.
type told struct {
	sync.Mutex
	all []string
}

func (t *told) add(what string, of any) {
	if gone, ok := of.(cache.DeletedFinalStateUnknown); ok {
		of = gone.Obj
	}
	t.Lock()
	defer t.Unlock()
	t.all = append(t.all, what+" "+of.(*unstructured.Unstructured).GetName())
}

func (t *told) holds(what string) error {
	t.Lock()
	defer t.Unlock()
	if !slices.Contains(t.all, what) {
		return fmt.Errorf("told was %q, and not %q", t.all, what)
	}
	return nil
}

// follow starts an informer on the tools of the namespace; its factory ends with the case.
func (b *bench) follow(tweak func(*metav1.ListOptions)) (cache.SharedIndexInformer, *told, error) {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(b.dynamic, 0, b.space, tweak)
	informer := factory.ForResource(tools).Informer()
	told := &told{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(of any) { told.add("add", of) },
		UpdateFunc: func(_, of any) { told.add("update", of) },
		DeleteFunc: func(of any) { told.add("delete", of) },
	})
	if err != nil {
		return nil, nil, err
	}
	factory.Start(b.Done())
	if !cache.WaitForCacheSync(b.Done(), informer.HasSynced) {
		return nil, nil, errors.New("the informer did not sync")
	}
	return informer, told, nil
}

func informer(b *bench) error {
	if _, err := b.create("before", object{"size": int64(1)}); err != nil {
		return err
	}
	informer, told, err := b.follow(nil)
	if err != nil {
		return err
	}
	if _, exists, _ := informer.GetStore().GetByKey(b.space + "/before"); !exists {
		return errors.New("it is synced and does not know what was there before")
	}
	if _, err := b.create("after", object{"size": int64(1)}); err != nil {
		return err
	}
	if _, err := b.tools().Patch(b, "after", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := until(b, "update", func() error { return told.holds("update after") }); err != nil {
		return err
	}
	if err := b.tools().Delete(b, "before", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return until(b, "delete", func() error {
		if keys := informer.GetStore().ListKeys(); !slices.Equal(keys, []string{b.space + "/after"}) {
			return fmt.Errorf("the store holds %q", keys)
		}
		return errors.Join(told.holds("add before"), told.holds("add after"), told.holds("delete before"))
	})
}

func watchList(b *bench) error {
	for i := range 20 {
		if _, err := b.create(fmt.Sprintf("t%d", i), object{"size": int64(i)}); err != nil {
			return err
		}
	}
	before := b.watches.Load()
	informer, _, err := b.follow(nil)
	if err != nil {
		return err
	}
	if number := len(informer.GetStore().ListKeys()); number != 20 {
		return fmt.Errorf("it is synced with %d of 20 objects", number)
	}
	if b.watches.Load() == before {
		return errors.New("no watch with initial events succeeded: it has listed")
	}
	return nil
}

func selective(b *bench) error {
	informer, told, err := b.follow(func(o *metav1.ListOptions) { o.LabelSelector = "in=yes" })
	if err != nil {
		return err
	}
	for _, labels := range []string{`{"in":"yes"}`, `{"in":"no"}`, `{"in":"yes"}`} {
		_, err := b.create("a", object{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if _, err := b.tools().Patch(b, "a", types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if err := until(b, "the selector", func() error { return errors.Join(told.holds("add a"), told.holds("delete a")) }); err != nil {
		return err
	}
	return until(b, "the store", func() error {
		if number := len(informer.GetStore().ListKeys()); number != 1 {
			return fmt.Errorf("%d objects", number)
		}
		return nil
	})
}

func listPages(b *bench) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return b.tools().List(ctx, options)
	}
}

func runPager(b *bench, size int64) (names []string, err error) {
	p := pager.New(listPages(b))
	p.PageSize = size
	err = p.EachListItem(b, metav1.ListOptions{}, func(of runtime.Object) error {
		names = append(names, of.(*unstructured.Unstructured).GetName())
		return nil
	})
	return names, err
}

func pagerNames(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	return names
}

func inPages(b *bench) error {
	wanted := pagerNames(25)
	for _, name := range wanted {
		if _, err := b.create(name, object{}); err != nil {
			return err
		}
	}
	names, err := runPager(b, 10)
	if err == nil && !slices.Equal(names, wanted) {
		err = fmt.Errorf("it read %q", names)
	}
	return err
}

func conflicts(b *bench) error {
	if _, err := b.create("a", object{"size": int64(0)}); err != nil {
		return err
	}
	const writers = 10
	failures := make(chan error, writers)
	for range writers {
		go func() {
			failures <- retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error { return increment(b) })
		}()
	}
	var errs []error
	for range writers {
		errs = append(errs, <-failures)
	}
	a, err := b.tools().Get(b, "a", metav1.GetOptions{})
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if size, _, _ := unstructured.NestedInt64(a.Object, "spec", "size"); size != writers || a.GetGeneration() != writers+1 {
		return fmt.Errorf("%d writes made it %d, of generation %d", writers, size, a.GetGeneration())
	}
	return nil
}

// increment is a read and a write, again and again until nobody came between.
func increment(b *bench) error {
	for {
		a, err := b.tools().Get(b, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		size, _, _ := unstructured.NestedInt64(a.Object, "spec", "size")
		unstructured.SetNestedField(a.Object, size+1, "spec", "size")
		if _, err = b.tools().Update(b, a, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func appliers(b *bench) error {
	apply := func(manager string, spec object, subresources ...string) (*unstructured.Unstructured, error) {
		return b.tools().Apply(b, "a", tool("a", spec), metav1.ApplyOptions{FieldManager: manager}, subresources...)
	}
	if _, err := apply("one", object{"size": int64(1)}); err != nil {
		return err
	}
	a, err := apply("two", object{"owner": "me"})
	if err != nil {
		return err
	}
	if managed := a.GetManagedFields(); len(managed) != 2 {
		return fmt.Errorf("managed by %v", managed)
	}
	_, err = apply("three", object{"size": int64(2)})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("the third got %w", errors.Join(err, errors.New("and no conflict")))
	}
	return nil
}

func mapper(b *bench) error {
	discovery := memory.NewMemCacheClient(b.client.Discovery())
	m := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(discovery), discovery, nil)
	resource, err := m.ResourceFor(schema.GroupVersionResource{Resource: "tl"})
	if err == nil && resource != tools {
		err = fmt.Errorf("tl is %v", resource)
	}
	if err != nil {
		return err
	}
	lists, err := b.client.Discovery().ServerPreferredResources()
	if err == nil && len(lists) < 3 {
		err = fmt.Errorf("%d groups are preferred", len(lists))
	}
	return err
}

func leaders(b *bench) error {
	elected := make(chan string, 4)
	run := func(ctx context.Context, name string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "lead", Namespace: b.space},
				Client: b.client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { elected <- name }, OnStoppedLeading: func() {}},
		})
	}
	first, letGo := context.WithCancel(b)
	defer letGo()
	go run(first, "first")
	if name := <-elected; name != "first" {
		return fmt.Errorf("%s leads", name)
	}
	second, end := context.WithCancel(b)
	defer end()
	go run(second, "second")
	letGo()
	select {
	case name := <-elected:
		if name != "second" {
			return fmt.Errorf("%s leads", name)
		}
		return nil
	case <-time.After(patience):
		return errors.New("nobody follows")
	}
}

func recorder(b *bench) error {
	broadcaster := record.NewBroadcaster(record.WithContext(b))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: b.client.CoreV1().Events("")})
	of := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: b.space, UID: "u"}}
	says := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "peer"})
	says.Event(of, corev1.EventTypeNormal, "Why", "because")
	return until(b, "the event", func() error {
		list, err := b.client.CoreV1().Events(b.space).List(b, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=Why"})
		if err == nil && (len(list.Items) != 1 || list.Items[0].Message != "because") {
			err = fmt.Errorf("%d events: %v", len(list.Items), list.Items)
		}
		return err
	})
}
