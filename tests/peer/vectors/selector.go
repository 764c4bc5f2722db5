package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

var labelSets = []map[string]string{
	{}, {"a": "1"}, {"a": "b"}, {"a": "b", "c": "d"}, {"a": ""}, {"c": "10", "a": "x"}, {"x.io/y": "z"}, {"c": "-5"},
	{"in": "in", "notin": "notin"}, {"a": "c", "b": "b", "c": "c"},
}

func init() {
	// "set", name, value...: the labels that the rows below are tried on. Then: "text" or "json", input,
	// verdict, matches.
	sets["labels"] = func(out *rows) {
		printSets(out)
		for _, in := range selectors {
			labelText(out, in)
		}
		for i := 0; i < 700; i++ {
			labelText(out, randomSelector(out))
		}
		for i := 0; i < 300; i++ {
			labelText(out, out.random("ab1 !=<>(),in/.-", 10))
		}
		for _, in := range labelSelectors {
			labelJSON(out, in)
		}
		for i := 0; i < 150; i++ {
			labelJSON(out, randomLabelSelector(out))
		}
	}
	// As "set" above; then "node", input, verdict, matches: once with the Node's name n1, once with n2.
	sets["nodes"] = func(out *rows) {
		printSets(out)
		for _, in := range nodeSelectors {
			nodeJSON(out, in)
		}
		for i := 0; i < 600; i++ {
			nodeJSON(out, randomNodeSelector(out))
		}
	}
}

var selectors = []string{
	"", " ", "a", "!a", "a=b", "a==b", "a!=b", "a=", "a==", "a!=", "a=b,c=d", "c=d,a=b", "a in (b)", "a in (b,c)", "a in (c,b)",
	"a notin (b)", "a notin (b,c)", "a in ()", "a notin ()", "a in (,)", "a in (,b)", "a in (b,)", "a in (b,,c)", "a in (b,b)",
	"a>1", "a<1", "a > 0", "c>9", "c<11", "c>-6", "a>x", "a>", "a>1,c<5", "c<99999999999999999999", "!a,b", "! a", "a , b", " a = b ",
	"a\t=\nb", "x.io/y=z", "x.io/y in (z)", "/y=z", "x.io/=z", "x.io/y/z", "a in b", "a in (b", "a in b)", "a in (b c)", "a in", "a notin",
	"in", "in in (in)", "notin notin (notin)", "in=in", "a=in", "a=notin", "a b", "a=b c", "a=b=c", "a,,b", ",a", "a,", ",", "a=b,", "!", "!!a",
	"!a=b", "!a in (b)", "a!b", "a!", "a=!b", "(a)", "a()", "a=(b)", "=b", "==b", "!=b", "a===b", "a=>b", "a>=1", "a<=1", "a<>b", "a=-b", "a=b-",
	"a=b.c_d-e", "a=_b", "-a=b", "a-=b", "a_b=c", "A=B", "a=é", "é=a", "a in (b),c notin (d),!e,f",
	"a=0123456789012345678901234567890123456789012345678901234567890123",
	"a=012345678901234567890123456789012345678901234567890123456789012",
	"a0123456789012345678901234567890123456789012345678901234567890123=b", "a=b,a=c", "a in (1,2),a notin (2,3)", "a=b,a", "b,a=c,a=b",
	"c,b,a", "a in(b)", "a in (b)c", "a in (in,notin)", "a=,b", "a in ( b , c )", "a<", "a>1.5", "a>+1", "a>01", "c>09",
	"UPPER.io/y", "x..io/y", "a in (b))", "a in ((b)",
}

func randomSelector(out *rows) string {
	text := ""
	for n := out.rand.Intn(4); n >= 0; n-- {
		key := out.pick("a", "b", "c", "x.io/y", "in", "a")
		switch out.rand.Intn(7) {
		case 0:
			text += out.pick("", "!", "! ") + key
		case 1, 2:
			text += key + out.pick("=", "==", "!=", " = ", " != ") + out.pick("b", "c", "d", "1", "", "z")
		case 3, 4:
			text += key + out.pick(" in ", " notin ") + out.pick("(b)", "(b,c)", "(d, c,b)", "()", "(1,10)", "(,z)")
		case 5:
			text += key + out.pick(">", "<", " > ") + out.pick("0", "1", "9", "-7", "x")
		default:
			text += key + out.random("=!<>, ()b", 3)
		}
		if n > 0 {
			text += out.pick(",", ", ", ",")
		}
	}
	return text
}

var labelSelectors = []string{
	`{}`, `null`, `{"matchLabels":{}}`, `{"matchLabels":{"a":"b"}}`, `{"matchLabels":{"c":"d","a":"b"}}`, `{"matchLabels":{"a":""}}`,
	`{"matchExpressions":[]}`, `{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}`,
	`{"matchExpressions":[{"key":"a","operator":"In","values":["c","b"]}]}`, `{"matchExpressions":[{"key":"a","operator":"In","values":[]}]}`,
	`{"matchExpressions":[{"key":"a","operator":"In"}]}`, `{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]}]}`,
	`{"matchExpressions":[{"key":"a","operator":"Exists"}]}`, `{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}`,
	`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`, `{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}`,
	`{"matchExpressions":[{"key":"a","operator":"","values":["1"]}]}`, `{"matchExpressions":[{"key":"","operator":"Exists"}]}`,
	`{"matchExpressions":[{"key":"a b","operator":"Exists"}]}`, `{"matchLabels":{"a":"b c"}}`, `{"matchLabels":{"":"b"}}`,
	`{"matchLabels":{"c":"d"},"matchExpressions":[{"key":"a","operator":"Exists"}]}`,
	`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In","values":["b","x"]},{"key":"z","operator":"DoesNotExist"}]}`,
	`{"matchExpressions":[{"key":"a","operator":"In","values":["b","b"]}]}`, `{"matchExpressions":[{"key":"a","operator":"In","values":["-"]}]}`,
}

