/* node_report.h - the kinds of a GPU node that are about what it reports: they live in the agent's caches, as those of
 * api/node.h.
 *
 *     LabelFile   a fact: a file of NFD's local source
 *     ReadyFile   a file that says that a check has passed, by its check: "driver"
 *     LabelLag    what NFD is given time for: "labels", "move"
 *     Check       whether something that GPU programs need works, by its name: "driver", "pcie"
 *     Exporter    a fact: how GPU metrics are served: "exporter"
 */
#pragma once
#include "api/node.h"

/* ---- Check: by its name (plan/checks/checks.h) ---- */
enum fl_check_result {
	FL_CHECK_PASSED,
	FL_CHECK_FAILED,
	FL_CHECK_SKIPPED,      /* there is nothing to check here */
	FL_CHECK_STALE,        /* an earlier result, and what it looked at is not known now */
	FL_CHECK_RESULT_COUNT_
};
extern const struct fl_names fl_check_result_names;

/* The condition has the time of the result; its changes become Events. */
#define FL_CHECK_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_check_status, FL_CHECK_STATUS);
#define FL_CHECK(X) \
	FL_LOCAL(X) \
	X(ENUM(fl_check_result), result, "result", .required = true, .help = "Its result.") \
	X(STR, reason, "reason", .help = "Why, in one word: Narrow.") \
	X(STR, message, "message", .help = "What is wrong, and what to do.") \
	X(OBJ(fl_check_status), status, "status", .help = "The same as a condition.")
FL_STRUCT(fl_check, FL_CHECK);
extern const struct fl_kind fl_check_kind;

/* ---- Exporter ---- */
enum fl_exporter_access {
	FL_EXPORTER_OPEN,          /* everybody */
	FL_EXPORTER_TOKENS,        /* by token review */
	FL_EXPORTER_CERTIFICATES,  /* by a client certificate, or else by token review */
	FL_EXPORTER_MACHINE,       /* nobody else knows tokens */
	FL_EXPORTER_ACCESS_COUNT_
};
extern const struct fl_names fl_exporter_access_names;
#define FL_EXPORTER_STATUS(X) \
	FL_LOCAL(X) \
	X(BOOL, off, "off", .help = "Is nobody to be served?") \
	X(STR, listen, "listen", .help = "Where GPU metrics are served.") \
	X(BOOL, tls, "tls", .help = "By TLS?") \
	X(ENUM(fl_exporter_access), access, "access", .help = "Who may read them.") \
	X(STR, closed, "closed", .help = "Why they are not served.") \
	X(STR, web, "webConfig", .help = "Why the web config is not in force.") \
	X(STR, list, "list", .help = "Why the list of metrics is not in force.")
FL_STRUCT(fl_exporter_status, FL_EXPORTER_STATUS);
extern const struct fl_kind fl_exporter_status_kind;

/* ---- LabelFile: a file with labels for NFD's local source, by its name; "." stands for a missing directory ---- */
#define FL_LABEL_FILE(X) \
	FL_LOCAL(X) \
	X(MAP, labels, "labels", .help = "The labels in it.") \
	X(BOOL, ours, "ours", .help = "Did an agent write it?") \
	X(STR, why, "why", .help = "Why it cannot be read, or the directory is missing.")
FL_STRUCT(fl_label_file, FL_LABEL_FILE);
extern const struct fl_kind fl_label_file_kind;

/* ---- ReadyFile: what NVIDIA's validator leaves for programs that wait for it: "driver", of the file driver-ready
 * ---- */
#define FL_READY_FILE(X) \
	FL_LOCAL(X) \
	X(STR, content, "content", .help = "The file's text; absent: it cannot be read.") \
	X(STR, why, "why", .help = "Why it cannot be read.")
FL_STRUCT(fl_ready_file, FL_READY_FILE);
extern const struct fl_kind fl_ready_file_kind;

/* ---- LabelLag: "labels": the Node does not have the labels that were written for it; "move": they are in a file now,
 * and still in the NodeFeature, until NFD has read the file ---- */
#define FL_LABEL_LAG(X) \
	FL_LOCAL(X) \
	X(I64, since, "since", .required = true, .help = "Since when: ns of the loop's clock.")
FL_STRUCT(fl_label_lag, FL_LABEL_LAG);
extern const struct fl_kind fl_label_lag_kind;
