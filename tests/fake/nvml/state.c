#include "fake/nvml/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t fake_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A node's folder stands for the state in it. */
static int open_state(const char *path, int flags)
{
	char inside[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (snprintf(inside, sizeof(inside), "%s/%s", path, FAKE_FILE) >= (int)sizeof(inside)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		path = inside;
	}
	return open(path, flags | O_CLOEXEC, 0666);
}

static struct fake_state *map_fd(int fd)
{
	struct fake_state *state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	/* cppcheck-suppress memleak ; a mapping is no memory of malloc's */
	return (void *)state == MAP_FAILED ? NULL : state;
}

struct fake_state *fake_map(const char *path)
{
	int fd = open_state(path, O_RDWR);
	if (fd < 0)
		return NULL;

	struct stat st;
	struct fake_state *state = NULL;
	if (fstat(fd, &st) == 0) {
		errno = EBADMSG;
		if (st.st_size == sizeof(struct fake_state))
			state = map_fd(fd);
	}
	close(fd);
	if (state && (state->magic != FAKE_MAGIC || state->version != FAKE_VERSION || state->size != sizeof(*state))) {
		munmap(state, sizeof(*state));
		errno = EBADMSG;
		return NULL;
	}
	return state;
}

struct fake_state *fake_make(const char *path)
{
	/* Whoever still has an older one open keeps that, and does not see this one half made. */
	if (unlink(path) < 0 && errno != ENOENT)
		return NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	(void)fchmod(fd, 0666);    /* as /dev/nvidiactl is: everybody may use the driver */
	struct fake_state *state = ftruncate(fd, sizeof(struct fake_state)) == 0 ? map_fd(fd) : NULL;
	close(fd);
	if (!state)
		return NULL;

	if (snprintf(state->path, sizeof(state->path), "%s", path) >= (int)sizeof(state->path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	pthread_mutexattr_t kind;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&state->lock, &kind);
	pthread_mutexattr_destroy(&kind);
	state->version = FAKE_VERSION;
	state->size = sizeof(*state);
	state->calls_n = (uint32_t)fl_nv_symbols_n;
	state->made_ns = fake_now_ns();
	state->driver_epoch = 1;
	state->newest = 3;
	state->magic = FAKE_MAGIC;
	return state;
}

void fake_lock(struct fake_state *state)
{
	if (pthread_mutex_lock(&state->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&state->lock);
}

void fake_unlock(struct fake_state *state)
{
	pthread_mutex_unlock(&state->lock);
}

void fake_ring(struct fake_state *state)
{
	__atomic_add_fetch(&state->bell, 1, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &state->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void fake_wait(struct fake_state *state, uint32_t bell, uint32_t timeout_ms)
{
	struct timespec t = { .tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L };

	(void)syscall(SYS_futex, &state->bell, FUTEX_WAIT, bell, &t, NULL, 0);
}

void fake_tell(struct fake_state *state, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci)
{
	state->events[state->events_n % FAKE_EVENTS] =
		(struct fake_event){ .gpu = gpu, .gi = gi, .ci = ci, .type = type, .data = data };
	state->events_n++;
	fake_ring(state);
}

int fake_use(const char *path)
{
	int fd = open_state(path, O_RDONLY);

	if (fd >= 0 && flock(fd, LOCK_SH) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

bool fake_in_use(const char *path)
{
	int fd = open_state(path, O_RDONLY);
	bool used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return used;
}

int fake_call_no(const char *name)
{
	for (size_t i = 0; i < fl_nv_symbols_n; i++) {
		if (strcmp(fl_nv_symbols[i].member, name) == 0)
			return (int)i;
		for (size_t n = 0; n < FL_NV_NAMES_MAX && fl_nv_symbols[i].names[n]; n++)
			if (strcmp(fl_nv_symbols[i].names[n], name) == 0)
				return (int)i;
	}
	return strcmp(name, "cuda") == 0 ? FAKE_CUDA : -1;
}

void fake_mig_uuid(const struct fake_gpu *gpu, const struct fake_gi *gi, const struct fake_ci *ci, char uuid[48])
{
	uint64_t h[2] = { 0xcbf29ce484222325u, 0x84222325cbf29ce4u };

	for (unsigned k = 0; k < 2; k++) {
		for (const char *p = gpu->uuid; *p; p++)
			h[k] = (h[k] ^ (uint8_t)*p) * 0x100000001b3u;
		h[k] = (h[k] ^ (gi->id + 1)) * 0x100000001b3u;
		h[k] = (h[k] ^ (ci->id + 17)) * 0x100000001b3u;
		h[k] ^= h[k] >> 29;
	}
	snprintf(uuid, 48, "MIG-%08x-%04x-5%03x-%04x-%012llx", (unsigned)(h[0] >> 32), (unsigned)(h[0] >> 16) & 0xffff,
		 (unsigned)h[0] & 0xfff, ((unsigned)(h[1] >> 48) & 0x3fff) | 0x8000,
		 (unsigned long long)h[1] & 0xffffffffffffu);
}
