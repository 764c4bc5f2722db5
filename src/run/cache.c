#include "run/cache_in.h"
#include <assert.h>

/* A slot of the table is empty or a place plus one. */
enum { EMPTY = 0 };
_Static_assert(EMPTY - UINT32_C(1) == NOWHERE, "what is in no slot is at no place");
/* Of a large table, all at once would hold up the loop: each put takes so many places over into the wider one, which is
 * begun when five eighths are full and has caught up with what is put meanwhile long before six are. */
enum { MOVES = 8 };
static const uint32_t first_slots = 64;   /* a power of two, like every later count */

/* Where the root has its metadata, and that its name and namespace. */
static void find_names(struct fl_cache *cache)
{
	const struct fl_field *meta = fl_field_find(cache->kind->root(), FL_S("metadata"));
	const struct fl_field *rows = meta ? meta->of()->fields : NULL;

	assert(rows && fl_str_eq(rows[0].json, FL_S("name")) && fl_str_eq(rows[1].json, FL_S("namespace")));
	cache->meta_at = meta->offset;
	cache->name_at = meta->offset + rows[0].offset;
	cache->space_at = meta->offset + rows[1].offset;
}

void fl_cache_init(struct fl_cache *cache, const struct fl_kind *kind, const struct fl_index *by,
		   struct fl_interns *interns, const uint64_t seed[2])
{
	*cache = (struct fl_cache){ .kind = kind, .interns = interns, .seed = { seed[0], seed[1] } };
	memset(cache->rounds, 1, sizeof cache->rounds);
	cache->packing = FL_BUF(FL_PACKED_MAX);
	find_names(cache);
	groups_init(cache, by);
}

/* ---- entries ---- */

static char *packed_of(const struct fl_entry *entry)
{
	return (char *)(uintptr_t)&entry->links[entry->link_count];
}

struct fl_str fl_entry_packed(const struct fl_cache *cache, const struct fl_entry *entry)
{
	(void)cache;
	return (struct fl_str){ packed_of(entry), entry->len };
}

static size_t entry_size(uint32_t links, size_t packed)
{
	return sizeof(struct fl_entry) + links * sizeof(struct fl_link) + packed;
}

int fl_entry_unpack(struct fl_cache *cache, const struct fl_entry *entry, struct fl_arena *arena, void *ret_object,
		    struct fl_err *err)
{
	cache->unpackings++;
	return fl_unpack_on(cache->kind->root(), cache->blank, fl_entry_packed(cache, entry), arena, ret_object, err);
}

bool fl_entry_is(const struct fl_cache *cache, const struct fl_entry *entry, size_t offset, struct fl_str text)
{
	return text.len && fl_peek_is(cache->kind->root(), fl_entry_packed(cache, entry), offset, text);
}

bool fl_entry_same_but(const struct fl_cache *cache, const struct fl_entry *a, const struct fl_entry *b,
		       size_t offset)
{
	struct fl_str whole_a = fl_entry_packed(cache, a), whole_b = fl_entry_packed(cache, b);
	struct fl_str in_a = fl_peek_raw(cache->kind->root(), whole_a, offset);
	struct fl_str in_b = fl_peek_raw(cache->kind->root(), whole_b, offset);
	size_t before, behind;

	if (!in_a.len || !in_b.len)
		return false;
	before = (size_t)(in_a.p - whole_a.p);
	behind = whole_a.len - before - in_a.len;
	return before == (size_t)(in_b.p - whole_b.p) && behind == whole_b.len - before - in_b.len &&
	       memcmp(whole_a.p, whole_b.p, before) == 0 &&
	       (!behind || memcmp(in_a.p + in_a.len, in_b.p + in_b.len, behind) == 0);
}

void fl_entry_drop(struct fl_cache *cache, struct fl_entry *entry)
{
	if (!entry)
		return;
	if (entry->marks) {
		entry->marks--;
		return;
	}
	fl_pack_drop(cache->kind->root(), fl_entry_packed(cache, entry), cache->interns);
	fl_free(entry);
}

struct fl_entry *fl_entry_ref(struct fl_entry *entry)
{
	entry->marks++;
	return entry;
}

/* An entry of what is packed, in no group yet, with room for its links. */
static struct fl_entry *entry_new(struct fl_cache *cache)
{
	struct fl_entry *entry = fl_alloc(entry_size(cache->under.len, cache->packing.len));

	if (!entry)
		return NULL;
	*entry = (struct fl_entry){ .len = cache->packing.len & ENTRY_BITS,
				    .link_count = cache->under.len & ENTRY_BITS };
	memcpy(packed_of(entry), cache->packing.p, cache->packing.len);
	return entry;
}

/* ---- the table of places ---- */

