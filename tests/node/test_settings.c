/* How this node hands out its GPUs: command line, environment, NVIDIA's file. */
#include "base/units.h"
#include "json/yaml.h"
#include "settings_read.h"

TEST(the_table_of_options_is_sound)
{
	struct fl_err err = { 0 };

	OK_ERR(fl_options_check(&table, &err), &err);
}

TEST(what_touches_pods_and_the_node_is_off_unless_it_is_asked_for)
{
	const struct fl_settings_given nothing = { 0 };
	const struct fl_settings_from from = { .given = &nothing, .name = FL_S("c"), .text = FL_S("version: v1") };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings settings;

	OK(fl_settings_read(&from, &arena, &settings, NULL));
	CHECK(!settings.startup_taint && !settings.evict_after && !settings.remove_refused && !settings.dev_links);
	CHECK(!settings.pre_start && !settings.mps && !settings.extras.len);
}

#define SHARING "version: v1\nsharing: {timeSlicing: "
#define MPS "version: v1\nsharing: {mps: "
#define GPU4 "resources: [{name: nvidia.com/gpu, replicas: 4}]"

static const struct {
	const char *says, *args, *env, *file, *got;
} cases[] = {
	{ "nothing given is nothing changed", "", "", NULL, "" },
	{ "a file that says nothing serves what NVIDIA's plugin would", "", "", "version: v1", "{\"unpooled\":true}" },
	{ "no version is v1", "", "", "flags: {migStrategy: mixed}", "{\"unpooled\":true,\"migStrategy\":\"mixed\"}" },
	{ "nor is an empty one another", "", "", "version: ''", "{\"unpooled\":true}" },
	{ "an empty file is v1 with all defaults", "", "", "", "{\"unpooled\":true}" },
	{ "so is one of comments", "", "", "# to do\n", "{\"unpooled\":true}" },
	{ "and one that only begins a document", "", "", "---\n", "{\"unpooled\":true}" },
	{ "names count in any case, as for NVIDIA's plugin", "", "",
	  "Version: v1\nFLAGS: {migstrategy: mixed, Plugin: {deviceidstrategy: index}}\n",
	  "{\"unpooled\":true,\"migStrategy\":\"mixed\",\"deviceIDStrategy\":\"index\"}" },
	{ "those of sharing too", "", "", "sharing: {timeslicing: {Resources: [{Name: nvidia.com/gpu, REPLICAS: 4}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":false}" },
	{ "a field of another release is reported, and the rest counts", "", "",
	  "version: v1\nflags: {migStrategy: mixed, plugin: {passDeviceSpec: {a: [1]}}}",
	  "{\"unpooled\":true,\"migStrategy\":\"mixed\",\"untaken\":\"flags.plugin.passDeviceSpec: no such field, and "
	  "so left out, as NVIDIA's plugin does\"}" },
	{ "a third way of sharing is none", "", "", "sharing: {vgpu: {}}",
	  "{\"unpooled\":true,\"untaken\":\"sharing.vgpu: no such field, and so left out, as NVIDIA's plugin does\"}" },
	{ "a bare option is true, as NVIDIA documents it", "--startup-taint --fail-on-init-error --gds-enabled", "",
	  NULL, "{\"extras\":[\"gds\"],\"startupTaint\":true}" },
	{ "with no- before it false", "--no-pass-device-specs", "", NULL, "{\"passDeviceSpecs\":false}" },
	{ "a value after it is its own", "--pass-device-specs false --unpooled True", "", NULL,
	  "{\"unpooled\":true,\"passDeviceSpecs\":false}" },
	{ "words of Go", "--unpooled=T", "GFD_NO_TIMESTAMP=TRUE FAIRLEAD_PRE_START=False GDS_ENABLED=t", NULL,
	  "{\"unpooled\":true,\"preStart\":false,\"extras\":[\"gds\"],\"noTimestamp\":true}" },
	{ "the file before the default", "", "", "version: v1\nflags: {migStrategy: mixed}",
	  "{\"unpooled\":true,\"migStrategy\":\"mixed\"}" },
	{ "the environment before the file", "", "MIG_STRATEGY=single", "version: v1\nflags: {migStrategy: mixed}",
	  "{\"unpooled\":true,\"migStrategy\":\"single\"}" },
	{ "the command line wins", "--mig-strategy=mixed", "MIG_STRATEGY=single",
	  "version: v1\nflags: {migStrategy: none}", "{\"unpooled\":true,\"migStrategy\":\"mixed\"}" },
	{ "device nodes beside CDI alone are none", "--pass-device-specs", "", NULL,
	  "{\"passDeviceSpecs\":true,\"untaken\":\"--pass-device-specs: has no effect, as with NVIDIA's plugin: all "
	  "device list strategies are CDI, which brings the device nodes\"}" },
	{ "no channel, so none is required", "", "IMEX_REQUIRED=true", NULL, "{\"imexRequired\":true,\"untaken\":"
	  "\"--imex-required: has no effect without a channel: write [0] for imex-channel-ids\"}" },
	{ "no manager, so no layout", "--mig-config-file=/l", "", NULL, "{\"migConfigFile\":\"/l\",\"untaken\":"
	  "\"--mig-config-file: has no effect without --mig-manager=true\"}" },
	{ "of that name", "--mig-config=x", "", NULL, "{\"migConfig\":\"x\",\"untaken\":"
	  "\"--mig-config: has no effect without --mig-manager=true\"}" },
	{ "several strategies, each once", "--device-list-strategy=cdi-cri,envvar --device-list-strategy=envvar", "",
	  NULL, "{\"deviceListStrategy\":[\"cdi-cri\",\"envvar\"]}" },
	{ "strategies of the environment", "", "DEVICE_LIST_STRATEGY=volume-mounts,device-specs", NULL,
	  "{\"deviceListStrategy\":[\"volume-mounts\",\"device-specs\"]}" },
	{ "strategies of the file, as a text", "", "",
	  "version: v1\nflags: {plugin: {deviceListStrategy: 'envvar,cdi-annotations'}}",
	  "{\"unpooled\":true,\"deviceListStrategy\":[\"envvar\",\"cdi-annotations\"]}" },
	{ "strategies of the file, as a list", "", "", "version: v1\nflags: {plugin: {deviceListStrategy: [envvar]}}",
	  "{\"unpooled\":true,\"deviceListStrategy\":[\"envvar\"]}" },
	{ "all that the plugin's part may say", "", "",
	  "version: v1\nflags:\n  failOnInitError: true\n  nvidiaDriverRoot: /run/nvidia/driver\n  nvidiaDevRoot: /\n"
	  "  gdsEnabled: false\n  mpsRoot: ''\n  deviceDiscoveryStrategy: auto\n  plugin:\n    passDeviceSpecs: true\n"
	  "    deviceListStrategy: envvar\n    deviceIDStrategy: index\n    cdiAnnotationPrefix: cdi.k8s.io/x-\n"
	  "    nvidiaCTKPath: /usr/bin/nvidia-ctk\n"
	  "    containerDriverRoot: /driver-root\n    sharedDevicesAllocationPolicy: packed\n"
	  "  gfd: {oneshot: false, sleepInterval: 60s}\n"
	  "imex: {channelIDs: [], required: false}\n",
	  "{\"unpooled\":true,\"deviceListStrategy\":[\"envvar\"],\"deviceIDStrategy\":\"index\","
	  "\"passDeviceSpecs\":true,"
	  "\"sharedDevicesAllocationPolicy\":\"packed\",\"imexRequired\":false,"
	  "\"lookRoots\":[\"/driver-root\"],\"driverRoot\":\"/run/nvidia/driver\",\"devRoot\":\"/\","
	  "\"cdiAnnotationPrefix\":\"cdi.k8s.io/x-\",\"untaken\":\"flags.plugin.nvidiaCTKPath: is not taken: "
	  "that is NVIDIA's hook, and containers are prepared by our own, whose path is --cdi-hook-path\"}" },
	{ "our program is never written under NVIDIA's name", "--cdi-hook-path=/usr/bin/nvidia-ctk", "", NULL,
	  "{\"untaken\":\"--cdi-hook-path: is not taken: that is NVIDIA's hook, and containers are prepared by our "
	  "own, whose path is --cdi-hook-path\"}" },
	{ "JSON is YAML", "", "", "{\"version\": \"v1\", \"flags\": {\"migStrategy\": \"single\"}}",
	  "{\"unpooled\":true,\"migStrategy\":\"single\"}" },
	{ "null is nothing", "", "", "version: v1\nflags: {migStrategy: null, plugin: null}\nsharing: null",
	  "{\"unpooled\":true}" },

	{ "time-slicing", "", "", SHARING "{" GPU4 "}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":false}" },
	{ "time-slicing under another name, one at a time", "", "",
	  SHARING "{renameByDefault: true, failRequestsGreaterThanOne: true, " GPU4 "}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"renamed\":\"nvidia.com/gpu.shared\","
	  "\"replicas\":4}],\"failRequestsGreaterThanOne\":true}" },
	{ "a resource without its domain is NVIDIA's", "--mig-strategy=mixed", "",
	  SHARING "{resources: [{name: mig-1g.10gb, devices: all, replicas: 2}]}}",
	  "{\"unpooled\":true,\"migStrategy\":\"mixed\","
	  "\"sharing\":[{\"resource\":\"nvidia.com/mig-1g.10gb\",\"replicas\":2}],"
	  "\"failRequestsGreaterThanOne\":false}" },
	{ "what NVIDIA's plugin resets is told and not taken", "", "",
	  SHARING "{resources: [{name: nvidia.com/gpu, rename: x, devices: [0, '1:2', GPU-1], replicas: 2}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":2}],"
	  "\"failRequestsGreaterThanOne\":false,\"untaken\":\"sharing.timeSlicing.resources[0].rename: is not taken, "
	  "as NVIDIA's plugin does not take it either: renameByDefault is; sharing.timeSlicing.resources[0].devices: "
	  "is not taken, as NVIDIA's plugin does not take it either: all devices are shared\"}" },
	{ "MPS: a request for two shares is refused", "--mps-root=/run/nvidia/mps/", "", MPS "{" GPU4 "}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":true,\"mps\":true,\"mpsRoot\":\"/run/nvidia/mps\"}" },
	{ "MPS: an explicit false is honoured", "", "MPS_ROOT=/m",
	  MPS "{failRequestsGreaterThanOne: false, " GPU4 "}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":false,\"mps\":true,\"mpsRoot\":\"/m\"}" },
	{ "MPS: the file names its directory, 48 shares, under another name", "", "",
	  "version: v1\nflags: {mpsRoot: /m}\nsharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: "
	  "48}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"renamed\":\"nvidia.com/gpu.shared\","
	  "\"replicas\":48}],\"failRequestsGreaterThanOne\":true,\"mps\":true,\"mpsRoot\":\"/m\"}" },
	{ "MPS wins over time-slicing, wherever it stands", "--mps-root=/m", "",
	  SHARING "{resources: [{name: gpu, replicas: 9}]}, mps: {" GPU4 "}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":true,\"mps\":true,\"mpsRoot\":\"/m\",\"untaken\":\"sharing.timeSlicing: is "
	  "not taken: sharing.mps is there and wins, as with NVIDIA's plugin\"}" },
	{ "also when it stands first", "--mps-root=/m", "", MPS "{" GPU4 "}, timeslicing: {renameByDefault: true, "
		  "resources: [{name: gpu, replicas: 9}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":4}],"
	  "\"failRequestsGreaterThanOne\":true,\"mps\":true,\"mpsRoot\":\"/m\",\"untaken\":\"sharing.timeSlicing: is "
	  "not taken: sharing.mps is there and wins, as with NVIDIA's plugin\"}" },
	{ "MPS: a directory alone shares nothing", "--mps-root=/m", "", "version: v1",
	  "{\"unpooled\":true,\"mpsRoot\":\"/m\"}" },
	{ "what comes beside GPUs, by the file", "", "",
	  "version: v1\nflags: {gdrcopyEnabled: true, gdsEnabled: true, mofedEnabled: true}\nimex: {channelIDs: [0], "
	  "required: true}",
	  "{\"unpooled\":true,\"extras\":[\"gds\",\"mofed\",\"gdrcopy\",\"imex-channel\"],\"imexRequired\":true}" },
	{ "by the command line and the environment", "--gds-enabled=true --imex-channel-ids=[0]", "MOFED_ENABLED=true",
	  NULL, "{\"extras\":[\"gds\",\"mofed\",\"imex-channel\"]}" },
	{ "the command line wins over the file here too", "--gds-enabled=false --imex-channel-ids=[]", "",
	  "version: v1\nflags: {gdsEnabled: true, mofedEnabled: true}\nimex: {channelIDs: [0]}",
	  "{\"unpooled\":true,\"extras\":[\"mofed\"]}" },
	{ "renaming of resources is told and not taken", "", "",
	  "version: v1\nresources: {gpus: [{pattern: '*', name: nvidia.com/gpu}]}",
	  "{\"unpooled\":true,\"untaken\":\"resources.gpus: is not taken,"
	  " as NVIDIA's plugin does not take it either\"}" },

	{ "pools", "--pool=gpu.deckhouse.io/a=0,1 --pool=gpu.deckhouse.io/b=all;mig=1g.10gb;slices=2", "", NULL,
	  "{\"pools\":[{\"resource\":\"gpu.deckhouse.io/a\",\"cards\":[\"0\",\"1\"],\"unit\":\"Card\","
	  "\"slicesPerUnit\":1},{\"resource\":\"gpu.deckhouse.io/b\",\"cards\":[\"all\"],\"unit\":\"MIG\","
	  "\"migProfile\":\"1g.10gb\",\"slicesPerUnit\":2}]}" },
	{ "ours",
	  "--unpooled=true --pre-start=false --without-cdi=refuse --cdi-hook-path=/opt/fairlead --cdi-kind=a.b/c "
		  "--recovery-wait=10s --recovery-wait-max=1h --recovery-checks=5",
	  "", NULL,
	  "{\"unpooled\":true,\"withoutCDI\":\"refuse\",\"preStart\":false,\"cdiKind\":\"a.b/c\",\"hook\":"
	  "\"/opt/fairlead\",\"recoveryWait\":10000000000,\"recoveryWaitMax\":3600000000000,\"recoveryChecks\":5}" },
	{ "a wait that the longest one's default is above leaves it alone", "--recovery-wait=5m", "", NULL,
	  "{\"recoveryWait\":300000000000}" },
	{ "above a longer one it is twice that", "--recovery-wait=15m", "", NULL,
	  "{\"recoveryWait\":900000000000,\"recoveryWaitMax\":1800000000000}" },
	{ "but no longer than a GPU is ever kept away", "--recovery-wait=45m", "", NULL,
	  "{\"recoveryWait\":2700000000000,\"recoveryWaitMax\":3600000000000}" },
	{ "above the longest there is none, which is told", "--recovery-wait=1h", "", NULL,
	  "{\"recoveryWait\":3600000000000,\"recoveryWaitMax\":0,\"untaken\":\"--recovery-wait: 1h is the longest time "
	  "a GPU is ever kept away, so Flapping is off: give a shorter one, or --recovery-wait-max=0s too\"}" },
	{ "and not told to somebody who has turned it off", "--recovery-wait=1h --recovery-wait-max=0s", "", NULL,
	  "{\"recoveryWait\":3600000000000,\"recoveryWaitMax\":0}" },
	{ "without a wait there is no Flapping, and nothing is told", "--recovery-wait=0s", "", NULL,
	  "{\"recoveryWait\":0}" },
	{ "what touches Pods and the Node, asked for",
	  "--startup-taint=true --evict-after=5m --remove-refused-pods=true --dev-char-links=true", "", NULL,
	  "{\"startupTaint\":true,\"evictAfter\":300000000000,\"removeRefusedPods\":true,\"devCharLinks\":true}" },
	{ "device nodes are somebody else's", "--make-device-nodes=false", "", NULL, "{\"makeDeviceNodes\":false}" },
	{ "no time is no eviction", "--evict-after=0s", "", NULL, "" },
	{ "ours in the environment", "", "FAIRLEAD_UNPOOLED=true", NULL, "{\"unpooled\":true}" },

	{ "XIDs that are not to be heeded", "", "DP_DISABLE_HEALTHCHECKS=31,94", NULL,
	  "{\"ignoredXids\":[13,31,43,45,68,94,109]}" },
	{ "all off", "", "DP_DISABLE_HEALTHCHECKS=all", NULL, "{\"healthChecks\":false}" },
	{ "all off, in the old word", "", "DP_DISABLE_HEALTHCHECKS=xids", NULL, "{\"healthChecks\":false}" },
	{ "one on after all", "", "DP_ENABLE_HEALTHCHECKS=13", NULL, "{\"ignoredXids\":[31,43,45,68,109]}" },
	{ "every one on", "", "DP_ENABLE_HEALTHCHECKS=all", NULL, "{\"ignoredXids\":[]}" },
	{ "all off but one", "", "DP_DISABLE_HEALTHCHECKS=all DP_ENABLE_HEALTHCHECKS=79,48", NULL,
	  "{\"healthChecks\":false,\"heededXids\":[48,79]}" },
	{ "nothing off", "", "DP_DISABLE_HEALTHCHECKS=", NULL, "" },
	{ "no XID", "", "DP_DISABLE_HEALTHCHECKS=13,x", NULL,
	  "DP_DISABLE_HEALTHCHECKS: 'x' is no XID: write numbers, or all" },
};

