/* spec.features of the NodeFeature: an instance of the feature nvidia.com/gpu for each GPU, and the checks. */
#include "plan/labels/output_in.h"
#include <stdlib.h>

#define FEATURE_GPU "nvidia.com/gpu"
#define FEATURE_CHECKS "nvidia.com/gpu.checks"
#define ATTRIBUTES 16                /* of a GPU, without those of profiles */

struct attributes {
	struct fl_plan *plan;
	struct fl_pair *at;
	uint32_t len;
};

static void put(struct attributes *a, const char *name, struct fl_str value)
{
	if (a->at && value.len)
		a->at[a->len++] = (struct fl_pair){ fl_str(name), value };
}

static void put_number(struct attributes *a, const char *name, bool known, int64_t value)
{
	if (known)
		put(a, name, fl_plan_printf(a->plan, "%lld", (long long)value));
}

static void put_truth(struct attributes *a, const char *name, bool value)
{
	put(a, name, value ? FL_S("true") : FL_S("false"));
}

/* How many MIG devices there are of each profile: "mig.devices.1g.10gb". */
static void put_profiles(struct attributes *a, const struct fl_card *card)
{
	for (uint32_t i = 0; card->mig && i < card->partitions.len; i++) {
		struct fl_str profile = card->partitions.at[i].profile;
		uint32_t count = 0;
		bool first = true;

		for (uint32_t k = 0; k < card->partitions.len; k++) {
			bool same = fl_str_eq(card->partitions.at[k].profile, profile);

			count += same;
			first &= !same || k >= i;
		}
		if (first)
			put_number(a, fl_plan_printf(a->plan, "mig.devices.%.*s", FL_ARG(profile)).p, true, count);
	}
}

static int by_key(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_pair *)a)->key, ((const struct fl_pair *)b)->key);
}

static struct fl_map attributes_of(const struct fl_card *card, struct fl_plan *plan)
{
	struct attributes a = { .plan = plan };

	a.at = fl_plan_get(plan, ATTRIBUTES + card->partitions.len, sizeof *a.at);
	put(&a, "pci.address", card->meta.name);
	put(&a, "vendor", card->vendor);
	put(&a, "device", card->device);
	put(&a, "class", card->pci_class);
	put(&a, "uuid", card->uuid);
	put_number(&a, "index", card->has.index, card->index);
	put_number(&a, "minor", card->has.minor, card->minor);
	put(&a, "product", card->product);
	put_number(&a, "memoryMiB", card->has.memory, card->memory);
	put_truth(&a, "mig.capable", card->mig_capable);
	put_truth(&a, "mig.enabled", card->mig);
	put_profiles(&a, card);
	if (a.at)
		qsort(a.at, a.len, sizeof *a.at, by_key);
	return (struct fl_map){ a.at, a.len };
}

/* The checks, as attributes of the feature nvidia.com/gpu.checks: "pcie": "Failed". */
static void put_checks(const struct fl_labels_facts *f, struct fl_plan *plan, struct fl_nfd_features *ret)
{
	struct fl_pair *at = fl_plan_get(plan, (size_t)f->check_len + 1, sizeof *at);

	if (!at || !f->check_len)
		return;
	for (uint32_t i = 0; i < f->check_len; i++)
		at[i] = (struct fl_pair){ f->checks[i].meta.name,
					  fl_str(fl_name(&fl_check_result_names, (int)f->checks[i].result)) };
	if (!FL_ELEMENTS(ret, plan->arena, attributes, 1)) {
		plan->failed = true;
		return;
	}
	ret->attributes.at->key = FL_S(FEATURE_CHECKS);
	FL_SET(&ret->attributes.at->value, elements, ((struct fl_map){ at, f->check_len }));
}

void labels_features(const struct fl_labels_facts *f, struct fl_plan *plan, struct fl_nfd_features *ret)
{
	struct fl_nfd_instances *gpus;
	uint32_t len = 0;

	ret->has.flags = ret->has.attributes = ret->has.instances = 1;
	put_checks(f, plan, ret);
	for (uint32_t i = 0; i < f->card_len; i++)
		len += fl_labels_counts(&f->cards[i]);
	if (!len)
		return;
	if (!FL_ELEMENTS(ret, plan->arena, instances, 1)) {
		plan->failed = true;
		return;
	}
	ret->instances.at->key = FL_S(FEATURE_GPU);
	gpus = &ret->instances.at->value;
	if (!FL_ELEMENTS(gpus, plan->arena, elements, len)) {
		plan->failed = true;
		return;
	}
	len = 0;
	for (uint32_t i = 0; i < f->card_len; i++) {
		if (!fl_labels_counts(&f->cards[i]))
			continue;
		FL_SET(&gpus->elements.at[len], attributes, attributes_of(&f->cards[i], plan));
		len++;
	}
}
