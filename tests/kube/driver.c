/* The client at the hands of the tests in tests/cluster/kube: one command, lines of text out.
 *
 *     driver CONNECT VERB ARG...        CONNECT: a kubeconfig's path, or --server=URL
 *
 * What it prints is the interface: one line a thing that happens, words separated by blanks, free text last. It ends
 * when its stdin is closed, so that a test that dies leaves nothing behind.
 */
#include "api/core.h"
#include "base/units.h"
#include "driver.h"
#include "driver_clock.h"
#include "io/log_stderr.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WIDGET(X) FL_OBJECT(X) X(RAW, spec, "spec", .help = "Anything.")
FL_STRUCT(widget, WIDGET);
FL_BIND(widget, WIDGET)

static const struct fl_kind widget_kind = { .group = "test.fairlead.dev", .version = "v1", .kind = "Widget",
					    .plural = "widgets", .root = widget_bind, .status = true,
					    .help = "A kind that comes and goes." };
static const struct fl_kind deployment_kind = { .group = "apps", .version = "v1", .kind = "Deployment",
						.plural = "deployments", .root = widget_bind,
								.help = "Of the cluster." };
static const struct fl_kind *const kinds[] = { &widget_kind, &deployment_kind, &driver_gadget_kind,
					       &fl_pod_kind, &fl_node_kind, &fl_config_map_kind,
					       &fl_namespace_kind, &fl_event_kind };

const struct fl_kind *driver_kind(const char *name)
{
	for (size_t i = 0; i < FL_LEN(kinds); i++)
		if (fl_kind_named(kinds[i], fl_str(name)))
			return kinds[i];
	fprintf(stderr, "driver: no kind '%s'\n", name);
	exit(2);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* ---- one call ---- */

struct one {
	struct fl_kube_call call;
	struct fl_err err;
	struct driver *driver;
	bool print;
};

static int one_item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct one *one = fl_container(call, struct one, call);
	size_t len;
	char *text;

	(void)what;
	(void)err;
	if (!one->print)
		return 0;
	text = yyjson_val_write(object, 0, &len);
	say("object %s", text ? text : "");
	free(text);
	return 0;
}

static void one_page(struct fl_kube_call *call, const struct fl_list *list)
{
	(void)call;
	say("page %.*s", FL_ARG(list->resource_version));
}

static void one_done(struct fl_op *op)
{
	struct one *one = fl_container(op, struct one, call.op);

	if (op->result < 0)
		say("failed %s %d %s %s", fl_name(&fl_code_names, (int)-op->result), one->call.status,
		    one->call.answer.reason ? fl_name(&fl_reason_names, (int)one->call.answer.reason) : "-",
				one->err.text);
	else
		say("done %lld %llu", (long long)op->result, (unsigned long long)one->call.items);
	fl_io_stop(one->driver->io);
}

static const char *flag(struct driver *driver, const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < driver->argc; i++)
		if (strncmp(driver->argv[i], name, len) == 0 && driver->argv[i][len] == '=')
			return driver->argv[i] + len + 1;
	return NULL;
}
const char *driver_flag(struct driver *driver, const char *name)
{
	return flag(driver, name);
}

/* "@PATH" stands for what is in the file: an argument may not be longer than 128 KiB. */
static struct fl_str body_of(struct driver *driver)
{
	static char *text;
	const char *body = flag(driver, "body");
	size_t len = 0, size = 0;
	FILE *file;

	if (!body || body[0] != '@')
		return fl_str(body);
	file = fopen(body + 1, "re");
	if (!file || getdelim(&text, &size, '\0', file) < 0) {
		fprintf(stderr, "driver: cannot read %s\n", body + 1);
		exit(2);
	}
	(void)fclose(file);
	len = strlen(text);
	return (struct fl_str){ text, (uint32_t)len };
}

static int call_verb(struct driver *driver, int verb)
{
	static struct one one;
	const char *propagation = flag(driver, "propagation"), *timeout = flag(driver, "timeout");
	const char *path = flag(driver, "path");

	one = (struct one){ .driver = driver, .print = !flag(driver, "quiet") };
	one.call = (struct fl_kube_call){
		.op = { .done = one_done, .err = &one.err,
			.deadline = fl_now(driver->io) + (timeout ? strtoull(timeout, NULL, 10) : 30) * FL_NS_PER_S },
		.verb = (enum fl_kube_verb)verb, .path = path, .kind = path ? NULL : driver_kind(flag(driver, "kind")),
		.space = fl_str(flag(driver, "space")), .name = fl_str(flag(driver, "name")),
		.subresource = flag(driver, "subresource"), .body = body_of(driver),
		.manager = flag(driver, "manager"), .force = flag(driver, "force"), .strict = flag(driver, "strict"),
		.dry_run = flag(driver, "dry"), .if_uid = fl_str(flag(driver, "uid")),
		.if_version = fl_str(flag(driver, "version")), .labels = fl_str(flag(driver, "labels")),
		.fields = fl_str(flag(driver, "fields")), .item = one_item, .page = one_page,
		.limit = flag(driver, "limit") ? (uint32_t)strtoul(flag(driver, "limit"), NULL, 10) : 0,
		.once = flag(driver, "once"), .accept = flag(driver, "accept"),
	};
	if (propagation)
		one.call.propagation = (enum fl_propagation)fl_name_find(&fl_propagation_names, fl_str(propagation));
	fl_kube_start(driver->kube, &one.call);
	return 0;
}

