/* What a role still waits for, in the words of /readyz. */
#include "cmd/role_in.h"

/* "nodes", "gpupools.gpu.deckhouse.io", "configmaps (settings)". */
static void put_plural(struct fl_buf *words, const struct fl_kind *kind, const char *source)
{
	fl_buf_printf(words, "%s%s%s", kind->plural, kind->group[0] ? "." : "", kind->group);
	if (source)
		fl_buf_printf(words, " (%s)", source);
}

static void put_wait(struct fl_buf *words, const struct fl_kind *kind, const char *source, const struct fl_watch *watch)
{
	struct fl_watch_info info = watch ? fl_watch_info(watch) : (struct fl_watch_info){ 0 };

	fl_buf_str(words, FL_S("waits for "));
	put_plural(words, kind, source);
	fl_buf_printf(words, ": %s%s%s", watch ? fl_name(&fl_watch_state_names, (int)info.state) : "not reported yet",
		      info.err ? ": " : "", info.err ? info.err->text : "");
}

static bool known(const struct fl_running *run, const struct fl_kind *kind, struct fl_buf *words)
{
	if (fl_feed_known(fl_loop_feed(run->loop, kind)))
		return true;
	for (uint32_t i = 0; run->role->kinds[i].kind; i++)
		if (run->role->kinds[i].kind == kind && !fl_source_known(run->feeds[i])) {
			put_wait(words, kind, run->role->kinds[i].source,
				 i < run->watches.len ? run->watches.at[i] : NULL);
			return false;
		}
	put_wait(words, kind, NULL, NULL);   /* of the role's own */
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
		if (fl_watch_info(run->watches.at[i]).state != FL_WATCH_ABSENT)
			continue;
		fl_buf_printf(words, "%sthe API server has no ", words->len ? "\n" : "");
		put_plural(words, run->role->kinds[i].kind, run->role->kinds[i].source);
	}
}

static const char *remedy(enum fl_code code)
{
	return code == FL_E_DENIED ? ": check the token and the permissions of this account" : "";
}

/* What was told of the kind may be old, or is not there: what goes on without it goes on. */
static void tell_unread(const struct fl_running *run, struct fl_buf *words)
{
	for (uint32_t i = 0; i < run->watches.len; i++) {
		const struct fl_err *err = fl_watch_info(run->watches.at[i]).err;

		if (!err || err->code != FL_E_DENIED)
			continue;
		fl_buf_printf(words, "%sthe API server refuses to read ", words->len ? "\n" : "");
		put_plural(words, run->role->kinds[i].kind, run->role->kinds[i].source);
		fl_buf_printf(words, "%s: %s", remedy(err->code), err->text);
	}
}

static void tell_refused(const struct fl_running *run, struct fl_buf *words)
{
	struct fl_refused refused = fl_loop_refused(run->loop);

	if (!refused.keys)
		return;
	fl_buf_printf(words, "%sthe API server refuses to write ", words->len ? "\n" : "");
	put_plural(words, refused.kind, NULL);
	fl_buf_printf(words, " for %s (%s; %u in all)%s; see the log", refused.capability,
		      fl_name(&fl_code_names, (int)refused.code), refused.keys, remedy(refused.code));
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
	tell_unread(run, words);
	tell_refused(run, words);
	return true;
}
