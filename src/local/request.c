#include "http/query.h"
#include "local/api_in.h"

FL_NAMES(fl_verb_names, FL_VERB_COUNT_, [FL_VERB_GET] = "get", [FL_VERB_LIST] = "list", [FL_VERB_WATCH] = "watch",
	 [FL_VERB_CREATE] = "create", [FL_VERB_UPDATE] = "update", [FL_VERB_PATCH] = "patch",
	 [FL_VERB_DELETE] = "delete", [FL_VERB_DELETE_ALL] = "deletecollection");
FL_NAMES(fl_validation_names, FL_VALIDATION_COUNT_, [FL_VALIDATION_WARN] = "Warn", [FL_VALIDATION_IGNORE] = "Ignore",
	 [FL_VALIDATION_STRICT] = "Strict");
FL_NAMES(fl_match_names, FL_MATCH_COUNT_, [FL_MATCH_NONE] = "", [FL_MATCH_NOT_OLDER] = "NotOlderThan",
	 [FL_MATCH_EXACT] = "Exact");
FL_NAMES(fl_spread_names, FL_SPREAD_COUNT_, [FL_SPREAD_DEFAULT] = "", [FL_SPREAD_ORPHAN] = "Orphan",
	 [FL_SPREAD_BACKGROUND] = "Background", [FL_SPREAD_FOREGROUND] = "Foreground");

/* ---- the path ---- */

/* /api/VERSION/... or /apis/GROUP/VERSION/...; what follows as parts. */
#define PARTS_MAX 8

/* How many there are; the first of them in `parts`. */
static uint32_t split_path(struct fl_str path, struct fl_str parts[PARTS_MAX])
{
	uint32_t count = 0;
	struct fl_str part = { 0 };

	path = fl_str_sub(path, 1, path.len);
	while (path.p && fl_str_split(&path, '/', &part)) {
		if (part.len && count++ < PARTS_MAX)
			parts[count - 1] = part;
	}
	return count;
}

static int refuse_path(struct fl_api_call *call)
{
	return fl_refuse(call, &(struct fl_refusal){ .code = 404, .reason = "NotFound" },
			 "the server could not find the requested resource");
}

/* A part of a path, decoded. */
static int decode(struct fl_api_call *call, struct fl_str *part)
{
	char query[1024];
	struct fl_buf text = FL_BUF_IN(query), value = FL_BUF(FL_KIB);
	struct fl_err err;
	int r;

	if (fl_str_find(*part, '%') < 0)
		return 0;
	fl_buf_str(&text, FL_S("x="));
	for (uint32_t i = 0; i < part->len; i++)
		fl_buf_str(&text, part->p[i] == '+' ? FL_S("%2B") : fl_str_sub(*part, i, 1));
	if (text.failed)
		return refuse_path(call);
	r = fl_query_get(fl_buf_view(&text), "x", &value, &err);
	if (r > 0)
		*part = fl_arena_str(&call->arena, fl_buf_view(&value));
	fl_buf_free(&value);
	if (r == -FL_E_NOMEM || !part->p)
		return -FL_E_NOMEM;
	return r < 0 ? refuse_path(call) : 0;
}

static int refuse_method(struct fl_api_call *call, const char *verb)
{
	struct fl_refusal refusal = { .code = 405, .reason = "MethodNotAllowed" };

	if (call->resource->builtin)
		return fl_refuse(call, &refusal, "the server does not allow this method on the requested resource");
	refusal.group = call->resource->group;
	refusal.kind = call->resource->plural;
	return fl_refuse(call, &refusal, "%s is not supported on resources of kind \"%.*s\"", verb,
			 FL_ARG(call->resource->key));
}

/* FL_VERB_COUNT_: there is none of this method. */
static enum fl_verb verb_of(struct fl_str method, bool one)
{
	static const struct {
		const char *method;
		enum fl_verb one, all;
	} verbs[] = {
		{ "GET", FL_VERB_GET, FL_VERB_LIST }, { "HEAD", FL_VERB_GET, FL_VERB_LIST },
		{ "POST", FL_VERB_CREATE, FL_VERB_CREATE }, { "PUT", FL_VERB_UPDATE, FL_VERB_UPDATE },
		{ "PATCH", FL_VERB_PATCH, FL_VERB_PATCH }, { "DELETE", FL_VERB_DELETE, FL_VERB_DELETE_ALL },
	};

