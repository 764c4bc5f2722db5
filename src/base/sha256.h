/* sha256.h - SHA-256 (FIPS 180-4), for names that must differ: not for secrets, which OpenSSL hashes. */
#pragma once
#include "base/str.h"

#define FL_SHA256 32   /* bytes of a digest */

void fl_sha256(struct fl_str text, unsigned char ret[FL_SHA256]);
