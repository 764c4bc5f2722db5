#include "plan/gpu/ids.h"

struct fl_str fl_gpu_id_base(struct fl_str id, int64_t *ret_replica)
{
	uint32_t at = id.len;

	*ret_replica = -1;
	while (at && id.p[at - 1] >= '0' && id.p[at - 1] <= '9')
		at--;
	/* Written in one way only: no sign, no zero in front. */
	if (at == id.len || at < 2 || id.p[at - 1] != ':' || id.p[at - 2] != ':' ||
	    (id.p[at] == '0' && id.len - at > 1) || !fl_str_i64(fl_str_sub(id, at, id.len), ret_replica))
		return id;
	return fl_str_sub(id, 0, at - 2);
}

bool fl_gpu_holds(const struct fl_holder *holder, struct fl_str id)
{
	for (uint32_t i = 0; id.len && i < holder->devices.len; i++) {
		int64_t replica;

		if (fl_str_eq(fl_gpu_id_base(holder->devices.at[i], &replica), id))
			return true;
	}
	return false;
}

bool fl_gpu_held(const struct fl_holder *holders, uint32_t len, struct fl_str id)
{
	for (uint32_t i = 0; i < len; i++)
		if (fl_gpu_holds(&holders[i], id))
			return true;
	return false;
}

bool fl_gpu_card_has(const struct fl_card *card, struct fl_str uuid)
{
	if (!uuid.len)
		return false;
	if (fl_str_eq(card->uuid, uuid))
		return true;
	return fl_find(card->partitions.at, card->partitions.len, uuid, uuid) != NULL;
}

bool fl_gpu_holds_card(const struct fl_holder *holder, const struct fl_card *card)
{
	for (uint32_t i = 0; i < holder->devices.len; i++) {
		int64_t replica;

		if (fl_gpu_card_has(card, fl_gpu_id_base(holder->devices.at[i], &replica)))
			return true;
	}
	return false;
}

const struct fl_unit *fl_gpu_unit_find(const struct fl_resource *resource, struct fl_str id)
{
	uint32_t low = 0, high = resource->units.len;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = fl_str_cmp(id, resource->units.at[middle].id);

		if (order == 0)
			return &resource->units.at[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct fl_unit *fl_gpu_id_unit(const struct fl_resource *resource, struct fl_str id, uint32_t *ret_replica)
{
	int64_t replica;
	struct fl_str base = fl_gpu_id_base(id, &replica);
	const struct fl_unit *unit = fl_gpu_unit_find(resource, base);

	if (!unit || (unit->replicas > 0 ? replica < 0 || replica >= unit->replicas : replica >= 0))
		return NULL;
	if (ret_replica)
		*ret_replica = replica < 0 ? 0 : (uint32_t)replica;
	return unit;
}

struct fl_str fl_gpu_socket_of(struct fl_str socket)
{
	struct fl_str first = FL_S("nvidia-"), last = FL_S(".sock");

	if (!fl_str_starts(socket, first) || !fl_str_ends(socket, last) || socket.len <= first.len + last.len)
		return FL_S("");
	return fl_str_sub(socket, first.len, socket.len - first.len - last.len);
}
