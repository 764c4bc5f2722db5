/* fakectl: makes a fake GPU node and changes it while programs use it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "fake/nvml/control.h"

static int help(FILE *out)
{
	fprintf(out, "fakectl up NODE TOPOLOGY [SEED [NUMBER]]   make the fake node in the folder NODE\n"
		     "fakectl tree NODE [LIBRARY]                NODE/root: its /dev, /proc, /sys and driver files\n"
		     "fakectl follow NODE                        keep those of MIG up to date, until killed\n"
		     "fakectl say NODE WORD...                   change it, or look at it:\n");
	fake_help(out);
	return out == stdout ? 0 : 2;
}

static const char *called = "fakectl";   /* or "fairlead: sim", whose words these are then */

static int told(const struct fl_err *err)
{
	fprintf(stderr, "%s: %s\n", called, err->text);
	return 1;
}

static int up(int argc, char **argv)
{
	struct fl_err err = { 0 };
	uint64_t seed = 1, node = 0;

	if (argc > 6 || (argc > 4 && !fl_str_u64(fl_str(argv[4]), &seed)) ||
	    (argc > 5 && !fl_str_u64(fl_str(argv[5]), &node)))
		return help(stderr);
	return fake_up(argv[3], argv[2], seed, (uint32_t)node, &err) ? 0 : told(&err);
}

static int say(struct fake_state *state, int argc, char **argv)
{
	struct fl_err err = { 0 };
	char line[512] = "";

	for (int i = 3; i < argc; i++) {
		size_t len = strlen(line);
		if (snprintf(line + len, sizeof(line) - len, "%s%s", len ? " " : "",
			argv[i]) >= (int)(sizeof(line) - len))
			return help(stderr);
	}
	return fake_say(state, line, stdout, &err) < 0 ? told(&err) : 0;
}

/* Whatever rings the bell may be a change of MIG; who makes instances sees their capabilities a moment later. */
static int follow(struct fake_state *state, const char *folder)
{
	struct fl_err err = { 0 };
	struct fake_state *copy = fl_alloc(sizeof(*copy));

	for (bool first = true; copy; first = false) {
		fake_lock(state);
		memcpy(copy, state, sizeof(*copy));
		fake_unlock(state);
		if (fake_tree_caps(copy, folder, &err) < 0)
			break;
		if (first) {
			puts("ready");
			fflush(stdout);
		}
		while (__atomic_load_n(&state->bell, __ATOMIC_SEQ_CST) == copy->bell)
			fake_wait(state, copy->bell, 60000);
	}
	fl_free(copy);
	return told(&err);
}

int main(int argc, char **argv)
{
	struct fl_err err = { 0 };

	if (argc && !strchr(argv[0], '/'))
		called = argv[0];
	if (argc > 1 && strcmp(argv[1], "help") == 0)
		return help(stdout);
	if (argc < 3)
		return help(stderr);
	if (strcmp(argv[1], "up") == 0 && argc > 3)
		return up(argc, argv);
	struct fake_state *state = fake_map(argv[2]);
	if (!state) {
		fprintf(stderr, "%s: %s: %s\n", called, argv[2], strerror(errno));
		return 1;
	}
	if (strcmp(argv[1], "tree") == 0 && argc < 5)
		return fake_tree(state, argv[2], argv[3], &err) < 0 ? told(&err) : 0;
	if (strcmp(argv[1], "follow") == 0 && argc == 3)
		return follow(state, argv[2]);
	if (strcmp(argv[1], "say") == 0 && argc > 3)
		return say(state, argc, argv);
	return help(stderr);
}
