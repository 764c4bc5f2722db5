#include "base/command.h"
#include "base/log.h"
#include "test.h"

struct check {
	int64_t workers;
	enum fl_level level;
	bool deep;
	struct fl_strs nodes;
};

static const struct fl_option rows[] = {
	FL_OPT_STRS(struct check, nodes, "NODE", "Nodes to look at; all when none is named.", .operand = true),
	FL_OPT_INT(struct check, workers, "workers", "How many checks may run at once, each in a process of its own.",
		   .letter = 'w', .min = 1, .max = 64, .fallback = "4"),
	FL_OPT_ENUM(struct check, level, fl_level, "log-level", "How much to say.", .fallback = "info"),
	FL_OPT_BOOL(struct check, deep, "deep", "Look deep.", .env = ""),
	FL_OPT_BOOL(struct check, deep, "secret-door", "For tests.", .hidden = true),
	FL_OPT_INT(struct check, workers, "checks-that-may-run-beside-each-other", "In other words.", .hidden = true),
};

static int run(const struct fl_call *call, struct fl_err *err)
{
	(void)err;
	return (int)((struct check *)call->config)->workers;
}

static const struct fl_command check = {
	"check", "Look whether the cards are ready.", "Each card is tried.\n\nNothing is changed.",
	FL_COMMAND_OPTIONS(rows, struct check), .run = run,
};
static const struct fl_command version = { "version", "Print the version.", .run = run };
static const struct fl_command sim_xid = { "sim xid", "Break a card.", FL_COMMAND_OPTIONS(rows, struct check),
	.run = run };
static const struct fl_command sim_heal = { "sim heal", "Heal a card.", .run = run };
static const struct fl_command inner = { "inner", "For machines.", .run = run, .hidden = true };
static const struct fl_command *const commands[] = { &check, &version, &sim_xid, &sim_heal, &inner };
static const struct fl_program program = { "fairlead", "A program.", "FAIRLEAD_", commands, FL_LEN(commands) };

static struct fl_args args_of(const char *const *argv)
{
	struct fl_args args = { .argv = argv };

	while (argv[args.argc])
		args.argc++;
	return args;
}

TEST(a_variable_that_no_option_reads_is_unknown_and_the_nearest_is_named)
{
	static const struct {
		const char *says, *entry;
		const char *name, *nearest;    /* NULL: it is known, or none of ours */
	} entries[] = {
		{ "an option's", "FAIRLEAD_WORKERS=8" },
		{ "a hidden option's", "FAIRLEAD_SECRET_DOOR=true" },
		{ "a mistake", "FAIRLEAD_WORKER=8", "FAIRLEAD_WORKER", "FAIRLEAD_WORKERS" },
		{ "without a value", "FAIRLEAD_LOGLEVEL=", "FAIRLEAD_LOGLEVEL", "FAIRLEAD_LOG_LEVEL" },
		{ "an option that no variable sets", "FAIRLEAD_DEEP=1", "FAIRLEAD_DEEP", "" },
		{ "what is like none", "FAIRLEAD_COLOUR_OF_THE_LOG=red", "FAIRLEAD_COLOUR_OF_THE_LOG", "" },
		{ "what is like a hidden one", "FAIRLEAD_SECRET_DOORS=1", "FAIRLEAD_SECRET_DOORS", "" },
		{ "somebody else's", "PATH=/bin" },
		{ "a Service called fairlead", "FAIRLEAD_PORT=tcp://10.0.0.1:80" },
		{ "its address", "FAIRLEAD_SERVICE_HOST=10.0.0.1" },
		{ "a Service called fairlead-controller", "FAIRLEAD_CONTROLLER_SERVICE_PORT_HTTPS=443" },
		{ "its port", "FAIRLEAD_CONTROLLER_PORT_443_TCP_ADDR=10.0.0.1" },
		{ "its port, without its address", "FAIRLEAD_API_PORT_443_TCP=tcp://10.0.0.2:443" },
		{ "a port of no Service", "FAIRLEAD_PORT=8443", "FAIRLEAD_PORT", "" },
		{ "one with a Service's name around it", "FAIRLEAD_CONTROLLER_METRICS_PORT=1",
		  "FAIRLEAD_CONTROLLER_METRICS_PORT", "" },
		{ "one that only begins as a Service's", "FAIRLEAD_CONTROLLER_PORTS=1", "FAIRLEAD_CONTROLLER_PORTS",
		  "" },
		{ "a URL that is no port's", "FAIRLEAD_SERVERS=https://a", "FAIRLEAD_SERVERS", "FAIRLEAD_WORKERS" },
		{ "an option's in small letters", "FAIRLEAD_log_level=debug", "FAIRLEAD_log_level",
		  "FAIRLEAD_LOG_LEVEL" },
		{ "an option's that is too long to be compared",
		  "FAIRLEAD_CHECKS_THAT_MAY_RUN_BESIDE_EACH_OTHER=1" },
	};

	EACH_ROW_ALONE (row, entries) {
		char text[FL_OPTION_NAME * 2] = "";
		struct fl_buf nearest = FL_BUF_IN(text);
		struct fl_str name = FL_S("");
		const char *env[] = { "FAIRLEAD_CONTROLLER_SERVICE_HOST=10.0.0.1", row->entry, NULL };
		bool unknown = fl_program_unknown_env(&program, env, row->entry, &name, &nearest);

		CHECK_INT(unknown, row->name != NULL);
		if (!row->name)
			continue;
		CHECK_STR(name, row->name);
		CHECK_STR(fl_buf_view(&nearest), row->nearest);
	}
}

