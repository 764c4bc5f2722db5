/* What a GPU child says, whatever the vendor's library has done to it. */
#include "fuzz.h"
#include "node/gpu/child.h"
#include "node/gpu/nv_mig.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_mig_caps) struct fl_mig_caps caps = { 0 };
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_PLAN_TEXT);
	struct fl_str text = { (const char *)data, (uint32_t)size };
	struct fl_card_fault fault;
	struct fl_gpu_told told;
	struct fl_card card;

	(void)!fl_gpu_take_told(text, &arena, &told, NULL);
	(void)!fl_gpu_take_card(text, &arena, &card, NULL);
	if (fl_gpu_take_fault(text, &arena, &fault, NULL) >= 0)
		fl_gpu_fault_name(&fault, &name);
	(void)!fl_mig_caps_parse(&caps, text);
	(void)fl_mig_is_name(fl_mig_name_in(text));
	return 0;
}
