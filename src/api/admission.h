/* admission.h - webhooks on the wire: who is to be asked (admissionregistration.k8s.io/v1), question and answer
 * (admission.k8s.io/v1). Both ends use them: src/serve answers, src/local asks. */
#pragma once
#include "api/meta.h"

/* ---- configurations ---- */

#define FL_HOOK_RULE(X) \
	X(STRS, groups, "apiGroups", .help = "Groups; * for all.") \
	X(STRS, versions, "apiVersions", .help = "Versions; * for all.") \
	X(STRS, operations, "operations", .help = "CREATE, UPDATE, DELETE, CONNECT; * for all.") \
	X(STRS, resources, "resources", .help = "pods, pods/status, pods/*, */status, *, */*.") \
	X(STR, scope, "scope", .help = "Cluster, Namespaced; * for both.")
FL_STRUCT(fl_hook_rule, FL_HOOK_RULE);

#define FL_HOOK_SERVICE(X) \
	X(STR, space, "namespace", .help = "Namespace of the Service.") \
	X(STR, name, "name", .help = "Its name.") \
	X(STR, path, "path", .help = "Path of the webhook there.") \
	X(I32, port, "port", DEFAULT(443), .help = "Its port.")
FL_STRUCT(fl_hook_service, FL_HOOK_SERVICE);

#define FL_HOOK_CLIENT(X) \
	X(STR, url, "url", .help = "Where it is; or a service.") \
	X(STR, ca_bundle, "caBundle", .help = "Who signs its certificate: PEM, in base64.") \
	X(OBJ(fl_hook_service), service, "service", .help = "Where it is, in the cluster.")
FL_STRUCT(fl_hook_client, FL_HOOK_CLIENT);

#define FL_WEBHOOK(X) \
	X(STR, name, "name", .help = "A domain name.") \
	X(OBJ(fl_hook_client), client, "clientConfig", .help = "Where it is.") \
	X(LIST(fl_hook_rule), rules, "rules", .help = "What it is asked about.") \
	X(STR, failure, "failurePolicy", .help = "Fail or Ignore, when it cannot be asked.") \
	X(STR, match, "matchPolicy", .help = "Exact or Equivalent: other versions too.") \
	X(OBJ(fl_label_selector), spaces, "namespaceSelector", .help = "By the namespace's labels.") \
	X(OBJ(fl_label_selector), objects, "objectSelector", .help = "By the object's labels.") \
	X(I32, timeout, "timeoutSeconds", DEFAULT(10), .help = "For its answer.") \
	X(STR, again, "reinvocationPolicy", .help = "Never or IfNeeded, when a later one changes something.")
FL_STRUCT(fl_webhook, FL_WEBHOOK);

#define FL_WEBHOOK_CONFIG(X) \
	X(LIST(fl_webhook), hooks, "webhooks", .list_key = "name", .help = "In the order of asking.")
FL_STRUCT(fl_webhook_config, FL_WEBHOOK_CONFIG);

/* ---- the review ---- */

#define FL_ADMISSION_VERSION "admission.k8s.io/v1"
#define FL_ADMISSION_KIND "AdmissionReview"

enum fl_operation { FL_OP_CREATE, FL_OP_UPDATE, FL_OP_DELETE, FL_OP_CONNECT, FL_OPERATION_COUNT_ };
extern const struct fl_names fl_operation_names;   /* CREATE ..., as the API spells them */

/* ---- the wire ---- */

#define FL_REVIEW_RESOURCE(X) \
	X(STR, group, "group", .help = "Group, empty for the core group.") \
	X(STR, version, "version", .help = "Version that the webhook has registered for.") \
	X(STR, resource, "resource", .help = "In the plural.")
FL_STRUCT(fl_review_resource, FL_REVIEW_RESOURCE);

#define FL_REVIEW_USER(X) \
	X(STR, username, "username", .help = "Who asks.") \
	X(STRS, groups, "groups", .help = "The groups of who asks.")
FL_STRUCT(fl_review_user, FL_REVIEW_USER);

/* Without object and oldObject: those are bound by the table of their kind. */
#define FL_REVIEW_REQUEST(X) \
	X(STR, uid, "uid", .required = true, .help = "Of this question; goes back in the answer.") \
	X(OBJ(fl_review_resource), resource, "resource", .required = true, .help = "What is written.") \
	X(STR, sub_resource, "subResource", .help = "status, scale; absent: the object itself.") \
	X(STR, name, "name", .help = "Absent while the API server has yet to make one.") \
	X(STR, space, "namespace", .help = "Absent when cluster-scoped.") \
	X(ENUM(fl_operation), operation, "operation", .required = true, .help = "What is done.") \
	X(OBJ(fl_review_user), user, "userInfo", .help = "Who asks.") \
	X(BOOL, dry_run, "dryRun", .help = "Nothing will be kept.")
FL_STRUCT(fl_review_request, FL_REVIEW_REQUEST);

#define FL_REVIEW_RESPONSE(X) \
	X(STR, uid, "uid", .required = true, .help = "Of the question.") \
	X(BOOL, allowed, "allowed", .required = true, .help = "May it be?") \
	X(OBJ(fl_status), status, "status", .help = "Why not.") \
	X(STR, patch_type, "patchType", .help = "JSONPatch, where there is a patch.") \
	X(STR, patch, "patch", .help = "In base64.") \
	X(STRS, warnings, "warnings", .help = "Shown to who asked.")
FL_STRUCT(fl_review_response, FL_REVIEW_RESPONSE);

#define FL_REVIEW_DOC(X) \
	X(STR, api_version, "apiVersion", .required = true, .help = "admission.k8s.io/v1.") \
	X(STR, kind, "kind", .required = true, .help = "AdmissionReview.") \
	X(OBJ(fl_review_request), request, "request", .help = "The question.") \
	X(OBJ(fl_review_response), response, "response", .help = "The answer.")
FL_STRUCT(fl_review_doc, FL_REVIEW_DOC);
