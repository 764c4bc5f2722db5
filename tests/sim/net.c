/* Sockets: what is sent arrives later, in order, or never; the other end may be gone without a word. */
#include "sim/sim_in.h"
#include "base/units.h"
#include <errno.h>

enum { WINDOW = 64 * 1024 };
static const uint64_t retry_first = 200 * FL_NS_PER_MS, retry_last = 10 * FL_NS_PER_S;
static const uint64_t syn_retry_first = 1 * FL_NS_PER_S, syn_gives_up = 127 * FL_NS_PER_S;
static const uint64_t sender_gives_up = 924 * FL_NS_PER_S;   /* as Linux does with tcp_retries2 = 15 */

static void arrives(struct sim_event *event);
static void orphan_answers(struct sim_event *event);

static struct sim_sock *sock_new(struct sim_host *host, struct sim_host *to)
{
	struct sim_sock *s = sim_get(sizeof *s);

	s->host = host;
	s->to = to;
	s->in_last = &s->in;
	s->arrive.fire = arrives;
	s->orphan.fire = orphan_answers;
	s->next = host->socks;
	s->listed = &host->socks;
	if (s->next)
		s->next->listed = &s->next;
	host->socks = s;
	return s;
}

static void forget_segments(struct sim_sock *s)
{
	for (struct sim_segment *next; s->in; s->in = next) {
		next = s->in->next;
		sim_put(s->in);
	}
	s->in_last = &s->in;
	s->under_way = 0;
	sim_unset(s->host->world, &s->arrive);
}

static void unqueue(struct sim_sock *s)
{
	struct sim_listener *l = s->queued;

	if (!l)
		return;
	for (struct sim_sock **from = &l->first; *from; from = &(*from)->queue_next) {
		if (*from != s)
			continue;
		*from = s->queue_next;
		if (!*from)
			l->last = from;
		l->waiting--;
		break;
	}
	s->queued = NULL;
}

static void sock_free(struct sim_sock *s)
{
	unqueue(s);
	forget_segments(s);
	sim_unset(s->host->world, &s->orphan);
	if (s->peer)
		s->peer->peer = NULL;
	*s->listed = s->next;
	if (s->next)
		s->next->listed = s->listed;
	sim_put(s->rx);
	sim_put(s);
}

static void changed(struct sim_sock *s)
{
	if (s->file)
		sim_file_changed(s->file);
}

static void fail(struct sim_sock *s, int error)
{
	if (s->state == SIM_FAILED)
		return;
	s->state = SIM_FAILED;
	s->error = error;
	s->rx_len = 0;
	forget_segments(s);
	sim_unset(s->host->world, &s->orphan);
	changed(s);
}

/* ---- the way ---- */

static uint64_t latency(struct sim_world *w)
{
	return w->config.latency_min + sim_below(w, w->config.latency_max - w->config.latency_min + 1);
}

static bool is_local(const struct sim_sock *s)
{
	return s->host == s->to;
}

static void receive(struct sim_sock *s, const void *bytes, uint32_t len)
{
	if (s->rx_at && s->rx_at + s->rx_len + len > s->rx_cap) {
		memmove(s->rx, s->rx + s->rx_at, s->rx_len);
		s->rx_at = 0;
	}
	if (s->rx_len + len > s->rx_cap)
		s->rx = sim_more(s->rx, s->rx_cap = s->rx_cap * 2 + len);
	memcpy(s->rx + s->rx_at + s->rx_len, bytes, len);
	s->rx_len += len;
}

static void take(struct sim_sock *s, int kind, const void *bytes, uint32_t len)
{
	if (kind == SIM_DATA && bytes)
		receive(s, bytes, len);
	else if (kind == SIM_FIN)
		s->end_read = true;
	else if (kind == SIM_OPEN)
		s->state = SIM_CONNECTED;
	else
		fail(s, s->state == SIM_CONNECTING ? ECONNREFUSED : ECONNRESET);
	changed(s);
}

