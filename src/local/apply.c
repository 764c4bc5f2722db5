/* Server-side apply. */
#include "json/time.h"
#include "json/write.h"
#include "local/managed_in.h"

struct work {
	const struct fl_schema *schema;
	const struct fl_writer *who;
	yyjson_mut_doc *doc;
	struct fl_managed managed;
	struct fl_owned *metadata;       /* the object's own */
	uint32_t self, want;             /* what the manager owned, and what it will own */
	bool force;
	bool changed;                    /* a value */
	bool hit;                        /* a value that may be another's */
	bool failed;
	uint32_t misfits;
	struct fl_buf misfit;            /* lines, each with two blanks in front */
	struct fl_buf buf;
};

static struct fl_str name_of(const yyjson_mut_val *key)
{
	return (struct fl_str){ key->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)key) };
}

static int no_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "apply: out of memory");
}

/* ---- what does not fit the schema ---- */

/* A field on the way from the root, for texts. */
struct step {
	const struct step *up;
	struct fl_owned *field;
};

static void put_steps(struct fl_buf *buf, const struct step *step)
{
	if (!step || !step->field->kind)
		return;
	put_steps(buf, step->up);
	fl_element_put(buf, step->field->kind, step->field->text);
}

/* A value as Go prints it (%v), or writes it in source (%#v). */
static void put_go(struct fl_buf *buf, yyjson_mut_val *val, bool source)
{
	struct fl_jw w = FL_JW(buf);
	yyjson_mut_val *key, *item;
	size_t i, max;

	if (yyjson_mut_is_obj(val)) {
		fl_buf_str(buf, source ? FL_S("map[string]interface {}{") : FL_S("map["));
		yyjson_mut_obj_foreach(val, i, max, key, item)
		{
			fl_buf_str(buf, i ? source ? FL_S(", ") : FL_S(" ") : FL_S(""));
			put_go(buf, key, source);
			fl_buf_char(buf, ':');
			put_go(buf, item, source);
		}
		fl_buf_char(buf, source ? '}' : ']');
	} else if (yyjson_mut_is_arr(val)) {
		fl_buf_str(buf, source ? FL_S("[]interface {}{") : FL_S("["));
		yyjson_mut_arr_foreach(val, i, max, item)
		{
			fl_buf_str(buf, i ? source ? FL_S(", ") : FL_S(" ") : FL_S(""));
			put_go(buf, item, source);
		}
		fl_buf_char(buf, source ? '}' : ']');
	} else if (yyjson_mut_is_str(val) && !source) {
		fl_buf_str(buf, fl_tree_str(val));
	} else if (yyjson_mut_is_null(val)) {
		fl_buf_str(buf, source ? FL_S("interface {}(nil)") : FL_S("<nil>"));
	} else {
		fl_jw_mut(&w, val);
	}
}

static struct fl_buf *misfit(struct work *w, const struct step *at)
{
	fl_buf_str(&w->misfit, w->misfits++ ? FL_S("\n  ") : FL_S("  "));
	put_steps(&w->misfit, at);
	fl_buf_str(&w->misfit, FL_S(": "));
	return &w->misfit;
}

static const char *go_type(yyjson_mut_val *val)
{
	return yyjson_mut_is_str(val) ? "string" : yyjson_mut_is_bool(val) ? "bool" :
	       yyjson_mut_is_real(val) ? "float64" : yyjson_mut_is_int(val) ? "int64" :
	       yyjson_mut_is_arr(val) ? "[]interface {}" : "map[string]interface {}";
}

