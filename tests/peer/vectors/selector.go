package main

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

var labelSets = []map[string]string{
	{}, {"a": "1"}, {"a": "b"}, {"a": "b", "c": "d"}, {"a": ""}, {"c": "10", "a": "x"}, {"x.io/y": "z"}, {"c": "-5"},
	{"in": "in", "notin": "notin"}, {"a": "c", "b": "b", "c": "c"},
}

func init() {
	// "set", name, value...: the labels that the rows below are tried on. Then: "text", input, verdict, canonical text,
	// matches; "json", input, verdict, canonical text, matches.
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
	sets["fields"] = func(out *rows) {
		printSets(out)
		for _, in := range fieldSelectors {
			fieldText(out, in)
		}
		for i := 0; i < 400; i++ {
			fieldText(out, out.random(`ab1,=!\ .`, 12))
		}
		for i := 0; i < 200; i++ {
			fieldText(out, out.pick("a", "metadata.name", "x.io/y", "c")+out.pick("=", "==", "!=")+
				out.pick("b", "1", "", `\,`, `x\=y`, "10")+out.pick("", ",", ",c!=d", ",c=10", ",a=x"))
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
	if !sorted(selector) {
		return
	}
	printMatches(out, "text", in, selector)
}

// Go sorts requirements by key; only up to twelve of them are sorted in a stable way, as C sorts any number.
func sorted(selector labels.Selector) bool {
	requirements, _ := selector.Requirements()
	return len(requirements) <= 12
}

func printMatches(out *rows, kind, in string, selector labels.Selector) {
	matches := []bool{}
	for _, set := range labelSets {
		matches = append(matches, selector.Matches(labels.Set(set)))
	}
	out.row(kind, in, "ok", selector.String(), bits(matches))
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

var fieldSelectors = []string{
	"", ",", "a=b", "a==b", "a!=b", "a=", "a", "=b", "!=b", "a=b,c=d", "c=d,a=b", "c!=d,a=b", "a=b=c", `a=b\=c`, `a=b\,c`, `a=b\\c`, `a=b\c`,
	`a=b\`, `a\=b=c`, "a=b,", ",a=b", "a=b,,c=d", "metadata.name=x", "metadata.namespace!=y,metadata.name=x", "a = b", " a=b", "a=b ", "a!b", "a!",
	"!a", "a===b", "a!==b", "a=!b", "a=b!=c", "status.phase==Running", "a=é", "é=b", "x.io/y=z", "a!=1,a!=b,c=10",
	"spec.nodeName=node-1,status.phase!=Succeeded,status.phase!=Failed",
}

func fieldText(out *rows, in string) {
	if out.again(in) {
		return
	}
	selector, err := fields.ParseSelector(in)
	if err != nil {
		out.row("text", in, "refused")
		return
	}
	matches := []bool{}
	for _, set := range labelSets {
		matches = append(matches, selector.Matches(fields.Set(set)))
	}
	out.row("text", in, "ok", selector.String(), bits(matches))
}
