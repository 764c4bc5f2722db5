package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"

	"fairlead/tests/cluster"
)

// discreet stands before a container runtime and passes on what it says, but for its configuration: as runtimes do that
// are older than CDI.
type discreet struct {
	runtime *grpc.ClientConn
	server  *grpc.Server
}

// message is one that nobody has to understand.
type message []byte

type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*message), nil }

func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*message) = append(message{}, data...)
	return nil
}

func (r *rig) discreet(path string) *discreet {
	r.Helper()
	connection, err := grpc.NewClient("unix://"+r.n.Path("/run/containerd/containerd.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	r.must(err)
	d := &discreet{runtime: connection}
	d.server = grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(d.pass))
	listener, err := net.Listen("unix", r.n.Path(path))
	r.must(err)
	go d.server.Serve(listener)
	r.Cleanup(d.ends)
	return d
}

func (d *discreet) ends() {
	d.server.Stop()
	d.runtime.Close()
}

func (d *discreet) pass(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request, reply message
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if err := d.runtime.Invoke(stream.Context(), method, &request, &reply); err != nil {
		return err
	}
	if strings.HasSuffix(method, "/Status") {
		reply = withoutInfo(reply)
	}
	return stream.SendMsg(&reply)
}

// withoutInfo leaves out field 2 of a StatusResponse, its map of further words.
func withoutInfo(reply message) (rest message) {
	for len(reply) > 0 {
		field, _, length := protowire.ConsumeField(reply)
		if length < 0 {
			return nil
		}
		if field != 2 {
			rest = append(rest, reply[:length]...)
		}
		reply = reply[length:]
	}
	return rest
}

// A runtime that does not say whether CDI is on: cards are handed out, and the Node says what may come of it, until the
// runtime tells.
func TestARuntimeThatDoesNotTellWhetherCDIIsOn(t *testing.T) {
	const socket = "/run/runtime-of-a-test.sock"
	r := oneNode(t)
	hides := r.discreet(socket)
	r.replaced("--runtime-socket=" + socket)
	r.must(r.c.WaitNode(cluster.Within(t, moment), r.n.Name, "says that nobody knows", func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Reason == "RuntimeUnknown" && c.Status == corev1.ConditionFalse &&
				strings.Contains(c.Message, "it does not report whether CDI is enabled")
		})
	}))
	r.hasGPUs(8, 8)
	r.takes("unsure")
	hides.ends()
	os.Remove(r.n.Path(socket))
	r.must(os.Symlink("/run/containerd/containerd.sock", r.n.Path(socket)))
	t.Cleanup(func() { os.Remove(r.n.Path(socket)) })
	r.condition(corev1.ConditionTrue, "Ready")
	r.undisturbed("unsure")
}

// cdi switches it on or off in containerd, which has to be restarted for that.
func (r *rig) cdi(on bool) {
	r.Helper()
	const path = "/etc/containerd/config.toml"
	var text []byte
	r.must(r.n.Do(func() (err error) {
		text, err = os.ReadFile(path)
		return err
	}))
	changed := strings.Replace(string(text), fmt.Sprint("enable_cdi = ", !on), fmt.Sprint("enable_cdi = ", on), 1)
	r.must(r.n.WriteFile(path, []byte(changed), 0o644))
	ctx := context.Background()
	r.must(r.n.Containerd.Restart(ctx))
	r.must(r.c.WaitNodeReady(ctx, r.n.Name, true))
}

// A containerd that has CDI off would start containers without their cards: they get device nodes instead, or nothing is
// handed out, as it is configured. Nothing of ours is restarted when it is on again.
func TestARuntimeThatHasCDIOff(t *testing.T) {
	for _, row := range []struct {
		says, without string
		refused       bool
	}{
		{"it falls back", "device-specs", false},
		{"it refuses", "refuse", true},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := oneNode(t)
			r.replaced("--without-cdi=" + row.without)
			r.takes("before")
			t.Cleanup(func() { r.cdi(true) })
			r.cdi(false)
			r.condition(corev1.ConditionFalse, "CDIOff")
			if row.refused {
				r.removes("refused")
				_, err := r.c.Client.CoreV1().Pods("default").Create(t.Context(), sleeper("refused", 1), create)
				r.must(err)
				r.must(r.c.WaitPod(cluster.Within(t, moment), "refused", "is refused", func(pod *corev1.Pod) bool {
					return pod != nil && pod.Status.Reason == "UnexpectedAdmissionError" &&
						strings.Contains(pod.Status.Message, "the container runtime has CDI off")
				}))
			} else {
				r.takes("by-nodes")
				if files := r.in("by-nodes", "main", "find / -xdev -name 'libnvidia-ml.so.*' 2>/dev/null; true"); files != "" {
					t.Errorf("CDI is off, and it has %q", files)
				}
			}
			r.undisturbed("before")
			r.cdi(true)
			r.condition(corev1.ConditionTrue, "Ready")
			r.hasGPUs(8, 8)
			r.takes("after")
			r.undisturbed("before")
		})
	}
}
