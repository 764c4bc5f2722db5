#include "json/libraries.h"
#include <stdio.h>
#include <yaml.h>
#include <yyjson.h>

void fl_json_libraries(void (*say)(void *self, const char *name, const char *version), void *self)
{
	uint32_t v = yyjson_version();   /* a byte each: major, minor, patch */
	char text[40];

	(void)snprintf(text, sizeof text, "%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
	say(self, "yyjson", text);
	say(self, "libyaml", yaml_get_version_string());
}
