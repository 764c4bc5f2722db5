#include "node/gpu/partition.h"
#include "node/gpu/driver_users.h"
#include <stdio.h>

#define FL_GPU_PROCESSES_MAX 256             /* of one GPU, with eight instances and MPS clients */

/* A GPU instance as an order names it. */
struct named {
	struct fl_str profile;
	uint32_t start;
	struct fl_str computes;
	struct fl_nv_gi_profile_v3 info;       /* of the profile */
	struct fl_nv_gi *gi;                   /* NULL: there is none at this place */
	uint32_t id;
};

struct partition {
	const struct fl_gpu_reader *reader;
	const struct fl_nv *nv;
	struct fl_nv_device *device;
	struct fl_err *err;
};

/* Of a call that changes something. */
static int refused(const struct partition *p, int code, const char *what)
{
	int r = fl_nv_fail(p->nv, code, what, p->err);

	if (code == FL_NV_IN_USE) {
		p->err->code = FL_E_AGAIN;
		return -FL_E_AGAIN;
	}
	if (fl_nv_means(code) == FL_NV_IS_NO_DRIVER || fl_nv_means(code) == FL_NV_IS_REPLACED)
		return r;
	p->err->code = FL_E_IO;   /* whatever it is, the driver is there and answers */
	return -FL_E_IO;
}

/* ---- names ---- */

static bool is_profile(const struct partition *p, struct fl_str name, uint32_t number, uint64_t bytes,
		       struct fl_nv_gi_profile_v3 *ret)
{
	char text[FL_NV_TEXT];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_mig_profile profile = { .number = number, .card_bytes = bytes };

	if (fl_gpu_ask_profile(p->nv, p->device, number, ret) != FL_NV_SUCCESS)
		return false;
	profile.gi_slices = ret->slices;
	profile.memory_mib = ret->memory_mib;
	return fl_mig_name(&profile, &buf) && fl_str_eq(fl_buf_view(&buf), name);
}

static int find_profile(const struct partition *p, struct named *named)
{
	struct fl_nv_memory memory = { 0 };
	int code = FL_NV(p->nv, memory, p->device, &memory);

	if (code != FL_NV_SUCCESS)
		return refused(p, code, "nvmlDeviceGetMemoryInfo");
	for (uint32_t i = 0; i < FL_NV_GI_COUNT; i++)
		if (is_profile(p, named->profile, i, memory.total, &named->info))
			return 0;
	return fl_fail(p->err, FL_E_IO, "the GPU has no profile %.*s", FL_ARG(fl_str_sub(named->profile, 0, 40)));
}

/* "3g.40gb@4=2,1" */
static int take_named(const struct partition *p, struct fl_str text, struct named *ret)
{
	struct fl_str rest = text, start;
	uint64_t number;

	*ret = (struct named){ 0 };
	if (!fl_str_split(&rest, '@', &ret->profile) || !fl_str_split(&rest, '=', &start) ||
	    !fl_str_u64(start, &number) || number > 63)
		return fl_fail(p->err, FL_E_INVALID, "'%.*s' is not the place of a GPU instance",
			       FL_ARG(fl_str_sub(text, 0, 60)));
	ret->start = (uint32_t)number;
	ret->computes = rest;
	return find_profile(p, ret);
}

static int find_instance(const struct partition *p, struct named *named)
{
	struct fl_nv_gi *list[FL_MIG_INSTANCES_MAX * 2] = { NULL };
	uint32_t count = FL_LEN(list);
	int code;

	if (named->info.instances > FL_LEN(list))
		return fl_fail(p->err, FL_E_IO, "the driver offers %u instances %.*s: too many", named->info.instances,
			       FL_ARG(named->profile));
	code = FL_NV(p->nv, gi_list, p->device, named->info.id, list, &count);
	if (code != FL_NV_SUCCESS)
		return refused(p, code, "nvmlDeviceGetGpuInstances");
	for (uint32_t i = 0; i < count && i < FL_LEN(list); i++) {
		struct fl_nv_gi_info info = { 0 };

		code = FL_NV(p->nv, gi_info, list[i], &info);
		if (code != FL_NV_SUCCESS)
			return refused(p, code, "nvmlGpuInstanceGetInfo");
		if (info.placement.start != named->start)
			continue;
		named->gi = list[i];
		named->id = info.id;
	}
	return 0;
}

