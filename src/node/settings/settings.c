#include "node/settings/settings.h"
#include "base/limits.h"
#include "base/units.h"
#include "json/name.h"
#include "node/settings/in.h"
#include <stdlib.h>

/* ---- defaults ---- */

/* XIDs that the application has caused: NVIDIA's plugin leaves out the same. */
static const int64_t ignored[] = { 13, 31, 43, 45, 68, 109 };

/* The host's own, and that of a driver container. */
static const struct fl_str usual_roots[] = { FL_S_INIT("/"), FL_S_INIT("/run/nvidia/driver") };

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory for settings");
}

int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err)
{
	*ret = (struct fl_settings){ 0 };
	FL_SET(FL_IN(ret, meta), name, FL_S("settings"));
	if (!FL_ELEMENTS(ret, arena, device_lists, 1) || !FL_ELEMENTS(ret, arena, ignored, FL_LEN(ignored)) ||
	    !FL_ELEMENTS(ret, arena, look_roots, FL_LEN(usual_roots)))
		return no_memory(err);
	memcpy(ret->look_roots.at, usual_roots, sizeof usual_roots);
	ret->device_lists.at[0] = FL_BY_CDI;
	memcpy(ret->ignored.at, ignored, sizeof ignored);
	FL_SET(ret, unpooled, false);
	FL_SET(ret, mig, FL_MIG_NONE);
	FL_SET(ret, id_by, FL_ID_UUID);
	FL_SET(ret, without_cdi, FL_WITHOUT_CDI_FALL_BACK);
	FL_SET(ret, share_policy, FL_SHARE_DISTRIBUTED);
	FL_SET(ret, health, true);
	FL_SET(ret, make_nodes, true);
	FL_SET(ret, cdi_kind, FL_S("k8s.device-plugin.nvidia.com/gpu"));
	FL_SET(ret, annotation_prefix, FL_S("cdi.k8s.io/"));
	FL_SET(ret, recovery_wait, FL_SETTINGS_WAIT);
	FL_SET(ret, recovery_wait_max, FL_SETTINGS_WAIT_FLAPPING);
	FL_SET(ret, recovery_checks, FL_SETTINGS_RECOVERY_CHECKS);
	return 0;
}

/* ---- what was given ---- */

struct laying {
	struct fl_settings *settings;
	struct fl_arena *arena;
	struct fl_err *err;
};

static struct fl_settings_at option(const char *name)
{
	return (struct fl_settings_at){ "--", name };
}

static int lay_ways(struct laying *l, const struct fl_strs *given)
{
	const struct fl_settings_at at = option("device-list-strategy");
	int r = given->len ? fl_settings_ways_begin(l->settings, l->arena, l->err) : 0;

	for (uint32_t i = 0; r == 0 && i < given->len; i++) {
		struct fl_str rest = given->at[i], word;

		while (r == 0 && fl_str_split(&rest, ',', &word))
			r = fl_settings_way(&at, l->settings, fl_str_trim(word), l->err);
	}
	return r;
}

/* ---- names out of a list, each at most once ---- */

/* A bit for each that is named; `all` is all of them. */
static int read_names(struct laying *l, const char *name, const struct fl_names *names, const struct fl_strs *given,
		      uint32_t *ret_bits, bool *ret_all)
{
	const struct fl_settings_at at = option(name);

	*ret_bits = 0;
	*ret_all = false;
	for (uint32_t i = 0; i < given->len; i++) {
		struct fl_str rest = given->at[i], word;

		while (fl_str_split(&rest, ',', &word)) {
			int which, r;

			word = fl_str_trim(word);
			if (fl_str_eq(word, FL_S("all"))) {
				*ret_all = true;
				continue;
			}
			r = word.len ? fl_settings_enum(&at, names, word, &which, l->err) : 0;
			if (r < 0)
				return r;
			if (word.len)
				*ret_bits |= 1u << which;
		}
	}
	if (*ret_all)
		*ret_bits = (1u << names->len) - 1;
	return 0;
}

