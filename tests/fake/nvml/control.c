#include "fake/nvml/control.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Each word of the control language is a row of `words` at the end; its function reads what follows it. */

struct say {
	struct fake_state *state;       /* locked */
	FILE *out;
	struct fl_err *err;
	const char *word, *usage;
	char *args[12];
	uint32_t n, at;
	int failed;                     /* the first failure: 0 or negative */
};

/* ---- reading what follows a word ---- */

static bool more(const struct say *s)
{
	return s->at < s->n;
}

static const char *next(struct say *s)
{
	if (more(s))
		return s->args[s->at++];
	if (s->failed == 0)
		s->failed = fl_fail(s->err, FL_E_INVALID, "%s: too little; it is: %s %s", s->word, s->word, s->usage);
	return "";
}

static uint64_t number(struct say *s)
{
	const char *word = next(s);
	uint64_t n = 0;

	if (s->failed == 0 && !fl_str_u64(fl_str(word), &n))
		s->failed = fl_fail(s->err, FL_E_INVALID, "%s: '%s' is no number; it is: %s %s", s->word, word,
				    s->word, s->usage);
	return n;
}

static uint64_t number_or(struct say *s, uint64_t otherwise)
{
	return more(s) ? number(s) : otherwise;
}

/* One of names, which end with NULL; 0 when it is none. */
static uint32_t choice(struct say *s, const char *const names[])
{
	const char *word = next(s);

	for (uint32_t i = 0; names[i]; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	if (s->failed == 0)
		s->failed = fl_fail(s->err, FL_E_INVALID, "%s: '%s'; it is: %s %s", s->word, word, s->word, s->usage);
	return 0;
}

/* A GPU by its number here or its UUID. */
static uint32_t gpu_no(struct say *s)
{
	const char *word = next(s);
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->state->gpus_n; i++)
		if (strcmp(s->state->gpus[i].uuid, word) == 0)
			return i;
	if (s->failed == 0 && (!fl_str_u64(fl_str(word), &n) || n >= s->state->gpus_n))
		s->failed = fl_fail(s->err, FL_E_NOTFOUND, "%s: no GPU '%s'; there are 0 to %u", s->word, word,
				    s->state->gpus_n - 1);
	return s->failed ? 0 : (uint32_t)n;
}

static struct fake_gpu *gpu(struct say *s)
{
	return &s->state->gpus[gpu_no(s)];
}

static int32_t gpu_or_any(struct say *s)
{
	if (!more(s))
		return -1;
	if (strcmp(s->args[s->at], "any") == 0) {
		s->at++;
		return -1;
	}
	return (int32_t)gpu_no(s);
}

static uint32_t code_no(struct say *s)
{
#define NAMED(name, number) { #name, number },
	static const struct {
		const char *name;
		uint32_t number;
	} codes[] = { FL_NV_CODES(NAMED) };
	const char *word = next(s);
	uint64_t n = 0;

	for (uint32_t i = 0; i < FL_LEN(codes); i++)
		if (strcmp(codes[i].name, word) == 0)
			return codes[i].number;
	if (s->failed == 0 && !fl_str_u64(fl_str(word), &n))
		s->failed = fl_fail(s->err, FL_E_INVALID, "%s: '%s' is no code; GPU_IS_LOST is one, and so is 15",
				    s->word, word);
	return (uint32_t)n;
}

static int32_t call_or_any(struct say *s)
{
	const char *word = next(s);

	if (strcmp(word, "any") == 0)
		return -1;
	int no = fake_call_no(word);
	if (s->failed == 0 && no < 0)
		s->failed = fl_fail(s->err, FL_E_NOTFOUND,
				    "%s: no call '%s'; nv_abi.h has their names, cuda is one too", s->word, word);
	return no;
}

/* ---- events and errors ---- */

static void say_xid(struct say *s)
{
	uint32_t no = gpu_no(s);
	uint64_t xid = number(s);
	uint32_t gi = (uint32_t)number_or(s, FL_NV_NO_INSTANCE), ci = (uint32_t)number_or(s, FL_NV_NO_INSTANCE);

	if (s->failed == 0)
		fake_tell(s->state, no, FL_NV_EVENT_XID, xid, gi, ci);
}

