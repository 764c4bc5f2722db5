#include "base/base64.h"
#include "local/api_in.h"

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define OPENAPI "/openapi/v3"

/* ---- order ---- */

/* A version's place as Kubernetes ranks it: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name. */
static uint64_t rank_of(struct fl_str name)
{
	uint64_t major = 0, minor = 0, stage = 3;
	uint32_t at = 1;

	if (name.len < 2 || name.p[0] != 'v')
		return 0;
	while (at < name.len && name.p[at] >= '0' && name.p[at] <= '9')
		major = major * 10 + (uint64_t)(name.p[at++] - '0');
	if (fl_str_starts(fl_str_sub(name, at, UINT32_MAX), FL_S("beta"))) {
		stage = 2;
		at += 4;
	} else if (fl_str_starts(fl_str_sub(name, at, UINT32_MAX), FL_S("alpha"))) {
		stage = 1;
		at += 5;
	}
	while (at < name.len && name.p[at] >= '0' && name.p[at] <= '9')
		minor = minor * 10 + (uint64_t)(name.p[at++] - '0');
	return at == name.len ? stage << 60 | (major & 0xffff) << 16 | (minor & 0xffff) : 0;
}

#define GROUP_VERSIONS_MAX 64   /* of all kinds of one group together */

/* The served versions of a group, the preferred one first. */
static uint32_t versions_of(const struct fl_api *api, struct fl_str group, struct fl_str at[GROUP_VERSIONS_MAX])
{
	uint32_t count = 0;

	fl_vec_each (resource, &api->resources.list) {
		for (uint32_t i = 0; i < (*resource)->version_count; i++) {
			const struct fl_served *served = &(*resource)->versions[i];
			uint32_t place = 0;

			if ((*resource)->gone || !served->served || !fl_str_eq((*resource)->group, group) ||
			    fl_str_in(at, count, served->name) || count == GROUP_VERSIONS_MAX)
				continue;
			while (place < count && rank_of(at[place]) >= rank_of(served->name))
				place++;
			memmove(&at[place + 1], &at[place], (count - place) * sizeof *at);
			at[place] = served->name;
			count++;
		}
	}
	return count;
}

/* The groups in the order in which they came; "" is left out. */
static bool first_of_group(const struct fl_api *api, uint32_t index)
{
	const struct fl_api_resource *resource = api->resources.list.at[index];

	for (uint32_t i = 0; i < index; i++) {
		if (!api->resources.list.at[i]->gone && fl_str_eq(api->resources.list.at[i]->group, resource->group))
			return false;
	}
	return !resource->gone;
}

/* ---- pieces ---- */

static void put_type(struct fl_jw *w, const char *kind, const char *version)
{
	fl_jw_put(w, "kind", str, fl_str(kind));
	fl_jw_put(w, "apiVersion", str, fl_str(version));
}

static void put_texts(struct fl_jw *w, const char *key, const struct fl_str *at, uint32_t len)
{
	if (!len)
		return;
	fl_jw_key(w, fl_str(key));
	fl_jw_arr(w);
	for (uint32_t i = 0; i < len; i++)
		fl_jw_str(w, at[i]);
	fl_jw_end_arr(w);
}

/* In the order of the API server, which is another one for kinds of CRDs. */
static void put_verbs(struct fl_jw *w, const struct fl_api_resource *resource, bool sub)
{
	static const struct fl_str all[] = {
		FL_S_INIT("create"), FL_S_INIT("delete"), FL_S_INIT("deletecollection"), FL_S_INIT("get"),
		FL_S_INIT("list"), FL_S_INIT("patch"), FL_S_INIT("update"), FL_S_INIT("watch"),
	};
	static const struct fl_str custom[] = {
		FL_S_INIT("delete"), FL_S_INIT("deletecollection"), FL_S_INIT("get"), FL_S_INIT("list"),
		FL_S_INIT("patch"), FL_S_INIT("create"), FL_S_INIT("update"), FL_S_INIT("watch"),
	};
	static const struct fl_str some[] = { FL_S_INIT("get"), FL_S_INIT("patch"), FL_S_INIT("update") };

	put_texts(w, "verbs", sub ? some : resource->builtin ? all : custom, sub ? FL_LEN(some) : FL_LEN(all));
}