/* Maps, lists and plain values are what they should be; null always is. */
static bool fits(struct work *w, const struct fl_node *node, yyjson_mut_val *val, const struct step *at)
{
	struct fl_buf *buf;
	bool ok = true;

	if (yyjson_mut_is_null(val) || node->int_or_string)
		return true;
	switch (node->type) {
	case FL_VALUE_ANY:
		return true;
	case FL_VALUE_OBJECT:
	case FL_VALUE_ARRAY:
		if (node->type == FL_VALUE_OBJECT ? yyjson_mut_is_obj(val) : yyjson_mut_is_arr(val))
			return true;
		buf = misfit(w, at);
		fl_buf_printf(buf, "expected %s, got &{", node->type == FL_VALUE_OBJECT ? "map" : "list");
		put_go(buf, val, false);
		fl_buf_char(buf, '}');
		return false;
	case FL_VALUE_STRING:
		ok = yyjson_mut_is_str(val);
		break;
	case FL_VALUE_INTEGER:
	case FL_VALUE_NUMBER:
		ok = yyjson_mut_is_num(val);
		break;
	case FL_VALUE_BOOLEAN:
		ok = yyjson_mut_is_bool(val);
		break;
	case FL_VALUE_COUNT_:
		break;
	}
	if (ok)
		return true;
	buf = misfit(w, at);
	if (node->type == FL_VALUE_INTEGER || node->type == FL_VALUE_NUMBER) {
		fl_buf_printf(buf, "expected numeric (int or float), got %s", go_type(val));
		return false;
	}
	fl_buf_printf(buf, "expected %s, got &value.valueUnstructured{Value:",
		      node->type == FL_VALUE_STRING ? "string" : "boolean");
	put_go(buf, val, true);
	fl_buf_char(buf, '}');
	return false;
}

/* ---- merging the configuration into the object ---- */

static yyjson_mut_val *merge(struct work *w, const struct fl_node *node, const struct step *at, yyjson_mut_val *live,
			     yyjson_mut_val *config);

/* The value of this field changes: it is taken from all others. */
static void hit(struct work *w, struct fl_owned *field)
{
	w->changed = field->hit = true;
	w->hit |= fl_managed_is_others(&w->managed, field, w->self);
}

static bool is_skipped(const struct work *w, const struct step *at, struct fl_str name)
{
	if (at->field == w->managed.fields.root)
		return fl_owned_is_servers(name, false) || fl_part_skips(w->who->part, name);
	return at->field == w->metadata && fl_owned_is_servers(name, true);
}

static void replace(yyjson_mut_val *old, const yyjson_mut_val *new)
{
	old->tag = new->tag;
	old->uni = new->uni;
}

/* A plain value, or one that is owned whole. */
static yyjson_mut_val *merge_whole(struct work *w, const struct step *at, yyjson_mut_val *live, yyjson_mut_val *config)
{
	yyjson_mut_val *copy;

	if (live && fl_tree_equal(live, config)) {
		fl_owned_set(at->field, w->want);
		return live;
	}
	hit(w, at->field);
	fl_owned_set(at->field, w->want);
	if (live)
		fl_managed_drop_below(&w->managed, at->field);
	copy = fl_tree_copy(w->doc, config);
	w->failed |= !copy;
	return copy;
}

/* A map or list in place of nothing, of null (which is like an empty one), or of something else. */
static yyjson_mut_val *fresh(struct work *w, const struct step *at, yyjson_mut_val *live, bool list)
{
	yyjson_mut_val *made = list ? yyjson_mut_arr(w->doc) : yyjson_mut_obj(w->doc);

	w->changed = true;
	if (!yyjson_mut_is_null(live))
		hit(w, at->field);
	if (live)
		fl_managed_drop_below(&w->managed, at->field);
	w->failed |= !made;
	return made;
}

static bool merge_member(struct work *w, const struct fl_node *node, const struct step *at, yyjson_mut_val *into,
			 struct fl_str name, yyjson_mut_val *old, yyjson_mut_val *config)
{
	const struct fl_node *named = fl_node_prop(node, name), *below = named ? named : fl_node_member(node, name);
	struct step step = { at, fl_owned_make(&w->managed.fields, at->field, 'f', name) };
	yyjson_mut_val *new;

	if (!step.field)
		return false;
	if (!below && node->type == FL_VALUE_ANY)
		below = &fl_node_any;   /* int-or-string, which is none: the schema's check says so */
	if (!below) {
		fl_buf_str(misfit(w, &step), FL_S("field not declared in schema"));
		return true;
	}
	new = merge(w, below, &step, old, config);
	if (!new)
		return !w->failed;
	if (!named || fl_is_null_or_empty(config))
		fl_owned_set(step.field, w->want);
	if (old && new != old)
		replace(old, new);
	return old || fl_tree_put(w->doc, into, name, new);
}

