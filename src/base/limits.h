/* limits.h - every ceiling of the program, each with its reason. */
#pragma once

#define FL_KIB 1024ull
#define FL_MIB (1024ull * FL_KIB)

/* Memory of one request or parse; the largest thing in one arena is a decoded list item or a YAML stream. */
#define FL_ARENA_MAX (64 * FL_MIB)
#define FL_ARENA_BLOCK_FIRST (4 * FL_KIB)   /* one page: most requests need no second block */
#define FL_ARENA_BLOCK_LAST (256 * FL_KIB)  /* growth stops here: waste stays below a quarter MiB */

#define FL_NS_PER_MS 1000000ull
#define FL_NS_PER_S 1000000000ull

/* ---- json ---- */

/* One whole document at a time: a 20 MB list that a person's command reads. A document costs up to 16 times its text. */
#define FL_JSON_MAX (32 * FL_MIB)
/* Go stops at 10,000, but nothing real comes near 100, and yyjson's patches and comparison recurse: this many of their
 * frames fit into a small stack. */
#define FL_JSON_DEPTH 1000
/* What a parser's memory keeps between documents: an object of 60 KB is parsed without an allocation. */
#define FL_JSON_SPACE_KEEP (256 * FL_KIB)
/* One object of a list or watch: the API server takes requests up to 3 MiB, etcd half of that. */
#define FL_JSON_ITEM_MAX (4 * FL_MIB)
/* What stands around a list's items: kind, metadata, a continue token of some hundred bytes; a Status with its causes. */
#define FL_SPLIT_AROUND_MAX (64 * FL_KIB)
/* What a waiting watch keeps of its buffer: most objects are smaller. */
#define FL_SPLIT_KEEP (16 * FL_KIB)
