#include "json/yaml.h"
#include "base/base64.h"
#include "base/vec.h"
#include "json/split.h"
#include "json/time.h"
#include "json/write.h"
#include "json/yaml_word.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#define TAG "tag:yaml.org,2002:"

/* A value that is being written: a list, or a mapping. */
struct frame {
	bool is_map, has_key;       /* has_key: the name is written, its value comes next */
	uint32_t first_key;         /* a mapping's names begin here in .keys */
	int64_t anchor;             /* in .anchors, or -1 */
};

/* A name in an open mapping: where it stands in the JSON, quotes included. */
struct key {
	size_t from, len;
	uint32_t line;
};

/* A value that an alias may ask for again: where it stands in the JSON. */
struct anchor {
	char *name;
	size_t from, to;            /* to 0: not finished */
	uint32_t height;            /* how deep it is nested */
};

struct fl_yaml {
	struct fl_str text;
	struct fl_split split;      /* JSON objects */
	yaml_parser_t parser;
	bool is_json, has_parser;
	uint32_t line;
	struct frame frame[FL_YAML_DEPTH];
	uint32_t depth;
	uint32_t height[FL_YAML_DEPTH + 1];   /* of what is finished within each open value */
	struct fl_jw w;
	size_t aliased;
	FL_VEC(struct key) keys;
	FL_VEC(struct anchor) anchors;
};

static uint32_t line_of(yaml_mark_t mark)
{
	return (uint32_t)mark.line + 1;
}

#define REFUSE(event, ...) refuse(line_of((event)->start_mark), err, __VA_ARGS__)
FL_PRINTF(3, 4)
static int refuse(uint32_t line, struct fl_err *err, const char *fmt, ...)
{
	char text[FL_ERR_TEXT];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return fl_fail(err, FL_E_INVALID, "line %u: %s", line, text);
}

static int yaml_no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "YAML: out of memory");
}

/* ---- values ---- */

/* What a scalar stands for, its tag considered. */
struct scalar {
	enum fl_word word;
	struct fl_word_value value;
	struct fl_str text;
	bool is_binary;
};

static int read_scalar(const yaml_event_t *event, struct scalar *s, struct fl_err *err)
{
	static const struct {
		const char *tag;
		unsigned words;
	} tags[] = {
		{ TAG "null", 1u << FL_WORD_NULL },
		{ TAG "bool", 1u << FL_WORD_BOOL },
		{ TAG "int", 1u << FL_WORD_INT | 1u << FL_WORD_UINT },
		{ TAG "float", 1u << FL_WORD_FLOAT | 1u << FL_WORD_INT },
	};
	const char *tag = (const char *)event->data.scalar.tag;

	s->text = (struct fl_str){ (const char *)event->data.scalar.value, (uint32_t)event->data.scalar.length };
	s->word = FL_WORD_TEXT;
	s->is_binary = tag && strcmp(tag, TAG "binary") == 0;
	if (!tag && event->data.scalar.plain_implicit)
		s->word = fl_word(s->text, &s->value);
	if (tag && strcmp(tag, TAG "timestamp") == 0 && !fl_time_is_yaml(s->text))
		return REFUSE(event, "'%.*s' is no time", FL_ARG(s->text));
	for (size_t i = 0; tag && i < FL_LEN(tags); i++) {
		if (strcmp(tag, tags[i].tag) != 0)
			continue;
		s->word = fl_word(s->text, &s->value);
		if (!(tags[i].words >> s->word & 1))
			return REFUSE(event, "'%.*s' is no %s", FL_ARG(s->text), tag + strlen(TAG));
		if (i == 3 && s->word == FL_WORD_INT) {
			s->word = FL_WORD_FLOAT;
			s->value.f = (double)s->value.i;
		}
	}
	return 0;
}

