#include "node/gpu/sample.h"
#include "node/gpu/read.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

#define SAMPLE_INSTANCES 8              /* GPU instances of one card */

bool fl_gpu_sample_gave(struct fl_gpu_sampling *s, int code)
{
	switch (fl_nv_means(code)) {
	case FL_NV_IS_FINE: return true;
	case FL_NV_IS_NO_DRIVER:
	case FL_NV_IS_REPLACED:
	case FL_NV_IS_LOST:
		s->over = s->over ? s->over : code;
		return false;
	case FL_NV_IS_ABSENT:
	case FL_NV_IS_OLDER:
	case FL_NV_IS_DENIED:
	case FL_NV_IS_NO_SUCH:
	case FL_NV_IS_BUSY:
	case FL_NV_IS_QUIET:
	case FL_NV_IS_FAILED: break;
	}
	return false;
}
#define ASK(s, member, ...) (!(s)->over && fl_gpu_sample_gave((s), FL_NV((s)->nv, member, __VA_ARGS__)))

struct fl_gpu_reading *fl_gpu_sample_reading(struct fl_gpu_sampling *s)
{
	struct fl_gpu_reading *reading = &s->ret->readings.at[s->ret->readings.len];

	*reading = (struct fl_gpu_reading){ 0 };   /* one may have been begun there, and dropped */
	if (!FL_ELEMENTS(reading, s->arena, fields, FL_DCGM_COUNT) ||
	    !FL_ELEMENTS(reading, s->arena, values, FL_DCGM_COUNT)) {
		s->nomem = true;
		return NULL;
	}
	reading->fields.len = reading->values.len = 0;
	s->ret->readings.len++;
	return reading;
}

void fl_gpu_sample_put(struct fl_gpu_reading *reading, uint32_t id, double value)
{
	if (!isfinite(value) || reading->fields.len == FL_DCGM_COUNT)
		return;
	reading->fields.at[reading->fields.len++] = (int32_t)id;
	reading->values.at[reading->values.len++] = value * fl_dcgm_fields[id].scale;
}

/* ---- one value a call ---- */

static bool ask_clock(struct fl_gpu_sampling *s, const struct fl_dcgm_field *field, double *ret)
{
	uint32_t n = 0;
	bool ok = field->source == FL_DCGM_FROM_CLOCK     ? ASK(s, clock, s->device, field->arg, &n) :
		  field->source == FL_DCGM_FROM_MAX_CLOCK ? ASK(s, max_clock, s->device, field->arg, &n) :
							    ASK(s, app_clock, s->device, field->arg, &n);

	*ret = n;
	return ok;
}

static bool ask_pcie(struct fl_gpu_sampling *s, uint32_t which, double *ret)
{
	uint32_t n = 0;
	bool ok = which == 0 ? ASK(s, pcie_generation, s->device, &n) :
		  which == 1 ? ASK(s, pcie_width, s->device, &n) :
		  which == 2 ? ASK(s, pcie_max_generation, s->device, &n) :
			       ASK(s, pcie_max_width, s->device, &n);

	*ret = n;
	return ok;
}

static bool ask_limit(struct fl_gpu_sampling *s, uint32_t which, double *ret)
{
	uint32_t n = 0, low = 0, high = 0;
	bool ok;

	if (which == 2 || which == 3) {
		ok = ASK(s, power_range, s->device, &low, &high);
		*ret = which == 2 ? low : high;
		return ok;
	}
	ok = which == 0 ? ASK(s, power_limit, s->device, &n) :
	     which == 1 ? ASK(s, power_set_limit, s->device, &n) :
			  ASK(s, power_default, s->device, &n);
	*ret = n;
	return ok;
}

