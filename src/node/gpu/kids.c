/* The children: which there should be, and what they are asked. */
#include "node/gpu/in.h"
#include <stdio.h>

FL_NAMES(gpu_role_names, GPU_ROLE_COUNT_, [GPU_CALLS] = "calls", [GPU_EVENTS] = "events", [GPU_CHECK] = "check");

bool gpu_wanted(const struct fl_gpu *gpu)
{
	const struct fl_gpu_found *f = &gpu->found;

	if (gpu->pauses || !f->library[0] || fl_now(gpu->io) < gpu->retry_at)
		return false;
	/* Taking up the driver may load the kernel's part; somebody who has unloaded it does not want that. Where the
	 * kernel does not tell of its drivers at all (some sandboxes), the device node must do. */
	if (!f->kernel[0] && (gpu->kernel_seen || !f->node))
		return false;
	return !f->version[0] || !f->kernel[0] || f->kernel[0] == '?' || strcmp(f->version, f->kernel) == 0;
}

/* Of a supervisor that is freed while its child cannot die, only the loop knows. */
unsigned gpu_stuck(const struct fl_gpu *gpu)
{
	unsigned n = gpu->left_behind ? fl_child_undead(gpu->io) : 0;

	for (int i = 0; i < GPU_ROLE_COUNT_; i++)
		if (gpu->kids[i].s)
			n += fl_supervisor_state(gpu->kids[i].s).stuck;
	return n;
}

/* ---- asking ---- */

static void answered(struct fl_op *op)
{
	struct gpu_kid *kid = fl_container(op, struct gpu_kid, request.op);
	struct fl_gpu *gpu = kid->gpu;

	gpu_wake(gpu);   /* first, so that the next is asked before the loop plans with what this one has told */
	kid->asking = false;
	gpu->asked_count++;
	gpu_count_call(gpu, kid->ask, (int)op->result, fl_now(gpu->io) - kid->asked_at);
	fl_arena_reset(&gpu->arena);
	gpu_answered(kid, (int)op->result);
	fl_arena_reset(&gpu->arena);
	fl_buf_free(&kid->reply);
}

bool gpu_kid_free_to_ask(const struct gpu_kid *kid)
{
	return kid->s && !kid->leaving && !kid->asking && fl_supervisor_state(kid->s).pid;
}

void gpu_kid_ask(struct gpu_kid *kid, enum fl_gpu_ask ask, struct fl_str about, uint64_t within)
{
	char text[FL_GPU_PATH_MAX + 1 + FL_GPU_ASK_MAX];
	struct fl_buf payload = FL_BUF_IN(text);

	fl_buf_printf(&payload, "%s\n%.*s", kid->gpu->found.library, FL_ARG(about));
	kid->asking = true;
	kid->ask = ask;
	kid->asked_at = fl_now(kid->gpu->io);
	kid->err = (struct fl_err){ 0 };
	kid->request = (struct fl_request){ .reply = &kid->reply };
	kid->request.op = (struct fl_op){ .done = answered, .err = &kid->err, .deadline = kid->asked_at + within };
	fl_supervisor_request(kid->s, &kid->request, (uint16_t)ask, fl_buf_view(&payload));
}

/* ---- life ---- */

static void news(void *self, enum fl_supervisor_news what, const char *text)
{
	struct gpu_kid *kid = self;
	struct fl_gpu *gpu = kid->gpu;

	gpu_count_news(gpu, kid->role, what);
	switch (what) {
	case FL_CHILD_READY:
	case FL_CHILD_LET_GO:
		fl_log(gpu->options.log, FL_DEBUG, "GPU child", FL_KV_TEXT("what", text));
		break;
	case FL_CHILD_FAILED:
	case FL_CHILD_ENDED:
	case FL_CHILD_ABANDONED:
	case FL_CHILD_STUCK:
	case FL_CHILD_REAPED:
	case FL_CHILD_CEILING:
		fl_log(gpu->options.log, FL_WARN, "GPU child in trouble",
		       FL_KV_TEXT("child", fl_name(&gpu_role_names, (int)kid->role)), FL_KV_TEXT("what", text));
		break;
	case FL_CHILD_NEWS_COUNT_: break;
	}
	/* One that was made for a single question has no replacement once it was asked. Before that its supervisor
	 * tries again, later each time, as for all of them. */
	if (kid->role == GPU_CHECK && kid->asking && (what == FL_CHILD_ENDED || what == FL_CHILD_ABANDONED))
		gpu_kid_let_go(kid);
	gpu_news(kid, what, text);
	gpu_wake(gpu);
}

