/* resource.h - what an API server serves: resources, their versions, and the objects of each.
 *
 * Built-in ones stand in a table (builtin.c); those of CustomResourceDefinitions come and go with these. Texts lie in
 * the resource's arena.
 */
#pragma once
#include "base/arena.h"
#include "base/hmap.h"
#include "local/schema.h"
#include "local/store.h"

/* Versions of one kind, and field paths to select by in one version: no CRD has more than a few. */
#define FL_VERSIONS_MAX 16
#define FL_SELECTABLE_MAX 8    /* the API server's own limit */

struct fl_served {
	struct fl_str name;             /* "v1" */
	struct fl_str deprecated;       /* the warning that each request gets; empty: none */
	bool served, stored, status, scale;
	struct fl_schema *schema;       /* one that keeps everything where none is known */
	struct fl_str selectable[FL_SELECTABLE_MAX];
	struct fl_str replicas, status_replicas, selector;   /* paths of scale: "spec.replicas" */
};

/* How a kind differs from others; of the built-in ones. */
#define FL_TRAIT_GENERATION 1u     /* metadata.generation counts changes outside of metadata and status */
#define FL_TRAIT_BLIND 2u          /* an update needs no resourceVersion */
#define FL_TRAIT_SHOWN 4u          /* deleting it answers with the object, not with a Status */
#define FL_TRAIT_KEEPS_STATUS 8u   /* what a create says of status is kept */
#define FL_TRAIT_MAKES 16u         /* an update of what is not there creates it */
#define FL_TRAIT_LABEL 32u         /* the name is a DNS label */
#define FL_TRAIT_DNS1035 64u       /* ... and begins with a letter */
#define FL_TRAIT_GRACE 128u        /* deletes with a grace period: Pods */

struct fl_builtin {
	const char *group, *version, *kind, *plural, *shorts;
	bool cluster, status;
	unsigned traits;
	const char *fields;             /* to select by, besides metadata.name and .namespace: "spec.nodeName,type" */
	const char *schema;             /* openAPIV3Schema, as far as it is known; NULL: nothing is */
};
extern const struct fl_builtin fl_builtins[];
extern const uint32_t fl_builtin_count;

struct fl_api_watch;
struct fl_api_resource {
	struct fl_str key;              /* "widgets.demo.io"; "pods" */
	struct fl_str group, plural, singular, kind, list_kind;
	struct fl_str *shorts, *categories;
	uint32_t short_count, category_count;
	bool cluster, gone;             /* gone: its CRD is deleted */
	const struct fl_builtin *builtin;   /* NULL: of a CRD */
	unsigned traits;
	struct fl_served versions[FL_VERSIONS_MAX];
	uint32_t version_count;
	struct fl_shelf shelf;
	struct fl_api_watch *watches;
	struct fl_arena arena;
};

struct fl_api_resources {
	struct fl_hmap map;             /* by key */
	FL_VEC(struct fl_api_resource *) list;   /* in the order in which they came */
};

int fl_api_resources_init(struct fl_api_resources *resources, const uint64_t seed[2], struct fl_err *err) FL_MUSTUSE;
void fl_api_resources_free(struct fl_api_resources *resources);

/* NULL: not served. */
struct fl_api_resource *fl_api_resource_find(const struct fl_api_resources *resources, struct fl_str group,
					     struct fl_str plural);
struct fl_api_resource *fl_api_resource_of_kind(const struct fl_api_resources *resources, struct fl_str group,
						struct fl_str kind);
struct fl_served *fl_served_find(struct fl_api_resource *resource, struct fl_str version);   /* NULL: not served */
const struct fl_served *fl_served_stored(const struct fl_api_resource *resource);

/* Its own then; it stays until the end, also when its CRD goes: changes of its objects are still known. */
int fl_api_resource_add(struct fl_api_resources *resources, struct fl_api_resource *resource) FL_MUSTUSE;
void fl_api_resource_free(struct fl_api_resource *resource);   /* NULL-safe */
FL_DEFINE_AUTO(fl_api_resource, struct fl_api_resource *, fl_api_resource_free);

/* From a CustomResourceDefinition that was checked (it is valid JSON of that kind). FL_E_INVALID. */
int fl_api_resource_of_crd(yyjson_val *crd, struct fl_api_resource **ret, struct fl_err *err) FL_MUSTUSE;

/* Take the definitions (versions, names, schemas) of `from` into `resource`, which keeps its objects; `from` is
 * freed. */
void fl_api_resource_redefine(struct fl_api_resource *resource, struct fl_api_resource *from);

bool fl_api_resource_selectable(const struct fl_api_resource *resource, const struct fl_served *served,
				struct fl_str path);
