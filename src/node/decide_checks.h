/* decide_checks.h - what the Node's conditions tell of the agent's own duties: that GPU programs have what they need
 * (plan/checks/checks.h), also as files (plan/checks/ready.h), and how GPU metrics are served
 * (plan/exporter/tell.h). */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_checks, fl_node_ready_files, fl_node_exporter;
