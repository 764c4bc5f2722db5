#include "plan/pool/snapshot.h"
#include "base/chars.h"
#include "plan/pool/names.h"
#include <stdarg.h>
#include <stdlib.h>

#define SLOT "gpu.deckhouse.io/device."
#define MIG "nvidia.com/mig-"
#define VENDOR "10de"
#define PARTITIONS "mig.devices."

struct making {
	const struct fl_snapshot_in *in;
	struct fl_plan *plan;
	struct fl_snapshot *ret;
	const struct fl_gpu_feature **features;   /* in the order in which they count */
	struct fl_map *maps;                      /* labels: the Node's, then theirs */
	uint32_t map_len;
	struct fl_snapshot_card *slots;
	uint32_t slot_len, slot_room;
	uint32_t card_len, card_room;             /* of the agent's facts */
};

static FL_PRINTF(2, 3) void note(struct making *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fl_plan_append(m->plan, &m->ret->odd, fmt, args);
	va_end(args);
}

static struct fl_str lower(struct making *m, struct fl_str text)
{
	char *copy = fl_plan_get(m->plan, (size_t)text.len + 1, 1);

	for (uint32_t i = 0; copy && i < text.len; i++)
		copy[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] | 0x20) : text.p[i];
	return (struct fl_str){ copy ? copy : "", copy ? text.len : 0 };
}

/* Of all sources, the first that has it. */
static struct fl_str label(const struct making *m, const char *key)
{
	for (uint32_t i = 0; i < m->map_len; i++) {
		struct fl_str value = fl_map_value(m->maps[i], fl_str(key));

		if (value.p)
			return value;
	}
	return (struct fl_str){ NULL, 0 };
}

static struct fl_str either(const struct making *m, const char *a, const char *b)
{
	struct fl_str value = label(m, a);

	return value.len ? value : label(m, b);
}

/* Has a source before this one the key? */
static bool is_shadowed(const struct making *m, uint32_t map, struct fl_str key)
{
	for (uint32_t i = 0; i < map; i++)
		if (fl_map_value(m->maps[i], key).p)
			return true;
	return false;
}

static bool is_true(struct fl_str text)
{
	static const char *const yes[] = { "true", "1", "yes", "on" };

	for (unsigned i = 0; i < FL_LEN(yes); i++)
		if (fl_str_eq(text, fl_str(yes[i])))
			return true;
	return false;
}

static bool is_id(struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++)
		if (fl_hex_digit(text.p[i]) < 0)
			return false;
	return text.len == 4;
}

int fl_device_index_cmp(struct fl_str a, struct fl_str b)
{
	uint64_t x = 0, y = 0;
	bool is_x = fl_str_u64(a, &x), is_y = fl_str_u64(b, &y);

	if (is_x != is_y)
		return is_x ? -1 : 1;
	return is_x && x != y ? (x < y ? -1 : 1) : fl_str_cmp(a, b);
}

static int by_index(const void *a, const void *b)
{
	return fl_device_index_cmp(((const struct fl_snapshot_card *)a)->index,
				   ((const struct fl_snapshot_card *)b)->index);
}

static bool same_model(const struct fl_snapshot_card *a, const struct fl_snapshot_card *b)
{
	return fl_str_eq(a->hardware.pci.vendor, b->hardware.pci.vendor) &&
	       fl_str_eq(a->hardware.pci.device, b->hardware.pci.device);
}

/* ---- sources, in the order in which they count ---- */

static int by_name(const void *a_, const void *b_)
{
	const struct fl_gpu_feature *a = *(const struct fl_gpu_feature *const *)a_;
	const struct fl_gpu_feature *b = *(const struct fl_gpu_feature *const *)b_;
	bool a_first = fl_str_eq(a->meta.name, fl_gpu_feature_node(a));
	bool b_first = fl_str_eq(b->meta.name, fl_gpu_feature_node(b));
	int order = fl_str_cmp(a->meta.name, b->meta.name);

	if (a_first != b_first)
		return a_first ? -1 : 1;
	return order ? order : fl_str_cmp(a->meta.space, b->meta.space);
}

