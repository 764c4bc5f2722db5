/* src/local: the API server in memory. Requests a second of the server's own CPU time, over HTTP/2 without TLS, and
 * without sockets as a simulation calls it; how long it takes to start, and to tell 1,000 watches of a change; what
 * 50,000 Pods take. The server over HTTP is tests/local/apiserver, a process of its own; the client is ours. */
#include "base/units.h"
#include "http/client.h"
#include "local/api.h"
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 20000, FLIGHT = 64, STARTS = 21, WATCHES = 1000, TOLD = 200, PODS = 50000, APPLIES = 100000,
       TEXT = 4096, ROUNDS = 3 };

#define CARDS "/apis/bench.test/v1/cards"

static const char crd[] =
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
	"\"name\":\"cards.bench.test\"},\"spec\":{\"group\":\"bench.test\",\"scope\":\"Cluster\",\"names\":{"
	"\"plural\":\"cards\",\"singular\":\"card\",\"kind\":\"Card\",\"listKind\":\"CardList\"},\"versions\":[{"
	"\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
	"\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
	"\"pool\":{\"type\":\"string\"},\"node\":{\"type\":\"string\"},\"index\":{\"type\":\"integer\"},"
	"\"uuid\":{\"type\":\"string\",\"maxLength\":64},\"labels\":{\"type\":\"object\","
	"\"additionalProperties\":{\"type\":\"string\"}}}},\"status\":{\"type\":\"object\",\"properties\":{"
	"\"state\":{\"type\":\"string\",\"enum\":[\"Ready\",\"Faulted\"]},\"conditions\":{\"type\":\"array\","
	"\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"type\"],\"items\":{"
	"\"type\":\"object\",\"required\":[\"type\"],\"properties\":{\"type\":{\"type\":\"string\"},"
	"\"status\":{\"type\":\"string\"},\"reason\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
	"\"lastTransitionTime\":{\"type\":\"string\",\"format\":\"date-time\"}}}}}}}}}}]}}";

/* An object of 1 KB as it is stored. */
static const char card_text[] =
	"{\"apiVersion\":\"bench.test/v1\",\"kind\":\"Card\",\"metadata\":{\"name\":\"card-%u\",\"labels\":{"
	"\"bench.test/node\":\"node-%u\",\"bench.test/index\":\"0\"}},\"spec\":{\"pool\":\"training\","
	"\"node\":\"node-%u\",\"index\":%u,\"uuid\":\"GPU-5f1c2b7a-9d3e-4c21-8e1b-6a2d3f4e5c6b\",\"labels\":{"
	"\"product\":\"NVIDIA-H100-80GB-HBM3\",\"rack\":\"12\"}}}";

/* What an agent applies; the number differs from apply to apply. */
static const char status_text[] =
	"{\"apiVersion\":\"bench.test/v1\",\"kind\":\"Card\",\"metadata\":{\"name\":\"card-%u\"},\"status\":{"
	"\"state\":\"Ready\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Passed\","
	"\"message\":\"all checks have passed %u times\",\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"}]}}";

