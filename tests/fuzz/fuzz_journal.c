/* Any bytes as a journal's file: recovered or refused, and what is recovered is written and read back the same. */
#include "fuzz.h"
#include "io/journal_format.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_journal_verdict verdict = fl_journal_judge(data, size), again;
	struct fl_buf copy = FL_BUF(2 * size + 4096);
	struct fl_journal_record record;
	uint32_t count = 0;

	if (verdict.good > size || (verdict.state == FL_JOURNAL_WHOLE && (!verdict.usable || verdict.good != size)))
		abort();
	fl_journal_write_header(&copy, 7, 1);
	fl_journal_write_record(&copy, 7, &(struct fl_journal_record){ .what = FL_JOURNAL_MARK, .seq = 1 });
	for (size_t at = 0; fl_journal_replay(&verdict, data, &at, &record); count++) {
		record.seq = 2 + count;
		record.batch = 0;
		fl_journal_write_record(&copy, 7, &record);
	}
	if (count != (verdict.usable ? verdict.records : 0))
		abort();
	if (!copy.failed) {
		again = fl_journal_judge(copy.p, copy.len);
		if (again.state != FL_JOURNAL_WHOLE || again.records != count)
			abort();
	}
	fl_buf_free(&copy);
	return 0;
}
