/* Webhooks of the API server as a function: which are asked, in which order, and what their answers do. */
#include "base/base64.h"
#include "local/api.h"
#include "test.h"

#define NOW 1700000000000000
#define MUTATING "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define VALIDATING "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define MAP(name, more) "{\"metadata\":{\"name\":\"" name "\"" more "}}"
#define HOOK(name, path, more) \
	"{\"name\":\"" name ".demo.io\",\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\",\"rules\":" \
	"[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":[\"configmaps\"]}]," \
	"\"clientConfig\":{\"url\":\"https://hook:9443/" path "\"}" more "}"
#define SERVED(service) "{\"name\":\"a.demo.io\",\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\"," \
	"\"rules\":[{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"operations\":[\"CREATE\"]," \
	"\"resources\":[\"*\"]}],\"clientConfig\":{\"service\":{\"namespace\":\"n\"," \
	"\"name\":\"" service "\",\"path\":\"deny\"}}}"
#define CONFIG(name, hooks) "{\"metadata\":{\"name\":\"" name "\"},\"webhooks\":[" hooks "]}"
#define MERGE "application/merge-patch+json"
#define APPLY "application/apply-patch+yaml"

enum { STEPS = 7 };

struct step {
	int status;
	const char *method, *path, *body, *holds, *type;
	const char *asked;                  /* the paths that were asked, in order: "a b"; NULL: any */
	/* Another request, while the webhooks of this one are asked: once. */
	const char *other, *other_path, *other_body;
};

struct row {
	const char *says;
	struct step steps[STEPS];
};

static const struct row rows[] = {
	{ "a webhook that refuses keeps the object out",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "deny", "")) },
	    { 403, "POST", MAPS, MAP("m", ""), "admission webhook \\\"a.demo.io\\\" denied the request: no",
	      .asked = "deny" },
	    { 404, "GET", MAPS "/m" } } },
	{ "a webhook that agrees lets it pass, with its warning",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "warn", "")) },
	    { 201, "POST", MAPS, MAP("m", ""), "mind the gap", .asked = "warn" } } },
	{ "all that validate are asked at once, and the first refusal counts",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "") "," HOOK("b", "deny", "")) },
	    { 201, "POST", VALIDATING, CONFIG("b", HOOK("c", "deny", "")) },
	    { 403, "POST", MAPS, MAP("m", ""), "b.demo.io", .asked = "allow deny deny" } } },
	{ "a webhook changes the object, and what is the server's stays",
	  { { 201, "POST", MUTATING, CONFIG("a", HOOK("a", "uid", "") "," HOOK("b", "label", "")) },
	    { 201, "POST", MAPS, MAP("m", ""), "\"labels\":{\"x\":\"1\"}", .asked = "uid label" },
	    { 200, "GET", MAPS "/m", NULL, "!stolen" } } },
	{ "one that wishes it is asked again after a change",
	  { { 201, "POST", MUTATING, CONFIG("a", HOOK("a", "allow", ",\"reinvocationPolicy\":\"IfNeeded\"") ","
						 HOOK("b", "label", "")) },
	    { 201, "POST", MAPS, MAP("m", ""), NULL, .asked = "allow label allow" },
	    { 201, "POST", MAPS, MAP("n", ",\"labels\":{\"x\":\"1\"}"), NULL, .asked = "allow label" } } },
	{ "one that changes comes before one that validates",
	  { { 201, "POST", MUTATING, CONFIG("a", HOOK("a", "label", "")) },
	    { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 201, "POST", MAPS, MAP("m", ""), NULL, .asked = "label allow" } } },
	{ "an apply and a patch are asked about as well",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 201, "PATCH", MAPS "/m?fieldManager=t", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
	      "\"metadata\":{\"name\":\"m\"}}", NULL, APPLY, "allow" },
	    { 200, "PATCH", MAPS "/m", "{\"data\":{\"a\":\"b\"}}", NULL, MERGE, "allow" },
	    { 200, "PUT", MAPS "/m", MAP("m", ""), NULL, .asked = "allow" },
	    { 200, "DELETE", MAPS "/m", NULL, NULL, .asked = "allow" } } },
	{ "nobody is asked about reading, and about configurations of webhooks",
	  { { 201, "POST", VALIDATING, CONFIG("a", "{\"name\":\"a.demo.io\",\"admissionReviewVersions\":[\"v1\"],"
	      "\"sideEffects\":\"None\",\"rules\":[{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],"
	      "\"operations\":[\"*\"],\"resources\":[\"*/*\"]}],\"clientConfig\":{\"url\":\"https://hook/deny\"}}") },
	    { 200, "GET", MAPS, NULL, NULL, .asked = "" }, { 403, "POST", MAPS, MAP("m", ""), NULL, .asked = "deny" },
	    { 200, "DELETE", VALIDATING "/a", NULL, NULL, .asked = "" },
	    { 201, "POST", MAPS, MAP("m", ""), NULL, .asked = "" } } },
	{ "a namespace's labels, and those of the object before and after, select",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "deny", ",\"namespaceSelector\":{\"matchLabels\":"
	      "{\"kubernetes.io/metadata.name\":\"other\"}}")) },
	    { 201, "POST", VALIDATING, CONFIG("b", HOOK("b", "deny", ",\"objectSelector\":{\"matchExpressions\":"
	      "[{\"key\":\"x\",\"operator\":\"Exists\"}]}")) },
	    { 201, "POST", MAPS, MAP("m", ""), NULL, .asked = "" },
	    { 403, "POST", MAPS, MAP("n", ",\"labels\":{\"x\":\"1\"}"), "b.demo.io", .asked = "deny" } } },
	{ "one that cannot be asked refuses, unless it may fail",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "down", "")) },
	    { 500, "POST", MAPS, MAP("m", ""), "Post \\\"https://hook:9443/down?timeout=10s\\\": no way there" },
	    { 200, "PATCH", VALIDATING "/a", "[{\"op\":\"replace\",\"path\":\"/webhooks/0/failurePolicy\",\"value\":"
	      "\"Ignore\"}]", NULL, "application/json-patch+json" },
	    { 201, "POST", MAPS, MAP("m", "") } } },
	{ "an answer that is none is told",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "text", "")) },
	    { 500, "POST", MAPS, MAP("m", ""), "the answer cannot be read" },
	    { 201, "POST", MUTATING, CONFIG("a", HOOK("a", "half", "")) },
	    { 500, "POST", MAPS, MAP("m", ""), "response.patch but not response.patchType" } } },
	{ "a deletion cannot be changed",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", MUTATING, CONFIG("a", HOOK("a", "label", "")) },
	    { 500, "DELETE", MAPS "/m", NULL, "which is not supported for this operation" },
	    { 200, "GET", MAPS "/m" } } },
	{ "a collection is deleted one by one, until one is refused",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", MAPS, MAP("n", ",\"labels\":{\"x\":\"1\"}") },
	    { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "warn", "") "," HOOK("b", "deny",
	      ",\"objectSelector\":{\"matchLabels\":{\"x\":\"1\"}}")) },
	    { 403, "DELETE", MAPS, NULL, "b.demo.io", .asked = "warn warn deny" },
	    { 404, "GET", MAPS "/m" }, { 200, "GET", MAPS "/n" } } },
	{ "a collection is deleted when all agree",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", MAPS, MAP("n", "") },
	    { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 200, "DELETE", MAPS, NULL, "ConfigMapList", .asked = "allow allow" }, { 404, "GET", MAPS "/n" } } },
	{ "a patch of what has changed meanwhile begins anew",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 200, "PATCH", MAPS "/m", "{\"data\":{\"a\":\"b\"}}", "\"c\":\"d\"", MERGE, "allow allow", "PATCH",
	      MAPS "/m", "{\"data\":{\"c\":\"d\"}}" } } },
	{ "an update of what has changed meanwhile is a conflict where it names a version",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 409, "PUT", MAPS "/m", MAP("m", ",\"resourceVersion\":\"6\""), "has been modified", .other = "PATCH",
	      .other_path = MAPS "/m", .other_body = "{\"data\":{\"c\":\"d\"}}" } } },
	{ "what was made meanwhile exists already",
	  { { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 409, "POST", MAPS, MAP("m", ""), "already exists", .other = "POST", .other_path = MAPS,
	      .other_body = MAP("m", "") } } },
	{ "what is gone meanwhile is not there",
	  { { 201, "POST", MAPS, MAP("m", "") }, { 201, "POST", VALIDATING, CONFIG("a", HOOK("a", "allow", "")) },
	    { 404, "PATCH", MAPS "/m", "{\"data\":{\"a\":\"b\"}}", NULL, MERGE, NULL, "DELETE", MAPS "/m" } } },
	{ "an unknown service is not there",
	  { { 201, "POST", VALIDATING, CONFIG("a", SERVED("unknown")) },
	    { 500, "POST", MAPS, MAP("m", ""), "Post \\\"https://unknown.n.svc:443/deny?timeout=10s\\\": service "
	      "\\\"unknown\\\" not found", .asked = "" } } },
	{ "a service is asked where it is, under its name",
	  { { 201, "POST", VALIDATING, CONFIG("a", SERVED("known")) },
	    { 403, "POST", MAPS, MAP("m", ""), NULL, .asked = "known.n.svc@10.0.0.9:443" } } },
	{ "a configuration that is none is refused with all that is wrong",
	  { { 422, "POST", VALIDATING, CONFIG("a", "{\"name\":\"a\",\"sideEffects\":\"Some\",\"clientConfig\":{}}"),
	      "at least three segments" },
	    { 422, "POST", VALIDATING, CONFIG("a", HOOK("a", "deny?x", "")), "query parameters are not permitted" },
	    { 422, "POST", VALIDATING, CONFIG("a", HOOK("a", "a", ",\"matchConditions\":[{\"name\":\"a\"}]")),
	      "evaluates no CEL" },
	    { 422, "POST", VALIDATING, CONFIG("a", "{\"name\":\"a.b.c\",\"sideEffects\":\"None\",\"rules\":[{}],"
	      "\"clientConfig\":{\"service\":{\"port\":0}}}"), "service namespace is required" } } },
};

