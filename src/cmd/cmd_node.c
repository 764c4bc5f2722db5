/* The agent of a GPU node. */
#include "api/core.h"
#include "base/limits.h"
#include "cmd/program.h"
#include "cmd/role.h"
#include "node/agent.h"
#include "run/kube.h"
#include <stdio.h>
#include <unistd.h>

struct node {
	struct fl_role_flags role;
	struct fl_settings_given given;
	struct fl_str name, fallback;
	const char *config_file, *config_dir, *state_dir, *kubelet_dir, *cdi_dir, *runtime, *control;
	const char *dev_root, *sysfs, *proc;
	struct fl_strs roots;
	int64_t look_every;
	bool cuda;
};

static const struct fl_option options[] = {
	FL_OPT_STR(struct node, name, "node-name", "Name of the Node that this is; else the machine's.",
		   .env = "NODE_NAME", .value = "NAME"),
	FL_SETTINGS_OPTIONS(struct node, given),
	FL_OPT_PATH(struct node, config_file, "config-file", "A configuration of NVIDIA's device plugin, version v1.",
		    .env = "CONFIG_FILE"),
	FL_OPT_PATH(struct node, config_dir, "config-dir",
		    "Several of them; the Node's label nvidia.com/device-plugin.config names one."),
	FL_OPT_STR(struct node, fallback, "config-default", "The one for a Node without that label.", .value = "NAME"),
	FL_OPT_STRS(struct node, roots, "driver-root",
		    "Where the driver may be installed, in order; / and /run/nvidia/driver.",
		    .env = "NVIDIA_DRIVER_ROOT"),
	FL_OPT_PATH(struct node, dev_root, "dev-root", "Where its device nodes are; else the driver's root.",
		    .env = "NVIDIA_DEV_ROOT"),
	FL_OPT_PATH(struct node, sysfs, "sysfs", "Where the kernel tells of the PCI bus.", .fallback = "/sys",
		    .hidden = true),
	FL_OPT_PATH(struct node, proc, "proc", "Where it tells of its drivers.", .fallback = "/proc", .hidden = true),
	FL_OPT_PATH(struct node, kubelet_dir, "kubelet-dir", "The kubelet's folder.", .fallback = "/var/lib/kubelet"),
	FL_OPT_PATH(struct node, cdi_dir, "cdi-dir", "Where CDI files are written.", .fallback = "/var/run/cdi"),
	FL_OPT_PATH(struct node, runtime, "runtime-socket", "The container runtime's; else containerd's or CRI-O's."),
	FL_OPT_PATH(struct node, control, "control-socket",
		    "Where fairlead pause and resume find this agent; empty: nowhere.",
		    .fallback = "/run/fairlead/node.sock"),
	FL_OPT_PATH(struct node, state_dir, "state-dir", "Where is kept what must outlive the agent.",
		    .fallback = "/var/lib/fairlead"),
	FL_OPT_BOOL(struct node, cuda, "cuda-checks", "A card that comes back is tried with a CUDA context first.",
		    .fallback = "true"),
	FL_OPT_DURATION(struct node, look_every, "look-every", "Between two looks at a card at rest.",
			.fallback = "30s", .min = FL_NS_PER_MS, .max = 3600 * FL_NS_PER_S, .hidden = true),
	FL_ROLE_OPTIONS(struct node, role, "[::]:9401"),
};

/* What lives as long as the agent and does not move. */
struct running {
	struct fl_role role;
	struct fl_role_kind kinds[3];
	struct fl_running run;
	struct fl_agent agent;
	char program[FL_GPU_PATH_MAX], plugins[FL_GPU_PATH_MAX], pods[FL_GPU_PATH_MAX];
	char host[FL_ROLE_NAME], fields[FL_ROLE_NAME + 16];
	const char *roots[FL_GPU_ROOTS_MAX + 1];
};

/* ---- what people are told ---- */

static void tell(void *run_, const struct fl_told_event *event)
{
	struct fl_running *run = run_;

	if (run->events)
		fl_kube_event(run->events, event);
}

/* A change of a card's health is told of the Node, and of each Pod that has it. */
static void changed(struct fl_running *run, const struct fl_told_event *told)
{
	struct running *running = run->role->self;
	struct fl_told_event event = *told;

	fl_log(&run->log, told->warning ? FL_WARN : FL_INFO, "a condition has changed",
	       FL_KV_TEXT("kind", told->ref.kind->kind), FL_KV_STR("name", told->ref.name),
	       FL_KV_STR("reason", told->reason), FL_KV_STR("message", told->message));
	if (!run->events)
		return;
	if (told->ref.kind == &fl_own_node_kind)
		fl_kube_event(run->events, told);
	if (told->ref.kind != &fl_health_kind)
		return;
	event.ref = (struct fl_ref){ &fl_own_node_kind, FL_S(""), running->agent.options.config.node, FL_S("") };
	fl_kube_event(run->events, &event);
	fl_agent_tell(&running->agent, told);
}

static bool ready(const struct fl_running *run, struct fl_buf *words)
{
	return fl_agent_ready(&((const struct running *)run->role->self)->agent, words);
}

static bool ended(struct fl_running *run)
{
	return fl_agent_end(&((struct running *)run->role->self)->agent);
}

/* ---- from flags to options ---- */

