package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	patience = 30 * time.Second // for what must come: an answer, an event, what a controller does
	again    = 20 * time.Millisecond
	agent    = "conformance/1" // what managedFields call us when a request names no manager
	mostBody = 64 << 20
)

// server is an API server that is asked.
type server struct {
	name   string
	url    string
	client *http.Client
	names  map[string]string // what the table may use: the webhooks' address and authority
	side   string            // a letter before all names, so that two runs on one server do not meet
}

// answer is what came back for a step.
type answer struct {
	status  int
	headers map[string]string
	body    any // JSON as it was read, or a text; of READ the list of events
}

func newServer(name, url, side string, config *tls.Config) *server {
	return &server{
		name: name, url: strings.TrimSuffix(url, "/"), side: side, names: map[string]string{},
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig:     config,
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 with both
			MaxIdleConnsPerHost: 64,
		}},
	}
}

// running is a case under way at one server.
type running struct {
	*server
	ctx    context.Context
	names  map[string]string
	stream *bufio.Reader
	close  func()
}

// spaceOf is the namespace of a case.
func (s *server) spaceOf(c *testCase) string {
	sum := sha256.Sum256([]byte(c.sentence))
	return fmt.Sprintf("%s%x", s.side, sum[:4])
}

// run asks all of a case.
func (s *server) run(c *testCase, shared map[string]string) ([]answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	r := &running{server: s, ctx: ctx, names: maps.Clone(shared)}
	defer r.shut()
	r.names["ns"] = s.spaceOf(c)
	made, err := r.ask(&step{method: "POST", path: "/api/v1/namespaces", headers: map[string]string{},
		body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}"}}`})
	if err != nil || made.status != http.StatusCreated {
		return nil, fmt.Errorf("the namespace of the case: %d %v %w", made.status, made.body, orNil(err))
	}
	return r.all(c.steps)
}

func orNil(err error) error {
	if err == nil {
		return errors.New("not created")
	}
	return err
}

// prepare asks what comes before all cases and returns the names that it leaves.
func (s *server) prepare(steps []*step) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	r := &running{server: s, ctx: ctx, names: maps.Clone(s.names)}
	answers, err := r.all(steps)
	if err != nil {
		return nil, err
	}
	for i, each := range requests(steps) {
		if answers[i].status != each.status {
			text, _ := json.Marshal(answers[i].body)
			return nil, fmt.Errorf("setup, line %d: %s answers %d and not %d: %s", each.line, s.name, answers[i].status, each.status, text)
		}
	}
	return r.names, nil
}

// requests are the steps that have an answer.
func requests(steps []*step) (some []*step) {
	for _, each := range steps {
		if each.kind != stepLet {
			some = append(some, each)
		}
	}
	return some
}

func (r *running) all(steps []*step) (answers []answer, err error) {
	for _, each := range steps {
		var got answer
		switch each.kind {
		case stepLet:
			r.names[each.name] = r.fill(each.text)
			continue
		case stepOpen:
			got, err = r.open(each)
		case stepRead:
			got, err = r.read(each)
		case stepRequest:
			got, err = r.askUntil(each)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", each.line, err)
		}
		r.learn(got.body)
		answers = append(answers, got)
	}
	return answers, nil
}

var (
	nameInText = regexp.MustCompile(`\{[a-zA-Z]+\}`)
	manyInText = regexp.MustCompile(`\{(\d+)\*([^|]*)\|\}`)
)

// fill replaces {name} by its value, several times over as values hold names too, and {100*x|} by 100 times x.
func (r *running) fill(text string) string {
	for range 3 {
		text = nameInText.ReplaceAllStringFunc(text, func(name string) string {
			if value, ok := r.names[name[1:len(name)-1]]; ok {
				return value
			}
			return name
		})
	}
	return manyInText.ReplaceAllStringFunc(text, func(name string) string {
		part := manyInText.FindStringSubmatch(name)
		number, _ := strconv.Atoi(part[1])
		return strings.Repeat(part[2], number)
	})
}

