/* head.h - the head of a request or response, the same for HTTP/1.1 and HTTP/2.
 *
 * All of it is borrowed: whoever hands over a head says how long it lives. Field names that we hand over are in lower
 * case, and so must be those that are handed to us. Pseudo-fields (":path") are never in the list.
 */
#pragma once
#include "base/buf.h"

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

/* Could this be sent? A name of lower-case token characters; a value without line ends, NUL and the like. Everything
 * that we send is checked, so that nothing from outside can end a line in our name. */
bool fl_header_valid(const struct fl_header *header);

/* Case-insensitive for ASCII letters only, as HTTP compares. */
bool fl_str_same(struct fl_str a, struct fl_str b);

/* A copy in one block, to be freed with fl_free; NULL when refused. */
struct fl_http_head *fl_http_head_copy(const struct fl_http_head *head) FL_MUSTUSE;

/* Path and query of a target: "/a/b?c=d" is "/a/b" and "c=d". */
void fl_http_target_split(struct fl_str target, struct fl_str *ret_path, struct fl_str *ret_query);

/* What a status is called: "Not Found"; "Status" for one that has no name. */
struct fl_str fl_http_reason(int status);
