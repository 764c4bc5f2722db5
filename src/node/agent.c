#include "node/agent_in.h"
#include "api/core.h"
#include "api/node_report.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/units.h"
#include "io/child.h"
#include "node/decide.h"
#include "node/decide_pods.h"
#include "node/decide_checks.h"
#include "node/decide_labels.h"
#include "node/decide_pools.h"
#include "node/gpu/mig.h"
#include "node/host/dir_trouble.h"
#include "node/in_force.h"
#include "node/report.h"
#include "plan/gpu/tell.h"
#include "run/kube.h"
#include "run/memory.h"

#define FL_AGENT_OPEN_FIRST (250 * FL_NS_PER_MS) /* a journal that cannot be opened: a disk that is full heals ... */
#define FL_AGENT_OPEN_LAST (10 * FL_NS_PER_S)    /* ... when somebody comes */
#define FL_AGENT_OPEN_LATE (5 * FL_NS_PER_S)     /* locked so long: by another agent that goes on */

const struct fl_capability *const fl_agent_capabilities[] = {
	&fl_node_config, &fl_node_pausing, &fl_node_health, &fl_node_host, &fl_node_cdi, &fl_node_mps, &fl_node_mig,
	&fl_node_lists, &fl_node_pods, &fl_node_taint, &fl_node_links, &fl_node_dev_nodes, &fl_node_inside,
	&fl_node_labels, &fl_node_checks, &fl_node_ready_files, &fl_node_exporter,
	&fl_node_pools, NULL,
};

/* Its parts, before the loop knows of any. */
static void begin(struct fl_agent *agent, struct fl_io *io, struct fl_loop *loop,
		  const struct fl_agent_options *options)
{
	agent->settings = fl_memory_sink;
	agent->settings.start = fl_in_force_start;
	agent->settings.cancel = fl_in_force_cancel;
	agent->io = io;
	agent->loop = loop;
	agent->options = *options;
	agent->host.io = io;
	agent->links.io = io;
	agent->host.proc = options->gpu.proc;
	agent->host.sysfs = options->gpu.sysfs;
	agent->host.env = options->gpu.env;
	agent->options.inside.log = options->log;
	fl_inside_init(&agent->inside, io, &agent->options.inside);
	fl_cdi_init(&agent->cdi, io, options->cdi_dir, options->log);
	fl_labels_file_init(&agent->label_file, io, options->config.label_file);
	fl_ready_files_init(&agent->ready_files, io, options->config.ready_dir, options->log);
	fl_mps_init(&agent->mps, io, &(struct fl_mps_options){ .program = options->gpu.program, .env = options->gpu.env,
							       .probe_soon = options->gpu.pace.look_soon,
							       .log = options->log });
	fl_pausing_init(&agent->pausing, io, options->control, options->log);
}

