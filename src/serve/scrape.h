/* scrape.h - the page /metrics, for pages.c: a look at the process, then family by family, a slice a turn. */
#pragma once
#include "http/server.h"

void fl_scrape(struct fl_http_req *req);
