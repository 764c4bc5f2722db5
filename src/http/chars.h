/* chars.h - which bytes may stand where in a head, for the parsers and writers of this folder. */
#pragma once
#include "base/str.h"

enum fl_http_char {
	FL_CH_TOKEN = 1,     /* method, field name */
	FL_CH_NAME = 2,      /* the same without capitals */
	FL_CH_TARGET = 4,    /* request target, host: visible ASCII without '#'; more than RFC 3986 has, as others do */
};
extern const uint8_t fl_http_chars[256];

bool fl_http_all(struct fl_str s, enum fl_http_char kind);   /* not empty, and every byte is of that kind */
bool fl_http_value_valid(struct fl_str value);
