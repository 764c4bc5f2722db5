#include "local/api_in.h"

/* Objects that one piece of work deletes or changes. */
#define PIECE 64

/* ---- who owns what ----
 *
 * By the owner's uid, the objects that name it. An object may be listed that names it no more: who looks here reads the
 * object. */
struct owned_shelf {
	struct fl_api_resource *resource;
	struct fl_ordered objects;
};

struct owned {
	struct fl_str uid;
	FL_VEC(struct owned_shelf) shelves;
	char text[];
};

struct fl_str fl_collect_key(const void *object)
{
	return ((const struct owned *)object)->uid;
}

static void owned_free(struct owned *owned)
{
	fl_vec_each (shelf, &owned->shelves)
		fl_ordered_free(&shelf->objects);
	fl_vec_free(&owned->shelves);
	fl_free(owned);
}

void fl_collect_free(struct fl_api *api)
{
	uint32_t at = 0;
	struct owned *owned;

	while ((owned = fl_hmap_next(&api->owned, &at)) != NULL)
		owned_free(owned);
	fl_hmap_free(&api->owned);
}

static struct owned *owned_get(struct fl_api *api, struct fl_str uid)
{
	struct owned *owned = fl_hmap_get(&api->owned, uid);

	if (owned)
		return owned;
	owned = fl_zalloc(sizeof *owned + uid.len);
	if (!owned)
		return NULL;
	memcpy(owned->text, uid.p, uid.len);
	owned->uid = (struct fl_str){ owned->text, uid.len };
	if (fl_hmap_put(&api->owned, owned, NULL) < 0) {
		fl_free(owned);
		return NULL;
	}
	return owned;
}

static struct owned_shelf *shelf_of(struct owned *owned, const struct fl_api_resource *resource)
{
	fl_vec_each (shelf, &owned->shelves) {
		if (shelf->resource == resource)
			return shelf;
	}
	return NULL;
}

static int owned_add(struct fl_api *api, struct fl_str uid, struct fl_api_resource *resource, struct fl_state *state)
{
	struct owned *owned = owned_get(api, uid);
	struct owned_shelf *shelf = owned ? shelf_of(owned, resource) : NULL;

	if (!owned || (!shelf && fl_vec_push(&owned->shelves, ((struct owned_shelf){ .resource = resource })) < 0))
		return -FL_E_NOMEM;
	if (!shelf)
		shelf = &owned->shelves.at[owned->shelves.len - 1];
	return fl_ordered_put(&shelf->objects, state);
}

static void owned_del(struct fl_api *api, struct fl_str uid, const struct fl_api_resource *resource, struct fl_str key)
{
	struct owned *owned = fl_hmap_get(&api->owned, uid);
	struct owned_shelf *shelf = owned ? shelf_of(owned, resource) : NULL;
	uint32_t left = 0;

	if (!shelf)
		return;
	fl_ordered_del(&shelf->objects, key);
	fl_vec_each (each, &owned->shelves)
		left += each->objects.len;
	if (left)
		return;
	fl_hmap_del(&api->owned, owned->uid);
	owned_free(owned);
}

/* The ownerReferences of a state, in a document that the caller frees; NULL: none, or allocation failed. */
static yyjson_val *owners_of(const struct fl_state *state, yyjson_doc **ret_doc)
{
	if (fl_json_read(NULL, fl_state_json(state), 0, ret_doc, NULL) < 0)
		return NULL;
	return fl_json_get(fl_json_get(yyjson_doc_get_root(*ret_doc), FL_S("metadata")), FL_S("ownerReferences"));
}

static struct fl_str uid_of(yyjson_val *owner)
{
	struct fl_str uid = { 0 };

	(void)fl_json_str(fl_json_get(owner, FL_S("uid")), &uid);
	return uid;
}

