package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

const apiServerURL = "https://" + controlAddress + ":6443"

// controlParts describes the servers of the control machine.
func (c *Cluster) controlParts() {
	pki := func(name string) string { return filepath.Join(c.dir, "pki", name) }
	c.Etcd = c.part(c.Control, "etcd", c.dialReady("127.0.0.1:2379"),
		"--data-dir="+filepath.Join(c.dir, "etcd"),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=default=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--log-level=warn")
	c.APIServer = c.part(c.Control, "kube-apiserver", c.apiServerReady,
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0",
		"--advertise-address="+controlAddress,
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+serviceRange,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--shutdown-watch-termination-grace-period=1s", // else it waits a minute for its watchers
		"--client-ca-file="+pki("ca.crt"),
		"--tls-cert-file="+pki("apiserver.crt"),
		"--tls-private-key-file="+pki("apiserver.key"),
		"--kubelet-certificate-authority="+pki("ca.crt"),
		"--kubelet-client-certificate="+pki("admin.crt"),
		"--kubelet-client-key="+pki("admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pki("service-account.pub"),
		"--service-account-signing-key-file="+pki("service-account.key"))
	if !c.options.Controllers {
		// Without the controller manager no namespace ever gets the account that this plugin demands.
		c.APIServer.args = append(c.APIServer.args, "--disable-admission-plugins=ServiceAccount")
	}
	c.APIServer.env = []string{"GOGC=400"} // a fifth less work until it serves, for 115 MB more memory
	c.ControllerManager = c.part(c.Control, "kube-controller-manager", c.healthzReady("10257"),
		"--kubeconfig="+pki("controller-manager.kubeconfig"),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+pki("service-account.key"),
		"--root-ca-file="+pki("ca.crt"),
		"--leader-elect=false",
		"--controllers=*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller",
		"--node-monitor-period=500ms",
		"--node-monitor-grace-period=5s",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--bind-address=127.0.0.1")
	c.Scheduler = c.part(c.Control, "kube-scheduler", c.healthzReady("10259"),
		"--kubeconfig="+pki("scheduler.kubeconfig"),
		"--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--bind-address=127.0.0.1")
}

// part describes one of Kubernetes' servers. The options' own flags come last, so that they win.
func (c *Cluster) part(machine *Machine, program string, ready func() error, args ...string) *Part {
	part := machine.Part(filepath.Join(c.programs, program), args...)
	part.args = append(part.args, c.options.Flags[program]...)
	part.ready = ready
	return part
}

// dialReady is satisfied when something on the control machine accepts connections.
func (c *Cluster) dialReady(address string) func() error {
	return func() error {
		connection, err := c.Control.Dial(context.Background(), address)
		if err == nil {
			connection.Close()
		}
		return err
	}
}

func (c *Cluster) apiServerReady() error {
	return c.Control.answers("https://" + controlAddress + ":6443/readyz")
}

func (c *Cluster) healthzReady(port string) func() error {
	return func() error { return c.Control.answers("https://127.0.0.1:" + port + "/healthz") }
}

// Dial opens a TCP connection from inside the machine to an address like 10.77.0.2:6443.
func (m *Machine) Dial(ctx context.Context, address string) (connection net.Conn, err error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	err = namespaces{net: m.netFile()}.do(func() (err error) {
		connection, err = dialer.DialContext(ctx, "tcp", address)
		return err
	})
	return connection, err
}

// answers tells whether an HTTP or HTTPS address of the machine answers 200.
func (m *Machine) answers(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := m.prober().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return err
}

// prober is one client a machine, since a handshake for every question would slow down who is to answer.
func (m *Machine) prober() *http.Client {
	m.probing.Do(func() {
		m.probe = &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // who answers is not the question here
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return m.Dial(ctx, address)
			},
		}}
	})
	return m.probe
}

// makeCertificates writes all keys, certificates and kubeconfigs of the control machine.
func (c *Cluster) makeCertificates() error {
	var err error
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	pki := filepath.Join(c.dir, "pki")
	private, public, err := newServiceAccountKey()
	if err != nil {
		return err
	}
	server, err := c.authority.issue("kube-apiserver", nil, "localhost", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "127.0.0.1", controlAddress, serviceAddress)
	if err != nil {
		return err
	}
	admin, err := c.authority.issue("admin", []string{"system:masters"})
	if err != nil {
		return err
	}
	c.admin = admin
	return errors.Join(
		writeSecret(filepath.Join(pki, "ca.crt"), c.authority.pem),
		writeSecret(filepath.Join(pki, "service-account.key"), private),
		writeSecret(filepath.Join(pki, "service-account.pub"), public),
		server.write(pki, "apiserver"),
		admin.write(pki, "admin"),
		writeSecret(c.insideKubeconfig(), c.authority.kubeconfig(apiServerURL, admin)),
		c.writeKubeconfig(filepath.Join(pki, "controller-manager.kubeconfig"), "system:kube-controller-manager"),
		c.writeKubeconfig(filepath.Join(pki, "scheduler.kubeconfig"), "system:kube-scheduler"))
}

// KubeconfigFor returns a kubeconfig for any user, valid inside the test network, nodes included.
func (c *Cluster) KubeconfigFor(user string, groups ...string) ([]byte, error) {
	who, err := c.authority.issue(user, groups)
	if err != nil {
		return nil, err
	}
	return c.authority.kubeconfig(apiServerURL, who), nil
}

func (c *Cluster) writeKubeconfig(path, user string, groups ...string) error {
	text, err := c.KubeconfigFor(user, groups...)
	if err != nil {
		return err
	}
	return writeSecret(path, text)
}
