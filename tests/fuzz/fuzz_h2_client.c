/* What a server may send to a client with three requests open. The first byte says how the client takes it. */
#include "fuzz_h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t hello[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };
	struct fl_http_head head = { .method = FL_S("GET"), .scheme = FL_S("http"), .authority = FL_S("a"),
		.target = FL_S("/") };
	struct party party = { .mood = size ? data[0] : 0 };
	struct fl_h2_config config = { .user = &user, .arg = &party };

	party.h2 = fl_h2_new(&config, NULL);
	must(party.h2 != NULL);
	for (; party.used < 3; party.used++)
		must(fl_h2_request(party.h2, &party.streams[party.used], &head, party.used == 1, NULL) == 0);
	give(&party, hello, sizeof hello, sizeof hello);
	if (size)
		give(&party, data + 1, size - 1, party.mood & 32 ? 7 : SIZE_MAX / 2);
	fl_h2_free(party.h2);
	must(fl_mem_live() == 0);
	return 0;
}
