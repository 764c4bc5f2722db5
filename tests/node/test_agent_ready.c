/* The files that NVIDIA's validator leaves, by the whole agent on a disk: other programs wait for them. */
#include "agent_world.h"
#include "test_io.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DRIVER, TOOLKIT, PLUGIN, CUDA, FOREIGN };
static const char *const names[] = { "driver-ready", "toolkit-ready", "plugin-ready", "cuda-ready", "vfio-pci-ready" };

static const char *at(const struct world *w, int which)
{
	static char path[200];

	(void)snprintf(path, sizeof path, "%s/%s", w->ready_dir, names[which]);
	return path;
}

static bool is_there(const struct world *w, int which)
{
	return access(at(w, which), F_OK) == 0;
}

static bool says(const struct world *w, int which, const char *first)
{
	char line[100] = "";
	FILE *file = fopen(at(w, which), "r");
	bool same = file && fgets(line, sizeof line, file) && strcmp(line, first) == 0;

	if (file)
		(void)fclose(file);
	return same;
}

static bool all_are(struct world *w, int there)
{
	return is_there(w, DRIVER) == there && is_there(w, TOOLKIT) == there && is_there(w, PLUGIN) == there;
}

static bool is_put_right(struct world *w, int arg)
{
	(void)arg;
	return says(w, DRIVER, "IS_HOST_DRIVER=false\n") && all_are(w, true);
}

static int write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -FL_E_IO;
	(void)fputs(text, file);
	return fclose(file) == 0 ? 0 : -FL_E_IO;
}

TEST_ONCE(what_has_passed_is_a_file_and_outlives_the_agent)
{
	char dir[120];
	WORLD(w, "two-t4", 0);

	(void)snprintf(dir, sizeof dir, "%s/validations", w.rig.folder);
	w.ready_dir = dir;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, all_are, true));   /* the directory is made */
	CHECK(is_put_right(&w, 0));   /* the fake driver is not at / */
	CHECK(!is_there(&w, CUDA));   /* not tried: nothing says that it works */

	OK(write_file(at(&w, FOREIGN), ""));
	agent_down(&w);
	CHECK(all_are(&w, true));
	OK(write_file(at(&w, DRIVER), "of another life\n"));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_put_right, 0));

	OK_ERR(rig_say(&w.rig, "driver absent", &w.err), &w.err);
	CHECK(until(&w, all_are, false));
	CHECK(is_there(&w, FOREIGN));
	OK_ERR(rig_say(&w.rig, "driver loaded", &w.err), &w.err);
	CHECK(until(&w, all_are, true));
	agent_down(&w);
	OK(unlink(at(&w, FOREIGN)));
}
