/* MIG in a simulated world: an agent that is killed at any point, a power that goes, a driver that refuses, lies and is
 * busy, and a kubelet that gives devices away meanwhile. What is held never changes, nothing is made twice, and in the
 * end every GPU is as it should be. */
#include "base/units.h"
#include "mig_models.h"
#include "node/decide.h"
#include "node/gpu/in.h"
#include "node/gpu/mig.h"
#include "node/kubelet/holders.h"
#include "run/memory.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

enum { GPUS = 2, PODS = 4, SEEDS = 500 };

#define TROUBLE (20 * FL_NS_PER_S)           /* faults, crashes, Pods and other wishes until then */
#define PATIENCE (5 * 3600 * FL_NS_PER_S)    /* failed changes are tried again after up to an hour */

struct instance {
	const struct fl_mig_offer *offer;
	int32_t start, size, computes[FL_MIG_COMPUTES_MAX];
	uint32_t len;                            /* of computes: 0 while it is half made */
	int gi;
};

struct gpu {
	bool mode;
	struct instance at[FL_MIG_INSTANCES_MAX];
	uint32_t len;
};

struct pod {
	char device[24];                         /* empty: there is none */
	uint64_t listed_at, ends_at;
};

/* What outlives the agent. */
struct model {
	struct sim_world *world;
	struct fl_arena arena;
	struct fl_mig_offer *offers;
	uint32_t offer_len;
	struct gpu gpus[GPUS];
	struct pod pods[PODS];
	const char *wish;
	int boots, lives, gis, steps, refused, given;
	bool quiet;                              /* no more trouble */
	bool idle;                               /* the agent has nothing to do */
	char wrong[200];
};

struct life {
	struct model *model;
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_journal_open open;
	struct fl_journal *journal;
	struct fl_records *layouts;
	struct fl_gpu gpu, *gpu_at;              /* what gives orders to a child */
	struct fl_timer tick, list;
	uint64_t given_at, settles_at;
	char offered[GPUS * 8 + GPUS][24];       /* devices that Allocate gives away now */
	uint32_t offered_len;
	int half;                                /* of the order that is being done */
	bool due;
	struct fl_err err;
};

static bool chance(struct model *m, unsigned percent)
{
	return !m->quiet && sim_random(m->world) % 100 < percent;
}

static void FL_PRINTF(2, 3) broken(struct model *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!m->wrong[0])
		(void)vsnprintf(m->wrong, sizeof m->wrong, fmt, args);
	va_end(args);
}

/* ---- devices ---- */

static void name_device(char device[static 24], int gpu, const struct instance *instance)
{
	if (instance)
		(void)snprintf(device, 24, "MIG-%d-%d", gpu, instance->gi);
	else
		(void)snprintf(device, 24, "GPU-%d", gpu);
}

static const struct pod *holder_of(const struct model *m, int gpu, const struct instance *instance)
{
	char device[24];

	name_device(device, gpu, instance);
	for (int i = 0; i < PODS; i++)
		if (strcmp(m->pods[i].device, device) == 0)
			return &m->pods[i];
	return NULL;
}

/* ---- the driver: an order's text, as a child gets it ---- */

static struct instance *find(struct gpu *gpu, struct fl_str profile, int64_t start)
{
	for (uint32_t i = 0; i < gpu->len; i++)
		if (gpu->at[i].start == start && fl_str_eq(gpu->at[i].offer->name, profile))
			return &gpu->at[i];
	return NULL;
}

static void do_create(struct model *m, struct gpu *gpu, const struct instance *new)
{
	for (uint32_t i = 0; i < gpu->len; i++)
		if (gpu->at[i].start < new->start + new->size &&new->start < gpu->at[i].start + gpu->at[i].size)
			broken(m, "%.*s at %d is made over %.*s at %d", FL_ARG(new->offer->name), (int)new->start,
			       FL_ARG(gpu->at[i].offer->name), (int)gpu->at[i].start);
	if (!gpu->mode)
		broken(m, "an instance is made without MIG mode");
	if (gpu->len == FL_MIG_INSTANCES_MAX) {
		broken(m, "too many instances");
		return;
	}
	gpu->at[gpu->len] = *new;
	gpu->at[gpu->len].len = 0;
	gpu->at[gpu->len++].gi = ++m->gis;
}

