/* metadata.managedFields: read, changed by an update, written. */
#include "json/time.h"
#include "local/managed_in.h"
#include "base/units.h"
#include <stdlib.h>

#define US_PER_S (int64_t)(FL_NS_PER_S / 1000)
#define ANCIENT FL_S("ancient-changes")

static struct fl_str name_of(const yyjson_mut_val *key)
{
	return (struct fl_str){ key->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)key) };
}

static struct fl_str member(yyjson_mut_val *object, struct fl_str name)
{
	return fl_tree_str(fl_tree_get(object, name));
}

/* ---- entries ---- */

static bool read_entry(struct fl_managed_entry *entry, yyjson_mut_val *val)
{
	struct fl_str time = member(val, FL_S("time"));

	*entry = (struct fl_managed_entry){
		.manager = member(val, FL_S("manager")), .operation = member(val, FL_S("operation")),
		.api_version = member(val, FL_S("apiVersion")), .subresource = member(val, FL_S("subresource")),
		.time = FL_TIME_NONE, .v1 = fl_tree_get(val, FL_S("fieldsV1")),
	};
	if (time.len && fl_time_parse(time, &entry->time, NULL) == 0)
		entry->time = entry->time / US_PER_S;
	return (fl_str_eq(entry->operation, FL_S("Apply")) || fl_str_eq(entry->operation, FL_S("Update"))) &&
	       fl_str_eq(member(val, FL_S("fieldsType")), FL_S("FieldsV1"));
}

/* An applier has one entry, whatever version it applies. */
static bool is_of(const struct fl_managed_entry *entry, struct fl_str manager, bool apply, struct fl_str version,
		  struct fl_str subresource)
{
	return fl_str_eq(entry->manager, manager) && fl_str_eq(entry->subresource, subresource) &&
	       fl_str_eq(entry->operation, apply ? FL_S("Apply") : FL_S("Update")) &&
	       (apply || fl_str_eq(entry->api_version, version));
}

static struct fl_managed_entry *find(struct fl_managed *managed, const struct fl_managed_entry *like)
{
	for (uint32_t i = 0; i < managed->len; i++)
		if (is_of(&managed->at[i], like->manager, fl_str_eq(like->operation, FL_S("Apply")), like->api_version,
			  like->subresource))
			return &managed->at[i];
	return NULL;
}

bool fl_managed_read(struct fl_managed *managed, struct fl_arena *arena, yyjson_mut_val *object)
{
	yyjson_mut_val *list = fl_tree_get(fl_tree_get(object, FL_S("metadata")), FL_S("managedFields")), *val;
	size_t len = yyjson_mut_arr_size(list), i, max;
	struct fl_managed_entry one, *same;

	*managed = (struct fl_managed){ .arena = arena };
	managed->at = fl_arena_get_n(arena, len + FL_ENTRIES_MORE, sizeof *managed->at);
	fl_ownership_init(&managed->fields, arena, (uint32_t)len + FL_ENTRIES_MORE);
	managed->failed = !managed->at || managed->fields.failed;
	if (managed->failed)
		return true;
	yyjson_mut_arr_foreach(list, i, max, val)
	{
		if (!read_entry(&one, val)) {
			managed->len = 0;
			return false;
		}
		same = find(managed, &one);   /* written by hand */
		if (!same) {
			one.bit = managed->len;
			same = &managed->at[managed->len++];
			*same = one;
		}
		fl_ownership_read(&managed->fields, same->bit, one.v1);
	}
	managed->failed = managed->fields.failed;
	return true;
}

struct fl_managed_entry *fl_managed_add(struct fl_managed *managed, struct fl_str manager, bool apply,
					struct fl_str version,
					struct fl_str subresource)
{
	struct fl_managed_entry *entry;

	for (uint32_t i = 0; i < managed->len; i++)
		if (is_of(&managed->at[i], manager, apply, version, subresource))
			return &managed->at[i];
	entry = &managed->at[managed->len];
	*entry = (struct fl_managed_entry){
		.manager = manager, .operation = apply ? FL_S("Apply") : FL_S("Update"), .api_version = version,
		.subresource = subresource, .time = FL_TIME_NONE, .bit = managed->len,
	};
	managed->len++;
	return entry;
}

