/* query.h - the query of a URL: "kind=Pod&name=a%2Fb". Pure. */
#pragma once
#include "base/buf.h"

/* Append the value of the first `name`, decoded ("+" is a blank, as forms have it): 1, or 0 when there is none.
 * FL_E_INVALID: a '%' without two hex digits, or bytes that are no text; FL_E_TOOBIG, FL_E_NOMEM as the buffer says. */
int fl_query_get(struct fl_str query, const char *name, struct fl_buf *out, struct fl_err *err) FL_MUSTUSE;

/* Append NAME=VALUE, encoded, behind '?' or '&': whichever is due. */
void fl_query_put(struct fl_buf *out, const char *name, struct fl_str value);
