/* kubeconfig.h - a configuration from texts: what lies in the files of a merged list, without a file system. Exec
 * plugins are taken as they are named. */
#pragma once
#include "kube/config.h"

struct test_kubeconfig {
	const char *name;       /* for messages; relative paths are relative to its folder */
	struct fl_str text;
};

struct fl_kube_config *test_kubeconfig(const struct test_kubeconfig *texts, uint32_t count,
				       const struct fl_kube_where *where, struct fl_err *err);
