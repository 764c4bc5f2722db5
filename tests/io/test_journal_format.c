/* What a journal file is worth after something happened to it. */
#include "base/units.h"
#include "io/journal_format.h"
#include "test.h"

enum { GENERATION = 7 };

/* Two live records and the mark (numbers 3, 5, 6), then two batches: a=7; b=8 with c=9. */
static void record(struct fl_buf *buf, enum fl_journal_what what, uint64_t seq, uint32_t batch, const char *key)
{
	fl_journal_write_record(buf, GENERATION, &(struct fl_journal_record){
		.what = what, .kind = 1, .seq = seq, .batch = batch, .key = fl_str(key), .value = FL_S("value") });
}

static void make(struct fl_buf *buf)
{
	fl_journal_write_header(buf, GENERATION, 6);
	record(buf, FL_JOURNAL_PUT, 3, 0, "old");
	record(buf, FL_JOURNAL_PUT, 5, 0, "older");
	record(buf, FL_JOURNAL_MARK, 6, 0, "");
	record(buf, FL_JOURNAL_PUT, 7, 0, "a");
	record(buf, FL_JOURNAL_PUT, 8, 0, "b");
	record(buf, FL_JOURNAL_DELETE, 9, 1, "c");
}

/* Where things stand: header 0, records of 32 or 40 bytes from there. */
enum {
	OLD = FL_JOURNAL_HEADER, OLDER = OLD + 32, MARK = OLDER + 40, A = MARK + 32, B = A + 32, C = B + 32,
	END = C + 32,
};

static const struct {
	const char *says;
	uint32_t cut;              /* the file ends here; 0: as written */
	uint32_t flip;             /* this byte is changed; 0: none */
	uint32_t zero, zeros;      /* these bytes read as zeros, also beyond the end */
	enum fl_journal_state state;
	bool usable;
	uint32_t records;
	uint64_t seq;
} rows[] = {
	{ "a file as it was written is whole", 0, 0, 0, 0, FL_JOURNAL_WHOLE, true, 5, 9 },
	{ "a file that ends with the snapshot is whole", A, 0, 0, 0, FL_JOURNAL_WHOLE, true, 2, 6 },
	{ "a last record that is cut is a torn tail", END - 1, 0, 0, 0, FL_JOURNAL_TORN, true, 4, 8 },
	{ "a last header that is cut is a torn tail", C + 3, 0, 0, 0, FL_JOURNAL_TORN, true, 4, 8 },
	{ "a last record that is wrong is a torn tail", 0, C + 28, 0, 0, FL_JOURNAL_TORN, true, 4, 8 },
	{ "a hole in the last batch is a torn tail", 0, 0, B, 32, FL_JOURNAL_TORN, true, 3, 7 },
	{ "zeros after the end are a torn tail", 0, 0, END, 4096, FL_JOURNAL_TORN, true, 5, 9 },
	{ "a hole in an earlier batch is damage", 0, 0, A, 32, FL_JOURNAL_DAMAGED, true, 2, 6 },
	{ "a flipped length in an earlier batch is damage", 0, A + 5, 0, 0, FL_JOURNAL_DAMAGED, true, 2, 6 },
	{ "a flipped value in an earlier batch is damage", 0, A + 28, 0, 0, FL_JOURNAL_DAMAGED, true, 2, 6 },
	{ "damage in the snapshot makes the file unusable", 0, OLDER + 30, 0, 0, FL_JOURNAL_DAMAGED, false, 1, 3 },
	{ "a damaged mark makes the file unusable", 0, MARK + 20, 0, 0, FL_JOURNAL_DAMAGED, false, 2, 5 },
	{ "a snapshot that is cut makes the file unusable", MARK, 0, 0, 0, FL_JOURNAL_DAMAGED, false, 2, 5 },
	{ "a header that is cut makes the file unusable", 20, 0, 0, 0, FL_JOURNAL_DAMAGED, false, 0, 0 },
	{ "a damaged header makes the file unusable", 0, 17, 0, 0, FL_JOURNAL_DAMAGED, false, 0, 0 },
	{ "another version is foreign", 0, 8, 0, 0, FL_JOURNAL_FOREIGN, false, 0, 0 },
	{ "another beginning is foreign", 0, 1, 0, 0, FL_JOURNAL_FOREIGN, false, 0, 0 },
	{ "a few bytes are foreign", 5, 0, 0, 0, FL_JOURNAL_FOREIGN, false, 0, 0 },
};

