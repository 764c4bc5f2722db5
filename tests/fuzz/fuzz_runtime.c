/* Any bytes as what containerd says of its configuration: it tells of CDI, or nothing. */
#include "fuzz.h"
#include "node/runtime.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_runtime now = { 0 };
	uint32_t bytes = 0;

	if (fl_runtime_config((struct fl_str){ (const char *)data, (uint32_t)size }, &arena, &now, NULL) < 0)
		abort();
	if (now.has.cdi != now.cdi_known)
		abort();
	for (uint32_t i = 0; i < now.cdi_dirs.len; i++)
		bytes += now.cdi_dirs.at[i].len;
	if (bytes > size)
		abort();
	return 0;
}
