#include "node/report.h"
#include "api/node.h"

/* "GPU-...::3" is a share of "GPU-...". */
static bool is_of(struct fl_str device, struct fl_str uuid)
{
	return uuid.len && fl_str_starts(device, uuid) &&
	       (device.len == uuid.len || (device.len > uuid.len + 2 && device.p[uuid.len] == ':'));
}

static bool holds(const struct fl_holder *holder, const struct fl_card *card, struct fl_str health)
{
	for (uint32_t i = 0; i < holder->devices.len; i++) {
		struct fl_str device = holder->devices.at[i];

		if (is_of(device, health))   /* the Health of a partition bears its UUID */
			return true;
		if (!card)
			continue;
		if (is_of(device, card->uuid))
			return true;
		for (uint32_t j = 0; j < card->partitions.len; j++)
			if (is_of(device, card->partitions.at[j].uuid))
				return true;
	}
	return false;
}

uint32_t fl_report_pods(struct fl_view *view, struct fl_str health, const struct fl_report_pod **ret)
{
	const struct fl_card *card = fl_view_get(view, &fl_card_kind, FL_S(""), health);
	struct fl_each each = fl_view_all(view, &fl_holder_kind);
	struct fl_report_pod *pods;
	const struct fl_holder *holders;
	uint32_t len = 0, count;
	void *all;

	*ret = NULL;
	count = fl_each_array(&each, &all);
	holders = all;
	pods = count ? fl_view_alloc(view, count, sizeof *pods) : NULL;
	if (!pods)
		return 0;
	/* Sorted by "<namespace>/<pod>/...": those of one Pod stand together. */
	for (uint32_t i = 0; i < count; i++) {
		const struct fl_holder *holder = &holders[i];

		if (len && fl_str_eq(pods[len - 1].space, holder->pod_space) &&
		    fl_str_eq(pods[len - 1].name, holder->pod))
			continue;
		if (holds(holder, card, health))
			pods[len++] = (struct fl_report_pod){ holder->pod_space, holder->pod };
	}
	*ret = pods;
	return len;
}
