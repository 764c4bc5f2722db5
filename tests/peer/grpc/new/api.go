package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type pluginBase struct {
	api.UnimplementedDevicePluginServer
}
type registryBase struct {
	api.UnimplementedRegistrationServer
}
type watchStream = grpc.ServerStreamingServer[api.ListAndWatchResponse]

func idsOf(c *api.ContainerAllocateRequest) []string { return c.DevicesIds }

func allocateRequest(ids ...string) *api.AllocateRequest {
	return &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: ids}}}
}

func dialUnix(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// As the kubelet's plugin watcher: no authority set, so it is the percent-encoded path.
func dialRaw(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
}

// As the kubelet's device manager.
func dialLocalhost(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
}

var dialers = []struct {
	says string
	dial func(path string) (*grpc.ClientConn, error)
}{
	{"unix: target", dialUnix},
	{"path as authority", dialRaw},
	{"localhost", dialLocalhost},
}