static yyjson_mut_val *merge_map(struct work *w, const struct fl_node *node, const struct step *at,
				 yyjson_mut_val *live, yyjson_mut_val *config)
{
	FL_AUTO(fl_tree_names) struct fl_tree_names names = { 0 };
	yyjson_mut_val *into = live, *key, *val;
	size_t i, max;

	if (!yyjson_mut_is_obj(live))
		into = fresh(w, at, live, false);
	if (!into)
		return NULL;
	fl_tree_names_init(&names, yyjson_mut_is_obj(live) ? live : NULL);
	yyjson_mut_obj_foreach(config, i, max, key, val)
	{
		struct fl_str name = name_of(key);

		if (is_skipped(w, at, name))
			continue;
		if (!merge_member(w, node, at, into, name, fl_tree_names_get(&names, name), val)) {
			w->failed = true;
			return NULL;
		}
	}
	return into;
}

/* ---- lists whose items have names ---- */

struct item {
	struct fl_owned *field;   /* NULL: it has no name, or the name of an earlier one */
	yyjson_mut_val *val;
};

static struct item *items_of(struct work *w, yyjson_mut_val *list)
{
	struct item *items = fl_arena_get_n(w->managed.arena, yyjson_mut_arr_size(list) + 1, sizeof *items);

	w->failed |= !items;
	return items;
}

static void refuse_item(struct work *w, const struct fl_node *node, const struct step *at, yyjson_mut_val *item,
			size_t index)
{
	struct fl_buf *buf = misfit(w, at);

	fl_buf_printf(buf, "element %zu: ", index);
	if (node->list == FL_LIST_MAP && !yyjson_mut_is_obj(item)) {
		fl_buf_str(buf, FL_S("associative list with keys may not have non-map elements"));
	} else if (node->list == FL_LIST_MAP) {
		fl_buf_str(buf, FL_S("associative list with keys has an element that omits all key fields ["));
		for (uint32_t i = 0; i < node->key_len; i++) {
			fl_buf_str(buf, i ? FL_S(" ") : FL_S(""));
			fl_buf_json(buf, node->keys[i]);
		}
		fl_buf_str(buf, FL_S("] (and doesn't have default values for any key fields)"));
	} else {
		fl_buf_printf(buf, "associative list without keys has an element that's %s",
			      yyjson_mut_is_null(item) ? "an explicit null" :
			      yyjson_mut_is_obj(item)  ? "a map type" :
							 "a list type");
	}
}

/* Name the items; the fields of the object's know them as `old`, those of the configuration's as `new`. True: all have
 * names of their own. */
static bool name_items(struct work *w, const struct fl_node *node, const struct step *at, yyjson_mut_val *list,
		       struct item *items, bool config)
{
	yyjson_mut_val *val, **known;
	struct fl_owned *field;
	bool all = true;
	size_t i, max;
	char kind;

	yyjson_mut_arr_foreach(list, i, max, val)
	{
		items[i] = (struct item){ NULL, val };
		if (fl_element_of(node, val, &w->buf, &kind) != 0) {
			all = false;
			continue;
		}
		field = w->buf.failed ? NULL :
					fl_owned_make(&w->managed.fields, at->field, kind, fl_buf_view(&w->buf));
		if (!field) {
			w->failed = true;
			return false;
		}
		known = config ? &field->new : &field->old;
		if (*known) {
			all = false;
			continue;
		}
		*known = val;
		items[i].field = field;
	}
	return all;
}

/* Tell what is wrong with the items of a configuration of which some have no names of their own. */
static void refuse_items(struct work *w, const struct fl_node *node, const struct step *at, const struct item *items,
			 size_t len)
{
	char kind;

	for (size_t i = 0; i < len && !w->failed; i++) {
		if (items[i].field) {
			(void)merge(w, node->items, &(struct step){ at, items[i].field }, NULL, items[i].val);
		} else if (fl_element_of(node, items[i].val, &w->buf, &kind) != 0) {
			refuse_item(w, node, at, items[i].val, i);
		} else {
			fl_buf_str(misfit(w, at), FL_S("duplicate entries for key "));
			fl_element_put(&w->misfit, kind, fl_buf_view(&w->buf));
		}
	}
}