/* To `s`, from the other end. */
static void send_to(struct sim_sock *s, int kind, const void *bytes, uint32_t len)
{
	struct sim_world *w = s->host->world;
	struct sim_segment *segment;

	if (is_local(s)) {
		take(s, kind, bytes, len);
		return;
	}
	segment = sim_get(sizeof *segment + len);
	segment->kind = (__typeof__(segment->kind))kind;
	segment->len = len;
	if (len)
		memcpy(segment->bytes, bytes, len);
	segment->due = w->now + latency(w);
	if (segment->due <= s->last_due)
		segment->due = s->last_due + 1;
	s->last_due = segment->due;
	s->under_way += len;
	if (!s->in)
		sim_set(w, &s->arrive, segment->due);
	*s->in_last = segment;
	s->in_last = &segment->next;
}

/* The link is cut, or the host is down: TCP sends again, ever more slowly, and gives up after a quarter of an hour. */
static void send_again_later(struct sim_sock *s)
{
	struct sim_world *w = s->host->world;

	if (!s->retry)
		s->blocked = w->now;
	s->retry = s->retry ? s->retry * 2 : retry_first;
	if (s->retry > retry_last)
		s->retry = retry_last;
	if (w->now - s->blocked > sender_gives_up) {
		if (s->peer)
			fail(s->peer, ETIMEDOUT);
		forget_segments(s);
		return;
	}
	sim_set(w, &s->arrive, w->now + s->retry);
}

static void connect_arrives(struct sim_sock *s);

static void arrives(struct sim_event *event)
{
	struct sim_sock *s = fl_container(event, struct sim_sock, arrive);
	struct sim_segment *segment = s->in;
	struct sim_world *w = s->host->world;

	if (!segment) {
		connect_arrives(s);
		return;
	}
	if (!sim_link_up(s->to, s->host)) {
		send_again_later(s);
		return;
	}
	s->retry = 0;
	s->in = segment->next;
	if (!s->in)
		s->in_last = &s->in;
	s->under_way -= segment->len;
	if (s->in)
		sim_set(w, &s->arrive, s->in->due);
	sim_tell(s->host, "from %s: %s %u", s->to->name,
		 (const char *const[]){ "data", "end", "reset", "open" }[segment->kind], segment->len);
	take(s, (int)segment->kind, segment->bytes, segment->len);
	sim_put(segment);
}

/* ---- connecting ---- */

static struct sim_listener *listener_at(struct sim_host *host, const struct fl_addr *addr)
{
	for (struct sim_listener *l = host->listeners; l; l = l->next) {
		if (addr->kind == FL_ADDR_UNIX) {
			if (l->addr.kind == FL_ADDR_UNIX && strcmp(l->addr.path, addr->path) == 0)
				return l;
		} else if (l->addr.kind != FL_ADDR_UNIX && l->addr.port == addr->port) {
			return l;
		}
	}
	return NULL;
}

/* Both ends of a connection from `c` to a listener; its end waits to be accepted. */
static void meet(struct sim_sock *c, struct sim_listener *l)
{
	struct sim_sock *s = sock_new(l->host, c->host);

	s->state = SIM_CONNECTED;
	s->local = c->remote;
	s->remote = c->local;
	s->peer = c;
	c->peer = s;
	s->queued = l;
	*l->last = s;
	l->last = &s->queue_next;
	l->waiting++;
	sim_file_changed(l->file);
}

static void try_again(struct sim_sock *s)
{
	struct sim_world *w = s->host->world;

	s->retry = s->retry ? s->retry * 2 : syn_retry_first;
	if (s->retry > syn_gives_up / 2)
		fail(s, ETIMEDOUT);
	else
		sim_set(w, &s->arrive, w->now + s->retry);
}

