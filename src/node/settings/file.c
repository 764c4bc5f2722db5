/* NVIDIA's configuration file, version v1, as node/settings/settings.h has it. */
#include "base/limits.h"
#include "json/name.h"
#include "json/yaml.h"
#include "node/settings/in.h"
#include <inttypes.h>

struct reader {
	const yyjson_doc *doc;
	struct fl_arena *arena;
	struct fl_settings *settings;
	struct fl_err *err;
	bool rename, one_share, mps;           /* of the block of `sharing` that is read now */
};

/* A member: who takes it. What nobody takes may be of a later version: it is reported, and the rest counts. */
struct member {
	const char *name;
	int (*take)(struct reader *r, yyjson_val *val);
	bool required;
};

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "no memory for settings");
}

struct path {
	char text[160];
};

static struct fl_settings_at where(const struct reader *r, const yyjson_val *val, struct path *path)
{
	fl_json_path(r->doc, val, path->text, sizeof path->text);
	return (struct fl_settings_at){ "", path->text };
}

#define REFUSE(r, val, ...) \
	({ \
		struct path path_; \
		const struct fl_settings_at at_ = where((r), (val), &path_); \
		fl_settings_refuse(&at_, (r)->err, __VA_ARGS__); \
	})

static int warn(struct reader *r, yyjson_val *val, const char *what)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);

	return fl_settings_warn(r->settings, r->arena, &at, what, r->err);
}

static int walk(struct reader *r, yyjson_val *val, const struct member *members, uint32_t count)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(val);
	yyjson_val *key, *val_of;
	struct fl_str name;

	if (yyjson_is_null(val))
		return 0;
	if (!yyjson_is_obj(val))
		return REFUSE(r, val, "an object is wanted, found %s", fl_json_kind(val));
	while ((key = yyjson_obj_iter_next(&iter))) {
		uint32_t i = 0;
		int result;

		(void)fl_json_str(key, &name);
		while (i < count && !fl_str_eq(name, fl_str(members[i].name)))
			i++;
		val_of = yyjson_obj_iter_get_val(key);
		if (i == count)
			result = warn(r, key, "no such field, and so left out, as NVIDIA's plugin does");
		else
			result = yyjson_is_null(val_of) ? 0 : members[i].take(r, val_of);
		if (result < 0)
			return result;
	}
	for (uint32_t i = 0; i < count; i++)
		if (members[i].required && !fl_json_get(val, fl_str(members[i].name)))
			return REFUSE(r, val, "%s is missing", members[i].name);
	return 0;
}

static int each(struct reader *r, yyjson_val *val, int (*take)(struct reader *r, yyjson_val *val))
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(val);
	yyjson_val *item;
	int result = 0;

	if (!yyjson_is_arr(val))
		return REFUSE(r, val, "a list is wanted, found %s", fl_json_kind(val));
	while (result == 0 && (item = yyjson_arr_iter_next(&iter)))
		result = take(r, item);
	return result;
}

/* ---- single values ---- */

static int get_text(struct reader *r, yyjson_val *val, struct fl_str *ret)
{
	struct fl_str text;

	if (!fl_json_str(val, &text))
		return REFUSE(r, val, "a text is wanted, found %s", fl_json_kind(val));
	*ret = fl_arena_str(r->arena, text);
	return ret->p ? 0 : no_memory(r->err);
}

static int get_bool(struct reader *r, yyjson_val *val, bool *ret)
{
	if (!yyjson_is_bool(val))
		return REFUSE(r, val, "true or false is wanted, found %s", fl_json_kind(val));
	*ret = yyjson_get_bool(val);
	return 0;
}

static int get_enum(struct reader *r, yyjson_val *val, const struct fl_names *names, int *ret)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	struct fl_str text = { 0 };
	int result = get_text(r, val, &text);

	return result < 0 ? result : fl_settings_enum(&at, names, text, ret, r->err);
}

/* Understood, and of no meaning here: what it is about is done in another way, or by nobody. */
static int leave_bool(struct reader *r, yyjson_val *val)
{
	bool is;

	return get_bool(r, val, &is);
}

static int leave_text(struct reader *r, yyjson_val *val)
{
	struct fl_str text;

	return get_text(r, val, &text);
}

/* Texts, numbers or lists of texts of other programs. */
static int leave_any(struct reader *r, yyjson_val *val)
{
	if (yyjson_is_obj(val))
		return REFUSE(r, val, "found an object");
	return 0;
}

/* ---- flags ---- */