struct rig {
	struct fl_api *api;
	struct fl_buf text, asked;
	int status;
};

static void rig_auto_(struct rig *rig)
{
	fl_api_free(rig->api);
	fl_buf_free(&rig->text);
	fl_buf_free(&rig->asked);
}

static bool find_service(void *arg, struct fl_str space, struct fl_str name, uint16_t port, struct fl_addr *ret)
{
	(void)arg;
	return fl_str_eq(space, FL_S("n")) && fl_str_eq(name, FL_S("known")) &&
	       fl_addr_parse_ip(ret, FL_S("10.0.0.9"), port, NULL) == 0;
}

static int rig_open(struct rig *rig)
{
	static const struct fl_api_options options = { .seed = { 1, 2 }, .service = find_service };

	*rig = (struct rig){ .text = FL_BUF(FL_MIB), .asked = FL_BUF(FL_KIB) };
	rig->api = fl_api_new(&options, NOW, NULL);
	return rig->api ? 0 : -FL_E_NOMEM;
}

/* ---- the webhooks ---- */

#define LABEL "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"x\":\"1\"}}]"
#define STEAL "[{\"op\":\"replace\",\"path\":\"/metadata/uid\",\"value\":\"stolen\"}]"

static void put_patch(struct fl_buf *out, const char *patch)
{
	fl_buf_str(out, FL_S(",\"patch\":\""));
	fl_base64_put(out, FL_BASE64_STD, patch, strlen(patch));
	fl_buf_char(out, '"');
}