void gpu_kid_let_go(struct gpu_kid *kid)
{
	if (!kid->s || kid->leaving)
		return;
	kid->leaving = true;
	fl_supervisor_pause(kid->s);   /* its request is told that there is nobody to answer it */
}

static void kid_free(struct gpu_kid *kid)
{
	struct fl_gpu *gpu = kid->gpu;

	if (!kid->s)
		return;
	gpu->left_behind |= fl_supervisor_state(kid->s).stuck > 0;
	fl_op_cancel(&kid->request.op);
	kid->asking = false;
	kid->leaving = false;
	kid->s = fl_supervisor_free(kid->s);
}

static int kid_new(struct gpu_kid *kid, struct fl_err *err)
{
	struct fl_gpu *gpu = kid->gpu;
	const struct fl_gpu_options *o = &gpu->options;
	/* Borrowed by the supervisor for as long as it lives. */
	static const char proc[] = "--proc", cuda[] = "--cuda";
	const char **argv = gpu->argv;

	argv[0] = o->program;
	argv[1] = "gpu";
	argv[2] = proc;
	argv[3] = o->proc;
	argv[4] = o->cuda ? cuda : NULL;
	argv[5] = NULL;
	kid->s = fl_supervisor_new(gpu->io,
				   &(struct fl_supervisor_config){
					   .name = fl_name(&gpu_role_names, (int)kid->role),
					   .path = o->program,
					   .argv = argv,
					   .env = o->env,
					   .log = o->log,
					   .self = kid,
					   .news = news,
					   .event = gpu_event,
				   },
				   err);
	return kid->s ? 0 : -FL_E_NOMEM;
}

static bool should_be(const struct fl_gpu *gpu, enum gpu_role role)
{
	/* Ahead of the first look: a process takes longer to begin than the driver takes to be found. */
	if (role == GPU_CALLS && !gpu->looked && gpu->options.roots && !gpu->pauses)
		return true;
	if (!gpu_wanted(gpu))
		return false;
	if (role == GPU_CALLS)   /* before it is asked something it has nothing of the driver's */
		return true;
	if (gpu_order_alone(gpu))
		return false;
	if (role == GPU_EVENTS)
		return gpu->ready;
	return gpu->kids[GPU_CHECK].card[0] != '\0';
}

void gpu_kids_tend(struct fl_gpu *gpu)
{
	bool any = false;
	struct fl_err err = { 0 };

	if (gpu->left_behind && !fl_child_undead(gpu->io))
		gpu->left_behind = false;
	for (int i = 0; i < GPU_ROLE_COUNT_; i++) {
		struct gpu_kid *kid = &gpu->kids[i];

		if (!should_be(gpu, kid->role))
			gpu_kid_let_go(kid);
		if (kid->s && kid->leaving && !kid->asking && !fl_supervisor_state(kid->s).dying)
			kid_free(kid);
		any |= kid->s != NULL && kid->leaving;
	}
	/* Nobody is started with the new library before all have let go of the old one. */
	for (int i = 0; i < GPU_ROLE_COUNT_ && !any; i++) {
		struct gpu_kid *kid = &gpu->kids[i];

		if (kid->s || !should_be(gpu, kid->role) || gpu_stuck(gpu) >= FL_SUPERVISOR_STUCK_MAX ||
		    fl_now(gpu->io) < kid->not_before)
			continue;
		if (kid_new(kid, &err) < 0)
			gpu->retry_at = fl_now(gpu->io) + gpu->pace.look_soon;
	}
}
