/* A directory as feeder and sink, in the simulated world: hints that get lost, sick disks, what a crash left. Whatever
 * fails once under torture, it must come right again by itself: so all that is stated here is stated tortured too. */
#include "base/units.h"
#include "demo_capability.h"
#include "sim/sim.h"
#include "test.h"
#include <errno.h>
#include <signal.h>

enum { LONGEST = 40 };                 /* bytes of a bell's file */

struct node {
	struct sim_process *process;
	struct fl_loop *loop;
	struct fl_files_sink sink;
	struct fl_folder bells, signs;
};

struct stage {
	struct sim_world *world;
	struct sim_host *host;
	struct node *node;             /* NULL: it could not be set up */
	const char *dir;               /* of signs, made by who writes there; NULL: "/signs", which is there */
	bool healed;                   /* from the failure that was ordered */
	bool done;                     /* with a wish; else the test is over */
	const char *only;              /* of the bells, and for how long they settle */
	uint64_t settle;
	bool optional;
	uint32_t parsed;               /* bells, in all */
	uint32_t tries, failures;      /* that the sink has told of */
	char told[FL_ERR_TEXT + 64];   /* of the last one */
};

static void stage_auto_(struct stage *on)
{
	sim_world_free(on->world);
}

/* ---- a node with the demo capability over /bells and /signs ---- */

static void node_gone(void *self)
{
	struct node *node = self;
	struct stage *on = sim_arg(node->process);

	fl_folder_stop(&node->bells);
	fl_folder_stop(&node->signs);
	fl_loop_free(node->loop);
	fl_free(node);
	on->node = NULL;
}

static int longest_print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	struct fl_str text = ((const struct fl_sign *)object)->spec.text;

	if (text.len > LONGEST)
		return fl_fail(err, FL_E_TOOBIG, "no sign is that long");
	return sign_print(arg, object, out, err);
}

/* "gate", "-gate" for one that is gone, "gate: why". */
static void tried(void *on_, struct fl_write *write, const struct fl_err *why)
{
	struct stage *on = on_;

	on->tries++;
	on->failures += why != NULL;
	(void)snprintf(on->told, sizeof on->told, "%s%.*s%s%s", write->what == FL_WANT_GONE ? "-" : "",
		       FL_ARG(write->ref.name), why ? ": " : "", why ? why->text : "");
}

static int counted_parse(void *on_, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
			 struct fl_err *err)
{
	struct stage *on = on_;

	on->parsed++;
	return bell_parse(NULL, file, arena, object, err);
}

static int node_main(struct sim_process *p)
{
	struct stage *on = sim_arg(p);
	struct node *node = fl_zalloc(sizeof *node);
	struct fl_source bells = { .kind = &fl_bell_kind };
	struct fl_source signs = { .kind = &fl_sign_kind, .sink = &fl_files_sink };

	if (!node)
		return -FL_E_NOMEM;
	node->process = p;
	on->node = node;
	sim_own(p, node, node_gone);
	node->sink = (struct fl_files_sink){ .io = sim_io(p), .dir = on->dir ? on->dir : "/signs",
					     .make = on->dir != NULL, .suffix = ".sign", .print = longest_print,
					     .tried = on->dir ? tried : NULL, .arg = on };
	signs.sink_arg = &node->sink;
	node->loop = fl_loop_new(sim_io(p), &(struct fl_loop_options){ .seed = { 1, 2 } }, NULL);
	if (!node->loop || fl_loop_source(node->loop, &bells, NULL) < 0 ||
	    fl_loop_source(node->loop, &signs, NULL) < 0 || fl_loop_capability(node->loop, &ring, NULL) < 0)
		return -FL_E_NOMEM;
	node->bells = (struct fl_folder){ .dir = "/bells", .suffix = ".bell", .only = on->only, .settle = on->settle,
					  .parse = counted_parse, .arg = on, .max = LONGEST,
					  .optional = on->optional };
	node->signs = (struct fl_folder){ .dir = node->sink.dir, .suffix = ".sign", .parse = sign_parse };
	fl_folder_start(sim_io(p), &node->bells, fl_loop_feed(node->loop, &fl_bell_kind));
	fl_folder_start(sim_io(p), &node->signs, fl_loop_feed(node->loop, &fl_sign_kind));
	return 0;
}

