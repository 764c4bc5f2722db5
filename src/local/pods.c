/* What the API server makes of Pods: defaults that depend on other fields, and what its admission plugins add. */
#include "local/api_in.h"

#define PRIORITY_CLASSES "scheduling.k8s.io"
#define TOLERATED_S 300   /* DefaultTolerationSeconds: how long a Pod stays on a node that is lost */

/* ---- defaults ---- */

static bool has_amounts(yyjson_mut_val *container)
{
	return yyjson_mut_obj_size(fl_tree_at(container, FL_S("resources.requests"))) ||
	       yyjson_mut_obj_size(fl_tree_at(container, FL_S("resources.limits")));
}

/* "registry:5000/image:tag@digest": the tag stands behind the last slash. */
static bool is_latest(struct fl_str image)
{
	struct fl_str rest = image, last = FL_S(""), tag = FL_S("");

	if (fl_str_find(image, '@') >= 0)
		return false;
	while (rest.p && fl_str_split(&rest, '/', &last))
		;
	(void)fl_str_split(&last, ':', &tag);
	return !last.p || fl_str_eq(last, FL_S("latest"));
}

/* What is limited and not asked for is asked for as much. */
static int fill_requests(struct fl_api_call *call, yyjson_mut_val *container)
{
	yyjson_mut_val *resources = fl_tree_get(container, FL_S("resources")), *requests, *key, *val;
	yyjson_mut_val *limits = fl_tree_get(resources, FL_S("limits"));
	size_t i, n;

	if (!yyjson_mut_obj_size(limits))
		return 0;
	requests = fl_tree_object(call->doc, resources, "requests");
	if (!requests)
		return -FL_E_NOMEM;
	yyjson_mut_obj_foreach(limits, i, n, key, val)
	{
		yyjson_mut_val *copy = fl_tree_get(requests, fl_tree_str(key)) ? NULL : fl_tree_copy(call->doc, val);

		if (copy && !fl_tree_put(call->doc, requests, fl_tree_str(key), copy))
			return -FL_E_NOMEM;
		if (!fl_tree_get(requests, fl_tree_str(key)))
			return -FL_E_NOMEM;
	}
	return 0;
}

int fl_pod_defaults(struct fl_api_call *call, yyjson_mut_val *spec)
{
	static const char *const lists[] = { "containers", "initContainers" };
	yyjson_mut_val *one;
	size_t i, n;

	for (size_t list = 0; list < FL_LEN(lists); list++) {
		yyjson_mut_arr_foreach(fl_tree_get(spec, fl_str(lists[list])), i, n, one)
		{
			struct fl_str image = fl_tree_str(fl_tree_get(one, FL_S("image")));

			if (!yyjson_mut_is_obj(one))
				continue;
			if (!fl_tree_get(one, FL_S("imagePullPolicy")) &&
			    !fl_tree_set(call->doc, one, "imagePullPolicy",
					 is_latest(image) ? FL_S("Always") : FL_S("IfNotPresent")))
				return -FL_E_NOMEM;
			if (fill_requests(call, one) < 0)
				return -FL_E_NOMEM;
		}
	}
	return 0;
}

/* ---- a new Pod ---- */

static int add_gated(struct fl_api_call *call, yyjson_mut_val *status)
{
	yyjson_mut_val *list = fl_tree_list(call->doc, status, "conditions");
	yyjson_mut_val *one = list ? yyjson_mut_arr_add_obj(call->doc, list) : NULL;

	return one && yyjson_mut_obj_add_null(call->doc, one, "lastProbeTime") &&
			       fl_tree_set_time(call->doc, one, "lastTransitionTime", call->ask.now) &&
			       fl_tree_set(call->doc, one, "type", FL_S("PodScheduled")) &&
			       fl_tree_set(call->doc, one, "status", FL_S("False")) &&
			       fl_tree_set(call->doc, one, "reason", FL_S("SchedulingGated")) &&
			       fl_tree_set(call->doc, one, "message",
					   FL_S("Scheduling is blocked due to non-empty scheduling gates"))
		       ? 0
		       : -FL_E_NOMEM;
}

int fl_pod_new(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *status = fl_tree_object(call->doc, object, "status"), *one;
	bool some = false;
	size_t i, n;

	if (fl_pod_defaults(call, fl_tree_get(object, FL_S("spec"))) < 0)
		return -FL_E_NOMEM;
	yyjson_mut_arr_foreach(fl_tree_at(object, FL_S("spec.containers")), i, n, one)
		some |= has_amounts(one);
	if (!status || !fl_tree_set(call->doc, status, "phase", FL_S("Pending")) ||
	    !fl_tree_set(call->doc, status, "qosClass", some ? FL_S("Burstable") : FL_S("BestEffort")))
		return -FL_E_NOMEM;
	return yyjson_mut_arr_size(fl_tree_at(object, FL_S("spec.schedulingGates"))) ? add_gated(call, status) : 0;
}

/* ---- admission: it belongs to no manager ---- */

