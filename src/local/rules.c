#include "local/api_in.h"

#define CLEANUP "customresourcecleanup.apiextensions.k8s.io"
/* Objects of a namespace or CRD that go in one piece of work. */
#define PIECE 64

static bool is(const struct fl_api_resource *resource, const char *key)
{
	return resource->builtin && fl_str_eq(resource->key, fl_str(key));
}
#define CRDS "customresourcedefinitions.apiextensions.k8s.io"

/* ---- namespaces ---- */

static int name_label(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *labels = fl_tree_object(call->doc, fl_meta(object), "labels");

	return labels && fl_tree_set(call->doc, labels, "kubernetes.io/metadata.name", call->name) ? 0 : -FL_E_NOMEM;
}

static int new_namespace(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, object, "status");

	return status && fl_tree_set(call->doc, status, "phase", FL_S("Active")) ? name_label(call, object)
										  : -FL_E_NOMEM;
}

static int hold_namespace(struct fl_api_call *call)
{
	yyjson_mut_val *spec = fl_tree_object(call->doc, call->object, "spec");
	yyjson_mut_val *list = spec ? fl_tree_list(call->doc, spec, "finalizers") : NULL;

	return list && fl_list_add(call->doc, list, FL_S("kubernetes")) ? 0 : -FL_E_NOMEM;
}

static int change_namespace(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *spec = fl_tree_object(call->doc, object, "spec"), *copy;
	yyjson_mut_val *had = fl_tree_at(call->old, FL_S("spec.finalizers"));

	if (!spec)
		return -FL_E_NOMEM;
	if (!fl_str_eq(call->sub, FL_S("finalize"))) {
		copy = had ? fl_tree_copy(call->doc, had) : yyjson_mut_arr(call->doc);
		if (!copy || !fl_tree_put(call->doc, spec, FL_S("finalizers"), copy))
			return -FL_E_NOMEM;
	}
	return name_label(call, object);
}

static int delete_namespace(struct fl_api_call *call)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, call->object, "status");
	struct fl_refusal refusal = fl_refusal(call, 403, "Forbidden");

	if (fl_str_eq(call->name, FL_S("default")) || fl_str_starts(call->name, FL_S("kube-")))
		return fl_refuse(call, &refusal, "namespaces \"%.*s\" is forbidden: this namespace may not be deleted",
				 FL_ARG(call->name));
	return status && fl_tree_set(call->doc, status, "phase", FL_S("Terminating")) ? 0 : -FL_E_NOMEM;
}

/* ---- Pods ---- */

static bool has_amounts(yyjson_mut_val *container)
{
	return yyjson_mut_obj_size(fl_tree_at(container, FL_S("resources.requests"))) ||
	       yyjson_mut_obj_size(fl_tree_at(container, FL_S("resources.limits")));
}

static int new_pod(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, object, "status"), *one;
	bool some = false;
	size_t i, n;

	yyjson_mut_arr_foreach(fl_tree_at(object, FL_S("spec.containers")), i, n, one)
		some |= has_amounts(one);
	return status && fl_tree_set(call->doc, status, "phase", FL_S("Pending")) &&
		fl_tree_set(call->doc, status, "qosClass",
				some ? FL_S("Burstable") : FL_S("BestEffort")) ? 0 : -FL_E_NOMEM;
}

/* ---- CustomResourceDefinitions ---- */

static yyjson_doc *imut(yyjson_mut_val *object)
{
	return yyjson_mut_val_imut_copy(object, NULL);
}

static int name_defaults(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *names = fl_tree_at(object, FL_S("spec.names"));
	struct fl_str kind = fl_tree_str(fl_tree_get(names, FL_S("kind")));
	FL_AUTO(fl_buf) struct fl_buf small = FL_BUF(FL_KIB);

	if (!names || !kind.len)
		return 0;
	for (uint32_t i = 0; i < kind.len; i++)
		fl_buf_char(&small, kind.p[i] >= 'A' && kind.p[i] <= 'Z' ? (char)(kind.p[i] + ('a' - 'A')) : kind.p[i]);
	if (small.failed)
		return -FL_E_NOMEM;
	if (!fl_tree_get(names, FL_S("singular")) &&
	    !fl_tree_set(call->doc, names, "singular", fl_buf_view(&small)))
		return -FL_E_NOMEM;
	fl_buf_clear(&small);
	fl_buf_printf(&small, "%.*sList", FL_ARG(kind));
	if (!fl_tree_get(names, FL_S("listKind")) && !fl_tree_set(call->doc, names, "listKind", fl_buf_view(&small)))
		return -FL_E_NOMEM;
	return 0;
}

