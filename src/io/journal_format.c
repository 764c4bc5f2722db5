#include "io/journal_format.h"
#include "base/bytes.h"
#include "base/crc32c.h"

FL_NAMES(fl_journal_state_names, FL_JOURNAL_STATE_COUNT_, [FL_JOURNAL_WHOLE] = "whole", [FL_JOURNAL_TORN] = "torn",
	 [FL_JOURNAL_DAMAGED] = "damaged", [FL_JOURNAL_EMPTY] = "empty", [FL_JOURNAL_FOREIGN] = "foreign",
	 [FL_JOURNAL_UNREADABLE] = "unreadable");

static const char magic[8] = { 'f', 'l', 'j', 'o', 'u', 'r', 'n', '\n' };

static uint32_t header_crc(const uint8_t *header)
{
	return fl_crc32c(fl_crc32c(0, header, 12), header + 16, FL_JOURNAL_HEADER - 16);
}

static uint32_t seed(uint64_t generation)
{
	uint8_t bytes[8];

	fl_bytes_put(bytes, generation, 8);
	return fl_crc32c(0, bytes, sizeof bytes);
}

/* ---- writing ---- */

void fl_journal_write_header(struct fl_buf *buf, uint64_t generation, uint64_t mark)
{
	uint8_t header[FL_JOURNAL_HEADER];

	memcpy(header, magic, sizeof magic);
	fl_bytes_put(header + 8, FL_JOURNAL_VERSION, 4);
	fl_bytes_put(header + 16, generation, 8);
	fl_bytes_put(header + 24, mark, 8);
	fl_bytes_put(header + 12, header_crc(header), 4);
	fl_buf_put(buf, header, sizeof header);
}

void fl_journal_write_record(struct fl_buf *buf, uint64_t generation, const struct fl_journal_record *record)
{
	size_t body = (size_t)record->key.len + record->value.len;
	size_t size = fl_journal_size(record->key.len, record->value.len);
	uint8_t *p = fl_buf_room(buf, size);

	if (!p)
		return;
	fl_bytes_put(p + 4, body, 4);
	fl_bytes_put(p + 8, record->seq, 8);
	fl_bytes_put(p + 16, record->batch, 4);
	p[20] = (uint8_t)record->what;
	p[21] = record->kind;
	fl_bytes_put(p + 22, record->key.len, 2);
	if (record->key.len)
		memcpy(p + FL_JOURNAL_RECORD_HEADER, record->key.p, record->key.len);
	if (record->value.len)
		memcpy(p + FL_JOURNAL_RECORD_HEADER + record->key.len, record->value.p, record->value.len);
	memset(p + FL_JOURNAL_RECORD_HEADER + body, 0, size - FL_JOURNAL_RECORD_HEADER - body);
	fl_bytes_put(p, fl_crc32c(seed(generation), p + 4, FL_JOURNAL_RECORD_HEADER - 4 + body), 4);
	fl_buf_added(buf, size);
}

/* ---- reading ---- */

struct reader {
	const uint8_t *p;
	size_t len;
	uint32_t seed;
	uint64_t budget;           /* bytes that the search behind damage may still checksum */
};

/* Could a record stand here? Checks everything but the checksum: cheap, and enough to know its size. */
static bool plausible(const struct reader *r, size_t at, size_t *ret_body)
{
	const uint8_t *p = r->p + at;
	uint64_t body, key;

	if (at > r->len || r->len - at < FL_JOURNAL_RECORD_HEADER)
		return false;
	body = fl_bytes_get(p + 4, 4);
	key = fl_bytes_get(p + 22, 2);
	if (body > FL_JOURNAL_RECORD_MAX || key > body || p[20] < FL_JOURNAL_PUT || p[20] > FL_JOURNAL_MARK)
		return false;
	*ret_body = (size_t)body;
	return fl_journal_size(0, (size_t)body) <= r->len - at;
}

/* Read the record at `at`. Returns its size, or 0 when no whole record stands there. */
static size_t record_at(const struct reader *r, size_t at, struct fl_journal_record *ret)
{
	const uint8_t *p = r->p + at;
	uint32_t key;
	size_t body;

	if (!plausible(r, at, &body) ||
	    fl_bytes_get(p, 4) != fl_crc32c(r->seed, p + 4, FL_JOURNAL_RECORD_HEADER - 4 + body))
		return 0;
	key = (uint32_t)fl_bytes_get(p + 22, 2);
	*ret = (struct fl_journal_record){
		.what = (enum fl_journal_what)p[20], .kind = p[21], .batch = (uint32_t)fl_bytes_get(p + 16, 4),
		.seq = fl_bytes_get(p + 8, 8),
		.key = { (const char *)p + FL_JOURNAL_RECORD_HEADER, key },
		.value = { (const char *)p + FL_JOURNAL_RECORD_HEADER + key, (uint32_t)body - key },
	};
	return fl_journal_size(0, body);
}

