package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

// The wall clock of the client's machine steps by an hour, forth and back. To the API server and to the other replica
// that is the same as theirs stepping the other way: only differences can be seen.

var steps = []string{"3600", "-3600", "-3600", "3600"}

func TestElectionsWhileTheClockSteps(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})

	t.Run("the leader's clock steps: it leads on, without a break", func(t *testing.T) {
		t.Parallel()
		a, b := electors(t, c, "clock-leader")
		for _, by := range steps {
			a.tell("step " + by)
			a.waitFor(0, moment, "stepped "+by)
			time.Sleep(1500 * time.Millisecond)
		}
		for _, line := range append(a.all()[1:], b.all()...) {
			if strings.HasPrefix(line, "leads 0") || strings.HasPrefix(line, "leads 1 term=1") || strings.HasPrefix(line, "write failed") {
				t.Errorf("said %q", line)
			}
		}
		if n := count(b.all(), "leads"); n != 0 {
			t.Errorf("the standby led %d times", n)
		}
	})
	t.Run("the standby's clock steps: it takes nothing", func(t *testing.T) {
		t.Parallel()
		a, b := electors(t, c, "clock-standby")
		for _, by := range steps {
			b.tell("step " + by)
			b.waitFor(0, moment, "stepped "+by)
			time.Sleep(1500 * time.Millisecond)
		}
		if count(b.all(), "leads") != 0 || count(a.all(), "leads") != 1 {
			t.Errorf("a said %q, b said %q", a.all(), b.all())
		}
	})
	t.Run("a leader whose clock is ahead dies: it is replaced when its time is over, no sooner and not much later", func(t *testing.T) {
		t.Parallel()
		a, b := electors(t, c, "clock-ahead")
		a.tell("step 3600")
		time.Sleep(time.Second) // renewed with a time that is an hour from now
		began := time.Now()
		a.signal(unix.SIGKILL)
		b.waitFor(0, moment, "leads 1 term=1")
		if took := time.Since(began); took < 2*time.Second || took > 10*time.Second {
			t.Errorf("replaced after %v, its duration is 3 s", took)
		}
	})
	for _, by := range []string{"3600", "-3600"} {
		t.Run("client-go's elector beside ours, whose clock is off by "+by+" s: never two", func(t *testing.T) {
			t.Parallel()
			lease := "clock-go" + strings.Replace(by, "-", "-minus-", 1)
			a := run(t, c, c.Kubeconfig(), "lead", "name="+lease, "duration=3000", "giveup=2000", "retry=300", "id=a", "step="+by)
			a.waitFor(0, moment, "leads 1")
			ctx, cancel := context.WithCancel(t.Context())
			var mu sync.Mutex
			var led time.Time
			var ends sync.WaitGroup
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: lease},
					Client: c.Client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "go"}},
				LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 300 * time.Millisecond, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { mu.Lock(); led = time.Now(); mu.Unlock() },
					OnStoppedLeading: func() {},
				},
			})
			cluster.Must(t, err)
			ends.Go(func() { elector.Run(ctx) })
			time.Sleep(5 * time.Second)
			mu.Lock()
			if !led.IsZero() {
				t.Error("client-go's leads while ours does")
			}
			mu.Unlock()
			died := time.Now()
			a.signal(unix.SIGSTOP)
			until(t, moment, "client-go's turn", func() (bool, string) {
				mu.Lock()
				defer mu.Unlock()
				return !led.IsZero(), "not yet"
			})
			a.signal(unix.SIGCONT)
			a.waitFor(0, moment, "leads 0")
			if took := led.Sub(died); took < 2*time.Second {
				t.Errorf("client-go's leads after %v, our duration is 3 s", took)
			}
			from := len(a.all())
			time.Sleep(4 * time.Second)
			if n := count(a.all()[from:], "leads 1"); n != 0 {
				t.Error("ours leads while client-go's does")
			}
			cancel() // released
			ends.Wait()
			a.waitFor(from, moment, "leads 1")
		})
	}
}

