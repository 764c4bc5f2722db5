#include "kube/discovery.h"
#include <stdio.h>

static const char aggregated[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
				 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

static const struct {
	const char *verb;
	enum fl_kube_can can;
} verbs[] = {
	{ "get", FL_CAN_GET }, { "list", FL_CAN_LIST }, { "watch", FL_CAN_WATCH }, { "create", FL_CAN_CREATE },
	{ "update", FL_CAN_UPDATE }, { "patch", FL_CAN_PATCH }, { "delete", FL_CAN_DELETE },
};

void fl_discovery_free(struct fl_discovery *discovery)
{
	fl_free(discovery->at);
	fl_arena_free(&discovery->arena);
	*discovery = (struct fl_discovery){ 0 };
}

/* ---- reading ---- */

static struct fl_str text_of(yyjson_val *object, const char *key)
{
	struct fl_str text = { "", 0 };

	(void)fl_json_str(fl_json_get(object, fl_str(key)), &text);
	return text;
}

static uint32_t can_of(yyjson_val *list)
{
	uint32_t can = 0;
	yyjson_arr_iter at = yyjson_arr_iter_with(list);
	yyjson_val *verb;

	while ((verb = yyjson_arr_iter_next(&at)))
		for (size_t i = 0; i < FL_LEN(verbs); i++)
			if (yyjson_equals_str(verb, verbs[i].verb))
				can |= verbs[i].can;
	return can;
}

static int add_resource(struct fl_discovery *into, const struct fl_resource *resource, struct fl_err *err)
{
	struct fl_resource kept = *resource;

	kept.group = fl_arena_str(&into->arena, resource->group);
	kept.version = fl_arena_str(&into->arena, resource->version);
	kept.kind = fl_arena_str(&into->arena, resource->kind);
	kept.plural = fl_arena_str(&into->arena, resource->plural);
	if (!kept.group.p || !kept.version.p || !kept.kind.p || !kept.plural.p || fl_vec_push(into, kept) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for the API server's resources");
	return 0;
}

static bool has_status(yyjson_val *subresources)
{
	yyjson_arr_iter at = yyjson_arr_iter_with(subresources);
	yyjson_val *sub;

	while ((sub = yyjson_arr_iter_next(&at)))
		if (fl_str_eq(text_of(sub, "subresource"), FL_S("status")))
			return true;
	return false;
}

static int add_version(struct fl_discovery *into, struct fl_str group, yyjson_val *version, bool preferred,
		       struct fl_err *err)
{
	yyjson_arr_iter at = yyjson_arr_iter_with(fl_json_get(version, FL_S("resources")));
	bool stale = fl_str_eq(text_of(version, "freshness"), FL_S("Stale"));
	yyjson_val *val;

	while ((val = yyjson_arr_iter_next(&at))) {
		struct fl_resource resource = {
			.group = group, .version = text_of(version, "version"), .plural = text_of(val, "resource"),
			.kind = text_of(fl_json_get(val, FL_S("responseKind")), "kind"),
			.namespaced = fl_str_eq(text_of(val, "scope"), FL_S("Namespaced")), .preferred = preferred,
			.stale = stale, .status = has_status(fl_json_get(val, FL_S("subresources"))),
			.can = can_of(fl_json_get(val, FL_S("verbs"))),
		};

		if (add_resource(into, &resource, err) < 0)
			return -FL_E_NOMEM;
	}
	return 0;
}

int fl_discovery_add_group(struct fl_discovery *into, yyjson_val *group, struct fl_err *err)
{
	struct fl_str name = text_of(fl_json_get(group, FL_S("metadata")), "name");
	yyjson_arr_iter at = yyjson_arr_iter_with(fl_json_get(group, FL_S("versions")));
	yyjson_val *version;
	bool first = true;

	while ((version = yyjson_arr_iter_next(&at))) {
		if (add_version(into, name, version, first, err) < 0)
			return -FL_E_NOMEM;
		first = false;
	}
	return 0;
}

static uint32_t number_of(struct fl_str text)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < text.len && i < 6 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
		number = number * 10 + (uint32_t)(text.p[i] - '0');   /* "36+" of a provider is 36 */
	return number;
}

int fl_discovery_add_version(struct fl_discovery *into, yyjson_val *info, struct fl_err *err)
{
	into->major = number_of(text_of(info, "major"));
	into->minor = number_of(text_of(info, "minor"));
	into->git_version = fl_arena_str(&into->arena, text_of(info, "gitVersion"));
	return into->git_version.p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the server's version");
}

/* ---- asking ---- */

enum { VERSION, CORE, GROUPS, ASK_OVER };

static void next(struct fl_discover *ask);

static void drop(struct fl_op *op)
{
	fl_op_cancel(&fl_container(op, struct fl_discover, op)->call.op);
}

static void ended(struct fl_discover *ask)
{
	if (!ask->kind && !ask->into->len)
		fl_op_fail(&ask->op, FL_E_UNSUPPORTED, "the API server has no aggregated discovery: it is older than "
						       "1.27: update it");
	else if (!ask->kind)
		fl_op_end(&ask->op, ask->into->len);
	else if (ask->next)
		fl_op_end(&ask->op, 1);
	else
		fl_op_fail(&ask->op, FL_E_NOTFOUND, "the API server has no %s in %s/%s", ask->kind->plural,
			   ask->kind->group,
			   ask->kind->version);
}

static void step_done(struct fl_op *op)
{
	struct fl_discover *ask = fl_container(op, struct fl_discover, call.op);

	if (op->result == -FL_E_NOTFOUND && ask->kind) {
		ended(ask);
	} else if (op->result < 0) {
		fl_op_fail(&ask->op, ask->err.code, "%s: %s", ask->path, ask->err.text);
	} else {
		ask->step++;
		next(ask);
	}
}

static int kind_item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_discover *ask = fl_container(call, struct fl_discover, call);
	yyjson_arr_iter at = yyjson_arr_iter_with(fl_json_get(object, FL_S("resources")));
	yyjson_val *val;

	(void)what;
	(void)err;
	while ((val = yyjson_arr_iter_next(&at)))
		if (fl_str_eq(text_of(val, "name"), fl_str(ask->kind->plural)))
			ask->next = 1;
	return 0;
}

