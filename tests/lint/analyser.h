/* analyser.h - what the analysers cannot see, because they look at one file at a time: a failure is negative.
 *
 * Put in front of every file by ./dev lint and by nothing else; without it they follow the way on which fl_fail()
 * returns 0, and find what nobody has set on it.
 */
#pragma once
#include "base/err.h"

#define fl_fail(...) ({ (void)(fl_fail)(__VA_ARGS__); -1; })
#define fl_fail_sys(...) ({ (void)(fl_fail_sys)(__VA_ARGS__); -1; })
#define fl_fail_as(...) ({ (void)(fl_fail_as)(__VA_ARGS__); -1; })
#define fl_wrap(...) ({ (void)(fl_wrap)(__VA_ARGS__); -1; })