/* Of the resources to be shared, those that this node cannot have; the file counts. */
static const struct {
	const char *says, *args, *name, *why;  /* how the words begin; NULL: it is shared */
} shared[] = {
	{ "a misspelt one", "", "nvidia.com/gpus", "this agent has no such resource: write nvidia.com/gpu or "
						   "nvidia.com/mig-PROFILE" },
	{ "that of another vendor", "", "amd.com/gpu", "this agent has no such resource:" },
	{ "that which renaming makes", "", "nvidia.com/gpu.shared", "this agent has no such resource:" },
	{ "GPUs", "", "gpu", NULL },
	{ "GPUs that are not offered", "--unpooled=false", "gpu", "--unpooled=false offers none of it:" },
	{ "a pool", "--pool=a.io/b=0", "a.io/b", "it is a pool: write --pool RESOURCE=GPU,GPU;slices=N" },
	{ "MIG devices, which may come", "--mig-strategy=mixed", "mig-1g.5gb", NULL },
	{ "MIG devices that are GPUs", "--mig-strategy=single", "mig-1g.5gb", "MIG devices are nvidia.com/gpu with" },
	{ "MIG devices that are not offered", "", "mig-1g.5gb", "no MIG device is offered with the MIG strategy none" },
};

TEST(what_cannot_be_shared_is_told)
{
	EACH_ROW (row, shared) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);
		struct fl_str file =
			fl_arena_printf(&arena, SHARING "{resources: [{name: %s, replicas: 2}]}}", row->name);
		const char *told;

		OK(file.p ? 0 : -FL_E_NOMEM);
		OK(read_settings(row->args, "", file.p, &got));
		OK(fl_buf_check(&got, "settings", NULL));
		CHECK(strstr(got.p, "\"replicas\":2"));
		told = strstr(got.p, "' is not shared: ");
		CHECK_INT(told != NULL, row->why != NULL);
		CHECK(!told || !row->why || strncmp(told + 17, row->why, strlen(row->why)) == 0);
	}
}