static bool open_sources(struct making *m)
{
	uint32_t len = m->in->feature_len;

	m->features = fl_plan_get(m->plan, (size_t)len + 1, sizeof *m->features);
	m->maps = fl_plan_get(m->plan, (size_t)len + 1, sizeof *m->maps);
	if (!m->features || !m->maps)
		return false;
	for (uint32_t i = 0; i < len; i++)
		m->features[i] = &m->in->features[i];
	qsort(m->features, len, sizeof *m->features, by_name);
	m->maps[m->map_len++] = m->in->node->meta.labels;
	for (uint32_t i = 0; i < len; i++)
		m->maps[m->map_len++] = m->features[i]->spec.labels;
	m->ret->has_feature = len;
	return true;
}

/* ---- slots ---- */

static struct fl_snapshot_card *slot_of(struct making *m, struct fl_str index)
{
	for (uint32_t i = 0; i < m->slot_len; i++)
		if (fl_str_eq(m->slots[i].index, index))
			return &m->slots[i];
	if (m->slot_len == m->slot_room)
		return NULL;
	m->slots[m->slot_len].index = index;
	return &m->slots[m->slot_len++];
}

static void set_once(struct fl_str *to, struct fl_str value)
{
	if (!to->len)
		*to = value;
}

static void read_slot_label(struct making *m, struct fl_str key, struct fl_str value)
{
	struct fl_str rest = fl_str_sub(key, sizeof SLOT - 1, key.len), index;
	struct fl_snapshot_card *slot;

	if (!fl_str_split(&rest, '.', &index) || !rest.len)
		return;
	index = fl_device_index(index);
	if (!fl_device_index_ok(index))
		return;
	slot = slot_of(m, index);
	if (!slot)
		return;
	if (fl_str_eq(rest, FL_S("vendor")))
		set_once(&slot->hardware.pci.vendor, lower(m, value));
	else if (fl_str_eq(rest, FL_S("device")))
		set_once(&slot->hardware.pci.device, lower(m, value));
	else if (fl_str_eq(rest, FL_S("class")))
		set_once(&slot->hardware.pci.class, lower(m, value));
	else if (fl_str_eq(rest, FL_S("product")))
		set_once(&slot->hardware.product, value);
	else if (fl_str_eq(rest, FL_S("memoryMiB")))
		set_once(&slot->memory, value);
}

static bool is_card(const struct fl_device_pci *ids)
{
	return fl_str_eq(ids->vendor, FL_S(VENDOR)) && is_id(ids->device) && is_id(ids->class);
}

static void read_slots(struct making *m)
{
	uint32_t kept = 0, labels = 0;

	for (uint32_t i = 0; i < m->map_len; i++)
		for (uint32_t k = 0; k < m->maps[i].len; k++)
			labels += fl_str_starts(m->maps[i].at[k].key, FL_S(SLOT));
	m->slot_room = labels < FL_SNAPSHOT_CARDS ? labels : FL_SNAPSHOT_CARDS;
	m->slots = fl_plan_get(m->plan, (size_t)m->slot_room + 1, sizeof *m->slots);
	if (!m->slots)
		return;
	for (uint32_t i = 0; labels && i < m->map_len; i++)
		for (uint32_t k = 0; k < m->maps[i].len; k++)
			if (fl_str_starts(m->maps[i].at[k].key, FL_S(SLOT)) &&
			    !is_shadowed(m, i, m->maps[i].at[k].key))
				read_slot_label(m, m->maps[i].at[k].key, m->maps[i].at[k].value);
	for (uint32_t i = 0; i < m->slot_len; i++)
		if (is_card(&m->slots[i].hardware.pci))
			m->slots[kept++] = m->slots[i];
		else if (!fl_str_eq(m->slots[i].hardware.pci.vendor, FL_S(VENDOR)) &&
			 m->slots[i].hardware.pci.vendor.len)
			continue;   /* of another vendor: none of ours */
		else
			note(m, "labels " SLOT "%.*s.* lack vendor, device or class", FL_ARG(m->slots[i].index));
	m->slot_len = kept;
	if (kept)
		qsort(m->slots, kept, sizeof *m->slots, by_index);
}