/* Clients see by it whether objects are stored in another version than before; its bytes mean nothing else. */
static void put_storage_hash(struct fl_jw *w, const struct fl_api_resource *resource)
{
	static const uint64_t seed[2] = { 0 };
	char text[600], hash[16];
	struct fl_buf stored = FL_BUF_IN(text), base64 = FL_BUF_IN(hash);
	uint64_t sum;

	fl_buf_printf(&stored, "%.*s/%.*s/%.*s", FL_ARG(resource->group), FL_ARG(fl_served_stored(resource)->name),
		      FL_ARG(resource->kind));
	sum = fl_siphash13(seed, text, stored.len);
	fl_base64_put(&base64, FL_BASE64_STD, &sum, sizeof sum);
	fl_jw_put(w, "storageVersionHash", str, fl_buf_view(&base64));
}

static void put_kind(struct fl_jw *w, struct fl_str group, struct fl_str version, struct fl_str kind)
{
	fl_jw_obj(w);
	fl_jw_put(w, "group", str, group);
	fl_jw_put(w, "version", str, version);
	fl_jw_put(w, "kind", str, kind);
	fl_jw_end_obj(w);
}

/* ---- one group version, as APIResourceList ---- */

static void put_resource(struct fl_jw *w, const struct fl_api_resource *resource, const char *sub)
{
	fl_jw_obj(w);
	fl_jw_key(w, FL_S("name"));
	fl_buf_printf(w->buf, "\"%.*s%s%s\"", FL_ARG(resource->plural), sub ? "/" : "", sub ? sub : "");
	w->comma = true;
	fl_jw_put(w, "singularName", str, sub ? FL_S("") : resource->singular);
	fl_jw_put(w, "namespaced", bool, !resource->cluster);
	if (sub && strcmp(sub, "scale") == 0) {
		fl_jw_put(w, "group", str, FL_S("autoscaling"));
		fl_jw_put(w, "version", str, FL_S("v1"));
		fl_jw_put(w, "kind", str, FL_S("Scale"));
	} else {
		fl_jw_put(w, "kind", str, resource->kind);
	}
	put_verbs(w, resource, sub != NULL);
	if (!sub) {
		put_texts(w, "shortNames", resource->shorts, resource->short_count);
		put_texts(w, "categories", resource->categories, resource->category_count);
		put_storage_hash(w, resource);
	}
	fl_jw_end_obj(w);
}

static void put_resources(struct fl_jw *w, const struct fl_api *api, struct fl_str group, struct fl_str version)
{
	fl_jw_obj(w);
	put_type(w, "APIResourceList", "v1");
	fl_jw_key(w, FL_S("groupVersion"));
	fl_buf_printf(w->buf, "\"%.*s%s%.*s\"", FL_ARG(group), group.len ? "/" : "", FL_ARG(version));
	w->comma = true;
	fl_jw_key(w, FL_S("resources"));
	fl_jw_arr(w);
	fl_vec_each (resource, &api->resources.list) {
		const struct fl_served *served = fl_served_find(*resource, version);

		if ((*resource)->gone || !served || !fl_str_eq((*resource)->group, group))
			continue;
		put_resource(w, *resource, NULL);
		if (served->status)
			put_resource(w, *resource, "status");
		if (served->scale)
			put_resource(w, *resource, "scale");
	}
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
}

/* ---- groups ---- */

static void put_version(struct fl_jw *w, struct fl_str group, struct fl_str version)
{
	fl_jw_obj(w);
	fl_jw_key(w, FL_S("groupVersion"));
	fl_buf_printf(w->buf, "\"%.*s/%.*s\"", FL_ARG(group), FL_ARG(version));
	w->comma = true;
	fl_jw_put(w, "version", str, version);
	fl_jw_end_obj(w);
}

static void put_group(struct fl_jw *w, const struct fl_api *api, struct fl_str group, bool alone)
{
	struct fl_str versions[GROUP_VERSIONS_MAX];
	uint32_t count = versions_of(api, group, versions);

	fl_jw_obj(w);
	if (alone)
		put_type(w, "APIGroup", "v1");
	fl_jw_put(w, "name", str, group);
	fl_jw_key(w, FL_S("versions"));
	fl_jw_arr(w);
	for (uint32_t i = 0; i < count; i++)
		put_version(w, group, versions[i]);
	fl_jw_end_arr(w);
	if (count) {
		fl_jw_key(w, FL_S("preferredVersion"));
		put_version(w, group, versions[0]);
	}
	fl_jw_end_obj(w);
}

