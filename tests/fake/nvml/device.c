#include "fake/nvml/call.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a system and its devices are: nothing here moves. */

FAKE_CALL(driver_version, nvmlSystemGetDriverVersion);
int nvmlSystemGetDriverVersion(char *text, uint32_t size)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(driver_version));
	return c.code ? c.code : put_text(text, size, c.state->driver_version);
}

/* For peers: the agent does not ask. It is that of CUDA, and the driver's. */
__attribute__((visibility("default"))) __typeof__(nvmlSystemGetDriverVersion) nvmlSystemGetNVMLVersion;
int nvmlSystemGetNVMLVersion(char *text, uint32_t size)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(driver_version));
	char version[64];

	if (c.code)
		return c.code;
	(void)snprintf(version, sizeof version, "%u.%s", c.state->cuda_version / 1000, c.state->driver_version);
	return put_text(text, size, version);
}

FAKE_CALL(cuda_version, nvmlSystemGetCudaDriverVersion_v2);
int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(cuda_version));
	if (c.code == 0)
		*version = (int)c.state->cuda_version;
	return c.code;
}
FAKE_ALSO(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

/* ---- which there are ---- */

FAKE_CALL(count, nvmlDeviceGetCount_v2);
int nvmlDeviceGetCount_v2(uint32_t *count)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(count));
	if (c.code == 0)
		*count = index_of(c.state, c.state->gpus_n);
	return c.code;
}
FAKE_ALSO(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

FAKE_CALL(by_index, nvmlDeviceGetHandleByIndex_v2);
int nvmlDeviceGetHandleByIndex_v2(uint32_t index, struct fl_nv_device **device)
{
	uint32_t number;
	FAKE_SCOPE struct call c = begin(FAKE_NO(by_index));
	if (c.code)
		return c.code;
	struct fake_gpu *gpu = gpu_at(c.state, index, &number);
	if (!gpu || !device)
		return FL_NV_INVALID_ARGUMENT;
	if (gpu->lost)
		return (int)gpu->lost;
	*device = gpu_handle(number);
	return 0;
}
FAKE_ALSO(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

static struct fl_nv_device *mig_by_uuid(uint32_t number, const struct fake_gpu *gpu, const char *uuid)
{
	char own[48];

	for (uint32_t g = 0; g < FAKE_GIS; g++)
		for (uint32_t i = 0; gpu->gis[g].used && i < FAKE_CIS; i++)
			if (gpu->gis[g].cis[i].used) {
				fake_mig_uuid(gpu, &gpu->gis[g], &gpu->gis[g].cis[i], own);
				if (strcmp(own, uuid) == 0)
					return mig_handle(number, gpu, &gpu->gis[g], &gpu->gis[g].cis[i]);
			}
	return NULL;
}

FAKE_CALL(by_uuid, nvmlDeviceGetHandleByUUID);
int nvmlDeviceGetHandleByUUID(const char *uuid, struct fl_nv_device **device)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(by_uuid));
	if (c.code)
		return c.code;
	if (!uuid || !device)
		return FL_NV_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < c.state->gpus_n; i++) {
		struct fake_gpu *gpu = &c.state->gpus[i];
		if (gpu->gone)
			continue;
		struct fl_nv_device *found = strcmp(gpu->uuid, uuid) == 0 ? gpu_handle(i) : mig_by_uuid(i, gpu, uuid);
		if (!found)
			continue;
		if (gpu->lost)
			return (int)gpu->lost;
		*device = found;
		return 0;
	}
	return FL_NV_NOT_FOUND;
}

FAKE_CALL(by_pci, nvmlDeviceGetHandleByPciBusId_v2);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct fl_nv_device **device)
{
	FAKE_SCOPE struct call c = begin(FAKE_NO(by_pci));
	if (c.code)
		return c.code;
	char *end;
	if (!bus_id || !device)
		return FL_NV_INVALID_ARGUMENT;
	unsigned long domain = strtoul(bus_id, &end, 16), bus = 0, slot = 0;
	if (*end == ':')
		bus = strtoul(end + 1, &end, 16);
	if (*end != ':')
		return FL_NV_INVALID_ARGUMENT;
	slot = strtoul(end + 1, &end, 16);
	for (uint32_t i = 0; i < c.state->gpus_n; i++) {
		struct fake_gpu *gpu = &c.state->gpus[i];
		if (gpu->gone || gpu->domain != domain || gpu->bus != bus || gpu->slot != slot)
			continue;
		if (gpu->lost)
			return (int)gpu->lost;
		*device = gpu_handle(i);
		return 0;
	}
	return FL_NV_NOT_FOUND;
}
FAKE_ALSO(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

/* ---- what they are ---- */

FAKE_CALL(uuid, nvmlDeviceGetUUID);
int nvmlDeviceGetUUID(struct fl_nv_device *d, char *text, uint32_t size)
{
	char uuid[48];
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(uuid), d);
	if (c.code)
		return c.code;
	if (!c.ci)
		return put_text(text, size, c.gpu->uuid);
	fake_mig_uuid(c.gpu, c.gi, c.ci, uuid);
	return put_text(text, size, uuid);
}

FAKE_CALL(name, nvmlDeviceGetName);
int nvmlDeviceGetName(struct fl_nv_device *d, char *text, uint32_t size)
{
	char name[128];
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(name), d);
	if (c.code)
		return c.code;
	if (!c.ci)
		return put_text(text, size, c.gpu->model.name);
	snprintf(name, sizeof(name), "%s MIG %s", c.gpu->model.name, c.gpu->model.profiles[c.gi->profile].name);
	return put_text(text, size, name);
}