/* In the order of the enum, so that the same wishes are the same settings. */
#define LAY_NAMES(l, member, count, bits) \
	({ \
		uint32_t len_ = (uint32_t)__builtin_popcount(bits), at_ = 0; \
		bool made_ = !len_ || FL_ELEMENTS((l)->settings, (l)->arena, member, len_); \
		for (uint32_t i_ = 0; made_ && i_ < (count); i_++) \
			if ((bits) >> i_ & 1) \
				(l)->settings->member.at[at_++] = (__typeof__(*(l)->settings->member.at))i_; \
		made_ ? 0 : no_memory((l)->err); \
	})

static int lay_cdi_flags(struct laying *l, const struct fl_strs *given)
{
	const struct fl_settings_at at = option("cdi-feature-flags");
	const uint32_t coherent = 1u << FL_CDI_COHERENT_ANNOTATIONS;
	uint32_t bits;
	bool all;
	int r = read_names(l, at.name, &fl_cdi_flag_names, given, &bits, &all);

	if (r == 0 && bits & coherent && !all)
		return fl_settings_refuse(&at, l->err, "%s is not supported: no device has annotations; leave it out",
					  fl_name(&fl_cdi_flag_names, FL_CDI_COHERENT_ANNOTATIONS));
	if (r == 0 && bits & coherent)
		r = fl_settings_warn(l->settings, l->arena, &at,
				     "all is taken but for enable-coherent-annotations, which is unsupported", l->err);
	bits &= ~coherent;
	return r < 0 ? r : LAY_NAMES(l, cdi_flags, FL_CDI_FLAG_COUNT_, bits);
}

static int lay_disabled_hooks(struct laying *l, const struct fl_strs *given)
{
	uint32_t bits;
	bool all;
	int r = read_names(l, "cdi-disable-hooks", &fl_hook_part_names, given, &bits, &all);

	return r < 0 ? r : LAY_NAMES(l, disabled_hooks, FL_HOOK_COUNT_, bits);
}

/* ---- the driver's places ---- */

static int look_in(struct laying *l, const struct fl_str *roots, uint32_t len)
{
	if (!FL_ELEMENTS(l->settings, l->arena, look_roots, len))
		return no_memory(l->err);
	for (uint32_t i = 0; i < len; i++)
		l->settings->look_roots.at[i] = roots[i];
	return 0;
}

/* As NVIDIA's plugin has it: what it searches is its container's view of the driver's root (--driver-root-ctr-path),
 * what it writes is the host's (--driver-root). Without such a view both are one. */
static int lay_roots(struct laying *l, const struct fl_settings_given *given)
{
	const struct fl_settings_at root = option("driver-root"), view = option("driver-root-ctr-path");
	const struct fl_settings_at dev = option("dev-root");
	struct fl_settings *s = l->settings;
	bool viewed = given->look_root.p || s->look_roots.len == 1;   /* the file's is one, the usual ones are two */
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < given->roots.len; i++)
		r = fl_settings_root(&root, given->roots.at[i], l->err);
	if (r == 0 && given->look_root.p)
		r = fl_settings_root(&view, given->look_root, l->err);
	if (r == 0 && given->dev_root.p)
		r = fl_settings_root(&dev, given->dev_root, l->err);
	if (r < 0)
		return r;
	if (viewed && given->roots.len > 1)
		return fl_settings_refuse(&root, l->err, "%u roots to search, but --driver-root-ctr-path (or "
							 "containerDriverRoot) names the one: give one of each",
					  given->roots.len);
	if (given->roots.len == 1)
		FL_SET(s, driver_root, given->roots.at[0]);
	else if (given->roots.len)
		FL_UNSET(s, driver_root);
	else if (viewed && !s->has.driver_root)
		FL_SET(s, driver_root, usual_roots[0]);
	if (given->dev_root.p)
		FL_SET(s, dev_root, given->dev_root);
	if (s->has.dev_root && !viewed)
		FL_SET(s, look_dev, s->dev_root);
	if (given->look_root.p)
		return look_in(l, &given->look_root, 1);
	if (viewed)
		return 0;
	if (given->roots.len)
		return look_in(l, given->roots.at, given->roots.len);
	return s->has.driver_root ? look_in(l, &s->driver_root, 1) : 0;
}

