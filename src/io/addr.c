#include "io/addr.h"
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>

int fl_addr_unix(struct fl_addr *ret, struct fl_str path, struct fl_err *err)
{
	if (path.len >= sizeof ret->path)
		return fl_fail(err, FL_E_TOOBIG, "path of a unix socket: %u bytes, at most %zu: '%.*s'", path.len,
			       sizeof ret->path - 1, FL_ARG(path));
	if (path.len == 0 || fl_str_find(path, 0) >= 0)
		return fl_fail(err, FL_E_INVALID, "path of a unix socket: '%.*s'", FL_ARG(path));
	*ret = (struct fl_addr){ .kind = FL_ADDR_UNIX };
	memcpy(ret->path, path.p, path.len);
	return 0;
}

/* "%2" after a link-local address. Interface names are not accepted: only the kernel can resolve them. */
static bool cut_scope(struct fl_str *ip, uint32_t *ret)
{
	int64_t at = fl_str_find(*ip, '%');
	uint64_t scope;

	*ret = 0;
	if (at < 0)
		return true;
	if (!fl_str_u64(fl_str_sub(*ip, (uint32_t)at + 1, ip->len), &scope) || scope == 0 || scope > UINT32_MAX)
		return false;
	*ret = (uint32_t)scope;
	ip->len = (uint32_t)at;
	return true;
}

int fl_addr_parse_ip(struct fl_addr *ret, struct fl_str ip, uint16_t port, struct fl_err *err)
{
	struct fl_addr addr = { .port = port };
	struct fl_str bare = ip;
	char text[INET6_ADDRSTRLEN];

	if (cut_scope(&bare, &addr.scope) && bare.len < sizeof text && fl_str_find(bare, 0) < 0) {
		if (bare.len)
			memcpy(text, bare.p, bare.len);
		text[bare.len] = 0;
		if (!addr.scope && inet_pton(AF_INET, text, addr.ip) == 1)
			addr.kind = FL_ADDR_IP4;
		else if (inet_pton(AF_INET6, text, addr.ip) == 1)
			addr.kind = FL_ADDR_IP6;
	}
	if (addr.kind == FL_ADDR_NONE)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is not an IP address", FL_ARG(ip));
	*ret = addr;
	return 0;
}

int fl_addr_parse(struct fl_addr *ret, struct fl_str text, struct fl_err *err)
{
	struct fl_str host, port = text;
	uint64_t number;

	if (fl_str_starts(text, FL_S("unix://")))
		return fl_addr_unix(ret, fl_str_sub(text, 7, text.len), err);
	if (fl_str_starts(text, FL_S("unix:")))
		return fl_addr_unix(ret, fl_str_sub(text, 5, text.len), err);
	if (fl_str_starts(text, FL_S("["))) {
		int64_t end = fl_str_find(text, ']');

		host = fl_str_sub(text, 1, end < 1 ? 0 : (uint32_t)end - 1);
		port = fl_str_sub(text, end < 0 ? text.len : (uint32_t)end + 1, text.len);
	} else {
		int64_t colon = fl_str_find(text, ':');

		host = fl_str_sub(text, 0, colon < 0 ? text.len : (uint32_t)colon);
		port = fl_str_sub(text, host.len, text.len);
	}
	if (!fl_str_starts(port, FL_S(":")) || !fl_str_u64(fl_str_sub(port, 1, port.len), &number) || number > 65535)
		return fl_fail(err, FL_E_INVALID, "'%.*s': expected IP:PORT, [IP6]:PORT or unix:PATH", FL_ARG(text));
	if ((fl_str_find(host, ':') >= 0) != (text.p[0] == '['))
		return fl_fail(err, FL_E_INVALID, "'%.*s': only an IPv6 address stands in brackets", FL_ARG(text));
	if (fl_addr_parse_ip(ret, host, (uint16_t)number, err) < 0)
		return fl_wrap(err, "'%.*s'", FL_ARG(text));
	return 0;
}

struct fl_str fl_addr_print(const struct fl_addr *addr, char buf[static FL_ADDR_TEXT])
{
	char ip[INET6_ADDRSTRLEN] = "?", scope[16] = "";

	switch (addr->kind) {
	case FL_ADDR_NONE:
		(void)snprintf(buf, FL_ADDR_TEXT, "nowhere");
		break;
	case FL_ADDR_IP4:
		(void)inet_ntop(AF_INET, addr->ip, ip, sizeof ip);
		(void)snprintf(buf, FL_ADDR_TEXT, "%s:%u", ip, addr->port);
		break;
	case FL_ADDR_IP6:
		(void)inet_ntop(AF_INET6, addr->ip, ip, sizeof ip);
		if (addr->scope)
			(void)snprintf(scope, sizeof scope, "%%%u", addr->scope);
		(void)snprintf(buf, FL_ADDR_TEXT, "[%s%s]:%u", ip, scope, addr->port);
		break;
	case FL_ADDR_UNIX:
		(void)snprintf(buf, FL_ADDR_TEXT, "unix:%s", addr->path);
		break;
	}
	return fl_str(buf);
}

bool fl_addr_local(const struct fl_addr *addr)
{
	static const uint8_t one[16] = { [15] = 1 }, mapped[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };

	switch (addr->kind) {
	case FL_ADDR_NONE:
		return false;
	case FL_ADDR_IP4:
		return addr->ip[0] == 127;
	case FL_ADDR_IP6:
		return memcmp(addr->ip, one, 16) == 0 || memcmp(addr->ip, mapped, 13) == 0;
	case FL_ADDR_UNIX:
		return true;
	}
	return false;
}

struct fl_origin fl_addr_origin(const struct fl_addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct fl_origin origin = { .kind = addr->kind };

	if (addr->kind == FL_ADDR_IP4) {
		memcpy(origin.net, addr->ip, 4);
	} else if (addr->kind == FL_ADDR_IP6 && memcmp(addr->ip, mapped, sizeof mapped) == 0) {
		origin.kind = FL_ADDR_IP4;
		memcpy(origin.net, addr->ip + sizeof mapped, 4);
	} else if (addr->kind == FL_ADDR_IP6) {
		origin.scope = addr->scope;
		memcpy(origin.net, addr->ip, sizeof origin.net);
	}
	return origin;
}

bool fl_origin_eq(const struct fl_origin *a, const struct fl_origin *b)
{
	return (a->kind == FL_ADDR_IP4 || a->kind == FL_ADDR_IP6) && a->kind == b->kind && a->scope == b->scope &&
	       memcmp(a->net, b->net, sizeof a->net) == 0;
}
