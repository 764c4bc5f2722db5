#include "node/exporter/exporter.h"
#include "base/log.h"
#include "node/gpu/child.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- how it is served ---- */

/* What could not be told for want of memory is told with the next read of the driver. */
static void tell_state(struct fl_exporter *exporter)
{
	const struct fl_exporter_listener *now = &exporter->listener;
	struct fl_exporter_status status = { 0 };
	struct fl_err err = { 0 };

	if (!now->listen.len)
		return;
	FL_SET(FL_IN(&status, meta), name, FL_S("exporter"));
	FL_SET(&status, listen, now->listen);
	FL_SET(&status, tls, now->tls);
	FL_SET(&status, access, now->access);
	FL_SET_TEXT(&status, closed, fl_str(now->closed.text));
	FL_SET_TEXT(&status, web, fl_str(now->web.text));
	FL_SET_TEXT(&status, list, fl_str(exporter->why.text));
	if (fl_feed_put(exporter->feed, &status, &err) < 0)
		fl_log(exporter->options.log, FL_WARN, "state of GPU metrics not told, will retry", FL_KV_ERR(&err));
}

void fl_exporter_listens(struct fl_exporter *exporter, const struct fl_exporter_listener *now)
{
	exporter->listener = *now;
	if (exporter->io)
		tell_state(exporter);
}

int fl_exporter_off(struct fl_loop *loop, struct fl_err *err)
{
	struct fl_exporter_status status = { 0 };

	FL_SET(FL_IN(&status, meta), name, FL_S("exporter"));
	FL_SET(&status, off, true);
	return fl_feed_put(fl_loop_feed(loop, &fl_exporter_status_kind), &status, err);
}

/* ---- the list ---- */

static void use_list(struct fl_exporter *exporter, const struct fl_dcgm_list *list)
{
	struct fl_arena old = exporter->lists[0];

	exporter->lists[0] = exporter->lists[1];
	exporter->lists[1] = (struct fl_arena){ 0 };
	fl_arena_free(&old);
	exporter->list = *list;
	exporter->list_no++;
	exporter->made_at = 0;
	fl_dcgm_list_wants(list, &exporter->wanted);
}

static void list_refused(struct fl_exporter *exporter, const struct fl_err *err)
{
	struct fl_err why = *err;

	(void)fl_wrap(&why, "'%s'", exporter->options.file);
	if (strcmp(exporter->why.text, why.text) != 0)
		fl_log(exporter->options.log, FL_WARN, "list of metrics not used, the former one stays",
		       FL_KV_ERR(&why));
	exporter->why = why;
	tell_state(exporter);
}

static void file_changed(struct fl_files *files, const struct fl_str *texts)
{
	struct fl_exporter *exporter = fl_container(files, struct fl_exporter, files);
	struct fl_dcgm_list list = { 0 };
	struct fl_err err = { 0 };

	if (fl_dcgm_list_read(texts[0], &exporter->lists[1], &list, &err) < 0) {
		fl_arena_free(&exporter->lists[1]);
		list_refused(exporter, &err);
		return;
	}
	use_list(exporter, &list);
	exporter->why = (struct fl_err){ 0 };
	tell_state(exporter);
	fl_log(exporter->options.log, FL_INFO, "list of metrics in force",
	       FL_KV_TEXT("file", exporter->options.file), FL_KV_UINT("metrics", list.len));
}

static void file_failed(struct fl_files *files, const struct fl_err *err)
{
	list_refused(fl_container(files, struct fl_exporter, files), err);
}

/* ---- GPUs ---- */

static struct fl_dcgm_gpu *gpu_of(struct fl_exporter *exporter, struct fl_str address)
{
	struct fl_dcgm_gpu *gpu = NULL;
	uint32_t at;

	fl_vec_each (known, &exporter->gpus)
		if (fl_str_eq(fl_str((*known)->address), address))
			return *known;
	if (exporter->gpus.len >= FL_GPU_CARDS_MAX || fl_vec_reserve(&exporter->gpus, 1) < 0 ||
	    !(gpu = fl_zalloc(sizeof *gpu)))
		return NULL;
	(void)snprintf(gpu->address, sizeof gpu->address, "%.*s", FL_ARG(address));
	fl_dcgm_clear(gpu);
	for (uint32_t i = 0; i < FL_LEN(gpu->last_gi); i++)
		gpu->last_gi[i] = -1;
	assert(exporter->gpus.at);
	for (at = exporter->gpus.len++; at > 0 && strcmp(exporter->gpus.at[at - 1]->address, gpu->address) > 0; at--)
		exporter->gpus.at[at] = exporter->gpus.at[at - 1];
	exporter->gpus.at[at] = gpu;
	return gpu;
}

