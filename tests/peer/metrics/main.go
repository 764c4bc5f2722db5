// Prometheus' own reader and linter on what the agent's exporter serves: metrics SOCKET LINE waits for a line that
// begins so, then prints what is wrong, a line each. Nothing: all is well.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func scrape(socket string) ([]byte, error) {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	got, err := client.Get("http://exporter/metrics")
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, text)
	}
	return text, err
}

// usual is what promtool finds of DCGM's own names, which dashboards ask for.
func usual(p promlint.Problem) bool {
	return strings.HasPrefix(p.Metric, "DCGM_") && (p.Text == `counter metrics should have "_total" suffix` ||
		p.Text == "label names should be written in 'snake_case' not 'camelCase'" ||
		p.Metric == "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" && p.Text == "metric name should not include type 'counter'")
}

// twice finds series that are there twice: Prometheus drops one of them.
func twice(text []byte) {
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(strings.TrimSuffix(line, "\n"), ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		if seen[line[:at]] {
			fmt.Println("twice:", line[:at])
		}
		seen[line[:at]] = true
	}
}

func main() {
	socket, line := os.Args[1], os.Args[2]
	text, err := scrape(socket)
	for end := time.Now().Add(time.Minute); err != nil || !bytes.Contains(text, []byte("\n"+line)); text, err = scrape(socket) {
		if time.Now().After(end) {
			fmt.Printf("no line %s within a minute: %v\n%s", line, err, text)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		fmt.Println("not read:", err)
	}
	for name, family := range families {
		if len(family.Metric) == 0 {
			fmt.Println("no line:", name)
		}
	}
	twice(text)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		fmt.Println("not read:", err)
	}
	for _, problem := range problems {
		if !usual(problem) {
			fmt.Printf("%s: %s\n", problem.Metric, problem.Text)
		}
	}
	fmt.Fprintf(os.Stderr, "%d families, %d lines\n", len(families), bytes.Count(text, []byte("\n")))
}