TEST(what_is_given_is_what_is_so)
{
	EACH_ROW (row, cases) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);

		OK(read_settings(row->args, row->env, row->file, &got));
		OK(fl_buf_check(&got, "settings", NULL));
		CHECK_STR(fl_buf_view(&got), row->got);
	}
}

static const struct {
	const char *says, *args, *file, *why;
} mistakes[] = {
	{ "a word that is none", "--mig-strategy=some", NULL,
	  "--mig-strategy: 'some' is none of none, single or mixed" },
	{ "a truth that is none", "--unpooled=yes", NULL, "--unpooled: 'yes' is neither true nor false" },
	{ "a strategy that is none", "--device-list-strategy=cdi", NULL,
	  "--device-list-strategy: 'cdi' is none of cdi-cri, cdi-annotations, envvar, volume-mounts or device-specs" },
	{ "a pool without GPUs", "--pool=gpu.io/a", NULL,
	  "--pool: 'gpu.io/a' is no RESOURCE=GPU,GPU, as gpu.deckhouse.io/train=0,1 or gpu.deckhouse.io/train=all" },
	{ "a pool twice", "--pool=a.io/a=0 --pool=a.io/a=1", NULL,
	  "--pool: 'a.io/a' is there twice: put its GPUs together" },
	{ "too many slices", "--pool=a.io/a=0;slices=65", NULL,
	  "--pool: 'slices=65' is neither mig=PROFILE nor slices=N with N from 1 to 64" },
	{ "a hook without a root", "--cdi-hook-path=fairlead", NULL,
	  "--cdi-hook-path: 'fairlead' does not begin with /: write an absolute path" },
	{ "a kind without a class", "--cdi-kind=gpu", NULL, "--cdi-kind: 'gpu' is no vendor.example/class" },
	{ "no duration of grace", "--evict-after=soon", NULL,
	  "--evict-after: 'soon' is no duration from 0s (never) on, as 5m" },
	{ "a taint is wanted or not", "--startup-taint=maybe", NULL,
	  "--startup-taint: 'maybe' is neither true nor false" },
	{ "no time", "--recovery-wait=2h", NULL, "--recovery-wait: '2h' is no time from 0s to 1h, as 30s" },
	{ "a most that is no longer than the least", "--recovery-wait=30s --recovery-wait-max=20s", NULL,
	  "--recovery-wait-max: 20s is not above --recovery-wait, 30s: give a longer one, or 0s to turn Flapping off" },
	{ "nor is the same", "--recovery-wait-max=30s", NULL,
	  "--recovery-wait-max: 30s is not above --recovery-wait, 30s: give a longer one, or 0s to turn Flapping off" },
	{ "above the longest there is nothing to give", "--recovery-wait=1h --recovery-wait-max=1h", NULL,
	  "--recovery-wait-max: 1h0m0s is not above --recovery-wait, 1h0m0s: give a shorter --recovery-wait, or 0s to "
	  "turn Flapping off" },
	{ "longer than a GPU may be kept away", "--recovery-wait-max=2h", NULL,
	  "--recovery-wait-max: '2h' is no time from 0s to 1h, as 10m" },
	{ "more checks than there can be", "--recovery-checks=11", NULL,
	  "--recovery-checks: '11' is no number from 1 to 10" },
	{ "a directory of MPS that is none", "--mps-root=run/mps", NULL,
	  "--mps-root: an absolute path with at most 200 bytes is wanted: /run/nvidia/mps" },
	{ "a directory of MPS with a line break", "", "version: v1\nflags: {mpsRoot: \"/run/mps\\n/x\"}",
	  "config.yaml: flags.mpsRoot: a path without control characters is wanted: /run/nvidia/mps" },
	{ "GDS", "--gds-enabled=maybe", NULL, "--gds-enabled: 'maybe' is neither true nor false" },
	{ "IMEX channels", "--imex-channel-ids=[0,1]", NULL,
	  "--imex-channel-ids: '[0,1]' is neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "Tegra", "--device-discovery-strategy=tegra", NULL,
	  "--device-discovery-strategy: 'tegra' is not supported (Tegra, WSL and vfio are not): write auto or nvml" },

	{ "a prefix whose domain is none", "--cdi-annotation-prefix=bad_prefix/", NULL,
	  "--cdi-annotation-prefix: 'bad_prefix/' begins no key of an annotation: "
	  "write a domain and a /, as cdi.k8s.io/" },
	{ "a prefix without a domain, too long for a name", "--cdi-annotation-prefix=abcdefg", NULL,
	  "--cdi-annotation-prefix: 'abcdefg' begins no key of an annotation: "
	  "write a domain and a /, as cdi.k8s.io/" },
	{ "a name in two cases", "", "sharing: {timeSlicing: null, timeslicing: null}",
	  "config.yaml: sharing.timeSlicing: 'timeslicing' differs from it in case only: write one of them" },
	{ "what is missing, whatever the case", "", "sharing: {timeslicing: {resources: [{NAME: gpu}]}}",
	  "config.yaml: sharing.timeslicing.resources[0]: replicas is missing" },
	{ "another version", "", "version: v2", "config.yaml: version: unknown version: v2: write v1" },
	{ "an empty list of strategies", "", "flags: {plugin: {deviceListStrategy: []}}",
	  "config.yaml: flags.plugin.deviceListStrategy: an empty list allocates nothing: name a strategy, as cdi-cri, "
	  "or leave it out" },
	{ "a field twice", "", "{\"version\":\"v1\",\"version\":\"v1\"}",
	  "config.yaml: version: this name stands here twice; remove one" },
	{ "no object", "", "version: v1\nflags: []", "config.yaml: flags: an object is wanted, found a list" },
	{ "no truth", "", "version: v1\nflags: {plugin: {passDeviceSpecs: 1}}",
	  "config.yaml: flags.plugin.passDeviceSpecs: true or false is wanted, found an integer" },
	{ "a strategy that is none, in a list", "", "version: v1\nflags: {plugin: {deviceListStrategy: [envvar, x]}}",
	  "config.yaml: flags.plugin.deviceListStrategy[1]: 'x' is none of cdi-cri, cdi-annotations, envvar, "
	  "volume-mounts or device-specs" },
	{ "MPS for what it does not share", "--mps-root=/m",
	  MPS "{resources: [{name: nvidia.com/mig-1g.5gb, replicas: 2}]}}",
	  "config.yaml: sharing.mps: 'nvidia.com/mig-1g.5gb' cannot be shared by MPS, only nvidia.com/gpu: choose "
	  "timeSlicing for it" },
	{ "MPS for GPUs that are not offered", "--mps-root=/m --unpooled=false", MPS "{" GPU4 "}}",
	  "config.yaml: sharing.mps: shares the GPUs that are in no pool, and --unpooled=false offers none of them: "
	  "leave one of the two out" },
	{ "MPS without a directory", "", MPS "{" GPU4 "}}",
	  "config.yaml: sharing.mps: using MPS requires --mps-root: set it, or MPS_ROOT, to a directory of the host: "
	  "/run/nvidia/mps" },
	{ "MPS with mixed partitions", "--mps-root=/m --mig-strategy=mixed", MPS "{" GPU4 "}}",
	  "config.yaml: sharing.mps: using --mig-strategy=mixed is not supported with MPS: choose none, or "
	  "timeSlicing" },
	{ "row 39: 49 shares of MPS", "--mps-root=/m", MPS "{resources: [{name: gpu, replicas: 49}]}}",
	  "config.yaml: sharing.mps.resources[0].replicas: number of replicas must be <= 48 with MPS: a GPU serves no "
	  "more clients" },
	{ "MPS of nothing", "--mps-root=/m", MPS "{resources: []}}",
	  "config.yaml: sharing.mps.resources: no resources specified" },
	{ "MPS with one replica", "--mps-root=/m", MPS "{resources: [{name: gpu, replicas: 1}]}}",
	  "config.yaml: sharing.mps.resources[0].replicas: number of replicas must be >= 2" },
	{ "time-slicing that does not count is checked all the same", "--mps-root=/m",
	  SHARING "{resources: []}, mps: {" GPU4 "}}",
	  "config.yaml: sharing.timeSlicing.resources: no resources specified" },
	{ "Tegra in the file", "", "version: v1\nflags: {deviceDiscoveryStrategy: tegra}",
	  "config.yaml: flags.deviceDiscoveryStrategy: 'tegra' is not supported (Tegra, WSL and vfio are not): write "
	  "auto or nvml" },
	{ "GDRCopy", "", "version: v1\nflags: {gdrcopyEnabled: 1}",
	  "config.yaml: flags.gdrcopyEnabled: true or false is wanted, found an integer" },
	{ "IMEX", "", "version: v1\nimex: {channelIDs: [1]}",
	  "config.yaml: imex.channelIDs: '[1]' is neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "two channels", "", "version: v1\nimex: {channelIDs: [0, 0]}",
	  "config.yaml: imex.channelIDs: '[0,0]' is neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "a new name that is none", "", SHARING "{resources: [{name: gpu, replicas: 2, rename: 'a b'}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].rename: 'nvidia.com/a b' is no name of a resource: write at "
	  "most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends" },
	{ "a device that is none", "", SHARING "{resources: [{name: gpu, replicas: 2, devices: [0, first]}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].devices[1]: an index (1, '0:1') or a UUID is wanted" },
	{ "a device below zero", "", SHARING "{resources: [{name: gpu, replicas: 2, devices: [-1]}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].devices[0]: an index (1, '0:1') or a UUID is wanted" },
	{ "no devices at all", "", SHARING "{resources: [{name: gpu, replicas: 2, devices: []}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].devices: all, a count from 1, or a list of devices is "
	  "wanted" },
	{ "a count of none", "", SHARING "{resources: [{name: gpu, replicas: 2, devices: 0}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].devices: all, a count from 1, or a list of devices is "
	  "wanted" },
	{ "sharing of nothing", "", SHARING "{resources: []}}",
	  "config.yaml: sharing.timeSlicing.resources: no resources specified" },
	{ "sharing without resources", "", SHARING "{renameByDefault: true}}",
	  "config.yaml: sharing.timeSlicing: no resources specified" },
	{ "one replica", "", SHARING "{resources: [{name: nvidia.com/gpu, replicas: 1}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].replicas: number of replicas must be >= 2" },
	{ "no replicas", "", SHARING "{resources: [{name: nvidia.com/gpu}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0]: replicas is missing" },
	{ "a null for a name", "", SHARING "{resources: [{name: null, replicas: 2}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0]: name and replicas are wanted" },
	{ "a resource twice", "",
	  SHARING "{resources: [{name: gpu, replicas: 2}, {name: nvidia.com/gpu, replicas: 3}]}}",
	  "config.yaml: sharing.timeSlicing.resources[1]: 'nvidia.com/gpu' is there twice" },
	{ "some other text for devices", "", SHARING "{resources: [{name: gpu, replicas: 2, devices: most}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].devices: the only text that is valid here is 'all'" },
	{ "no YAML", "", "version: [", "config.yaml: line 2: " },
};

TEST(mistakes_are_told_with_their_path)
{
	EACH_ROW (row, mistakes) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);
		struct fl_str text;

		OK(read_settings(row->args, "", row->file, &got));
		OK(fl_buf_check(&got, "settings", NULL));
		text = fl_buf_view(&got);
		/* What the YAML reader says goes on as it likes. */
		if (fl_str_ends(fl_str(row->why), FL_S("line 2: ")))
			text = fl_str_sub(text, 0, fl_str(row->why).len);
		CHECK_STR(text, row->why);
	}
}

