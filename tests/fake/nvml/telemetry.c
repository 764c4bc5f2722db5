#include "fake/nvml/call.h"

#include <string.h>

/* What moves: around the load that was set, as a triangle in time, each card with a rhythm of its own. */
static uint32_t load_now(const struct fake_state *state, const struct fake_gpu *gpu)
{
	uint64_t period = 20000 + 700 * (uint64_t)gpu->minor;
	uint64_t t = (fake_now_ns() - state->made_ns) / 1000000 % period;
	uint64_t half = period / 2;
	uint64_t swing = (t < half ? t : period - t) * 20 / half;      /* 0 to 20 */
	int64_t load = gpu->load == 0 ? 0 : (int64_t)gpu->load + (int64_t)swing - 10;

	return load < 0 ? 0 : load > 100 ? 100 : (uint32_t)load;
}

static uint32_t power_now(const struct fake_state *state, const struct fake_gpu *gpu)
{
	uint64_t span = gpu->model.power_limit_mw - gpu->model.power_idle_mw;
	uint64_t hum = (fake_now_ns() - state->made_ns) / 1000000 % 1000;      /* up to a watt, at rest too */

	return gpu->model.power_idle_mw + (uint32_t)(span * load_now(state, gpu) / 110 + hum);
}

static uint32_t temperature_now(const struct fake_state *state, const struct fake_gpu *gpu)
{
	if (gpu->temperature != INT32_MIN)
		return (uint32_t)gpu->temperature;
	return 31 + gpu->minor % 4 + load_now(state, gpu) * 45 / 100;
}

static uint64_t energy_now(const struct fake_state *state, struct fake_gpu *gpu)
{
	uint64_t now = fake_now_ns(), since = gpu->energy_at_ns ? gpu->energy_at_ns : state->made_ns;

	if (now > since) {
		gpu->energy_mj += (now - since) / 1000 * power_now(state, gpu) / 1000000;
		gpu->energy_at_ns = now;
	}
	return gpu->energy_mj;
}

#define NUMBER(member, symbol, value) \
	FAKE_CALL(member, symbol); \
	int symbol(struct fl_nv_device *d, uint32_t *to) \
	{ \
		FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(member), d); \
		if (c.code == 0) \
			*to = (uint32_t)(value); \
		return c.code; \
	}
NUMBER(power, nvmlDeviceGetPowerUsage, power_now(c.state, c.gpu))
NUMBER(power_limit, nvmlDeviceGetEnforcedPowerLimit, c.gpu->model.power_limit_mw)
NUMBER(pcie_replays, nvmlDeviceGetPcieReplayCounter, c.gpu->pcie_replays)
NUMBER(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, c.gpu->model.pcie_generation)
NUMBER(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, 16)
NUMBER(pcie_max_generation, nvmlDeviceGetMaxPcieLinkGeneration, c.gpu->model.pcie_generation)
NUMBER(pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth, 16)
NUMBER(performance_state, nvmlDeviceGetPerformanceState, c.gpu->load ? 0 : 8)
NUMBER(power_set_limit, nvmlDeviceGetPowerManagementLimit, c.gpu->model.power_limit_mw)
NUMBER(power_default, nvmlDeviceGetPowerManagementDefaultLimit, c.gpu->model.power_limit_mw)

FAKE_CALL(power_range, nvmlDeviceGetPowerManagementLimitConstraints);
int nvmlDeviceGetPowerManagementLimitConstraints(struct fl_nv_device *d, uint32_t *min_mw, uint32_t *max_mw)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(power_range), d);
	if (c.code == 0) {
		*min_mw = c.gpu->model.power_limit_mw / 2;
		*max_mw = c.gpu->model.power_limit_mw;
	}
	return c.code;
}

/* Shutdown, slowdown, maxima of memory and GPU. */
FAKE_CALL(threshold, nvmlDeviceGetTemperatureThreshold);
int nvmlDeviceGetTemperatureThreshold(struct fl_nv_device *d, uint32_t which, uint32_t *celsius)
{
	static const uint32_t celsiuses[] = { 92, 89, 95, 85 };
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(threshold), d);
	if (c.code == 0 && which >= sizeof(celsiuses) / sizeof(*celsiuses))
		return FL_NV_INVALID_ARGUMENT;
	if (c.code == 0)
		*celsius = celsiuses[which];
	return c.code;
}

