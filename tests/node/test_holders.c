/* Who has which device, as a kubelet of ours tells it, in a world with a clock of its own. */
#include "api/node.h"
#include "base/units.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include "grpc/server.h"
#include "node/pod_events.h"
#include "node_world.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <stdlib.h>

/* What the kubelet tells: "ns/pod/container resource id,id", one entry a text. */
struct kubelet {
	struct fl_grpc_server *server;
	const char *const *entries;   /* NULL ends them; of one Pod and container one after the other */
	bool throttles;
	int calls;
};

struct world {
	struct node_world node;
	struct fl_io *io;          /* the node's */
	struct fl_loop *loop;
	struct fl_holders *holders;
	struct fl_pod_events *news;
	struct fl_buf told;        /* "space/pod reason " */
	struct kubelet kubelet;
	enum fl_holders_api api;   /* is the API server there? From the start on it is */
	struct fl_buf text;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_buf_free(&w->text);
	fl_buf_free(&w->told);
	w->news = fl_pod_events_free(w->news);
	fl_grpc_server_free(w->kubelet.server);
	w->holders = fl_holders_free(w->holders);
	w->loop = fl_loop_free(w->loop);
	node_world_end(&w->node);
}

/* ---- the kubelet ---- */

static char *word(struct fl_arena *arena, struct fl_str *rest, char separator)
{
	struct fl_str part = { NULL, 0 };

	(void)fl_str_split(rest, separator, &part);
	return (char *)(uintptr_t)fl_arena_str(arena, part).p;
}

static bool read_entry(struct fl_arena *arena, const char *entry, V1__PodResources *pod)
{
	V1__ContainerResources *container = fl_arena_get(arena, sizeof *container);
	V1__ContainerDevices *devices = fl_arena_get(arena, sizeof *devices);
	struct fl_str rest = fl_str(entry);

	v1__pod_resources__init(pod);
	pod->containers = fl_arena_get(arena, sizeof *pod->containers);
	pod->namespace_ = word(arena, &rest, '/');
	pod->name = word(arena, &rest, '/');
	if (!container || !devices || !pod->containers)
		return false;
	v1__container_resources__init(container);
	v1__container_devices__init(devices);
	pod->n_containers = 1;
	pod->containers[0] = container;
	container->name = word(arena, &rest, ' ');
	container->n_devices = 1;
	container->devices = fl_arena_get(arena, 8 * sizeof *container->devices);
	devices->resource_name = word(arena, &rest, ' ');
	devices->device_ids = fl_arena_get(arena, 8 * sizeof *devices->device_ids);
	if (!container->devices || !devices->device_ids)
		return false;
	container->devices[0] = devices;
	while (rest.p && rest.len) {
		devices->device_ids[devices->n_device_ids] = word(arena, &rest, ',');
		if (!devices->device_ids[devices->n_device_ids++])
			return false;
	}
	return pod->namespace_ && pod->name && container->name && devices->resource_name;
}

/* Of the same container as the one before: one more of its devices, as for another NUMA node. */
static bool join(V1__PodResources *before, const V1__PodResources *pod)
{
	V1__ContainerResources *container = before->containers[0];

	if (strcmp(before->name, pod->name) != 0 || strcmp(container->name, pod->containers[0]->name) != 0)
		return false;
	container->devices[container->n_devices++] = pod->containers[0]->devices[0];
	return true;
}

