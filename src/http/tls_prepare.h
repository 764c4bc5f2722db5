/* tls_prepare.h - loading OpenSSL, and what it does on its first use of everything, off the loop.
 *
 * Loading takes some 4 ms, and it looks up and makes some 3 to 10 ms worth of tables once a process, which would be the
 * turn of whoever comes first: the first context and the first handshake. Nothing depends on it but that no turn is
 * long.
 */
#pragma once
#include "io/op.h"

/* A job in the lane of files. `key` is the PEM of the private key that will be used, copied; its kind of key is used
 * once, too: the first signature of an RSA key takes twice as long as others. Empty: none, or it is not known yet.
 * result: 0, also when OpenSSL has refused: then the first use does it. */
void fl_tls_prepare(struct fl_io *io, struct fl_op *op, struct fl_str key);