/* The first half makes what the second completes. */
static void create(struct model *m, struct gpu *gpu, struct fl_str text, bool first)
{
	struct fl_str profile, start, one;
	struct instance new = { 0 }, *half;
	int64_t number = 0;

	(void)fl_str_split(&text, '@', &profile);
	(void)fl_str_split(&text, '=', &start);
	(void)fl_str_i64(start, &number);
	new.offer = fl_mig_offered(m->offers, m->offer_len, profile);
	if (!new.offer) {
		broken(m, "no profile %.*s", FL_ARG(profile));
		return;
	}
	new.start = (int32_t)number;
	new.size = new.offer->places.at[0].size;
	if (first) {
		do_create(m, gpu, &new);
		return;
	}
	half = find(gpu, profile, number);
	while (half && fl_str_split(&text, ',', &one) && fl_str_i64(one, &number))
		half->computes[half->len++] = (int32_t)number;
}

static void destroy(struct model *m, int number, struct fl_str text, bool first)
{
	struct gpu *gpu = &m->gpus[number];
	struct fl_str word, profile;
	struct instance *old;
	int64_t start = 0;

	(void)fl_str_split(&text, ' ', &word);
	(void)fl_str_split(&word, '@', &profile);
	(void)fl_str_i64(word, &start);
	old = find(gpu, profile, start);
	if (!old)
		return;
	if (holder_of(m, number, old) || holder_of(m, number, NULL))
		broken(m, "%.*s at %d is destroyed while a Pod has it", FL_ARG(profile), (int)start);
	old->len = 0;
	if (!first)
		*old = gpu->at[--gpu->len];
}

static void set_mode(struct model *m, int number, bool on)
{
	if (holder_of(m, number, NULL))
		broken(m, "the mode of GPU %d changes while a Pod has it", number);
	if (m->gpus[number].len)
		broken(m, "the mode of GPU %d changes while it has instances", number);
	m->gpus[number].mode = on;
}

/* True: there is a second half. */
static bool perform(struct model *m, struct fl_str text, bool first)
{
	struct fl_str address, word;
	int number;

	(void)fl_str_split(&text, ' ', &address);
	(void)fl_str_split(&text, ' ', &word);
	number = address.p[6] - '0';
	if (fl_str_eq(word, FL_S("mode")))
		set_mode(m, number, fl_str_eq(text, FL_S("1")));
	else if (fl_str_eq(word, FL_S("create")))
		create(m, &m->gpus[number], text, first);
	else
		destroy(m, number, text, first);
	return first && !fl_str_eq(word, FL_S("mode"));
}

/* ---- what the agent is told ---- */

static int add_instance(struct fl_card *card, int gpu, const struct instance *instance, struct fl_arena *arena)
{
	struct fl_mig_instance *to = &card->instances.at[card->instances.len++];
	struct fl_partition *part = &card->partitions.at[card->partitions.len];
	char device[24];

	FL_SET(to, profile, instance->offer->name);
	FL_SET(to, start, instance->start);
	FL_SET(to, gi, instance->gi);
	if (!FL_ELEMENTS(to, arena, computes, instance->len))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < instance->len; i++)
		to->computes.at[i] = instance->computes[i];
	if (!instance->len)
		return 0;
	name_device(device, gpu, instance);
	FL_SET(part, uuid, fl_arena_str(arena, fl_str(device)));
	FL_SET(part, gi, instance->gi);
	FL_SET(part, profile, instance->offer->name);
	card->partitions.len++;
	return 0;
}

static int tell_card(struct life *life, int number)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct gpu *gpu = &life->model->gpus[number];
	struct fl_card card = { .offers = { life->model->offers, life->model->offer_len }, .has.offers = 1 };

	FL_SET(FL_IN(&card, meta), name, fl_arena_printf(&arena, "0000:0%d:00.0", number));
	FL_SET(&card, answer, FL_CARD_ANSWERS);
	FL_SET(&card, uuid, fl_arena_printf(&arena, "GPU-%d", number));
	FL_SET(&card, mig_capable, true);
	FL_SET(&card, mig, gpu->mode);
	FL_SET(&card, mig_pending, gpu->mode);
	if (!FL_ELEMENTS(&card, &arena, partitions, gpu->len) || !FL_ELEMENTS(&card, &arena, instances, gpu->len))
		return -FL_E_NOMEM;
	card.partitions.len = card.instances.len = 0;
	for (uint32_t i = 0; i < gpu->len; i++)
		if (add_instance(&card, number, &gpu->at[i], &arena) < 0)
			return -FL_E_NOMEM;
	return fl_feed_put(fl_loop_feed(life->loop, &fl_card_kind), &card, NULL);
}

