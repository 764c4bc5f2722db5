/* Allocate and GetPreferredAllocation, as pure answers. */
#include "plan/gpu/allocate.h"
#include "gpu_facts.h"
#include "plan/gpu/ids.h"

/* ---- ids ---- */

static const struct {
	const char *says, *id, *base;
	int64_t replica;
} ids[] = {
	{ "a device is its own base", "GPU-1", "GPU-1", -1 },
	{ "a replica is its device's", "GPU-1::3", "GPU-1", 3 },
	{ "a number is written in one way", "GPU-1::03", "GPU-1::03", -1 },
	{ "zero is a number", "GPU-1::0", "GPU-1", 0 },
	{ "one colon is none", "0:1", "0:1", -1 },
	{ "without a number it is no replica", "GPU-1::", "GPU-1::", -1 },
	{ "a number that is too large is none", "GPU-1::99999999999999999999", "GPU-1::99999999999999999999", -1 },
	{ "only the last one counts", "GPU-1::2::3", "GPU-1::2", 3 },
	{ "nothing is nothing", "", "", -1 },
};

TEST(ids_and_replicas)
{
	EACH_ROW (row, ids) {
		int64_t replica;

		CHECK_STR(fl_gpu_id_base(fl_str(row->id), &replica), row->base);
		CHECK_INT(replica, row->replica);
	}
}

/* ---- what a container gets ---- */

#define NODES "nodes: [/dev/nvidiactl, /dev/nvidia-uvm]\n"
#define TWO "units: [{id: GPU-a, healthy: true, shown: GPU-a, nodes: [/dev/nvidia0]}, " \
	    "{id: GPU-b, healthy: true, shown: '1', nodes: [/dev/nvidia1]}]\n"
#define SHARED "units: [{id: GPU-a, healthy: true, replicas: 4}, {id: GPU-b, healthy: true, replicas: 4}]\n"
#define HEAD "metadata: {name: nvidia.com/gpu}\n" \
	     "cdiKind: k8s.device-plugin.nvidia.com/gpu\ncdiAnnotationPrefix: cdi.k8s.io/\n"
#define INVALID "invalid allocation request for \"nvidia.com/gpu\": "

