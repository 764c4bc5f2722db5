/* kind_lint.h - whether the table of a kind is sound; each kind's test asks once. */
#pragma once
#include "json/bind_kind.h"

/* Column names and keys that exist and are not ambiguous, defaults and examples that are valid values, patterns that
 * compile, ... FL_E_INVALID: the text names the first fault. */
int kind_lint(const struct fl_kind *kind, struct fl_err *err) FL_MUSTUSE;
