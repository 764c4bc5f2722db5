/* yaml.h - YAML to JSON and back, as sigs.k8s.io/yaml and kubectl do it.
 *
 *     FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
 *     r = fl_yaml_open(text, &yaml, err);
 *     while (r == 0 && (r = fl_yaml_next(yaml, &json, err)) > 0)
 *             one document is in json
 *
 * Plain words become values as in Kubernetes (YAML 1.1 as Go reads it: yes, no, on and off are truth values, 010 is 8,
 * 1e3 is 1000, dates stay texts); numbers and words as keys become texts. Refused, with the line: a name that stands
 * twice, merge keys (<<), .inf and .nan, values nested deeper than FL_YAML_DEPTH, aliases that add more than
 * FL_YAML_ALIAS_MAX, an alias or a list as a key. A text that begins with { is JSON and is read as such, one object
 * after another. Documents in which nothing stands are skipped.
 *
 * libyaml takes its memory from libc, not from base/mem.h; it holds a few kilobytes and one token.
 */
#pragma once
#include "base/buf.h"
#include "json/json.h"

/* YAML: a bundle of CRDs has 5 MB. libyaml's time grows with the square of the nesting, and nothing real nests beyond
 * 60 (a CRD's schema of a Pod template). Aliases save writing, not megabytes. */
#define FL_YAML_MAX (16 * FL_MIB)
#define FL_YAML_DEPTH 100
#define FL_YAML_ALIAS_MAX (1 * FL_MIB)

struct fl_yaml;

/* The text must stay until fl_yaml_close. */
int fl_yaml_open(struct fl_str text, struct fl_yaml **ret_yaml, struct fl_err *err) FL_MUSTUSE;
struct fl_yaml *fl_yaml_close(struct fl_yaml *yaml);   /* NULL-safe, returns NULL */
static inline void fl_yaml_free(struct fl_yaml *yaml)
{
	(void)fl_yaml_close(yaml);
}
FL_DEFINE_AUTO(fl_yaml, struct fl_yaml *, fl_yaml_free);

/* 1: the next document has been put behind what is in *json, as JSON. 0: there is none. FL_E_INVALID: "line 3: ...".
 * After a failure the buffer is as it was, and there is no going on. */
int fl_yaml_next(struct fl_yaml *yaml, struct fl_buf *json, struct fl_err *err) FL_MUSTUSE;

/* The line on which that document began. */
uint32_t fl_yaml_line(const struct fl_yaml *yaml);

/* A text that holds at most one document: 1, or 0 where it holds none. */
int fl_yaml_read_any(struct fl_json_space *space, struct fl_str text, yyjson_doc **ret_doc,
		     struct fl_err *err) FL_MUSTUSE;
/* A text that holds exactly one document. */
int fl_yaml_read(struct fl_json_space *space, struct fl_str text, yyjson_doc **ret_doc, struct fl_err *err) FL_MUSTUSE;

#define FL_YAML_SORT 1u   /* names in kubectl's order (numbers in them by value), not as they stand */

/* Put a JSON value as one YAML document, as kubectl prints it: a text that any reader might take for something else is
 * quoted. */
int fl_yaml_put(struct fl_buf *buf, yyjson_val *val, unsigned flags, struct fl_err *err) FL_MUSTUSE;
