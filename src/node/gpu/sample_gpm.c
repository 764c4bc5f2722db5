/* Profiling metrics: what the GPU itself counts between two samples. Hopper and newer. */
#include "node/gpu/sample.h"
#include <math.h>
#include <stdio.h>

/* NVML wants 100 ms at least between two samples. */
#define SAMPLE_GPM_APART (100 * FL_NS_PER_MS)

static void drop_gpm(struct fl_gpu_sampler *sampler, struct fl_gpu_gpm *gpm)
{
	if (gpm->last)
		(void)FL_NV(sampler->nv, gpm_free, gpm->last);
	if (gpm->next)
		(void)FL_NV(sampler->nv, gpm_free, gpm->next);
	*gpm = (struct fl_gpu_gpm){ .gi = -1 };
}

void fl_gpu_sampler_free(struct fl_gpu_sampler *sampler)
{
	fl_vec_each (gpm, &sampler->gpm)
		drop_gpm(sampler, gpm);
	fl_vec_free(&sampler->gpm);
	fl_free(sampler->metrics);
	sampler->metrics = NULL;
	sampler->gpm_known_len = 0;
}

/* Asked once for each GPU, while the driver stays. */
static bool has_gpm(struct fl_gpu_sampling *s)
{
	struct fl_gpu_sampler *sampler = s->sampler;
	struct fl_nv_gpm_support support = { .version = 1 };
	bool is;

	for (uint32_t i = 0; i < sampler->gpm_known_len; i++)
		if (strcmp(sampler->gpm_known[i].address, s->address) == 0)
			return sampler->gpm_known[i].is;
	if (sampler->gpm_known_len == FL_LEN(sampler->gpm_known))
		return false;
	is = fl_gpu_sample_gave(s, FL_NV(s->nv, gpm_supported, s->device, &support)) && support.is;
	if (s->over)
		return false;
	(void)snprintf(sampler->gpm_known[sampler->gpm_known_len].address, FL_PCI_ADDRESS, "%s", s->address);
	sampler->gpm_known[sampler->gpm_known_len++].is = is;
	return is;
}

static struct fl_gpu_gpm *find_gpm(struct fl_gpu_sampling *s, int32_t gi)
{
	struct fl_gpu_gpm made = { .gi = gi };

	fl_vec_each (gpm, &s->sampler->gpm)
		if (gpm->gi == gi && strcmp(gpm->address, s->address) == 0)
			return gpm;
	(void)snprintf(made.address, sizeof made.address, "%s", s->address);
	if (!fl_gpu_sample_gave(s, FL_NV(s->nv, gpm_alloc, &made.last)) ||
	    !fl_gpu_sample_gave(s, FL_NV(s->nv, gpm_alloc, &made.next)) ||
	    fl_vec_push(&s->sampler->gpm, made) < 0) {
		drop_gpm(s->sampler, &made);
		return NULL;
	}
	return &s->sampler->gpm.at[s->sampler->gpm.len - 1];
}

static void read_metrics(struct fl_gpu_sampling *s, struct fl_gpu_reading *reading, const struct fl_gpu_gpm *gpm,
			 bool instance)
{
	struct fl_nv_gpm_metrics *metrics = s->sampler->metrics;
	uint32_t ids[FL_DCGM_COUNT];

	memset(metrics, 0, sizeof *metrics);
	metrics->version = 1;
	metrics->from = gpm->last;
	metrics->to = gpm->next;
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		if (fl_dcgm_has(s->wanted, id) && fl_dcgm_fields[id].source == FL_DCGM_FROM_GPM &&
		    (!instance || fl_dcgm_fields[id].level == FL_DCGM_OF_INSTANCE)) {
			ids[metrics->count] = id;
			metrics->at[metrics->count++].id = fl_dcgm_fields[id].arg;
		}
	if (!metrics->count || !fl_gpu_sample_gave(s, FL_NV(s->nv, gpm_metrics, metrics)))
		return;
	for (uint32_t i = 0; i < metrics->count; i++)
		if (metrics->at[i].code == FL_NV_SUCCESS)
			fl_gpu_sample_put(reading, ids[i], metrics->at[i].value);
}

static bool wants_gpm(const struct fl_gpu_sampling *s)
{
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		if (fl_dcgm_has(s->wanted, id) && fl_dcgm_fields[id].source == FL_DCGM_FROM_GPM)
			return true;
	return false;
}

void fl_gpu_sample_gpm(struct fl_gpu_sampling *s, struct fl_gpu_reading *reading, int32_t gi)
{
	uint64_t now = fl_clock(s->sampler->io);
	struct fl_nv_gpm_sample *taken;
	struct fl_gpu_gpm *gpm;
	int code;

	if (s->over || !wants_gpm(s) || !has_gpm(s))
		return;
	if (!s->sampler->metrics && !(s->sampler->metrics = fl_zalloc(sizeof *s->sampler->metrics))) {
		s->nomem = true;
		return;
	}
	gpm = find_gpm(s, gi);
	if (!gpm || (gpm->has_last && now < gpm->at + SAMPLE_GPM_APART))
		return;
	code = gi < 0 ? FL_NV(s->nv, gpm_sample, s->device, gpm->next) :
			FL_NV(s->nv, gpm_sample_gi, s->device, (uint32_t)gi, gpm->next);
	if (!fl_gpu_sample_gave(s, code)) {
		gpm->has_last = false;   /* an instance that is gone, or another one by that number */
		return;
	}
	if (gpm->has_last)
		read_metrics(s, reading, gpm, gi >= 0);
	taken = gpm->next;
	gpm->next = gpm->last;
	gpm->last = taken;
	gpm->has_last = true;
	gpm->at = now;
}