	for (size_t i = 0; i < FL_LEN(verbs); i++) {
		if (fl_str_eq(method, fl_str(verbs[i].method)))
			return one ? verbs[i].one : verbs[i].all;
	}
	return FL_VERB_COUNT_;
}

/* A kind of Kubernetes itself has a path for each verb; a custom one has one path, and looks at the verb then. */
static int check_verb(struct fl_api_call *call)
{
	bool one = call->name.len > 0, custom = !call->resource->builtin;
	bool everywhere = !call->resource->cluster && !call->space_name.len;

	if (call->sub.len)
		return call->verb == FL_VERB_DELETE || call->verb == FL_VERB_CREATE
			       ? refuse_method(call, fl_name(&fl_verb_names, (int)call->verb))
			       : 0;
	if (custom && everywhere && (call->verb == FL_VERB_CREATE || call->verb == FL_VERB_DELETE_ALL))
		return fl_refuse(call, &(struct fl_refusal){ .code = 404 }, "404 page not found");
	if (custom && !one && (call->verb == FL_VERB_UPDATE || call->verb == FL_VERB_PATCH))
		return fl_refuse_bad(call, "name must be provided");
	if (custom)
		return 0;
	if ((call->verb == FL_VERB_DELETE_ALL && (everywhere || fl_str_eq(call->resource->key, FL_S("namespaces")))) ||
	    (call->verb == FL_VERB_CREATE && (one || everywhere)) ||
	    ((call->verb == FL_VERB_UPDATE || call->verb == FL_VERB_PATCH) && !one))
		return refuse_method(call, "");
	return 0;
}

static int set_verb(struct fl_api_call *call)
{
	enum fl_verb verb = verb_of(call->ask.method, call->name.len > 0);

	if (call->verb == FL_VERB_WATCH)
		return fl_str_eq(call->ask.method, FL_S("GET")) && !call->sub.len ? 0 : refuse_method(call, "");
	if (verb == FL_VERB_COUNT_)
		return refuse_method(call, "");
	call->verb = verb;
	return check_verb(call);
}

static bool has_sub(const struct fl_api_call *call)
{
	struct fl_str sub = call->sub;

	if (fl_str_eq(sub, FL_S("status")))
		return call->served->status;
	if (fl_str_eq(sub, FL_S("scale")))
		return call->served->scale;
	if (!call->resource->builtin)
		return false;
	if (fl_str_eq(sub, FL_S("finalize")))
		return fl_str_eq(call->resource->key, FL_S("namespaces"));
	return false;
}

/* The parts behind the version: [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]. How many there are. */
static uint32_t take_parts(struct fl_api_call *call, struct fl_str *parts, uint32_t count, struct fl_str group)
{
	uint32_t at = 0;

	if (count > 1 && fl_str_eq(parts[0], FL_S("watch"))) {   /* the old path of a watch */
		call->verb = FL_VERB_WATCH;
		at++;
	}
	/* .../namespaces/NS/RESOURCE, but not .../namespaces/NAME/status */
	if (count > at + 2 && fl_str_eq(parts[at], FL_S("namespaces")) &&
	    (group.len || (!fl_str_eq(parts[at + 2], FL_S("status")) && !fl_str_eq(parts[at + 2], FL_S("finalize"))))) {
		call->space_name = parts[at + 1];
		at += 2;
	}
	call->resource = fl_api_resource_find(&call->api->resources, group, parts[at]);
	call->served = call->resource ? fl_served_find(call->resource, call->version) : NULL;
	if (call->served && call->resource->gone)
		call->served = NULL;
	call->name = at + 1 < count ? parts[at + 1] : FL_S("");
	call->sub = at + 2 < count ? parts[at + 2] : FL_S("");
	return count - at;
}

/* Where nothing is. Who serves Kubernetes' own kinds answers with a Status. */
static int refuse_place(struct fl_api_call *call, struct fl_str group)
{
	fl_vec_each (resource, &call->api->resources.list) {
		if ((*resource)->builtin && fl_str_eq((*resource)->group, group) &&
		    fl_served_find(*resource, call->version))
			return refuse_path(call);
	}
	return fl_refuse(call, &(struct fl_refusal){ .code = 404 }, "404 page not found");
}

