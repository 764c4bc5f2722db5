#include "local/store.h"
#include <assert.h>

struct fl_page {
	uint32_t len;
	struct fl_state *at[FL_PAGE_STATES];
};

/* ---- states ---- */

struct fl_state *fl_state_new(struct fl_str space, struct fl_str name, struct fl_str json)
{
	uint32_t key_len = space.len + (space.len ? 1 : 0) + name.len;
	struct fl_state *state;
	char *at;

	assert(key_len <= UINT16_MAX);
	state = fl_alloc(sizeof *state + key_len + json.len);
	if (!state)
		return NULL;
	*state = (struct fl_state){ .refs = 1, .len = json.len, .key_len = (uint16_t)key_len,
				    .space_len = (uint16_t)space.len };
	at = state->bytes;
	if (space.len) {
		memcpy(at, space.p, space.len);
		at += space.len;
		*at++ = '/';
	}
	if (name.len)
		memcpy(at, name.p, name.len);
	if (json.len)
		memcpy(state->bytes + key_len, json.p, json.len);
	return state;
}

void fl_state_drop(struct fl_state *state)
{
	if (state && --state->refs == 0)
		fl_free(state);
}

struct fl_str fl_state_key(const struct fl_state *state)
{
	return (struct fl_str){ state->bytes, state->key_len };
}

struct fl_str fl_state_space(const struct fl_state *state)
{
	return (struct fl_str){ state->bytes, state->space_len };
}

struct fl_str fl_state_name(const struct fl_state *state)
{
	return fl_str_sub(fl_state_key(state), state->space_len ? state->space_len + 1u : 0, UINT32_MAX);
}

struct fl_str fl_state_json(const struct fl_state *state)
{
	return (struct fl_str){ state->bytes + state->key_len, state->len };
}

/* ---- the index ---- */

void fl_ordered_free(struct fl_ordered *index)
{
	fl_vec_each (page, &index->pages) {
		for (uint32_t i = 0; i < (*page)->len; i++)
			fl_state_drop((*page)->at[i]);
		fl_free(*page);
	}
	fl_vec_free(&index->pages);
	index->len = 0;
}

/* The place of the first key that is not before `key`; at the end of a page only where it is the last one. */
struct fl_spot fl_ordered_from(const struct fl_ordered *index, struct fl_str key)
{
	uint32_t low = 0, high = index->pages.len, page;
	const struct fl_page *in;

