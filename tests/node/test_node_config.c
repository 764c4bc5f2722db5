/* How Settings come from what was given, from files and from the Node's label. */
#include "node/settings/config.h"
#include "api/node_pools.h"
#include "base/units.h"
#include "io/io.h"
#include "keys_check.h"
#include "plan/gpu_facts.h"
#include "rig.h"
#include "run/memory.h"
#include <stdio.h>

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	bool refused;
};

static void world_auto_(struct world *w)
{
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

static int put(struct world *w, const struct fl_kind *kind, const char *text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = text ? facts_object(&arena, kind->root(), fl_str(text)) : NULL;
	int r = 0;

	fl_feed_begin(fl_loop_feed(w->loop, kind));
	if (text)
		r = object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, NULL) : -FL_E_NOMEM;
	fl_feed_synced(fl_loop_feed(w->loop, kind));
	return r;
}

static int put_more(struct world *w, const struct fl_kind *kind, const char *text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = facts_object(&arena, kind->root(), fl_str(text));

	return object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, NULL) : -FL_E_NOMEM;
}

static int world_init(struct world *w)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_source sources[] = {
		{ &fl_given_kind, NULL, NULL, NULL },	 { &fl_config_file_kind, NULL, NULL, NULL },
		{ &fl_own_node_kind, NULL, NULL, NULL }, { &fl_settings_kind, NULL, &fl_memory_sink, NULL },
		{ &fl_memo_kind, NULL, &fl_memory_sink, NULL }, { &fl_api_watch_kind, NULL, &fl_memory_sink, NULL },
	};

	w->io = rig_clock();
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	if (!w->loop)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(sources); i++) {
		if (sources[i].sink)
			sources[i].sink_arg = w->io;
		if (fl_loop_source(w->loop, &sources[i], NULL) < 0)
			return -FL_E_NOMEM;
	}
	if (fl_loop_capability(w->loop, &fl_node_config, NULL) < 0)
		return -FL_E_NOMEM;
	fl_memory_begin(w->loop, &fl_settings_kind);
	fl_memory_begin(w->loop, &fl_api_watch_kind);
	fl_feed_awaited(fl_loop_feed(w->loop, &fl_memo_kind));
	return 0;
}

static void pass(struct world *w)
{
	uint64_t until = fl_clock(w->io) + 10 * FL_NS_PER_S;

	while (fl_clock(w->io) < until)
		w->refused |= fl_io_turn(w->io, until, NULL) < 0;
}

static const struct fl_settings *see(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);

	return fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings"));
}

#define GIVEN(more) "metadata: {name: given}\nnode: n1\nboot: b1\n" more
#define NODE(value) "metadata: {name: n1, labels: {nvidia.com/device-plugin.config: " value "}}\n"
#define FILE_(name, text) "metadata: {name: " name "}\ntext: \"" text "\"\n"
#define BY_INDEX "version: v1\\nflags: {plugin: {deviceIDStrategy: index}}\\n"
#define BY_UUID "version: v1\\nflags: {plugin: {deviceIDStrategy: uuid}}\\n"