static const char pod_text[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"worker-%u\",\"namespace\":\"default\","
	"\"labels\":{\"app\":\"training\",\"batch.kubernetes.io/job-name\":\"training-large-42\","
	"\"pod-template-hash\":\"6b8f6c5d4\"},"
	"\"annotations\":{\"prometheus.io/scrape\":\"true\"}},\"spec\":{"
	"\"nodeName\":\"node-%u\",\"serviceAccountName\":\"trainer\",\"tolerations\":[{\"key\":\"nvidia.com/gpu\","
	"\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}],\"containers\":[{\"name\":\"main\","
	"\"image\":\"example.test/training/pytorch:2.9.1-cuda13\",\"command\":[\"torchrun\",\"--nnodes=8\","
	"\"--nproc-per-node=8\",\"--rdzv-backend=c10d\",\"train.py\",\"--config\",\"/etc/training/config.yaml\"],"
	"\"env\":[{\"name\":\"POD_NAME\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}],"
	"\"resources\":{"
	"\"limits\":{\"cpu\":\"96\",\"memory\":\"1600Gi\",\"nvidia.com/gpu\":\"8\"},\"requests\":{\"cpu\":\"96\","
	"\"memory\":\"1600Gi\",\"nvidia.com/gpu\":\"8\"}},\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":"
	"\"/data\"},"
	"{\"name\":\"config\",\"mountPath\":\"/etc/training\",\"readOnly\":true}]}],\"volumes\":[{\"name\":\"data\","
	"\"persistentVolumeClaim\":{\"claimName\":\"dataset\"}},{\"name\":\"config\",\"configMap\":{"
	"\"name\":\"training-config\"}}]}}";

static void die(const char *what, const struct fl_err *err)
{
	(void)fprintf(stderr, "bench_local: %s: %s\n", what, err->text);
	exit(1);
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, const char *sign, double bar)
{
	bool ok = sign[0] == '<' ? value <= bar : value >= bar;

	(void)printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"%s %g\",\"ok\":%s}\n", name, value,
		     unit, sign, bar, ok ? "true" : "false");
	(void)fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What is asked for the n-th time; the texts are the one's own. */
struct question {
	const char *name, *method, *type;
	int status;                  /* 0: whatever it is */
	uint32_t (*target)(char *to, uint32_t n);
	uint32_t (*body)(char *to, uint32_t n);
	double bar;
};

static uint32_t no_body(char *to, uint32_t n)
{
	(void)to;
	(void)n;
	return 0;
}

static uint32_t cards(char *to, uint32_t n)
{
	(void)n;
	return (uint32_t)snprintf(to, TEXT, "%s", CARDS);
}

static uint32_t card(char *to, uint32_t n)
{
	return (uint32_t)snprintf(to, TEXT, CARDS "/card-%u", n % OBJECTS);
}

static uint32_t card_status(char *to, uint32_t n)
{
	return (uint32_t)snprintf(to, TEXT, CARDS "/card-%u/status?fieldManager=agent&force=true", n % OBJECTS);
}

static uint32_t card_body(char *to, uint32_t n)
{
	return (uint32_t)snprintf(to, TEXT, card_text, n, n / 8, n / 8, n % 8);
}

static uint32_t status_body(char *to, uint32_t n)
{
	return (uint32_t)snprintf(to, TEXT, status_text, n % OBJECTS, n);
}

#define JSON "application/json"
#define APPLY "application/apply-patch+yaml"
static const struct question questions[] = {
	{ "local_http_create", "POST", JSON, 201, cards, card_body, 20000 },
	{ "local_http_apply", "PATCH", APPLY, 200, card_status, status_body, 10000 },
	{ "local_http_get", "GET", JSON, 200, card, no_body, 50000 },
};

/* ---- over HTTP ---- */

struct served {
	pid_t pid;
	clockid_t cpu;
	char url[64];
};

/* build/tests/local/apiserver, beside build/tests/bench. */
static void spawn(const char *self, struct served *served)
{
	const char *slash = strrchr(self, '/');
	char program[1024], line[128] = "";
	int fds[2];
	FILE *said;

	(void)snprintf(program, sizeof program, "%.*s/../local/apiserver", slash ? (int)(slash - self) : 1,
		       slash ? self : ".");
	if (pipe(fds) < 0)
		die("pipe", &(struct fl_err){ .text = "refused" });
	served->pid = fork();
	if (served->pid == 0) {
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)close(fds[0]);
		(void)execl(program, program, "--listen", "127.0.0.1:0", (char *)NULL);
		_exit(127);
	}
	(void)close(fds[1]);
	said = fdopen(fds[0], "r");
	if (!said || !fgets(line, sizeof line, said) || sscanf(line, "listening on %63s", served->url) != 1 ||
	    clock_getcpuclockid(served->pid, &served->cpu) != 0)
		die(program, &(struct fl_err){ .text = "did not say where it listens" });
	(void)fclose(said);
}

static void end(struct served *served)
{
	(void)kill(served->pid, SIGTERM);
	(void)waitpid(served->pid, NULL, 0);
}

struct load {
	struct fl_io *io;
	struct fl_http_client *client;
	struct fl_err err;
	const struct question *what;
	uint32_t started, ended, count;
	int status;                  /* of the last answer */
};

struct one {
	struct fl_http_call call;
	struct load *load;
	char target[TEXT], body[TEXT];
};

static void connect_to(struct load *load, const char *url)
{
	struct fl_http_client_options options = { .url = fl_str(url), .plain_h2 = true, .max_conns = 8 };

	load->io = fl_posix_new(&load->err);
	load->client = load->io ? fl_http_client_new(load->io, &options, &load->err) : NULL;
	if (!load->client)
		die("client", &load->err);
}

static void disconnect(struct load *load)
{
	fl_http_client_free(load->client);
	fl_io_free(load->io);
}

static void start(struct one *one)
{
	const struct question *what = one->load->what;
	uint32_t n = one->load->started++;

	fl_http_call_free(&one->call);
	one->call.target = (struct fl_str){ one->target, what->target(one->target, n) };
	one->call.body = (struct fl_str){ one->body, what->body(one->body, n) };
	fl_http_start(one->load->client, &one->call);
}