static void list(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct kubelet *kubelet = fl_grpc_call_service(call);
	struct fl_arena *arena = fl_grpc_call_arena(call);
	V1__ListPodResourcesResponse reply = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	V1__PodResources pods[8], *at[8];

	(void)request;
	kubelet->calls++;
	if (kubelet->throttles) {
		fl_grpc_call_end(call, FL_GRPC_RESOURCE_EXHAUSTED, "rejected by rate limit");
		return;
	}
	for (const char *const *entry = kubelet->entries; entry && *entry; entry++) {
		if (!read_entry(arena, *entry, &pods[reply.n_pod_resources])) {
			fl_grpc_call_end(call, FL_GRPC_INTERNAL, "out of memory");
			return;
		}
		at[reply.n_pod_resources] = &pods[reply.n_pod_resources];
		if (reply.n_pod_resources == 0 || !join(at[reply.n_pod_resources - 1], at[reply.n_pod_resources]))
			reply.n_pod_resources++;
	}
	reply.pod_resources = at;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler handlers[] = { { &fl_pods_list, list } };

static int kubelet_start(struct world *w)
{
	const struct fl_grpc_server_options how = { .addr = { .kind = FL_ADDR_UNIX, .path = "/pods/kubelet.sock" },
						    .handlers = handlers, .handler_count = FL_LEN(handlers),
						    .service = &w->kubelet };

	w->kubelet.server = fl_grpc_server_new(w->io, &how, &w->err);
	return w->kubelet.server ? 0 : -(int)w->err.code;
}

static void kubelet_stop(struct world *w)
{
	w->kubelet.server = fl_grpc_server_free(w->kubelet.server);
}

/* ---- us ---- */

static void told(void *w_, const struct fl_told_event *event)
{
	struct world *w = w_;

	fl_buf_printf(&w->told, "%.*s/%.*s %.*s ", FL_ARG(event->ref.space), FL_ARG(event->ref.name),
		      FL_ARG(event->reason));
}

static void looked(void *w_)
{
	struct world *w = w_;

	if (w->news)
		fl_pod_events_looked(w->news);
}

static enum fl_holders_api api(void *w)
{
	return ((struct world *)w)->api;
}

static int world_start(struct world *w)
{
	const struct fl_holders_options options = { .dir = "/pods", .looked = looked, .arg = w,
						    .plugins_dir = "/plugins", .api = api, .api_arg = w };
	static const struct fl_kind *const kinds[] = { &fl_holder_kind, &fl_active_kind, &fl_card_kind,
						       &fl_health_kind, &fl_settings_kind, &fl_booking_kind,
						       &fl_memo_kind };

	w->told = FL_BUF(8 * FL_KIB);
	w->text = FL_BUF(4 * FL_KIB);
	if (node_world_start(&w->node, 3, test_refuse_io) < 0)
		return -FL_E_IO;
	w->io = w->node.io;
	if (sim_file_put(w->node.host, "/pods/x", "", 0) < 0)
		return -FL_E_IO;
	w->loop = fl_loop_new(w->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	for (uint32_t i = 0; i < FL_LEN(kinds); i++)
		if (!w->loop || fl_loop_source(w->loop, &(struct fl_source){ .kind = kinds[i] }, &w->err) < 0)
			return -FL_E_NOMEM;
	w->holders = fl_holders_new(w->io, w->loop, &options, &w->err);
	if (!w->holders)
		return -(int)w->err.code;
	w->news = fl_pod_events_new(w->io, w->loop, &(struct fl_pod_events_options){
		.holders = w->holders, .tell = told, .arg = w }, &w->err);
	return w->news ? 0 : -(int)w->err.code;
}

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)
#define TELLS(w, ...) ((w).kubelet.entries = (const char *const[]){ __VA_ARGS__, NULL })

static int by_text(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_holder *)a)->meta.name, ((const struct fl_holder *)b)->meta.name);
}

/* Who is known to have what: "name=id,id name=id", by name. */
static struct fl_str known(struct world *w)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_holder_kind);
	const struct fl_holder *holder;
	struct fl_holder all[16];
	size_t len = 0;

	while ((holder = fl_each_next(&each)) && len < FL_LEN(all))
		all[len++] = *holder;
	qsort(all, len, sizeof *all, by_text);
	fl_buf_clear(&w->text);
	for (size_t i = 0; i < len; i++) {
		fl_buf_printf(&w->text, "%s%.*s=", i ? " " : "", FL_ARG(all[i].meta.name));
		for (uint32_t k = 0; k < all[i].devices.len; k++)
			fl_buf_printf(&w->text, "%s%.*s", k ? "," : "", FL_ARG(all[i].devices.at[k]));
	}
	return view.failed || w->text.failed ? FL_S("out of memory") : fl_buf_view(&w->text);
}

struct awaited {
	struct world *w;
	const char *text;
};

static bool has_come(void *awaited_)
{
	struct awaited *awaited = awaited_;

	return fl_str_eq(known(awaited->w), fl_str(awaited->text));
}