static void put_groups(struct fl_jw *w, const struct fl_api *api)
{
	fl_jw_obj(w);
	put_type(w, "APIGroupList", "v1");
	fl_jw_key(w, FL_S("groups"));
	fl_jw_arr(w);
	for (uint32_t i = 0; i < api->resources.list.len; i++) {
		if (api->resources.list.at[i]->group.len && first_of_group(api, i))
			put_group(w, api, api->resources.list.at[i]->group, false);
	}
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
}

static void put_core(struct fl_jw *w)
{
	fl_jw_obj(w);
	fl_jw_put(w, "kind", str, FL_S("APIVersions"));
	fl_jw_key(w, FL_S("versions"));
	fl_jw_raw(w, FL_S("[\"v1\"]"));
	fl_jw_key(w, FL_S("serverAddressByClientCIDRs"));
	fl_jw_raw(w, FL_S("[]"));
	fl_jw_end_obj(w);
}

/* ---- everything at once ---- */

static void put_sub(struct fl_jw *w, const struct fl_api_resource *resource, struct fl_str version, const char *name)
{
	bool scale = strcmp(name, "scale") == 0;

	fl_jw_obj(w);
	fl_jw_put(w, "subresource", str, fl_str(name));
	fl_jw_key(w, FL_S("responseKind"));
	put_kind(w, scale ? FL_S("autoscaling") : resource->group, scale ? FL_S("v1") : version,
		 scale ? FL_S("Scale") : resource->kind);
	put_verbs(w, resource, true);
	fl_jw_end_obj(w);
}

static void put_whole(struct fl_jw *w, const struct fl_api_resource *resource, const struct fl_served *served)
{
	fl_jw_obj(w);
	fl_jw_put(w, "resource", str, resource->plural);
	fl_jw_key(w, FL_S("responseKind"));
	put_kind(w, resource->group, served->name, resource->kind);
	fl_jw_put(w, "scope", str, resource->cluster ? FL_S("Cluster") : FL_S("Namespaced"));
	fl_jw_put(w, "singularResource", str, resource->singular);
	put_verbs(w, resource, false);
	put_texts(w, "shortNames", resource->shorts, resource->short_count);
	put_texts(w, "categories", resource->categories, resource->category_count);
	if (served->status || served->scale) {
		fl_jw_key(w, FL_S("subresources"));
		fl_jw_arr(w);
		if (served->status)
			put_sub(w, resource, served->name, "status");
		if (served->scale)
			put_sub(w, resource, served->name, "scale");
		fl_jw_end_arr(w);
	}
	fl_jw_end_obj(w);
}

static void put_group_whole(struct fl_jw *w, const struct fl_api *api, struct fl_str group)
{
	struct fl_str versions[GROUP_VERSIONS_MAX];
	uint32_t count = versions_of(api, group, versions);

	fl_jw_obj(w);
	fl_jw_key(w, FL_S("metadata"));
	fl_jw_obj(w);
	if (group.len)
		fl_jw_put(w, "name", str, group);
	fl_jw_put(w, "creationTimestamp", null);
	fl_jw_end_obj(w);
	fl_jw_key(w, FL_S("versions"));
	fl_jw_arr(w);
	for (uint32_t i = 0; i < count; i++) {
		fl_jw_obj(w);
		fl_jw_put(w, "version", str, versions[i]);
		fl_jw_key(w, FL_S("resources"));
		fl_jw_arr(w);
		fl_vec_each (resource, &api->resources.list) {
			const struct fl_served *served = fl_served_find(*resource, versions[i]);

			if (served && !(*resource)->gone && fl_str_eq((*resource)->group, group))
				put_whole(w, *resource, served);
		}
		fl_jw_end_arr(w);
		fl_jw_put(w, "freshness", str, FL_S("Current"));
		fl_jw_end_obj(w);
	}
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
}

