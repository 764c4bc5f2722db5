/* What keeps all GPUs back: a directory that the agent cannot use, and what is served meanwhile; a file beside ours;
 * the node's set-up. */
#include "gpu_facts.h"
#include "plan/gpu/lists.h"

#define DIR(name, why) "---\nmetadata: {name: " name "}\nwhy: '" why "'\n"

static const char node[] =
	"metadata: {name: n1}\nstatus: {conditions: [{type: GPUsReady, status: 'True', reason: Ready, message: as it "
	"was, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n";
static const char host[] = "metadata: {name: host}\nnodesRoot: /drv\nversion: '1'\nlayout: a\nseen: 1/a\n";
static const char card[] = "metadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-1\nindex: 1\nminor: 1\n";
static const char spec[] =
	"metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: GPU-1, containerEdits: {}}]\n";

static const struct {
	const char *says, *way, *dirs, *ready;
	bool blocked, served;
	unsigned seconds;                      /* since the start */
} rows[] = {
	{ "of the state", "cdi-cri", DIR(FL_DIR_STATE, "open /s: full: make room"),
	  "False StateDirectory: open /s: full: make room", true, false, 1 },
	{ "of CDI files, which are not known yet", "cdi-cri", DIR(FL_DIR_CDI, "list /c: no: name another"),
	  "False CDINotWritten: list /c: no: name another", true, false, 1 },
	{ "both", "cdi-cri", DIR(FL_DIR_CDI, "a") DIR(FL_DIR_STATE, "b"), "False CDINotWritten: a; b", true, false, 1 },
	{ "of CDI files, later: what is served stays served", "cdi-cri", DIR(FL_DIR_CDI, "list /c: no: name another"),
	  "False CDINotWritten: list /c: no: name another", false, true, 1 },
	{ "the kubelet's: what can be served is made ready", "cdi-cri", DIR(FL_DIR_KUBELET, "k: no: name another"),
	  "False NotRegistered: k: no: name another", false, true, 1 },
	{ "where no container gets devices by CDI, nobody needs it", "volume-mounts", DIR(FL_DIR_CDI, "a"),
	  "True Ready: *", false, true, 1 },
};

static int gather(struct fl_arena *arena, const char *way, const char *dirs, struct fl_gpu_lists_facts *f)
{
	struct fl_str settings = fl_arena_printf(arena,
						 "metadata: {name: settings}\ncdiKind: k.io/gpu\nunpooled: true\n"
						 "deviceListStrategy: [%s]\nstarted: 100000000000\n",
						 way);
	struct fl_cdi_spec *specs = facts_list(arena, fl_cdi_spec_bind(), spec, &f->spec_len);

	if (!settings.p || !specs || !(f->settings = facts_object(arena, fl_settings_bind(), settings)) ||
	    !(f->driver = facts_object(arena, fl_driver_bind(), FL_S("metadata: {name: driver}\nstate: Ready\n"))) ||
	    !(f->runtime = facts_object(arena, fl_runtime_bind(),
					FL_S("metadata: {name: runtime}\ncdiKnown: true\ncdi: true\n"))) ||
	    !(f->host = facts_object(arena, fl_host_bind(), fl_str(host))) ||
	    !(f->node = facts_object(arena, fl_own_node_bind(), fl_str(node))) ||
	    !(f->cards = facts_list(arena, fl_card_bind(), card, &f->card_len)) ||
	    !(f->health = facts_list(arena, fl_health_bind(),
				     "metadata: {name: '0000:01:00.0'}\ncard: '0000:01:00.0'\nstate: Healthy\n",
				     &f->health_len)) ||
	    !(f->dirs = facts_list(arena, fl_dir_trouble_bind(), dirs, &f->dir_len)))
		return -FL_E_NOMEM;
	FL_SET(&specs[0], on_disk, fl_cdi_digest(&specs[0]));
	f->specs = specs;
	return specs[0].on_disk ? 0 : -FL_E_NOMEM;
}

static struct fl_str ready_of(struct fl_plan *plan)
{
	const struct fl_want *want = fl_plan_find(plan, &fl_gpu_lists_node_owner,
						  (struct fl_ref){ &fl_own_node_kind, FL_S(""), FL_S("n1"), FL_S("") });
	const struct fl_own_node *told = want ? want->object : NULL;
	const struct fl_condition *ready = told ? fl_condition_find(&told->status.conditions, FL_S("GPUsReady")) : NULL;

	return !ready ? FL_S("nothing") :
			fl_plan_printf(plan, "%s %.*s: %.*s", fl_name(&fl_condition_status_names, (int)ready->status),
				       FL_ARG(ready->reason), FL_ARG(ready->message));
}

