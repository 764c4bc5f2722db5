// Command peer plays a node's kubelet and a vendor's device plugin, both with grpc-go, against our plugin:
// `peer drive NODE_DRIVER` runs its cases with tests/node/driver.c and prints TAP; `peer drive NODE_DRIVER N` with N
// hand-overs each way instead of 200.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	handOvers := 200
	if len(os.Args) == 4 {
		handOvers, _ = strconv.Atoi(os.Args[3])
	}
	if len(os.Args) < 3 || os.Args[1] != "drive" || handOvers <= 0 {
		fmt.Fprintln(os.Stderr, "usage: peer drive NODE_DRIVER [HAND_OVERS]")
		os.Exit(2)
	}
	os.Exit(drive(os.Args[2], handOvers))
}
