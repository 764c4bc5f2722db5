/* Which MPS control daemon there should be, and what is done next for it. Rows 17 and 39 of the node's contract; I3,
 * I6, I7. */
#include "plan/gpu/mps.h"
#include "gpu_facts.h"
#include "plan/gpu/lists.h"

#define ON \
	"node: n1\nunpooled: true\nmps: true\nmpsRoot: /m\nsharing: [{resource: nvidia.com/gpu, replicas: 4}]\n" \
	"recoveryChecks: 3\nrecoveryWait: 30000000000\n"
#define SHARES(n) \
	"node: n1\nunpooled: true\nmps: true\nmpsRoot: /m\nsharing: [{resource: nvidia.com/gpu, replicas: " n "}]\n"
#define OFF "node: n1\nunpooled: true\nrecoveryChecks: 3\n"
#define CARD(n, more) \
	"---\nmetadata: {name: '0000:0" n ":00.0'}\nanswer: Answers\nuuid: GPU-" n "\nindex: " n "\n" \
	"memoryMiB: 40000\ncompute: 800\n" more
#define OLD \
	"---\nmetadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-1\nindex: 1\nmemoryMiB: 16000\n" \
	"compute: 700\n"
#define FREE CARD("1", "") CARD("2", "")
#define TAKEN CARD("1", "computeMode: 3\ncomputeModeRead: 3\n") CARD("2", "computeMode: 3\ncomputeModeRead: 3\n")
#define MARKED "marked: ['0000:01:00.0', '0000:02:00.0']\n"
#define DAEMON(is) "metadata: {name: nvidia.com/gpu}\nphase: " is "\nis: " is "\nroot: /m\n" MARKED
#define SET "set: '1=10000M 2=10000M 25%'\npid: 7\n"
#define HOLD(id) \
	"---\nmetadata: {name: t/j/c/r}\nresource: nvidia.com/gpu\ndevices: ['" id "']\npodNamespace: t\npod: j\n" \
	"container: c\n"
#define UNTOLD \
	"MPSReady False MPSStops: the MPS daemon of nvidia.com/gpu stops when no Pod holds a share: the kubelet has " \
	"not listed yet who does\n"
#define HOST "metadata: {name: host}\nversion: '5'\nlayout: a\nseen: 5/a\nroot: /\n"
#define PROGRAMS "paths: [{what: Binary, path: /usr/bin/nvidia-smi}, {what: Binary, path: " \
		 "/usr/bin/nvidia-cuda-mps-control}]\n"