static uint32_t hash_of(const struct fl_cache *cache, struct fl_str space, struct fl_str name)
{
	uint64_t hash = fl_siphash13(cache->seed, name.p, name.len) * 31 + fl_siphash13(cache->seed, space.p,
											space.len);

	return (uint32_t)(hash ^ hash >> 32);
}

static bool is_named(const struct fl_cache *cache, const struct fl_entry *entry, struct fl_str space,
		     struct fl_str name)
{
	const struct fl_str names[] = { name, space };

	return fl_peek_begins(cache->kind->root(), fl_entry_packed(cache, entry), cache->meta_at, names, 2);
}

/* The slot where it is, or the empty one where it would go. There are slots. */
static uint32_t slot_of(const struct fl_cache *cache, uint32_t hash, struct fl_str space, struct fl_str name)
{
	uint32_t mask = cache->slot_count - 1, i = hash & mask;

	for (; cache->slots[i] != EMPTY; i = (i + 1) & mask) {
		uint32_t place = cache->slots[i] - 1;

		if (cache->hashes.at[place] == hash && is_named(cache, cache->entries.at[place], space, name))
			break;
	}
	return i;
}

/* The place of an object, or NOWHERE. */
static uint32_t place_of(const struct fl_cache *cache, uint32_t hash, struct fl_str space, struct fl_str name)
{
	return cache->slot_count ? cache->slots[slot_of(cache, hash, space, name)] - 1 : NOWHERE;
}

uint32_t cache_place(const struct fl_cache *cache, struct fl_str space, struct fl_str name)
{
	return place_of(cache, hash_of(cache, space, name), space, name);
}

struct fl_entry *fl_cache_get(const struct fl_cache *cache, struct fl_str space, struct fl_str name)
{
	uint32_t place = cache_place(cache, space, name);

	return place == NOWHERE ? NULL : cache->entries.at[place];
}

static void place_in(uint32_t *slots, uint32_t count, uint32_t hash, uint32_t place)
{
	uint32_t i = hash & (count - 1);

	while (slots[i] != EMPTY)
		i = (i + 1) & (count - 1);
	slots[i] = place + 1;
}

static uint32_t wider_count(const struct fl_cache *cache)
{
	return cache->slot_count ? cache->slot_count * 2 : first_slots;
}

/* Take over some places; with the last one, the wider table is the table. */
static void move_on(struct fl_cache *cache, uint32_t moves)
{
	uint32_t count = wider_count(cache);

	for (; moves-- && cache->moved < cache->hashes.len; cache->moved++)
		place_in(cache->wider, count, cache->hashes.at[cache->moved], cache->moved);
	if (cache->moved < cache->hashes.len)
		return;
	fl_free(cache->slots);
	cache->slots = fl_steal(&cache->wider);
	cache->slot_count = count;
}

/* Room for one more. */
static int reserve(struct fl_cache *cache)
{
	uint32_t len = cache->entries.len, eighth = cache->slot_count / 8;

	if (fl_vec_reserve(&cache->entries, 1) < 0 || fl_vec_reserve(&cache->hashes, 1) < 0 ||
	    unpacked_reserve(cache) < 0)
		return -FL_E_NOMEM;
	if (!cache->wider && len >= 5 * eighth) {
		cache->moved = 0;
		cache->wider = fl_zalloc_n(wider_count(cache), sizeof *cache->wider);
	}
	if (cache->wider)
		move_on(cache, len < 6 * eighth ? MOVES : UINT32_MAX);
	return cache->entries.len < cache->slot_count - cache->slot_count / 4 ? 0 : -FL_E_NOMEM;
}

/* Close the gap by moving back what had been pushed past it. */
static void empty_slot(const struct fl_cache *cache, uint32_t *slots, uint32_t count, uint32_t gap)
{
	uint32_t mask = count - 1;

	for (uint32_t i = (gap + 1) & mask; slots[i] != EMPTY; i = (i + 1) & mask) {
		uint32_t home = cache->hashes.at[slots[i] - 1] & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		slots[gap] = slots[i];
		gap = i;
	}
	slots[gap] = EMPTY;
}

/* The slot of a place that is in the table. */
static uint32_t slot_of_place(const struct fl_cache *cache, const uint32_t *slots, uint32_t count, uint32_t place)
{
	uint32_t mask = count - 1, i = cache->hashes.at[place] & mask;

	while (slots[i] != place + 1)
		i = (i + 1) & mask;
	return i;
}

/* Out of one table; the last place, which moves into the gap, is in it too if `with_last`. */
static void unplace(const struct fl_cache *cache, uint32_t *slots, uint32_t count, uint32_t place, bool with_last)
{
	uint32_t last = cache->entries.len - 1;

	empty_slot(cache, slots, count, slot_of_place(cache, slots, count, place));
	if (place != last && with_last)
		slots[slot_of_place(cache, slots, count, last)] = place + 1;
}

