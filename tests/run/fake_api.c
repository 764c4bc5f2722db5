#include "fake_api.h"
#include "api/walk.h"
#include "io/sys.h"
#include "json/bind_in.h"
#include "patch.h"
#include "rig.h"
#include <assert.h>

static const uint64_t seed[2] = { 7, 8 };

static struct fl_meta *meta_of(const struct fl_kind *kind, const void *object)
{
	const struct fl_field *meta = fl_field_find(kind->root(), FL_S("metadata"));

	assert(meta->of == fl_meta_bind);   /* others have no owners, and no finalizers: feed them by fl_feed_put */
	return (struct fl_meta *)(void *)((char *)(uintptr_t)object + meta->offset);
}

static struct fl_ref ref_of(const struct fl_kind *kind, const struct fl_meta *meta)
{
	return (struct fl_ref){ kind, meta->space, meta->name, meta->uid };
}

/* "name" or "namespace/name". */
static struct fl_ref ref_named(const struct fl_kind *kind, const char *text)
{
	struct fl_str all = fl_str(text);
	uint32_t slash = (uint32_t)(fl_str_find(all, '/') + 1);

	return (struct fl_ref){ kind, fl_str_sub(all, 0, slash ? slash - 1 : 0), fl_str_sub(all, slash, all.len) };
}

/* The metadata is there, whatever was laid. */
static void set_there(const struct fl_kind *kind, void *object)
{
	fl_has_set(kind->root(), object, fl_field_find(kind->root(), FL_S("metadata")), true);
}

static struct fl_cache *truth_of(struct fake_api *api, const struct fl_kind *kind)
{
	for (uint32_t i = 0; i < api->kinds; i++)
		if (api->sources[i].kind == kind)
			return &api->truth[i];
	return NULL;
}

/* Texts and all: the entry may go. */
static void *copy_of(struct fl_cache *truth, const struct fl_entry *entry, struct fl_arena *arena)
{
	const struct fl_bind *root = truth ? truth->kind->root() : NULL;
	void *object = root && entry ? fl_arena_get(arena, root->size) : NULL;
	void *own = object ? fl_arena_get(arena, root->size) : NULL;

	if (!own || fl_entry_unpack(truth, entry, arena, object, NULL) < 0)
		return NULL;
	return fl_copy(root, object, arena, own, NULL) == 0 ? own : NULL;
}

/* ---- clients ---- */

static void start(void *self, struct fl_write *write)
{
	struct fake_client *client = self;

	client->writes[client->held++] = write;
}

static void cancel(void *self, struct fl_write *write)
{
	struct fake_client *client = self;

	for (uint32_t i = 0; i < client->held; i++)
		if (client->writes[i] == write)
			client->writes[i] = client->writes[--client->held];
}

static const struct fl_sink sink = { start, cancel };

static int tell_one(struct fake_client *client, struct fl_ref ref, const void *object)
{
	struct fl_feed *feed = fl_loop_feed(client->loop, ref.kind);

	if (object)
		return fl_feed_put(feed, object, NULL);
	fl_feed_gone(feed, ref.space, ref.name);
	return 0;
}

/* NULL: it is gone. */
static void tell(struct fake_api *api, struct fl_ref ref, const void *object)
{
	for (uint32_t i = 0; i < api->client_count; i++)
		if (!api->clients[i]->deaf && tell_one(api->clients[i], ref, object) < 0)
			api->nomem = true;
}

void fake_hear(struct fake_client *client)
{
	struct fake_api *api = client->api;

	client->deaf = false;
	for (uint32_t i = 0; i < api->kinds; i++) {
		struct fl_cache *truth = &api->truth[i];
		struct fl_feed *feed = fl_loop_feed(client->loop, truth->kind);
		struct fl_entry *entry;
		uint32_t at = 0;

		fl_feed_begin(feed);
		while ((entry = fl_cache_each(truth, &at))) {
			FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
			const void *object = copy_of(truth, entry, &arena);

			api->nomem |= !object || fl_feed_put(feed, object, NULL) < 0;
		}
		fl_feed_synced(feed);
	}
}

int fake_client_init(struct fake_client *client, struct fake_api *api, const struct fl_capability *capability)
{
	struct fl_loop_options options = { .seed = { 7, 8 + api->client_count } };
	struct fl_err err = { 0 };

	client->api = api;
	client->loop = fl_loop_new(api->io, &options, &err);
	if (!client->loop)
		return -FL_E_NOMEM;
	api->clients[api->client_count++] = client;
	for (const struct fl_source *source = api->sources; source->kind; source++) {
		struct fl_source own = *source;

		own.sink = &sink;
		own.sink_arg = client;
		if (fl_loop_source(client->loop, &own, &err) < 0)
			return -(int)err.code;
	}
	if (fl_loop_capability(client->loop, capability, &err) < 0)
		return -(int)err.code;
	fake_hear(client);
	return api->nomem ? -FL_E_NOMEM : 0;
}

