/* chunk.h - bytes to send to many readers: copied once, reference-counted, queued by pointer. */
#pragma once
#include "base/mem.h"
#include "base/str.h"

struct fl_chunk {
	uint32_t refs, len;
	char bytes[];
};

/* A copy with one reference; NULL: allocation failed. */
struct fl_chunk *fl_chunk_new(struct fl_str bytes) FL_MUSTUSE;
void fl_chunk_free(struct fl_chunk *chunk);   /* drops one reference; NULL-safe */

static inline struct fl_chunk *fl_chunk_ref(struct fl_chunk *chunk)
{
	chunk->refs++;
	return chunk;
}

/* The chunks that wait for one reader. A zeroed queue is empty; an empty one holds no memory. */
struct fl_chunk_queue {
	struct fl_chunk **at;
	uint32_t first, len, cap;
	uint32_t sent;             /* bytes of the first one already sent */
	size_t bytes;
};

int fl_chunk_push(struct fl_chunk_queue *queue, struct fl_chunk *chunk) FL_MUSTUSE;   /* takes its own reference */
size_t fl_chunk_pull(struct fl_chunk_queue *queue, void *room, size_t len);           /* returns bytes copied */
void fl_chunk_clear(struct fl_chunk_queue *queue);
