/* libraries.h - which libraries this folder wraps, and what version of each is loaded: for `fairlead version`. */
#pragma once

void fl_grpc_libraries(void (*say)(void *self, const char *name, const char *version), void *self);
