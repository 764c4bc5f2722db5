package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

// What a container tries: to open each card, by a node that it makes itself; and what it sees of the driver.
const tries = `
ls -d /dev/nvidia[0-9]*
for minor in 0 1 2 3 4 5 6 7; do
	mknod /card$minor c 195 $minor
	cat /card$minor 2>&1
done
cat /dev/nvidia[0-9]* 2>&1
cat /dev/nvidiactl 2>&1
echo "void is $NVIDIA_VISIBLE_DEVICES"
for name in libcuda.so libcuda.so.1 libnvidia-ml.so.1; do
	file=$(find / -xdev -name $name | head -1)
	[ -s "$file" ] && echo "$name is there"
	echo "$name -> $(readlink $file)"
done
`

// evil is a library that an image has loaded into whatever runs with its environment (CVE-2025-23266).
func evil(t *testing.T, mark string) string {
	t.Helper()
	folder := t.TempDir()
	source, library := filepath.Join(folder, "evil.c"), filepath.Join(folder, "evil.so")
	cluster.Must(t, os.WriteFile(source, fmt.Appendf(nil, `#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open(%q, O_CREAT | O_WRONLY, 0600); }
`, mark), 0o600))
	if said, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Skipf("no compiler for the library: %v\n%s", err, said)
	}
	return library
}

// A real containerd and runc put the agent's CDI devices into a container, and start the hook where the agent keeps it: by
// default, and at a path that was named. Row 32: the image's LD_PRELOAD is not the hook's.
func TestContainerHasItsCardAndNoOther(t *testing.T) {
	for _, row := range []struct {
		says  string
		flags []string
	}{
		{"by the hook", nil},
		{"by a hook whose path was named", []string{"--cdi-hook-path=" + filepath.Join(t.TempDir(), "hook")}},
	} {
		t.Run(row.says, func(t *testing.T) {
			options, err := gpus.Cluster(gpus.WithAgent(cluster.Options{Nodes: 1}, row.flags...), "a100")
			cluster.Must(t, err)
			c := cluster.NewForTest(t, options)
			node := c.Node(1)
			cluster.Must(t, c.WaitNode(t.Context(), node.Name, "has its GPUs", func(n *corev1.Node) bool {
				left := n.Status.Allocatable[resourceName]
				return left.Value() == 8
			}))
			mark := filepath.Join(t.TempDir(), "mark")
			image := cluster.Image{Name: "fairlead.test/evil:1", Files: map[string]string{"evil.so": evil(t, mark)}}
			archive := filepath.Join(t.TempDir(), "evil.tar")
			busybox, err := exec.LookPath("busybox")
			cluster.Must(t, err)
			image.Files["bin/busybox"] = busybox
			image.Links = map[string]string{}
			for _, name := range []string{"sh", "ls", "cat", "mknod", "find", "head", "readlink"} {
				image.Links["bin/"+name] = "busybox"
			}
			image.Env = []string{"PATH=/bin", "LD_PRELOAD=/proc/self/cwd/evil.so"}
			cluster.Must(t, cluster.WriteImages(archive, image))
			cluster.Must(t, node.LoadImage(t.Context(), archive))

			pod := cluster.NewPod("looks", node.Name, "/bin/sh", "-c", tries)
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].Image = image.Name
			pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{resourceName: resource.MustParse("1")}
			_, err = c.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
			cluster.Must(t, err)
			cluster.Must(t, c.WaitPodPhase(t.Context(), "looks", corev1.PodSucceeded))
			said, err := c.Logs(t.Context(), "looks")
			cluster.Must(t, err)
			if n := strings.Count(said, "No such device or address"); n != 3 {
				t.Errorf("a GPU that was granted says ENXIO, by both its nodes, and so does nvidiactl: %d times", n)
			}
			if n := strings.Count(said, "Operation not permitted"); n != 7 {
				t.Errorf("a GPU that was not granted says EPERM: %d times", n)
			}
			words := []string{"void is void", "libcuda.so is there", "libcuda.so.1 is there", "libnvidia-ml.so.1 is there",
				"libnvidia-ml.so.1 -> libnvidia-ml.so.", "libcuda.so.1 -> libcuda.so."}
			for _, word := range words {
				if !strings.Contains(said, word) {
					t.Errorf("it does not say %q", word)
				}
			}
			if t.Failed() {
				t.Logf("it says\n%s", said)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a library of the image was loaded by what the host ran")
			}
		})
	}
}
