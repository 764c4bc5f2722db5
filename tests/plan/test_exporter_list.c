/* The exporter's list of fields: the table, the default list, and files as DCGM's exporter reads them. */
#include "base/metrics.h"
#include "plan/exporter/list.h"
#include "plan/exporter/lines.h"
#include "test.h"
#include <stdio.h>

static const struct {
	const char *says, *csv, *got, *why;
} rows[] = {
	{ "a line has a name, a type and a help", "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).\n",
	  "DCGM_FI_DEV_GPU_TEMP/gauge/GPU temperature (in C).;", NULL },
	{ "comments and empty lines are skipped", "# Format\n\n  \r\nDCGM_FI_DEV_GPU_TEMP, gauge, T\r\n",
	  "DCGM_FI_DEV_GPU_TEMP/gauge/T;", NULL },
	{ "a quoted help may have commas and quotes", "DCGM_FI_DEV_GPU_TEMP,gauge,\"a, \"\"b\"\"\"\n",
	  "DCGM_FI_DEV_GPU_TEMP/gauge/a, \"b\";", NULL },
	{ "a metric is called what the list calls it",
	  "DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, T\ndcgm_gpu_temp, gauge, T\n",
	  "DCGM_FI_DEV_GPU_TEMP_CELSIUS/gauge/T;dcgm_gpu_temp/gauge/T;", NULL },
	{ "a counter may be told as a gauge", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, gauge, E\n",
	  "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION/gauge/E;", NULL },
	{ "a text is a label", "DCGM_FI_DRIVER_VERSION, label, V\n", "DCGM_FI_DRIVER_VERSION/label/V;", NULL },
	{ "one link has a name of its own", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L17, counter, R\n",
	  "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L17/counter/R;", NULL },
	{ "there are 18 links with a name", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L18, counter, R\n", NULL,
	  "line 1: the field 'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L18' is unknown, or NVML does not have it: "
	  "leave it "
	  "out" },
	{ "a link is written in one way", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L07, counter, R\n", NULL,
	  "line 1: the field 'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L07' is unknown, or NVML does not have it: "
	  "leave it "
	  "out" },
	{ "an unknown field is refused with its line", "#\nDCGM_FI_DEV_GPU_TEMP, gauge, T\nDCGM_FI_DEV_NO, gauge, N\n",
	  NULL, "line 3: the field 'DCGM_FI_DEV_NO' is unknown, or NVML does not have it: leave it out" },
	{ "throughput by sampling is never served", "DCGM_FI_DEV_PCIE_TX_THROUGHPUT, counter, T\n", NULL,
	  "line 1: DCGM_FI_DEV_PCIE_TX_THROUGHPUT is not served: DCGM_FI_PROF_PCIE_TX_BYTES has it: leave it out" },
	{ "throughput by sampling is never served, received either", "DCGM_FI_DEV_PCIE_RX_THROUGHPUT, counter, T\n",
	  NULL,
	  "line 1: DCGM_FI_DEV_PCIE_RX_THROUGHPUT is not served: DCGM_FI_PROF_PCIE_RX_BYTES has it: leave it out" },
	{ "the health of DCGM's exporter is refused by name", "DCGM_EXP_GPU_HEALTH_STATUS, gauge, H\n", NULL,
	  "line 1: DCGM_EXP_GPU_HEALTH_STATUS is not served: fairlead_card_health, among the agent's own metrics, has "
	  "each GPU's health: leave it out" },
	{ "and so are its peers", "DCGM_EXP_P2P_STATUS, gauge, P\n", NULL,
	  "line 1: DCGM_EXP_P2P_STATUS is not served: the check 'nvlink' on the Node has the links between GPUs: leave "
	  "it out" },
	{ "a histogram is refused", "DCGM_FI_DEV_GPU_TEMP, histogram, T\n", NULL,
	  "line 1: DCGM_FI_DEV_GPU_TEMP: DCGM has one value of it, which is no histogram: write gauge or counter" },
	{ "a summary is refused", "DCGM_FI_DEV_GPU_TEMP, summary, T\n", NULL,
	  "line 1: DCGM_FI_DEV_GPU_TEMP: DCGM has one value of it, which is no summary: write gauge or counter" },
	{ "an unknown type is refused", "DCGM_FI_DEV_GPU_TEMP, gage, T\n", NULL,
	  "line 1: 'gage' is no type: write gauge, counter or label" },
	{ "a number is no label", "DCGM_FI_DEV_GPU_TEMP, label, T\n", NULL,
	  "line 1: DCGM_FI_DEV_GPU_TEMP is a number: write gauge or counter" },
	{ "a text is no gauge", "DCGM_FI_DEV_SERIAL, gauge, S\n", NULL,
	  "line 1: DCGM_FI_DEV_SERIAL is a text: write label" },
	{ "two fields are too few", "DCGM_FI_DEV_GPU_TEMP, gauge\n", NULL,
	  "line 1: 2 fields: write NAME, TYPE, HELP; quote a text with commas" },
	{ "four fields are too many", "DCGM_FI_DEV_GPU_TEMP, gauge, a, b\n", NULL,
	  "line 1: 4 fields: write NAME, TYPE, HELP; quote a text with commas" },
	{ "a quote must end", "DCGM_FI_DEV_GPU_TEMP, gauge, \"a\n", NULL, "line 1: a quoted text does not end" },
	{ "a name comes once", "DCGM_FI_DEV_GPU_TEMP, gauge, T\nDCGM_FI_DEV_GPU_TEMP, gauge, T\n", NULL,
	  "line 2: DCGM_FI_DEV_GPU_TEMP is there twice" },
	{ "an empty list is refused", "# nothing\n", NULL, "the list is empty: write a line for each field" },
};

