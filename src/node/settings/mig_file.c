#include "node/settings/mig_file.h"
#include "json/yaml.h"
#include "run/memory.h"
#include <stdio.h>
#include <stdlib.h>

struct reading {
	struct fl_str text;                    /* of the file */
	struct fl_str config;                  /* that is being read */
	size_t entry;
	struct fl_arena *arena;
	struct fl_err *err;
};

/* ---- what is wrong, and where ---- */

/* The line on which the layout's name stands; 0: it is not written so. */
static unsigned line_of(const struct reading *r)
{
	struct fl_str rest = r->text, line;
	unsigned number = 0;

	while (fl_str_split(&rest, '\n', &line)) {
		struct fl_str word = fl_str_trim(line);

		number++;
		if (fl_str_starts(word, r->config) && word.len > r->config.len && word.p[r->config.len] == ':')
			return number;
	}
	return 0;
}

static int FL_PRINTF(2, 3) refuse(const struct reading *r, const char *fmt, ...)
{
	char why[FL_ERR_TEXT], line[32] = "";
	unsigned number = line_of(r);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	if (number)
		(void)snprintf(line, sizeof line, "line %u: ", number);
	return fl_fail(r->err, FL_E_INVALID, "%slayout '%.*s', entry %zu: %s", line,
		       FL_ARG(fl_str_sub(r->config, 0, 40)), r->entry, why);
}

static int no_memory(const struct reading *r)
{
	return fl_fail(r->err, FL_E_NOMEM, "no memory for mig-parted's file");
}

/* ---- the fields of an entry ---- */

static int add_filter(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	struct fl_str text;

	if (!fl_json_str(value, &text))
		return refuse(r, "device-filter: a device ID is wanted, as \"0x20B010DE\"");
	if (fl_str_find(text, ':') >= 0)
		return refuse(r, "device-filter: the subsystem in '%.*s' is not supported: write the device ID alone",
			      FL_ARG(fl_str_sub(text, 0, 40)));
	if (text.len != 10 || !fl_str_starts(text, FL_S("0x")))
		return refuse(r, "device-filter: '%.*s' is no device ID: write device and vendor, as 0x20B010DE",
			      FL_ARG(fl_str_sub(text, 0, 40)));
	entry->filters.at[entry->filters.len++] = text;
	return 0;
}

static int take_filter(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(value);
	yyjson_val *item;
	int ret = 0;

	if (!FL_ELEMENTS(entry, r->arena, filters, (uint32_t)yyjson_arr_size(value) + 1))
		return no_memory(r);
	entry->filters.len = 0;
	if (!yyjson_is_arr(value))
		return add_filter(r, entry, value);
	while (ret == 0 && (item = yyjson_arr_iter_next(&iter)))
		ret = add_filter(r, entry, item);
	return ret;
}

static int take_devices(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(value);
	yyjson_val *item;
	struct fl_str text;
	int64_t index;

	if (fl_json_str(value, &text) && fl_str_eq(text, FL_S("all"))) {
		FL_SET(entry, all, true);
		return 0;
	}
	if (!yyjson_is_arr(value) || yyjson_arr_size(value) > FL_GPU_CARDS_MAX)
		return refuse(r, "devices: all is wanted, or a list of indexes, as [0, 1]");
	if (!FL_ELEMENTS(entry, r->arena, devices, (uint32_t)yyjson_arr_size(value)))
		return no_memory(r);
	entry->devices.len = 0;
	while ((item = yyjson_arr_iter_next(&iter))) {
		if (!fl_json_i64(item, &index) || index < 0 || index >= FL_GPU_CARDS_MAX)
			return refuse(r, "devices: an index from 0 to %d is wanted", FL_GPU_CARDS_MAX - 1);
		entry->devices.at[entry->devices.len++] = (int32_t)index;
	}
	return 0;
}

static int take_enabled(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	if (!yyjson_is_bool(value))
		return refuse(r, "mig-enabled: true or false is wanted");
	FL_SET(entry, enabled, yyjson_get_bool(value));
	return 0;
}

static bool is_profile(struct fl_str name)
{
	bool g = false, gb = false;

	for (uint32_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && c != '.' && c != '+' && c != '-')
			return false;
		g |= i && c == 'g' && i + 1 < name.len && name.p[i + 1] == '.';
		gb |= i && c == 'g' && i + 1 < name.len && name.p[i + 1] == 'b';
	}
	return g && gb && name.len < 40;
}