/* Cards of a data centre have no fan. */
FAKE_CALL(fan, nvmlDeviceGetFanSpeed);
int nvmlDeviceGetFanSpeed(struct fl_nv_device *d, uint32_t *percent)
{
	(void)percent;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(fan), d);
	return c.code ? c.code : FL_NV_NOT_SUPPORTED;
}

FAKE_CALL(energy, nvmlDeviceGetTotalEnergyConsumption);
int nvmlDeviceGetTotalEnergyConsumption(struct fl_nv_device *d, unsigned long long *mj)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(energy), d);
	if (c.code == 0)
		*mj = energy_now(c.state, c.gpu);
	return c.code;
}

FAKE_CALL(temperature, nvmlDeviceGetTemperature);
int nvmlDeviceGetTemperature(struct fl_nv_device *d, uint32_t sensor, uint32_t *celsius)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(temperature), d);
	if (c.code == 0 && sensor != 0)
		return FL_NV_INVALID_ARGUMENT;
	if (c.code == 0)
		*celsius = temperature_now(c.state, c.gpu);
	return c.code;
}

FAKE_CALL(utilisation, nvmlDeviceGetUtilizationRates);
int nvmlDeviceGetUtilizationRates(struct fl_nv_device *d, struct fl_nv_utilisation *rates)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(utilisation), d);
	if (c.code)
		return c.code;
	if (c.gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	uint32_t load = load_now(c.state, c.gpu);
	*rates = (struct fl_nv_utilisation){ .gpu = load, .memory = load * 6 / 10 };
	return 0;
}

/* Video engines: at rest, and said so; not to be had while the card is cut up. */
static int video(struct call *c, uint32_t *percent, uint32_t *period_us)
{
	if (c->code == 0 && c->gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	if (c->code == 0) {
		*percent = 0;
		*period_us = 167000;
	}
	return c->code;
}

FAKE_CALL(encoder, nvmlDeviceGetEncoderUtilization);
int nvmlDeviceGetEncoderUtilization(struct fl_nv_device *d, uint32_t *percent, uint32_t *period_us)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(encoder), d);
	return video(&c, percent, period_us);
}

FAKE_CALL(decoder, nvmlDeviceGetDecoderUtilization);
int nvmlDeviceGetDecoderUtilization(struct fl_nv_device *d, uint32_t *percent, uint32_t *period_us)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(decoder), d);
	return video(&c, percent, period_us);
}

static int clock_of(const struct call *c, uint32_t which, uint32_t *mhz)
{
	uint32_t sm = c->gpu->load ? c->gpu->model.sm_mhz : 345;

	switch ((enum fl_nv_clock)which) {
	case FL_NV_CLOCK_GRAPHICS:
	case FL_NV_CLOCK_SM: *mhz = sm; return 0;
	case FL_NV_CLOCK_MEM: *mhz = c->gpu->model.mem_mhz; return 0;
	case FL_NV_CLOCK_VIDEO: *mhz = sm * 9 / 10; return 0;
	}
	return FL_NV_INVALID_ARGUMENT;
}

FAKE_CALL(clock, nvmlDeviceGetClockInfo);
int nvmlDeviceGetClockInfo(struct fl_nv_device *d, uint32_t which, uint32_t *mhz)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(clock), d);
	return c.code ? c.code : clock_of(&c, which, mhz);
}

FAKE_CALL(max_clock, nvmlDeviceGetMaxClockInfo);
int nvmlDeviceGetMaxClockInfo(struct fl_nv_device *d, uint32_t which, uint32_t *mhz)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(max_clock), d);
	if (c.code == 0)
		*mhz = which == FL_NV_CLOCK_MEM ? c.gpu->model.mem_mhz : c.gpu->model.sm_mhz;
	return c.code;
}

