#include "local/cause.h"
#include <stdio.h>

static struct fl_str print(struct fl_arena *arena, const char *fmt, va_list args)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = len < 0 ? NULL : fl_arena_get(arena, (size_t)len + 1);
	if (!text)
		return (struct fl_str){ 0 };
	(void)vsnprintf(text, (size_t)len + 1, fmt, args);
	return (struct fl_str){ text, (uint32_t)len };
}

void fl_cause_add(struct fl_causes *causes, const char *reason, struct fl_str field, const char *fmt, ...)
{
	struct fl_cause *cause = fl_arena_get(causes->arena, sizeof *cause);
	va_list args;

	if (!cause) {
		causes->failed = true;
		return;
	}
	va_start(args, fmt);
	*cause = (struct fl_cause){ reason, fl_arena_str(causes->arena, field), print(causes->arena, fmt, args), NULL };
	va_end(args);
	if (!cause->field.p || !cause->message.p) {
		causes->failed = true;
		return;
	}
	if (causes->last)
		causes->last->next = cause;
	else
		causes->first = cause;
	causes->last = cause;
	causes->len++;
}

static bool is_repeated(const struct fl_cause *before, const struct fl_cause *cause)
{
	return before && cause->reason && fl_str_eq(before->field, cause->field) &&
	       fl_str_eq(before->message, cause->message);
}

void fl_causes_text(const struct fl_causes *causes, struct fl_buf *buf)
{
	const struct fl_cause *before = NULL;
	uint32_t told = 0, len = 0;

	for (const struct fl_cause *cause = causes->first; cause; before = cause, cause = cause->next)
		len += !is_repeated(before, cause);
	before = NULL;
	if (len > 1)
		fl_buf_char(buf, '[');
	for (const struct fl_cause *cause = causes->first; cause; before = cause, cause = cause->next) {
		if (is_repeated(before, cause))
			continue;
		if (told++)
			fl_buf_str(buf, FL_S(", "));
		if (cause->reason) {
			fl_buf_str(buf, cause->field);
			fl_buf_str(buf, FL_S(": "));
		}
		fl_buf_str(buf, cause->message);
	}
	if (len > 1)
		fl_buf_char(buf, ']');
}
