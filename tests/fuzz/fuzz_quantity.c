/* Two quantities, with a blank between them: what is read prints as what reads the same, and the order is one. */
#include "fuzz.h"
#include "json/quantity.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static bool read_one(struct fl_str text, struct fl_quantity *q)
{
	char printed[FL_QUANTITY_TEXT], again[FL_QUANTITY_TEXT];
	struct fl_quantity back;
	struct fl_str first, second;

	if (fl_quantity_parse(text, q, NULL) < 0)
		return false;
	first = (struct fl_str){ printed, fl_quantity_print(*q, printed) };
	must(fl_quantity_parse(first, &back, NULL) == 0 && fl_quantity_cmp(*q, back) == 0);
	second = (struct fl_str){ again, fl_quantity_print(back, again) };
	/* 9937.5Ki is 10176000, and that is 10176k. */
	must(back.format != q->format || fl_str_eq(first, second));
	(void)fl_quantity_value(*q);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_str first, rest = { (const char *)data, (uint32_t)size };
	struct fl_quantity a, b;

	if (!size || !fl_str_split(&rest, ' ', &first) || !read_one(first, &a) || !read_one(rest, &b))
		return 0;
	must(fl_quantity_cmp(a, b) == -fl_quantity_cmp(b, a));
	return 0;
}
