#include "base/log.h"
#include "base/option.h"
#include "base/units.h"
#include "test.h"

struct check {
	bool deep, colour;
	int64_t workers, any, timeout, limit;
	enum fl_level level;
	struct fl_str name;
	const char *path;
	struct fl_strs labels, nodes;
};

static const struct fl_option rows[] = {
	FL_OPT_BOOL(struct check, deep, "deep", "Look deep.", .letter = 'd'),
	FL_OPT_BOOL(struct check, colour, "colour", "In colours.", .letter = 'c', .fallback = "true"),
	FL_OPT_INT(struct check, workers, "workers", "At once.", .letter = 'w', .min = 1, .max = 64, .fallback = "4"),
	FL_OPT_INT(struct check, any, "any-number", "Any."),
	FL_OPT_DURATION(struct check, timeout, "timeout", "How long.", .min = FL_NS_PER_S, .max = 60 * FL_NS_PER_S,
			.fallback = "10s"),
	FL_OPT_INT(struct check, limit, "limit", "How much.", .env = "MEMORY_LIMIT"),
	FL_OPT_ENUM(struct check, level, fl_level, "log-level", "How loud.", .fallback = "info"),
	FL_OPT_STR(struct check, name, "name", "Which.", .letter = 'n', .env = ""),
	FL_OPT_PATH(struct check, path, "file", "Where.", .hidden = true),
	FL_OPT_STRS(struct check, labels, "label", "Labels.", .letter = 'l', .fallback = "a,b"),
	FL_OPT_STRS(struct check, nodes, "NODE", "Nodes.", .operand = true),
};
static const struct fl_options options = { rows, FL_LEN(rows), "FAIRLEAD_" };

static struct fl_args args_of(const char *const *argv, const char *const *env)
{
	struct fl_args args = { .argv = argv, .env = env };

	while (argv[args.argc])
		args.argc++;
	return args;
}

struct parsed {
	struct check check;
	bool help;
};

static void parsed_auto_(struct parsed *parsed)
{
	fl_options_release(&options, &parsed->check);
}

static void put_strs(struct fl_buf *buf, const char *name, const struct fl_strs *strs)
{
	fl_buf_printf(buf, " %s", name);
	fl_vec_each (str, strs)
		fl_buf_printf(buf, ":%.*s", FL_ARG(*str));
}

/* What differs from the defaults. */
static void put_check(struct fl_buf *buf, const struct parsed *p)
{
	if (p->help)
		fl_buf_str(buf, FL_S(" help"));
	if (p->check.deep)
		fl_buf_str(buf, FL_S(" deep"));
	if (!p->check.colour)
		fl_buf_str(buf, FL_S(" grey"));
	if (p->check.workers != 4)
		fl_buf_printf(buf, " workers=%d", (int)p->check.workers);
	if (p->check.any)
		fl_buf_printf(buf, " any=%lld", (long long)p->check.any);
	if (p->check.timeout != 10 * (int64_t)FL_NS_PER_S)
		fl_buf_printf(buf, " timeout=%d ms", (int)(p->check.timeout / 1000000));
	if (p->check.limit)
		fl_buf_printf(buf, " limit=%lld", (long long)p->check.limit);
	if (p->check.level != FL_INFO)
		fl_buf_printf(buf, " level=%s", fl_name(&fl_level_names, (int)p->check.level));
	if (p->check.name.p)
		fl_buf_printf(buf, " name='%.*s'", FL_ARG(p->check.name));
	if (p->check.path)
		fl_buf_printf(buf, " path=%s", p->check.path);
	if (p->check.labels.len != 2 || !fl_str_eq(p->check.labels.at[0], FL_S("a")))
		put_strs(buf, "labels", &p->check.labels);
	if (p->check.nodes.len)
		put_strs(buf, "nodes", &p->check.nodes);
}

#define ARGV(...) .argv = { __VA_ARGS__ }
#define ENV(...) .env = { __VA_ARGS__ }