/* ---- every documented name of NVIDIA's plugin ---- */

static const struct documented documented[] = {
	{ "migStrategy", "--mig-strategy=mixed", "MIG_STRATEGY=mixed", "flags: {migStrategy: mixed}", "migStrategy" },
	{ "failOnInitError: nothing fails here", "--fail-on-init-error=true", "FAIL_ON_INIT_ERROR=true",
	  "flags: {failOnInitError: true}", "" },
	{ "nvidiaDriverRoot", "--nvidia-driver-root=/r", "NVIDIA_DRIVER_ROOT=/r", "flags: {nvidiaDriverRoot: /r}",
	  "lookRoots driverRoot" },
	{ "driverRoot", "--driver-root=/r", "-", "flags: {driverRoot: /r}", "lookRoots driverRoot" },
	{ "nvidiaDevRoot", "--nvidia-dev-root=/r", "NVIDIA_DEV_ROOT=/r", "flags: {nvidiaDevRoot: /r}",
	  "lookDev devRoot" },
	{ "devRoot", "--dev-root=/r", "-", "flags: {devRoot: /r}", "lookDev devRoot" },
	{ "deviceListStrategy", "--device-list-strategy=envvar", "DEVICE_LIST_STRATEGY=envvar",
	  "flags: {plugin: {deviceListStrategy: [envvar]}}", "deviceListStrategy" },
	{ "deviceIDStrategy", "--device-id-strategy=index", "DEVICE_ID_STRATEGY=index",
	  "flags: {plugin: {deviceIDStrategy: index}}", "deviceIDStrategy" },
	{ "passDeviceSpecs", "--pass-device-specs=true", "PASS_DEVICE_SPECS=true",
	  "flags: {plugin: {passDeviceSpecs: true}}", "passDeviceSpecs untaken" },
	{ "gdrcopyEnabled", "--gdrcopy-enabled=true", "GDRCOPY_ENABLED=true", "flags: {gdrcopyEnabled: true}",
	  "extras" },
	{ "gdsEnabled", "--gds-enabled=true", "GDS_ENABLED=true", "flags: {gdsEnabled: true}", "extras" },
	{ "mpsRoot", "--mps-root=/m", "MPS_ROOT=/m", "flags: {mpsRoot: /m}", "mpsRoot" },
	{ "sharing", "-", "-", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}",
	  "sharing failRequestsGreaterThanOne" },
	{ "sharing.mps", "--mps-root=m", "MPS_ROOT=m", "flags: {mpsRoot: m}", "!an absolute path" },
	{ "an option without a value, as NVIDIA documents it", "--mofed-enabled", "MOFED_ENABLED=T", "-", "extras" },
	{ "mofedEnabled", "--mofed-enabled=true", "MOFED_ENABLED=true", "flags: {mofedEnabled: true}", "extras" },
	{ "cdiAnnotationPrefix", "--cdi-annotation-prefix=x/", "CDI_ANNOTATION_PREFIX=x/",
	  "flags: {plugin: {cdiAnnotationPrefix: x/}}", "cdiAnnotationPrefix" },
	{ "a hook of ours by NVIDIA's name", "--nvidia-cdi-hook-path=/opt/fairlead",
	  "NVIDIA_CDI_HOOK_PATH=/opt/fairlead", "flags: {plugin: {nvidiaCDIHookPath: /opt/fairlead}}", "hook" },
	{ "by the older one", "--nvidia-ctk-path=/opt/fairlead", "NVIDIA_CTK_PATH=/opt/fairlead",
	  "flags: {plugin: {nvidiaCTKPath: /opt/fairlead}}", "hook" },
	{ "NVIDIA's own hook is reported, not run", "--nvidia-cdi-hook-path=/usr/bin/nvidia-cdi-hook",
	  "NVIDIA_CTK_PATH=/usr/bin/nvidia-ctk", "flags: {plugin: {nvidiaCTKPath: /usr/bin/nvidia-ctk}}", "untaken" },
	{ "a hook that is no path", "--nvidia-ctk-path=nvidia-ctk", "NVIDIA_CTK_PATH=nvidia-ctk",
	  "flags: {plugin: {nvidiaCTKPath: nvidia-ctk}}",
	  "!'nvidia-ctk' does not begin with /: write an absolute path" },
	{ "driverRootCtrPath", "--driver-root-ctr-path=/r", "DRIVER_ROOT_CTR_PATH=/r",
	  "flags: {plugin: {driverRootCtrPath: /r}}", "lookRoots driverRoot" },
	{ "containerDriverRoot", "--container-driver-root=/r", "CONTAINER_DRIVER_ROOT=/r",
	  "flags: {plugin: {containerDriverRoot: /r}}", "lookRoots driverRoot" },
	{ "a root that is no path", "--driver-root=r", "CONTAINER_DRIVER_ROOT=r", "flags: {nvidiaDevRoot: r}",
	  "!'r' does not begin with /: write an absolute path" },
	{ "sharedDevicesAllocationPolicy", "--shared-devices-allocation-policy=packed",
	  "SHARED_DEVICES_ALLOCATION_POLICY=packed", "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}",
	  "sharedDevicesAllocationPolicy" },
	{ "deviceDiscoveryStrategy: NVML is the only one", "--device-discovery-strategy=nvml",
	  "DEVICE_DISCOVERY_STRATEGY=auto", "flags: {deviceDiscoveryStrategy: nvml}", "" },
	{ "deviceDiscoveryStrategy: Tegra", "--device-discovery-strategy=tegra", "DEVICE_DISCOVERY_STRATEGY=tegra",
	  "flags: {deviceDiscoveryStrategy: tegra}", "!'tegra' is not supported" },
	{ "imex.channelIDs", "--imex-channel-ids=[0]", "IMEX_CHANNEL_IDS=[0]", "imex: {channelIDs: [0]}", "extras" },
	{ "imex.required", "--imex-required=true", "IMEX_REQUIRED=true", "imex: {required: true}",
	  "imexRequired untaken" },
	{ "cdiFeatureFlags", "--cdi-feature-flags=disable-ipc-discoverer,no-additional-gids-for-device-nodes",
	  "CDI_FEATURE_FLAGS=disable-nvsandboxutils", "-", "cdiFeatureFlags" },
	{ "cdiFeatureFlags: libraries by name are always there", "--cdi-feature-flags=enable-explicit-driver-libraries",
	  "CDI_FEATURE_FLAGS=enable-explicit-driver-libraries", "-", "cdiFeatureFlags" },
	{ "cdiFeatureFlags: annotations of devices", "--cdi-feature-flags=enable-coherent-annotations",
	  "CDI_FEATURE_FLAGS=enable-coherent-annotations", "-", "!enable-coherent-annotations is not supported" },
	{ "cdiFeatureFlags: all but those", "--cdi-feature-flags=all", "CDI_FEATURE_FLAGS=all", "-",
	  "cdiFeatureFlags untaken" },
	{ "cdiFeatureFlags: one that is none", "--cdi-feature-flags=x", "CDI_FEATURE_FLAGS=x", "-",
	  "!enable-explicit-driver-libraries or all" },
	{ "cdiDisableHooks", "--cdi-disable-hooks=create-symlinks,chmod", "CDI_DISABLE_HOOKS=all", "-",
	  "cdiDisableHooks" },
	{ "cdiDisableHooks: one that is none", "--cdi-disable-hooks=x", "CDI_DISABLE_HOOKS=x", "-",
	  "!'x' is none of create-symlinks" },
	{ "neither has a field in the file, and is reported", "-", "-", "flags: {cdiFeatureFlags: all}", "untaken" },
	{ "the hooks likewise", "-", "-", "flags: {cdiDisableHooks: all}", "untaken" },
	{ "and the kubelet's socket", "-", "-", "flags: {kubeletSocket: /s}",
	  "untaken" },
	{ "DP_DISABLE_HEALTHCHECKS", "--disable-health-checks=XIDs", "DP_DISABLE_HEALTHCHECKS=All", "-",
	  "healthChecks" },
	{ "DP_ENABLE_HEALTHCHECKS", "-", "DP_ENABLE_HEALTHCHECKS=13", "-", "ignoredXids" },
	{ "useNodeFeatureAPI: so it is", "--use-node-feature-api=true", "GFD_USE_NODE_FEATURE_API=true",
	  "flags: {useNodeFeatureAPI: true}", "" },
	{ "useNodeFeatureAPI off: a file, as GFD's", "--use-node-feature-api=false", "USE_NODE_FEATURE_API=false",
	  "flags: {useNodeFeatureAPI: false}", "labels" },
	{ "useNodeFeatureAPI: no bool", "--use-node-feature-api=x", "USE_NODE_FEATURE_API=x",
	  "flags: {useNodeFeatureAPI: 1}", "!" },
	{ "gfd.noTimestamp", "--no-timestamp", "GFD_NO_TIMESTAMP=true", "flags: {gfd: {noTimestamp: true}}",
	  "noTimestamp" },
	{ "gfd.oneshot: labels are kept up to date anyhow", "--oneshot", "GFD_ONESHOT=true",
	  "flags: {gfd: {oneshot: true}}", "" },
	{ "gfd.sleepInterval", "--sleep-interval=1m", "GFD_SLEEP_INTERVAL=infinite",
	  "flags: {gfd: {sleepInterval: 1s}}", "" },
	{ "gfd.outputFile is an option only, and reported", "-", "-", "flags: {gfd: {outputFile: /x}}", "untaken" },
	{ "gfd.machineTypeFile is an option only, and reported", "-", "-", "flags: {gfd: {machineTypeFile: /y}}",
	  "untaken" },
	{ "GFD_MIG_STRATEGY", "-", "GFD_MIG_STRATEGY=mixed", "-", "migStrategy" },
	{ "labels", "--labels=none", "FAIRLEAD_LABELS=none", "-", "labels" },
	{ "labels into a file", "--labels=file", "FAIRLEAD_LABELS=file", "-", "labels" },
	{ "labels on the Node itself", "--labels=node", "FAIRLEAD_LABELS=node", "-", "labels" },
	{ "labels into what is none", "--labels=files", "FAIRLEAD_LABELS=files", "-",
	  "!is none of node-feature, file, node or none" },
	{ "gpu.present", "--gpu-present-label", "FAIRLEAD_GPU_PRESENT_LABEL=true", "-", "gpuPresentLabel" },
	{ "resources: read as NVIDIA's plugin reads them, and reported", "-", "-",
	  "resources: {gpus: [{pattern: a, name: b}], mig: [{pattern: a, name: b}]}", "untaken" },
};

