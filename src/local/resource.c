#include "local/resource.h"

/* ---- the table ---- */

static struct fl_str key_of(const void *object)
{
	return ((const struct fl_api_resource *)object)->key;
}

static void drop_versions(struct fl_api_resource *resource)
{
	for (uint32_t i = 0; i < resource->version_count; i++)
		fl_schema_free(resource->versions[i].schema);
	resource->version_count = 0;
}

void fl_api_resource_free(struct fl_api_resource *resource)
{
	if (!resource)
		return;
	drop_versions(resource);
	fl_ordered_free(&resource->shelf.objects);
	fl_arena_free(&resource->arena);
	fl_free(resource);
}

void fl_api_resources_free(struct fl_api_resources *resources)
{
	fl_vec_each (resource, &resources->list)
		fl_api_resource_free(*resource);
	fl_vec_free(&resources->list);
	fl_hmap_free(&resources->map);
}

int fl_api_resource_add(struct fl_api_resources *resources, struct fl_api_resource *resource)
{
	if (fl_vec_reserve(&resources->list, 1) < 0 || fl_hmap_put(&resources->map, resource, NULL) < 0)
		return -FL_E_NOMEM;
	return fl_vec_push(&resources->list, resource);
}

struct fl_api_resource *fl_api_resource_find(const struct fl_api_resources *resources, struct fl_str group,
					     struct fl_str plural)
{
	char text[512];
	struct fl_buf key = FL_BUF_IN(text);

	fl_buf_str(&key, plural);
	if (group.len) {
		fl_buf_char(&key, '.');
		fl_buf_str(&key, group);
	}
	return key.failed ? NULL : fl_hmap_get(&resources->map, fl_buf_view(&key));
}

struct fl_api_resource *fl_api_resource_of_kind(const struct fl_api_resources *resources, struct fl_str group,
						struct fl_str kind)
{
	fl_vec_each (resource, &resources->list) {
		if (!(*resource)->gone && fl_str_eq((*resource)->kind, kind) &&
		    fl_str_eq((*resource)->group, group))
			return *resource;
	}
	return NULL;
}

struct fl_served *fl_served_find(struct fl_api_resource *resource, struct fl_str version)
{
	struct fl_served *served = fl_find(resource->versions, resource->version_count, name, version);

	return served && served->served ? served : NULL;
}

const struct fl_served *fl_served_stored(const struct fl_api_resource *resource)
{
	for (uint32_t i = 0; i < resource->version_count; i++) {
		if (resource->versions[i].stored)
			return &resource->versions[i];
	}
	return &resource->versions[0];
}

bool fl_api_resource_selectable(const struct fl_api_resource *resource, const struct fl_served *served,
				struct fl_str path)
{
	struct fl_str rest = fl_str(resource->builtin ? resource->builtin->fields : NULL), one;

	if (fl_str_eq(path, FL_S("metadata.name")) || (!resource->cluster && fl_str_eq(path,
										       FL_S("metadata.namespace"))))
		return true;
	while (rest.len && fl_str_split(&rest, ',', &one)) {
		if (fl_str_eq(one, path))
			return true;
	}
	return path.len && fl_str_in(served->selectable, FL_SELECTABLE_MAX, path);
}

/* ---- built-in ones ---- */

static struct fl_str *split_list(struct fl_arena *arena, const char *text, uint32_t *ret_count)
{
	struct fl_str rest = fl_str(text), one, *at = fl_arena_get_n(arena, 4, sizeof *at);

	*ret_count = 0;
	while (at && rest.len && *ret_count < 4 && fl_str_split(&rest, ',', &one))
		at[(*ret_count)++] = one;
	return at;
}

static struct fl_str lower(struct fl_arena *arena, struct fl_str text)
{
	struct fl_str copy = fl_arena_str(arena, text);

	for (uint32_t i = 0; copy.p && i < copy.len; i++) {
		if (copy.p[i] >= 'A' && copy.p[i] <= 'Z')
			((char *)(uintptr_t)copy.p)[i] = (char)(copy.p[i] + ('a' - 'A'));
	}
	return copy;
}

/* What is kept as it comes. */
#define ANYTHING "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}"

static int compile(const char *text, struct fl_schema **ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_json_read(NULL, fl_str(text), 0, &doc, err);

	return r < 0 ? r : fl_schema_compile(yyjson_doc_get_root(doc), FL_SCHEMA_OPEN, ret, err);
}