static int put_binary(struct fl_yaml *y, const yaml_event_t *event, struct fl_str text, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf bytes = FL_BUF(text.len);

	if (fl_base64_get(&bytes, FL_BASE64_STD, text, NULL) < 0)
		return bytes.failed == FL_E_NOMEM ? yaml_no_memory(err)
						  : REFUSE(event, "a value tagged !!binary is not base64");
	if (!fl_str_utf8(fl_buf_view(&bytes)))
		return REFUSE(event,
			      "a value tagged !!binary is no text; JSON has no bytes, write base64 without the tag");
	fl_jw_str(&y->w, fl_buf_view(&bytes));
	return 0;
}

static int put_scalar(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	struct scalar s;
	int r = read_scalar(event, &s, err);

	if (r < 0)
		return r;
	if (s.is_binary)
		return put_binary(y, event, s.text, err);
	switch (s.word) {
	case FL_WORD_NULL:
		fl_jw_null(&y->w);
		break;
	case FL_WORD_BOOL:
		fl_jw_bool(&y->w, s.value.truth);
		break;
	case FL_WORD_INT:
		fl_jw_i64(&y->w, s.value.i);
		break;
	case FL_WORD_UINT:
		fl_jw_u64(&y->w, s.value.u);
		break;
	case FL_WORD_FLOAT:
		if (!isfinite(s.value.f))
			return REFUSE(event, "'%.*s' has no place in JSON; quote it if it is a text", FL_ARG(s.text));
		fl_jw_double(&y->w, s.value.f);
		break;
	case FL_WORD_TEXT:
	case FL_WORD_MERGE:
		fl_jw_str(&y->w, s.text);
		break;
	}
	return 0;
}

/* ---- names ---- */

static int put_key(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	struct frame *frame = &y->frame[y->depth - 1];
	struct key key = { .from = y->w.buf->len + y->w.comma, .line = line_of(event->start_mark) };
	char text[FL_DOUBLE_TEXT];
	struct scalar s;
	int r = read_scalar(event, &s, err);

	if (r < 0)
		return r;
	if (event->data.scalar.anchor)
		return REFUSE(event, "an anchor on a name is not supported; put it on the value");
	if (s.word == FL_WORD_MERGE)
		return REFUSE(event, "merge keys (<<) are not supported; write the fields out");
	if (s.word == FL_WORD_NULL)
		return REFUSE(event, "a name is missing here; an empty or null name goes into double quotes");
	if (s.word == FL_WORD_UINT || s.is_binary)
		return REFUSE(event, "'%.*s' as a name needs double quotes", FL_ARG(s.text));
	if (s.word == FL_WORD_BOOL)
		s.text = s.value.truth ? FL_S("true") : FL_S("false");
	else if (s.word == FL_WORD_INT)
		s.text = (struct fl_str){ text, (uint32_t)snprintf(text, sizeof text, "%lld", (long long)s.value.i) };
	else if (s.word == FL_WORD_FLOAT)
		s.text = (struct fl_str){ text, fl_float_g((float)s.value.f, text) };
	fl_jw_key(&y->w, s.text);
	frame->has_key = true;
	key.len = y->w.buf->len - 1 - key.from;
	return y->w.buf->failed ? 0 : fl_vec_push(&y->keys, key) < 0 ? yaml_no_memory(err) : 0;
}

static int by_key(const void *pa, const void *pb, void *json)
{
	const struct key *a = pa, *b = pb;
	const char *p = json;
	int order = memcmp(p + a->from, p + b->from, a->len < b->len ? a->len : b->len);

	if (order == 0)
		order = (a->len > b->len) - (a->len < b->len);
	return order ? order : (a->from > b->from) - (a->from < b->from);
}

static int check_keys(struct fl_yaml *y, const struct frame *frame, struct fl_err *err)
{
	uint32_t len = y->keys.len - frame->first_key;
	const char *json = y->w.buf->p;
	struct key *key;

	y->keys.len = frame->first_key;
	if (y->w.buf->failed || len < 2)
		return 0;
	key = y->keys.at + frame->first_key;
	qsort_r(key, len, sizeof *key, by_key, (void *)(uintptr_t)json);
	for (uint32_t i = 1; i < len; i++)
		if (key[i].len == key[i - 1].len && memcmp(json + key[i].from, json + key[i - 1].from, key[i].len) == 0)
			return refuse(key[i].line, err, "%.*s stands here again, after line %u; remove one",
				      (int)(key[i].len < 80 ? key[i].len : 80), json + key[i].from, key[i - 1].line);
	return 0;
}

