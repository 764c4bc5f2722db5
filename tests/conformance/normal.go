package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plain is an answer without what must differ from server to server, as JSON made of it is compared and kept.
type plain struct {
	Status  int
	Headers map[string]string `json:",omitempty"`
	Body    any
}

// normal puts tokens for what must differ: uids by their first appearance, versions of objects by their order, moments,
// generated ends of names, positions in lists, the addresses of webhooks and the case's namespace.
type normal struct {
	space    string
	hook     string
	versions []uint64          // of objects, ascending
	uids     map[string]string // token by uid
	prefixes []string          // generateName of the requests
	names    []string          // generated ones that were seen
}

func normalise(answers []answer, c *testCase, space, hook string) []plain {
	n := &normal{space: space, hook: hook, uids: map[string]string{}}
	for _, each := range c.steps {
		for _, found := range generateName.FindAllStringSubmatch(each.body, -1) {
			n.prefixes = append(n.prefixes, found[1])
		}
	}
	for _, each := range answers {
		n.collect(each.body)
	}
	slices.Sort(n.versions)
	n.versions = slices.Compact(n.versions)
	var out []plain
	for _, each := range answers {
		p := plain{Status: each.status, Headers: map[string]string{}, Body: n.value(each.body, "")}
		for name, value := range each.headers {
			p.Headers[name] = n.text(value, "")
		}
		out = append(out, p)
	}
	return out
}

// eachObject calls f for every object with metadata in a value; list tells of lists and bookmarks, whose version is one
// of the whole store.
func eachObject(value any, bookmark bool, f func(object, meta map[string]any, list bool)) {
	switch in := value.(type) {
	case map[string]any:
		_, isList := in["items"]
		if meta, ok := in["metadata"].(map[string]any); ok {
			f(in, meta, isList || bookmark)
		}
		for _, name := range slices.Sorted(maps.Keys(in)) {
			eachObject(in[name], in["type"] == "BOOKMARK", f)
		}
	case []any:
		for _, each := range in {
			eachObject(each, false, f)
		}
	}
}

// collect finds the versions of objects and the generated names, and gives the lists' versions another name.
func (n *normal) collect(body any) {
	eachObject(body, false, func(_, meta map[string]any, list bool) {
		version, isText := meta["resourceVersion"].(string)
		number, err := strconv.ParseUint(version, 10, 64)
		switch {
		case !isText || err != nil:
		case list:
			meta["resourceVersion"] = "at " + version
		default:
			n.versions = append(n.versions, number)
		}
	})
}

var (
	generateName = regexp.MustCompile(`"generateName":"([^"]+)"`)
	uuid         = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment       = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	tooOld       = regexp.MustCompile(`(too old resource version: )\d+ \(\d+\)`)
	inMessage    = regexp.MustCompile(`(ResourceVersion in (?:the )?(?:precondition|object meta|record)(?:: | \()|resourceVersion\\*":\\*")(\d+)`)
	tooLarge     = regexp.MustCompile(`(Too large resource version: \d+, current: )\d+`)
)

func (n *normal) value(value any, at string) any {
	switch in := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[n.text(name, "")] = n.value(in[name], name)
		}
		if message, ok := in["message"].(string); ok {
			out["message"] = n.text(withoutCauses(message, in["details"]), "")
		}
		return out
	case []any:
		out := make([]any, 0, len(in))
		for _, each := range in {
			out = append(out, n.value(each, ""))
		}
		switch at {
		case "managedFields": // by time in the API server, whose clock ticks in seconds
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(managerOf(a), managerOf(b)) })
		case "causes": // in the order of a hash map in the API server
			slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(textOf(a), textOf(b)) })
		}
		return out
	case string:
		return n.text(in, at)
	default:
		return value
	}
}

// withoutCauses puts a token for each cause in the message of a Status, as they come in the order of a hash map.
func withoutCauses(message string, details any) string {
	in, _ := details.(map[string]any)
	causes, _ := in["causes"].([]any)
	if len(causes) < 2 {
		return message
	}
	for _, each := range causes {
		cause, _ := each.(map[string]any)
		message = strings.ReplaceAll(message, fmt.Sprintf("%v: %v", cause["field"], cause["message"]), "CAUSE")
	}
	return message
}

// orderResources puts the resources of a version in the order of their names: the API server has them in that of a hash map.
// What was kept of an earlier run is in that order too.
func orderResources(body any) {
	in, _ := body.(map[string]any)
	if list, ok := in["resources"].([]any); ok && in["kind"] == "APIResourceList" {
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(resourceName(a), resourceName(b)) })
	}
}

func resourceName(value any) string {
	in, _ := value.(map[string]any)
	return fmt.Sprint(in["name"])
}

func textOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func managerOf(entry any) string {
	in, _ := entry.(map[string]any)
	return fmt.Sprint(in["manager"], in["operation"], in["subresource"], in["apiVersion"])
}

func (n *normal) text(text, at string) string {
	switch {
	case at == "resourceVersion":
		return n.version(text)
	case (at == "continue" || at == "storageVersionHash") && text != "":
		return "some " + at
	}
	text = uuid.ReplaceAllStringFunc(text, func(uid string) string {
		if n.uids[uid] == "" {
			n.uids[uid] = fmt.Sprintf("uid-%d", len(n.uids)+1)
		}
		return n.uids[uid]
	})
	text = moment.ReplaceAllStringFunc(text, func(when string) string {
		// One of another day comes from the table.
		if then, err := time.Parse(time.RFC3339Nano, when); err != nil || time.Since(then).Abs() > time.Hour {
			return when
		}
		return "now" + strings.Repeat("-exactly", strings.Count(when, "."))
	})
	for _, prefix := range n.prefixes {
		text = n.generated(text, prefix)
	}
	text = tooOld.ReplaceAllString(text, "${1}N (N)")
	text = tooLarge.ReplaceAllString(text, "${1}N")
	text = inMessage.ReplaceAllStringFunc(text, func(found string) string {
		part := inMessage.FindStringSubmatch(found)
		return part[1] + n.version(part[2])
	})
	if n.hook != "" {
		text = strings.ReplaceAll(text, n.hook, "HOOK")
	}
	return strings.ReplaceAll(text, n.space, "SPACE")
}

// generated gives names that the API server made of a prefix their number.
func (n *normal) generated(text, prefix string) string {
	made := regexp.MustCompile(regexp.QuoteMeta(prefix) + `[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	return made.ReplaceAllStringFunc(text, func(name string) string {
		at := slices.Index(n.names, name)
		if at < 0 {
			at, n.names = len(n.names), append(n.names, name)
		}
		return fmt.Sprintf("%sgenerated-%d", prefix, at+1)
	})
}

// version is the place of an object's version among those of the case. That of a list is the newest which it holds.
func (n *normal) version(text string) string {
	digits, list := strings.CutPrefix(text, "at ")
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return text
	}
	if number == 0 {
		return "zero"
	}
	at, exact := slices.BinarySearch(n.versions, number)
	switch {
	case list && exact:
		return fmt.Sprintf("up to version-%d", at+1)
	case list:
		return fmt.Sprintf("up to version-%d", at)
	case exact:
		return fmt.Sprintf("version-%d", at+1)
	default:
		return text
	}
}
