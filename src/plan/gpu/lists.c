#include "plan/gpu/lists.h"
#include "plan/gpu/extras.h"
#include "plan/gpu/ids.h"
#include "plan/gpu/needs.h"
#include "plan/gpu/lists_in.h"
#include "plan/gpu/mps.h"
#include <stdarg.h>
#include <stdio.h>

static const char *const paths[] = { "units",  "ways", "nodes", "devRoot", "extras", "cdiKind",
				     "cdiAnnotationPrefix", "sharePolicy", "oneShare", "preStart", "mpsRoot",
				     "refused", NULL };
const struct fl_owner fl_gpu_lists_owner = { "fairlead-lists", &fl_resource_kind, paths };
static const char *const node_paths[] = { "status.conditions[type=GPUsReady]",
					  "status.conditions[type=GPUConfigApplied]", NULL };
const struct fl_owner fl_gpu_lists_node_owner = { "fairlead-node", &fl_own_node_kind, node_paths };
static const char *const ready_paths[] = { "blocked", "why", "status.conditions[type=GPUsReady]", NULL };
const struct fl_owner fl_gpu_lists_ready_owner = { "fairlead-ready", &fl_readiness_kind, ready_paths };
/* ---- small things ---- */

static void FL_PRINTF(3, 0) add_problem(struct lists *l, const char *reason, const char *fmt, va_list args)
{
	if (!l->reason)
		l->reason = reason;
	fl_plan_append(l->plan, &l->problems, fmt, args);
}

void lists_problem(struct lists *l, const char *reason, const char *fmt, ...)
{
	va_list args;

	l->lasting = l->set_up = true;
	va_start(args, fmt);
	add_problem(l, reason, fmt, args);
	va_end(args);
}

void lists_moment(struct lists *l, const char *reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_problem(l, reason, fmt, args);
	va_end(args);
}

void lists_device(struct lists *l, bool soon, const char *reason, const char *fmt, ...)
{
	va_list args;

	l->lasting |= !soon;
	if (l->devices++ >= FL_LISTS_NAMED)
		return;
	va_start(args, fmt);
	add_problem(l, reason, fmt, args);
	va_end(args);
}

struct list *lists_get(struct lists *l, struct fl_str name)
{
	struct list *list = fl_find(l->at, l->len, name, name);

	if (list)
		return list;
	if (l->len == l->list_max) {
		l->plan->failed = true;
		return NULL;
	}
	list = &l->at[l->len];
	list->name = name;
	list->mps = fl_gpu_mps_shares(l->facts->settings, name);
	list->units = fl_plan_get(l->plan, l->unit_max, sizeof *list->units);
	if (!list->units)
		return NULL;
	l->len++;
	return list;
}

struct fl_unit *list_find(struct list *list, struct fl_str id)
{
	return fl_find(list->units, list->len, id, id);
}

const struct fl_resource *lists_served(const struct lists *l, struct fl_str name)
{
	return fl_find(l->facts->resources, l->facts->resource_len, meta.name, name);
}

/* ---- who holds what ---- */

static struct fl_str card_of(const struct lists *l, struct fl_str id)
{
	for (uint32_t i = 0; i < l->facts->card_len; i++)
		if (fl_gpu_card_has(&l->facts->cards[i], id))
			return l->facts->cards[i].meta.name;
	for (uint32_t i = 0; i < l->facts->health_len; i++) {
		const struct fl_health *health = &l->facts->health[i];

		if (fl_str_eq(health->identity.uuid, id) || fl_str_eq(health->meta.name, id))
			return health->card;
	}
	for (uint32_t i = 0; i < l->facts->resource_len; i++) {
		const struct fl_unit *unit = fl_gpu_unit_find(&l->facts->resources[i], id);

		if (unit)
			return unit->card;
	}
	return FL_S("");
}

