#include "api/cdi.h"
#include "base/units.h"
#include "json/bind_pack.h"

/* A specification of 16 GPUs takes a tenth, as its file does. */
#define FL_CDI_PACKED_MAX (1 * FL_MIB)

FL_BIND(fl_cdi_node, FL_CDI_NODE)
FL_BIND(fl_cdi_mount, FL_CDI_MOUNT)
FL_BIND(fl_cdi_hook, FL_CDI_HOOK)
FL_BIND(fl_cdi_edits, FL_CDI_EDITS)
FL_BIND(fl_cdi_device, FL_CDI_DEVICE)
FL_BIND(fl_cdi_spec, FL_CDI_SPEC)
FL_BIND(fl_cdi_trouble, FL_CDI_TROUBLE)

FL_LOCAL_KIND(fl_cdi_spec, "CdiSpec", "cdispecs", "A file that tells container runtimes about devices.");
FL_LOCAL_KIND(fl_cdi_trouble, "CdiTrouble", "cditroubles", "A CDI file that cannot be written.");

int64_t fl_cdi_digest(const struct fl_cdi_spec *spec)
{
	static const uint64_t seed[2] = { 0x6664692066696c65u, 0x206f6e206469736bu };
	FL_AUTO(fl_buf) struct fl_buf packed = FL_BUF(FL_CDI_PACKED_MAX);
	struct fl_cdi_spec content = *spec;
	int64_t digest;

	FL_UNSET(&content, faults);
	FL_UNSET(&content, meta);
	FL_UNSET(&content, on_disk);
	if (fl_pack(fl_cdi_spec_bind(), &content, NULL, &packed, NULL) < 0)
		return 0;
	digest = (int64_t)fl_siphash13(seed, packed.p, packed.len);
	return digest ? digest : 1;
}
