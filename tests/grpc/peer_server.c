/* peer_server.c - our gRPC server as a program, for peers and benches: `peer_server SOCKET` until it is killed.
 * `peer_server --idle SOCKET` has the loop and no server: what it takes is what the server does not add. */
#include "echo_plugin.h"
#include <stdio.h>

int main(int argc, char **argv)
{
	bool idle = argc == 3 && strcmp(argv[1], "--idle") == 0;
	struct fl_err err = { .text = "usage: peer_server [--idle] SOCKET" };
	struct fl_io *io = argc == 2 || idle ? fl_posix_new(&err) : NULL;
	struct echo_plugin plugin;

	if (!io || (!idle && echo_plugin_start(&plugin, io, argv[1], 0, &err) < 0)) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	(void)puts("ready");
	(void)fflush(stdout);
	return fl_io_run(io, &err) < 0;
}
