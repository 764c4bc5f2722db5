/* auth.h - the inside of client.c: who we are, and whom we trust, kept fresh.
 *
 * Token, certificate, key and CA come as texts, from files that may change, or from a program. They are read before the
 * first call, again when they are FL_CREDENTIAL_AGE old (the call does not wait for that), before a plugin's credential
 * runs out, and at once when the server has refused them, whichever call it was; a program whose credentials are
 * refused again and again is asked FL_EXEC_AGAIN_FIRST later, then twice as much. A change that is half done (a
 * certificate whose key is not there yet) leaves the former ones in use.
 */
#pragma once
#include "http/client.h"
#include "io/file.h"
#include "kube/config.h"
#include "kube/exec.h"

/* Files are looked at this often: projected tokens have minutes to spare. */
#define FL_CREDENTIAL_AGE (60 * FL_NS_PER_S)
#define FL_EXEC_AGAIN_FIRST (1 * FL_NS_PER_S)  /* what it gave is refused, too: it is asked again so late, ... */
#define FL_EXEC_AGAIN_LAST (30 * FL_NS_PER_S)  /* ... then twice as late: many may ask an identity provider at once */

struct fl_log;

enum fl_auth_part { FL_AUTH_TOKEN, FL_AUTH_CERT, FL_AUTH_KEY, FL_AUTH_CA, FL_AUTH_PART_COUNT_ };

struct fl_auth {
	/* The owner's. */
	struct fl_io *io;
	const struct fl_kube_config *config;
	struct fl_log *log;
	struct fl_str user_agent;
	/* a reading is over: auth->http, or auth->err. Never from inside a call */
	void (*ready)(struct fl_auth *auth);

	struct fl_http_client *http;           /* NULL: never read yet */
	uint32_t generation;                   /* readings that went well */
	struct fl_err err;                     /* why the last reading failed */

	/* Its own. */
	bool busy;
	struct fl_timer begin;                 /* never from inside of whoever asks */
	unsigned part;                         /* the one being read */
	struct fl_op prepare;                  /* OpenSSL, before the first context */
	struct fl_tls_context *context;        /* being made of what was read: a turn takes a few CAs */
	struct fl_buf texts[FL_AUTH_PART_COUNT_];
	struct fl_buf fresh[FL_AUTH_PART_COUNT_];
	struct fl_file_read read;
	struct fl_exec exec;
	struct fl_buf exec_info;
	const char **exec_env;
	uint64_t read_at, expires;             /* monotonic ns; expires 0: never */
	uint32_t refusals;                     /* readings, one soon after the other, that a refusal led to */
	bool spent;                            /* what is in use was refused: another is being read */
};

void fl_auth_init(struct fl_auth *auth);       /* after the owner's members are set */
void fl_auth_free(struct fl_auth *auth);

/* Can a call go? False: wait for ready(), a reading is under way. */
bool fl_auth_fresh(struct fl_auth *auth);
/* Read again now, if that is not under way. ready() follows in any case. */
void fl_auth_refresh(struct fl_auth *auth);
/* The server has refused what that generation was. True: there is a newer one, or it is being read (busy: ready()
 * follows). False: a program has been asked a moment ago, and what it gave was refused, too. */
bool fl_auth_refused(struct fl_auth *auth, uint32_t generation);
