#include "node/gpu/read.h"
#include "base/units.h"
#include "node/gpu/in.h"
#include "node/gpu/pci.h"
#include <stdio.h>
#include <stdlib.h>

#define FL_GPU_PLACES_MAX 8                  /* of a profile: there are at most eight memory slices */
#define FL_GPU_CAPS_MAX (256 * FL_KIB)       /* mig-minors: 32 cards with all instances that there could be: 170 KiB */

/* The profiles of a card, by number: what an instance's profile id stands for. */
struct fl_gpu_profiles {
	char address[FL_PCI_ADDRESS];
	struct fl_gpu_profile {
		bool is;
		struct fl_nv_gi_profile_v3 info;
		uint32_t place_len;
		struct fl_nv_placement places[FL_GPU_PLACES_MAX];
	} at[FL_NV_GI_COUNT];
};

/* One card while it is being read. */
struct reading {
	struct fl_gpu_reader *reader;
	const struct fl_nv *nv;
	struct fl_nv_device *device;
	struct fl_arena *arena;
	struct fl_card *card;
	uint64_t bytes;              /* of its memory */
	int over;                    /* a code that ends it; 0: go on */
	const char *over_at;         /* the call that said so */
	bool nomem;
};

void fl_gpu_reader_free(struct fl_gpu_reader *reader)
{
	fl_mig_caps_free(&reader->caps);
	fl_vec_free(&reader->profiles);
	reader->has_caps = false;
}

/* ---- asking ---- */

/* Has the call given a value? Codes that end the reading are kept. */
static bool gave(struct reading *r, int code, const char *what)
{
	switch (fl_nv_means(code)) {
	case FL_NV_IS_FINE: return true;
	case FL_NV_IS_NO_DRIVER:
	case FL_NV_IS_REPLACED:
	case FL_NV_IS_LOST:
		if (!r->over) {
			r->over = code;
			r->over_at = what;
		}
		return false;
	case FL_NV_IS_ABSENT:
	case FL_NV_IS_OLDER:
	case FL_NV_IS_DENIED:
	case FL_NV_IS_NO_SUCH:
	case FL_NV_IS_BUSY:
	case FL_NV_IS_QUIET:
	case FL_NV_IS_FAILED: break;
	}
	return false;
}
#define ASK(r, member, ...) (!(r)->over && gave((r), FL_NV((r)->nv, member, __VA_ARGS__), #member))

static struct fl_str keep(struct reading *r, const char *text, size_t size)
{
	struct fl_str copy = fl_arena_str(r->arena, (struct fl_str){ text, (uint32_t)strnlen(text, size) });

	r->nomem |= !copy.p;
	return copy;
}

int fl_gpu_handle(const struct fl_nv *nv, struct fl_str address, struct fl_nv_device **ret)
{
	char bus_id[FL_NV_PCI_TEXT];

	*ret = NULL;
	(void)snprintf(bus_id, sizeof bus_id, "0000%.*s", (int)(address.len < 16 ? address.len : 16), address.p);
	return FL_NV(nv, by_pci, bus_id, ret);
}

enum fl_recovery fl_gpu_recovery(const struct fl_nv *nv, struct fl_nv_device *device)
{
	struct fl_nv_field_value value = { .field = FL_NV_FIELD_RECOVERY_ACTION };

	if (FL_NV(nv, field_values, device, 1, &value) != FL_NV_SUCCESS || value.code != FL_NV_SUCCESS ||
	    value.value.u32 >= FL_RECOVERY_COUNT_)
		return FL_RECOVERY_NONE;
	return (enum fl_recovery)value.value.u32;
}

/* ---- the driver ---- */

int fl_gpu_read_driver(struct fl_gpu_reader *reader, struct fl_arena *arena, struct fl_driver *ret,
		       struct fl_err *err)
{
	char version[FL_NV_TEXT] = "";
	int cuda = 0;
	int code = FL_NV(reader->nv, driver_version, version, sizeof version - 1);

