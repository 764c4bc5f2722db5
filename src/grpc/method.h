/* method.h - a gRPC method as a constant: its path and message types.
 *
 * Client and server name a method by its constant, so that path and message types cannot disagree.
 */
#pragma once
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

struct fl_grpc_method {
	const char *path;                                /* "/package.Service/Method" */
	const ProtobufCMessageDescriptor *request, *reply;
	bool streams;                                    /* many replies to one request */
};
