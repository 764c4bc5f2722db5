/* The feeder's life, and what is done next. */
#include "node/gpu/gpu.h"
#include "base/backoff.h"
#include "base/chain.h"
#include "io/frame.h"
#include "node/gpu/events.h"
#include "node/gpu/in.h"
#include "plan/gpu/health.h"
#include <assert.h>
#include <stdio.h>

/* To load the driver's library and take up all cards: without the persistence daemon each card takes some seconds. */
#define FL_GPU_START_DEADLINE (60 * FL_NS_PER_S)
/* To read one GPU, which takes a millisecond; a call that takes seconds does not return. A fault is reported within 5
 * s, so the deadline is shorter. */
#define FL_GPU_CARD_DEADLINE (4 * FL_NS_PER_S)
#define FL_GPU_LINKS_DEADLINE (10 * FL_NS_PER_S)   /* 600 calls on a machine of 16 cards */
/* A process that takes up the driver and one card from nothing, and makes a CUDA context on it. */
#define FL_GPU_CHECK_DEADLINE (60 * FL_NS_PER_S)
/* How cards are joined changes when a link fails, which is rare and told by an XID too. */
#define FL_GPU_LINKS_EVERY (600 * FL_NS_PER_S)
/* A separate process checks a GPU that hung, with a growing wait, since each such process may hang for ever. */
#define FL_GPU_HUNG_RETRY_FIRST (1 * FL_NS_PER_S)
#define FL_GPU_HUNG_RETRY_LAST (300 * FL_NS_PER_S)
/* From the first word of all cards until their events are listened to: a process more takes three milliseconds of the
 * processor, and first the kubelet is to be told. What is reported meanwhile shows in the look that follows. */
#define FL_GPU_EVENTS_AFTER (20 * FL_NS_PER_MS)

void gpu_wake(struct fl_gpu *gpu)
{
	fl_timer_set(gpu->io, &gpu->work, 0);
}

struct gpu_card *gpu_card(struct fl_gpu *gpu, struct fl_str address)
{
	fl_vec_each (card, &gpu->cards)
		if (fl_str_eq(fl_str(card->address), address))
			return card;
	return NULL;
}

struct gpu_card *gpu_card_add(struct fl_gpu *gpu, const char *address)
{
	struct gpu_card *card = gpu_card(gpu, fl_str(address)), made = { .look_at = fl_now(gpu->io) };
	uint32_t at;

	if (card)
		return card;
	memcpy(made.address, address, sizeof made.address);
	if (gpu->cards.len >= FL_GPU_CARDS_MAX || fl_vec_reserve(&gpu->cards, 1) < 0)
		return NULL;
	assert(gpu->cards.at);
	/* By address: of a pair, the first has the link. */
	for (at = gpu->cards.len++; at > 0 && strcmp(gpu->cards.at[at - 1].address, address) > 0; at--)
		gpu->cards.at[at] = gpu->cards.at[at - 1];
	gpu->cards.at[at] = made;
	return &gpu->cards.at[at];
}

void gpu_tell_again(struct fl_gpu *gpu)
{
	gpu->bus_digest = 0;
	gpu->around_at = fl_now(gpu->io) + gpu->pace.look_soon;
	gpu_wake(gpu);
}

void gpu_forget(struct fl_gpu *gpu)
{
	for (int i = 0; i < GPU_ROLE_COUNT_; i++)
		gpu_kid_let_go(&gpu->kids[i]);
	gpu_sample_stop(gpu);
	gpu->kids[GPU_CHECK].card[0] = '\0';
	gpu->word = GPU_WORD_NONE;
	gpu->known = gpu->ready = gpu->out = false;
	gpu->retry_at = 0;
	gpu->links_at = 0;
	fl_vec_each (card, &gpu->cards) {
		card->asked = card->enrolled = card->reports = card->listed = false;
		card->crashes = 0;
		card->clean = 0;
		card->hash = 0;
		card->look_at = 0;
		if (card->answer == FL_CARD_UNASKED)
			continue;
		card->answer = FL_CARD_UNASKED;
		if (gpu_put_card(gpu, card, &(struct gpu_change){ 0 }) < 0)
			gpu_tell_again(gpu);
	}
}

