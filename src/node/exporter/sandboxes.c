#include "node/exporter/sandboxes.h"
#include "base/log.h"
#include "base/metrics.h"
#include "grpc/runtime.h"
#include "grpc/runtime.pb-c.h"
#include <stdio.h>
#include <stdlib.h>

#define PATTERN_MAX 256

/* ---- which labels ---- */

static int compile(struct fl_str allow, regex_t *to, uint32_t *ret_len, struct fl_err *err)
{
	struct fl_str one;

	*ret_len = 0;
	while (fl_str_split(&allow, ',', &one)) {
		char text[PATTERN_MAX], why[100];
		int code;

		one = fl_str_trim(one);
		if (!one.len)
			continue;
		if (*ret_len == FL_SANDBOXES_PATTERNS || one.len >= sizeof text)
			return fl_fail(err, FL_E_INVALID, "'%.*s': more than %d patterns, or one of %d bytes",
				       FL_ARG(one), FL_SANDBOXES_PATTERNS, PATTERN_MAX);
		(void)snprintf(text, sizeof text, "%.*s", FL_ARG(one));
		code = regcomp(&to[*ret_len], text, REG_EXTENDED | REG_NOSUB);
		if (code) {
			(void)regerror(code, &to[*ret_len], why, sizeof why);
			return fl_fail(err, code == REG_ESPACE ? FL_E_NOMEM : FL_E_INVALID,
				       "'%s' is no regular expression: %s", text, why);
		}
		++*ret_len;
	}
	return 0;
}

static void drop(regex_t *patterns, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		regfree(&patterns[i]);
}

int fl_sandboxes_check(struct fl_str allow, struct fl_err *err)
{
	regex_t patterns[FL_SANDBOXES_PATTERNS];
	uint32_t len;
	int r = compile(allow, patterns, &len, err);

	drop(patterns, len);
	return r;
}

/* The runtime's own are beside those of the Pod. */
static bool is_told(const struct fl_sandboxes *sandboxes, const char *name)
{
	if (strncmp(name, "io.kubernetes.", 14) == 0)
		return false;
	for (uint32_t i = 0; i < sandboxes->pattern_len; i++)
		if (regexec(&sandboxes->patterns[i], name, 0, NULL, 0) == 0)
			return true;
	return !sandboxes->pattern_len;
}

