#include "fake/nvml/call.h"
#include "fake/nvml/fault.h"

#include <stdio.h>

/* Compute instances within a GPU instance, and the MIG devices that they are. */

static const uint8_t ci_slices[FL_NV_CI_COUNT] = {
	[FL_NV_CI_1] = 1, [FL_NV_CI_2] = 2, [FL_NV_CI_3] = 3, [FL_NV_CI_4] = 4, [FL_NV_CI_7] = 7, [FL_NV_CI_8] = 8,
		[FL_NV_CI_6] = 6,
};

/* How many slices a profile has here; 0 with the code set: there is none. More than half but not all is not to be
 * had. */
static uint32_t ci_profile(struct call *c, uint32_t number)
{
	if (c->code)
		return 0;
	uint32_t whole = c->gpu->model.profiles[c->gi->profile].slices;
	uint32_t slices = number < FL_NV_CI_COUNT ? ci_slices[number] : 0;
	if (number >= FL_NV_CI_COUNT)
		c->code = FL_NV_INVALID_ARGUMENT;
	else if (slices == 0 || slices > whole || (slices < whole && 2 * slices > whole + 1))
		c->code = FL_NV_NOT_SUPPORTED;
	return c->code ? 0 : slices;
}

/* What the driver calls a profile is its number here too. */
static struct fl_nv_ci_profile ci_numbers(const struct call *c, uint32_t number, uint32_t slices)
{
	const struct fake_profile *p = &c->gpu->model.profiles[c->gi->profile];

	return (struct fl_nv_ci_profile){
		.id = number, .slices = slices, .instances = p->slices / slices,
		.multiprocessors = p->multiprocessors * slices / p->slices, .copy_engines = p->copy_engines,
		.decoders = p->decoders, .encoders = p->encoders, .jpegs = p->jpegs, .ofas = p->ofas,
	};
}

FAKE_CALL(ci_profile, nvmlGpuInstanceGetComputeInstanceProfileInfo);
int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct fl_nv_gi *gi, uint32_t number, uint32_t engines,
						 struct fl_nv_ci_profile *info)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_profile), gi);
	uint32_t slices = ci_profile(&c, number);
	if (slices && engines != FL_NV_CI_ENGINES_SHARED)
		return FL_NV_INVALID_ARGUMENT;
	if (slices)
		*info = ci_numbers(&c, number, slices);
	return c.code;
}

FAKE_CALL(ci_profile_any, nvmlGpuInstanceGetComputeInstanceProfileInfoV);
int nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct fl_nv_gi *gi, uint32_t number, uint32_t engines, void *any)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_profile_any), gi);
	uint32_t slices = ci_profile(&c, number);
	if (!slices)
		return c.code;
	if (engines != FL_NV_CI_ENGINES_SHARED)
		return FL_NV_INVALID_ARGUMENT;
	uint32_t version = *(const uint32_t *)any;
	bool v3 = version == FL_NV_VERSION(struct fl_nv_ci_profile_v3, 3) && c.state->newest >= 3;
	if (!v3 && (version != FL_NV_VERSION(struct fl_nv_ci_profile_v2, 2) || c.state->newest < 2))
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	struct fl_nv_ci_profile p = ci_numbers(&c, number, slices);
	struct fl_nv_ci_profile_v2 *to = any;      /* the third version only has one more member, at the end */
	*to = (struct fl_nv_ci_profile_v2){
		.version = version, .id = p.id, .slices = p.slices, .instances = p.instances,
		.multiprocessors = p.multiprocessors, .copy_engines = p.copy_engines, .decoders = p.decoders,
		.encoders = p.encoders, .jpegs = p.jpegs, .ofas = p.ofas,
	};
	const struct fake_profile *whole = &c.gpu->model.profiles[c.gi->profile];
	if (slices == whole->slices)
		snprintf(to->name, sizeof(to->name), "MIG %s", whole->name);
	else
		snprintf(to->name, sizeof(to->name), "MIG %uc.%s", slices, whole->name);
	if (v3)
		((struct fl_nv_ci_profile_v3 *)any)->can = 0;
	return 0;
}

static bool ci_fits(const struct fake_gi *gi, uint32_t start, uint32_t size, uint32_t whole)
{
	if (start + size > whole)
		return false;
	for (uint32_t i = 0; i < FAKE_CIS; i++)
		if (gi->cis[i].used && start < gi->cis[i].start + gi->cis[i].size && gi->cis[i].start < start + size)
			return false;
	return true;
}

FAKE_CALL(ci_placements, nvmlGpuInstanceGetComputeInstancePossiblePlacements);
int nvmlGpuInstanceGetComputeInstancePossiblePlacements(struct fl_nv_gi *gi, uint32_t profile,
							struct fl_nv_placement *list, uint32_t *count)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_placements), gi);
	uint32_t slices = ci_profile(&c, profile);
	if (!slices)
		return c.code;
	uint32_t n = c.gpu->model.profiles[c.gi->profile].slices / slices, room = *count;
	*count = n;
	if (list && room < n)
		return FL_NV_INSUFFICIENT_SIZE;
	for (uint32_t i = 0; list && i < n; i++)
		list[i] = (struct fl_nv_placement){ .start = i * slices, .size = slices };
	return 0;
}

