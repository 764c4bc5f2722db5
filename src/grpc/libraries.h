/* libraries.h - the libraries that this folder wraps, with the version loaded, for `fairlead version`. */
#pragma once

void fl_grpc_libraries(void (*say)(void *self, const char *name, const char *version), void *self);
