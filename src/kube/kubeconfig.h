/* kubeconfig.h - the file that kubectl reads, as binding tables: every field that means something to a client.
 *
 * What kubectl knows and we do not support has a row too, so that it is refused by name instead of being ignored.
 */
#pragma once
#include "json/bind_walk.h"

#define FL_KC_CLUSTER(X) \
	X(STR, server, "server", .help = "Address of the API server.") \
	X(STR, tls_server_name, "tls-server-name", .help = "Name on its certificate, if it is not the address.") \
	X(BOOL, insecure, "insecure-skip-tls-verify", .help = "Do not look at its certificate.") \
	X(STR, ca, "certificate-authority", .help = "File of the CA that signed it.") \
	X(STR, ca_data, "certificate-authority-data", .help = "The CA itself, base64.") \
	X(STR, proxy_url, "proxy-url", .help = "Refused: connections are made without a proxy.")
FL_STRUCT(fl_kc_cluster, FL_KC_CLUSTER);

#define FL_KC_ENV(X) \
	X(STR, name, "name", .help = "Name of a variable.") \
	X(STR, value, "value", .help = "Its value.")
FL_STRUCT(fl_kc_env, FL_KC_ENV);

#define FL_KC_EXEC(X) \
	X(STR, command, "command", .help = "The program.") \
	X(STRS, args, "args", .help = "Its arguments.") \
	X(LIST(fl_kc_env), env, "env", .help = "Variables besides ours.") \
	X(STR, api_version, "apiVersion", .help = "Version of the ExecCredential.") \
	X(STR, install_hint, "installHint", .help = "What to tell when the program is not there.") \
	X(BOOL, cluster_info, "provideClusterInfo", .help = "Tell it about the cluster.") \
	X(STR, interactive, "interactiveMode", .help = "Never, IfAvailable or Always.")
FL_STRUCT(fl_kc_exec, FL_KC_EXEC);

#define FL_KC_ANY(X) X(STR, name, "name", .help = "Its name.")
FL_STRUCT(fl_kc_any, FL_KC_ANY);

#define FL_KC_USER(X) \
	X(STR, cert, "client-certificate", .help = "File of our certificate.") \
	X(STR, cert_data, "client-certificate-data", .help = "Our certificate, base64.") \
	X(STR, key, "client-key", .help = "File of its key.") \
	X(STR, key_data, "client-key-data", .help = "Its key, base64.") \
	X(STR, token, "token", .help = "Bearer token.") \
	X(STR, token_file, "tokenFile", .help = "File that holds one, and may change.") \
	X(STR, as, "as", .help = "User to impersonate.") \
	X(STR, as_uid, "as-uid", .help = "Their UID.") \
	X(STRS, as_groups, "as-groups", .help = "Their groups.") \
	X(OBJ(fl_kc_any), as_extra, "as-user-extra", .help = "Refused: further facts about them.") \
	X(STR, username, "username", .help = "For basic authentication.") \
	X(STR, password, "password", .help = "For basic authentication.") \
	X(OBJ(fl_kc_any), provider, "auth-provider", .help = "Refused: Kubernetes itself has removed them.") \
	X(OBJ(fl_kc_exec), exec, "exec", .help = "Program that prints credentials.")
FL_STRUCT(fl_kc_user, FL_KC_USER);

#define FL_KC_CONTEXT(X) \
	X(STR, cluster, "cluster", .help = "Name of a cluster.") \
	X(STR, user, "user", .help = "Name of a user.") \
	X(STR, space, "namespace", .help = "Namespace that is meant when none is said.")
FL_STRUCT(fl_kc_context, FL_KC_CONTEXT);

#define FL_KC_NAMED_CLUSTER(X) \
	X(STR, name, "name", .help = "Its name.") \
	X(OBJ(fl_kc_cluster), it, "cluster", .help = "The cluster.")
FL_STRUCT(fl_kc_named_cluster, FL_KC_NAMED_CLUSTER);
#define FL_KC_NAMED_USER(X) \
	X(STR, name, "name", .help = "Its name.") \
	X(OBJ(fl_kc_user), it, "user", .help = "The user.")
FL_STRUCT(fl_kc_named_user, FL_KC_NAMED_USER);
#define FL_KC_NAMED_CONTEXT(X) \
	X(STR, name, "name", .help = "Its name.") \
	X(OBJ(fl_kc_context), it, "context", .help = "The context.")
FL_STRUCT(fl_kc_named_context, FL_KC_NAMED_CONTEXT);

#define FL_KUBECONFIG(X) \
	FL_FAULTS(X) \
	X(STR, api_version, "apiVersion", .help = "v1.") \
	X(STR, kind, "kind", .help = "Config.") \
	X(LIST(fl_kc_named_cluster), clusters, "clusters", .help = "Where.") \
	X(LIST(fl_kc_named_user), users, "users", .help = "Who.") \
	X(LIST(fl_kc_named_context), contexts, "contexts", .help = "Who, where.") \
	X(STR, current_context, "current-context", .help = "The one that is meant when none is said.")
FL_STRUCT(fl_kubeconfig, FL_KUBECONFIG);

/* ---- ExecCredential, what a plugin prints ---- */
#define FL_EXEC_STATUS(X) \
	X(STR, token, "token", .help = "Bearer token.") \
	X(STR, cert, "clientCertificateData", .help = "PEM.") \
	X(STR, key, "clientKeyData", .help = "PEM.") \
	X(TIME, expires, "expirationTimestamp", .help = "When to ask again.")
FL_STRUCT(fl_exec_status, FL_EXEC_STATUS);
#define FL_EXEC_CREDENTIAL(X) \
	FL_FAULTS(X) \
	X(STR, api_version, "apiVersion", .help = "Must be the one that was asked for.") \
	X(STR, kind, "kind", .help = "ExecCredential.") \
	X(OBJ(fl_exec_status), status, "status", .help = "The credentials.")
FL_STRUCT(fl_exec_credential_json, FL_EXEC_CREDENTIAL);
