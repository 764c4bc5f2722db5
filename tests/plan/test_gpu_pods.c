/* The Pods of this node: the book of allocations, Pods that were refused, Pods that must leave. I1, I3, I6. */
#include "plan/gpu/pods.h"
#include "gpu_facts.h"
#include <stdio.h>

#define HOLDER(pod, ids) \
	"metadata: {name: t/" pod "/c/nvidia.com/gpu}\nresource: nvidia.com/gpu\ndevices: [" ids "]\n" \
	"podNamespace: t\npod: " pod "\ncontainer: c\n"
#define BOOKED(pod, ids) HOLDER(pod, ids) "since: 20000000\n"
#define DOUBTED(pod, ids, at) BOOKED(pod, ids) DOUBT(at, "b1")   /* the loop's clock is at 100 */
#define DOUBT(at, boot) "doubted: " at "000000000\ndoubtedBoot: " boot "\n"
/* One that is older than the booking, and one that is younger. */
#define POD(name) "metadata: {namespace: t, name: " name ", uid: u-" name "}\nstatus: {phase: Running, startTime: " \
		  "'1970-01-01T00:00:10Z'}\n"
#define NEW_POD(name) "metadata: {namespace: t, name: " name "}\nstatus: {phase: Running, startTime: " \
		      "'1970-01-01T00:00:30Z'}\n"
#define ENDING(name) "metadata: {namespace: t, name: " name ", deletionTimestamp: '1970-01-01T00:00:30Z'}\n" \
		     "status: {phase: Running, startTime: '1970-01-01T00:00:10Z'}\n"
#define ENDED(name) "metadata: {namespace: t, name: " name "}\nstatus: {phase: Succeeded, startTime: " \
		    "'1970-01-01T00:00:10Z'}\n"
#define NOT_ADMITTED(space, name, reason, resource, more) \
	"metadata: {namespace: " space ", name: " name ", uid: u-" name more "}\nspec: {containers: [{resources: " \
	"{limits: {" resource ": 1}}}]}\nstatus: {phase: Failed, reason: " reason "}\n"
#define OWNED ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: x, controller: true}]"
#define FAILED_ONLY "-"                        /* those that Failed, and there are none */
#define NONE "~"                               /* Pods are not watched */
#define OLD "since: 1\nsettled: true\n"         /* a kubelet that is old enough */
#define YOUNG "since: 999000000000\nsettled: false\n"
#define AGREES " Known=AsAllocated Alone=AsAllocated\n"