/* Of NVML's states 0 to 3, as DCGM numbers them; a failed registration is 4. */
static bool ask_fabric(struct fl_gpu_sampling *s, uint32_t which, double *ret)
{
	struct fl_nv_fabric_v3 v3 = { .version = FL_NV_VERSION(struct fl_nv_fabric_v3, 3) };
	struct fl_nv_fabric_v2 v2 = { .version = FL_NV_VERSION(struct fl_nv_fabric_v2, 2) };
	bool newest = ASK(s, fabric_any, s->device, &v3);
	double state;

	if (!newest && ASK(s, fabric_any, s->device, &v2)) {
		v3.state = v2.state;
		v3.status = v2.status;
		v3.clique = v2.clique;
		v3.health = v2.health;
	} else if (!newest) {
		return false;
	}
	if (v3.state == FL_NV_FABRIC_NOT_SUPPORTED || (which > 0 && v3.state != FL_NV_FABRIC_COMPLETED) ||
	    (which == 4 && !newest))
		return false;
	state = v3.state + (v3.state == FL_NV_FABRIC_COMPLETED && v3.status != 0);
	*ret = (const double[]){ state, v3.status, v3.clique, v3.health, v3.summary }[which];
	return true;
}

static bool ask_memory_temperature(struct fl_gpu_sampling *s, double *ret)
{
	struct fl_nv_field_value value = { .field = FL_NV_FIELD_MEMORY_TEMPERATURE };

	if (!ASK(s, field_values, s->device, 1, &value) || !fl_gpu_sample_gave(s, value.code))
		return false;
	*ret = value.value.u32;
	return *ret <= 200;    /* where there is no sensor, drivers give what no memory survives */
}

/* long: one line a source */
static bool ask_one(struct fl_gpu_sampling *s, const struct fl_dcgm_field *field, double *ret)
{
	struct fl_nv_utilisation use = { 0 };
	unsigned long long big = 0;
	uint32_t n = 0, period = 0;
	bool ok = false;

	switch (field->source) {
	case FL_DCGM_FROM_CLOCK:
	case FL_DCGM_FROM_APP_CLOCK:
	case FL_DCGM_FROM_MAX_CLOCK: return ask_clock(s, field, ret);
	case FL_DCGM_FROM_PCIE: return ask_pcie(s, field->arg, ret);
	case FL_DCGM_FROM_POWER_LIMIT: return ask_limit(s, field->arg, ret);
	case FL_DCGM_FROM_FABRIC: return ask_fabric(s, field->arg, ret);
	case FL_DCGM_FROM_MEMORY_TEMP: return ask_memory_temperature(s, ret);
	case FL_DCGM_FROM_CLOCK_REASONS:
		ok = ASK(s, clock_reasons, s->device, &big);
		*ret = (double)big;
		return ok;
	case FL_DCGM_FROM_ENERGY:
		ok = ASK(s, energy, s->device, &big);
		*ret = (double)big;
		return ok;
	case FL_DCGM_FROM_UTILISATION:
		ok = ASK(s, utilisation, s->device, &use);
		*ret = field->arg ? use.memory : use.gpu;
		return ok;
	case FL_DCGM_FROM_TEMPERATURE: ok = ASK(s, temperature, s->device, 0, &n); break;
	case FL_DCGM_FROM_THRESHOLD: ok = ASK(s, threshold, s->device, field->arg, &n); break;
	case FL_DCGM_FROM_POWER: ok = ASK(s, power, s->device, &n); break;
	case FL_DCGM_FROM_PSTATE: ok = ASK(s, performance_state, s->device, &n) && n <= 15; break;
	case FL_DCGM_FROM_FAN: ok = ASK(s, fan, s->device, &n); break;
	case FL_DCGM_FROM_ENCODER: ok = ASK(s, encoder, s->device, &n, &period); break;
	case FL_DCGM_FROM_DECODER: ok = ASK(s, decoder, s->device, &n, &period); break;
	case FL_DCGM_FROM_PCIE_REPLAYS: ok = ASK(s, pcie_replays, s->device, &n); break;
	case FL_DCGM_FROM_FIELD:
	case FL_DCGM_FROM_FIELD_SUM:
	case FL_DCGM_FROM_LINK_ERRORS:
	case FL_DCGM_FROM_VIOLATION:
	case FL_DCGM_FROM_MEMORY:
	case FL_DCGM_FROM_BAR1:
	case FL_DCGM_FROM_GPM:
	case FL_DCGM_FROM_SERIAL:
	case FL_DCGM_FROM_VBIOS:
	case FL_DCGM_FROM_CLUSTER:
	case FL_DCGM_FROM_DRIVER:
	case FL_DCGM_FROM_XID:
	case FL_DCGM_FROM_XID_COUNT:
	case FL_DCGM_FROM_CLOCK_COUNT:
	case FL_DCGM_FROM_NVLINK_RATE:
	case FL_DCGM_FROM_NOTHING: break;
	}
	*ret = n;
	return ok;
}

