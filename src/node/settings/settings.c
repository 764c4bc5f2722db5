#include "node/settings/settings.h"
#include "base/units.h"
#include "json/name.h"
#include "node/settings/in.h"
#include <stdlib.h>
#include <strings.h>

/* ---- defaults ---- */

/* XIDs that the application has caused: NVIDIA's plugin leaves out the same. */
static const int64_t ignored[] = { 13, 31, 43, 45, 68, 109 };

/* The host's own, and that of a driver container. */
static const struct fl_str usual_roots[] = { FL_S_INIT("/"), FL_S_INIT("/run/nvidia/driver") };

int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err)
{
	struct fl_setting_in in = fl_settings_in(ret, arena, err);

	*ret = (struct fl_settings){ 0 };
	FL_SET(FL_IN(ret, meta), name, FL_S("settings"));
	if (!FL_ELEMENTS(ret, arena, ignored, FL_LEN(ignored)) ||
	    !FL_ELEMENTS(ret, arena, look_roots, FL_LEN(usual_roots)))
		return fl_setting_no_memory(&in);
	memcpy(ret->look_roots.at, usual_roots, sizeof usual_roots);
	memcpy(ret->ignored.at, ignored, sizeof ignored);
	FL_SET(ret, health, true);
	return fl_setting_fallbacks(&in);
}

/* ---- the driver's places ---- */

/* As NVIDIA's plugin has it: what it searches is its container's view of the driver's root (--driver-root-ctr-path),
 * what it writes is the host's (--driver-root). Without such a view both are one. */
static int lay_roots(struct fl_setting_in *in, const struct fl_strs *given)
{
	struct fl_settings *s = in->object;
	bool viewed = s->look_roots.len == 1;   /* a view is one, the usual roots are two */
	uint32_t len = given->len ? given->len : s->has.driver_root;

	if (viewed && given->len > 1)
		return fl_setting_refuse(in, FL_AT_OPTION("driver-root"),
					 "%u roots to search, but --driver-root-ctr-path (or containerDriverRoot) "
					 "names the one: give one of each",
					 given->len);
	if (given->len > 1) {
		FL_UNSET(s, driver_root);
		s->driver_root = FL_S("");
	} else if (viewed && !s->has.driver_root) {
		FL_SET(s, driver_root, usual_roots[0]);
	}
	if (viewed)
		return 0;
	if (s->has.dev_root)
		FL_SET(s, look_dev, s->dev_root);
	if (!len)
		return 0;
	if (!FL_ELEMENTS(s, in->arena, look_roots, len))
		return fl_setting_no_memory(in);
	memcpy(s->look_roots.at, given->len ? given->at : &s->driver_root, len * sizeof(struct fl_str));
	return 0;
}

/* RESOURCE=CARD,CARD[;mig=PROFILE][;slices=N] */
static int lay_pool(struct fl_setting_in *in, struct fl_node_pool *pool, struct fl_str text)
{
	struct fl_str rest = text, cards, card, more, resource;
	int64_t slices = 1, equals = fl_str_find(text, '=');
	uint32_t n = 1;

	resource = fl_str_sub(text, 0, equals < 0 ? text.len : (uint32_t)equals);
	rest = equals < 0 ? FL_S("") : fl_str_sub(text, (uint32_t)equals + 1, text.len);
	(void)fl_str_split(&rest, ';', &cards);
	if (!fl_name_ok(FL_NAME_QUALIFIED, resource) || fl_str_find(resource, '/') < 0 || !cards.len)
		return fl_setting_refuse(in, FL_AT_OPTION("pool"),
					 "'%.*s' is no RESOURCE=GPU,GPU, as gpu.deckhouse.io/train=0,1 or "
					 "gpu.deckhouse.io/train=all",
					 FL_ARG(text));
	for (uint32_t i = 0; i < cards.len; i++)
		n += cards.p[i] == ',';
	FL_SET(pool, resource, resource);
	FL_SET(pool, unit, FL_POOL_CARD);
	if (!FL_ELEMENTS(pool, in->arena, cards, n))
		return fl_setting_no_memory(in);
	for (n = 0; fl_str_split(&cards, ',', &card);)
		pool->cards.at[n++] = card;
	while (fl_str_split(&rest, ';', &more)) {
		if (fl_str_starts(more, FL_S("mig="))) {
			FL_SET(pool, unit, FL_POOL_MIG);
			FL_SET(pool, profile, fl_str_sub(more, 4, more.len));
		} else if (!fl_str_starts(more, FL_S("slices=")) ||
			   !fl_str_i64(fl_str_sub(more, 7, more.len), &slices) || slices < 1 || slices > 64) {
			return fl_setting_refuse(in, FL_AT_OPTION("pool"),
						 "'%.*s' is neither mig=PROFILE nor slices=N with N from 1 to 64",
						 FL_ARG(more));
		}
	}
	FL_SET(pool, slices, (int32_t)slices);
	return 0;
}

