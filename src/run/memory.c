#include "run/memory.h"
#include "run/doing.h"

static void start_in_memory(void *io, struct fl_write *write)
{
	static const struct fl_err shared = { .code = FL_E_UNSUPPORTED,
					      .text = "what is in memory only has no items to share" };
	bool item = write->what != FL_WANT_OBJECT && write->what != FL_WANT_GONE;

	fl_doing_begin(write->held, write);
	fl_doing_over(write->held, io, item ? &shared : NULL);
}

const struct fl_sink fl_memory_sink = { start_in_memory, fl_doing_cancel, sizeof(struct fl_doing) };
