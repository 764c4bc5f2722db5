package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type client struct {
	conn *grpc.ClientConn
	api.DevicePluginClient
}

func (c client) allocate(ctx context.Context, id string, o ...grpc.CallOption) (string, error) {
	reply, err := c.Allocate(ctx, allocateRequest(id), o...)
	if err != nil {
		return "", err
	}
	if len(reply.ContainerResponses) != 1 {
		return "", fmt.Errorf("%d container responses", len(reply.ContainerResponses))
	}
	return reply.ContainerResponses[0].Envs["ECHO"], nil
}

func wantStatus(err error, code codes.Code, text string) error {
	s, ok := status.FromError(err)
	if err == nil || !ok || s.Code() != code || !strings.Contains(s.Message(), text) {
		return fmt.Errorf("got %v, want %v %q", err, code, text)
	}
	return nil
}

func wantText(got string, err error, want string) error {
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("got %.60q (%d bytes), want %.60q (%d)", got, len(got), want, len(want))
	}
	return nil
}

var cases = []struct {
	says string
	run  func(ctx context.Context, c client) error
}{
	{"options come", func(ctx context.Context, c client) error {
		o, err := c.GetDevicePluginOptions(ctx, &api.Empty{})
		if err == nil && !o.GetPreferredAllocationAvailable {
			err = fmt.Errorf("got %v", o)
		}
		return err
	}},
	{"a call and its answer", func(ctx context.Context, c client) error {
		text, err := c.allocate(ctx, "echo:hello, wörld")
		return wantText(text, err, "hello, wörld")
	}},
	{"a thousand calls one after the other", func(ctx context.Context, c client) error {
		for i := 0; i < 1000; i++ {
			id := fmt.Sprint(i)
			text, err := c.allocate(ctx, "echo:"+id)
			if err := wantText(text, err, id); err != nil {
				return err
			}
		}
		return nil
	}},
	{"a hundred calls at once, each with its own answer", func(ctx context.Context, c client) error {
		return atOnce(100, func(i int) error {
			id := strings.Repeat(fmt.Sprint(i), 300)
			text, err := c.allocate(ctx, "echo:"+id)
			return wantText(text, err, id)
		})
	}},
	{"three MiB each way", func(ctx context.Context, c client) error {
		big := strings.Repeat("y", 3<<20)
		text, err := c.allocate(ctx, "echo:"+big)
		return wantText(text, err, big)
	}},
	{"eight answers of one MiB at once", func(ctx context.Context, c client) error {
		return atOnce(8, func(int) error {
			text, err := c.allocate(ctx, fmt.Sprint("big:", 1<<20))
			return wantText(text, err, strings.Repeat("x", 1<<20))
		})
	}},
	{"a request over 4 MiB is refused", func(ctx context.Context, c client) error {
		_, err := c.allocate(ctx, "echo:"+strings.Repeat("z", 5<<20))
		return wantStatus(err, codes.ResourceExhausted, "larger than max")
	}},
	{"a status with its words", func(ctx context.Context, c client) error {
		_, err := c.allocate(ctx, "status:9:100% für\nheute")
		return wantStatus(err, codes.FailedPrecondition, "100% für\nheute")
	}},
	{"an unknown device is refused", func(ctx context.Context, c client) error {
		_, err := c.allocate(ctx, "GPU-none")
		return wantStatus(err, codes.InvalidArgument, "no such device")
	}},
	{"an unknown method is told by name", func(ctx context.Context, c client) error {
		err := c.conn.Invoke(ctx, "/v1beta1.DevicePlugin/Nope", &api.Empty{}, &api.Empty{})
		return wantStatus(err, codes.Unimplemented, "unknown method Nope for service v1beta1.DevicePlugin")
	}},
	{"an unknown service is told by name", func(ctx context.Context, c client) error {
		err := c.conn.Invoke(ctx, "/v1.Nope/Nope", &api.Empty{}, &api.Empty{})
		return wantStatus(err, codes.Unimplemented, "unknown service v1.Nope")
	}},
	{"a compressed request is not understood", func(ctx context.Context, c client) error {
		_, err := c.allocate(ctx, "echo:x", grpc.UseCompressor(gzip.Name))
		return wantStatus(err, codes.Unimplemented, "")
	}},
	{"a deadline ends a call, and the server lets go of it", func(ctx context.Context, c client) error {
		return letGo(ctx, c, func() error {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err := c.allocate(short, "sleep:1m")
			return wantStatus(err, codes.DeadlineExceeded, "")
		})
	}},
	{"a caller who goes is let go of", func(ctx context.Context, c client) error {
		return letGo(ctx, c, func() error {
			short, cancel := context.WithCancel(ctx)
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err := c.allocate(short, "sleep:1m")
			return wantStatus(err, codes.Canceled, "")
		})
	}},
	{"a stream tells each state, and calls go on beside it", func(ctx context.Context, c client) error {
		return letGo(ctx, c, func() error { return watch(ctx, c) })
	}},
	{"fifty streams at once", func(ctx context.Context, c client) error {
		return atOnce(50, func(int) error { return watch(ctx, c) })
	}},
	{"preferred devices are among those offered", func(ctx context.Context, c client) error {
		return checkPreferred(c.GetPreferredAllocation(ctx, preferredRequest([]string{"a", "b", "c"}, 2)))
	}},
}

func watch(ctx context.Context, c client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.ListAndWatch(ctx, &api.Empty{})
	if err != nil {
		return err
	}
	for want := 1; want <= 3; want++ {
		list, err := stream.Recv()
		if err != nil {
			return err
		}
		if len(list.Devices) != want {
			return fmt.Errorf("list %d has %d devices", want, len(list.Devices))
		}
	}
	text, err := c.allocate(ctx, "echo:beside")
	return wantText(text, err, "beside")
}

// letGo runs f and waits until the server has noticed that one more caller is gone.
func letGo(ctx context.Context, c client, f func() error) error {
	before, err := c.allocate(ctx, "gone")
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		now, err := c.allocate(ctx, "gone")
		if err != nil || now != before {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("the server still waits for its caller")
}

func atOnce(n int, f func(i int) error) error {
	var wg sync.WaitGroup
	failed := make(chan error, n)
	for i := 0; i < n; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			if err := f(i); err != nil {
				failed <- err
			}
		}(i)
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func drive(path string) int {
	count, bad := 0, 0
	for _, d := range dialers {
		conn, err := d.dial(path)
		if err != nil {
			fmt.Printf("Bail out! dial %s: %v\n", d.says, err)
			return 1
		}
		for _, c := range cases {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			err := c.run(ctx, client{conn, api.NewDevicePluginClient(conn)})
			cancel()
			count++
			if err != nil {
				bad++
				fmt.Printf("not ok %d - %s (%s)\n# %v\n", count, c.says, d.says, err)
			} else {
				fmt.Printf("ok %d - %s (%s)\n", count, c.says, d.says)
			}
		}
		conn.Close()
	}
	fmt.Printf("1..%d\n", count)
	if bad > 0 {
		return 1
	}
	return 0
}
