#include "base/base64.h"
#include "local/api_in.h"
#include <stdlib.h>

/* ---- get ---- */

struct fl_str fl_api_call_key(struct fl_api_call *call)
{
	const struct fl_str parts[] = { call->space_name, FL_S("/"), call->name };

	return call->resource->cluster ? call->name : fl_arena_join(&call->arena, parts, FL_LEN(parts));
}

static int refuse_ahead(struct fl_api_call *call)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = { .code = 504, .reason = "Timeout", .causes = &causes, .retry = 1 };

	fl_cause_add(&causes, "ResourceVersionTooLarge", FL_S(""), "Too large resource version");
	return fl_refuse(call, &refusal, "Timeout: Too large resource version: %llu, current: %llu",
			 (unsigned long long)call->wish.at_version, (unsigned long long)call->api->store.version);
}

int fl_api_call_get(struct fl_api_call *call)
{
	struct fl_str key = fl_api_call_key(call);
	const struct fl_state *state;

	if (!key.p)
		return -FL_E_NOMEM;
	if (call->wish.at_version > call->api->store.version)
		return refuse_ahead(call);
	state = fl_ordered_get(&call->resource->shelf.objects, key);
	if (!state)
		return fl_refuse_not_found(call);
	return fl_str_eq(call->sub, FL_S("scale")) ? fl_scale_get(call, state) : fl_answer_state(call, 200, state);
}

/* ---- what there was at a version ---- */

struct past {
	struct fl_str key;
	struct fl_state *state;      /* NULL: it was not there */
	uint32_t nth;                /* of two changes of one key the older one counts */
};

static int by_key(const void *a, const void *b)
{
	const struct past *x = a, *y = b;
	int order = fl_str_cmp(x->key, y->key);

	return order ? order : x->nth < y->nth ? -1 : x->nth > y->nth;
}

/* What the changes since `version` have replaced, by key. */
static int read_past(struct fl_api_call *call, uint64_t version, struct past **ret, uint32_t *ret_len)
{
	const struct fl_store *store = &call->api->store;
	const struct fl_store_change *change;
	struct past *past = fl_arena_get_n(&call->arena, store->len + 1, sizeof *past);
	uint32_t len = 0, kept = 0, at = 0;

	if (!past)
		return -FL_E_NOMEM;
	while ((change = fl_store_after(store, version, &at)) != NULL) {
		if (change->shelf == &call->resource->shelf) {
			past[len] = (struct past){ fl_state_key(change->after), change->before, len };
			len++;
		}
	}
	qsort(past, len, sizeof *past, by_key);
	for (uint32_t i = 0; i < len; i++) {
		if (!kept || !fl_str_eq(past[kept - 1].key, past[i].key))
			past[kept++] = past[i];
	}
	*ret = past;
	*ret_len = kept;
	return 0;
}

/* All states of that version from a key on, in order, borrowed: two ordered lists become one. */
struct walk {
	const struct fl_ordered *index;
	struct fl_spot spot;
	struct fl_state *next;
	struct past *past;
	uint32_t at, len;
};

static void walk_start(struct walk *walk, const struct fl_ordered *index, struct fl_str from)
{
	walk->index = index;
	walk->spot = fl_ordered_from(index, from);
	walk->next = fl_ordered_next(index, &walk->spot);
	while (walk->at < walk->len && fl_str_cmp(walk->past[walk->at].key, from) < 0)
		walk->at++;
}

static struct fl_state *walk_next(struct walk *walk)
{
	for (;;) {
		struct past *past = walk->at < walk->len ? &walk->past[walk->at] : NULL;
		struct fl_state *now = walk->next;
		int order = !past ? -1 : !now ? 1 : fl_str_cmp(fl_state_key(now), past->key);

		if (!past && !now)
			return NULL;
		if (order <= 0)
			walk->next = fl_ordered_next(walk->index, &walk->spot);
		if (order < 0)
			return now;
		walk->at++;
		if (past->state)
			return past->state;
	}
}

/* ---- continue ---- */

static struct fl_str resume_token(struct fl_api_call *call, int64_t version, struct fl_str key)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(2 * FL_KIB), text = FL_BUF(4 * FL_KIB);
	struct fl_jw w = FL_JW(&json);

	fl_jw_obj(&w);
	fl_jw_put(&w, "v", str, FL_S("meta.k8s.io/v1"));
	fl_jw_put(&w, "rv", i64, version);
	fl_jw_put(&w, "start", str, key);
	fl_jw_end_obj(&w);
	fl_base64_put(&text, FL_BASE64_URL_RAW, json.p, json.len);
	return json.failed || text.failed ? (struct fl_str){ 0 } : fl_arena_str(&call->arena, fl_buf_view(&text));
}

