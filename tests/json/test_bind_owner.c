/* One writer for each field: what is an owner's, what of it differs, and what is sent. */
#include "api/demo.h"
#include "api/walk.h"
#include "base/units.h"
#include "json/bind_owner.h"
#include "test.h"

#define OWNER(var, ...) \
	static const struct fl_owner var = { .manager = "fairlead-" #var, .kind = &fl_demo_kind, \
					     .paths = (const char *const[]){ __VA_ARGS__, NULL } }

OWNER(capacity, "status.capacity", "status.conditions[type=CapacityLow]");
OWNER(ready, "status.conditions[type=Ready]", "status.observedGeneration");
OWNER(ports, "spec.ports[name=web,number=80].target");
OWNER(labels, "metadata.labels[gpu.io/node]", "metadata.labels[a]", "metadata.annotations");
OWNER(starred, "metadata.labels[gpu.io/mig-*]", "metadata.labels[a]");
OWNER(gauges, "spec.gauges[heat].value", "spec.gauges[heat].unit");
OWNER(crew, "spec.crew");

static const struct {
	const char *says;
	const struct fl_owner *owner;
	const char *want, *have;   /* objects */
	const char *paths;         /* that differ */
	const char *apply;         /* what is sent, after the metadata's name */
} rows[] = {
	{ "what is as it should be is no difference", &capacity, "{\"status\":{\"capacity\":{\"total\":1}}}",
	  "{\"status\":{\"capacity\":{\"total\":1}}}", "", ",\"status\":{\"capacity\":{\"total\":1}}" },
	{ "what others own is not looked at, and not sent", &capacity,
	  "{\"spec\":{\"displayName\":\"a\"},\"status\":{\"replicas\":1,\"capacity\":{\"total\":1}}}",
	  "{\"spec\":{\"displayName\":\"b\"},\"status\":{\"replicas\":2,\"capacity\":{\"total\":1}}}", "",
	  ",\"status\":{\"capacity\":{\"total\":1}}" },
	{ "what is absent there is a difference", &capacity, "{\"status\":{\"capacity\":{\"total\":1}}}", "{}",
	  "status.capacity", ",\"status\":{\"capacity\":{\"total\":1}}" },
	{ "what is ours, not wanted and there is a difference too", &capacity, "{}",
	  "{\"status\":{\"capacity\":{\"total\":1},\"conditions\":[{\"type\":\"CapacityLow\",\"status\":\"True\"}]}}",
	  "status.capacity status.conditions[type=CapacityLow]", "" },
	{ "nothing wanted and nothing there is none, whoever else is there", &capacity, "{}",
	  "{\"status\":{\"phase\":\"Flying\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", "", "" },
	{ "of a list-map only our elements", &ready,
	  "{\"status\":{\"conditions\":[{\"type\":\"Other\"},{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"A\"}"
	  "]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"A\"},{\"type\":\"Z\"}]}}",
	  "status.conditions[type=Ready].status",
	  ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"A\"}]}" },
	{ "what apply stamps is never a difference", &ready,
	  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
	  "\"2026-01-31T12:00:00Z\"}]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", "",
	  ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
	  "\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"}]}" },
	{ "one field of an element: its keys go with it", &ports,
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":8080},{\"name\":\"x\",\"number\":1}]}}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":\"http\"}]}}",
	  "spec.ports[name=web,number=80].target",
	  ",\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":8080}]}" },
	{ "a key that is its default is found", &ports, "{\"spec\":{\"ports\":[{\"name\":\"web\",\"target\":1}]}}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"target\":1}]}}", "",
	  ",\"spec\":{\"ports\":[{\"name\":\"web\",\"target\":1}]}" },
	{ "single members of a map, which stays sorted", &labels,
	  "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"gpu.io/node\":\"n\"}}}",
	  "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"9\",\"gpu.io/node\":\"m\"},\"annotations\":{\"x\":\"y\"}}}",
	  "metadata.labels[gpu.io/node] metadata.annotations", ",\"labels\":{\"a\":\"1\",\"gpu.io/node\":\"n\"}" },
	{ "members of a map by how they begin", &starred,
	  "{\"metadata\":{\"labels\":{\"a\":\"1\",\"gpu.io/mig\":\"x\",\"gpu.io/mig-1g.count\":\"7\","
	  "\"gpu.io/mig-2g.count\":\"1\"}}}",
	  "{\"metadata\":{\"labels\":{\"a\":\"1\",\"gpu.io/mig\":\"y\",\"gpu.io/mig-1g.count\":\"6\","
	  "\"gpu.io/mig-3g.count\":\"1\"}}}",
	  "metadata.labels[gpu.io/mig-1g.count] metadata.labels[gpu.io/mig-2g.count] "
	  "metadata.labels[gpu.io/mig-3g.count]",
	  ",\"labels\":{\"a\":\"1\",\"gpu.io/mig-1g.count\":\"7\",\"gpu.io/mig-2g.count\":\"1\"}" },
	{ "two fields of one member are one member", &gauges,
	  "{\"spec\":{\"gauges\":{\"heat\":{\"description\":\"d\",\"value\":1,\"unit\":\"K\"},\"x\":{}}}}",
	  "{\"spec\":{\"gauges\":{\"heat\":{\"description\":\"e\",\"value\":1,\"unit\":\"C\"}}}}",
	  "spec.gauges[heat].unit",
	  ",\"spec\":{\"gauges\":{\"heat\":{\"value\":1,\"unit\":\"K\"}}}" },
	{ "the order of a set does not count", &crew, "{\"spec\":{\"crew\":[\"a\",\"b\"]}}",
	  "{\"spec\":{\"crew\":[\"b\",\"a\"]}}",
	  "", ",\"spec\":{\"crew\":[\"a\",\"b\"]}" },
	{ "what is in it does", &crew, "{\"spec\":{\"crew\":[\"a\",\"b\"]}}", "{\"spec\":{\"crew\":[\"b\",\"c\"]}}",
	  "spec.crew", ",\"spec\":{\"crew\":[\"a\",\"b\"]}" },
};