TEST(each_documented_name_is_taken_or_refused_by_name)
{
	EACH_ROW (row, documented)
		check_documented(row);
}

static const struct {
	const char *says, *args, *env, *file, *got;
} roots[] = {
	{ "one root: searched, and written", "", "NVIDIA_DRIVER_ROOT=/run/nvidia/driver", NULL,
	  "{\"lookRoots\":[\"/run/nvidia/driver\"],\"driverRoot\":\"/run/nvidia/driver\"}" },
	{ "several: searched in order, and written where found", "--driver-root=/a --driver-root=/b", "", NULL,
	  "{\"lookRoots\":[\"/a\",\"/b\"]}" },
	{ "row 7: a view of the root: that is searched, the other written", "",
	  "NVIDIA_DRIVER_ROOT=/run/nvidia/driver DRIVER_ROOT_CTR_PATH=/driver-root NVIDIA_DEV_ROOT=/", NULL,
	  "{\"lookRoots\":[\"/driver-root\"],\"driverRoot\":\"/run/nvidia/driver\",\"devRoot\":\"/\"}" },
	{ "a view alone is one of /", "", "CONTAINER_DRIVER_ROOT=/driver-root", NULL,
	  "{\"lookRoots\":[\"/driver-root\"],\"driverRoot\":\"/\"}" },
	{ "the first of two names counts", "", "CONTAINER_DRIVER_ROOT=/a DRIVER_ROOT_CTR_PATH=/b", NULL,
	  "{\"lookRoots\":[\"/b\"],\"driverRoot\":\"/\"}" },
	{ "an empty one is none", "", "CONTAINER_DRIVER_ROOT=/a DRIVER_ROOT_CTR_PATH=", NULL,
	  "{\"lookRoots\":[\"/a\"],\"driverRoot\":\"/\"}" },
	{ "the command line over the file, each by itself", "--driver-root=/c", "",
	  "version: v1\nflags: {nvidiaDriverRoot: /f, nvidiaDevRoot: /d, plugin: {containerDriverRoot: /v}}",
	  "{\"unpooled\":true,\"lookRoots\":[\"/v\"],\"driverRoot\":\"/c\",\"devRoot\":\"/d\"}" },
	{ "several roots and a view", "--driver-root=/a --driver-root=/b", "DRIVER_ROOT_CTR_PATH=/v", NULL,
	  "--driver-root: 2 roots to search, but --driver-root-ctr-path (or containerDriverRoot) names the one: give "
	  "one of each" },
};