static void say_event(struct say *s)
{
	uint32_t no = gpu_no(s);
	uint64_t type = number(s), data = number_or(s, 0);

	if (s->failed == 0)
		fake_tell(s->state, no, type, data, FL_NV_NO_INSTANCE, FL_NV_NO_INSTANCE);
}

static void say_ecc(struct say *s)
{
	static const char *const errors[] = { "corrected", "uncorrected", NULL };
	uint32_t no = gpu_no(s);
	uint32_t error = choice(s, errors);
	uint64_t count = number_or(s, 1);

	if (s->failed)
		return;
	for (uint32_t counter = 0; counter < 2; counter++)
		s->state->gpus[no].ecc[error][counter][FL_NV_DRAM] += count;
	fake_tell(s->state, no, error ? FL_NV_EVENT_DBE : FL_NV_EVENT_SBE, count, FL_NV_NO_INSTANCE, FL_NV_NO_INSTANCE);
}

static void say_remap(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint32_t values[4];

	for (uint32_t i = 0; i < 4; i++)
		values[i] = (uint32_t)number_or(s, 0);
	if (s->failed == 0)
		memcpy(g->remapped, values, sizeof(values));
}

static void say_retire(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint32_t sbe = (uint32_t)number(s), dbe = (uint32_t)number(s), pending = (uint32_t)number_or(s, 0);

	if (s->failed)
		return;
	g->retired[0] = sbe;
	g->retired[1] = dbe;
	g->retired_pending = pending;
}

static void say_recovery(struct say *s)
{
	static const char *const actions[] = { "none", "reset", "reboot", "drain-p2p", "drain-reset", "imex-domain",
		NULL };
	uint32_t no = gpu_no(s), action = choice(s, actions);

	if (s->failed)
		return;
	s->state->gpus[no].recovery = action;
	fake_tell(s->state, no, FL_NV_EVENT_RECOVERY_ACTION, action, FL_NV_NO_INSTANCE, FL_NV_NO_INSTANCE);
}

static void say_fabric(struct say *s)
{
	static const char *const states[] = { "not-supported", "not-started", "in-progress", "completed", NULL };
	struct fake_gpu *g = gpu(s);
	uint32_t state = choice(s, states);
	uint32_t clique = (uint32_t)number_or(s, g->fabric.clique), health = (uint32_t)number_or(s, g->fabric.health);
	uint32_t summary = (uint32_t)number_or(s, g->fabric.summary);
	uint32_t status = more(s) ? code_no(s) : 0;

	if (s->failed)
		return;
	g->fabric.state = (uint8_t)state;
	g->fabric.clique = clique;
	g->fabric.health = health;
	g->fabric.summary = (uint8_t)summary;
	g->fabric.status = (int32_t)status;
}

static void say_link(struct say *s)
{
	static const char *const states[] = { "down", "up", "errors", NULL };
	struct fake_gpu *g = gpu(s);
	uint64_t link = number(s);
	uint32_t state = choice(s, states);
	uint64_t errors = state == 2 ? number(s) : 0;

	if (s->failed == 0 && link >= g->model.links)
		s->failed = fl_fail(s->err, FL_E_NOTFOUND, "link: it has %u", g->model.links);
	if (s->failed)
		return;
	if (state < 2)
		g->links[link].on = state;
	for (uint32_t i = 0; i < FL_LEN(g->links[link].errors); i++)
		g->links[link].errors[i] += errors;
}

/* ---- cards that go, cards that come back ---- */

static void say_lose(struct say *s)
{
	uint32_t no = gpu_no(s);
	uint32_t code = more(s) ? code_no(s) : FL_NV_GPU_IS_LOST;

	if (s->failed)
		return;
	s->state->gpus[no].lost = code;
	if (code == FL_NV_GPU_IS_LOST)
		fake_tell(s->state, no, FL_NV_EVENT_XID, 79, FL_NV_NO_INSTANCE, FL_NV_NO_INSTANCE);
	else
		fake_ring(s->state);
}

