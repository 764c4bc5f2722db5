#include "node/settings/config.h"
#include "api/node_pools.h"
#include "base/units.h"
#include "io/fs.h"
#include "run/facts.h"
#include "run/memory.h"
#include <errno.h>

/* From a change of configuration files until it is followed: who edits saves twice, and each change that is followed is
 * two writes and a list for the kubelet. */
#define FL_CONFIG_SETTLE (250 * FL_NS_PER_MS)

#define FL_CONFIG_MACHINE_MAX 256   /* of a machine's type: a label has 63 at most */

static const struct fl_str one = FL_S_INIT("given"), settings_name = FL_S_INIT("settings"),
			   memo_name = FL_S_INIT("config");

/* ---- what was given, as a fact and back ---- */

static const struct fl_option option_rows[] = { FL_SETTINGS_OPTIONS };

/* The texts of an option: none, unless it was given. */
static struct fl_str_list texts_of(const struct fl_settings_given *of, const struct fl_option *row)
{
	void *member = (char *)(uintptr_t)of + row->offset;
	const struct fl_strs *several = member;
	struct fl_str *text = member;

	if (row->kind == FL_OPTION_STRS)
		return (struct fl_str_list){ several->at, several->len };
	return (struct fl_str_list){ text, text->p != NULL };
}

static int put_given(struct fl_loop *loop, const struct fl_config_options *options, struct fl_given *given,
		     struct fl_arena *arena, struct fl_err *err)
{
	struct fl_given_option *option = FL_ELEMENTS(given, arena, options, FL_LEN(option_rows));

	if (!option)
		return fl_fail(err, FL_E_NOMEM, "no memory for the options");
	for (uint32_t i = 0; i < FL_LEN(option_rows); i++) {
		struct fl_str_list texts = texts_of(options->given, &option_rows[i]);

		if (!texts.len)
			continue;
		FL_SET(option, name, fl_str(option_rows[i].name));
		FL_SET(option, values, texts);
		option++;
	}
	given->options.len = (uint32_t)(option - given->options.at);
	return fl_feed_put(fl_loop_feed(loop, &fl_given_kind), given, err);
}

static void take_given(const struct fl_given *from, struct fl_settings_given *ret)
{
	for (uint32_t i = 0; i < from->options.len; i++) {
		const struct fl_given_option *option = &from->options.at[i];
		const struct fl_str_list *texts = &option->values;

		for (uint32_t j = 0; j < FL_LEN(option_rows); j++) {
			void *member = (char *)ret + option_rows[j].offset;

			if (!fl_str_eq(option->name, fl_str(option_rows[j].name)))
				continue;
			if (option_rows[j].kind == FL_OPTION_STRS)
				*(struct fl_strs *)member = (struct fl_strs){ texts->at, texts->len, texts->len };
			else if (texts->len)
				*(struct fl_str *)member = texts->at[0];
		}
	}
}

#define OWNED_PATH(type, member, json, ...) json,
static const struct fl_owner owner = {
	.manager = "fairlead-config", .kind = &fl_settings_kind,
	.paths = (const char *const[]){ FL_SETTINGS_OWN(OWNED_PATH) NULL },
};
static const struct fl_owner memo_owner = {
	.manager = "fairlead-config", .kind = &fl_memo_kind, .paths = (const char *const[]){ "file", "good", NULL },
};

/* ---- the decision ---- */

#define CONFIG_FACTS(X) \
	X(NEED, fl_given, given, "given") \
	X(ALL, fl_config_file, files, file_len) \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(TOLD, fl_own_node, node_told) \
	X(KNOWN, fl_own_node, served) /* there is an API server that has Nodes */ \
	X(KNOWN, fl_memo, memo_known) \
	X(MAYBE_ONE, fl_memo, memo, "config") /* of the files that were chosen and in force last; NULL: none was */ \
	X(MAYBE_ONE, fl_memo, pools, FL_POOLS_NAME) /* the pools of the cluster that have GPUs here */ \
	X(ONE, fl_api_watch, devices, FL_DEVICES_WATCH) \
	X(ONE, fl_settings, before, "settings") /* in force; NULL: none are, or they wait */
