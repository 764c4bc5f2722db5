/* Which step of a change of a GPU's MIG layout comes next. */
#include "gpu_facts.h"
#include "mig_models.h"
#include "plan/mig/layout.h"

#define NOW 100000000000

#define CHANGES "mode: true\nconfig: all-3g.40gb\nboot: b\nchanges: true\n" \
		"leaving: [GPU-1, MIG-1-0, MIG-2-0]\n" \
		"before: [{profile: 1g.10gb, start: 0, computes: [1]}, {profile: 1g.10gb, start: 1, computes: [1]}]\n" \
		"modeBefore: true\ncounts: [{profile: 3g.40gb, count: 2}]\n"
#define OURS "ours: [{profile: 1g.10gb, start: 0}, {profile: 1g.10gb, start: 1}, {profile: 3g.40gb, start: 0}, " \
	     "{profile: 3g.40gb, start: 4}]\n"
#define STEP(what, instance, turns) "step: " what "\nat: {" instance "}\nstarted: 7\n" turns "\n"
#define AT_0 "profile: 3g.40gb, start: 0, computes: [3]"
#define ASKED "turn: 4\nanswered: 3"
#define DONE "turn: 4\nanswered: 4"

#define CARD "0000:01:00.0"
#define SERVED_BY(profile) "unit: MIG\nmigProfile: " profile "\ncards: ['" CARD "']\n"
#define LEFT "unit: MIG\nmigProfile: 3g.40gb\nleaving: ['" CARD "']\n"

