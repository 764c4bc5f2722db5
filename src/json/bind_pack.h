/* bind_pack.h - the cached form of an object: one run of bytes, a tenth of its JSON.
 *
 * Only what is there takes room: a set of bits and then the values, in the order of the table. Integers and times are
 * varints, a UUID is 16 bytes, a number in a text (resourceVersion) a varint, a row that says .interned a handle. With
 * one pool of interned texts the same object gives the same bytes, so "has it changed?" is memcmp. (Two that are equal
 * may still differ in bytes where a quantity was written in another way: 1Gi and 1073741824.)
 *
 *     fl_pack(fl_pod_bind(), &pod, &interns, &scratch, err);      then copy scratch to where the cache keeps it
 *     FL_PEEK(fl_pod, spec.node_name, packed, arena, &node);
 *     ...
 *     fl_pack_drop(fl_pod_bind(), packed, &interns);              before the bytes are forgotten
 *
 * The bytes live in memory only, and handles among them are addresses: never unpack what came from elsewhere.
 */
#pragma once
#include "base/intern.h"
#include "json/bind_walk.h"

/* Append the object's bytes. They hold their interned texts until fl_pack_drop. A failure holds nothing and appends
 * nothing. Without a pool nothing is interned. */
int fl_pack(const struct fl_bind *bind, const void *object, struct fl_interns *interns, struct fl_buf *out,
	    struct fl_err *err) FL_MUSTUSE;
void fl_pack_drop(const struct fl_bind *bind, struct fl_str packed, struct fl_interns *interns);

/* Unpack the struct. Plain texts lie in `packed`, interned ones in their pool, lists and the rest in the arena. */
int fl_unpack(const struct fl_bind *bind, struct fl_str packed, struct fl_arena *arena, void *ret,
	      struct fl_err *err) FL_MUSTUSE;

/* The same for unpacking many: `blank` is a zeroed root struct after fl_defaults. */
int fl_unpack_on(const struct fl_bind *bind, const void *blank, struct fl_str packed, struct fl_arena *arena, void *ret,
		 struct fl_err *err) FL_MUSTUSE;

/* One member, however deep inside objects (not inside lists): 1 present, 0 absent (*ret has its default, or is
 * zero). */
#define FL_PEEK(s, member_, packed, arena, ret) \
	fl_peek(s##_bind(), (packed), offsetof(struct s, member_), (arena), 1 ? (ret) : &((struct s *)0)->member_)
int fl_peek(const struct fl_bind *bind, struct fl_str packed, size_t offset, struct fl_arena *arena,
	    void *ret) FL_MUSTUSE;

/* The packed bytes of one member, borrowed: a key for an index. Equal members have equal bytes. Empty: absent. */
#define FL_PEEK_RAW(s, member_, packed) fl_peek_raw(s##_bind(), (packed), offsetof(struct s, member_))
struct fl_str fl_peek_raw(const struct fl_bind *bind, struct fl_str packed, size_t offset);

/* Does a member have this text? Allocates nothing. An absent member counts as empty. */
bool fl_peek_is(const struct fl_bind *bind, struct fl_str packed, size_t offset, struct fl_str text);

/* Are these the texts of the first rows of the member object at that offset? In one go. */
bool fl_peek_begins(const struct fl_bind *bind, struct fl_str packed, size_t offset, const struct fl_str *texts,
		    uint32_t len);