struct fl_managed_entry *fl_managed_self(struct fl_managed *managed, const struct fl_writer *who, bool apply)
{
	static const struct fl_str subresource[FL_PART_COUNT_] = {
		[FL_PART_WHOLE] = FL_S_INIT(""), [FL_PART_MAIN] = FL_S_INIT(""),
		[FL_PART_STATUS] = FL_S_INIT("status"), [FL_PART_SCALE] = FL_S_INIT("scale"),
	};

	return fl_managed_add(managed, who->manager, apply, who->api_version, subresource[who->part]);
}

/* ---- whose a field is ---- */

static void mark(struct fl_managed *managed, uint64_t bits, uint32_t word)
{
	for (uint32_t i = 0; i < managed->len; i++)
		if (managed->at[i].bit / 64 == word && bits >> managed->at[i].bit % 64 & 1)
			managed->at[i].changed = true;
}

void fl_managed_take(struct fl_managed *managed, struct fl_owned *field)
{
	for (uint32_t i = 0; i < managed->fields.words; i++) {
		if (!field->own[i])
			continue;
		mark(managed, field->own[i], i);
		field->own[i] = 0;
	}
}

bool fl_managed_is_others(const struct fl_managed *managed, const struct fl_owned *field, uint32_t owner)
{
	for (uint32_t i = 0; i < managed->fields.words; i++)
		if (field->own[i] & ~(owner / 64 == i ? (uint64_t)1 << owner % 64 : 0))
			return true;
	return false;
}

static void drop_among(struct fl_managed *managed, struct fl_owned *at)
{
	for (; at; at = at->more) {
		drop_among(managed, at->less);
		fl_managed_drop(managed, at);
	}
}

void fl_managed_drop_below(struct fl_managed *managed, struct fl_owned *field)
{
	drop_among(managed, field->below);
}

void fl_managed_drop(struct fl_managed *managed, struct fl_owned *field)
{
	fl_managed_take(managed, field);
	drop_among(managed, field->below);
}

bool fl_is_apart(const struct fl_node *node, yyjson_mut_val *val)
{
	if (yyjson_mut_is_obj(val))
		return !node->atomic;
	return yyjson_mut_is_arr(val) && node->list != FL_LIST_ATOMIC;
}

bool fl_is_null_or_empty(yyjson_mut_val *val)
{
	return yyjson_mut_is_null(val) || (yyjson_mut_is_obj(val) && yyjson_mut_obj_size(val) == 0);
}

bool fl_part_skips(enum fl_part part, struct fl_str name)
{
	bool status = fl_str_eq(name, FL_S("status"));

	return part == FL_PART_MAIN ? status : part == FL_PART_STATUS && !status;
}

static void take(struct fl_managed *managed, struct fl_owned *field, uint32_t owner)
{
	bool had = fl_owned_has(field, owner);

	fl_managed_take(managed, field);
	fl_owned_set(field, owner);
	for (uint32_t i = 0; !had && i < managed->len; i++)
		if (managed->at[i].bit == owner)
			managed->at[i].changed = true;
}

static struct fl_owned *element(struct fl_managed *managed, const struct fl_node *node, struct fl_owned *field,
				yyjson_mut_val *item, struct fl_buf *buf)
{
	char kind;

	if (fl_element_of(node, item, buf, &kind) != 0)
		return NULL;
	if (buf->failed)
		managed->failed = true;
	return buf->failed ? NULL : fl_owned_make(&managed->fields, field, kind, fl_buf_view(buf));
}