/* Time goes by; after the failure that was ordered (there is one a round), enough for everything to be tried again. */
static void pass(struct stage *on, uint64_t ns)
{
	if (on->node)
		sim_signal(on->node->process, SIGCONT);   /* it has been worked at from outside: it must look */
	sim_run(on->world, sim_now(on->world) + ns);
	if (test_tortured() && !on->healed)
		sim_run(on->world, sim_now(on->world) + 400 * FL_NS_PER_S);
	on->healed = test_tortured();
}

static int set_up(struct stage *on)
{
	on->world = sim_world_new(&(struct sim_config){ .seed = 3, .refuse = test_refuse_io });
	on->host = sim_host_new(on->world, "node", node_main, on);
	(void)sim_file_put(on->host, "/signs/.old.sign.0123456789abcdef.tmp", "half", 4);
	(void)sim_file_put(on->host, "/signs/.old.sign.0123456789abcdeX.tmp", "no leftover", 11);
	(void)sim_file_put(on->host, "/signs/.old.text.0123456789abcdef.tmp", "none of ours", 12);
	(void)sim_file_put(on->host, "/signs/old.sign", "of another life", 15);
	(void)sim_file_put(on->host, "/bells/door.bell", "2\n", 2);
	(void)sim_file_put(on->host, "/room/chair", "", 0);
	pass(on, FL_NS_PER_S);
	return on->node ? 0 : -FL_E_NOMEM;
}

/* ---- what may happen to files ---- */

static int write_file(struct stage *on, const char *path, const char *text)
{
	const struct fl_fs *fs = fl_io_fs(sim_io(on->node->process));
	int fd = fs->open(fs, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600), r;

	if (fd < 0)
		return fd;
	r = fl_fs_write_all(fs, fd, text, strlen(text));
	fs->close(fs, fd);
	return r;
}

enum act {
	NOTHING, WRITE, FROM_OUTSIDE, LINK, SWAP, MOVE, REMOVE, DIRECTORY, RMDIR, BAD_DISK, GOOD_DISK, STUCK, LOOSE
};

static int do_act(struct stage *on, enum act act, const char *path, const char *text)
{
	const struct fl_fs *fs = fl_io_fs(sim_io(on->node->process));
	int r;

	switch (act) {
	case NOTHING:
		return 0;
	case WRITE:
		return write_file(on, path, text);
	case FROM_OUTSIDE:
		return sim_file_put(on->host, path, text, strlen(text));
	case LINK:
		return fs->symlink(fs, text, AT_FDCWD, path);
	case SWAP:
		r = write_file(on, path, text);
		if (r >= 0)
			r = write_file(on, "/bells/..new", "");
		return r < 0 ? r : fs->rename(fs, AT_FDCWD, "/bells/..new", AT_FDCWD, "/bells/..data", 0);
	case MOVE:
		return fs->rename(fs, AT_FDCWD, path, AT_FDCWD, text, 0);
	case REMOVE:
		return fs->unlink(fs, AT_FDCWD, path, 0);
	case DIRECTORY:
		return fs->mkdir(fs, AT_FDCWD, path, 0755);
	case RMDIR:
		return fs->unlink(fs, AT_FDCWD, path, AT_REMOVEDIR);
	case BAD_DISK:
	case GOOD_DISK:
		sim_faults(on->host)->eio_read = act == BAD_DISK ? 1000000 : 0;
		return 0;
	case STUCK:
		sim_faults(on->host)->stuck = true;
		return 0;
	case LOOSE:
		sim_faults(on->host)->stuck = false;
		sim_unstick(on->host);
		return 0;
	}
	return 0;
}