static void connect_arrives(struct sim_sock *c)
{
	struct sim_listener *l = NULL;

	if (!c->to) {
		fail(c, EHOSTUNREACH);
		return;
	}
	if (!sim_link_up(c->host, c->to)) {
		try_again(c);
		return;
	}
	l = listener_at(c->to, &c->remote);
	if (l && l->waiting >= FL_LISTEN_BACKLOG) {
		try_again(c);
		return;
	}
	c->retry = 0;
	sim_tell(c->to, "connect from %s to port %u: %s", c->host->name, c->remote.port, l ? "taken" : "refused");
	if (l)
		meet(c, l);
	send_to(c, l ? SIM_OPEN : SIM_RST, NULL, 0);
}

static int connect_unix(struct sim_process *p, struct sim_sock *s)
{
	struct sim_inode *dir, *inode = NULL;
	struct sim_listener *l = NULL;
	char last[FL_NAME_MAX + 1];
	int r = 0;

	if (s->remote.path[0] == '@')
		l = listener_at(p->host, &s->remote);
	else if ((r = sim_path(p, s->remote.path, &dir, last, &inode)) == 0 && !inode)
		r = -ENOENT;
	if (r < 0)
		return r;
	if (inode)
		l = inode->listener;
	if (!l)
		return -ECONNREFUSED;
	if (l->waiting >= FL_LISTEN_BACKLOG)
		return -EAGAIN;
	s->state = SIM_CONNECTED;
	s->cred = l->cred;
	meet(s, l);
	s->peer->cred = (struct fl_cred){ p->pid, p->uid, p->gid };
	return 0;
}

int sim_net_connect(struct sim_process *p, const struct fl_addr *addr)
{
	struct sim_host *host = p->host;
	bool is_unix = addr->kind == FL_ADDR_UNIX;
	struct sim_sock *s = sock_new(host, is_unix ? host : sim_host_at(host->world, addr, host));
	struct sim_file *file = sim_file_new(host, SIM_SOCK);
	int r = 0;

	file->sock = s;
	s->file = file;
	s->remote = *addr;
	s->state = SIM_CONNECTING;
	if (is_unix) {
		s->local.kind = FL_ADDR_UNIX;
		r = connect_unix(p, s);
	} else {
		host->last_port = (uint16_t)(host->last_port < 32768 ? 32768 : host->last_port + 1);
		s->local = sim_addr(host, host->last_port);
		sim_set(host->world, &s->arrive, host->world->now + (is_local(s) ? 0 : latency(host->world)));
	}
	if (r < 0) {
		sim_file_drop(file);
		return r;
	}
	return sim_fd_add(p, file, 3);
}

/* ---- listening ---- */

static int bind_unix(struct sim_process *p, struct sim_listener *l, unsigned mode)
{
	struct sim_inode *dir, *inode;
	struct sim_change change = { .count = 1 };
	char last[FL_NAME_MAX + 1];
	int r;

	if (l->addr.path[0] == '@')
		return listener_at(p->host, &l->addr) ? -EADDRINUSE : 0;
	r = sim_path(p, l->addr.path, &dir, last, &inode);
	if (r < 0)
		return r;
	if (inode && !S_ISSOCK(inode->mode))
		return -EEXIST;
	if (inode && inode->listener)
		return -EADDRINUSE;
	l->inode = sim_inode_new(p->host, S_IFSOCK | (mode & 07777));
	l->inode->listener = l;
	change.part[0] = (struct sim_part){ .dir = dir, .old = inode, .new = l->inode, .name = last };
	sim_dir_change(p->host, &change);
	return 0;
}

