package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"fairlead/tests/cluster"
)

const (
	apiObjects = 3000
	apiFlight  = 32
	apiBar     = 10
)

// served is an API server under load, and the processes whose time its answers cost.
type served struct {
	configMaps typed.ConfigMapInterface
	pids       []int
}

// apiLoad is one kind of request: object i of 1 KB.
type apiLoad struct {
	name string
	ask  func(ctx context.Context, s *served, i int) error
}

var (
	apiText  = strings.Repeat("0123456789abcdef", 60)
	apiLoads = []apiLoad{
		{"create", func(ctx context.Context, s *served, i int) error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: apiName(i)}, Data: map[string]string{"text": apiText}}
			_, err := s.configMaps.Create(ctx, object, metav1.CreateOptions{})
			return err
		}},
		{"apply", func(ctx context.Context, s *served, i int) error {
			patch := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"state":"%d"}}`, apiName(i), i)
			_, err := s.configMaps.Patch(ctx, apiName(i), types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
			return err
		}},
		{"get", func(ctx context.Context, s *served, i int) error {
			_, err := s.configMaps.Get(ctx, apiName(i), metav1.GetOptions{})
			return err
		}},
	}
)

func apiName(i int) string { return fmt.Sprintf("bench-%d", i) }

// benchAPI asks the real API server and ours the same, by one client, and compares what the answers cost them.
func benchAPI(ctx context.Context) error {
	real, stop, err := realAPI(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ours, stop, err := ourAPI(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, load := range apiLoads {
		theirs, err := load.cost(ctx, real)
		if err != nil {
			return fmt.Errorf("%s, the real one: %w", load.name, err)
		}
		mine, err := load.cost(ctx, ours)
		if err != nil {
			return fmt.Errorf("%s, ours: %w", load.name, err)
		}
		fmt.Fprintf(os.Stderr, "bench_api: %s: %.0f us of processor time the real one with etcd, %.0f us ours\n", load.name,
			theirs*1e6, mine*1e6)
		ratio := float64(int(theirs/mine*10)) / 10
		printOne(row{"local_" + load.name + "_of_the_real_one", ratio, "x", fmt.Sprintf(">= %d", apiBar), ratio >= apiBar})
	}
	return nil
}

func newServed(config *rest.Config, pids ...int) (*served, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentType = "application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &served{client.CoreV1().ConfigMaps("default"), pids}, nil
}

func realAPI(ctx context.Context) (s *served, stop func(), err error) {
	c, err := cluster.Start(ctx, "bench-api", cluster.Options{})
	if err != nil {
		return nil, nil, err
	}
	stop = func() { c.Stop(context.WithoutCancel(ctx)) }
	var pids []int
	for _, part := range []*cluster.Part{c.APIServer, c.Etcd} {
		pid, err := part.Pid()
		if err != nil {
			stop()
			return nil, nil, err
		}
		pids = append(pids, pid)
	}
	if s, err = newServed(c.Config, pids...); err != nil {
		stop()
	}
	return s, stop, err
}

func ourAPI(ctx context.Context) (s *served, stop func(), err error) {
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join(filepath.Dir(os.Getenv("FAIRLEAD_CLUSTER_DO")), "../../build")
	}
	server := exec.CommandContext(ctx, filepath.Join(build, "tests/local/apiserver"), "--listen", "127.0.0.1:0")
	said, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	stop = func() { server.Process.Kill(); server.Wait() }
	line, err := bufio.NewReader(said).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		stop()
		return nil, nil, fmt.Errorf("our API server did not say where it listens: %q, %w", line, err)
	}
	if s, err = newServed(&rest.Config{Host: url}, server.Process.Pid); err != nil {
		stop()
	}
	return s, stop, err
}

// cost is the processor time that one answer takes, in seconds.
func (l apiLoad) cost(ctx context.Context, s *served) (float64, error) {
	before, err := s.used()
	if err != nil {
		return 0, err
	}
	if err := l.all(ctx, s); err != nil {
		return 0, err
	}
	after, err := s.used()
	return (after - before).Seconds() / apiObjects, err
}

func (l apiLoad) all(ctx context.Context, s *served) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var wait sync.WaitGroup
	for range apiFlight {
		wait.Go(func() {
			for i := range numbers {
				if err := l.ask(ctx, s, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < apiObjects && ctx.Err() == nil; i++ {
		numbers <- i
	}
	close(numbers)
	wait.Wait()
	return context.Cause(ctx)
}

func (s *served) used() (sum time.Duration, err error) {
	for _, pid := range s.pids {
		one, err := cluster.ProcessorTime(pid)
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}