static struct fl_dcgm_part *part_of(struct fl_dcgm_gpu *gpu, int32_t gi)
{
	struct fl_dcgm_part *part;

	if (gpu->part_len == FL_DCGM_PARTS)
		return NULL;
	part = &gpu->parts[gpu->part_len++];
	part->gi = gi;
	for (uint32_t i = 0; i < FL_DCGM_COUNT; i++)
		part->at[i] = NAN;
	return part;
}

static void take_reading(struct fl_dcgm_gpu *gpu, const struct fl_gpu_reading *reading)
{
	struct fl_dcgm_part *part = reading->has.gi ? part_of(gpu, reading->gi) : NULL;

	for (uint32_t i = 0; i < reading->fields.len; i++) {
		uint32_t id = (uint32_t)reading->fields.at[i];
		int link = fl_dcgm_link_field(id);
		double value = reading->values.at[i];

		if (part)
			part->at[id] = value;
		else if (!reading->has.gi && !reading->has.link)
			gpu->at[id] = value;
		else if (reading->has.link && link >= 0)
			gpu->links[reading->link][link] = value;
	}
	if (reading->has.link && gpu->link_len <= (uint32_t)reading->link)
		gpu->link_len = (uint32_t)reading->link + 1;
}

/* Bytes over all NVLinks, both ways; NaN: it has none. */
static double nvlink_bytes(const struct fl_dcgm_gpu *gpu)
{
	double newer = gpu->at[FL_DCGM_OWN_NVLINK5_TX] + gpu->at[FL_DCGM_OWN_NVLINK5_RX];

	return isnan(newer) ? gpu->at[FL_DCGM_OWN_NVLINK_TX] + gpu->at[FL_DCGM_OWN_NVLINK_RX] : newer;
}

static void take_sample(struct fl_exporter *exporter, struct fl_dcgm_gpu *gpu, const struct fl_gpu_sample *sample)
{
	uint64_t now = fl_now(exporter->io);
	double before = nvlink_bytes(gpu), bytes, seconds = (double)(now - gpu->read_at) / FL_NS_PER_S;
	bool first = !gpu->has;

	fl_dcgm_clear(gpu);
	for (uint32_t i = 0; i < sample->readings.len; i++)
		take_reading(gpu, &sample->readings.at[i]);
	for (uint32_t i = 0; i < sample->words.len; i++) {
		char *to = sample->words.at[i].field == FL_DCGM_SERIAL ? gpu->serial : gpu->vbios;

		(void)snprintf(to, FL_DCGM_TEXT_MAX, "%.*s", FL_ARG(sample->words.at[i].text));
	}
	/* What DCGM calls a total is a rate; of the first sample it says 0. */
	bytes = nvlink_bytes(gpu);
	if (!isnan(bytes))
		gpu->at[FL_DCGM_NVLINK_BANDWIDTH_TOTAL] =
			first || isnan(before) || bytes < before || seconds <= 0 ?
				0 :
				(bytes - before) / 1024 / 1000 / seconds;
	if (!isnan(gpu->at[FL_DCGM_CLOCK_THROTTLE_REASONS])) {
		gpu->clocks[gpu->clock_at].at = now;
		gpu->clocks[gpu->clock_at].mask = (uint32_t)gpu->at[FL_DCGM_CLOCK_THROTTLE_REASONS];
		gpu->clock_at = (gpu->clock_at + 1) % FL_DCGM_CLOCKS;
		gpu->clock_len += gpu->clock_len < FL_DCGM_CLOCKS;
	}
	gpu->has = true;
	gpu->read_at = now;
}

void fl_exporter_sampled(struct fl_exporter *exporter, const struct fl_gpu_sample *sample, bool complete)
{
	struct fl_dcgm_gpu *gpu = exporter->io && sample ? gpu_of(exporter, sample->card) : NULL;

	exporter->made_at = 0;
	if (gpu)
		take_sample(exporter, gpu, sample);
	if (sample || !exporter->io)
		return;
	fl_vec_each (each, &exporter->gpus)
		(*each)->has &= (*each)->read_at >= exporter->round_at;
	if (!complete)
		return;
	exporter->complete_at = fl_now(exporter->io);
	exporter->updated = fl_wall(exporter->io);
}

