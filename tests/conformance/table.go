package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table is all requests, from the files of table/.
type table struct {
	setup []*step // for all cases, once a server
	cases []*testCase
}

// testCase is one sentence and the requests that show it.
type testCase struct {
	sentence string
	file     string
	line     int
	steps    []*step
	hash     string // of its text and of what it relies on
}

// step is one line of a case, with its body.
type step struct {
	line    int
	kind    stepKind
	status  int    // what the real API server answers
	until   bool   // repeated until the status is as expected
	text    string // and until the answer holds this
	method  string
	path    string
	headers map[string]string
	body    string
	events  int    // of READ; all there are when below zero
	name    string // of let
}

type stepKind int

const (
	stepRequest stepKind = iota
	stepOpen             // starts a watch
	stepRead             // takes events of it
	stepLet              // names a value
)

// media are the short words for types of bodies.
var media = map[string]string{
	"apply":     "application/apply-patch+yaml",
	"json":      "application/json-patch+json",
	"merge":     "application/merge-patch+json",
	"strategic": "application/strategic-merge-patch+json",
	"yaml":      "application/yaml",
}

var (
	requestLine = regexp.MustCompile(`^(until )?(\d{3}) ([A-Za-z]+) (\S+)(.*)$`)
	readLine    = regexp.MustCompile(`^(\d+|end) READ$`)
	letLine     = regexp.MustCompile(`^let ([a-zA-Z]+) (.*)$`)
)

// readTable reads all files of a folder, in the order of their names.
func readTable(folder string) (*table, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no table in %s", folder)
	}
	var t table
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := t.read(filepath.Base(file), string(text)); err != nil {
			return nil, err
		}
	}
	for _, c := range t.cases {
		if seen[c.sentence] {
			return nil, fmt.Errorf("%s:%d: there is a case of that sentence already: %s", c.file, c.line, c.sentence)
		}
		if len(c.steps) == 0 {
			return nil, fmt.Errorf("%s:%d: the case asks nothing: %s", c.file, c.line, c.sentence)
		}
		seen[c.sentence] = true
	}
	return &t, nil
}

// read reads one file. A `let` before its first case holds for all of its cases, one in setup for all files.
func (t *table) read(file, text string) error {
	var shared []*step
	into := &shared
	var current *testCase
	var last *step
	text += "\ncase \n"
	began := 0
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		number := i + 1
		sentence, isCase := strings.CutPrefix(line, "case ")
		switch {
		case isCase || line == "setup":
			if current != nil {
				t.finish(current, shared, strings.Join(lines[began:i], "\n"))
			}
			current, last, began = nil, nil, i
			if line == "setup" {
				into = &t.setup
			} else {
				current = &testCase{sentence: sentence, file: file, line: number}
				into = &current.steps
			}
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			last = nil
		default:
			s, err := readStep(line)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", file, number, err)
			}
			if s == nil && (last == nil || last.kind != stepRequest) {
				return fmt.Errorf("%s:%d: a body without a request: %s", file, number, line)
			}
			if s == nil {
				last.body += line + "\n"
				continue
			}
			s.line, last = number, s
			*into = append(*into, s)
		}
	}
	return nil
}

// finish ends a case: the file's own names come before its steps.
func (t *table) finish(c *testCase, shared []*step, text string) {
	var all strings.Builder
	for _, s := range append(slices.Clone(t.setup), shared...) {
		fmt.Fprintln(&all, s.method, s.path, s.name, s.text, s.body)
	}
	sum := sha256.Sum256([]byte(all.String() + text))
	c.hash = fmt.Sprintf("%x", sum[:8])
	c.steps = append(slices.Clone(shared), c.steps...)
	if len(c.steps) == len(shared) {
		c.steps = nil
	}
	t.cases = append(t.cases, c)
}

// readStep reads a line; nil for a line of a body.
func readStep(line string) (*step, error) {
	if found := letLine.FindStringSubmatch(line); found != nil {
		return &step{kind: stepLet, name: found[1], text: found[2]}, nil
	}
	if found := readLine.FindStringSubmatch(line); found != nil {
		s := &step{kind: stepRead, events: -1}
		if found[1] != "end" {
			s.events, _ = strconv.Atoi(found[1])
		}
		return s, nil
	}
	found := requestLine.FindStringSubmatch(line)
	if found == nil {
		return nil, nil
	}
	s := &step{until: found[1] != "", method: found[3], path: found[4], headers: map[string]string{}}
	s.status, _ = strconv.Atoi(found[2])
	if s.method == "OPEN" {
		s.kind = stepOpen
	}
	rest, text, _ := strings.Cut(found[5], " ~ ")
	s.text = text
	for _, word := range strings.Fields(rest) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			name, value = "Content-Type", media[word]
		}
		if name == "Content-Type" && value == "" {
			return nil, fmt.Errorf("%q is no type of a body", word)
		}
		s.headers[name] = value
	}
	return s, nil
}
