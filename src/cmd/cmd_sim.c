/* What goes wrong with the fake GPUs of ./dev up, on demand. */
#include "cmd/program.h"
#include "io/child.h"
#include "io/fs.h"
#include "io/io.h"
#include <stdio.h>
#include <unistd.h>

/* Where tests/cluster keeps what a cluster is made of, and in it the fake nodes with the program that drives them. */
#define CLUSTERS "/run/fairlead-cluster"
#define DRIVER "fakectl"

enum fl_sim_what { SIM_XID, SIM_LOSE, SIM_HANG, SIM_CRASH, SIM_PULL, SIM_ECC, SIM_RECOVERY, SIM_RESET, SIM_DRIVER,
		   SIM_LOAD, SIM_HEAL, SIM_SHOW, SIM_WHAT_COUNT_ };
FL_NAMES(fl_sim_what_names, SIM_WHAT_COUNT_, [SIM_XID] = "xid", [SIM_LOSE] = "lose", [SIM_HANG] = "hang",
	 [SIM_CRASH] = "crash", [SIM_PULL] = "pull", [SIM_ECC] = "ecc", [SIM_RECOVERY] = "recovery",
	 [SIM_RESET] = "reset", [SIM_DRIVER] = "driver", [SIM_LOAD] = "load", [SIM_HEAL] = "heal", [SIM_SHOW] = "show");

/* `call`: the fake wants to know which call of the library, and a person mostly means any. */
static const struct {
	const char *usage;
	uint32_t least, most;
	bool call;
} words[SIM_WHAT_COUNT_] = {
	[SIM_XID] = { "GPU XID", 2, 2, false },
	[SIM_LOSE] = { "GPU", 1, 1, false },
	[SIM_HANG] = { "GPU", 1, 1, true },
	[SIM_CRASH] = { "GPU", 1, 1, true },
	[SIM_PULL] = { "GPU", 1, 1, false },
	[SIM_ECC] = { "GPU corrected|uncorrected [COUNT]", 2, 3, false },
	[SIM_RECOVERY] = { "GPU none|reset|reboot|drain-p2p|drain-reset|imex-domain", 2, 2, false },
	[SIM_RESET] = { "GPU", 1, 1, false },
	[SIM_DRIVER] = { "loaded|absent|mismatch|unload [VERSION]", 1, 2, false },
	[SIM_LOAD] = { "GPU PERCENT", 2, 2, false },
	[SIM_HEAL] = { "[GPU]", 0, 1, false },
	[SIM_SHOW] = { "", 0, 0, false },
};

struct sim {
	enum fl_sim_what what;
	struct fl_str node, cluster;
	struct fl_strs more;
	const char *clusters;
};

static const struct fl_option options[] = {
	FL_OPT_ENUM(struct sim, what, fl_sim_what, "WHAT", "What happens.", .operand = true, .required = true),
	FL_OPT_STR(struct sim, node, "NODE", "On which node.", .operand = true, .required = true),
	FL_OPT_STRS(struct sim, more, "WORD", "GPU, by its index or UUID, and further arguments.",
		    .operand = true),
	FL_OPT_STR(struct sim, cluster, "cluster", "Of which cluster.", .value = "NAME", .fallback = "main"),
	FL_OPT_PATH(struct sim, clusters, "clusters", "Where clusters are kept.", .fallback = CLUSTERS, .hidden = true),
};

static const char about[] =
	"xid NODE GPU XID: the driver reports an error; 79 is a GPU that fell off the bus.\n\n"
	"lose NODE GPU, pull NODE GPU: every call says that it is lost; it is gone from the bus.\n\n"
	"hang NODE GPU, crash NODE GPU: the next call about it does not return; kills who made it.\n\n"
	"ecc NODE GPU uncorrected, recovery NODE GPU reset, reset NODE GPU: memory errors; what the driver wants done; "
	"doing it.\n\n"
	"driver NODE absent, driver NODE loaded: it is unloaded by force, and is there again.\n\n"
	"load NODE GPU PERCENT: how busy the GPU is.\n\n"
	"heal NODE: all of this is undone; heal NODE GPU: what concerns that GPU. show NODE: the driver and the GPUs.";

/* ---- where it is ---- */

static bool is_there(struct fl_io *io, const char *path)
{
	const struct fl_fs *fs = fl_io_fs(io);
	struct fl_stat stat;

	return fs->stat(fs, AT_FDCWD, path, 0, &stat) == 0;
}

