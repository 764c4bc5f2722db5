/* pods_in.h - what the parts of pods.h share. */
#pragma once
#include "plan/gpu/pods.h"

/* The Pod of that name; NULL: there is none. Only if Pods are known. */
const struct fl_own_pod *pods_find(const struct fl_gpu_pods_facts *facts, struct fl_str space, struct fl_str name);

/* Is the Pod over, or about to be? */
bool pods_ends(const struct fl_own_pod *pod);

/* Each part: what it wants of the plan. True: it needs Pods to be watched. */
bool pods_book(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
bool pods_refused(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
bool pods_evict(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