/* How much room all lists need at most. */
static void count(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;

	l->list_max = f->settings->pools.len + f->resource_len + f->holder_len + 2;
	for (uint32_t i = 0; i < f->card_len; i++) {
		l->unit_max += 1 + f->cards[i].partitions.len;
		l->list_max += f->cards[i].partitions.len;
	}
	for (uint32_t i = 0; i < f->health_len; i++) {   /* of cards that do not say what they are */
		l->unit_max += f->health[i].identity.has.part;
		l->list_max += f->health[i].identity.has.part;
	}
	for (uint32_t i = 0; i < f->resource_len; i++)
		l->unit_max += f->resources[i].units.len;
	for (uint32_t i = 0; i < f->holder_len; i++)
		l->unit_max += f->holders[i].devices.len;
}

static bool begin(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	uint32_t n = 0;

	count(l);
	for (uint32_t i = 0; i < f->holder_len; i++)
		n += f->holders[i].devices.len;
	l->at = fl_plan_get(l->plan, l->list_max, sizeof *l->at);
	l->held = fl_plan_get(l->plan, n, sizeof *l->held);
	l->device_lists = fl_plan_get(l->plan, FL_DEVICE_LIST_COUNT_ + 1, sizeof *l->device_lists);
	if (!l->at || !l->held || !l->device_lists)
		return false;
	for (uint32_t i = 0; i < f->holder_len; i++) {
		for (uint32_t k = 0; k < f->holders[i].devices.len; k++) {
			struct held *held = &l->held[l->held_len++];

			held->holder = &f->holders[i];
			held->resource = f->holders[i].resource;
			held->id = fl_gpu_id_base(f->holders[i].devices.at[k], &held->replica);
			held->card = card_of(l, held->id);
		}
	}
	return true;
}

/* ---- how containers get them ---- */

static void add_way(struct lists *l, enum fl_device_list way)
{
	for (uint32_t i = 0; i < l->device_lists_len; i++)
		if (l->device_lists[i] == way)
			return;
	l->device_lists[l->device_lists_len++] = way;
	l->by_nodes |= way == FL_BY_NODES || way == FL_BY_ENV;
	l->by_cdi |= way == FL_BY_CDI || way == FL_BY_CDI_ANNOTATIONS;
}

/* Names of CDI devices are dropped in silence where the runtime has CDI off: a container would start without its card.
 */
static void choose_ways(struct lists *l)
{
	const struct fl_settings *s = l->facts->settings;
	const struct fl_runtime *runtime = l->facts->runtime;
	bool off = runtime && runtime->cdi_known && !runtime->cdi, told = false, nodes = false;

	for (uint32_t i = 0; i < s->device_lists.len && i < FL_DEVICE_LIST_COUNT_; i++) {
		enum fl_device_list way = s->device_lists.at[i];
		bool cdi = way == FL_BY_CDI || way == FL_BY_CDI_ANNOTATIONS;

		nodes |= !cdi;
		if (!cdi || !off) {
			add_way(l, way);
			continue;
		}
		if (s->without_cdi == FL_WITHOUT_CDI_FALL_BACK)
			add_way(l, FL_BY_NODES);
		else
			l->refused = FL_S("the container runtime has CDI off: set enable_cdi in its configuration and "
					  "restart it, or choose --without-cdi=device-specs");
		if (!told)
			lists_problem(l, "CDIOff", "%.*s %.*s has CDI off: set enable_cdi in its configuration; %s",
				      FL_ARG(runtime->runtime), FL_ARG(runtime->version),
				      s->without_cdi == FL_WITHOUT_CDI_REFUSE ?
					      "until then no GPU is advertised" :
					      "until then containers get device nodes and no libraries");
		told = true;
	}
	if (s->pass_nodes && nodes)   /* without effect where CDI alone is asked for, as with NVIDIA's plugin */
		add_way(l, FL_BY_NODES);
}

/* ---- which cards there are ---- */

static bool driver_ready(const struct lists *l)
{
	return l->facts->driver->state == FL_DRIVER_READY;
}

