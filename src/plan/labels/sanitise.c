#include "plan/labels/sanitise.h"
#include "base/chars.h"

static bool is_kept(char c)
{
	return fl_is_alnum(c) || c == '_' || c == '.' ||
	       c == '-';
}

struct fl_str labels_sanitise(struct fl_plan *plan, struct fl_str text)
{
	char *to = fl_plan_get(plan, (size_t)text.len + 1, 1);
	bool blank = false;
	uint32_t len = 0;

	for (uint32_t i = 0; to && i < text.len; i++) {
		if (is_kept(text.p[i])) {
			if (blank && len)
				to[len++] = '-';
			to[len++] = text.p[i];
			blank = false;
		}
		blank |= text.p[i] == ' ';
	}
	return (struct fl_str){ to ? to : "", len };
}
