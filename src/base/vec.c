#include "base/vec.h"
#include <assert.h>

int fl_vec_grow_(void **at, uint32_t *cap, uint32_t len, uint32_t more, size_t size)
{
	uint64_t need = (uint64_t)len + more;
	uint64_t want = *cap ? (uint64_t)*cap * 2 : 8;
	size_t bytes;
	void *p;

	if (want < need)
		want = need;
	if (want > UINT32_MAX || __builtin_mul_overflow((size_t)want, size, &bytes))
		return -FL_E_NOMEM;
	p = fl_realloc(*at, bytes);
	if (!p)
		return -FL_E_NOMEM;
	*at = p;
	*cap = (uint32_t)want;
	return 0;
}

void fl_vec_remove_(void *at, uint32_t *len, uint32_t index, size_t size)
{
	char *gone = (char *)at + index * size;

	assert(index < *len);
	(*len)--;
	memmove(gone, gone + size, (*len - index) * size);
}