static void say_pull(struct say *s)
{
	uint32_t no = gpu_no(s);

	if (s->failed == 0) {
		s->state->gpus[no].gone = 1;
		fake_ring(s->state);
	}
}

static void heal_gpu(struct fake_gpu *g)
{
	g->lost = g->gone = g->recovery = 0;
	memset(g->remapped, 0, sizeof(g->remapped));
	memset(g->ecc[FL_NV_UNCORRECTED], 0, sizeof(g->ecc[FL_NV_UNCORRECTED]));
	g->retired_pending = 0;
	g->temperature = INT32_MIN;
	g->miscomputes = 0;
	for (uint32_t i = 0; i < g->model.links; i++)
		g->links[i].on = g->links[i].built;
	if (g->fabric.summary == FL_NV_FABRIC_UNHEALTHY || g->fabric.summary == FL_NV_FABRIC_LIMITED)
		g->fabric.summary = FL_NV_FABRIC_HEALTHY;
}

/* A fresh one knows of no GPU instance; the mode it knows where the GPU keeps it. */
static void set_driver(struct fake_state *state, uint32_t code)
{
	if (state->driver && code == 0) {
		state->driver_epoch++;
		for (uint32_t i = 0; i < state->gpus_n; i++) {
			struct fake_gpu *g = &state->gpus[i];

			memset(g->gis, 0, sizeof(g->gis));
			if (!g->model.reset_for_mig)
				g->mig = g->mig_pending = 0;
		}
	}
	state->driver = code;
}

static void say_heal(struct say *s)
{
	int32_t no = gpu_or_any(s);

	if (s->failed)
		return;
	for (uint32_t i = 0; i < s->state->gpus_n; i++)
		if (no < 0 || (uint32_t)no == i)
			heal_gpu(&s->state->gpus[i]);
	for (uint32_t i = 0; i < FAKE_FAULTS; i++)
		if (no < 0 || s->state->faults[i].gpu == no)
			s->state->faults[i].used = 0;
	if (no < 0) {
		memset(s->state->missing, 0, sizeof(s->state->missing));
		set_driver(s->state, 0);
	}
	__atomic_add_fetch(&s->state->heals, 1, __ATOMIC_RELEASE);
	fake_ring(s->state);
}

static void say_reset(struct say *s)
{
	struct fake_gpu *g = gpu(s);

	for (uint32_t i = 0; s->failed == 0 && i < FAKE_PROCESSES; i++)
		if (g->processes[i].used)
			s->failed = fl_fail(s->err, FL_E_RETRY, "reset: process %u uses it", g->processes[i].pid);
	if (s->failed == 0 && fake_in_use(s->state->path))
		s->failed = fl_fail(s->err, FL_E_RETRY, "reset: the driver is in use");
	if (s->failed)
		return;
	memset(g->gis, 0, sizeof(g->gis));
	memset(g->ecc[0][FL_NV_VOLATILE], 0, sizeof(g->ecc[0][0]));
	memset(g->ecc[1][FL_NV_VOLATILE], 0, sizeof(g->ecc[1][0]));
	g->mig = g->mig_pending;
	g->remapped[1] += g->remapped[2];
	g->remapped[2] = 0;
	g->lost = g->recovery = 0;
	fake_ring(s->state);
}

/* ---- faults ---- */

static void add_fault(struct say *s, enum fake_fault_kind kind, int32_t call, int32_t no, uint32_t value, int32_t times)
{
	if (s->failed)
		return;
	for (uint32_t i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *f = &s->state->faults[i];
		if (f->used)
			continue;
		*f = (struct fake_fault){ .kind = (uint32_t)kind, .call = call, .gpu = no, .value = value,
			.times = times };
		f->used = 1;
		return;
	}
	s->failed = fl_fail(s->err, FL_E_TOOBIG, "%s: %d faults at once are the most; heal", s->word, FAKE_FAULTS);
}

