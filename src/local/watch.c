#include "base/chain.h"
#include "local/api_in.h"

/* States of the beginning that are printed for one chunk: a connection takes them in pieces. */
#define PIECE (64 * FL_KIB)

static bool has_filter(const struct fl_api_call *call)
{
	return call->filter.space.len || call->filter.labels.len || call->filter.field_count;
}

/* ---- the start ---- */

static int check_initial(struct fl_api_call *call)
{
	const struct fl_wish *wish = &call->wish;
	struct fl_causes causes = FL_CAUSES(&call->arena);

	if (wish->initial_set && wish->match != FL_MATCH_NOT_OLDER) {
		fl_cause_add(&causes, "FieldValueForbidden", FL_S("resourceVersionMatch"),
			     "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
		if (wish->match != FL_MATCH_NONE)
			fl_cause_add(&causes, "FieldValueNotSupported", FL_S("resourceVersionMatch"),
				     "Unsupported value: \"%s\": supported values: \"NotOlderThan\"",
				     fl_name(&fl_match_names, (int)wish->match));
		return fl_refuse_options_all(call, "ListOptions", &causes);
	}
	if (wish->match != FL_MATCH_NONE && !wish->initial_set)
		return fl_refuse_options(call, "ListOptions", "resourceVersionMatch", "FieldValueForbidden",
					 "Forbidden: resourceVersionMatch is forbidden for watch unless "
					 "sendInitialEvents is provided");
	if (wish->limit && wish->initial)
		return fl_refuse_options(call, "ListOptions", "limit", "FieldValueForbidden",
					 "Forbidden: limit is forbidden for watch when sendInitialEvents is provided");
	return 0;
}

int fl_api_call_watch(struct fl_api_call *call)
{
	int r = check_initial(call);

	if (r == 0)
		r = fl_api_call_filter(call);
	if (r < 0)
		return r;
	(void)fl_answer_begin(call);
	call->outcome = FL_OUTCOME_WATCH;
	return 0;
}

/* The objects that there are, as far as the watch begins with them. */
static int hold_initial(struct fl_api_watch *watch)
{
	struct fl_api_call *call = watch->call;
	struct fl_str next = { 0 };
	uint64_t rest = 0;
	int r;

	call->wish.limit = 0;
	r = fl_api_call_states(call, call->api->store.version,
			   call->space_name.len ? fl_arena_printf(&call->arena, "%.*s/", FL_ARG(call->space_name))
						: FL_S(""), &next, &rest);
	watch->initial = call->states;
	watch->len = call->len;
	call->states = NULL;
	call->len = 0;
	return r;
}

void fl_api_watch_start(struct fl_api_call *call, struct fl_api_watch *watch)
{
	const struct fl_wish *wish = &call->wish;
	bool any = !wish->version_set || wish->at_version == 0;

	watch->call = call;
	watch->timeout = wish->grace * 1000000;
	watch->cursor = wish->at_version;
	call->watch = watch;
	fl_chain_add(&call->resource->watches, watch);
	if (wish->initial_set ? wish->initial : any) {
		watch->cursor = call->api->store.version;
		watch->over = hold_initial(watch) < 0;
		watch->marks = wish->initial && wish->bookmarks;
	} else if (any) {
		watch->cursor = call->api->store.version;
	}
}

void fl_api_watch_leave(struct fl_api_watch *watch)
{
	while (watch->at < watch->len)
		fl_state_drop(watch->initial[watch->at++]);
	if (watch->from)
		fl_chain_take(watch);
}

/* ---- events ---- */

enum event { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED, EVENT_COUNT };
static const char *const event_name[] = { "ADDED", "MODIFIED", "DELETED" };

static void put_event(struct fl_buf *buf, const struct fl_api_call *call, enum event event,
		      const struct fl_state *state)
{
	fl_buf_str(buf, FL_S("{\"type\":\""));
	fl_buf_str(buf, fl_str(event_name[event]));
	fl_buf_str(buf, FL_S("\",\"object\":"));
	fl_state_print(buf, call->resource, call->version, state, true);
	fl_buf_str(buf, FL_S("}\n"));
}

static struct fl_chunk *chunk_of(struct fl_buf *buf)
{
	return buf->failed ? NULL : fl_chunk_new(fl_buf_view(buf));
}

/* What must not be lost was lost for want of memory: the client watches again from what it has. */
static bool give_up(struct fl_api_watch *watch)
{
	watch->over = true;
	watch->live = false;
	return false;
}

static bool send_buf(struct fl_api_watch *watch, struct fl_buf *buf)
{
	struct fl_chunk *chunk = chunk_of(buf);
	bool room;

	if (!chunk)
		return give_up(watch);
	room = watch->give(watch, chunk);
	fl_chunk_free(chunk);
	return room;
}

/* The object that left the selection is shown as it was, at the version of the change. */
static struct fl_state *left(const struct fl_store_change *change)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_API_ANSWER_MAX);
	struct fl_jw w = FL_JW(&buf);
	yyjson_mut_doc *copy;
	struct fl_state *state;

	if (fl_json_read(NULL, fl_state_json(change->before), 0, &doc, NULL) < 0)
		return NULL;
	copy = yyjson_doc_mut_copy(doc, NULL);
	if (!copy)
		return NULL;
	fl_buf_char(&buf, '{');
	fl_object_print(&w, yyjson_mut_doc_get_root(copy), change->version);
	fl_buf_char(&buf, '}');
	yyjson_mut_doc_free(copy);
	state = buf.failed ? NULL : fl_state_new(fl_state_space(change->before), fl_state_name(change->before),
						 fl_buf_view(&buf));
	if (state)
		state->version = change->version;
	return state;
}

