/* status.h - what the API server answers when it has no object to answer with.
 *
 * A Status becomes one error: the code says what the caller does next, the words are the server's own, with the causes.
 * Pure.
 */
#pragma once
#include "api/meta.h"

/* A Retry-After beyond this is taken as this: the server may have forgotten. */
#define FL_KUBE_RETRY_MAX (60 * FL_NS_PER_S)

/* metav1.StatusReason, as far as somebody acts on it. */
enum fl_reason {
	FL_REASON_NONE,             /* none was given, or none of these */
	FL_REASON_UNAUTHORIZED,     /* FL_E_DENIED */
	FL_REASON_FORBIDDEN,        /* FL_E_DENIED */
	FL_REASON_NOT_FOUND,        /* FL_E_NOTFOUND */
	FL_REASON_EXISTS,           /* FL_E_EXISTS */
	FL_REASON_CONFLICT,         /* FL_E_CONFLICT: another wrote first, or (apply) owns the fields */
	FL_REASON_EXPIRED,
			/* FL_E_CONFLICT: the resourceVersion or the continue token is too old: list again */
	FL_REASON_INVALID,          /* FL_E_INVALID: with causes */
	FL_REASON_BAD_REQUEST,      /* FL_E_INVALID */
	FL_REASON_TOO_LARGE,        /* FL_E_TOOBIG */
	FL_REASON_UNSUPPORTED,      /* FL_E_UNSUPPORTED: method or media type */
	FL_REASON_THROTTLED,        /* FL_E_RETRY: TooManyRequests */
	FL_REASON_TIMEOUT,          /* FL_E_RETRY: ServerTimeout and Timeout; it may have happened nevertheless */
	FL_REASON_AHEAD,            /* FL_E_RETRY: "Too large resource version": this server has not seen it yet */
	FL_REASON_BROKEN,           /* FL_E_RETRY: InternalError, ServiceUnavailable, a bad gateway */
	FL_REASON_COUNT_
};
extern const struct fl_names fl_reason_names;   /* as the API spells them */

/* The kind itself is not served, rather than one object of it missing: a 404 that names no object. */
struct fl_answer {
	enum fl_reason reason;
	bool no_kind;
	uint64_t retry_after;       /* ns; 0: not said */
};

/* From an answer that is no success, or from the object of a watch's ERROR event: `body` is the JSON (NULL when it is
 * none: a proxy's page), `http` its status (0: take the Status' own). Always fails; *ret says the rest. */
int fl_status_fail(int http, yyjson_val *body, struct fl_answer *ret, struct fl_err *err);

/* Retry-After: seconds. (The API server never sends a date.) False: no number. */
bool fl_retry_after(struct fl_str header, uint64_t *ret_ns);
