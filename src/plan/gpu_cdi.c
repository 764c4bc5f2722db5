#include "plan/gpu_cdi.h"
#include "plan/gpu_extras.h"
#include "plan/gpu_ids.h"
#include <stdlib.h>

static const char *const paths[] = { "cdiVersion", "kind", "devices", "containerEdits", NULL };
const struct fl_owner fl_gpu_cdi_owner = { "fairlead-cdi", &fl_cdi_spec_kind, paths };

#define LIBRARY_OPTIONS "ro", "nosuid", "nodev", "rbind", "rprivate"
#define SOCKET_OPTIONS "nosuid", "nodev", "rbind", "rprivate", "noexec"

struct cdi {
	const struct fl_gpu_cdi_facts *facts;
	struct fl_plan *plan;
	const struct fl_cdi_spec *old;         /* of ours, as it is; NULL: there is none */
	struct fl_cdi_spec spec;
	uint32_t room;                         /* of its devices */
	bool gids;                             /* may groups of device nodes be given? */
};

/* ---- small things ---- */

/* A path of the driver's root, as the host has it. */
static struct fl_str on_host(struct cdi *c, struct fl_str root, struct fl_str path)
{
	while (root.len && root.p[root.len - 1] == '/')
		root.len--;
	return root.len ? fl_plan_printf(c->plan, "%.*s%.*s", FL_ARG(root), FL_ARG(path)) : path;
}

static struct fl_str folder_of(struct fl_str path)
{
	while (path.len && path.p[path.len - 1] != '/')
		path.len--;
	return path.len > 1 ? fl_str_sub(path, 0, path.len - 1) : path;
}

/* ---- device nodes ---- */

/* With numbers, so that a container gets the device that was meant, whatever lies at the path when it starts. */
static void put_node(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_node *from)
{
	struct fl_cdi_node *node = &edits->nodes.at[edits->nodes.len++];
	struct fl_str host = on_host(c, fl_gpu_written_dev(c->facts->settings, c->facts->host), from->path);

	FL_SET(node, path, from->path);
	if (!fl_str_eq(host, from->path))
		FL_SET(node, host_path, host);
	FL_SET(node, type, FL_S("c"));
	FL_SET(node, major, from->major);
	FL_SET(node, minor, from->minor);
	if (from->has.mode)
		FL_SET(node, mode, from->mode & 0777);
	if (from->gid)
		FL_SET(node, gid, from->gid);
	/* Who is not let in as anybody may be let in as one of the group; never as one of root's. */
	if (!c->gids || !from->has.mode || (from->mode & 6) == 6 || !from->has.gid || !from->gid)
		return;
	for (uint32_t i = 0; i < edits->gids.len; i++)
		if (edits->gids.at[i] == from->gid)
			return;
	edits->has.gids = 1;
	edits->gids.at[edits->gids.len++] = from->gid;
}

static bool nodes_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t count)
{
	edits->gids.at = fl_plan_get(c->plan, count, sizeof *edits->gids.at);
	edits->nodes.at = fl_plan_get(c->plan, count, sizeof *edits->nodes.at);
	edits->has.nodes = 1;
	return edits->gids.at && edits->nodes.at;
}

/* ---- devices ---- */

static bool has_flag(const struct fl_settings *settings, enum fl_cdi_flag flag)
{
	for (uint32_t i = 0; i < settings->cdi_flags.len; i++)
		if (settings->cdi_flags.at[i] == flag)
			return true;
	return false;
}

static bool makes_links(const struct fl_settings *settings)
{
	for (uint32_t i = 0; i < settings->disabled_hooks.len; i++)
		if (settings->disabled_hooks.at[i] == FL_HOOK_SYMLINKS)
			return false;
	return settings->hook.len > 0;
}

/* A hook of ours with room for so many arguments more; NULL: no memory. */
static struct fl_cdi_hook *hook_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t args)
{
	struct fl_cdi_hook *hook;

