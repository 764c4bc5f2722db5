/* The book of allocations against the kubelet's. Allocate is not told whose devices they are; PodResources is the first
 * to say so, and what it has said once is kept here: a container never changes its devices while its Pod lives. So if
 * the kubelet tells something else of the same Pod later, its checkpoint is not the one that it had. */
#include "base/units.h"
#include "plan/gpu/pods_in.h"
#include <stdlib.h>

/* What the kubelet and the API server say of a Pod must contradict the book for so long, while the watch of Pods is
 * current: the kubelet tells the API server within its sync period of 10 s how a Pod is. */
#define FL_BOOK_SURE (15 * FL_NS_PER_S)

static const char *const paths[] = { "resource", "devices", "podNamespace", "pod", "container", "since",
				     "doubted", "doubtedBoot",
				     "status.conditions[type=KnownToKubelet]", "status.conditions[type=HeldAlone]",
				     NULL };
const struct fl_owner fl_gpu_book_owner = { "fairlead-book", &fl_booking_kind, paths };

static const char *const memo_paths[] = { "kept", NULL };
const struct fl_owner fl_gpu_book_memo_owner = { "fairlead-book", &fl_memo_kind, memo_paths };

enum { SHOWN = 4 };                            /* device IDs that a message names */

enum verdict {
	UNSURE,                                /* not known yet: all stays as it was */
	AGREES,
	FORGOTTEN,                             /* the Pod runs, and the kubelet counts no device for it */
	DIFFERS,                               /* it counts others */
};

struct entry {
	struct fl_booking booking;             /* as it is to be kept */
	const struct fl_holder *holder;        /* what the kubelet says; NULL: nothing */
	enum verdict verdict;
	const struct entry *rival;             /* has a device of it too; NULL: nobody */
	struct fl_str contended;               /* that device */
};

struct book {
	const struct fl_gpu_pods_facts *facts;
	struct fl_plan *plan;
	struct entry *at;
	uint32_t len;
	bool settled;                          /* the kubelet has had time to learn of its Pods */
	bool needs_pods;
};

static bool same_devices(const struct fl_str_list *a, const struct fl_str_list *b)
{
	if (a->len != b->len)
		return false;
	for (uint32_t i = 0; i < a->len; i++)
		if (!fl_str_eq(a->at[i], b->at[i]))
			return false;
	return true;
}

static int by_name(const void *name, const void *booking)
{
	return fl_str_cmp(*(const struct fl_str *)name, ((const struct fl_booking *)booking)->meta.name);
}

static int by_holder_name(const void *name, const void *holder)
{
	return fl_str_cmp(*(const struct fl_str *)name, ((const struct fl_holder *)holder)->meta.name);
}

