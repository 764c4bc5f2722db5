/* What the kubelet asks of a resource, and is answered. */
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "plugin_world.h"

#define MPS(root, replicas) \
	"[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"ways\":[\"cdi-cri\"],\"cdiKind\":\"test.dev/gpu\"," \
	"\"mpsRoot\":\"" root "\",\"units\":[{\"id\":\"GPU-0\",\"healthy\":true,\"replicas\":" replicas "}]}]"

struct call {
	struct fl_grpc_request request;
	struct fl_err err;
	bool done;
};

static void call_auto_(struct call *call)
{
	fl_op_cancel(&call->request.op);
	fl_arena_free(&call->request.arena);
}

static void call_done(struct fl_op *op)
{
	fl_container(op, struct call, request.op)->done = true;
}

static bool is_done(void *call)
{
	return ((struct call *)call)->done;
}

/* By the connection that the kubelet has: its result. */
static int64_t ask(struct world *w, struct call *call, const struct fl_grpc_method *method,
		   const ProtobufCMessage *message)
{
	struct fake_stream *stream = fake_kubelet_find(&w->kubelet, GPU);

	if (!stream)
		return -FL_E_CLOSED;
	call_auto_(call);
	*call = (struct call){ .request = { .method = method, .message = message } };
	call->request.op = (struct fl_op){ .done = call_done, .err = &call->err };
	fl_grpc_start(stream->client, &call->request);
	(void)node_until(&w->node, SOON, is_done, call);
	return call->request.op.result;
}

static int64_t allocate(struct world *w, struct call *call, char **ids, size_t len)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[1] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;

	container.n_devices_ids = len;
	container.devices_ids = ids;
	request.n_container_requests = 1;
	request.container_requests = containers;
	return ask(w, call, &fl_plugin_allocate, &request.base);
}

static int64_t pre_start(struct world *w, struct call *call, char **ids, size_t len)
{
	V1beta1__PreStartContainerRequest request = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;

	request.n_devices_ids = len;
	request.devices_ids = ids;
	return ask(w, call, &fl_plugin_pre_start, &request.base);
}

static int64_t prefer(struct world *w, struct call *call, char **ids, size_t len, int32_t size)
{
	V1beta1__ContainerPreferredAllocationRequest container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerPreferredAllocationRequest *containers[1] = { &container };
	V1beta1__PreferredAllocationRequest request = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;

	container.n_available_deviceids = len;
	container.available_deviceids = ids;
	container.allocation_size = size;
	request.n_container_requests = 1;
	request.container_requests = containers;
	return ask(w, call, &fl_plugin_preferred, &request.base);
}

static void check_mps(struct world *w, struct call *call, const char *shm)
{
	char gpu0[] = "GPU-0::1", *first[] = { gpu0 };
	const V1beta1__AllocateResponse *reply;
	const V1beta1__ContainerAllocateResponse *got;

	CHECK_INT(allocate(w, call, first, 1), 0);
	reply = (const void *)call->request.reply;
	CHECK(reply);
	got = reply->container_responses[0];
	CHECK_INT(got->n_cdi_devices, 1);
	CHECK_INT(got->n_envs, 1);
	CHECK_STR(fl_str(got->envs[0]->value), "/mps/nvidia.com/gpu/pipe");
	CHECK_INT(got->n_mounts, 2);
	CHECK_STR(fl_str(got->mounts[1]->host_path), shm);
}

TEST_ONCE(what_all_containers_get_is_that_of_the_newest_list)   /* memory: test_plugin and those of the plan */
{
	WORLD(w);
	FL_AUTO(call) struct call call = { 0 };

	KUBELET(w);
	WISH(w, MPS("/m", "2"));
	CHECK(comes(&w, GPU, "GPU-0::0 GPU-0::1", SOON));
	check_mps(&w, &call, "/m/shm");
	WISH(w, MPS("/n", "3"));
	CHECK(comes(&w, GPU, "GPU-0::0 GPU-0::1 GPU-0::2", SOON));
	check_mps(&w, &call, "/n/shm");
}

TEST_ONCE(what_is_asked_for_is_answered_from_the_list_that_was_sent)   /* memory: test_grpc and those of the plan */
{
	char gpu0[] = "GPU-0", gpu1[] = "GPU-1", gpu9[] = "GPU-9", *first[] = { gpu0 }, *both[] = { gpu0, gpu1 };
	char *unknown[] = { gpu9 }, *sick[] = { gpu1 };
	const V1beta1__AllocateResponse *reply;
	const V1beta1__PreferredAllocationResponse *preferred;
	WORLD(w);
	FL_AUTO(call) struct call call = { 0 };

	KUBELET(w);
	WISH(w, ONE_SICK);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1!", SOON));
	for (int i = 0; i < 2; i++) {   /* the same twice */
		CHECK_INT(allocate(&w, &call, first, 1), 0);
		reply = (const void *)call.request.reply;
		CHECK(reply);
		CHECK_INT(reply->n_container_responses, 1);
		CHECK_INT(reply->container_responses[0]->n_cdi_devices, 1);
		CHECK_STR(fl_str(reply->container_responses[0]->cdi_devices[0]->name), "test.dev/gpu=GPU-0");
	}
	CHECK_INT(w.allocated, 2);
	(void)allocate(&w, &call, unknown, 1);
	CHECK_INT(call.request.status, FL_GRPC_INVALID_ARGUMENT);
	CHECK(strstr(call.err.text, "GPU-9"));
	(void)allocate(&w, &call, both, 2);
	CHECK_INT(call.request.status, FL_GRPC_UNAVAILABLE);
	CHECK(strstr(call.err.text, "GPU-1") && strstr(call.err.text, "drain the node"));
	CHECK_INT(w.allocated, 2);
	CHECK_INT(pre_start(&w, &call, first, 1), 0);
	(void)pre_start(&w, &call, sick, 1);
	CHECK_INT(call.request.status, FL_GRPC_UNAVAILABLE);
	CHECK_INT(prefer(&w, &call, both, 2, 1), 0);
	preferred = (const void *)call.request.reply;
	CHECK(preferred);
	CHECK_INT(preferred->container_responses[0]->n_deviceids, 1);
	(void)prefer(&w, &call, both, 2, 3);
	CHECK_INT(call.request.status, FL_GRPC_INVALID_ARGUMENT);
	(void)prefer(&w, &call, unknown, 1, 1);
	CHECK_INT(call.request.status, FL_GRPC_INVALID_ARGUMENT);
	CHECK_INT(w.withdrawn, 0);
	WISH(w, "[]");
	CHECK(comes(&w, GPU, "(none)", SOON));
	CHECK_INT(w.withdrawn, 1);
	CHECK(w.given);
}