static int answer(struct fl_api_call *call, uint32_t index, struct fl_str path, struct fl_str body)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);
	const char *uid = strstr(body.p, "\"uid\":\"");

	if (fl_str_eq(path, FL_S("down"))) {
		fl_api_call_hooked(call, index, 0, FL_S("no way there"));
		return 0;
	}
	fl_buf_printf(&out, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{"
			    "\"uid\":\"%.36s\",\"allowed\":%s",
		      uid + 7, fl_str_eq(path, FL_S("deny")) ? "false" : "true");
	if (fl_str_eq(path, FL_S("deny")))
		fl_buf_str(&out, FL_S(",\"status\":{\"code\":403,\"message\":\"no\"}"));
	if (fl_str_eq(path, FL_S("warn")))
		fl_buf_str(&out, FL_S(",\"warnings\":[\"mind the gap\"]"));
	if (fl_str_eq(path, FL_S("label")) || fl_str_eq(path, FL_S("uid"))) {
		fl_buf_str(&out, FL_S(",\"patchType\":\"JSONPatch\""));
		put_patch(&out, fl_str_eq(path, FL_S("uid")) ? STEAL : LABEL);
	}
	if (fl_str_eq(path, FL_S("half")))
		put_patch(&out, LABEL);
	fl_buf_str(&out, FL_S("}}"));
	if (fl_str_eq(path, FL_S("text"))) {
		fl_buf_clear(&out);
		fl_buf_str(&out, FL_S("hello"));
	}
	fl_api_call_hooked(call, index, 200, fl_buf_view(&out));
	return fl_buf_check(&out, "an answer", NULL);
}

