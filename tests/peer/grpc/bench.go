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

const batch, warmUp, rounds = 100, 20, 200

// bench calls two servers in turns, a batch each, one call in flight, and prints what a call took at each: microseconds.
// The batches keep the called server awake, as a client does that has more than one call to make; call by call in turns
// it is mostly the waking of an idle core that is measured, which is the same for both.
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
			times, err := c.timed(batch)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
				return 1
			}
			if i >= warmUp {
				took[name] = append(took[name], times...)
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

func (c client) timed(calls int) ([]float64, error) {
	var took []float64
	for i := 0; i < calls; i++ {
		start := time.Now()
		text, err := c.allocate(context.Background(), "echo:GPU-8a63f1b2-0d3c-7f6e-a1b5")
		if err := wantText(text, err, "GPU-8a63f1b2-0d3c-7f6e-a1b5"); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(start).Nanoseconds())/1000)
	}
	return took, nil
}

func boolToStatus(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