static const struct {
	const char *says, *settings, *cards, *daemon, *holders, *got;
	const char *driver, *host;             /* NULL: ready; with the programs */
	const char *active;                    /* what the kubelet has told; NULL: all; "": nothing yet */
} rows[] = {
	{ "nothing is asked: nothing is wanted", OFF, FREE, "", "", "" },
	{ "first the GPUs are recorded, and nothing is done to them", ON, FREE, "", "",
	  "daemon Stopped GPUs 2 sick: the MPS control daemon is being "
	  "started\nMPSReady False MPSStarts*\n" },
	{ "then their compute mode is changed", ON, FREE, DAEMON("Stopped"), "",
	  "mode 1 3\nmode 2 3\ndaemon Stopped GPUs 2 sick: the MPS control daemon is being "
	  "started\nMPSReady False MPSStarts*\n" },
	{ "then the daemon is started", ON, TAKEN, DAEMON("Stopped"), "",
	  "mode 1 3\nmode 2 3\ndaemon Running GPUs 2 sick: the MPS control daemon is being "
	  "started\nMPSReady False MPSStarts*\n" },
	{ "row 39: limits before Healthy", ON, TAKEN, DAEMON("Running"), "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 sick: the MPS control daemon is being "
	  "started\nMPSReady False MPSStarts*\n" },
	{ "with them its shares are healthy", ON, TAKEN, DAEMON("Ready") SET, "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy\nMPSReady True Ready*\n" },
	{ "a daemon that ends with the agent is told of", ON, TAKEN, DAEMON("Ready") SET "endsWithAgent: true\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy\nMPSReady True Ready: 2 GPUs are "
	  "shared, 4 clients each; the daemon is in the agent's cgroup: *\n" },
	{ "other limits are set, and waited for", SHARES("2"), TAKEN, DAEMON("Ready") SET "healthy: true\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=20000M 2=20000M 50% GPUs 2 sick: the MPS control daemon is being "
	  "started\nMPSReady False MPSStarts*\n" },
	{ "row 39: the daemon is killed: shares are sick at once, and another one is started", ON, TAKEN,
	  DAEMON("Stopped") "healthy: true\nfails: 1\nmessage: it has ended\n", HOLD("GPU-1::2"),
	  "mode 1 3\nmode 2 3\ndaemon Running GPUs 2 sick: it has ended\n"
	  "MPSReady False MPSDaemon: nvidia.com/gpu: it has ended*\n" },
	{ "back, and watched until it has been fine three times", ON, TAKEN,
	  DAEMON("Ready") SET "fails: 1\nclean: 2\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 sick: the MPS control daemon is back; the "
	  "agent checks it for a moment\nMPSReady False MPSRecovers*\n" },
	{ "fine: healthy", ON, TAKEN, DAEMON("Ready") SET "fails: 1\nclean: 3\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy returned 60000000000\n"
	  "MPSReady True Ready*\n" },
	{ "not twice within recoveryWait",
	  ON, TAKEN, DAEMON("Ready") SET "fails: 2\nclean: 3\nreturned: 40000000000\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 returned 40000000000 sick: the MPS control "
	  "daemon is back; the agent checks it for a moment\nMPSReady False MPSRecovers*\nat 70000000000\n" },
	{ "what is healthy stays so", ON, TAKEN, DAEMON("Ready") SET "fails: 2\nclean: 0\nhealthy: true\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy\nMPSReady True Ready*\n" },
	{ "a client's fault makes all shares sick, and the daemon stays", ON, TAKEN,
	  DAEMON("Ready") SET "fault: true\nfails: 1\nmessage: delete the Pods\nhealthy: true\n", HOLD("GPU-1::2"),
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 sick: delete the Pods\n"
	  "MPSReady False MPSFault: nvidia.com/gpu: delete the Pods. Log: /m/nvidia.com/gpu/log/control.log\n" },
	{ "I3: a deaf daemon whose shares are held stays", ON, TAKEN,
	  DAEMON("Deaf") SET "fails: 1\nmessage: deaf\nhealthy: true\n", HOLD("GPU-1::2"),
	  "mode 1 3\nmode 2 3\ndaemon Deaf 1=10000M 2=10000M 25% GPUs 2 sick: deaf\nMPSReady False MPSDaemon*\n" },
	{ "a deaf one that nobody needs is ended", ON, TAKEN, DAEMON("Deaf") SET "fails: 1\nmessage: deaf\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Stopped GPUs 2 sick: deaf\nMPSReady False MPSDaemon*\n" },
	{ "a step that fails is told, with the reason",
	  ON, TAKEN, DAEMON("Running") "message: it takes no limits\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 sick: it takes no limits\n"
	  "MPSReady False MPSDaemon: nvidia.com/gpu: it takes no limits*\n" },

	{ "I3: a GPU that a Pod holds as a whole joins later", ON, FREE, "", HOLD("GPU-1"),
	  "daemon Stopped GPUs 1 sick: *\n"
	  "MPSReady False MPSWaits: GPU 0000:01:00.0 is shared by MPS when t/j, which holds it, has ended*\n" },
	{ "one that is shared already is held by its clients", ON, TAKEN, DAEMON("Ready") SET, HOLD("GPU-1::0"),
	  "mode 1 3\nmode 2 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy\nMPSReady True Ready*\n" },
	{ "a GPU that does not answer keeps the others going", ON,
	  CARD("1", "computeMode: 3\ncomputeModeRead: 3\n")
	  "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Lost\nuuid: GPU-2\nindex: 2\n"
	  "memoryMiB: 40000\ncompute: 800\n", DAEMON("Ready") SET, "",
	  "mode 1 3\ndaemon Ready 1=10000M 2=10000M 25% GPUs 2 healthy\nMPSReady True Ready*\n" },
	{ "a GPU in MIG mode is refused with NVIDIA's words", ON, CARD("1", "mig: true\n"), "", "",
	  "MPSReady False MPSRefused: GPU 0000:01:00.0: sharing using MPS is not supported for MIG devices: switch MIG "
	  "off, or use timeSlicing*\n" },
	{ "row 39: 17 shares of an old GPU are refused", SHARES("17"),
	  OLD,
	  "", "", "MPSReady False MPSRefused: GPU 0000:01:00.0 serves at most 16 clients of MPS*\n" },
	{ "16 are not", SHARES("16"),
	  OLD,
	  "", "", "daemon Stopped GPUs 1 sick: *\nMPSReady False MPSStarts*\n" },
	{ "48 shares of a new one are not refused", SHARES("48"), CARD("1", ""), "", "",
	  "daemon Stopped GPUs 1 sick: *\nMPSReady False MPSStarts*\n" },
	{ "a driver without the program", ON, FREE, "", "",
	  "MPSReady False MPSNotInstalled: the driver in / has no nvidia-cuda-mps-control: install its compute "
	  "utilities*\n", NULL, HOST },

	{ "switched off while a Pod holds a share: the daemon stays", OFF, TAKEN, DAEMON("Ready") SET, HOLD("GPU-1::0"),
	  "daemon Ready GPUs 2 sick: its MPS daemon stops when no Pod holds a share any more\n"
	  "MPSReady False MPSStops*\n" },
	{ "nobody does: it is ended", OFF, TAKEN, DAEMON("Ready") SET, "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n" },
	{ "one that another agent left is ended too, whatever it is", OFF, TAKEN,
	  "metadata: {name: nvidia.com/gpu}\nphase: Deaf\nroot: /m\n" MARKED, "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n" },
	{ "or stays, while a Pod holds a share", OFF, TAKEN,
	  "metadata: {name: nvidia.com/gpu}\nphase: Deaf\nroot: /m\n" MARKED, HOLD("GPU-1::0"),
	  "daemon Deaf GPUs 2 sick: its MPS daemon stops when no Pod holds a share any more\n"
	  "MPSReady False MPSStops*\n" },
	{ "then compute modes are restored, and nothing is forgotten before", OFF, CARD("1",
	  "computeMode: 3\ncomputeModeRead: 3\n") CARD("2", ""),
	  DAEMON("Stopped"), "", "mode 1 0\ndaemon Stopped GPUs 2 sick: its MPS daemon is stopped\n" },
	{ "nothing is forgotten before the driver has told of the modes", OFF, FREE, DAEMON("Stopped"), "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n", "metadata: {name: driver}\nstate: Starting\n" },
	{ "then it is forgotten", OFF, FREE, DAEMON("Stopped"), "", "gone\n" },
	{ "a GPU that is gone has no mode to restore", OFF, CARD("1", ""), DAEMON("Stopped"), "", "gone\n" },
	{ "a driver that is paused is released, and nothing is forgotten", ON, TAKEN, DAEMON("Ready") SET, "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n", "metadata: {name: driver}\nstate: Paused\n" },
	{ "stopped for the pause: it stays so", ON, TAKEN, DAEMON("Stopped"), "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n", "metadata: {name: driver}\nstate: Paused\n" },
	{ "while it is not known which configuration counts, a daemon is left as it is", OFF "waits: for the label\n",
	  TAKEN, DAEMON("Ready") SET, "", "" },
	{ "also while a Pod holds a share: nobody has switched MPS off", OFF "waits: for the label\n", TAKEN,
	  DAEMON("Ready") SET, HOLD("GPU-1::0"), "" },
	{ "a driver that is paused is released meanwhile, and nothing is forgotten", OFF "waits: for the label\n",
	  TAKEN, DAEMON("Ready") SET, "",
	  "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n", "metadata: {name: driver}\nstate: Paused\n" },
	{ "a driver that is away changes nothing", ON, TAKEN, DAEMON("Ready") SET, "", "",
	  "metadata: {name: driver}\nstate: Absent\n" },
	{ "another directory: the former daemon is ended first",
	  "node: n1\nunpooled: true\nmps: true\nmpsRoot: /n\nsharing: [{resource: nvidia.com/gpu, replicas: 4}]\n",
	  TAKEN,
	  DAEMON("Ready") SET, "", "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n"
	  "MPSReady False MPSStarts: the MPS control daemon is being started\n" },
	{ "another name: the former one's daemon is ended, and its GPUs join when it is",
	  "node: n1\nunpooled: true\nmps: true\nmpsRoot: /m\n"
	  "sharing: [{resource: nvidia.com/gpu, renamed: nvidia.com/gpu.shared, replicas: 4}]\n", CARD("1", ""),
	  DAEMON("Stopped"), "", "gone\ndaemon Stopped GPUs 1 sick: *\nMPSReady False*\n" },

	{ "switched off, and no kubelet has told who holds a share: the daemon stays", OFF, TAKEN,
	  DAEMON("Ready") SET, "", "daemon Ready GPUs 2 sick: *\n" UNTOLD "at 600000000000\n", NULL, NULL, "" },
	{ "nor has one that is young", OFF, TAKEN, DAEMON("Ready") SET, "", "daemon Ready GPUs 2 sick: *\n" UNTOLD,
	  NULL, NULL, "settled: false\n" },
	{ "one that never answers is not waited for for ever", OFF "started: -540000000000\n", TAKEN,
	  DAEMON("Ready") SET, "", "daemon Stopped GPUs 2 sick: its MPS daemon is stopped\n", NULL, NULL, "" },
	{ "but who is in the book is", OFF "started: -540000000000\n", TAKEN, DAEMON("Ready") SET, HOLD("GPU-1::0"),
	  "daemon Ready GPUs 2 sick: *\nMPSReady False MPSStops*t/j does\n", NULL, NULL, "" },
	{ "a daemon that has ended is forgotten", OFF, FREE, DAEMON("Stopped"), "", "gone\n", NULL, NULL, "" },
	{ "a deaf one stays: somebody may need it", ON, TAKEN, DAEMON("Deaf") SET "fails: 1\nmessage: deaf\n", "",
	  "mode 1 3\nmode 2 3\ndaemon Deaf 1=10000M 2=10000M 25% GPUs 2 sick: deaf\nMPSReady False MPSDaemon*\n"
	  "at 600000000000\n", NULL, NULL, "" },
	{ "a driver that is paused waits for it", ON, TAKEN, DAEMON("Ready") SET, "",
	  "daemon Ready GPUs 2 sick: *\n" UNTOLD, "metadata: {name: driver}\nstate: Paused\n", NULL,
	  "settled: false\n" },
	{ "nothing else does: what is shared is shared at once", ON, FREE, "", "",
	  "daemon Stopped GPUs 2 sick: the MPS control daemon is being started\nMPSReady False MPSStarts*\n", NULL,
	  NULL, "" },
};

