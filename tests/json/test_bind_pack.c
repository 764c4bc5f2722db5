/* The packed form: small, the same for the same object, and all of it comes back. */
#include "api/core.h"
#include "api/demo.h"
#include "api/walk.h"
#include "base/units.h"
#include "json/bind_pack.h"
#include "test.h"

static const uint64_t seed[2] = { 1, 2 };

/* What is packed holds its interned texts until the end of the test. */
struct packed {
	const struct fl_bind *bind;
	struct fl_buf bytes;
	struct fl_interns *interns;
};

static void packed_auto_(struct packed *p)
{
	if (p->bytes.len)
		fl_pack_drop(p->bind, fl_buf_view(&p->bytes), p->interns);
	fl_buf_free(&p->bytes);
}

#define PACKED(s, pool) { .bind = s##_bind(), .bytes = FL_BUF(FL_MIB), .interns = (pool) }

static int pack(struct packed *p, const void *object)
{
	return fl_pack(p->bind, object, p->interns, &p->bytes, NULL);
}

TEST(what_is_packed_comes_back)
{
	for (int round = 0; round < 40; round++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_interns) struct fl_interns interns;
		FL_AUTO(packed) struct packed one = PACKED(fl_demo, &interns), two = PACKED(fl_demo, &interns);
		struct fl_demo made, back;

		fl_interns_init(&interns, seed);
		OK(test_make(fl_demo_bind(), &arena, &made));
		OK(pack(&one, &made));
		OK(fl_unpack(fl_demo_bind(), fl_buf_view(&one.bytes), &arena, &back, NULL));
		CHECK(fl_equal(fl_demo_bind(), &made, &back));
		CHECK_INT(made.spec.delay, back.spec.delay);   /* a default, mostly */
		OK(pack(&two, &back));
		CHECK(fl_str_eq(fl_buf_view(&one.bytes), fl_buf_view(&two.bytes)));
	}
}

static const struct {
	const char *says, *in;   /* of a demo's status */
	uint32_t bytes;          /* of it, without the two of the root */
} size_rows[] = {
	{ "nothing is a byte", "", 1 },
	{ "a small integer is a byte more", "\"replicas\":63", 2 },
	{ "a large one is two", "\"replicas\":64", 3 },
	{ "a negative one is no longer", "\"replicas\":-64", 2 },
	{ "a text is its bytes and one", "\"selector\":\"abc\"", 5 },
	{ "a number in a text is a varint", "\"selector\":\"1234567\"", 5 },
	{ "one that would print otherwise is a text", "\"selector\":\"0123\"", 6 },
	{ "a UUID is 16 bytes", "\"uuid\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", 18 },
	{ "that of a GPU too", "\"uuid\":\"GPU-6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", 18 },
	{ "that of a partition too", "\"uuid\":\"MIG-6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", 18 },
	{ "in capitals it is a text", "\"uuid\":\"6BA7B810-9DAD-11D1-80B4-00C04FD430C8\"", 38 },
	{ "with another prefix too", "\"uuid\":\"CPU-6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", 42 },
	{ "with dashes elsewhere too", "\"uuid\":\"6ba7b8109-dad-11d1-80b4-00c04fd430c8\"", 38 },
	{ "an interned text is a handle", "\"nodeName\":\"a-long-name-of-a-node-in-some-zone\"", 8 },
	{ "an enum is a byte", "\"phase\":\"Landed\"", 2 },
	{ "objects cost a byte each", "\"capacity\":{\"total\":1}", 3 },
	{ "a condition: two handles, a time in seconds, an enum",
	  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"R\","
	  "\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"}]", 24 },
};

static int read_status(const char *inside, struct fl_arena *arena, struct fl_demo *ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	fl_buf_printf(&text, "{\"status\":{%s}}", inside);
	return text.failed ? -FL_E_NOMEM : test_read(fl_demo_bind(), text.p, 0, arena, ret, NULL);
}

TEST(the_packed_form_is_small)
{
	EACH_ROW (row, size_rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_interns) struct fl_interns interns;
		FL_AUTO(packed) struct packed p = PACKED(fl_demo_status, &interns);
		struct fl_demo demo;

		fl_interns_init(&interns, seed);
		OK(read_status(row->in, &arena, &demo));
		OK(pack(&p, &demo.status));
		CHECK_INT(p.bytes.len, row->bytes);
	}
}

