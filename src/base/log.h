/* log.h - one JSON object a line.
 *
 *     fl_log(log, FL_INFO, "device list sent", FL_KV_STR("resource", name), FL_KV_INT("devices", n));
 *     fl_log(log, FL_WARN, "cannot write the CDI file, will retry in 5 s", FL_KV_TEXT("path", path), FL_KV_ERR(&err));
 *
 *     {"ts":"2025-01-02T03:04:05.678901Z","level":"info","role":"node","msg":"device list sent",
 *      "resource":"nvidia.com/gpu","devices":8,"at":"plugin.c:71"}
 *
 * Libraries return errors, programs log them: one line a failure, where its consequence is known. A NULL log is silent.
 * Nothing here allocates or fails. Outside texts are made safe: bytes that are not UTF-8 are replaced, control
 * characters escaped. A value is cut after FL_LOG_VALUE bytes and then ends in an ellipsis. A line has at most
 * FL_LOG_LINE bytes: pairs that do not fit are left out, and the line gets "cut":true.
 *
 * Each place in the code may log FL_LOG_BURST lines at once and one more each FL_LOG_EVERY. Its next line then has the
 * count "suppressed". FL_DEBUG is not limited. Where lines are not taken, the next one that is has their count "lost".
 */
#pragma once
#include "base/buf.h"
#include "base/units.h"

#define FL_LOG_LINE 4096        /* PIPE_BUF: a pipe takes it whole, so lines of two processes never mix */
#define FL_LOG_VALUE 1024       /* one long text from outside leaves room for the others */
#define FL_LOG_BURST 20         /* a line a card of the largest machine, and some to spare */
#define FL_LOG_EVERY FL_NS_PER_S   /* one line more from the same place */
#define FL_LOG_SITES 256        /* places that log in one process, 24 bytes each */

enum fl_level { FL_DEBUG, FL_INFO, FL_WARN, FL_ERROR, FL_LEVEL_COUNT_ };
extern const struct fl_names fl_level_names;        /* debug info warn error */

enum fl_log_format { FL_LOG_JSON, FL_LOG_TEXT, FL_LOG_FORMAT_COUNT_ };
extern const struct fl_names fl_log_format_names;   /* json text: the latter for a person at a console */

/* Where lines go and where time comes from; io/log_stderr.h has the real one. */
struct fl_log_to {
	/* One call a line, its line end included. False: the line is lost. */
	bool (*line)(void *self, const char *line, size_t len);
	uint64_t (*now)(void *self);                              /* monotonic ns, for the rate */
	int64_t (*wall)(void *self);                              /* ns since 1970, for people */
	void *self;
};

/* A place that has logged; found by file and line, so that a run under a simulated clock is always the same. */
struct fl_log_site {
	const char *file;
	uint32_t line;
	uint32_t suppressed;
	uint64_t paid_until;   /* ns: each line moves it on by FL_LOG_EVERY, and it must not run too far ahead of now */
};

struct fl_log {
	enum fl_level level;   /* may be set at any time; lower levels cost nothing */
	enum fl_log_format format;
	const char *role;      /* in every line when not NULL; borrowed */
	struct fl_log_to to;
	struct fl_log_site sites[FL_LOG_SITES];
	uint64_t lost, lost_told;   /* lines that were not taken, since the start; as many a line has told of */
};

void fl_log_init(struct fl_log *log, const struct fl_log_to *to, const char *role);

/* One line for each place whose last lines were suppressed, or if no line has told of those that were lost. Call it now
 * and then, and at the end. */
void fl_log_flush(struct fl_log *log);

/* A text that is never shown: only FL_KV_SECRET takes one. For tokens, keys and passwords. */
struct fl_secret {
	struct fl_str hidden;
};

struct fl_kv {
	const char *key;       /* a literal: letters, digits and underscores */
	enum {
		FL_KV_TYPE_END, FL_KV_TYPE_STR, FL_KV_TYPE_TEXT, FL_KV_TYPE_INT, FL_KV_TYPE_UINT,
		FL_KV_TYPE_BOOL, FL_KV_TYPE_DURATION, FL_KV_TYPE_ERR, FL_KV_TYPE_SECRET,
	} type;
	union {
		struct fl_str str;
		const char *text;
		int64_t i;
		uint64_t u;
		bool is;
		const struct fl_err *err;
		struct fl_secret secret;
	};
};

#define FL_KV_STR(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_STR, .str = (value) })
/* Terminated; NULL prints as null. */
#define FL_KV_TEXT(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_TEXT, .text = (value) })
#define FL_KV_INT(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_INT, .i = (value) })
#define FL_KV_UINT(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_UINT, .u = (value) })
#define FL_KV_BOOL(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_BOOL, .is = (value) })
/* Nanoseconds; prints as "1.5s". */
#define FL_KV_DURATION(key_, ns) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_DURATION, .i = (ns) })
#define FL_KV_SECRET(key_, value) ((struct fl_kv){ .key = (key_), .type = FL_KV_TYPE_SECRET, .secret = (value) })
/* As "error" (its text) and "code"; left out when NULL. */
#define FL_KV_ERR(value) ((struct fl_kv){ .key = "error", .type = FL_KV_TYPE_ERR, .err = (value) })

/* The message is a literal: put what varies into keys. The values are evaluated only when the level is on. */
#define fl_log(log, level_, message, ...) \
	do { \
		struct fl_log *log_ = (log); \
		if (log_ && (level_) >= log_->level) \
			fl_log_(log_, (level_), __FILE_NAME__, __LINE__, "" message, \
				(const struct fl_kv[]){ __VA_ARGS__ __VA_OPT__(, ) { .type = FL_KV_TYPE_END } }); \
	} while (0)
void fl_log_(struct fl_log *log, enum fl_level level, const char *file, uint32_t line, const char *message,
	     const struct fl_kv *kv);
