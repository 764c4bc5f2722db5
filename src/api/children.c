#include "api/children.h"
#include "json/bind_in.h"
#include <assert.h>

const struct fl_owner_ref *fl_controller(const struct fl_owner_ref_list *refs)
{
	for (uint32_t i = 0; i < refs->len; i++)
		if (refs->at[i].controller)
			return &refs->at[i];
	return NULL;
}

bool fl_owner_ref_is(const struct fl_owner_ref *ref, const struct fl_kind *kind)
{
	int64_t slash = fl_str_find(ref->api_version, '/');

	return fl_str_eq(ref->kind, fl_str(kind->kind)) &&
	       fl_str_eq(fl_str_sub(ref->api_version, 0, slash < 0 ? 0 : (uint32_t)slash), fl_str(kind->group));
}

/* A row of the metadata; NULL: there is none. */
static const struct fl_field *row_of(const struct fl_kind *kind, const char *json, const struct fl_field **ret_meta)
{
	*ret_meta = fl_field_find(kind->root(), FL_S("metadata"));
	return *ret_meta ? fl_field_find((*ret_meta)->of(), fl_str(json)) : NULL;
}

static const struct fl_field *refs_row(const struct fl_kind *kind, const struct fl_field **ret_meta)
{
	const struct fl_field *row = row_of(kind, "ownerReferences", ret_meta);

	return row && row->of == fl_owner_ref_bind ? row : NULL;
}

static void *member_of(const struct fl_field *meta, const struct fl_field *row, const void *object)
{
	assert(meta && row);   /* fl_children_check has seen to it */
	return fl_member(row, fl_member(meta, object));
}

struct fl_owner_ref_list fl_owner_refs_of(const struct fl_kind *kind, const void *object)
{
	const struct fl_field *meta, *row = refs_row(kind, &meta);
	struct fl_owner_ref_list refs = { NULL, 0 };

	if (row)
		memcpy(&refs, member_of(meta, row, object), sizeof refs);
	return refs;
}

struct fl_str fl_label_of(const struct fl_kind *kind, const void *object, struct fl_str key)
{
	const struct fl_field *meta, *row = row_of(kind, "labels", &meta);
	struct fl_map map = { NULL, 0 };

	if (row)
		memcpy(&map, member_of(meta, row, object), sizeof map);
	return fl_map_value(map, key);
}

struct fl_str fl_parent_of(const struct fl_children *children, const void *object)
{
	struct fl_owner_ref_list refs;
	const struct fl_owner_ref *controller;

	if (children->label)
		return fl_label_of(children->owner->kind, object, fl_str(children->label));
	refs = fl_owner_refs_of(children->owner->kind, object);
	controller = fl_controller(&refs);
	return controller ? controller->uid : (struct fl_str){ NULL, 0 };
}

static bool owns_label(const struct fl_owner *owner, const char *label)
{
	static const char before[] = "metadata.labels[";
	size_t len = strlen(label);

	for (const char *const *path = owner->paths; *path; path++)
		if (strncmp(*path, before, sizeof before - 1) == 0 &&
		    strncmp(*path + sizeof before - 1, label, len) == 0 &&
		    strcmp(*path + sizeof before - 1 + len, "]") == 0)
			return true;
	return false;
}

int fl_children_check(const struct fl_children *children, struct fl_err *err)
{
	const struct fl_kind *kind = children->owner->kind;
	const struct fl_field *meta;

	if (fl_owner_is_status(children->owner))
		return fl_fail(err, FL_E_INVALID, "%s writes the status of %s; its children need an owner of the rest",
			       children->owner->manager, kind->kind);
	if (!children->label && !refs_row(kind, &meta))
		return fl_fail(err, FL_E_INVALID, "the metadata of %s has no row for ownerReferences", kind->kind);
	if (!children->label && kind->cluster_scoped && !children->parent->cluster_scoped)
		return fl_fail(err, FL_E_INVALID, "%s has no namespace, so no %s can own it: give them a label",
			       kind->kind, children->parent->kind);
	if (children->label && !owns_label(children->owner, children->label))
		return fl_fail(err, FL_E_INVALID, "owner %s does not own metadata.labels[%s] of %s",
			       children->owner->manager, children->label, kind->kind);
	return 0;
}