	if (!FL_ELEMENTS(edits, c->plan->arena, hooks, 1) ||
	    !FL_ELEMENTS(edits->hooks.at, c->plan->arena, env, 1) ||
	    !FL_ELEMENTS(edits->hooks.at, c->plan->arena, args, 2 + args)) {
		c->plan->failed = true;
		return NULL;
	}
	hook = edits->hooks.at;
	FL_SET(hook, name, FL_S("createContainer"));
	FL_SET(hook, path, c->facts->settings->hook);
	/* A hook without an environment of its own has that of the container's process, and so the image's
	 * LD_PRELOAD. */
	hook->env.at[0] = FL_S("LANG=C");
	hook->args.at[0] = FL_S("fairlead");
	hook->args.at[1] = FL_S("cdi-hook");
	hook->args.len = 2;
	FL_SET(hook, timeout, 10);   /* s; the runtime ends it: a disk that does not answer must not keep a Pod */
	return hook;
}

/* "card1" or "renderD128": what programs draw by. */
static bool is_dri(struct fl_str name)
{
	return fl_str_starts(name, FL_S("card")) || fl_str_starts(name, FL_S("renderD"));
}

/* Programs that draw find a card's nodes by its address: /dev/dri/by-path/pci-0000:01:00.0-card -> ../card1. */
static void put_by_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_card *card)
{
	struct fl_cdi_hook *hook = NULL;

	for (uint32_t i = 0; i < card->dri.len; i++) {
		struct fl_str name = card->dri.at[i];

		if (!is_dri(name) || !makes_links(c->facts->settings) ||
		    !fl_gpu_node_at(c->facts->host, fl_plan_printf(c->plan, "/dev/dri/%.*s", FL_ARG(name))))
			continue;
		if (!hook)
			hook = hook_begin(c, edits, 2 * card->dri.len);
		if (!hook)
			return;
		hook->args.at[hook->args.len++] = FL_S("--link");
		hook->args.at[hook->args.len++] = fl_plan_printf(
			c->plan, "../%.*s::/dev/dri/by-path/pci-%.*s-%s", FL_ARG(name), FL_ARG(card->meta.name),
			fl_str_starts(name, FL_S("card")) ? "card" : "render");
	}
}

/* A whole card draws; of partitions only those that were made for it. */
static bool draws(const struct fl_partition *part)
{
	return !part || memmem(part->profile.p, part->profile.len, "+gfx", 4);
}

static const struct fl_cdi_device *find_device(const struct fl_cdi_spec *spec, struct fl_str name)
{
	for (uint32_t i = 0; spec && i < spec->devices.len; i++)
		if (fl_str_eq(spec->devices.at[i].name, name))
			return &spec->devices.at[i];
	return NULL;
}

static void put_device(struct cdi *c, struct fl_str name, const struct fl_cdi_edits *edits)
{
	struct fl_cdi_device *device;

	if (!name.len || find_device(&c->spec, name))
		return;
	if (c->spec.devices.len == c->room) {
		c->plan->failed = true;   /* the room was counted */
		return;
	}
	device = &c->spec.devices.at[c->spec.devices.len++];
	FL_SET(device, name, name);
	FL_SET(device, edits, *edits);
}

/* A card or a part of it: what it cannot do without, and nodes for graphics. */
static bool device_edits(struct cdi *c, const struct fl_card *card, const struct fl_partition *part,
			 struct fl_cdi_edits *ret)
{
	struct fl_gpu_nodes nodes = fl_gpu_nodes(c->plan, c->facts->host, card, part);
	struct fl_str missing = fl_gpu_node_missing(&nodes);

	*ret = (struct fl_cdi_edits){ 0 };
	if (missing.len) {
		fl_say(c->plan, FL_REF(&fl_card_kind, card), "NoCDI", "%.*s is not there: %.*s is left out",
		       FL_ARG(missing), FL_ARG(part ? part->uuid : card->uuid));
		return false;
	}
	if (!nodes_begin(c, ret, nodes.len + card->dri.len))
		return false;
	for (uint32_t i = 0; i < nodes.len; i++)
		put_node(c, ret, nodes.node[i]);
	for (uint32_t i = 0; draws(part) && i < card->dri.len; i++) {
		struct fl_str path = fl_plan_printf(c->plan, "/dev/dri/%.*s", FL_ARG(card->dri.at[i]));
		const struct fl_host_node *node = fl_gpu_node_at(c->facts->host, path);

		if (node && is_dri(card->dri.at[i]))
			put_node(c, ret, node);
	}
	if (draws(part))
		put_by_path(c, ret, card);
	return true;
}