static void done(struct fl_op *op)
{
	struct one *one = fl_container(fl_container(op, struct fl_http_call, op), struct one, call);
	struct load *load = one->load;
	const struct question *what = load->what;

	load->status = (int)op->result;
	if (what->status && load->status != what->status) {
		(void)fprintf(stderr, "bench_local: %s %s: %lld %.*s\n", what->name, one->target,
			      (long long)op->result, (int)one->call.reply.len, one->call.reply.p);
		die("a call", &load->err);
	}
	load->ended++;
	if (load->started < load->count)
		start(one);
	else if (load->ended == load->count)
		fl_io_stop(load->io);
}

/* Ask so many times, FLIGHT at once. */
static void ask(struct load *load, const struct question *what, uint32_t count)
{
	static struct one ones[FLIGHT];
	const struct fl_headers headers = FL_HEADERS({ FL_S("content-type"), fl_str(what->type) });

	load->what = what;
	load->started = load->ended = 0;
	load->count = count;
	for (uint32_t i = 0; i < FLIGHT && i < count; i++) {
		ones[i].load = load;
		ones[i].call = (struct fl_http_call){ .op = { .done = done, .err = &load->err },
						      .method = fl_str(what->method), .headers = headers };
		start(&ones[i]);
	}
	if (fl_io_run(load->io, &load->err) < 0)
		die("client", &load->err);
	for (uint32_t i = 0; i < FLIGHT && i < count; i++)
		fl_http_call_free(&ones[i].call);
}

