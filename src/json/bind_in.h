/* bind_in.h - what the walkers share. Nobody else includes it.
 *
 * A walker is a recursion over tables: object -> rows -> elements -> value. Objects nest by value, so only lists and
 * maps can be deep, and those a decoder has cut at FL_BIND_DEPTH.
 */
#pragma once
#include "json/bind_walk.h"

/* Objects in lists in objects: the deepest kind (a Pod template's parts are RAW) has 8. */
#define FL_BIND_DEPTH 32
/* A path, or one scalar as text: field names are short, and a label key takes 317 bytes. */
#define FL_BIND_PATH (1 * FL_KIB)

/* What all lists and maps are. Copied in and out, for the C types of the members differ. */
struct fl_seq {
	char *at;
	uint32_t len;
};

static inline struct fl_seq fl_seq_get(const void *member)
{
	struct fl_seq seq;

	memcpy(&seq.at, member, sizeof seq.at);
	memcpy(&seq.len, (const char *)member + sizeof seq.at, sizeof seq.len);
	return seq;
}

static inline void fl_seq_set(void *member, struct fl_seq seq)
{
	memcpy(member, &seq.at, sizeof seq.at);
	memcpy((char *)member + sizeof seq.at, &seq.len, sizeof seq.len);
}

/* Elements of a map begin with their key. */
static inline uint32_t fl_value_offset(const struct fl_field *f)
{
	return f->shape == FL_MAP ? (uint32_t)sizeof(struct fl_str) : 0;
}

static inline uint32_t fl_stride(const struct fl_field *f)
{
	return f->shape == FL_MAP ? (uint32_t)(sizeof(struct fl_str) + f->size + 7) / 8 * 8 : f->size;
}

static inline void *fl_elem(const struct fl_field *f, struct fl_seq seq, uint32_t i)
{
	return seq.at + (size_t)i * fl_stride(f) + fl_value_offset(f);
}

static inline struct fl_str fl_elem_key(const struct fl_field *f, struct fl_seq seq, uint32_t i)
{
	struct fl_str key;

	memcpy(&key, seq.at + (size_t)i * fl_stride(f), sizeof key);
	return key;
}

/* How many bytes of the struct the row's member takes. */
static inline size_t fl_member_size(const struct fl_field *f)
{
	return f->shape == FL_ONE ? f->size : sizeof(struct fl_seq);
}

static inline uint64_t fl_bits(const void *object)
{
	uint64_t bits;

	memcpy(&bits, object, sizeof bits);
	return bits;
}

static inline bool fl_has(const struct fl_bind *bind, const void *object, const struct fl_field *f)
{
	return fl_bits(object) >> (f - bind->fields) & 1;
}

static inline void fl_has_set(const struct fl_bind *bind, void *object, const struct fl_field *f, bool is)
{
	uint64_t bits = fl_bits(object), bit = (uint64_t)1 << (f - bind->fields);

	bits = is ? bits | bit : bits & ~bit;
	memcpy(object, &bits, sizeof bits);
}

/* The first of the rows that these bits stand for. */
static inline const struct fl_field *fl_first_row(const struct fl_bind *bind, uint64_t bits)
{
	return &bind->fields[__builtin_ctzll(bits)];
}

static inline void *fl_member(const struct fl_field *f, const void *object)
{
	return (char *)(uintptr_t)object + f->offset;
}

#define fl_each_field(f, bind) for (const struct fl_field *f = (bind)->fields; f < (bind)->fields + (bind)->len; f++)

/* Cut what was appended after `len`. */
static inline void fl_buf_cut(struct fl_buf *buf, size_t len)
{
	buf->len = len;
	if (buf->p)
		buf->p[len] = '\0';
}

/* One value, not a list or map. -1, 0, 1; 0 exactly when equal. */
int fl_value_cmp(const struct fl_field *f, const void *a, const void *b);

/* From and to text: as in JSON without the quotes. From: texts are borrowed; false: it is no such value. Not for RAW
 * and OBJ. */
bool fl_value_read(const struct fl_field *f, struct fl_str text, void *ret);
void fl_value_print(const struct fl_field *f, const void *value, struct fl_buf *buf);

/* Put a zeroed member on its default. */
void fl_default(const struct fl_field *f, void *member);

void fl_value_encode(const struct fl_field *f, const void *value, struct fl_jw *w);
void fl_members_encode(const struct fl_bind *bind, const void *object, struct fl_jw *w);
void fl_field_encode(const struct fl_field *f, const void *member, struct fl_jw *w);
bool fl_field_equal(const struct fl_field *f, const void *a, const void *b);

/* "a list", "an integer of 32 bits", "one of Card, MIG": what belongs there; of a list or map, what each element is. */
void fl_field_want(const struct fl_field *f, struct fl_buf *buf);
void fl_value_want(const struct fl_field *f, struct fl_buf *buf);

/* What it may be, in short: "1 to 64, default 1, immutable"; nothing when it may be anything. */
void fl_field_bounds(const struct fl_field *f, struct fl_buf *buf);

/* "integer", "[]string", "map[string]quantity" */
void fl_field_type(const struct fl_field *f, struct fl_buf *buf);

/* The row that bears this column's name; its path, ".status.capacity.total", is appended. NULL: none. */
const struct fl_field *fl_column_find(const struct fl_bind *bind, const char *name, struct fl_buf *path);

/* ---- list-maps ---- */

/* The fields that make the key, one a call; start with *at = 0. NULL at the end. */
const struct fl_field *fl_key_next(const struct fl_field *list, uint32_t *at);
bool fl_keys_equal(const struct fl_field *list, const void *a, const void *b);

/* "[type=Ready]", "[name=x,port=1]" */
void fl_keys_print(const struct fl_field *list, const void *element, struct fl_buf *buf);

/* The element with the same keys or, of a set, the same value; -1 */
int64_t fl_elem_find(const struct fl_field *f, struct fl_seq in, const void *like);

/* ---- where a walker is, for messages ---- */
struct fl_step {
	const struct fl_step *up;
	struct fl_str name;                 /* of a field; or a map's key */
	const struct fl_field *list;        /* `element` of this list-map */
	const void *element;
	uint32_t index;
	enum { FL_STEP_FIELD, FL_STEP_INDEX, FL_STEP_KEY, FL_STEP_ELEMENT } kind;
};
void fl_step_print(const struct fl_step *step, struct fl_buf *buf);

/* A path in the arena; .p is NULL when refused. */
struct fl_str fl_step_path(const struct fl_step *step, struct fl_arena *arena);

/* At most `max` bytes of it, no character cut in two. */
struct fl_str fl_text_cut(struct fl_str text, uint32_t max);

/* Note a fault; ones beyond FL_FAULTS_MAX are dropped. 0 or -FL_E_NOMEM. */
int fl_fault_add(struct fl_arena *arena, struct fl_fault_list *faults, const struct fl_step *step, struct fl_str found,
		 struct fl_str want);

/* fl_diff for what is to be written: the order of list-maps and sets does not count, nor what apply stamps. */
int fl_diff_ours(const struct fl_bind *bind, const void *want, const void *have, struct fl_arena *arena,
		 struct fl_str_list *ret_paths, struct fl_err *err) FL_MUSTUSE;