static void put_card(struct cdi *c, const struct fl_card *card)
{
	struct fl_cdi_edits edits;

	/* A card that is cut is handed out by its parts, unless somebody said that nobody is to look at parts. */
	if ((!card->mig || c->facts->settings->mig == FL_MIG_NONE) && device_edits(c, card, NULL, &edits)) {
		put_device(c, card->uuid, &edits);
		if (card->has.index)
			put_device(c, fl_plan_printf(c->plan, "%d", (int)card->index), &edits);
	}
	for (uint32_t i = 0; card->mig && i < card->partitions.len; i++) {
		const struct fl_partition *part = &card->partitions.at[i];

		if (!device_edits(c, card, part, &edits))
			continue;
		put_device(c, part->uuid, &edits);
		if (card->has.index && part->has.index)
			put_device(c, fl_plan_printf(c->plan, "%d:%d", (int)card->index, (int)part->index), &edits);
	}
}

/* ---- names that were handed out ---- */

static bool held(const struct cdi *c, struct fl_str name)
{
	for (uint32_t i = 0; i < c->facts->holder_len; i++)
		for (uint32_t k = 0; k < c->facts->holders[i].devices.len; k++) {
			int64_t replica;

			if (fl_str_eq(fl_gpu_id_base(c->facts->holders[i].devices.at[k], &replica), name))
				return true;
		}
	return false;
}

static bool is_uuid(struct fl_str name)
{
	return fl_str_starts(name, FL_S("GPU-")) || fl_str_starts(name, FL_S("MIG-"));
}

/* Is an index the name of a device that somebody holds? Then it stays what it was: the kubelet gives the name again to
 * each container of the Pod that starts anew. */
static bool held_by_index(const struct cdi *c, const struct fl_cdi_device *device)
{
	if (c->facts->settings->id_by != FL_ID_INDEX)
		return false;
	for (uint32_t i = 0; i < c->old->devices.len; i++) {
		const struct fl_cdi_device *other = &c->old->devices.at[i];

		if (is_uuid(other->name) && held(c, other->name) &&
		    fl_equal(fl_cdi_edits_bind(), &other->edits, &device->edits))
			return true;
	}
	return false;
}

/* Is there a card that cannot say now what it is? Then names of ours may be its. */
static bool somebody_silent(const struct cdi *c)
{
	for (uint32_t i = 0; i < c->facts->card_len; i++)
		if (c->facts->cards[i].answer != FL_CARD_ANSWERS || !c->facts->cards[i].uuid.len)
			return true;
	return false;
}

static bool there_by_uuid(const struct cdi *c, struct fl_str id)
{
	for (uint32_t i = 0; i < c->facts->card_len; i++) {
		const struct fl_card *card = &c->facts->cards[i];

		if (fl_str_eq(card->uuid, id))
			return true;
		for (uint32_t k = 0; k < card->partitions.len; k++)
			if (fl_str_eq(card->partitions.at[k].uuid, id))
				return true;
	}
	return false;
}

/* An index that is held and whose device is gone goes first, so that it is not given to another one meanwhile. */
static void keep_indexes(struct cdi *c)
{
	for (uint32_t i = 0; c->old && i < c->old->devices.len; i++) {
		const struct fl_cdi_device *device = &c->old->devices.at[i];
		bool there = false;

		if (is_uuid(device->name) || fl_str_eq(device->name, FL_S("all")) || !held_by_index(c, device))
			continue;
		for (uint32_t k = 0; k < c->old->devices.len; k++) {
			const struct fl_cdi_device *other = &c->old->devices.at[k];

			there |= is_uuid(other->name) && there_by_uuid(c, other->name) &&
				 fl_equal(fl_cdi_edits_bind(), &other->edits, &device->edits);
		}
		if (!there)
			put_device(c, device->name, &device->edits);
	}
}

static void keep_names(struct cdi *c)
{
	bool silent = somebody_silent(c);

	for (uint32_t i = 0; c->old && i < c->old->devices.len; i++) {
		const struct fl_cdi_device *device = &c->old->devices.at[i];

		if (!fl_str_eq(device->name, FL_S("all")) && (silent || held(c, device->name)))
			put_device(c, device->name, &device->edits);
	}
}

static bool has_node(const struct fl_cdi_edits *edits, struct fl_str path)
{
	for (uint32_t i = 0; i < edits->nodes.len; i++)
		if (fl_str_eq(edits->nodes.at[i].path, path))
			return true;
	return false;
}