	while (low < high) {   /* the last page that begins at or before the key */
		uint32_t middle = (low + high) / 2;

		if (fl_str_cmp(fl_state_key(index->pages.at[middle]->at[0]), key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!index->pages.len)
		return (struct fl_spot){ 0 };
	page = low ? low - 1 : 0;
	in = index->pages.at[page];
	low = 0;
	high = in->len;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (fl_str_cmp(fl_state_key(in->at[middle]), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct fl_spot){ page, low };
}

struct fl_state *fl_ordered_next(const struct fl_ordered *index, struct fl_spot *spot)
{
	while (spot->page < index->pages.len) {
		if (spot->at < index->pages.at[spot->page]->len)
			return index->pages.at[spot->page]->at[spot->at++];
		*spot = (struct fl_spot){ spot->page + 1, 0 };
	}
	return NULL;
}

static struct fl_state **place(const struct fl_ordered *index, struct fl_spot spot, struct fl_str key)
{
	struct fl_page *page = spot.page < index->pages.len ? index->pages.at[spot.page] : NULL;

	if (!page || spot.at >= page->len || !fl_str_eq(fl_state_key(page->at[spot.at]), key))
		return NULL;
	return &page->at[spot.at];
}

struct fl_state *fl_ordered_get(const struct fl_ordered *index, struct fl_str key)
{
	struct fl_state **at = place(index, fl_ordered_from(index, key), key);

	return at ? *at : NULL;
}

/* An empty page behind page `after`. */
static struct fl_page *add_page(struct fl_ordered *index, uint32_t after)
{
	struct fl_page *page = NULL;

	if (fl_vec_reserve(&index->pages, 1) < 0 || !(page = fl_alloc(sizeof *page)))
		return NULL;
	page->len = 0;
	if (index->pages.len > after)
		memmove(&index->pages.at[after + 1], &index->pages.at[after],
			(index->pages.len - after) * sizeof *index->pages.at);
	index->pages.at[after] = page;
	index->pages.len++;
	return page;
}

/* Make room in a full page: what comes in order goes into a page of its own, so that pages become full. */
static int split(struct fl_ordered *index, struct fl_spot *spot)
{
	struct fl_page *page = index->pages.at[spot->page], *next;
	bool last = spot->page + 1 == index->pages.len && spot->at == page->len;
	uint32_t keep = last ? page->len : page->len / 2;

	next = add_page(index, spot->page + 1);
	if (!next)
		return -FL_E_NOMEM;
	next->len = page->len - keep;
	memcpy(next->at, page->at + keep, next->len * sizeof *next->at);
	page->len = keep;
	if (spot->at > keep || last)
		*spot = (struct fl_spot){ spot->page + 1, spot->at - keep };
	return 0;
}

int fl_ordered_put(struct fl_ordered *index, struct fl_state *state)
{
	struct fl_spot spot = fl_ordered_from(index, fl_state_key(state));
	struct fl_state **at = place(index, spot, fl_state_key(state));
	struct fl_page *page;

	if (at) {
		fl_state_hold(state);
		fl_state_drop(*at);
		*at = state;
		return 0;
	}
	if (!index->pages.len && !add_page(index, 0))
		return -FL_E_NOMEM;
	if (index->pages.at[spot.page]->len == FL_PAGE_STATES && split(index, &spot) < 0)
		return -FL_E_NOMEM;
	page = index->pages.at[spot.page];
	memmove(&page->at[spot.at + 1], &page->at[spot.at], (page->len - spot.at) * sizeof *page->at);
	page->at[spot.at] = fl_state_hold(state);
	page->len++;
	index->len++;
	return 0;
}

void fl_ordered_del(struct fl_ordered *index, struct fl_str key)
{
	struct fl_spot spot = fl_ordered_from(index, key);
	struct fl_state **at = place(index, spot, key);
	struct fl_page *page;

	if (!at)
		return;
	page = index->pages.at[spot.page];
	fl_state_drop(*at);
	memmove(at, at + 1, (page->len - spot.at - 1) * sizeof *at);
	page->len--;
	index->len--;
	if (page->len)
		return;
	fl_free(page);
	fl_vec_remove(&index->pages, spot.page);
}

/* ---- the store ---- */

int fl_store_init(struct fl_store *store, uint32_t window, struct fl_err *err)
{
	*store = (struct fl_store){ .version = 1, .window = window ? window : FL_STORE_WINDOW };
	store->forgotten = 0;
	store->ring = fl_zalloc_n(store->window, sizeof *store->ring);
	return store->ring ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the changes of a store");
}

static struct fl_store_change *nth(const struct fl_store *store, uint32_t n)
{
	return &store->ring[(store->first + n) % store->window];
}

static void forget_first(struct fl_store *store)
{
	struct fl_store_change *change = nth(store, 0);

	store->forgotten = change->version;
	if (change->before)
		store->past -= change->before->len;
	if (change->gone)
		store->past -= change->after->len;
	fl_state_drop(change->before);
	fl_state_drop(change->after);
	*change = (struct fl_store_change){ 0 };
	store->first = (store->first + 1) % store->window;
	store->len--;
}

void fl_store_forget(struct fl_store *store, uint64_t version)
{
	while (store->len && nth(store, 0)->version <= version)
		forget_first(store);
	if (store->forgotten < version)
		store->forgotten = version < store->version ? version : store->version;
}

void fl_store_free(struct fl_store *store)
{
	while (store->len)
		forget_first(store);
	fl_free(store->ring);
	store->ring = NULL;
}

static void note(struct fl_store *store, struct fl_store_change change)
{
	if (store->len == store->window)
		forget_first(store);
	change.version = ++store->version;
	assert(change.after->version == change.version);
	if (change.before)
		store->past += fl_state_hold(change.before)->len;
	if (change.gone)
		store->past += change.after->len;
	fl_state_hold(change.after);
	store->len++;
	*nth(store, store->len - 1) = change;
	while (store->past > FL_STORE_PAST && store->len > 1)
		forget_first(store);
	if (store->changed)
		store->changed(store->arg, nth(store, store->len - 1));
}

int fl_store_put(struct fl_store *store, struct fl_shelf *shelf, struct fl_state *after)
{
	struct fl_state *before = fl_ordered_get(&shelf->objects, fl_state_key(after));

	after->version = fl_store_next(store);
	if (before)
		fl_state_hold(before);
	if (fl_ordered_put(&shelf->objects, after) < 0) {
		fl_state_drop(before);
		return -FL_E_NOMEM;
	}
	note(store, (struct fl_store_change){ .shelf = shelf, .before = before, .after = after });
	fl_state_drop(before);
	return 0;
}

void fl_store_remove(struct fl_store *store, struct fl_shelf *shelf, struct fl_state *last)
{
	struct fl_state *before = fl_ordered_get(&shelf->objects, fl_state_key(last));

	assert(before);
	last->version = fl_store_next(store);
	fl_state_hold(before);
	fl_ordered_del(&shelf->objects, fl_state_key(last));
	note(store, (struct fl_store_change){ .shelf = shelf, .before = before, .after = last, .gone = true });
	fl_state_drop(before);
}

const struct fl_store_change *fl_store_after(const struct fl_store *store, uint64_t version, uint32_t *at)
{
	if (*at == 0 && store->len) {   /* versions follow one another without a gap */
		uint64_t first = nth(store, 0)->version;

		*at = version >= first ? (uint32_t)(version - first + 1 < store->len ? version - first + 1 : store->len)
				       : 0;
	}
	return *at < store->len ? nth(store, (*at)++) : NULL;
}