static bool comes(struct world *w, const char *text, uint64_t within)
{
	struct awaited awaited = { w, text };

	return node_until(&w->node, within, has_come, &awaited);
}

static void pass(struct world *w, uint64_t ns)
{
	node_pass(&w->node, ns);
}

#define A "default/a/main nvidia.com/gpu GPU-0"
#define KNOWN_A "default/a/main/nvidia.com/gpu=GPU-0"

TEST(who_has_a_device_is_known_and_who_has_no_more_is_not)
{
	WORLD(w);

	TELLS(w, A, "default/b/main nvidia.com/gpu GPU-2,GPU-1");
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A " default/b/main/nvidia.com/gpu=GPU-1,GPU-2", 3 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE);
	TELLS(w, A);
	CHECK(comes(&w, KNOWN_A, FL_HOLDERS_EVERY + 2 * FL_NS_PER_S));
}

TEST_ONCE(entries_of_one_resource_are_one_holder_without_repeats)
{
	WORLD(w);

	TELLS(w, "ns/p/c a/b X,Y", "ns/p/c a/b Y,Z", "ns/p/c a/c Q");
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, "ns/p/c/a/b=X,Y,Z ns/p/c/a/c=Q", 2 * FL_NS_PER_S));
}

TEST_ONCE(a_kubelet_that_has_just_started_is_not_believed_when_it_knows_nobody)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, 2 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE + FL_NS_PER_S);
	kubelet_stop(&w);
	pass(&w, FL_NS_PER_S);
	w.kubelet.entries = NULL;
	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, FL_HOLDERS_GRACE - 2 * FL_NS_PER_S);
	CHECK_STR(known(&w), KNOWN_A);
	CHECK(comes(&w, "", 4 * FL_NS_PER_S));
}

/* Its socket is then made in the future, by the wall's clock. */
TEST_ONCE(who_has_ended_is_known_although_the_clock_was_set_back)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, 2 * FL_NS_PER_S));
	sim_wall_step(w.node.host, -3600 * (int64_t)FL_NS_PER_S);
	w.kubelet.entries = NULL;
	pass(&w, FL_HOLDERS_GRACE - 3 * FL_NS_PER_S);
	CHECK_STR(known(&w), KNOWN_A);
	CHECK(comes(&w, "", FL_HOLDERS_EVERY + 5 * FL_NS_PER_S));
}

TEST_ONCE(a_kubelet_that_starts_without_the_api_server_is_believed_a_minute_after_it_is_back)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, 2 * FL_HOLDERS_GRACE);
	w.api = FL_HOLDERS_API_AWAY;
	pass(&w, 2 * FL_HOLDERS_EVERY);
	CHECK_STR(known(&w), KNOWN_A);
	kubelet_stop(&w);
	w.kubelet.entries = NULL;
	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, 600 * FL_NS_PER_S);
	CHECK_STR(known(&w), KNOWN_A);
	w.api = FL_HOLDERS_API_THERE;
	pass(&w, FL_HOLDERS_API_GRACE - 5 * FL_NS_PER_S);
	CHECK_STR(known(&w), KNOWN_A);
	CHECK(comes(&w, "", 10 * FL_NS_PER_S));
}

TEST_ONCE(a_kubelet_that_knew_its_pods_is_believed_while_the_api_server_is_away)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, 2 * FL_HOLDERS_GRACE);
	w.api = FL_HOLDERS_API_AWAY;
	w.kubelet.entries = NULL;
	CHECK(comes(&w, "", FL_HOLDERS_EVERY + 5 * FL_NS_PER_S));
}

TEST_ONCE(who_comes_within_the_grace_is_known_at_once)
{
	WORLD(w);

	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, FL_NS_PER_S);
	TELLS(w, A);
	fl_holders_look(w.holders);
	CHECK(comes(&w, KNOWN_A, FL_NS_PER_S));
}

TEST_ONCE(who_ran_before_the_kubelet_did_is_known_soon_and_unasked)
{
	WORLD(w);

	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, FL_NS_PER_S);
	TELLS(w, A);
	CHECK(comes(&w, KNOWN_A, FL_HOLDERS_YOUNG_EVERY + FL_NS_PER_S));
}

