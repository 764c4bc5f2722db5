#include "base/base64.h"
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

/* ---- Nodes, Events, claims: what Go writes of a struct that nobody has filled ---- */

static int put_json(struct fl_api_call *call, yyjson_mut_val *object, const char *name, const char *json)
{
	yyjson_mut_val *val;
	yyjson_doc *doc;

	if (fl_tree_get(object, fl_str(name)))
		return 0;
	if (fl_json_read(&call->space, fl_str(json), 0, &doc, NULL) < 0)
		return -FL_E_NOMEM;
	val = fl_tree_of(call->doc, yyjson_doc_get_root(doc), NULL);
	return val && fl_tree_put(call->doc, object, fl_str(name), val) ? 0 : -FL_E_NOMEM;
}

/* A taint holds Pods off until the node is ready. */
static int fill_node(struct fl_api_call *call)
{
	static const char info[] =
		"{\"machineID\":\"\",\"systemUUID\":\"\",\"bootID\":\"\",\"kernelVersion\":\"\",\"osImage\":\"\","
		"\"containerRuntimeVersion\":\"\",\"kubeletVersion\":\"\",\"kubeProxyVersion\":\"\","
		"\"operatingSystem\":\"\",\"architecture\":\"\"}";
	yyjson_mut_val *spec = fl_tree_object(call->doc, call->object, "spec");
	yyjson_mut_val *status = fl_tree_object(call->doc, call->object, "status"), *taints, *one;
	size_t i, n;

	if (!spec || !status || put_json(call, status, "daemonEndpoints", "{\"kubeletEndpoint\":{\"Port\":0}}") < 0 ||
	    put_json(call, status, "nodeInfo", info) < 0)
		return -FL_E_NOMEM;
	taints = fl_tree_list(call->doc, spec, "taints");
	yyjson_mut_arr_foreach(taints, i, n, one)
	{
		if (fl_str_eq(fl_tree_str(fl_tree_get(one, FL_S("key"))), FL_S("node.kubernetes.io/not-ready")))
			return 0;
	}
	one = taints ? yyjson_mut_arr_add_obj(call->doc, taints) : NULL;
	return one && fl_tree_set(call->doc, one, "key", FL_S("node.kubernetes.io/not-ready")) &&
			       fl_tree_set(call->doc, one, "effect", FL_S("NoSchedule"))
		       ? 0
		       : -FL_E_NOMEM;
}

static int fill_event(struct fl_api_call *call)
{
	if (put_json(call, call->object, "eventTime", "null") < 0 ||
	    put_json(call, call->object, "reportingComponent", "\"\"") < 0)
		return -FL_E_NOMEM;
	return put_json(call, call->object, "reportingInstance", "\"\"");
}

/* How many devices a request of a number of them asks for. */
static int fill_counts(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *one;
	size_t i, n;

	yyjson_mut_arr_foreach(fl_tree_at(object, FL_S("spec.devices.requests")), i, n, one)
	{
		yyjson_mut_val *exactly = fl_tree_get(one, FL_S("exactly"));

		if (fl_str_eq(fl_tree_str(fl_tree_get(exactly, FL_S("allocationMode"))), FL_S("ExactCount")) &&
		    put_json(call, exactly, "count", "1") < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

static int fill_claim(struct fl_api_call *call)
{
	return put_json(call, call->object, "status", "{}");
}

/* ---- DaemonSets and what else has a template of Pods ---- */

static int new_template(struct fl_api_call *call, yyjson_mut_val *object)
{
	return fl_pod_defaults(call, fl_tree_at(object, FL_S("spec.template.spec")));
}

static int new_daemon_set(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *spec = fl_tree_object(call->doc, object, "spec");
	yyjson_mut_val *notes = fl_tree_object(call->doc, fl_meta(object), "annotations");
	yyjson_mut_val *strategy = fl_tree_at(object, FL_S("spec.updateStrategy"));

	if (!spec || !notes ||
	    put_json(call, notes, "deprecated.daemonset.template.generation", "\"1\"") < 0 ||
	    fl_pod_defaults(call, fl_tree_at(object, FL_S("spec.template.spec"))) < 0)
		return -FL_E_NOMEM;
	if (!fl_str_eq(fl_tree_str(fl_tree_get(strategy, FL_S("type"))), FL_S("RollingUpdate")))
		return 0;
	return put_json(call, strategy, "rollingUpdate", "{\"maxUnavailable\":1,\"maxSurge\":0}");
}

static int fill_daemon_set(struct fl_api_call *call)
{
	return put_json(call, call->object, "status",
			"{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,\"desiredNumberScheduled\":0,"
			"\"numberReady\":0}");
}

/* A selector that misses the labels of its own template would make Pods for ever. */
static void check_template(struct fl_api_call *call, struct fl_causes *causes)
{
	yyjson_mut_val *labels = fl_tree_at(call->object, FL_S("spec.template.metadata.labels")), *key, *val;
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_BODY_MAX);
	struct fl_jw w = FL_JW(&text);
	bool missed = false;
	size_t i, n;

	yyjson_mut_obj_foreach(fl_tree_at(call->object, FL_S("spec.selector.matchLabels")), i, n, key, val)
		missed |= !fl_tree_equal(fl_tree_get(labels, fl_tree_str(key)), val);
	if (!missed)
		return;
	if (labels)
		fl_jw_mut(&w, labels);
	else
		fl_buf_str(&text, FL_S("null"));
	causes->failed |= text.failed != FL_OK;
	if (!text.failed)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.template.metadata.labels"),
			     "Invalid value: %.*s: `selector` does not match template `labels`",
			     FL_ARG(fl_buf_view(&text)));
}

/* ---- Leases ---- */

static void check_lease(struct fl_api_call *call, struct fl_causes *causes)
{
	int64_t seconds = 1;

	if (fl_tree_i64(fl_tree_at(call->object, FL_S("spec.leaseDurationSeconds")), &seconds) && seconds <= 0)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.leaseDurationSeconds"),
			     "Invalid value: %lld: must be greater than 0", (long long)seconds);
}

