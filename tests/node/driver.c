/* The kubelet's side of the agent as a program, for tests/peer/plugin and tests/cluster/node: what a whole agent
 * decides is read from a file.
 *
 *     node_driver FILE [plugins=DIR] [pods=DIR]
 *
 * FILE is a JSON list of Resources (api/node.h); it is read again whenever a line comes on stdin, and the program ends
 * with stdin. What it prints is one line a thing that happens: "wants N", "allocated", "holder NAME ID,ID",
 * "socket NAME ours live", "unwatched NAME". Its log goes to stderr.
 */
#include "api/node.h"
#include "io/log_stderr.h"
#include "node/kubelet/holders.h"
#include "node/kubelet/plugin.h"
#include "wishes.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct driver {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_plugins *plugins;
	struct fl_holders *holders;
	struct fl_poll in;
	const char *file;
	struct fl_log log;
};

static const char *flag(char **argv, const char *name)
{
	size_t len = strlen(name);

	for (; *argv; argv++)
		if (strncmp(*argv, name, len) == 0 && (*argv)[len] == '=')
			return *argv + len + 1;
	return NULL;
}

static void fail(const struct fl_err *err)
{
	(void)fprintf(stderr, "node_driver: %s\n", err->text);
	exit(1);
}

static void say_holder(const struct fl_holder *holder)
{
	printf("holder %.*s ", FL_ARG(holder->meta.name));
	for (uint32_t i = 0; i < holder->devices.len; i++)
		printf("%s%.*s", i ? "," : "", FL_ARG(holder->devices.at[i]));
	putchar('\n');
}

/* All that is known, on a line "look". */
static void look(struct driver *driver)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(driver->loop, &arena);
	struct fl_each holders = fl_view_all(&view, &fl_holder_kind);
	struct fl_each sockets = fl_view_all(&view, &fl_plugin_socket_kind);
	const struct fl_plugin_socket *sock;
	const struct fl_holder *holder;
	const char *unwatched = fl_plugins_unwatched(driver->plugins, NULL);

	while ((holder = fl_each_next(&holders)))
		say_holder(holder);
	while ((sock = fl_each_next(&sockets)))
		printf("socket %.*s %s %s\n", FL_ARG(sock->meta.name), sock->ours ? "ours" : "theirs",
		       sock->live ? "live" : "dead");
	printf("unwatched %s\nlooked\n", unwatched ? unwatched : "-");
}

static void read_wishes(struct driver *driver)
{
	char *text = NULL;
	size_t size = 0;
	struct fl_err err = { 0 };
	FILE *file = fopen(driver->file, "re");
	ssize_t len = file ? getdelim(&text, &size, '\0', file) : -1;

	if (len < 0) {
		(void)fl_fail(&err, FL_E_IO, "cannot read '%s'", driver->file);
		fail(&err);
	}
	(void)fclose(file);
	if (wishes_put(driver->loop, (struct fl_str){ text, (uint32_t)len }, &err) < 0)
		fail(&err);
	free(text);
	puts("wants");
}

static void told(struct fl_poll *poll, unsigned what)
{
	struct driver *driver = fl_container(poll, struct driver, in);
	char line[64];
	ssize_t len = read(poll->fd, line, sizeof line);

	(void)what;
	if (len <= 0) {
		fl_io_stop(driver->io);
		return;
	}
	if (line[0] == 'l')
		look(driver);
	else
		read_wishes(driver);
	(void)fflush(stdout);
}

static void allocated(void *driver_)
{
	struct driver *driver = driver_;

	fl_holders_look(driver->holders);
	puts("allocated");
	(void)fflush(stdout);
}

static void start(struct driver *driver, char **argv, struct fl_err *err)
{
	const struct fl_plugins_options plugins = { .dir = flag(argv, "plugins"), .log = &driver->log,
						    .allocated = allocated, .arg = driver };
	const struct fl_holders_options holders = { .dir = flag(argv, "pods"), .log = &driver->log };
	struct fl_loop_options options = { .log = &driver->log };
	struct fl_log_to to;

	driver->io = fl_posix_new(err);
	if (!driver->io || fl_random(driver->io, options.seed, sizeof options.seed, err) < 0)
		fail(err);
	to = fl_log_to_stderr(driver->io);
	fl_log_init(&driver->log, &to, "node");
	driver->loop = fl_loop_new(driver->io, &options, err);
	if (!driver->loop || wishes_sources(driver->loop, &driver->plugins, err) < 0)
		fail(err);
	driver->plugins = fl_plugins_new(driver->io, driver->loop, &plugins, err);
	driver->holders = driver->plugins ? fl_holders_new(driver->io, driver->loop, &holders, err) : NULL;
	driver->in = (struct fl_poll){ .ready = told, .fd = STDIN_FILENO };
	if (!driver->holders || fl_poll_set(driver->io, &driver->in, FL_READABLE, err) < 0)
		fail(err);
}

int main(int argc, char **argv)
{
	static struct driver driver;
	struct fl_err err = { .text = "usage: node_driver FILE [plugins=DIR] [pods=DIR]" };
	int r;

	if (argc < 2)
		fail(&err);
	driver.file = argv[1];
	start(&driver, argv + 2, &err);
	read_wishes(&driver);
	(void)fflush(stdout);
	r = fl_io_run(driver.io, &err);
	fl_poll_stop(driver.io, &driver.in);
	fl_holders_free(driver.holders);
	fl_plugins_free(driver.plugins);
	fl_loop_free(driver.loop);
	fl_io_free(driver.io);
	return r < 0;
}
