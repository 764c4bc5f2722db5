#include "fake/nvml/control.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "fake/elf_file.h"

/* Majors: NVIDIA's own for what has one, and of those that the kernel keeps for local use for what gets one at run
 * time. The nodes are the kernel's, not ours: a process that may open one is answered ENXIO, one that may not EPERM. */
enum { MAJOR_NVIDIA = 195, MAJOR_UVM = 120, MAJOR_CAPS = 121, MAJOR_IMEX = 122 };
enum { CTL_MINOR = 255, MODESET_MINOR = 254 };
enum { CAP_GIS = 15, CAP_CIS = 8, CAP_GPUS = 32, CAPS = 3 + CAP_GPUS * CAP_GIS * (CAP_CIS + 1) };

struct tree {
	const struct fake_state *state;
	char root[PATH_MAX / 2];
	struct fl_err *err;
	int failed;
	uint8_t caps[CAPS / 8 + 1];     /* numbers of capabilities that there are */
};

/* ---- putting things there ---- */

static int at(struct tree *t, char path[PATH_MAX], const char *fmt, va_list args)
{
	char rest[PATH_MAX / 2];

	if (t->failed == 0 && vsnprintf(rest, sizeof(rest), fmt, args) >= (int)sizeof(rest))
		t->failed = fl_fail(t->err, FL_E_TOOBIG, "a path under '%s'", t->root);
	if (t->failed)
		return t->failed;
	snprintf(path, PATH_MAX, "%s/%s", t->root, rest);
	return 0;
}