/* The lowest number that no MIG device of the card has. */
static uint32_t free_index(const struct fake_gpu *gpu)
{
	uint32_t taken = 0, index = 0;

	for (uint32_t g = 0; g < FAKE_GIS; g++)
		for (uint32_t i = 0; gpu->gis[g].used && i < FAKE_CIS; i++)
			if (gpu->gis[g].cis[i].used)
				taken |= 1u << gpu->gis[g].cis[i].index;
	while (taken >> index & 1)
		index++;
	return index;
}

static int make_ci(struct call *c, uint32_t profile, const struct fl_nv_placement *at, struct fl_nv_ci **ret)
{
	uint32_t slices = ci_profile(c, profile), start = 0, slot = 0;

	if (!slices)
		return c->code == FL_NV_NOT_SUPPORTED ? FL_NV_INVALID_ARGUMENT : c->code;
	if ((c->code = may_change(c)) != 0)
		return c->code;
	uint32_t whole = c->gpu->model.profiles[c->gi->profile].slices;
	if (at && (at->size != slices || at->start % slices || at->start + slices > whole))
		return FL_NV_INVALID_ARGUMENT;
	while (!at && start + slices <= whole && !ci_fits(c->gi, start, slices, whole))
		start += slices;
	if (at)
		start = at->start;
	if (!ci_fits(c->gi, start, slices, whole))
		return FL_NV_INSUFFICIENT_RESOURCES;
	while (slot < FAKE_CIS && c->gi->cis[slot].used)
		slot++;
	if (slot == FAKE_CIS)
		return FL_NV_INSUFFICIENT_RESOURCES;
	struct fake_ci *ci = &c->gi->cis[slot];
	*ci = (struct fake_ci){ .id = slot, .profile = profile, .start = start, .size = slices,
				.generation = ++c->gpu->instances_made, .index = free_index(c->gpu) };
	ci->used = 1;
	*ret = ci_handle(c->index, c->gpu, c->gi, ci);
	fake_tell(c->state, c->index, FL_NV_EVENT_MIG_CONFIG, 1, c->gi->id, ci->id);
	return 0;
}

FAKE_CALL(ci_create, nvmlGpuInstanceCreateComputeInstance);
int nvmlGpuInstanceCreateComputeInstance(struct fl_nv_gi *gi, uint32_t profile, struct fl_nv_ci **ci)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_create), gi);
	return c.code ? fake_done(c.code) : make_ci(&c, profile, NULL, ci);
}

FAKE_CALL(ci_create_at, nvmlGpuInstanceCreateComputeInstanceWithPlacement);
int nvmlGpuInstanceCreateComputeInstanceWithPlacement(struct fl_nv_gi *gi, uint32_t profile,
						      const struct fl_nv_placement *at, struct fl_nv_ci **ci)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_create_at), gi);
	return c.code ? fake_done(c.code) : make_ci(&c, profile, at, ci);
}

FAKE_CALL(ci_list, nvmlGpuInstanceGetComputeInstances);
int nvmlGpuInstanceGetComputeInstances(struct fl_nv_gi *gi, uint32_t profile, struct fl_nv_ci **list, uint32_t *count)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_list), gi);
	if (!ci_profile(&c, profile))
		return c.code;
	*count = 0;
	for (uint32_t i = 0; i < FAKE_CIS; i++)
		if (c.gi->cis[i].used && c.gi->cis[i].profile == profile)
			list[(*count)++] = ci_handle(c.index, c.gpu, c.gi, &c.gi->cis[i]);
	return 0;
}

FAKE_CALL(ci_by_id, nvmlGpuInstanceGetComputeInstanceById);
int nvmlGpuInstanceGetComputeInstanceById(struct fl_nv_gi *gi, uint32_t id, struct fl_nv_ci **ci)
{
	FAKE_SCOPE struct call c = begin_gi(FAKE_NO(ci_by_id), gi);
	if (c.code)
		return c.code;
	for (uint32_t i = 0; i < FAKE_CIS; i++)
		if (c.gi->cis[i].used && c.gi->cis[i].id == id) {
			*ci = ci_handle(c.index, c.gpu, c.gi, &c.gi->cis[i]);
			return 0;
		}
	return FL_NV_NOT_FOUND;
}