int fl_api_call_route(struct fl_api_call *call)
{
	struct fl_str parts[PARTS_MAX], group = FL_S("");
	uint32_t count = split_path(call->ask.path, parts), known = count < PARTS_MAX ? count : PARTS_MAX, at = 2;
	bool core = count > 1 && fl_str_eq(parts[0], FL_S("api"));

	if (count < 3 || (!core && (count < 4 || !fl_str_eq(parts[0], FL_S("apis")))))
		return fl_refuse(call, &(struct fl_refusal){ .code = 404 }, "404 page not found");
	for (uint32_t i = 1; i < known; i++) {
		int r = decode(call, &parts[i]);

		if (r < 0)
			return r;
	}
	call->version = parts[1];
	if (!core) {
		group = parts[1];
		call->version = parts[2];
		at = 3;
	}
	count = count - known + take_parts(call, &parts[at], known - at, group);
	if (!call->served || (call->space_name.len && call->resource->cluster) ||
	    (call->name.len && !call->resource->cluster && !call->space_name.len) ||
	    (call->resource->builtin && count > 3))   /* of a custom resource what is behind that does not count */
		return refuse_place(call, group);
	if (call->sub.len && !has_sub(call))
		return call->resource->builtin ? refuse_path(call) : fl_refuse_not_found(call);
	return set_verb(call);
}

/* ---- the query ---- */

/* 1 and the text of a parameter; 0 when there is none. */
static int param(struct fl_api_call *call, const char *name, struct fl_str *ret)
{
	FL_AUTO(fl_buf) struct fl_buf value = FL_BUF(FL_API_BODY_MAX);
	struct fl_err err;
	int r;

	if (!call->ask.query.len)
		return 0;
	r = fl_query_get(call->ask.query, name, &value, &err);
	if (r <= 0)
		return r < 0 ? fl_refuse_as(call, &err) : 0;
	*ret = fl_arena_str(&call->arena, fl_buf_view(&value));
	return ret->p ? 1 : -FL_E_NOMEM;
}

static int param_bool(struct fl_api_call *call, const char *name, bool *ret)
{
	struct fl_str text = { 0 };
	int r = param(call, name, &text);

	if (r <= 0)
		return r;
	*ret = !fl_str_eq(text, FL_S("false")) && !fl_str_eq(text, FL_S("0"));
	return 1;
}

static int param_int(struct fl_api_call *call, const char *name, int64_t *ret)
{
	struct fl_str text = { 0 };
	int r = param(call, name, &text);

	if (r <= 0 || !text.len)
		return r < 0 ? r : 0;
	if (!fl_str_i64(text, ret))
		return fl_refuse_bad(call, "strconv.ParseInt: parsing \"%.*s\": invalid syntax", FL_ARG(text));
	return 1;
}

static int param_name(struct fl_api_call *call, const char *name, const struct fl_names *names, unsigned *ret,
		      struct fl_str *ret_text)
{
	int r = param(call, name, ret_text);

	if (r <= 0)
		return r;
	for (unsigned i = 0; i < names->len; i++) {
		if (fl_str_eq(*ret_text, fl_str(names->at[i]))) {
			*ret = i;
			return 1;
		}
	}
	*ret = UINT32_MAX;
	return 1;
}

static const char *options_kind(const struct fl_api_call *call)
{
	switch (call->verb) {
	case FL_VERB_CREATE:
		return "CreateOptions";
	case FL_VERB_UPDATE:
		return "UpdateOptions";
	case FL_VERB_PATCH:
		return "PatchOptions";
	case FL_VERB_DELETE:
	case FL_VERB_DELETE_ALL:
		return "DeleteOptions";
	case FL_VERB_GET:
	case FL_VERB_LIST:
	case FL_VERB_WATCH:
	case FL_VERB_COUNT_:
		break;
	}
	return "ListOptions";
}