static int by_bytes(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

static const struct fl_booking *booked(const struct book *book, struct fl_str name)
{
	const struct fl_gpu_pods_facts *f = book->facts;

	return f->booking_len ? bsearch(&name, f->bookings, f->booking_len, sizeof *f->bookings, by_name) : NULL;
}

/* Is it the Pod that it was when the entry was made? The kubelet stamps the start with this machine's clock, and an
 * entry is younger than its Pod's start and older than its Pod's end. An entry dated in the future predates a clock
 * change: its age proves nothing. */
static bool same_pod(const struct book *book, const struct fl_booking *booking, const struct fl_own_pod *pod)
{
	return pod->status.has.start && pod->status.start <= booking->since && booking->since <= book->facts->wall;
}

/* The kubelet and the API server are not asked in one moment: a Pod that has just ended, or was just made anew, may
 * still be the former one to one of them. What both say must hold for a while; until then it is not known. */
static enum verdict doubt(struct book *book, struct fl_booking *booking, enum verdict verdict)
{
	const struct fl_gpu_pods_facts *f = book->facts;
	uint64_t from;

	if (!booking->has.doubted || booking->doubted > (int64_t)f->now ||
	    !fl_str_eq(booking->doubt_boot, f->settings->boot)) {
		FL_SET(booking, doubted, (int64_t)f->now);
		FL_SET(booking, doubt_boot, f->settings->boot);
	}
	if (!f->pods_current)
		return UNSURE;
	from = (uint64_t)booking->doubted > f->pods_current ? (uint64_t)booking->doubted : f->pods_current;
	if (f->now >= from + FL_BOOK_SURE)
		return verdict;
	fl_want_at(book->plan, from + FL_BOOK_SURE);
	return UNSURE;
}

static struct fl_booking new_booking(const struct book *book, const struct fl_holder *holder)
{
	struct fl_booking booking = { 0 };

	FL_SET(FL_IN(&booking, meta), name, holder->meta.name);
	FL_SET(&booking, resource, holder->resource);
	FL_SET(&booking, pod_space, holder->pod_space);
	FL_SET(&booking, pod, holder->pod);
	FL_SET(&booking, container, holder->container);
	FL_SET(&booking, since, book->facts->wall);
	booking.devices = holder->devices;
	booking.has.devices = 1;
	return booking;
}

/* ---- entry by entry ---- */

static void read_holder(struct book *book, const struct fl_holder *holder)
{
	const struct fl_booking *before = booked(book, holder->meta.name);
	struct entry *entry = &book->at[book->len++];
	const struct fl_own_pod *pod;

	*entry = (struct entry){ .holder = holder, .verdict = AGREES };
	if (!before || same_devices(&before->devices, &holder->devices)) {
		entry->booking = before ? *before : new_booking(book, holder);
		FL_UNSET(&entry->booking, doubted);
		FL_UNSET(&entry->booking, doubt_boot);
		return;
	}
	entry->booking = *before;
	entry->verdict = UNSURE;
	if (!book->settled)
		return;
	book->needs_pods = true;
	pod = pods_find(book->facts, holder->pod_space, holder->pod);
	if (!pod || pods_ends(pod))
		return;
	if (same_pod(book, before, pod)) {
		entry->verdict = doubt(book, &entry->booking, DIFFERS);
	} else {
		entry->booking = new_booking(book, holder);
		entry->verdict = AGREES;
	}
}

static bool is_active(const struct book *book, const struct fl_booking *booking)
{
	const struct fl_str_list *all = &book->facts->active->containers;
	struct fl_str name = fl_plan_printf(book->plan, "%.*s/%.*s/%.*s", FL_ARG(booking->pod_space),
					    FL_ARG(booking->pod), FL_ARG(booking->container));

	return name.p && all->len && bsearch(&name, all->at, all->len, sizeof *all->at, by_bytes);
}

/* The kubelet lists no devices for it: its Pod is over, or another of that name has come, or the kubelet forgot. */
static void read_unlisted(struct book *book, const struct fl_booking *booking)
{
	const struct fl_own_pod *pod = NULL;
	struct entry *entry;
	bool active = true;

	if (book->settled) {
		active = is_active(book, booking);
		pod = active ? pods_find(book->facts, booking->pod_space, booking->pod) : NULL;
	}
	if (!active || (pod && (pods_ends(pod) || !same_pod(book, booking, pod)))) {
		fl_want_gone(book->plan, FL_REF(&fl_booking_kind, booking));
		return;
	}
	book->needs_pods |= book->settled;
	entry = &book->at[book->len++];
	*entry = (struct entry){ .booking = *booking, .verdict = UNSURE };
	if (pod)
		entry->verdict = doubt(book, &entry->booking, FORGOTTEN);
}

/* ---- two of them ---- */

/* One device of one entry, by the book or by the kubelet. */
struct claim {
	struct fl_str resource, device;
	uint32_t entry;
};

static int by_device(const void *a_, const void *b_)
{
	const struct claim *a = a_, *b = b_;
	int order = fl_str_cmp(a->device, b->device);

	if (!order)
		order = fl_str_cmp(a->resource, b->resource);
	return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

static bool same_pods(const struct entry *a, const struct entry *b)
{
	return fl_str_eq(a->booking.pod, b->booking.pod) && fl_str_eq(a->booking.pod_space, b->booking.pod_space);
}

static uint32_t add_claims(const struct entry *entry, uint32_t index, const struct fl_str_list *devices,
			   struct claim *ret)
{
	for (uint32_t i = 0; i < devices->len; i++)
		ret[i] = (struct claim){ entry->booking.resource, devices->at[i], index };
	return devices->len;
}

/* All that is known, sorted by device; NULL: no memory. */
static struct claim *claims_of(const struct book *book, uint32_t *ret_len)
{
	struct claim *claims;
	size_t len = 0;

	for (uint32_t i = 0; i < book->len; i++)
		len += book->at[i].booking.devices.len + (book->at[i].holder ? book->at[i].holder->devices.len : 0);
	claims = fl_plan_get(book->plan, len, sizeof *claims);
	*ret_len = 0;
	for (uint32_t i = 0; claims && i < book->len; i++) {
		const struct entry *entry = &book->at[i];

		if (entry->verdict == UNSURE)
			continue;
		*ret_len += add_claims(entry, i, &entry->booking.devices, claims + *ret_len);
		if (entry->verdict == DIFFERS)
			*ret_len += add_claims(entry, i, &entry->holder->devices, claims + *ret_len);
	}
	if (*ret_len)
		qsort(claims, *ret_len, sizeof *claims, by_device);
	return claims;
}

/* For one device: each claim's rival is the last claim by another Pod. A rival found for an earlier device stays unless
 * this one comes later. */
static void set_rivals(struct book *book, const struct claim *claims, uint32_t len)
{
	struct entry *last = &book->at[claims[len - 1].entry], *other = NULL;

	for (uint32_t i = len - 1; i-- > 0 && !other;)
		if (!same_pods(&book->at[claims[i].entry], last))
			other = &book->at[claims[i].entry];
	for (uint32_t i = 0; other && i < len; i++) {
		struct entry *entry = &book->at[claims[i].entry], *rival = same_pods(entry, last) ? other : last;

		if (entry->rival && entry->rival >= rival)
			continue;
		entry->rival = rival;
		entry->contended = claims[i].device;
	}
}

static void compare(struct book *book)
{
	uint32_t len, to;
	const struct claim *claims = claims_of(book, &len);

	for (uint32_t from = 0; from < len; from = to) {
		for (to = from + 1; to < len && fl_str_eq(claims[to].device, claims[from].device) &&
				    fl_str_eq(claims[to].resource, claims[from].resource);)
			to++;
		set_rivals(book, claims + from, to - from);
	}
}

/* ---- what is wanted ---- */

static struct fl_str words(const struct book *book, const struct fl_str_list *ids)
{
	struct fl_str text = FL_S("");

	for (uint32_t i = 0; i < ids->len && i < SHOWN; i++)
		text = fl_plan_printf(book->plan, "%.*s%s%.*s", FL_ARG(text), i ? ", " : "", FL_ARG(ids->at[i]));
	if (ids->len > SHOWN)
		text = fl_plan_printf(book->plan, "%.*s and %u more", FL_ARG(text), ids->len - SHOWN);
	return text;
}

static void say_known(const struct book *book, const struct entry *entry, struct fl_ref ref)
{
	const struct fl_booking *b = &entry->booking;

	switch (entry->verdict) {
	case UNSURE:
		return;
	case AGREES:
		fl_want_condition(book->plan, &fl_gpu_book_owner, ref, FL_EMIT_NOBODY, "KnownToKubelet",
				  FL_CONDITION_TRUE, "AsAllocated", "the kubelet counts the same devices");
		return;
	case FORGOTTEN:
		fl_want_condition(book->plan, &fl_gpu_book_owner, ref, FL_EMIT_WARNING, "KnownToKubelet",
				  FL_CONDITION_FALSE, "DeviceForgotten",
				  "container %.*s runs with %.*s %.*s, and the kubelet counts no such device for it: "
				  "its checkpoint was lost; it may give the device to another Pod: kubectl delete pod "
				  "-n %.*s %.*s",
				  FL_ARG(b->container), FL_ARG(b->resource), FL_ARG(words(book, &b->devices)),
				  FL_ARG(b->pod_space), FL_ARG(b->pod));
		return;
	case DIFFERS:
		fl_want_condition(book->plan, &fl_gpu_book_owner, ref, FL_EMIT_WARNING, "KnownToKubelet",
				  FL_CONDITION_FALSE, "DeviceDiffers",
				  "container %.*s was given %.*s %.*s, and the kubelet counts %.*s for it: its "
				  "checkpoint is stale: kubectl delete pod -n %.*s %.*s",
				  FL_ARG(b->container), FL_ARG(b->resource), FL_ARG(words(book, &b->devices)),
				  FL_ARG(words(book, &entry->holder->devices)), FL_ARG(b->pod_space), FL_ARG(b->pod));
		return;
	}
}

static void say_alone(const struct book *book, const struct entry *entry, struct fl_ref ref)
{
	const struct fl_booking *b = &entry->booking, *other = entry->rival ? &entry->rival->booking : NULL;

	if (entry->verdict == UNSURE)
		return;
	if (other)
		fl_want_condition(book->plan, &fl_gpu_book_owner, ref, FL_EMIT_WARNING, "HeldAlone",
				  FL_CONDITION_FALSE, "DeviceHeldTwice",
				  "%.*s %.*s is held by Pod %.*s/%.*s and by Pod %.*s/%.*s: delete one of them: "
				  "kubectl delete pod -n %.*s %.*s",
				  FL_ARG(b->resource), FL_ARG(entry->contended), FL_ARG(b->pod_space), FL_ARG(b->pod),
				  FL_ARG(other->pod_space), FL_ARG(other->pod), FL_ARG(b->pod_space), FL_ARG(b->pod));
	else
		fl_want_condition(book->plan, &fl_gpu_book_owner, ref, FL_EMIT_NOBODY, "HeldAlone", FL_CONDITION_TRUE,
				  "AsAllocated", "no other Pod has a device of it");
}

static void want(const struct book *book, const struct entry *entry)
{
	struct fl_ref ref = { &fl_booking_kind, FL_S(""), entry->booking.meta.name, FL_S("") };

	fl_want(book->plan, &fl_gpu_book_owner, ref, &entry->booking);   /* with its conditions of before */
	if (!book->settled)
		return;
	say_known(book, entry, ref);
	say_alone(book, entry, ref);
}

/* From when all who are known to hold a device are in it: the next agent needs no kubelet to know them. */
static void remember_kept(const struct book *book)
{
	struct fl_ref ref = { &fl_memo_kind, FL_S(""), FL_S(FL_BOOK_MEMO), FL_S("") };
	struct fl_memo memo = { 0 };

	for (uint32_t i = 0; !book->facts->kept && i < book->facts->holder_len; i++)
		if (!booked(book, book->facts->holders[i].meta.name))
			return;
	FL_SET(FL_IN(&memo, meta), name, ref.name);
	FL_SET(&memo, kept, true);
	fl_want(book->plan, &fl_gpu_book_memo_owner, ref, &memo);
}

bool pods_book(const struct fl_gpu_pods_facts *f, struct fl_plan *plan)
{
	struct book book = { .facts = f, .plan = plan };

	remember_kept(&book);
	if (!f->active)
		return false;
	book.settled = f->active->settled;
	book.at = fl_plan_get(plan, (size_t)f->holder_len + f->booking_len, sizeof *book.at);
	if (!book.at)
		return false;
	for (uint32_t i = 0; i < f->holder_len; i++)
		read_holder(&book, &f->holders[i]);
	for (uint32_t i = 0; i < f->booking_len; i++)
		if (!f->holder_len || !bsearch(&f->bookings[i].meta.name, f->holders, f->holder_len,
					       sizeof *f->holders, by_holder_name))
			read_unlisted(&book, &f->bookings[i]);
	if (book.settled)
		compare(&book);
	for (uint32_t i = 0; i < book.len; i++)
		want(&book, &book.at[i]);
	return book.needs_pods;
}
