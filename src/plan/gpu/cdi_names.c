#include "plan/gpu/cdi_in.h"
#include "plan/gpu/ids.h"

/* Is everybody known who holds a device? */
static bool all_told(const struct cdi *c)
{
	return c->facts->active && c->facts->active->settled;
}

bool cdi_held(const struct cdi *c, struct fl_str name)
{
	return !all_told(c) || fl_gpu_held(c->facts->holders, c->facts->holder_len, name);
}

bool cdi_is_uuid(struct fl_str name)
{
	return fl_str_starts(name, FL_S("GPU-")) || fl_str_starts(name, FL_S("MIG-"));
}

/* Is an index the name of a device that somebody holds? Then it stays what it was: the kubelet gives the name again to
 * each container of the Pod that starts anew. */
static bool held_by_index(const struct cdi *c, const struct fl_cdi_device *device)
{
	if (c->facts->settings->id_by != FL_ID_INDEX)
		return false;
	for (uint32_t i = 0; i < c->old->devices.len; i++) {
		const struct fl_cdi_device *other = &c->old->devices.at[i];

		if (cdi_is_uuid(other->name) && cdi_held(c, other->name) &&
		    fl_equal(fl_cdi_edits_bind(), &other->edits, &device->edits))
			return true;
	}
	return false;
}

/* Is there a card that cannot say now what it is? Then names of ours may be its. */
static bool somebody_silent(const struct cdi *c)
{
	for (uint32_t i = 0; i < c->facts->card_len; i++)
		if (c->facts->cards[i].answer != FL_CARD_ANSWERS || !c->facts->cards[i].uuid.len)
			return true;
	return false;
}

static bool there_by_uuid(const struct cdi *c, struct fl_str id)
{
	for (uint32_t i = 0; i < c->facts->card_len; i++)
		if (fl_gpu_card_has(&c->facts->cards[i], id))
			return true;
	return false;
}

/* An index that is held and whose device is gone goes first, so that it is not given to another one meanwhile. */
void cdi_keep_indexes(struct cdi *c)
{
	for (uint32_t i = 0; c->old && i < c->old->devices.len; i++) {
		const struct fl_cdi_device *device = &c->old->devices.at[i];
		bool there = false;

		if (cdi_is_uuid(device->name) || fl_str_eq(device->name, FL_S("all")) || !held_by_index(c, device))
			continue;
		for (uint32_t k = 0; k < c->old->devices.len; k++) {
			const struct fl_cdi_device *other = &c->old->devices.at[k];

			there |= cdi_is_uuid(other->name) && there_by_uuid(c, other->name) &&
				 fl_equal(fl_cdi_edits_bind(), &other->edits, &device->edits);
		}
		if (!there)
			cdi_put_device(c, device->name, &device->edits);
	}
}

void cdi_keep_names(struct cdi *c)
{
	bool silent = somebody_silent(c);

	for (uint32_t i = 0; c->old && i < c->old->devices.len; i++) {
		const struct fl_cdi_device *device = &c->old->devices.at[i];

		if (!fl_str_eq(device->name, FL_S("all")) && (silent || cdi_held(c, device->name)))
			cdi_put_device(c, device->name, &device->edits);
	}
}

bool cdi_any_held(const struct cdi *c)
{
	if (!all_told(c))
		return true;
	for (uint32_t i = 0; i < c->facts->holder_len; i++)
		for (uint32_t k = 0; k < c->facts->holders[i].devices.len; k++)
			if (cdi_is_uuid(c->facts->holders[i].devices.at[k]))
				return true;
	return false;
}
