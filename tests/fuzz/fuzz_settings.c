/* Any bytes as NVIDIA's configuration file: what is taken is within its bounds, and what is not leaves no half. */
#include "fuzz.h"
#include "node/settings/settings.h"
#include <stdlib.h>

static void check(const struct fl_settings *s)
{
	if (s->device_lists.len > FL_DEVICE_LIST_COUNT_ || s->sharing.len > FL_SETTINGS_LIST)
		abort();
	for (uint32_t i = 0; i < s->sharing.len; i++)
		if (!s->sharing.at[i].resource.len || s->sharing.at[i].replicas < 2)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings_from from = { .name = FL_S("config"), .text = { (const char *)data, (uint32_t)size } };
	struct fl_settings settings, made;
	int r;

	if (!size)
		return 0;
	r = fl_settings_read(&from, &arena, &settings, NULL);
	if (r == 0)
		check(&settings);
	if (fl_settings_make(&from, &arena, &made, NULL) < 0)
		return 0;
	check(&made);
	/* A mistake is told, and nothing of the file is in force. */
	if (r < 0 && (!made.message.len || made.unpooled))
		abort();
	return 0;
}
