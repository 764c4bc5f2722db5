#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nvml/fault.h"

/* Of CUDA just what a check of a card's health does: make a context, add two lists of numbers, let it go. The first
 * device of CUDA_VISIBLE_DEVICES, by UUID, is the card that it is about. Codes are CUDA's. Its memory is the
 * process's. */

enum { CUDA_OK = 0, CUDA_INVALID = 1, CUDA_NOT_INITIALISED = 3, CUDA_ECC = 214, CUDA_NO_DEVICE = 100,
	CUDA_BAD_PTX = 218, CUDA_NO_FUNCTION = 500, CUDA_ILLEGAL_ADDRESS = 700, CUDA_UNKNOWN = 999 };

static pthread_mutex_t local_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_state *local_state;
static bool local_added;   /* a launch has begun: its results are there when it has been waited for */

#define EXPORT __attribute__((visibility("default")))
EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuModuleLoadData(void **module, const void *code);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuMemAlloc_v2(uint64_t *at, size_t size);
EXPORT int cuMemFree_v2(uint64_t at);
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
EXPORT int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
			  unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra);
EXPORT int cuCtxSynchronize(void);

/* A card or a part of one. */
static bool is_named(const struct fake_gpu *gpu, const char *uuid)
{
	char own[48];

	if (strcmp(gpu->uuid, uuid) == 0)
		return true;
	for (uint32_t g = 0; g < FAKE_GIS; g++)
		for (uint32_t i = 0; gpu->gis[g].used && i < FAKE_CIS; i++) {
			fake_mig_uuid(gpu, &gpu->gis[g], &gpu->gis[g].cis[i], own);
			if (gpu->gis[g].cis[i].used && strcmp(own, uuid) == 0)
				return true;
		}
	return false;
}

/* With the lock held: the number of the card, or -1. */
static int visible(const struct fake_state *state)
{
	const char *wanted = getenv("CUDA_VISIBLE_DEVICES");

	for (uint32_t i = 0; i < state->gpus_n; i++) {
		const struct fake_gpu *gpu = &state->gpus[i];
		if (!gpu->gone && !gpu->lost && (!wanted || is_named(gpu, wanted)))
			return (int)i;
	}
	return -1;
}

int cuInit(unsigned flags)
{
	char path[PATH_MAX];
	int code = CUDA_OK;

	if (flags)
		return CUDA_INVALID;
	pthread_mutex_lock(&local_lock);
	if (!local_state && fake_find(path) == 0)
		local_state = fake_map(path);
	if (!local_state) {
		code = CUDA_NO_DEVICE;
	} else {
		fake_lock(local_state);
		code = local_state->driver || visible(local_state) < 0 ? CUDA_NO_DEVICE : CUDA_OK;
		fake_unlock(local_state);
	}
	pthread_mutex_unlock(&local_lock);
	return code;
}

int cuDeviceGetCount(int *count)
{
	if (!local_state)
		return CUDA_NOT_INITIALISED;
	fake_lock(local_state);
	*count = visible(local_state) >= 0;
	fake_unlock(local_state);
	return CUDA_OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	if (!local_state)
		return CUDA_NOT_INITIALISED;
	*device = ordinal;
	return ordinal == 0 ? CUDA_OK : CUDA_INVALID;
}

/* A card with errors of memory that could not be corrected makes no contexts. */
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static char made;

	if (!local_state)
		return CUDA_NOT_INITIALISED;
	if (device != 0)
		return CUDA_INVALID;
	fake_lock(local_state);
	local_state->calls[FAKE_CUDA]++;
	int no = visible(local_state), code = no < 0 ? CUDA_UNKNOWN : CUDA_OK;
	if (code == CUDA_OK)
		code = fake_faults(local_state, FAKE_CUDA, no);
	if (code == CUDA_OK && local_state->gpus[no].ecc[FL_NV_UNCORRECTED][FL_NV_VOLATILE][FL_NV_DRAM])
		code = CUDA_ECC;
	fake_unlock(local_state);
	*context = code == CUDA_OK ? &made : NULL;
	return code;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return device == 0 ? CUDA_OK : CUDA_INVALID;
}

/* ---- a module with the one function `add`, which adds ---- */

static char module_of_all, add_of_all;

int cuCtxSetCurrent(void *context)
{
	return context ? CUDA_OK : CUDA_INVALID;
}

int cuModuleLoadData(void **module, const void *code)
{
	*module = &module_of_all;
	return strncmp(code, ".version ", 9) == 0 && strstr(code, ".entry add(") ? CUDA_OK : CUDA_BAD_PTX;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = &add_of_all;
	return module == &module_of_all && strcmp(name, "add") == 0 ? CUDA_OK : CUDA_NO_FUNCTION;
}

int cuMemAlloc_v2(uint64_t *at, size_t size)
{
	*at = (uintptr_t)malloc(size);
	return *at ? CUDA_OK : 2;
}

int cuMemFree_v2(uint64_t at)
{
	free((void *)(uintptr_t)at);
	return CUDA_OK;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size)
{
	memcpy((void *)(uintptr_t)to, from, size);
	return CUDA_OK;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
	memcpy(to, (const void *)(uintptr_t)from, size);
	return local_added ? CUDA_UNKNOWN : CUDA_OK;
}

/* How many sums the card gets wrong. */
static uint32_t wrong_sums(void)
{
	uint32_t wrong = 0;
	int no;

	fake_lock(local_state);
	no = visible(local_state);
	if (no >= 0)
		wrong = local_state->gpus[no].miscomputes;
	fake_unlock(local_state);
	return wrong;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
		   unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra)
{
	const uint32_t *a, *b;
	uint32_t *sum, wrong = wrong_sums();

	(void)stream;
	if (function != &add_of_all || y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || shared || extra)
		return CUDA_INVALID;
	a = (const uint32_t *)(uintptr_t) * (uint64_t *)parameters[0];
	b = (const uint32_t *)(uintptr_t) * (uint64_t *)parameters[1];
	sum = (uint32_t *)(uintptr_t) * (uint64_t *)parameters[2];
	if (!a || !b || !sum)
		return CUDA_ILLEGAL_ADDRESS;
	for (uint32_t i = 0; i < x * threads_x; i++)
		sum[i] = a[i] + b[i] + (i < wrong);
	local_added = true;
	return CUDA_OK;
}

int cuCtxSynchronize(void)
{
	local_added = false;
	return CUDA_OK;
}
