/* Any bytes as a linker's cache: what is added to it is found first, and what was in it is still there, in its
 * order. */
#include "fuzz.h"
#include "node/host/ld_cache.h"
#include <stdlib.h>

static uint32_t count(const struct fl_ld_cache *from, bool *ret_first)
{
	struct fl_ld_cache cache = *from;
	struct fl_ld_entry entry;
	uint32_t n = 0;

	*ret_first = false;
	while (fl_ld_cache_next(&cache, &entry)) {
		if (!*ret_first && fl_str_eq(entry.key, FL_S("libcuda.so.1")))
			*ret_first = fl_str_eq(entry.value, FL_S("/ours"));
		n++;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_buf) struct fl_buf merged = FL_BUF(1 << 22);
	const struct fl_ld_entry add[] = {
		{ .flags = FL_LD_FLAGS, .key = FL_S("libcuda.so.1"), .value = FL_S("/ours") },
					   { .flags = FL_LD_FLAGS, .key = FL_S("liba.so.2"), .value = FL_S("/a") } };
	struct fl_ld_cache old, new;
	bool is_old = fl_ld_cache_open(&old, data, size), first;
	uint32_t before = is_old ? count(&old, &first) : 0, after;

	if (fl_ld_cache_merge(is_old ? &old : NULL, add, FL_LEN(add), &merged, NULL) < 0)
		return 0;   /* too large, or no memory */
	if (!fl_ld_cache_open(&new, merged.p, merged.len))
		abort();
	after = count(&new, &first);
	if (!first || after > before + FL_LEN(add) || after < FL_LEN(add))
		abort();
	return 0;
}