void fl_managed_claim(struct fl_managed *managed, const struct fl_node *node, struct fl_owned *field,
		      yyjson_mut_val *val, uint32_t owner)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_JSON_ITEM_MAX);
	const struct fl_node *below;
	struct fl_owned *made;
	yyjson_mut_val *key, *item;
	size_t i, max;

	take(managed, field, owner);
	if (!fl_is_apart(node, val))
		return;
	yyjson_mut_obj_foreach(val, i, max, key, item)
	{
		below = fl_node_member(node, name_of(key));
		made = fl_owned_make(&managed->fields, field, 'f', name_of(key));
		if (!made)
			return;
		fl_managed_claim(managed, below ? below : &fl_node_any, made, item, owner);
	}
	yyjson_mut_arr_foreach(val, i, max, item)
	{
		made = element(managed, node, field, item, &buf);
		if (made)
			fl_managed_claim(managed, node->items, made, item, owner);
	}
}

/* ---- what an update changed ---- */

struct update {
	struct fl_managed *managed;
	uint32_t owner;
	enum fl_part part;
	struct fl_owned *metadata;   /* the object's own */
	bool any;
	uint32_t taken;
	struct fl_buf buf;
};

static void compare(struct update *u, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *before,
		    yyjson_mut_val *after);
static void compare_objects(struct update *u, const struct fl_node *node, struct fl_owned *field,
			    yyjson_mut_val *before, yyjson_mut_val *after);
static void compare_lists(struct update *u, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *before,
			  yyjson_mut_val *after);

static bool is_skipped(const struct update *u, const struct fl_node *node, const struct fl_owned *field,
		       struct fl_str name)
{
	if (field == u->managed->fields.root)
		return fl_owned_is_servers(name, false) || fl_part_skips(u->part, name);
	return node == &fl_node_metadata && field == u->metadata && fl_owned_is_servers(name, true);
}

static void compare_member(struct update *u, const struct fl_node *node, struct fl_owned *field, struct fl_str name,
			   yyjson_mut_val *before, yyjson_mut_val *after)
{
	const struct fl_node *below = fl_node_member(node, name);
	struct fl_owned *made;

	if (fl_tree_equal(before, after) || is_skipped(u, node, field, name))
		return;
	made = fl_owned_make(&u->managed->fields, field, 'f', name);
	if (made && field == u->managed->fields.root && below == &fl_node_metadata) {
		u->metadata = made;
		compare_objects(u, below, made, before, after);
	} else if (made && below && below->present && (!before || !after)) {
		u->any = true;
		if (below->type == FL_VALUE_OBJECT)
			compare_objects(u, below, made, before, after);
		else
			compare_lists(u, below, made, before, after);
	} else if (made) {
		compare(u, below ? below : &fl_node_any, made, before, after);
	}
}

static void compare_objects(struct update *u, const struct fl_node *node, struct fl_owned *field,
			    yyjson_mut_val *before, yyjson_mut_val *after)
{
	FL_AUTO(fl_tree_names) struct fl_tree_names old = { 0 }, new = { 0 };
	yyjson_mut_val *key, *val;
	size_t i, max;

	fl_tree_names_init(&old, before);
	fl_tree_names_init(&new, after);
	yyjson_mut_obj_foreach(after, i, max, key, val)
		compare_member(u, node, field, name_of(key), fl_tree_names_get(&old, name_of(key)), val);
	yyjson_mut_obj_foreach(before, i, max, key, val) if (!fl_tree_names_get(&new, name_of(key)))
		compare_member(u, node, field, name_of(key), val, NULL);
}

static void compare_lists(struct update *u, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *before,
			  yyjson_mut_val *after)
{
	struct fl_owned *made;
	yyjson_mut_val *item;
	size_t i, max;

	yyjson_mut_arr_foreach(before, i, max, item)
	{
		made = element(u->managed, node, field, item, &u->buf);
		if (made)
			made->old = item;
	}
	yyjson_mut_arr_foreach(after, i, max, item)
	{
		made = element(u->managed, node, field, item, &u->buf);
		if (!made || made->new)
			continue;
		made->new = item;
		compare(u, node->items, made, made->old, item);
	}
	yyjson_mut_arr_foreach(before, i, max, item)
	{
		made = element(u->managed, node, field, item, &u->buf);
		if (made && !made->new)
			compare(u, node->items, made, item, NULL);
	}
}

