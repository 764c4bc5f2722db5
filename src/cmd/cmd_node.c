/* The agent of a GPU node. */
#include "api/core.h"
#include "api/nfd.h"
#include "base/units.h"
#include "cmd/metrics.h"
#include "cmd/program.h"
#include "cmd/role.h"
#include "json/name.h"
#include "node/agent.h"
#include "plan/gpu/lists.h"
#include "plan/labels/labels.h"
#include "run/kube.h"
#include <stdio.h>
#include <unistd.h>

#define FL_GPU_ROOTS_MAX 8           /* places where a driver may be installed */

struct node {
	struct fl_settings_given given;        /* first, as FL_SETTINGS_OPTIONS has it */
	struct fl_role_flags role;
	struct fl_str name, fallback;
	const char *config_file, *config_dir, *state_dir, *kubelet_dir, *kubelet, *cdi_dir, *runtime, *control;
	const char *sysfs, *proc, *machine, *label_file, *ready_dir;
	int64_t look_every;
	bool cuda;
};

_Static_assert(offsetof(struct node, given) == 0, "FL_SETTINGS_OPTIONS are offsets in the first member");

static const struct fl_option options[] = {
	FL_OPT_STR(struct node, name, "node-name", "Name of this Node; default the host name.",
		   .env = "NODE_NAME", .value = "NAME"),
	FL_SETTINGS_OPTIONS
	FL_OPT_PATH(struct node, config_file, "config-file", "A configuration of NVIDIA's device plugin, version v1.",
		    .env = "CONFIG_FILE", .env_also = "GFD_CONFIG_FILE"),
	FL_OPT_PATH(struct node, config_dir, "config-dir",
		    "Several of them; the Node's label nvidia.com/device-plugin.config names one."),
	FL_OPT_STR(struct node, fallback, "config-default", "The one for a Node without that label.", .value = "NAME"),
	FL_OPT_PATH(struct node, sysfs, "sysfs", "Directory of the PCI bus in sysfs.", .fallback = "/sys",
		    .hidden = true),
	FL_OPT_PATH(struct node, proc, "proc", "Directory of the kernel's drivers in "
					       "procfs.", .fallback = "/proc", .hidden = true),
	FL_OPT_PATH(struct node, kubelet_dir, "kubelet-dir", "The kubelet's "
							     "directory.", .fallback = "/var/lib/kubelet"),
	FL_OPT_PATH(struct node, kubelet, "kubelet-socket",
		    "The kubelet's socket for plugins, else kubelet.sock in its directory; empty: register nothing.",
		    .env = "KUBELET_SOCKET", .empty = true),
	FL_OPT_PATH(struct node, cdi_dir, "cdi-dir", "Where CDI files are written.", .fallback = "/var/run/cdi"),
	FL_OPT_PATH(struct node, runtime, "runtime-socket", "The container runtime's; else containerd's or CRI-O's."),
	FL_OPT_PATH(struct node, control, "control-socket",
		    "Socket for fairlead pause and resume; empty: none.",
		    .fallback = "/run/fairlead/node.sock"),
	FL_OPT_PATH(struct node, state_dir, "state-dir", "Directory for the state that outlives the agent.",
		    .fallback = "/var/lib/fairlead"),
	FL_OPT_PATH(struct node, machine, "machine-type-file", "File with the type of the machine, for the label "
		    "nvidia.com/gpu.machine.", .env = "GFD_MACHINE_TYPE_FILE",
		    .fallback = "/sys/class/dmi/id/product_name"),
	FL_OPT_PATH(struct node, label_file, "labels-file", "File that --labels=file writes, for the worker of node "
		    "feature discovery.", .env = "GFD_OUTPUT_FILE", .also = "output-file",
		    .fallback = "/etc/kubernetes/node-feature-discovery/features.d/nvidia-fairlead"),
	FL_OPT_PATH(struct node, ready_dir, "ready-files-dir", "Directory for the files of NVIDIA's validator "
		    "(driver-ready, ...): /run/nvidia/validations."),
	FL_OPT_BOOL(struct node, cuda, "cuda-checks", "Try a CUDA context on a GPU whose calls hung before it is used.",
		    .fallback = "true"),
	FL_OPT_DURATION(struct node, look_every, "look-every", "Time between two health checks of an idle GPU.",
			.fallback = "30s", .min = FL_NS_PER_MS, .max = 3600 * FL_NS_PER_S, .hidden = true),
	FL_ROLE_OPTIONS(struct node, role, "[::]:9401"),
};

