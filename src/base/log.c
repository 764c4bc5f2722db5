#include "base/log.h"
#include "base/units.h"

FL_NAMES(fl_level_names, FL_LEVEL_COUNT_,
	 [FL_DEBUG] = "debug", [FL_INFO] = "info", [FL_WARN] = "warn", [FL_ERROR] = "error");
FL_NAMES(fl_log_format_names, FL_LOG_FORMAT_COUNT_, [FL_LOG_JSON] = "json", [FL_LOG_TEXT] = "text");

static const char *const level_columns[] = { "DEBUG", "INFO ", "WARN ", "ERROR" };
_Static_assert(FL_LEN(level_columns) == FL_LEVEL_COUNT_, "each level has a column");

/* Kept free while values are put in: for the place, the counts, the mark of a cut and the line end. */
static const size_t tail_room = 168;

static const struct fl_str ellipsis = FL_S_INIT("\xe2\x80\xa6");

struct line {
	struct fl_buf buf;
	bool json, cut;
};

void fl_log_init(struct fl_log *log, const struct fl_log_to *to, const char *role)
{
	*log = (struct fl_log){ .level = FL_INFO, .role = role, .to = *to };
}

/* ---- values ---- */

/* Fit for a console without quotes? */
static bool is_plain(struct fl_str s)
{
	for (uint32_t i = 0; i < s.len; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '=' || s.p[i] == '\\')
			return false;
	return s.len > 0;
}

static void put_str(struct line *line, struct fl_str s)
{
	uint32_t len = s.len;

	if (len > FL_LOG_VALUE) {
		len = FL_LOG_VALUE;
		while (len > FL_LOG_VALUE - 3 && ((unsigned char)s.p[len] & 0xc0) == 0x80)
			len--;
	} else if (!line->json && is_plain(s)) {
		fl_buf_str(&line->buf, s);
		return;
	}
	fl_buf_json(&line->buf, fl_str_sub(s, 0, len));
	if (len == s.len || line->buf.failed)
		return;
	line->buf.len--;   /* the closing quote goes behind the ellipsis */
	fl_buf_str(&line->buf, ellipsis);
	fl_buf_char(&line->buf, '"');
}

static void put_duration(struct line *line, int64_t ns)
{
	char text[40];
	struct fl_buf buf = FL_BUF_IN(text);

	fl_buf_duration(&buf, ns);
	put_str(line, fl_buf_view(&buf));
}

static void put_value(struct line *line, const struct fl_kv *kv)
{
	switch (kv->type) {
	case FL_KV_TYPE_STR:
		put_str(line, kv->str);
		break;
	case FL_KV_TYPE_TEXT:
		if (kv->text)
			put_str(line, fl_str(kv->text));
		else
			fl_buf_str(&line->buf, FL_S("null"));
		break;
	case FL_KV_TYPE_INT:
		fl_buf_int(&line->buf, kv->i);
		break;
	case FL_KV_TYPE_UINT:
		fl_buf_uint(&line->buf, kv->u);
		break;
	case FL_KV_TYPE_BOOL:
		fl_buf_str(&line->buf, kv->is ? FL_S("true") : FL_S("false"));
		break;
	case FL_KV_TYPE_DURATION:
		put_duration(line, kv->i);
		break;
	case FL_KV_TYPE_ERR:
		put_str(line, fl_str(kv->err->text));
		break;
	case FL_KV_TYPE_SECRET:
		put_str(line, FL_S("(secret)"));
		break;
	case FL_KV_TYPE_END:
		break;
	}
}

static void put_key(struct line *line, const char *key)
{
	fl_buf_str(&line->buf, line->json ? FL_S(",\"") : FL_S(" "));
	fl_buf_str(&line->buf, fl_str(key));
	fl_buf_str(&line->buf, line->json ? FL_S("\":") : FL_S("="));
}

static void back_to(struct line *line, size_t mark)
{
	line->buf.len = mark;
	line->buf.failed = FL_OK;
	line->cut = true;
}

/* All of it, or an ellipsis in its place, or nothing: a line stays whole JSON. */
static void put_kv(struct line *line, const struct fl_kv *kv)
{
	size_t mark = line->buf.len;

	put_key(line, kv->key);
	put_value(line, kv);
	if (!line->buf.failed)
		return;
	back_to(line, mark);
	put_key(line, kv->key);
	fl_buf_char(&line->buf, '"');
	fl_buf_str(&line->buf, ellipsis);
	fl_buf_char(&line->buf, '"');
	if (line->buf.failed)
		back_to(line, mark);
}

static void put_err(struct line *line, const struct fl_err *err)
{
	if (!err)
		return;
	put_kv(line, &FL_KV_ERR(err));
	put_kv(line, &FL_KV_TEXT("code", fl_name(&fl_code_names, (int)err->code)));
}

/* ---- lines ---- */