TEST_ONCE(many_who_ask_are_one_look)
{
	int calls;
	WORLD(w);

	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, 2 * FL_HOLDERS_GRACE);
	calls = w.kubelet.calls;
	for (int i = 0; i < 100; i++)
		fl_holders_look(w.holders);
	pass(&w, FL_NS_PER_S);
	CHECK_INT(w.kubelet.calls, calls + 1);
}

static bool is_due(void *w)
{
	FL_VIEW(view, ((struct world *)w)->loop);
	const struct fl_active *active = fl_view_get(&view, &fl_active_kind, FL_S(""), FL_S("active"));

	return view.failed ? is_due(w) : active && active->due;   /* an allocation that fails does so once */
}

static bool is_not_due(void *w)
{
	return !is_due(w);
}

/* At once, when nothing was allocated just before; else not before the kubelet has had time to list it. */
TEST(what_was_withdrawn_is_due_until_the_kubelet_has_listed_once_more)
{
	uint64_t given, began;
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, 3 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE);
	CHECK(!is_due(&w));
	OK_ERR(fl_holders_withdrawn(w.holders, 0, &w.err), &w.err);
	began = sim_now(w.node.sim);
	CHECK(is_due(&w));
	CHECK(node_until(&w.node, FL_HOLDERS_EVERY, is_not_due, &w));
	CHECK(test_tortured() || sim_now(w.node.sim) <= began + 10 * FL_NS_PER_MS);

	given = fl_now(w.io) - FL_HOLDERS_SETTLE / 2;
	OK_ERR(fl_holders_withdrawn(w.holders, given, &w.err), &w.err);
	fl_holders_look(w.holders);
	pass(&w, FL_HOLDERS_SETTLE / 4);
	CHECK(is_due(&w));
	CHECK(node_until(&w.node, FL_HOLDERS_EVERY, is_not_due, &w));
	CHECK(test_tortured() || sim_now(w.node.sim) <= given + FL_HOLDERS_SETTLE + 10 * FL_NS_PER_MS);
	CHECK(fl_holders_as_of(w.holders) >= given + FL_HOLDERS_SETTLE);
}

TEST_ONCE(a_kubelet_that_throttles_is_asked_ever_later)
{
	int calls;
	WORLD(w);

	w.kubelet.throttles = true;
	OK_ERR(kubelet_start(&w), &w.err);
	pass(&w, 60 * FL_NS_PER_S);
	CHECK(w.kubelet.calls >= 6 && w.kubelet.calls <= 12);
	CHECK(strstr(fl_holders_why(w.holders)->text, "rate limit"));
	calls = w.kubelet.calls;
	for (int i = 0; i < 100; i++) {
		fl_holders_look(w.holders);
		pass(&w, 10 * FL_NS_PER_MS);
	}
	CHECK(w.kubelet.calls <= calls + 1);
	w.kubelet.throttles = false;
	TELLS(w, A);
	CHECK(comes(&w, KNOWN_A, FL_HOLDERS_EVERY * 2));
	CHECK_INT(fl_holders_why(w.holders)->code, FL_OK);
}

TEST_ONCE(nothing_waits_for_a_kubelet_that_is_not_there)
{
	WORLD(w);

	pass(&w, FL_NS_PER_S);
	CHECK(fl_feed_known(fl_loop_feed(w.loop, &fl_holder_kind)));
	CHECK(fl_holders_why(w.holders)->code != FL_OK);
	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, FL_NS_PER_S));
}

