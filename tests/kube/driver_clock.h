/* driver_clock.h - the wall clock of driver.c's program steps; the clock that measures goes on. */
#pragma once
#include "io/io.h"

int64_t driver_clock_step(struct fl_io *io, const char *seconds);   /* "3600", "-3600": what it was moved by */
