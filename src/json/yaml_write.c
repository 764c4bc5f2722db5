#include "json/time.h"
#include "base/chars.h"
#include "json/write.h"
#include "json/yaml.h"
#include "json/yaml_word.h"
#include <stdlib.h>
#include <yaml.h>

struct writer {
	yaml_emitter_t emitter;
	struct fl_buf *buf;
	unsigned flags;
};

static int take_bytes(void *data, unsigned char *bytes, size_t len)
{
	struct fl_buf *buf = data;

	fl_buf_put(buf, bytes, len);
	return buf->failed == FL_OK;
}

static int emit(struct writer *w, yaml_event_t *event, int ready)
{
	return ready && yaml_emitter_emit(&w->emitter, event) ? 0 : -FL_E_NOMEM;
}

static int put_scalar(struct writer *w, struct fl_str s, yaml_scalar_style_t style)
{
	yaml_event_t event;

	return emit(w, &event, yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)(s.len ? s.p : ""),
							    (int)s.len, 1, 1, style));
}

/* Plain only where every reader takes it for a text: Go's own (1.1), and those that know base 60 or YAML 1.2. */
static int put_text(struct writer *w, struct fl_str s)
{
	struct fl_word_value value;

	if (fl_str_find(s, '\n') >= 0)
		return put_scalar(w, s, YAML_LITERAL_SCALAR_STYLE);
	if (fl_word(s, &value) != FL_WORD_TEXT || fl_time_is_yaml(s) || fl_word_is_base60(s))
		return put_scalar(w, s, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
	return put_scalar(w, s, YAML_PLAIN_SCALAR_STYLE);
}

static int put_number(struct writer *w, yyjson_val *val)
{
	char text[FL_DOUBLE_TEXT];
	int len;

	if (yyjson_is_real(val))
		len = (int)fl_double_g(unsafe_yyjson_get_real(val), text);
	else if (yyjson_is_sint(val))
		len = snprintf(text, sizeof text, "%lld", (long long)unsafe_yyjson_get_sint(val));
	else
		len = snprintf(text, sizeof text, "%llu", (unsigned long long)unsafe_yyjson_get_uint(val));
	return put_scalar(w, (struct fl_str){ text, (uint32_t)len }, YAML_PLAIN_SCALAR_STYLE);
}

/* ---- the order of names ---- */

static bool is_letter(char c)
{
	return fl_is_letter(c) || (unsigned char)c >= 0x80;
}

static struct fl_str name_of(yyjson_val *key)
{
	return (struct fl_str){ unsafe_yyjson_get_str(key), (uint32_t)unsafe_yyjson_get_len(key) };
}

/* The digits at `at`, zeros before them left out, and where they end. */
static struct fl_str number_at(struct fl_str s, uint32_t at, uint32_t *ret_end)
{
	uint32_t from = at, end = at;

	while (end < s.len && fl_is_digit(s.p[end]))
		end++;
	while (from < end && s.p[from] == '0')
		from++;
	*ret_end = end;
	return fl_str_sub(s, from, end - from);
}

static int by_length(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/* kubectl's order: numbers by value (b9 before b10), what is no letter before letters, else by bytes. Go's own
 * comparison is not transitive (12, 1a, 2 go round in a circle); where that shows, this one stays an order. */
static int by_name(const void *pa, const void *pb)
{
	struct fl_str a = name_of(*(yyjson_val *const *)pa), b = name_of(*(yyjson_val *const *)pb);
	uint32_t i = 0, k = 0;

	while (i < a.len && k < b.len) {
		if (fl_is_digit(a.p[i]) && fl_is_digit(b.p[k])) {
			uint32_t end_a, end_b;
			struct fl_str na = number_at(a, i, &end_a), nb = number_at(b, k, &end_b);
			int order = by_length(na.len, nb.len);

			order = order ? order : fl_str_cmp(na, nb);
			order = order ? order : by_length(end_a - i, end_b - k);
			if (order)
				return order;
			i = end_a;
			k = end_b;
		} else if (a.p[i] != b.p[k]) {
			int class_a = is_letter(a.p[i]) ? 2 : fl_is_digit(a.p[i]),
			    class_b = is_letter(b.p[k]) ? 2 : fl_is_digit(b.p[k]);

			if (class_a != class_b)
				return class_a - class_b;
			return (unsigned char)a.p[i] < (unsigned char)b.p[k] ? -1 : 1;
		} else {
			i++;
			k++;
		}
	}
	return by_length(a.len - i, b.len - k);
}

/* ---- values ---- */

static int put_value(struct writer *w, yyjson_val *val, unsigned depth);

static int put_object(struct writer *w, yyjson_val *val, unsigned depth)
{
	FL_AUTO(fl_mem) yyjson_val **keys = fl_alloc(unsafe_yyjson_get_len(val) * sizeof *keys);
	yyjson_obj_iter iter = yyjson_obj_iter_with(val);
	yyjson_val *key;
	yaml_event_t event;
	size_t len = 0;
	int r = keys ? 0 : -FL_E_NOMEM;

	while (r == 0 && (key = yyjson_obj_iter_next(&iter)) != NULL)
		keys[len++] = key;
	if (r == 0 && w->flags & FL_YAML_SORT)
		qsort(keys, len, sizeof *keys, by_name);
	if (r == 0)
		r = emit(w, &event,
			 yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
	for (size_t i = 0; r == 0 && i < len; i++) {
		r = put_text(w, name_of(keys[i]));
		if (r == 0)
			r = put_value(w, yyjson_obj_iter_get_val(keys[i]), depth + 1);
	}
	return r < 0 ? r : emit(w, &event, yaml_mapping_end_event_initialize(&event));
}

static int put_list(struct writer *w, yyjson_val *val, unsigned depth)
{
	yyjson_arr_iter iter = yyjson_arr_iter_with(val);
	yaml_event_t event;
	yyjson_val *item;
	int r = emit(w, &event, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));

	while (r == 0 && (item = yyjson_arr_iter_next(&iter)) != NULL)
		r = put_value(w, item, depth + 1);
	return r < 0 ? r : emit(w, &event, yaml_sequence_end_event_initialize(&event));
}

static int put_value(struct writer *w, yyjson_val *val, unsigned depth)
{
	if (depth > FL_JSON_DEPTH)
		return -FL_E_TOOBIG;
	switch (yyjson_get_type(val)) {
	case YYJSON_TYPE_OBJ:
		return put_object(w, val, depth);
	case YYJSON_TYPE_ARR:
		return put_list(w, val, depth);
	case YYJSON_TYPE_STR:
		return put_text(w, name_of(val));
	case YYJSON_TYPE_NUM:
		return put_number(w, val);
	case YYJSON_TYPE_BOOL:
		return put_scalar(w, unsafe_yyjson_get_bool(val) ? FL_S("true") : FL_S("false"),
				  YAML_PLAIN_SCALAR_STYLE);
	}
	return put_scalar(w, FL_S("null"), YAML_PLAIN_SCALAR_STYLE);
}

static int put_document(struct writer *w, yyjson_val *val)
{
	yaml_event_t event;
	int r = emit(w, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));

	if (r == 0)
		r = emit(w, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	if (r == 0)
		r = put_value(w, val, 0);
	if (r == 0)
		r = emit(w, &event, yaml_document_end_event_initialize(&event, 1));
	/* After a text that keeps its line ends, libyaml would end the stream with "..."; kubectl does not. */
	w->emitter.open_ended = 0;
	if (r == 0)
		r = emit(w, &event, yaml_stream_end_event_initialize(&event));
	return r;
}

int fl_yaml_put(struct fl_buf *buf, yyjson_val *val, unsigned flags, struct fl_err *err)
{
	struct writer w = { .buf = buf, .flags = flags };
	int r;

	if (!yaml_emitter_initialize(&w.emitter))
		return fl_fail(err, FL_E_NOMEM, "YAML: out of memory");
	yaml_emitter_set_output(&w.emitter, take_bytes, buf);
	yaml_emitter_set_unicode(&w.emitter, 1);
	r = put_document(&w, val);
	yaml_emitter_delete(&w.emitter);
	if (buf->failed)
		return fl_buf_check(buf, "YAML", err);
	if (r == -FL_E_TOOBIG)
		return fl_fail(err, FL_E_TOOBIG, "YAML: values are nested deeper than %d levels", FL_JSON_DEPTH);
	return r < 0 ? fl_fail(err, FL_E_NOMEM, "YAML: out of memory") : 0;
}
