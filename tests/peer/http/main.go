// The net/http peer: `peer drive SOCKET` runs its cases against our server, `peer serve SOCKET` is the server that our
// client's cases are run against. Beside SOCKET lie SOCKET.addr (where TLS is spoken) and SOCKET.ca.
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
	}
}
