/* The rows of the settings, and the values of NVIDIA's file (version v1) that no kind of json/setting.h describes. */
#include "json/name.h"
#include "json/yaml.h"
#include "node/settings/in.h"
#include "node/settings/settings.h"
#include <inttypes.h>

FL_NAMES(fl_discovery_names, 2, [0] = "auto", [1] = "nvml");

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory for settings");
}

/* ---- values of options and of the file ---- */

/* NVIDIA's own hooks have commands of their own; ours does what they do. */
int fl_settings_own_hook(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_settings *settings = in->object;
	struct fl_str path;
	int r = fl_setting_text(in, value, &path);

	if (r < 0 || (!path.len && value->json))
		return r;
	if (!path.len && !row->file) {
		FL_UNSET(settings, hook);
		return 0;
	}
	r = fl_setting_path(in, value, path);
	if (r < 0)
		return r;
	if (fl_str_ends(path, FL_S("/nvidia-ctk")) || fl_str_ends(path, FL_S("/nvidia-cdi-hook")))
		return fl_setting_warn(in, value, "is not taken: that is NVIDIA's hook, and containers are prepared by "
						  "our own, whose path is --cdi-hook-path");
	FL_SET(settings, hook, path);
	return 0;
}

/* What it begins is completed to the key of an annotation: Kubernetes would refuse one that is none, and the Pod would
 * start without its GPU. */
int fl_settings_own_prefix(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_str text, key;
	int r = fl_setting_text(in, value, &text);

	(void)row;
	if (r < 0)
		return r;
	key = fl_arena_printf(in->arena, "%.*snvidia-device-plugin_00000000-0000-0000-0000-000000000000",
			      FL_ARG(text));
	if (!key.p)
		return no_memory(in->err);
	if (!fl_name_ok(FL_NAME_QUALIFIED, key))
		return fl_setting_refuse(in, value, "'%.*s' begins no key of an annotation: write a domain and a /, as "
						    "cdi.k8s.io/",
					 FL_ARG(fl_str_sub(text, 0, 80)));
	FL_SET((struct fl_settings *)in->object, annotation_prefix, text);
	return 0;
}

int fl_settings_own_mps_root(struct fl_setting_in *in, const struct fl_setting *row,
			     const struct fl_setting_value *value)
{
	struct fl_settings *settings = in->object;
	struct fl_str text;
	int r = fl_setting_text(in, value, &text);

	(void)row;
	if (r < 0)
		return r;
	if (text.len && (text.p[0] != '/' || text.len > FL_MPS_ROOT_MAX))
		return fl_setting_refuse(in, value, "an absolute path with at most %d bytes is wanted: /run/nvidia/mps",
					 FL_MPS_ROOT_MAX);
	while (text.len > 1 && text.p[text.len - 1] == '/')
		text.len--;
	FL_UNSET(settings, mps_root);
	if (text.len)
		FL_SET(settings, mps_root, text);
	return 0;
}

static int refuse_kind(const struct fl_setting_in *in, yyjson_val *json, const char *wanted)
{
	return fl_setting_refuse(in, &(struct fl_setting_value){ .json = json }, "%s is wanted, found %s", wanted,
				 fl_json_kind(json));
}

/* "[]" or "", "[0]" or "0"; in the file a list of numbers. */
int fl_settings_own_channel(struct fl_setting_in *in, const struct fl_setting *row,
			    const struct fl_setting_value *value)
{
	struct fl_str text = fl_str_trim(value->text);
	char room[64] = "";
	struct fl_buf list = FL_BUF_IN(room);
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	yyjson_val *item;
	int64_t channel;
	bool on;

	if (value->json && !yyjson_is_arr(value->json))
		return refuse_kind(in, value->json, "a list");
	fl_buf_char(&list, '[');
	while (value->json && (item = yyjson_arr_iter_next(&iter)) && !list.failed) {
		if (!fl_json_i64(item, &channel))
			return refuse_kind(in, item, "a number");
		fl_buf_printf(&list, "%s%" PRId64, list.len > 1 ? "," : "", channel);
	}
	fl_buf_char(&list, ']');
	if (value->json)
		text = fl_buf_view(&list);
	on = fl_str_eq(text, FL_S("[0]")) || fl_str_eq(text, FL_S("0"));
	if (!on && text.len && !fl_str_eq(text, FL_S("[]"))) {
		text = fl_str_sub(text, 0, 40);
		return fl_setting_refuse(in, value, "'%.*s' is neither [] nor [0]: the device plugin knows channel 0 "
						    "only",
					 FL_ARG(text));
	}
	return fl_setting_element(in, row, on);
}

