// The program conformance asks two API servers the same requests, those of table/, and compares the answers field by
// field: the real one, and that of src/local. Speaks TAP, one test a case. README.md tells how to run it.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

const atOnce = 8 // cases under way; most of the time a case waits for its server

func main() {
	status, err := conformance()
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// judge is one run.
type judge struct {
	table      *table
	list       []*listed
	cases      []*testCase
	real, ours *asked
	remembered map[string][]plain // the real API server's answers by a case's hash
}

// asked is a server with what its setup has left.
type asked struct {
	*server
	hook   string
	shared map[string]string
}

var (
	realURL  = flag.String("real", "", "address of the real API server; none: what it answered last time")
	realPKI  = flag.String("pki", "", "folder with ca.crt, admin.crt and admin.key for it")
	oursRuns = flag.String("ours", "", "program of the API server in memory; none: the real one is asked twice")
	hookAt   = flag.String("hooks", "127.0.0.1", "address of this machine at which the real API server reaches webhooks")
	folder   = flag.String("table", ".", "folder that holds table/ and differences")
	shrink   = flag.Bool("prune", false, "remove from the list what does not differ any more, instead of failing")
	memory   = flag.String("memory", "", "file that keeps what the real API server answered")
)

func conformance() (int, error) {
	flag.Parse()
	j := judge{remembered: map[string][]plain{}}
	var err error
	if j.table, err = readTable(filepath.Join(*folder, "table")); err != nil {
		return 0, err
	}
	if j.list, err = knownDifferences(filepath.Join(*folder, "differences")); err != nil {
		return 0, err
	}
	if j.cases, err = j.chosen(flag.Args()); err != nil {
		return 0, err
	}
	if err := j.recall(); err != nil {
		return 0, err
	}
	hooks, err := serveHooks(*hookAt)
	if err != nil {
		return 0, err
	}
	end, err := j.connect(hooks)
	defer end()
	if err != nil {
		return 0, err
	}
	failed := j.judgeAll()
	if flag.NArg() == 0 {
		failed += j.judgeList()
		failed += j.judgeDocs()
	}
	if *realURL != "" && *memory != "" {
		text, err := json.Marshal(j.remembered)
		if err == nil {
			err = os.WriteFile(*memory, text, 0o644)
		}
		if err != nil {
			return 0, err
		}
	}
	return min(failed, 1), nil
}

// chosen are the cases whose sentence or file holds one of the words; all without one.
func (j *judge) chosen(words []string) (some []*testCase, err error) {
	for _, c := range j.table.cases {
		ok := len(words) == 0
		for _, word := range words {
			ok = ok || strings.Contains(c.sentence, word) || c.file == word
		}
		if ok {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("no case holds any of: %s", strings.Join(words, ", "))
	}
	return some, nil
}

// recall reads what the real API server answered before.
func (j *judge) recall() error {
	text, err := os.Open(*memory)
	if err != nil {
		return nil // it was never asked here
	}
	defer text.Close()
	decoder := json.NewDecoder(text)
	decoder.UseNumber() // as numbers come over the wire
	if err := decoder.Decode(&j.remembered); err != nil {
		return fmt.Errorf("%s: %w", *memory, err)
	}
	return nil
}

// connect reaches the servers and asks what comes before all cases.
func (j *judge) connect(h *hooks) (end func(), err error) {
	end = func() {}
	if *realURL != "" {
		config, err := clientTLS(*realPKI)
		if err != nil {
			return end, err
		}
		j.real, err = j.ask(newServer("the real API server", *realURL, "a", config), h, *hookAt)
		if err != nil {
			return end, err
		}
	}
	switch {
	case *oursRuns != "":
		url, stop, err := start(*oursRuns)
		if err != nil {
			return end, err
		}
		end = stop
		j.ours, err = j.ask(newServer("ours", url, "a", nil), h, "127.0.0.1")
		return end, err
	case j.real != nil:
		again := *j.real.server
		again.side = "b"
		j.ours = &asked{&again, j.real.hook, maps.Clone(j.real.shared)}
		return end, nil
	}
	return end, errors.New("nobody to ask: name -real, -ours or both")
}

func (j *judge) ask(s *server, h *hooks, address string) (*asked, error) {
	hook := "https://" + address + ":" + h.port
	s.names["hook"], s.names["ca"] = hook, h.caBundle
	shared, err := s.prepare(j.table.setup)
	return &asked{s, hook, shared}, err
}

func clientTLS(pki string) (*tls.Config, error) {
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	own, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}, err
}

var address = regexp.MustCompile(`http://[0-9.:\[\]]+`)

// start runs a program that prints its address and then serves until it is ended.
func start(program string) (url string, stop func(), err error) {
	command := exec.Command(program, "--listen", "127.0.0.1:0")
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	url = address.FindString(line)
	if url == "" {
		stop()
		return "", nil, fmt.Errorf("%s printed no address but %q: %w", program, line, errors.Join(err))
	}
	go io.Copy(io.Discard, lines)
	return url, stop, nil
}

// verdict is what is wrong with a case.
type verdict struct {
	wrong   []string
	differs bool    // if only where the list has it
	fresh   []plain // of the real API server
}

// judgeAll runs all cases, several at once, and tells of each in the table's order.
func (j *judge) judgeAll() (failed int) {
	fmt.Printf("1..%d\n", len(j.cases)+map[bool]int{true: 2}[flag.NArg() == 0])
	verdicts := make([]chan verdict, len(j.cases))
	places := make(chan bool, atOnce)
	for i := range j.cases {
		verdicts[i] = make(chan verdict, 1)
	}
	go func() {
		for i, c := range j.cases {
			places <- true
			go func() {
				verdicts[i] <- j.judge(c)
				<-places
			}()
		}
	}()
	differ := 0
	for i, c := range j.cases {
		v := <-verdicts[i]
		word := "ok"
		if v.fresh != nil {
			j.remembered[c.hash] = v.fresh
		}
		if v.differs || len(v.wrong) > 0 {
			differ++
		}
		if len(v.wrong) > 0 {
			word = "not ok"
			failed++
		}
		fmt.Printf("%s %d - %s\n", word, i+1, c.sentence)
		for _, each := range v.wrong {
			fmt.Printf("# %s:%d: %s\n", c.file, c.line, each)
		}
	}
	fmt.Printf("# %d of %d cases are answered the same in every field\n", len(j.cases)-differ, len(j.cases))
	return failed
}

// judge runs a case at both servers.
func (j *judge) judge(c *testCase) (v verdict) {
	type result struct {
		answers []plain
		err     error
	}
	real, ours := make(chan result, 1), make(chan result, 1)
	ask := func(a *asked, to chan result) {
		answers, err := a.run(c, a.shared)
		if err != nil {
			err = fmt.Errorf("%s, %w", a.name, err)
		}
		to <- result{normalise(answers, c, a.spaceOf(c), a.hook), err}
	}
	if j.real != nil {
		go ask(j.real, real)
	} else {
		real <- result{answers: j.remembered[c.hash]}
	}
	go ask(j.ours, ours)
	wanted, got := <-real, <-ours
	if wanted.err != nil || got.err != nil {
		v.wrong = append(v.wrong, fmt.Sprint(errors.Join(wanted.err, got.err)))
		return v
	}
	v.fresh = wanted.answers
	for _, each := range slices.Concat(wanted.answers, got.answers) {
		orderResources(each.Body)
	}
	steps := requests(c.steps)
	if wanted.answers == nil { // then what the table promises is all that is known
		var wrong []difference
		for i, each := range steps {
			if each.kind != stepRead && each.status != got.answers[i].Status {
				wrong = append(wrong, difference{fmt.Sprint(i+1, " status"), each.status, got.answers[i].Status})
			}
		}
		v.differs = len(wrong) > 0
		for _, d := range unlisted(j.list, c.sentence, wrong) {
			v.wrong = append(v.wrong, d.String())
		}
		return v
	}
	for i, each := range steps {
		if each.kind != stepRead && each.status != wanted.answers[i].Status {
			v.wrong = append(v.wrong, fmt.Sprintf("line %d: the table promises %d, the real API server answers %d: %s", each.line,
				each.status, wanted.answers[i].Status, shown(wanted.answers[i].Body)))
		}
		if lost(wanted.answers[i].Body) {
			v.wrong = append(v.wrong, fmt.Sprintf("line %d: the real API server: %s", each.line, shown(wanted.answers[i].Body)))
		}
	}
	found := compare(wanted.answers, got.answers)
	v.differs = len(found) > 0
	for _, d := range unlisted(j.list, c.sentence, found) {
		v.wrong = append(v.wrong, d.String())
	}
	return v
}

// lost tells of a READ that missed something: its events are objects, else.
func lost(body any) bool {
	events, ok := body.([]any)
	if !ok {
		return false
	}
	for _, each := range events {
		if _, isText := each.(string); isText {
			return true
		}
	}
	return false
}

// judgeList fails on what the list has and the servers have not, or removes it.
func (j *judge) judgeList() (failed int) {
	var stale []*listed
	var said []string
	for _, l := range j.list {
		if !l.seen && j.isKnown(l.sentence) {
			stale = append(stale, l)
			said = append(said, fmt.Sprintf("# differences:%d: does not differ any more: %s | %s", l.line, l.sentence, l.field))
		}
	}
	if len(stale) > 0 && *shrink {
		if err := prune(filepath.Join(*folder, "differences"), stale); err != nil {
			said = append(said, "# "+err.Error())
		} else {
			stale = nil
		}
	}
	word := "ok"
	if len(stale) > 0 {
		word = "not ok"
		failed = 1
	}
	fmt.Printf("%s %d - the list of differences holds none that is gone\n", word, len(j.cases)+1)
	if len(said) > 0 {
		fmt.Println(strings.Join(said, "\n"))
	}
	return failed
}

// judgeDocs fails on reasons that the page for people does not have, and on a page that has others.
func (j *judge) judgeDocs() int {
	said := j.differingDocs()
	word := "ok"
	if len(said) > 0 {
		word = "not ok"
	}
	fmt.Printf("%s %d - docs/API-SERVER.md has every reason\n", word, len(j.cases)+2)
	for _, each := range said {
		fmt.Println("# " + each)
	}
	return min(len(said), 1)
}

const docsHeading = "\n## Known differences\n"

func (j *judge) differingDocs() (said []string) {
	text, err := os.ReadFile(filepath.Join(*folder, "..", "..", "docs", "API-SERVER.md"))
	if err != nil {
		return []string{err.Error()}
	}
	_, section, found := strings.Cut(string(text), docsHeading)
	if !found {
		return []string{"docs/API-SERVER.md has no section Known differences"}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	points := map[string]bool{}
	for _, point := range strings.Split(section, "\n* ")[1:] {
		points[strings.Join(strings.Fields(point), " ")] = true
	}
	for _, l := range j.list {
		if reason := strings.Join(strings.Fields(l.reason), " "); !points[reason] {
			said = append(said, "no point of it says: "+reason)
			points[reason] = true
		}
	}
	for point := range points {
		if !slices.ContainsFunc(j.list, func(l *listed) bool { return strings.Join(strings.Fields(l.reason), " ") == point }) {
			said = append(said, "no difference has this reason any more: "+point)
		}
	}
	return said
}

// isKnown tells whether a case's wanted answers are known, so that its differences are; no case at all is stale, too.
func (j *judge) isKnown(sentence string) bool {
	if sentence == "*" {
		return j.real != nil || len(j.remembered) >= len(j.table.cases)
	}
	for _, c := range j.table.cases {
		if c.sentence == sentence {
			return j.remembered[c.hash] != nil || j.real != nil
		}
	}
	return true
}
