#include "plan/gpu/allocate.h"
#include "base/hmap.h"
#include "plan/gpu/extras.h"
#include "plan/gpu/ids.h"

#define VISIBLE "NVIDIA_VISIBLE_DEVICES"
#define MOUNTED "/var/run/nvidia-container-devices"

/* ---- what is asked for ---- */

struct wish {
	const struct fl_resource *resource;
	const struct fl_unit **units;          /* those asked for, each once, in the order of the list */
	uint32_t len;
	const struct fl_device_ids *asked;  /* the ids themselves */
	struct fl_arena *arena;
};

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory to answer an allocation");
}

/* Healthy enough to be handed out? */
static int check_unit(const struct fl_resource *resource, const struct fl_unit *unit, struct fl_str id,
		      struct fl_err *err)
{
	struct fl_str why = unit->why.len ? unit->why : FL_S("cause unknown; see the node's conditions");

	if (unit->leaving)
		return fl_fail(err, FL_E_RETRY, "invalid allocation request for \"%.*s\": device %.*s is leaving: %.*s",
			       FL_ARG(resource->meta.name), FL_ARG(id), FL_ARG(why));
	if (!unit->healthy)
		return fl_fail(err, FL_E_RETRY,
			       "invalid allocation request for \"%.*s\": device %.*s is not healthy: %.*s",
			       FL_ARG(resource->meta.name), FL_ARG(id), FL_ARG(why));
	return 0;
}

/* Two looks, as a device that there is not is worse news than one that is sick. */
static int look_up(const struct fl_resource *resource, const struct fl_device_ids *wish, struct wish *ret,
		   struct fl_err *err)
{
	const struct fl_unit **found = fl_arena_get_n(ret->arena, wish->len, sizeof *found);
	uint8_t *asked = fl_arena_get(ret->arena, resource->units.len);
	bool shared = false;