static const struct {
	const char *says;
	const char *argv[8], *env[6];
	const char *want;
} good[] = {
	{ "nothing: all by default", .want = "" },
	{ "a value of its own argument", ARGV("--workers", "8"), .want = " workers=8" },
	{ "a value behind the sign", ARGV("--workers=8"), .want = " workers=8" },
	{ "a letter and its own argument", ARGV("-w", "8"), .want = " workers=8" },
	{ "a letter and its value at once", ARGV("-w8"), .want = " workers=8" },
	{ "a letter, the sign and its value", ARGV("-w=8"), .want = " workers=8" },
	{ "the last one counts", ARGV("--workers=8", "-w", "9"), .want = " workers=9" },
	{ "a bound is within", ARGV("--workers=64"), .want = " workers=64" },
	{ "a negative number is a value", ARGV("--any-number", "-5"), .want = " any=-5" },
	{ "the largest number", ARGV("--any-number=9223372036854775807"), .want = " any=9223372036854775807" },
	{ "a bool alone is yes", ARGV("--deep"), .want = " deep" },
	{ "a bool taken back", ARGV("--no-colour"), .want = " grey" },
	{ "a bool said in full", ARGV("--deep=true", "--colour=0"), .want = " deep grey" },
	{ "a bool does not take the next argument", ARGV("--deep", "false"), .want = " deep nodes:false" },
	{ "letters of bools stand together", ARGV("-dw8"), .want = " deep workers=8" },
	{ "also two bools", ARGV("-dc"), .want = " deep" },
	{ "a duration", ARGV("--timeout", "1m"), .want = " timeout=60000 ms" },
	{ "a duration's lower bound", ARGV("--timeout=1000ms"), .want = " timeout=1000 ms" },
	{ "a name of an enum", ARGV("--log-level", "debug"), .want = " level=debug" },
	{ "a text", ARGV("-n", "x y"), .want = " name='x y'" },
	{ "an empty text is a text", ARGV("--name="), .want = " name=''" },
	{ "a sign in a text stays", ARGV("--name=a=b"), .want = " name='a=b'" },
	{ "a text that begins with dashes comes behind the sign", ARGV("--name=--x"), .want = " name='--x'" },
	{ "what is hidden is understood", ARGV("--file", "/x"), .want = " path=/x" },
	{ "operands stand anywhere", ARGV("n1", "--deep", "n2"), .want = " deep nodes:n1:n2" },
	{ "all are operands behind two dashes", ARGV("--", "--deep", "-w"), .want = " nodes:--deep:-w" },
	{ "one dash alone is an operand", ARGV("-"), .want = " nodes:-" },
	{ "an empty argument is an operand", ARGV(""), .want = " nodes:" },
	{ "a list that is begun forgets its default", ARGV("--label", "x", "-l", "y,z"), .want = " labels:x:y,z" },
	{ "the environment is heard", ENV("FAIRLEAD_WORKERS=8"), .want = " workers=8" },
	{ "dashes are underscores there", ENV("FAIRLEAD_LOG_LEVEL=warn"), .want = " level=warn" },
	{ "a bool there", ENV("FAIRLEAD_DEEP=1", "FAIRLEAD_COLOUR=false"), .want = " deep grey" },
	{ "a list there is parted by commas", ENV("FAIRLEAD_LABEL=x,,y,"), .want = " labels:x:y" },
	{ "a list there may be taken away", ENV("FAIRLEAD_LABEL=,"), .want = " labels" },
	{ "a name of another's there", ENV("MEMORY_LIMIT=12"), .want = " limit=12" },
	{ "then its own is none", ENV("FAIRLEAD_LIMIT=12"), .want = "" },
	{ "what has no name there is not heard", ENV("FAIRLEAD_NAME=x", "=y"), .want = "" },
	{ "operands have none", ENV("FAIRLEAD_NODE=x", "NODE=y"), .want = "" },
	{ "the command line wins", ARGV("-w9"), ENV("FAIRLEAD_WORKERS=8"), .want = " workers=9" },
	{ "a list on the command line wins whole", ARGV("-lx"), ENV("FAIRLEAD_LABEL=p,q"), .want = " labels:x" },
	{ "empty there is not set", ENV("FAIRLEAD_WORKERS="), .want = "" },
	{ "a longer name there is another", ENV("FAIRLEAD_WORKERSX=8", "XFAIRLEAD_WORKERS=9"), .want = "" },
	{ "help", ARGV("--help"), .want = " help" },
	{ "help by its letter", ARGV("-h"), .want = " help" },
	{ "help is given whatever comes behind", ARGV("-dh", "--nonsense"), .want = " help deep" },
	{ "help behind two dashes is an operand", ARGV("--", "--help"), .want = " nodes:--help" },
};