static void say_fail(struct say *s)
{
	int32_t call = call_or_any(s);
	uint32_t code = code_no(s);
	int32_t no = gpu_or_any(s);

	add_fault(s, FAKE_FAIL, call, no, code, (int32_t)number_or(s, INT32_MAX));
}

static void say_hang(struct say *s)
{
	static const char *const kinds[] = { "plain", "deaf", "frozen", NULL };
	static const enum fake_fault_kind of[] = { FAKE_HANG, FAKE_DEAF, FAKE_FROZEN };
	int32_t call = call_or_any(s), no = gpu_or_any(s);
	uint32_t kind = more(s) ? choice(s, kinds) : 0;

	add_fault(s, of[kind], call, no, 0, (int32_t)number_or(s, INT32_MAX));
}

static void say_crash(struct say *s)
{
	int32_t call = call_or_any(s), no = gpu_or_any(s);

	add_fault(s, FAKE_CRASH, call, no, 0, (int32_t)number_or(s, 1));
}

static void say_delay(struct say *s)
{
	int32_t call = call_or_any(s);
	uint64_t us = number(s);

	add_fault(s, FAKE_DELAY, call, gpu_or_any(s), (uint32_t)us, INT32_MAX);
}

static void say_missing(struct say *s)
{
	int32_t call = call_or_any(s);

	if (s->failed == 0 && call >= 0)
		s->state->missing[call / 64] |= 1ull << (call % 64);
}

/* ---- the driver ---- */

static void say_driver(struct say *s)
{
	static const char *const states[] = { "loaded", "absent", "mismatch", "unload", NULL };
	static const uint32_t codes[] = { 0, FL_NV_DRIVER_NOT_LOADED, FL_NV_LIB_RM_VERSION_MISMATCH,
		FL_NV_DRIVER_NOT_LOADED };
	uint32_t state = choice(s, states);
	const char *version = more(s) ? next(s) : NULL;

	if (s->failed == 0 && state == 3 && fake_in_use(s->state->path))
		s->failed = fl_fail(s->err, FL_E_RETRY, "unload: the driver is in use");
	if (s->failed)
		return;
	set_driver(s->state, codes[state]);
	if (version)
		snprintf(s->state->driver_version, sizeof(s->state->driver_version), "%s", version);
	fake_ring(s->state);
}

static void say_versions(struct say *s)
{
	uint64_t newest = number(s);

	if (s->failed == 0)
		s->state->newest = (uint32_t)newest;
}

static void say_privilege(struct say *s)
{
	static const char *const states[] = { "on", "off", NULL };
	uint32_t off = choice(s, states);

	if (s->failed == 0)
		s->state->no_privilege = off;
}

/* ---- use ---- */

static void say_process(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint32_t pid = (uint32_t)number(s);
	uint64_t mib = number(s);
	uint32_t gi = (uint32_t)number_or(s, FL_NV_NO_INSTANCE), ci = (uint32_t)number_or(s, FL_NV_NO_INSTANCE);

	for (uint32_t i = 0; s->failed == 0 && i < FAKE_PROCESSES; i++) {
		struct fake_process *p = &g->processes[i];
		if (p->used && p->pid != pid)
			continue;
		*p = (struct fake_process){ .pid = pid, .memory = mib << 20, .gi = gi, .ci = ci };
		p->used = mib > 0;
		return;
	}
	if (s->failed == 0)
		s->failed = fl_fail(s->err, FL_E_TOOBIG, "process: %d a GPU are the most", FAKE_PROCESSES);
}

static void say_load(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint64_t load = number(s);

	if (s->failed == 0)
		g->load = load > 100 ? 100 : (uint32_t)load;
}

static void say_temperature(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint64_t celsius = number(s);

	if (s->failed == 0)
		g->temperature = (int32_t)celsius;
}

static void say_miscompute(struct say *s)
{
	struct fake_gpu *g = gpu(s);
	uint64_t count = number(s);

	if (s->failed == 0)
		g->miscomputes = (uint32_t)count;
}

