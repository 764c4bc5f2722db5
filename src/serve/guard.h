/* guard.h - who may see the pages that name Pods: a token review, then a subject access review, as kube-rbac-proxy
 * does.
 *
 *     guard = (struct fl_guard){ .io = io, .kube = kube, .open = flags->open_metrics };
 *     fl_guard_start(&guard, err);
 *     fl_guard_serve(&guard, req, page->handle);     answers, or calls handle(req), now or once allowed
 *
 * Peers on the same machine (loopback, unix socket) are not asked, nor those with a client certificate of the CA that
 * the listener trusts, if it trusts one. Everybody else shows a bearer token: one for the API
 * server's audience in Authorization or, as the API server's proxy takes that away, one for FL_GUARD_AUDIENCE in
 * Fairlead-Authorization. The second is refused by every API server, so the Pod that gets it can do nothing with it.
 * The token's user needs the verb get on the path as a nonResourceURL. Verdicts are kept from the begin of the review:
 * FL_GUARD_ALLOWED, FL_GUARD_DENIED; where a review fails, one that allowed counts for FL_GUARD_STALE. A new verdict
 * replaces a kept one at once. Requests with one token for one page share a review, which goes on when they leave.
 *
 * Reviews have a budget: FL_GUARD_ASKS, FL_GUARD_REVIEWS. Over it the answer is 503 with Retry-After, also to a token
 * that was allowed some time ago, unless such a review has failed in the last FL_GUARD_AWAY. A peer address (IPv6: one
 * /64) has a share of it; addresses that are not trusted have a half together. A token that was allowed is asked about
 * again from all of it.
 *
 * An address that comes for the first time, a restarted scraper's, goes before those that come again: an address that
 * is not trusted comes again while a first review of it is under way, and for FL_GUARD_FIRST_AGAIN after one that
 * allowed nothing. A review that failed leaves it first. Those that come again leave ten reviews a second, and four at
 * once, to first ones. The last FL_GUARD_REFUSED are remembered.
 *
 * So in each FL_GUARD_FIRST_AGAIN, K addresses without a token that is allowed take up the first reviews for K / 10 s
 * at most, with K up to FL_GUARD_REFUSED, while reviews do not fail and take the API server 0.4 s at most. Who asks
 * every S seconds then loses K / 4 requests at most, even to addresses that know when it asks, with K up to
 * 4 * FL_GUARD_FIRST_AGAIN / S. More that know it can keep it out for ever. Who shares an address with them (NAT)
 * shares its lot.
 */
#pragma once
#include "base/metrics.h"
#include "http/server.h"
#include "kube/client.h"

#define FL_GUARD_KEPT_MAX 64                   /* verdicts on tokens: some scrapers, and a few tokens of each hour */
#define FL_GUARD_ALLOWED (120 * FL_NS_PER_S)   /* ... before the API server is asked again: a revoked token lives on */
#define FL_GUARD_DENIED (10 * FL_NS_PER_S)     /* ... where it said no: a right that is missing may be given */
/* An allowed token is served at most so long without a new review, and its address is trusted so long. */
#define FL_GUARD_STALE (600 * FL_NS_PER_S)
#define FL_GUARD_TIMEOUT (5 * FL_NS_PER_S)     /* of both reviews: a scrape has ten */
#define FL_GUARD_AGAIN (2 * FL_NS_PER_S)       /* ... of a token that was allowed: some scrapers wait for 3 s only */
#define FL_GUARD_ASKS 16                       /* reviews at once ... */
#define FL_GUARD_REVIEWS 40                    /* ... and begun in a second */
#define FL_GUARD_ASKS_NEW (FL_GUARD_ASKS - 1)          /* ... of these, for others than tokens that were allowed */
#define FL_GUARD_REVIEWS_NEW (FL_GUARD_REVIEWS - 3)    /* ... and of those */
/* An address that has shown a token that was allowed in the last FL_GUARD_STALE is trusted and has a half of both:
 * behind the API server's proxy are many people, each with new tokens. Others have a quarter each and a half together:
 * whoever guesses tokens, from many addresses, leaves a half to those that scrape. Of that half a quarter at most is
 * for addresses that come again. */
#define FL_GUARD_ASKS_HALF (FL_GUARD_ASKS / 2)
#define FL_GUARD_ASKS_UNTRUSTED (FL_GUARD_ASKS / 4)
#define FL_GUARD_REVIEWS_HALF (FL_GUARD_REVIEWS / 2)
#define FL_GUARD_REVIEWS_UNTRUSTED (FL_GUARD_REVIEWS / 4)
/* An address with a first review that allowed nothing comes again for so long: longer than FL_GUARD_STALE, and no
 * multiple of an interval at which people scrape, as a flood would else meet the same scrape each time. */
