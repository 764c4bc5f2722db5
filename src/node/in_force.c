#include "node/in_force.h"
#include "base/hmap.h"
#include "base/log.h"
#include "run/memory.h"

/* Not before the path is known, and the state directory is this agent's. */
void fl_in_force_hook(struct fl_agent *agent, const struct fl_settings *settings)
{
	if (settings && !settings->waits.len && agent->records)
		fl_host_hook_early(&agent->host, settings->hook);
}

/* Not while a configuration is waited for that may name other roots: a driver that is not found where it is not takes
 * every GPU away for a while. Where none can come (the message says so), what was given alone counts. */
static int search(struct fl_agent *agent, const struct fl_settings *settings)
{
	if (!agent->gpu || (settings->waits.len && !settings->message.len))
		return 0;
	return fl_gpu_search(agent->gpu, settings->look_roots.at, settings->look_roots.len,
			     settings->has.look_dev ? settings->look_dev : (struct fl_str){ 0 });
}

/* Whoever has no API server has no condition of the Node: what is wrong is logged, once for each text. */
static void log_settings(struct fl_agent *agent, const struct fl_settings *settings)
{
	static const uint64_t seed[2] = { 0x6661697267707521u, 0x73657474696e6773u };
	struct fl_str message = settings->message, untaken = settings->untaken;
	uint64_t wrong = message.len ? fl_siphash13(seed, message.p, message.len) : 0;
	uint64_t left = untaken.len ? fl_siphash13(seed, untaken.p, untaken.len) : 0;
	bool wrong_too = wrong != agent->wrong_said, left_too = left != agent->untaken_said;

	if (settings->no_node.len && !agent->node_missed)
		fl_log(agent->options.log, FL_WARN, "Node not found", FL_KV_STR("message", settings->no_node));
	else if (!settings->no_node.len && agent->node_missed)
		fl_log(agent->options.log, FL_INFO, "the Node is there", FL_KV_STR("name", settings->node));
	agent->node_missed = settings->no_node.len > 0;
	agent->wrong_said = wrong;
	agent->untaken_said = left;
	if (!wrong_too && !left_too)
		return;
	if (message.len && wrong_too)
		fl_log(agent->options.log, FL_WARN, "configuration invalid", FL_KV_STR("message", message));
	if (untaken.len && (left_too || !message.len))
		fl_log(agent->options.log, FL_WARN, "configuration applied in part",
		       FL_KV_STR("message", untaken));
	if (!message.len && !untaken.len)
		fl_log(agent->options.log, FL_INFO, "the configuration is in force as it was given");
}

/* What a file, or the Node's label, has changed; not what log_settings tells in words. */
static void log_changes(struct fl_agent *agent, const struct fl_write *write)
{
	static const struct fl_str elsewhere[] = { FL_S_INIT("message"), FL_S_INIT("untaken"), FL_S_INIT("noNode"),
						   FL_S_INIT("waits"), FL_S_INIT("started") };
	char text[FL_PLAN_TEXT] = "";
	struct fl_buf changed = FL_BUF_IN(text);

	for (uint32_t i = 0; write->exists && i < write->paths.len; i++)
		if (!fl_str_in(elsewhere, FL_LEN(elsewhere), write->paths.at[i]))
			fl_buf_printf(&changed, "%s%.*s", changed.len ? ", " : "", FL_ARG(write->paths.at[i]));
	if (changed.len)
		fl_log(agent->options.log, FL_INFO, "settings changed", FL_KV_TEXT("settings", text));
}

void fl_in_force_start(void *agent_, struct fl_write *write)
{
	struct fl_agent *agent = agent_;
	const struct fl_settings *settings = write->object;

	if (write->what == FL_WANT_OBJECT && search(agent, settings) < 0) {
		fl_write_failed(write, &(struct fl_err){ .code = FL_E_NOMEM, .text = "no memory for the roots" });
		return;
	}
	if (write->what == FL_WANT_OBJECT) {
		log_settings(agent, settings);
		log_changes(agent, write);
		fl_in_force_hook(agent, settings);
	}
	fl_memory_sink.start(agent->io, write);
}

void fl_in_force_cancel(void *agent, struct fl_write *write)
{
	fl_memory_sink.cancel(((struct fl_agent *)agent)->io, write);
}