static const struct {
	const char *says, *config, *mode, *has, *layout, *held, *offered, *got;
	const char *labels;            /* of the Node; NULL: none */
	const char *file;              /* mig-parted's, as a MigFile; NULL: none */
	bool due;                      /* the kubelet has not listed holders since a device was withdrawn */
	const char *pool;              /* of the cluster, without its name; NULL: none */
} rows[] = {
	{ "nothing is asked for: nothing is wanted", "", "on", "1g.10gb@0", "", "", "", "" },
	{ "it is as it should be: it is adopted", "all-3g.40gb", "on", "3g.40gb@0 3g.40gb@4", "", "", "",
	  "Rest ours 2\nTrue Applied all-3g.40gb\n" },
	{ "a whole GPU is withdrawn before its mode changes", "all-3g.40gb", "off", "", "", "", "",
	  "Rest changes leaving 1\nFalse Withdrawing\n" },
	{ "then the mode", "all-3g.40gb", "off", "", "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n", "",
	  "", "ModeOn changes leaving 1\nFalse Applying\n" },
	{ "not while it is advertised", "all-3g.40gb", "off", "",
	  "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n", "", "GPU-1",
	  "Rest changes leaving 1\nFalse Withdrawing\n" },
	{ "nor before the kubelet has listed who was given it", "all-3g.40gb", "off", "",
	  "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n", "", "",
	  "Rest changes leaving 1\nFalse Withdrawing\n", .due = true },
	{ "nor while a Pod has it", "all-3g.40gb", "off", "",
	  "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n", "GPU-1", "",
	  "Rest changes leaving 1\nFalse CardInUse Pod t/j\n" },
	{ "a mode that waits for a reset waits, with the command", "all-3g.40gb", "pending", "",
	  "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n" STEP("ModeOn", AT_0, DONE), "", "",
	  "ModeOn changes leaving 1\nFalse ResetRequired nvidia-smi --gpu-reset\n" },
	{ "what is in the way goes first", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1", CHANGES OURS, "", "",
	  "Destroy 1g.10gb@0 changes leaving 3 ours 2\nFalse Applying\n" },
	{ "a Pod is waited for, and nothing goes", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1", CHANGES OURS, "MIG-2-0",
	  "", "Rest changes leaving 3 ours 4\nFalse CardInUse Pod t/j\n" },
	{ "of two that could go the held one stays", "x", "on", "3g.40gb@0 3g.40gb@4", "mode: true\nboot: b\n" OURS,
	  "MIG-1-0", "", "Rest changes leaving 2 ours 4\nFalse Withdrawing\n", NULL,
	  "metadata: {name: f}\nconfigs: [{name: x, entries: [{all: true, enabled: true, counts: "
	  "[{profile: 3g.40gb, count: 1}]}]}]\n" },
	{ "what another program made is never destroyed", "all-3g.40gb", "on", "1g.10gb@0", "", "", "",
	  "Rest\nFalse ForeignInstances 1g.10gb at 0\n" },
	{ "what lacks is made, and is ours before it is", "all-3g.40gb", "on", "3g.40gb@4", CHANGES OURS, "", "",
	  "Create 3g.40gb@0 changes ours 2\nFalse Applying\n" },
	{ "a step that is under way is left alone", "all-3g.40gb", "on", "3g.40gb@4",
	  CHANGES OURS STEP("Create", AT_0, ASKED), "", "",
	  "Create 3g.40gb@0 changes leaving 3 ours 4\nFalse Applying\n" },
	{ "a step of an agent before is seen in the GPU", "all-3g.40gb", "on", "3g.40gb@0",
	  CHANGES OURS "step: Create\nat: {" AT_0 "}\nstarted: 3\n" ASKED "\n", "", "",
	  "Create 3g.40gb@4 changes ours 2\nFalse Applying\n" },
	{ "success without an instance is a failure: the change is undone", "all-3g.40gb", "on", "",
	  CHANGES OURS STEP("Create", AT_0, DONE), "", "",
	  "Create 1g.10gb@0 changes undo ours 1 failed: the driver reports success, and 3g.40gb at 0 is not there\n"
	  "False Applying\n" },
	{ "a refusal too", "all-3g.40gb", "on", "3g.40gb@4", CHANGES OURS STEP("Create", AT_0, DONE) "refused: nope\n",
	  "", "", "Destroy 3g.40gb@4 changes undo leaving 2 ours 1 failed: nope\nFalse Applying\n" },
	{ "a process in the way is waited for", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1",
	  CHANGES OURS STEP("Destroy", "profile: 1g.10gb, start: 0", DONE) "busy: true\nrefused: python3\ntried: "
	  "99000000000\n", "", "", "Destroy 1g.10gb@0 changes leaving 3 ours 4\nFalse CardInUse python3\n" },
	{ "and tried again", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1",
	  CHANGES OURS STEP("Destroy", "profile: 1g.10gb, start: 0", DONE) "busy: true\nrefused: python3\ntried: "
	  "97000000000\n", "", "", "Destroy 1g.10gb@0 turn 5 changes leaving 3 ours 2\nFalse CardInUse python3\n" },
	{ "an undone change is told, and waits", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1",
	  CHANGES OURS "undo: true\nfailed: nope\n", "", "", "Rest ours 2 failed: nope\nFalse ApplyFailed nope\n" },
	{ "until it is tried again", "all-3g.40gb", "on", "1g.10gb@0 1g.10gb@1",
	  "mode: true\nboot: b\nfailed: nope\nfails: 1\nagain: 1\ncounts: [{profile: 3g.40gb, count: 2}]\n" OURS, "",
	  "",
	  "Rest changes leaving 3 ours 4\nFalse ApplyFailed nope\n" },
	{ "another layout does not wait", "all-7g.80gb", "on", "1g.10gb@0 1g.10gb@1",
	  "mode: true\nboot: b\nfailed: nope\nfails: 1\nagain: 900000000000\n"
	  "counts: [{profile: 3g.40gb, count: 2}]\n" OURS, "", "",
	  "Rest changes leaving 3 ours 4\nFalse Withdrawing\n" },
	{ "after a reboot it is laid out again", "all-3g.40gb", "off", "",
	  "mode: true\nboot: a\nconfig: all-3g.40gb\ncounts: [{profile: 3g.40gb, count: 2}]\n" OURS, "", "",
	  "Rest changes leaving 1 ours 4\nFalse Withdrawing\n" },
	{ "no profile of that name", "all-5g.40gb", "on", "", "", "", "", "False ProfileNotSupported no profile "
	  "5g.40gb: it has 1g.10gb, \n" },
	{ "no layout of that name", "nonsense", "on", "", "", "", "", "False UnknownLayout nonsense\n" },
	{ "a file that is wrong", "x", "on", "", "", "", "", "False UnknownLayout line 4\n", NULL,
	  "metadata: {name: f}\nwhy: 'f: line 4: no'\n" },
	{ "a name of a file", "x", "on", "7g.80gb@0", "", "", "", "Rest ours 1\nTrue Applied x\n", NULL,
	  "metadata: {name: f}\nconfigs: [{name: x, entries: [{all: true, enabled: true, filters: ['0x233010DE'], "
	  "counts: [{profile: 7g.80gb, count: 1}]}]}]\n" },
	{ "what fits nowhere, and why", "x", "on", "", "", "", "", "False ProfileNotSupported needs 8 compute slices\n",
	  NULL,
	  "metadata: {name: f}\nconfigs: [{name: x, entries: [{all: true, enabled: true, counts: [{profile: 7g.80gb, "
	  "count: 1}, {profile: 1g.10gb, count: 1}]}]}]\n" },
	{ "while NVIDIA's mig-manager is there nothing is wanted", "all-3g.40gb", "on", "1g.10gb@0", "", "", "",
	  "False MIGManagerActive =false\n", "nvidia.com/gpu.deploy.mig-manager: 'true'" },
	{ "the label comes before the setting, and has its state", "all-disabled", "on", "7g.80gb@0", "", "", "",
	  "Rest ours 1\nstate success\nTrue Applied all-7g.80gb\n", "nvidia.com/mig.config: all-7g.80gb" },
	{ "without the label its state goes too", "all-7g.80gb", "on", "7g.80gb@0", "", "", "",
	  "Rest ours 1\nno state\nTrue Applied all-7g.80gb\n", "nvidia.com/mig.config.state: pending" },
	{ "also where nothing is asked for", "", "on", "", "", "", "", "no state\n",
	  "nvidia.com/mig.config.state: success" },
	{ "nobody asks any more: the GPU is served as it is", "", "off", "",
	  "mode: true\nboot: b\nchanges: true\nleaving: [GPU-1]\n", "", "", "Rest\n" },
	{ "a pool's GPU gets its profile, and what it was is remembered", "", "off", "", "", "", "",
	  "Rest changes leaving 1 home off\nmig Withdrawing\n", .pool = SERVED_BY("1g.10gb") },
	{ "as many as fit", "", "on", "3g.40gb@0 3g.40gb@4", "", "", "",
	  "Rest ours 2 home on 3g.40gb\nmig done\n", .pool = SERVED_BY("3g.40gb") },
	{ "one of them is made after the other", "", "on", "3g.40gb@0",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\nchanges: true\n" OURS, "", "",
	  "Create 3g.40gb@4 changes ours 2 home off\nmig Applying\n", .pool = SERVED_BY("3g.40gb") },
	{ "the layout of the node's label is not that GPU's", "all-7g.80gb", "on", "3g.40gb@0 3g.40gb@4", "", "", "",
	  "Rest ours 2 home on 3g.40gb\nmig done\nTrue Applied all-7g.80gb\n", .pool = SERVED_BY("3g.40gb") },
	{ "a profile that the GPU does not have, and those that it has", "", "on", "", "", "", "",
	  "mig ProfileNotSupported\n", .pool = SERVED_BY("5g.40gb") },
	{ "what another program made stays in a pool's GPU too", "", "on", "1g.10gb@0", "", "", "",
	  "Rest\nmig ForeignInstances\n", .pool = SERVED_BY("3g.40gb") },
	{ "a pool of whole GPUs has no MIG", "", "on", "3g.40gb@0", "mode: true\nboot: b\n" OURS, "", "",
	  "Rest changes leaving 2 ours 4 home on 3g.40gb\nmig Withdrawing\n", .pool = "unit: Card\ncards: ['" CARD
	  "']\n" },
	{ "a GPU that is kept back stays as it is", "", "on", "3g.40gb@0 3g.40gb@4",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\n" OURS, "", "", "Rest ours 4 home off\n",
	  .pool = "unit: MIG\nmigProfile: 3g.40gb\nkeptBack: ['" CARD "']\n" },
	{ "a GPU that leaves waits for its Pods", "", "on", "3g.40gb@0",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\nchanges: true\nleaving: [GPU-1, MIG-1-0]\n" OURS,
	  "MIG-1-0", "",
	  "Rest changes leaving 2 ours 4 home off\nmig CardInUse\n", .pool = LEFT },
	{ "then its instances go", "", "on", "3g.40gb@0",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\nchanges: true\nleaving: [GPU-1, MIG-1-0]\n" OURS, "", "",
	  "Destroy 3g.40gb@0 changes leaving 2 ours 1 home off\nmig Applying\n", .pool = LEFT },
	{ "then MIG mode", "", "on", "",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\nchanges: true\nleaving: [GPU-1]\n", "", "",
	  "ModeOff changes leaving 1 home off\nmig Applying\n", .pool = LEFT },
	{ "and then it is as it was", "", "off", "",
	  "mode: true\nboot: b\npooled: true\nmodeHome: false\nchanges: true\n", "", "", "Rest\nmig done\n",
	  .pool = LEFT },
	{ "so it is when its pool is not known any more", "", "on", "1g.10gb@0",
	  "mode: true\nboot: b\npooled: true\nmodeHome: true\nhome: [{profile: 3g.40gb, count: 1}]\nchanges: true\n"
	  "leaving: [GPU-1, MIG-1-0]\n" OURS, "", "",
	  "Destroy 1g.10gb@0 changes leaving 2 ours 1 home on 3g.40gb\nmig Applying\n" },
	{ "while NVIDIA's mig-manager is there a pool waits", "", "off", "", "", "", "",
	  "False MIGManagerActive =false\nmig Waiting\n", "nvidia.com/gpu.deploy.mig-manager: 'true'",
	  .pool = SERVED_BY("1g.10gb") },
};

