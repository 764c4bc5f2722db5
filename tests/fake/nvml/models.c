#include "fake/nvml/models.h"

/* MIG profiles: slices, how many at most, multiprocessors, engines (copy, decode, encode, jpeg, ofa), MiB, size and
 * places in memory slices. The same on all cards of seven slices but for multiprocessors, engines and memory. */

#define P(id_, name_, slices_, max, sm, ce, dec, jpg, ofa, mib, size_, ...) \
	{ .id = (id_), .name = (name_), .slices = (slices_), .instances = (max), .multiprocessors = (sm), \
	  .copy_engines = (ce), .decoders = (dec), .jpegs = (jpg), .ofas = (ofa), .memory_mib = (mib), \
	  .size = (size_), \
	  .places_n = sizeof((uint8_t[]){ __VA_ARGS__ }), .places = { __VA_ARGS__ } }
#define EIGHTHS 0, 1, 2, 3, 4, 5, 6
#define PAIRS 0, 2, 4, 6
#define TWOS 0, 2, 4

const struct fake_model fake_models[] = {
	{
		.key = "a100-sxm4-80gb", .name = "NVIDIA A100-SXM4-80GB", .pci_id = 0x20b210de, .subsystem = 0x147f10de,
		.pci_class = 0x030200, .arch = FL_NV_ARCH_AMPERE, .brand = FL_NV_BRAND_NVIDIA, .major = 8, .minor = 0,
		.memory_mib = 81920, .reserved_mib = 631, .bar1_mib = 131072, .links = 12,
		.link_mbps = 25781,
		.power_idle_mw = 61000, .power_limit_mw = 400000, .sm_mhz = 1410, .mem_mhz = 1593, .pcie_generation = 4,
		.multiprocessors = 108, .slices = 7, .reset_for_mig = true, .has_rows = true, .has_ecc = true,
		.vbios = "92.00.45.00.06",
		.profiles = {
			[FL_NV_GI_1] = P(19, "1g.10gb", 1, 7, 14, 1, 0, 0, 0, 9728, 1, EIGHTHS),
			[FL_NV_GI_1_REV1] = P(20, "1g.10gb+me", 1, 1, 14, 1, 1, 1, 1, 9728, 1, EIGHTHS),
			[FL_NV_GI_1_REV2] = P(15, "1g.20gb", 1, 4, 14, 1, 1, 0, 0, 19968, 2, PAIRS),
			[FL_NV_GI_2] = P(14, "2g.20gb", 2, 3, 28, 2, 1, 0, 0, 19968, 2, TWOS),
			[FL_NV_GI_3] = P(9, "3g.40gb", 3, 2, 42, 3, 2, 0, 0, 40192, 4, 0, 4),
			[FL_NV_GI_4] = P(5, "4g.40gb", 4, 1, 56, 4, 2, 0, 0, 40192, 4, 0),
			[FL_NV_GI_7] = P(0, "7g.80gb", 7, 1, 98, 7, 5, 1, 1, 80896, 8, 0),
		},
	},
	{
		.key = "a30", .name = "NVIDIA A30", .pci_id = 0x20b710de, .subsystem = 0x153210de,
		.pci_class = 0x030200,
		.arch = FL_NV_ARCH_AMPERE, .brand = FL_NV_BRAND_NVIDIA, .major = 8, .minor = 0, .memory_mib = 24576,
		.reserved_mib = 489, .bar1_mib = 32768, .links = 4, .link_mbps = 25781,
		.power_idle_mw = 27000,
		.power_limit_mw = 165000, .sm_mhz = 1440, .mem_mhz = 1215, .pcie_generation = 4, .multiprocessors = 56,
		.slices = 4, .reset_for_mig = true, .has_rows = true, .has_ecc = true,
		.vbios = "92.00.3B.00.01",
		.profiles = {
			[FL_NV_GI_1] = P(14, "1g.6gb", 1, 4, 14, 1, 0, 0, 0, 5952, 1, 0, 1, 2, 3),
			[FL_NV_GI_1_REV1] = P(21, "1g.6gb+me", 1, 1, 14, 1, 1, 1, 1, 5952, 1, 0, 1, 2, 3),
			[FL_NV_GI_2] = P(5, "2g.12gb", 2, 2, 28, 2, 2, 0, 0, 12032, 2, 0, 2),
			[FL_NV_GI_2_REV1] = P(6, "2g.12gb+me", 2, 1, 28, 2, 2, 1, 1, 12032, 2, 0, 2),
			[FL_NV_GI_4] = P(0, "4g.24gb", 4, 1, 56, 4, 4, 1, 1, 24125, 4, 0),
		},
	},
	{
		.key = "h100-80gb-hbm3", .name = "NVIDIA H100 80GB HBM3", .pci_id = 0x233010de, .subsystem = 0x16c110de,
		.pci_class = 0x030200, .arch = FL_NV_ARCH_HOPPER, .brand = FL_NV_BRAND_NVIDIA, .major = 9, .minor = 0,
		.memory_mib = 81559, .reserved_mib = 551, .bar1_mib = 131072, .links = 18,
		.link_mbps = 26562,
		.power_idle_mw = 70000, .power_limit_mw = 700000, .sm_mhz = 1980, .mem_mhz = 2619, .pcie_generation = 5,
		.multiprocessors = 132, .slices = 7, .has_rows = true, .has_ecc = true, .has_gsp = true,
		.has_fabric = true,
		.vbios = "96.00.74.00.01",
		.profiles = {
			[FL_NV_GI_1] = P(19, "1g.10gb", 1, 7, 16, 1, 1, 1, 0, 9984, 1, EIGHTHS),
			[FL_NV_GI_1_REV1] = P(20, "1g.10gb+me", 1, 1, 16, 1, 1, 1, 1, 9984, 1, EIGHTHS),
			[FL_NV_GI_1_REV2] = P(15, "1g.20gb", 1, 4, 26, 1, 1, 1, 0, 20096, 2, PAIRS),
			[FL_NV_GI_2] = P(14, "2g.20gb", 2, 3, 32, 2, 2, 2, 0, 20096, 2, TWOS),
			[FL_NV_GI_3] = P(9, "3g.40gb", 3, 2, 60, 3, 3, 3, 0, 40448, 4, 0, 4),
			[FL_NV_GI_4] = P(5, "4g.40gb", 4, 1, 64, 4, 4, 4, 0, 40448, 4, 0),
			[FL_NV_GI_7] = P(0, "7g.80gb", 7, 1, 132, 8, 7, 7, 1, 81152, 8, 0),
		},
	},
	{
		.key = "h200-141gb", .name = "NVIDIA H200", .pci_id = 0x233510de, .subsystem = 0x18be10de,
		.pci_class = 0x030200,
		.arch = FL_NV_ARCH_HOPPER, .brand = FL_NV_BRAND_NVIDIA, .major = 9, .minor = 0, .memory_mib = 143771,
		.reserved_mib = 615, .bar1_mib = 262144, .links = 18, .link_mbps = 26562,
		.power_idle_mw = 75000,
		.power_limit_mw = 700000, .sm_mhz = 1980, .mem_mhz = 3201, .pcie_generation = 5, .multiprocessors = 132,
		.slices = 7, .has_rows = true, .has_ecc = true, .has_gsp = true, .has_fabric = true,
		.vbios = "96.00.BC.00.01",
		.profiles = {
			[FL_NV_GI_1] = P(19, "1g.18gb", 1, 7, 16, 1, 1, 1, 0, 16384, 1, EIGHTHS),
			[FL_NV_GI_1_REV1] = P(20, "1g.18gb+me", 1, 1, 16, 1, 1, 1, 1, 16384, 1, EIGHTHS),
			[FL_NV_GI_1_REV2] = P(15, "1g.35gb", 1, 4, 26, 1, 1, 1, 0, 33280, 2, PAIRS),
			[FL_NV_GI_2] = P(14, "2g.35gb", 2, 3, 32, 2, 2, 2, 0, 33280, 2, TWOS),
			[FL_NV_GI_3] = P(9, "3g.71gb", 3, 2, 60, 3, 3, 3, 0, 71424, 4, 0, 4),
			[FL_NV_GI_4] = P(5, "4g.71gb", 4, 1, 64, 4, 4, 4, 0, 71424, 4, 0),
			[FL_NV_GI_7] = P(0, "7g.141gb", 7, 1, 132, 8, 7, 7, 1, 143360, 8, 0),
		},
	},
	{
		.key = "gb200", .name = "NVIDIA GB200", .pci_id = 0x294110de, .subsystem = 0x204610de,
		.pci_class = 0x030200,
		.arch = FL_NV_ARCH_BLACKWELL, .brand = FL_NV_BRAND_NVIDIA, .major = 10, .minor = 0,
		.memory_mib = 189471,
		.reserved_mib = 736, .bar1_mib = 262144, .links = 18, .link_mbps = 53125,
		.power_idle_mw = 180000, .power_limit_mw = 1200000, .sm_mhz = 2062, .mem_mhz = 3996,
		.pcie_generation = 6,
		.multiprocessors = 152, .slices = 7, .has_rows = true, .has_ecc = true, .has_gsp = true,
		.has_fabric = true,
		.vbios = "97.00.82.00.0F",
		.profiles = {
			[FL_NV_GI_1] = P(19, "1g.23gb", 1, 7, 18, 1, 1, 1, 0, 22784, 1, EIGHTHS),
			[FL_NV_GI_1_REV1] = P(20, "1g.23gb+me", 1, 1, 18, 1, 1, 1, 1, 22784, 1, EIGHTHS),
			[FL_NV_GI_1_REV2] = P(15, "1g.47gb", 1, 4, 30, 1, 1, 1, 0, 46336, 2, PAIRS),
			[FL_NV_GI_2] = P(14, "2g.47gb", 2, 3, 36, 2, 2, 2, 0, 46336, 2, TWOS),
			[FL_NV_GI_3] = P(9, "3g.93gb", 3, 2, 70, 3, 3, 3, 0, 93440, 4, 0, 4),
			[FL_NV_GI_4] = P(5, "4g.93gb", 4, 1, 72, 4, 4, 4, 0, 93440, 4, 0),
			[FL_NV_GI_7] = P(0, "7g.186gb", 7, 1, 152, 8, 7, 7, 1, 187648, 8, 0),
		},
	},
	{
		.key = "t4", .name = "Tesla T4", .pci_id = 0x1eb810de, .subsystem = 0x12a210de, .pci_class = 0x030200,
		.arch = FL_NV_ARCH_TURING, .brand = FL_NV_BRAND_NVIDIA, .major = 7, .minor = 5, .memory_mib = 15360,
		.reserved_mib = 448, .bar1_mib = 256, .power_idle_mw = 10000, .power_limit_mw = 70000, .sm_mhz = 1590,
		.mem_mhz = 5000, .pcie_generation = 3, .multiprocessors = 40, .has_ecc = true,
		.vbios = "90.04.96.00.01",
	},
	{
		.key = "rtx-4090", .name = "NVIDIA GeForce RTX 4090", .pci_id = 0x268410de, .subsystem = 0x16f410de,
		.pci_class = 0x030000, .arch = FL_NV_ARCH_ADA, .brand = FL_NV_BRAND_GEFORCE, .major = 8, .minor = 9,
		.memory_mib = 24564, .reserved_mib = 480, .bar1_mib = 32768, .power_idle_mw = 18000,
		.power_limit_mw = 450000,
		.sm_mhz = 2520, .mem_mhz = 10501, .pcie_generation = 4, .multiprocessors = 128,
		.has_gsp = true,
		.vbios = "95.02.18.80.87",
	},
};
const size_t fake_models_n = sizeof(fake_models) / sizeof(*fake_models);
