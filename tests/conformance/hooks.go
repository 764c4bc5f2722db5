package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"
)

// hooks is a server of webhooks. What one does, its path tells.
type hooks struct {
	port     string
	caBundle string // base64 of PEM, as a configuration wants it
}

type object = map[string]any

// serveHooks serves on all addresses of this machine; its certificate is good for loopback and for address.
func serveHooks(address string) (*hooks, error) {
	certificate, authority, err := newCertificate(net.ParseIP("127.0.0.1"), net.ParseIP(address))
	if err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", ":0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	// Handshakes that the API server breaks off are its affair.
	serving := &http.Server{Handler: http.HandlerFunc(answerReview), ErrorLog: log.New(io.Discard, "", 0)}
	go serving.Serve(listener)
	return &hooks{port, base64.StdEncoding.EncodeToString(authority)}, nil
}

// newCertificate makes a certificate that is its own authority.
func newCertificate(addresses ...net.IP) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhook"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return own, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func answerReview(w http.ResponseWriter, r *http.Request) {
	var review struct{ Request object }
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kind, more, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	response := object{"uid": review.Request["uid"], "allowed": true}
	switch kind {
	case "allow":
	case "deny": // with all that a denial may carry
		response["allowed"] = false
		response["status"] = object{"code": 403, "reason": "Forbidden", "message": "not on my watch",
			"details": object{"causes": []any{object{"reason": "FieldValueInvalid", "field": "spec.size", "message": "too small"}}}}
	case "deny-code":
		response["allowed"], response["status"] = false, object{"code": 418, "message": "short and stout"}
	case "deny-silently":
		response["allowed"] = false
	case "warn":
		response["warnings"] = []any{"mind the gap", "and the step"}
	case "add": // to the annotation "order", each time that it is asked
		patch(response, addWord(review.Request, more)...)
	case "once":
		if !strings.Contains(word(review.Request), more) {
			patch(response, addWord(review.Request, more)...)
		}
	case "size":
		patch(response, object{"op": "add", "path": "/spec/size", "value": json.Number(more)})
	case "unknown-field":
		patch(response, object{"op": "add", "path": "/spec/nonsense", "value": 1})
	case "bad-patch":
		patch(response, object{"op": "remove", "path": "/spec/nothing"})
	case "bad-type":
		patch(response, object{"op": "add", "path": "/spec/size", "value": 1})
		response["patchType"] = "Merge"
	case "echo": // refuses with what it was asked
		response["allowed"], response["status"] = false, object{"message": echo(review.Request)}
	case "stranger":
		response["uid"] = "another"
	case "empty":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`)
		return
	case "text":
		io.WriteString(w, "hello")
		return
	case "slow":
		<-r.Context().Done()
		return
	default:
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

func patch(response object, operations ...any) {
	text, err := json.Marshal(operations)
	if err == nil {
		response["patchType"], response["patch"] = "JSONPatch", text
	}
}

func annotations(request object) object {
	in, _ := request["object"].(object)
	meta, _ := in["metadata"].(object)
	all, _ := meta["annotations"].(object)
	return all
}

// word is the annotation "order" so far.
func word(request object) string {
	text, _ := annotations(request)["order"].(string)
	return text
}

func addWord(request object, more string) (operations []any) {
	if annotations(request) == nil {
		operations = append(operations, object{"op": "add", "path": "/metadata/annotations", "value": object{}})
	}
	return append(operations, object{"op": "add", "path": "/metadata/annotations/order", "value": word(request) + more})
}

// echo is what of a request does not depend on who asks.
func echo(request object) string {
	said := object{}
	for _, name := range []string{"kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource", "name",
		"namespace", "operation", "dryRun", "options"} {
		if value, ok := request[name]; ok {
			said[name] = value
		}
	}
	for _, name := range []string{"object", "oldObject"} {
		if in, ok := request[name].(object); ok {
			meta, _ := in["metadata"].(object)
			said[name] = object{"kind": in["kind"], "apiVersion": in["apiVersion"], "spec": in["spec"], "status": in["status"],
				"name": meta["name"], "generation": meta["generation"], "uid": meta["uid"] != nil, "managed": meta["managedFields"] != nil}
		}
	}
	text, _ := json.Marshal(said)
	return string(text)
}
