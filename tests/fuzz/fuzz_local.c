/* A schema, an object and a configuration, with NUL bytes between them: the object is pruned, filled in and checked,
 * the configuration applied to it and written over it. What is done twice changes nothing the second time. */
#include "base/units.h"
#include "fuzz.h"
#include "json/write.h"
#include "local/apply.h"
#include "local/patch.h"
#include <stdlib.h>

struct world {
	struct fl_json_space space;
	struct fl_arena arena;
	struct fl_schema *schema;
	yyjson_mut_doc *doc;
};

static void must(bool so)
{
	if (!so)
		abort();
}

static void print(struct fl_buf *buf, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(buf);

	fl_buf_clear(buf);
	fl_jw_mut(&w, val);
}

static void shape(struct world *world, yyjson_mut_val *object)
{
	FL_AUTO(fl_buf) struct fl_buf once = FL_BUF(16 * FL_MIB), twice = FL_BUF(16 * FL_MIB);
	struct fl_causes unknown = FL_CAUSES(&world->arena), none = FL_CAUSES(&world->arena);

	fl_schema_prune(world->schema, object, &unknown);
	must(fl_schema_default(world->schema, world->doc, object) == 0);
	print(&once, object);
	fl_schema_prune(world->schema, object, &none);
	must(fl_schema_default(world->schema, world->doc, object) == 0);
	print(&twice, object);
	must(fl_str_eq(fl_buf_view(&once), fl_buf_view(&twice)));
}

static void apply(struct world *world, yyjson_mut_val *live, yyjson_mut_val *config, enum fl_part part)
{
	struct fl_writer who = { FL_S("m"), FL_S("v1"), part, 0 };
	struct fl_causes conflicts = FL_CAUSES(&world->arena);
	struct fl_err err = { 0 };
	yyjson_mut_val *copy = fl_tree_copy(world->doc, live);
	int r;

	must(copy != NULL);
	r = fl_apply(world->schema, &who, 0, world->doc, copy, config, &conflicts, &err);
	must(r >= 0 || err.code == FL_E_CONFLICT || err.code == FL_E_INVALID);
	must((r == -FL_E_CONFLICT) == (conflicts.len > 0));
	r = fl_apply(world->schema, &who, FL_APPLY_FORCE, world->doc, live, config, &conflicts, &err);
	if (r < 0)
		return;
	/* An empty list of named items has no owner: it goes with its last item and comes back, as in the API server,
	 * and what then has no owner at all gets one. */
	for (int tries = 0; r > 0 && tries < 4; tries++)
		r = fl_apply(world->schema, &who, 0, world->doc, live, config, &conflicts, &err);
	must(r == 0);
}

static void write(struct world *world, yyjson_mut_val *before, yyjson_mut_val *after, enum fl_part part)
{
	struct fl_writer who = { FL_S("u"), FL_S("v1"), part, 1 };
	yyjson_mut_val *again = NULL;
	struct fl_err err;

	must(fl_part_reset(part, world->doc, before, after) == 0);
	must(fl_managed_update(world->schema, &who, world->doc, before, after, &world->arena, &err) >= 0);
	again = fl_tree_copy(world->doc, after);
	must(again && fl_managed_update(world->schema, &who, world->doc, after, again, &world->arena, &err) == 0);
}

static void run(struct world *world, yyjson_val *object, yyjson_val *config)
{
	struct fl_causes faults = FL_CAUSES(&world->arena);
	yyjson_mut_val *live = fl_tree_of(world->doc, object, &faults);
	yyjson_mut_val *wish = fl_tree_of(world->doc, config, NULL), *copy;
	struct fl_err err;

	must(live && wish);
	copy = fl_tree_copy(world->doc, live);
	must(copy && fl_tree_merge(world->doc, &copy, config, &err) == 0);
	copy = fl_tree_copy(world->doc, live);
	must(copy != NULL);
	must(fl_tree_patch(world->doc, &copy, config, &err) != -FL_E_NOMEM);
	if (!yyjson_mut_is_obj(fl_tree_get(live, FL_S("metadata"))) ||
	    !yyjson_mut_is_obj(fl_tree_get(wish, FL_S("metadata"))))
		return;   /* what the API server refuses before */
	shape(world, live);
	fl_schema_check(world->schema, live, &faults);
	for (enum fl_part part = 0; part < FL_PART_COUNT_; part++) {
		yyjson_mut_val *old = fl_tree_copy(world->doc, live), *new = fl_tree_copy(world->doc, wish);

		must(old && new);
		apply(world, old, wish, part);
		old = fl_tree_copy(world->doc, live);
		must(old != NULL);
		write(world, old, new, part);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = { 0 };
	struct fl_str schema, object, config = { (const char *)data, (uint32_t)size };
	yyjson_doc *docs[3];
	yyjson_alc alc = fl_json_alc(&world.space);
	struct fl_err err;

	if (size && fl_str_split(&config, 0, &schema) && fl_str_split(&config, 0, &object) && config.p &&
	    fl_json_read(&world.space, schema, 0, &docs[0], &err) == 0 &&
	    fl_json_read(&world.space, object, 0, &docs[1], &err) == 0 &&
	    fl_json_read(&world.space, config, 0, &docs[2], &err) == 0 &&
	    fl_schema_compile(docs[0]->root, 0, &world.schema, &err) == 0) {
		world.doc = yyjson_mut_doc_new(&alc);
		must(world.doc != NULL);
		run(&world, docs[1]->root, docs[2]->root);
	}
	fl_schema_free(world.schema);
	fl_arena_free(&world.arena);
	fl_json_space_free(&world.space);
	return 0;
}
