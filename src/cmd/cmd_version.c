/* What is running: asked for first in every report of a bug. */
#include "cmd/program.h"
#include "grpc/libraries.h"
#include "http/libraries.h"
#include "json/libraries.h"
#include <gnu/libc-version.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "other"
#endif

struct version {
	enum fl_output output;
	bool json;
};

static const struct fl_option options[] = {
	FL_OPT_ENUM(struct version, output, fl_output, "output", "How to print it.", .letter = 'o', .fallback = "text"),
	FL_OPT_BOOL(struct version, json, "json", "The same as --output json.", .env = ""),
};

struct answer {
	struct fl_buf *buf;
	bool json, any;
};

static void library(void *self, const char *name, const char *version)
{
	struct answer *answer = self;

	if (!answer->json) {
		fl_buf_printf(answer->buf, "  %-12s %s\n", name, version);
		return;
	}
	fl_buf_str(answer->buf, answer->any ? FL_S(",") : FL_S(""));
	answer->any = true;
	fl_buf_json(answer->buf, fl_str(name));
	fl_buf_char(answer->buf, ':');
	fl_buf_json(answer->buf, fl_str(version));
}

static void libraries(struct answer *answer)
{
	library(answer, "glibc", gnu_get_libc_version());
	fl_http_libraries(library, answer);
	fl_json_libraries(library, answer);
	fl_grpc_libraries(library, answer);
}

static void as_json(struct answer *answer)
{
	fl_buf_str(answer->buf, FL_S("{\"name\":\"fairlead\",\"version\":\"" FL_VERSION "\",\"mode\":\"" FL_MODE
				     "\",\"machine\":\"" MACHINE "\",\"compiler\":"));
	fl_buf_json(answer->buf, FL_S(COMPILER));
	fl_buf_str(answer->buf, FL_S(",\"libraries\":{"));
	libraries(answer);
	fl_buf_str(answer->buf, FL_S("}}\n"));
}

static void as_text(struct answer *answer)
{
	fl_buf_str(answer->buf, FL_S("fairlead " FL_VERSION "\n"
				     "built for " MACHINE ", mode " FL_MODE ", by " COMPILER "\n"
				     "libraries as loaded:\n"));
	libraries(answer);
}

static int version(const struct fl_call *call, struct fl_err *err)
{
	const struct version *config = call->config;
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HELP_MAX);
	struct answer answer = { .buf = &buf, .json = config->json || config->output == FL_OUTPUT_JSON };

	if (answer.json)
		as_json(&answer);
	else
		as_text(&answer);
	return fl_print(&buf, err);
}

const struct fl_command fl_cmd_version = {
	"version", "Print the version of this program and of the libraries that it runs with.", NULL,
	FL_COMMAND_OPTIONS(options, struct version), .run = version,
};