static int join(char *ret, size_t size, const char *dir, const char *name, struct fl_err *err)
{
	if ((size_t)snprintf(ret, size, "%s/%s", dir, name) >= size)
		return fl_fail(err, FL_E_INVALID, "'%s' is too long for the path of a folder", dir);
	return 0;
}

static int name_node(struct running *running, struct fl_io *io, const struct node *config, struct fl_err *err)
{
	const struct fl_fs *fs = fl_io_fs(io);
	struct fl_str *name = &running->agent.options.config.node;
	int fd;

	*name = config->name;
	if (name->len)
		return 0;
	fd = fs->open(fs, AT_FDCWD, "/proc/sys/kernel/hostname", O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		int64_t len = fl_fs_read_all(fs, fd, running->host, sizeof running->host);

		fs->close(fs, fd);
		if (len > 0)
			*name = fl_str_trim((struct fl_str){ running->host, (uint32_t)len });
	}
	return name->len ? 0 : fl_fail(err, FL_E_INVALID, "this machine has no name; say --node-name");
}

static int find_program(struct running *running, struct fl_io *io, struct fl_err *err)
{
	const struct fl_fs *fs = fl_io_fs(io);
	int64_t len = fs->readlink(fs, AT_FDCWD, "/proc/self/exe", running->program, sizeof running->program - 1);

	if (len < 0)
		return fl_fail_sys(err, (int)-len, "read /proc/self/exe");
	running->program[len] = '\0';
	return 0;
}

static int find_roots(struct running *running, const struct node *config, struct fl_err *err)
{
	if (config->roots.len > FL_GPU_ROOTS_MAX)
		return fl_fail(err, FL_E_INVALID, "--driver-root may be given %d times", FL_GPU_ROOTS_MAX);
	for (uint32_t i = 0; i < config->roots.len; i++)
		running->roots[i] = config->roots.at[i].p;   /* of the arguments or the environment: terminated */
	if (!config->roots.len) {
		running->roots[0] = "/";
		running->roots[1] = "/run/nvidia/driver";
	}
	return 0;
}

static int set_up(struct running *running, struct fl_io *io, const struct node *config, struct fl_err *err)
{
	struct fl_agent_options *agent = &running->agent.options;

	if (name_node(running, io, config, err) < 0 || find_program(running, io, err) < 0 ||
	    find_roots(running, config, err) < 0 ||
	    join(running->plugins, sizeof running->plugins, config->kubelet_dir, "device-plugins", err) < 0 ||
	    join(running->pods, sizeof running->pods, config->kubelet_dir, "pod-resources", err) < 0)
		return -(int)err->code;
	agent->config.given = &config->given;
	agent->config.file = config->config_file;
	agent->config.dir = config->config_dir;
	agent->config.fallback = config->fallback;
	agent->gpu = (struct fl_gpu_options){ .program = running->program, .roots = running->roots,
					      .dev_root = config->dev_root, .sysfs = config->sysfs,
					      .proc = config->proc, .env = (const char *const *)environ,
					      .cuda = config->cuda,
					      .pace = { .look_every = (uint64_t)config->look_every } };
	agent->state_dir = config->state_dir;
	agent->plugins_dir = running->plugins;
	agent->pods_dir = running->pods;
	agent->cdi_dir = config->cdi_dir;
	agent->runtime_socket = config->runtime;
	agent->control = config->control;
	(void)snprintf(running->fields, sizeof running->fields, "metadata.name=%.*s", FL_ARG(agent->config.node));
	running->kinds[0] = (struct fl_role_kind){ .kind = &fl_own_node_kind, .fields = running->fields };
	running->kinds[1] = (struct fl_role_kind){ .kind = &fl_device_class_kind };
	running->role = (struct fl_role){ .name = "node", .reports = "gpu.deckhouse.io/fairlead-node",
					  .kinds = running->kinds, .capabilities = fl_agent_capabilities,
					  .local = fl_agent_kinds, .alone = true, .event = changed, .ready = ready,
					  .ended = ended,
					  .self = running };
	return 0;
}

static int run_all(struct running *running, struct fl_io *io, const struct node *config, struct fl_err *err)
{
	struct fl_running *run = &running->run;
	struct fl_agent_options agent;
	int r = set_up(running, io, config, err);

	if (r == 0)
		r = fl_role_begin(run, &running->role, &config->role, io, (const char *const *)environ, err);
	if (r < 0)
		return r;
	agent = running->agent.options;
	agent.log = &run->log;
	agent.metrics = run->metrics;
	agent.event = tell;
	agent.event_arg = run;
	r = fl_agent_sources(&running->agent, io, run->loop, &agent, err);
	if (r == 0)
		r = fl_role_start(run, err);
	if (r == 0)
		r = fl_agent_start(&running->agent, err);
	if (r == 0)
		r = fl_role_run(run, err);
	return r;
}

static int node(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);
	struct running *running = fl_zalloc(sizeof *running);
	int r = -FL_E_NOMEM;

	if (io && running)
		r = run_all(running, io, call->config, err);
	else if (io)
		(void)fl_fail(err, FL_E_NOMEM, "no memory for the agent");
	if (running) {
		fl_agent_stop(&running->agent);
		fl_role_end(&running->run);
	}
	fl_free(running);
	return r;
}

const struct fl_command fl_cmd_node = {
	"node", "Look after the GPUs of this node and hand them out through the kubelet.", NULL,
	FL_COMMAND_OPTIONS(options, struct node), .run = node,
};
