/* Pruning and defaults. */
#include "local/schema_in.h"
#include <stdlib.h>

static struct fl_str name_of(const yyjson_mut_val *key)
{
	return (struct fl_str){ key->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)key) };
}

/* ---- pruning ---- */

static void report(struct fl_causes *unknown, const struct fl_at *at)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(64 * FL_KIB);

	if (!unknown)
		return;
	fl_at_put(&path, at);
	if (path.failed)
		unknown->failed = true;
	else
		fl_cause_add(unknown, NULL, fl_buf_view(&path), "unknown field \"%.*s\"", FL_ARG(fl_buf_view(&path)));
}

static void prune(const struct fl_node *node, yyjson_mut_val *val, const struct fl_at *at, struct fl_causes *unknown)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
	const struct fl_node *below;
	yyjson_mut_val *key, *item;
	size_t i, max;

	if (node == &fl_node_any)
		return;
	if (yyjson_mut_is_arr(val) && node->items) {
		yyjson_mut_arr_foreach(val, i, max, item) if (yyjson_mut_is_ctn(item))
			prune(node->items, item, &(struct fl_at){ at, { 0 }, i }, unknown);
		return;
	}
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_at here = { at, name_of(key), 0 };

		below = fl_node_member(node, here.name);
		if (below) {
			if (yyjson_mut_is_ctn(key->next))
				prune(below, key->next, &here, unknown);
			continue;
		}
		report(unknown, &here);
		(void)yyjson_mut_obj_iter_remove(&iter);
	}
}

static int by_field(const void *a, const void *b)
{
	return fl_str_cmp((*(struct fl_cause *const *)a)->field, (*(struct fl_cause *const *)b)->field);
}

/* Sort those behind `last` as the API server lists them. */
static void sort_causes(struct fl_causes *causes, struct fl_cause *last, uint32_t before)
{
	uint32_t len = causes->len - before, i = 0;
	struct fl_cause **sorted, **at = last ? &last->next : &causes->first;

	if (len < 2)
		return;
	sorted = fl_arena_get_n(causes->arena, len, sizeof *sorted);
	if (!sorted) {
		causes->failed = true;
		return;
	}
	for (struct fl_cause *one = *at; one; one = one->next)
		sorted[i++] = one;
	qsort(sorted, len, sizeof *sorted, by_field);
	for (i = 0; i < len; i++) {
		*at = causes->last = sorted[i];
		at = &sorted[i]->next;
	}
	*at = NULL;
}

void fl_node_prune(const struct fl_node *node, yyjson_mut_val *val, struct fl_causes *unknown)
{
	struct fl_cause *last = unknown ? unknown->last : NULL;
	uint32_t before = unknown ? unknown->len : 0;

	if (yyjson_mut_is_ctn(val))
		prune(node, val, NULL, unknown);
	if (unknown)
		sort_causes(unknown, last, before);
}

void fl_schema_prune(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *unknown)
{
	fl_node_prune(schema->root, object, unknown);
}

/* ---- defaults ---- */

struct filler {
	yyjson_mut_doc *doc;
	bool drop;   /* nulls that have no default */
};

static int fill(const struct filler *f, const struct fl_node *node, yyjson_mut_val *val);

static yyjson_mut_val *default_of(const struct fl_node *node, yyjson_mut_doc *doc)
{
	return node->def ? fl_tree_of(doc, node->def, NULL) : NULL;
}

/* A null that is not allowed counts as absent. */
static bool counts_as_absent(const struct filler *f, const struct fl_node *node, yyjson_mut_val *val)
{
	return yyjson_mut_is_null(val) && !node->nullable && (node->def || (f->drop && !node->open));
}

static int fill_members(const struct filler *f, const struct fl_node *node, yyjson_mut_val *val)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
	const struct fl_node *below;
	yyjson_mut_val *key;
	int r;

	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		below = fl_node_member(node, name_of(key));
		if (!below || below == &fl_node_any)
			continue;
		if (counts_as_absent(f, below, key->next)) {
			(void)yyjson_mut_obj_iter_remove(&iter);
			continue;
		}
		r = yyjson_mut_is_ctn(key->next) ? fill(f, below, key->next) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_absent(const struct filler *f, const struct fl_node *node, yyjson_mut_val *val)
{
	yyjson_mut_val *made;

	for (uint32_t i = 0; i < node->prop_len; i++) {
		const struct fl_prop *prop = &node->props[i];

		if (!prop->node->def || fl_tree_get(val, prop->name))
			continue;
		made = default_of(prop->node, f->doc);
		if (!made || (yyjson_mut_is_ctn(made) && fill(f, prop->node, made) < 0) ||
		    !fl_tree_put(f->doc, val, prop->name, made))
			return -FL_E_NOMEM;
	}
	return 0;
}

static int fill(const struct filler *f, const struct fl_node *node, yyjson_mut_val *val)
{
	yyjson_mut_val *item;
	size_t i, max;
	int r;

	if (!f->drop && !node->defaults)
		return 0;
	if (yyjson_mut_is_arr(val)) {
		if (!node->items)
			return 0;
		yyjson_mut_arr_foreach(val, i, max, item)
		{
			r = yyjson_mut_is_ctn(item) ? fill(f, node->items, item) : 0;
			if (r < 0)
				return r;
		}
		return 0;
	}
	r = fill_members(f, node, val);
	return r < 0 ? r : fill_absent(f, node, val);
}

int fl_node_default(const struct fl_node *node, yyjson_mut_doc *doc, yyjson_mut_val *val)
{
	return yyjson_mut_is_ctn(val) ? fill(&(struct filler){ doc, true }, node, val) : 0;
}

int fl_schema_default(const struct fl_schema *schema, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
	return fl_node_default(schema->root, doc, object);
}

int fl_schema_fill(const struct fl_schema *schema, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
	return fill(&(struct filler){ doc, false }, schema->root, object);
}
