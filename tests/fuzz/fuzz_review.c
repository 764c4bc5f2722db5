/* AdmissionReviews: whoever reaches the webhooks' port may send anything. What is read names its question; each verdict
 * is written as a review that can be read, with that uid and within its bounds. */
#include "api/core.h"
#include "fuzz.h"
#include "serve/review.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

static struct fl_str text_of(yyjson_val *object, struct fl_str key)
{
	struct fl_str text = { 0 };

	(void)fl_json_str(fl_json_get(object, key), &text);
	return text;
}

static const struct fl_owner may = {
	.manager = "fuzz", .kind = &fl_config_map_kind,
	.paths = (const char *const[]){ "data", "metadata.labels[a/b]", "metadata.ownerReferences", NULL },
};

/* Says of the object what a webhook would: in a message, a warning and a wanted object. */
static void judge(const struct fl_review *review, bool allow, struct fl_verdict *verdict)
{
	const struct fl_config_map *map = review->object;
	struct fl_str name = map ? map->meta.name : review->asked.name;
	struct fl_pair pair = { FL_S_INIT("a/b"), FL_S_INIT("c") };
	struct fl_owner_ref owner = { 0 };
	struct fl_config_map wanted = { 0 };

	FL_SET(&owner, uid, FL_S("u"));
	FL_SET(FL_IN(&wanted, meta), labels, ((struct fl_map){ &pair, 1 }));
	FL_SET(&wanted.meta, owner_references, ((struct fl_owner_ref_list){ &owner, 1 }));

	fl_warn(verdict, "of %.*s by %.*s", FL_ARG(name), FL_ARG(review->asked.user.username));
	if (!allow) {
		fl_deny(verdict, 422, "%.*s", FL_ARG(name));
		return;
	}
	fl_allow(verdict);
	fl_verdict_want(verdict, review, &may, &wanted);
}

/* Has the object the label that is wanted? Then there may be nothing to change. */
static bool is_so(const struct fl_config_map *map)
{
	for (uint32_t i = 0; i < map->meta.labels.len; i++)
		if (fl_str_eq(map->meta.labels.at[i].key, FL_S("a/b")))
			return fl_str_eq(map->meta.labels.at[i].value, FL_S("c"));
	return false;
}

static void answer(const struct fl_review *review, bool allow, struct fl_arena *arena)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_REVIEW_ANSWER_MAX);
	FL_AUTO(fl_verdict) struct fl_verdict verdict;
	struct fl_json_space space = { 0 };
	bool allowed, patched;
	yyjson_val *response;
	yyjson_doc *doc;

	fl_verdict_init(&verdict, arena);
	judge(review, allow, &verdict);
	if (fl_verdict_write(&verdict, review->asked.uid, arena, &out, NULL) == 0) {
		must(out.len <= FL_REVIEW_ANSWER_MAX);
		must(fl_json_read(&space, fl_buf_view(&out), 0, &doc, NULL) == 0);
		response = fl_json_get(yyjson_doc_get_root(doc), FL_S("response"));
		must(fl_str_eq(text_of(response, FL_S("uid")), review->asked.uid));
		allowed = yyjson_is_true(fl_json_get(response, FL_S("allowed")));
		patched = fl_json_get(response, FL_S("patch")) != NULL;
		/* What is wanted of an object can refuse it, and changes nothing else. */
		must(allowed == allow || (allow && review->object));
		must(patched ? allowed && review->object : !allowed || !review->object || is_so(review->object));
	}
	fl_json_space_free(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text = { (const char *)data, (uint32_t)size };
	struct fl_json_space space = { 0 };
	struct fl_review review = { 0 };
	yyjson_doc *doc;

	if (fl_json_read(&space, text, 0, &doc, NULL) == 0 &&
	    fl_review_read(&review, &fl_config_map_kind, yyjson_doc_get_root(doc), &arena, NULL) == 0) {
		must(review.kind == &fl_config_map_kind && review.asked.uid.len);
		answer(&review, true, &arena);
		answer(&review, false, &arena);
	}
	fl_json_space_free(&space);
	return 0;
}