/* The record with number `lost` cannot be read. Does a later record show that it had been synced? The number of
 * checksums is bounded, whatever the bytes are; beyond it the answer is yes. */
static bool was_promised(struct reader *r, size_t at, uint64_t lost)
{
	struct fl_journal_record record;

	for (size_t body, size; at < r->len && r->len - at >= FL_JOURNAL_RECORD_HEADER; at += size) {
		uint64_t seq = fl_bytes_get(r->p + at + 8, 8);

		size = 8;
		/* No record is smaller than its header, so numbers behind the damage are near. */
		if (seq <= lost || seq - lost > r->len / FL_JOURNAL_RECORD_HEADER || !plausible(r, at, &body))
			continue;
		if (body > r->budget)
			return true;
		r->budget -= body;
		if (!record_at(r, at, &record))
			continue;
		if (record.batch > record.seq || record.seq - record.batch > lost)
			return true;
		size = fl_journal_size(0, body);
	}
	return false;
}

static bool judge_header(struct reader *r, struct fl_journal_verdict *verdict, uint64_t *ret_mark)
{
	const uint8_t *p = r->p;

	verdict->state = r->len == 0 ? FL_JOURNAL_EMPTY : FL_JOURNAL_FOREIGN;
	if (r->len < 12 || memcmp(p, magic, sizeof magic) != 0)
		return false;
	verdict->version = (uint32_t)fl_bytes_get(p + 8, 4);
	if (verdict->version != FL_JOURNAL_VERSION)
		return false;
	verdict->state = FL_JOURNAL_DAMAGED;
	if (r->len < FL_JOURNAL_HEADER || fl_bytes_get(p + 12, 4) != header_crc(p))
		return false;
	verdict->generation = fl_bytes_get(p + 16, 8);
	*ret_mark = fl_bytes_get(p + 24, 8);
	r->seed = seed(verdict->generation);
	return true;
}

/* A snapshot's records only rise, up to its mark. */
static bool fits_snapshot(const struct fl_journal_record *record, uint64_t last, uint64_t mark)
{
	if (record->seq <= last || record->seq > mark)
		return false;
	return record->what == (record->seq == mark ? FL_JOURNAL_MARK : FL_JOURNAL_PUT);
}

struct fl_journal_verdict fl_journal_judge(const void *bytes, size_t len)
{
	struct fl_journal_verdict verdict = { 0 };
	struct reader r = { .p = bytes, .len = len, .budget = 4 * (uint64_t)len };
	struct fl_journal_record record;
	uint64_t mark = 0, want;
	size_t size;

	if (!judge_header(&r, &verdict, &mark))
		return verdict;
	verdict.good = FL_JOURNAL_HEADER;
	for (; (size = record_at(&r, verdict.good, &record)) != 0; verdict.good += size) {
		bool is_mark = record.what == FL_JOURNAL_MARK;

		/* A snapshot keeps the numbers that its records had, so they only rise; the log counts on from the
		 * mark. We never write a good checksum in the wrong place. */
		bool fits = verdict.usable ? record.seq == verdict.seq + 1 && !is_mark :
					     fits_snapshot(&record, verdict.seq, mark);

		if (!fits)
			break;
		verdict.seq = record.seq;
		verdict.usable |= is_mark;
		verdict.records += !is_mark;
	}
	want = verdict.seq + 1;
	if (!verdict.usable)
		verdict.state = FL_JOURNAL_DAMAGED;
	else if (verdict.good == len)
		verdict.state = FL_JOURNAL_WHOLE;
	else
		verdict.state = was_promised(&r, verdict.good, want) ? FL_JOURNAL_DAMAGED : FL_JOURNAL_TORN;
	return verdict;
}

bool fl_journal_replay(const struct fl_journal_verdict *verdict, const void *bytes, size_t *at,
		       struct fl_journal_record *ret)
{
	struct reader r = { .p = bytes, .len = verdict->good, .seed = seed(verdict->generation) };
	size_t size;

	if (!verdict->usable)
		return false;
	if (*at == 0)
		*at = FL_JOURNAL_HEADER;
	do {
		size = record_at(&r, *at, ret);
		*at += size;
	} while (size && ret->what == FL_JOURNAL_MARK);
	return size != 0;
}
