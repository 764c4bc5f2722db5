/* How this node hands out its GPUs: command line, environment, NVIDIA's file. */
#include "base/limits.h"
#include "json/yaml.h"
#include "json/write.h"
#include "node/settings.h"
#include "test.h"

struct options {
	struct fl_settings_given given;
};
static const struct fl_option rows[] = { FL_SETTINGS_OPTIONS(struct options, given) };
static const struct fl_options table = { rows, FL_LEN(rows), "FAIRLEAD_" };

TEST(the_table_of_options_is_sound)
{
	struct fl_err err = { 0 };

	OK_ERR(fl_options_check(&table, &err), &err);
}

/* What stands in the settings besides what is there without anything; or what is wrong. */
static int read_settings(const char *args, const char *env, const char *file, struct fl_buf *out)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const char *argv[8], *envs[8];
	struct fl_args given = { .argv = argv, .env = envs };
	struct fl_settings settings, defaults;
	struct options options = { 0 };
	struct fl_str_list paths;
	struct fl_err err = { 0 };
	struct fl_str rest = fl_str(args), word;
	uint32_t n = 0;
	bool help;
	int r;

	while (fl_str_split(&rest, ' ', &word) && given.argc < 8)
		if (word.len && !(argv[given.argc++] = fl_arena_str(&arena, word).p))
			return -FL_E_NOMEM;
	rest = fl_str(env);
	while (fl_str_split(&rest, ' ', &word) && n < 7)
		if (word.len && !(envs[n++] = fl_arena_str(&arena, word).p))
			return -FL_E_NOMEM;
	envs[n] = NULL;
	r = fl_options_parse(&table, &given, &options, &help, &err);
	if (r == 0)
		r = fl_settings_read(&(struct fl_settings_from){ .given = &options.given, .name = FL_S("config.yaml"),
								 .text = file ? fl_str(file) : (struct fl_str){ 0 } },
				     &arena, &settings, &err);
	if (r == 0)
		r = fl_settings_defaults(&arena, &defaults, &err);
	if (r == 0)
		r = fl_diff(fl_settings_bind(), &defaults, &settings, &arena, &paths, &err);
	if (r == 0 && paths.len) {
		struct fl_settings only = settings;
		struct fl_jw w = FL_JW(out);

		only.has.bits = 0;
		for (uint32_t i = 0; i < paths.len; i++)
			for (uint32_t k = 0; k < fl_settings_bind()->len; k++)
				if (fl_str_starts(paths.at[i], fl_settings_bind()->fields[k].json))
					only.has.bits |= (uint64_t)1 << k & settings.has.bits;
		fl_encode(fl_settings_bind(), &only, &w);
	}
	fl_options_release(&table, &options);
	if (r < 0 && r != -FL_E_NOMEM)
		fl_buf_str(out, fl_str(err.text));
	return r == -FL_E_NOMEM ? r : 0;
}

#define SHARING "version: v1\nsharing: {timeSlicing: "
#define GPU4 "resources: [{name: nvidia.com/gpu, replicas: 4}]"