static void print_want(const struct fl_want *want, struct fl_buf *out)
{
	if (want->what == FL_WANT_GONE) {
		fl_buf_str(out, FL_S("gone\n"));
	} else if (want->ref.kind == &fl_card_kind) {
		fl_buf_printf(out, "mode %c %d\n", want->ref.name.p[6],
			      (int)((const struct fl_card *)want->object)->compute_mode);
	} else if (want->ref.kind == &fl_mps_kind) {
		const struct fl_mps *mps = want->object;
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_str limits = fl_gpu_mps_limits(mps, &arena);

		if (!limits.p)
			out->failed = FL_E_NOMEM;
		fl_buf_printf(out, "daemon %s", fl_name(&fl_mps_phase_names, (int)mps->phase));
		if (limits.p && (mps->phase == FL_MPS_READY || mps->phase == FL_MPS_DEAF) && mps->limits.len)
			fl_buf_printf(out, " %.*s", FL_ARG(limits));
		fl_buf_printf(out, " GPUs %u", mps->cards.len);
		if (mps->healthy)
			fl_buf_str(out, FL_S(" healthy"));
		if (mps->has.returned)
			fl_buf_printf(out, " returned %lld", (long long)mps->returned);
		if (mps->why.len)
			fl_buf_printf(out, " sick: %.*s", FL_ARG(mps->why));
		fl_buf_char(out, '\n');
	} else if (want->ref.kind == &fl_own_node_kind) {
		const struct fl_own_node *node = want->object;

		for (uint32_t i = 0; i < node->status.conditions.len; i++)
			fl_buf_printf(out, "MPSReady %s %.*s: %.*s\n",
				      fl_name(&fl_condition_status_names, (int)node->status.conditions.at[i].status),
				      FL_ARG(node->status.conditions.at[i].reason),
				      FL_ARG(node->status.conditions.at[i].message));
	}
}

