/* node-interfaces.md §13.7: what is found of a driver on the hosts that there are, row by row. */
#include "base/units.h"
#include "host_tree.h"
#include "node/gpu/find.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

#define OLDER "535.104.05"
#define KERNEL "/proc/driver/nvidia/version ! NVRM version: NVIDIA UNIX x86_64 Kernel Module  " V "\n"
#define ML(dir) \
	"Library " dir "/libnvidia-ml.so." V " libnvidia-ml.so>libnvidia-ml.so.1 libnvidia-ml.so.1>libnvidia-ml.so." \
	V "\n"
#define ML_TREE(dir) \
	dir "/libnvidia-ml.so." V "\n" dir "/libnvidia-ml.so.1 > libnvidia-ml.so." V "\n" dir \
	    "/libnvidia-ml.so > libnvidia-ml.so.1\n"
#define CUDA_TREE(dir) \
	dir "/libcuda.so." V "\n" dir "/libcuda.so.1 > libcuda.so." V "\n" dir "/libcuda.so > libcuda.so.1\n"
#define DEBIAN LIB "/nvidia/current"
#define SHARE "/usr/share"
#define EXTERNAL SHARE "/egl/egl_external_platform.d"

static const struct {
	const char *says, *tree, *want;
	const char *nvml;                      /* below the root; NULL: it is not looked for */
	const char *looked;                    /* part of where libcuda was looked for; NULL: it is there */
} rows[] = {
	{ "row_01_ubuntu_libcuda_is_mounted_and_linked_and_nvidia_smi_is_on_PATH",
	  KERNEL "/dev /\n" CUDA_TREE(LIB) ML_TREE(LIB) "/usr/bin/nvidia-smi *\n/lib/firmware/nvidia/" V
	  "/gsp_ga10x.bin\n",
	  "Firmware /lib/firmware/nvidia/" V "/gsp_ga10x.bin\nBinary /usr/bin/nvidia-smi\n" CUDA(LIB) ML(LIB),
	  LIB "/libnvidia-ml.so.1", NULL },
	{ "row_02_debian_alternatives_each_file_once",
	  KERNEL "/dev /\n" CUDA_TREE(DEBIAN) ML_TREE(DEBIAN) LIB
	  "/libcuda.so.1 > /etc/alternatives/glx--libcuda\n/etc/alternatives/glx--libcuda > " DEBIAN
	  "/libcuda.so.1\n" LIB
	  "/libnvidia-ml.so.1 > /etc/alternatives/glx--ml\n/etc/alternatives/glx--ml > " DEBIAN
	  "/libnvidia-ml.so.1\n" LIB
	  "/libcuda.so." V " > nvidia/current/libcuda.so." V "\n"
	  "/usr/lib/nvidia/current/nvidia-smi *\n/usr/bin/nvidia-smi > /etc/alternatives/nvidia--smi\n"
	  "/etc/alternatives/nvidia--smi > /usr/lib/nvidia/current/nvidia-smi\n",
	  "Binary /usr/lib/nvidia/current/nvidia-smi at /usr/bin/nvidia-smi\n" CUDA(DEBIAN) ML(DEBIAN),
	  DEBIAN "/libnvidia-ml.so." V, NULL },
	{ "row_03_rhel_no_32_bit_library",
	  KERNEL "/dev /\n" CUDA_TREE("/usr/lib64") ML_TREE("/usr/lib64") "/usr/lib/libcuda.so." V
	  " 32\n/usr/lib/libnvidia-ml.so." V " 32\n/usr/lib/libnvidia-ml.so.1 > libnvidia-ml.so." V
	  "\n/lib64 > usr/lib64\n/lib > usr/lib\n/usr/share/vulkan/icd.d/nvidia_icd.x86_64.json\n",
	  CUDA("/usr/lib64") ML("/usr/lib64")
	  "Data /usr/share/vulkan/icd.d/nvidia_icd.x86_64.json at /etc/vulkan/icd.d/nvidia_icd.x86_64.json\n",
	  "/usr/lib64/libnvidia-ml.so.1", NULL },
	{ "row_03_only_32_bit_libraries_are_none",
	  "/dev /\n/usr/lib/libcuda.so." V " 32\n/usr/lib/libnvidia-ml.so." V " 32\n", "", "",
	  "2 files are not 64-bit libraries of this machine" },
	{ "row_04_cos_without_links_cache_and_dev",
	  KERNEL "/lib64/libcuda.so." V "\n/lib64/libnvidia-ml.so.1\n/lib64/libnvidia-ml.so." V
	  "\n/bin/nvidia-smi *\n/vulkan/icd.d/nvidia_icd.json\n",
	  "Binary /bin/nvidia-smi\n" CUDA("/lib64") "Library /lib64/libnvidia-ml.so." V
	  " libnvidia-ml.so.1>libnvidia-ml.so." V
	  "\nData /vulkan/icd.d/nvidia_icd.json at /etc/vulkan/icd.d/nvidia_icd.json\n",
	  "/lib64/libnvidia-ml.so." V, NULL },
	{ "row_05_talos_by_the_cache_alone",
	  KERNEL "/dev /\n/etc/ld.so.cache # libcuda.so.1 /usr/local/glibc/usr/lib/libcuda.so.1\n"
	  CUDA_TREE("/usr/local/glibc/usr/lib") ML_TREE("/usr/local/glibc/usr/lib") "/usr/local/bin/nvidia-smi *\n",
	  "Binary /usr/local/bin/nvidia-smi\n" CUDA("/usr/local/glibc/usr/lib") ML("/usr/local/glibc/usr/lib"),
	  "/usr/local/glibc/usr/lib/libnvidia-ml.so.1", NULL },
	{ "row_05_entries_of_the_cache_for_32_bits_are_not_ours",
	  "/dev /\n/etc/ld.so.cache $ libcuda.so.1 /usr/local/glibc/usr/lib/libcuda.so.1\n"
	  CUDA_TREE("/usr/local/glibc/usr/lib"),
	  "", "", "/etc/ld.so.cache (no other)" },
	{ "row_08_no_libcuda_every_place_is_named",
	  KERNEL "/dev /\n" ML_TREE("/usr/local/nvidia/lib64"), ML("/usr/local/nvidia/lib64"),
	  "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	  "/, /usr/lib64, " LIB ", " DEBIAN ", /lib64, /lib/" ARCH ", /lib/" ARCH "/nvidia/current, /usr/lib, /lib, "
	  "/usr/local/nvidia/lib64, /opt/nvidia/lib64 and the directories of /etc/ld.so.cache (no other), below '" },
	{ "row_09_of_two_versions_the_loaded_one",
	  KERNEL "/dev /\n" LIB "/libcuda.so." OLDER "\n" LIB "/libcuda.so." V "\n" LIB "/libcuda.so.1 > libcuda.so."
	  OLDER
	  "\n" LIB "/libnvidia-ml.so." OLDER "\n" LIB "/libnvidia-ml.so." V "\n" LIB
	  "/libnvidia-ml.so.1 > libnvidia-ml.so." OLDER "\n",
	  CUDA(LIB) "Library " LIB "/libnvidia-ml.so." V " libnvidia-ml.so.1>libnvidia-ml.so." V "\n",
	  LIB "/libnvidia-ml.so." V, NULL },
	{ "row_10_what_may_not_be_run_is_left_out",
	  "/dev /\n/usr/local/bin/nvidia-smi\n/usr/bin/nvidia-smi *\n/usr/bin/nvidia-imex\n",
	  "Binary /usr/bin/nvidia-smi\n",
	  NULL, "" },
	{ "row_11_an_absolute_link_leads_inside_the_root",
	  KERNEL "/dev /\n/opt/drv/libcuda.so." V "\n/opt/drv/libnvidia-ml.so.1\n" LIB " > /opt/drv\n",
	  CUDA("/opt/drv"), "/opt/drv/libnvidia-ml.so.1", NULL },
	{ "row_12_a_stale_entry_of_the_cache_is_nothing",
	  "/dev /\n/etc/ld.so.cache # libcuda.so.1 /usr/local/gone/libcuda.so.1\n/usr/local/gone/x\n", "", "",
	  "/etc/ld.so.cache (no other)" },
	{ "row_13_egl_glvnd_nvoptix_opencl_vulkan_places",
	  "/dev /\n" SHARE "/glvnd/egl_vendor.d/10_nvidia.json\n" EXTERNAL "/15_nvidia_gbm.json\n" EXTERNAL
	  "/10_nvidia_wayland.json\n" EXTERNAL "/09_nvidia_wayland2.json\n" EXTERNAL "/20_nvidia_xcb.json\n" EXTERNAL
	  "/20_nvidia_xlib.json\n" SHARE "/nvidia/nvoptix.bin\n/etc/OpenCL/vendors/nvidia.icd\n" SHARE
	  "/vulkan/icd.d/nvidia_icd.json\n" SHARE "/vulkan/implicit_layer.d/nvidia_layers.json\n" LIB
	  "/libnvidia-egl-gbm.so.1.1.2\n" LIB "/libnvidia-egl-gbm.so.1 > libnvidia-egl-gbm.so.1.1.2\n",
	  "Data /etc/OpenCL/vendors/nvidia.icd\nLibrary " LIB
	  "/libnvidia-egl-gbm.so.1.1.2 libnvidia-egl-gbm.so.1>libnvidia-egl-gbm.so.1.1.2\nData " EXTERNAL
	  "/09_nvidia_wayland2.json\nData " EXTERNAL "/10_nvidia_wayland.json\nData " EXTERNAL
	  "/15_nvidia_gbm.json\nData " EXTERNAL "/20_nvidia_xcb.json\nData " EXTERNAL "/20_nvidia_xlib.json\nData "
	  SHARE
	  "/glvnd/egl_vendor.d/10_nvidia.json\nData " SHARE "/nvidia/nvoptix.bin\nData " SHARE
	  "/vulkan/icd.d/nvidia_icd.json at /etc/vulkan/icd.d/nvidia_icd.json\nData " SHARE
	  "/vulkan/implicit_layer.d/nvidia_layers.json at /etc/vulkan/implicit_layer.d/nvidia_layers.json\n",
	  NULL, "" },
	{ "row_13_of_two_versions_of_egl_the_one_that_the_host_links",
	  "/dev /\n" LIB "/libnvidia-egl-gbm.so.1.1.10\n" LIB "/libnvidia-egl-gbm.so.1.1.2\n" LIB
	  "/libnvidia-egl-gbm.so.1 > libnvidia-egl-gbm.so.1.1.10\n" LIB
	  "/libnvidia-egl-gbm.so > libnvidia-egl-gbm.so.1\n",
	  "Library " LIB "/libnvidia-egl-gbm.so.1.1.10 libnvidia-egl-gbm.so>libnvidia-egl-gbm.so.1 "
	  "libnvidia-egl-gbm.so.1>libnvidia-egl-gbm.so.1.1.10\nLibrary " LIB "/libnvidia-egl-gbm.so.1.1.2\n",
	  NULL, "" },
	{ "row_13_a_file_in_etc_goes_where_containers_look",
	  "/dev /\n/etc/glvnd/egl_vendor.d/10_nvidia.json\n/usr/share/glvnd/egl_vendor.d/10_nvidia.json\n",
	  "Data /etc/glvnd/egl_vendor.d/10_nvidia.json at /usr/share/glvnd/egl_vendor.d/10_nvidia.json\n", NULL, "" },
	{ "row_13_links_that_programs_need_and_no_installer_makes",
	  "/dev /\n" LIB "/libGLX_nvidia.so." V "\n" LIB "/libnvidia-allocator.so." V "\n" LIB
	  "/libnvidia-opticalflow.so." V "\n" LIB "/libnvidia-vulkan-producer.so." V "\n",
	  "Library " LIB "/libGLX_nvidia.so." V " libGLX_indirect.so.0>libGLX_nvidia.so." V "\nLibrary " LIB
	  "/libnvidia-allocator.so." V " gbm/nvidia-drm_gbm.so>../libnvidia-allocator.so.1 "
	  "libnvidia-allocator.so.1>libnvidia-allocator.so." V "\nLibrary " LIB "/libnvidia-opticalflow.so." V
	  " libnvidia-opticalflow.so>libnvidia-opticalflow.so.1 libnvidia-opticalflow.so.1>libnvidia-opticalflow.so." V
	  "\nLibrary " LIB "/libnvidia-vulkan-producer.so." V
	  " libnvidia-vulkan-producer.so>libnvidia-vulkan-producer.so."
	  V "\n",
	  NULL, "" },
	{ "row_14_xorg_modules_and_configuration",
	  "/dev /\n" CUDA_TREE(LIB) LIB "/nvidia/xorg/libglxserver_nvidia.so." V
	  "\n/usr/lib/xorg/modules/drivers/nvidia_drv.so > nvidia_drv.so.1\n"
	  "/usr/lib/xorg/modules/drivers/nvidia_drv.so.1\n/usr/share/X11/xorg.conf.d/10-nvidia.conf\n",
	  CUDA(LIB) "Module " LIB "/nvidia/xorg/libglxserver_nvidia.so." V
	  " libglxserver_nvidia.so>libglxserver_nvidia.so." V
	  "\nModule /usr/lib/xorg/modules/drivers/nvidia_drv.so.1 at /usr/lib/xorg/modules/drivers/nvidia_drv.so\n"
	  "Data /usr/share/X11/xorg.conf.d/10-nvidia.conf\n",
	  NULL, NULL },
	{ "row_15_both_folders_of_firmware_and_the_kernels_own",
	  "/dev /\n/lib/firmware/nvidia/" V "/gsp_tu10x.bin\n/lib/firmware/updates/nvidia/" V
	  "/gsp_ga10x.bin\n/var/fw/nvidia/" V "/gsp_ga10x.bin\n/lib/firmware/6.1.0-x/nvidia/" V
	  "/gsp_ga10x.bin\n/proc/sys/kernel/osrelease ! 6.1.0-x\n/sys/module/firmware_class/parameters/path ! "
	  "/var/fw\n",
	  "Firmware /lib/firmware/6.1.0-x/nvidia/" V "/gsp_ga10x.bin\nFirmware /lib/firmware/nvidia/" V
	  "/gsp_tu10x.bin\nFirmware /lib/firmware/updates/nvidia/" V "/gsp_ga10x.bin\nFirmware /var/fw/nvidia/" V
	  "/gsp_ga10x.bin\n",
	  NULL, "" },
	{ "row_16_a_socket_in_var_run", "/dev /\n/var/run/nvidia-persistenced/socket @\n",
	  "Socket /var/run/nvidia-persistenced/socket\n", NULL, "" },
	{ "row_16_where_it_is_run_it_is_told_once",
	  "/dev /\n/run/nvidia-persistenced/socket @\n/var/run > ../run\n",
	  "Socket /run/nvidia-persistenced/socket\n", NULL,
	  "" },
	{ "row_17_the_directory_of_another_mps_daemon_is_nobodys", "/dev /\n/tmp/nvidia-mps /\n", "", NULL, "" },
};

