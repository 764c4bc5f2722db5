/* tls_prepare.h - what OpenSSL does on its first use of everything, off the loop.
 *
 * It looks up and makes some 3 to 10 ms worth of tables once a process, which would be the turn of whoever comes first:
 * the first context and the first handshake. Nothing depends on it but that no turn is long.
 */
#pragma once
#include "io/op.h"

/* A job in the lane of files. result: 0, also when OpenSSL has refused: then the first use does it. */
void fl_tls_prepare(struct fl_io *io, struct fl_op *op);
