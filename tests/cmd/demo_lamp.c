#include "demo_lamp.h"

FL_BIND(lamp_spec, LAMP_SPEC)
FL_BIND(lamp_status, LAMP_STATUS)
FL_BIND(lamp, LAMP)

const struct fl_kind lamp_kind = { .group = "test.fairlead.dev", .version = "v1", .kind = "Lamp", .plural = "lamps",
				   .root = lamp_bind, .status = true,
				   .help = "Says something in a ConfigMap, and shines on a Node." };

#define TAINT "test.fairlead.dev/lamp"
#define LABEL "test.fairlead.dev/lamp"
#define PREFIX "lamp-"

static void by_node(const void *object, struct fl_under *under)
{
	const struct lamp *lamp = object;

	if (lamp->spec.has.node && lamp->spec.node.len)
		FL_UNDER(under, lamp->spec.node);
}
const struct fl_index lamps_by[] = { { "node", by_node }, { 0 } };

/* NAMESPACE.NAME of the Lamp whose taint it bears. */
static struct fl_str bears(const struct fl_node *node)
{
	for (uint32_t i = 0; i < node->spec.taints.len; i++)
		if (fl_str_eq(node->spec.taints.at[i].key, FL_S(TAINT)))
			return node->spec.taints.at[i].value;
	return (struct fl_str){ NULL, 0 };
}

static void by_lamp(const void *node, struct fl_under *under)
{
	FL_UNDER(under, bears(node));
}
const struct fl_index lamp_nodes_by[] = { { "lamp", by_lamp }, { 0 } };

/* ---- who writes what ---- */

static const struct fl_owner map_owner = {
	.manager = "demo-map", .kind = &fl_config_map_kind,
	.paths = (const char *const[]){ "data[text]", "metadata.labels[" LABEL "]", NULL },
};
static const struct fl_owner status_owner = {
	.manager = "demo-status", .kind = &lamp_kind,
	.paths = (const char *const[]){ "status.observedGeneration", "status.conditions[type=Mirrored]",
					"status.conditions[type=Contested]", NULL },
};
static const struct fl_owner *const owners[] = { &map_owner, &status_owner, NULL };
static const struct fl_shared taints = { "demo-taint", &fl_node_kind, "spec.taints", "key,effect" };

/* ---- facts and plan ---- */

struct facts {
	struct fl_ref lamp, map;
	const struct lamp *is;             /* NULL: it should leave nothing behind */
	bool has_map, says_so;
	struct fl_str full_name;           /* NAMESPACE.NAME */
	struct fl_ref *bearers;            /* Nodes that bear its taint and should not */
	uint32_t bearer_count;
	struct fl_ref node;                /* .kind NULL: none, or it is not there */
	struct fl_str contested;
};

static void plan_node(const struct facts *f, struct fl_plan *plan)
{
	struct fl_taint taint = { 0 };

	FL_SET(&taint, key, FL_S(TAINT));
	FL_SET(&taint, effect, FL_S("NoSchedule"));
	for (uint32_t i = 0; i < f->bearer_count; i++)
		fl_want_no_item(plan, &taints, f->bearers[i], &taint);
	if (!f->node.kind)
		return;
	FL_SET(&taint, value, f->full_name);
	fl_want_item(plan, &taints, f->node, &taint);
}

static void plan_map(const struct facts *f, struct fl_plan *plan)
{
	struct fl_pair text = { FL_S("text"), f->is->spec.text }, label = { FL_S(LABEL), FL_S("yes") };
	struct fl_config_map map = { 0 };

	FL_SET(&map, data, ((struct fl_map){ &text, 1 }));
	FL_SET(FL_IN(&map, meta), labels, ((struct fl_map){ &label, 1 }));
	fl_want(plan, &map_owner, f->map, &map);
	fl_want_condition(plan, &status_owner, f->lamp, f->says_so ? FL_EMIT_NORMAL : FL_EMIT_NOBODY, "Mirrored",
			  f->says_so ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, f->says_so ? "Same" : "Differs",
			  "ConfigMap %.*s", FL_ARG(f->map.name));
	fl_say(plan, f->lamp, "Mirror", "ConfigMap %.*s should say '%.*s'", FL_ARG(f->map.name), FL_ARG(text.value));
}

