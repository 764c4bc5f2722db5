#include "base/units.h"
#include "json/bind_in.h"
#include "json/bind_kind.h"

/* ---- a page for docs/api ---- */

/* In a table's cell a bar would end the cell. */
static void put_cell(struct fl_buf *buf, struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] == '|')
			fl_buf_char(buf, '\\');
		fl_buf_char(buf, text.p[i]);
	}
}

static void put_part(struct fl_buf *buf, const struct fl_field *f,
		     void (*print)(const struct fl_field *, struct fl_buf *))
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	print(f, &text);
	if (text.failed)
		buf->failed = text.failed;
	else
		put_cell(buf, fl_buf_view(&text));
}

static void put_row(struct fl_buf *buf, const struct fl_field *f)
{
	fl_buf_printf(buf, "| `%s` | ", f->json.p);
	put_part(buf, f, fl_field_type);
	fl_buf_str(buf, FL_S(" | "));
	put_part(buf, f, fl_field_bounds);
	fl_buf_str(buf, FL_S(" | "));
	put_cell(buf, fl_str(f->help));
	if (f->deprecated) {
		fl_buf_str(buf, FL_S(" Deprecated: "));
		put_cell(buf, fl_str(f->deprecated));
	}
	for (uint32_t i = 0; i < FL_RULES && f->rules[i].cel; i++) {
		fl_buf_str(buf, FL_S(" Rule: "));
		put_cell(buf, fl_str(f->rules[i].says));
		fl_buf_char(buf, '.');
	}
	if (f->example) {
		fl_buf_str(buf, FL_S(" For example `"));
		put_cell(buf, fl_str(f->example));
		fl_buf_char(buf, '`');
	}
	fl_buf_str(buf, FL_S(" |\n"));
}

static bool is_metadata(const struct fl_field *f, bool root)
{
	return root && fl_str_eq(f->json, FL_S("metadata"));   /* the same for all kinds, documented elsewhere */
}

static void put_heading(struct fl_buf *buf, const struct fl_step *step, const struct fl_field *f)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_BIND_PATH);

	fl_step_print(step, &path);
	if (path.failed)
		buf->failed = path.failed;
	else
		fl_buf_printf(buf, "## %s%s\n\n%s\n\n", path.p,
			      f->shape == FL_LIST ? "[]" : f->shape == FL_MAP ? "[key]" : "", f->help ? f->help : "");
}

/* One object after another, each a table; the objects below follow it. */
static void put_table(struct fl_buf *buf, const struct fl_bind *bind, const struct fl_step *up, uint32_t depth)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_FIELD };

	if (depth > FL_BIND_DEPTH)
		return;
	for (uint32_t i = 0; i < FL_RULES && bind->rules[i].cel; i++)
		fl_buf_printf(buf, "Rule: %s.\n\n", bind->rules[i].says);
	if (bind->len)
		fl_buf_str(buf, FL_S("| Field | Type | May be | Meaning |\n|---|---|---|---|\n"));
	fl_each_field (f, bind)
		if (!f->local && !is_metadata(f, !up))
			put_row(buf, f);
	fl_buf_char(buf, '\n');
	fl_each_field (f, bind) {
		if (f->local || f->type != FL_T_OBJ || is_metadata(f, !up))
			continue;
		step.name = f->json;
		put_heading(buf, &step, f);
		put_table(buf, f->of(), &step, depth + 1);
	}
}

static void put_columns(struct fl_buf *buf, const struct fl_kind *kind)
{
	if (!kind->columns[0].name)
		return;
	fl_buf_str(buf, FL_S("`kubectl get` shows"));
	for (uint32_t i = 0; i < FL_COLUMNS && kind->columns[i].name; i++)
		fl_buf_printf(buf, "%s %s%s", i ? "," : "", kind->columns[i].name,
			      kind->columns[i].priority ? " (with `-o wide`)" : "");
	fl_buf_str(buf, FL_S(".\n\n"));
}

void fl_kind_page(const struct fl_kind *kind, struct fl_buf *buf)
{
	fl_buf_printf(buf, "# %s\n\n%s\n\n`", kind->kind, kind->help);
	fl_kind_api_version(kind, buf);
	fl_buf_printf(buf, "`, `%s`, %s", kind->plural, kind->cluster_scoped ? "cluster-scoped" : "namespaced");
	if (kind->short_names)
		fl_buf_printf(buf, ", for short `%s`", kind->short_names);
	if (kind->categories)
		fl_buf_printf(buf, ", also by `%s`", kind->categories);
	fl_buf_str(buf, FL_S(".\n\n"));
	if (kind->deprecated)
		fl_buf_printf(buf, "%s\n\n", kind->deprecated);
	put_columns(buf, kind);
	put_table(buf, kind->root(), NULL, 0);
	while (buf->len > 1 && buf->p[buf->len - 1] == '\n' && buf->p[buf->len - 2] == '\n')
		fl_buf_cut(buf, buf->len - 1);
}
