/* holders.h - who has which device: the kubelet's PodResources as a feeder of Holder.
 *
 * Lists when asked to (fl_holders_look: something was allocated, a Pod may have ended), when the kubelet's socket is
 * made anew, and every FL_HOLDERS_EVERY without being asked. What comes within FL_HOLDERS_SOON, or while a look is
 * under way, is one more look. The kubelet throttles List: who is refused waits, ever longer.
 *
 * A kubelet that has just started may know of nobody yet: what it does not tell is kept until FL_HOLDERS_GRACE after
 * its socket was made, and it is asked every FL_HOLDERS_YOUNG_EVERY. Until one that knows all of its Pods has answered,
 * whoever is in the book (Booking, kept on disk) holds what it held: fl_holders_remember. With a book, the first look
 * is a full state whatever comes of it, so that nothing waits for a kubelet that is not there: it starts after us, and
 * asks us. So it is where the kubelet has no checkpoint: it has given no device to anybody. A first agent that comes to
 * a kubelet with a checkpoint knows nothing of those whom another plugin has served: the full state waits for a kubelet
 * that knows all of its Pods, up to FL_GPU_HOLDERS_PATIENCE.
 *
 * The same resource in several entries (one a NUMA node) is one Holder, no device twice. Claims are not looked at: they
 * are no device plugin's.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

#define FL_HOLDERS_EVERY (30 * FL_NS_PER_S)          /* what is not told to us otherwise is seen as late as this */
/* After being asked: Allocate comes before the Pod is admitted, and a Pod of several containers asks several times. */
#define FL_HOLDERS_SOON (100 * FL_NS_PER_MS)
#define FL_HOLDERS_GRACE (30 * FL_NS_PER_S)          /* a kubelet knows all of its Pods within this of its start */
#define FL_HOLDERS_YOUNG_EVERY (2 * FL_NS_PER_S)     /* until then it learns of Pods that ran before it did */
#define FL_HOLDERS_TIMEOUT (10 * FL_NS_PER_S)        /* of one List, of thousands of containers */

struct fl_holders;
struct fl_log;

struct fl_holders_options {
	const char *dir;              /* of the kubelet's socket, borrowed; NULL: /var/lib/kubelet/pod-resources */
	struct fl_log *log;
	struct fl_metrics *metrics;   /* NULL: none are kept */
	void (*looked)(void *arg);    /* the kubelet has told, and the cache shows it; NULL: nobody wants to know */
	void *arg;
	const char *plugins_dir;      /* of the kubelet's checkpoint of devices, borrowed; NULL: it is not looked for */
};

/* The loop must have sources for fl_holder_kind and fl_active_kind: one answer tells both. */
struct fl_holders *fl_holders_new(struct fl_io *io, struct fl_loop *loop, const struct fl_holders_options *options,
				  struct fl_err *err) FL_MUSTUSE;
struct fl_holders *fl_holders_free(struct fl_holders *holders);    /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_holders, struct fl_holders *, fl_holders_free);

/* Memos and Bookings have been read: who is in them is a Holder until the kubelet says otherwise. Before anything else
 * that the state directory keeps is fed, or a plan sees nobody for a moment. */
int fl_holders_remember(struct fl_holders *holders, struct fl_err *err) FL_MUSTUSE;

void fl_holders_look(struct fl_holders *holders);

/* The moment of the loop's clock at which the kubelet was asked for what is known now; 0: it has told nothing yet. */
uint64_t fl_holders_as_of(const struct fl_holders *holders);

/* What the last look came to; FL_OK: the kubelet has told. For a condition and /readyz. */
const struct fl_err *fl_holders_why(const struct fl_holders *holders);
