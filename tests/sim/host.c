#include "sim/sim_in.h"
#include <signal.h>

static const int64_t wall_begins = 1767225600000000000;   /* 2026-01-01, UTC */

struct sim_world *sim_world_new(const struct sim_config *config)
{
	struct sim_world *w = sim_get(sizeof *w);

	w->config = *config;
	w->chance = config->seed;
	if (!w->config.latency_max) {
		w->config.latency_min = 50000;
		w->config.latency_max = 500000;
	}
	return w;
}

static void host_free(struct sim_host *host)
{
	host->up = false;
	while (host->processes.len)
		sim_process_end(host->processes.at[host->processes.len - 1], (struct fl_exit){ .signo = SIGKILL });
	sim_unset(host->world, &host->power_off);
	sim_put(host->processes.at);
}

struct sim_world *sim_world_free(struct sim_world *w)
{
	if (!w)
		return NULL;
	w->config.trace = false;
	for (uint32_t i = 0; i < w->hosts.len; i++)
		host_free(w->hosts.at[i]);
	for (uint32_t i = 0; i < w->hosts.len; i++)
		sim_net_lose_all(w->hosts.at[i]);
	for (uint32_t i = 0; i < w->hosts.len; i++) {
		struct sim_host *host = w->hosts.at[i];

		sim_disk_free(host);
		sim_put(host->cut_to.at);
		sim_put(host->name);
		sim_put(host);
	}
	for (uint32_t i = 0; i < w->programs.len; i++)
		sim_put(w->programs.at[i].path);
	for (uint32_t i = 0; i < w->calls.len; i++)
		sim_put(w->calls.at[i]);
	sim_put(w->calls.at);
	sim_put(w->programs.at);
	sim_put(w->hosts.at);
	sim_put(w->heap.at);
	sim_put(w->trace);
	sim_put(w);
	return NULL;
}

static void power_goes(struct sim_event *event)
{
	sim_crash(fl_container(event, struct sim_host, power_off));
}

struct sim_host *sim_host_new(struct sim_world *w, const char *name, sim_main boot, void *arg)
{
	struct sim_host *host = sim_get(sizeof *host);
	size_t size = strlen(name) + 1;

	host->world = w;
	host->name = memcpy(sim_get(size), name, size);
	host->boot = boot;
	host->arg = arg;
	host->number = w->hosts.len;
	host->power_off.fire = power_goes;
	sim_disk_init(host);
	sim_push(&w->hosts, host);
	sim_start(host);
	return host;
}

void sim_start(struct sim_host *host)
{
	if (host->up)
		return;
	host->up = true;
	host->cut_now = false;
	/* The monotonic clock of a host starts with it: a program that keeps it over a boot is wrong. */
	host->booted = host->world->now;
	host->last_pid = 0;
	sim_tell(host, "boots");
	sim_process_wake(sim_process_new(host, host->boot, 0));
}

static void all_end(struct sim_host *host)
{
	host->up = false;
	for (uint32_t left = host->processes.len; left; left = host->processes.len) {
		struct sim_process *p = host->processes.at[left - 1];

		sim_process_end(p, (struct fl_exit){ .code = -1, .signo = SIGKILL });
		if (host->processes.len == left)
			break;   /* the one whose turn it is ends with its turn */
	}
	sim_unset(host->world, &host->power_off);
}

void sim_crash(struct sim_host *host)
{
	struct sim_world *w = host->world;

	if (!host->up)
		return;
	/* From within a turn of one of its processes: when that is over. */
	for (uint32_t i = 0; i < host->processes.len; i++) {
		if (host->processes.at[i]->in_turn) {
			host->cut_now = true;
			sim_set(w, &host->power_off, w->now);
			return;
		}
	}
	sim_tell(host, "loses power");
	host->faults.cut_after = 0;
	host->up = false;
	sim_net_lose_all(host);
	all_end(host);
	sim_disk_crash(host);
}

void sim_stop(struct sim_host *host)
{
	if (!host->up)
		return;
	sim_tell(host, "stops");
	all_end(host);
	sim_net_lose_all(host);
	sim_disk_sync_all(host);
}

bool sim_is_up(const struct sim_host *host)
{
	return host->up;
}

struct fl_addr sim_addr(const struct sim_host *host, uint16_t port)
{
	return (struct fl_addr){ .kind = FL_ADDR_IP4, .port = port,
				 .ip = { 10, (uint8_t)(host->number >> 16), (uint8_t)(host->number >> 8),
					 (uint8_t)host->number } };
}

struct sim_host *sim_host_at(struct sim_world *w, const struct fl_addr *addr, struct sim_host *self)
{
	uint32_t number = (uint32_t)(addr->ip[1] << 16 | addr->ip[2] << 8 | addr->ip[3]);

	if (fl_addr_local(addr))
		return self;
	if (addr->kind != FL_ADDR_IP4 || addr->ip[0] != 10 || number >= w->hosts.len)
		return NULL;
	return w->hosts.at[number];
}

struct sim_host *sim_host_named(struct sim_world *w, const char *name)
{
	for (uint32_t i = 0; i < w->hosts.len; i++)
		if (strcmp(w->hosts.at[i]->name, name) == 0)
			return w->hosts.at[i];
	return NULL;
}

bool sim_link_up(const struct sim_host *from, const struct sim_host *to)
{
	return to->up && !(to->number < from->cut_to.len && from->cut_to.at[to->number]);
}

void sim_cut_one_way(struct sim_host *from, struct sim_host *to, bool cut)
{
	while (from->cut_to.len <= to->number)
		sim_push(&from->cut_to, false);
	from->cut_to.at[to->number] = cut;
	sim_tell(from, "network to %s %s", to->name, cut ? "is cut" : "is back");
}

void sim_cut(struct sim_host *a, struct sim_host *b, bool cut)
{
	sim_cut_one_way(a, b, cut);
	sim_cut_one_way(b, a, cut);
}

void sim_wall_step(struct sim_host *host, int64_t by)
{
	host->wall_offset += by;
	sim_tell(host, "wall clock steps by %lld", (long long)by);
}

int64_t sim_wall(const struct sim_host *host)
{
	return wall_begins + (int64_t)host->world->now + host->wall_offset;
}

struct sim_faults *sim_faults(struct sim_host *host)
{
	return &host->faults;
}

uint64_t sim_fs_calls(const struct sim_host *host)
{
	return host->disk.calls;
}

void sim_unstick(struct sim_host *host)
{
	host->faults.stuck = false;
	for (uint32_t i = 0; i < host->processes.len; i++)
		for (unsigned lane = 0; lane < FL_LANE_COUNT_; lane++)
			sim_lane_go(&host->processes.at[i]->lanes[lane]);
}