/* Take an entry's place away; the last one moves there, so that places stay dense. */
static void remove_place(struct fl_cache *cache, uint32_t slot)
{
	uint32_t place = cache->slots[slot] - 1, last = cache->entries.len - 1;
	bool behind = cache->wider && place < cache->moved;

	unplace(cache, cache->slots, cache->slot_count, place, true);
	if (behind) {
		unplace(cache, cache->wider, wider_count(cache), place, last < cache->moved);
		if (last >= cache->moved)   /* it comes to a place that counts as taken over */
			place_in(cache->wider, wider_count(cache), cache->hashes.at[last], place);
		else
			cache->moved--;
	}
	cache->hashes.at[place] = cache->hashes.at[last];
	cache->entries.at[place] = cache->entries.at[last];
	if (place != last)
		groups_moved(cache->entries.at[place], place);
	unpacked_remove(cache, place);
	cache->entries.len--;
	cache->hashes.len--;
}

/* ---- changes ---- */

/* Nothing fails from here on. `before` is what stands at `place`, NULL when a new place is to be made. */
static void commit(struct fl_cache *cache, struct fl_entry *entry, struct fl_entry *before, uint32_t place,
		   uint32_t hash)
{
	cache->bytes += entry_size(entry->link_count, entry->len);
	if (before) {
		entry->marks = before->marks;
		cache->entries.at[place] = entry;
		cache->bytes -= entry_size(before->link_count, before->len);
		before->marks = 0;
	} else {
		place = cache->entries.len;
		cache->entries.at[cache->entries.len++] = entry;
		cache->hashes.at[cache->hashes.len++] = hash;
		place_in(cache->slots, cache->slot_count, hash, place);
		cache->len++;
	}
	groups_commit(cache, entry, before, place);
	unpacked_put(cache, place);
}

static struct fl_str text_at(const void *object, size_t at)
{
	struct fl_str text;

	memcpy(&text, (const char *)object + at, sizeof text);
	return text;
}

int cache_by_name(const struct fl_cache *cache, const void *a, const void *b)
{
	int order = fl_str_cmp(text_at(a, cache->space_at), text_at(b, cache->space_at));

	return order ? order : fl_str_cmp(text_at(a, cache->name_at), text_at(b, cache->name_at));
}

/* What is packed differs from what is there. */
static int put_packed(struct fl_cache *cache, const void *object, uint32_t hash, uint32_t place,
		      struct fl_cache_change *ret)
{
	struct fl_entry *before = place == NOWHERE ? NULL : cache->entries.at[place], *entry = NULL;
	int r = groups_prepare(cache, object, before);

	if (r == 0)
		entry = reserve(cache) == 0 ? entry_new(cache) : NULL;
	if (!entry) {
		if (r == 0)
			groups_undo(cache);
		fl_pack_drop(cache->kind->root(), fl_buf_view(&cache->packing), cache->interns);
		return -FL_E_NOMEM;
	}
	commit(cache, entry, before, place, hash);
	*ret = (struct fl_cache_change){ .before = before, .after = entry };
	return 0;
}

/* What each object is unpacked onto, made with the first one. */
static int make_blank(struct fl_cache *cache)
{
	const struct fl_bind *root = cache->kind->root();

	if (cache->blank)
		return 0;
	cache->blank = fl_zalloc(root->size);
	if (!cache->blank)
		return -FL_E_NOMEM;
	fl_defaults(root, cache->blank);
	return 0;
}

