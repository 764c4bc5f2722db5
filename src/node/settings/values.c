/* Single values of settings, by whatever name they were given. */
#include "base/limits.h"
#include "base/units.h"
#include "json/name.h"
#include "node/settings/in.h"

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory for settings");
}

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
	/* Those of Go's strconv.ParseBool, by which NVIDIA's plugin reads them. */
	static const struct {
		struct fl_str word;
		bool is;
	} words[] = {
		{ FL_S_INIT("true"), true },   { FL_S_INIT("false"), false }, { FL_S_INIT("1"), true },
		{ FL_S_INIT("0"), false },     { FL_S_INIT("t"), true },      { FL_S_INIT("f"), false },
		{ FL_S_INIT("T"), true },      { FL_S_INIT("F"), false },     { FL_S_INIT("True"), true },
		{ FL_S_INIT("False"), false }, { FL_S_INIT("TRUE"), true },   { FL_S_INIT("FALSE"), false },
	};

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
	int way, r = fl_settings_enum(at, &fl_device_list_names, text, &way, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < settings->device_lists.len; i++)
		if (settings->device_lists.at[i] == (enum fl_device_list)way)
			return 0;
	settings->device_lists.at[settings->device_lists.len++] = (enum fl_device_list)way;
	return 0;
}

int fl_settings_ways_begin(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err)
{
	/* Each at most once. */
	if (!FL_ELEMENTS(settings, arena, device_lists, FL_DEVICE_LIST_COUNT_))
		return no_memory(err);
	settings->device_lists.len = 0;
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

/* Each one copies those before it, and a condition of the Node has no room for a whole file of them. */
#define UNTAKEN_ENOUGH 2000
static const struct fl_str and_more = FL_S_INIT("; and more");

int fl_settings_warn(struct fl_settings *settings, struct fl_arena *arena, const struct fl_settings_at *at,
		     const char *what, struct fl_err *err)
{
	struct fl_str before = settings->untaken, text;

	if (fl_str_ends(before, and_more))
		return 0;
	if (before.len > UNTAKEN_ENOUGH)
		text = fl_arena_printf(arena, "%.*s%.*s", FL_ARG(before), FL_ARG(and_more));
	else
		text = fl_arena_printf(arena, "%.*s%s%s%s: %s", FL_ARG(before), before.len ? "; " : "", at->before,
				       at->name, what);
	if (!text.p)
		return no_memory(err);
	FL_SET(settings, untaken, text);
	return 0;
}

int fl_settings_root(const struct fl_settings_at *at, struct fl_str text, struct fl_err *err)
{
	if (fl_str_starts(text, FL_S("/")))
		return 0;
	text = fl_str_sub(text, 0, 40);
	return fl_settings_refuse(at, err, "'%.*s' does not begin with /: write an absolute path", FL_ARG(text));
}

/* NVIDIA's own hooks have commands of their own; ours does what they do. */
int fl_settings_hook(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_arena *arena,
		     struct fl_str path, struct fl_err *err)
{
	int r = fl_settings_root(at, path, err);

	if (r < 0)
		return r;
	if (fl_str_ends(path, FL_S("/nvidia-ctk")) || fl_str_ends(path, FL_S("/nvidia-cdi-hook")))
		return fl_settings_warn(settings, arena, at, "is not taken: that is NVIDIA's hook, and containers are "
							     "prepared by our own, whose path is --cdi-hook-path",
					err);
	FL_SET(settings, hook, path);
	return 0;
}

int fl_settings_mps_root(const struct fl_settings_at *at, struct fl_settings *settings, struct fl_str text,
			 struct fl_err *err)
{
	if (text.len && (text.p[0] != '/' || text.len > FL_MPS_ROOT_MAX))
		return fl_settings_refuse(at, err, "an absolute path with at most %d bytes is wanted: /run/nvidia/mps",
					  FL_MPS_ROOT_MAX);
	while (text.len > 1 && text.p[text.len - 1] == '/')
		text.len--;
	FL_UNSET(settings, mps_root);
	if (text.len)
		FL_SET(settings, mps_root, text);
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
