/* Server-side apply and managedFields, as the API server answers. */
#include "json/time.h"
#include "json/write.h"
#include "json/yaml.h"
#include "local/apply.h"
#include "local/patch.h"
#include "test.h"

enum does { CREATE, PUT, PUT_STATUS, MERGE, MERGE_STATUS, APPLY, APPLY_STATUS, FORCE, FORCE_STATUS };

/* Who sends which body, and then: the object but for what the API server sets, and its managers, or (`own` NULL) the
 * error. All in YAML. An update or patch of an object whose managers have no time leaves them so. */
struct request {
	enum does does;
	const char *by, *body, *want, *own;
};

struct sequence {
	const char *says;
	struct request requests[20];
};

#include "apply_cases.h"
#include "update_cases.h"

static const char thing_schema[] =
	"type: object\n"
	"properties:\n"
	"  spec:\n"
	"    type: object\n"
	"    properties:\n"
	"      a: {type: integer}\n"
	"      b: {type: integer}\n"
	"      s: {type: string}\n"
	"      d: {type: integer, default: 7}\n"
	"      o: {type: object, properties: {x: {type: integer}, 'y': {type: integer},\n"
	"        z: {type: object, properties: {q: {type: integer}}}}}\n"
	"      m: {type: object, additionalProperties: {type: string}}\n"
	"      mm: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}\n"
	"      ao: {type: object, properties: {x: {type: integer}, 'y': {type: integer}},\n"
	"        x-kubernetes-map-type: atomic}\n"
	"      al: {type: array, items: {type: integer}}\n"
	"      set: {type: array, items: {type: string}, x-kubernetes-list-type: set}\n"
	"      iset: {type: array, items: {type: integer}, x-kubernetes-list-type: set}\n"
	"      map: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, p],\n"
	"        items: {type: object, required: [k], properties: {k: {type: string},\n"
	"        p: {type: integer, default: 80}, v: {type: string}, w: {type: string},\n"
	"        o: {type: object, properties: {x: {type: integer}}}}}}\n"
	"      nm: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: ['n'],\n"
	"        items: {type: object, required: ['n'],\n"
	"        properties: {'n': {type: string}, v: {type: string}, w: {type: string}}}}\n"
	"      pres: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"
	"      any: {x-kubernetes-preserve-unknown-fields: true}\n"
	"      ios: {x-kubernetes-int-or-string: true}\n"
	"      nul: {type: string, nullable: true}\n"
	"      nulo: {type: object, properties: {x: {type: integer}}, nullable: true}\n"
	"  data: {type: object, additionalProperties: {type: string}, x-fairlead-present: true}\n"
	"  list: {type: array, x-fairlead-present: true, x-kubernetes-list-type: set, items: {type: string}}\n"
	"  status:\n"
	"    type: object\n"
	"    properties:\n"
	"      a: {type: integer}\n"
	"      conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type],\n"
	"        items: {type: object, required: [type],\n"
	"        properties: {type: {type: string}, status: {type: string}}}}\n";

static int schema_of(const char *yaml, struct fl_schema **ret)
{
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	yyjson_doc *doc = NULL;
	int r = fl_yaml_read(&space, fl_str(yaml), &doc, NULL);

	return r < 0 ? r : fl_schema_compile(doc->root, 0, ret, NULL);
}

/* What begins with a brace would be taken for JSON. */
static int read(struct fl_json_space *space, struct fl_str yaml, yyjson_doc **ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	fl_buf_str(&text, FL_S("--- "));
	fl_buf_str(&text, yaml);
	return text.failed ? -FL_E_NOMEM : fl_yaml_read(space, fl_buf_view(&text), ret, NULL);
}

/* One object, as it is stored: text. */
struct store {
	struct fl_schema *schema;
	struct fl_json_space space;      /* of one request */
	struct fl_arena arena;
	struct fl_buf text;              /* the object; empty: there is none */
	struct fl_buf said;              /* the error, or the managers */
	int64_t now;
	int result;                      /* of fl_apply or fl_managed_update */
};

