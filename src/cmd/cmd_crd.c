/* What the tables print: CRDs to install, and pages to read. */
#include "api/kinds.h"
#include "cmd/program.h"
#include "json/yaml.h"

struct crd {
	struct fl_strs kinds;
};

static const struct fl_option options[] = {
	FL_OPT_STRS(struct crd, kinds, "KIND", "Only these, by kind, plural or short name; all when none is named.",
		.operand = true),
};

static int find_kind(struct fl_str name, const struct fl_kind **ret, struct fl_err *err)
{
	*ret = fl_kind_find(name);
	if (*ret)
		return 0;
	return fl_fail(err, FL_E_NOTFOUND, "no kind '%.*s'; `fairlead docs api` lists those that there are",
		       FL_ARG(name));
}

static bool same_kind(const struct fl_kind *a, const struct fl_kind *b)
{
	return strcmp(a->kind, b->kind) == 0 && strcmp(a->group, b->group) == 0;
}

/* One document, of the kind that begins here and its further versions. */
static int put_crd(const struct fl_kind *const *kind, struct fl_buf *out, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_CRD_MAX);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_jw w = FL_JW(&json);
	uint32_t versions = 1;
	int r;

	while (kind[versions] && same_kind(kind[0], kind[versions]))
		versions++;
	fl_kind_crd(kind, versions, &w);
	r = fl_buf_check(&json, (*kind)->kind, err);
	if (r >= 0)
		r = fl_json_read(NULL, fl_buf_view(&json), 0, &doc, err);
	if (r < 0)
		return r;
	if (out->len)
		fl_buf_str(out, FL_S("---\n"));
	return fl_yaml_put(out, yyjson_doc_get_root(doc), 0, err);
}

static bool is_wanted(const struct crd *config, const struct fl_kind *kind)
{
	for (uint32_t i = 0; i < config->kinds.len; i++)
		if (fl_kind_named(kind, config->kinds.at[i]))
			return true;
	return config->kinds.len == 0 && !kind->theirs;
}

static int crd(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_CRD_MAX);
	const struct crd *config = call->config;
	const struct fl_kind *named = NULL;
	int r;

	for (uint32_t i = 0; i < config->kinds.len; i++) {
		r = find_kind(config->kinds.at[i], &named, err);
		if (r < 0)
			return r;
		if (named->built_in)
			return fl_fail(err, FL_E_NOTFOUND, "%s is Kubernetes' own: it needs no CRD", named->kind);
	}
	for (const struct fl_kind *const *kind = fl_kinds; *kind; kind++) {
		if ((*kind)->built_in || !is_wanted(config, *kind) || (kind > fl_kinds && same_kind(kind[-1], *kind)))
			continue;
		r = put_crd(kind, &out, err);
		if (r < 0)
			return r;
	}
	return fl_print(&out, err);
}

const struct fl_command fl_cmd_crd = {
	"crd", "Print the CustomResourceDefinitions, for kubectl apply.", NULL, FL_COMMAND_OPTIONS(options, struct crd),
	.run = crd,
};

static int docs_api(const struct fl_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_CRD_MAX);
	const struct crd *config = call->config;
	const struct fl_kind *kind = NULL;
	int r;

	for (const struct fl_kind *const *each = fl_kinds; *each && !config->kinds.len; each++) {
		fl_kind_api_version(*each, &out);
		fl_buf_printf(&out, " %s\n", (*each)->kind);
	}
	for (uint32_t i = 0; i < config->kinds.len; i++) {
		r = find_kind(config->kinds.at[i], &kind, err);
		if (r < 0)
			return r;
		fl_kind_page(kind, &out);
	}
	return fl_print(&out, err);
}

static const struct fl_option docs_options[] = {
	FL_OPT_STRS(struct crd, kinds, "KIND", "The page of these; a list of all when none is named.", .operand = true),
};

const struct fl_command fl_cmd_docs_api = {
	"docs api", "Print the page of a kind, as Markdown.", NULL, FL_COMMAND_OPTIONS(docs_options, struct crd),
	.hidden = true,   /* for those who write docs/api */
	.run = docs_api,
};