TEST(an_owner_sees_and_sends_only_its_own)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf paths = FL_BUF(FL_KIB), body = FL_BUF(4 * FL_KIB),
					      expect = FL_BUF(4 * FL_KIB);
		struct fl_jw w = FL_JW(&body);
		struct fl_demo want, have;
		struct fl_str_list differ;
		bool in_meta = row->owner == &labels || row->owner == &starred;

		OK(fl_owner_check(row->owner, NULL));
		OK(test_read(fl_demo_bind(), row->want, 0, &arena, &want, NULL));
		OK(test_read(fl_demo_bind(), row->have, 0, &arena, &have, NULL));
		OK(fl_owned_diff(row->owner, &want, &have, &arena, &differ, NULL));
		for (uint32_t i = 0; i < differ.len; i++)
			fl_buf_printf(&paths, "%s%.*s", i ? " " : "", FL_ARG(differ.at[i]));
		OK(fl_buf_check(&paths, "paths", NULL));
		CHECK_STR(fl_buf_view(&paths), row->paths);

		OK(fl_owned_apply(row->owner, FL_S("ns"), FL_S("r1"), FL_S("u1"), FL_S(""), &want, &arena, &w, NULL));
		fl_buf_printf(&expect, "{\"apiVersion\":\"demo.fairlead.test/v1alpha1\",\"kind\":\"Rocket\","
				       "\"metadata\":"
			      "{\"name\":\"r1\",\"namespace\":\"ns\",\"uid\":\"u1\"%s%s}", in_meta ? row->apply : "}",
			      in_meta ? "}" : row->apply);
		OK(fl_buf_check(&expect, "test", NULL));
		CHECK_STR(fl_buf_view(&body), expect.p);
	}
}

TEST(the_part_that_is_owned_differs_from_the_whole_in_nothing_owned)
{
	for (int round = 0; round < 40; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo made, part;
		struct fl_str_list differ;

		OK(test_make(fl_demo_bind(), &arena, &made));
		OK(fl_owned_part(&capacity, &made, &arena, &part, NULL));
		OK(fl_owned_diff(&capacity, &part, &made, &arena, &differ, NULL));
		CHECK_INT(differ.len, 0);
		CHECK(!part.has.spec && !part.has.meta && !part.status.has.phase);
	}
}

/* ---- what apply makes of it ---- */

