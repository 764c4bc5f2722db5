/* A setting by its row: an option and a place in a file lead to one member. */
#include "base/units.h"
#include "json/bind_walk.h"
#include "json/setting.h"
#include "json/write.h"
#include "json/yaml.h"
#include "test.h"

enum mode { MODE_MANUAL, MODE_AUTOMATIC, MODE_SELECTOR, MODE_COUNT_ };
extern const struct fl_names mode_names;
FL_NAMES(mode_names, MODE_COUNT_, [MODE_MANUAL] = "Manual",
	 [MODE_AUTOMATIC] = "Automatic", [MODE_SELECTOR] = "Selector");

#define PLACE(X) \
	X(BOOL, enabled, "enabled", .help = "A yes or no.") \
	X(ENUM(mode), mode, "mode", .help = "A name.") \
	X(LIST_OF(ENUM(mode)), order, "order", .help = "Names in the order given.") \
	X(LIST_OF(ENUM(mode)), set, "set", .help = "Names in the order of the enum.") \
	X(STR, text, "text", .help = "A text.") \
	X(STR, dir, "dir", .help = "A path.") \
	X(STRS, dirs, "dirs", .help = "One path, in a list.") \
	X(STR, kind, "kind", .help = "A qualified name.") \
	X(I64, wait, "wait", .help = "Nanoseconds.") \
	X(I32, count, "count", .help = "A number.")
FL_STRUCT(place, PLACE);
FL_BIND(place, PLACE)

struct given {
	struct fl_str enabled, mode, text, dir, dirs, kind, wait, count, automatic;
	struct fl_strs order, set;
};

#define ROW(name, kind_, member_, ...) \
	{ .option = #name, .given = offsetof(struct given, name), .kind = FL_SETTING_##kind_, \
	  .member = offsetof(struct place, member_), __VA_ARGS__ }
static const struct fl_setting rows[] = {
	ROW(enabled, BOOL, enabled, .file = "enabled"),
	ROW(mode, ENUM, mode, .file = "approval.mode", .fallback = "Manual"),
	ROW(order, LIST, order, .file = "approval.order", .given_list = true, .blank = "name one"),
	ROW(set, SET, set, .given_list = true, .element = 1 + MODE_SELECTOR, .unsupported = "leave it out"),
	ROW(automatic, ELEMENT, set, .file = "approval.automatic", .element = MODE_AUTOMATIC),
	ROW(text, TEXT, text, .file = "approval.text", .file_also = "approval.words", .untaken = "is old"),
	ROW(dir, PATH, dir, .file = "dir"),
	ROW(dirs, PATH, dirs, .file = "dirs"),
	ROW(kind, QUALIFIED, kind, .wanted = "no vendor.example/class"),
	ROW(wait, DURATION, wait, .file = "wait", .fallback = "5s", .max = 60 * FL_NS_PER_S, .none_at_zero = true,
	    .wanted = "no time up to 1m"),
	ROW(count, NUMBER, count, .min = 1, .max = 9),
	{ .file = "items", .kind = FL_SETTING_OBJECTS },
	{ .file = "items[].name", .required = true, .kind = FL_SETTING_TEXT },
	{ .file = "items[].deep.any", .required = true, .kind = FL_SETTING_ANY },
	{ .file = "unread", .kind = FL_SETTING_UNREAD },
};

/* One text an option, or several parted by blanks; then the file. The settings as JSON, or what is wrong. */
static int read_place(const char *option, const char *text, const char *yaml, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct place place = { 0 };
	struct fl_str untaken = { 0 }, all[4], rest = fl_str(text);
	struct given given = { 0 };
	struct fl_err err = { 0 };
	struct fl_setting_in in = { .rows = rows, .count = FL_LEN(rows), .bind = place_bind(), .object = &place,
				    .arena = &arena, .untaken = &untaken, .unknown = "is unknown", .err = &err };
	struct fl_jw w = FL_JW(out);
	uint32_t n = 0;
	int r = fl_setting_fallbacks(&in);

	for (uint32_t i = 0; i < FL_LEN(rows) && *option; i++) {
		if (!rows[i].option || strcmp(rows[i].option, option) != 0)
			continue;
		while (rows[i].given_list && n < 4 && fl_str_split(&rest, ' ', &all[n]))
			n++;
		if (rows[i].given_list)
			*(struct fl_strs *)(void *)((char *)&given + rows[i].given) = (struct fl_strs){ all, n, n };
		else
			*(struct fl_str *)(void *)((char *)&given + rows[i].given) = fl_str(text);
	}
	if (r == 0)
		r = fl_yaml_read(NULL, fl_str(yaml), &doc, &err);
	if (r == 0)
		r = fl_setting_file(&in, doc);
	if (r == 0)
		r = fl_setting_options(&in, &given);
	if (r == 0)
		fl_encode(place_bind(), &place, &w);
	if (r == -FL_E_INVALID)
		fl_buf_str(out, fl_str(err.text));
	fl_buf_printf(out, "%s%.*s", untaken.len ? " " : "", FL_ARG(untaken));
	return r == -FL_E_NOMEM ? r : 0;
}

