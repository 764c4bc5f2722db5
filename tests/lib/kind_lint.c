#include "kind_lint.h"
#include "json/bind_in.h"
#include <regex.h>

struct lint {
	const struct fl_kind *kind;
	struct fl_err *err;
	uint32_t selectable;
	bool one_of_many;      /* below an atomic list: nothing says which element was which */
};

static int lint_table(struct lint *l, const struct fl_bind *bind, const struct fl_step *up, uint32_t depth);

static int refuse(struct lint *l, const struct fl_step *step, const char *why)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_BIND_PATH);

	fl_step_print(step, &path);
	if (path.failed == FL_E_NOMEM)
		return fl_fail(l->err, FL_E_NOMEM, "no memory to check %s", l->kind->kind);
	return fl_fail(l->err, FL_E_INVALID, "%s.%s: %s", l->kind->kind, path.p ? path.p : "", why);
}

/* -1: memory; 0, 1 */
static int matches(const char *pattern, const char *text)
{
	regex_t compiled;
	int r = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);

	if (r != 0)
		return r == REG_ESPACE ? -1 : 0;
	r = regexec(&compiled, text, 0, NULL, 0);
	regfree(&compiled);
	return r == 0;
}

static bool has_old_self(const struct fl_rule rules[FL_RULES])
{
	for (uint32_t i = 0; i < FL_RULES && rules[i].cel; i++)
		if (strstr(rules[i].cel, "oldSelf"))
			return true;
	return false;
}

static const char *wrong_default(const struct fl_field *f)
{
	union {
		struct fl_str str;
		struct fl_quantity quantity;
		struct fl_intstr intstr;
	} value;

	if (!f->def.set)
		return NULL;
	if (f->shape != FL_ONE)
		return "a list or map has no default";
	if (f->def.text && !fl_value_read(f, fl_str(f->def.text), &value))
		return "the default is no value of the type";
	if (f->type == FL_T_ENUM && !f->def.text && (f->def.number < 0 || f->def.number >= f->names->len))
		return "the default is not in the enum";
	if (f->between.set && (f->def.number < f->between.min || f->def.number > f->between.max))
		return "the default is out of bounds";
	return NULL;
}

/* Options that say something that the type cannot mean. */
static const char *wrong_option(const struct fl_field *f)
{
	bool scalar = f->type != FL_T_OBJ && f->type != FL_T_RAW;

	if (f->keep && f->shape != FL_MAP && !f->list_key)
		return ".keep is for maps and list-maps";
	if (f->interned && f->type != FL_T_STR && f->shape != FL_MAP)
		return ".interned is for texts and the keys of maps";
	if (f->list_set && (f->shape != FL_LIST || !scalar))
		return ".list_set is for lists of scalars";
	if (f->list_key && (f->shape != FL_LIST || f->type != FL_T_OBJ))
		return ".list_key is for lists of objects";
	if (f->between.set && f->type != FL_T_I32 && f->type != FL_T_I64 && f->type != FL_T_F64)
		return "BETWEEN is for numbers";
	if (f->pattern && f->type != FL_T_STR)
		return ".pattern is for texts";
	if ((f->length.min || f->length.max) && f->shape == FL_ONE && f->type != FL_T_STR)
		return "LENGTH is for texts, lists and maps";
	if (f->selectable && (f->shape != FL_ONE || !scalar || f->type == FL_T_F64))
		return ".selectable is for texts, integers and booleans";
	return NULL;
}

static int lint_pattern(struct lint *l, const struct fl_step *step, const struct fl_field *f)
{
	int r;

	if (!f->pattern)
		return 0;
	if (!f->example)
		return refuse(l, step, "a pattern wants an .example");
	r = matches(f->pattern, f->example);
	if (r < 0)
		return fl_fail(l->err, FL_E_NOMEM, "no memory to check %s", l->kind->kind);
	return r ? 0 : refuse(l, step, "the example does not match the pattern, or that is none");
}

static int lint_keys(struct lint *l, const struct fl_step *step, const struct fl_field *f)
{
	struct fl_str rest = fl_str(f->list_key), name;
	const struct fl_field *key;

	while (f->list_key && fl_str_split(&rest, ',', &name)) {
		key = fl_field_find(f->of(), name);
		if (!key || key->shape != FL_ONE || key->type == FL_T_OBJ || key->type == FL_T_RAW)
			return refuse(l, step, "a key is not a scalar field of the elements");
		if (!key->required && !key->def.set)
			return refuse(l, step, "a key must be required or have a default");
	}
	return 0;
}

