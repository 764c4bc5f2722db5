/* What a child says, checked: its library may have written anywhere before it said it. */
#include "node/gpu/child.h"
#include "node/gpu/find.h"
#include "node/gpu/in.h"
#include "node/gpu/nv_mig.h"
#include "node/gpu/pci.h"
#include <inttypes.h>
#include <math.h>

FL_NAMES(fl_gpu_ask_names, FL_GPU_ASK_COUNT_, [0] = "nothing", [FL_GPU_ASK_DRIVER] = "driver",
	 [FL_GPU_ASK_CARD] = "card", [FL_GPU_ASK_CHECK] = "check", [FL_GPU_ASK_LINKS] = "links",
	 [FL_GPU_ASK_EVENTS] = "events", [FL_GPU_ASK_MODE] = "mode", [FL_GPU_ASK_SAMPLE] = "sample",
	 [FL_GPU_ASK_MIG] = "mig");

FL_BIND(fl_gpu_links_of, FL_GPU_LINKS_OF)
FL_BIND(fl_gpu_told, FL_GPU_TOLD)
FL_BIND(fl_gpu_reading, FL_GPU_READING)
FL_BIND(fl_gpu_words, FL_GPU_WORDS)
FL_BIND(fl_gpu_sample, FL_GPU_SAMPLE)

static int take(const struct fl_bind *bind, struct fl_str payload, struct fl_arena *arena, void *ret,
		struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	int r = fl_json_read(NULL, payload, 0, &doc, err);

	if (r >= 0)
		r = fl_decode(bind, yyjson_doc_get_root(doc), arena, 0, ret, err);
	if (r < 0 && r != -FL_E_NOMEM)
		return fl_fail(err, FL_E_INVALID, "a child's answer is invalid");
	return r;
}

static int nonsense(struct fl_err *err, const char *what)
{
	return fl_fail(err, FL_E_INVALID, "a child's answer has no valid %s", what);
}

static bool is_address(struct fl_str text)
{
	char plain[FL_PCI_ADDRESS];

	return text.len == FL_PCI_ADDRESS - 1 && fl_pci_address(text, plain) &&
	       memcmp(plain, text.p, sizeof plain - 1) == 0;
}

static int check_addresses(struct fl_str_list *list, struct fl_err *err)
{
	if (list->len > FL_GPU_CARDS_MAX)
		return nonsense(err, "number of GPUs");
	for (uint32_t i = 0; i < list->len; i++)
		if (!is_address(list->at[i]))
			return nonsense(err, "address of a GPU");
	return 0;
}