static int take_mig(struct reader *r, yyjson_val *val)
{
	int value = 0, result = get_enum(r, val, &fl_mig_strategy_names, &value);

	FL_SET(r->settings, mig, (enum fl_mig_strategy)value);
	return result;
}

static int take_id_by(struct reader *r, yyjson_val *val)
{
	int value = 0, result = get_enum(r, val, &fl_id_by_names, &value);

	FL_SET(r->settings, id_by, (enum fl_id_by)value);
	return result;
}

static int take_policy(struct reader *r, yyjson_val *val)
{
	int value = 0, result = get_enum(r, val, &fl_share_policy_names, &value);

	FL_SET(r->settings, share_policy, (enum fl_share_policy)value);
	return result;
}

static int take_nodes(struct reader *r, yyjson_val *val)
{
	r->settings->has.pass_nodes = 1;
	return get_bool(r, val, &r->settings->pass_nodes);
}

static int take_prefix(struct reader *r, yyjson_val *val)
{
	r->settings->has.annotation_prefix = 1;
	return get_text(r, val, &r->settings->annotation_prefix);
}

/* An empty path is none. */
static int get_root(struct reader *r, yyjson_val *val, struct fl_str *ret)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	int result = get_text(r, val, ret);

	return result == 0 && ret->len ? fl_settings_root(&at, *ret, r->err) : result;
}

static int take_driver_root(struct reader *r, yyjson_val *val)
{
	int result = get_root(r, val, &r->settings->driver_root);

	r->settings->has.driver_root = r->settings->driver_root.len > 0;
	return result;
}

static int take_dev_root(struct reader *r, yyjson_val *val)
{
	int result = get_root(r, val, &r->settings->dev_root);

	r->settings->has.dev_root = r->settings->dev_root.len > 0;
	return result;
}

static int take_look_root(struct reader *r, yyjson_val *val)
{
	struct fl_str root = { 0 };
	int result = get_root(r, val, &root);

	if (result < 0 || !root.len)
		return result;
	if (!FL_ELEMENTS(r->settings, r->arena, look_roots, 1))
		return no_memory(r->err);
	r->settings->look_roots.at[0] = root;
	return 0;
}

static int take_hook(struct reader *r, yyjson_val *val)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	struct fl_str text = { 0 };
	int result = get_text(r, val, &text);

	return result < 0 || !text.len ? result : fl_settings_hook(&at, r->settings, r->arena, text, r->err);
}

static int take_way(struct reader *r, yyjson_val *val)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	struct fl_str rest = { 0 }, word;
	int result = get_text(r, val, &rest);

	while (result == 0 && fl_str_split(&rest, ',', &word))
		result = fl_settings_way(&at, r->settings, fl_str_trim(word), r->err);
	return result;
}

static int take_ways(struct reader *r, yyjson_val *val)
{
	int result = fl_settings_ways_begin(r->settings, r->arena, r->err);

	if (result < 0)
		return result;
	if (yyjson_is_arr(val) && !yyjson_arr_size(val))
		return REFUSE(r, val, "an empty list hands out nothing: name a strategy, as cdi-cri, or leave it out");
	return yyjson_is_arr(val) ? each(r, val, take_way) : take_way(r, val);
}

static int take_discovery(struct reader *r, yyjson_val *val)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	struct fl_str text = { 0 };
	int result = get_text(r, val, &text);

	return result < 0 ? result : fl_settings_discovery(&at, text, r->err);
}

static int take_plugin(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = {
		{ "passDeviceSpecs", take_nodes, false },
		{ "deviceListStrategy", take_ways, false },
		{ "deviceIDStrategy", take_id_by, false },
		{ "cdiAnnotationPrefix", take_prefix, false },
		{ "nvidiaCTKPath", take_hook, false },
		{ "nvidiaCDIHookPath", take_hook, false },
		{ "containerDriverRoot", take_look_root, false },
		{ "driverRootCtrPath", take_look_root, false },
		{ "sharedDevicesAllocationPolicy", take_policy, false },
	};

	return walk(r, val, members, FL_LEN(members));
}

/* Another program's, which reads the same file. */
static int take_gfd(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = {
		{ "oneshot", leave_bool, false },
		{ "noTimestamp", leave_bool, false },
		{ "sleepInterval", leave_any, false },
		{ "outputFile", leave_text, false },
		{ "machineTypeFile", leave_text, false },
	};

	return walk(r, val, members, FL_LEN(members));
}