	if (fl_nv_means(code) != FL_NV_IS_FINE && fl_nv_means(code) != FL_NV_IS_ABSENT)
		return fl_nv_fail(reader->nv, code, "nvmlSystemGetDriverVersion", err);
	if (version[0]) {
		FL_SET(ret, version, fl_arena_str(arena, fl_str(version)));
		if (!ret->version.p)
			return fl_fail(err, FL_E_NOMEM, "no memory");
	}
	if (FL_NV(reader->nv, cuda_version, &cuda) == FL_NV_SUCCESS && cuda > 0)
		FL_SET(ret, cuda, cuda);
	FL_SET(ret, state, FL_DRIVER_READY);
	return 0;
}

int fl_gpu_read_list(struct fl_gpu_reader *reader, uint32_t known, struct fl_arena *arena, struct fl_str_list *ret,
		     struct fl_err *err)
{
	uint32_t count = 0;
	int code = FL_NV(reader->nv, count, &count);

	*ret = (struct fl_str_list){ 0 };
	if (fl_nv_means(code) != FL_NV_IS_FINE)
		return fl_nv_fail(reader->nv, code, "nvmlDeviceGetCount", err);
	if (count <= known)
		return 0;
	if (count > FL_GPU_CARDS_MAX)
		count = FL_GPU_CARDS_MAX;
	ret->at = fl_arena_get_n(arena, count, sizeof *ret->at);
	if (!ret->at)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	for (uint32_t i = 0; i < count; i++) {
		struct fl_nv_device *device = NULL;
		struct fl_nv_pci pci = { 0 };
		char address[FL_PCI_ADDRESS];

		if (FL_NV(reader->nv, by_index, i, &device) != FL_NV_SUCCESS ||
		    FL_NV(reader->nv, pci, device, &pci) != FL_NV_SUCCESS)
			continue;   /* lost: the bus tells of it, where there is one */
		if (!fl_pci_address((struct fl_str){ pci.bus_id, (uint32_t)strnlen(pci.bus_id, sizeof pci.bus_id) },
				    address))
			continue;
		ret->at[ret->len] = fl_arena_str(arena, fl_str(address));
		if (!ret->at[ret->len++].p)
			return fl_fail(err, FL_E_NOMEM, "no memory");
	}
	return 0;
}

/* ---- a card ---- */

static void read_names(struct reading *r)
{
	char text[FL_NV_TEXT] = "";
	uint32_t number = 0;

	if (ASK(r, uuid, r->device, text, sizeof text))
		FL_SET(r->card, uuid, keep(r, text, sizeof text));
	memset(text, 0, sizeof text);
	if (ASK(r, name, r->device, text, sizeof text))
		FL_SET(r->card, product, keep(r, text, sizeof text));
	if (ASK(r, index, r->device, &number))
		FL_SET(r->card, index, (int32_t)number);
	if (ASK(r, minor, r->device, &number))
		FL_SET(r->card, minor, (int32_t)number);
	if (ASK(r, compute_mode, r->device, &number) && number) {
		FL_SET(r->card, compute_mode, (int32_t)number);
		FL_SET(r->card, mode_read, (int32_t)number);
	}
}

static void read_memory(struct reading *r)
{
	struct fl_nv_memory_v2 v2 = { .version = FL_NV_VERSION(struct fl_nv_memory_v2, 2) };
	struct fl_nv_memory v1 = { 0 };

	/* Names of MIG profiles are made from v1's total, as NVIDIA's tools make them. */
	if (ASK(r, memory, r->device, &v1))
		r->bytes = v1.total;
	else if (ASK(r, memory_v2, r->device, &v2))
		r->bytes = v2.total;
	if (r->bytes)
		FL_SET(r->card, memory, (int64_t)(r->bytes >> 20));
}