/* What the loop's cache shows: "door=2 gate!why". */
static int shown(const struct stage *on, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(on->node->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_bell_kind);
	const struct fl_bell *bell;

	while ((bell = fl_each_next(&each))) {
		fl_buf_printf(out, "%s%.*s", out->len ? " " : "", FL_ARG(bell->meta.name));
		if (bell->spec.has.problem)
			fl_buf_printf(out, "!%.*s", FL_ARG(bell->spec.problem));
		else
			fl_buf_printf(out, "=%d", (int)bell->spec.rings);
	}
	return view.failed ? -FL_E_NOMEM : fl_buf_check(out, "bells", NULL);
}

static const struct step {
	const char *says;
	enum act act;
	const char *path, *text;
	unsigned s;                    /* seconds that pass */
	const char *shows;
	enum fl_code why;
} steps[] = {
	{ "what is there at the start is told", NOTHING, "", "", 1, "door=2", FL_OK },
	{ "a file that is written is read", WRITE, "/bells/gate.bell", "1", 1, "door=2 gate=1", FL_OK },
	{ "a hidden one is not: it is being written", WRITE, "/bells/.new.bell", "3", 1, "door=2 gate=1", FL_OK },
	{ "until it is renamed into place", MOVE, "/bells/.new.bell", "/bells/gate.bell", 1, "door=2 gate=3", FL_OK },
	{ "nor are others", WRITE, "/bells/gate.txt", "3", 1, "door=2 gate=3", FL_OK },
	{ "nor is what is nothing but a suffix", WRITE, "/bells/.bell", "3", 1, "door=2 gate=3", FL_OK },
	{ "nor a directory", DIRECTORY, "/bells/room.bell", "", 1, "door=2 gate=3", FL_OK },
	{ "a file with nonsense is an object that says so", WRITE, "/bells/gate.bell", "x", 1,
	  "door=2 gate!gate.bell: a number from 1 to 9 is wanted", FL_OK },
	{ "and one that is too long", WRITE, "/bells/gate.bell", "4444444444444444444444444444444444444444444444", 1,
	  "door=2 gate!read '/bells/gate.bell': over 40 bytes", FL_OK },
	{ "and comes right again", WRITE, "/bells/gate.bell", "4", 1, "door=2 gate=4", FL_OK },
	{ "from outside, too", FROM_OUTSIDE, "/bells/gate.bell", "5", 1, "door=2 gate=5", FL_OK },
	{ "a link that leads nowhere yet", LINK, "/bells/hall.bell", "/room/hall.bell", 1, "door=2 gate=5", FL_OK },
	{ "what no hint tells of is not seen", FROM_OUTSIDE, "/room/hall.bell", "5", 1, "door=2 gate=5", FL_OK },
	{ "for a minute at most", NOTHING, "", "", 61, "door=2 gate=5 hall=5", FL_OK },
	{ "what it leads to once a volume is swapped", SWAP, "/room/hall.bell", "6", 1, "door=2 gate=5 hall=6", FL_OK },
	{ "and again", SWAP, "/room/hall.bell", "7", 1, "door=2 gate=5 hall=7", FL_OK },
	{ "until the link goes", REMOVE, "/bells/hall.bell", "", 1, "door=2 gate=5", FL_OK },
	{ "a disk that hangs changes nothing of what is known", STUCK, "", "", 80, "door=2 gate=5", FL_E_TIMEOUT },
	{ "and is asked again", LOOSE, "", "", 61, "door=2 gate=5", FL_OK },
	{ "a disk that does not give a file is told of that file", BAD_DISK, "", "", 61,
	  "door!read '/bells/door.bell': Input/output error gate!read '/bells/gate.bell': Input/output error", FL_OK },
	{ "until it does", GOOD_DISK, "", "", 61, "door=2 gate=5", FL_OK },
	{ "a directory that goes was emptied before", REMOVE, "/bells/gate.bell", "", 1, "door=2", FL_OK },
	{ "to the last file", REMOVE, "/bells/door.bell", "", 1, "", FL_OK },
	{ "and others", REMOVE, "/bells/gate.txt", "", 1, "", FL_OK },
	{ "and others", REMOVE, "/bells/.bell", "", 1, "", FL_OK },
	{ "and others", REMOVE, "/bells/..data", "", 1, "", FL_OK },
	{ "and its directories", RMDIR, "/bells/room.bell", "", 1, "", FL_OK },
	{ "a directory that is not there is an empty one", RMDIR, "/bells", "", 61, "", FL_OK },
	{ "and one that comes is watched", DIRECTORY, "/bells", "", 61, "", FL_OK },
	{ "with all that is in it", WRITE, "/bells/yard.bell", "7", 1, "yard=7", FL_OK },
};

