/* Names of GPUDevices: the vectors, the limits, and what holds of any two Nodes. */
#include "plan/pool/names.h"
#include "base/chars.h"
#include "test.h"

static const struct fl_device_pci a100 = { .vendor = FL_S_INIT("10de"), .device = FL_S_INIT("20b0") };
static const struct fl_device_pci rtx = { .vendor = FL_S_INIT("10de"), .device = FL_S_INIT("2203") };
#define LONG "ip-10-0-12-34.a-very-long-zone-name.compute.internal.example.com"

static const struct {
	const char *says, *node;
	bool hashed;
	const char *index;
	const struct fl_device_pci *ids;
	const char *want;      /* NULL: it is too long */
} rows[] = {
	{ "the first vector", "Node 1", false, "0", &a100, "node-1-0-10de-20b0" },
	{ "the second vector", "k8s-w1-gpu.apiac.ru", false, "00", &rtx, "k8s-w1-gpu-apiac-ru-0-10de-2203" },
	{ "runs become one dash, none at the ends", "--A..b__", false, "7", &a100, "a-b-7-10de-20b0" },
	{ "nothing left is gpu", "...", false, "0", &a100, "gpu-0-10de-20b0" },
	{ "another index than a number", "n", false, "Left", &a100, "n-left-10de-20b0" },
	{ "a Node that is called alike", "a.b", true, "0", &a100, "a-b-2e7336dc-0-10de-20b0" },
	{ "and the other one", "a-b", true, "0", &a100, "a-b-d44362d6-0-10de-20b0" },
	{ "one that is too long", LONG, false, "0", &a100, NULL },
	{ "and shortened", LONG, true, "0", &a100, "ip-10-0-12-34-a-very-long-zone-n-a039b2b4-0-10de-20b0" },
	{ "no dash before the dash", "aaaaaaaaaabbbbbbbbbbccccccccccd-.x", true, "0", &a100,
	  "aaaaaaaaaabbbbbbbbbbccccccccccd-9ddb2fca-0-10de-20b0" },
};

TEST(names)
{
	EACH_ROW (row, rows) {
		char text[FL_DEVICE_TEXT];
		struct fl_buf out = FL_BUF_IN(text);
		bool ok = fl_device_name(fl_str(row->node), row->hashed, fl_device_index(fl_str(row->index)), row->ids,
					 &out);

		CHECK(ok == (row->want != NULL));
		if (row->want)
			CHECK_STR(fl_buf_view(&out), row->want);
	}
}

static const struct {
	const char *says, *text, *want;
} addresses[] = {
	{ "as it should be", "0000:3b:00.0", "0000:3b:00.0" },
	{ "in capitals, with blanks", " 0000:3B:0A.7 ", "0000:3b:0a.7" },
	{ "NVML's eight digits", "00000000:3B:00.0", "0000:3b:00.0" },
	{ "the last four of them", "0001abcd:3b:00.0", "abcd:3b:00.0" },
	{ "no such function", "0000:3b:00.8", "0000:3b:00.8" },
	{ "another form stays as it is", " 3B:00.0", " 3B:00.0" },
	{ "nothing", "", "" },
}, indexes[] = {
	{ "zeros in front go", "007", "7" }, { "zero stays", "00", "0" }, { "a text stays", "0x", "0x" },
	{ "ten", "10", "10" },
}, prefixes[] = {
	{ "what stands before the last three", "a-b-0-10de-20b0", "a-b" }, { "too few", "0-10de-20b0", "" },
	{ "nothing", "", "" },
};

TEST(addresses_indexes_and_prefixes)
{
	EACH_ROW (row, addresses) {
		char text[FL_DEVICE_TEXT] = "";
		struct fl_buf out = FL_BUF_IN(text);

		fl_device_address(fl_str(row->text), &out);
		CHECK_STR(fl_buf_view(&out), row->want);
	}
	EACH_ROW (row, indexes)
		CHECK_STR(fl_device_index(fl_str(row->text)), row->want);
	EACH_ROW (row, prefixes)
		CHECK_STR(fl_device_prefix_of(fl_str(row->text)), row->want);
}

TEST(an_index_in_a_name_is_no_other_ones)
{
	CHECK(fl_device_is_called(FL_S("n-0-10de-20b0"), FL_S("0"), &a100));
	CHECK(!fl_device_is_called(FL_S("n-10-10de-20b0"), FL_S("0"), &a100));
	CHECK(!fl_device_is_called(FL_S("n-0-10de-20b0"), FL_S("0"), &rtx));
	CHECK(fl_device_index_ok(FL_S("a1")) && !fl_device_index_ok(FL_S("a-1")) && !fl_device_index_ok(FL_S("")));
}

/* Names of Nodes as the API server takes them: up to 253 bytes of a-z 0-9 - and dots. */
static struct fl_str node_by_chance(char text[254])
{
	static const char from[] = "ab0-.";
	uint32_t len = 1 + (uint32_t)(test_random() % (test_random() % 4 ? 6 : 253));

	for (uint32_t i = 0; i < len; i++)
		text[i] = from[test_random() % (sizeof from - 1)];
	return (struct fl_str){ text, len };
}

static bool is_name(struct fl_str name)
{
	for (uint32_t i = 0; i < name.len; i++)
		if (!(fl_is_alnum(name.p[i]) || (name.p[i] == '-' && i && i + 1 < name.len)) ||
		    (name.p[i] >= 'A' && name.p[i] <= 'Z'))
			return false;
	return name.len && name.len <= FL_DEVICE_NAME;
}

TEST(any_two_nodes_have_names_that_differ)
{
	for (int i = 0; i < 5000; i++) {
		char node[2][254], text[2][FL_DEVICE_TEXT];
		struct fl_str name[2], of[2];

		for (int k = 0; k < 2; k++) {
			struct fl_buf out = FL_BUF_IN(text[k]);

			of[k] = node_by_chance(node[k]);
			CHECK(fl_device_name(of[k], true, FL_S("12345"), &a100, &out));   /* always short enough */
			name[k] = fl_buf_view(&out);
			CHECK(is_name(name[k]));
			CHECK(fl_device_is_called(name[k], FL_S("12345"), &a100));
		}
		CHECK(fl_str_eq(of[0], of[1]) == fl_str_eq(name[0], name[1]));
	}
}

TEST(a_prefix_is_that_of_its_name)
{
	for (int i = 0; i < 2000; i++) {
		char node[254], text[FL_DEVICE_TEXT], before[FL_DEVICE_TEXT];
		struct fl_buf out = FL_BUF_IN(text), prefix = FL_BUF_IN(before);
		struct fl_str of = node_by_chance(node);
		bool hashed = test_random() % 2;

		if (!fl_device_name(of, hashed, FL_S("3"), &a100, &out))
			continue;
		fl_device_prefix(of, hashed, &prefix);
		CHECK(is_name(fl_buf_view(&out)));
		CHECK(fl_str_eq(fl_device_prefix_of(fl_buf_view(&out)), fl_buf_view(&prefix)));
	}
}
