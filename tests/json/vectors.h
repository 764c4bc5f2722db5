/* vectors.h - rows that the real Go functions printed; tests/peer/vectors makes them, vectors/NAME.txt holds them.
 *
 *     EACH_VECTOR (row, "quantity")
 *             if (fl_str_eq(row->field[1], FL_S("refused"))) ...
 *
 * Read once a process, outside the memory that torture refuses.
 */
#pragma once
#include "json/vectors_dir.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>

#define VECTOR_FIELDS 24

struct vector_row {
	char *says;                            /* the row as it stands in the file */
	struct fl_str field[VECTOR_FIELDS];    /* unescaped; those that are not there are empty with a NULL pointer */
	uint32_t len;
};

struct vectors {
	const char *name;
	struct vector_row *row;
	size_t len;
};

static uint32_t vector_unescape(char *p, uint32_t len)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < len; i++, out++) {
		char hex[3] = { 0 };

		p[out] = p[i];
		if (p[i] != '\\')
			continue;
		i++;
		if (p[i] != 'x') {
			p[out] = p[i] == 't' ? '\t' : p[i] == 'n' ? '\n' : p[i] == 'r' ? '\r' : p[i];
			continue;
		}
		memcpy(hex, p + i + 1, 2);
		p[out] = (char)strtoul(hex, NULL, 16);
		i += 2;
	}
	return out;
}

static void vector_add(struct vectors *v, char *line, size_t len)
{
	struct fl_str rest = { line, (uint32_t)len }, part;
	struct vector_row *row;

	v->row = realloc(v->row, (v->len + 1) * sizeof *v->row);
	row = &v->row[v->len++];
	*row = (struct vector_row){ .says = strndup(line, len) };
	while (fl_str_split(&rest, '\t', &part) && row->len < VECTOR_FIELDS) {
		part.len = vector_unescape((char *)(uintptr_t)part.p, part.len);
		row->field[row->len++] = part;
	}
}

static const struct vectors *vectors_load(const char *name)
{
	static struct vectors loaded[4];
	struct vectors *v = loaded;
	char path[512], *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *file;

	while (v->name && strcmp(v->name, name) != 0)
		v++;
	if (v->name)
		return v;
	v->name = name;
	(void)snprintf(path, sizeof path, "%s/%s.txt", VECTORS_DIR, name);
	file = fopen(path, "r");
	while (file && (len = getline(&line, &cap, file)) > 0) {
		vector_add(v, line, (size_t)len - 1);
		line = NULL;
		cap = 0;
	}
	free(line);
	if (file)
		(void)fclose(file);
	return v;
}

/* Names the row in every failure that follows. A set that is missing is a failure, not an empty loop. */
#define EACH_VECTOR(row, name) \
	CHECK(vectors_load(name)->len > 100); \
	for (const struct vector_row *row = vectors_load(name)->row; \
	     row < vectors_load(name)->row + vectors_load(name)->len && (test_row(row->says), true); row++)

static inline bool vector_ok(const struct vector_row *row, uint32_t field)
{
	return fl_str_eq(row->field[field], FL_S("ok"));
}

static inline bool vector_same(struct fl_str got, const struct vector_row *row, uint32_t field, const char *what,
			       const char *file, int line)
{
	char want[4096];

	if (fl_str_eq(got, row->field[field]))
		return true;
	(void)snprintf(want, sizeof want, "%.*s", FL_ARG(row->field[field]));
	return test_check_str(got, want, what, file, line) && test_check(false, what, file, line);
}

#define CHECK_FIELD(got, row, number) \
	do { \
		if (!vector_same((got), (row), (number), #got, __FILE__, __LINE__)) \
			return; \
	} while (0)
