/* in.h - the inside of the driver's feeder: for this folder only.
 *
 * gpu.c has its life and what is done next; around.c looks for the driver and at the bus; kids.c has the
 * children and what they are asked; cards.c what is told of cards, faults and the driver; numbers.c metrics;
 * telemetry.c samples; users.c who else has the driver open.
 */
#pragma once
#include "base/log.h"
#include "io/notify.h"
#include "io/supervisor.h"
#include "node/gpu/driver_users.h"
#include "node/gpu/gpu.h"
#include "node/gpu/child.h"
#include "node/gpu/find.h"
#include "node/gpu/pci.h"

#define FL_GPU_PARTS_MAX 64                  /* of one card: hardware has 8 at most */
/* Reports of cards that memory was refused for, kept until there is some: one for each card of a usual machine, each as
 * long as a child puts it at most. */
#define FL_GPU_LATE_MAX 8
#define FL_GPU_LATE_BYTES 248
/* The longest order names all GPU instances of a GPU: a profile's name and its place each. */
#define FL_GPU_ORDER_MAX 512

#define FL_GPU_ASK_MAX (FL_GPU_CARDS_MAX * (FL_PCI_ADDRESS + 1))   /* of what is asked: addresses of all cards */

enum gpu_role { GPU_CALLS, GPU_EVENTS, GPU_CHECK, GPU_ROLE_COUNT_ };
extern const struct fl_names gpu_role_names;

struct gpu_kid {
	struct fl_gpu *gpu;
	enum gpu_role role;
	struct fl_supervisor *s;       /* NULL: there is none */
	bool leaving;                  /* freed when its process is gone */
	bool asking;
	enum fl_gpu_ask ask;
	char card[FL_PCI_ADDRESS];     /* that it was asked about */
	uint64_t asked_at;
	uint64_t not_before;           /* it is not made earlier */
	struct fl_request request;
	struct fl_buf reply;
	struct fl_err err;
};

struct gpu_card {
	char address[FL_PCI_ADDRESS];
	enum fl_card_answer answer;
	bool on_bus, listed;           /* who knows it: the bus, the driver */
	bool foreign;                  /* another kernel driver has it */
	bool asked;                    /* since the driver came */
	bool sample;                   /* to be read in this round */
	bool enrolled, reports;        /* asked for its events; sends them */
	int32_t clean;
	uint64_t counted_at;           /* the last look that counted as clean; 0: none */
	unsigned crashes;              /* of the child in a row, while it was asked about this card */
	uint64_t hash;                 /* of the last answer that was told; 0: none */
	uint64_t look_at;
	uint64_t check_at, delay;      /* HUNG: the next deep check */
};

/* A change of a GPU, by the child for calls. It ends when the GPU was fed with what came of it. */
struct fl_gpu_order {
	struct fl_op op;
	enum fl_gpu_ask ask;
	char address[FL_PCI_ADDRESS], text[FL_GPU_ORDER_MAX];   /* the address, a blank, the order */
	uint64_t within;               /* deadline of the call; 0: that of any call about a GPU */
	bool alone;                    /* not before the other children have released the driver */

	/* The feeder's. */
	struct fl_gpu *gpu;
	struct fl_gpu_order *next;
	bool asked;                    /* a child works on it */
	struct fl_err why;             /* it failed; the GPU is read again */
};
void fl_gpu_order(struct fl_gpu *gpu, struct fl_gpu_order *order);

/* A report that could not be told, for want of memory. */
struct gpu_late {
	uint32_t len;
	char bytes[FL_GPU_LATE_BYTES];
};

/* What the driver was last heard to say as a whole. */
enum gpu_word { GPU_WORD_NONE, GPU_WORD_FINE, GPU_WORD_NO_DRIVER, GPU_WORD_MISMATCH, GPU_WORD_SICK };

struct fl_gpu {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_gpu_options options;
	const char **searched;         /* the roots of the options, when they are ours: one piece with their texts */
	struct fl_gpu_pace pace;       /* without zeros */
	struct fl_feed *drivers, *cards_feed, *faults_feed;
	struct fl_arena arena;         /* of one thing that is told */
	struct fl_timer work;

	/* what was found, and when to look again */
	struct fl_op around;
	struct fl_err around_err;
	uint64_t around_at;
	struct fl_gpu_found found;
	uint64_t bus_names, bus_digest;
	bool bus_cut;
	struct fl_notify notify;       /* of the library's folder: packages change it under us */
	char folder[FL_GPU_PATH_MAX];  /* that is watched; "": none */
	bool looked;                   /* once at least: the feeds are synced */
	bool kernel_seen;              /* it was loaded once: when it is not, nobody wants us to load it */

	/* children */
	struct gpu_kid kids[GPU_ROLE_COUNT_];
	const char *argv[6];           /* theirs, while any is there */
	bool waits;                    /* for fl_gpu_begin() */
	unsigned pauses;
	struct fl_gpu_pause *waiting;
	char why[FL_ERR_TEXT];         /* of the pause */
	struct fl_op users_look;       /* for who else has the driver open, while it is paused */
	struct fl_driver_users users;
	bool users_known;              /* looked at since the last pause was asked for */
	uint64_t users_at;             /* when it is looked at next */
	uint64_t users_until;          /* pauses wait for the names no longer than this */
	uint64_t events_delay;         /* after the last failure to listen */
	char unheard[FL_ERR_TEXT];     /* why a card's events are not had, as it was logged; "": all are */
	bool left_behind;              /* a freed child has not died */
	uint64_t asked_count;

