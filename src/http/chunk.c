#include "http/chunk.h"

struct fl_chunk *fl_chunk_new(struct fl_str bytes)
{
	struct fl_chunk *chunk = fl_alloc(sizeof *chunk + bytes.len);

	if (!chunk)
		return NULL;
	chunk->refs = 1;
	chunk->len = bytes.len;
	if (bytes.len)
		memcpy(chunk->bytes, bytes.p, bytes.len);
	return chunk;
}

void fl_chunk_free(struct fl_chunk *chunk)
{
	if (chunk && --chunk->refs == 0)
		fl_free(chunk);
}

static int make_room(struct fl_chunk_queue *queue)
{
	uint32_t cap = queue->cap ? queue->cap * 2 : 4;
	struct fl_chunk **at;

	if (queue->first + queue->len < queue->cap)
		return 0;
	if (queue->first > queue->cap / 2) {
		memmove(queue->at, queue->at + queue->first, queue->len * sizeof(struct fl_chunk *));
		queue->first = 0;
		return 0;
	}
	at = fl_realloc(queue->at, cap * sizeof *at);
	if (!at)
		return -FL_E_NOMEM;
	queue->at = at;
	queue->cap = cap;
	return 0;
}

int fl_chunk_push(struct fl_chunk_queue *queue, struct fl_chunk *chunk)
{
	if (!chunk->len)
		return 0;
	if (make_room(queue) < 0)
		return -FL_E_NOMEM;
	queue->at[queue->first + queue->len++] = fl_chunk_ref(chunk);
	queue->bytes += chunk->len;
	return 0;
}

size_t fl_chunk_pull(struct fl_chunk_queue *queue, void *room, size_t len)
{
	size_t done = 0;

	while (queue->len && done < len) {
		struct fl_chunk *chunk = queue->at[queue->first];
		size_t piece = chunk->len - queue->sent < len - done ? chunk->len - queue->sent : len - done;

		memcpy((char *)room + done, chunk->bytes + queue->sent, piece);
		done += piece;
		queue->sent += (uint32_t)piece;
		if (queue->sent < chunk->len)
			break;
		fl_chunk_free(chunk);
		queue->first++;
		queue->len--;
		queue->sent = 0;
	}
	queue->bytes -= done;
	if (!queue->len)
		fl_chunk_clear(queue);
	return done;
}

void fl_chunk_clear(struct fl_chunk_queue *queue)
{
	for (uint32_t i = 0; i < queue->len; i++)
		fl_chunk_free(queue->at[queue->first + i]);
	fl_free(queue->at);
	*queue = (struct fl_chunk_queue){ 0 };
}