static void count_xid(struct fl_dcgm_gpu *gpu, int32_t gi, int64_t xid, uint64_t count)
{
	struct fl_dcgm_xid *to = NULL;
	uint32_t last = 0;

	for (uint32_t i = 0; i < gpu->xid_len && !to; i++)
		if (gpu->xids[i].gi == gi && gpu->xids[i].xid == xid)
			to = &gpu->xids[i];
	if (!to && gpu->xid_len < FL_DCGM_XIDS) {
		to = &gpu->xids[gpu->xid_len++];
		*to = (struct fl_dcgm_xid){ gi, xid, 0 };
	}
	if (to)
		to->count += count;
	while (last < FL_DCGM_PARTS && gi >= 0 && (last == 0 || (gpu->last_gi[last] != gi && gpu->last_gi[last] >= 0)))
		last++;
	gpu->last_gi[last] = gi;
	gpu->last_xid[last] = xid;
}

void fl_exporter_fault(struct fl_exporter *exporter, const struct fl_card_fault *fault)
{
	struct fl_dcgm_gpu *gpu = exporter->io && fault->what == FL_FAULT_XID ? gpu_of(exporter, fault->card) : NULL;
	struct fl_dcgm_late_xid *late = &exporter->late[exporter->late_at];
	uint64_t count = fault->count > 0 ? (uint64_t)fault->count : 1;
	int32_t gi = fault->has.gi ? fault->gi : -1;

	if (!gpu)
		return;
	exporter->made_at = 0;
	count_xid(gpu, gi, fault->xid, count);
	memcpy(late->address, gpu->address, sizeof late->address);
	late->gi = gi;
	late->xid = fault->xid;
	late->at = fl_now(exporter->io);
	late->count = count;
	exporter->late_at = (exporter->late_at + 1) % FL_DCGM_XIDS_LATE;
	exporter->late_len += exporter->late_len < FL_DCGM_XIDS_LATE;
}

/* ---- when ---- */

static bool is_scraped(const struct fl_exporter *exporter)
{
	return exporter->scraped_at && fl_now(exporter->io) < exporter->scraped_at + FL_EXPORTER_SCRAPED;
}

static void due(struct fl_timer *timer)
{
	struct fl_exporter *exporter = fl_container(timer, struct fl_exporter, timer);
	uint64_t now = fl_now(exporter->io);

	fl_io_name(exporter->io, "exporter");
	tell_state(exporter);
	if (!exporter->options.ask(exporter->options.arg, &exporter->wanted)) {
		fl_timer_set(exporter->io, timer, now + FL_EXPORTER_SOON);
		return;
	}
	exporter->round_at = now;
	fl_timer_set(exporter->io, timer, now + (is_scraped(exporter) ? exporter->options.period : FL_EXPORTER_REST));
}

static void pods_due(struct fl_timer *timer)
{
	struct fl_exporter *exporter = fl_container(timer, struct fl_exporter, pods);

	exporter->options.look(exporter->options.arg);
	if (is_scraped(exporter))
		fl_timer_set(exporter->io, timer, fl_now(exporter->io) + FL_EXPORTER_PODS);
}

void fl_exporter_looked(struct fl_exporter *exporter)
{
	if (exporter->io && is_scraped(exporter))
		fl_sandboxes_ask(&exporter->sandboxes);
}

static void pods_changed(struct fl_sandboxes *sandboxes)
{
	fl_container(sandboxes, struct fl_exporter, sandboxes)->made_at = 0;
}

/* Who scrapes after a pause brings the period back, and never more than one read a period. */
static void scraped(struct fl_exporter *exporter)
{
	uint64_t now = fl_now(exporter->io), next = exporter->round_at + exporter->options.period;

	exporter->scraped_at = now;
	if (exporter->timer.at > next && exporter->round_at)
		fl_timer_set(exporter->io, &exporter->timer, next > now ? next : now);
	if (!exporter->options.style.no_pods && !fl_timer_is_set(&exporter->pods))
		fl_timer_set(exporter->io, &exporter->pods, now);
}

/* ---- the text ---- */

