/* Which layout is wanted, and what it says of a GPU. */
#include "plan/gpu/lists.h"
#include "plan/mig/in.h"
#include <stdio.h>

static struct fl_str label(const struct fl_own_node *node, const char *key)
{
	const struct fl_str name = fl_str(key);
	const struct fl_pair *pair = node ? fl_find(node->meta.labels.at, node->meta.labels.len, key, name) : NULL;

	return pair ? pair->value : FL_S("");
}

/* ---- names without a file ---- */

/* "1g.10gb.me" stands for 1g.10gb+me, and 1g.10gb.-me or 1g.10gb-me for itself. */
static bool is_dotted(struct fl_str name, struct fl_str profile)
{
	if (name.len != profile.len)
		return false;
	for (uint32_t i = 0; i < name.len; i++)
		if (name.p[i] != (profile.p[i] == '+' ? '.' : profile.p[i]))
			return false;
	return true;
}

static bool is_plain(struct fl_str profile)
{
	return fl_str_ends(profile, FL_S("gb"));
}

static struct mig_wish counts(struct mig *m, uint32_t room)
{
	struct mig_wish wish = { .any = true, .mode = true };

	wish.counts = fl_plan_get(m->plan, room, sizeof *wish.counts);
	return wish;
}

static void add(struct mig_wish *wish, struct fl_str profile, int32_t count)
{
	if (!wish->counts)
		return;
	FL_SET(&wish->counts[wish->len], profile, profile);
	FL_SET(&wish->counts[wish->len], count, count);
	wish->len++;
}

/* Of those with so many slices and no attribute, the one of which a GPU has most. */
static const struct fl_mig_offer *plainest(const struct fl_card *card, int32_t slices)
{
	const struct fl_mig_offer *best = NULL;

	for (uint32_t i = 0; i < card->offers.len; i++) {
		const struct fl_mig_offer *offer = &card->offers.at[i];

		if (offer->slices == slices && is_plain(offer->name) && (!best || offer->count > best->count))
			best = offer;
	}
	return best;
}

/* 2 of one slice, one of two; and on GPUs of seven slices one of three. */
static struct mig_wish balanced(struct mig *m, const struct fl_card *card)
{
	static const int32_t slices[] = { 1, 2, 3 };
	struct mig_wish wish = counts(m, FL_LEN(slices));
	const struct fl_mig_offer *whole = NULL;

	for (uint32_t i = 0; i < card->offers.len; i++)
		if (!whole || card->offers.at[i].slices > whole->slices)
			whole = &card->offers.at[i];
	for (size_t i = 0; whole && i < FL_LEN(slices) - (whole->slices < 7); i++) {
		const struct fl_mig_offer *offer = plainest(card, slices[i]);

		if (offer)
			add(&wish, offer->name, i ? 1 : 2);
	}
	return wish;
}

static struct mig_wish generated(struct mig *m, const struct fl_card *card)
{
	struct fl_str name = fl_str_sub(m->config, 4, m->config.len);
	struct mig_wish wish = { .any = true };

	if (fl_str_eq(name, FL_S("disabled")))
		return wish;
	if (fl_str_eq(name, FL_S("balanced")))
		return balanced(m, card);
	wish = counts(m, 1);
	if (fl_str_eq(name, FL_S("enabled")))
		return wish;
	for (uint32_t i = 0; i < card->offers.len; i++)
		if (is_dotted(name, card->offers.at[i].name)) {
			add(&wish, card->offers.at[i].name, card->offers.at[i].count);
			return wish;
		}
	add(&wish, name, 1);   /* no GPU instance of it has a place, and the text names the profiles that have one */
	return wish;
}

/* ---- names of a file ---- */

/* "0x20B010DE" */
static bool is_device(struct fl_str filter, const struct fl_card *card)
{
	char text[16];
	struct fl_buf want = FL_BUF_IN(text);

	fl_buf_printf(&want, "0x%.*s%.*s", FL_ARG(card->device), FL_ARG(card->vendor));
	if (want.failed || filter.len != fl_buf_view(&want).len)
		return false;
	for (uint32_t i = 2; i < filter.len; i++) {
		char c = filter.p[i];

		if ((c >= 'A' && c <= 'F' ? (char)(c + 32) : c) != text[i])
			return false;
	}
	return true;
}

static bool is_for(const struct fl_mig_entry *entry, const struct fl_card *card, uint32_t index)
{
	bool named = entry->all, filtered = !entry->filters.len;

	for (uint32_t i = 0; i < entry->filters.len; i++)
		filtered |= is_device(entry->filters.at[i], card);
	for (uint32_t i = 0; i < entry->devices.len; i++)
		named |= entry->devices.at[i] == (int32_t)index;
	return named && filtered;
}

static struct mig_wish of_file(struct mig *m, const struct fl_card *card, uint32_t index)
{
	const struct fl_mig_file *file = m->facts->file;
	const struct fl_mig_config *config = fl_find(file->configs.at, file->configs.len, name, m->config);
	const struct fl_mig_entry *entry = NULL;
	struct mig_wish wish = { 0 };

	for (uint32_t i = 0; config && i < config->entries.len; i++)
		if (is_for(&config->entries.at[i], card, index))
			entry = &config->entries.at[i];
	if (!entry)
		return wish;
	if (!card->mig_capable && (entry->all || !entry->enabled))
		return wish;
	wish = (struct mig_wish){ .any = true, .mode = entry->enabled, .counts = entry->counts.at,
				  .len = entry->counts.len };
	if (!card->mig_capable)
		wish.wrong = FL_S("it does not support MIG");
	return wish;
}