static bool has_anyway(const char *name)
{
	static const char *const names[] = {
		"gpu", "UUID", "uuid", "pci_bus_id", "device", "modelName", "GPU_I_PROFILE", "GPU_I_ID", "Hostname",
		"hostname", "container", "namespace", "pod", "pod_uid", "container_name", "pod_namespace", "pod_name",
		"err_code", "err_msg", "xid", "clock_event", "window_size_in_ms", "nvlink", "instance", "job", "le",
		"quantile",
	};

	for (size_t i = 0; i < FL_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return strncmp(name, "__", 2) == 0 || strncmp(name, "DCGM_", 5) == 0 || strncmp(name, "dcgm_", 5) == 0;
}

struct label {
	char name[FL_METRIC_VALUE + 1];
	const char *value;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static void name_of(const char *from, char ret[FL_METRIC_VALUE + 1])
{
	size_t len = 0;

	if (from[0] >= '0' && from[0] <= '9')
		ret[len++] = '_';
	for (; *from && len < FL_METRIC_VALUE; from++)
		ret[len++] = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
					     (*from >= '0' && *from <= '9') ?
				     *from :
				     '_';
	ret[len] = '\0';
}

/* By name, each once; whole ones, as many as there is room for. */
static int put_labels(const struct fl_sandboxes *sandboxes, const Runtime__V1__PodSandbox *pod, struct fl_arena *arena,
		      struct fl_str *ret)
{
	struct label *all = fl_arena_get_n(arena, pod->n_labels, sizeof *all);
	char text[FL_SANDBOXES_LABELS + 4 * FL_METRIC_VALUE];
	struct fl_buf buf = FL_BUF_IN(text);
	uint32_t len = 0;

	if (!all)
		return -FL_E_NOMEM;
	for (size_t i = 0; sandboxes->options.labels && i < pod->n_labels; i++) {
		name_of(pod->labels[i]->key, all[len].name);
		all[len].value = pod->labels[i]->value;
		len += is_told(sandboxes, pod->labels[i]->key) && !has_anyway(all[len].name);
	}
	if (len)
		qsort(all, len, sizeof *all, by_name);
	for (uint32_t i = 0; i < len; i++) {
		struct fl_str value = fl_str(all[i].value);

		if ((i && strcmp(all[i - 1].name, all[i].name) == 0) || value.len > FL_METRIC_VALUE ||
		    buf.len + strlen(all[i].name) + 2 * (size_t)value.len + 4 > FL_SANDBOXES_LABELS)
			continue;
		fl_buf_printf(&buf, ",%s=\"", all[i].name);
		fl_metrics_put_text(&buf, value, true);
		fl_buf_char(&buf, '"');
	}
	*ret = fl_arena_str(arena, fl_buf_view(&buf));
	return ret->p ? 0 : -FL_E_NOMEM;
}

/* ---- what the runtime says ---- */

/* One Pod may have several, of which the newest counts. */
static bool is_newest(const Runtime__V1__ListPodSandboxResponse *reply, size_t at)
{
	const Runtime__V1__PodSandbox *pod = reply->items[at];

	if (!pod->metadata || pod->state != 0)
		return false;
	for (size_t i = 0; i < reply->n_items; i++) {
		const Runtime__V1__PodSandbox *other = reply->items[i];

		if (i != at && other->metadata && other->state == 0 &&
		    (other->created_at > pod->created_at || (other->created_at == pod->created_at && i < at)) &&
		    strcmp(other->metadata->name, pod->metadata->name) == 0 &&
		    strcmp(other->metadata->namespace_, pod->metadata->namespace_) == 0)
			return false;
	}
	return true;
}

static int take(const struct fl_sandboxes *sandboxes, const Runtime__V1__ListPodSandboxResponse *reply,
		struct fl_arena *arena, struct fl_dcgm_pod **ret, uint32_t *ret_len)
{
	*ret_len = 0;
	*ret = fl_arena_get_n(arena, reply->n_items, sizeof **ret);
	if (!*ret)
		return -FL_E_NOMEM;
	for (size_t i = 0; i < reply->n_items; i++) {
		const Runtime__V1__PodSandbox *from = reply->items[i];
		struct fl_dcgm_pod *to = &(*ret)[*ret_len];

		if (!is_newest(reply, i))
			continue;
		to->space = fl_arena_str(arena, fl_str(from->metadata->namespace_));
		to->name = fl_arena_str(arena, fl_str(from->metadata->name));
		to->uid = fl_arena_str(arena, fl_str(from->metadata->uid));
		if (!to->space.p || !to->name.p || !to->uid.p || put_labels(sandboxes, from, arena, &to->labels) < 0)
			return -FL_E_NOMEM;
		++*ret_len;
	}
	return 0;
}

static void failed(struct fl_sandboxes *sandboxes)
{
	if (strcmp(sandboxes->why.text, sandboxes->err.text) != 0)
		fl_log(sandboxes->options.log, FL_WARN, "UIDs and labels of Pods not read, will retry",
		       FL_KV_ERR(&sandboxes->err));
	sandboxes->why = sandboxes->err;
}

static void listed(struct fl_op *op)
{
	struct fl_sandboxes *sandboxes = fl_container(op, struct fl_sandboxes, list.op);
	struct fl_arena arena = { 0 };
	struct fl_dcgm_pod *pods = NULL;
	uint32_t len = 0;

	fl_io_name(sandboxes->io, "sandboxes");
	if (op->result >= 0 && take(sandboxes, (const void *)sandboxes->list.reply, &arena, &pods, &len) < 0) {
		fl_arena_free(&arena);
		(void)fl_fail(&sandboxes->err, FL_E_NOMEM, "no memory for the container runtime's answer");
		failed(sandboxes);
	} else if (op->result < 0) {
		failed(sandboxes);
	} else {
		fl_arena_free(&sandboxes->arena);
		sandboxes->arena = arena;
		sandboxes->pods = pods;
		sandboxes->len = len;
		sandboxes->why = (struct fl_err){ 0 };
	}
	fl_arena_free(&sandboxes->list.arena);
	sandboxes->client = fl_grpc_client_free(sandboxes->client);
	if (sandboxes->changed)
		sandboxes->changed(sandboxes);
}

void fl_sandboxes_ask(struct fl_sandboxes *sandboxes)
{
	Runtime__V1__PodSandboxStateValue ready = RUNTIME__V1__POD_SANDBOX_STATE_VALUE__INIT;
	Runtime__V1__PodSandboxFilter filter = RUNTIME__V1__POD_SANDBOX_FILTER__INIT;
	Runtime__V1__ListPodSandboxRequest message = RUNTIME__V1__LIST_POD_SANDBOX_REQUEST__INIT;
	struct fl_addr addr;

	if (!sandboxes->io || fl_op_busy(&sandboxes->list.op))
		return;
	if (fl_addr_unix(&addr, fl_str(sandboxes->options.socket(sandboxes->options.arg)), &sandboxes->err) == 0)
		sandboxes->client = fl_grpc_client_new(sandboxes->io, &addr, &sandboxes->err);
	if (!sandboxes->client) {
		failed(sandboxes);
		return;
	}
	filter.state = &ready;
	message.filter = &filter;
	sandboxes->list = (struct fl_grpc_request){
		.op = { .done = listed, .err = &sandboxes->err,
			.deadline = fl_now(sandboxes->io) + FL_SANDBOXES_TIMEOUT },
		.method = &fl_runtime_sandboxes, .message = &message.base,
	};
	fl_grpc_start(sandboxes->client, &sandboxes->list);
}

/* ---- the whole ---- */

int fl_sandboxes_start(struct fl_sandboxes *sandboxes, struct fl_io *io, const struct fl_sandboxes_options *options,
		       struct fl_err *err)
{
	int r = compile(options->allow, sandboxes->patterns, &sandboxes->pattern_len, err);

	if (r < 0) {
		drop(sandboxes->patterns, sandboxes->pattern_len);
		return r;
	}
	sandboxes->io = io;
	sandboxes->options = *options;
	return 0;
}

void fl_sandboxes_stop(struct fl_sandboxes *sandboxes)
{
	if (!sandboxes->io)
		return;
	fl_op_cancel(&sandboxes->list.op);
	fl_arena_free(&sandboxes->list.arena);
	sandboxes->client = fl_grpc_client_free(sandboxes->client);
	fl_arena_free(&sandboxes->arena);
	drop(sandboxes->patterns, sandboxes->pattern_len);
	sandboxes->io = NULL;
}
