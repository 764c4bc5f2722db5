#include "fake/nvml/call.h"
#include "fake/nvml/fault.h"

#include <stdio.h>
#include <string.h>

/* MIG by the model's table: what fits is decided by memory slices, compute slices, counts and engines. */

/* ---- the mode ---- */

FAKE_CALL(mig_mode, nvmlDeviceGetMigMode);
int nvmlDeviceGetMigMode(struct fl_nv_device *d, uint32_t *now, uint32_t *pending)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(mig_mode), d);
	if (c.code == 0 && !c.gpu->model.slices)
		return FL_NV_NOT_SUPPORTED;
	if (c.code == 0) {
		*now = c.gpu->mig;
		*pending = c.gpu->mig_pending;
	}
	return c.code;
}

static bool has_instances(const struct fake_gpu *gpu)
{
	for (uint32_t i = 0; i < FAKE_GIS; i++)
		if (gpu->gis[i].used)
			return true;
	return false;
}

static bool has_processes(const struct fake_gpu *gpu)
{
	for (uint32_t i = 0; i < FAKE_PROCESSES; i++)
		if (gpu->processes[i].used)
			return true;
	return false;
}

FAKE_CALL(set_mig_mode, nvmlDeviceSetMigMode);
int nvmlDeviceSetMigMode(struct fl_nv_device *d, uint32_t mode, int *activation)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(set_mig_mode), d);
	if (c.code)
		return fake_done(c.code);
	if (!c.gpu->model.slices)
		return FL_NV_NOT_SUPPORTED;
	if (mode > 1 || !activation)
		return FL_NV_INVALID_ARGUMENT;
	if ((c.code = may_change(&c)) != 0)
		return c.code;
	if (mode == 0 && has_instances(c.gpu))
		return FL_NV_IN_USE;
	*activation = 0;
	c.gpu->mig_pending = mode;
	if (mode == c.gpu->mig)
		return 0;
	if (c.gpu->model.reset_for_mig)
		*activation = FL_NV_RESET_REQUIRED;
	else if (has_processes(c.gpu))
		*activation = FL_NV_IN_USE;
	else
		c.gpu->mig = mode;
	if (*activation == 0)
		fake_tell(c.state, c.index, FL_NV_EVENT_MIG_CONFIG, mode, FL_NV_NO_INSTANCE, FL_NV_NO_INSTANCE);
	return 0;
}

/* ---- profiles of GPU instances ---- */

/* By number, or NULL with the code set. */
static const struct fake_profile *profile_no(struct call *c, uint32_t number)
{
	if (c->code == 0 && !c->gpu->model.slices)
		c->code = FL_NV_NOT_SUPPORTED;
	if (c->code == 0 && number >= FL_NV_GI_COUNT)
		c->code = FL_NV_INVALID_ARGUMENT;
	if (c->code == 0 && c->gpu->model.profiles[number].instances == 0)
		c->code = FL_NV_NOT_SUPPORTED;
	return c->code ? NULL : &c->gpu->model.profiles[number];
}

/* By the id that the driver gave out; its number. */
static const struct fake_profile *profile_id(struct call *c, uint32_t id, uint32_t *ret_number)
{
	if (c->code)
		return NULL;
	c->code = c->gpu->model.slices ? FL_NV_INVALID_ARGUMENT : FL_NV_NOT_SUPPORTED;
	for (uint32_t i = 0; i < FL_NV_GI_COUNT && c->gpu->model.slices; i++)
		if (c->gpu->model.profiles[i].instances && c->gpu->model.profiles[i].id == id) {
			c->code = 0;
			*ret_number = i;
			return &c->gpu->model.profiles[i];
		}
	return NULL;
}

FAKE_CALL(gi_profile, nvmlDeviceGetGpuInstanceProfileInfo);
int nvmlDeviceGetGpuInstanceProfileInfo(struct fl_nv_device *d, uint32_t number, struct fl_nv_gi_profile *info)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_profile), d);
	const struct fake_profile *p = profile_no(&c, number);
	if (p)
		*info = (struct fl_nv_gi_profile){
			.id = p->id, .slices = p->slices, .instances = p->instances,
				.multiprocessors = p->multiprocessors,
			.copy_engines = p->copy_engines, .decoders = p->decoders, .encoders = p->encoders,
				.jpegs = p->jpegs,
			.ofas = p->ofas, .memory_mib = p->memory_mib,
		};
	return c.code;
}

