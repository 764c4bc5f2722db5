/* mig_check FILE - is it mig-parted's? Prints the names of its layouts, or why it is not. For tests/peer/mig. */
#include "node/settings/mig_file.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char text[FL_MIG_FILE_MAX];
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	struct fl_mig_file got = { 0 };
	struct fl_err err = { 0 };
	size_t len;

	if (!file)
		return 2;
	len = fread(text, 1, sizeof text, file);
	(void)fclose(file);
	if (fl_mig_file_read((struct fl_str){ text, (uint32_t)len }, &arena, &got, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (uint32_t i = 0; i < got.configs.len; i++)
		printf("%.*s\n", FL_ARG(got.configs.at[i].name));
	return 0;
}
