/* runtime.h - the container runtime's service: the methods that a node agent calls. */
#pragma once
#include "grpc/method.h"

/* Served by containerd on /run/containerd/containerd.sock, by CRI-O on /var/run/crio/crio.sock. */
extern const struct fl_grpc_method fl_runtime_version, fl_runtime_status, fl_runtime_sandboxes;
