#include "grpc/libraries.h"
#include <protobuf-c/protobuf-c.h>

void fl_grpc_libraries(void (*say)(void *self, const char *name, const char *version), void *self)
{
	say(self, "protobuf-c", protobuf_c_version());
}