FAKE_CALL(ci_info, nvmlComputeInstanceGetInfo_v2);
int nvmlComputeInstanceGetInfo_v2(struct fl_nv_ci *ci, struct fl_nv_ci_info *info)
{
	FAKE_SCOPE struct call c = begin_ci(FAKE_NO(ci_info), ci);
	if (c.code == 0)
		*info = (struct fl_nv_ci_info){
			.device = gpu_handle(c.index), .gi = gi_handle(c.index, c.gpu, c.gi), .id = c.ci->id,
			.profile = c.ci->profile, .placement = { .start = c.ci->start, .size = c.ci->size },
		};
	return c.code;
}
FAKE_ALSO(nvmlComputeInstanceGetInfo, nvmlComputeInstanceGetInfo_v2);

FAKE_CALL(ci_destroy, nvmlComputeInstanceDestroy);
int nvmlComputeInstanceDestroy(struct fl_nv_ci *ci)
{
	FAKE_SCOPE struct call c = begin_ci(FAKE_NO(ci_destroy), ci);
	if (c.code || (c.code = may_change(&c)) != 0)
		return fake_done(c.code);
	for (uint32_t i = 0; i < FAKE_PROCESSES; i++) {
		const struct fake_process *p = &c.gpu->processes[i];
		if (p->used && p->gi == c.gi->id && p->ci == c.ci->id)
			return FL_NV_IN_USE;
	}
	c.ci->used = 0;
	fake_tell(c.state, c.index, FL_NV_EVENT_MIG_CONFIG, 1, c.gi->id, c.ci->id);
	return 0;
}

/* ---- MIG devices ---- */

FAKE_CALL(mig_max, nvmlDeviceGetMaxMigDeviceCount);
int nvmlDeviceGetMaxMigDeviceCount(struct fl_nv_device *d, uint32_t *count)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(mig_max), d);
	if (c.code == 0)
		*count = c.gpu->model.slices;
	return c.code;
}

FAKE_CALL(mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex);
int nvmlDeviceGetMigDeviceHandleByIndex(struct fl_nv_device *d, uint32_t index, struct fl_nv_device **mig)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(mig_by_index), d);
	if (c.code)
		return c.code;
	if (!c.gpu->model.slices)
		return FL_NV_NOT_SUPPORTED;
	if (index >= c.gpu->model.slices)
		return FL_NV_INVALID_ARGUMENT;
	for (uint32_t g = 0; c.gpu->mig && g < FAKE_GIS; g++)
		for (uint32_t i = 0; c.gpu->gis[g].used && i < FAKE_CIS; i++)
			if (c.gpu->gis[g].cis[i].used && c.gpu->gis[g].cis[i].index == index) {
				*mig = mig_handle(c.index, c.gpu, &c.gpu->gis[g], &c.gpu->gis[g].cis[i]);
				return 0;
			}
	return FL_NV_NOT_FOUND;
}

FAKE_CALL(mig_parent, nvmlDeviceGetDeviceHandleFromMigDeviceHandle);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct fl_nv_device *mig, struct fl_nv_device **device)
{
	FAKE_SCOPE struct call c = begin_mig(FAKE_NO(mig_parent), mig);
	if (c.code == 0)
		*device = gpu_handle(c.index);
	return c.code;
}

FAKE_CALL(is_mig, nvmlDeviceIsMigDeviceHandle);
int nvmlDeviceIsMigDeviceHandle(struct fl_nv_device *d, uint32_t *yes)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(is_mig), d);
	if (c.code == 0)
		*yes = c.ci != NULL;
	return c.code;
}

FAKE_CALL(gi_id, nvmlDeviceGetGpuInstanceId);
int nvmlDeviceGetGpuInstanceId(struct fl_nv_device *mig, uint32_t *id)
{
	FAKE_SCOPE struct call c = begin_mig(FAKE_NO(gi_id), mig);
	if (c.code == 0)
		*id = c.gi->id;
	return c.code;
}

FAKE_CALL(ci_id, nvmlDeviceGetComputeInstanceId);
int nvmlDeviceGetComputeInstanceId(struct fl_nv_device *mig, uint32_t *id)
{
	FAKE_SCOPE struct call c = begin_mig(FAKE_NO(ci_id), mig);
	if (c.code == 0)
		*id = c.ci->id;
	return c.code;
}

FAKE_CALL(attributes, nvmlDeviceGetAttributes_v2);
int nvmlDeviceGetAttributes_v2(struct fl_nv_device *mig, struct fl_nv_attributes *attributes)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(attributes), mig);
	if (c.code)
		return c.code;
	if (!c.ci)
		return FL_NV_NOT_SUPPORTED;
	const struct fake_profile *p = &c.gpu->model.profiles[c.gi->profile];
	*attributes = (struct fl_nv_attributes){
		.multiprocessors = p->multiprocessors * c.ci->size / p->slices, .copy_engines = p->copy_engines,
		.decoders = p->decoders, .encoders = p->encoders, .jpegs = p->jpegs, .ofas = p->ofas,
		.gi_slices = p->slices, .ci_slices = c.ci->size, .memory_mib = p->memory_mib,
	};
	return 0;
}
FAKE_ALSO(nvmlDeviceGetAttributes, nvmlDeviceGetAttributes_v2);