TEST(files_are_objects)
{
	FL_AUTO(stage) struct stage on = { 0 };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	EACH_ROW (step, steps) {
		OK(do_act(&on, step->act, step->path, step->text));
		pass(&on, step->s * FL_NS_PER_S);
		fl_buf_clear(&out);
		OK(shown(&on, &out));

		CHECK_STR(fl_buf_view(&out), step->shows);
		if (!step->why || !test_tortured())
			CHECK_INT(on.node->bells.why.code, step->why);
	}
}

/* ---- what settles, and one file alone ---- */

static const struct change {
	const char *says, *path, *text;
	uint32_t times, every_ms;      /* how often it is written, the text last of all, and the time between */
	uint32_t after_ms;
	uint32_t least, most;          /* looks */
	const char *shows;
} changes[] = {
	{ "nothing is looked at before it has settled", "/bells/gate.bell", "2", 1, 0, 200, 0, 0, "gate=1" },
	{ "and then once", "", "", 0, 0, 60, 1, 1, "gate=2" },
	{ "what changes a hundred times in no time: once", "/bells/gate.bell", "3", 100, 0, 1000, 1, 1, "gate=3" },
	{ "what does not rest for 2.5 s: ten times", "/bells/gate.bell", "4", 100, 25, 1000, 9, 11, "gate=4" },
	{ "another file is none of ours", "/bells/door.bell", "5", 100, 25, 1000, 0, 0, "gate=4" },
	{ "a volume that is swapped: once", "/bells/..data", "", 3, 10, 1000, 1, 1, "gate=4" },
};

static int change(struct stage *on, const struct change *row)
{
	for (uint32_t i = 1; i <= row->times; i++) {
		int r = write_file(on, row->path, i == row->times ? row->text : "9");

		if (r < 0)
			return r;
		sim_run(on->world, sim_now(on->world) + row->every_ms * FL_NS_PER_MS);
	}
	return 0;
}

TEST(what_changes_often_is_looked_at_seldom)
{
	FL_AUTO(stage) struct stage on = { .only = "gate.bell", .settle = 250 * FL_NS_PER_MS };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	OK(write_file(&on, "/bells/gate.bell", "1"));
	pass(&on, FL_NS_PER_S);
	EACH_ROW (row, changes) {
		uint32_t before = on.parsed;

		OK(change(&on, row));
		pass(&on, row->after_ms * FL_NS_PER_MS);
		fl_buf_clear(&out);
		OK(shown(&on, &out));
		if (test_tortured())   /* it has had time to be tried again */
			continue;
		CHECK_STR(fl_buf_view(&out), row->shows);
		CHECK_INT(on.parsed - before >= row->least, true);
		CHECK_INT(on.parsed - before <= row->most, true);
	}
	if (on.node)
		CHECK_STR(fl_buf_view(&out), "gate=4");
}

/* On most machines it never comes. */
TEST_ONCE(a_directory_that_may_never_come_is_looked_for_once_a_minute)
{
	FL_AUTO(stage) struct stage on = { .optional = true };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);
	uint64_t before;

	OK(set_up(&on));
	OK(do_act(&on, REMOVE, "/bells/door.bell", ""));
	OK(do_act(&on, RMDIR, "/bells", ""));
	pass(&on, 60 * FL_NS_PER_S);
	before = fl_io_turns(sim_io(on.node->process))->count;
	pass(&on, 600 * FL_NS_PER_S);
	CHECK(fl_io_turns(sim_io(on.node->process))->count - before < 10 * 10);
	OK(do_act(&on, DIRECTORY, "/bells", ""));
	OK(do_act(&on, WRITE, "/bells/yard.bell", "7"));
	pass(&on, 60 * FL_NS_PER_S);
	OK(shown(&on, &out));
	CHECK_STR(fl_buf_view(&out), "yard=7");
}