static void put_everything(struct fl_jw *w, const struct fl_api *api, bool core)
{
	fl_jw_obj(w);
	put_type(w, "APIGroupDiscoveryList", "apidiscovery.k8s.io/v2");
	fl_jw_key(w, FL_S("metadata"));
	fl_jw_obj(w);
	fl_jw_end_obj(w);
	fl_jw_key(w, FL_S("items"));
	fl_jw_arr(w);
	for (uint32_t i = 0; i < api->resources.list.len; i++) {
		struct fl_str group = api->resources.list.at[i]->group;

		if (core == !group.len && first_of_group(api, i))
			put_group_whole(w, api, group);
	}
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
}

/* ---- OpenAPI v3, as far as kubectl looks: which kinds there are, and that a patch knows fieldValidation ---- */

static void put_openapi_index(struct fl_jw *w, const struct fl_api *api)
{
	fl_jw_obj(w);
	fl_jw_key(w, FL_S("paths"));
	fl_jw_obj(w);
	for (uint32_t i = 0; i < api->resources.list.len; i++) {
		struct fl_str versions[GROUP_VERSIONS_MAX], group = api->resources.list.at[i]->group;
		uint32_t count = first_of_group(api, i) ? versions_of(api, group, versions) : 0;

		for (uint32_t j = 0; j < count; j++) {
			char text[400];
			struct fl_buf path = FL_BUF_IN(text);

			fl_buf_printf(&path, "%s%.*s%s%.*s", group.len ? "apis/" : "api", FL_ARG(group), "/",
				      FL_ARG(versions[j]));
			fl_jw_key(w, fl_buf_view(&path));
			fl_jw_obj(w);
			fl_jw_key(w, FL_S("serverRelativeURL"));
			fl_buf_printf(w->buf, "\"" OPENAPI "/%s?hash=%u\"", text, api->discovery);
			w->comma = true;
			fl_jw_end_obj(w);
		}
	}
	fl_jw_end_obj(w);
	fl_jw_end_obj(w);
}

static void put_openapi_path(struct fl_jw *w, const struct fl_api_resource *resource, struct fl_str version)
{
	char text[600];
	struct fl_buf path = FL_BUF_IN(text);

	fl_buf_printf(&path, "/%s%.*s/%.*s/%s%.*s/{name}", resource->group.len ? "apis/" : "api",
			FL_ARG(resource->group),
		      FL_ARG(version), resource->cluster ? "" : "namespaces/{namespace}/", FL_ARG(resource->plural));
	fl_jw_key(w, fl_buf_view(&path));
	fl_jw_obj(w);
	fl_jw_key(w, FL_S("patch"));
	fl_jw_obj(w);
	fl_jw_key(w, FL_S("parameters"));
	fl_jw_raw(w, FL_S("[{\"name\":\"dryRun\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}},"
			  "{\"name\":\"fieldValidation\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}]"));
	fl_jw_key(w, FL_S("x-kubernetes-group-version-kind"));
	put_kind(w, resource->group, version, resource->kind);
	fl_jw_end_obj(w);
	fl_jw_end_obj(w);
}

static void put_openapi(struct fl_jw *w, const struct fl_api *api, struct fl_str group, struct fl_str version)
{
	fl_jw_obj(w);
	fl_jw_put(w, "openapi", str, FL_S("3.0.0"));
	fl_jw_key(w, FL_S("info"));
	fl_jw_raw(w, FL_S("{\"title\":\"Kubernetes\",\"version\":\"v1.34.0\"}"));
	fl_jw_key(w, FL_S("paths"));
	fl_jw_obj(w);
	fl_vec_each (resource, &api->resources.list) {
		if (!(*resource)->gone && fl_str_eq((*resource)->group, group) && fl_served_find(*resource, version))
			put_openapi_path(w, *resource, version);
	}
	fl_jw_end_obj(w);
	fl_jw_key(w, FL_S("components"));
	fl_jw_raw(w, FL_S("{\"schemas\":{}}"));
	fl_jw_end_obj(w);
}

/* ---- the paths ---- */

static int answer_plain(struct fl_api_call *call, const char *text)
{
	call->status = 200;
	call->outcome = FL_OUTCOME_ANSWER;
	call->headers[call->header_count++] = (struct fl_header){ FL_S("content-type"),
			FL_S("text/plain; charset=utf-8") };
	fl_buf_str(&call->body, fl_str(text));
	return call->body.failed ? -FL_E_NOMEM : 0;
}