/* ---- several values a call ---- */

static double number_of(const struct fl_nv_field_value *value)
{
	switch ((enum fl_nv_value_type)value->type) {
	case FL_NV_VALUE_DOUBLE: return value->value.f64;
	case FL_NV_VALUE_U32: return value->value.u32;
	case FL_NV_VALUE_ULONG: return (double)value->value.ulong;
	case FL_NV_VALUE_U64: return (double)value->value.u64;
	case FL_NV_VALUE_I64: return (double)value->value.i64;
	case FL_NV_VALUE_I32: return value->value.i32;
	case FL_NV_VALUE_U16: return value->value.u16;
	}
	return NAN;
}

static bool all_links(uint32_t field)
{
	return field == FL_NV_FIELD_NVLINK_DATA_TX || field == FL_NV_FIELD_NVLINK_DATA_RX;
}

struct asked {
	struct fl_nv_field_value at[FL_NV_FIELDS_AT_ONCE];
	uint32_t id[FL_NV_FIELDS_AT_ONCE];
	int len;
};

static void add(struct asked *asked, uint32_t id, uint32_t field, uint32_t scope)
{
	assert(asked->len < FL_NV_FIELDS_AT_ONCE);   /* the table has half as many */
	asked->id[asked->len] = id;
	asked->at[asked->len++] = (struct fl_nv_field_value){ .field = field, .scope = scope };
}

static void read_fields(struct fl_gpu_sampling *s, struct fl_gpu_reading *reading)
{
	struct asked asked = { .len = 0 };

	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++) {
		const struct fl_dcgm_field *field = &fl_dcgm_fields[id];

		if (!fl_dcgm_has(s->wanted, id) || field->level != FL_DCGM_OF_GPU)
			continue;
		if (field->source == FL_DCGM_FROM_FIELD || field->source == FL_DCGM_FROM_VIOLATION)
			add(&asked, id, field->arg, all_links(field->arg) ? UINT32_MAX : 0);
		if (field->source == FL_DCGM_FROM_VIOLATION)   /* newer drivers have it under another number */
			add(&asked, id, FL_NV_FIELD_SW_THERMAL, 0);
	}
	if (!asked.len || !ASK(s, field_values, s->device, asked.len, asked.at))
		return;
	for (int i = 0; i < asked.len; i++) {
		bool again = i && asked.id[i - 1] == asked.id[i] && asked.at[i - 1].code == FL_NV_SUCCESS;

		if (!again && fl_gpu_sample_gave(s, asked.at[i].code))
			fl_gpu_sample_put(reading, asked.id[i], number_of(&asked.at[i]));
	}
}

/* The fields of one link; what is summed over links goes into `sums`. false: no more such links. */
static bool read_link(struct fl_gpu_sampling *s, uint32_t link, double *sums)
{
	struct asked asked = { .len = 0 };
	struct fl_gpu_reading *reading;
	bool any = false;

	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		if (fl_dcgm_has(s->wanted, id) && (fl_dcgm_fields[id].source == FL_DCGM_FROM_FIELD_SUM ||
						   fl_dcgm_fields[id].level == FL_DCGM_OF_LINK))
			add(&asked, id, fl_dcgm_fields[id].arg, link);
	reading = fl_gpu_sample_reading(s);
	if (!reading)
		return false;
	FL_SET(reading, link, (int32_t)link);
	if (asked.len && !ASK(s, field_values, s->device, asked.len, asked.at))
		return false;
	for (int i = 0; i < asked.len; i++) {
		if (!fl_gpu_sample_gave(s, asked.at[i].code))
			continue;
		any = true;
		if (fl_dcgm_fields[asked.id[i]].level == FL_DCGM_OF_LINK)
			fl_gpu_sample_put(reading, asked.id[i], number_of(&asked.at[i]));
		else
			sums[asked.id[i]] =
				number_of(&asked.at[i]) + (isnan(sums[asked.id[i]]) ? 0 : sums[asked.id[i]]);
	}
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++) {
		unsigned long long count = 0;

		if (!fl_dcgm_has(s->wanted, id) || fl_dcgm_fields[id].level != FL_DCGM_OF_NAMED_LINK ||
		    !ASK(s, link_errors, s->device, link, fl_dcgm_fields[id].arg, &count))
			continue;
		any = true;
		fl_gpu_sample_put(reading, id, (double)count);
	}
	return any;
}

