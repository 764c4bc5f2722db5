/* holders.h - which Pods hold which device: the kubelet's PodResources as a feeder of Holder.
 *
 * Lists on request (fl_holders_look: a device was allocated, a Pod may have ended), when the kubelet's socket is made
 * again, and every FL_HOLDERS_EVERY. Requests within FL_HOLDERS_SOON, or during a List, become one more List. The
 * kubelet throttles List: after a refusal the feeder waits with backoff.
 *
 * A kubelet that has just started may know of nobody yet: what it does not tell is kept until FL_HOLDERS_GRACE after
 * its socket was made (by the wall's clock only where that was before us), and it is asked every
 * FL_HOLDERS_YOUNG_EVERY. Until one that knows all of its Pods has answered, whoever is in the book (Booking, kept on
 * disk) holds what it held: fl_holders_remember. With a book, the first look is a full state whatever comes of it, so
 * that nothing waits for a kubelet that is not there: it starts after us, and asks us. So it is where the kubelet has
 * no checkpoint: it has given no device to anybody. A first agent that comes to a kubelet with a checkpoint knows
 * nothing of those whom another plugin has served: the full state waits for a kubelet that knows all of its Pods, up to
 * FL_GPU_HOLDERS_PATIENCE.
 *
 * A kubelet that starts while the API server is away knows its static Pods only, however old it grows: its API Pods
 * come FL_HOLDERS_API_GRACE after the server's return at the latest. One that knew all of its Pods once is believed
 * from then on.
 *
 * The same resource in several entries (one a NUMA node) is one Holder, no device twice. Claims are ignored: they
 * belong to no device plugin.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

#define FL_HOLDERS_EVERY (30 * FL_NS_PER_S)          /* the longest delay of a change that nothing else reports */
/* After a request: Allocate comes before the Pod is admitted, and once for each container of a Pod. */
#define FL_HOLDERS_SOON (100 * FL_NS_PER_MS)
/* When the kubelet has our answer to Allocate, it has the container in its list a few instructions later: so much time
 * is for a machine that is short of CPU. A kubelet that stands still in between answers no List either. */
#define FL_HOLDERS_SETTLE (1 * FL_NS_PER_S)
#define FL_HOLDERS_GRACE (30 * FL_NS_PER_S)          /* a kubelet knows all of its Pods within this of its start */
#define FL_HOLDERS_YOUNG_EVERY (2 * FL_NS_PER_S)     /* until then it finds Pods that ran before it started */
/* A kubelet asks a server that was away again with a delay of 30 s at most, and as much again by chance (client-go). */
#define FL_HOLDERS_API_GRACE (60 * FL_NS_PER_S)
#define FL_HOLDERS_API_SOON (500 * FL_NS_PER_MS)     /* whether the API server is there is found out at our start */
#define FL_HOLDERS_TIMEOUT (10 * FL_NS_PER_S)        /* of one List, of thousands of containers */

struct fl_holders;
struct fl_log;

enum fl_holders_api { FL_HOLDERS_API_THERE, FL_HOLDERS_API_STARTING /* not known yet */, FL_HOLDERS_API_AWAY };

struct fl_holders_options {
	const char *dir;              /* of the kubelet's socket, borrowed; NULL: /var/lib/kubelet/pod-resources */
	struct fl_log *log;
	struct fl_metrics *metrics;   /* NULL: none are kept */
	void (*looked)(void *arg);    /* called when the cache has the kubelet's answer; may be NULL */
	void *arg;
	const char *plugins_dir;      /* of the kubelet's checkpoint of devices, borrowed; NULL: it is not looked for */
	enum fl_holders_api (*api)(void *arg);   /* is the API server there? NULL: we have none */
	void *api_arg;
};

/* The loop must have sources for fl_holder_kind and fl_active_kind: one answer feeds both. */
struct fl_holders *fl_holders_new(struct fl_io *io, struct fl_loop *loop, const struct fl_holders_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_holders *fl_holders_free(struct fl_holders *holders);    /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_holders, struct fl_holders *, fl_holders_free);

/* Memos and Bookings have been read: who is in them is a Holder until the kubelet says otherwise. Before anything else
 * that the state directory keeps is fed, or a plan sees nobody for a moment. */
int fl_holders_remember(struct fl_holders *holders, struct fl_err *err) FL_MUSTUSE;

void fl_holders_look(struct fl_holders *holders);

/* A device can no longer be allocated: whoever was given it before is known with a List that is asked for from now on,
 * and not within FL_HOLDERS_SETTLE of `given`, when an Allocate was answered last (0: never). Active is due until then.
 * At the start it is due too, as the agent before may have answered just before its end. FL_E_NOMEM: nothing is
 * said. */
int fl_holders_withdrawn(struct fl_holders *holders, uint64_t given, struct fl_err *err) FL_MUSTUSE;

/* When the kubelet was asked for the present holders, on the loop's clock; 0: it has not answered yet. */
uint64_t fl_holders_as_of(const struct fl_holders *holders);

/* The error of the last List, or FL_OK; for a condition and /readyz. */
const struct fl_err *fl_holders_why(const struct fl_holders *holders);