/* Each once, although a device has two names. */
static void add_hook(struct fl_cdi_edits *all, const struct fl_cdi_hook *hook)
{
	for (uint32_t i = 0; i < all->hooks.len; i++)
		if (fl_equal(fl_cdi_hook_bind(), &all->hooks.at[i], hook))
			return;
	all->hooks.at[all->hooks.len++] = *hook;
}

/* The union of all devices. */
static void put_all(struct cdi *c)
{
	struct fl_cdi_edits all = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->spec.devices.len; i++)
		count += c->spec.devices.at[i].edits.nodes.len;
	all.hooks.at = count ? fl_plan_get(c->plan, c->spec.devices.len, sizeof *all.hooks.at) : NULL;
	if (!all.hooks.at || !nodes_begin(c, &all, count))
		return;
	for (uint32_t i = 0; i < c->spec.devices.len; i++) {
		const struct fl_cdi_edits *edits = &c->spec.devices.at[i].edits;

		for (uint32_t k = 0; k < edits->nodes.len; k++)
			if (!has_node(&all, edits->nodes.at[k].path))
				all.nodes.at[all.nodes.len++] = edits->nodes.at[k];
		for (uint32_t k = 0; k < edits->hooks.len; k++)
			add_hook(&all, &edits->hooks.at[k]);
		for (uint32_t k = 0; k < edits->gids.len; k++) {
			uint32_t at = 0;

			while (at < all.gids.len && all.gids.at[at] != edits->gids.at[k])
				at++;
			if (at < all.gids.len || at == count)
				continue;
			all.has.gids = 1;
			all.gids.at[all.gids.len++] = edits->gids.at[k];
		}
	}
	all.has.hooks = all.hooks.len > 0;
	put_device(c, FL_S("all"), &all);
}

/* ---- what each of them brings ---- */

static void put_mount(struct cdi *c, struct fl_cdi_edits *edits, struct fl_str from, struct fl_str path, bool socket)
{
	static const char *const library_options[] = { LIBRARY_OPTIONS }, *const socket_options[] = { SOCKET_OPTIONS };
	struct fl_cdi_mount *mount = &edits->mounts.at[edits->mounts.len++];

	_Static_assert(sizeof library_options == sizeof socket_options, "one loop for both");
	FL_SET(mount, host_path, on_host(c, fl_gpu_written_root(c->facts->settings, c->facts->host), from));
	FL_SET(mount, path, path);
	if (!FL_ELEMENTS(mount, c->plan->arena, options, FL_LEN(library_options))) {
		c->plan->failed = true;
		return;
	}
	for (uint32_t i = 0; i < mount->options.len; i++)
		mount->options.at[i] = fl_str(socket ? socket_options[i] : library_options[i]);
}

/* Files of GPUDirect Storage are for those who get it; sockets of the driver's daemons can be switched off. */
static bool is_everybodys(const struct cdi *c, const struct fl_host_path *path)
{
	return path->what != FL_HOST_CONFIG &&
	       (path->what != FL_HOST_SOCKET || !has_flag(c->facts->settings, FL_CDI_NO_IPC));
}

static void put_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_path *path)
{
	put_mount(c, edits, path->path, path->at.len ? path->at : path->path, path->what == FL_HOST_SOCKET);
}

static bool is_folder_new(const struct fl_host_path_list *list, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (list->at[i].what == FL_HOST_LIBRARY &&
		    fl_str_eq(folder_of(list->at[i].path), folder_of(list->at[at].path)))
			return false;
	return list->at[at].what == FL_HOST_LIBRARY;
}

static bool runs(const struct cdi *c, enum fl_hook_part part)
{
	const struct fl_settings *s = c->facts->settings;

	for (uint32_t i = 0; i < s->disabled_hooks.len; i++)
		if (s->disabled_hooks.at[i] == part)
			return false;
	return true;
}

