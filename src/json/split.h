/* split.h - cut the bytes of a list or of a watch into single objects, without reading the whole.
 *
 *     fl_split_push(&s, chunk);
 *     while ((r = fl_split_next(&s, &item, err)) > 0)
 *             bind(item);
 *
 * Bytes come in chunks of any size. An object that lies in one chunk is handed out where it lies; only one that crosses
 * chunks is copied, so memory is bounded by one object. The splitter finds where objects end; their reader checks
 * whether they are JSON.
 *
 * A list is {"kind":..., "metadata":{...}, "items":[{...},{...}]}. What stands around the items is kept (at most
 * FL_SPLIT_AROUND_MAX) and read by fl_split_list, wherever the metadata stands. A reply that is no list, such as a
 * Status, has no items and stands around them whole. A stream is objects one after another, blanks and line ends
 * between them or not.
 */
#pragma once
#include "base/buf.h"
#include "json/json.h"

/* The bytes around a list's items: kind, metadata, a continue token of some hundred bytes; a Status with its causes. */
#define FL_SPLIT_AROUND_MAX (64 * FL_KIB)
/* What a waiting watch keeps of its buffer: most objects are smaller. */
#define FL_SPLIT_KEEP (16 * FL_KIB)

enum fl_split_kind { FL_SPLIT_LIST, FL_SPLIT_STREAM };

struct fl_split {
	enum fl_split_kind kind;
	size_t item_max;
	struct fl_str rest;      /* of the chunk: not looked at yet */
	struct fl_buf held;      /* the part of an object that came with earlier chunks */
	struct fl_buf around;    /* of a list: everything but the items */
	uint64_t items;          /* handed out so far */
	uint64_t seen;           /* bytes looked at so far */
	uint64_t in_text;        /* all ones: within a text; else 0 */
	uint32_t depth;          /* brackets open, within an object or around the items */
	uint8_t at;              /* what is expected next; private to split.c */
	bool escaped;            /* a backslash came last */
	bool had_items, done_with_held;
	int failed;              /* a failure sticks */
};

/* item_max 0: FL_JSON_ITEM_MAX. Allocates nothing. */
void fl_split_init(struct fl_split *split, enum fl_split_kind kind, size_t item_max);
void fl_split_free(struct fl_split *split);

/* More bytes. They must stay where they are until fl_split_next has returned 0, and only then may more come. */
void fl_split_push(struct fl_split *split, struct fl_str chunk);

/* 1: *ret_item is a whole object, borrowed until the next call of anything here. 0: it takes more bytes. FL_E_INVALID,
 * FL_E_TOOBIG and FL_E_NOMEM stick: where the next object begins is not known any more. */
int fl_split_next(struct fl_split *split, struct fl_str *ret_item, struct fl_err *err) FL_MUSTUSE;

/* After the last byte: is it all there? FL_E_CLOSED when it ends in the middle. */
int fl_split_end(const struct fl_split *split, struct fl_err *err) FL_MUSTUSE;

/* The metadata of a list. */
struct fl_list {
	struct fl_str api_version, kind, resource_version;
	struct fl_str resume;       /* metadata.continue: empty on the last page */
	int64_t remaining;          /* metadata.remainingItemCount; -1: not said */
};

/* After the last byte (FL_E_CLOSED: it was not). The texts live until the space's reset; the list without its items is
 * in *ret_doc too (NULL: not wanted), to read a Status from. The space is needed. */
int fl_split_list(const struct fl_split *split, struct fl_json_space *space, struct fl_list *ret_list,
		  yyjson_doc **ret_doc, struct fl_err *err) FL_MUSTUSE;

static inline void fl_split_auto_(struct fl_split *split)
{
	fl_split_free(split);
}
