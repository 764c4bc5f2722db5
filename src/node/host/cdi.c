#include "node/host/cdi.h"
#include "json/yaml.h"
#include "run/memory.h"

static int print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	struct fl_cdi_spec spec = *(const struct fl_cdi_spec *)object;
	struct fl_jw w = FL_JW(out);

	(void)arg;
	FL_UNSET(&spec, meta);
	FL_UNSET(&spec, faults);
	fl_encode(fl_cdi_spec_bind(), &spec, &w);
	fl_buf_char(out, '\n');
	return fl_buf_check(out, "the CDI file", err);
}

/* Now it is there: what is wanted of it is all that stands in it. */
static const void *written(void *arg, struct fl_write *write)
{
	struct fl_cdi_spec *spec = fl_arena_get(&write->arena, sizeof *spec);
	int64_t digest = fl_cdi_digest(write->object);

	(void)arg;
	if (!spec || !digest)
		return NULL;   /* it is read back in a moment */
	*spec = *(const struct fl_cdi_spec *)write->object;
	FL_SET(FL_IN(spec, meta), name, write->ref.name);
	FL_SET(spec, on_disk, digest);
	return spec;
}

static int parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
		 struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_cdi_spec *spec = object, read = { 0 };
	int r;

	(void)arg;
	if (file->why)
		return 1;
	r = fl_str_ends(file->name, fl_str(FL_CDI_YAML)) ? fl_yaml_read(NULL, file->content, &doc, err) :
							   fl_json_read(NULL, file->content, 0, &doc, err);
	if (r == 0)
		r = fl_decode(fl_cdi_spec_bind(), yyjson_doc_get_root(doc), arena, 0, &read, err);
	if (r < 0)
		return r;
	read.meta = spec->meta;
	read.has.meta = 1;
	FL_SET(&read, on_disk, fl_cdi_digest(&read));
	if (!read.on_disk)
		return fl_fail(err, FL_E_NOMEM, "no memory to read a CDI file");
	*spec = read;
	return 1;
}

void fl_cdi_init(struct fl_cdi_dir *cdi, struct fl_io *io, const char *dir, struct fl_log *log)
{
	*cdi = (struct fl_cdi_dir){
		.dir = dir,
		.log = log,
		.files = { .io = io, .dir = dir, .make = true, .suffix = ".json", .mode = 0644, .print = print,
			   .written = written, .tried = fl_cdi_tried, .arg = cdi },
		.folder = { .dir = dir, .suffix = ".json", .also = FL_CDI_YAML, .parse = parse, .arg = cdi,
			    .looked = fl_cdi_looked, .remedy = FL_CDI_DIR_REMEDY },
	};
}

void fl_cdi_start(struct fl_cdi_dir *cdi, struct fl_loop *loop)
{
	cdi->io = cdi->files.io;
	cdi->loop = loop;
	cdi->trouble = fl_loop_feed(loop, &fl_cdi_trouble_kind);
	fl_memory_begin(loop, &fl_cdi_trouble_kind);
	fl_folder_start(cdi->io, &cdi->folder, fl_loop_feed(loop, &fl_cdi_spec_kind));
}

void fl_cdi_stop(struct fl_cdi_dir *cdi)
{
	if (cdi->io) {
		fl_folder_stop(&cdi->folder);
		fl_timer_stop(cdi->io, &cdi->stale);
	}
	cdi->io = NULL;
}