TEST(row_07_what_is_searched_and_what_is_written)
{
	EACH_ROW (row, roots) {
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(4 * FL_KIB);

		OK(read_settings(row->args, row->env, row->file, &got));
		OK(fl_buf_check(&got, "settings", NULL));
		CHECK_STR(fl_buf_view(&got), row->got);
	}
}

/* ---- a mistake is no end ---- */

TEST(the_last_good_settings_stay_in_force)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings_given given = { .mig_strategy = FL_S("mixed") };
	struct fl_settings_from from = { .given = &given, .name = FL_S("c"), .text = FL_S("version: v2"),
					 .node = FL_S("n1"), .boot = FL_S("b1") };
	struct fl_settings first, second, third;

	OK(fl_settings_make(&from, &arena, &first, NULL));
	CHECK_INT(first.mig, FL_MIG_MIXED);
	CHECK(!first.unpooled);
	CHECK_STR(first.node, "n1");
	CHECK_STR(first.boot, "b1");
	CHECK_STR(first.message, "c: version: unknown version: v2: write v1; until it is right, the command line "
				 "and the environment alone are in force");
	/* The same words when what was made at the start is what is in force. */
	from.last = &first;
	OK(fl_settings_make(&from, &arena, &second, NULL));
	CHECK_STR(second.message, first.message.p);
	from.last = NULL;
	from.text = FL_S("version: v1\nflags: {plugin: {deviceIDStrategy: index}}");
	OK(fl_settings_make(&from, &arena, &second, NULL));
	CHECK_INT(second.id_by, FL_ID_INDEX);
	CHECK(!second.has.message);
	CHECK_STR(second.file, "c");
	from.text = FL_S("version: v1\nflags: {plugin: {deviceIDStrategy: what}}");
	from.last = &second;
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_INDEX);
	CHECK_STR(third.message, "c: flags.plugin.deviceIDStrategy: 'what' is none of uuid or index; until it is "
				 "right, its former content stays in force");
	from.name = FL_S("d");
	from.path = FL_S("/etc/d");
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_INDEX);
	CHECK_STR(third.message, "/etc/d: flags.plugin.deviceIDStrategy: 'what' is none of uuid or index; 'c' stays "
				 "in force");
	from.last = NULL;
	from.good_name = FL_S("g");
	from.good_text = FL_S("flags: {migStrategy: single, plugin: {deviceIDStrategy: index}}");
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_INDEX);
	CHECK_STR(third.file, "g");
	from.why = "there is no such file";
	from.text = FL_S("version: v1");
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_INDEX);
	CHECK_STR(third.message, "there is no such file; 'g' stays in force");
	from.good_text = FL_S("version: v9");
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_UUID);
	CHECK_STR(third.file, "");
}

