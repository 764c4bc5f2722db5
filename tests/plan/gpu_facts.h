/* gpu_facts.h - facts for the plans of a node, written as JSON, and plans printed. */
#pragma once
#include "base/units.h"
#include "json/yaml.h"
#include "plan/plan.h"
#include "test.h"

/* An object, read from YAML or JSON into the arena; NULL: no memory. What is no object ends the test program. */
static inline void *facts_object(struct fl_arena *arena, const struct fl_bind *bind, struct fl_str text)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	void *object = fl_arena_get(arena, bind->size);
	struct fl_err err = { 0 };

	if (!object || fl_yaml_read(NULL, text, &doc, &err) < 0 ||
	    fl_decode(bind, yyjson_doc_get_root(doc), arena, FL_DECODE_STRICT, object, &err) < 0) {
		if (object && err.code != FL_E_NOMEM)
			(void)test_check(false, err.text, __FILE__, __LINE__);
		return NULL;
	}
	return object;
}

/* The objects of a text that is parted by lines of "---"; NULL: no memory. None: any pointer, and 0. */
static inline void *facts_list(struct fl_arena *arena, const struct fl_bind *bind, const char *text, uint32_t *ret_len)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_MIB);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	char *list = fl_arena_get_n(arena, 64, bind->size);
	struct fl_err err = { 0 };
	int r = list ? fl_yaml_open(fl_str(text), &yaml, &err) : -FL_E_NOMEM;

	*ret_len = 0;
	while (r == 0 && *ret_len < 64) {
		const void *object;

		fl_buf_clear(&json);
		r = fl_yaml_next(yaml, &json, &err);
		if (r <= 0)
			break;
		object = facts_object(arena, bind, fl_buf_view(&json));
		if (!object)
			return NULL;
		memcpy(list + (size_t)*ret_len * bind->size, object, bind->size);
		(*ret_len)++;
		r = 0;
	}
	if (r < 0 && r != -FL_E_NOMEM)
		(void)test_check(false, err.text, __FILE__, __LINE__);
	return r < 0 ? NULL : list;
}

/* "a b c" as a list of texts; .at NULL: no memory. */
static inline struct fl_str_list facts_words(struct fl_arena *arena, const char *text)
{
	struct fl_str rest = fl_str(text), word;
	struct fl_str_list list = { fl_arena_get_n(arena, rest.len + 1, sizeof *list.at), 0 };

	while (list.at && fl_str_split(&rest, ' ', &word))
		if (word.len)
			list.at[list.len++] = word;
	return list;
}

/* Is it as wanted, line by line? What stands for a * in a line is not looked at. */
static inline bool facts_like(struct fl_str got, struct fl_str want)
{
	struct fl_str a, b;

	while (fl_str_split(&want, '\n', &b)) {
		int64_t star = fl_str_find(b, '*');

		if (!fl_str_split(&got, '\n', &a))
			return false;
		if (star < 0 ? !fl_str_eq(a, b) :
			       !fl_str_starts(a, fl_str_sub(b, 0, (uint32_t)star)) ||
				       !fl_str_ends(a, fl_str_sub(b, (uint32_t)star + 1, b.len)))
			return false;
	}
	return !got.p;
}
