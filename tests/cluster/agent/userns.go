package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// userns is a RuntimeClass whose runc can give a Pod a user namespace of its own: Debian's is too old for that (mounts
// with other owners came with runc 1.2). It is built from the Go module that tests/peer/go_runc pins.
const userns = "userns"

// allowUserNamespaces gives a node that runtime. Skips where it cannot be had.
func allowUserNamespaces(t *testing.T, n *cluster.Node) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "pkg-config", "--exists", "libseccomp").Run(); err != nil {
		t.Skip("skipped: no runc that knows user namespaces: the package libseccomp-dev is missing; ./dev setup installs it")
	}
	build := exec.CommandContext(t.Context(), filepath.Join(gpus.Build(), "..", "tests", "peer", "build"),
		"go_runc", "github.com/opencontainers/runc", "seccomp")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=") // it enters namespaces in C, before Go's threads
	said, err := build.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 77 {
		t.Skipf("skipped: no runc that knows user namespaces: %s", failed.Stderr)
	}
	cluster.Must(t, err)
	const file, section = "/etc/containerd/config.toml", "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes." + userns
	var before []byte
	cluster.Must(t, n.Do(func() (err error) { before, err = os.ReadFile(file); return err }))
	cluster.Must(t, n.WriteFile(file, append(before[:len(before):len(before)], (section+"]\n  runtime_type = 'io.containerd.runc.v2'\n"+
		section+".options]\n  BinaryName = '"+strings.TrimSpace(string(said))+"'\n  SystemdCgroup = false\n")...), 0o644))
	cluster.Must(t, n.Containerd.Restart(t.Context()))
	// A user namespace may mount a /proc only where one is seen whole, and the node's own has its boot id over it.
	const whole = "/run/whole-proc"
	cluster.Must(t, n.Do(func() error {
		return errors.Join(os.Mkdir(whole, 0o700), unix.Mount("proc", whole, "proc", 0, ""))
	}))
	classes := n.Cluster().Client.NodeV1().RuntimeClasses()
	_, err = classes.Create(t.Context(), &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: userns}, Handler: userns}, create)
	cluster.Must(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		unmounted := n.Do(func() error { return errors.Join(unix.Unmount(whole, unix.MNT_DETACH), os.Remove(whole)) })
		if err := errors.Join(unmounted, n.WriteFile(file, before, 0o644), n.Containerd.Restart(ctx),
			classes.Delete(ctx, userns, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	cluster.Must(t, n.Cluster().WaitNode(cluster.Within(t, moment), n.Name, "has a runtime with user namespaces", func(node *corev1.Node) bool {
		for _, handler := range node.Status.RuntimeHandlers {
			if handler.Name == userns && handler.Features != nil && handler.Features.UserNamespaces != nil {
				return *handler.Features.UserNamespaces
			}
		}
		return false
	}))
}
