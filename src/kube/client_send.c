#include "kube/client_in.h"

#define FL_KUBE_HEAD_TIMEOUT (60 * FL_NS_PER_S)   /* to the answer's head: the API server's own limit of a request */

static const struct {
	const char *method, *type;
} verbs[] = {
	[FL_KUBE_GET] = { "GET", NULL }, [FL_KUBE_LIST] = { "GET", NULL }, [FL_KUBE_WATCH] = { "GET", NULL },
	[FL_KUBE_CREATE] = { "POST", "application/json" }, [FL_KUBE_UPDATE] = { "PUT", "application/json" },
	[FL_KUBE_APPLY] = { "PATCH", "application/apply-patch+yaml" },
	[FL_KUBE_MERGE] = { "PATCH", "application/merge-patch+json" },
	[FL_KUBE_JSON_PATCH] = { "PATCH", "application/json-patch+json" },
	[FL_KUBE_DELETE] = { "DELETE", "application/json" },
};
_Static_assert(FL_LEN(verbs) == FL_KUBE_VERB_COUNT_, "a method for every verb");

struct fl_str fl_flight_method(const struct fl_kube_call *call)
{
	return fl_str(verbs[call->verb].method);
}

/* ---- the target ---- */

struct query {
	struct fl_buf *buf;
	bool begun;
};

static void ask(struct query *q, const char *name, struct fl_str value)
{
	fl_buf_char(q->buf, q->begun ? '&' : '?');
	q->begun = true;
	fl_buf_str(q->buf, fl_str(name));
	fl_buf_char(q->buf, '=');
	fl_buf_url(q->buf, value);
}

static void ask_if(struct query *q, const char *name, struct fl_str value)
{
	if (value.len)
		ask(q, name, value);
}

static void ask_number(struct query *q, const char *name, uint32_t value)
{
	char text[16];
	struct fl_buf buf = FL_BUF_IN(text);

	fl_buf_printf(&buf, "%u", value);
	ask(q, name, fl_buf_view(&buf));
}

/* Before 1.33 an API server answers a list with a limit from etcd, of all objects of the kind, and one with a version
 * alone from its cache. */
static void ask_list(struct query *q, const struct fl_kube_flight *flight)
{
	const struct fl_kube_call *call = flight->call;

	ask_if(q, "labelSelector", call->labels);
	ask_if(q, "fieldSelector", call->fields);
	/* A token says the version; both are refused. */
	if (call->version.len && !flight->resume.len) {
		ask(q, "resourceVersion", call->version);
		ask(q, "resourceVersionMatch", FL_S("NotOlderThan"));
		return;
	}
	ask_number(q, "limit", call->limit ? call->limit : FL_KUBE_PAGE);
	if (flight->resume.len)
		ask(q, "continue", fl_buf_view(&flight->resume));
}

static void ask_watch(struct query *q, const struct fl_kube_call *call)
{
	ask(q, "watch", FL_S("true"));
	ask_if(q, "labelSelector", call->labels);
	ask_if(q, "fieldSelector", call->fields);
	ask_if(q, "resourceVersion", call->version);
	if (call->bookmarks)
		ask(q, "allowWatchBookmarks", FL_S("true"));
	if (call->initial_events) {
		ask(q, "sendInitialEvents", FL_S("true"));
		ask(q, "resourceVersionMatch", FL_S("NotOlderThan"));
	}
	if (call->timeout_s)
		ask_number(q, "timeoutSeconds", call->timeout_s);
}

static void ask_write(struct query *q, const struct fl_kube_call *call)
{
	ask(q, "fieldManager", fl_str(call->manager ? call->manager : "fairlead"));
	if (call->verb == FL_KUBE_APPLY && call->force)
		ask(q, "force", FL_S("true"));
	if (call->dry_run)
		ask(q, "dryRun", FL_S("All"));
	if (call->strict)
		ask(q, "fieldValidation", FL_S("Strict"));
}

static void put_target(struct fl_kube_flight *flight)
{
	const struct fl_kube_call *call = flight->call;
	struct query q = { .buf = &flight->target };

	fl_buf_clear(&flight->target);
	if (call->path)
		fl_buf_str(&flight->target, fl_str(call->path));
	else
		fl_kind_path(call->kind, call->kind->cluster_scoped ? FL_S("") : call->space,
			     call->verb == FL_KUBE_CREATE && !call->subresource ? FL_S("") : call->name,
					call->subresource,
			     &flight->target);
	q.begun = call->path && strchr(call->path, '?');
	switch (call->verb) {
	case FL_KUBE_GET:
	case FL_KUBE_DELETE:
	case FL_KUBE_VERB_COUNT_: break;
	case FL_KUBE_LIST: ask_list(&q, flight); break;
	case FL_KUBE_WATCH: ask_watch(&q, call); break;
	case FL_KUBE_CREATE:
	case FL_KUBE_UPDATE:
	case FL_KUBE_APPLY:
	case FL_KUBE_MERGE:
	case FL_KUBE_JSON_PATCH: ask_write(&q, call); break;
	}
}

/* ---- the body ---- */

