#include "serve/review.h"
#include "api/core.h"
#include "test.h"

#define REVIEW(request) \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{" request "}}"
#define MAPS "\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"configmaps\"}"
#define MAP(text) "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"" text "\"}}"

static const struct {
	const char *says, *json;
	int result;
	const char *why;           /* in the words of a failure */
	bool object, old;
} rows[] = {
	{ "a create", REVIEW("\"uid\":\"u\",\"operation\":\"CREATE\"," MAPS ",\"object\":" MAP("1")), 0, NULL, true,
	  false },
	{ "an update has both", REVIEW("\"uid\":\"u\",\"operation\":\"UPDATE\"," MAPS ",\"object\":"
	  MAP("1") ",\"oldObject\":" MAP("2")),
	  0, NULL, true, true },
	{ "a delete has the old one, and null", REVIEW("\"uid\":\"u\",\"operation\":\"DELETE\","
	  MAPS ",\"object\":null,\"oldObject\":" MAP("2")),
	  0, NULL, false, true },
	{ "what no table names is passed over", REVIEW("\"uid\":\"u\",\"operation\":\"CREATE\","
	  MAPS ",\"options\":{\"a\":[1]},\"object\":" MAP("1")),
	  0, NULL, true, false },
	{ "a list", "[]", -FL_E_INVALID, "", false, false },
	{ "nothing in it", "{}", -FL_E_INVALID, "only AdmissionReview", false, false },
	{ "an older version",
	  "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\",\"request\":{}}",
	  -FL_E_INVALID, "admission.k8s.io/v1beta1", false, false },
	{ "no request", "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}", -FL_E_INVALID,
	  "no uid", false,
	  false },
	{ "no uid", REVIEW("\"operation\":\"CREATE\"," MAPS), -FL_E_INVALID, "no uid", false, false },
	{ "a uid that is a number", REVIEW("\"uid\":1,\"operation\":\"CREATE\"," MAPS), -FL_E_INVALID, "no uid",
	  false, false },
	{ "an operation that nobody knows", REVIEW("\"uid\":\"u\",\"operation\":\"PAINT\"," MAPS), -FL_E_INVALID,
	  "operation",
	  false, false },
	{ "another resource",
	  REVIEW("\"uid\":\"u\",\"operation\":\"CREATE\",\"resource\":{\"group\":\"\",\"version\":\"v1\","
				     "\"resource\":\"pods\"}"),
	  -FL_E_INVALID, "webhook configuration", false, false },
	{ "another group",
	  REVIEW("\"uid\":\"u\",\"operation\":\"CREATE\",\"resource\":{\"group\":\"x\",\"version\":\"v1\","
				  "\"resource\":\"configmaps\"}"),
	  -FL_E_INVALID, "webhook configuration", false, false },
	{ "an object that is none", REVIEW("\"uid\":\"u\",\"operation\":\"CREATE\"," MAPS ",\"object\":7"),
	  -FL_E_INVALID, "", false,
	  false },
};

TEST(reviews_are_read)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
		struct fl_review review = { 0 };
		struct fl_err err = { 0 };
		int r;

		OK(fl_json_read(NULL, fl_str(row->json), 0, &doc, NULL));
		r = fl_review_read(&review, &fl_config_map_kind, yyjson_doc_get_root(doc), &arena, &err);
		if (row->result < 0) {
			REFUSED(r, (enum fl_code)-row->result);
			CHECK(strstr(err.text, row->why));
			continue;
		}
		OK(r);
		CHECK((review.object != NULL) == row->object);
		CHECK((review.old != NULL) == row->old);
		CHECK_STR(review.asked.uid, "u");
	}
}

/* ---- verdicts ---- */

static void nothing(struct fl_verdict *verdict)
{
	(void)verdict;
}

static void denies(struct fl_verdict *verdict)
{
	fl_deny(verdict, 409, "Node %s is taken", "n");
}

static void warns(struct fl_verdict *verdict)
{
	fl_allow(verdict);
	fl_warn(verdict, "old %d", 1);
	fl_warn(verdict, "and slow");
}

static const struct fl_owner may = {
	.manager = "test", .kind = &fl_config_map_kind,
	.paths = (const char *const[]){ "data", "metadata.labels[a/b]", NULL },
};

