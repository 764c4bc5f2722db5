#include "fake/nvml/call.h"

#include <stdio.h>
#include <string.h>

/* How devices are joined: PCIe, NVLink, fabric. */

static uint32_t level_between(const struct fake_gpu *a, const struct fake_gpu *b)
{
	if (a->pcie_switch && a->pcie_switch == b->pcie_switch)
		return FL_NV_TOPOLOGY_SINGLE;
	if (a->host_bridge && a->host_bridge == b->host_bridge)
		return FL_NV_TOPOLOGY_HOSTBRIDGE;
	return a->numa >= 0 && a->numa == b->numa ? FL_NV_TOPOLOGY_NODE : FL_NV_TOPOLOGY_SYSTEM;
}

FAKE_CALL(common_ancestor, nvmlDeviceGetTopologyCommonAncestor);
int nvmlDeviceGetTopologyCommonAncestor(struct fl_nv_device *a, struct fl_nv_device *b, uint32_t *level)
{
	uint32_t other = 0;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(common_ancestor), a);
	if (c.code == 0)
		c.code = also_gpu(&c, b, &other);
	if (c.code == 0)
		*level = other == c.index ? (uint32_t)FL_NV_TOPOLOGY_INTERNAL : level_between(c.gpu,
			&c.state->gpus[other]);
	return c.code;
}

/* NVLink between two: both into the switches, or one straight to the other. */
static bool linked(const struct fake_state *state, uint32_t a, uint32_t b)
{
	bool a_switch = false, b_switch = false;

	for (uint32_t i = 0; i < state->gpus[a].model.links; i++) {
		const struct fake_link *link = &state->gpus[a].links[i];
		if (link->on && link->peer == (int32_t)b)
			return true;
		a_switch |= link->on && link->peer < 0;
	}
	for (uint32_t i = 0; i < state->gpus[b].model.links; i++)
		b_switch |= state->gpus[b].links[i].on && state->gpus[b].links[i].peer < 0;
	return a_switch && b_switch;
}

FAKE_CALL(p2p_status, nvmlDeviceGetP2PStatus);
int nvmlDeviceGetP2PStatus(struct fl_nv_device *a, struct fl_nv_device *b, uint32_t caps, uint32_t *status)
{
	uint32_t other = 0;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(p2p_status), a);
	if (c.code == 0)
		c.code = also_gpu(&c, b, &other);
	if (c.code)
		return c.code;
	if (caps > FL_NV_P2P_PCI || other == c.index)
		return FL_NV_INVALID_ARGUMENT;
	bool link = linked(c.state, c.index, other);
	if (c.gpu->mig || c.state->gpus[other].mig)
		*status = FL_NV_P2P_NOT_SUPPORTED;
	else if (caps == FL_NV_P2P_NVLINK || caps == FL_NV_P2P_ATOMICS)
		*status = link ? FL_NV_P2P_OK : FL_NV_P2P_NOT_SUPPORTED;
	else if (link || level_between(c.gpu, &c.state->gpus[other]) < FL_NV_TOPOLOGY_SYSTEM)
		*status = FL_NV_P2P_OK;
	else
		*status = FL_NV_P2P_CHIPSET_NOT_SUPPORTED;
	return 0;
}

/* ---- NVLink ---- */

static struct fake_link *link_at(struct call *c, uint32_t link)
{
	if (c->code == 0 && c->gpu->model.links == 0)
		c->code = FL_NV_NOT_SUPPORTED;
	if (c->code == 0 && link >= c->gpu->model.links)
		c->code = FL_NV_INVALID_ARGUMENT;
	return c->code ? NULL : &c->gpu->links[link];
}

FAKE_CALL(link_state, nvmlDeviceGetNvLinkState);
int nvmlDeviceGetNvLinkState(struct fl_nv_device *d, uint32_t link, uint32_t *on)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(link_state), d);
	const struct fake_link *l = link_at(&c, link);
	if (l)
		*on = l->on && !c.gpu->mig;
	return c.code;
}