static const struct {
	const char *says;
	const char *argv[6];
	const struct fl_command *command;
	bool help;
} good[] = {
	{ "a verb", { "check" }, &check, false },
	{ "a verb with its options", { "check", "-w", "8" }, &check, false },
	{ "a verb of two words", { "sim", "xid", "n1" }, &sim_xid, false },
	{ "its neighbour", { "sim", "heal" }, &sim_heal, false },
	{ "a hidden verb", { "inner" }, &inner, false },
	{ "help of all", { "--help" }, NULL, true },
	{ "help of all by its letter", { "-h", "check" }, NULL, true },
	{ "help of one", { "check", "--help" }, &check, true },
	{ "help of two words", { "sim", "xid", "-h" }, &sim_xid, true },
	{ "the version as an option", { "--version" }, &version, false },
};

TEST(verbs_are_found)
{
	EACH_ROW (row, good) {
		FL_AUTO(fl_call) struct fl_call call = { .help = false };
		struct fl_args args = args_of(row->argv);
		struct fl_err err;

		OK_ERR(fl_call_parse(&call, &program, &args, &err), &err);
		CHECK(call.command == row->command);
		CHECK_INT(call.help, row->help);
		if (row->command == &check && !row->help)
			CHECK_INT(call.command->run(&call, NULL), row->argv[1] ? 8 : 4);
	}
}

static const struct {
	const char *says;
	const char *argv[6];
	const char *words;
} bad[] = {
	{ "no verb at all", { NULL }, "which verb? `fairlead help` lists them" },
	{ "a near miss", { "chekc" },
	  "no verb 'chekc'; did you mean 'check'? `fairlead help` lists all: check, version, sim xid, sim heal" },
	{ "nothing near", { "nonsense" }, "no verb 'nonsense'; there are: check, version, sim xid, sim heal" },
	{ "what is hidden is not offered", { "iner" }, "no verb 'iner'; there are: check, version, sim xid, sim heal" },
	{ "half of two words", { "sim" },
	  "no verb 'sim'; did you mean 'sim xid'? `fairlead help` lists all: check, version, sim xid, sim heal" },
	{ "an option of a verb", { "check", "--depe" }, "check: no option --depe; did you mean --deep?" },
	{ "an argument of a verb", { "version", "x" }, "version: takes no arguments, but got 'x'" },
	{ "an option before the verb", { "--deep", "check" },
	  "no verb '--deep'; there are: check, version, sim xid, sim heal" },
};

TEST(what_is_no_verb_is_refused_with_the_right_ones)
{
	EACH_ROW (row, bad) {
		FL_AUTO(fl_call) struct fl_call call = { .help = false };
		struct fl_args args = args_of(row->argv);
		struct fl_err err;

		REFUSED(fl_call_parse(&call, &program, &args, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
		CHECK_INT(fl_call_parse(&(struct fl_call){ 0 }, &program, &(struct fl_args){ 0 }, NULL), -FL_E_INVALID);
	}
}

TEST(help_of_a_verb)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	fl_help(&program, &check, &buf);
	OK(fl_buf_check(&buf, "help", NULL));
	CHECK_STR(fl_buf_view(&buf),
		  "fairlead check [options] [NODE...]\n"
		  "\n"
		  "Look whether the cards are ready.\n"
		  "\n"
		  "Each card is tried.\n"
		  "\n"
		  "Nothing is changed.\n"
		  "\n"
		  "Arguments:\n"
		  "  NODE                        Nodes to look at; all when none is named. (may be\n"
		  "                              given many times)\n"
		  "\n"
		  "Options:\n"
		  "  -w, --workers NUMBER        How many checks may run at once, each in a process\n"
		  "                              of its own. (default 4, 1 to 64, FAIRLEAD_WORKERS)\n"
		  "      --log-level debug|info|warn|error\n"
		  "                              How much to say. (default info,\n"
		  "                              FAIRLEAD_LOG_LEVEL)\n"
		  "      --[no-]deep             Look deep.\n"
		  "  -h, --help                  This.\n");
}

TEST(help_of_the_program)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	fl_help(&program, NULL, &buf);
	OK(fl_buf_check(&buf, "help", NULL));
	CHECK_STR(fl_buf_view(&buf),
		  "fairlead VERB [options]\n"
		  "\n"
		  "A program.\n"
		  "\n"
		  "Verbs:\n"
		  "  check                       Look whether the cards are ready.\n"
		  "  version                     Print the version.\n"
		  "  sim xid                     Break a card.\n"
		  "  sim heal                    Heal a card.\n"
		  "\n"
		  "`fairlead help VERB` says more. Most options can be set in the environment too, by the\n"
		  "name in their help; the command line wins.\n");
}

