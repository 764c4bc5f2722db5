/* gpu_rig.h - the driver's feeder with real children on a fake driver: a node of its own for each test.
 *
 *     RIG(rig, "dgx-a100", 0);
 *     CHECK(rig_driver(&rig, FL_DRIVER_READY));
 *     SAY("xid 3 79");
 *     CHECK(rig_until(&rig, has_xid_79, 3));
 *
 * The children are the test program itself. Times are short ones, so that what takes seconds takes milliseconds.
 */
#pragma once
#include "fake/nvml/control.h"
#include "base/log.h"
#include "node/gpu/gpu.h"
#include "api/node.h"
#include "test.h"

struct gpu_rig {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_metrics *metrics;
	struct fl_log log;
	bool complained;               /* a sanitizer has spoken in a child */
	struct fl_gpu *gpu;
	struct fake_state *state;
	struct fl_arena arena;         /* of what the last look returned */
	char folder[64], root[80], sysfs[96], proc[96], env[128];
	const char *roots[2], *envs[2];
	bool forgive;                  /* a plan wants faults of XID 31 gone */
	uint64_t changes;              /* of cards, as told to a plan */
};

/* LATER: rig_start makes the feeder. SELDOM: looks are half a minute apart. CUDA: deep checks make a context. WAIT: the
 * driver is left alone until fl_gpu_begin(). CALM: looks at a card that has a fault or is coming back are RIG_CALM_LOOK
 * apart. */
enum { RIG_NO_LIBRARY = 1, RIG_LATER = 2, RIG_SELDOM = 4, RIG_CUDA = 8, RIG_WAIT = 16, RIG_CALM = 32 };
#define RIG_CALM_LOOK FL_NS_PER_S

int rig_up(struct gpu_rig *rig, const char *topology, unsigned flags, struct fl_err *err);
int rig_start(struct gpu_rig *rig, unsigned flags, struct fl_err *err);
/* Another feeder on an io of the caller's (now the rig's) and the fake driver of a rig that is down but for its
 * folder. */
int rig_again(struct gpu_rig *rig, const struct gpu_rig *tree, struct fl_io *io, struct fl_err *err);
void rig_down(struct gpu_rig *rig);
static inline void gpu_rig_auto_(struct gpu_rig *rig)
{
	rig_down(rig);
}

/* A node of its own, as variables rig and err. */
#define RIG(rig, topology, flags) \
	FL_AUTO(gpu_rig) struct gpu_rig rig = { 0 }; \
	struct fl_err err = { 0 }; \
	OK_ERR(rig_up(&rig, topology, flags, &err), &err)
#define SAY(words) OK_ERR(rig_say(&rig, words, &err), &err)

int rig_say(struct gpu_rig *rig, const char *words, struct fl_err *err);
int rig_tree(struct gpu_rig *rig, bool library, struct fl_err *err);          /* the files, made anew */

/* Turns until it is so; false when it is not within 20 s, which is before the next look of a SELDOM
 * one. */
bool rig_until(struct gpu_rig *rig, bool (*so)(struct gpu_rig *rig, int arg), int arg);
void rig_turn(struct gpu_rig *rig, uint64_t ns);
bool rig_driver(struct gpu_rig *rig, enum fl_driver_state state);             /* until */
bool rig_all_clean(struct gpu_rig *rig, int cards);                            /* the first ones, and listened to */
bool rig_answers(struct gpu_rig *rig, int gpu, enum fl_card_answer answer);   /* until */
bool rig_fault_is_told(struct gpu_rig *rig, int xid);

/* What the caches show now; NULL: nothing. */
const struct fl_driver *rig_see_driver(struct gpu_rig *rig);
const struct fl_card *rig_see_card(struct gpu_rig *rig, int gpu);
const struct fl_card_fault *rig_see_fault(struct gpu_rig *rig, int gpu, const char *what);
void rig_address(const struct gpu_rig *rig, int gpu, char ret[16]);