TEST(each_step_and_each_state)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(16 * FL_KIB);
		struct fl_gpu_mps_facts f = { .now = 60 * FL_NS_PER_S };
		struct fl_str words;
		struct fl_plan plan;

		words = fl_arena_printf(&arena, "metadata: {name: settings}\n%s", row->settings);
		OK(words.p ? 0 : -FL_E_NOMEM);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), words));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(),
					    fl_str(row->driver ? row->driver :
								 "metadata: {name: driver}\nstate: Ready\n")));
		GOT(f.host = facts_object(&arena, fl_host_bind(), fl_str(row->host ? row->host : HOST PROGRAMS)));
		GOT(f.node = facts_object(&arena, fl_own_node_bind(), FL_S("metadata: {name: n1}\n")));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.daemons = facts_list(&arena, fl_mps_bind(), row->daemon, &f.daemon_len));
		words = fl_arena_printf(&arena, "metadata: {name: active}\n%s",
					row->active ? row->active : "settled: true\n");
		OK(words.p ? 0 : -FL_E_NOMEM);
		if (!row->active || *row->active)
			GOT(f.active = facts_object(&arena, fl_active_bind(), words));
		fl_plan_init(&plan, &arena);
		fl_gpu_mps_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			print_want(want, &text);
		if (plan.at)
			fl_buf_printf(&text, "at %llu\n", (unsigned long long)plan.at);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* ---- what the lists make of it ---- */

