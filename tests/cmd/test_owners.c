/* One writer a field, over all processes: what the capabilities of each may write is compared with that of all others.
 * `tests/lint/house` fails where a role's capabilities are missing here. */
#include "api/coordination.h"
#include "api/core.h"
#include "api/node.h"
#include "base/units.h"
#include "cmd/program.h"
#include "kind_lint.h"
#include "node/agent.h"
#include "run/loop.h"
#include "test.h"

struct process {
	const char *name;
	const struct fl_capability *const *capabilities;
};

static const struct process processes[] = {
	{ "controller", fl_controller_capabilities },
	{ "node", fl_agent_capabilities },
};

/* Two managers that may write the same field all the same, in the order of processes; without managers: the end. */
struct shares {
	const char *a, *b, *why;
};

static const struct shares shared[] = { { 0 } };

/* Kinds of the node's own are in its agent's memory and on its disk: no other process can write them. */
static bool is_of_server(const struct fl_kind *kind)
{
	return strcmp(kind->group, fl_card_kind.group) != 0;
}

static bool may_share(const struct shares *known, const struct fl_owner *a, const struct fl_owner *b)
{
	for (; known->a; known++)
		if (strcmp(known->a, a->manager) == 0 && strcmp(known->b, b->manager) == 0 && known->why)
			return true;
	return false;
}

/* How many owners of the second process get into the way of this one; each is a line. */
static uint32_t collide(const struct fl_owner *owner, const struct process *with, const struct shares *known,
			struct fl_buf *out)
{
	uint32_t compared = 0;

	for (const struct fl_capability *const *row = with->capabilities; *row; row++)
		for (const struct fl_owner *const *other = (*row)->owners; other && *other; other++, compared++) {
			struct fl_err err;

			if (fl_owners_apart(owner, *other, &err) < 0 && !may_share(known, owner, *other))
				fl_buf_printf(out, "%s: %s\n", with->name, err.text);
		}
	return compared;
}

static uint32_t compare(const struct process *all, size_t len, const struct shares *known, struct fl_buf *out)
{
	uint32_t compared = 0;

	for (size_t i = 0; i < len; i++)
		for (const struct fl_capability *const *row = all[i].capabilities; *row; row++)
			for (const struct fl_owner *const *owner = (*row)->owners; owner && *owner; owner++)
				for (size_t k = i + 1; is_of_server((*owner)->kind) && k < len; k++)
					compared += collide(*owner, &all[k], known, out);
	return compared;
}

TEST(no_two_processes_write_one_field)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);

	(void)compare(processes, FL_LEN(processes), shared, &out);
	CHECK_STR(fl_buf_view(&out), "");
}

/* The list is not empty by mistake: the agent has owners of what the API server keeps. */
TEST(the_agent_writes_its_node)
{
	uint32_t found = 0;

	for (const struct fl_capability *const *row = fl_agent_capabilities; *row; row++)
		for (const struct fl_owner *const *owner = (*row)->owners; owner && *owner; owner++) {
			OK(fl_owner_check(*owner, NULL));
			found += (*owner)->kind == &fl_own_node_kind;
		}
	CHECK(found > 3);
}

/* Those that tests/api/test_kinds.c does not have: the node's own. */
TEST(the_kinds_that_capabilities_read_are_sound)
{
	for (size_t i = 0; i < FL_LEN(processes); i++)
		for (const struct fl_capability *const *row = processes[i].capabilities; *row; row++)
			for (const struct fl_watched *watched = (*row)->watches; watched->kind; watched++) {
				struct fl_err err;

				OK_ERR(kind_lint(watched->kind, &err), &err);
			}
}

/* ---- the comparison itself, on a controller that there is not ---- */

static const char *const taint_paths[] = { "spec.taints", NULL };
static const struct fl_owner taints = { "agent-taints", &fl_own_node_kind, taint_paths };
static const struct fl_owner cards = { "agent-cards", &fl_card_kind, (const char *const[]){ "clean", NULL } };
static const struct fl_capability agent = { .name = "agent",
					    .owners = (const struct fl_owner *const[]){ &taints, &cards, NULL } };

static const struct {
	const char *says, *manager;
	const struct fl_kind *kind;
	const char *path;
	bool listed;
	const char *told;
} rows[] = {
	{ "another field", "pools", &fl_node_kind, "spec.unschedulable", false, "" },
	{ "the same field, which another table binds", "pools", &fl_node_kind, "spec.taints", false,
	  "agent: spec.taints of Node is written by pools and by agent-taints\n" },
	{ "the same field, listed with a reason", "pools", &fl_node_kind, "spec.taints", true, "" },
	{ "the same manager", "agent-taints", &fl_node_kind, "spec.unschedulable", false,
	  "agent: two owners of Node are both manager agent-taints: each apply removes what the other one applied; "
	  "rename one\n" },
	{ "a kind of the node's own", "agent-cards", &fl_card_kind, "clean", false, "" },
};

TEST(what_collides_is_told)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_KIB);
		struct fl_owner owner = { row->manager, row->kind, (const char *const[]){ row->path, NULL } };
		struct fl_capability pools = { .name = "pools",
					       .owners = (const struct fl_owner *const[]){ &owner, NULL } };
		struct process two[] = {
			{ "controller", (const struct fl_capability *const[]){ &pools, NULL } },
			{ "agent", (const struct fl_capability *const[]){ &agent, NULL } },
		};
		struct shares known[] = { { row->listed ? "pools" : NULL, "agent-taints", "each writes its own items" },
					  { 0 } };

		OK(fl_owner_check(&owner, NULL));
		CHECK_INT(compare(two, FL_LEN(two), known, &out), row->kind == &fl_card_kind ? 0 : 2);
		OK(fl_buf_check(&out, "test", NULL));
		CHECK_STR(fl_buf_view(&out), row->told);
	}
}