static int take_counts(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(value);
	yyjson_val *key;
	struct fl_str name;
	int64_t count, sum = 0;

	if (!yyjson_is_obj(value))
		return refuse(r, "mig-devices: profiles and their counts are wanted, as {1g.10gb: 7}");
	if (!FL_ELEMENTS(entry, r->arena, counts, (uint32_t)yyjson_obj_size(value)))
		return no_memory(r);
	entry->counts.len = 0;
	while ((key = yyjson_obj_iter_next(&iter))) {
		if (!fl_json_str(key, &name) || !is_profile(name))
			return refuse(r, "mig-devices: '%.*s' is no profile: write 1g.10gb, 1g.10gb+me or 1c.3g.40gb",
				      FL_ARG(fl_str_sub(name, 0, 40)));
		if (!fl_json_i64(yyjson_obj_iter_get_val(key), &count) || count < 0 || count > FL_GPU_CARDS_MAX)
			return refuse(r, "mig-devices.%.*s: a count is wanted", FL_ARG(name));
		sum += count;
		if (!count)
			continue;
		FL_SET(&entry->counts.at[entry->counts.len], profile, name);
		FL_SET(&entry->counts.at[entry->counts.len], count, (int32_t)count);
		entry->counts.len++;
	}
	if (yyjson_obj_size(value) && !sum)
		return refuse(r, "mig-devices: all counts are 0: write {} for no MIG devices");
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value);
	bool required;
} fields[] = {
	{ "device-filter", take_filter, false },
	{ "devices", take_devices, true },
	{ "mig-enabled", take_enabled, true },
	{ "mig-devices", take_counts, false },
};

static int take_entry(struct reading *r, struct fl_mig_entry *entry, yyjson_val *value)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(value);
	uint32_t seen = 0;
	yyjson_val *key;

	if (!yyjson_is_obj(value))
		return refuse(r, "devices and mig-enabled are wanted");
	while ((key = yyjson_obj_iter_next(&iter))) {
		size_t i = 0;
		int ret;

		while (i < FL_LEN(fields) && !yyjson_equals_str(key, fields[i].name))
			i++;
		if (i == FL_LEN(fields))
			return refuse(r, "there is no field '%.40s'", yyjson_get_str(key));
		seen |= 1u << i;
		ret = fields[i].take(r, entry, yyjson_obj_iter_get_val(key));
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < FL_LEN(fields); i++)
		if (fields[i].required && !(seen >> i & 1))
			return refuse(r, "%s is missing", fields[i].name);
	if (entry->enabled && !(seen >> 3 & 1))
		return refuse(r, "mig-devices is missing: write {} for no MIG devices");
	if (!entry->enabled && entry->counts.len)
		return refuse(r, "mig-devices is only for GPUs with mig-enabled: true");
	return 0;
}

/* ---- all of it ---- */

static int take_config(struct reading *r, struct fl_mig_config *config, yyjson_val *key)
{
	yyjson_val *list = yyjson_obj_iter_get_val(key), *item;
	yyjson_arr_iter iter = yyjson_arr_iter_with(list);
	int ret = 0;

	(void)fl_json_str(key, &r->config);
	r->entry = 0;
	if (!yyjson_is_arr(list) || !yyjson_arr_size(list) || yyjson_arr_size(list) > FL_MIG_ENTRIES_MAX)
		return refuse(r, "a list of 1 to %d entries is wanted", FL_MIG_ENTRIES_MAX);
	FL_SET(config, name, r->config);
	if (!FL_ELEMENTS(config, r->arena, entries, (uint32_t)yyjson_arr_size(list)))
		return no_memory(r);
	for (; ret == 0 && (item = yyjson_arr_iter_next(&iter)); r->entry++)
		ret = take_entry(r, &config->entries.at[r->entry], item);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_mig_config *)a)->name, ((const struct fl_mig_config *)b)->name);
}