/* RESOURCE=CARD,CARD[;mig=PROFILE][;slices=N] */
static int lay_pool(struct laying *l, struct fl_node_pool *pool, struct fl_str text)
{
	const struct fl_settings_at at = option("pool");
	struct fl_str rest = text, cards, card, more, resource;
	int64_t slices = 1, equals = fl_str_find(text, '=');
	uint32_t n = 1;

	resource = fl_str_sub(text, 0, equals < 0 ? text.len : (uint32_t)equals);
	rest = equals < 0 ? FL_S("") : fl_str_sub(text, (uint32_t)equals + 1, text.len);
	(void)fl_str_split(&rest, ';', &cards);
	if (!fl_name_ok(FL_NAME_QUALIFIED, resource) || fl_str_find(resource, '/') < 0 || !cards.len)
		return fl_settings_refuse(&at, l->err, "'%.*s' is no RESOURCE=CARD,CARD, as "
						       "gpu.deckhouse.io/train=0,1 or gpu.deckhouse.io/train=all",
					  FL_ARG(text));
	for (uint32_t i = 0; i < cards.len; i++)
		n += cards.p[i] == ',';
	FL_SET(pool, resource, resource);
	FL_SET(pool, unit, FL_UNIT_CARD);
	if (!FL_ELEMENTS(pool, l->arena, cards, n))
		return no_memory(l->err);
	for (n = 0; fl_str_split(&cards, ',', &card);)
		pool->cards.at[n++] = card;
	while (fl_str_split(&rest, ';', &more)) {
		if (fl_str_starts(more, FL_S("mig="))) {
			FL_SET(pool, unit, FL_UNIT_MIG);
			FL_SET(pool, profile, fl_str_sub(more, 4, more.len));
		} else if (!fl_str_starts(more, FL_S("slices=")) ||
			   !fl_str_i64(fl_str_sub(more, 7, more.len), &slices) || slices < 1 || slices > 64) {
			return fl_settings_refuse(&at, l->err,
						  "'%.*s' is neither mig=PROFILE nor slices=N with N from 1 to 64",
						  FL_ARG(more));
		}
	}
	FL_SET(pool, slices, (int32_t)slices);
	return 0;
}

