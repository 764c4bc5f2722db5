#include "kube/status.h"
#include "base/units.h"

FL_NAMES(fl_reason_names, FL_REASON_COUNT_, [FL_REASON_NONE] = "", [FL_REASON_UNAUTHORIZED] = "Unauthorized",
	 [FL_REASON_FORBIDDEN] = "Forbidden", [FL_REASON_NOT_FOUND] = "NotFound", [FL_REASON_EXISTS] = "AlreadyExists",
	 [FL_REASON_CONFLICT] = "Conflict", [FL_REASON_EXPIRED] = "Expired", [FL_REASON_INVALID] = "Invalid",
	 [FL_REASON_BAD_REQUEST] = "BadRequest", [FL_REASON_TOO_LARGE] = "RequestEntityTooLarge",
	 [FL_REASON_UNSUPPORTED] = "MethodNotAllowed", [FL_REASON_THROTTLED] = "TooManyRequests",
	 [FL_REASON_TIMEOUT] = "Timeout", [FL_REASON_AHEAD] = "ResourceVersionTooLarge",
	 [FL_REASON_BROKEN] = "InternalError");

static const enum fl_code code_of[] = {
	[FL_REASON_NONE] = FL_E_INVALID, [FL_REASON_UNAUTHORIZED] = FL_E_DENIED, [FL_REASON_FORBIDDEN] = FL_E_DENIED,
	[FL_REASON_NOT_FOUND] = FL_E_NOTFOUND, [FL_REASON_EXISTS] = FL_E_EXISTS, [FL_REASON_CONFLICT] = FL_E_CONFLICT,
	[FL_REASON_EXPIRED] = FL_E_CONFLICT, [FL_REASON_INVALID] = FL_E_INVALID, [FL_REASON_BAD_REQUEST] = FL_E_INVALID,
	[FL_REASON_TOO_LARGE] = FL_E_TOOBIG, [FL_REASON_UNSUPPORTED] = FL_E_UNSUPPORTED,
	[FL_REASON_THROTTLED] = FL_E_RETRY, [FL_REASON_TIMEOUT] = FL_E_RETRY, [FL_REASON_AHEAD] = FL_E_RETRY,
	[FL_REASON_BROKEN] = FL_E_RETRY,
};
_Static_assert(FL_LEN(code_of) == FL_REASON_COUNT_, "a code for every reason");

/* Reasons with another spelling than the one that is shown. */
static const struct {
	const char *spelt;
	enum fl_reason reason;
} also[] = {
	{ "Gone", FL_REASON_EXPIRED }, { "ServerTimeout", FL_REASON_TIMEOUT }, { "NotAcceptable",
			FL_REASON_UNSUPPORTED },
	{ "UnsupportedMediaType", FL_REASON_UNSUPPORTED }, { "ServiceUnavailable", FL_REASON_BROKEN },
};

/* What a status says by itself, where no reason is given (a proxy's page) or none that we know. */
static const struct {
	int from, to;
	enum fl_reason reason;
} by_status[] = {
	{ 400, 400, FL_REASON_BAD_REQUEST }, { 401, 401, FL_REASON_UNAUTHORIZED }, { 403, 403, FL_REASON_FORBIDDEN },
	{ 404, 404, FL_REASON_NOT_FOUND }, { 405, 406, FL_REASON_UNSUPPORTED }, { 408, 408, FL_REASON_TIMEOUT },
	{ 409, 409, FL_REASON_CONFLICT }, { 410, 410, FL_REASON_EXPIRED }, { 413, 413, FL_REASON_TOO_LARGE },
	{ 415, 415, FL_REASON_UNSUPPORTED }, { 422, 422, FL_REASON_INVALID }, { 429, 429, FL_REASON_THROTTLED },
	{ 504, 504, FL_REASON_TIMEOUT }, { 500, 599, FL_REASON_BROKEN },
};

static enum fl_reason reason_of(const struct fl_status *status, int http)
{
	int found = status->reason.len ? fl_name_find(&fl_reason_names, status->reason) : -1;

