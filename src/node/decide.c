#include "node/decide.h"
#include "api/cdi.h"
#include "node/state_is_ours.h"
#include "plan/gpu/cdi.h"
#include "plan/gpu/health.h"
#include "plan/gpu/host.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/lists.h"
#include "plan/gpu/mps.h"
#include "plan/mig/layout.h"

/* ---- indexes ---- */

static void card_uuid(const void *object, struct fl_under *under)
{
	const struct fl_card *card = object;

	if (card->has.uuid)
		FL_UNDER(under, card->uuid);
}

static void fault_card(const void *object, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_card_fault *)object)->card);
}

static void health_card(const void *object, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_health *)object)->card);
}

const struct fl_index fl_node_card_by[] = { { "uuid", card_uuid }, { 0 } };   /* for explain */
const struct fl_index fl_node_fault_by[] = { { "card", fault_card }, { 0 } };
const struct fl_index fl_node_health_by[] = { { "card", health_card }, { 0 } };

/* ---- health, card by card ---- */

/* Whose devices are held changes with holders and lists, for any card. */
FL_FACTS_KEYED(health_known, fl_gpu_health_facts, FL_GPU_HEALTH_FACTS, { &fl_holder_kind, fl_every_key, false },
	       { &fl_resource_kind, fl_every_key, false })

static bool health_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_health_facts *facts = facts_;
	const struct fl_resource *resources;
	struct fl_holder *holders;
	uint32_t resource_len, holder_len;

	if (!health_known_gather(view, key, facts))
		return false;
	resources = fl_view_array(view, &fl_resource_kind, &resource_len);
	holders = fl_view_array(view, &fl_holder_kind, &holder_len);
	fl_gpu_health_holders(facts, holders, holder_len, resources, resource_len);
	facts->boot = facts->settings ? facts->settings->boot : FL_S("");
	return true;
}

const struct fl_capability fl_node_health = {
	.name = "node-health", .watches = health_known_watches, .key = &fl_card_kind,
	.owners = FL_OWNERS(&fl_gpu_health_owner),
	.facts_size = sizeof(struct fl_gpu_health_facts), .gather = health_gather, .plan = fl_gpu_health_plan,
};

/* ---- lists, all at once ---- */

FL_FACTS_ONCE(lists, fl_gpu_lists_facts, FL_GPU_LISTS_FACTS)

const struct fl_capability fl_node_lists = {
	.name = "node-lists", .watches = lists_watches,
	.owners = FL_OWNERS(&fl_gpu_lists_owner, &fl_gpu_lists_node_owner, &fl_gpu_lists_ready_owner,
			    &fl_gpu_lists_memo_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_lists_facts), .gather = lists_gather, .plan = fl_gpu_lists_plan,
};

/* ---- the CDI file ---- */

FL_FACTS_ONCE(cdi, fl_gpu_cdi_facts, FL_GPU_CDI_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_cdi = {
	.name = "node-cdi", .watches = cdi_watches, .owners = FL_OWNERS(&fl_gpu_cdi_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_cdi_facts), .gather = cdi_gather, .plan = fl_gpu_cdi_plan,
};

/* ---- MPS ---- */

FL_FACTS_ONCE(mps, fl_gpu_mps_facts, FL_GPU_MPS_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_mps = {
	.name = "node-mps", .watches = mps_watches,
	.owners = FL_OWNERS(&fl_gpu_mps_owner, &fl_gpu_mps_card_owner, &fl_gpu_mps_node_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_mps_facts), .gather = mps_gather, .plan = fl_gpu_mps_plan,
};

/* ---- MIG ---- */

FL_FACTS_ONCE(mig, fl_mig_facts, FL_MIG_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_mig = {
	.name = "node-mig", .watches = mig_watches,
	.owners = FL_OWNERS(&fl_mig_owner, &fl_mig_node_owner, &fl_mig_label_owner, &fl_mig_state_owner), .once = true,
	.facts_size = sizeof(struct fl_mig_facts), .gather = mig_gather, .plan = fl_mig_plan,
};

/* ---- the look at the host ---- */

FL_FACTS_ONCE(look, fl_gpu_host_facts, FL_GPU_HOST_FACTS, { &fl_host_kind, fl_one_key, false },
	      FL_WHEN_STATE_IS_OURS /* a look installs the hook's program */)

const struct fl_capability fl_node_host = {
	.name = "host", .watches = look_watches, .owners = FL_OWNERS(&fl_gpu_host_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_host_facts), .gather = look_gather, .plan = fl_gpu_host_plan,
};