/* Versions that may be in the store: those that were, and the one that is stored now. */
static int stored_versions(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, object, "status"), *one;
	yyjson_mut_val *list = status ? fl_tree_list(call->doc, status, "storedVersions") : NULL;
	size_t i, n;

	if (!list)
		return -FL_E_NOMEM;
	yyjson_mut_arr_foreach(fl_tree_at(object, FL_S("spec.versions")), i, n, one)
	{
		if (yyjson_mut_is_true(fl_tree_get(one, FL_S("storage"))) &&
		    !fl_list_add(call->doc, list, fl_tree_str(fl_tree_get(one, FL_S("name")))))
			return -FL_E_NOMEM;
	}
	return 0;
}

static int shape_crd(struct fl_api_call *call, yyjson_mut_val *object)
{
	int r = name_defaults(call, object);

	return r < 0 ? r : stored_versions(call, object);
}

static void check_crd(struct fl_api_call *call, struct fl_causes *causes)
{
	FL_AUTO(fl_api_resource) struct fl_api_resource *resource = NULL;
	struct fl_str plural = fl_tree_str(fl_tree_at(call->object, FL_S("spec.names.plural")));
	struct fl_str group = fl_tree_str(fl_tree_at(call->object, FL_S("spec.group"))), name;
	yyjson_doc *copy = imut(call->object);
	struct fl_err err = { .code = FL_E_NOMEM };
	int r = copy ? fl_api_resource_of_crd(yyjson_doc_get_root(copy), &resource, &err) : -FL_E_NOMEM;

	yyjson_doc_free(copy);
	causes->failed |= r == -FL_E_NOMEM;
	if (!group.len)
		fl_cause_add(causes, "FieldValueRequired", FL_S("spec.group"), "Required value");
	if (!plural.len)
		fl_cause_add(causes, "FieldValueRequired", FL_S("spec.names.plural"), "Required value");
	if (!yyjson_mut_arr_size(fl_tree_at(call->object, FL_S("spec.versions"))))
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.versions"),
			     "Invalid value: []: must have exactly one version marked as storage version");
	name = fl_arena_printf(&call->arena, "%.*s.%.*s", FL_ARG(plural), FL_ARG(group));
	causes->failed |= !name.p;
	if (name.p && !fl_str_eq(name, call->name))
		fl_cause_add(causes, "FieldValueInvalid", FL_S("metadata.name"),
			     "Invalid value: \"%.*s\": must be spec.names.plural+\".\"+spec.group", FL_ARG(call->name));
	if (r < 0 && r != -FL_E_NOMEM)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.versions[0].schema.openAPIV3Schema"),
			     "Invalid value: %s", err.text);
	else if (resource)
		fl_crd_rules(call, resource);
}

static int delete_crd(struct fl_api_call *call)
{
	yyjson_mut_val *list = fl_tree_list(call->doc, fl_meta(call->object), "finalizers");

	return list && fl_list_add(call->doc, list, FL_S(CLEANUP)) ? 0 : -FL_E_NOMEM;
}

/* Warns of what its schemas ask for and this server does not check. */
void fl_crd_rules(struct fl_api_call *call, const struct fl_api_resource *resource)
{
	for (uint32_t i = 0; i < resource->version_count; i++) {
		const struct fl_served *served = &resource->versions[i];
		uint32_t len = 0;
		const struct fl_schema_rule *rules = fl_schema_rules(served->schema, &len);

		for (uint32_t j = 0; j < len; j++) {
			fl_api_call_warn(call, "%.*s of %.*s: this rule is not evaluated: %.*s", FL_ARG(rules[j].path),
					 FL_ARG(served->name), FL_ARG(rules[j].rule));
		}
	}
}

/* ---- what they do by themselves ---- */