TEST(a_directory_that_cannot_be_used_is_told)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_lists_facts f = { .now = (100 + row->seconds) * FL_NS_PER_S, .sockets_known = true,
						.holders_known = true,
						.state_known = !row->blocked || !strstr(row->dirs, FL_DIR_STATE),
						.specs_known = !row->blocked };
		struct fl_ref gpu = { &fl_resource_kind, FL_S(""), FL_S("nvidia.com/gpu"), FL_S("") };
		struct fl_plan plan;
		struct fl_str ready;

		OK(gather(&arena, row->way, row->dirs, &f));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		ready = ready_of(&plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		CHECK_INT(fl_plan_find(&plan, &fl_gpu_lists_owner, gpu) != NULL, row->served);
		if (!facts_like(ready, fl_str(row->ready)))
			CHECK_STR(ready, row->ready);
	}
}

/* ---- a file beside ours ---- */

#define FILE(name, kind) \
	"---\nmetadata: {name: " name "}\ncdiVersion: 0.5.0\nkind: " kind "\n" \
	"devices: [{name: GPU-1, containerEdits: {}}]\n"
#define BESIDE "metadata: {name: settings}\ncdiKind: k.io/gpu\nunpooled: true\nstarted: 100000000000\n"
#define SERVED \
	"metadata: {name: nvidia.com/gpu}\nunits: [{id: GPU-1, healthy: true, shown: GPU-1, card: '0000:01:00.0'}]\n"

static const struct {
	const char *says, *way, *id, *beside, *served, *got;
} files[] = {
	{ "a name that two files have leads nowhere: nothing is advertised", "cdi-cri", "uuid",
	  FILE("other", "k.io/gpu"), "",
	  "not served: False CDIConflict: k.io/gpu=GPU-1 is in two CDI files, x.json and other.json, *" },
	{ "what was advertised is Unhealthy", "cdi-cri", "uuid", FILE("other.yaml", "k.io/gpu"), SERVED,
	  "Unhealthy: False CDIConflict: k.io/gpu=GPU-1 is in two CDI files, x.json and other.yaml, *" },
	{ "it is about the name that containers are told", "cdi-cri", "index", FILE("other", "k.io/gpu"), "",
	  "Healthy: True Ready: *" },
	{ "and of the same kind", "cdi-cri", "uuid", FILE("other", "x.io/gpu"), "", "Healthy: True Ready: *" },
	{ "without CDI no file counts", "volume-mounts", "uuid", FILE("other", "k.io/gpu"), "",
	  "Healthy: True Ready: *" },
};

static int put_beside(struct fl_arena *arena, const char *beside, struct fl_gpu_lists_facts *f)
{
	struct fl_str text = fl_arena_printf(arena,
					     "metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: "
					     "[{name: '1', containerEdits: {}}, {name: GPU-1, containerEdits: {}}]\n%s",
					     beside);
	struct fl_cdi_spec *specs = text.p ? facts_list(arena, fl_cdi_spec_bind(), text.p, &f->spec_len) : NULL;
	bool ok = specs;

	f->specs = specs;
	for (uint32_t i = 0; ok && i < f->spec_len; i++) {
		FL_SET(&specs[i], on_disk, fl_cdi_digest(&specs[i]));
		ok = specs[i].on_disk;
	}
	return ok ? 0 : -FL_E_NOMEM;
}

static const char *state_of(const struct fl_resource *list)
{
	if (!list)
		return "not served";
	return list->units.at[0].healthy ? "Healthy" : "Unhealthy";
}

TEST(a_name_that_two_files_have_is_told)
{
	EACH_ROW_ALONE (row, files) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_lists_facts f = { .now = 200 * FL_NS_PER_S, .sockets_known = true, .state_known = true,
						.specs_known = true, .holders_known = true };
		struct fl_ref gpu = { &fl_resource_kind, FL_S(""), FL_S("nvidia.com/gpu"), FL_S("") };
		struct fl_str settings = fl_arena_printf(&arena,
							 BESIDE "deviceListStrategy: [%s]\ndeviceIDStrategy: %s\n",
							 row->way, row->id);
		struct fl_str ready, got;
		const struct fl_resource *list;
		const struct fl_want *want;
		struct fl_plan plan;

		OK(settings.p ? gather(&arena, row->way, "", &f) : -FL_E_NOMEM);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), settings));
		OK(put_beside(&arena, row->beside, &f));
		GOT(f.resources = facts_list(&arena, fl_resource_bind(), row->served, &f.resource_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		ready = ready_of(&plan);
		want = fl_plan_find(&plan, &fl_gpu_lists_owner, gpu);
		list = want ? want->object : NULL;
		got = fl_plan_printf(&plan, "%s: %.*s",
				     state_of(list), FL_ARG(ready));
		OK(plan.failed ? -FL_E_NOMEM : 0);
		if (!facts_like(got, fl_str(row->got)))
			CHECK_STR(got, row->got);
	}
}

/* ---- the node's set-up ---- */