static void read_errors(struct reading *r)
{
	unsigned long long count = 0;
	uint32_t correctable, uncorrectable, pending = 0, failed = 0;
	enum fl_recovery recovery;

	if (ASK(r, ecc_total, r->device, FL_NV_UNCORRECTED, FL_NV_VOLATILE, &count))
		FL_SET(r->card, ecc, (int64_t)(count & INT64_MAX));
	if (ASK(r, remapped_rows, r->device, &correctable, &uncorrectable, &pending, &failed)) {
		FL_SET(r->card, remap_pending, pending != 0);
		FL_SET(r->card, remap_failed, failed != 0);
	} else if (ASK(r, retired_pending, r->device, &pending)) {   /* before Ampere: pages, not rows */
		FL_SET(r->card, remap_pending, pending != 0);
	}
	if (r->over)
		return;
	recovery = fl_gpu_recovery(r->nv, r->device);
	if (recovery != FL_RECOVERY_NONE)
		FL_SET(r->card, recovery, recovery);
}

/* Version 3, 2 and the oldest in one; false: the driver has no such thing. */
static bool ask_fabric(struct reading *r, struct fl_nv_fabric_v3 *ret, bool *ret_health)
{
	struct fl_nv_fabric_v2 v2 = { .version = FL_NV_VERSION(struct fl_nv_fabric_v2, 2) };
	struct fl_nv_fabric v1 = { 0 };

	*ret_health = true;
	*ret = (struct fl_nv_fabric_v3){ .version = FL_NV_VERSION(struct fl_nv_fabric_v3, 3) };
	if (ASK(r, fabric_any, r->device, ret))
		return true;
	if (ASK(r, fabric_any, r->device, &v2)) {
		memcpy(ret->cluster, v2.cluster, sizeof ret->cluster);
		ret->status = v2.status;
		ret->clique = v2.clique;
		ret->state = v2.state;
		ret->health = v2.health;
		return true;
	}
	*ret_health = false;
	if (!ASK(r, fabric, r->device, &v1))
		return false;
	memcpy(ret->cluster, v1.cluster, sizeof ret->cluster);
	ret->status = v1.status;
	ret->clique = v1.clique;
	ret->state = v1.state;
	return true;
}

static void read_fabric(struct reading *r)
{
	static const uint8_t none[16] = { 0 };
	struct fl_nv_fabric_v3 info;
	struct fl_fabric *fabric = &r->card->fabric;
	const uint8_t *c = info.cluster;
	bool has_health;

	if (!ask_fabric(r, &info, &has_health) || info.state == FL_NV_FABRIC_NOT_SUPPORTED)
		return;
	r->card->has.fabric = true;
	FL_SET(fabric, state, info.state);
	if (info.state != FL_NV_FABRIC_COMPLETED)
		return;
	FL_SET(fabric, status, info.status);
	FL_SET(fabric, clique, info.clique);
	if (memcmp(c, none, sizeof none) != 0)
		FL_SET(fabric, cluster,
		       fl_arena_printf(r->arena, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
				       c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12],
				       c[13], c[14], c[15]));
	r->nomem |= fabric->has.cluster && !fabric->cluster.p;
	if (has_health)
		FL_SET(fabric, health, info.health);
}

/* ---- MIG ---- */

int fl_gpu_ask_profile(const struct fl_nv *nv, struct fl_nv_device *device, uint32_t number,
		       struct fl_nv_gi_profile_v3 *ret)
{
	struct fl_nv_gi_profile_v2 v2 = { .version = FL_NV_VERSION(struct fl_nv_gi_profile_v2, 2) };
	struct fl_nv_gi_profile v1 = { 0 };
	int code;

	*ret = (struct fl_nv_gi_profile_v3){ .version = FL_NV_VERSION(struct fl_nv_gi_profile_v3, 3) };
	code = FL_NV(nv, gi_profile_any, device, number, ret);
	if (fl_nv_means(code) == FL_NV_IS_OLDER) {
		code = FL_NV(nv, gi_profile_any, device, number, &v2);
		v1 = (struct fl_nv_gi_profile){ .id = v2.id, .slices = v2.slices, .instances = v2.instances,
						.decoders = v2.decoders, .encoders = v2.encoders, .jpegs = v2.jpegs,
						.ofas = v2.ofas, .memory_mib = v2.memory_mib };
	} else if (code != FL_NV_FUNCTION_NOT_FOUND) {
		return code;
	}
	if (fl_nv_means(code) == FL_NV_IS_OLDER || code == FL_NV_FUNCTION_NOT_FOUND)
		code = FL_NV(nv, gi_profile, device, number, &v1);
	ret->id = v1.id;
	ret->slices = v1.slices;
	ret->instances = v1.instances;
	ret->decoders = v1.decoders;
	ret->encoders = v1.encoders;
	ret->jpegs = v1.jpegs;
	ret->ofas = v1.ofas;
	ret->memory_mib = v1.memory_mib;
	return code;
}

