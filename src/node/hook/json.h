/* json.h - JSON for the hook, which links no library: values are slices of the text, found where they stand.
 *
 * No allocation, bounded depth, any bytes are safe. Numbers and words are taken by their looks.
 */
#pragma once
#include "base/str.h"

/* The value of an object's member, the first of that name; false: it is no object, has no such member, or breaks off
 * before it. */
bool fl_bare_member(struct fl_str object, const char *name, struct fl_str *ret);
/* The next element of an array: start with *at = 0; false at the end, or where the text breaks off. */
bool fl_bare_next(struct fl_str array, uint32_t *at, struct fl_str *ret);
/* A text without its quotes and escapes, terminated; false: it is none, is longer, or has a zero in it. */
bool fl_bare_text(struct fl_str value, char *ret, size_t size);