/* What the agent before has left in the book: "space/pod/container resource device". */
static int book(struct world *w, const char *entry)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_feed *feed = fl_loop_feed(w->loop, &fl_booking_kind);
	struct fl_str rest = fl_str(entry), owner = { 0 }, space, pod, resource = { 0 };
	struct fl_booking booking = { .devices = { .at = &rest, .len = 1 } };
	struct fl_str name;

	(void)fl_str_split(&rest, ' ', &owner);
	(void)fl_str_split(&rest, ' ', &resource);
	name = fl_arena_printf(&arena, "%.*s/%.*s", FL_ARG(owner), FL_ARG(resource));
	(void)fl_str_split(&owner, '/', &space);
	(void)fl_str_split(&owner, '/', &pod);
	if (!name.p)
		return fl_fail(&w->err, FL_E_NOMEM, "no memory for the book");
	booking.has.devices = 1;
	FL_SET(FL_IN(&booking, meta), name, name);
	FL_SET(&booking, resource, resource);
	FL_SET(&booking, pod_space, space);
	FL_SET(&booking, pod, pod);
	FL_SET(&booking, container, owner);
	fl_feed_begin(feed);
	if (fl_feed_put(feed, &booking, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(feed);
	return fl_holders_remember(w->holders, &w->err);
}

#define KNOWN_Q "ns/q/c/a/b=Z"

/* ---- a first agent beside Pods that another plugin has served ---- */

static bool counted(void *w)
{
	return fl_feed_known(fl_loop_feed(((struct world *)w)->loop, &fl_holder_kind));
}

static int remember_kept(struct world *w)
{
	struct fl_feed *feed = fl_loop_feed(w->loop, &fl_memo_kind);
	struct fl_memo memo = { 0 };

	FL_SET(FL_IN(&memo, meta), name, FL_S(FL_BOOK_MEMO));
	FL_SET(&memo, kept, true);
	fl_feed_begin(feed);
	if (fl_feed_put(feed, &memo, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(feed);
	return 0;
}

static const struct {
	const char *says;
	bool checkpoint, kept, answers;
	uint64_t earliest, latest;     /* when the holders count as known */
} firsts[] = {
	{ "no checkpoint: nobody has a device", false, false, false, 0, 3 * FL_NS_PER_S },
	{ "a book was kept: it has everybody", true, true, false, 0, 3 * FL_NS_PER_S },
	{ "neither: the kubelet must know its Pods", true, false, true, 25 * FL_NS_PER_S, 35 * FL_NS_PER_S },
	{ "none answers: not for ever", true, false, false, 590 * FL_NS_PER_S, 660 * FL_NS_PER_S },
};

TEST_ONCE(who_holds_is_known_from_a_book_an_empty_kubelet_or_one_that_knows_its_pods)
{
	EACH_ROW_ALONE (row, firsts) {
		WORLD(w);

		OK(row->checkpoint ? sim_file_put(w.node.host, "/plugins/kubelet_internal_checkpoint", "", 0) : 0);
		if (row->kept)
			OK_ERR(remember_kept(&w), &w.err);
		if (row->answers)
			OK_ERR(kubelet_start(&w), &w.err);
		fl_feed_begin(fl_loop_feed(w.loop, &fl_booking_kind));
		fl_feed_synced(fl_loop_feed(w.loop, &fl_booking_kind));
		OK_ERR(fl_holders_remember(w.holders, &w.err), &w.err);
		pass(&w, row->earliest);
		CHECK(!row->earliest || !counted(&w));
		CHECK(node_until(&w.node, row->latest - row->earliest, counted, &w));
	}
}

/* As NTP sets it a moment after a boot: the kubelet comes after the agent, or once more. */
TEST_ONCE(i1_a_kubelet_that_has_just_started_does_not_age_when_the_clock_is_set_forward)
{
	static const struct {
		const char *says;
		bool again;
	} kubelets[] = { { "the first", false }, { "one that comes again", true } };

	EACH_ROW_ALONE (row, kubelets) {
		WORLD(w);

		OK_ERR(book(&w, A), &w.err);
		TELLS(w, A);
		if (row->again)
			OK_ERR(kubelet_start(&w), &w.err);
		pass(&w, FL_HOLDERS_GRACE + FL_NS_PER_S);
		if (row->again)
			kubelet_stop(&w);
		pass(&w, FL_NS_PER_S);
		w.kubelet.entries = NULL;
		OK_ERR(kubelet_start(&w), &w.err);
		sim_wall_step(w.node.host, 3600 * (int64_t)FL_NS_PER_S);
		pass(&w, FL_HOLDERS_GRACE - 3 * FL_NS_PER_S);
		CHECK_STR(known(&w), KNOWN_A);
		CHECK(comes(&w, "", FL_HOLDERS_EVERY + 5 * FL_NS_PER_S));
	}
}

TEST_ONCE(who_is_in_the_book_holds_it_while_no_kubelet_answers)
{
	WORLD(w);

	OK_ERR(book(&w, "ns/q/c a/b Z"), &w.err);
	pass(&w, 2 * FL_HOLDERS_GRACE);
	CHECK_STR(known(&w), KNOWN_Q);
}

TEST_ONCE(who_is_in_the_book_holds_it_until_a_kubelet_that_knows_all_tells_of_others)
{
	WORLD(w);

	OK_ERR(book(&w, "ns/q/c a/b Z"), &w.err);
	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A " " KNOWN_Q, 2 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE - 5 * FL_NS_PER_S);
	CHECK_STR(known(&w), KNOWN_A " " KNOWN_Q);
	CHECK(comes(&w, KNOWN_A, 10 * FL_NS_PER_S));
	OK_ERR(book(&w, "ns/q/c a/b Z"), &w.err);   /* read late: the kubelet has told all */
	CHECK_STR(known(&w), KNOWN_A);
}

TEST_ONCE(what_a_kubelet_tells_of_a_container_counts_more_than_the_book)
{
	WORLD(w);

	TELLS(w, "ns/q/c a/b Y");
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, "ns/q/c/a/b=Y", 2 * FL_NS_PER_S));
	OK_ERR(book(&w, "ns/q/c a/b Z"), &w.err);
	CHECK_STR(known(&w), "ns/q/c/a/b=Y");
}

