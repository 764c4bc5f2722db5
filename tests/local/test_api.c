/* The API server as a function: requests, and what must be in their answers. */
#include "local/api.h"
#include "test.h"

#define NOW 1700000000000000
#define MAPS "/api/v1/namespaces/default/configmaps"
#define MAP(name) "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"}}"
#define OWNED(name, uid, more) "{\"metadata\":{\"name\":\"" name "\",\"ownerReferences\":[{\"apiVersion\":\"v1\"," \
	"\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"" uid "\"" more "}]}}"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\"," \
	"\"metadata\":{\"name\":\"widgets.demo.io\"},\"spec\":{\"group\":\"demo.io\"," \
	"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\"," \
	"\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":" \
	"{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}," \
	"\"subresources\":{\"status\":{}}}]}}"
/* Two versions, a scale, and bounds that a patch may narrow. */
#define SIZED_SPEC "{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\"," \
	"\"properties\":{\"size\":{\"type\":\"integer\"},\"mode\":{\"type\":\"string\",\"default\":\"m\"}}}," \
	"\"status\":{\"type\":\"object\",\"properties\":{\"phase\":{\"type\":\"string\"}}}}}}"
#define SIZED "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\"," \
	"\"metadata\":{\"name\":\"widgets.demo.io\"},\"spec\":{\"group\":\"demo.io\",\"scope\":\"Namespaced\"," \
	"\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true," \
	"\"storage\":true,\"schema\":" SIZED_SPEC ",\"subresources\":{\"status\":{},\"scale\":" \
	"{\"specReplicasPath\":\".spec.size\",\"statusReplicasPath\":\".status.size\"}}},{\"name\":\"v2\"," \
	"\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"," \
	"\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"
#define WIDGETS "/apis/demo.io/v1/namespaces/default/widgets"
#define WIDGET(rest) "{\"apiVersion\":\"demo.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"w\"" rest "}"
#define POD(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec "\"containers\":[{\"name\":\"c\"}]}}"
#define PODS "/api/v1/namespaces/default/pods"

enum { STEPS = 9 };
#define MERGE "application/merge-patch+json"

struct step {
	int status;
	const char *method, *path, *body;   /* UID stands for the uid of the last answer that had one */
	const char *holds;                  /* NULL: whatever it is; "!" before it: must not be there */
	const char *type;                   /* NULL: JSON */
};

struct row {
	const char *says;
	struct step steps[STEPS];
};