#define USUAL "\"mode\":\"Manual\""
#define WAIT "\"wait\":5000000000"
static const struct {
	const char *says, *option, *text, *file, *got;
} cases[] = {
	{ "defaults", "", "", "{}", "{" USUAL "," WAIT "}" },
	{ "an option before the file", "mode", "Selector", "approval: {mode: Automatic}",
	  "{\"mode\":\"Selector\"," WAIT "}" },
	{ "the file before the default", "", "", "approval: {mode: Automatic}", "{\"mode\":\"Automatic\"," WAIT "}" },
	{ "null is absence", "", "", "approval: {mode: null}\nwait: null", "{" USUAL "," WAIT "}" },
	{ "an option's bool in the words of Go", "enabled", "T", "enabled: false",
	  "{\"enabled\":true," USUAL "," WAIT "}" },
	{ "a file's is JSON's", "", "", "enabled: 'true'", "enabled: true or false is wanted, found a text" },
	{ "names as they were given, each once", "order", "Selector,Manual Selector", "approval: {order: [Manual]}",
	  "{" USUAL ",\"order\":[\"Selector\",\"Manual\"]," WAIT "}" },
	{ "a list of a file", "", "", "approval: {order: [Selector, 'Manual,Selector']}",
	  "{" USUAL ",\"order\":[\"Selector\",\"Manual\"]," WAIT "}" },
	{ "an empty one says what to write", "", "", "approval: {order: []}", "approval.order: name one" },
	{ "a wrong name in it has a path", "", "", "approval: {order: [Manual, x]}",
	  "approval.order[1]: 'x' is none of Manual, Automatic or Selector" },
	{ "a set in the order of the enum", "set", "Automatic Manual,", "{}",
	  "{" USUAL ",\"set\":[\"Manual\",\"Automatic\"]," WAIT "}" },
	{ "an element that is not supported", "set", "Selector", "{}",
	  "--set: Selector is not supported: leave it out" },
	{ "all but that one", "set", "all", "{}",
	  "{" USUAL ",\"set\":[\"Manual\",\"Automatic\"]," WAIT
	  "} --set: all is taken but for Selector, which is unsupported" },
	{ "an element by itself", "", "", "approval: {automatic: true}",
	  "{" USUAL ",\"set\":[\"Automatic\"]," WAIT "}" },
	{ "taken out again", "automatic", "false", "approval: {automatic: true}",
	  "{" USUAL "," WAIT "}" },
	{ "a place's second name, and a warning", "", "", "approval: {words: a}",
	  "{" USUAL ",\"text\":\"a\"," WAIT "} approval.words: is old" },
	{ "a path", "dir", "/a", "dir: /b", "{" USUAL ",\"dir\":\"/a\"," WAIT "}" },
	{ "a file's empty path is none", "", "", "dir: ''\ndirs: ''", "{" USUAL "," WAIT "}" },
	{ "an option's is no path", "dir", "", "{}", "--dir: '' does not begin with /: write an absolute path" },
	{ "one path in a list", "dirs", "/a", "dirs: /b", "{" USUAL ",\"dirs\":[\"/a\"]," WAIT "}" },
	{ "a qualified name", "kind", "a.b/c", "{}", "{" USUAL ",\"kind\":\"a.b/c\"," WAIT "}" },
	{ "one without a class", "kind", "a.b", "{}", "--kind: 'a.b' is no vendor.example/class" },
	{ "a duration", "", "", "wait: 1m", "{" USUAL ",\"wait\":60000000000}" },
	{ "beyond its bound", "wait", "61s", "{}", "--wait: '61s' is no time up to 1m" },
	{ "none at zero: what was there stays", "wait", "0s", "{}", "{" USUAL "," WAIT "}" },
	{ "a number", "count", "9", "{}", "{" USUAL "," WAIT ",\"count\":9}" },
	{ "too small a number", "count", "0", "{}", "--count: '0' is no number from 1 to 9" },
	{ "objects of a list", "", "", "items: [{name: a, deep: {any: [1]}}]", "{" USUAL "," WAIT "}" },
	{ "one without what it needs", "", "", "items: [{name: a}, {deep: null}]", "items[1]: name is missing" },
	{ "deeper as well", "", "", "items: [{name: a, deep: {}}]", "items[0].deep: any is missing" },
	{ "anything but an object", "", "", "items: [{name: a, deep: {any: {}}}]",
	  "items[0].deep.any: found an object" },
	{ "no list of objects", "", "", "items: {}", "items: a list is wanted, found an object" },
	{ "no object", "", "", "approval: 1", "approval: an object is wanted, found an integer" },
	{ "a name that goes on behind its end", "", "", "\"unread\\0and more than that\": 1",
	  "{" USUAL "," WAIT "} unread: is unknown" },
	{ "a name with a dot is no place", "", "", "approval.mode: Automatic",
	  "{" USUAL "," WAIT "} approval.mode: is unknown" },
	{ "names in any case, one of them missing", "", "", "APPROVAL: {MODE: Automatic}\nItems: [{Name: a, DEEP: {}}]",
	  "Items[0].DEEP: any is missing" },
	{ "a name that differs from another in case only", "", "", "approval: {mode: Manual, Mode: Manual}",
	  "approval.mode: 'Mode' differs from it in case only: write one of them" },
	{ "a name that no row has, and half of one", "", "", "approval: {mod: x}\nappro: 1\nunread: {a: 1}\n'': 1",
	  "{" USUAL "," WAIT "} approval.mod: is unknown; appro: is unknown; : is unknown" },
};

TEST(settings_by_their_rows)
{
	EACH_ROW (row, cases) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);

		OK(read_place(row->option, row->text, row->file, &got));
		OK(fl_buf_check(&got, "settings", NULL));
		CHECK_STR(fl_buf_view(&got), row->got);
	}
}
