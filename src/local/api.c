#include "local/api_in.h"

/* ---- the server ---- */

static void changed(void *arg, const struct fl_store_change *change)
{
	struct fl_api *api = arg;

	if (api->hooks && fl_api_is_hooks(api, change->shelf)) {
		fl_hook_set_drop(api->hooks);
		api->hooks = NULL;
	}
	fl_api_watch_changed(api, change);
}

/* The namespaces that every cluster has. */
static int add_namespace(struct fl_api *api, const char *name)
{
	static const char post[] = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}";
	char body[200];
	struct fl_ask ask = { .method = FL_S("POST"), .path = FL_S("/api/v1/namespaces"), .now = api->now,
			      .agent = FL_S("fairlead") };
	struct fl_buf buf = FL_BUF_IN(body);
	struct fl_api_call *call;
	int r;

	fl_buf_printf(&buf, post, name);
	ask.body = fl_buf_view(&buf);
	call = fl_api_call(api, &ask);
	r = call && call->status == 201 ? 0 : -FL_E_NOMEM;
	fl_api_call_free(call);
	return r;
}

struct fl_api *fl_api_new(const struct fl_api_options *options, int64_t now, struct fl_err *err)
{
	static const char *const spaces[] = { "default", "kube-system", "kube-public", "kube-node-lease" };
	FL_AUTO(fl_api) struct fl_api *api = fl_zalloc(sizeof *api);
	int r;

	if (!api)
		return fl_null(err, FL_E_NOMEM, "no memory for an API server");
	api->options = *options;
	api->chores_last = &api->chores;
	api->now = now;
	api->discovery = 1;
	fl_hmap_init(&api->owned, fl_collect_key, options->seed);
	r = fl_store_init(&api->store, options->window, err);
	if (r == 0)
		r = fl_api_resources_init(&api->resources, options->seed, err);
	if (r < 0)
		return NULL;
	api->store.changed = changed;
	api->store.arg = api;
	for (size_t i = 0; i < FL_LEN(spaces); i++) {
		if (add_namespace(api, spaces[i]) < 0)
			return fl_null(err, FL_E_NOMEM, "no memory for the namespaces of an API server");
	}
	fl_api_compact(api);   /* who watches comes later */
	return fl_steal(&api);
}

static void destroy(struct fl_api_call *call)
{
	if (!call)
		return;
	fl_buf_free(&call->body);
	fl_json_space_free(&call->space);
	fl_arena_free(&call->arena);
	fl_free(call);
}

void fl_api_free(struct fl_api *api)
{
	if (!api)
		return;
	while (api->chores) {
		struct fl_chore *chore = api->chores;

		api->chores = chore->next;
		fl_chore_free(chore);
	}
	fl_hook_set_drop(api->hooks);
	destroy(api->spare);
	fl_peek_free(&api->peek);
	fl_peek_free(&api->peek_before);
	fl_collect_free(api);
	if (api->store.ring)
		fl_store_free(&api->store);
	fl_api_resources_free(&api->resources);
	fl_free(api);
}

void fl_api_compact(struct fl_api *api)
{
	fl_store_forget(&api->store, api->store.version);
}

void fl_api_throttle(struct fl_api *api, uint32_t count, uint32_t seconds)
{
	api->throttled = count;
	api->throttle_seconds = seconds;
}

bool fl_api_knows(const struct fl_api *api, struct fl_str group, struct fl_str version)
{
	fl_vec_each (resource, &api->resources.list) {
		if (fl_str_eq((*resource)->group, group) && !(*resource)->gone && fl_served_find(*resource, version))
			return true;
	}
	return false;
}

/* ---- uids and names: out of the seed, so that a simulation repeats itself ---- */

static uint64_t draw(struct fl_api *api)
{
	api->uids++;
	return fl_siphash13(api->options.seed, &api->uids, sizeof api->uids);
}