TEST_ONCE(the_first_look_waits_for_nothing)
{
	FL_AUTO(stage) struct stage on = { .settle = 3600 * FL_NS_PER_S };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	OK(shown(&on, &out));
	CHECK_STR(fl_buf_view(&out), "door=2");
}

/* Not tortured: it takes a thousand writes to lose a hint. */
/* Over and over while the node hangs: more hints than the kernel keeps. */
static int write_often(struct stage *on, const char *path, const char *text)
{
	int r = 0;

	sim_hang(on->node->process, false);
	for (int i = 0; r == 0 && i < 1100; i++)
		r = write_file(on, "/bells/a.bell", "1");
	sim_unhang(on->node->process);
	return r < 0 ? r : sim_file_put(on->host, path, text, strlen(text));
}

TEST_ONCE(lost_hints_mean_look_everywhere_at_once)
{
	FL_AUTO(stage) struct stage on = { 0 };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	OK(write_often(&on, "/bells/gate.bell", "6"));
	pass(&on, FL_NS_PER_S);
	OK(shown(&on, &out));
	CHECK_STR(fl_buf_view(&out), "door=2 a=1 gate=6");
}

/* ---- the sink ---- */

#define LONG_NAME \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
	"0123456789012345678901234567890123456789"

struct wish {
	const char *says, *bell;
	int32_t rings;                 /* 0: it goes */
	bool read_only;
	const char *path, *holds;      /* NULL: no such file */
	const char *explains;          /* of the bell; NULL: nothing of a failure */
};

static const struct wish wishes[] = {
	{ "what is wanted is a file", "gate", 1, false, "/signs/gate.sign", "ding", NULL },
	{ "what is wanted otherwise is another content", "gate", 2, false, "/signs/gate.sign", "ding ding", NULL },
	{ "what is not wanted goes", "gate", 0, false, "/signs/gate.sign", NULL, NULL },
	{ "and what another life has left", "door", 2, false, "/signs/old.sign", NULL, NULL },
	{ "half a file is swept before the first write", "door", 2, false,
	  "/signs/.old.sign.0123456789abcdef.tmp", NULL, NULL },
	{ "but not one that only looks like it", "door", 2, false,
	  "/signs/.old.sign.0123456789abcdeX.tmp", "no leftover", NULL },
	{ "nor somebody else's", "door", 2, false, "/signs/.old.text.0123456789abcdef.tmp", "none of ours", NULL },
};

static const struct wish refused[] = {
	{ "a name that leads elsewhere is refused", "../door", 1, false, "/door.sign", NULL,
	  "'../door' is not the name of a file in '/signs'" },
	{ "a hidden name is refused", ".door", 1, false, "/signs/.door.sign", NULL,
	  "'.door' is not the name of a file in '/signs'" },
	{ "a name in a directory below is refused", "a/b", 1, false, "/signs/a/b.sign", NULL,
	  "'a/b' is not the name of a file in '/signs'" },
	{ "a name that is too long is refused", LONG_NAME, 1, false, "/signs/" LONG_NAME ".sign", NULL,
	  "Sign 0123456789" },
	{ "what cannot be printed is told in the printer's words", "gate", 9, false, "/signs/gate.sign", NULL,
	  "'/signs/gate.sign': no sign is that long" },
};

static const struct wish sick[] = {
	{ "a disk that refuses is told", "gate", 3, true, "/signs/gate.sign", NULL,
	  "'/signs/gate.sign': create a file beside it: Read-only file system" },
	{ "and is asked again", "gate", 3, false, "/signs/gate.sign", "ding ding ding", NULL },
	{ "what cannot be removed is told", "gate", 0, true, "/signs/gate.sign", "ding ding ding",
	  "remove '/signs/gate.sign': remove: Read-only file system" },
	{ "and goes later", "gate", 0, false, "/signs/gate.sign", NULL, NULL },
};

