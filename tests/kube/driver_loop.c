/* The whole round for the tests in tests/cluster/kube: watch, cache, plan, difference, apply, status, event. A
 * capability with one wish of each kind, on a kind of its own, a ConfigMap and a Node. */
#include "api/core.h"
#include "base/units.h"
#include "driver.h"
#include "run/kube.h"
#include <stdio.h>

/* ---- a kind ---- */

#define GADGET_SPEC(X) \
	X(STR, text, "text", LENGTH(0, 256), .help = "What its ConfigMap should say.") \
	X(STR, node, "node", LENGTH(0, 253), .help = "The Node that should bear its taint.")
FL_STRUCT(gadget_spec, GADGET_SPEC);
FL_BIND(gadget_spec, GADGET_SPEC)

#define GADGET_STATUS(X) \
	X(I64, seen, "observedGeneration", BETWEEN(0, INT64_MAX), .help = "The spec that this answers.") \
	FL_CONDITIONS(X)
FL_STRUCT(gadget_status, GADGET_STATUS);
FL_BIND(gadget_status, GADGET_STATUS)

#define GADGET(X) \
	FL_OBJECT(X) \
	X(OBJ(gadget_spec), spec, "spec", .help = "What is wanted.") \
	X(OBJ(gadget_status), status, "status", .help = "What is so.")
FL_STRUCT(gadget, GADGET);
FL_BIND(gadget, GADGET)

const struct fl_kind driver_gadget_kind = { .group = "test.fairlead.dev", .version = "v1", .kind = "Gadget",
					    .plural = "gadgets", .root = gadget_bind, .status = true,
					    .help = "Wants a ConfigMap and a taint." };

static void by_node(const void *object, struct fl_under *under)
{
	const struct gadget *gadget = object;

	if (gadget->spec.has.node)
		FL_UNDER(under, gadget->spec.node);
}
static const struct fl_index gadgets_by[] = { { "node", by_node }, { 0 } };

/* ---- who writes what ---- */

static const struct fl_owner map_owner = {
	.manager = "driver-map", .kind = &fl_config_map_kind, .paths = (const char *const[]){ "data[text]", NULL },
};
static const struct fl_owner status_owner = {
	.manager = "driver-status", .kind = &driver_gadget_kind,
	.paths = (const char *const[]){ "status.observedGeneration", "status.conditions[type=Mirrored]",
					"status.conditions[type=Contested]", NULL },
};
static const struct fl_owner *const owners[] = { &map_owner, &status_owner, NULL };
static const struct fl_shared taints = { "driver-taint", &fl_node_kind, "spec.taints", "key,effect" };
#define TAINT "test.fairlead.dev/gadget"
#define PREFIX "gadget-"

/* ---- facts and plan ---- */

struct facts {
	struct fl_ref gadget, map;
	const struct gadget *is;               /* NULL: it should leave nothing behind */
	bool has_map, says_so;
	struct fl_ref *bearers;                /* Nodes that bear its taint and should not */
	uint32_t bearer_count;
	struct fl_ref node;                    /* .kind NULL: none, or it is not there */
	struct fl_str contested;
};

static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *f = facts_;
	struct fl_config_map map = { 0 };
	struct gadget status = { 0 };
	struct fl_taint taint = { 0 };
	struct fl_pair pair = { FL_S("text"), f->is ? f->is->spec.text : FL_S("") };

	FL_SET(&taint, key, FL_S(TAINT));
	FL_SET(&taint, effect, FL_S("NoSchedule"));
	for (uint32_t i = 0; i < f->bearer_count; i++)
		fl_want_no_item(plan, &taints, f->bearers[i], &taint);
	if (!f->is) {
		if (f->has_map)
			fl_want_gone(plan, f->map);
		return;
	}
	FL_SET(&map, data, ((struct fl_map){ &pair, 1 }));
	fl_want(plan, &map_owner, f->map, &map);
	FL_SET(FL_IN(&status, status), seen, f->is->meta.generation);
	fl_want(plan, &status_owner, f->gadget, &status);
	fl_want_condition(plan, &status_owner, f->gadget, FL_EMIT_NORMAL, "Mirrored",
			  f->says_so ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, f->says_so ? "Same" : "Differs",
			  "ConfigMap %.*s", FL_ARG(f->map.name));
	if (f->contested.p)
		fl_want_condition(plan, &status_owner, f->gadget, FL_EMIT_WARNING, "Contested", FL_CONDITION_TRUE,
				  "TakenAway", "%.*s", FL_ARG(f->contested));
	if (f->node.kind) {
		FL_SET(&taint, value, f->gadget.name);
		fl_want_item(plan, &taints, f->node, &taint);
	}
	fl_say(plan, f->gadget, "Mirror", "ConfigMap %.*s should say '%.*s'", FL_ARG(f->map.name), FL_ARG(pair.value));
}

