package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"fairlead/tests/cluster"
)

const (
	shardSeconds = 240 // about so long a shard runs: it starts clusters of its own, which takes some seconds each
	unknown      = 10  // seconds of a test that has never run here
)

// testPackage is a package and those of its tests that are asked for, in the order in which Go runs them.
type testPackage struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string

	tests []string
	build sync.Once
	err   error // of the build
}

// shard is some tests of a package, which one process runs. Side by side they disturb one another as little as packages
// do: each has clusters of its own.
type shard struct {
	*testPackage
	tests   []string
	seconds float64
}

var testFunction = regexp.MustCompile(`(?m)^func (Test[A-Z0-9_]\w*)\(\w+ \*testing\.T\)`)

// listPackages finds packages and their tests.
func listPackages(ctx context.Context, patterns []string) (packages []*testPackage, err error) {
	list, err := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, patterns...)...).Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w\n%s", err, ended.Stderr)
		}
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	for all := json.NewDecoder(bytes.NewReader(list)); ; {
		p := &testPackage{}
		if err := all.Decode(p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, found := range testFunction.FindAllSubmatch(text, -1) {
				p.tests = append(p.tests, string(found[1]))
			}
		}
		if len(p.tests) > 0 {
			packages = append(packages, p)
		}
	}
}

// choosePackages keeps the tests whose names hold one of the names; all when there are none.
func choosePackages(packages []*testPackage, names []string) (chosen []*testPackage, err error) {
	holds := func(test, name string) bool { return strings.Contains(strings.ToLower(test), strings.ToLower(name)) }
	var all []string
	for _, p := range packages {
		all = append(all, p.tests...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(test string) bool { return holds(test, name) }) {
			return nil, fmt.Errorf("cluster test: no test's name holds %q; there are:\n  %s\n%w", name, strings.Join(all, "\n  "), errUsage)
		}
	}
	for _, p := range packages {
		if len(names) > 0 {
			p.tests = slices.DeleteFunc(p.tests, func(test string) bool {
				return !slices.ContainsFunc(names, func(name string) bool { return holds(test, name) })
			})
		}
		if len(p.tests) > 0 {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// shards cuts a package into runs of tests that follow one another, as they share clusters the likelier: of equal length,
// as far as it is known how long each test takes.
func (p *testPackage) shards(known map[string]float64) (cut []*shard) {
	takes := func(test string) float64 {
		if seconds, ok := known[p.ImportPath+" "+test]; ok {
			return seconds
		}
		return unknown
	}
	var total float64
	for _, test := range p.tests {
		total += takes(test)
	}
	number := int(total/shardSeconds) + 1
	each := total / float64(number)
	var before float64
	for _, test := range p.tests {
		if len(cut) == 0 || (before >= each*float64(len(cut)) && len(cut) < number) {
			cut = append(cut, &shard{testPackage: p})
		}
		last := cut[len(cut)-1]
		last.tests = append(last.tests, test)
		last.seconds += takes(test)
		before += takes(test)
	}
	return cut
}

// runPackages runs all tests, the longest shards first; one more at a time than there are processors, as most tests wait.
func runPackages(ctx context.Context, packages []*testPackage, limit string) (sum results, err error) {
	folder, err := os.MkdirTemp("", "fairlead-cluster-tests-")
	if err != nil {
		return sum, err
	}
	defer os.RemoveAll(folder)
	known := knownSeconds()
	var all []*shard
	for _, p := range packages {
		all = append(all, p.shards(known)...)
	}
	slices.SortStableFunc(all, func(a, b *shard) int { return int(b.seconds - a.seconds) })
	var lock sync.Mutex
	var lanes sync.WaitGroup
	queue := make(chan *shard, len(all))
	for _, one := range all {
		queue <- one
	}
	close(queue)
	out := &lockedWriter{out: os.Stdout}
	for range runtime.NumCPU() + 1 {
		lanes.Go(func() {
			for one := range queue {
				done := one.run(ctx, folder, limit, out)
				lock.Lock()
				sum.passed += done.passed
				sum.failed += done.failed
				sum.skipped += done.skipped
				for test, seconds := range done.seconds {
					known[one.ImportPath+" "+test] = seconds
				}
				lock.Unlock()
			}
		})
	}
	lanes.Wait()
	keepSeconds(known)
	return sum, nil
}

type lockedWriter struct {
	sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(text []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.out.Write(text)
}

// compile makes the package's test program, once, and vets it as go test does.
func (p *testPackage) compile(ctx context.Context, folder string) (program string, err error) {
	program = filepath.Join(folder, strings.ReplaceAll(p.ImportPath, "/", "-")+".test")
	p.build.Do(func() {
		for _, args := range [][]string{{"vet", p.ImportPath}, {"test", "-c", "-o", program, p.ImportPath}} {
			if said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
				p.err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
				return
			}
		}
	})
	return program, p.err
}

func (s *shard) run(ctx context.Context, folder, limit string, out io.Writer) *collector {
	broken := func(err error) *collector {
		fmt.Fprintf(out, "FAIL package %s: %v\n", s.ImportPath, err)
		return &collector{results: results{failed: 1}}
	}
	program, err := s.compile(ctx, folder)
	if err != nil {
		return broken(err)
	}
	said, err := os.CreateTemp(folder, "said")
	if err != nil {
		return broken(err)
	}
	defer said.Close()
	// The program writes into a pipe of ours, so that its status is ours too, and test2json makes events of what it says.
	cmd := exec.CommandContext(ctx, program, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+limit, "-test.run=^("+strings.Join(s.tests, "|")+")$")
	cmd.Dir = s.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	speaks, err := cmd.StdoutPipe()
	if err != nil {
		return broken(err)
	}
	cmd.Stderr = cmd.Stdout
	events := exec.CommandContext(context.WithoutCancel(ctx), "go", "tool", "test2json", "-t", "-p", s.ImportPath)
	events.Stdin, events.Stderr = speaks, os.Stderr
	lines, err := events.StdoutPipe()
	if err == nil {
		err = events.Start()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return broken(err)
	}
	done := readResults(lines, out)
	converted := events.Wait()
	err = errors.Join(cmd.Wait(), converted)
	if err != nil && done.failed == 0 {
		fmt.Fprintf(out, "FAIL package %s: %v\n", s.ImportPath, err)
		done.failed++
	}
	return done
}

func secondsFile() string { return filepath.Join(cluster.CacheDir(), "cluster-test-seconds.json") }

// knownSeconds is what each test took when it last ran here.
func knownSeconds() map[string]float64 {
	known := map[string]float64{}
	text, err := os.ReadFile(secondsFile())
	if err != nil || json.Unmarshal(text, &known) != nil {
		return map[string]float64{}
	}
	return known
}

// keepSeconds writes it; what fails costs nothing but time.
func keepSeconds(known map[string]float64) {
	text, err := json.MarshalIndent(known, "", "")
	if err == nil && os.WriteFile(secondsFile()+".new", text, 0o644) == nil {
		os.Rename(secondsFile()+".new", secondsFile())
	}
}