/* Does it say now what it is? */
static bool knows(const struct lists *l, const struct fl_card *card)
{
	return driver_ready(l) && card->answer == FL_CARD_ANSWERS && card->uuid.len;
}

static bool usable(struct lists *l, const struct fl_card *card)
{
	struct fl_ref ref = FL_REF(&fl_card_kind, card);

	if (fl_card_elsewhere(card)) {
		fl_say(l->plan, ref, "NotListed", "%.*s has it", FL_ARG(card->bound));
		return false;
	}
	if (!knows(l, card)) {
		fl_say(l->plan, ref, "NotListed", "%s: %.*s",
		       driver_ready(l) ? fl_name(&fl_card_answer_names, (int)card->answer) :
					 fl_name(&fl_driver_state_names, (int)l->facts->driver->state),
		       FL_ARG(driver_ready(l) ? card->message : l->facts->driver->message));
		return false;
	}
	return true;
}

static bool another_has(const struct lists *l, const struct fl_card *card, struct fl_str uuid)
{
	for (uint32_t i = 0; i < l->facts->card_len; i++)
		if (&l->facts->cards[i] != card && fl_str_eq(l->facts->cards[i].uuid, uuid))
			return true;
	return false;
}

static void remember_parts(struct lists *l, struct fl_card *card)
{
	for (uint32_t i = 0; i < l->facts->health_len; i++) {
		const struct fl_health *health = &l->facts->health[i];

		if (health->identity.has.part && fl_str_eq(health->card, card->meta.name))
			card->partitions.at[card->partitions.len++] = health->identity.part;
	}
}

/* A card that says nothing now is what it was when it answered last, so that its devices are not missing, and not
 * counted as anything: this agent has heard it, or it was sick before this agent came and Health remembers it. Not
 * before Health knows of its silence: what comes to a list as Healthy may be handed out. NULL: it is not known what it
 * was, or another card has its name by now. */
static const struct fl_card *remembered(struct lists *l, const struct fl_card *card)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	const struct fl_health *health = lists_health(l, card->meta.name);
	const struct fl_identity *was = health ? &health->identity : NULL;
	struct fl_card *whole;

	if (!was || health->state == FL_HEALTHY || card->answer == FL_CARD_UNASKED ||
	    card->answer == FL_CARD_ANSWERS || !driver_ready(l) || fl_card_elsewhere(card))
		return NULL;
	if (card->uuid.len)
		return another_has(l, card, card->uuid) ? NULL : card;
	if (!was->uuid.len || another_has(l, card, was->uuid))
		return NULL;
	whole = fl_plan_get(l->plan, 1, sizeof *whole);
	if (!whole)
		return NULL;
	*whole = *card;
	whole->partitions.at = fl_plan_get(l->plan, f->health_len, sizeof *whole->partitions.at);
	if (!whole->partitions.at)
		return NULL;
	FL_SET(whole, uuid, was->uuid);
	if (was->has.index)
		FL_SET(whole, index, was->index);
	if (was->has.minor)
		FL_SET(whole, minor, was->minor);
	FL_SET(whole, mig, was->mig);
	remember_parts(l, whole);
	return whole;
}

/* ---- cards of no pool, as NVIDIA's plugin names them ---- */

static struct list *unpooled(struct lists *l, struct fl_str name)
{
	const struct fl_settings *s = l->facts->settings;
	const struct fl_sharing *shared = fl_find(s->sharing.at, s->sharing.len, resource, name);
	struct list *list;
	int32_t replicas = shared ? shared->replicas : 1;

	if (shared && shared->renamed.len)
		name = shared->renamed;
	list = lists_get(l, name);
	if (list)
		list->replicas = replicas;
	return list;
}

static void serve_whole(struct lists *l, const struct fl_card *const *cards, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		list_add(l, unpooled(l, FL_S("nvidia.com/gpu")), cards[i], NULL);
}

/* GPUs whose layout is being changed are not like the others yet. Their devices come when they are. */
static uint32_t settled(struct lists *l, const struct fl_card *const *cards, uint32_t len,
			const struct fl_card **ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i++)
		if (!lists_changing(l, cards[i]))
			ret[n++] = cards[i];
	return n;
}

