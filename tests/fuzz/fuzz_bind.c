/* Any JSON, bound to the demo kind: what is written of it is read back the same, the packed form too, and broken packed
 * bytes are refused. */
#include "api/demo.h"
#include "base/units.h"
#include "fuzz.h"
#include "json/bind_pack.h"
#include <assert.h>

static void write_text(const void *object, struct fl_buf *buf)
{
	struct fl_jw w = FL_JW(buf);

	fl_encode(fl_demo_bind(), object, &w);
	assert(!buf->failed);
}

static void pack(const void *object, struct fl_buf *buf)
{
	int r = fl_pack(fl_demo_bind(), object, NULL, buf, NULL);

	assert(r == 0);
}

/* Bytes that may be anything must be refused, or be some object: never more than a wrong answer. */
static void unpack_anything(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_demo demo;

	(void)!fl_unpack(fl_demo_bind(), (struct fl_str){ (const char *)data, (uint32_t)size }, &arena, &demo, NULL);
}

static bool has_handle(const uint8_t *data, size_t size)
{
	return memchr(data, 242, size) != NULL;   /* an address: never unpacked from elsewhere */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { .max = FL_ARENA_MAX };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_MIB), again = FL_BUF(64 * FL_MIB),
				      packed = FL_BUF(64 * FL_MIB),
				      packed_again = FL_BUF(64 * FL_MIB);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL, *second = NULL;
	struct fl_demo first, back, unpacked;
	struct fl_fault_list faults;
	struct fl_str_list paths;

	if (size > 64 * FL_KIB)
		return 0;
	if (!has_handle(data, size))
		unpack_anything(data, size);
	if (fl_json_read(NULL, (struct fl_str){ (const char *)data, (uint32_t)size }, 0, &doc, NULL) < 0 ||
	    fl_decode(fl_demo_bind(), yyjson_doc_get_root(doc), &arena, FL_DECODE_BORROW, &first, NULL) < 0)
		return 0;
	write_text(&first, &text);
	if (fl_json_read(NULL, fl_buf_view(&text), FL_JSON_STRICT, &second, NULL) < 0 ||
	    fl_decode(fl_demo_bind(), yyjson_doc_get_root(second), &arena, FL_DECODE_STRICT, &back, NULL) < 0)
		assert(!"what we write is read");
	write_text(&back, &again);
	assert(fl_str_eq(fl_buf_view(&text), fl_buf_view(&again)));
	FL_UNSET(&first, faults);
	if (fl_diff(fl_demo_bind(), &first, &back, &arena, &paths, NULL) == 0)
		assert(paths.len == 0 && fl_equal(fl_demo_bind(), &first, &back));
	pack(&first, &packed);
	if (fl_unpack(fl_demo_bind(), fl_buf_view(&packed), &arena, &unpacked, NULL) == 0) {
		assert(fl_equal(fl_demo_bind(), &first, &unpacked));
		pack(&unpacked, &packed_again);
		assert(fl_str_eq(fl_buf_view(&packed), fl_buf_view(&packed_again)));
	}
	(void)!fl_check(fl_demo_bind(), NULL, &first, &arena, &faults, NULL);
	return 0;
}
