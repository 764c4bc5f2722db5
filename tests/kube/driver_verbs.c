#include "base/units.h"
#include "driver.h"
#include "driver_clock.h"
#include "api/core.h"
#include "io/log_stderr.h"
#include <stdio.h>
#include <stdlib.h>

void driver_log(struct fl_log *log, struct fl_io *io)
{
	struct fl_log_to to = fl_log_to_stderr(io);

	fl_log_init(log, &to, "driver");
}

/* ---- follow ---- */

static struct driver *follower;
static uint64_t counted;

static const struct fl_meta *meta_of(const void *object)
{
	/* Names and version come first in every root, at the same place behind the faults. */
	return &((const struct fl_config_map *)object)->meta;
}

static void f_begin(void *to)
{
	(void)to;
	say("begin");
}

static int f_put(void *to, const void *object, struct fl_err *err)
{
	const char *kind = driver_flag(to, "kind");
	struct fl_str space, name, version, uid;

	(void)err;
	counted++;
	if (driver_flag(to, "quiet"))
		return 0;
	if (driver_kind(kind) == &fl_pod_kind) {
		const struct fl_pod *pod = object;

		space = pod->meta.space, name = pod->meta.name, version = pod->meta.resource_version,
		uid = pod->meta.uid;
	} else if (driver_kind(kind) == &fl_node_kind) {
		const struct fl_node *node = object;

		space = node->meta.space, name = node->meta.name, version = node->meta.resource_version,
		uid = node->meta.uid;
	} else {
		const struct fl_meta *meta = meta_of(object);

		space = meta->space, name = meta->name, version = meta->resource_version, uid = meta->uid;
	}
	say("put %.*s/%.*s %.*s %.*s", FL_ARG(space), FL_ARG(name), FL_ARG(version), FL_ARG(uid));
	return 0;
}

static void f_gone(void *to, struct fl_str space, struct fl_str name)
{
	(void)to;
	say("gone %.*s/%.*s", FL_ARG(space), FL_ARG(name));
}

static void f_synced(void *to)
{
	struct driver *driver = to;
	struct fl_watch_info info = fl_watch_info(driver->watch);
	const struct fl_turns *turns = fl_io_turns(driver->io);

	say("synced %.*s %llu longest_us=%llu call_us=%llu %s", FL_ARG(info.version), (unsigned long long)counted,
	    (unsigned long long)(turns->longest / 1000), (unsigned long long)(turns->longest_call / 1000),
	    turns->longest_name ? turns->longest_name : "");
	fl_io_turns_reset(driver->io);
	counted = 0;
}

static void f_absent(void *to)
{
	(void)to;
	say("absent");
}

static struct fl_timer state_timer;
static char last_version[32];
static enum fl_watch_state last_state = FL_WATCH_STATE_COUNT_;

/* Told when it changes; looked at often enough for a test. */
static void tell_state(struct fl_timer *timer)
{
	struct fl_watch_info info = fl_watch_info(follower->watch);

	if (driver_flag(follower, "versions") && !fl_str_eq(info.version, fl_str(last_version))) {
		say("version %.*s", FL_ARG(info.version));
		(void)snprintf(last_version, sizeof last_version, "%.*s", FL_ARG(info.version));
	}
	if (info.state != last_state)
		say("state %s resumes=%llu full=%llu %s", fl_name(&fl_watch_state_names, (int)info.state),
		    (unsigned long long)info.resumes, (unsigned long long)info.full_states, info.err ?
				info.err->text : "");
	last_state = info.state;
	fl_timer_set(follower->io, timer, fl_now(follower->io) + 20 * FL_NS_PER_MS);
}

