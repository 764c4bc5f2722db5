/* core.h - the kinds of Kubernetes itself that the project reads or writes, with only the fields that it uses.
 *
 * These objects are parts of the real ones: never PUT them. The rows decide what a cache keeps of a Pod. Each row costs
 * bytes in every cached Pod, so add one only with the plan that reads it.
 */
#pragma once
#include "api/meta.h"

/* ---- Pod ---- */
extern const struct fl_names fl_pod_labels, fl_pod_resources, fl_pod_conditions;   /* what a cache keeps of them */

#define FL_POD_META(X) \
	FL_META_NAMES(X) \
	X(MAP, labels, "labels", .keep = &fl_pod_labels, .interned = true, \
	  .help = "Pool and scope, and the labels of our own workloads.")
FL_STRUCT(fl_pod_meta, FL_POD_META);

#define FL_POD_RESOURCES(X) \
	X(MAP_OF(QUANTITY), limits, "limits", .keep = &fl_pod_resources, .interned = true, .help = "Upper limits.") \
	X(MAP_OF(QUANTITY), requests, "requests", .keep = &fl_pod_resources, .interned = true, \
	  .help = "Amounts requested; absent: the limits.")
FL_STRUCT(fl_pod_resources_of, FL_POD_RESOURCES);

#define FL_POD_CONTAINER(X) \
	X(STR, restart_policy, "restartPolicy", .interned = true, .help = "Always: an init container that stays up.") \
	X(OBJ(fl_pod_resources_of), resources, "resources", .help = "Its resource requests and limits.")
FL_STRUCT(fl_pod_container, FL_POD_CONTAINER);

#define FL_POD_SPEC(X) \
	X(STR, node_name, "nodeName", .interned = true, .help = "Node that it runs on; absent: not scheduled yet.") \
	X(LIST(fl_pod_container), init_containers, "initContainers", .help = "Run before the others, one by one.") \
	X(LIST(fl_pod_container), containers, "containers", .help = "Run together.")
FL_STRUCT(fl_pod_spec, FL_POD_SPEC);

enum fl_pod_phase { FL_POD_PENDING, FL_POD_RUNNING, FL_POD_SUCCEEDED, FL_POD_FAILED, FL_POD_UNKNOWN,
		    FL_POD_PHASE_COUNT_ };
extern const struct fl_names fl_pod_phase_names;

/* A condition of Kubernetes' own kinds: only its type and status. */
#define FL_CORE_CONDITION(X) \
	X(STR, type, "type", .required = true, .interned = true, .help = "Type of the condition.") \
	X(ENUM(fl_condition_status), status, "status", .required = true, .help = "True, False or Unknown.")
FL_STRUCT(fl_core_condition, FL_CORE_CONDITION);

#define FL_POD_STATUS(X) \
	X(ENUM(fl_pod_phase), phase, "phase", .help = "Phase of its life.") \
	X(LIST(fl_core_condition), conditions, "conditions", .list_key = "type", .keep = &fl_pod_conditions, \
	  .help = "Is it ready?")
FL_STRUCT(fl_pod_status, FL_POD_STATUS);