static void read_links(struct fl_gpu_sampling *s, struct fl_gpu_reading *whole)
{
	double sums[FL_DCGM_COUNT];
	bool wanted = false;

	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++) {
		sums[id] = NAN;
		wanted |= fl_dcgm_has(s->wanted, id) && (fl_dcgm_fields[id].source == FL_DCGM_FROM_FIELD_SUM ||
							 fl_dcgm_fields[id].level == FL_DCGM_OF_LINK ||
							 fl_dcgm_fields[id].level == FL_DCGM_OF_NAMED_LINK);
	}
	for (uint32_t link = 0; wanted && link < FL_NV_LINKS && !s->over; link++)
		if (!read_link(s, link, sums)) {
			s->ret->readings.len--;   /* the one that it began */
			break;
		}
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++)
		fl_gpu_sample_put(whole, id, sums[id]);
}

/* MiB, of a GPU or a MIG device: by the newer call, where "used" is without what the driver reserved. */
static void read_memory(struct fl_gpu_sampling *s, struct fl_nv_device *device, struct fl_gpu_reading *reading)
{
	struct fl_nv_memory_v2 m = { .version = FL_NV_VERSION(struct fl_nv_memory_v2, 2) };
	struct fl_nv_memory old = { 0 };
	struct fl_nv_bar1 bar1 = { 0 };
	bool newer = ASK(s, memory_v2, device, &m), has_bar1;
	bool older = !newer && ASK(s, memory, device, &old);

	if (older)
		m = (struct fl_nv_memory_v2){ .total = old.total, .free = old.free, .used = old.used };
	has_bar1 = fl_dcgm_has(s->wanted, FL_DCGM_BAR1_TOTAL) || fl_dcgm_has(s->wanted, FL_DCGM_BAR1_USED) ||
		   fl_dcgm_has(s->wanted, FL_DCGM_BAR1_FREE);
	has_bar1 = has_bar1 && ASK(s, bar1, device, &bar1);
	for (uint32_t id = 0; id < FL_DCGM_COUNT; id++) {
		const struct fl_dcgm_field *field = &fl_dcgm_fields[id];
		const uint64_t mib[] = { m.total, m.free, m.used, m.reserved };
		const uint64_t bar1_mib[] = { bar1.total, bar1.free, bar1.used };

		if (!fl_dcgm_has(s->wanted, id))
			continue;
		if (field->source == FL_DCGM_FROM_BAR1 && has_bar1)
			fl_gpu_sample_put(reading, id, (double)(bar1_mib[field->arg] >> 20));
		if (field->source != FL_DCGM_FROM_MEMORY || (!newer && !older) || (field->arg == 3 && !newer))
			continue;
		if (field->arg < 4)
			fl_gpu_sample_put(reading, id, (double)(mib[field->arg] >> 20));
		else if (m.total > m.reserved)
			fl_gpu_sample_put(reading, id, (double)m.used / (double)(m.total - m.reserved));
	}
}

/* ---- the parts ---- */

static bool has_reading(const struct fl_gpu_sample *sample, int32_t gi)
{
	for (uint32_t i = 0; i < sample->readings.len; i++)
		if (sample->readings.at[i].has.gi && sample->readings.at[i].gi == gi)
			return true;
	return false;
}

