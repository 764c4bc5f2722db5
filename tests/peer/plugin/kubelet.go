package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	pods "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet does with plugins what Kubernetes 1.36 does, in its order: Register dials back and asks for the options before
// it answers; the new client takes the old one's place, whose stream goes on; the end of any stream of a resource
// disconnects whoever is its client by then; nobody is dialled again.
type kubelet struct {
	api.UnimplementedRegistrationServer
	pods.UnimplementedPodResourcesListerServer
	dir    string
	server *grpc.Server
	slow   time.Duration // in Register, before it dials

	mu            sync.Mutex
	clients       map[string]*client
	registrations int
	gaps          []time.Duration      // during which a resource had no client
	since         map[string]time.Time // when it lost the last one
	refused       int                  // admissions that failed outside of a gap
	holders       []*pods.PodResources
}

type client struct {
	conn    *grpc.ClientConn
	devices map[string]string // ID: health
	lists   int
	repeats int
	vendor  bool
}

func newKubelet(dir string) *kubelet {
	return &kubelet{dir: dir, clients: map[string]*client{}, since: map[string]time.Time{}}
}

func (k *kubelet) start() error {
	for _, folder := range []string{"plugins", "pods"} {
		if err := os.MkdirAll(filepath.Join(k.dir, folder), 0o750); err != nil {
			return err
		}
	}
	k.server = grpc.NewServer()
	api.RegisterRegistrationServer(k.server, k)
	pods.RegisterPodResourcesListerServer(k.server, k)
	for _, folder := range []string{"plugins", "pods"} {
		path := filepath.Join(k.dir, folder, "kubelet.sock")
		os.Remove(path)
		listener, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		go k.server.Serve(listener)
	}
	return nil
}

// stop is a kill: every connection is gone. wipe removes all sockets, as the next start of a real one does.
func (k *kubelet) stop(wipe bool) {
	k.server.Stop()
	k.mu.Lock()
	for resource, c := range k.clients {
		c.conn.Close()
		k.lost(resource)
	}
	k.mu.Unlock()
	if !wipe {
		return
	}
	sockets, _ := filepath.Glob(filepath.Join(k.dir, "plugins", "*.sock"))
	for _, socket := range sockets {
		os.Remove(socket)
	}
}

// lost is called with the lock held.
func (k *kubelet) lost(resource string) {
	if k.clients[resource] != nil {
		delete(k.clients, resource)
		k.since[resource] = time.Now()
	}
}

func (k *kubelet) Register(ctx context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	if r.Version != "v1beta1" {
		return nil, fmt.Errorf("version %q is not supported", r.Version)
	}
	time.Sleep(k.slow)
	path := filepath.Join(k.dir, "plugins", r.Endpoint)
	conn, err := grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
	if err != nil {
		return nil, err
	}
	options, err := api.NewDevicePluginClient(conn).GetDevicePluginOptions(ctx, &api.Empty{})
	if err == nil && (options.PreStartRequired != r.Options.PreStartRequired ||
		options.GetPreferredAllocationAvailable != r.Options.GetPreferredAllocationAvailable) {
		err = fmt.Errorf("options differ: %v, and %v in Register", options, r.Options)
	}
	if err != nil {
		conn.Close()
		k.mu.Lock()
		delete(k.clients, r.ResourceName) // and its later end goes unnoticed
		k.mu.Unlock()
		return nil, fmt.Errorf("failed to dial device plugin %s: %w", r.ResourceName, err)
	}
	c := &client{conn: conn, vendor: strings.HasPrefix(r.Endpoint, "vendor")}
	k.mu.Lock()
	k.clients[r.ResourceName] = c
	k.registrations++
	k.mu.Unlock()
	go k.listen(r.ResourceName, c)
	return &api.Empty{}, nil
}

func (k *kubelet) listen(resource string, c *client) {
	stream, err := api.NewDevicePluginClient(c.conn).ListAndWatch(context.Background(), &api.Empty{})
	for err == nil {
		var list *api.ListAndWatchResponse
		if list, err = stream.Recv(); err == nil {
			k.update(resource, c, list)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.conn.Close()
	if current := k.clients[resource]; current != nil { // whoever it is by now
		current.conn.Close()
		k.lost(resource)
	}
}

func (k *kubelet) update(resource string, c *client, list *api.ListAndWatchResponse) {
	devices := map[string]string{}
	for _, device := range list.Devices {
		devices[device.ID] = device.Health
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.lists > 0 && fmt.Sprint(devices) == fmt.Sprint(c.devices) {
		c.repeats++
	}
	c.devices = devices
	c.lists++
	if since, ok := k.since[resource]; ok && k.clients[resource] == c {
		k.gaps = append(k.gaps, time.Since(since))
		delete(k.since, resource)
	}
}

// devices are those of the resource's client: "GPU-0 GPU-1!"; "-" without one.
func (k *kubelet) devices(resource string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clients[resource]
	if c == nil || c.lists == 0 {
		return "-"
	}
	var all []string
	for id, health := range c.devices {
		if health != "Healthy" {
			id += "!"
		}
		all = append(all, id)
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

// admit is an admission of a Pod with one device. What fails while there is no client is the kubelet's own gap.
func (k *kubelet) admit(resource, id string) (reply *api.AllocateResponse, inGap bool, err error) {
	k.mu.Lock()
	c := k.clients[resource]
	k.mu.Unlock()
	if c == nil || c.lists == 0 {
		return nil, true, fmt.Errorf("no endpoint")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	reply, err = api.NewDevicePluginClient(c.conn).Allocate(ctx, &api.AllocateRequest{
		ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: []string{id}}}})
	k.mu.Lock()
	defer k.mu.Unlock()
	return reply, k.clients[resource] != c, err
}

func (k *kubelet) List(context.Context, *pods.ListPodResourcesRequest) (*pods.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &pods.ListPodResourcesResponse{PodResources: k.holders}, nil
}
