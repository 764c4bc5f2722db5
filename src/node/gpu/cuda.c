#include "node/gpu/cuda.h"
#include "node/host/driver_root.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The codes that say nothing of the card: out of memory, no such device for us, a card in use by one process alone, and
 * one that MIG has cut into nothing yet. */
enum { CUDA_OK = 0, CUDA_NO_MEMORY = 2, CUDA_UNAVAILABLE = 46, CUDA_NO_DEVICE = 100, CUDA_DENIED = 800 };

struct cuda {
	int (*init)(unsigned flags);
	int (*device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*release)(int device);
};

static bool is_verdict(int code)
{
	return code != CUDA_OK && code != CUDA_NO_MEMORY && code != CUDA_UNAVAILABLE && code != CUDA_NO_DEVICE &&
	       code != CUDA_DENIED;
}

static void find(void *library, const char *name, void *ret)
{
	void *at = dlsym(library, name);

	memcpy(ret, &at, sizeof at);   /* an object pointer that is a function: ISO C has no word for it */
}

int fl_gpu_cuda_check(struct fl_str folder, const char *uuid, struct fl_err *err)
{
	struct cuda cuda = { 0 };
	char path[FL_GPU_PATH_MAX];
	void *library, *context = NULL;
	int code, device = 0;

	if (snprintf(path, sizeof path, "%.*s/libcuda.so.1", FL_ARG(folder)) >= (int)sizeof path ||
	    setenv("CUDA_VISIBLE_DEVICES", uuid, 1) < 0)
		return 0;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 0;
	find(library, "cuInit", &cuda.init);
	find(library, "cuDeviceGet", &cuda.device);
	find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
	find(library, "cuDevicePrimaryCtxRelease_v2", &cuda.release);
	if (!cuda.init || !cuda.device || !cuda.retain)
		return 0;
	code = cuda.init(0);
	if (code == CUDA_OK)
		code = cuda.device(&device, 0);
	if (code == CUDA_OK)
		code = cuda.retain(&context, device);
	if (code == CUDA_OK && cuda.release)
		(void)cuda.release(device);
	if (!is_verdict(code))
		return 0;
	return fl_fail(err, FL_E_IO, "CUDA cannot make a context on it: error %d", code);
}
