/* The splitter as it is built where there is no SSE2: same tests, no vector instructions. The objects defined here win
 * over those in the library. */
#define FL_NO_SIMD
#include "json/split.c"
#undef BLOCK
#include "test_split.c"