static const struct row reads[] = {
	{ "an object is read as it was written",
	  { { 201, "POST", MAPS, MAP("a"), "\"name\":\"a\"" }, { 200, "GET", MAPS "/a", NULL,
	    "\"kind\":\"ConfigMap\"" } } },
	{ "an object that is not there is named",
	  { { 404, "GET", MAPS "/a", NULL, "configmaps \\\"a\\\" not found" } } },
	{ "a path that no API has is no Status",
	  { { 404, "GET", "/apis/none.io/v1/things", NULL, "404 page not found" } } },
	{ "a resource that a version of Kubernetes itself lacks is a Status",
	  { { 404, "GET", "/api/v1/things", NULL, "could not find the requested resource" } } },
	{ "a subresource that a built-in kind lacks is a Status",
	  { { 404, "GET", "/api/v1/namespaces/default/configmaps/a/status", NULL,
	      "the server could not find the requested resource" } } },
	{ "a manager's name that cannot be printed is refused",
	  { { 422, "POST", MAPS "?fieldManager=a%07", MAP("a"), "invalid character U+0007" } } },
	{ "a method that the resource lacks is refused",
	  { { 405, "PUT", MAPS, "{}", "does not allow this method" } } },
	{ "a list holds the objects of its namespace, in order",
	  { { 201, "POST", MAPS, MAP("b"), NULL }, { 201, "POST", MAPS, MAP("a"), NULL },
	    { 201, "POST", "/api/v1/namespaces/kube-public/configmaps", MAP("c"), NULL },
	    { 200, "GET", MAPS, NULL, "\"a\"" }, { 200, "GET", MAPS, NULL, "!\"c\"" },
	    { 200, "GET", "/api/v1/configmaps", NULL, "\"c\"" } } },
	{ "a label selector selects",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}}", NULL },
	    { 201, "POST", MAPS, MAP("b"), NULL }, { 200, "GET", MAPS "?labelSelector=x%3D1", NULL, "\"a\"" },
	    { 200, "GET", MAPS "?labelSelector=x%3D1", NULL, "!\"b\"" },
	    { 400, "GET", MAPS "?labelSelector=x%3D%3D%3D", NULL, "BadRequest" } } },
	{ "a field selector selects by what the kind offers",
	  { { 201, "POST", PODS, POD("a", "\"nodeName\":\"n\","), NULL }, { 201, "POST", PODS, POD("b", ""), NULL },
	    { 200, "GET", PODS "?fieldSelector=spec.nodeName%3Dn", NULL, "\"a\"" },
	    { 200, "GET", PODS "?fieldSelector=spec.nodeName%3Dn", NULL, "!\"b\"" },
	    { 200, "GET", PODS "?fieldSelector=metadata.name!%3Da", NULL, "!\"a\"" },
	    { 400, "GET", PODS "?fieldSelector=spec.color%3Dn", NULL, "field label not supported: spec.color" } } },
	{ "a page says how many follow",
	  { { 201, "POST", MAPS, MAP("a"), NULL }, { 201, "POST", MAPS, MAP("b"), NULL },
	    { 201, "POST", MAPS, MAP("c"), NULL },
	    { 200, "GET", MAPS "?limit=1", NULL, "\"remainingItemCount\":2" }, { 200, "GET", MAPS "?limit=1", NULL,
	    "!\"b\"" },
	    { 200, "GET", MAPS "?limit=3", NULL, "!continue" } } },
	{ "a version that is still to come is a timeout",
	  { { 504, "GET", MAPS "?resourceVersion=9999&resourceVersionMatch=NotOlderThan", NULL,
	      "ResourceVersionTooLarge" } } },
	{ "an exact version shows what there was",
	  { { 201, "POST", MAPS, MAP("a"), NULL }, { 200, "DELETE", MAPS "/a", NULL, NULL },
	    { 200, "GET", MAPS "?resourceVersion=6&resourceVersionMatch=Exact", NULL, "\"a\"" },
	    { 200, "GET", MAPS "?resourceVersion=5&resourceVersionMatch=Exact", NULL, "!\"a\"" },
	    { 200, "GET", MAPS, NULL, "!\"a\"" } } },
	{ "a match without a version is refused",
	  { { 422, "GET", MAPS "?resourceVersionMatch=Exact", NULL,
	    "is forbidden unless resourceVersion is provided" } } },
	{ "a continue token of another is refused", { { 400, "GET", MAPS "?continue=abc", NULL,
	  "continue key is not valid" } } },
	{ "discovery lists groups, versions and resources",
	  { { 200, "GET", "/api", NULL, "\"v1\"" }, { 200, "GET", "/apis", NULL, "apps/v1" },
	    { 200, "GET", "/api/v1", NULL, "\"pods/status\"" }, { 200, "GET", "/apis/apps", NULL, "preferredVersion" },
	    { 200, "GET", "/version", NULL, "gitVersion" }, { 200, "GET", "/readyz", NULL, "ok" },
	    { 200, "GET", "/openapi/v3", NULL, "api/v1" }, { 200, "GET", "/openapi/v3/api/v1", NULL,
	    "fieldValidation" } } },
};

