/* wire.h - what gRPC puts on HTTP/2: message frames, status, timeouts. Bytes in, bytes out; nothing here waits.
 *
 * Names, numbers and rules: reference node-interfaces, section 2. Compression is never sent and never understood.
 */
#pragma once
#include "base/buf.h"

#define FL_GRPC_QUEUE_MAX (8 * FL_MIB)     /* bytes queued for a caller: two of the largest messages */
#define FL_GRPC_WORDS_MAX (4 * FL_KIB)     /* a status message; grpc-go refuses header lists over 16 KiB */

enum fl_grpc_status {
	FL_GRPC_OK, FL_GRPC_CANCELLED, FL_GRPC_UNKNOWN, FL_GRPC_INVALID_ARGUMENT, FL_GRPC_DEADLINE_EXCEEDED,
	FL_GRPC_NOT_FOUND, FL_GRPC_ALREADY_EXISTS, FL_GRPC_PERMISSION_DENIED, FL_GRPC_RESOURCE_EXHAUSTED,
	FL_GRPC_FAILED_PRECONDITION, FL_GRPC_ABORTED, FL_GRPC_OUT_OF_RANGE, FL_GRPC_UNIMPLEMENTED, FL_GRPC_INTERNAL,
	FL_GRPC_UNAVAILABLE, FL_GRPC_DATA_LOSS, FL_GRPC_UNAUTHENTICATED, FL_GRPC_COUNT_
};
extern const struct fl_names fl_grpc_status_names;   /* as shown to people: "DeadlineExceeded" */

#define FL_GRPC_PREFIX 5   /* bytes before each message: compressed flag, length */

/* ---- messages ---- */

/* Cuts a stream of bytes into messages. Zero-initialise, set `max`, free with fl_grpc_frames_free. */
struct fl_grpc_frames {
	size_t max;             /* a longer message is refused */
	struct fl_buf held;     /* an incomplete message */
	bool refused;
};

/* Take bytes from *in and return the next whole message: 1 and the message, which lives in *in or in the frames until
 * the next call; 0 when all of *in is taken and no message is complete. -FL_E_TOOBIG, -FL_E_UNSUPPORTED (compressed) or
 * -FL_E_NOMEM: the stream cannot go on. */
int fl_grpc_next(struct fl_grpc_frames *frames, struct fl_str *in, struct fl_str *ret_message, struct fl_err *err);

/* Did the bytes end between messages? */
bool fl_grpc_frames_whole(const struct fl_grpc_frames *frames);
void fl_grpc_frames_free(struct fl_grpc_frames *frames);

void fl_grpc_prefix(uint32_t len, uint8_t ret[static FL_GRPC_PREFIX]);

/* ---- status ---- */

/* grpc-message: bytes beyond printable ASCII, and the percent sign, as %XX; decoded leniently. */
void fl_grpc_escape(struct fl_buf *out, struct fl_str text);
void fl_grpc_unescape(struct fl_buf *out, struct fl_str text);

/* The text of a grpc-status header; an invalid one is UNKNOWN. */
enum fl_grpc_status fl_grpc_status_parse(struct fl_str text);

enum fl_grpc_status fl_grpc_status_of_http(int http_status);
enum fl_grpc_status fl_grpc_status_of_reset(uint32_t h2_error, bool past_deadline);
enum fl_grpc_status fl_grpc_status_of_code(enum fl_code code);
enum fl_grpc_status fl_grpc_status_of_bytes(enum fl_code code);   /* of received bytes: bad ones are INTERNAL */
enum fl_code fl_grpc_code_of_status(enum fl_grpc_status status);

/* ---- grpc-timeout ---- */

/* Up to eight digits and a unit of HMSmun; false when invalid. Saturates. */
bool fl_grpc_timeout_parse(struct fl_str text, uint64_t *ret_ns);

/* In the finest unit that fits, rounded up; terminated. */
struct fl_str fl_grpc_timeout_print(uint64_t ns, char buf[static 16]);