	if (found > 0)
		return (enum fl_reason)found;
	for (size_t i = 0; i < FL_LEN(also); i++)
		if (fl_str_eq(status->reason, fl_str(also[i].spelt)))
			return also[i].reason;
	for (size_t i = 0; i < FL_LEN(by_status); i++)
		if (http >= by_status[i].from && http <= by_status[i].to)
			return by_status[i].reason;
	return FL_REASON_NONE;
}

static bool has_cause(const struct fl_status *status, const char *reason, const char *message)
{
	for (uint32_t i = 0; i < status->details.causes.len; i++)
		if (fl_str_eq(status->details.causes.at[i].reason, fl_str(reason)) ||
		    (message && fl_str_eq(status->details.causes.at[i].message, fl_str(message))))
			return true;
	return false;
}

static uint64_t capped(uint64_t seconds)
{
	return seconds > FL_KUBE_RETRY_MAX / FL_NS_PER_S ? FL_KUBE_RETRY_MAX : seconds * FL_NS_PER_S;
}

static void judge(const struct fl_status *status, int http, struct fl_answer *ret)
{
	enum fl_reason reason = reason_of(status, http);

	*ret = (struct fl_answer){ .reason = reason };
	if (reason == FL_REASON_TIMEOUT && has_cause(status, "ResourceVersionTooLarge", "Too large resource version"))
		ret->reason = FL_REASON_AHEAD;
	/* "404 page not found", or a NotFound that names no object: there is no such kind, or not in this version. */
	if (reason == FL_REASON_NOT_FOUND)
		ret->no_kind = !status->details.name.len;
	if (status->details.has.retry_after_seconds && status->details.retry_after_seconds > 0)
		ret->retry_after = capped((uint64_t)status->details.retry_after_seconds);
}

/* The server's message names the causes already where they are of a validation; those of an apply's conflict too, but
 * after so many words that they would be cut: fields first. */
static int say(const struct fl_status *status, const struct fl_answer *answer, int http, struct fl_err *err)
{
	char text[FL_ERR_TEXT];
	struct fl_buf buf = FL_BUF_IN(text);
	bool apply = has_cause(status, "FieldManagerConflict", NULL);

	text[0] = 0;
	for (uint32_t i = 0; apply && i < status->details.causes.len; i++)
		fl_buf_printf(&buf, "%s%.*s: %.*s", i ? "; " : "", FL_ARG(status->details.causes.at[i].field),
			      FL_ARG(status->details.causes.at[i].message));
	if (apply)
		return fl_fail(err, FL_E_CONFLICT, "%s", text);
	for (uint32_t i = 0; i < status->details.causes.len; i++)   /* which one stands in the cause alone */
		if (fl_str_eq(status->details.causes.at[i].reason, FL_S("DisruptionBudget")))
			return fl_fail(err, code_of[answer->reason], "%.*s %.*s", FL_ARG(status->message),
				       FL_ARG(status->details.causes.at[i].message));
	if (status->message.len)
		return fl_fail(err, code_of[answer->reason], "%.*s", FL_ARG(status->message));
	if (status->reason.len)
		return fl_fail(err, code_of[answer->reason], "%.*s", FL_ARG(status->reason));
	return fl_fail(err, code_of[answer->reason], "the server answers %d", http);
}

int fl_status_fail(int http, yyjson_val *body, struct fl_answer *ret, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_status status = { 0 };

	/* What cannot be read is told by the number alone. */
	if (!body || fl_decode(fl_status_bind(), body, &arena, FL_DECODE_BORROW, &status, NULL) < 0)
		status = (struct fl_status){ 0 };
	if (!http)
		http = status.code;
	judge(&status, http, ret);
	(void)say(&status, ret, http, err);
	/* One line, whatever others wrote into it: it goes to terminals and conditions too. */
	for (char *at = err ? err->text : NULL; at && *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	return -(int)code_of[ret->reason];
}

bool fl_retry_after(struct fl_str header, uint64_t *ret_ns)
{
	uint64_t seconds;

	if (!fl_str_u64(fl_str_trim(header), &seconds))
		return false;
	*ret_ns = capped(seconds);
	return true;
}
