package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"golang.org/x/sys/unix"

	"fairlead/tests/cluster"
)

const (
	webhookPort    = "9443"
	webhookTimeout = 10 * time.Second // as the API server's own: a busy machine is no reason for a refusal
)

// authority signs the certificates of the webhooks.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	next int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cluster.Must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	cluster.Must(t, err)
	cert, err := x509.ParseCertificate(der)
	cluster.Must(t, err)
	return &authority{t, cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 1}
}

// issue writes a new certificate and its key, each whole at once, and returns its serial number.
func (a *authority) issue(dir string) int64 {
	a.t.Helper()
	a.next++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cluster.Must(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(a.next), Subject: pkix.Name{CommonName: "webhook"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.ParseIP(lan)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	cluster.Must(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	cluster.Must(a.t, err)
	replace := func(name, kind string, der []byte) {
		file := filepath.Join(dir, name)
		cluster.Must(a.t, os.WriteFile(file+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		cluster.Must(a.t, os.Rename(file+".new", file))
	}
	replace("tls.crt", "CERTIFICATE", der)
	replace("tls.key", "PRIVATE KEY", keyDER)
	return a.next
}

// register tells the API server of a webhook for Lamps.
func register(t *testing.T, c *cluster.Cluster, a *authority, kind, path string, timeout time.Duration) {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: strings.ToLower(kind) + "s"}
	name := strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name},
		"webhooks": []any{map[string]any{
			"name": name + ".test.fairlead.dev", "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": int64(timeout.Seconds()),
			"admissionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"url": "https://" + net.JoinHostPort(lan, webhookPort) + path,
				"caBundle": base64.StdEncoding.EncodeToString(a.pem)},
			"rules": []any{map[string]any{"apiGroups": []any{"test.fairlead.dev"}, "apiVersions": []any{"v1"},
				"operations": []any{"CREATE", "UPDATE"}, "resources": []any{"lamps"}}},
		}},
	}}
	_, err := c.Dynamic.Resource(resource).Create(t.Context(), object, metav1.CreateOptions{})
	cluster.Must(t, err)
	t.Cleanup(func() { c.Dynamic.Resource(resource).Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

func create(c *cluster.Cluster, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	return lamps(c).Create(ctx, object, metav1.CreateOptions{})
}

// shown is the serial number of the certificate that a new connection sees.
func shown(t *testing.T, c *cluster.Cluster) int64 {
	t.Helper()
	plain, err := c.LAN.Dial(t.Context(), net.JoinHostPort(lan, webhookPort))
	cluster.Must(t, err)
	defer plain.Close()
	conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
	cluster.Must(t, conn.HandshakeContext(t.Context()))
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// warnings collects what the API server warns of.
type warnings struct {
	sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, text)
}

func TestAdmission(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	install(t, c)
	makeNode(t, c, "n1")
	ca, dir := newAuthority(t), t.TempDir()
	d := start(t, c, "--webhook-listen", net.JoinHostPort(lan, webhookPort), "--webhook-cert", filepath.Join(dir, "tls.crt"),
		"--webhook-key", filepath.Join(dir, "tls.key"))
	whole := t

	step(t, "without a certificate it is not ready, and says so", func(t *testing.T) {
		d.untilReady(503, "waits for the certificate of the webhooks, "+filepath.Join(dir, "tls.crt"))
	}, &d)
	step(t, "with the certificate it is", func(t *testing.T) {
		ca.issue(dir)
		d.untilReady(200, "ready")
	}, &d)
	step(t, "a Lamp that may be is made", func(t *testing.T) {
		register(whole, c, ca, "ValidatingWebhookConfiguration", "/validate/lamps", webhookTimeout)
		// A registration is known to the API server a moment later.
		until(t, "the first refusal", func() (bool, string) {
			_, err := create(c, lamp("first", "text", "bad"))
			if err == nil {
				lamps(c).Delete(t.Context(), "first", metav1.DeleteOptions{})
			}
			return err != nil, "allowed"
		})
		_, err := create(c, lamp("good", "text", "hello", "node", "n1"))
		cluster.Must(t, err)
	}, &d)
	step(t, "one that makes no sense is refused with code and words", func(t *testing.T) {
		_, err := create(c, lamp("wrong", "text", "bad day"))
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != 422 || status.Status().Reason != metav1.StatusReasonInvalid ||
			!strings.Contains(err.Error(), "spec.text may not begin with 'bad', as 'bad day' does") {
			t.Errorf("it says %v", err)
		}
	}, &d)
	step(t, "one that the cache speaks against is refused", func(t *testing.T) {
		until(t, "the cache", func() (bool, string) { return d.sum("fairlead_cache_objects", "kind=Lamp") > 0, "empty" })
		_, err := create(c, lamp("second", "text", "me too", "node", "n1"))
		if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "Node n1 has a Lamp already: good") {
			t.Errorf("it says %v", err)
		}
	}, &d)
	step(t, "an update is asked about, too", func(t *testing.T) {
		_, err := lamps(c).Apply(t.Context(), "good", lamp("good", "text", "bad", "node", "n1"),
			metav1.ApplyOptions{FieldManager: "person", Force: true})
		if err == nil || !strings.Contains(err.Error(), "may not begin with 'bad'") {
			t.Errorf("it says %v", err)
		}
	}, &d)
	step(t, "a warning reaches who asked", func(t *testing.T) {
		heard := &warnings{}
		config := *c.Config
		config.WarningHandler = heard
		client, err := dynamic.NewForConfig(&config)
		cluster.Must(t, err)
		_, err = client.Resource(lampResource).Namespace("default").Create(t.Context(), lamp("silent"), metav1.CreateOptions{})
		cluster.Must(t, err)
		if len(heard.texts) != 1 || heard.texts[0] != "a Lamp without spec.text says nothing" {
			t.Errorf("warnings: %q", heard.texts)
		}
	}, &d)
	step(t, "a patch is taken over", func(t *testing.T) {
		register(whole, c, ca, "MutatingWebhookConfiguration", "/mutate/lamps", webhookTimeout)
		n := 0
		until(t, "the label", func() (bool, string) {
			n++
			got, err := create(c, lamp(fmt.Sprint("mended-", n), "text", "x"))
			if err != nil {
				return false, err.Error()
			}
			return got.GetLabels()["test.fairlead.dev/seen"] == "yes", fmt.Sprint(got.GetLabels())
		})
	}, &d)
	step(t, "32 at once are answered", func(t *testing.T) {
		var wait sync.WaitGroup
		var failed atomic.Int32
		for i := range 32 {
			wait.Go(func() {
				got, err := create(c, lamp(fmt.Sprint("many-", i), "text", "x"))
				if err != nil || got.GetLabels()["test.fairlead.dev/seen"] != "yes" {
					failed.Add(1)
				}
			})
		}
		wait.Wait()
		if failed.Load() != 0 {
			t.Errorf("%d failed", failed.Load())
		}
	}, &d)
	// The API server insists on HTTP/1.1 for webhooks (kubernetes/kubernetes#75791), so HTTP/2 is spoken by Go itself.
	step(t, "over HTTP/2 32 at once share one connection", func(t *testing.T) {
		var dials atomic.Int32
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca.pem)
		client := &http.Client{Timeout: moment, Transport: &http.Transport{ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: roots},
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				dials.Add(1)
				return c.LAN.Dial(ctx, address)
			}}}
		defer client.CloseIdleConnections()
		review := func(uid string) string {
			body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":%q,`+
				`"operation":"CREATE","namespace":"default","name":"a","resource":{"group":"test.fairlead.dev","version":"v1",`+
				`"resource":"lamps"},"object":{"metadata":{"name":"a"},"spec":{"text":"x"}}}}`, uid)
			reply, err := client.Post("https://"+net.JoinHostPort(lan, webhookPort)+"/validate/lamps", "application/json",
				strings.NewReader(body))
			if err != nil {
				return err.Error()
			}
			defer reply.Body.Close()
			text, _ := io.ReadAll(reply.Body)
			if reply.ProtoMajor != 2 || !strings.Contains(string(text), fmt.Sprintf(`"uid":%q,"allowed":true`, uid)) {
				return fmt.Sprint(reply.Proto, " ", string(text))
			}
			return ""
		}
		if wrong := review("first"); wrong != "" {
			t.Fatal(wrong)
		}
		wrong := make(chan string, 32)
		for i := range 32 {
			go func() { wrong <- review(fmt.Sprint("uid-", i)) }()
		}
		for range 32 {
			if text := <-wrong; text != "" {
				t.Error(text)
			}
		}
		if dials.Load() != 1 {
			t.Errorf("%d connections", dials.Load())
		}
	}, &d)
	step(t, "reviews are counted", func(t *testing.T) {
		if n := d.sum("fairlead_admission_reviews_total", "webhook=/mutate/lamps", "outcome=allowed"); n < 33 {
			t.Errorf("%v", n)
		}
		if n := d.sum("fairlead_admission_reviews_total", "webhook=/validate/lamps", "outcome=denied"); n < 4 {
			t.Errorf("%v", n)
		}
	}, &d)
	step(t, "a certificate that is renewed under load costs no admission", func(t *testing.T) {
		var wait sync.WaitGroup
		var made atomic.Int32
		stop, errs := make(chan struct{}), make(chan error, 1000)
		for worker := range 8 {
			wait.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := create(c, lamp(fmt.Sprint("load-", worker, "-", i), "text", "x")); err != nil {
						errs <- err
						return
					}
					made.Add(1)
				}
			})
		}
		for range 3 {
			before := made.Load()
			serial := ca.issue(dir)
			until(t, "the new certificate", func() (bool, string) { got := shown(t, c); return got == serial, fmt.Sprint(got) })
			until(t, "further Lamps", func() (bool, string) { return made.Load() > before+20, fmt.Sprint(made.Load()) })
		}
		close(stop)
		wait.Wait()
		close(errs)
		for err := range errs {
			t.Errorf("refused: %v", err)
		}
		t.Logf("%d Lamps were made meanwhile", made.Load())
	}, &d)
	step(t, "a certificate that is none leaves the old one in use", func(t *testing.T) {
		serial := shown(t, c)
		cluster.Must(t, os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("nonsense"), 0o600))
		until(t, "a complaint", func() (bool, string) { return strings.Contains(d.said(), "certificate not loaded"), "none" })
		if got := shown(t, c); got != serial {
			t.Errorf("it shows %d", got)
		}
		_, err := create(c, lamp("after", "text", "x"))
		cluster.Must(t, err)
		ca.issue(dir)
	}, &d)
	step(t, "a controller that does not answer costs the webhook's timeout", func(t *testing.T) {
		cluster.Must(t, d.cmd.Process.Signal(unix.SIGSTOP))
		cluster.Must(t, cluster.WaitStopped(d.cmd.Process.Pid))
		defer d.cmd.Process.Signal(unix.SIGCONT)
		began := time.Now()
		_, err := create(c, lamp("late", "text", "x"))
		if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") && !strings.Contains(err.Error(), "timeout") {
			t.Errorf("it says %v", err)
		}
		if took := time.Since(began); took < webhookTimeout*3/4 || took > moment {
			t.Errorf("it took %v", took)
		}
	}, &d)
	step(t, "and the next question is answered", func(t *testing.T) {
		until(t, "an answer", func() (bool, string) {
			_, err := create(c, lamp("next", "text", "x"))
			return err == nil || apierrors.IsAlreadyExists(err), fmt.Sprint(err)
		})
	}, &d)
	step(t, "SIGTERM ends it without a refusal by what was open", func(t *testing.T) {
		if took := d.stop(); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	}, &d)
}