/* " node-1 node-2", as the directory has them. */
static void name_nodes(struct fl_io *io, const char *dir, struct fl_buf *ret)
{
	const struct fl_fs *fs = fl_io_fs(io);
	int fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	char names[4096];
	int64_t len = fd < 0 ? 0 : fs->list(fs, fd, names, sizeof names);
	const char *name;

	for (size_t at = 0; len > 0 && (name = fl_list_next(names, (size_t)len, &at, NULL));)
		if (strcmp(name, DRIVER) != 0)
			fl_buf_printf(ret, " %s", name);
	if (fd >= 0)
		fs->close(fs, fd);
}

static int find_node(struct fl_io *io, const struct sim *config, struct fl_buf *driver, struct fl_buf *node,
		     struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf dir = FL_BUF(FL_HELP_MAX), names = FL_BUF(FL_HELP_MAX);

	/* Both are parts of a path. */
	if (fl_str_find(config->node, '/') >= 0 || fl_str_find(config->cluster, '/') >= 0)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is no name of a node, or '%.*s' none of a cluster",
			       FL_ARG(config->node), FL_ARG(config->cluster));
	fl_buf_printf(&dir, "%s/%.*s/gpus", config->clusters, FL_ARG(config->cluster));
	fl_buf_printf(driver, "%.*s/" DRIVER, FL_ARG(fl_buf_view(&dir)));
	fl_buf_printf(node, "%.*s/%.*s", FL_ARG(fl_buf_view(&dir)), FL_ARG(config->node));
	if (fl_buf_check(&dir, "path", err) < 0 || fl_buf_check(driver, "path", err) < 0 ||
	    fl_buf_check(node, "path", err) < 0)
		return -(int)err->code;
	if (!is_there(io, driver->p))
		return fl_fail(err, FL_E_NOTFOUND,
			       "no cluster '%.*s' with fake GPUs runs here; ./dev up starts one (and is root's)",
			       FL_ARG(config->cluster));
	if (is_there(io, node->p))
		return 0;
	name_nodes(io, dir.p, &names);
	return fl_fail(err, FL_E_NOTFOUND, "there is no node '%.*s'; there are%.*s", FL_ARG(config->node),
		       FL_ARG(fl_buf_view(&names)));
}

/* ---- and what it is told ---- */

static int await(struct fl_io *io, struct fl_op *op, struct fl_err *err)
{
	while (fl_op_busy(op))
		if (fl_io_turn(io, FL_NEVER, err) < 0)
			return -(int)err->code;
	return (int)op->result;
}

static int run_driver(struct fl_io *io, const char *driver, const char *const *argv, struct fl_err *err)
{
	static const struct fl_fd_map fds[] = { { STDOUT_FILENO, STDOUT_FILENO }, { STDERR_FILENO, STDERR_FILENO } };
	const struct fl_spawn how = { .path = driver, .argv = argv, .fds = fds, .fd_count = FL_LEN(fds) };
	struct fl_child_start start = { .op = { .err = err } };
	struct fl_child_wait wait = { .op = { .err = err } };
	FL_AUTO(fl_child) struct fl_child *child = NULL;
	int r;

	fl_child_start(io, &start, &how);
	r = await(io, &start.op, err);
	fl_op_cancel(&start.op);
	if (r < 0)
		return r;
	child = start.child;
	fl_child_wait(child, &wait);
	r = await(io, &wait.op, err);
	fl_op_cancel(&wait.op);
	return r < 0 ? r : wait.exit.code != 0;   /* one that failed has said why */
}

static int say(struct fl_io *io, const struct sim *config, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf driver = FL_BUF(FL_HELP_MAX), node = FL_BUF(FL_HELP_MAX);
	const char *what = fl_name(&fl_sim_what_names, (int)config->what);
	const char *argv[10] = { "fairlead: sim", "say" };
	uint32_t at = 2;

	if (config->more.len < words[config->what].least || config->more.len > words[config->what].most)
		return fl_fail(err, FL_E_INVALID, "%s wants: fairlead sim %s NODE %s", what, what,
			       words[config->what].usage);
	if (find_node(io, config, &driver, &node, err) < 0)
		return -(int)err->code;
	argv[at++] = node.p;
	argv[at++] = what;
	if (words[config->what].call)
		argv[at++] = "any";
	for (uint32_t i = 0; i < config->more.len; i++)
		argv[at++] = config->more.at[i].p;   /* of the command line: terminated */
	return run_driver(io, driver.p, argv, err);
}

static int sim(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);

	return io ? say(io, call->config, err) : -(int)err->code;
}

const struct fl_command fl_cmd_sim = {
	"sim", "Inject and clear faults of the fake GPUs of a ./dev up cluster.", about,
	FL_COMMAND_OPTIONS(options, struct sim), .run = sim,
};
