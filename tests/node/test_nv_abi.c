#include "node/gpu/nv_abi.h"
#include "test.h"

/* A library that has only the names that it was given. */
struct library {
	const char *const *names;
	size_t n;
};

static void *find(void *library, const char *name)
{
	const struct library *l = library;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return (void *)&l->names[i];
	return NULL;
}

TEST(names)
{
	static const char *const newest[] = { "nvmlInit_v2", "nvmlInit", "nvmlDeviceGetComputeRunningProcesses_v3",
					      "nvmlDeviceGetComputeRunningProcesses_v2" };
	static const char *const older[] = { "nvmlInit", "nvmlDeviceGetComputeRunningProcesses_v2" };
	static const char *const oldest[] = { "nvmlDeviceGetComputeRunningProcesses" };
	static const struct {
		const char *says;
		struct library library;
		size_t found;
		const char *const *init, *const *processes, *const *processes_v1;
	} rows[] = {
		{ "the newest name is taken", { newest, 4 }, 2, &newest[0], &newest[2], NULL },
		{ "an older driver's is, where there is no newer", { older, 2 }, 2, &older[0], &older[1], NULL },
		{ "what takes other arguments is another member", { oldest, 1 }, 1, NULL, NULL, &oldest[0] },
		{ "no library at all has nothing", { NULL, 0 }, 0, NULL, NULL, NULL },
	};

	EACH_ROW (row, rows) {
		struct library library = row->library;
		struct fl_nv_calls calls;
		CHECK_INT(fl_nv_resolve(&calls, find, &library), row->found);
		CHECK((void *)calls.init == (const void *)row->init);
		CHECK((void *)calls.compute_processes == (const void *)row->processes);
		CHECK((void *)calls.compute_processes_v1 == (const void *)row->processes_v1);
		CHECK(calls.shutdown == NULL);
	}
}

TEST(every_symbol_once)
{
	for (size_t i = 0; i < fl_nv_symbols_n; i++) {
		CHECK(fl_nv_symbols[i].names[0] != NULL);
		for (size_t k = 0; k < FL_NV_NAMES_MAX && fl_nv_symbols[i].names[k]; k++) {
			CHECK(strncmp(fl_nv_symbols[i].names[k], "nvml", 4) == 0);
			for (size_t j = 0; j < i; j++)
				for (size_t m = 0; m < FL_NV_NAMES_MAX && fl_nv_symbols[j].names[m]; m++)
					CHECK(strcmp(fl_nv_symbols[i].names[k], fl_nv_symbols[j].names[m]) != 0);
		}
	}
}

TEST(code_names)
{
	static const struct {
		const char *says;
		int code;
		const char *name;
	} rows[] = {
		{ "none is a failure too", 0, "SUCCESS" },
		{ "a GPU that fell off the bus", 15, "GPU_IS_LOST" },
		{ "two halves that do not fit", 18, "LIB_RM_VERSION_MISMATCH" },
		{ "the one far off", 999, "UNKNOWN" },
		{ "one of a driver newer than we are", 31, NULL },
		{ "no code at all", -1, NULL },
	};

	EACH_ROW (row, rows) {
		const char *name = fl_nv_code_name(row->code);
		CHECK((name == NULL) == (row->name == NULL));
		if (name)
			CHECK_STR(fl_str(name), row->name);
	}
}

TEST(versions)
{
	CHECK_INT(FL_NV_VERSION(struct fl_nv_memory_v2, 2), 0x02000028);
	CHECK_INT(FL_NV_VERSION(struct fl_nv_fabric_v2, 2), 0x02000024);
	CHECK_INT(FL_NV_VERSION(struct fl_nv_fabric_v3, 3), 0x03000028);
	CHECK_INT(FL_NV_VERSION(struct fl_nv_gi_profile_v3, 3), 0x03000098);
	CHECK_INT(FL_NV_VERSION(struct fl_nv_ci_profile_v3, 3), 0x0300008c);
	CHECK_INT(FL_NV_FABRIC_BITS(0x1a5u, FL_NV_FABRIC_DEGRADED_BW), 1);
	CHECK_INT(FL_NV_FABRIC_BITS(0x1a5u, FL_NV_FABRIC_ACCESS_TIMEOUT), 2);
	CHECK_INT(FL_NV_FABRIC_BITS(0x5a5u, FL_NV_FABRIC_CONFIG), 5);
}