void fl_api_uid(struct fl_api *api, char text[FL_UID_TEXT])
{
	uint64_t high = (draw(api) & ~0xf000ull) | 0x4000, low = (draw(api) >> 2) | 1ull << 63;
	struct fl_buf buf = { .p = text, .cap = FL_UID_TEXT, .max = FL_UID_TEXT - 1 };

	fl_buf_printf(&buf, "%08llx-%04llx-%04llx-%04llx-%012llx", (unsigned long long)(high >> 32),
		      (unsigned long long)(high >> 16 & 0xffff), (unsigned long long)(high & 0xffff),
		      (unsigned long long)(low >> 48), (unsigned long long)(low & 0xffffffffffff));
}

void fl_api_suffix(struct fl_api *api, char text[6])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";   /* no vowels: no words */
	uint64_t drawn = draw(api);

	for (unsigned i = 0; i < 5; i++) {
		text[i] = letters[drawn % (sizeof letters - 1)];
		drawn /= sizeof letters - 1;
	}
	text[5] = '\0';
}

/* ---- calls ---- */

static struct fl_api_call *begin(struct fl_api *api)
{
	struct fl_api_call *call = api->spare;
	yyjson_alc alc;

	if (call)
		api->spare = NULL;
	else
		call = fl_zalloc(sizeof *call);
	if (!call)
		return NULL;
	call->api = api;
	call->body.max = FL_API_ANSWER_MAX;
	alc = fl_json_alc(&call->space);
	call->doc = yyjson_mut_doc_new(&alc);
	if (!call->doc) {
		destroy(call);
		return NULL;
	}
	return call;
}

/* All but its memory. */
static void release(struct fl_api_call *call)
{
	if (call->watch)
		fl_api_watch_leave(call->watch);
	for (uint32_t i = call->at; i < call->len && call->states; i++)
		fl_state_drop(call->states[i]);
	fl_state_drop(call->before);
	fl_hooking_end(&call->hooking);
	fl_api_call_free(call->one);
}

void fl_api_call_free(struct fl_api_call *call)
{
	struct fl_api *api;
	struct fl_api_call fresh = { 0 };

	if (!call)
		return;
	api = call->api;
	release(call);
	if (api->spare || call->body.cap > FL_MIB) {
		destroy(call);
		return;
	}
	fl_arena_reset(&call->arena);
	fl_json_space_reset(&call->space);
	fl_buf_clear(&call->body);
	fresh.arena = call->arena;
	fresh.space = call->space;
	fresh.body = call->body;
	*call = fresh;
	api->spare = call;
}

struct fl_api_call *fl_api_call_inner(struct fl_api *api, struct fl_api_resource *resource,
				      const struct fl_state *state)
{
	FL_AUTO(fl_api_call) struct fl_api_call *call = begin(api);

	if (!call)
		return NULL;
	call->ask.now = api->now;
	call->ask.agent = FL_S("kube-controller-manager");   /* its name there */
	call->resource = resource;
	call->version = fl_served_stored(resource)->name;
	call->served = (struct fl_served *)(uintptr_t)fl_served_stored(resource);
	call->space_name = fl_arena_str(&call->arena, fl_state_space(state));
	call->name = fl_arena_str(&call->arena, fl_state_name(state));
	return call->space_name.p && call->name.p ? fl_steal(&call) : NULL;
}

static int run_verb(struct fl_api_call *call)
{
	switch (call->verb) {
	case FL_VERB_GET:
		return fl_api_call_get(call);
	case FL_VERB_LIST:
		return fl_api_call_list(call);
	case FL_VERB_WATCH:
		return fl_api_call_watch(call);
	case FL_VERB_CREATE:
	case FL_VERB_UPDATE:
	case FL_VERB_PATCH:
		return fl_api_call_write(call);
	case FL_VERB_DELETE:
		return fl_api_call_delete(call);
	case FL_VERB_DELETE_ALL:
		return fl_api_call_delete_all(call);
	case FL_VERB_COUNT_:
		break;
	}
	return 0;
}

