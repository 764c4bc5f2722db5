/* town.h - a server with few places in the simulated world, and guests at five addresses that take them. */
#pragma once
#include "base/units.h"
#include "http/client.h"
#include "sim/sim.h"

enum { PLACES = 16, SHARE = PLACES / 2, LINES = 2 * PLACES, FEW_HANDSHAKES = 4 };
#define GET(path) FL_S("GET " path " HTTP/1.1\r\nhost: a\r\n\r\n")

struct house {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_tls_context *tls;
	struct fl_err err;
};

struct line {
	struct guest *guest;
	struct fl_connect connect;
	struct fl_poll poll;
	struct fl_str says;
	char said[2000];
	size_t len;
	bool over, deaf;           /* deaf: it reads nothing by itself */
};

struct guest {
	struct fl_io *io;
	struct sim_process *process;
	struct fl_http_client *client;
	struct fl_http_call call;
	struct fl_tls_context *tls;
	struct fl_err err;
	struct line lines[LINES];
	unsigned count;
	int done;
	bool deaf;                 /* the lines that it dials are */
};

/* So many lines that say this first. */
void dial(struct guest *guest, struct sim_host *to, uint16_t port, unsigned count, struct fl_str says);
void hear(struct line *line, size_t most);   /* for the deaf: at most so many bytes */
int call_tls(struct guest *guest);           /* GET / at port 443; `done` says that it is over */

struct town {
	struct sim_world *world;
	struct sim_host *host;
	struct house *house;
	struct guest *a, *b, *c, *d, *e;
};

int boot_paced_house(struct sim_process *process);   /* FEW_HANDSHAKES */
int boot_large_paced_house(struct sim_process *process);   /* the same, and a share is LINES places */
int found_with(struct town *town, sim_main house);
int found(struct town *town);                        /* as many handshakes as places */
void town_auto_(struct town *town);
void pass(struct town *town, uint64_t time);
bool got(const struct guest *guest, unsigned line, const char *text);
unsigned open_lines(const struct guest *guest);

/* What is refused in a process shows only as something that does not happen. */
#define PASS(time) \
	do { \
		pass(&town, time); \
		OK(test_tortured() ? -FL_E_IO : 0); \
	} while (0)

/* Two addresses take all places. */
#define FILL(text) \
	do { \
		dial(town.a, town.host, 80, SHARE, text); \
		PASS(10 * FL_NS_PER_MS); \
		dial(town.c, town.host, 80, SHARE, text); \
		PASS(10 * FL_NS_PER_MS); \
	} while (0)
