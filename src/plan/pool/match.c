#include "plan/pool/match.h"
#include "plan/pool/names.h"

struct matching {
	const struct fl_inventory_facts *facts;
	const struct fl_snapshot *snapshot;
	struct fl_plan *plan;
	struct matches *ret;
	bool *taken;                           /* of facts->devices: it is the object of a GPU */
};

bool match_is_own(const struct fl_inventory_facts *facts, const struct fl_gpu_device *device)
{
	const struct fl_owner_ref *node = fl_device_owner_node(&device->meta);

	return !device->meta.has.deletion_timestamp && fl_str_eq(fl_device_node(device), facts->node->meta.name) &&
	       (!node || fl_str_eq(node->uid, facts->node->meta.uid));
}

static bool is_free(const struct matching *m, uint32_t i)
{
	return !m->taken[i] && match_is_own(m->facts, &m->facts->devices[i]);
}

static struct fl_str index_in(struct fl_str name)
{
	struct fl_str prefix = fl_device_prefix_of(name);
	struct fl_str rest = fl_str_sub(name, prefix.len + 1, name.len), index = { NULL, 0 };

	(void)fl_str_split(&rest, '-', &index);
	return index;
}

static void take(struct matching *m, struct match *match, uint32_t i)
{
	match->device = &m->facts->devices[i];
	match->name = match->device->meta.name;
	match->index = index_in(match->name);
	m->taken[i] = true;
}

static bool same_ids(const struct fl_device_pci *a, const struct fl_device_pci *b)
{
	return fl_str_eq(a->vendor, b->vendor) && fl_str_eq(a->device, b->device);
}

static bool is_called(const struct fl_gpu_device *device, const struct fl_snapshot_card *card)
{
	return fl_device_is_called(device->meta.name, card->index, &card->hardware.pci);
}

/* ---- by what a GPU is known, the surest first ---- */

enum known_by { BY_UUID, BY_ID, BY_UNFINISHED_INDEX, BY_UNFINISHED_IDS, BY_INDEX, BY_IDS, KNOWN_BY_COUNT };

static bool is_known(const struct matching *m, const struct fl_snapshot_card *card, const struct fl_gpu_device *device,
		     enum known_by by)
{
	struct fl_str id = device->status.inventory_id, node = m->facts->node->meta.name;
	struct fl_str address = card->hardware.pci.address, uuid = card->hardware.uuid;

	switch (by) {
	case BY_UUID:
		return address.len && uuid.len && fl_str_eq(uuid, device->status.hardware.uuid);
	case BY_ID:
		return address.len && id.len == node.len + 1 + address.len && fl_str_starts(id, node) &&
		       id.p[node.len] == '/' && fl_str_ends(id, address);
	case BY_UNFINISHED_INDEX:
		return address.len && !id.len && is_called(device, card);
	case BY_UNFINISHED_IDS:
		return address.len && !id.len && same_ids(&card->hardware.pci, &device->status.hardware.pci);
	case BY_INDEX:
		return !address.len && is_called(device, card);
	case BY_IDS:
		return !address.len && same_ids(&card->hardware.pci, &device->status.hardware.pci);
	case KNOWN_BY_COUNT:
		break;
	}
	return false;
}

static void match_by(struct matching *m, enum known_by by)
{
	for (uint32_t i = 0; i < m->snapshot->len; i++) {
		struct match *match = &m->ret->at[i];

		for (uint32_t k = 0; !match->device && k < m->facts->device_len; k++)
			if (is_free(m, k) && is_known(m, match->card, &m->facts->devices[k], by))
				take(m, match, k);
	}
}

/* ---- new names ---- */

enum whose { FREE, OWN, FOREIGN };

/* Own: an object of this Node, or of a former one of its name, which goes, or a name that was just given. */
static enum whose has_name(const struct matching *m, struct fl_str name)
{
	for (uint32_t i = 0; i < m->snapshot->len; i++)
		if (fl_str_eq(m->ret->at[i].name, name))
			return OWN;
	for (uint32_t i = 0; i < m->facts->device_len; i++)
		if (fl_str_eq(m->facts->devices[i].meta.name, name))
			return match_is_own(m->facts, &m->facts->devices[i]) ? OWN : FOREIGN;
	for (uint32_t i = 0; i < m->facts->other_len; i++)
		if (fl_str_eq(m->facts->others[i].meta.name, name))
			return FOREIGN;
	return FREE;
}

static bool is_of_former(const struct matching *m, struct fl_str name)
{
	for (uint32_t i = 0; i < m->facts->device_len; i++)
		if (fl_str_eq(m->facts->devices[i].meta.name, name))
			return true;
	return false;
}

static FL_PRINTF(2, 3) void waits(struct matching *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fl_plan_append(m->plan, &m->ret->waits, fmt, args);
	va_end(args);
}

/* False: the index is taken by another GPU of this Node. */
static bool try_index(struct matching *m, struct match *match, struct fl_str index)
{
	for (int hashed = 0; hashed < 2; hashed++) {
		char text[FL_DEVICE_TEXT];
		struct fl_buf out = FL_BUF_IN(text);
		struct fl_str name;

		if (!fl_device_name(m->facts->node->meta.name, hashed, index, &match->card->hardware.pci, &out))
			continue;
		name = fl_buf_view(&out);
		switch (has_name(m, name)) {
		case OWN:
			return false;
		case FREE:
			match->name = fl_plan_printf(m->plan, "%.*s", FL_ARG(name));
			match->index = index;
			return true;
		case FOREIGN:
			if (!is_of_former(m, name))
				break;
			waits(m, "%.*s is of a former Node of this name and will be removed with it", FL_ARG(name));
			return true;
		}
	}
	waits(m, "no name is free for GPU %.*s: another object has it; delete or rename it", FL_ARG(index));
	return true;
}

static void name_new(struct matching *m, struct match *match)
{
	struct fl_str index = match->card->index;
	uint64_t number = 0;
	bool is_number = fl_str_u64(index, &number);

	for (uint32_t tries = 0; tries <= FL_SNAPSHOT_CARDS + m->facts->device_len; tries++) {
		if (try_index(m, match, index))
			return;
		if (!is_number)
			break;
		index = fl_plan_printf(m->plan, "%llu", (unsigned long long)++number);
	}
	waits(m, "no index is free for GPU %.*s", FL_ARG(match->card->index));
}

/* ---- all ---- */

void match_all(const struct fl_inventory_facts *facts, const struct fl_snapshot *snapshot, struct fl_plan *plan,
	       struct matches *ret)
{
	struct matching m = { .facts = facts, .snapshot = snapshot, .plan = plan, .ret = ret };

	*ret = (struct matches){ .waits = FL_S("") };
	ret->at = fl_plan_get(plan, (size_t)snapshot->len + facts->device_len + 1, sizeof *ret->at);
	m.taken = fl_plan_get(plan, (size_t)facts->device_len + 1, sizeof *m.taken);
	if (!ret->at || !m.taken)
		return;
	for (uint32_t i = 0; i < snapshot->len; i++)
		ret->at[i].card = &snapshot->cards[i];
	for (int by = 0; by < KNOWN_BY_COUNT; by++)
		match_by(&m, (enum known_by)by);
	for (uint32_t i = 0; i < snapshot->len; i++)
		if (!ret->at[i].device)
			name_new(&m, &ret->at[i]);
	ret->len = snapshot->len;
	for (uint32_t i = 0; i < facts->device_len; i++)
		if (is_free(&m, i))
			take(&m, &ret->at[ret->len++], i);
}
