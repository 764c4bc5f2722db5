/* sim_in.h - inside the simulator: what its files share.
 *
 * world.c has the clock, hosts and processes; sys.c the table that a process sees; net.c sockets; disk.c inodes and
 * what a crash leaves of them; fs.c paths and the table of blocking calls.
 */
#pragma once
#include "io/sys.h"
#include "sim/sim.h"

/* ---- memory of the simulator: never refused ---- */
void *sim_get(size_t size);                   /* zeroed */
void *sim_more(void *p, size_t size);
void sim_put(void *p);
#define SIM_VEC(type) \
	struct { \
		type *at; \
		uint32_t len, cap; \
	}
#define sim_push(vec, item) \
	((vec)->len == (vec)->cap ? \
		 (void)((vec)->at = sim_more((vec)->at, ((vec)->cap = (vec)->cap * 2 + 4) * sizeof *(vec)->at)) : \
		 (void)0, \
	 (void)((vec)->at[(vec)->len++] = (item)))

/* ---- things that will happen ---- */
struct sim_event {
	void (*fire)(struct sim_event *event);
	uint64_t at, order;
	uint32_t place;               /* in the heap, from 1; 0: not set */
};
void sim_set(struct sim_world *world, struct sim_event *event, uint64_t at);
void sim_unset(struct sim_world *world, struct sim_event *event);

struct sim_named {
	char *path;
	sim_main run;
};

struct sim_world {
	struct sim_config config;
	uint64_t now, order, chance, events;
	SIM_VEC(struct sim_event *) heap;
	SIM_VEC(struct sim_host *) hosts;
	SIM_VEC(struct sim_named) programs;
	SIM_VEC(struct sim_call *) calls;
	char *trace;
	size_t trace_len, trace_cap;
};

uint64_t sim_below(struct sim_world *world, uint64_t bound);          /* 0 to bound - 1 */
bool sim_happens(struct sim_world *world, unsigned of_a_million);
void sim_tell(struct sim_host *host, const char *fmt, ...) FL_PRINTF(2, 3);
#define sim_traced(host) ((host)->world->config.trace)

/* ---- open files ---- */
enum sim_kind { SIM_INODE, SIM_SOCK, SIM_LISTENER, SIM_PROCESS, SIM_STARTED, SIM_SIGNALS, SIM_NOTIFY };

struct sim_file {
	enum sim_kind kind;
	unsigned refs;
	struct sim_host *host;
	struct sim_fd *watchers;      /* those in some process' loop */
	/* INODE */
	struct sim_inode *inode;
	uint64_t at;
	int flags;
	bool wrote;
	unsigned lock;                /* LOCK_SH, LOCK_EX or 0 */
	char *list_after;             /* directories: the last name that was listed */
	struct sim_inode *dir;        /* what was opened for writing: its name, for those who watch */
	char *name;
	/* SOCK, LISTENER, NOTIFY */
	struct sim_sock *sock;
	struct sim_listener *listener;
	struct sim_notify *notify;
	/* PROCESS, STARTED, SIGNALS */
	struct sim_process *process;
	int started_errno;
	bool started, told;
};
struct sim_file *sim_file_new(struct sim_host *host, enum sim_kind kind);
void sim_file_ref(struct sim_file *file);
void sim_file_drop(struct sim_file *file);
unsigned sim_file_ready(const struct sim_file *file);
void sim_file_changed(struct sim_file *file);   /* it may have become ready: wake those that wait */

struct sim_fd {
	struct sim_process *process;
	struct sim_file *file;
	void *token;
	unsigned want;
	bool queued;                  /* in the process' ready queue */
	struct sim_fd *next_ready;
	struct sim_fd *next, **from;  /* in file->watchers */
};

/* ---- processes ---- */
struct sim_lane {
	struct fl_job *first, **last;
	struct sim_event run;
	struct sim_process *process;
	bool begun;
};

