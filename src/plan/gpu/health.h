/* health.h - is a card, or a part of it, fit to be handed out?
 *
 * Healthy -> Suspect -> Unhealthy -> Recovering -> Healthy. Bad news counts at once: Suspect is not handed out either,
 * it only means that one look is not enough to say what is wrong. Good news waits: for `recoveryChecks` looks without a
 * fault, and until `recoveryWait` after the last return. A fault of one partition is that partition's; one of the card
 * is every partition's. What is over is wanted gone, so a harmless report never ends a fatal one.
 *
 * A look without a fault is one at which the card answers and nothing is left to be done: as long as the driver wants
 * it reset, drained or the node rebooted, or a row of memory that went bad waits for the reset that replaces it, no
 * number of looks brings it back. Where neither is told, the looks are all there is to go by, whatever the remedy says:
 * a card must not stay away for ever because nobody can tell us that it was reset.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Bad news at once, and a card that comes back is not kept waiting; only those that need it are looked at so often. */
#define FL_GPU_LOOK_SOON (1 * FL_NS_PER_S)

#define FL_GPU_HEALTH_FACTS(X) \
	X(KEY, address) /* of the card */ \
	X(SELF, fl_card, card) /* NULL: it is gone */ \
	X(UNDER, fl_health, before, before_len, card) /* of the card and of its partitions, as they were left */ \
	X(UNDER, fl_card_fault, faults, fault_len, card) \
	X(ONE, fl_settings, settings, "settings") \
	X(ONE, fl_driver, driver, "driver") \
	X(NOW, now)
FL_FACTS(fl_gpu_health_facts, FL_GPU_HEALTH_FACTS,
	 const struct fl_holder *holders;      /* who has devices of it */
	 uint32_t holder_len;
	 struct fl_str boot;);                 /* whose clock `now` is */

/* Of all holders those that have a device of the card: the others are dropped from the array. After the other facts. */
void fl_gpu_health_holders(struct fl_gpu_health_facts *facts, struct fl_holder *all, uint32_t len,
			   const struct fl_resource *resources, uint32_t resource_len);

extern const struct fl_owner fl_gpu_health_owner;
void fl_gpu_health_plan(const void *facts, struct fl_plan *plan);

/* Does a report count against the GPU, by the settings? */
bool fl_gpu_fault_counts(const struct fl_settings *settings, const struct fl_card_fault *fault);

/* Is it one of this partition's, or of the whole card? `part` NULL: of the card. */
bool fl_gpu_fault_concerns(const struct fl_card_fault *fault, const struct fl_partition *part);

/* Looks without a fault until now, of the card or of a partition: since the last fault that counts and concerns it. */
int32_t fl_gpu_clean_looks(const struct fl_gpu_health_facts *facts, const struct fl_partition *part);

/* Does the card answer, and is there nothing in what it says that must be over before it may come back? Whoever looks
 * at it counts such looks, in its field `clean`. */
bool fl_gpu_look_is_clean(const struct fl_card *card);

/* Is this cause of a Health the driver's or the fabric's, and not the card's own? */
bool fl_gpu_cause_is_driver(struct fl_str cause);

/* How a GPU is reset, on its node: nvidia-smi refuses while any process has the driver open, the agent's among them. A
 * message has the GPU's PCI address in place of FL_GPU_WHICH: an index moves when a GPU before it is lost. */
#define FL_GPU_WHICH "ADDRESS"
#define FL_GPU_RESET "fairlead pause reset && nvidia-smi -r -i " FL_GPU_WHICH "; fairlead resume"

/* What an XID means for a card; the ignored ones of the settings never get here. */
enum fl_xid_class { FL_XID_APPLICATION, FL_XID_LOOK, FL_XID_RESET, FL_XID_REBOOT, FL_XID_HARDWARE,
  FL_XID_CLASS_COUNT_ };
struct fl_xid {
	int64_t number;
	enum fl_xid_class class;
	const char *says, *remedy;             /* for people */
	bool bad_memory;                       /* used again until a reset replaces it */
};
const struct fl_xid *fl_xid_find(int64_t number);    /* never NULL: one for those that nobody has named */