static uint32_t crds(char *to, uint32_t n)
{
	(void)n;
	return (uint32_t)snprintf(to, TEXT, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
}

static uint32_t crd_body(char *to, uint32_t n)
{
	(void)n;
	return (uint32_t)snprintf(to, TEXT, "%s", crd);
}

static uint32_t version(char *to, uint32_t n)
{
	(void)n;
	return (uint32_t)snprintf(to, TEXT, "/version");
}

static const struct question make_crd = { "crd", "POST", JSON, 201, crds, crd_body, 0 };
static const struct question is_served = { "served", "GET", JSON, 0, cards, no_body, 0 };
static const struct question first = { "first", "GET", JSON, 200, version, no_body, 0 };

static void starts(const char *self)
{
	uint64_t took[STARTS];
	const uint64_t *median = &took[STARTS / 2];

	for (int i = 0; i < STARTS; i++) {
		struct served served = { 0 };
		struct load load = { 0 };
		uint64_t from = clock_of(CLOCK_MONOTONIC);

		spawn(self, &served);
		connect_to(&load, served.url);
		ask(&load, &first, 1);
		took[i] = clock_of(CLOCK_MONOTONIC) - from;
		disconnect(&load);
		end(&served);
	}
	qsort(took, STARTS, sizeof *took, by_value);
	row("local_start_to_first_answer", (double)*median / 1e6, "ms", "<=", 10);
}

static void rates(struct load *load, const struct served *served)
{
	ask(load, &make_crd, 1);
	do
		ask(load, &is_served, 1);
	while (load->status != 200);
	for (size_t i = 0; i < FL_LEN(questions); i++) {
		uint64_t from = clock_of(served->cpu);

		ask(load, &questions[i], OBJECTS);
		row(questions[i].name, OBJECTS * 1e9 / (double)(clock_of(served->cpu) - from), "/s/core", ">=",
		    questions[i].bar);
	}
}

struct watcher {
	struct fl_http_call call;
	uint32_t lines;
};

static uint32_t told;            /* by how many watches, of the last change */

static void watch_ended(struct fl_op *op)
{
	die("a watch", &(struct fl_err){ .text = "ended" });
	(void)op;
}

static void got_event(struct fl_http_call *call, struct fl_str bytes)
{
	for (uint32_t i = 0; i < bytes.len; i++)
		if (bytes.p[i] == '\n')
			told++;
	fl_http_call_consume(call, bytes.len);
}

static void turn(struct load *load)
{
	if (fl_io_turn(load->io, fl_clock(load->io) + FL_NS_PER_S, &load->err) < 0)
		die("client", &load->err);
}

static void one_change(struct fl_op *op)
{
	if (op->result != 200)
		die("a change", op->err);
}

static void watches(struct load *load)
{
	static struct watcher all[WATCHES];
	static uint64_t took[TOLD];
	const uint64_t *p99 = &took[TOLD * 99 / 100];
	char target[TEXT], body[TEXT];
	const struct fl_headers headers = FL_HEADERS({ FL_S("content-type"), FL_S(APPLY) });

	told = 0;
	for (uint32_t i = 0; i < WATCHES; i++) {
		all[i].call = (struct fl_http_call){ .op = { .done = watch_ended, .err = &load->err },
			.method = FL_S("GET"), .target = FL_S(CARDS "?watch=true&fieldSelector=metadata.name%3Dcard-0"),
			.got = got_event };
		fl_http_start(load->client, &all[i].call);
	}
	while (told < WATCHES)           /* each begins with the object as it is */
		turn(load);
	for (uint32_t n = 0; n < TOLD; n++) {
		struct fl_http_call call = { .op = { .done = one_change, .err = &load->err },
			.method = FL_S("PATCH"), .headers = headers };
		uint64_t from = fl_clock(load->io);

		call.target = (struct fl_str){ target, card_status(target, 0) };
		call.body = (struct fl_str){ body, (uint32_t)snprintf(body, TEXT, status_text, 0u, n + OBJECTS) };
		told = 0;
		fl_http_start(load->client, &call);
		while (told < WATCHES || call.op.state == FL_OP_PENDING)
			turn(load);
		took[n] = fl_clock(load->io) - from;
		fl_http_call_free(&call);
	}
	for (uint32_t i = 0; i < WATCHES; i++) {
		fl_op_cancel(&all[i].call.op);
		fl_http_call_free(&all[i].call);
	}
	qsort(took, TOLD, sizeof *took, by_value);
	row("local_change_to_1000_watches_p99", (double)*p99 / 1e6, "ms", "<=", 20);
}

/* ---- without sockets ---- */

static struct fl_api *new_api(void)
{
	struct fl_api_options options = { .seed = { 1, 2 } };
	struct fl_err err;
	struct fl_api *api = fl_api_new(&options, 1000000, &err);

	if (!api)
		die("an API server", &err);
	return api;
}

/* The bytes of the answer. */
static size_t call(struct fl_api *api, const char *method, const char *type, int status, const char *path,
		   const char *query, const char *body)
{
	struct fl_ask ask = { fl_str(method), fl_str(path), fl_str(query), fl_str(type), FL_S(JSON), FL_S("bench"),
			      fl_str(body), 1700000000000000 };
	struct fl_api_call *call = fl_api_call(api, &ask);
	size_t len;

	if (!call || fl_api_call_status(call) != status) {
		struct fl_str said = call ? fl_api_call_body(call) : FL_S("no memory");

		(void)fprintf(stderr, "bench_local: %s %s: %.*s\n", method, path, (int)said.len, said.p);
		exit(1);
	}
	len = fl_api_call_body(call).len;
	fl_api_call_free(call);
	while (fl_api_work(api, ask.now))
		;
	return len;
}

static double applies_a_second(struct fl_api *api, bool change)
{
	uint64_t from = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	static uint32_t number;
	char path[TEXT], body[TEXT];

	for (uint32_t i = 0; i < APPLIES; i++) {
		number += change;
		(void)snprintf(path, sizeof path, CARDS "/card-%u/status", change ? i % 1000 : 0);
		(void)snprintf(body, sizeof body, status_text, change ? i % 1000 : 0, number);
		(void)call(api, "PATCH", APPLY, 200, path, "fieldManager=agent&force=true", body);
	}
	return APPLIES * 1e9 / (double)(clock_of(CLOCK_PROCESS_CPUTIME_ID) - from);
}

static double better(double a, double b)
{
	return a > b ? a : b;
}

static void applies(void)
{
	struct fl_api *api = new_api();
	double change = 0, same = 0;
	char body[TEXT];

	(void)call(api, "POST", JSON, 201, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", crd);
	for (uint32_t i = 0; i < 1000; i++) {
		(void)card_body(body, i);
		(void)call(api, "POST", JSON, 201, CARDS, "", body);
	}
	for (int round = 0; round < ROUNDS; round++) {
		change = better(change, applies_a_second(api, true));
		same = better(same, applies_a_second(api, false));
	}
	row("local_applies_that_change", change, "/s", ">=", 100000);
	row("local_applies_that_change_nothing", same, "/s", ">=", 100000);
	fl_api_free(api);
}

static void memory(void)
{
	struct fl_api *api = new_api();
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, after, json = 0;
	char body[TEXT];

	for (uint32_t i = 0; i < PODS; i++) {
		(void)snprintf(body, sizeof body, pod_text, i, i / 10);
		json += call(api, "POST", JSON, 201, "/api/v1/namespaces/default/pods", "", body);
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	(void)fprintf(stderr, "bench_local: a Pod is %zu bytes of JSON\n", json / PODS);
	row("local_memory_of_50000_pods", (double)(after - before) / (double)json, "x their JSON", "<=", 1.2);
	fl_api_free(api);
}

int main(int argc, char **argv)
{
	struct served served = { 0 };
	struct load load = { 0 };

	(void)argc;
	starts(argv[0]);
	spawn(argv[0], &served);
	connect_to(&load, served.url);
	rates(&load, &served);
	watches(&load);
	disconnect(&load);
	end(&served);
	applies();
	memory();
	return 0;
}