FAKE_CALL(app_clock, nvmlDeviceGetApplicationsClock);
int nvmlDeviceGetApplicationsClock(struct fl_nv_device *d, uint32_t which, uint32_t *mhz)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(app_clock), d);
	if (c.code == 0)
		*mhz = which == FL_NV_CLOCK_MEM ? c.gpu->model.mem_mhz : c.gpu->model.sm_mhz;
	return c.code;
}

FAKE_CALL(clock_reasons, nvmlDeviceGetCurrentClocksEventReasons);
int nvmlDeviceGetCurrentClocksEventReasons(struct fl_nv_device *d, unsigned long long *reasons)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(clock_reasons), d);
	if (c.code == 0)
		*reasons = temperature_now(c.state, c.gpu) >= 85 ? 0x20 : c.gpu->load == 0;
	return c.code;
}
FAKE_ALSO(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDeviceGetCurrentClocksEventReasons);

/* ---- memory and who uses it ---- */

/* Bytes of the whole, and of what processes use in the instance (all of them: both FL_NV_NO_INSTANCE). */
static struct fl_nv_memory_v2 memory_now(const struct call *c)
{
	const struct fake_model *model = &c->gpu->model;
	struct fl_nv_memory_v2 m = { .version = FL_NV_VERSION(struct fl_nv_memory_v2, 2) };

	m.total = (uint64_t)(c->gi ? model->profiles[c->gi->profile].memory_mib : model->memory_mib) << 20;
	m.reserved = (uint64_t)(c->gi ? model->reserved_mib / 8 : model->reserved_mib) << 20;
	for (uint32_t i = 0; i < FAKE_PROCESSES; i++) {
		const struct fake_process *p = &c->gpu->processes[i];
		if (p->used && (!c->gi || p->gi == c->gi->id))
			m.used += p->memory;
	}
	if (m.used > m.total - m.reserved)
		m.used = m.total - m.reserved;
	m.free = m.total - m.reserved - m.used;
	return m;
}

FAKE_CALL(memory_v2, nvmlDeviceGetMemoryInfo_v2);
int nvmlDeviceGetMemoryInfo_v2(struct fl_nv_device *d, struct fl_nv_memory_v2 *memory)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(memory_v2), d);
	if (c.code == 0 && (memory->version != FL_NV_VERSION(struct fl_nv_memory_v2, 2) || c.state->newest < 2))
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	if (c.code == 0)
		*memory = memory_now(&c);
	return c.code;
}

FAKE_CALL(memory, nvmlDeviceGetMemoryInfo);
int nvmlDeviceGetMemoryInfo(struct fl_nv_device *d, struct fl_nv_memory *memory)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(memory), d);
	if (c.code == 0) {
		struct fl_nv_memory_v2 m = memory_now(&c);
		*memory = (struct fl_nv_memory){ .total = m.total, .free = m.free, .used = m.used + m.reserved };
	}
	return c.code;
}

FAKE_CALL(bar1, nvmlDeviceGetBAR1MemoryInfo);
int nvmlDeviceGetBAR1MemoryInfo(struct fl_nv_device *d, struct fl_nv_bar1 *bar1)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(bar1), d);
	if (c.code == 0) {
		uint64_t total = (uint64_t)c.gpu->model.bar1_mib << 20, used = 4u << 20;
		*bar1 = (struct fl_nv_bar1){ .total = total, .used = used, .free = total - used };
	}
	return c.code;
}

static int processes(struct call *c, uint32_t *count, struct fl_nv_process *list, struct fl_nv_process_v1 *older)
{
	uint32_t n = 0, room = *count;

	for (uint32_t i = 0; i < FAKE_PROCESSES; i++) {
		const struct fake_process *p = &c->gpu->processes[i];
		if (!p->used || (c->gi && (p->gi != c->gi->id || p->ci != c->ci->id)))
			continue;
		if (n < room && list)
			list[n] = (struct fl_nv_process){ .pid = p->pid, .memory = p->memory, .gi = p->gi,
				.ci = p->ci };
		if (n < room && older)
			older[n] = (struct fl_nv_process_v1){ .pid = p->pid, .memory = p->memory };
		n++;
	}
	*count = n;
	return n > room || (n && !list && !older) ? FL_NV_INSUFFICIENT_SIZE : 0;
}

