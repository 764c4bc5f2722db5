/* The labels of the node as a whole: its machine, its driver, and what its GPUs have in common. */
#include "plan/labels/labels.h"
#include "plan/labels/labels_in.h"
#include "plan/labels/sanitise.h"
#include <stdarg.h>
#include <stdlib.h>

/* What is put at most: the node's own, those of one resource (gpu), and of each profile. */
#define FL_LABELS_OF_NODE 24
#define FL_LABELS_OF_RESOURCE 16

/* NVML's states and codes of the fabric. */
enum { FABRIC_COMPLETED = 3, FABRIC_SUCCESS = 0 };

void labels_put(struct labels *l, struct fl_str name, const char *more, const char *fmt, ...)
{
	struct fl_str key = fl_plan_printf(l->plan, "nvidia.com/%.*s%s%s", FL_ARG(name), more ? "." : "",
					   more ? more : "");
	char room[FL_PLAN_TEXT] = "";
	struct fl_buf value = FL_BUF_IN(room);
	uint32_t i = 0;
	va_list args;

	va_start(args, fmt);
	fl_buf_vprintf(&value, fmt, args);
	va_end(args);
	while (i < l->len && !fl_str_eq(l->at[i].key, key))
		i++;
	if (l->plan->failed || i == l->cap) {
		l->plan->failed = true;
		return;
	}
	l->at[i] = (struct fl_pair){ key, fl_plan_printf(l->plan, "%s", room) };
	l->len += i == l->len;
}

static void put_bool(struct labels *l, const char *name, bool value)
{
	labels_put(l, fl_str(name), NULL, "%s", value ? "true" : "false");
}

/* ---- the machine and the driver ---- */

static void put_machine(struct labels *l)
{
	const struct fl_given *given = l->facts->given;
	struct fl_str machine = given->has.machine ? labels_sanitise(l->plan, given->machine) : FL_S("unknown");

	labels_put(l, FL_S("gpu.machine"), NULL, "%.*s", FL_ARG(machine));
}

/* "550.54.15", "570.86"; false: another shape. */
static bool split_version(struct fl_str version, struct fl_str ret[3])
{
	struct fl_str rest = version;
	uint32_t len = 0;
	uint64_t number;

	ret[2] = FL_S("");
	while (len < 3 && fl_str_split(&rest, '.', &ret[len])) {
		if (!fl_str_u64(ret[len], &number))
			return false;
		len++;
	}
	return len >= 2 && !rest.p;
}

static struct fl_str put_driver(struct labels *l)
{
	const struct fl_driver *driver = l->facts->driver;
	struct fl_str part[3];

	if (!split_version(driver->version, part))
		return fl_plan_printf(l->plan, "the driver's version '%.*s' is not X.Y or X.Y.Z: install a released "
					       "driver",
				      FL_ARG(driver->version));
	labels_put(l, FL_S("cuda.driver"), "major", "%.*s", FL_ARG(part[0]));
	labels_put(l, FL_S("cuda.driver"), "minor", "%.*s", FL_ARG(part[1]));
	labels_put(l, FL_S("cuda.driver"), "rev", "%.*s", FL_ARG(part[2]));
	labels_put(l, FL_S("cuda.driver-version"), "major", "%.*s", FL_ARG(part[0]));
	labels_put(l, FL_S("cuda.driver-version"), "minor", "%.*s", FL_ARG(part[1]));
	labels_put(l, FL_S("cuda.driver-version"), "revision", "%.*s", FL_ARG(part[2]));
	labels_put(l, FL_S("cuda.driver-version"), "full", "%.*s", FL_ARG(driver->version));
	return FL_S("");
}

static void put_cuda(struct labels *l)
{
	const struct fl_driver *driver = l->facts->driver;
	int32_t major = driver->cuda / 1000, minor = driver->cuda % 1000 / 10;

	if (!driver->has.cuda)
		return;
	labels_put(l, FL_S("cuda.runtime"), "major", "%d", major);
	labels_put(l, FL_S("cuda.runtime"), "minor", "%d", minor);
	labels_put(l, FL_S("cuda.runtime-version"), "major", "%d", major);
	labels_put(l, FL_S("cuda.runtime-version"), "minor", "%d", minor);
	labels_put(l, FL_S("cuda.runtime-version"), "full", "%d.%d", major, minor);
}

/* ---- what the GPUs have in common ---- */

static bool has_mig(const struct labels *l)
{
	for (uint32_t i = 0; i < l->card_len; i++)
		if (l->cards[i]->mig)
			return true;
	return false;
}

