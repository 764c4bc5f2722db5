package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

func unixTransport(path string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
}

type object = map[string]any

// apiServer has one Node and no DeviceClasses, takes the agent's conditions and Events, and tells its watches: TLS and
// HTTP/2, as the agent has it in a cluster.
type apiServer struct {
	mu      sync.Mutex
	version int
	node    object
	changed *sync.Cond
	feature feature
}

func (s *apiServer) text() string {
	s.node["metadata"].(object)["resourceVersion"] = strconv.Itoa(s.version)
	line, _ := json.Marshal(s.node)
	return string(line)
}

// watch tells the Node whenever it has changed, and that it is alive once a minute.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, kind, version string, node bool) {
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	bookmark := func(at int, notes string) {
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}}`+"\n",
			kind, version, at, notes)
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	context.AfterFunc(ctx, func() { s.mu.Lock(); s.changed.Broadcast(); s.mu.Unlock() })
	beat := time.NewTicker(time.Minute)
	defer beat.Stop()
	due := false
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				s.mu.Lock()
				due = true
				s.changed.Broadcast()
				s.mu.Unlock()
			}
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.version
	if initial {
		if node {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", s.text())
		}
		bookmark(seen, `,"annotations":{"k8s.io/initial-events-end":"true"}`)
	} else if from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion")); err == nil {
		seen = from
	}
	for ctx.Err() == nil {
		if node && seen < s.version {
			seen = s.version
			fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", s.text())
		}
		if due {
			due = false
			bookmark(s.version, "")
		}
		w.(http.Flusher).Flush()
		s.changed.Wait()
	}
}

// apply lays labels and conditions over those that there are, the latter by their type.
func (s *apiServer) apply(body []byte) (string, error) {
	var got struct {
		Metadata struct{ Labels object }
		Status   struct{ Conditions []object }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.node["metadata"].(object)["labels"].(object), got.Metadata.Labels)
	status := s.node["status"].(object)
	have, _ := status["conditions"].([]object)
	for _, c := range got.Status.Conditions {
		found := false
		for i := range have {
			if have[i]["type"] == c["type"] {
				have[i], found = c, true
			}
		}
		if !found {
			have = append(have, c)
		}
	}
	status["conditions"] = have
	s.version++
	s.changed.Broadcast()
	return s.text(), nil
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	node := r.URL.Path == "/api/v1/nodes"
	if r.Method == http.MethodGet && s.serveFeatures(w, r, nil) {
		return
	}
	switch {
	case r.Method == http.MethodGet && (node || r.URL.Path == "/apis/resource.k8s.io/v1/deviceclasses"):
		kind, version, items := "DeviceClass", "resource.k8s.io/v1", ""
		if node {
			kind, version = "Node", "v1"
		}
		if watch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); watch {
			s.watch(w, r, kind, version, node)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if node {
			items = s.text()
		}
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[%s]}`, kind, version,
			s.version, items)
	case r.Method == http.MethodPatch:
		body, err := io.ReadAll(r.Body)
		text := ""
		if err == nil && s.serveFeatures(w, r, body) {
			return
		}
		if err == nil {
			text, err = s.apply(body)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, text)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		io.Copy(w, r.Body)
	case r.URL.Path == "/version":
		io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

// serveAPI writes the kubeconfig that leads to it.
func serveAPI(kubeconfig string) (*apiServer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &apiServer{version: 1, node: object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "bench",
		"uid": "6f1d3c52-7b0e-4c39-9a55-0d8f2b1e7a64", "labels": object{}}, "spec": object{}, "status": object{}}}
	s.changed = sync.NewCond(&s.mu)
	server := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der},
		PrivateKey: key}}}}
	go server.ServeTLS(listener, "", "")
	ca := kubeconfig + ".ca"
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return s, os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: bench, user: {token: bench}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`, listener.Addr(), ca), 0o600)
}