static void ask_places(const struct fl_nv *nv, struct fl_nv_device *device, struct fl_gpu_profile *profile)
{
	uint32_t count = 0;

	if (FL_NV(nv, gi_placements, device, profile->info.id, NULL, &count) == FL_NV_SUCCESS &&
	    count <= FL_GPU_PLACES_MAX &&
	    FL_NV(nv, gi_placements, device, profile->info.id, profile->places, &count) == FL_NV_SUCCESS)
		profile->place_len = count < FL_GPU_PLACES_MAX ? count : FL_GPU_PLACES_MAX;
}

static const struct fl_gpu_profiles *profiles_of(struct reading *r)
{
	struct fl_gpu_profiles made = { 0 };

	fl_vec_each (known, &r->reader->profiles)
		if (fl_str_eq(fl_str(known->address), r->card->meta.name))
			return known;
	(void)snprintf(made.address, sizeof made.address, "%.*s", FL_ARG(r->card->meta.name));
	for (uint32_t i = 0; i < FL_NV_GI_COUNT && !r->over; i++) {
		if (!gave(r, fl_gpu_ask_profile(r->nv, r->device, i, &made.at[i].info), "gi_profile"))
			continue;
		made.at[i].is = true;
		ask_places(r->nv, r->device, &made.at[i]);
	}
	if (r->over || fl_vec_push(&r->reader->profiles, made) < 0) {
		r->nomem |= !r->over;
		return NULL;
	}
	return &r->reader->profiles.at[r->reader->profiles.len - 1];
}

/* Its GPU instance's profile, by asking for the instance; then by what the device says of itself. */
static bool name_part(struct reading *r, struct fl_nv_device *mig, uint32_t gi, struct fl_buf *ret)
{
	const struct fl_gpu_profiles *profiles = profiles_of(r);
	struct fl_mig_profile profile = { .number = FL_NV_GI_COUNT, .card_bytes = r->bytes };
	struct fl_nv_attributes attributes = { 0 };
	struct fl_nv_gi_info info = { 0 };
	struct fl_nv_gi *instance = NULL;
	char name[FL_NV_TEXT] = "";

	if (ASK(r, attributes, mig, &attributes)) {
		profile.gi_slices = attributes.gi_slices;
		profile.ci_slices = attributes.ci_slices;
		profile.memory_mib = attributes.memory_mib;
	}
	if (profiles && profile.ci_slices && ASK(r, gi_by_id, r->device, gi, &instance) &&
	    ASK(r, gi_info, instance, &info)) {
		for (uint32_t i = 0; i < FL_NV_GI_COUNT; i++) {
			if (!profiles->at[i].is || profiles->at[i].info.id != info.profile)
				continue;
			profile.number = i;
			profile.gi_slices = profiles->at[i].info.slices;
			profile.memory_mib = profiles->at[i].info.memory_mib;
			return fl_mig_name(&profile, ret);
		}
	}
	if (ASK(r, name, mig, name, sizeof name)) {
		struct fl_str said = fl_mig_name_in((struct fl_str){ name, (uint32_t)strnlen(name, sizeof name) });

		if (said.len) {
			fl_buf_str(ret, said);
			return true;
		}
	}
	return fl_mig_name(&profile, ret);
}