/* ---- sharing ---- */

/* Of `sharing`: resources and how they are shared, in place of what was there. */
struct block {
	struct fl_settings *settings;
	bool mps, rename, one_share;
};

/* A resource by its name; without a domain it is NVIDIA's. */
static int own_resource(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_sharing *sharing = in->object;
	struct fl_str name;
	int r = fl_setting_text(in, value, &name);

	if (r < 0)
		return r;
	if (fl_str_find(name, '/') < 0)
		name = fl_arena_printf(in->arena, "nvidia.com/%.*s", FL_ARG(name));
	if (!name.p)
		return no_memory(in->err);
	if (!fl_name_ok(FL_NAME_QUALIFIED, name) || name.len > 63)
		return fl_setting_refuse(in, value,
					 "'%.*s' is no name of a resource: write at most 63 letters, digits, '-', '_' "
					 "and '.', with a letter or digit at both ends",
					 FL_ARG(fl_str_sub(name, 0, 80)));
	if (row->member)
		FL_SET(sharing, resource, name);
	return 0;
}

/* "1", "0:1", "GPU-...", "MIG-..." */
static bool is_device(struct fl_str text)
{
	int64_t colon = fl_str_find(text, ':'), number;
	struct fl_str first = fl_str_sub(text, 0, colon < 0 ? text.len : (uint32_t)colon);

	if ((fl_str_starts(text, FL_S("GPU-")) || fl_str_starts(text, FL_S("MIG-"))) && text.len > 4)
		return true;
	return fl_str_i64(first, &number) && number >= 0 &&
	       (colon < 0 ||
		(fl_str_i64(fl_str_sub(text, (uint32_t)colon + 1, text.len), &number) && number >= 0));
}

/* NVIDIA's plugin reads rename and devices, refuses what makes no sense, says that it does not take the rest, and goes
 * on without: whoever took them would serve other names than it does. */
#define NOT_TAKEN "is not taken, as NVIDIA's plugin does not take it either"

static int own_devices(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	struct fl_setting_value item = { 0 };
	struct fl_str text;
	int64_t count;

	(void)row;
	if (fl_json_str(value->json, &text))
		return fl_str_eq(text, FL_S("all")) ?
			       0 :
			       fl_setting_refuse(in, value, "the only text that is valid here is 'all'");
	if (!(yyjson_is_arr(value->json) && yyjson_arr_size(value->json)) &&
	    (!fl_json_i64(value->json, &count) || count < 1))
		return fl_setting_refuse(in, value, "all, a count from 1, or a list of devices is wanted");
	while (yyjson_is_arr(value->json) && (item.json = yyjson_arr_iter_next(&iter)))
		if (fl_json_str(item.json, &text) ? !is_device(text) : !fl_json_i64(item.json, &count) || count < 0)
			return fl_setting_refuse(in, &item, "an index (1, '0:1') or a UUID is wanted");
	return fl_setting_warn(in, value, NOT_TAKEN ": all devices are shared");
}

static int own_replicas(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	const struct block *block = in->arg;
	struct fl_sharing *sharing = in->object;
	int64_t count;

	(void)row;
	if (!fl_json_i64(value->json, &count))
		return refuse_kind(in, value->json, "a number");
	if (count < 2)
		return fl_setting_refuse(in, value, "number of replicas must be >= 2");
	if (count > 10000)
		return fl_setting_refuse(in, value, "number of replicas must be <= 10000");
	if (block->mps && count > FL_MPS_SHARES_MAX)
		return fl_setting_refuse(in, value,
					 "number of replicas must be <= %d with MPS: a GPU serves no more clients",
					 FL_MPS_SHARES_MAX);
	FL_SET(sharing, replicas, (int32_t)count);
	return 0;
}

