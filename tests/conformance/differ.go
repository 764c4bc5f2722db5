package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
)

// difference is one field of one answer in which the servers differ.
type difference struct {
	field  string // "2 body.metadata.generation": of the second request
	wanted any
	got    any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: the real API server has %s, ours %s", d.field, shown(d.wanted), shown(d.got))
}

// absent is the value of a field that is not there.
type absent struct{}

func shown(value any) string {
	if _, ok := value.(absent); ok {
		return "nothing"
	}
	text := textOf(value)
	if len(text) > 1500 {
		text = text[:1500] + "…"
	}
	return text
}

// compare finds all fields that differ. Of answers with another status that one is told alone, and a list of another
// length as a whole.
func compare(wanted, got []plain) (all []difference) {
	for i := range wanted {
		if i >= len(got) {
			return append(all, difference{fmt.Sprint(i+1, " status"), wanted[i].Status, absent{}})
		}
		number := fmt.Sprint(i+1, " ")
		if wanted[i].Status != got[i].Status {
			all = append(all, difference{number + "status", told(wanted[i]), told(got[i])})
			continue
		}
		all = append(all, differences(number+"headers", anyMap(wanted[i].Headers), anyMap(got[i].Headers))...)
		all = append(all, differences(number+"body", wanted[i].Body, got[i].Body)...)
	}
	return all
}

// told is an answer in short: its status, and the message of an error.
func told(p plain) string {
	in, _ := p.Body.(map[string]any)
	message, _ := in["message"].(string)
	return strings.TrimSpace(fmt.Sprint(p.Status, " ", message))
}

func anyMap(in map[string]string) any {
	out := map[string]any{}
	for name, value := range in {
		out[name] = value
	}
	return out
}

func differences(field string, wanted, got any) (all []difference) {
	if w, ok := wanted.(map[string]any); ok {
		if g, ok := got.(map[string]any); ok {
			names := slices.Sorted(maps.Keys(w))
			for name := range g {
				if _, ok := w[name]; !ok {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				if name == "caBundle" && isText(w[name]) && isText(g[name]) {
					continue // each run has an authority of its own
				}
				all = append(all, differences(field+"."+name, member(w, name), member(g, name))...)
			}
			return all
		}
	}
	if w, ok := wanted.([]any); ok {
		if g, ok := got.([]any); ok && len(w) == len(g) {
			for i := range w {
				all = append(all, differences(fmt.Sprintf("%s[%d]", field, i), w[i], g[i])...)
			}
			return all
		}
	}
	if !reflect.DeepEqual(wanted, got) {
		all = append(all, difference{field, wanted, got})
	}
	return all
}

func isText(value any) bool {
	text, ok := value.(string)
	return ok && text != ""
}

func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return absent{}
}

// listed is an entry of the list of known differences.
type listed struct {
	line     int
	sentence string // * for any
	field    string // may hold * for any text
	reason   string
	seen     bool
}

// knownDifferences reads the list: a reason begins in the first column, the differences that it explains are indented below.
func knownDifferences(file string) (list []*listed, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reason, between := "", true
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case !strings.HasPrefix(line, "    "):
			if between {
				reason = ""
			}
			reason, between = strings.TrimSpace(reason+" "+line), false
		default:
			sentence, field, ok := strings.Cut(strings.TrimSpace(line), " | ")
			if !ok || reason == "" {
				return nil, fmt.Errorf("%s:%d: not `    SENTENCE | FIELD` below a reason", file, i+1)
			}
			if _, err := path.Match(pattern(field), ""); err != nil {
				return nil, fmt.Errorf("%s:%d: %s: %w", file, i+1, field, err)
			}
			list, between = append(list, &listed{line: i + 1, sentence: sentence, field: field, reason: reason}), true
		}
	}
	return list, nil
}

// prune rewrites the list without these entries, and without reasons that explain nothing any more.
func prune(file string, stale []*listed) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, l := range stale {
		lines[l.line-1] = "\x00"
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "\x00" })
	var kept []string
	for _, block := range strings.Split(strings.Join(lines, "\n"), "\n\n") {
		if strings.HasPrefix(block, "#") || strings.Contains("\n"+block, "\n    ") {
			kept = append(kept, strings.TrimRight(block, "\n"))
		}
	}
	return os.WriteFile(file, []byte(strings.Join(kept, "\n\n")+"\n"), 0o644)
}

// pattern makes brackets and slashes ordinary.
func pattern(field string) string {
	return strings.NewReplacer("/", "\x01", "[", `\[`, "]", `\]`).Replace(field)
}

func (l *listed) matches(sentence, field string) bool {
	ok, _ := path.Match(pattern(l.field), strings.ReplaceAll(field, "/", "\x01"))
	return ok && (l.sentence == sentence || l.sentence == "*")
}

// unlisted keeps the differences that the list does not have, and marks those that it has.
func unlisted(list []*listed, sentence string, all []difference) (left []difference) {
	for _, d := range all {
		known := false
		for _, l := range list {
			if l.matches(sentence, d.field) {
				l.seen, known = true, true
			}
		}
		if !known {
			left = append(left, d)
		}
	}
	return left
}
