/* decide_labels.h - the capability that writes the labels of the GPUs: plan/labels/labels.h. */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_labels;