FAKE_CALL(index, nvmlDeviceGetIndex);
int nvmlDeviceGetIndex(struct fl_nv_device *d, uint32_t *index)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(index), d);
	if (c.code == 0)
		*index = c.ci ? c.ci->index : index_of(c.state, c.index);
	return c.code;
}

/* A number that every GPU has. */
#define NUMBER(member, symbol, value) \
	FAKE_CALL(member, symbol); \
	int symbol(struct fl_nv_device *d, uint32_t *to) \
	{ \
		FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(member), d); \
		if (c.code == 0) \
			*to = (uint32_t)(value); \
		return c.code; \
	}
NUMBER(minor, nvmlDeviceGetMinorNumber, c.gpu->minor)
NUMBER(brand, nvmlDeviceGetBrand, c.gpu->model.brand)
NUMBER(compute_mode, nvmlDeviceGetComputeMode, c.gpu->compute_mode)

FAKE_CALL(architecture, nvmlDeviceGetArchitecture);
int nvmlDeviceGetArchitecture(struct fl_nv_device *d, uint32_t *arch)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(architecture), d);
	if (c.code == 0)
		*arch = c.gpu->model.arch;
	return c.code;
}

static void fill_pci(const struct fake_gpu *gpu, struct fl_nv_pci *pci)
{
	*pci = (struct fl_nv_pci){ .domain = gpu->domain, .bus = gpu->bus, .device = gpu->slot, .id = gpu->model.pci_id,
				   .subsystem = gpu->model.subsystem };
	snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", gpu->domain, gpu->bus & 0xff, gpu->slot & 0x1f);
	snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%04X:%02X:%02X.0", gpu->domain & 0xffff,
		 gpu->bus & 0xff,
		 gpu->slot & 0x1f);
}

FAKE_CALL(pci, nvmlDeviceGetPciInfo_v3);
int nvmlDeviceGetPciInfo_v3(struct fl_nv_device *d, struct fl_nv_pci *pci)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(pci), d);
	if (c.code == 0)
		fill_pci(c.gpu, pci);
	return c.code;
}

__attribute__((visibility("default"))) int nvmlDeviceGetPciInfo_v2(struct fl_nv_device *d, struct fl_nv_pci *pci);
int nvmlDeviceGetPciInfo_v2(struct fl_nv_device *d, struct fl_nv_pci *pci)
{
	struct fl_nv_pci all;
	int code = nvmlDeviceGetPciInfo_v3(d, &all);

	if (code == 0)
		memcpy(pci, &all, offsetof(struct fl_nv_pci, bus_id));
	return code;
}

FAKE_CALL(compute_capability, nvmlDeviceGetCudaComputeCapability);
int nvmlDeviceGetCudaComputeCapability(struct fl_nv_device *d, int *major, int *minor)
{
	FAKE_SCOPE struct call c = begin_any(FAKE_NO(compute_capability), d);
	if (c.code == 0) {
		*major = (int)c.gpu->model.major;
		*minor = (int)c.gpu->model.minor;
	}
	return c.code;
}

FAKE_CALL(serial, nvmlDeviceGetSerial);
int nvmlDeviceGetSerial(struct fl_nv_device *d, char *text, uint32_t size)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(serial), d);
	return c.code ? c.code : put_text(text, size, c.gpu->serial);
}

FAKE_CALL(vbios, nvmlDeviceGetVbiosVersion);
int nvmlDeviceGetVbiosVersion(struct fl_nv_device *d, char *text, uint32_t size)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(vbios), d);
	return c.code ? c.code : put_text(text, size, c.gpu->model.vbios);
}

FAKE_CALL(platform, nvmlDeviceGetPlatformInfo);
int nvmlDeviceGetPlatformInfo(struct fl_nv_device *d, void *any)
{
	struct fl_nv_platform_v2 *info = any;
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(platform), d);
	if (c.code)
		return c.code;
	if (!c.gpu->model.has_fabric)
		return FL_NV_NOT_SUPPORTED;
	if (info->version != FL_NV_VERSION(struct fl_nv_platform_v2, 2) || c.state->newest < 2)
		return FL_NV_ARGUMENT_VERSION_MISMATCH;
	*info = (struct fl_nv_platform_v2){ .version = info->version, .slot = 1, .host = 1, .peer_type = 1,
					    .module = (uint8_t)(c.index + 1) };
	memcpy(info->chassis_serial, c.gpu->fabric.cluster, 13);
	for (uint32_t i = 0; i < 13; i++)
		info->chassis_serial[i] = (uint8_t)('0' + info->chassis_serial[i] % 10);
	return 0;
}

FAKE_CALL(set_compute_mode, nvmlDeviceSetComputeMode);
int nvmlDeviceSetComputeMode(struct fl_nv_device *d, uint32_t mode)
{
	FAKE_SCOPE struct call c = begin_gpu(FAKE_NO(set_compute_mode), d);
	if (c.code == 0 && (c.code = may_change(&c)) == 0) {
		if (mode > FL_NV_COMPUTE_EXCLUSIVE_PROCESS)
			return FL_NV_INVALID_ARGUMENT;
		if (c.gpu->mig)
			return FL_NV_NOT_SUPPORTED;
		c.gpu->compute_mode = mode;
	}
	return c.code;
}
