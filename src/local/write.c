#include "json/yaml.h"
#include "local/api_in.h"

/* Operations of one JSON patch, as the API server takes them. */
#define PATCH_OPS 10000

/* ---- the body ---- */

enum media { MEDIA_JSON, MEDIA_YAML, MEDIA_JSON_PATCH, MEDIA_MERGE_PATCH, MEDIA_APPLY, MEDIA_COUNT };
static const char *const media_name[MEDIA_COUNT] = {
	[MEDIA_JSON] = "application/json", [MEDIA_YAML] = "application/yaml",
	[MEDIA_JSON_PATCH] = "application/json-patch+json", [MEDIA_MERGE_PATCH] = "application/merge-patch+json",
	[MEDIA_APPLY] = "application/apply-patch+yaml",
};

static enum media media_of(const struct fl_api_call *call)
{
	struct fl_str rest = call->ask.type, type = FL_S("");

	(void)fl_str_split(&rest, ';', &type);
	type = fl_str_trim(type);
	if (!type.len && call->verb != FL_VERB_PATCH)
		return MEDIA_JSON;
	for (unsigned i = 0; i < MEDIA_COUNT; i++) {
		if (fl_str_same(type, fl_str(media_name[i])))
			return i;
	}
	return MEDIA_COUNT;
}

static bool is_scale(const struct fl_api_call *call)
{
	return fl_str_eq(call->sub, FL_S("scale"));
}

static int check_media(struct fl_api_call *call, enum media media)
{
	bool patch = call->verb == FL_VERB_PATCH;

	if (media != MEDIA_COUNT && patch == (media >= MEDIA_JSON_PATCH) && !(media == MEDIA_APPLY && is_scale(call)))
		return 0;
	return fl_refuse(call, &(struct fl_refusal){ .code = 415, .reason = "UnsupportedMediaType" },
			 "the body of the request was in an unknown format - accepted media types include: %s",
			 patch ? "application/json-patch+json, application/merge-patch+json, "
					"application/apply-patch+yaml"
			       : "application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

int fl_api_call_read(struct fl_api_call *call, struct fl_str text, bool yaml, yyjson_val **ret)
{
	struct fl_err err;
	yyjson_doc *doc;
	int r = yaml ? fl_yaml_read(&call->space, text, &doc, &err)
		     : fl_json_read(&call->space, text, 0, &doc, &err);

	if (r < 0)
		return r == -FL_E_NOMEM ? r : fl_refuse_bad(call, "the request's body is no %s: %s",
							    yaml ? "YAML" : "JSON", err.text);
	*ret = yyjson_doc_get_root(doc);
	return 0;
}

/* ---- fields that the schema does not know, and those that stand twice ---- */

static int refuse_unknown(struct fl_api_call *call, struct fl_str fields)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = { .code = 422, .reason = "Invalid", .causes = &causes };
	FL_AUTO(fl_buf) struct fl_buf quoted = FL_BUF(2 * FL_API_ANSWER_MAX);

	if (call->verb != FL_VERB_PATCH)
		return fl_refuse_bad(call, "%.*s in version \"%.*s\" cannot be handled as a %.*s: strict decoding "
					   "error: %.*s",
				     FL_ARG(call->resource->kind), FL_ARG(call->version),
				     FL_ARG(call->resource->kind), FL_ARG(fields));
	fl_buf_json(&quoted, call->patched);   /* what a patch makes is told whole */
	if (quoted.failed)
		return -FL_E_NOMEM;
	fl_cause_add(&causes, "FieldValueInvalid", FL_S("patch"), "Invalid value: %s: strict decoding error: %.*s",
		     quoted.p, FL_ARG(fields));
	return fl_refuse(call, &refusal, " \"\" is invalid: patch: Invalid value: %s: strict decoding error: %.*s",
			 quoted.p, FL_ARG(fields));
}

static int report_unknown(struct fl_api_call *call)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	if (call->unknown.failed)
		return -FL_E_NOMEM;
	for (const struct fl_cause *one = call->unknown.first; one; one = one->next) {
		if (call->wish.validation == FL_VALIDATION_WARN)
			fl_api_call_warn(call, "%.*s", FL_ARG(one->message));
		fl_buf_printf(&text, "%s%.*s", text.len ? ", " : "", FL_ARG(one->message));
	}
	if (text.failed)
		return -FL_E_NOMEM;
	if (!call->unknown.len || call->wish.validation != FL_VALIDATION_STRICT)
		return 0;
	return refuse_unknown(call, fl_buf_view(&text));
}