static int take_extra(struct reader *r, yyjson_val *val, enum fl_extra which)
{
	bool is = false;
	int result = get_bool(r, val, &is);

	return result < 0 ? result : fl_settings_extra(r->settings, r->arena, which, is, r->err);
}

static int take_gdrcopy(struct reader *r, yyjson_val *val)
{
	return take_extra(r, val, FL_EXTRA_GDRCOPY);
}

static int take_gds(struct reader *r, yyjson_val *val)
{
	return take_extra(r, val, FL_EXTRA_GDS);
}

static int take_mofed(struct reader *r, yyjson_val *val)
{
	return take_extra(r, val, FL_EXTRA_MOFED);
}

/* NVIDIA's file has no such fields, and its plugin does as if they were not there. */
static int leave_flags(struct reader *r, yyjson_val *val)
{
	return warn(r, val, "is no field of the file: use --cdi-feature-flags or CDI_FEATURE_FLAGS");
}

static int leave_hooks(struct reader *r, yyjson_val *val)
{
	return warn(r, val, "is no field of the file: use --cdi-disable-hooks or CDI_DISABLE_HOOKS");
}

static int leave_socket(struct reader *r, yyjson_val *val)
{
	return warn(r, val, "is no field of the file: use --kubelet-socket or KUBELET_SOCKET");
}

static int take_mps_root(struct reader *r, yyjson_val *val)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	struct fl_str text = { 0 };
	int result = get_text(r, val, &text);

	return result < 0 ? result : fl_settings_mps_root(&at, r->settings, text, r->err);
}

static int take_flags(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = {
		{ "migStrategy", take_mig, false },
		{ "failOnInitError", leave_bool, false },   /* a driver that is not there is waited for */
		{ "nvidiaDriverRoot", take_driver_root, false },
		{ "driverRoot", take_driver_root, false },
		{ "nvidiaDevRoot", take_dev_root, false },
		{ "devRoot", take_dev_root, false },
		{ "gdrcopyEnabled", take_gdrcopy, false },
		{ "gdsEnabled", take_gds, false },
		{ "mofedEnabled", take_mofed, false },
		{ "mpsRoot", take_mps_root, false },
		{ "useNodeFeatureAPI", leave_bool, false },
		{ "deviceDiscoveryStrategy", take_discovery, false },
		{ "cdiFeatureFlags", leave_flags, false },
		{ "cdiDisableHooks", leave_hooks, false },
		{ "kubeletSocket", leave_socket, false },
		{ "plugin", take_plugin, false },
		{ "gfd", take_gfd, false },
	};

	return walk(r, val, members, FL_LEN(members));
}

/* ---- resources: NVIDIA's plugin reads these and does as if they were not there ---- */

static int leave_resource(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = { { "pattern", leave_text, true }, { "name", leave_text, true } };

	return walk(r, val, members, FL_LEN(members));
}

static int leave_resources(struct reader *r, yyjson_val *val)
{
	int result = each(r, val, leave_resource);

	return result < 0 ? result : warn(r, val, "is not taken, as NVIDIA's plugin does not take it either");
}

static int take_resources(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = { { "gpus", leave_resources, false }, { "mig", leave_resources,
	  false } };

	return walk(r, val, members, FL_LEN(members));
}

/* ---- sharing ---- */

static struct fl_sharing *last_sharing(struct reader *r)
{
	return &r->settings->sharing.at[r->settings->sharing.len - 1];
}

/* A resource by its name; without a domain it is NVIDIA's. */
static int get_resource(struct reader *r, yyjson_val *val, struct fl_str *ret)
{
	struct fl_str name = { 0 };
	int result = get_text(r, val, &name);

	if (result < 0)
		return result;
	if (fl_str_find(name, '/') < 0)
		name = fl_arena_printf(r->arena, "nvidia.com/%.*s", FL_ARG(name));
	if (!name.p)
		return no_memory(r->err);
	if (!fl_name_ok(FL_NAME_QUALIFIED, name) || name.len > 63)
		return REFUSE(r, val,
			      "'%.*s' is no name of a resource: write at most 63 letters, digits, '-', '_' and '.', "
			      "with a letter or digit at both ends",
			      FL_ARG(fl_str_sub(name, 0, 80)));
	*ret = name;
	return 0;
}

static int take_name(struct reader *r, yyjson_val *val)
{
	struct fl_str name = { 0 };
	int result = get_resource(r, val, &name);

	FL_SET(last_sharing(r), resource, name);
	return result;
}