static void store_auto_(struct store *s)
{
	fl_schema_free(s->schema);
	fl_json_space_free(&s->space);
	fl_arena_free(&s->arena);
	fl_buf_free(&s->text);
	fl_buf_free(&s->said);
}
/* The body with apiVersion, kind and name. */
static yyjson_mut_val *object_of(yyjson_mut_doc *doc, yyjson_mut_val *body)
{
	yyjson_mut_val *metadata = fl_tree_get(body, FL_S("metadata"));

	if (!metadata) {
		metadata = yyjson_mut_obj(doc);
		if (!fl_tree_put(doc, body, FL_S("metadata"), metadata))
			return NULL;
	}
	return fl_tree_put(doc, metadata, FL_S("name"), yyjson_mut_str(doc, "x")) &&
			       fl_tree_put(doc, body, FL_S("apiVersion"), yyjson_mut_str(doc, "probe.test/v1")) &&
			       fl_tree_put(doc, body, FL_S("kind"), yyjson_mut_str(doc, "Thing")) ?
		       body :
		       NULL;
}

static int refused(struct store *s, struct fl_causes *causes)
{
	if (causes->failed)
		return -FL_E_NOMEM;
	if (causes->len == 0)
		return 0;
	fl_buf_str(&s->said, FL_S("invalid: "));
	fl_causes_text(causes, &s->said);
	return s->said.failed ? -FL_E_NOMEM : 1;
}

static int keep(struct store *s, yyjson_mut_val *object)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_jw w = FL_JW(&text);

	fl_jw_mut(&w, object);
	if (text.failed)
		return -FL_E_NOMEM;
	fl_buf_clear(&s->text);
	fl_buf_str(&s->text, fl_buf_view(&text));
	return s->text.failed ? -FL_E_NOMEM : 0;
}

static int do_apply(struct store *s, const struct fl_writer *who, unsigned flags, yyjson_mut_doc *doc,
		    yyjson_mut_val *live, yyjson_mut_val *config)
{
	struct fl_causes conflicts = FL_CAUSES(&s->arena), causes = FL_CAUSES(&s->arena);
	yyjson_mut_val *before;
	struct fl_err err = { 0 };
	int r;

	if (!live) {
		live = object_of(doc, yyjson_mut_obj(doc));
		if (!live)
			return -FL_E_NOMEM;
	}
	before = fl_tree_copy(doc, live);
	if (!before)
		return -FL_E_NOMEM;
	r = s->result = fl_apply(s->schema, who, flags, doc, live, config, &conflicts, &err);
	if (r == -FL_E_NOMEM)
		return r;
	if (r == -FL_E_CONFLICT)
		fl_apply_conflict(&conflicts, &s->said);
	else if (r < 0)
		fl_buf_str(&s->said, fl_str(err.text));
	if (r < 0)
		return s->said.failed ? -FL_E_NOMEM : 1;
	fl_schema_prune(s->schema, live, NULL);
	if (fl_schema_fill(s->schema, doc, live) < 0 || fl_part_reset(who->part, doc, before, live) < 0)
		return -FL_E_NOMEM;
	fl_schema_check(s->schema, live, &causes);
	r = refused(s, &causes);
	if (r)
		return r;
	return fl_schema_default(s->schema, doc, live) < 0 ? -FL_E_NOMEM : keep(s, live);
}

static int do_write(struct store *s, const struct fl_writer *who, yyjson_mut_doc *doc, yyjson_mut_val *before,
		    yyjson_mut_val *after)
{
	struct fl_causes causes = FL_CAUSES(&s->arena);
	struct fl_err err = { 0 };
	int r;

	fl_schema_prune(s->schema, after, NULL);
	if (fl_part_reset(who->part, doc, before, after) < 0 || fl_schema_default(s->schema, doc, after) < 0)
		return -FL_E_NOMEM;
	fl_schema_check(s->schema, after, &causes);
	r = refused(s, &causes);
	if (r)
		return r;
	r = s->result = fl_managed_update(s->schema, who, doc, before, after, &s->arena, &err);
	return r < 0 ? r : keep(s, after);
}

