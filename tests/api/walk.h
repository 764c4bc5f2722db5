/* walk.h - for tests of bound structs: from and to JSON text, and objects by chance. */
#pragma once
#include "json/bind_walk.h"

/* From JSON text; nothing of the text is needed afterwards. */
int test_read(const struct fl_bind *bind, const char *json, unsigned flags, struct fl_arena *arena, void *ret,
	      struct fl_err *err);

/* To JSON text, appended to buf. */
int test_write(const struct fl_bind *bind, const void *object, struct fl_buf *buf, struct fl_err *err);

/* A valid object, as test_random() will have it: each member there or not, keys unique, times in range. */
int test_make(const struct fl_bind *bind, struct fl_arena *arena, void *ret);