static const struct {
	const char *says;
	const struct fl_owner *owner;
	const char *want, *have, *after;
} lay_rows[] = {
	{ "what is ours is replaced, what is not stays", &capacity,
	  "{\"status\":{\"capacity\":{\"total\":2},\"replicas\":9}}",
	  "{\"spec\":{\"displayName\":\"a\"},\"status\":{\"replicas\":1,\"capacity\":{\"total\":1,\"used\":1}}}",
	  "{\"spec\":{\"displayName\":\"a\"},\"status\":{\"replicas\":1,\"capacity\":{\"total\":2}}}" },
	{ "what is around it comes with it", &capacity, "{\"status\":{\"capacity\":{\"total\":2}}}", "{}",
	  "{\"status\":{\"capacity\":{\"total\":2}}}" },
	{ "what is not wanted goes", &capacity, "{}",
	  "{\"status\":{\"replicas\":1,\"capacity\":{\"total\":1},\"conditions\":[{\"type\":\"CapacityLow\"}]}}",
	  "{\"status\":{\"replicas\":1}}" },
	{ "an element takes the place of its like, its neighbours stay", &ready,
	  "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"reason\":\"B\"}]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"A\"},{\"type\":\"Ready\",\"reason\":\"A\"},{\"type\":\"Z\"}]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"A\"},{\"type\":\"Ready\",\"reason\":\"B\"},{\"type\":\"Z\"}]}}" },
	{ "members of a map by how they begin: those that are not wanted go", &starred,
	  "{\"metadata\":{\"labels\":{\"gpu.io/mig-1g\":\"7\",\"gpu.io/mig-2g\":\"1\",\"x\":\"y\"}}}",
	  "{\"metadata\":{\"labels\":{\"gpu.io/mig\":\"y\",\"gpu.io/mig-1g\":\"6\",\"gpu.io/mig-3g\":\"1\"}}}",
	  "{\"metadata\":{\"labels\":{\"gpu.io/mig\":\"y\",\"gpu.io/mig-1g\":\"7\",\"gpu.io/mig-2g\":\"1\"}}}" },
	{ "a new element comes last", &ready, "{\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"Z\"}]}}",
	  "{\"status\":{\"conditions\":[{\"type\":\"Z\"},{\"type\":\"Ready\"}]}}" },
	{ "a field of an element", &ports, "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":1}]}}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":2},{\"name\":\"x\"}]}}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":1},{\"name\":\"x\"}]}}" },
	{ "a field of an element that is not wanted", &ports, "{}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80,\"target\":2}]}}",
	  "{\"spec\":{\"ports\":[{\"name\":\"web\",\"number\":80}]}}" },
	{ "members of a map, which stays sorted", &labels,
	  "{\"metadata\":{\"labels\":{\"a\":\"2\",\"gpu.io/node\":\"n\"}}}",
	  "{\"metadata\":{\"labels\":{\"b\":\"1\",\"z\":\"1\"},\"annotations\":{\"x\":\"y\"}}}",
	  "{\"metadata\":{\"labels\":{\"a\":\"2\",\"b\":\"1\",\"gpu.io/node\":\"n\",\"z\":\"1\"}}}" },
};

TEST(what_apply_makes_of_an_object)
{
	EACH_ROW (row, lay_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_jw w = FL_JW(&text);
		struct fl_demo want, have, after;
		struct fl_str_list differ;

		OK(test_read(fl_demo_bind(), row->want, 0, &arena, &want, NULL));
		OK(test_read(fl_demo_bind(), row->have, 0, &arena, &have, NULL));
		OK(fl_owned_lay(row->owner, &want, &have, &arena, &after, NULL));
		fl_encode(fl_demo_bind(), &after, &w);
		OK(fl_buf_check(&text, "text", NULL));
		CHECK_STR(fl_buf_view(&text), row->after);
		OK(fl_owned_diff(row->owner, &want, &after, &arena, &differ, NULL));
		CHECK_INT(differ.len, 0);
	}
}

TEST(what_was_laid_over_never_differs_and_what_was_there_is_untouched)
{
	static const struct fl_owner *const owners[] = { &capacity, &ready, &ports, &labels, &gauges, &crew };

	for (int round = 0; round < 30; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo want, have, before, after, back;
		const struct fl_owner *owner = owners[(size_t)round % FL_LEN(owners)];
		struct fl_str_list differ;

		OK(test_make(fl_demo_bind(), &arena, &want));
		OK(test_make(fl_demo_bind(), &arena, &have));
		OK(fl_copy(fl_demo_bind(), &have, &arena, &before, NULL));
		OK(fl_owned_lay(owner, &want, &have, &arena, &after, NULL));
		CHECK(fl_equal(fl_demo_bind(), &have, &before));
		OK(fl_owned_diff(owner, &want, &after, &arena, &differ, NULL));
		CHECK_INT(differ.len, 0);
		OK(fl_owned_lay(owner, &have, &after, &arena, &back, NULL));
		OK(fl_owned_diff(owner, &have, &back, &arena, &differ, NULL));
		CHECK_INT(differ.len, 0);
	}
}

TEST(one_owner_writes_one_subresource)
{
	const struct fl_owner both = { "m", &fl_demo_kind,
				       (const char *const[]){ "status.phase", "spec.color", NULL } };

	REFUSED(fl_owner_check(&both, NULL), FL_E_INVALID);
	CHECK(fl_owner_is_status(&capacity));
	CHECK(!fl_owner_is_status(&ports));
}