/* The configuration decides about the order of its items, and leaves the others where they stand among them: an item
 * of the object alone comes before what follows it there. */
static bool merge_items(struct work *w, const struct fl_node *node, const struct step *at, const struct item *old,
			size_t olds, const struct item *new, size_t news, yyjson_mut_val **out, size_t *ret_len)
{
	size_t o = 0, n = 0, shared = 0, len = 0;

	while (o < olds || n < news) {
		struct fl_owned *next;

		while (shared < news && !new[shared].field->old)
			shared++;
		if (o < olds && (!old[o].field || !old[o].field->new)) {
			out[len++] = old[o++].val;
			continue;
		}
		if (o < olds && (shared == news || old[o].field != new[shared].field)) {
			o++;   /* it stands where the configuration has it */
			continue;
		}
		next = new[n].field;
		if (o < olds && old[o].field == next)
			o++;
		out[len] = merge(w, node->items, &(struct step){ at, next }, next->old, new[n].val);
		if (!out[len])
			return false;
		if (!next->old)
			hit(w, next);
		else if (out[len] != next->old)
			replace(next->old, out[len]);
		fl_owned_set(next, w->want);
		len++;
		if (shared == n)
			shared++;
		n++;
	}
	*ret_len = len;
	return true;
}

static yyjson_mut_val *merge_list(struct work *w, const struct fl_node *node, const struct step *at,
				  yyjson_mut_val *live, yyjson_mut_val *config)
{
	yyjson_mut_val *into = live, **out;
	size_t olds, news = yyjson_mut_arr_size(config), len;
	struct item *old, *new;

	if (!yyjson_mut_is_arr(live))
		into = fresh(w, at, live, true);
	if (!into)
		return NULL;
	olds = yyjson_mut_arr_size(into);
	old = items_of(w, into);
	new = items_of(w, config);
	out = fl_arena_get_n(w->managed.arena, olds + news + 1, sizeof *out);
	w->failed |= !out;
	if (w->failed)
		return NULL;
	(void)name_items(w, node, at, into, old, false);
	if (!name_items(w, node, at, config, new, true)) {
		refuse_items(w, node, at, new, news);
		return NULL;
	}
	if (w->failed || !merge_items(w, node, at, old, olds, new, news, out, &len))
		return NULL;
	for (size_t i = 0; i < len; i++)
		w->changed |= i >= olds || out[i] != old[i].val;
	unsafe_yyjson_set_len(into, 0);
	for (size_t i = 0; i < len; i++)
		(void)yyjson_mut_arr_append(into, out[i]);
	return into;
}

/* The value that comes out: `live` itself, changed, or a new one. NULL: it does not fit, or an allocation failed. */
static yyjson_mut_val *merge(struct work *w, const struct fl_node *node, const struct step *at, yyjson_mut_val *live,
			     yyjson_mut_val *config)
{
	if (!fits(w, node, config, at))
		return NULL;
	if (yyjson_mut_is_obj(config) && !node->atomic)
		return merge_map(w, node, at, live, config);
	if (yyjson_mut_is_arr(config) && node->list != FL_LIST_ATOMIC)
		return merge_list(w, node, at, live, config);
	if (yyjson_mut_is_null(config) && live && fl_is_apart(node, live))
		return live;   /* like an empty one */
	return merge_whole(w, at, live, config);
}

/* ---- what is not applied any more ---- */

static bool is_owned(const struct work *w, const struct fl_owned *field, bool others)
{
	return others ? fl_managed_is_others(&w->managed, field, w->self) : fl_owned_has(field, w->self);
}

static bool any_owned(const struct work *w, const struct fl_owned *at, bool others)
{
	for (; at; at = at->more)
		if (is_owned(w, at, others) || any_owned(w, at->less, others) || any_owned(w, at->below, others))
			return true;
	return false;
}

/* Is there a list below that is named by its items alone, and has none? No set of fields knows of it. */
static bool has_unnamed(const struct fl_node *node, yyjson_mut_val *val)
{
	const struct fl_node *below;
	yyjson_mut_val *key, *item;
	size_t i, max;

	if (yyjson_mut_is_arr(val))
		return node->list != FL_LIST_ATOMIC && yyjson_mut_arr_size(val) == 0;
	if (node->atomic)
		return false;
	yyjson_mut_obj_foreach(val, i, max, key, item)
	{
		below = fl_node_prop(node, name_of(key));
		if (below && has_unnamed(below, item))
			return true;
	}
	return false;
}