static void put_key_str(struct fl_jw *w, const char *key, struct fl_str value)
{
	if (!value.len)
		return;
	fl_jw_key(w, fl_str(key));
	fl_jw_str(w, value);
}

static void put_delete(struct fl_kube_flight *flight)
{
	const struct fl_kube_call *call = flight->call;
	struct fl_jw w = FL_JW(&flight->body);

	fl_buf_clear(&flight->body);
	fl_jw_obj(&w);
	put_key_str(&w, "kind", FL_S("DeleteOptions"));
	put_key_str(&w, "apiVersion", FL_S("v1"));
	if (call->if_uid.len || call->if_version.len) {
		fl_jw_put(&w, "preconditions", obj);
		put_key_str(&w, "uid", call->if_uid);
		put_key_str(&w, "resourceVersion", call->if_version);
		fl_jw_end_obj(&w);
	}
	if (call->propagation != FL_PROPAGATION_DEFAULT)
		put_key_str(&w, "propagationPolicy", fl_str(fl_name(&fl_propagation_names, call->propagation)));
	if (call->now || call->grace_s)
		fl_jw_put(&w, "gracePeriodSeconds", i64, call->now ? 0 : call->grace_s);
	if (call->dry_run) {
		fl_jw_put(&w, "dryRun", raw, FL_S("[\"All\"]"));
	}
	fl_jw_end_obj(&w);
}

/* A body that is asked for at the last moment: what the fence says then is what counts. */
static int64_t pull(struct fl_http_call *http, void *room, size_t len, bool *ret_end)
{
	struct fl_kube_flight *flight = fl_container(http, struct fl_kube_flight, http);
	struct fl_str body = flight->body.len ? fl_buf_view(&flight->body) : flight->call->body;
	size_t left = body.len - flight->body_at;

	if (!flight->call->may_send(flight->call->may_arg)) {
		flight->refused = true;
		return -FL_E_DENIED;
	}
	if (len > left)
		len = left;
	if (len)
		memcpy(room, body.p + flight->body_at, len);
	flight->body_at += len;
	*ret_end = len == left;
	return (int64_t)len;
}

/* ---- the headers ---- */

static int add_header(struct fl_kube_flight *flight, struct fl_str name, struct fl_str value)
{
	if (!value.len)
		return 0;
	if (flight->header_count == FL_FLIGHT_HEADERS)
		return -FL_E_TOOBIG;
	flight->headers[flight->header_count++] = (struct fl_header){ name, value };
	return 0;
}

static int put_headers(struct fl_kube_flight *flight, struct fl_err *err)
{
	const struct fl_kube_config *config = flight->kube->config;
	const struct fl_kube_call *call = flight->call;
	int r;

	flight->header_count = 0;
	r = add_header(flight, FL_S("accept"), fl_str(call->accept ? call->accept : "application/json"));
	if (r == 0)
		r = add_header(flight, FL_S("content-type"), fl_str(verbs[call->verb].type));
	if (r == 0)
		r = add_header(flight, FL_S("authorization"), fl_buf_view(&flight->kube->basic));
	if (r == 0)
		r = add_header(flight, FL_S("fairlead-authorization"), call->forwarded);
	if (r == 0)
		r = add_header(flight, FL_S("impersonate-user"), config->as);
	if (r == 0)
		r = add_header(flight, FL_S("impersonate-uid"), config->as_uid);
	for (uint32_t i = 0; r == 0 && i < config->as_group_count; i++)
		r = add_header(flight, FL_S("impersonate-group"), config->as_groups[i]);
	return r < 0 ? fl_fail(err, FL_E_TOOBIG, "too many groups to impersonate") : 0;
}

/* ---- all of it ---- */

int fl_flight_prepare(struct fl_kube_flight *flight, struct fl_err *err)
{
	struct fl_kube_call *call = flight->call;
	struct fl_http_call *http = &flight->http;

	put_target(flight);
	if (call->verb == FL_KUBE_DELETE)
		put_delete(flight);
	if (fl_buf_check(&flight->target, "path and selectors", err) < 0 ||
	    fl_buf_check(&flight->body, "the body", err) < 0 || put_headers(flight, err) < 0)
		return -(int)err->code;
	*http = (struct fl_http_call){
		.op = { .done = fl_flight_done, .err = &flight->err },
		.method = fl_flight_method(call), .target = fl_buf_view(&flight->target),
		.headers = { flight->headers, flight->header_count },
		.body = flight->body.len ? fl_buf_view(&flight->body) : call->body,
		.head_timeout = FL_KUBE_HEAD_TIMEOUT,
		.idle_timeout = call->verb == FL_KUBE_WATCH ? 0 : FL_KUBE_HEAD_TIMEOUT,
		/* Twice the same has the same end. */
		.idempotent = call->verb == FL_KUBE_APPLY || call->verb == FL_KUBE_MERGE,
		.head = fl_flight_head, .got = fl_flight_got,
	};
	flight->body_at = 0;
	if (call->may_send && verbs[call->verb].type) {
		http->pull = pull;
		http->pull_length = http->body.len;
	}
	return 0;
}
