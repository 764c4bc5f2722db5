/* fairlead_gpu_*: each value once, in base units, so that sums are right. */
#include "base/metrics.h"
#include "plan/exporter/lines.h"
#include <math.h>

/* A series: its further labels, and the field that it is taken from. */
struct own {
	const char *labels;
	uint32_t field;
	double scale;
};

static const struct own energy[] = { { "", FL_DCGM_TOTAL_ENERGY_CONSUMPTION, 1e-3 } };
static const struct own nvlink[] = { { ",direction=\"tx\"", FL_DCGM_OWN_NVLINK_TX, 1 },
				     { ",direction=\"rx\"", FL_DCGM_OWN_NVLINK_RX, 1 } };
static const struct own pcie[] = { { ",direction=\"tx\"", FL_DCGM_OWN_PCIE_TX, 1 },
				   { ",direction=\"rx\"", FL_DCGM_OWN_PCIE_RX, 1 } };
static const struct own throttled[] = {
	{ ",reason=\"power\"", FL_DCGM_POWER_VIOLATION, 1e-9 },
	{ ",reason=\"thermal\"", FL_DCGM_THERMAL_VIOLATION, 1e-9 },
	{ ",reason=\"sync_boost\"", FL_DCGM_SYNC_BOOST_VIOLATION, 1e-9 },
	{ ",reason=\"board_limit\"", FL_DCGM_BOARD_LIMIT_VIOLATION, 1e-9 },
	{ ",reason=\"low_utilization\"", FL_DCGM_LOW_UTIL_VIOLATION, 1e-9 },
	{ ",reason=\"reliability\"", FL_DCGM_RELIABILITY_VIOLATION, 1e-9 },
	{ ",reason=\"hardware_thermal\"", FL_DCGM_OWN_HW_THERMAL, 1 },
	{ ",reason=\"hardware_power_brake\"", FL_DCGM_OWN_HW_POWER_BRAKE, 1 },
};
static const struct own remaps[] = { { "", FL_DCGM_ROW_REMAP_PENDING, 1 } };

static const struct {
	const char *name, *type, *help;
	const struct own *at;
	uint32_t len;
} metrics[] = {
	{ "fairlead_gpu_energy_joules_total", "counter", "Energy consumed since the driver was loaded.", energy, 1 },
	{ "fairlead_gpu_nvlink_bytes_total", "counter", "Bytes over all NVLinks.", nvlink, FL_LEN(nvlink) },
	{ "fairlead_gpu_pcie_bytes_total", "counter", "Bytes over PCIe.", pcie, FL_LEN(pcie) },
	{ "fairlead_gpu_throttled_seconds_total", "counter", "Time with lowered clocks, by reason.", throttled,
	  FL_LEN(throttled) },
	{ "fairlead_gpu_row_remaps_pending", "gauge", "Whether the next reset remaps memory rows.", remaps, 1 },
};

static void put_own(struct fl_dcgm_lines *lines, bool *begun, uint32_t at, const struct fl_dcgm_target *t,
		    const char *labels, double value, struct fl_buf *buf)
{
	if (isnan(value) || !fl_dcgm_line(lines))
		return;
	if (!*begun)
		fl_dcgm_put_head(buf, fl_str(metrics[at].name), fl_str(metrics[at].help), metrics[at].type);
	*begun = true;
	fl_buf_printf(buf, "%s{%.*s%s} ", metrics[at].name, FL_ARG(t->own_head), labels);
	fl_metrics_put_value(buf, value);
	fl_buf_char(buf, '\n');
}

/* NVLink 5 counts bytes by link, older ones KiB in all. */
static double value_of(const struct fl_dcgm_gpu *gpu, const struct own *own)
{
	uint32_t newer = own->field == FL_DCGM_OWN_NVLINK_TX ? FL_DCGM_OWN_NVLINK5_TX :
			 own->field == FL_DCGM_OWN_NVLINK_RX ? FL_DCGM_OWN_NVLINK5_RX :
							       own->field;

	return (isnan(gpu->at[newer]) ? gpu->at[own->field] : gpu->at[newer]) * own->scale;
}

static void put_xids(struct fl_dcgm_lines *lines, struct fl_buf *buf)
{
	bool begun = false;

	for (uint32_t i = 0; i < lines->target_len; i++) {
		const struct fl_dcgm_target *t = &lines->targets[i];

		for (uint32_t k = 0; !t->part && k < t->gpu->xid_len; k++) {
			double sum = 0;
			bool first = true;

			for (uint32_t n = 0; n < t->gpu->xid_len; n++) {
				first &= n >= k || t->gpu->xids[n].xid != t->gpu->xids[k].xid;
				sum += t->gpu->xids[n].xid == t->gpu->xids[k].xid ? (double)t->gpu->xids[n].count : 0;
			}
			if (!first || !fl_dcgm_line(lines))
				continue;
			if (!begun)
				fl_dcgm_put_head(buf, FL_S("fairlead_gpu_xid_errors_total"),
						 FL_S("XIDs reported since the agent started."), "counter");
			begun = true;
			fl_buf_printf(buf, "fairlead_gpu_xid_errors_total{%.*s,xid=\"%lld\"} ", FL_ARG(t->own_head),
				      (long long)t->gpu->xids[k].xid);
			fl_metrics_put_value(buf, sum);
			fl_buf_char(buf, '\n');
		}
	}
}

static void put_stamp(struct fl_dcgm_lines *lines, struct fl_buf *buf)
{
	if (lines->facts->updated > 0) {
		fl_dcgm_put_head(buf, FL_S("dcgm_exporter_last_update_time_seconds"),
				 FL_S("Time of the last complete collection, since 1970."), "gauge");
		fl_buf_printf(buf, "dcgm_exporter_last_update_time_seconds %.3f\n", lines->facts->updated);
	}
	fl_dcgm_put_head(buf, FL_S("fairlead_exporter_lines_left_out"),
			 FL_S("Lines left out of this text, for there are too many."), "gauge");
	fl_buf_printf(buf, "fairlead_exporter_lines_left_out %u\n", lines->left_out);
}

bool fl_dcgm_own_put(struct fl_dcgm_lines *lines, uint32_t at, struct fl_buf *buf)
{
	bool begun = false;

	if (at == FL_LEN(metrics))
		put_xids(lines, buf);
	if (at == FL_LEN(metrics) + 1)
		put_stamp(lines, buf);
	for (uint32_t i = 0; at < FL_LEN(metrics) && i < lines->target_len; i++)
		for (uint32_t k = 0; !lines->targets[i].part && k < metrics[at].len; k++)
			put_own(lines, &begun, at, &lines->targets[i], metrics[at].at[k].labels,
				value_of(lines->targets[i].gpu, &metrics[at].at[k]), buf);
	return at < FL_LEN(metrics) + 1;
}
