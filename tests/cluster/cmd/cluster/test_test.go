package main

import (
	"bytes"
	"slices"
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
			got := readResults(strings.NewReader(strings.TrimSpace(try.events)), &out).results
			if got != try.want || !strings.Contains(out.String(), try.says) {
				t.Errorf("counted %+v, not %+v, and printed\n%s", got, try.want, out.String())
			}
		})
	}
}

func TestPackagesAreCutIntoShards(t *testing.T) {
	for _, try := range []struct {
		name  string
		tests string
		known map[string]float64
		want  string
	}{
		{"a short package is one", "A B C", map[string]float64{"p A": 1, "p B": 2, "p C": 3}, "A B C"},
		{"a long one is cut into equal parts, in order", "A B C D", map[string]float64{"p A": 100, "p B": 100, "p C": 100, "p D": 100}, "A B|C D"},
		{"one long test is a shard, and the rest another", "A B C", map[string]float64{"p A": 300, "p B": 1, "p C": 1}, "A|B C"},
		{"what was never run counts as short", "A B C", nil, "A B C"},
		{"another package's times are not this one's", "A B", map[string]float64{"q A": 1000, "q B": 1000}, "A B"},
	} {
		var cut []string
		for _, one := range (&testPackage{ImportPath: "p", tests: strings.Fields(try.tests)}).shards(try.known) {
			cut = append(cut, strings.Join(one.tests, " "))
		}
		if got := strings.Join(cut, "|"); got != try.want {
			t.Errorf("%s: %s, not %s", try.name, got, try.want)
		}
	}
}

func TestTestsAreChosenByParts(t *testing.T) {
	packages := func() []*testPackage {
		return []*testPackage{{ImportPath: "p", tests: []string{"TestReboot", "TestChurn"}}, {ImportPath: "q", tests: []string{"TestTwoReboots"}}}
	}
	for _, try := range []struct{ names, want string }{
		{"", "TestReboot TestChurn|TestTwoReboots"}, {"reboot", "TestReboot|TestTwoReboots"}, {"Churn", "TestChurn"},
		{"Churn TwoReboots", "TestChurn|TestTwoReboots"},
	} {
		chosen, err := choosePackages(packages(), strings.Fields(try.names))
		var got []string
		for _, p := range chosen {
			got = append(got, strings.Join(p.tests, " "))
		}
		if err != nil || strings.Join(got, "|") != try.want {
			t.Errorf("%q chooses %q, %v", try.names, got, err)
		}
	}
	if _, err := choosePackages(packages(), []string{"Nobody"}); err == nil || !strings.Contains(err.Error(), "TestTwoReboots") {
		t.Errorf("a name that no test has gives %v", err)
	}
}

// The real packages are listed with all of their tests, as Go itself finds them.
func TestPackagesAreListed(t *testing.T) {
	t.Chdir("../..")
	packages, err := listPackages(t.Context(), []string{"./cmd/cluster"})
	if err != nil || len(packages) != 1 || !slices.Contains(packages[0].tests, t.Name()) {
		t.Errorf("listed %+v, %v", packages, err)
	}
}
