package main

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

func init() {
	// "merge" or "json", document, patch, verdict, result; "diff", before, after, merge patch. The library is the one that
	// the API server uses.
	sets["patch"] = func(out *rows) {
		for _, c := range mergePatches {
			merge(out, c[0], c[1])
		}
		for _, c := range jsonPatches {
			patch(out, c[0], c[1])
		}
		for i := 0; i < 300; i++ {
			merge(out, randomJSON(out, 0), randomJSON(out, 0))
			difference(out, randomJSON(out, 9), randomJSON(out, 9))
			difference(out, `{"a":`+randomJSON(out, 9)+"}", `{"a":`+randomJSON(out, 9)+"}")
			patch(out, randomJSON(out, 0), randomPatch(out))
		}
	}
}

var mergePatches = [][2]string{
	{`{"a":"b"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`}, {`{"a":"b"}`, `{"a":null}`}, {`{"a":"b","b":"c"}`, `{"a":null}`}, {`{"a":["b"]}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`},
	{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`}, {`{"a":[{"b":"c"}]}`, `{"a":[1]}`}, {`{"a":"foo"}`, `{}`}, {`{"e":null}`, `{"a":1}`}, {`{}`, `{"a":{"bb":{"ccc":null}}}`}, {`{"a":{}}`, `{"a":{"b":{"c":1}}}`},
	{`{"a":1}`, `{"a":1}`}, {`{"a":{"b":1}}`, `{"a":{}}`}, {`{"metadata":{"labels":{"a":"1","b":"2"}}}`, `{"metadata":{"labels":{"a":null,"c":"3"}}}`},
}

var jsonPatches = [][2]string{
	{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`}, {`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`}, {`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`},
	{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`}, {`{"baz":"qux"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`},
	{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`}, {`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`},
	{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`}, {`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`},
	{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`}, {`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`}, {`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`},
	{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`}, {`{"a":[1,2]}`, `[{"op":"add","path":"/a/5","value":3}]`}, {`{"a":[1,2]}`, `[{"op":"remove","path":"/a/2"}]`}, {`{"a":1}`, `[{"op":"remove","path":"/b"}]`},
	{`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/c"}]`}, {`{"a":1}`, `[{"op":"test","path":"/a","value":1},{"op":"replace","path":"/a","value":2}]`},
	{`{"a":1}`, `[{"op":"nonsense","path":"/a"}]`}, {`{"a":1}`, `[{"path":"/a","value":1}]`}, {`{"a":1}`, `[{"op":"add","value":1}]`}, {`{"a":1}`, `{"op":"add"}`}, {`{"a":1}`, `[]`}, {`{"a":1}`, `[{"op":"test","path":"/a","value":"1"}]`},
	{`{"a":{"b":[1,{"c":null}]}}`, `[{"op":"test","path":"/a","value":{"b":[1,{"c":null}]}}]`}, {`{"a":1}`, `[{"op":"add","path":"/a","value":null}]`}, {`{"a":1,"b":2}`, `[{"op":"test","path":"/a","value":1},{"op":"remove","path":"/b"},{"op":"test","path":"/a","value":2}]`},
	{`{"metadata":{"resourceVersion":"7"},"spec":{"taints":[{"key":"a"}]}}`, `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/spec/taints/-","value":{"key":"b"}}]`},
}

// At depth 9 flat and without null, which a merge patch cannot say.
func randomJSON(out *rows, depth int) string {
	object := map[string]any{}
	for n := out.rand.Intn(4); n > 0; n-- {
		key := out.pick("a", "b", "c")
		switch k := out.rand.Intn(6); {
		case k == 0 && depth < 3:
			var inner any
			_ = json.Unmarshal([]byte(randomJSON(out, depth+1)), &inner)
			object[key] = inner
		case k == 1:
			object[key] = []any{out.rand.Intn(3), out.pick("x", "y")}
		case k == 2 && depth > 0 && depth < 9:
			object[key] = nil
		case k == 3:
			object[key] = out.rand.Intn(2) == 0
		default:
			object[key] = out.rand.Intn(3)
		}
	}
	text, _ := json.Marshal(object)
	return string(text)
}

// No "replace" and "copy": where there is nothing to replace or copy, the library makes it up; RFC 6902 and C refuse.
func randomPatch(out *rows) string {
	list := []any{}
	for n := 1 + out.rand.Intn(2); n > 0; n-- {
		path := func() string { return out.pick("/a", "/b", "/c", "/a/b", "/a/0", "/a/1", "/b/-", "/b/2", "/a/b/c") }
		list = append(list, map[string]any{"op": out.pick("add", "remove", "test", "move"), "path": path(), "from": path(), "value": out.rand.Intn(3)})
	}
	text, _ := json.Marshal(list)
	return string(text)
}

func merge(out *rows, doc, patch string) {
	result, err := jsonpatch.MergePatch([]byte(doc), []byte(patch))
	if out.again(fmt.Sprint("merge", doc, patch)) {
		return
	}
	out.row("merge", doc, patch, verdict(err), string(result))
}

func difference(out *rows, before, after string) {
	result, err := jsonpatch.CreateMergePatch([]byte(before), []byte(after))
	if err != nil || out.again(fmt.Sprint("diff", before, after)) {
		return
	}
	out.row("diff", before, after, "ok", string(result))
}

func patch(out *rows, doc, text string) {
	if out.again(fmt.Sprint("json", doc, text)) {
		return
	}
	var result []byte
	decoded, err := jsonpatch.DecodePatch([]byte(text))
	if err == nil {
		result, err = decoded.Apply([]byte(doc))
	}
	out.row("json", doc, text, verdict(err), string(result))
}
