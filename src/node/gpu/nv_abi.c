#include "node/gpu/nv_abi.h"

#include <string.h>

#define SYMBOL(result, member_, arguments, ...) { .member = #member_, .names = { __VA_ARGS__ } },
const struct fl_nv_symbol fl_nv_symbols[] = { FL_NV_CALLS(SYMBOL) };
const size_t fl_nv_symbols_n = sizeof(fl_nv_symbols) / sizeof(*fl_nv_symbols);

/* The table fills struct fl_nv_calls as if it were an array. */
_Static_assert(sizeof(fl_nv_symbols) / sizeof(*fl_nv_symbols) == sizeof(struct fl_nv_calls) / sizeof(void *),
	       "a symbol for every member");

size_t fl_nv_resolve(struct fl_nv_calls *calls, void *(*find)(void *library, const char *name), void *library)
{
	size_t found = 0;

	memset(calls, 0, sizeof(*calls));
	for (size_t i = 0; i < fl_nv_symbols_n; i++) {
		void *at = NULL;
		for (size_t n = 0; !at && n < FL_NV_NAMES_MAX && fl_nv_symbols[i].names[n]; n++)
			at = find(library, fl_nv_symbols[i].names[n]);
		memcpy((char *)calls + i * sizeof(at), &at, sizeof(at));
		found += at != NULL;
	}
	return found;
}

const char *fl_nv_code_name(int code)
{
#define NAMED(name, number) { (number), #name },
	static const struct {
		int code;
		const char *name;
	} codes[] = { FL_NV_CODES(NAMED) };

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return codes[i].name;
	return NULL;
}