/* One change, as those who watch see it: printed once for all who see the same. */
struct telling {
	const struct fl_store_change *change;
	struct fl_str version;               /* of the API that the chunks are in */
	struct fl_chunk *chunks[EVENT_COUNT];
	bool was_left;                       /* the chunk of DELETED is of one that left */
};

static void telling_free(struct telling *telling)
{
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		fl_chunk_free(telling->chunks[i]);
		telling->chunks[i] = NULL;
	}
}

static struct fl_chunk *tell(struct telling *telling, const struct fl_api_call *call, enum event event)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_API_ANSWER_MAX);
	FL_AUTO(fl_state) struct fl_state *was = NULL;
	const struct fl_store_change *change = telling->change;

	if (!fl_str_eq(telling->version, call->version)) {
		telling_free(telling);
		telling->version = call->version;
	}
	if (telling->chunks[event])
		return telling->chunks[event];
	if (event == EVENT_DELETED && !change->gone) {
		was = left(change);
		if (!was)
			return NULL;
	}
	put_event(&buf, call, event, was ? was : change->after);
	telling->chunks[event] = chunk_of(&buf);
	return telling->chunks[event];
}

/* What of a change this watch sees: an event, EVENT_COUNT for nothing, or FL_E_NOMEM. */
static int seen_as(struct fl_api *api, const struct fl_api_call *call, const struct fl_store_change *change)
{
	int before = 0, after = 0;

	if (!has_filter(call)) {
		before = change->before != NULL;
		after = !change->gone;
	} else {
		if (change->before)
			before = fl_filter_match(&call->filter, change->before, &api->peek_before);
		if (!change->gone)
			after = fl_filter_match(&call->filter, change->after, &api->peek);
	}
	if (before < 0 || after < 0)
		return -FL_E_NOMEM;
	if (after)
		return before ? EVENT_MODIFIED : EVENT_ADDED;
	return before ? EVENT_DELETED : EVENT_COUNT;
}

/* False: there is no room, or no memory. The change itself is taken. */
static bool pass_on(struct fl_api_watch *watch, struct telling *telling)
{
	struct fl_api *api = watch->call->api;
	int event = seen_as(api, watch->call, telling->change);
	struct fl_chunk *chunk;

	if (event < 0)
		return give_up(watch);
	watch->cursor = telling->change->version;
	if (event == EVENT_COUNT)
		return true;
	chunk = tell(telling, watch->call, (enum event)event);
	return chunk ? watch->give(watch, chunk) : give_up(watch);
}