static int lay_pools(struct fl_setting_in *in, const struct fl_strs *given)
{
	struct fl_settings *s = in->object;

	if (given->len && !FL_ELEMENTS(s, in->arena, pools, given->len))
		return fl_setting_no_memory(in);
	for (uint32_t i = 0; i < given->len; i++) {
		int r = lay_pool(in, &s->pools.at[i], given->at[i]);

		if (r < 0)
			return r;
		if (fl_find(s->pools.at, i, resource, s->pools.at[i].resource))
			return fl_setting_refuse(in, FL_AT_OPTION("pool"),
						 "'%.*s' is there twice: put its GPUs together",
						 FL_ARG(s->pools.at[i].resource));
	}
	return 0;
}

/* ---- XIDs ---- */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct xids {
	int64_t at[FL_SETTINGS_LIST + FL_LEN(ignored)];
	uint32_t len;
	bool all;
};

/* In any case, as NVIDIA's plugin reads it. */
static bool is_word(struct fl_str text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.p, word, text.len) == 0;
}

static int read_xids(struct fl_setting_in *in, const char *name, struct fl_str text, struct xids *ret)
{
	struct fl_str rest = text, word;

	while (fl_str_split(&rest, ',', &word)) {
		int64_t number;

		word = fl_str_trim(word);
		if (!word.len)
			continue;
		if (is_word(word, "all") || is_word(word, "xids")) {
			ret->all = true;
			continue;
		}
		if (!fl_str_i64(word, &number) || number < 0 || ret->len == FL_SETTINGS_LIST)
			return fl_setting_refuse_text(in, FL_AT_OPTION(name), word, "no XID: write numbers, or all");
		ret->at[ret->len++] = number;
	}
	return 0;
}

static bool has_xid(const struct xids *xids, int64_t number)
{
	for (uint32_t i = 0; i < xids->len; i++)
		if (xids->at[i] == number)
			return true;
	return false;
}

static void add_xid(struct xids *xids, const struct xids *but, int64_t number)
{
	if (!has_xid(but, number) && !has_xid(xids, number))
		xids->at[xids->len++] = number;
}

/* Those that are switched off come on top of what is ignored anyway, those that are switched on are neither. Where all
 * are off, those that are on still count. */
static int lay_xids(struct fl_setting_in *in, const struct fl_settings_given *given)
{
	struct xids off = { .len = 0 }, on = { .len = 0 }, without = { .len = 0 };
	struct fl_settings *s = in->object;
	int r = read_xids(in, "disable-health-checks", given->disable_health, &off);

	if (r < 0 || (r = read_xids(in, "enable-health-checks", given->enable_health, &on)) < 0)
		return r;
	if (!given->disable_health.p && !given->enable_health.p)
		return 0;
	FL_SET(s, health, !off.all || on.all);
	for (uint32_t i = 0; !on.all && i < s->ignored.len; i++)
		add_xid(&without, &on, s->ignored.at[i]);
	for (uint32_t i = 0; i < off.len; i++)
		add_xid(&without, &on, off.at[i]);
	qsort(without.at, without.len, sizeof *without.at, by_number);
	qsort(on.at, on.len, sizeof *on.at, by_number);
	if (!FL_ELEMENTS(s, in->arena, ignored, without.len))
		return fl_setting_no_memory(in);
	memcpy(s->ignored.at, without.at, without.len * sizeof *without.at);
	if (s->health || !on.len)
		return 0;
	if (!FL_ELEMENTS(s, in->arena, heeded, on.len))
		return fl_setting_no_memory(in);
	memcpy(s->heeded.at, on.at, on.len * sizeof *on.at);
	return 0;
}