/* Both are maps, or both lists, of parts that are owned apart? A null counts as an empty one. */
static bool are_alike(const struct fl_node *node, yyjson_mut_val *a, yyjson_mut_val *b)
{
	if (!a || !b)
		return false;
	if (yyjson_mut_is_null(a))
		return fl_is_apart(node, b);
	if (yyjson_mut_is_null(b))
		return fl_is_apart(node, a);
	return yyjson_mut_is_obj(a) == yyjson_mut_is_obj(b) && fl_is_apart(node, a) && fl_is_apart(node, b);
}

static void compare(struct update *u, const struct fl_node *node, struct fl_owned *field, yyjson_mut_val *before,
		    yyjson_mut_val *after)
{
	if (u->managed->failed || fl_tree_equal(before, after))
		return;
	u->any = true;
	if (!after) {
		fl_managed_drop(u->managed, field);
		return;
	}
	if (are_alike(node, before, after)) {
		if (yyjson_mut_is_obj(after) || yyjson_mut_is_obj(before))
			compare_objects(u, node, field, before, after);
		else
			compare_lists(u, node, field, before, after);
		return;
	}
	u->taken++;
	if (before)
		fl_managed_drop_below(u->managed, field);
	fl_managed_claim(u->managed, node, field, after, u->owner);
}

/* ---- too many ---- */

/* The order in which the API server lists them. */
static int by_order(const void *a, const void *b)
{
	const struct fl_managed_entry *x = a, *y = b;
	int order = fl_str_cmp(x->operation, y->operation);

	if (order == 0 && x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (order == 0)
		order = fl_str_cmp(x->manager, y->manager);
	if (order == 0)
		order = fl_str_cmp(x->api_version, y->api_version);
	return order ? order : fl_str_cmp(x->subresource, y->subresource);
}

static void move_among(struct fl_owned *at, uint32_t from, uint32_t to)
{
	for (; at; at = at->more) {
		move_among(at->less, from, to);
		move_among(at->below, from, to);
		if (fl_owned_has(at, from))
			fl_owned_set(at, to);
	}
}

static void join(struct fl_managed *managed, struct fl_managed_entry *entry, struct fl_managed_entry *into)
{
	move_among(managed->fields.root->below, entry->bit, into->bit);
	if (into->time < entry->time)
		into->time = entry->time;
	into->changed = entry->gone = true;
}

/* Sorted, the oldest updaters come first. Those of one version become one entry. */
static void cap(struct fl_managed *managed)
{
	uint32_t updaters = 0;

	for (uint32_t i = 0; i < managed->len; i++)
		updaters += !managed->at[i].gone && fl_str_eq(managed->at[i].operation, FL_S("Update"));
	for (uint32_t i = 0; i < managed->len && updaters > FL_UPDATERS_MAX; i++) {
		struct fl_managed_entry *entry = &managed->at[i], *into = NULL;

		if (entry->gone || !fl_str_eq(entry->operation, FL_S("Update")) || fl_str_eq(entry->manager, ANCIENT))
			continue;
		for (uint32_t k = 0; k < managed->len && !into; k++)
			if (!managed->at[k].gone && fl_str_eq(managed->at[k].manager, ANCIENT) &&
			    fl_str_eq(managed->at[k].api_version, entry->api_version))
				into = &managed->at[k];
		if (into) {
			join(managed, entry, into);
			updaters--;
		} else {
			entry->manager = ANCIENT;
			entry->subresource = FL_S("");
			entry->changed = true;
		}
	}
	if (managed->len)
		qsort(managed->at, managed->len, sizeof *managed->at, by_order);
}

/* ---- writing ---- */

static bool put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, struct fl_str text)
{
	return text.len == 0 || fl_tree_put(doc, object, fl_str(name), yyjson_mut_strn(doc, text.p, text.len));
}