TEST(one_member_is_read_without_the_rest)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_interns) struct fl_interns interns;
	FL_AUTO(packed) struct packed p = PACKED(fl_demo, &interns);
	struct fl_str packed, text;
	struct fl_condition_list conditions;
	struct fl_demo demo;
	int32_t number;
	int64_t delay;

	fl_interns_init(&interns, seed);
	OK(test_read(fl_demo_bind(), "{\"metadata\":{\"name\":\"a\",\"uid\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"},"
				     "\"spec\":{\"displayName\":\"r\",\"limits\":{\"cpu\":\"1000\"},\"replicas\":7},"
				     "\"status\":{\"nodeName\":\"n\",\"conditions\":[{\"type\":\"Ready\"}]}}",
		     0, &arena, &demo, NULL));
	OK(pack(&p, &demo));
	packed = fl_buf_view(&p.bytes);

	CHECK_INT(FL_PEEK(fl_demo, meta.name, packed, &arena, &text), 1);
	CHECK_STR(text, "a");
	OK(FL_PEEK(fl_demo, meta.uid, packed, &arena, &text));
	CHECK_STR(text, "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
	CHECK_INT(FL_PEEK(fl_demo, spec.replicas, packed, &arena, &number), 1);
	CHECK_INT(number, 7);
	CHECK_INT(FL_PEEK(fl_demo, status.node_name, packed, &arena, &text), 1);
	CHECK_STR(text, "n");
	OK(FL_PEEK(fl_demo, status.conditions, packed, &arena, &conditions));
	CHECK_INT(conditions.len, 1);
	CHECK_STR(conditions.at[0].type, "Ready");

	/* What is absent has its default, also inside an absent object. */
	CHECK_INT(FL_PEEK(fl_demo, spec.delay, packed, &arena, &delay), 0);
	CHECK_INT(delay, 4 * 3600 * (int64_t)FL_NS_PER_S);
	CHECK_INT(FL_PEEK(fl_demo, spec.backup.zone, packed, &arena, &text), 0);
	CHECK_STR(text, "north");
	CHECK_INT(FL_PEEK(fl_demo, status.capacity.total, packed, &arena, &number), 0);
	CHECK_INT(number, 0);

	CHECK_INT(FL_PEEK_RAW(fl_demo, meta.uid, packed).len, 17);
	CHECK_STR(FL_PEEK_RAW(fl_demo, meta.name, packed), "\x01"
							   "a");
	CHECK_INT(FL_PEEK_RAW(fl_demo, spec.backup.zone, packed).len, 0);
}

TEST(interned_texts_go_with_the_last_that_holds_them)
{
	FL_AUTO(fl_interns) struct fl_interns interns;
	struct fl_demo_status status = { 0 };

	fl_interns_init(&interns, seed);
	FL_SET(&status, node_name, FL_S("node-1"));
	{
		FL_AUTO(packed) struct packed one = PACKED(fl_demo_status, &interns), two = PACKED(fl_demo_status,
												   &interns);

		OK(pack(&one, &status));
		OK(pack(&two, &status));
		CHECK(fl_intern_find(&interns, FL_S("node-1")) != NULL);
		CHECK_INT(fl_intern_find(&interns, FL_S("node-1"))->holders, 2);
	}
	CHECK(fl_intern_find(&interns, FL_S("node-1")) == NULL);
}