static void serve_single(struct lists *l, const struct fl_card *const *all, uint32_t len)
{
	const struct fl_card **cards = fl_plan_get(l->plan, len, sizeof *cards);
	struct fl_str profile = FL_S("");
	uint32_t on = 0;

	if (!cards)
		return;
	len = settled(l, all, len, cards);
	for (uint32_t i = 0; i < len; i++)
		on += cards[i]->mig;
	if (!on) {
		serve_whole(l, cards, len);
		return;
	}
	for (uint32_t i = 0; i < len; i++) {
		const char *wrong = !cards[i]->mig ?
		  "all devices on the node must be configured with the same migEnabled "
						     "value: switch MIG on for it, or choose mixed" :
				    !cards[i]->partitions.len ? "has no MIG devices configured: create some" :
								NULL;

		for (uint32_t k = 0; !wrong && k < cards[i]->partitions.len; k++) {
			struct fl_str this = cards[i]->partitions.at[k].profile;

			if (profile.len && !fl_str_eq(profile, this))
				wrong = "more than one MIG device type present on node: make them alike, or choose "
					"mixed";
			profile = this;
		}
		if (wrong) {
			lists_problem(l, "MigStrategySingle", "device %d (GPU %.*s): %s", (int)cards[i]->index,
				      FL_ARG(cards[i]->meta.name), wrong);
			return;
		}
	}
	for (uint32_t i = 0; i < len; i++)
		for (uint32_t k = 0; k < cards[i]->partitions.len; k++)
			list_add(l, unpooled(l, FL_S("nvidia.com/gpu")), cards[i], &cards[i]->partitions.at[k]);
}

static void serve_mixed(struct lists *l, const struct fl_card *const *cards, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (!cards[i]->mig) {
			serve_whole(l, &cards[i], 1);
			continue;
		}
		if (!cards[i]->partitions.len && !lists_changing(l, cards[i]))
			lists_problem(l, "NoPartitions",
				      "GPU %.*s is in MIG mode and has no MIG devices: create some, or "
				      "switch MIG off",
				      FL_ARG(cards[i]->meta.name));
		for (uint32_t k = 0; k < cards[i]->partitions.len; k++) {
			struct fl_str name = lists_mig_name(l, cards[i]->partitions.at[k].profile);

			if (name.p)
				list_add(l, unpooled(l, name), cards[i], &cards[i]->partitions.at[k]);
		}
	}
}

static void serve_unpooled(struct lists *l, const struct fl_card *const *cards, uint32_t len)
{
	switch (l->facts->settings->mig) {
	case FL_MIG_NONE:
		serve_whole(l, cards, len);
		return;
	case FL_MIG_SINGLE:
		serve_single(l, cards, len);
		return;
	case FL_MIG_MIXED:
		serve_mixed(l, cards, len);
		return;
	case FL_MIG_STRATEGY_COUNT_:
		return;
	}
}

/* ---- what was served, and what is held ---- */

static bool listed(struct lists *l, struct fl_str id)
{
	for (uint32_t i = 0; i < l->len; i++)
		if (list_find(&l->at[i], id))
			return true;
	return false;
}

/* While a card cannot say what it is, its devices stay where they were. */
static void keep_silent(struct lists *l)
{
	for (uint32_t i = 0; i < l->facts->resource_len; i++) {
		const struct fl_resource *served = &l->facts->resources[i];

		for (uint32_t k = 0; k < served->units.len; k++) {
			const struct fl_unit *unit = &served->units.at[k];
			bool silent = false;

			for (uint32_t c = 0; c < l->facts->card_len; c++)
				silent |= fl_str_eq(l->facts->cards[c].meta.name, unit->card) &&
					  !knows(l, &l->facts->cards[c]) && !fl_card_elsewhere(&l->facts->cards[c]);
			if (silent && !unit->leaving && !listed(l, unit->id) &&
			    !lists_withdrawn(l, served->meta.name, unit->card)) {
				struct list *list = lists_get(l, served->meta.name);

				if (list && unit->replicas > list->replicas)
					list->replicas = unit->replicas;
				list_keep(l, list, unit);
			}
		}
	}
}

