#include "kubeconfig.h"
#include "kube/config_in.h"

struct fl_kube_config *test_kubeconfig(const struct test_kubeconfig *texts, uint32_t count,
				       const struct fl_kube_where *where, struct fl_err *err)
{
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = fl_zalloc(sizeof *config);
	struct fl_kc_files files = { .max = count, .arena = config ? &config->arena : NULL };

	files.at = config ? fl_arena_get_n(&config->arena, count, sizeof *files.at) : NULL;
	if (!files.at) {
		(void)fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		if (fl_kc_add(&files, fl_str(texts[i].name), texts[i].text, err) < 0)
			return NULL;
	return fl_kc_choose(&files, where, NULL, config, err) < 0 ? NULL : fl_steal(&config);
}
