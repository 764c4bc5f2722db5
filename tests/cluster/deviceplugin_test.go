package cluster_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"fairlead/tests/cluster"
)

// onePlugin offers one device under a CDI name.
type onePlugin struct {
	plugin.UnimplementedDevicePluginServer
	cdiName string
}

func (p *onePlugin) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (p *onePlugin) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	err := stream.Send(&plugin.ListAndWatchResponse{Devices: []*plugin.Device{{ID: "0", Health: plugin.Healthy}}})
	if err == nil {
		<-stream.Context().Done()
	}
	return err
}

func (p *onePlugin) Allocate(_ context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	response := &plugin.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &plugin.ContainerAllocateResponse{
			CdiDevices: []*plugin.CDIDevice{{Name: p.cdiName}},
		})
	}
	return response, nil
}

// serveDevice registers a device plugin with the node's kubelet until the test ends.
func serveDevice(t *testing.T, node *cluster.Node, resource, cdiName string) {
	t.Helper()
	const socket = "test.sock"
	path := node.Path(plugin.DevicePluginPath + socket)
	listener, err := net.Listen("unix", path)
	cluster.Must(t, err)
	server := grpc.NewServer()
	plugin.RegisterDevicePluginServer(server, &onePlugin{cdiName: cdiName})
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Stop()
		os.Remove(path)
	})
	kubelet, err := grpc.NewClient("unix://"+node.Path(plugin.KubeletSocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	cluster.Must(t, err)
	defer kubelet.Close()
	_, err = plugin.NewRegistrationClient(kubelet).Register(cluster.Within(t, time.Minute), &plugin.RegisterRequest{
		Version:      plugin.Version,
		Endpoint:     socket,
		ResourceName: resource,
	}, grpc.WaitForReady(true))
	cluster.Must(t, err)
}