FAKE_CALL(compute_processes, nvmlDeviceGetComputeRunningProcesses_v3);
int nvmlDeviceGetComputeRunningProcesses_v3(struct fl_nv_device *d, uint32_t *count, struct fl_nv_process *list)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(compute_processes), d);
	return c.code ? c.code : processes(&c, count, list, NULL);
}
FAKE_ALSO(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3);

FAKE_CALL(compute_processes_v1, nvmlDeviceGetComputeRunningProcesses);
int nvmlDeviceGetComputeRunningProcesses(struct fl_nv_device *d, uint32_t *count, struct fl_nv_process_v1 *list)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(compute_processes_v1), d);
	return c.code ? c.code : processes(&c, count, NULL, list);
}

FAKE_CALL(graphics_processes, nvmlDeviceGetGraphicsRunningProcesses_v3);
int nvmlDeviceGetGraphicsRunningProcesses_v3(struct fl_nv_device *d, uint32_t *count, struct fl_nv_process *list)
{
	(void)list;
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(graphics_processes), d);
	if (c.code == 0)
		*count = 0;
	return c.code;
}
FAKE_ALSO(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3);

/* ---- errors of memory ---- */

static uint64_t ecc_sum(const struct fake_gpu *gpu, uint32_t error, uint32_t counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 8; i++)
		sum += gpu->ecc[error][counter][i];
	return sum;
}

FAKE_CALL(ecc_total, nvmlDeviceGetTotalEccErrors);
int nvmlDeviceGetTotalEccErrors(struct fl_nv_device *d, uint32_t error, uint32_t counter, unsigned long long *count)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(ecc_total), d);
	if (c.code == 0 && (error > 1 || counter > 1))
		return FL_NV_INVALID_ARGUMENT;
	if (c.code == 0 && !c.gpu->model.has_ecc)
		return FL_NV_NOT_SUPPORTED;
	if (c.code == 0)
		*count = ecc_sum(c.gpu, error, counter);
	return c.code;
}

FAKE_CALL(retired_pending, nvmlDeviceGetRetiredPagesPendingStatus);
int nvmlDeviceGetRetiredPagesPendingStatus(struct fl_nv_device *d, uint32_t *pending)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(retired_pending), d);
	if (c.code == 0 && c.gpu->model.has_rows)
		return FL_NV_NOT_SUPPORTED;
	if (c.code == 0)
		*pending = c.gpu->retired_pending;
	return c.code;
}

FAKE_CALL(remapped_rows, nvmlDeviceGetRemappedRows);
int nvmlDeviceGetRemappedRows(struct fl_nv_device *d, uint32_t *correctable, uint32_t *uncorrectable,
			      uint32_t *pending, uint32_t *failed)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(remapped_rows), d);
	if (c.code == 0 && !c.gpu->model.has_rows)
		return FL_NV_NOT_SUPPORTED;
	if (c.code == 0) {
		*correctable = c.gpu->remapped[0];
		*uncorrectable = c.gpu->remapped[1];
		*pending = c.gpu->remapped[2];
		*failed = c.gpu->remapped[3];
	}
	return c.code;
}

/* ---- field values ---- */

