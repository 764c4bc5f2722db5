#include "local/api_in.h"

/* What a CustomResourceDefinition must be like, besides its schemas. */

static void require(struct fl_causes *causes, const char *field, const char *says)
{
	fl_cause_add(causes, "FieldValueRequired", fl_str(field), "Required value%s%s", *says ? ": " : "", says);
}

static struct fl_str text_at(yyjson_mut_val *crd, const char *path)
{
	return fl_tree_str(fl_tree_at(crd, fl_str(path)));
}

/* As Go prints its own form of them, in which equal schemas stand elsewhere. */
static void put_versions(struct fl_buf *buf, yyjson_mut_val *versions)
{
	yyjson_mut_val *one;
	size_t i, n;

	fl_buf_char(buf, '[');
	yyjson_mut_arr_foreach(versions, i, n, one)
	{
		bool old = yyjson_mut_is_true(fl_tree_get(one, FL_S("deprecated")));

		fl_buf_str(buf, i ? FL_S(",{\"Name\":") : FL_S("{\"Name\":"));
		fl_buf_json(buf, fl_tree_str(fl_tree_get(one, FL_S("name"))));
		fl_buf_printf(buf, ",\"Served\":%s,\"Storage\":%s,\"Deprecated\":%s,\"DeprecationWarning\":null,"
				   "\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,"
				   "\"SelectableFields\":null}",
			      yyjson_mut_is_true(fl_tree_get(one, FL_S("served"))) ? "true" : "false",
			      yyjson_mut_is_true(fl_tree_get(one, FL_S("storage"))) ? "true" : "false",
			      old ? "true" : "false");
	}
	fl_buf_char(buf, ']');
}

static void refuse_versions(struct fl_causes *causes, yyjson_mut_val *versions, const char *says)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	put_versions(&text, versions);
	causes->failed |= text.failed != FL_OK;
	if (!text.failed)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("spec.versions"), "Invalid value: %.*s: %s",
			     FL_ARG(fl_buf_view(&text)), says);
}

static bool repeats(yyjson_mut_val *versions, size_t at)
{
	struct fl_str name = fl_tree_str(fl_tree_get(yyjson_mut_arr_get(versions, at), FL_S("name")));

	for (size_t i = 0; i < at; i++) {
		if (fl_str_eq(name, fl_tree_str(fl_tree_get(yyjson_mut_arr_get(versions, i), FL_S("name")))))
			return true;
	}
	return false;
}

static void check_stored(yyjson_mut_val *crd, struct fl_str storage, struct fl_causes *causes)
{
	yyjson_mut_val *stored = fl_tree_at(crd, FL_S("status.storedVersions"));
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_jw w = FL_JW(&text);

	if (!yyjson_mut_arr_size(stored)) {
		fl_cause_add(causes, "FieldValueInvalid", FL_S("status.storedVersions"),
			     "Invalid value: null: must have at least one stored version");
		return;
	}
	if (!storage.len || fl_list_has(stored, storage))
		return;
	fl_jw_mut(&w, stored);
	causes->failed |= text.failed != FL_OK;
	if (!text.failed)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("status.storedVersions"),
			     "Invalid value: %.*s: must have the storage version %.*s", FL_ARG(fl_buf_view(&text)),
			     FL_ARG(storage));
}

static void check_versions(yyjson_mut_val *crd, struct fl_causes *causes)
{
	yyjson_mut_val *versions = fl_tree_at(crd, FL_S("spec.versions")), *one;
	struct fl_str storage = FL_S("");
	uint32_t stored = 0;
	bool twice = false;
	char field[80];
	size_t i, n;

	yyjson_mut_arr_foreach(versions, i, n, one)
	{
		twice |= repeats(versions, i);
		if (yyjson_mut_is_true(fl_tree_get(one, FL_S("storage")))) {
			storage = fl_tree_str(fl_tree_get(one, FL_S("name")));
			stored++;
		}
		(void)snprintf(field, sizeof field, "spec.versions[%zu].schema.openAPIV3Schema", i);
		if (!fl_tree_at(one, FL_S("schema.openAPIV3Schema")))
			require(causes, field, "");
	}
	if (twice)
		refuse_versions(causes, versions, "must contain unique version names");
	if (stored != 1)
		refuse_versions(causes, versions, "must have exactly one version marked as storage version");
	check_stored(crd, storage, causes);
}

