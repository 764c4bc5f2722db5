package kube

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"fairlead/tests/cluster"
)

// proxy stands between the driver and the real API server, by HTTP/2 and TLS on both sides, and does to
// single requests what a test says.
type proxy struct {
	config string // a kubeconfig that leads through it
	server *httptest.Server
	behind http.Handler // the API server

	mu   sync.Mutex
	seen []*url.URL
	// Called for each request; true: it has answered. May change the request.
	meddle func(w http.ResponseWriter, r *http.Request) bool
}

func newProxy(t *testing.T, c *cluster.Cluster, meddle func(w http.ResponseWriter, r *http.Request) bool) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(c.Config)
	cluster.Must(t, err)
	target, err := url.Parse(c.Config.Host)
	cluster.Must(t, err)
	p := &proxy{meddle: meddle}
	p.behind = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Authorization") },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = nil
	p.server.Listener.Close()
	cluster.Must(t, c.LAN.Do(func() (err error) {
		p.server.Listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}))
	p.server.StartTLS()
	t.Cleanup(func() { p.server.CloseClientConnections(); p.server.Close() })
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	cluster.Must(t, os.WriteFile(filepath.Join(dir, "ca.crt"), ca, 0o600))
	p.config = filepath.Join(dir, "config")
	cluster.Must(t, os.WriteFile(p.config, fmt.Appendf(nil, `
clusters: [{name: c, cluster: {server: %q, certificate-authority: ca.crt}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.server.URL), 0o600))
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.URL)
	p.mu.Unlock()
	if p.meddle == nil || !p.meddle(w, r) {
		p.behind.ServeHTTP(w, r)
	}
}

// asked returns what was asked so far, as far as it passes.
func (p *proxy) asked(ok func(url.Values) bool) (out []url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.seen {
		if q := u.Query(); ok(q) {
			out = append(out, q)
		}
	}
	return out
}

// times gives true for the first n requests that pass.
func times(n int, ok func(r *http.Request) bool) func(r *http.Request) bool {
	var mu sync.Mutex
	return func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || !ok(r) {
			return false
		}
		n--
		return true
	}
}

// cutter passes an answer on up to a number of bytes and ends the stream there, without its end.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(bytes []byte) (int, error) {
	n := min(c.left, len(bytes))
	c.ResponseWriter.Write(bytes[:n])
	c.Flush()
	if c.left -= n; c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func (c *cutter) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// cut lets the API server answer, and cuts the answer after so many bytes.
func (p *proxy) cut(w http.ResponseWriter, r *http.Request, after int) bool {
	r.Header.Del("Accept-Encoding")
	p.behind.ServeHTTP(&cutter{w, after}, r)
	return true
}