/* Our own program makes links and writes the linker's cache inside the container (node/hook.h). */
static void put_hook(struct cdi *c, struct fl_cdi_edits *edits, uint32_t links, uint32_t folders)
{
	const struct fl_host_path_list *files = &c->facts->host->paths;
	struct fl_cdi_hook *hook = hook_begin(c, edits, 3 + 2 * (links + folders));

	if (!hook)
		return;
	for (uint32_t i = 0; i < files->len; i++) {
		for (uint32_t k = 0; runs(c, FL_HOOK_SYMLINKS) && k < files->at[i].links.len; k++) {
			hook->args.at[hook->args.len++] = FL_S("--link");
			hook->args.at[hook->args.len++] = fl_plan_printf(c->plan, "%.*s::%.*s/%.*s",
									 FL_ARG(files->at[i].links.at[k].target),
									 FL_ARG(folder_of(files->at[i].path)),
									 FL_ARG(files->at[i].links.at[k].name));
		}
		if (!is_folder_new(files, i) || !runs(c, FL_HOOK_LDCACHE))
			continue;
		hook->args.at[hook->args.len++] = FL_S("--folder");
		hook->args.at[hook->args.len++] = folder_of(files->at[i].path);
	}
	if (runs(c, FL_HOOK_CUDA_COMPAT)) {
		hook->args.at[hook->args.len++] = FL_S("--driver-version");
		hook->args.at[hook->args.len++] = c->facts->host->version;
	}
	if (runs(c, FL_HOOK_NO_NODE_CHANGES))
		hook->args.at[hook->args.len++] = FL_S("--device-nodes-fixed");
}

/* Without a hook each link is a mount. LD_LIBRARY_PATH would replace the image's own and the Pod's. */
static void put_links(struct cdi *c, struct fl_cdi_edits *edits)
{
	const struct fl_host_path_list *files = &c->facts->host->paths;

	for (uint32_t i = 0; i < files->len; i++)
		for (uint32_t k = 0; k < files->at[i].links.len; k++)
			put_mount(c, edits, files->at[i].path,
				  fl_plan_printf(c->plan, "%.*s/%.*s", FL_ARG(folder_of(files->at[i].path)),
						 FL_ARG(files->at[i].links.at[k].name)),
				  false);
}

/* Programs of NVIDIA's look there for libcuda: the directories with libraries of the driver's version. */
static struct fl_str cuda_dir(struct cdi *c)
{
	const struct fl_host *host = c->facts->host;
	struct fl_str text = FL_S("NVIDIA_CTK_LIBCUDA_DIR="), last = FL_S("");
	bool some = false;

	for (uint32_t i = 0; i < host->paths.len; i++) {   /* sorted by path */
		struct fl_str path = host->paths.at[i].path, folder = folder_of(path);

		if (host->paths.at[i].what != FL_HOST_LIBRARY || fl_str_eq(folder, last) ||
		    !fl_str_ends(path, fl_plan_printf(c->plan, ".so.%.*s", FL_ARG(host->version))))
			continue;
		text = fl_plan_printf(c->plan, "%.*s%s%.*s", FL_ARG(text), some ? ":" : "", FL_ARG(folder));
		some = true;
		last = folder;
	}
	return some ? text : FL_S("");
}

static bool is_common(const struct fl_host_node *node)
{
	static const struct fl_str common[] = { FL_S_INIT("/dev/nvidiactl"), FL_S_INIT("/dev/nvidia-uvm"),
						FL_S_INIT("/dev/nvidia-uvm-tools"), FL_S_INIT("/dev/nvidia-modeset") };

	for (uint32_t i = 0; i < FL_LEN(common); i++)
		if (fl_str_eq(node->path, common[i]))
			return true;
	return false;
}

static void put_common(struct cdi *c)
{
	struct fl_cdi_edits *edits = FL_IN(&c->spec, edits);
	const struct fl_host *host = c->facts->host;
	bool hook = c->facts->settings->hook.len > 0;
	uint32_t links = 0, folders = 0, env = 1;
	struct fl_str where;

	for (uint32_t i = 0; i < host->paths.len; i++) {
		links += host->paths.at[i].links.len;
		folders += is_folder_new(&host->paths, i);
	}
	edits->mounts.at = fl_plan_get(c->plan, host->paths.len + links, sizeof *edits->mounts.at);
	if (!edits->mounts.at || !nodes_begin(c, edits, host->nodes.len) ||
	    !FL_ELEMENTS(edits, c->plan->arena, env, 2)) {
		c->plan->failed = true;
		return;
	}
	for (uint32_t i = 0; i < host->nodes.len; i++)
		if (is_common(&host->nodes.at[i]))
			put_node(c, edits, &host->nodes.at[i]);
	for (uint32_t i = 0; i < host->paths.len; i++)
		if (is_everybodys(c, &host->paths.at[i]))
			put_path(c, edits, &host->paths.at[i]);
	/* A runtime hook of the old kind, where there is one, is to keep its hands off. */
	edits->env.at[0] = FL_S("NVIDIA_VISIBLE_DEVICES=void");
	where = cuda_dir(c);
	if (where.len)
		edits->env.at[env++] = where;
	edits->env.len = env;
	if (hook && (links || folders))
		put_hook(c, edits, links, folders);
	else if (!hook)
		put_links(c, edits);
	edits->has.mounts = edits->mounts.len > 0;
	edits->has.nodes = edits->nodes.len > 0;
}