int fl_collect_add(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *after)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	yyjson_val *owners, *owner;
	size_t i, n;

	if (!after->owned)
		return 0;
	owners = owners_of(after, &doc);
	if (!owners)
		return -FL_E_NOMEM;
	yyjson_arr_foreach (owners, i, n, owner) {
		if (uid_of(owner).len && owned_add(api, uid_of(owner), resource, after) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

void fl_collect_drop(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *before,
		     struct fl_state *after)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL, *now = NULL;
	yyjson_val *owners, *owner, *kept, *keeps = NULL;
	size_t i, n, j, m;

	if (!before || !before->owned)
		return;
	if (after && after->owned && !(keeps = owners_of(after, &now)))
		return;   /* a failed allocation: it stays listed, which harms nobody */
	owners = owners_of(before, &doc);
	yyjson_arr_foreach (owners, i, n, owner) {
		bool still = false;

		yyjson_arr_foreach (keeps, j, m, kept)
			still |= fl_str_eq(uid_of(kept), uid_of(owner));
		if (!still)
			owned_del(api, uid_of(owner), resource, fl_state_key(before));
	}
}

/* ---- an owner, looked up ---- */

static struct fl_state *find_owner(struct fl_api *api, yyjson_val *owner, struct fl_str space,
				   struct fl_api_resource **ret_resource)
{
	struct fl_str version = { 0 }, kind = { 0 }, name = { 0 }, group = FL_S("");
	struct fl_api_resource *resource;
	int64_t slash;
	char text[600];
	struct fl_buf key = FL_BUF_IN(text);

	(void)fl_json_str(fl_json_get(owner, FL_S("apiVersion")), &version);
	(void)fl_json_str(fl_json_get(owner, FL_S("kind")), &kind);
	(void)fl_json_str(fl_json_get(owner, FL_S("name")), &name);
	slash = fl_str_find(version, '/');
	if (slash >= 0)
		group = fl_str_sub(version, 0, (uint32_t)slash);
	resource = fl_api_resource_of_kind(&api->resources, group, kind);
	*ret_resource = resource;
	if (!resource || (!resource->cluster && !space.len))
		return NULL;
	if (!resource->cluster)
		fl_buf_printf(&key, "%.*s/", FL_ARG(space));
	fl_buf_str(&key, name);
	return key.failed ? NULL : fl_ordered_get(&resource->shelf.objects, fl_buf_view(&key));
}

struct fate {
	bool any, solid, waits, dangles;   /* owners: some; one that stays; one that waits for this one; one gone */
};

static int read_fate_of(struct fl_api *api, yyjson_val *owner, struct fl_str space, struct fate *ret)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_api_resource *known;
	struct fl_state *state = find_owner(api, owner, space, &known);
	struct fl_str uid = { 0 }, text;
	yyjson_val *meta, *one;
	bool waits = false;
	size_t i, n;

	ret->any = true;
	if (!known) {
		ret->solid = true;   /* the kind is not served: whether the owner exists is unknown */
		return 0;
	}
	if (state && fl_json_read(NULL, fl_state_json(state), 0, &doc, NULL) < 0)
		return -FL_E_NOMEM;
	meta = fl_json_get(doc ? yyjson_doc_get_root(doc) : NULL, FL_S("metadata"));
	(void)fl_json_str(fl_json_get(meta, FL_S("uid")), &uid);
	if (!state || !fl_str_eq(uid, uid_of(owner))) {
		ret->dangles = true;
		return 0;
	}
	yyjson_arr_foreach (fl_json_get(meta, FL_S("finalizers")), i, n, one)
		waits |= fl_json_str(one, &text) && fl_str_eq(text, FL_S("foregroundDeletion"));
	waits &= state->going;
	ret->waits |= waits;
	ret->solid |= !waits;
	return 0;
}

static int read_fate(struct fl_api *api, yyjson_val *owners, struct fl_str space, struct fate *ret)
{
	yyjson_val *owner;
	size_t i, n;
	int r = 0;

	yyjson_arr_foreach (owners, i, n, owner)
		r = r < 0 ? r : read_fate_of(api, owner, space, ret);
	return r;
}

/* ---- changes of the collector ---- */

