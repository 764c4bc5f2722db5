/* chars.h - classes of bytes, of ASCII alone: <ctype.h> asks the locale, and takes no byte below zero. */
#pragma once
#include <stdbool.h>

static inline bool fl_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool fl_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool fl_is_alnum(char c)
{
	return fl_is_letter(c) || fl_is_digit(c);
}

static inline bool fl_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* 0 to 15, of either case; -1: it is no hex digit. */
static inline int fl_hex_digit(char c)
{
	if (fl_is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