/* ---- what came of a request ---- */

/* All cards that are well are looked at in one round. */
static void look_later(struct fl_gpu *gpu, struct gpu_card *card)
{
	uint64_t now = fl_now(gpu->io);

	if (!card->look_at)   /* another look was wanted while this one was under way: after those that wait already */
		card->look_at = now;
	else
		card->look_at = now + (gpu_card_rests(gpu, card) ? fl_round_in(now, gpu->pace.look_every)
								 : gpu->pace.look_soon);
}

/* The driver as a whole does not do: let go of it, and try again ever later. */
static void give_up(struct fl_gpu *gpu, enum gpu_word word, const struct fl_err *err)
{
	gpu_forget(gpu);
	gpu->word = word;
	gpu->said = *err;
	gpu->retry_at = fl_now(gpu->io) +
			fl_backoff(&gpu->retry_delay, gpu->pace.look_soon, gpu->pace.look_every);
	gpu->around_at = 0;
	fl_log(gpu->options.log, FL_WARN, "driver does not list its GPUs, will retry",
	       FL_KV_DURATION("in", (int64_t)gpu->retry_delay), FL_KV_ERR(err));
}

/* A refusal that is about the driver and not about a card. true: it was. */
static bool was_driver(struct fl_gpu *gpu, int r, const struct fl_err *err)
{
	if (r == -FL_E_NOTFOUND)
		give_up(gpu, GPU_WORD_NO_DRIVER, err);
	else if (r == -FL_E_UNSUPPORTED)
		give_up(gpu, GPU_WORD_MISMATCH, err);
	else if (r == -FL_E_DENIED || r == -FL_E_IO)
		give_up(gpu, GPU_WORD_SICK, err);
	else
		return false;
	return true;
}

static void driver_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct fl_gpu_told told;

	if (r >= 0)
		r = fl_gpu_take_told(fl_buf_view(&kid->reply), &gpu->arena, &told, &kid->err);
	if (r < 0) {
		if (!was_driver(gpu, r, &kid->err))
			gpu->said = kid->err;   /* the child is gone; its replacement is asked again */
		return;
	}
	gpu->word = GPU_WORD_FINE;
	gpu->known = true;
	gpu->out = false;
	gpu->retry_delay = 0;
	(void)snprintf(gpu->version, sizeof gpu->version, "%.*s", FL_ARG(told.driver.version));
	gpu->cuda = told.driver.cuda;
	for (uint32_t i = 0; i < told.cards.len; i++) {
		char address[FL_PCI_ADDRESS];
		struct gpu_card *card = fl_pci_address(told.cards.at[i], address) ? gpu_card_add(gpu, address) : NULL;

		if (card)
			card->listed = true;
	}
}

/* By another child: the one that is there waits for ever, and has ears for the driver only. */
void gpu_listen_anew(struct fl_gpu *gpu)
{
	gpu_kid_let_go(&gpu->kids[GPU_EVENTS]);
	fl_vec_each (card, &gpu->cards)
		card->enrolled = false;
}

static void hung(struct fl_gpu *gpu, struct gpu_card *card, const char *why)
{
	char message[FL_ERR_TEXT];

	if (card->enrolled && !card->reports)
		gpu_listen_anew(gpu);   /* whoever tries to register it again hangs, too */
	card->delay = 0;
	card->check_at = fl_now(gpu->io) + fl_backoff(&card->delay, gpu->pace.hung_first, gpu->pace.hung_last);
	card->answer = FL_CARD_HUNG;
	card->clean = 0;
	card->hash = 0;
	card->enrolled = false;
	card->asked = true;
	(void)snprintf(message, sizeof message,
		       "%s; excluded until it answers a separate process", why);
	fl_log(gpu->options.log, FL_WARN, "GPU excluded", FL_KV_TEXT("gpu", card->address),
	       FL_KV_TEXT("why", why));
	if (gpu_put_card(gpu, card, &(struct gpu_change){ .message = message }) < 0)
		gpu_tell_again(gpu);
}