static int shape(struct fl_api_call *call, yyjson_mut_val *object, struct fl_causes *unknown)
{
	fl_schema_prune(call->served->schema, object, unknown);
	return fl_schema_default(call->served->schema, call->doc, object);
}

/* ---- the parts of an object that a request writes ---- */

static enum fl_part part_of(const struct fl_api_call *call)
{
	if (fl_str_eq(call->sub, FL_S("status")))
		return FL_PART_STATUS;
	if (is_scale(call))
		return FL_PART_SCALE;
	return call->served->status ? FL_PART_MAIN : FL_PART_WHOLE;
}

static struct fl_writer writer_of(struct fl_api_call *call)
{
	struct fl_str rest = call->ask.agent, agent = FL_S("");

	(void)fl_str_split(&rest, '/', &agent);
	return (struct fl_writer){
		.manager = call->wish.manager.len ? call->wish.manager : agent.len ? fl_str_sub(agent, 0,
				128) : FL_S("unknown"),
		.api_version = fl_api_call_api_version(call),
		.part = part_of(call),
		.now = call->ask.now,
	};
}

int fl_api_call_note(struct fl_api_call *call)
{
	struct fl_writer who = writer_of(call);
	struct fl_err err;
	int r;

	if (!who.api_version.p)
		return -FL_E_NOMEM;
	r = fl_managed_update(call->served->schema, &who, call->doc, call->old, call->object, &call->arena, &err);
	return r < 0 ? fl_refuse_as(call, &err) : 0;
}

/* ---- create ---- */

static int check_namespace(struct fl_api_call *call)
{
	const struct fl_api_resource *namespaces =
		fl_api_resource_find(&call->api->resources, FL_S(""), FL_S("namespaces"));
	const struct fl_state *space;
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = fl_refusal(call, 403, "Forbidden");

	if (call->resource->cluster)
		return 0;
	space = fl_ordered_get(&namespaces->shelf.objects, call->space_name);
	if (!space)
		return fl_refuse(call, &(struct fl_refusal){ .code = 404, .reason = "NotFound",
				.name = call->space_name,
							     .kind = FL_S("namespaces") },
				 "namespaces \"%.*s\" not found", FL_ARG(call->space_name));
	if (!space->going)
		return 0;
	fl_cause_add(&causes, "NamespaceTerminating", FL_S("metadata.namespace"), "namespace %.*s is being terminated",
		     FL_ARG(call->space_name));
	refusal.causes = &causes;
	return fl_refuse(call, &refusal, "%.*s \"%.*s\" is forbidden: unable to create new content in namespace "
					 "%.*s because "
					 "it is being terminated",
			 FL_ARG(call->resource->key), FL_ARG(call->name),
			 FL_ARG(call->space_name));
}

static int give_name(struct fl_api_call *call, yyjson_mut_val *meta)
{
	struct fl_str name = fl_tree_str(fl_tree_get(meta, FL_S("name")));
	struct fl_str base = fl_tree_str(fl_tree_get(meta, FL_S("generateName")));
	char suffix[6];

	if (!name.len && base.len) {
		fl_api_suffix(call->api, suffix);
		name = fl_arena_printf(&call->arena, "%.*s%s", FL_ARG(fl_str_sub(base, 0, 58)), suffix);
		if (!name.p || !fl_tree_set(call->doc, meta, "name", name))
			return -FL_E_NOMEM;
	}
	call->name = fl_arena_str(&call->arena, name);
	return call->name.p ? 0 : -FL_E_NOMEM;
}

static int stamp_new(struct fl_api_call *call, yyjson_mut_val *meta)
{
	char uid[FL_UID_TEXT];

	fl_api_uid(call->api, uid);
	fl_tree_remove(meta, FL_S("deletionTimestamp"));
	fl_tree_remove(meta, FL_S("deletionGracePeriodSeconds"));
	fl_tree_remove(meta, FL_S("selfLink"));
	fl_tree_remove(meta, FL_S("generation"));
	fl_tree_remove(meta, FL_S("resourceVersion"));
	if (!fl_tree_set(call->doc, meta, "uid", fl_str(uid)) ||
	    !fl_tree_set_time(call->doc, meta, "creationTimestamp", call->ask.now) ||
	    ((call->resource->traits & FL_TRAIT_GENERATION) && !fl_tree_set_int(call->doc, meta, "generation", 1)))
		return -FL_E_NOMEM;
	return 0;
}