TEST(what_is_understood)
{
	EACH_ROW (row, good) {
		char text[200];
		struct fl_buf buf = FL_BUF_IN(text);
		FL_AUTO(parsed) struct parsed parsed = { .help = false };
		struct fl_args args = args_of(row->argv, row->env);
		struct fl_err err;

		OK_ERR(fl_options_parse(&options, &args, &parsed.check, &parsed.help, &err), &err);
		text[0] = 0;
		put_check(&buf, &parsed);
		CHECK_STR(fl_buf_view(&buf), row->want);
	}
}

static const struct {
	const char *says;
	const char *argv[8], *env[6];
	const char *words;
} bad[] = {
	{ "a near name is offered", ARGV("--workres=3"), .words = "no option --workres; did you mean --workers?" },
	{ "case is a near miss too", ARGV("--Deep"), .words = "no option --Deep; did you mean --deep?" },
	{ "help is offered too", ARGV("--hlep"), .words = "no option --hlep; did you mean --help?" },
	{ "what is hidden is not offered", ARGV("--fil"), .words = "no option --fil; --help shows those there are" },
	{ "nothing near", ARGV("--nonsense"), .words = "no option --nonsense; --help shows those there are" },
	{ "an unknown letter", ARGV("-dx"), .words = "no option -x; --help shows those there are" },
	{ "an operand's name is no option", ARGV("--NODE=x"), .words = "no option --NODE; did you mean --name?" },
	{ "no- is for bools", ARGV("--no-workers"), .words = "no option --no-workers; did you mean --workers?" },
	{ "no- takes no value", ARGV("--no-deep=true"), .words = "no option --no-deep; did you mean --deep?" },
	{ "a value is missing at the end", ARGV("--workers"), .words = "--workers wants a value: --workers=NUMBER" },
	{ "an option is no value", ARGV("--timeout", "--deep"),
	  .words = "--timeout wants a value: --timeout=DURATION" },
	{ "a letter's value is missing", ARGV("-w"), .words = "--workers wants a value: --workers=NUMBER" },
	{ "no number", ARGV("--workers=8x"), .words = "--workers: '8x' is no number from 1 to 64" },
	{ "an empty number", ARGV("--workers="), .words = "--workers: '' is no number from 1 to 64" },
	{ "a number below", ARGV("-w0"), .words = "--workers: '0' is no number from 1 to 64" },
	{ "a number above", ARGV("-w65"), .words = "--workers: '65' is no number from 1 to 64" },
	{ "a number that fits nowhere", ARGV("--any-number=9223372036854775808"),
	  .words = "--any-number: '9223372036854775808' is no number" },
	{ "no duration", ARGV("--timeout=10"),
	  .words = "--timeout: '10' is no duration from 1s to 1m0s (such as 10s, 1m30s or 500ms)" },
	{ "too short", ARGV("--timeout=999ms"),
	  .words = "--timeout: '999ms' is no duration from 1s to 1m0s (such as 10s, 1m30s or 500ms)" },
	{ "no name of the enum", ARGV("--log-level=loud"),
	  .words = "--log-level: 'loud' is none of: debug, info, warn, error" },
	{ "neither yes nor no", ARGV("--deep=maybe"), .words = "--deep: 'maybe' is neither true nor false" },
	{ "the environment is named when it is wrong", ENV("FAIRLEAD_WORKERS=many"),
	  .words = "FAIRLEAD_WORKERS: 'many' is no number from 1 to 64" },
	{ "also by another's name", ENV("MEMORY_LIMIT=lots"),
	  .words = "MEMORY_LIMIT: 'lots' is no number" },
};

