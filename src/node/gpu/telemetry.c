/* Telemetry: a round over all cards that answer, one request each. */
#include "node/gpu/in.h"

static void round_over(struct fl_gpu *gpu, bool complete)
{
	gpu->sampling = false;
	fl_vec_each (card, &gpu->cards)
		card->sample = false;
	if (gpu->options.sampled)
		gpu->options.sampled(gpu->options.arg, NULL, complete);
}

void gpu_sample_stop(struct fl_gpu *gpu)
{
	if (gpu->sampling)
		round_over(gpu, false);
}

bool fl_gpu_sample(struct fl_gpu *gpu, const struct fl_dcgm_set *wanted)
{
	if (gpu->sampling || !gpu->ready || !gpu->known)
		return false;
	gpu->wanted = *wanted;
	gpu->sampling = true;
	gpu->incomplete = false;
	fl_vec_each (card, &gpu->cards)
		card->sample = card->answer == FL_CARD_ANSWERS;
	gpu_wake(gpu);
	return true;
}

bool gpu_sample_ask(struct fl_gpu *gpu, struct gpu_kid *kid)
{
	char text[FL_PCI_ADDRESS + 1 + FL_LEN(gpu->wanted.bits) * 17];
	struct fl_buf about = FL_BUF_IN(text);

	if (!gpu->sampling)
		return false;
	fl_vec_each (card, &gpu->cards) {
		if (!card->sample)
			continue;
		card->sample = false;
		if (card->answer != FL_CARD_ANSWERS)
			continue;
		memcpy(kid->card, card->address, sizeof kid->card);
		fl_buf_printf(&about, "%s ", card->address);
		fl_gpu_put_set(&gpu->wanted, &about);
		gpu_kid_ask(kid, FL_GPU_ASK_SAMPLE, fl_buf_view(&about), gpu->pace.card);
		return true;
	}
	round_over(gpu, !gpu->incomplete);
	return false;
}

void gpu_sample_answered(struct fl_gpu *gpu, struct gpu_card *card, struct gpu_kid *kid, int r)
{
	struct fl_gpu_sample sample;

	if (r >= 0)
		r = fl_gpu_take_sample(fl_buf_view(&kid->reply), &gpu->arena, &sample, &kid->err);
	if (r >= 0 && !fl_str_eq(sample.card, fl_str(card->address)))
		r = fl_fail(&kid->err, FL_E_INVALID, "a child answers for another GPU");
	if (r < 0)
		fl_log(gpu->options.log, FL_WARN, "telemetry of a GPU not read", FL_KV_TEXT("gpu", card->address),
		       FL_KV_ERR(&kid->err));
	if (r < 0 || sample.lost) {
		gpu->incomplete = true;
		card->look_at = card->answer == FL_CARD_ANSWERS ? 0 : card->look_at;
		return;
	}
	card->crashes = 0;
	if (gpu->options.sampled && gpu->sampling)
		gpu->options.sampled(gpu->options.arg, &sample, true);
}
