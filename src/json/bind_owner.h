/* bind_owner.h - one writer for each field.
 *
 * An owner is a field manager and the fields of one kind that it alone writes. A path names fields by their JSON names,
 * elements of a list-map by their keys, members of a map by theirs:
 *
 *     static const struct fl_owner owner = {
 *             .manager = "fairlead-capacity", .kind = &fl_gpu_pool_kind,
 *             .paths = (const char *const[]){ "status.capacity", "status.conditions[type=CapacityLow]",
 *                                             "metadata.labels[gpu.deckhouse.io/node]", NULL },
 *     };
 *
 * A path owns all below it. A key of a map may end with a star: "metadata.labels[nvidia.com/mig-*]" owns all keys that
 * begin so. An owned field that is present but not in the desired object is a difference too: apply
 * removes it.
 */
#pragma once
#include "json/bind_kind.h"

struct fl_owner {
	const char *manager;
	const struct fl_kind *kind;
	const char *const *paths;      /* NULL at the end */
};

/* Only the owner's part of an object; *ret is a root struct of the kind. Shares texts and lists with the object. */
int fl_owned_part(const struct fl_owner *owner, const void *object, struct fl_arena *arena, void *ret,
		  struct fl_err *err) FL_MUSTUSE;

/* The owner's paths at which `have` differs from `want`. The order of list-maps and sets does not count, nor do fields
 * that apply stamps (lastTransitionTime). */
int fl_owned_diff(const struct fl_owner *owner, const void *want, const void *have, struct fl_arena *arena,
		  struct fl_str_list *ret_paths, struct fl_err *err) FL_MUSTUSE;

/* `have` after `want` is applied: the owner's part from `want`, the rest from `have`. *ret is a root struct that shares
 * texts and lists with both. */
int fl_owned_lay(const struct fl_owner *owner, const void *want, const void *have, struct fl_arena *arena, void *ret,
		 struct fl_err *err) FL_MUSTUSE;

/* The body of a server-side apply: the owner's part of `want` with apiVersion, kind and the name. With a uid or version
 * the API server refuses if the object was recreated or written since; an empty one is left out. */
int fl_owned_apply(const struct fl_owner *owner, struct fl_str space, struct fl_str name, struct fl_str uid,
		   struct fl_str version, const void *want, struct fl_arena *arena, struct fl_jw *w,
		   struct fl_err *err) FL_MUSTUSE;

/* Does every path name a field? FL_E_INVALID: the text names the first that does not, or a kind whose status and other
 * fields have one owner: that takes two. */
int fl_owner_check(const struct fl_owner *owner, struct fl_err *err) FL_MUSTUSE;

/* Is what it owns written to the status subresource? */
bool fl_owner_is_status(const struct fl_owner *owner);

/* Do two owners conflict: write the same field, or apply to one resource as one manager? Kinds of the same group and
 * plural are one resource, whatever part of it their tables bind. FL_E_CONFLICT names both and the path. The loop asks
 * for all pairs of its process, tests/cmd/test_owners.c for those of all processes. */
int fl_owners_apart(const struct fl_owner *a, const struct fl_owner *b, struct fl_err *err) FL_MUSTUSE;
