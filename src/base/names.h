/* names.h - enums carry their names, and the compiler checks it.
 *
 *     enum fl_unit { FL_UNIT_CARD, FL_UNIT_MIG, FL_UNIT_COUNT_ };
 *     FL_NAMES(fl_unit_names, FL_UNIT_COUNT_, [FL_UNIT_CARD] = "Card", [FL_UNIT_MIG] = "MIG");
 *
 * A value without a name does not compile where it is the last one, and is refused by a test where it is not
 * (tests/base/test_names.c finds every table of the program in the section that FL_NAMES lists it in).
 */
#pragma once
#include "base/str.h"

struct fl_names {
	const char *const *at;
	uint32_t len;
};

#define FL_NAMES(var, count, ...) \
	static const char *const var##_at[] = { __VA_ARGS__ }; \
	_Static_assert(sizeof var##_at / sizeof *var##_at == (count), #var ": name every value"); \
	const struct fl_names var = { var##_at, (count) }; \
	static const struct fl_names *const var##_listed __attribute__((used, section("fl_names_all"))) = &var

/* "?" for a value outside the enum, so that a log line never crashes. */
const char *fl_name(const struct fl_names *names, int value);

/* The value with this name, or -1. */
int fl_name_find(const struct fl_names *names, struct fl_str name);