/* ---- the server ---- */

int fake_api_init(struct fake_api *api, const struct fl_source *sources)
{
	api->sources = sources;
	api->log = FL_BUF(64 * FL_KIB);
	fl_interns_init(&api->interns, seed);
	for (; sources[api->kinds].kind; api->kinds++)
		fl_cache_init(&api->truth[api->kinds], sources[api->kinds].kind, NULL, &api->interns, seed);
	api->io = rig_clock();
	return api->io ? 0 : -FL_E_NOMEM;
}

void fake_api_free(struct fake_api *api)
{
	for (uint32_t i = 0; i < api->client_count; i++)
		api->clients[i]->loop = fl_loop_free(api->clients[i]->loop);
	api->io = fl_io_free(api->io);
	for (uint32_t i = 0; i < api->kinds; i++)
		fl_cache_free(&api->truth[i]);
	fl_interns_free(&api->interns);
	fl_buf_free(&api->log);
}

static void take_out(struct fake_api *api, struct fl_ref ref);

/* Take an object in as it is now, with what the server adds; it goes when it was about to and nothing holds it. */
static int keep(struct fake_api *api, const struct fl_kind *kind, const void *before, void *object,
		struct fl_arena *arena)
{
	const struct fl_meta *old = before ? meta_of(kind, before) : NULL;
	struct fl_meta *meta = meta_of(kind, object);
	struct fl_cache_change change;
	struct fl_str_list paths = { NULL, 0 };

	if (before && (fl_equal(kind->root(), before, object) ||
		       fl_diff(kind->root(), before, object, arena, &paths, NULL) < 0))
		return fl_equal(kind->root(), before, object) ? 0 : -FL_E_NOMEM;
	FL_SET(meta, resource_version, fl_arena_printf(arena, "%llu", (unsigned long long)++api->version));
	FL_SET(meta, uid, old ? old->uid : fl_arena_printf(arena, "uid-%llu", (unsigned long long)api->version));
	FL_SET(meta, generation, old ? old->generation : 1);
	for (uint32_t i = 0; i < paths.len; i++)
		if (fl_str_starts(paths.at[i], FL_S("spec"))) {
			meta->generation++;
			break;
		}
	if (!meta->uid.p || !meta->resource_version.p)
		return -FL_E_NOMEM;
	if (meta->has.deletion_timestamp && !meta->finalizers.len) {
		take_out(api, ref_of(kind, meta));
		return 1;
	}
	if (fl_cache_put(truth_of(api, kind), object, &change, NULL) < 0)
		return -FL_E_NOMEM;
	fl_entry_drop(truth_of(api, kind), change.before);
	return 0;
}

/* 1: it is gone. */
static int remove_one(struct fake_api *api, const struct fl_kind *kind, void *object, struct fl_arena *arena)
{
	struct fl_meta *meta = meta_of(kind, object);
	void *going;

	if (!meta->finalizers.len) {
		take_out(api, ref_of(kind, meta));
		return 1;
	}
	if (meta->has.deletion_timestamp)
		return 0;
	going = fl_arena_get(arena, kind->root()->size);
	if (!going)
		return -FL_E_NOMEM;
	memcpy(going, object, kind->root()->size);
	FL_SET(meta_of(kind, going), deletion_timestamp, fl_wall(api->io) / 1000);
	if (keep(api, kind, object, going, arena) < 0)
		return -FL_E_NOMEM;
	memcpy(object, going, kind->root()->size);
	return 0;
}

/* What the garbage collector makes of the dependents of what is gone. */
static void collect(struct fake_api *api, struct fl_cache *truth, struct fl_str uid)
{
	struct fl_entry *entry;
	uint32_t at = UINT32_MAX;

	while ((entry = fl_cache_back(truth, &at))) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		void *object = copy_of(truth, entry, &arena);
		const struct fl_meta *meta = object ? meta_of(truth->kind, object) : NULL;
		int r;

		api->nomem |= !object;
		if (!meta || meta->owner_references.len != 1 || !fl_str_eq(meta->owner_references.at[0].uid, uid))
			continue;
		r = remove_one(api, truth->kind, object, &arena);
		api->nomem |= r < 0;
		if (r == 0)
			tell(api, ref_of(truth->kind, meta), object);
	}
}