static int make_new(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *meta = fl_meta(object);
	struct fl_str version = fl_tree_str(fl_tree_get(meta, FL_S("resourceVersion")));
	int r;

	fl_meta_tidy(object);
	if (version.len && !fl_str_eq(version, FL_S("0")))
		return fl_refuse(call, &(struct fl_refusal){ .code = 500 },
				 "resourceVersion should not be set on objects to be created");
	r = give_name(call, meta);
	if (r == 0)
		r = check_namespace(call);
	if (r == 0)
		r = stamp_new(call, meta);
	if (r == 0 && part_of(call) == FL_PART_MAIN && !(call->resource->traits & FL_TRAIT_KEEPS_STATUS))
		r = fl_part_reset(FL_PART_MAIN, call->doc, NULL, object);
	if (r == 0)
		r = fl_builtin_new(call, object);
	call->object = object;
	return r;
}

/* ---- update ---- */

static int refuse_no_version(struct fl_api_call *call)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = fl_refusal(call, 422, "Invalid");

	fl_cause_add(&causes, "FieldValueInvalid", FL_S("metadata.resourceVersion"),
		     "Invalid value: %s: must be specified for an update", call->resource->builtin ? "\"\"" : "0");
	if (call->resource->builtin)
		return fl_refuse_invalid(call, &causes);
	refusal.causes = &causes;   /* of a custom resource the plural is named */
	return fl_refuse(call, &refusal, "%.*s \"%.*s\" is invalid: metadata.resourceVersion: Invalid value: 0: "
					 "must be specified for an update",
			 FL_ARG(call->resource->key), FL_ARG(call->name));
}

/* One that is no apply. */
static bool is_patch(const struct fl_api_call *call)
{
	enum media media = media_of(call);

	return media == MEDIA_JSON_PATCH || media == MEDIA_MERGE_PATCH;
}

static int check_precondition(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *meta = fl_meta(object), *old = fl_meta(call->old);
	struct fl_str uid = fl_tree_str(fl_tree_get(meta, FL_S("uid"))), had = fl_tree_str(fl_tree_get(old,
												       FL_S("uid")));
	struct fl_str version = fl_tree_str(fl_tree_get(meta, FL_S("resourceVersion")));
	struct fl_str group = call->resource->builtin ? FL_S("") : call->resource->group, place;
	uint64_t at = 0;

	place = fl_arena_printf(&call->arena, "%s%.*s", call->space_name.len ? "/" : "", FL_ARG(call->name));
	if (!place.p)
		return -FL_E_NOMEM;

	if (uid.len && !fl_str_eq(uid, had) && !is_patch(call))
		return fl_refuse_conflict(call, "StorageError: invalid object, Code: 4, Key: "
						"/registry/%.*s%s%.*s/%.*s%.*s, "
						"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
						"UID in precondition: %.*s, UID in object "
						"meta: %.*s",
					  FL_ARG(group), group.len ? "/" : "", FL_ARG(call->resource->plural),
					  FL_ARG(call->space_name), FL_ARG(place), FL_ARG(uid), FL_ARG(had));
	if (version.len && !fl_str_u64(version, &at))
		return fl_refuse(call, &(struct fl_refusal){ .code = 500 },
				 "strconv.ParseUint: parsing \"%.*s\": invalid syntax", FL_ARG(version));
	if (!at && call->verb == FL_VERB_UPDATE && !(call->resource->traits & FL_TRAIT_BLIND))
		return refuse_no_version(call);
	if (at && at != call->before->version)
		return fl_refuse_conflict(call, "the object has been modified; please apply your changes to the latest "
						"version and try again");
	return 0;
}