#define FL_GUARD_FIRST_AGAIN (601 * FL_NS_PER_S)
#define FL_GUARD_REFUSED 1200                  /* the last such reviews: looked through for each request */
#define FL_GUARD_AWAY (10 * FL_NS_PER_S)       /* after a review that failed the API server counts as away so long */
#define FL_GUARD_ANSWERS 8                     /* in one turn, to those that waited for the same review */

#define FL_GUARD_AUDIENCE "fairlead"

/* ---- the decision: pure ---- */

enum fl_guard_said { FL_GUARD_UNASKED, FL_GUARD_YES, FL_GUARD_NO, FL_GUARD_FAILED };

enum fl_guard_kept {
	FL_GUARD_NOT_KEPT,
	FL_GUARD_KEPT_YES,         /* both reviews said yes, lately */
	FL_GUARD_KEPT_OLD,         /* they did, some time ago */
	FL_GUARD_KEPT_NOBODY,      /* the token is none, lately */
	FL_GUARD_KEPT_NO,          /* its user may not, lately */
};

/* Reviews that count against the budget: of all, of addresses that are not trusted, of these without their first ones,
 * of this address. */
struct fl_guard_load {
	uint32_t all, untrusted, again, own;
};

struct fl_guard_facts {
	bool open;                 /* told to ask nobody */
	bool local;                /* the peer is on this machine */
	bool vouched;              /* it has shown a client certificate of the CA that the listener trusts */
	bool has_api;              /* there is an API server to ask */
	bool token;                /* one was shown */
	bool trusted;              /* its address has lately shown a token that was allowed */
	bool first;                /* its address has no first review under way, and none was lately refused */
	bool asked;                /* a review of the token for this page is under way */
	bool away;                 /* the API server could lately not be asked about a token that was allowed */
	struct fl_guard_load asks; /* reviews under way */
	struct fl_guard_load lately;   /* begun in the last second */
	enum fl_guard_kept kept;
	enum fl_guard_said token_review, access_review;
};

enum fl_guard_step {
	FL_GUARD_SERVE,
	FL_GUARD_SERVE_STALE,      /* for what was allowed some time ago: the API server cannot be asked now */
	FL_GUARD_WAIT,             /* for the review that is under way */
	FL_GUARD_ASK_TOKEN, FL_GUARD_ASK_ACCESS,
	FL_GUARD_NO_TOKEN,         /* 401 */
	FL_GUARD_NOBODY,           /* 401 */
	FL_GUARD_FORBIDDEN,        /* 403 */
	FL_GUARD_NO_API,           /* 403 */
	FL_GUARD_BUSY,             /* 503 */
	FL_GUARD_CANNOT_ASK,       /* 503 */
	FL_GUARD_STEP_COUNT_
};
extern const struct fl_names fl_guard_step_names;

enum fl_guard_step fl_guard_next(const struct fl_guard_facts *facts);

/* ---- the doer ---- */

struct fl_guard_verdict {
	uint64_t key[2];           /* hashes of token and path under two secrets; 0, 0: the place is free */
	uint64_t since;            /* begin of the review, monotonic ns */
	enum fl_guard_kept kept;   /* YES, NOBODY or NO */
	struct fl_origin origin;   /* who has shown the token */
};

struct fl_guard_review {
	uint64_t begun;            /* monotonic ns; 0: none */
	struct fl_origin origin;
	bool trusted, first;       /* as in struct fl_guard_facts */
};

/* The end of a first review that allowed nothing. */
struct fl_guard_refused {
	uint64_t at;               /* monotonic ns; 0: none */
	struct fl_origin origin;
};

struct fl_guard_ask;

struct fl_guard {
	/* The caller's, set before the start, borrowed until the stop. */
	struct fl_io *io;
	struct fl_kube *kube;          /* NULL: there is no API server */
	bool open;
	struct fl_metrics *metrics;    /* NULL: none are kept */

	struct fl_guard_verdict verdicts[FL_GUARD_KEPT_MAX];
	uint64_t secrets[2][2];
	struct fl_guard_ask *asks;     /* under way */
	struct fl_guard_ask *over;     /* ... and over, being answered */
	struct fl_guard_review reviewed[FL_GUARD_REVIEWS];   /* the last ones: a ring */
	uint32_t review_at;
	struct fl_guard_refused refused[FL_GUARD_REFUSED];   /* the same */
	uint32_t refused_at;
	uint64_t failed;               /* when a review of an allowed token did, monotonic ns; 0: one was answered */
	struct fl_family *answers;
};

/* FL_E_NOMEM, or no randomness. To be stopped in any case. */
int fl_guard_start(struct fl_guard *guard, struct fl_err *err) FL_MUSTUSE;
void fl_guard_stop(struct fl_guard *guard);    /* reviews under way are cancelled; their requests stay unanswered */

/* From a handler: `handle` answers what is allowed. */
void fl_guard_serve(struct fl_guard *guard, struct fl_http_req *req, void (*handle)(struct fl_http_req *req));