/* NVIDIA's plugin reads rename and devices, refuses what makes no sense, says that it does not take the rest, and goes
 * on without: whoever took them would serve other names than it does. */
#define AS_NVIDIA "as NVIDIA's plugin does not take it either: "

static int leave_rename(struct reader *r, yyjson_val *val)
{
	struct fl_str name = { 0 };
	int result = get_resource(r, val, &name);

	return result < 0 ? result : warn(r, val, "is not taken, " AS_NVIDIA "renameByDefault is");
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

static int leave_index(struct reader *r, yyjson_val *val)
{
	int64_t number;
	struct fl_str text;

	if (fl_json_str(val, &text) ? is_device(text) : fl_json_i64(val, &number) && number >= 0)
		return 0;
	return REFUSE(r, val, "an index (1, '0:1') or a UUID is wanted");
}

static int take_devices(struct reader *r, yyjson_val *val)
{
	struct fl_str text;
	int64_t count;
	int result = 0;

	if (fl_json_str(val, &text)) {
		if (fl_str_eq(text, FL_S("all")))
			return 0;
		return REFUSE(r, val, "the only text that is valid here is 'all'");
	}
	if (yyjson_is_arr(val) && yyjson_arr_size(val))
		result = each(r, val, leave_index);
	else if (!fl_json_i64(val, &count) || count < 1)
		return REFUSE(r, val, "all, a count from 1, or a list of devices is wanted");
	return result < 0 ? result : warn(r, val, "is not taken, " AS_NVIDIA "all devices are shared");
}

static int take_replicas(struct reader *r, yyjson_val *val)
{
	int64_t count;

	if (!fl_json_i64(val, &count))
		return REFUSE(r, val, "a number is wanted, found %s", fl_json_kind(val));
	if (count < 2)
		return REFUSE(r, val, "number of replicas must be >= 2");
	if (count > 10000)
		return REFUSE(r, val, "number of replicas must be <= 10000");
	if (r->mps && count > FL_MPS_SHARES_MAX)
		return REFUSE(r, val, "number of replicas must be <= %d with MPS: a GPU serves no more clients",
			      FL_MPS_SHARES_MAX);
	FL_SET(last_sharing(r), replicas, (int32_t)count);
	return 0;
}

static int take_shared(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = {
		{ "name", take_name, true },
		{ "rename", leave_rename, false },
		{ "devices", take_devices, false },
		{ "replicas", take_replicas, true },
	};
	struct fl_settings *s = r->settings;
	struct fl_sharing *sharing = &s->sharing.at[s->sharing.len++];
	int result = walk(r, val, members, FL_LEN(members));

	if (result < 0)
		return result;
	/* A null stands for nothing, here too. */
	if (!sharing->has.resource || !sharing->has.replicas)
		return REFUSE(r, val, "name and replicas are wanted");
	for (uint32_t i = 0; i + 1 < s->sharing.len; i++)
		if (fl_str_eq(s->sharing.at[i].resource, sharing->resource))
			return REFUSE(r, val, "'%.*s' is there twice", FL_ARG(sharing->resource));
	return 0;
}

static int take_list(struct reader *r, yyjson_val *val)
{
	size_t count = yyjson_arr_size(val);

	if (!yyjson_is_arr(val) || count == 0)
		return REFUSE(r, val, "no resources specified");
	if (count > FL_SETTINGS_LIST)
		return REFUSE(r, val, "more than %d resources", FL_SETTINGS_LIST);
	if (!FL_ELEMENTS(r->settings, r->arena, sharing, (uint32_t)count))
		return no_memory(r->err);
	r->settings->sharing.len = 0;
	return each(r, val, take_shared);
}

static int take_rename(struct reader *r, yyjson_val *val)
{
	return get_bool(r, val, &r->rename);
}

static int take_one_share(struct reader *r, yyjson_val *val)
{
	return get_bool(r, val, &r->one_share);
}

/* A block of `sharing`: resources and how they are shared, in place of what was there. */
static int take_block(struct reader *r, yyjson_val *val, bool mps)
{
	static const struct member members[] = {
		{ "renameByDefault", take_rename, false },
		{ "failRequestsGreaterThanOne", take_one_share, false },
		{ "resources", take_list, false },
	};
	struct fl_settings *s = r->settings;
	int result;

	s->sharing.len = 0;
	r->mps = mps;
	r->rename = false;
	r->one_share = mps;
	result = walk(r, val, members, FL_LEN(members));
	if (result < 0)
		return result;
	if (!s->sharing.len)
		return REFUSE(r, val, "no resources specified");
	FL_SET(s, one_share, r->one_share);
	for (uint32_t i = 0; r->rename && i < s->sharing.len; i++) {
		struct fl_str name = fl_arena_printf(r->arena, "%.*s.shared", FL_ARG(s->sharing.at[i].resource));

		if (!name.p)
			return no_memory(r->err);
		if (name.len > 63)
			return REFUSE(r, val, "'%.*s' has more than 63 characters", FL_ARG(name));
		FL_SET(&s->sharing.at[i], renamed, name);
	}
	return 0;
}

/* Checked also where MPS is there, which wins: NVIDIA's plugin reads both. */
static int take_slicing(struct reader *r, yyjson_val *val)
{
	struct fl_settings *s = r->settings;
	const struct fl_settings mps = *s;
	int result = take_block(r, val, false);

	if (result < 0 || !mps.mps)
		return result;
	s->sharing = mps.sharing;
	s->one_share = mps.one_share;
	return warn(r, val, "is not taken: sharing.mps is there and wins, as with NVIDIA's plugin");
}

static int take_mps(struct reader *r, yyjson_val *val)
{
	int result = take_block(r, val, true);

	FL_SET(r->settings, mps, true);
	return result;
}

static int is_taken(struct reader *r, yyjson_val *val)
{
	(void)r;
	(void)val;
	return 0;
}

/* MPS first, wherever it stands: the other block must know whether it counts. */
static int take_sharing(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = { { "timeSlicing", take_slicing, false }, { "mps", is_taken, false } };
	yyjson_val *mps = yyjson_is_obj(val) ? fl_json_get(val, FL_S("mps")) : NULL;
	int result = mps && !yyjson_is_null(mps) ? take_mps(r, mps) : 0;

	return result < 0 ? result : walk(r, val, members, FL_LEN(members));
}

/* ---- the rest ---- */

static int take_channels(struct reader *r, yyjson_val *val)
{
	struct path path;
	const struct fl_settings_at at = where(r, val, &path);
	char text[64];
	struct fl_buf list = FL_BUF_IN(text);
	yyjson_arr_iter iter = yyjson_arr_iter_with(val);
	yyjson_val *item;
	int64_t channel;

	text[0] = '\0';
	if (!yyjson_is_arr(val))
		return REFUSE(r, val, "a list is wanted, found %s", fl_json_kind(val));
	fl_buf_char(&list, '[');
	while ((item = yyjson_arr_iter_next(&iter)) && !list.failed) {
		if (!fl_json_i64(item, &channel))
			return REFUSE(r, item, "a number is wanted, found %s", fl_json_kind(item));
		fl_buf_printf(&list, "%s%" PRId64, list.len > 1 ? "," : "", channel);
	}
	fl_buf_char(&list, ']');
	return fl_settings_channel(&at, r->settings, r->arena, fl_buf_view(&list), r->err);
}

static int take_required(struct reader *r, yyjson_val *val)
{
	r->settings->has.imex_required = 1;
	return get_bool(r, val, &r->settings->imex_required);
}

static int take_imex(struct reader *r, yyjson_val *val)
{
	static const struct member members[] = { { "channelIDs", take_channels, false },
						 { "required", take_required, false } };

	return walk(r, val, members, FL_LEN(members));
}

static int take_version(struct reader *r, yyjson_val *val)
{
	struct fl_str text = { 0 };
	int result = get_text(r, val, &text);

	if (result < 0 || !text.len || fl_str_eq(text, FL_S("v1")))
		return result;
	text = fl_str_sub(text, 0, 40);
	return REFUSE(r, val, "unknown version: %.*s: write v1", FL_ARG(text));
}

int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings, struct fl_err *err)
{
	static const struct member members[] = {
		{ "version", take_version, false },
		{ "flags", take_flags, false },
		{ "resources", take_resources, false },
		{ "sharing", take_sharing, false },
		{ "imex", take_imex, false },
	};
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct reader r = { .arena = arena, .settings = settings, .err = err };
	int result;

	if (text.len > FL_SETTINGS_FILE_MAX)
		return fl_fail(err, FL_E_TOOBIG, "the configuration has %u bytes, more than %llu", text.len,
			       FL_SETTINGS_FILE_MAX);
	result = fl_yaml_read(NULL, text, &doc, err);
	if (result < 0 || (result = fl_json_no_repeats(doc, err)) < 0)
		return result;
	r.doc = doc;
	return walk(&r, yyjson_doc_get_root(doc), members, FL_LEN(members));
}