/* The driver has said something of the card. */
static void take_card(struct fl_gpu *gpu, struct gpu_card *card, struct gpu_kid *kid)
{
	static const uint64_t seed[2] = { 0x6661697267707521u, 0x6c6561646b696473u };
	struct fl_str reply = fl_buf_view(&kid->reply);
	uint64_t hash = fl_siphash13(seed, reply.p, reply.len);
	enum fl_card_answer before = card->answer;
	struct fl_card fresh;
	int r;

	card->crashes = 0;
	card->asked = true;
	if (hash == card->hash && gpu_card_rests(gpu, card))
		return;
	r = fl_gpu_take_card(reply, &gpu->arena, &fresh, &kid->err);
	if (r >= 0 && !fl_str_eq(fresh.meta.name, fl_str(card->address)))
		r = fl_fail(&kid->err, FL_E_INVALID, "a child answers for another GPU");
	if (r == -FL_E_NOMEM)
		return;   /* as it was; soon again */
	card->answer = r < 0 ? FL_CARD_FAILS : fresh.answer;
	if (card->answer != FL_CARD_ANSWERS && before == FL_CARD_ANSWERS)
		gpu->around_at = 0;   /* is it still on the bus? */
	if (card->answer == FL_CARD_LOST)
		card->enrolled = false;
	if ((card->answer == FL_CARD_ANSWERS) != (before == FL_CARD_ANSWERS))
		gpu->links_at = 0;
	r = gpu_put_card(gpu, card,
			 &(struct gpu_change){ .fresh = r < 0 ? NULL : &fresh, .asked_at = kid->asked_at,
					       .message = kid->err.text });
	card->hash = r < 0 ? 0 : hash;
}

/* A request about it cost the child its life. */
static void card_refused(struct fl_gpu *gpu, struct gpu_card *card, int r)
{
	if (r == -FL_E_TIMEOUT)
		hung(gpu, card, "a call about it did not return");
	else if (r == -FL_E_CLOSED && ++card->crashes > 1)
		hung(gpu, card, "the driver's library crashed twice when it was asked about it");
}

static void card_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct gpu_card *card = gpu_card(gpu, fl_str(kid->card));

	if (!card || (r < 0 && was_driver(gpu, r, &kid->err)))
		return;
	if (r >= 0)
		take_card(gpu, card, kid);
	else
		card_refused(gpu, card, r);
	if (card->answer == FL_CARD_HUNG)
		return;
	look_later(gpu, card);
	if (r == -FL_E_CLOSED)
		card->look_at = 0;
}

static void sample_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct gpu_card *card = gpu_card(gpu, fl_str(kid->card));

	if (!card || (r < 0 && was_driver(gpu, r, &kid->err)))
		return;
	if (r < 0)
		card_refused(gpu, card, r);
	gpu_sample_answered(gpu, card, kid, r);
}

static void order_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct gpu_card *card = gpu_card(gpu, fl_str(kid->card));

	if (card && r >= 0) {
		card->hash = 0;
		take_card(gpu, card, kid);
	} else if (card && r == -FL_E_TIMEOUT) {
		hung(gpu, card, "a call about it did not return");
	}
	gpu_order_answered(gpu, r, &kid->err);
}

static void check_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct gpu_card *card = gpu_card(gpu, fl_str(kid->card));
	char message[FL_ERR_TEXT];
	struct fl_card fresh;
	bool miscomputes;

	kid->card[0] = '\0';   /* this child has done what it was made for */
	if (!card || card->answer != FL_CARD_HUNG)
		return;
	if (r >= 0)
		r = fl_gpu_take_card(fl_buf_view(&kid->reply), &gpu->arena, &fresh, &kid->err);
	if (r >= 0 && fresh.answer != FL_CARD_FAILS) {
		take_card(gpu, card, kid);
		card->hash = 0;
		card->look_at = 0;   /* by the child for calls, which has it back */
		return;
	}
	if (r >= 0)   /* it answers, and does not work */
		(void)fl_fail(&kid->err, FL_E_IO, "%.*s", FL_ARG(fresh.message));
	(void)snprintf(message, sizeof message, "it hung, and has not recovered yet: %.180s", kid->err.text);
	miscomputes = r >= 0 && fresh.has.cuda && !fresh.cuda;
	if (gpu_put_card(gpu, card, &(struct gpu_change){ .message = message, .miscomputes = miscomputes }) < 0)
		gpu_tell_again(gpu);
	card->check_at = fl_now(gpu->io) + fl_backoff(&card->delay, gpu->pace.hung_first, gpu->pace.hung_last);
}