void fl_api_watch_changed(struct fl_api *api, const struct fl_store_change *change)
{
	struct fl_api_resource *resource = fl_container(change->shelf, struct fl_api_resource, shelf);
	struct telling telling = { .change = change };

	fl_peek_reset(&api->peek);
	fl_peek_reset(&api->peek_before);
	for (struct fl_api_watch *watch = resource->watches, *next; watch; watch = next) {
		next = watch->next;
		if (!watch->live)
			continue;
		watch->live = pass_on(watch, &telling);
		if (watch->over)
			watch->ended(watch);
	}
	telling_free(&telling);
}

/* ---- those who are behind ---- */

/* An ERROR, after which nothing comes. */
static void end_too_old(struct fl_api_watch *watch)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB), says = FL_BUF(200);
	struct fl_jw w = FL_JW(&buf);
	struct fl_refusal refusal = { .code = 410, .reason = "Expired" };

	fl_buf_printf(&says, "too old resource version: %llu (%llu)", (unsigned long long)watch->cursor,
		      (unsigned long long)watch->call->api->store.forgotten);
	fl_jw_obj(&w);
	fl_jw_put(&w, "type", str, FL_S("ERROR"));
	fl_jw_key(&w, FL_S("object"));
	fl_status_print(&w, &refusal, fl_buf_view(&says));
	fl_jw_end_obj(&w);
	fl_buf_char(&buf, '\n');
	(void)send_buf(watch, &buf);
	watch->over = true;
}

static void put_bookmark(struct fl_buf *buf, const struct fl_api_watch *watch, bool end)
{
	const struct fl_api_call *call = watch->call;
	struct fl_str group = call->resource->group;

	fl_buf_printf(buf, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s%s%.*s\","
			   "\"metadata\":{\"resourceVersion\":\"%llu\"",
		      FL_ARG(call->resource->kind), FL_ARG(group), group.len ? "/" : "", FL_ARG(call->version),
		      (unsigned long long)watch->cursor);
	if (call->resource->builtin)
		fl_buf_str(buf, FL_S(",\"creationTimestamp\":null"));
	if (end)
		fl_buf_str(buf, FL_S(",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"));
	fl_buf_str(buf, FL_S("}}}\n"));
}

void fl_api_watch_bookmark(struct fl_api_watch *watch)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);

	if (!watch->live || watch->over || !watch->call->wish.bookmarks)
		return;
	watch->cursor = watch->call->api->store.version;   /* others' changes, too */
	put_bookmark(&buf, watch, false);
	watch->live = send_buf(watch, &buf);
	if (watch->over)
		watch->ended(watch);
}

static bool send_initial(struct fl_api_watch *watch)
{
	struct fl_api_call *call = watch->call;
	bool room = true;

	while (room && watch->at < watch->len) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_API_ANSWER_MAX);

		fl_peek_reset(&call->api->peek);
		while (watch->at < watch->len && buf.len < PIECE) {
			struct fl_state *state = watch->initial[watch->at];
			int r = call->filters ? fl_filter_match(&call->filter, state, &call->api->peek) : 1;

			if (r < 0)
				return give_up(watch);
			if (r)
				put_event(&buf, call, EVENT_ADDED, state);
			watch->initial[watch->at++] = NULL;
			fl_state_drop(state);
		}
		room = (!buf.len && !buf.failed) || send_buf(watch, &buf);
	}
	return room;
}

static bool send_missed(struct fl_api_watch *watch)
{
	struct fl_api *api = watch->call->api;
	const struct fl_store_change *change;
	uint32_t at = 0;
	bool room = true;

	if (watch->cursor < api->store.forgotten) {
		end_too_old(watch);
		return false;
	}
	while (room && (change = fl_store_after(&api->store, watch->cursor, &at)) != NULL) {
		struct telling telling = { .change = change };

		if (change->shelf == &watch->call->resource->shelf) {
			fl_peek_reset(&api->peek);
			fl_peek_reset(&api->peek_before);
			room = pass_on(watch, &telling);
			telling_free(&telling);
		}
		if (!watch->over)
			watch->cursor = change->version;
	}
	return room;
}

void fl_api_watch_pump(struct fl_api_watch *watch)
{
	bool room = !watch->over && !watch->live && send_initial(watch);

	if (room && watch->marks) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);

		put_bookmark(&buf, watch, true);
		watch->marks = false;
		room = send_buf(watch, &buf);
	}
	if (room)
		watch->live = send_missed(watch);
	if (watch->over)
		watch->ended(watch);
}
