/* The rows of the settings, and the values of NVIDIA's file (version v1) that no kind of json/setting.h describes. */
#include "json/name.h"
#include "json/yaml.h"
#include "node/settings/in.h"
#include "node/settings/settings.h"
#include "plan/gpu/mps.h"
#include <inttypes.h>

FL_NAMES(fl_discovery_names, 2, [0] = "auto", [1] = "nvml");

/* ---- values of options and of the file ---- */

/* NVIDIA's own hooks have commands of their own; ours does what they do. */
int fl_settings_own_hook(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_settings *settings = in->object;
	struct fl_str path;
	int r = fl_setting_text(in, value, &path);

	if (r < 0 || (!path.len && value->json))
		return r;
	if (!path.len && !value->row->file) {
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
int fl_settings_own_prefix(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_str text, key;
	int r = fl_setting_text(in, value, &text);

	if (r < 0)
		return r;
	key = fl_arena_printf(in->arena, "%.*snvidia-device-plugin_00000000-0000-0000-0000-000000000000",
			      FL_ARG(text));
	if (!key.p)
		return fl_setting_no_memory(in);
	if (!fl_name_ok(FL_NAME_QUALIFIED, key))
		return fl_setting_refuse(in, value, "'%.*s' begins no key of an annotation: write a domain and a /, as "
						    "cdi.k8s.io/",
					 FL_ARG(fl_str_sub(text, 0, 80)));
	FL_SET((struct fl_settings *)in->object, annotation_prefix, text);
	return 0;
}

int fl_settings_own_mps_root(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_settings *settings = in->object;
	struct fl_str text;
	int r = fl_setting_text(in, value, &text);

	if (r < 0)
		return r;
	if (text.len && (text.p[0] != '/' || text.len > FL_MPS_ROOT_MAX))
		return fl_setting_refuse(in, value, "an absolute path with at most %d bytes is wanted: /run/nvidia/mps",
					 FL_MPS_ROOT_MAX);
	for (uint32_t i = 0; i < text.len; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			return fl_setting_refuse(in, value, "a path without control characters is wanted: "
							    "/run/nvidia/mps");
	while (text.len > 1 && text.p[text.len - 1] == '/')
		text.len--;
	FL_SET_TEXT(settings, mps_root, text);
	return 0;
}

/* "[]" or "", "[0]" or "0"; in the file a list of numbers. */
int fl_settings_own_channel(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_str text = fl_str_trim(value->text);
	char room[64] = "";
	struct fl_buf list = FL_BUF_IN(room);
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	yyjson_val *item;
	int64_t channel;
	bool on;

	if (value->json && !yyjson_is_arr(value->json))
		return fl_setting_refuse_kind(in, value, "a list");
	fl_buf_char(&list, '[');
	while (value->json && (item = yyjson_arr_iter_next(&iter)) && !list.failed) {
		if (!fl_json_i64(item, &channel))
			return fl_setting_refuse_kind(in, &(struct fl_setting_value){ .json = item }, "a number");
		fl_buf_printf(&list, "%s%" PRId64, list.len > 1 ? "," : "", channel);
	}
	fl_buf_char(&list, ']');
	if (value->json)
		text = fl_buf_view(&list);
	on = fl_str_eq(text, FL_S("[0]")) || fl_str_eq(text, FL_S("0"));
	if (!on && text.len && !fl_str_eq(text, FL_S("[]")))
		return fl_setting_refuse_text(in, value, text,
					      "neither [] nor [0]: the device plugin knows channel 0 only");
	return fl_setting_element(in, value->row, on);
}

/* Of DCGM's exporter: without a reason it has no effect here, as we do it anyway. */
int fl_settings_own_metrics(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	char why[FL_ERR_TEXT];

	if (!value->row->unsupported[0])
		return 0;
	(void)snprintf(why, sizeof why, "is not taken: %s", value->row->unsupported);
	return fl_setting_warn(in, value, why);
}

/* Likewise, of one that is on or off: the row's `element` is what we do anyway. */
int fl_settings_own_metrics_truth(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	bool on = false;
	int r = fl_setting_bool(in, value, &on);

	return r < 0 || on == (value->row->element != 0) ? r : fl_settings_own_metrics(in, value);
}

/* GFD's other output is a file that NFD's worker reads. */
int fl_settings_own_node_feature(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	bool on = false;
	int r = fl_setting_bool(in, value, &on);

	if (r < 0)
		return r;
	FL_SET((struct fl_settings *)in->object, labels, on ? FL_LABELS_NODE_FEATURE : FL_LABELS_FILE);
	return 0;
}

/* ---- sharing ---- */

/* Of `sharing`: resources and how they are shared, in place of what was there. */
struct block {
	struct fl_settings *settings;
	bool mps, rename, one_share;
};

/* A resource by its name; without a domain it is NVIDIA's. */
static int own_resource(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_sharing *sharing = in->object;
	struct fl_str name;
	int r = fl_setting_text(in, value, &name);

	if (r < 0)
		return r;
	if (fl_str_find(name, '/') < 0)
		name = fl_arena_printf(in->arena, "nvidia.com/%.*s", FL_ARG(name));
	if (!name.p)
		return fl_setting_no_memory(in);
	if (!fl_name_ok(FL_NAME_QUALIFIED, name) || name.len > 63)
		return fl_setting_refuse(in, value,
					 "'%.*s' is no name of a resource: write at most 63 letters, digits, '-', '_' "
					 "and '.', with a letter or digit at both ends",
					 FL_ARG(fl_str_sub(name, 0, 80)));
	if (value->row->member)
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

static int own_devices(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	struct fl_setting_value item = { 0 };
	struct fl_str text;
	int64_t count;

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

static int own_replicas(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	const struct block *block = in->arg;
	struct fl_sharing *sharing = in->object;
	int64_t count;

	if (!fl_json_i64(value->json, &count))
		return fl_setting_refuse_kind(in, value, "a number");
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

static int own_resources(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	static const struct fl_setting rows[] = {
		{ .file = "name", .required = true, .kind = FL_SETTING_OWN, .own = own_resource,
		  .member = offsetof(struct fl_sharing, resource) },
		{ .file = "rename", .kind = FL_SETTING_OWN, .own = own_resource,
		  .untaken = NOT_TAKEN ": renameByDefault is" },
		{ .file = "devices", .kind = FL_SETTING_OWN, .own = own_devices },
		{ .file = "replicas", .required = true, .kind = FL_SETTING_OWN, .own = own_replicas },
	};
	struct fl_settings *s = ((struct block *)in->object)->settings;
	yyjson_arr_iter iter = yyjson_arr_iter_with(value->json);
	struct fl_setting_value item = { 0 };
	size_t count = yyjson_arr_size(value->json);

	if (count == 0)
		return fl_setting_refuse(in, value, "no resources specified");
	if (count > FL_SETTINGS_LIST)
		return fl_setting_refuse(in, value, "more than %d resources", FL_SETTINGS_LIST);
	if (!FL_ELEMENTS(s, in->arena, sharing, (uint32_t)count))
		return fl_setting_no_memory(in);
	for (uint32_t n = 0; (item.json = yyjson_arr_iter_next(&iter)); n++) {
		struct fl_sharing *sharing = &s->sharing.at[n];
		int r = fl_setting_object(in, rows, FL_LEN(rows), fl_sharing_bind(), sharing, item.json);

		if (r < 0)
			return r;
		if (!sharing->has.resource || !sharing->has.replicas)   /* a null stands for nothing, here too */
			return fl_setting_refuse(in, &item, "name and replicas are wanted");
		if (fl_find(s->sharing.at, n, resource, sharing->resource))
			return fl_setting_refuse(in, &item, "'%.*s' is there twice", FL_ARG(sharing->resource));
	}
	return 0;
}

static int rename_all(struct fl_setting_in *in, const struct fl_setting_value *value, struct fl_sharing_list *list)
{
	for (uint32_t i = 0; i < list->len; i++) {
		struct fl_str name = fl_arena_printf(in->arena, "%.*s.shared", FL_ARG(list->at[i].resource));

		if (!name.p)
			return fl_setting_no_memory(in);
		if (name.len > 63)
			return fl_setting_refuse(in, value, "'%.*s' has more than 63 characters", FL_ARG(name));
		FL_SET(&list->at[i], renamed, name);
	}
	return 0;
}

/* sharing.mps (its row has an .element) or sharing.timeSlicing. Both are read, as NVIDIA's plugin does, and MPS wins,
 * wherever it stands. */
static int own_sharing(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	static const struct fl_setting rows[] = {
		{ .file = "renameByDefault", .kind = FL_SETTING_BOOL, .member = offsetof(struct block, rename) },
		{ .file = "failRequestsGreaterThanOne", .kind = FL_SETTING_BOOL,
		  .member = offsetof(struct block, one_share) },
		{ .file = "resources", .kind = FL_SETTING_OWN, .own = own_resources },
	};
	struct fl_settings *s = in->object;
	struct fl_settings before = *s;
	const bool mps = value->row->element;
	struct block block = { .settings = s, .mps = mps, .one_share = mps };
	struct fl_setting_in inner = *in;
	int r;

	s->sharing.len = 0;
	inner.arg = &block;
	r = fl_setting_object(&inner, rows, FL_LEN(rows), NULL, &block, value->json);
	if (r == 0 && !s->sharing.len)
		return fl_setting_refuse(in, value, "no resources specified");
	if (r == 0 && block.rename)
		r = rename_all(in, value, &s->sharing);
	if (r < 0)
		return r;
	FL_SET(s, one_share, block.one_share);
	if (mps)
		FL_SET(s, mps, true);
	if (!before.sharing.len)
		return 0;
	if (before.mps) {
		s->sharing = before.sharing;
		s->one_share = before.one_share;
	}
	return fl_setting_warn(in, FL_AT_PLACE("sharing.timeSlicing"),
			       "is not taken: sharing.mps is there and wins, as with NVIDIA's plugin");
}

/* ---- all of it ---- */

static int own_version(struct fl_setting_in *in, const struct fl_setting_value *value)
{
	struct fl_str text;
	int r = fl_setting_text(in, value, &text);

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
	{ .file = "sharing.mps", .kind = FL_SETTING_OWN, .own = own_sharing, .element = true },
	{ .file = "sharing.timeSlicing", .kind = FL_SETTING_OWN, .own = own_sharing },
	NO_FIELD("flags.cdiFeatureFlags", "--cdi-feature-flags or CDI_FEATURE_FLAGS"),
	NO_FIELD("flags.cdiDisableHooks", "--cdi-disable-hooks or CDI_DISABLE_HOOKS"),
	NO_FIELD("flags.kubeletSocket", "--kubelet-socket or KUBELET_SOCKET"),
	PATTERNS("resources.gpus"),
	PATTERNS("resources.mig"),
	NO_FIELD("flags.gfd.outputFile", "--labels-file or GFD_OUTPUT_FILE"),
	NO_FIELD("flags.gfd.machineTypeFile", "--machine-type-file or GFD_MACHINE_TYPE_FILE"),
};

const char *fl_settings_usual(const struct fl_option *option)
{
	for (const struct fl_setting *row = rows; row < rows + FL_LEN(rows); row++)
		if (row->option && strcmp(row->option, option->name) == 0)
			return row->fallback ? row->fallback : option->bare && row->member ? "false" : NULL;
	return NULL;
}

struct fl_setting_in fl_settings_in(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err)
{
	return (struct fl_setting_in){ .rows = rows, .count = FL_LEN(rows), .bind = fl_settings_bind(),
				       .object = settings, .arena = arena, .untaken = &settings->untaken, .err = err,
				       .unknown = "no such field, and so left out, as NVIDIA's plugin does" };
}

int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_setting_in in = fl_settings_in(settings, arena, err);
	int r;

	if (text.len > FL_SETTINGS_FILE_MAX)
		return fl_fail(err, FL_E_TOOBIG, "the configuration has %u bytes, more than %llu", text.len,
			       FL_SETTINGS_FILE_MAX);
	r = fl_yaml_read_any(NULL, text, &doc, err);
	if (r <= 0)
		return r;   /* comments, or nothing: NVIDIA's plugin takes that for all defaults */
	r = fl_json_no_repeats(doc, err);
	return r < 0 ? r : fl_setting_file(&in, doc);
}
