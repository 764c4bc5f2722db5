package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"fairlead/tests/cluster"
)

// asked is which tests are to be run: all of the packages, or those of them whose names hold one of the names.
type asked struct {
	names    []string
	packages []string
	long     bool
}

// testArgs reads the arguments. What has a slash is a folder of tests: from the top of the checkout, or from here.
func testArgs(args []string) (asked, error) {
	var to asked
	for _, arg := range args {
		switch {
		case arg == "--long":
			to.long = true
		case strings.HasPrefix(arg, "-"):
			return asked{}, fmt.Errorf("cluster test: %s is not understood; it takes --long, folders and names of tests; %w", arg, errUsage)
		case strings.Contains(arg, "/"):
			folder := "./" + strings.TrimPrefix(path.Clean(arg), "tests/cluster/")
			if path.Clean(arg) == "tests/cluster" {
				folder = "."
			}
			if found, _ := filepath.Glob(filepath.Join(folder, "*_test.go")); len(found) == 0 {
				return asked{}, fmt.Errorf("cluster test: no tests are in %q; a folder is one such as tests/cluster/agent; %w", arg, errUsage)
			}
			to.packages = append(to.packages, folder)
		default:
			to.names = append(to.names, arg)
		}
	}
	if to.packages == nil {
		to.packages = []string{"./..."}
	}
	return to, nil
}

// test runs the Go tests of this module, in the current folder, and closes with the line that counts them.
func test(ctx context.Context, args []string) error {
	to, err := testArgs(args)
	if err != nil {
		return err
	}
	limit := "40m"
	if to.long {
		limit = "90m"
		os.Setenv("FAIRLEAD_LONG", "1") // what the tests look at
	}
	args = []string{"test", "-json", "-p=2", "-count=1", "-timeout=" + limit}
	if len(to.names) > 0 {
		pattern, err := testPattern(ctx, to)
		if err != nil {
			return err
		}
		args = append(args, "-run="+pattern)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, to.packages...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	result := readResults(events, os.Stdout)
	err = cmd.Wait()
	if err != nil && result.failed == 0 {
		fmt.Println("FAIL go test:", err)
		result.failed++
	}
	if err := cluster.RemoveLeftovers(context.WithoutCancel(ctx)); err != nil {
		fmt.Println("FAIL to remove what the tests left:", err)
		result.failed++
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", result.passed, result.failed, result.skipped)
	if result.failed > 0 {
		return exitStatus(1)
	}
	return nil
}

// testPattern is what go test needs to run the tests whose names hold one of the names.
func testPattern(ctx context.Context, to asked) (string, error) {
	list, err := exec.CommandContext(ctx, "go", append([]string{"test", "-list=."}, to.packages...)...).Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w\n%s%s", err, list, ended.Stderr)
		}
		return "", fmt.Errorf("list the tests: %w", err)
	}
	var tests, chosen []string
	for _, line := range strings.Split(string(list), "\n") {
		if strings.HasPrefix(line, "Test") {
			tests = append(tests, line)
		}
	}
	for _, name := range to.names {
		found := false
		for _, test := range tests {
			if strings.Contains(strings.ToLower(test), strings.ToLower(name)) {
				chosen = append(chosen, regexp.QuoteMeta(test))
				found = true
			}
		}
		if !found {
			return "", fmt.Errorf("cluster test: no test's name holds %q; there are:\n  %s\n%w", name, strings.Join(tests, "\n  "), errUsage)
		}
	}
	return "^(" + strings.Join(chosen, "|") + ")$", nil
}

// testEvent is a line of go test -json.
type testEvent struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

type results struct {
	passed, failed, skipped int
}

// collector counts tests as they end. A test with subtests counts through them, and by itself only if
// it failed though none of them did.
type collector struct {
	results
	out     io.Writer
	output  map[string][]string // by package and test
	parents map[string]bool     // tests that have subtests
	blamed  map[string]bool     // tests and packages in which a failure is counted already
}

func readResults(events io.Reader, out io.Writer) results {
	c := collector{out: out, output: map[string][]string{}, parents: map[string]bool{}, blamed: map[string]bool{}}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event testEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		c.take(event)
	}
	return c.results
}

func (c *collector) take(event testEvent) {
	key := event.Package + " " + event.Test
	switch event.Action {
	case "run":
		if slash := strings.LastIndexByte(event.Test, '/'); slash >= 0 {
			c.parents[event.Package+" "+event.Test[:slash]] = true
		}
	case "build-output":
		fmt.Fprint(c.out, event.Output)
	case "output":
		c.output[key] = append(c.output[key], event.Output)
	case "pass":
		c.end(event, key, &c.passed, "ok  ")
	case "skip":
		c.end(event, key, &c.skipped, "skip")
	case "fail":
		c.end(event, key, &c.failed, "FAIL")
	}
}

func (c *collector) end(event testEvent, key string, count *int, word string) {
	failed := event.Action == "fail"
	defer delete(c.output, key)
	isGroup := event.Test == "" || c.parents[key]
	if isGroup && (!failed || c.blamed[key]) {
		c.blame(event, failed)
		return
	}
	*count++
	c.blame(event, failed)
	title := event.Test
	if title == "" {
		title = "package " + event.Package
	}
	fmt.Fprintf(c.out, "%s %s (%.1f s)\n", word, title, event.Elapsed)
	if event.Action != "pass" {
		for _, line := range c.output[key] {
			if !strings.HasPrefix(strings.TrimSpace(line), "=== ") {
				fmt.Fprint(c.out, "     ", line)
			}
		}
	}
}

// blame tells the groups that a failed test is in that it has been counted.
func (c *collector) blame(event testEvent, failed bool) {
	if !failed {
		return
	}
	c.blamed[event.Package+" "] = true
	for name := event.Test; strings.Contains(name, "/"); {
		name = name[:strings.LastIndexByte(name, '/')]
		c.blamed[event.Package+" "+name] = true
	}
}