/* Without what is of the whole disk: "/dir" in place of "ROOT/dir". */
static const char *inside(const char *path, const char *root)
{
	return strncmp(path, root, strlen(root)) == 0 ? path + strlen(root) : path;
}

TEST_ONCE(rows_of_hosts)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan);
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		struct fl_gpu_found found;
		const char *dir = test_dir();
		char roots[300] = { 0 };

		GOT(io);
		GOT(scan);
		CHECK(host_tree_make(dir, row->tree));
		host_scan_set_up(scan, dir);
		fl_host_scan(fl_io_fs(io), scan);
		CHECK_INT(scan->error, 0);
		scan->node_count = 0;            /* COS has those of this machine */
		host_scan_print(scan, &text);
		OK(fl_buf_check(&text, "scan", NULL));
		CHECK_STR(fl_buf_view(&text), row->want);
		if (row->looked)
			CHECK(strstr(scan->looked, row->looked) != NULL);
		else
			CHECK_STR(fl_str(scan->looked), "");
		if (!row->nvml)
			continue;
		(void)snprintf(roots, sizeof roots - 2, "%s", dir);
		fl_gpu_find(fl_io_fs(io), roots, "", test_path(dir, "proc"), &scan->dirs, &found);
		CHECK_STR(fl_str(inside(found.library, dir)), row->nvml);
	}
}

