#include "demo_capability.h"
#include "run/facts.h"

/* ---- two kinds ---- */

FL_BIND(fl_bell_spec, FL_BELL_SPEC)
FL_BIND(fl_bell, FL_BELL)
const struct fl_kind fl_bell_kind = {
	.group = "demo.fairlead.test", .version = "v1", .kind = "Bell", .plural = "bells", .root = fl_bell_bind,
	.cluster_scoped = true, .help = "A bell: a file that says how often it rings.",
};

FL_BIND(fl_sign_spec, FL_SIGN_SPEC)
FL_BIND(fl_sign, FL_SIGN)
const struct fl_kind fl_sign_kind = {
	.group = "demo.fairlead.test", .version = "v1", .kind = "Sign", .plural = "signs", .root = fl_sign_bind,
	.cluster_scoped = true, .help = "A sign: a file that says how a bell rings.",
};

/* ---- the decision: plan, gather, keys ---- */

static const struct fl_owner sign_owner = {
	.manager = "demo-ring", .kind = &fl_sign_kind, .paths = (const char *const[]){ "spec.text", NULL },
};
static const struct fl_owner *const owners[] = { &sign_owner, NULL };

void ring_plan(const void *facts_, struct fl_plan *plan)
{
	const struct ring_facts *facts = facts_;
	struct fl_ref bell = { &fl_bell_kind, FL_S(""), facts->name, FL_S("") };
	struct fl_ref here = { &fl_sign_kind, FL_S(""), facts->name, FL_S("") };
	struct fl_sign sign = { 0 };

	if (!facts->bell) {
		fl_want_gone(plan, here);
		return;
	}
	if (facts->bell->spec.problem.len) {
		fl_say(plan, bell, "Silent", "%.*s", FL_ARG(facts->bell->spec.problem));
		return;   /* the sign stays as it is: nobody knows better */
	}
	FL_SET(FL_IN(&sign, spec), text, FL_S("ding"));
	for (int32_t i = 1; i < facts->bell->spec.rings; i++)
		sign.spec.text = fl_plan_printf(plan, "%.*s ding", FL_ARG(sign.spec.text));
	fl_want(plan, &sign_owner, here, &sign);
	fl_say(plan, bell, "Rings", "%d times", facts->bell->spec.rings);
}

FL_FACTS_KEYED(ring, ring_facts, RING_FACTS)

const struct fl_capability ring = {
	.name = "ring", .watches = ring_watches, .key = &fl_bell_kind, .owners = owners,
	.facts_size = sizeof(struct ring_facts), .gather = ring_gather, .plan = ring_plan,
};

/* ---- how a file is read, and how one is written ---- */

int bell_parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object, struct fl_err *err)
{
	struct fl_bell *bell = object;
	int64_t rings;

	(void)arg;
	(void)arena;
	if (file->why) {
		FL_SET(FL_IN(bell, spec), problem, fl_str(file->why->text));
		return 1;
	}
	if (!fl_str_i64(fl_str_trim(file->content), &rings) || rings < 1 || rings > 9)
		return fl_fail(err, FL_E_INVALID, "%.*s: a number from 1 to 9 is wanted", FL_ARG(file->name));
	FL_SET(FL_IN(bell, spec), rings, (int32_t)rings);
	return 1;
}

int sign_parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object, struct fl_err *err)
{
	struct fl_sign *sign = object;

	(void)arg;
	(void)arena;
	(void)err;
	FL_SET(FL_IN(sign, spec), text, file->content);   /* empty if it cannot be read: it is written anew */
	return 1;
}

int sign_print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	(void)arg;
	(void)err;
	fl_buf_str(out, ((const struct fl_sign *)object)->spec.text);
	return 0;
}