static void take_out(struct fake_api *api, struct fl_ref ref)
{
	struct fl_cache *truth = truth_of(api, ref.kind);
	struct fl_cache_change change = fl_cache_remove(truth, ref.space, ref.name);

	api->version++;
	tell(api, ref, NULL);
	for (uint32_t i = 0; i < api->kinds; i++)
		collect(api, &api->truth[i], ref.uid);
	fl_entry_drop(truth, change.before);
}

/* *ret_there: it is there, be there memory for a copy or not. */
static void *get(struct fake_api *api, struct fl_ref ref, struct fl_arena *arena, bool *ret_there)
{
	struct fl_cache *truth = truth_of(api, ref.kind);
	const struct fl_entry *entry = truth ? fl_cache_get(truth, ref.space, ref.name) : NULL;
	void *object = copy_of(truth, entry, arena);

	*ret_there = entry != NULL;
	api->nomem |= entry && !object;
	return object;
}

const void *fake_api_get(struct fake_api *api, const struct fl_kind *kind, const char *name, struct fl_arena *arena)
{
	bool there;

	return get(api, ref_named(kind, name), arena, &there);
}

int fake_api_put(struct fake_api *api, const struct fl_kind *kind, const char *json)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	void *object = fl_arena_get(&arena, kind->root()->size);
	const void *before;
	int r = object ? test_read(kind->root(), json, 0, &arena, object, NULL) : -FL_E_NOMEM;
	bool there;

	if (r < 0)
		return r;
	before = get(api, ref_of(kind, meta_of(kind, object)), &arena, &there);
	r = api->nomem ? -FL_E_NOMEM : keep(api, kind, before, object, &arena);
	if (r == 0)
		tell(api, ref_of(kind, meta_of(kind, object)), object);
	return r < 0 || api->nomem ? -FL_E_NOMEM : 0;
}

int fake_api_delete(struct fake_api *api, const struct fl_kind *kind, const char *name)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	void *object = (void *)(uintptr_t)fake_api_get(api, kind, name, &arena);
	int r = object ? remove_one(api, kind, object, &arena) : 1;

	if (r == 0)
		tell(api, ref_of(kind, meta_of(kind, object)), object);
	return r < 0 || api->nomem ? -FL_E_NOMEM : 0;
}

void fake_api_show(struct fake_api *api, const struct fl_kind *kind, const char *name, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	void *object = (void *)(uintptr_t)fake_api_get(api, kind, name, &arena);
	struct fl_meta *meta = object ? meta_of(kind, object) : NULL, shown = { 0 };

	fl_buf_clear(out);
	if (!meta)
		return;
	if (meta->owner_references.len)
		FL_SET(&shown, owner_references, meta->owner_references);
	if (meta->finalizers.len)
		FL_SET(&shown, finalizers, meta->finalizers);
	*meta = shown;
	api->nomem |= test_write(kind->root(), object, out, NULL) < 0;
}

/* ---- writes ---- */

static int patched(const struct fl_write *write, const void *have, struct fl_arena *arena, void *ret)
{
	FL_AUTO(fl_buf) struct fl_buf before = FL_BUF(64 * FL_KIB), after = FL_BUF(64 * FL_KIB);
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	const struct fl_bind *root = write->ref.kind->root();
	yyjson_doc *doc, *patch;
	yyjson_mut_doc *changed;
	struct fl_jw w = FL_JW(&after);
	int r = test_write(root, have, &before, NULL);

	r = r < 0 ? r : fl_json_read(&space, fl_buf_view(&before), 0, &doc, NULL);
	r = r < 0 ? r : fl_json_read(&space, write->patch, FL_JSON_STRICT, &patch, NULL);
	r = r < 0 ? r : fl_patch_json(&space, yyjson_doc_get_root(doc), yyjson_doc_get_root(patch), &changed, NULL);
	if (r < 0)
		return r;
	fl_jw_mut(&w, yyjson_mut_doc_get_root(changed));
	return after.failed ? -FL_E_NOMEM : test_read(root, after.p, 0, arena, ret, NULL);
}

static bool adds_finalizer(const struct fl_meta *before, const struct fl_meta *after)
{
	return before->has.deletion_timestamp && after->finalizers.len > before->finalizers.len;
}

static bool two_controllers(const struct fl_meta *meta)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < meta->owner_references.len; i++)
		count += meta->owner_references.at[i].controller;
	return count > 1;
}

