/* Keys that wait for news of an object: whatever a feeder tells of it next, even that it is as it was but for what no
 * table names, they are planned again. What a change of facts makes dirty does not need this: it is for facts that are
 * known to be old (a conflict), and for objects that no key can be read from (a child's name that another one
 * bears). */
#include "run/loop_in.h"

struct waiting {
	struct waiting *next;
	struct key *key;
};

struct await {
	struct waiting *first;
	uint64_t refused, until;       /* until then no write is held to the version that hashes to this */
	uint32_t len;
	char text[];                   /* space, NUL, name */
};

static struct fl_str await_key(const void *await_)
{
	const struct await *await = await_;

	return (struct fl_str){ await->text, await->len };
}

void awaits_init(struct fl_feed *feed)
{
	fl_hmap_init(&feed->awaits, await_key, feed->loop->options.seed);
}

static struct await *find_or_new(struct fl_feed *feed, struct fl_str text)
{
	struct await *await = fl_hmap_get(&feed->awaits, text);

	if (await)
		return await;
	await = fl_zalloc(sizeof *await + text.len);
	if (!await)
		return NULL;
	await->len = text.len;
	memcpy(await->text, text.p, text.len);
	if (fl_hmap_put(&feed->awaits, await, NULL) == 0)
		return await;
	fl_free(await);
	return NULL;
}

static void await_free(struct fl_feed *feed, struct await *await)
{
	(void)fl_hmap_del(&feed->awaits, await_key(await));
	fl_free(await);
}

int await_news(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct key *key)
{
	char text[FL_RUN_NAME];
	struct await *await = find_or_new(feed, run_text(text, space, name));
	struct waiting *waiting = await ? await->first : NULL;

	while (waiting && waiting->key != key)
		waiting = waiting->next;
	if (!await || waiting)
		return await ? 0 : -FL_E_NOMEM;
	waiting = fl_alloc(sizeof *waiting);
	if (!waiting) {
		if (!await->first)
			await_free(feed, await);
		return -FL_E_NOMEM;
	}
	*waiting = (struct waiting){ await->first, key };
	await->first = waiting;
	key->awaiting++;
	return 0;
}

static uint64_t hash_of(const struct fl_feed *feed, struct fl_str version)
{
	return fl_siphash13(feed->loop->options.seed, version.p, version.len);
}

int await_refused(struct fl_feed *feed, const struct fl_write *write)
{
	char text[FL_RUN_NAME];
	struct await *await = find_or_new(feed, run_text(text, write->ref.space, write->ref.name));

	if (!await)
		return -FL_E_NOMEM;
	await->refused = hash_of(feed, write->version);
	await->until = fl_now(feed->loop->io) + FL_RUN_CONFLICT;
	return 0;
}

uint64_t await_until(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct fl_str version)
{
	char text[FL_RUN_NAME];
	const struct await *await = feed->awaits.len ? fl_hmap_get(&feed->awaits, run_text(text, space, name)) : NULL;

	return await && await->until > fl_now(feed->loop->io) && await->refused == hash_of(feed, version) ?
		       await->until : 0;
}

void await_told(struct fl_feed *feed, struct fl_str space, struct fl_str name)
{
	char text[FL_RUN_NAME];
	struct await *await;

	if (!feed->awaits.len || (uint64_t)space.len + 1 + name.len > sizeof text)
		return;
	await = fl_hmap_get(&feed->awaits, run_text(text, space, name));
	while (await && await->first) {
		struct waiting *waiting = await->first;
		struct key *key = waiting->key;

		await->first = waiting->next;
		fl_free(waiting);
		key->awaiting--;
		key_again(key);
		key_settle(key);
	}
	if (await)
		await_free(feed, await);
}

/* Of a loop whose keys are gone already. */
void awaits_free(struct fl_feed *feed)
{
	struct await *await;
	uint32_t at = 0;

	while ((await = fl_hmap_next(&feed->awaits, &at))) {
		while (await->first) {
			struct waiting *waiting = await->first;

			await->first = waiting->next;
			fl_free(waiting);
		}
		await_free(feed, await);
		at--;
	}
	fl_hmap_free(&feed->awaits);
}
