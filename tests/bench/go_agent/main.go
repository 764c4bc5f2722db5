// Command peer measures `fairlead node` on a fake node of eight cards, as the kubelet, the container runtime and the API
// server of that node: `peer bench BUILD TOPOLOGY IDLE_SECONDS NVIDIA [PART...]` prints one row a figure, as tests/bench/run
// has them; NVIDIA is the program of NVIDIA's own plugin, or empty. `peer plugin SOCKET` is a device plugin in grpc-go that
// answers the same, to be beside ours; `peer contain FOLDER PROGRAM ARGUMENT...` is a place for NVIDIA's.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "plugin":
		err = servePlugin(os.Args[2])
	case len(os.Args) >= 4 && os.Args[1] == "contain":
		err = contain(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) >= 6 && os.Args[1] == "bench":
		var idle int
		if idle, err = strconv.Atoi(os.Args[4]); err == nil && idle > 0 {
			err = bench(os.Args[2], os.Args[3], time.Duration(idle)*time.Second, os.Args[5], os.Args[6:])
		}
	default:
		err = fmt.Errorf("usage: peer bench BUILD TOPOLOGY IDLE_SECONDS NVIDIA [PART...] | plugin SOCKET")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench_agent:", err)
		os.Exit(1)
	}
}

func note(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench_agent: "+format+"\n", args...) }

func row(name string, value float64, unit string, most float64) {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.Encode(map[string]any{"name": name, "value": math.Round(value*10000) / 10000, "unit": unit,
		"bar": fmt.Sprintf("<= %v", most), "ok": value <= most})
}

// times are of calls of one kind.
type times []time.Duration

func (t times) at(part float64) time.Duration {
	slices.Sort(t)
	return t[int(float64(len(t)-1)*part)]
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
func ms(d time.Duration) float64 { return us(d) / 1000 }

func (t times) String() string {
	return fmt.Sprintf("shortest %.1f us, p50 %.1f us, p99 %.1f us, longest %.1f us (%d)", us(t.at(0)), us(t.at(0.5)), us(t.at(0.99)),
		us(t.at(1)), len(t))
}

// until waits for what nobody tells.
func until(within time.Duration, what string, good func() bool) error {
	for end := time.Now().Add(within); !good(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			return fmt.Errorf("not within %v: %s", within, what)
		}
	}
	return nil
}
