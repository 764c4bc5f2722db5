/* The keys: which are dirty, when each is planned, how long one that fails has to wait. */
#include "base/backoff.h"
#include "base/chain.h"
#include "base/log.h"
#include "run/loop_in.h"
#include <assert.h>

struct fl_str key_space(const struct key *key)
{
	return (struct fl_str){ key->text, key->space_len };
}

struct fl_str key_name(const struct key *key)
{
	return (struct fl_str){ key->text + key->space_len + 1, key->len - key->space_len - 1 };
}

/* ---- lists of keys ---- */

static void append(struct keys *keys, struct key *key)
{
	key->in = keys;
	fl_chain_append(&keys->last, key);
	keys->len++;
}

static void take_out(struct key *key)
{
	assert(key->in);
	fl_chain_take_of(&key->in->last, key);
	key->in->len--;
	key->in = NULL;
}

/* ---- a key's life ---- */

static void key_free(struct key *key)
{
	(void)fl_hmap_del(&key->cap->keys, (struct fl_str){ key->text, key->len });
	fl_timer_stop(key->cap->loop->io, &key->timer);
	said_drop(key);
	failing_drop(key);
	fl_free(key->why);
	fl_free(key->rest);
	fl_free(key);
}

static void key_due(struct fl_timer *timer)
{
	struct key *key = fl_container(timer, struct key, timer);

	if (!key->timer_frees)
		key_enqueue(key);
	else
		key_settle(key);
}

/* To be planned then, or earlier if that is due already. */
static void plan_by(struct key *key, uint64_t at)
{
	if (!fl_timer_is_set(&key->timer) || key->timer_frees || at < key->timer.at)
		fl_timer_set(key->cap->loop->io, &key->timer, at);
	key->timer_frees = false;
}

static struct key *key_find_or_new(struct cap *cap, struct fl_str space, struct fl_str name)
{
	char text[FL_RUN_NAME];
	uint32_t len = space.len + 1 + name.len;
	struct key *key;

	if (space.len)
		memcpy(text, space.p, space.len);
	text[space.len] = '\0';
	if (name.len)
		memcpy(text + space.len + 1, name.p, name.len);
	key = fl_hmap_get(&cap->keys, (struct fl_str){ text, len });
	if (key)
		return key;
	key = fl_zalloc(sizeof *key + len);
	if (!key)
		return NULL;
	key->cap = cap;
	key->timer.fire = key_due;
	key->space_len = space.len;
	key->len = len;
	memcpy(key->text, text, len);
	if (fl_hmap_put(&cap->keys, key, NULL) < 0) {
		fl_free(key);
		return NULL;
	}
	return key;
}

void key_enqueue(struct key *key)
{
	struct cap *cap = key->cap;

	if (key->in || !cap->active)
		return;
	fl_timer_stop(cap->loop->io, &key->timer);
	key->queued_at = fl_now(cap->loop->io);
	append(&cap->queue, key);
	if (cap->adds)
		fl_count(cap->adds, 1);
	run_wake(cap->loop);
}

/* A capability that makes such keys is wrong, and its other keys are not the worse for it. */
static void refuse_key(struct cap *cap, struct fl_str space, struct fl_str name)
{
	fl_log(cap->loop->options.log, FL_ERROR, "key too long, never planned",
	       FL_KV_TEXT("capability", cap->row->name), FL_KV_STR("space", space), FL_KV_STR("name", name),
	       FL_KV_UINT("bytes", (uint64_t)space.len + name.len), FL_KV_INT("most", FL_RUN_NAME - 1));
	if (cap->refused)
		fl_count(cap->refused, 1);
}

void key_again(struct key *key)
{
	if (key->in || !key->cap->active)
		return;
	if (key->not_before > fl_now(key->cap->loop->io))
		plan_by(key, key->not_before);
	else
		key_enqueue(key);
}

int key_dirty(struct cap *cap, struct fl_str space, struct fl_str name)
{
	struct key *key;

	if ((uint64_t)space.len + 1 + name.len > FL_RUN_NAME) {
		refuse_key(cap, space, name);
		return 0;
	}
	key = key_find_or_new(cap, space, name);
	if (!key) {
		run_starve(cap->loop);
		return -FL_E_NOMEM;
	}
	key_again(key);
	return 0;
}

struct key *key_take(struct cap *cap)
{
	struct key *key = cap->queue.first;

