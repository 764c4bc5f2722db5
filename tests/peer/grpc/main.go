// Command peer is grpc-go as the other side of Fairlead's gRPC: `peer drive SOCKET` is a client that runs its cases
// against our server and prints TAP; `peer serve SOCKET` is a server for our client; `peer bench OURS THEIRS` measures
// calls to two servers in turns. It is built twice, with the grpc-go and the kubelet API of today (new) and of an old
// kubelet (old); what differs between them is in api.go.
//
// Both servers understand the same device IDs in Allocate; what follows the first colon is an argument:
//
//	echo:TEXT          the reply has TEXT in its environment as ECHO
//	big:N              ... N bytes of x
//	status:N:TEXT      fails with status N and message TEXT
//	sleep:DURATION     answers after that, unless the caller is gone before
//	gone               how many callers left before their answer, as ECHO
package main

import (
	"fmt"
	"os"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch {
	case role == "drive" && len(os.Args) == 3:
		os.Exit(drive(os.Args[2]))
	case role == "serve" && len(os.Args) == 3:
		serve(os.Args[2])
	case role == "bench" && len(os.Args) == 4:
		os.Exit(bench(os.Args[2], os.Args[3]))
	default:
		fmt.Fprintln(os.Stderr, "usage: peer drive SOCKET | serve SOCKET | bench OURS THEIRS")
		os.Exit(2)
	}
}
