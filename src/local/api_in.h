/* api_in.h - the inside of an API server; for the files of this folder. */
#pragma once
#include "json/write.h"
#include "local/call.h"

/* An object that the server has still to look at by itself; in the order in which they came. */
struct fl_chore {
	struct fl_chore *next;
	struct fl_api_resource *resource;
	struct fl_state *state;          /* as it was written; the last one of what is gone */
	bool gone;
};

struct fl_api {
	struct fl_api_options options;
	struct fl_store store;
	struct fl_api_resources resources;
	struct fl_hmap owned;            /* collect.c: uid of an owner -> what it owns */
	struct fl_peek peek, peek_before;
	struct fl_chore *chores, **chores_last;
	uint64_t uids;                   /* given so far */
	int64_t now;                     /* of the request that is worked on */
	uint32_t throttled, throttle_seconds;
	struct fl_api_call *spare;           /* a call to be used again, with its memory */
	unsigned discovery;              /* changes with what is served */
	struct fl_hook_set *hooks;           /* NULL: to be read anew */
};

bool fl_api_knows(const struct fl_api *api, struct fl_str group, struct fl_str version);

/* "f3a2…-…": a uid of version 4. */
#define FL_UID_TEXT 37   /* 36 characters and the end */
void fl_api_uid(struct fl_api *api, char text[FL_UID_TEXT]);
/* Five characters for a generated name. */
void fl_api_suffix(struct fl_api *api, char text[6]);

/* ---- object.c: trees of objects ---- */

bool fl_tree_set_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t us);
yyjson_mut_val *fl_tree_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name);
yyjson_mut_val *fl_tree_list(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name);
yyjson_mut_val *fl_tree_at(yyjson_mut_val *object, struct fl_str path);
bool fl_tree_i64(yyjson_mut_val *val, int64_t *ret);
bool fl_list_has(yyjson_mut_val *list, struct fl_str text);
void fl_list_remove(yyjson_mut_val *list, struct fl_str text);
bool fl_list_add(yyjson_mut_doc *doc, yyjson_mut_val *list, struct fl_str text);
void fl_object_print(struct fl_jw *w, yyjson_mut_val *object, uint64_t version);
struct fl_str fl_api_call_api_version(struct fl_api_call *call);
yyjson_mut_val *fl_api_call_tree(struct fl_api_call *call, const struct fl_state *state);
struct fl_state *fl_api_call_state(struct fl_api_call *call, yyjson_mut_val *object);

/* ---- api.c: calls ---- */

/* One of the server's own about this object; NULL: allocation failed. */
struct fl_api_call *fl_api_call_inner(struct fl_api *api, struct fl_api_resource *resource,
				      const struct fl_state *state);
struct fl_str fl_api_call_key(struct fl_api_call *call);
int fl_api_call_load(struct fl_api_call *call);              /* before and old, as they are now; none: both NULL */
int fl_api_call_read(struct fl_api_call *call, struct fl_str text, bool yaml, yyjson_val **ret);
int fl_api_call_states(struct fl_api_call *call, uint64_t version, struct fl_str from, struct fl_str *ret_next,
		       uint64_t *ret_rest);
int fl_answer_begin(struct fl_api_call *call);
int fl_answer_status(struct fl_api_call *call, int status, const struct fl_refusal *refusal);
void fl_api_watch_leave(struct fl_api_watch *watch);

/* ---- pods.c ---- */

int fl_pod_defaults(struct fl_api_call *call, yyjson_mut_val *spec);   /* also of a template; NULL: none */
int fl_pod_new(struct fl_api_call *call, yyjson_mut_val *object);
int fl_pod_admit(struct fl_api_call *call);
void fl_pod_check(struct fl_api_call *call, struct fl_causes *causes);

/* ---- scale.c ---- */

/* The object's Scale, as a tree; NULL: allocation failed. */
yyjson_mut_val *fl_scale_of(struct fl_api_call *call, yyjson_mut_val *object, uint64_t version);
int fl_scale_get(struct fl_api_call *call, const struct fl_state *state);
int fl_scale_answer(struct fl_api_call *call, yyjson_mut_val *object, uint64_t version);
/* call->object becomes the old one with the Scale's replicas. */
int fl_scale_put(struct fl_api_call *call, yyjson_mut_val *scale);
/* What stands at the paths of scale must be what it is read as. */
void fl_scale_check(struct fl_api_call *call, struct fl_causes *causes);