int follow_verb(struct driver *driver)
{
	static const struct fl_watch_to to = { f_begin, f_put, f_gone, f_synced, f_absent };
	const char *timeout = driver_flag(driver, "timeout"), *quiet_ms = driver_flag(driver, "stale");
	struct fl_err err = { 0 };

	driver->watch = fl_watch_new(driver->kube,
				     &(struct fl_watch_options){
					     .kind = driver_kind(driver_flag(driver, "kind")),
							.space = driver_flag(driver, "space"),
					     .labels = driver_flag(driver, "labels"), .fields = driver_flag(driver,
							"fields"),
					     .to = &to, .arg = driver, .log = driver->log,
					     .timeout_s = timeout ? (uint32_t)strtoul(timeout, NULL, 10) : 0,
					     .quiet = quiet_ms ? strtoull(quiet_ms, NULL, 10) * FL_NS_PER_MS : 0,
					     .no_stream = driver_flag(driver, "list"),
				     },
				     &err);
	if (!driver->watch)
		return -1;
	follower = driver;
	state_timer = (struct fl_timer){ .fire = tell_state };
	fl_timer_set(driver->io, &state_timer, fl_now(driver->io));
	return 0;
}

/* ---- lead ---- */

static struct fl_kube_call fenced;
static struct fl_err fenced_err;
static struct fl_timer write_timer;
static char fenced_body[200];
static unsigned long fenced_count;
static struct driver *leader;
static struct fl_op stopping;

static void wrote(struct fl_op *op)
{
	if (op->result < 0)
		say("write failed %s %s", fl_name(&fl_code_names, (int)-op->result), fenced_err.text);
}

static bool may(void *elector)
{
	return fl_lease_held(elector);
}

/* A write each 100 ms, whether we lead or not: the fence is what holds it. */
static void write_now(struct fl_timer *timer)
{
	const char *id = driver_flag(leader, "id");

	fl_timer_set(leader->io, timer, fl_now(leader->io) + 100 * FL_NS_PER_MS);
	if (fl_op_busy(&fenced.op))
		return;
	(void)snprintf(fenced_body, sizeof fenced_body, "{\"data\":{\"by\":\"%s\",\"term\":\"%d\",\"n\":\"%lu\"}}", id,
		       fl_lease_term(leader->elector), ++fenced_count);
	fenced = (struct fl_kube_call){ .op = { .done = wrote, .err = &fenced_err,
						.deadline = fl_now(leader->io) + 5 * FL_NS_PER_S },
					.verb = FL_KUBE_MERGE, .kind = &fl_config_map_kind, .space = FL_S("default"),
					.name = fl_str(driver_flag(leader, "fence")), .body = fl_str(fenced_body),
					.may_send = may, .may_arg = leader->elector };
	if (fl_lease_held(leader->elector))
		fl_kube_start(leader->kube, &fenced);
}

static void leads(void *arg, bool is)
{
	(void)arg;
	say("leads %d term=%d", is, leader->elector ? fl_lease_term(leader->elector) : -1);
}

static void leader_is(void *arg, struct fl_str identity)
{
	(void)arg;
	say("leader %.*s", FL_ARG(identity));
}

static void stopped(struct fl_op *op)
{
	say("stopped %lld", (long long)op->result);
	fl_io_stop(leader->io);
}

static uint64_t ms(struct driver *driver, const char *name)
{
	const char *text = driver_flag(driver, name);

	return text ? strtoull(text, NULL, 10) * FL_NS_PER_MS : 0;
}

int lead_verb(struct driver *driver)
{
	struct fl_err err = { 0 };

	leader = driver;
	driver->elector = fl_elector_new(driver->kube,
					 &(struct fl_lease_options){
						 .space = "default", .name = driver_flag(driver, "name"),
						 .identity = driver_flag(driver, "id"), .leads = leads,
								.leader = leader_is,
						 .log = driver->log,
						 .times = { ms(driver, "duration"), ms(driver, "giveup"), ms(driver,
								"retry") },
					 },
					 &err);
	if (!driver->elector)
		return -1;
	write_timer = (struct fl_timer){ .fire = write_now };
	if (driver_flag(driver, "write"))
		fl_timer_set(driver->io, &write_timer, fl_now(driver->io) + 100 * FL_NS_PER_MS);
	return 0;
}

/* ---- event ---- */

