// Command h2spec drives our HTTP/2 server through the cases of h2spec, over TLS: `peer drive SOCKET`, with the server's
// address in SOCKET.addr. It prints TAP: one line a section, and one for the list of differences, which may only shrink.
package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// cases are how many h2spec has: a case that did not run is no case that passed.
const cases = 146

func fail(err error) {
	fmt.Printf("Bail out! %v\n", err)
	os.Exit(1)
}

// settings say where the server is.
func settings(socket string) (*config.Config, error) {
	text, err := os.ReadFile(socket + ".addr")
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	return &config.Config{Host: host, Port: number, Path: "/whole", Timeout: timeout(), MaxHeaderLen: 4000, Strict: true,
		TLS: true, Insecure: true}, nil
}

// timeout is what a case waits for an answer: a silent server fails by it, so a busy machine must not.
func timeout() time.Duration {
	if text := os.Getenv("H2SPEC_TIMEOUT"); text != "" {
		if given, err := time.ParseDuration(text); err == nil {
			return given
		}
	}
	return 2 * time.Second
}

// collect names the cases that passed and failed, "http2/5.1/9", with what failed.
func collect(group *spec.TestGroup, failed map[string]string) (passed int) {
	for _, each := range group.Groups {
		passed += collect(each, failed)
	}
	for i, test := range group.Tests {
		switch {
		case test.Result == nil || test.Result.Skipped:
		case test.Result.Failed:
			failed[fmt.Sprintf("%s/%d", group.ID(), i+1)] = fmt.Sprintf("%s: %v", test.Desc, test.Result.Error)
		default:
			passed++
		}
	}
	return passed
}

func main() {
	if len(os.Args) != 3 || os.Args[1] != "drive" {
		fail(fmt.Errorf("usage: peer drive SOCKET"))
	}
	c, err := settings(os.Args[2])
	if err != nil {
		fail(err)
	}
	stdout := os.Stdout
	os.Stdout = os.Stderr // the cases print as they go
	failed, passed, number := map[string]string{}, 0, 0
	say := func(ok bool, format string, args ...any) {
		number++
		word := "not ok"
		if ok {
			word = "ok"
		}
		fmt.Fprintf(stdout, "%s %d - %s\n", word, number, fmt.Sprintf(format, args...))
	}
	for _, suite := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		suite.Test(c)
		passed += collect(suite, failed)
	}
	say(passed+len(failed) == cases, "h2spec: %d of %d cases pass", passed, cases)
	for name, why := range failed {
		if _, is := known[name]; !is {
			say(false, "%s: %s", name, strings.ReplaceAll(why, "\n", " "))
		}
	}
	for _, name := range slices.Sorted(keys(known)) {
		if _, still := failed[name]; still || timed[name] {
			say(true, "known difference %s: %s", name, known[name])
		} else {
			say(false, "%s passes now: take it off the list of known differences", name)
		}
	}
	fmt.Fprintf(stdout, "1..%d\n", number)
}