static int tell_bell(struct stage *on, const char *name, int32_t rings)
{
	struct fl_feed *feed = fl_loop_feed(on->node->loop, &fl_bell_kind);
	struct fl_bell bell = { 0 };

	if (!rings) {
		fl_feed_gone(feed, FL_S(""), fl_str(name));
		return 0;
	}
	FL_SET(FL_IN(&bell, meta), name, fl_str(name));
	FL_SET(FL_IN(&bell, spec), rings, rings);
	return fl_feed_put(feed, &bell, NULL);
}

static bool explains(struct stage *on, const struct wish *wish)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(8 * FL_KIB);
	struct fl_err err = { 0 };
	bool failed;

	if (fl_loop_explain(on->node->loop, &fl_bell_kind, FL_S(""), fl_str(wish->bell), &out, &err) < 0)
		return !wish->explains;
	failed = out.p && strstr(out.p, "failed");
	return wish->explains ? failed && strstr(out.p, wish->explains) : !failed;
}

static void wish_for(struct stage *on, const struct wish *wish, uint64_t seconds)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);
	int r;

	on->done = false;
	sim_faults(on->host)->read_only = wish->read_only;
	OK(tell_bell(on, wish->bell, wish->rings));
	pass(on, seconds * FL_NS_PER_S);
	r = sim_file_get(on->host, wish->path, &out);
	OK(r == -ENOMEM ? r : 0);
	CHECK_INT(r == 0, wish->holds != NULL);
	if (wish->holds)
		CHECK_STR(fl_buf_view(&out), wish->holds);
	CHECK(explains(on, wish) || test_tortured());
	CHECK(fl_loop_writing(on->node->loop) == 0);
	on->done = true;
}

static void wish_for_all(const struct wish *at, uint32_t count, uint64_t seconds)
{
	FL_AUTO(stage) struct stage on = { 0 };

	OK(set_up(&on));
	fl_folder_stop(&on.node->bells);
	on.done = true;
	for (uint32_t i = 0; i < count && on.done; i++) {
		test_row(at[i].says);
		wish_for(&on, &at[i], seconds);
	}
}

TEST(what_is_wanted_is_a_file)
{
	wish_for_all(wishes, FL_LEN(wishes), 2);
}

TEST(what_cannot_be_a_file_is_refused)
{
	EACH_ROW_ALONE (wish, refused)
		wish_for_all(wish, 1, 65);
}

TEST(a_disk_that_refuses_is_asked_again)
{
	wish_for_all(sick, FL_LEN(sick), 65);
}

/* However long it has refused: nothing else tells that a disk has healed. */
TEST_ONCE(a_disk_that_heals_is_written_within_seconds)
{
	FL_AUTO(stage) struct stage on = { 0 };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	fl_folder_stop(&on.node->bells);
	sim_faults(on.host)->read_only = true;
	OK(tell_bell(&on, "gate", 1));
	pass(&on, 3600 * FL_NS_PER_S);
	CHECK(sim_file_get(on.host, "/signs/gate.sign", &out) < 0);
	sim_faults(on.host)->read_only = false;
	pass(&on, 2 * FL_LOCAL_RETRY_LAST);
	CHECK_INT(sim_file_get(on.host, "/signs/gate.sign", &out), 0);
	CHECK_STR(fl_buf_view(&out), "ding");
}

/* What a process leaves behind when it ends while the disk hangs is nobody's memory. */
TEST(a_write_that_hangs_is_let_go)
{
	FL_AUTO(stage) struct stage on = { 0 };

	OK(set_up(&on));
	sim_faults(on.host)->stuck = true;
	OK(write_file(&on, "/bells/gate.bell", "1"));
	pass(&on, FL_NS_PER_S);
	OK(tell_bell(&on, "yard", 1));
	OK(tell_bell(&on, "door", 0));
	sim_signal(on.node->process, SIGCONT);
	sim_run(on.world, sim_now(on.world) + FL_NS_PER_S);
	CHECK(fl_loop_writing(on.node->loop) > 0 || test_tortured());
	sim_stop(on.host);
	CHECK(!on.node);
}

