#include "node/settings.h"
#include "base/limits.h"
#include "base/units.h"
#include "json/name.h"
#include "node/settings_in.h"
#include <stdlib.h>

/* ---- defaults ---- */

/* XIDs that the application has caused: NVIDIA's plugin leaves out the same. */
static const int64_t ignored[] = { 13, 31, 43, 45, 68, 109 };

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory for settings");
}

int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err)
{
	*ret = (struct fl_settings){ 0 };
	FL_SET(FL_IN(ret, meta), name, FL_S("settings"));
	if (!FL_ELEMENTS(ret, arena, hand_out, 1) || !FL_ELEMENTS(ret, arena, ignored, FL_LEN(ignored)))
		return no_memory(err);
	ret->hand_out.at[0] = FL_HAND_CDI;
	memcpy(ret->ignored.at, ignored, sizeof ignored);
	FL_SET(ret, unpooled, false);
	FL_SET(ret, mig, FL_MIG_NONE);
	FL_SET(ret, id_by, FL_ID_UUID);
	FL_SET(ret, without_cdi, FL_WITHOUT_CDI_FALL_BACK);
	FL_SET(ret, share_policy, FL_SHARE_DISTRIBUTED);
	FL_SET(ret, health, true);
	FL_SET(ret, cdi_kind, FL_S("k8s.device-plugin.nvidia.com/gpu"));
	FL_SET(ret, annotation_prefix, FL_S("cdi.k8s.io/"));
	FL_SET(ret, recovery_wait, FL_SETTINGS_WAIT);
	FL_SET(ret, clean_looks, FL_SETTINGS_LOOKS);
	return 0;
}

/* ---- values ---- */

int fl_settings_refuse(const struct fl_settings_at *at, struct fl_err *err, const char *fmt, ...)
{
	struct fl_str why;
	va_list args;
	char text[FL_ERR_TEXT];

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	why = fl_str(text);
	return fl_fail(err, FL_E_INVALID, "%s%s%s%.*s", at->before, at->name, *at->name ? ": " : "", FL_ARG(why));
}

int fl_settings_enum(const struct fl_settings_at *at, const struct fl_names *names, struct fl_str text, int *ret,
		     struct fl_err *err)
{
	char known[128];
	size_t len = 0;

	*ret = fl_name_find(names, text);
	if (*ret >= 0)
		return 0;
	for (uint32_t i = 0; i < names->len; i++)
		len += (size_t)snprintf(known + len, sizeof known - len, "%s%s",
					i == 0              ? "" :
					i + 1 == names->len ? " or " :
							      ", ",
					names->at[i]);
	text = fl_str_sub(text, 0, 40);
	return fl_settings_refuse(at, err, "'%.*s' is none of %s", FL_ARG(text), known);
}

int fl_settings_bool(const struct fl_settings_at *at, struct fl_str text, bool *ret, struct fl_err *err)
{
	static const struct {
		struct fl_str word;
		bool is;
	} words[] = { { FL_S_INIT("true"), true }, { FL_S_INIT("false"), false }, { FL_S_INIT("1"), true },
		      { FL_S_INIT("0"), false } };

	for (uint32_t i = 0; i < FL_LEN(words); i++) {
		if (fl_str_eq(words[i].word, text)) {
			*ret = words[i].is;
			return 0;
		}
	}
	text = fl_str_sub(text, 0, 40);
	return fl_settings_refuse(at, err, "'%.*s' is neither true nor false", FL_ARG(text));
}

int fl_settings_way(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_str text,
		    struct fl_err *err)
{
	int way, r = fl_settings_enum(at, &fl_hand_out_names, text, &way, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < settings->hand_out.len; i++)
		if (settings->hand_out.at[i] == (enum fl_hand_out)way)
			return 0;
	settings->hand_out.at[settings->hand_out.len++] = (enum fl_hand_out)way;
	return 0;
}

int fl_settings_ways_begin(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err)
{
	/* Each at most once. */
	if (!FL_ELEMENTS(settings, arena, hand_out, FL_HAND_OUT_COUNT_))
		return no_memory(err);
	settings->hand_out.len = 0;
	return 0;
}

int fl_settings_extra(struct fl_settings *settings, struct fl_arena *arena, enum fl_extra which, bool on,
		      struct fl_err *err)
{
	enum fl_extra kept[FL_EXTRA_COUNT_];
	uint32_t len = 0;

	/* In the order of the enum, so that the same wishes are the same settings. */
	for (int i = 0; i < FL_EXTRA_COUNT_; i++) {
		bool is = i == (int)which && on;

		for (uint32_t k = 0; k < settings->extras.len && i != (int)which; k++)
			is |= settings->extras.at[k] == (enum fl_extra)i;
		if (is)
			kept[len++] = (enum fl_extra)i;
	}
	if (len == settings->extras.len)
		return 0;
	if (!FL_ELEMENTS(settings, arena, extras, len))
		return no_memory(err);
	memcpy(settings->extras.at, kept, len * sizeof *kept);
	settings->has.extras = len > 0;
	return 0;
}

int fl_settings_channel(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_arena *arena,
			struct fl_str text, struct fl_err *err)
{
	bool on = fl_str_eq(text, FL_S("[0]")) || fl_str_eq(text, FL_S("0"));

	if (!on && text.len && !fl_str_eq(text, FL_S("[]"))) {
		text = fl_str_sub(text, 0, 40);
		return fl_settings_refuse(at, err, "'%.*s' is neither [] nor [0]: the device plugin knows channel 0 "
						   "only",
					  FL_ARG(text));
	}
	return fl_settings_extra(settings, arena, FL_EXTRA_IMEX, on, err);
}