FAKE_CALL(gi_profile_any, nvmlDeviceGetGpuInstanceProfileInfoV);
int nvmlDeviceGetGpuInstanceProfileInfoV(struct fl_nv_device *d, uint32_t number, void *any)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_profile_any), d);
	const struct fake_profile *p = profile_no(&c, number);
	if (!p)
		return c.code;
	uint32_t version = *(const uint32_t *)any;
	if (version == FL_NV_VERSION(struct fl_nv_gi_profile_v3, 3) && c.state->newest >= 3) {
		struct fl_nv_gi_profile_v3 *to = any;
		*to = (struct fl_nv_gi_profile_v3){
			.version = version, .id = p->id, .slices = p->slices, .instances = p->instances,
			.multiprocessors = p->multiprocessors, .copy_engines = p->copy_engines, .decoders = p->decoders,
			.encoders = p->encoders, .jpegs = p->jpegs, .ofas = p->ofas, .memory_mib = p->memory_mib,
		};
		snprintf(to->name, sizeof(to->name), "MIG %s", p->name);
		return 0;
	}
	if (version != FL_NV_VERSION(struct fl_nv_gi_profile_v2, 2) || c.state->newest < 2)
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	struct fl_nv_gi_profile_v2 *to = any;
	*to = (struct fl_nv_gi_profile_v2){
		.version = version, .id = p->id, .slices = p->slices, .instances = p->instances,
		.multiprocessors = p->multiprocessors, .copy_engines = p->copy_engines, .decoders = p->decoders,
		.encoders = p->encoders, .jpegs = p->jpegs, .ofas = p->ofas, .memory_mib = p->memory_mib,
	};
	snprintf(to->name, sizeof(to->name), "MIG %s", p->name);
	return 0;
}

FAKE_CALL(gi_placements, nvmlDeviceGetGpuInstancePossiblePlacements_v2);
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct fl_nv_device *d, uint32_t profile,
						  struct fl_nv_placement *list, uint32_t *count)
{
	uint32_t number;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_placements), d);
	const struct fake_profile *p = profile_id(&c, profile, &number);
	if (!p)
		return c.code;
	uint32_t room = *count;
	*count = p->places_n;
	if (!list)
		return 0;
	if (room < p->places_n)
		return FL_NV_INSUFFICIENT_SIZE;
	for (uint32_t i = 0; i < p->places_n; i++)
		list[i] = (struct fl_nv_placement){ .start = p->places[i], .size = p->size };
	return 0;
}
FAKE_ALSO(nvmlDeviceGetGpuInstancePossiblePlacements, nvmlDeviceGetGpuInstancePossiblePlacements_v2);

/* ---- making GPU instances ---- */

static bool overlaps(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

/* Would this one still fit beside those that there are? */
static bool fits(const struct fake_gpu *gpu, uint32_t number, uint32_t start)
{
	const struct fake_profile *p = &gpu->model.profiles[number], *whole = p;
	uint32_t slices = p->slices, same = 1, jpegs = p->jpegs, ofas = p->ofas, decoders = p->decoders, n = 0;

	for (uint32_t i = 0; i < FL_NV_GI_COUNT; i++)
		if (gpu->model.profiles[i].instances && gpu->model.profiles[i].slices > whole->slices)
			whole = &gpu->model.profiles[i];
	for (uint32_t i = 0; i < FAKE_GIS; i++) {
		const struct fake_gi *gi = &gpu->gis[i];
		if (!gi->used)
			continue;
		const struct fake_profile *q = &gpu->model.profiles[gi->profile];
		if (overlaps(start, p->size, gi->start, gi->size))
			return false;
		n++;
		slices += q->slices;
		same += gi->profile == number;
		jpegs += q->jpegs;
		ofas += q->ofas;
		decoders += q->decoders;
	}
	return n < FAKE_GIS && slices <= gpu->model.slices && same <= p->instances && jpegs <= whole->jpegs &&
	       ofas <= whole->ofas && decoders <= whole->decoders;
}

/* Ids as the drivers of these cards give them: the whole is 0, halves 1 and 2, quarters from 3, eighths from 7, the
 * lower half of memory after the upper. */
static uint32_t gi_number(const struct fake_gpu *gpu, const struct fake_profile *p, uint32_t start)
{
	uint32_t whole = gpu->model.slices == 7 ? 8 : gpu->model.slices;

	return whole / p->size - 1 + (start + whole / 2) % whole / p->size;
}

static int make_gi(struct call *c, uint32_t profile, const struct fl_nv_placement *at, struct fl_nv_gi **ret)
{
	uint32_t number = 0, i = 0, slot = 0;
	const struct fake_profile *p = profile_id(c, profile, &number);

	if (!p)
		return c->code;
	if ((c->code = may_change(c)) != 0)
		return c->code;
	if (!c->gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	if (at) {
		while (i < p->places_n && p->places[i] != at->start)
			i++;
		if (i == p->places_n || at->size != p->size)
			return FL_NV_INVALID_ARGUMENT;
	} else {
		while (i < p->places_n && !fits(c->gpu, number, p->places[i]))
			i++;
	}
	if (i == p->places_n || !fits(c->gpu, number, p->places[i]))
		return FL_NV_INSUFFICIENT_RESOURCES;
	while (c->gpu->gis[slot].used)
		slot++;
	struct fake_gi *gi = &c->gpu->gis[slot];
	*gi = (struct fake_gi){ .id = gi_number(c->gpu, p, p->places[i]), .profile = number, .start = p->places[i],
		.size = p->size,
				.generation = ++c->gpu->instances_made };
	gi->used = 1;
	*ret = gi_handle(c->index, c->gpu, gi);
	fake_tell(c->state, c->index, FL_NV_EVENT_MIG_CONFIG, 1, gi->id, FL_NV_NO_INSTANCE);
	return 0;
}

FAKE_CALL(gi_create, nvmlDeviceCreateGpuInstance);
int nvmlDeviceCreateGpuInstance(struct fl_nv_device *d, uint32_t profile, struct fl_nv_gi **gi)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_create), d);
	return c.code ? fake_done(c.code) : make_gi(&c, profile, NULL, gi);
}