static int lay_pools(struct laying *l, const struct fl_strs *given)
{
	struct fl_settings *s = l->settings;

	if (!given->len)
		return 0;
	if (!FL_ELEMENTS(s, l->arena, pools, given->len))
		return no_memory(l->err);
	for (uint32_t i = 0; i < given->len; i++) {
		const struct fl_settings_at at = option("pool");
		int r = lay_pool(l, &s->pools.at[i], given->at[i]);

		if (r < 0)
			return r;
		for (uint32_t k = 0; k < i; k++)
			if (fl_str_eq(s->pools.at[k].resource, s->pools.at[i].resource))
				return fl_settings_refuse(&at, l->err, "'%.*s' is there twice: put its cards together",
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
	int64_t at[FL_SETTINGS_LIST];
	uint32_t len;
	bool all;
};

static int read_xids(struct laying *l, const char *name, struct fl_str text, struct xids *ret)
{
	const struct fl_settings_at at = option(name);
	struct fl_str rest = text, word;

	while (fl_str_split(&rest, ',', &word)) {
		int64_t number;

		word = fl_str_trim(word);
		if (!word.len)
			continue;
		if (fl_str_eq(word, FL_S("all")) || fl_str_eq(word, FL_S("xids"))) {
			ret->all = true;
			continue;
		}
		if (!fl_str_i64(word, &number) || number < 0 || ret->len == FL_LEN(ret->at)) {
			word = fl_str_sub(word, 0, 40);
			return fl_settings_refuse(&at, l->err, "'%.*s' is no XID: write numbers, or all", FL_ARG(word));
		}
		ret->at[ret->len++] = number;
	}
	return 0;
}

static bool has_xid(const int64_t *list, uint32_t len, int64_t number)
{
	for (uint32_t i = 0; i < len; i++)
		if (list[i] == number)
			return true;
	return false;
}

/* Those that are switched off come on top of what is ignored anyway, those that are switched on are neither. Where all
 * are off, those that are on still count. */
static int lay_xids(struct laying *l, const struct fl_settings_given *given)
{
	struct xids off = { .len = 0 }, on = { .len = 0 };
	struct fl_settings *s = l->settings;
	uint32_t n = 0;
	int64_t *list;
	int r = read_xids(l, "disable-health-checks", given->disable_health, &off);

	if (r < 0 || (r = read_xids(l, "enable-health-checks", given->enable_health, &on)) < 0)
		return r;
	if (!given->disable_health.p && !given->enable_health.p)
		return 0;
	FL_SET(s, health, !off.all || on.all);
	list = fl_arena_get_n(l->arena, s->ignored.len + off.len, sizeof *list);
	if (!list)
		return no_memory(l->err);
	for (uint32_t i = 0; !on.all && i < s->ignored.len; i++)
		if (!has_xid(on.at, on.len, s->ignored.at[i]))
			list[n++] = s->ignored.at[i];
	for (uint32_t i = 0; i < off.len; i++)
		if (!has_xid(on.at, on.len, off.at[i]) && !has_xid(list, n, off.at[i]))
			list[n++] = off.at[i];
	qsort(list, n, sizeof *list, by_number);
	s->ignored.at = list;
	s->ignored.len = n;
	s->has.ignored = 1;
	if (s->health || !on.len)
		return 0;
	if (!FL_ELEMENTS(s, l->arena, heeded, on.len))
		return no_memory(l->err);
	memcpy(s->heeded.at, on.at, on.len * sizeof *on.at);
	qsort(s->heeded.at, on.len, sizeof *on.at, by_number);
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
	for (uint32_t i = 0; i < s->pools.len; i++)
		if (fl_str_eq(s->pools.at[i].resource, resource))
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

static int check_sharing(struct laying *l)
{
	const struct fl_settings_at at = { "", "sharing" };
	struct fl_settings *s = l->settings;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->sharing.len; i++) {
		const char *why = why_unshared(s, s->sharing.at[i].resource);
		struct fl_str text;

		if (!why)
			continue;
		text = fl_arena_printf(l->arena, "'%.*s' is not shared: %s", FL_ARG(s->sharing.at[i].resource), why);
		r = text.p ? fl_settings_warn(s, l->arena, &at, text.p, l->err) : no_memory(l->err);
	}
	return r;
}

/* ---- rows of one kind ---- */

#define LAY_ENUM(given_, member, name, names) \
	do { \
		const struct fl_settings_at at_ = option(name); \
		int value_ = 0; \
		if ((given_).p) { \
			int r_ = fl_settings_enum(&at_, &(names), (given_), &value_, l->err); \
			if (r_ < 0) \
				return r_; \
			l->settings->has.member = 1; \
			l->settings->member = (__typeof__(l->settings->member))value_; \
		} \
	} while (0)
#define LAY_BOOL(given_, member, name) \
	do { \
		const struct fl_settings_at at_ = option(name); \
		bool value_ = false; \
		if ((given_).p) { \
			int r_ = fl_settings_bool(&at_, (given_), &value_, l->err); \
			if (r_ < 0) \
				return r_; \
			FL_SET(l->settings, member, value_); \
		} \
	} while (0)

static int lay_words(struct laying *l, const struct fl_settings_given *given)
{
	LAY_ENUM(given->mig_strategy, mig, "mig-strategy", fl_mig_strategy_names);
	LAY_ENUM(given->id_strategy, id_by, "device-id-strategy", fl_id_by_names);
	LAY_ENUM(given->share_policy, share_policy, "shared-devices-allocation-policy", fl_share_policy_names);
	LAY_ENUM(given->without_cdi, without_cdi, "without-cdi", fl_without_cdi_names);
	LAY_BOOL(given->pass_specs, pass_nodes, "pass-device-specs");
	LAY_BOOL(given->unpooled, unpooled, "unpooled");
	LAY_BOOL(given->pre_start, pre_start, "pre-start");
	LAY_BOOL(given->startup_taint, startup_taint, "startup-taint");
	LAY_BOOL(given->remove_refused, remove_refused, "remove-refused-pods");
	LAY_BOOL(given->dev_links, dev_links, "dev-char-links");
	LAY_BOOL(given->make_nodes, make_nodes, "make-device-nodes");
	return 0;
}

static int lay_evict_after(struct laying *l, struct fl_str given)
{
	const struct fl_settings_at at = option("evict-after");
	int64_t after;

	if (!given.p)
		return 0;
	if (!fl_duration(given, &after) || after < 0)
		return fl_settings_refuse(&at, l->err, "'%.*s' is no duration from 0s (never) on, as 5m",
					  FL_ARG(given));
	if (after)
		FL_SET(l->settings, evict_after, after);
	return 0;
}

static int lay_extras(struct laying *l, const struct fl_settings_given *given)
{
	const struct {
		const char *name;
		struct fl_str text;
		enum fl_extra which;
	} switches[] = {
		{ "gds-enabled", given->gds, FL_EXTRA_GDS },
		{ "mofed-enabled", given->mofed, FL_EXTRA_MOFED },
		{ "gdrcopy-enabled", given->gdrcopy, FL_EXTRA_GDRCOPY },
	};
	const struct fl_settings_at channels = option("imex-channel-ids");

	for (uint32_t i = 0; i < FL_LEN(switches); i++) {
		const struct fl_settings_at at = option(switches[i].name);
		bool is = false;
		int r = switches[i].text.p ? fl_settings_bool(&at, switches[i].text, &is, l->err) : 0;

		if (r == 0 && switches[i].text.p)
			r = fl_settings_extra(l->settings, l->arena, switches[i].which, is, l->err);
		if (r < 0)
			return r;
	}
	LAY_BOOL(given->imex_required, imex_required, "imex-required");
	return given->imex_channels.p ? fl_settings_channel(&channels, l->settings, l->arena,
							    fl_str_trim(given->imex_channels), l->err)
				      : 0;
}

/* Nobody gave it: it is to be above the least, which somebody may have given. */
static int flapping_wait_by_default(const struct laying *l)
{
	const struct fl_settings_at at = option("recovery-wait");
	struct fl_settings *s = l->settings;
	int64_t most = 2 * s->recovery_wait;

	if (most < (int64_t)FL_SETTINGS_WAIT_FLAPPING)
		most = (int64_t)FL_SETTINGS_WAIT_FLAPPING;
	if (most > (int64_t)FL_SETTINGS_WAIT_MAX)
		most = (int64_t)FL_SETTINGS_WAIT_MAX;
	if (most > s->recovery_wait) {
		FL_SET(s, recovery_wait_max, most);
		return 0;
	}
	FL_SET(s, recovery_wait_max, 0);
	return fl_settings_warn(s, l->arena, &at,
				"1h is the longest time a GPU is ever kept away, so Flapping is off: give a "
				"shorter one, or --recovery-wait-max=0s too",
				l->err);
}

/* A most below the least would turn Flapping off without a word: 0s says so. */
static int check_flapping_wait(const struct laying *l)
{
	const struct fl_settings_at at = option("recovery-wait-max");
	const struct fl_settings *s = l->settings;
	bool may_be_longer = s->recovery_wait < (int64_t)FL_SETTINGS_WAIT_MAX;
	char most[40] = "", least[40] = "";
	struct fl_buf most_text = FL_BUF_IN(most), least_text = FL_BUF_IN(least);

	if (!s->recovery_wait || !s->recovery_wait_max || s->recovery_wait_max > s->recovery_wait)
		return 0;
	fl_buf_duration(&most_text, s->recovery_wait_max);
	fl_buf_duration(&least_text, s->recovery_wait);
	return fl_settings_refuse(&at, l->err, "%s is not above --recovery-wait, %s: give a %s, or 0s to turn "
					       "Flapping off",
				  most, least, may_be_longer ? "longer one" : "shorter --recovery-wait");
}

/* When a GPU that had a fault is handed out again. */
static int lay_recovery(struct laying *l, const struct fl_settings_given *given)
{
	struct fl_settings_at at;
	int64_t number;

	if (given->recovery_wait.p) {
		at = option("recovery-wait");
		if (!fl_duration(given->recovery_wait, &number) || number < 0 || number > (int64_t)FL_SETTINGS_WAIT_MAX)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no time from 0s to 1h, as 30s",
						  FL_ARG(given->recovery_wait));
		FL_SET(l->settings, recovery_wait, number);
	}
	if (given->recovery_wait_max.p) {
		at = option("recovery-wait-max");
		if (!fl_duration(given->recovery_wait_max, &number) || number < 0 ||
		    number > (int64_t)FL_SETTINGS_WAIT_MAX)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no time from 0s to 1h, as 10m",
						  FL_ARG(given->recovery_wait_max));
		FL_SET(l->settings, recovery_wait_max, number);
	}
	if (given->recovery_checks.p) {
		at = option("recovery-checks");
		if (!fl_str_i64(given->recovery_checks, &number) || number < 1 || number > FL_CARD_CLEAN_MAX)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no number from 1 to %d",
						  FL_ARG(given->recovery_checks), FL_CARD_CLEAN_MAX);
		FL_SET(l->settings, recovery_checks, (int32_t)number);
	}
	return given->recovery_wait_max.p ? check_flapping_wait(l) : flapping_wait_by_default(l);
}