/* ---- mode ---- */

/* Whoever has the driver open may be it; we are not. */
static int name_clients(const struct partition *p)
{
	struct fl_driver_users users;

	fl_driver_users_find(p->reader->fs, p->reader->proc, NULL, FL_POD_LOGS, &users);
	return fl_fail(p->err, FL_E_AGAIN, "clients of the driver use the GPU: %.180s",
		       users.text[0] ? users.text : "nvidia-smi and /proc of the host say which");
}

static int set_mode(const struct partition *p, bool on)
{
	int activation = FL_NV_SUCCESS;
	int code = FL_NV(p->nv, set_mig_mode, p->device, on ? FL_NV_ON : FL_NV_OFF, &activation);

	if (code == FL_NV_IN_USE || (code == FL_NV_SUCCESS && activation == FL_NV_IN_USE))
		return name_clients(p);
	if (code != FL_NV_SUCCESS)
		return refused(p, code, "nvmlDeviceSetMigMode");
	/* What waits for a reset shows as the pending mode. */
	return 0;
}

/* ---- create ---- */

static int create_compute(const struct partition *p, const struct named *named, uint64_t slices)
{
	struct fl_nv_ci_profile info = { 0 };
	struct fl_nv_ci *ci = NULL;
	int code = FL_NV_NOT_FOUND;

	for (uint32_t i = 0; i < FL_NV_CI_COUNT; i++) {
		if (FL_NV(p->nv, ci_profile, named->gi, i, FL_NV_CI_ENGINES_SHARED, &info) != FL_NV_SUCCESS ||
		    info.slices != slices)
			continue;
		code = FL_NV(p->nv, ci_create, named->gi, info.id, &ci);
		break;
	}
	return code == FL_NV_SUCCESS ? 0 : refused(p, code, "nvmlGpuInstanceCreateComputeInstance");
}

static int place_of(const struct partition *p, const struct named *named, struct fl_nv_placement *ret)
{
	struct fl_nv_placement list[16] = { 0 };
	uint32_t count = 0;
	int code = FL_NV(p->nv, gi_placements, p->device, named->info.id, NULL, &count);

	if (code == FL_NV_SUCCESS && count <= FL_LEN(list))
		code = FL_NV(p->nv, gi_placements, p->device, named->info.id, list, &count);
	if (code != FL_NV_SUCCESS)
		return refused(p, code, "nvmlDeviceGetGpuInstancePossiblePlacements");
	for (uint32_t i = 0; i < count && i < FL_LEN(list); i++)
		if (list[i].start == named->start) {
			*ret = list[i];
			return 0;
		}
	return fl_fail(p->err, FL_E_IO, "the driver has no place %u for %.*s", named->start, FL_ARG(named->profile));
}

static int create(const struct partition *p, struct fl_str text)
{
	struct fl_nv_placement place = { 0 };
	struct fl_str piece;
	struct named named;
	uint64_t slices;
	int r = take_named(p, text, &named), code;

	if (r == 0)
		r = place_of(p, &named, &place);
	if (r < 0)
		return r;
	code = FL_NV(p->nv, gi_create_at, p->device, named.info.id, &place, &named.gi);
	if (code != FL_NV_SUCCESS)
		return refused(p, code, "nvmlDeviceCreateGpuInstanceWithPlacement");
	while (r == 0 && fl_str_split(&named.computes, ',', &piece)) {
		if (!fl_str_u64(piece, &slices))
			return fl_fail(p->err, FL_E_INVALID, "'%.*s' is no number of slices", FL_ARG(piece));
		r = create_compute(p, &named, slices);
	}
	return r;
}

/* ---- destroy ---- */

