/* The exporter's lines and labels. */
#include "base/metrics.h"
#include "plan/exporter/lines.h"
#include "test.h"
#include <stdlib.h>

enum { MIG = 1, NO_HOST = 2, OLD = 4, BLANKS = 8, ONCE = 16, SILENT = 32, XIDS = 64, UIDS = 128 };

/* One card, with values of a few fields; in MIG mode with GPU instance 3 of two compute instances. */
struct house {
	struct fl_dcgm_gpu gpu, *gpus[1];
	struct fl_partition parts[2];
	struct fl_card card;
	struct fl_holder holders[3];
	struct fl_str ids[3];
	struct fl_dcgm_late_xid late[2];
};

static void put_holder(struct house *house, int i, const char *container, const char *pod, const char *id)
{
	struct fl_holder *holder = &house->holders[i];

	house->ids[i] = fl_str(id);
	holder->container = fl_str(container);
	holder->pod = fl_str(pod);
	holder->pod_space = FL_S("ns");
	holder->devices.at = &house->ids[i];
	holder->devices.len = 1;
}

static void furnish(struct house *house, unsigned flags)
{
	static const char *const uuids[] = { "MIG-a", "MIG-b" };

	house->gpus[0] = &house->gpu;
	memcpy(house->gpu.address, "0000:0a:00.0", 13);
	fl_dcgm_clear(&house->gpu);
	house->gpu.has = true;
	house->gpu.at[FL_DCGM_GPU_TEMP] = 41;
	house->gpu.at[FL_DCGM_POWER_USAGE] = 71.5;
	house->gpu.at[FL_DCGM_FB_USED] = 1000;
	house->gpu.at[FL_DCGM_GPU_UTIL] = 0;
	house->gpu.at[FL_DCGM_TOTAL_ENERGY_CONSUMPTION] = 2500;
	house->gpu.at[FL_DCGM_ROW_REMAP_PENDING] = 1;
	house->card.answer = flags & SILENT ? FL_CARD_LOST : FL_CARD_ANSWERS;
	house->card.meta.name = FL_S("0000:0a:00.0");
	house->card.uuid = FL_S("GPU-1");
	house->card.index = 2;
	house->card.minor = 5;
	house->card.product = FL_S("NVIDIA A100");
	if (flags & MIG) {
		house->gpu.part_len = 1;
		house->gpu.parts[0].gi = 3;
		for (uint32_t i = 0; i < FL_DCGM_COUNT; i++)
			house->gpu.parts[0].at[i] = house->gpu.at[FL_DCGM_SM_CLOCK];   /* none */
		house->gpu.parts[0].at[FL_DCGM_FB_USED] = 7;
		house->card.partitions.at = house->parts;
		house->card.partitions.len = 2;
		for (int i = 0; i < 2; i++) {
			house->parts[i].gi = 3;
			house->parts[i].ci = i;
			house->parts[i].uuid = fl_str(uuids[i]);
			house->parts[i].profile = FL_S("1c.3g.40gb");
		}
	}
	if (flags & XIDS) {
		house->gpu.last_xid[0] = 31;
		house->gpu.xids[0] = (struct fl_dcgm_xid){ -1, 31, 4 };
		house->gpu.xid_len = 1;
		house->late[0] = (struct fl_dcgm_late_xid){ "0000:0a:00.0", -1, 31, 100 * FL_NS_PER_S, 1 };
		house->late[1] = (struct fl_dcgm_late_xid){ "0000:0a:00.0", -1, 31, 990 * FL_NS_PER_S, 3 };
	}
}

#define HEAD "gpu=\"2\",UUID=\"GPU-1\",pci_bus_id=\"00000000:0A:00.0\",device=\"nvidia2\",modelName=\"NVIDIA A100\""
#define HOST ",Hostname=\"n1\",hostname=\"n1\""
#define PART HEAD ",GPU_I_PROFILE=\"3g.40gb\",GPU_I_ID=\"3\"" HOST
#define TYPE(name) "# HELP " name " h\n# TYPE " name " gauge\n"