/* ---- anchors and aliases ---- */

static int add_anchor(struct fl_yaml *y, const yaml_char_t *name, int64_t *ret, struct fl_err *err)
{
	struct anchor anchor = { .from = y->w.buf->len + y->w.comma };

	*ret = -1;
	if (!name)
		return 0;
	anchor.name = fl_strdup(fl_str((const char *)name));
	if (!anchor.name)
		return yaml_no_memory(err);
	if (fl_vec_push(&y->anchors, anchor) < 0) {
		fl_free(anchor.name);
		return yaml_no_memory(err);
	}
	*ret = (int64_t)y->anchors.len - 1;
	return 0;
}

static void end_anchor(struct fl_yaml *y, int64_t anchor, uint32_t height)
{
	if (anchor < 0)
		return;
	y->anchors.at[anchor].to = y->w.buf->len;
	y->anchors.at[anchor].height = height;
}

static int put_alias(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct anchor *anchor = NULL;
	size_t len;
	char *room;

	for (uint32_t i = y->anchors.len; i > 0 && !anchor; i--)
		if (strcmp(y->anchors.at[i - 1].name, name) == 0)
			anchor = &y->anchors.at[i - 1];
	if (!anchor)
		return REFUSE(event, "nothing before this is named &%s", name);
	if (anchor->to == 0)
		return REFUSE(event, "*%s would contain itself", name);
	if (y->depth + anchor->height > FL_YAML_DEPTH)
		return REFUSE(event, "values are nested deeper than %d levels", FL_YAML_DEPTH);
	len = anchor->to - anchor->from;
	y->aliased += len;
	if (y->aliased > FL_YAML_ALIAS_MAX)
		return REFUSE(event, "aliases add more than %llu bytes; write the values out", FL_YAML_ALIAS_MAX);
	/* The value is copied within the buffer, which may move: first the room, then the place. */
	fl_jw_raw(&y->w, FL_S(""));
	room = fl_buf_room(y->w.buf, len);
	if (room) {
		memcpy(room, y->w.buf->p + anchor->from, len);
		fl_buf_added(y->w.buf, len);
	}
	if (y->height[y->depth] < anchor->height)
		y->height[y->depth] = anchor->height;
	return 0;
}

static void forget_anchors(struct fl_yaml *y)
{
	fl_vec_each (anchor, &y->anchors)
		fl_free(anchor->name);
	fl_vec_free(&y->anchors);
}

/* ---- events ---- */

static int begin(struct fl_yaml *y, const yaml_event_t *event, bool is_map, struct fl_err *err)
{
	struct frame frame = { .is_map = is_map, .first_key = y->keys.len };
	int r;

	if (y->depth && y->frame[y->depth - 1].is_map && !y->frame[y->depth - 1].has_key)
		return REFUSE(event, "a list or mapping cannot be a name");
	if (y->depth == FL_YAML_DEPTH)
		return REFUSE(event, "values are nested deeper than %d levels", FL_YAML_DEPTH);
	r = add_anchor(y, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor, &frame.anchor,
		       err);
	if (r < 0)
		return r;
	y->frame[y->depth++] = frame;
	y->height[y->depth] = 0;
	if (is_map)
		fl_jw_obj(&y->w);
	else
		fl_jw_arr(&y->w);
	return 0;
}

/* A value is whole: what contains it goes on. */
static void done(struct fl_yaml *y)
{
	if (y->depth)
		y->frame[y->depth - 1].has_key = false;
}

