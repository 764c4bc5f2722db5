/* Gives a fuzz target every file of a folder, once, and speaks TAP: the corpus as a test. */
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* 1: given to the target; 0: not a file; -1: could not be read. */
static int give(const char *path)
{
	struct stat st;
	uint8_t *data = NULL;
	FILE *file = fopen(path, "rb");
	int result = -1;

	if (!file)
		return -1;
	if (fstat(fileno(file), &st) == 0 && !S_ISREG(st.st_mode)) {
		result = 0;
	} else if ((data = malloc(st.st_size ? (size_t)st.st_size : 1)) != NULL) {
		/* A block of just this size, so that ASan sees a read past the end. */
		(void)LLVMFuzzerTestOneInput(data, fread(data, 1, (size_t)st.st_size, file));
		result = 1;
	}
	free(data);
	(void)fclose(file);
	return result;
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	int count = argc > 1 ? scandir(argv[1], &entries, NULL, alphasort) : -1, given = 0, unread = 0;
	char path[4096];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < count; i++) {
		int result;

		(void)snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
		printf("# %s\n", path); /* the last one said is the one that it died of */
		result = give(path);
		given += result > 0;
		unread += result < 0;
		free(entries[i]);
	}
	free(entries);
	printf("%sok 1 - every input of the corpus is taken or refused\n", given && !unread ? "" : "not ");
	printf("# %d inputs from %s, %d could not be read\n1..1\n", given, argc > 1 ? argv[1] : "nowhere", unread);
	return given && !unread ? 0 : 1;
}