/* The names that cards of no pool have, under this or another MIG strategy, shared or not. */
static bool is_unpooled_name(const struct fl_settings *s, struct fl_str name)
{
	const struct fl_sharing *shared = fl_find(s->sharing.at, s->sharing.len, renamed, name);

	if (shared)
		name = shared->resource;
	return fl_str_eq(name, FL_S("nvidia.com/gpu")) || fl_str_eq(name, FL_S("nvidia.com/gpu.shared")) ||
	       fl_str_starts(name, FL_S("nvidia.com/mig-"));
}

/* Is it a name that we would serve? Who has handed out what is held is told by nobody, and what is registered here is
 * taken from who served it: another plugin may be away for a moment. */
static bool is_our_name(const struct lists *l, struct fl_str name)
{
	const struct fl_settings *s = l->facts->settings;

	/* No other plugin has names in these two. */
	if (fl_str_starts(name, FL_S("gpu.deckhouse.io/")) || fl_str_starts(name, FL_S("cluster.gpu.deckhouse.io/")))
		return true;
	return fl_find(s->pools.at, s->pools.len, resource, name) || (s->unpooled && is_unpooled_name(s, name));
}

static bool is_gpu(struct fl_str id)
{
	return fl_str_starts(id, FL_S("GPU-")) || fl_str_starts(id, FL_S("MIG-"));
}

/* A resource of ours stays as long as somebody holds a device of it, also when no card is in it any more. */
static void keep_held(struct lists *l)
{
	for (uint32_t i = 0; i < l->held_len; i++) {
		const struct held *held = &l->held[i];

		if (lists_served(l, held->resource) || (is_gpu(held->id) && is_our_name(l, held->resource)))
			(void)lists_get(l, held->resource);
		else if (is_gpu(held->id))
			fl_say(l->plan, (struct fl_ref){ &fl_resource_kind, FL_S(""), held->resource, FL_S("") },
			       "NotOurs",
			       "%.*s/%.*s holds %.*s of it, and neither a pool nor --unpooled has that name: it may be "
			       "another plugin's; if Fairlead allocated it under earlier settings, restore them until "
			       "that Pod has ended",
			       FL_ARG(held->holder->pod_space), FL_ARG(held->holder->pod), FL_ARG(held->id));
	}
}

/* ---- names that are somebody else's ---- */

static const struct fl_plugin_socket *foreign(const struct lists *l, struct fl_str name)
{
	struct fl_str domain = FL_S(FL_GPU_DOMAIN);

	if (!fl_str_starts(name, domain) || name.len == domain.len)
		return NULL;
	name = fl_str_sub(name, domain.len, name.len);
	for (uint32_t i = 0; i < l->facts->socket_len; i++) {
		const struct fl_plugin_socket *socket = &l->facts->sockets[i];

		if (socket->live && !socket->ours && fl_str_eq(fl_gpu_socket_of(socket->meta.name), name))
			return socket;
	}
	return NULL;
}

static bool anybody_holds(const struct lists *l, struct fl_str name)
{
	return fl_find(l->held, l->held_len, resource, name) != NULL;
}

/* ---- what is wanted ---- */

