package agent

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead/tests/cluster"
	"fairlead/tests/cluster/gpus"
)

const agentImage = "fairlead.test/agent:1"

// image is the program, what it is linked against, and OpenSSL, which it loads for TLS; nothing else is in it.
func image(t *testing.T) cluster.Image {
	t.Helper()
	program, err := gpus.Program("fairlead")
	cluster.Must(t, err)
	files := map[string]string{"usr/bin/fairlead": program}
	openssl := ""
	add := func(file string) {
		said, err := exec.Command("ldd", file).Output()
		cluster.Must(t, err)
		for _, word := range strings.Fields(string(said)) {
			if strings.HasPrefix(word, "/") {
				files[strings.TrimPrefix(word, "/")] = word
			}
			if strings.HasPrefix(filepath.Base(word), "libnghttp2.") { // in the folder of the distribution's libraries
				openssl = filepath.Join(filepath.Dir(word), "libssl.so.3")
			}
		}
	}
	add(program)
	files[strings.TrimPrefix(openssl, "/")] = openssl
	add(openssl)
	return cluster.Image{Name: agentImage, Files: files, Entrypoint: []string{"/usr/bin/fairlead"}}
}

// mounts are all that the agent's Pod gets of its node, each with the reason.
var mounts = []struct {
	path, why string
	file      bool
}{
	{"/var/lib/kubelet/device-plugins", "sockets of resources, and the kubelet's own", false},
	{"/var/lib/kubelet/pod-resources", "who holds which device", false},
	{"/var/run/cdi", "the CDI file that the container runtime reads", false},
	{gpus.Root, "the driver's library and files, and here its device nodes too", false},
	{"/run/containerd", "is CDI on?", false},
	{"/var/lib/fairlead", "what is remembered of each GPU", false},
	{"/run/fairlead", "where fairlead pause finds it", false},
	{gpus.Kubeconfig, "its way to the API server, where it has no service account", true},
}

// agentPod describes the agent as a Pod without any capability, on a root file system that it may not write.
func agentPod(n *cluster.Node, without string) *corev1.Pod {
	no, yes, root := false, true, int64(0)
	pod := cluster.NewPod("agent", n.Name)
	container := &pod.Spec.Containers[0]
	container.Image = agentImage
	container.Args = gpus.Flags(n)
	container.SecurityContext = &corev1.SecurityContext{Privileged: &no, AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		RunAsUser: &root, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	container.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: "/readyz", Port: intstr.Parse(gpus.Port), Host: n.Address}}}
	pod.Spec.HostNetwork = true // for the test, which asks its pages at the node's address
	for i, mount := range mounts {
		if mount.path == without {
			continue
		}
		kind, name := corev1.HostPathDirectoryOrCreate, "v"+string(rune('a'+i))
		if mount.file {
			kind = corev1.HostPathFile
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: mount.path, Type: &kind}}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: mount.path})
	}
	return pod
}

// asPods stops the host's agent for the length of the test, and gives the node the image.
func (r *rig) asPods() {
	r.Helper()
	archive := filepath.Join(r.TempDir(), "agent.tar")
	r.must(cluster.WriteImages(archive, image(r.T)))
	r.must(r.n.LoadImage(r.Context(), archive))
	services := r.n.Services
	r.n.Services = nil
	r.must(r.agent.Terminate(r.Context()))
	r.Cleanup(func() {
		r.n.Services = services
		// A Pod is gone from the API before its processes are, and the pages must not be the old one's.
		until(r, "no agent answers", func() (bool, string) {
			status, text := r.page("/healthz")
			return status == 0, text
		})
		r.must(r.agent.Start(context.Background()))
		r.ready()
		r.within(time.Minute).hasGPUs(8, 8)
	})
}

func TestTheAgentRunsAsAPodWithoutPrivileges(t *testing.T) {
	r := oneNode(t)
	r.runs(sleeper("before", 1))
	r.asPods()
	r.removes("agent")
	_, err := r.c.RunPod(cluster.Within(t, moment), agentPod(r.n, ""))
	r.must(err)
	r.hasGPUs(8, 8)
	r.runs(sleeper("after", 2))
	if cards := r.cards("after", "main"); len(cards) != 2 {
		t.Errorf("it sees %q", cards)
	}
	id := r.only("before/main")
	r.say("lose", r.number(id))
	r.hasGPUs(7, 8)
	r.health("before", id, "Unhealthy")
	r.say("heal")
	r.within(time.Minute).hasGPUs(8, 8)
	// Another one takes its place.
	r.must(r.c.DeletePod(cluster.Within(t, moment), "agent"))
	_, err = r.c.RunPod(cluster.Within(t, moment), agentPod(r.n, ""))
	r.must(err)
	r.hasGPUs(8, 8)
	r.undisturbed("before")
	r.undisturbed("after")
}

// Each thing that its Pod gets is needed: without it something shows, in /readyz, in its log or in its metrics.
func TestEachMountOfTheAgentsPodIsNeeded(t *testing.T) {
	r := oneNode(t)
	r.asPods()
	for _, row := range []struct{ without, shows string }{
		{"/var/lib/kubelet/device-plugins", "device-plugins"},
		{"/var/lib/kubelet/pod-resources", "pod-resources"},
		{"/var/run/cdi", "cannot write a CDI file"},
		{gpus.Root, "Absent"},
		{"/run/containerd", "container runtime does not report"},
		{"/var/lib/fairlead", "/var/lib/fairlead"},
		{"/run/fairlead", "/run/fairlead/node.sock"},
		{gpus.Kubeconfig, gpus.Kubeconfig},
	} {
		t.Run(strings.ReplaceAll(row.without, "/", "_"), func(t *testing.T) {
			r := &rig{t, r.c, r.n, r.agent}
			_, err := r.c.Client.CoreV1().Pods("default").Create(t.Context(), agentPod(r.n, row.without), create)
			r.must(err)
			defer r.c.DeletePod(context.WithoutCancel(t.Context()), "agent")
			until(r, "what is missing is said", func() (bool, string) {
				log, _ := r.c.Logs(t.Context(), "agent")
				_, ready := r.page("/readyz")
				_, metrics := r.page("/metrics")
				if strings.Contains(metrics, `fairlead_driver_state{state="Absent"} 1`) {
					ready += " Absent"
				}
				said := log + ready
				pod, err := r.c.Client.CoreV1().Pods("default").Get(t.Context(), "agent", metav1.GetOptions{})
				if err == nil && len(pod.Status.ContainerStatuses) == 1 {
					if ended := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated; ended != nil {
						said += ended.Message
					}
				}
				return strings.Contains(said, row.shows), tail(said, 12)
			})
		})
	}
}