/* ---- made to name its parent ---- */

static void set_there(const struct fl_kind *kind, const struct fl_field *meta, const struct fl_field *row, void *object)
{
	assert(meta && row);
	fl_has_set(meta->of(), fl_member(meta, object), row, true);
	fl_has_set(kind->root(), object, meta, true);
}

static int add_label(const struct fl_children *children, struct fl_str uid, void *object, struct fl_arena *arena)
{
	const struct fl_kind *kind = children->owner->kind;
	const struct fl_field *meta, *row = row_of(kind, "labels", &meta);
	struct fl_pair mine = { fl_str(children->label), uid }, *grown;
	struct fl_map map, made = { NULL, 0 };
	uint32_t i = 0;

	memcpy(&map, member_of(meta, row, object), sizeof map);
	grown = fl_arena_get_n(arena, map.len + 1, sizeof *grown);
	if (!grown)
		return -FL_E_NOMEM;
	for (; i < map.len && fl_str_cmp(map.at[i].key, mine.key) < 0; i++)
		grown[made.len++] = map.at[i];
	grown[made.len++] = mine;
	for (i += i < map.len && fl_str_eq(map.at[i].key, mine.key); i < map.len; i++)
		grown[made.len++] = map.at[i];
	made.at = grown;
	memcpy(member_of(meta, row, object), &made, sizeof made);
	set_there(kind, meta, row, object);
	return 0;
}

static int add_reference(const struct fl_children *children, struct fl_str name, struct fl_str uid, void *object,
			 struct fl_arena *arena)
{
	char text[128];
	struct fl_buf version = FL_BUF_IN(text);
	const struct fl_field *meta, *row = refs_row(children->owner->kind, &meta);
	struct fl_owner_ref *ref = fl_arena_get(arena, sizeof *ref);
	struct fl_owner_ref_list list = { ref, 1 };

	fl_kind_api_version(children->parent, &version);
	if (!ref)
		return -FL_E_NOMEM;
	FL_SET(ref, api_version, fl_arena_str(arena, fl_buf_view(&version)));
	FL_SET(ref, kind, fl_str(children->parent->kind));
	FL_SET(ref, name, name);
	FL_SET(ref, uid, uid);
	FL_SET(ref, controller, true);
	FL_SET(ref, block_owner_deletion, true);
	memcpy(member_of(meta, row, object), &list, sizeof list);
	set_there(children->owner->kind, meta, row, object);
	return ref->api_version.p ? 0 : -FL_E_NOMEM;
}

int fl_child_name(const struct fl_children *children, struct fl_str parent_name, struct fl_str parent_uid, void *object,
		  struct fl_arena *arena, struct fl_owner *ret_owner)
{
	const struct fl_owner *owner = children->owner;
	uint32_t count = 0;
	const char **paths;
	struct fl_str path;

	*ret_owner = *owner;
	if (children->label)
		return add_label(children, parent_uid, object, arena);
	while (owner->paths[count])
		count++;
	paths = fl_arena_get_n(arena, count + 2, sizeof *paths);
	path = fl_arena_printf(arena, "metadata.ownerReferences[uid=%.*s]", FL_ARG(parent_uid));
	if (!paths || !path.p)
		return -FL_E_NOMEM;
	memcpy(paths, owner->paths, count * sizeof *paths);
	paths[count] = path.p;
	ret_owner->paths = paths;
	return add_reference(children, parent_name, parent_uid, object, arena);
}

const struct fl_owner *fl_owner_copy(const struct fl_owner *owner, struct fl_arena *arena)
{
	struct fl_owner *own = fl_arena_get(arena, sizeof *own);
	uint32_t count = 0;
	const char **paths;

	while (owner->paths[count])
		count++;
	paths = fl_arena_get_n(arena, count + 1, sizeof *paths);
	if (!own || !paths)
		return NULL;
	*own = (struct fl_owner){ owner->manager, owner->kind, paths };
	for (uint32_t i = 0; i < count; i++) {
		paths[i] = fl_arena_str(arena, fl_str(owner->paths[i])).p;
		if (!paths[i])
			return NULL;
	}
	return own;
}