static yyjson_mut_val *print_entry(const struct fl_managed_entry *entry, yyjson_mut_doc *doc)
{
	yyjson_mut_val *object = yyjson_mut_obj(doc), *time;
	char text[FL_TIME_TEXT];
	bool ok = object && put(doc, object, "apiVersion", entry->api_version) &&
		  put(doc, object, "fieldsType", FL_S("FieldsV1")) &&
		  fl_tree_put(doc, object, FL_S("fieldsV1"), entry->v1) &&
		  put(doc, object, "manager", entry->manager) &&
		  put(doc, object, "operation", entry->operation) &&
		  put(doc, object, "subresource", entry->subresource);

	if (ok && entry->time != FL_TIME_NONE) {
		time = yyjson_mut_strncpy(doc, text, fl_time_print(entry->time * US_PER_S, text));
		ok = time && fl_tree_put(doc, object, FL_S("time"), time);
	}
	return ok ? object : NULL;
}

/* Print the sets that have changed; an entry that owns nothing goes. */
static bool settle(struct fl_managed *managed, const struct fl_writer *who, yyjson_mut_doc *doc)
{
	for (uint32_t i = 0; i < managed->len; i++) {
		struct fl_managed_entry *entry = &managed->at[i];

		if (entry->touched)
			entry->time = who->now >= 0 ? who->now / US_PER_S :
						      (who->now + 1) / US_PER_S - 1;
		entry->gone |= !fl_owned_any(managed->fields.root, entry->bit);
	}
	if (managed->len)
		qsort(managed->at, managed->len, sizeof *managed->at, by_order);
	cap(managed);
	for (uint32_t i = 0; i < managed->len; i++) {
		struct fl_managed_entry *entry = &managed->at[i];

		if (entry->gone || (!entry->changed && entry->v1))
			continue;
		entry->v1 = fl_ownership_print(&managed->fields, entry->bit, doc);
		if (!entry->v1)
			return false;
	}
	return true;
}

int fl_managed_write(struct fl_managed *managed, const struct fl_writer *who, yyjson_mut_doc *doc,
		     yyjson_mut_val *object)
{
	yyjson_mut_val *metadata = fl_tree_get(object, FL_S("metadata")), *list = yyjson_mut_arr(doc), *one;

	if (!list || !settle(managed, who, doc))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < managed->len; i++) {
		if (managed->at[i].gone)
			continue;
		one = print_entry(&managed->at[i], doc);
		if (!one)
			return -FL_E_NOMEM;
		(void)yyjson_mut_arr_append(list, one);
	}
	if (!metadata) {
		metadata = yyjson_mut_obj(doc);
		if (!metadata || !fl_tree_put(doc, object, FL_S("metadata"), metadata))
			return -FL_E_NOMEM;
	}
	if (yyjson_mut_arr_size(list))
		return fl_tree_put(doc, metadata, FL_S("managedFields"), list) ? 0 : -FL_E_NOMEM;
	fl_tree_remove(metadata, FL_S("managedFields"));
	return 0;
}

/* ---- create, update, patch ---- */

static int out_of_memory(struct fl_err *err)
{
	return fl_fail(err, FL_E_NOMEM, "managedFields: out of memory");
}

static yyjson_mut_val *list_of(yyjson_mut_val *object)
{
	return fl_tree_get(fl_tree_get(object, FL_S("metadata")), FL_S("managedFields"));
}

/* [{}]: nobody owns anything, and nobody's changes are noted until the first apply. */
static bool is_reset(yyjson_mut_val *list)
{
	return yyjson_mut_arr_size(list) == 1 && yyjson_mut_is_obj(yyjson_mut_arr_get_first(list)) &&
	       yyjson_mut_obj_size(yyjson_mut_arr_get_first(list)) == 0;
}

/* Those of the request, if it has good ones: it may set them by hand, but not through a subresource. True: it drops
 * all of them. */
static bool choose(struct fl_managed *managed, const struct fl_writer *who, yyjson_mut_val *before,
		   yyjson_mut_val *after, struct fl_arena *arena)
{
	bool good = false;

	if (who->part != FL_PART_STATUS || !before) {
		if (is_reset(list_of(after))) {
			(void)fl_managed_read(managed, arena, NULL);
			return true;
		}
		good = fl_managed_read(managed, arena, after) && managed->len > 0;
		for (uint32_t i = 0; i < managed->len; i++)
			managed->at[i].changed = true;   /* print it as the API server does */
		if (good || managed->failed)
			return false;
	}
	(void)fl_managed_read(managed, arena, before);
	return false;
}