static const struct {
	const char *says, *given, *files[2], *node;
	enum fl_id_by id_by;
	const char *message;                   /* with * for anything; "": none */
} rows[] = {
	{ "nothing was given: what is usual", GIVEN(""), { NULL }, NULL, FL_ID_UUID, "" },
	{ "an option of the command line",
	  GIVEN("options: [{name: device-id-strategy, values: [index]}]\n"), { NULL }, NULL, FL_ID_INDEX, "" },
	{ "a file", GIVEN("file: a.yaml\n"), { FILE_("a.yaml", BY_INDEX) }, NULL, FL_ID_INDEX, "" },
	{ "the command line wins over a file",
	  GIVEN("file: a.yaml\noptions: [{name: device-id-strategy, values: [uuid]}]\n"),
	  { FILE_("a.yaml", BY_INDEX) }, NULL, FL_ID_UUID, "" },
	{ "another file of the same folder is nobody's", GIVEN("file: a.yaml\n"),
	  { FILE_("a.yaml", BY_UUID), FILE_("b.yaml", BY_INDEX) }, NULL, FL_ID_UUID, "" },
	{ "a file that is not there is told", GIVEN("file: a.yaml\npath: /etc/f/a.yaml\n"), { NULL }, NULL,
	  FL_ID_UUID, "--config-file: there is no file at '/etc/f/a.yaml' (a directory is none): mount *; until it is "
		      "right, the command line and the environment alone are in force" },
	{ "so is one that cannot be read", GIVEN("file: a.yaml\npath: /etc/f/a.yaml\n"),
	  { "metadata: {name: a.yaml}\nwhy: it is too long\n" }, NULL, FL_ID_UUID, "/etc/f/a.yaml: it is too long; *" },
	{ "and one that is wrong", GIVEN("file: a.yaml\n"), { FILE_("a.yaml", "version: v7\\n") }, NULL, FL_ID_UUID,
	  "a.yaml: version: *" },
	{ "one of a folder with its path", GIVEN("several: true\npath: /etc/f/\n"),
	  { FILE_("one", BY_INDEX), FILE_("two", "version: v7\\n") }, NODE("two"), FL_ID_UUID,
	  "/etc/f/two: version: *" },
	{ "the Node's label chooses one", GIVEN("several: true\n"),
	  { FILE_("one", BY_UUID), FILE_("two", BY_INDEX) }, NODE("two"),
	  FL_ID_INDEX, "" },
	{ "without a label it is the one for those", GIVEN("several: true\nfallback: two\n"),
	  { FILE_("one", BY_UUID), FILE_("two", BY_INDEX) }, "metadata: {name: n1}\n", FL_ID_INDEX, "" },
	{ "a label that names none of them is told", GIVEN("several: true\n"),
	  { FILE_("one", BY_INDEX), FILE_("two", BY_INDEX) },
	  NODE("three"), FL_ID_UUID, "label nvidia.com/device-plugin.config: there is no configuration 'three', *" },
};

TEST(where_settings_come_from)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(world) struct world w = { 0 };
		const struct fl_settings *settings;

		OK(world_init(&w));
		OK(put(&w, &fl_own_node_kind, row->node));
		OK(put(&w, &fl_config_file_kind, row->files[0]));
		if (row->files[1])
			OK(put_more(&w, &fl_config_file_kind, row->files[1]));
		OK(put(&w, &fl_given_kind, row->given));
		pass(&w);
		settings = see(&w, &arena);
		OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
		CHECK_INT(settings->id_by, row->id_by);
		CHECK_STR(settings->node, "n1");
		CHECK_STR(settings->boot, "b1");
		if (!facts_like(settings->message, fl_str(row->message)))
			CHECK_STR(settings->message, row->message);
	}
}

/* What was in force stays so when the file becomes wrong, and when it goes. */
TEST(a_file_that_becomes_wrong_changes_nothing_but_the_message)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };
	const struct fl_settings *settings;

	OK(world_init(&w));
	OK(put(&w, &fl_own_node_kind, NULL));
	OK(put(&w, &fl_config_file_kind, FILE_("a.yaml", BY_INDEX)));
	OK(put(&w, &fl_given_kind, GIVEN("file: a.yaml\n")));
	pass(&w);
	OK(put(&w, &fl_config_file_kind,
	       FILE_("a.yaml", "version: v1\\nflags: {plugin: {deviceIDStrategy: moon}}\\n")));
	pass(&w);
	settings = see(&w, &arena);
	OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
	CHECK_INT(settings->id_by, FL_ID_INDEX);
	CHECK(settings->message.len);
	OK(put(&w, &fl_config_file_kind, NULL));
	pass(&w);
	settings = see(&w, &arena);
	OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
	CHECK_INT(settings->id_by, FL_ID_INDEX);
	CHECK(settings->message.len);
	OK(put(&w, &fl_config_file_kind, FILE_("a.yaml", BY_UUID)));
	pass(&w);
	settings = see(&w, &arena);
	OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
	CHECK_INT(settings->id_by, FL_ID_UUID);
	CHECK_STR(settings->message, "");
	CHECK(fl_loop_idle(w.loop) || test_tortured());
}

/* ---- which of several, and from when on ---- */