/* 0: *ret is what it became; 1: it is gone. */
static int change(struct fake_api *api, const struct fl_write *write, const void *have, struct fl_arena *arena,
		  void *ret)
{
	const struct fl_kind *kind = write->ref.kind;
	void *blank = have ? NULL : fl_arena_get(arena, kind->root()->size);
	int r;

	if (!have && !blank)
		return -FL_E_NOMEM;
	r = write->shared ? patched(write, have, arena, ret) :
			    fl_owned_lay(write->owner, write->object, have ? have : blank, arena, ret, NULL);
	if (r < 0)
		return r;
	set_there(kind, ret);
	FL_SET(meta_of(kind, ret), name, write->ref.name);
	FL_SET_TEXT(meta_of(kind, ret), space, write->ref.space);
	if (two_controllers(meta_of(kind, ret)) || (have && adds_finalizer(meta_of(kind, have), meta_of(kind, ret))))
		return -FL_E_INVALID;
	return keep(api, kind, have, ret, arena);
}

static int carry_out(struct fake_api *api, const struct fl_write *write, struct fl_arena *arena, void *ret)
{
	bool there;
	void *have = get(api, write->ref, arena, &there);
	const struct fl_meta *meta = have ? meta_of(write->ref.kind, have) : NULL;
	int r;

	if (there && !have)
		return -FL_E_NOMEM;
	if (!have && write->what != FL_WANT_OBJECT)
		return write->what == FL_WANT_GONE ? 1 : -FL_E_NOTFOUND;
	if (write->ref.uid.len && (!meta || !fl_str_eq(meta->uid, write->ref.uid)))
		return -FL_E_CONFLICT;
	if (write->as_seen && (!meta || !fl_str_eq(meta->resource_version, write->version)))
		return -FL_E_CONFLICT;
	if (write->what != FL_WANT_GONE)
		return change(api, write, have, arena, ret);
	r = remove_one(api, write->ref.kind, have, arena);
	if (r == 0)
		memcpy(ret, have, write->ref.kind->root()->size);
	return r;
}

int fake_serve(struct fake_client *client)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fake_api *api = client->api;
	struct fl_write *write = client->held ? client->writes[0] : NULL;
	struct fl_ref ref = { 0 };
	void *object;
	bool there;
	int r;

	if (!write)
		return 0;
	ref = (struct fl_ref){ write->ref.kind, fl_arena_str(&arena, write->ref.space),
			       fl_arena_str(&arena, write->ref.name) };
	object = fl_arena_get(&arena, ref.kind->root()->size);
	memmove(client->writes, client->writes + 1, --client->held * sizeof client->writes[0]);
	r = object && ref.space.p && ref.name.p ? carry_out(api, write, &arena, object) : -FL_E_NOMEM;
	fl_buf_printf(&api->log, "%s %s %.*s%s\n", fl_name(&fl_want_names, (int)write->what), ref.kind->kind,
		      FL_ARG(ref.name), r < 0 ? " refused" : "");
	client->done += r >= 0;
	client->refused += r < 0;
	if (r < 0)
		fl_write_failed(write, &(struct fl_err){ .code = (enum fl_code)-r, .text = "refused" });
	else if (r == 1)
		fl_write_gone(write);
	else
		fl_write_done(write, object);
	if (r == 0) {   /* what was answered is the write's, and that is over */
		object = get(api, ref, &arena, &there);
		if (object || !there)
			tell(api, ref, object);
	}
	return r == -FL_E_NOMEM || api->nomem ? -FL_E_NOMEM : 0;
}

/* ---- time ---- */

void fake_api_run(struct fake_api *api)
{
	for (int turns = 0; turns < 10000 && fl_io_next(api->io) <= fl_clock(api->io); turns++)
		api->nomem |= fl_io_turn(api->io, 0, NULL) < 0;
}

int fake_api_settle(struct fake_api *api)
{
	for (int i = 0; i < 400; i++) {
		uint32_t held = 0;

		fake_api_run(api);
		for (uint32_t k = 0; k < api->client_count; k++) {
			held += api->clients[k]->held;
			if (fake_serve(api->clients[k]) < 0)
				return -FL_E_NOMEM;
		}
		if (!held)
			break;
	}
	return api->nomem ? -FL_E_NOMEM : 0;
}

void fake_api_sleep(struct fake_api *api, uint64_t ns)
{
	uint64_t until = fl_clock(api->io) + ns;

	fake_api_run(api);
	while (fl_clock(api->io) < until) {
		api->nomem |= fl_io_turn(api->io, until, NULL) < 0;
		fake_api_run(api);
	}
}
