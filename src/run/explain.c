/* What people see of it: the words of the plans that spoke last, what is wanted and not so, what failed. */
#include "run/loop_in.h"

#define FL_RUN_SAID_MAX (1 * FL_MIB) /* what plans say for explain, all together; beyond, the latest is not kept */

bool fl_feed_known(const struct fl_feed *feed)
{
	return feed->first->state != FEED_UNKNOWN;
}

bool fl_source_known(const struct fl_feed *source)
{
	return source->told_state != FEED_UNKNOWN;
}

/* ---- what plans say is kept with their key ---- */

static char *put_text(char *to, struct fl_str text, struct fl_str *ret)
{
	*ret = (struct fl_str){ to, text.len };
	if (text.len)
		memcpy(to, text.p, text.len);
	return to + text.len;
}

static struct said *said_new(const struct fl_said *from)
{
	size_t size =
		sizeof(struct said) + from->ref.space.len + from->ref.name.len + from->reason.len + from->message.len;
	struct said *said = fl_alloc(size);
	char *at;

	if (!said)
		return NULL;
	at = (char *)(said + 1);
	said->next = NULL;
	said->kind = from->ref.kind;
	said->size = size;
	at = put_text(at, from->ref.space, &said->space);
	at = put_text(at, from->ref.name, &said->name);
	at = put_text(at, from->reason, &said->reason);
	(void)put_text(at, from->message, &said->message);
	return said;
}

void said_drop(struct key *key)
{
	while (key->said) {
		struct said *said = key->said;

		key->said = said->next;
		key->cap->loop->said_bytes -= said->size;
		fl_free(said);
	}
}

/* In place of what it said the last time. Beyond FL_RUN_SAID_MAX nothing more is kept: explain says less, and nothing
 * else depends on it. */
int said_keep(struct key *key, const struct fl_plan *plan)
{
	struct said **last = &key->said;

	said_drop(key);
	for (const struct fl_said *from = plan->said; from; from = from->next) {
		if (key->cap->loop->said_bytes > FL_RUN_SAID_MAX)
			break;
		*last = said_new(from);
		if (!*last)
			return -FL_E_NOMEM;
		key->cap->loop->said_bytes += (*last)->size;
		last = &(*last)->next;
	}
	return 0;
}

/* ---- one object ---- */

struct explaining {
	struct fl_loop *loop;
	const struct fl_kind *kind;
	struct fl_str space, name;
	struct fl_buf *out;
};

static bool about(const struct explaining *e, const struct fl_kind *kind, struct fl_str space, struct fl_str name)
{
	return kind == e->kind && fl_str_eq(space, e->space) && fl_str_eq(name, e->name);
}

static void explain_conditions(const struct explaining *e, const void *object)
{
	const struct fl_field *status = fl_field_find(e->kind->root(), FL_S("status")), *field = NULL;
	struct fl_condition_list list;

	if (status && status->type == FL_T_OBJ)
		field = fl_field_find(status->of(), FL_S("conditions"));
	if (!field || field->of != fl_condition_bind)
		return;
	memcpy(&list, (const char *)object + status->offset + field->offset, sizeof list);
	for (uint32_t i = 0; i < list.len; i++)
		fl_buf_printf(e->out, "condition %.*s %s, %.*s: %.*s\n", FL_ARG(list.at[i].type),
			      fl_name(&fl_condition_status_names, (int)list.at[i].status), FL_ARG(list.at[i].reason),
			      FL_ARG(list.at[i].message));
}

/* The one key of a capability that has no other stands for all that it writes. */
static bool owns(const struct fl_capability *row, const struct fl_kind *kind)
{
	for (const struct fl_owner *const *owner = row->owners; owner && *owner; owner++)
		if ((*owner)->kind == kind)
			return true;
	return false;
}

static void explain_key(const struct explaining *e, const struct key *key)
{
	const char *name = key->cap->row->name;

	for (const struct said *said = key->said; said; said = said->next)
		if (about(e, said->kind, said->space, said->name))
			fl_buf_printf(e->out, "%s: %.*s: %.*s\n", name, FL_ARG(said->reason), FL_ARG(said->message));
	if (!key->failures || !(about(e, key->cap->row->key, key_space(key), key_name(key)) ||
				(key->cap->row->once && owns(key->cap->row, e->kind))))
		return;
	fl_buf_printf(e->out, "%s: failed %u times: %s", name, key->failures, key->why ? key->why : "no memory");
	if (fl_timer_is_set(&key->timer))
		fl_buf_printf(e->out, "; again in %llu s",
			      (unsigned long long)((key->timer.at - fl_now(e->loop->io)) / FL_NS_PER_S));
	fl_buf_char(e->out, '\n');
}

