/* Names that DeviceClasses claim: a device plugin leaves them alone. */
#include "plan/gpu/lists_in.h"

const struct fl_owner fl_gpu_lists_memo_owner = { "fairlead-lists", &fl_memo_kind,
						  (const char *const[]){ "claimed", NULL } };

bool lists_claimed(const struct lists *l, struct fl_str name)
{
	const struct fl_memo *memo = l->facts->claims;
	bool known = l->facts->claims_known;
	const struct fl_str *names = known ? l->facts->claimed.at : memo ? memo->claimed.at : NULL;
	uint32_t len = known ? l->facts->claimed.len : memo ? memo->claimed.len : 0;

	for (uint32_t i = 0; i < len; i++)
		if (fl_str_eq(names[i], name))
			return true;
	return false;
}

/* For a start at which the API server is away: what a DeviceClass claims is not served then either. */
void lists_remember_claims(struct lists *l)
{
	const struct fl_gpu_lists_facts *f = l->facts;
	struct fl_ref ref = { &fl_memo_kind, FL_S(""), FL_S("claims"), FL_S("") };
	struct fl_memo memo = { 0 };

	if (!f->claims_known || !f->memo_known)
		return;
	if (!f->claimed.len) {
		if (f->claims)
			fl_want_gone(l->plan, ref);
		return;
	}
	FL_SET(FL_IN(&memo, meta), name, ref.name);
	memo.claimed.at = f->claimed.at;
	memo.claimed.len = f->claimed.len;
	memo.has.claimed = 1;
	fl_want(l->plan, &fl_gpu_lists_memo_owner, ref, &memo);
}
