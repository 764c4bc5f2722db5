/* store.h - the objects of an API server in memory, and what changed last. Pure.
 *
 * An object is its JSON, minified, in one block: 50,000 Pods take 1.1 times their text. A block never changes: a write
 * puts another in its place. So a list, a watch or a waiting request keeps the version that it has read by a reference.
 * The JSON is without apiVersion and kind, which depend on the version that a client asks for.
 *
 * All shelves (one a resource) share one resourceVersion. The last changes are kept, as many as `window` says, and no
 * more than FL_STORE_PAST of versions that no longer live; older ones are forgotten ("compacted"), which a watch or
 * list that asks for them is told.
 */
#pragma once
#include "base/vec.h"

/* States in one page of an index: moving half of them takes less than comparing the names on the way there. */
#define FL_PAGE_STATES 256
/* Changes that a watch may come back after: at 1,000 writes a second, ten seconds. */
#define FL_STORE_WINDOW 10000
/* Bytes of superseded states that those hold at most, so that the memory stays that of the objects. */
#define FL_STORE_PAST (8 * FL_MIB)

struct fl_state {
	uint32_t refs, len;          /* len: of the JSON */
	uint64_t version;            /* metadata.resourceVersion */
	uint16_t key_len, space_len;
	uint8_t going, owned;        /* has a deletionTimestamp; has ownerReferences */
	char bytes[];                /* the key ("space/name", or "name" of one without a namespace), then the JSON */
};

/* With one reference, its version not yet set; NULL: allocation failed. */
struct fl_state *fl_state_new(struct fl_str space, struct fl_str name, struct fl_str json) FL_MUSTUSE;
void fl_state_drop(struct fl_state *state);   /* NULL-safe */
FL_DEFINE_AUTO(fl_state, struct fl_state *, fl_state_drop);

static inline struct fl_state *fl_state_hold(struct fl_state *state)
{
	state->refs++;
	return state;
}

struct fl_str fl_state_key(const struct fl_state *state);
struct fl_str fl_state_space(const struct fl_state *state);
struct fl_str fl_state_name(const struct fl_state *state);
struct fl_str fl_state_json(const struct fl_state *state);

/* ---- states in the order of their keys ---- */

struct fl_ordered {
	FL_VEC(struct fl_page *) pages;
	uint32_t len;
};

/* A place in an index, good until the index changes. */
struct fl_spot {
	uint32_t page, at;
};

void fl_ordered_free(struct fl_ordered *index);   /* drops the references */
struct fl_state *fl_ordered_get(const struct fl_ordered *index, struct fl_str key);   /* borrowed; NULL: none */
/* Takes a reference of its own. Replacing a state of the same key never fails. FL_E_NOMEM. */
int fl_ordered_put(struct fl_ordered *index, struct fl_state *state) FL_MUSTUSE;
void fl_ordered_del(struct fl_ordered *index, struct fl_str key);
/* The first state whose key is `key` or comes after it; then one after the other. NULL: no more. */
struct fl_spot fl_ordered_from(const struct fl_ordered *index, struct fl_str key);
struct fl_state *fl_ordered_next(const struct fl_ordered *index, struct fl_spot *spot);

/* ---- the store ---- */

struct fl_shelf {
	struct fl_ordered objects;
};

struct fl_store_change {
	uint64_t version;
	struct fl_shelf *shelf;
	/* before NULL: created. `gone`: deleted, and `after` is the last state, at this version. */
	struct fl_state *before, *after;
	bool gone;
};

struct fl_store {
	uint64_t version;            /* of the last change; 1 before the first */
	uint64_t forgotten;          /* the newest change that is no longer known */
	struct fl_store_change *ring;      /* `window` places */
	uint32_t window, first, len;
	size_t past;                 /* bytes of superseded states in the ring */
	void (*changed)(void *arg, const struct fl_store_change *change);   /* after each; may be NULL */
	void *arg;
};

int fl_store_init(struct fl_store *store, uint32_t window, struct fl_err *err) FL_MUSTUSE;
void fl_store_free(struct fl_store *store);   /* the shelves are the owner's: fl_ordered_free */

/* The next change, and only it, gets this version: print it into the object. */
static inline uint64_t fl_store_next(const struct fl_store *store)
{
	return store->version + 1;
}

/* Put a new state in the place of the one with its key, if there is one. Takes a reference of its own. FL_E_NOMEM:
 * nothing has changed. */
int fl_store_put(struct fl_store *store, struct fl_shelf *shelf, struct fl_state *after) FL_MUSTUSE;

/* Take the object with this key away; `last` is what those who watch see of it. Never fails. */
void fl_store_remove(struct fl_store *store, struct fl_shelf *shelf, struct fl_state *last);

/* Forget all changes up to this version, as a compaction does. */
void fl_store_forget(struct fl_store *store, uint64_t version);

/* The first change after `version`, then one after the other: start with *at = 0 and go on with it. NULL: no more. */
const struct fl_store_change *fl_store_after(const struct fl_store *store, uint64_t version, uint32_t *at);
