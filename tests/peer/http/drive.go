package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type way struct {
	name   string
	base   string
	client *http.Client
}

func ways(socket string) ([]way, *x509.CertPool, string) {
	address, err := os.ReadFile(socket + ".addr")
	must(err)
	ca, err := os.ReadFile(socket + ".ca")
	must(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		must(errors.New("the CA is no PEM"))
	}
	local := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	speak := func(h1, h2, plainH2 bool) *http.Protocols {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(h1)
		protocols.SetHTTP2(h2)
		protocols.SetUnencryptedHTTP2(plainH2)
		return protocols
	}
	secure := &tls.Config{RootCAs: pool, ServerName: "localhost"}
	base := "https://" + string(address)
	return []way{
		{"HTTP/1.1, TLS", base, &http.Client{Transport: &http.Transport{TLSClientConfig: secure, Protocols: speak(true, false, false)}}},
		{"HTTP/2, TLS", base, &http.Client{Transport: &http.Transport{TLSClientConfig: secure, Protocols: speak(false, true, false)}}},
		{"HTTP/1.1, unix", "http://local", &http.Client{Transport: &http.Transport{DialContext: local, Protocols: speak(true, false, false)}}},
		{"HTTP/2, unix", "http://local", &http.Client{Transport: &http.Transport{DialContext: local, Protocols: speak(false, false, true)}}},
	}, pool, base
}

func must(err error) {
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
}

func ask(w way, method, path string, body io.Reader) (string, *http.Response, error) {
	request, err := http.NewRequest(method, w.base+path, body)
	must(err)
	response, err := w.client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), response, err
}

func want(got string, response *http.Response, err error, status int, text string) error {
	switch {
	case err != nil:
		return err
	case response.StatusCode != status:
		return fmt.Errorf("status %d, want %d: %.100s", response.StatusCode, status, got)
	case text != "" && got != text:
		return fmt.Errorf("got '%.100s', want '%.100s'", got, text)
	}
	return nil
}

type slowly struct{ left int }

func (s *slowly) Read(into []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(len(into), s.left, 100000)
	for i := range into[:n] {
		into[i] = 'x'
	}
	s.left -= n
	return n, nil
}

var cases = []struct {
	name string
	run  func(w way) error
}{
	{"a request is answered", func(w way) error {
		text, response, err := ask(w, "GET", "/hello?a=b", nil)
		return want(text, response, err, 200, "hello")
	}},
	{"HEAD has a length and no body", func(w way) error {
		text, response, err := ask(w, "HEAD", "/hello", nil)
		if err == nil && response.ContentLength != 5 {
			return fmt.Errorf("content-length %d", response.ContentLength)
		}
		return want(text, response, err, 200, "")
	}},
	{"a megabyte comes back", func(w way) error {
		body := strings.Repeat("0123456789abcdef", 65536)
		text, response, err := ask(w, "POST", "/echo", strings.NewReader(body))
		return want(text, response, err, 200, body)
	}},
	{"twenty megabytes arrive", func(w way) error {
		text, response, err := ask(w, "GET", "/much", nil)
		if err == nil && len(text) != 20<<20 {
			return fmt.Errorf("%d bytes", len(text))
		}
		return want(text, response, err, 200, "")
	}},
	{"a body of unknown length is streamed", func(w way) error {
		text, response, err := ask(w, "POST", "/count", &slowly{5000000})
		return want(text, response, err, 200, "5000000\n")
	}},
	{"trailers arrive", func(w way) error {
		text, response, err := ask(w, "GET", "/trailers", nil)
		if err == nil && response.Trailer.Get("Sum") != "3" {
			return fmt.Errorf("trailers %v", response.Trailer)
		}
		return want(text, response, err, 200, "abc")
	}},
	{"a slow reader gets it all, and others are served meanwhile", func(w way) error {
		response, err := w.client.Get(w.base + "/much")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		time.Sleep(100 * time.Millisecond)
		text, other, err := ask(w, "GET", "/hello", nil)
		if err = want(text, other, err, 200, "hello"); err != nil {
			return err
		}
		count, err := io.Copy(io.Discard, response.Body)
		if err == nil && count != 20<<20 {
			return fmt.Errorf("%d bytes", count)
		}
		return err
	}},
	{"five hundred at once", func(w way) error {
		var group sync.WaitGroup
		failures := make(chan error, 500)
		for range 500 {
			group.Add(1)
			go func() {
				defer group.Done()
				text, response, err := ask(w, "POST", "/echo", strings.NewReader("x"))
				if err := want(text, response, err, 200, "x"); err != nil {
					failures <- err
				}
			}()
		}
		group.Wait()
		select {
		case err := <-failures:
			return fmt.Errorf("%d failed, one: %w", len(failures)+1, err)
		default:
			return nil
		}
	}},
	{"a watch is cancelled, and the connection is still good", func(w way) error {
		ctx, cancel := context.WithCancel(context.Background())
		request, _ := http.NewRequestWithContext(ctx, "GET", w.base+"/watch", nil)
		response, err := w.client.Do(request)
		if err != nil {
			cancel()
			return err
		}
		event := make([]byte, 5)
		_, err = io.ReadFull(response.Body, event)
		cancel()
		response.Body.Close()
		if err != nil || string(event) != "event" {
			return fmt.Errorf("'%s' %v", event, err)
		}
		text, response, err := ask(w, "GET", "/hello", nil)
		return want(text, response, err, 200, "hello")
	}},
	{"Expect: 100-continue", func(w way) error {
		request, _ := http.NewRequest("POST", w.base+"/echo", strings.NewReader("abc"))
		request.Header.Set("Expect", "100-continue")
		response, err := w.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return want(string(text), response, err, 200, "abc")
	}},
	{"a header over the limit is refused, and the next request is served", func(w way) error {
		request, _ := http.NewRequest("GET", w.base+"/hello", nil)
		request.Header.Set("X", strings.Repeat("y", 40000))
		response, err := w.client.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode != 431 {
				return fmt.Errorf("status %d", response.StatusCode)
			}
		}
		text, response, err := ask(w, "GET", "/hello", nil)
		return want(text, response, err, 200, "hello")
	}},
	{"a body over the limit is refused", func(w way) error {
		_, response, err := ask(w, "POST", "/echo", bytes.NewReader(make([]byte, 3<<20)))
		if err == nil && response.StatusCode != 413 {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil // the answer may be lost where the connection breaks under the body
	}},
}

