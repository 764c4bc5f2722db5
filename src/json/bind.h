/* bind.h - a kind is one table.
 *
 * A table is an X-macro whose rows read like documentation:
 *
 *     #define FL_POOL_RESOURCE(X) \
 *             X(ENUM(fl_unit), unit, "unit", .required = true, .help = "A whole card or one MIG partition.") \
 *             X(I32, slices, "slicesPerUnit", BETWEEN(1, 64), DEFAULT(1), .help = "Pods that share a unit in turns.")
 *     FL_STRUCT(fl_pool_resource, FL_POOL_RESOURCE);      in the header: the struct
 *     FL_BIND(fl_pool_resource, FL_POOL_RESOURCE)         in the .c: its description, fl_pool_resource_bind()
 *
 * The type alone decides both the C member and how JSON becomes it, so the two cannot disagree. Everything else walks
 * the description: bind_walk.h (decode, encode, compare, copy, check), bind_pack.h (the cached form), bind_kind.h (CRD,
 * docs, discovery), bind_owner.h (who may write what). What no row names is never kept.
 *
 *     type           C member               JSON
 *     STR            struct fl_str          text
 *     BOOL           bool
 *     I32, I64, F64  int32_t, int64_t, double
 *     TIME           int64_t                text, RFC 3339 to the second; microseconds since 1970
 *     MICROTIME      int64_t                the same with six decimals
 *     DURATION       int64_t                text as Go's, "1h30m"; nanoseconds
 *     QUANTITY       struct fl_quantity     text or number, "128Mi"
 *     INTSTR         struct fl_intstr       integer or text
 *     RAW            struct fl_raw          an object that we pass through: compact, keys sorted
 *     ENUM(e)        enum e                 text; the names are `e`_names (base/names.h)
 *     OBJ(s)         struct s               object by table s
 *     LIST(s)        struct s_list          list of such objects: atomic, or a map by .list_key
 *     STRS           struct fl_str_list         list of texts: atomic, or a set by .list_set
 *     MAP            struct fl_map          object of texts, sorted by key
 *     LIST_OF(type)  { at, len }            list of any other
 *     MAP_OF(type)   { at, len }            object of any other: at[i].key, at[i].value, sorted by key
 *
 * Presence is part of the value: has.member for people, has.bits for the walkers (bit i is row i). A decoder puts a
 * default into the member and leaves its bit clear, inside an absent object too: plans read members, encoders read
 * bits. null is absence.
 */
#pragma once
#include "base/arena.h"
#include "base/names.h"
#include "json/quantity.h"

/* Faults reported for one object: people repair them one by one, and a cache of broken objects stays small. */
#define FL_FAULTS_MAX 8
/* Bytes shown of an invalid value: enough to find it. */
#define FL_FAULT_FOUND 60

struct fl_raw {
	struct fl_str json;
};
struct fl_intstr {
	bool is_str;
	int32_t i;
	struct fl_str s;
};
struct fl_pair {
	struct fl_str key, value;
};
struct fl_map {
	struct fl_pair *at;
	uint32_t len;
};
struct fl_str_list {
	struct fl_str *at;
	uint32_t len;
};

enum fl_type {
	FL_T_STR, FL_T_BOOL, FL_T_I32, FL_T_I64, FL_T_F64, FL_T_TIME, FL_T_MICROTIME, FL_T_DURATION, FL_T_QUANTITY,
	FL_T_INTSTR, FL_T_RAW, FL_T_ENUM, FL_T_OBJ, FL_T_COUNT_
};
enum fl_shape { FL_ONE, FL_LIST, FL_MAP };

/* A rule in CEL. One that says oldSelf is asked on a change only; with on_create also on creation, as an optional. */
struct fl_rule {
	const char *cel, *says;
	bool on_create;
};
#define FL_RULES 4   /* of one field or object: more would not be read */