static void read_caps(struct fl_gpu_reader *reader)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_GPU_CAPS_MAX);
	char path[FL_GPU_PATH_MAX];
	int64_t n = 1;
	int fd;

	if (snprintf(path, sizeof path, "%s/driver/nvidia-caps/mig-minors", reader->proc) >= (int)sizeof path)
		return;
	fd = reader->fs->open(reader->fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	while (n > 0) {
		void *room = fl_buf_room(&text, 4 * FL_KIB);

		n = room ? reader->fs->read(reader->fs, fd, room, 4 * FL_KIB) : -1;
		if (n > 0)
			fl_buf_added(&text, (size_t)n);
	}
	reader->fs->close(reader->fs, fd);
	reader->has_caps = n == 0 && fl_mig_caps_parse(&reader->caps, fl_buf_view(&text)) == 0;
}

static void set_caps(struct reading *r, struct fl_partition *p)
{
	struct fl_gpu_reader *reader = r->reader;
	int32_t gi, ci;

	if (!r->card->has.minor)
		return;
	if (!reader->has_caps)
		read_caps(reader);
	gi = fl_mig_cap_find(&reader->caps, (uint32_t)r->card->minor, (uint32_t)p->gi, FL_MIG_NO_CI);
	ci = fl_mig_cap_find(&reader->caps, (uint32_t)r->card->minor, (uint32_t)p->gi, (uint32_t)p->ci);
	if (gi >= 0)
		FL_SET(p, gi_cap, gi);
	if (ci >= 0)
		FL_SET(p, ci_cap, ci);
	reader->has_caps = gi >= 0 && ci >= 0;   /* else it is another table by now, perhaps */
}

static void set_attributes(struct fl_part_attributes *to, const struct fl_nv_attributes *from)
{
	FL_SET(to, multiprocessors, (int32_t)from->multiprocessors);
	FL_SET(to, gi_slices, (int32_t)from->gi_slices);
	FL_SET(to, ci_slices, (int32_t)from->ci_slices);
	FL_SET(to, copy_engines, (int32_t)from->copy_engines);
	FL_SET(to, decoders, (int32_t)from->decoders);
	FL_SET(to, encoders, (int32_t)from->encoders);
	FL_SET(to, jpegs, (int32_t)from->jpegs);
	FL_SET(to, ofas, (int32_t)from->ofas);
}

/* false: there is no partition in this slot. */
static bool read_part(struct reading *r, uint32_t index, struct fl_partition *p)
{
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_NV_TEXT);
	struct fl_nv_attributes attributes = { 0 };
	struct fl_nv_device *mig = NULL;
	char uuid[FL_NV_TEXT] = "";
	uint32_t gi = 0, ci = 0;

	if (!ASK(r, mig_by_index, r->device, index, &mig) || !ASK(r, uuid, mig, uuid, sizeof uuid) ||
	    !ASK(r, gi_id, mig, &gi) || !ASK(r, ci_id, mig, &ci) || gi >= FL_MIG_NO_CI || ci >= FL_MIG_NO_CI)
		return false;
	if (!name_part(r, mig, gi, &name))
		return false;
	r->nomem |= name.failed == FL_E_NOMEM;
	FL_SET(p, uuid, keep(r, uuid, sizeof uuid));
	FL_SET(p, index, (int32_t)index);
	FL_SET(p, gi, (int32_t)gi);
	FL_SET(p, ci, (int32_t)ci);
	FL_SET(p, profile, fl_arena_str(r->arena, fl_buf_view(&name)));
	r->nomem |= !p->profile.p;
	if (ASK(r, attributes, mig, &attributes)) {
		FL_SET(p, memory, (int64_t)(attributes.memory_mib & INT64_MAX));
		set_attributes(FL_IN(p, attributes), &attributes);
	}
	set_caps(r, p);
	return true;
}

static struct fl_str name_profile(struct reading *r, const struct fl_gpu_profile *profile, uint32_t number)
{
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_NV_TEXT);
	struct fl_mig_profile of = { .number = number, .gi_slices = profile->info.slices,
				     .memory_mib = profile->info.memory_mib, .card_bytes = r->bytes };
	struct fl_str copy = { 0 };

	if (!profile->is || !fl_mig_name(&of, &name))
		return copy;
	copy = fl_arena_str(r->arena, fl_buf_view(&name));
	r->nomem |= !copy.p || name.failed == FL_E_NOMEM;
	return copy;
}

