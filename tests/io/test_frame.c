#include "base/units.h"
#include "io/frame.h"
#include "test.h"

TEST(a_frame_comes_back_as_it_was)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
	struct fl_frame got;
	struct fl_err err = { 0 };
	int64_t taken;

	fl_frame_write(&buf, &(struct fl_frame){ FL_FRAME_REQUEST, 300, 70000, FL_S("ask") });
	fl_frame_write(&buf, &(struct fl_frame){ FL_FRAME_EVENT, 2, 0, FL_S("") });
	OK(fl_buf_check(&buf, "frames", NULL));
	for (uint32_t len = 0; len < FL_FRAME_HEADER + 3; len++)
		CHECK_INT(fl_frame_read((struct fl_str){ buf.p, len }, &got, &err), 0);
	taken = fl_frame_read(fl_buf_view(&buf), &got, &err);
	CHECK_INT(taken, FL_FRAME_HEADER + 3);
	CHECK_INT(got.type, FL_FRAME_REQUEST);
	CHECK_INT(got.kind, 300);
	CHECK_INT(got.id, 70000);
	CHECK_STR(got.payload, "ask");
	fl_buf_drop(&buf, (size_t)taken);
	CHECK_INT(fl_frame_read(fl_buf_view(&buf), &got, &err), FL_FRAME_HEADER);
	CHECK_INT(got.type, FL_FRAME_EVENT);
}

TEST(a_frame_has_a_ceiling_in_both_directions)
{
	static char big[FL_FRAME_MAX + 1];
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(2 * FL_FRAME_MAX);
	struct fl_frame got;
	struct fl_err err = { 0 };

	fl_frame_write(&buf, &(struct fl_frame){ .type = FL_FRAME_REPLY, .payload = { big, FL_FRAME_MAX } });
	OK(fl_buf_check(&buf, "frame", NULL));
	CHECK_INT(fl_frame_read(fl_buf_view(&buf), &got, &err), (int64_t)(FL_FRAME_HEADER + FL_FRAME_MAX));
	buf.p[0] = 1;
	REFUSED(fl_frame_read(fl_buf_view(&buf), &got, &err), FL_E_TOOBIG);
	fl_buf_clear(&buf);
	fl_frame_write(&buf, &(struct fl_frame){ .type = FL_FRAME_REPLY, .payload = { big, sizeof big } });
	REFUSED(fl_buf_check(&buf, "frame", NULL), FL_E_TOOBIG);
}

static const struct {
	const char *says;
	struct fl_str bytes;
	enum fl_code code;
} refused[] = {
	{ "a text is no frame", FL_S_INIT("Segmentation fault\n"), FL_E_INVALID },
	{ "type 0 is no frame", FL_S_INIT("\0\0\0\0" "\0\0\0\0" "\0\0\0\0"), FL_E_INVALID },
	{ "an unknown type is no frame", FL_S_INIT("\0\0\0\0" "\0\0\0\0" "\0\0\5\0"), FL_E_INVALID },
	{ "the spare byte is zero", FL_S_INIT("\0\0\0\0" "\0\0\0\0" "\0\0\1\1"), FL_E_INVALID },
	{ "a length beyond the ceiling is refused before it is waited for",
	  FL_S_INIT("\0\0\0\1" "\0\0\0\0" "\0\0\1\0"), FL_E_TOOBIG },
};

TEST(what_is_no_frame_is_refused)
{
	EACH_ROW (row, refused) {
		struct fl_frame got;
		struct fl_err err = { 0 };

		REFUSED(fl_frame_read(row->bytes, &got, &err), row->code);
		CHECK(err.text[0] != 0);
	}
}

TEST(the_first_frame_says_which_protocol_is_spoken)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
	struct fl_frame got;
	struct fl_err err = { 0 };

	fl_frame_write_hello(&buf);
	OK(fl_buf_check(&buf, "hello", NULL));
	CHECK_INT(fl_frame_read(fl_buf_view(&buf), &got, &err), (int64_t)buf.len);
	OK(fl_frame_check_hello(&got, &err));
	buf.p[buf.len - 4]++;
	REFUSED(fl_frame_check_hello(&got, &err), FL_E_UNSUPPORTED);
	buf.p[FL_FRAME_HEADER]++;
	REFUSED(fl_frame_check_hello(&got, &err), FL_E_INVALID);
	REFUSED(fl_frame_check_hello(&(struct fl_frame){ .type = FL_FRAME_EVENT }, &err), FL_E_INVALID);
}
