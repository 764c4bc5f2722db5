/* call.h - one request on its way through the API server; for the files of this folder. */
#pragma once
#include "local/api.h"
#include "local/apply.h"
#include "local/hook.h"
#include "local/patch.h"

/* Warnings of one answer: each unknown field is one. */
#define FL_WARNINGS_MAX 32
/* Of a list's page, when it looks into objects: the most it holds at once. */
#define FL_HEADERS_MAX (FL_WARNINGS_MAX + 3)

enum fl_verb {
	FL_VERB_GET, FL_VERB_LIST, FL_VERB_WATCH, FL_VERB_CREATE, FL_VERB_UPDATE, FL_VERB_PATCH, FL_VERB_DELETE,
	FL_VERB_DELETE_ALL, FL_VERB_COUNT_
};
extern const struct fl_names fl_verb_names;

enum fl_validation { FL_VALIDATION_WARN, FL_VALIDATION_IGNORE, FL_VALIDATION_STRICT, FL_VALIDATION_COUNT_ };
extern const struct fl_names fl_validation_names;

enum fl_match { FL_MATCH_NONE, FL_MATCH_NOT_OLDER, FL_MATCH_EXACT, FL_MATCH_COUNT_ };
extern const struct fl_names fl_match_names;

enum fl_spread { FL_SPREAD_DEFAULT, FL_SPREAD_ORPHAN, FL_SPREAD_BACKGROUND, FL_SPREAD_FOREGROUND, FL_SPREAD_COUNT_ };
extern const struct fl_names fl_spread_names;

/* The query, and of a delete its body, which wins. */
struct fl_wish {
	struct fl_str manager, labels, fields, resume, version, timeout;
	bool dry, force, bookmarks, initial, initial_set, version_set, grace_set;
	enum fl_validation validation;
	enum fl_match match;
	enum fl_spread spread;
	uint64_t limit, at_version;
	int64_t grace;
	struct fl_str uid, if_version;      /* preconditions; .p NULL: none */
};

struct fl_api_call {
	struct fl_api *api;
	struct fl_ask ask;
	enum fl_outcome outcome;
	struct fl_arena arena;
	struct fl_json_space space;
	yyjson_mut_doc *doc;             /* of trees; in the space */

	/* what is asked */
	enum fl_verb verb;
	struct fl_api_resource *resource;
	struct fl_str version, space_name, name, sub;
	struct fl_served *served;
	struct fl_wish wish;
	struct fl_filter filter;

	/* the answer */
	int status;
	struct fl_buf body;
	struct fl_header headers[FL_HEADERS_MAX];
	uint32_t header_count, warning_count;
	bool lost;                       /* no memory for one of them: the answer must not go out without it */

	/* list: what is still to be sent */
	struct fl_state **states;
	uint32_t at, len;
	bool removed;                    /* the write took the object away */
	bool begun, filters;             /* the rest is filtered as it is sent */

	/* write */
	struct fl_state *before;
	yyjson_mut_val *old, *object;
	struct fl_causes unknown;
	struct fl_str patched;           /* of a Strict patch: what it makes, before pruning */
	struct fl_api_watch *watch;
	struct fl_hooking hooking;
	struct fl_api_call *outer;       /* of one of a collection that is deleted: the request */
	struct fl_api_call *one;         /* of that: the one that is deleted now ... */
	uint32_t turn;                   /* ... of `states` */
	enum fl_outcome rest;            /* the outcome when all are */
};

/* ---- request.c ---- */

int fl_api_call_route(struct fl_api_call *call);             /* path and method: resource, verb, names */
int fl_api_call_wish(struct fl_api_call *call);              /* the query */
int fl_api_call_filter(struct fl_api_call *call);            /* selectors */

/* ---- answer.c: each sets the answer and returns a negative code ---- */

struct fl_refusal {
	int code;
	const char *reason;
	struct fl_str group, kind, name, uid;
	const struct fl_causes *causes;
	uint32_t retry;                  /* seconds */
};
int fl_refuse(struct fl_api_call *call, const struct fl_refusal *refusal, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
int fl_refuse_bad(struct fl_api_call *call, const char *fmt, ...) FL_PRINTF(2, 3) FL_COLD;
int fl_refuse_not_found(struct fl_api_call *call) FL_COLD;
int fl_refuse_conflict(struct fl_api_call *call, const char *fmt, ...) FL_PRINTF(2, 3) FL_COLD;
int fl_refuse_invalid(struct fl_api_call *call, const struct fl_causes *causes) FL_COLD;
int fl_refuse_options(struct fl_api_call *call, const char *kind, const char *field, const char *reason,
		      const char *fmt, ...)
	FL_PRINTF(5, 6) FL_COLD;
int fl_refuse_options_all(struct fl_api_call *call, const char *kind, const struct fl_causes *causes) FL_COLD;
int fl_refuse_as(struct fl_api_call *call, const struct fl_err *err) FL_COLD;   /* FL_E_NOMEM stays that */
struct fl_refusal fl_refusal(const struct fl_api_call *call, int code, const char *reason);
void fl_api_call_warn(struct fl_api_call *call, const char *fmt, ...) FL_PRINTF(2, 3);   /* 299 - "..." */

void fl_put_type(struct fl_buf *buf, const struct fl_api_resource *resource, struct fl_str version);
void fl_status_print(struct fl_jw *w, const struct fl_refusal *refusal, struct fl_str message);

/* The object as a client of this version sees it. `kind`: with apiVersion and kind. */
void fl_state_print(struct fl_buf *buf, const struct fl_api_resource *resource, struct fl_str version,
		    const struct fl_state *state, bool kind);
int fl_answer_state(struct fl_api_call *call, int status, const struct fl_state *state) FL_MUSTUSE;
int fl_answer_tree(struct fl_api_call *call, int status, yyjson_mut_val *object, uint64_t version) FL_MUSTUSE;

/* ---- read.c, watch.c, write.c, delete.c, discovery.c: one verb each ---- */

int fl_api_call_get(struct fl_api_call *call);
int fl_api_call_list(struct fl_api_call *call);
int fl_api_call_watch(struct fl_api_call *call);
int fl_api_call_write(struct fl_api_call *call);
int fl_api_call_delete(struct fl_api_call *call);
int fl_api_call_delete_all(struct fl_api_call *call);
int fl_api_call_discovery(struct fl_api_call *call, bool *ret_mine);

/* States of the resource at a version, in order, from a key on: an array in `arena`, each with a reference. */
void fl_api_watch_changed(struct fl_api *api, const struct fl_store_change *change);

/* ---- tree helpers ---- */

yyjson_mut_val *fl_meta(yyjson_mut_val *object);     /* metadata; NULL: none */
bool fl_tree_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, struct fl_str text);
bool fl_tree_set_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, int64_t number);