static void say_event(struct driver *driver)
{
	const char *kind = driver_flag(driver, "kind");
	struct fl_event_say what = {
		.kind = driver_kind(kind), .space = fl_str(driver_flag(driver, "space")),
				.name = fl_str(driver_flag(driver, "name")),
		.uid = fl_str(driver_flag(driver, "uid")), .warning = driver_flag(driver, "warning"),
		.reason = driver_flag(driver, "reason"), .action = "Test",
	};

	fl_event(driver->events, &what, "%s", driver_flag(driver, "note"));
	say("said %u %llu", fl_events_waiting(driver->events), (unsigned long long)fl_events_dropped(driver->events));
}

int event_verb(struct driver *driver)
{
	struct fl_err err = { 0 };

	driver->events = fl_events_new(driver->kube,
				       &(struct fl_events_options){ .controller = "fairlead.dev/driver",
						.instance = "driver-0",
								    .log = driver->log },
				       &err);
	if (!driver->events)
		return -1;
	say_event(driver);
	return 0;
}

/* ---- repeat ---- */

static struct fl_kube_call again;
static struct fl_err again_err;
static struct driver *repeater;
static char again_body[300];
static unsigned long again_count;
static struct fl_timer again_timer;

static void start_again(struct fl_timer *timer);

static uint64_t repeat_timeout(void)
{
	const char *seconds = driver_flag(repeater, "timeout");

	return (seconds ? strtoull(seconds, NULL, 10) : 10) * FL_NS_PER_S;
}

static void again_done(struct fl_op *op)
{
	if (op->result < 0)
		say("failed %s %s", fl_name(&fl_code_names, (int)-op->result), again_err.text);
	else
		say("done %lu", again_count);
	fl_timer_set(repeater->io, &again_timer, fl_now(repeater->io) + ms(repeater, "every"));
}

static void start_again(struct fl_timer *timer)
{
	(void)timer;
	(void)snprintf(again_body, sizeof again_body,
		       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},\"data\":{"
		       "\"n\":\"%lu\"}}",
		       driver_flag(repeater, "name"), ++again_count);
	again = (struct fl_kube_call){ .op = { .done = again_done, .err = &again_err,
					       .deadline = fl_now(repeater->io) + repeat_timeout() },
				       .verb = FL_KUBE_APPLY, .kind = &fl_config_map_kind, .space = FL_S("default"),
				       .name = fl_str(driver_flag(repeater, "name")), .body = fl_str(again_body),
				       .manager = "driver", .force = true };
	fl_kube_start(repeater->kube, &again);
}

int repeat_verb(struct driver *driver)
{
	repeater = driver;
	again_timer = (struct fl_timer){ .fire = start_again };
	start_again(NULL);
	return 0;
}

/* ---- told ---- */

void driver_told(struct driver *driver, const char *line)
{
	/* Several lines may come at once. */
	for (const char *at = line; driver->events && (at = strstr(at, "event")); at++)
		say_event(driver);
	if (strncmp(line, "step ", 5) == 0)
		say("stepped %lld", (long long)driver_clock_step(driver->io, line + 5));
	if (strncmp(line, "explain ", 8) == 0 && driver->loop) {
		char name[FL_EVENT_WORD];

		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
		loop_explain(driver, name);
	}
	if (strncmp(line, "poke", 4) == 0 && driver->watch)
		fl_watch_poke(driver->watch);
	if (strncmp(line, "stop", 4) == 0 && driver->elector) {
		stopping = (struct fl_op){ .done = stopped, .deadline = fl_now(driver->io) + 5 * FL_NS_PER_S };
		fl_elector_stop(driver->elector, &stopping);
	}
}

void driver_end(struct driver *driver)
{
	if (driver->watch)
		fl_timer_stop(driver->io, &state_timer);
	fl_timer_stop(driver->io, &write_timer);
	fl_timer_stop(driver->io, &again_timer);
	fl_op_cancel(&fenced.op);
	fl_op_cancel(&again.op);
	if (driver->loop)
		loop_end(driver);
	fl_watch_free(driver->watch);
	fl_elector_free(driver->elector);
	fl_events_free(driver->events);
}
