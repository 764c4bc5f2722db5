#include "local/api_in.h"

struct fl_chore *fl_chore_new(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state)
{
	struct fl_chore *chore = fl_zalloc(sizeof *chore);

	(void)api;
	if (chore)
		*chore = (struct fl_chore){ .resource = resource, .state = fl_state_hold(state) };
	return chore;
}

void fl_chore_free(struct fl_chore *chore)
{
	if (!chore)
		return;
	fl_state_drop(chore->state);
	fl_free(chore);
}

static void append(struct fl_api *api, struct fl_chore *chore)
{
	*api->chores_last = chore;
	api->chores_last = &chore->next;
}

static bool acts_on(const struct fl_api_resource *resource)
{
	return resource->builtin && (fl_str_eq(resource->key, FL_S("namespaces")) ||
				     fl_str_eq(resource->plural, FL_S("customresourcedefinitions")));
}

/* Most writes leave nothing to do. */
void fl_chore_add(struct fl_api *api, struct fl_chore *chore, const struct fl_state *before, bool gone)
{
	const struct fl_state *state = chore->state;

	chore->gone = gone;
	if (gone || state->going || (state->owned && !before) || (state->owned && before && !before->owned) ||
	    acts_on(chore->resource))
		append(api, chore);
	else
		fl_chore_free(chore);
}

int fl_chore_look(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state)
{
	struct fl_chore *chore = fl_chore_new(api, resource, state);

	if (!chore)
		return -FL_E_NOMEM;
	append(api, chore);
	return 0;
}

static struct fl_str uid_of(yyjson_doc *doc)
{
	struct fl_str uid = { 0 };

	(void)fl_json_str(fl_json_get(fl_json_get(yyjson_doc_get_root(doc), FL_S("metadata")), FL_S("uid")), &uid);
	return uid;
}

static int look_gone(struct fl_api *api, struct fl_chore *chore)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_json_read(NULL, fl_state_json(chore->state), 0, &doc, NULL);

	if (r == 0)
		r = fl_collect_gone(api, uid_of(doc));
	if (r == 0)
		r = fl_collect_owners(api, chore->state);
	return r == 0 ? fl_builtin_left(api, chore->resource, chore->state) : r;
}

static int look_going(struct fl_api *api, struct fl_chore *chore)
{
	FL_AUTO(fl_api_call) struct fl_api_call *call = fl_api_call_inner(api, chore->resource, chore->state);
	int r = call ? fl_api_call_load(call) : -FL_E_NOMEM;

	return r < 0 || !call->before ? r : fl_collect_going(api, call);
}

/* 1: not done yet. */
static int run(struct fl_api *api, struct fl_chore *chore)
{
	int r = 0;

	if (chore->gone)
		r = look_gone(api, chore);
	else if (chore->state->going)
		r = look_going(api, chore);
	else if (chore->state->owned)
		r = fl_collect_check(api, chore->resource, chore->state);
	if (r == 0 && acts_on(chore->resource))
		r = fl_builtin_look(api, chore->resource, chore->state, chore->gone);
	return r;
}

bool fl_api_work(struct fl_api *api, int64_t now)
{
	struct fl_chore *chore = api->chores;

	if (!chore)
		return false;
	api->now = now;
	if (run(api, chore) != 0)
		return true;   /* there is more of it; or memory was refused, and it is done again */
	api->chores = chore->next;
	if (!api->chores)
		api->chores_last = &api->chores;
	fl_chore_free(chore);
	return api->chores != NULL;
}
