/* write.h - JSON written straight into a buffer, compact, byte for byte as Go's encoder without HTML escaping.
 *
 *     struct fl_jw w = FL_JW(&buf);
 *     fl_jw_obj(&w);
 *     fl_jw_put(&w, "replicas", i64, 3);
 *     fl_jw_end_obj(&w);
 *     r = fl_buf_check(&buf, "the status", err);
 *
 * Nothing here fails: failures stick to the buffer. The writer places commas; the caller alternates keys and values,
 * and ends what it begins.
 *
 * By default Go escapes < > &, for JSON inside HTML pages. Ours is never in one, and the escapes would only lengthen
 * messages and logs, so they are off. U+2028 and U+2029 are escaped, as Go does in any case, and bytes that are not
 * UTF-8 become U+FFFD.
 */
#pragma once
#include "base/buf.h"
#include "json/json.h"

struct fl_jw {
	struct fl_buf *buf;
	bool comma;     /* the next key or value needs one before it */
};
#define FL_JW(buffer) ((struct fl_jw){ .buf = (buffer) })

void fl_jw_obj(struct fl_jw *w);
void fl_jw_end_obj(struct fl_jw *w);
void fl_jw_arr(struct fl_jw *w);
void fl_jw_end_arr(struct fl_jw *w);
void fl_jw_key(struct fl_jw *w, struct fl_str key);

void fl_jw_str(struct fl_jw *w, struct fl_str s);
void fl_jw_i64(struct fl_jw *w, int64_t value);
void fl_jw_u64(struct fl_jw *w, uint64_t value);
void fl_jw_double(struct fl_jw *w, double value);   /* what JSON cannot say (NaN, infinite) becomes null */
void fl_jw_bool(struct fl_jw *w, bool value);
void fl_jw_null(struct fl_jw *w);
void fl_jw_raw(struct fl_jw *w, struct fl_str json);   /* JSON already; put there as it is */

/* A member of an object: its key, and the value by the function of that name: fl_jw_put(&w, "replicas", i64, 3). */
#define fl_jw_put(w_, key_, what_, ...) (fl_jw_key((w_), FL_S(key_)), fl_jw_##what_((w_), ##__VA_ARGS__))

/* A value of a document, whole, as it stands (repeated keys included). Documents that fl_json_read let through are
 * never too deep; of any other, what is nested deeper than FL_JSON_DEPTH sets the buffer's FL_E_TOOBIG. */
void fl_jw_val(struct fl_jw *w, const yyjson_val *val);
void fl_jw_mut(struct fl_jw *w, const yyjson_mut_val *val);

/* As Go prints a float64 in JSON; at most 25 bytes, not terminated. 0 when it is not finite. */
#define FL_DOUBLE_TEXT 32   /* room for the longest, of 25 bytes */
uint32_t fl_json_double(double value, char text[FL_DOUBLE_TEXT]);

/* As Go's shortest %g: 0.5, 1e+06, .inf, .nan. Numbers in YAML, and in the names of its mappings. */
uint32_t fl_double_g(double value, char text[FL_DOUBLE_TEXT]);
uint32_t fl_float_g(float value, char text[FL_DOUBLE_TEXT]);