static int name_processes(const struct partition *p, const struct named *named, const struct fl_nv_process *list,
			  uint32_t count)
{
	const struct fl_fs *fs = p->reader->fs;
	int64_t proc = fs->open(fs, AT_FDCWD, p->reader->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	struct fl_driver_users users = { 0 };

	for (uint32_t i = 0; proc >= 0 && i < count; i++) {
		char pid[16];

		(void)snprintf(pid, sizeof pid, "%u", list[i].pid);
		if (list[i].gi == named->id)
			fl_driver_users_add(fs, (int)proc, FL_POD_LOGS, pid, &users);
	}
	if (proc >= 0)
		fs->close(fs, (int)proc);
	return fl_fail(p->err, FL_E_AGAIN, "%.*s at %u is used by %.180s", FL_ARG(named->profile), named->start,
		       users.text[0] ? users.text : "a process");
}

static int check_unused(const struct partition *p, const struct named *named)
{
	struct fl_nv_process list[FL_GPU_PROCESSES_MAX] = { 0 };
	uint32_t count = FL_LEN(list);
	int code = FL_NV(p->nv, compute_processes, p->device, &count, list);

	if (code != FL_NV_SUCCESS || count > FL_LEN(list))
		return 0;   /* an old driver: it refuses to destroy what is in use */
	for (uint32_t i = 0; i < count; i++)
		if (list[i].gi == named->id)
			return name_processes(p, named, list, count);
	return 0;
}

static int destroy_computes(const struct partition *p, const struct named *named)
{
	for (uint32_t i = 0; i < FL_NV_CI_COUNT; i++) {
		struct fl_nv_ci *list[FL_MIG_COMPUTES_MAX * 2] = { NULL };
		struct fl_nv_ci_profile info = { 0 };
		uint32_t count = FL_LEN(list);

		if (FL_NV(p->nv, ci_profile, named->gi, i, FL_NV_CI_ENGINES_SHARED, &info) != FL_NV_SUCCESS ||
		    info.instances > FL_LEN(list) ||
		    FL_NV(p->nv, ci_list, named->gi, info.id, list, &count) != FL_NV_SUCCESS)
			continue;
		for (uint32_t k = 0; k < count && k < FL_LEN(list); k++) {
			int code = FL_NV(p->nv, ci_destroy, list[k]);

			if (code != FL_NV_SUCCESS && code != FL_NV_NOT_FOUND)
				return refused(p, code, "nvmlComputeInstanceDestroy");
		}
	}
	return 0;
}

static int destroy(const struct partition *p, struct fl_str text)
{
	struct named first = { 0 }, next;
	struct fl_str word;
	bool any = false;
	int r, code;

	while (fl_str_split(&text, ' ', &word)) {
		r = take_named(p, word, &next);
		if (r == 0)
			r = find_instance(p, &next);
		if (r == 0 && next.gi)
			r = check_unused(p, &next);
		if (r < 0)
			return r;
		if (!any)
			first = next;
		any = true;
	}
	if (!first.gi)
		return any ? 0 : fl_fail(p->err, FL_E_INVALID, "nothing to destroy is named");
	r = destroy_computes(p, &first);
	if (r < 0)
		return r;
	code = FL_NV(p->nv, gi_destroy, first.gi);
	return code == FL_NV_SUCCESS || code == FL_NV_NOT_FOUND ? 0 : refused(p, code, "nvmlGpuInstanceDestroy");
}

int fl_gpu_partition(const struct fl_gpu_reader *reader, struct fl_str address, struct fl_str order,
		     struct fl_err *err)
{
	struct fl_err unused = { 0 };
	struct partition p = { reader, reader->nv, NULL, err ? err : &unused };
	int code = fl_gpu_handle(p.nv, address, &p.device);
	struct fl_str word;

	if (code != FL_NV_SUCCESS)
		return refused(&p, code, "nvmlDeviceGetHandleByPciBusId");
	(void)fl_str_split(&order, ' ', &word);
	if (fl_str_eq(word, FL_S("mode")) && (fl_str_eq(order, FL_S("0")) || fl_str_eq(order, FL_S("1"))))
		return set_mode(&p, fl_str_eq(order, FL_S("1")));
	if (fl_str_eq(word, FL_S("create")))
		return create(&p, order);
	if (fl_str_eq(word, FL_S("destroy")))
		return destroy(&p, order);
	return fl_fail(p.err, FL_E_INVALID, "'%.*s' is no change of a MIG layout", FL_ARG(fl_str_sub(word, 0, 40)));
}
