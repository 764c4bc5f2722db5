/* ahead.h - the wall's clock a minute ahead: a socket that is made now is a minute old. */
#pragma once
#include "io/io.h"

void ahead(struct fl_io *io, bool is);