static int throttle(struct fl_api_call *call)
{
	struct fl_api *api = call->api;

	if (!api->throttled)
		return 0;
	api->throttled--;
	return fl_refuse(call, &(struct fl_refusal){ .code = 429, .reason = "TooManyRequests",
						     .retry = api->throttle_seconds },
			 "the server has received too many requests and has asked us to try again later");
}

/* All answers are JSON: does the client take that? */
static int check_accept(struct fl_api_call *call)
{
	static const struct fl_str taken[] = { FL_S_INIT("*/*"), FL_S_INIT("application/*"),
					       FL_S_INIT("application/json") };
	struct fl_str rest = call->ask.accept, one, type = FL_S("");

	if (!rest.len)
		return 0;
	while (rest.len && fl_str_split(&rest, ',', &one)) {
		(void)fl_str_split(&one, ';', &type);
		if (fl_str_in(taken, FL_LEN(taken), fl_str_trim(type)))
			return 0;
	}
	return fl_refuse(call, &(struct fl_refusal){ .code = 406, .reason = "NotAcceptable" },
			 "only the following media types are accepted: application/json, application/yaml, "
			 "application/vnd.kubernetes.protobuf");
}

static int run(struct fl_api_call *call)
{
	bool mine = false;
	int r = throttle(call);

	if (r == 0)
		r = fl_api_call_discovery(call, &mine);
	if (r < 0 || mine)
		return r;
	r = fl_api_call_route(call);
	if (r == 0)
		r = check_accept(call);
	if (r == 0)
		r = fl_api_call_wish(call);
	if (r == 0 && call->served->deprecated.len)
		fl_api_call_warn(call, "%.*s", FL_ARG(call->served->deprecated));
	return r < 0 ? r : run_verb(call);
}

struct fl_api_call *fl_api_call(struct fl_api *api, const struct fl_ask *ask)
{
	struct fl_api_call *call = begin(api);
	int r;

	if (!call)
		return NULL;
	api->now = ask->now;
	call->ask = *ask;
	r = run(call);
	if (r == -FL_E_NOMEM || call->lost) {
		fl_api_call_free(call);
		return NULL;
	}
	return call;
}

/* What it is about has changed while webhooks were asked. */
static int start_again(struct fl_api_call *call)
{
	struct fl_api_call fresh = { .api = call->api, .ask = call->ask, .doc = call->doc, .outer = call->outer };
	int r = fl_hooking_again(call);

	if (r < 0)
		return r;
	release(call);
	fl_buf_clear(&call->body);
	fresh.arena = call->arena;
	fresh.space = call->space;
	fresh.body = call->body;
	fresh.hooking.tries = call->hooking.tries;
	*call = fresh;
	return run(call);
}

static int go_on(struct fl_api_call *call)
{
	int current;

	call->outcome = FL_OUTCOME_ANSWER;
	if (call->verb == FL_VERB_DELETE_ALL)
		return fl_api_call_delete_all_on(call);
	current = fl_api_call_is_current(call);
	if (current <= 0)
		return current < 0 ? current : start_again(call);
	return call->verb == FL_VERB_DELETE ? fl_api_call_delete_on(call) : fl_api_call_write_on(call);
}

bool fl_api_call_resume(struct fl_api_call *call, int64_t now)
{
	call->api->now = now;
	return !call->lost && go_on(call) != -FL_E_NOMEM && !call->lost;
}

enum fl_outcome fl_api_call_outcome(const struct fl_api_call *call)
{
	return call->outcome;
}

int fl_api_call_status(const struct fl_api_call *call)
{
	return call->status;
}

struct fl_str fl_api_call_body(const struct fl_api_call *call)
{
	return fl_buf_view(&call->body);
}

struct fl_headers fl_api_call_headers(const struct fl_api_call *call)
{
	return (struct fl_headers){ call->headers, call->header_count };
}
