#include "node/host/ld_cache.h"
#include "base/bytes.h"

/* The format of today: a header of 48 bytes (20 of magic and version, how many entries, bytes of text, a byte whose low
 * bits say the order of bytes, where the extensions are), then entries of 24 (flags, key, value, os, hwcap). Offsets
 * are from the header on. The one before it: 12 bytes of magic, how many, then entries of 12; offsets are from the end
 * of the entries on, and a whole cache of today may follow them, at the next multiple of 8. */
enum { HEADER = 48, ENTRY = 24, OLD_HEADER = 16, OLD_ENTRY = 12 };
/* Bytes of a library's name and of a path: more are of no file. */
enum { KEY_MAX = 255, VALUE_MAX = 4095 };

static const char magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";

static bool open_new(struct fl_ld_cache *ret, const uint8_t *bytes, size_t len)
{
	uint32_t count;

	if (len <= HEADER || memcmp(bytes, magic, sizeof magic - 1) != 0)
		return false;
	count = (uint32_t)fl_bytes_get(bytes + 20, 4);
	if (count > (len - HEADER) / ENTRY || (bytes[28] && (bytes[28] & 3) != 2))
		return false;
	*ret = (struct fl_ld_cache){ .bytes = bytes, .len = len, .count = count, .entries = bytes + HEADER };
	return true;
}

bool fl_ld_cache_open(struct fl_ld_cache *ret, const void *bytes_, size_t len)
{
	const uint8_t *bytes = bytes_;
	uint32_t count;
	size_t end;

	if (open_new(ret, bytes, len))
		return true;
	if (len <= OLD_HEADER || memcmp(bytes, old_magic, sizeof old_magic - 1) != 0)
		return false;
	count = (uint32_t)fl_bytes_get(bytes + 12, 4);
	if (count > (len - OLD_HEADER) / OLD_ENTRY)
		return false;
	end = OLD_HEADER + (size_t)count * OLD_ENTRY;
	if ((end + 7) / 8 * 8 < len && len - (end + 7) / 8 * 8 >= sizeof magic - 1 &&
	    memcmp(bytes + (end + 7) / 8 * 8, magic, sizeof magic - 1) == 0)
		return open_new(ret, bytes + (end + 7) / 8 * 8, len - (end + 7) / 8 * 8);
	*ret = (struct fl_ld_cache){ .bytes = bytes + end, .len = len - end, .count = count, .old = true,
				     .entries = bytes + OLD_HEADER };
	return true;
}

/* Its end is looked for up to `max` bytes on: many entries may name one long text. */
static bool text_at(const struct fl_ld_cache *cache, uint64_t at, size_t max, struct fl_str *ret)
{
	const uint8_t *end;

	if (at >= cache->len)
		return false;
	end = memchr(cache->bytes + at, '\0', cache->len - at <= max ? cache->len - at : max + 1);
	if (!end)
		return false;
	*ret = (struct fl_str){ (const char *)cache->bytes + at, (uint32_t)(end - (cache->bytes + at)) };
	return true;
}

bool fl_ld_cache_next(struct fl_ld_cache *cache, struct fl_ld_entry *ret)
{
	while (cache->next < cache->count) {
		const uint8_t *at = cache->entries + (size_t)cache->next++ * (cache->old ? OLD_ENTRY : ENTRY);

		*ret = (struct fl_ld_entry){ .flags = (uint32_t)fl_bytes_get(at, 4) };
		if (!cache->old) {
			ret->os = (uint32_t)fl_bytes_get(at + 12, 4);
			ret->hwcap = fl_bytes_get(at + 16, 8);
		}
		if (text_at(cache, fl_bytes_get(at + 4, 4), KEY_MAX, &ret->key) &&
		    text_at(cache, fl_bytes_get(at + 8, 4), VALUE_MAX, &ret->value))
			return true;
	}
	return false;
}

static bool is_digit(struct fl_str text, uint32_t at)
{
	return at < text.len && text.p[at] >= '0' && text.p[at] <= '9';
}

static int64_t number(struct fl_str text, uint32_t *at)
{
	uint32_t n = 0;   /* wraps, as the loader's does */

	while (is_digit(text, *at))
		n = n * 10 + (uint32_t)(text.p[(*at)++] - '0');
	return (int32_t)n;
}

