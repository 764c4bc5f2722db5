/* child.h - the protocol between the agent and its GPU children (io/supervisor.h, io/serve.h), and the child.
 *
 * A request is a short text; an answer is JSON, decoded by tables. A child is the same program, so both sides always
 * have the same version. But NVIDIA's library runs in it, so the agent checks its answers like any outside input
 * (fl_gpu_take_*).
 */
#pragma once
#include "api/node.h"
#include "base/command.h"
#include "io/io.h"
#include "plan/exporter/field.h"

/* Requests. Each begins with the path of libnvidia-ml.so.1 and a newline: a child loads the library with the first
 * request and keeps it, so it can start before the driver is found. An address is "0000:07:00.0"; several are separated
 * by spaces. */
enum fl_gpu_ask {
	FL_GPU_ASK_DRIVER = 1,   /* number of known GPUs -> Told: driver; cards, if the driver has more than that */
	FL_GPU_ASK_CARD,         /* an address -> Card, as far as the driver knows it, with `answer` */
	FL_GPU_ASK_CHECK,        /* an address -> the same, after making a CUDA context if that is enabled */
	FL_GPU_ASK_LINKS,        /* addresses -> Told: links between them */
	FL_GPU_ASK_EVENTS,       /* addresses -> Told: cards that report, and why others do not; from then on the child
				    only waits for events and reports them */
	FL_GPU_ASK_MODE,         /* an address, a blank, a compute mode -> Card, after changing the mode */
	FL_GPU_ASK_SAMPLE,       /* an address, and what is wanted (fl_gpu_put_set) -> Sample */
	FL_GPU_ASK_MIG,          /* an address, a blank, an order of node/gpu/partition.h -> Card, after that */
	FL_GPU_ASK_COUNT_
};
extern const struct fl_names fl_gpu_ask_names;

/* Messages without a request. */
enum fl_gpu_tell {
	FL_GPU_TELL_FAULT = 1,   /* Fault, without `last`; `count`: occurrences since the last such message */
	FL_GPU_TELL_CHANGED,     /* an address: MIG layout or state of this GPU may have changed; "": of any */
	FL_GPU_TELL_LISTENS,     /* Told: cards that report now, as after FL_GPU_ASK_EVENTS; why */
};

/* A failed request is a failure of the driver: FL_E_NOTFOUND no library or no driver, FL_E_UNSUPPORTED library and
 * kernel module differ in version, FL_E_DENIED, FL_E_IO. A fault of a GPU is in its answer. */

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

/* ---- Sample: telemetry of one GPU. Fields are numbers of plan/exporter/field.h, values are scaled. ---- */
#define FL_GPU_READING(X) \
	X(I32, gi, "gi", .help = "Of this GPU instance; absent: of the whole GPU.") \
	X(I32, link, "link", .help = "Of this NVLink.") \
	X(LIST_OF(I32), fields, "fields", .help = "Which.") \
	X(LIST_OF(F64), values, "values", .help = "Their values, in the same order.")
FL_STRUCT(fl_gpu_reading, FL_GPU_READING);

#define FL_GPU_WORDS(X) \
	X(I32, field, "field", .required = true, .help = "Which.") \
	X(STR, text, "text", .required = true, .help = "Its text.")
FL_STRUCT(fl_gpu_words, FL_GPU_WORDS);

#define FL_GPU_SAMPLE(X) \
	FL_FAULTS(X) \
	X(STR, card, "card", .required = true, .help = "Address of the GPU.") \
	X(BOOL, lost, "lost", .help = "It cannot be used any more: there are no values.") \
	X(LIST(fl_gpu_reading), readings, "readings", .help = "Values, of the GPU first.") \
	X(LIST(fl_gpu_words), words, "words", .help = "Texts.")
FL_STRUCT(fl_gpu_sample, FL_GPU_SAMPLE);

/* What is wanted, as the request has it. Reading it: false for a malformed one. */
void fl_gpu_put_set(const struct fl_dcgm_set *set, struct fl_buf *ret);
bool fl_gpu_take_set(struct fl_str text, struct fl_dcgm_set *ret);
int fl_gpu_take_sample(struct fl_str payload, struct fl_arena *arena, struct fl_gpu_sample *ret,
		       struct fl_err *err) FL_MUSTUSE;

/* Decode and check a child's message; texts are in the arena. FL_E_INVALID: it is malformed. */
int fl_gpu_take_told(struct fl_str payload, struct fl_arena *arena, struct fl_gpu_told *ret,
		     struct fl_err *err) FL_MUSTUSE;
int fl_gpu_take_card(struct fl_str payload, struct fl_arena *arena, struct fl_card *ret,
		     struct fl_err *err) FL_MUSTUSE;
int fl_gpu_take_fault(struct fl_str payload, struct fl_arena *arena, struct fl_card_fault *ret,
		      struct fl_err *err) FL_MUSTUSE;

/* The name of a fault: "<address>/xid79", "<address>/xid79.gi1.ci0", "<address>/ecc". */
void fl_gpu_fault_name(const struct fl_card_fault *fault, struct fl_buf *ret);

/* Runs the child: answers on fd 3 until the other side closes it. */
struct fl_gpu_child_options {
	const char *proc;        /* "/proc" */
	bool cuda;               /* a deep check makes a CUDA context if libcuda.so.1 is beside the library */
};
int fl_gpu_child_run(struct fl_io *io, const struct fl_gpu_child_options *options, struct fl_err *err) FL_MUSTUSE;

/* Whether the GPU itself needs repair: recovery of an IMEX domain does not concern it. */
static inline bool fl_gpu_wants_repair(enum fl_recovery recovery)
{
	return recovery != FL_RECOVERY_NONE && recovery != FL_RECOVERY_IMEX;
}