static int tell_settings(struct life *life)
{
	struct fl_settings settings = { .mig_manager = true, .mig_config = fl_str(life->model->wish) };
	char boot[8];

	(void)snprintf(boot, sizeof boot, "%d", life->model->boots);
	FL_SET(FL_IN(&settings, meta), name, FL_S("settings"));
	settings.has.mig_manager = settings.has.mig_config = 1;
	FL_SET(&settings, boot, fl_str(boot));
	FL_SET(&settings, started, (int64_t)life->model->lives);
	return fl_feed_put(fl_loop_feed(life->loop, &fl_settings_kind), &settings, NULL);
}

static int tell_active(struct life *life, bool due)
{
	struct fl_active active = { 0 };

	life->due = due;
	FL_SET(FL_IN(&active, meta), name, FL_S("active"));
	FL_SET(&active, settled, true);
	FL_SET(&active, due, due);
	return fl_feed_put(fl_loop_feed(life->loop, &fl_active_kind), &active, NULL);
}

/* PodResources: whoever the kubelet has in its list by now. */
static void list(struct fl_timer *timer)
{
	struct life *life = fl_container(timer, struct life, list);
	struct fl_feed *feed = fl_loop_feed(life->loop, &fl_holder_kind);
	uint64_t now = fl_now(life->io);
	int r = 0;

	fl_feed_begin(feed);
	for (int i = 0; i < PODS; i++) {
		const struct pod *pod = &life->model->pods[i];
		struct fl_str device = fl_str(pod->device);
		struct fl_holder holder = { .devices = { &device, 1 }, .has.devices = 1 };
		char name[24];

		if (!pod->device[0] || pod->listed_at > sim_now(life->model->world))
			continue;
		(void)snprintf(name, sizeof name, "t/p%d/c/r", i);
		FL_SET(FL_IN(&holder, meta), name, fl_str(name));
		FL_SET(&holder, resource, FL_S("r"));
		FL_SET(&holder, pod_space, FL_S("t"));
		FL_SET(&holder, pod, FL_S("p"));
		FL_SET(&holder, container, FL_S("c"));
		r |= fl_feed_put(feed, &holder, NULL);
	}
	fl_feed_synced(feed);
	r |= tell_active(life, now < life->settles_at);
	fl_timer_set(life->io, timer, life->due ? life->settles_at : now + FL_NS_PER_S / 2);
	if (r)
		broken(life->model, "no memory");
}

/* ---- the device plugin ---- */

static bool leaves(const struct fl_layout *layout, const char *device)
{
	return layout && fl_str_in(layout->leaving.at, layout->leaving.len, fl_str(device));
}

static void offer(char now[][24], uint32_t *len, const char *device, struct fl_unit *units)
{
	(void)snprintf(now[*len], 24, "%s", device);
	FL_SET(&units[*len], id, fl_str(now[*len]));
	FL_SET(&units[*len], healthy, true);
	++*len;
}

static uint32_t offers_now(struct life *life, char now[][24], struct fl_unit *units)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(life->loop, &arena);
	uint32_t len = 0;

	for (int g = 0; g < GPUS; g++) {
		const struct gpu *gpu = &life->model->gpus[g];
		char name[24], device[24];
		const struct fl_layout *layout;

		(void)snprintf(name, sizeof name, "0000:0%d:00.0", g);
		layout = fl_view_get(&view, &fl_layout_kind, FL_S(""), fl_str(name));
		name_device(device, g, NULL);
		if (!gpu->mode && !leaves(layout, device) && !(layout && layout->mode))
			offer(now, &len, device, units);
		for (uint32_t i = 0; gpu->mode && i < gpu->len; i++) {
			name_device(device, g, &gpu->at[i]);
			if (gpu->at[i].len && !leaves(layout, device))
				offer(now, &len, device, units);
		}
	}
	return len;
}