/* Replay, recovery, CRC of flow control, CRC of data. NVLink 5 has them elsewhere. */
FAKE_CALL(link_errors, nvmlDeviceGetNvLinkErrorCounter);
int nvmlDeviceGetNvLinkErrorCounter(struct fl_nv_device *d, uint32_t link, uint32_t counter, unsigned long long *count)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(link_errors), d);
	const struct fake_link *l = link_at(&c, link);
	if (l && (counter > 3 || c.gpu->model.arch >= FL_NV_ARCH_BLACKWELL))
		return FL_NV_NOT_SUPPORTED;
	if (l)
		*count = l->errors[counter];
	return c.code;
}

FAKE_CALL(link_peer, nvmlDeviceGetNvLinkRemotePciInfo_v2);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct fl_nv_device *d, uint32_t link, struct fl_nv_pci *pci)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(link_peer), d);
	const struct fake_link *l = link_at(&c, link);
	if (!l)
		return c.code;
	if (!l->on || c.gpu->mig)
		return FL_NV_NOT_SUPPORTED;
	memset(pci, 0, sizeof(*pci));
	if (l->peer >= 0) {
		const struct fake_gpu *gpu = &c.state->gpus[l->peer];
		*pci = (struct fl_nv_pci){ .domain = gpu->domain, .bus = gpu->bus, .device = gpu->slot,
					   .id = gpu->model.pci_id, .subsystem = gpu->model.subsystem };
	} else {
		*pci = (struct fl_nv_pci){ .bus = 0xc4 + link % 6, .id = 0x1af110de };
		/* a switch of the baseboard */
	}
	snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff,
		 pci->device & 0x1f);
	snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%04X:%02X:%02X.0", pci->domain & 0xffff,
		 pci->bus & 0xff,
		 pci->device & 0x1f);
	return 0;
}
FAKE_ALSO(nvmlDeviceGetNvLinkRemotePciInfo, nvmlDeviceGetNvLinkRemotePciInfo_v2);

FAKE_CALL(link_peer_type, nvmlDeviceGetNvLinkRemoteDeviceType);
int nvmlDeviceGetNvLinkRemoteDeviceType(struct fl_nv_device *d, uint32_t link, uint32_t *type)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(link_peer_type), d);
	const struct fake_link *l = link_at(&c, link);
	if (l && (!l->on || c.gpu->mig))
		return FL_NV_NOT_SUPPORTED;
	if (l)
		*type = l->peer_type;
	return c.code;
}

/* ---- fabric ---- */

FAKE_CALL(fabric_any, nvmlDeviceGetGpuFabricInfoV);
int nvmlDeviceGetGpuFabricInfoV(struct fl_nv_device *d, void *any)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(fabric_any), d);
	if (c.code)
		return c.code;
	if (!c.gpu->model.has_fabric)
		return FL_NV_NOT_SUPPORTED;
	uint32_t version = *(const uint32_t *)any;
	const struct fl_nv_fabric_v3 *f = &c.gpu->fabric;
	if (version == FL_NV_VERSION(struct fl_nv_fabric_v3, 3) && c.state->newest >= 3) {
		*(struct fl_nv_fabric_v3 *)any = *f;
		((struct fl_nv_fabric_v3 *)any)->version = version;
		return 0;
	}
	if (version != FL_NV_VERSION(struct fl_nv_fabric_v2, 2) || c.state->newest < 2)
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	struct fl_nv_fabric_v2 *older = any;
	*older = (struct fl_nv_fabric_v2){ .version = version, .status = f->status, .clique = f->clique,
		.state = f->state,
					   .health = f->health };
	memcpy(older->cluster, f->cluster, sizeof(f->cluster));
	return 0;
}

FAKE_CALL(fabric, nvmlDeviceGetGpuFabricInfo);
int nvmlDeviceGetGpuFabricInfo(struct fl_nv_device *d, struct fl_nv_fabric *info)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(fabric), d);
	if (c.code == 0 && !c.gpu->model.has_fabric)
		return FL_NV_NOT_SUPPORTED;
	if (c.code)
		return c.code;
	const struct fl_nv_fabric_v3 *f = &c.gpu->fabric;
	*info = (struct fl_nv_fabric){ .status = f->status, .clique = f->clique, .state = f->state };
	memcpy(info->cluster, f->cluster, sizeof(f->cluster));
	return 0;
}
