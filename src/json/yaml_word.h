/* yaml_word.h - what a plain word of YAML stands for: the rules of YAML 1.1 as Go, and so Kubernetes, applies them. */
#pragma once
#include "base/str.h"

enum fl_word { FL_WORD_TEXT, FL_WORD_NULL, FL_WORD_BOOL, FL_WORD_INT, FL_WORD_UINT, FL_WORD_FLOAT, FL_WORD_MERGE };

struct fl_word_value {
	bool truth;
	int64_t i;
	uint64_t u;      /* only what does not fit an int64_t */
	double f;        /* may be infinite or no number */
};

enum fl_word fl_word(struct fl_str text, struct fl_word_value *ret);

/* Would another reader take it for a number in base 60 (190:20:30)? */
bool fl_word_is_base60(struct fl_str text);
