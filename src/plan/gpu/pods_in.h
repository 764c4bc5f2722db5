/* pods_in.h - functions shared by the parts of pods.h. */
#pragma once
#include "plan/gpu/pods.h"

/* The Pod of that name, or NULL. Only if Pods are known. */
const struct fl_own_pod *pods_find(const struct fl_gpu_pods_facts *facts, struct fl_str space, struct fl_str name);

/* Whether the Pod has ended or is being deleted. */
bool pods_ends(const struct fl_own_pod *pod);

/* Each adds its wants to the plan. True: it needs a watch on Pods. */
bool pods_book(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
bool pods_refused(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
bool pods_evict(const struct fl_gpu_pods_facts *facts, struct fl_plan *plan);
