/* fuzz.h - what a fuzz target defines: one function that takes any bytes and may only return.
 *
 * In mode fuzz libFuzzer calls it, for as long as ./dev fuzz says; in every other mode once.c calls it, once for each
 * file of the committed corpus, as one of the tests.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