static void say_mig(struct say *s)
{
	static const char *const states[] = { "off", "on", NULL };
	struct fake_gpu *g = gpu(s);
	uint32_t on = choice(s, states);

	if (s->failed == 0 && !g->model.slices)
		s->failed = fl_fail(s->err, FL_E_UNSUPPORTED, "mig: %s has none", g->model.name);
	if (s->failed)
		return;
	g->mig = g->mig_pending = on;
	if (!on)
		memset(g->gis, 0, sizeof(g->gis));
	fake_tell(s->state, (uint32_t)(g - s->state->gpus), FL_NV_EVENT_MIG_CONFIG, on, FL_NV_NO_INSTANCE,
		  FL_NV_NO_INSTANCE);
}

/* ---- looking ---- */

/* As `driver` takes it. */
static const char *driver_word(uint32_t code)
{
	return code == 0 ? "loaded" : code == FL_NV_DRIVER_NOT_LOADED ? "absent" : "mismatch";
}

/* The mode changes at a reset. */
static const char *mig_word(const struct fake_gpu *g)
{
	if (g->mig == g->mig_pending)
		return g->mig ? "on" : "off";
	return g->mig ? "on-until-reset" : "off-until-reset";
}

static void say_show(struct say *s)
{
	char uuid[48];

	fprintf(s->out, "node %s driver %s %s\n", s->state->name, s->state->driver_version,
		driver_word(s->state->driver));
	for (uint32_t i = 0; i < s->state->gpus_n; i++) {
		const struct fake_gpu *g = &s->state->gpus[i];
		char mode[32] = "";

		if (g->compute_mode)
			snprintf(mode, sizeof(mode), " compute-mode %u", g->compute_mode);
		fprintf(s->out, "gpu %u %s %08x:%02x:%02x.0 minor %u numa %d model %s mig %s%s%s%s\n", i, g->uuid,
			g->domain, g->bus, g->slot, g->minor, g->numa, g->model.key, mig_word(g),
			g->lost ? " lost" : "", g->gone ? " pulled" : "", mode);
		for (uint32_t k = 0; k < FAKE_GIS; k++)
			for (uint32_t c = 0; g->gis[k].used && c < FAKE_CIS; c++) {
				const struct fake_ci *ci = &g->gis[k].cis[c];
				if (!ci->used)
					continue;
				fake_mig_uuid(g, &g->gis[k], ci, uuid);
				fprintf(s->out, "mig %u:%u %s %s gi %u ci %u at %u+%u\n", i, ci->index, uuid,
					g->model.profiles[g->gis[k].profile].name, g->gis[k].id, ci->id,
					g->gis[k].start, g->gis[k].size);
			}
	}
}

static void say_calls(struct say *s)
{
	for (size_t i = 0; i < fl_nv_symbols_n; i++)
		if (s->state->calls[i])
			fprintf(s->out, "%s %llu\n", fl_nv_symbols[i].member, (unsigned long long)s->state->calls[i]);
	if (s->state->calls[FAKE_CUDA])
		fprintf(s->out, "cuda %llu\n", (unsigned long long)s->state->calls[FAKE_CUDA]);
	if (more(s) && strcmp(next(s), "reset") == 0)
		memset(s->state->calls, 0, sizeof(s->state->calls));
}

/* ---- the table ---- */

