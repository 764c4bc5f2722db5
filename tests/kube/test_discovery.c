#include "api/core.h"
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
	CHECK_STR(got.at[1].version, "v2");
	CHECK_STR(got.at[1].kind, "Pool");
	CHECK(got.at[1].preferred && !got.at[1].namespaced);
	CHECK(!got.at[2].preferred && got.at[2].stale);
	CHECK_STR(got.at[3].group, "metrics.k8s.io");
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