static const struct {
	const char *says, *card, *daemon, *why;
	bool soon;
} shares[] = {
	{ "no daemon, no share", "computeMode: 3\ncomputeModeRead: 3\n",
	  NULL, "MPS is not started; see the node's condition MPSReady", false },
	{ "row 39: not before the limits", "computeMode: 3\ncomputeModeRead: 3\n", "phase: Ready\nis: Running\n" MARKED,
	  "the MPS control daemon is being started", true },
	{ "not while it is sick", "computeMode: 3\ncomputeModeRead: 3\n",
	  "phase: Stopped\nfails: 1\nwhy: it has ended\n" MARKED, "it has ended",
	  false },
	{ "not before its own compute mode", "", "phase: Ready\nis: Ready\nhealthy: true\n" MARKED,
	  "its compute mode is not EXCLUSIVE_PROCESS yet; see the node's condition MPSReady", false },
	{ "not while it is not recorded", "computeMode: 3\ncomputeModeRead: 3\n",
	  "phase: Ready\nis: Ready\nhealthy: true\n",
	  "its compute mode is not EXCLUSIVE_PROCESS yet; see the node's condition MPSReady", false },
	{ "with all of it", "computeMode: 3\ncomputeModeRead: 3\n",
	  "phase: Ready\nis: Ready\nhealthy: true\n" MARKED, "", false },
};

