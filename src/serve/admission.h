/* admission.h - admission webhooks: the frame around pure decisions.
 *
 *     static void decide(const void *facts, const struct fl_review *review, struct fl_verdict *verdict)
 *     {
 *             const struct fl_gpu_pool *pool = review->object;
 *             if (taken(facts, pool))
 *                     fl_deny(verdict, 409, "the name '%.*s' is taken", ...);
 *             else
 *                     fl_allow(verdict);
 *     }
 *     static const struct fl_admission rows[] = {
 *             { "/validate/gpupools", &fl_gpu_pool_kind, reads, sizeof(struct facts), gather, decide }, { 0 },
 *     };
 *
 * The facts come from the caches at the moment of the question, as for a plan, and a decision is a function of nothing
 * else. So each question is answered in the turn in which it came, as many as there are at once; over HTTP/2 they share
 * a connection. What cannot be read is answered with 400 and words, what cannot be decided now (caches that are not
 * synced, memory) with 503: then the API server goes by the webhook's failurePolicy.
 */
#pragma once
#include "http/server.h"
#include "run/loop.h"
#include "serve/review.h"

#define FL_REVIEW_CONNS 256                    /* API servers keep one to three each; their proxies some more */
#define FL_REVIEW_VALUES_MAX 20000             /* keys and values of a review: 7 ms to bind; an object has some 1,000 */
#define FL_ADMISSION_MAX 16                    /* webhooks of one program */

struct fl_admission {
	const char *path;                      /* "/validate/gpupools"; NULL ends the rows */
	const struct fl_kind *kind;            /* what it is asked about */
	const struct fl_kind *const *reads;    /* synced or absent before it answers; NULL ends them, NULL: none */
	size_t facts_size;
	/* Into a zeroed struct; NULL: there is nothing to know. A failure of the view is remembered by it. */
	void (*gather)(struct fl_view *view, const struct fl_review *review, void *facts);
	void (*decide)(const void *facts, const struct fl_review *review, struct fl_verdict *verdict);
};

struct fl_admission_options {
	struct fl_loop *loop;
	const struct fl_admission *rows;       /* borrowed */
	struct fl_metrics *metrics;            /* NULL: none are kept */
};

/* FL_E_TOOBIG: more than FL_ADMISSION_MAX rows. Owned by the caller. */
struct fl_webhooks;
struct fl_webhooks *fl_webhooks_new(struct fl_io *io, const struct fl_admission_options *options,
				    struct fl_err *err) FL_MUSTUSE;
struct fl_webhooks *fl_webhooks_free(struct fl_webhooks *webhooks);   /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_webhooks, struct fl_webhooks *, fl_webhooks_free);

/* Where it listens: fl_http_server_listen, _use, _drain. Lives as long as the webhooks. */
struct fl_http_server *fl_webhooks_server(struct fl_webhooks *webhooks);