/* 0: done. 1: refused, `said` says why. */
static int request(struct store *s, const struct request *q)
{
	bool status = q->does == PUT_STATUS || q->does == MERGE_STATUS || q->does == APPLY_STATUS ||
		      q->does == FORCE_STATUS;
	struct fl_writer who = { fl_str(q->by), FL_S("probe.test/v1"), status ? FL_PART_STATUS : FL_PART_MAIN, s->now };
	yyjson_doc *body = NULL, *live = NULL;
	yyjson_mut_doc *doc;
	yyjson_mut_val *before = NULL, *after;
	yyjson_alc alc;
	int r;

	fl_json_space_reset(&s->space);
	fl_arena_reset(&s->arena);
	fl_buf_clear(&s->said);
	alc = fl_json_alc(&s->space);
	doc = yyjson_mut_doc_new(&alc);
	r = doc ? read(&s->space, fl_str(q->body), &body) : -FL_E_NOMEM;
	if (r == 0 && s->text.len) {
		r = fl_json_read(&s->space, fl_buf_view(&s->text), 0, &live, NULL);
		before = r == 0 ? fl_tree_of(doc, live->root, NULL) : NULL;
		r = before ? 0 : -FL_E_NOMEM;
	}
	if (r < 0)
		return r;
	if (q->does == MERGE || q->does == MERGE_STATUS) {
		after = before ? fl_tree_copy(doc, before) : yyjson_mut_obj(doc);
		if (!after || fl_tree_merge(doc, &after, body->root, NULL) < 0)
			return -FL_E_NOMEM;
		return do_write(s, &who, doc, before, after);
	}
	after = fl_tree_of(doc, body->root, NULL);
	if (!after || !object_of(doc, after))
		return -FL_E_NOMEM;
	if (q->does < APPLY)
		return do_write(s, &who, doc, before, after);
	return do_apply(s, &who, q->does == FORCE || q->does == FORCE_STATUS ? FL_APPLY_FORCE : 0, doc, before, after);
}

/* ---- what came out ---- */

static void tell_managers(struct store *s, yyjson_val *list, yyjson_mut_doc *doc, yyjson_mut_val *into)
{
	yyjson_val *one;
	size_t i, max;

	yyjson_arr_foreach (list, i, max, one) {
		FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_KIB);
		struct fl_str manager = { 0 }, operation = { 0 }, part = { 0 };
		yyjson_mut_val *key, *val;

		(void)fl_json_str(fl_json_get(one, FL_S("manager")), &manager);
		(void)fl_json_str(fl_json_get(one, FL_S("operation")), &operation);
		(void)fl_json_str(fl_json_get(one, FL_S("subresource")), &part);
		fl_buf_printf(&name, "%.*s %.*s%s%.*s%s", FL_ARG(manager), FL_ARG(operation), part.len ? " " : "",
			      FL_ARG(part), fl_json_get(one, FL_S("time")) ? "" : " timeless");
		key = yyjson_mut_strncpy(doc, name.p ? name.p : "", name.len);
		val = fl_tree_of(doc, fl_json_get(one, FL_S("fieldsV1")), NULL);
		if (name.failed || !key || !val || !yyjson_mut_obj_add(into, key, val))
			s->said.failed = FL_E_NOMEM;
	}
}

/* "m Apply {...}" in each line of `own`. */
static void wanted_managers(struct store *s, struct fl_str own, yyjson_mut_doc *doc, yyjson_mut_val *into)
{
	struct fl_str line;

	while (fl_str_split(&own, '\n', &line)) {
		int64_t brace = fl_str_find(line, '{');
		yyjson_doc *v1 = NULL;
		yyjson_mut_val *key, *val;

		if (brace < 1)
			continue;
		if (read(&s->space, fl_str_sub(line, (uint32_t)brace, line.len), &v1) < 0) {
			s->said.failed = FL_E_NOMEM;
			return;
		}
		key = yyjson_mut_strncpy(doc, line.p, (size_t)brace - 1);
		val = fl_tree_of(doc, v1->root, NULL);
		if (!key || !val || !yyjson_mut_obj_add(into, key, val))
			s->said.failed = FL_E_NOMEM;
	}
}