static const struct fl_mig_instance *numbered(struct fl_mig_instance *list, uint32_t len)
{
	for (uint32_t i = 0; list && i < len; i++)
		FL_SET(&list[i], gi, (int32_t)i + 1);
	return list;
}

/* One H100, with a MIG device for each compute instance. */
static bool make_card(const char *mode, const char *has, struct fl_arena *arena, struct fl_card *card)
{
	uint32_t len = 0;

	*card = *(struct fl_card *)(facts_object(arena, fl_card_bind(),
						 FL_S("metadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-1\n"
						      "migCapable: true\nvendor: 10de\ndevice: '2330'\n")) ?:
					    fl_arena_get(arena, sizeof *card) ?: card);
	FL_SET(card, mig, strcmp(mode, "on") == 0);
	FL_SET(card, mig_pending, strcmp(mode, "off") != 0);
	card->offers.at = mig_offers(mig_model("h100-80gb-hbm3"), arena, &card->offers.len);
	card->instances.at = mig_instances(has, arena, &card->instances.len);
	(void)numbered(card->instances.at, card->instances.len);
	if (!card->uuid.len || !card->offers.at || !card->instances.at || !FL_ELEMENTS(card, arena, partitions, 16))
		return false;
	for (uint32_t i = 0; i < card->instances.len; i++)
		for (uint32_t k = 0; k < card->instances.at[i].computes.len; k++) {
			FL_SET(&card->partitions.at[len], gi, (int32_t)i + 1);
			FL_SET(&card->partitions.at[len], profile, card->instances.at[i].profile);
			FL_SET(&card->partitions.at[len], uuid, fl_arena_printf(arena, "MIG-%u-%u", i + 1, k));
			if (!card->partitions.at[len++].uuid.p)
				return false;
		}
	card->partitions.len = len;
	return true;
}