/* ---- Secrets, ConfigMaps ---- */

#define KEY_SAYS "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " \
	"'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

static bool is_key(struct fl_str key)
{
	for (uint32_t i = 0; i < key.len; i++) {
		char c = key.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
		      c == '.' || c == '_'))
			return false;
	}
	return key.len > 0 && key.len <= 253;
}

static void check_data(struct fl_api_call *call, const char *name, struct fl_causes *causes)
{
	yyjson_mut_val *data = fl_tree_get(call->object, fl_str(name)), *key, *val;
	size_t i, n;

	yyjson_mut_obj_foreach(data, i, n, key, val)
	{
		struct fl_str text = fl_tree_str(key), field;

		if (is_key(text))
			continue;
		field = fl_arena_printf(causes->arena, "%s[%.*s]", name, FL_ARG(text));
		causes->failed |= !field.p;
		if (field.p)
			fl_cause_add(causes, "FieldValueInvalid", field, "Invalid value: \"%.*s\": " KEY_SAYS,
				     FL_ARG(text));
	}
	if (yyjson_mut_is_true(fl_tree_get(call->old, FL_S("immutable"))) &&
	    !fl_tree_equal(fl_tree_get(call->old, fl_str(name)), data))
		fl_cause_add(causes, "FieldValueForbidden", fl_str(name),
			     "Forbidden: field is immutable when `immutable` is set");
}

static void check_map(struct fl_api_call *call, struct fl_causes *causes)
{
	check_data(call, "data", causes);
	check_data(call, "binaryData", causes);
}

static void check_secret(struct fl_api_call *call, struct fl_causes *causes)
{
	check_data(call, "data", causes);
}

/* stringData goes into data, and is never seen again. */
static int take_texts(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *texts = fl_tree_get(object, FL_S("stringData")), *data, *key, *val;
	size_t i, n;

	if (!yyjson_mut_obj_size(texts))
		return 0;
	data = fl_tree_object(call->doc, object, "data");
	if (!data)
		return -FL_E_NOMEM;
	yyjson_mut_obj_foreach(texts, i, n, key, val)
	{
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(2 * FL_API_BODY_MAX);
		struct fl_str plain = fl_tree_str(val);
		yyjson_mut_val *made;

		fl_base64_put(&text, FL_BASE64_STD, plain.p, plain.len);
		made = text.failed ? NULL : yyjson_mut_strncpy(call->doc, text.len ? text.p : "", text.len);
		if (!made || !fl_tree_put(call->doc, data, fl_tree_str(key), made))
			return -FL_E_NOMEM;
	}
	fl_tree_remove(object, FL_S("stringData"));
	return 0;
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
		if (yyjson_mut_is_true(fl_tree_get(one, FL_S("storage"))))   /* the first; a second one is refused */
			return fl_list_add(call->doc, list, fl_tree_str(fl_tree_get(one, FL_S("name")))) ? 0
													  : -FL_E_NOMEM;
	}
	return 0;
}

static int shape_crd(struct fl_api_call *call, yyjson_mut_val *object)
{
	int r = name_defaults(call, object);

	return r < 0 ? r : stored_versions(call, object);
}

/* No name is accepted, and no condition known, before the server has looked at it. */
static int own_crd(struct fl_api_call *call)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, call->object, "status");

	if (!status || put_json(call, status, "conditions", "null") < 0)
		return -FL_E_NOMEM;
	return put_json(call, status, "acceptedNames", "{\"plural\":\"\",\"kind\":\"\"}");
}