static int read_token(struct fl_api_call *call, struct fl_str token, int64_t *ret_version, struct fl_str *ret_key)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_str version = { 0 }, key = { 0 };
	struct fl_err err = { 0 };
	yyjson_val *root;
	int r = fl_base64_get(&json, FL_BASE64_URL_RAW, token, &err);

	if (r >= 0)
		r = fl_json_read(NULL, fl_buf_view(&json), 0, &doc, &err);
	if (r == -FL_E_NOMEM)
		return r;
	root = r < 0 ? NULL : yyjson_doc_get_root(doc);
	if (!fl_json_str(fl_json_get(root, FL_S("v")), &version) || !fl_str_eq(version, FL_S("meta.k8s.io/v1")) ||
	    !fl_json_i64(fl_json_get(root, FL_S("rv")), ret_version) || *ret_version == 0 ||
	    !fl_json_str(fl_json_get(root, FL_S("start")), &key) || !key.len)
		return fl_refuse_bad(call, "continue key is not valid: %s",
				     r < 0 ? err.text : "it is none of this server's");
	*ret_key = fl_arena_str(&call->arena, key);
	return ret_key->p ? 0 : -FL_E_NOMEM;
}

static int refuse_expired(struct fl_api_call *call, struct fl_str key)
{
	static const char says[] =
		"The provided continue parameter is too old to display a consistent list result. You can start a new "
		"list without the continue parameter, or use the continue token in this response to retrieve the "
		"remainder of the results. Continuing with the provided token results in an inconsistent list - "
		"objects "
		"that were created, modified, or deleted between the time the first chunk was returned and now may "
		"show up in the list.";
	struct fl_str token = resume_token(call, -1, key);
	struct fl_jw w = FL_JW(&call->body);

	if (!token.p)
		return -FL_E_NOMEM;
	(void)fl_answer_begin(call);
	call->status = 410;
	fl_jw_obj(&w);
	fl_jw_put(&w, "kind", str, FL_S("Status"));
	fl_jw_put(&w, "apiVersion", str, FL_S("v1"));
	fl_jw_key(&w, FL_S("metadata"));
	fl_jw_obj(&w);
	fl_jw_put(&w, "continue", str, token);
	fl_jw_end_obj(&w);
	fl_jw_put(&w, "status", str, FL_S("Failure"));
	fl_jw_put(&w, "message", str, fl_str(says));
	fl_jw_put(&w, "reason", str, FL_S("Expired"));
	fl_jw_put(&w, "code", i64, 410);
	fl_jw_end_obj(&w);
	fl_buf_char(&call->body, '\n');
	return call->body.failed ? -FL_E_NOMEM : -FL_E_INVALID;
}

/* ---- list ---- */

static int check_versions(struct fl_api_call *call)
{
	const struct fl_wish *wish = &call->wish;
	bool zero = !wish->version_set || wish->at_version == 0;

	if (wish->initial_set && call->verb == FL_VERB_LIST)
		return fl_refuse_options(call, "ListOptions", "sendInitialEvents", "FieldValueForbidden",
					 "Forbidden: sendInitialEvents is forbidden for list");
	if (wish->match != FL_MATCH_NONE && !wish->version_set)
		return fl_refuse_options(call, "ListOptions", "resourceVersionMatch", "FieldValueForbidden",
					 "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is "
					 "provided");
	if (wish->match != FL_MATCH_NONE && wish->resume.len)
		return fl_refuse_options(call, "ListOptions", "resourceVersionMatch", "FieldValueForbidden",
					 "Forbidden: resourceVersionMatch is forbidden when continue is provided");
	if (wish->match == FL_MATCH_EXACT && zero)
		return fl_refuse_options(call, "ListOptions", "resourceVersionMatch", "FieldValueForbidden",
					 "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
					 "resourceVersion \"0\"");
	if (wish->resume.len && !zero)
		return fl_refuse_bad(call, "specifying resource version is not allowed when using continue");
	return 0;
}

/* Which version is listed, and from where on; *ret_past: it is not the present one. */
static int choose_version(struct fl_api_call *call, uint64_t *ret_version, struct fl_str *ret_from)
{
	const struct fl_wish *wish = &call->wish;
	const struct fl_store *store = &call->api->store;
	bool exact = wish->match == FL_MATCH_EXACT ||
		     (wish->match == FL_MATCH_NONE && wish->limit && wish->version_set && wish->at_version);
	int64_t version = 0;
	int r;

	*ret_version = store->version;
	*ret_from = call->space_name.len ? fl_arena_printf(&call->arena, "%.*s/", FL_ARG(call->space_name)) : FL_S("");
	if (!ret_from->p)
		return -FL_E_NOMEM;
	if (wish->at_version > store->version)
		return refuse_ahead(call);
	if (wish->resume.len) {
		r = read_token(call, wish->resume, &version, ret_from);
		if (r < 0)
			return r;
		if (version > 0 && (uint64_t)version < store->forgotten)
			return refuse_expired(call, *ret_from);
		if (version > 0 && (uint64_t)version <= store->version)
			*ret_version = (uint64_t)version;
	} else if (exact) {
		if (wish->at_version < store->forgotten)
			return fl_refuse(call, &(struct fl_refusal){ .code = 410, .reason = "Expired" },
					 "The resourceVersion for the provided list is too old.");
		*ret_version = wish->at_version;
	}
	return 0;
}

