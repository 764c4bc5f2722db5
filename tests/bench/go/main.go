// What client-go and controller-runtime do with the work that tests/bench/bench_kube gives to ours:
//
//	peer follow KUBECONFIG typed|dynamic EVENTS    an informer of Pods; then so many changes
//	peer converge KUBECONFIG COUNT PLUS FLIGHT     a controller of Rockets, until its stdin ends
//
// Each prints one JSON object a line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	err := fmt.Errorf("usage: peer follow KUBECONFIG typed|dynamic EVENTS | converge KUBECONFIG COUNT PLUS FLIGHT")
	switch verb := strings.Join(os.Args[1:min(2, len(os.Args))], ""); {
	case verb == "follow" && len(os.Args) == 5:
		err = follow(os.Args[2], os.Args[3], number(os.Args[4]))
	case verb == "converge" && len(os.Args) == 6:
		err = converge(os.Args[2], number(os.Args[3]), number(os.Args[4]), number(os.Args[5]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func say(line any) error { return json.NewEncoder(os.Stdout).Encode(line) }

// monotonic is the clock that the replay server stamps its events by.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// cpu is what all threads of this process have used, in seconds.
func cpu() float64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// peak is the most memory that was resident, in KiB.
func peak() int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "VmHWM:" {
			kib, _ := strconv.Atoi(words[1])
			return kib
		}
	}
	panic("no VmHWM")
}