static int done(struct fl_api_call *call)
{
	fl_buf_char(&call->body, '\n');
	return call->body.failed ? -FL_E_NOMEM : 0;
}

static bool wants_all(const struct fl_api_call *call)
{
	struct fl_str rest = call->ask.accept, one;

	while (rest.len && fl_str_split(&rest, ',', &one)) {   /* the first one that is JSON */
		one = fl_str_trim(one);
		if (fl_str_starts(one, FL_S(AGGREGATED)))
			return true;
		if (fl_str_eq(one, FL_S("application/json")))
			return false;
	}
	return false;
}

static int answer_root(struct fl_api_call *call, struct fl_jw *w, bool core)
{
	(void)fl_answer_begin(call);
	if (wants_all(call)) {
		call->headers[0].value = FL_S(AGGREGATED);
		put_everything(w, call->api, core);
	} else if (core) {
		put_core(w);
	} else {
		put_groups(w, call->api);
	}
	return done(call);
}

static int answer_version(struct fl_api_call *call, struct fl_jw *w)
{
	(void)fl_answer_begin(call);
	fl_jw_obj(w);
	fl_jw_put(w, "major", str, FL_S("1"));
	fl_jw_put(w, "minor", str, FL_S("36"));
	fl_jw_put(w, "gitVersion", str, FL_S("v1.36.0+fairlead-" FL_VERSION));
	fl_jw_put(w, "platform", str, FL_S("linux/amd64"));
	fl_jw_end_obj(w);
	return done(call);
}

/* "api/v1", "apis/GROUP/VERSION", "apis/GROUP": false when it is none of these. */
static bool split_group(struct fl_str path, struct fl_str *ret_group, struct fl_str *ret_version)
{
	struct fl_str first, part;

	*ret_group = *ret_version = FL_S("");
	if (fl_str_ends(path, FL_S("/")))
		path.len--;
	if (!fl_str_split(&path, '/', &first))
		return false;
	if (fl_str_eq(first, FL_S("apis")) && !fl_str_split(&path, '/', ret_group))
		return false;
	if (!fl_str_eq(first, FL_S("apis")) && !fl_str_eq(first, FL_S("api")))
		return false;
	return !path.p || (fl_str_split(&path, '/', ret_version) && !fl_str_split(&path, '/', &part));
}

static int answer_group(struct fl_api_call *call, struct fl_jw *w, bool openapi, struct fl_str group,
			struct fl_str version,
			bool *ret_mine)
{
	struct fl_str versions[GROUP_VERSIONS_MAX];

	if (version.len ? !fl_api_knows(call->api, group, version) : !versions_of(call->api, group, versions))
		return 0;
	*ret_mine = true;
	(void)fl_answer_begin(call);
	if (openapi)
		put_openapi(w, call->api, group, version);
	else if (version.len)
		put_resources(w, call->api, group, version);
	else
		put_group(w, call->api, group, true);
	return done(call);
}

int fl_api_call_discovery(struct fl_api_call *call, bool *ret_mine)
{
	struct fl_str path = call->ask.path, group, version;
	struct fl_jw w = FL_JW(&call->body);
	bool openapi = fl_str_starts(path, FL_S(OPENAPI "/"));

	*ret_mine = true;
	if (fl_str_eq(path, FL_S("/healthz")) || fl_str_eq(path, FL_S("/readyz")) || fl_str_eq(path, FL_S("/livez")))
		return answer_plain(call, "ok");
	if (fl_str_eq(path, FL_S("/version")) || fl_str_eq(path, FL_S("/version/")))
		return answer_version(call, &w);
	if (fl_str_eq(path, FL_S("/api")) || fl_str_eq(path, FL_S("/apis")) || fl_str_eq(path, FL_S("/api/")) ||
	    fl_str_eq(path, FL_S("/apis/")))
		return answer_root(call, &w, path.p[path.len - 1] == 'i' || (path.len == 5 && path.p[4] == '/'));
	if (fl_str_eq(path, FL_S(OPENAPI))) {
		(void)fl_answer_begin(call);
		put_openapi_index(&w, call->api);
		return done(call);
	}
	*ret_mine = false;
	if (!split_group(fl_str_sub(path, openapi ? sizeof OPENAPI : 1, path.len), &group, &version))
		return 0;
	return answer_group(call, &w, openapi, group, version, ret_mine);
}
