package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheLongFormsAreAskedForByAnOption(t *testing.T) {
	for _, try := range []struct {
		args  []string
		names string
		long  bool
		fails bool
	}{
		{nil, "", false, false},
		{[]string{"Reboot", "Churn"}, "Reboot Churn", false, false},
		{[]string{"--long"}, "", true, false},
		{[]string{"Reboot", "--long", "Churn"}, "Reboot Churn", true, false},
		{[]string{"--longer"}, "", false, true},
		{[]string{"Reboot", "-v"}, "", false, true},
	} {
		names, long, err := testArgs(try.args)
		if strings.Join(names, " ") != try.names || long != try.long || (err != nil) != try.fails {
			t.Errorf("%q gives %q, long=%v, %v", try.args, names, long, err)
		}
	}
}

func TestResultsAreCounted(t *testing.T) {
	for _, try := range []struct {
		name   string
		events string
		want   results
		says   string
	}{
		{"a pass and a skip", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"no root here\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}`, results{1, 0, 1}, "no root here"},
		{"subtests count, their group does not", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"output","Package":"p","Test":"TestA/y","Output":"y broke\n"}
{"Action":"fail","Package":"p","Test":"TestA/y"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, results{1, 1, 0}, "y broke"},
		{"a group that fails by itself counts", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, results{1, 1, 0}, "FAIL TestA "},
		{"a package that breaks counts", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"panic: sunk\n"}
{"Action":"fail","Package":"p"}`, results{1, 1, 0}, "panic: sunk"},
		{"one package's failure does not hide another's", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"q"}`, results{0, 2, 0}, "package q"},
	} {
		t.Run(try.name, func(t *testing.T) {
			var out bytes.Buffer
			got := readResults(strings.NewReader(strings.TrimSpace(try.events)), &out)
			if got != try.want || !strings.Contains(out.String(), try.says) {
				t.Errorf("counted %+v, not %+v, and printed\n%s", got, try.want, out.String())
			}
		})
	}
}