TEST(the_manual)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	fl_help_markdown(&program, &check, &buf);
	OK(fl_buf_check(&buf, "help", NULL));
	CHECK_STR(fl_buf_view(&buf),
		  "# fairlead check\n"
		  "\n"
		  "Look whether the cards are ready.\n"
		  "\n"
		  "```\n"
		  "fairlead check [options] [NODE...]\n"
		  "```\n"
		  "\n"
		  "Each card is tried.\n"
		  "\n"
		  "Nothing is changed.\n"
		  "\n"
		  "| Argument | | |\n"
		  "|---|---|---|\n"
		  "| `NODE` | Nodes to look at; all when none is named. | may be given many times |\n"
		  "\n"
		  "| Option | | |\n"
		  "|---|---|---|\n"
		  "| `-w, --workers NUMBER` | How many checks may run at once, each in a process of its own. "
		  "| default `4`, 1 to 64, `FAIRLEAD_WORKERS` |\n"
		  "| `--log-level debug\\|info\\|warn\\|error` | How much to say. "
		  "| default `info`, `FAIRLEAD_LOG_LEVEL` |\n"
		  "| `--[no-]deep` | Look deep. |  |\n");
}

static bool has(const struct fl_buf *buf, const char *words)
{
	return strstr(buf->p, words) != NULL;
}

TEST(completion_knows_what_the_table_knows)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);

	fl_help_bash(&program, &buf);
	OK(fl_buf_check(&buf, "help", NULL));
	CHECK(has(&buf, "words=\"check version sim xid sim heal --help\""));
	CHECK(has(&buf, "\t\"check \"*)\n"));
	CHECK(has(&buf, "\t\"sim xid\")\n"));
	CHECK(has(&buf, "--log-level) words=\"debug info warn error\""));
	CHECK(has(&buf, "*) words=\"--help --workers --log-level --deep --no-deep\""));
	CHECK(!has(&buf, "secret-door") && !has(&buf, "inner"));
	CHECK(has(&buf, "\ncomplete -F _fairlead fairlead\n"));
}

TEST(a_table_of_verbs_that_makes_no_sense_is_found)
{
	static const struct fl_command lazy = { "lazy", "Has nothing to run." }, mute = { "mute", "no sentence",
		.run = run };
	static const struct fl_command short_ = { "short", "Too small a struct.", .options = rows,
		.option_count = FL_LEN(rows),
						  .config_size = 4, .run = run };
	static const struct fl_option bad_row[] = { FL_OPT_INT(struct check, workers, "Bad", "It.") };
	static const struct fl_command odd = { "odd", "An odd option.", FL_COMMAND_OPTIONS(bad_row, struct check),
		.run = run };
	static const struct {
		const char *says;
		const struct fl_command *commands[2];
		uint32_t count;
		const char *words;
	} in[] = {
		{ "nothing to run", { &lazy }, 1, "lazy: a command has a run() and says what it does in a sentence" },
		{ "no sentence", { &mute }, 1, "mute: a command has a run() and says what it does in a sentence" },
		{ "two of a name", { &check, &check }, 2, "check: there are two" },
		{ "an option that is unsound", { &odd }, 1,
		  "odd: option 'Bad': no name for an option (or, in capitals, for an operand)" },
		{ "a struct too small", { &short_ }, 1, "short: option 'NODE' lies outside the struct" },
	};
	struct fl_err err;

	OK_ERR(fl_program_check(&program, &err), &err);
	EACH_ROW (row, in) {
		const struct fl_program bad_program = { "p", "P.", "P_", row->commands, row->count };

		REFUSED(fl_program_check(&bad_program, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
	}
}