/* ---- who is told of a card's health ---- */

/* The words are nobody's after the call: they are copied. */
static void tell(struct world *w, const char *reason)
{
	char words[20], card[] = "GPU-0";
	struct fl_told_event event = { .ref = { &fl_health_kind, FL_S(""), fl_str(card), FL_S("") }, .warning = true,
				       .type = FL_S("Healthy"), .message = FL_S("it is lost") };

	pass(w, FL_NS_PER_MS);   /* a turn, as it would be told from: then its clock is right */
	(void)snprintf(words, sizeof words, "%s", reason);
	event.reason = fl_str(words);
	fl_pod_events_health(w->news, &event);
	memset(words, 'x', sizeof words);
	memset(card, 'x', sizeof card - 1);
}

static bool is_told(void *awaited_)
{
	struct awaited *awaited = awaited_;

	return fl_str_eq(fl_buf_view(&awaited->w->told), fl_str(awaited->text));
}

static bool tells(struct world *w, const char *text, uint64_t within)
{
	struct awaited awaited = { w, text };

	return node_until(&w->node, within, is_told, &awaited);
}

TEST(who_holds_a_card_now_is_told_of_it_and_who_held_it_is_not)
{
	int calls;
	WORLD(w);

	TELLS(w, A, "default/b/main nvidia.com/gpu GPU-1");
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A " default/b/main/nvidia.com/gpu=GPU-1", 3 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE + 2 * FL_NS_PER_S);
	TELLS(w, "default/c/main nvidia.com/gpu GPU-0", "default/b/main nvidia.com/gpu GPU-1");
	calls = w.kubelet.calls;
	tell(&w, "Lost");
	tell(&w, "Xid79");
	CHECK(!w.told.len || test_tortured());   /* what is known is older than the news */
	CHECK(tells(&w, "default/c Lost default/c Xid79 ", FL_NS_PER_S) || test_tortured());
	CHECK(w.kubelet.calls == calls + 1 || test_tortured());
	pass(&w, 2 * FL_POD_EVENTS_WAIT);
	CHECK(fl_str_starts(fl_buf_view(&w.told), FL_S("default/")) || test_tortured());
}

TEST_ONCE(while_the_kubelet_is_down_who_held_it_last_is_told_late)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, 3 * FL_NS_PER_S));
	pass(&w, FL_HOLDERS_GRACE + 2 * FL_NS_PER_S);
	kubelet_stop(&w);
	tell(&w, "Lost");
	pass(&w, FL_POD_EVENTS_WAIT / 2);
	tell(&w, "Xid79");
	pass(&w, FL_POD_EVENTS_WAIT / 4);
	CHECK_STR(fl_buf_view(&w.told), "");
	CHECK(tells(&w, "default/a Lost ", FL_POD_EVENTS_WAIT / 2));
	CHECK(tells(&w, "default/a Lost default/a Xid79 ", FL_POD_EVENTS_WAIT));
}