/* Applied before by this manager, and now by nobody? A field that the schema names (`node`) also stands for those below
 * it; and the API server drops an empty struct that holds nothing but empty lists with named items. */
static bool is_dropped(const struct work *w, const struct fl_owned *field, const struct fl_node *node,
		       yyjson_mut_val *val)
{
	bool before = is_owned(w, field, false) || (node && any_owned(w, field->below, false));

	if (!before || (node && any_owned(w, field->below, true)))
		return false;
	return !is_owned(w, field, true) || (node && yyjson_mut_is_obj(val) && has_unnamed(node, val));
}

static void drop(struct work *w, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *val);

static void drop_members(struct work *w, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *val)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
	yyjson_mut_val *key;

	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_owned *below = fl_owned_find(field, 'f', name_of(key));
		const struct fl_node *named = fl_node_prop(node, name_of(key));
		const struct fl_node *of = fl_node_member(node, name_of(key));

		if (!below || !fl_owned_any(below, w->self))
			continue;
		/* The object's metadata stays for what the API server keeps there. */
		if (below != w->metadata && is_dropped(w, below, named, key->next)) {
			bool wanted = fl_owned_has(below, w->want);

			fl_managed_drop(&w->managed, below);
			if (wanted)
				fl_owned_set(below, w->want);
			w->changed = true;
			(void)yyjson_mut_obj_iter_remove(&iter);
		} else {
			drop(w, of ? of : &fl_node_any, below, key->next);
		}
	}
}

/* Does the item stay? */
static bool keeps_item(struct work *w, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *item)
{
	struct fl_owned *below;
	char kind;

	if (fl_element_of(node, item, &w->buf, &kind) != 0)
		return true;
	w->failed |= w->buf.failed != FL_OK;
	below = fl_owned_find(field, kind, fl_buf_view(&w->buf));
	if (!below || !fl_owned_any(below, w->self))
		return true;
	if (is_dropped(w, below, NULL, item)) {
		fl_managed_drop(&w->managed, below);
		w->changed = true;
		return false;
	}
	drop(w, node->items, below, item);
	return true;
}

/* yyjson's own removal while iterating skips the next item of a list, up to 0.10. */
static void drop_items(struct work *w, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *val)
{
	yyjson_mut_val *item = yyjson_mut_arr_get_first(val), *next;
	size_t left = yyjson_mut_arr_size(val);

	unsafe_yyjson_set_len(val, 0);
	for (; left; left--, item = next) {
		next = item->next;
		if (keeps_item(w, node, field, item))
			(void)yyjson_mut_arr_append(val, item);
	}
}

/* What loses all of its members or items becomes null, as the API server has it; the schema's check then refuses it. */
static void drop(struct work *w, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *val)
{
	size_t len = yyjson_mut_is_ctn(val) ? unsafe_yyjson_get_len(val) : 0;

	if (!fl_is_apart(node, val))
		return;
	if (yyjson_mut_is_obj(val))
		drop_members(w, node, field, val);
	else
		drop_items(w, node, field, val);
	if (len && unsafe_yyjson_get_len(val) == 0)
		val->tag = YYJSON_TYPE_NULL;
}

/* ---- conflicts ---- */

struct search {
	const struct work *w;
	const struct fl_managed_entry *entry;
	struct fl_causes *conflicts;
};

static void print_manager(const struct fl_managed_entry *entry, struct fl_buf *buf)
{
	fl_buf_json(buf, entry->manager);
	if (entry->subresource.len) {
		fl_buf_str(buf, FL_S(" with subresource "));
		fl_buf_json(buf, entry->subresource);
	}
	if (fl_str_eq(entry->operation, FL_S("Update")))
		fl_buf_printf(buf, " using %.*s", FL_ARG(entry->api_version));
}