/* Does anything differ but metadata (and status, where it is apart)? */
bool fl_object_moved(const struct fl_api_call *call, yyjson_mut_val *old, yyjson_mut_val *object)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;

	for (int turn = 0; turn < 2; turn++) {
		yyjson_mut_val *a = turn ? object : old, *b = turn ? old : object;

		yyjson_mut_obj_iter_init(a, &iter);
		while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
			struct fl_str name = fl_tree_str(key);
			yyjson_mut_val *other = fl_tree_get(b, name);

			if (fl_str_eq(name, FL_S("metadata")) || (call->served->status && fl_str_eq(name,
												    FL_S("status"))))
				continue;
			if (!other || (!turn && !fl_tree_equal(yyjson_mut_obj_iter_get_val(key), other)))
				return true;
		}
	}
	return false;
}

int fl_object_raise(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *meta = fl_meta(object);
	int64_t generation = 0;

	(void)fl_tree_i64(fl_tree_get(meta, FL_S("generation")), &generation);
	return fl_tree_set_int(call->doc, meta, "generation", generation + 1) ? 0 : -FL_E_NOMEM;
}

static int raise_changed(struct fl_api_call *call)
{
	if (!call->old || !(call->resource->traits & FL_TRAIT_GENERATION) ||
	    !fl_object_moved(call, call->old, call->object))
		return 0;
	return fl_object_raise(call, call->object);
}

static int change(struct fl_api_call *call, yyjson_mut_val *object)
{
	int r = check_precondition(call, object);

	fl_meta_tidy(object);
	if (r == 0)
		r = fl_meta_fixed(call, object);
	if (r == 0)
		r = fl_meta_keep(call, call->old, object, false);
	if (r == 0 && part_of(call) != FL_PART_WHOLE)
		r = fl_part_reset(part_of(call), call->doc, call->old, object);
	if (r == 0)
		r = fl_builtin_change(call, object);
	call->object = object;
	return r;
}

/* ---- from the body to the object ---- */

static int from_scale(struct fl_api_call *call, yyjson_mut_val *scale)
{
	int r = call->before ? check_precondition(call, scale) : fl_refuse_not_found(call);

	return r < 0 ? r : fl_scale_put(call, scale);
}

static int from_body(struct fl_api_call *call, enum media media)
{
	yyjson_mut_val *object;
	yyjson_val *body = NULL;
	int r = fl_api_call_read(call, call->ask.body, media == MEDIA_YAML, &body);

	if (r < 0)
		return r;
	call->unknown = FL_CAUSES(&call->arena);
	object = fl_tree_of(call->doc, body, &call->unknown);
	if (!object)
		return -FL_E_NOMEM;
	if (is_scale(call))
		return from_scale(call, object);
	r = fl_object_type(call, object);
	if (r == 0)
		r = fl_object_place(call, object);
	if (r == 0)
		r = shape(call, object, &call->unknown);
	if (r == 0)
		r = report_unknown(call);
	if (r < 0)
		return r;
	if (call->before)
		return change(call, object);
	if (call->verb == FL_VERB_UPDATE && !(call->resource->traits & FL_TRAIT_MAKES))
		return fl_refuse_not_found(call);
	return make_new(call, object);
}

static int check_patch(struct fl_api_call *call, enum media media, yyjson_val *body)
{
	if (media == MEDIA_MERGE_PATCH && !yyjson_is_obj(body))
		return fl_refuse_bad(call, "error decoding patch: json: cannot unmarshal %s into Go value of type "
					   "map[string]interface {}",
				     yyjson_is_arr(body) ? "array" : yyjson_get_type_desc(body));
	if (media == MEDIA_JSON_PATCH && !yyjson_is_arr(body))
		return fl_refuse_bad(call, "error decoding patch: json: cannot unmarshal %s into Go value of type "
					   "[]handlers.jsonPatchOp",
				     yyjson_is_obj(body) ? "object" : yyjson_get_type_desc(body));
	if (media == MEDIA_JSON_PATCH && yyjson_arr_size(body) > PATCH_OPS)
		return fl_refuse(call, &(struct fl_refusal){ .code = 413, .reason = "RequestEntityTooLarge" },
				 "Request entity too large: The allowed maximum operations in a JSON patch is "
				 "%d, got %zu",
				 PATCH_OPS, yyjson_arr_size(body));
	return 0;
}

