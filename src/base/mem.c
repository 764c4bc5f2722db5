#include "base/mem.h"
#include <stdlib.h>

bool (*fl_mem_refuse)(size_t size);
static long live;

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

static bool refused(size_t size)
{
	return size > FL_ALLOC_MAX || (fl_mem_refuse && fl_mem_refuse(size));
}

void *fl_alloc(size_t size)
{
	return refused(size) ? NULL : counted(malloc(size ? size : 1));
}

void *fl_zalloc(size_t size)
{
	return refused(size) ? NULL : counted(calloc(1, size ? size : 1));
}

void *fl_zalloc_n(size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL : fl_zalloc(total);
}

void *fl_realloc(void *p, size_t size)
{
	if (!p)
		return fl_alloc(size);
	return refused(size) ? NULL : realloc(p, size ? size : 1);
}

void fl_free(void *p)
{
	live -= p != NULL;
	free(p);
}

char *fl_strdup(struct fl_str s)
{
	char *copy = fl_alloc((size_t)s.len + 1);

	if (!copy)
		return NULL;
	if (s.len)
		memcpy(copy, s.p, s.len);
	copy[s.len] = 0;
	return copy;
}

long fl_mem_live(void)
{
	return live;
}