static void plan_lamp(const void *facts_, struct fl_plan *plan)
{
	const struct facts *f = facts_;
	struct lamp lamp = { 0 };

	plan_node(f, plan);
	if (f->is) {
		FL_SET(FL_IN(&lamp, status), seen, f->is->meta.generation);
		fl_want(plan, &status_owner, f->lamp, &lamp);
	}
	if (f->is && f->is->spec.has.text)
		plan_map(f, plan);
	else if (f->has_map)
		fl_want_gone(plan, f->map);
	if (f->is && f->contested.p)
		fl_want_condition(plan, &status_owner, f->lamp, FL_EMIT_WARNING, "Contested", FL_CONDITION_TRUE,
				  "TakenAway", "%.*s", FL_ARG(f->contested));
}

static struct fl_str join(struct fl_view *view, struct fl_str a, struct fl_str b)
{
	char *text = fl_view_alloc(view, a.len + b.len + 1, 1);

	if (!text)
		return FL_S("");
	if (a.len)
		memcpy(text, a.p, a.len);
	if (b.len)
		memcpy(text + a.len, b.p, b.len);
	return (struct fl_str){ text, a.len + b.len };
}

static void gather_nodes(struct fl_view *view, struct facts *f)
{
	bool shines = f->is && f->is->spec.has.node && f->is->spec.node.len;
	const struct fl_node *node =
		shines ? fl_view_get(view, &fl_node_kind, FL_S(""), f->is->spec.node) : NULL;
	struct fl_each each = fl_view_by(view, &fl_node_kind, "lamp", f->full_name);
	uint32_t room = fl_view_count(view, &fl_node_kind, "lamp", f->full_name);

	if (node)
		f->node = FL_REF(&fl_node_kind, node);
	f->bearers = fl_view_alloc(view, room + 1, sizeof *f->bearers);
	while (f->bearers && f->bearer_count < room && (node = fl_each_next(&each)))
		if (!shines || !fl_str_eq(node->meta.name, f->is->spec.node))
			f->bearers[f->bearer_count++] = FL_REF(&fl_node_kind, node);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	struct facts *f = facts;
	struct fl_str name = join(view, FL_S(PREFIX), key.name);
	const struct fl_config_map *map = fl_view_get(view, &fl_config_map_kind, key.space, name);

	f->is = fl_view_get(view, &lamp_kind, key.space, key.name);
	f->lamp = f->is ? FL_REF(&lamp_kind, f->is) : key;
	f->map = map ? FL_REF(&fl_config_map_kind, map) :
		       (struct fl_ref){ &fl_config_map_kind, key.space, name, FL_S("") };
	f->has_map = map;
	for (uint32_t i = 0; f->is && map && i < map->data.len; i++)
		if (fl_str_eq(map->data.at[i].key, FL_S("text")))
			f->says_so = fl_str_eq(map->data.at[i].value, f->is->spec.text);
	f->contested = fl_view_contested(view, &map_owner, key.space, name);
	f->full_name = join(view, join(view, key.space, FL_S(".")), key.name);
	gather_nodes(view, f);
	return true;
}

/* ---- which changes matter ---- */

static void lamp_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct lamp *lamp = after ? after : before;

	fl_dirty_key(dirty, lamp->meta.space, lamp->meta.name);
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
		struct fl_str full = nodes[i] ? bears(nodes[i]) : FL_S("");
		int64_t dot = full.p ? fl_str_find(full, '.') : -1;
		struct fl_each each;
		const struct lamp *lamp;

		if (!nodes[i])
			continue;
		if (dot >= 0)   /* a namespace has none in its name */
			fl_dirty_key(dirty, fl_str_sub(full, 0, (uint32_t)dot),
				     fl_str_sub(full, (uint32_t)dot + 1, full.len));
		each = fl_view_by(dirty->view, &lamp_kind, "node", nodes[i]->meta.name);
		while ((lamp = fl_each_next(&each)))
			fl_dirty_key(dirty, lamp->meta.space, lamp->meta.name);
	}
}