struct fl_field {
	/* What walkers look at for every object comes first, so that it lies in one line of the processor's cache. */
	_Alignas(64) struct fl_str json;
	const struct fl_bind *(*of)(void);       /* OBJ */
	uint32_t offset;
	uint32_t size;                           /* of one value, without the key of a map */
	enum fl_type type;
	enum fl_shape shape;
	const struct fl_names *keep;             /* maps, list-maps: only these keys; "gpu.io/": all with that prefix */
	bool interned;                           /* few texts or keys, many objects: packed as handles, base/intern.h */
	bool stamped;                            /* set by apply when something else changes: never a difference */
	bool local;                              /* ours: in memory and cache, never in JSON or schema */
	bool list_set;                           /* LIST_OF: no value twice, order means nothing */
	struct { bool set; int64_t number; const char *text; } def;

	/* What a value must be; of a list or map, pattern and between are about each element. */
	const struct fl_names *names;            /* ENUM */
	bool required, nullable;
	const char *pattern;                     /* what RE2 and POSIX both read: no \d, no (?i) */
	const char *format;                      /* of a text, besides what the type says itself */
	struct { bool set; int64_t min, max; } between;
	struct { uint32_t min, max; } length;    /* characters, elements or members; max 0: no ceiling */
	const char *list_key;                    /* LIST: a map by this field, or by several: "name,port" */
	bool immutable;                          /* and may be neither added nor taken away later */
	struct fl_rule rules[FL_RULES];

	/* How people see it. */
	const char *help;                        /* one sentence; also in the schema and in docs/api */
	const char *example;                     /* a value as text, where a pattern or a rule asks for one */
	const char *deprecated;                  /* what to use instead */
	const char *column;                      /* printer column of this name; fl_kind.columns has the order */
	bool selectable;                         /* --field-selector finds by it */
};

struct fl_bind {
	const char *name;
	uint32_t size, len;
	const struct fl_field *fields;
	const uint8_t *tags;                     /* of the fields' names: a name is looked for among these */
	bool atomic;                             /* one value to server-side apply, such as a LabelSelector */
	struct fl_rule rules[FL_RULES];          /* about the object as a whole, wherever it stands */
};

#define BETWEEN(lo, hi) .between = { true, lo, hi }     /* a bound that is the type's own is not written */
#define LENGTH(lo, hi) .length = { lo, hi }
#define DEFAULT(n) .def = { .set = true, .number = n }  /* numbers, BOOL, ENUM */
#define DEFAULT_TEXT(s) .def = { .set = true, .text = s }
#define DEFAULT_EMPTY .def = { .set = true }            /* OBJ: {} and what its members' defaults make of it */
#define CEL(rule, message) .rules = { { rule, message } }

/* One line a type: the C member, and the description. */
#define FL_C_STR struct fl_str
#define FL_D_STR .type = FL_T_STR, .size = sizeof(struct fl_str)
#define FL_C_BOOL bool
#define FL_D_BOOL .type = FL_T_BOOL, .size = sizeof(bool)
#define FL_C_I32 int32_t
#define FL_D_I32 .type = FL_T_I32, .size = sizeof(int32_t)
#define FL_C_I64 int64_t
#define FL_D_I64 .type = FL_T_I64, .size = sizeof(int64_t)
#define FL_C_F64 double
#define FL_D_F64 .type = FL_T_F64, .size = sizeof(double)
#define FL_C_TIME int64_t
#define FL_D_TIME .type = FL_T_TIME, .size = sizeof(int64_t)
#define FL_C_MICROTIME int64_t
#define FL_D_MICROTIME .type = FL_T_MICROTIME, .size = sizeof(int64_t)
#define FL_C_DURATION int64_t
#define FL_D_DURATION .type = FL_T_DURATION, .size = sizeof(int64_t)
#define FL_C_QUANTITY struct fl_quantity
#define FL_D_QUANTITY .type = FL_T_QUANTITY, .size = sizeof(struct fl_quantity)
#define FL_C_INTSTR struct fl_intstr
#define FL_D_INTSTR .type = FL_T_INTSTR, .size = sizeof(struct fl_intstr)
#define FL_C_RAW struct fl_raw
#define FL_D_RAW .type = FL_T_RAW, .size = sizeof(struct fl_raw)
#define FL_C_ENUM(e) enum e
#define FL_D_ENUM(e) .type = FL_T_ENUM, .names = &e##_names, .size = sizeof(enum e)
#define FL_C_OBJ(s) struct s
#define FL_D_OBJ(s) .type = FL_T_OBJ, .of = s##_bind, .size = sizeof(struct s)
#define FL_C_LIST(s) struct s##_list
#define FL_D_LIST(s) FL_D_OBJ(s), .shape = FL_LIST
#define FL_C_STRS struct fl_str_list
#define FL_D_STRS FL_D_STR, .shape = FL_LIST
#define FL_C_MAP struct fl_map
#define FL_D_MAP FL_D_STR, .shape = FL_MAP
#define FL_C_LIST_OF(t) struct { FL_C_##t *at; uint32_t len; }
#define FL_D_LIST_OF(t) FL_D_##t, .shape = FL_LIST
#define FL_C_MAP_OF(t) struct { struct { struct fl_str key; FL_C_##t value; } *at; uint32_t len; }
#define FL_D_MAP_OF(t) FL_D_##t, .shape = FL_MAP

