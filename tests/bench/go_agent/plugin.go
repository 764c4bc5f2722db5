package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin answers as ours does for eight healthy cards: the name of a CDI device for each that is asked for.
type plugin struct {
	api.UnimplementedDevicePluginServer
	healthy map[string]bool
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

func (p *plugin) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	reply := &api.AllocateResponse{}
	for _, container := range r.ContainerRequests {
		one := &api.ContainerAllocateResponse{}
		for _, id := range container.DevicesIds {
			if !p.healthy[id] {
				return nil, status.Errorf(codes.InvalidArgument, "unknown device: %s", id)
			}
			one.CdiDevices = append(one.CdiDevices, &api.CDIDevice{Name: "k8s.device-plugin.nvidia.com/gpu=" + id})
		}
		reply.ContainerResponses = append(reply.ContainerResponses, one)
	}
	return reply, nil
}

// peerID is the name of one of its cards: as long as a real one.
func peerID(i int) string { return fmt.Sprintf("GPU-%08x-1111-2222-3333-444444444444", i) }

func servePlugin(path string) error {
	listener, err := listen(path)
	if err != nil {
		return err
	}
	p := &plugin{healthy: map[string]bool{}}
	for i := range cards {
		p.healthy[peerID(i)] = true
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	fmt.Println("ready")
	return server.Serve(listener)
}
