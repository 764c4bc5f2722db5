/* review.h - request and response of an admission webhook: admission.k8s.io/v1. Pure. */
#pragma once
#include "api/admission.h"
#include "api/owner.h"
#include "base/units.h"

#define FL_REVIEW_WARNINGS 8                   /* the API server shows 4 KiB of them all together ... */
#define FL_REVIEW_WARNING 256                  /* ... and cuts each at this many bytes */
#define FL_REVIEW_PATCH_MAX (256 * FL_KIB)     /* an object with a default in each of a thousand containers */
#define FL_REVIEW_ANSWER_MAX (512 * FL_KIB)    /* with such a patch in base64 */

/* ---- the question ---- */

/* Valid until the answer. */
struct fl_review {
	struct fl_review_request asked;
	const struct fl_kind *kind;
	const void *object, *old;      /* root structs of the kind; NULL: there is none (delete; create) */
	yyjson_val *json;              /* from which `object` was bound, with all fields that no table names */
};

/* FL_E_INVALID: names the field that cannot be read, or the other kind. */
int fl_review_read(struct fl_review *review, const struct fl_kind *kind, yyjson_val *json, struct fl_arena *arena,
		   struct fl_err *err) FL_MUSTUSE;

/* ---- the verdict ---- */

struct fl_verdict {
	bool allowed;                  /* zeroed: refused, so a forgotten verdict allows nothing */
	int code;                      /* of a refusal; 0: 403 */
	const char *reason;            /* of a refusal; NULL: by the code */
	struct fl_str message;
	struct fl_str warnings[FL_REVIEW_WARNINGS];
	uint32_t warning_count;
	struct fl_buf patch;           /* operations of a JSON patch, without brackets */
	struct fl_arena *arena;
	bool failed;                   /* an allocation failed, or the patch is too long */
};

void fl_verdict_init(struct fl_verdict *verdict, struct fl_arena *arena);
void fl_verdict_free(struct fl_verdict *verdict);
static inline void fl_verdict_auto_(struct fl_verdict *verdict)
{
	fl_verdict_free(verdict);
}

void fl_allow(struct fl_verdict *verdict);
/* `code`: an HTTP status: 403 forbidden, 409 conflict, 422 invalid. */
void fl_deny(struct fl_verdict *verdict, int code, const char *message, ...) FL_PRINTF(3, 4);
/* Shown to the client with any verdict. At most FL_REVIEW_WARNINGS, each cut at FL_REVIEW_WARNING. */
void fl_warn(struct fl_verdict *verdict, const char *message, ...) FL_PRINTF(2, 3);
/* Change the allowed object: `wanted` is a root struct of the kind, of which only the paths of `may` are read. Fields
 * that are absent there are removed; all other fields stay, also those that no table names. The difference is the
 * patch. Call it once. Without an object (delete) there is no patch. If a list would change but has an item that cannot
 * be bound, the object is refused: 422. */
void fl_verdict_want(struct fl_verdict *verdict, const struct fl_review *review, const struct fl_owner *may,
		     const void *wanted);

/* The AdmissionReview with the answer. FL_E_NOMEM or FL_E_TOOBIG. */
int fl_verdict_write(const struct fl_verdict *verdict, struct fl_str uid, struct fl_arena *arena, struct fl_buf *out,
		     struct fl_err *err) FL_MUSTUSE;
