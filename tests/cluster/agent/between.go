package agent

import (
	"context"
	"net"
	"os"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// between stands between a kubelet and the agent: what either says goes through it, and may fail on the way as the
// kubelet's own suites let their sample plugin fail.
type between struct {
	plugin.UnimplementedRegistrationServer
	plugin.UnimplementedDevicePluginServer
	r       *rig
	kubelet plugin.RegistrationClient
	closes  []func()

	mu        sync.Mutex
	options   error          // what the kubelet gets when it asks for options
	lists     error          // what it gets for a list; also ends those that are being told
	agent     string         // the agent's socket
	calls     map[string]int // by method
	streams   map[*context.CancelFunc]bool
	connected *grpc.ClientConn
}

const betweenSocket = "between.sock"

// between puts one there until the end of the test; the agent registers with it then, for it looks like a new kubelet.
func (r *rig) between() *between {
	r.Helper()
	dir := r.n.Path(plugin.DevicePluginPath)
	real, shown := path.Join(dir, "kubelet.sock"), path.Join(dir, "kubelet-real.sock")
	b := &between{r: r, calls: map[string]int{}, streams: map[*context.CancelFunc]bool{}}
	r.must(os.Rename(real, shown))
	r.Cleanup(func() {
		b.mu.Lock()
		for _, end := range b.closes {
			end()
		}
		b.mu.Unlock()
		os.Remove(path.Join(dir, betweenSocket))
		r.must(os.Rename(shown, real)) // the agent sees the real one, and registers with it
	})
	connection, err := grpc.NewClient("unix://"+shown, grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.must(err)
	b.kubelet = plugin.NewRegistrationClient(connection)
	b.closes = append(b.closes, func() { connection.Close() })
	for _, socket := range []string{betweenSocket, "kubelet.sock"} {
		listener, err := net.Listen("unix", path.Join(dir, socket))
		r.must(err)
		server := grpc.NewServer()
		if socket == betweenSocket {
			plugin.RegisterDevicePluginServer(server, b)
		} else {
			plugin.RegisterRegistrationServer(server, b)
		}
		go server.Serve(listener)
		b.closes = append(b.closes, server.Stop)
	}
	return b
}

// fails sets what fails from now on; nil: nothing. Lists that are being told end with it.
func (b *between) fails(options, lists error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.options, b.lists = options, lists
	for cancel := range b.streams {
		if lists != nil {
			(*cancel)()
		}
	}
}

// called is how often the kubelet, or the agent, has called a method.
func (b *between) called(method string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[method]
}

func (b *between) count(method string) (options error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[method]++
	return b.options
}

// begins counts a list, and says whether it fails; from the same moment on, fails ends it.
func (b *between) begins(list *context.CancelFunc) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls["ListAndWatch"]++
	b.streams[list] = true
	return b.lists
}

func (b *between) ends(list *context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.streams, list)
}

// Register hands the request to the real kubelet, with this as the plugin.
func (b *between) Register(ctx context.Context, request *plugin.RegisterRequest) (*plugin.Empty, error) {
	b.count("Register")
	connection, err := grpc.NewClient("unix://"+path.Join(b.r.n.Path(plugin.DevicePluginPath), request.Endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.closes = append(b.closes, func() { connection.Close() })
	b.connected = connection
	b.mu.Unlock()
	request.Endpoint = betweenSocket
	return b.kubelet.Register(ctx, request)
}

func (b *between) client() plugin.DevicePluginClient {
	b.mu.Lock()
	defer b.mu.Unlock()
	return plugin.NewDevicePluginClient(b.connected)
}

func (b *between) GetDevicePluginOptions(ctx context.Context, empty *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	if err := b.count("GetDevicePluginOptions"); err != nil {
		return nil, err
	}
	return b.client().GetDevicePluginOptions(ctx, empty)
}

func (b *between) ListAndWatch(empty *plugin.Empty, kubelet grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	ctx, cancel := context.WithCancel(kubelet.Context())
	defer cancel()
	fails := b.begins(&cancel)
	defer b.ends(&cancel)
	agent, err := b.client().ListAndWatch(ctx, empty)
	if err != nil {
		return err
	}
	if fails != nil { // the agent is asked, and what it says gets lost
		return fails
	}
	for {
		list, err := agent.Recv()
		if err != nil {
			return err
		}
		if err := kubelet.Send(list); err != nil {
			return err
		}
	}
}

func (b *between) GetPreferredAllocation(ctx context.Context, request *plugin.PreferredAllocationRequest) (*plugin.PreferredAllocationResponse, error) {
	b.count("GetPreferredAllocation")
	return b.client().GetPreferredAllocation(ctx, request)
}

func (b *between) Allocate(ctx context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	b.count("Allocate")
	return b.client().Allocate(ctx, request)
}

func (b *between) PreStartContainer(ctx context.Context, request *plugin.PreStartContainerRequest) (*plugin.PreStartContainerResponse, error) {
	b.count("PreStartContainer")
	return b.client().PreStartContainer(ctx, request)
}

// grows waits until a method has been called again.
func (b *between) grows(method string, from int, limit time.Duration) {
	b.r.Helper()
	for end := time.Now().Add(limit); b.called(method) <= from; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.r.Fatalf("%s was called %d times, and not again within %v", method, from, limit)
		}
	}
}