static const struct {
	const char *says, *path;
	bool leads;
} path_rows[] = {
	{ "a field", "spec.replicas", true },
	{ "an object", "spec.service", true },
	{ "a list", "spec.ports", true },
	{ "an element by all its keys", "spec.ports[name=a,number=1]", true },
	{ "a field of an element", "spec.ports[name=a,number=1].target", true },
	{ "a member of a map", "metadata.labels[a.b/c]", true },
	{ "no such field", "spec.wings", false },
	{ "nothing", "", false },
	{ "no end", "spec.", false },
	{ "not all keys", "spec.ports[name=a]", false },
	{ "keys in another order", "spec.ports[number=1,name=a]", false },
	{ "more keys", "spec.ports[name=a,number=1,x=2]", false },
	{ "a key that is no number", "spec.ports[name=a,number=x]", false },
	{ "an element of an atomic list", "spec.stages[domain=a]", false },
	{ "a bracket that does not close", "metadata.labels[a", false },
	{ "below a scalar", "spec.replicas.x", false },
	{ "below a list", "spec.ports.name", false },
	{ "inside an atomic object", "spec.nodeSelector.matchLabels", false },
	{ "a name of ours", "faults", false },
};

TEST(owners_name_fields_that_exist)
{
	EACH_ROW (row, path_rows) {
		struct fl_owner owner = { "m", &fl_demo_kind, (const char *const[]){ row->path, NULL } };

		if (row->leads)
			OK(fl_owner_check(&owner, NULL));
		else
			REFUSED(fl_owner_check(&owner, NULL), FL_E_INVALID);
	}
}

static const struct {
	const char *says, *a, *b, *conflict;   /* NULL: apart */
} apart_rows[] = {
	{ "two fields", "spec.replicas", "spec.color", NULL },
	{ "a name that begins like another", "spec.memory", "spec.mem", NULL },
	{ "the same", "spec.color", "spec.color", "spec.color of Rocket is written by m1 and by m2" },
	{ "one above the other", "status", "status.capacity.used",
	  "status.capacity.used of Rocket is written by m1 and by m2" },
	{ "two elements", "status.conditions[type=A]", "status.conditions[type=B]", NULL },
	{ "a key, and all that begin so", "metadata.labels[gpu.io/mig-*]", "metadata.labels[gpu.io/mig-1g]",
	  "metadata.labels[gpu.io/mig-1g] of Rocket is written by m1 and by m2" },
	{ "a key that begins otherwise", "metadata.labels[gpu.io/mig-*]", "metadata.labels[gpu.io/mig]", NULL },
	{ "an element and its list", "status.conditions[type=A]", "status.conditions",
	  "status.conditions[type=A] of Rocket is written by m1 and by m2" },
};

/* Another part of the same resource, and another resource. */
static const struct fl_kind other_part = { .group = "demo.fairlead.test", .plural = "rockets", .kind = "Rocket",
					   .root = fl_demo_bind, .status = true };
static const struct fl_kind other_kind = { .group = "demo.fairlead.test", .plural = "planes", .kind = "Plane",
					   .root = fl_demo_bind, .status = true };

static const struct {
	const char *says, *manager;
	const struct fl_kind *kind;
	const char *path, *conflict;
} manager_rows[] = {
	{ "another manager of another field", "m2", &fl_demo_kind, "spec.replicas", NULL },
	{ "the same manager of another field: its apply removes ours", "m1", &fl_demo_kind, "spec.replicas",
	  "two owners of Rocket are both manager m1: each apply removes what the other one applied; rename one" },
	{ "the same manager of the status: the server tells them apart", "m1", &fl_demo_kind, "status.phase", NULL },
	{ "the same field by another table of the resource", "m2", &other_part, "spec.color",
	  "spec.color of Rocket is written by m1 and by m2" },
	{ "the same field and manager of another resource", "m1", &other_kind, "spec.color", NULL },
};

TEST(two_owners_of_one_resource_have_two_managers)
{
	EACH_ROW (row, manager_rows) {
		struct fl_owner a = { "m1", &fl_demo_kind, (const char *const[]){ "spec.color", NULL } };
		struct fl_owner b = { row->manager, row->kind, (const char *const[]){ row->path, NULL } };
		struct fl_err err = { 0 };

		if (!row->conflict) {
			OK(fl_owners_apart(&a, &b, &err));
			continue;
		}
		REFUSED(fl_owners_apart(&a, &b, &err), FL_E_CONFLICT);
		CHECK_STR(fl_str(err.text), row->conflict);
	}
}

TEST(two_owners_never_write_the_same_field)
{
	EACH_ROW (row, apart_rows) {
		struct fl_owner a = { "m1", &fl_demo_kind, (const char *const[]){ row->a, NULL } };
		struct fl_owner b = { "m2", &fl_demo_kind, (const char *const[]){ row->b, NULL } };
		struct fl_err err = { 0 };

		if (!row->conflict) {
			OK(fl_owners_apart(&a, &b, &err));
			continue;
		}
		REFUSED(fl_owners_apart(&a, &b, &err), FL_E_CONFLICT);
		CHECK_STR(fl_str(err.text), row->conflict);
	}
}
