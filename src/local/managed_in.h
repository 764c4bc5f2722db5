/* managed_in.h - metadata.managedFields while a request is carried out, for apply.c and managed.c. */
#pragma once
#include "local/apply.h"
#include "local/ownership.h"
#include "local/schema_in.h"

struct fl_managed_entry {
	struct fl_str manager, operation, api_version, subresource;
	int64_t time;                /* seconds since 1970; FL_TIME_NONE */
	yyjson_mut_val *v1;          /* as it was read */
	bool changed;                /* its set is to be printed anew */
	bool touched;                /* its time is now */
	bool gone;
	uint32_t bit;
};

struct fl_managed {
	struct fl_arena *arena;
	struct fl_managed_entry *at;
	uint32_t len;
	struct fl_ownership fields;
	bool failed;
};

/* Bits of entries that a request may add: its own, "before-first-apply", "ancient-changes" by version, and one for what
 * an apply will own. */
#define FL_ENTRIES_MORE 4

/* Read them. False: what stands there is no list of entries (a set that cannot be read counts as empty). */
bool fl_managed_read(struct fl_managed *managed, struct fl_arena *arena, yyjson_mut_val *object);

/* The writer's entry, made if there is none; NULL: allocation failed. */
struct fl_managed_entry *fl_managed_self(struct fl_managed *managed, const struct fl_writer *who, bool apply);
struct fl_managed_entry *fl_managed_add(struct fl_managed *managed, struct fl_str manager, bool apply,
					struct fl_str version,
					struct fl_str subresource);

/* Write them to the object, sorted as the API server does. */
int fl_managed_write(struct fl_managed *managed, const struct fl_writer *who, yyjson_mut_doc *doc,
		     yyjson_mut_val *object);

/* Give what an update changes to its owner; how many values that are. *ret_any: was anything changed? */
uint32_t fl_managed_note(struct fl_managed *managed, const struct fl_schema *schema, enum fl_part part, uint32_t owner,
			 yyjson_mut_val *before, yyjson_mut_val *after, bool *ret_any);

/* Give all of the value, as a new one, to an owner; and the field itself. */
void fl_managed_claim(struct fl_managed *managed, const struct fl_node *node, struct fl_owned *field,
		      yyjson_mut_val *val, uint32_t owner);

/* Does anybody but this one own the field itself? */
bool fl_managed_is_others(const struct fl_managed *managed, const struct fl_owned *field, uint32_t owner);

/* Take the field from all; that and what is below it. */
void fl_managed_take(struct fl_managed *managed, struct fl_owned *field);
void fl_managed_drop(struct fl_managed *managed, struct fl_owned *field);
void fl_managed_drop_below(struct fl_managed *managed, struct fl_owned *field);

/* Is it a value whose parts are owned apart? */
bool fl_is_apart(const struct fl_node *node, yyjson_mut_val *val);
bool fl_is_null_or_empty(yyjson_mut_val *val);

/* Does this part of an object leave that member of the root alone? */
bool fl_part_skips(enum fl_part part, struct fl_str name);
