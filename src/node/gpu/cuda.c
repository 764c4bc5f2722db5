#include "node/gpu/cuda.h"
#include "base/mem.h"
#include "node/host/driver_root.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The codes that say nothing of the card: out of memory, no such device for us, a card in use by one process alone, one
 * that MIG has cut into nothing yet, and a driver whose compiler is not there, or does not know our code. */
enum { CUDA_OK = 0, CUDA_NO_MEMORY = 2, CUDA_UNAVAILABLE = 46, CUDA_NO_DEVICE = 100, CUDA_BAD_PTX = 218,
	CUDA_NO_COMPILER = 221, CUDA_OTHER_PTX = 222, CUDA_NO_JIT = 223, CUDA_DENIED = 800 };

/* Enough blocks for every multiprocessor of the largest GPU, several times. */
enum { THREADS = 256, BLOCKS = 1024, NUMBERS = THREADS * BLOCKS };

/* c[i] = a[i] + b[i], for every GPU since Maxwell. The driver compiles it. */
static const char code_of_add[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
	"\t.reg .b32 %r<7>;\n\t.reg .b64 %d<8>;\n"
	"\tld.param.u64 %d1, [a];\n\tld.param.u64 %d2, [b];\n\tld.param.u64 %d3, [c];\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %d4, %r4, 4;\n"
	"\tcvta.to.global.u64 %d1, %d1;\n\tcvta.to.global.u64 %d2, %d2;\n\tcvta.to.global.u64 %d3, %d3;\n"
	"\tadd.s64 %d5, %d1, %d4;\n\tadd.s64 %d6, %d2, %d4;\n\tadd.s64 %d7, %d3, %d4;\n"
	"\tld.global.u32 %r5, [%d5];\n\tld.global.u32 %r6, [%d6];\n\tadd.u32 %r5, %r5, %r6;\n"
	"\tst.global.u32 [%d7], %r5;\n\tret;\n}\n";

/* CUDA's calls, by their members. */
#define CALLS(X) \
	X(init, "cuInit", unsigned flags) \
	X(device, "cuDeviceGet", int *device, int ordinal) \
	X(retain, "cuDevicePrimaryCtxRetain", void **context, int device) \
	X(release, "cuDevicePrimaryCtxRelease_v2", int device) \
	X(use, "cuCtxSetCurrent", void *context) \
	X(load, "cuModuleLoadData", void **module, const void *code) \
	X(function, "cuModuleGetFunction", void **function, void *module, const char *name) \
	X(get, "cuMemAlloc_v2", uint64_t *at, size_t size) \
	X(give, "cuMemFree_v2", uint64_t at) \
	X(to, "cuMemcpyHtoD_v2", uint64_t to, const void *from, size_t size) \
	X(from, "cuMemcpyDtoH_v2", void *to, uint64_t from, size_t size) \
	X(launch, "cuLaunchKernel", void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, \
	  unsigned threads_y, unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra) \
	X(wait, "cuCtxSynchronize", void)

struct cuda {
#define MEMBER(name, symbol, ...) int (*name)(__VA_ARGS__);
	CALLS(MEMBER)
	const char *step;              /* the call that failed */
};

static bool is_verdict(int code)
{
	static const int none[] = { CUDA_OK, CUDA_NO_MEMORY, CUDA_UNAVAILABLE, CUDA_NO_DEVICE, CUDA_BAD_PTX,
				    CUDA_NO_COMPILER, CUDA_OTHER_PTX, CUDA_NO_JIT, CUDA_DENIED };

	for (size_t i = 0; i < FL_LEN(none); i++)
		if (code == none[i])
			return false;
	return true;
}

static void find_symbol(void *library, const char *name, void *ret)
{
	void *at = dlsym(library, name);

	memcpy(ret, &at, sizeof at);   /* an object pointer that is a function: ISO C has no word for it */
}

/* False: a library that lacks one of them. */
static bool find_all(struct cuda *cuda, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bool all = library != NULL;

#define FIND(name, symbol, ...) \
	if (library) \
		find_symbol(library, symbol, &cuda->name); \
	all = all && cuda->name;
	CALLS(FIND)
	return all;
}

/* The first call that fails, of several; what it was is remembered. */
#define TRY(cuda, code, call, ...) \
	do { \
		if ((code) == CUDA_OK) { \
			(code) = (cuda)->call(__VA_ARGS__); \
			(cuda)->step = #call; \
		} \
	} while (0)

/* ---- the sum of two lists ---- */

static uint32_t first_of(uint32_t i)
{
	return i * 2654435761u;
}

static uint32_t second_of(uint32_t i)
{
	return ~i * 40503u;
}

/* On the card; `sum` is what it says. */
static int add(struct cuda *cuda, uint32_t *numbers, uint32_t *sum)
{
	uint64_t a = 0, b = 0, c = 0;
	void *module = NULL, *function = NULL, *parameters[] = { &a, &b, &c };
	size_t size = NUMBERS * sizeof *sum;
	int code = CUDA_OK;

	TRY(cuda, code, load, &module, code_of_add);
	TRY(cuda, code, function, &function, module, "add");
	TRY(cuda, code, get, &a, size);
	TRY(cuda, code, get, &b, size);
	TRY(cuda, code, get, &c, size);
	for (uint32_t i = 0; i < NUMBERS; i++)
		numbers[i] = first_of(i);
	TRY(cuda, code, to, a, numbers, size);
	for (uint32_t i = 0; i < NUMBERS; i++)
		numbers[i] = second_of(i);
	TRY(cuda, code, to, b, numbers, size);
	TRY(cuda, code, to, c, numbers, size);   /* not what an earlier process left there */
	TRY(cuda, code, launch, function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL);
	TRY(cuda, code, wait);
	TRY(cuda, code, from, sum, c, size);
	for (int i = 0; i < 3; i++)
		if (*(uint64_t *)parameters[i])
			(void)cuda->give(*(uint64_t *)parameters[i]);
	return code;
}

static int compare(const uint32_t *sum, struct fl_err *err)
{
	uint32_t wrong = 0, first = 0;

	for (uint32_t i = NUMBERS; i-- > 0;)
		if (sum[i] != first_of(i) + second_of(i)) {
			first = i;
			wrong++;
		}
	if (!wrong)
		return 1;
	return fl_fail(err, FL_E_IO, "CUDA computes wrong results on it: %u of %d sums, the first is %u "
				     "instead of %u",
		       wrong, NUMBERS, sum[first], first_of(first) + second_of(first));
}

int fl_gpu_cuda_check(struct fl_str folder, const char *uuid, struct fl_err *err)
{
	FL_AUTO(fl_mem) uint32_t *numbers = fl_zalloc_n(NUMBERS, sizeof *numbers);
	FL_AUTO(fl_mem) uint32_t *sum = fl_zalloc_n(NUMBERS, sizeof *sum);
	struct cuda cuda = { 0 };
	char path[FL_GPU_PATH_MAX];
	void *context = NULL;
	int code = CUDA_OK, device = 0;

	if (snprintf(path, sizeof path, "%.*s/libcuda.so.1", FL_ARG(folder)) >= (int)sizeof path || !numbers || !sum ||
	    setenv("CUDA_VISIBLE_DEVICES", uuid, 1) < 0 || !find_all(&cuda, path))
		return 0;
	TRY(&cuda, code, init, 0);
	TRY(&cuda, code, device, &device, 0);
	TRY(&cuda, code, retain, &context, device);
	if (code != CUDA_OK)
		return !is_verdict(code) ? 0 : fl_fail(err, FL_E_IO, "CUDA cannot make a context on it: error %d",
						       code);
	TRY(&cuda, code, use, context);
	if (code == CUDA_OK)
		code = add(&cuda, numbers, sum);
	(void)cuda.release(device);
	if (is_verdict(code))
		return fl_fail(err, FL_E_IO, "CUDA cannot add numbers on it: error %d of its step '%s'", code,
			       cuda.step);
	return code == CUDA_OK ? compare(sum, err) : 0;
}