/* ---- what the runtime can read ---- */

/* Is its version older than that? Numbers after each other: "v1.7.16-rc1" is 1, 7, 16. */
static bool is_older(struct fl_str version, const int64_t than[3])
{
	uint32_t at = fl_str_starts(version, FL_S("v"));

	for (int i = 0; i < 3; i++) {
		int64_t number = 0;
		uint32_t from = at;

		for (; at < version.len && version.p[at] >= '0' && version.p[at] <= '9' && number < 100000; at++)
			number = number * 10 + (version.p[at] - '0');
		if (at == from)
			return false;
		if (number != than[i])
			return number < than[i];
		at += at < version.len && version.p[at] == '.';
	}
	return false;
}

/* A file of a version that a runtime does not know is lost as a whole: one known to be older than CDI 0.7.0 gets none
 * of what that brought. */
static bool knows_gids(const struct fl_runtime *runtime)
{
	static const int64_t containerd[] = { 1, 7, 16 }, crio[] = { 1, 30, 0 };

	if (!runtime)
		return true;
	if (fl_str_eq(runtime->runtime, FL_S("containerd")))
		return !is_older(runtime->version, containerd);
	return !fl_str_eq(runtime->runtime, FL_S("cri-o")) || !is_older(runtime->version, crio);
}

/* ---- the lowest version that has all of it: a runtime refuses what it does not know ---- */

static bool edits_have_gids(const struct fl_cdi_spec *spec)
{
	bool some = spec->edits.gids.len > 0;

	for (uint32_t i = 0; i < spec->devices.len; i++)
		some |= spec->devices.at[i].edits.gids.len > 0;
	return some;
}

static bool needs_0_5(const struct fl_cdi_spec *spec)
{
	for (uint32_t i = 0; i < spec->edits.nodes.len; i++)
		if (spec->edits.nodes.at[i].has.host_path)
			return true;
	for (uint32_t i = 0; i < spec->devices.len; i++) {
		const struct fl_cdi_device *device = &spec->devices.at[i];

		if (device->name.p[0] >= '0' && device->name.p[0] <= '9')
			return true;
		for (uint32_t k = 0; k < device->edits.nodes.len; k++)
			if (device->edits.nodes.at[k].has.host_path)
				return true;
	}
	return false;
}

static struct fl_str version_of(const struct fl_cdi_spec *spec)
{
	int64_t slash = fl_str_find(spec->kind, '/');

	if (edits_have_gids(spec))
		return FL_S("0.7.0");
	if (fl_str_find(fl_str_sub(spec->kind, (uint32_t)slash + 1, spec->kind.len), '.') >= 0)
		return FL_S("0.6.0");
	return needs_0_5(spec) ? FL_S("0.5.0") : FL_S("0.3.0");
}

/* ---- the file ---- */

/* "vendor-class", as the specification wants it for a file that stays. */
static struct fl_str file_name(struct fl_plan *plan, struct fl_str kind)
{
	int64_t slash = fl_str_find(kind, '/');

	if (slash < 0)
		return kind;
	return fl_plan_printf(plan, "%.*s-%.*s", FL_ARG(fl_str_sub(kind, 0, (uint32_t)slash)),
			      FL_ARG(fl_str_sub(kind, (uint32_t)slash + 1, kind.len)));
}

/* Everybody's files are told. Ours are those of a kind that we have written or NVIDIA's plugin before us: of the same
 * class, as a hook of ours shows or the variable with which each of ours begins, and named after their kind. */