/* `node_known`: what its label says; also where nobody could say. A Node that is not there yet, or not any more, says
 * nothing: neither that it has no label. */
FL_FACTS(config_facts, CONFIG_FACTS, bool node_known;);
FL_FACTS_ONCE(config, config_facts, CONFIG_FACTS)

static struct fl_str label_of(const struct fl_own_node *node)
{
	const struct fl_pair *label =
		node ? fl_find(node->meta.labels.at, node->meta.labels.len, key, FL_S(FL_SETTINGS_LABEL)) : NULL;

	return label ? label->value : FL_S("");
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct config_facts *facts = facts_;

	if (!config_gather(view, key, facts))
		return false;
	facts->node_known = facts->node || (facts->node_told && !facts->served);
	if (facts->before && facts->before->waits.len)
		facts->before = NULL;
	return true;
}

static const struct fl_config_file *find_file(const struct config_facts *facts, struct fl_str name)
{
	return name.len ? fl_find(facts->files, facts->file_len, meta.name, name) : NULL;
}

/* By the label, the fallback, or the names of the files themselves. NULL: there are none, and none is asked for. */
static int choose_by_node(const struct config_facts *facts, struct fl_arena *arena, const struct fl_config_file **ret,
			  struct fl_err *err)
{
	const struct fl_config_file *missing = find_file(facts, FL_S("."));
	struct fl_str *names = fl_arena_get_n(arena, facts->file_len + 1, sizeof *names);
	uint32_t at;

	if (missing)
		return fl_fail(err, FL_E_NOTFOUND, "--config-dir: %.*s: mount the configurations there, or name their "
						   "directory",
			       FL_ARG(missing->why));
	if (!names)
		return fl_fail(err, FL_E_NOMEM, "no memory for the configuration");
	for (uint32_t i = 0; i < facts->file_len; i++)
		names[i] = facts->files[i].meta.name;
	if (fl_settings_choose(names, facts->file_len, label_of(facts->node), facts->given->fallback, &at, err) < 0)
		return -(int)err->code;
	*ret = at == UINT32_MAX ? NULL : &facts->files[at];
	return 0;
}

/* What is to be in force. */
struct choice {
	const struct fl_config_file *file;     /* NULL: what was given alone, unless something is wrong */
	const struct fl_config_file *good;     /* in force, or before a restart it was; NULL: none */
	bool keep;                             /* the Settings before, as they are */
	bool by_node;                          /* it is to be remembered */
	const char *waits;                     /* NULL: for nothing */
};

/* Where the one that is asked for cannot be had. */
static const struct fl_config_file *find_good(const struct config_facts *facts)
{
	if (facts->before)
		return find_file(facts, facts->before->file);
	if (!facts->memo || !facts->given->several)
		return NULL;
	return find_file(facts, facts->memo->good.len ? facts->memo->good : facts->memo->file);
}

/* One of several: what the Node says, else what it said last. */
static int choose_one(const struct config_facts *facts, struct fl_arena *arena, struct choice *ret, struct fl_err *err)
{
	int r = facts->node_known ? choose_by_node(facts, arena, &ret->file, err) : 0;

	ret->by_node = facts->node_known && r == 0;
	if (ret->by_node || r == -FL_E_NOMEM)
		return r;
	if (!facts->node_known && facts->memo)
		ret->file = find_file(facts, facts->memo->file);
	ret->keep = r == 0 && !ret->file && facts->before;
	if (ret->file || facts->before)
		return r;
	if (ret->good)
		return r < 0 ? r : fl_fail(err, FL_E_NOTFOUND, "there is no configuration '%.*s' any more, which the "
							       "Node chose last",
					   FL_ARG(facts->memo->file));
	if (facts->node_known)
		ret->waits = "a configuration that the Node asks for";
	else if (!facts->memo_known)
		ret->waits = "the choice that is kept in --state-dir, or the Node's label " FL_SETTINGS_LABEL;
	else
		ret->waits = "the API server, to read the Node's label " FL_SETTINGS_LABEL;
	return r;
}

