#include "node/api/watching.h"

int fl_watching_open(struct fl_watching *watching, const struct fl_watch_options *options, struct fl_err *err)
{
	struct fl_watch_options own = *options;

	if (watching->watch || !watching->kube)
		return 0;
	own.any_first = !watching->ahead;
	own.since = watching->ahead ? FL_S("") : fl_str(watching->seen);
	watching->watch = fl_watch_new(watching->kube, &own, err);
	return watching->watch ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

bool fl_watching_close(struct fl_watching *watching)
{
	struct fl_str version;

	if (!watching->watch)
		return false;
	version = fl_watch_info(watching->watch).version;
	if (version.len && version.len < sizeof watching->seen) {
		memcpy(watching->seen, version.p, version.len);
		watching->seen[version.len] = '\0';
	}
	watching->watch = fl_watch_free(watching->watch);
	watching->ahead = fl_feed_ahead(watching->feed);
	return true;
}
