/* head.h - the head of a request or response, the same for HTTP/1.1 and HTTP/2.
 *
 * All of it is borrowed: the function or callback that passes a head documents how long it lives. Field names are in
 * lower case, in both directions. Pseudo-fields (":path") are never in the list.
 */
#pragma once
#include "base/buf.h"

/* One head, all fields together: a bearer token takes 1.5 KiB, a Kerberos token 12. */
#define FL_HTTP_HEAD_MAX (32 * FL_KIB)
#define FL_HTTP_FIELDS_MAX 128              /* fields of one head; a browser behind three proxies sends 40 */

struct fl_header {
	struct fl_str name, value;
};

struct fl_headers {
	const struct fl_header *at;
	uint32_t len;
};

/* fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("text/plain") }), body); */
#define FL_HEADERS(...) \
	((struct fl_headers){ (const struct fl_header[]){ __VA_ARGS__ }, \
			      sizeof((const struct fl_header[]){ __VA_ARGS__ }) / sizeof(struct fl_header) })
#define FL_NO_HEADERS ((struct fl_headers){ 0 })

struct fl_http_head {
	struct fl_str method, scheme, authority, target;   /* of a request; target is path and query as sent */
	int status;                                        /* of a response; 0 in a request */
	struct fl_headers headers;
};

/* The first field of that name (in lower case); .p is NULL when there is none. */
struct fl_str fl_headers_get(struct fl_headers headers, struct fl_str name);

/* Is `token` among the comma-separated elements of the fields of that name? Case is ignored. */
bool fl_headers_token(struct fl_headers headers, struct fl_str name, struct fl_str token);

/* May it be sent? The name must be lower-case token characters, the value without line ends, NUL and the like.
 * Everything that we send is checked, so that no outside text can add a header line. */
bool fl_header_valid(const struct fl_header *header);

/* Case-insensitive for ASCII letters only, as HTTP compares. */
bool fl_str_same(struct fl_str a, struct fl_str b);

/* A copy in one block; free it with fl_free. NULL: allocation failed. */
struct fl_http_head *fl_http_head_copy(const struct fl_http_head *head) FL_MUSTUSE;

/* Path and query of a target: "/a/b?c=d" is "/a/b" and "c=d". */
void fl_http_target_split(struct fl_str target, struct fl_str *ret_path, struct fl_str *ret_query);

/* The reason phrase of a status: "Not Found"; "Status" for one without. */
struct fl_str fl_http_reason(int status);
