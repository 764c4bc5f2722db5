#include "fake/nvml/control.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fake/nvml/models.h"
#include "json/yaml.h"

/* A topology file: what the driver says of itself, groups of cards and how they are joined. A name that is not known
 * here is refused, so that a slip in a file is not a card that silently is another. */

enum { TOPOLOGY_MAX = 64 << 10 };

struct up {
	struct fake_state *state;
	uint64_t seed;
	uint32_t node;
	struct fl_err *err;
	uint32_t switches, bridges;     /* counted up over the groups */
};

/* A number out of seed and place: the same in every run. */
static uint64_t mixed(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void make_uuid(uint64_t seed, uint8_t uuid[16])
{
	uint64_t half[2] = { mixed(seed), mixed(seed ^ 0x5851f42d4c957f2du) };

	memcpy(uuid, half, 16);
	uuid[6] = (uint8_t)(0x40 | (uuid[6] & 15));
	uuid[8] = (uint8_t)(0x80 | (uuid[8] & 63));
}

/* ---- reading ---- */

static int unknown_name(struct up *up, yyjson_val *object, const char *const names[], const char *where)
{
	size_t i, max;
	yyjson_val *key, *val;

	yyjson_obj_foreach (object, i, max, key, val) {
		size_t n = 0;
		while (names[n] && strcmp(names[n], yyjson_get_str(key)) != 0)
			n++;
		if (!names[n])
			return fl_fail(up->err, FL_E_INVALID, "%s: there is no '%s'", where, yyjson_get_str(key));
	}
	return 0;
}

static uint32_t number(yyjson_val *object, const char *name, uint32_t otherwise)
{
	yyjson_val *val = yyjson_obj_get(object, name);

	return yyjson_is_uint(val) ? (uint32_t)yyjson_get_uint(val) : otherwise;
}

static uint32_t number_at(yyjson_val *list, size_t at, uint32_t otherwise)
{
	yyjson_val *val = yyjson_arr_get(list, at);

	return yyjson_is_uint(val) ? (uint32_t)yyjson_get_uint(val) : otherwise;
}

static const char *text(yyjson_val *object, const char *name, const char *otherwise)
{
	const char *val = yyjson_get_str(yyjson_obj_get(object, name));

	return val ? val : otherwise;
}

/* ---- cards ---- */

static void add_gpu(struct up *up, const struct fake_model *model, yyjson_val *group, uint32_t at)
{
	struct fake_state *state = up->state;
	uint32_t n = state->gpus_n;
	struct fake_gpu *gpu = &state->gpus[n];
	uint8_t u[16];

	*gpu = (struct fake_gpu){ .model = *model, .temperature = INT32_MIN };
	make_uuid(mixed(up->seed) + ((uint64_t)up->node << 32 | (n + 1)), u);
	snprintf(gpu->uuid, sizeof(gpu->uuid),
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	snprintf(gpu->serial, sizeof(gpu->serial), "165%010llu",
		 (unsigned long long)(mixed(up->seed + n + 77 * up->node) % 10000000000u));
	gpu->bus = number_at(yyjson_obj_get(group, "buses"), at, 0);
	gpu->domain = number_at(yyjson_obj_get(group, "domains"), at, 0);
	gpu->minor = number_at(yyjson_obj_get(group, "minors"), at, n);
	uint32_t per_switch = number(group, "perSwitch", 0), per_bridge = number(group, "perBridge", 0);
	uint32_t per_numa = number(group, "perNuma", 0);
	gpu->pcie_switch = per_switch ? up->switches + at / per_switch + 1 : 0;
	gpu->host_bridge = per_bridge ? up->bridges + at / per_bridge + 1 : 0;
	gpu->numa = per_numa ? (int32_t)(number(group, "numa", 0) + at / per_numa) : -1;
	gpu->ecc[FL_NV_CORRECTED][FL_NV_AGGREGATE][FL_NV_DRAM] = mixed(up->seed + n) % 3;
	state->gpus_n++;
}

static int add_group(struct up *up, yyjson_val *group)
{
	static const char *const names[] = { "model", "buses", "domains", "minors", "perSwitch", "perBridge",
		"perNuma", "numa",
					     NULL };
	const char *key = text(group, "model", "");
	yyjson_val *buses = yyjson_obj_get(group, "buses");
	uint32_t count = (uint32_t)yyjson_arr_size(buses), was = up->state->gpus_n;
	const struct fake_model *model = NULL;

	if (unknown_name(up, group, names, "gpus") < 0)
		return -FL_E_INVALID;
	for (size_t i = 0; i < fake_models_n; i++)
		if (strcmp(fake_models[i].key, key) == 0)
			model = &fake_models[i];
	if (!model)
		return fl_fail(up->err, FL_E_INVALID, "no model '%s'; models.c has those there are", key);
	if (count == 0 || was + count > FAKE_GPUS)
		return fl_fail(up->err, FL_E_INVALID, "%s: buses: one to %d GPUs in all", key, FAKE_GPUS);
	for (uint32_t i = 0; i < count; i++)
		add_gpu(up, model, group, i);
	const struct fake_gpu *last = &up->state->gpus[up->state->gpus_n - 1];
	up->switches = last->pcie_switch > up->switches ? last->pcie_switch : up->switches;
	up->bridges = last->host_bridge > up->bridges ? last->host_bridge : up->bridges;
	return 0;
}

/* Into the switches, in pairs of neighbours of one model, or not at all. */
static int join(struct up *up, const char *how)
{
	bool by_switch = strcmp(how, "switch") == 0, in_pairs = strcmp(how, "pairs") == 0;

	if (!by_switch && !in_pairs && strcmp(how, "none") != 0)
		return fl_fail(up->err, FL_E_INVALID, "nvlink: '%s' is none of switch, pairs, none", how);
	for (uint32_t i = 0; i < up->state->gpus_n; i++) {
		struct fake_gpu *gpu = &up->state->gpus[i];
		uint32_t other = i ^ 1;
		bool paired = in_pairs && other < up->state->gpus_n &&
			      strcmp(up->state->gpus[other].model.key, gpu->model.key) == 0;
		for (uint32_t k = 0; k < gpu->model.links && (by_switch || paired); k++)
			gpu->links[k] = (struct fake_link){
				.on = 1, .built = 1, .peer = by_switch ? -1 : (int32_t)other,
				.peer_type = by_switch ? FL_NV_LINK_PEER_SWITCH : FL_NV_LINK_PEER_GPU,
			};
	}
	return 0;
}

/* A rack has one cluster and a clique; a baseboard by itself has neither, but its fabric is up all the same. */
static void weave(struct up *up, yyjson_val *fabric, bool by_switch)
{
	uint8_t cluster[16];

	make_uuid(mixed(up->seed) ^ 0xfab, cluster);
	for (uint32_t i = 0; i < up->state->gpus_n; i++) {
		struct fake_gpu *gpu = &up->state->gpus[i];
		if (!gpu->model.has_fabric || !by_switch)
			continue;
		gpu->fabric.state = FL_NV_FABRIC_COMPLETED;
		if (!fabric)
			continue;
		memcpy(gpu->fabric.cluster, cluster, sizeof(cluster));
		gpu->fabric.clique = number(fabric, "clique", 0);
		gpu->fabric.health = 2u << FL_NV_FABRIC_DEGRADED_BW | 2u << FL_NV_FABRIC_ROUTE_RECOVERY |
				     2u << FL_NV_FABRIC_ROUTE_UNHEALTHY | 2u << FL_NV_FABRIC_ACCESS_TIMEOUT |
				     1u << FL_NV_FABRIC_CONFIG;
		gpu->fabric.summary = FL_NV_FABRIC_HEALTHY;
	}
}

static int fill(struct up *up, yyjson_val *root)
{
	static const char *const names[] = { "name", "driver", "cuda", "gpus", "nvlink", "nodes", "fabric", NULL };
	yyjson_val *gpus = yyjson_obj_get(root, "gpus"), *group;
	const char *nvlink = text(root, "nvlink", "none");
	struct fake_state *state = up->state;
	size_t i, max;

	if (unknown_name(up, root, names, "topology") < 0)
		return -FL_E_INVALID;
	if (up->node >= number(root, "nodes", UINT32_MAX))
		return fl_fail(up->err, FL_E_INVALID, "node %u: there are %u", up->node, number(root, "nodes", 0));
	snprintf(state->name, sizeof(state->name), "%s", text(root, "name", "fake"));
	snprintf(state->driver_version, sizeof(state->driver_version), "%s", text(root, "driver", "570.133.20"));
	state->cuda_version = number(root, "cuda", 12080);
	yyjson_arr_foreach (gpus, i, max, group)
		if (add_group(up, group) < 0)
			return -FL_E_INVALID;
	if (state->gpus_n == 0)
		return fl_fail(up->err, FL_E_INVALID, "no gpus");
	if (join(up, nvlink) < 0)
		return -FL_E_INVALID;
	weave(up, yyjson_obj_get(root, "fabric"), strcmp(nvlink, "switch") == 0);
	return 0;
}

static int read_topology(const char *path, struct fl_buf *into, struct fl_err *err)
{
	FILE *file = fopen(path, "re");
	char part[4096];
	size_t n;

	if (!file)
		return fl_fail_sys(err, errno, "open '%s'", path);
	while ((n = fread(part, 1, sizeof(part), file)) > 0 && fl_buf_view(into).len < TOPOLOGY_MAX)
		fl_buf_put(into, part, n);
	fclose(file);
	return fl_buf_check(into, "topology", err);
}

struct fake_state *fake_up(const char *topology, const char *folder, uint64_t seed, uint32_t node, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf bytes = { .max = 2 * TOPOLOGY_MAX };
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fake_state *made = calloc(1, sizeof(*made));
	struct up up = { .state = made, .seed = seed, .node = node, .err = err };
	char path[PATH_MAX];
	int r = made ? 0 : fl_fail(err, FL_E_NOMEM, "a node");

	if (r == 0)
		r = read_topology(topology, &bytes, err);
	if (r == 0)
		r = fl_yaml_read(NULL, fl_buf_view(&bytes), &doc, err);
	if (r == 0)
		r = fill(&up, yyjson_doc_get_root(doc));
	if (r < 0)
		(void)fl_wrap(err, "%s", topology);
	else if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		r = fl_fail_sys(err, errno, "mkdir '%s'", folder);
	snprintf(path, sizeof(path), "%s/%s", folder, FAKE_FILE);
	struct fake_state *state = r < 0 ? NULL : fake_make(path);
	if (r == 0 && !state)
		(void)fl_fail_sys(err, errno, "make '%s'", path);
	if (state) {
		memcpy(state->driver_version, made->driver_version, sizeof(made->driver_version));
		memcpy(state->name, made->name, sizeof(made->name));
		memcpy(state->gpus, made->gpus, sizeof(made->gpus));
		state->cuda_version = made->cuda_version;
		state->gpus_n = made->gpus_n;
	}
	free(made);
	return state;
}
