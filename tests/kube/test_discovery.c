#include "api/core.h"
#include "base/limits.h"
#include "kube/discovery.h"
#include "script.h"
#include "test.h"

#define RESOURCE(plural, kind, scope) \
	"{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":\"" scope "\"," \
	"\"verbs\":[\"get\"," \
	"\"list\",\"watch\",\"fly\"],\"subresources\":[{\"subresource\":\"status\"}]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define VERSION(name, more, resources) "{\"version\":\"" name "\"," more "\"resources\":[" resources "]}"
#define STALE "\"freshness\":\"Stale\","
#define PODS RESOURCE("pods", "Pod", "Namespaced")
#define POOLS RESOURCE("pools", "Pool", "Cluster")

static const struct exchange whole[] = {
	{ "/version", 200, "{\"major\":\"1\",\"minor\":\"36+\",\"gitVersion\":\"v1.36.3\"}" },
	{ "/api?limit=500", 200,
	  "{\"items\":[{\"metadata\":{},\"versions\":[" VERSION("v1", "", PODS) "]}]}" },
	{ "/apis?limit=500", 200,
	  "{\"items\":[" GROUP("g.io", VERSION("v2", "", POOLS) "," VERSION("v1", STALE, POOLS)) ","
	  GROUP("metrics.k8s.io", VERSION("v1", "", RESOURCE("pods", "PodMetrics", "Namespaced"))) "]}" },
	{ 0 },
};

static const struct {
	const char *says;
	struct fl_str group, version, text;
	const char *kind, *got_version;   /* NULL: not found */
} finds[] = {
	{ "by plural", { 0 }, { 0 }, FL_S_INIT("pods"), "Pod", "v1" },
	{ "by kind, in any case", { 0 }, { 0 }, FL_S_INIT("pOOL"), "Pool", "v2" },
	{ "by plural and group in one word", { 0 }, { 0 }, FL_S_INIT("pods.metrics.k8s.io"), "PodMetrics", "v1" },
	{ "in a group", FL_S_INIT("metrics.k8s.io"), { 0 }, FL_S_INIT("pods"), "PodMetrics", "v1" },
	{ "in a version that is not preferred", { 0 }, FL_S_INIT("v1"), FL_S_INIT("pools"), "Pool", "v1" },
	{ "in the core group only", FL_S_INIT(""), { 0 }, FL_S_INIT("pools"), NULL, NULL },
	{ "what is not there", { 0 }, { 0 }, FL_S_INIT("nothing"), NULL, NULL },
};

TEST(everything_in_three_requests)
{
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_discovery) struct fl_discovery got = { 0 };
	struct fl_discover ask = { .into = &got };

	OK_ERR(script_open(&script, whole), &script.err);
	ask.op.err = &script.err;
	fl_discover(script.kube, &ask);
	OK_ERR(test_op(script.io, &ask.op), &script.err);
	CHECK_STR(fl_str(script.wrong), "");
	CHECK_INT(ask.op.result, 4);
	CHECK_INT(got.minor, 36);
	CHECK_STR(got.git_version, "v1.36.3");
	CHECK(got.at[0].namespaced && got.at[0].status && got.at[0].preferred && !got.at[0].stale);
	CHECK_INT(got.at[0].can, FL_CAN_GET | FL_CAN_LIST | FL_CAN_WATCH);
	CHECK(!got.at[2].preferred && got.at[2].stale);
	EACH_ROW (row, finds) {
		const struct fl_resource *found = fl_discovery_find(&got, row->group, row->version, row->text);

		CHECK_INT(found != NULL, row->kind != NULL);
		if (!found)
			continue;
		CHECK_STR(found->kind, row->kind);
		CHECK_STR(found->version, row->got_version);
	}
}

static const struct {
	const char *says;
	struct exchange script[2];
	enum fl_code code;
} kinds[] = {
	{ "a kind that is there", { { "/api/v1", 200,
			"{\"resources\":[{\"name\":\"pods\"},{\"name\":\"configmaps\"}]}" } }, FL_OK },
	{ "a kind that is not", { { "/api/v1", 200, "{\"resources\":[{\"name\":\"configmaps/status\"}]}" } },
			FL_E_NOTFOUND },
	{ "nor its group version", { { "/api/v1", 404, "" } }, FL_E_NOTFOUND },
	{ "a server that fails says nothing about it", { { "/api/v1", 500, "" } }, FL_E_RETRY },
};

TEST(is_one_kind_there)
{
	EACH_ROW (row, kinds) {
		FL_AUTO(script) struct script script = { 0 };
		struct fl_discover ask = { .kind = &fl_config_map_kind };

		OK_ERR(script_open(&script, row->script), &script.err);
		ask.op.err = &script.err;
		fl_discover(script.kube, &ask);
		if (row->code)
			REFUSED(test_op(script.io, &ask.op), row->code);
		else
			OK_ERR(test_op(script.io, &ask.op), &script.err);
	}
}

TEST(what_a_group_version_lists)
{
	static const char text[] = "{\"groupVersion\":\"g.io/v1\",\"resources\":[{\"name\":\"pools\",\"kind\":\"Pool\","
				   "\"namespaced\":true,\"verbs\":[\"patch\"]},{\"name\":\"pools/status\"}]}";
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_discovery) struct fl_discovery got = { 0 };

	OK(fl_json_read(NULL, fl_str(text), 0, &doc, NULL));
	OK(fl_discovery_add_list(&got, yyjson_doc_get_root(doc), true, NULL));
	CHECK_INT(got.len, 1);
	CHECK(got.at[0].status && got.at[0].namespaced && got.at[0].can == FL_CAN_PATCH);
	CHECK_STR(got.at[0].group, "g.io");
}