static void print(const struct fl_dcgm_list *list, struct fl_buf *ret)
{
	for (uint32_t i = 0; i < list->len; i++)
		fl_buf_printf(ret, "%.*s/%s/%.*s;", FL_ARG(list->at[i].name),
			      fl_name(&fl_dcgm_type_names, (int)list->at[i].type), FL_ARG(list->at[i].help));
}

TEST(a_list_is_read_or_refused_with_its_line)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);
		struct fl_dcgm_list list = { 0 };
		struct fl_err err = { 0 };
		int r = fl_dcgm_list_read(fl_str(row->csv), &arena, &list, &err);

		if (row->why) {
			REFUSED(r, FL_E_INVALID);
			CHECK_STR(fl_str(err.text), row->why);
			continue;
		}
		OK_ERR(r, &err);
		print(&list, &got);
		OK(fl_buf_check(&got, "list", NULL));
		CHECK_STR(fl_buf_view(&got), row->got);
	}
}

/* A name of two rows would make two metrics of it, and Prometheus refuses the whole text. */
TEST(each_name_of_the_table_is_found_and_is_of_one_field)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_dcgm_list list = { 0 };

	for (int id = 0; id < FL_DCGM_COUNT; id++) {
		const struct fl_dcgm_field *f = &fl_dcgm_fields[id];
		const char *const names[] = { f->name, f->also, f->old };

		for (size_t i = 0; i < FL_LEN(names); i++) {
			struct fl_str name = fl_str(names[i]);
			int32_t link;

			if (!names[i] || fl_str_find(name, '#') >= 0)
				continue;
			CHECK(name.len < FL_METRIC_NAME);
			CHECK_INT(fl_dcgm_find(name, &link), id);
			CHECK_INT(link, -1);
		}
		CHECK(!f->name == !f->help[0]);
		CHECK((f->level == FL_DCGM_OF_LINK || f->level == FL_DCGM_OF_NAMED_LINK) ==
		      (fl_dcgm_link_field((uint32_t)id) >= 0));
	}
	OK(fl_dcgm_list_usual(&arena, &list, NULL));
	CHECK_INT(list.len, 26);
}

static void put_name(struct fl_buf *buf, const char *name)
{
	if (name)
		fl_buf_printf(buf, " `%s`", name);
	fl_buf_str(buf, FL_S(" |"));
}

static const char *const levels[] = { [FL_DCGM_OF_GPU] = "GPU", [FL_DCGM_OF_INSTANCE] = "GPU instance",
				      [FL_DCGM_OF_LINK] = "NVLink", [FL_DCGM_OF_NAMED_LINK] = "GPU" };

TEST(the_page_lists_every_field)
{
	static char page[256 * 1024];
	FILE *file = fopen(METRICS_PAGE, "r");
	size_t len = file ? fread(page, 1, sizeof page - 1, file) : 0;
	char *at = len ? strstr(page, "|---|---|---|---|---|---|---|\n") : NULL;
	struct fl_str rest, line;

	if (file)
		(void)fclose(file);
	CHECK(at);
	rest = fl_str(strchr(at, '\n') + 1);
	for (uint32_t i = 0; i < FL_DCGM_COUNT; i++) {
		FL_AUTO(fl_buf) struct fl_buf want = FL_BUF(FL_KIB);
		const struct fl_dcgm_field *f = &fl_dcgm_fields[i];

		if (!f->name)
			continue;
		fl_buf_char(&want, '|');
		put_name(&want, f->name);
		put_name(&want, f->also);
		put_name(&want, f->old);
		fl_buf_printf(&want, " %s | %s |%s | %s |", fl_name(&fl_dcgm_type_names, (int)f->type),
			      levels[f->level], f->usual ? " yes" : "", f->help);
		OK(fl_buf_check(&want, "row", NULL));
		CHECK(fl_str_split(&rest, '\n', &line));
		CHECK_STR(line, want.p);
	}
	CHECK(fl_str_split(&rest, '\n', &line) && !line.len);
}
