/* hook_http.h - ask webhooks over HTTPS, on any io.
 *
 * Connections are kept for the next question, one client for each server and authority.
 */
#pragma once
#include "http/client.h"
#include "local/api.h"

/* Servers whose connections are kept; beyond that the one that was asked longest ago loses its own. */
#define FL_HOOK_SERVERS 32
/* An answer: an object's patch in base64, twice its text. */
#define FL_HOOK_REPLY_MAX (8 * FL_MIB)

struct fl_hook_servers {
	struct fl_io *io;
	struct fl_hook_server *at[FL_HOOK_SERVERS];
	uint64_t turn;
};
void fl_hook_servers_free(struct fl_hook_servers *servers);   /* after all questions */

/* All questions of a request, at once. */
struct fl_hook_questions {
	struct fl_hook_servers *servers;
	struct fl_api_call *call;
	void (*done)(struct fl_hook_questions *questions);   /* all are answered; from the loop */
	struct fl_hook_question *at;
	uint32_t len, open;
};

/* FL_E_NOMEM: none is asked. When `open` is 0 afterwards, all are answered already, and done() does not come. */
int fl_hook_questions_start(struct fl_hook_questions *questions) FL_MUSTUSE;
void fl_hook_questions_stop(struct fl_hook_questions *questions);   /* also after done() */