/* ---- the agent's facts ---- */

static void add_partition(struct fl_device_mig *mig, struct fl_str profile, int32_t count)
{
	struct fl_device_partition *at = &mig->types.at[mig->types.len];
	uint32_t i = 0;

	while (i < mig->types.len && fl_str_cmp(mig->types.at[i].name, profile) < 0)
		i++;
	if (i < mig->types.len && fl_str_eq(mig->types.at[i].name, profile))
		return;
	memmove(&mig->types.at[i + 1], &mig->types.at[i], (size_t)(at - &mig->types.at[i]) * sizeof *at);
	mig->types.at[i] = (struct fl_device_partition){ 0 };
	FL_SET(&mig->types.at[i], name, profile);
	FL_SET(&mig->types.at[i], count, count);
	mig->types.len++;
}

static void read_partitions(struct making *m, struct fl_map attributes, struct fl_snapshot_card *card)
{
	struct fl_device_mig *mig = &card->hardware.mig;

	mig->types.at = fl_plan_get(m->plan, (size_t)attributes.len + 1, sizeof *mig->types.at);
	for (uint32_t i = 0; mig->types.at && i < attributes.len; i++) {
		struct fl_str key = attributes.at[i].key;
		int64_t count;

		if (fl_str_starts(key, FL_S(PARTITIONS)) && fl_str_i64(attributes.at[i].value, &count) && count > 0 &&
		    count <= INT32_MAX)
			add_partition(mig, lower(m, fl_str_sub(key, sizeof PARTITIONS - 1, key.len)), (int32_t)count);
	}
	mig->has.types = mig->types.len > 0;
}

static struct fl_str address_of(struct making *m, struct fl_str text)
{
	char room[FL_DEVICE_TEXT];
	struct fl_buf out = FL_BUF_IN(room);

	fl_device_address(text, &out);
	return text.len && !out.failed ? fl_plan_printf(m->plan, "%s", room) : FL_S("");
}

static bool has_address(const struct fl_snapshot *s, struct fl_str address)
{
	for (uint32_t i = 0; address.len && i < s->len; i++)
		if (fl_str_eq(s->cards[i].hardware.pci.address, address))
			return true;
	return false;
}

static void read_instance(struct making *m, struct fl_map a)
{
	struct fl_snapshot_card card = { .index = fl_device_index(fl_map_value(a, FL_S("index"))), .mig_known = true };
	struct fl_device_hardware *is = &card.hardware;

	is->pci = (struct fl_device_pci){ .vendor = lower(m, fl_map_value(a, FL_S("vendor"))),
					  .device = lower(m, fl_map_value(a, FL_S("device"))),
					  .class = lower(m, fl_map_value(a, FL_S("class"))),
					  .address = address_of(m, fl_map_value(a, FL_S("pci.address"))) };
	if (!is_card(&is->pci) || !fl_device_index_ok(card.index)) {
		note(m, "instance '%.*s' of feature " FL_NFD_GPU " lacks index, vendor, device or class",
		     FL_ARG(card.index));
		return;
	}
	if (has_address(m->ret, is->pci.address))
		return;   /* another object has told of it */
	if (m->ret->len == m->card_room) {
		note(m, "more than %d GPUs", FL_SNAPSHOT_CARDS);
		return;
	}
	is->uuid = fl_map_value(a, FL_S("uuid"));
	is->product = fl_map_value(a, FL_S("product"));
	card.memory = fl_map_value(a, FL_S("memoryMiB"));
	FL_SET(&is->mig, capable, is_true(fl_map_value(a, FL_S("mig.capable"))));
	read_partitions(m, a, &card);
	if (is->mig.types.len)
		is->mig.capable = true;
	m->ret->cards[m->ret->len++] = card;
}