static void report(const struct search *s, const struct step *at)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(64 * FL_KIB), who = FL_BUF(4 * FL_KIB);

	put_steps(&path, at);
	print_manager(s->entry, &who);
	if (path.failed == FL_E_NOMEM || who.failed == FL_E_NOMEM)
		s->conflicts->failed = true;
	fl_cause_add(s->conflicts, "FieldManagerConflict", fl_buf_view(&path), "conflict with %.*s",
		     FL_ARG(fl_buf_view(&who)));
}

/* First the fields at a place themselves, then those below them. */
static void search_here(const struct search *s, const struct fl_owned *at, const struct step *up)
{
	for (; at; at = at->more) {
		search_here(s, at->less, up);
		if (at->hit && fl_owned_has(at, s->entry->bit))
			report(s, &(struct step){ up, (struct fl_owned *)(uintptr_t)at });
	}
}

static void search_below(const struct search *s, const struct fl_owned *at, const struct step *up)
{
	for (; at; at = at->more) {
		struct step step = { up, (struct fl_owned *)(uintptr_t)at };

		search_below(s, at->less, up);
		search_here(s, at->below, &step);
		search_below(s, at->below, &step);
	}
}

static const struct fl_managed_entry *next_manager(const struct work *w, const struct fl_managed_entry *after)
{
	const struct fl_managed_entry *best = NULL;

	for (uint32_t i = 0; i < w->managed.len; i++) {
		const struct fl_managed_entry *one = &w->managed.at[i];
		int order = after ? fl_str_cmp(one->manager, after->manager) : 1;

		if (order < 0 || (order == 0 && one <= after) || one->bit == w->self)
			continue;
		if (!best || fl_str_cmp(one->manager, best->manager) < 0)
			best = one;
	}
	return best;
}

static void find_conflicts(const struct work *w, struct fl_causes *conflicts)
{
	for (const struct fl_managed_entry *at = next_manager(w, NULL); at; at = next_manager(w, at)) {
		struct search s = { w, at, conflicts };

		search_here(&s, w->managed.fields.root->below, NULL);
		search_below(&s, w->managed.fields.root->below, NULL);
	}
}

void fl_apply_conflict(const struct fl_causes *conflicts, struct fl_buf *buf)
{
	bool several = conflicts->len > 1;

	fl_buf_printf(buf, "Apply failed with %u conflict%s: ", conflicts->len, several ? "s" : "");
	for (const struct fl_cause *c = conflicts->first, *last = NULL; c; last = c, c = c->next) {
		struct fl_str who = fl_str_sub(c->message, (uint32_t)strlen("conflict"), c->message.len);

		if (last)
			fl_buf_char(buf, '\n');
		if (!last || !fl_str_eq(last->message, c->message))
			fl_buf_printf(buf, "conflict%s%.*s:%s", several ? "s" : "", FL_ARG(who), several ? "\n" : " ");
		fl_buf_printf(buf, "%s%.*s", several ? "- " : "", FL_ARG(c->field));
	}
}

static int conflict(struct work *w, struct fl_causes *conflicts, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);

	find_conflicts(w, conflicts);
	if (conflicts->failed)
		return no_memory(err);
	if (conflicts->len == 0)
		return 0;
	fl_apply_conflict(conflicts, &text);
	return fl_fail(err, FL_E_CONFLICT, "%.*s", FL_ARG(fl_buf_view(&text)));
}

/* ---- whose the fields are now ---- */

static void take_among(struct work *w, struct fl_owned *at, bool *differs)
{
	for (; at; at = at->more) {
		bool had = fl_owned_has(at, w->self), has = fl_owned_has(at, w->want);

		take_among(w, at->less, differs);
		take_among(w, at->below, differs);
		if (at->hit)
			fl_managed_take(&w->managed, at);
		fl_owned_clear(at, w->want);
		fl_owned_clear(at, w->self);
		if (has)
			fl_owned_set(at, w->self);
		*differs |= had != has;
	}
}

static bool has_dropped(const struct work *w, const struct fl_owned *at)
{
	for (; at; at = at->more)
		if ((fl_owned_has(at, w->self) && !fl_owned_has(at, w->want)) || has_dropped(w, at->less) ||
		    has_dropped(w, at->below))
			return true;
	return false;
}