/* ---- MPS ---- */

/* With NVIDIA's words. */
static int check_mps(const struct fl_settings *s, struct fl_err *err)
{
	if (s->mps && s->mig == FL_MIG_MIXED)
		return fl_fail(err, FL_E_INVALID,
			       "sharing.mps: using --mig-strategy=mixed is not supported with MPS: choose none, or "
			       "timeSlicing");
	for (uint32_t i = 0; s->mps && i < s->sharing.len; i++)
		if (!fl_str_eq(s->sharing.at[i].resource, FL_S("nvidia.com/gpu")))
			return fl_fail(err, FL_E_INVALID,
				       "sharing.mps: '%.*s' cannot be shared by MPS, only nvidia.com/gpu"
				       ": choose timeSlicing for it",
				       FL_ARG(fl_str_sub(s->sharing.at[i].resource, 0, 80)));
	if (s->mps && s->sharing.len && !s->unpooled)
		return fl_fail(err, FL_E_INVALID,
			       "sharing.mps: shares the GPUs that are in no pool, and --unpooled=false offers none of "
			       "them: leave one of the two out");
	if (s->mps && !s->has.mps_root)
		return fl_fail(err, FL_E_INVALID,
			       "sharing.mps: using MPS requires --mps-root: set it, or MPS_ROOT, to a "
			       "directory of the host: /run/nvidia/mps");
	return 0;
}

/* ---- time-slicing and MPS of what this node cannot have ---- */

/* NVIDIA's plugin takes such a file and shares nothing; so the rest of it counts here too, and what is left out is
 * told. A profile that no GPU has now may come. */
static const char *why_unshared(const struct fl_settings *s, struct fl_str resource)
{
	if (fl_find(s->pools.at, s->pools.len, resource, resource))
		return "it is a pool: write --pool RESOURCE=GPU,GPU;slices=N";
	if (!s->unpooled)
		return "--unpooled=false offers none of it: leave one of the two out";
	if (fl_str_eq(resource, FL_S("nvidia.com/gpu")))
		return NULL;
	if (!fl_str_starts(resource, FL_S("nvidia.com/mig-")))
		return "this agent has no such resource: write nvidia.com/gpu or nvidia.com/mig-PROFILE";
	if (s->mig == FL_MIG_MIXED)
		return NULL;
	return s->mig == FL_MIG_SINGLE ? "MIG devices are nvidia.com/gpu with the MIG strategy single: write that, or "
					 "choose mixed" :
					 "no MIG device is offered with the MIG strategy none: choose mixed";
}

static int check_sharing(struct fl_setting_in *in)
{
	struct fl_settings *s = in->object;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->sharing.len; i++) {
		const char *why = why_unshared(s, s->sharing.at[i].resource);
		struct fl_str text;

		if (!why)
			continue;
		text = fl_arena_printf(in->arena, "'%.*s' is not shared: %s", FL_ARG(s->sharing.at[i].resource), why);
		r = text.p ? fl_setting_warn(in, FL_AT_PLACE("sharing"), text.p) : fl_setting_no_memory(in);
	}
	return r;
}

/* ---- waiting longer for a flapping GPU ---- */

/* Nobody gave it: it is to be above the least, which somebody may have given. */
static int flapping_wait_by_default(struct fl_setting_in *in)
{
	struct fl_settings *s = in->object;
	int64_t most = 2 * s->recovery_wait;

	if (most < s->recovery_wait_max)
		most = s->recovery_wait_max;
	if (most > (int64_t)FL_SETTINGS_WAIT_MAX)
		most = (int64_t)FL_SETTINGS_WAIT_MAX;
	if (most <= s->recovery_wait)
		most = 0;
	FL_SET(s, recovery_wait_max, most);
	return most ? 0 :
		      fl_setting_warn(in, FL_AT_OPTION("recovery-wait"),
				      "1h is the longest time a GPU is ever kept away, so Flapping is off: give a "
				      "shorter one, or --recovery-wait-max=0s too");
}