	/* the driver */
	enum gpu_word word;
	struct fl_err said;            /* its words, when they were bad */
	bool known;                    /* this child has answered for the driver */
	bool ready;                    /* all cards have been asked once */
	bool out;                      /* the child for calls died and has not answered since */
	bool start_failed;             /* ... and no other can be started: by no fault of the driver's */
	uint64_t out_at, retry_at, retry_delay;
	char version[FL_GPU_VERSION_MAX];
	int32_t cuda;
	uint64_t told;                 /* a digest of what was told of it */

	/* telemetry */
	struct fl_dcgm_set wanted;
	bool sampling, incomplete;     /* a round is under way; it has missed a GPU */

	/* cards */
	FL_VEC(struct gpu_card) cards;
	struct fl_gpu_order *orders;   /* in order */
	uint64_t links_at;
	uint32_t faults;               /* in the cache */
	struct gpu_late late[FL_GPU_LATE_MAX];
	uint32_t late_len;
	uint64_t late_at;              /* when they are tried again */
	struct fl_family *families[9];
};

/* ---- gpu.c ---- */
void gpu_wake(struct fl_gpu *gpu);                              /* something has changed: go on in the next turn */
struct gpu_card *gpu_card(struct fl_gpu *gpu, struct fl_str address);
struct gpu_card *gpu_card_add(struct fl_gpu *gpu, const char *address);   /* NULL: no memory, or too many. Those that
									     were found before have moved */
void gpu_listen_anew(struct fl_gpu *gpu);                       /* by another child */
void gpu_tell_again(struct fl_gpu *gpu);                        /* a card could not be told, for want of memory */
void gpu_forget(struct fl_gpu *gpu);                            /* the driver is another one, or gone: ask all anew */

/* ---- around.c ---- */
void gpu_around(struct fl_gpu *gpu);                            /* start looking, if it is time */

/* ---- kids.c ---- */
bool gpu_wanted(const struct fl_gpu *gpu);                      /* should there be children? */
void gpu_kids_tend(struct fl_gpu *gpu);                         /* those that should be, and no others */
void gpu_kid_let_go(struct gpu_kid *kid);
bool gpu_kid_free_to_ask(const struct gpu_kid *kid);
void gpu_kid_ask(struct gpu_kid *kid, enum fl_gpu_ask ask, struct fl_str about, uint64_t within);
unsigned gpu_stuck(const struct fl_gpu *gpu);
void gpu_answered(struct gpu_kid *kid, int r);                  /* gpu.c's: what came of a request */
void gpu_listens(struct fl_gpu *gpu, struct fl_str payload);    /* others are listened to than before */
void gpu_news(struct gpu_kid *kid, enum fl_supervisor_news news, const char *text);

/* ---- cards.c ---- */
struct gpu_change {
	const struct fl_card *fresh;           /* what the driver says now; NULL: as before */
	uint64_t asked_at;                     /* when it was asked for that */
	const struct fl_pci_card *bus;
	const struct fl_gpu_links_of *links;
	const char *message;                   /* of a card that does not answer */
	bool miscomputes;                      /* CUDA failed on it, or was wrong */
};
/* 0 or -FL_E_NOMEM: nothing was told. What it needs of gpu->arena stays there. */
int gpu_put_card(struct fl_gpu *gpu, struct gpu_card *card, const struct gpu_change *change);
void gpu_drop_card(struct fl_gpu *gpu, struct fl_str address);  /* from the caches, with its faults */
bool gpu_card_rests(struct fl_gpu *gpu, const struct gpu_card *card);   /* further clean looks change nothing */
void gpu_tell_late(struct fl_gpu *gpu);                         /* reports that had no memory */
void gpu_event(void *kid, uint16_t kind, struct fl_str payload);
void gpu_say_driver(struct fl_gpu *gpu);

/* ---- orders.c ---- */
bool gpu_order_ask(struct fl_gpu *gpu, struct gpu_kid *kid);    /* the next one; false: there is none */
void gpu_order_answered(struct fl_gpu *gpu, int r, const struct fl_err *err);
void gpu_orders_fail(struct fl_gpu *gpu);                       /* the driver is not ready */
bool gpu_order_alone(const struct fl_gpu *gpu);                 /* only the child for calls may have the driver */

/* ---- telemetry.c ---- */
bool gpu_sample_ask(struct fl_gpu *gpu, struct gpu_kid *kid);   /* of the next GPU; false: of none */
void gpu_sample_answered(struct fl_gpu *gpu, struct gpu_card *card, struct gpu_kid *kid, int r);
void gpu_sample_stop(struct fl_gpu *gpu);                       /* the round is over, incomplete */

/* ---- users.c ---- */
void gpu_users_ask(struct fl_gpu *gpu);                         /* of a pause: look when our children are gone */
void gpu_users_look(struct fl_gpu *gpu);                        /* start looking, if it is time */

/* ---- numbers.c ---- */
int gpu_numbers_add(struct fl_gpu *gpu, struct fl_err *err);
void gpu_count_call(struct fl_gpu *gpu, enum fl_gpu_ask ask, int r, uint64_t took);
void gpu_count_news(struct fl_gpu *gpu, enum gpu_role role, enum fl_supervisor_news news);
void gpu_count_fault(struct fl_gpu *gpu, const struct fl_card_fault *fault);
