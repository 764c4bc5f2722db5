/* A directory that the agent cannot use: what the Node is told of it, and what is served meanwhile. */
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
