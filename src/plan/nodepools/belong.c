/* To which pool each GPU of the node belongs. */
#include "plan/gpu/lists.h"
#include "plan/nodepools/in.h"

#define IGNORE_LABEL "gpu.deckhouse.io/ignore"

static const struct fl_api_watch *watch_of(const struct nodepools *n, const struct fl_pool_ref *ref)
{
	for (uint32_t i = 0; i < n->facts->watch_len; i++) {
		const struct fl_api_watch *watch = &n->facts->watches[i];

		if (watch->what == (ref->space.len ? FL_API_POOL : FL_API_CLUSTER_POOL) &&
		    fl_str_eq(watch->pool, ref->name) && fl_str_eq(watch->pool_space, ref->space))
			return watch;
	}
	return NULL;
}

static const struct fl_gpu_pool *pool_of(const struct nodepools *n, const struct fl_pool_ref *ref)
{
	const struct fl_nodepools_facts *f = n->facts;

	if (!ref->space.len)
		return fl_find(f->cluster_pools, f->cluster_pool_len, meta.name, ref->name);
	for (uint32_t i = 0; i < f->pool_len; i++)
		if (fl_str_eq(f->pools[i].meta.name, ref->name) && fl_str_eq(f->pools[i].meta.space, ref->space))
			return &f->pools[i];
	return NULL;
}

/* By its place on the bus, which is known without a driver. Another GPU in that place is another device. */
static const struct fl_card *card_of(const struct nodepools *n, const struct fl_gpu_device *device)
{
	const struct fl_device_hardware *hardware = &device->status.hardware;
	const struct fl_card *card =
		fl_find(n->facts->cards, n->facts->card_len, meta.name, hardware->pci.address);

	if (card && card->uuid.len && hardware->uuid.len && !fl_str_eq(card->uuid, hardware->uuid))
		return NULL;
	return card;
}

static struct fl_str value_of(const struct fl_map *pairs, const char *key)
{
	struct fl_str name = fl_str(key);
	const struct fl_pair *pair = fl_find(pairs->at, pairs->len, key, name);

	return pair ? pair->value : FL_S("");
}

static bool is_ignored(const struct fl_gpu_device *device)
{
	struct fl_str value = value_of(&device->meta.labels, IGNORE_LABEL);

	return value.len == 4 && (value.p[0] | 32) == 't' && (value.p[1] | 32) == 'r' && (value.p[2] | 32) == 'u' &&
	       (value.p[3] | 32) == 'e';
}

bool nodepools_local(const struct nodepools *n, const struct fl_card *card)
{
	const struct fl_node_pool *pool = fl_gpu_pool_of(n->facts->settings, card);

	return pool && !pool->cluster;   /* those of the command line come first */
}

static bool older(const struct fl_gpu_pool *a, const struct fl_gpu_pool *b)
{
	if (a->meta.creation_timestamp != b->meta.creation_timestamp)
		return a->meta.creation_timestamp < b->meta.creation_timestamp;
	return fl_str_cmp(a->meta.name, b->meta.name) < 0;
}

/* ---- one GPU ---- */

static void say(struct belonging *b, enum belongs is, const char *reason, struct fl_str why)
{
	b->is = is;
	b->reason = reason;
	b->why = why;
}

/* Does it leave? Then that comes first: whatever else is wrong ends with it. */
static bool leaves(const struct nodepools *n, struct belonging *b)
{
	const struct fl_gpu_device *device = b->device;
	bool local = device->status.pool.space.len > 0;
	struct fl_str named = value_of(&device->meta.annotations, local ? "gpu.deckhouse.io/assignment" :
									  "cluster.gpu.deckhouse.io/assignment");

	if (!b->pool)
		b->why = FL_S("the pool does not exist any more");
	else if (b->pool->meta.has.deletion_timestamp)
		b->why = FL_S("the pool is being deleted");
	else if (device->meta.has.deletion_timestamp)
		b->why = FL_S("the GPUDevice is being deleted");
	else if (device->status.has.managed && !device->status.managed)
		b->why = FL_S("its node is not managed");
	else if (!fl_str_eq(named, device->status.pool.name))
		b->why = fl_plan_printf(n->plan, "its annotation %sgpu.deckhouse.io/assignment does not name the pool",
					local ? "" : "cluster.");
	else
		return false;
	b->is = BELONGS_LEAVING;
	return true;
}

