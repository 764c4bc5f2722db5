/* What is said on the Node, and its label. */
#include "plan/mig/in.h"
#include <stdarg.h>

static const char *const node_paths[] = { "status.conditions[type=" FL_MIG_CONDITION "]", NULL };
const struct fl_owner fl_mig_node_owner = { "fairlead-mig-node", &fl_own_node_kind, node_paths };
static const char *const label_paths[] = { "metadata.labels[" FL_MIG_STATE_LABEL "]", NULL };
const struct fl_owner fl_mig_label_owner = { "fairlead-mig-state", &fl_own_node_kind, label_paths };

static const char *const state_paths[] = { "done", "reason", "message", NULL };
const struct fl_owner fl_mig_state_owner = { "fairlead-mig", &fl_mig_state_kind, state_paths };

/* Of a GPU of a pool: its GPUDevice tells, and neither the Node nor the label of its other GPUs. */
static void want_state(struct mig *m, enum mig_state is, const char *reason, const struct fl_card *card,
		       struct fl_str text)
{
	struct fl_mig_state state = { 0 };

	FL_SET(&state, done, is == MIG_DONE);
	FL_SET(&state, reason, fl_str(reason));
	FL_SET_TEXT(&state, message, fl_plan_printf(m->plan, "%.*s", FL_ARG(text)));
	fl_want(m->plan, &fl_mig_state_owner,
		(struct fl_ref){ &fl_mig_state_kind, FL_S(""), card->meta.name, FL_S("") }, &state);
}

void mig_end_states(struct mig *m)
{
	for (uint32_t i = 0; i < m->facts->state_len; i++) {
		struct fl_ref ref = { &fl_mig_state_kind, FL_S(""), m->facts->states[i].meta.name, FL_S("") };

		if (!fl_plan_find(m->plan, &fl_mig_state_owner, ref))
			fl_want_gone(m->plan, ref);
	}
}

void mig_say(struct mig *m, enum mig_state state, const char *reason, const struct fl_card *card, const char *fmt, ...)
{
	va_list args;
	char text[FL_PLAN_TEXT / 4] = "";
	struct fl_buf buf = FL_BUF_IN(text);

	va_start(args, fmt);
	fl_buf_vprintf(&buf, fmt, args);
	va_end(args);
	if (m->pooled) {
		want_state(m, state, reason, card, fl_buf_view(&buf));
		return;
	}
	if (!m->reason || state > m->state)
		m->reason = reason;
	m->state = state > m->state ? state : m->state;
	if (state != MIG_DONE)
		m->said = m->said.len ? fl_plan_printf(m->plan, "%.*s; GPU %.*s: %s", FL_ARG(m->said),
						       FL_ARG(card->meta.name), text) :
					fl_plan_printf(m->plan, "GPU %.*s: %s", FL_ARG(card->meta.name), text);
}

/* pending, success, failed: the values of NVIDIA's mig-manager. */
static void want_label(struct mig *m, struct fl_ref ref)
{
	static const char *const values[] = { [MIG_DONE] = "success", [MIG_WORKS] = "pending", [MIG_WAITS] = "pending",
					      [MIG_FAILED] = "failed" };
	struct fl_own_node node = { 0 };
	struct fl_pair *pair = fl_plan_get(m->plan, 1, sizeof *pair);

	if (!pair)
		return;
	*pair = (struct fl_pair){ FL_S(FL_MIG_STATE_LABEL), fl_str(values[m->state]) };
	node.meta.labels.at = pair;
	node.meta.labels.len = 1;
	node.meta.has.labels = node.has.meta = 1;
	fl_want(m->plan, &fl_mig_label_owner, ref, &node);
}

void mig_tell(struct mig *m)
{
	const struct fl_own_node *node = m->facts->node;
	bool done = m->state == MIG_DONE;
	enum fl_emit emit;
	struct fl_ref ref;

	if (!node || m->other)
		return;
	ref = FL_REF(&fl_own_node_kind, node);
	if (!m->by_label && fl_find(node->meta.labels.at, node->meta.labels.len, key, FL_S(FL_MIG_STATE_LABEL)))
		fl_want(m->plan, &fl_mig_label_owner, ref, &(struct fl_own_node){ 0 });
	if (!m->config.len) {
		if (fl_condition_find(&node->status.conditions, FL_S(FL_MIG_CONDITION)))
			fl_want(m->plan, &fl_mig_node_owner, ref, &(struct fl_own_node){ 0 });
		return;
	}
	if (m->by_label)
		want_label(m, ref);
	emit = done ? FL_EMIT_NORMAL : m->state == MIG_WORKS ? FL_EMIT_NOBODY : FL_EMIT_WARNING;
	fl_want_condition(m->plan, &fl_mig_node_owner, ref, emit, FL_MIG_CONDITION,
			  done ? FL_CONDITION_TRUE : FL_CONDITION_FALSE, done ? "Applied" : m->reason, "%.*s%s%.*s",
			  FL_ARG(m->config), m->said.len ? ": " : "", FL_ARG(m->said));
}
