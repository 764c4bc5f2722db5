/* bind_kind.h - a kind of the API: its names, its table, and all that is printed from them.
 *
 *     const struct fl_kind fl_gpu_pool_kind = {
 *             .group = "gpu.deckhouse.io", .version = "v1alpha1", .kind = "GPUPool", .plural = "gpupools",
 *             .short_names = "gpup", .categories = "deckhouse,gpu", .root = fl_gpu_pool_bind, .status = true,
 *             .columns = { { "Total" }, { "Backend" }, { "Ready", .condition = "Ready" } },
 *             .help = "GPUs that the Pods of one namespace ask for by one resource name.",
 *     };
 *
 * The root's table begins with FL_OBJECT (api/meta.h). Nothing here is changed at run time.
 */
#pragma once
#include "json/bind_walk.h"

/* All CRDs as YAML, or a page of docs: those of the pools take 60 KiB. */
#define FL_CRD_MAX (4 * FL_MIB)

#define FL_COLUMNS 12   /* that kubectl prints of one object: a terminal shows no more */

struct fl_column {
	const char *name;        /* of a row's .column, of this condition, or "Age" */
	const char *condition;   /* the status of the condition of this type */
	int32_t priority;        /* 1: only with `-o wide` */
};

struct fl_kind {
	const char *group, *version;   /* group "": the core group */
	const char *kind, *plural;
	const char *singular;          /* NULL: the kind in lower case */
	const char *short_names;       /* "gpup,pool" */
	const char *categories;        /* "deckhouse,gpu" */
	bool cluster_scoped;
	bool built_in;                 /* Kubernetes' own: no CRD */
	bool theirs;                   /* a platform brings its CRD: ours is printed by name only */
	const struct fl_bind *(*root)(void);
	bool status;                   /* has the status subresource */
	struct {
		const char *replicas, *status_replicas, *selector;   /* paths: "spec.replicas"; NULL: no scale */
	} scale;
	const char *labels;            /* on the CRD: "module=gpu-control-plane" */
	struct fl_column columns[FL_COLUMNS];   /* the order; what it does not name is not shown */
	bool not_stored, not_served;   /* an older version of a kind; the one that is stored comes first */
	const char *deprecated;        /* the warning that users of this version get */
	const char *help;
};

/* "gpu.deckhouse.io/v1alpha1"; "v1" for the core group. Cut when over size. */
void fl_kind_api_version(const struct fl_kind *kind, struct fl_buf *buf);

/* "/apis/gpu.deckhouse.io/v1alpha1/namespaces/NS/gpupools/NAME/status". Empty parts are left out: an empty space is
 * all namespaces, an empty name the list. The parts are percent-encoded where they must be. */
void fl_kind_path(const struct fl_kind *kind, struct fl_str space, struct fl_str name, const char *subresource,
		  struct fl_buf *buf);

/* Is this what `text` means? The kind, plural, singular, or a short name, in any case; also "gpupools.gpu.deckhouse.io"
 * as kubectl takes it. */
bool fl_kind_named(const struct fl_kind *kind, struct fl_str text);

/* The whole object, with apiVersion and kind in front. */
void fl_kind_encode(const struct fl_kind *kind, const void *object, struct fl_jw *w);

/* ---- printed from the table ---- */

/* The CustomResourceDefinition; `versions` are those of one kind, the stored one first. */
void fl_kind_crd(const struct fl_kind *const *versions, uint32_t count, struct fl_jw *w);

/* The OpenAPI v3 schema alone. */
void fl_kind_schema(const struct fl_kind *kind, struct fl_jw *w);

/* A page for docs/api. */
void fl_kind_page(const struct fl_kind *kind, struct fl_buf *buf);