static const struct {
	const char *says, *resource, *ids, *got;
	enum fl_code code;
} rows[] = {
	{ "CDI names, and nothing else", HEAD "ways: [cdi-cri]\n" NODES TWO, "GPU-a",
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n", FL_OK },
	{ "an ID that is asked for twice is answered once", HEAD "ways: [cdi-cri]\n" TWO,
	  "GPU-a GPU-a",
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n", FL_OK },
	{ "so are two replicas of one GPU", HEAD "ways: [cdi-cri]\n" SHARED, "GPU-a::0 GPU-a::0 GPU-a::1",
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n", FL_OK },
	{ "in the order of the list, by what containers are told", HEAD "ways: [cdi-cri]\n" TWO, "GPU-b GPU-a",
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\ncdi k8s.device-plugin.nvidia.com/gpu=1\n", FL_OK },
	{ "an annotation whose name follows from the ids", HEAD "ways: [cdi-annotations]\n" TWO, "GPU-b GPU-a",
	  "annotation cdi.k8s.io/nvidia-device-plugin_UUID = "
	  "k8s.device-plugin.nvidia.com/gpu=GPU-a,k8s.device-plugin.nvidia.com/gpu=1\n",
	  FL_OK },
	{ "row 37: GDS with cdi-cri sets NVIDIA_GDS, and the IMEX channel no variable",
	  HEAD "ways: [cdi-cri]\nextras: [gds, imex-channel]\n" TWO, "GPU-a",
	  "env NVIDIA_GDS = enabled\ncdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n"
	  "cdi k8s.device-plugin.nvidia.com/gds=all\n"
	  "cdi k8s.device-plugin.nvidia.com/imex-channel=0\n",
	  FL_OK },
	{ "in an annotation", HEAD "ways: [cdi-annotations]\nextras: [mofed]\n" TWO, "GPU-a",
	  "env NVIDIA_MOFED = enabled\nannotation cdi.k8s.io/nvidia-device-plugin_UUID = "
	  "k8s.device-plugin.nvidia.com/gpu=GPU-a,k8s.device-plugin.nvidia.com/mofed=all\n",
	  FL_OK },
	{ "as variables", HEAD "ways: [envvar]\nextras: [gds, mofed, gdrcopy, imex-channel]\n" TWO, "GPU-a",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a\nenv NVIDIA_GDS = enabled\nenv NVIDIA_MOFED = enabled\n"
	  "env NVIDIA_GDRCOPY = enabled\nenv NVIDIA_IMEX_CHANNELS = 0\nnode /dev/nvidia0\n",
	  FL_OK },
	{ "row 37: GDRCopy with device nodes alone", HEAD "ways: [device-specs]\nextras: [gdrcopy]\n" TWO, "GPU-a",
	  "env NVIDIA_GDRCOPY = enabled\nnode /dev/nvidia0\n", FL_OK },
	{ "row 37: among mounts", HEAD "ways: [volume-mounts]\nextras: [gds, mofed, gdrcopy]\n" TWO, "GPU-a",
	  "env NVIDIA_VISIBLE_DEVICES = /var/run/nvidia-container-devices\nenv NVIDIA_GDS = enabled\n"
	  "env NVIDIA_MOFED = enabled\nenv NVIDIA_GDRCOPY = enabled\n"
	  "mount /var/run/nvidia-container-devices/GPU-a from /dev/null\n",
	  FL_OK },
	{ "as mounts: the IMEX channel is one", HEAD "ways: [volume-mounts]\nextras: [imex-channel]\n" TWO, "GPU-a",
	  "env NVIDIA_VISIBLE_DEVICES = /var/run/nvidia-container-devices\n"
	  "mount /var/run/nvidia-container-devices/GPU-a from /dev/null\n"
	  "mount /var/run/nvidia-container-devices/imex/0 from /dev/null\n",
	  FL_OK },
	{ "a variable comes with device nodes", HEAD "ways: [envvar]\n" NODES TWO, "GPU-a GPU-b",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a,1\nnode /dev/nvidiactl\nnode /dev/nvidia-uvm\nnode /dev/nvidia0\n"
	  "node /dev/nvidia1\n",
	  FL_OK },
	{ "nodes from another root", HEAD "ways: [device-specs]\ndevRoot: /run/nvidia/driver/\n" NODES TWO, "GPU-a",
	  "node /dev/nvidiactl from /run/nvidia/driver/dev/nvidiactl\n"
	  "node /dev/nvidia-uvm from /run/nvidia/driver/dev/nvidia-uvm\n"
	  "node /dev/nvidia0 from /run/nvidia/driver/dev/nvidia0\n",
	  FL_OK },
	{ "the root is no other root", HEAD "ways: [device-specs]\ndevRoot: /\n" TWO, "GPU-a", "node /dev/nvidia0\n",
	  FL_OK },
	{ "mounts that name devices", HEAD "ways: [volume-mounts]\n" NODES TWO, "GPU-a GPU-b",
	  "env NVIDIA_VISIBLE_DEVICES = /var/run/nvidia-container-devices\n"
	  "mount /var/run/nvidia-container-devices/GPU-a from /dev/null\n"
	  "mount /var/run/nvidia-container-devices/1 from /dev/null\n",
	  FL_OK },
	{ "several ways at once: who mounts has the variable", HEAD "ways: [cdi-cri, envvar, volume-mounts]\n" TWO,
	  "GPU-a",
	  "env NVIDIA_VISIBLE_DEVICES = /var/run/nvidia-container-devices\n"
	  "node /dev/nvidia0\nmount /var/run/nvidia-container-devices/GPU-a from /dev/null\n"
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n",
	  FL_OK },
	{ "shares of one GPU are the GPU, once", HEAD "ways: [envvar]\n" SHARED, "GPU-a::3 GPU-b::0 GPU-a::1",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a,GPU-b\n", FL_OK },
	{ "partitions of one GPU have its node in common",
	  HEAD "ways: [device-specs]\nunits: [{id: MIG-1, healthy: true, nodes: [/dev/nvidia0, /dev/c1]}, "
	       "{id: MIG-2, healthy: true, nodes: [/dev/nvidia0, /dev/c2]}]",
	  "MIG-1 MIG-2", "node /dev/nvidia0\nnode /dev/c1\nnode /dev/c2\n", FL_OK },
	{ "a unit whose name for people is not known goes by its id",
	  HEAD "ways: [envvar]\nunits: [{id: GPU-a, healthy: true}]", "GPU-a",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a\n",
	  FL_OK },

	{ "MPS: variable, pipe and /dev/shm beside CDI names", HEAD "ways: [cdi-cri]\nmpsRoot: /m\n" SHARED,
	  "GPU-a::3",
	  "env CUDA_MPS_PIPE_DIRECTORY = /mps/nvidia.com/gpu/pipe\n"
	  "rw mount /mps/nvidia.com/gpu/pipe from /m/nvidia.com/gpu/pipe\nrw mount /dev/shm from /m/shm\n"
	  "cdi k8s.device-plugin.nvidia.com/gpu=GPU-a\n", FL_OK },
	{ "MPS: beside an annotation",
	  "metadata: {name: nvidia.com/gpu.shared}\ncdiKind: k.io/gpu\ncdiAnnotationPrefix: cdi.k8s.io/\n"
	  "ways: [cdi-annotations]\nmpsRoot: /m\n" SHARED, "GPU-a::3",
	  "env CUDA_MPS_PIPE_DIRECTORY = /mps/nvidia.com/gpu.shared/pipe\n"
	  "annotation cdi.k8s.io/nvidia-device-plugin_UUID = k.io/gpu=GPU-a\n"
	  "rw mount /mps/nvidia.com/gpu.shared/pipe from /m/nvidia.com/gpu.shared/pipe\n"
	  "rw mount /dev/shm from /m/shm\n", FL_OK },
	{ "MPS: beside a variable", HEAD "ways: [envvar]\nmpsRoot: /m\nextras: [gds]\n" SHARED, "GPU-a::3",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a\nenv NVIDIA_GDS = enabled\n"
	  "env CUDA_MPS_PIPE_DIRECTORY = /mps/nvidia.com/gpu/pipe\n"
	  "rw mount /mps/nvidia.com/gpu/pipe from /m/nvidia.com/gpu/pipe\nrw mount /dev/shm from /m/shm\n", FL_OK },
	{ "MPS: beside mounts", HEAD "ways: [volume-mounts]\nmpsRoot: /m\nextras: [imex-channel]\n" SHARED,
	  "GPU-a::3",
	  "env NVIDIA_VISIBLE_DEVICES = /var/run/nvidia-container-devices\n"
	  "env CUDA_MPS_PIPE_DIRECTORY = /mps/nvidia.com/gpu/pipe\n"
	  "mount /var/run/nvidia-container-devices/GPU-a from /dev/null\n"
	  "mount /var/run/nvidia-container-devices/imex/0 from /dev/null\n"
	  "rw mount /mps/nvidia.com/gpu/pipe from /m/nvidia.com/gpu/pipe\nrw mount /dev/shm from /m/shm\n", FL_OK },
	{ "MPS: beside device nodes", HEAD "ways: [device-specs]\nmpsRoot: /m\n" TWO, "GPU-a",
	  "env CUDA_MPS_PIPE_DIRECTORY = /mps/nvidia.com/gpu/pipe\nnode /dev/nvidia0\n"
	  "rw mount /mps/nvidia.com/gpu/pipe from /m/nvidia.com/gpu/pipe\nrw mount /dev/shm from /m/shm\n", FL_OK },

	{ "a device that there is not", HEAD "ways: [cdi-cri]\n" TWO, "GPU-a GPU-x",
	  INVALID "invalid request: unknown device: GPU-x", FL_E_INVALID },
	{ "a share of a device that is whole", HEAD TWO, "GPU-a::0",
	  INVALID "invalid request: unknown device: GPU-a::0",
	  FL_E_INVALID },
	{ "all of a device that is shared", HEAD SHARED, "GPU-a", INVALID "invalid request: unknown device: GPU-a",
	  FL_E_INVALID },
	{ "one share too many", HEAD SHARED, "GPU-a::4", INVALID "invalid request: unknown device: GPU-a::4",
	  FL_E_INVALID },
	{ "nothing", HEAD TWO, "", INVALID "invalid request: no device is asked for", FL_E_INVALID },
	{ "two shares where one is the most", HEAD "oneShare: true\n" SHARED, "GPU-a::0 GPU-b::0",
	  INVALID "invalid request: maximum request size for shared resources is 1; found 2: ask for 1", FL_E_INVALID },
	{ "one share where one is the most", HEAD "oneShare: true\nways: [envvar]\n" SHARED, "GPU-a::0",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a\n", FL_OK },
	{ "two whole ones where one share is the most", HEAD "oneShare: true\nways: [envvar]\n" TWO, "GPU-a GPU-b",
	  "env NVIDIA_VISIBLE_DEVICES = GPU-a,1\nnode /dev/nvidia0\nnode /dev/nvidia1\n", FL_OK },
	{ "a sick one, with the reason and what to do",
	  HEAD "ways: [cdi-cri]\nunits: [{id: GPU-a, healthy: false, why: 'XID 79: reboot the node'}]", "GPU-a",
	  INVALID "device GPU-a is not healthy: XID 79: reboot the node", FL_E_RETRY },
	{ "one of two is sick: neither is handed out",
	  HEAD "ways: [cdi-cri]\nunits: [{id: GPU-a, healthy: true}, {id: GPU-b}]", "GPU-a GPU-b",
	  INVALID "device GPU-b is not healthy: cause unknown; see the node's conditions", FL_E_RETRY },
	{ "one that is listed for its holder only",
	  HEAD "ways: [cdi-cri]\nunits: [{id: GPU-a, healthy: true, leaving: true, why: 'it went to another pool'}]",
	  "GPU-a", INVALID "device GPU-a is leaving: it went to another pool", FL_E_RETRY },
	{ "nothing may be handed out now", HEAD "refused: CDI is off\n" TWO, "GPU-a", INVALID "CDI is off",
	  FL_E_RETRY },
	{ "what is not known is worse than what is refused", HEAD "refused: CDI is off\n" TWO, "GPU-x",
	  INVALID "invalid request: unknown device: GPU-x", FL_E_INVALID },
};

static void print_pairs(const struct fl_allocation *got, struct fl_buf *out)
{
	for (uint32_t i = 0; i < got->env_len; i++)
		fl_buf_printf(out, "env %.*s = %.*s\n", FL_ARG(got->env[i].key), FL_ARG(got->env[i].value));
}

static void print_annotations(const struct fl_allocation *got, struct fl_buf *out)
{
	for (uint32_t i = 0; i < got->annotation_len; i++) {
		struct fl_str name = got->annotations[i].key;

		/* The digits are nobody's business here: that they are the same every time is. */
		name.len -= name.len > 36 ? 36 : name.len;
		fl_buf_printf(out, "annotation %.*sUUID = %.*s\n", FL_ARG(name), FL_ARG(got->annotations[i].value));
	}
}

static void print_nodes(const struct fl_allocation *got, struct fl_buf *out)
{
	for (uint32_t i = 0; i < got->node_len; i++) {
		const struct fl_allocation_node *node = &got->nodes[i];

		fl_buf_printf(out, "node %.*s", FL_ARG(node->path));
		if (!fl_str_eq(node->path, node->host_path))
			fl_buf_printf(out, " from %.*s", FL_ARG(node->host_path));
		fl_buf_char(out, '\n');
	}
}

static void print_mounts(const struct fl_allocation *got, struct fl_buf *out)
{
	for (uint32_t i = 0; i < got->mount_len; i++)
		fl_buf_printf(out, "%smount %.*s from %.*s\n", got->mounts[i].writable ? "rw " : "",
			      FL_ARG(got->mounts[i].path),
			      FL_ARG(got->mounts[i].host_path));
}

static void print_cdi(const struct fl_allocation *got, struct fl_buf *out)
{
	for (uint32_t i = 0; i < got->cdi_len; i++)
		fl_buf_printf(out, "cdi %.*s\n", FL_ARG(got->cdi[i]));
}

/* A container has in each list what is its own, then what all have. */
static void print(const struct fl_allocation *own, const struct fl_allocation *common, struct fl_buf *out)
{
	static void (*const lists[])(const struct fl_allocation *got, struct fl_buf *out) = {
		print_pairs, print_annotations, print_nodes, print_mounts, print_cdi,
	};

	for (size_t i = 0; i < FL_LEN(lists); i++) {
		lists[i](own, out);
		lists[i](common, out);
	}
}

TEST(a_container_gets_what_the_list_says)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		const struct fl_resource *resource;
		struct fl_device_ids wish;
		struct fl_str_list words;
		struct fl_allocation got = { 0 }, common = { 0 };
		struct fl_err err = { 0 };
		int r;

		GOT(resource = facts_object(&arena, fl_resource_bind(), fl_str(row->resource)));
		words = facts_words(&arena, row->ids);
		GOT(words.at);
		wish = (struct fl_device_ids){ words.at, words.len };
		r = fl_gpu_allocate(resource, &wish, &arena, &got, &err);
		OK(r == -FL_E_NOMEM ? r : 0);
		CHECK_INT(-r, row->code);
		if (r < 0)
			fl_buf_str(&text, fl_str(err.text));
		else
			OK(fl_gpu_allocate_common(resource, &arena, &common, NULL));
		print(&got, &common, &text);
		OK(fl_buf_check(&text, "the answer", NULL));
		CHECK_STR(fl_buf_view(&text), row->got);
	}
}

static struct fl_str annotation(struct fl_arena *arena, const char *resource, const char *names)
{
	const struct fl_resource *r = facts_object(arena, fl_resource_bind(), fl_str(resource));
	struct fl_str_list words = facts_words(arena, names);
	struct fl_allocation got = { 0 };

	if (!r || !words.at ||
	    fl_gpu_allocate(r, &(struct fl_device_ids){ words.at, words.len }, arena, &got, NULL) < 0)
		return (struct fl_str){ 0 };
	return got.annotations[0].key;
}

/* I2: asked twice, the same answer; and two containers' annotations never get into each other's way. */
TEST(the_name_of_an_annotation_is_as_good_as_random)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const char *other = "metadata: {name: team/gpu}\ncdiAnnotationPrefix: cdi.k8s.io/\n"
			    "ways: [cdi-annotations]\n" TWO;
	const char *resource = HEAD "ways: [cdi-annotations]\n" TWO;
	const char *shared = HEAD "ways: [cdi-annotations]\n" SHARED;
	struct fl_str first = annotation(&arena, resource, "GPU-a GPU-b"), again, third, fourth, fifth, sixth;

	GOT(first.p);
	GOT((again = annotation(&arena, resource, "GPU-b GPU-a")).p);
	CHECK(fl_str_eq(first, again));
	GOT((third = annotation(&arena, resource, "GPU-a")).p);
	CHECK(!fl_str_eq(first, third));
	GOT((fourth = annotation(&arena, other, "GPU-a GPU-b")).p);
	CHECK(!fl_str_eq(first, fourth));
	GOT((fifth = annotation(&arena, shared, "GPU-a::0")).p);
	GOT((sixth = annotation(&arena, shared, "GPU-a::1")).p);
	CHECK(!fl_str_eq(fifth, sixth));
	CHECK_INT(first.len, sizeof "cdi.k8s.io/nvidia-device-plugin_" - 1 + 36);
	CHECK(first.len - sizeof "cdi.k8s.io" <= 63);
}
