/* config.h - where the API server is, and who we are there.
 *
 * Looked for in this order, the first that is given wins: --server; --kubeconfig; $KUBECONFIG (a list, merged as
 * kubectl does: of two entries of the same name the first file's counts, whole); ~/.kube/config; the service account of
 * the Pod that we run in. Reading files blocks: this is for the start of a program and for a person's command.
 *
 *     struct fl_kube_where where = { .kubeconfig = options.kubeconfig, .env = environ };
 *     FL_AUTO(fl_kube_config) struct fl_kube_config *config = fl_kube_config_load(fl_io_fs(io), &where, &err);
 *
 * Refused with a message that names file and field, and what to do: a proxy-url, auth-provider (removed from
 * Kubernetes), as-user-extra, exec plugins that need a person, plain http to anything but this machine while
 * credentials would be sent. Certificates, keys, tokens and CAs given as files are named here, not read: client.h reads
 * them again when they change.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "io/fs.h"

struct fl_kube_where {
	const char *kubeconfig;        /* a path: this file alone, and it must be there; NULL: not given */
	const char *context;           /* instead of current-context */
	/* "http://127.0.0.1:8080", also without the scheme: no credentials, loopback only */
	const char *server;
	const char *server_option;     /* as the user gave it, for messages; NULL: --server */
	const char *space;             /* instead of the context's namespace */
	const char *as;                /* impersonate this user */
	const char *const *env;        /* "NAME=value", ends with NULL; NULL: empty. Copied where it is kept */
	const char *account_dir;       /* tests; NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* A text that a kubeconfig gives as such, or as a file that may change. Neither: both .p are NULL. */
struct fl_kube_text {
	struct fl_str text;            /* decoded: PEM, not base64 */
	const char *path;              /* absolute, or relative to where we were started */
};

enum fl_exec_version { FL_EXEC_V1, FL_EXEC_V1BETA1, FL_EXEC_VERSION_COUNT_ };
extern const struct fl_names fl_exec_version_names;   /* as apiVersion spells them */

/* A program that prints credentials. */
struct fl_kube_exec {
	enum fl_exec_version version;
	const char *path;              /* absolute */
	const char *const *argv;
	const char *const *env;        /* ours and the plugin's own; the client appends KUBERNETES_EXEC_INFO */
	bool cluster_info;             /* the plugin wants to know about the cluster */
};

struct fl_kube_config {
	struct fl_str source;          /* for messages: "/home/me/.kube/config, context 'lab'" */
	struct fl_str server;          /* a url: "https://10.0.0.1:6443/prefix", "unix:/path" */
	bool tls;
	/* whom the certificate must name, if it is not the server's host; NULL: that one */
	const char *server_name;
	bool insecure;                 /* insecure-skip-tls-verify */
	struct fl_kube_text ca;        /* neither: nothing is trusted, and https is refused */
	struct fl_kube_text cert, key;
	struct fl_kube_text token;
	const char *user, *password;   /* NULL: none */
	const struct fl_kube_exec *exec;   /* NULL: none */
	struct fl_str as, as_uid;
	const struct fl_str *as_groups;
	uint32_t as_group_count;
	struct fl_str space;           /* the namespace that is meant when none is said; never empty */

	struct fl_arena arena;         /* all of the above lies here */
};

struct fl_kube_config *fl_kube_config_load(const struct fl_fs *fs, const struct fl_kube_where *where,
					   struct fl_err *err) FL_MUSTUSE;
struct fl_kube_config *fl_kube_config_free(struct fl_kube_config *config);   /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_kube_config, struct fl_kube_config *, fl_kube_config_free);

/* ---- what an exec plugin says ---- */

struct fl_exec_credential {
	struct fl_str token, cert, key;    /* .p NULL: not given */
	int64_t expires;                   /* us since 1970; FL_TIME_NONE: never */
};

/* KUBERNETES_EXEC_INFO=... for its environment, appended to `out`. */
void fl_exec_info(const struct fl_kube_config *config, struct fl_str ca, struct fl_buf *out);

/* Read what it printed; texts lie in the arena. FL_E_INVALID, never with the credential itself in the words. */
int fl_exec_credential_read(enum fl_exec_version version, struct fl_str printed, struct fl_arena *arena,
			    struct fl_exec_credential *ret, struct fl_err *err) FL_MUSTUSE;
