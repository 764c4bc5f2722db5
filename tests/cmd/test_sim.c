/* fairlead sim: which fake node is meant, and what the program that drives it is told. */
#include "cmd/program.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/stat.h>

/* Says beside itself what it was told; a crash is something that it refuses. */
static const char driver[] = "#!/bin/sh\necho \"$*\" >\"${0%/*}/said\"\n[ \"$3\" != crash ]\n";

struct clusters {
	char dir[200], gpus[240], option[240];
};

/* DIR/main/gpus with the driver and one node. */
static bool make(struct clusters *c)
{
	char path[300];

	(void)snprintf(c->dir, sizeof c->dir, "%s", test_dir());
	(void)snprintf(c->option, sizeof c->option, "--clusters=%s", c->dir);
	(void)snprintf(c->gpus, sizeof c->gpus, "%s/main", c->dir);
	if (mkdir(c->gpus, 0755) < 0)
		return false;
	(void)snprintf(c->gpus, sizeof c->gpus, "%s/main/gpus", c->dir);
	(void)snprintf(path, sizeof path, "%s/node-1", c->gpus);
	if (mkdir(c->gpus, 0755) < 0 || mkdir(path, 0755) < 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/fakectl", c->gpus);
	return test_write_file(path, driver) && chmod(path, 0755) == 0;
}

static int run(const struct clusters *c, const char *const *words, struct fl_err *err)
{
	FL_AUTO(fl_call) struct fl_call call = { .help = false };
	const char *argv[8] = { "sim", c->option };
	struct fl_args args = { .argc = 2, .argv = argv };
	int r;

	while (*words)
		argv[args.argc++] = *words++;
	r = fl_call_parse(&call, &fl_program, &args, err);
	return r < 0 ? r : call.command->run(&call, err);
}

static const struct {
	const char *says, *words[6];
	enum fl_code code;
	const char *why;
} refusals[] = {
	{ "too few words: the right ones are said", { "xid", "node-1", "3" }, FL_E_INVALID,
	  "xid wants: fairlead sim xid NODE GPU XID" },
	{ "too many", { "lose", "node-1", "3", "4" }, FL_E_INVALID, "lose wants: fairlead sim lose NODE GPU" },
	{ "a node that is not there: those that are are said", { "heal", "node-9" }, FL_E_NOTFOUND,
	  "there is no node 'node-9'; there are node-1" },
	{ "a node that would be a path", { "heal", "../node-1" }, FL_E_INVALID, "'../node-1' is no name of a node" },
	{ "a cluster that would be one", { "--cluster=../main", "heal", "node-1" }, FL_E_INVALID, "none of a cluster" },
	{ "a cluster that does not run", { "--cluster=other", "heal", "node-1" }, FL_E_NOTFOUND,
	  "no cluster 'other' with fake GPUs runs here; ./dev up starts one" },
	{ "what never happens", { "burn", "node-1", "3" }, FL_E_INVALID, "burn" },
};

TEST(what_cannot_be_is_refused)
{
	struct clusters c;

	CHECK(make(&c));
	EACH_ROW (row, refusals) {
		struct fl_err err = { .text = "" };

		REFUSED(run(&c, row->words, &err), row->code);
		CHECK(test_tortured() || strstr(err.text, row->why));
	}
	CHECK_STR(test_read_file(test_path(c.gpus, "said")), "(none)");
}

static const struct {
	const char *says, *words[6];
	int status;
	const char *said;      /* behind the node's path */
} sayings[] = {
	{ "a GPU and an XID", { "xid", "node-1", "3", "79" }, 0, "xid 3 79" },
	{ "of a call that hangs it is not said which", { "hang", "node-1", "GPU-1" }, 0, "hang any GPU-1" },
	{ "all is healed", { "heal", "node-1" }, 0, "heal" },
	{ "one is healed", { "heal", "node-1", "3" }, 0, "heal 3" },
	{ "memory errors, and how many", { "ecc", "node-1", "0", "uncorrected", "4" }, 0, "ecc 0 uncorrected 4" },
	{ "a refusal of the driver's program is ours", { "crash", "node-1", "3" }, 1, "crash any 3" },
};

/* Starts real programs. */
TEST_ONCE(the_program_that_drives_the_fake_is_told)
{
	struct clusters c;
	char want[400];

	CHECK(make(&c));
	EACH_ROW (row, sayings) {
		struct fl_err err = { .text = "" };
		int r = run(&c, row->words, &err);

		OK_ERR(r, &err);
		CHECK_INT(r, row->status);
		(void)snprintf(want, sizeof want, "say %s/node-1 %s\n", c.gpus, row->said);
		CHECK_STR(test_read_file(test_path(c.gpus, "said")), want);
	}
}

TEST_ONCE(a_program_that_cannot_be_run_is_told)
{
	const char *const words[] = { "heal", "node-1", NULL };
	struct fl_err err = { .text = "" };
	struct clusters c;

	CHECK(make(&c));
	CHECK(chmod(test_path(c.gpus, "fakectl"), 0644) == 0);
	CHECK(run(&c, words, &err) < 0);
	CHECK(strstr(err.text, "fakectl"));
}