/* FL_E_NOTFOUND: the one that is asked for is not there. */
static int choose(const struct config_facts *facts, struct fl_arena *arena, struct choice *ret, struct fl_err *err)
{
	const struct fl_given *given = facts->given;

	ret->good = find_good(facts);
	if (!given->has.file && given->several)
		return choose_one(facts, arena, ret, err);
	if (!given->has.file)
		return 0;
	ret->file = find_file(facts, given->file);
	return ret->file ? 0 :
			   fl_fail(err, FL_E_NOTFOUND,
				   "--config-file: there is no file at '%.*s' (a directory is none): mount the "
				   "configuration there, or name its path",
				   FL_ARG(given->path));
}

/* Until it is known which configuration counts, not even what the command line says is served. */
static void wait_for(struct fl_plan *plan, struct fl_settings *settings, const char *what)
{
	FL_SET(settings, waits, fl_plan_printf(plan, "waits for %s", what));
	FL_SET(settings, unpooled, false);
	settings->pools.len = 0;
	settings->has.pools = 0;
}

static void remember(struct fl_plan *plan, const struct config_facts *facts, const struct fl_config_file *file,
		     struct fl_str good)
{
	struct fl_memo memo = { 0 };

	if (!file || !facts->memo_known)
		return;
	FL_SET(FL_IN(&memo, meta), name, memo_name);
	FL_SET(&memo, file, file->meta.name);
	if (!good.len && facts->memo)
		good = facts->memo->good;
	FL_SET_TEXT(&memo, good, good);
	fl_want(plan, &memo_owner, (struct fl_ref){ &fl_memo_kind, FL_S(""), memo_name, FL_S("") }, &memo);
}

/* A file as messages call it: by its path, where that is known. */
static struct fl_str path_of(struct fl_plan *plan, const struct fl_given *given, struct fl_str name)
{
	if (!given->several || !given->path.len)
		return given->path;
	return fl_plan_printf(plan, "%.*s%s%.*s", FL_ARG(given->path), fl_str_ends(given->path, FL_S("/")) ? "" : "/",
			      FL_ARG(name));
}

/* What is made of the choice; `r`, `err`: what is wrong with it. */
static void make(struct fl_plan *plan, const struct config_facts *facts, const struct choice *choice, int r,
		 struct fl_err *err, struct fl_settings *ret)
{
	const struct fl_given *given = facts->given;
	struct fl_settings_given of = { 0 };
	struct fl_settings_from from = { .given = &of, .last = facts->before, .node = given->node,
					 .boot = given->boot };

	take_given(given, &of);
	if (given->has.file)
		from.name = given->file;
	if (choice->file)
		from.name = choice->file->meta.name;
	from.path = path_of(plan, given, from.name);
	if (choice->file && r == 0 && choice->file->has.why)
		r = fl_fail(err, FL_E_INVALID, "%.*s: %.*s", FL_ARG(from.path.len ? from.path : from.name),
			    FL_ARG(choice->file->why));
	else if (choice->file)
		from.text = choice->file->text;
	if (r < 0)
		from.why = err->text;
	if (choice->good && !choice->good->has.why) {
		from.good_name = choice->good->meta.name;
		from.good_text = choice->good->text;
	}
	if (fl_settings_make(&from, plan->arena, ret, NULL) < 0)
		plan->failed = true;
}

/* It may be on its way, where the agent starts before the kubelet has registered the Node. */
static void tell_node(struct fl_plan *plan, const struct config_facts *facts, struct fl_settings *settings)
{
	FL_UNSET(settings, no_node);
	settings->no_node = FL_S("");
	if (facts->given->node.len && facts->served && !facts->node)
		FL_SET(settings, no_node,
		       fl_plan_printf(plan,
				      "the API server has no Node '%.*s', so it has no condition: where "
				      "the kubelet has registered another name, set NODE_NAME by the downward API "
				      "(spec.nodeName), or --node-name",
				      FL_ARG(facts->given->node)));
}

