package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
)

// StartRelay lets programs outside the test network reach the API server at a port of the host's
// loopback address, and writes the kubeconfig for them. The relay is a process of the cluster:
// `program relay ADDRESS`, which calls Relay.
func (c *Cluster) StartRelay(ctx context.Context, program string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close()
	address := listener.Addr().String()
	relay := c.LAN.Part(program, "relay", controlAddress+":6443").ReadyWhen(func() error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err
	})
	relay.Name = "relay"
	relay.files = []*os.File{file}
	if err := relay.Start(ctx); err != nil {
		return err
	}
	return c.writePersonKubeconfig("https://" + address)
}

// Relay accepts connections on the open file number 3, which belongs to the host's network, and
// passes what they say to an address in the network that the process itself is in.
func Relay(address string) error {
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return fmt.Errorf("the relay is started by the cluster, not by hand: %w", err)
	}
	for {
		outside, err := listener.Accept()
		if err != nil {
			return err
		}
		go join(outside, address)
	}
}

func join(outside net.Conn, address string) {
	defer outside.Close()
	inside, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer inside.Close()
	go passOn(inside, outside)
	passOn(outside, inside)
}

// passOn copies until the source ends, and tells the destination so.
func passOn(to, from net.Conn) {
	io.Copy(to, from)
	to.(*net.TCPConn).CloseWrite()
}