/* ---- identity.c: what an object says that it is, and where; both are set ---- */

int fl_object_type(struct fl_api_call *call, yyjson_mut_val *object);
int fl_object_place(struct fl_api_call *call, yyjson_mut_val *object);   /* name and namespace are the URL's */

/* ---- meta.c, write.c, commit.c, delete.c ---- */

void fl_meta_check(struct fl_api_call *call, yyjson_mut_val *old, yyjson_mut_val *object, struct fl_causes *causes);
void fl_meta_tidy(yyjson_mut_val *object);
int fl_meta_fixed(struct fl_api_call *call, yyjson_mut_val *object);   /* refuses a change of what is fixed */
/* What is the API server's stays as it was; `all`: name and managedFields too. */
int fl_meta_keep(struct fl_api_call *call, yyjson_mut_val *was, yyjson_mut_val *object, bool all);
int fl_meta_types(struct fl_api_call *call, yyjson_mut_val *object);
bool fl_object_moved(const struct fl_api_call *call, yyjson_mut_val *old, yyjson_mut_val *object);
int fl_object_raise(struct fl_api_call *call, yyjson_mut_val *object);
int fl_api_call_note(struct fl_api_call *call);              /* who has written what: managedFields */
int fl_commit(struct fl_api_call *call, struct fl_state **ret_after);
int fl_commit_gone(struct fl_api_call *call, struct fl_state **ret_after);
int fl_delete(struct fl_api_call *call, struct fl_state **ret_after);
int fl_api_call_write_on(struct fl_api_call *call);           /* with answers of webhooks */
int fl_api_call_delete_on(struct fl_api_call *call);
int fl_api_call_delete_all_on(struct fl_api_call *call);
int fl_object_hooked(struct fl_api_call *call, yyjson_mut_val *object);   /* a webhook has made this of call->object */
bool fl_api_is_hooks(const struct fl_api *api, const struct fl_shelf *shelf);
/* 1: the object is still as the request has read it, and still served. 0: it is not. FL_E_NOMEM. */
int fl_api_call_is_current(struct fl_api_call *call);

/* ---- rules.c: what single built-in kinds have of their own ---- */

int fl_builtin_new(struct fl_api_call *call, yyjson_mut_val *object);
int fl_builtin_change(struct fl_api_call *call, yyjson_mut_val *object);
/* What the API server adds by itself: it belongs to no manager. After fl_api_call_note. */
int fl_builtin_own(struct fl_api_call *call);
void fl_builtin_check(struct fl_api_call *call, struct fl_causes *causes);
int fl_builtin_delete(struct fl_api_call *call);         /* `object` is about to go */
/* A written or deleted one of those that the server acts on by itself. 1: not done yet. */
int fl_builtin_look(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state, bool gone);
/* Something of this namespace, or of this kind, is gone: the namespace or CRD may wait for it. */
int fl_builtin_left(struct fl_api *api, struct fl_api_resource *resource, const struct fl_state *last);

bool fl_object_kept(const struct fl_api_call *call);     /* finalizers, or a namespace's content */
void fl_crd_check(struct fl_api_call *call, struct fl_causes *causes);        /* crd_check.c */
void fl_crd_schemas_check(yyjson_mut_val *crd, struct fl_causes *causes);     /* crd_schema.c */
void fl_crd_rules(struct fl_api_call *call, const struct fl_api_resource *resource);

/* ---- chore.c ---- */

struct fl_chore *fl_chore_new(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state);
void fl_chore_free(struct fl_chore *chore);          /* NULL-safe */
void fl_chore_add(struct fl_api *api, struct fl_chore *chore, const struct fl_state *before, bool gone);
int fl_chore_look(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state);

/* ---- collect.c: owners ---- */

struct fl_str fl_collect_key(const void *object);
void fl_collect_free(struct fl_api *api);
int fl_collect_add(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *after);
void fl_collect_drop(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *before,
		     struct fl_state *after);
int fl_collect_going(struct fl_api *api, struct fl_api_call *call);
int fl_collect_gone(struct fl_api *api, struct fl_str uid);
int fl_collect_check(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state);
int fl_collect_owners(struct fl_api *api, const struct fl_state *last);