static void links_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct fl_gpu_told told;

	gpu->links_at = fl_now(gpu->io) + gpu->pace.links_every;
	if (r >= 0)
		r = fl_gpu_take_told(fl_buf_view(&kid->reply), &gpu->arena, &told, &kid->err);
	for (uint32_t i = 0; r >= 0 && i < told.links.len; i++) {
		struct gpu_card *card = gpu_card(gpu, told.links.at[i].card);

		if (card && gpu_put_card(gpu, card, &(struct gpu_change){ .links = &told.links.at[i] }) < 0)
			gpu->links_at = fl_now(gpu->io) + gpu->pace.look_soon;
	}
	if (r < 0)
		fl_log(gpu->options.log, FL_WARN, "links between GPUs unknown", FL_KV_ERR(&kid->err));
}

static bool among(const struct fl_str_list *list, const char *address)
{
	return fl_str_in(list->at, list->len, fl_str(address));
}

/* Nobody listens until another child does: soon, then ever later. */
static void no_events(struct fl_gpu *gpu, struct gpu_kid *kid, const struct fl_err *err)
{
	fl_log(gpu->options.log, FL_WARN, "GPU events unavailable, will retry", FL_KV_ERR(err));
	kid->not_before = fl_now(gpu->io) +
			  fl_backoff(&gpu->events_delay, FL_GPU_EVENTS_RETRY_FIRST, FL_GPU_EVENTS_RETRY_LAST);
	gpu_listen_anew(gpu);
}

/* Who is listened to now. A line for each reason, and one when there is none any more. */
static void take_listens(struct fl_gpu *gpu, const struct fl_gpu_told *told)
{
	char why[FL_ERR_TEXT];

	fl_vec_each (card, &gpu->cards) {
		bool reports = card->enrolled && among(&told->cards, card->address);

		if (reports == card->reports)
			continue;
		/* What was reported while nobody listened shows in a look. */
		card->look_at = card->answer == FL_CARD_ANSWERS ? 0 : card->look_at;
		card->reports = reports;
		if (gpu_put_card(gpu, card, &(struct gpu_change){ 0 }) < 0)
			gpu_tell_again(gpu);
	}
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(told->why));
	if (strcmp(why, gpu->unheard) == 0)
		return;
	memcpy(gpu->unheard, why, sizeof why);
	if (why[0])
		fl_log(gpu->options.log, FL_WARN, "some GPUs report no faults, will retry",
		       FL_KV_TEXT("why", why));
	else
		fl_log(gpu->options.log, FL_INFO, "all capable GPUs report faults");
}

void gpu_listens(struct fl_gpu *gpu, struct fl_str payload)
{
	struct fl_gpu_told told;
	struct fl_err err = { 0 };
	int r = fl_gpu_take_told(payload, &gpu->arena, &told, &err);

	if (r >= 0)
		take_listens(gpu, &told);
	else
		no_events(gpu, &gpu->kids[GPU_EVENTS], &err);   /* it is not told twice: another one is asked */
}

static void events_answered(struct fl_gpu *gpu, struct gpu_kid *kid, int r)
{
	struct fl_gpu_told told = { 0 };

	if (r >= 0)
		r = fl_gpu_take_told(fl_buf_view(&kid->reply), &gpu->arena, &told, &kid->err);
	if (r == -FL_E_CLOSED || r == -FL_E_TIMEOUT)
		return;   /* its replacement is asked again */
	if (r < 0) {
		no_events(gpu, kid, &kid->err);
		return;
	}
	gpu->events_delay = 0;
	fl_vec_each (card, &gpu->cards)   /* whoever listened before may have missed something */
		card->look_at = card->answer == FL_CARD_ANSWERS ? 0 : card->look_at;
	take_listens(gpu, &told);
}