/* ---- what becomes of a try ---- */

#define ROOM "/room"
#define SIGNS ROOM "/signs"

enum upheaval { CALM, NO_DIRECTORY, NO_PARENT, PARENT_BACK };

static int turn_over(struct stage *on, enum upheaval what)
{
	static const struct {
		const char *path;
		int flags;
	} things[] = { { SIGNS "/door.sign", 0 }, { SIGNS "/gate.sign", 0 }, { SIGNS, AT_REMOVEDIR },
		       { ROOM "/chair", 0 }, { ROOM, AT_REMOVEDIR } };
	const struct fl_fs *fs = fl_io_fs(sim_io(on->node->process));
	size_t count = what == NO_PARENT ? FL_LEN(things) : what == NO_DIRECTORY ? 3 : 0;

	for (size_t i = 0; i < count; i++) {
		int r = fs->unlink(fs, AT_FDCWD, things[i].path, things[i].flags);

		if (r < 0 && r != -ENOENT)
			return r;
	}
	return what == PARENT_BACK ? fs->mkdir(fs, AT_FDCWD, ROOM, 0755) : 0;
}

#define NOT_THERE "gate: replace '/room/signs/gate.sign': open its directory: No such file or directory"

static const struct attempt {
	const char *says;
	enum upheaval first;
	const char *bell;
	int32_t rings;                 /* 0: it goes */
	bool read_only, not_made;      /* nobody makes the directory */
	const char *told;              /* of the last try; "": there was none */
	bool fails;                    /* a failure was told */
	const char *holds;             /* the gate's file; NULL: there is none */
} attempts[] = {
	{ "a file that is written", CALM, "gate", 1, false, false, "gate", false, "ding" },
	{ "and written anew", CALM, "gate", 2, false, false, "gate", false, "ding ding" },
	{ "a directory that has gone is made again, which is no failure", NO_DIRECTORY, "gate", 3, false, false, "gate",
	  false, "ding ding ding" },
	{ "a file that goes", CALM, "gate", 0, false, false, "-gate", false, NULL },
	{ "is there once more", CALM, "gate", 1, false, false, "gate", false, "ding" },
	{ "and goes, though its directory went first", NO_DIRECTORY, "gate", 0, false, false, "-gate", false, NULL },
	{ "a directory that cannot be made is a failure", NO_PARENT, "gate", 1, false, false, NOT_THERE, true, NULL },
	{ "until it can", PARENT_BACK, "gate", 1, false, false, "gate", false, "ding" },
	{ "nobody makes it who was not asked to", NO_DIRECTORY, "gate", 2, false, true, NOT_THERE, true, NULL },
	{ "as before", CALM, "gate", 2, false, false, "gate", false, "ding ding" },
	{ "a disk that refuses", CALM, "gate", 1, true, false,
	  "gate: replace '/room/signs/gate.sign': create a file beside it: Read-only file system", true, "ding ding" },
	{ "and keeps what is to go", CALM, "gate", 0, true, false,
	  "-gate: remove '/room/signs/gate.sign': remove: Read-only file system", true, "ding ding" },
	{ "and heals", CALM, "gate", 0, false, false, "-gate", false, NULL },
	{ "what cannot be printed", CALM, "gate", 9, false, false,
	  "gate: '/room/signs/gate.sign': no sign is that long", true, NULL },
	{ "is over when it can", CALM, "gate", 1, false, false, "gate", false, "ding" },
	{ "a name that leads elsewhere", CALM, "../gate", 1, false, false,
	  "../gate: '../gate' is not the name of a file in '/room/signs'", true, "ding" },
};

