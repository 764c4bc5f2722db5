package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const warmUp, rounds = 2000, 20000

// bench calls two servers in turns, one call in flight, and prints what a call took at each: microseconds.
func bench(ours, theirs string) int {
	servers := map[string]string{"ours": ours, "theirs": theirs}
	clients := map[string]client{}
	took := map[string][]float64{}
	for name, path := range servers {
		conn, err := dialUnix(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer conn.Close()
		clients[name] = client{conn, api.NewDevicePluginClient(conn)}
	}
	for i := 0; i < warmUp+rounds; i++ {
		for name, c := range clients {
			start := time.Now()
			text, err := c.allocate(context.Background(), "echo:GPU-8a63f1b2-0d3c-7f6e-a1b5")
			if err != nil || text == "" {
				fmt.Fprintf(os.Stderr, "%s: %q, %v\n", name, text, err)
				return 1
			}
			if i >= warmUp {
				took[name] = append(took[name], float64(time.Since(start).Nanoseconds())/1000)
			}
		}
	}
	result := map[string]float64{}
	for name, t := range took {
		sort.Float64s(t)
		result[name+"_p50"] = t[len(t)/2]
		result[name+"_p99"] = t[len(t)*99/100]
	}
	return boolToStatus(json.NewEncoder(os.Stdout).Encode(result) == nil)
}

func boolToStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