static int read_dry(struct fl_api_call *call)
{
	struct fl_str text = { 0 };
	int r = param(call, "dryRun", &text);

	if (r <= 0)
		return r;
	if (!fl_str_eq(text, FL_S("All")))
		return fl_refuse_options(call, options_kind(call), "dryRun", "FieldValueNotSupported",
					 "Unsupported value: [\"%.*s\"]: supported values: \"All\"", FL_ARG(text));
	call->wish.dry = true;
	return 0;
}

/* As Go quotes it. */
static void quote(struct fl_buf *buf, struct fl_str text)
{
	static const char letters[] = "abtnvfr";   /* of 7 to 13 */

	fl_buf_char(buf, '"');
	for (uint32_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c >= 7 && c <= 13)
			fl_buf_printf(buf, "\\%c", letters[c - 7]);
		else if (c < ' ' || c == 0x7f)
			fl_buf_printf(buf, "\\x%02x", c);
		else if (c == '"' || c == '\\')
			fl_buf_printf(buf, "\\%c", c);
		else
			fl_buf_char(buf, (char)c);
	}
	fl_buf_char(buf, '"');
}

/* A manager's name can be printed. */
static int check_manager(struct fl_api_call *call)
{
	struct fl_str name = call->wish.manager;
	char text[1024];
	struct fl_buf quoted = FL_BUF_IN(text);

	for (uint32_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.p[i];

		if (c >= ' ' && c != 0x7f)
			continue;
		quote(&quoted, name);
		return fl_refuse_options(call, options_kind(call), "fieldManager", "FieldValueInvalid",
					 "Invalid value: %.*s: invalid character U+%04X (at position %u)",
					 FL_ARG(fl_buf_view(&quoted)), c, i);
	}
	return 0;
}

static int read_write(struct fl_api_call *call)
{
	struct fl_str text = { 0 };
	unsigned found = FL_VALIDATION_WARN;
	int r = read_dry(call);

	if (r >= 0)
		r = param(call, "fieldManager", &call->wish.manager);
	if (r >= 0)
		r = param_bool(call, "force", &call->wish.force);
	if (r >= 0)
		r = param_name(call, "fieldValidation", &fl_validation_names, &found, &text);
	if (r < 0)
		return r;
	if (found == UINT32_MAX)
		return fl_refuse_options(call, options_kind(call), "fieldValidation", "FieldValueNotSupported",
					 "Unsupported value: \"%.*s\": supported values: \"\", \"Ignore\", \"Strict\", "
					 "\"Warn\"",
					 FL_ARG(text));
	if (call->wish.manager.len > 128)
		return fl_refuse_options(call, options_kind(call), "fieldManager", "FieldValueTooLong",
					 "Too long: may not be more than 128 bytes");
	call->wish.validation = found;
	return check_manager(call);
}

static int read_spread(struct fl_api_call *call)
{
	struct fl_str text = { 0 };
	unsigned found = FL_SPREAD_DEFAULT;
	bool orphan = false;
	int r = param_name(call, "propagationPolicy", &fl_spread_names, &found, &text);
	int had = r < 0 ? r : param_bool(call, "orphanDependents", &orphan);

	if (had < 0)
		return had;
	if (found == UINT32_MAX)
		return fl_refuse_options(call, "DeleteOptions", "propagationPolicy", "FieldValueNotSupported",
					 "Unsupported value: \"%.*s\": supported values: \"Foreground\", "
					 "\"Background\", "
					 "\"Orphan\", \"nil\"",
					 FL_ARG(text));
	call->wish.spread = had > 0 ? (orphan ? FL_SPREAD_ORPHAN : FL_SPREAD_BACKGROUND) : found;
	return 0;
}

static int read_delete(struct fl_api_call *call)
{
	int r = read_dry(call);

	if (r >= 0)
		r = read_spread(call);
	if (r >= 0)
		r = param_int(call, "gracePeriodSeconds", &call->wish.grace);
	call->wish.grace_set = r > 0;
	return r < 0 ? r : 0;
}

static int refuse_version(struct fl_api_call *call)
{
	bool list = call->verb == FL_VERB_LIST;
	struct fl_refusal refusal = { .code = list ? 400 : 500, .reason = list ? "BadRequest" : NULL };

	return fl_refuse(call, &refusal,
			 "%sresourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": "
			 "invalid syntax",
			 list ? "invalid resource version: " : "", FL_ARG(call->wish.version),
			 FL_ARG(call->wish.version));
}