static void set_nodes(struct lists *l, struct fl_resource *resource)
{
	static const struct fl_str common[] = { FL_S_INIT("/dev/nvidiactl"), FL_S_INIT("/dev/nvidia-uvm"),
						FL_S_INIT("/dev/nvidia-uvm-tools"), FL_S_INIT("/dev/nvidia-modeset") };
	const struct fl_host *host = l->facts->host;
	struct fl_str dev_root;

	if (!l->by_nodes || !host)
		return;
	dev_root = fl_gpu_written_dev(l->facts->settings, host);
	FL_SET_TEXT(resource, dev_root, dev_root);
	if (!FL_ELEMENTS(resource, l->plan->arena, nodes, FL_LEN(common) + (l->extra_len ? host->nodes.len : 0))) {
		l->plan->failed = true;
		return;
	}
	resource->nodes.len = 0;
	for (uint32_t i = 0; i < FL_LEN(common); i++)
		if (fl_gpu_node_at(host, common[i]))
			resource->nodes.at[resource->nodes.len++] = common[i];
	for (uint32_t i = 0; i < l->extra_len; i++)
		for (uint32_t k = 0; k < host->nodes.len; k++)
			if (fl_gpu_extra_has(&fl_gpu_extras[l->extras[i]], host->nodes.at[k].path))
				resource->nodes.at[resource->nodes.len++] = host->nodes.at[k].path;
}

/* Is it known what containers can be given of the driver's files and device nodes? */
static bool host_known(const struct lists *l)
{
	return l->facts->host && l->facts->host->has.seen;
}

/* For who asks why fewer are allocatable than there are. */
static void say_units(struct lists *l, const struct list *list, struct fl_ref ref)
{
	uint32_t not_well = 0;

	for (uint32_t i = 0; i < list->len; i++) {
		const struct fl_unit *unit = &list->units[i];

		if ((unit->healthy && !unit->leaving) || not_well++ >= FL_LISTS_NAMED)
			continue;
		fl_say(l->plan, ref, unit->leaving ? "Leaving" : "Unhealthy", "%.*s: %.*s", FL_ARG(unit->id),
		       FL_ARG(unit->why));
	}
	if (not_well > FL_LISTS_NAMED)
		fl_say(l->plan, ref, "Unhealthy", "%u more devices", not_well - FL_LISTS_NAMED);
}

static void want_list(struct lists *l, const struct list *list, struct fl_str refused)
{
	const struct fl_settings *s = l->facts->settings;
	struct fl_ref ref = { &fl_resource_kind, FL_S(""), list->name, FL_S("") };
	struct fl_resource resource = { 0 };

	resource.units.at = list->units;
	resource.units.len = list->len;
	resource.has.units = 1;
	resource.device_lists.at = l->device_lists;
	resource.device_lists.len = l->device_lists_len;
	resource.has.device_lists = 1;
	set_nodes(l, &resource);
	if (l->extra_len) {
		resource.extras.at = l->extras;
		resource.extras.len = l->extra_len;
		resource.has.extras = 1;
	}
	FL_SET(&resource, cdi_kind, s->cdi_kind);
	FL_SET(&resource, annotation_prefix, s->annotation_prefix);
	FL_SET(&resource, share_policy, s->share_policy);
	if (s->one_share)
		FL_SET(&resource, one_share, true);
	if (s->pre_start)
		FL_SET(&resource, pre_start, true);
	if (list->mps)
		FL_SET(&resource, mps_root, s->mps_root);
	FL_SET_TEXT(&resource, refused, refused);
	fl_want(l->plan, &fl_gpu_lists_owner, ref, &resource);
	say_units(l, list, ref);
}