static const struct row writes[] = {
	{ "a name is made from its beginning",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"generateName\":\"a-\"}}", "\"name\":\"a-" } } },
	{ "a name that is no name is refused with its rule",
	  { { 422, "POST", MAPS, MAP("A"), "metadata.name: Invalid value" } } },
	{ "a label that is none is refused",
	  { { 422, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x y\":\"1\"}}}", "metadata.labels" } } },
	{ "a name twice is refused",
	  { { 201, "POST", MAPS, MAP("a"), NULL }, { 409, "POST", MAPS, MAP("a"), "already exists" } } },
	{ "a namespace that is not there is named",
	  { { 404, "POST", "/api/v1/namespaces/none/configmaps", MAP("a"), "namespaces \\\"none\\\" not found" } } },
	{ "a body that is no JSON is refused", { { 400, "POST", MAPS, "{", "BadRequest" } } },
	{ "a body of another kind is refused",
	  { { 400, "POST", MAPS, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}",
	    "Secret" } } },
	{ "a body of another type is refused", { { 415, "POST", MAPS, "x", "unknown format", "text/plain" } } },
	{ "an update at an old version is a conflict",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 409, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
	      "the object has been modified" } } },
	{ "an update of another name is refused",
	  { { 201, "POST", MAPS, MAP("a"), NULL }, { 400, "PUT", MAPS "/a", MAP("b"), "does not match the name" } } },
	{ "an update that changes nothing keeps the version",
	  { { 201, "POST", MAPS, MAP("a"), "\"resourceVersion\":\"6\"" },
	    { 200, "PUT", MAPS "/a", MAP("a"), "\"resourceVersion\":\"6\"" } } },
	{ "a dry run writes nothing",
	  { { 201, "POST", MAPS "?dryRun=All", MAP("a"), "uid" }, { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "a merge patch merges",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 200, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"v\"}}", "\"k\":\"v\"", MERGE } } },
	{ "a strategic merge patch is refused by name",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 415, "PATCH", MAPS "/a", "{}", "application/apply-patch+yaml",
	    "application/strategic-merge-patch+json" } } },
	{ "an apply makes what is not there",
	  { { 201, "PATCH", MAPS "/a?fieldManager=m", MAP("a"), "\"name\":\"a\"", "application/apply-patch+yaml" } } },
	{ "a merge patch that is no object is refused",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 400, "PATCH", MAPS "/a", "[]", "cannot unmarshal array into Go value", MERGE } } },
	{ "a JSON patch may test the version",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 200, "PATCH", MAPS "/a", "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"6\"},"
	      "{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"k\":\"v\"}}]", "\"k\":\"v\"",
	      "application/json-patch+json" } } },
	{ "an apply without a name is refused",
	  { { 400, "PATCH", MAPS "/a?fieldManager=m", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}",
	      "name must be provided", "application/apply-patch+yaml" } } },
	{ "an apply without a manager is refused",
	  { { 422, "PATCH", MAPS "/a", MAP("a"), "is required for apply patch", "application/apply-patch+yaml" } } },
	{ "two controllers are refused",
	  { { 422, "POST", MAPS,
	      "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":["
	      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"1\",\"controller\":true},"
	      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"y\",\"uid\":\"2\",\"controller\":true}]}}",
	      "Only one reference" } } },
};

