#include "test.h"
#include <stdio.h>

/* Every FL_NAMES of the program: this one is linked with the whole library (see meson.build beside it). */
extern const struct fl_names *const __start_fl_names_all[], *const __stop_fl_names_all[];

TEST(every_value_of_every_enum_has_a_name_of_its_own)
{
	char where[200];
	int tables = 0;

	/* cppcheck-suppress comparePointers ; the linker lays them out as the two ends of one array */
	for (const struct fl_names *const *names = __start_fl_names_all; names < __stop_fl_names_all; names++) {
		tables++;
		CHECK((*names)->len > 0);
		for (uint32_t i = 0; i < (*names)->len; i++) {
			(void)snprintf(where, sizeof where, "value %u of the enum that begins with '%s'", i,
				       fl_name(*names, 0));
			test_row(where);
			CHECK((*names)->at[i] != NULL);
			CHECK_INT(fl_name_find(*names, fl_str((*names)->at[i])), i);
		}
	}
	test_row(NULL);
	CHECK(tables >= 2);
}

enum colour { COLOUR_RED, COLOUR_GREEN, COLOUR_BLUE, COLOUR_COUNT_ };
extern const struct fl_names colour_names;
FL_NAMES(colour_names, COLOUR_COUNT_, [COLOUR_RED] = "Red", [COLOUR_GREEN] = "Green", [COLOUR_BLUE] = "Blue");

static const char *const holes[] = { [0] = "a", [2] = "c" };
static const struct fl_names hole_names = { holes, 3 };

TEST(a_value_outside_the_enum_is_a_question_mark)
{
	CHECK_STR(fl_str(fl_name(&colour_names, COLOUR_BLUE)), "Blue");
	CHECK_STR(fl_str(fl_name(&colour_names, -1)), "?");
	CHECK_STR(fl_str(fl_name(&colour_names, COLOUR_COUNT_)), "?");
	CHECK_STR(fl_str(fl_name(&hole_names, 1)), "?");
}

TEST(a_name_is_found_exactly_or_not_at_all)
{
	CHECK_INT(fl_name_find(&colour_names, FL_S("Green")), COLOUR_GREEN);
	CHECK_INT(fl_name_find(&colour_names, FL_S("green")), -1);
	CHECK_INT(fl_name_find(&colour_names, FL_S("Gree")), -1);
	CHECK_INT(fl_name_find(&colour_names, FL_S("")), -1);
	CHECK_INT(fl_name_find(&hole_names, FL_S("c")), 2);
}
