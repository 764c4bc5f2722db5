// Command peer is grpc-go as the other side of Fairlead's gRPC: `peer drive SOCKET` is a client that runs its cases
// against our server and prints TAP; `peer serve SOCKET` is a server for our client. It is built twice, with the grpc-go
// and the kubelet API of today (new) and of an old kubelet (old); what differs between them is in api.go.
//
// Both servers understand the same device IDs in Allocate; what follows the first colon is an argument:
//
//	echo:TEXT          the reply has TEXT in its environment as ECHO
//	big:N              ... N bytes of x
//	status:N:TEXT      fails with status N and message TEXT
//	sleep:DURATION     answers after that, unless the caller is gone before
//	gone               how many sleepers lost their caller, as ECHO
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: peer drive|serve SOCKET")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "drive":
		os.Exit(drive(os.Args[2]))
	case "serve":
		serve(os.Args[2])
	default:
		fmt.Fprintf(os.Stderr, "peer: no role %q; there are drive and serve\n", os.Args[1])
		os.Exit(2)
	}
}