static int end(struct fl_yaml *y, struct fl_err *err)
{
	struct frame frame = y->frame[y->depth - 1];
	uint32_t height = y->height[y->depth] + 1;
	int r = frame.is_map ? check_keys(y, &frame, err) : 0;

	if (r < 0)
		return r;
	y->depth--;
	if (frame.is_map)
		fl_jw_end_obj(&y->w);
	else
		fl_jw_end_arr(&y->w);
	end_anchor(y, frame.anchor, height);
	if (y->height[y->depth] < height)
		y->height[y->depth] = height;
	done(y);
	return 0;
}

static int scalar(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	int64_t anchor;
	int r;

	if (y->depth && y->frame[y->depth - 1].is_map && !y->frame[y->depth - 1].has_key)
		return put_key(y, event, err);
	r = add_anchor(y, event->data.scalar.anchor, &anchor, err);
	if (r == 0)
		r = put_scalar(y, event, err);
	if (r < 0)
		return r;
	end_anchor(y, anchor, 0);
	done(y);
	return 0;
}

static int alias(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	int r;

	if (y->depth && y->frame[y->depth - 1].is_map && !y->frame[y->depth - 1].has_key)
		return REFUSE(event, "an alias as a name is not supported; write the name");
	r = put_alias(y, event, err);
	if (r == 0)
		done(y);
	return r;
}

