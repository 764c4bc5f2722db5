/* Label and field selectors: what is read prints as what reads and matches the same; names are looked at. */
#include "base/limits.h"
#include "fuzz.h"
#include "json/name.h"
#include "json/selector.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static struct fl_pair pairs[] = { { FL_S_INIT("a"), FL_S_INIT("b") }, { FL_S_INIT("c"), FL_S_INIT("5") } };
static const struct fl_map sets[] = { { NULL, 0 }, { pairs, 1 }, { pairs, 2 }, { pairs + 1, 1 } };

static void labels(struct fl_arena *arena, struct fl_str text)
{
	FL_AUTO(fl_buf) struct fl_buf once = FL_BUF(1 * FL_MIB), twice = FL_BUF(1 * FL_MIB);
	struct fl_selector selector, back;

	if (fl_selector_parse(arena, text, &selector, NULL) < 0)
		return;
	fl_selector_print(&once, &selector);
	must(fl_selector_parse(arena, fl_buf_view(&once), &back, NULL) == 0);
	fl_selector_print(&twice, &back);
	must(fl_str_eq(fl_buf_view(&once), fl_buf_view(&twice)));
	for (size_t i = 0; i < FL_LEN(sets); i++)
		must(fl_selector_match(&selector, sets[i]) == fl_selector_match(&back, sets[i]));
}

static void fields(struct fl_arena *arena, struct fl_str text)
{
	FL_AUTO(fl_buf) struct fl_buf once = FL_BUF(1 * FL_MIB);
	struct fl_field_selector selector, back;

	if (fl_field_selector_parse(arena, text, &selector, NULL) < 0)
		return;
	fl_field_selector_print(&once, &selector);
	must(fl_field_selector_parse(arena, fl_buf_view(&once), &back, NULL) == 0);
	must(selector.len == back.len);
	for (size_t i = 0; i < FL_LEN(sets); i++)
		must(fl_field_selector_match(&selector, sets[i]) == fl_field_selector_match(&back, sets[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text = { (const char *)data, (uint32_t)size };

	labels(&arena, text);
	fields(&arena, text);
	/* A label is a subdomain too, and either is a qualified name where it is short enough. */
	must(!fl_name_ok(FL_NAME_DNS1035, text) || fl_name_ok(FL_NAME_LABEL, text));
	must(!fl_name_ok(FL_NAME_LABEL, text) || fl_name_ok(FL_NAME_SUBDOMAIN, text));
	must(!fl_name_ok(FL_NAME_SUBDOMAIN, text) || text.len > 63 || fl_name_ok(FL_NAME_QUALIFIED, text));
	must(!fl_name_ok(FL_NAME_VALUE, text) || text.len == 0 || fl_name_ok(FL_NAME_QUALIFIED, text));
	return 0;
}