static void print_layout(const struct fl_layout *layout, const struct fl_layout *was, struct fl_buf *buf)
{
	fl_buf_printf(buf, "%s", fl_name(&fl_mig_step_names, (int)layout->step));
	if (layout->has.at && (layout->step == FL_MIG_CREATE || layout->step == FL_MIG_DESTROY))
		fl_buf_printf(buf, " %.*s@%d", FL_ARG(layout->at.profile), (int)layout->at.start);
	if (was && was->busy && layout->turn != was->turn)
		fl_buf_printf(buf, " turn %d", (int)layout->turn);
	fl_buf_printf(buf, "%s%s", layout->changes ? " changes" : "", layout->undo ? " undo" : "");
	if (layout->leaving.len)
		fl_buf_printf(buf, " leaving %u", layout->leaving.len);
	if (layout->ours.len)
		fl_buf_printf(buf, " ours %u", layout->ours.len);
	if (layout->failed.len)
		fl_buf_printf(buf, " failed: %.*s", FL_ARG(layout->failed));
	if (layout->pooled)
		fl_buf_printf(buf, " home %s", layout->mode_home ? "on" : "off");
	for (uint32_t i = 0; i < layout->home.len; i++)
		fl_buf_printf(buf, " %.*s", FL_ARG(layout->home.at[i].profile));
	fl_buf_char(buf, '\n');
}