static int take_file(struct reading *r, struct fl_mig_file *file, yyjson_val *root)
{
	yyjson_val *configs = yyjson_obj_get(root, "mig-configs"), *key;
	yyjson_obj_iter iter = yyjson_obj_iter_with(configs), names = yyjson_obj_iter_with(root);
	uint32_t n = 0;
	int ret = 0;

	if (!yyjson_equals_str(yyjson_obj_get(root, "version"), "v1"))
		return fl_fail(r->err, FL_E_INVALID, "version: v1 is wanted");
	while ((key = yyjson_obj_iter_next(&names)))
		if (!yyjson_equals_str(key, "version") && !yyjson_equals_str(key, "mig-configs"))
			return fl_fail(r->err, FL_E_INVALID, "there is no field '%.40s'", yyjson_get_str(key));
	if (!yyjson_is_obj(configs) || !yyjson_obj_size(configs) || yyjson_obj_size(configs) > FL_MIG_CONFIGS_MAX)
		return fl_fail(r->err, FL_E_INVALID, "mig-configs: 1 to %d layouts are wanted", FL_MIG_CONFIGS_MAX);
	if (!FL_ELEMENTS(file, r->arena, configs, (uint32_t)yyjson_obj_size(configs)))
		return no_memory(r);
	while (ret == 0 && (key = yyjson_obj_iter_next(&iter)))
		ret = take_config(r, &file->configs.at[n++], key);
	qsort(file->configs.at, file->configs.len, sizeof *file->configs.at, by_name);
	return ret;
}

/* Texts lie in the document: they are copied. */
static int keep_texts(struct fl_mig_file *file, struct fl_arena *arena)
{
	for (uint32_t i = 0; i < file->configs.len; i++) {
		struct fl_mig_config *config = &file->configs.at[i];

		config->name = fl_arena_str(arena, config->name);
		if (!config->name.p)
			return -FL_E_NOMEM;
		for (uint32_t k = 0; k < config->entries.len; k++) {
			struct fl_mig_entry *entry = &config->entries.at[k];

			for (uint32_t n = 0; n < entry->filters.len; n++) {
				entry->filters.at[n] = fl_arena_str(arena, entry->filters.at[n]);
				if (!entry->filters.at[n].p)
					return -FL_E_NOMEM;
			}
			for (uint32_t n = 0; n < entry->counts.len; n++) {
				struct fl_str copy = fl_arena_str(arena, entry->counts.at[n].profile);

				if (!copy.p)
					return -FL_E_NOMEM;
				entry->counts.at[n].profile = copy;
			}
		}
	}
	return 0;
}

int fl_mig_file_read(struct fl_str text, struct fl_arena *arena, struct fl_mig_file *ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct reading r = { .text = text, .arena = arena, .err = err };
	int ret_code = fl_yaml_read(NULL, text, &doc, err);

	if (ret_code >= 0)
		ret_code = fl_json_no_repeats(doc, err);
	if (ret_code >= 0)
		ret_code = take_file(&r, ret, yyjson_doc_get_root(doc));
	if (ret_code >= 0 && keep_texts(ret, arena) < 0)
		ret_code = no_memory(&r);
	return ret_code < 0 ? ret_code : 0;
}

static int parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
		 struct fl_err *err)
{
	const struct fl_mig_files *files = arg;
	struct fl_mig_file *to = object;

	if (!file->why)
		return fl_mig_file_read(file->content, arena, to, err) < 0 ? -(int)err->code : 1;
	to->configs.len = 0;
	FL_UNSET(to, configs);
	FL_SET(to, why, fl_arena_printf(arena, "%s: %s", files->name, file->why->text));
	return to->why.p ? 1 : -FL_E_NOMEM;
}

int fl_mig_file_start(struct fl_mig_files *files, struct fl_io *io, struct fl_loop *loop, struct fl_str path,
		      struct fl_err *err)
{
	char *slash;

	if (!path.len) {
		fl_memory_begin(loop, &fl_mig_file_kind);
		return 0;
	}
	if (snprintf(files->dir, sizeof files->dir, "%.*s", FL_ARG(path)) >= (int)sizeof files->dir ||
	    !(slash = strrchr(files->dir, '/')) || !slash[1])
		return fl_fail(err, FL_E_INVALID, "--mig-config-file: '%.*s' is not the path of a file", FL_ARG(path));
	*slash = '\0';
	files->name = slash + 1;
	files->folder = (struct fl_folder){ .dir = files->dir[0] ? files->dir : "/", .only = files->name,
					    .parse = parse, .arg = files, .max = FL_MIG_FILE_MAX,
					    .tell_missing = true };
	fl_folder_start(io, &files->folder, fl_loop_feed(loop, &fl_mig_file_kind));
	return 0;
}

void fl_mig_file_stop(struct fl_mig_files *files)
{
	fl_folder_stop(&files->folder);
}
