#include "fake/nvml/call.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fake/nvml/fault.h"

/* What this process knows; under `local_lock`, the state's lock is taken inside it or without it. */
static pthread_mutex_t local_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct fake_state *state;
	char path[PATH_MAX];
	uint32_t inits, epoch;
	int use;
} local;

/* ---- handles ---- */

enum { KIND_GPU, KIND_MIG, KIND_GI, KIND_CI };

/* generation 8, kind 2, gpu 4, gi 3, ci 3 bits; never touched, so it costs addresses only. */
static char area[1 << 20];

static void *handle(uint32_t kind, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t generation)
{
	return area + ((generation & 255) << 12 | kind << 10 | gpu << 6 | gi << 3 | ci);
}

struct fl_nv_device *gpu_handle(uint32_t index)
{
	return handle(KIND_GPU, index, 0, 0, 1);
}

struct fl_nv_device *mig_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi,
				const struct fake_ci *ci)
{
	return handle(KIND_MIG, index, (uint32_t)(gi - gpu->gis), (uint32_t)(ci - gi->cis), ci->generation);
}

struct fl_nv_gi *gi_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi)
{
	return handle(KIND_GI, index, (uint32_t)(gi - gpu->gis), 0, gi->generation);
}

struct fl_nv_ci *ci_handle(uint32_t index, const struct fake_gpu *gpu, const struct fake_gi *gi,
			   const struct fake_ci *ci)
{
	return handle(KIND_CI, index, (uint32_t)(gi - gpu->gis), (uint32_t)(ci - gi->cis), ci->generation);
}

/* Find what a handle means, and say what it is; -1: of nobody's, or of an instance that is gone. */
static int meaning(struct fake_state *state, const void *h, struct call *c)
{
	uintptr_t offset = (uintptr_t)h - (uintptr_t)area;

	if (!h || offset >= sizeof(area))
		return -1;
	uint32_t kind = offset >> 10 & 3, gpu = offset >> 6 & 15, gi = offset >> 3 & 7, ci = offset & 7;
	uint32_t generation = (uint32_t)(offset >> 12);
	if (gpu >= state->gpus_n)
		return -1;
	c->index = gpu;
	c->gpu = &state->gpus[gpu];
	if (kind == KIND_GPU)
		return KIND_GPU;
	struct fake_gi *found = &c->gpu->gis[gi];
	if (!found->used)
		return -1;
	if (kind == KIND_GI) {
		c->gi = found;
		return (found->generation & 255) == generation ? KIND_GI : -1;
	}
	if (!found->cis[ci].used || (found->cis[ci].generation & 255) != generation)
		return -1;
	c->gi = found;
	c->ci = &found->cis[ci];
	return (int)kind;
}

/* ---- begin and end ---- */

void fake_leave(struct call *c)
{
	if (c->state)
		fake_unlock(c->state);
}

/* Locked and counted, unless there is nothing to lock. */
static struct call enter(int no)
{
	struct call c = { .code = FL_NV_UNINITIALIZED };

	pthread_mutex_lock(&local_lock);
	struct fake_state *state = local.inits ? local.state : NULL;
	uint32_t epoch = local.epoch;
	pthread_mutex_unlock(&local_lock);
	if (!state)
		return c;
	fake_lock(state);
	c.state = state;
	c.code = 0;
	state->calls[no]++;
	if (state->driver_epoch != epoch)
		c.code = FL_NV_UNINITIALIZED;
	else if (state->driver == FL_NV_DRIVER_NOT_LOADED)
		c.code = FL_NV_DRIVER_NOT_LOADED;
	else if (state->missing[no / 64] >> (no % 64) & 1)
		c.code = FL_NV_FUNCTION_NOT_FOUND;
	return c;
}

struct call begin(int no)
{
	struct call c = enter(no);

	if (c.code == 0)
		c.code = fake_faults(c.state, no, -1);
	return c;
}

static struct call begin_kind(int no, const void *h, uint32_t kinds, int otherwise)
{
	struct call c = enter(no);

	if (c.code)
		return c;
	int kind = meaning(c.state, h, &c);
	if (kind < 0)
		c.code = FL_NV_INVALID_ARGUMENT;
	else if (!(kinds >> kind & 1))
		c.code = otherwise;
	else if ((c.code = fake_faults(c.state, no, (int)c.index)) == 0)
		c.code = c.gpu->gone ? FL_NV_GPU_IS_LOST : (int)c.gpu->lost;
	return c;
}

struct call begin_gpu(int no, struct fl_nv_device *d)
{
	return begin_kind(no, d, 1u << KIND_GPU, FL_NV_NOT_SUPPORTED);
}

