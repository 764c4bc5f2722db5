/* watching.h - a watch of the API server that is open only while a plan wants it. */
#pragma once
#include "kube/watch.h"
#include "run/loop.h"

#define FL_WATCHING_VERSION 64   /* bytes of a resourceVersion: a decimal number */

/* Zeroed but for the first two. */
struct fl_watching {
	struct fl_kube *kube;          /* NULL: there is no API server, and nothing is opened */
	struct fl_feed *feed;
	struct fl_watch *watch;        /* NULL: closed */
	char seen[FL_WATCHING_VERSION];   /* the version that the last watch ended at: the next begins no earlier */
	bool ahead;                    /* it ended before it told of all that we had written */
};

/* Opens it, if it is not open; .any_first and .since of the options are its own. */
int fl_watching_open(struct fl_watching *watching, const struct fl_watch_options *options, struct fl_err *err)
	FL_MUSTUSE;
/* False: it was not open. */
bool fl_watching_close(struct fl_watching *watching);
