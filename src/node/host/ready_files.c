#include "node/host/ready_files.h"
#include "run/memory.h"

#define SUFFIX "-ready"

static int print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	(void)arg;
	fl_buf_str(out, ((const struct fl_ready_file *)object)->content);
	return fl_buf_check(out, "a file of a check", err);
}

/* The loop tries again; the log has the first failure, and its end. */
static void tried(void *arg, struct fl_write *write, const struct fl_err *why)
{
	struct fl_ready_files *files = arg;
	bool failed = why != NULL;

	if (failed == files->failed || (why && why->code == FL_E_NOMEM))
		return;
	files->failed = failed;
	if (why)
		fl_log(files->log, FL_WARN, "cannot write the file of a check, will retry",
		       FL_KV_TEXT("directory", files->sink.dir), FL_KV_STR("check", write->ref.name), FL_KV_ERR(why));
	else
		fl_log(files->log, FL_INFO, "the files of checks can be written again");
}

static int parse(void *arg, const struct fl_folder_file *from, struct fl_arena *arena, void *object, struct fl_err *err)
{
	struct fl_ready_file *file = object;

	(void)arg;
	(void)arena;
	(void)err;
	if (from->why)
		FL_SET_TEXT(file, why, fl_str(from->why->text));   /* without content it is no file that is wanted */
	else
		FL_SET(file, content, from->content);
	return 1;
}

void fl_ready_files_init(struct fl_ready_files *files, struct fl_io *io, const char *dir, struct fl_log *log)
{
	*files = (struct fl_ready_files){
		.log = log,
		.sink = { .io = io, .dir = dir, .make = true, .suffix = SUFFIX, .mode = 0644, .print = print,
			  .tried = tried, .arg = files },
		.folder = { .dir = dir, .suffix = SUFFIX, .parse = parse, .optional = true },
	};
}

void fl_ready_files_start(struct fl_ready_files *files, struct fl_loop *loop)
{
	if (!files->sink.dir) {
		fl_memory_begin(loop, &fl_ready_file_kind);
		return;
	}
	files->io = files->sink.io;
	fl_folder_start(files->io, &files->folder, fl_loop_feed(loop, &fl_ready_file_kind));
}

void fl_ready_files_stop(struct fl_ready_files *files)
{
	if (files->io)
		fl_folder_stop(&files->folder);
	files->io = NULL;
}
