#include "io/posix.h"
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
	struct sockaddr_un un;
};

static socklen_t to_kernel(const struct fl_addr *addr, union address *ret)
{
	size_t path;

	memset(ret, 0, sizeof *ret);
	switch (addr->kind) {
	case FL_ADDR_NONE:
		break;
	case FL_ADDR_IP4:
		ret->ip4.sin_family = AF_INET;
		ret->ip4.sin_port = htons(addr->port);
		memcpy(&ret->ip4.sin_addr, addr->ip, 4);
		return sizeof ret->ip4;
	case FL_ADDR_IP6:
		ret->ip6.sin6_family = AF_INET6;
		ret->ip6.sin6_port = htons(addr->port);
		ret->ip6.sin6_scope_id = addr->scope;
		memcpy(&ret->ip6.sin6_addr, addr->ip, 16);
		return sizeof ret->ip6;
	case FL_ADDR_UNIX:
		path = strlen(addr->path);
		ret->un.sun_family = AF_UNIX;
		memcpy(ret->un.sun_path, addr->path, path + 1);
		if (addr->path[0] == '@')
			ret->un.sun_path[0] = 0;
		else
			path++;
		return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path);
	}
	return 0;
}

static void from_kernel(const union address *addr, socklen_t len, struct fl_addr *ret)
{
	size_t path;

	*ret = (struct fl_addr){ .kind = FL_ADDR_NONE };
	if (len <= sizeof(sa_family_t))
		return;   /* a unix socket without a name */
	if (addr->any.sa_family == AF_INET) {
		ret->kind = FL_ADDR_IP4;
		ret->port = ntohs(addr->ip4.sin_port);
		memcpy(ret->ip, &addr->ip4.sin_addr, 4);
	} else if (addr->any.sa_family == AF_INET6) {
		ret->kind = FL_ADDR_IP6;
		ret->port = ntohs(addr->ip6.sin6_port);
		ret->scope = addr->ip6.sin6_scope_id;
		memcpy(ret->ip, &addr->ip6.sin6_addr, 16);
	} else if (addr->any.sa_family == AF_UNIX) {
		ret->kind = FL_ADDR_UNIX;
		path = len - offsetof(struct sockaddr_un, sun_path);
		if (path > sizeof ret->path - 1)
			path = sizeof ret->path - 1;
		memcpy(ret->path, addr->un.sun_path, path);
		if (path && !ret->path[0])
			ret->path[0] = '@';
	}
}

