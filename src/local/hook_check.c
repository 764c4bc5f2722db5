#include "local/api_in.h"

/* Where a value stands: "webhooks[0].clientConfig.url". */
struct place {
	struct fl_api_call *call;
	struct fl_causes *causes;
	size_t index;
};

static struct fl_str field(const struct place *place, const char *name)
{
	struct fl_str path = fl_arena_printf(place->causes->arena, "webhooks[%zu].%s", place->index, name);

	place->causes->failed |= !path.p;
	return path.p ? path : FL_S("webhooks");
}

static void require(const struct place *place, const char *name, const char *says)
{
	fl_cause_add(place->causes, "FieldValueRequired", field(place, name), "Required value%s%s", *says ? ": " : "",
		     says);
}

static void one_of(const struct place *place, yyjson_mut_val *hook, const char *name, const char *const *values,
		   const char *says)
{
	yyjson_mut_val *val = fl_tree_get(hook, fl_str(name));
	struct fl_str text = fl_tree_str(val);

	for (size_t i = 0; values[i]; i++) {
		if (!val || fl_str_eq(text, fl_str(values[i])))
			return;
	}
	fl_cause_add(place->causes, "FieldValueNotSupported", field(place, name),
		     "Unsupported value: \"%.*s\": supported values: %s", FL_ARG(text), says);
}

static void check_name(const struct place *place, yyjson_mut_val *hook)
{
	struct fl_str name = fl_tree_str(fl_tree_get(hook, FL_S("name"))), rest = name, part = FL_S("");
	uint32_t parts = 0;

	if (!name.len) {
		require(place, "name", "");
		return;
	}
	while (fl_str_split(&rest, '.', &part))
		parts++;
	if (parts < 3)
		fl_cause_add(place->causes, "FieldValueInvalid", field(place, "name"),
			     "Invalid value: \"%.*s\": should be a domain with at least three segments separated by "
			     "dots",
			     FL_ARG(name));
}

#define DESIRED "desired format: https://host[/path]"

static void refuse_url(const struct place *place, struct fl_str value, const char *says)
{
	fl_cause_add(place->causes, "FieldValueInvalid", field(place, "clientConfig.url"),
		     "Invalid value: \"%.*s\": %s",
		     FL_ARG(value), says);
}

static void check_url(const struct place *place, struct fl_str url)
{
	struct fl_str rest = url, scheme = FL_S("");

	(void)fl_str_split(&rest, ':', &scheme);
	if (!fl_str_eq(scheme, FL_S("https")) || !fl_str_starts(url, FL_S("https://")))
		refuse_url(place, scheme, "'https' is the only allowed URL scheme; " DESIRED);
	else if (url.len == sizeof "https://" - 1)
		refuse_url(place, FL_S(""), "host must be specified; " DESIRED);
	if (fl_str_find(url, '@') >= 0)
		refuse_url(place, url, "user information is not permitted in the URL");
	if (fl_str_find(url, '?') >= 0)
		refuse_url(place, url, "query parameters are not permitted in the URL");
	if (fl_str_find(url, '#') >= 0)
		refuse_url(place, url, "fragments are not permitted in the URL");
}

static void check_service(const struct place *place, yyjson_mut_val *service)
{
	int64_t port = 443;

	if (!fl_tree_str(fl_tree_get(service, FL_S("name"))).len)
		require(place, "clientConfig.service.name", "service name is required");
	if (!fl_tree_str(fl_tree_get(service, FL_S("namespace"))).len)
		require(place, "clientConfig.service.namespace", "service namespace is required");
	(void)fl_tree_i64(fl_tree_get(service, FL_S("port")), &port);
	if (port < 1 || port > 65535)
		fl_cause_add(place->causes, "FieldValueInvalid", field(place, "clientConfig.service.port"),
			     "Invalid value: %lld: port is not valid: must be between 1 and 65535, inclusive",
			     (long long)port);
}

static void check_client(const struct place *place, yyjson_mut_val *hook)
{
	yyjson_mut_val *client = fl_tree_get(hook, FL_S("clientConfig"));
	yyjson_mut_val *url = fl_tree_get(client, FL_S("url")), *service = fl_tree_get(client, FL_S("service"));

	if (!url == !service)
		require(place, "clientConfig", "exactly one of url or service is required");
	if (url)
		check_url(place, fl_tree_str(url));
	if (service)
		check_service(place, service);
}