/* A most below the least would turn Flapping off without a word: 0s says so. */
static int check_flapping_wait(struct fl_setting_in *in)
{
	const struct fl_settings *s = in->object;
	bool may_be_longer = s->recovery_wait < (int64_t)FL_SETTINGS_WAIT_MAX;
	char most[40] = "", least[40] = "";
	struct fl_buf most_text = FL_BUF_IN(most), least_text = FL_BUF_IN(least);

	if (!s->recovery_wait || !s->recovery_wait_max || s->recovery_wait_max > s->recovery_wait)
		return 0;
	fl_buf_duration(&most_text, s->recovery_wait_max);
	fl_buf_duration(&least_text, s->recovery_wait);
	return fl_setting_refuse(in, FL_AT_OPTION("recovery-wait-max"),
				 "%s is not above --recovery-wait, %s: give a %s, or 0s to turn Flapping off", most,
				 least, may_be_longer ? "longer one" : "shorter --recovery-wait");
}

/* ---- what is without effect beside the others ---- */

static bool by_cdi_alone(const struct fl_settings *s)
{
	for (uint32_t i = 0; i < s->device_lists.len; i++)
		if (s->device_lists.at[i] != FL_BY_CDI && s->device_lists.at[i] != FL_BY_CDI_ANNOTATIONS)
			return false;
	return true;
}

static int check_effects(struct fl_setting_in *in, const struct fl_settings_given *given)
{
	const struct fl_settings *s = in->object;
	bool imex = false;
	int r = 0;

	for (uint32_t i = 0; i < s->extras.len; i++)
		imex |= s->extras.at[i] == FL_EXTRA_IMEX;
	if (s->pass_nodes && by_cdi_alone(s))
		r = fl_setting_warn(in,
				    given->pass_specs.p ? FL_AT_OPTION("pass-device-specs") :
							  FL_AT_PLACE("flags.plugin.passDeviceSpecs"),
				    "has no effect, as with NVIDIA's plugin: all device list strategies are CDI, which "
				    "brings the device nodes");
	if (r == 0 && s->imex_required && !imex)
		r = fl_setting_warn(in, given->imex_required.p ? FL_AT_OPTION("imex-required") :
								 FL_AT_PLACE("imex.required"),
				    "has no effect without a channel: write [0] for imex-channel-ids");
	if (r == 0 && !s->mig_manager && (given->mig_config.len || given->mig_file.len))
		r = fl_setting_warn(in, given->mig_config.len ? FL_AT_OPTION("mig-config") :
								FL_AT_OPTION("mig-config-file"),
				    "has no effect without --mig-manager=true");
	return r;
}

/* ---- all of it ---- */

static struct fl_str shown(const struct fl_settings_from *from)
{
	return from->path.len ? from->path : from->name;
}

/* What was given, and what follows from several of them together. */
static int lay_given(struct fl_setting_in *in, const struct fl_settings_given *given)
{
	int r = fl_setting_options(in, given);

	if (r == 0)
		r = given->recovery_wait_max.p ? check_flapping_wait(in) : flapping_wait_by_default(in);
	if (r == 0)
		r = lay_roots(in, &given->roots);
	if (r == 0)
		r = lay_pools(in, &given->pools);
	return r == 0 ? lay_xids(in, given) : r;
}

int fl_settings_read(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err)
{
	const struct fl_settings_given nothing = { 0 }, *given = from->given ? from->given : &nothing;
	struct fl_setting_in in = fl_settings_in(ret, arena, err);
	int r = fl_settings_defaults(arena, ret, err);

	if (r == 0 && given->hook_usual.len)
		FL_SET(ret, hook, given->hook_usual);
	if (r == 0 && from->text.p) {
		/* Who brings NVIDIA's configuration wants what NVIDIA's plugin serves. */
		FL_SET(ret, unpooled, true);
		r = fl_settings_file(from->text, arena, ret, err);
		if (r < 0)
			return fl_wrap(err, "%.*s", FL_ARG(shown(from)));
	}
	if (r == 0)
		r = lay_given(&in, given);
	if (r == 0 && (r = check_mps(ret, err)) < 0)
		return fl_wrap(err, "%.*s", FL_ARG(shown(from)));
	if (r == 0)
		r = check_sharing(&in);
	if (r == 0)
		r = check_effects(&in, given);
	ret->has.untaken = ret->untaken.len > 0;
	FL_SET_TEXT(ret, node, from->node);
	FL_SET_TEXT(ret, boot, from->boot);
	return r;
}