static void put_head(struct line *line, const struct fl_log *log, enum fl_level level, const char *message)
{
	struct fl_buf *buf = &line->buf;

	if (line->json)
		fl_buf_str(buf, FL_S("{\"ts\":\""));
	fl_buf_time(buf, log->to.wall(log->to.self));
	if (!line->json) {
		fl_buf_printf(buf, " %s %s", level_columns[level], message);
		return;
	}
	fl_buf_char(buf, '"');
	put_kv(line, &FL_KV_TEXT("level", fl_name(&fl_level_names, (int)level)));
	if (log->role)
		put_kv(line, &FL_KV_TEXT("role", log->role));
	put_kv(line, &FL_KV_TEXT("msg", message));
}

static void put_place(struct line *line, const char *file, uint32_t number)
{
	char text[100];
	struct fl_buf place = FL_BUF_IN(text);

	fl_buf_str(&place, fl_str_sub(fl_str(file), 0, 80));
	fl_buf_char(&place, ':');
	fl_buf_uint(&place, number);
	put_kv(line, &FL_KV_STR("at", fl_buf_view(&place)));
}

/* False: the line is lost. */
static bool write_line(struct fl_log *log, enum fl_level level, const struct fl_log_site *site, const char *message,
		       const struct fl_kv *kv)
{
	char text[FL_LOG_LINE];
	struct line line = { .buf = FL_BUF_IN(text), .json = log->format == FL_LOG_JSON };
	size_t all = line.buf.max;

	text[0] = 0;
	line.buf.max = all - tail_room;
	put_head(&line, log, level, message);
	for (; kv->type != FL_KV_TYPE_END; kv++)
		if (kv->type == FL_KV_TYPE_ERR)
			put_err(&line, kv->err);
		else
			put_kv(&line, kv);
	line.buf.max = all;
	put_place(&line, site->file, site->line);
	if (site->suppressed)
		put_kv(&line, &FL_KV_UINT("suppressed", site->suppressed));
	if (log->lost > log->lost_told)
		put_kv(&line, &FL_KV_UINT("lost", log->lost - log->lost_told));
	if (line.cut)
		put_kv(&line, &FL_KV_BOOL("cut", true));
	fl_buf_str(&line.buf, line.json ? FL_S("}\n") : FL_S("\n"));
	if (!log->to.line(log->to.self, line.buf.p, line.buf.len)) {
		log->lost++;
		return false;
	}
	log->lost_told = log->lost;
	return true;
}

/* ---- rate ---- */

static uint32_t hash_of(const char *file, uint32_t line)
{
	uint32_t hash = 2166136261u ^ line;

	for (; *file; file++)
		hash = (hash ^ (unsigned char)*file) * 16777619u;
	return hash ^ hash >> 16;
}

/* Its own entry; when all are taken, that of another: then two share one rate. */
static struct fl_log_site *site_of(struct fl_log *log, const char *file, uint32_t line)
{
	uint32_t home = hash_of(file, line) % FL_LOG_SITES;

	for (uint32_t i = 0; i < FL_LOG_SITES; i++) {
		struct fl_log_site *site = &log->sites[(home + i) % FL_LOG_SITES];

		if (!site->file)
			*site = (struct fl_log_site){ .file = file, .line = line };
		if (site->line == line && strcmp(site->file, file) == 0)
			return site;
	}
	return &log->sites[home];
}

static bool may(struct fl_log *log, struct fl_log_site *site)
{
	uint64_t now = log->to.now(log->to.self);
	uint64_t paid = (site->paid_until > now ? site->paid_until : now) + FL_LOG_EVERY;

	if (paid > now + FL_LOG_BURST * FL_LOG_EVERY)
		return false;
	site->paid_until = paid;
	return true;
}

void fl_log_(struct fl_log *log, enum fl_level level, const char *file, uint32_t line, const char *message,
	     const struct fl_kv *kv)
{
	struct fl_log_site here = { .file = file, .line = line };
	struct fl_log_site *site;

	if (level == FL_DEBUG) {
		(void)write_line(log, level, &here, message, kv);
		return;
	}
	site = site_of(log, file, line);
	if (!may(log, site)) {
		site->suppressed++;
		return;
	}
	here.suppressed = site->suppressed;
	if (write_line(log, level, &here, message, kv))
		site->suppressed = 0;
}

void fl_log_flush(struct fl_log *log)
{
	const struct fl_kv none = { .type = FL_KV_TYPE_END };
	const struct fl_log_site here = { .file = __FILE_NAME__, .line = __LINE__ };

	if (!log)
		return;
	for (uint32_t i = 0; i < FL_LOG_SITES; i++) {
		if (!log->sites[i].suppressed)
			continue;
		if (write_line(log, FL_WARN, &log->sites[i], "the last lines from here were held back", &none))
			log->sites[i].suppressed = 0;
	}
	if (log->lost > log->lost_told)
		(void)write_line(log, FL_WARN, &here, "the last lines of the log were lost", &none);
}
