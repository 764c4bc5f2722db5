#include "guard_house.h"

static void serve(struct fl_http_req *req)
{
	struct guard_house *house = fl_http_req_service(req);
	uint64_t turn = fl_io_turns(house->guard.io)->count;

	house->in_turn = turn == house->turn ? house->in_turn + 1 : 1;
	house->turn = turn;
	if (house->in_turn > house->most_in_turn)
		house->most_in_turn = house->in_turn;
	fl_http_req_answer(req, 200, FL_NO_HEADERS, FL_S("secret"));
}

static void ask(struct fl_http_req *req)
{
	fl_guard_serve(&((struct guard_house *)fl_http_req_service(req))->guard, req, serve);
}

static const struct fl_http_route routes[] = { { "GET", "/metrics", ask } };

static void house_gone(void *self)
{
	struct guard_house *house = self;

	fl_guard_stop(&house->guard);
	house->server = fl_http_server_free(house->server);
	script_close(&house->script);
}

int guard_house_boot(struct sim_process *process)
{
	struct guard_house *house = sim_arg(process);
	struct fl_http_server_options options = { .routes = routes, .route_count = 1, .service = house };
	struct fl_addr addr = sim_addr(sim_host_of(process), 80);

	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	if (script_open(&house->script, house->says) < 0)
		return -FL_E_NOMEM;
	house->guard = (struct fl_guard){ .io = sim_io(process), .kube = house->alone ? NULL : house->script.kube };
	house->server = fl_http_server_new(sim_io(process), &options, &house->err);
	if (!house->server || fl_guard_start(&house->guard, &house->err) < 0)
		return -FL_E_NOMEM;
	return fl_http_server_listen(house->server, &addr, 0, NULL, NULL, &house->err);
}