#define FL_POD(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_pod_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_pod_spec), spec, "spec", .help = "Desired state.") \
	X(OBJ(fl_pod_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_pod, FL_POD);
extern const struct fl_kind fl_pod_kind;

/* ---- Node ---- */
extern const struct fl_names fl_node_conditions;

#define FL_NODE_META(X) \
	FL_META_NAMES(X) \
	X(MAP, labels, "labels", .help = "All: pools select nodes by any of them.")
FL_STRUCT(fl_node_meta, FL_NODE_META);

#define FL_TAINT(X) \
	X(STR, key, "key", .required = true, .help = "Key of the taint.") \
	X(STR, value, "value", .help = "Its value.") \
	X(STR, effect, "effect", .required = true, .interned = true, \
	  .help = "NoSchedule, PreferNoSchedule, NoExecute.") \
	X(TIME, time_added, "timeAdded", .help = "When a NoExecute taint was added.")
FL_STRUCT(fl_taint, FL_TAINT);

#define FL_NODE_SPEC(X) \
	X(BOOL, unschedulable, "unschedulable", .help = "Cordoned.") \
	X(LIST(fl_taint), taints, "taints", .help = "Shared with other writers, one value: changed by JSON patch only.")
FL_STRUCT(fl_node_spec, FL_NODE_SPEC);

#define FL_NODE_STATUS(X) \
	X(MAP_OF(QUANTITY), capacity, "capacity", .keep = &fl_pod_resources, .help = "The kubelet's total.") \
	X(MAP_OF(QUANTITY), allocatable, "allocatable", .keep = &fl_pod_resources, .help = "Available to Pods.") \
	X(LIST(fl_core_condition), conditions, "conditions", .list_key = "type", .keep = &fl_node_conditions, \
	  .help = "Is it ready, is it short of something?")
FL_STRUCT(fl_node_status, FL_NODE_STATUS);

#define FL_NODE(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_node_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_node_spec), spec, "spec", .help = "Desired state.") \
	X(OBJ(fl_node_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_node, FL_NODE);
extern const struct fl_kind fl_node_kind;

/* ---- Namespace, ConfigMap ---- */
#define FL_NAMESPACE(X) FL_OBJECT(X)
FL_STRUCT(fl_namespace, FL_NAMESPACE);
extern const struct fl_kind fl_namespace_kind;

#define FL_CONFIG_MAP(X) \
	FL_OBJECT(X) \
	X(MAP, data, "data", .help = "Texts by name.")
FL_STRUCT(fl_config_map, FL_CONFIG_MAP);
extern const struct fl_kind fl_config_map_kind;

/* ---- Event, events.k8s.io ---- */
#define FL_OBJECT_REF(X) \
	X(STR, api_version, "apiVersion", .help = "Group and version.") \
	X(STR, kind, "kind", .help = "Kind.") \
	X(STR, space, "namespace", .help = "Namespace.") \
	X(STR, name, "name", .help = "Name.") \
	X(STR, uid, "uid", .help = "UID.") \
	X(STR, resource_version, "resourceVersion", .help = "Resource version of the object.") \
	X(STR, field_path, "fieldPath", .help = "Field of the object.")
FL_STRUCT(fl_object_ref, FL_OBJECT_REF);

#define FL_EVENT_SERIES(X) \
	X(I32, count, "count", .required = true, .help = "Occurrences so far.") \
	X(MICROTIME, last_observed_time, "lastObservedTime", .required = true, .help = "When it last occurred.")
FL_STRUCT(fl_event_series, FL_EVENT_SERIES);

#define FL_EVENT(X) \
	FL_OBJECT(X) \
	X(MICROTIME, event_time, "eventTime", .required = true, .help = "When it first occurred.") \
	X(OBJ(fl_event_series), series, "series", .help = "Repetitions of the Event.") \
	X(STR, reporting_controller, "reportingController", .help = "Name of the reporting controller, qualified.") \
	X(STR, reporting_instance, "reportingInstance", LENGTH(0, 128), .help = "The controller's instance.") \
	X(STR, action, "action", LENGTH(0, 128), .help = "What was done, in one word.") \
	X(STR, reason, "reason", LENGTH(0, 128), .help = "Why, in one word.") \
	X(OBJ(fl_object_ref), regarding, "regarding", .help = "The object that the Event is about.") \
	X(OBJ(fl_object_ref), related, "related", .help = "A further object involved.") \
	X(STR, note, "note", LENGTH(0, 1024), .help = "Text for people.") \
	X(STR, type, "type", .help = "Normal or Warning.")
FL_STRUCT(fl_event, FL_EVENT);
extern const struct fl_kind fl_event_kind;