static void check_names(yyjson_mut_val *crd, struct fl_causes *causes)
{
	static const char *const names[] = { "spec.group", "spec.names.plural", "spec.names.kind",
					     "spec.names.listKind",
					     "spec.names.singular" };
	struct fl_str scope = text_at(crd, "spec.scope");

	for (size_t i = 0; i < FL_LEN(names); i++) {
		if (!text_at(crd, names[i]).len)
			require(causes, names[i], "");
	}
	if (!scope.len)
		require(causes, "spec.scope", "");
	else if (!fl_str_eq(scope, FL_S("Cluster")) && !fl_str_eq(scope, FL_S("Namespaced")))
		fl_cause_add(causes, "FieldValueNotSupported", FL_S("spec.scope"),
			     "Unsupported value: \"%.*s\": supported values: \"Cluster\", \"Namespaced\"",
			     FL_ARG(scope));
}

static void check_conversion(struct fl_api_call *call, yyjson_mut_val *crd, struct fl_causes *causes)
{
	if (!fl_str_eq(text_at(crd, "spec.conversion.strategy"), FL_S("Webhook")))
		return;
	if (!fl_tree_at(crd, FL_S("spec.conversion.webhook.clientConfig")))
		require(causes, "spec.conversion.webhookClientConfig", "required when strategy is set to Webhook");
	if (!yyjson_mut_arr_size(fl_tree_at(crd, FL_S("spec.conversion.webhook.conversionReviewVersions"))))
		require(causes, "spec.conversion.conversionReviewVersions", "");
	if (!causes->len)
		fl_api_call_warn(call, "this server asks no webhook for conversions: fields stay as they are");
}

static void fixed(yyjson_mut_val *old, yyjson_mut_val *crd, const char *path, struct fl_causes *causes)
{
	if (!fl_str_eq(text_at(old, path), text_at(crd, path)))
		fl_cause_add(causes, "FieldValueInvalid", fl_str(path), "Invalid value: \"%.*s\": field is immutable",
			     FL_ARG(text_at(crd, path)));
}

static bool is_established(yyjson_mut_val *crd)
{
	yyjson_mut_val *one;
	size_t i, n;

	yyjson_mut_arr_foreach(fl_tree_at(crd, FL_S("status.conditions")), i, n, one)
	{
		if (fl_str_eq(fl_tree_str(fl_tree_get(one, FL_S("type"))), FL_S("Established")) &&
		    fl_str_eq(fl_tree_str(fl_tree_get(one, FL_S("status"))), FL_S("True")))
			return true;
	}
	return false;
}

static void check_change(yyjson_mut_val *old, yyjson_mut_val *crd, struct fl_causes *causes)
{
	fixed(old, crd, "spec.group", causes);
	fixed(old, crd, "spec.names.plural", causes);
	if (!is_established(old))
		return;
	fixed(old, crd, "spec.scope", causes);
	fixed(old, crd, "spec.names.kind", causes);
}

static void check_place(struct fl_api_call *call, yyjson_mut_val *crd, struct fl_causes *causes)
{
	struct fl_str plural = text_at(crd, "spec.names.plural"), group = text_at(crd, "spec.group");
	struct fl_str name = fl_arena_printf(&call->arena, "%.*s.%.*s", FL_ARG(plural), FL_ARG(group));

	causes->failed |= !name.p;
	if (name.p && !fl_str_eq(name, call->name))
		fl_cause_add(causes, "FieldValueInvalid", FL_S("metadata.name"),
			     "Invalid value: \"%.*s\": must be spec.names.plural+\".\"+spec.group", FL_ARG(call->name));
}

void fl_crd_check(struct fl_api_call *call, struct fl_causes *causes)
{
	yyjson_mut_val *crd = call->object;

	check_names(crd, causes);
	check_versions(crd, causes);
	check_conversion(call, crd, causes);
	fl_crd_schemas_check(crd, causes);
	if (call->old)
		check_change(call->old, crd, causes);
	else
		check_place(call, crd, causes);
}
