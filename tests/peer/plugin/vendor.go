package main

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// vendor stands in for NVIDIA's plugin: it serves, registers once, and closes everything when it ends.
type vendor struct {
	api.UnimplementedDevicePluginServer
	dir    string
	server *grpc.Server
	done   chan struct{}
}

func (v *vendor) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

func (v *vendor) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	list := &api.ListAndWatchResponse{Devices: []*api.Device{{ID: "GPU-0", Health: "Healthy"}, {ID: "GPU-1", Health: "Healthy"}}}
	if err := stream.Send(list); err != nil {
		return err
	}
	select {
	case <-stream.Context().Done():
	case <-v.done:
	}
	return nil
}

func (v *vendor) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	reply := &api.AllocateResponse{}
	for range r.ContainerRequests {
		reply.ContainerResponses = append(reply.ContainerResponses, &api.ContainerAllocateResponse{})
	}
	return reply, nil
}

func startVendor(dir string) (*vendor, error) {
	const endpoint = "vendor.sock"
	v := &vendor{dir: dir, server: grpc.NewServer(), done: make(chan struct{})}
	path := filepath.Join(dir, "plugins", endpoint)
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	api.RegisterDevicePluginServer(v.server, v)
	go v.server.Serve(listener)
	conn, err := grpc.NewClient("unix:"+filepath.Join(dir, "plugins", "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return v, err
	}
	defer conn.Close()
	_, err = api.NewRegistrationClient(conn).Register(context.Background(), &api.RegisterRequest{Version: "v1beta1",
		Endpoint: endpoint, ResourceName: resource, Options: &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}})
	return v, err
}

func (v *vendor) stop() {
	close(v.done)
	v.server.Stop()
	os.Remove(filepath.Join(v.dir, "plugins", "vendor.sock"))
}