static bool lists(const struct place *place, size_t rule, yyjson_mut_val *of, const char *name)
{
	char path[80];

	(void)snprintf(path, sizeof path, "rules[%zu].%s", rule, name);
	if (yyjson_mut_arr_size(fl_tree_get(of, fl_str(name))))
		return true;
	require(place, path, "");
	return false;
}

static void check_rules(const struct place *place, yyjson_mut_val *hook)
{
	static const char *const names[] = { "apiGroups", "apiVersions", "resources", "operations" };
	static const struct fl_str known[] = { FL_S_INIT("CREATE"), FL_S_INIT("UPDATE"), FL_S_INIT("DELETE"),
					       FL_S_INIT("CONNECT"), FL_S_INIT("*") };
	yyjson_mut_val *rule, *operation;
	size_t i, n, j, m;
	char path[80];

	yyjson_mut_arr_foreach(fl_tree_get(hook, FL_S("rules")), i, n, rule)
	{
		for (size_t k = 0; k < FL_LEN(names); k++)
			(void)lists(place, i, rule, names[k]);
		yyjson_mut_arr_foreach(fl_tree_get(rule, FL_S("operations")), j, m, operation)
		{
			struct fl_str text = fl_tree_str(operation);

			(void)snprintf(path, sizeof path, "rules[%zu].operations[%zu]", i, j);
			if (!fl_str_in(known, FL_LEN(known), text))
				fl_cause_add(place->causes, "FieldValueNotSupported", field(place, path),
					     "Unsupported value: \"%.*s\": supported values: \"*\", \"CONNECT\", "
					     "\"CREATE\", \"DELETE\", \"UPDATE\"",
					     FL_ARG(text));
		}
	}
}

static void check_versions(const struct place *place, yyjson_mut_val *hook)
{
	yyjson_mut_val *versions = fl_tree_get(hook, FL_S("admissionReviewVersions"));

	if (!yyjson_mut_arr_size(versions))
		require(place, "admissionReviewVersions", "must specify one of v1, v1beta1");
	else if (!fl_list_has(versions, FL_S("v1")))
		fl_cause_add(place->causes, "FieldValueInvalid", field(place, "admissionReviewVersions"),
			     "Invalid value: must include at least one of v1, v1beta1");
}

static void check_hook(const struct place *place, yyjson_mut_val *hook)
{
	static const char *const failures[] = { "Fail", "Ignore", NULL };
	static const char *const matches[] = { "Exact", "Equivalent", NULL };
	static const char *const effects[] = { "None", "NoneOnDryRun", NULL };
	static const char *const again[] = { "Never", "IfNeeded", NULL };
	int64_t seconds = 10;

	check_name(place, hook);
	check_rules(place, hook);
	one_of(place, hook, "failurePolicy", failures, "\"Fail\", \"Ignore\"");
	one_of(place, hook, "matchPolicy", matches, "\"Equivalent\", \"Exact\"");
	if (!fl_tree_get(hook, FL_S("sideEffects")))
		require(place, "sideEffects", "must specify one of None, NoneOnDryRun");
	one_of(place, hook, "sideEffects", effects, "\"None\", \"NoneOnDryRun\"");
	one_of(place, hook, "reinvocationPolicy", again, "\"IfNeeded\", \"Never\"");
	(void)fl_tree_i64(fl_tree_get(hook, FL_S("timeoutSeconds")), &seconds);
	if (seconds < 1 || seconds > 30)
		fl_cause_add(place->causes, "FieldValueInvalid", field(place, "timeoutSeconds"),
			     "Invalid value: %lld: the timeout value must be between 1 and 30 seconds",
			     (long long)seconds);
	check_client(place, hook);
	check_versions(place, hook);
	/* They are CEL, which this server does not evaluate: whoever wrote them must not be asked without. */
	if (yyjson_mut_arr_size(fl_tree_get(hook, FL_S("matchConditions"))))
		fl_cause_add(place->causes, "FieldValueForbidden", field(place, "matchConditions"),
			     "Forbidden: this server evaluates no CEL; narrow the rules and selectors instead");
}

void fl_hooks_check(struct fl_api_call *call, struct fl_causes *causes)
{
	struct place place = { .call = call, .causes = causes };
	yyjson_mut_val *hook;
	size_t n;

	yyjson_mut_arr_foreach(fl_tree_get(call->object, FL_S("webhooks")), place.index, n, hook)
		check_hook(&place, hook);
}
