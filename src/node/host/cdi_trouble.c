/* What cannot be written is said: of each CDI file that could not be, why, and what to do. */
#include "base/log.h"
#include "node/host/cdi.h"
#include "node/host/dir_trouble.h"
#include <errno.h>

static const struct fl_cdi_trouble *find_trouble(struct fl_view *view, struct fl_str name)
{
	return fl_view_get(view, &fl_cdi_trouble_kind, FL_S(""), name);
}

static const char *remedy(const struct fl_err *err)
{
	switch (err->sys) {
	case EROFS: return "mount it so that it can be written";
	case ENOSPC:
	case EDQUOT: return "make room there";
	case EISDIR: return "remove what is there";
	case EACCES:
	case EPERM: return "let the agent write there";
	case ENOENT:
	case ENOTDIR: return "make the directory, or name another one (--cdi-dir)";
	default: break;
	}
	return err->code == FL_E_INVALID ? "name another kind (--cdi-kind)" :
					   "check that disk and the kernel log";
}

/* Nobody has tried for a while: the file is not wanted any more. */
static void stale(struct fl_timer *timer)
{
	struct fl_cdi_dir *cdi = fl_container(timer, struct fl_cdi_dir, stale);
	FL_VIEW(view, cdi->loop);
	const struct fl_cdi_trouble *trouble = fl_view_first(&view, &fl_cdi_trouble_kind);
	struct fl_str name = trouble ? fl_arena_str(view.arena, trouble->meta.name) : FL_S("");

	if (view.failed || !name.p)
		fl_timer_set(cdi->io, timer, fl_now(cdi->io) + FL_RUN_RETRY_FIRST);
	else if (trouble) {
		fl_feed_gone(cdi->trouble, FL_S(""), name);
		fl_timer_set(cdi->io, timer, 0);   /* the next one */
	}
}

/* Once for each change: who tries again and fails as before says nothing new. What finds no memory is said the next
 * time. */
static void begin(struct fl_cdi_dir *cdi, struct fl_write *write, const struct fl_err *err)
{
	struct fl_view view = fl_loop_view(cdi->loop, &write->arena);
	const struct fl_cdi_trouble *old = find_trouble(&view, write->ref.name);
	struct fl_cdi_trouble trouble = { 0 };
	struct fl_str why = fl_arena_printf(&write->arena, "%s: %s", err->text, remedy(err));

	cdi->stale.fire = stale;
	fl_timer_set(cdi->io, &cdi->stale, fl_now(cdi->io) + FL_CDI_TROUBLE_STALE);
	if (view.failed || !why.p || err->code == FL_E_NOMEM || (old && fl_str_eq(old->why, why)))
		return;
	FL_SET(FL_IN(&trouble, meta), name, write->ref.name);
	FL_SET(&trouble, why, why);
	if (fl_feed_put(cdi->trouble, &trouble, NULL) < 0)
		return;
	fl_log(cdi->log, FL_ERROR, "CDI file not written, will retry", FL_KV_ERR(err),
	       FL_KV_TEXT("remedy", remedy(err)));
}

static void end(struct fl_cdi_dir *cdi, struct fl_write *write)
{
	struct fl_view view = fl_loop_view(cdi->loop, &write->arena);

	if (!find_trouble(&view, write->ref.name) && !view.failed)
		return;
	if (write->what == FL_WANT_OBJECT)
		fl_log(cdi->log, FL_INFO, "CDI file written again", FL_KV_STR("name", write->ref.name));
	fl_feed_gone(cdi->trouble, FL_S(""), write->ref.name);
}

void fl_cdi_looked(void *cdi_, const struct fl_err *why)
{
	struct fl_cdi_dir *cdi = cdi_;
	struct fl_err told = { 0 };

	if (why->code == FL_E_NOMEM)
		return;   /* it prints nothing of the directory */
	(void)fl_fail(&told, why->code, "%s: %s", why->text, FL_CDI_DIR_REMEDY);
	fl_dir_trouble(cdi->loop, FL_DIR_CDI, why->code ? told.text : NULL);
}

/* A file that is to go is not wanted: what keeps it there is no trouble of who waits for one. */
void fl_cdi_tried(void *cdi_, struct fl_write *write, const struct fl_err *why)
{
	struct fl_cdi_dir *cdi = cdi_;

	if (!cdi->io)
		return;
	if (why && write->what == FL_WANT_OBJECT)
		begin(cdi, write, why);
	else
		end(cdi, write);
}
