#include "run/loop_in.h"
#include "run/facts.h"

static void take_one(struct fl_view *view, const struct fl_fact *row, struct fl_ref key, const void **ret)
{
	if (row->how == FL_FACT_ONLY)
		*ret = fl_view_first(view, row->kind);
	else if (row->how == FL_FACT_ONE)
		*ret = fl_view_get(view, row->kind, FL_S(""), fl_str(row->name));
	else
		*ret = fl_view_get(view, row->kind, key.space, key.name);
}

static void take_several(struct fl_view *view, const struct fl_fact *row, struct fl_ref key, void **ret,
			 uint32_t *ret_len)
{
	struct fl_each each = row->how == FL_FACT_ALL ? fl_view_all(view, row->kind) :
							fl_view_by(view, row->kind, row->name, key.name);

	*ret_len = fl_each_array(&each, ret);
}

static void take_children(struct fl_view *view, const struct fl_fact *row, struct fl_ref key, void **ret,
			  uint32_t *ret_len)
{
	const void *parent = fl_view_get(view, row->parent, key.space, key.name);
	struct fl_each each;

	if (!parent)
		return;
	each = fl_view_children(view, row->kind, run_meta(run_feed(view->loop, row->parent), parent)->uid);
	*ret_len = fl_each_array(&each, ret);
}

static bool is_of_key(const struct fl_fact *row)
{
	return row->how == FL_FACT_SELF || row->how == FL_FACT_UNDER;
}

/* False: it is needed, and not there. */
static bool take_fact(struct fl_view *view, const struct fl_fact *row, struct fl_ref key, void *facts)
{
	void *member = (char *)facts + row->offset;

	switch (row->how) {
	case FL_FACT_ONE:
	case FL_FACT_ONLY:
	case FL_FACT_SELF:
		take_one(view, row, key, member);
		return !row->need || *(const void **)member;
	case FL_FACT_ALL:
	case FL_FACT_UNDER:
		take_several(view, row, key, member, (void *)((char *)facts + row->len_offset));
		break;
	case FL_FACT_CHILDREN:
		take_children(view, row, key, member, (void *)((char *)facts + row->len_offset));
		break;
	case FL_FACT_TOLD:
	case FL_FACT_KNOWN:
		*(bool *)member = !fl_view_awaited(view, row->kind) &&
				  (row->how == FL_FACT_TOLD || !fl_view_absent(view, row->kind));
		break;
	case FL_FACT_CURRENT:
		*(uint64_t *)member = fl_view_current(view, row->kind);
		break;
	case FL_FACT_NOW:
		*(uint64_t *)member = view->now;
		break;
	case FL_FACT_WALL:
		*(int64_t *)member = view->wall;
		break;
	case FL_FACT_KEY:
		*(struct fl_str *)member = key.name;
		break;
	case FL_FACT_COUNT_:
		break;
	}
	return true;
}

bool fl_gather(struct fl_view *view, struct fl_ref key, const struct fl_fact *rows, uint32_t count, void *facts)
{
	bool keyed = false, any = false;

	for (const struct fl_fact *row = rows; row < rows + count; row++)
		if (is_of_key(row)) {
			(void)take_fact(view, row, key, facts);
			keyed = true;
			any |= *(void **)(void *)((char *)facts + row->offset) != NULL;
		}
	if (keyed && !any)
		return false;
	for (const struct fl_fact *row = rows; row < rows + count; row++)
		if (!is_of_key(row) && !take_fact(view, row, key, facts))
			return false;
	return true;
}
