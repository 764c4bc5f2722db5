#include "wishes.h"
#include "api/node.h"
#include "json/bind_walk.h"

/* What is wished for looks as what is wanted. */
static const struct fl_kind wish_kind = {
	.group = "node.fairlead.test", .version = "v1", .kind = "Wish", .plural = "wishes", .root = fl_resource_bind,
	.cluster_scoped = true, .help = "A Resource that a test asks for.",
};

static const struct fl_owner owner = {
	.manager = "wishes", .kind = &fl_resource_kind,
	.paths = (const char *const[]){ "units", "ways", "nodes", "devRoot", "cdiKind", "cdiAnnotationPrefix",
					"sharePolicy", "oneShare", "preStart", "mpsRoot", "refused", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

struct facts {
	struct fl_ref ref;
	const struct fl_resource *wish;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_resource *resource = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), resource->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->ref = (struct fl_ref){ &fl_resource_kind, FL_S(""), key.name, FL_S("") };
	facts->wish = fl_view_get(view, &wish_kind, FL_S(""), key.name);
	return true;
}

static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;

	if (facts->wish)
		fl_want(plan, &owner, facts->ref, facts->wish);
	else
		fl_want_gone(plan, facts->ref);
}

static const struct fl_watched watches[] = { { &wish_kind, by_name, false }, { &fl_resource_kind, by_name, false },
					     { 0 } };
static const struct fl_capability wishes = {
	.name = "wishes", .watches = watches, .key = &fl_resource_kind, .owners = owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan,
};

int wishes_sources(struct fl_loop *loop, struct fl_plugins **plugins, struct fl_err *err)
{
	const struct fl_source sources[] = {
		{ .kind = &wish_kind },
		{ .kind = &fl_resource_kind, .sink = &fl_plugin_sink, .sink_arg = plugins },
		{ .kind = &fl_plugin_socket_kind },
		{ .kind = &fl_holder_kind },
		{ .kind = &fl_active_kind },
		{ .kind = &fl_dir_trouble_kind },
	};

	for (size_t i = 0; i < FL_LEN(sources); i++) {
		int r = fl_loop_source(loop, &sources[i], err);

		if (r < 0)
			return r;
	}
	return fl_loop_capability(loop, &wishes, err);
}

static int put_one(struct fl_feed *feed, yyjson_val *json, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_resource resource = { 0 };
	int r = fl_decode(fl_resource_bind(), json, &arena, FL_DECODE_STRICT, &resource, err);

	return r < 0 ? r : fl_feed_put(feed, &resource, err);
}

int wishes_put(struct fl_loop *loop, struct fl_str text, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_feed *feed = fl_loop_feed(loop, &wish_kind);
	yyjson_val *json;
	size_t i, len;
	int r = fl_json_read(NULL, text, FL_JSON_STRICT, &doc, err);

	if (r < 0)
		return r;
	if (!yyjson_is_arr(yyjson_doc_get_root(doc)))
		return fl_fail(err, FL_E_INVALID, "not a list of Resources");
	fl_feed_begin(feed);
	yyjson_arr_foreach (yyjson_doc_get_root(doc), i, len, json) {
		r = put_one(feed, json, err);
		if (r < 0)
			return r;
	}
	fl_feed_synced(feed);
	return 0;
}