static int new_socket(const union address *addr)
{
	return socket(addr->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void set_option(int fd, int level, int name)
{
	int one = 1;

	(void)setsockopt(fd, level, name, &one, sizeof one);   /* no option of ours is worth a failure */
}

/* Closes fd and keeps the errno of the call before. */
static int give_up(int fd)
{
	int sys = errno;

	(void)close(fd);
	return -sys;
}

/* ---- connect ---- */

static int connect_to(struct fl_sys *sys, const struct fl_addr *to)
{
	union address addr;
	socklen_t len = to_kernel(to, &addr);
	int fd;

	(void)sys;
	if (!len)
		return -EINVAL;
	fd = new_socket(&addr);
	if (fd < 0)
		return -errno;
	if (to->kind != FL_ADDR_UNIX)
		set_option(fd, IPPROTO_TCP, TCP_NODELAY);   /* we write whole messages */
	if (connect(fd, &addr.any, len) < 0 && errno != EINPROGRESS && errno != EINTR)
		return give_up(fd);
	return fd;
}

static int connected(struct fl_sys *sys, int fd)
{
	int error = 0;
	socklen_t len = sizeof error;

	(void)sys;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

/* ---- listen ---- */

/* Make room for a unix socket: 0 when nothing is there any more, else why not. */
static int remove_stale(const char *path, const union address *addr, socklen_t len)
{
	struct stat stat;
	int fd, r;

	if (lstat(path, &stat) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(stat.st_mode))
		return -EEXIST;
	fd = new_socket(addr);
	if (fd < 0)
		return -errno;
	r = connect(fd, &addr->any, len) < 0 ? errno : 0;
	(void)close(fd);
	if (r != ECONNREFUSED && r != ENOENT)
		return -EADDRINUSE;   /* also when it is busy, or connecting to it is not allowed */
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int bind_unix(int fd, const char *path, const union address *addr, socklen_t len, unsigned mode)
{
	bool named = path[0] != '@';
	int r;

	if (bind(fd, &addr->any, len) < 0) {
		if (errno != EADDRINUSE || !named)
			return -errno;
		r = remove_stale(path, addr, len);
		if (r < 0)
			return r;
		if (bind(fd, &addr->any, len) < 0)
			return -errno;
	}
	/* No client can connect before listen(), so there is no moment with a wider mode. */
	if (named && chmod(path, mode) < 0) {
		r = -errno;
		(void)unlink(path);
		return r;
	}
	return 0;
}

static int bind_ip(int fd, const union address *addr, socklen_t len)
{
	int zero = 0;

	set_option(fd, SOL_SOCKET, SO_REUSEADDR);
	set_option(fd, IPPROTO_TCP, TCP_NODELAY);   /* connections inherit it */
	if (addr->any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
	return bind(fd, &addr->any, len) < 0 ? -errno : 0;
}

static void keep_spare(struct fl_posix *posix)
{
	if (posix->spare < 0)
		posix->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int listen_on(struct fl_sys *sys, const struct fl_addr *at, unsigned mode)
{
	union address addr;
	socklen_t len = to_kernel(at, &addr);
	int fd, r;

	if (!len)
		return -EINVAL;
	fd = new_socket(&addr);
	if (fd < 0)
		return -errno;
	r = at->kind == FL_ADDR_UNIX ? bind_unix(fd, at->path, &addr, len, mode) : bind_ip(fd, &addr, len);
	if (r == 0 && listen(fd, FL_LISTEN_BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	keep_spare(fl_posix_of(sys));
	return fd;
}

/* ---- accept ---- */

/* Errors of a connection that died before it was accepted; the next one may work. */
static bool died(int sys)
{
	return sys == ECONNABORTED || sys == EINTR || sys == ENETDOWN || sys == EPROTO || sys == ENOPROTOOPT ||
	       sys == EHOSTDOWN || sys == ENONET || sys == EHOSTUNREACH || sys == EOPNOTSUPP || sys == ENETUNREACH ||
	       sys == EPERM;
}

static int accept_one(int fd, union address *addr, socklen_t *len)
{
	int got;

	do {
		*len = sizeof *addr;
		got = accept4(fd, &addr->any, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	} while (got < 0 && died(errno));
	return got < 0 ? -errno : got;
}

/* Without a free fd the connection would stay queued and wake the loop for ever: free the spare fd for the moment that
 * it takes to accept the connection and close it. */
static int turn_away(struct fl_posix *posix, int fd)
{
	union address addr;
	socklen_t len;
	int got = -ENOBUFS;

	if (posix->spare >= 0) {
		(void)close(posix->spare);
		posix->spare = -1;
		got = accept_one(fd, &addr, &len);
		if (got >= 0)
			(void)close(got);
	}
	keep_spare(posix);
	return got >= 0 ? -EMFILE : got == -EMFILE || got == -ENFILE ? -ENOBUFS : got;
}

static int accept_from(struct fl_sys *sys, int fd, struct fl_addr *ret_peer)
{
	union address addr;
	socklen_t len;
	int got = accept_one(fd, &addr, &len);

	if (got == -EMFILE || got == -ENFILE)
		return turn_away(fl_posix_of(sys), fd);
	if (got >= 0)
		from_kernel(&addr, len, ret_peer);
	return got;
}

static int local_addr(struct fl_sys *sys, int fd, struct fl_addr *ret)
{
	union address addr;
	socklen_t len = sizeof addr;

	(void)sys;
	if (getsockname(fd, &addr.any, &len) < 0)
		return -errno;
	from_kernel(&addr, len, ret);
	return 0;
}

static int peer_cred(struct fl_sys *sys, int fd, struct fl_cred *ret)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	(void)sys;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (cred.uid == (uid_t)-1)   /* no unix socket, or not connected */
		return -EOPNOTSUPP;
	*ret = (struct fl_cred){ cred.pid, cred.uid, cred.gid };
	return 0;
}

/* ---- bytes ---- */

static int64_t read_fd(struct fl_sys *sys, int fd, void *bytes, size_t len)
{
	(void)sys;
	return fl_sys_result(FL_SYS_RETRY(read(fd, bytes, len)));
}

static int64_t write_fd(struct fl_sys *sys, int fd, const void *bytes, size_t len)
{
	(void)sys;
	return fl_sys_result(FL_SYS_RETRY(write(fd, bytes, len)));
}

static int shutdown_write(struct fl_sys *sys, int fd)
{
	(void)sys;
	return shutdown(fd, SHUT_WR) < 0 ? -errno : 0;
}

static int pair(struct fl_sys *sys, enum fl_pair_kind kind, int ret_fds[static 2])
{
	int r = -1;

	(void)sys;
	switch (kind) {
	case FL_PIPE:
		r = pipe2(ret_fds, O_CLOEXEC | O_NONBLOCK);
		break;
	case FL_SOCKETPAIR:
		r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_fds);
		break;
	}
	return r < 0 ? -errno : 0;
}

/* ---- names; in a worker ---- */

static int errno_of_lookup(int r)
{
	switch (r) {
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return ENOENT;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_SYSTEM:
		return errno == EINTR ? EAGAIN : errno;
	default:
		return EIO;
	}
}

int fl_posix_lookup(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	int r = getaddrinfo(host, NULL, &hints, &found);
	unsigned len = 0;

	(void)fs;
	if (r != 0)
		return -errno_of_lookup(r);
	for (struct addrinfo *at = found; at && len < max; at = at->ai_next) {
		union address addr;

		if (at->ai_addrlen > sizeof addr)
			continue;
		memcpy(&addr, at->ai_addr, at->ai_addrlen);
		from_kernel(&addr, at->ai_addrlen, &ret[len]);
		len += ret[len].kind != FL_ADDR_NONE;
	}
	freeaddrinfo(found);
	return (int)len;
}

void fl_posix_sockets(struct fl_sys *sys)
{
	sys->connect = connect_to;
	sys->connected = connected;
	sys->listen = listen_on;
	sys->accept = accept_from;
	sys->local_addr = local_addr;
	sys->peer_cred = peer_cred;
	sys->read = read_fd;
	sys->write = write_fd;
	sys->shutdown_write = shutdown_write;
	sys->pair = pair;
}
