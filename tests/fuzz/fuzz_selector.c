/* Label selectors: whatever text is given, what is read of it can be used, and says the same again; the same text as
 * values of a bound selector is refused or used, and names are looked at. */
#include "api/selector.h"
#include "fuzz.h"
#include "json/name.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static struct fl_pair pairs[] = { { FL_S_INIT("a"), FL_S_INIT("b") }, { FL_S_INIT("c"), FL_S_INIT("5") } };
static const struct fl_map sets[] = { { NULL, 0 }, { pairs, 1 }, { pairs, 2 }, { pairs + 1, 1 } };

/* One requirement of a text, as a term of node affinity: it means the same there. */
static bool same_in_term(const struct fl_requirement *requirement, struct fl_map labels)
{
	struct fl_node_requirement at = { .key = requirement->key, .values = requirement->values };
	struct fl_node_term term = { .match_expressions = { &at, 1 } };
	struct fl_node_selector selector = { .terms = { &term, 1 } };

	FL_SET(&at, op, requirement->op);
	return fl_node_selector_match(&selector, FL_S("n"), labels) == fl_requirement_holds(requirement, labels);
}

static void labels(struct fl_arena *arena, struct fl_str text)
{
	struct fl_selector selector;

	if (fl_selector_parse(arena, text, &selector, NULL) < 0)
		return;
	for (size_t i = 0; i < FL_LEN(sets); i++) {
		bool all = true;

		for (uint32_t k = 0; k < selector.len; k++) {
			must(fl_requirement_check(&selector.at[k], NULL) == 0);
			must(same_in_term(&selector.at[k], sets[i]));
			all &= fl_requirement_holds(&selector.at[k], sets[i]);
		}
		must(all == fl_selector_match(&selector, sets[i]));
	}
}

/* A LabelSelector of anything. */
static void bound(struct fl_str text)
{
	struct fl_str value = text;
	struct fl_pair label = { fl_str_sub(text, 0, text.len / 2), text };
	struct fl_selector_term term = { .key = label.key, .values = { &value, text.len % 2 } };
	struct fl_label_selector selector = { .match_labels = { &label, text.len / 2 % 2 },
					      .match_expressions = { &term, 1 } };

	FL_SET(&term, op, (enum fl_term_op)(text.len % FL_TERM_OP_COUNT_));
	for (size_t i = 0; i < FL_LEN(sets); i++)
		must(!fl_label_selector_match(&selector, sets[i]) || fl_label_selector_check(&selector, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text = { (const char *)data, (uint32_t)size };

	labels(&arena, text);
	bound(text);
	/* A label is a subdomain too, and either is a qualified name where it is short enough. */
	must(!fl_name_ok(FL_NAME_DNS1035, text) || fl_name_ok(FL_NAME_LABEL, text));
	must(!fl_name_ok(FL_NAME_LABEL, text) || fl_name_ok(FL_NAME_SUBDOMAIN, text));
	must(!fl_name_ok(FL_NAME_SUBDOMAIN, text) || text.len > 63 || fl_name_ok(FL_NAME_QUALIFIED, text));
	must(!fl_name_ok(FL_NAME_VALUE, text) || text.len == 0 || fl_name_ok(FL_NAME_QUALIFIED, text));
	return 0;
}