/* A refusal of unknown fields tells it, before they are pruned. */
static int keep_patched(struct fl_api_call *call, yyjson_mut_val *object)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_ANSWER_MAX);
	struct fl_jw w = FL_JW(&text);

	if (call->wish.validation != FL_VALIDATION_STRICT)
		return 0;
	fl_jw_mut(&w, object);
	call->patched = text.failed ? FL_S("") : fl_arena_str(&call->arena, fl_buf_view(&text));
	return text.failed || !call->patched.p ? -FL_E_NOMEM : 0;
}

static int from_patch(struct fl_api_call *call, enum media media)
{
	yyjson_mut_val *object;
	struct fl_str version;
	yyjson_val *body = NULL;
	struct fl_err err;
	int r;

	if (!call->before)
		return fl_refuse_not_found(call);
	r = fl_api_call_read(call, call->ask.body, false, &body);
	if (r == 0)
		r = check_patch(call, media, body);
	if (r < 0)
		return r;
	version = fl_arena_printf(&call->arena, "%llu", (unsigned long long)call->before->version);
	if (is_scale(call))
		object = fl_scale_of(call, call->old, call->before->version);
	else
		object = version.p ? fl_tree_copy(call->doc, call->old) : NULL;
	if (!object || !fl_tree_set(call->doc, fl_meta(object), "resourceVersion", version))
		return -FL_E_NOMEM;
	if (media == MEDIA_MERGE_PATCH)
		r = fl_tree_merge(call->doc, &object, body, &err);
	else
		r = fl_tree_patch(call->doc, &object, body, &err);
	if (r < 0 && (r == -FL_E_CONFLICT || media == MEDIA_JSON_PATCH) && r != -FL_E_NOMEM)
		return fl_refuse(call, &(struct fl_refusal){ .code = 422, .reason = "Invalid" },
				 "the server rejected our request due to an error in our request");
	if (r < 0)
		return fl_refuse_as(call, &err);
	if (is_scale(call))
		return from_scale(call, object);
	call->unknown = FL_CAUSES(&call->arena);
	r = keep_patched(call, object);
	if (r == 0)
		r = fl_object_type(call, object);
	if (r == 0)
		r = fl_object_place(call, object);
	if (r == 0)
		r = shape(call, object, &call->unknown);
	if (r == 0)
		r = report_unknown(call);
	return r < 0 ? r : change(call, object);
}

/* What is applied says what it is, as it is asked for. */
static int check_applied_type(struct fl_api_call *call, yyjson_mut_val *config)
{
	struct fl_str version = fl_tree_str(fl_tree_get(config, FL_S("apiVersion")));
	struct fl_str kind = fl_tree_str(fl_tree_get(config, FL_S("kind"))), want = fl_api_call_api_version(call);

	if (!want.p)
		return -FL_E_NOMEM;
	if (fl_str_eq(version, want) && fl_str_eq(kind, call->resource->kind))
		return 0;
	return fl_refuse_bad(call, "invalid object type: %.*s, Kind=%.*s", FL_ARG(version), FL_ARG(kind));
}

static int check_apply(struct fl_api_call *call, yyjson_mut_val *config)
{
	if (!call->wish.manager.len)
		return fl_refuse_options(call, "PatchOptions", "fieldManager", "FieldValueRequired",
					 "Required value: is required for apply patch");
	if (!yyjson_mut_is_obj(config) || !fl_tree_str(fl_tree_get(config, FL_S("apiVersion"))).len)
		return fl_refuse_bad(call, "error decoding YAML: the configuration has no apiVersion");
	if (fl_tree_get(fl_meta(config), FL_S("managedFields")))
		return fl_refuse_bad(call, "metadata.managedFields must be nil");
	return 0;
}

static yyjson_mut_val *bare(struct fl_api_call *call)
{
	yyjson_mut_val *object = yyjson_mut_obj(call->doc), *meta;

	if (!object || !fl_tree_set(call->doc, object, "apiVersion", fl_api_call_api_version(call)) ||
	    !fl_tree_set(call->doc, object, "kind", call->resource->kind))
		return NULL;
	meta = fl_tree_object(call->doc, object, "metadata");
	if (!meta || !fl_tree_set(call->doc, meta, "name", call->name) ||
	    (!call->resource->cluster && !fl_tree_set(call->doc, meta, "namespace", call->space_name)))
		return NULL;
	return object;
}