static bool is_in(char list_[][24], uint32_t len, const char *device)
{
	for (uint32_t i = 0; i < len; i++)
		if (strcmp(list_[i], device) == 0)
			return true;
	return false;
}

/* As plugin.c does: who could be given away and no longer can, is withdrawn. */
static void serve(struct life *life)
{
	char now[FL_LEN(life->offered)][24];
	struct fl_unit units[FL_LEN(now)] = { 0 };
	struct fl_resource resource = { .has.units = 1 };
	uint32_t len = offers_now(life, now, units);
	bool lost = false;

	for (uint32_t i = 0; i < life->offered_len; i++)
		lost |= !is_in(now, len, life->offered[i]);
	if (!lost && len == life->offered_len)
		return;
	if (lost) {
		uint64_t settles = life->given_at ? life->given_at + FL_HOLDERS_SETTLE : 0;

		settles = settles > fl_now(life->io) ? settles : fl_now(life->io);
		life->settles_at = settles > life->settles_at ? settles : life->settles_at;
		(void)tell_active(life, true);
		fl_timer_set(life->io, &life->list, life->settles_at);
	}
	memcpy(life->offered, now, sizeof now);
	life->offered_len = len;
	FL_SET(FL_IN(&resource, meta), name, FL_S("r"));
	resource.units.at = units;
	resource.units.len = len;
	if (fl_feed_put(fl_loop_feed(life->loop, &fl_resource_kind), &resource, NULL) < 0)
		broken(life->model, "no memory");
}

/* ---- the kubelet ---- */

static void end_pods(struct model *m)
{
	for (int i = 0; i < PODS; i++)
		if (m->quiet || m->pods[i].ends_at <= sim_now(m->world))
			m->pods[i].device[0] = '\0';
}

static bool is_given(const struct model *m, const char *device)
{
	for (int i = 0; i < PODS; i++)
		if (strcmp(m->pods[i].device, device) == 0)
			return true;
	return false;
}

static void give(struct life *life)
{
	struct model *m = life->model;
	struct pod *pod = &m->pods[sim_random(m->world) % PODS];
	const char *device = life->offered_len ? life->offered[sim_random(m->world) % life->offered_len] : "";

	if (pod->device[0] || !device[0] || is_given(m, device))
		return;
	(void)snprintf(pod->device, sizeof pod->device, "%s", device);
	pod->listed_at = sim_now(m->world) + sim_random(m->world) % (FL_HOLDERS_SETTLE * 9 / 10);
	pod->ends_at = sim_now(m->world) + sim_random(m->world) % (3 * FL_NS_PER_S);
	life->given_at = fl_now(life->io);
	m->given++;
}

static const char *const wishes[] = { "all-disabled", "all-enabled", "all-balanced", "all-1g.10gb", "all-2g.20gb",
				      "all-3g.40gb", "all-7g.80gb" };

static void tick(struct fl_timer *timer)
{
	struct life *life = fl_container(timer, struct life, tick);
	struct model *m = life->model;

	end_pods(m);
	serve(life);
	if (chance(m, 3))
		give(life);
	if (chance(m, 1)) {
		m->wish = wishes[sim_random(m->world) % FL_LEN(wishes)];
		if (tell_settings(life) < 0)
			broken(m, "no memory");
	}
	m->idle = fl_loop_idle(life->loop) && !life->gpu.orders;
	fl_timer_set(life->io, timer, fl_now(life->io) + (m->quiet ? FL_NS_PER_S : 5 * FL_NS_PER_MS));
}

/* ---- the child that takes orders ---- */

static void answer(struct life *life, enum fl_code code, const char *why)
{
	struct fl_err err = { 0 };
	const struct fl_gpu_order *order = life->gpu.orders;

	life->half = 0;
	if (code)
		(void)fl_fail(&err, code, "%s", why);
	life->model->refused += code != FL_OK;
	if (tell_card(life, order->address[6] - '0') < 0)
		broken(life->model, "no memory");
	serve(life);
	gpu_order_answered(&life->gpu, -(int)code, &err);
	if (life->gpu.orders)
		gpu_wake(&life->gpu);
}

