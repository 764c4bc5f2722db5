/* lines.h - the exporter's text: which lines there are, with which labels.
 *
 * Lines and labels are those of DCGM's exporter. Pure: what the driver has told (fl_dcgm_gpu), what the caches know
 * (cards, holders), and the list in force go in; text in Prometheus' format comes out, a metric at a time.
 *
 * A GPU in MIG mode has lines of its GPU instances only, which repeat the values that the GPU has as a whole; a sum
 * over lines counts those several times. fairlead_gpu_* beside them have each value once, in base units. A device that
 * Pods share has a line for each container.
 */
#pragma once
#include "api/node.h"
#include "plan/exporter/list.h"

#define FL_DCGM_LINES_MAX 20000                   /* of one text; more are left out and counted */
#define FL_DCGM_PARTS 8                           /* GPU instances of one GPU */
#define FL_DCGM_LINK_FIELDS 20                    /* fields that a link has */
#define FL_DCGM_XIDS 64                           /* kinds of XID of one GPU that are counted apart */
#define FL_DCGM_XIDS_LATE 256                     /* the last XIDs of this node, for the window */
#define FL_DCGM_CLOCKS 64                         /* samples of the clock events of a GPU, for the window */
#define FL_DCGM_WINDOW (300 * FL_NS_PER_S)        /* of DCGM_EXP_*, unless it is set */
#define FL_DCGM_TEXT_MAX 48                        /* a serial number, a VBIOS version: 20 */

/* Values by enum fl_dcgm_id; NaN: none. */
struct fl_dcgm_part {
	int32_t gi;
	double at[FL_DCGM_COUNT];
};

struct fl_dcgm_xid {
	int32_t gi;                               /* -1: the whole GPU */
	int64_t xid;
	uint64_t count;
};

struct fl_dcgm_gpu {
	char address[16];                         /* "0000:07:00.0" */
	bool has;                                 /* it was read in the last round */
	uint64_t read_at;                         /* ns of the loop's clock */
	double at[FL_DCGM_COUNT];
	char serial[FL_DCGM_TEXT_MAX], vbios[FL_DCGM_TEXT_MAX];
	uint32_t part_len, link_len, xid_len, clock_len, clock_at;
	struct fl_dcgm_part parts[FL_DCGM_PARTS];
	double links[FL_DCGM_LINKS][FL_DCGM_LINK_FIELDS];
	struct fl_dcgm_xid xids[FL_DCGM_XIDS];
	int64_t last_xid[1 + FL_DCGM_PARTS];      /* of the GPU, then of `last_gi` */
	int32_t last_gi[1 + FL_DCGM_PARTS];
	struct { uint64_t at; uint32_t mask; } clocks[FL_DCGM_CLOCKS];   /* a ring */
};

/* Where a field's value is in `links`; -1: it has none. */
int fl_dcgm_link_field(uint32_t id);
void fl_dcgm_clear(struct fl_dcgm_gpu *gpu);      /* all values; not what is counted */

struct fl_dcgm_late_xid {
	char address[16];
	int32_t gi;
	int64_t xid;
	uint64_t at, count;
};

/* A Pod, as the container runtime has it. */
struct fl_dcgm_pod {
	struct fl_str space, name, uid;
	struct fl_str labels;                     /* its labels as those of a line: `,app="x"`; may be empty */
};

/* How the lines are written: DCGM's exporter has the same options. */
struct fl_dcgm_style {
	struct fl_str node, version;              /* hostname; the driver's version */
	bool no_hostname, old_names, no_blanks, no_pods, pod_uid;
	bool once;                                /* a field of the GPU as a whole has one line a GPU */
	uint64_t window_xids, window_clocks;      /* ns */
};

struct fl_dcgm_facts {
	const struct fl_dcgm_list *list;
	struct fl_dcgm_gpu *const *gpus;          /* by address */
	uint32_t gpu_len;
	const struct fl_card *cards;
	uint32_t card_len;
	const struct fl_holder *holders;          /* of which Pods are named; NULL: nobody is known */
	uint32_t holder_len;
	const struct fl_dcgm_pod *pods;           /* those that are known */
	uint32_t pod_len;
	const struct fl_dcgm_late_xid *late;
	uint32_t late_len;
	struct fl_dcgm_style style;
	uint64_t now;                             /* ns of the loop's clock */
	double updated;                           /* seconds since 1970 of the last complete round; 0: none */
};

/* One device, with its labels made. */
struct fl_dcgm_target {
	const struct fl_dcgm_gpu *gpu;
	const struct fl_dcgm_part *part;          /* NULL: the whole GPU */
	const struct fl_card *card;               /* while the labels are made */
	bool instances;                           /* the whole GPU, whose instances have lines of their own */
	struct fl_str head;                       /* gpu="0",UUID="..." */
	struct fl_str link_head, own_head;        /* of lines of links, of fairlead_gpu_* */
	struct fl_str *tails;                     /* of each container: ,container="..." */
	uint32_t tail_len;
};

struct fl_dcgm_lines {
	const struct fl_dcgm_facts *facts;        /* borrowed */
	struct fl_dcgm_target *targets;           /* in the arena, as their texts */
	uint32_t target_len;
	uint32_t lines, left_out;
};

/* Labels, once for all metrics; cards, holders and Pods are not looked at afterwards. -FL_E_NOMEM. */
int fl_dcgm_lines_make(const struct fl_dcgm_facts *facts, struct fl_arena *arena, struct fl_dcgm_lines *ret) FL_MUSTUSE;

/* Appends metric number `at`, from 0 on; false: there are no more. */
bool fl_dcgm_lines_put(struct fl_dcgm_lines *lines, uint32_t at, struct fl_buf *buf);

/* ---- own.c: fairlead_gpu_*, for fl_dcgm_lines_put ---- */
bool fl_dcgm_own_put(struct fl_dcgm_lines *lines, uint32_t at, struct fl_buf *buf);
void fl_dcgm_put_head(struct fl_buf *buf, struct fl_str name, struct fl_str help, const char *type);
bool fl_dcgm_line(struct fl_dcgm_lines *lines);   /* is there room for one more? */