static const struct {
	const char *word, *usage, *help;
	void (*run)(struct say *s);
} words[] = {
	{ "xid", "GPU XID [GI CI]", "tell an XID, of an instance if given", say_xid },
	{ "event", "GPU TYPE [DATA]", "tell any event by its bit", say_event },
	{ "ecc", "GPU corrected|uncorrected [N]", "N more errors of memory, and their event", say_ecc },
	{ "remap", "GPU CORRECTABLE [UNCORRECTABLE PENDING FAILED]", "set remapped rows", say_remap },
	{ "retire", "GPU SBE DBE [PENDING]", "set retired pages (GPUs before Ampere)", say_retire },
	{ "recovery", "GPU none|reset|reboot|drain-p2p|drain-reset|imex-domain",
	  "what the driver wants done, and its event", say_recovery },
	{ "fabric", "GPU not-supported|not-started|in-progress|completed [CLIQUE HEALTH SUMMARY STATUS]",
	  "set the fabric's state", say_fabric },
	{ "link", "GPU LINK up|down|errors [N]", "NVLink", say_link },
	{ "lose", "GPU [CODE]", "every call on it answers GPU_IS_LOST (then with XID 79), or CODE", say_lose },
	{ "pull", "GPU", "take it out: not even counted", say_pull },
	{ "heal", "[GPU|any]", "undo what these words broke; lets go of what stands frozen", say_heal },
	{ "reset", "GPU",
	  "as nvidia-smi -r: pending mode applied, instances gone; not while a process uses it or has the driver open",
	  say_reset },
	{ "fail", "CALL|any CODE [GPU|any [TIMES]]", "answer CODE; SUCCESS: and change no MIG layout", say_fail },
	{ "hang", "CALL|any [GPU|any [plain|deaf|frozen [TIMES]]]",
	  "never come back; deaf: but for SIGKILL; frozen: not even then", say_hang },
	{ "crash", "CALL|any [GPU|any [TIMES]]", "SIGSEGV inside the call, once if not said otherwise", say_crash },
	{ "delay", "CALL|any MICROSECONDS [GPU|any]", "come back later", say_delay },
	{ "missing", "CALL", "answer FUNCTION_NOT_FOUND, as older drivers do", say_missing },
	{ "versions", "N", "know no struct newer than this version", say_versions },
	{ "driver", "loaded|absent|mismatch|unload [VERSION]",
	  "the kernel's part; unload is refused while anybody has called init", say_driver },
	{ "privilege", "on|off", "off: what changes a GPU answers NO_PERMISSION", say_privilege },
	{ "process", "GPU PID MIB [GI CI]", "a process on it; 0 MiB: it ends", say_process },
	{ "load", "GPU PERCENT", "what its telemetry swings around", say_load },
	{ "temperature", "GPU CELSIUS", "hold its temperature there", say_temperature },
	{ "miscompute", "GPU N", "N results of each CUDA launch are wrong", say_miscompute },
	{ "mig", "GPU on|off", "set the mode at once, as if before boot; off: instances gone", say_mig },
	{ "show", "", "GPUs and MIG devices, a line each", say_show },
	{ "calls", "[reset]", "how often each call was made", say_calls },
};

void fake_help(FILE *out)
{
	for (size_t i = 0; i < FL_LEN(words); i++)
		fprintf(out, "  %-12s %-50s %s\n", words[i].word, words[i].usage, words[i].help);
}

int fake_say(struct fake_state *state, const char *line, FILE *out, struct fl_err *err)
{
	char copy[512], *rest = copy, *word;
	struct say s = { .state = state, .out = out, .err = err };

	if (snprintf(copy, sizeof(copy), "%s", line) >= (int)sizeof(copy))
		return fl_fail(err, FL_E_TOOBIG, "a line of %zu bytes", strlen(line));
	while ((word = strsep(&rest, " \t\n")) != NULL)
		if (*word && s.n < FL_LEN(s.args))
			s.args[s.n++] = word;
	s.word = next(&s);
	for (size_t i = 0; i < FL_LEN(words); i++) {
		if (strcmp(words[i].word, s.word) != 0)
			continue;
		s.usage = words[i].usage;
		fake_lock(state);
		words[i].run(&s);
		fake_unlock(state);
		if (s.failed == 0 && more(&s))
			return fl_fail(err, FL_E_INVALID, "%s: '%s' is too much; it is: %s %s", s.word, s.args[s.at],
				       s.word, s.usage);
		return s.failed;
	}
	return fl_fail(err, FL_E_INVALID, "there is no word '%s'; `fakectl help` has those there are", s.word);
}
