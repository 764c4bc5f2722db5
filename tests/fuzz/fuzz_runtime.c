/* Any bytes as what containerd and CRI-O say of their configuration, and as a file of CRI-O's: they tell of CDI, or
 * nothing. */
#include "fuzz.h"
#include "node/host/crio_conf.h"
#include "node/host/runtime.h"
#include <stdlib.h>

static void file_of_crio(struct fl_str text)
{
	static struct fl_crio_conf conf;

	conf.dir_count = 0;
	(void)fl_crio_conf_text(text, &conf);
	if (conf.dir_count > FL_CRIO_DIRS_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text = { (const char *)data, (uint32_t)size };
	struct fl_runtime now = { 0 };
	uint32_t bytes = 0;

	if (fl_runtime_config(text, &arena, &now, NULL) < 0)
		abort();
	if (now.has.cdi != now.cdi_known)
		abort();
	for (uint32_t i = 0; i < now.cdi_dirs.len; i++)
		bytes += now.cdi_dirs.at[i].len;
	if (bytes > size)
		abort();
	file_of_crio(text);
	return 0;
}
