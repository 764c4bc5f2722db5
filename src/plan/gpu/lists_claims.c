/* Names that DeviceClasses claim: a device plugin leaves them alone. */
#include "plan/gpu/lists_in.h"

const struct fl_owner fl_gpu_lists_memo_owner = { "fairlead-lists", &fl_memo_kind,
						  (const char *const[]){ "claimed", NULL } };

bool lists_claimed(const struct lists *l, struct fl_str name)
{
	const struct fl_gpu_lists_facts *f = l->facts;

	if (f->classes_known)
		return fl_find(f->classes, f->class_len, spec.resource, name) != NULL;
	return f->claims && fl_str_in(f->claims->claimed.at, f->claims->claimed.len, name);
}

/* For a start at which the API server is away: what a DeviceClass claims is not served then either. */
void lists_remember_claims(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	struct fl_ref ref = { &fl_memo_kind, FL_S(""), FL_S("claims"), FL_S("") };
	struct fl_memo memo = { 0 };

	if (!f->classes_known || !f->memo_known)
		return;
	memo.claimed.at = fl_plan_get(l->plan, f->class_len, sizeof *memo.claimed.at);
	for (uint32_t i = 0; memo.claimed.at && i < f->class_len; i++)
		if (f->classes[i].spec.resource.len)
			memo.claimed.at[memo.claimed.len++] = f->classes[i].spec.resource;
	if (!memo.claimed.len) {
		if (f->claims)
			fl_want_gone(l->plan, ref);
		return;
	}
	FL_SET(FL_IN(&memo, meta), name, ref.name);
	memo.has.claimed = 1;
	fl_want(l->plan, &fl_gpu_lists_memo_owner, ref, &memo);
}
