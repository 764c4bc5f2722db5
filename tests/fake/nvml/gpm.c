/* Profiling metrics: Hopper and newer. A sample is a moment; a metric follows the load that was set. */
#include "fake/nvml/call.h"

#include <stdlib.h>

struct fl_nv_gpm_sample {
	uint64_t at_ns;
	uint32_t load, gpu;
	int32_t gi;
};

static bool has_gpm(const struct call *c)
{
	return c->gpu->model.arch >= FL_NV_ARCH_HOPPER;
}

FAKE_CALL(gpm_supported, nvmlGpmQueryDeviceSupport);
int nvmlGpmQueryDeviceSupport(struct fl_nv_device *d, struct fl_nv_gpm_support *support)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gpm_supported), d);
	if (c.code == 0 && support->version != 1)
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	if (c.code == 0)
		support->is = has_gpm(&c);
	return c.code;
}

FAKE_CALL(gpm_alloc, nvmlGpmSampleAlloc);
int nvmlGpmSampleAlloc(struct fl_nv_gpm_sample **sample)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(gpm_alloc));
	if (c.code)
		return c.code;
	*sample = calloc(1, sizeof(**sample));
	return *sample ? 0 : FL_NV_MEMORY;
}

FAKE_CALL(gpm_free, nvmlGpmSampleFree);
int nvmlGpmSampleFree(struct fl_nv_gpm_sample *sample)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(gpm_free));
	free(sample);
	return c.code;
}

static int take(struct call *c, int32_t gi, struct fl_nv_gpm_sample *sample)
{
	if (c->code == 0 && !has_gpm(c))
		return FL_NV_NOT_SUPPORTED;
	if (c->code == 0)
		*sample = (struct fl_nv_gpm_sample){ fake_now_ns(), c->gpu->load, c->index, gi };
	return c->code;
}

FAKE_CALL(gpm_sample, nvmlGpmSampleGet);
int nvmlGpmSampleGet(struct fl_nv_device *d, struct fl_nv_gpm_sample *sample)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gpm_sample), d);
	return take(&c, -1, sample);
}

FAKE_CALL(gpm_sample_gi, nvmlGpmMigSampleGet);
int nvmlGpmMigSampleGet(struct fl_nv_device *d, uint32_t gi, struct fl_nv_gpm_sample *sample)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(gpm_sample_gi), d);
	for (uint32_t i = 0; c.code == 0 && i < FAKE_GIS; i++)
		if (c.gpu->gis[i].used && c.gpu->gis[i].id == gi)
			return take(&c, (int32_t)gi, sample);
	return c.code ? c.code : FL_NV_NOT_FOUND;
}

FAKE_CALL(gpm_metrics, nvmlGpmMetricsGet);
int nvmlGpmMetricsGet(struct fl_nv_gpm_metrics *m)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(gpm_metrics));
	if (c.code)
		return c.code;
	if (m->version != 1)
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	if (m->from->gpu != m->to->gpu || m->from->gi != m->to->gi || m->to->at_ns < m->from->at_ns + 100000000)
		return FL_NV_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t id = m->at[i].id;
		m->at[i].code = id >= 1 && id < FL_NV_GPM_METRICS && (m->to->gi < 0 || id <= 13) ? 0 :
			FL_NV_NOT_SUPPORTED;
		/* A percentage; of what is carried (20, 21, from 60 on) MiB a second. */
		m->at[i].value = m->to->load;
	}
	return 0;
}