static int remove_refs(struct fl_api_call *call,
		       bool (*goes)(struct fl_api_call *call, yyjson_mut_val *owner, const void *arg), const void *arg)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	yyjson_mut_val *list;

	call->object = fl_tree_copy(call->doc, call->old);
	if (!call->object)
		return -FL_E_NOMEM;
	list = fl_tree_get(fl_meta(call->object), FL_S("ownerReferences"));
	for (size_t i = 0; i < yyjson_mut_arr_size(list);) {
		if (goes(call, yyjson_mut_arr_get(list, i), arg))
			(void)yyjson_mut_arr_remove(list, i);
		else
			i++;
	}
	if (!yyjson_mut_arr_size(list))
		fl_tree_remove(fl_meta(call->object), FL_S("ownerReferences"));
	return fl_api_call_note(call) < 0 ? -FL_E_NOMEM : fl_commit(call, &after);
}

static bool has_uid(struct fl_api_call *call, yyjson_mut_val *owner, const void *arg)
{
	(void)call;
	return fl_str_eq(fl_tree_str(fl_tree_get(owner, FL_S("uid"))), *(const struct fl_str *)arg);
}

/* An owner that is gone, or that waits for this object to be gone. */
static bool leaves(struct fl_api_call *call, yyjson_mut_val *owner, const void *arg)
{
	struct fate fate = { 0 };
	yyjson_doc *copy = yyjson_mut_val_imut_copy(owner, NULL);
	int r = copy ? read_fate_of(call->api, yyjson_doc_get_root(copy), call->space_name, &fate) : -FL_E_NOMEM;

	(void)arg;
	yyjson_doc_free(copy);
	return r == 0 && !fate.solid;
}

/* Has the object owned ones that wait for nothing else? Then it goes in the foreground, too. */
static bool has_owned(struct fl_api *api, struct fl_api_call *call)
{
	return fl_hmap_get(&api->owned, fl_tree_str(fl_tree_get(fl_meta(call->old), FL_S("uid")))) != NULL;
}

/* Delete the object if none of its owners stays. */
static int try_delete(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state)
{
	FL_AUTO(fl_api_call) struct fl_api_call *call = NULL;
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fate fate = { 0 };
	yyjson_val *owners;
	int r;

	if (state->going || !state->owned)
		return 0;
	owners = owners_of(state, &doc);
	if (!owners || read_fate(api, owners, fl_state_space(state), &fate) < 0)
		return -FL_E_NOMEM;
	if (!fate.any || (fate.solid && !fate.dangles && !fate.waits))
		return 0;
	call = fl_api_call_inner(api, resource, state);
	r = call ? fl_api_call_load(call) : -FL_E_NOMEM;
	if (r < 0 || !call->before)
		return r;
	if (fate.solid)
		return remove_refs(call, leaves, NULL);
	if (fate.waits && has_owned(api, call))
		call->wish.spread = FL_SPREAD_FOREGROUND;
	else if (!yyjson_mut_arr_size(fl_tree_get(fl_meta(call->old), FL_S("finalizers"))))
		call->wish.spread = FL_SPREAD_BACKGROUND;
	r = fl_delete(call, &after);
	return r < 0 ? r : 0;
}

/* For each object that names this owner, as far as a piece of work reaches: 1 when there may be more, 0, or FL_E_NOMEM.
 * `each` returns 1 when it has changed something. */
static int each_owned(struct fl_api *api, struct fl_str uid,
		      int (*each)(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state,
				  void *arg),
		      void *arg)
{
	struct owned *owned = fl_hmap_get(&api->owned, uid);
	struct fl_state *some[PIECE];
	struct fl_api_resource *from[PIECE];
	uint32_t count = 0, done = 0;
	int r = 0;

	for (uint32_t i = 0; owned && i < owned->shelves.len; i++) {
		struct fl_spot spot = fl_ordered_from(&owned->shelves.at[i].objects, FL_S(""));
		struct fl_state *state;

		while (count < PIECE && (state = fl_ordered_next(&owned->shelves.at[i].objects, &spot)) != NULL) {
			/* as it is now: it may be listed that it once named the owner */
			state = fl_ordered_get(&owned->shelves.at[i].resource->shelf.objects, fl_state_key(state));
			if (state && state->owned && (!state->going || arg)) {
				from[count] = owned->shelves.at[i].resource;
				some[count++] = fl_state_hold(state);
			}
		}
	}
	while (done < count && r >= 0) {
		r = each(api, from[done], some[done], arg);
		done++;
	}
	for (uint32_t i = 0; i < count; i++)
		fl_state_drop(some[i]);
	return r < 0 ? r : count == PIECE;
}

