/* child.h - what the agent and its GPU children say to each other (io/supervisor.h, io/serve.h), and the child.
 *
 * What is asked is a few words of text; what is answered is JSON by tables. A child is the same program, so neither
 * side meets another version; but the vendor's library lives in it, so what it says is checked like anything from
 * outside (fl_gpu_take_*) before the agent believes it.
 */
#pragma once
#include "api/node.h"
#include "base/command.h"
#include "io/io.h"

/* Requests. Each begins with the path of libnvidia-ml.so.1 and a line's end: a child loads it with the first of them
 * and keeps it, so one can be started before it is known where the driver is. An address is "0000:07:00.0"; several are
 * parted by blanks. */
enum fl_gpu_ask {
	FL_GPU_ASK_DRIVER = 1,   /* how many cards are known -> Told: driver; cards, if the driver has more than that */
	FL_GPU_ASK_CARD,         /* an address -> Card, as far as the driver knows it, with `answer` */
	FL_GPU_ASK_CHECK,        /* an address -> the same, after making a CUDA context, where that was asked for */
	FL_GPU_ASK_LINKS,        /* addresses -> Told: links between them */
	FL_GPU_ASK_EVENTS,       /* addresses -> Told: cards, which of them report; why; from then on it only waits
				    and tells */
	FL_GPU_ASK_MODE,         /* an address, a blank, a compute mode -> Card, after changing the mode */
	FL_GPU_ASK_COUNT_
};
extern const struct fl_names fl_gpu_ask_names;

/* What it tells unasked. */
enum fl_gpu_tell {
	FL_GPU_TELL_FAULT = 1,   /* Fault, without `last`; `count` is how often since it was told last */
	FL_GPU_TELL_CHANGED,     /* an address: MIG layout or state of this card may be another one; "": of any */
	FL_GPU_TELL_LISTENS,     /* Told: cards that report now, as after FL_GPU_ASK_EVENTS; why */
};

/* Refusals are about the driver: FL_E_NOTFOUND no library or no driver, FL_E_UNSUPPORTED library and kernel's part are
 * of two versions, FL_E_DENIED, FL_E_IO. What is wrong with a card stands in its answer. */

#define FL_GPU_LINKS_OF(X) \
	X(STR, card, "card", .required = true, .help = "Address of a GPU.") \
	X(LIST(fl_card_link), links, "links", .help = "To the GPUs with higher addresses.")
FL_STRUCT(fl_gpu_links_of, FL_GPU_LINKS_OF);

#define FL_GPU_TOLD(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_driver), driver, "driver", .help = "Version and CUDA.") \
	X(STRS, cards, "cards", .help = "Addresses.") \
	X(LIST(fl_gpu_links_of), links, "links", .help = "How GPUs are joined.") \
	X(STR, why, "why", .help = "Why a GPU does not report that should; it is tried again.")
FL_STRUCT(fl_gpu_told, FL_GPU_TOLD);

/* What a child said, as far as it makes sense; texts are in the arena. FL_E_INVALID: it makes none. */
int fl_gpu_take_told(struct fl_str payload, struct fl_arena *arena, struct fl_gpu_told *ret,
		     struct fl_err *err) FL_MUSTUSE;
int fl_gpu_take_card(struct fl_str payload, struct fl_arena *arena, struct fl_card *ret,
		     struct fl_err *err) FL_MUSTUSE;
int fl_gpu_take_fault(struct fl_str payload, struct fl_arena *arena, struct fl_card_fault *ret,
		      struct fl_err *err) FL_MUSTUSE;

/* The name of a fault: "<address>/xid79", "<address>/xid79.gi1.ci0", "<address>/ecc". */
void fl_gpu_fault_name(const struct fl_card_fault *fault, struct fl_buf *ret);

/* The child's life: answers on fd 3 until the other side ends. */
struct fl_gpu_child_options {
	const char *proc;        /* "/proc" */
	bool cuda;               /* a check makes a CUDA context, where libcuda.so.1 lies beside the library */
};
int fl_gpu_child_run(struct fl_io *io, const struct fl_gpu_child_options *options, struct fl_err *err) FL_MUSTUSE;

/* Is something to be done with the card itself? An IMEX domain that is to recover is none of its own troubles. */
static inline bool fl_gpu_wants_repair(enum fl_recovery recovery)
{
	return recovery != FL_RECOVERY_NONE && recovery != FL_RECOVERY_IMEX;
}