void gpu_answered(struct gpu_kid *kid, int r)
{
	struct fl_gpu *gpu = kid->gpu;

	if (kid->leaving && kid->role != GPU_CHECK)
		return;   /* nobody waits for it any more */
	switch (kid->ask) {
	case FL_GPU_ASK_DRIVER: driver_answered(gpu, kid, r); return;
	case FL_GPU_ASK_CARD:
		card_answered(gpu, kid, r);
		gpu_order_answered(gpu, r, &kid->err);
		return;
	case FL_GPU_ASK_CHECK: check_answered(gpu, kid, r); return;
	case FL_GPU_ASK_LINKS: links_answered(gpu, kid, r); return;
	case FL_GPU_ASK_EVENTS: events_answered(gpu, kid, r); return;
	case FL_GPU_ASK_SAMPLE: sample_answered(gpu, kid, r); return;
	case FL_GPU_ASK_MODE:
	case FL_GPU_ASK_MIG: order_answered(gpu, kid, r); return;
	case FL_GPU_ASK_COUNT_: break;
	}
}

void gpu_news(struct gpu_kid *kid, enum fl_supervisor_news what, const char *text)
{
	struct fl_gpu *gpu = kid->gpu;

	if (what == FL_CHILD_ENDED || what == FL_CHILD_ABANDONED || what == FL_CHILD_FAILED) {
		if (kid->role == GPU_CALLS) {
			gpu->known = false;
			(void)fl_fail(&gpu->said, FL_E_CLOSED, "%s", text);
			if (!gpu->out)
				gpu->out_at = fl_now(gpu->io);
			gpu->out = true;
			gpu->start_failed = what == FL_CHILD_FAILED;
		}
		if (kid->role == GPU_EVENTS)
			fl_vec_each (card, &gpu->cards)
				card->enrolled = false;
	}
}

/* ---- what is asked next ---- */

/* Addresses of all that answer, parted by blanks; sorted, as the cards are. */
static struct fl_str answering(const struct fl_gpu *gpu, struct fl_buf *buf, uint32_t *ret_count)
{
	*ret_count = 0;
	fl_vec_each (card, &gpu->cards) {
		if (card->answer != FL_CARD_ANSWERS)
			continue;
		if ((*ret_count)++)
			fl_buf_char(buf, ' ');
		fl_buf_str(buf, fl_str(card->address));
	}
	return fl_buf_view(buf);
}

/* Whoever has waited longest. */
static struct gpu_card *next_due(struct fl_gpu *gpu)
{
	struct gpu_card *next = NULL;

	fl_vec_each (card, &gpu->cards)
		if (card->look_at <= fl_now(gpu->io) && card->answer != FL_CARD_HUNG && !card->foreign &&
		    (!next || card->look_at < next->look_at))
			next = card;
	return next;
}

static bool ask_card(struct fl_gpu *gpu, struct gpu_kid *kid)
{
	struct gpu_card *card = next_due(gpu);

	if (!card)
		return false;
	card->look_at = fl_now(gpu->io);   /* not 0: who wants another look in the meantime is to be seen */
	memcpy(kid->card, card->address, sizeof kid->card);
	gpu_kid_ask(kid, FL_GPU_ASK_CARD, fl_str(kid->card), gpu->pace.card);
	return true;
}

