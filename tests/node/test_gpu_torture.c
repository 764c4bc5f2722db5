/* The driver's feeder with real children, while each allocation and call of the agent's side fails in turn. */
#include "gpu_rig.h"
#include "test_io.h"
#include <stdio.h>
#include <stdlib.h>

/* One fake driver for all rounds: what it takes to make it is none of the agent's. */
static struct gpu_rig tree;

static void remove_tree(void)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", tree.folder);
	if (tree.folder[0] && system(command) != 0)
		perror(command);
}

static int make_tree(struct fl_err *err)
{
	int r = tree.folder[0] ? 0 : rig_up(&tree, "two-t4", RIG_LATER, err);

	tree.loop = fl_loop_free(tree.loop);
	tree.metrics = fl_metrics_free(tree.metrics);
	tree.io = fl_io_free(tree.io);
	return r;
}

static bool are_listened_to(struct gpu_rig *rig, int cards)
{
	const struct fl_driver *driver = rig_see_driver(rig);

	if (!driver || driver->state != FL_DRIVER_READY)
		return false;
	for (int i = 0; i < cards; i++) {
		const struct fl_card *card = rig_see_card(rig, i);

		if (!card || card->answer != FL_CARD_ANSWERS || !card->events)
			return false;
	}
	return true;
}

static bool fault_is_told(struct gpu_rig *rig, int gpu)
{
	return rig_see_fault(rig, gpu, "xid79") != NULL;
}

static bool is_lost(struct gpu_rig *rig, int gpu)
{
	const struct fl_card *card = rig_see_card(rig, gpu);

	return card && card->answer == FL_CARD_LOST;
}

/* Of one that listens a report can go astray: when what leads to it breaks, it goes with it, and is not told twice. */
static bool fault_is_told_or_gone_with_a_child(struct gpu_rig *rig, int pid)
{
	return fault_is_told(rig, 1) || (test_tortured() && fl_gpu_state(rig->gpu).events != pid);
}

/* A failure costs time, and a child at most: all that the driver says arrives in the end, and nobody is taken for sick
 * who is not. */
TEST(whatever_fails_all_that_children_tell_arrives)
{
	FL_AUTO(gpu_rig) struct gpu_rig rig = { 0 };
	const struct fl_card *other;
	struct fl_err err = { 0 };
	struct fl_io *io;
	int listens;

	OK_ERR(make_tree(&err), &err);
	OK_ERR(rig_say(&tree, "heal any", &err), &err);
	io = test_io();
	GOT(io);
	OK_ERR(rig_again(&rig, &tree, io, &err), &err);
	CHECK(rig_until(&rig, are_listened_to, 2));
	listens = fl_gpu_state(rig.gpu).events;
	OK_ERR(rig_say(&tree, "xid 1 79", &err), &err);
	CHECK(rig_until(&rig, fault_is_told_or_gone_with_a_child, listens));
	for (int i = 0; i < 200 && !fault_is_told(&rig, 1); i++) {   /* the next child listens soon */
		OK_ERR(rig_say(&tree, "xid 1 79", &err), &err);
		rig_turn(&rig, 20 * FL_NS_PER_MS);
	}
	CHECK(rig_until(&rig, fault_is_told, 1));
	OK_ERR(rig_say(&tree, "lose 0", &err), &err);
	CHECK(rig_until(&rig, is_lost, 0));
	other = rig_see_card(&rig, 1);   /* the look may be refused memory */
	CHECK(!other || other->answer == FL_CARD_ANSWERS);
}

int atexit(void (*)(void));
__attribute__((constructor)) static void at_the_end(void)
{
	(void)atexit(remove_tree);
}