// Whatever the machine's clock says, what the API server accepts is used.
func TestCredentialsWhileTheClockSteps(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	lossless := func(t *testing.T, d *driver) {
		t.Helper()
		for _, by := range steps {
			d.tell("step " + by)
			from := d.waitFor(0, moment, "stepped "+by)
			from = d.waitFor(max(from, len(d.all())), moment, "done")
			d.waitFor(from+10, moment, "done")
		}
		for _, line := range d.all() {
			if strings.HasPrefix(line, "failed") {
				t.Errorf("a call was lost: %s", line)
			}
		}
	}
	t.Run("a certificate goes on", func(t *testing.T) {
		d := run(t, c, c.Kubeconfig(), "repeat", "name=clock-certificate", "every=20")
		d.waitFor(0, moment, "done 5")
		lossless(t, d)
	})
	t.Run("a token in a file goes on", func(t *testing.T) {
		kubeconfig, _, _ := tokenFor(t, c, "clock-token")
		d := run(t, c, kubeconfig, "repeat", "name=clock-token", "every=20")
		d.waitFor(0, moment, "done 5")
		lossless(t, d)
	})
	plugin := func(t *testing.T, script string) (kubeconfig string) {
		t.Helper()
		kubeconfig, file, token := tokenFor(t, c, strings.ToLower(filepath.Base(t.TempDir()))+fmt.Sprint(time.Now().UnixNano()))
		dir := filepath.Dir(kubeconfig)
		script = strings.NewReplacer("TOKEN", token, "DIR", dir).Replace(script)
		cluster.Must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte("#!/bin/sh\necho x >> "+dir+"/runs\n"+script), 0o700))
		cluster.Must(t, os.Remove(file))
		text, err := os.ReadFile(kubeconfig)
		cluster.Must(t, err)
		cluster.Must(t, os.WriteFile(kubeconfig, []byte(strings.Replace(string(text), "{tokenFile: token}",
			"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin}}", 1)), 0o600))
		return kubeconfig
	}
	credential := func(expires string) string {
		return `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"TOKEN","expirationTimestamp":"'` +
			`$(date -u -d "` + expires + `" +%Y-%m-%dT%H:%M:%SZ)'"}}'` + "\n"
	}
	runs := func(kubeconfig string) int {
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(kubeconfig), "runs"))
		return len(text) / 2
	}
	t.Run("a plugin's credential that is good for a while goes on", func(t *testing.T) {
		kubeconfig := plugin(t, credential("now + 30 minutes"))
		d := run(t, c, kubeconfig, "repeat", "name=clock-plugin", "every=20")
		d.waitFor(0, moment, "done 5")
		lossless(t, d)
		if n := runs(kubeconfig); n != 1 {
			t.Errorf("the plugin ran %d times", n)
		}
	})
	t.Run("on a machine whose clock is an hour ahead a plugin's credential for half an hour is used", func(t *testing.T) {
		kubeconfig := plugin(t, credential("now + 30 minutes"))
		d := run(t, c, kubeconfig, "repeat", "name=clock-ahead", "every=20", "step=3600")
		d.wait(0, moment, "50 calls", func(line string) bool { return line == "done 50" })
		if n := count(d.all(), "failed"); n != 0 {
			t.Errorf("%d calls were lost", n)
		}
		if n := runs(kubeconfig); n > 3 {
			t.Errorf("the plugin ran %d times for 50 calls", n)
		}
	})
	t.Run("a plugin's credential that expires in flight is replaced before it does", func(t *testing.T) {
		kubeconfig := plugin(t, credential("now + 34 seconds"))
		began := time.Now()
		d := run(t, c, kubeconfig, "repeat", "name=clock-expires", "every=50")
		until(t, 30*time.Second, "three runs of the plugin", func() (bool, string) {
			return runs(kubeconfig) >= 3, fmt.Sprint(runs(kubeconfig))
		})
		d.waitFor(len(d.all()), moment, "done")
		for _, line := range d.all() {
			if strings.HasPrefix(line, "failed") {
				t.Errorf("a call was lost: %s", line)
			}
		}
		if took := time.Since(began); took < 6*time.Second {
			t.Errorf("three runs within %v: good for 34 s, renewed 30 s before its end", took)
		}
	})
	t.Run("a plugin that fails while its credential is still good costs nothing", func(t *testing.T) {
		kubeconfig := plugin(t, "[ $(wc -l < DIR/runs) -le 1 ] || exit 1\n"+credential("now + 60 seconds"))
		d := run(t, c, kubeconfig, "repeat", "name=clock-fails", "every=50")
		d.wait(0, 2*moment, "100 calls", func(line string) bool { return line == "done 100" })
		if n := count(d.all(), "failed"); n != 0 {
			t.Errorf("%d calls were lost", n)
		}
	})
	t.Run("a status written under a stepped clock is not written again when it steps back", func(t *testing.T) {
		defineGadgets(t, c)
		ns := space(t, c, "clock-loop")
		d := run(t, c, c.Kubeconfig(), "loop", "space="+ns, "step=3600")
		gadget(t, c, ns, "g", "{text: one}")
		settled(t, c, ns, "g")
		before := count(rests(t, d), "write")
		for _, by := range []string{"-3600", "-3600"} {
			d.tell("step " + by)
			d.waitFor(0, moment, "stepped "+by)
			put(t, c, ns, "gadget-g", nil, "text", "theirs") // something to do
			says(t, c, ns, "g", "one")
		}
		settled(t, c, ns, "g")
		rests(t, d)
		if n := count(d.all(), "write want ConfigMap") - 1; n != 2 || before == 0 {
			t.Errorf("%d writes of the ConfigMap for two changes", n)
		}
	})
}