static void ask_next(struct fl_gpu *gpu)
{
	char text[FL_GPU_ASK_MAX];
	struct fl_buf buf = FL_BUF_IN(text);
	struct gpu_kid *kid = &gpu->kids[GPU_CALLS];
	uint32_t count;

	if (!gpu_kid_free_to_ask(kid))
		return;
	if (!gpu->known) {
		fl_buf_uint(&buf, gpu->cards.len);
		gpu_kid_ask(kid, FL_GPU_ASK_DRIVER, fl_buf_view(&buf), gpu->pace.start);
		return;
	}
	if (gpu_order_ask(gpu, kid) || ask_card(gpu, kid) || gpu_sample_ask(gpu, kid))
		return;
	if (fl_now(gpu->io) >= gpu->links_at) {
		struct fl_str cards = answering(gpu, &buf, &count);

		gpu->links_at = fl_now(gpu->io) + gpu->pace.links_every;
		if (count > 1) {
			gpu_kid_ask(kid, FL_GPU_ASK_LINKS, cards, gpu->pace.links);
			return;
		}
	}
	if (!gpu->ready) {
		gpu_wake(gpu);
		gpu->kids[GPU_EVENTS].not_before = fl_now(gpu->io) + FL_GPU_EVENTS_AFTER;
	}
	gpu->ready = true;
}

static void enrol_next(struct fl_gpu *gpu)
{
	char text[FL_GPU_ASK_MAX];
	struct fl_buf buf = FL_BUF_IN(text);
	struct gpu_kid *kid = &gpu->kids[GPU_EVENTS];
	bool any = false, fresh = true;
	struct fl_str cards;
	uint32_t count;

	if (!gpu_kid_free_to_ask(kid))
		return;
	fl_vec_each (card, &gpu->cards) {
		any |= card->answer == FL_CARD_ANSWERS && !card->enrolled;
		fresh &= !card->enrolled;
	}
	if (!any)
		return;
	if (!fresh) {   /* another one asks for all */
		gpu_listen_anew(gpu);
		return;
	}
	cards = answering(gpu, &buf, &count);
	fl_vec_each (card, &gpu->cards)
		card->enrolled = card->answer == FL_CARD_ANSWERS;
	gpu_kid_ask(kid, FL_GPU_ASK_EVENTS, cards, gpu->pace.start);
}

/* May a check be begun? What stands against it wakes us when it ends, or is looked at with the bus. */
static bool may_check(const struct fl_gpu *gpu)
{
	const struct gpu_kid *kid = &gpu->kids[GPU_CHECK];

	return !kid->s && !kid->card[0] && gpu->known && gpu_stuck(gpu) < FL_SUPERVISOR_STUCK_MAX;
}

static void check_next(struct fl_gpu *gpu)
{
	struct gpu_kid *kid = &gpu->kids[GPU_CHECK];
	uint64_t now = fl_now(gpu->io);

	if (kid->card[0]) {
		if (gpu_kid_free_to_ask(kid))
			gpu_kid_ask(kid, FL_GPU_ASK_CHECK, fl_str(kid->card), gpu->pace.check);
		return;
	}
	if (!may_check(gpu))
		return;
	fl_vec_each (card, &gpu->cards) {
		if (card->answer != FL_CARD_HUNG || card->check_at > now)
			continue;
		memcpy(kid->card, card->address, sizeof kid->card);
		gpu_wake(gpu);
		return;
	}
}

/* ---- pauses ---- */

static void pause_dropped(struct fl_op *op)
{
	struct fl_gpu_pause *pause = fl_container(op, struct fl_gpu_pause, op);

	if (pause->from)
		fl_chain_take(pause);
}

static void end_pauses(struct fl_gpu *gpu)
{
	bool names_awaited = !gpu->users_known && fl_now(gpu->io) < gpu->users_until;

	if (!gpu->waiting)
		return;
	for (int i = 0; i < GPU_ROLE_COUNT_; i++)
		if (gpu->kids[i].s)
			return;
	for (struct fl_gpu_pause *pause = gpu->waiting, *next; pause; pause = next) {
		next = pause->next;
		if (pause->users && names_awaited)
			continue;
		fl_chain_take(pause);
		if (gpu->left_behind)
			fl_op_fail(&pause->op, FL_E_TIMEOUT,
				   "%u processes hang in the driver: it cannot be unloaded; if they remain, reboot the "
				   "node",
				   gpu_stuck(gpu));
		else
			fl_op_end(&pause->op, 0);
	}
}