func randomLabelSelector(out *rows) string {
	selector := metav1.LabelSelector{}
	if out.rand.Intn(2) == 0 {
		selector.MatchLabels = map[string]string{out.pick("a", "c", "x.io/y"): out.pick("b", "d", "z", "10", "")}
	}
	for n := out.rand.Intn(3); n > 0; n-- {
		values := []string{}
		for k := out.rand.Intn(3); k > 0; k-- {
			values = append(values, out.pick("b", "c", "d", "10", "z", ""))
		}
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: out.pick("a", "b", "c", "x.io/y"), Values: values,
			Operator: metav1.LabelSelectorOperator(out.pick("In", "NotIn", "Exists", "DoesNotExist"))})
	}
	text, _ := json.Marshal(selector)
	return string(text)
}

func printSets(out *rows) {
	for _, set := range labelSets {
		row := []string{"set"}
		for _, key := range []string{"a", "b", "c", "in", "notin", "x.io/y"} {
			if value, ok := set[key]; ok {
				row = append(row, key, value)
			}
		}
		out.row(row...)
	}
}

func labelText(out *rows, in string) {
	if out.again(in) {
		return
	}
	selector, err := labels.Parse(in)
	if err != nil {
		out.row("text", in, "refused")
		return
	}
	printMatches(out, "text", in, selector)
}

func printMatches(out *rows, kind, in string, selector labels.Selector) {
	matches := []bool{}
	for _, set := range labelSets {
		matches = append(matches, selector.Matches(labels.Set(set)))
	}
	out.row(kind, in, "ok", bits(matches))
}

func labelJSON(out *rows, in string) {
	if out.again(in) {
		return
	}
	var parsed *metav1.LabelSelector
	if err := json.Unmarshal([]byte(in), &parsed); err != nil {
		panic(fmt.Sprint(in, err))
	}
	selector, err := metav1.LabelSelectorAsSelector(parsed)
	if err != nil {
		out.row("json", in, "refused")
		return
	}
	printMatches(out, "json", in, selector)
}

var nodeSelectors = []string{
	`null`, `{}`, `{"nodeSelectorTerms":[]}`, `{"nodeSelectorTerms":[{}]}`, `{"nodeSelectorTerms":[{"matchExpressions":[],"matchFields":[]}]}`,
	`{"nodeSelectorTerms":[{},{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a b","operator":"Exists"}]},{"matchExpressions":[{"key":"c","operator":"Exists"}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"c","operator":"Gt","values":["9"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"c","operator":"Lt","values":["9"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"c","operator":"Gt","values":["x"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"c","operator":"Gt","values":["1","2"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n1"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1","n2"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"Exists"}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.uid","operator":"In","values":["n1"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.uid","operator":"NotIn","values":["n1"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.uid","operator":"In","values":[""]}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Is","values":["b"]}]}]}`,
	`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"","values":["b"]}]}]}`,
}

// Values as the operator wants them, but one time in ten.
func randomRequirement(out *rows, key, operator string, texts []string) v1.NodeSelectorRequirement {
	n, values := 1, []string{}
	switch operator {
	case "Exists", "DoesNotExist":
		n = 0
	case "Gt", "Lt":
		texts = []string{"10", "9", "-6", "0"}
	}
	if out.rand.Intn(10) == 0 {
		n, texts = out.rand.Intn(3), []string{"b", "/", "1", ""}
	}
	for ; n > 0; n-- {
		values = append(values, out.pick(texts...))
	}
	return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOperator(operator), Values: values}
}

func randomNodeSelector(out *rows) string {
	selector := v1.NodeSelector{}
	for n := 1 + out.rand.Intn(3); n > 0; n-- {
		term := v1.NodeSelectorTerm{}
		for k := out.rand.Intn(3); k > 0; k-- {
			term.MatchExpressions = append(term.MatchExpressions, randomRequirement(out, out.pick("a", "b", "c", "x.io/y", "in"),
				out.pick("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), []string{"b", "c", "d", "10", "z", ""}))
		}
		for k := out.rand.Intn(4) / 2; k > 0; k-- {
			term.MatchFields = append(term.MatchFields, randomRequirement(out,
				out.pick("metadata.name", "metadata.name", "metadata.name", "metadata.uid", ""), out.pick("In", "NotIn"), []string{"n1", "n1", "n2", ""}))
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	text, _ := json.Marshal(selector)
	return string(text)
}

func nodeJSON(out *rows, in string) {
	if out.again(in) {
		return
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}}}
	required := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if err := json.Unmarshal([]byte(in), required); err != nil {
		panic(fmt.Sprint(in, err))
	}
	var err error
	if *required != nil {
		_, err = nodeaffinity.NewNodeSelector(*required)
	}
	affinity, matches := nodeaffinity.GetRequiredNodeAffinity(pod), []bool{}
	for _, name := range []string{"n1", "n2"} {
		for _, set := range labelSets {
			match, _ := affinity.Match(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set}})
			matches = append(matches, match)
		}
	}
	out.row("node", in, verdict(err), bits(matches))
}