/* Folders above it. */
static void above(struct tree *t, char *path)
{
	for (char *p = path + strlen(t->root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = 0;
		if (t->failed == 0 && mkdir(path, 0755) < 0 && errno != EEXIST)
			t->failed = fl_fail_sys(t->err, errno, "mkdir '%s'", path);
		*p = '/';
	}
}

static bool place(struct tree *t, char path[PATH_MAX], const char *fmt, va_list args)
{
	if (at(t, path, fmt, args) == 0)
		above(t, path);
	if (t->failed == 0)
		(void)unlink(path);
	return t->failed == 0;
}

static FL_PRINTF(2, 3) FILE *file(struct tree *t, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *f = NULL;

	va_start(args, fmt);
	if (place(t, path, fmt, args) && !(f = fopen(path, "we")))
		t->failed = fl_fail_sys(t->err, errno, "make '%s'", path);
	va_end(args);
	return f;
}

/* A file of that text. */
static FL_PRINTF(3, 4) void put(struct tree *t, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	FILE *f = place(t, path, fmt, args) ? fopen(path, "we") : NULL;
	va_end(args);
	if (t->failed == 0 && (!f || fputs(text, f) < 0))
		t->failed = fl_fail_sys(t->err, errno, "make '%s'", path);
	if (f)
		fclose(f);
}

/* A library that is looked at and never loaded. */
static FL_PRINTF(3, 4) void put_library(struct tree *t, const char *soname, const char *fmt, ...)
{
	uint8_t bytes[FAKE_ELF_MAX];
	size_t size = fake_elf(bytes, soname, 64);
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	FILE *f = place(t, path, fmt, args) ? fopen(path, "we") : NULL;
	va_end(args);
	if (t->failed == 0 && (!f || fwrite(bytes, 1, size, f) != size))
		t->failed = fl_fail_sys(t->err, errno, "make '%s'", path);
	if (f)
		fclose(f);
}

static FL_PRINTF(3, 4) void link_to(struct tree *t, const char *target, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	if (place(t, path, fmt, args) && symlink(target, path) < 0)
		t->failed = fl_fail_sys(t->err, errno, "link '%s'", path);
	va_end(args);
}

/* Who may not make device nodes gets plain files of the same names: enough to be looked at. */
static FL_PRINTF(4, 5) void node(struct tree *t, unsigned major_no, unsigned minor_no, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	bool placed = place(t, path, fmt, args);
	va_end(args);
	if (!placed)
		return;
	if (mknod(path, S_IFCHR | 0666, makedev(major_no, minor_no)) == 0) {
		(void)chmod(path, 0666);
		return;
	}
	int fd = errno == EPERM ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (fd < 0)
		t->failed = fl_fail_sys(t->err, errno, "make node '%s'", path);
	else
		close(fd);
}

static FL_PRINTF(2, 3) void listener(struct tree *t, const char *fmt, ...)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char path[PATH_MAX], short_way[64];
	va_list args;

	va_start(args, fmt);
	bool placed = place(t, path, fmt, args);
	va_end(args);
	if (!placed)
		return;
	/* A socket's name is short: it is bound through its folder's fd. */
	char *base = strrchr(path, '/');
	*base = 0;
	int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(short_way, sizeof(short_way), "/proc/self/fd/%d/", folder);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s%.40s", short_way, base + 1);
	if (folder < 0 || fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		t->failed = fl_fail_sys(t->err, errno, "socket in '%s'", path);
	if (folder >= 0)
		close(folder);
	if (fd >= 0)
		close(fd);
}

/* ---- taking away ---- */

/* All but the first two floors: those may be mounted elsewhere, or watched. */
static int take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	if (type == FTW_DP)
		return ftw->level > 1 && rmdir(path) < 0 && errno != ENOENT ? -1 : 0;
	return unlink(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void clear(struct tree *t, const char *what)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", t->root, what);
	if (t->failed == 0 && nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 && errno != ENOENT)
		t->failed = fl_fail_sys(t->err, errno, "clear '%s'", path);
}

/* ---- what there is ---- */

static void bdf(const struct fake_gpu *gpu, char text[32])
{
	snprintf(text, 32, "%04x:%02x:%02x.0", gpu->domain & 0xffff, gpu->bus & 0xff, gpu->slot & 0x1f);
}

/* Its configuration space, as a reader with all rights sees the first part of it: no capabilities. */
static void put_config(struct tree *t, const struct fake_gpu *gpu, const char *home)
{
	uint8_t space[256] = { [0x08] = 0xa1 };
	FILE *f = file(t, "%s/config", home);

	for (int i = 0; i < 4; i++)
		space[i] = (uint8_t)(gpu->model.pci_id >> 8 * i);
	for (int i = 0; i < 3; i++)
		space[0x09 + i] = (uint8_t)(gpu->model.pci_class >> 8 * i);
	if (f) {
		(void)fwrite(space, sizeof(space), 1, f);
		(void)fclose(f);
	}
}

static void put_pci(struct tree *t, const struct fake_gpu *gpu, bool bound)
{
	char name[32], home[96], number[32];

	bdf(gpu, name);
	snprintf(home, sizeof(home), "sys/devices/pci%04x:%02x/%s", gpu->domain & 0xffff, (gpu->bus - 1) & 0xff, name);
	const struct {
		const char *file, *fmt;
		unsigned value;
	} files[] = {
		{ "vendor", "0x%04x\n", gpu->model.pci_id & 0xffff }, { "device", "0x%04x\n", gpu->model.pci_id >> 16 },
		{ "subsystem_vendor", "0x%04x\n", gpu->model.subsystem & 0xffff },
		{ "subsystem_device", "0x%04x\n", gpu->model.subsystem >> 16 },
			{ "class", "0x%06x\n", gpu->model.pci_class },
		{ "revision", "0x%02x\n", 0xa1 }, { "numa_node", "%d\n", (unsigned)gpu->numa },
			{ "enable", "%u\n", bound },
		{ "current_link_width", "%u\n", 16 }, { "max_link_width", "%u\n", 16 },
	};
	for (size_t i = 0; i < FL_LEN(files); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(number, sizeof(number), files[i].fmt, files[i].value);
#pragma GCC diagnostic pop
		put(t, number, "%s/%s", home, files[i].file);
	}
	put(t, "0x0000000000000000 0x0000000000000000 0x0000000000000000\n", "%s/resource", home);
	put_config(t, gpu, home);
	char to[128];
	snprintf(to, sizeof(to), "../../../%s", home + strlen("sys/"));
	link_to(t, to, "sys/bus/pci/devices/%s", name);
	if (bound) {
		link_to(t, "../../../bus/pci/drivers/nvidia", "%s/driver", home);
		snprintf(to, sizeof(to), "../../../../%s", home + strlen("sys/"));
		link_to(t, to, "sys/bus/pci/drivers/nvidia/%s", name);
	}
}

static void put_proc_gpu(struct tree *t, const struct fake_gpu *gpu)
{
	char name[32];

	bdf(gpu, name);
	FILE *f = file(t, "proc/driver/nvidia/gpus/%s/information", name);
	if (!f)
		return;
	fprintf(f, "Model: \t\t %s\nIRQ:   \t\t %u\nGPU UUID: \t %s\nVideo BIOS: \t %s\n", gpu->model.name,
		100 + gpu->minor, gpu->uuid, gpu->model.vbios);
	fprintf(f, "Bus Type: \t PCIe\nDMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\n");
	fprintf(f, "Bus Location: \t %s\nDevice Minor: \t %u\nGPU Firmware: \t %s\nGPU Excluded:\t No\n", name,
		gpu->minor, gpu->model.has_gsp ? t->state->driver_version : "N/A");
	fclose(f);
}

static void put_module(struct tree *t)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Fri Jan  3 12:00:00 UTC 2025\n"
		 "GCC version:  gcc version 12.2.0\n",
		 t->state->driver_version);
	put(t, text, "proc/driver/nvidia/version");
	put(t,
	    "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\n"
	    "DeviceFileMode: 438\nEnableMSI: 1\nEnableGpuFirmware: 18\nRegistryDwords: \"\"\n",
	    "proc/driver/nvidia/params");
	snprintf(text, sizeof(text), "%s\n", t->state->driver_version);
	put(t, text, "sys/module/nvidia/version");
	put(t, "live\n", "sys/module/nvidia/initstate");
	node(t, MAJOR_NVIDIA, CTL_MINOR, "dev/nvidiactl");
	node(t, MAJOR_NVIDIA, MODESET_MINOR, "dev/nvidia-modeset");
	node(t, MAJOR_UVM, 0, "dev/nvidia-uvm");
	node(t, MAJOR_UVM, 1, "dev/nvidia-uvm-tools");
}