/* It ends up in names of files and of resources. */
static bool is_plain(struct fl_str text, uint32_t max)
{
	for (uint32_t i = 0; i < text.len; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~' || strchr("\"'/\\=,:", text.p[i]))
			return false;
	return text.len <= max;
}

int fl_gpu_take_told(struct fl_str payload, struct fl_arena *arena, struct fl_gpu_told *ret, struct fl_err *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = take(fl_gpu_told_bind(), payload, arena, ret, err);
	if (r < 0 || (r = check_addresses(&ret->cards, err)) < 0)
		return r;
	if (!is_plain(ret->driver.version, FL_GPU_VERSION_MAX))
		return nonsense(err, "version of the driver");
	if (ret->links.len > FL_GPU_CARDS_MAX)
		return nonsense(err, "number of GPUs");
	for (uint32_t i = 0; i < ret->links.len; i++) {
		const struct fl_gpu_links_of *of = &ret->links.at[i];

		if (!is_address(of->card) || of->links.len > FL_GPU_CARDS_MAX)
			return nonsense(err, "link");
		for (uint32_t n = 0; n < of->links.len; n++)
			if (!is_address(of->links.at[n].peer))
				return nonsense(err, "link");
	}
	return 0;
}

static bool is_minor(bool has, int32_t minor)
{
	return !has || (minor >= 0 && minor < 1 << 20);
}

static int check_parts(const struct fl_card *card, struct fl_err *err)
{
	if (card->partitions.len > FL_GPU_PARTS_MAX)
		return nonsense(err, "number of MIG devices");
	for (uint32_t i = 0; i < card->partitions.len; i++) {
		const struct fl_partition *p = &card->partitions.at[i];

		if (!p->uuid.len || !is_plain(p->uuid, FL_NV_TEXT) || !fl_mig_is_name(p->profile) || p->gi < 0 ||
		    p->ci < 0 || p->index < 0 || !is_minor(p->has.gi_cap, p->gi_cap) ||
		    !is_minor(p->has.ci_cap, p->ci_cap))
			return nonsense(err, "partition");
	}
	return 0;
}

static bool is_place(const struct fl_mig_place *place)
{
	return place->start >= 0 && place->size > 0 && place->start < 64 && place->size <= 64 - place->start;
}

static bool is_offer(const struct fl_mig_offer *offer)
{
	bool places = offer->places.len <= 64;

	for (uint32_t i = 0; places && i < offer->places.len; i++)
		places = is_place(&offer->places.at[i]);
	return places && fl_mig_is_name(offer->name) && offer->count > 0 && offer->count <= FL_GPU_PARTS_MAX &&
	       offer->slices > 0 && offer->slices <= FL_GPU_PARTS_MAX;
}

static bool is_instance(const struct fl_mig_instance *instance)
{
	bool computes = instance->computes.len <= FL_MIG_COMPUTES_MAX;

	for (uint32_t i = 0; computes && i < instance->computes.len; i++)
		computes = instance->computes.at[i] > 0 && instance->computes.at[i] <= FL_GPU_PARTS_MAX;
	return computes && fl_mig_is_name(instance->profile) && instance->start >= 0 && instance->start < 64;
}

/* Of MIG: what it could be, and what it is. */
static int check_layout(const struct fl_card *card, struct fl_err *err)
{
	if (card->offers.len > FL_NV_GI_COUNT || card->instances.len > FL_MIG_INSTANCES_MAX)
		return nonsense(err, "number of MIG profiles or GPU instances");
	for (uint32_t i = 0; i < card->offers.len; i++)
		if (!is_offer(&card->offers.at[i]))
			return nonsense(err, "MIG profile");
	for (uint32_t i = 0; i < card->instances.len; i++)
		if (!is_instance(&card->instances.at[i]))
			return nonsense(err, "GPU instance");
	return 0;
}

int fl_gpu_take_card(struct fl_str payload, struct fl_arena *arena, struct fl_card *ret, struct fl_err *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = take(fl_card_bind(), payload, arena, ret, err);
	if (r < 0)
		return r;
	if (!ret->has.answer || !is_address(ret->meta.name))
		return nonsense(err, "GPU");
	if (ret->answer == FL_CARD_ANSWERS && !ret->uuid.len)
		return nonsense(err, "UUID of a GPU");
	if (!is_plain(ret->uuid, FL_NV_TEXT) || !is_minor(ret->has.minor, ret->minor) ||
	    (ret->has.index && (ret->index < 0 || ret->index >= FL_GPU_CARDS_MAX)))
		return nonsense(err, "UUID, minor or index of a GPU");
	r = check_parts(ret, err);
	return r < 0 ? r : check_layout(ret, err);
}

int fl_gpu_take_fault(struct fl_str payload, struct fl_arena *arena, struct fl_card_fault *ret, struct fl_err *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = take(fl_card_fault_bind(), payload, arena, ret, err);
	if (r < 0)
		return r;
	if (!ret->has.what || !is_address(ret->card) || (ret->what == FL_FAULT_XID && !ret->has.xid))
		return nonsense(err, "fault");
	if (!ret->has.count || ret->count < 1)
		FL_SET(ret, count, 1);
	return 0;
}

void fl_gpu_fault_name(const struct fl_card_fault *fault, struct fl_buf *ret)
{
	fl_buf_printf(ret, "%.*s/", FL_ARG(fault->card));
	switch (fault->what) {
	case FL_FAULT_XID: fl_buf_printf(ret, "xid%lld", (long long)fault->xid); break;
	case FL_FAULT_ECC: fl_buf_str(ret, FL_S("ecc")); break;
	case FL_FAULT_RECOVERY: fl_buf_str(ret, FL_S("recovery")); break;
	case FL_FAULT_UNAVAILABLE: fl_buf_str(ret, FL_S("unavailable")); break;
	case FL_FAULT_WHAT_COUNT_: break;
	}
	if (fault->has.gi)
		fl_buf_printf(ret, ".gi%d", fault->gi);
	if (fault->has.ci)
		fl_buf_printf(ret, ".ci%d", fault->ci);
}

/* ---- telemetry ---- */

#define SAID_READINGS 64   /* of one card: itself, its GPU instances, its links */

void fl_gpu_put_set(const struct fl_dcgm_set *set, struct fl_buf *ret)
{
	for (uint32_t i = 0; i < FL_LEN(set->bits); i++)
		fl_buf_printf(ret, "%s%" PRIx64, i ? "," : "", set->bits[i]);
}

bool fl_gpu_take_set(struct fl_str text, struct fl_dcgm_set *ret)
{
	struct fl_str word;
	uint32_t n = 0;

	*ret = (struct fl_dcgm_set){ 0 };
	while (fl_str_split(&text, ',', &word)) {
		if (n == FL_LEN(ret->bits) || !word.len || word.len > 16)
			return false;
		for (uint32_t i = 0; i < word.len; i++) {
			const char *digit = memchr("0123456789abcdef", word.p[i], 16), *first = "0123456789abcdef";

			if (!digit)
				return false;
			ret->bits[n] = ret->bits[n] << 4 | (uint64_t)(digit - first);
		}
		n++;
	}
	return n == FL_LEN(ret->bits) && ret->bits[n - 1] >> (FL_DCGM_COUNT - 1) % 64 <= 1;
}

static bool reading_ok(const struct fl_gpu_reading *reading)
{
	if (reading->fields.len != reading->values.len || reading->fields.len > FL_DCGM_COUNT ||
	    (reading->has.gi && (reading->gi < 0 || reading->has.link)) ||
	    (reading->has.link && (reading->link < 0 || reading->link >= FL_DCGM_LINKS)))
		return false;
	for (uint32_t i = 0; i < reading->fields.len; i++)
		if (reading->fields.at[i] < 0 || reading->fields.at[i] >= FL_DCGM_COUNT ||
		    !isfinite(reading->values.at[i]))
			return false;
	return true;
}

int fl_gpu_take_sample(struct fl_str payload, struct fl_arena *arena, struct fl_gpu_sample *ret, struct fl_err *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = take(fl_gpu_sample_bind(), payload, arena, ret, err);
	if (r < 0)
		return r;
	if (!is_address(ret->card))
		return nonsense(err, "address of a GPU");
	if (ret->readings.len > SAID_READINGS)
		return nonsense(err, "number of readings");
	for (uint32_t i = 0; i < ret->readings.len; i++)
		if (!reading_ok(&ret->readings.at[i]))
			return nonsense(err, "reading");
	for (uint32_t i = 0; i < ret->words.len; i++)
		if (ret->words.at[i].field < 0 || ret->words.at[i].field >= FL_DCGM_COUNT)
			return nonsense(err, "text");
	return 0;
}
