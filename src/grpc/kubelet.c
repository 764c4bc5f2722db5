#include "grpc/kubelet.h"
#include "grpc/runtime.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/pluginregistration.pb-c.h"
#include "grpc/podresources.pb-c.h"
#include "grpc/runtime.pb-c.h"

#define METHOD(name, path, request, reply, ...) \
	const struct fl_grpc_method name = { path, &request##__descriptor, &reply##__descriptor, __VA_ARGS__ }

METHOD(fl_kubelet_register, "/v1beta1.Registration/Register", v1beta1__register_request, v1beta1__empty);

METHOD(fl_plugin_options, "/v1beta1.DevicePlugin/GetDevicePluginOptions", v1beta1__empty,
       v1beta1__device_plugin_options);
METHOD(fl_plugin_list_and_watch, "/v1beta1.DevicePlugin/ListAndWatch", v1beta1__empty, v1beta1__list_and_watch_response,
       .streams = true);
METHOD(fl_plugin_preferred, "/v1beta1.DevicePlugin/GetPreferredAllocation", v1beta1__preferred_allocation_request,
       v1beta1__preferred_allocation_response);
METHOD(fl_plugin_allocate, "/v1beta1.DevicePlugin/Allocate", v1beta1__allocate_request, v1beta1__allocate_response);
METHOD(fl_plugin_pre_start, "/v1beta1.DevicePlugin/PreStartContainer", v1beta1__pre_start_container_request,
       v1beta1__pre_start_container_response);

METHOD(fl_registration_info, "/pluginregistration.Registration/GetInfo", pluginregistration__info_request,
       pluginregistration__plugin_info);
METHOD(fl_registration_status, "/pluginregistration.Registration/NotifyRegistrationStatus",
       pluginregistration__registration_status, pluginregistration__registration_status_response);

METHOD(fl_pods_list, "/v1.PodResourcesLister/List", v1__list_pod_resources_request, v1__list_pod_resources_response);
METHOD(fl_pods_allocatable, "/v1.PodResourcesLister/GetAllocatableResources", v1__allocatable_resources_request,
       v1__allocatable_resources_response);
METHOD(fl_pods_get, "/v1.PodResourcesLister/Get", v1__get_pod_resources_request, v1__get_pod_resources_response);

METHOD(fl_runtime_version, "/runtime.v1.RuntimeService/Version", runtime__v1__version_request,
       runtime__v1__version_response);
METHOD(fl_runtime_status, "/runtime.v1.RuntimeService/Status", runtime__v1__status_request,
       runtime__v1__status_response);
METHOD(fl_runtime_sandboxes, "/runtime.v1.RuntimeService/ListPodSandbox", runtime__v1__list_pod_sandbox_request,
       runtime__v1__list_pod_sandbox_response);