static int gather(struct fl_exporter *exporter, struct fl_view *view, struct fl_dcgm_facts *ret)
{
	const struct fl_driver *driver = fl_view_get(view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	*ret = (struct fl_dcgm_facts){
		.list = &exporter->list, .gpus = exporter->gpus.at, .gpu_len = exporter->gpus.len,
		.late = exporter->late, .pods = exporter->sandboxes.pods, .pod_len = exporter->sandboxes.len,
		.late_len = exporter->late_len, .style = exporter->options.style, .now = fl_now(exporter->io),
		.updated = (double)exporter->updated / FL_NS_PER_S,
	};
	ret->style.version = driver ? driver->version : FL_S("");
	ret->cards = fl_view_array(view, &fl_card_kind, &ret->card_len);
	if (!ret->style.no_pods && exporter->options.pods_known(exporter->options.arg))
		ret->holders = fl_view_array(view, &fl_holder_kind, &ret->holder_len);
	return view->failed ? -FL_E_NOMEM : 0;
}

/* Labels are most of the work: 64 devices, each of which any of 80 Pods may have. */
static int make_lines(struct fl_exporter *exporter)
{
	struct fl_view view = fl_loop_view(exporter->loop, &exporter->arena);
	uint64_t now = fl_now(exporter->io);

	if (exporter->made_at && now < exporter->made_at + FL_EXPORTER_FRESH)
		return 0;
	exporter->made_at = 0;
	fl_arena_reset(&exporter->arena);
	if (gather(exporter, &view, &exporter->facts) < 0 ||
	    fl_dcgm_lines_make(&exporter->facts, &exporter->arena, &exporter->lines) < 0)
		return -FL_E_NOMEM;
	exporter->facts.cards = NULL;
	exporter->facts.holders = NULL;
	exporter->facts.pods = NULL;
	exporter->made_at = now;
	return 0;
}

bool fl_exporter_text(struct fl_exporter *exporter, struct fl_exporter_at *at, uint64_t until, struct fl_buf *buf)
{
	struct fl_dcgm_lines *lines = &exporter->lines;
	bool more = true;

	if (!at->list) {
		scraped(exporter);
		at->list = exporter->list_no;
	}
	if (at->list != exporter->list_no || make_lines(exporter) < 0) {
		buf->failed = at->list != exporter->list_no ? FL_E_RETRY : FL_E_NOMEM;
		return false;
	}
	lines->lines = at->lines;
	lines->left_out = at->left_out;
	do
		more = fl_dcgm_lines_put(lines, at->metric++, buf);
	while (more && buf->len < FL_EXPORTER_PIECE && fl_clock(exporter->io) < until);
	at->lines = lines->lines;
	at->left_out = lines->left_out;
	return more;
}

/* ---- the whole ---- */

bool fl_exporter_stale(const struct fl_exporter *exporter)
{
	return exporter->io && fl_now(exporter->io) > exporter->complete_at + FL_EXPORTER_STALE;
}

static int start_sandboxes(struct fl_exporter *exporter, struct fl_err *err)
{
	const struct fl_exporter_options *options = &exporter->options;
	struct fl_sandboxes_options sandboxes = { options->runtime, options->arg, options->pod_labels,
						  options->pod_allow, options->log };

	if (options->style.no_pods || (!options->pod_labels && !options->style.pod_uid))
		return 0;
	exporter->sandboxes.changed = pods_changed;
	return fl_sandboxes_start(&exporter->sandboxes, exporter->io, &sandboxes, err);
}

int fl_exporter_start(struct fl_exporter *exporter, struct fl_io *io, struct fl_loop *loop,
		      const struct fl_exporter_options *options, struct fl_err *err)
{
	struct fl_dcgm_list list = { 0 };
	int r = fl_dcgm_list_usual(&exporter->lists[1], &list, err);

	if (r < 0)
		return r;
	exporter->io = io;
	exporter->loop = loop;
	exporter->feed = fl_loop_feed(loop, &fl_exporter_status_kind);
	exporter->options = *options;
	if (!exporter->options.period)
		exporter->options.period = FL_EXPORTER_PERIOD;
	if (!exporter->options.style.window_xids)
		exporter->options.style.window_xids = FL_DCGM_WINDOW;
	if (!exporter->options.style.window_clocks)
		exporter->options.style.window_clocks = FL_DCGM_WINDOW;
	use_list(exporter, &list);
	exporter->complete_at = fl_now(io);
	exporter->timer.fire = due;
	exporter->pods.fire = pods_due;
	fl_timer_set(io, &exporter->timer, fl_now(io) + FL_EXPORTER_SOON);
	r = start_sandboxes(exporter, err);
	if (r < 0 || !options->file)
		return r;
	exporter->files = (struct fl_files){ .changed = file_changed, .failed = file_failed,
					     .paths = { options->file } };
	return fl_files_start(io, &exporter->files, err);
}

void fl_exporter_stop(struct fl_exporter *exporter)
{
	if (!exporter->io)
		return;
	fl_timer_stop(exporter->io, &exporter->timer);
	fl_timer_stop(exporter->io, &exporter->pods);
	fl_files_stop(&exporter->files);
	fl_sandboxes_stop(&exporter->sandboxes);
	fl_vec_each (gpu, &exporter->gpus)
		fl_free(*gpu);
	fl_vec_free(&exporter->gpus);
	fl_arena_free(&exporter->lists[0]);
	fl_arena_free(&exporter->lists[1]);
	fl_arena_free(&exporter->arena);
	exporter->io = NULL;
}