TEST(row_39_a_share_is_handed_out_only_with_its_daemon)
{
	EACH_ROW (row, shares) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_mps *mps = NULL;
		const struct fl_card *card;
		struct fl_str words;
		bool soon;

		words = fl_arena_printf(&arena, "metadata: {name: '0000:01:00.0'}\nanswer: Answers\n%s", row->card);
		OK(words.p ? 0 : -FL_E_NOMEM);
		GOT(card = facts_object(&arena, fl_card_bind(), words));
		words = fl_arena_printf(&arena, "metadata: {name: nvidia.com/gpu}\n%s", row->daemon ? row->daemon : "");
		OK(words.p ? 0 : -FL_E_NOMEM);
		if (row->daemon)
			GOT(mps = facts_object(&arena, fl_mps_bind(), words));
		CHECK_STR(fl_gpu_mps_unready(mps, card, &soon), row->why);
		CHECK_INT(soon, row->soon);
	}
}

/* ---- in the lists ---- */

#define WELL(n) "---\nmetadata: {name: '0000:0" n ":00.0'}\ncard: '0000:0" n ":00.0'\nstate: Healthy\n"
#define EXCLUSIVE "minor: 1\ncomputeMode: 3\ncomputeModeRead: 3\n"

static const struct {
	const char *says, *cards, *daemon, *got;
} lists[] = {
	{ "both joined", CARD("1", EXCLUSIVE) CARD("2", EXCLUSIVE), "healthy: true\n", "2 of 2" },
	{ "one cannot join, and hides no other", CARD("1", EXCLUSIVE) CARD("2", "minor: 2\n"), "healthy: true\n",
	  "1 of 2" },
	{ "nothing is listed while the daemon is not healthy", CARD("1", EXCLUSIVE) CARD("2", EXCLUSIVE), "", "" },
};

TEST(one_gpu_that_mps_waits_for_hides_no_other)
{
	EACH_ROW (row, lists) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(FL_KIB);
		struct fl_gpu_lists_facts f = { .state_known = true, .specs_known = true,
						       .sockets_known = true, .holders_known = true,
						 .classes_known = true };
		struct fl_str daemon = fl_arena_printf(&arena, "%s%s%s", DAEMON("Ready"), SET, row->daemon);
		struct fl_plan plan;

		OK(daemon.p ? 0 : -FL_E_NOMEM);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(),
					      FL_S("metadata: {name: s}\ndeviceListStrategy: [envvar]\n" ON)));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), FL_S("metadata: {name: d}\nstate: Ready\n")));
		GOT(f.runtime = facts_object(&arena, fl_runtime_bind(), FL_S("metadata: {name: r}\n")));
		GOT(f.host = facts_object(&arena, fl_host_bind(), FL_S(HOST)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.health = facts_list(&arena, fl_health_bind(), WELL("1") WELL("2"), &f.health_len));
		GOT(f.mps = facts_list(&arena, fl_mps_bind(), daemon.p, &f.mps_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next) {
			const struct fl_resource *resource = want->object;
			unsigned healthy = 0;

			if (want->what != FL_WANT_OBJECT || want->ref.kind != &fl_resource_kind)
				continue;
			for (uint32_t i = 0; i < resource->units.len; i++)
				healthy += resource->units.at[i].healthy;
			fl_buf_printf(&got, "%u of %u", healthy, resource->units.len);
		}
		OK(fl_buf_check(&got, "the list", NULL));
		CHECK_STR(fl_buf_view(&got), row->got);
	}
}