struct sim_process {
	struct sim_host *host;
	struct fl_sys sys;
	struct fl_fs fs;
	struct fl_io *io;
	sim_main run;
	int pid, parent;
	unsigned refs;                /* the host's list, and files of kind PROCESS and STARTED */
	uint32_t uid, gid;
	char **argv;
	void *self;
	void (*gone)(void *self);
	SIM_VEC(struct sim_fd *) fds;
	struct sim_fd *ready, **ready_last;
	struct fl_job *returned, **returned_last;
	struct sim_lane lanes[FL_LANE_COUNT_];
	struct sim_event wake;
	uint64_t not_before;          /* a turn takes time */
	struct sim_file *started;     /* tells the parent that it runs */
	struct sim_file *handle;      /* the parent's; NULL: closed, or there is none */
	uint64_t caught, pending;     /* signals */
	struct sim_file *signals;
	int death_signal;
	int waiting_signal;           /* came while it could not be killed */
	bool booted, in_turn, ending, dead, hung, unkillable, reaped;
	struct fl_exit exit;
};
struct sim_process *sim_process_new(struct sim_host *host, sim_main run, int parent);
void sim_process_ref(struct sim_process *process);
void sim_process_drop(struct sim_process *process);
void sim_process_wake(struct sim_process *process);
void sim_process_end(struct sim_process *process, struct fl_exit how);

/* sys.c */
void sim_sys_init(struct sim_process *process);
void sim_sys_close_all(struct sim_process *process);
int sim_fd_add(struct sim_process *process, struct sim_file *file, int at_least);   /* takes over the reference */
struct sim_file *sim_fd_get(const struct sim_process *process, int fd);
void sim_fd_close(struct sim_process *process, int fd);
bool sim_refuses(struct sim_process *process);
bool sim_has_events(struct sim_process *process);
void sim_lane_go(struct sim_lane *lane);

/* ---- sockets ---- */
struct sim_segment {
	struct sim_segment *next;
	uint64_t due;
	enum { SIM_DATA, SIM_FIN, SIM_RST, SIM_OPEN } kind;
	uint32_t len;
	uint8_t bytes[];
};

/* One end of a connection. It lives until its file is closed; the other end lets go of it then. */
struct sim_sock {
	struct sim_host *host;        /* where it is */
	struct sim_host *to;          /* where the other end is */
	struct sim_sock *peer;        /* NULL: it does not know of us any more */
	struct sim_file *file;        /* NULL: accepted by nobody yet, or closed and only sending the rest */
	struct sim_sock **listed;     /* host->socks */
	struct sim_sock *next, *queue_next;
	struct sim_listener *queued;  /* waits in its queue */
	struct fl_addr local, remote;
	struct fl_cred cred;          /* of the other end */
	enum { SIM_CONNECTING, SIM_CONNECTED, SIM_FAILED } state;
	int error;                    /* FAILED: errno */
	bool pipe_read, pipe_write;   /* a pipe: which of its ends */
	bool end_read, end_written;
	uint8_t *rx;                  /* arrived and not read */
	uint32_t rx_at, rx_len, rx_cap;
	struct sim_segment *in, **in_last;   /* under way to here */
	uint32_t under_way;           /* bytes of those */
	struct sim_event arrive;      /* the first of `in`; while connecting: the next try */
	uint64_t last_due, retry, blocked;
	struct sim_event orphan;      /* sent to somebody who does not know us any more */
	uint64_t orphan_retry;
};

struct sim_listener {
	struct sim_host *host;
	struct sim_file *file;
	struct fl_addr addr;
	struct sim_inode *inode;      /* unix path */
	struct sim_sock *first, **last;
	unsigned waiting;
	struct fl_cred cred;
	struct sim_listener *next, **from;
};

int sim_net_connect(struct sim_process *process, const struct fl_addr *addr);
int sim_net_listen(struct sim_process *process, const struct fl_addr *addr, unsigned mode);
struct sim_sock *sim_net_accept(struct sim_listener *listener);
int sim_net_pair(struct sim_process *process, enum fl_pair_kind kind, struct sim_file *ret[2]);
int64_t sim_net_read(struct sim_sock *sock, void *bytes, size_t len);
int64_t sim_net_write(struct sim_sock *sock, const void *bytes, size_t len);
int sim_net_shutdown(struct sim_sock *sock);
void sim_net_close(struct sim_sock *sock);
void sim_net_close_listener(struct sim_listener *listener);
void sim_net_lose_all(struct sim_host *host);    /* the power is gone: no end is told to anybody */
unsigned sim_net_ready(const struct sim_sock *sock);

/* ---- disks ---- */
struct sim_write {                /* a change of a file's data that has not been synced */
	uint64_t at, old_size, new_size;
	uint32_t len, old_len;
	uint8_t *bytes, *old;
	bool synced;                  /* safe, but behind one that is not */
	bool doomed;                  /* a sync of it failed: no later one will save it */
};