enum heard { NOT_YET, NO_SERVER, NO_NODE, NODE_SAYS };

struct stage {
	enum heard node;
	const char *label;                     /* NODE_SAYS; "": it has none */
	const char *memo;                      /* the file that is kept on the disk, "chosen good" where it is not
						  the one that was in force; NULL: none; "?": not read yet */
	const char *files;                     /* "one two bad": those that there are, by UUID, by index, and wrong */
	const char *waits, *message;           /* parts of them; "": none */
	const char *kept;                      /* what is kept on the disk then */
	enum fl_id_by id_by;                   /* "one" is by UUID, "two" by index */
};

static const struct {
	const char *says, *given;
	struct stage stages[3];
} choices[] = {
	{ "the label is waited for", GIVEN("several: true\n"),
	  { { NOT_YET, "", NULL, "one two", "waits for the API server", "", "", FL_ID_UUID },
	    { NODE_SAYS, "two", NULL, "one two", "", "", "two", FL_ID_INDEX } } },
	{ "a fallback is no choice before the Node was read", GIVEN("several: true\nfallback: two\n"),
	  { { NOT_YET, "", NULL, "one two", "waits for the API server", "", "", FL_ID_UUID },
	    { NODE_SAYS, "", NULL, "one two", "", "", "two", FL_ID_INDEX } } },
	{ "nor is an empty directory", GIVEN("several: true\n"),
	  { { NOT_YET, "", NULL, "", "waits for the API server", "", "", FL_ID_UUID } } },
	{ "a Node that does not exist yet has not said that it has no label", GIVEN("several: true\nfallback: two\n"),
	  { { NO_NODE, "", NULL, "one two", "waits for the API server", "", "", FL_ID_UUID } } },
	{ "the disk is waited for", GIVEN("several: true\n"),
	  { { NOT_YET, "", "?", "one two", "waits for the choice", "", "", FL_ID_UUID },
	    { NOT_YET, "", "two", "one two", "", "", "two", FL_ID_INDEX } } },
	{ "the remembered choice is served while the API server is away, and then what it says",
	  GIVEN("several: true\nfallback: one\n"),
	  { { NOT_YET, "", "two", "one two", "", "", "two", FL_ID_INDEX },
	    { NODE_SAYS, "one", "two", "one two", "", "", "one", FL_ID_UUID } } },
	{ "a remembered choice whose file is gone is none", GIVEN("several: true\n"),
	  { { NOT_YET, "", "two", "one", "waits for the API server", "", "two", FL_ID_UUID } } },
	{ "row 38: a label that names no file: nothing is served", GIVEN("several: true\n"),
	  { { NODE_SAYS, "three", NULL, "one two", "waits for a configuration",
	      "'three', only one, two; nothing is served",
	      "", FL_ID_UUID },
	    { NODE_SAYS, "two", NULL, "one two", "", "", "two", FL_ID_INDEX } } },
	{ "row 38: what is served stays so", GIVEN("several: true\n"),
	  { { NODE_SAYS, "two", NULL, "one two", "", "", "two", FL_ID_INDEX },
	    { NODE_SAYS, "three", NULL, "one two", "", "'three', only one, two; 'two' stays in force", "two",
	      FL_ID_INDEX } } },
	{ "row 38: what was served before a restart, likewise", GIVEN("several: true\n"),
	  { { NODE_SAYS, "three", "two", "one two", "", "'two' stays in force", "two", FL_ID_INDEX } } },
	{ "a choice that is wrong changes nothing, and one that names no file tells what is in force",
	  GIVEN("several: true\n"),
	  { { NODE_SAYS, "two", NULL, "one two bad", "", "", "two", FL_ID_INDEX },
	    { NODE_SAYS, "bad", NULL, "one two bad", "", "; 'two' stays in force", "bad two", FL_ID_INDEX },
	    { NODE_SAYS, "three", NULL, "one two bad", "", "'three', only bad, one, two; 'two' stays in force",
	      "bad two", FL_ID_INDEX } } },
	{ "after a restart what was in force is, though the choice is wrong", GIVEN("several: true\n"),
	  { { NOT_YET, "", "bad two", "one two bad", "", "version: v7: write v1; 'two' stays in force", "bad two",
	      FL_ID_INDEX },
	    { NODE_SAYS, "bad", NULL, "one two bad", "", "version: v7: write v1; 'two' stays in force", "bad two",
	      FL_ID_INDEX },
	    { NODE_SAYS, "one", NULL, "one two bad", "", "", "one", FL_ID_UUID } } },
	{ "or gone", GIVEN("several: true\n"),
	  { { NOT_YET, "", "bad two", "one two", "", "'bad' any more, which the Node chose last; 'two' stays in force",
	      "bad two", FL_ID_INDEX } } },
	{ "or no file has its name", GIVEN("several: true\n"),
	  { { NODE_SAYS, "three", "bad two", "one two bad", "", "'three', only bad, one, two; 'two' stays in force",
	      "bad two", FL_ID_INDEX } } },
	{ "where that is gone too, the command line and the environment are", GIVEN("several: true\n"),
	  { { NODE_SAYS, "bad", "bad two", "one bad", "", "the command line and the environment alone", "bad two",
	      FL_ID_UUID } } },
	{ "a Node that is deleted changes nothing", GIVEN("several: true\nfallback: one\n"),
	  { { NODE_SAYS, "two", NULL, "one two", "", "", "two", FL_ID_INDEX },
	    { NO_NODE, "", NULL, "one two", "", "", "two", FL_ID_INDEX } } },
	{ "without an API server there is no label", GIVEN("several: true\nfallback: two\n"),
	  { { NO_SERVER, "", NULL, "one two", "", "", "two", FL_ID_INDEX } } },
	{ "one file of its own waits for nothing", GIVEN("file: two\n"),
	  { { NOT_YET, "", "?", "two", "", "", "", FL_ID_INDEX } } },
	{ "nor does the command line alone", GIVEN("options: [{name: device-id-strategy, values: [index]}]\n"),
	  { { NOT_YET, "", "?", "", "", "", "", FL_ID_INDEX } } },
};