static struct fl_str put_capabilities(struct labels *l)
{
	const struct fl_settings *settings = l->facts->settings;
	bool mig = false, mps = settings->mps && settings->sharing.len;

	if (mps && has_mig(l))
		return FL_S("MPS cannot share a GPU that is in MIG mode: switch MIG off on it, or remove sharing.mps");
	for (uint32_t i = 0; i < l->card_len; i++)
		mig |= l->cards[i]->mig_capable;
	put_bool(l, "mig.capable", mig);
	put_bool(l, "mps.capable", mps);
	return FL_S("");
}

static const char *mode_of(struct fl_str class)
{
	if (fl_str_eq(class, FL_S("0300")))
		return "graphics";
	return fl_str_eq(class, FL_S("0302")) ? "compute" : "unknown";
}

static void put_mode(struct labels *l)
{
	const char *mode = mode_of(l->cards[0]->pci_class);

	for (uint32_t i = 1; i < l->card_len; i++)
		if (strcmp(mode_of(l->cards[i]->pci_class), mode) != 0)
			mode = "unknown";
	labels_put(l, FL_S("gpu.mode"), NULL, "%s", mode);
}

static bool in_clique(const struct fl_card *card)
{
	const struct fl_fabric *fabric = &card->fabric;

	return card->has.fabric && fabric->state == FABRIC_COMPLETED && fabric->status == FABRIC_SUCCESS &&
	       fabric->has.cluster;
}

/* Only where all that are in one are in the same. */
static void put_clique(struct labels *l)
{
	const struct fl_fabric *found = NULL;

	for (uint32_t i = 0; i < l->card_len; i++) {
		const struct fl_fabric *fabric = &l->cards[i]->fabric;

		if (!in_clique(l->cards[i]))
			continue;
		if (found && (!fl_str_eq(found->cluster, fabric->cluster) || found->clique != fabric->clique))
			return;
		found = fabric;
	}
	if (found)
		labels_put(l, FL_S("gpu.clique"), NULL, "%.*s.%lld", FL_ARG(found->cluster), (long long)found->clique);
}

/* On the bus, whoever has it: the driver need not know it. */
static void put_vgpu(struct labels *l)
{
	const struct fl_card *vgpu = NULL;

	for (uint32_t i = 0; i < l->facts->card_len && !vgpu; i++)
		if (l->facts->cards[i].vgpu)
			vgpu = &l->facts->cards[i];
	put_bool(l, "vgpu.present", vgpu != NULL);
	if (!vgpu || !vgpu->has.vgpu_version)
		return;
	labels_put(l, FL_S("vgpu.host-driver-version"), NULL, "%.*s", FL_ARG(vgpu->vgpu_version));
	labels_put(l, FL_S("vgpu.host-driver-branch"), NULL, "%.*s", FL_ARG(vgpu->vgpu_branch));
}

/* ---- all of them ---- */

bool fl_labels_counts(const struct fl_card *card)
{
	return !fl_card_elsewhere(card) && card->has.product;
}

static int by_key(const void *a, const void *b)
{
	return fl_str_cmp(((const struct fl_pair *)a)->key, ((const struct fl_pair *)b)->key);
}

static struct fl_str put_gpus(struct labels *l)
{
	struct fl_str why;

	put_machine(l);
	why = put_driver(l);
	if (!why.len)
		why = put_capabilities(l);
	put_cuda(l);
	labels_resources(l);
	put_mode(l);
	put_clique(l);
	if (l->facts->settings->present_label)
		put_bool(l, "gpu.present", true);
	return why;
}

struct fl_str fl_labels_make(const struct fl_labels_facts *facts, struct fl_plan *plan, struct fl_map *ret)
{
	struct labels l = { .facts = facts, .plan = plan };
	struct fl_str why = FL_S("");

	*ret = (struct fl_map){ 0 };
	l.cards = fl_plan_get(plan, facts->card_len + 1, sizeof(const struct fl_card *));
	for (uint32_t i = 0; l.cards && i < facts->card_len; i++)
		if (fl_labels_counts(&facts->cards[i])) {
			l.cards[l.card_len++] = &facts->cards[i];
			l.part_len += facts->cards[i].partitions.len;
		}
	l.cap = FL_LABELS_OF_NODE + FL_LABELS_OF_RESOURCE * (1 + l.part_len);
	l.at = fl_plan_get(plan, l.cap, sizeof *l.at);
	if (!l.cards || !l.at)
		return why;
	if (l.card_len)
		why = put_gpus(&l);
	put_vgpu(&l);
	if (plan->failed)
		return why;
	qsort(l.at, l.len, sizeof *l.at, by_key);
	*ret = (struct fl_map){ l.at, l.len };
	return why;
}
