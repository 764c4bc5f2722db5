#include "io/addr.h"
#include "test.h"

static const struct {
	const char *says, *in, *out;   /* out NULL: refused */
	bool local;
} rows[] = {
	{ "IPv4 and a port", "1.2.3.4:80", "1.2.3.4:80", false },
	{ "loopback is local", "127.0.0.53:53", "127.0.0.53:53", true },
	{ "IPv6 in brackets", "[2001:DB8::1]:443", "[2001:db8::1]:443", false },
	{ "IPv6 loopback is local", "[::1]:0", "[::1]:0", true },
	{ "loopback mapped into IPv6 is local", "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true },
	{ "any address of both families", "[::]:65535", "[::]:65535", false },
	{ "link-local with the interface's number", "[fe80::1%2]:1", "[fe80::1%2]:1", false },
	{ "a path", "unix:/run/x.sock", "unix:/run/x.sock", true },
	{ "a path as a URL", "unix:///run/x.sock", "unix:/run/x.sock", true },
	{ "a relative path", "unix:x.sock", "unix:x.sock", true },
	{ "the abstract space", "unix:@x", "unix:@x", true },
	{ "no port", "1.2.3.4", NULL, false },
	{ "an empty port", "1.2.3.4:", NULL, false },
	{ "a port too large", "1.2.3.4:65536", NULL, false },
	{ "a port with a sign", "1.2.3.4:+80", NULL, false },
	{ "a name is for the lookup", "localhost:80", NULL, false },
	{ "IPv6 without brackets", "::1:80", NULL, false },
	{ "IPv4 in brackets", "[1.2.3.4]:80", NULL, false },
	{ "an open bracket", "[::1:80", NULL, false },
	{ "a bracket and nothing else", "[", NULL, false },
	{ "too many numbers", "1.2.3.4.5:80", NULL, false },
	{ "an octal number", "010.2.3.4:80", NULL, false },
	{ "an interface without a number", "[fe80::1%eth0]:1", NULL, false },
	{ "an interface on IPv4", "1.2.3.4%1:80", NULL, false },
	{ "something very long", "1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4:1", NULL, false },
	{ "no path", "unix:", NULL, false },
	{ "nothing", "", NULL, false },
};

TEST(addresses_are_read_and_printed)
{
	EACH_ROW (row, rows) {
		struct fl_addr addr;
		struct fl_err err;
		char buf[FL_ADDR_TEXT];

		if (!row->out) {
			REFUSED(fl_addr_parse(&addr, fl_str(row->in), &err), FL_E_INVALID);
			continue;
		}
		OK_ERR(fl_addr_parse(&addr, fl_str(row->in), &err), &err);
		CHECK_STR(fl_addr_print(&addr, buf), row->out);
		CHECK(fl_addr_local(&addr) == row->local);
	}
}

static const struct {
	const char *says, *a, *b;
	bool same;
} pairs[] = {
	{ "the port does not count", "1.2.3.4:80", "1.2.3.4:81", true },
	{ "each IPv4 address counts for itself", "1.2.3.4:80", "1.2.3.5:80", false },
	{ "mapped into IPv6 it is the same one", "[::ffff:1.2.3.4]:80", "1.2.3.4:81", true },
	{ "and others are others", "[::ffff:1.2.3.4]:80", "[::ffff:1.2.3.5]:80", false },
	{ "an IPv6 network of 64 bits counts as one", "[2001:db8::1]:1", "[2001:db8::ffff:1]:2", true },
	{ "and the next one as another", "[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false },
	{ "link-local is another one on each interface", "[fe80::1%1]:1", "[fe80::1%2]:1", false },
	{ "IPv4 is not IPv6", "0.0.0.0:1", "[::]:1", false },
	{ "unix sockets never count as one", "unix:/a", "unix:/a", false },
};

TEST(origins_are_compared)
{
	EACH_ROW (row, pairs) {
		struct fl_origin a, b;
		struct fl_addr addr;

		OK(fl_addr_parse(&addr, fl_str(row->a), NULL));
		a = fl_addr_origin(&addr);
		OK(fl_addr_parse(&addr, fl_str(row->b), NULL));
		b = fl_addr_origin(&addr);
		CHECK(fl_origin_eq(&a, &b) == row->same);
	}
}

TEST(a_path_has_107_bytes_at_most)
{
	char path[120];
	struct fl_addr addr;
	struct fl_err err;

	memset(path, 'p', sizeof path);
	OK(fl_addr_unix(&addr, (struct fl_str){ path, 107 }, &err));
	CHECK_INT(strlen(addr.path), 107);
	REFUSED(fl_addr_unix(&addr, (struct fl_str){ path, 108 }, &err), FL_E_TOOBIG);
	REFUSED(fl_addr_unix(&addr, (struct fl_str){ "a\0b", 3 }, &err), FL_E_INVALID);
}

TEST(nowhere_prints_too)
{
	struct fl_addr none = { 0 };
	char buf[FL_ADDR_TEXT];

	CHECK_STR(fl_addr_print(&none, buf), "nowhere");
	CHECK(!fl_addr_local(&none));
}