static int lay_texts(struct laying *l, const struct fl_settings_given *given)
{
	struct fl_settings_at at;

	if (given->annotation_prefix.p)
		FL_SET(l->settings, annotation_prefix, given->annotation_prefix);
	if (given->cdi_kind.p) {
		at = option("cdi-kind");
		if (!fl_name_ok(FL_NAME_QUALIFIED, given->cdi_kind) || fl_str_find(given->cdi_kind, '/') < 0)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no vendor.example/class",
						  FL_ARG(given->cdi_kind));
		FL_SET(l->settings, cdi_kind, given->cdi_kind);
	}
	if (given->nvidia_hook.p) {
		int r;

		at = option("nvidia-cdi-hook-path");
		r = fl_settings_hook(&at, l->settings, l->arena, given->nvidia_hook, l->err);
		if (r < 0)
			return r;
	}
	if (given->hook.p) {
		int r = 0;

		at = option("cdi-hook-path");
		if (!given->hook.len)
			FL_UNSET(l->settings, hook);
		else
			r = fl_settings_hook(&at, l->settings, l->arena, given->hook, l->err);
		if (r < 0)
			return r;
	}
	at = option("device-discovery-strategy");
	return fl_settings_discovery(&at, given->discovery, l->err);
}

static int lay_given(struct laying *l, const struct fl_settings_given *given)
{
	const struct fl_settings_at at = option("fail-on-init-error"), root = option("mps-root");
	bool ignored_bool;
	int r = given->fail_on_init.p ? fl_settings_bool(&at, given->fail_on_init, &ignored_bool, l->err) : 0;

	if (r == 0)
		r = lay_words(l, given);
	if (r == 0 && given->mps_root.p)
		r = fl_settings_mps_root(&root, l->settings, given->mps_root, l->err);
	if (r == 0)
		r = lay_evict_after(l, given->evict_after);
	if (r == 0)
		r = lay_texts(l, given);
	if (r == 0)
		r = lay_recovery(l, given);
	if (r == 0)
		r = lay_extras(l, given);
	if (r == 0)
		r = lay_ways(l, &given->list_strategy);
	if (r == 0)
		r = lay_roots(l, given);
	if (r == 0)
		r = lay_cdi_flags(l, &given->cdi_flags);
	if (r == 0)
		r = lay_disabled_hooks(l, &given->disabled_hooks);
	if (r == 0)
		r = lay_pools(l, &given->pools);
	return r == 0 ? lay_xids(l, given) : r;
}