TEST_ONCE(more_than_may_wait_are_told_at_once)
{
	WORLD(w);

	TELLS(w, A);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, KNOWN_A, 3 * FL_NS_PER_S));
	kubelet_stop(&w);
	for (int i = 0; i < FL_POD_EVENTS_MAX; i++)
		tell(&w, "Lost");
	CHECK_STR(fl_buf_view(&w.told), "");
	tell(&w, "Xid79");
	CHECK(tells(&w, "default/a Xid79 ", FL_POD_EVENTS_WAIT / 2));
}

/* ---- XIDs of applications ---- */

static int put_settings_and_gpu(struct world *w)
{
	static const int64_t ignored[] = { 31, 79 };
	struct fl_partition parts[2] = { 0 };
	struct fl_settings settings = { 0 };
	struct fl_card card = { 0 };

	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	FL_SET(&settings, health, true);
	settings.ignored.at = (int64_t *)(uintptr_t)ignored;
	settings.ignored.len = FL_LEN(ignored);
	settings.has.ignored = true;
	FL_SET(FL_IN(&card, meta), name, FL_S("0000:01:00.0"));
	FL_SET(&card, answer, FL_CARD_ANSWERS);
	FL_SET(&card, uuid, FL_S("GPU-7"));
	for (int32_t i = 0; i < 2; i++) {
		FL_SET(&parts[i], uuid, i ? FL_S("MIG-b") : FL_S("MIG-a"));
		FL_SET(&parts[i], gi, i + 1);
		FL_SET(&parts[i], ci, 0);
		FL_SET(&parts[i], profile, FL_S("1g.10gb"));
	}
	card.partitions.at = parts;
	card.partitions.len = 2;
	card.has.partitions = true;
	return fl_feed_put(fl_loop_feed(w->loop, &fl_settings_kind), &settings, &w->err) < 0 ||
			       fl_feed_put(fl_loop_feed(w->loop, &fl_card_kind), &card, &w->err) < 0
		       ? -FL_E_NOMEM
		       : 0;
}

/* gi < 0: of the whole GPU. */
static void reports(struct world *w, enum fl_fault_what what, int64_t xid, int32_t gi)
{
	struct fl_card_fault fault = { 0 };

	pass(w, FL_NS_PER_MS);
	FL_SET(&fault, card, FL_S("0000:01:00.0"));
	FL_SET(&fault, what, what);
	FL_SET(&fault, xid, xid);
	FL_SET(&fault, count, 1);
	if (gi >= 0)
		FL_SET(&fault, gi, gi);
	fl_pod_events_fault(w->news, &fault);
}

#define MIG_PODS "default/a/main r MIG-a", "default/b/main r MIG-b"

TEST_ONCE(an_xid_of_an_application_is_told_to_the_pods_that_hold_what_it_names_and_rarely)
{
	WORLD(w);

	TELLS(w, MIG_PODS);
	OK_ERR(kubelet_start(&w), &w.err);
	CHECK(comes(&w, "default/a/main/r=MIG-a default/b/main/r=MIG-b", 3 * FL_NS_PER_S));
	OK_ERR(put_settings_and_gpu(&w), &w.err);
	reports(&w, FL_FAULT_XID, 31, 2);
	CHECK(tells(&w, "default/b Xid31 ", FL_POD_EVENTS_WAIT));
	for (int i = 0; i < 100; i++)
		reports(&w, FL_FAULT_XID, 31, 2);
	reports(&w, FL_FAULT_XID, 13, 1);   /* counts: the GPU's Health tells it */
	reports(&w, FL_FAULT_XID, 79, 1);   /* ignored, but no application's */
	reports(&w, FL_FAULT_ECC, 0, 1);
	pass(&w, 2 * FL_POD_EVENTS_WAIT);
	CHECK_STR(fl_buf_view(&w.told), "default/b Xid31 ");
	reports(&w, FL_FAULT_XID, 31, -1);  /* another place: the whole GPU */
	CHECK(tells(&w, "default/b Xid31 default/a Xid31 default/b Xid31 ", FL_POD_EVENTS_WAIT));
	pass(&w, FL_POD_EVENTS_XID_EVERY);
	fl_buf_clear(&w.told);
	reports(&w, FL_FAULT_XID, 31, 2);
	CHECK(tells(&w, "default/b Xid31 ", 2 * FL_POD_EVENTS_WAIT));
}
