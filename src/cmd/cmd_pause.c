/* What an operator asks of this node's agent: release the driver, reopen it. */
#include "base/units.h"
#include "cmd/program.h"
#include "http/client.h"
#include "io/io.h"
#include <stdio.h>

struct pause {
	const char *socket;
	struct fl_str why;
};

#define SOCKET_OPTION \
	FL_OPT_PATH(struct pause, socket, "control-socket", "Address where the agent listens.", \
		    .fallback = "/run/fairlead/node.sock")

static const struct fl_option pause_options[] = {
	SOCKET_OPTION,
	FL_OPT_STR(struct pause, why, "WHY", "Reason of the pause, for people.", .operand = true),
};
static const struct fl_option resume_options[] = { SOCKET_OPTION };

/* The agent lets go within two seconds, or says why not. */
#define WAIT (10 * FL_NS_PER_S)

static int ask(const struct pause *config, const char *what, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf url = FL_BUF(4096);
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);
	FL_AUTO(fl_http_client) struct fl_http_client *client = NULL;
	FL_AUTO(fl_http_call) struct fl_http_call call = { .method = FL_S("POST"), .target = fl_str(what),
							   .body = config->why };

	fl_buf_printf(&url, "unix:%s", config->socket);
	if (fl_buf_check(&url, "--control-socket", err) < 0 || !io)
		return -(int)err->code;
	client = fl_http_client_new(io, &(struct fl_http_client_options){ .url = fl_buf_view(&url) }, err);
	if (!client)
		return -(int)err->code;
	call.op = (struct fl_op){ .err = err, .deadline = fl_now(io) + WAIT };
	fl_http_start(client, &call);
	while (fl_op_busy(&call.op))
		if (fl_io_turn(io, FL_NEVER, err) < 0)
			return -(int)err->code;
	if (call.op.result < 0)
		return fl_wrap(err, "no agent answers: start fairlead node on this machine, and run this as root");
	if (call.op.result != 200)
		return fl_fail(err, FL_E_CONFLICT, "%.*s", FL_ARG(fl_str_trim(fl_buf_view(&call.reply))));
	return fl_print(&call.reply, err);
}

static int pause_driver(const struct fl_call *call, struct fl_err *err)
{
	return ask(call->config, "/pause", err);
}

static int resume_driver(const struct fl_call *call, struct fl_err *err)
{
	return ask(call->config, "/resume", err);
}

const struct fl_command fl_cmd_pause = {
	"pause", "Release the GPU driver until resume or reboot.", NULL,
	FL_COMMAND_OPTIONS(pause_options, struct pause), .run = pause_driver,
};

const struct fl_command fl_cmd_resume = {
	"resume", "Reopen the GPU driver after a pause.", NULL,
	FL_COMMAND_OPTIONS(resume_options, struct pause), .run = resume_driver,
};
