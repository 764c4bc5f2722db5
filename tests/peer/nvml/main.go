// A program written for NVML with NVIDIA's own bindings, run on the fake driver: what it sees is what any such program sees.
//
//	peer LIBRARY FAKECTL TOPOLOGY FOLDER
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

var lib nvml.Interface

func must(ret nvml.Return, what string) error {
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%s: %v", what, ret)
	}
	return nil
}

func want(got, want any, what string) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func say(words ...string) error {
	out, err := exec.Command(os.Args[2], append([]string{"say", os.Args[4]}, words...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fakectl %v: %v: %s", words, err, out)
	}
	return nil
}

var cases = []struct {
	says string
	run  func() error
}{
	{"the system tells its versions", func() error {
		version, ret := lib.SystemGetDriverVersion()
		cuda, ret2 := lib.SystemGetCudaDriverVersion()
		return first(must(ret, "driver"), want(version, "570.133.20", "driver"), must(ret2, "cuda"), want(cuda, 12080, "cuda"))
	}},
	{"eight GPUs, each found again by UUID and by address", eachCard},
	{"telemetry comes with the units of nvml.h", telemetry},
	{"NVLink goes to the switches, and the topology is that of the baseboard", topology},
	{"a GPU is cut up, its devices are found, and it is put together again", mig},
	{"an XID that is told arrives", events},
	{"a lost GPU says so, the others do not", func() error {
		if err := say("lose", "5"); err != nil {
			return err
		}
		_, ret := lib.DeviceGetHandleByIndex(5)
		other, ret2 := lib.DeviceGetHandleByIndex(4)
		if err := first(want(ret, nvml.ERROR_GPU_IS_LOST, "lost"), must(ret2, "other")); err != nil {
			return err
		}
		_, ret = other.GetTemperature(nvml.TEMPERATURE_GPU)
		return first(must(ret, "temperature"), say("heal"))
	}},
	{"processes are listed with their memory", func() error {
		d, ret := lib.DeviceGetHandleByIndex(1)
		if err := first(must(ret, "card"), say("process", "1", "4711", "2048")); err != nil {
			return err
		}
		list, ret := d.GetComputeRunningProcesses()
		return first(must(ret, "processes"), want(len(list), 1, "how many"), want(list[0].Pid, uint32(4711), "pid"),
			want(list[0].UsedGpuMemory, uint64(2048<<20), "memory"), say("process", "1", "4711", "0"))
	}},
}

func eachCard() error {
	count, ret := lib.DeviceGetCount()
	if err := first(must(ret, "count"), want(count, 8, "count")); err != nil {
		return err
	}
	for i := 0; i < count; i++ {
		d, ret := lib.DeviceGetHandleByIndex(i)
		if err := must(ret, "by index"); err != nil {
			return err
		}
		uuid, ret := d.GetUUID()
		name, ret2 := d.GetName()
		pci, ret3 := d.GetPciInfo()
		if err := first(must(ret, "uuid"), must(ret2, "name"), must(ret3, "pci"), want(name, "NVIDIA A100-SXM4-80GB", "name"),
			want(pci.PciDeviceId, uint32(0x20b210de), "pci id")); err != nil {
			return err
		}
		var address []byte
		for _, c := range pci.BusId {
			if c == 0 {
				break
			}
			address = append(address, byte(c))
		}
		again, ret := lib.DeviceGetHandleByUUID(uuid)
		there, ret2 := lib.DeviceGetHandleByPciBusId(string(address))
		index, ret3 := again.GetIndex()
		index2, ret4 := there.GetIndex()
		if err := first(must(ret, "by uuid"), must(ret2, "by address "+string(address)), must(ret3, "index"), must(ret4, "index"),
			want(index, i, "by uuid"), want(index2, i, "by address")); err != nil {
			return err
		}
	}
	return nil
}

func telemetry() error {
	d, ret := lib.DeviceGetHandleByIndex(0)
	if err := first(must(ret, "card"), say("load", "0", "50")); err != nil {
		return err
	}
	memory, ret := d.GetMemoryInfo()
	memory2, ret2 := d.GetMemoryInfo_v2()
	power, ret3 := d.GetPowerUsage()
	rates, ret4 := d.GetUtilizationRates()
	_, ecc, _, _, ret5 := d.GetRemappedRows()
	if err := first(must(ret, "memory"), must(ret2, "memory v2"), must(ret3, "power"), must(ret4, "rates"), must(ret5, "rows"),
		want(memory.Total, uint64(81920<<20), "total"), want(memory2.Total, uint64(81920<<20), "total"), want(ecc, 0, "rows")); err != nil {
		return err
	}
	if power < 100000 || power > 400000 || rates.Gpu < 30 || rates.Gpu > 70 {
		return fmt.Errorf("power %d mW at %d %%", power, rates.Gpu)
	}
	return say("load", "0", "0")
}

func topology() error {
	a, ret := lib.DeviceGetHandleByIndex(0)
	b, ret2 := lib.DeviceGetHandleByIndex(1)
	c, ret3 := lib.DeviceGetHandleByIndex(7)
	if err := first(must(ret, "0"), must(ret2, "1"), must(ret3, "7")); err != nil {
		return err
	}
	near, ret := a.GetTopologyCommonAncestor(b)
	far, ret2 := a.GetTopologyCommonAncestor(c)
	on, ret3 := a.GetNvLinkState(11)
	_, ret4 := a.GetNvLinkState(12)
	status, ret5 := a.GetP2PStatus(c, nvml.P2P_CAPS_INDEX_NVLINK)
	return first(must(ret, "near"), must(ret2, "far"), must(ret3, "link"), must(ret5, "p2p"),
		want(near, nvml.TOPOLOGY_SINGLE, "near"), want(far, nvml.TOPOLOGY_SYSTEM, "far"), want(on, nvml.FEATURE_ENABLED, "link 11"),
		want(ret4, nvml.ERROR_INVALID_ARGUMENT, "link 12"), want(status, nvml.P2P_STATUS_OK, "p2p"))
}

func mig() error {
	if err := say("mig", "2", "on"); err != nil {
		return err
	}
	d, ret := lib.DeviceGetHandleByIndex(2)
	if err := must(ret, "card"); err != nil {
		return err
	}
	profile, ret := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	if err := first(must(ret, "profile"), want(profile.Id, uint32(9), "profile id")); err != nil {
		return err
	}
	places, ret := d.GetGpuInstancePossiblePlacements(&profile)
	if err := first(must(ret, "places"), want(len(places), 2, "places")); err != nil {
		return err
	}
	gi, ret := d.CreateGpuInstanceWithPlacement(&profile, &places[1])
	if err := must(ret, "create GPU instance"); err != nil {
		return err
	}
	ciProfile, ret := gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if err := must(ret, "compute profile"); err != nil {
		return err
	}
	ci, ret := gi.CreateComputeInstance(&ciProfile)
	if err := must(ret, "create compute instance"); err != nil {
		return err
	}
	part, ret := d.GetMigDeviceHandleByIndex(0)
	if err := must(ret, "MIG device"); err != nil {
		return err
	}
	uuid, ret := part.GetUUID()
	id, ret2 := part.GetGpuInstanceId()
	attributes, ret3 := part.GetAttributes()
	parent, ret4 := part.GetDeviceHandleFromMigDeviceHandle()
	if err := first(must(ret, "uuid"), must(ret2, "id"), must(ret3, "attributes"), must(ret4, "parent"),
		want(strings.HasPrefix(uuid, "MIG-"), true, "uuid "+uuid), want(id, 1, "id of the upper half"),
		want(attributes.MemorySizeMB, uint64(40192), "memory"), want(parent, d, "parent")); err != nil {
		return err
	}
	return first(want(gi.Destroy(), nvml.ERROR_IN_USE, "destroy in use"), must(ci.Destroy(), "compute instance"),
		must(gi.Destroy(), "GPU instance"), want(gi.Destroy(), nvml.ERROR_INVALID_ARGUMENT, "destroy again"), say("mig", "2", "off"))
}

func events() error {
	d, ret := lib.DeviceGetHandleByIndex(3)
	set, ret2 := lib.EventSetCreate()
	if err := first(must(ret, "card"), must(ret2, "set"), must(d.RegisterEvents(nvml.EventTypeXidCriticalError, set), "register")); err != nil {
		return err
	}
	_, ret = set.Wait(1)
	if err := first(want(ret, nvml.ERROR_TIMEOUT, "nothing yet"), say("xid", "4", "48"), say("xid", "3", "94")); err != nil {
		return err
	}
	event, ret := set.Wait(5000)
	return first(must(ret, "wait"), want(event.EventData, uint64(94), "XID"), want(event.Device, d, "card"),
		want(event.GpuInstanceId, uint32(0xffffffff), "instance"), must(set.Free(), "free"))
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: peer LIBRARY FAKECTL TOPOLOGY FOLDER")
		os.Exit(2)
	}
	if out, err := exec.Command(os.Args[2], "up", os.Args[4], os.Args[3]).CombinedOutput(); err != nil {
		fmt.Printf("Bail out! fakectl: %v: %s\n", err, out)
		os.Exit(1)
	}
	os.Setenv("FAIRLEAD_FAKE_NODE", os.Args[4])
	lib = nvml.New(nvml.WithLibraryPath(os.Args[1]))
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Printf("Bail out! init: %v\n", ret)
		os.Exit(1)
	}
	bad := 0
	for i, c := range cases {
		if err := c.run(); err != nil {
			bad++
			fmt.Printf("not ok %d - %s\n# %v\n", i+1, c.says, err)
		} else {
			fmt.Printf("ok %d - %s\n", i+1, c.says)
		}
	}
	fmt.Printf("1..%d\n", len(cases))
	lib.Shutdown()
	if bad > 0 {
		os.Exit(1)
	}
}
