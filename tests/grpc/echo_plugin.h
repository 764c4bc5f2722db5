/* echo_plugin.h - a device plugin for tests and benches: it answers as tests/peer/grpc/main.go says of both servers. */
#pragma once
#include "grpc/server.h"

struct echo_plugin {
	struct fl_io *io;
	int slept;                        /* callers who were kept waiting */
	int gone;                         /* callers who left before their answer */
	bool newest;                      /* of the three lists of a stream only the newest counts */
	struct fl_grpc_server *server;
};

/* Listens on the path when it returns 0. */
int echo_plugin_start(struct echo_plugin *plugin, struct fl_io *io, const char *path, uint32_t max_streams,
		      struct fl_err *err);
void echo_plugin_stop(struct echo_plugin *plugin);