/* What lives as long as the agent and does not move. */
struct running {
	struct fl_role role;
	struct fl_role_kind kinds[5];
	struct fl_running run;
	struct fl_agent agent;
	struct fl_settings_given given;        /* with the hook's usual path */
	char hook[FL_GPU_PATH_MAX];
	char program[FL_GPU_PATH_MAX], plugins[FL_GPU_PATH_MAX], pods[FL_GPU_PATH_MAX];
	struct metrics metrics;
	struct fl_settings settings;           /* that were given; texts in the arena */
	const char *web;
	char host[FL_ROLE_NAME], fields[FL_ROLE_NAME + 16], feature[FL_ROLE_NAME + 48], gfd[FL_ROLE_NAME + 48];
	const char *roots[FL_GPU_ROOTS_MAX + 1], *look_dev;
	struct fl_arena arena;                 /* of the roots */
};

/* ---- what people are told ---- */

static void tell(void *run_, const struct fl_told_event *event)
{
	struct fl_running *run = run_;

	if (run->events)
		fl_kube_event(run->events, event);
}

static void changed(struct fl_running *run, const struct fl_told_event *told)
{
	struct running *running = run->role->self;

	/* GPUsReady is Readiness's too, which needs no API server. */
	if (told->ref.kind != &fl_own_node_kind || !fl_str_eq(told->type, FL_S(FL_GPUS_READY)))
		fl_log(&run->log, told->warning ? FL_WARN : FL_INFO, "condition changed",
		       FL_KV_TEXT("kind", told->ref.kind->kind), FL_KV_STR("name", told->ref.name),
		       FL_KV_STR("type", told->type),
		       FL_KV_TEXT("status", fl_name(&fl_condition_status_names, (int)told->is)),
		       FL_KV_STR("reason", told->reason), FL_KV_STR("message", told->message));
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

/* By the watch of our Node. A server that refuses it is there. */
static enum fl_holders_api api(void *run_)
{
	const struct fl_running *run = run_;
	struct fl_watch_info info;

	if (!run->watches.len)
		return FL_HOLDERS_API_STARTING;
	info = fl_watch_info(run->watches.at[0]);
	if (info.state == FL_WATCH_BROKEN)
		return info.err && info.err->code == FL_E_DENIED ? FL_HOLDERS_API_THERE : FL_HOLDERS_API_AWAY;
	return info.state == FL_WATCH_STARTING ? FL_HOLDERS_API_STARTING : FL_HOLDERS_API_THERE;
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

/* The driver's roots, in the arena. */
static int find_roots(struct running *running, const struct node *config, struct fl_err *err)
{
	const struct fl_settings_from from = { .given = &config->given };
	const struct fl_settings *settings = &running->settings;
	int r = fl_settings_read(&from, &running->arena, &running->settings, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < settings->look_roots.len && i < FL_GPU_ROOTS_MAX; i++) {
		running->roots[i] = fl_arena_str(&running->arena, settings->look_roots.at[i]).p;
		if (!running->roots[i])
			return fl_fail(err, FL_E_NOMEM, "no memory for the driver's roots");
	}
	if (settings->has.look_dev && !(running->look_dev = fl_arena_str(&running->arena, settings->look_dev).p))
		return fl_fail(err, FL_E_NOMEM, "no memory for the driver's roots");
	return 0;
}

static bool has_line(const struct fl_settings *s, enum fl_metrics_line which)
{
	for (uint32_t i = 0; i < s->metrics_lines.len; i++)
		if (s->metrics_lines.at[i] == which)
			return true;
	return false;
}

/* The exporter's part of the settings: as they were at the start. */
static int set_up_metrics(struct running *running, struct fl_err *err)
{
	struct fl_agent_options *agent = &running->agent.options;
	const struct fl_settings *s = &running->settings;

	agent->metrics_off = !s->metrics_listen.len;
	agent->exporter = (struct fl_exporter_options){
		.period = FL_NS_PER_MS * (unsigned)s->metrics_interval,
		.style = { .node = agent->config.node, .no_hostname = has_line(s, FL_METRICS_NO_HOST),
			   .no_blanks = has_line(s, FL_METRICS_NO_BLANKS),
			   .old_names = has_line(s, FL_METRICS_OLD_NAMES),
			   .once = has_line(s, FL_METRICS_ONCE), .no_pods = !s->metrics_pods,
			   .pod_uid = has_line(s, FL_METRICS_POD_UID),
			   .window_xids = FL_NS_PER_MS * (unsigned)s->metrics_xids,
			   .window_clocks = FL_NS_PER_MS * (unsigned)s->metrics_clocks },
		.pod_labels = has_line(s, FL_METRICS_POD_LABELS), .pod_allow = s->metrics_pod_allow,
	};
	if ((s->metrics_file.len && !(agent->exporter.file = fl_arena_str(&running->arena, s->metrics_file).p)) ||
	    (s->metrics_web.len && !(running->web = fl_arena_str(&running->arena, s->metrics_web).p)))
		return fl_fail(err, FL_E_NOMEM, "no memory for the files of metrics");
	return 0;
}

static int set_up(struct running *running, struct fl_io *io, const struct node *config, struct fl_err *err)
{
	struct fl_agent_options *agent = &running->agent.options;

	if (find_roots(running, config, err) < 0 || name_node(running, io, config, err) < 0 ||
	    set_up_metrics(running, err) < 0 ||
	    find_program(running, io, err) < 0 ||
	    join(running->hook, sizeof running->hook, config->state_dir, "bin/fairlead-cdi-hook", err) < 0 ||
	    join(running->plugins, sizeof running->plugins, config->kubelet_dir, "device-plugins", err) < 0 ||
	    join(running->pods, sizeof running->pods, config->kubelet_dir, "pod-resources", err) < 0)
		return -(int)err->code;
	running->given = config->given;
	if (!running->given.hook_usual.p && running->hook[0] == '/')
		running->given.hook_usual = fl_str(running->hook);
	agent->config.given = &running->given;
	agent->config.file = config->config_file;
	agent->config.dir = config->config_dir;
	agent->config.fallback = config->fallback;
	agent->config.machine = config->machine;
	agent->config.label_file = config->label_file;
	agent->config.ready_dir = config->ready_dir;
	agent->gpu = (struct fl_gpu_options){ .program = running->program, .roots = running->roots,
					      .dev_root = running->look_dev, .sysfs = config->sysfs,
					      .proc = config->proc, .env = (const char *const *)environ,
					      .cuda = config->cuda,
					      .pace = { .look_every = (uint64_t)config->look_every } };
	agent->inside.every = 2 * (uint64_t)config->look_every;   /* costs more, and nothing depends on it */
	agent->state_dir = config->state_dir;
	agent->plugins_dir = running->plugins;
	agent->pods_dir = running->pods;
	agent->kubelet = config->kubelet;
	agent->cdi_dir = config->cdi_dir;
	agent->runtime_socket = config->runtime;
	agent->control = config->control;
	(void)snprintf(running->fields, sizeof running->fields, "metadata.name=%.*s", FL_ARG(agent->config.node));
	running->kinds[0] = (struct fl_role_kind){ .kind = &fl_own_node_kind, .fields = running->fields };
	running->kinds[1] = (struct fl_role_kind){ .kind = &fl_device_class_kind, .any_first = true };
	(void)snprintf(running->feature, sizeof running->feature, "metadata.name=" FL_LABELS_OBJECT,
		       FL_ARG(agent->config.node));
	(void)snprintf(running->gfd, sizeof running->gfd, "metadata.name=" FL_LABELS_GFD_OBJECT,
		       FL_ARG(agent->config.node));
	running->kinds[2] = (struct fl_role_kind){ .kind = &fl_node_feature_kind, .fields = running->feature };
	running->kinds[3] = (struct fl_role_kind){ .kind = &fl_node_feature_kind, .fields = running->gfd,
						   .source = "gfd", .optional = true };
	running->role = (struct fl_role){ .name = "node", .program = &fl_program,
					  .reports = "gpu.deckhouse.io/fairlead-node",
					  .kinds = running->kinds, .capabilities = fl_agent_capabilities,
					  .alone = true, .event = changed, .ready = ready,
					  .ended = ended,
					  .self = running };
	return 0;
}

/* Of GPU feature discovery; its other names are those of settings with an effect. */
static void log_unused(struct fl_running *run, const struct fl_settings_given *given)
{
	const struct {
		struct fl_str given;
		const char *names;
	} unused[] = { { given->oneshot, "--oneshot, GFD_ONESHOT" },
		       { given->sleep_interval, "--sleep-interval, GFD_SLEEP_INTERVAL" } };

	for (size_t i = 0; i < FL_LEN(unused); i++)
		if (unused[i].given.p)
			fl_log(&run->log, FL_WARN, "setting without effect, labels are kept up to date",
			       FL_KV_TEXT("names", unused[i].names));
}

static int start_metrics(struct running *running, struct fl_err *err)
{
	struct fl_running *run = &running->run;
	struct metrics_options listener = { run->io, run->loop, run->kube, &running->agent.exporter, &run->log,
					    running->settings.metrics_listen, running->web, run->flags->open_metrics };

	return metrics_start(&running->metrics, &listener, err);
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
	log_unused(run, &config->given);
	if (run->config)
		running->kinds[2].space = running->kinds[3].space = (agent.config.space = run->config->space).p;
	agent.log = &run->log;
	agent.metrics = run->metrics;
	agent.event = tell;
	agent.event_arg = run;
	agent.kube = run->kube;
	agent.api = run->kube ? api : NULL;
	agent.api_arg = run;
	r = fl_agent_sources(&running->agent, io, run->loop, &agent, err);
	if (r == 0)
		r = fl_role_start(run, err);
	if (r == 0)
		r = fl_agent_start(&running->agent, err);
	if (r == 0)
		r = start_metrics(running, err);
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
		metrics_stop(&running->metrics);
		fl_agent_stop(&running->agent);
		fl_role_end(&running->run);
		fl_arena_free(&running->arena);
	}
	fl_free(running);
	return r;
}

/* ---- what is given must make sense before anything is made: a socket, a directory, a process ---- */

static int check_socket(const char *option, const char *path, struct fl_err *err)
{
	struct fl_err why = { 0 };
	struct fl_addr addr;

	if (!path || !path[0])
		return 0;
	if (path[0] != '/')
		return fl_fail(err, FL_E_INVALID, "%s: '%s' does not begin with /: write an absolute path", option,
			       path);
	if (fl_addr_unix(&addr, fl_str(path), &why) < 0)
		return fl_fail(err, FL_E_INVALID, "%s: %s", option, why.text);
	return 0;
}

static int check_dir(const char *option, const char *path, struct fl_err *err)
{
	return path[0] == '/' ? 0 :
				fl_fail(err, FL_E_INVALID, "%s: '%s' does not begin with /: write an absolute path",
					option, path);
}

/* The kubelet's folder holds sockets: their paths must fit into an address. */
static int check_kubelet_dir(const char *dir, struct fl_err *err)
{
	char path[FL_GPU_PATH_MAX];

	if (join(path, sizeof path, dir, "device-plugins/kubelet.sock", err) < 0)   /* the longest that is needed */
		return fl_wrap(err, "--kubelet-dir");
	return check_socket("--kubelet-dir", path, err);
}

static int check_paths(const struct node *config, struct fl_err *err)
{
	char path[FL_GPU_PATH_MAX];

	if (config->config_file && config->config_dir)
		return fl_fail(err, FL_E_INVALID,
			       "--config-file and --config-dir exclude each other: give one");
	if (config->fallback.len && !config->config_dir)
		return fl_fail(err, FL_E_INVALID, "--config-default: it names a file of --config-dir: give that too");
	if (config->config_file && (!config->config_file[0] || fl_str_ends(fl_str(config->config_file), FL_S("/"))))
		return fl_fail(err, FL_E_INVALID, "--config-file: '%s' is not the path of a file", config->config_file);
	if (check_dir("--state-dir", config->state_dir, err) < 0 || check_dir("--cdi-dir", config->cdi_dir, err) < 0 ||
	    check_dir("--kubelet-dir", config->kubelet_dir, err) < 0 ||
	    (config->ready_dir && check_dir("--ready-files-dir", config->ready_dir, err) < 0))
		return -(int)err->code;
	if (join(path, sizeof path, config->state_dir, "bin/fairlead-cdi-hook", err) < 0)
		return fl_wrap(err, "--state-dir");
	if (fl_labels_file_check(config->label_file, err) < 0)
		return fl_wrap(err, "--labels-file");
	if (check_kubelet_dir(config->kubelet_dir, err) < 0 ||
	    check_socket("--kubelet-socket", config->kubelet, err) < 0 ||
	    check_socket("--runtime-socket", config->runtime, err) < 0 ||
	    check_socket("--control-socket", config->control, err) < 0)
		return -(int)err->code;
	return 0;
}

static int check(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct node *config = call->config;
	const struct fl_settings_from from = { .given = &config->given };
	struct fl_settings settings = { 0 };
	struct fl_addr addr;

	if (config->name.len && fl_name_check(FL_NAME_SUBDOMAIN, "--node-name", config->name, err) < 0)
		return -(int)err->code;
	if (fl_role_check(&config->role, err) < 0 || check_paths(config, err) < 0 ||
	    fl_settings_read(&from, &arena, &settings, err) < 0)
		return -(int)err->code;
	if (settings.metrics_listen.len && metrics_address(settings.metrics_listen, &addr, err) < 0)
		return -(int)err->code;
	if (fl_sandboxes_check(settings.metrics_pod_allow, err) < 0)
		return fl_wrap(err, "--metrics-pod-label-allowlist");
	if (settings.look_roots.len > FL_GPU_ROOTS_MAX)
		return fl_fail(err, FL_E_INVALID, "--driver-root may be given %d times", FL_GPU_ROOTS_MAX);
	return 0;
}

const struct fl_command fl_cmd_node = {
	"node", "Watch the GPUs of this node and advertise them to the kubelet.", NULL,
	FL_COMMAND_OPTIONS(options, struct node), .usual = fl_settings_usual, .check = check, .run = node,
};