#define FL_STRUCT(s, TABLE) \
	struct s { \
		union { \
			struct { TABLE(FL_ROW_BIT) }; \
			uint64_t bits; \
		} has; \
		TABLE(FL_ROW_MEMBER) \
	}; \
	struct s##_list { \
		struct s *at; \
		uint32_t len; \
	}; \
	const struct fl_bind *s##_bind(void)
#define FL_ROW_BIT(type, member, ...) uint64_t member : 1;
#define FL_ROW_MEMBER(type, member, ...) FL_C_##type member;

/* After the table may come what is said of the object as a whole: .rules, .atomic. */
#define FL_BIND(s, TABLE, ...) \
	const struct fl_bind *s##_bind(void) \
	{ \
		typedef struct s self; \
		static const struct fl_field fields[] = { TABLE(FL_ROW_FIELD) }; \
		static const uint8_t tags[] = { TABLE(FL_ROW_TAG) }; \
		static const struct fl_bind bind = { #s, sizeof(self), FL_LEN(fields), fields, tags, __VA_ARGS__ }; \
		_Static_assert(FL_LEN(fields) <= 64, #s ": has.bits is full"); \
		return &bind; \
	}
#define FL_ROW_FIELD(type, member, name, ...) \
	{ .json = FL_S_INIT(name), .offset = offsetof(self, member), FL_D_##type, __VA_ARGS__ },
#define FL_ROW_TAG(type, member, name, ...) FL_TAG(sizeof(name) - 1, (unsigned char)name[0]),

/* Of a name: few in one object share it. */
#define FL_TAG(len, first) ((uint8_t)((len) << 5 | ((first) & 31)))

/* Set a member and say that it is there. */
#define FL_SET(object, member, value) ((object)->has.member = 1, (object)->member = (value))
#define FL_UNSET(object, member) ((object)->has.member = 0)
/* A text that an empty one stands for the absence of. */
#define FL_SET_TEXT(object, member, text) \
	((object)->member = (text), (object)->has.member = (object)->member.len > 0)

/* Say that a member object is there, and go into it: FL_SET(FL_IN(pool, status), phase, phase). */
#define FL_IN(object, member) ((object)->has.member = 1, &(object)->member)

/* Give a list or map `n` zeroed elements and say that it is there; the first one, or NULL when the arena refuses. */
#define FL_ELEMENTS(object, arena, member, n) \
	((object)->member.at = fl_arena_get_n((arena), (n), sizeof *(object)->member.at), \
	 (object)->member.len = (object)->member.at ? (n) : 0, (object)->has.member = (object)->member.at != NULL, \
	 (object)->member.at)

/* ---- a value that could not be bound ----
 *
 * It never loses its object: the object is there without it, and the fault stands in the root's `faults`. */
#define FL_FAULT(X) \
	X(STR, path, "path", .help = "Where: spec.resource.slicesPerUnit.") \
	X(STR, found, "found", .help = "What was there, as JSON, cut to FL_FAULT_FOUND bytes.") \
	X(STR, want, "want", .help = "What belongs there.")
FL_STRUCT(fl_fault, FL_FAULT);

/* The row that a root has for them. */
#define FL_FAULTS(X) X(LIST(fl_fault), faults, "faults", .local = true, .help = "Values that could not be bound.")