int fl_ld_name_cmp(struct fl_str a, struct fl_str b)
{
	uint32_t i = 0, k = 0;

	while (i < a.len) {
		bool a_digit = is_digit(a, i), b_digit = is_digit(b, k);

		if (a_digit && b_digit) {
			int64_t x = number(a, &i), y = number(b, &k);

			if (x != y)
				return x < y ? -1 : 1;
		} else if (a_digit != b_digit) {
			return a_digit ? 1 : -1;
		} else if (k == b.len || a.p[i] != b.p[k]) {
			return a.p[i] < (k < b.len ? b.p[k] : '\0') ? -1 : 1;
		} else {
			i++;
			k++;
		}
	}
	return k < b.len ? -1 : 0;
}

/* ---- adding ---- */

/* What follows the entries of the old cache, texts and extensions, is copied as it is: offsets into it are moved, each
 * by the same. */
struct merge {
	const struct fl_ld_cache *old;
	size_t blob, blob_len;             /* where what is copied begins in the old cache's bytes; how much */
	struct fl_ld_entry *all;
	uint32_t len;
};

static bool is_in_blob(const struct merge *m, struct fl_str text)
{
	return (size_t)(text.p - (const char *)m->old->bytes) >= m->blob;
}

static bool is_added(struct merge *m, uint32_t added, const struct fl_ld_entry *entry)
{
	for (uint32_t i = 0; i < added; i++)
		if (fl_str_eq(m->all[i].key, entry->key) && fl_str_eq(m->all[i].value, entry->value))
			return true;
	return false;
}

/* From high to low; equal ones stay as they are. */
static void sort(struct fl_ld_entry *at, uint32_t len)
{
	for (uint32_t i = 1; i < len; i++) {
		struct fl_ld_entry one = at[i];
		uint32_t k = i;

		for (; k && fl_ld_name_cmp(at[k - 1].key, one.key) < 0; k--)
			at[k] = at[k - 1];
		at[k] = one;
	}
}

/* Additions stand in front, sorted; the others follow, as they are in the old cache. */
static void put_entries(const struct merge *m, uint32_t added, struct fl_ld_entry *ret)
{
	uint32_t i = 0, k = added, n = 0;

	while (i < added || k < m->len) {
		bool first = k == m->len ||
			     (i < added && fl_ld_name_cmp(m->all[i].key, m->all[k].key) >= 0);

		ret[n++] = m->all[first ? i++ : k++];
	}
}

static void put_number(struct fl_buf *to, uint64_t n, unsigned bytes)
{
	uint8_t piece[8];

	fl_bytes_put(piece, n, bytes);
	fl_buf_put(to, piece, bytes);
}

/* Extensions: a magic, how many sections, then 16 bytes each (tag, flags, offset, bytes). Tag 1 is a list of offsets of
 * the names that bit 62 of an entry means; a second one, or one that overlaps the sections themselves, is of no
 * ldconfig, and only makes work. */
enum { SECTIONS = 8, SECTION = 16, NAMES_TAG = 1 };

static bool is_section(const uint8_t *section, size_t len, uint64_t from, uint64_t sections, uint64_t sections_end)
{
	uint64_t begin = fl_bytes_get(section + 8, 4), size = fl_bytes_get(section + 12, 4);

	if (begin < from || begin - from > len || size > len - (begin - from))
		return false;
	return fl_bytes_get(section, 4) != NAMES_TAG || begin >= sections_end || begin + size <= sections;
}

static bool are_sound(const uint8_t *blob, size_t len, uint64_t at, uint64_t from)
{
	const uint8_t *head;
	uint64_t count, names = 0;

	if (at < from || at % 4 || at - from > len || len - (at - from) < SECTIONS)
		return false;
	head = blob + (at - from);
	count = fl_bytes_get(head + 4, 4);
	if (fl_bytes_get(head, 4) != 0xeaa42174u || count > (len - (at - from) - SECTIONS) / SECTION)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *section = head + SECTIONS + i * SECTION;

		names += fl_bytes_get(section, 4) == NAMES_TAG;
		if (names > 1 || !is_section(section, len, from, at, at + SECTIONS + count * SECTION))
			return false;
	}
	return true;
}