/* The agent's own PATH and XDG_DATA_DIRS, below the root; the latter in place of the usual directories. */
TEST_ONCE(row_13_programs_and_data_where_the_agents_environment_names_them)
{
	static const char *const env[] = { "PATH=relative:/opt/drv/bin:/opt/none", "XDG_DATA_DIRS=/opt/drv/share/",
					   NULL };
	static const char tree[] = "/dev /\n/opt/drv/bin/nvidia-smi *\n/usr/bin/nvidia-smi *\n/usr/bin/nvidia-imex *\n"
				   "/opt/drv/share/nvidia/nvoptix.bin\n" SHARE "/glvnd/egl_vendor.d/10_nvidia.json\n";
	static const struct {
		const char *says, *want;
		const char *const *env;
	} ways[] = {
		{ "what it names comes first", "Binary /opt/drv/bin/nvidia-smi\n"
		  "Data /opt/drv/share/nvidia/nvoptix.bin at " SHARE "/nvidia/nvoptix.bin\n"
		  "Binary /usr/bin/nvidia-imex\n", env },
		{ "without it the usual places", "Binary /usr/bin/nvidia-imex\nBinary /usr/bin/nvidia-smi\nData " SHARE
		  "/glvnd/egl_vendor.d/10_nvidia.json\n", NULL },
	};

	EACH_ROW (row, ways) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan);
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_KIB);
		const char *dir = test_dir();

		GOT(io);
		GOT(scan);
		CHECK(host_tree_make(dir, tree));
		host_scan_set_up(scan, dir);
		scan->env = row->env;
		fl_host_scan(fl_io_fs(io), scan);
		CHECK_INT(scan->error, 0);
		scan->node_count = 0;
		host_scan_print(scan, &text);
		OK(fl_buf_check(&text, "scan", NULL));
		CHECK_STR(fl_buf_view(&text), row->want);
	}
}

