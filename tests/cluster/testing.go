package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared are the clusters that the tests of a package use in turn.
var shared = struct {
	sync.Mutex
	clusters map[string]*sharedCluster
	ended    bool // Main will end them
}{clusters: map[string]*sharedCluster{}}

type sharedCluster struct {
	cluster *Cluster
	err     error
	failed  bool // a test that used it failed
}

// ForTest returns a running cluster that all tests of the package with the same options share.
// A test leaves it as it found it. A package that uses it calls Main from its TestMain.
func ForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	SkipIfImpossible(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.ended {
		t.Fatal("nobody would end the cluster; give the package a TestMain that calls cluster.Main")
	}
	key := options.key()
	s := shared.clusters[key]
	if s == nil {
		s = &sharedCluster{}
		s.cluster, s.err = Start(context.Background(), testName(), options)
		shared.clusters[key] = s
	}
	if s.err != nil {
		t.Fatalf("the cluster did not start: %v", s.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.failed = true
			t.Logf("the cluster's logs are kept in %s", s.cluster.LogDir())
		}
	})
	return s.cluster
}

// NewForTest returns a cluster for this test alone, which ends with it.
func NewForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	SkipIfImpossible(t)
	c, err := Start(t.Context(), testName(), options)
	if err != nil {
		t.Fatalf("the cluster did not start: %v", err)
	}
	t.Cleanup(func() {
		if err := c.end(context.Background(), t.Failed()); err != nil {
			t.Errorf("the cluster did not end: %v", err)
		}
		if t.Failed() {
			t.Logf("the cluster's logs are kept in %s", c.LogDir())
		}
	})
	return c
}

// Main runs the tests of a package and ends the clusters that they shared:
// func TestMain(m *testing.M) { cluster.Main(m) }
func Main(m *testing.M) {
	shared.ended = true
	code := m.Run()
	for _, s := range shared.clusters {
		if s.err != nil {
			continue
		}
		if err := s.cluster.end(context.Background(), s.failed); err != nil {
			fmt.Fprintln(os.Stderr, "a cluster did not end:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Within returns a context that ends with the test or after the time, whichever is first.
func Within(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// SkipIfImpossible skips a test on a machine that cannot run a cluster.
func SkipIfImpossible(t testing.TB) {
	t.Helper()
	if missing := Missing(); len(missing) > 0 {
		t.Skip("skipped: " + strings.Join(missing, "; "))
	}
}

var testNumber int

// testName is a name for a cluster that no other test process uses.
func testName() string {
	testNumber++
	return fmt.Sprintf("test-%d-%d", os.Getpid(), testNumber)
}

// key is the same for options that make the same cluster.
func (o Options) key() string {
	text := fmt.Sprint(o.Nodes, o.Controllers, o.Flags, o.Manifests, o.Kind, o.Services != nil)
	if o.Mounts != nil {
		for node := 1; node <= o.Nodes; node++ {
			text += fmt.Sprintf(" %+v", o.Mounts(node))
		}
	}
	return text
}