/* `from`, `to`: where the blob began, and begins. 0: they are not sound, and none is kept. */
static uint64_t move_extensions(uint8_t *blob, size_t len, uint64_t at, uint64_t to, uint64_t from)
{
	uint8_t *head;

	if (!are_sound(blob, len, at, from))
		return 0;
	head = blob + (at - from);
	for (uint64_t i = 0; i < fl_bytes_get(head + 4, 4); i++) {
		uint8_t *section = head + SECTIONS + i * SECTION;
		uint64_t begin = fl_bytes_get(section + 8, 4), size = fl_bytes_get(section + 12, 4);

		fl_bytes_put(section + 8, begin - from + to, 4);
		for (uint64_t k = 0; fl_bytes_get(section, 4) == NAMES_TAG && k + 4 <= size; k += 4) {
			uint8_t *name = blob + (begin - from) + k;

			fl_bytes_put(name, fl_bytes_get(name, 4) - from + to, 4);
		}
	}
	return at - from + to;
}

static bool is_kept(const struct merge *m, const struct fl_ld_entry *entry)
{
	uintptr_t at = (uintptr_t)entry->key.p, begin = m->old ? (uintptr_t)m->old->bytes : 0;

	return m->old && at >= begin && at < begin + m->old->len;
}

/* Texts of additions come last; *next is where the next one will be. */
static void put_entry(const struct merge *m, const struct fl_ld_entry *entry, uint32_t blob, uint32_t *next,
		      struct fl_buf *to)
{
	put_number(to, entry->flags, 4);
	if (is_kept(m, entry)) {
		put_number(to, (uint64_t)(entry->key.p - (const char *)m->old->bytes) - m->blob + blob, 4);
		put_number(to, (uint64_t)(entry->value.p - (const char *)m->old->bytes) - m->blob + blob, 4);
	} else {
		put_number(to, *next, 4);
		put_number(to, *next + entry->key.len + 1, 4);
		*next += entry->key.len + entry->value.len + 2;
	}
	put_number(to, entry->os, 4);
	put_number(to, entry->hwcap, 8);
}

static void put_cache(const struct merge *m, const struct fl_ld_entry *entries, struct fl_buf *to)
{
	uint32_t blob = HEADER + ENTRY * m->len, next = blob + (uint32_t)m->blob_len;
	uint64_t extensions = 0;

	fl_buf_put(to, magic, sizeof magic - 1);
	put_number(to, m->len, 4);
	put_number(to, 0, 4);                      /* bytes of text: below */
	put_number(to, 2, 4);                      /* the order of bytes */
	put_number(to, 0, 8);                      /* where extensions are: below */
	put_number(to, 0, 8);
	for (uint32_t i = 0; i < m->len; i++)
		put_entry(m, &entries[i], blob, &next, to);
	if (m->old)
		fl_buf_put(to, m->old->bytes + m->blob, m->blob_len);
	if (m->old && !m->old->old && !to->failed)
		extensions = move_extensions((uint8_t *)to->p + blob, m->blob_len, fl_bytes_get(m->old->bytes + 32, 4),
					     blob, m->blob);
	for (uint32_t i = 0; i < m->len; i++) {
		if (is_kept(m, &entries[i]))
			continue;
		fl_buf_put(to, entries[i].key.p, entries[i].key.len);
		fl_buf_char(to, '\0');
		fl_buf_put(to, entries[i].value.p, entries[i].value.len);
		fl_buf_char(to, '\0');
	}
	if (to->failed)
		return;
	fl_bytes_put((uint8_t *)to->p + 24, to->len - blob, 4);
	fl_bytes_put((uint8_t *)to->p + 32, extensions, 4);
}

int fl_ld_cache_merge(const struct fl_ld_cache *old, const struct fl_ld_entry *add, uint32_t count, struct fl_buf *ret,
		      struct fl_err *err)
{
	struct merge m = { .old = old };
	struct fl_ld_cache rest = old ? *old : (struct fl_ld_cache){ 0 };
	struct fl_ld_entry entry;

	rest.next = 0;
	m.all = fl_alloc(2 * ((size_t)count + rest.count + 1) * sizeof *m.all);
	if (!m.all)
		return fl_fail(err, FL_E_NOMEM, "no memory for the linker's cache");
	if (count)
		memcpy(m.all, add, count * sizeof *add);
	sort(m.all, count);
	m.len = count;
	if (old) {
		m.blob = old->old ? 0 : HEADER + (size_t)old->count * ENTRY;
		m.blob_len = old->len - m.blob;
	}
	while (fl_ld_cache_next(&rest, &entry))
		if (is_in_blob(&m, entry.key) && is_in_blob(&m, entry.value) && !is_added(&m, count, &entry))
			m.all[m.len++] = entry;
	put_entries(&m, count, m.all + m.len);
	put_cache(&m, m.all + m.len, ret);
	fl_free(m.all);
	return fl_buf_check(ret, "the linker's cache", err);
}
