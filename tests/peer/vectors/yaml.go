package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

func init() {
	// input, verdict, JSON
	sets["yaml"] = func(out *rows) {
		for _, word := range words {
			fromYAML(out, "a: "+word+"\n")
			fromYAML(out, word+": 1\n")
			fromYAML(out, "- "+word+"\n")
		}
		for _, in := range documents {
			fromYAML(out, in)
		}
		for i := 0; i < 500; i++ {
			fromYAML(out, "a: "+out.random("0123456789abcdefxob_.+-eE", 7)+"\n")
			fromYAML(out, out.random("0189_.+-eEx", 6)+": 1\n")
		}
		for i := 0; i < 300; i++ {
			fromYAML(out, randomYAML(out, 0, 0))
		}
	}
	// JSON, YAML
	sets["yaml_print"] = func(out *rows) {
		for _, word := range append(words, printed...) {
			toYAML(out, map[string]any{"a": word})
			toYAML(out, map[string]any{word: 1})
			toYAML(out, []any{word})
		}
		for _, f := range numbers {
			toYAML(out, map[string]any{"f": f})
		}
		for i := 0; i < 300; i++ {
			toYAML(out, out.random("ab 0-:#,[]{}&*!|>'\"%@`\n\t?.y~=<\\", 12))
			toYAML(out, map[string]any{randomName(out): 1, randomName(out): []any{}, randomName(out): map[string]any{}})
		}
		for i := 0; i < 200; i++ {
			toYAML(out, randomValue(out, 0))
		}
	}
}

var words = []string{
	"y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "true", "True", "TRUE", "tRue", "false", "False", "FALSE",
	"null", "Null", "NULL", "nULL", "~", "", "010", "0o10", "0x1F", "0X1f", "0b101", "-0b101", "+0b1", "0b", "0b2", "08", "09.5", "00", "0", "-0", "+0", "-1", "+1", "1_000",
	"_1", "1_", "1__0", "0x_1", "0_8", "1.20", "1.", ".5", "-.5", "+.5", "._5", ".5_0", "1e3", "1E3", "1e+3", "1e-3", "1e", "e3", ".e3", "1.5e3", "-1.5E-3", "1e400", "1e-400",
	".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", ".nan", ".NaN", ".NAN", "inf", "nan", "Infinity", ".", "..", "...", "-", "--", "+", "2001-01-01", "2001-1-1", "2001-01-01T00:00:00Z",
	"2001-01-01 00:00:00", "2001-01-01t00:00:00z", "2001-13-99", "190:20:30", "1:30", "12:30:45.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"-9223372036854775809", "18446744073709551615", "18446744073709551616", "0xFFFFFFFFFFFFFFFF", "0x10000000000000000", "+18446744073709551615", "1000000", "1234567.5", "0.00001",
	"123456.5", "3.14159265358979", "1e6", "0777", "0o777", "0o8", "0x", "0xg", "'010'", "\"yes\"", "'~'", "''", "\"\"", "a b", "1 2", "1a", "v1.2", "1.2.3", "10.0.0.1", "1,000", "12e03",
	"node-1", "nvidia.com/gpu", "=", "<", "a#b", "a: b", "abc", "128Mi", "0.5", "500m", "1_2.3_4", "0b1_0", "-0x10", "+0x10", "-010", "- 1", "0.", "-.inf.", "0e0", "1E400",
	"!!str 123", "!!str yes", "!!str", "!!int 5", "!!int \"0x10\"", "!!int 1.5", "!!int abc", "!!float 1", "!!float 1.5", "!!float 18446744073709551615", "!!float abc", "!!bool yes", "!!bool \"no\"",
	"!!bool 1", "!!null ''", "!!null ~", "!!null a", "!!binary aGVsbG8=", "!!binary \"???\"", "!!timestamp 2001-01-01", "!!timestamp abc", "!foo bar", "! 5", "! \"5\"", "!!float \"1e3\"",
}

var documents = []string{
	"", "\n", "# only a comment\n", "a: 1", "a: 1\nb: 2\n", "- a\n- b\n", "a:\n- b\n- c: d\n  e: f\n", "a:\n  - b\n", "a: [1, 2, {b: c}]\n", "{a: 1, b: [x, y]}\n", "a: |\n  one\n  two\n",
	"a: |-\n  one\n  two\n", "a: |+\n  one\n\n", "a: >\n  one\n  two\n\n  three\n", "a: >-\n  one\n  two\n", "a: |2\n   indented\n", "a: 'it''s'\n", "a: \"\\u00e9\\n\\t\\x41\"\n", "a: one\n  two\n  three\n",
	"a: \"one\n  two\"\n", "a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "true: a\nyes: b\n", "a: &x 1\nb: *x\n", "a: &x {c: d}\nb: *x\nc: [*x, *x]\n", "a: &x [1]\nb: &x [2]\nc: *x\n", "a: *x\n",
	"a: &x [*x]\n", "&x a: 1\n", "a: b: c\n", "a:\n\t- b\n", "\ta: b\n", "a: 'open\n", "a: [1, 2\n", "a: {b\n", "- a\nb: c\n", "a: b\n- c\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: b # comment\n", "a: b#c\n",
	"---\na: 1\n", "---\na: 1\n...\n", "a: 1\n...\n", "? a\n: b\n", "? [a]\n: b\n", "[a]: b\n", "{a: b}: c\n", "a:\n  b:\n    c:\n      d: e\n", "a:\nb:\n", "a: ~\nb: null\n", "-\n- \n", "- - a\n  - b\n- c\n",
	"- a: 1\n  b: 2\n- c\n", "a: !!map {b: c}\n", "a: !!seq [b]\n", "a: !!set {b, c}\n", "a: !foo {b: c}\n", "\"a b\": c\n", "'a': b\n", "a : b\n", "a:b\n", "a: -1\nb: - 1\n", "a: \"\\ud83d\\ude00\"\n", "a: 😀\n", "é: ü\n",
	"a: \"\\0\"\n", "a: \"\\z\"\n", "a: x\x01y\n", "a: \xff\n", "\ufeffa: b\n", "a: b\r\nc: d\r\n", "a: >\r\n  x\r\n  y\r\n", "a: 1\n---\nb: 2\n", "!!str a: b\n", "a: [b, c,]\n", "a: [,]\n", "{a, b}\n", "{a: }\n", "a: {b:c}\n",
	"a: [b: c]\n", "a: [? b : c]\n", "a: \"b\" c\n", "a: 'b'c\n", "a: &x\nb: *x\n", "a: &x\n  - 1\nb: *x\n", "a: |\n", "a: |\n  # not a comment\n", "a: # comment\n  b\n", "5: a\n1.5: b\n1e3: c\n0x10: d\n",
	"1234567.5: a\n", "0.1: a\n", "1e10: a\n", "16777217.0: a\n", ".inf: a\n", "-.inf: a\n", "~: a\n", "null: a\n", ": a\n", "\"\": a\n", "18446744073709551615: a\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: \"1\"}\ndata:\n  k: |\n    line 1\n      line 2\n\n    line 3\n  port: \"8080\"\n",
}