/* Does the pool ask for what this agent does not have? */
static bool refused(const struct nodepools *n, struct belonging *b)
{
	const struct fl_fault *fault = b->pool->faults.len ? &b->pool->faults.at[0] : NULL;

	if (fault)
		say(b, BELONGS_KEPT_BACK,
		    fl_str_eq(fault->path, FL_S("spec.provider")) ? "UnsupportedProvider" :
		    fl_str_eq(fault->path, FL_S("spec.backend"))  ? "UnsupportedBackend" :
								    "PoolInvalid",
		    fl_plan_printf(n->plan, "%.*s of the pool is %.*s: wanted is %.*s", FL_ARG(fault->path),
				   FL_ARG(fault->found), FL_ARG(fault->want)));
	else if (n->mixed && b->pool->spec.backend != n->backend)
		say(b, BELONGS_KEPT_BACK, "MixedBackends",
		    fl_plan_printf(n->plan, "an older pool with GPUs of this node has the backend %s: choose other "
					    "GPUs for this one",
				   fl_name(&fl_pool_backend_names, (int)n->backend)));
	else if (b->pool->spec.backend != FL_BACKEND_DEVICE_PLUGIN)
		say(b, BELONGS_KEPT_BACK, "UnsupportedBackend",
		    FL_S("this agent serves pools with backend DevicePlugin only: make the pool with that one"));
	else if (b->pool->spec.resource.unit == FL_POOL_MIG && !b->pool->spec.resource.mig_profile.len)
		say(b, BELONGS_KEPT_BACK, "PoolInvalid", FL_S("the pool's unit is MIG, and it has no migProfile"));
	else
		return false;
	return true;
}

static void decide(const struct nodepools *n, struct belonging *b)
{
	const struct fl_gpu_device *device = b->device;
	const struct fl_node_pool *own = fl_find(n->facts->settings->pools.at, n->facts->settings->pools.len, resource,
						 b->resource);

	if (leaves(n, b) || refused(n, b))
		return;
	b->is = BELONGS_KEPT_BACK;
	if (is_ignored(device))
		say(b, b->is, "Ignored", FL_S("its label " IGNORE_LABEL " keeps it out of the pool"));
	else if (device->status.state == FL_DEVICE_FAULTED)
		say(b, b->is, "Faulty", FL_S("its state is Faulted"));
	else if (!device->status.has.state || device->status.state < FL_DEVICE_PENDING_ASSIGNMENT)
		say(b, b->is, "Waiting",
		    fl_plan_printf(n->plan, "its state is %s",
				   fl_name(&fl_device_state_names, (int)device->status.state)));
	else if (!b->address.len)
		say(b, b->is, "Waiting", FL_S("its PCI address is not known yet"));
	else if (!b->card)
		say(b, b->is, "Faulty",
		    fl_plan_printf(n->plan, "this node has no GPU %.*s at %.*s", FL_ARG(device->status.hardware.uuid),
				   FL_ARG(b->address)));
	else if (nodepools_local(n, b->card) || (own && !own->cluster))
		say(b, b->is, "Waiting",
		    FL_S("the option --pool of the agent names this GPU or this resource: leave one of the two out"));
	else
		say(b, BELONGS_SERVED, NULL, FL_S(""));
}

static void belong(struct nodepools *n, struct belonging *b)
{
	const struct fl_pool_ref *ref = &b->device->status.pool;
	const struct fl_api_watch *watch = watch_of(n, ref);

	b->card = card_of(n, b->device);
	b->address = b->device->status.hardware.pci.address;
	if (!ref->name.len)
		return;
	b->resource = fl_plan_printf(n->plan, "%sgpu.deckhouse.io/%.*s", ref->space.len ? "" : "cluster.",
				     FL_ARG(ref->name));
	b->pool = pool_of(n, ref);
	b->answer = watch ? watch->answer : FL_API_UNKNOWN;
	b->is = BELONGS_UNKNOWN;
	if (b->pool || b->answer == FL_API_TOLD)
		decide(n, b);
}

/* The oldest pool has its backend; any other one is refused. */
static void look_at_backends(struct nodepools *n)
{
	const struct fl_gpu_pool *oldest = NULL;

	for (uint32_t i = 0; i < n->facts->device_len; i++) {
		const struct fl_gpu_pool *pool = pool_of(n, &n->facts->devices[i].status.pool);

		if (!pool || pool->faults.len || !n->facts->devices[i].status.pool.name.len)
			continue;
		n->mixed |= oldest && pool->spec.backend != oldest->spec.backend;
		if (!oldest || older(pool, oldest))
			oldest = pool;
	}
	n->backend = oldest ? oldest->spec.backend : FL_BACKEND_DEVICE_PLUGIN;
}

bool nodepools_belong(struct nodepools *n)
{
	const struct fl_nodepools_facts *f = n->facts;

	n->at = fl_plan_get(n->plan, f->device_len, sizeof *n->at);
	if (!n->at)
		return false;
	look_at_backends(n);
	for (uint32_t i = 0; i < f->device_len; i++) {
		if (!fl_str_eq(f->devices[i].status.node_name, f->settings->node))
			continue;
		n->at[n->len].device = &f->devices[i];
		belong(n, &n->at[n->len++]);
	}
	return true;
}

enum belongs nodepools_entry_has(const struct fl_node_pool *pool, struct fl_str address)
{
	if (!pool || !address.len)
		return BELONGS_NOWHERE;
	if (fl_str_in(pool->cards.at, pool->cards.len, address))
		return BELONGS_SERVED;
	if (fl_str_in(pool->leaving.at, pool->leaving.len, address))
		return BELONGS_LEAVING;
	return fl_str_in(pool->kept_back.at, pool->kept_back.len, address) ? BELONGS_KEPT_BACK : BELONGS_NOWHERE;
}

const struct fl_node_pool *nodepools_find(const struct fl_node_pool_list *pools, struct fl_str resource)
{
	return fl_find(pools->at, pools->len, resource, resource);
}
