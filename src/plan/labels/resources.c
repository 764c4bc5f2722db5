/* The labels of GPUs by model, and of MIG devices by the MIG strategy. Where there are several, the most count, then
 * the first name. */
#include "plan/labels/labels_in.h"
#include "plan/labels/sanitise.h"

/* ---- values ---- */

static const char *family_of(int32_t compute)
{
	int32_t major = compute / 100, minor = compute % 100 / 10;

	switch (major) {
	case 1: return "tesla";
	case 2: return "fermi";
	case 3: return "kepler";
	case 5: return "maxwell";
	case 6: return "pascal";
	case 7: return minor < 5 ? "volta" : "turing";
	case 8: return minor < 9 ? "ampere" : "ada-lovelace";
	case 9: return "hopper";
	case 10:
	case 12: return "blackwell";
	case 13: return "rubin";
	default: return "undefined";
	}
}

/* How the resource is shared; NULL: it is not. Settings share what is outside all pools. */
static const struct fl_sharing *sharing_of(const struct labels *l, struct fl_str name)
{
	const struct fl_settings *s = l->facts->settings;
	struct fl_str resource = fl_plan_printf(l->plan, "nvidia.com/%.*s", FL_ARG(name));

	for (uint32_t i = 0; s->unpooled && i < s->sharing.len; i++)
		if (fl_str_eq(s->sharing.at[i].resource, resource) && s->sharing.at[i].replicas > 1)
			return &s->sharing.at[i];
	return NULL;
}

/* A profile in keys and values, which have no '+': "1g.10gb.me". */
static struct fl_str dotted(const struct labels *l, struct fl_str profile)
{
	char *at = fl_plan_get(l->plan, (size_t)profile.len + 1, 1);

	for (uint32_t i = 0; at && i < profile.len; i++)
		at[i] = profile.p[i] == '+' ? '.' : profile.p[i];
	return (struct fl_str){ at ? at : "", at ? profile.len : 0 };
}

/* Product, count, and how each is shared. `shared` false: as if it was not. */
static void put_group(struct labels *l, const struct labels_group *group, bool shared)
{
	const struct fl_sharing *sharing = shared ? sharing_of(l, group->name) : NULL;
	struct fl_str model = labels_sanitise(l->plan, group->card->product);
	struct fl_str profile = group->part ? dotted(l, group->part->profile) : FL_S("");

	labels_put(l, group->name, "product", "%.*s%s%.*s%s", FL_ARG(model), profile.len ? "-MIG-" : "",
		   FL_ARG(profile), sharing && !sharing->has.renamed ? "-SHARED" : "");
	labels_put(l, group->name, "count", "%u", group->count);
	labels_put(l, group->name, "replicas", "%d", sharing ? sharing->replicas : 1);
	labels_put(l, group->name, "sharing-strategy", "%s",
		   !sharing                ? "none" :
		   l->facts->settings->mps ? "mps" :
					     "time-slicing");
}

static void put_memory(struct labels *l, struct fl_str name, bool known, int64_t mib)
{
	if (known && mib > 0)
		labels_put(l, name, "memory", "%lld", (long long)mib);
}

static void put_part(struct labels *l, const struct labels_group *group)
{
	const struct fl_part_attributes *has = &group->part->attributes;

	put_group(l, group, true);
	put_memory(l, group->name, group->part->has.memory, group->part->memory);
	if (!group->part->has.attributes)
		return;
	labels_put(l, group->name, "multiprocessors", "%d", has->multiprocessors);
	labels_put(l, group->name, "slices.gi", "%d", has->gi_slices);
	labels_put(l, group->name, "slices.ci", "%d", has->ci_slices);
	labels_put(l, group->name, "engines.copy", "%d", has->copy_engines);
	labels_put(l, group->name, "engines.decoder", "%d", has->decoders);
	labels_put(l, group->name, "engines.encoder", "%d", has->encoders);
	labels_put(l, group->name, "engines.jpeg", "%d", has->jpegs);
	labels_put(l, group->name, "engines.ofa", "%d", has->ofas);
}

/* ---- whole GPUs ---- */

static const struct fl_str gpu = FL_S_INIT("gpu");

/* A model with a GPU that is not in MIG mode comes before those without. */
static bool is_first(const struct labels_group *a, const struct labels_group *b)
{
	if (b->card && !a->part && a->card->mig != b->card->mig)
		return !a->card->mig;
	if (!b->card || a->count != b->count)
		return !b->card || a->count > b->count;
	return fl_str_cmp(a->card->product, b->card->product) < 0;
}

/* All GPUs of the model, by one that is not in MIG mode if there is any. */
static struct labels_group model_of(const struct labels *l, struct fl_str product)
{
	struct labels_group group = { .name = gpu };

	for (uint32_t i = 0; i < l->card_len; i++) {
		if (!fl_str_eq(l->cards[i]->product, product))
			continue;
		if (!group.card || (group.card->mig && !l->cards[i]->mig))
			group.card = l->cards[i];
		group.count++;
	}
	return group;
}

static struct labels_group main_model(const struct labels *l)
{
	struct labels_group best = { .name = gpu };

	for (uint32_t i = 0; i < l->card_len; i++) {
		struct labels_group group = model_of(l, l->cards[i]->product);

		if (is_first(&group, &best))
			best = group;
	}
	return best;
}