int sim_net_listen(struct sim_process *p, const struct fl_addr *addr, unsigned mode)
{
	struct sim_host *host = p->host;
	struct sim_listener *l = sim_get(sizeof *l);
	int r = 0;

	l->host = host;
	l->addr = *addr;
	l->last = &l->first;
	l->cred = (struct fl_cred){ p->pid, p->uid, p->gid };
	if (addr->kind == FL_ADDR_UNIX)
		r = bind_unix(p, l, mode);
	else if (addr->port == 0)
		l->addr.port = host->last_port = (uint16_t)(host->last_port < 32768 ? 32768 : host->last_port + 1);
	else if (listener_at(host, addr))
		r = -EADDRINUSE;
	if (r < 0) {
		sim_put(l);
		return r;
	}
	l->next = host->listeners;
	l->from = &host->listeners;
	if (l->next)
		l->next->from = &l->next;
	host->listeners = l;
	l->file = sim_file_new(host, SIM_LISTENER);
	l->file->listener = l;
	return sim_fd_add(p, l->file, 3);
}

void sim_net_close_listener(struct sim_listener *l)
{
	while (l->first)
		sim_net_close(l->first);
	if (l->inode) {
		l->inode->listener = NULL;
		sim_inode_drop(l->inode);
	}
	*l->from = l->next;
	if (l->next)
		l->next->from = l->from;
	sim_put(l);
}

struct sim_sock *sim_net_accept(struct sim_listener *l)
{
	struct sim_sock *s;

	while ((s = l->first)) {
		unqueue(s);
		if (s->state == SIM_CONNECTED)
			return s;
		sock_free(s);
	}
	return NULL;
}

int sim_net_pair(struct sim_process *p, enum fl_pair_kind kind, struct sim_file *ret[2])
{
	struct sim_sock *s[2] = { sock_new(p->host, p->host), sock_new(p->host, p->host) };

	for (unsigned i = 0; i < 2; i++) {
		s[i]->state = SIM_CONNECTED;
		s[i]->peer = s[1 - i];
		s[i]->local.kind = s[i]->remote.kind = FL_ADDR_UNIX;
		s[i]->cred = (struct fl_cred){ p->pid, p->uid, p->gid };
		ret[i] = s[i]->file = sim_file_new(p->host, SIM_SOCK);
		ret[i]->sock = s[i];
	}
	s[0]->pipe_read = s[1]->pipe_write = kind == FL_PIPE;
	return 0;
}

/* ---- reading and writing ---- */

static uint32_t room(const struct sim_sock *s)
{
	uint32_t used = s->peer ? s->peer->rx_len + s->peer->under_way : 0;

	return used < WINDOW ? WINDOW - used : 0;
}

unsigned sim_net_ready(const struct sim_sock *s)
{
	unsigned what = 0;

	if (s->state == SIM_CONNECTING)
		return 0;
	if (s->state == SIM_FAILED || (is_local(s) && !s->peer))
		return FL_READABLE | FL_WRITABLE | FL_HUNGUP;
	if (s->rx_len || s->end_read)
		what |= FL_READABLE;
	if (!s->pipe_read && room(s))
		what |= FL_WRITABLE;
	if (s->end_read && s->end_written)
		what |= FL_HUNGUP;
	return what;
}

int64_t sim_net_read(struct sim_sock *s, void *bytes, size_t len)
{
	struct sim_world *w = s->host->world;

	if (s->pipe_write)
		return -EBADF;
	if (s->state == SIM_FAILED)
		return -(int64_t)s->error;
	if (s->state == SIM_CONNECTING)
		return -EAGAIN;
	if (!s->rx_len)
		return s->end_read || (is_local(s) && !s->peer) || !len ? 0 : -EAGAIN;
	if (len > s->rx_len)
		len = s->rx_len;
	if (len > 1 && sim_happens(w, w->config.short_io))
		len = 1 + (size_t)sim_below(w, len - 1);
	if (!len)
		return 0;
	memcpy(bytes, s->rx + s->rx_at, len);
	s->rx_at += (uint32_t)len;
	s->rx_len -= (uint32_t)len;
	if (!s->rx_len)
		s->rx_at = 0;
	if (s->peer)
		changed(s->peer);
	return (int64_t)len;
}

