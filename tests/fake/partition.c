/* Cuts a card as an administrator does, by the calls of NVML: partition LIBRARY GPU PROFILE... (1g.10gb). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu/nv_abi.h"

static int failed(const char *what, int code)
{
	fprintf(stderr, "partition: %s: NVML answers %d\n", what, code);
	return 1;
}

static bool is_named(const char *name, const char *profile)
{
	return strcmp(name, profile) == 0 || (strncmp(name, "MIG ", 4) == 0 && strcmp(name + 4, profile) == 0);
}

/* One GPU instance of that profile, and in it one compute instance that has all of it. */
static int cut(const struct fl_nv_calls *nv, struct fl_nv_device *device, const char *profile)
{
	struct fl_nv_gi_profile_v2 info = { 0 };
	struct fl_nv_ci_profile part = { 0 };
	struct fl_nv_gi *gi = NULL;
	struct fl_nv_ci *ci = NULL;
	int code;

	for (uint32_t number = 0; number < FL_NV_GI_COUNT && !is_named(info.name, profile); number++) {
		info = (struct fl_nv_gi_profile_v2){ .version = (uint32_t)sizeof info | 2u << 24 };
		if (nv->gi_profile_any(device, number, &info))
			info.name[0] = '\0';
	}
	if (!is_named(info.name, profile))
		return failed(profile, FL_NV_NOT_FOUND);
	code = nv->gi_create(device, info.id, &gi);
	for (uint32_t number = 0; code == 0 && number < FL_NV_CI_COUNT && part.slices != info.slices; number++)
		if (nv->ci_profile(gi, number, FL_NV_CI_ENGINES_SHARED, &part))
			part.slices = 0;
	if (code == 0)
		code = nv->ci_create(gi, part.id, &ci);
	return code ? failed(profile, code) : 0;
}

int main(int argc, char **argv)
{
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	struct fl_nv_device *device = NULL;
	struct fl_nv_calls nv = { 0 };
	int code, status = 0;

	if (!library || !fl_nv_resolve(&nv, dlsym, library)) {
		fprintf(stderr, "partition LIBRARY GPU PROFILE...%s%s\n", library || argc <= 3 ? "" : ": ",
			library || argc <= 3 ? "" : dlerror());
		return 2;
	}
	code = nv.init();
	if (code == 0)
		code = nv.by_index((uint32_t)strtoul(argv[2], NULL, 10), &device);
	if (code)
		return failed(argv[2], code);
	for (int i = 3; i < argc && status == 0; i++)
		status = cut(&nv, device, argv[i]);
	(void)nv.shutdown();
	return status;
}
