/* What a role still waits for, in the words of /readyz. */
#include "cmd/role_in.h"

static const struct fl_watch *watch_of(const struct fl_running *run, const struct fl_kind *kind)
{
	for (uint32_t i = 0; i < run->watches.len; i++)
		if (run->role->kinds[i].kind == kind)
			return run->watches.at[i];
	return NULL;
}

static bool known(const struct fl_running *run, const struct fl_kind *kind, struct fl_buf *words)
{
	const struct fl_watch *watch = watch_of(run, kind);
	struct fl_watch_info info = watch ? fl_watch_info(watch) : (struct fl_watch_info){ 0 };

	if (fl_feed_known(fl_loop_feed(run->loop, kind)))
		return true;
	fl_buf_printf(words, "waits for %s%s%s: %s%s%s", kind->plural, kind->group[0] ? "." : "", kind->group,
		      watch ? fl_name(&fl_watch_state_names, (int)info.state) : "not reported yet",
		      info.err ? ": " : "", info.err ? info.err->text : "");
	return false;
}

static bool capabilities_know(const struct fl_running *run, struct fl_buf *words)
{
	for (const struct fl_capability *const *row = run->role->capabilities; *row; row++)
		for (const struct fl_watched *watched = (*row)->watches; watched->kind; watched++)
			if (!known(run, watched->kind, words))
				return false;
	return true;
}

static bool webhooks_know(const struct fl_running *run, struct fl_buf *words)
{
	if (!run->webhooks)
		return true;
	for (const struct fl_admission *row = run->role->webhooks; row->path; row++)
		for (const struct fl_kind *const *kind = row->reads; kind && *kind; kind++)
			if (!known(run, *kind, words))
				return false;
	if (run->loaded)
		return true;
	fl_buf_printf(words, "waits for the certificate of the webhooks, %s%s%s", run->flags->webhook_cert,
		      run->tls_why.code ? ": " : "", run->tls_why.text);
	return false;
}

/* A kind that the API server lacks is listed and does not count: other kinds, and the webhooks, are served. */
static void tell_absent(const struct fl_running *run, struct fl_buf *words)
{
	for (uint32_t i = 0; i < run->watches.len; i++) {
		const struct fl_kind *kind = run->role->kinds[i].kind;

		if (fl_watch_info(run->watches.at[i]).state == FL_WATCH_ABSENT)
			fl_buf_printf(words, "%sthe API server has no %s%s%s", words->len ? "\n" : "", kind->plural,
				      kind->group[0] ? "." : "", kind->group);
	}
}

bool role_ready(void *run_, struct fl_buf *words)
{
	const struct fl_running *run = run_;

	if (run->stage != FL_ROLE_RUNS) {
		fl_buf_str(words, FL_S("stopping"));
		return false;
	}
	/* The role first: it names what a person can mend, and the kinds that wait for that are its own. */
	if (run->role->ready && !run->role->ready(run, words))
		return false;
	if (!capabilities_know(run, words) || !webhooks_know(run, words))
		return false;
	tell_absent(run, words);
	return true;
}