static const struct {
	const char *says, *csv, *holders[3][3];
	unsigned flags;
	const char *want;
} rows[] = {
	{ "a line names the GPU by index, not by minor", "DCGM_FI_DEV_GPU_TEMP,gauge,h", { { 0 } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{" HEAD HOST "} 41\n" },
	{ "what is no whole number has six decimals", "DCGM_FI_DEV_POWER_USAGE,gauge,h", { { 0 } }, 0,
	  TYPE("DCGM_FI_DEV_POWER_USAGE") "DCGM_FI_DEV_POWER_USAGE{" HEAD HOST "} 71.500000\n" },
	{ "a value that is not there has no line and no type", "DCGM_FI_DEV_SM_CLOCK,gauge,h", { { 0 } }, 0, "" },
	{ "a GPU that does not answer has no lines", "DCGM_FI_DEV_GPU_TEMP,gauge,h", { { 0 } }, SILENT, "" },
	{ "a label metric is on every line", "DCGM_FI_DEV_GPU_TEMP,gauge,h\nDCGM_FI_DRIVER_VERSION,label,v",
	  { { 0 } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{" HEAD HOST ",DCGM_FI_DRIVER_VERSION=\"550\"} 41\n" },
	{ "without host names", "DCGM_FI_DEV_GPU_TEMP,gauge,h", { { 0 } }, NO_HOST,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{" HEAD "} 41\n" },
	{ "a model without blanks", "DCGM_FI_DEV_GPU_TEMP,gauge,h", { { 0 } }, BLANKS | NO_HOST,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{gpu=\"2\",UUID=\"GPU-1\",pci_bus_id=\"00000000:0A:00.0\","
	  "device=\"nvidia2\",modelName=\"NVIDIA-A100\"} 41\n" },
	{ "the Pod that has it is named, also at 0", "DCGM_FI_DEV_GPU_UTIL,gauge,h", { { "c", "p", "GPU-1" } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST
	  ",container=\"c\",namespace=\"ns\",pod=\"p\"} 0\n" },
	{ "the Pod of another GPU is not", "DCGM_FI_DEV_GPU_UTIL,gauge,h", { { "c", "p", "GPU-2" } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST "} 0\n" },
	{ "another plugin's ID is known, by index", "DCGM_FI_DEV_GPU_UTIL,gauge,h", { { "c", "p", "nvidia2" } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST
	  ",container=\"c\",namespace=\"ns\",pod=\"p\"} 0\n" },
	{ "a Pod that the runtime has is told with its labels and its UID", "DCGM_FI_DEV_GPU_UTIL,gauge,h",
	  { { "c", "p", "GPU-1::0" }, { "c", "q", "GPU-1::1" } }, UIDS | NO_HOST,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD
	  ",app=\"x\",container=\"c\",namespace=\"ns\",pod=\"p\",pod_uid=\"u-1\"} 0\n"
	  "DCGM_FI_DEV_GPU_UTIL{" HEAD ",container=\"c\",namespace=\"ns\",pod=\"q\"} 0\n" },
	{ "replicas: a line a container", "DCGM_FI_DEV_GPU_UTIL,gauge,h",
	  { { "c", "p", "GPU-1::0" }, { "c", "q", "GPU-1::1" } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST
	  ",container=\"c\",namespace=\"ns\",pod=\"p\"} 0\n"
	  "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST ",container=\"c\",namespace=\"ns\",pod=\"q\"} 0\n" },
	{ "two replicas of one container are one line", "DCGM_FI_DEV_GPU_UTIL,gauge,h",
	  { { "c", "p", "GPU-1::0" }, { "c", "p", "GPU-1::1" } }, 0,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{" HEAD HOST
	  ",container=\"c\",namespace=\"ns\",pod=\"p\"} 0\n" },
	{ "the labels of version 1", "DCGM_FI_DEV_GPU_UTIL,gauge,h", { { "c", "p", "GPU-1" } }, OLD | NO_HOST,
	  TYPE("DCGM_FI_DEV_GPU_UTIL") "DCGM_FI_DEV_GPU_UTIL{gpu=\"2\",uuid=\"GPU-1\",pci_bus_id=\"00000000:0A:00.0\","
	  "device=\"nvidia2\",modelName=\"NVIDIA A100\",container_name=\"c\",pod_namespace=\"ns\",pod_name=\"p\"} "
	  "0\n" },
	{ "a GPU instance has memory of its own", "DCGM_FI_DEV_FB_USED,gauge,h", { { 0 } }, MIG,
	  TYPE("DCGM_FI_DEV_FB_USED") "DCGM_FI_DEV_FB_USED{" PART "} 7\n" },
	{ "a GPU instance repeats what its GPU has", "DCGM_FI_DEV_GPU_TEMP,gauge,h", { { 0 } }, MIG,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{" PART "} 41\n" },
	{ "once a GPU, if told so", "DCGM_FI_DEV_GPU_TEMP,gauge,h\nDCGM_FI_DEV_FB_USED,gauge,h", { { 0 } }, MIG | ONCE,
	  TYPE("DCGM_FI_DEV_GPU_TEMP") "DCGM_FI_DEV_GPU_TEMP{" HEAD HOST "} 41\n"
	  TYPE("DCGM_FI_DEV_FB_USED") "DCGM_FI_DEV_FB_USED{" PART "} 7\n" },
	{ "compute instances of one GPU instance: a line a Pod", "DCGM_FI_DEV_FB_USED,gauge,h",
	  { { "c", "p", "MIG-a" }, { "d", "q", "MIG-b" }, { "e", "r", "MIG-c" } }, MIG,
	  TYPE("DCGM_FI_DEV_FB_USED") "DCGM_FI_DEV_FB_USED{" PART ",container=\"c\",namespace=\"ns\",pod=\"p\"} 7\n"
	  "DCGM_FI_DEV_FB_USED{" PART ",container=\"d\",namespace=\"ns\",pod=\"q\"} 7\n" },
	{ "no XID yet is 0", "DCGM_FI_DEV_XID_ERRORS,gauge,h", { { 0 } }, NO_HOST,
	  TYPE("DCGM_FI_DEV_XID_ERRORS") "DCGM_FI_DEV_XID_ERRORS{" HEAD ",err_code=\"0\",err_msg=\"no error\"} 0\n" },
	{ "the last XID stays", "DCGM_FI_DEV_XID_ERRORS,gauge,h", { { 0 } }, NO_HOST | XIDS,
	  TYPE("DCGM_FI_DEV_XID_ERRORS") "DCGM_FI_DEV_XID_ERRORS{" HEAD
	  ",err_code=\"31\",err_msg=\"an application touched memory that is not its own\"} 31\n" },
	{ "XIDs of the window are counted", "DCGM_EXP_XID_ERRORS_COUNT,gauge,h", { { 0 } }, NO_HOST | XIDS,
	  TYPE("DCGM_EXP_XID_ERRORS_COUNT") "DCGM_EXP_XID_ERRORS_COUNT{" HEAD
	  ",window_size_in_ms=\"300000\",xid=\"31\"} 3\n" },
	{ "a window without XIDs says 0", "DCGM_EXP_XID_ERRORS_COUNT,gauge,h", { { 0 } }, NO_HOST,
	  TYPE("DCGM_EXP_XID_ERRORS_COUNT") "DCGM_EXP_XID_ERRORS_COUNT{" HEAD ",window_size_in_ms=\"300000\"} 0\n" },
};

/* The text of the list; then, with `own`, that of fairlead_gpu_*. */
static int write_text(const char *csv, struct house *house, uint32_t holders, unsigned flags, bool own,
		      struct fl_buf *ret)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_dcgm_list list = { 0 };
	static const struct fl_dcgm_pod pod = { FL_S_INIT("ns"), FL_S_INIT("p"), FL_S_INIT("u-1"),
						FL_S_INIT(",app=\"x\"") };
	struct fl_dcgm_lines lines;
	struct fl_dcgm_facts facts = {
		.list = &list, .gpus = house->gpus, .gpu_len = 1, .cards = &house->card, .card_len = 1,
		.holders = house->holders, .holder_len = holders, .late = house->late, .late_len = flags & XIDS ? 2 : 0,
		.pods = &pod, .pod_len = flags & UIDS ? 1 : 0, .now = 1000 * FL_NS_PER_S, .updated = 1700000000.25,
		.style = { .node = FL_S("n1"), .version = FL_S("550"), .no_hostname = flags & NO_HOST,
			   .old_names = flags & OLD, .no_blanks = flags & BLANKS, .once = flags & ONCE,
			   .pod_uid = flags & UIDS,
			   .window_xids = FL_DCGM_WINDOW, .window_clocks = FL_DCGM_WINDOW },
	};
	uint32_t at = 0;

	if (fl_dcgm_list_read(fl_str(csv), &arena, &list, NULL) < 0 || fl_dcgm_lines_make(&facts, &arena, &lines) < 0)
		return -FL_E_NOMEM;
	while ((own || at < list.len) && fl_dcgm_lines_put(&lines, at++, ret))
		continue;
	return fl_buf_check(ret, "lines", NULL);
}

TEST(lines_and_labels)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(64 * FL_KIB);
		struct house house = { 0 };
		int n = 0;

		furnish(&house, row->flags);
		for (; n < 3 && row->holders[n][0]; n++)
			put_holder(&house, n, row->holders[n][0], row->holders[n][1], row->holders[n][2]);
		OK(write_text(row->csv, &house, (uint32_t)n, row->flags, false, &got));
		CHECK_STR(fl_buf_view(&got), row->want);
	}
}

#define OWN "gpu=\"2\",uuid=\"GPU-1\",pci_bus_id=\"00000000:0A:00.0\",model=\"NVIDIA A100\",node=\"n1\""

TEST(our_own_metrics_have_base_units_and_each_value_once)
{
	FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(64 * FL_KIB);
	struct house house = { 0 };

	furnish(&house, MIG | XIDS);
	OK(write_text("DCGM_FI_DEV_SM_CLOCK,gauge,h", &house, 0, MIG | XIDS, true, &got));
	CHECK_STR(fl_buf_view(&got),
		  "# HELP fairlead_gpu_energy_joules_total Energy consumed since the driver was loaded.\n"
		  "# TYPE fairlead_gpu_energy_joules_total counter\n"
		  "fairlead_gpu_energy_joules_total{" OWN "} 2.5\n"
		  "# HELP fairlead_gpu_row_remaps_pending Whether the next reset remaps memory rows.\n"
		  "# TYPE fairlead_gpu_row_remaps_pending gauge\n"
		  "fairlead_gpu_row_remaps_pending{" OWN "} 1\n"
		  "# HELP fairlead_gpu_xid_errors_total XIDs reported since the agent started.\n"
		  "# TYPE fairlead_gpu_xid_errors_total counter\n"
		  "fairlead_gpu_xid_errors_total{" OWN ",xid=\"31\"} 4\n"
		  "# HELP dcgm_exporter_last_update_time_seconds Time of the last complete collection, since 1970.\n"
		  "# TYPE dcgm_exporter_last_update_time_seconds gauge\n"
		  "dcgm_exporter_last_update_time_seconds 1700000000.250\n"
		  "# HELP fairlead_exporter_lines_left_out Lines left out of this text, for there are too many.\n"
		  "# TYPE fairlead_exporter_lines_left_out gauge\n"
		  "fairlead_exporter_lines_left_out 0\n");
}