// learn keeps what the next steps may name: {rv}, {uid} and {continue} of the last object or list.
func (r *running) learn(body any) {
	if events, ok := body.([]any); ok && len(events) > 0 {
		event, _ := events[len(events)-1].(map[string]any)
		body = event["object"]
	}
	object, _ := body.(map[string]any)
	meta, _ := object["metadata"].(map[string]any)
	for name, field := range map[string]string{"rv": "resourceVersion", "uid": "uid", "continue": "continue", "name": "name"} {
		if value, ok := meta[field].(string); ok {
			r.names[name] = value
		}
	}
}

func (r *running) request(ctx context.Context, s *step, method string) (*http.Request, error) {
	body := r.fill(strings.TrimSuffix(s.body, "\n"))
	request, err := http.NewRequestWithContext(ctx, method, r.url+r.fill(s.path), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "application/json")
	if s.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.headers {
		if value == "none" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, r.fill(value))
		}
	}
	return request, nil
}

// compared are the headers that belong to an answer.
var compared = []string{"Content-Type", "Warning", "Retry-After", "Allow"}

func (r *running) ask(s *step) (answer, error) {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	request, err := r.request(ctx, s, s.method)
	if err != nil {
		return answer{}, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
	return head(response, decode(text)), err
}

func head(response *http.Response, body any) answer {
	got := answer{status: response.StatusCode, headers: map[string]string{}, body: body}
	for _, name := range compared {
		if values := response.Header.Values(name); len(values) > 0 {
			got.headers[name] = strings.Join(values, "\n")
		}
	}
	return got
}

// decode reads JSON, with its numbers as they are written; what is none stays a text.
func decode(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return string(text)
	}
	return value
}

// askUntil asks until the answer is the wanted one, where the step says so; the last answer counts.
func (r *running) askUntil(s *step) (answer, error) {
	for end := time.Now().Add(patience); ; time.Sleep(again) {
		got, err := r.ask(s)
		if err != nil || !s.until || time.Now().After(end) {
			return got, err
		}
		if got.status == s.status && r.holds(got, s.text) {
			return got, nil
		}
	}
}

func (r *running) holds(got answer, text string) bool {
	if text == "" {
		return true
	}
	body, err := json.Marshal(got.body)
	return err == nil && bytes.Contains(body, []byte(r.fill(text)))
}

// open starts a watch. An answer other than 200 is read like any.
func (r *running) open(s *step) (answer, error) {
	r.shut()
	ctx, cancel := context.WithCancel(r.ctx)
	request, err := r.request(ctx, s, http.MethodGet)
	if err != nil {
		cancel()
		return answer{}, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		cancel()
		return answer{}, err
	}
	r.close = func() { cancel(); response.Body.Close() }
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
		return head(response, decode(text)), err
	}
	r.stream = bufio.NewReader(response.Body)
	return head(response, "a stream"), nil
}

func (r *running) shut() {
	if r.close != nil {
		r.close()
	}
	r.close, r.stream = nil, nil
}

// read takes so many events, or all until the server ends the watch. What does not come in time is missing in the answer.
func (r *running) read(s *step) (answer, error) {
	got := answer{status: http.StatusOK}
	events := []any{}
	if r.stream == nil {
		got.body = "no watch is open"
		return got, nil
	}
	var once sync.Once
	shut := r.close
	late := time.AfterFunc(patience, func() { once.Do(shut) })
	defer late.Stop()
	for s.events < 0 || len(events) < s.events {
		line, err := r.stream.ReadBytes('\n')
		if len(line) > 0 {
			events = append(events, decode(line))
		}
		if err != nil {
			if s.events >= 0 {
				events = append(events, "the watch ended, or no further event came in time")
			} else if !errors.Is(err, io.EOF) {
				events = append(events, "the watch broke off, or did not end in time")
			}
			break
		}
	}
	got.body = events
	return got, nil
}
