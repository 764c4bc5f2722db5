/* health.h - may a GPU, or a MIG device on it, be advertised?
 *
 * Healthy -> Suspect -> Unhealthy -> Recovering -> Healthy. A fault counts at once. Suspect is not advertised either:
 * it means that one health check cannot tell what is wrong. Recovery waits for `recoveryChecks` checks without a fault,
 * and until `recoveryWait` after the last recovery. A fault of a MIG device is that device's; a fault of the GPU is
 * that of all its MIG devices. The plan wants an ended fault gone, so a harmless report never ends a fatal one.
 *
 * In a check without a fault the GPU answers and nothing is left to be done. No number of checks brings it back while
 * the driver requests a reset, a drain or a reboot, or while a bad row of memory waits for the reset that remaps it.
 * Where the driver reports neither, only the checks count, whatever the remedy says: a GPU must not stay away for ever
 * because nothing can report its reset.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Finds a fault at once, and does not delay recovery. Only GPUs that need it are checked so often. */
#define FL_GPU_LOOK_SOON (1 * FL_NS_PER_S)

#define FL_GPU_HEALTH_FACTS(X) \
	X(KEY, address) /* of the GPU */ \
	X(SELF, fl_card, card) /* NULL: it is gone */ \
	X(UNDER, fl_health, before, before_len, card) /* last known, of the GPU and of its MIG devices */ \
	X(UNDER, fl_card_fault, faults, fault_len, card) \
	X(ONE, fl_settings, settings, "settings") \
	X(ONE, fl_driver, driver, "driver") \
	X(NOW, now)
FL_FACTS(fl_gpu_health_facts, FL_GPU_HEALTH_FACTS,
	 const struct fl_holder *holders;      /* containers that hold devices of it */
	 uint32_t holder_len;
	 struct fl_str boot;);                 /* whose clock `now` is */

/* Drops holders from `all` that have no device of the GPU. Call it after the other facts are gathered. */
void fl_gpu_health_holders(struct fl_gpu_health_facts *facts, struct fl_holder *all, uint32_t len,
			   const struct fl_resource *resources, uint32_t resource_len);

extern const struct fl_owner fl_gpu_health_owner;
void fl_gpu_health_plan(const void *facts, struct fl_plan *plan);

/* Whether the settings let this fault count against the GPU. */
bool fl_gpu_fault_counts(const struct fl_settings *settings, const struct fl_card_fault *fault);

/* Whether the fault concerns this MIG device; `part` NULL: the GPU itself. A fault of the GPU concerns all. */
bool fl_gpu_fault_concerns(const struct fl_card_fault *fault, const struct fl_partition *part);

/* Health checks of the GPU (`part` NULL) or MIG device since the last fault that counts and concerns it. */
int32_t fl_gpu_clean_looks(const struct fl_gpu_health_facts *facts, const struct fl_partition *part);

/* Whether the GPU answers and reports nothing that must end before it may recover. The feeder counts such checks in the
 * GPU's field `clean`. */
bool fl_gpu_look_is_clean(const struct fl_card *card);

/* Whether this cause of a Health is the driver's or the fabric's, not the GPU's own. */
bool fl_gpu_cause_is_driver(struct fl_str cause);

/* Whether it is that of the driver as a whole, so of every GPU at once. */
bool fl_gpu_cause_is_of_all(struct fl_str cause);

/* The command that resets a GPU on its node. nvidia-smi refuses while any process, such as the agent, has the driver
 * open. A message has the GPU's PCI address in place of FL_GPU_WHICH: an index changes when a GPU before it is lost. */
#define FL_GPU_WHICH "ADDRESS"
#define FL_GPU_RESET "fairlead pause reset && nvidia-smi -r -i " FL_GPU_WHICH "; fairlead resume"

/* What an XID means for a GPU. XIDs that the settings ignore never get here. */
enum fl_xid_class { FL_XID_APPLICATION, FL_XID_LOOK, FL_XID_RESET, FL_XID_REBOOT, FL_XID_HARDWARE,
  FL_XID_CLASS_COUNT_ };
struct fl_xid {
	int64_t number;
	enum fl_xid_class class;
	const char *says, *remedy;             /* for people */
	bool bad_memory;                       /* the bad row stays in use until a reset remaps it */
};
const struct fl_xid *fl_xid_find(int64_t number);    /* never NULL: unknown XIDs share one */