	if (!key)
		return NULL;
	take_out(key);
	key->at = 0;
	if (key->rest)
		key->rest->holds = false;
	key->not_before = cap->row->every ? fl_now(cap->loop->io) + cap->row->every : 0;
	return key;
}

/* What it wants of an object has to wait until the write that is on its way there has ended. */
void key_wait(struct key *key, struct slot *slot)
{
	if (!key->in)
		append(&slot->waiters, key);
}

void keys_release(struct keys *waiters)
{
	while (waiters->first) {
		struct key *key = waiters->first;

		take_out(key);
		key_enqueue(key);
		key_settle(key);
	}
}

/* It rests, also where more that it wants of the same object waits for this very write. */
void key_fail(struct key *key, const struct fl_err *why)
{
	struct cap *cap = key->cap;
	uint64_t wait;

	if (key->in)
		take_out(key);
	key->failures++;
	fl_free(key->why);
	key->why = fl_strdup(fl_str(why->text));   /* without it, explain says less */
	if (cap->retries)
		fl_count(cap->retries, 1);
	key->timer_frees = false;
	wait = fl_backoff_after(key->failures, FL_RUN_RETRY_FIRST, FL_RUN_RETRY_LAST);
	fl_timer_set(cap->loop->io, &key->timer,
		     fl_now(cap->loop->io) + fl_spread(wait, run_random(cap->loop)));
}

void key_hurry(struct key *key, uint64_t most)
{
	uint64_t at = fl_now(key->cap->loop->io) + most;

	if (fl_timer_is_set(&key->timer) && key->timer.at > at)
		fl_timer_set(key->cap->loop->io, &key->timer, at);
}

void key_forgive(struct key *key)
{
	key->failures = 0;
	failing_over(key);
	fl_free(key->why);
	key->why = NULL;
	fl_free(key->rest);
	key->rest = NULL;
}

/* ---- what a server refused ---- */

static bool has_failed(const struct rest *rest, uint64_t digest)
{
	for (uint32_t i = 0; i < rest->len; i++)
		if (rest->writes[i] == digest)
			return true;
	return false;
}

/* Without memory for it the key goes on as if nothing were known of the write. */
void key_rest(struct key *key, uint64_t digest)
{
	uint64_t now = fl_now(key->cap->loop->io);
	struct rest *rest = key->rest ? key->rest : fl_zalloc(sizeof *rest);

	if (!rest)
		return;
	key->rest = rest;
	if (now >= rest->until)
		rest->len = 0;   /* all of it was tried again */
	if (!has_failed(rest, digest) && rest->len < FL_RUN_RESTING)
		rest->writes[rest->len++] = digest;
	rest->until = key->timer.at;
	rest->failed_at = now;
}

bool key_rests(struct key *key, uint64_t digest, uint64_t *ret_at)
{
	uint64_t now = fl_now(key->cap->loop->io);
	struct rest *rest = key->rest;

	if (!rest || now >= rest->until)
		return false;
	*ret_at = rest->until;
	if (rest->len < FL_RUN_RESTING && !has_failed(rest, digest) &&
	    rest->failed_at + FL_RUN_RETRY_CHANGED < rest->until)
		*ret_at = rest->failed_at + FL_RUN_RETRY_CHANGED;
	rest->holds |= now < *ret_at;
	return now < *ret_at;
}

void key_settle(struct key *key)
{
	if (key->in)
		return;
	if (key->at)
		plan_by(key, key->at);
	if (fl_timer_is_set(&key->timer) || key->writing || key->awaiting || key->failures ||
	    key->said)
		return;
	if (key->not_before <= fl_now(key->cap->loop->io)) {
		key_free(key);
		return;
	}
	key->timer_frees = true;
	fl_timer_set(key->cap->loop->io, &key->timer, key->not_before);
}

/* ---- all keys ---- */

void keys_drop(struct cap *cap)
{
	struct key *key;
	uint32_t at = 0;

	memset(cap->sweeps, 0, sizeof cap->sweeps);
	cap->begins = false;
	while (key_take(cap))
		;
	while ((key = fl_hmap_next(&cap->keys, &at))) {
		fl_timer_stop(cap->loop->io, &key->timer);
		key->at = 0;
		if (key->writing || key->awaiting || key->in)
			continue;
		key_free(key);
		at--;
	}
}

void keys_free(struct cap *cap)
{
	struct key *key;
	uint32_t at = 0;

	while ((key = fl_hmap_next(&cap->keys, &at))) {
		key_free(key);
		at--;
	}
}