static const char *const servers[] = { "apiVersion", "kind" };

/* The object and its managers, as a tree to compare. */
static yyjson_mut_val *tell(struct store *s, yyjson_mut_doc *doc)
{
	yyjson_mut_val *managers = yyjson_mut_obj(doc), *object, *metadata;
	yyjson_doc *live = NULL;

	if (!managers || fl_json_read(&s->space, fl_buf_view(&s->text), 0, &live, NULL) < 0)
		return NULL;
	tell_managers(s, fl_json_get(fl_json_get(live->root, FL_S("metadata")), FL_S("managedFields")), doc, managers);
	object = fl_tree_of(doc, live->root, NULL);
	if (!object)
		return NULL;
	for (size_t i = 0; i < FL_LEN(servers); i++)
		fl_tree_remove(object, fl_str(servers[i]));
	metadata = fl_tree_get(object, FL_S("metadata"));
	fl_tree_remove(metadata, FL_S("managedFields"));
	if (!fl_str_eq(fl_tree_str(fl_tree_get(metadata, FL_S("name"))), FL_S("x")))
		return fl_tree_put(doc, object, FL_S("nameless"), yyjson_mut_true(doc)) ? object : NULL;
	fl_tree_remove(metadata, FL_S("name"));
	fl_tree_remove(metadata, FL_S("generation"));
	fl_tree_remove(metadata, FL_S("resourceVersion"));
	if (yyjson_mut_obj_size(metadata) == 0)
		fl_tree_remove(object, FL_S("metadata"));
	return fl_tree_put(doc, object, FL_S("owners"), managers) ? object : NULL;
}

static yyjson_mut_val *wanted(struct store *s, const struct request *q, yyjson_mut_doc *doc)
{
	yyjson_mut_val *managers = yyjson_mut_obj(doc), *object;
	yyjson_doc *want = NULL;

	if (!managers || read(&s->space, fl_str(q->want), &want) < 0)
		return NULL;
	wanted_managers(s, fl_str(q->own), doc, managers);
	object = fl_tree_of(doc, want->root, NULL);
	return object && fl_tree_put(doc, object, FL_S("owners"), managers) ? object : NULL;
}

static int print(struct fl_buf *buf, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(buf);

	fl_jw_mut(&w, val);
	return buf->failed ? -FL_E_NOMEM : 0;
}

static void run(const struct sequence *sequence)
{
	FL_AUTO(store) struct store s = { .text = FL_BUF(FL_MIB), .said = FL_BUF(FL_MIB) };

	OK(schema_of(thing_schema, &s.schema));
	for (const struct request *q = sequence->requests; q->body; q++) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(FL_MIB), want = FL_BUF(FL_MIB);
		yyjson_alc alc;
		yyjson_mut_doc *doc;
		yyjson_mut_val *a, *b;
		int r;

		r = request(&s, q);
		OK(r);
		if (!q->own) {
			CHECK_STR(fl_buf_view(&s.said), q->want);
			continue;
		}
		CHECK_STR(fl_buf_view(&s.said), "");
		alc = fl_json_alc(&s.space);
		GOT(doc = yyjson_mut_doc_new(&alc));
		GOT(a = tell(&s, doc));
		GOT(b = wanted(&s, q, doc));
		OK(s.said.failed ? -FL_E_NOMEM : 0);
		OK(print(&got, a));
		OK(print(&want, b));
		if (!fl_tree_equal(a, b))
			CHECK_STR(fl_buf_view(&got), want.p);
	}
}

TEST(objects_are_applied)
{
	EACH_ROW_ALONE (sequence, apply_cases)
		run(sequence);
}

TEST(objects_are_updated)
{
	EACH_ROW_ALONE (sequence, update_cases)
		run(sequence);
}