static void work(struct fl_timer *timer)
{
	struct life *life = fl_container(timer, struct life, gpu.work);
	struct model *m = life->model;
	struct fl_gpu_order *order = life->gpu.orders;

	if (!order)
		return;
	if (!order->asked) {
		order->asked = true;
		life->half = 0;
		fl_timer_set(life->io, timer, fl_now(life->io) + sim_random(m->world) % (20 * FL_NS_PER_MS));
		return;
	}
	if (order->ask == FL_GPU_ASK_CARD) {
		answer(life, FL_OK, "");
	} else if (!life->half && chance(m, 5)) {
		answer(life, FL_E_AGAIN, "a process uses it");
	} else if (chance(m, 5)) {   /* perhaps halfway */
		answer(life, FL_E_IO, "insufficient resources");
	} else if (!life->half && chance(m, 3)) {
		answer(life, FL_OK, "");   /* success, it says */
	} else if (perform(m, fl_str(order->text), !life->half)) {
		life->half = 1;
		fl_timer_set(life->io, timer, fl_now(life->io) + sim_random(m->world) % (5 * FL_NS_PER_MS));
	} else {
		m->steps++;
		answer(life, FL_OK, "");
	}
}

/* ---- a life of the agent ---- */

static void life_gone(void *life_)
{
	struct life *life = life_;

	fl_timer_stop(life->io, &life->tick);
	fl_timer_stop(life->io, &life->list);
	fl_timer_stop(life->io, &life->gpu.work);
	fl_op_cancel(&life->open.op);
	fl_records_free(life->layouts);
	fl_loop_free(life->loop);
	fl_journal_close(life->journal);
	fl_free(life);
}

static int sources(struct life *life)
{
	static const struct fl_kind *const kinds[] = {
		&fl_settings_kind, &fl_driver_kind, &fl_card_kind,     &fl_holder_kind,	  &fl_active_kind,
		&fl_resource_kind, &fl_mps_kind,    &fl_mig_file_kind, &fl_own_node_kind, &fl_health_kind,
		&fl_mig_state_kind,
	};
	struct fl_source source = { .kind = &fl_layout_kind, .sink = &fl_records_sink, .sink_arg = &life->layouts };
	int r;

	life->loop = fl_loop_new(life->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &life->err);
	r = life->loop ? fl_loop_source(life->loop, &source, &life->err) : -FL_E_NOMEM;
	source.sink = &fl_memory_sink;
	source.sink_arg = life->io;
	for (uint32_t i = 0; r == 0 && i < FL_LEN(kinds); i++) {
		source.kind = kinds[i];
		r = fl_loop_source(life->loop, &source, &life->err);
	}
	return r == 0 ? fl_loop_capability(life->loop, &fl_node_mig, &life->err) : r;
}

static int tell_all(struct life *life)
{
	static const struct fl_kind *const kinds[] = { &fl_settings_kind, &fl_driver_kind,   &fl_card_kind,
						       &fl_active_kind,	  &fl_resource_kind, &fl_mps_kind,
						       &fl_mig_file_kind, &fl_health_kind,   &fl_mig_state_kind };
	struct fl_driver driver = { 0 };
	int r;

	for (uint32_t i = 0; i < FL_LEN(kinds); i++)
		fl_feed_begin(fl_loop_feed(life->loop, kinds[i]));
	FL_SET(FL_IN(&driver, meta), name, FL_S("driver"));
	FL_SET(&driver, state, FL_DRIVER_READY);
	r = fl_feed_put(fl_loop_feed(life->loop, &fl_driver_kind), &driver, NULL);
	for (int g = 0; r == 0 && g < GPUS; g++)
		r = tell_card(life, g);
	if (r == 0)
		r = tell_settings(life);
	list(&life->list);
	for (uint32_t i = 0; i < FL_LEN(kinds); i++)
		fl_feed_synced(fl_loop_feed(life->loop, kinds[i]));
	fl_feed_absent(fl_loop_feed(life->loop, &fl_own_node_kind));
	return r;
}