static int refuse_apply(struct fl_api_call *call, int r, const struct fl_causes *conflicts, const struct fl_err *err)
{
	struct fl_refusal refusal = fl_refusal(call, 409, "Conflict");
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	if (r == -FL_E_NOMEM)
		return r;
	if (r != -FL_E_CONFLICT)
		return fl_refuse(call, &(struct fl_refusal){ .code = 500 }, "%s", err->text);
	refusal = (struct fl_refusal){ .code = 409, .reason = "Conflict", .causes = conflicts };
	fl_apply_conflict(conflicts, &text);
	return text.failed ? -FL_E_NOMEM : fl_refuse(call, &refusal, "%.*s", FL_ARG(fl_buf_view(&text)));
}

static int check_absent(struct fl_api_call *call, yyjson_mut_val *config)
{
	struct fl_str uid = fl_tree_str(fl_tree_get(fl_meta(config), FL_S("uid")));

	if (uid.len)
		return fl_refuse_conflict(call, "uid mismatch: the provided object specified uid %.*s, and no existing "
						"object was found",
					  FL_ARG(uid));
	return 0;
}

static int from_apply(struct fl_api_call *call)
{
	struct fl_causes conflicts = FL_CAUSES(&call->arena);
	struct fl_writer who = writer_of(call);
	yyjson_mut_val *config, *live;
	yyjson_val *body = NULL;
	struct fl_err err;
	bool spaced;
	int r = fl_api_call_read(call, call->ask.body, !fl_str_starts(fl_str_trim(call->ask.body), FL_S("{")), &body);

	if (r < 0)
		return r;
	call->unknown = FL_CAUSES(&call->arena);
	config = fl_tree_of(call->doc, body, &call->unknown);
	live = call->before ? fl_tree_copy(call->doc, call->old) : bare(call);
	if (!config || !live || !who.api_version.p)
		return -FL_E_NOMEM;
	r = check_apply(call, config);
	if (r == 0)
		r = check_applied_type(call, config);
	if (r == 0)
		r = fl_object_type(call, config);
	spaced = fl_tree_get(fl_meta(config), FL_S("namespace")) != NULL;
	if (r == 0)
		r = fl_object_place(call, config);
	if (r == 0 && !spaced)
		fl_tree_remove(fl_meta(config), FL_S("namespace"));
	if (r == 0 && call->before)
		r = check_precondition(call, config);
	if (r == 0 && !call->before)
		r = check_absent(call, config);
	if (r == 0)
		r = report_unknown(call);
	if (r < 0)
		return r;
	if (!call->before && call->sub.len)
		return fl_refuse_not_found(call);
	r = fl_apply(call->served->schema, &who, call->wish.force ? FL_APPLY_FORCE : 0, call->doc, live, config,
		     &conflicts, &err);
	if (r < 0)
		return refuse_apply(call, r, &conflicts, &err);
	fl_schema_prune(call->served->schema, live, NULL);
	r = fl_schema_fill(call->served->schema, call->doc, live);
	if (r == 0 && (!fl_tree_set(call->doc, fl_meta(live), "name", call->name) ||
		       (!call->resource->cluster &&
			!fl_tree_set(call->doc, fl_meta(live), "namespace", call->space_name))))
		r = -FL_E_NOMEM;
	if (r < 0)
		return r;
	return call->before ? change(call, live) : make_new(call, live);
}

/* ---- the write ---- */

static int check_object(struct fl_api_call *call)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);

	fl_meta_check(call, call->old, call->object, &causes);
	if (call->old)
		fl_schema_check_update(call->served->schema, part_of(call) == FL_PART_STATUS, call->old, call->object,
				       &causes);
	else
		fl_schema_check(call->served->schema, call->object, &causes);
	fl_scale_check(call, &causes);
	fl_builtin_check(call, &causes);
	if (causes.failed)
		return -FL_E_NOMEM;
	return causes.len ? fl_refuse_invalid(call, &causes) : 0;
}

static int refuse_exists(struct fl_api_call *call)
{
	struct fl_refusal refusal = fl_refusal(call, 409, "AlreadyExists");

	return fl_refuse(call, &refusal, "%s%.*s \"%.*s\" already exists",
			 call->before->going ? "object is being deleted: " : "", FL_ARG(call->resource->key),
			 FL_ARG(call->name));
}