/* Each GPU instance once, by the first of its compute instances: they share its memory. */
static void read_instances(struct fl_gpu_sampling *s)
{
	uint32_t max = 0, instances = 0;

	if (!ASK(s, mig_max, s->device, &max))
		return;
	for (uint32_t i = 0; i < max && instances < SAMPLE_INSTANCES && !s->over; i++) {
		struct fl_nv_device *mig = NULL;
		struct fl_gpu_reading *reading;
		uint32_t gi = 0;

		if (!ASK(s, mig_by_index, s->device, i, &mig) || !ASK(s, gi_id, mig, &gi) ||
		    has_reading(s->ret, (int32_t)gi))
			continue;
		reading = fl_gpu_sample_reading(s);
		if (!reading)
			return;
		instances++;
		FL_SET(reading, gi, (int32_t)gi);
		read_memory(s, mig, reading);
		fl_gpu_sample_gpm(s, reading, (int32_t)gi);
	}
}

static void add_words(struct fl_gpu_sampling *s, uint32_t id, const char *text)
{
	struct fl_gpu_words *words = &s->ret->words.at[s->ret->words.len++];

	FL_SET(words, field, (int32_t)id);
	FL_SET(words, text, fl_arena_str(s->arena, fl_str(text)));
	s->nomem |= !words->text.p;
}

static void read_words(struct fl_gpu_sampling *s)
{
	char text[FL_NV_TEXT] = "";

	if (!FL_ELEMENTS(s->ret, s->arena, words, 2)) {
		s->nomem = true;
		return;
	}
	s->ret->words.len = 0;
	if (fl_dcgm_has(s->wanted, FL_DCGM_SERIAL) && ASK(s, serial, s->device, text, sizeof text - 1))
		add_words(s, FL_DCGM_SERIAL, text);
	memset(text, 0, sizeof text);
	if (fl_dcgm_has(s->wanted, FL_DCGM_VBIOS_VERSION) && ASK(s, vbios, s->device, text, sizeof text - 1))
		add_words(s, FL_DCGM_VBIOS_VERSION, text);
}

static void read_all(struct fl_gpu_sampling *s)
{
	struct fl_gpu_reading *whole;
	uint32_t mode = FL_NV_OFF, pending;

	s->mig = ASK(s, mig_mode, s->device, &mode, &pending) && mode == FL_NV_ON;
	whole = fl_gpu_sample_reading(s);
	if (!whole)
		return;
	for (uint32_t id = 0; id < FL_DCGM_COUNT && !s->over; id++) {
		double value = NAN;

		if (fl_dcgm_has(s->wanted, id) && ask_one(s, &fl_dcgm_fields[id], &value))
			fl_gpu_sample_put(whole, id, value);
	}
	read_fields(s, whole);
	read_memory(s, s->device, whole);
	fl_gpu_sample_gpm(s, whole, -1);
	read_links(s, whole);
	if (s->mig)
		read_instances(s);
	read_words(s);
}

int fl_gpu_sample_card(struct fl_gpu_sampler *sampler, struct fl_str address, const struct fl_dcgm_set *wanted,
		       struct fl_arena *arena, struct fl_gpu_sample *ret, struct fl_err *err)
{
	char name[FL_PCI_ADDRESS] = "";
	struct fl_gpu_sampling s = { .sampler = sampler, .nv = sampler->nv, .address = name, .wanted = wanted,
				     .arena = arena, .ret = ret };

	(void)snprintf(name, sizeof name, "%.*s", FL_ARG(address));
	FL_SET(ret, card, fl_arena_str(arena, address));
	if (!ret->card.p || !FL_ELEMENTS(ret, arena, readings, 2 + SAMPLE_INSTANCES + FL_NV_LINKS))
		return fl_fail(err, FL_E_NOMEM, "no memory");
	ret->readings.len = 0;
	if (fl_gpu_sample_gave(&s, fl_gpu_handle(s.nv, address, &s.device)) && s.device)
		read_all(&s);
	else
		FL_SET(ret, lost, true);
	if (s.nomem)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	if (s.over && fl_nv_means(s.over) != FL_NV_IS_LOST)
		return fl_nv_fail(s.nv, s.over, "a sample", err);
	if (s.over) {
		FL_SET(ret, lost, true);
		ret->readings.len = ret->words.len = 0;
	}
	return 0;
}