/* Hold the states of this page; *ret_next is the first of the next one (NULL: none), *ret_rest how many there are. */
static int collect(struct fl_api_call *call, struct walk *walk, struct fl_str *ret_next, uint64_t *ret_rest)
{
	struct fl_filter space = { .space = call->filter.space };
	uint64_t limit = call->wish.limit ? call->wish.limit : UINT64_MAX;
	const struct fl_filter *filter = limit == UINT64_MAX && call->filter.reads ? &space : &call->filter;
	struct fl_state *state;

	call->filters = filter == &space;
	fl_peek_reset(&call->api->peek);
	while ((state = walk_next(walk)) != NULL) {
		int r = fl_filter_match(filter, state, &call->api->peek);

		if (r < 0)
			return r;
		if (call->space_name.len && !fl_str_eq(fl_state_space(state), call->space_name))
			break;   /* those of one namespace stand together */
		if (!r)
			continue;
		if (call->len == limit) {
			if (!ret_next->p)
				*ret_next = fl_state_key(state);
			if (call->filter.reads || call->filter.field_count)
				break;
			++*ret_rest;
			continue;
		}
		call->states[call->len++] = fl_state_hold(state);
	}
	return 0;
}

static void begin_list(struct fl_api_call *call, uint64_t version, struct fl_str token, uint64_t rest)
{
	struct fl_jw w = FL_JW(&call->body);
	struct fl_str group = call->resource->group;

	(void)fl_answer_begin(call);
	fl_jw_obj(&w);
	fl_jw_put(&w, "kind", str, call->resource->list_kind);
	fl_jw_key(&w, FL_S("apiVersion"));
	fl_buf_printf(&call->body, "\"%.*s%s%.*s\"", FL_ARG(group), group.len ? "/" : "", FL_ARG(call->version));
	w.comma = true;
	fl_jw_key(&w, FL_S("metadata"));
	fl_jw_obj(&w);
	fl_jw_key(&w, FL_S("resourceVersion"));
	fl_buf_printf(&call->body, "\"%llu\"", (unsigned long long)version);
	w.comma = true;
	if (token.len || !call->resource->builtin)   /* "" of a custom kind's last page */
		fl_jw_put(&w, "continue", str, token);
	if (token.len && rest)
		fl_jw_put(&w, "remainingItemCount", u64, rest);
	fl_jw_end_obj(&w);
	fl_jw_key(&w, FL_S("items"));
	fl_buf_char(&call->body, '[');
	call->outcome = FL_OUTCOME_LIST;
}

int fl_api_call_states(struct fl_api_call *call, uint64_t version, struct fl_str from, struct fl_str *ret_next,
		       uint64_t *ret_rest)
{
	struct walk walk = { 0 };
	int r = 0;

	if (version < call->api->store.version)
		r = read_past(call, version, &walk.past, &walk.len);
	if (r < 0)
		return r;
	call->states = fl_arena_get_n(&call->arena, call->resource->shelf.objects.len + walk.len + 1,
				      sizeof *call->states);
	if (!call->states)
		return -FL_E_NOMEM;
	walk_start(&walk, &call->resource->shelf.objects, from);
	return collect(call, &walk, ret_next, ret_rest);
}

int fl_api_call_list(struct fl_api_call *call)
{
	struct fl_str from, next = { 0 }, token = { 0 };
	uint64_t version = 0, rest = 0;
	int r = check_versions(call);

	if (r == 0)
		r = fl_api_call_filter(call);
	if (r == 0)
		r = choose_version(call, &version, &from);
	if (r == 0)
		r = fl_api_call_states(call, version, from, &next, &rest);
	if (r < 0)
		return r;
	if (next.p) {
		token = resume_token(call, (int64_t)version, next);
		if (!token.p)
			return -FL_E_NOMEM;
	}
	begin_list(call, version, token, rest);
	return call->body.failed ? -FL_E_NOMEM : 0;
}

/* Fill the body with the next states. */
bool fl_api_call_more(struct fl_api_call *call, struct fl_err *err)
{
	bool whole = !call->resource->builtin;   /* of built-in kinds the items do not say what they are */

	if (call->at > call->len)
		return false;
	fl_buf_clear(&call->body);
	fl_peek_reset(&call->api->peek);
	while (call->at < call->len && call->body.len < FL_API_PIECE && !call->body.failed) {
		struct fl_state *state = call->states[call->at];
		int r = call->filters ? fl_filter_match(&call->filter, state, &call->api->peek) : 1;

		if (r < 0) {
			(void)fl_fail(err, FL_E_NOMEM, "no memory for a list");
			return false;
		}
		if (r) {
			if (call->begun)
				fl_buf_char(&call->body, ',');
			call->begun = true;
			fl_state_print(&call->body, call->resource, call->version, state, whole);
		}
		fl_state_drop(state);
		call->states[call->at++] = NULL;
	}
	if (call->at == call->len) {
		fl_buf_str(&call->body, FL_S("]}\n"));
		call->at++;
	}
	return fl_buf_check(&call->body, "a list", err) == 0;
}