static int finish(struct fl_api_call *call)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	bool made = !call->before;
	int r = fl_commit(call, &after);

	if (r < 0)
		return r;
	if (is_scale(call))
		return fl_scale_answer(call, call->object, call->wish.dry ? call->before->version : after->version);
	if (call->wish.dry)
		return fl_answer_tree(call, made ? 201 : 200, call->object, made ? 0 : call->before->version);
	if (call->removed)
		return fl_answer_tree(call, 200, call->object, call->before->version);
	return fl_answer_state(call, made ? 201 : 200, after);
}

/* The store has objects as one version knows them, whichever the request was in. */
static int as_stored(struct fl_api_call *call)
{
	const struct fl_served *stored = fl_served_stored(call->resource);

	if (stored == call->served)
		return 0;
	fl_schema_prune(stored->schema, call->object, NULL);
	return fl_schema_default(stored->schema, call->doc, call->object);
}

/* Defaults again, and nothing but what the request may write: the rest stays as it was before the webhook. */
int fl_object_hooked(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *was = call->object, *had;
	struct fl_str version = fl_api_call_api_version(call);
	int r;

	if (!version.p || !fl_tree_set(call->doc, object, "apiVersion", version) ||
	    !fl_tree_set(call->doc, object, "kind", call->resource->kind) ||
	    !fl_tree_object(call->doc, object, "metadata") || fl_meta_keep(call, was, object, true) < 0)
		return -FL_E_NOMEM;
	r = shape(call, object, NULL);
	if (r == 0)
		r = fl_part_reset(part_of(call), call->doc, was, object);
	if (r == 0)
		r = fl_meta_types(call, object);
	had = fl_tree_get(fl_meta(call->old), FL_S("generation"));
	if (r == 0 && had && !(had = fl_tree_copy(call->doc, had)))
		r = -FL_E_NOMEM;
	if (r == 0 && had && !fl_tree_put(call->doc, fl_meta(object), FL_S("generation"), had))
		r = -FL_E_NOMEM;
	call->object = object;
	return r == 0 ? raise_changed(call) : r;
}

static int make(struct fl_api_call *call, enum media media)
{
	int r;

	if (media == MEDIA_APPLY)
		r = from_apply(call);
	else if (media == MEDIA_JSON || media == MEDIA_YAML)
		r = from_body(call, media);
	else
		r = from_patch(call, media);
	if (r == 0)
		r = raise_changed(call);
	if (r == 0 && media != MEDIA_APPLY)
		r = fl_api_call_note(call);
	return r < 0 ? r : fl_builtin_own(call);
}

/* What the webhooks that change objects have made of it is checked, and then shown to the others. */
static int check_made(struct fl_api_call *call)
{
	int r = check_object(call);

	if (r == 0 && media_of(call) == MEDIA_APPLY)
		r = fl_schema_default(call->served->schema, call->doc, call->object);   /* nulls that were let pass */
	return r;
}

int fl_api_call_write_on(struct fl_api_call *call)
{
	bool asks = !is_scale(call);
	int r = 0;

	if (call->hooking.stage != FL_HOOKS_VALIDATE) {
		r = asks ? fl_hooks(call, FL_HOOKS_MUTATE) : 0;
		if (r == 0)
			r = check_made(call);
	}
	if (r == 0 && asks)
		r = fl_hooks(call, FL_HOOKS_VALIDATE);
	if (r == 0)
		r = as_stored(call);
	if (r == 0 && call->verb == FL_VERB_CREATE) {
		r = fl_api_call_load(call);
		if (r == 0 && call->before)
			r = refuse_exists(call);
	}
	return r ? r : finish(call);
}

int fl_api_call_write(struct fl_api_call *call)
{
	enum media media = media_of(call);
	int r = check_media(call, media);

	if (r == 0 && call->wish.force && media != MEDIA_APPLY && call->verb == FL_VERB_PATCH)
		r = fl_refuse_options(call, "PatchOptions", "force", "FieldValueForbidden",
				      "Forbidden: may not be specified for non-apply patch");
	if (r == 0 && call->verb != FL_VERB_CREATE)
		r = fl_api_call_load(call);
	if (r == 0)
		r = make(call, media);
	return r < 0 ? r : fl_api_call_write_on(call);
}
