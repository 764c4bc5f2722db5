// Package conformance asks the real API server the table of tests/conformance, twice, and compares.
package conformance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead/tests/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// options leave out what belongs to clusters: service accounts in Pods, and the controllers that would change
// objects of the cases.
var options = cluster.Options{Controllers: true, Flags: map[string][]string{
	"kube-apiserver": {"--disable-admission-plugins=ServiceAccount"},
	"kube-controller-manager": {"--controllers=-ttl-controller,-node-lifecycle-controller," +
		"-taint-eviction-controller,-daemonset-controller,-resourceclaim-controller,-root-ca-certificate-publisher-controller"},
}}

const table = "../../conformance"

// judge builds the program that asks.
func judge(t *testing.T) string {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "../../peer/build", "../conformance").Output()
	cluster.Must(t, err)
	return strings.TrimSpace(string(path))
}

// TestAnswersAsTheRealAPIServer has a test for each case of the table.
func TestAnswersAsTheRealAPIServer(t *testing.T) {
	c := cluster.ForTest(t, options)
	args := []string{"-real", c.Config.Host, "-pki", filepath.Join(c.Dir(), "pki"), "-hooks", c.LAN.Address, "-table", table,
		"-memory", filepath.Join(cluster.CacheDir(), "conformance.json")}
	cmd := c.Command(t.Context(), judge(t), args...)
	out, err := cmd.StdoutPipe()
	cluster.Must(t, err)
	cmd.Stderr = os.Stderr
	cluster.Must(t, cmd.Start())
	failed := report(t, out)
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !(errors.As(err, &ended) && failed) {
		t.Fatal(err)
	}
}

// report makes a test of each line of TAP.
func report(t *testing.T, out io.Reader) (failed bool) {
	t.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	sentence, wrong, planned := "", []string{}, false
	flush := func() {
		if sentence != "" {
			t.Run(sentence, func(t *testing.T) {
				if wrong != nil {
					t.Error(strings.Join(wrong, "\n"))
				}
			})
		}
		sentence, wrong = "", nil
	}
	for lines.Scan() {
		line := lines.Text()
		result, text, _ := strings.Cut(line, " - ")
		switch {
		case strings.HasPrefix(line, "#"):
			wrong = append(wrong, strings.TrimPrefix(line, "# "))
		case strings.HasPrefix(line, "1.."):
			planned = true
		case strings.HasPrefix(result, "ok "):
			flush()
			sentence = text
		case strings.HasPrefix(result, "not ok "):
			flush()
			sentence, wrong, failed = text, []string{}, true
		default:
			t.Error(line)
		}
	}
	flush()
	if !planned {
		t.Error("the program judged nothing")
	}
	return failed
}