/* What it can be partitioned into, MIG mode or not. */
static void read_offers(struct reading *r)
{
	const struct fl_gpu_profiles *profiles = profiles_of(r);

	if (!profiles)
		return;
	if (!FL_ELEMENTS(r->card, r->arena, offers, FL_NV_GI_COUNT)) {
		r->nomem = true;
		return;
	}
	r->card->offers.len = 0;
	for (uint32_t i = 0; i < FL_NV_GI_COUNT; i++) {
		const struct fl_gpu_profile *profile = &profiles->at[i];
		struct fl_mig_offer *offer = &r->card->offers.at[r->card->offers.len];
		struct fl_str name = name_profile(r, profile, i);

		if (!name.len)
			continue;
		FL_SET(offer, name, name);
		FL_SET(offer, count, (int32_t)profile->info.instances);
		FL_SET(offer, slices, (int32_t)profile->info.slices);
		FL_SET(offer, decoders, (int32_t)profile->info.decoders);
		FL_SET(offer, encoders, (int32_t)profile->info.encoders);
		FL_SET(offer, jpegs, (int32_t)profile->info.jpegs);
		FL_SET(offer, ofas, (int32_t)profile->info.ofas);
		if (!FL_ELEMENTS(offer, r->arena, places, profile->place_len)) {
			r->nomem = true;
			return;
		}
		for (uint32_t k = 0; k < profile->place_len; k++) {
			FL_SET(&offer->places.at[k], start, (int32_t)profile->places[k].start);
			FL_SET(&offer->places.at[k], size, (int32_t)profile->places[k].size);
		}
		r->card->offers.len++;
	}
}

static int by_slices(const void *a, const void *b)
{
	return *(const int32_t *)b - *(const int32_t *)a;
}

static int by_start(const void *a, const void *b)
{
	return ((const struct fl_mig_instance *)a)->start - ((const struct fl_mig_instance *)b)->start;
}

/* Its compute instances are the MIG devices. */
static bool set_computes(struct reading *r, struct fl_mig_instance *instance)
{
	const struct fl_card *card = r->card;

	if (!FL_ELEMENTS(instance, r->arena, computes, card->partitions.len))
		return false;
	instance->computes.len = 0;
	for (uint32_t i = 0; i < card->partitions.len; i++)
		if (card->partitions.at[i].gi == instance->gi && card->partitions.at[i].has.attributes)
			instance->computes.at[instance->computes.len++] = card->partitions.at[i].attributes.ci_slices;
	qsort(instance->computes.at, instance->computes.len, sizeof *instance->computes.at, by_slices);
	return true;
}

/* Those of one profile. */
static void read_instances_of(struct reading *r, const struct fl_gpu_profile *profile, struct fl_str name)
{
	struct fl_nv_gi *list[FL_GPU_PARTS_MAX] = { NULL };
	uint32_t count = FL_LEN(list);

	if (profile->info.instances > FL_LEN(list) || !ASK(r, gi_list, r->device, profile->info.id, list, &count))
		return;
	for (uint32_t i = 0; i < count && i < FL_LEN(list); i++) {
		struct fl_mig_instance *to = &r->card->instances.at[r->card->instances.len];
		struct fl_nv_gi_info info = { 0 };

		if (r->card->instances.len == FL_MIG_INSTANCES_MAX || !ASK(r, gi_info, list[i], &info))
			return;
		FL_SET(to, profile, name);
		FL_SET(to, start, (int32_t)info.placement.start);
		FL_SET(to, gi, (int32_t)info.id);
		if (!set_computes(r, to)) {
			r->nomem = true;
			return;
		}
		r->card->instances.len++;
	}
}

