/* What the agent waits for, for /readyz. */
#include "node/agent_in.h"
#include "node/host/dir_trouble.h"
#include "plan/gpu/needs.h"
#include <errno.h>

static const char *open_remedy(int sys)
{
	switch (sys) {
	case ENOSPC:
	case EDQUOT: return "make room there";
	case EIO: return "check that disk and the kernel log";
	default: return "mount a writable directory at --state-dir";
	}
}

/* "open state directory '/x': cause: remedy" */
struct fl_err fl_agent_open_words(const struct fl_agent *agent)
{
	const struct fl_err *why = &agent->open_why;
	struct fl_err words = { 0 };

	(void)fl_fail(&words, why->code, "open state directory '%s': %s: %s", agent->options.state_dir,
		      why->sys ? strerrordesc_np(why->sys) : why->text, open_remedy(why->sys));
	return words;
}

static bool cdi_is_sick(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_VIEW(view, agent->loop);
	const struct fl_cdi_trouble *trouble = fl_view_first(&view, &fl_cdi_trouble_kind);

	if (agent->cdi.folder.why.code)
		fl_buf_printf(words, "cannot list the CDI directory: %s: " FL_CDI_DIR_REMEDY,
			      agent->cdi.folder.why.text);
	else if (trouble)
		fl_buf_printf(words, "cannot write a CDI file, without which no GPU is advertised: %.*s",
			      FL_ARG(trouble->why));
	return trouble || agent->cdi.folder.why.code;
}

/* What no GPU can be advertised without. */
static bool lacks(struct fl_view *view, struct fl_buf *words)
{
	struct fl_gpu_needs_facts facts = {
		.settings = fl_view_get(view, &fl_settings_kind, FL_S(""), FL_S("settings")),
		.host = fl_view_get(view, &fl_host_kind, FL_S(""), FL_S("host")),
	};
	struct fl_str why = FL_S("waits for the settings");

	facts.cards = fl_view_array(view, &fl_card_kind, &facts.card_len);
	facts.specs = fl_view_array(view, &fl_cdi_spec_kind, &facts.spec_len);
	if (facts.settings)
		why = fl_gpu_needs(&facts, view->arena);
	fl_buf_str(words, why);
	return why.len > 0;
}

/* Why no GPU is served: true: by this node's set-up, which must be mended first. */
static bool blocked(struct fl_view *view, struct fl_str *ret_why)
{
	const struct fl_readiness *is = fl_view_get(view, &fl_readiness_kind, FL_S(""), FL_S("gpus"));

	*ret_why = is ? is->why : FL_S("");
	return is && is->blocked;
}

/* Until the driver has said what there is, nothing is wanted of the kubelet, and nothing is missing either. */
static bool looked(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_VIEW(view, agent->loop);
	const struct fl_settings *settings = fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings"));
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));
	struct fl_str no_node = settings ? settings->no_node : FL_S("");
	struct fl_each cards = fl_view_all(&view, &fl_card_kind);
	const struct fl_card *card;
	struct fl_str why;

	if (!settings || settings->waits.len) {
		fl_buf_str(words, settings ? settings->waits : FL_S("waits for the configuration"));
		if (settings && settings->message.len)
			fl_buf_printf(words, ": %.*s", FL_ARG(settings->message));
		if (no_node.len)
			fl_buf_printf(words, "%s%.*s", words->len ? ": " : "", FL_ARG(no_node));
		return false;
	}
	if (settings->message.len && !fl_view_first(&view, &fl_resource_kind)) {
		fl_buf_printf(words, "serves nothing: %.*s", FL_ARG(settings->message));
		return false;
	}
	if (!driver || driver->state == FL_DRIVER_STARTING) {
		fl_buf_str(words, FL_S("waits for the driver"));
		return false;
	}
	while (driver->state == FL_DRIVER_READY && (card = fl_each_next(&cards)))
		if (card->answer == FL_CARD_UNASKED && fl_str_eq(card->bound, FL_S("nvidia"))) {
			fl_buf_printf(words, "waits for the driver to report GPU %.*s", FL_ARG(card->meta.name));
			return false;
		}
	if (driver->state == FL_DRIVER_READY && lacks(&view, words))
		return false;
	if (blocked(&view, &why)) {
		fl_buf_str(words, why);
		return false;
	}
	if (!fl_loop_idle(agent->loop)) {
		fl_buf_str(words, FL_S("applies the desired state"));
		return false;
	}
	/* With both of these it is ready all the same. */
	fl_buf_printf(words, "%.*s%s%.*s", FL_ARG(why), why.len && no_node.len ? "\n" : "", FL_ARG(no_node));
	return true;
}

/* As the Node's condition has it. */
static bool kubelet_trouble(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_VIEW(view, agent->loop);
	const struct fl_dir_trouble *trouble =
		fl_view_get(&view, &fl_dir_trouble_kind, FL_S(""), FL_S(FL_DIR_KUBELET));

	if (trouble)
		fl_buf_str(words, trouble->why);
	return trouble != NULL;
}

/* What a monitoring that counts heartbeats relies on: that the GPUs are read. */
static bool has_heartbeat(const struct fl_agent *agent, struct fl_buf *words)
{
	FL_VIEW(view, agent->loop);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	if (!driver || driver->state != FL_DRIVER_READY || !fl_exporter_stale(&agent->exporter))
		return true;
	fl_buf_clear(words);
	fl_buf_str(words, FL_S("no complete telemetry of the GPUs for two minutes: see the log for the GPU that does "
			       "not answer"));
	return false;
}

bool fl_agent_ready(const struct fl_agent *agent, struct fl_buf *words)
{
	struct fl_err why = { 0 }, kubelet = { 0 };
	const char *unwatched = fl_plugins_unwatched(agent->plugins, &kubelet);

	if (agent->open_why.code)
		fl_buf_str(words, fl_str(fl_agent_open_words(agent).text));
	else if (!agent->records)
		fl_buf_printf(words, "waits for the end of the agent that holds the state directory %s",
			      agent->options.state_dir);
	else if (fl_records_behind(agent->records, &why) || fl_records_behind(agent->bookings, &why))
		fl_buf_printf(words, "cannot store the observed state in %s: %s", agent->options.state_dir, why.text);
	else if (unwatched && !kubelet_trouble(agent, words))
		fl_buf_printf(words, "waits for the kubelet to watch %s%s%s", unwatched, kubelet.code ? ": " : "",
			      kubelet.text);
	else if (unwatched)
		return false;
	else if (!cdi_is_sick(agent, words) && looked(agent, words))
		return has_heartbeat(agent, words);
	return false;
}