static const struct row deletes[] = {
	{ "a deleted object is gone",
	  { { 201, "POST", MAPS, MAP("a"), NULL }, { 200, "DELETE", MAPS "/a", NULL, "\"Success\"" },
	    { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "a finalizer keeps it until it is removed",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/y\"]}}", NULL },
	    { 200, "DELETE", MAPS "/a", NULL, "deletionTimestamp" }, { 200, "GET", MAPS "/a", NULL, NULL },
	    { 200, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}", NULL, MERGE },
	    { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "the last finalizer's removal answers with the object at its last version",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/y\"]}}", NULL },
	    { 200, "DELETE", MAPS "/a", NULL, "\"resourceVersion\":\"7\"" },
	    { 200, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}", "\"resourceVersion\":\"7\"", MERGE },
	    { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "what is going gets no finalizer",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/y\"]}}", NULL },
	    { 200, "DELETE", MAPS "/a", NULL, NULL },
	    { 422, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":[\"x.io/y\",\"x.io/z\"]}}",
	      "no new finalizers can be added", MERGE } } },
	{ "another uid is a conflict",
	  { { 201, "POST", MAPS, MAP("a"), NULL },
	    { 409, "DELETE", MAPS "/a", "{\"preconditions\":{\"uid\":\"x\"}}", "the UID in the precondition (x)" } } },
	{ "a Pod that a node runs gets time to end",
	  { { 201, "POST", PODS, POD("a", "\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":7,"), NULL },
	    { 200, "DELETE", PODS "/a", NULL, "\"deletionGracePeriodSeconds\":7" },
	    { 200, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL, NULL }, { 404, "GET", PODS "/a", NULL, NULL } } },
	{ "a collection is deleted as selected",
	  { { 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}}", NULL },
	    { 201, "POST", MAPS, MAP("b"), NULL }, { 200, "DELETE", MAPS "?labelSelector=x", NULL, NULL },
	    { 404, "GET", MAPS "/a", NULL, NULL }, { 200, "GET", MAPS "/b", NULL, NULL } } },
	{ "what it owns goes with it",
	  { { 201, "POST", MAPS, MAP("owner"), NULL }, { 201, "POST", MAPS, OWNED("a", "UID", ""), NULL },
	    { 200, "GET", MAPS "/a", NULL, NULL }, { 200, "DELETE", MAPS "/owner", NULL, NULL },
	    { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "an orphan stays, without its owner",
	  { { 201, "POST", MAPS, MAP("owner"), NULL }, { 201, "POST", MAPS, OWNED("a", "UID", ""), NULL },
	    { 200, "DELETE", MAPS "/owner?propagationPolicy=Orphan", NULL, NULL },
	    { 404, "GET", MAPS "/owner", NULL, NULL }, { 200, "GET", MAPS "/a", NULL, "!ownerReferences" } } },
	{ "in the foreground the owner waits for those that block it",
	  { { 201, "POST", MAPS, MAP("owner"), NULL },
	    { 201, "POST", MAPS, OWNED("a", "UID", ",\"blockOwnerDeletion\":true"), NULL },
	    { 200, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":[\"x.io/y\"]}}", NULL, MERGE },
	    { 200, "DELETE", MAPS "/owner?propagationPolicy=Foreground", NULL, "foregroundDeletion" },
	    { 200, "GET", MAPS "/owner", NULL, NULL }, { 200, "GET", MAPS "/a", NULL, "deletionTimestamp" },
	    { 200, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}", NULL, MERGE },
	    { 404, "GET", MAPS "/owner", NULL, NULL } } },
	{ "an owner that never was takes its objects along",
	  { { 201, "POST", MAPS, OWNED("a", "x", ""), NULL }, { 404, "GET", MAPS "/a", NULL, NULL } } },
	{ "a namespace takes its objects along",
	  { { 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}", "Active" },
	    { 201, "POST", "/api/v1/namespaces/n/configmaps", MAP("a"), NULL },
	    { 200, "DELETE", "/api/v1/namespaces/n", NULL, "Terminating" },
	    { 404, "GET", "/api/v1/namespaces/n", NULL, NULL },
	    { 404, "GET", "/api/v1/namespaces/n/configmaps/a", NULL, NULL } } },
	{ "a namespace that ends takes nothing new",
	  { { 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}", NULL },
	    { 201, "POST", "/api/v1/namespaces/n/configmaps",
	    "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/y\"]}}",
	      NULL },
	    { 200, "DELETE", "/api/v1/namespaces/n", NULL, NULL },
	    { 403, "POST", "/api/v1/namespaces/n/configmaps", MAP("b"), "NamespaceTerminating" } } },
};

static const struct row customs[] = {
	{ "a policy is stored with a warning that it is not asked",
	  { { 201, "POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	      "{\"metadata\":{\"name\":\"a\"}}", "asks none" } } },
	{ "a CRD is established, and serves its kind",
	  { { 404, "GET", WIDGETS, NULL, NULL }, { 201, "POST", CRDS, CRD, NULL },
	    { 200, "GET", CRDS "/widgets.demo.io", NULL, "\"Established\"" }, { 200, "GET", WIDGETS, NULL,
	    "WidgetList" },
	    { 200, "GET", "/apis/demo.io/v1", NULL, "\"widgets/status\"" },
	    { 201, "POST", WIDGETS, WIDGET("},\"spec\":{\"n\":1}"), "\"generation\":1" } } },
	{ "a spec that changes raises the generation, a status does not",
	  { { 201, "POST", CRDS, CRD, NULL }, { 201, "POST", WIDGETS, WIDGET("},\"spec\":{\"n\":1}"), NULL },
	    { 200, "PATCH", WIDGETS "/w", "{\"spec\":{\"n\":2}}", "\"generation\":2", MERGE },
	    { 200, "PATCH", WIDGETS "/w/status", "{\"status\":{\"m\":1},\"spec\":{\"n\":3}}",
	    "\"generation\":2", MERGE },
	    { 200, "GET", WIDGETS "/w", NULL, "\"n\":2" }, { 200, "GET", WIDGETS "/w", NULL, "\"m\":1" },
	    { 200, "PATCH", WIDGETS "/w", "{\"status\":{\"m\":2}}", "\"m\":1", MERGE } } },
	{ "an update of a custom object needs its version",
	  { { 201, "POST", CRDS, CRD, NULL }, { 201, "POST", WIDGETS, WIDGET("}"), NULL },
	    { 422, "PUT", WIDGETS "/w", WIDGET("}"), "must be specified for an update" } } },
	{ "a CRD takes its objects along",
	  { { 201, "POST", CRDS, CRD, NULL }, { 201, "POST", WIDGETS, WIDGET("}"), NULL },
	    { 200, "DELETE", CRDS "/widgets.demo.io", NULL, NULL }, { 404, "GET", CRDS "/widgets.demo.io", NULL, NULL },
	    { 404, "GET", WIDGETS, NULL, "404 page not found" }, { 201, "POST", CRDS, CRD, NULL },
	    { 404, "GET", WIDGETS "/w", NULL, "widgets.demo.io \\\"w\\\" not found" } } },
	{ "scale reads and writes the replicas, and raises the generation",
	  { { 201, "POST", CRDS, SIZED, NULL }, { 201, "POST", WIDGETS, WIDGET("},\"spec\":{\"size\":1}"), NULL },
	    { 200, "GET", WIDGETS "/w/scale", NULL, "\"kind\":\"Scale\"" },
	    { 200, "PATCH", WIDGETS "/w/scale", "{\"spec\":{\"replicas\":3}}", "\"replicas\":3", MERGE },
	    { 200, "GET", WIDGETS "/w", NULL, "\"size\":3" }, { 200, "GET", WIDGETS "/w", NULL, "\"generation\":2" },
	    { 422, "PATCH", WIDGETS "/w/scale", "{\"spec\":{\"replicas\":-1}}", "greater than or equal to 0", MERGE },
	    { 422, "PATCH", WIDGETS "/w", "{\"spec\":{\"size\":-1}}", "should be a non-negative integer", MERGE },
	    { 409, "PUT", WIDGETS "/w/scale", "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"metadata\":"
	      "{\"name\":\"w\",\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":2}}", "has been modified" } } },
	{ "a value that a later schema refuses stays, and is not changed to another such",
	  { { 201, "POST", CRDS, SIZED, NULL }, { 201, "POST", WIDGETS, WIDGET("},\"spec\":{\"size\":9}"), NULL },
	    { 200, "PATCH", CRDS "/widgets.demo.io",
	      "[{\"op\":\"add\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/"
	      "size/maximum\","
	      "\"value\":5}]", NULL, "application/json-patch+json" },
	    { 200, "PATCH", WIDGETS "/w", "{\"spec\":{\"mode\":\"n\"}}", "\"size\":9", MERGE },
	    { 422, "PATCH", WIDGETS "/w", "{\"spec\":{\"size\":8}}", "less than or equal to 5", MERGE } } },
	{ "a write through another version gets the defaults of the stored one",
	  { { 201, "POST", CRDS, SIZED, NULL },
	    { 201, "POST", "/apis/demo.io/v2/namespaces/default/widgets", "{\"apiVersion\":\"demo.io/v2\",\"kind\":"
	      "\"Widget\",\"metadata\":{\"name\":\"w\"},\"spec\":{\"size\":1,\"more\":1}}", "\"mode\":\"m\"" },
	    { 200, "GET", WIDGETS "/w", NULL, "!\"more\"" } } },
	{ "a status is checked by itself",
	  { { 201, "POST", CRDS, SIZED, NULL }, { 201, "POST", WIDGETS, WIDGET("}"), NULL },
	    { 422, "PATCH", WIDGETS "/w/status", "{\"status\":{\"phase\":1}}",
	      "\"message\":\"Invalid value: \\\"integer\\\": phase in body", MERGE } } },
	{ "what the API server has set of metadata is not changed by a patch",
	  { { 201, "POST", CRDS, CRD, NULL }, { 201, "POST", WIDGETS, WIDGET("}"), NULL },
	    { 422, "PATCH", WIDGETS "/w", "{\"metadata\":{\"uid\":\"other\"}}", "field is immutable", MERGE },
	    { 422, "PATCH", WIDGETS "/w", "{\"metadata\":{\"deletionTimestamp\":\"2001-01-01T00:00:00Z\"}}",
	      "field is immutable", MERGE },
	    { 422, "PATCH", WIDGETS "/w", "{\"apiVersion\":\"other/v1\"}", "must be demo.io/v1", MERGE } } },
	{ "a CRD whose name is not its resource is refused",
	  { { 422, "POST", CRDS, "{\"metadata\":{\"name\":\"a.b\"},\"spec\":{\"group\":\"demo.io\"}}",
	      "must be spec.names.plural" } } },
};

/* ---- running them ---- */

struct rig {
	struct fl_api *api;
	char uid[40];
	struct fl_buf text;
	int status;
};

static void rig_auto_(struct rig *rig)
{
	fl_api_free(rig->api);
	fl_buf_free(&rig->text);
}

static int rig_open(struct rig *rig)
{
	static const struct fl_api_options options = { .seed = { 1, 2 }, .window = 100 };

	*rig = (struct rig){ .text = FL_BUF(FL_MIB) };
	rig->api = fl_api_new(&options, NOW, NULL);
	return rig->api ? 0 : -FL_E_NOMEM;
}

static void note_uid(struct rig *rig)
{
	const char *at = rig->text.p ? strstr(rig->text.p, "\"uid\":\"") : NULL;

	if (at)
		memcpy(rig->uid, at + 7, 36);
}

/* The uid in the place of "UID". */
static int fill(const struct rig *rig, const char *body, struct fl_buf *out)
{
	const char *at = body ? strstr(body, "UID") : NULL;

	if (!at)
		fl_buf_str(out, fl_str(body));
	else
		fl_buf_printf(out, "%.*s%s%s", (int)(at - body), body, rig->uid, at + 3);
	return fl_buf_check(out, "a body", NULL);
}

static int ask(struct rig *rig, const struct step *step)
{
	FL_AUTO(fl_buf) struct fl_buf body = FL_BUF(FL_MIB);
	struct fl_str path = fl_str(step->path);
	int64_t mark = fl_str_find(path, '?');
	struct fl_ask request = { .method = fl_str(step->method), .now = NOW,
				  .path = fl_str_sub(path, 0, mark < 0 ? path.len : (uint32_t)mark),
				  .query = mark < 0 ? FL_S("") : fl_str_sub(path, (uint32_t)mark + 1, path.len),
				  .type = fl_str(step->type ? step->type : "application/json"),
				  .agent = FL_S("test/1") };
	FL_AUTO(fl_api_call) struct fl_api_call *call = NULL;
	struct fl_err err = { 0 };
	int64_t now = NOW;

	if (fill(rig, step->body, &body) < 0)
		return -FL_E_NOMEM;
	request.body = fl_buf_view(&body);
	call = fl_api_call(rig->api, &request);
	if (!call)
		return -FL_E_NOMEM;
	rig->status = fl_api_call_status(call);
	fl_buf_clear(&rig->text);
	fl_buf_str(&rig->text, fl_api_call_body(call));
	while (fl_api_call_outcome(call) == FL_OUTCOME_LIST && fl_api_call_more(call, &err))
		fl_buf_str(&rig->text, fl_api_call_body(call));
	for (uint32_t i = 0; i < fl_api_call_headers(call).len; i++)
		fl_buf_str(&rig->text, fl_api_call_headers(call).at[i].value);
	while (fl_api_work(rig->api, now++) && now < NOW + 1000)
		;
	note_uid(rig);
	return err.code ? -(int)err.code : fl_buf_check(&rig->text, "an answer", NULL);
}

static bool holds(const struct rig *rig, const char *what)
{
	bool absent = what && what[0] == '!';

	return !what || (strstr(rig->text.p ? rig->text.p : "", what + absent) != NULL) != absent;
}

static void run(const struct row *row)
{
	FL_AUTO(rig) struct rig rig = { 0 };

	OK(rig_open(&rig));
	for (const struct step *step = row->steps; step < row->steps + STEPS && step->method; step++) {
		OK(ask(&rig, step));
		if (rig.status != step->status || !holds(&rig, step->holds)) {
			test_row(row->says);
			CHECK_STR(fl_buf_view(&rig.text), step->holds ? step->holds : step->path);
		}
		CHECK_INT(rig.status, step->status);
	}
}

TEST(objects_are_read)
{
	EACH_ROW_ALONE (row, reads) {
		run(row);
	}
}

TEST(objects_are_written)
{
	EACH_ROW_ALONE (row, writes) {
		run(row);
	}
}

TEST(objects_are_deleted)
{
	EACH_ROW_ALONE (row, deletes) {
		run(row);
	}
}

TEST(custom_kinds_are_served)
{
	EACH_ROW_ALONE (row, customs) {
		run(row);
	}
}

/* ---- watches ---- */

struct watcher {
	struct fl_api_watch watch;
	struct fl_api_call *call;
	char room_for[400];
	struct fl_buf text;
	unsigned room;               /* chunks that still fit */
	bool ended;
};

static void watcher_auto_(struct watcher *watcher)
{
	fl_api_call_free(watcher->call);
}

static struct fl_str after(struct fl_str line, const char *mark)
{
	struct fl_str text = fl_str(mark);

	for (uint32_t i = 0; i + text.len <= line.len; i++) {
		if (memcmp(line.p + i, text.p, text.len) == 0) {
			line = fl_str_sub(line, i + text.len, line.len);
			return fl_str_sub(line, 0, (uint32_t)fl_str_find(line, '"'));
		}
	}
	return FL_S("");
}

/* Type, name and version of each event, in one line. */
static bool give(struct fl_api_watch *watch, struct fl_chunk *chunk)
{
	struct watcher *watcher = fl_container(watch, struct watcher, watch);
	struct fl_str rest = { chunk->bytes, chunk->len }, line;

	while (fl_str_split(&rest, '\n', &line)) {
		struct fl_str name = after(line, "\"metadata\":{\"name\":\"");

		if (line.len)
			fl_buf_printf(&watcher->text, "%s%.*s%s%.*s@%.*s", watcher->text.len ? " " : "",
				      FL_ARG(after(line, "\"type\":\"")), name.len ? ":" : "", FL_ARG(name),
				      FL_ARG(after(line, "\"resourceVersion\":\"")));
	}
	return !watcher->room || --watcher->room;
}

static void ended(struct fl_api_watch *watch)
{
	fl_container(watch, struct watcher, watch)->ended = true;
}

static int watch(struct rig *rig, struct watcher *watcher, const char *query)
{
	struct fl_ask request = { .method = FL_S("GET"), .path = FL_S(MAPS), .query = fl_str(query), .now = NOW };

	watcher->text = FL_BUF_IN(watcher->room_for);
	watcher->watch.give = give;
	watcher->watch.ended = ended;
	watcher->call = fl_api_call(rig->api, &request);
	if (!watcher->call)
		return -FL_E_NOMEM;
	if (fl_api_call_outcome(watcher->call) != FL_OUTCOME_WATCH)
		return fl_fail(NULL, FL_E_INVALID, "no watch");
	fl_api_watch_start(watcher->call, &watcher->watch);
	fl_api_watch_pump(&watcher->watch);
	return watcher->watch.over && test_tortured() ? -FL_E_NOMEM : 0;
}

#define LABELLED(name, value) "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"x\":\"" value "\"}}}"
static const struct step life[] = {
	{ 201, "POST", MAPS, LABELLED("a", "1"), NULL },        /* 6 */
	{ 200, "PUT", MAPS "/a", LABELLED("a", "2"), NULL },    /* 7 */
	{ 201, "POST", MAPS, LABELLED("b", "1"), NULL },        /* 8 */
	{ 200, "DELETE", MAPS "/a", NULL, NULL },               /* 9 */
};

static const struct {
	const char *says, *query;
	int from;                    /* steps before the watch begins */
	const char *want;
} watches[] = {
	{ "changes are told as they happen", "watch=1", 0, "ADDED:a@6 MODIFIED:a@7 ADDED:b@8 DELETED:a@9" },
	{ "a watch begins with what there is", "watch=1", 3, "ADDED:a@7 ADDED:b@8 DELETED:a@9" },
	{ "a version is where it goes on", "watch=1&resourceVersion=6", 4, "MODIFIED:a@7 ADDED:b@8 DELETED:a@9" },
	{ "the end of the initial ones is marked",
	  "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", 3,
	  "ADDED:a@7 ADDED:b@8 BOOKMARK@8 DELETED:a@9" },
	{ "what enters a selection is added, and what leaves it deleted", "watch=1&labelSelector=x%3D1", 0,
	  "ADDED:a@6 DELETED:a@7 ADDED:b@8" },
	{ "a deleted object that was never selected is not told", "watch=1&labelSelector=x%3D1", 2, "ADDED:b@8" },
	{ "one object can be watched", "watch=1&fieldSelector=metadata.name%3Db", 0, "ADDED:b@8" },
};

TEST(watches_are_told)
{
	EACH_ROW_ALONE (row, watches) {
		FL_AUTO(rig) struct rig rig = { 0 };
		FL_AUTO(watcher) struct watcher watcher = { 0 };

		OK(rig_open(&rig));
		for (int i = 0; i < (int)FL_LEN(life); i++) {
			if (i == row->from)
				OK(watch(&rig, &watcher, row->query));
			OK(ask(&rig, &life[i]));
		}
		if (row->from == (int)FL_LEN(life))
			OK(watch(&rig, &watcher, row->query));
		CHECK(!watcher.ended || test_tortured());
		if (!watcher.ended)
			CHECK_STR(fl_buf_view(&watcher.text), row->want);
	}
}

TEST(a_slow_client_gets_the_rest_later)
{
	FL_AUTO(rig) struct rig rig = { 0 };
	FL_AUTO(watcher) struct watcher watcher = { .room = 1 };

	OK(rig_open(&rig));
	OK(watch(&rig, &watcher, "watch=1"));
	for (size_t i = 0; i < FL_LEN(life); i++)
		OK(ask(&rig, &life[i]));
	if (!watcher.ended)
		CHECK_STR(fl_buf_view(&watcher.text), "ADDED:a@6");
	watcher.room = 0;
	fl_api_watch_pump(&watcher.watch);
	if (!watcher.ended)
		CHECK_STR(fl_buf_view(&watcher.text), "ADDED:a@6 MODIFIED:a@7 ADDED:b@8 DELETED:a@9");
}

TEST(a_watch_from_before_the_window_is_told_so)
{
	FL_AUTO(rig) struct rig rig = { 0 };
	FL_AUTO(watcher) struct watcher watcher = { 0 };

	OK(rig_open(&rig));
	OK(ask(&rig, &life[0]));
	fl_api_compact(rig.api);
	OK(watch(&rig, &watcher, "watch=1&resourceVersion=2"));
	CHECK(watcher.ended);
	if (!test_tortured())
		CHECK_STR(fl_buf_view(&watcher.text), "ERROR@");
}

TEST(a_bookmark_shows_the_changes_of_others)
{
	FL_AUTO(rig) struct rig rig = { 0 };
	FL_AUTO(watcher) struct watcher watcher = { 0 };
	static const struct step other = { 201, "POST", "/api/v1/namespaces/kube-public/configmaps", MAP("z"), NULL };

	OK(rig_open(&rig));
	OK(watch(&rig, &watcher, "watch=1&allowWatchBookmarks=true"));
	OK(ask(&rig, &other));
	fl_api_watch_bookmark(&watcher.watch);
	if (!watcher.ended)
		CHECK_STR(fl_buf_view(&watcher.text), "BOOKMARK@6");
}

TEST(requests_are_throttled_on_demand)
{
	FL_AUTO(rig) struct rig rig = { 0 };
	static const struct step list = { 429, "GET", MAPS, NULL, NULL };

	OK(rig_open(&rig));
	fl_api_throttle(rig.api, 1, 3);
	OK(ask(&rig, &list));
	CHECK_INT(rig.status, 429);
	CHECK(holds(&rig, "\"retryAfterSeconds\":3"));
	OK(ask(&rig, &list));
	CHECK_INT(rig.status, 200);
}
