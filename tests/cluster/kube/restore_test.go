package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// etcdFolder is where its data is, on a file system that belongs to the cluster.
func etcdFolder(c *cluster.Cluster) string {
	return filepath.Join(filepath.Dir(c.Kubeconfig()), "..", "etcd")
}

// A backup of etcd is put back: versions go back, objects come again and go again. What is seen in the end is what the
// server has.
func TestAServerRestoredFromABackup(t *testing.T) {
	t.Parallel()
	c := cluster.NewForTest(t, cluster.Options{})
	defineGadgets(t, c)
	store := informer(t, c)
	followers := map[string]*driver{
		"a watch from a list":                  follow(t, c, "list=1"),
		"a watch from a stream":                follow(t, c, "stream=1"),
		"a watch that is renewed every second": follow(t, c, "timeout=1"),
	}
	l := loop(t, c, "default")
	elector := run(t, c, c.Kubeconfig(), "lead", "name=restored", "duration=3000", "giveup=2000", "retry=300", "id=a")
	for i := range 20 {
		create(t, c, fmt.Sprint("kept-", i))
	}
	gadget(t, c, "default", "kept", "{text: one}")
	settled(t, c, "default", "kept")
	elector.waitFor(0, moment, "leads 1")

	stop := func() {
		cluster.Must(t, c.APIServer.Kill(t.Context()))
		cluster.Must(t, c.Etcd.Terminate(t.Context()))
	}
	start := func() {
		cluster.Must(t, c.Etcd.Start(t.Context()))
		cluster.Must(t, c.APIServer.Start(t.Context()))
	}
	backup := t.TempDir()
	stop()
	cluster.Must(t, os.CopyFS(filepath.Join(backup, "etcd"), os.DirFS(etcdFolder(c))))
	start()

	for i := range 10 {
		remove(t, c, fmt.Sprint("kept-", i)) // come again
		create(t, c, fmt.Sprint("lost-", i)) // go
		put(t, c, "default", fmt.Sprint("kept-", 10+i), nil, "x", "y")
	}
	for i := range 300 { // versions far ahead
		put(t, c, "default", "kept-19", nil, "n", fmt.Sprint(i))
	}
	gadget(t, c, "default", "kept", "{text: two}")
	gadget(t, c, "default", "lost", "{text: three}")
	says(t, c, "default", "lost", "three")
	settled(t, c, "default", "kept")
	for _, d := range followers {
		sameAs(t, d, store, moment)
	}
	newest := theGadget(t, c, "default", "kept").GetResourceVersion()

	stop()
	cluster.Must(t, os.RemoveAll(etcdFolder(c)))
	cluster.Must(t, os.CopyFS(etcdFolder(c), os.DirFS(filepath.Join(backup, "etcd"))))
	start()
	if back := theGadget(t, c, "default", "kept").GetResourceVersion(); !newer(newest, back) {
		t.Fatalf("versions did not go back: %s, then %s", newest, back)
	}

	// What was told twice is no fault here: versions begin again, and so does what they count.
	same := func(t *testing.T, d *driver) {
		t.Helper()
		until(t, 60*time.Second, "what the server has", func() (bool, string) {
			list, err := c.Client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
			cluster.Must(t, err)
			seen := d.seen().objects
			wrong := []string{}
			for _, m := range list.Items {
				if seen["default/"+m.Name] != m.ResourceVersion {
					wrong = append(wrong, m.Name+" "+seen["default/"+m.Name]+" is "+m.ResourceVersion)
				}
				delete(seen, "default/"+m.Name)
			}
			for name := range seen {
				wrong = append(wrong, name+" is not there")
			}
			return len(wrong) == 0, strings.Join(wrong, ", ")
		})
	}
	for name, d := range followers {
		t.Run(name+" ends with what the server has", func(t *testing.T) { same(t, d) })
	}
	// client-go's watch goes on from a version that the server has not reached, and stays silent: told, not demanded.
	list, err := c.Client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	cluster.Must(t, err)
	t.Logf("by now client-go's informer has %d objects, the server %d", len(store.List()), len(list.Items))
	t.Run("the loop sees the old wish and follows it", func(t *testing.T) {
		says(t, c, "default", "kept", "one")
		settled(t, c, "default", "kept")
		_, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "gadget-lost", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the ConfigMap of a lost wish: %v", err)
		}
	})
	t.Run("and follows new ones", func(t *testing.T) {
		gadget(t, c, "default", "kept", "{text: four}")
		gadget(t, c, "default", "lost", "{text: five}")
		says(t, c, "default", "kept", "four")
		says(t, c, "default", "lost", "five")
		settled(t, c, "default", "lost")
	})
	t.Run("changes after it are told", func(t *testing.T) {
		create(t, c, "after")
		for _, d := range followers {
			same(t, d)
		}
	})
	t.Run("and the loop rests", func(t *testing.T) {
		before := len(rests(t, l))
		time.Sleep(time.Second)
		if got := l.all()[before:]; len(got) > 0 {
			t.Errorf("said %q", got)
		}
	})
	t.Run("the elector leads again", func(t *testing.T) {
		until(t, 30*time.Second, "its Lease", func() (bool, string) {
			lease, err := c.Client.CoordinationV1().Leases("default").Get(t.Context(), "restored", metav1.GetOptions{})
			if err != nil || lease.Spec.RenewTime == nil {
				return false, fmt.Sprint(err)
			}
			return time.Since(lease.Spec.RenewTime.Time) < 2*time.Second, fmt.Sprint(lease.Spec)
		})
	})
}