static int add_condition(struct fl_api_call *call, yyjson_mut_val *status, const char *type, const char *reason,
			 const char *message)
{
	yyjson_mut_val *list = fl_tree_list(call->doc, status, "conditions"), *one, *condition = NULL;
	size_t i, n;

	yyjson_mut_arr_foreach(list, i, n, one)
	{
		if (fl_str_eq(fl_tree_str(fl_tree_get(one, FL_S("type"))), fl_str(type)))
			return 0;
	}
	condition = list ? yyjson_mut_arr_add_obj(call->doc, list) : NULL;
	return condition && fl_tree_set(call->doc, condition, "type", fl_str(type)) &&
			       fl_tree_set(call->doc, condition, "status", FL_S("True")) &&
			       fl_tree_set_time(call->doc, condition, "lastTransitionTime", call->api->now) &&
			       fl_tree_set(call->doc, condition, "reason", fl_str(reason)) &&
			       fl_tree_set(call->doc, condition, "message", fl_str(message))
		       ? 0
		       : -FL_E_NOMEM;
}

static int define(struct fl_api *api, struct fl_api_call *call)
{
	struct fl_api_resource *resource = NULL, *had;
	yyjson_doc *copy = imut(call->old);
	int r = copy ? fl_api_resource_of_crd(yyjson_doc_get_root(copy), &resource, NULL) : -FL_E_NOMEM;

	yyjson_doc_free(copy);
	if (r < 0)
		return r;
	api->discovery++;
	had = fl_hmap_get(&api->resources.map, resource->key);
	if (had) {
		fl_api_resource_redefine(had, resource);
		return 0;
	}
	r = fl_api_resource_add(&api->resources, resource);
	if (r < 0)
		fl_api_resource_free(resource);
	return r;
}

static int establish(struct fl_api *api, struct fl_api_call *call)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	yyjson_mut_val *status, *names;

	if (define(api, call) < 0)
		return -FL_E_NOMEM;
	call->object = fl_tree_copy(call->doc, call->old);
	status = call->object ? fl_tree_object(call->doc, call->object, "status") : NULL;
	names = status ? fl_tree_copy(call->doc, fl_tree_at(call->object, FL_S("spec.names"))) : NULL;
	if (!names || !fl_tree_put(call->doc, status, FL_S("acceptedNames"), names) ||
	    add_condition(call, status, "NamesAccepted", "NoConflicts", "no conflicts found") < 0 ||
	    add_condition(call, status, "Established", "InitialNamesAccepted",
			  "the initial names have been accepted") < 0)
		return -FL_E_NOMEM;
	return fl_commit(call, &after);
}

/* Delete some of a resource's objects, of one namespace or all. 1: there are more; 2: there are some that something
 * keeps; 0: none is left. */
static int clear(struct fl_api *api, struct fl_api_resource *resource, struct fl_str space)
{
	char text[300];
	struct fl_buf from = FL_BUF_IN(text);
	struct fl_state *some[PIECE], *state;
	uint32_t count = 0;
	struct fl_spot spot;
	bool kept = false;
	int r = 0;

	if (space.len)
		fl_buf_printf(&from, "%.*s/", FL_ARG(space));
	spot = fl_ordered_from(&resource->shelf.objects, fl_buf_view(&from));
	while (count < PIECE && (state = fl_ordered_next(&resource->shelf.objects, &spot)) != NULL &&
	       (!space.len || fl_str_eq(fl_state_space(state), space))) {
		kept = true;
		if (!state->going)
			some[count++] = fl_state_hold(state);
	}
	for (uint32_t i = 0; i < count; i++) {
		FL_AUTO(fl_api_call) struct fl_api_call *call =
			r < 0 ? NULL : fl_api_call_inner(api, resource, some[i]);
		FL_AUTO(fl_state) struct fl_state *after = NULL;

		if (r >= 0)
			r = call ? fl_api_call_load(call) : -FL_E_NOMEM;
		if (r >= 0 && call->before) {
			call->wish.spread = FL_SPREAD_BACKGROUND;
			r = fl_delete(call, &after);
		}
		fl_state_drop(some[i]);
	}
	return r < 0 ? r : count == PIECE ? 1 : kept ? 2 : 0;
}

static int end_namespace(struct fl_api *api, struct fl_api_call *call)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	int kept = 0;

	for (uint32_t i = 0; i < api->resources.list.len; i++) {
		struct fl_api_resource *resource = api->resources.list.at[i];
		int r = resource->cluster ? 0 : clear(api, resource, call->name);

		if (r < 0 || r == 1)
			return r;
		kept |= r;
	}
	if (kept)
		return 0;   /* it is looked at again when one of them is gone */
	call->object = fl_tree_copy(call->doc, call->old);
	if (!call->object)
		return -FL_E_NOMEM;
	fl_list_remove(fl_tree_at(call->object, FL_S("spec.finalizers")), FL_S("kubernetes"));
	return fl_commit(call, &after);
}

