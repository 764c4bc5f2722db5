/* The driver's application profile: EGL and Vulkan list all GPUs of the machine unless it names those of the container.
 * The setting is a mask by minor number (EGLVisibleDGPUDevices in the driver's documentation of its profiles). */
#include "node/hook/in.h"
#include <stdio.h>
#include <sys/sysmacros.h>

#define FOLDER "/etc/nvidia/nvidia-application-profiles-rc.d"

/* "nvidia0", and none of "nvidiactl", "nvidia-uvm". */
static bool is_gpu(const char *name)
{
	static const char prefix[] = "nvidia";
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] && strspn(name + len, "0123456789") == strlen(name + len);
}

/* By the numbers of the nodes, which are the kernel's; the mask has 64 bits. A mask of none lists no GPU, and no
 * profile lists all: so `ret_any` tells a container whose GPUs have no bit from one without a GPU. */
static int add_nodes(const struct fl_hooking *h, int dev, uint64_t *ret_mask, bool *ret_any)
{
	char buf[4096];
	const char *name;
	int64_t len;

	while ((len = h->fs->list(h->fs, dev, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL))) {
			struct fl_stat stat = { 0 };
			int r = is_gpu(name) ? h->fs->stat(h->fs, dev, name, AT_SYMLINK_NOFOLLOW, &stat) : 0;

			if (r < 0)
				return r;
			if (!S_ISCHR(stat.mode))
				continue;
			*ret_any = true;
			if (minor(stat.rdev) < 64)
				*ret_mask |= 1ull << minor(stat.rdev);
			else if (h->hook->warn)
				h->hook->warn("a GPU with a minor number above 63 is not in the driver's profile: EGL "
					      "and Vulkan do not list it");
		}
	}
	return (int)len;
}

int fl_hook_profile(const struct fl_hooking *h, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
	int dev = fl_hook_open(h, "/dev", O_DIRECTORY), r;
	uint64_t mask = 0;
	bool any = false;

	if (dev < 0)
		return fl_hook_failed(h, dev, "look for GPUs in", "/dev", err);
	r = add_nodes(h, dev, &mask, &any);
	h->fs->close(h->fs, dev);
	if (r < 0)
		return fl_hook_failed(h, r, "look for GPUs in", "/dev", err);
	if (!any)
		return 0;
	fl_buf_printf(&text,
		      "{\"profiles\":[{\"name\":\"container\",\"settings\":[\"EGLVisibleDGPUDevices\",0x%llx]}],"
		      "\"rules\":[{\"pattern\":[],\"profile\":\"container\"}]}\n",
		      (unsigned long long)mask);
	return fl_hook_put(h, FOLDER, "10-container.conf", &text, err);
}