static bool field_of_errors(struct fake_gpu *gpu, struct fl_nv_field_value *v)
{
	switch ((enum fl_nv_field)v->field) {
	case FL_NV_FIELD_SBE_VOLATILE: v->value.u64 = ecc_sum(gpu, 0, 0); break;
	case FL_NV_FIELD_DBE_VOLATILE: v->value.u64 = ecc_sum(gpu, 1, 0); break;
	case FL_NV_FIELD_SBE_AGGREGATE: v->value.u64 = ecc_sum(gpu, 0, 1); break;
	case FL_NV_FIELD_DBE_AGGREGATE: v->value.u64 = ecc_sum(gpu, 1, 1); break;
	case FL_NV_FIELD_RETIRED_SBE: v->value.u64 = gpu->retired[0]; break;
	case FL_NV_FIELD_RETIRED_DBE: v->value.u64 = gpu->retired[1]; break;
	case FL_NV_FIELD_RETIRED_PENDING: v->value.u64 = gpu->retired_pending; break;
	case FL_NV_FIELD_REMAPPED_CORRECTABLE: v->value.u64 = gpu->remapped[0]; break;
	case FL_NV_FIELD_REMAPPED_UNCORRECTABLE: v->value.u64 = gpu->remapped[1]; break;
	case FL_NV_FIELD_REMAPPED_PENDING: v->value.u64 = gpu->remapped[2]; break;
	case FL_NV_FIELD_REMAPPED_FAILURE: v->value.u64 = gpu->remapped[3]; break;
	case FL_NV_FIELD_ECC_CURRENT:
	case FL_NV_FIELD_ECC_PENDING: v->value.u64 = gpu->model.has_ecc; break;
	case FL_NV_FIELD_NVLINK_CRC_FLIT:
	case FL_NV_FIELD_NVLINK_REPLAY:
	case FL_NV_FIELD_NVLINK_RECOVERY:
	case FL_NV_FIELD_MEMORY_TEMPERATURE:
	case FL_NV_FIELD_ENERGY:
	case FL_NV_FIELD_NVLINK_SPEED:
	case FL_NV_FIELD_NVLINK_COUNT:
	case FL_NV_FIELD_PCIE_REPLAY:
	case FL_NV_FIELD_NVLINK_DATA_TX:
	case FL_NV_FIELD_NVLINK_DATA_RX:
	case FL_NV_FIELD_RESETLESS_MIG:
	case FL_NV_FIELD_POWER_AVERAGE:
	case FL_NV_FIELD_POWER_INSTANT:
	case FL_NV_FIELD_RECOVERY_ACTION: return false;
	}
	return true;
}

static uint64_t link_sum(const struct fake_gpu *gpu, uint32_t counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < gpu->model.links; i++)
		sum += gpu->links[i].errors[counter];
	return sum;
}

/* long: one line a field */
static bool field_of_rest(const struct call *c, struct fl_nv_field_value *v)
{
	struct fake_gpu *gpu = c->gpu;
	uint64_t ms = (fake_now_ns() - c->state->made_ns) / 1000000;

	switch ((enum fl_nv_field)v->field) {
	case FL_NV_FIELD_NVLINK_CRC_FLIT: v->value.u64 = link_sum(gpu, 2); break;
	case FL_NV_FIELD_NVLINK_REPLAY: v->value.u64 = link_sum(gpu, 0); break;
	case FL_NV_FIELD_NVLINK_RECOVERY: v->value.u64 = link_sum(gpu, 1); break;
	case FL_NV_FIELD_ENERGY: v->value.u64 = energy_now(c->state, gpu); break;
	case FL_NV_FIELD_NVLINK_DATA_TX:
	case FL_NV_FIELD_NVLINK_DATA_RX: v->value.u64 = ms * gpu->load * gpu->model.links; break;
	case FL_NV_FIELD_PCIE_REPLAY: v->value.u64 = gpu->pcie_replays; break;
	case FL_NV_FIELD_MEMORY_TEMPERATURE:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = temperature_now(c->state, gpu) + 6;
		break;
	case FL_NV_FIELD_NVLINK_SPEED:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = gpu->model.link_mbps;
		break;
	case FL_NV_FIELD_NVLINK_COUNT:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = gpu->model.links;
		break;
	case FL_NV_FIELD_RESETLESS_MIG:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = gpu->model.slices && !gpu->model.reset_for_mig;
		break;
	case FL_NV_FIELD_POWER_AVERAGE:
	case FL_NV_FIELD_POWER_INSTANT:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = power_now(c->state, gpu);
		break;
	case FL_NV_FIELD_RECOVERY_ACTION:
		v->type = FL_NV_VALUE_U32;
		v->value.u32 = gpu->recovery;
		break;
	case FL_NV_FIELD_SBE_VOLATILE:
	case FL_NV_FIELD_DBE_VOLATILE:
	case FL_NV_FIELD_SBE_AGGREGATE:
	case FL_NV_FIELD_DBE_AGGREGATE:
	case FL_NV_FIELD_RETIRED_SBE:
	case FL_NV_FIELD_RETIRED_DBE:
	case FL_NV_FIELD_RETIRED_PENDING:
	case FL_NV_FIELD_REMAPPED_CORRECTABLE:
	case FL_NV_FIELD_REMAPPED_UNCORRECTABLE:
	case FL_NV_FIELD_REMAPPED_PENDING:
	case FL_NV_FIELD_REMAPPED_FAILURE:
	case FL_NV_FIELD_ECC_CURRENT:
	case FL_NV_FIELD_ECC_PENDING: return false;
	}
	return true;
}

