/* list.h - which fields are told, and under which names: the default list, or a file as DCGM's exporter reads it.
 *
 *     DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).
 *
 * Three fields a line, as in CSV; '#' at the beginning of a line is a comment. The types are gauge, counter and label;
 * DCGM has no values for a histogram or a summary. A line that cannot be served refuses the whole list.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "plan/exporter/field.h"

#define FL_DCGM_LIST_MAX 400            /* lines: there are 160 fields, some under two names */

struct fl_dcgm_entry {
	uint16_t field;
	int16_t link;                   /* of a name that has one, else -1 */
	enum fl_dcgm_type type;
	struct fl_str name, help;
};

struct fl_dcgm_list {
	struct fl_dcgm_entry *at;
	uint32_t len;
};

/* Everything is in the arena. FL_E_INVALID: "line 7: ...", what is wrong there and what to write. */
int fl_dcgm_list_usual(struct fl_arena *arena, struct fl_dcgm_list *ret, struct fl_err *err) FL_MUSTUSE;
int fl_dcgm_list_read(struct fl_str csv, struct fl_arena *arena, struct fl_dcgm_list *ret,
		      struct fl_err *err) FL_MUSTUSE;

/* What the driver is to be asked for it, and for fairlead_gpu_*. */
void fl_dcgm_list_wants(const struct fl_dcgm_list *list, struct fl_dcgm_set *ret);
