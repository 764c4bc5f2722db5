/* The labels of the GPUs: each value as GPU feature discovery has it, and when they are written. */
#include "plan/labels/labels.h"
#include "gpu_facts.h"
#include <stdio.h>

#define A100 "product: NVIDIA A100-SXM4-80GB\nmemoryMiB: 81920\ncompute: 800\nmigCapable: true\nclass: '0302'\n"
#define H100 "product: NVIDIA H100 80GB HBM3\nmemoryMiB: 81559\ncompute: 900\nmigCapable: true\nclass: '0302'\n"
#define T4 "product: Tesla T4\nmemoryMiB: 15360\ncompute: 750\nclass: '0302'\n"
#define CARD(address, more) "metadata: {name: '0000:" address ":00.0'}\nanswer: Answers\nboundTo: nvidia\n" more
#define AND "---\n"
#define PART(uuid, profile, mib) "{uuid: MIG-" uuid ", gi: 1, ci: 0, profile: " profile ", memoryMiB: " mib \
	", attributes: {multiprocessors: 14, giSlices: 1, ciSlices: 1, copyEngines: 1, decoders: 2, encoders: 3, " \
	"jpegs: 4, ofas: 5}}"
#define IN_MIG(parts) "mig: true\npartitions: [" parts "]\n"
#define SMALL(uuid) PART(uuid, "1g.10gb", "9728")
#define FABRIC(cluster, clique, state, status) "fabric: {cluster: " cluster ", clique: " clique ", state: " state \
	", status: " status "}\n"
#define SHARED(resource, more) "unpooled: true\nsharing: [{resource: " resource ", replicas: 4" more "}]\n"

#define NODE_LABELS "cuda.driver.major=550 cuda.driver.minor=54 cuda.driver.rev=15 cuda.driver-version.major=550 " \
	"cuda.driver-version.minor=54 cuda.driver-version.revision=15 cuda.driver-version.full=550.54.15 " \
	"cuda.runtime.major=12 cuda.runtime.minor=4 cuda.runtime-version.major=12 cuda.runtime-version.minor=4 " \
	"cuda.runtime-version.full=12.4 gpu.machine=DGX-A100 mps.capable=false vgpu.present=false "
#define A100_LABELS "gpu.product=NVIDIA-A100-SXM4-80GB gpu.count=1 gpu.replicas=1 gpu.sharing-strategy=none " \
	"gpu.memory=81920 gpu.family=ampere gpu.compute.major=8 gpu.compute.minor=0 gpu.mode=compute " \
	"mig.capable=true "
#define INVALID INVALID_AS("ampere")
#define INVALID_AS(family) "gpu.product=NVIDIA-A100-SXM4-80GB-MIG-INVALID gpu.count=0 gpu.replicas=0 gpu.memory=0 " \
	"gpu.sharing-strategy= mig.strategy=single gpu.family=" family " -gpu.multiprocessors -gpu.slices.gi " \
	"-gpu.engines.copy"