TEST(a_file_is_judged)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16 * FL_KIB);
		struct fl_journal_verdict verdict;
		struct fl_journal_record got;
		uint32_t count = 0;
		char zeros[4096] = { 0 };

		make(&buf);
		if (row->zero == END)
			fl_buf_put(&buf, zeros, row->zeros);
		OK(fl_buf_check(&buf, "file", NULL));
		CHECK_INT(row->zero == END ? (int64_t)END + 4096 : END, (int64_t)buf.len);
		if (row->flip)
			buf.p[row->flip] ^= 0x41;
		if (row->zero && row->zero < END)
			memset(buf.p + row->zero, 0, row->zeros);
		if (row->cut)
			buf.len = row->cut;
		verdict = fl_journal_judge(buf.p, buf.len);
		CHECK_INT(verdict.state, row->state);
		CHECK_INT(verdict.usable, row->usable);
		CHECK_INT(verdict.records, row->records);
		CHECK_INT((int64_t)verdict.seq, (int64_t)row->seq);
		for (size_t at = 0; fl_journal_replay(&verdict, buf.p, &at, &got);)
			count++;
		CHECK_INT(count, row->usable ? row->records : 0);
	}
}

TEST(an_empty_file_is_empty)
{
	struct fl_journal_verdict verdict = fl_journal_judge("", 0);

	CHECK_INT(verdict.state, FL_JOURNAL_EMPTY);
	CHECK(!verdict.usable);
}

TEST(records_come_back_as_they_were)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16 * FL_KIB);
	static const char *const keys[] = { "old", "older", "a", "b", "c" };
	static const uint64_t numbers[] = { 3, 5, 7, 8, 9 };
	struct fl_journal_verdict verdict;
	struct fl_journal_record got;
	size_t at = 0, i = 0;

	make(&buf);
	OK(fl_buf_check(&buf, "file", NULL));
	verdict = fl_journal_judge(buf.p, buf.len);
	while (fl_journal_replay(&verdict, buf.p, &at, &got)) {
		CHECK(i < FL_LEN(keys));
		CHECK_STR(got.key, keys[i]);
		CHECK_STR(got.value, "value");
		CHECK_INT(got.kind, 1);
		CHECK_INT(got.what, i == 4 ? FL_JOURNAL_DELETE : FL_JOURNAL_PUT);
		CHECK_INT((int64_t)got.seq, (int64_t)numbers[i++]);
	}
	CHECK_INT((int64_t)i, (int64_t)FL_LEN(keys));
}

TEST(no_single_changed_byte_passes)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16 * FL_KIB);

	make(&buf);
	OK(fl_buf_check(&buf, "file", NULL));
	for (size_t i = 0; i < buf.len; i++) {
		struct fl_journal_verdict verdict;
		bool padding = (i >= OLDER + 34 && i < MARK) || (i >= MARK + 29 && i < A) || (i >= A + 30 && i < B) ||
			       (i >= B + 30 && i < C) || i >= C + 30;

		buf.p[i] ^= 0x10;
		verdict = fl_journal_judge(buf.p, buf.len);
		buf.p[i] ^= 0x10;
		CHECK(padding || verdict.state != FL_JOURNAL_WHOLE);
	}
}

/* A file system may show blocks of a removed file behind the end of a new one. */
TEST(a_record_of_another_generation_is_not_taken)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(16 * FL_KIB);
	struct fl_journal_verdict verdict;

	make(&buf);
	fl_journal_write_record(&buf, GENERATION - 1, &(struct fl_journal_record){
		.what = FL_JOURNAL_PUT, .seq = 10, .key = FL_S("stale"), .value = FL_S("") });
	OK(fl_buf_check(&buf, "file", NULL));
	verdict = fl_journal_judge(buf.p, buf.len);
	CHECK_INT(verdict.state, FL_JOURNAL_TORN);
	CHECK_INT((int64_t)verdict.seq, 9);
}