static int put_files(struct world *w, const char *names)
{
	struct fl_feed *feed = fl_loop_feed(w->loop, &fl_config_file_kind);
	int r = 0;

	fl_feed_begin(feed);
	if (strstr(names, "one"))
		r = put_more(w, &fl_config_file_kind, FILE_("one", BY_UUID));
	if (r == 0 && strstr(names, "two"))
		r = put_more(w, &fl_config_file_kind, FILE_("two", BY_INDEX));
	if (r == 0 && strstr(names, "bad"))
		r = put_more(w, &fl_config_file_kind, FILE_("bad", "version: v7\\n"));
	fl_feed_synced(feed);
	return r;
}

static int put_node(struct world *w, const struct stage *stage)
{
	char text[200];

	if (stage->node == NOT_YET)
		fl_feed_awaited(fl_loop_feed(w->loop, &fl_own_node_kind));
	if (stage->node == NO_SERVER)
		fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	if (stage->node == NO_NODE)
		return put(w, &fl_own_node_kind, NULL);
	if (stage->node != NODE_SAYS)
		return 0;
	(void)snprintf(text, sizeof text, "metadata: {name: n1, labels: {%s%s}}\n",
		       stage->label[0] ? "nvidia.com/device-plugin.config: " : "", stage->label);
	return put(w, &fl_own_node_kind, text);
}

/* What the journal tells at the start; later stages are of the same process, whose memory is its own. */
static int put_memo(struct world *w, const char *file)
{
	const char *good = file ? strchr(file, ' ') : NULL;
	char text[200];

	if (file && strcmp(file, "?") == 0)
		return 0;
	(void)snprintf(text, sizeof text, "metadata: {name: config}\nfile: %.*s\n%s%s\n",
		       good ? (int)(good - file) : file ? (int)strlen(file) : 0, file ? file : "",
		       good ? "good: " : "", good ? good + 1 : "");
	return put(w, &fl_memo_kind, file ? text : NULL);
}

static bool says(struct fl_str text, const char *part)
{
	return part[0] ? text.len && memmem(text.p, text.len, part, strlen(part)) : !text.len;
}