static bool tolerates(yyjson_mut_val *tolerations, struct fl_str key)
{
	yyjson_mut_val *one;
	size_t i, n;

	yyjson_mut_arr_foreach(tolerations, i, n, one)
	{
		struct fl_str has = fl_tree_str(fl_tree_get(one, FL_S("key")));
		struct fl_str effect = fl_tree_str(fl_tree_get(one, FL_S("effect")));

		if ((!has.len || fl_str_eq(has, key)) && (!effect.len || fl_str_eq(effect, FL_S("NoExecute"))))
			return true;
	}
	return false;
}

static int add_tolerations(struct fl_api_call *call, yyjson_mut_val *spec)
{
	static const struct fl_str keys[] = { FL_S_INIT("node.kubernetes.io/not-ready"),
					      FL_S_INIT("node.kubernetes.io/unreachable") };
	yyjson_mut_val *list = fl_tree_list(call->doc, spec, "tolerations");

	for (size_t i = 0; list && i < FL_LEN(keys); i++) {
		yyjson_mut_val *one = tolerates(list, keys[i]) ? NULL : yyjson_mut_arr_add_obj(call->doc, list);

		if (!one && tolerates(list, keys[i]))
			continue;
		if (!one || !fl_tree_set(call->doc, one, "key", keys[i]) ||
		    !fl_tree_set(call->doc, one, "operator", FL_S("Exists")) ||
		    !fl_tree_set(call->doc, one, "effect", FL_S("NoExecute")) ||
		    !fl_tree_set_int(call->doc, one, "tolerationSeconds", TOLERATED_S))
			return -FL_E_NOMEM;
	}
	return list ? 0 : -FL_E_NOMEM;
}

/* NULL: there is none, or none is named. */
static const struct fl_state *class_of(struct fl_api_call *call, struct fl_str name)
{
	const struct fl_api_resource *classes =
		fl_api_resource_find(&call->api->resources, FL_S(PRIORITY_CLASSES), FL_S("priorityclasses"));

	return name.len ? fl_ordered_get(&classes->shelf.objects, name) : NULL;
}

static int set_priority(struct fl_api_call *call, yyjson_mut_val *spec)
{
	struct fl_str name = fl_tree_str(fl_tree_get(spec, FL_S("priorityClassName")));
	struct fl_refusal refusal = fl_refusal(call, 403, "Forbidden");
	struct fl_str preemption = FL_S("PreemptLowerPriority"), found;
	const struct fl_state *class = class_of(call, name);
	int64_t value = 0;
	yyjson_doc *doc;

	if (fl_str_eq(name, FL_S("system-node-critical")))
		value = 2000001000;
	else if (fl_str_eq(name, FL_S("system-cluster-critical")))
		value = 2000000000;
	else if (name.len && !class)
		return fl_refuse(call, &refusal,
				 "pods \"%.*s\" is forbidden: no PriorityClass with name %.*s was found",
				 FL_ARG(call->name), FL_ARG(name));
	if (class) {
		if (fl_json_read(&call->space, fl_state_json(class), 0, &doc, NULL) < 0)
			return -FL_E_NOMEM;
		(void)fl_json_i64(fl_json_get(yyjson_doc_get_root(doc), FL_S("value")), &value);
		if (fl_json_str(fl_json_get(yyjson_doc_get_root(doc), FL_S("preemptionPolicy")), &found))
			preemption = found;
	}
	if (!fl_tree_set_int(call->doc, spec, "priority", value))
		return -FL_E_NOMEM;
	if (!fl_tree_get(spec, FL_S("preemptionPolicy")) &&
	    !fl_tree_set(call->doc, spec, "preemptionPolicy", preemption))
		return -FL_E_NOMEM;
	return 0;
}

int fl_pod_admit(struct fl_api_call *call)
{
	yyjson_mut_val *spec = fl_tree_object(call->doc, call->object, "spec");
	int r = spec ? set_priority(call, spec) : -FL_E_NOMEM;

	return r < 0 ? r : add_tolerations(call, spec);
}

/* ---- checks ---- */

static void check_gates(struct fl_api_call *call, struct fl_causes *causes)
{
	yyjson_mut_val *had = fl_tree_at(call->old, FL_S("spec.schedulingGates")), *one, *before;
	size_t i, n, j, m;

	yyjson_mut_arr_foreach(fl_tree_at(call->object, FL_S("spec.schedulingGates")), i, n, one)
	{
		struct fl_str name = fl_tree_str(fl_tree_get(one, FL_S("name"))), field;
		bool known = false;

		yyjson_mut_arr_foreach(had, j, m, before)
			known |= fl_str_eq(fl_tree_str(fl_tree_get(before, FL_S("name"))), name);
		field = fl_arena_printf(causes->arena, "spec.schedulingGates[%zu].name", i);
		causes->failed |= !field.p;
		if (!known && field.p)
			fl_cause_add(causes, "FieldValueForbidden", field,
				     "Forbidden: only deletion is allowed, but found new scheduling gate '%.*s'",
				     FL_ARG(name));
	}
}

void fl_pod_check(struct fl_api_call *call, struct fl_causes *causes)
{
	if (!yyjson_mut_arr_size(fl_tree_at(call->object, FL_S("spec.containers"))))
		fl_cause_add(causes, "FieldValueRequired", FL_S("spec.containers"), "Required value");
	if (call->old)
		check_gates(call, causes);
}
