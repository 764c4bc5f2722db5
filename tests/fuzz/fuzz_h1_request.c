/* What a client may send. */
#include "fuzz_h1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return both(FL_H1_REQUEST, data, size);
}
