/* plugin_in.h - the inside of the device plugin: for plugin*.c only.
 *
 * plugin.c has the whole, the sink and the registration; plugin_calls.c answers the kubelet; plugin_folder.c looks at
 * what is in its folder; plugin_counts.c asks whether the kubelet counts what it was told.
 */
#pragma once
#include "api/node.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"
#include "base/vec.h"
#include "grpc/client.h"
#include "grpc/pb.h"
#include "grpc/server.h"
#include "io/fs.h"
#include "io/notify.h"
#include "node/kubelet/plugin.h"

/* Until the next try: the end of an old stream may take a new one with it, which is over in a few ms; ... */
#define FL_PLUGIN_RETRY_FIRST (10 * FL_NS_PER_MS)
#define FL_PLUGIN_RETRY_LAST (300 * FL_NS_PER_MS)    /* ... and with jitter a kubelet is asked within 0.45 s */
#define FL_PLUGIN_TOLD_AFTER (30 * FL_NS_PER_S)      /* on the Node: a kubelet that starts anew is no news */
#define FL_PLUGIN_REGISTER_TIMEOUT (60 * FL_NS_PER_S)   /* a kubelet under load has taken 30 s */
#define FL_PLUGIN_WATCHED_WITHIN (2 * FL_NS_PER_S)   /* of being registered; it is a matter of ms */
#define FL_PLUGIN_LOOK_EVERY (30 * FL_NS_PER_S)      /* into the folder, in case the kernel's hints were lost */
#define FL_PLUGIN_COUNT_EVERY (300 * FL_NS_PER_S)    /* between counts while there is no other plugin */
#define FL_PLUGIN_HELPS_MAX 3                        /* for one socket of another plugin: it may serve nothing */

enum plugin_count {
	PLUGIN_LISTS, PLUGIN_ALLOCATED, PLUGIN_REFUSED, PLUGIN_REGISTERED, PLUGIN_UNREGISTERED, PLUGIN_WATCHERS,
	PLUGIN_COUNT_
};

/* One that listens to the list: lies in its call's arena. */
struct watcher {
	struct plugin *plugin;
	struct fl_grpc_call *call;
	uint64_t since;
	struct watcher *next, **from;
};

/* A resource that is wanted. */
struct plugin {
	struct fl_plugins *all;
	struct plugin *next, **from;
	struct fl_str name;
	struct fl_arena arena;             /* of `resource` and `common` */
	struct fl_resource resource;       /* whose list was sent last */
	struct fl_pb_fields common;        /* of all answers to Allocate */
	struct fl_addr addr;
	const char *file;                  /* the socket's name, within addr */
	struct fl_grpc_server *server;     /* NULL: it does not listen, and `again` tries it */
	uint64_t ino, listening_since;     /* of our socket; and the how-manieth look was the last one before it */
	struct watcher *watchers;          /* newest first */
	bool closing;                      /* it is us who end the streams */

	struct fl_grpc_request ask;        /* Register */
	struct fl_err err, why;            /* why: what went wrong last, FL_OK: nothing since the last success */
	bool told;                         /* that it is registered */
	uint64_t failing_since;            /* while there is a why */
	int64_t asked_wall;                /* when the Register that holds, or is on its way, was begun */
	uint64_t asked;                    /* the same by the loop's clock */
	uint64_t sent;                     /* when the list was, last */
	uint64_t given;                    /* when a device was allocated, last */
	bool lost;                         /* the newest stream has ended, and none has come since */
	bool changed;                      /* so has something that a Register tells, while one was on its way */
	struct fl_timer again;
	uint64_t delay;                    /* before this try; 0: none has failed */
	struct fl_series *series[PLUGIN_COUNT_];
	char bytes[];                      /* of the name */
};

/* One socket in the folder. */
struct folder_socket {
	char name[FL_NAME_MAX + 1];
	uint64_t ino;
	int64_t made;
	bool live;
};

/* A socket of NVIDIA's plugin at which somebody answers. */
struct other_plugin {
	char name[FL_NAME_MAX + 1];
	uint64_t ino;
	uint32_t helped;                   /* how often we have told the kubelet of it */
};

struct fl_plugins {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_plugins_options options;
	struct plugin *first;
	uint64_t seed[2], chances;
	bool drains;                       /* it is the end: nothing is begun any more */
	char process[12];                  /* ours, in hex: the end of the names of our sockets */
	struct fl_arena scratch;           /* of one list that is being sent */
	struct fl_family *families[4];
	struct fl_timer tell_timer;        /* of DirTrouble */

	struct fl_addr kubelet;
	struct fl_grpc_client *client;     /* only while a Register is on its way */

	/* ---- the folder ---- */
	struct fl_feed *sockets;           /* PluginSocket */
	struct fl_notify notify;
	struct fl_timer look_timer;
	struct fl_op look;                 /* the job that lists */
	struct fl_err look_err;
	uint64_t looks;                    /* begun so far */
	bool look_again;
	uint64_t kubelet_ino;              /* 0: not there, or not looked yet */
	int64_t kubelet_made;
	FL_VEC(struct folder_socket) seen;
	uint32_t probing;                  /* the one of `seen` that is asked whether anybody answers */
	struct fl_connect probe;
	uint64_t hurry;                    /* until the next look where a socket is about to be listened at */

	/* ---- what the kubelet counts ---- */
	struct fl_addr pods;               /* where it tells; an empty path: it is not asked */
	FL_VEC(struct other_plugin) other_plugins;
	struct fl_timer count_timer;
	struct fl_grpc_client *count_client, *help_client;   /* only while a request is on its way */
	struct fl_grpc_request count, help;
	struct fl_err count_err;
	uint64_t counted;                  /* when it was asked last */
	uint64_t others_at;                /* when another plugin came or went, last */
	bool count_again;
};

/* ---- plugin.c ---- */
uint64_t plugins_jitter(struct fl_plugins *all, uint64_t delay);   /* from it to half as much again */
void plugin_count(struct plugin *plugin, enum plugin_count what);
void plugin_watchers_changed(struct plugin *plugin);
void plugin_lost(struct plugin *plugin, uint64_t lived);   /* its newest stream, after so long, and not by us */
void plugins_kubelet_is_new(struct fl_plugins *all, int64_t made);        /* its socket has been made then */
void plugin_socket_is_gone(struct plugin *plugin);
void plugin_not_counted(struct plugin *plugin);   /* the kubelet has let go of it and said nothing */

/* ---- plugin_calls.c ---- */
extern const struct fl_grpc_handler plugin_handlers[5];
bool plugin_pre_start(const struct fl_resource *resource);
/* What the list says, one for each share, is it the same? */
bool plugin_same_list(const struct fl_resource *a, const struct fl_resource *b);
int plugin_check_list(const struct fl_resource *resource, struct fl_err *err);
/* What every container of the resource gets, in the arena. */
int plugin_pack_common(const struct fl_resource *resource, struct fl_arena *arena, struct fl_pb_fields *ret,
		       struct fl_err *err);
void plugin_send_all(struct plugin *plugin);
void plugin_end_watchers(struct plugin *plugin, const char *why);

/* ---- plugin_counts.c ---- */
void plugins_see_other_plugins(struct fl_plugins *all);   /* `seen` is known, and who answers there */
void plugins_count_soon(struct fl_plugins *all);
void plugins_count_stop(struct fl_plugins *all);

/* ---- plugin_folder.c ---- */
void plugins_folder_start(struct fl_plugins *all);
void plugins_folder_stop(struct fl_plugins *all);
