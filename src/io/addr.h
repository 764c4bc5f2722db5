/* addr.h - socket addresses. Pure: no I/O and no name lookup (see fl_lookup in io/io.h). */
#pragma once
#include "base/err.h"

enum fl_addr_kind { FL_ADDR_NONE, FL_ADDR_IP4, FL_ADDR_IP6, FL_ADDR_UNIX };

struct fl_addr {
	enum fl_addr_kind kind;
	uint16_t port;
	uint8_t ip[16];            /* network order; IP4 uses the first four */
	uint32_t scope;            /* IP6 link-local: the interface's number; else 0 */
	char path[108];            /* UNIX; terminated, so 107 bytes at most; a leading '@' is the abstract space */
};

/* "1.2.3.4:80", "[::1]:80", "unix:/path", "unix:///path", "unix:@abstract". Names are refused with FL_E_INVALID. */
int fl_addr_parse(struct fl_addr *ret, struct fl_str text, struct fl_err *err) FL_MUSTUSE;

/* A bare "1.2.3.4", "::1" or "fe80::1%2"; the port is set to `port`. */
int fl_addr_parse_ip(struct fl_addr *ret, struct fl_str ip, uint16_t port, struct fl_err *err) FL_MUSTUSE;

/* FL_E_TOOBIG over 107 bytes, FL_E_INVALID with a NUL inside or when empty. */
int fl_addr_unix(struct fl_addr *ret, struct fl_str path, struct fl_err *err) FL_MUSTUSE;

/* As fl_addr_parse reads it; lives in buf. FL_ADDR_NONE prints as "nowhere". */
#define FL_ADDR_TEXT 120   /* the longest is the path of a unix socket, of 107 bytes */
struct fl_str fl_addr_print(const struct fl_addr *addr, char buf[static FL_ADDR_TEXT]);

/* Does it stay on this machine? Loopback (also IPv4 mapped into IPv6) and unix sockets. */
bool fl_addr_local(const struct fl_addr *addr);

/* What counts as one peer where each gets a share: an IPv4 address, also one mapped into IPv6, or an IPv6 /64 network,
 * since one machine may use any address in it. */
struct fl_origin {
	enum fl_addr_kind kind;
	uint32_t scope;
	uint8_t net[8];
};
struct fl_origin fl_addr_origin(const struct fl_addr *addr);

/* Never for FL_ADDR_NONE and FL_ADDR_UNIX: their peers are unknown. */
bool fl_origin_eq(const struct fl_origin *a, const struct fl_origin *b);