/* Those that plan/exporter/field.h has by number. true: it is one of them. */
static bool field_of_exporter(const struct call *c, struct fl_nv_field_value *v)
{
	const struct fake_gpu *gpu = c->gpu;
	uint64_t ms = (fake_now_ns() - c->state->made_ns) / 1000000;
	bool nvlink5 = gpu->model.arch >= FL_NV_ARCH_BLACKWELL && gpu->model.links;

	if (v->field == FL_NV_FIELD_NVLINK_CRC_DATA) {
		v->value.u64 = link_sum(gpu, 3);
	} else if (v->field >= FL_NV_FIELD_VIOLATION_FIRST && v->field <= FL_NV_FIELD_VIOLATION_LAST) {
		/* A card that is held hot is slowed down by it, all the time. */
		v->value.u64 = v->field == 75 && gpu->temperature >= 85 ? ms * 1000000 : 0;
	} else if (v->field == FL_NV_FIELD_HW_THERMAL || v->field == FL_NV_FIELD_POWER_BRAKE ||
		   v->field == FL_NV_FIELD_SW_THERMAL) {
		v->value.u64 = 0;
		return gpu->model.arch >= FL_NV_ARCH_BLACKWELL;
	} else if (v->field == FL_NV_FIELD_PCIE_TX || v->field == FL_NV_FIELD_PCIE_RX) {
		v->value.u64 = ms * 1000 * (gpu->load + v->field - FL_NV_FIELD_PCIE_TX);
	} else if (v->field >= FL_NV_FIELD_NVLINK5_FIRST && v->field <= FL_NV_FIELD_NVLINK5_LAST) {
		if (!nvlink5 || v->scope >= gpu->model.links)
			return false;
		v->value.u64 = v->field <= FL_NV_FIELD_NVLINK5_RX_BYTES ? ms * gpu->load * (v->scope + 1) :
									 gpu->links[v->scope].errors[4];
	} else {
		return false;
	}
	return true;
}

static bool known_field(uint32_t field)
{
	static const uint8_t known[] = { 1, 2, 3, 4, 5, 6, 29, 30, 31, 38, 52, 59, 82, 83, 90, 91, 94, 138, 139, 142,
		143,
					 144, 145, 184, 185, 186, 230 };

	return field < 256 && memchr(known, (int)field, sizeof(known));
}

FAKE_CALL(field_values, nvmlDeviceGetFieldValues);
int nvmlDeviceGetFieldValues(struct fl_nv_device *d, int count, struct fl_nv_field_value *values)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(field_values), d);
	if (c.code)
		return c.code;
	if (count <= 0 || count > FL_NV_FIELDS_AT_ONCE || !values)
		return FL_NV_INVALID_ARGUMENT;
	for (int i = 0; i < count; i++) {
		struct fl_nv_field_value *v = &values[i];
		v->timestamp = (int64_t)(fake_now_ns() / 1000);
		v->latency_us = 1;
		v->type = FL_NV_VALUE_U64;
		v->value.u64 = 0;
		bool rows = v->field >= FL_NV_FIELD_REMAPPED_CORRECTABLE && v->field <= FL_NV_FIELD_REMAPPED_FAILURE;
		bool known = known_field(v->field) && (!rows || c.gpu->model.has_rows);
		v->code = (known && (field_of_errors(c.gpu, v) || field_of_rest(&c, v))) || field_of_exporter(&c, v) ?
				  0 :
				  FL_NV_NOT_SUPPORTED;
	}
	return 0;
}
