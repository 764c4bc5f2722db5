/* discovery.h - what this API server serves.
 *
 *     ask->op = (struct fl_op){ .done = known, .deadline = ..., .err = &err };
 *     fl_discover(kube, ask);                 everything: for a person's command
 *     ask->kind = &fl_gpu_pool_kind;
 *     fl_discover(kube, ask);                 one kind: is it there? One small request
 *
 * Everything is three small requests by aggregated discovery (Kubernetes 1.27 and later; older ones are
 * FL_E_UNSUPPORTED), and groups come one by one through the splitter. A group whose own server is down is told as
 * stale, not as absent.
 */
#pragma once
#include "base/vec.h"
#include "kube/client.h"

enum fl_kube_can {
	FL_CAN_GET = 1, FL_CAN_LIST = 2, FL_CAN_WATCH = 4, FL_CAN_CREATE = 8, FL_CAN_UPDATE = 16, FL_CAN_PATCH = 32,
	FL_CAN_DELETE = 64,
};

struct fl_resource {
	struct fl_str group, version, kind, plural;
	bool namespaced;
	bool preferred;            /* of its group's versions the one that the server likes best */
	bool stale;                /* the server behind it did not answer just now */
	bool status;               /* has the status subresource */
	uint32_t can;              /* enum fl_kube_can */
};

struct fl_discovery {
	struct fl_resource *at;    /* in the server's order: of a group the preferred version first */
	uint32_t len, cap;
	struct fl_str git_version; /* "v1.36.3" */
	uint32_t major, minor;
	struct fl_arena arena;     /* the texts */
};
void fl_discovery_free(struct fl_discovery *discovery);
static inline void fl_discovery_auto_(struct fl_discovery *discovery)
{
	fl_discovery_free(discovery);
}

struct fl_discover {
	struct fl_op op;                   /* result: how many resources were found */
	const struct fl_kind *kind;        /* only this one: result 1, or FL_E_NOTFOUND; NULL: everything */
	struct fl_discovery *into;         /* borrowed; filled in done(). NULL with a kind */

	/* The discovery's own. */
	struct fl_kube *kube;
	struct fl_kube_call call;
	struct fl_err err;
	unsigned step;
	uint32_t next;
	char path[320];
	const char *text;
};
void fl_discover(struct fl_kube *kube, struct fl_discover *ask);

/* ---- pure: reading the answers ---- */

/* One APIGroupDiscovery (an item of /api and /apis), one version.Info. */
int fl_discovery_add_group(struct fl_discovery *into, yyjson_val *group, struct fl_err *err) FL_MUSTUSE;
int fl_discovery_add_version(struct fl_discovery *into, yyjson_val *info, struct fl_err *err) FL_MUSTUSE;
