package agent

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead/tests/cluster"
)

// What a container says: of the program that needs libcuda.so.1, and of what it has of the driver.
const looks = `
uses-cuda 2>&1; echo "the program ended with $?"
echo "LD_LIBRARY_PATH is [$LD_LIBRARY_PATH]"
echo "libcuda is in $NVIDIA_CTK_LIBCUDA_DIR"
for name in libcuda.so libcuda.so.1 libnvidia-ml.so.1; do echo "$name -> $(readlink $NVIDIA_CTK_LIBCUDA_DIR/$name)"; done
nvidia-smi; ls /dev/nvidiactl /dev/nvidia-uvm
echo "user $(id -u)"; touch /written 2>&1
echo "users from $(cat /proc/self/uid_map)"
`

// A way is how a container runs.
type way struct {
	name string
	set  func(security *corev1.SecurityContext)
	says string // by which its log shows that it was so
}

func asUser(id int64) func(*corev1.SecurityContext) {
	return func(security *corev1.SecurityContext) { security.RunAsUser = &id }
}

func readOnlyRoot(security *corev1.SecurityContext) {
	yes := true
	security.ReadOnlyRootFilesystem = &yes
}

var ways = []way{
	{"root", asUser(0), "user 0\nusers from"},
	{"65534", asUser(65534), "user 65534\ntouch: /written: Permission denied"},
	{"read-only", readOnlyRoot, "touch: /written: Read-only file system"},
}

// looker describes a Pod with a container for each box and each way.
func looker(name, node string, boxes []box, ways ...way) *corev1.Pod {
	pod := cluster.NewPod(name, node, "sh", "-c", looks)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	like := pod.Spec.Containers[0]
	pod.Spec.Containers = nil
	for _, box := range boxes {
		for _, way := range ways {
			container := *like.DeepCopy()
			container.Name, container.Image = box.name+"-"+way.name, box.image()
			container.Resources, container.SecurityContext = wants(gpu, 1), &corev1.SecurityContext{}
			way.set(container.SecurityContext)
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
	}
	return pod
}

// ended runs Pods until all have ended, and returns what each container said: "pod/container".
func (r *rig) ended(pods ...*corev1.Pod) map[string]string {
	r.Helper()
	for _, pod := range pods {
		r.removes(pod.Name)
		_, err := r.c.Client.CoreV1().Pods("default").Create(r.Context(), pod, create)
		r.must(err)
	}
	said := map[string]string{}
	var lock sync.Mutex
	var wait sync.WaitGroup
	for _, pod := range pods {
		err := r.c.WaitPod(cluster.Within(r, time.Minute), pod.Name, "has ended", func(pod *corev1.Pod) bool {
			return pod != nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
		})
		if err != nil {
			r.Errorf("%s: %v", pod.Name, err)
		}
		for _, container := range pod.Spec.Containers {
			wait.Go(func() {
				text, err := r.c.Client.CoreV1().Pods("default").GetLogs(pod.Name,
					&corev1.PodLogOptions{Container: container.Name}).DoRaw(r.Context())
				lock.Lock()
				defer lock.Unlock()
				if said[pod.Name+"/"+container.Name] = string(text); err != nil {
					said[pod.Name+"/"+container.Name] = err.Error() + "\n" + r.whyNot(pod.Name, container.Name)
				}
			})
		}
	}
	wait.Wait()
	return said
}

// whyNot is what is known of a container that has no log.
func (r *rig) whyNot(name, container string) string {
	pod, err := r.c.Client.CoreV1().Pods("default").Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return fmt.Sprintf("%+v", status.State)
		}
	}
	return pod.Status.Reason + " " + pod.Status.Message
}

// sees checks what a container has said, of a host's driver in a box.
func sees(t *testing.T, said string, host host, box box, way way) {
	t.Helper()
	own := "/" + ownFolder
	if box.name == "busybox" {
		own = "/lib"
	}
	for _, word := range []string{
		"libcuda.so.1: " + host.libraries + "/libcuda.so.", " answers 100\n", // no device: the fake driver's state stays outside
		"libown.so.1: " + own + "/libown.so.1 answers 7\n",
		"the program ended with 0\n", "LD_LIBRARY_PATH is []\n", "libcuda is in " + host.libraries + "\n",
		"libcuda.so -> libcuda.so.1\n", "libcuda.so.1 -> libcuda.so.5", "libnvidia-ml.so.1 -> libnvidia-ml.so.5",
		"not the real one\n", "/dev/nvidia-uvm\n", "/dev/nvidiactl\n", way.says,
	} {
		if !strings.Contains(said, word) {
			t.Errorf("it does not say %q", word)
		}
	}
	if t.Failed() {
		t.Logf("it says\n%s", said)
	}
}

// A program that is linked against libcuda.so.1 finds it without LD_LIBRARY_PATH, whatever the host's driver and the image
// look like: as root, as nobody, on a root file system that it may not write. TestRow28 has it in a user namespace.
func TestAProgramLinkedToLibcudaStartsInEveryImage(t *testing.T) {
	options, err := hostsCluster(2, hosts...)
	cluster.Must(t, err)
	r := apart(t, options)
	boxes := loadBoxes(t, r.c.Nodes...)
	var pods []*corev1.Pod
	for i, host := range hosts {
		node := r.c.Node(i + 1)
		(&rig{t, r.c, node, nil}).within(time.Minute).hasGPUs(16, 16)
		if i == 0 { // the whole product on one of them
			pods = append(pods, looker(host.name, node.Name, boxes, ways...))
		} else {
			pods = append(pods, looker(host.name, node.Name, boxes, ways[1]))
		}
	}
	said := r.ended(pods...)
	for i, host := range hosts {
		for _, box := range boxes {
			for _, way := range ways {
				if i > 0 && way.name != ways[1].name {
					continue
				}
				t.Run(host.name+"/"+box.name+"/"+way.name, func(t *testing.T) {
					sees(t, said[host.name+"/"+box.name+"-"+way.name], host, box, way)
				})
			}
		}
	}
}
