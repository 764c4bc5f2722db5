package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr"
)

// Rocket is the kind of tests/api/demo.h, as far as this controller looks at it.
type Rocket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              *RocketSpec   `json:"spec,omitempty"`
	Status            *RocketStatus `json:"status,omitempty"`
}

// RocketSpec is what a person wants.
type RocketSpec struct {
	Replicas int32 `json:"replicas"`
}

// RocketStatus is what is so.
type RocketStatus struct {
	Capacity *RocketCapacity `json:"capacity,omitempty"`
}

// RocketCapacity is how much there is of it.
type RocketCapacity struct {
	Total int32 `json:"total"`
}

// DeepCopyObject makes it an object.
func (r *Rocket) DeepCopyObject() runtime.Object {
	out := &Rocket{TypeMeta: r.TypeMeta}
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if r.Spec != nil {
		out.Spec = &RocketSpec{r.Spec.Replicas}
	}
	if r.Status != nil {
		out.Status = &RocketStatus{}
		if r.Status.Capacity != nil {
			out.Status.Capacity = &RocketCapacity{r.Status.Capacity.Total}
		}
	}
	return out
}

// RocketList is several.
type RocketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Rocket `json:"items"`
}

// DeepCopyObject makes it an object.
func (l *RocketList) DeepCopyObject() runtime.Object {
	out := &RocketList{TypeMeta: l.TypeMeta, Items: make([]Rocket, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Rocket)
	}
	return out
}

var rockets = schema.GroupVersion{Group: "demo.fairlead.test", Version: "v1alpha1"}

// reconciler wants of each Rocket a capacity of its replicas and `plus`.
type reconciler struct {
	client.Client
	plus          int32
	wanted        int64
	writes, plans atomic.Int64
	say           func()
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.plans.Add(1)
	var rocket Rocket
	if err := r.Get(ctx, request.NamespacedName, &rocket); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	total := r.plus
	if rocket.Spec != nil {
		total += rocket.Spec.Replicas
	}
	if rocket.Status != nil && rocket.Status.Capacity != nil && rocket.Status.Capacity.Total == total {
		return ctrl.Result{}, nil
	}
	want := &Rocket{TypeMeta: metav1.TypeMeta{APIVersion: rockets.String(), Kind: "Rocket"}}
	want.Name, want.Namespace = request.Name, request.Namespace
	want.Status = &RocketStatus{Capacity: &RocketCapacity{Total: total}}
	if err := r.Status().Patch(ctx, want, client.Apply, client.ForceOwnership, client.FieldOwner("bench")); err != nil {
		return ctrl.Result{}, err
	}
	if r.writes.Add(1) == r.wanted {
		r.say()
	}
	return ctrl.Result{}, nil
}

// converge runs until its stdin ends, and says what it took when everything was so for the first time.
func converge(kubeconfig string, count, plus, flight int) error {
	began := time.Now()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(rockets, &Rocket{}, &RocketList{})
	metav1.AddToGroupVersion(scheme, rockets)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, LeaderElection: true,
		LeaderElectionNamespace: "default", LeaderElectionID: fmt.Sprintf("bench-peer-%d", plus),
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), plus: int32(plus), wanted: int64(count)}
	r.say = func() {
		say(map[string]any{"wall_s": time.Since(began).Seconds(), "cpu_s": cpu(), "rss_kib": peak(),
			"writes": r.writes.Load(), "plans": r.plans.Load()})
	}
	err = ctrl.NewControllerManagedBy(manager).For(&Rocket{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: flight}).Complete(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return manager.Start(ctx)
}