TEST(what_becomes_of_a_try_is_told)
{
	FL_AUTO(stage) struct stage on = { .dir = SIGNS };

	OK(set_up(&on));
	CHECK(test_tortured() || (on.tries == 1 && strcmp(on.told, "door") == 0));   /* its directory was not there */
	fl_folder_stop(&on.node->bells);
	fl_folder_stop(&on.node->signs);
	EACH_ROW (attempt, attempts) {
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);
		int r;

		OK(turn_over(&on, attempt->first));
		sim_faults(on.host)->read_only = attempt->read_only;
		on.node->sink.make = !attempt->not_made;
		on.failures = 0;
		on.told[0] = 0;
		OK(tell_bell(&on, attempt->bell, attempt->rings));
		pass(&on, 30 * FL_NS_PER_S);
		r = sim_file_get(on.host, SIGNS "/gate.sign", &out);
		OK(r == -ENOMEM ? r : 0);
		CHECK_INT(r == 0, attempt->holds != NULL);
		if (attempt->holds)
			CHECK_STR(fl_buf_view(&out), attempt->holds);
		CHECK_STR(fl_str(on.told), attempt->told);
		CHECK(test_tortured() || (on.failures > 0) == attempt->fails);
	}
}

static const struct moment {
	const char *says;
	bool swept;                    /* before; the directory has gone since */
	int32_t rings;                 /* 0: the file is to go */
	unsigned ms;                   /* each job takes a hundred */
	bool made;                     /* the directory is there again */
	bool over;
} moments[] = {
	{ "while it is swept for the first time", false, 1, 50, false, false },
	{ "while the first file is written", false, 1, 150, true, false },
	{ "while the directory is missed", true, 1, 50, false, false },
	{ "while it is made again", true, 1, 150, false, false },
	{ "while the file is written once more", true, 1, 250, true, false },
	{ "while a file is removed", true, 0, 50, false, false },
	{ "after that it is too late", true, 1, 350, true, true },
};

/* Nothing of it is told, nothing of it is left. */
TEST(a_write_is_let_go_at_each_moment)
{
	EACH_ROW (moment, moments) {
		FL_AUTO(stage) struct stage on = { .dir = SIGNS };
		const struct fl_fs *fs;
		struct fl_stat stat;
		bool made;

		OK(set_up(&on));
		fl_folder_stop(&on.node->bells);
		fl_folder_stop(&on.node->signs);
		OK(turn_over(&on, NO_DIRECTORY));
		on.node->sink.swept = moment->swept;
		sim_faults(on.host)->disk_min = sim_faults(on.host)->disk_max = 100 * FL_NS_PER_MS;
		on.tries = 0;
		OK(tell_bell(&on, "door", moment->rings));
		sim_signal(on.node->process, SIGCONT);
		sim_run(on.world, sim_now(on.world) + moment->ms * FL_NS_PER_MS);
		fs = fl_io_fs(sim_io(on.node->process));
		made = fs->stat(fs, AT_FDCWD, SIGNS, 0, &stat) == 0;
		CHECK(test_tortured() || made == moment->made);
		CHECK(test_tortured() || (fl_loop_writing(on.node->loop) == 0) == moment->over);
		CHECK(test_tortured() || (on.tries == 1 && on.failures == 0) == moment->over);
		on.tries = 0;
		on.node->loop = fl_loop_free(on.node->loop);
		sim_run(on.world, sim_now(on.world) + 2 * FL_FILE_TIMEOUT);   /* what goes on below is over */
		CHECK_INT(on.tries, 0);
	}
}

TEST(two_that_miss_a_directory_both_find_it_made)
{
	FL_AUTO(stage) struct stage on = { .dir = SIGNS };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	OK(set_up(&on));
	fl_folder_stop(&on.node->bells);
	fl_folder_stop(&on.node->signs);
	OK(turn_over(&on, NO_DIRECTORY));
	on.tries = 0;
	OK(tell_bell(&on, "gate", 1));
	OK(tell_bell(&on, "door", 3));
	pass(&on, FL_NS_PER_S);
	CHECK(test_tortured() || (on.tries == 2 && on.failures == 0));
	OK(sim_file_get(on.host, SIGNS "/gate.sign", &out));
	CHECK_STR(fl_buf_view(&out), "ding");
	fl_buf_clear(&out);
	OK(sim_file_get(on.host, SIGNS "/door.sign", &out));
	CHECK_STR(fl_buf_view(&out), "ding ding ding");
}