static void put_devices(struct tree *t, bool loaded)
{
	FILE *f = file(t, "proc/devices");

	if (!f)
		return;
	fprintf(f, "Character devices:\n  1 mem\n  5 /dev/tty\n 10 misc\n");
	if (loaded)
		fprintf(f,
			"%3d nvidia-uvm\n%3d nvidia-caps\n%3d nvidia-caps-imex-channels\n%3d nvidia\n"
			"%3d nvidia-modeset\n%3d nvidiactl\n",
			MAJOR_UVM, MAJOR_CAPS, MAJOR_IMEX, MAJOR_NVIDIA, MAJOR_NVIDIA, MAJOR_NVIDIA);
	fprintf(f, "\nBlock devices:\n  7 loop\n");
	fclose(f);
}

/* Small files where the real ones are large: what matters is their names and links. */
static void put_libraries(struct tree *t, const char *library)
{
	static const struct {
		const char *name, *soname;
	} libraries[] = {
		{ "libcuda.so", "libcuda.so.1" }, { "libnvidia-ptxjitcompiler.so", "libnvidia-ptxjitcompiler.so.1" },
		{ "libnvidia-cfg.so", "libnvidia-cfg.so.1" }, { "libnvidia-nvvm.so", "libnvidia-nvvm.so.4" },
		{ "libnvidia-opencl.so", "libnvidia-opencl.so.1" }, { "libnvidia-encode.so", "libnvidia-encode.so.1" },
		{ "libnvcuvid.so", "libnvcuvid.so.1" }, { "libcudadebugger.so", "libcudadebugger.so.1" },
		{ "libnvidia-gpucomp.so", NULL }, { "libnvidia-nscq.so", "libnvidia-nscq.so.2" },
	};
	static const char folder[] = "usr/lib/x86_64-linux-gnu";
	const char *version = t->state->driver_version;
	char to[96];

	for (size_t i = 0; i < FL_LEN(libraries); i++) {
		put_library(t, libraries[i].soname ? libraries[i].soname : "", "%s/%s.%s", folder, libraries[i].name,
			    version);
		if (!libraries[i].soname)
			continue;
		snprintf(to, sizeof(to), "%s.%s", libraries[i].name, version);
		link_to(t, to, "%s/%s", folder, libraries[i].soname);
		link_to(t, libraries[i].soname, "%s/%s", folder, libraries[i].name);
	}
	static const char *const programs[] = { "nvidia-smi", "nvidia-debugdump", "nvidia-persistenced",
		"nvidia-cuda-mps-control",
						"nvidia-cuda-mps-server" };
	for (size_t i = 0; i < FL_LEN(programs); i++) {
		char path[PATH_MAX];

		put(t, "#!/bin/sh\necho not the real one\n", "usr/bin/%s", programs[i]);
		if (t->failed == 0 && (snprintf(path, sizeof(path), "%s/usr/bin/%s", t->root, programs[i]) < 0 ||
				       chmod(path, 0755) < 0))
			t->failed = fl_fail_sys(t->err, errno, "make '%s' executable", path);
	}
	put(t, "not the real one\n", "lib/firmware/nvidia/%s/gsp_ga10x.bin", version);
	put(t, "not the real one\n", "lib/firmware/nvidia/%s/gsp_tu10x.bin", version);
	if (!library)
		return;
	snprintf(to, sizeof(to), "libnvidia-ml.so.%s", version);
	link_to(t, to, "%s/libnvidia-ml.so.1", folder);
	link_to(t, "libnvidia-ml.so.1", "%s/libnvidia-ml.so", folder);
}

