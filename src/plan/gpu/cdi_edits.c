#include "plan/gpu/cdi_in.h"
#include "plan/gpu/ids.h"

#define LIBRARY_OPTIONS "ro", "nosuid", "nodev", "rbind", "rprivate"
#define SOCKET_OPTIONS "nosuid", "nodev", "rbind", "rprivate", "noexec"

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
void cdi_put_node(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_node *from)
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

bool cdi_nodes_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t count)
{
	edits->gids.at = fl_plan_get(c->plan, count, sizeof *edits->gids.at);
	edits->nodes.at = fl_plan_get(c->plan, count, sizeof *edits->nodes.at);
	edits->has.nodes = 1;
	return edits->gids.at && edits->nodes.at;
}

/* ---- hooks ---- */

bool cdi_has_flag(const struct cdi *c, enum fl_cdi_flag flag)
{
	const struct fl_settings *settings = c->facts->settings;

	for (uint32_t i = 0; i < settings->cdi_flags.len; i++)
		if (settings->cdi_flags.at[i] == flag)
			return true;
	return false;
}

struct fl_cdi_hook *cdi_hook_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t args)
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
	       (path->what != FL_HOST_SOCKET || !cdi_has_flag(c, FL_CDI_NO_IPC));
}

void cdi_put_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_path *path)
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

/* Our own program makes links and writes the linker's cache inside the container (node/hook/hook.h). */
static void put_hook(struct cdi *c, struct fl_cdi_edits *edits, uint32_t links, uint32_t folders)
{
	const struct fl_settings *settings = c->facts->settings;
	const struct fl_host_path_list *files = &c->facts->host->paths;
	struct fl_cdi_hook *hook = cdi_hook_begin(c, edits, 4 + 2 * (links + folders));

	if (!hook)
		return;
	for (uint32_t i = 0; i < files->len; i++) {
		for (uint32_t k = 0; fl_gpu_hook_does(settings, FL_HOOK_SYMLINKS) && k < files->at[i].links.len; k++) {
			hook->args.at[hook->args.len++] = FL_S("--link");
			hook->args.at[hook->args.len++] = fl_plan_printf(c->plan, "%.*s::%.*s/%.*s",
									 FL_ARG(files->at[i].links.at[k].target),
									 FL_ARG(folder_of(files->at[i].path)),
									 FL_ARG(files->at[i].links.at[k].name));
		}
		if (!is_folder_new(files, i) || !fl_gpu_hook_does(settings, FL_HOOK_LDCACHE))
			continue;
		hook->args.at[hook->args.len++] = FL_S("--folder");
		hook->args.at[hook->args.len++] = folder_of(files->at[i].path);
	}
	if (fl_gpu_hook_does(settings, FL_HOOK_CUDA_COMPAT)) {
		hook->args.at[hook->args.len++] = FL_S("--driver-version");
		hook->args.at[hook->args.len++] = c->facts->host->version;
	}
	if (fl_gpu_hook_does(settings, FL_HOOK_NO_NODE_CHANGES))
		hook->args.at[hook->args.len++] = FL_S("--device-nodes-fixed");
	if (fl_gpu_hook_does(settings, FL_HOOK_APPLICATION_PROFILE))
		hook->args.at[hook->args.len++] = FL_S("--application-profile");
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

	return fl_str_in(common, FL_LEN(common), node->path);
}

void cdi_put_common(struct cdi *c)
{
	struct fl_cdi_edits *edits = FL_IN(&c->spec, edits);
	const struct fl_host *host = c->facts->host;
	const struct fl_settings *settings = c->facts->settings;
	uint32_t links = 0, folders = 0, env = 1;
	struct fl_str where;

	for (uint32_t i = 0; i < host->paths.len; i++) {
		links += host->paths.at[i].links.len;
		folders += is_folder_new(&host->paths, i);
	}
	edits->mounts.at = fl_plan_get(c->plan, host->paths.len + links, sizeof *edits->mounts.at);
	if (!edits->mounts.at || !cdi_nodes_begin(c, edits, host->nodes.len) ||
	    !FL_ELEMENTS(edits, c->plan->arena, env, 2)) {
		c->plan->failed = true;
		return;
	}
	for (uint32_t i = 0; i < host->nodes.len; i++)
		if (is_common(&host->nodes.at[i]))
			cdi_put_node(c, edits, &host->nodes.at[i]);
	for (uint32_t i = 0; i < host->paths.len; i++)
		if (is_everybodys(c, &host->paths.at[i]))
			cdi_put_path(c, edits, &host->paths.at[i]);
	/* A runtime hook of the old kind, where there is one, is to keep its hands off. */
	edits->env.at[0] = FL_S("NVIDIA_VISIBLE_DEVICES=void");
	where = cuda_dir(c);
	if (where.len)
		edits->env.at[env++] = where;
	edits->env.len = env;
	if (fl_gpu_hook_runs(settings) && (links || folders))
		put_hook(c, edits, links, folders);
	else if (!settings->hook.len)
		put_links(c, edits);
	edits->has.mounts = edits->mounts.len > 0;
	edits->has.nodes = edits->nodes.len > 0;
}
