#include "plan/gpu/links.h"
#include "plan/gpu/needs.h"

static const char *const paths[] = { "target", NULL };
const struct fl_owner fl_gpu_links_owner = { "fairlead-links", &fl_dev_link_kind, paths };

/* As udev writes it, where the nodes are the host's own. */
static struct fl_str target_of(struct fl_plan *plan, struct fl_str dev_root, struct fl_str path)
{
	const struct fl_str dev = FL_S("/dev/");

	if (!dev_root.len || fl_str_eq(dev_root, FL_S("/")))
		return fl_plan_printf(plan, "../%.*s", FL_ARG(fl_str_sub(path, dev.len, path.len)));
	return fl_plan_printf(plan, "%.*s%.*s", FL_ARG(dev_root), FL_ARG(path));
}

static struct fl_str name_of(struct fl_plan *plan, const struct fl_host_node *node)
{
	return fl_plan_printf(plan, "%d:%d", node->major, node->minor);
}

static bool is_nvidia(const struct fl_host_node *node)
{
	return fl_str_starts(node->path, FL_S("/dev/nvidia"));
}

void fl_gpu_links_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_gpu_links_facts *f = facts_;

	if (!f->settings || !f->settings->dev_links || !f->host || !f->host->has.seen)
		return;
	for (uint32_t i = 0; i < f->host->nodes.len; i++) {
		const struct fl_host_node *node = &f->host->nodes.at[i];
		struct fl_dev_link link = { 0 };

		if (!is_nvidia(node))
			continue;
		FL_SET(&link, target, target_of(plan, fl_gpu_written_dev(f->settings, f->host), node->path));
		fl_want(plan, &fl_gpu_links_owner,
			(struct fl_ref){ &fl_dev_link_kind, FL_S(""), name_of(plan, node), FL_S("") }, &link);
	}
	for (uint32_t i = 0; i < f->link_len; i++) {
		struct fl_ref ref = FL_REF(&fl_dev_link_kind, &f->links[i]);

		if (!fl_plan_find(plan, &fl_gpu_links_owner, ref))
			fl_want_gone(plan, ref);
	}
}