static bool is_kept(const struct fl_memo *memo, const char *kept)
{
	struct fl_str rest = fl_str(kept), file = FL_S("");

	if (!memo || !rest.len)
		return !memo && !rest.len;
	(void)fl_str_split(&rest, ' ', &file);
	return fl_str_eq(memo->file, file) && (!memo->good.len || fl_str_eq(memo->good, rest.len ? rest : file));
}

TEST(which_configuration_from_the_first_moment)
{
	EACH_ROW (row, choices) {
		FL_AUTO(world) struct world w = { 0 };

		OK(world_init(&w));
		OK(put(&w, &fl_given_kind, row->given));
		for (uint32_t i = 0; i < FL_LEN(row->stages) && row->stages[i].files; i++) {
			FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
			const struct stage *stage = &row->stages[i];
			const struct fl_settings *settings;
			const struct fl_memo *memo;
			struct fl_view view;

			if (i == 0 || strcmp(row->stages[i - 1].memo ? row->stages[i - 1].memo : "", "?") == 0)
				OK(put_memo(&w, stage->memo));
			OK(put_files(&w, stage->files));
			OK(put_node(&w, stage));
			pass(&w);
			settings = see(&w, &arena);
			OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
			CHECK_INT(settings->id_by, stage->id_by);
			CHECK(says(settings->waits, stage->waits));
			CHECK(says(settings->message, stage->message));
			view = fl_loop_view(w.loop, &arena);
			memo = fl_view_get(&view, &fl_memo_kind, FL_S(""), FL_S("config"));
			OK(!memo && stage->kept && *stage->kept && test_tortured() ? -FL_E_NOMEM : 0);
			CHECK(is_kept(memo, stage->kept));
		}
	}
}

TEST(nothing_is_served_while_the_configuration_is_not_known)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };
	const struct fl_settings *settings;

	OK(world_init(&w));
	OK(put(&w, &fl_memo_kind, NULL));
	OK(put_files(&w, "one two"));
	fl_feed_awaited(fl_loop_feed(w.loop, &fl_own_node_kind));
	OK(put(&w, &fl_given_kind, GIVEN("several: true\noptions: [{name: unpooled, values: ['true']}, "
					 "{name: pool, values: ['a.io/b=all']}]\n")));
	pass(&w);
	settings = see(&w, &arena);
	OK(settings ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
	CHECK(settings->waits.len);
	CHECK(!settings->unpooled);
	CHECK_INT(settings->pools.len, 0);
}

TEST(what_is_in_force_as_it_was_given_is_explained_as_that)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(16 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w));
	OK(put(&w, &fl_own_node_kind, NULL));
	OK(put(&w, &fl_config_file_kind, NULL));
	OK(put(&w, &fl_memo_kind, NULL));
	OK(put(&w, &fl_given_kind, GIVEN("")));
	pass(&w);
	OK(fl_loop_explain(w.loop, &fl_settings_kind, FL_S(""), FL_S("settings"), &words, NULL));
	CHECK(test_tortured() || strstr(words.p, "Applied: the settings are applied"));
}

/* What a plan wants and does not own is left out of what is written, as another owner's would be. */
TEST(every_setting_is_written)
{
	const struct fl_owner *owner = fl_node_config.owners[0];
	const struct fl_bind *bind = fl_settings_bind();

	for (uint32_t i = 0; i < bind->len; i++) {
		bool written = bind->fields[i].local || fl_str_eq(bind->fields[i].json, FL_S("metadata"));

		for (const char *const *path = owner->paths; *path && !written; path++)
			written = fl_str_eq(bind->fields[i].json, fl_str(*path));
		if (!written)
			(void)fprintf(stderr, "# %.*s\n", FL_ARG(bind->fields[i].json));
		CHECK(written);
	}
}

TEST(no_change_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(16 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w));
	OK(put(&w, &fl_own_node_kind, NODE("one")));
	OK(put(&w, &fl_config_file_kind, FILE_("one", BY_INDEX)));
	OK(put(&w, &fl_given_kind, GIVEN("several: true\n")));
	OK(put(&w, &fl_memo_kind, "metadata: {name: config}\nfile: one\n"));
	OK(keys_check(w.loop, &fl_node_config, FL_S(""), FL_S(""), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}
