package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhichTestsAreAskedFor(t *testing.T) {
	t.Chdir("../..")
	for _, try := range []struct {
		args            []string
		names, packages string
		long            bool
		fails           string
	}{
		{nil, "", "./...", false, ""},
		{[]string{"Reboot", "Churn"}, "Reboot Churn", "./...", false, ""},
		{[]string{"--long"}, "", "./...", true, ""},
		{[]string{"Reboot", "--long", "Churn"}, "Reboot Churn", "./...", true, ""},
		{[]string{"tests/cluster/agent", "kube/"}, "", "./agent ./kube", false, ""},
		{[]string{"tests/cluster/", "Reboot"}, "Reboot", ".", false, ""},
		{[]string{"./crd"}, "", "./crd", false, ""},
		{[]string{"tests/cluster/nobody"}, "", "", false, "no tests are in"},
		{[]string{"--longer"}, "", "", false, "is not understood"},
		{[]string{"Reboot", "-v"}, "", "", false, "is not understood"},
	} {
		to, err := testArgs(try.args)
		if (err != nil) != (try.fails != "") || (err != nil && !strings.Contains(err.Error(), try.fails)) {
			t.Errorf("%q fails with %v, not with %q", try.args, err, try.fails)
		}
		if strings.Join(to.names, " ") != try.names || strings.Join(to.packages, " ") != try.packages || to.long != try.long {
			t.Errorf("%q gives %+v", try.args, to)
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
