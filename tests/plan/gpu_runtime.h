/* gpu_runtime.h - what the container runtime says of CDI, for the rows of test_gpu_lists. */
#pragma once
#include "test.h"

/* Of Runtime, in YAML. */
static inline const char *runtime_of(const char *others)
{
#define DIRS(more) "cdiKnown: true\ncdi: true\nourCDIDir: /var/run/cdi\ncdiDirs: " more "\n"
	static const char *const known[][2] = {
		{ "off", "cdiKnown: true\ncdi: false\n" }, { "unknown", "message: it does not answer\n" },
		{ "silent", "" }, { "other dir", DIRS("[/etc/cdi, /run/x]") },
		{ "crio dir", DIRS("[/etc/cdi]\ncdiDirsFrom: /etc/crio/crio.conf") },
		{ "same dir", DIRS("[/etc/cdi, /run/cdi/]") },
	};

	for (size_t i = 0; i < FL_LEN(known); i++)
		if (strcmp(others, known[i][0]) == 0)
			return known[i][1];
	return "cdiKnown: true\ncdi: true\n";
}