/* {"metadata":{"name":"m"},"data":{"old":"1"}}, in memory. */
static void mend(struct fl_verdict *verdict, struct fl_pair label, struct fl_pair data)
{
	static const char text[] = "{\"metadata\":{\"name\":\"m\"},\"data\":{\"old\":\"1\"},\"immutable\":false}";
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_config_map object = { 0 }, want = { 0 };
	struct fl_review review = { .kind = &fl_config_map_kind, .object = &object };

	fl_allow(verdict);
	FL_SET(FL_IN(&want, meta), name, FL_S("not ours to change"));
	FL_SET(&want.meta, labels, ((struct fl_map){ &label, 1 }));
	if (data.key.len)
		FL_SET(&want, data, ((struct fl_map){ &data, 1 }));
	if (fl_json_read(NULL, fl_str(text), 0, &doc, NULL) < 0 ||
	    fl_decode(fl_config_map_bind(), doc->root, verdict->arena, 0, &object, NULL) < 0) {
		verdict->failed = true;
		return;
	}
	review.json = doc->root;
	fl_verdict_want(verdict, &review, &may, &want);
}

static void mends(struct fl_verdict *verdict)
{
	mend(verdict, (struct fl_pair){ FL_S("a/b"), FL_S("c") }, (struct fl_pair){ FL_S(""), FL_S("") });
}

static void mends_and_denies(struct fl_verdict *verdict)
{
	mends(verdict);
	fl_deny(verdict, 422, "no");
}

static void mends_nothing(struct fl_verdict *verdict)
{
	struct fl_review review = { .kind = &fl_config_map_kind };

	fl_allow(verdict);
	fl_verdict_want(verdict, &review, &may, &(struct fl_config_map){ 0 });
}

#define ANSWER(rest) \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":\"u\"," rest "}}"

static const struct {
	const char *says;
	void (*decide)(struct fl_verdict *verdict);
	const char *answer;
} verdicts[] = {
	{ "allowed", fl_allow, ANSWER("\"allowed\":true") },
	{ "what nobody has decided is refused", nothing,
	  ANSWER("\"allowed\":false,\"status\":{\"message\":\"\",\"reason\":\"Forbidden\",\"code\":403}") },
	{ "refused, with code and words", denies,
	  ANSWER("\"allowed\":false,\"status\":{\"message\":\"Node n is taken\","
		 "\"reason\":\"Conflict\",\"code\":409}") },
	{ "warnings", warns, ANSWER("\"allowed\":true,\"warnings\":[\"old 1\",\"and slow\"]") },
	/* [{"op":"add","path":"/metadata/labels","value":{"a/b":"c"}},{"op":"remove","path":"/data"}]: the name is not
	 * in its list, and stays. */
	{ "a wanted object is a patch, within its list", mends,
	  ANSWER("\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":"
		 "\"W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscyIsInZhbHVlIjp7ImEvYiI6ImMifX0s"
		 "eyJvcCI6InJlbW92ZSIsInBhdGgiOiIvZGF0YSJ9XQ==\"") },
	{ "where there is no object there is no patch", mends_nothing, ANSWER("\"allowed\":true") },
	{ "what is refused is not patched", mends_and_denies,
	  ANSWER("\"allowed\":false,\"status\":{\"message\":\"no\",\"reason\":\"Invalid\",\"code\":422}") },
};

TEST(verdicts_are_written)
{
	EACH_ROW (row, verdicts) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_verdict) struct fl_verdict verdict;
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_REVIEW_ANSWER_MAX);

		fl_verdict_init(&verdict, &arena);
		row->decide(&verdict);
		OK(fl_verdict_write(&verdict, FL_S("u"), &arena, &out, NULL));
		CHECK_STR(fl_buf_view(&out), row->answer);
	}
}

TEST(what_a_verdict_says_is_bounded)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_verdict) struct fl_verdict verdict;
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_REVIEW_ANSWER_MAX), far = FL_BUF(FL_MIB);
	char text[FL_REVIEW_WARNING + 2];

	memset(text, 'a', sizeof text);
	memcpy(text + FL_REVIEW_WARNING - 1, "\xc3\xa4", 2);   /* one that the cut would split */
	text[sizeof text - 1] = '\0';
	fl_verdict_init(&verdict, &arena);
	fl_allow(&verdict);
	for (int i = 0; i < FL_REVIEW_WARNINGS + 3; i++)
		fl_warn(&verdict, "%s", text);
	CHECK_INT(verdict.warning_count, FL_REVIEW_WARNINGS);
	if (!verdict.failed)
		CHECK_INT(verdict.warnings[0].len, FL_REVIEW_WARNING - 1);
	while (far.len <= FL_REVIEW_PATCH_MAX && !far.failed)
		fl_buf_str(&far, FL_S("0123456789abcdef0123456789abcdef"));
	OK(fl_buf_check(&far, "a long value", NULL));
	mend(&verdict, (struct fl_pair){ FL_S("a/b"), FL_S("c") },
	     (struct fl_pair){ FL_S("long"), fl_buf_view(&far) });
	REFUSED(fl_verdict_write(&verdict, FL_S("u"), &arena, &out, NULL), FL_E_TOOBIG);
}
