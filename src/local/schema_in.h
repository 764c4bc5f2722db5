/* schema_in.h - a compiled schema, for the files of this floor that walk along it. */
#pragma once
#include "local/schema.h"
#include "base/vec.h"
#include <regex.h>

enum fl_value_type { FL_VALUE_ANY, FL_VALUE_OBJECT, FL_VALUE_ARRAY, FL_VALUE_STRING, FL_VALUE_INTEGER, FL_VALUE_NUMBER,
	       FL_VALUE_BOOLEAN, FL_VALUE_COUNT_ };
extern const struct fl_names fl_value_type_names;

enum fl_list_type { FL_LIST_ATOMIC, FL_LIST_SET, FL_LIST_MAP, FL_LIST_COUNT_ };

struct fl_node;

struct fl_prop {
	struct fl_str name;
	const struct fl_node *node;
};

struct fl_nodes {
	const struct fl_node **at;
	uint32_t len;
};

/* What a value must be like, beyond its type. */
struct fl_bounds {
	bool has_minimum, has_maximum, above_minimum, below_maximum;   /* above, below: without the bound itself */
	double minimum, maximum, multiple_of;                          /* multiple_of 0: any */
	yyjson_val *minimum_text, *maximum_text, *multiple_text;       /* the numbers as they were written */
	int64_t length[2], items[2], members[2];                       /* least, most; -1: any */
	bool unique;
	struct fl_str pattern, format;
	regex_t regex;
	bool has_regex;
	yyjson_val *values;                                            /* enum; NULL: any */
	struct fl_nodes all_of, any_of, one_of;
	const struct fl_node *not_;
	struct fl_bounds *next;                                        /* of the schema, to free the expressions */
};

/* One place of the schema. */
struct fl_node {
	enum fl_value_type type;
	enum fl_list_type list;
	bool nullable, int_or_string;
	bool keep;                        /* members that no property names stay */
	bool open;                        /* the same; and this schema may not know them all */
	bool resource;                    /* apiVersion, kind and metadata stand in it */
	bool atomic;                      /* an object that is owned as one value */
	bool present;                     /* an absent one is an empty one */
	struct fl_prop *props;            /* sorted by the length of the name, then by its bytes */
	uint32_t prop_len;
	const struct fl_node *extra;      /* of members that no property names; NULL: none are known */
	const struct fl_node *items;
	struct fl_str *keys;              /* of a list that is a map */
	uint32_t key_len;
	struct fl_str *required;
	uint32_t required_len;
	yyjson_val *def;                  /* NULL: none */
	bool defaults;                    /* it has one, or a place below it has */
	const struct fl_bounds *bounds;   /* NULL: none */
};

struct fl_schema {
	struct fl_arena arena;
	struct fl_node *root;
	yyjson_doc *doc;                  /* the schema's own copy; all texts lie in it */
	struct fl_bounds *all;
	FL_VEC(struct fl_schema_rule) rules;
};

/* A value whose shape nobody has written down: its maps are owned by member, its lists as one value. */
extern const struct fl_node fl_node_any;

/* The schema of a member; NULL: the schema does not name it. */
const struct fl_node *fl_node_member(const struct fl_node *node, struct fl_str name);
const struct fl_node *fl_node_prop(const struct fl_node *node, struct fl_str name);

/* metadata, of any object. */
extern const struct fl_node fl_node_metadata, fl_node_text;

/* The work of fl_schema_prune, fl_schema_default and fl_schema_check at one place. */
void fl_node_prune(const struct fl_node *node, yyjson_mut_val *val, struct fl_causes *unknown);
int fl_node_default(const struct fl_node *node, yyjson_mut_doc *doc, yyjson_mut_val *val) FL_MUSTUSE;
void fl_node_check(const struct fl_node *node, yyjson_mut_val *val, struct fl_causes *causes);

/* Translate a pattern to a POSIX extended one. False: it has no equal. */
bool fl_pattern_translate(struct fl_str pattern, struct fl_buf *posix);

/* Is the text of that format? True for formats that nobody checks. *ret_known: is it one that is checked? */
bool fl_format_fits(struct fl_str format, struct fl_str text, bool *ret_known);