/* ---- all of it ---- */

static struct fl_str shown(const struct fl_settings_from *from)
{
	return from->path.len ? from->path : from->name;
}

static int read_all(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		    struct fl_err *err)
{
	const struct fl_settings_given nothing = { 0 };
	struct laying l = { ret, arena, err };
	int r = fl_settings_defaults(arena, ret, err);

	if (r == 0 && from->given && from->given->hook_usual.len)
		FL_SET(ret, hook, from->given->hook_usual);
	if (r == 0 && from->text.p) {
		/* Who brings NVIDIA's configuration wants what NVIDIA's plugin serves. */
		FL_SET(ret, unpooled, true);
		r = fl_settings_file(from->text, arena, ret, err);
		if (r < 0)
			return fl_wrap(err, "%.*s", FL_ARG(shown(from)));
	}
	if (r == 0)
		r = lay_given(&l, from->given ? from->given : &nothing);
	if (r == 0 && (r = check_mps(ret, err)) < 0)
		return fl_wrap(err, "%.*s", FL_ARG(shown(from)));
	if (r == 0)
		r = check_sharing(&l);
	if (from->node.len)
		FL_SET(ret, node, from->node);
	if (from->boot.len)
		FL_SET(ret, boot, from->boot);
	return r;
}

int fl_settings_read(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err)
{
	struct fl_settings settings;
	int r = read_all(from, arena, &settings, err);

	if (r == 0)
		*ret = settings;
	return r;
}

