/* base64.h - bytes as text, RFC 4648: keys and certificates in a kubeconfig, tokens, data of Secrets.
 *
 * Decoding is strict, because two texts for the same bytes are a way past a comparison: no blanks or line ends, padding
 * exactly where the form has it, no stray bits in the last character.
 */
#pragma once
#include "base/buf.h"

enum fl_base64 {
	FL_BASE64_STD,       /* A-Z a-z 0-9 + /  padded with = */
	FL_BASE64_STD_RAW,   /* the same, not padded */
	FL_BASE64_URL,       /* - and _ in place of + and / */
	FL_BASE64_URL_RAW,
};

/* Append; failures stick to the buffer. */
void fl_base64_put(struct fl_buf *buf, enum fl_base64 form, const void *bytes, size_t len);

/* Append the decoded bytes. -FL_E_INVALID with the place of the first wrong character (the text itself is not shown: it
 * may be a key), or the buffer's failure. After a failure the buffer is unchanged. */
int fl_base64_get(struct fl_buf *buf, enum fl_base64 form, struct fl_str text, struct fl_err *err) FL_MUSTUSE;
