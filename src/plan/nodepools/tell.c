/* The condition Configured of each GPU. */
#include "base/units.h"
#include "plan/gpu/holders.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/lists.h"
#include "plan/nodepools/in.h"

static const char *const paths[] = { "status.conditions[type=" FL_POOLS_CONDITION "]", NULL };
const struct fl_owner fl_nodepools_device_owner = { "fairlead-pools", &fl_gpu_device_kind, paths };

/* ---- saying it ---- */

static const struct fl_condition *said(const struct belonging *b)
{
	return fl_condition_find(&b->device->status.conditions, FL_S(FL_POOLS_CONDITION));
}

static bool is_applied(const struct belonging *b)
{
	const struct fl_condition *is = said(b);

	return is && is->status == FL_CONDITION_TRUE;
}

static void tell(struct nodepools *n, const struct belonging *b, const char *reason, struct fl_str why)
{
	bool applied = fl_str_eq(fl_str(reason), FL_S("Applied"));
	bool normal = applied || fl_str_eq(fl_str(reason), FL_S("Drained"));
	enum fl_emit emit = normal                                    ? FL_EMIT_NORMAL :
			    fl_str_eq(fl_str(reason), FL_S("Waiting")) ? FL_EMIT_NOBODY :
									 FL_EMIT_WARNING;

	fl_want_condition(n->plan, &fl_nodepools_device_owner, FL_REF(&fl_gpu_device_kind, b->device), emit,
			  FL_POOLS_CONDITION, applied ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, reason, "%.*s: %.*s",
			  FL_ARG(b->resource), FL_ARG(why));
}

/* ---- what is observed ---- */

static const struct fl_resource *resource_of(const struct nodepools *n, const struct belonging *b)
{
	return fl_find(n->facts->resources, n->facts->resource_len, meta.name, b->resource);
}

/* A Pod that holds the GPU or a part of it; `other`: by another resource than the pool's. */
static const struct fl_holder *holder_of(const struct nodepools *n, const struct belonging *b, bool other)
{
	for (uint32_t i = 0; i < n->facts->holder_len; i++) {
		const struct fl_holder *holder = &n->facts->holders[i];

		if (other && fl_str_eq(holder->resource, b->resource))
			continue;
		if ((b->card && fl_gpu_holds_card(holder, b->card)) ||
		    fl_gpu_holds(holder, b->device->status.hardware.uuid))
			return holder;
	}
	return NULL;
}

static const struct fl_mig_state *mig_state_of(const struct nodepools *n, const struct belonging *b)
{
	return fl_find(n->facts->states, n->facts->state_len, meta.name, b->address);
}

/* Is a device of it in a list still? */
static bool is_listed(const struct nodepools *n, const struct belonging *b)
{
	const struct fl_resource *resource = resource_of(n, b);

	return resource && fl_find(resource->units.at, resource->units.len, card, b->address);
}

/* Reasons are those of a list that people and the controller know; other steps of a layout are on their way. */
static const char *mig_reason(struct fl_str reason)
{
	static const char *const known[] = { "CardInUse", "ResetRequired", "ProfileNotSupported", "ForeignInstances",
					     "ApplyFailed" };

	for (size_t i = 0; i < FL_LEN(known); i++)
		if (fl_str_eq(reason, fl_str(known[i])))
			return known[i];
	return "Waiting";
}

/* ---- a GPU that its pool should serve ---- */

/* In the list of pools that counts, not only in the one that is to be. */
static bool is_in_force(const struct nodepools *n, const struct belonging *b)
{
	const struct fl_settings *s = n->facts->settings;

	return nodepools_entry_has(fl_find(s->pools.at, s->pools.len, resource, b->resource), b->address) ==
	       BELONGS_SERVED;
}

static bool is_faulty(struct nodepools *n, const struct belonging *b)
{
	const struct fl_health *health = fl_find(n->facts->health, n->facts->health_len, meta.name, b->address);
	const struct fl_condition *why =
		health ? fl_condition_find(&health->status.conditions, FL_S("Healthy")) : NULL;

	if (!health || health->state == FL_HEALTHY)
		return false;
	tell(n, b, "Faulty",
	     fl_plan_printf(n->plan, "%.*s: %.*s", FL_ARG(health->cause),
			    FL_ARG(why ? why->message : FL_S("see the Node's condition GPUsReady"))));
	return true;
}

/* Its layout is not as the pool wants it yet. */
static bool is_partitioned_wrong(struct nodepools *n, const struct belonging *b)
{
	const struct fl_mig_state *state = mig_state_of(n, b);
	bool parts = b->pool && b->pool->spec.resource.unit == FL_POOL_MIG;

	if (state ? state->done : !parts)
		return false;
	tell(n, b, state ? mig_reason(state->reason) : "Waiting",
	     state ? state->message : FL_S("its MIG layout is about to be planned"));
	return true;
}

