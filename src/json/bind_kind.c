#include "json/bind_kind.h"
#include "json/bind_in.h"

void fl_kind_api_version(const struct fl_kind *kind, struct fl_buf *buf)
{
	if (kind->group[0]) {
		fl_buf_str(buf, fl_str(kind->group));
		fl_buf_char(buf, '/');
	}
	fl_buf_str(buf, fl_str(kind->version));
}

static void put_segment(struct fl_buf *buf, struct fl_str segment)
{
	fl_buf_char(buf, '/');
	fl_buf_url(buf, segment);
}

void fl_kind_path(const struct fl_kind *kind, struct fl_str space, struct fl_str name, const char *subresource,
		  struct fl_buf *buf)
{
	fl_buf_str(buf, kind->group[0] ? FL_S("/apis/") : FL_S("/api/"));
	fl_kind_api_version(kind, buf);
	if (space.len && !kind->cluster_scoped) {
		fl_buf_str(buf, FL_S("/namespaces"));
		put_segment(buf, space);
	}
	put_segment(buf, fl_str(kind->plural));
	if (name.len)
		put_segment(buf, name);
	if (subresource)
		put_segment(buf, fl_str(subresource));
}

static bool same_word(struct fl_str a, struct fl_str b)
{
	return a.len == b.len && (a.len == 0 || strncasecmp(a.p, b.p, a.len) == 0);
}

bool fl_kind_named(const struct fl_kind *kind, struct fl_str text)
{
	struct fl_str rest = fl_str(kind->short_names), word, group = fl_str(kind->group);

	/* "gpupools.gpu.deckhouse.io" */
	if (group.len && text.len > group.len + 1 && text.p[text.len - group.len - 1] == '.' &&
	    same_word(fl_str_sub(text, text.len - group.len, UINT32_MAX), group))
		text.len -= group.len + 1;
	if (same_word(text, fl_str(kind->kind)) || same_word(text, fl_str(kind->plural)) ||
	    (kind->singular && same_word(text, fl_str(kind->singular))))
		return true;
	while (kind->short_names && fl_str_split(&rest, ',', &word))
		if (same_word(text, word))
			return true;
	return false;
}

void fl_kind_encode(const struct fl_kind *kind, const void *object, struct fl_jw *w)
{
	FL_AUTO(fl_buf) struct fl_buf version = FL_BUF(FL_BIND_PATH);
	const struct fl_bind *bind = kind->root();

	fl_kind_api_version(kind, &version);
	if (version.failed)
		w->buf->failed = version.failed;
	fl_jw_obj(w);
	fl_jw_put(w, "apiVersion", str, fl_buf_view(&version));
	fl_jw_put(w, "kind", str, fl_str(kind->kind));
	fl_members_encode(bind, object, w);
	fl_jw_end_obj(w);
}
