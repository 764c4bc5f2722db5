/* units.h - units of size and time, and durations and times as people and Go write them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FL_KIB 1024ull
#define FL_MIB (1024ull * FL_KIB)
#define FL_NS_PER_MS 1000000ull
#define FL_NS_PER_S 1000000000ull

struct fl_buf;
struct fl_str;

/* A Go duration: "10s", "1m30s", "500ms", "1.5h", "-2us", "0"; nanoseconds. False when it is none or does not fit. */
bool fl_duration(struct fl_str text, int64_t *ret_ns);

/* As Go prints it: "1h0m0s", "1m30s", "1.5s", "500ms", "0s". */
void fl_buf_duration(struct fl_buf *buf, int64_t ns);

/* RFC 3339 in UTC with microseconds: "2025-01-02T03:04:05.678901Z". */
void fl_buf_time(struct fl_buf *buf, int64_t ns_since_1970);