	ret->units = fl_arena_get_n(ret->arena, wish->len, sizeof *ret->units);
	if (!found || !asked || !ret->units)
		return no_memory(err);
	for (uint32_t i = 0; i < wish->len; i++) {
		found[i] = fl_gpu_id_unit(resource, wish->ids[i], NULL);
		if (!found[i])
			return fl_fail(err, FL_E_INVALID,
				       "invalid allocation request for \"%.*s\": invalid request: unknown device: %.*s",
				       FL_ARG(resource->meta.name), FL_ARG(wish->ids[i]));
		shared |= found[i]->replicas > 0;
		asked[found[i] - resource->units.at] = 1;
	}
	if (resource->one_share && shared && wish->len > 1)
		return fl_fail(err, FL_E_INVALID,
			       "invalid allocation request for \"%.*s\": invalid request: maximum request size for "
			       "shared resources is 1; found %u: ask for 1",
			       FL_ARG(resource->meta.name), wish->len);
	for (uint32_t i = 0; i < resource->units.len; i++)
		if (asked[i])
			ret->units[ret->len++] = &resource->units.at[i];
	for (uint32_t i = 0; i < wish->len; i++) {
		int r = check_unit(resource, found[i], wish->ids[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- what is handed out ---- */

static struct fl_str shown(const struct fl_unit *unit)
{
	return unit->shown.len ? unit->shown : unit->id;
}

/* "a,b,c" of what the units are called, each with `before` in front. */
static struct fl_str joined(const struct wish *wish, struct fl_str before, struct fl_str between)
{
	size_t size = 0;
	char *at, *text;

	for (uint32_t i = 0; i < wish->len; i++)
		size += (size_t)1 + before.len + between.len + shown(wish->units[i]).len;
	text = at = fl_arena_get(wish->arena, size);
	for (uint32_t i = 0; text && i < wish->len; i++) {
		struct fl_str parts[] = { before, between, shown(wish->units[i]) };

		if (i)
			*at++ = ',';
		for (uint32_t k = 0; k < FL_LEN(parts); k++) {
			if (parts[k].len)
				memcpy(at, parts[k].p, parts[k].len);
			at += parts[k].len;
		}
	}
	return (struct fl_str){ text, text ? (uint32_t)(at - text) : 0 };
}

/* "k8s.device-plugin.nvidia.com/gds=all" */
static struct fl_str extra_name(const struct fl_resource *resource, enum fl_extra which, struct fl_arena *arena)
{
	const struct fl_gpu_extra *extra = &fl_gpu_extras[which];
	struct fl_str vendor = fl_gpu_extra_vendor(resource->cdi_kind);
	const struct fl_str parts[] = { vendor, FL_S("/"), extra->class, FL_S("="), extra->device };

	return fl_arena_join(arena, parts, FL_LEN(parts));
}

static int put_cdi(const struct wish *wish, struct fl_allocation *ret)
{
	ret->cdi = fl_arena_get_n(wish->arena, wish->len, sizeof *ret->cdi);
	for (uint32_t i = 0; ret->cdi && i < wish->len; i++) {
		const struct wish one = { .resource = wish->resource, .units = &wish->units[i], .len = 1,
					  .arena = wish->arena };

		ret->cdi[i] = joined(&one, wish->resource->cdi_kind, FL_S("="));
		if (!ret->cdi[i].p)
			return -FL_E_NOMEM;
	}
	ret->cdi_len = wish->len;
	return ret->cdi ? 0 : -FL_E_NOMEM;
}

/* Whatever their order. */
static uint64_t hash_of_ids(const struct wish *wish, uint64_t seed)
{
	const uint64_t seeds[2] = { seed, 0x68616e64206f7574 };
	struct fl_str name = wish->resource->meta.name;
	uint64_t hash = fl_siphash13(seeds, name.p, name.len);

	for (uint32_t i = 0; i < wish->asked->len; i++)
		hash += fl_siphash13(seeds, wish->asked->ids[i].p, wish->asked->ids[i].len);
	return hash;
}

/* The name must differ from that of any other resource in the same container, and be the same when asked again: it
 * looks like NVIDIA's random one and follows from the ids. */
static int put_annotation(const struct wish *wish, struct fl_allocation *ret)
{
	const uint64_t h[2] = { hash_of_ids(wish, 0x6661696c65616431), hash_of_ids(wish, 0x6661696c65616432) };
	struct fl_pair *pair = fl_arena_get(wish->arena, sizeof *pair);

	if (!pair)
		return -FL_E_NOMEM;
	pair->key = fl_arena_printf(wish->arena, "%.*snvidia-device-plugin_%08x-%04x-%04x-%04x-%012llx",
				    FL_ARG(wish->resource->annotation_prefix), (unsigned)(h[0] >> 32),
				    (unsigned)(h[0] >> 16 & 0xffff), (unsigned)(h[0] & 0xffff),
				    (unsigned)(h[1] >> 48), (unsigned long long)(h[1] & 0xffffffffffff));
	pair->value = joined(wish, wish->resource->cdi_kind, FL_S("="));
	for (uint32_t i = 0; pair->value.p && i < wish->resource->extras.len; i++) {
		struct fl_str name = extra_name(wish->resource, wish->resource->extras.at[i], wish->arena);

		if (!name.p)
			return -FL_E_NOMEM;
		pair->value = fl_arena_printf(wish->arena, "%.*s,%.*s", FL_ARG(pair->value), FL_ARG(name));
	}
	ret->annotations = pair;
	ret->annotation_len = 1;
	return pair->key.p && pair->value.p ? 0 : -FL_E_NOMEM;
}

static int put_env(const struct wish *wish, struct fl_str value, struct fl_allocation *ret)
{
	if (!ret->env)
		ret->env = fl_arena_get(wish->arena, sizeof *ret->env);
	if (!ret->env || !value.p)
		return -FL_E_NOMEM;
	ret->env[0] = (struct fl_pair){ FL_S(VISIBLE), value };
	ret->env_len = 1;
	return 0;
}

static bool by(const struct fl_resource *resource, enum fl_device_list how)
{
	for (uint32_t i = 0; i < resource->device_lists.len; i++)
		if (resource->device_lists.at[i] == how)
			return true;
	return false;
}

static int put_mounts(const struct wish *wish, struct fl_allocation *ret)
{
	ret->mounts = fl_arena_get_n(wish->arena, wish->len, sizeof *ret->mounts);
	for (uint32_t i = 0; ret->mounts && i < wish->len; i++) {
		const struct wish one = { .resource = wish->resource, .units = &wish->units[i], .len = 1,
					  .arena = wish->arena };

		ret->mounts[i] = (struct fl_allocation_mount){ joined(&one, FL_S(MOUNTED), FL_S("/")),
							  FL_S("/dev/null"),
							  false };
		if (!ret->mounts[i].path.p)
			return -FL_E_NOMEM;
	}
	ret->mount_len = wish->len;
	return ret->mounts ? put_env(wish, FL_S(MOUNTED), ret) : -FL_E_NOMEM;
}

/* ---- device nodes: partitions of one card have some in common ---- */

struct nodes {
	struct fl_allocation_node *at;
	uint32_t *slots, slot_mask, len;       /* of `at`, plus one, by the hash of the path */
	struct fl_str root;                    /* empty: the host's own */
	struct fl_arena *arena;
};

static bool put_node(struct nodes *nodes, struct fl_str path)
{
	uint32_t hash = 2166136261u;
	struct fl_allocation_node *node;
	char *text;

	for (uint32_t i = 0; i < path.len; i++)
		hash = (hash ^ (unsigned char)path.p[i]) * 16777619u;
	for (hash &= nodes->slot_mask; nodes->slots[hash]; hash = (hash + 1) & nodes->slot_mask)
		if (fl_str_eq(nodes->at[nodes->slots[hash] - 1].path, path))
			return true;
	node = &nodes->at[nodes->len++];
	nodes->slots[hash] = nodes->len;
	*node = (struct fl_allocation_node){ path, path };
	if (!nodes->root.len || !path.len)
		return true;
	text = fl_arena_get(nodes->arena, (size_t)nodes->root.len + path.len);
	if (!text)
		return false;
	memcpy(text, nodes->root.p, nodes->root.len);
	memcpy(text + nodes->root.len, path.p, path.len);
	node->host_path = (struct fl_str){ text, nodes->root.len + path.len };
	return true;
}

static int put_nodes(const struct wish *wish, struct fl_allocation *ret)
{
	const struct fl_resource *resource = wish->resource;
	struct nodes nodes = { .root = resource->dev_root, .arena = wish->arena };
	uint32_t most = resource->nodes.len, slots = 4;
	bool ok = true;

	while (nodes.root.len && nodes.root.p[nodes.root.len - 1] == '/')
		nodes.root.len--;
	for (uint32_t i = 0; i < wish->len; i++)
		most += wish->units[i]->nodes.len;
	while (slots < 2 * most)
		slots *= 2;
	nodes.at = fl_arena_get_n(wish->arena, most, sizeof *nodes.at);
	nodes.slots = fl_arena_get_n(wish->arena, slots, sizeof *nodes.slots);
	nodes.slot_mask = slots - 1;
	if (!nodes.at || !nodes.slots)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < resource->nodes.len; i++)
		ok = ok && put_node(&nodes, resource->nodes.at[i]);
	for (uint32_t i = 0; i < wish->len; i++)
		for (uint32_t k = 0; k < wish->units[i]->nodes.len; k++)
			ok = ok && put_node(&nodes, wish->units[i]->nodes.at[k]);
	ret->nodes = nodes.at;
	ret->node_len = nodes.len;
	return ok ? 0 : -FL_E_NOMEM;
}

/* Several ways at once do not get into each other's way but for one: who mounts says so in the variable that would name
 * the devices. */
static int put_all(const struct wish *wish, struct fl_allocation *ret)
{
	const struct fl_resource *resource = wish->resource;
	int r = 0;

	if (by(resource, FL_BY_CDI))
		r = put_cdi(wish, ret);
	if (r == 0 && by(resource, FL_BY_CDI_ANNOTATIONS))
		r = put_annotation(wish, ret);
	if (r == 0 && by(resource, FL_BY_ENV))
		r = put_env(wish, joined(wish, FL_S(""), FL_S("")), ret);
	if (r == 0 && by(resource, FL_BY_MOUNTS))
		r = put_mounts(wish, ret);
	/* A runtime takes access away again from a container whose devices it was not told of. */
	if (r == 0 && (by(resource, FL_BY_NODES) || by(resource, FL_BY_ENV)))
		r = put_nodes(wish, ret);
	return r;
}

int fl_gpu_allocate(const struct fl_resource *resource, const struct fl_device_ids *wish, struct fl_arena *arena,
		    struct fl_allocation *ret, struct fl_err *err)
{
	struct wish found = { .resource = resource, .asked = wish, .arena = arena };
	struct fl_allocation handed = { 0 };
	int r;

	if (!wish->len)
		return fl_fail(err, FL_E_INVALID,
			       "invalid allocation request for \"%.*s\": invalid request: no device is asked for",
			       FL_ARG(resource->meta.name));
	r = look_up(resource, wish, &found, err);
	if (r < 0)
		return r;
	if (resource->refused.len)
		return fl_fail(err, FL_E_RETRY, "invalid allocation request for \"%.*s\": %.*s",
			       FL_ARG(resource->meta.name), FL_ARG(resource->refused));
	if (put_all(&found, &handed) < 0)
		return no_memory(err);
	*ret = handed;
	return 0;
}

/* ---- what every container gets ---- */

/* Room for all that may be in common: one of each extra, and what MPS needs. */
static bool common_room(const struct fl_resource *resource, struct fl_arena *arena, struct fl_allocation *ret)
{
	size_t extras = resource->extras.len;

	ret->env = fl_arena_get_n(arena, extras + 1, sizeof *ret->env);
	ret->mounts = fl_arena_get_n(arena, extras + 2, sizeof *ret->mounts);
	ret->cdi = fl_arena_get_n(arena, extras, sizeof *ret->cdi);
	return ret->env && ret->mounts && ret->cdi;
}

/* NVIDIA_GDS and the like, under every strategy, for programs read them. The IMEX channel is for NVIDIA's runtime: only
 * beside the variable that it reads, and among mounts it is one of them. */
static bool put_extra(const struct fl_resource *resource, enum fl_extra which, struct fl_arena *arena,
		      struct fl_allocation *ret)
{
	const struct fl_gpu_extra *extra = &fl_gpu_extras[which];
	bool mounts = by(resource, FL_BY_MOUNTS);

	if (which != FL_EXTRA_IMEX || (by(resource, FL_BY_ENV) && !mounts))
		ret->env[ret->env_len++] = (struct fl_pair){ extra->env, extra->env_value };
	if (which == FL_EXTRA_IMEX && mounts)
		ret->mounts[ret->mount_len++] =
			(struct fl_allocation_mount){ FL_S(MOUNTED "/imex/0"), FL_S("/dev/null"), false };
	if (!by(resource, FL_BY_CDI))
		return true;
	ret->cdi[ret->cdi_len] = extra_name(resource, which, arena);
	return ret->cdi[ret->cdi_len++].p != NULL;
}

/* A client of MPS finds its daemon by the variable, and talks to it through both mounts: in every strategy. */
static bool put_mps(const struct fl_resource *resource, struct fl_arena *arena, struct fl_allocation *ret)
{
	struct fl_str root = resource->mps_root, name = resource->meta.name;
	const struct fl_str parts[] = { FL_S("/mps/"), name, FL_S("/pipe"), root, FL_S("/"), name, FL_S("/pipe"),
					root, FL_S("/shm") };
	struct fl_str inside = fl_arena_join(arena, parts, 3);
	struct fl_str pipe = fl_arena_join(arena, parts + 3, 4);
	struct fl_str shm = fl_arena_join(arena, parts + 7, 2);

	ret->env[ret->env_len++] = (struct fl_pair){ FL_S("CUDA_MPS_PIPE_DIRECTORY"), inside };
	ret->mounts[ret->mount_len++] = (struct fl_allocation_mount){ inside, pipe, true };
	ret->mounts[ret->mount_len++] = (struct fl_allocation_mount){ FL_S("/dev/shm"), shm, true };
	return inside.p && pipe.p && shm.p;
}

int fl_gpu_allocate_common(const struct fl_resource *resource, struct fl_arena *arena, struct fl_allocation *ret,
			   struct fl_err *err)
{
	struct fl_allocation common = { 0 };
	bool ok = common_room(resource, arena, &common);

	for (uint32_t i = 0; ok && i < resource->extras.len; i++)
		ok = put_extra(resource, resource->extras.at[i], arena, &common);
	if (!ok || (resource->has.mps_root && !put_mps(resource, arena, &common)))
		return no_memory(err);
	*ret = common;
	return 0;
}