/* ---- all of it ---- */

/* The name that the journal has, where nobody says another one. */
static struct fl_str remembered(const struct mig *m)
{
	for (uint32_t i = 0; i < m->facts->layout_len; i++)
		if (m->facts->layouts[i].config.len)
			return m->facts->layouts[i].config;
	return FL_S("");
}

static void check_name(struct mig *m)
{
	const struct fl_mig_file *file = m->facts->file;
	char text[FL_ERR_TEXT] = "";
	struct fl_buf list = FL_BUF_IN(text);

	if (file && file->why.len) {
		m->wrong = file->why;
		return;
	}
	if (!file && m->facts->settings->mig_file.len) {
		m->wrong = fl_plan_printf(m->plan, "%.*s is not there", FL_ARG(m->facts->settings->mig_file));
		return;
	}
	if (!file && fl_str_starts(m->config, FL_S("all-")))
		return;
	if (file && fl_find(file->configs.at, file->configs.len, name, m->config))
		return;
	for (uint32_t i = 0; file && i < file->configs.len; i++)
		fl_buf_printf(&list, "%s%.*s", i ? ", " : "", FL_ARG(file->configs.at[i].name));
	m->wrong = fl_plan_printf(m->plan, "there is no layout '%.*s': write %.*s",
				  FL_ARG(fl_str_sub(m->config, 0, 63)),
				  FL_ARG(!file ? FL_S("all-disabled, all-enabled, all-balanced or all-<profile>") :
					 list.failed ? FL_S("one of the file's") : fl_buf_view(&list)));
}

void mig_choose(struct mig *m)
{
	const struct fl_mig_facts *f = m->facts;
	struct fl_str named = label(f->node, FL_MIG_LABEL);

	if (!f->node_told)
		m->config = remembered(m);
	else
		m->config = named.len ? named : f->settings->mig_config;
	m->by_label = named.len > 0;
	if (m->config.len)
		check_name(m);
}

/* ---- pools of the cluster ---- */

/* As many MIG devices as fit. */
static struct mig_wish of_profile(struct mig *m, const struct fl_card *card, struct fl_str profile)
{
	const struct fl_mig_offer *offer = fl_mig_offered(card->offers.at, card->offers.len, profile);
	struct mig_wish wish = counts(m, 1);
	char text[FL_ERR_TEXT] = "";
	struct fl_buf list = FL_BUF_IN(text);

	if (offer) {
		add(&wish, offer->name, offer->count);
		return wish;
	}
	for (uint32_t i = 0; i < card->offers.len; i++)
		fl_buf_printf(&list, "%s%.*s", i ? ", " : "", FL_ARG(card->offers.at[i].name));
	wish.wrong = card->mig_capable ? fl_plan_printf(m->plan, "it has no profile %.*s, only %.*s", FL_ARG(profile),
							FL_ARG(list.failed ? FL_S("others") : fl_buf_view(&list))) :
					 FL_S("it does not support MIG");
	return wish;
}

static struct mig_wish of_home(const struct fl_layout *layout)
{
	return (struct mig_wish){ .any = true, .mode = layout->mode_home, .home = true, .counts = layout->home.at,
				  .len = layout->home.len };
}

/* One that is kept back stays as it is. */
static struct mig_wish of_pool(struct mig *m, const struct fl_card *card, const struct fl_node_pool *pool,
			       const struct fl_layout *layout)
{
	struct fl_str address = card->meta.name;
	struct mig_wish wish = { 0 };

	if (fl_str_in(pool->leaving.at, pool->leaving.len, address))
		return layout && layout->pooled ? of_home(layout) : wish;
	if (!fl_str_in(pool->cards.at, pool->cards.len, address))
		return wish;
	if (pool->unit == FL_POOL_MIG)
		wish = of_profile(m, card, pool->profile);
	else if (card->mig || card->mig_pending || (layout && layout->pooled))
		wish.any = true;
	wish.pooled = wish.any;
	return wish;
}

static void tell_other(struct mig *m, const struct fl_card *card, const struct fl_node_pool *pool)
{
	if (!pool || !pool->cluster || pool->unit != FL_POOL_MIG ||
	    !fl_str_in(pool->cards.at, pool->cards.len, card->meta.name))
		return;
	m->pooled = true;
	mig_say(m, MIG_WAITS, "Waiting", card,
		"NVIDIA's mig-manager partitions the GPUs of this node: label it " FL_MIG_MANAGER_LABEL "=false");
	m->pooled = false;
}

struct mig_wish mig_wish(struct mig *m, uint32_t index)
{
	const struct fl_mig_facts *f = m->facts;
	const struct fl_card *card = &f->cards[index];
	const struct fl_node_pool *pool = fl_gpu_pool_of(f->settings, card);
	const struct fl_layout *layout = fl_find(f->layouts, f->layout_len, meta.name, card->meta.name);

	if (m->other || fl_card_elsewhere(card)) {
		tell_other(m, card, pool);
		return (struct mig_wish){ 0 };
	}
	if (pool && pool->cluster)
		return of_pool(m, card, pool, layout);
	if (layout && layout->pooled && !f->settings->waits.len)
		return of_home(layout);
	if (!m->config.len || m->wrong.len || pool)
		return (struct mig_wish){ 0 };
	if (f->file)
		return of_file(m, card, index);
	return card->mig_capable ? generated(m, card) : (struct mig_wish){ 0 };
}
