package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet dials back from within Register, and watches, as the real one does. It also answers for the container runtime.
type kubelet struct {
	api.UnimplementedRegistrationServer
	pods.UnimplementedPodResourcesListerServer
	cri.UnimplementedRuntimeServiceServer
	dir    string
	cdiDir string       // of the container runtime
	server *grpc.Server // of the sockets that a restart takes away
	cri    *grpc.Server
	began  time.Time
	held   atomic.Pointer[pods.ListPodResourcesResponse] // nil: nobody has a device

	mu         sync.Mutex
	plugin     api.DevicePluginClient
	conn       *grpc.ClientConn
	healthy    map[string]bool
	registered time.Time // when Register was last answered
	listed     time.Time // when a device list was last taken in; zero: none since the start
	changed    *sync.Cond
}

func listen(path string) (net.Listener, error) {
	os.Remove(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

func newKubelet(dir, cdiDir string) (*kubelet, error) {
	k := &kubelet{dir: dir, cdiDir: cdiDir, cri: grpc.NewServer()}
	k.changed = sync.NewCond(&k.mu)
	listener, err := listen(k.runtime())
	if err != nil {
		return nil, err
	}
	cri.RegisterRuntimeServiceServer(k.cri, k)
	go k.cri.Serve(listener)
	return k, k.start()
}

func (k *kubelet) runtime() string { return filepath.Join(k.dir, "runtime.sock") }

// start begins to accept.
func (k *kubelet) start() error {
	k.server, k.began = grpc.NewServer(), time.Now()
	api.RegisterRegistrationServer(k.server, k)
	pods.RegisterPodResourcesListerServer(k.server, k)
	for _, folder := range []string{"pod-resources", "device-plugins"} {
		listener, err := listen(filepath.Join(k.dir, folder, "kubelet.sock"))
		if err != nil {
			return err
		}
		go k.server.Serve(listener)
	}
	return nil
}

// forget is the end of what is known of the plugin.
func (k *kubelet) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		k.conn.Close()
	}
	k.conn, k.plugin, k.healthy = nil, nil, nil
	k.registered, k.listed = time.Time{}, time.Time{}
}

// stop is a kill, and the next start's wiping of the folder.
func (k *kubelet) stop() {
	k.server.Stop()
	k.forget()
	sockets, _ := filepath.Glob(filepath.Join(k.dir, "device-plugins", "*.sock"))
	for _, socket := range sockets {
		os.Remove(socket)
	}
}

func (k *kubelet) end() {
	k.stop()
	k.cri.Stop()
}

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", at)
		}))
}

func (k *kubelet) Register(ctx context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	conn, err := dial(filepath.Join(k.dir, "device-plugins", r.Endpoint))
	if err != nil {
		return nil, err
	}
	plugin := api.NewDevicePluginClient(conn)
	if _, err := plugin.GetDevicePluginOptions(ctx, &api.Empty{}); err != nil {
		conn.Close()
		return nil, err
	}
	k.mu.Lock()
	k.conn, k.plugin, k.registered = conn, plugin, time.Now()
	k.changed.Broadcast()
	k.mu.Unlock()
	go k.watch(conn, plugin)
	return &api.Empty{}, nil
}

func (k *kubelet) watch(conn *grpc.ClientConn, plugin api.DevicePluginClient) {
	defer conn.Close()
	stream, err := plugin.ListAndWatch(context.Background(), &api.Empty{})
	for err == nil {
		var list *api.ListAndWatchResponse
		if list, err = stream.Recv(); err != nil {
			return
		}
		healthy := map[string]bool{}
		for _, device := range list.Devices {
			healthy[device.ID] = device.Health == api.Healthy
		}
		k.mu.Lock()
		if k.conn == conn {
			k.healthy, k.listed = healthy, time.Now()
			k.changed.Broadcast()
		}
		k.mu.Unlock()
	}
}

// comes waits until that is so of what is known.
func (k *kubelet) comes(within time.Duration, what string, good func() bool) error {
	late := false
	timer := time.AfterFunc(within, func() {
		k.mu.Lock()
		late = true
		k.changed.Broadcast()
		k.mu.Unlock()
	})
	defer timer.Stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	for !good() {
		if late {
			return fmt.Errorf("not within %v: %s", within, what)
		}
		k.changed.Wait()
	}
	return nil
}

// served waits for a list of so many devices, all of them healthy.
func (k *kubelet) served(devices int) error {
	return k.comes(15*time.Second, fmt.Sprintf("%d healthy devices", devices), func() bool {
		for _, healthy := range k.healthy {
			if !healthy {
				return false
			}
		}
		return len(k.healthy) == devices
	})
}

func (k *kubelet) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v2.0.0",
		RuntimeApiVersion: "v1"}, nil
}

func (k *kubelet) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	config := fmt.Sprintf(`{"enableCDI":true,"cdiSpecDirs":[%q]}`, k.cdiDir)
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{}, Info: map[string]string{"config": config}}, nil
}
