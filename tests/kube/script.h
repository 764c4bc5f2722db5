/* script.h - an API server that says what a test has written down, one answer after another, and a client of it. */
#pragma once
#include "http/server.h"
#include "kube/client.h"
#include "test_io.h"

struct exchange {
	/* what must be asked: the whole of it, or its beginning before a '*'; NULL ends a script */
	const char *target;
	int status;
	const char *body;          /* of a watch: what is sent at once */
	const char *retry_after;   /* header; NULL: none */
	bool stay;                 /* the answer goes on: it is left open */
	bool cut;                  /* and broken off after the body */
	bool held;                 /* the answer is given when script_answer is called */
	bool always;               /* the rest of what is asked is answered like that */
};

struct script {
	struct fl_io *io;          /* set before script_open: a simulated one, not freed; else test_io() */
	bool simulated;
	struct fl_log *log;        /* the client's, set before script_open; NULL: silent */
	struct fl_http_server *server;
	struct fl_kube_config *config;
	struct fl_kube *kube;
	const struct exchange *at;
	struct fl_http_req *open, *held;
	struct fl_err err;
	char socket[120], server_url[140];
	char wrong[400];           /* what was asked that is not in the script */
	char got_body[800], got_type[80], got_headers[200], got_auth[100];
	unsigned asked;
	struct fl_timer cut;
};

/* Over a unix socket in a new folder. */
int script_open(struct script *script, const struct exchange *exchanges);
/* The same with a kubeconfig whose user says this, "token: t". */
int script_open_as(struct script *script, const struct exchange *exchanges, const char *user);
void script_close(struct script *script);
void script_more(struct script *script, const char *text);     /* of the answer that goes on */
void script_answer(struct script *script, const char *body);   /* the one that is held */
static inline void script_auto_(struct script *script)
{
	script_close(script);
}