/* The last word of a line that is expected is a part of the message. */
static bool is_said(const struct fl_condition *c, struct fl_str line)
{
	struct fl_str status, reason;

	return fl_str_split(&line, ' ', &status) && fl_str_split(&line, ' ', &reason) &&
	       fl_str_eq(status, fl_str(fl_name(&fl_condition_status_names, (int)c->status))) &&
	       fl_str_eq(reason, c->reason) &&
	       (!line.len || memmem(c->message.p, c->message.len, line.p, line.len) != NULL);
}

static void print_node(const struct fl_want *wanted, const char *want, struct fl_buf *buf)
{
	const struct fl_own_node *node = wanted->object;
	struct fl_str rest = fl_str(want), line;

	if (wanted->owner == &fl_mig_label_owner && !node->meta.labels.len)
		fl_buf_str(buf, FL_S("no state\n"));
	for (uint32_t i = 0; i < node->meta.labels.len; i++)
		fl_buf_printf(buf, "state %.*s\n", FL_ARG(node->meta.labels.at[i].value));
	for (uint32_t i = 0; i < node->status.conditions.len; i++) {
		const struct fl_condition *c = &node->status.conditions.at[i];
		bool said = false;

		rest = fl_str(want);
		while (!said && fl_str_split(&rest, '\n', &line))
			if ((said = is_said(c, line)))
				fl_buf_printf(buf, "%.*s\n", FL_ARG(line));
		if (!said)
			fl_buf_printf(buf, "%s %.*s %.*s\n", fl_name(&fl_condition_status_names, (int)c->status),
				      FL_ARG(c->reason), FL_ARG(c->message));
	}
}

TEST(mig_steps)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_settings settings = { .mig_manager = true, .started = 7, .boot = FL_S("b"),
						.mig_config = fl_str(row->config) };
		struct fl_driver driver = { .state = FL_DRIVER_READY };
		struct fl_active active = { .settled = true, .due = row->due };
		struct fl_holder holder = { .resource = FL_S("r"), .pod_space = FL_S("t"), .pod = FL_S("j") };
		struct fl_str held = fl_str(row->held);
		struct fl_unit unit = { .id = fl_str(row->offered), .healthy = true };
		struct fl_resource resource = { .units = { &unit, row->offered[0] != 0 } };
		struct fl_str text_of;
		struct fl_card card;
		struct fl_mig_facts facts = { .settings = &settings, .driver = &driver, .cards = &card, .card_len = 1,
					      .holders = &holder, .holder_len = row->held[0] != 0, .active = &active,
					      .resources = &resource, .resource_len = 1, .node_told = true,
					      .now = NOW };
		struct fl_plan plan;

		holder.devices.at = &held;
		holder.devices.len = 1;
		OK(make_card(row->mode, row->has, &arena, &card) ? 0 : -FL_E_NOMEM);
		text_of = fl_arena_printf(&arena, "metadata: {name: '0000:01:00.0'}\n%s", row->layout);
		GOT(text_of.p);
		facts.layouts =
			facts_list(&arena, fl_layout_bind(), row->layout[0] ? text_of.p : "", &facts.layout_len);
		GOT(facts.layouts);
		if (row->file)
			GOT(facts.file = facts_object(&arena, fl_mig_file_bind(), fl_str(row->file)));
		text_of = fl_arena_printf(&arena, "metadata: {name: n1, labels: {%s}}\n",
					  row->labels ? row->labels : "");
		GOT(text_of.p);
		GOT(facts.node = facts_object(&arena, fl_own_node_bind(), text_of));
		if (row->pool) {
			text_of = fl_arena_printf(&arena, "resource: gpu.deckhouse.io/p\ncluster: true\n%s", row->pool);
			GOT(text_of.p);
			GOT(settings.pools.at = facts_object(&arena, fl_node_pool_bind(), text_of));
			settings.pools.len = 1;
		}
		fl_plan_init(&plan, &arena);
		fl_mig_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			if (want->ref.kind == &fl_layout_kind)
				print_layout(want->object, facts.layout_len ? facts.layouts : NULL, &text);
		for (const struct fl_want *want = plan.first; want; want = want->next) {
			const struct fl_mig_state *state = want->object;

			if (want->ref.kind == &fl_mig_state_kind)
				fl_buf_printf(&text, "mig %.*s\n", FL_ARG(state->done ? FL_S("done") : state->reason));
			else if (want->ref.kind == &fl_own_node_kind)
				print_node(want, row->got, &text);
		}
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}
