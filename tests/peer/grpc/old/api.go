package main

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type pluginBase struct{}
type registryBase struct{}
type watchStream = api.DevicePlugin_ListAndWatchServer

func device(id string) *api.Device { return &api.Device{ID: id, Health: api.Healthy} }

func idsOf(c *api.ContainerAllocateRequest) []string { return c.DevicesIDs }

func allocateRequest(ids ...string) *api.AllocateRequest {
	return &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIDs: ids}}}
}

func preferredRequest(available []string, size int32) *api.PreferredAllocationRequest {
	return &api.PreferredAllocationRequest{ContainerRequests: []*api.ContainerPreferredAllocationRequest{
		{AvailableDeviceIDs: available, AllocationSize: size}}}
}

func preferred(r *api.PreferredAllocationRequest) *api.PreferredAllocationResponse {
	reply := &api.PreferredAllocationResponse{}
	for _, c := range r.ContainerRequests {
		reply.ContainerResponses = append(reply.ContainerResponses,
			&api.ContainerPreferredAllocationResponse{DeviceIDs: c.AvailableDeviceIDs[:c.AllocationSize]})
	}
	return reply
}

func checkPreferred(reply *api.PreferredAllocationResponse, err error) error {
	if err == nil && (len(reply.ContainerResponses) != 1 || len(reply.ContainerResponses[0].DeviceIDs) != 2) {
		err = fmt.Errorf("got %v", reply)
	}
	return err
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