void fl_gpu_pause(struct fl_gpu *gpu, struct fl_gpu_pause *pause, const char *why)
{
	uint64_t latest = fl_now(gpu->io) + FL_GPU_LET_GO;

	if (!pause->op.deadline || pause->op.deadline > latest)
		pause->op.deadline = latest;
	fl_op_begin(&pause->op, gpu->io, pause_dropped);
	pause->op.held = gpu;
	fl_chain_add(&gpu->waiting, pause);
	(void)snprintf(gpu->why, sizeof gpu->why, "%s", why);
	if (gpu->pauses++ == 0)
		gpu_forget(gpu);
	if (pause->users)
		gpu_users_ask(gpu);
	gpu_wake(gpu);
}

void fl_gpu_begin(struct fl_gpu *gpu)
{
	if (!gpu->waits)
		return;
	gpu->waits = false;
	gpu_wake(gpu);
}

void fl_gpu_resume(struct fl_gpu *gpu)
{
	if (gpu->pauses == 0 || --gpu->pauses > 0)
		return;
	gpu->around_at = 0;   /* it may be another driver by now */
	gpu_wake(gpu);
}

/* ---- the turn ---- */

static void sooner(uint64_t *at, uint64_t other)
{
	if (other < *at)
		*at = other;
}

static uint64_t next_at(const struct fl_gpu *gpu)
{
	uint64_t at = fl_op_busy(&gpu->around) || !gpu->options.roots ? FL_NEVER : gpu->around_at;
	uint64_t now = fl_now(gpu->io);

	if (gpu->retry_at > now)
		sooner(&at, gpu->retry_at);
	if (gpu->out && gpu->out_at + gpu->pace.grace > now)
		sooner(&at, gpu->out_at + gpu->pace.grace);
	if (gpu->late_len)
		sooner(&at, gpu->late_at);
	if (gpu->pauses && gpu->users_at > now)
		sooner(&at, gpu->users_at);
	if (gpu->waiting && gpu->users_until > now)
		sooner(&at, gpu->users_until);
	if (gpu->kids[GPU_EVENTS].not_before > now)
		sooner(&at, gpu->kids[GPU_EVENTS].not_before);
	if (gpu->waits || !gpu_kid_free_to_ask(&gpu->kids[GPU_CALLS]))
		return at;
	sooner(&at, gpu->links_at);
	fl_vec_each (card, &gpu->cards) {
		if (card->answer != FL_CARD_HUNG && !card->foreign)
			sooner(&at, card->look_at);
		if (card->answer == FL_CARD_HUNG && may_check(gpu))
			sooner(&at, card->check_at);
	}
	return at;
}

static void work(struct fl_timer *timer)
{
	struct fl_gpu *gpu = fl_container(timer, struct fl_gpu, work);

	fl_io_name(gpu->io, "gpu");
	fl_arena_reset(&gpu->arena);
	gpu_around(gpu);
	gpu_kids_tend(gpu);
	gpu_users_look(gpu);
	if (gpu->looked && !gpu->waits && gpu_wanted(gpu)) {
		ask_next(gpu);
		enrol_next(gpu);
		check_next(gpu);
	}
	if (!gpu_wanted(gpu))
		gpu_orders_fail(gpu);
	gpu_tell_late(gpu);
	gpu_say_driver(gpu);
	end_pauses(gpu);
	if (!fl_timer_is_set(&gpu->work))
		fl_timer_set(gpu->io, &gpu->work, next_at(gpu));
}

void fl_gpu_look(struct fl_gpu *gpu)
{
	gpu->around_at = 0;
	gpu->bus_names = 0;
	gpu->links_at = 0;
	fl_vec_each (card, &gpu->cards)
		card->look_at = 0;
	gpu_wake(gpu);
}

/* ---- beginning and end ---- */

static uint64_t or_else(uint64_t given, uint64_t usual)
{
	return given ? given : usual;
}

