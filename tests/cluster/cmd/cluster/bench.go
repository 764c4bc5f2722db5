package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// row is one figure, in the shape that ./dev bench prints.
type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Bar   string  `json:"bar"`
	OK    bool    `json:"ok"`
}

const benchRounds = 3

// bench times whole commands as a person types them, and prints the median of each; or how the agent follows a kubelet; or
// what requests cost the real API server and ours.
func bench(ctx context.Context, args []string) error {
	agent, api := false, false
	err := parse("bench", args, func(f *flag.FlagSet) {
		f.BoolVar(&agent, "agent", false, "")
		f.BoolVar(&api, "api", false, "")
	})
	if err != nil {
		return err
	}
	if api {
		return benchAPI(ctx)
	}
	if agent {
		return benchAgent(ctx)
	}
	for _, figure := range []struct {
		up      []string
		upName  string
		upBar   float64
		endName string // none: not a figure
	}{
		{[]string{"--nodes", "4"}, "cluster_up_4_nodes", 10, "cluster_down_4_nodes"},
		{[]string{"--api-only"}, "cluster_api_ready", 3, ""},
	} {
		var ups, downs []float64
		for range benchRounds {
			seconds, err := timeDo(ctx, append([]string{"up", "--name", "bench"}, figure.up...)...)
			if err == nil {
				ups = append(ups, seconds)
			}
			seconds, downErr := timeDo(context.WithoutCancel(ctx), "down", "--name", "bench")
			if err := errors.Join(err, downErr); err != nil {
				return err
			}
			downs = append(downs, seconds)
		}
		printRow(figure.upName, ups, figure.upBar)
		if figure.endName != "" {
			printRow(figure.endName, downs, 5)
		}
	}
	return nil
}

// timeDo runs tests/cluster/do and returns how many seconds it took.
func timeDo(ctx context.Context, args ...string) (float64, error) {
	program := os.Getenv("FAIRLEAD_CLUSTER_DO")
	if program == "" {
		return 0, errors.New("run it through ./dev cluster bench")
	}
	began := time.Now()
	output, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s %v: %w\n%s", program, args, err, output)
	}
	return time.Since(began).Seconds(), nil
}

func printRow(name string, seconds []float64, bar float64) {
	slices.Sort(seconds)
	median := float64(int(seconds[len(seconds)/2]*1000)) / 1000
	printOne(row{name, median, "s", fmt.Sprintf("<= %g", bar), median <= bar})
}

func printOne(figure row) {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.Encode(figure)
}