/* Is it to be served? What is not, and is, goes. */
static bool decide(struct lists *l, struct list *list)
{
	const struct fl_resource *served = lists_served(l, list->name);
	const struct fl_plugin_socket *other = foreign(l, list->name);
	struct fl_str refused = l->refused;

	l->others |= other != NULL || lists_claimed(l, list->name);
	if (other) {
		lists_problem(l, "ServedByOther", "%.*s is served by another plugin at %.*s: remove that one first",
			      FL_ARG(list->name), FL_ARG(other->meta.name));
		return false;
	}
	if (lists_claimed(l, list->name)) {
		refused = FL_S("a DeviceClass claims this resource: remove its extendedResourceName, or ask by a "
			       "claim");
		lists_problem(l, "ClaimedByDeviceClass",
			      "%.*s is claimed by a DeviceClass: remove its extendedResourceName, or this pool",
			      FL_ARG(list->name));
		if (!anybody_holds(l, list->name))
			return false;
	}
	list_finish(l, list);
	if (!list->len)
		return false;
	if (!served && (list->soon || l->facts->driver->state == FL_DRIVER_STARTING)) {
		fl_say(l->plan, (struct fl_ref){ &fl_resource_kind, FL_S(""), list->name, FL_S("") }, "Waits",
		       "for the driver's answer, the health of its devices and the CDI file");
		return true;
	}
	if (!served && (list->waits || l->extras_wait || !host_known(l)) && !anybody_holds(l, list->name)) {
		fl_say(l->plan, (struct fl_ref){ &fl_resource_kind, FL_S(""), list->name, FL_S("") }, "Waits",
		       "for the health of its devices, the host's device nodes and the CDI file");
		return true;
	}
	want_list(l, list, refused);
	return true;
}

static void decide_all(struct lists *l, uint32_t *ret_served)
{
	const struct fl_gpu_lists_facts *f = l->facts;

	for (uint32_t i = 0; i < l->len; i++) {
		struct list *list = &l->at[i];
		bool serve = decide(l, list);

		*ret_served += serve;
		if (!serve && lists_served(l, list->name))
			fl_want_gone(l->plan, (struct fl_ref){ &fl_resource_kind, FL_S(""), list->name, FL_S("") });
	}
	for (uint32_t i = 0; i < f->resource_len; i++)
		if (!fl_find(l->at, l->len, name, f->resources[i].meta.name))
			fl_want_gone(l->plan, FL_REF(&fl_resource_kind, &f->resources[i]));
}

/* Nothing is listed yet: why not, where that may last. */
static void tell_unknown(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;

	if (lists_blocked(f))
		lists_look_at_dirs(l);
	else if (f->state_known && !f->holders_known)
		lists_moment(l, "HoldersUnknown",
			     "GPUs may be held by Pods that another plugin has served, and the kubelet has not told "
			     "yet by which: mount its directory pod-resources if it is missing");
	else
		return;
	lists_tell(l, 0);
}

void fl_gpu_lists_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_lists_facts *facts = facts_;
	const char *reason = "";
	struct lists l = { .facts = facts, .plan = plan };
	const struct fl_card **free;
	uint32_t free_len = 0, served = 0;

	if (!facts->settings || !facts->driver || !begin(&l))
		return;
	if (!facts->state_known || !facts->specs_known || !facts->sockets_known || !facts->holders_known) {
		tell_unknown(&l);
		return;
	}
	choose_ways(&l);
	lists_look_at_dirs(&l);
	l.extras_wait = !lists_choose_extras(&l);
	free = fl_plan_get(plan, facts->card_len, sizeof *free);
	if (!free || !lists_look_at_files(&l))
		return;
	for (uint32_t i = 0; i < facts->card_len; i++) {
		const struct fl_card *was = remembered(&l, &facts->cards[i]);

		if (was || usable(&l, &facts->cards[i]))
			free[free_len++] = was ? was : &facts->cards[i];
		else if (driver_ready(&l) && !fl_card_elsewhere(&facts->cards[i]))
			lists_tell_nameless(&l, &facts->cards[i]);
	}
	l.lacks = fl_gpu_lacks(plan, facts->settings, facts->host, &reason);
	if (free_len && l.lacks.len)
		lists_problem(&l, reason, "%.*s", FL_ARG(l.lacks));
	if (facts->settings->waits.len) {
		lists_moment(&l, "ConfigurationUnknown", "%.*s", FL_ARG(facts->settings->waits));
	} else {
		lists_serve_pools(&l, free, &free_len);
		if (facts->settings->unpooled)
			serve_unpooled(&l, free, free_len);
		keep_silent(&l);
		keep_held(&l);
	}
	lists_remember_claims(&l);
	decide_all(&l, &served);
	lists_tell(&l, served);
}