static int all_item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_discover *ask = fl_container(call, struct fl_discover, call);

	(void)what;
	if (ask->step == VERSION)
		return fl_discovery_add_version(ask->into, object, err);
	return fl_discovery_add_group(ask->into, object, err);
}

static void next(struct fl_discover *ask)
{
	static const char *const paths[] = { [VERSION] = "/version", [CORE] = "/api", [GROUPS] = "/apis" };

	if (ask->step == (ask->kind ? 1 : ASK_OVER)) {
		ended(ask);
		return;
	}
	if (!ask->kind)
		(void)snprintf(ask->path, sizeof ask->path, "%s", paths[ask->step]);
	ask->call = (struct fl_kube_call){
		.op = { .done = step_done, .err = &ask->err }, .path = ask->path,
		.verb = ask->kind || ask->step == VERSION ? FL_KUBE_GET : FL_KUBE_LIST,
		.accept = ask->kind || ask->step == VERSION ? NULL : aggregated, .item = ask->kind ?
				kind_item : all_item,
	};
	fl_kube_start(ask->kube, &ask->call);
}

void fl_discover(struct fl_kube *kube, struct fl_discover *ask)
{
	ask->kube = kube;
	ask->step = 0;
	ask->next = 0;
	fl_op_begin(&ask->op, fl_kube_io(kube), drop);
	if (ask->kind)
		(void)snprintf(ask->path, sizeof ask->path, "%s/%s%s%s", ask->kind->group[0] ? "/apis" : "/api",
				ask->kind->group,
			       ask->kind->group[0] ? "/" : "", ask->kind->version);
	next(ask);
}