static int read_named(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		      struct fl_err *err)
{
	int r = fl_settings_read(from, arena, ret, err);

	if (r == 0 && from->text.p)
		FL_SET(ret, file, from->name);
	return r;
}

/* Without the file that is asked for: the last good ones, or the file of those as it is by now. */
static int read_former(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret)
{
	struct fl_settings_from other = *from;
	struct fl_err why = { 0 };
	int r = -FL_E_NOTFOUND;

	other.name = from->good_name;
	other.text = from->good_text;
	if (other.text.p && (!from->last || fl_str_eq(from->last->file, other.name)))
		r = read_named(&other, arena, ret, &why);
	if (r == 0 || r == -FL_E_NOMEM)
		return r;
	if (from->last) {
		*ret = *from->last;
		return 0;
	}
	other.name = other.text = (struct fl_str){ 0 };
	r = fl_settings_read(&other, arena, ret, &why);
	return r == 0 || r == -FL_E_NOMEM ? r : fl_settings_defaults(arena, ret, NULL);
}

/* The same words at a start and afterwards, when what was made at the start is what is in force. */
static struct fl_str in_force(const struct fl_settings_from *from, struct fl_str file, struct fl_arena *arena)
{
	if (!file.len)
		return FL_S("until it is right, the command line and the environment alone are in force");
	if (fl_str_eq(file, from->name))
		return FL_S("until it is right, its former content stays in force");
	return fl_arena_printf(arena, "'%.*s' stays in force", FL_ARG(file));
}

int fl_settings_make(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err)
{
	struct fl_settings settings;
	struct fl_err why = { 0 };
	int r = from->why ? fl_fail(&why, FL_E_INVALID, "%s", from->why) : read_named(from, arena, &settings, &why);

	if (r < 0 && r != -FL_E_NOMEM && (r = read_former(from, arena, &settings)) == 0) {
		struct fl_str now = in_force(from, settings.file, arena);

		FL_SET(&settings, message, fl_arena_printf(arena, "%s; %.*s", why.text, FL_ARG(now)));
		r = now.p && settings.message.p ? 0 : -FL_E_NOMEM;
	}
	if (r < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for settings");
	*ret = settings;
	return 0;
}

/* ---- which of several ---- */

static uint32_t find_name(const struct fl_str *names, uint32_t count, struct fl_str name)
{
	for (uint32_t i = 0; i < count; i++)
		if (fl_str_eq(names[i], name))
			return i;
	return UINT32_MAX;
}

int fl_settings_choose(const struct fl_str *names, uint32_t count, struct fl_str label, struct fl_str fallback,
		       uint32_t *ret, struct fl_err *err)
{
	struct fl_str wanted = label.len ? label : fallback;
	char room[160] = "";
	struct fl_buf known = FL_BUF_IN(room);

	*ret = UINT32_MAX;
	if (wanted.len) {
		*ret = find_name(names, count, wanted);
		if (*ret != UINT32_MAX)
			return 0;
		for (uint32_t i = 0; i < count && !known.failed; i++)
			fl_buf_printf(&known, "%s%.*s", i ? ", " : "", FL_ARG(names[i]));
		return fl_fail(err, FL_E_NOTFOUND, "%s: there is no configuration '%.*s'%s%s",
			       label.len ? "label " FL_SETTINGS_LABEL : "default", FL_ARG(wanted),
			       count ? ", only " : "; there is none at all", room);
	}
	*ret = find_name(names, count, FL_S("default"));
	if (*ret != UINT32_MAX || count == 0)
		return 0;
	if (count > 1)
		return fl_fail(err, FL_E_NOTFOUND,
			       "%u configurations and none is called default: label the node with %s=NAME", count,
			       FL_SETTINGS_LABEL);
	*ret = 0;
	return 0;
}