TEST(what_is_refused_and_how)
{
	EACH_ROW (row, bad) {
		FL_AUTO(parsed) struct parsed parsed = { .help = false }, again = { .help = false };
		struct fl_args args = args_of(row->argv, row->env);
		struct fl_err err;

		REFUSED(fl_options_parse(&options, &args, &parsed.check, &parsed.help, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
		REFUSED(fl_options_parse(&options, &args, &again.check, &again.help, NULL), FL_E_INVALID);
	}
}

TEST(help_is_given_whatever_is_wrong_with_the_environment)
{
	static const char *const argv[] = { "--help", NULL }, *const env[] = { "FAIRLEAD_WORKERS=many", NULL };
	FL_AUTO(parsed) struct parsed parsed = { .help = false };
	struct fl_args args = args_of(argv, env);

	OK(fl_options_parse(&options, &args, &parsed.check, &parsed.help, NULL));
	CHECK(parsed.help);
}

TEST(a_list_has_a_longest)
{
	static char many[40 + 2 * FL_OPTION_VALUES];
	const char *const argv[] = { NULL }, *const env[] = { many, NULL };
	FL_AUTO(parsed) struct parsed parsed = { .help = false };
	struct fl_args args = args_of(argv, env);
	struct fl_err err;
	size_t len = strlen("FAIRLEAD_LABEL=");

	memcpy(many, "FAIRLEAD_LABEL=", len);
	for (int i = 0; i < FL_OPTION_VALUES; i++, len += 2)
		memcpy(many + len, "a,", 3);
	OK_ERR(fl_options_parse(&options, &args, &parsed.check, &parsed.help, &err), &err);
	CHECK_INT(parsed.check.labels.len, FL_OPTION_VALUES);
	memcpy(many + len, "a", 2);
	fl_options_release(&options, &parsed.check);
	REFUSED(fl_options_parse(&options, &args, &parsed.check, &parsed.help, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "FAIRLEAD_LABEL: more than 10000 of them");
}

struct pair {
	struct fl_str from, to;
	int64_t n;
};

static const struct fl_option pair_rows[] = {
	FL_OPT_STR(struct pair, from, "FROM", "From where.", .operand = true, .required = true),
	FL_OPT_STR(struct pair, to, "TO", "To where.", .operand = true),
	FL_OPT_INT(struct pair, n, "count", "How many.", .required = true),
};
static const struct fl_options pairs = { pair_rows, FL_LEN(pair_rows), "FAIRLEAD_" };

static const struct {
	const char *says;
	const char *argv[6], *env[2];
	const char *words;
} needed[] = {
	{ "all that is needed", ARGV("a", "--count=1"), .words = NULL },
	{ "and what is not", ARGV("a", "b", "--count=1"), .words = NULL },
	{ "from the environment will do", ARGV("a"), ENV("FAIRLEAD_COUNT=1"), .words = NULL },
	{ "an operand is missing", ARGV("--count=1"), .words = "FROM is missing: From where." },
	{ "an option is missing", ARGV("a"), .words = "--count is needed, or FAIRLEAD_COUNT: How many." },
	{ "one too many", ARGV("a", "b", "c", "--count=1"), .words = "'c' is one argument too many" },
};

TEST(what_is_needed_must_be_there)
{
	EACH_ROW (row, needed) {
		struct pair pair = { .n = 0 };
		struct fl_args args = args_of(row->argv, row->env);
		struct fl_err err;
		bool help;

		if (!row->words) {
			OK_ERR(fl_options_parse(&pairs, &args, &pair, &help, &err), &err);
			CHECK_STR(pair.from, "a");
			CHECK_STR(pair.to, row->argv[1] && row->argv[1][0] == 'b' ? "b" : "");
			continue;
		}
		REFUSED(fl_options_parse(&pairs, &args, &pair, &help, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
	}
}

TEST(a_command_without_operands_takes_none)
{
	static const char *const argv[] = { "x", NULL };
	struct fl_args args = args_of(argv, NULL);
	struct check check = { 0 };
	struct fl_err err;
	bool help;

	REFUSED(fl_options_parse(&(struct fl_options){ rows, 2, "" }, &args, &check, &help, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "takes no arguments, but got 'x'");
}

#define NAMED(name_) FL_OPT_INT(struct check, any, name_, "It.")
static const struct {
	const char *says;
	struct fl_option rows[2];
	const char *words;
} unsound[] = {
	{ "no name", { NAMED(NULL) }, "option '': no name for an option (or, in capitals, for an operand)" },
	{ "capitals in an option", { NAMED("Any") },
	  "option 'Any': no name for an option (or, in capitals, for an operand)" },
	{ "small letters in an operand", { FL_OPT_STR(struct check, name, "node", "It.", .operand = true) },
	  "option 'node': no name for an option (or, in capitals, for an operand)" },
	{ "help", { NAMED("help") }, "option 'help': help is there already" },
	{ "help's letter", { FL_OPT_BOOL(struct check, deep, "hard", "It.", .letter = 'h') },
	  "option 'hard': help is there already" },
	{ "no- in front", { NAMED("no-way") }, "option 'no-way': no- is how a bool is taken back" },
	{ "a name that a Service sets", { NAMED("port") },
	  "option 'port': Kubernetes sets this in the environment of a Pod" },
	{ "another such name", { NAMED("service-host") },
	  "option 'service-host': Kubernetes sets this in the environment of a Pod" },
	{ "no sentence", { FL_OPT_INT(struct check, any, "any", "It") }, "option 'any': its help is no sentence" },
	{ "bounds crossed", { FL_OPT_INT(struct check, any, "any", "It.", .min = 2, .max = 1) },
	  "option 'any': its bounds exclude each other" },
	{ "an operand with a letter", { FL_OPT_STR(struct check, name, "NODE", "It.", .operand = true, .letter = 'n') },
	  "option 'NODE': an operand has no letter and is no bool" },
	{ "needed and by default", { FL_OPT_INT(struct check, any, "any", "It.", .required = true, .fallback = "1") },
	  "option 'any': what is required needs no default" },
	{ "a name twice", { NAMED("any"), NAMED("any") }, "option 'any': its name is taken" },
	{ "a letter twice", { FL_OPT_INT(struct check, any, "aa", "It.", .letter = 'a'),
			      FL_OPT_INT(struct check, any, "bb", "It.", .letter = 'a') },
				"option 'bb': its letter is taken" },
	{ "an operand behind a list", { FL_OPT_STRS(struct check, nodes, "NODE", "It.", .operand = true),
					FL_OPT_STR(struct check, name, "NAME", "It.", .operand = true) },
	  "option 'NAME': an operand behind a list is never reached" },
	{ "a needed operand behind one that is not", { FL_OPT_STR(struct check, name, "NAME", "It.", .operand = true),
						       FL_OPT_STR(struct check, name, "NODE", "It.", .operand = true,
							.required = true) },
	  "option 'NODE': a needed operand behind one that is not" },
	{ "a default out of bounds",
	  { FL_OPT_INT(struct check, any, "any", "It.", .min = 1, .max = 2, .fallback = "3") },
	  "option 'any': its default: '3' is no number from 1 to 2" },
	{ "a default that is no name",
	  { FL_OPT_ENUM(struct check, level, fl_level, "level", "It.", .fallback = "loud") },
	  "option 'level': its default: 'loud' is none of: debug, info, warn, error" },
};

TEST(tables_that_make_no_sense_are_found)
{
	struct fl_err err;

	OK(fl_options_check(&options, NULL));
	OK(fl_options_check(&pairs, NULL));
	EACH_ROW (row, unsound) {
		struct fl_options table = { row->rows, row->rows[1].says ? 2 : 1, "" };

		REFUSED(fl_options_check(&table, &err), FL_E_INVALID);
		CHECK_STR(fl_str(err.text), row->words);
	}
	REFUSED(fl_options_check(&(struct fl_options){ rows, FL_OPTIONS + 1, "" }, &err), FL_E_INVALID);
}