static const struct fl_watched watches[] = {
	{ &lamp_kind, lamp_keys, false }, { &fl_config_map_kind, map_keys, false }, { &fl_node_kind, node_keys, false },
	{ 0 },
};
const struct fl_capability lamp_capability = {
	.name = "lamp", .watches = watches, .key = &lamp_kind, .owners = owners, .facts_size = sizeof(struct facts),
	.gather = gather, .plan = plan_lamp,
};

/* ---- webhooks ---- */

struct review_facts {
	struct fl_str other;               /* the Lamp that shines on its Node already */
};

static void gather_review(struct fl_view *view, const struct fl_review *review, void *facts)
{
	const struct lamp *lamp = review->object, *other;
	struct fl_each each;

	if (!lamp || !lamp->spec.has.node || !lamp->spec.node.len)
		return;
	each = fl_view_by(view, &lamp_kind, "node", lamp->spec.node);
	while ((other = fl_each_next(&each)))
		if (!fl_str_eq(other->meta.name, review->asked.name) ||
		    !fl_str_eq(other->meta.space, review->asked.space))
			((struct review_facts *)facts)->other = other->meta.name;
}

static void validate(const void *facts_, const struct fl_review *review, struct fl_verdict *verdict)
{
	const struct review_facts *facts = facts_;
	const struct lamp *lamp = review->object;

	fl_allow(verdict);
	if (!lamp)
		return;
	if (facts->other.len)
		fl_deny(verdict, 409, "Node %.*s has a Lamp already: %.*s", FL_ARG(lamp->spec.node),
			FL_ARG(facts->other));
	else if (lamp->spec.has.text && fl_str_starts(lamp->spec.text, FL_S("bad")))
		fl_deny(verdict, 422, "spec.text may not begin with 'bad', as '%.*s' does", FL_ARG(lamp->spec.text));
	else if (!lamp->spec.has.text)
		fl_warn(verdict, "a Lamp without spec.text says nothing");
}

static const struct fl_owner seen_owner = {
	.manager = "lamp-webhook", .kind = &lamp_kind,
	.paths = (const char *const[]){ "metadata.labels[test.fairlead.dev/seen]", NULL },
};

static void mutate(const void *facts, const struct fl_review *review, struct fl_verdict *verdict)
{
	struct fl_pair seen = { FL_S_INIT("test.fairlead.dev/seen"), FL_S_INIT("yes") };
	struct lamp want = { 0 };

	(void)facts;
	FL_SET(FL_IN(&want, meta), labels, ((struct fl_map){ &seen, 1 }));
	fl_allow(verdict);
	fl_verdict_want(verdict, review, &seen_owner, &want);
}

static const struct fl_kind *const reads[] = { &lamp_kind, NULL };
const struct fl_admission lamp_webhooks[] = {
	{ "/validate/lamps", &lamp_kind, reads, sizeof(struct review_facts), gather_review, validate },
	{ "/mutate/lamps", &lamp_kind, NULL, 0, NULL, mutate },
	{ 0 },
};

/* ---- the role ---- */

static const struct fl_role_kind kinds[] = {
	{ &lamp_kind, lamps_by, NULL, NULL }, { &fl_config_map_kind, NULL, LABEL, NULL },
	{ &fl_node_kind, lamp_nodes_by, NULL, NULL }, { 0 },
};
static const struct fl_capability *const capabilities[] = { &lamp_capability, NULL };

const struct fl_role lamp_role = {
	.name = "demo", .reports = "test.fairlead.dev/demo", .kinds = kinds, .capabilities = capabilities,
	.webhooks = lamp_webhooks,
};
