package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type plugin struct {
	pluginBase
	gone int64
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

// Three lists with one, two and three devices, then silence until the caller goes.
func (p *plugin) ListAndWatch(_ *api.Empty, stream watchStream) error {
	list := &api.ListAndWatchResponse{}
	for i := 0; i < 3; i++ {
		list.Devices = append(list.Devices, device(fmt.Sprintf("GPU-%d", i)))
		if err := stream.Send(list); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	atomic.AddInt64(&p.gone, 1)
	return nil
}

func (p *plugin) PreStartContainer(context.Context, *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	return &api.PreStartContainerResponse{}, nil
}

func (p *plugin) GetPreferredAllocation(_ context.Context, r *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	return preferred(r), nil
}

func (p *plugin) Allocate(ctx context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	reply := &api.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		text, err := p.answer(ctx, strings.Join(idsOf(c), ","))
		if err != nil {
			return nil, err
		}
		reply.ContainerResponses = append(reply.ContainerResponses,
			&api.ContainerAllocateResponse{Envs: map[string]string{"ECHO": text}})
	}
	return reply, nil
}

func (p *plugin) answer(ctx context.Context, id string) (string, error) {
	parts := strings.SplitN(id, ":", 3)
	switch parts[0] {
	case "echo":
		return strings.TrimPrefix(id, "echo:"), nil
	case "big":
		n, err := strconv.Atoi(parts[1])
		return strings.Repeat("x", n), err
	case "status":
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return "", err
		}
		return "", status.Error(codes.Code(n), parts[2])
	case "sleep":
		d, err := time.ParseDuration(parts[1])
		if err != nil {
			return "", err
		}
		select {
		case <-time.After(d):
			return "slept", nil
		case <-ctx.Done():
			atomic.AddInt64(&p.gone, 1)
			return "", status.FromContextError(ctx.Err()).Err() // as newer servers say it by themselves
		}
	case "gone":
		return strconv.FormatInt(atomic.LoadInt64(&p.gone), 10), nil
	}
	return "", status.Errorf(codes.InvalidArgument, "no such device: %q", id)
}

// registry does what the kubelet does: before it answers Register it dials the plugin back and asks for its options.
type registry struct {
	registryBase
	dir string
}

func (r *registry) Register(ctx context.Context, q *api.RegisterRequest) (*api.Empty, error) {
	if q.Version != "v1beta1" {
		return nil, fmt.Errorf("version %q is not supported", q.Version)
	}
	conn, err := dialRaw(filepath.Join(r.dir, q.Endpoint))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	options, err := api.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &api.Empty{})
	if err != nil {
		return nil, fmt.Errorf("options of %s: %w", q.ResourceName, err)
	}
	if options.PreStartRequired != q.Options.PreStartRequired {
		return nil, fmt.Errorf("options of %s differ", q.ResourceName)
	}
	return &api.Empty{}, nil
}

func serve(path string) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &plugin{})
	api.RegisterRegistrationServer(server, &registry{dir: filepath.Dir(path)})
	fmt.Println("ready")
	log.Fatal(server.Serve(listener))
}