static int name_builtin(struct fl_api_resource *resource, const struct fl_builtin *builtin)
{
	resource->builtin = builtin;
	resource->traits = builtin->traits;
	resource->cluster = builtin->cluster;
	resource->group = fl_str(builtin->group);
	resource->plural = fl_str(builtin->plural);
	resource->kind = fl_str(builtin->kind);
	resource->singular = lower(&resource->arena, resource->kind);
	resource->list_kind = fl_arena_printf(&resource->arena, "%sList", builtin->kind);
	resource->key = builtin->group[0] ? fl_arena_printf(&resource->arena, "%s.%s", builtin->plural, builtin->group)
					  : resource->plural;
	resource->shorts = split_list(&resource->arena, builtin->shorts, &resource->short_count);
	return resource->singular.p && resource->list_kind.p && resource->key.p && resource->shorts ? 0 : -FL_E_NOMEM;
}

static int add_builtin(struct fl_api_resources *resources, const struct fl_builtin *builtin, struct fl_err *err)
{
	FL_AUTO(fl_api_resource) struct fl_api_resource *resource = fl_zalloc(sizeof *resource);
	struct fl_served *served;
	int r;

	if (!resource || name_builtin(resource, builtin) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for the kinds of an API server");
	served = &resource->versions[resource->version_count++];
	*served = (struct fl_served){ .name = fl_str(builtin->version), .served = true, .stored = true,
				      .status = builtin->status };
	r = compile(builtin->schema ? builtin->schema : ANYTHING, &served->schema, err);
	if (r < 0)
		return fl_wrap(err, "the schema of %s", builtin->kind);
	r = fl_api_resource_add(resources, resource);
	if (r == 0)
		(void)fl_steal(&resource);
	return r == 0 ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the kinds of an API server");
}

int fl_api_resources_init(struct fl_api_resources *resources, const uint64_t seed[2], struct fl_err *err)
{
	fl_hmap_init(&resources->map, key_of, seed);
	for (uint32_t i = 0; i < fl_builtin_count; i++) {
		int r = add_builtin(resources, &fl_builtins[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- those of CRDs ---- */

static struct fl_str text_in(struct fl_api_resource *resource, yyjson_val *object, const char *name)
{
	struct fl_str text = { 0 };

	(void)fl_json_str(fl_json_get(object, fl_str(name)), &text);
	return fl_arena_str(&resource->arena, text);
}

static struct fl_str *texts_in(struct fl_api_resource *resource, yyjson_val *object, const char *name,
			       uint32_t *ret_count)
{
	yyjson_val *list = fl_json_get(object, fl_str(name)), *one;
	struct fl_str *at = fl_arena_get_n(&resource->arena, yyjson_arr_size(list) + 1, sizeof *at);
	size_t i, n;

	*ret_count = 0;
	if (!at)
		return NULL;
	yyjson_arr_foreach (list, i, n, one) {
		struct fl_str text = { 0 };

		(void)fl_json_str(one, &text);
		at[*ret_count] = fl_arena_str(&resource->arena, text);
		if (!at[(*ret_count)++].p)
			return NULL;
	}
	return at;
}

/* ".spec.replicas" as "spec.replicas". */
static struct fl_str path_in(struct fl_api_resource *resource, yyjson_val *object, const char *name)
{
	struct fl_str path = text_in(resource, object, name);

	return path.p && path.len && path.p[0] == '.' ? fl_str_sub(path, 1, path.len) : path;
}

/* False: allocation failed. */
static bool read_selectable(struct fl_api_resource *resource, struct fl_served *served, yyjson_val *version)
{
	yyjson_val *list = fl_json_get(version, FL_S("selectableFields")), *one;
	size_t i, n;

	yyjson_arr_foreach (list, i, n, one) {
		if (i == FL_SELECTABLE_MAX)
			break;
		served->selectable[i] = path_in(resource, one, "jsonPath");
		if (!served->selectable[i].p)
			return false;
	}
	return true;
}

static bool read_scale(struct fl_api_resource *resource, struct fl_served *served, yyjson_val *scale)
{
	served->scale = yyjson_is_obj(scale);
	if (!served->scale)
		return true;
	served->replicas = path_in(resource, scale, "specReplicasPath");
	served->status_replicas = path_in(resource, scale, "statusReplicasPath");
	served->selector = path_in(resource, scale, "labelSelectorPath");
	return served->replicas.p && served->status_replicas.p && served->selector.p;
}

static bool read_deprecated(struct fl_api_resource *resource, struct fl_served *served, yyjson_val *version)
{
	if (!yyjson_is_true(fl_json_get(version, FL_S("deprecated"))))
		return true;
	served->deprecated = text_in(resource, version, "deprecationWarning");
	if (served->deprecated.p && !served->deprecated.len)
		served->deprecated = fl_arena_printf(&resource->arena, "%.*s/%.*s %.*s is deprecated",
						     FL_ARG(resource->group), FL_ARG(served->name),
						     FL_ARG(resource->kind));
	return served->deprecated.p;
}

static int read_version(struct fl_api_resource *resource, yyjson_val *version, struct fl_err *err)
{
	yyjson_val *subresources = fl_json_get(version, FL_S("subresources"));
	yyjson_val *schema = fl_json_get(fl_json_get(version, FL_S("schema")), FL_S("openAPIV3Schema"));
	struct fl_served *served = &resource->versions[resource->version_count++];

	*served = (struct fl_served){ .name = text_in(resource, version, "name") };
	served->served = yyjson_is_true(fl_json_get(version, FL_S("served")));
	served->stored = yyjson_is_true(fl_json_get(version, FL_S("storage")));
	served->status = yyjson_is_obj(fl_json_get(subresources, FL_S("status")));
	if (!served->name.p || !read_scale(resource, served, fl_json_get(subresources, FL_S("scale"))) ||
	    !read_deprecated(resource, served, version) || !read_selectable(resource, served, version))
		return fl_fail(err, FL_E_NOMEM, "no memory for a version of a CRD");
	return schema ? fl_schema_compile(schema, 0, &served->schema, err) : compile(ANYTHING, &served->schema, err);
}

static int name_crd(struct fl_api_resource *resource, yyjson_val *spec)
{
	yyjson_val *names = fl_json_get(spec, FL_S("names"));

	resource->traits = FL_TRAIT_GENERATION;
	resource->group = text_in(resource, spec, "group");
	resource->plural = text_in(resource, names, "plural");
	resource->kind = text_in(resource, names, "kind");
	resource->singular = text_in(resource, names, "singular");
	resource->list_kind = text_in(resource, names, "listKind");
	if (resource->kind.p && resource->singular.p && !resource->singular.len)
		resource->singular = lower(&resource->arena, resource->kind);
	if (resource->kind.p && resource->list_kind.p && !resource->list_kind.len)
		resource->list_kind = fl_arena_printf(&resource->arena, "%.*sList", FL_ARG(resource->kind));
	resource->cluster = fl_str_eq(text_in(resource, spec, "scope"), FL_S("Cluster"));
	resource->shorts = texts_in(resource, names, "shortNames", &resource->short_count);
	resource->categories = texts_in(resource, names, "categories", &resource->category_count);
	resource->key = fl_arena_printf(&resource->arena, "%.*s.%.*s", FL_ARG(resource->plural),
					FL_ARG(resource->group));
	return resource->group.p && resource->plural.p && resource->kind.p && resource->singular.p &&
			       resource->list_kind.p && resource->shorts && resource->categories && resource->key.p
		       ? 0
		       : -FL_E_NOMEM;
}

int fl_api_resource_of_crd(yyjson_val *crd, struct fl_api_resource **ret, struct fl_err *err)
{
	FL_AUTO(fl_api_resource) struct fl_api_resource *resource = fl_zalloc(sizeof *resource);
	yyjson_val *spec = fl_json_get(crd, FL_S("spec")), *version;
	size_t i, n;

	if (!resource || name_crd(resource, spec) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for a CRD");
	yyjson_arr_foreach (fl_json_get(spec, FL_S("versions")), i, n, version) {
		int r = i < FL_VERSIONS_MAX ? read_version(resource, version, err)
					    : fl_fail(err, FL_E_TOOBIG, "more than %d versions", FL_VERSIONS_MAX);

		if (r < 0)
			return r;
	}
	*ret = fl_steal(&resource);
	return 0;
}

void fl_api_resource_redefine(struct fl_api_resource *resource, struct fl_api_resource *from)
{
	struct fl_api_resource old = *resource;

	*resource = *from;
	resource->shelf = old.shelf;
	resource->watches = old.watches;
	*from = old;
	from->shelf = (struct fl_shelf){ 0 };
	from->watches = NULL;
	fl_api_resource_free(from);
}
