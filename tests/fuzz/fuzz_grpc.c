/* gRPC frames, cut at random places, must give the same messages as in one piece; each message is read as every kind
 * that a peer sends us; what can be read can be written and reads the same again. Headers' texts are taken as they
 * come. */
#include "base/units.h"
#include "fuzz.h"
#include "grpc/kubelet.h"
#include "grpc/pb.h"
#include "grpc/wire.h"
#include <stdlib.h>

static const struct fl_grpc_method *const methods[] = {
	&fl_kubelet_register, &fl_plugin_list_and_watch, &fl_plugin_preferred, &fl_plugin_allocate,
	&fl_registration_info, &fl_registration_status,  &fl_pods_list,        &fl_pods_allocatable,
};

static void must(bool so)
{
	if (!so)
		abort();
}

static void read_and_write(const ProtobufCMessageDescriptor *type, struct fl_str bytes)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf once = FL_BUF(FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf twice = FL_BUF(FL_MIB);
	const ProtobufCMessage *message, *again;

	if (fl_pb_read(&arena, type, bytes, &message, NULL) < 0)
		return;
	must(fl_pb_write(&once, message, NULL) == 0);
	must(fl_pb_read(&arena, type, fl_str_sub(fl_buf_view(&once), FL_GRPC_PREFIX, UINT32_MAX), &again, NULL) == 0);
	must(fl_pb_write(&twice, again, NULL) == 0);
	must(fl_str_eq(fl_buf_view(&once), fl_buf_view(&twice)));
}

/* Messages and how it ended, as one text. */
static void frames(struct fl_str all, uint32_t step, struct fl_buf *said)
{
	struct fl_grpc_frames cutter = { .max = 64 * FL_KIB };
	int result = 0;

	for (uint32_t at = 0; at < all.len && result >= 0; at += step) {
		struct fl_str piece = fl_str_sub(all, at, step), message;

		while ((result = fl_grpc_next(&cutter, &piece, &message, NULL)) > 0) {
			fl_buf_printf(said, "%u:", message.len);
			fl_buf_str(said, message);
		}
	}
	fl_buf_printf(said, " %d %d", result, result < 0 ? 0 : fl_grpc_frames_whole(&cutter));
	fl_grpc_frames_free(&cutter);
}

static void texts(struct fl_str text)
{
	FL_AUTO(fl_buf) struct fl_buf plain = FL_BUF(FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf escaped = FL_BUF(4 * FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf back = FL_BUF(FL_MIB);
	uint64_t ns;

	fl_grpc_unescape(&plain, text);
	fl_grpc_escape(&escaped, fl_buf_view(&plain));
	fl_grpc_unescape(&back, fl_buf_view(&escaped));
	must(fl_str_eq(fl_buf_view(&plain), fl_buf_view(&back)));
	(void)fl_grpc_timeout_parse(text, &ns);
	(void)fl_grpc_status_parse(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_str all = { (const char *)data, (uint32_t)size };
	FL_AUTO(fl_buf) struct fl_buf whole = FL_BUF(4 * FL_MIB);
	FL_AUTO(fl_buf) struct fl_buf cut = FL_BUF(4 * FL_MIB);

	if (size == 0 || size > 128 * FL_KIB)
		return 0;
	frames(all, all.len, &whole);
	frames(all, 1 + data[0] % 7u, &cut);
	must(fl_str_eq(fl_buf_view(&whole), fl_buf_view(&cut)));
	for (size_t i = 0; i < FL_LEN(methods); i++) {
		read_and_write(methods[i]->request, all);
		read_and_write(methods[i]->reply, all);
	}
	texts(all);
	return 0;
}
