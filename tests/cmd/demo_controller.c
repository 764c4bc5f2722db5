/* A controller for tests and figures: the role of `fairlead controller` with the capability of demo_lamp.h.
 *
 *     demo_controller controller FLAGS     as `fairlead controller`
 *     demo_controller markets FLAGS        the same with the capability of tests/run/demo_children.h
 *     demo_controller crd                  the CustomResourceDefinition of a Lamp, as JSON
 *     demo_controller market-crds          those of Market, Stall and Square, one a line
 */
#include "demo_children.h"
#include "demo_lamp.h"
#include "cmd/program.h"
#include <stdio.h>
#include <unistd.h>

static const struct fl_option options[] = {
	FL_ROLE_OPTIONS(struct fl_role_flags_of, flags, "[::]:8080"),
	FL_ROLE_LEASE_OPTIONS(struct fl_role_flags_of, flags, "demo-controller"),
	FL_ROLE_WEBHOOK_OPTIONS(struct fl_role_flags_of, flags),
};

static int controller(const struct fl_call *call, struct fl_err *err)
{
	return fl_role_main(&lamp_role, &((const struct fl_role_flags_of *)call->config)->flags, err);
}

struct market_flags {
	struct fl_role_flags flags;
	const char *labels;                /* which Markets it plans for */
};
static const struct fl_option market_options[] = {
	FL_ROLE_OPTIONS(struct market_flags, flags, "[::]:8080"),
	FL_ROLE_LEASE_OPTIONS(struct market_flags, flags, "demo-markets"),
	FL_OPT_PATH(struct market_flags, labels, "labels", "Selector of its Markets."),
};

static int market(const struct fl_call *call, struct fl_err *err)
{
	const struct market_flags *market = call->config;
	const struct fl_source *of = market_sources;   /* Market, Stall, Square */
	const struct fl_role_kind kinds[] = {
		{ .kind = of[0].kind, .labels = market->labels }, { .kind = of[1].kind, .by = of[1].by },
		{ .kind = of[2].kind }, { 0 },
	};
	const struct fl_capability *const capabilities[] = { &markets, NULL };
	const struct fl_role role = {
		.name = "markets", .reports = "demo.fairlead.test/markets", .kinds = kinds,
		.capabilities = capabilities,
	};

	return fl_role_main(&role, &market->flags, err);
}

static int print_crds(const struct fl_kind *const *kinds, uint32_t count, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_CRD_MAX);

	for (uint32_t i = 0; i < count; i++) {
		struct fl_jw w = FL_JW(&text);

		fl_kind_crd(&kinds[i], 1, &w);
		fl_buf_char(&text, '\n');
	}
	return fl_print(&text, err);
}

static int crd(const struct fl_call *call, struct fl_err *err)
{
	static const struct fl_kind *const kinds[] = { &lamp_kind };

	(void)call;
	return print_crds(kinds, FL_LEN(kinds), err);
}

static int market_crds(const struct fl_call *call, struct fl_err *err)
{
	static const struct fl_kind *const kinds[] = { &fl_market_kind, &fl_stall_kind, &fl_square_kind };

	(void)call;
	return print_crds(kinds, FL_LEN(kinds), err);
}

static const struct fl_command controller_verb = {
	"controller", "Plan for Lamps.", NULL, FL_COMMAND_OPTIONS(options, struct fl_role_flags_of), .run = controller,
};
static const struct fl_command markets_verb = {
	"markets", "Plan for Markets.", NULL, FL_COMMAND_OPTIONS(market_options, struct market_flags), .run = market,
};
static const struct fl_command crd_verb = { "crd", "Print the CustomResourceDefinition of a Lamp.", .run = crd };
static const struct fl_command market_crds_verb = {
	"market-crds", "Print the CustomResourceDefinitions of Market, Stall and Square.", .run = market_crds,
};
static const struct fl_command *const verbs[] = { &controller_verb, &markets_verb, &crd_verb, &market_crds_verb };
static const struct fl_program program = {
	.name = "demo_controller", .says = "A controller for tests.", .env_prefix = "FAIRLEAD_", .commands = verbs,
	.count = FL_LEN(verbs),
};

int main(int argc, char **argv)
{
	const struct fl_args args = { (const char *const *)argv + 1, argc > 0 ? (uint32_t)argc - 1 : 0,
				      (const char *const *)environ };
	FL_AUTO(fl_call) struct fl_call call = { .help = false };
	struct fl_err err = { .text = "" };
	int r = fl_call_parse(&call, &program, &args, &err);

	if (r >= 0 && call.help) {
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_HELP_MAX);

		fl_help(&program, call.command, &text);
		r = fl_print(&text, &err);
	} else if (r >= 0) {
		r = call.command->run(&call, &err);
	}
	if (r < 0)
		(void)fprintf(stderr, "demo_controller: %s\n", err.text);
	return r < 0 ? 1 : 0;
}
