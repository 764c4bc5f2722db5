package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// certificate makes a self-signed one for localhost: it is its own CA.
func certificate() (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "peer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func handler(end func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.Proto) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, _ = w.Write(body)
		}
	})
	mux.HandleFunc("/much", func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 1<<20)
		for range 20 {
			_, _ = w.Write(piece)
		}
	})
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) {
		count, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d", count)
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Sum")
		fmt.Fprint(w, "abc")
		w.Header().Set("Sum", "3")
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "abc")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "last")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.URL.RawQuery)
		time.Sleep(time.Duration(ms) * time.Millisecond)
		fmt.Fprint(w, "slow")
	})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "ending")
		go end()
	})
	return mux
}

// serve speaks TLS at SOCKET.addr, and plain at SOCKET. A GET of /end ends the server at SOCKET.addr gracefully, and
// another one comes up at the same place.
func serve(socket string) {
	cert, ca := certificate()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	must(os.WriteFile(socket+".addr", []byte(listener.Addr().String()), 0o600))
	must(os.WriteFile(socket+".ca", ca, 0o600))
	local, err := net.Listen("unix", socket)
	must(err)
	plain := new(http.Protocols)
	plain.SetHTTP1(true)
	plain.SetUnencryptedHTTP2(true)
	go func() { _ = (&http.Server{Handler: handler(func() {}), Protocols: plain}).Serve(local) }()
	address := listener.Addr().String()
	fmt.Println("ready")
	for {
		ended := make(chan struct{})
		server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
		server.Handler = handler(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = server.Shutdown(ctx)
			close(ended)
		})
		_ = server.ServeTLS(listener, "", "")
		// The old one finishes what it has while the new one listens already.
		for {
			if listener, err = net.Listen("tcp", address); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
