/* update_cases.h - what kube-apiserver 1.36.3 answered to these requests, one after the other on one object.
 * test_apply.c tells what the members mean. */
#pragma once

static const struct sequence update_cases[] = {
	{ "an update takes what it changes, and removes from all what it removes", {
		{ CREATE, "u", "{spec: {a: 1, o: {x: 1, 'y': 2}, m: {k: v}}}",
		  "{spec: {a: 1, d: 7, m: {k: v}, o: {x: 1, 'y': 2}}}",
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:m: {.: {}, f:k: {}}, f:o: {.: {}, f:x: {}, f:y: {}}"
		  "}}" },
		{ PUT, "v", "{spec: {a: 1, b: 3, o: {x: 5}}}",
		  "{spec: {a: 1, b: 3, d: 7, o: {x: 5}}}",
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:o: {}}}\n"
		  "v Update {f:spec: {f:b: {}, f:o: {f:x: {}}}}" },
		{ PUT, "u", "{spec: {a: 1, d: 7}}",
		  "{spec: {a: 1, d: 7}}", "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
	} },
	{ "an update takes fields from an applier", {
		{ APPLY, "m", "{spec: {a: 1, nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "{spec: {a: 1, d: 7, nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "m Apply {f:spec: {f:a: {}, f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}, 'k:{\"n\":\"b\"}'"
		  ": {.: {}, f:n: {}}}}}" },
		{ MERGE, "u", "{spec: {a: 2}}",
		  "{spec: {a: 2, d: 7, nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}, 'k:{\"n\":\"b\"}': {.: {},"
		  " f:n: {}}}}}\n"
		  "u Update {f:spec: {f:a: {}}}" },
		{ MERGE, "u", "{spec: {nm: [{'n': a, v: '2'}]}}",
		  "{spec: {a: 2, d: 7, nm: [{'n': a, v: '2'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}}}}\n"
		  "u Update {f:spec: {f:a: {}, f:nm: {'k:{\"n\":\"a\"}': {f:v: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.a", NULL },
		{ MERGE, "u", "{spec: {a: null, nm: null}}",
		  "{spec: {d: 7}}", "" },
	} },
	{ "status and the rest are written and owned apart", {
		{ CREATE, "u", "{spec: {a: 1}, status: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ MERGE_STATUS, "s", "{spec: {a: 9}, status: {a: 5, conditions: [{type: R, status: 'True'}]}, meta"
		  "data: {labels: {x: 'y'}}}",
		  "{spec: {a: 1, d: 7}, status: {a: 5, conditions: [{status: 'True', type: R}]}}",
		  "s Update status {f:status: {.: {}, f:a: {}, f:conditions: {.: {}, 'k:{\"type\":\"R\"}': {.: {}, f"
		  ":status: {}, f:type: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ MERGE, "u", "{status: {a: 7}, spec: {a: 3}}",
		  "{spec: {a: 3, d: 7}, status: {a: 5, conditions: [{status: 'True', type: R}]}}",
		  "s Update status {f:status: {.: {}, f:a: {}, f:conditions: {.: {}, 'k:{\"type\":\"R\"}': {.: {}, f"
		  ":status: {}, f:type: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY_STATUS, "t", "{spec: {a: 8}, status: {a: 6}}",
		  "Apply failed with 1 conflict: conflict with \"s\" with subresource \"status\" using probe.test/v1"
		  ": .status.a", NULL },
		{ FORCE_STATUS, "t", "{spec: {a: 8}, status: {a: 6}}",
		  "{spec: {a: 3, d: 7}, status: {a: 6, conditions: [{status: 'True', type: R}]}}",
		  "t Apply status {f:status: {f:a: {}}}\n"
		  "s Update status {f:status: {.: {}, f:conditions: {.: {}, 'k:{\"type\":\"R\"}': {.: {}, f:status: "
		  "{}, f:type: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY, "t", "{spec: {b: 8}, status: {a: 16}}",
		  "{spec: {a: 3, b: 8, d: 7}, status: {a: 6, conditions: [{status: 'True', type: R}]}}",
		  "t Apply {f:spec: {f:b: {}}}\n"
		  "t Apply status {f:status: {f:a: {}}}\n"
		  "s Update status {f:status: {.: {}, f:conditions: {.: {}, 'k:{\"type\":\"R\"}': {.: {}, f:status: "
		  "{}, f:type: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY_STATUS, "t", "{metadata: {labels: {l: '1'}}, status: {conditions: [{type: R, status: 'Fals"
		  "e'}]}}",
		  "Apply failed with 1 conflict: conflict with \"s\" with subresource \"status\" using probe.test/v1"
		  ": .status.conditions[type=\"R\"].status", NULL },
		{ PUT_STATUS, "s", "{status: {}}",
		  "{spec: {a: 3, b: 8, d: 7}, status: {}}",
		  "t Apply {f:spec: {f:b: {}}}\n"
		  "s Update status {f:status: {}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
	} },
	{ "who applies the values that are there becomes an owner, without a time", {
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
		{ APPLY, "n", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}",
		  "n Apply timeless {f:spec: {f:a: {}}}\n"
		  "m Apply {f:spec: {f:a: {}}}" },
		{ MERGE, "u", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}",
		  "n Apply timeless {f:spec: {f:a: {}}}\n"
		  "m Apply {f:spec: {f:a: {}}}" },
		{ PUT, "u", "{spec: {a: 1, d: 7}}",
		  "{spec: {a: 1, d: 7}}",
		  "n Apply timeless {f:spec: {f:a: {}}}\n"
		  "m Apply {f:spec: {f:a: {}}}" },
	} },
	{ "an atomic map or list is owned as one value", {
		{ APPLY, "m", "{spec: {ao: {x: 1}, al: [1]}}",
		  "{spec: {al: [1], ao: {x: 1}, d: 7}}", "m Apply {f:spec: {f:al: {}, f:ao: {}}}" },
		{ APPLY, "n", "{spec: {ao: {x: 1, 'y': 2}, al: [1, 2]}}",
		  "Apply failed with 2 conflicts: conflicts with \"m\":\n"
		  "- .spec.al\n"
		  "- .spec.ao", NULL },
		{ APPLY, "n", "{spec: {ao: {x: 1}, al: [1]}}",
		  "{spec: {al: [1], ao: {x: 1}, d: 7}}",
		  "n Apply timeless {f:spec: {f:al: {}, f:ao: {}}}\n"
		  "m Apply {f:spec: {f:al: {}, f:ao: {}}}" },
		{ MERGE, "u", "{spec: {ao: {'y': 2}}}",
		  "{spec: {al: [1], ao: {x: 1, 'y': 2}, d: 7}}",
		  "n Apply timeless {f:spec: {f:al: {}}}\n"
		  "m Apply {f:spec: {f:al: {}}}\n"
		  "u Update {f:spec: {f:ao: {}}}" },
		{ APPLY, "m", "{spec: {al: [1]}}",
		  "{spec: {al: [1], ao: {x: 1, 'y': 2}, d: 7}}",
		  "n Apply timeless {f:spec: {f:al: {}}}\n"
		  "m Apply {f:spec: {f:al: {}}}\n"
		  "u Update {f:spec: {f:ao: {}}}" },
		{ APPLY, "n", "{spec: {}}",
		  "{spec: {al: [1], ao: {x: 1, 'y': 2}, d: 7}}",
		  "n Apply timeless {f:spec: {}}\n"
		  "m Apply {f:spec: {f:al: {}}}\n"
		  "u Update {f:spec: {f:ao: {}}}" },
	} },
	{ "a map in a map that loses its owner goes with what others own in it", {
		{ APPLY, "m", "{spec: {mm: {a: {x: '1', 'y': '2'}, b: {x: '1'}}}}",
		  "{spec: {d: 7, mm: {a: {x: '1', 'y': '2'}, b: {x: '1'}}}}",
		  "m Apply {f:spec: {f:mm: {f:a: {.: {}, f:x: {}, f:y: {}}, f:b: {.: {}, f:x: {}}}}}" },
		{ APPLY, "m", "{spec: {mm: {a: {x: '1'}}}}",
		  "{spec: {d: 7, mm: {a: {x: '1'}}}}", "m Apply {f:spec: {f:mm: {f:a: {.: {}, f:x: {}}}}}" },
		{ APPLY, "n", "{spec: {mm: {a: {'y': '1'}}}}",
		  "{spec: {d: 7, mm: {a: {x: '1', 'y': '1'}}}}",
		  "m Apply {f:spec: {f:mm: {f:a: {.: {}, f:x: {}}}}}\n"
		  "n Apply {f:spec: {f:mm: {f:a: {.: {}, f:y: {}}}}}" },
		{ APPLY, "m", "{spec: {mm: {c: {}}}}",
		  "{spec: {d: 7, mm: {a: {'y': '1'}, c: {}}}}",
		  "m Apply {f:spec: {f:mm: {f:c: {}}}}\n"
		  "n Apply {f:spec: {f:mm: {f:a: {.: {}, f:y: {}}}}}" },
		{ MERGE, "u", "{spec: {mm: {a: {z: '1'}}}}",
		  "{spec: {d: 7, mm: {a: {'y': '1', z: '1'}, c: {}}}}",
		  "m Apply {f:spec: {f:mm: {f:c: {}}}}\n"
		  "n Apply {f:spec: {f:mm: {f:a: {.: {}, f:y: {}}}}}\n"
		  "u Update {f:spec: {f:mm: {f:a: {f:z: {}}}}}" },
		{ APPLY, "n", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7, mm: {c: {}}}}",
		  "m Apply {f:spec: {f:mm: {f:c: {}}}}\n"
		  "n Apply {f:spec: {f:a: {}}}" },
	} },
	{ "members that no schema names are owned one by one", {
		{ APPLY, "m", "{spec: {pres: {a: {b: 1, c: [1, 2]}, x: null}}}",
		  "{spec: {d: 7, pres: {a: {b: 1, c: [1, 2]}, x: null}}}",
		  "m Apply {f:spec: {f:pres: {f:a: {.: {}, f:b: {}, f:c: {}}, f:x: {}}}}" },
		{ APPLY, "n", "{spec: {pres: {a: {d: 1}, x: 1}}}",
		  "Apply failed with 1 conflict: conflict with \"m\": .spec.pres.x", NULL },
		{ APPLY, "n", "{spec: {pres: {a: {d: 1, c: [1, 2]}}}}",
		  "{spec: {d: 7, pres: {a: {b: 1, c: [1, 2], d: 1}, x: null}}}",
		  "m Apply {f:spec: {f:pres: {f:a: {.: {}, f:b: {}, f:c: {}}, f:x: {}}}}\n"
		  "n Apply {f:spec: {f:pres: {f:a: {.: {}, f:c: {}, f:d: {}}}}}" },
		{ APPLY, "m", "{spec: {pres: {a: str}}}",
		  "Apply failed with 1 conflict: conflict with \"n\": .spec.pres.a", NULL },
		{ FORCE, "m", "{spec: {pres: {a: str}}}",
		  "{spec: {d: 7, pres: {a: str}}}", "m Apply {f:spec: {f:pres: {f:a: {}}}}" },
		{ APPLY, "m", "{spec: {pres: {}}}",
		  "invalid: spec.pres: Invalid value: \"null\": spec.pres in body must be of type object: \"null\"",
		  NULL },
	} },
	{ "an item stays when another owns it", {
		{ CREATE, "u", "{spec: {nm: [{'n': a, v: '1'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1'}]}}",
		  "u Update {f:spec: {.: {}, f:d: {}, f:nm: {.: {}, 'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}" },
		{ APPLY, "m", "{spec: {nm: [{'n': a, w: '1'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1', w: '1'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:w: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:nm: {.: {}, 'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}" },
		{ MERGE, "u", "{spec: {nm: [{'n': a, w: '1'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, w: '1'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:w: {}}}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:nm: {.: {}, 'k:{\"n\":\"a\"}': {.: {}, f:n: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7, nm: [{'n': a}]}}",
		  "m Apply {f:spec: {f:a: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:nm: {.: {}, 'k:{\"n\":\"a\"}': {.: {}, f:n: {}}}}}" },
	} },
	{ "an item goes although another owns a member of it, and its list is null then", {
		{ APPLY, "m", "{spec: {nm: [{'n': a, v: '1'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}" },
		{ MERGE, "u", "{spec: {nm: [{'n': a, v: '1', w: '2'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1', w: '2'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}\n"
		  "u Update {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {f:w: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "invalid: spec.nm: Invalid value: \"null\": spec.nm in body must be of type array: \"null\"",
		  NULL },
	} },
	{ "a struct stays when another owns a member of it", {
		{ APPLY, "m", "{spec: {o: {x: 1, z: {q: 1}}}}",
		  "{spec: {d: 7, o: {x: 1, z: {q: 1}}}}", "m Apply {f:spec: {f:o: {f:x: {}, f:z: {f:q: {}}}}}" },
		{ MERGE, "u", "{spec: {o: {z: {q: 2}}}}",
		  "{spec: {d: 7, o: {x: 1, z: {q: 2}}}}",
		  "m Apply {f:spec: {f:o: {f:x: {}}}}\n"
		  "u Update {f:spec: {f:o: {f:z: {f:q: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7, o: {z: {q: 2}}}}",
		  "m Apply {f:spec: {f:a: {}}}\n"
		  "u Update {f:spec: {f:o: {f:z: {f:q: {}}}}}" },
	} },
	{ "keys and values in sets are escaped as Go escapes them", {
		{ APPLY, "m", "{spec: {set: ['a<b&>', \"\\u00fc\\\"\\\\\\n\\u2028\\u0001\", 'a b', a], nm: "
		  "[{'n': 'x<y'}], m: {'<k>': '1', 'a b': '2'}}}",
		  "{spec: {d: 7, m: {'<k>': '1', 'a b': '2'}, nm: [{'n': 'x<y'}], set: ['a<b&>', \"\\u00fc\\\"\\\\\\"
		  "n\\u2028\\u0001\", 'a b', a]}}",
		  "m Apply {f:spec: {f:m: {'f:<k>': {}, 'f:a b': {}}, f:nm: {'k:{\"n\":\"x\\u003cy\"}': {.: {}, f:n:"
		  " {}}}, f:set: {'v:\"a b\"': {}, 'v:\"a\"': {}, 'v:\"a\\u003cb\\u0026\\u003e\"': {}, \"v:\\\"\\u00"
		  "fc\\\\\\\"\\\\\\\\\\\\n\\\\u2028\\\\u0001\\\"\": {}}}}" },
		{ APPLY, "n", "{spec: {nm: [{'n': 'x<y', v: '1'}], m: {'<k>': '2'}}}",
		  "Apply failed with 1 conflict: conflict with \"m\": .spec.m.<k>", NULL },
		{ APPLY, "m", "{spec: {nm: [{'n': 'x<y', v: '2'}], set: [b]}}",
		  "{spec: {d: 7, nm: [{'n': 'x<y', v: '2'}], set: [b]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"x\\u003cy\"}': {.: {}, f:n: {}, f:v: {}}}, f:set: {'v:\"b\"'"
		  ": {}}}}" },
		{ APPLY, "n", "{spec: {m: {'<k>': '2'}}}",
		  "{spec: {d: 7, m: {'<k>': '2'}, nm: [{'n': 'x<y', v: '2'}], set: [b]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"x\\u003cy\"}': {.: {}, f:n: {}, f:v: {}}}, f:set: {'v:\"b\"'"
		  ": {}}}}\n"
		  "n Apply {f:spec: {f:m: {'f:<k>': {}}}}" },
	} },
	{ "of more than ten updaters the oldest become one", {
		{ CREATE, "u0", "{spec: {m: {k: v}}}",
		  "{spec: {d: 7, m: {k: v}}}", "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}" },
		{ MERGE, "u1", "{spec: {m: {k1: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}" },
		{ MERGE, "u2", "{spec: {m: {k2: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}" },
		{ MERGE, "u3", "{spec: {m: {k3: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}" },
		{ MERGE, "u4", "{spec: {m: {k4: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}" },
		{ MERGE, "u5", "{spec: {m: {k5: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1', k5: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}" },
		{ MERGE, "u6", "{spec: {m: {k6: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}" },
		{ MERGE, "u7", "{spec: {m: {k7: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1', k7: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}\n"
		  "u7 Update {f:spec: {f:m: {f:k7: {}}}}" },
		{ MERGE, "u8", "{spec: {m: {k8: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1', k7: '1', k8: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}\n"
		  "u7 Update {f:spec: {f:m: {f:k7: {}}}}\n"
		  "u8 Update {f:spec: {f:m: {f:k8: {}}}}" },
		{ MERGE, "u9", "{spec: {m: {k9: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1', k7: '1', k8: '1', k"
		  "9: '1'}}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}\n"
		  "u1 Update {f:spec: {f:m: {f:k1: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}\n"
		  "u7 Update {f:spec: {f:m: {f:k7: {}}}}\n"
		  "u8 Update {f:spec: {f:m: {f:k8: {}}}}\n"
		  "u9 Update {f:spec: {f:m: {f:k9: {}}}}" },
		{ MERGE, "u10", "{spec: {m: {k10: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k10: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1', k7: '1', "
		  "k8: '1', k9: '1'}}}",
		  "ancient-changes Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}, f:k1: {}}}}\n"
		  "u10 Update {f:spec: {f:m: {f:k10: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}\n"
		  "u7 Update {f:spec: {f:m: {f:k7: {}}}}\n"
		  "u8 Update {f:spec: {f:m: {f:k8: {}}}}\n"
		  "u9 Update {f:spec: {f:m: {f:k9: {}}}}" },
		{ MERGE, "u11", "{spec: {m: {k11: '1'}}}",
		  "{spec: {d: 7, m: {k: v, k1: '1', k10: '1', k11: '1', k2: '1', k3: '1', k4: '1', k5: '1', k6: '1',"
		  " k7: '1', k8: '1', k9: '1'}}}",
		  "ancient-changes Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}, f:k1: {}, f:k10: {}}}}\n"
		  "u11 Update {f:spec: {f:m: {f:k11: {}}}}\n"
		  "u2 Update {f:spec: {f:m: {f:k2: {}}}}\n"
		  "u3 Update {f:spec: {f:m: {f:k3: {}}}}\n"
		  "u4 Update {f:spec: {f:m: {f:k4: {}}}}\n"
		  "u5 Update {f:spec: {f:m: {f:k5: {}}}}\n"
		  "u6 Update {f:spec: {f:m: {f:k6: {}}}}\n"
		  "u7 Update {f:spec: {f:m: {f:k7: {}}}}\n"
		  "u8 Update {f:spec: {f:m: {f:k8: {}}}}\n"
		  "u9 Update {f:spec: {f:m: {f:k9: {}}}}" },
	} },
	{ "without owners no update is noted, and the first apply finds one owner of all", {
		{ CREATE, "u0", "{spec: {m: {k: v}}}",
		  "{spec: {d: 7, m: {k: v}}}", "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: [{}]}}",
		  "{spec: {a: 1, d: 7}}", "" },
		{ MERGE, "u2", "{spec: {b: 1}}",
		  "{spec: {a: 1, b: 1, d: 7}}", "" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, b: 1, d: 7}}",
		  "m Apply timeless {f:spec: {f:a: {}}}\n"
		  "before-first-apply Update {f:spec: {.: {}, f:a: {}, f:b: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {a: 2}}",
		  "Apply failed with 1 conflict: conflict with \"before-first-apply\" using probe.test/v1: .spec.a",
		  NULL },
	} },
	{ "an empty managedFields does not reset", {
		{ CREATE, "u0", "{spec: {m: {k: v}}}",
		  "{spec: {d: 7, m: {k: v}}}", "u0 Update {f:spec: {.: {}, f:d: {}, f:m: {.: {}, f:k: {}}}}" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: []}}",
		  "{spec: {a: 1, d: 7}}",
		  "u0 Update {f:spec: {.: {}, f:d: {}}}\n"
		  "u1 Update {f:spec: {f:a: {}}}" },
	} },
	{ "a request may set managedFields by hand; what it cannot read is as if absent", {
		{ CREATE, "u0", "{spec: {a: 1}, metadata: {managedFields: [{manager: x, operation: Update, ap"
		  "iVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:b: {}}}}]}}",
		  "{spec: {a: 1, d: 7}}",
		  "x Update timeless {f:spec: {f:b: {}}}\n"
		  "u0 Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ PUT, "u1", "{spec: {a: 1, d: 7, b: 2}, metadata: {managedFields: [{manager: 'y', operati"
		  "on: Update, apiVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:nm: {'k:{\"n\""
		  ": \"a\"}': {.: {}, f:v: {}}}, f:a: {}}}, time: '2020-01-01T00:00:00Z'}]}}",
		  "{spec: {a: 1, b: 2, d: 7}}",
		  "y Update {f:spec: {f:a: {}, f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:v: {}}}}}\n"
		  "u1 Update {f:spec: {f:b: {}}}" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: [{manager: x, operation: X, apiVers"
		  "ion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:b: {}}}}]}}",
		  "{spec: {a: 1, d: 7}}",
		  "y Update {f:spec: {f:a: {}, f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:v: {}}}}}" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: [{manager: x, operation: Update, ap"
		  "iVersion: probe.test/v1, fieldsType: '', fieldsV1: {f:spec: {f:b: {}}}}]}}",
		  "{spec: {a: 1, d: 7}}",
		  "y Update {f:spec: {f:a: {}, f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:v: {}}}}}" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: [{manager: x, operation: Update, ap"
		  "iVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {q:x: {}}}]}}",
		  "{spec: {a: 1, d: 7}}", "" },
		{ PUT, "u1", "{spec: {a: 1}, metadata: {managedFields: [{manager: x, operation: Update, ap"
		  "iVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:x: 1}}]}}",
		  "{spec: {a: 1, d: 7}}", "" },
		{ MERGE, "u1", "{metadata: {managedFields: [{manager: k, operation: Update, apiVersion: prob"
		  "e.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:b: {}}}}]}}",
		  "{spec: {a: 1, d: 7}}", "k Update timeless {f:spec: {f:b: {}}}" },
		{ MERGE, "u1", "{metadata: {managedFields: [{manager: k, operation: Update, apiVersion: prob"
		  "e.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:b: {}}}}, {manager: k, operation: Update, "
		  "apiVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:b: {}}}}]}}",
		  "{spec: {a: 1, d: 7}}", "k Update timeless {f:spec: {f:b: {}}}" },
		{ MERGE, "u1", "{metadata: {managedFields: null}}",
		  "{spec: {a: 1, d: 7}}", "k Update timeless {f:spec: {f:b: {}}}" },
		{ MERGE, "u1", "{metadata: {managedFields: [{}]}}",
		  "{spec: {a: 1, d: 7}}", "" },
	} },
	{ "labels, annotations and finalizers are owned one by one", {
		{ CREATE, "u", "{metadata: {labels: {a: '1'}}}",
		  "{metadata: {labels: {a: '1'}}}", "u Update {f:metadata: {f:labels: {.: {}, f:a: {}}}}" },
		{ APPLY, "m", "{metadata: {labels: {a: '1', b: '2'}, finalizers: [x.y/z]}}",
		  "{metadata: {labels: {a: '1', b: '2'}, finalizers: [x.y/z]}}",
		  "m Apply {f:metadata: {f:finalizers: {'v:\"x.y/z\"': {}}, f:labels: {f:a: {}, f:b: {}}}}\n"
		  "u Update {f:metadata: {f:labels: {.: {}, f:a: {}}}}" },
		{ MERGE, "v", "{metadata: {labels: {b: null}, annotations: {q: r}}}",
		  "{metadata: {labels: {a: '1'}, annotations: {q: r}, finalizers: [x.y/z]}}",
		  "m Apply {f:metadata: {f:finalizers: {'v:\"x.y/z\"': {}}, f:labels: {f:a: {}}}}\n"
		  "u Update {f:metadata: {f:labels: {.: {}, f:a: {}}}}\n"
		  "v Update {f:metadata: {f:annotations: {.: {}, f:q: {}}}}" },
		{ MERGE, "v", "{metadata: {labels: null}}",
		  "{metadata: {annotations: {q: r}, finalizers: [x.y/z]}}",
		  "m Apply {f:metadata: {f:finalizers: {'v:\"x.y/z\"': {}}}}\n"
		  "v Update {f:metadata: {f:annotations: {.: {}, f:q: {}}}}" },
		{ APPLY, "m", "{}",
		  "{metadata: {annotations: {q: r}}}",
		  "v Update {f:metadata: {f:annotations: {.: {}, f:q: {}}}}" },
	} },
	{ "empty lists with named items have no owner", {
		{ APPLY, "m", "{metadata: {labels: {a: '1'}}, spec: {al: []}}",
		  "{spec: {al: [], d: 7}, metadata: {labels: {a: '1'}}}",
		  "m Apply {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:al: {}}}" },
		{ APPLY, "n", "{spec: {set: [], map: []}}",
		  "{spec: {al: [], d: 7, map: [], set: []}, metadata: {labels: {a: '1'}}}",
		  "m Apply {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:al: {}}}" },
		{ MERGE, "u", "{spec: {set: [a]}}",
		  "{spec: {al: [], d: 7, map: [], set: [a]}, metadata: {labels: {a: '1'}}}",
		  "m Apply {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:al: {}}}\n"
		  "u Update {f:spec: {f:set: {'v:\"a\"': {}}}}" },
		{ APPLY, "n", "{spec: {set: []}}",
		  "{spec: {al: [], d: 7, map: [], set: [a]}, metadata: {labels: {a: '1'}}}",
		  "m Apply {f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:al: {}}}\n"
		  "u Update {f:spec: {f:set: {'v:\"a\"': {}}}}" },
		{ APPLY, "n", "{spec: {set: null, o: null}}",
		  "invalid: spec.o: Invalid value: \"null\": spec.o in body must be of type object: \"null\"",
		  NULL },
	} },
	{ "an apply to the status leaves labels alone", {
		{ CREATE, "u", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY_STATUS, "t", "{metadata: {labels: {l: '1'}}, status: {a: 1}}",
		  "{spec: {a: 1, d: 7}, status: {a: 1}}",
		  "t Apply status {f:status: {f:a: {}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY_STATUS, "t", "{status: {conditions: [{type: R, status: 'False'}]}}",
		  "{spec: {a: 1, d: 7}, status: {conditions: [{status: 'False', type: R}]}}",
		  "t Apply status {f:status: {f:conditions: {'k:{\"type\":\"R\"}': {.: {}, f:status: {}, f:type: {}}"
		  "}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
	} },
	{ "the status is not among what was there before the first apply", {
		{ CREATE, "u", "{spec: {a: 1, o: {x: 1}}}",
		  "{spec: {a: 1, d: 7, o: {x: 1}}}",
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:o: {.: {}, f:x: {}}}}" },
		{ MERGE_STATUS, "s", "{status: {a: 1}}",
		  "{spec: {a: 1, d: 7, o: {x: 1}}, status: {a: 1}}",
		  "s Update status {f:status: {.: {}, f:a: {}}}\n"
		  "u Update {f:spec: {.: {}, f:a: {}, f:d: {}, f:o: {.: {}, f:x: {}}}}" },
		{ PUT, "u1", "{spec: {a: 1, o: {x: 1}}, metadata: {managedFields: [{}], labels: {q: '1'}}}",
		  "{spec: {a: 1, d: 7, o: {x: 1}}, status: {a: 1}, metadata: {labels: {q: '1'}}}", "" },
		{ APPLY, "m", "{spec: {b: 1}}",
		  "{spec: {a: 1, b: 1, d: 7, o: {x: 1}}, status: {a: 1}, metadata: {labels: {q: '1'}}}",
		  "m Apply {f:spec: {f:b: {}}}\n"
		  "before-first-apply Update {f:metadata: {f:labels: {.: {}, f:q: {}}}, f:spec: {.: {}, f:a: {}, f:d"
		  ": {}, f:o: {.: {}, f:x: {}}}}" },
		{ APPLY_STATUS, "m", "{status: {a: 1}}",
		  "{spec: {a: 1, b: 1, d: 7, o: {x: 1}}, status: {a: 1}, metadata: {labels: {q: '1'}}}",
		  "m Apply status timeless {f:status: {f:a: {}}}\n"
		  "m Apply {f:spec: {f:b: {}}}\n"
		  "before-first-apply Update {f:metadata: {f:labels: {.: {}, f:q: {}}}, f:spec: {.: {}, f:a: {}, f:d"
		  ": {}, f:o: {.: {}, f:x: {}}}}" },
	} },
	{ "a key with a default may be left out", {
		{ APPLY, "m", "{spec: {map: [{k: a}]}}",
		  "{spec: {d: 7, map: [{k: a, p: 80}]}}",
		  "m Apply {f:spec: {f:map: {'k:{\"k\":\"a\",\"p\":80}': {.: {}, f:k: {}}}}}" },
		{ APPLY, "m", "{spec: {map: [{k: a, p: 80, v: x}]}}",
		  "{spec: {d: 7, map: [{k: a, p: 80, v: x}]}}",
		  "m Apply {f:spec: {f:map: {'k:{\"k\":\"a\",\"p\":80}': {.: {}, f:k: {}, f:p: {}, f:v: {}}}}}" },
		{ APPLY, "m", "{spec: {map: [{k: b}]}}",
		  "{spec: {d: 7, map: [{k: b, p: 80}]}}",
		  "m Apply {f:spec: {f:map: {'k:{\"k\":\"b\",\"p\":80}': {.: {}, f:k: {}}}}}" },
	} },
	{ "a value may become one of another type", {
		{ APPLY, "m", "{spec: {any: {a: {b: 1}}}}",
		  "{spec: {any: {a: {b: 1}}, d: 7}}", "m Apply {f:spec: {f:any: {f:a: {.: {}, f:b: {}}}}}" },
		{ APPLY, "m", "{spec: {any: [1]}}",
		  "{spec: {any: [1], d: 7}}", "m Apply {f:spec: {f:any: {}}}" },
		{ APPLY, "m", "{spec: {any: {c: []}}}",
		  "{spec: {any: {c: []}, d: 7}}", "m Apply {f:spec: {f:any: {f:c: {}}}}" },
		{ MERGE, "u", "{spec: {any: x}}",
		  "{spec: {any: x, d: 7}}", "u Update {f:spec: {f:any: {}}}" },
		{ APPLY, "m", "{spec: {any: {c: 1}}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.any", NULL },
		{ FORCE, "m", "{spec: {any: {c: 1}}}",
		  "{spec: {any: {c: 1}, d: 7}}", "m Apply {f:spec: {f:any: {f:c: {}}}}" },
		{ APPLY, "m", "{spec: {any: null}}",
		  "{spec: {d: 7}}", "m Apply {f:spec: {f:any: {}}}" },
	} },
	{ "members without an owner go with their struct", {
		{ CREATE, "u", "{spec: {o: {x: 1, 'y': 2}}}",
		  "{spec: {d: 7, o: {x: 1, 'y': 2}}}",
		  "u Update {f:spec: {.: {}, f:d: {}, f:o: {.: {}, f:x: {}, f:y: {}}}}" },
		{ PUT, "u", "{spec: {o: {x: 1, 'y': 2}}, metadata: {managedFields: [{manager: m, operatio"
		  "n: Apply, apiVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:o: {f:x: {}}}}}]"
		  "}}",
		  "{spec: {d: 7, o: {x: 1, 'y': 2}}}", "m Apply timeless {f:spec: {f:o: {f:x: {}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
	} },
	{ "members without an owner go with their item", {
		{ CREATE, "u", "{spec: {nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "u Update {f:spec: {.: {}, f:d: {}, f:nm: {.: {}, 'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}, 'k"
		  ":{\"n\":\"b\"}': {.: {}, f:n: {}}}}}" },
		{ PUT, "u", "{spec: {nm: [{'n': a, v: '1'}, {'n': b}]}, metadata: {managedFields: [{manag"
		  "er: m, operation: Apply, apiVersion: probe.test/v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:n"
		  "m: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}}}}}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1'}, {'n': b}]}}",
		  "m Apply timeless {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Apply {f:spec: {f:a: {}}}" },
	} },
	{ "an item goes although another owns a member of it, others stay", {
		{ APPLY, "m", "{spec: {nm: [{'n': a, v: '1'}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1'}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}" },
		{ MERGE, "u", "{spec: {nm: [{'n': a, v: '1', w: '2'}, {'n': c}]}}",
		  "{spec: {d: 7, nm: [{'n': a, v: '1', w: '2'}, {'n': c}]}}",
		  "m Apply {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {.: {}, f:n: {}, f:v: {}}}}}\n"
		  "u Update {f:spec: {f:nm: {'k:{\"n\":\"a\"}': {f:w: {}}, 'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}" },
		{ APPLY, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7, nm: [{'n': c}]}}",
		  "m Apply {f:spec: {f:a: {}}}\n"
		  "u Update {f:spec: {f:nm: {'k:{\"n\":\"c\"}': {.: {}, f:n: {}}}}}" },
	} },
	{ "a plain value of a wrong type is refused with the type", {
		{ APPLY, "m", "{spec: {a: true}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.a: expected numeric (i"
		  "nt or float), got bool", NULL },
		{ APPLY, "m", "{spec: {a: [1]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.a: expected numeric (i"
		  "nt or float), got []interface {}", NULL },
		{ APPLY, "m", "{spec: {a: {q: 1}}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.a: expected numeric (i"
		  "nt or float), got map[string]interface {}", NULL },
		{ APPLY, "m", "{spec: {s: true}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.s: expected string, go"
		  "t &value.valueUnstructured{Value:true}", NULL },
		{ APPLY, "m", "{spec: {s: [x, 1]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.s: expected string, go"
		  "t &value.valueUnstructured{Value:[]interface {}{\"x\", 1}}", NULL },
		{ APPLY, "m", "{spec: {s: 1.5}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.s: expected string, go"
		  "t &value.valueUnstructured{Value:1.5}", NULL },
		{ APPLY, "m", "{spec: {o: [{a: 1, b: null}]}}",
		  "failed to create typed patch object (/x; probe.test/v1, Kind=Thing): .spec.o: expected map, got &"
		  "{[map[a:1 b:<nil>]]}", NULL },
		{ APPLY, "m", "{spec: {ios: {a: 1}}}",
		  "invalid: spec.ios: Invalid value: \"object\": spec.ios in body must be of type integer,string: \""
		  "object\"", NULL },
		{ APPLY, "m", "{spec: {ios: []}}",
		  "invalid: spec.ios: Invalid value: \"array\": spec.ios in body must be of type integer,string: \"a"
		  "rray\"", NULL },
	} },
	{ "one manager that applies and updates has two entries", {
		{ CREATE, "m", "{spec: {a: 1}}",
		  "{spec: {a: 1, d: 7}}", "m Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {a: 1, b: 1}}",
		  "{spec: {a: 1, b: 1, d: 7}}",
		  "m Apply {f:spec: {f:a: {}, f:b: {}}}\n"
		  "m Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {b: 2}}",
		  "{spec: {a: 1, b: 2, d: 7}}",
		  "m Apply {f:spec: {f:b: {}}}\n"
		  "m Update {f:spec: {.: {}, f:a: {}, f:d: {}}}" },
		{ MERGE, "m", "{spec: {b: 3}}",
		  "{spec: {a: 1, b: 3, d: 7}}", "m Update {f:spec: {.: {}, f:a: {}, f:b: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {b: 2}}",
		  "Apply failed with 1 conflict: conflict with \"m\" using probe.test/v1: .spec.b", NULL },
		{ APPLY, "m", "{spec: {b: 3}}",
		  "{spec: {a: 1, b: 3, d: 7}}",
		  "m Apply timeless {f:spec: {f:b: {}}}\n"
		  "m Update {f:spec: {.: {}, f:a: {}, f:b: {}, f:d: {}}}" },
	} },
	{ "numbers are items of a set", {
		{ APPLY, "m", "{spec: {iset: [1, 2]}}",
		  "{spec: {d: 7, iset: [1, 2]}}", "m Apply {f:spec: {f:iset: {v:1: {}, v:2: {}}}}" },
		{ APPLY, "n", "{spec: {iset: [2, 3]}}",
		  "{spec: {d: 7, iset: [1, 2, 3]}}",
		  "m Apply {f:spec: {f:iset: {v:1: {}, v:2: {}}}}\n"
		  "n Apply {f:spec: {f:iset: {v:2: {}, v:3: {}}}}" },
		{ MERGE, "u", "{spec: {iset: [3, 2]}}",
		  "{spec: {d: 7, iset: [3, 2]}}",
		  "m Apply {f:spec: {f:iset: {v:2: {}}}}\n"
		  "n Apply {f:spec: {f:iset: {v:2: {}, v:3: {}}}}" },
		{ APPLY, "m", "{spec: {iset: [1]}}",
		  "{spec: {d: 7, iset: [3, 2, 1]}}",
		  "m Apply {f:spec: {f:iset: {v:1: {}}}}\n"
		  "n Apply {f:spec: {f:iset: {v:2: {}, v:3: {}}}}" },
	} },
	{ "what the API server sets itself is not owned", {
		{ CREATE, "m", "{metadata: {generation: 7, labels: {a: '1'}}}",
		  "{metadata: {labels: {a: '1'}}}", "m Update {f:metadata: {f:labels: {.: {}, f:a: {}}}}" },
		{ APPLY, "n", "{metadata: {generation: 9, annotations: {b: '1'}}}",
		  "{metadata: {labels: {a: '1'}, annotations: {b: '1'}}}",
		  "n Apply {f:metadata: {f:annotations: {f:b: {}}}}\n"
		  "m Update {f:metadata: {f:labels: {.: {}, f:a: {}}}}" },
	} },
	{ "a null is like an empty struct", {
		{ CREATE, "u", "{spec: {o: {x: 1}}}",
		  "{spec: {d: 7, o: {x: 1}}}", "u Update {f:spec: {.: {}, f:d: {}, f:o: {.: {}, f:x: {}}}}" },
		{ APPLY, "m", "{spec: {o: null}}",
		  "{spec: {d: 7, o: {x: 1}}}",
		  "m Apply timeless {f:spec: {f:o: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:o: {.: {}, f:x: {}}}}" },
		{ FORCE, "m", "{spec: {o: null}}",
		  "{spec: {d: 7, o: {x: 1}}}",
		  "m Apply timeless {f:spec: {f:o: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:o: {.: {}, f:x: {}}}}" },
	} },
	{ "a null is like an empty set", {
		{ CREATE, "u", "{spec: {set: [a]}}",
		  "{spec: {d: 7, set: [a]}}",
		  "u Update {f:spec: {.: {}, f:d: {}, f:set: {.: {}, 'v:\"a\"': {}}}}" },
		{ APPLY, "m", "{spec: {set: null}}",
		  "{spec: {d: 7, set: [a]}}",
		  "m Apply timeless {f:spec: {f:set: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:set: {.: {}, 'v:\"a\"': {}}}}" },
		{ FORCE, "m", "{spec: {set: null}}",
		  "{spec: {d: 7, set: [a]}}",
		  "m Apply timeless {f:spec: {f:set: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:set: {.: {}, 'v:\"a\"': {}}}}" },
	} },
	{ "a null in place of an atomic list changes it", {
		{ CREATE, "u", "{spec: {al: [1]}}",
		  "{spec: {al: [1], d: 7}}", "u Update {f:spec: {.: {}, f:al: {}, f:d: {}}}" },
		{ APPLY, "m", "{spec: {al: null}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.al", NULL },
		{ FORCE, "m", "{spec: {al: null}}",
		  "invalid: spec.al: Invalid value: \"null\": spec.al in body must be of type array: \"null\"",
		  NULL },
	} },
	{ "a null in place of a text changes it", {
		{ CREATE, "u", "{spec: {nul: x}}",
		  "{spec: {d: 7, nul: x}}", "u Update {f:spec: {.: {}, f:d: {}, f:nul: {}}}" },
		{ APPLY, "m", "{spec: {nul: null}}",
		  "Apply failed with 1 conflict: conflict with \"u\" using probe.test/v1: .spec.nul", NULL },
		{ FORCE, "m", "{spec: {nul: null}}",
		  "{spec: {d: 7, nul: null}}",
		  "m Apply {f:spec: {f:nul: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}}}" },
	} },
	{ "a null does not empty what others own", {
		{ CREATE, "u", "{spec: {nulo: {x: 1}}}",
		  "{spec: {d: 7, nulo: {x: 1}}}",
		  "u Update {f:spec: {.: {}, f:d: {}, f:nulo: {.: {}, f:x: {}}}}" },
		{ APPLY, "m", "{spec: {nulo: null}}",
		  "{spec: {d: 7, nulo: {x: 1}}}",
		  "m Apply timeless {f:spec: {f:nulo: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:nulo: {.: {}, f:x: {}}}}" },
		{ FORCE, "m", "{spec: {nulo: null}}",
		  "{spec: {d: 7, nulo: {x: 1}}}",
		  "m Apply timeless {f:spec: {f:nulo: {}}}\n"
		  "u Update {f:spec: {.: {}, f:d: {}, f:nulo: {.: {}, f:x: {}}}}" },
	} },
	{ "a null empties what nobody else owns", {
		{ APPLY, "m", "{spec: {nulo: {x: 1}}}",
		  "{spec: {d: 7, nulo: {x: 1}}}", "m Apply {f:spec: {f:nulo: {f:x: {}}}}" },
		{ APPLY, "m", "{spec: {nulo: null}}",
		  "{spec: {d: 7, nulo: null}}", "m Apply {f:spec: {f:nulo: {}}}" },
		{ APPLY, "n", "{spec: {nulo: {x: 2}}}",
		  "{spec: {d: 7, nulo: {x: 2}}}",
		  "m Apply {f:spec: {f:nulo: {}}}\n"
		  "n Apply {f:spec: {f:nulo: {f:x: {}}}}" },
		{ PUT, "v", "{spec: {nulo: null, d: 7}}",
		  "{spec: {d: 7, nulo: null}}", "m Apply {f:spec: {f:nulo: {}}}" },
		{ PUT, "v", "{spec: {nulo: {x: 3}, d: 7}}",
		  "{spec: {d: 7, nulo: {x: 3}}}",
		  "m Apply {f:spec: {f:nulo: {}}}\n"
		  "v Update {f:spec: {f:nulo: {f:x: {}}}}" },
	} },
	{ "a map or list that is always there is owned by what is in it", {
		{ CREATE, "u", "{data: {a: b}, list: [x]}", "{data: {a: b}, list: [x]}",
		  "u Update {f:data: {f:a: {}}, f:list: {'v:\"x\"': {}}}" },
		{ PUT, "u", "{}", "{}", "" },
	} },
};