/* Where device nodes are: the root's own, or the host's. */
TEST_ONCE(row_06_nodes_of_the_driver_container_and_else_of_the_host)
{
	static const struct {
		const char *says, *tree, *dev_root, *want;
	} places[] = {
		{ "a driver container has its own", "/dev /\n", "", "ROOT" },
		{ "row_04_a_root_without_has_the_hosts", "/lib64 /\n", "", "/" },
		{ "what is asked for comes first", "/dev /\n", "/", "/" },
	};

	EACH_ROW (row, places) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_mem) struct fl_host_scan *scan = fl_zalloc(sizeof *scan);
		const char *dir = test_dir();

		GOT(io);
		GOT(scan);
		CHECK(host_tree_make(dir, row->tree));
		host_scan_set_up(scan, dir);
		(void)snprintf(scan->dev_root, sizeof scan->dev_root, "%s", row->dev_root);
		fl_host_scan(fl_io_fs(io), scan);
		CHECK_INT(scan->error, 0);
		CHECK_STR(fl_str(scan->nodes_root), row->want[0] == 'R' ? dir : row->want);
	}
}

/* Of two roots, the one with the version that is loaded. */
static const char two_roots[] =
	"/a" LIB "/libnvidia-ml.so." OLDER "\n/a" LIB "/libnvidia-ml.so.1 > libnvidia-ml.so." OLDER
	"\n/b" LIB "/libnvidia-ml.so." V "\n/b" LIB "/libnvidia-ml.so.1 > libnvidia-ml.so." V "\n" KERNEL;

TEST_ONCE(row_09_of_two_roots_the_one_with_the_loaded_version)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_mem) struct fl_lib_dirs *dirs = fl_zalloc(sizeof *dirs);
	const char *dir = test_dir();
	struct fl_gpu_found found;
	char roots[700] = { 0 };
	int first;

	GOT(io);
	GOT(dirs);
	CHECK(host_tree_make(dir, two_roots));
	first = snprintf(roots, sizeof roots / 2, "%s/a", dir);
	(void)snprintf(roots + first + 1, sizeof roots / 2, "%s/b", dir);
	fl_gpu_find(fl_io_fs(io), roots, "", test_path(dir, "proc"), dirs, &found);
	CHECK_STR(fl_str(found.version), V);
	CHECK_STR(fl_str(inside(found.root, dir)), "/b");
	CHECK_STR(fl_str(inside(found.library, dir)), "/b" LIB "/libnvidia-ml.so.1");
}
