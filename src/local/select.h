/* select.h - which objects a list or watch is about: label and field selectors. Pure. */
#pragma once
#include "json/selector.h"
#include "local/resource.h"

/* "status.phase!=Failed,spec.nodeName=a": kubelets and schedulers send two terms. */
#define FL_FIELD_TERMS 16

struct fl_field_term {
	struct fl_str path, value;
	bool differs;            /* != */
};

struct fl_filter {
	struct fl_selector labels;
	struct fl_field_term fields[FL_FIELD_TERMS];
	uint32_t field_count;
	struct fl_str space;     /* empty: all */
	bool reads;              /* looks into the JSON */
};

/* A state that was looked into, for several filters: read once. Reset it for the next one. */
struct fl_peek {
	struct fl_json_space space;
	struct fl_arena arena;
	const struct fl_state *state;
	yyjson_val *root;
	struct fl_map labels;
};
void fl_peek_reset(struct fl_peek *peek);
void fl_peek_free(struct fl_peek *peek);

/* FL_E_INVALID: a text that is no field selector. Texts are borrowed from `text` or lie in the arena. */
int fl_fields_parse(struct fl_arena *arena, struct fl_str text, struct fl_filter *filter,
		    struct fl_err *err) FL_MUSTUSE;

/* After both selectors are there. */
void fl_filter_ready(struct fl_filter *filter);

/* 1, 0, or FL_E_NOMEM. */
int fl_filter_match(const struct fl_filter *filter, const struct fl_state *state, struct fl_peek *peek) FL_MUSTUSE;

/* The member at a path with dots: "spec.nodeName"; NULL: none. */
yyjson_val *fl_json_at(yyjson_val *object, struct fl_str path);
