/* nv_mig.h - how partitions are called, and which device nodes open them. Pure: numbers and text in, names out.
 *
 * A profile is `[<C>c.]<G>g.<M>gb[+attribute|-attribute]`: "1g.10gb", "1c.3g.40gb", "1g.10gb+me". The memory in it is a
 * number of eighths of the card, rounded as NVIDIA's tools round it, so that names match theirs.
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "node/gpu/nv_abi.h"

struct fl_mig_profile {
	uint32_t number;             /* enum fl_nv_gi_profile_no; FL_NV_GI_COUNT: not known, so no attribute */
	uint32_t gi_slices, ci_slices;
	uint64_t memory_mib;         /* of the GPU instance */
	uint64_t card_bytes;         /* of the whole card */
};

/* The name, put behind what the buffer holds; false: numbers of which no name can be made. */
bool fl_mig_name(const struct fl_mig_profile *profile, struct fl_buf *ret);

/* The part of a MIG device's name that is its profile: "NVIDIA A100-SXM4-40GB MIG 1g.5gb" -> "1g.5gb". Empty when there
 * is none. */
struct fl_str fl_mig_name_in(struct fl_str device_name);

/* Is it shaped as a profile's name? */
bool fl_mig_is_name(struct fl_str name);

/* ---- /proc/driver/nvidia-caps/mig-minors ---- */

struct fl_mig_cap {
	uint16_t card;               /* the minor of /dev/nvidia<minor> */
	uint8_t gi, ci;              /* ci FL_MIG_NO_CI: the GPU instance itself */
	uint32_t minor;              /* of /dev/nvidia-caps/nvidia-cap<minor> */
};
#define FL_MIG_NO_CI 255u

struct fl_mig_caps {
	FL_VEC(struct fl_mig_cap) list;   /* sorted */
};

/* What was there is replaced. Lines of any other shape are passed over. 0 or -FL_E_NOMEM. */
int fl_mig_caps_parse(struct fl_mig_caps *caps, struct fl_str text) FL_MUSTUSE;
void fl_mig_caps_free(struct fl_mig_caps *caps);

/* The minor, or -1. */
int32_t fl_mig_cap_find(const struct fl_mig_caps *caps, uint32_t card, uint32_t gi, uint32_t ci);

static inline void fl_mig_caps_auto_(struct fl_mig_caps *caps)
{
	fl_mig_caps_free(caps);
}
