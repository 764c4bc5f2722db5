package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
	packages, err := listPackages(ctx, to.packages)
	if err == nil {
		packages, err = choosePackages(packages, to.names)
	}
	if err != nil {
		return err
	}
	result, err := runPackages(ctx, packages, limit)
	if err != nil {
		return err
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
	seconds map[string]float64 // of each test that is no part of another
	out     io.Writer
	output  map[string][]string // by package and test
	parents map[string]bool     // tests that have subtests
	blamed  map[string]bool     // tests and packages in which a failure is counted already
}

func readResults(events io.Reader, out io.Writer) *collector {
	c := &collector{out: out, seconds: map[string]float64{}, output: map[string][]string{}, parents: map[string]bool{}, blamed: map[string]bool{}}
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
	return c
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
	if event.Test != "" && !strings.Contains(event.Test, "/") {
		c.seconds[event.Test] = event.Elapsed
	}
	isGroup := event.Test == "" || c.parents[key]
	if isGroup && (!failed || c.blamed[key]) {
		c.blame(event, failed)
		return
	}
	*count++
	c.blame(event, failed)
	var says strings.Builder // in one piece, as others write between
	defer func() { io.WriteString(c.out, says.String()) }()
	title := event.Test
	if title == "" {
		title = "package " + event.Package
	}
	fmt.Fprintf(&says, "%s %s (%.1f s)\n", word, title, event.Elapsed)
	if event.Action != "pass" {
		for _, line := range c.output[key] {
			if !strings.HasPrefix(strings.TrimSpace(line), "=== ") {
				fmt.Fprint(&says, "     ", line)
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
