/* fake_api.h - an API server for tests of the loop: no wire, but its rules. Several loops may be at work on it.
 *
 *     FL_AUTO(fake_api) struct fake_api api = { 0 };
 *     OK(fake_api_init(&api, sources));
 *     OK(fake_client_init(&one, &api, &capability));          a loop with a watch of every kind
 *     OK(fake_api_put(&api, &market));                        somebody makes or changes an object
 *     OK(fake_api_settle(&api));                              all writes are served until nothing is left to do
 *
 * It gives uids, versions and generations; refuses another uid or version with FL_E_CONFLICT, a second controller and a
 * finalizer on what is going with FL_E_INVALID; keeps what is deleted until its finalizers are gone, and takes away
 * what a deleted owner controls, as the garbage collector does. A client that is `deaf` hears of nothing until it is
 * not.
 */
#pragma once
#include "run/loop.h"

enum { FAKE_KINDS = 6, FAKE_CLIENTS = 2, FAKE_HELD = 64 };

struct fake_client {
	struct fake_api *api;
	struct fl_loop *loop;
	bool deaf;
	struct fl_write *writes[FAKE_HELD];        /* those that wait, oldest first */
	uint32_t held, done, refused;
};

struct fake_api {
	struct fl_io *io;
	struct fl_interns interns;
	const struct fl_source *sources;           /* kinds and indexes; one without a kind ends them */
	struct fl_cache truth[FAKE_KINDS];
	struct fake_client *clients[FAKE_CLIENTS];
	uint32_t kinds, client_count;
	uint64_t version;
	bool nomem;                                /* it was refused memory itself: the test ends quietly */
	struct fl_buf log;                         /* a line for each write, as "want Stall a", "gone Stall b" */
};

int fake_api_init(struct fake_api *api, const struct fl_source *sources);
void fake_api_free(struct fake_api *api);
static inline void fake_api_auto_(struct fake_api *api)
{
	fake_api_free(api);
}
/* Freed with the server. */
int fake_client_init(struct fake_client *client, struct fake_api *api, const struct fl_capability *capability);

/* Somebody else writes an object, whole, as JSON; or deletes it. `name`: "namespace/name", or "name" of one without. */
int fake_api_put(struct fake_api *api, const struct fl_kind *kind, const char *json);
int fake_api_delete(struct fake_api *api, const struct fl_kind *kind, const char *name);

/* As JSON without its metadata but finalizers and owners; "" when there is none. In a buffer of the test's. */
void fake_api_show(struct fake_api *api, const struct fl_kind *kind, const char *name, struct fl_buf *out);
const void *fake_api_get(struct fake_api *api, const struct fl_kind *kind, const char *name, struct fl_arena *arena);

void fake_api_run(struct fake_api *api);           /* everything that can happen now, but no answers */
int fake_serve(struct fake_client *client);        /* the oldest write */
void fake_hear(struct fake_client *client);        /* not deaf any more: what has changed is told */
int fake_api_settle(struct fake_api *api);
void fake_api_sleep(struct fake_api *api, uint64_t ns);