static int read_named(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		      struct fl_err *err)
{
	int r = read_all(from, arena, ret, err);

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
	r = read_all(&other, arena, ret, &why);
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

	if (r < 0 && r != -FL_E_NOMEM) {
		struct fl_str now;

		r = read_former(from, arena, &settings);
		if (r < 0)
			return no_memory(err);
		now = in_force(from, settings.file, arena);
		FL_SET(&settings, message, fl_arena_printf(arena, "%s; %.*s", why.text, FL_ARG(now)));
		r = now.p && settings.message.p ? 0 : -FL_E_NOMEM;
	}
	if (r < 0)
		return no_memory(err);
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
	char known[160];
	size_t len = 0;

	*ret = UINT32_MAX;
	if (wanted.len) {
		*ret = find_name(names, count, wanted);
		if (*ret != UINT32_MAX)
			return 0;
		known[0] = '\0';
		for (uint32_t i = 0; i < count && len < sizeof known; i++)
			len += (size_t)snprintf(known + len, sizeof known - len, "%s%.*s", i ? ", " : "",
						FL_ARG(names[i]));
		return fl_fail(err, FL_E_NOTFOUND, "%s: there is no configuration '%.*s'%s%s",
			       label.len ? "label " FL_SETTINGS_LABEL : "default", FL_ARG(wanted),
			       count ? ", only " : "; there is none at all", known);
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