static void opened(struct fl_op *op)
{
	struct life *life = fl_container(op, struct life, open.op);
	struct fl_records_options records = { .kind = &fl_layout_kind, .act = fl_gpu_mig_act, .arg = &life->gpu_at };

	life->journal = life->open.journal;
	records.journal = life->journal;
	if (op->result < 0 || sources(life) < 0) {
		broken(life->model, "the agent does not start: %.150s", life->err.text);
		return;
	}
	life->layouts = fl_records_new(life->io, life->loop, &records, &life->err);
	life->settles_at = fl_now(life->io) + FL_HOLDERS_SETTLE;
	if (!life->layouts || tell_all(life) < 0)
		broken(life->model, "no memory");
	tick(&life->tick);
}

static int life_main(struct sim_process *process)
{
	struct life *life = fl_zalloc(sizeof *life);

	if (!life)
		return -FL_E_NOMEM;
	life->io = life->gpu.io = sim_io(process);
	life->model = sim_arg(process);
	life->model->lives++;
	life->model->idle = false;
	life->gpu_at = &life->gpu;
	life->gpu.work.fire = work;
	life->tick.fire = tick;
	life->list.fire = list;
	sim_own(process, life, life_gone);
	life->open = (struct fl_journal_open){ .op = { .done = opened, .err = &life->err }, .dir = "/state",
					       .name = "node" };
	fl_journal_open(life->io, &life->open);
	return 0;
}

/* ---- the world ---- */

/* Hopper forgets everything, and no container outlives its node. */
static void power_goes(struct model *m, struct sim_host *host)
{
	sim_crash(host);
	memset(m->gpus, 0, sizeof m->gpus);
	memset(m->pods, 0, sizeof m->pods);
	m->boots++;
	sim_start(host);
}

static uint32_t wanted(const struct model *m)
{
	static const uint32_t counts[FL_LEN(wishes)] = { 0, 0, 4, 7, 3, 2, 1 };

	for (uint32_t i = 0; i < FL_LEN(wishes); i++)
		if (strcmp(m->wish, wishes[i]) == 0)
			return counts[i];
	return 0;
}

static bool is_so(void *model_)
{
	struct model *m = model_;

	for (int g = 0; g < GPUS; g++) {
		if (m->gpus[g].mode == (strcmp(m->wish, "all-disabled") == 0) || m->gpus[g].len != wanted(m))
			return m->wrong[0];
		for (uint32_t i = 0; i < m->gpus[g].len; i++)
			if (!m->gpus[g].at[i].len)
				return m->wrong[0];
	}
	return m->idle || m->wrong[0];
}

static void model_auto_(struct model *m)
{
	fl_arena_free(&m->arena);
}

static void one_world(uint64_t seed, struct model *m)
{
	FL_AUTO(sim_world) struct sim_world *world = sim_world_new(&(struct sim_config){ .seed = seed });
	struct sim_host *host = sim_host_new(world, "node", life_main, m);

	m->world = world;
	m->wish = wishes[sim_random(world) % FL_LEN(wishes)];
	while (sim_now(world) < TROUBLE && !m->wrong[0]) {
		sim_run(world, sim_now(world) + sim_random(world) % (2 * FL_NS_PER_S));
		if (sim_random(world) % 8 == 0) {
			power_goes(m, host);
		} else {
			sim_stop(host);   /* kill -9: what was written is there */
			sim_start(host);
		}
	}
	m->quiet = true;
	CHECK(sim_run_until(world, sim_now(world) + PATIENCE, is_so, m));
	CHECK_STR(fl_str(m->wrong), "");
}

TEST_ONCE(what_is_held_stays_and_what_is_wanted_comes)
{
	int lives = 0, steps = 0, refused = 0, given = 0;

	for (uint64_t seed = 1; seed <= SEEDS && !test_failed(); seed++) {
		FL_AUTO(model) struct model m = { 0 };
		char row[32];

		(void)snprintf(row, sizeof row, "world %d", (int)seed);
		test_row(row);
		m.offers = mig_offers(mig_model("h100-80gb-hbm3"), &m.arena, &m.offer_len);
		GOT(m.offers);
		one_world(seed, &m);
		lives += m.lives;
		steps += m.steps;
		refused += m.refused;
		given += m.given;
	}
	printf("# %d lives, %d steps, %d refused, %d devices given to Pods\n", lives, steps, refused, given);
	CHECK(steps > 10 * SEEDS && refused > SEEDS && given > SEEDS);
}
