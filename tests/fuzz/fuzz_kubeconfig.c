/* Any bytes as a kubeconfig, alone and merged behind a good one; and as what an exec plugin prints. */
#include "fuzz.h"
#include "kubeconfig.h"
#include <stdlib.h>

static const char good[] = "clusters: [{name: c, cluster: {server: https://h, certificate-authority: /ca}}]\n"
			   "users: [{name: u, user: {token: t}}]\n"
			   "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
			   "current-context: x\n";

static void read_files(const struct test_kubeconfig *files, uint32_t count)
{
	static const char *const env[] = { "HOME=/root", "PATH=/bin", NULL };
	struct fl_kube_where where = { .env = env };
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = test_kubeconfig(files, count, &where, NULL);

	/* What is taken is complete: a server, a namespace, and nothing in the clear to others. */
	if (config && (!config->server.len || !config->space.len || (config->exec && !config->exec->path)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct test_kubeconfig files[] = { { "/home/me/one", { (const char *)data, (uint32_t)size } },
					{ "/home/me/two", { good, sizeof good - 1 } } };
	struct fl_exec_credential got;

	read_files(files, 1);
	read_files(files, 2);
	if (fl_exec_credential_read(FL_EXEC_V1, files[0].text, &arena, &got, NULL) == 0 && !got.token.p && !got.cert.p)
		abort();
	return 0;
}
