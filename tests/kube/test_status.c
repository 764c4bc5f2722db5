#include "base/units.h"
#include "kube/status.h"
#include "test.h"

static const struct {
	const char *says;
	int http;
	const char *body;
	enum fl_code code;
	enum fl_reason reason;
	const char *text;
	bool no_kind;
	uint64_t after;
} rows[] = {
	{ "an object that is not there",
	  404, "{\"kind\":\"Status\",\"message\":\"pods \\\"x\\\" not "
			"found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"x\","
	       "\"kind\":\"pods\"},\"code\":404}",
	  FL_E_NOTFOUND, FL_REASON_NOT_FOUND, "pods \"x\" not found" },
	{ "a kind that is not there", 404, NULL, FL_E_NOTFOUND, FL_REASON_NOT_FOUND, "the server answers 404", true },
	{ "a kind that is not there, as a Status",
	  404, "{\"kind\":\"Status\",\"message\":\"the server could not find the requested "
			"resource\",\"reason\":\"NotFound\","
	       "\"details\":{},\"code\":404}",
	  FL_E_NOTFOUND, FL_REASON_NOT_FOUND, "the server could not find the requested resource", true },
	{ "an object that is there already", 409, "{\"reason\":\"AlreadyExists\",\"message\":\"m\"}", FL_E_EXISTS,
	  FL_REASON_EXISTS, "m" },
	{ "another was faster", 409, "{\"reason\":\"Conflict\",\"message\":\"the object has been modified\"}",
			FL_E_CONFLICT,
	  FL_REASON_CONFLICT, "the object has been modified" },
	{ "fields that another manager owns are told with its name",
	  409, "{\"reason\":\"Conflict\",\"message\":\"Apply failed with 2 conflicts\",\"details\":{\"causes\":["
	       "{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with \\\"one\\\"\",\"field\":\".data.x\"},"
	       "{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
			"\\\"two\\\"\",\"field\":\".data.y\"}]}}",
	  FL_E_CONFLICT, FL_REASON_CONFLICT, ".data.x: conflict with \"one\"; .data.y: conflict with \"two\"" },
	{ "a forgotten version", 410, "{\"reason\":\"Expired\",\"message\":\"too old resource version: 1 (9)\"}",
			FL_E_CONFLICT,
	  FL_REASON_EXPIRED, "too old resource version: 1 (9)" },
	{ "Gone is the same", 410, "{\"reason\":\"Gone\"}", FL_E_CONFLICT, FL_REASON_EXPIRED, "Gone" },
	{ "an event of a watch has no status but its own", 0, "{\"code\":410,\"message\":\"m\"}", FL_E_CONFLICT,
	  FL_REASON_EXPIRED, "m" },
	{ "a version of the future",
	  504, "{\"reason\":\"Timeout\",\"message\":\"Too large resource version: 9, current: "
			"1\",\"details\":{\"causes\":[{"
	       "\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource "
			"version\"}],\"retryAfterSeconds\":1}}",
	  FL_E_RETRY, FL_REASON_AHEAD, "Too large resource version: 9, current: 1", false, FL_NS_PER_S },
	{ "a schema says no", 422, "{\"reason\":\"Invalid\",\"message\":\"spec.x: Required value\"}", FL_E_INVALID,
	  FL_REASON_INVALID, "spec.x: Required value" },
	{ "no right", 403, "{\"reason\":\"Forbidden\",\"message\":\"User cannot\"}", FL_E_DENIED, FL_REASON_FORBIDDEN,
	  "User cannot" },
	{ "no name", 401, "{\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}", FL_E_DENIED,
			FL_REASON_UNAUTHORIZED,
	  "Unauthorized" },
	{ "too many", 429, "{\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":7}}", FL_E_RETRY,
	  FL_REASON_THROTTLED, "TooManyRequests", false, 7 * FL_NS_PER_S },
	{ "a disruption budget's name stands in the cause alone",
	  429, "{\"reason\":\"TooManyRequests\",\"message\":\"Cannot evict pod.\",\"details\":{\"causes\":[{"
	       "\"reason\":\"DisruptionBudget\",\"message\":\"The disruption budget web needs 2\"}]}}",
	  FL_E_RETRY, FL_REASON_THROTTLED, "Cannot evict pod. The disruption budget web needs 2" },
	{ "the server's own time-out", 504, "{\"reason\":\"Timeout\",\"message\":\"m\"}", FL_E_RETRY,
			FL_REASON_TIMEOUT, "m" },
	{ "a proxy's page", 502, NULL, FL_E_RETRY, FL_REASON_BROKEN, "the server answers 502" },
	{ "too large", 413, "{\"reason\":\"RequestEntityTooLarge\",\"message\":\"m\"}", FL_E_TOOBIG,
			FL_REASON_TOO_LARGE, "m" },
	{ "a status that nobody knows", 418, "{\"reason\":\"Teapot\",\"message\":\"m\"}", FL_E_INVALID,
			FL_REASON_NONE, "m" },
	{ "an answer that is no object", 500, "[1]", FL_E_RETRY, FL_REASON_BROKEN, "the server answers 500" },
	{ "a negative wait is none", 429, "{\"details\":{\"retryAfterSeconds\":-5}}", FL_E_RETRY, FL_REASON_THROTTLED,
	  "the server answers 429" },
	{ "a wait of years is one of a minute", 429, "{\"details\":{\"retryAfterSeconds\":2000000000}}", FL_E_RETRY,
	  FL_REASON_THROTTLED, "the server answers 429", false, FL_KUBE_RETRY_MAX },
};

TEST(an_answer_becomes_one_error)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_answer answer = { 0 };
		struct fl_err err = { 0 };
		int r;

		if (row->body)
			OK_ERR(fl_json_read(NULL, fl_str(row->body), 0, &doc, &err), &err);
		r = fl_status_fail(row->http, doc ? yyjson_doc_get_root(doc) : NULL, &answer, &err);
		CHECK_INT(r, -(int)err.code);
		if (test_tortured())
			return;
		CHECK_STR(fl_str(fl_name(&fl_code_names, (int)err.code)), fl_name(&fl_code_names, (int)row->code));
		CHECK_STR(fl_str(fl_name(&fl_reason_names, (int)answer.reason)), fl_name(&fl_reason_names,
											 (int)row->reason));
		CHECK_STR(fl_str(err.text), row->text);
		CHECK_INT(answer.no_kind, row->no_kind);
		CHECK_INT(answer.retry_after, row->after);
	}
}

TEST(retry_after_is_a_number_of_seconds)
{
	uint64_t ns = 0;

	CHECK(fl_retry_after(FL_S("3"), &ns));
	CHECK_INT(ns, 3 * FL_NS_PER_S);
	CHECK(fl_retry_after(FL_S(" 999999999999 "), &ns));
	CHECK_INT(ns, FL_KUBE_RETRY_MAX);
	CHECK(!fl_retry_after(FL_S("Wed, 21 Oct 2015 07:28:00 GMT"), &ns));
	CHECK(!fl_retry_after(FL_S("-1"), &ns));
}