static void reset(struct sim_sock *s)
{
	struct sim_sock *peer = s->peer;

	sim_tell(s->host, "connection to %s is reset", s->to ? s->to->name : "nobody");
	fail(s, ECONNRESET);
	if (!peer)
		return;
	peer->peer = NULL;
	s->peer = NULL;
	send_to(peer, SIM_RST, NULL, 0);
}

int64_t sim_net_write(struct sim_sock *s, const void *bytes, size_t len)
{
	struct sim_world *w = s->host->world;

	if (s->pipe_read)
		return -EBADF;
	if (s->state == SIM_CONNECTING)
		return -EAGAIN;
	if (s->state == SIM_FAILED || s->end_written || (is_local(s) && !s->peer))
		return -EPIPE;
	if (!is_local(s) && sim_happens(w, w->config.reset)) {
		reset(s);
		return -ECONNRESET;
	}
	if (len > room(s))
		len = room(s);
	if (len > 1 && sim_happens(w, w->config.short_io))
		len = 1 + (size_t)sim_below(w, len - 1);
	if (!len)
		return -EAGAIN;
	if (s->peer)
		send_to(s->peer, SIM_DATA, bytes, (uint32_t)len);
	else if (!s->orphan.place)
		sim_set(w, &s->orphan, w->now + 2 * latency(w));
	return (int64_t)len;
}

/* What was sent to somebody who knows nothing of the connection comes back as a reset, if anything comes back. */
static void orphan_answers(struct sim_event *event)
{
	struct sim_sock *s = fl_container(event, struct sim_sock, orphan);
	struct sim_world *w = s->host->world;

	if (sim_link_up(s->host, s->to) && sim_link_up(s->to, s->host)) {
		fail(s, ECONNRESET);
		return;
	}
	s->orphan_retry = s->orphan_retry ? s->orphan_retry * 2 : retry_first;
	if (s->orphan_retry > sender_gives_up / 2)
		fail(s, ETIMEDOUT);
	else
		sim_set(w, &s->orphan, w->now + s->orphan_retry);
}

int sim_net_shutdown(struct sim_sock *s)
{
	if (s->state != SIM_CONNECTED || s->end_written)
		return -ENOTCONN;
	s->end_written = true;
	if (s->peer)
		send_to(s->peer, SIM_FIN, NULL, 0);
	return 0;
}

/* The last fd is closed. Unread bytes make it a reset, as everywhere. */
void sim_net_close(struct sim_sock *s)
{
	struct sim_sock *peer = s->peer;
	bool rude = s->rx_len || s->state != SIM_CONNECTED || !s->file;
	int kind = rude && !is_local(s) ? SIM_RST : SIM_FIN;

	if (peer) {
		peer->peer = s->peer = NULL;
		/* Without power nothing is said: sim_net_lose_all has cut the two apart before. */
		if (kind == SIM_RST || !s->end_written)
			send_to(peer, kind, NULL, 0);
		else
			changed(peer);
	}
	sock_free(s);
}

void sim_net_lose_all(struct sim_host *host)
{
	struct sim_world *w = host->world;

	for (uint32_t i = 0; i < w->hosts.len; i++) {
		for (struct sim_sock *s = w->hosts.at[i]->socks; s; s = s->next) {
			if (s->host == host || s->to != host)
				continue;
			forget_segments(s);
			if (s->peer)
				s->peer->peer = NULL;
			s->peer = NULL;
			if (s->state == SIM_CONNECTING)
				try_again(s);
		}
	}
	for (struct sim_sock *s = host->socks, *next; s; s = next) {
		next = s->next;
		if (s->to != host && !s->file)
			sock_free(s);   /* waits to be accepted */
	}
}

void sim_reset_all(struct sim_host *host)
{
	for (struct sim_sock *s = host->socks; s; s = s->next)
		if (!is_local(s) && s->state == SIM_CONNECTED)
			reset(s);
}