TEST(of_many_fields_that_there_are_not_some_are_named)
{
	FL_AUTO(fl_buf) struct fl_buf file = FL_BUF(32 * FL_KIB), got = FL_BUF(8 * FL_KIB);
	static const char end[] = "; and more\"}";

	for (int i = 0; i < 2000; i++)
		fl_buf_printf(&file, "a%d: 1\n", i);
	OK(fl_buf_check(&file, "file", NULL));
	OK(read_settings("", "", file.p, &got));
	OK(fl_buf_check(&got, "settings", NULL));
	CHECK(strstr(got.p, "\"untaken\":\"a0: no such field"));
	CHECK(got.len < 3000 && strcmp(got.p + got.len - strlen(end), end) == 0);
}

TEST(a_file_that_is_too_long_is_not_read)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_settings settings;
	char *text = fl_arena_get(&arena, FL_SETTINGS_FILE_MAX + 1);

	GOT(text);
	OK(fl_settings_defaults(&arena, &settings, NULL));
	REFUSED(fl_settings_file((struct fl_str){ text, FL_SETTINGS_FILE_MAX + 1 }, &arena, &settings, NULL),
		FL_E_TOOBIG);
}

/* ---- one of several ---- */

static const struct {
	const char *says, *names, *label, *fallback, *got;
} choices[] = {
	{ "the label names one", "a b default", "b", "a", "b" },
	{ "without a label the fallback", "a b default", "", "a", "a" },
	{ "without either the default", "a b default", "", "", "default" },
	{ "the only one", "a", "", "", "a" },
	{ "none at all", "", "", "", "(none)" },
	{ "a label that names none", "a b", "c", "a",
	  "label nvidia.com/device-plugin.config: there is no configuration 'c', only a, b" },
	{ "a label where there is none at all", "", "c", "",
	  "label nvidia.com/device-plugin.config: there is no configuration 'c'; there is none at all" },
	{ "a fallback that there is not", "a", "", "c", "default: there is no configuration 'c', only a" },
	{ "several and no word", "a b", "", "",
	  "2 configurations and none is called default: label the node with nvidia.com/device-plugin.config=NAME" },
};

TEST(which_of_several_configurations)
{
	EACH_ROW (row, choices) {
		struct fl_str names[4], rest = fl_str(row->names);
		struct fl_err err = { 0 };
		uint32_t n = 0, got;
		int r;

		while (n < 4 && *row->names && fl_str_split(&rest, ' ', &names[n]))
			n++;
		r = fl_settings_choose(names, n, fl_str(row->label), fl_str(row->fallback), &got, &err);
		CHECK_INT(-r, r < 0 ? FL_E_NOTFOUND : 0);
		CHECK_STR(r < 0 ? fl_str(err.text) : got == UINT32_MAX ? FL_S("(none)") : names[got], row->got);
	}
}