uint32_t fl_managed_note(struct fl_managed *managed, const struct fl_schema *schema, enum fl_part part, uint32_t owner,
			 yyjson_mut_val *before, yyjson_mut_val *after, bool *ret_any)
{
	struct update u = { managed, owner, part, NULL, false, 0, FL_BUF(FL_JSON_ITEM_MAX) };

	compare_objects(&u, schema->root, managed->fields.root, before, after);
	managed->failed |= managed->fields.failed || u.buf.failed;
	fl_buf_free(&u.buf);
	*ret_any = u.any;
	return u.taken;
}

int fl_managed_update(const struct fl_schema *schema, const struct fl_writer *who, yyjson_mut_doc *doc,
		      yyjson_mut_val *before, yyjson_mut_val *after, struct fl_arena *arena, struct fl_err *err)
{
	struct fl_managed managed;
	bool any, reset = choose(&managed, who, before, after, arena);
	struct fl_managed_entry *self;

	if (managed.failed)
		return out_of_memory(err);
	if (reset || (before && yyjson_mut_arr_size(list_of(before)) == 0)) {
		any = !before || !fl_tree_equal(before, after);   /* nobody's changes are noted */
	} else {
		self = fl_managed_self(&managed, who, false);
		self->touched = fl_managed_note(&managed, schema, who->part, self->bit, before, after, &any) > 0 &&
				who->part != FL_PART_SCALE;   /* its entry has no time in the API server */
	}
	if (managed.failed)
		return out_of_memory(err);
	if (!any && before && fl_tree_equal(list_of(before), list_of(after)))
		return 0;
	if (fl_managed_write(&managed, who, doc, after) < 0)
		return out_of_memory(err);
	return any || !before || !fl_tree_equal(list_of(before), list_of(after));
}

/* ---- the parts of an object ---- */

static int put_copy(yyjson_mut_doc *doc, yyjson_mut_val *object, struct fl_str name, yyjson_mut_val *val)
{
	yyjson_mut_val *copy;

	if (!val) {
		fl_tree_remove(object, name);
		return 0;
	}
	copy = fl_tree_copy(doc, val);
	return copy && fl_tree_put(doc, object, name, copy) ? 0 : -FL_E_NOMEM;
}

/* Give the object the other's members but these two. Most are the same, so comparing them spares a copy. */
static int reset_but(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_mut_val *other, struct fl_str kept,
		     struct fl_str too)
{
	yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
	yyjson_mut_val *key, *val;
	size_t i, max;

	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL)
		if (!fl_str_eq(fl_tree_str(key), kept) && !fl_str_eq(fl_tree_str(key), too) &&
		    !fl_tree_get(other, fl_tree_str(key)))
			(void)yyjson_mut_obj_iter_remove(&iter);
	yyjson_mut_obj_foreach(other, i, max, key, val)
	{
		struct fl_str name = fl_tree_str(key);
		yyjson_mut_val *had = fl_tree_get(object, name);

		if (fl_str_eq(name, kept) || fl_str_eq(name, too) || (had && fl_tree_equal(had, val)))
			continue;
		if (put_copy(doc, object, name, val) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

int fl_part_reset(enum fl_part part, yyjson_mut_doc *doc, yyjson_mut_val *before, yyjson_mut_val *after)
{
	yyjson_mut_val *meta;

	if (part == FL_PART_WHOLE || part == FL_PART_SCALE)
		return 0;
	if (part == FL_PART_MAIN || !before)
		return put_copy(doc, after, FL_S("status"), fl_tree_get(before, FL_S("status")));
	if (reset_but(doc, after, before, FL_S("status"), FL_S("metadata")) < 0)
		return -FL_E_NOMEM;
	meta = fl_tree_get(after, FL_S("metadata"));
	if (!yyjson_mut_is_obj(meta))
		return put_copy(doc, after, FL_S("metadata"), fl_tree_get(before, FL_S("metadata")));
	return reset_but(doc, meta, fl_tree_get(before, FL_S("metadata")), FL_S("managedFields"), FL_S(""));
}