static int delete_each(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state, void *arg)
{
	(void)arg;
	return try_delete(api, resource, state);
}

static int orphan_each(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state, void *arg)
{
	FL_AUTO(fl_api_call) struct fl_api_call *call = fl_api_call_inner(api, resource, state);
	int r = call ? fl_api_call_load(call) : -FL_E_NOMEM;

	if (r < 0 || !call->before)
		return r;
	return remove_refs(call, has_uid, arg);
}

/* Is there one that keeps the owner? Those that do not block it do not count. */
static bool is_blocked(struct fl_api *api, struct fl_str uid, bool *ret_failed)
{
	struct owned *owned = fl_hmap_get(&api->owned, uid);

	for (uint32_t i = 0; owned && i < owned->shelves.len; i++) {
		struct fl_spot spot = fl_ordered_from(&owned->shelves.at[i].objects, FL_S(""));
		struct fl_state *state;

		while ((state = fl_ordered_next(&owned->shelves.at[i].objects, &spot)) != NULL) {
			FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
			yyjson_val *owners, *owner;
			size_t j, m;

			state = fl_ordered_get(&owned->shelves.at[i].resource->shelf.objects, fl_state_key(state));
			owners = state && state->owned ? owners_of(state, &doc) : NULL;
			*ret_failed |= state && state->owned && !owners;
			yyjson_arr_foreach (owners, j, m, owner) {
				if (fl_str_eq(uid_of(owner), uid) &&
				    yyjson_is_true(fl_json_get(owner, FL_S("blockOwnerDeletion"))))
					return true;
			}
		}
	}
	return false;
}

static int drop_finalizer(struct fl_api_call *call, struct fl_str finalizer)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;

	call->object = fl_tree_copy(call->doc, call->old);
	if (!call->object)
		return -FL_E_NOMEM;
	fl_list_remove(fl_tree_get(fl_meta(call->object), FL_S("finalizers")), finalizer);
	return fl_commit(call, &after);
}

/* An owner that is going: what becomes of those it owns. 1: not done yet. */
int fl_collect_going(struct fl_api *api, struct fl_api_call *call)
{
	yyjson_mut_val *finalizers = fl_tree_get(fl_meta(call->old), FL_S("finalizers"));
	struct fl_str uid = fl_tree_str(fl_tree_get(fl_meta(call->old), FL_S("uid")));
	bool failed = false;
	int r;

	if (fl_list_has(finalizers, FL_S("orphan"))) {
		r = each_owned(api, uid, orphan_each, &uid);
		return r ? r : drop_finalizer(call, FL_S("orphan"));
	}
	if (!fl_list_has(finalizers, FL_S("foregroundDeletion")))
		return 0;
	r = each_owned(api, uid, delete_each, NULL);
	if (r)
		return r;
	if (is_blocked(api, uid, &failed))
		return 0;
	return failed ? -FL_E_NOMEM : drop_finalizer(call, FL_S("foregroundDeletion"));
}

/* An owner that is gone. */
int fl_collect_gone(struct fl_api *api, struct fl_str uid)
{
	return each_owned(api, uid, delete_each, NULL);
}

int fl_collect_check(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state)
{
	return try_delete(api, resource, state);
}

/* One that owners waited for is gone. */
int fl_collect_owners(struct fl_api *api, const struct fl_state *last)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	yyjson_val *owner, *owners;
	size_t i, n;

	if (!last->owned)
		return 0;
	owners = owners_of(last, &doc);
	if (!owners)
		return -FL_E_NOMEM;
	yyjson_arr_foreach (owners, i, n, owner) {
		struct fl_api_resource *resource;
		struct fl_state *state = find_owner(api, owner, fl_state_space(last), &resource);

		if (state && state->going && fl_chore_look(api, resource, state) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}