/* In the opposite order: any must do. */
static int answer_all(struct rig *rig, struct fl_api_call *call)
{
	uint32_t count = fl_api_call_hooks(call);

	for (uint32_t i = 0; i < count; i++) {
		const struct fl_api_hook *hook = fl_api_call_hook(call, i);
		struct fl_str rest = hook ? hook->target : FL_S(""), path = FL_S("");

		(void)fl_str_split(&rest, '?', &path);
		if (hook && hook->server.len)
			fl_buf_printf(&rig->asked, "%s%.*s@%.*s", rig->asked.len ? " " : "", FL_ARG(hook->server),
				      FL_ARG(fl_str_sub(hook->origin, 8, hook->origin.len)));
		else if (hook)
			fl_buf_printf(&rig->asked, "%s%.*s", rig->asked.len ? " " : "",
				      FL_ARG(fl_str_sub(path, 1, path.len)));
	}
	for (uint32_t i = count; i-- > 0;) {
		const struct fl_api_hook *hook = fl_api_call_hook(call, i);
		struct fl_str rest = hook ? hook->target : FL_S(""), path = FL_S("");

		(void)fl_str_split(&rest, '?', &path);
		if (hook && answer(call, i, fl_str_sub(path, 1, path.len), hook->body) < 0)
			return -FL_E_NOMEM;
	}
	return fl_buf_check(&rig->asked, "the asked", NULL);
}

/* ---- requests ---- */

static struct fl_ask make_ask(const char *method, const char *path, const char *body, const char *type)
{
	struct fl_str rest = fl_str(path), place = FL_S("");

	(void)fl_str_split(&rest, '?', &place);
	return (struct fl_ask){ .method = fl_str(method), .now = NOW, .path = place, .query = rest.p ? rest : FL_S(""),
				.type = fl_str(type ? type : "application/json"), .agent = FL_S("test/1"),
				.body = fl_str(body) };
}

static int interfere(struct rig *rig, const struct step *step)
{
	struct fl_ask ask = make_ask(step->other, step->other_path, step->other_body,
				     strcmp(step->other, "PATCH") == 0 ? MERGE : NULL);
	FL_AUTO(fl_api_call) struct fl_api_call *call = fl_api_call(rig->api, &ask);

	while (call && fl_api_call_outcome(call) == FL_OUTCOME_HOOKS) {
		for (uint32_t i = 0; i < fl_api_call_hooks(call); i++) {
			if (answer(call, i, FL_S("allow"), fl_api_call_hook(call, i)->body) < 0)
				return -FL_E_NOMEM;
		}
		if (!fl_api_call_resume(call, NOW))
			return -FL_E_NOMEM;
	}
	while (fl_api_work(rig->api, NOW))
		;
	return call && fl_api_call_status(call) < 300 ? 0 : -FL_E_NOMEM;
}

