#include "local/api_in.h"

/* May it go now? What is deleted is gone with its last finalizer. */
static bool finished(const struct fl_api_call *call)
{
	yyjson_mut_val *meta = fl_meta(call->object);
	int64_t grace = 0;

	if (!call->old || !fl_tree_get(meta, FL_S("deletionTimestamp")) || fl_object_kept(call))
		return false;
	(void)fl_tree_i64(fl_tree_get(meta, FL_S("deletionGracePeriodSeconds")), &grace);
	return grace == 0;
}

/* The object becomes what it is now: put, or taken away where nothing keeps it any more. *ret_after is the new state,
 * or the old one where nothing changed or it was a dry run; a reference. */
int fl_commit(struct fl_api_call *call, struct fl_state **ret_after)
{
	struct fl_api *api = call->api;
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	struct fl_chore *chore;
	bool gone = finished(call);

	if (call->old && !gone && fl_tree_equal(call->old, call->object)) {
		*ret_after = fl_state_hold(call->before);
		return 0;
	}
	if (call->wish.dry) {
		*ret_after = call->before ? fl_state_hold(call->before) : NULL;
		return 0;
	}
	/* The last change of what goes is not seen. */
	after = fl_api_call_state(call, gone ? call->old : call->object);
	if (after && fl_state_json(after).len > FL_API_OBJECT_MAX)
		return fl_refuse(call, &(struct fl_refusal){ .code = 500 }, "etcdserver: request is too large");
	chore = after ? fl_chore_new(api, call->resource, after) : NULL;
	if (!chore || (!gone && fl_collect_add(api, call->resource, after) < 0) ||
	    (!gone && fl_store_put(&api->store, &call->resource->shelf, after) < 0)) {
		fl_chore_free(chore);
		return -FL_E_NOMEM;
	}
	call->removed = gone;
	if (gone)
		fl_store_remove(&api->store, &call->resource->shelf, after);
	fl_collect_drop(api, call->resource, call->before, gone ? NULL : after);
	fl_chore_add(api, chore, call->before, gone);
	*ret_after = fl_steal(&after);
	return 0;
}

/* Take it away at once, whatever is left. */
int fl_commit_gone(struct fl_api_call *call, struct fl_state **ret_after)
{
	FL_AUTO(fl_state) struct fl_state *last = NULL;
	struct fl_chore *chore;

	if (call->wish.dry) {
		*ret_after = fl_state_hold(call->before);
		return 0;
	}
	last = fl_api_call_state(call, call->object);
	chore = last ? fl_chore_new(call->api, call->resource, last) : NULL;
	if (!chore)
		return -FL_E_NOMEM;
	fl_store_remove(&call->api->store, &call->resource->shelf, last);
	fl_collect_drop(call->api, call->resource, call->before, NULL);
	fl_chore_add(call->api, chore, call->before, true);
	*ret_after = fl_steal(&last);
	return 0;
}