static void put_model(struct labels *l, const struct labels_group *group)
{
	const struct fl_card *card = group->card;

	put_group(l, group, !card->mig);
	if (card->mig)   /* all of this model are: none of them is there as a whole */
		labels_put(l, gpu, "replicas", "0");
	put_memory(l, gpu, card->has.memory, card->memory);
	if (!card->has.compute)
		return;
	labels_put(l, gpu, "compute.major", "%d", card->compute / 100);
	labels_put(l, gpu, "compute.minor", "%d", card->compute % 100 / 10);
	labels_put(l, gpu, "family", "%s", family_of(card->compute));
}

/* ---- MIG devices ---- */

/* All MIG devices of the profile, by one of the model that has the most of them. */
static struct labels_group profile_of(const struct labels *l, struct fl_str name, struct fl_str profile)
{
	struct labels_group best = { .name = name };
	uint32_t count = 0;

	for (uint32_t i = 0; i < l->card_len; i++) {
		struct labels_group group = { .name = name, .card = l->cards[i] };

		for (uint32_t k = 0; k < l->card_len; k++) {
			const struct fl_card *card = l->cards[k];
			bool same = fl_str_eq(card->product, group.card->product);

			for (uint32_t p = 0; same && card->mig && p < card->partitions.len; p++)
				if (fl_str_eq(card->partitions.at[p].profile, profile)) {
					group.part = &card->partitions.at[p];
					group.count++;
				}
		}
		if (group.count && is_first(&group, &best))
			best = group;
	}
	for (uint32_t i = 0; i < l->card_len; i++)
		for (uint32_t p = 0; l->cards[i]->mig && p < l->cards[i]->partitions.len; p++)
			count += fl_str_eq(l->cards[i]->partitions.at[p].profile, profile);
	best.count = count;
	return best;
}

/* "mig-1g.10gb.me" */
static struct fl_str resource_of(const struct labels *l, struct fl_str profile)
{
	struct fl_str name = dotted(l, profile);

	return fl_plan_printf(l->plan, "mig-%.*s", FL_ARG(name));
}

static void put_profiles(struct labels *l)
{
	struct fl_str *known = fl_plan_get(l->plan, (size_t)l->part_len + 1, sizeof *known);
	uint32_t len = 0, at;

	for (uint32_t i = 0; known && i < l->card_len; i++) {
		const struct fl_card *card = l->cards[i];

		for (uint32_t p = 0; card->mig && p < card->partitions.len; p++) {
			struct fl_str profile = card->partitions.at[p].profile;
			struct labels_group group;

			for (at = 0; at < len && !fl_str_eq(known[at], profile);)
				at++;
			if (at < len)
				continue;
			known[len++] = profile;
			group = profile_of(l, resource_of(l, profile), profile);
			if (group.part)
				put_part(l, &group);
		}
	}
}

/* Of the strategy single: all GPUs in MIG mode, each with devices, and all of those of one profile. */
enum single { SINGLE_NO_MIG, SINGLE_VALID, SINGLE_INVALID };

static enum single judge_single(const struct labels *l, struct fl_str *ret_profile)
{
	uint32_t in_mig = 0;

	*ret_profile = FL_S("");
	for (uint32_t i = 0; i < l->card_len; i++)
		in_mig += l->cards[i]->mig;
	if (!in_mig)
		return SINGLE_NO_MIG;
	if (in_mig < l->card_len)
		return SINGLE_INVALID;
	for (uint32_t i = 0; i < l->card_len; i++) {
		const struct fl_card *card = l->cards[i];

		for (uint32_t p = 0; p < card->partitions.len; p++) {
			struct fl_str profile = card->partitions.at[p].profile;

			if (ret_profile->len && !fl_str_eq(*ret_profile, profile))
				return SINGLE_INVALID;
			*ret_profile = profile;
		}
		if (!card->partitions.len)
			return SINGLE_INVALID;
	}
	return SINGLE_VALID;
}

/* Named by the first GPU in MIG mode. */
static void put_invalid(struct labels *l)
{
	struct fl_str model = FL_S("");

	for (uint32_t i = l->card_len; i-- > 0;)
		if (l->cards[i]->mig)
			model = labels_sanitise(l->plan, l->cards[i]->product);

	labels_put(l, gpu, "product", "%.*s-MIG-INVALID", FL_ARG(model));
	labels_put(l, gpu, "count", "0");
	labels_put(l, gpu, "replicas", "0");
	labels_put(l, gpu, "memory", "0");
	labels_put(l, gpu, "sharing-strategy", "%s", "");
}

static void put_single(struct labels *l)
{
	struct fl_str profile;
	struct labels_group group;

	switch (judge_single(l, &profile)) {
	case SINGLE_NO_MIG: return;
	case SINGLE_INVALID: put_invalid(l); return;
	case SINGLE_VALID: break;
	}
	group = profile_of(l, gpu, profile);
	if (group.part)
		put_part(l, &group);
}

void labels_resources(struct labels *l)
{
	enum fl_mig_strategy strategy = l->facts->settings->mig;
	struct labels_group group = main_model(l);

	if (!group.card)
		return;
	put_model(l, &group);
	switch (strategy) {
	case FL_MIG_SINGLE: put_single(l); break;
	case FL_MIG_MIXED: put_profiles(l); break;
	case FL_MIG_NONE:
	case FL_MIG_STRATEGY_COUNT_: return;
	}
	labels_put(l, FL_S("mig"), "strategy", "%s", fl_name(&fl_mig_strategy_names, (int)strategy));
}