static int end_crd(struct fl_api *api, struct fl_api_call *call)
{
	struct fl_api_resource *resource = fl_hmap_get(&api->resources.map, call->name);
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	int r = resource ? clear(api, resource, FL_S("")) : 0;

	if (r)
		return r == 2 ? 0 : r;
	call->object = fl_tree_copy(call->doc, call->old);
	if (!call->object)
		return -FL_E_NOMEM;
	fl_list_remove(fl_tree_get(fl_meta(call->object), FL_S("finalizers")), FL_S(CLEANUP));
	r = fl_commit(call, &after);
	return r;
}

static void undefine(struct fl_api *api, struct fl_str key)
{
	struct fl_api_resource *resource = fl_hmap_get(&api->resources.map, key);

	if (!resource)
		return;
	resource->gone = true;   /* it stays for the changes that are still known, and for a CRD of the same name */
	api->discovery++;
	for (struct fl_api_watch *watch = resource->watches, *next; watch; watch = next) {
		next = watch->next;
		watch->over = true;
		watch->ended(watch);
	}
}

int fl_builtin_look(struct fl_api *api, struct fl_api_resource *resource, struct fl_state *state, bool gone)
{
	FL_AUTO(fl_api_call) struct fl_api_call *call = NULL;
	int r;

	if (gone) {
		if (is(resource, CRDS))
			undefine(api, fl_state_key(state));
		return 0;
	}
	call = fl_api_call_inner(api, resource, state);
	r = call ? fl_api_call_load(call) : -FL_E_NOMEM;
	if (r < 0 || !call->before)
		return r;
	if (is(resource, CRDS))
		return call->before->going ? end_crd(api, call) : establish(api, call);
	return call->before->going ? end_namespace(api, call) : 0;
}

int fl_builtin_left(struct fl_api *api, struct fl_api_resource *resource, const struct fl_state *last)
{
	struct fl_api_resource *spaces = fl_api_resource_find(&api->resources, FL_S(""), FL_S("namespaces"));
	struct fl_api_resource *crds = fl_api_resource_find(&api->resources, FL_S("apiextensions.k8s.io"),
							    FL_S("customresourcedefinitions"));
	struct fl_state *space = fl_ordered_get(&spaces->shelf.objects, fl_state_space(last));
	struct fl_state *crd = fl_ordered_get(&crds->shelf.objects, resource->key);

	if (space && space->going && fl_chore_look(api, spaces, space) < 0)
		return -FL_E_NOMEM;
	return crd && crd->going ? fl_chore_look(api, crds, crd) : 0;
}

/* ---- the table ---- */

int fl_builtin_new(struct fl_api_call *call, yyjson_mut_val *object)
{
	if (is(call->resource, "namespaces"))
		return new_namespace(call, object);
	if (is(call->resource, "pods"))
		return new_pod(call, object);
	return is(call->resource, CRDS) ? shape_crd(call, object) : 0;
}

int fl_builtin_own(struct fl_api_call *call)
{
	if (call->old)
		return 0;
	return is(call->resource, "namespaces") ? hold_namespace(call) : 0;
}

int fl_builtin_change(struct fl_api_call *call, yyjson_mut_val *object)
{
	if (is(call->resource, "namespaces"))
		return change_namespace(call, object);
	return is(call->resource, CRDS) && !call->sub.len ? shape_crd(call, object) : 0;
}

void fl_builtin_check(struct fl_api_call *call, struct fl_causes *causes)
{
	if (is(call->resource, CRDS))
		check_crd(call, causes);
	else if (fl_str_eq(call->resource->group, FL_S("admissionregistration.k8s.io")))
		fl_api_call_warn(call, "this server stores %s and calls no webhook", call->resource->builtin->kind);
	causes->failed |= call->lost;   /* before anything is written */
}

int fl_builtin_delete(struct fl_api_call *call)
{
	if (is(call->resource, "namespaces"))
		return delete_namespace(call);
	return is(call->resource, CRDS) ? delete_crd(call) : 0;
}

/* Something keeps what is deleted. */
bool fl_object_kept(const struct fl_api_call *call)
{
	if (yyjson_mut_arr_size(fl_tree_get(fl_meta(call->object), FL_S("finalizers"))))
		return true;
	return is(call->resource, "namespaces") && yyjson_mut_arr_size(fl_tree_at(call->object,
										  FL_S("spec.finalizers")));
}
