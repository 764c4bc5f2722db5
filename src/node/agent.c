#include "node/agent.h"
#include "base/limits.h"
#include "base/log.h"
#include "io/child.h"
#include "node/decide.h"
#include "node/report.h"
#include "run/memory.h"

const struct fl_capability *const fl_agent_capabilities[] = {
	&fl_node_config, &fl_node_hold, &fl_node_health, &fl_node_host, &fl_node_cdi, &fl_node_lists, NULL,
};

const struct fl_kind *const fl_agent_kinds[] = {
	&fl_driver_kind, &fl_card_kind, &fl_card_fault_kind, &fl_health_kind, &fl_resource_kind, &fl_holder_kind,
	&fl_host_kind, &fl_runtime_kind, &fl_plugin_socket_kind, &fl_settings_kind, &fl_given_kind,
	&fl_config_file_kind, &fl_cdi_spec_kind, &fl_cdi_trouble_kind, &fl_word_kind, &fl_pause_kind,
	&fl_hold_kind, NULL,
};

int fl_agent_sources(struct fl_agent *agent, struct fl_io *io, struct fl_loop *loop,
		     const struct fl_agent_options *options, struct fl_err *err)
{
	const struct fl_source sources[] = {
		{ &fl_driver_kind, NULL, NULL, NULL },
		{ &fl_card_kind, fl_node_card_by, NULL, NULL },
		{ &fl_card_fault_kind, fl_node_fault_by, &fl_gpu_fault_sink, &agent->gpu },
		{ &fl_holder_kind, fl_node_holder_by, NULL, NULL },
		{ &fl_host_kind, NULL, &fl_host_sink, &agent->host },
		{ &fl_runtime_kind, NULL, NULL, NULL },
		{ &fl_plugin_socket_kind, NULL, NULL, NULL },
		{ &fl_given_kind, NULL, NULL, NULL },
		{ &fl_config_file_kind, NULL, NULL, NULL },
		{ &fl_settings_kind, NULL, &fl_memory_sink, io },
		{ &fl_health_kind, fl_node_health_by, &fl_records_sink, &agent->records },
		{ &fl_resource_kind, NULL, &fl_plugin_sink, &agent->plugins },
		{ &fl_cdi_spec_kind, NULL, &fl_files_sink, &agent->cdi.files },
		{ &fl_cdi_trouble_kind, NULL, NULL, NULL },
		{ &fl_word_kind, NULL, NULL, NULL },
		{ &fl_hold_kind, NULL, &fl_holding_sink, &agent->holding },
	};
	struct fl_source pauses;

	agent->io = io;
	agent->loop = loop;
	agent->options = *options;
	agent->host.io = io;
	agent->host.proc = options->gpu.proc;
	fl_cdi_init(&agent->cdi, io, options->cdi_dir, options->log);
	fl_holding_init(&agent->holding, io, options->control, options->log);
	pauses = fl_holding_pauses(&agent->holding);
	if (fl_loop_source(loop, &pauses, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(loop, &sources[i], err) < 0)
			return -(int)(err ? err->code : FL_E_INVALID);
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
	agent->open_delay = agent->open_delay ? 2 * agent->open_delay : FL_AGENT_OPEN_FIRST;
	if (agent->open_delay > FL_AGENT_OPEN_LAST)
		agent->open_delay = FL_AGENT_OPEN_LAST;
	fl_log(agent->options.log, FL_ERROR, "what is remembered of the cards cannot be read, will try again",
	       FL_KV_TEXT("dir", agent->options.state_dir), FL_KV_ERR(&agent->open_why));
	agent->open_again.fire = open_later;
	fl_timer_set(agent->io, &agent->open_again, fl_now(agent->io) + agent->open_delay);
}

/* Not before the one that was here before has gone: the socket was its own. */
static void be_asked(struct fl_agent *agent)
{
	struct fl_err err = { 0 };

	if (agent->options.control[0] && !agent->holding.server &&
	    fl_holding_listen(&agent->holding, &err) < 0)
		fl_log(agent->options.log, FL_WARN, "cannot be asked to let go of the driver, but by the Node's label",
		       FL_KV_ERR(&err));
}

/* What was remembered is not all there any more: it is set aside and found out again. */
static void tell_of_journal(struct fl_agent *agent, const struct fl_journal_fact *fact)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_told_event event = {
		.ref = { &fl_own_node_kind, FL_S(""), options->config.node, FL_S("") }, .warning = true,
		.type = FL_S("Restore"), .reason = FL_S("JournalNotAsLeft"), .message = fl_str(fact->text),
		.capability = "agent",
	};

	fl_log(options->log, FL_WARN, "the journal was not as it was left", FL_KV_TEXT("what", fact->text));
	if (options->event)
		options->event(options->event_arg, &event);
}