/* long: because it is a table of all kinds of the node */
int fl_agent_sources(struct fl_agent *agent, struct fl_io *io, struct fl_loop *loop,
		     const struct fl_agent_options *options, struct fl_err *err)
{
	const struct {
		struct fl_source source;
		enum { TOLD, EMPTY, AWAITED } first;   /* its feeder tells; there is none yet; not known yet */
	} rows[] = {
		{ { &fl_driver_kind }, TOLD },
		{ { &fl_card_kind, fl_node_card_by, &fl_gpu_card_sink, &agent->gpu }, TOLD },
		{ { &fl_card_fault_kind, fl_node_fault_by, &fl_gpu_fault_sink, &agent->gpu }, TOLD },
		{ { &fl_holder_kind }, TOLD },
		{ { &fl_host_kind, NULL, &fl_host_sink, &agent->host }, EMPTY },
		{ { &fl_runtime_kind }, TOLD },
		{ { &fl_plugin_socket_kind }, AWAITED },
		{ { &fl_given_kind }, TOLD },
		{ { &fl_config_file_kind }, TOLD },
		{ { &fl_settings_kind, NULL, &agent->settings, agent }, TOLD },
		{ { &fl_health_kind, fl_node_health_by, &fl_records_sink, &agent->records }, AWAITED },
		{ { &fl_memo_kind, NULL, &fl_records_sink, &agent->memos }, AWAITED },
		{ { &fl_resource_kind, NULL, &fl_plugin_sink, &agent->plugins }, TOLD },
		{ { &fl_cdi_spec_kind, NULL, &fl_files_sink, &agent->cdi.files }, AWAITED },
		{ { &fl_cdi_trouble_kind }, TOLD },
		{ { &fl_dir_trouble_kind }, EMPTY },
		{ { &fl_readiness_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_mps_kind, NULL, &fl_mps_sink, &agent->mps }, AWAITED },
		{ { &fl_layout_kind, NULL, &fl_records_sink, &agent->layouts }, AWAITED },
		{ { &fl_mig_state_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_gpu_device_kind, NULL, options->kube ? &fl_kube_sink : &fl_memory_sink,
		    options->kube ? (void *)options->kube : (void *)io }, TOLD },
		{ { &fl_gpu_pool_kind }, TOLD },
		{ { &fl_cluster_gpu_pool_kind }, TOLD },
		{ { &fl_api_watch_kind, NULL, &fl_api_watch_sink, &agent->watches }, TOLD },
		{ { &fl_pool_change_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_mig_file_kind }, TOLD },
		{ { &fl_pause_request_kind }, TOLD },
		{ { &fl_driver_pause_kind, NULL, &fl_pausing_sink, &agent->pausing }, TOLD },
		{ { &fl_active_kind }, TOLD },
		{ { &fl_booking_kind, NULL, &fl_records_sink, &agent->bookings }, TOLD },
		{ { &fl_pod_watch_kind, NULL, &fl_pod_watch_sink, &agent->pods }, EMPTY },
		{ { &fl_eviction_kind, NULL, &fl_eviction_sink, &agent->pods }, EMPTY },
		{ { &fl_dev_link_kind, NULL, &fl_links_sink, &agent->links }, EMPTY },
		{ { &fl_inspection_kind, NULL, &agent->inside.sink, &agent->inside }, TOLD },
		{ { &fl_inside_kind }, TOLD },
		{ { &fl_pod_finding_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_check_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_exporter_status_kind }, EMPTY },
		{ { &fl_label_file_kind, NULL, &fl_files_sink, &agent->label_file.sink }, TOLD },
		{ { &fl_ready_file_kind, NULL, &fl_files_sink, &agent->ready_files.sink }, TOLD },
		{ { &fl_label_lag_kind, NULL, &fl_memory_sink, io }, EMPTY },
		{ { &fl_own_pod_kind, NULL, options->kube ? &fl_kube_sink : &fl_memory_sink,
		    options->kube ? (void *)options->kube : (void *)io }, TOLD },
	};
	struct fl_source pauses;

	begin(agent, io, loop, options);
	pauses = fl_pausing_pauses(&agent->pausing);
	if (fl_loop_source(loop, &pauses, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	for (uint32_t i = 0; i < FL_LEN(rows); i++) {
		if (fl_loop_source(loop, &rows[i].source, err) < 0)
			return -(int)(err ? err->code : FL_E_INVALID);
		if (rows[i].first == EMPTY)
			fl_memory_begin(loop, rows[i].source.kind);
		else if (rows[i].first == AWAITED)
			fl_feed_awaited(fl_loop_feed(loop, rows[i].source.kind));
	}
	return 0;
}

/* ---- what is remembered ---- */

static void open_journal(struct fl_agent *agent);

static void open_later(struct fl_timer *timer)
{
	open_journal(fl_container(timer, struct fl_agent, open_again));
}

static void cannot_open(struct fl_agent *agent)
{
	struct fl_err words = fl_agent_open_words(agent);

	(void)fl_backoff(&agent->open_delay, FL_AGENT_OPEN_FIRST, FL_AGENT_OPEN_LAST);
	fl_log(agent->options.log, FL_ERROR, "state directory unusable, will retry",
	       FL_KV_TEXT("message", words.text), FL_KV_ERR(&agent->open_why));
	if (agent->open_why.code != FL_E_NOMEM)   /* which says nothing of the directory */
		fl_dir_trouble(agent->loop, FL_DIR_STATE, words.text);
	agent->open_again.fire = open_later;
	fl_timer_set(agent->io, &agent->open_again, fl_now(agent->io) + agent->open_delay);
}

/* Not before the one that was here before has gone: the socket was its own. */
static void be_asked(struct fl_agent *agent)
{
	struct fl_err err = { 0 };

	if (agent->options.control[0] && !agent->pausing.server &&
	    fl_pausing_listen(&agent->pausing, &err) < 0)
		fl_log(agent->options.log, FL_WARN, "control socket unavailable, pause by Node label only",
		       FL_KV_ERR(&err));
}

/* As the kubelet refers to its Node: with the name for the UID. kubectl describe, of any age, asks for that; not for an
 * Event without a UID. */
static struct fl_ref node_ref(const struct fl_agent *agent)
{
	struct fl_str node = agent->options.config.node;

	return (struct fl_ref){ &fl_own_node_kind, FL_S(""), node, node };
}

/* What was remembered is not all there any more: it is set aside and found out again. */
static void tell_of_journal(struct fl_agent *agent, const char *what)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_told_event event = {
		.ref = node_ref(agent), .warning = true, .type = FL_S("Restore"),
		.reason = FL_S("JournalNotAsLeft"), .message = fl_str(what), .capability = "agent",
		.subject = fl_str(what),   /* an Event for each thing that was lost */
	};

	fl_log(options->log, FL_WARN, "journal restored in part", FL_KV_TEXT("what", what));
	if (options->event)
		options->event(options->event_arg, &event);
}

static void tell_of_one(struct fl_agent *agent, const char *what, const struct fl_err *why)
{
	struct fl_err told = { 0 };

	(void)fl_fail(&told, FL_E_CORRUPT, "%s cannot be read, counts as absent and is set aside: %s", what, why->text);
	tell_of_journal(agent, told.text);
}

/* Damaged, or of another format than this program's: refused by name, and kept. A choice of the API server that cannot
 * be read is none: the Node's label is waited for. */
static void tell_of_unread(struct fl_agent *agent)
{
	struct fl_err why = { 0 };

	if (fl_records_unread(agent->records, &why))
		tell_of_one(agent, "the stored health of a GPU", &why);
	if (fl_records_unread(agent->bookings, &why))
		tell_of_one(agent, "the stored allocation of a container", &why);
	if (fl_records_unread(agent->memos, &why))
		tell_of_one(agent, "the stored answer of the API server", &why);
	if (fl_records_unread(agent->layouts, &why))
		tell_of_one(agent, "the stored MIG layout of a GPU", &why);
	if (fl_mps_unread(&agent->mps, &why))
		tell_of_one(agent, "the record of an MPS daemon", &why);
}

/* Health last: whatever acts outside this process waits for it (FL_WHEN_STATE_IS_OURS), and so for who holds what. */
static bool read_journal(struct fl_agent *agent)
{
	struct fl_records_options records = { .journal = agent->journal, .kind = &fl_memo_kind,
					      .log = agent->options.log };

	agent->memos = fl_records_new(agent->io, agent->loop, &records, &agent->open_why);
	records.kind = &fl_booking_kind;
	records.anyway = true;
	if (agent->memos)
		agent->bookings = fl_records_new(agent->io, agent->loop, &records, &agent->open_why);
	if (!agent->bookings || fl_holders_remember(agent->holders, &agent->open_why) < 0 ||
	    fl_mps_begin(&agent->mps, agent->loop, agent->journal, &agent->open_why) < 0)
		return false;
	records.kind = &fl_layout_kind;
	records.anyway = false;
	records.act = fl_gpu_mig_act;
	records.arg = &agent->gpu;
	agent->layouts = fl_records_new(agent->io, agent->loop, &records, &agent->open_why);
	if (!agent->layouts)
		return false;
	records.kind = &fl_health_kind;
	records.anyway = true;
	records.act = NULL;
	agent->records = fl_records_new(agent->io, agent->loop, &records, &agent->open_why);
	return agent->records;
}

static void begun(struct fl_op *op)
{
	struct fl_agent *agent = fl_container(op, struct fl_agent, begin.op);
	struct fl_err why = { 0 };

	if (op->result >= 0)
		return;
	(void)fl_fail(&why, FL_E_IO, "%.100s: nothing is stored until this succeeds: free disk space or make the "
				     "directory writable",
		      agent->begin_why.text);
	tell_of_journal(agent, why.text);
}

/* What was read outlives a power failure from then on, and a disk that refuses is told of. Nothing waits for it: a
 * record that a power failure takes away before was never acknowledged. */
static void begin_journal(struct fl_agent *agent)
{
	agent->begin.op = (struct fl_op){ .done = begun, .err = &agent->begin_why };
	fl_journal_snapshot(agent->journal, &agent->begin);
}

static void opened(struct fl_op *op)
{
	struct fl_agent *agent = fl_container(op, struct fl_agent, open.op);
	FL_VIEW(view, agent->loop);
	const struct fl_journal_fact *facts;
	unsigned count;

	fl_timer_stop(agent->io, &agent->open_again);
	if (op->result < 0) {
		cannot_open(agent);
		return;
	}
	agent->journal = agent->open.journal;
	begin_journal(agent);
	facts = fl_journal_facts(agent->journal, &count);
	for (unsigned i = 0; i < count; i++)
		tell_of_journal(agent, facts[i].text);
	if (read_journal(agent)) {
		tell_of_unread(agent);
		agent->open_why = (struct fl_err){ 0 };
		fl_dir_trouble(agent->loop, FL_DIR_STATE, NULL);
		be_asked(agent);
		fl_in_force_hook(agent, fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings")));
		return;
	}
	agent->memos = fl_records_free(agent->memos);
	agent->bookings = fl_records_free(agent->bookings);
	agent->layouts = fl_records_free(agent->layouts);
	agent->journal = fl_journal_close(agent->journal);
	cannot_open(agent);
}

static void still_waits(struct fl_timer *timer)
{
	struct fl_agent *agent = fl_container(timer, struct fl_agent, open_again);

	agent->open_why = (struct fl_err){ 0 };   /* of the try before: this one is under way */
	fl_dir_trouble(agent->loop, FL_DIR_STATE, NULL);
	fl_log(agent->options.log, FL_WARN, "state directory locked, waiting for the other agent to end",
	       FL_KV_TEXT("dir", agent->options.state_dir));
}

/* Another agent may be there still: its end is waited for, however long that takes. */
static void open_journal(struct fl_agent *agent)
{
	agent->open = (struct fl_journal_open){
		.op = { .done = opened, .err = &agent->open_why }, .dir = agent->options.state_dir, .name = "agent",
	};
	agent->open_again.fire = still_waits;
	fl_timer_set(agent->io, &agent->open_again, fl_now(agent->io) + FL_AGENT_OPEN_LATE);
	fl_journal_open(agent->io, &agent->open);
}

/* ---- the start and the end ---- */

static void allocated(void *agent)
{
	fl_holders_look(((struct fl_agent *)agent)->holders);
}

static int withdrawn(void *agent, uint64_t given, struct fl_err *err)
{
	return fl_holders_withdrawn(((struct fl_agent *)agent)->holders, given, err);
}

static void looked_who_holds(void *agent_)
{
	struct fl_agent *agent = agent_;

	if (agent->pod_events)
		fl_pod_events_looked(agent->pod_events);
	fl_exporter_looked(&agent->exporter);
}

/* Of who has which device, and of those who are told of it. */
static int start_holders(struct fl_agent *agent, struct fl_err *err)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_holders_options holders = { options->pods_dir, options->log, options->metrics, looked_who_holds,
					      agent, options->plugins_dir, options->api, options->api_arg };
	struct fl_pod_events_options news = { .log = options->log, .tell = options->event, .arg = options->event_arg,
					      .logs = options->inside.logs };

	agent->holders = fl_holders_new(agent->io, agent->loop, &holders, err);
	if (!agent->holders)
		return -(int)(err ? err->code : FL_E_NOMEM);
	if (!options->event)
		return 0;
	news.holders = agent->holders;
	agent->pod_events = fl_pod_events_new(agent->io, agent->loop, &news, err);
	return agent->pod_events ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

/* The name of a Booking, an Eviction or a PodFinding begins with its Pod's; one without '/' is of a Pod without
 * name. */
static void tell_pod(const struct fl_agent *agent, const struct fl_told_event *told)
{
	struct fl_told_event event = *told;
	struct fl_str rest = told->ref.name, space, name;

	if (!fl_str_split(&rest, '/', &space) || !fl_str_split(&rest, '/', &name))
		return;
	event.ref = (struct fl_ref){ &fl_pod_kind, space, name, FL_S("") };
	fl_pod_events_tell(agent->pod_events, &event);
}

/* Its files are looked for while it is asked for its cards. */
static void driver_found(void *agent_, const char *root, const char *version)
{
	struct fl_agent *agent = agent_;

	fl_host_files_early(&agent->host, fl_str(root), fl_str(version));
}

static void reported(void *agent_, const struct fl_card_fault *fault)
{
	struct fl_agent *agent = agent_;

	if (agent->pod_events)
		fl_pod_events_fault(agent->pod_events, fault);
	fl_exporter_fault(&agent->exporter, fault);
}

/* ---- the exporter ---- */

static void sampled(void *agent_, const struct fl_gpu_sample *sample, bool complete)
{
	fl_exporter_sampled(&((struct fl_agent *)agent_)->exporter, sample, complete);
}

static bool sample(void *agent_, const struct fl_dcgm_set *wanted)
{
	struct fl_agent *agent = agent_;

	return agent->gpu && fl_gpu_sample(agent->gpu, wanted);
}

/* Who was known when the kubelet went away is told for a while; one that is only asked seldom is not away. */
static bool pods_known(void *agent_)
{
	const struct fl_agent *agent = agent_;
	uint64_t as_of = fl_holders_as_of(agent->holders), stale = agent->options.exporter.pods_stale;

	stale = stale ? stale : FL_EXPORTER_PODS_STALE;
	return as_of && (!fl_holders_why(agent->holders)->code || fl_now(agent->io) < as_of + stale);
}

static const char *runtime_socket(void *agent)
{
	return fl_runtime_socket(((struct fl_agent *)agent)->runtime);
}

static int start_exporter(struct fl_agent *agent, struct fl_err *err)
{
	struct fl_exporter_options options = agent->options.exporter;

	if (agent->options.metrics_off)
		return fl_exporter_off(agent->loop, err);
	options.ask = sample;
	options.look = allocated;
	options.pods_known = pods_known;
	options.runtime = runtime_socket;
	options.arg = agent;
	options.log = agent->options.log;
	return fl_exporter_start(&agent->exporter, agent->io, agent->loop, &options, err);
}

/* The Node is told at once, the Pods that hold it when the kubelet has said which. */
static void tell_health(struct fl_agent *agent, const struct fl_told_event *told)
{
	FL_VIEW(view, agent->loop);
	const struct fl_health *health = fl_view_get(&view, &fl_health_kind, FL_S(""), told->ref.name);
	struct fl_str which = health ? fl_gpu_tell_name(view.arena, health) : told->ref.name;
	struct fl_told_event event = *told;

	event.subject = health ? health->card : told->ref.name;   /* its MIG devices are told of with it */
	event.message = fl_arena_printf(view.arena, "%.*s: %.*s", FL_ARG(which), FL_ARG(told->message));
	if (!event.message.p)
		event.message = told->message;
	if (agent->pod_events)
		fl_pod_events_health(agent->pod_events, &event);
	if (fl_gpu_tell_is_of_driver(told->is == FL_CONDITION_TRUE, told->reason, told->was))
		return;
	event.ref = node_ref(agent);
	agent->options.event(agent->options.event_arg, &event);
}

static void tell_node(const struct fl_agent *agent, const struct fl_told_event *told)
{
	struct fl_told_event event = *told;

	event.ref = node_ref(agent);
	agent->options.event(agent->options.event_arg, &event);
}

static void tell_check(struct fl_agent *agent, const struct fl_told_event *told)
{
	struct fl_told_event event = *told;

	event.ref = node_ref(agent);
	event.subject = told->ref.name;
	agent->options.event(agent->options.event_arg, &event);
}

void fl_agent_tell(struct fl_agent *agent, const struct fl_told_event *told)
{
	if (!agent->options.event)
		return;
	if (told->ref.kind == &fl_health_kind)
		tell_health(agent, told);
	else if (told->ref.kind == &fl_check_kind)
		tell_check(agent, told);
	else if (told->ref.kind == &fl_own_node_kind)
		tell_node(agent, told);
	else if (told->ref.kind == &fl_gpu_device_kind)
		agent->options.event(agent->options.event_arg, told);
	else if (told->ref.kind == &fl_booking_kind || told->ref.kind == &fl_eviction_kind ||
		 told->ref.kind == &fl_pod_finding_kind)
		tell_pod(agent, told);
}

int fl_agent_start(struct fl_agent *agent, struct fl_err *err)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_gpu_options gpu = options->gpu;
	struct fl_plugins_options plugins = { options->plugins_dir, options->log, options->metrics, allocated,
					      withdrawn, agent, options->pods_dir, options->kubelet };
	struct fl_runtime_options runtime = { options->runtime_socket, options->log, options->cdi_dir };

	gpu.log = options->log;
	gpu.metrics = options->metrics;
	gpu.wait = true;
	if (options->config.file || options->config.dir) {
		gpu.roots = NULL;   /* it may name them */
		gpu.dev_root = NULL;
	}
	gpu.found = driver_found;
	gpu.reported = reported;
	gpu.sampled = sampled;
	gpu.arg = agent;
	agent->gpu = fl_gpu_new(agent->io, agent->loop, &gpu, err);
	if (!agent->gpu)
		return -(int)(err ? err->code : FL_E_NOMEM);
	fl_pausing_start(&agent->pausing, agent->loop, &agent->gpu);
	fl_inside_start(&agent->inside, agent->loop);
	agent->pods = (struct fl_pods){ .event = options->event, .event_arg = options->event_arg };
	fl_pods_begin(&agent->pods, agent->io, agent->loop, options->kube, options->config.node, options->log);
	fl_api_watches_begin(&agent->watches, agent->io, agent->loop, options->kube, options->config.node,
			     options->log);
	if (fl_config_start(&agent->config, agent->io, agent->loop, &options->config, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	if (fl_mig_file_start(&agent->mig_file, agent->io, agent->loop, options->config.given->mig_file, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	fl_cdi_start(&agent->cdi, agent->loop);
	fl_labels_file_start(&agent->label_file, agent->loop);
	fl_ready_files_start(&agent->ready_files, agent->loop);
	agent->runtime = fl_runtime_new(agent->io, agent->loop, &runtime, err);
	if (agent->runtime && start_holders(agent, err) == 0)
		agent->plugins = fl_plugins_new(agent->io, agent->loop, &plugins, err);
	if (agent->plugins && start_exporter(agent, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	open_journal(agent);
	if (agent->plugins && options->metrics && fl_report_metrics(options->metrics, agent->loop, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	return agent->plugins ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

static void turn(struct fl_timer *timer)
{
	(void)timer;
}

bool fl_agent_end(struct fl_agent *agent)
{
	uint64_t wait = agent->options.end_wait;
	bool told;

	if (!agent->ends) {
		agent->ends = true;
		agent->end_by.fire = turn;
		fl_timer_set(agent->io, &agent->end_by,
			     fl_now(agent->io) + (wait ? wait : FL_AGENT_END_WAIT));
		agent->let_go.op = (struct fl_op){ .deadline = agent->end_by.at };   /* what is left is killed */
		if (agent->gpu)
			fl_gpu_pause(agent->gpu, &agent->let_go, "the agent ends");
	}
	told = !agent->plugins || fl_plugins_drain(agent->plugins);
	/* A child that is not a program of its own yet has all that is ours, the port among it. */
	return !fl_timer_is_set(&agent->end_by) ||
	       (told && !fl_op_busy(&agent->let_go.op) && !fl_child_undead(agent->io));
}

/* The kubelet is told first: what it sees go, it does not hand out. */
void fl_agent_stop(struct fl_agent *agent)
{
	if (!agent->io)
		return;
	agent->plugins = fl_plugins_free(agent->plugins);
	fl_exporter_stop(&agent->exporter);
	agent->pod_events = fl_pod_events_free(agent->pod_events);
	agent->holders = fl_holders_free(agent->holders);
	agent->runtime = fl_runtime_free(agent->runtime);
	fl_pausing_stop(&agent->pausing);
	agent->gpu = fl_gpu_free(agent->gpu);
	fl_host_stop(&agent->host);
	fl_inside_stop(&agent->inside);
	fl_cdi_stop(&agent->cdi);
	fl_labels_file_stop(&agent->label_file);
	fl_ready_files_stop(&agent->ready_files);
	fl_config_stop(&agent->config);
	agent->bookings = fl_records_free(agent->bookings);
	agent->records = fl_records_free(agent->records);
	agent->memos = fl_records_free(agent->memos);
	agent->layouts = fl_records_free(agent->layouts);
	fl_mig_file_stop(&agent->mig_file);
	fl_pods_stop(&agent->pods);
	fl_api_watches_stop(&agent->watches);
	fl_mps_stop(&agent->mps);
	fl_timer_stop(agent->io, &agent->open_again);
	fl_timer_stop(agent->io, &agent->end_by);
	fl_op_cancel(&agent->let_go.op);
	fl_op_cancel(&agent->open.op);
	fl_op_cancel(&agent->begin.op);
	agent->journal = fl_journal_close(agent->journal);
	agent->io = NULL;
}