// C refuses merge keys, bytes as names, anchors on names and a second document where one is asked for, and reads what
// begins with a brace as JSON; Go takes them all as YAML.
func refusedInC(in string) bool {
	if strings.HasPrefix(in, "{") && !json.Valid([]byte(in)) {
		return true
	}
	return strings.Contains(in, "<<") || strings.HasPrefix(in, "!!binary") || strings.Contains(in, "&x a:") || strings.Contains(in, "a: 1\n---\nb: 2\n")
}

func fromYAML(out *rows, in string) {
	if out.again(in) || refusedInC(in) {
		return
	}
	text, err := yaml.YAMLToJSONStrict([]byte(in))
	if err != nil {
		out.row(in, "refused")
		return
	}
	out.row(in, "ok", string(text))
}

func randomYAML(out *rows, depth, indent int) string {
	pad := strings.Repeat(" ", indent)
	text := ""
	for n := out.rand.Intn(4); n >= 0; n-- {
		switch out.rand.Intn(4) {
		case 0:
			text += fmt.Sprintf("%skey%d: %s\n", pad, n, words[out.rand.Intn(len(words))])
		case 1:
			text += fmt.Sprintf("%skey%d: [%s, \"%s\"]\n", pad, n, out.pick("1", "yes", "a b", "0x1", "1e3"), out.random("ab 1", 4))
		case 2:
			text += fmt.Sprintf("%skey%d: |\n%s  %s\n%s  x\n", pad, n, pad, out.random("abc: #", 6), pad)
		default:
			if depth < 3 {
				text += fmt.Sprintf("%skey%d:\n%s", pad, n, randomYAML(out, depth+1, indent+2))
			}
		}
	}
	return text
}

var printed = []string{
	"a\nb", "a\nb\n", "a\n", "\n", "\na", " a", "a ", " a\nb", "a \nb", "a\n\nb", "a\tb", "\ta", "a: b", "a:", ":a", "- a", "-a", "? a", "?a", "#a", "a #b", "a#b", "&a", "*a", "!a", "|", ">", "'a'", "\"a\"", "%a", "@a", "`a",
	"[a]", "{a}", "a, b", "a]b", "é", "日本語", "😀", "\u0001", "\u007f", "\ufeff", "a\\b", "it's", "say \"hi\"", "...", "---", "--- a", "a\r\nb", "line one\n  indented\nline three\n",
	strings.Repeat("word ", 40), strings.Repeat("x", 200), strings.Repeat("long words in a row ", 10) + "\nsecond line", "{\"json\":true}", "$(VAR)", "a\u00a0b", "key with spaces", "x:y", "http://a.b/c?d=e&f#g",
	"0b2", "1:2:3", "-", "--a", "yes please", "no", "null ", "0.1.2", "1e", "+1", "2001-01-01x",
}

// Go's order of names is none where a number meets a letter or begins with zero (12 < 1a < 2 < 12).
func randomName(out *rows) string {
	name := out.random("abB-._/", 3)
	if out.rand.Intn(2) == 0 {
		name += fmt.Sprint(1 + out.rand.Intn(200))
	}
	return name
}

func randomValue(out *rows, depth int) any {
	switch n := out.rand.Intn(9); {
	case n < 3 && depth < 4:
		object := map[string]any{}
		for k := out.rand.Intn(4); k > 0; k-- {
			object[out.pick("a", "b10", "b9", "B", "spec", "x-y", "x_y", "7", "1.5")] = randomValue(out, depth+1)
		}
		return object
	case n < 5 && depth < 4:
		list := []any{}
		for k := out.rand.Intn(4); k > 0; k-- {
			list = append(list, randomValue(out, depth+1))
		}
		return list
	case n == 5:
		return out.rand.Intn(1000) - 500
	case n == 6:
		return float64(out.rand.Intn(100000)) / 64
	case n == 7:
		return out.rand.Intn(2) == 0
	default:
		return out.pick(words[out.rand.Intn(len(words))], printed[out.rand.Intn(len(printed))], "plain", "")
	}
}

func toYAML(out *rows, value any) {
	in, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if out.again("print " + string(in)) {
		return
	}
	text, err := yaml.JSONToYAML(in)
	if err != nil {
		return
	}
	out.row(string(in), string(text))
}
