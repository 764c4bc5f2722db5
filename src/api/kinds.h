/* kinds.h - every kind that the program knows, in one list: the source of CRDs, docs pages and discovery. */
#pragma once
#include "json/bind_kind.h"

/* NULL at the end. Versions of one kind stand together, the stored one first. */
extern const struct fl_kind *const fl_kinds[];

/* The kind that `text` names (see fl_kind_named); a group of ours wins over Kubernetes' own. NULL: none. */
const struct fl_kind *fl_kind_find(struct fl_str text);