int fl_cache_put(struct fl_cache *cache, const void *object, struct fl_cache_change *ret, struct fl_err *err)
{
	struct fl_str name = text_at(object, cache->name_at), space = text_at(object, cache->space_at), packed;
	struct fl_entry *before;
	uint32_t hash, place;

	if (make_blank(cache) < 0)
		return fl_fail(err, FL_E_NOMEM, "%s: no memory for its cache", cache->kind->kind);
	fl_buf_clear(&cache->packing);
	if (fl_pack(cache->kind->root(), object, cache->interns, &cache->packing, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	packed = fl_buf_view(&cache->packing);
	hash = hash_of(cache, space, name);
	place = place_of(cache, hash, space, name);
	before = place == NOWHERE ? NULL : cache->entries.at[place];
	if (before && fl_str_eq(fl_entry_packed(cache, before), packed)) {
		fl_pack_drop(cache->kind->root(), packed, cache->interns);
		*ret = (struct fl_cache_change){ .after = before, .same = true };
		return 0;
	}
	if (put_packed(cache, object, hash, place, ret) < 0)
		return fl_fail(err, FL_E_NOMEM, "%s %.*s: no memory for its place in the cache", cache->kind->kind,
			       FL_ARG(name));
	return 0;
}

static struct fl_entry *take_out(struct fl_cache *cache, uint32_t slot)
{
	struct fl_entry *entry = cache->entries.at[cache->slots[slot] - 1];

	groups_leave(cache, entry);
	remove_place(cache, slot);
	cache->bytes -= entry_size(entry->link_count, entry->len);
	cache->len--;
	entry->marks = 0;
	return entry;
}

struct fl_cache_change fl_cache_remove(struct fl_cache *cache, struct fl_str space, struct fl_str name)
{
	uint32_t slot;

	if (!cache->slot_count)
		return (struct fl_cache_change){ 0 };
	slot = slot_of(cache, hash_of(cache, space, name), space, name);
	if (cache->slots[slot] == EMPTY)
		return (struct fl_cache_change){ 0 };
	return (struct fl_cache_change){ .before = take_out(cache, slot) };
}

struct fl_entry *fl_cache_each(const struct fl_cache *cache, uint32_t *at)
{
	return *at < cache->entries.len ? cache->entries.at[(*at)++] : NULL;
}

/* An entry that moves into a gap comes from behind, where all have been told. */
struct fl_entry *fl_cache_back(const struct fl_cache *cache, uint32_t *at)
{
	if (*at > cache->entries.len)
		*at = cache->entries.len;
	return *at ? cache->entries.at[--*at] : NULL;
}

/* ---- who has an object ---- */

static uint32_t mark_of(const struct fl_entry *entry, uint32_t source)
{
	return entry->marks >> source * MARK_BITS & ROUNDS;
}

static void set_mark(struct fl_entry *entry, uint32_t source, uint32_t mark)
{
	uint32_t others = entry->marks & ~(ROUNDS << source * MARK_BITS);

	entry->marks = (others | mark << source * MARK_BITS) & ((1u << MARK_BITS * FL_SOURCES) - 1);
}

void fl_cache_told(const struct fl_cache *cache, struct fl_entry *entry, uint32_t source)
{
	set_mark(entry, source, cache->rounds[source]);
}

void fl_cache_untold(struct fl_entry *entry, uint32_t source)
{
	set_mark(entry, source, 0);
}

void fl_cache_doom(struct fl_entry *entry)
{
	entry->marks = 0;
}

bool fl_cache_has(const struct fl_entry *entry)
{
	return entry->marks != 0;
}

bool fl_cache_has_now(const struct fl_cache *cache, const struct fl_entry *entry, uint32_t source)
{
	struct fl_entry others = { .marks = entry->marks };

	set_mark(&others, source, 0);
	return others.marks || mark_of(entry, source) == cache->rounds[source];
}

/* So many full states were begun and none was swept to its end that the next number would be one that entries have. */
static void forget_rounds(struct fl_cache *cache, uint32_t source, uint32_t last)
{
	for (uint32_t i = 0; i < cache->entries.len; i++)
		if (mark_of(cache->entries.at[i], source))
			set_mark(cache->entries.at[i], source, last);
	cache->unswept[source] = 1;
}

void fl_cache_mark(struct fl_cache *cache, uint32_t source)
{
	uint32_t round = cache->rounds[source];

	if (++cache->unswept[source] == ROUNDS)
		forget_rounds(cache, source, round);
	cache->rounds[source] = (uint8_t)(round % ROUNDS + 1);
}

/* From the last place to the first: an entry that moves into a gap comes from behind, where all has been looked at. */
struct fl_entry *fl_cache_stale(struct fl_cache *cache, uint32_t source, uint32_t *at)
{
	if (*at > cache->entries.len)
		*at = cache->entries.len;
	while (*at > 0) {
		struct fl_entry *entry = cache->entries.at[--*at];

		if (mark_of(entry, source) != cache->rounds[source])
			set_mark(entry, source, 0);
		if (!entry->marks)
			return entry;
	}
	cache->unswept[source] = 0;
	return NULL;
}

uint64_t fl_cache_bytes(const struct fl_cache *cache)
{
	uint64_t tables =
		cache->entries.cap * sizeof *cache->entries.at + cache->hashes.cap * sizeof *cache->hashes.at +
		(cache->slot_count + (cache->wider ? wider_count(cache) : 0)) * sizeof *cache->slots;

	return cache->bytes + tables + groups_bytes(cache) + unpacked_bytes(cache);
}

void fl_cache_free(struct fl_cache *cache)
{
	for (uint32_t i = 0; i < cache->entries.len; i++) {
		cache->entries.at[i]->marks = 0;
		fl_entry_drop(cache, cache->entries.at[i]);
	}
	fl_vec_free(&cache->entries);
	fl_vec_free(&cache->hashes);
	fl_free(cache->slots);
	fl_free(cache->wider);
	fl_free(cache->blank);
	groups_free(cache);
	unpacked_free(cache);
	fl_buf_free(&cache->packing);
	*cache = (struct fl_cache){ .packing.max = FL_PACKED_MAX };
}
