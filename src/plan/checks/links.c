/* The checks of how GPUs are connected: programs run without, and slowly. */
#include "plan/checks/checks_in.h"

static bool can_look(const struct fl_checks_facts *f, struct checks_verdict *v)
{
	if (f->driver->state == FL_DRIVER_READY)
		return true;
	v->message = FL_S("waits for the driver");
	return false;
}

static void skip(struct checks_verdict *v, const char *reason, const char *message)
{
	*v = (struct checks_verdict){ FL_CHECK_SKIPPED, reason, fl_str(message) };
}

bool checks_pcie(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (fl_card_elsewhere(card) || !card->has.pcie_width || !card->has.pcie_width_max)
			continue;
		known++;
		if (card->pcie_width < card->pcie_width_max)
			checks_fail(plan, v, "Narrow", "the link of GPU %.*s has %d lanes of %d: reseat the GPU, and "
						       "check its slot and riser",
				    FL_ARG(card->meta.name), (int)card->pcie_width, (int)card->pcie_width_max);
	}
	if (!known)
		skip(v, "NotTold", "the kernel tells of no PCIe link of a GPU");
	return true;
}

/* In MIG mode a GPU has no peers. */
static bool has_peers(const struct fl_card *card)
{
	return checks_answers(card) && !card->mig;
}

/* It is told by one of the two only, the GPU with the lower address; NULL: it is not known. */
static const struct fl_card_link *link_between(const struct fl_card *a, const struct fl_card *b)
{
	const struct fl_card_link *link = fl_find(a->links.at, a->links.len, peer, b->meta.name);

	return link ? link : fl_find(b->links.at, b->links.len, peer, a->meta.name);
}

/* To all other GPUs that answer: one that is lost takes no link away from the others. */
static int64_t nvlinks_of(const struct fl_checks_facts *f, const struct fl_card *card)
{
	int64_t links = 0;

	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *other = &f->cards[i];
		const struct fl_card_link *link = other != card && has_peers(other) ? link_between(card, other) : NULL;

		links += link ? link->nvlinks : 0;
	}
	return links;
}

/* Two that answered when links were read have a link by PCIe at least. Where one has come since, they are read again in
 * a moment. */
static bool are_told(const struct fl_checks_facts *f, const struct fl_card *card)
{
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *other = &f->cards[i];

		if (other != card && has_peers(other) && fl_str_eq(other->product, card->product) &&
		    !link_between(card, other))
			return false;
	}
	return true;
}

/* Of its model the most that one has. `links` are those of each GPU. */
static int64_t most_of_model(const struct fl_checks_facts *f, const int64_t *links, const struct fl_card *card)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < f->card_len; i++)
		if (has_peers(&f->cards[i]) && fl_str_eq(f->cards[i].product, card->product) && links[i] > most)
			most = links[i];
	return most;
}

bool checks_nvlink(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	int64_t *links = fl_plan_get(plan, (size_t)f->card_len + 1, sizeof *links);
	bool any = false;

	if (!links || !can_look(f, v))
		return false;
	for (uint32_t i = 0; i < f->card_len; i++)
		links[i] = nvlinks_of(f, &f->cards[i]);
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];
		int64_t most = has_peers(card) ? most_of_model(f, links, card) : 0;

		any |= most > 0;
		if (most && !are_told(f, card)) {
			v->message = FL_S("waits for the links between GPUs");
			return false;
		}
		if (links[i] < most)
			checks_fail(plan, v, "LinksDown", "GPU %.*s has fewer NVLinks to the other GPUs than others of "
							  "its model (%lld of %lld, counted for each pair): look for "
							  "XID 74 and at nvidia-smi nvlink -s",
				    FL_ARG(card->meta.name), (long long)links[i], (long long)most);
	}
	if (!any)
		skip(v, "NoNVLink", "no GPU has an NVLink to another one");
	return true;
}

/* ---- fabric ---- */

enum { FABRIC_NOT_STARTED = 1, FABRIC_IN_PROGRESS = 2, FABRIC_COMPLETED = 3 };

/* Two bits for each question of the mask: 1 is yes. */
static bool told(int64_t mask, int at)
{
	return (mask >> at & 3) == 1;
}

static const char *trouble_of(const struct fl_fabric *fabric, const char **ret_reason)
{
	int64_t mask = fabric->has.health ? fabric->health : 0;

	*ret_reason = "FabricManager";
	if (fabric->state != FABRIC_COMPLETED)
		return "has not joined its NVLink fabric: start nvidia-fabricmanager, and look into its log";
	if (fabric->status)
		return "could not join its NVLink fabric: look into the log of nvidia-fabricmanager, and restart it";
	*ret_reason = "Unhealthy";
	if (told(mask, 4) || told(mask, 6))
		return "cannot reach its NVLink fabric: check the switches and the log of nvidia-fabricmanager";
	if ((mask >> 8 & 15) > 1)
		return "has an NVLink fabric that is set up wrongly: check the fabric's partitions";
	*ret_reason = "Degraded";
	if (told(mask, 0))
		return "has less NVLink bandwidth than it should: check the links and the switches";
	return told(mask, 2) ? "has routes of its NVLink fabric under repair: wait; then check the switches" : NULL;
}

bool checks_fabric(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	bool any = false;

	if (!can_look(f, v))
		return false;
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];
		const char *reason, *trouble;

		if (!checks_answers(card) || !card->has.fabric || !card->fabric.state)
			continue;
		any = true;
		if (card->fabric.state == FABRIC_IN_PROGRESS) {
			v->message = FL_S("waits for a GPU to join its NVLink fabric");
			return false;
		}
		trouble = trouble_of(&card->fabric, &reason);
		if (trouble)
			checks_fail(plan, v, reason, "GPU %.*s %s", FL_ARG(card->meta.name), trouble);
	}
	if (!any)
		skip(v, "NoFabric", "no GPU can join an NVLink fabric");
	return true;
}
