package agent

import (
	"os"
	"testing"

	"fairlead/tests/cluster"
)

// apart is the first node of a cluster that the test has for itself, and the agent there.
func apart(t *testing.T, options cluster.Options) *rig {
	t.Helper()
	c := cluster.NewForTest(t, options)
	r := &rig{t, c, c.Node(1), c.Node(1).Services[0]}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(r.agent.LogFile())
			t.Logf("the agent's log ends:\n%s", tail(string(text), 40))
		}
	})
	return r
}
