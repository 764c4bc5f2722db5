/* Any bytes as a file in the folder of CDI files: what is taken can be written, and is then the same. */
#include "fuzz.h"
#include "node/host/cdi.h"
#include <stdlib.h>

static int read_back(const struct fl_cdi_dir *cdi, struct fl_str content, struct fl_arena *arena,
		     struct fl_cdi_spec *ret)
{
	const struct fl_folder_file file = { .name = FL_S("x.json"), .content = content };

	*ret = (struct fl_cdi_spec){ 0 };
	FL_SET(FL_IN(ret, meta), name, FL_S("x"));
	return cdi->folder.parse(cdi->folder.arg, &file, arena, ret, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(16 << 20);
	struct fl_cdi_spec spec, again;
	int64_t digest;
	struct fl_cdi_dir cdi;

	fl_cdi_init(&cdi, NULL, "/cdi", NULL);
	if (read_back(&cdi, (struct fl_str){ (const char *)data, (uint32_t)size }, &arena, &spec) < 0)
		return 0;
	if (!fl_str_eq(spec.meta.name, FL_S("x")) || !spec.on_disk)
		abort();
	digest = spec.on_disk;
	FL_UNSET(&spec, on_disk);   /* nobody wants it */
	if (cdi.files.print(cdi.files.arg, &spec, &out, NULL) < 0 ||
	    read_back(&cdi, fl_buf_view(&out), &arena, &again) < 0 || again.on_disk != digest)
		abort();
	return 0;
}