static bool is_ours(struct cdi *c, const struct fl_cdi_spec *spec)
{
	if (!fl_str_eq(spec->meta.name, file_name(c->plan, spec->kind)))
		return false;
	if (fl_str_eq(spec->kind, c->facts->settings->cdi_kind))
		return true;
	for (uint32_t i = 0; i < spec->edits.hooks.len; i++)
		if (spec->edits.hooks.at[i].args.len > 1 &&
		    fl_str_eq(spec->edits.hooks.at[i].args.at[0], FL_S("fairlead")) &&
		    fl_str_eq(spec->edits.hooks.at[i].args.at[1], FL_S("cdi-hook")))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_cdi_device *)a)->name, ((const struct fl_cdi_device *)b)->name);
}

/* ---- what containers get beside their cards: a file each ---- */

/* One whose nodes are gone stays as it was written, for they may come back. */
static void put_extra(struct cdi *c, enum fl_extra which)
{
	const struct fl_gpu_extra *extra = &fl_gpu_extras[which];
	const struct fl_host *host = c->facts->host;
	struct fl_str kind = fl_gpu_extra_kind(extra, c->facts->settings->cdi_kind, c->plan->arena);
	struct fl_ref ref = { &fl_cdi_spec_kind, FL_S(""), file_name(c->plan, kind), FL_S("") };
	struct cdi own = { .facts = c->facts, .plan = c->plan, .gids = c->gids };
	struct fl_cdi_edits edits = { 0 };

	c->plan->failed |= !kind.p;
	if (!kind.p || !fl_gpu_extra_there(extra, host))
		return;
	own.room = 1;
	edits.mounts.at = fl_plan_get(c->plan, host->paths.len, sizeof *edits.mounts.at);
	own.spec.devices.at = fl_plan_get(c->plan, 1, sizeof *own.spec.devices.at);
	if (!edits.mounts.at || !own.spec.devices.at || !nodes_begin(&own, &edits, host->nodes.len))
		return;
	for (uint32_t i = 0; i < host->nodes.len; i++)
		if (fl_gpu_extra_has(extra, host->nodes.at[i].path))
			put_node(&own, &edits, &host->nodes.at[i]);
	for (uint32_t i = 0; which == FL_EXTRA_GDS && i < host->paths.len; i++)
		if (host->paths.at[i].what == FL_HOST_CONFIG)
			put_path(&own, &edits, &host->paths.at[i]);
	edits.has.mounts = edits.mounts.len > 0;
	FL_SET(&own.spec, kind, kind);
	own.spec.has.devices = 1;
	put_device(&own, extra->device, &edits);
	FL_SET(&own.spec, version, version_of(&own.spec));
	fl_want(c->plan, &fl_gpu_cdi_owner, ref, &own.spec);
}

/* Does anybody have a card or a part of one? */
static bool somebody_holds(const struct cdi *c)
{
	for (uint32_t i = 0; i < c->facts->holder_len; i++)
		for (uint32_t k = 0; k < c->facts->holders[i].devices.len; k++)
			if (is_uuid(c->facts->holders[i].devices.at[k]))
				return true;
	return false;
}

static bool is_handed_out(const struct cdi *c, enum fl_extra which)
{
	for (uint32_t i = 0; i < c->facts->resource_len; i++)
		for (uint32_t k = 0; k < c->facts->resources[i].extras.len; k++)
			if (c->facts->resources[i].extras.at[k] == which)
				return true;
	return false;
}

/* One that is switched off. The kubelet gives its name again to each container of a Pod that starts anew, and tells
 * nobody which Pods have it, for what it counts are cards: so it goes when no list hands it out any more and no Pod has
 * a card. */
static void drop_extra(struct cdi *c, enum fl_extra which)
{
	struct fl_str kind = fl_gpu_extra_kind(&fl_gpu_extras[which], c->facts->settings->cdi_kind, c->plan->arena);
	struct fl_str name = file_name(c->plan, kind);

	c->plan->failed |= !kind.p;
	for (uint32_t i = 0; kind.p && i < c->facts->spec_len; i++) {
		const struct fl_cdi_spec *spec = &c->facts->specs[i];

		if (!fl_str_eq(spec->meta.name, name) || !fl_str_eq(spec->kind, kind))
			continue;
		if (!is_handed_out(c, which) && !somebody_holds(c))
			fl_want_gone(c->plan, FL_REF(&fl_cdi_spec_kind, spec));
		else
			fl_say(c->plan, FL_REF(&fl_cdi_spec_kind, spec), "Kept",
			       "it is switched off, and goes when no Pod has a card: one of them may have it");
	}
}