/* ---- pools of the cluster ---- */

/* Until these are known, a GPU of a pool could be advertised as another resource. Who has no right to read them, or no
 * such kind, has no pools. */
static const char *waits_for_pools(const struct config_facts *facts)
{
	if (!facts->memo_known)
		return "the pools that are kept in --state-dir";
	if ((facts->pools && facts->pools->read) ||
	    (facts->devices && (facts->devices->answer == FL_API_ABSENT || facts->devices->answer == FL_API_DENIED)))
		return NULL;
	return "the API server, to read which GPUs belong to pools (--gpu-pools)";
}

/* After those of the command line, which keep their GPUs and names. */
static void add_pools(struct fl_plan *plan, const struct config_facts *facts, struct fl_settings *settings)
{
	const struct fl_node_pool_list *given = &settings->pools, *pools = facts->pools ? &facts->pools->pools : NULL;
	uint32_t more = settings->gpu_pools && pools ? pools->len : 0;
	struct fl_node_pool_list all = { .at = fl_plan_get(plan, given->len + more, sizeof *all.at) };

	if (!all.at)
		return;
	for (uint32_t i = 0; i < given->len; i++)
		if (!given->at[i].cluster)
			all.at[all.len++] = given->at[i];
	for (uint32_t i = 0, own = all.len; i < more; i++)
		if (!fl_find(all.at, own, resource, pools->at[i].resource))
			all.at[all.len++] = pools->at[i];
	settings->pools.at = all.at;
	settings->pools.len = all.len;
	settings->has.pools = all.len > 0;
}

static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct config_facts *facts = facts_;
	struct choice choice = { 0 };
	struct fl_settings settings = { 0 };
	struct fl_err err = { 0 };
	struct fl_ref ref = { &fl_settings_kind, FL_S(""), settings_name, FL_S("") };
	int r = choose(facts, plan->arena, &choice, &err);

	if (r == -FL_E_NOMEM) {
		plan->failed = true;
		return;
	}
	if (choice.keep)
		settings = *facts->before;
	else
		make(plan, facts, &choice, r, &err, &settings);
	add_pools(plan, facts, &settings);
	if (settings.gpu_pools && !choice.waits)
		choice.waits = waits_for_pools(facts);
	if (choice.waits) {
		wait_for(plan, &settings, choice.waits);
		if (r < 0)
			FL_SET(&settings, message,
			       fl_plan_printf(plan, "%s; nothing is served until there is one", err.text));
	}
	if (choice.by_node)
		remember(plan, facts, choice.file, settings.file);
	FL_SET(FL_IN(&settings, meta), name, settings_name);
	tell_node(plan, facts, &settings);
	if (facts->given->has.started)
		FL_SET(&settings, started, facts->given->started);
	fl_want(plan, &owner, ref, &settings);
	fl_say(plan, ref, settings.message.len ? "Invalid" : choice.waits ? "Waits" :
	       settings.untaken.len ? "PartlyIgnored" : "Applied", "%.*s",
	       FL_ARG(settings.message.len ? settings.message :
		      choice.waits         ? settings.waits :
		      settings.untaken.len ? settings.untaken :
					     FL_S("the settings are applied")));
}

const struct fl_capability fl_node_config = {
	.name = "config", .watches = config_watches, .owners = FL_OWNERS(&owner, &memo_owner), .once = true,
	.facts_size = sizeof(struct config_facts),
	.gather = gather, .plan = plan,
};

/* ---- the feeders ---- */

static int parse(void *arg, const struct fl_folder_file *from, struct fl_arena *arena, void *object, struct fl_err *err)
{
	struct fl_config_file *file = object;

	(void)arg;
	(void)err;
	if (from->why) {
		struct fl_str why = fl_arena_str(arena, fl_str(from->why->text));

		FL_SET(file, why, why);
		return why.p ? 1 : -FL_E_NOMEM;
	}
	FL_SET(file, text, from->content);
	return 1;
}

