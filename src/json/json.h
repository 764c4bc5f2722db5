/* json.h - JSON read with yyjson, with limits, exact integers and errors that tell what to repair.
 *
 * A document is yyjson's (this header brings <yyjson.h>); look into it with yyjson's accessors and those below. Where
 * yyjson and Go's decoder, which the API server uses, differ:
 *
 *   a repeated key   Go takes the last, yyjson_obj_get the first. fl_json_get takes the last; so does a loop over the
 *                    object that overwrites. FL_JSON_STRICT refuses the document and names the path.
 *   integers         exact from INT64_MIN to UINT64_MAX; what is beyond is a double, and 1.0 and 1e3 are no integers,
 *                    as in Go.
 *   depth            FL_JSON_DEPTH, so code that walks a document may recurse.
 *   broken UTF-8     refused, and so are lone surrogates (Go replaces them).
 *
 * Documents that are read, bound and forgotten one after another share a struct fl_json_space: after the first few it
 * allocates nothing.
 */
#pragma once
#include "base/mem.h"
#include <yyjson.h>

/* One whole document at a time: a 20 MB list that a person's command reads. A document costs up to 16 times its
 * text. */
#define FL_JSON_MAX (32 * FL_MIB)
/* Go stops at 10,000, but nothing real comes near 100, and yyjson's patches and comparison recurse: this many of their
 * frames fit into a small stack. */
#define FL_JSON_DEPTH 1000
/* What a parser's memory keeps between documents: an object of 60 KB is parsed without an allocation. */
#define FL_JSON_SPACE_KEEP (256 * FL_KIB)
/* One object of a list or watch: the API server takes requests up to 3 MiB, etcd half of that. */
#define FL_JSON_ITEM_MAX (4 * FL_MIB)

#define FL_JSON_STRICT 1u   /* refuse a repeated key: for what a person wrote */

/* Memory for documents that live until the next reset. A zeroed space is valid and empty. */
struct fl_json_space {
	char *block;                     /* filled from the front */
	size_t size, used, last;         /* last: where the piece begins that may still grow in place */
	struct fl_json_spill *spills;    /* what did not fit; the next reset makes the block larger instead */
	size_t spilled, most;            /* bytes in those, now and at most since the reset */
	size_t max;                      /* refuse beyond; 0: no limit */
	bool full;                       /* something was refused for that */
};

void fl_json_space_reset(struct fl_json_space *space);   /* keeps at most FL_JSON_SPACE_KEEP */
void fl_json_space_free(struct fl_json_space *space);    /* empty again, and usable */

/* The allocator for yyjson: out of a space, or out of base/mem.h when space is NULL. */
yyjson_alc fl_json_alc(struct fl_json_space *space);

/* Read one whole document. The text is copied: it may go. The document lives until fl_json_doc_free or the space's
 * reset, whichever comes first. FL_E_INVALID: "line 3, column 14: ..."; FL_E_TOOBIG: over FL_JSON_MAX or FL_JSON_DEPTH.
 */
int fl_json_read(struct fl_json_space *space, struct fl_str text, unsigned flags, yyjson_doc **ret_doc,
		 struct fl_err *err) FL_MUSTUSE;

/* Look for repeated keys in a document that was read without FL_JSON_STRICT. FL_E_INVALID names the path. */
int fl_json_no_repeats(const yyjson_doc *doc, struct fl_err *err) FL_MUSTUSE;

/* The member of that name, the last one when it is repeated; NULL when there is none or `object` is no object. */
yyjson_val *fl_json_get(yyjson_val *object, struct fl_str key);

/* The value as text, as integer; false when it is anything else or does not fit (NULL is anything else). */
bool fl_json_str(const yyjson_val *val, struct fl_str *ret);
bool fl_json_i64(const yyjson_val *val, int64_t *ret);

/* What a value is, for messages: "a text", "an integer", "nothing" (NULL) ... */
const char *fl_json_kind(const yyjson_val *val);

/* Where in the document the value stands: "spec.containers[2].image", "" for the root. A name stands for its
 * value. Always terminated, cut from the right when it is too long. */
void fl_json_path(const yyjson_doc *doc, const yyjson_val *val, char *path, size_t size);

/* Line and column, from 1, in characters, of the byte at `pos`. */
void fl_json_where(struct fl_str text, size_t pos, uint32_t *ret_line, uint32_t *ret_column);

static inline void fl_json_doc_free(yyjson_doc *doc)
{
	yyjson_doc_free(doc);
}
static inline void fl_json_mut_free(yyjson_mut_doc *doc)
{
	yyjson_mut_doc_free(doc);
}
FL_DEFINE_AUTO(fl_json_doc, yyjson_doc *, fl_json_doc_free);
FL_DEFINE_AUTO(fl_json_mut, yyjson_mut_doc *, fl_json_mut_free);

static inline void fl_json_space_auto_(struct fl_json_space *space)
{
	fl_json_space_free(space);
}