struct sim_entry {
	char *name;
	struct sim_inode *inode;
};

struct sim_watch {
	struct sim_notify *notify;
	int number;
};

struct sim_inode {
	struct sim_host *host;
	unsigned refs, names;
	uint32_t mode, uid, gid;
	uint64_t ino, size, cap, rdev;
	int64_t mtime, ctime;
	uint8_t *data;                /* a file's content, a symlink's target */
	SIM_VEC(struct sim_entry) entries;   /* sorted by name */
	struct sim_inode *parent;     /* of a directory */
	SIM_VEC(struct sim_write) writes;
	bool dirty;                   /* in disk->dirty */
	SIM_VEC(struct sim_watch) watches;
	struct sim_listener *listener;
	struct sim_file *exclusive;
	unsigned shared;
};

struct sim_part {                 /* one name that changed */
	struct sim_inode *dir, *old, *new;
	char *name;
};
struct sim_change {               /* names that changed together */
	unsigned count;
	struct sim_part part[2];
};

struct sim_disk {
	struct sim_inode *root;
	uint64_t last_ino, used, calls;
	bool ordered;                 /* names are synced as a journal does it */
	SIM_VEC(struct sim_change) changes;   /* of names, not synced, in order */
	SIM_VEC(struct sim_inode *) dirty;
};

struct sim_notify {
	struct sim_host *host;
	struct sim_file *file;
	int last;
	SIM_VEC(struct sim_inode *) dirs;     /* by watch number - 1; NULL: gone */
	SIM_VEC(struct fl_change) queue;
	uint32_t taken;
	bool lost;
};

struct sim_inode *sim_inode_new(struct sim_host *host, uint32_t mode);
void sim_inode_ref(struct sim_inode *inode);
void sim_inode_drop(struct sim_inode *inode);
struct sim_inode *sim_dir_get(const struct sim_inode *dir, const char *name, size_t len);
uint32_t sim_dir_place(const struct sim_inode *dir, const char *name, size_t len, bool *ret_found);
/* Does it, and remembers it until it is synced; names are copied. */
void sim_dir_change(struct sim_host *host, const struct sim_change *change);
int64_t sim_inode_write(struct sim_inode *inode, const void *bytes, size_t len, uint64_t at);
int sim_inode_resize(struct sim_inode *inode, uint64_t size);
void sim_inode_sync(struct sim_inode *inode, bool fails);
void sim_disk_init(struct sim_host *host);
void sim_disk_free(struct sim_host *host);
void sim_disk_crash(struct sim_host *host);
void sim_disk_sync_all(struct sim_host *host);
void sim_dir_told(struct sim_inode *dir, const char *name);

/* fs.c */
void sim_fs_init(struct sim_process *process);
int sim_path(struct sim_process *process, const char *path, struct sim_inode **ret_dir, char last[FL_NAME_MAX + 1],
	     struct sim_inode **ret);
int sim_fs_begin(const struct fl_fs *fs);        /* of every primitive: 0, or why it fails */

/* extras.c */
int sim_fs_lock(const struct fl_fs *fs, int fd, int how);
int sim_fs_lookup(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max);
int sim_fs_notify_add(const struct fl_fs *fs, int notify_fd, const char *path);
void sim_unlock(struct sim_file *file);
void sim_notify_close(struct sim_notify *notify);
int sim_notify_next(struct sim_notify *notify, struct fl_change *ret);
void sim_notify_drop_watch(struct sim_notify *notify, int watch);

/* ---- hosts ---- */
struct sim_host {
	struct sim_world *world;
	char *name;
	sim_main boot;
	void *arg;
	uint32_t number;
	bool up, cut_now;
	int last_pid;
	uint16_t last_port;
	uint64_t booted;              /* world time */
	int64_t wall_offset;
	SIM_VEC(struct sim_process *) processes;
	struct sim_sock *socks;       /* both ends of what goes over the network or a unix socket */
	struct sim_listener *listeners;
	SIM_VEC(bool) cut_to;         /* by number of the other host */
	struct sim_faults faults;
	struct sim_disk disk;
	struct sim_event power_off;
};
bool sim_link_up(const struct sim_host *from, const struct sim_host *to);
struct sim_host *sim_host_at(struct sim_world *world, const struct fl_addr *addr, struct sim_host *self);
struct sim_host *sim_host_named(struct sim_world *world, const char *name);
int64_t sim_wall(const struct sim_host *host);