static int start_folder(struct fl_config *config, struct fl_io *io, struct fl_loop *loop,
			const struct fl_config_options *options, struct fl_given *given, struct fl_err *err)
{
	const char *path = options->file ? options->file : options->dir;
	const char *slash = options->file ? strrchr(path, '/') : NULL;
	struct fl_buf dir = FL_BUF_IN(config->dir);

	if (options->file)
		FL_SET(given, file, fl_str(slash ? slash + 1 : path));
	FL_SET(given, path, fl_str(path));
	if (slash)
		fl_buf_printf(&dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	else
		fl_buf_str(&dir, fl_str(options->file ? "." : path));
	if (dir.failed || (options->file && !given->file.len))
		return fl_fail(err, FL_E_INVALID, "'%s' is not the path of a configuration file",
			       path);
	config->folder = (struct fl_folder){ .dir = config->dir, .only = slash ? slash + 1 : options->file,
					     .settle = FL_CONFIG_SETTLE, .parse = parse,
					     .tell_missing = options->dir != NULL };
	fl_folder_start(io, &config->folder, fl_loop_feed(loop, &fl_config_file_kind));
	return 0;
}

static int boot_id(struct fl_io *io, char *buf, size_t size, struct fl_str *ret, struct fl_err *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	const struct fl_fs *fs = fl_io_fs(io);
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	int64_t len = fd < 0 ? fd : fl_fs_read_all(fs, fd, buf, size);

	if (fd >= 0)
		fs->close(fs, fd);
	if (len < 0)
		return fl_fail_sys(err, (int)-len, "read %s", path);
	*ret = fl_str_trim((struct fl_str){ buf, (uint32_t)len });
	return 0;
}

/* One that cannot be read is unknown; of a long one the beginning counts. */
static void read_machine(struct fl_io *io, const char *path, char *buf, size_t size, struct fl_given *given)
{
	const struct fl_fs *fs = fl_io_fs(io);
	int fd = path ? fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -ENOENT;
	int64_t len = fd < 0 ? fd : fl_fs_read_all(fs, fd, buf, size);
	struct fl_str text = { buf, len < 0 ? 0 : (uint32_t)len };

	if (fd >= 0)
		fs->close(fs, fd);
	if (len >= 0 && fl_str_utf8(text))
		FL_SET(given, machine, fl_str_trim(text));
}

int fl_config_start(struct fl_config *config, struct fl_io *io, struct fl_loop *loop,
		    const struct fl_config_options *options, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings_from from = { .given = options->given, .node = options->node };
	struct fl_settings settings = { 0 };
	struct fl_given given = { 0 };
	struct fl_str boot;
	char text[64], machine[FL_CONFIG_MACHINE_MAX];

	if (boot_id(io, text, sizeof text, &boot, err) < 0 || fl_settings_read(&from, &arena, &settings, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	FL_SET(FL_IN(&given, meta), name, one);
	FL_SET(&given, node, options->node);
	FL_SET(&given, boot, boot);
	if (options->space.len)
		FL_SET(&given, space, options->space);
	if (options->label_file)
		FL_SET(&given, label_file, fl_str(options->label_file));
	if (options->ready_dir)
		FL_SET(&given, ready_dir, fl_str(options->ready_dir));
	read_machine(io, options->machine, machine, sizeof machine, &given);
	FL_SET(&given, started, (int64_t)fl_now(io));
	FL_SET_TEXT(&given, fallback, options->fallback);
	if (options->dir)
		FL_SET(&given, several, true);
	fl_memory_begin(loop, &fl_settings_kind);
	if (!options->file && !options->dir)
		fl_memory_begin(loop, &fl_config_file_kind);
	else if (start_folder(config, io, loop, options, &given, err) < 0)
		return -FL_E_INVALID;
	fl_feed_begin(fl_loop_feed(loop, &fl_given_kind));
	if (put_given(loop, options, &given, &arena, err) < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(fl_loop_feed(loop, &fl_given_kind));
	return 0;
}

void fl_config_stop(struct fl_config *config)
{
	fl_folder_stop(&config->folder);
}