/* The first device of it that may not be allocated; NULL: all may. */
static const struct fl_unit *first_unready(const struct fl_resource *resource, struct fl_str card, uint32_t *ret_ready)
{
	*ret_ready = 0;
	for (uint32_t i = 0; resource && i < resource->units.len; i++) {
		const struct fl_unit *unit = &resource->units.at[i];

		if (!fl_str_eq(unit->card, card))
			continue;
		if (!unit->healthy || unit->leaving)
			return unit;
		*ret_ready += unit->replicas > 0 ? (uint32_t)unit->replicas : 1;
	}
	return NULL;
}

static bool counts_all(const struct nodepools *n, const struct fl_resource *resource)
{
	const struct fl_own_node *node = n->facts->node;
	int64_t healthy, all;

	fl_resource_count(resource, &healthy, &all);
	for (uint32_t i = 0; node && i < node->status.allocatable.len; i++)
		if (fl_str_eq(node->status.allocatable.at[i].key, resource->meta.name))
			return fl_quantity_value(node->status.allocatable.at[i].value) == healthy;
	return false;
}

/* An agent that has just started finds its GPUs as the one before has left them. */
static bool settles(struct nodepools *n, const struct belonging *b)
{
	uint64_t until = (uint64_t)n->facts->settings->started + FL_LISTS_SETTLE;

	if (!is_applied(b) || n->facts->now >= until)
		return false;
	fl_want_at(n->plan, until);
	return true;
}

static void tell_served(struct nodepools *n, const struct belonging *b)
{
	const struct fl_resource *resource = resource_of(n, b);
	const struct fl_holder *holder = holder_of(n, b, true);
	uint32_t ready = 0;
	const struct fl_unit *unready = first_unready(resource, b->address, &ready);

	if (is_faulty(n, b))
		return;
	if (!is_in_force(n, b))
		tell(n, b, "Waiting", FL_S("it joins the pool in a moment"));
	else if (holder)
		tell(n, b, "CardInUse",
		     fl_plan_printf(n->plan, "Pod %.*s/%.*s holds it as %.*s until it ends", FL_ARG(holder->pod_space),
				    FL_ARG(holder->pod), FL_ARG(holder->resource)));
	else if (is_partitioned_wrong(n, b) || ((unready || !ready) && settles(n, b)))
		return;
	else if (unready)
		tell(n, b, "Waiting", unready->why);
	else if (!ready)
		tell(n, b, "Waiting",
		     FL_S("the agent does not advertise it yet; if this persists, see the Node's condition GPUsReady"));
	else if (!is_applied(b) && !counts_all(n, resource))
		tell(n, b, "Waiting", FL_S("the kubelet does not count its devices as allocatable yet"));
	else
		tell(n, b, "Applied",
		     fl_plan_printf(n->plan, "%u unit%s of this GPU can be allocated", ready, ready == 1 ? "" : "s"));
}

/* ---- a GPU that it does not serve ---- */

static struct fl_str with_holder(struct nodepools *n, const struct belonging *b, const struct fl_holder *holder)
{
	return holder ? fl_plan_printf(n->plan, "%.*s; Pod %.*s/%.*s keeps it until it ends", FL_ARG(b->why),
				       FL_ARG(holder->pod_space), FL_ARG(holder->pod)) :
			b->why;
}

static void tell_leaving(struct nodepools *n, const struct belonging *b)
{
	const struct fl_nodepools_facts *f = n->facts;
	const struct fl_holder *holder = holder_of(n, b, false);
	const struct fl_layout *layout = fl_find(f->layouts, f->layout_len, meta.name, b->address);
	const struct fl_mig_state *state = mig_state_of(n, b);

	if (holder)
		tell(n, b, "CardInUse", with_holder(n, b, holder));
	else if (is_listed(n, b) || !f->holders_told || (f->active && f->active->due) ||
		 !fl_gpu_holders_known(f->active, f->settings, f->now, n->plan))
		tell(n, b, "Waiting", fl_plan_printf(n->plan, "%.*s; it is being withdrawn", FL_ARG(b->why)));
	else if (layout && layout->pooled)
		tell(n, b, state ? mig_reason(state->reason) : "Waiting",
		     fl_plan_printf(n->plan, "%.*s; its former MIG layout is being restored%s%.*s", FL_ARG(b->why),
				    state ? ": " : "", FL_ARG(state ? state->message : FL_S(""))));
	else
		tell(n, b, "Drained", fl_plan_printf(n->plan, "%.*s; nobody holds it", FL_ARG(b->why)));
}

void nodepools_tell(struct nodepools *n, const struct belonging *b)
{
	switch (b->is) {
	case BELONGS_NOWHERE:
		if (said(b))
			fl_want(n->plan, &fl_nodepools_device_owner, FL_REF(&fl_gpu_device_kind, b->device),
				&(struct fl_gpu_device){ 0 });
		return;
	case BELONGS_UNKNOWN: return;
	case BELONGS_SERVED: tell_served(n, b); return;
	case BELONGS_KEPT_BACK: tell(n, b, b->reason, with_holder(n, b, holder_of(n, b, false))); return;
	case BELONGS_LEAVING: tell_leaving(n, b); return;
	}
}
