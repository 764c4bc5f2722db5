#include "plan/gpu/host.h"
#include "base/crc32c.h"

const struct fl_owner fl_gpu_host_owner = {
	.manager = "fairlead-host", .kind = &fl_host_kind,
	.paths = (const char *const[]){ "version", "root", "devRoot", "layout", "hook", "makeNodes", NULL },
};

static uint32_t mix(uint32_t crc, struct fl_str text)
{
	return fl_crc32c(fl_crc32c(crc, text.p, text.len), "", 1);
}

/* Of all that is looked at, but for the version. */
static uint32_t layout(const struct fl_gpu_host_facts *facts, struct fl_str root)
{
	uint32_t crc = mix(mix(mix(0, root), facts->settings->look_dev), facts->settings->hook);

	for (uint32_t i = 0; i < facts->card_len; i++) {
		const struct fl_card *card = &facts->cards[i];

		crc = fl_crc32c(mix(mix(crc, card->meta.name), card->uuid), &card->minor, sizeof card->minor);
		for (uint32_t j = 0; j < card->partitions.len; j++) {
			const struct fl_partition *part = &card->partitions.at[j];

			crc = fl_crc32c(mix(crc, part->uuid), &part->gi_cap, sizeof part->gi_cap);
			crc = fl_crc32c(crc, &part->ci_cap, sizeof part->ci_cap);
		}
	}
	return crc;
}

void fl_gpu_host_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_host_facts *facts = facts_;
	const struct fl_settings *settings = facts->settings;
	const struct fl_driver *driver = facts->driver;
	struct fl_str root = driver->root.len ? driver->root : FL_S("/");
	struct fl_host host = { 0 };

	/* Ready is what a driver is when every card was asked once. Until then cards come one by one, and their device
	 * nodes with them: one look for all of them, and not one for each. */
	if (settings->waits.len || !driver->version.len || driver->state != FL_DRIVER_READY)
		return;
	FL_SET(&host, version, driver->version);
	FL_SET(&host, root, root);
	FL_SET_TEXT(&host, dev_root, settings->look_dev);
	FL_SET(&host, layout, fl_plan_printf(plan, "%08x", layout(facts, root)));
	FL_SET_TEXT(&host, hook, settings->hook);
	if (settings->make_nodes)
		FL_SET(&host, make_nodes, true);
	fl_want(plan, &fl_gpu_host_owner, (struct fl_ref){ &fl_host_kind, FL_S(""), FL_S("host"), FL_S("") }, &host);
}