static int lint_shown(struct lint *l, const struct fl_step *step, const struct fl_field *f)
{
	if (!f->column)
		return 0;
	for (uint32_t i = 0; i < FL_COLUMNS && l->kind->columns[i].name; i++)
		if (strcmp(l->kind->columns[i].name, f->column) == 0)
			return 0;
	return refuse(l, step, "its column is not among those of the kind");
}

static int lint_below(struct lint *l, const struct fl_step *step, const struct fl_field *f, uint32_t depth)
{
	bool outer = l->one_of_many;
	int r;

	if (f->type != FL_T_OBJ)
		return 0;
	l->one_of_many |= f->shape == FL_LIST && !f->list_key;
	r = lint_table(l, f->of(), step, depth + 1);
	l->one_of_many = outer;
	return r;
}

static int lint_row(struct lint *l, const struct fl_bind *bind, const struct fl_field *f, const struct fl_step *step,
		    uint32_t depth)
{
	const char *wrong = wrong_option(f);
	int r;

	if (!wrong)
		wrong = wrong_default(f);
	if (!wrong && !f->help)
		wrong = "no .help: one sentence for the person who meets this field";
	if (!wrong && fl_field_find(bind, f->json) != f && !f->local)
		wrong = "two rows of this name";
	if (!wrong && l->one_of_many && (f->immutable || has_old_self(f->rules)))
		wrong = "in an atomic list nothing says what an element was before";
	l->selectable += f->selectable;
	if (!wrong && l->selectable > 8)
		wrong = "a kind has at most 8 selectable fields";
	if (wrong)
		return refuse(l, step, wrong);
	r = lint_pattern(l, step, f);
	if (r >= 0)
		r = lint_keys(l, step, f);
	if (r >= 0)
		r = lint_shown(l, step, f);
	return r < 0 ? r : lint_below(l, step, f, depth);
}

static int lint_table(struct lint *l, const struct fl_bind *bind, const struct fl_step *up, uint32_t depth)
{
	struct fl_step step = { .up = up, .kind = FL_STEP_FIELD };
	int r;

	if (depth > FL_BIND_DEPTH)
		return refuse(l, up, "nested too deeply; does the table contain itself?");
	fl_each_field (f, bind) {
		step.name = f->json;
		r = lint_row(l, bind, f, &step, depth);
		if (r < 0)
			return r;
	}
	return 0;
}

static int lint_columns(struct lint *l)
{
	for (uint32_t i = 0; i < FL_COLUMNS && l->kind->columns[i].name; i++) {
		FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_BIND_PATH);
		const struct fl_column *column = &l->kind->columns[i];

		if (!column->condition && strcmp(column->name, "Age") != 0 &&
		    !fl_column_find(l->kind->root(), column->name, &path))
			return fl_fail(l->err, FL_E_INVALID, "%s: no row has the column '%s'", l->kind->kind,
				       column->name);
	}
	return 0;
}

static int lint_path(struct lint *l, const char *path)
{
	const struct fl_bind *bind = l->kind->root();
	struct fl_str rest = fl_str(path), name;
	const struct fl_field *f;

	while (path && fl_str_split(&rest, '.', &name)) {
		f = bind ? fl_field_find(bind, name) : NULL;
		if (!f)
			return fl_fail(l->err, FL_E_INVALID, "%s: no field '%s' to scale by", l->kind->kind, path);
		bind = f->type == FL_T_OBJ ? f->of() : NULL;
	}
	return 0;
}

int kind_lint(const struct fl_kind *kind, struct fl_err *err)
{
	struct lint l = { .kind = kind, .err = err };
	int r = kind->help ? lint_table(&l, kind->root(), NULL, 0) : refuse(&l, NULL, "the kind has no .help");

	if (r >= 0)
		r = lint_columns(&l);
	if (r >= 0)
		r = lint_path(&l, kind->scale.replicas);
	if (r >= 0)
		r = lint_path(&l, kind->scale.status_replicas);
	return r < 0 ? r : lint_path(&l, kind->scale.selector);
}
