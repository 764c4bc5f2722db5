#include "api/selector.h"
#include "base/base64.h"
#include "json/bind_walk.h"
#include "local/api_in.h"
#include <stdlib.h>

#define ADMISSION FL_S("admissionregistration.k8s.io")
#define MUTATING FL_S("mutatingwebhookconfigurations")
#define VALIDATING FL_S("validatingwebhookconfigurations")

/* ---- the configurations that there are ---- */

static void destroy(struct fl_hook_set *set)
{
	fl_vec_free(&set->mutating);
	fl_vec_free(&set->validating);
	fl_json_space_free(&set->space);
	fl_arena_free(&set->arena);
	fl_free(set);
}

void fl_hook_set_drop(struct fl_hook_set *set)
{
	if (set && !--set->refs)
		destroy(set);
}

/* One that is no text in base64 counts as none: no certificate is trusted then. */
static struct fl_str authority(struct fl_hook_set *set, struct fl_str bundle)
{
	FL_AUTO(fl_buf) struct fl_buf pem = FL_BUF(FL_API_BODY_MAX);

	if (fl_base64_get(&pem, FL_BASE64_STD, bundle, NULL) == -FL_E_NOMEM)
		return (struct fl_str){ 0 };
	return fl_arena_str(&set->arena, fl_buf_view(&pem));
}