static void explain_cap(const struct explaining *e, const struct cap *cap)
{
	const struct key *key;
	uint32_t at = 0;

	while ((key = fl_hmap_next(&cap->keys, &at)))
		explain_key(e, key);
	for (const struct contest *contest = e->loop->oldest; contest; contest = contest->next) {
		const struct contested *contested = contest_active(contest);

		if (contested && contested->cap == cap &&
		    about(e, contested->kind, (struct fl_str){ contested->text, contested->space_len },
			  (struct fl_str){ contested->text + contested->space_len,
					   contested->len - contested->space_len }))
			fl_buf_printf(e->out, "%s: contested: %s\n", cap->row->name, contested->words);
	}
	if (!cap->active)
		for (const struct fl_watched *watched = cap->row->watches; watched->kind; watched++)
			if (watched->kind == e->kind)
				fl_buf_printf(e->out, "%s: does not plan now: %s\n", cap->row->name,
					      e->loop->leading ? "it waits for a kind that it reads" :
						      "another replica leads");
}

static void explain_writes(const struct explaining *e)
{
	for (const struct slot *slot = e->loop->slots; slot; slot = slot->next)
		if (about(e, slot->write.ref.kind, slot->write.ref.space, slot->write.ref.name))
			fl_buf_printf(e->out, "%s: a write is on its way\n", slot->cap->row->name);
}

/* A UUID leads to the name of what bears it, under which other kinds know it too: an index that is called "uuid". */
static struct fl_str name_of(struct fl_view *view, struct fl_str name)
{
	fl_vec_each (feed, &view->loop->feeds) {
		const struct fl_kind *kind = (*feed)->source.kind;

		for (uint32_t i = 0; i < (*feed)->cache.index_count; i++) {
			struct fl_each each;
			const void *bearer;

			if (strcmp((*feed)->cache.indexes[i].name, "uuid") != 0)
				continue;
			each = fl_view_by(view, kind, "uuid", name);
			bearer = fl_each_next(&each);
			if (bearer)
				return run_meta(*feed, bearer)->name;
		}
	}
	return name;
}

static int not_found(const struct explaining *e, struct fl_view *view, struct fl_err *err)
{
	struct fl_each each = fl_view_all(view, e->kind);
	char text[160];
	struct fl_buf names = FL_BUF_IN(text);
	const void *object;

	while (!names.failed && (object = fl_each_next(&each)))
		fl_buf_printf(&names, "%s%.*s", names.len ? ", " : "",
			      FL_ARG(run_meta(run_feed(view->loop, e->kind), object)->name));
	return fl_fail(err, FL_E_NOTFOUND, "there is no %s %.*s%s%.*s, and no plan mentions it%s%.*s%s",
		       e->kind->kind, FL_ARG(e->space), e->space.len ? "/" : "", FL_ARG(e->name),
		       names.len ? "; there are " : "", FL_ARG(fl_buf_view(&names)), names.failed ? ", ..." : "");
}

int fl_loop_explain(struct fl_loop *loop, const struct fl_kind *kind, struct fl_str space, struct fl_str name,
		    struct fl_buf *out, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = run_view(loop, &arena);
	struct explaining e = { loop, kind, space, name, out };
	size_t began = out->len;
	const void *object;

	if (!run_feed(loop, kind))
		return fl_fail(err, FL_E_NOTFOUND, "%s is not among the kinds of this process", kind->kind);
	object = fl_view_get(&view, kind, space, name);
	if (!object) {
		e.name = name_of(&view, name);
		object = fl_view_get(&view, kind, space, e.name);
	}
	if (view.failed)
		return fl_fail(err, FL_E_NOMEM, "no memory to explain %s", kind->kind);
	if (object)
		explain_conditions(&e, object);
	fl_vec_each (cap, &loop->caps)
		explain_cap(&e, *cap);
	explain_writes(&e);
	if (!object && out->len == began && !out->failed)
		return not_found(&e, &view, err);
	return fl_buf_check(out, "an explanation", err);
}
