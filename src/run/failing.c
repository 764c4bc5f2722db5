/* What a server refuses or fails is told: in the log once for each key and reason, with its end; to /readyz while it
 * lasts. Why a key failed last is in explain.c. */
#include "base/log.h"
#include "run/loop_in.h"

/* Does the same write fail again until somebody changes something? */
static bool is_refusal(enum fl_code code)
{
	return code == FL_E_DENIED || code == FL_E_INVALID || code == FL_E_UNSUPPORTED || code == FL_E_TOOBIG ||
	       code == FL_E_EXISTS || code == FL_E_CONFLICT;
}

static void refuse(struct key *key, const struct fl_kind *kind, enum fl_code code)
{
	struct failing *failing = key->failing;

	key->cap->loop->refused -= failing->refused != NULL;
	failing->refused = is_refusal(code) ? kind : NULL;
	failing->code = code;
	key->cap->loop->refused += failing->refused != NULL;
}

static bool is_news(struct failing *failing, const struct fl_err *why)
{
	uint64_t seed[2] = { why->code, 0 }, digest = fl_siphash13(seed, why->text, strlen(why->text));

	for (uint32_t i = 0; i < failing->len; i++)
		if (failing->told[i] == digest)
			return false;
	if (failing->len == FL_LEN(failing->told))
		return false;
	failing->told[failing->len++] = digest;
	return true;
}

/* Without memory it is told when it fails again. */
void failing_tell(struct key *key, const struct fl_kind *kind, const struct fl_err *why)
{
	if (!key->failing)
		key->failing = fl_zalloc(sizeof *key->failing);
	if (!key->failing)
		return;
	refuse(key, kind, why->code);
	if (is_news(key->failing, why))
		fl_log(key->cap->loop->options.log, FL_WARN, "write failed, will retry",
		       FL_KV_TEXT("capability", key->cap->row->name), FL_KV_STR("space", key_space(key)),
		       FL_KV_STR("name", key_name(key)), FL_KV_ERR(why));
}

void failing_over(struct key *key)
{
	if (key->failing)
		fl_log(key->cap->loop->options.log, FL_INFO, "no write fails any more",
		       FL_KV_TEXT("capability", key->cap->row->name), FL_KV_STR("space", key_space(key)),
		       FL_KV_STR("name", key_name(key)));
	failing_drop(key);
}

void failing_drop(struct key *key)
{
	if (key->failing)
		refuse(key, NULL, FL_OK);
	fl_free(key->failing);
	key->failing = NULL;
}

struct fl_refused fl_loop_refused(const struct fl_loop *loop)
{
	struct fl_refused refused = { .keys = loop->refused };

	if (!refused.keys)
		return refused;
	fl_vec_each (cap, &loop->caps) {
		const struct key *key;
		uint32_t at = 0;

		while ((key = fl_hmap_next(&(*cap)->keys, &at)))
			if (key->failing && key->failing->refused) {
				refused.capability = (*cap)->row->name;
				refused.kind = key->failing->refused;
				refused.code = key->failing->code;
				return refused;
			}
	}
	return refused;
}