static void opened(struct fl_op *op)
{
	struct fl_agent *agent = fl_container(op, struct fl_agent, open.op);
	struct fl_records_options records = { .kind = &fl_health_kind, .log = agent->options.log,
					     .anyway = true };
	const struct fl_journal_fact *facts;
	unsigned count;

	if (op->result < 0) {
		cannot_open(agent);
		return;
	}
	records.journal = agent->journal = agent->open.journal;
	facts = fl_journal_facts(agent->journal, &count);
	for (unsigned i = 0; i < count; i++)
		tell_of_journal(agent, &facts[i]);
	agent->records = fl_records_new(agent->io, agent->loop, &records, &agent->open_why);
	if (agent->records) {
		agent->open_why = (struct fl_err){ 0 };
		be_asked(agent);
		return;
	}
	agent->journal = fl_journal_close(agent->journal);
	cannot_open(agent);
}

/* Another agent may be there still: its end is waited for, however long that takes. */
static void open_journal(struct fl_agent *agent)
{
	agent->open = (struct fl_journal_open){
		.op = { .done = opened, .err = &agent->open_why }, .dir = agent->options.state_dir, .name = "agent",
	};
	fl_journal_open(agent->io, &agent->open);
}

/* ---- the start and the end ---- */

static void allocated(void *agent)
{
	fl_holders_look(((struct fl_agent *)agent)->holders);
}

static void looked_who_holds(void *agent_)
{
	struct fl_agent *agent = agent_;

	if (agent->news)
		fl_news_looked(agent->news);
}

/* Of who has which device, and of those who are told of it. */
static int start_holders(struct fl_agent *agent, struct fl_err *err)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_holders_options holders = { options->pods_dir, options->log, options->metrics, looked_who_holds,
					      agent };
	struct fl_news_options news = { .log = options->log, .tell = options->event, .arg = options->event_arg };

	agent->holders = fl_holders_new(agent->io, agent->loop, &holders, err);
	if (!agent->holders)
		return -(int)(err ? err->code : FL_E_NOMEM);
	if (!options->event)
		return 0;
	news.holders = agent->holders;
	agent->news = fl_news_new(agent->io, agent->loop, &news, err);
	return agent->news ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

void fl_agent_tell(struct fl_agent *agent, const struct fl_told_event *told)
{
	if (agent->news && told->ref.kind == &fl_health_kind)
		fl_news_health(agent->news, told);
}

