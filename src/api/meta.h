/* meta.h - what all kinds share: ObjectMeta, conditions, selectors; and Status, the API server's answer.
 *
 * A kind's root table begins with FL_OBJECT and, if it has a status with conditions, that one has FL_CONDITIONS:
 *
 *     #define FL_GPU_POOL(X) \
 *             FL_OBJECT(X) \
 *             X(OBJ(fl_gpu_pool_spec), spec, "spec", .required = true, .help = "What the pool is made of.")
 */
#pragma once
#include "json/bind_kind.h"

#define FL_OWNER_REF(X) \
	X(STR, api_version, "apiVersion", .required = true, .interned = true, \
	  .help = "Group and version of the owner.") \
	X(STR, kind, "kind", .required = true, .interned = true, .help = "Kind of the owner.") \
	X(STR, name, "name", .required = true, .help = "Name of the owner.") \
	X(STR, uid, "uid", .required = true, .help = "UID of the owner; a same name alone is no match.") \
	X(BOOL, controller, "controller", .help = "Is this the owner that manages the object?") \
	X(BOOL, block_owner_deletion, "blockOwnerDeletion", \
	  .help = "Does foreground deletion of the owner wait for it?")
FL_STRUCT(fl_owner_ref, FL_OWNER_REF);

/* The metadata that every cache keeps. */
#define FL_META_NAMES(X) \
	X(STR, name, "name", .help = "Name, unique in its namespace.") \
	X(STR, space, "namespace", .interned = true, .help = "Namespace; absent when cluster-scoped.") \
	X(STR, uid, "uid", .help = "Unique identifier, never reused.") \
	X(STR, resource_version, "resourceVersion", .help = "Changes with each write.") \
	X(TIME, deletion_timestamp, "deletionTimestamp", .help = "Set: it is deleted once its finalizers are removed.")

#define FL_META(X) \
	FL_META_NAMES(X) \
	X(STR, generate_name, "generateName", .help = "Prefix from which the API server makes a name.") \
	X(I64, generation, "generation", .help = "Counts changes of the spec.") \
	X(TIME, creation_timestamp, "creationTimestamp", .help = "When it was created.") \
	X(MAP, labels, "labels", .help = "Labels, for selectors.") \
	X(MAP, annotations, "annotations", .help = "Further facts for tools.") \
	X(LIST(fl_owner_ref), owner_references, "ownerReferences", .list_key = "uid", \
	  .help = "It is garbage-collected once all of these are deleted.") \
	X(STRS, finalizers, "finalizers", .list_set = true, .help = "Controllers that clean up before it is deleted.")
FL_STRUCT(fl_meta, FL_META);

/* The generation in the metadata of any kind; 0: it has none. */
#define FL_GENERATION(meta) (_Generic((meta), struct fl_meta: &(meta), default: &fl_no_meta)->generation)
extern const struct fl_meta fl_no_meta;

/* The first rows of every root. */
#define FL_OBJECT(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_meta), meta, "metadata", .help = "Standard object metadata.")

/* ---- conditions ---- */
enum fl_condition_status { FL_CONDITION_FALSE, FL_CONDITION_TRUE, FL_CONDITION_UNKNOWN, FL_CONDITION_STATUS_COUNT_ };
extern const struct fl_names fl_condition_status_names;

/* metav1.Condition, with its own bounds. */
#define FL_CONDITION(X) \
	X(STR, type, "type", .required = true, LENGTH(0, 316), .example = "Ready", .interned = true, \
	  .pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?" \
		     "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$", \
	  .help = "Type of the condition, in CamelCase.") \
	X(ENUM(fl_condition_status), status, "status", .required = true, .help = "True, False or Unknown.") \
	X(STR, reason, "reason", .required = true, LENGTH(1, 1024), .example = "AllChecksPassed", .interned = true, \
	  .pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", .help = "Why, in one word for programs.") \
	X(STR, message, "message", .required = true, LENGTH(0, 32768), .help = "Why, and what to do, for people.") \
	X(TIME, last_transition_time, "lastTransitionTime", .required = true, .stamped = true, \
	  .help = "When the status last changed.") \
	X(I64, observed_generation, "observedGeneration", BETWEEN(0, INT64_MAX), \
	  .help = "The generation of the spec that this describes.")
FL_STRUCT(fl_condition, FL_CONDITION);

#define FL_CONDITIONS(X) \
	X(LIST(fl_condition), conditions, "conditions", .list_key = "type", \
	  .help = "Conditions, each written by its owner alone.")

/* The condition of that type, or NULL. */
const struct fl_condition *fl_condition_find(const struct fl_condition_list *conditions, struct fl_str type);

/* The value of a key; .p NULL: there is none. */
struct fl_str fl_map_value(struct fl_map map, struct fl_str key);
bool fl_map_equal(struct fl_map a, struct fl_map b);

/* ---- selectors ---- */
enum fl_term_op { FL_TERM_IN, FL_TERM_NOT_IN, FL_TERM_EXISTS, FL_TERM_DOES_NOT_EXIST,
		      FL_TERM_OP_COUNT_ };
extern const struct fl_names fl_term_op_names;

#define FL_SELECTOR_TERM(X) \
	X(STR, key, "key", .required = true, .help = "Label key.") \
	X(ENUM(fl_term_op), op, "operator", .required = true, .help = "Relation of the key to the values.") \
	X(STRS, values, "values", .help = "For In and NotIn: the values. For the others: none.")
FL_STRUCT(fl_selector_term, FL_SELECTOR_TERM);

/* metav1.LabelSelector: all of it must hold; an empty one selects everything. Matching: api/selector.h. */
#define FL_LABEL_SELECTOR(X) \
	X(MAP, match_labels, "matchLabels", .help = "Labels that must have exactly these values.") \
	X(LIST(fl_selector_term), match_expressions, "matchExpressions", \
	  .help = "Further terms, all of which must hold.")
FL_STRUCT(fl_label_selector, FL_LABEL_SELECTOR);

/* ---- how a delete treats an object's dependents ---- */
enum fl_propagation { FL_PROPAGATION_DEFAULT, FL_BACKGROUND, FL_FOREGROUND, FL_ORPHAN, FL_PROPAGATION_COUNT_ };
extern const struct fl_names fl_propagation_names;

/* ---- Status: the API server's answer without an object ---- */
#define FL_STATUS_CAUSE(X) \
	X(STR, reason, "reason", .help = "Machine-readable.") \
	X(STR, message, "message", .help = "For people.") \
	X(STR, field, "field", .help = "Path of the field that caused it.")
FL_STRUCT(fl_status_cause, FL_STATUS_CAUSE);

#define FL_STATUS_DETAILS(X) \
	X(STR, name, "name", .help = "Name of the object.") \
	X(STR, group, "group", .help = "Its group.") \
	X(STR, kind, "kind", .help = "Its resource.") \
	X(STR, uid, "uid", .help = "Its UID.") \
	X(LIST(fl_status_cause), causes, "causes", .help = "The single errors.") \
	X(I32, retry_after_seconds, "retryAfterSeconds", .help = "Try again after this time.")
FL_STRUCT(fl_status_details, FL_STATUS_DETAILS);

#define FL_STATUS(X) \
	X(STR, status, "status", .help = "Success or Failure.") \
	X(STR, message, "message", .help = "For people.") \
	X(STR, reason, "reason", .help = "In one word for programs: NotFound, Conflict, Expired ...") \
	X(OBJ(fl_status_details), details, "details", .help = "More about it.") \
	X(I32, code, "code", .help = "HTTP status.")
FL_STRUCT(fl_status, FL_STATUS);