// rotation: new certificates are shown to new connections while an old one lives on.
func rotation(w way, pool *x509.CertPool) error {
	serial := func() (string, error) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(w.base, "https://"), &tls.Config{RootCAs: pool, ServerName: "localhost"})
		if err != nil {
			return "", err
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
	}
	before, err := serial()
	if err != nil {
		return err
	}
	if text, response, err := ask(w, "POST", "/rotate", nil); err != nil {
		return want(text, response, err, 200, "")
	}
	for range 100 {
		now, err := serial()
		if err != nil {
			return err
		}
		if now != before {
			text, response, err := ask(w, "GET", "/hello", nil)
			return want(text, response, err, 200, "hello")
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the old certificate is still shown after 2 s")
}

// drain: what is open when the server is told to end is answered, over every way.
func drain(all []way) error {
	answers := make(chan error, len(all))
	for _, w := range all {
		go func() {
			text, response, err := ask(w, "GET", "/slow", nil)
			answers <- want(text, response, err, 200, "hello")
		}()
	}
	time.Sleep(50 * time.Millisecond)
	if _, _, err := ask(all[2], "POST", "/drain", nil); err != nil {
		return err
	}
	for range all {
		if err := <-answers; err != nil {
			return err
		}
	}
	time.Sleep(50 * time.Millisecond)
	if _, _, err := ask(all[1], "GET", "/hello", nil); err == nil {
		return errors.New("it still answers")
	}
	return nil
}

func drive(socket string) int {
	all, pool, _ := ways(socket)
	count, failed := 0, 0
	report := func(name string, err error) {
		count++
		if err != nil {
			failed++
			fmt.Printf("not ok %d - %s\n# %v\n", count, name, err)
			return
		}
		fmt.Printf("ok %d - %s\n", count, name)
	}
	for _, w := range all {
		w.client.Timeout = time.Minute // of a busy machine too; the pair has 300 s for all
		for _, c := range cases {
			report(w.name+": "+c.name, c.run(w))
		}
	}
	report("certificates are rotated", rotation(all[1], pool))
	report("the server ends gracefully", drain(all))
	fmt.Printf("1..%d\n", count)
	if failed > 0 {
		return 1
	}
	return 0
}