static int read_shared(struct fl_setting_in *outer, struct fl_sharing_list *all, yyjson_val *json)
{
	static const struct fl_setting rows[] = {
		{ .file = "name", .required = true, .kind = FL_SETTING_OWN, .own = own_resource,
		  .member = offsetof(struct fl_sharing, resource) },
		{ .file = "rename", .kind = FL_SETTING_OWN, .own = own_resource,
		  .untaken = NOT_TAKEN ": renameByDefault is" },
		{ .file = "devices", .kind = FL_SETTING_OWN, .own = own_devices },
		{ .file = "replicas", .required = true, .kind = FL_SETTING_OWN, .own = own_replicas },
	};
	const struct fl_setting_value value = { .json = json };
	struct fl_sharing *sharing = &all->at[all->len++];
	struct fl_setting_in in = *outer;
	int r;

	in.rows = rows;
	in.count = FL_LEN(rows);
	in.object = sharing;
	r = fl_setting_object(&in, json);
	if (r < 0)
		return r;
	/* A null stands for nothing, here too. */
	if (!sharing->has.resource || !sharing->has.replicas)
		return fl_setting_refuse(&in, &value, "name and replicas are wanted");
	for (uint32_t i = 0; i + 1 < all->len; i++)
		if (fl_str_eq(all->at[i].resource, sharing->resource))
			return fl_setting_refuse(&in, &value, "'%.*s' is there twice", FL_ARG(sharing->resource));
	return 0;
}

static int own_resources(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_settings *s = ((struct block *)in->object)->settings;
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	size_t count = yyjson_arr_size(value->json);
	yyjson_val *item;
	int r = 0;

	(void)row;
	if (!yyjson_is_arr(value->json) || count == 0)
		return fl_setting_refuse(in, value, "no resources specified");
	if (count > FL_SETTINGS_LIST)
		return fl_setting_refuse(in, value, "more than %d resources", FL_SETTINGS_LIST);
	if (!FL_ELEMENTS(s, in->arena, sharing, (uint32_t)count))
		return no_memory(in->err);
	s->sharing.len = 0;
	while (r == 0 && (item = yyjson_arr_iter_next(&iter)))
		r = read_shared(in, &s->sharing, item);
	return r;
}

static int read_block(struct fl_setting_in *outer, yyjson_val *json, bool mps)
{
	static const struct fl_setting rows[] = {
		{ .file = "renameByDefault", .kind = FL_SETTING_BOOL, .member = offsetof(struct block, rename) },
		{ .file = "failRequestsGreaterThanOne", .kind = FL_SETTING_BOOL,
		  .member = offsetof(struct block, one_share) },
		{ .file = "resources", .kind = FL_SETTING_OWN, .own = own_resources },
	};
	const struct fl_setting_value value = { .json = json };
	struct fl_settings *s = outer->object;
	struct block block = { .settings = s, .mps = mps, .one_share = mps };
	struct fl_setting_in in = *outer;
	int r;

	in.rows = rows;
	in.count = FL_LEN(rows);
	in.bind = NULL;
	in.object = in.arg = &block;
	s->sharing.len = 0;
	r = fl_setting_object(&in, json);
	if (r < 0)
		return r;
	if (!s->sharing.len)
		return fl_setting_refuse(&in, &value, "no resources specified");
	FL_SET(s, one_share, block.one_share);
	for (uint32_t i = 0; block.rename && i < s->sharing.len; i++) {
		struct fl_str name = fl_arena_printf(in.arena, "%.*s.shared", FL_ARG(s->sharing.at[i].resource));

		if (!name.p)
			return no_memory(in.err);
		if (name.len > 63)
			return fl_setting_refuse(&in, &value, "'%.*s' has more than 63 characters", FL_ARG(name));
		FL_SET(&s->sharing.at[i], renamed, name);
	}
	return 0;
}

/* Checked also where MPS is there, which wins: NVIDIA's plugin reads both. */
static int own_slicing(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_settings *s = in->object;
	const struct fl_settings before = *s;
	int r = read_block(in, value->json, false);

	(void)row;
	if (r < 0 || !before.mps)
		return r;
	s->sharing = before.sharing;
	s->one_share = before.one_share;
	return fl_setting_warn(in, value, "is not taken: sharing.mps is there and wins, as with NVIDIA's plugin");
}