static int take_event(struct fl_yaml *y, const yaml_event_t *event, struct fl_err *err)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return scalar(y, event, err);
	case YAML_ALIAS_EVENT:
		return alias(y, event, err);
	case YAML_SEQUENCE_START_EVENT:
		return begin(y, event, false, err);
	case YAML_MAPPING_START_EVENT:
		return begin(y, event, true, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return end(y, err);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int refuse_syntax(const yaml_parser_t *parser, struct fl_err *err)
{
	static const char *const hints[][2] = {
		{ "cannot start any token",
		  "indent with blanks, not tabs, and quote a text that begins with @ ` or %" },
		{ "mapping values are not allowed", "quote a text that contains ': ', and look at the indentation" },
		{ "did not find expected key", "look at the indentation of this line and of those before it" },
		{ "could not find expected ':'", "a name ends with a colon and a blank" },
		{ "did not find expected '-' indicator", "the items of a list begin in one column" },
	};
	const char *problem = parser->problem ? parser->problem : "cannot be read", *hint = "";

	if (parser->error == YAML_MEMORY_ERROR)
		return yaml_no_memory(err);
	for (size_t i = 0; i < FL_LEN(hints); i++)
		if (strstr(problem, hints[i][0]))
			hint = hints[i][1];
	return refuse(line_of(parser->problem_mark), err, "%s%s%s%s%s", parser->context ? parser->context : "",
		      parser->context ? ", " : "", problem, hint[0] ? "; " : "", hint);
}

/* Is it the value of a document in which nothing stands? */
static bool is_nothing(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 &&
	       event->data.scalar.plain_implicit && !event->data.scalar.anchor;
}

/* One event; 1: a document has ended, 2: the stream has. */
static int step(struct fl_yaml *y, bool *nothing, struct fl_err *err)
{
	yaml_event_t event;
	int r;

	if (!yaml_parser_parse(&y->parser, &event))
		return refuse_syntax(&y->parser, err);
	if (event.type == YAML_DOCUMENT_START_EVENT) {
		y->line = line_of(event.start_mark);
		*nothing = false;
	}
	if (y->depth == 0 && is_nothing(&event))
		*nothing = true;
	r = take_event(y, &event, err);
	if (r == 0)
		r = event.type == YAML_DOCUMENT_END_EVENT ? 1 : event.type == YAML_STREAM_END_EVENT ? 2 : 0;
	yaml_event_delete(&event);
	if (r == 0 && y->w.buf->failed)
		r = fl_buf_check(y->w.buf, "YAML", err);
	return r;
}

static int next_yaml(struct fl_yaml *y, struct fl_buf *json, struct fl_err *err)
{
	size_t before = json->len;
	bool nothing = false;
	int r;

	do {
		json->len = before;
		y->w = FL_JW(json);
		y->depth = 0;
		y->height[0] = 0;
		y->aliased = 0;
		y->keys.len = 0;
		while ((r = step(y, &nothing, err)) == 0)
			;
		forget_anchors(y);
	} while (r == 1 && nothing);
	return r == 2 ? 0 : r;
}

static int next_json(struct fl_yaml *y, struct fl_buf *json, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_str item;
	uint32_t column;
	int r = fl_split_next(&y->split, &item, err);

	/* Cut off: of a single object the reader can say more. */
	if (r == 0 && fl_split_end(&y->split, NULL) < 0)
		return y->split.items ? fl_fail(err, FL_E_INVALID, "the last JSON object is cut off") :
					fl_json_read(NULL, y->text, FL_JSON_STRICT, &doc, err);
	if (r <= 0)
		return r;
	fl_json_where(y->text, (size_t)(item.p - y->text.p), &y->line, &column);
	r = fl_json_read(NULL, item, FL_JSON_STRICT, &doc, err);
	if (r < 0)
		return y->line == 1 ? r : fl_wrap(err, "in the JSON that begins on line %u", y->line);
	fl_buf_str(json, item);
	r = fl_buf_check(json, "JSON", err);
	return r < 0 ? r : 1;
}

int fl_yaml_next(struct fl_yaml *yaml, struct fl_buf *json, struct fl_err *err)
{
	size_t before = json->len;
	int r = yaml->is_json ? next_json(yaml, json, err) : next_yaml(yaml, json, err);

	if (r <= 0 && json->p) {
		json->len = before;
		json->p[before] = 0;
	}
	return r;
}

int fl_yaml_open(struct fl_str text, struct fl_yaml **ret_yaml, struct fl_err *err)
{
	struct fl_yaml *y;

	if (text.len > FL_YAML_MAX)
		return fl_fail(err, FL_E_TOOBIG, "YAML of %u bytes is over the limit of %llu", text.len, FL_YAML_MAX);
	y = fl_zalloc(sizeof *y);
	if (!y)
		return yaml_no_memory(err);
	y->text = text;
	y->line = 1;
	y->is_json = fl_str_starts(fl_str_trim(text), FL_S("{"));
	if (y->is_json) {
		fl_split_init(&y->split, FL_SPLIT_STREAM, FL_YAML_MAX);
		fl_split_push(&y->split, text);
	} else if (yaml_parser_initialize(&y->parser)) {
		y->has_parser = true;
		yaml_parser_set_input_string(&y->parser, (const unsigned char *)(text.len ? text.p : ""), text.len);
	} else {
		fl_free(y);
		return yaml_no_memory(err);
	}
	*ret_yaml = y;
	return 0;
}

struct fl_yaml *fl_yaml_close(struct fl_yaml *yaml)
{
	if (!yaml)
		return NULL;
	if (yaml->has_parser)
		yaml_parser_delete(&yaml->parser);
	fl_split_free(&yaml->split);
	forget_anchors(yaml);
	fl_vec_free(&yaml->keys);
	fl_free(yaml);
	return NULL;
}

uint32_t fl_yaml_line(const struct fl_yaml *yaml)
{
	return yaml->line;
}

int fl_yaml_read_any(struct fl_json_space *space, struct fl_str text, yyjson_doc **ret_doc, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_JSON_MAX);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_yaml_open(text, &yaml, err);

	if (r == 0)
		r = fl_yaml_next(yaml, &json, err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = fl_json_read(space, fl_buf_view(&json), FL_JSON_STRICT, &doc, err);
	if (r == 0)
		r = fl_yaml_next(yaml, &json, err);
	if (r > 0)
		return refuse(fl_yaml_line(yaml), err, "a second document begins; there should be one");
	if (r < 0)
		return r;
	*ret_doc = fl_steal(&doc);
	return 1;
}

int fl_yaml_read(struct fl_json_space *space, struct fl_str text, yyjson_doc **ret_doc, struct fl_err *err)
{
	int r = fl_yaml_read_any(space, text, ret_doc, err);

	return r ? r < 0 ? r : 0 : fl_fail(err, FL_E_INVALID, "line 1: nothing stands in this YAML");
}
