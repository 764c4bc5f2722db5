package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	podResource            = corev1.SchemeGroupVersion.WithResource("pods")
	nodeResource           = corev1.SchemeGroupVersion.WithResource("nodes")
	serviceAccountResource = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)

// waitAtMost bounds every wait whose context has no deadline of its own.
const waitAtMost = time.Minute

func (c *Cluster) connectClients() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1 // tests are not to be slowed down
	config.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		return c.LAN.Dial(ctx, address)
	}
	c.Config = config
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.Dynamic, err = dynamic.NewForConfig(config)
	return err
}

// Command prepares a program that runs at the tests' place in the network, with the host's files
// and KUBECONFIG set.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *Command {
	cmd := c.LAN.Command(ctx, name, args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+c.Kubeconfig())
	return cmd
}

// Kubectl runs kubectl as an administrator and returns what it printed.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.kubectl(ctx, "", args...)
}

func (c *Cluster) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := c.Command(ctx, filepath.Join(c.programs, "kubectl"), args...)
	cmd.Env = append(cmd.Env, "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"))
	cmd.Stdin = strings.NewReader(stdin)
	return cmd.Output()
}

// Apply applies a manifest, YAML or JSON.
func (c *Cluster) Apply(ctx context.Context, manifest string) error {
	_, err := c.kubectl(ctx, manifest, "apply", "--server-side", "-f", "-")
	return err
}

// ApplyFile applies a manifest from a file.
func (c *Cluster) ApplyFile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return c.Apply(ctx, string(text))
}

// WaitFor watches one object until done says so. done gets nil while the object does not exist.
// The watch is taken up again when the API server goes away.
func (c *Cluster) WaitFor(ctx context.Context, what string, resource schema.GroupVersionResource,
	namespace, name string, done func(*unstructured.Unstructured) bool) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, waitAtMost)
		defer cancel()
	}
	wait := objectWait{
		objects: c.Dynamic.Resource(resource).Namespace(namespace),
		only:    fields.OneTermEqualSelector("metadata.name", name).String(),
		done:    done,
	}
	for {
		err := wait.watch(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: waiting until it %s: %w; it was last seen as:\n%s",
				resource.Resource, name, what, errors.Join(context.Cause(ctx), err), wait.lastSeen())
		case <-time.After(50 * time.Millisecond): // the API server is away, or the watch ended
		}
	}
}

type objectWait struct {
	objects dynamic.ResourceInterface
	only    string
	done    func(*unstructured.Unstructured) bool
	last    *unstructured.Unstructured
}

var errWatchEnded = errors.New("the watch ended")

// watch reads the object and follows it until it is as wanted; any error means try again.
func (w *objectWait) watch(ctx context.Context) error {
	list, err := w.objects.List(ctx, metav1.ListOptions{FieldSelector: w.only})
	if err != nil {
		return err
	}
	w.last = nil
	if len(list.Items) > 0 {
		w.last = &list.Items[0]
	}
	if w.done(w.last) {
		return nil
	}
	watcher, err := w.objects.Watch(ctx, metav1.ListOptions{FieldSelector: w.only, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return errWatchEnded
		}
		w.last = object
		if event.Type == watch.Deleted {
			w.last = nil
		}
		if w.done(w.last) {
			return nil
		}
	}
	return errWatchEnded
}

func (w *objectWait) lastSeen() string {
	if w.last == nil {
		return "    not there"
	}
	text, err := json.MarshalIndent(w.last.Object["status"], "    ", "  ")
	if err != nil {
		return err.Error()
	}
	return "    status: " + string(text)
}

// WaitNode watches a node until done says so.
func (c *Cluster) WaitNode(ctx context.Context, name, what string, done func(*corev1.Node) bool) error {
	return c.WaitFor(ctx, what, nodeResource, "", name, typed(done))
}

// WaitPod watches a Pod of the namespace default until done says so; nil means it is gone.
func (c *Cluster) WaitPod(ctx context.Context, name, what string, done func(*corev1.Pod) bool) error {
	return c.WaitFor(ctx, what, podResource, "default", name, func(object *unstructured.Unstructured) bool {
		if object == nil {
			return done(nil)
		}
		return typed(done)(object)
	})
}

// typed lets a function of a Go type judge an object that has just arrived; a missing object never satisfies it.
func typed[T any](done func(*T) bool) func(*unstructured.Unstructured) bool {
	return func(object *unstructured.Unstructured) bool {
		if object == nil {
			return false
		}
		var value T
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &value)
		return err == nil && done(&value)
	}
}

// WaitNodeReady waits until a node is Ready and takes Pods, or until it is not Ready and takes none.
func (c *Cluster) WaitNodeReady(ctx context.Context, name string, ready bool) error {
	what := "is Ready"
	if !ready {
		what = "is not Ready"
	}
	return c.WaitNode(ctx, name, what, func(node *corev1.Node) bool {
		return nodeIsReady(node) == ready && isTainted(node) == !ready
	})
}

func nodeIsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isTainted(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	return false
}

// waitForDefaultAccount waits for what a Pod needs before it can be made.
func (c *Cluster) waitForDefaultAccount(ctx context.Context) error {
	return c.WaitFor(ctx, "exists", serviceAccountResource, "default", "default",
		func(object *unstructured.Unstructured) bool { return object != nil })
}

// NewPod describes a Pod of one busybox container. An empty node leaves the choice to the scheduler.
func NewPod(name, node string, command ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name:            "main",
				Image:           BusyboxImage,
				ImagePullPolicy: corev1.PullNever,
				Command:         command,
			}},
		},
	}
	if node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	return pod
}

// RunPod creates a Pod, waits until it is ready, and returns it as it is then.
func (c *Cluster) RunPod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	_, err := c.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return c.WaitPodReady(ctx, pod.Name)
}

// WaitPodReady waits until a Pod is ready and returns it as it is then.
func (c *Cluster) WaitPodReady(ctx context.Context, name string) (ready *corev1.Pod, err error) {
	err = c.WaitPod(ctx, name, "is ready", func(pod *corev1.Pod) bool {
		ready = pod
		return pod != nil && podIsReady(pod)
	})
	return ready, err
}

// WaitPodPhase waits until a Pod is in a phase, such as Succeeded.
func (c *Cluster) WaitPodPhase(ctx context.Context, name string, phase corev1.PodPhase) error {
	return c.WaitPod(ctx, name, "is "+string(phase), func(pod *corev1.Pod) bool {
		return pod != nil && pod.Status.Phase == phase
	})
}

func podIsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// DeletePod deletes a Pod and waits until it is gone.
func (c *Cluster) DeletePod(ctx context.Context, name string) error {
	err := c.Client.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	return c.WaitPod(ctx, name, "is gone", func(pod *corev1.Pod) bool { return pod == nil })
}

// Logs returns what a Pod's container has written.
func (c *Cluster) Logs(ctx context.Context, pod string) (string, error) {
	return c.Kubectl(ctx, "logs", pod)
}

// Exec runs a command in a Pod's container and returns what it printed.
func (c *Cluster) Exec(ctx context.Context, pod string, command ...string) (string, error) {
	return c.Kubectl(ctx, append([]string{"exec", pod, "--"}, command...)...)
}
