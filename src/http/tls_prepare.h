/* tls_prepare.h - load and warm up OpenSSL, off the loop.
 *
 * Loading takes some 4 ms, and the first use builds tables for 3 to 10 ms. Without this the first context and the first
 * handshake would make a turn that long. Only the length of turns depends on it.
 */
#pragma once
#include "io/op.h"

/* A job in the lane of files. `key` is the PEM of the private key that will be used, copied. The job signs once with
 * that kind of key, because the first RSA signature takes twice as long as later ones. Empty: none, or unknown. result:
 * always 0; if OpenSSL fails, the first use does the work. */
void fl_tls_prepare(struct fl_io *io, struct fl_op *op, struct fl_str key);