#define MIG_TOO "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Answers\nuuid: GPU-2\nindex: 2\nminor: 2\nmig: true\n"
#define ASK "metadata: {name: settings}\ncdiKind: k.io/gpu\nstarted: 100000000000\ndeviceListStrategy: [cdi-cri]\n"
#define IMEX "unpooled: true\nextras: [imex-channel]\nimexRequired: true\n"
#define OTHER "metadata: {name: nvidia-gpu.sock}\nlive: true\nours: false\n"
#define NO_DRIVER "metadata: {name: driver}\nstate: Absent\nmessage: none under /wrong\n"
#define NONE_ASKED \
	"no GPU is served: no pool has one, and GPUs without a pool are off: set --unpooled=true, or name GPUs with " \
	"--pool"

static const struct {
	const char *says, *settings, *driver, *cards, *sockets, *got;
} set_ups[] = {
	{ "GPUs that are served", "unpooled: true\n", "metadata: {name: driver}\nstate: Ready\n", card, "",
	  "ready, Ready 1 GPU, 1 resource: " },
	{ "GPUs that nobody asked for: what to set is said", "", "metadata: {name: driver}\nstate: Ready\n", card, "",
	  "ready, NoResources " NONE_ASKED ": " NONE_ASKED },
	{ "no GPU", "unpooled: true\n", "metadata: {name: driver}\nstate: Ready\n", "", "",
	  "ready, NoResources there is no GPU: " },
	{ "an IMEX channel that is required and missing", IMEX, "metadata: {name: driver}\nstate: Ready\n", card, "",
	  "blocked, IMEXChannelMissing *" },
	{ "MIG on some", "unpooled: true\nmigStrategy: single\n", "metadata: {name: driver}\nstate: Ready\n",
	  /* the first one is whole */ NULL, "", "blocked, MigStrategySingle device 1 *" },
	{ "another plugin serves them", "unpooled: true\n", "metadata: {name: driver}\nstate: Ready\n", card, OTHER,
	  "ready, ServedByOther *: " },
	{ "a library that is not found, with the module loaded", "unpooled: true\n", NO_DRIVER "kernel: '1'\n", card,
	  "",
	  "blocked, DriverNotReady the driver is Absent: none under /wrong: DriverNotReady: the driver is Absent: *" },
	{ "... on a machine without GPUs", "unpooled: true\n", NO_DRIVER "kernel: '1'\n", "", "",
	  "ready, DriverNotReady *: " },
	{ "no driver yet", "unpooled: true\n", NO_DRIVER, card, "", "ready, DriverNotReady *: " },
	{ "two versions", "unpooled: true\n", "metadata: {name: driver}\nstate: Mismatch\nkernel: '1'\n", card, "",
	  "blocked, DriverNotReady *" },
	{ "a driver that is paused", "unpooled: true\n", "metadata: {name: driver}\nstate: Paused\nkernel: '1'\n",
	  card, "", "ready, DriverNotReady *: " },
};

TEST(a_set_up_that_keeps_all_gpus_back_is_told_without_an_api_server)
{
	EACH_ROW_ALONE (row, set_ups) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_lists_facts f = { .now = 200 * FL_NS_PER_S, .sockets_known = true, .state_known = true,
						.specs_known = true, .holders_known = true };
		struct fl_ref ref = { &fl_readiness_kind, FL_S(""), FL_S("gpus"), FL_S("") };
		struct fl_str cards = fl_arena_printf(&arena, "%s%s", card, MIG_TOO);
		struct fl_str settings = fl_arena_printf(&arena, "%s%s", ASK, row->settings), got;
		const struct fl_condition *ready;
		const struct fl_readiness *is;
		const struct fl_want *want;
		struct fl_plan plan;

		OK(gather(&arena, "cdi-cri", "", &f));
		OK(cards.p && settings.p ? 0 : -FL_E_NOMEM);
		f.node = NULL;
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), settings));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), fl_str(row->driver)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards ? row->cards : cards.p, &f.card_len));
		GOT(f.sockets = facts_list(&arena, fl_plugin_socket_bind(), row->sockets, &f.socket_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		want = fl_plan_find(&plan, &fl_gpu_lists_ready_owner, ref);
		is = want ? want->object : NULL;
		ready = is ? fl_condition_find(&is->status.conditions, FL_S("GPUsReady")) : NULL;
		CHECK(ready != NULL);
		if (!ready)
			continue;
		CHECK(want->told && want->told->tell != FL_EMIT_NOBODY);
		got = fl_plan_printf(&plan, "%s, %.*s %.*s: %.*s", is->blocked ? "blocked" : "ready",
				     FL_ARG(ready->reason), FL_ARG(ready->message), FL_ARG(is->why));
		OK(got.p ? 0 : -FL_E_NOMEM);
		if (!facts_like(got, fl_str(row->got)))
			CHECK_STR(got, row->got);
	}
}
