/* What a parent has: how the loop finds it, and what it does where a name is taken. */
#include "api/children.h"
#include "run/loop_in.h"
#include <assert.h>

const char *run_children_index(const struct fl_feed *feed, const struct fl_children *children)
{
	for (uint32_t i = 0; i < feed->cache.index_count; i++) {
		const struct fl_index *index = &feed->cache.indexes[i];

		if (children->label ? index->label && strcmp(index->label, children->label) == 0 :
				      index->of == fl_by_controller)
			return index->name;
	}
	return NULL;
}

static bool lists_children(const struct fl_capability *row, const struct fl_children *own)
{
	for (const struct fl_children *const *children = row->children; children && *children; children++)
		if (*children == own)
			return true;
	return false;
}

int children_taken(struct key *key, struct fl_plan *plan, struct fl_view *view, struct fl_err *err)
{
	for (struct fl_want *want = plan->first; want; want = want->next) {
		struct fl_str by;

		if (!want->children)
			continue;
		assert(lists_children(key->cap->row, want->children));
		by = fl_view_taken(view, want->children, want->parent.uid, want->ref.space, want->ref.name);
		want->taken = by.p != NULL;
		if (!want->taken)
			continue;
		fl_say(plan, want->parent, "Taken", "%s %.*s is that of %.*s and is left alone: delete or rename it",
		       want->ref.kind->kind, FL_ARG(want->ref.name), FL_ARG(by));
		if (await_news(run_feed(key->cap->loop, want->ref.kind), want->ref.space, want->ref.name, key) < 0)
			return fl_fail(err, FL_E_NOMEM, "no memory to wait for %s", want->ref.kind->kind);
	}
	return 0;
}

void children_note(struct fl_view *view, const struct fl_plan *plan)
{
	for (const struct fl_no_others *none = plan->no_others; none; none = none->next) {
		const struct fl_kind *kind = none->children->owner->kind;

		(void)fl_view_by(view, kind, run_children_index(run_feed(view->loop, kind), none->children),
				 none->parent.uid);
	}
	for (const struct fl_want *want = plan->first; want; want = want->next)
		if (want->children &&
		    fl_cache_get(&run_feed(view->loop, want->ref.kind)->cache, want->ref.space, want->ref.name) &&
		    !fl_view_taken(view, want->children, want->parent.uid, want->ref.space, want->ref.name).p)
			(void)fl_view_get(view, want->ref.kind, want->ref.space, want->ref.name);
}