int fl_settings_warn(struct fl_settings *settings, struct fl_arena *arena, const struct fl_settings_at *at,
		     const char *what, struct fl_err *err)
{
	struct fl_str before = settings->untaken, text;

	text = fl_arena_printf(arena, "%.*s%s%s%s: %s", FL_ARG(before), before.len ? "; " : "", at->before, at->name,
			       what);
	if (!text.p)
		return no_memory(err);
	FL_SET(settings, untaken, text);
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

/* ---- what we do not do ---- */

static int refuse_others(struct laying *l, const struct fl_settings_given *given)
{
	const struct fl_settings_at at = option("mps-root");

	if (given->mps_root.len)
		return fl_settings_refuse(&at, l->err, "MPS is not supported: use time-slicing");
	return 0;
}

int fl_settings_discovery(const struct fl_settings_at *at, struct fl_str text, struct fl_err *err)
{
	if (!text.len || fl_str_eq(text, FL_S("auto")) || fl_str_eq(text, FL_S("nvml")))
		return 0;
	text = fl_str_sub(text, 0, 40);
	return fl_settings_refuse(at, err, "'%.*s' is not supported (Tegra, WSL and vfio are not): write auto or nvml",
				  FL_ARG(text));
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

static int lay_texts(struct laying *l, const struct fl_settings_given *given)
{
	struct fl_settings_at at;
	int64_t number;

	if (given->annotation_prefix.p)
		FL_SET(l->settings, annotation_prefix, given->annotation_prefix);
	if (given->cdi_kind.p) {
		at = option("cdi-kind");
		if (!fl_name_ok(FL_NAME_QUALIFIED, given->cdi_kind) || fl_str_find(given->cdi_kind, '/') < 0)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no vendor.example/class",
						  FL_ARG(given->cdi_kind));
		FL_SET(l->settings, cdi_kind, given->cdi_kind);
	}
	if (given->hook.p) {
		at = option("cdi-hook-path");
		if (!fl_str_starts(given->hook, FL_S("/")))
			return fl_settings_refuse(&at, l->err, "'%.*s' does not begin with /", FL_ARG(given->hook));
		FL_SET(l->settings, hook, given->hook);
	}
	if (given->recovery_wait.p) {
		at = option("recovery-wait");
		if (!fl_duration(given->recovery_wait, &number) || number < 0 || number > (int64_t)FL_SETTINGS_WAIT_MAX)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no time from 0s to 1h, as 30s",
						  FL_ARG(given->recovery_wait));
		FL_SET(l->settings, recovery_wait, number);
	}
	if (given->clean_looks.p) {
		at = option("clean-looks");
		if (!fl_str_i64(given->clean_looks, &number) || number < 1 || number > FL_CARD_CLEAN_MAX)
			return fl_settings_refuse(&at, l->err, "'%.*s' is no number from 1 to %d",
						  FL_ARG(given->clean_looks), FL_CARD_CLEAN_MAX);
		FL_SET(l->settings, clean_looks, (int32_t)number);
	}
	at = option("device-discovery-strategy");
	return fl_settings_discovery(&at, given->discovery, l->err);
}

static int lay_given(struct laying *l, const struct fl_settings_given *given)
{
	const struct fl_settings_at at = option("fail-on-init-error");
	bool ignored_bool;
	int r = given->fail_on_init.p ? fl_settings_bool(&at, given->fail_on_init, &ignored_bool, l->err) : 0;

	if (r == 0)
		r = refuse_others(l, given);
	if (r == 0)
		r = lay_words(l, given);
	if (r == 0)
		r = lay_texts(l, given);
	if (r == 0)
		r = lay_extras(l, given);
	if (r == 0)
		r = lay_ways(l, &given->list_strategy);
	if (r == 0)
		r = lay_pools(l, &given->pools);
	return r == 0 ? lay_xids(l, given) : r;
}

/* ---- all of it ---- */

static int read_all(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		    struct fl_err *err)
{
	struct laying l = { ret, arena, err };
	int r = fl_settings_defaults(arena, ret, err);

	if (r == 0 && from->text.p) {
		/* Who brings NVIDIA's configuration wants what NVIDIA's plugin serves. */
		FL_SET(ret, unpooled, true);
		r = fl_settings_file(from->text, arena, ret, err);
		if (r < 0)
			return fl_wrap(err, "%.*s", FL_ARG(from->name));
	}
	if (r == 0 && from->given)
		r = lay_given(&l, from->given);
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

int fl_settings_make(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err)
{
	struct fl_settings_from without = *from;
	struct fl_settings settings;
	struct fl_err why = { 0 };
	int r = read_all(from, arena, &settings, &why);

	if (r < 0 && r != -FL_E_NOMEM) {
		without.text = (struct fl_str){ 0 };
		if (from->last)
			settings = *from->last;
		else if ((r = read_all(&without, arena, &settings, NULL)) < 0 && r != -FL_E_NOMEM)
			r = fl_settings_defaults(arena, &settings, NULL);
		FL_SET(&settings, message,
		       fl_arena_printf(arena, "%s; %s", why.text,
				       from->last ? "what was right before stays in force" :
						    "the file is left out until it is right"));
		if (r != -FL_E_NOMEM)
			r = settings.message.p ? 0 : -FL_E_NOMEM;
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