/* MPS first, wherever it stands: the other block must know whether it counts. */
static int own_sharing(struct fl_setting_in *outer, const struct fl_setting *row, const struct fl_setting_value *value)
{
	static const struct fl_setting rows[] = {
		{ .file = "timeSlicing", .kind = FL_SETTING_OWN, .own = own_slicing },
		{ .file = "mps", .kind = FL_SETTING_UNREAD },
	};
	yyjson_val *mps = yyjson_is_obj(value->json) ? fl_setting_get(value->json, FL_S("mps")) : NULL;
	struct fl_settings *s = outer->object;
	struct fl_setting_in in = *outer;
	int r = 0;

	(void)row;
	in.rows = rows;
	in.count = FL_LEN(rows);
	if (mps && !yyjson_is_null(mps)) {
		r = read_block(&in, mps, true);
		FL_SET(s, mps, true);
	}
	return r < 0 ? r : fl_setting_object(&in, value->json);
}

/* ---- all of it ---- */

static int own_version(struct fl_setting_in *in, const struct fl_setting *row, const struct fl_setting_value *value)
{
	struct fl_str text;
	int r = fl_setting_text(in, value, &text);

	(void)row;
	if (r < 0 || !text.len || fl_str_eq(text, FL_S("v1")))
		return r;
	text = fl_str_sub(text, 0, 40);
	return fl_setting_refuse(in, value, "unknown version: %.*s: write v1", FL_ARG(text));
}

#define NO_FIELD(place, instead) \
	{ .file = (place), .kind = FL_SETTING_UNREAD, .untaken = "is no field of the file: use " instead }
#define PATTERNS(list) \
	{ .file = (list), .kind = FL_SETTING_OBJECTS, .untaken = NOT_TAKEN }, \
	{ .file = list "[].pattern", .required = true, .kind = FL_SETTING_TEXT }, \
	{ .file = list "[].name", .required = true, .kind = FL_SETTING_TEXT }

/* Those with an option, and fields of the file without one: its version, what NVIDIA's plugin does as if it were not
 * there, and what is another program's that reads the same file. */
static const struct fl_setting rows[] = {
	FL_SETTINGS_ROWS
	{ .file = "version", .kind = FL_SETTING_OWN, .own = own_version },
	{ .file = "sharing", .kind = FL_SETTING_OWN, .own = own_sharing },
	NO_FIELD("flags.cdiFeatureFlags", "--cdi-feature-flags or CDI_FEATURE_FLAGS"),
	NO_FIELD("flags.cdiDisableHooks", "--cdi-disable-hooks or CDI_DISABLE_HOOKS"),
	NO_FIELD("flags.kubeletSocket", "--kubelet-socket or KUBELET_SOCKET"),
	PATTERNS("resources.gpus"),
	PATTERNS("resources.mig"),
	{ .file = "flags.useNodeFeatureAPI", .kind = FL_SETTING_BOOL },
	{ .file = "flags.gfd.oneshot", .kind = FL_SETTING_BOOL },
	{ .file = "flags.gfd.noTimestamp", .kind = FL_SETTING_BOOL },
	{ .file = "flags.gfd.sleepInterval", .kind = FL_SETTING_ANY },
	{ .file = "flags.gfd.outputFile", .kind = FL_SETTING_TEXT },
	{ .file = "flags.gfd.machineTypeFile", .kind = FL_SETTING_TEXT },
};

struct fl_setting_in fl_settings_in(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err)
{
	return (struct fl_setting_in){ .rows = rows, .count = FL_LEN(rows), .bind = fl_settings_bind(),
				       .object = settings, .arena = arena, .untaken = &settings->untaken, .err = err,
				       .unknown = "no such field, and so left out, as NVIDIA's plugin does" };
}

/* 1: the text holds comments or nothing, which NVIDIA's plugin takes for all defaults. 0: it holds more. */
static int is_empty(struct fl_str text, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_JSON_MAX);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	int r = fl_yaml_open(text, &yaml, err);

	if (r == 0)
		r = fl_yaml_next(yaml, &json, err);
	return r < 0 ? r : r == 0;
}

int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_setting_in in = fl_settings_in(settings, arena, err);
	int r;

	if (text.len > FL_SETTINGS_FILE_MAX)
		return fl_fail(err, FL_E_TOOBIG, "the configuration has %u bytes, more than %llu", text.len,
			       FL_SETTINGS_FILE_MAX);
	r = is_empty(text, err);
	if (r)
		return r < 0 ? r : 0;
	r = fl_yaml_read(NULL, text, &doc, err);
	if (r < 0 || (r = fl_json_no_repeats(doc, err)) < 0)
		return r;
	return fl_setting_file(&in, doc);
}
