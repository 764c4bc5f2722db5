/* hook.h - webhooks of admission: which of them a write asks, in which order, and what their answers make of it. Pure;
 * for the files of this folder.
 *
 * Mutating ones are asked one after the other: configurations by name, in each as it lists them, and once more those
 * that wish it, after a later one has changed something. Validating ones are asked all at once.
 */
#pragma once
#include "api/admission.h"
#include "local/api.h"

struct fl_hook {
	const struct fl_webhook *spec;
	struct fl_str ca;            /* PEM; empty: none is given, or it cannot be read */
};

/* The configurations that there are, read once. Requests that wait keep the one with which they began. */
struct fl_hook_set {
	uint32_t refs;
	struct fl_arena arena;
	struct fl_json_space space;
	FL_VEC(struct fl_hook) mutating, validating;
};
struct fl_hook_set *fl_hook_set_hold(struct fl_api *api);    /* as of now; NULL: allocation failed */
void fl_hook_set_drop(struct fl_hook_set *set);              /* NULL-safe */

/* The version of the request's kind in which the webhook is asked; empty: it is not. */
int fl_hook_match(struct fl_api_call *call, const struct fl_hook *hook, struct fl_str *ret_version) FL_MUSTUSE;

enum fl_hook_stage { FL_HOOKS_NONE, FL_HOOKS_MUTATE, FL_HOOKS_VALIDATE };

/* One that is asked now. */
struct fl_hook_ask {
	const struct fl_hook *hook;
	struct fl_str uid, version;
	struct fl_api_hook out;      /* for who asks it */
	bool answered;
	int status;                  /* of its answer; 0: there is none, and the text says why */
	struct fl_str text;
};

/* Where a request stands. */
struct fl_hooking {
	enum fl_hook_stage stage;
	struct fl_hook_set *set;
	bool *before, *again;        /* of each mutating one: it may be asked again; it is to be */
	bool second;                 /* they are */
	uint32_t next;
	struct fl_hook_ask *asks;    /* an array in the call's arena */
	uint32_t ask_count;
	uint32_t tries;              /* from the beginning: what it is about had changed meanwhile */
	unsigned discovery;          /* of the server, when it began to wait */
};

/* Ask those of the stage. 1: they are asked, and called again with their answers. 0: all have agreed, and what they
 * changed stands in the call's object. Negative: refused. */
int fl_hooks(struct fl_api_call *call, enum fl_hook_stage stage) FL_MUSTUSE;
void fl_hooking_end(struct fl_hooking *hooking);
/* Once more from the beginning, unless it was tried too often: refused then. */
int fl_hooking_again(struct fl_api_call *call) FL_MUSTUSE;

/* ---- hook_review.c ---- */

/* The question, as JSON in the call's arena. */
int fl_hook_question(struct fl_api_call *call, struct fl_hook_ask *ask) FL_MUSTUSE;

/* What the answer says. FL_E_INVALID: it is no answer, and *ret_why says why not. */
int fl_hook_answer(struct fl_api_call *call, const struct fl_hook_ask *ask, struct fl_review_response *ret,
		   struct fl_str *ret_why) FL_MUSTUSE;

/* ---- hook_check.c ---- */

/* A configuration that is written. */
void fl_hooks_check(struct fl_api_call *call, struct fl_causes *causes);