struct call begin_any(int no, struct fl_nv_device *d)
{
	return begin_kind(no, d, 1u << KIND_GPU | 1u << KIND_MIG, FL_NV_INVALID_ARGUMENT);
}

struct call begin_mig(int no, struct fl_nv_device *d)
{
	return begin_kind(no, d, 1u << KIND_MIG, FL_NV_INVALID_ARGUMENT);
}

struct call begin_gi(int no, struct fl_nv_gi *gi)
{
	return begin_kind(no, gi, 1u << KIND_GI, FL_NV_INVALID_ARGUMENT);
}

struct call begin_ci(int no, struct fl_nv_ci *ci)
{
	return begin_kind(no, ci, 1u << KIND_CI, FL_NV_INVALID_ARGUMENT);
}

int also_gpu(const struct call *call, struct fl_nv_device *d, uint32_t *ret_index)
{
	struct call c = { 0 };

	if (meaning(call->state, d, &c) != KIND_GPU)
		return FL_NV_INVALID_ARGUMENT;
	*ret_index = c.index;
	return (int)c.gpu->lost;
}

int may_change(const struct call *call)
{
	return geteuid() != 0 || call->state->no_privilege ? FL_NV_NO_PERMISSION : 0;
}

int put_text(char *to, uint32_t size, const char *text)
{
	size_t len = strlen(text);

	if (!to)
		return FL_NV_INVALID_ARGUMENT;
	if (size <= len)
		return FL_NV_INSUFFICIENT_SIZE;
	memcpy(to, text, len + 1);
	return 0;
}

struct fake_gpu *gpu_at(struct fake_state *state, uint32_t index, uint32_t *ret_number)
{
	for (uint32_t i = 0; i < state->gpus_n; i++)
		if (!state->gpus[i].gone && index-- == 0) {
			*ret_number = i;
			return &state->gpus[i];
		}
	return NULL;
}

uint32_t index_of(const struct fake_state *state, uint32_t number)
{
	uint32_t index = 0;

	for (uint32_t i = 0; i < number; i++)
		index += !state->gpus[i].gone;
	return index;
}

/* ---- life ---- */

static int open_driver(void)
{
	if (!local.state && (fake_find(local.path) < 0 || !(local.state = fake_map(local.path))))
		return FL_NV_DRIVER_NOT_LOADED;

	struct fake_state *state = local.state;
	fake_lock(state);
	state->calls[FAKE_NO(init)]++;
	int code = (int)state->driver;
	if (code == 0)
		code = fake_faults(state, FAKE_NO(init), -1);
	uint32_t epoch = state->driver_epoch;
	fake_unlock(state);
	if (code)
		return code;
	if (local.inits && local.epoch == epoch) {
		local.inits++;
		return 0;
	}
	if (local.inits)
		close(local.use);
	local.use = fake_use(local.path);
	if (local.use < 0)
		return FL_NV_OPERATING_SYSTEM;
	local.inits = 1;
	local.epoch = epoch;
	return 0;
}

FAKE_CALL(init, nvmlInit_v2);
int nvmlInit_v2(void)
{
	pthread_mutex_lock(&local_lock);
	int code = open_driver();
	pthread_mutex_unlock(&local_lock);
	return code;
}
FAKE_ALSO(nvmlInit, nvmlInit_v2);

__attribute__((visibility("default"))) int nvmlInitWithFlags(uint32_t flags);
int nvmlInitWithFlags(uint32_t flags)
{
	(void)flags;
	return nvmlInit_v2();
}

FAKE_CALL(shutdown, nvmlShutdown);
int nvmlShutdown(void)
{
	{
		FAKE_SCOPE struct call c = enter(FAKE_NO(shutdown));
		int code = c.state ? fake_faults(c.state, FAKE_NO(shutdown), -1) : c.code;
		if (code)
			return code;
	}
	pthread_mutex_lock(&local_lock);
	if (local.inits && --local.inits == 0)
		close(local.use);
	pthread_mutex_unlock(&local_lock);
	return 0;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
	static const char *const words[] = {
		"Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
		"Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
		"Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
		"Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
		"GPU access blocked by the operating system", "Driver/library version mismatch",
		"In use by another client", "Insufficient Memory", "No data",
		"The requested vgpu operation is not available on target device, because ECC is enabled",
		"Insufficient Resources", "Frequency Not Supported", "Argument version mismatch",
		"Call is deprecated", "System is not ready for the request", "GPU not found", "Invalid state",
		"Reset type not supported",
	};

	return code >= 0 && (size_t)code < sizeof(words) / sizeof(*words) ? words[code] : "Unknown Error";
}