static int request(struct rig *rig, const struct step *step)
{
	struct fl_ask ask = make_ask(step->method, step->path, step->body, step->type);
	FL_AUTO(fl_api_call) struct fl_api_call *call = fl_api_call(rig->api, &ask);
	bool once = step->other != NULL;
	struct fl_err err = { 0 };

	fl_buf_clear(&rig->text);
	fl_buf_clear(&rig->asked);
	while (call && fl_api_call_outcome(call) == FL_OUTCOME_HOOKS) {
		int r = once ? interfere(rig, step) : 0;

		once = false;
		if (r < 0 || answer_all(rig, call) < 0 || !fl_api_call_resume(call, NOW))
			return -FL_E_NOMEM;
	}
	if (!call)
		return -FL_E_NOMEM;
	rig->status = fl_api_call_status(call);
	fl_buf_str(&rig->text, fl_api_call_body(call));
	while (fl_api_call_outcome(call) == FL_OUTCOME_LIST && fl_api_call_more(call, &err))
		fl_buf_str(&rig->text, fl_api_call_body(call));
	for (uint32_t i = 0; i < fl_api_call_headers(call).len; i++)
		fl_buf_str(&rig->text, fl_api_call_headers(call).at[i].value);
	return err.code ? -(int)err.code : fl_buf_check(&rig->text, "an answer", NULL);
}

static bool holds(const struct rig *rig, const char *what)
{
	bool absent = what && what[0] == '!';

	return !what || (strstr(rig->text.p ? rig->text.p : "", what + absent) != NULL) != absent;
}

TEST(webhooks_are_asked)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(rig) struct rig rig = { 0 };

		OK(rig_open(&rig));
		for (const struct step *step = row->steps; step < row->steps + STEPS && step->method; step++) {
			OK(request(&rig, step));
			if (rig.status != step->status || !holds(&rig, step->holds))
				CHECK_STR(fl_buf_view(&rig.text), step->holds ? step->holds : step->path);
			CHECK_INT(rig.status, step->status);
			if (step->asked)
				CHECK_STR(fl_buf_view(&rig.asked), step->asked);
		}
	}
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":" \
	"{\"name\":\"widgets.demo.io\"},\"spec\":{\"group\":\"demo.io\",\"scope\":\"Namespaced\",\"names\":{" \
	"\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true," \
	"\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"mode\":" \
	"{\"type\":\"string\",\"default\":\"quick\"}}}}}]}}"
#define WIDGETS "/apis/demo.io/v1/namespaces/default/widgets"
#define WIDGET "{\"apiVersion\":\"demo.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"w\"}}"
#define ANY "{\"name\":\"a.demo.io\",\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\",\"rules\":" \
	"[{\"apiGroups\":[\"demo.io\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":[\"*\"]}]," \
	"\"clientConfig\":{\"url\":\"https://hook/allow\"}}"

/* The schema with which a request has begun is freed while it waits. */
TEST(a_schema_that_changes_meanwhile_begins_the_request_anew)
{
	static const struct step steps[] = {
		{ 201, "POST", CRDS, CRD }, { 201, "POST", MUTATING, CONFIG("a", ANY) },
		{ 201, "POST", WIDGETS, WIDGET, "\"mode\":\"slow\"", .asked = "allow allow", .other = "PATCH",
		  .other_path = CRDS "/widgets.demo.io", .other_body = "{\"spec\":{\"versions\":[{\"name\":\"v1\","
		  "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
		  "\"properties\":{\"mode\":{\"type\":\"string\",\"default\":\"slow\"}}}}}]}}" },
	};
	FL_AUTO(rig) struct rig rig = { 0 };

	OK(rig_open(&rig));
	for (const struct step *step = steps; step < steps + FL_LEN(steps); step++) {
		OK(request(&rig, step));
		CHECK(holds(&rig, step->holds));
		CHECK_INT(rig.status, step->status);
		if (step->asked)
			CHECK_STR(fl_buf_view(&rig.asked), step->asked);
		while (fl_api_work(rig.api, NOW))
			;
	}
}