static void read_instances(struct making *m)
{
	for (uint32_t i = 0; i < m->in->feature_len; i++)
		for (uint32_t k = 0; k < m->features[i]->spec.features.instances.len; k++)
			m->card_room += m->features[i]->spec.features.instances.at[k].value.elements.len;
	m->card_room += m->slot_len;
	if (m->card_room > FL_SNAPSHOT_CARDS)
		m->card_room = FL_SNAPSHOT_CARDS;
	m->ret->cards = fl_plan_get(m->plan, (size_t)m->card_room + 1, sizeof *m->ret->cards);
	for (uint32_t i = 0; m->ret->cards && i < m->in->feature_len; i++) {
		const struct fl_gpu_features *f = &m->features[i]->spec.features;

		for (uint32_t k = 0; k < f->instances.len; k++)
			for (uint32_t e = 0; e < f->instances.at[k].value.elements.len; e++)
				read_instance(m, f->instances.at[k].value.elements.at[e].attributes);
	}
	m->card_len = m->ret->len;
}

/* ---- both ---- */

static uint32_t of_model(const struct fl_snapshot_card *at, uint32_t len, const struct fl_snapshot_card *model)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < len; i++)
		count += same_model(&at[i], model);
	return count;
}

/* The instance of the slot's index, if it is of the same model. */
static struct fl_snapshot_card *instance_of(struct making *m, const struct fl_snapshot_card *slot)
{
	for (uint32_t i = 0; i < m->card_len; i++)
		if (fl_str_eq(m->ret->cards[i].index, slot->index) && same_model(&m->ret->cards[i], slot))
			return &m->ret->cards[i];
	return NULL;
}

/* From the last: an instance has the lower number when one before it is missing. */
static void join(struct making *m)
{
	for (uint32_t i = m->slot_len; i > 0; i--) {
		const struct fl_snapshot_card *slot = &m->slots[i - 1];
		struct fl_snapshot_card *card = instance_of(m, slot);

		if (card) {
			set_once(&card->hardware.product, slot->hardware.product);
			set_once(&card->memory, slot->memory);
			continue;
		}
		if (of_model(m->slots, m->slot_len, slot) <= of_model(m->ret->cards, m->ret->len, slot))
			continue;
		if (m->ret->len < m->card_room)
			m->ret->cards[m->ret->len++] = *slot;
	}
}

/* ---- node-wide labels, where they can be about one GPU only ---- */

/* "nvidia.com/mig-1g.10gb.count" */
static bool is_mig_label(struct fl_str key, struct fl_str *ret_profile, struct fl_str *ret_metric)
{
	struct fl_str rest = fl_str_sub(key, sizeof MIG - 1, key.len);
	int64_t first = fl_str_find(rest, '.'), second;

	if (!fl_str_starts(key, FL_S(MIG)) || first < 0)
		return false;
	second = fl_str_find(fl_str_sub(rest, (uint32_t)first + 1, rest.len), '.');
	if (second < 0)
		return false;
	second += first + 1;
	*ret_profile = fl_str_sub(rest, 0, (uint32_t)second);
	*ret_metric = fl_str_sub(rest, (uint32_t)second + 1, rest.len);
	return true;
}

static int metric_rank(struct fl_str metric)
{
	return fl_str_eq(metric, FL_S("count")) ? 3 : fl_str_eq(metric, FL_S("ready")) ? 2 :
						      fl_str_eq(metric, FL_S("available"));
}

struct profile {
	struct fl_str name;
	int rank;
	int64_t count;
};

static uint32_t add_profile(struct making *m, struct profile *all, uint32_t len, const struct fl_pair *pair)
{
	struct fl_str name, metric;
	uint32_t i = 0;
	int64_t count;
	int rank;

	if (!is_mig_label(pair->key, &name, &metric))
		return len;
	name = lower(m, name);
	while (i < len && fl_str_cmp(all[i].name, name) < 0)
		i++;
	if (i == len || !fl_str_eq(all[i].name, name)) {
		if (len == FL_SNAPSHOT_PROFILES)
			return len;
		memmove(&all[i + 1], &all[i], (len - i) * sizeof *all);
		all[i] = (struct profile){ .name = name };
		len++;
	}
	rank = metric_rank(metric);
	if (rank > all[i].rank && fl_str_i64(pair->value, &count) && count >= 0 && count <= INT32_MAX)
		all[i] = (struct profile){ name, rank, count };
	return len;
}

