#include "node/labels/file.h"
#include "base/units.h"
#include "run/memory.h"
#include <stdio.h>

#define FIRST_LINE "# Written by fairlead: GPU labels for node feature discovery."

static int print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	const struct fl_label_file *file = object;

	(void)arg;
	fl_buf_str(out, FL_S(FIRST_LINE "\n"));
	for (uint32_t i = 0; i < file->labels.len; i++)
		fl_buf_printf(out, "%.*s=%.*s\n", FL_ARG(file->labels.at[i].key), FL_ARG(file->labels.at[i].value));
	return fl_buf_check(out, "the file of labels", err);
}

/* Now it is there: all of it is ours. */
static const void *written(void *arg, struct fl_write *write)
{
	struct fl_label_file *file = fl_arena_get(&write->arena, sizeof *file);

	(void)arg;
	if (!file)
		return NULL;   /* it is read back in a moment */
	*file = *(const struct fl_label_file *)write->object;
	FL_SET(FL_IN(file, meta), name, write->ref.name);
	FL_SET(file, ours, true);
	return file;
}

static void put(struct fl_map *map, struct fl_pair pair)
{
	uint32_t at = map->len++;

	while (at > 0 && fl_str_cmp(map->at[at - 1].key, pair.key) > 0) {
		map->at[at] = map->at[at - 1];
		at--;
	}
	map->at[at] = pair;
}

/* "key=value", or "key", which is "true". Comments and blank lines are none. Of a key that is there twice the first
 * counts. */
static void read_line(struct fl_str line, struct fl_map *labels)
{
	int64_t equals = fl_str_find(line, '=');
	struct fl_pair pair = { fl_str_trim(line), FL_S("true") };

	if (equals >= 0)
		pair = (struct fl_pair){ fl_str_trim(fl_str_sub(line, 0, (uint32_t)equals)),
					 fl_str_trim(fl_str_sub(line, (uint32_t)equals + 1, UINT32_MAX)) };
	for (uint32_t i = 0; i < labels->len; i++)
		if (fl_str_eq(labels->at[i].key, pair.key))
			return;
	if (pair.key.len && pair.key.p[0] != '#' && fl_str_utf8(pair.key) && fl_str_utf8(pair.value))
		put(labels, pair);
}

static int parse(void *arg, const struct fl_folder_file *from, struct fl_arena *arena, void *object,
		 struct fl_err *err)
{
	struct fl_label_file *file = object;
	struct fl_str rest = from->content, line;
	uint32_t lines = 1;

	(void)arg;
	if (from->why) {
		FL_SET_TEXT(file, why, fl_str(from->why->text));
		return 1;
	}
	for (uint32_t i = 0; i < rest.len; i++)
		lines += rest.p[i] == '\n';
	file->labels.at = fl_arena_get_n(arena, lines, sizeof *file->labels.at);
	if (!file->labels.at)
		return fl_fail(err, FL_E_NOMEM, "no memory to read a file of labels");
	file->has.labels = 1;
	FL_SET(file, ours, fl_str_starts(from->content, FL_S(FIRST_LINE "\n")));
	while (fl_str_split(&rest, '\n', &line))
		read_line(line, &file->labels);
	return 1;
}

int fl_labels_file_check(const char *path, struct fl_err *err)
{
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || !slash[1] || slash[1] == '.')
		return fl_fail(err, FL_E_INVALID, "'%s' is no absolute path of a file: NFD reads files of "
						  "/etc/kubernetes/node-feature-discovery/features.d that do not "
						  "begin with a dot",
			       path);
	if (strlen(path) >= FL_LABELS_FILE_PATH || strlen(slash + 1) > FL_NAME_MAX)
		return fl_fail(err, FL_E_INVALID, "'%s' is too long for the path of a file", path);
	return 0;
}

void fl_labels_file_init(struct fl_labels_file *file, struct fl_io *io, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	*file = (struct fl_labels_file){ .sink = { .io = io, .dir = file->dir, .mode = 0644, .print = print,
						   .written = written } };
	if (!slash)
		return;
	(void)snprintf(file->dir, sizeof file->dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	(void)snprintf(file->name, sizeof file->name, "%s", slash + 1);
	file->folder = (struct fl_folder){ .dir = file->dir, .only = file->name, .parse = parse,
					   .max = FL_LABELS_FILE_MAX, .optional = true, .tell_missing = true };
}

void fl_labels_file_start(struct fl_labels_file *file, struct fl_loop *loop)
{
	if (!file->name[0]) {
		fl_memory_begin(loop, &fl_label_file_kind);
		return;
	}
	file->io = file->sink.io;
	fl_folder_start(file->io, &file->folder, fl_loop_feed(loop, &fl_label_file_kind));
}

void fl_labels_file_stop(struct fl_labels_file *file)
{
	if (file->io)
		fl_folder_stop(&file->folder);
	file->io = NULL;
}