TEST(what_does_not_fit_holds_nothing)
{
	FL_AUTO(fl_interns) struct fl_interns interns;
	struct fl_condition conditions[3] = { 0 };
	struct fl_demo_status status = { 0 };

	fl_interns_init(&interns, seed);
	FL_SET(&status, node_name, FL_S("node-1"));
	for (uint32_t i = 0; i < FL_LEN(conditions); i++) {
		FL_SET(&conditions[i], type, FL_S("Ready"));
		FL_SET(&conditions[i], reason, FL_S("Because"));
	}
	FL_SET(&status, conditions, ((struct fl_condition_list){ conditions, FL_LEN(conditions) }));
	for (size_t max = 1; max < 54; max++) {
		FL_AUTO(fl_buf) struct fl_buf bytes = FL_BUF(max);
		int r;

		fl_buf_char(&bytes, '!');
		r = fl_pack(fl_demo_status_bind(), &status, &interns, &bytes, NULL);
		REFUSED(r, FL_E_TOOBIG);
		CHECK_INT(bytes.len, 1);
		CHECK(!fl_intern_find(&interns, FL_S("Ready")) && !fl_intern_find(&interns, FL_S("node-1")));
	}
}

TEST(broken_bytes_are_refused)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(packed) struct packed p = PACKED(fl_demo, NULL);
	struct fl_demo made, back;

	OK(test_make(fl_demo_bind(), &arena, &made));
	OK(pack(&p, &made));
	for (uint32_t len = 0; len < p.bytes.len; len++)
		CHECK(fl_unpack(fl_demo_bind(), (struct fl_str){ p.bytes.p, len }, &arena, &back, NULL) < 0);
	REFUSED(fl_unpack(fl_demo_bind(), FL_S("\0\0"), &arena, &back, NULL), FL_E_CORRUPT);
	REFUSED(fl_unpack(fl_demo_bind(), FL_S("\x7f"), &arena, &back, NULL), FL_E_CORRUPT);
	REFUSED(fl_unpack(fl_demo_port_bind(), FL_S("\x01\xff"), &arena, &back, NULL), FL_E_CORRUPT);
	REFUSED(fl_unpack(fl_demo_port_bind(), FL_S("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), &arena, &back,
			  NULL),
		FL_E_CORRUPT);
}

/* ---- a Pod as a cache keeps it ---- */

static const char pod_json[] =
	"{\"metadata\":{\"name\":\"train-7d9f8c6b5d-x2x9k\",\"namespace\":\"team-a\",\"resourceVersion\":\"12345678\","
	"\"uid\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\",\"labels\":{\"app\":\"train\",\"pod-template-hash\":"
	"\"7d9f8c6b5d\","
	"\"gpu-control-plane.deckhouse.io/pool\":\"a100\",\"gpu-control-plane.deckhouse.io/pool-scope\":"
	"\"namespaced\"},"
	"\"managedFields\":[{\"manager\":\"kubelet\"}]},"
	"\"spec\":{\"nodeName\":\"gpu-node-0017\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
	"\"limits\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"gpu.deckhouse.io/a100\":\"1\"},"
	"\"requests\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"gpu.deckhouse.io/a100\":\"1\"}}},{\"name\":\"d\","
	"\"resources\":{}}]},"
	"\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},"
	"{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"}]}}";

TEST(a_cached_pod_keeps_only_what_plans_read)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_interns) struct fl_interns interns;
	FL_AUTO(packed) struct packed p = PACKED(fl_pod, &interns);
	struct fl_pod pod;

	fl_interns_init(&interns, seed);
	OK(test_read(fl_pod_bind(), pod_json, 0, &arena, &pod, NULL));
	OK(test_write(fl_pod_bind(), &pod, &text, NULL));
	CHECK_STR(fl_buf_view(&text),
		  "{\"metadata\":{\"name\":\"train-7d9f8c6b5d-x2x9k\",\"namespace\":\"team-a\","
		  "\"uid\":\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\",\"resourceVersion\":\"12345678\",\"labels\":{"
		  "\"app\":\"train\","
		  "\"gpu-control-plane.deckhouse.io/pool\":\"a100\",\"gpu-control-plane.deckhouse.io/pool-scope\":"
		  "\"namespaced\"}},"
		  "\"spec\":{\"nodeName\":\"gpu-node-0017\",\"containers\":[{\"resources\":{"
		  "\"limits\":{\"gpu.deckhouse.io/a100\":\"1\"},\"requests\":{\"gpu.deckhouse.io/a100\":\"1\"}}},{"
		  "\"resources\":{}}]},"
		  "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
	CHECK(!pod.has.faults);
	OK(pack(&p, &pod));
	CHECK(p.bytes.len <= 170);
}