static void copy_to(struct tree *t, const char *library, const char *name)
{
	char path[PATH_MAX], part[1 << 16];
	int from = open(library, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	snprintf(path, sizeof(path), "%s/%s", t->root, name);
	(void)unlink(path);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	while (from >= 0 && to >= 0 && (n = read(from, part, sizeof(part))) > 0)
		if (write(to, part, (size_t)n) != n)
			n = -1;
	if (t->failed == 0 && (from < 0 || to < 0 || n < 0))
		t->failed = fl_fail_sys(t->err, errno, "copy '%s' to '%s'", library, path);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
}

static void copy(struct tree *t, const char *library, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "usr/lib/x86_64-linux-gnu/%s.so.%s", name, t->state->driver_version);
	copy_to(t, library, path);
}

/* Copies of the fake libraries (that of CUDA stands beside the other), and the state beside them under its own inode:
 * so it is found wherever this is mounted. */
static void put_fakes(struct tree *t, const char *folder, const char *library)
{
	char path[PATH_MAX], state[PATH_MAX];
	const char *slash = strrchr(library, '/');

	copy(t, library, "libnvidia-ml");
	snprintf(path, sizeof(path), "%.*snvidia-cuda-mps-control", slash ? (int)(slash + 1 - library) : 0, library);
	if (access(path, X_OK) == 0)
		copy_to(t, path, "usr/bin/nvidia-cuda-mps-control");
	snprintf(path, sizeof(path), "%.*slibcuda.so.1", slash ? (int)(slash + 1 - library) : 0, library);
	if (access(path, R_OK) == 0)
		copy(t, path, "libcuda");
	snprintf(state, sizeof(state), "%s/" FAKE_FILE, folder);
	snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/" FAKE_FILE, t->root);
	(void)unlink(path);
	if (t->failed == 0 && link(state, path) < 0)
		t->failed = fl_fail_sys(t->err, errno, "link '%s'", path);
}

/* Numbers of capabilities as the kernel's part hands them out: 3 on, 135 a GPU by its minor, 9 a GPU instance. */
static unsigned cap_gi(unsigned minor_no, unsigned gi)
{
	return 3 + (minor_no * CAP_GIS + gi) * (CAP_CIS + 1);
}

static void put_cap(struct tree *t, unsigned number, const char *where)
{
	char path[PATH_MAX], text[96];

	t->caps[number / 8] |= (uint8_t)(1u << number % 8);
	snprintf(path, sizeof(path), "%s/dev/nvidia-caps/nvidia-cap%u", t->root, number);
	if (access(path, F_OK) == 0)      /* what is in use somewhere is not made anew */
		return;
	snprintf(text, sizeof(text), "DeviceFileMinor: %u\nDeviceFileMode: 256\nDeviceFileModify: 1\n", number);
	put(t, text, "proc/driver/nvidia/capabilities/%s", where);
	node(t, MAJOR_CAPS, number, "dev/nvidia-caps/nvidia-cap%u", number);
}

static void drop_cap(const struct tree *t, unsigned number, const char *where)
{
	char path[PATH_MAX];

	if (t->caps[number / 8] >> number % 8 & 1)
		return;
	snprintf(path, sizeof(path), "%s/dev/nvidia-caps/nvidia-cap%u", t->root, number);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/capabilities/%s/access", t->root, where);
	(void)unlink(path);
	*strrchr(path, '/') = 0;
	(void)rmdir(path);
}

/* Those of instances that are gone. */
static void drop_caps(const struct tree *t)
{
	char where[64];

	for (uint32_t i = 0; i < t->state->gpus_n; i++)
		for (unsigned g = 0, m = t->state->gpus[i].minor; g < CAP_GIS; g++) {
			for (unsigned c = 0; c < CAP_CIS; c++) {
				snprintf(where, sizeof(where), "gpu%u/mig/gi%u/ci%u", m, g, c);
				drop_cap(t, cap_gi(m, g) + 1 + c, where);
			}
			snprintf(where, sizeof(where), "gpu%u/mig/gi%u", m, g);
			drop_cap(t, cap_gi(m, g), where);
		}
}

