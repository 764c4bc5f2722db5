/* sim.h - a world of hosts in one process, under a clock of its own, where a seed decides what breaks.
 *
 * The second implementation of the seam (io/sys.h). A host has a network address, a file system with its own idea of
 * what has reached the disk, and processes; a process is a C function with a struct fl_io. Nothing in the world waits:
 * when no process has anything to do, the clock jumps. The same seed and the same calls give the same events in the
 * same order, byte for byte in the trace.
 *
 *     struct sim_world *w = sim_world_new(&(struct sim_config){ .seed = 7, .trace = true });
 *     struct sim_host *a = sim_host_new(w, "a", server, NULL), *b = sim_host_new(w, "b", client, NULL);
 *     sim_run(w, 5 * FL_NS_PER_S);
 *     sim_cut(a, b, true);                        the network between the two
 *     sim_run(w, 10 * FL_NS_PER_S);
 *     sim_crash(a); sim_start(a);                 what was not synced is lost, torn or out of order; boots again
 *     ...
 *     sim_world_free(w);
 *
 * The simulator's own memory is not the program's: it is never refused and not counted by fl_mem_live.
 */
#pragma once
#include "base/mem.h"
#include "io/child.h"
#include "io/fs.h"
#include "io/io.h"

struct sim_world;
struct sim_host;
struct sim_process;

/* ---- the world ---- */

struct sim_config {
	uint64_t seed;
	bool trace;                  /* keep a line of text for each thing that happens */
	bool (*refuse)(void);        /* asked before each call of the seam: shall this one fail? test_refuse_io */
	uint64_t latency_min, latency_max;   /* ns one way between two hosts; 0: 50 to 500 us */
	unsigned short_io;           /* of a million reads and writes of sockets, so many are short */
	unsigned reset;              /* of a million writes, so many reset the connection */
};
struct sim_world *sim_world_new(const struct sim_config *config);
struct sim_world *sim_world_free(struct sim_world *world);   /* everything in it; NULL-safe, returns NULL */
FL_DEFINE_AUTO(sim_world, struct sim_world *, sim_world_free);

/* Let things happen up to this time. sim_run_until stops as soon as done() says so; false: it never did. */
void sim_run(struct sim_world *world, uint64_t until);
bool sim_run_until(struct sim_world *world, uint64_t until, bool (*done)(void *arg), void *arg);
uint64_t sim_now(const struct sim_world *world);         /* ns since the world began */
uint64_t sim_random(struct sim_world *world);            /* the seed's next number */
uint64_t sim_events(const struct sim_world *world);      /* how many have happened */

/* Call this then, from outside of all processes. */
void sim_at(struct sim_world *world, uint64_t at, void (*call)(void *arg), void *arg);

/* All lines so far; lives until the next event. sim_note adds one of your own. */
struct fl_str sim_trace(const struct sim_world *world);
void sim_note(struct sim_process *process, const char *fmt, ...) FL_PRINTF(2, 3);

/* ---- programs ----
 *
 * main() sets things up on sim_io(process) and returns 0, and the process lives on in its loop; or < 0, and it has
 * ended with code 1. When it ends, by itself or by force, gone() frees its memory; what it does to the outside by then
 * has no effect any more. */
typedef int (*sim_main)(struct sim_process *process);
void sim_own(struct sim_process *process, void *self, void (*gone)(void *self));

/* What a spawn of this path runs, on every host. */
void sim_program(struct sim_world *world, const char *path, sim_main run);

struct fl_io *sim_io(struct sim_process *process);
struct sim_host *sim_host_of(struct sim_process *process);
struct sim_world *sim_world_of(struct sim_process *process);
void *sim_arg(struct sim_process *process);              /* what the host was given */
const char *const *sim_argv(struct sim_process *process);
int sim_pid(const struct sim_process *process);

/* Now, or at the end of the callback that runs. */
void sim_exit(struct sim_process *process, int code);
void sim_die(struct sim_process *process, int signo);    /* a crash: SIGSEGV */

/* From now on it takes no turn (SIGSTOP, a hang in a call); and, in uninterruptible sleep, no signal either. */
void sim_hang(struct sim_process *process, bool unkillable);
void sim_unhang(struct sim_process *process);            /* a signal that came meanwhile takes effect now */
struct sim_process *sim_process_find(struct sim_host *host, int pid);   /* NULL: none that lives */
unsigned sim_process_count(const struct sim_host *host);
void sim_signal(struct sim_process *process, int signo);

/* ---- hosts ---- */

/* Boots: `boot` is its first process, and begins when the world next runs. The name is what lookups find. */
struct sim_host *sim_host_new(struct sim_world *world, const char *name, sim_main boot, void *arg);
struct fl_addr sim_addr(const struct sim_host *host, uint16_t port);
bool sim_is_up(const struct sim_host *host);

/* Power goes: every process is gone without a word to its peers; of what was not synced the seed keeps some. */
void sim_crash(struct sim_host *host);
void sim_stop(struct sim_host *host);    /* orderly: all processes end, all is synced */
void sim_start(struct sim_host *host);

void sim_cut(struct sim_host *a, struct sim_host *b, bool cut);      /* both ways; packets are sent again later */
void sim_cut_one_way(struct sim_host *from, struct sim_host *to, bool cut);
void sim_reset_all(struct sim_host *host);                           /* every connection of the host to others */
void sim_wall_step(struct sim_host *host, int64_t by);

/* Faults of a host; change them at any time. */
struct sim_faults {
	uint64_t disk_bytes;         /* room for data; 0: 64 MiB */
	bool read_only;              /* EROFS */
	bool stuck;                  /* jobs that read and write files wait until this is over: call sim_unstick */
	bool no_names, no_notify;    /* lookups fail (EAGAIN), inotify has no instances left (EMFILE) */
	unsigned eio_read, eio_write, eio_sync;   /* of a million calls so many fail */
	uint64_t disk_min, disk_max; /* ns that a job takes; 0: 20 to 200 us */
	uint64_t fds;                /* open fds of a process; 0: 4096 */
	uint64_t cut_after;          /* power goes before the n-th call of struct fl_fs (1: the next one); 0: never */
};
struct sim_faults *sim_faults(struct sim_host *host);
void sim_unstick(struct sim_host *host);
uint64_t sim_fs_calls(const struct sim_host *host);     /* of struct fl_fs so far: what cut_after counts */

/* The disk from outside, without the host's programs: what a process would see now. */
struct fl_buf;
int sim_file_get(struct sim_host *host, const char *path, struct fl_buf *into);   /* 0 or -errno */
int sim_file_put(struct sim_host *host, const char *path, const void *bytes, size_t len);   /* synced; makes folders */
