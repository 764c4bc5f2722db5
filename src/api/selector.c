#include "api/selector.h"

FL_BIND(fl_node_requirement, FL_NODE_REQUIREMENT)
FL_BIND(fl_node_term, FL_NODE_TERM)
FL_BIND(fl_node_selector, FL_NODE_SELECTOR, .atomic = true)

_Static_assert(FL_TERM_IN == (int)FL_SELECTOR_IN && FL_TERM_NOT_IN == (int)FL_SELECTOR_NOT_IN &&
		       FL_TERM_EXISTS == (int)FL_SELECTOR_EXISTS &&
		       FL_TERM_DOES_NOT_EXIST == (int)FL_SELECTOR_NOT_EXISTS,
	       "a LabelSelector has the first of the operators");

/* An operator that could not be bound is absent, and its zero is not In. */
static int no_operator(struct fl_str key, struct fl_err *err)
{
	return fl_fail(err, FL_E_INVALID, "selector for '%.*s': its operator is missing or unknown", FL_ARG(key));
}

/* ---- LabelSelector ---- */

static struct fl_requirement of_label(struct fl_pair *label)
{
	return (struct fl_requirement){ label->key, FL_SELECTOR_IN, { &label->value, 1 } };
}

static struct fl_requirement of_term(const struct fl_selector_term *term)
{
	return (struct fl_requirement){ term->key, (enum fl_selector_op)term->op, term->values };
}

int fl_label_selector_check(const struct fl_label_selector *selector, struct fl_err *err)
{
	int r = 0;

	for (uint32_t i = 0; selector && r == 0 && i < selector->match_labels.len; i++) {
		struct fl_requirement label = of_label(&selector->match_labels.at[i]);

		r = fl_requirement_check(&label, err);
	}
	for (uint32_t i = 0; selector && r == 0 && i < selector->match_expressions.len; i++) {
		const struct fl_selector_term *at = &selector->match_expressions.at[i];
		struct fl_requirement term = of_term(at);

		r = at->has.op ? fl_requirement_check(&term, err) : no_operator(at->key, err);
	}
	return r;
}

bool fl_label_selector_match(const struct fl_label_selector *selector, struct fl_map labels)
{
	for (uint32_t i = 0; selector && i < selector->match_labels.len; i++) {
		struct fl_requirement label = of_label(&selector->match_labels.at[i]);

		if (!fl_requirement_holds(&label, labels))
			return false;
	}
	for (uint32_t i = 0; selector && i < selector->match_expressions.len; i++) {
		struct fl_requirement term = of_term(&selector->match_expressions.at[i]);

		if (!selector->match_expressions.at[i].has.op || !fl_requirement_holds(&term, labels))
			return false;
	}
	return selector != NULL;
}

/* ---- node affinity ---- */

static int check_expression(const struct fl_node_requirement *at, struct fl_err *err)
{
	struct fl_requirement requirement = { at->key, at->op, at->values };

	return at->has.op ? fl_requirement_check(&requirement, err) : no_operator(at->key, err);
}

/* Any key will do: that of a field which a Node does not have stands for the empty text. */
static int check_field(const struct fl_node_requirement *at, struct fl_err *err)
{
	if (!at->has.op)
		return no_operator(at->key, err);
	if ((at->op != FL_SELECTOR_IN && at->op != FL_SELECTOR_NOT_IN) || at->values.len != 1)
		return fl_fail(err, FL_E_INVALID, "selector for field '%.*s': write In or NotIn with one value",
			       FL_ARG(at->key));
	return 0;
}

static int check_node_term(const struct fl_node_term *term, struct fl_err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < term->match_expressions.len; i++)
		r = check_expression(&term->match_expressions.at[i], err);
	for (uint32_t i = 0; r == 0 && i < term->match_fields.len; i++)
		r = check_field(&term->match_fields.at[i], err);
	return r;
}

int fl_node_selector_check(const struct fl_node_selector *selector, struct fl_err *err)
{
	int r = 0;

	for (uint32_t i = 0; selector && r == 0 && i < selector->terms.len; i++)
		r = check_node_term(&selector->terms.at[i], err);
	return r;
}

static bool field_holds(const struct fl_node_requirement *at, struct fl_str name)
{
	struct fl_str value = fl_str_eq(at->key, FL_S("metadata.name")) ? name : FL_S("");

	return fl_str_eq(at->values.at[0], value) == (at->op == FL_SELECTOR_IN);
}

static bool term_holds(const struct fl_node_term *term, struct fl_str name, struct fl_map labels)
{
	if (check_node_term(term, NULL) < 0)
		return false;
	for (uint32_t i = 0; i < term->match_expressions.len; i++) {
		const struct fl_node_requirement *at = &term->match_expressions.at[i];
		struct fl_requirement requirement = { at->key, at->op, at->values };

		if (!fl_requirement_holds(&requirement, labels))
			return false;
	}
	for (uint32_t i = 0; i < term->match_fields.len; i++)
		if (!field_holds(&term->match_fields.at[i], name))
			return false;
	return term->match_expressions.len || term->match_fields.len;
}

bool fl_node_selector_match(const struct fl_node_selector *selector, struct fl_str name, struct fl_map labels)
{
	bool holds = !selector;

	for (uint32_t i = 0; selector && !holds && i < selector->terms.len; i++)
		holds = term_holds(&selector->terms.at[i], name, labels);
	return holds;
}
