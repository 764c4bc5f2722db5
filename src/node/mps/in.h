/* in.h - the inside of the MPS sink: mps.c has records, writes and what is fed; daemon.c the steps and probes
 * of one daemon. */
#pragma once
#include "base/log.h"
#include "io/file.h"
#include "kube/exec.h"
#include "node/mps/mps.h"
#include "node/mps/launch.h"
#include "api/node.h"
#include "plan/gpu/mps.h"

#define FL_MPS_MARKED_MAX 1024               /* addresses of all cards of a node: 64 of 13 bytes */
#define FL_MPS_LIMITS_MAX 1536               /* a line for each of them: 64 of 20 bytes */

#define MPS_PROGRAM_USUAL "/usr/bin/" FL_MPS_PROGRAM

/* What is wanted, as texts of our own: of the daemon that runs, if one does. */
struct mps_config {
	char root[FL_MPS_ROOT_MAX + 1], program[FL_MPS_PATH_MAX], libraries[FL_MPS_PATH_MAX];
};

struct fl_mps_daemon {
	struct fl_mps_daemons *all;
	struct fl_mps_daemon *next, **from;
	char name[64];
	struct mps_config config;
	struct mps_config recorded;            /* as the journal has it, with `marked` */
	char marked[FL_MPS_MARKED_MAX];        /* addresses, each followed by a blank */
	char set[FL_MPS_LIMITS_MAX];           /* limits in force; "": not known */
	char wanted[FL_MPS_LIMITS_MAX];        /* of the step */

	bool known;                            /* whether there is a daemon */
	enum fl_mps_phase is;
	int pid, fd;                           /* fd of the process; -1 */
	int64_t started;                       /* by the kernel: fl_mps_start_time */
	bool ends;                             /* with the agent, as it is in its cgroup */
	struct fl_file_read look;              /* whether the fd is of the process that was told */
	struct fl_buf seen;
	void (*when_watched)(struct fl_mps_daemon *daemon);
	struct fl_poll poll;
	bool fault;
	int32_t clean, fails;
	char message[FL_ERR_TEXT];

	struct fl_write *write;                /* the step that is under way; NULL: none */
	struct fl_timer turn;                  /* a step that needs nothing ends in the next turn */
	struct fl_journal_append append;
	struct fl_file_replace replace;
	struct fl_exec exec;                   /* one program at a time */
	void (*then)(struct fl_mps_daemon *daemon, int r);     /* when it has ended */
	void (*when_ended)(struct fl_mps_daemon *daemon);      /* when the daemon has; NULL: nobody waits */
	struct fl_timer patience;              /* with its end */
	struct fl_err err;
	struct fl_timer probe;
	bool probing;
	bool adopting;                         /* the step that found the daemon ends with its first probe */
	int64_t servers[8];                    /* pids that the last probe told of */
	uint32_t server_len;
};

/* ---- mps.c ---- */
void mps_feed(struct fl_mps_daemon *daemon);                    /* as observed */
void mps_end(struct fl_mps_daemon *daemon);                     /* the step is done */
void mps_fail(struct fl_mps_daemon *daemon, const struct fl_err *why);

/* ---- daemon.c ---- */
void mps_step_start(struct fl_mps_daemon *daemon);
void mps_step_limit(struct fl_mps_daemon *daemon, const struct fl_mps *want);
void mps_step_stop(struct fl_mps_daemon *daemon);
void mps_let_go(struct fl_mps_daemon *daemon);                  /* of programs and timers; the daemon goes on */
