package agent

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fairlead/tests/cluster/gpus"
)

// What ./dev up tells people to type.
func TestSimBreaksAndHealsACard(t *testing.T) {
	r := oneNode(t)
	r.heals()
	program, err := gpus.Program("fairlead")
	r.must(err)
	sim := func(words ...string) (string, int) {
		said, err := exec.Command(program, append([]string{"sim", "--cluster=" + r.c.Name}, words...)...).CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		if ended != nil {
			return string(said), ended.ExitCode()
		}
		return string(said), 0
	}
	for _, row := range []struct {
		says, words, answer string
		status              int
	}{
		{"the GPUs are shown", "show node-1", "gpu 7 GPU-", 0},
		{"a GPU is lost", "lose node-1 2", "", 0},
		{"a GPU that is not there", "lose node-1 99", "no GPU '99'; there are 0 to 7", 1},
		{"a node that is not there", "lose node-7 2", "there is no node 'node-7'; there are node-1", 1},
		{"a word that is none", "explode node-1 2", "is none of: xid, lose, hang", 2},
		{"a word with too little", "xid node-1 2", "fairlead sim xid NODE GPU XID", 2},
		{"a name that leads elsewhere", "lose ../node-1 2", "is no name of a node", 2},
	} {
		said, status := sim(strings.Fields(row.words)...)
		if status != row.status && !(row.status == 2 && status == 1) || !strings.Contains(said, row.answer) {
			t.Errorf("%s: status %d and %q", row.says, status, said)
		}
	}
	r.hasGPUs(7, 8)
	if said, status := sim("heal", "node-1", "2"); status != 0 {
		t.Error(said)
	}
	r.within(time.Minute).hasGPUs(8, 8)
	if said, status := sim("driver", "node-1", "absent"); status != 0 {
		t.Error(said)
	}
	r.hasGPUs(0, 8)
	if said, status := sim("heal", "node-1"); status != 0 {
		t.Error(said)
	}
	r.within(time.Minute).hasGPUs(8, 8)
	said, err := exec.Command(program, "sim", "--cluster=nowhere", "heal", "node-1").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "./dev up starts one") {
		t.Errorf("without a cluster: %v %q", err, said)
	}
}
