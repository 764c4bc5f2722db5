package kube

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster"
)

const nothingFor = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: nothing}
spec: {type: Limited, limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: nothing}
spec:
  matchingPrecedence: 2
  priorityLevelConfiguration: {name: nothing}
  rules:
  - subjects: [{kind: User, user: {name: greedy}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`

// The API server's own fairness gives this user next to nothing: nothing is lost, it only takes time.
func TestAThrottledClientWaitsAndGoesOn(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	text, err := c.KubeconfigFor("greedy")
	cluster.Must(t, err)
	path := filepath.Join(t.TempDir(), "config")
	cluster.Must(t, writeFile(path, text))
	_, err = c.Kubectl(t.Context(), "create", "clusterrolebinding", "greedy", "--clusterrole=cluster-admin", "--user=greedy")
	cluster.Must(t, err)
	cluster.Must(t, c.Apply(t.Context(), nothingFor))
	// One seat for eight writers: whoever finds it taken is turned away with 429, some of them a few times in a row. They
	// pause a little: one that asked without a breath would keep the others out ten times, after which a call is lost.
	writers := make([]*driver, 8)
	for i := range writers {
		writers[i] = run(t, c, path, "repeat", fmt.Sprint("name=greedy-", i), "every=10", "timeout=120")
	}
	held := false
	for _, d := range writers {
		d.waitFor(0, 3*time.Minute, "done 60")
		for _, line := range d.all() {
			if strings.HasPrefix(line, "failed") {
				t.Errorf("a call was lost: %s", line)
			}
		}
		log, err := os.ReadFile(d.log)
		cluster.Must(t, err)
		held = held || strings.Contains(string(log), "throttled by the API server")
	}
	if !held {
		t.Error("nobody was ever turned away: the test shows nothing")
	}
}

var inline = regexp.MustCompile(`(client-(?:certificate|key))-data: *"?([A-Za-z0-9+/=]+)"?`)

// pair writes the certificate and key of a user into files, and gives the kubeconfig that names them.
func pair(t *testing.T, c *cluster.Cluster, dir, user string, groups ...string) string {
	t.Helper()
	text, err := c.KubeconfigFor(user, groups...)
	cluster.Must(t, err)
	out := string(text)
	for _, match := range inline.FindAllStringSubmatch(out, -1) {
		plain, err := base64.StdEncoding.DecodeString(match[2])
		cluster.Must(t, err)
		cluster.Must(t, os.WriteFile(filepath.Join(dir, match[1]+".new"), plain, 0o600))
		cluster.Must(t, os.Rename(filepath.Join(dir, match[1]+".new"), filepath.Join(dir, match[1])))
		out = strings.Replace(out, match[0], fmt.Sprintf("%s: %s", match[1], match[1]), 1)
	}
	return out
}

// The certificate in its files becomes another one's while the client writes: from the next minute on it is the other one.
func TestACertificateIsRotatedInFlight(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Options{})
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	text := pair(t, c, dir, "first", "system:masters")
	if !strings.Contains(text, "client-certificate: client-certificate") {
		t.Fatalf("the kubeconfig has no inline certificate:\n%s", text)
	}
	cluster.Must(t, writeFile(path, []byte(text)))
	d := run(t, c, path, "repeat", "name=certified", "every=20")
	from := d.waitFor(0, moment, "done 20")
	pair(t, c, dir, "second")
	from = d.waitFor(from, 70*time.Second, "failed denied")
	if !strings.Contains(d.all()[from-1], `User "second" cannot patch resource "configmaps"`) {
		t.Errorf("said %q", d.all()[from-1])
	}
	pair(t, c, dir, "third", "system:masters")
	d.waitFor(from, 70*time.Second, "done")
	for _, line := range d.all() {
		if strings.HasPrefix(line, "failed") && !strings.Contains(line, `User "second"`) {
			t.Errorf("a call was lost: %s", line)
		}
	}
}