FAKE_CALL(gi_create_at, nvmlDeviceCreateGpuInstanceWithPlacement);
int nvmlDeviceCreateGpuInstanceWithPlacement(struct fl_nv_device *d, uint32_t profile,
					     const struct fl_nv_placement *at, struct fl_nv_gi **gi)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_create_at), d);
	return c.code ? fake_done(c.code) : make_gi(&c, profile, at, gi);
}

FAKE_CALL(gi_list, nvmlDeviceGetGpuInstances);
int nvmlDeviceGetGpuInstances(struct fl_nv_device *d, uint32_t profile, struct fl_nv_gi **list, uint32_t *count)
{
	uint32_t number;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_list), d);
	if (!profile_id(&c, profile, &number))
		return c.code;
	if (!c.gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	*count = 0;
	for (uint32_t i = 0; i < FAKE_GIS; i++)
		if (c.gpu->gis[i].used && c.gpu->gis[i].profile == number)
			list[(*count)++] = gi_handle(c.index, c.gpu, &c.gpu->gis[i]);
	return 0;
}

FAKE_CALL(gi_by_id, nvmlDeviceGetGpuInstanceById);
int nvmlDeviceGetGpuInstanceById(struct fl_nv_device *d, uint32_t id, struct fl_nv_gi **gi)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gi_by_id), d);
	if (c.code)
		return c.code;
	if (!c.gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	for (uint32_t i = 0; i < FAKE_GIS; i++)
		if (c.gpu->gis[i].used && c.gpu->gis[i].id == id) {
			*gi = gi_handle(c.index, c.gpu, &c.gpu->gis[i]);
			return 0;
		}
	return FL_NV_NOT_FOUND;
}

FAKE_CALL(gi_info, nvmlGpuInstanceGetInfo);
int nvmlGpuInstanceGetInfo(struct fl_nv_gi *gi, struct fl_nv_gi_info *info)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(gi_info), gi);
	if (c.code == 0)
		*info = (struct fl_nv_gi_info){
			.device = gpu_handle(c.index), .id = c.gi->id,
				.profile = c.gpu->model.profiles[c.gi->profile].id,
			.placement = { .start = c.gi->start, .size = c.gi->size },
		};
	return c.code;
}

FAKE_CALL(gi_destroy, nvmlGpuInstanceDestroy);
int nvmlGpuInstanceDestroy(struct fl_nv_gi *gi)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(gi_destroy), gi);
	if (c.code || (c.code = may_change(&c)) != 0)
		return fake_done(c.code);
	for (uint32_t i = 0; i < FAKE_CIS; i++)
		if (c.gi->cis[i].used)
			return FL_NV_IN_USE;
	c.gi->used = 0;
	fake_tell(c.state, c.index, FL_NV_EVENT_MIG_CONFIG, 1, c.gi->id, FL_NV_NO_INSTANCE);
	return 0;
}
