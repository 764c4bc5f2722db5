#include "serve/scrape.h"
#include "base/units.h"
#include "serve/pages.h"

/* What a scrape takes of a turn: a quarter of the promised 2 ms. One family is the least, and has FL_METRIC_SERIES. */
#define FL_SCRAPE_SLICE (FL_NS_PER_MS / 2)
/* What is written at once. It is copied for the client: in blocks that malloc keeps, not in ones that it maps anew. */
#define FL_SCRAPE_PIECE (32 * FL_KIB)
#define FL_SCRAPE_QUEUE (64 * FL_KIB)         /* of the text, before the client has taken it */
/* To look into /proc; a disk that hangs keeps the worker, and a scrape then tells what was seen before. */
#define FL_PROCESS_TIMEOUT (200 * FL_NS_PER_MS)

/* One scrape that is under way. Ends with the answer, or when the client goes. */
struct scrape {
	struct fl_pages *pages;
	struct fl_http_req *req;
	struct fl_process_look look;
	struct fl_timer timer;             /* the next slice */
	struct fl_family *family;          /* the last one that was written */
	struct fl_pages_at at;             /* of a text that is not the registry's */
	struct fl_buf text;
	bool begun, waits;                 /* waits: for the client to take what is queued */
};

static void end(struct scrape *scrape)
{
	fl_op_cancel(&scrape->look.op);
	fl_timer_stop(scrape->pages->io, &scrape->timer);
	fl_buf_free(&scrape->text);
	fl_free(scrape);
}

static void gone(void *arg)
{
	end(arg);
}

static void drained(void *arg)
{
	struct scrape *scrape = arg;

	if (!scrape->waits)
		return;
	scrape->waits = false;
	fl_timer_set(scrape->pages->io, &scrape->timer, fl_now(scrape->pages->io));
}

static const struct fl_http_req_user user = { .gone = gone, .drained = drained };
static const struct fl_header type = { FL_S_INIT("content-type"), FL_S_INIT(FL_METRICS_CONTENT_TYPE) };
static const struct fl_headers headers = { &type, 1 };

/* The usual scrape is over within its first slice, and has a length. */
static void tell(struct scrape *scrape, bool last)
{
	struct fl_http_req *req = scrape->req;

	if (last && !scrape->begun) {
		fl_http_req_answer(req, 200, headers, fl_buf_view(&scrape->text));
		end(scrape);
		return;
	}
	if (!scrape->begun)
		fl_http_req_begin(req, 200, headers, -1);
	scrape->begun = true;
	fl_http_req_send(req, fl_buf_view(&scrape->text));
	fl_buf_clear(&scrape->text);
	if (last) {
		fl_http_req_end(req, FL_NO_HEADERS);
		end(scrape);
		return;
	}
	scrape->waits = fl_http_req_queued(req) >= FL_SCRAPE_QUEUE;
	if (!scrape->waits)
		fl_timer_set(scrape->pages->io, &scrape->timer, fl_now(scrape->pages->io));
}

/* Half a text is no text: a scraper would take what is missing for gone. */
static void refuse(struct scrape *scrape)
{
	struct fl_http_req *req = scrape->req;

	if (scrape->begun)
		fl_http_req_cut(req);
	else
		fl_http_req_say(req, 503, "no memory for the metrics");
	end(scrape);
}

/* One piece of the text; false: the last. */
static bool write_piece(struct scrape *scrape, uint64_t until)
{
	struct fl_pages *pages = scrape->pages;

	if (pages->text)
		return pages->text(pages->self, &scrape->at, until, &scrape->text);
	do
		scrape->family = fl_metrics_next(pages->metrics, scrape->family, &scrape->text);
	while (scrape->family && fl_clock(pages->io) < until && scrape->text.len < FL_SCRAPE_PIECE);
	return scrape->family;
}

static void slice(struct fl_timer *timer)
{
	struct scrape *scrape = fl_container(timer, struct scrape, timer);
	struct fl_pages *pages = scrape->pages;
	bool more;

	fl_io_name(pages->io, "scrape");
	more = write_piece(scrape, fl_clock(pages->io) + FL_SCRAPE_SLICE);
	if (scrape->text.failed)
		refuse(scrape);
	else
		tell(scrape, !more);
}

/* Whether it could be seen or not: what is known is told. */
static void looked(struct fl_op *op)
{
	slice(&fl_container(op, struct scrape, look.op)->timer);
}

void fl_scrape(struct fl_http_req *req)
{
	struct fl_pages *pages = fl_pages_of(req);
	struct scrape *scrape = fl_zalloc(sizeof *scrape);

	if (!scrape) {
		fl_http_req_say(req, 503, "no memory for the metrics");
		return;
	}
	scrape->pages = pages;
	scrape->req = req;
	scrape->text = FL_BUF(FL_METRICS_TEXT);
	scrape->timer.fire = slice;
	fl_http_req_on(req, &user, scrape);
	if (!pages->process) {
		fl_timer_set(pages->io, &scrape->timer, fl_now(pages->io));
		return;
	}
	scrape->look.into = pages->process;
	scrape->look.op = (struct fl_op){ .done = looked, .deadline = fl_now(pages->io) + FL_PROCESS_TIMEOUT };
	fl_process_look(pages->io, &scrape->look);
}
