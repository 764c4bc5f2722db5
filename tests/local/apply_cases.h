/* apply_cases.h - what kube-apiserver 1.36.3 answered to these requests, one after the other on one object.
 * test_apply.c tells what the members mean. */
#pragma once

static const struct sequence apply_cases[] = {
	{ "a create owns all that it sets and all defaults, with the maps and lists that hold them", {
		{ CREATE, "m", "{spec: {a: 1, o: {x: 1, z: {q: 1}}, m: {k: v}, al: [1], ao: {x: 1}, set: [b,"
		  " a], iset: [10, 9, -1], map: [{k: x, v: 'y'}], pres: {r: {t: [1], u: {}}}, any: [1], ios: 3}, met"
		  "adata: {labels: {l: '1'}, annotations: {an: x}, finalizers: [f.io/x], ownerReferences: [{apiVersi"
		  "on: v1, kind: X, name: x, uid: u-1}]}}",
		  "{spec: {a: 1, al: [1], any: [1], ao: {x: 1}, d: 7, ios: 3, iset: [10, 9, -1], m: {k: v}, map: [{k"
		  ": x, p: 80, v: 'y'}], o: {x: 1, z: {q: 1}}, pres: {r: {t: [1], u: {}}}, set: [b, a]}, metadata: {"
		  "labels: {l: '1'}, annotations: {an: x}, finalizers: [f.io/x], ownerReferences: [{apiVersion: v1, "
		  "kind: X, name: x, uid: u-1}]}}",
		  "m Update {f:metadata: {f:annotations: {.: {}, f:an: {}}, f:finalizers: {.: {}, 'v:\"f.io/x\"': {}"
		  "}, f:labels: {.: {}, f:l: {}}, f:ownerReferences: {.: {}, 'k:{\"uid\":\"u-1\"}': {}}}, f:spec: {."
		  ": {}, f:a: {}, f:al: {}, f:any: {}, f:ao: {}, f:d: {}, f:ios: {}, f:iset: {.: {}, v:-1: {}, v:10:"
		  " {}, v:9: {}}, f:m: {.: {}, f:k: {}}, f:map: {.: {}, 'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:k: {},"
		  " f:p: {}, f:v: {}}}, f:o: {.: {}, f:x: {}, f:z: {.: {}, f:q: {}}}, f:pres: {.: {}, f:r: {.: {}, f"
		  ":t: {}, f:u: {}}}, f:set: {.: {}, 'v:\"a\"': {}, 'v:\"b\"': {}}}}" },
	} },
	{ "an apply owns what its configuration names, and nothing else", {
		{ APPLY, "m", "{spec: {a: 1, o: {x: 1, z: {q: 1}}, m: {k: v}, al: [1], ao: {x: 1}, set: [b,"
		  " a], iset: [10, 9, -1], map: [{k: x, v: 'y'}], pres: {r: {t: [1], u: {}}}, any: [1], ios: 3}, met"
		  "adata: {labels: {l: '1'}, annotations: {an: x}, finalizers: [f.io/x], ownerReferences: [{apiVersi"
		  "on: v1, kind: X, name: x, uid: u-1}]}}",
		  "{spec: {a: 1, al: [1], any: [1], ao: {x: 1}, d: 7, ios: 3, iset: [10, 9, -1], m: {k: v}, map: [{k"
		  ": x, p: 80, v: 'y'}], o: {x: 1, z: {q: 1}}, pres: {r: {t: [1], u: {}}}, set: [b, a]}, metadata: {"
		  "labels: {l: '1'}, annotations: {an: x}, finalizers: [f.io/x], ownerReferences: [{apiVersion: v1, "
		  "kind: X, name: x, uid: u-1}]}}",
		  "m Apply {f:metadata: {f:annotations: {f:an: {}}, f:finalizers: {'v:\"f.io/x\"': {}}, f:labels: {f"
		  ":l: {}}, f:ownerReferences: {'k:{\"uid\":\"u-1\"}': {}}}, f:spec: {f:a: {}, f:al: {}, f:any: {}, "
		  "f:ao: {}, f:ios: {}, f:iset: {v:-1: {}, v:10: {}, v:9: {}}, f:m: {f:k: {}}, f:map: {'k:{\"k\":\"x"
		  "\",\"p\":80}': {.: {}, f:k: {}, f:v: {}}}, f:o: {f:x: {}, f:z: {f:q: {}}}, f:pres: {f:r: {.: {}, "
		  "f:t: {}, f:u: {}}}, f:set: {'v:\"a\"': {}, 'v:\"b\"': {}}}}" },
	} },
	{ "an empty map is owned, an empty list with named items is not", {
		{ APPLY, "m", "{spec: {o: {}, m: {}, al: [], set: [], map: [], ao: {}, pres: {}, any: {}, m"
		  "m: {a: {}}}}",
		  "{spec: {al: [], any: {}, ao: {}, d: 7, m: {}, map: [], mm: {a: {}}, o: {}, pres: {}, set: []}}",
		  "m Apply {f:spec: {f:al: {}, f:any: {}, f:ao: {}, f:m: {}, f:mm: {f:a: {}}, f:o: {}, f:pres: {}}}" },
	} },
	{ "a null that the schema allows is a value", {
		{ APPLY, "m", "{spec: {nul: null, nulo: null}}",
		  "{spec: {d: 7, nul: null, nulo: null}}", "m Apply {f:spec: {f:nul: {}, f:nulo: {}}}" },
	} },
	{ "an empty struct is owned itself", {
		{ APPLY, "m", "{spec: {}}",
		  "{spec: {d: 7}}", "m Apply {f:spec: {}}" },
	} },
	{ "who applies nothing has no entry", {
		{ APPLY, "m", "{}",
		  "{}", "" },
	} },
	{ "what is not applied any more is removed, and a struct that is empty then", {
		{ APPLY, "m", "{spec: {a: 1, b: 2, o: {x: 1, 'y': 2}}}",
		  "{spec: {a: 1, b: 2, d: 7, o: {x: 1, 'y': 2}}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}, f:o: {f:x: {}, f:y: {}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
		{ APPLY, "m", "{}",
		  "{}", "" },
	} },
	{ "a removed field gets its default again", {
		{ APPLY, "m", "{spec: {d: 9, a: 1}}",
		  "{spec: {a: 1, d: 9}}", "m Apply {f:spec: {f:a: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
	} },
	{ "a field stays as long as anybody owns it", {
		{ APPLY, "m", "{spec: {a: 1, b: 2, o: {x: 1}}}",
		  "{spec: {a: 1, b: 2, d: 7, o: {x: 1}}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}, f:o: {f:x: {}}}}" },
		{ APPLY, "n", "{spec: {b: 2, o: {'y': 2}}}",
		  "{spec: {a: 1, b: 2, d: 7, o: {x: 1, 'y': 2}}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}, f:o: {f:x: {}}}}\n"
		  "n Apply {f:spec: {f:b: {}, f:o: {f:y: {}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, b: 2, d: 7, o: {'y': 2}}}",
		  "m Apply {f:spec: {f:a: {}}}\n"
		  "n Apply {f:spec: {f:b: {}, f:o: {f:y: {}}}}" },
		{ APPLY, "n", "{}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
	} },
	{ "another value of a field that another applied is a conflict, unless forced", {
		{ APPLY, "m", "{spec: {a: 1, b: 2}}",
		  "{spec: {a: 1, b: 2, d: 7}}", "m Apply {f:spec: {f:a: {}, f:b: {}}}" },
		{ APPLY, "n", "{spec: {a: 5}}",
		  "Apply failed with 1 conflict: conflict with \"m\": .spec.a", NULL },
		{ APPLY, "n", "{spec: {a: 5, b: 6}}",
		  "Apply failed with 2 conflicts: conflicts with \"m\":\n"
		  "- .spec.a\n"
		  "- .spec.b", NULL },
		{ FORCE, "n", "{spec: {a: 5}}",
		  "{spec: {a: 5, b: 2, d: 7}}",
		  "m Apply {f:spec: {f:b: {}}}\n"
		  "n Apply {f:spec: {f:a: {}}}" },
		{ APPLY, "m", "{spec: {a: 1, b: 2}}",
		  "Apply failed with 1 conflict: conflict with \"n\": .spec.a", NULL },
	} },
	{ "conflicts are told by manager, a place's own fields before those below them", {
		{ APPLY, "m", "{spec: {a: 1, b: 2}}",
		  "{spec: {a: 1, b: 2, d: 7}}", "m Apply {f:spec: {f:a: {}, f:b: {}}}" },
		{ APPLY, "q", "{spec: {s: x, o: {x: 1}}}",
		  "{spec: {a: 1, b: 2, d: 7, o: {x: 1}, s: x}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}}}\n"
		  "q Apply {f:spec: {f:o: {f:x: {}}, f:s: {}}}" },
		{ MERGE, "u", "{spec: {al: [1], set: [a]}}",
		  "{spec: {a: 1, al: [1], b: 2, d: 7, o: {x: 1}, s: x, set: [a]}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}}}\n"
		  "q Apply {f:spec: {f:o: {f:x: {}}, f:s: {}}}\n"
		  "u Update {f:spec: {f:al: {}, f:set: {.: {}, 'v:\"a\"': {}}}}" },
		{ APPLY, "n", "{spec: {a: 5, b: 6, s: 'y', al: [2], o: {x: 2}}}",
		  "Apply failed with 5 conflicts: conflicts with \"m\":\n"
		  "- .spec.a\n"
		  "- .spec.b\n"
		  "conflicts with \"q\":\n"
		  "- .spec.s\n"
		  "- .spec.o.x\n"
		  "conflicts with \"u\" using probe.test/v1:\n"
		  "- .spec.al", NULL },
	} },
	{ "an updater's values are protected like an applier's", {
		{ CREATE, "u", "{spec: {a: 1, map: [{k: x, v: '1'}]}}",
		  "{spec: {a: 1, d: 7, map: [{k: x, p: 80, v: '1'}]}}",
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:map: {.: {}, 'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:"
		  "k: {}, f:p: {}, f:v: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 2}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.a", NULL },
		{ APPLY, "m", "{spec: {map: [{k: x, v: '2'}]}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.map[k=\"x\",p=80].v",
		  NULL },
		{ APPLY, "m", "{spec: {map: [{k: x, w: '2'}]}}",
		  "{spec: {a: 1, d: 7, map: [{k: x, p: 80, v: '1', w: '2'}]}}",
		  "m Apply {f:spec: {f:map: {'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:k: {}, f:w: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:map: {.: {}, 'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:"
		  "k: {}, f:p: {}, f:v: {}}}}}" },
		{ APPLY, "m", "{spec: {map: [{k: 'y', p: 1}]}}",
		  "{spec: {a: 1, d: 7, map: [{k: x, p: 80, v: '1'}, {k: 'y', p: 1}]}}",
		  "m Apply {f:spec: {f:map: {'k:{\"k\":\"y\",\"p\":1}': {.: {}, f:k: {}, f:p: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:map: {.: {}, 'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:"
		  "k: {}, f:p: {}, f:v: {}}}}}" },
		{ APPLY, "m", "{}",
		  "{spec: {a: 1, d: 7, map: [{k: x, p: 80, v: '1'}]}}",
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:map: {.: {}, 'k:{\"k\":\"x\",\"p\":80}': {.: {}, f:"
		  "k: {}, f:p: {}, f:v: {}}}}}" },
	} },
	{ "an item of a set stays as long as anybody owns it", {
		{ APPLY, "m", "{spec: {set: [a, b]}}",
		  "{spec: {d: 7, set: [a, b]}}", "m Apply {f:spec: {f:set: {'v:\"a\"': {}, 'v:\"b\"': {}}}}" },
		{ APPLY, "n", "{spec: {set: [b, c]}}",
		  "{spec: {d: 7, set: [a, b, c]}}",
		  "m Apply {f:spec: {f:set: {'v:\"a\"': {}, 'v:\"b\"': {}}}}\n"
		  "n Apply {f:spec: {f:set: {'v:\"b\"': {}, 'v:\"c\"': {}}}}" },
		{ APPLY, "m", "{spec: {set: [a]}}",
		  "{spec: {d: 7, set: [a, b, c]}}",
		  "m Apply {f:spec: {f:set: {'v:\"a\"': {}}}}\n"
		  "n Apply {f:spec: {f:set: {'v:\"b\"': {}, 'v:\"c\"': {}}}}" },
		{ APPLY, "n", "{spec: {set: [c]}}",
		  "{spec: {d: 7, set: [a, c]}}",
		  "m Apply {f:spec: {f:set: {'v:\"a\"': {}}}}\n"
		  "n Apply {f:spec: {f:set: {'v:\"c\"': {}}}}" },
		{ APPLY, "n", "{spec: {}}",
		  "{spec: {d: 7, set: [a]}}",
		  "m Apply {f:spec: {f:set: {'v:\"a\"': {}}}}\n"
		  "n Apply {f:spec: {}}" },
		{ APPLY, "m", "{spec: {set: [z, a, c]}}",
		  "{spec: {d: 7, set: [z, a, c]}}",
		  "m Apply {f:spec: {f:set: {'v:\"a\"': {}, 'v:\"c\"': {}, 'v:\"z\"': {}}}}\n"
		  "n Apply {f:spec: {}}" },
	} },
	{ "the configuration decides about the order of its items, others stay where they are", {
		{ APPLY, "m", "{spec: {nm: [{'n': a}, {'n': b}, {'n': c}]}}",
		  "{spec: {d: 7, nm: [{'n': a}, {'n': b}, {'n': c}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"b\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}" },
		{ APPLY, "n", "{spec: {nm: [{'n': c}, {'n': x}, {'n': a}]}}",
		  "{spec: {d: 7, nm: [{'n': b}, {'n': c}, {'n': x}, {'n': a}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"b\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}\n"
		  "n Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"x\"}': {.: {}, f:n: {}}}}}" },
		{ APPLY, "o", "{spec: {nm: [{'n': z}, {'n': b}]}}",
		  "{spec: {d: 7, nm: [{'n': z}, {'n': b}, {'n': c}, {'n': x}, {'n': a}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"b\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}\n"
		  "n Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"x\"}': {.: {}, f:n: {}}}}}\n"
		  "o Apply {f:spec: {f:nm: {'k:{\"n\":\"b\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"z\"}': {.: {}, f:n: {}}"
		  "}}}" },
		{ APPLY, "n", "{spec: {nm: [{'n': a}, {'n': c}, {'n': x}]}}",
		  "{spec: {d: 7, nm: [{'n': z}, {'n': b}, {'n': a}, {'n': c}, {'n': x}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"b\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}\n"
		  "n Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}"
		  ", 'k:{\"n\":\"x\"}': {.: {}, f:n: {}}}}}\n"
		  "o Apply {f:spec: {f:nm: {'k:{\"n\":\"b\"}': {.: {}, f:n: {}}, 'k:{\"n\":\"z\"}': {.: {}, f:n: {}}"
		  "}}}" },
	} },
	{ "an item that stands twice in a configuration, or lacks all keys, is refused", {
		{ APPLY, "m", "{spec: {nm: [{'n': a}, {'n': a}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.nm: duplicate entries "
		  "for key [n=\"a\"]", NULL },
		{ APPLY, "m", "{spec: {set: [a, a]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.set: duplicate entries"
		  " for key [=\"a\"]", NULL },
		{ APPLY, "m", "{spec: {nm: [{v: a}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.nm: element 0: associa"
		  "tive list with keys has an element that omits all key fields [\"n\"] (and doesn't have default va"
		  "lues for any key fields)", NULL },
		{ APPLY, "m", "{spec: {map: [{p: 1}]}}",
		  "invalid: spec.map[0].k: Required value", NULL },
		{ APPLY, "m", "{spec: {map: [{k: a}, {k: a, p: 80}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.map: duplicate entries"
		  " for key [k=\"a\",p=80]", NULL },
	} },
	{ "a configuration that does not fit the schema is refused with the place", {
		{ APPLY, "m", "{spec: {a: x}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.a: expected numeric (i"
		  "nt or float), got string", NULL },
		{ APPLY, "m", "{spec: {o: []}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.o: expected map, got &"
		  "{[]}", NULL },
		{ APPLY, "m", "{spec: {nm: {}}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.nm: expected list, got"
		  " &{map[]}", NULL },
		{ APPLY, "m", "{spec: {s: 1}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.s: expected string, go"
		  "t &value.valueUnstructured{Value:1}", NULL },
		{ APPLY, "m", "{spec: {zzz: 1}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.zzz: field not declare"
		  "d in schema", NULL },
		{ APPLY, "m", "{spec: x}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec: expected map, got &{x"
		  "}", NULL },
		{ APPLY, "m", "{spec: {m: x}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.m: expected map, got &"
		  "{x}", NULL },
		{ APPLY, "m", "{spec: {m: {a: 1}}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.m.a: expected string, "
		  "got &value.valueUnstructured{Value:1}", NULL },
		{ APPLY, "m", "{spec: {nm: [x], set: a}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): errors:\n"
		  "  .spec.nm: element 0: associative list with keys may not have non-map elements\n"
		  "  .spec.set: expected list, got &{a}", NULL },
		{ APPLY, "m", "{spec: {ios: true, a: 1.5, nm: [{'n': 1}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.nm[n=1].n: expected st"
		  "ring, got &value.valueUnstructured{Value:1}", NULL },
		{ APPLY, "m", "{zz: 1}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .zz: field not declared in s"
		  "chema", NULL },
		{ APPLY, "m", "{metadata: {zz: 1}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .metadata.zz: field not decl"
		  "ared in schema", NULL },
		{ APPLY, "m", "{metadata: {labels: {a: 1}}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .metadata.labels.a: expected"
		  " string, got &value.valueUnstructured{Value:1}", NULL },
		{ APPLY, "m", "{metadata: {labels: []}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .metadata.labels: expected m"
		  "ap, got &{[]}", NULL },
		{ APPLY, "m", "{spec: {iset: [x, {}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): errors:\n"
		  "  .spec.iset[=\"x\"]: expected numeric (int or float), got string\n"
		  "  .spec.iset: element 1: associative list without keys has an element that's a map type",
		  NULL },
		{ APPLY, "m", "{spec: {iset: [null]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.iset: element 0: assoc"
		  "iative list without keys has an element that's an explicit null", NULL },
	} },
	{ "who applies nothing any more loses all, and the object keeps its name", {
		{ APPLY, "m", "{metadata: {labels: {a: b}, annotations: {c: d}}}",
		  "{metadata: {labels: {a: b}, annotations: {c: d}}}",
		  "m Apply {f:metadata: {f:annotations: {f:c: {}}, f:labels: {f:a: {}}}}" },
		{ APPLY, "m", "{}", "{}", "" },
	} },
	{ "an empty struct goes when it holds nothing but empty lists with named items", {
		{ APPLY, "m", "{spec: {set: [], nm: [], al: [], pres: {}}}",
		  "{spec: {set: [], nm: [], al: [], pres: {}, d: 7}}", "m Apply {f:spec: {f:al: {}, f:pres: {}}}" },
		{ APPLY, "m", "{spec: {}}", "{}", "m Apply {f:spec: {}}" },
	} },
};
