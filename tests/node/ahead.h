/* ahead.h - the clocks a minute ahead: a socket that is made now, or was seen to come, is a minute old. */
#pragma once
#include "io/io.h"

/* The loop's clock is set forward each time, and never back. */
void ahead(struct fl_io *io, bool is);