/* `want`: labels without nvidia.com/; "-key": there is none; "all": there are no others. */
static const struct {
	const char *says, *settings, *cards, *want;
	const char *driver, *machine;          /* NULL: 550.54.15 with CUDA 12.4, a DGX A100 */
} rows[] = {
	{ "one GPU: each label, and no other", "", CARD("01", A100), NODE_LABELS A100_LABELS "all", NULL, NULL },
	{ "no GPU: only the absent vGPU", "", "", "vgpu.present=false all", NULL, NULL },

	/* the machine and the driver */
	{ "a machine's type is made a value", "", CARD("01", A100), "gpu.machine=PowerEdge-R750xa", NULL,
	  "machine: ' PowerEdge   R750(xa)!'\n" },
	{ "it may end up empty", "", CARD("01", A100), "gpu.machine=", NULL, "machine: '()'\n" },
	{ "one that could not be read is unknown", "", CARD("01", A100), "gpu.machine=unknown", NULL, "" },
	{ "a version of two numbers has an empty revision", "", CARD("01", A100),
	  "cuda.driver.rev= cuda.driver-version.revision= cuda.driver-version.full=535.43",
	  "version: '535.43'\ncuda: 12020\n", NULL },
	{ "CUDA of an unknown version has no labels", "", CARD("01", A100), "-cuda.runtime.major "
	  "-cuda.runtime-version.full", "version: '535.43'\n", NULL },
	{ "CUDA 11.8", "", CARD("01", A100), "cuda.runtime.minor=8 cuda.runtime-version.full=11.8",
	  "version: '535.43'\ncuda: 11080\n", NULL },

	/* whole GPUs */
	{ "the model with the most GPUs counts", "", CARD("01", T4) AND CARD("02", A100) AND CARD("03", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB gpu.count=2 gpu.family=ampere gpu.memory=81920", NULL, NULL },
	{ "of as many, the first name", "", CARD("01", T4) AND CARD("02", H100),
	  "gpu.product=NVIDIA-H100-80GB-HBM3 gpu.count=1 gpu.family=hopper", NULL, NULL },
	{ "a model with a GPU that is not in MIG mode comes before one with more that are", "",
	  CARD("01", T4) AND CARD("02", A100 IN_MIG("")) AND CARD("03", A100 IN_MIG("")),
	  "gpu.product=Tesla-T4 gpu.count=1 gpu.replicas=1 gpu.family=turing", NULL, NULL },
	{ "a GPU of another driver of the kernel does not count", "",
	  CARD("01", A100) AND "metadata: {name: '0000:02:00.0'}\nanswer: Unasked\nboundTo: vfio-pci\n" A100,
	  "gpu.count=1", NULL, NULL },
	{ "memory that cannot be read has no label", "", CARD("01", "product: X\n"), "gpu.product=X -gpu.memory "
	  "-gpu.family -gpu.compute.major gpu.mode=unknown mig.capable=false", NULL, NULL },
	{ "a product keeps letters, digits, _ . and -", "", CARD("01", "product: 'NVIDIA RTX(TM) 4_0.1-x  Ada+'\n"),
	  "gpu.product=NVIDIA-RTXTM-4_0.1-x-Ada", NULL, NULL },
	{ "Kepler", "", CARD("01", "product: X\ncompute: 370\n"), "gpu.family=kepler gpu.compute.minor=7", NULL,
	  NULL },
	{ "Volta", "", CARD("01", "product: X\ncompute: 720\n"), "gpu.family=volta", NULL, NULL },
	{ "Turing", "", CARD("01", T4), "gpu.family=turing gpu.compute.major=7 gpu.compute.minor=5", NULL, NULL },
	{ "Ada Lovelace", "", CARD("01", "product: X\ncompute: 890\n"), "gpu.family=ada-lovelace", NULL, NULL },
	{ "Blackwell", "", CARD("01", "product: X\ncompute: 1000\n"), "gpu.family=blackwell gpu.compute.major=10",
	  NULL,
	  NULL },
	{ "Blackwell too", "", CARD("01", "product: X\ncompute: 1210\n"), "gpu.family=blackwell gpu.compute.minor=1",
	  NULL, NULL },
	{ "Rubin", "", CARD("01", "product: X\ncompute: 1300\n"), "gpu.family=rubin", NULL, NULL },
	{ "a later one is undefined", "", CARD("01", "product: X\ncompute: 1400\n"), "gpu.family=undefined", NULL,
	  NULL },
	{ "graphics", "", CARD("01", "product: X\nclass: '0300'\n"), "gpu.mode=graphics", NULL, NULL },
	{ "both classes: unknown", "", CARD("01", A100) AND CARD("02", "product: X\nclass: '0300'\n"),
	  "gpu.mode=unknown", NULL, NULL },
	{ "gpu.present by option", "gpuPresentLabel: true\n", CARD("01", A100), "gpu.present=true", NULL, NULL },
	{ "no GPU is not present", "gpuPresentLabel: true\n", "", "-gpu.present", NULL, NULL },

	/* sharing */
	{ "time-slicing", SHARED("nvidia.com/gpu", ""), CARD("01", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB-SHARED gpu.count=1 gpu.replicas=4 gpu.sharing-strategy=time-slicing "
	  "mps.capable=false", NULL, NULL },
	{ "renamed: the product is as it was", SHARED("nvidia.com/gpu", ", renamed: nvidia.com/gpu.shared"),
	  CARD("01", A100), "gpu.product=NVIDIA-A100-SXM4-80GB gpu.replicas=4 gpu.sharing-strategy=time-slicing",
	  NULL,
	  NULL },
	{ "MPS", "mps: true\n" SHARED("nvidia.com/gpu", ""), CARD("01", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB-SHARED gpu.replicas=4 gpu.sharing-strategy=mps mps.capable=true", NULL,
	  NULL },
	{ "GPUs outside all pools are not served: nothing of them is shared",
	  "sharing: [{resource: nvidia.com/gpu, replicas: 4}]\n", CARD("01", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB gpu.replicas=1 gpu.sharing-strategy=none", NULL, NULL },

	/* MIG, strategy none */
	{ "none: all of the model in MIG mode leave no replica", SHARED("nvidia.com/gpu", ""),
	  CARD("01", A100 IN_MIG(SMALL("1"))),
	  "gpu.product=NVIDIA-A100-SXM4-80GB gpu.count=1 gpu.replicas=0 gpu.sharing-strategy=none -mig.strategy "
	  "-mig-1g.10gb.count mig.capable=true", NULL, NULL },
	{ "none: a whole GPU's labels win, with the count of both", SHARED("nvidia.com/gpu", ""),
	  CARD("01", A100 IN_MIG("")) AND CARD("02", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB-SHARED gpu.count=2 gpu.replicas=4", NULL, NULL },

	/* single */
	{ "single: MIG devices stand for the GPUs", "migStrategy: single\n",
	  CARD("01", A100 IN_MIG(SMALL("1") ", " SMALL("2"))) AND CARD("02", A100 IN_MIG(SMALL("3"))),
	  NODE_LABELS "gpu.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb gpu.count=3 gpu.replicas=1 "
	  "gpu.sharing-strategy=none gpu.memory=9728 gpu.multiprocessors=14 gpu.slices.gi=1 gpu.slices.ci=1 "
	  "gpu.engines.copy=1 gpu.engines.decoder=2 gpu.engines.encoder=3 gpu.engines.jpeg=4 gpu.engines.ofa=5 "
	  "gpu.family=ampere gpu.compute.major=8 gpu.compute.minor=0 gpu.mode=compute mig.capable=true "
	  "mig.strategy=single all", NULL, NULL },
	{ "single, shared", "migStrategy: single\n" SHARED("nvidia.com/gpu", ""), CARD("01", A100 IN_MIG(SMALL("1"))),
	  "gpu.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED gpu.count=1 gpu.replicas=4 "
	  "gpu.sharing-strategy=time-slicing", NULL, NULL },
	{ "single: a profile with a + has a value with a dot", "migStrategy: single\n",
	  CARD("01", A100 IN_MIG(PART("1", "1g.10gb+me", "9728"))),
	  "gpu.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me", NULL, NULL },
	{ "single without MIG is like none", "migStrategy: single\n", CARD("01", A100),
	  "gpu.product=NVIDIA-A100-SXM4-80GB gpu.count=1 gpu.replicas=1 mig.strategy=single -gpu.slices.gi", NULL,
	  NULL },
	{ "single, invalid: a GPU in MIG mode without devices", "migStrategy: single\n", CARD("01", A100 IN_MIG("")),
	  INVALID, NULL, NULL },
	{ "single, invalid: in MIG mode and not", "migStrategy: single\n",
	  CARD("01", A100 IN_MIG(SMALL("1"))) AND CARD("02", A100), INVALID, NULL, NULL },
	{ "single, invalid: the product is that of the first GPU in MIG mode", "migStrategy: single\n",
	  CARD("01", T4) AND CARD("02", A100 IN_MIG("")) AND CARD("03", T4), INVALID_AS("turing"), NULL, NULL },
	{ "single, invalid: two profiles", "migStrategy: single\n" SHARED("nvidia.com/gpu", ""),
	  CARD("01", A100 IN_MIG(SMALL("1") ", " PART("2", "2g.20gb", "19968"))), INVALID, NULL, NULL },
	{ "single: of several models the one with the most devices", "migStrategy: single\n",
	  CARD("01", A100 IN_MIG(SMALL("1"))) AND CARD("02", H100 IN_MIG(SMALL("2") ", " SMALL("3"))),
	  "gpu.product=NVIDIA-H100-80GB-HBM3-MIG-1g.10gb gpu.count=3", NULL, NULL },

	/* mixed */
	{ "mixed: a set for each profile, beside that of the GPUs", "migStrategy: mixed\n",
	  CARD("01", A100 IN_MIG(SMALL("1") ", " PART("2", "1g.10gb+me", "9728"))) AND CARD("02", A100),
	  NODE_LABELS "gpu.product=NVIDIA-A100-SXM4-80GB gpu.count=2 gpu.replicas=1 gpu.sharing-strategy=none "
	  "gpu.memory=81920 gpu.family=ampere gpu.compute.major=8 gpu.compute.minor=0 gpu.mode=compute "
	  "mig.capable=true mig.strategy=mixed mig-1g.10gb.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb "
	  "mig-1g.10gb.count=1 mig-1g.10gb.replicas=1 mig-1g.10gb.sharing-strategy=none mig-1g.10gb.memory=9728 "
	  "mig-1g.10gb.multiprocessors=14 mig-1g.10gb.slices.gi=1 mig-1g.10gb.slices.ci=1 "
	  "mig-1g.10gb.engines.copy=1 mig-1g.10gb.engines.decoder=2 mig-1g.10gb.engines.encoder=3 "
	  "mig-1g.10gb.engines.jpeg=4 mig-1g.10gb.engines.ofa=5 "
	  "mig-1g.10gb.me.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me mig-1g.10gb.me.count=1 "
	  "mig-1g.10gb.me.replicas=1 mig-1g.10gb.me.sharing-strategy=none mig-1g.10gb.me.memory=9728 "
	  "mig-1g.10gb.me.multiprocessors=14 mig-1g.10gb.me.slices.gi=1 mig-1g.10gb.me.slices.ci=1 "
	  "mig-1g.10gb.me.engines.copy=1 mig-1g.10gb.me.engines.decoder=2 mig-1g.10gb.me.engines.encoder=3 "
	  "mig-1g.10gb.me.engines.jpeg=4 mig-1g.10gb.me.engines.ofa=5 all", NULL, NULL },
	{ "mixed: devices of all GPUs count", "migStrategy: mixed\n",
	  CARD("01", A100 IN_MIG(SMALL("1"))) AND CARD("02", A100 IN_MIG(SMALL("2") ", " SMALL("3"))),
	  "mig-1g.10gb.count=3 gpu.count=2 gpu.replicas=0", NULL, NULL },
	{ "mixed: each profile is shared on its own", "migStrategy: mixed\n" SHARED("nvidia.com/mig-1g.10gb", ""),
	  CARD("01", A100 IN_MIG(SMALL("1") ", " PART("2", "2g.20gb", "19968"))),
	  "mig-1g.10gb.product=NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED mig-1g.10gb.replicas=4 "
	  "mig-1g.10gb.sharing-strategy=time-slicing mig-2g.20gb.replicas=1 mig-2g.20gb.sharing-strategy=none", NULL,
	  NULL },
	{ "mixed: a GPU in MIG mode without devices", "migStrategy: mixed\n", CARD("01", A100 IN_MIG("")),
	  "gpu.count=1 gpu.replicas=0 mig.strategy=mixed -mig-1g.10gb.count", NULL, NULL },

	/* cliques */
	{ "the clique that all agree on", "", CARD("01", A100 FABRIC("c0ffee", "7", "3", "0")) AND
	  CARD("02", A100 FABRIC("c0ffee", "7", "3", "0")), "gpu.clique=c0ffee.7", NULL, NULL },
	{ "one that is not in a clique does not count", "", CARD("01", A100 FABRIC("c0ffee", "7", "3", "0")) AND
	  CARD("02", A100 FABRIC("c0ffee", "8", "2", "0")), "gpu.clique=c0ffee.7", NULL, NULL },
	{ "nor one whose registration failed", "", CARD("01", A100 FABRIC("c0ffee", "7", "3", "999")), "-gpu.clique",
	  NULL, NULL },
	{ "nor one without a UUID", "", CARD("01", A100 "fabric: {clique: 7, state: 3, status: 0}\n"), "-gpu.clique",
	  NULL, NULL },
	{ "those that differ have none", "", CARD("01", A100 FABRIC("c0ffee", "7", "3", "0")) AND
	  CARD("02", A100 FABRIC("c0ffee", "8", "3", "0")), "-gpu.clique", NULL, NULL },

	/* vGPU */
	{ "a vGPU tells of its hypervisor", "", CARD("01", A100 "vgpu: true\nvgpuHostVersion: '550.90'\n"
	  "vgpuHostBranch: r550_90\n"),
	  "vgpu.present=true vgpu.host-driver-version=550.90 vgpu.host-driver-branch=r550_90", NULL, NULL },
	{ "one that does not", "", CARD("01", A100 "vgpu: true\n"),
	  "vgpu.present=true -vgpu.host-driver-version -vgpu.host-driver-branch", NULL, NULL },
};

struct facts {
	struct fl_arena arena;
	struct fl_labels_facts f;
	struct fl_plan plan;
};

static void facts_auto_(struct facts *facts)
{
	fl_arena_free(&facts->arena);
}

static void *object(struct facts *facts, const struct fl_bind *bind, const char *before, const char *text)
{
	struct fl_str all = fl_arena_printf(&facts->arena, "%s\n%s", before, text);

	return all.p ? facts_object(&facts->arena, bind, all) : NULL;
}

static int facts_init(struct facts *facts, const char *settings, const char *cards, const char *driver,
		      const char *machine)
{
	struct fl_labels_facts *f = &facts->f;

	f->settings = object(facts, fl_settings_bind(), "metadata: {name: settings}", settings);
	f->given = object(facts, fl_given_bind(), "metadata: {name: given}\nnamespace: fairlead\nlabelFile: "
						  "/f/labels",
			  machine);
	f->driver = object(facts, fl_driver_bind(), "metadata: {name: driver}", driver);
	f->node = object(facts, fl_own_node_bind(), "metadata: {name: n1, uid: u1}", "");
	f->cards = facts_list(&facts->arena, fl_card_bind(), cards, &f->card_len);
	f->features_told = f->features_known = true;
	f->wall = 1700000000000000;
	f->now = 500 * FL_NS_PER_S;
	f->node_current = FL_NS_PER_S;
	fl_plan_init(&facts->plan, &facts->arena);
	return f->settings && f->given && f->driver && f->node && f->cards ? 0 : -FL_E_NOMEM;
}

static const char *value_of(const struct fl_map *labels, struct fl_str key, struct fl_str *ret)
{
	for (uint32_t i = 0; i < labels->len; i++)
		if (fl_str_eq(fl_str_sub(labels->at[i].key, sizeof "nvidia.com/" - 1, UINT32_MAX), key))
			return (*ret = labels->at[i].value).p;
	return NULL;
}

static void check_labels(const struct fl_map *labels, const char *want)
{
	struct fl_str rest = fl_str(want), word, value = { 0 };
	uint32_t found = 0;

	while (fl_str_split(&rest, ' ', &word)) {
		int64_t equals = fl_str_find(word, '=');
		struct fl_str key = fl_str_sub(word, 0, equals < 0 ? 0 : (uint32_t)equals);
		char says[200];

		if (fl_str_eq(word, FL_S("all"))) {
			CHECK_INT(labels->len, found);
			continue;
		}
		(void)snprintf(says, sizeof says, "%.*s", FL_ARG(word));
		if (word.len && word.p[0] == '-') {
			(void)test_check(!value_of(labels, fl_str_sub(word, 1, word.len), &value), says, __FILE__,
					 __LINE__);
			continue;
		}
		(void)test_check(value_of(labels, key, &value) != NULL, says, __FILE__, __LINE__);
		CHECK_STR(value, says + equals + 1);
		found++;
	}
}

TEST(each_label_has_the_value_of_gpu_feature_discovery)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(facts) struct facts facts = { 0 };
		const char *driver = row->driver ? row->driver : "version: 550.54.15\ncuda: 12040\n";
		const char *machine = row->machine ? row->machine : "machine: DGX A100\n";
		struct fl_map labels;
		char ready[200];

		(void)snprintf(ready, sizeof ready, "state: Ready\n%s", driver);
		OK(facts_init(&facts, row->settings, row->cards, ready, machine));
		CHECK_STR(fl_labels_make(&facts.f, &facts.plan, &labels), "");
		OK(facts.plan.failed ? -FL_E_NOMEM : 0);
		check_labels(&labels, row->want);
	}
}

/* ---- when they are written ---- */

#define READY "state: Ready\nversion: 550.54.15\n"
#define OURS "metadata: {namespace: fairlead, name: nvidia-features-for-n1-fairlead, " \
	"labels: {nfd.node.kubernetes.io/node-name: n1}, " \
	"ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: u1}]}\n" \
	"spec: {features: {flags: {}, attributes: {}, instances: {}}, labels: {"
#define EMPTY "nvidia.com/vgpu.present: 'false'"
#define STAMPED(s) ", nvidia.com/gfd.timestamp: '" s "'"
#define TOLD(status, reason) "status: {conditions: [{type: GPULabelsPublished, status: '" status "', reason: " \
	reason \
	", message: m, lastTransitionTime: '1970-01-01T00:00:10Z'}]}\n"

/* `want`: "timestamp REASON"; "-": the object is left as it is; "gone": it goes. */
static const struct {
	const char *says, *settings, *driver, *cards, *feature, *node, *want;
	bool untold, absent;
} times[] = {
	{ "the first time: stamped with the time of now", "", READY, "", NULL, "", "1700000000 -" },
	{ "the same labels keep their time", "", READY, "", OURS EMPTY STAMPED("5") "}}\n", "", "5 NodeFeature" },
	{ "other labels have the time of now", "", READY, CARD("01", A100), OURS EMPTY STAMPED("5") "}}\n", "",
	  "1700000000 NodeFeature" },
	{ "a label more is another set", "", READY, "", OURS EMPTY ", nvidia.com/x: z" STAMPED("5") "}}\n", "",
	  "1700000000 NodeFeature" },
	{ "without a timestamp by option", "noTimestamp: true\n", READY, "", OURS EMPTY STAMPED("5") "}}\n", "",
	  "none NodeFeature" },
	{ "settings that wait for their file change nothing", "waits: x\n", READY, "", NULL, "", "- -" },
	{ "a driver that starts changes nothing", "", "state: Starting\n", CARD("01", A100), NULL, "", "- -" },
	{ "nor does one that is away", "", "state: Absent\n", "", OURS EMPTY "}}\n", "", "- -" },
	{ "nor one that is paused", "", "state: Paused\n", CARD("01", A100), OURS EMPTY "}}\n", "", "- -" },
	{ "nor one that is sick", "", "state: Sick\n", CARD("01", A100), OURS EMPTY "}}\n", "", "- -" },
	{ "a GPU that the driver has not been asked about is waited for", "", READY,
	  CARD("01", A100) AND "metadata: {name: '0000:02:00.0'}\nanswer: Unasked\nboundTo: nvidia\n", NULL, "",
	  "- -" },
	{ "one that was lost before it was described changes no label that is there", "", READY,
	  CARD("01", A100) AND "metadata: {name: '0000:02:00.0'}\nanswer: Lost\nboundTo: nvidia\n",
	  OURS EMPTY "}}\n", "", "- -" },
	{ "and does not keep a new Node without labels", "", READY,
	  CARD("01", A100) AND "metadata: {name: '0000:02:00.0'}\nanswer: Lost\nboundTo: nvidia\n", NULL, "",
	  "1700000000 -" },
	{ "one that was lost later is what it was", "", READY,
	  "metadata: {name: '0000:02:00.0'}\nanswer: Lost\nboundTo: nvidia\n" A100, OURS EMPTY "}}\n", "",
	  "1700000000 NodeFeature" },
	{ "nothing is said before the API server has told", "", READY, CARD("01", A100), NULL, "", "- -", true,
	  true },
	{ "an API server without the kind", "", READY, CARD("01", A100), NULL, "", "- NoNodeFeature", false, true },
	{ "a driver of an odd version: the labels stay, and the Node says why", "", "state: Ready\nversion: '5'\n",
	  CARD("01", A100), OURS EMPTY "}}\n", "", "- NotLabelled" },
	{ "MPS with a GPU in MIG mode: likewise", "mps: true\n" SHARED("nvidia.com/gpu", ""), READY,
	  CARD("01", A100 IN_MIG("")), OURS EMPTY "}}\n", "", "- NotLabelled" },
	{ "no labels by option: they go, and so does the condition", "labels: none\n", READY, CARD("01", A100),
	  OURS EMPTY "}}\n", TOLD("True", "NodeFeature"), "gone none" },
	{ "while the driver is away too", "labels: none\n", "state: Absent\n", "", OURS EMPTY "}}\n", "", "gone -" },
	{ "of which there are none", "labels: none\n", READY, CARD("01", A100), NULL, "", "- -" },
	{ "an object of another's is not ours", "labels: none\n", READY, "",
	  "metadata: {namespace: default, name: nvidia-features-for-n1-fairlead}\nspec: {labels: {a: b}}\n", "",
	  "- -" },
};

/* What the plan makes of the object, and the reason of the condition. */
static void print_wants(const struct fl_plan *plan, struct fl_buf *feature, struct fl_buf *reason)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_node_feature *object = want->object;
		const struct fl_own_node *node = want->object;
		struct fl_str at = FL_S("none");

		if (want->ref.kind == &fl_label_lag_kind)
			continue;
		if (want->what == FL_WANT_GONE) {
			fl_buf_str(feature, FL_S("gone"));
		} else if (want->ref.kind == &fl_node_feature_kind) {
			(void)value_of(&object->spec.labels, FL_S("gfd.timestamp"), &at);
			fl_buf_str(feature, at);
			CHECK_STR(want->ref.space, "fairlead");
			CHECK_STR(want->ref.name, "nvidia-features-for-n1-fairlead");
			CHECK_STR(object->meta.labels.at[0].value, "n1");
			CHECK_STR(object->meta.owner_references.at[0].uid, "u1");
		} else {
			fl_buf_str(reason, node->status.conditions.len ? node->status.conditions.at[0].reason :
									 FL_S("none"));
		}
	}
	if (!feature->len)
		fl_buf_char(feature, '-');
	if (!reason->len)
		fl_buf_char(reason, '-');
}

TEST(labels_are_written_when_the_driver_has_told_of_all_gpus)
{
	EACH_ROW_ALONE (row, times) {
		FL_AUTO(facts) struct facts facts = { 0 };
		char object_[200] = "", reason_[200] = "", got[400];
		struct fl_buf feature = FL_BUF_IN(object_), reason = FL_BUF_IN(reason_);

		OK(facts_init(&facts, row->settings, row->cards, row->driver, ""));
		facts.f.features_told = !row->untold;
		facts.f.features_known = !row->absent;
		if (row->feature) {
			facts.f.features = object(&facts, fl_node_feature_bind(), "", row->feature);
			GOT(facts.f.features);
			facts.f.feature_len = 1;
		}
		facts.f.node = object(&facts, fl_own_node_bind(), "metadata: {name: n1, uid: u1}", row->node);
		GOT(facts.f.node);
		fl_labels_plan(&facts.f, &facts.plan);
		OK(facts.plan.failed ? -FL_E_NOMEM : 0);
		print_wants(&facts.plan, &feature, &reason);
		(void)snprintf(got, sizeof got, "%s %s", object_, reason_);
		CHECK_STR(fl_str(got), row->want);
	}
}

/* A difference is a write: what is there must be what is wanted, byte by byte. */
TEST(labels_that_are_there_are_not_written_again)
{
	FL_AUTO(facts) struct facts facts = { 0 };
	struct fl_str_list paths = { 0 };
	struct fl_err err = { 0 };
	const void *is;

	OK(facts_init(&facts, "", "", READY, ""));
	is = object(&facts, fl_node_feature_bind(), "", OURS EMPTY STAMPED("5") "}}\n");
	GOT(is);
	facts.f.features = is;
	facts.f.feature_len = 1;
	fl_labels_plan(&facts.f, &facts.plan);
	OK(facts.plan.failed ? -FL_E_NOMEM : 0);
	OK_ERR(fl_owned_diff(&fl_labels_owner, facts.plan.first->object, is, &facts.arena, &paths, &err), &err);
	CHECK_INT(paths.len, 0);
}

/* ---- where they are written ---- */

#define STAMP "nvidia.com/gfd.timestamp: '5', "
#define DONE NODE_AT("'false'")
#define NODE_AT(vgpu) "metadata: {name: n1, uid: u1, labels: {" STAMP "nvidia.com/vgpu.present: " vgpu \
	"}, annotations: {nfd.node.kubernetes.io/feature-labels: 'a,nvidia.com/vgpu.present'}}\n"
#define BARE "metadata: {name: n1, uid: u1}\n"
#define DIRECT(labels, more) "metadata: {name: n1, uid: u1, labels: {" labels "}, annotations: " \
	"{gpu.deckhouse.io/fairlead-labels: x" more "}}\n"
#define WRITTEN OURS EMPTY STAMPED("5") "}}\n"
#define GFDS(labels, owners) "metadata: {namespace: fairlead, name: nvidia-features-for-n1, uid: g1, " \
	"ownerReferences: " \
	"[" owners "]}\nspec: {labels: {" labels "}}\n"
#define FILE_(name, more) "metadata: {name: " name "}\n" more
#define OUR_FILE FILE_("labels", "ours: true\nlabels: {" EMPTY STAMPED("5") "}\n")
#define LAG(s) "metadata: {name: labels}\nsince: " s "000000000\n"
#define MOVE(s) "metadata: {name: move}\nsince: " s "000000000\n"

/* `want`: what the plan wants, in its order: "feature", "file", "direct"; "-feature": it goes; the condition's
 * reason. */
static const struct {
	const char *says, *settings, *features, *files, *node, *lag, *want;
	uint64_t current;                      /* since when the watch of the Node is, in s; 0: since 1 */
	bool broken;                           /* it is not */
} moves[] = {
	{ "a NodeFeature, and NFD has put its labels on the Node", "", WRITTEN, "", DONE, NULL, "feature "
	  "NodeFeature" },
	{ "labels that the Node lacks are waited for", "", WRITTEN, "", BARE, NULL, "feature lag NodeFeature" },
	{ "for two minutes", "", WRITTEN, "", BARE, LAG("381"), "feature NodeFeature" },
	{ "then NFD is missing", "", WRITTEN, "", BARE, LAG("380"), "feature NoNFD" },
	{ "a Node whose watch is broken is not judged", "", WRITTEN, "", BARE, LAG("10"), "feature NodeFeature",
	  .broken = true },
	{ "nor for two minutes after it is back", "", WRITTEN, "", BARE, LAG("10"), "feature NodeFeature",
	  .current = 381 },
	{ "and then it is", "", WRITTEN, "", BARE, LAG("10"), "feature NoNFD", .current = 380 },
	{ "or drops them", "", WRITTEN, "",
	  "metadata: {name: n1, uid: u1, annotations: {nfd.node.kubernetes.io/feature-labels: 'a,b'}}\n", LAG("380"),
	  "feature DroppedByNFD" },
	{ "or has another value of another object", "", WRITTEN, "", NODE_AT("'true'"), LAG("380"),
	  "feature Overridden" },
	{ "or has one of ours that we do not have", "", WRITTEN, "",
	  "metadata: {name: n1, uid: u1, labels: {" STAMP "nvidia.com/vgpu.present: 'false', "
	  "nvidia.com/mig-1g.10gb.count: '7'}, "
	  "annotations: {nfd.node.kubernetes.io/feature-labels: 'nvidia.com/mig-1g.10gb.count'}}\n", LAG("380"),
	  "feature Overridden" },
	{ "but one that NFD does not have is somebody else's", "", WRITTEN, "",
	  "metadata: {name: n1, uid: u1, labels: {" STAMP "nvidia.com/vgpu.present: 'false', "
	  "nvidia.com/mig-1g.10gb.count: '7'}, "
	  "annotations: {nfd.node.kubernetes.io/feature-labels: x}}\n", NULL, "feature NodeFeature" },
	{ "and one of the operator's too", "", WRITTEN, "",
	  "metadata: {name: n1, uid: u1, labels: {" STAMP "nvidia.com/vgpu.present: 'false', "
	  "nvidia.com/gpu.deploy.dcgm: x}, "
	  "annotations: {nfd.node.kubernetes.io/feature-labels: nvidia.com/gpu.deploy.dcgm}}\n", NULL,
	  "feature NodeFeature" },
	{ "labels that arrive end the waiting", "", WRITTEN, "", DONE, LAG("380"), "feature -lag NodeFeature" },

	/* GFD's object in our namespace */
	{ "a living object of GFD's is left alone", "", WRITTEN AND
	  GFDS("nvidia.com/gpu.count: '8'", "{apiVersion: v1, kind: Pod, name: p, uid: u2}"), "", DONE, NULL,
	  "feature NodeFeature" },
	{ "one that nobody owns, with a label that we do not have, goes", "", WRITTEN AND
	  GFDS("nvidia.com/gpu.count: '8'", ""), "", DONE, NULL, "feature -gfd@seen NodeFeature" },
	{ "one without changes nothing", "", WRITTEN AND
	  GFDS("nvidia.com/vgpu.present: 'true', nvidia.com/gfd.timestamp: '1'", ""), "", DONE, NULL,
	  "feature NodeFeature" },
	{ "and not before ours is there", "", GFDS("nvidia.com/gpu.count: '8'", ""), "", DONE, NULL, "feature" },

	/* a file */
	{ "a file", "labels: file\n", "", "", DONE, NULL, "file" },
	{ "that is there", "labels: file\n", "", OUR_FILE, DONE, NULL, "file File" },
	{ "and is told of without an API server", "labels: file\n", "", OUR_FILE, NULL, NULL, "file" },
	{ "a file of another program's is replaced", "labels: file\n", "", FILE_("labels", "labels: {a: b}\n"),
	  DONE, NULL,
	  "file" },
	{ "no directory", "labels: file\n", "", FILE_("'.'", "why: none\n"), DONE, NULL, "NoDirectory" },
	{ "a file's labels that the Node lacks", "labels: file\n", "", OUR_FILE, BARE, LAG("380"), "file NoNFD" },

	/* the Node */
	{ "on the Node", "labels: node\n", "", "", BARE, NULL, "direct Node" },
	{ "with gpu.present, which has an owner of its own", "labels: node\ngpuPresentLabel: true\n", "", "",
	  BARE, NULL, "direct present Node" },
	{ "which goes with the option", "labels: node\n", "", "",
	  DIRECT("nvidia.com/vgpu.present: 'false'", ", gpu.deckhouse.io/fairlead-gpu-present: x"), NULL,
	  "direct -present Node" },
	{ "but no key that NFD has", "labels: node\n", "", "", DONE, NULL, "ManagedByNFD" },
	{ "without an API server there is none", "labels: node\n", "", "", NULL, NULL, "" },

	/* from one to another */
	{ "from a NodeFeature to a file: the file first", "labels: file\n", WRITTEN, "", DONE, NULL, "file" },
	{ "which NFD's worker is given time to read", "labels: file\n", WRITTEN, OUR_FILE, DONE, NULL,
	  "file move feature File" },
	{ "for two minutes", "labels: file\n", WRITTEN, OUR_FILE, DONE, MOVE("381"), "file feature File" },
	{ "then the NodeFeature goes", "labels: file\n", WRITTEN, OUR_FILE, DONE, MOVE("380"),
	  "file -feature -move File" },
	{ "or at once, where none are wanted", "labels: none\n", WRITTEN, OUR_FILE, DONE, MOVE("499"),
	  "-feature -move -file" },
	{ "and nothing waits any more", "labels: file\n", "", OUR_FILE, DONE, MOVE("380"), "file -move File" },
	{ "from a file to a NodeFeature: the object first", "", "", OUR_FILE, DONE, NULL, "feature" },
	{ "then the file goes", "", WRITTEN, OUR_FILE, DONE, NULL, "feature -file NodeFeature" },
	{ "but no file of another program", "", WRITTEN, FILE_("labels", "labels: {a: b}\n"), DONE, NULL,
	  "feature NodeFeature" },
	{ "from a NodeFeature to the Node: the object goes first", "labels: node\n", WRITTEN, "", DONE, NULL,
	  "-feature" },
	{ "from a file to the Node: likewise", "labels: node\n", "", OUR_FILE, BARE, NULL, "-file" },
	{ "from the Node to a NodeFeature: they go from the Node first", "", "", "",
	  DIRECT("nvidia.com/vgpu.present: 'false'", ""), NULL, "-direct" },
	{ "from the Node to nowhere", "labels: none\n", "", "",
	  DIRECT("nvidia.com/vgpu.present: 'false'", ", gpu.deckhouse.io/fairlead-gpu-present: x"), NULL,
	  "-direct -present" },
	{ "from a file to nowhere, without an API server too", "labels: none\n", "", OUR_FILE, NULL, NULL, "-file" },
};

static const char *kind_of(const struct fl_want *want)
{
	if (want->ref.kind == &fl_node_feature_kind)
		return fl_str_ends(want->ref.name, FL_S("-fairlead")) ? "feature" : "gfd";
	if (want->ref.kind == &fl_label_file_kind)
		return "file";
	if (want->ref.kind == &fl_label_lag_kind)
		return fl_str_eq(want->ref.name, FL_S("move")) ? "move" : "lag";
	return want->owner == &fl_labels_present_owner ? "present" : "direct";
}

static bool is_gone(const struct fl_want *want)
{
	const struct fl_own_node *node = want->object;

	return want->what == FL_WANT_GONE || (want->ref.kind == &fl_own_node_kind && !node->has.meta);
}

static void print_moves(const struct fl_plan *plan, struct fl_buf *buf)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_own_node *node = want->object;

		fl_buf_str(buf, buf->len ? FL_S(" ") : FL_S(""));
		if (want->owner == &fl_labels_node_owner)
			fl_buf_str(buf, node->status.conditions.at[0].reason);
		else
			fl_buf_printf(buf, "%s%s%s", is_gone(want) ? "-" : "", kind_of(want),
				      want->how.as_seen ? "@seen" : "");
	}
}

TEST(labels_are_in_one_place)
{
	EACH_ROW_ALONE (row, moves) {
		FL_AUTO(facts) struct facts facts = { 0 };
		struct fl_labels_facts *f = &facts.f;
		const struct fl_label_lag *lag;
		char got[400] = "";
		struct fl_buf moved = FL_BUF_IN(got);
		bool gpu = strstr(row->settings, "gpuPresentLabel") != NULL;

		OK(facts_init(&facts, row->settings, gpu ? CARD("01", A100) : "", READY, ""));
		f->features = facts_list(&facts.arena, fl_node_feature_bind(), row->features, &f->feature_len);
		f->files = facts_list(&facts.arena, fl_label_file_bind(), row->files, &f->file_len);
		f->node = row->node ? object(&facts, fl_own_node_bind(), "", row->node) : NULL;
		lag = row->lag ? object(&facts, fl_label_lag_bind(), "", row->lag) : NULL;
		GOT(f->features && f->files && (f->node || !row->node) && (lag || !row->lag));
		if (row->current)
			f->node_current = row->current * FL_NS_PER_S;
		if (row->broken)
			f->node_current = 0;
		*(lag && fl_str_eq(lag->meta.name, FL_S("move")) ? &f->move : &f->lag) = lag;
		fl_labels_plan(f, &facts.plan);
		OK(facts.plan.failed ? -FL_E_NOMEM : 0);
		print_moves(&facts.plan, &moved);
		CHECK_STR(fl_str(got), row->want);
	}
}

/* The message names what to do, with the command where it takes one. */
TEST(labels_that_do_not_arrive_are_told_with_a_remedy)
{
	static const struct {
		const char *says, *annotation, *want;
	} rows_[] = {
		{ "no NFD", NULL, "install node feature discovery" },
		{ "a setting of NFD", "'a'", "labelWhiteList" },
		{ "an object elsewhere", "'nvidia.com/gfd.timestamp,nvidia.com/vgpu.present'",
		  "kubectl get nodefeatures -A -l nfd.node.kubernetes.io/node-name=n1" },
	};
	EACH_ROW_ALONE (row, rows_) {
		FL_AUTO(facts) struct facts facts = { 0 };
		const struct fl_own_node *node;
		struct fl_str message;
		char text[300];

		(void)snprintf(text, sizeof text, "metadata: {name: n1, uid: u1, annotations: {%s%s}}\n",
			       row->annotation ? "nfd.node.kubernetes.io/feature-labels: " : "",
			       row->annotation ? row->annotation : "");
		OK(facts_init(&facts, "", "", READY, ""));
		facts.f.features = facts_list(&facts.arena, fl_node_feature_bind(), WRITTEN, &facts.f.feature_len);
		facts.f.node = object(&facts, fl_own_node_bind(), "", text);
		facts.f.lag = object(&facts, fl_label_lag_bind(), "", LAG("380"));
		GOT(facts.f.features && facts.f.node && facts.f.lag);
		fl_labels_plan(&facts.f, &facts.plan);
		OK(facts.plan.failed ? -FL_E_NOMEM : 0);
		node = fl_plan_find(&facts.plan, &fl_labels_node_owner,
				    FL_REF(&fl_own_node_kind, facts.f.node))
			       ->object;
		message = node->status.conditions.at[0].message;
		CHECK(memmem(message.p, message.len, row->want, strlen(row->want)));
	}
}

/* ---- facts for rules and pools ---- */

#define CUT SMALL("1") ", " SMALL("2") ", " PART("3", "3g.40gb", "40192")
#define THREE_CARDS "metadata: {name: '0000:07:00.0'}\nanswer: Answers\nboundTo: nvidia\nvendor: 10de\n" \
	"device: 20b2\nindex: 0\nminor: 3\nuuid: GPU-1\n" A100 IN_MIG(CUT) AND CARD("02", T4) AND \
	"metadata: {name: '0000:03:00.0'}\nanswer: Unasked\nboundTo: vfio-pci\n"

TEST(a_gpu_is_an_instance_with_its_attributes)
{
	FL_AUTO(facts) struct facts facts = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
	const struct fl_node_feature *feature;
	const char *checks;
	struct fl_jw w = FL_JW(&text);

	checks = "metadata: {name: pcie}\nresult: Failed\n---\nmetadata: {name: toolkit}\nresult: Passed\n";
	OK(facts_init(&facts, "", THREE_CARDS, READY, ""));
	facts.f.checks = facts_list(&facts.arena, fl_check_bind(), checks, &facts.f.check_len);
	GOT(facts.f.checks);
	fl_labels_plan(&facts.f, &facts.plan);
	OK(facts.plan.failed ? -FL_E_NOMEM : 0);
	feature = facts.plan.first->object;
	fl_encode(fl_nfd_features_bind(), &feature->spec.features, &w);
	OK(fl_buf_check(&text, "features", NULL));
	CHECK_STR(fl_buf_view(&text),
		  "{\"flags\":{},\"attributes\":{\"nvidia.com/gpu.checks\":{\"elements\":{\"pcie\":\"Failed\","
		  "\"toolkit\":\"Passed\"}}},\"instances\":{\"nvidia.com/gpu\":{\"elements\":["
		  "{\"attributes\":{\"class\":\"0302\",\"device\":\"20b2\",\"index\":\"0\",\"memoryMiB\":\"81920\","
		  "\"mig.capable\":\"true\",\"mig.devices.1g.10gb\":\"2\",\"mig.devices.3g.40gb\":\"1\","
		  "\"mig.enabled\":\"true\",\"minor\":\"3\",\"pci.address\":\"0000:07:00.0\","
		  "\"product\":\"NVIDIA A100-SXM4-80GB\",\"uuid\":\"GPU-1\",\"vendor\":\"10de\"}},"
		  "{\"attributes\":{\"class\":\"0302\",\"memoryMiB\":\"15360\",\"mig.capable\":\"false\","
		  "\"mig.enabled\":\"false\",\"pci.address\":\"0000:02:00.0\",\"product\":\"Tesla T4\"}}]}}}");
}
