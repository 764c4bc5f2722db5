package main

import (
	"fmt"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func device(id string) *api.Device { return &api.Device{ID: id, Health: api.Healthy} }

func preferredRequest(available []string, size int32) *api.PreferredAllocationRequest {
	return &api.PreferredAllocationRequest{ContainerRequests: []*api.ContainerPreferredAllocationRequest{
		{AvailableDeviceIDs: available, AllocationSize: size}}}
}

func preferred(r *api.PreferredAllocationRequest) *api.PreferredAllocationResponse {
	reply := &api.PreferredAllocationResponse{}
	for _, c := range r.ContainerRequests {
		reply.ContainerResponses = append(reply.ContainerResponses,
			&api.ContainerPreferredAllocationResponse{DeviceIDs: c.AvailableDeviceIDs[:c.AllocationSize]})
	}
	return reply
}

func checkPreferred(reply *api.PreferredAllocationResponse, err error) error {
	if err == nil && (len(reply.ContainerResponses) != 1 || len(reply.ContainerResponses[0].DeviceIDs) != 2) {
		err = fmt.Errorf("got %v", reply)
	}
	return err
}
