// Package conformance asks the real API server and that of src/local the same requests: the table of tests/conformance.
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

// peer builds a program of tests/peer.
func peer(t *testing.T, dir string) string {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "../../peer/build", dir).Output()
	cluster.Must(t, err)
	return strings.TrimSpace(string(path))
}

// runTAP makes a test of each case that a program tells of.
func runTAP(t *testing.T, cmd *cluster.Command) {
	t.Helper()
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

// TestAnswersAsTheRealAPIServer has a test for each case of the table.
func TestAnswersAsTheRealAPIServer(t *testing.T) {
	c := cluster.ForTest(t, options)
	args := []string{"-real", c.Config.Host, "-pki", filepath.Join(c.Dir(), "pki"), "-hooks", c.LAN.Address, "-table", table,
		"-memory", filepath.Join(cluster.CacheDir(), "conformance.json"), "-ours", ours(t)}
	runTAP(t, c.Command(t.Context(), peer(t, "../conformance"), args...))
}

// TestControllersSeeTheSame runs client-go and controller-runtime against the real API server, where `./dev test` runs the same
// cases against ours.
func TestControllersSeeTheSame(t *testing.T) {
	c := cluster.ForTest(t, options)
	runTAP(t, c.Command(t.Context(), peer(t, "api"), c.Kubeconfig()))
}

// ours is the program of our server, from the build folder.
func ours(t *testing.T) string {
	t.Helper()
	build := os.Getenv("FAIRLEAD_BUILD")
	if build == "" {
		build = filepath.Join("..", "..", "..", "build")
	}
	program, err := filepath.Abs(filepath.Join(build, "tests", "local", "apiserver"))
	cluster.Must(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: ./dev build makes it, FAIRLEAD_BUILD names another build folder", err)
	}
	return program
}

// report makes a test of each line of TAP.
func report(t *testing.T, out io.Reader) (failed bool) {
	t.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	sentence, comments, passed, planned := "", []string{}, true, false
	flush := func() {
		if sentence != "" {
			t.Run(sentence, func(t *testing.T) {
				if !passed {
					t.Error(strings.Join(comments, "\n"))
				}
			})
		}
		sentence, comments = "", nil
	}
	for lines.Scan() {
		line := lines.Text()
		result, text, _ := strings.Cut(line, " - ")
		switch {
		case strings.HasPrefix(line, "#"):
			comments = append(comments, strings.TrimPrefix(line, "# "))
		case strings.HasPrefix(line, "1.."):
			planned = true
		case strings.HasPrefix(result, "ok "):
			flush()
			sentence, passed = text, true
		case strings.HasPrefix(result, "not ok "):
			flush()
			sentence, passed, failed = text, false, true
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