/* Also those without a compute instance, which are no MIG devices: a maker that ended halfway leaves such. */
static void read_instances(struct reading *r)
{
	const struct fl_gpu_profiles *profiles = profiles_of(r);

	if (!profiles)
		return;
	if (!FL_ELEMENTS(r->card, r->arena, instances, FL_MIG_INSTANCES_MAX)) {
		r->nomem = true;
		return;
	}
	r->card->instances.len = 0;
	for (uint32_t i = 0; i < FL_NV_GI_COUNT && !r->over; i++) {
		struct fl_str name = name_profile(r, &profiles->at[i], i);

		if (name.len)
			read_instances_of(r, &profiles->at[i], name);
	}
	qsort(r->card->instances.at, r->card->instances.len, sizeof *r->card->instances.at, by_start);
}

static void read_mig(struct reading *r)
{
	uint32_t now = FL_NV_OFF, pending = FL_NV_OFF, max = 0;

	if (!ASK(r, mig_mode, r->device, &now, &pending))
		return;
	FL_SET(r->card, mig_capable, true);
	FL_SET(r->card, mig, now == FL_NV_ON);
	FL_SET(r->card, mig_pending, pending == FL_NV_ON);
	read_offers(r);
	if (now != FL_NV_ON || !ASK(r, mig_max, r->device, &max) || !max)
		return;
	if (max > FL_GPU_PARTS_MAX)
		max = FL_GPU_PARTS_MAX;
	if (!FL_ELEMENTS(r->card, r->arena, partitions, max)) {
		r->nomem = true;
		return;
	}
	r->card->partitions.len = 0;
	for (uint32_t i = 0; i < max && !r->over; i++)
		if (read_part(r, i, &r->card->partitions.at[r->card->partitions.len]))
			r->card->partitions.len++;
	read_instances(r);
}

static void fail_card(struct reading *r, enum fl_card_answer answer, int code, const char *what)
{
	struct fl_err said = { 0 };

	(void)fl_nv_fail(r->nv, code, what, &said);
	FL_SET(r->card, answer, answer);
	FL_SET(r->card, message, keep(r, said.text, sizeof said.text));
}

/* By what the driver says when it is asked for the card itself. true: go on. */
static bool find_card(struct reading *r)
{
	int code = fl_gpu_handle(r->nv, r->card->meta.name, &r->device);
	enum fl_nv_meaning meaning = fl_nv_means(code);

	if (gave(r, code, "by_pci") && r->device)
		return true;
	if (r->over)
		return false;
	if (meaning == FL_NV_IS_NO_SUCH || code == FL_NV_INVALID_ARGUMENT) {
		FL_SET(r->card, answer, FL_CARD_FAILS);
		FL_SET(r->card, message,
		       FL_S("the driver does not list it; the kernel's log says why (dmesg | grep NVRM)"));
		return false;
	}
	fail_card(r, FL_CARD_FAILS, code, "nvmlDeviceGetHandleByPciBusId");
	return false;
}

int fl_gpu_read_card(struct fl_gpu_reader *reader, struct fl_str address, struct fl_arena *arena,
		     struct fl_card *ret, struct fl_err *err)
{
	struct reading r = { .reader = reader, .nv = reader->nv, .arena = arena, .card = ret };
	int major = 0, minor = 0;

	FL_SET(FL_IN(ret, meta), name, address);
	if (find_card(&r)) {
		read_names(&r);
		read_memory(&r);
		if (ASK(&r, compute_capability, r.device, &major, &minor) && major >= 0 && major < 1000)
			FL_SET(ret, compute, major * 100 + minor * 10);
		read_mig(&r);
		read_fabric(&r);
		read_errors(&r);
		if (ret->has.uuid)
			FL_SET(ret, answer, FL_CARD_ANSWERS);
		else
			fail_card(&r, FL_CARD_FAILS, FL_NV_UNKNOWN, "nvmlDeviceGetUUID");
	}
	if (r.nomem)
		return fl_fail(err, FL_E_NOMEM, "no memory for what the driver says of '%.*s'", FL_ARG(address));
	if (!r.over)
		return 0;
	if (fl_nv_means(r.over) != FL_NV_IS_LOST)
		return fl_nv_fail(r.nv, r.over, r.over_at, err);
	fail_card(&r, FL_CARD_LOST, r.over, r.over_at);
	return r.nomem ? fl_fail(err, FL_E_NOMEM, "no memory") : 0;
}