static void put_caps(struct tree *t)
{
	char where[96];

	put_cap(t, 1, "mig/config");
	put_cap(t, 2, "mig/monitor");
	for (uint32_t i = 0; i < t->state->gpus_n; i++) {
		const struct fake_gpu *gpu = &t->state->gpus[i];
		if (gpu->gone || !gpu->mig)
			continue;
		for (uint32_t k = 0; k < FAKE_GIS; k++) {
			const struct fake_gi *gi = &gpu->gis[k];
			if (!gi->used)
				continue;
			snprintf(where, sizeof(where), "gpu%u/mig/gi%u/access", gpu->minor, gi->id);
			put_cap(t, cap_gi(gpu->minor, gi->id), where);
			for (uint32_t c = 0; c < FAKE_CIS; c++) {
				if (!gi->cis[c].used)
					continue;
				snprintf(where, sizeof(where), "gpu%u/mig/gi%u/ci%u/access", gpu->minor, gi->id,
					 gi->cis[c].id);
				put_cap(t, cap_gi(gpu->minor, gi->id) + 1 + gi->cis[c].id, where);
			}
		}
	}
}

static void put_mig_minors(struct tree *t)
{
	FILE *f = file(t, "proc/driver/nvidia-caps/mig-minors");

	if (!f)
		return;
	fprintf(f, "config 1\nmonitor 2\n");
	for (unsigned m = 0; m < CAP_GPUS; m++)
		for (unsigned g = 0; g < CAP_GIS; g++) {
			fprintf(f, "gpu%u/gi%u/access %u\n", m, g, cap_gi(m, g));
			for (unsigned c = 0; c < CAP_CIS; c++)
				fprintf(f, "gpu%u/gi%u/ci%u/access %u\n", m, g, c, cap_gi(m, g) + 1 + c);
		}
	fclose(f);
}

/* Is a real device behind one of our numbers? Then a process that was given a fake card would have that. */
static void no_real_ones(struct tree *t)
{
	FILE *f = fopen("/proc/devices", "re");
	char line[128], *end;

	while (f && fgets(line, sizeof(line), f) && strncmp(line, "Block", 5) != 0) {
		unsigned long number = strtoul(line, &end, 10);
		if (t->failed == 0 && (number == MAJOR_NVIDIA || number == MAJOR_UVM || number == MAJOR_CAPS ||
				       number == MAJOR_IMEX))
			t->failed = fl_fail(t->err, FL_E_EXISTS,
					    "this machine has a real device '%.32s' with major %lu: no fake ones here",
					    end + strspn(end, " "), number);
	}
	if (f)
		fclose(f);
}

static struct tree begin(const struct fake_state *state, const char *folder, struct fl_err *err)
{
	struct tree t = { .state = state, .err = err };

	if (snprintf(t.root, sizeof(t.root), "%s/root", folder) >= (int)sizeof(t.root))
		t.failed = fl_fail(err, FL_E_TOOBIG, "'%s': the path is too long", folder);
	else if (mkdir(t.root, 0755) < 0 && errno != EEXIST)
		t.failed = fl_fail_sys(err, errno, "mkdir '%s'", t.root);
	no_real_ones(&t);
	return t;
}

int fake_tree_caps(const struct fake_state *state, const char *folder, struct fl_err *err)
{
	struct tree t = begin(state, folder, err);

	if (t.failed == 0 && state->driver != FL_NV_DRIVER_NOT_LOADED)
		put_caps(&t);
	if (t.failed == 0)
		drop_caps(&t);
	return t.failed;
}

int fake_tree(const struct fake_state *state, const char *folder, const char *library, struct fl_err *err)
{
	struct tree t = begin(state, folder, err);
	bool loaded = state->driver != FL_NV_DRIVER_NOT_LOADED, fabric = false;

	clear(&t, ".");
	put_devices(&t, loaded);
	put_libraries(&t, library);
	if (library)
		put_fakes(&t, folder, library);
	for (uint32_t i = 0; i < state->gpus_n; i++) {
		const struct fake_gpu *gpu = &state->gpus[i];
		if (gpu->gone)
			continue;
		put_pci(&t, gpu, loaded);
		fabric |= gpu->fabric.clique != 0;
		if (!loaded)
			continue;
		put_proc_gpu(&t, gpu);
		node(&t, MAJOR_NVIDIA, gpu->minor, "dev/nvidia%u", gpu->minor);
	}
	if (!loaded)
		return t.failed;
	put_module(&t);
	put_mig_minors(&t);
	put_caps(&t);
	if (fabric)
		node(&t, MAJOR_IMEX, 0, "dev/nvidia-caps-imex-channels/channel0");
	listener(&t, "run/nvidia-persistenced/socket");
	if (state->gpus[0].links[0].peer < 0)
		listener(&t, "run/nvidia-fabricmanager/socket");
	return t.failed;
}
