/* The checks of the driver and of the host: without these no GPU program runs. */
#include "plan/checks/checks_in.h"
#include "plan/gpu/needs.h"

enum { MAJOR_OF_GPUS = 195 };

bool checks_answers(const struct fl_card *card)
{
	return card->answer == FL_CARD_ANSWERS && !fl_card_elsewhere(card);
}

static bool any_answers(const struct fl_checks_facts *f)
{
	for (uint32_t i = 0; i < f->card_len; i++)
		if (checks_answers(&f->cards[i]))
			return true;
	return false;
}

/* ---- driver ---- */

static bool has_gpu(const struct fl_checks_facts *f)
{
	for (uint32_t i = 0; i < f->card_len; i++)
		if (!fl_card_elsewhere(&f->cards[i]))
			return true;
	return false;
}

/* Each GPU on the bus that is not another kernel driver's. */
static bool judge_cards(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (fl_card_elsewhere(card) || card->answer == FL_CARD_ANSWERS)
			continue;
		if (!card->bound.len) {
			checks_fail(plan, v, "NotBound", "GPU %.*s is bound to no kernel driver: load the module "
							 "nvidia, or "
							 "look into the kernel log",
				    FL_ARG(card->meta.name));
			continue;
		}
		if (card->answer == FL_CARD_UNASKED) {
			v->message = FL_S("waits for the driver to report all GPUs");
			return false;
		}
		checks_fail(plan, v, "NotAnswering", "GPU %.*s does not answer%s%.*s", FL_ARG(card->meta.name),
			    card->message.len ? ": " : "", FL_ARG(card->message));
	}
	return true;
}

bool checks_driver(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	const struct fl_driver *driver = f->driver;

	switch (driver->state) {
	case FL_DRIVER_READY: return judge_cards(f, plan, v);
	case FL_DRIVER_STARTING:
	case FL_DRIVER_PAUSED:
		v->message = driver->message.len ? driver->message : FL_S("waits for the driver");
		return false;
	case FL_DRIVER_ABSENT:
		if (!has_gpu(f)) {
			*v = (struct checks_verdict){ FL_CHECK_SKIPPED, "NoGPU", FL_S("this node has no GPU") };
			return true;
		}
		checks_fail(plan, v, "Absent", "%.*s", FL_ARG(driver->message));
		return true;
	case FL_DRIVER_MISMATCH: checks_fail(plan, v, "Mismatch", "%.*s", FL_ARG(driver->message)); return true;
	case FL_DRIVER_SICK:
	case FL_DRIVER_STATE_COUNT_: break;
	}
	checks_fail(plan, v, "Sick", "%.*s", FL_ARG(driver->message));
	return true;
}

/* What looks at GPUs: is there any to be looked at, and is it known? */
static bool can_look(const struct fl_checks_facts *f, struct checks_verdict *v, bool *ret_known)
{
	*ret_known = true;
	if (f->driver->state == FL_DRIVER_READY && any_answers(f))
		return true;
	if (f->driver->state == FL_DRIVER_READY || (f->driver->state == FL_DRIVER_ABSENT && !has_gpu(f))) {
		*v = (struct checks_verdict){ FL_CHECK_SKIPPED, "NoGPU", FL_S("no GPU answers") };
		return false;
	}
	v->message = FL_S("waits for the driver");
	*ret_known = false;
	return false;
}

/* ---- device nodes ---- */

static void judge_nodes_of(const struct fl_checks_facts *f, struct fl_plan *plan, const struct fl_card *card,
			   const struct fl_partition *part, struct checks_verdict *v)
{
	struct fl_gpu_nodes nodes = fl_gpu_nodes(plan, f->host, card, part);
	struct fl_str missing = fl_gpu_node_missing(&nodes);

	if (missing.len) {
		checks_fail(plan, v, "Missing", "%.*s of GPU %.*s is missing: run nvidia-modprobe, or mount the "
						"host's "
						"/dev",
			    FL_ARG(missing), FL_ARG(card->meta.name));
		return;
	}
	if (!part && (nodes.node[0]->major != MAJOR_OF_GPUS || nodes.node[0]->minor != card->minor))
		checks_fail(plan, v, "WrongNumbers", "%.*s has the numbers %d:%d instead of %d:%d: remove it and run "
						     "nvidia-modprobe",
			    FL_ARG(nodes.path[0]), (int)nodes.node[0]->major, (int)nodes.node[0]->minor, MAJOR_OF_GPUS,
			    (int)card->minor);
}

bool checks_nodes(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	bool known;

	if (!can_look(f, v, &known))
		return known;
	if (f->host && fl_gpu_host_failed(f->host)) {
		checks_fail(plan, v, "NotScanned", "%.*s", FL_ARG(f->host->message));
		return true;
	}
	if (!f->host || !fl_gpu_host_seen(f->host)) {
		v->message = FL_S("waits for the scan of the device nodes");
		return false;
	}
	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (!checks_answers(card))
			continue;
		judge_nodes_of(f, plan, card, NULL, v);
		for (uint32_t p = 0; card->mig && p < card->partitions.len; p++)
			judge_nodes_of(f, plan, card, &card->partitions.at[p], v);
	}
	return true;
}

/* ---- toolkit ---- */

static bool is_waiting(struct fl_str why)
{
	return fl_str_starts(why, FL_S("waits "));
}

bool checks_toolkit(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	struct fl_gpu_needs_facts needs = { f->settings, f->host, f->cards, f->specs, f->card_len, f->spec_len };
	struct fl_str why;
	bool known;

	if (!can_look(f, v, &known))
		return known;
	why = fl_gpu_needs(&needs, plan->arena);
	if (is_waiting(why)) {
		v->message = why;
		return false;
	}
	if (why.len)
		checks_fail(plan, v, "Missing", "%.*s", FL_ARG(why));
	if (f->runtime && f->runtime->cdi_known && !f->runtime->cdi && fl_gpu_by_cdi(f->settings))
		checks_fail(plan, v, "CDIOff", "%.*s has CDI off, and drops CDI devices in silence: switch "
					       "enable_cdi on",
			    FL_ARG(f->runtime->runtime));
	return true;
}

/* ---- CUDA ---- */

bool checks_cuda(const struct fl_checks_facts *f, struct fl_plan *plan, struct checks_verdict *v)
{
	uint32_t tried = 0;

	for (uint32_t i = 0; i < f->card_len; i++) {
		const struct fl_card *card = &f->cards[i];

		if (fl_card_elsewhere(card) || !card->has.cuda)
			continue;
		tried++;
		if (!card->cuda)
			checks_fail(plan, v, "Failed", "GPU %.*s: %.*s: reset it, and have it replaced if that "
						       "does not help",
				    FL_ARG(card->meta.name), FL_ARG(card->message));
	}
	if (!tried)
		*v = (struct checks_verdict){ FL_CHECK_SKIPPED, "NotRun",
					      FL_S("CUDA is tried before a GPU that hung comes back") };
	return true;
}
