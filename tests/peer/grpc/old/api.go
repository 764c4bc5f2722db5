package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type pluginBase struct{}
type registryBase struct{}
type watchStream = api.DevicePlugin_ListAndWatchServer

func idsOf(c *api.ContainerAllocateRequest) []string { return c.DevicesIDs }

func allocateRequest(ids ...string) *api.AllocateRequest {
	return &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIDs: ids}}}
}

// As an old kubelet: the raw path, slashes and all, is the authority.
func dialRaw(path string) (*grpc.ClientConn, error) {
	return grpc.Dial(path, grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
}

func dialUnix(path string) (*grpc.ClientConn, error) {
	return grpc.Dial("unix:"+path, grpc.WithInsecure())
}

var dialers = []struct {
	says string
	dial func(path string) (*grpc.ClientConn, error)
}{
	{"unix: target", dialUnix},
	{"raw path as authority", dialRaw},
}
