#include "json/name.h"
#include "base/chars.h"
#include "base/mem.h"
#include <assert.h>

#define PART_MAX 63
#define SUBDOMAIN_MAX 253

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Letters and digits at both ends, those or `between` inside; not empty. */
static bool is_part(struct fl_str s, bool (*letter)(char), const char *between)
{
	if (s.len == 0 || !letter(s.p[0]) || !letter(s.p[s.len - 1]))
		return false;
	for (uint32_t i = 0; i < s.len; i++)
		if (!letter(s.p[i]) && (s.p[i] == 0 || !strchr(between, s.p[i])))
			return false;
	return true;
}

static bool is_subdomain(struct fl_str s)
{
	struct fl_str rest = s, label;

	if (s.len > SUBDOMAIN_MAX)
		return false;
	while (fl_str_split(&rest, '.', &label))
		if (!is_part(label, is_lower, "-"))
			return false;
	return true;
}

static bool is_qualified(struct fl_str s)
{
	int64_t slash = fl_str_find(s, '/');

	if (slash >= 0) {
		if (!is_subdomain(fl_str_sub(s, 0, (uint32_t)slash)))
			return false;
		s = fl_str_sub(s, (uint32_t)slash + 1, s.len);
	}
	return s.len <= PART_MAX && is_part(s, fl_is_alnum, "-_.");
}

bool fl_name_ok(enum fl_name_rule rule, struct fl_str s)
{
	if (!s.p)
		s = FL_S("");
	switch (rule) {
	case FL_NAME_LABEL:
		return s.len <= PART_MAX && is_part(s, is_lower, "-");
	case FL_NAME_SUBDOMAIN:
		return is_subdomain(s);
	case FL_NAME_DNS1035:
		return s.len <= PART_MAX && is_part(s, is_lower, "-") && s.p[0] >= 'a';
	case FL_NAME_QUALIFIED:
		return is_qualified(s);
	case FL_NAME_VALUE:
		return s.len == 0 || (s.len <= PART_MAX && is_part(s, fl_is_alnum, "-_."));
	case FL_NAME_RULE_COUNT_:
		break;
	}
	return false;
}

static const char *const allowed[] = {
	[FL_NAME_LABEL] = "up to 63 of a-z 0-9 and -, with a letter or digit at both ends, for example my-name",
	[FL_NAME_SUBDOMAIN] =
		"up to 253 of a-z 0-9 - and ., with a letter or digit on each side of a dot and at both ends, for "
		"example node-1.example.com",
	[FL_NAME_DNS1035] = "up to 63 of a-z 0-9 and -, beginning with a letter and ending with a letter or digit, for "
			    "example my-name",
	[FL_NAME_QUALIFIED] =
		"a name of up to 63 of A-Z a-z 0-9 - _ and ., with a letter or digit at both ends; before it "
		"may stand a DNS domain and /, for example example.com/MyName",
	[FL_NAME_VALUE] =
		"empty, or up to 63 of A-Z a-z 0-9 - _ and ., with a letter or digit at both ends, for example "
		"my_value",
};
_Static_assert(FL_LEN(allowed) == FL_NAME_RULE_COUNT_, "say what each rule allows");

int fl_name_check(enum fl_name_rule rule, const char *what, struct fl_str s, struct fl_err *err)
{
	struct fl_str shown = fl_str_sub(s, 0, 64);

	assert(rule < FL_NAME_RULE_COUNT_);
	if (fl_name_ok(rule, s))
		return 0;
	return fl_fail(err, FL_E_INVALID, "%s '%.*s'%s: write %s", what, FL_ARG(shown), shown.len < s.len ? "..." : "",
		       allowed[rule]);
}