int fl_agent_start(struct fl_agent *agent, struct fl_err *err)
{
	const struct fl_agent_options *options = &agent->options;
	struct fl_gpu_options gpu = options->gpu;
	struct fl_plugins_options plugins = { options->plugins_dir, options->log, options->metrics, allocated, agent,
					      options->pods_dir };
	struct fl_runtime_options runtime = { options->runtime_socket, options->log };

	gpu.log = options->log;
	gpu.metrics = options->metrics;
	gpu.wait = true;
	agent->gpu = fl_gpu_new(agent->io, agent->loop, &gpu, err);
	if (!agent->gpu)
		return -(int)(err ? err->code : FL_E_NOMEM);
	fl_holding_start(&agent->holding, agent->loop, &agent->gpu);
	open_journal(agent);
	if (fl_config_start(&agent->config, agent->io, agent->loop, &options->config, err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	fl_memory_begin(agent->loop, &fl_host_kind);
	fl_cdi_start(&agent->cdi, agent->loop);
	agent->runtime = fl_runtime_new(agent->io, agent->loop, &runtime, err);
	if (agent->runtime && start_holders(agent, err) == 0)
		agent->plugins = fl_plugins_new(agent->io, agent->loop, &plugins, err);
	if (agent->plugins && options->metrics && fl_report_metrics(options->metrics, agent->loop, err) < 0)
		return -(int)(err ? err->code : FL_E_NOMEM);
	return agent->plugins ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

static void let_go(struct fl_op *op)
{
	(void)op;   /* what is left is killed, and dies when it can */
}

static void turn(struct fl_timer *timer)
{
	(void)timer;
}

bool fl_agent_end(struct fl_agent *agent)
{
	bool told;

	if (!agent->ends) {
		agent->ends = true;
		agent->end_by.fire = turn;
		fl_timer_set(agent->io, &agent->end_by, fl_now(agent->io) + FL_AGENT_END_WAIT);
		agent->let_go.op = (struct fl_op){ .done = let_go, .deadline = agent->end_by.at };
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
	agent->news = fl_news_free(agent->news);
	agent->holders = fl_holders_free(agent->holders);
	agent->runtime = fl_runtime_free(agent->runtime);
	fl_holding_stop(&agent->holding);
	agent->gpu = fl_gpu_free(agent->gpu);
	fl_host_stop(&agent->host);
	fl_cdi_stop(&agent->cdi);
	fl_config_stop(&agent->config);
	agent->records = fl_records_free(agent->records);
	fl_timer_stop(agent->io, &agent->open_again);
	fl_timer_stop(agent->io, &agent->end_by);
	fl_op_cancel(&agent->open.op);
	agent->journal = fl_journal_close(agent->journal);
	agent->io = NULL;
}

static bool cdi_is_sick(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(agent->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_cdi_trouble_kind);
	const struct fl_cdi_trouble *trouble = fl_each_next(&each);

	if (agent->cdi.folder.why.code)
		fl_buf_printf(words, "cannot see what lies in the CDI directory (--cdi-dir): %s",
			      agent->cdi.folder.why.text);
	else if (trouble)
		fl_buf_printf(words, "cannot write a CDI file, without which no card is handed out: %.*s",
			      FL_ARG(trouble->why));
	return trouble || agent->cdi.folder.why.code;
}

/* Until the driver has said what there is, nothing is wanted of the kubelet, and nothing is missing either. */
static bool looked(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(agent->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));
	struct fl_each cards = fl_view_all(&view, &fl_card_kind);
	const struct fl_card *card;

	if (!driver || driver->state == FL_DRIVER_STARTING) {
		fl_buf_str(words, FL_S("waits for the driver"));
		return false;
	}
	while (driver->state == FL_DRIVER_READY && (card = fl_each_next(&cards)))
		if (card->answer == FL_CARD_UNASKED && fl_str_eq(card->bound, FL_S("nvidia"))) {
			fl_buf_printf(words, "waits for the driver to tell of the card %.*s", FL_ARG(card->meta.name));
			return false;
		}
	if (fl_loop_idle(agent->loop))
		return true;
	fl_buf_str(words, FL_S("carries out what is wanted"));
	return false;
}

bool fl_agent_ready(const struct fl_agent *agent, struct fl_buf *words)
{
	const char *unwatched = fl_plugins_unwatched(agent->plugins, NULL);
	struct fl_err why = { 0 };

	if (agent->open_why.code)
		fl_buf_printf(words, "waits for what is remembered in %s: %s", agent->options.state_dir,
			      agent->open_why.text);
	else if (!agent->records)
		fl_buf_printf(words, "waits for the agent that is still there and has %s", agent->options.state_dir);
	else if (fl_records_behind(agent->records, &why))
		fl_buf_printf(words, "cannot remember in %s what is so: %s", agent->options.state_dir, why.text);
	else if (unwatched)
		fl_buf_printf(words, "waits for the kubelet to watch %s", unwatched);
	else if (!cdi_is_sick(agent, words))
		return looked(agent, words);
	return false;
}