static void check_crd(struct fl_api_call *call, struct fl_causes *causes)
{
	FL_AUTO(fl_api_resource) struct fl_api_resource *resource = NULL;
	yyjson_doc *copy = imut(call->object);
	struct fl_err err = { .code = FL_E_NOMEM };
	int r = copy ? fl_api_resource_of_crd(yyjson_doc_get_root(copy), &resource, &err) : -FL_E_NOMEM;

	yyjson_doc_free(copy);
	causes->failed |= r == -FL_E_NOMEM;
	fl_crd_check(call, causes);
	if (r < 0 && r != -FL_E_NOMEM && !causes->len)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.versions[0].schema.openAPIV3Schema"),
			     "Invalid value: %s", err.text);
	else if (resource)
		fl_crd_rules(call, resource);
}

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

static int delete_crd(struct fl_api_call *call)
{
	yyjson_mut_val *list = fl_tree_list(call->doc, fl_meta(call->object), "finalizers");

	yyjson_mut_val *status = fl_tree_object(call->doc, call->object, "status");

	if (!list || !status || !fl_list_add(call->doc, list, FL_S(CLEANUP)))
		return -FL_E_NOMEM;
	return add_condition(call, status, "Terminating", "InstanceDeletionPending",
			     "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon");
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
	call->sub = FL_S("status");
	call->ask.agent = FL_S("kube-apiserver");
	return fl_api_call_note(call) < 0 ? -FL_E_NOMEM : fl_commit(call, &after);
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

/* What single kinds have of their own. Each may be NULL. */
static const struct {
	const char *key;
	int (*fresh)(struct fl_api_call *call, yyjson_mut_val *object);    /* of a new one */
	int (*change)(struct fl_api_call *call, yyjson_mut_val *object);
	int (*own)(struct fl_api_call *call);                              /* of a new one, and no manager's */
	void (*check)(struct fl_api_call *call, struct fl_causes *causes);
} kinds[] = {
	{ "namespaces", new_namespace, change_namespace, hold_namespace, NULL },
	{ "pods", fl_pod_new, NULL, fl_pod_admit, fl_pod_check },
	{ "nodes", NULL, NULL, fill_node, NULL },
	{ "events", NULL, NULL, fill_event, NULL },
	{ "secrets", take_texts, take_texts, NULL, check_secret },
	{ "configmaps", NULL, NULL, NULL, check_map },
	{ "leases.coordination.k8s.io", NULL, NULL, NULL, check_lease },
	{ "daemonsets.apps", new_daemon_set, NULL, fill_daemon_set, check_template },
	{ "deployments.apps", new_template, NULL, NULL, check_template },
	{ "replicasets.apps", new_template, NULL, NULL, check_template },
	{ "statefulsets.apps", new_template, NULL, NULL, check_template },
	{ "resourceclaims.resource.k8s.io", fill_counts, fill_counts, fill_claim, NULL },
	{ "mutatingwebhookconfigurations.admissionregistration.k8s.io", NULL, NULL, NULL, fl_hooks_check },
	{ "validatingwebhookconfigurations.admissionregistration.k8s.io", NULL, NULL, NULL, fl_hooks_check },
	{ CRDS, shape_crd, shape_crd, own_crd, check_crd },
};

/* FL_LEN(kinds): none. */
static size_t kind_of(const struct fl_api_resource *resource)
{
	size_t i = 0;

	while (i < FL_LEN(kinds) && !is(resource, kinds[i].key))
		i++;
	return i;
}

int fl_builtin_new(struct fl_api_call *call, yyjson_mut_val *object)
{
	size_t i = kind_of(call->resource);

	return i < FL_LEN(kinds) && kinds[i].fresh ? kinds[i].fresh(call, object) : 0;
}

int fl_builtin_own(struct fl_api_call *call)
{
	size_t i = kind_of(call->resource);

	return !call->old && i < FL_LEN(kinds) && kinds[i].own ? kinds[i].own(call) : 0;
}

int fl_builtin_change(struct fl_api_call *call, yyjson_mut_val *object)
{
	size_t i = kind_of(call->resource);

	if (call->sub.len && !is(call->resource, "namespaces"))
		return 0;
	return i < FL_LEN(kinds) && kinds[i].change ? kinds[i].change(call, object) : 0;
}

void fl_builtin_check(struct fl_api_call *call, struct fl_causes *causes)
{
	size_t i = kind_of(call->resource);

	if (i < FL_LEN(kinds) && kinds[i].check && !call->sub.len)
		kinds[i].check(call, causes);
	if (fl_str_starts(call->resource->key, FL_S("validatingadmissionpolic")))
		fl_api_call_warn(call, "this server stores %s and asks none", call->resource->builtin->kind);
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
