/* src/local: server-side apply of an object of 1 KB that two managers own, as the store would: read, apply, fill in,
 * check, print. */
#include "base/units.h"
#include "json/write.h"
#include "local/apply.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { APPLIES = 100000, ROUNDS = 5 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);   /* one core's time, whoever else is on it */
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, const char *sign, double bar)
{
	bool ok = sign[0] == '<' ? value <= bar : value >= bar;

	printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"%s "
	       "%g\",\"ok\":%s}\n",
	       name, value, unit, sign, bar,
	       ok ? "true" : "false");
}

static void must(int64_t r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_local_apply: %s: %s\n", what, fl_name(&fl_code_names, (int)-r));
	exit(1);
}

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
	"\"properties\":{\"pool\":{\"type\":\"string\"},"
	"\"node\":{\"type\":\"string\"},\"index\":{\"type\":\"integer\"},\"uuid\":{\"type\":\"string\","
	"\"maxLength\":64},"
	"\"labels\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}}},"
	"\"status\":{\"type\":\"object\","
	"\"properties\":{\"state\":{\"type\":\"string\",\"enum\":[\"Ready\",\"Faulted\"]},"
	"\"conditions\":{\"type\":\"array\","
	"\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"type\"],\"items\":{\"type\":\"object\","
	"\"required\":[\"type\"],\"properties\":{\"type\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},"
	"\"reason\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
	"\"lastTransitionTime\":{\"type\":\"string\","
	"\"format\":\"date-time\"}}}}}}}}";

static const char spec_text[] =
	"{\"apiVersion\":\"bench.test/v1\",\"kind\":\"Card\",\"metadata\":{\"name\":\"node-1-gpu-0\",\"labels\":{"
	"\"bench.test/node\":\"node-1\",\"bench.test/index\":\"0\"}},\"spec\":{\"pool\":\"training\","
	"\"node\":\"node-1\","
	"\"index\":0,\"uuid\":\"GPU-5f1c2b7a-9d3e-4c21-8e1b-6a2d3f4e5c6b\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}";

/* The status, with a number that differs from apply to apply. */
static const char status_text[] =
	"{\"apiVersion\":\"bench.test/v1\",\"kind\":\"Card\",\"metadata\":{\"name\":\"node-1-gpu-0\"},\"status\":{"
	"\"state\":\"Ready\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"AllChecksPassed\","
	"\"message\":\"all checks have passed %u times\",\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"},"
	"{\"type\":\"Managed\",\"status\":\"True\",\"reason\":\"Policy\",\"message\":\"\","
	"\"lastTransitionTime\":\"2026-01-31T12:00:00Z\"}]}}";

struct bench {
	struct fl_schema *schema;
	struct fl_json_space space;
	struct fl_arena arena;
	struct fl_buf text, next;
};

/* What fl_apply said. */
static int apply(struct bench *b, const char *manager, enum fl_part part, struct fl_str config, int64_t at)
{
	struct fl_writer who = { fl_str(manager), FL_S("bench.test/v1"), part, at };
	struct fl_causes conflicts = FL_CAUSES(&b->arena), causes = FL_CAUSES(&b->arena);
	yyjson_doc *wish = NULL, *stored = NULL;
	yyjson_mut_val *live, *tree;
	yyjson_mut_doc *doc;
	struct fl_err err;
	yyjson_alc alc;
	struct fl_jw w = FL_JW(&b->next);
	int r;

	fl_json_space_reset(&b->space);
	fl_arena_reset(&b->arena);
	alc = fl_json_alc(&b->space);
	doc = yyjson_mut_doc_new(&alc);
	must(fl_json_read(&b->space, config, 0, &wish, &err), "configuration");
	must(fl_json_read(&b->space, fl_buf_view(&b->text), 0, &stored, &err), "object");
	live = fl_tree_of(doc, stored->root, NULL);
	tree = fl_tree_of(doc, wish->root, NULL);
	r = fl_apply(b->schema, &who, 0, doc, live, tree, &conflicts, &err);
	must(r, "apply");
	if (r == 0)
		return 0;
	fl_schema_prune(b->schema, live, NULL);
	must(fl_schema_fill(b->schema, doc, live), "fill");
	fl_schema_check(b->schema, live, &causes);
	must(causes.len ? -FL_E_INVALID : fl_schema_default(b->schema, doc, live), "check");
	fl_buf_clear(&b->next);
	fl_jw_mut(&w, live);
	fl_buf_clear(&b->text);
	fl_buf_str(&b->text, fl_buf_view(&b->next));
	return r;
}

static double per_second(uint64_t start)
{
	return APPLIES * 1e9 / (double)(now() - start);
}

static double better(double a, double b)
{
	return a > b ? a : b;
}

static double changing(struct bench *b)
{
	char status[sizeof status_text + 16];
	uint64_t start = now();

	for (unsigned i = 0; i < APPLIES; i++) {
		int len = snprintf(status, sizeof status, status_text, i);
		struct fl_str text = { status, (uint32_t)len };

		if (apply(b, "state", FL_PART_STATUS, text, (int64_t)i * 1000000) != 1)
			must(-FL_E_CORRUPT, "an apply that changes");
	}
	return per_second(start);
}

static double changing_nothing(struct bench *b)
{
	uint64_t start = now();

	for (unsigned i = 0; i < APPLIES; i++)
		if (apply(b, "inventory", FL_PART_MAIN, fl_str(spec_text), (int64_t)i * 1000000) != 0)
			must(-FL_E_CORRUPT, "an apply that changes nothing");
	return per_second(start);
}

int main(void)
{
	struct bench b = { .text = FL_BUF(FL_MIB), .next = FL_BUF(FL_MIB) };
	double best_change = 0, best_same = 0;
	yyjson_doc *schema = NULL;
	struct fl_err err;

	must(fl_json_read(NULL, fl_str(schema_text), 0, &schema, &err), "schema");
	must(fl_schema_compile(schema->root, 0, &b.schema, &err), "schema");
	yyjson_doc_free(schema);
	fl_buf_str(&b.text, FL_S("{\"apiVersion\":\"bench.test/v1\",\"kind\":\"Card\","
				 "\"metadata\":{\"name\":\"node-1-gpu-0\"}}"));
	(void)apply(&b, "inventory", FL_PART_MAIN, fl_str(spec_text), 0);
	for (int round = 0; round < ROUNDS; round++) {
		best_change = better(best_change, changing(&b));
		best_same = better(best_same, changing_nothing(&b));
	}
	fprintf(stderr, "bench_local_apply: an object of %zu bytes\n", b.text.len);
	row("local_applies_that_change", best_change, "/s", ">=", 100000);
	row("local_applies_that_change_nothing", best_same, "/s", ">=", 100000);
	fl_schema_free(b.schema);
	fl_json_space_free(&b.space);
	fl_arena_free(&b.arena);
	fl_buf_free(&b.text);
	fl_buf_free(&b.next);
	return 0;
}
