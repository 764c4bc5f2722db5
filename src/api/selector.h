/* selector.h - match an object's selector: LabelSelector, and required node affinity.
 *
 *     if (fl_label_selector_check(&pool->spec.node_selector, &err) < 0)
 *             fl_want_condition(plan, ..., "SelectorInvalid", "%s", err.text);
 *     else if (fl_label_selector_match(&pool->spec.node_selector, node->meta.labels))
 *             ...
 *
 * Pure, and allocates nothing. A selector that fails the check matches nothing, as in the scheduler. So a plan that
 * only matches is safe, and one that checks can report the reason. Rules that seem odd are Kubernetes' own.
 */
#pragma once
#include "api/meta.h"
#include "json/selector.h"

/* FL_E_INVALID: the text names the first invalid requirement, and why. NULL counts as empty. */
int fl_label_selector_check(const struct fl_label_selector *selector, struct fl_err *err) FL_MUSTUSE;

/* All of matchLabels and matchExpressions must hold. NULL, where an object may have a selector and has none, matches
 * nothing; an empty selector matches everything. */
bool fl_label_selector_match(const struct fl_label_selector *selector, struct fl_map labels);

/* ---- required node affinity: v1.NodeSelector ---- */

#define FL_NODE_REQUIREMENT(X) \
	X(STR, key, "key", .required = true, .help = "Label key, or name of a field.") \
	X(ENUM(fl_selector_op), op, "operator", .required = true, .help = "Relation of the key to the values.") \
	X(STRS, values, "values", .help = "In and NotIn: texts. Gt and Lt: one integer. The others: none.")
FL_STRUCT(fl_node_requirement, FL_NODE_REQUIREMENT);

#define FL_NODE_TERM(X) \
	X(LIST(fl_node_requirement), match_expressions, "matchExpressions", .help = "On the Node's labels.") \
	X(LIST(fl_node_requirement), match_fields, "matchFields", \
	  .help = "On its metadata.name: In or NotIn, with one value.")
FL_STRUCT(fl_node_term, FL_NODE_TERM);

#define FL_NODE_SELECTOR(X) \
	X(LIST(fl_node_term), terms, "nodeSelectorTerms", .required = true, .help = "One of these must hold.")
FL_STRUCT(fl_node_selector, FL_NODE_SELECTOR);

/* FL_E_INVALID: the text names the first invalid requirement of any term. */
int fl_node_selector_check(const struct fl_node_selector *selector, struct fl_err *err) FL_MUSTUSE;

/* One term must hold, with all its requirements. An empty or invalid term holds for no Node, and does not affect other
 * terms. NULL (no affinity is required) matches every Node; no terms match none. */
bool fl_node_selector_match(const struct fl_node_selector *selector, struct fl_str name, struct fl_map labels);