static const struct {
	const char *says, *args, *env, *file, *got;
} cases[] = {
	{ "nothing given is nothing changed", "", "", NULL, "" },
	{ "a file that says nothing serves what NVIDIA's plugin would", "", "", "version: v1", "{\"unpooled\":true}" },
	{ "the file before the default", "", "", "version: v1\nflags: {migStrategy: mixed}",
	  "{\"unpooled\":true,\"migStrategy\":\"mixed\"}" },
	{ "the environment before the file", "", "MIG_STRATEGY=single", "version: v1\nflags: {migStrategy: mixed}",
	  "{\"unpooled\":true,\"migStrategy\":\"single\"}" },
	{ "the command line wins", "--mig-strategy=mixed", "MIG_STRATEGY=single",
	  "version: v1\nflags: {migStrategy: none}", "{\"unpooled\":true,\"migStrategy\":\"mixed\"}" },
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
	  "    deviceIDStrategy: index\n    cdiAnnotationPrefix: cdi.k8s.io/x-\n"
	  "    nvidiaCTKPath: /usr/bin/nvidia-ctk\n"
	  "    containerDriverRoot: /driver-root\n    sharedDevicesAllocationPolicy: packed\n"
	  "  gfd: {oneshot: false, noTimestamp: true, sleepInterval: 60s, outputFile: /x, machineTypeFile: /y}\n"
	  "imex: {channelIDs: [], required: false}\n",
	  "{\"unpooled\":true,\"deviceIDStrategy\":\"index\",\"passDeviceSpecs\":true,"
	  "\"sharedDevicesAllocationPolicy\":\"packed\",\"imexRequired\":false,"
	  "\"driverRoot\":\"/run/nvidia/driver\",\"devRoot\":\"/\","
	  "\"cdiAnnotationPrefix\":\"cdi.k8s.io/x-\"}" },
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
	{ "a resource without its domain is NVIDIA's", "", "",
	  SHARING "{resources: [{name: mig-1g.10gb, devices: all, replicas: 2}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/mig-1g.10gb\",\"replicas\":2}],"
	  "\"failRequestsGreaterThanOne\":false}" },
	{ "what NVIDIA's plugin resets is told and not taken", "", "",
	  SHARING "{resources: [{name: nvidia.com/gpu, rename: x, devices: [0, '1:2', GPU-1], replicas: 2}]}}",
	  "{\"unpooled\":true,\"sharing\":[{\"resource\":\"nvidia.com/gpu\",\"replicas\":2}],"
	  "\"failRequestsGreaterThanOne\":false,\"untaken\":\"sharing.timeSlicing.resources[0].rename: is not taken, "
	  "as NVIDIA's plugin does not take it either: renameByDefault is; sharing.timeSlicing.resources[0].devices: "
	  "is not taken, as NVIDIA's plugin does not take it either: all devices are shared\"}" },
	{ "what comes beside cards, by the file", "", "",
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
		  "--recovery-wait=10s --clean-looks=5",
	  "", NULL,
	  "{\"unpooled\":true,\"withoutCDI\":\"refuse\",\"preStart\":false,\"cdiKind\":\"a.b/c\",\"hook\":"
	  "\"/opt/fairlead\",\"recoveryWait\":10000000000,\"cleanLooks\":5}" },
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
	  "--disable-health-checks: 'x' is no XID: write numbers, or all" },
};

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
	{ "a pool without cards", "--pool=gpu.io/a", NULL,
	  "--pool: 'gpu.io/a' is no RESOURCE=CARD,CARD, as gpu.deckhouse.io/train=0,1 or gpu.deckhouse.io/train=all" },
	{ "a pool twice", "--pool=a.io/a=0 --pool=a.io/a=1", NULL,
	  "--pool: 'a.io/a' is there twice: put its cards together" },
	{ "too many slices", "--pool=a.io/a=0;slices=65", NULL,
	  "--pool: 'slices=65' is neither mig=PROFILE nor slices=N with N from 1 to 64" },
	{ "a hook without a root", "--cdi-hook-path=fairlead", NULL,
	  "--cdi-hook-path: 'fairlead' does not begin with /" },
	{ "a kind without a class", "--cdi-kind=gpu", NULL, "--cdi-kind: 'gpu' is no vendor.example/class" },
	{ "no time", "--recovery-wait=2h", NULL, "--recovery-wait: '2h' is no time from 0s to 1h, as 30s" },
	{ "more looks than are counted", "--clean-looks=11", NULL, "--clean-looks: '11' is no number from 1 to 10" },
	{ "MPS by its root", "--mps-root=/run/mps", NULL, "--mps-root: MPS is not supported: use time-slicing" },
	{ "GDS", "--gds-enabled=maybe", NULL, "--gds-enabled: 'maybe' is neither true nor false" },
	{ "IMEX channels", "--imex-channel-ids=[0,1]", NULL,
	  "--imex-channel-ids: '[0,1]' is neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "Tegra", "--device-discovery-strategy=tegra", NULL,
	  "--device-discovery-strategy: 'tegra' is not supported (Tegra, WSL and vfio are not): write auto or nvml" },

	{ "another version", "", "version: v2", "config.yaml: version: unknown version: v2" },
	{ "no version", "", "flags: {}", "config.yaml: version is missing" },
	{ "a field that there is not", "", "version: v1\nflags: {plugin: {passDeviceSpec: true}}",
	  "config.yaml: flags.plugin.passDeviceSpec: no such field" },
	{ "a field twice", "", "{\"version\":\"v1\",\"version\":\"v1\"}",
	  "config.yaml: version: this name stands here twice; remove one" },
	{ "no object", "", "version: v1\nflags: []", "config.yaml: flags: an object is wanted, found a list" },
	{ "no truth", "", "version: v1\nflags: {plugin: {passDeviceSpecs: 1}}",
	  "config.yaml: flags.plugin.passDeviceSpecs: true or false is wanted, found an integer" },
	{ "a strategy that is none, in a list", "", "version: v1\nflags: {plugin: {deviceListStrategy: [envvar, x]}}",
	  "config.yaml: flags.plugin.deviceListStrategy[1]: 'x' is none of cdi-cri, cdi-annotations, envvar, "
	  "volume-mounts or device-specs" },
	{ "MPS", "", "version: v1\nsharing: {mps: {" GPU4 "}}",
	  "config.yaml: sharing.mps: MPS is not supported: use timeSlicing" },
	{ "Tegra in the file", "", "version: v1\nflags: {deviceDiscoveryStrategy: tegra}",
	  "config.yaml: flags.deviceDiscoveryStrategy: 'tegra' is not supported (Tegra, WSL and vfio are not): write "
	  "auto or nvml" },
	{ "GDRCopy", "", "version: v1\nflags: {gdrcopyEnabled: 1}",
	  "config.yaml: flags.gdrcopyEnabled: true or false is wanted, found an integer" },
	{ "IMEX", "", "version: v1\nimex: {channelIDs: [1]}",
	  "config.yaml: imex.channelIDs: neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "two channels", "", "version: v1\nimex: {channelIDs: [0, 0]}",
	  "config.yaml: imex.channelIDs: neither [] nor [0]: the device plugin knows channel 0 only" },
	{ "a new name that is none", "", SHARING "{resources: [{name: gpu, replicas: 2, rename: 'a b'}]}}",
	  "config.yaml: sharing.timeSlicing.resources[0].rename: no name of a resource with at most 63 characters" },
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
	CHECK_STR(first.message, "c: version: unknown version: v2; the file is left out until it is right");
	from.text = FL_S("version: v1\nflags: {plugin: {deviceIDStrategy: index}}");
	OK(fl_settings_make(&from, &arena, &second, NULL));
	CHECK_INT(second.id_by, FL_ID_INDEX);
	CHECK(!second.has.message);
	from.text = FL_S("version: v1\nflags: {plugin: {deviceIDStrategy: what}}");
	from.last = &second;
	OK(fl_settings_make(&from, &arena, &third, NULL));
	CHECK_INT(third.id_by, FL_ID_INDEX);
	CHECK_STR(third.message, "c: flags.plugin.deviceIDStrategy: 'what' is none of uuid or index; what was right "
				 "before stays in force");
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