/* ---- how cards are joined ---- */

struct end {
	struct fl_nv_device *device;
	uint32_t switches;           /* NVLinks to an NVSwitch */
	struct {
		uint32_t n;
		char peer[FL_NV_LINKS][FL_PCI_ADDRESS];   /* of its links to other cards */
	} direct;
};

static void read_end(const struct fl_nv *nv, struct fl_str address, struct end *end)
{
	if (fl_gpu_handle(nv, address, &end->device) != FL_NV_SUCCESS)
		return;
	for (uint32_t link = 0; link < FL_NV_LINKS; link++) {
		uint32_t on = FL_NV_OFF, type = FL_NV_LINK_PEER_UNKNOWN;
		struct fl_nv_pci pci = { 0 };
		int code = FL_NV(nv, link_state, end->device, link, &on);

		if (code != FL_NV_SUCCESS && link == 0)
			return;   /* it has none */
		if (code != FL_NV_SUCCESS || on != FL_NV_ON)
			continue;
		if (FL_NV(nv, link_peer_type, end->device, link, &type) == FL_NV_SUCCESS &&
		    type == FL_NV_LINK_PEER_SWITCH)
			end->switches++;
		else if (FL_NV(nv, link_peer, end->device, link, &pci) == FL_NV_SUCCESS &&
			 fl_pci_address((struct fl_str){ pci.bus_id,
							 (uint32_t)strnlen(pci.bus_id, sizeof pci.bus_id) },
					end->direct.peer[end->direct.n]))
			end->direct.n++;
	}
}

/* NVLinks between two: those that lead from one to the other, or as many as both have to the switches. */
static uint32_t count_links(const struct end *a, const struct end *b, struct fl_str peer)
{
	uint32_t n = a->switches < b->switches ? a->switches : b->switches;

	for (uint32_t i = 0; i < a->direct.n; i++)
		n += fl_str_eq(fl_str(a->direct.peer[i]), peer);
	return n;
}

int fl_gpu_read_links(struct fl_gpu_reader *reader, const struct fl_str_list *addresses, struct fl_arena *arena,
		      struct fl_gpu_told *ret, struct fl_err *err)
{
	const struct fl_nv *nv = reader->nv;
	struct end *ends = fl_arena_get_n(arena, addresses->len, sizeof *ends);

	if (!ends || !FL_ELEMENTS(ret, arena, links, addresses->len))
		return fl_fail(err, FL_E_NOMEM, "no memory");
	for (uint32_t i = 0; i < addresses->len; i++)
		read_end(nv, addresses->at[i], &ends[i]);
	for (uint32_t i = 0; i < addresses->len; i++) {
		struct fl_gpu_links_of *of = &ret->links.at[i];

		FL_SET(of, card, addresses->at[i]);
		if (!FL_ELEMENTS(of, arena, links, addresses->len - i))
			return fl_fail(err, FL_E_NOMEM, "no memory");
		of->links.len = 0;
		for (uint32_t k = i + 1; k < addresses->len; k++) {
			struct fl_card_link *link = &of->links.at[of->links.len];
			uint32_t level = 0, nvlinks;

			if (!ends[i].device || !ends[k].device)
				continue;
			if (FL_NV(nv, common_ancestor, ends[i].device, ends[k].device, &level) == FL_NV_SUCCESS)
				FL_SET(link, level, (int32_t)level);
			nvlinks = count_links(&ends[i], &ends[k], addresses->at[k]);
			if (nvlinks)
				FL_SET(link, nvlinks, (int32_t)nvlinks);
			if (!link->has.bits)
				continue;
			FL_SET(link, peer, addresses->at[k]);
			of->links.len++;
		}
	}
	return 0;
}