static int read_one(struct fl_hook_set *set, const struct fl_state *state, bool mutating)
{
	struct fl_webhook_config *all = fl_arena_get(&set->arena, sizeof *all);
	yyjson_doc *doc;
	struct fl_err err;

	if (!all || fl_json_read(&set->space, fl_state_json(state), 0, &doc, &err) < 0 ||
	    fl_decode(fl_webhook_config_bind(), yyjson_doc_get_root(doc), &set->arena, FL_DECODE_BORROW, all, &err) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < all->hooks.len; i++) {
		const struct fl_webhook *spec = &all->hooks.at[i];
		struct fl_hook hook = { .spec = spec, .ca = authority(set, spec->client.ca_bundle) };

		if (!hook.ca.p ||
		    (mutating ? fl_vec_push(&set->mutating, hook) : fl_vec_push(&set->validating, hook)) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

bool fl_api_is_hooks(const struct fl_api *api, const struct fl_shelf *shelf)
{
	return &fl_api_resource_find(&api->resources, ADMISSION, MUTATING)->shelf == shelf ||
	       &fl_api_resource_find(&api->resources, ADMISSION, VALIDATING)->shelf == shelf;
}

static int read_all(struct fl_api *api, struct fl_hook_set *set, struct fl_str plural, bool mutating)
{
	const struct fl_api_resource *resource = fl_api_resource_find(&api->resources, ADMISSION, plural);
	struct fl_spot spot = { 0 };
	struct fl_state *state;

	while ((state = fl_ordered_next(&resource->shelf.objects, &spot)) != NULL) {
		if (read_one(set, state, mutating) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

struct fl_hook_set *fl_hook_set_hold(struct fl_api *api)
{
	if (!api->hooks) {
		struct fl_hook_set *set = fl_zalloc(sizeof *set);

		if (!set)
			return NULL;
		if (read_all(api, set, MUTATING, true) < 0 ||
		    read_all(api, set, VALIDATING, false) < 0) {
			destroy(set);
			return NULL;
		}
		set->refs = 1;   /* the server's own */
		api->hooks = set;
	}
	api->hooks->refs++;
	return api->hooks;
}

/* ---- rules ---- */

static bool names(struct fl_str_list list, struct fl_str text)
{
	return fl_str_in(list.at, list.len, text) || fl_str_in(list.at, list.len, FL_S("*"));
}

static struct fl_str operation(const struct fl_api_call *call)
{
	enum fl_operation operation = call->verb == FL_VERB_DELETE || call->verb == FL_VERB_DELETE_ALL ? FL_OP_DELETE
				      : call->old					       ? FL_OP_UPDATE
											       : FL_OP_CREATE;

	return fl_str(fl_operation_names.at[operation]);
}

/* "pods", "pods/status", "pods/ *", "* /status", "*", "* / *" (without the blanks). */
static bool names_resource(struct fl_str_list list, struct fl_str plural, struct fl_str sub)
{
	for (uint32_t i = 0; i < list.len; i++) {
		struct fl_str rest = list.at[i], part = FL_S("");
		bool parted = fl_str_find(rest, '/') >= 0;

		(void)fl_str_split(&rest, '/', &part);
		if (!fl_str_eq(part, plural) && !fl_str_eq(part, FL_S("*")))
			continue;
		if (parted ? fl_str_eq(rest, sub) || fl_str_eq(rest, FL_S("*")) : !sub.len)
			return true;
	}
	return false;
}

static bool rule_fits(const struct fl_hook_rule *rule, const struct fl_api_call *call, struct fl_str version)
{
	const struct fl_api_resource *resource = call->resource;
	struct fl_str scope = resource->cluster ? FL_S("Cluster") : FL_S("Namespaced");

	return names(rule->operations, operation(call)) && names(rule->groups, resource->group) &&
	       names(rule->versions, version) && names_resource(rule->resources, resource->plural, call->sub) &&
	       (!rule->scope.len || fl_str_eq(rule->scope, FL_S("*")) || fl_str_eq(rule->scope, scope));
}

static struct fl_str version_for(const struct fl_webhook *spec, const struct fl_api_call *call)
{
	bool equal = fl_str_eq(spec->match, FL_S("Equivalent"));

	for (uint32_t i = 0; i < spec->rules.len; i++) {
		const struct fl_hook_rule *rule = &spec->rules.at[i];

		if (rule_fits(rule, call, call->version))
			return call->version;
		for (uint32_t j = 0; equal && j < call->resource->version_count; j++) {
			const struct fl_served *other = &call->resource->versions[j];

			if (other->served && rule_fits(rule, call, other->name))
				return other->name;
		}
	}
	return FL_S("");
}

/* ---- selectors ---- */

static int by_key(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_pair *)a)->key, ((const struct fl_pair *)b)->key);
}

/* False: allocation failed. */
static bool labels_of(struct fl_api_call *call, yyjson_mut_val *object, struct fl_map *ret)
{
	yyjson_mut_val *labels = fl_tree_get(fl_meta(object), FL_S("labels")), *key, *val;
	size_t i, n, count = yyjson_mut_obj_size(labels);

	*ret = (struct fl_map){ 0 };
	if (!count)
		return true;
	ret->at = fl_arena_get_n(&call->arena, count, sizeof *ret->at);
	if (!ret->at)
		return false;
	yyjson_mut_obj_foreach(labels, i, n, key, val)
		ret->at[ret->len++] = (struct fl_pair){ fl_tree_str(key), fl_tree_str(val) };
	qsort(ret->at, ret->len, sizeof *ret->at, by_key);
	return true;
}

static bool is_empty(const struct fl_label_selector *selector)
{
	return !selector->match_labels.len && !selector->match_expressions.len;
}

static int object_fits(struct fl_api_call *call, const struct fl_label_selector *selector)
{
	struct fl_map now, before;

	if (is_empty(selector))
		return 1;
	if (!labels_of(call, call->object, &now) || !labels_of(call, call->old, &before))
		return -FL_E_NOMEM;
	return (call->object && fl_label_selector_match(selector, now)) ||
	       (call->old && fl_label_selector_match(selector, before));
}

static int space_fits(struct fl_api_call *call, const struct fl_label_selector *selector)
{
	bool space = call->resource->builtin && fl_str_eq(call->resource->key, FL_S("namespaces"));
	const struct fl_api_resource *spaces;
	yyjson_mut_val *tree = space ? call->object ? call->object : call->old : NULL;
	const struct fl_state *state;
	struct fl_map labels;
	yyjson_doc *doc;

	if (is_empty(selector) || (call->resource->cluster && !space))
		return 1;
	if (!space) {
		spaces = fl_api_resource_find(&call->api->resources, FL_S(""), FL_S("namespaces"));
		state = fl_ordered_get(&spaces->shelf.objects, call->space_name);
		if (!state)
			return 0;
		if (fl_json_read(&call->space, fl_state_json(state), 0, &doc, NULL) < 0)
			return -FL_E_NOMEM;
		tree = fl_tree_of(call->doc, yyjson_doc_get_root(doc), NULL);
	}
	if (!tree || !labels_of(call, tree, &labels))
		return -FL_E_NOMEM;
	return fl_label_selector_match(selector, labels);
}

int fl_hook_match(struct fl_api_call *call, const struct fl_hook *hook, struct fl_str *ret_version)
{
	int r = 0;

	*ret_version = FL_S("");
	if (fl_str_eq(call->resource->group, ADMISSION))   /* nobody could remove a webhook that refuses all */
		return 0;
	*ret_version = version_for(hook->spec, call);
	r = ret_version->len ? space_fits(call, &hook->spec->spaces) : 0;
	if (r > 0)
		r = object_fits(call, &hook->spec->objects);
	if (r <= 0)
		*ret_version = FL_S("");
	return r < 0 ? r : 0;
}