static int settle(struct work *w, struct fl_managed_entry *self, yyjson_mut_val *live, struct fl_err *err)
{
	bool differs = false, lost = false;

	take_among(w, w->managed.fields.root->below, &differs);
	self->changed |= differs;
	self->touched = w->changed;
	self->api_version = w->who->api_version;
	for (uint32_t i = 0; i < w->managed.len; i++)
		lost |= w->managed.at[i].changed;
	if (!w->changed && !lost)
		return 0;
	if (fl_managed_write(&w->managed, w->who, w->doc, live) < 0)
		return no_memory(err);
	return 1;
}

/* ---- all of it ---- */

/* Who applies to an object on which no owners are noted leaves all that is there to "before-first-apply". */
static void claim_before(struct work *w, yyjson_mut_val *live)
{
	struct fl_managed_entry *entry;
	bool any;

	if (w->managed.len)
		return;
	entry = fl_managed_add(&w->managed, FL_S("before-first-apply"), false, w->who->api_version, FL_S(""));
	entry->touched = fl_managed_note(&w->managed, w->schema, w->who->part, entry->bit, NULL, live, &any) > 0;
	if (!entry->touched)
		w->managed.len = 0;
}

static int refuse(struct work *w, yyjson_mut_val *config, struct fl_err *err)
{
	yyjson_mut_val *metadata = fl_tree_get(config, FL_S("metadata"));
	struct fl_str version = fl_tree_str(fl_tree_get(config, FL_S("apiVersion")));
	struct fl_str kind = fl_tree_str(fl_tree_get(config, FL_S("kind")));
	struct fl_str lines = fl_buf_view(&w->misfit);

	if (w->misfit.failed == FL_E_NOMEM)
		return no_memory(err);
	if (w->misfits == 1)
		lines = fl_str_trim(lines);
	return fl_fail(err, FL_E_INVALID, "failed to create typed patch object (%.*s/%.*s; %.*s, Kind=%.*s): %s%.*s",
		       FL_ARG(fl_tree_str(fl_tree_get(metadata, FL_S("namespace")))),
		       FL_ARG(fl_tree_str(fl_tree_get(metadata, FL_S("name")))), FL_ARG(version), FL_ARG(kind),
		       w->misfits == 1 ? "" : "errors:\n", FL_ARG(lines));
}

static int apply(struct work *w, yyjson_mut_val *live, yyjson_mut_val *config, struct fl_causes *conflicts,
		 struct fl_err *err)
{
	struct step root = { NULL, w->managed.fields.root };
	struct fl_managed_entry *self;
	int r;

	claim_before(w, live);
	self = fl_managed_self(&w->managed, w->who, true);
	w->self = self->bit;
	w->want = w->managed.len;
	w->metadata = fl_owned_make(&w->managed.fields, root.field, 'f', FL_S("metadata"));
	if (w->metadata && !w->managed.failed)
		(void)merge_map(w, w->schema->root, &root, live, config);
	if (w->failed || w->managed.failed || w->managed.fields.failed)
		return no_memory(err);
	if (w->misfits)
		return refuse(w, config, err);
	r = w->hit && !w->force ? conflict(w, conflicts, err) : 0;
	if (r < 0)
		return r;
	if (has_dropped(w, w->managed.fields.root->below))
		drop_members(w, w->schema->root, w->managed.fields.root, live);
	if (w->failed)
		return no_memory(err);
	return settle(w, self, live, err);
}

int fl_apply(const struct fl_schema *schema, const struct fl_writer *who, unsigned flags, yyjson_mut_doc *doc,
	     yyjson_mut_val *live, yyjson_mut_val *config, struct fl_causes *conflicts, struct fl_err *err)
{
	struct work w = { .schema = schema, .who = who, .doc = doc, .force = (flags & FL_APPLY_FORCE) != 0,
			  .misfit = FL_BUF(4 * FL_KIB), .buf = FL_BUF(FL_JSON_ITEM_MAX) };
	int r;

	(void)fl_managed_read(&w.managed, conflicts->arena, live);
	r = w.managed.failed ? no_memory(err) : apply(&w, live, config, conflicts, err);
	fl_buf_free(&w.misfit);
	fl_buf_free(&w.buf);
	return r;
}
