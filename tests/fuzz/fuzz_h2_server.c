/* What a client may send after its preface. The first byte says how the server takes it. */
#include "fuzz_h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
	struct party party = { .mood = size ? data[0] : 0 };
	struct fl_h2_config config = { .user = &user, .arg = &party, .server = true,
		.no_http_messaging = party.mood & 16 };

	party.h2 = fl_h2_new(&config, NULL);
	must(party.h2 != NULL);
	give(&party, (const uint8_t *)hello, sizeof hello, sizeof hello);
	if (size)
		give(&party, data + 1, size - 1, party.mood & 32 ? 7 : SIZE_MAX / 2);
	fl_h2_free(party.h2);
	must(fl_mem_live() == 0);
	return 0;
}
