#include "base/err.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

FL_NAMES(fl_code_names, FL_E_COUNT_,
	 [FL_OK] = "ok", [FL_E_INVALID] = "invalid", [FL_E_NOTFOUND] = "not found", [FL_E_EXISTS] = "exists",
	 [FL_E_CONFLICT] = "conflict", [FL_E_DENIED] = "denied", [FL_E_TOOBIG] = "too big", [FL_E_AGAIN] = "not ready",
	 [FL_E_RETRY] = "try again later", [FL_E_TIMEOUT] = "deadline passed", [FL_E_CLOSED] = "closed",
	 [FL_E_UNSUPPORTED] = "not supported", [FL_E_CORRUPT] = "corrupt", [FL_E_NOMEM] = "out of memory",
	 [FL_E_IO] = "i/o error");

static const struct {
	int sys;
	enum fl_code code;
} errnos[] = {
	{ EINVAL, FL_E_INVALID },    { ENAMETOOLONG, FL_E_INVALID }, { ENOENT, FL_E_NOTFOUND },
	{ ENOTDIR, FL_E_NOTFOUND },  { ESRCH, FL_E_NOTFOUND },       { EEXIST, FL_E_EXISTS },
	{ EADDRINUSE, FL_E_EXISTS }, { EACCES, FL_E_DENIED },        { EPERM, FL_E_DENIED },
	{ ELOOP, FL_E_DENIED },      { EXDEV, FL_E_DENIED },         { EFBIG, FL_E_TOOBIG },
	{ EMSGSIZE, FL_E_TOOBIG },   { EAGAIN, FL_E_AGAIN },         { EINPROGRESS, FL_E_AGAIN },
	{ EINTR, FL_E_RETRY },       { EMFILE, FL_E_RETRY },         { ENFILE, FL_E_RETRY },
	{ ENOSPC, FL_E_RETRY },      { EDQUOT, FL_E_RETRY },         { ECONNREFUSED, FL_E_RETRY },
	{ ENETUNREACH, FL_E_RETRY }, { EHOSTUNREACH, FL_E_RETRY },   { EBUSY, FL_E_RETRY },
	{ ETIMEDOUT, FL_E_TIMEOUT }, { EPIPE, FL_E_CLOSED },         { ECONNRESET, FL_E_CLOSED },
	{ ENOTCONN, FL_E_CLOSED },   { ENOSYS, FL_E_UNSUPPORTED },   { EOPNOTSUPP, FL_E_UNSUPPORTED },
	{ ENOMEM, FL_E_NOMEM },
};

enum fl_code fl_code_of_errno(int sys)
{
	for (size_t i = 0; i < sizeof errnos / sizeof *errnos; i++)
		if (errnos[i].sys == sys)
			return errnos[i].code;
	return FL_E_IO;
}

/* A full text may have lost the end of its last character: end before that one. */
static void cut(char text[static FL_ERR_TEXT])
{
	uint32_t len = FL_ERR_TEXT - 1, back = 1;

	while (back < 4 && ((unsigned char)text[len - back] & 0xc0) == 0x80)
		back++;
	if ((unsigned char)text[len - back] >= 0xc0 && !fl_str_utf8_len((struct fl_str){ text + len - back, back }))
		text[len - back] = 0;
}

/* Through a text of its own, because the arguments may well lie in err->text. */
static void set_text(struct fl_err *err, const char *fmt, va_list args)
{
	char text[FL_ERR_TEXT];
	int len = vsnprintf(text, sizeof text, fmt, args);

	if (len < 0)
		text[0] = 0;
	memcpy(err->text, text, sizeof text);
	if (len >= FL_ERR_TEXT)
		cut(err->text);
}

static void append(struct fl_err *err, const char *words)
{
	size_t len = strlen(err->text);

	if ((size_t)snprintf(err->text + len, sizeof err->text - len, ": %s", words) >= sizeof err->text - len)
		cut(err->text);
}

int fl_fail(struct fl_err *err, enum fl_code code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -(int)code;
	err->code = code;
	err->sys = 0;
	va_start(args, fmt);
	set_text(err, fmt, args);
	va_end(args);
	return -(int)code;
}

int fl_fail_sys(struct fl_err *err, int sys, const char *fmt, ...)
{
	const char *said = strerrordesc_np(sys);
	va_list args;

	if (!err)
		return -(int)fl_code_of_errno(sys);
	err->code = fl_code_of_errno(sys);
	err->sys = sys;
	va_start(args, fmt);
	set_text(err, fmt, args);
	va_end(args);
	append(err, said ? said : "?");
	return -(int)err->code;
}

int fl_wrap(struct fl_err *err, const char *fmt, ...)
{
	char old[FL_ERR_TEXT];
	va_list args;

	if (!err)
		return -FL_E_IO;
	memcpy(old, err->text, sizeof old);
	va_start(args, fmt);
	set_text(err, fmt, args);
	va_end(args);
	append(err, old);
	return -(int)err->code;
}

int fl_fail_as(struct fl_err *err, const struct fl_err *cause)
{
	if (err && err != cause)
		*err = *cause;
	return -(int)cause->code;
}