static bool is_wanted(const struct cdi *c, enum fl_extra which)
{
	for (uint32_t i = 0; i < c->facts->settings->extras.len; i++)
		if (c->facts->settings->extras.at[i] == which)
			return true;
	return false;
}

/* Files of another kind that we wrote go when nobody holds a name of them. */
static void sweep(struct cdi *c, struct fl_str name)
{
	for (uint32_t i = 0; i < c->facts->spec_len; i++) {
		const struct fl_cdi_spec *spec = &c->facts->specs[i];
		bool used = false;

		if (fl_str_eq(spec->meta.name, name) || !is_ours(c, spec))
			continue;
		for (uint32_t k = 0; k < spec->devices.len; k++)
			used |= held(c, spec->devices.at[k].name);
		if (!used)
			fl_want_gone(c->plan, FL_REF(&fl_cdi_spec_kind, spec));
	}
}

static void fill(struct cdi *c)
{
	uint32_t room = 1;

	for (uint32_t i = 0; i < c->facts->card_len; i++)
		room += 2 + 2 * c->facts->cards[i].partitions.len;
	room += c->old ? c->old->devices.len : 0;
	c->spec.devices.at = fl_plan_get(c->plan, room, sizeof *c->spec.devices.at);
	if (!c->spec.devices.at)
		return;
	c->room = room;
	c->spec.has.devices = 1;
	keep_indexes(c);
	for (uint32_t i = 0; i < c->facts->card_len; i++) {
		const struct fl_card *card = &c->facts->cards[i];

		if (card->uuid.len && card->answer == FL_CARD_ANSWERS &&
		    (!card->bound.len || fl_str_eq(card->bound, FL_S("nvidia"))))
			put_card(c, card);
	}
	keep_names(c);
	put_all(c);
	if (c->spec.devices.len)
		qsort(c->spec.devices.at, c->spec.devices.len, sizeof *c->spec.devices.at, by_name);
}

void fl_gpu_cdi_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_cdi_facts *facts = facts_;
	struct cdi c = { .facts = facts, .plan = plan };
	struct fl_ref ref = { &fl_cdi_spec_kind, FL_S(""), FL_S(""), FL_S("") };
	struct fl_str missing;

	if (!facts->settings || !facts->driver || !facts->host || !fl_gpu_host_seen(facts->host))
		return;
	ref.name = file_name(plan, facts->settings->cdi_kind);
	for (uint32_t i = 0; i < facts->spec_len; i++)
		if (fl_str_eq(facts->specs[i].meta.name, ref.name))
			c.old = &facts->specs[i];
	/* Nobody can say now what there is, or what is asked for: what was written stays. */
	if (facts->driver->state != FL_DRIVER_READY || facts->settings->waits.len)
		return;
	c.gids = knows_gids(facts->runtime) && !has_flag(facts->settings, FL_CDI_NO_ADDITIONAL_GIDS);
	missing = fl_gpu_libraries_missing(plan, facts->host);
	if (!missing.len)
		missing = fl_gpu_hook_missing(facts->settings, facts->host);
	if (missing.len) {
		/* A container that has a card may start anew: its names resolve as they did. */
		if (c.old && !somebody_holds(&c))
			fl_want_gone(plan, ref);
		return;
	}
	FL_SET(&c.spec, kind, facts->settings->cdi_kind);
	fill(&c);
	sweep(&c, ref.name);
	for (uint32_t i = 0; i < facts->settings->extras.len; i++)
		put_extra(&c, facts->settings->extras.at[i]);
	for (int which = 0; which < FL_EXTRA_COUNT_; which++)
		if (!is_wanted(&c, (enum fl_extra)which))
			drop_extra(&c, (enum fl_extra)which);
	if (!c.spec.devices.len) {
		if (c.old && !plan->failed)
			fl_want_gone(plan, ref);
		return;
	}
	put_common(&c);
	FL_SET(&c.spec, version, version_of(&c.spec));
	fl_want(plan, &fl_gpu_cdi_owner, ref, &c.spec);
}