static struct fl_str bears(const struct fl_node *node)
{
	for (uint32_t i = 0; i < node->spec.taints.len; i++)
		if (fl_str_eq(node->spec.taints.at[i].key, FL_S(TAINT)))
			return node->spec.taints.at[i].value;
	return (struct fl_str){ NULL, 0 };
}

static void gather_nodes(struct fl_view *view, struct facts *f)
{
	struct fl_each each = fl_view_all(view, &fl_node_kind);
	struct fl_str wanted = f->is && f->is->spec.has.node ? f->is->spec.node : FL_S("");
	uint32_t room = each.cache ? each.cache->len : 0;
	const struct fl_node *node;

	f->bearers = fl_view_alloc(view, room + 1, sizeof *f->bearers);
	while (f->bearers && (node = fl_each_next(&each))) {
		if (fl_str_eq(node->meta.name, wanted))
			f->node = FL_REF(&fl_node_kind, node);
		else if (bears(node).p && fl_str_eq(bears(node), f->gadget.name) && f->bearer_count < room)
			f->bearers[f->bearer_count++] = FL_REF(&fl_node_kind, node);
	}
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	struct facts *f = facts;
	struct fl_buf name = FL_BUF(FL_RUN_NAME);
	const struct fl_config_map *map;
	char *text;

	say("plan %.*s/%.*s", FL_ARG(key.space), FL_ARG(key.name));
	fl_buf_printf(&name, PREFIX "%.*s", FL_ARG(key.name));
	text = name.failed ? NULL : fl_view_alloc(view, name.len + 1, 1);
	if (text)
		memcpy(text, name.p, name.len);
	fl_buf_free(&name);
	if (!text)
		return false;
	f->is = fl_view_get(view, &driver_gadget_kind, key.space, key.name);
	f->gadget = f->is ? FL_REF(&driver_gadget_kind, f->is) : key;
	map = fl_view_get(view, &fl_config_map_kind, key.space, fl_str(text));
	f->map = map ? FL_REF(&fl_config_map_kind, map) :
		       (struct fl_ref){ &fl_config_map_kind, key.space, fl_str(text), FL_S("") };
	f->has_map = map;
	for (uint32_t i = 0; f->is && map && i < map->data.len; i++)
		if (fl_str_eq(map->data.at[i].key, FL_S("text")))
			f->says_so = fl_str_eq(map->data.at[i].value, f->is->spec.text);
	f->contested = fl_view_contested(view, &map_owner, key.space, fl_str(text));
	gather_nodes(view, f);
	return true;
}

/* ---- which changes matter ---- */

static struct fl_str watched_space;   /* a taint names its gadget, and this is where gadgets are */

static void gadget_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct gadget *gadget = after ? after : before;

	fl_dirty_key(dirty, gadget->meta.space, gadget->meta.name);
}

static void map_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_config_map *map = after ? after : before;

	if (fl_str_starts(map->meta.name, FL_S(PREFIX)))
		fl_dirty_key(dirty, map->meta.space, fl_str_sub(map->meta.name, sizeof PREFIX - 1, map->meta.name.len));
}

static void node_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_node *nodes[] = { before, after };

	for (unsigned i = 0; i < FL_LEN(nodes); i++) {
		struct fl_each each;
		const struct gadget *gadget;

		if (!nodes[i])
			continue;
		if (bears(nodes[i]).p)
			fl_dirty_key(dirty, watched_space, bears(nodes[i]));
		each = fl_view_by(dirty->view, &driver_gadget_kind, "node", nodes[i]->meta.name);
		while ((gadget = fl_each_next(&each)))
			fl_dirty_key(dirty, gadget->meta.space, gadget->meta.name);
	}
}