static struct fl_gpu_pace whole(const struct fl_gpu_pace *p)
{
	return (struct fl_gpu_pace){
		.look_every = or_else(p->look_every, FL_GPU_LOOK_EVERY),
		.look_soon = or_else(p->look_soon, FL_GPU_LOOK_SOON),
		.find_every = or_else(p->find_every, FL_GPU_FIND_EVERY),
		.start = or_else(p->start, FL_GPU_START_DEADLINE),
		.card = or_else(p->card, FL_GPU_CARD_DEADLINE),
		.links = or_else(p->links, FL_GPU_LINKS_DEADLINE),
		.check = or_else(p->check, FL_GPU_CHECK_DEADLINE),
		.links_every = or_else(p->links_every, FL_GPU_LINKS_EVERY),
		.hung_first = or_else(p->hung_first, FL_GPU_HUNG_RETRY_FIRST),
		.hung_last = or_else(p->hung_last, FL_GPU_HUNG_RETRY_LAST),
		.grace = or_else(p->grace, FL_GPU_CRASH_GRACE),
	};
}

struct fl_gpu *fl_gpu_new(struct fl_io *io, struct fl_loop *loop, const struct fl_gpu_options *options,
			  struct fl_err *err)
{
	FL_AUTO(fl_gpu) struct fl_gpu *gpu = fl_zalloc(sizeof *gpu);

	if (!gpu)
		return fl_null(err, FL_E_NOMEM, "no memory");
	gpu->io = io;
	gpu->loop = loop;
	gpu->options = *options;
	gpu->waits = options->wait;
	gpu->pace = whole(&options->pace);
	gpu->drivers = fl_loop_feed(loop, &fl_driver_kind);
	gpu->cards_feed = fl_loop_feed(loop, &fl_card_kind);
	gpu->faults_feed = fl_loop_feed(loop, &fl_card_fault_kind);
	if (!gpu->drivers || !gpu->cards_feed || !gpu->faults_feed)
		return fl_null(err, FL_E_INVALID, "the loop has no source for GPUs, their faults or the driver");
	for (int i = 0; i < GPU_ROLE_COUNT_; i++) {
		gpu->kids[i].gpu = gpu;
		gpu->kids[i].role = (enum gpu_role)i;
		gpu->kids[i].reply = FL_BUF(FL_FRAME_MAX);
	}
	if (gpu_numbers_add(gpu, err) < 0)
		return NULL;
	gpu->work.fire = work;
	fl_feed_begin(gpu->drivers);
	fl_feed_begin(gpu->cards_feed);
	fl_feed_begin(gpu->faults_feed);
	gpu_kids_tend(gpu);   /* the driver's process takes longest of all to begin */
	gpu_around(gpu);
	gpu_wake(gpu);
	return fl_steal(&gpu);
}

struct fl_gpu *fl_gpu_free(struct fl_gpu *gpu)
{
	if (!gpu)
		return NULL;
	if (gpu->work.fire)
		fl_timer_stop(gpu->io, &gpu->work);
	fl_op_cancel(&gpu->around);
	fl_op_cancel(&gpu->users_look);
	fl_notify_stop(&gpu->notify);
	while (gpu->waiting)
		fl_op_cancel(&gpu->waiting->op);
	while (gpu->orders)
		fl_op_cancel(&gpu->orders->op);
	for (int i = 0; i < GPU_ROLE_COUNT_; i++) {
		fl_op_cancel(&gpu->kids[i].request.op);
		fl_supervisor_free(gpu->kids[i].s);
		fl_buf_free(&gpu->kids[i].reply);
	}
	fl_vec_free(&gpu->cards);
	fl_arena_free(&gpu->arena);
	fl_free(gpu->searched);
	fl_free(gpu);
	return NULL;
}

struct fl_gpu_state fl_gpu_state(const struct fl_gpu *gpu)
{
	struct fl_gpu_state state = { .stuck = gpu_stuck(gpu), .asked = gpu->asked_count };
	int *pids[] = { &state.calls, &state.events, &state.check };

	for (int i = 0; i < GPU_ROLE_COUNT_; i++)
		if (gpu->kids[i].s)
			*pids[i] = fl_supervisor_state(gpu->kids[i].s).pid;
	return state;
}