/* ---- what it serves ---- */

static struct fl_discovery served;
static struct fl_discover discover;
static struct fl_err discover_err;
static struct driver *discover_driver;

static void discovered(struct fl_op *op)
{
	if (op->result < 0)
		say("failed %s", discover_err.text);
	for (uint32_t i = 0; i < served.len; i++)
		say("resource %s%.*s/%.*s %.*s %.*s %d %d %d", served.at[i].preferred ? "*" : "",
				FL_ARG(served.at[i].group),
		    FL_ARG(served.at[i].version), FL_ARG(served.at[i].plural), FL_ARG(served.at[i].kind),
		    served.at[i].namespaced, served.at[i].status, (int)served.at[i].can);
	say("done %lld %.*s %u.%u", (long long)op->result, FL_ARG(served.git_version), served.major, served.minor);
	fl_discovery_free(&served);
	fl_io_stop(discover_driver->io);
}

static int discover_verb(struct driver *driver)
{
	discover_driver = driver;
	discover = (struct fl_discover){ .op = { .done = discovered, .err = &discover_err,
						 .deadline = fl_now(driver->io) + 10 * FL_NS_PER_S },
					 .into = &served };
	fl_discover(driver->kube, &discover);
	return 0;
}

/* ---- the program ---- */

static void stdin_ready(struct fl_poll *poll, unsigned what)
{
	struct driver *driver = fl_container(poll, struct driver, in);
	char line[512];
	int64_t n = fl_read(driver->io, 0, line, sizeof line - 1);

	(void)what;
	if (n <= 0 && n != -FL_E_AGAIN) {
		fl_io_stop(driver->io);
	} else if (n > 0) {
		line[n] = 0;
		driver_told(driver, line);
	}
}

static int start(struct driver *driver, const char *verb)
{
	int known = fl_name_find(&fl_kube_verb_names, fl_str(verb));

	if (strcmp(verb, "discover") == 0)
		return discover_verb(driver);
	if (strcmp(verb, "follow") == 0)
		return follow_verb(driver);
	if (strcmp(verb, "lead") == 0)
		return lead_verb(driver);
	if (strcmp(verb, "event") == 0)
		return event_verb(driver);
	if (strcmp(verb, "repeat") == 0)
		return repeat_verb(driver);
	if (strcmp(verb, "loop") == 0)
		return loop_verb(driver);
	if (strcmp(verb, "definition") == 0)
		return definition_verb(driver);
	if (known < 0) {
		fprintf(stderr, "driver: no verb '%s'\n", verb);
		return -1;
	}
	return call_verb(driver, known);
}

int main(int argc, char **argv)
{
	struct fl_err err = { 0 };
	struct driver driver = { .argc = argc - 3, .argv = argv + 3 };
	struct fl_kube_where where = { .env = (const char *const *)environ };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(&err);
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	FL_AUTO(fl_kube) struct fl_kube *kube = NULL;
	static struct fl_log log;

	if (argc < 3)
		return 2;
	if (strncmp(argv[1], "--server=", 9) == 0)
		where.server = argv[1] + 9;
	else if (strcmp(argv[1], "--account") == 0)
		where.account_dir = getenv("ACCOUNT_DIR");
	else
		where.kubeconfig = argv[1];
	config = io ? fl_kube_config_load(fl_io_fs(io), &where, &err) : NULL;
	if (config) {
		fl_log_init(&log, &(struct fl_log_to){ 0 }, "driver");
		driver_log(&log, io);
		kube = fl_kube_new(io, &(struct fl_kube_options){ .config = config, .role = "driver", .log = &log },
				   &err);
	}
	if (!kube) {
		say("failed %s", err.text);
		return 1;
	}
	driver.io = io;
	driver.kube = kube;
	driver.log = &log;
	driver.in = (struct fl_poll){ .ready = stdin_ready, .fd = 0 };
	if (!isatty(0) && fl_poll_set(io, &driver.in, FL_READABLE, &err) < 0)
		fprintf(stderr, "driver: stdin: %s\n", err.text);
	if (flag(&driver, "step"))
		say("stepped %lld", (long long)driver_clock_step(io, flag(&driver, "step")));
	if (start(&driver, argv[2]) < 0 || fl_io_run(io, &err) < 0)
		return 1;
	driver_end(&driver);
	fl_poll_stop(io, &driver.in);
	return 0;
}