static int read_version(struct fl_api_call *call)
{
	unsigned match = FL_MATCH_NONE;
	struct fl_str text = FL_S("");
	int r = param(call, "resourceVersion", &call->wish.version);

	if (r >= 0)
		r = param_name(call, "resourceVersionMatch", &fl_match_names, &match, &text);
	if (r < 0)
		return r;
	call->wish.version_set = call->wish.version.len > 0;
	call->wish.match = match;
	if (match == UINT32_MAX)
		return fl_refuse_options(call, "ListOptions", "resourceVersionMatch", "FieldValueNotSupported",
					 "Unsupported value: \"%.*s\": supported values: \"Exact\", "
					 "\"NotOlderThan\", \"\"",
					 FL_ARG(text));
	if (call->wish.version_set && !fl_str_u64(call->wish.version, &call->wish.at_version))
		return refuse_version(call);
	return 0;
}

static int read_list(struct fl_api_call *call)
{
	int64_t limit = 0, timeout = 0;
	bool watch = false;
	int r = call->verb == FL_VERB_LIST ? param_bool(call, "watch", &watch) : 0;

	if (watch)
		call->verb = FL_VERB_WATCH;
	if (r >= 0)
		r = read_version(call);
	if (r >= 0)
		r = param_int(call, "limit", &limit);
	if (r >= 0)
		r = param_int(call, "timeoutSeconds", &timeout);
	if (r >= 0)
		r = param(call, "continue", &call->wish.resume);
	if (r >= 0)
		r = param(call, "labelSelector", &call->wish.labels);
	if (r >= 0)
		r = param(call, "fieldSelector", &call->wish.fields);
	if (r >= 0)
		r = param_bool(call, "allowWatchBookmarks", &call->wish.bookmarks);
	if (r >= 0)
		r = param_bool(call, "sendInitialEvents", &call->wish.initial);
	if (r < 0)
		return r;
	call->wish.initial_set = r > 0;
	call->wish.limit = limit > 0 ? (uint64_t)limit : 0;
	call->wish.grace = timeout > 0 ? timeout : 0;
	return 0;
}

int fl_api_call_wish(struct fl_api_call *call)
{
	int r;

	switch (call->verb) {
	case FL_VERB_GET:
		return read_version(call);
	case FL_VERB_LIST:
	case FL_VERB_WATCH:
		return read_list(call);
	case FL_VERB_CREATE:
	case FL_VERB_UPDATE:
	case FL_VERB_PATCH:
		return read_write(call);
	case FL_VERB_DELETE:
		return read_delete(call);
	case FL_VERB_DELETE_ALL:
		r = read_list(call);
		return r < 0 ? r : read_delete(call);
	case FL_VERB_COUNT_:
		break;
	}
	return 0;
}

/* ---- selectors ---- */

static int refuse_field(struct fl_api_call *call, struct fl_str path)
{
	if (!call->resource->builtin || call->resource->builtin->fields)
		return fl_refuse_bad(call, "field label not supported: %.*s", FL_ARG(path));
	return fl_refuse_bad(call, "\"%.*s\" is not a known field selector: only \"metadata.name\", "
				   "\"metadata.namespace\"",
			     FL_ARG(path));
}

int fl_api_call_filter(struct fl_api_call *call)
{
	struct fl_filter *filter = &call->filter;
	struct fl_err err;

	filter->space = call->space_name;
	if (call->wish.labels.len && fl_selector_parse(&call->arena, call->wish.labels, &filter->labels, &err) < 0)
		return fl_refuse_as(call, &err);
	if (call->wish.fields.len && fl_fields_parse(&call->arena, call->wish.fields, filter, &err) < 0)
		return fl_refuse_as(call, &err);
	for (uint32_t i = 0; i < filter->field_count; i++) {
		if (!fl_api_resource_selectable(call->resource, call->served, filter->fields[i].path))
			return refuse_field(call, filter->fields[i].path);
	}
	if (call->name.len && filter->field_count < FL_FIELD_TERMS)   /* a watch of one object */
		filter->fields[filter->field_count++] = (struct fl_field_term){ FL_S("metadata.name"), call->name,
										false };
	fl_filter_ready(filter);
	return 0;
}