static uint32_t read_profiles(struct making *m, struct profile all[FL_SNAPSHOT_PROFILES + 1])
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < m->map_len; i++)
		for (uint32_t k = 0; k < m->maps[i].len; k++)
			if (!is_shadowed(m, i, m->maps[i].at[k].key))
				len = add_profile(m, all, len, &m->maps[i].at[k]);
	return len;
}

/* Counts of labels are of the whole Node: they are a GPU's only where it is the one that can have MIG devices. */
static void put_mig(struct making *m, struct fl_snapshot_card *card, const struct profile *all, uint32_t len,
		    bool alone)
{
	struct fl_device_mig *mig = &card->hardware.mig;
	bool told = card->mig_known;

	if (!told)
		FL_SET(mig, capable, is_true(either(m, "nvidia.com/mig.capable", "nvidia.com/mig-capable")) || len);
	if (!mig->capable)
		return;
	if (len && FL_ELEMENTS(mig, m->plan->arena, profiles, len))
		for (uint32_t i = 0; i < len; i++)
			mig->profiles.at[i] = all[i].name;
	m->plan->failed |= len && !mig->profiles.at;
	if (told || !alone)
		return;
	mig->types.at = fl_plan_get(m->plan, (size_t)len + 1, sizeof *mig->types.at);
	for (uint32_t i = 0; mig->types.at && i < len; i++)
		if (all[i].rank)
			add_partition(mig, all[i].name, (int32_t)all[i].count);
	mig->has.types = mig->types.len > 0;
	card->mig_known = true;
}

static void node_wide(struct making *m)
{
	struct profile all[FL_SNAPSHOT_PROFILES + 1];
	struct fl_str strategy = lower(m, either(m, "nvidia.com/mig.strategy", "nvidia.com/mig-strategy"));
	struct fl_str product = label(m, "nvidia.com/gpu.product"), memory = label(m, "nvidia.com/gpu.memory");
	uint32_t len = read_profiles(m, all);
	bool one_model = true;

	for (uint32_t i = 1; i < m->ret->len; i++)
		one_model &= same_model(&m->ret->cards[i], &m->ret->cards[0]);
	for (uint32_t i = 0; i + 5 <= product.len; i++)
		if (memcmp(product.p + i, "-MIG-", 5) == 0)
			product.len = i;   /* with strategy single the label has the profile, too */
	for (uint32_t i = 0; i < m->ret->len; i++) {
		struct fl_snapshot_card *card = &m->ret->cards[i];

		if (one_model) {
			set_once(&card->hardware.product, product);
			set_once(&card->memory, memory);
			put_mig(m, card, all, len, m->ret->len == 1);
		}
		FL_SET(&card->hardware.mig, strategy, fl_str_eq(strategy, FL_S("single")) ? FL_DEVICE_MIG_SINGLE :
						      fl_str_eq(strategy, FL_S("mixed"))  ? FL_DEVICE_MIG_MIXED :
											    FL_DEVICE_MIG_NONE);
	}
}

void fl_snapshot_make(const struct fl_snapshot_in *in, struct fl_plan *plan, struct fl_snapshot *ret)
{
	struct making m = { .in = in, .plan = plan, .ret = ret };

	*ret = (struct fl_snapshot){ .odd = FL_S("") };
	if (!open_sources(&m))
		return;
	read_slots(&m);
	read_instances(&m);
	if (plan->failed || !ret->cards)
		return;
	join(&m);
	qsort(ret->cards, ret->len, sizeof *ret->cards, by_index);
	node_wide(&m);
}