static const struct {
	const char *says, *active, *holders, *booked, *pods, *got;
	uint64_t current;                      /* since when the watch of Pods is, in s; 0: since 1 */
	bool broken;                           /* it is not */
} books[] = {
	{ "the kubelet has not answered: nothing changes", "", "", BOOKED("p", "G1"), POD("p"), "" },
	{ "who is seen first is booked", OLD "containers: [t/p/c]\n", HOLDER("p", "G1"), "", NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 1000" AGREES },
	{ "what agrees stays as it was booked", OLD "containers: [t/p/c]\n", HOLDER("p", "G1"), BOOKED("p", "G1"), NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 20" AGREES },
	{ "who has ended leaves the book", OLD, "", BOOKED("p", "G1"), NONE, "gone Booking t/p/c/nvidia.com/gpu\n" },

	{ "forgotten: the Pod is asked for first", OLD "containers: [t/p/c]\n", "", BOOKED("p", "G1"), NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 20\nwatch\n" },
	{ "forgotten: the Pod that was booked runs without its device", OLD "containers: [t/p/c]\n", "",
	  DOUBTED("p", "G1", "85"), POD("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20 Known=DeviceForgotten! Alone=AsAllocated\n"
	  "watch\n" },
	{ "another Pod of that name that has none is no reason", OLD "containers: [t/p/c]\n", "", BOOKED("p", "G1"),
	  NEW_POD("p"), "gone Booking t/p/c/nvidia.com/gpu\n" },
	{ "one that is over is none either", OLD "containers: [t/p/c]\n", "", BOOKED("p", "G1"), ENDED("p"),
	  "gone Booking t/p/c/nvidia.com/gpu\n" },
	{ "a Pod that the API server does not know decides nothing", OLD "containers: [t/p/c]\n", "", BOOKED("p", "G1"),
	  POD("q"), "t/p/c/nvidia.com/gpu [G1] at 20\nwatch\n" },
	{ "a young kubelet may not know its Pods yet", YOUNG, "", BOOKED("p", "G1"), POD("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20\n" },

	{ "stale: the kubelet counts another device", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"),
	  DOUBTED("p", "G1", "85"),
	  POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 Known=DeviceDiffers! Alone=AsAllocated\nwatch\n" },
	{ "stale: that waits for the Pod", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"), BOOKED("p", "G1"), NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 20\nwatch\n" },
	{ "a new Pod of that name has its own", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"), BOOKED("p", "G1"),
	  NEW_POD("p"), "t/p/c/nvidia.com/gpu [G2] at 1000" AGREES "watch\n" },

	{ "doubt: the API server may not know yet that the Pod has ended", OLD "containers: [t/p/c]\n", "",
	  BOOKED("p", "G1"), POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 doubted 100\nwatch\nagain at 115\n" },
	{ "doubt: nor that another has its device, which is told on neither", OLD "containers: [t/p/c, t/q/c]\n",
	  HOLDER("q", "G1"), DOUBTED("p", "G1", "90") "---\n" BOOKED("q", "G1"), POD("p"),
	  "t/q/c/nvidia.com/gpu [G1] at 20" AGREES
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 90\nwatch\nagain at 105\n" },
	{ "doubt: nor that another Pod has its name", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"), BOOKED("p", "G1"),
	  POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 doubted 100\nwatch\nagain at 115\n" },
	{ "doubt ends with what agrees again", OLD "containers: [t/p/c]\n", HOLDER("p", "G1"),
	  DOUBTED("p", "G1", "90"), POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20" AGREES },
	{ "doubt ends with another Pod of that name", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"),
	  DOUBTED("p", "G1", "1"), NEW_POD("p"), "t/p/c/nvidia.com/gpu [G2] at 1000" AGREES "watch\n" },
	{ "doubt ends with the Pod", OLD "containers: [t/p/c]\n", "", DOUBTED("p", "G1", "1"), ENDED("p"),
	  "gone Booking t/p/c/nvidia.com/gpu\n" },
	{ "doubt waits while the Pod is not known", OLD "containers: [t/p/c]\n", "", DOUBTED("p", "G1", "1"), NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 1\nwatch\n" },
	{ "doubt does not hang on the wall's clock, which an earlier release wrote", OLD "containers: [t/p/c]\n", "",
	  BOOKED("p", "G1") "doubted: 900000000\n", POD("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 100\nwatch\nagain at 115\n" },
	{ "doubt of another boot begins again", OLD "containers: [t/p/c]\n", "",
	  BOOKED("p", "G1") DOUBT("1", "b0"), POD("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 100\nwatch\nagain at 115\n" },
	{ "doubt waits while the watch of Pods is broken", OLD "containers: [t/p/c]\n", "", DOUBTED("p", "G1", "1"),
	  POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 doubted 1\nwatch\n", .broken = true },
	{ "doubt waits until the watch has been back for as long", OLD "containers: [t/p/c]\n", HOLDER("p", "G2"),
	  DOUBTED("p", "G1", "1"), POD("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 1\nwatch\nagain at 113\n", .current = 98 },
	{ "doubt is certain when the watch has been back for as long", OLD "containers: [t/p/c]\n", "",
	  DOUBTED("p", "G1", "1"), POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 Known=DeviceForgotten! "
	  "Alone=AsAllocated\nwatch\n", .current = 85 },
	{ "doubt of a later time begins again", OLD "containers: [t/p/c]\n", "",
	  DOUBTED("p", "G1", "2000"), POD("p"), "t/p/c/nvidia.com/gpu [G1] at 20 doubted 100\nwatch\nagain at 115\n" },
	{ "the other device of a Pod that ends is the one of the next Pod of that name", OLD "containers: [t/p/c]\n",
	  HOLDER("p", "G2"), DOUBTED("p", "G1", "1"), ENDING("p"),
	  "t/p/c/nvidia.com/gpu [G1] at 20 doubted 1\nwatch\n" },
	{ "a book from before the clock was set back does not know who is older", OLD "containers: [t/p/c]\n",
	  HOLDER("p", "G2"), HOLDER("p", "G1") "since: 2000000000\n", POD("p"),
	  "t/p/c/nvidia.com/gpu [G2] at 1000" AGREES "watch\n" },
	{ "a Pod from before the GPUs were shared keeps the name of its device", OLD "containers: [t/p/c, t/q/c]\n",
	  HOLDER("p", "G1") "---\n" HOLDER("q", "'G1::0'"), BOOKED("p", "G1"), NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 20" AGREES "t/q/c/nvidia.com/gpu [G1::0] at 1000" AGREES },

	{ "I1 a device of a forgotten Pod that another one was given is told on both",
	  OLD "containers: [t/p/c, t/q/c]\n", HOLDER("q", "G1"),
	  DOUBTED("p", "G1", "85") "---\n" BOOKED("q", "G1"), POD("p"),
	  "t/q/c/nvidia.com/gpu [G1] at 20 Known=AsAllocated Alone=DeviceHeldTwice!\n"
	  "t/p/c/nvidia.com/gpu [G1] at 20 Known=DeviceForgotten! Alone=DeviceHeldTwice!\nwatch\n" },
	{ "I1 so is one that the kubelet lists for two Pods", OLD "containers: [t/p/c, t/q/c]\n",
	  HOLDER("p", "G1") "---\n" HOLDER("q", "'G1', G2"), "", NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 1000 Known=AsAllocated Alone=DeviceHeldTwice!\n"
	  "t/q/c/nvidia.com/gpu [G1 G2] at 1000 Known=AsAllocated Alone=DeviceHeldTwice!\n" },
	{ "shares of one GPU are not one device", OLD "containers: [t/p/c, t/q/c]\n",
	  HOLDER("p", "'G1::0'") "---\n" HOLDER("q", "'G1::1'"), "", NONE,
	  "t/p/c/nvidia.com/gpu [G1::0] at 1000" AGREES "t/q/c/nvidia.com/gpu [G1::1] at 1000" AGREES },
	{ "containers of one Pod may have one together", OLD "containers: [t/p/c, t/p/d]\n",
	  HOLDER("p", "G1") "---\nmetadata: {name: t/p/d/nvidia.com/gpu}\nresource: nvidia.com/gpu\ndevices: [G1]\n"
	  "podNamespace: t\npod: p\ncontainer: d\n", "", NONE,
	  "t/p/c/nvidia.com/gpu [G1] at 1000" AGREES "t/p/d/nvidia.com/gpu [G1] at 1000" AGREES },
};

static const struct {
	const char *says, *active, *pods, *settings, *condition, *got;
} boots[] = {
	{ "a young kubelet: Pods are watched, and all of them waited for", YOUNG, NONE, "", "",
	"watch failed\nagain at 1599\n" },
	{ "nobody is told before it has settled", YOUNG,
	  NOT_ADMITTED("t", "p", "UnexpectedAdmissionError", "nvidia.com/gpu", ""), "", "",
	  "watch failed\nagain at 1599\n" },
	{ "nobody was refused: nothing is said", "since: 999000000000\nsettled: true\n", POD("p"), "", "",
	  "watch failed\nagain at 1599\n" },
	{ "all that were refused are in one Event, with the command", "since: 990000000000\nsettled: true\n",
	  NOT_ADMITTED("a", "p", "UnexpectedAdmissionError", "nvidia.com/gpu", "") "---\n"
	  NOT_ADMITTED("a", "q", "OutOfnvidia.com/gpu", "nvidia.com/gpu", "") "---\n" POD("r") "---\n"
	  NOT_ADMITTED("z", "s", "UnexpectedAdmissionError", "gpu.deckhouse.io/train", OWNED), "", "",
	  "AdmissionFailed! the kubelet refused 3 Pods that ask for GPUs, and will not try again: kubectl delete "
	  "pod -n "
	  "a p q && kubectl delete pod -n z s\nwatch failed\nagain at 1590\n" },
	{ "what asks for no GPU, or is refused for something else, is not ours", "since: 990000000000\nsettled: true\n",
	  NOT_ADMITTED("a", "p", "UnexpectedAdmissionError", "cpu", "") "---\n"
	  NOT_ADMITTED("a", "q", "Evicted", "nvidia.com/gpu", "") "---\n"
	  NOT_ADMITTED("a", "r", "OutOfcpu", "nvidia.com/gpu", ""), "", "", "watch failed\nagain at 1590\n" },
	{ "those of a controller are removed where that is asked for, and no other",
	  "since: 990000000000\nsettled: true\n",
	  NOT_ADMITTED("a", "p", "UnexpectedAdmissionError", "nvidia.com/gpu", "") "---\n"
	  NOT_ADMITTED("a", "q", "UnexpectedAdmissionError", "nvidia.com/gpu", OWNED), "removeRefusedPods: true\n",
	  "True",
	  "AdmissionFailed! the kubelet refused 2 *\ngone Pod a/q\nwatch failed\nagain at 1590\n" },
	{ "not before people are told of them", "since: 990000000000\nsettled: true\n",
	  NOT_ADMITTED("a", "q", "UnexpectedAdmissionError", "nvidia.com/gpu", OWNED), "removeRefusedPods: true\n", "",
	  "AdmissionFailed! the kubelet refused 1 *\nwatch failed\nagain at 1590\n" },
	{ "the watch ends with the boot", "since: 1\nsettled: true\n", POD("p"), "", "", "" },
	{ "not while somebody is left", "since: 1\nsettled: true\n", NONE, "", "True",
	  "AdmissionFailed as before\nwatch failed\n" },
	{ "when nobody is left it is over", "since: 1\nsettled: true\n", POD("p"), "", "True",
	  "None! no refused Pod is left\nwatch failed\n" },
	{ "and stays so", "since: 1\nsettled: true\n", NONE, "", "False", "None as before\n" },
};

#define SICK(cause) "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Unhealthy\ncause: " cause \
		    "\nsince: 10000000000\nboot: b1\nidentity: {uuid: G1}\n"
#define IN_BOOK "t/p/c/nvidia.com/gpu [G1::2] at 1000 Known=AsAllocated Alone=AsAllocated\n"
#define EVICT "t/p u-p by 0000:01:00.0!\n"
static const struct {
	const char *says, *settings, *driver, *health, *pods, *evictions, *got;
	bool untold;                           /* the kubelet has not told who holds what */
} deaths[] = {
	{ "off by default", "", "Ready", SICK("Xid79"), POD("p"), "", "" },
	{ "a Pod whose GPU is dead for long enough leaves", "evictAfter: 60000000000\n", "Ready", SICK("Xid79"),
	  POD("p"), "", EVICT "watch\n" },
	{ "so does one whose GPU is gone", "evictAfter: 60000000000\n", "Ready", SICK("Gone"), POD("p"), "",
	  EVICT "watch\n" },
	{ "who failed alone is not all that is known", "evictAfter: 60000000000\n", "Ready", SICK("Xid79"),
	  FAILED_ONLY,
	  "metadata: {name: t/p}\npodNamespace: t\npod: p\nuid: u-p\ncard: x\n", "t/p u-p by x\nwatch\n" },
	{ "its Pod must be known", "evictAfter: 60000000000\n", "Ready", SICK("Xid79"), NONE, "", "watch\n" },
	{ "not before its time", "evictAfter: 120000000000\n", "Ready", SICK("Xid79"), POD("p"), "", "again at 130\n" },
	{ "never when the driver is paused", "evictAfter: 60000000000\n", "Paused", SICK("Xid79"), POD("p"), "", "" },
	{ "never during an upgrade", "evictAfter: 60000000000\n", "Mismatch", SICK("DriverMismatch"), POD("p"), "",
	"" },
	{ "nor right after it", "evictAfter: 60000000000\n", "Ready", SICK("DriverMismatch"), POD("p"), "", "" },
	{ "nor for a driver that is sick itself", "evictAfter: 60000000000\n", "Ready", SICK("DriverSick"),
	POD("p"), "",
	  "" },
	{ "one that recovers is waited for", "evictAfter: 60000000000\n", "Ready",
	  "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Recovering\ncause: Xid79\nboot: b1\n",
	  POD("p"),
	  "", "" },
	{ "who ends anyway is left alone", "evictAfter: 60000000000\n", "Ready", SICK("Xid79"), ENDED("p"), "",
	  "watch\n" },
	{ "of another boot is nothing known", "evictAfter: 60000000000\n", "Ready",
	  "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Unhealthy\ncause: Xid79\nboot: b0\n",
	  POD("p"),
	  "", "" },
	{ "once is enough: what was evicted is remembered until it is gone", "evictAfter: 60000000000\n", "Ready",
	  SICK("Xid79"), "metadata: {namespace: t, name: p, uid: u-p, deletionTimestamp: '1970-01-01T00:00:30Z'}\n",
	  "metadata: {name: t/p}\npodNamespace: t\npod: p\nuid: u-p\ncard: x\n", "t/p u-p by x\nwatch\n" },
	{ "the book alone evicts nobody: another Pod may have that name by now", "evictAfter: 60000000000\n", "Ready",
	  SICK("Xid79"), POD("p"), "", "", true },
	{ "and then forgotten", "evictAfter: 60000000000\n", "Ready", "", POD("q"),
	  "metadata: {name: t/p}\npodNamespace: t\npod: p\nuid: u-p\ncard: x\n", "gone Eviction /t/p\nwatch\n" },
};

/* ---- how they are looked at ---- */

static void print_told(const struct fl_want *want, const struct fl_condition_list *all, const char *type,
		       const char *as, struct fl_buf *out)
{
	const struct fl_condition *condition = fl_condition_find(all, fl_str(type));
	bool told = false;

	for (const struct fl_told *at = want->told; at; at = at->next)
		told |= fl_str_eq(at->type, fl_str(type));
	if (condition)
		fl_buf_printf(out, "%s%.*s%s", as, FL_ARG(condition->reason), told ? "!" : "");
}

static void print_want(const struct fl_want *want, struct fl_buf *out)
{
	if (want->what == FL_WANT_GONE) {
		fl_buf_printf(out, "gone %s %.*s%s%.*s\n", want->ref.kind->kind, FL_ARG(want->ref.space),
			      want->ref.kind == &fl_booking_kind ? "" : "/", FL_ARG(want->ref.name));
	} else if (want->ref.kind == &fl_booking_kind) {
		const struct fl_booking *b = want->object;

		fl_buf_printf(out, "%.*s [", FL_ARG(b->meta.name.len ? b->meta.name : want->ref.name));
		for (uint32_t i = 0; i < b->devices.len; i++)
			fl_buf_printf(out, "%s%.*s", i ? " " : "", FL_ARG(b->devices.at[i]));
		fl_buf_printf(out, "] at %lld", (long long)(b->since / 1000000));
		if (b->has.doubted && !fl_condition_find(&b->status.conditions, FL_S("KnownToKubelet")))
			fl_buf_printf(out, " doubted %lld", (long long)(b->doubted / (int64_t)FL_NS_PER_S));
		print_told(want, &b->status.conditions, "KnownToKubelet", " Known=", out);
		print_told(want, &b->status.conditions, "HeldAlone", " Alone=", out);
		fl_buf_char(out, '\n');
	} else if (want->ref.kind == &fl_own_node_kind) {
		const struct fl_own_node *node = want->object;

		print_told(want, &node->status.conditions, "GPUPodsRefused", "", out);
		fl_buf_printf(out, " %.*s\n", FL_ARG(node->status.conditions.at[0].message));
	} else if (want->ref.kind == &fl_eviction_kind) {
		const struct fl_eviction *e = want->object;

		fl_buf_printf(out, "%.*s %.*s by %.*s%s\n", FL_ARG(want->ref.name), FL_ARG(e->uid), FL_ARG(e->card),
			      want->told ? "!" : "");
	} else if (((const struct fl_pod_watch *)want->object)->wanted) {
		fl_buf_printf(out, "watch%s\n",
			      ((const struct fl_pod_watch *)want->object)->failed_only ? " failed" : "");
	}
}

static int print_plan(const struct fl_gpu_pods_facts *facts, struct fl_arena *arena, struct fl_buf *out)
{
	struct fl_plan plan;

	fl_plan_init(&plan, arena);
	fl_gpu_pods_plan(facts, &plan);
	if (plan.failed)
		return -FL_E_NOMEM;
	for (const struct fl_want *want = plan.first; want; want = want->next)
		if (want->ref.kind != &fl_memo_kind)
			print_want(want, out);
	if (plan.at)
		fl_buf_printf(out, "again at %llu\n", (unsigned long long)(plan.at / FL_NS_PER_S));
	return fl_buf_check(out, "the plan", NULL);
}

static int gather(struct fl_arena *arena, const char *settings, const char *active, const char *pods,
		  struct fl_gpu_pods_facts *ret)
{
	struct fl_str all = fl_arena_printf(arena, "metadata: {name: settings}\nnode: n1\nboot: b1\n%s", settings);
	struct fl_str told = fl_arena_printf(arena, "metadata: {name: active}\n%s", active);

	*ret = (struct fl_gpu_pods_facts){ .now = 100 * FL_NS_PER_S, .wall = 1000 * 1000000LL,
					    .pods_current = FL_NS_PER_S };
	if (!all.p || !told.p || !(ret->settings = facts_object(arena, fl_settings_bind(), all)) ||
	    (*active && !(ret->active = facts_object(arena, fl_active_bind(), told))))
		return -FL_E_NOMEM;
	if (strcmp(pods, NONE) == 0)
		return 0;
	ret->failed_known = true;
	if (strcmp(pods, FAILED_ONLY) == 0)
		return 0;
	ret->all_known = true;
	return (ret->pods = facts_list(arena, fl_own_pod_bind(), pods, &ret->pod_len)) ? 0 : -FL_E_NOMEM;
}

TEST(the_book_and_the_kubelet)
{
	EACH_ROW (row, books) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_pods_facts f;

		OK(gather(&arena, "", row->active, row->pods, &f));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.bookings = facts_list(&arena, fl_booking_bind(), row->booked, &f.booking_len));
		if (row->current)
			f.pods_current = row->current * FL_NS_PER_S;
		if (row->broken)
			f.pods_current = 0;
		OK(print_plan(&f, &arena, &text));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}

TEST(what_is_said_names_device_pod_and_remedy)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_gpu_pods_facts f;
	struct fl_plan plan;
	const struct fl_booking *first;

	OK(gather(&arena, "", OLD "containers: [t/p/c, t/q/c]\n", POD("p"), &f));
	GOT(f.holders = facts_list(&arena, fl_holder_bind(), HOLDER("q", "G1"), &f.holder_len));
	GOT(f.bookings = facts_list(&arena, fl_booking_bind(), DOUBTED("p", "G1, G2, G3, G4, G5, G6", "85"),
				    &f.booking_len));
	fl_plan_init(&plan, &arena);
	fl_gpu_pods_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	first = plan.first->next->object;
	CHECK_STR(fl_condition_find(&first->status.conditions, FL_S("KnownToKubelet"))->message,
		  "container c runs with nvidia.com/gpu G1, G2, G3, G4 and 2 more, and the kubelet counts no such "
		  "device "
		  "for it: its checkpoint was lost; it may give the device to another Pod: kubectl delete pod -n t p");
	CHECK_STR(fl_condition_find(&first->status.conditions, FL_S("HeldAlone"))->message,
		  "nvidia.com/gpu G1 is held by Pod t/p and by Pod t/q: delete one of them: kubectl delete pod -n t p");
}

TEST(pods_that_a_boot_refused)
{
	EACH_ROW (row, boots) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_pods_facts f;
		struct fl_str node;

		OK(gather(&arena, row->settings, row->active, row->pods, &f));
		f.now = 1000 * FL_NS_PER_S;
		node = fl_arena_printf(&arena, "metadata: {name: n1}\n%s%s%s",
				       *row->condition ? "status: {conditions: [{type: GPUPodsRefused, reason: X, "
				       "message: "
							 "as before, lastTransitionTime: '1970-01-01T00:00:10Z', "
							 "status: '" :
							 "",
				       row->condition, *row->condition ? "'}]}\n" : "");
		GOT(node.p);
		GOT(f.node = facts_object(&arena, fl_own_node_bind(), node));
		OK(print_plan(&f, &arena, &text));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* ---- from when the book alone will do ---- */

static const struct {
	const char *says, *holders, *bookings;
	bool before, kept;
} keepings[] = {
	{ "nobody holds a device", "", "", false, true },
	{ "who does is not in it yet", HOLDER("p", "G1"), "", false, false },
	{ "who does is in it", HOLDER("p", "G1"), BOOKED("p", "G1"), false, true },
	{ "once complete, it stays so", HOLDER("p", "G1"), "", true, true },
};

TEST(the_book_is_kept_when_all_holders_are_in_it)
{
	EACH_ROW (row, keepings) {
		static const struct fl_memo memo;
		struct fl_ref ref = { &fl_memo_kind, FL_S(""), FL_S(FL_BOOK_MEMO), FL_S("") };
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_pods_facts f;
		struct fl_plan plan;

		OK(gather(&arena, "", "", NONE, &f));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.bookings = facts_list(&arena, fl_booking_bind(), row->bookings, &f.booking_len));
		f.kept = row->before ? &memo : NULL;
		fl_plan_init(&plan, &arena);
		fl_gpu_pods_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		CHECK_INT(fl_plan_find(&plan, &fl_gpu_book_memo_owner, ref) != NULL, row->kept);
	}
}

/* ---- Pods that were refused ---- */

TEST(a_hundred_refused_pods_fit_into_one_event)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_own_pod *pods;
	struct fl_gpu_pods_facts f;
	const struct fl_own_node *node;
	const struct fl_want *want;
	struct fl_plan plan;
	uint32_t one;

	OK(gather(&arena, "", "since: 90000000000\nsettled: true\n", NONE, &f));
	GOT(f.node = facts_object(&arena, fl_own_node_bind(), FL_S("metadata: {name: n1}\n")));
	GOT(f.pods = facts_list(&arena, fl_own_pod_bind(),
				NOT_ADMITTED("team-with-a-name", "p", "UnexpectedAdmissionError", "nvidia.com/gpu",
					     ""),
				&one));
	GOT(pods = fl_arena_get_n(&arena, 100, sizeof *pods));
	for (int i = 0; i < 100; i++) {
		pods[i] = f.pods[0];
		pods[i].meta.name = fl_arena_printf(&arena, "training-job-worker-%03d", i);
		GOT(pods[i].meta.name.p);
	}
	f.pods = pods;
	f.pod_len = 100;
	f.failed_known = true;
	fl_plan_init(&plan, &arena);
	fl_gpu_pods_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	GOT(want = fl_plan_find(&plan, &fl_gpu_refused_owner,
				(struct fl_ref){ &fl_own_node_kind, FL_S(""), FL_S("n1"), FL_S("") }));
	node = want->object;
	CHECK(node->status.conditions.at[0].message.len < 1024);
	CHECK(fl_str_ends(node->status.conditions.at[0].message,
			  FL_S(" more: kubectl get pods -A --field-selector spec.nodeName=n1,status.phase=Failed")));
}

TEST(pods_whose_gpu_is_dead)
{
	EACH_ROW (row, deaths) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		static const struct fl_active told = { .settled = true, .since = -600 * (int64_t)FL_NS_PER_S };
		struct fl_gpu_pods_facts f;
		struct fl_str want, driver;

		driver = fl_arena_printf(&arena, "metadata: {name: driver}\nstate: %s\n", row->driver);
		GOT(driver.p);
		OK(gather(&arena, row->settings, "", row->pods, &f));
		f.active = row->untold ? NULL : &told;
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), driver));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), HOLDER("p", "'G1::2'"), &f.holder_len));
		GOT(f.healths = facts_list(&arena, fl_health_bind(), row->health, &f.health_len));
		GOT(f.evictions = facts_list(&arena, fl_eviction_bind(), row->evictions, &f.eviction_len));
		OK(print_plan(&f, &arena, &text));
		want = fl_arena_printf(&arena, "%s%s", row->untold ? "" : IN_BOOK, row->got);
		GOT(want.p);
		CHECK_STR(fl_buf_view(&text), want.p);
	}
}

/* ---- the book under chance: I1, whatever the kubelet lists ---- */

enum { PODS = 4, CONTAINERS = 2, DEVICES = 6 };
#define ALL (PODS * CONTAINERS)

struct world {
	struct fl_arena arena;
	struct fl_active active;
	struct fl_holder holders[ALL];
	struct fl_booking bookings[ALL];
	struct fl_own_pod pods[PODS];
	struct fl_gpu_pods_facts facts;
};

static void world_auto_(struct world *w)
{
	fl_arena_free(&w->arena);
}

static const char *const resources[] = { "nvidia.com/gpu", "nvidia.com/mig-1g.5gb" };

/* One to three devices, sorted. */
static int some_devices(struct fl_arena *arena, struct fl_str_list *ret)
{
	uint64_t set = (UINT64_C(1) << test_random() % DEVICES) | (test_random() % 3 ? 0 : test_random());

	ret->len = 0;
	ret->at = fl_arena_get_n(arena, DEVICES, sizeof *ret->at);
	for (uint32_t i = 0; ret->at && i < DEVICES; i++)
		if (set >> i & 1) {
			ret->at[ret->len] = fl_arena_printf(arena, "GPU-%u", i);
			if (!ret->at[ret->len++].p)
				return -FL_E_NOMEM;
		}
	return ret->at ? 0 : -FL_E_NOMEM;
}

static int some_container(struct world *w, uint32_t i)
{
	struct fl_str pod = fl_arena_printf(&w->arena, "p%u", i / CONTAINERS),
		      container = fl_arena_printf(&w->arena, "c%u", i % CONTAINERS),
		      resource = fl_str(resources[test_random() % 4 == 0]),
		      name = fl_arena_printf(&w->arena, "t/p%u/c%u/%.*s", i / CONTAINERS, i % CONTAINERS,
					     FL_ARG(resource));
	struct fl_holder *holder = &w->holders[w->facts.holder_len];
	struct fl_booking *booking = &w->bookings[w->facts.booking_len];
	struct fl_str_list listed, booked;

	if (!pod.p || !container.p || !name.p || some_devices(&w->arena, &listed) < 0 ||
	    some_devices(&w->arena, &booked) < 0)
		return -FL_E_NOMEM;
	*holder = (struct fl_holder){ .resource = resource, .pod_space = FL_S("t"), .pod = pod,
				      .container = container, .devices = listed };
	FL_SET(FL_IN(holder, meta), name, name);
	*booking = (struct fl_booking){ .resource = resource, .pod_space = FL_S("t"), .pod = pod,
					.container = container, .since = 20, .doubted = 10,
					.devices = test_random() % 4 ? listed : booked };
	FL_SET(FL_IN(booking, meta), name, name);
	booking->has.doubted = 1;
	w->facts.holder_len += test_random() % 4 != 0;
	w->facts.booking_len += test_random() % 4 != 0;
	return 0;
}

static int some_world(struct world *w)
{
	static const struct fl_settings settings = { 0 };

	fl_arena_reset(&w->arena);
	w->facts = (struct fl_gpu_pods_facts){ .active = &w->active, .holders = w->holders, .bookings = w->bookings,
					       .pods = w->pods, .pod_len = PODS, .all_known = test_random() % 4 != 0,
					       .failed_known = true, .settings = &settings, .pods_current = 10,
					       .now = 1000 * FL_NS_PER_S, .wall = 1000000000 };
	w->active = (struct fl_active){ .settled = true };
	if (!FL_ELEMENTS(&w->active, &w->arena, containers, ALL))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < ALL; i++) {
		w->active.containers.at[i] = fl_arena_printf(&w->arena, "t/p%u/c%u", i / CONTAINERS, i % CONTAINERS);
		if (!w->active.containers.at[i].p || some_container(w, i) < 0)
			return -FL_E_NOMEM;
	}
	for (uint32_t i = 0; i < PODS; i++) {
		w->pods[i] = (struct fl_own_pod){ 0 };
		FL_SET(FL_IN(&w->pods[i], meta), space, FL_S("t"));
		FL_SET(FL_IN(&w->pods[i], meta), name, fl_arena_printf(&w->arena, "p%u", i));
		FL_SET(FL_IN(&w->pods[i], status), start, (int64_t)(test_random() % 4 ? 10 : 30));
		w->pods[i].has.status = 1;
		if (!w->pods[i].meta.name.p)
			return -FL_E_NOMEM;
	}
	return 0;
}

/* ---- what must come out, each with each ---- */

static const struct fl_condition *told(const struct fl_want *want, const char *type)
{
	return fl_condition_find(&((const struct fl_booking *)want->object)->status.conditions, fl_str(type));
}

static bool has_id(const struct fl_str_list *list, struct fl_str id)
{
	for (uint32_t i = 0; i < list->len; i++)
		if (fl_str_eq(list->at[i], id))
			return true;
	return false;
}

static bool has(const struct world *w, const struct fl_want *want, struct fl_str id)
{
	const struct fl_condition *known = told(want, "KnownToKubelet");

	if (has_id(&((const struct fl_booking *)want->object)->devices, id))
		return true;
	for (uint32_t i = 0; known && i < w->facts.holder_len; i++)
		if (fl_str_eq(w->holders[i].meta.name, want->ref.name) &&
		    fl_str_eq(known->reason, FL_S("DeviceDiffers")))
			return has_id(&w->holders[i].devices, id);
	return false;
}

static bool shares(const struct world *w, const struct fl_want *a, const struct fl_want *b)
{
	const struct fl_booking *x = a->object, *y = b->object;

	if (!fl_str_eq(x->resource, y->resource) || fl_str_eq(x->pod, y->pod))
		return false;
	for (uint32_t i = 0; i < DEVICES; i++) {
		char id[] = "GPU-0";

		id[4] = (char)('0' + i);
		if (has(w, a, fl_str(id)) && has(w, b, fl_str(id)))
			return true;
	}
	return false;
}

static bool is_booking(const struct fl_want *want)
{
	return want->what == FL_WANT_OBJECT && want->ref.kind == &fl_booking_kind;
}

/* The last one that has a device of it, too. */
static const struct fl_booking *rival(const struct world *w, const struct fl_plan *plan, const struct fl_want *want)
{
	const struct fl_booking *found = NULL;

	for (const struct fl_want *other = plan->first; other; other = other->next)
		if (other != want && is_booking(other) && told(other, "HeldAlone") && shares(w, want, other))
			found = other->object;
	return found;
}

static int64_t contended;

static void check_alone(const struct world *w, const struct fl_plan *plan, const struct fl_want *want)
{
	const struct fl_condition *alone = told(want, "HeldAlone");
	const struct fl_booking *booking = want->object, *other = alone ? rival(w, plan, want) : NULL;
	char words[80];

	CHECK_INT(alone != NULL, told(want, "KnownToKubelet") != NULL);
	if (!alone)
		return;
	CHECK_INT(alone->status == FL_CONDITION_TRUE, other == NULL);
	if (!other)
		return;
	contended++;
	(void)snprintf(words, sizeof words, "is held by Pod t/%.*s and by Pod t/%.*s: ", FL_ARG(booking->pod),
		       FL_ARG(other->pod));
	CHECK(memmem(alone->message.p, alone->message.len, words, strlen(words)) != NULL);
}

TEST_ONCE(a_device_of_two_pods_is_told_on_both_and_on_no_other)   /* what it runs through is tortured above */
{
	FL_AUTO(world) struct world w = { 0 };

	contended = 0;
	for (int i = 0; i < 3000; i++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_plan plan;

		OK(some_world(&w));
		fl_plan_init(&plan, &arena);
		fl_gpu_pods_plan(&w.facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			if (is_booking(want))
				check_alone(&w, &plan, want);
	}
	CHECK(contended > 1000);
}

TEST(only_a_disruption_budgets_refusal_is_told_on_the_pod)
{
	const struct fl_eviction eviction = { .card = FL_S("0000:01:00.0") };
	char text[200] = "";
	struct fl_buf words = FL_BUF_IN(text);

	CHECK(!fl_gpu_evict_refused(&eviction, false, "not allowed", &words));
	CHECK_INT(words.len, 0);
	CHECK(fl_gpu_evict_refused(&eviction, true, "budget b allows none", &words));
	CHECK_STR(fl_buf_view(&words), "its GPU 0000:01:00.0 is dead; the API server refuses the eviction: budget b "
				       "allows none: the agent retries");
}