static const struct fl_watched watches[] = {
	{ &driver_gadget_kind, gadget_keys, false }, { &fl_config_map_kind, map_keys, false },
	{ &fl_node_kind, node_keys, false }, { 0 },
};
static const struct fl_capability mirror = {
	.name = "mirror", .watches = watches, .key = &driver_gadget_kind, .owners = owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it,
};

/* ---- the outside: the real one, with each write told ---- */

static void told_start(void *kube, struct fl_write *write)
{
	say("write %s %s %.*s/%.*s", fl_name(&fl_want_names, (int)write->what), write->ref.kind->kind,
	    FL_ARG(write->ref.space), FL_ARG(write->ref.name));
	fl_kube_sink.start(kube, write);
}

static void told_cancel(void *kube, struct fl_write *write)
{
	fl_kube_sink.cancel(kube, write);
}

static struct fl_sink told_sink = { .start = told_start, .cancel = told_cancel };

static const struct fl_source sources[] = {
	{ &driver_gadget_kind, gadgets_by, NULL, NULL }, { &fl_config_map_kind, NULL, NULL, NULL },
	{ &fl_node_kind, NULL, NULL, NULL },
};
static struct fl_watch *watching[FL_LEN(sources)];

int loop_verb(struct driver *driver)
{
	struct fl_loop_options options = { .seed = { 1, 2 }, .log = driver->log, .event = fl_kube_event };
	struct fl_err err = { 0 };

	watched_space = fl_str(driver_flag(driver, "space"));
	driver->events = fl_events_new(driver->kube,
				       &(struct fl_events_options){ .controller = "fairlead.dev/driver",
								    .instance = "driver-0", .log = driver->log },
				       &err);
	options.arg = driver->events;
	driver->loop = driver->events ? fl_loop_new(driver->io, &options, &err) : NULL;
	told_sink.room = fl_kube_sink.room;
	for (unsigned i = 0; driver->loop && i < FL_LEN(sources); i++) {
		struct fl_source source = sources[i];

		source.sink = &told_sink;
		source.sink_arg = driver->kube;
		if (fl_loop_source(driver->loop, &source, &err) < 0)
			return -1;
	}
	if (!driver->loop || fl_loop_capability(driver->loop, &mirror, &err) < 0) {
		say("failed %s", err.text);
		return -1;
	}
	for (unsigned i = 0; i < FL_LEN(sources); i++) {
		bool everywhere = sources[i].kind == &fl_node_kind;

		watching[i] = fl_watch_new(driver->kube,
					   &(struct fl_watch_options){
						   .kind = sources[i].kind,
						   .space = everywhere ? NULL : driver_flag(driver, "space"),
						   .to = &fl_feed_watch,
						   .arg = fl_loop_feed(driver->loop, sources[i].kind),
						   .log = driver->log },
					   &err);
		if (!watching[i])
			return -1;
	}
	return 0;
}

void loop_explain(struct driver *driver, const char *name)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_err err = { 0 };

	if (fl_loop_explain(driver->loop, &driver_gadget_kind, fl_str(driver_flag(driver, "space")), fl_str(name),
			    &text, &err) < 0)
		say("explained nothing: %s", err.text);
	for (uint32_t i = 0; i < text.len; i++)
		if (text.p[i] == '\n')
			text.p[i] = '|';
	say("explained %.*s", FL_ARG(fl_buf_view(&text)));
}

void loop_end(struct driver *driver)
{
	for (unsigned i = 0; i < FL_LEN(sources); i++)
		watching[i] = fl_watch_free(watching[i]);
	driver->loop = fl_loop_free(driver->loop);
}

/* ---- its definition, from its table ---- */

int definition_verb(struct driver *driver)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	const struct fl_kind *kind = &driver_gadget_kind;
	struct fl_jw w = FL_JW(&text);

	fl_kind_crd(&kind, 1, &w);
	say("object %.*s", FL_ARG(fl_buf_view(&text)));
	say("done %d", text.failed ? 0 : 1);
	fl_io_stop(driver->io);
	return 0;
}
