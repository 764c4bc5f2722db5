/* Is a card fit to be handed out? I6, I7, I9: bad news at once, good news damped, always with a remedy. */
#include "plan/gpu/health.h"
#include "gpu_facts.h"

#define A "0000:01:00.0"
#define READY "metadata: {name: driver}\nstate: Ready\n"
#define SICK "metadata: {name: driver}\nstate: Sick\nmessage: error 999\n"
#define FINE "metadata: {name: " A "}\nanswer: Answers\nuuid: GPU-a\nclean: 10\n"
#define SOON "metadata: {name: " A "}\nanswer: Answers\nuuid: GPU-a\nclean: 2\n"
#define CUT FINE "mig: true\npartitions: [{uuid: MIG-1, gi: 1, ci: 0, profile: 1g.10gb}, " \
	    "{uuid: MIG-2, gi: 2, ci: 0, profile: 1g.10gb}, {uuid: MIG-3, gi: 2, ci: 1, profile: 1c.2g.10gb}]\n"
#define OLD_XID(n, more) "metadata: {name: " A "/xid-" n "}\ncard: " A "\nwhat: Xid\nxid: " n "\ncount: 1\n" \
			 "last: 90000000000\n" more
#define XID(n) OLD_XID(n, "clean: 10\n")
#define NEW_XID(n) "metadata: {name: " A "/xid-" n "}\ncard: " A "\nwhat: Xid\nxid: " n "\ncount: 1\nlast: " \
	  "100000000000\n"
#define WAS(state, more) "metadata: {name: " A "}\ncard: " A "\nstate: " state "\nboot: b1\nsince: 50000000000\n" more
#define WAS_PART(uuid) "metadata: {name: " uuid "}\ncard: " A "\nstate: Recovering\nboot: b1\ncause: Lost\n" \
		       "since: 50000000000\n"
#define WAS_SICK(state, s) "metadata: {name: " A "}\ncard: " A "\nstate: " state "\nboot: b1\ncause: DriverSick\n" \
	"since: " s "000000000\n"
#define HELD "metadata: {name: t/p/c/nvidia.com-gpu}\nresource: nvidia.com/gpu\ndevices: [GPU-a]\npodNamespace: " \
	  "team\n" \
	     "pod: job\ncontainer: c\n"
#define HOLDS(id) "metadata: {name: h}\nresource: nvidia.com/gpu\ndevices: [" id "]\npodNamespace: team\npod: job\n" \
		  "container: c\n"

static const struct {
	const char *says, *driver, *card, *faults, *before, *holders, *settings, *got;
} rows[] = {
	{ "nobody has looked for the driver: nothing is said", "", FINE, "", "", "", "", "" },
	{ "the first look is good enough", READY, FINE, "", "", "", "", A ": Healthy since 100\n" },
	{ "what is well stays well, and nothing changes", READY, FINE, "", WAS("Healthy", ""), "", "",
	  A ": Healthy since 50, told\n" },
	{ "what nobody could ask yet has no health yet", READY, "metadata: {name: " A "}\nanswer: Unasked\n", "", "",
	  "",
	  "", "" },

	{ "a GPU that fell off the bus, with who holds it", READY, FINE, XID("79"), "", HELD, "recoveryChecks: 11",
	  A ": Unhealthy Xid79 since 100, warned: XID 79: the GPU has fallen off the bus: drain the node and reboot "
	    "it; "
	    "if it recurs, drain the node and have the vendor check the GPU; it may need replacement; "
	    "held by team/job\n" },
	{ "an XID that asks for a look is a suspicion", READY, SOON, XID("32"), WAS("Healthy", ""), "", "",
	  A ": Suspect Xid32 since 100, warned: XID 32: a broken stream of commands reached the GPU: nothing; if it "
	    "recurs, reset the GPU when no process uses it: fairlead pause reset && "
	    "nvidia-smi -r -i " A "; fairlead resume\nagain at 130\n" },
	{ "an XID that nobody knows is a suspicion", READY, SOON, XID("999"), WAS("Healthy", ""), "", "",
	  A ": Suspect Xid999 since 100, warned: XID 999: the GPU has reported an unknown XID: look "
	    "the number up in NVIDIA's list of XIDs; ignore it with --disable-health-checks if it is harmless\n"
	    "again at 130\n" },
	{ "a suspicion that stays is none any more", READY, SOON, XID("32"),
	  "metadata: {name: " A "}\nstate: Suspect\ncause: Xid32\ncard: " A "\nboot: b1\nsince: 70000000000", "", "",
	  A ": Unhealthy Xid32 since 100, warned: XID 32: *\n" },
	{ "a suspicion waits for its time", READY, SOON, XID("32"),
	  "metadata: {name: " A "}\nstate: Suspect\ncause: Xid32\ncard: " A "\nboot: b1\nsince: 71000000000", "", "",
	  A ": Suspect Xid32 since 71, warned: XID 32: *\nagain at 101\n" },
	{ "what came twice is no suspicion", READY, SOON,
	  "metadata: {name: f}\ncard: " A "\nwhat: Xid\nxid: 32\ncount: 2\nlast: 1\n", WAS("Healthy", ""), "", "",
	  A ": Unhealthy Xid32 since 100, warned: XID 32: *\n" },
	{ "an application's XID is none of the GPU's, and goes", READY, FINE, XID("31"), "", "", "",
	  "gone Fault " A "/xid-31\n" A ": Healthy since 100\n" },
	{ "an application's XID is heeded where somebody says so", READY, SOON, XID("31"), WAS("Healthy", ""), "",
	  "ignoredXids: [13]", A ": Suspect Xid31 since 100, warned: XID 31: *\nagain at 130\n" },
	{ "reports that are not to be looked at", READY, SOON, XID("79"), WAS("Healthy", ""), "", "healthChecks: false",
	  "gone Fault " A "/xid-79\n" A ": Healthy since 50, told\n" },
	{ "reports that are not to be looked at, but for one", READY, SOON, XID("79") "---\n" XID("48"),
	  WAS("Healthy", ""), "", "healthChecks: false\nheededXids: [79]",
	  "gone Fault " A "/xid-48\n" A ": Unhealthy Xid79 since 100, warned: XID 79: *\n" },
	{ "a harmless report never ends a fatal one", READY, SOON, XID("79") "---\n" XID("31") "---\n" XID("32"),
	  WAS("Unhealthy", "cause: Xid79"), "", "",
	  "gone Fault " A "/xid-31\n" A ": Unhealthy Xid79 since 50, warned: XID 79: *\n" },
	{ "of two the worse one counts, whatever came last", READY, SOON, XID("32") "---\n" XID("48"),
	  WAS("Healthy", ""), "", "", A ": Unhealthy Xid48 since 100, warned: XID 48: *\n" },
	{ "a suspicion makes nothing better", READY, SOON, XID("32"), WAS("Unhealthy", "cause: Xid79"), "", "",
	  A ": Unhealthy Xid32 since 100, warned: XID 32: *\n" },
	{ "a report that has only just come is not over, whatever was counted before", READY, FINE, NEW_XID("79"),
	  WAS("Healthy", ""), "", "", A ": Unhealthy Xid79 since 100, warned: XID 79: *\n" },
	{ "nor after looks of the same second, the first of which may have begun before it", READY, FINE,
	  NEW_XID("79") "clean: 3\n", WAS("Healthy", ""), "", "",
	  A ": Unhealthy Xid79 since 100, warned: XID 79: *\nagain at 101\n" },
	{ "a fault waits for clean looks of its own", READY, FINE, OLD_XID("79", "clean: 2\n"),
	  WAS("Unhealthy", "cause: Xid79"), "", "", A ": Unhealthy Xid79 since 50, warned: XID 79: *\n" },
	{ "an application's XID leaves the looks alone that bring a GPU back", READY, FINE, OLD_XID("31", ""),
	  WAS("Recovering", "cause: Lost"), "", "",
	  "gone Fault " A "/xid-31\n" A ": Healthy since 100 returned 100, told\n" },
	{ "a fault of one MIG device sets back the looks of no other", READY, CUT, OLD_XID("48", "gi: 1\nci: 0\n"),
	  WAS_PART("MIG-1") "---\n" WAS_PART("MIG-2"), "", "",
	  A ": Healthy since 100\nMIG-1: Unhealthy Xid48 since 100, warned: *\n"
	    "MIG-2: Healthy since 100 returned 100, told\nMIG-3: Healthy since 100\n" },

	{ "it comes back when it was well for long enough, and the report goes", READY, FINE, XID("79"),
	  WAS("Unhealthy", "cause: Xid79"), "", "",
	  "gone Fault " A "/xid-79\n" A ": Healthy since 100 returned 100, told\n" },
	{ "it proves itself first", READY, SOON, "", WAS("Unhealthy", "cause: Xid79"), "", "",
	  A ": Recovering Xid79 since 100, warned: recovering after Xid79: it recovers when it has been healthy for "
	    "long enough\n" },
	{ "two returns are apart", READY, FINE, "", WAS("Unhealthy", "cause: Lost\nreturned: 80000000000"), "", "",
	  A ": Recovering Lost since 100 returned 80, warned: recovering after Lost: *\nagain at 110\n" },
	{ "two returns that are apart", READY, FINE, "", WAS("Recovering", "cause: Lost\nreturned: 70000000000"), "",
	  "",
	  A ": Healthy since 100 returned 100, told\n" },
	{ "bad news is never damped", READY, "metadata: {name: " A "}\nanswer: Lost\nmessage: it is lost\n", "",
	  WAS("Healthy", "returned: 99000000000"), "", "",
	  A ": Unhealthy Lost since 100 returned 99, warned: it is lost: drain the node and reset the GPU, or reboot "
	    "the "
	    "node\n" },
	{ "the clock of another boot is none", READY, FINE, "",
	  "metadata: {name: " A "}\nstate: Recovering\ncause: Lost\ncard: " A "\nboot: b0\nsince: 1\n"
	  "returned: 99000000000",
	  "", "", A ": Healthy since 100 returned 100, told\n" },
	{ "a moment that has not come yet is none", READY, FINE, "",
	  WAS("Recovering", "cause: Lost\nreturned: 900000000000"), "", "",
	    A ": Healthy since 100 returned 100, told\n" },
	{ "a driver's wish holds it back, however clean its looks", READY, FINE "recovery: Reset\n", XID("48"),
	  WAS("Unhealthy", "cause: Xid48"), "", "",
	  A ": Unhealthy NeedsReset since 100, warned: the driver requests a reset: *\n" },
	{ "a fabric that is broken holds a report, however many looks were counted", READY,
	  FINE "fabric: {state: 3, health: 16}\n", XID("48"), WAS("Unhealthy", "cause: Xid48"), "", "",
	  A ": Unhealthy FabricUnhealthy since 100, warned: *\n" },
	{ "one that came back from a wish proves itself too", READY, SOON "recovery: None\n", "",
	  WAS("Unhealthy", "cause: NeedsReset"), "", "", A ": Recovering NeedsReset since 100, warned: *\n" },
	{ "memory that went bad holds it back until the row is replaced", READY, FINE "remapPending: true\n", XID("48"),
	  WAS("Unhealthy", "cause: Xid48"), "", "",
	  "gone Fault " A "/xid-48\n" A ": Unhealthy Xid48 since 50, warned: its memory had an uncorrectable error: a "
	  "reset remaps the row: drain the Pods that hold it, then "
	  "fairlead pause reset && nvidia-smi -r -i " A "; fairlead resume\n" },
	{ "also for an agent that comes later, and has no report", READY, FINE "remapPending: true\n", "",
	  WAS("Recovering", "cause: Ecc"), "", "", A ": Unhealthy Ecc since 100, warned: *\n" },
	{ "and no longer", READY, FINE, "", WAS("Unhealthy", "cause: Xid95"), "", "",
	  A ": Healthy since 100 returned 100, told\n" },
	{ "an error that one application has paid for does not", READY, FINE "remapPending: true\n", "",
	  WAS("Unhealthy", "cause: Xid94"), "", "",
	  A ": Healthy since 100 returned 100, told: a row of its memory *\n" },
	{ "where the driver wants nothing, clean looks are enough: nobody can say that it was reset", READY,
	  FINE "recovery: None\n", XID("48"), WAS("Unhealthy", "cause: Xid48"), "", "",
	  "gone Fault " A "/xid-48\n" A ": Healthy since 100 returned 100, told\n" },
	{ "a driver's wish is bad news", READY, FINE "recovery: Reset\n", XID("48"), WAS("Healthy", ""), "", "",
	  A ": Unhealthy NeedsReset since 100, warned: the driver requests a reset: *\n" },
	{ "the node is to be rebooted", READY, FINE "recovery: Reboot\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy NeedsReboot since 100, warned: the driver requests a reboot of the node: *\n" },
	{ "traffic between GPUs is to end", READY, FINE "recovery: DrainP2P\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy NeedsDrain since 100, warned: the driver requests that traffic between GPUs end: *\n" },
	{ "drain and reset", READY, FINE "recovery: DrainAndReset\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy NeedsDrainAndReset since 100, warned: the driver requests a drain and a reset: *\n" },
	{ "an IMEX domain is not the GPU", READY, FINE "recovery: RecoverIMEX\n", "", WAS("Healthy", ""), "", "",
	  A ": Healthy since 50, told: its IMEX domain needs recovery; work within this node is not affected\n" },

	{ "it hangs", READY, "metadata: {name: " A "}\nanswer: Hung\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy Hung since 100, warned: it does not answer the driver: the agent checks it again; if it "
	    "still hangs, drain the node and reboot it\n" },
	{ "it answers with errors", READY, "metadata: {name: " A "}\nanswer: Fails\nmessage: error 999\n", "",
	  WAS("Healthy", ""), "", "", A ": Suspect Fails since 100, warned: error 999: *\nagain at 130\n" },
	{ "a memory error was reported", READY, SOON,
	  "metadata: {name: f}\ncard: " A "\nwhat: Ecc\ncount: 1\nlast: 1\n",
	  WAS("Healthy", ""), "", "", A ": Unhealthy Ecc since 100, warned: its memory had an uncorrectable error*\n" },
	{ "memory errors were counted while nobody heard of them", READY, SOON "eccUncorrected: 3\n", "",
	  WAS("Healthy", "identity: {uuid: GPU-a, eccUncorrected: 2}"), "", "",
	  A ": Unhealthy Ecc since 100, warned: its memory had an uncorrectable error*\n" },
	{ "of which the next look knows", READY, SOON "eccUncorrected: 3\n", "",
	  WAS("Unhealthy", "cause: Ecc\nidentity: {uuid: GPU-a, eccUncorrected: 3}"), "", "",
	  A ": Recovering Ecc since 100, warned: *\n" },
	{ "those that were there before we were are nobody's news", READY, FINE "eccUncorrected: 3\n", "",
	  WAS("Healthy", ""), "", "", A ": Healthy since 50, told\n" },
	{ "a driver that was loaded anew counts from nought", READY, FINE "eccUncorrected: 1\n", "",
	  WAS("Healthy", "identity: {uuid: GPU-a, eccUncorrected: 2}"), "", "", A ": Healthy since 50, told\n" },
	{ "another GPU has counted by itself", READY, FINE "eccUncorrected: 3\n", "",
	  WAS("Healthy", "identity: {uuid: GPU-b, eccUncorrected: 2}"), "", "", A ": Healthy since 50, told\n" },
	{ "what is counted goes with the report", READY, SOON "eccUncorrected: 3\n", NEW_XID("94"),
	  WAS("Healthy", "identity: {uuid: GPU-a, eccUncorrected: 2}"), "", "",
	  A ": Unhealthy Xid94 since 100, warned: XID 94: *\n" },
	{ "a report that does not count explains nothing", READY, SOON "eccUncorrected: 3\n", XID("31"),
	  WAS("Healthy", "identity: {uuid: GPU-a, eccUncorrected: 2}"), "", "",
	  "gone Fault " A "/xid-31\n" A ": Unhealthy Ecc since 100, warned: *\n" },
	{ "nor is it looked at where nothing is", READY, SOON "eccUncorrected: 3\n", "",
	  WAS("Healthy", "identity: {uuid: GPU-a, eccUncorrected: 2}"), "", "healthChecks: false",
	  A ": Healthy since 50, told\n" },
	{ "the driver reports it as unavailable", READY, SOON,
	  "metadata: {name: f}\ncard: " A "\nwhat: Unavailable\ncount: 1\nlast: 1\n", WAS("Healthy", ""), "", "",
	  A ": Unhealthy Unavailable since 100, warned: the driver reports it as unavailable: *\n" },
	{ "a wish of the driver was reported", READY, SOON,
	  "metadata: {name: f}\ncard: " A "\nwhat: Recovery\ncount: 1\nlast: 1\n", WAS("Healthy", ""), "", "",
	  A ": Suspect Recovery since 100, warned: the driver requests a recovery action: *\nagain at 130\n" },
	{ "a row of memory could not be remapped", READY, FINE "remapFailed: true\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy RowRemapFailed since 100, warned: a row of its memory could not be remapped: *\n" },
	{ "a row that will be replaced is a word, and no fault", READY, FINE "remapPending: true\n", "",
	  WAS("Healthy", ""), "", "",
	  A ": Healthy since 50, told: a row of its memory is remapped at the next reset: reset it when no process "
	    "uses it\n" },

	{ "a fabric that is not there yet", READY, FINE "fabric: {state: 2}\n", "", "", "", "",
	  A ": Suspect FabricNotReady since 100, warned: it has not joined its NVLink fabric yet: *\n" },
	{ "and comes, which needs no proof", READY, SOON "fabric: {state: 3, status: 0}\n", "",
	  WAS("Suspect", "cause: FabricNotReady"), "", "", A ": Healthy since 100 returned 100, told\n" },
	{ "a fabric that it could not join", READY, FINE "fabric: {state: 3, status: 999}\n", "", WAS("Healthy", ""),
	  "",
	  "", A ": Unhealthy FabricFailed since 100, warned: it could not join its NVLink fabric: *\n" },
	{ "a fabric in order: every question is answered with no", READY,
	  FINE "fabric: {state: 3, status: 0, health: 426}\n", "", WAS("Healthy", ""), "", "",
	  A ": Healthy since 50, told\n" },
	{ "a route is broken", READY, FINE "fabric: {state: 3, health: 16}\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy FabricUnhealthy since 100, warned: its NVLink fabric cannot be reached: *\n" },
	{ "the fabric times out", READY, FINE "fabric: {state: 3, health: 64}\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy FabricUnhealthy since 100, warned: its NVLink fabric cannot be reached: *\n" },
	{ "the fabric is set up wrongly", READY, FINE "fabric: {state: 3, health: 1024}\n", "", WAS("Healthy", ""), "",
	  "", A ": Unhealthy FabricMisconfigured since 100, warned: its NVLink fabric is set up wrongly: *\n" },
	{ "routes are repaired", READY, FINE "fabric: {state: 3, health: 4}\n", "", WAS("Healthy", ""), "", "",
	  A ": Suspect FabricRecovers since 100, warned: routes of its NVLink fabric are being repaired: *\n"
	    "again at 130\n" },
	{ "less bandwidth is a word, and no fault", READY, FINE "fabric: {state: 3, health: 1}\n", "",
	  WAS("Healthy", ""), "", "",
	    A ": Healthy since 50, told: its NVLink fabric has less bandwidth than it should\n" },

	{ "no driver", "metadata: {name: driver}\nstate: Absent\n", "metadata: {name: " A "}\nanswer: Unasked\n", "",
	  WAS("Healthy", ""), "", "",
	  A ": Unhealthy DriverAbsent since 100, warned: its driver is not there: install or load the driver; it is "
	    "reopened without a restart\n" },
	{ "no driver, for a reason that it tells: the same for the GPU",
	  "metadata: {name: driver}\nstate: Absent\nmessage: 'none under /wrong: say where (--driver-root)'\n",
	  "metadata: {name: " A "}\nanswer: Unasked\n", "", WAS("Healthy", ""), "", "",
	  A ": Unhealthy DriverAbsent since 100, warned: none under /wrong: say where (--driver-root)\n" },
	{ "the driver comes: no proof is wanted of a GPU that was not sick", READY, SOON, "",
	  WAS("Unhealthy", "cause: DriverAbsent"), "", "", A ": Healthy since 100 returned 100, told\n" },
	{ "we were asked to let go of it", "metadata: {name: driver}\nstate: Paused\n", SOON, "", WAS("Healthy", ""),
	  "",
	  "", A ": Unhealthy Paused since 100, warned: the GPU driver is paused, as fairlead pause or a "
	  "label of the Node asks: run fairlead resume on the node, or remove the label nvidia.com/gpu.deploy.* whose "
	  "value begins with paused-for-\n" },
	{ "an upgrade is under way", "metadata: {name: driver}\nstate: Mismatch\n", SOON, "", WAS("Healthy", ""), "",
	  "",
	  A ": Unhealthy DriverMismatch since 100, warned: the driver's library and its kernel module differ: *\n" },
	{ "a child is replaced: nothing flaps, but since when is noted", SICK, FINE, "", WAS("Healthy", ""), "", "",
	  A ": Healthy DriverSick since 100, told\nagain at 110\n" },
	{ "a driver that fails for a while", SICK, FINE, "", WAS_SICK("Healthy", "91"), "", "",
	  A ": Healthy DriverSick since 91, told\nagain at 101\n" },
	{ "a driver that fails for longer than a child's replacement takes", SICK, FINE, "",
	  WAS_SICK("Healthy", "90"), HELD, "",
	  A ": Unhealthy DriverSick since 100, warned: its driver fails as a whole: error 999: the agent "
	    "retries; *; held by team/job\n" },
	{ "which nobody answers for", SICK, "metadata: {name: " A "}\nanswer: Unasked\n", "", WAS_SICK("Healthy", "90"),
	  "", "", A ": Unhealthy DriverSick since 100, warned: *\n" },
	{ "and goes on", SICK, FINE, "", WAS_SICK("Unhealthy", "99"), "", "",
	  A ": Unhealthy DriverSick since 99, warned: *\n" },
	{ "since another boot's clock is since now", SICK, FINE, "",
	  "metadata: {name: " A "}\ncard: " A "\nstate: Healthy\ncause: DriverSick\nboot: b0\nsince: 1\n", "", "",
	  A ": Healthy DriverSick since 100, told\nagain at 110\n" },
	{ "it starts anew, and is no better yet", "metadata: {name: driver}\nstate: Starting\n", FINE, "",
	  WAS_SICK("Unhealthy", "99"), "", "", "" },
	{ "and is well: no proof is wanted of GPUs that were not sick", READY, SOON, "",
	  WAS_SICK("Unhealthy", "80"), "", "", A ": Healthy since 100 returned 100, told\n" },
	{ "and is well before anybody was to know", READY, SOON, "", WAS_SICK("Healthy", "99"), "", "",
	  A ": Healthy since 100, told\n" },
	{ "a GPU that is sick itself stays so for what it has", SICK, SOON, "", WAS("Unhealthy", "cause: Xid79"), "",
	  "", "" },
	{ "and so does one that is to prove itself", SICK, SOON, "", WAS("Recovering", "cause: Xid79"), "", "", "" },
	{ "nobody has ever looked at it", SICK, "metadata: {name: " A "}\nanswer: Unasked\n", "", "", "", "", "" },
	{ "the driver starts: nothing flaps", "metadata: {name: driver}\nstate: Starting\n",
	  "metadata: {name: " A "}\nanswer: Unasked\n", "", WAS("Unhealthy", "cause: Xid79"), "", "", "" },
	{ "a fatal report while a child is replaced counts", "metadata: {name: driver}\nstate: Sick\n", SOON, XID("79"),
	  WAS("Healthy", ""), "", "", A ": Unhealthy Xid79 since 100, warned: XID 79: *\n" },
	{ "a sick GPU that also lost its driver must prove itself all the same", "metadata: {name: driver}\n"
	  "state: Absent\n", SOON, XID("79"), WAS("Unhealthy", "cause: Xid79"), "", "",
	  A ": Unhealthy Xid79 since 50, warned: XID 79: *\n" },

	{ "a fault of a compute instance is that one's", READY, CUT,
	  "metadata: {name: f}\ncard: " A "\nwhat: Xid\nxid: 48\ncount: 1\ngi: 2\nci: 1\nlast: 99900000000\n",
	  WAS("Healthy", "") "\n---\nmetadata: {name: MIG-3}\ncard: " A "\nstate: Healthy\n", HOLDS("MIG-1"), "",
	  A ": Healthy since 50, told\nMIG-1: Healthy since 100\nMIG-2: Healthy since 100\n"
	    "MIG-3: Unhealthy Xid48 since 100, warned: XID 48: *\n" },
	{ "a fault of a GPU instance is that of all its parts", READY, CUT,
	  "metadata: {name: f}\ncard: " A "\nwhat: Xid\nxid: 48\ncount: 1\ngi: 2\nlast: 99900000000\n", "",
	  HOLDS("'MIG-2::3'"), "",
	  A ": Healthy since 100\nMIG-1: Healthy since 100\nMIG-2: Unhealthy Xid48 since 100, warned: *; held by "
	    "team/job\n"
	    "MIG-3: Unhealthy Xid48 since 100, warned: XID 48: *\n" },
	{ "a fault of the GPU is that of all parts", READY, CUT, NEW_XID("79"), "", "", "",
	  A ": Unhealthy Xid79 since 100, warned: *\nMIG-1: Unhealthy Xid79 since 100, warned: *\n"
	    "MIG-2: Unhealthy Xid79 since 100, warned: *\nMIG-3: Unhealthy Xid79 since 100, warned: *\n" },

	{ "a GPU that is gone and held by nobody", READY, "", "", WAS("Healthy", ""), "", "", "gone Health " A "\n" },
	{ "a GPU that is gone and held stays, and is sick", READY, "", "", WAS("Healthy", ""), HELD, "",
	  A ": Unhealthy Gone since 100, warned: it is not there any more: *; held by team/job\n" },
	{ "a GPU that the driver may still tell of keeps what it had", "metadata: {name: driver}\nstate: Starting\n",
	  "", "", WAS("Unhealthy", "cause: Xid79"), "", "", "" },
	{ "also where it is held", "metadata: {name: driver}\nstate: Starting\n", "", "",
	  WAS("Unhealthy", "cause: Xid79"), HELD, "", "" },
	{ "and where there is no driver: nobody knows what there is", "metadata: {name: driver}\nstate: Absent\n", "",
	  "", WAS("Unhealthy", "cause: Xid79"), "", "", "" },
	{ "a GPU that a virtual machine has needs no driver of ours to be gone",
	  "metadata: {name: driver}\nstate: Absent\n", FINE "boundTo: vfio-pci\n", "", WAS("Healthy", ""), "", "",
	  "gone Health " A "\n" },
	{ "a GPU that a virtual machine has is as good as gone", READY, FINE "boundTo: vfio-pci\n", "",
	  WAS("Healthy", ""), "", "", "gone Health " A "\n" },
	{ "a part that is gone and held by nobody", READY, FINE, "",
	  "metadata: {name: MIG-9}\ncard: " A "\nstate: Healthy\n", "", "",
	    "gone Health MIG-9\n" A ": Healthy since 100\n" },
	{ "a part that is gone and held stays, and is sick", READY, FINE, "",
	  "metadata: {name: MIG-9}\ncard: " A "\nstate: Healthy\n", HOLDS("'MIG-9::0'"), "",
	  "MIG-9: Unhealthy Gone since 100, warned: it is not there any more: *; held by team/job\n"
	  A ": Healthy since 100\n" },
	{ "a part of which nobody can ask goes the way of its GPU",
	  READY, "metadata: {name: " A "}\nanswer: Lost\n", "",
	    "metadata: {name: MIG-9}\ncard: " A "\nstate: Healthy\n",
	  "", "", "MIG-9: Unhealthy Lost since 100, warned: *\n" A ": Unhealthy Lost since 100, warned: *\n" },
};

/* ---- in few words ---- */

static void print_health(const struct fl_want *want, struct fl_buf *out)
{
	const struct fl_health *h = want->object;
	const struct fl_condition *condition = fl_condition_find(&h->status.conditions, FL_S("Healthy"));
	const struct fl_condition *flaps = fl_condition_find(&h->status.conditions, FL_S("Flapping"));

	fl_buf_printf(out, "%.*s: %s%s%.*s since %lld", FL_ARG(want->ref.name),
		      fl_name(&fl_health_state_names, (int)h->state), h->has.cause ? " " : "", FL_ARG(h->cause),
		      (long long)h->since / (long long)FL_NS_PER_S);
	if (h->has.breaks)
		fl_buf_printf(out, " broke %d/%d at %lld%s", (int)h->breaks, (int)h->relapses,
			      (long long)h->broke / (long long)FL_NS_PER_S, h->well ? " well" : "");
	if (h->has.returned)
		fl_buf_printf(out, " returned %lld", (long long)h->returned / (long long)FL_NS_PER_S);
	if (want->told)
		fl_buf_printf(out, ", %s", want->told->tell == FL_EMIT_WARNING ? "warned" : "told");
	if (flaps)
		fl_buf_printf(out, ", flapping: %.*s\n", FL_ARG(flaps->message));
	if (flaps && flaps->status == FL_CONDITION_TRUE && fl_str_eq(flaps->reason, FL_S("Flapping")))
		return;
	/* An Event needs words also where all is well, and they are always the same. */
	if (!condition->message.len)
		fl_buf_str(out, FL_S(" without a message"));
	else if (!fl_str_eq(condition->message, FL_S("answers, no fault left")))
		fl_buf_printf(out, ": %.*s", FL_ARG(condition->message));
	fl_buf_char(out, '\n');
	/* Reason and state say the same. */
	if ((condition->status == FL_CONDITION_TRUE) != (h->state == FL_HEALTHY) || !condition->reason.len)
		fl_buf_printf(out, "and the condition says something else\n");
}

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		if (want->what == FL_WANT_OBJECT)
			print_health(want, out);
		else
			fl_buf_printf(out, "gone %s %.*s\n", want->ref.kind->kind, FL_ARG(want->ref.name));
	}
	if (plan->at)
		fl_buf_printf(out, "again at %llu\n", (unsigned long long)(plan->at / FL_NS_PER_S));
}

static int gather(struct fl_arena *arena, const char *driver, const char *card, const char *faults, const char *before,
		  const char *holders, const char *settings, struct fl_gpu_health_facts *ret)
{
	static const char defaults[] = "metadata: {name: settings}\nhealthChecks: true\nrecoveryWait: 30000000000\n";
	struct fl_str given = fl_str(settings), all;

	all = fl_arena_printf(arena, "%s%s%s%.*s\n", defaults,
			      strstr(settings, "recoveryChecks") ? "" : "recoveryChecks: 3\n",
			      strstr(settings, "ignored") ? "" : "ignoredXids: [13, 31, 43, 45, 68, 109]\n",
			      FL_ARG(given));
	if (strstr(settings, "healthChecks"))
		all = fl_arena_printf(arena, "metadata: {name: s}\nrecoveryWait: 30000000000\n"
					     "recoveryChecks: 3\n%.*s\n",
				      FL_ARG(given));
	*ret = (struct fl_gpu_health_facts){ .address = FL_S(A), .boot = FL_S("b1"), .now = 100 * FL_NS_PER_S };
	if (!all.p || !(ret->settings = facts_object(arena, fl_settings_bind(), all)) ||
	    (*driver && !(ret->driver = facts_object(arena, fl_driver_bind(), fl_str(driver)))) ||
	    (*card && !(ret->card = facts_object(arena, fl_card_bind(), fl_str(card)))) ||
	    !(ret->faults = facts_list(arena, fl_card_fault_bind(), faults, &ret->fault_len)) ||
	    !(ret->before = facts_list(arena, fl_health_bind(), before, &ret->before_len)) ||
	    !(ret->holders = facts_list(arena, fl_holder_bind(), holders, &ret->holder_len)))
		return -FL_E_NOMEM;
	return 0;
}

/* Breaks of a GPU that has broken so often: at 95, in the boot of now. */
#define DAMPED "recoveryWaitMax: 600000000000\n"
#define BROKE(n, relapses) "breaks: " n "\nrelapses: " relapses "\nbroke: 95000000000\n"
#define BROKEN(n, wait) \
	", flapping: break count " n ", one less after each 10m0s without a break: it is handed out again after " wait \
	" *"
#define RETURNED "returned: 99000000000\n"
#define LOST "metadata: {name: " A "}\nanswer: Lost\nmessage: it is lost\nuuid: GPU-a\n"
#define SINCE(state, since, more) "metadata: {name: " A "}\ncard: " A "\nstate: " state "\nboot: b1\nsince: " since \
				  "000000000\ncause: Lost\n" more

static const struct {
	const char *says, *card, *faults, *before, *holders, *settings, *got;
} flapping[] = {
	{ "a GPU that breaks is counted", LOST, "", WAS("Healthy", ""), "", DAMPED,
	  A ": Unhealthy Lost since 100 broke 1/0 at 100, warned: it is lost: *\n" },
	{ "not when it was never well", LOST, "", "", "", DAMPED,
	  A ": Unhealthy Lost since 100, warned: it is lost: *\n" },
	{ "nor when its driver is what broke", FINE "fabric: {state: 2}\n", "", WAS("Healthy", ""), "", DAMPED,
	  A ": Suspect FabricNotReady since 100, warned: *\n" },
	{ "nor where the wait does not grow", LOST, "", WAS("Healthy", BROKE("4", "3") RETURNED), "",
	  "recoveryWaitMax: 30000000000\n", A ": Unhealthy Lost since 100 returned 99, warned: it is lost: *\n" },
	{ "one fault is counted once", LOST, "", SINCE("Unhealthy", "95", BROKE("1", "0")), "", DAMPED,
	  A ": Unhealthy Lost since 95 broke 1/0 at 95, warned: it is lost: *\n" },
	{ "the second break is a relapse, and does not flap", LOST, "", WAS("Healthy", BROKE("1", "0") RETURNED), "",
	  DAMPED, A ": Unhealthy Lost since 100 broke 2/1 at 100 returned 99, warned: it is lost: *\n" },
	{ "the third one flaps, and says how often and how long, to its holders too", LOST, "",
	  WAS("Healthy", BROKE("2", "1") RETURNED), HELD, DAMPED,
	  A ": Unhealthy Lost since 100 broke 3/2 at 100 returned 99, warned, flapping: break count 3, one "
	    "less after each 10m0s without a break: it is handed out again after 1m0s without a fault: "
	    "fairlead_gpu_faults_total counts its faults; if it continues, drain the node, reset the GPU or have it "
	    "replaced; held by team/job\nagain at 130\n" },
	{ "each relapse doubles the wait", LOST, "", WAS("Healthy", BROKE("3", "2") RETURNED), "", DAMPED,
	  A ": Unhealthy Lost since 100 broke 4/3 at 100 returned 99, warned" BROKEN("4", "2m0s") "\nagain at 130\n" },
	{ "up to the most", LOST, "", WAS("Healthy", BROKE("8", "7") RETURNED), "", DAMPED,
	  A ": Unhealthy Lost since 100 broke 9/8 at 100 returned 99, warned" BROKEN("9", "10m0s") "\nagain at 130\n" },
	{ "of many breaks nobody needs the number", LOST, "", WAS("Healthy", BROKE("11", "32") RETURNED), "", DAMPED,
	  A ": Unhealthy Lost since 100 broke 11/32 at 100 returned 99, warned"
	    BROKEN("more than 10", "10m0s") "\nagain at 130\n" },

	{ "it is not back yet, and was well by a look", SOON, "", SINCE("Unhealthy", "95", BROKE("2", "0")), "", DAMPED,
	  A ": Recovering Lost since 100 broke 2/0 at 95 well, warned: recovering after Lost: *\n" },
	{ "so that it breaks again, which is no relapse", LOST, "",
	  SINCE("Recovering", "98", BROKE("2", "0") "well: true\n"),
	  "", DAMPED, A ": Unhealthy Lost since 100 broke 3/0 at 100, warned" BROKEN("3", "1m0s") "\nagain at 130\n" },
	{ "also by a report only", FINE, NEW_XID("48"),
	  SINCE("Unhealthy", "95", BROKE("2", "0") "well: true\n"), "", DAMPED,
	  A ": Unhealthy Xid48 since 100 broke 3/0 at 100, warned, flapping: *\nagain at 130\n" },
	{ "not by one that was counted", "metadata: {name: " A "}\nanswer: Answers\nuuid: GPU-a\n", XID("48"),
	  SINCE("Unhealthy", "95", BROKE("2", "0") "well: true\n"), "", DAMPED,
	  A ": Unhealthy Xid48 since 100 broke 2/0 at 95 well, warned: *\n" },
	{ "nor by two within a second", LOST, "",
	  SINCE("Recovering", "99", "breaks: 2\nbroke: 99500000000\nwell: true\n"),
	  "", DAMPED, A ": Unhealthy Lost since 100 broke 2/0 at 99 well, warned: it is lost: *\n" },
	{ "in between it says the same", SOON, "", SINCE("Unhealthy", "99", BROKE("3", "0")), "", DAMPED,
	  A ": Recovering Lost since 100 broke 3/0 at 95 well, warned" BROKEN("3", "1m0s") "\nagain at 160\n" },
	{ "a fault that stays is told as what it is, with its remedy", LOST, "",
	  SINCE("Unhealthy", "60", "breaks: 3\nbroke: 70000000000\n"), "", DAMPED,
	  A ": Unhealthy Lost since 60 broke 3/0 at 70, warned: it is lost: drain the node and *\n" },

	{ "one that flaps is not back when another would be", FINE, "", SINCE("Recovering", "45", BROKE("3", "2")), "",
	  DAMPED, A ": Recovering Lost since 45 broke 3/2 at 95 well, warned, flapping: *\nagain at 105\n" },
	{ "but when it was well for so long", FINE, "", SINCE("Recovering", "40", BROKE("3", "2")), "", DAMPED,
	  A ": Healthy since 100 broke 3/2 at 95 returned 100, told\n" },
	{ "a wait that grows no more ends", FINE, "", SINCE("Recovering", "45", BROKE("3", "2")), "",
	  "recoveryWaitMax: 0\n", A ": Healthy since 100 returned 100, told\n" },
	{ "a driver that was loaded anew ends it", FINE, "",
	  WAS("Unhealthy", "cause: DriverAbsent\n" BROKE("3", "2")), "",
	  DAMPED, A ": Healthy since 100 broke 3/2 at 95 returned 100, told\n" },
	{ "a GPU that was gone for a while is no better", FINE, "",
	  WAS("Unhealthy", "cause: Gone\n" BROKE("3", "2")), "",
	  DAMPED, A ": Recovering Gone since 100 broke 3/2 at 95 well, warned, flapping: *\nagain at 160\n" },
	{ "another boot begins anew", FINE, "",
	  "metadata: {name: " A "}\ncard: " A "\nstate: Recovering\ncause: Lost\nboot: b0\nsince: 1\n"
	  BROKE("3", "2"), "",
	  DAMPED, A ": Healthy since 100 returned 100, told\n" },

	{ "what is well stays known", FINE, "", WAS("Healthy", BROKE("3", "2") RETURNED), "", DAMPED,
	  A ": Healthy since 50 broke 3/2 at 95 returned 99, told\n" },
	{ "a break of a part is that part's", CUT,
	  "metadata: {name: f}\ncard: " A "\nwhat: Xid\nxid: 48\ncount: 1\ngi: 2\nci: 1\nlast: 99900000000\n",
	  WAS("Healthy", "") "---\nmetadata: {name: MIG-3}\ncard: " A "\nstate: Healthy\nboot: b1\nsince: 1\n"
	  BROKE("2", "1"), "", DAMPED,
	  A ": Healthy since 50, told\nMIG-1: Healthy since 100\nMIG-2: Healthy since 100\n"
	    "MIG-3: Unhealthy Xid48 since 100 broke 3/2 at 100, warned, flapping: *\nagain at 130\n" },
};

TEST(a_gpu_that_breaks_again_and_again_stays_away_longer)
{
	EACH_ROW_ALONE (row, flapping) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_health_facts facts;
		struct fl_plan plan;

		OK(gather(&arena, READY, row->card, row->faults, row->before, row->holders, row->settings, &facts));
		fl_plan_init(&plan, &arena);
		fl_gpu_health_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* Long after the last break or return each window takes one back. */
TEST(breaks_of_long_ago_are_forgotten)
{
	static const struct {
		const char *says;
		uint64_t later;
		int32_t breaks, relapses;
	} rows_[] = {
		{ "soon", 599, 5, 4 },
		{ "one window", 600, 4, 3 },
		{ "three windows", 1800, 2, 1 },
		{ "long ago", 86400, 1, 0 },
	};

	EACH_ROW_ALONE (row, rows_) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_health_facts facts;
		const struct fl_health *health;
		struct fl_plan plan;

		OK(gather(&arena, READY, LOST, "", WAS("Healthy", BROKE("4", "3") "returned: 100000000000\n"), "",
			  DAMPED,
			  &facts));
		facts.now += row->later * FL_NS_PER_S;
		fl_plan_init(&plan, &arena);
		fl_gpu_health_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		health = plan.first->object;
		CHECK_INT(health->breaks, row->breaks);
		CHECK_INT(health->relapses, row->relapses);
	}
}

/* A GPU that was away for long is not made to wait by what it did before. */
TEST(a_gpu_that_flapped_long_ago_waits_no_longer_than_another)
{
	static const struct {
		const char *says;
		uint64_t later;
		enum fl_health_state state;
	} rows_[] = {
		{ "soon", 599, FL_RECOVERING },
		{ "long ago", 86400, FL_HEALTHY },
	};

	EACH_ROW_ALONE (row, rows_) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_health_facts facts;
		struct fl_plan plan;

		OK(gather(&arena, READY, FINE, "",
			  WAS("Unhealthy", "cause: Gone\n" BROKE("4", "3") "returned: 100000000000\n"), "", DAMPED,
			  &facts));
		facts.now += row->later * FL_NS_PER_S;
		fl_plan_init(&plan, &arena);
		fl_gpu_health_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		CHECK_INT(((const struct fl_health *)plan.first->object)->state, row->state);
	}
}

TEST(health_from_facts)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_health_facts facts;
		struct fl_plan plan;

		OK(gather(&arena, row->driver, row->card, row->faults, row->before, row->holders, row->settings,
			  &facts));
		fl_plan_init(&plan, &arena);
		fl_gpu_health_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* For an agent that comes later, and is told nothing by the card. */
TEST(what_it_was_is_kept)
{
	static const struct {
		const char *says, *card, *before;
		const char *cards, *part;      /* UUIDs that are kept; NULL: none */
		int64_t ecc;
	} kept[] = {
		{ "of a GPU that answers", FINE, "", "GPU-a", NULL },
		{ "with its errors", FINE "eccUncorrected: 3\n", "", "GPU-a", NULL, 3 },
		{ "of its partitions", CUT, "", "GPU-a", "MIG-3" },
		{ "of one that is lost", "metadata: {name: " A "}\nanswer: Lost\n",
		  WAS("Healthy", "identity: {uuid: GPU-b, index: 1}\n"), "GPU-b", NULL },
		{ "of one that is lost, and of its partition", "metadata: {name: " A "}\nanswer: Lost\n",
		  WAS("Healthy", "identity: {uuid: GPU-b}\n---\n")
		  "metadata: {name: MIG-9}\ncard: " A "\nstate: Healthy\n"
		  "identity: {uuid: GPU-b, partition: {uuid: MIG-9, gi: 1, ci: 0, profile: 1g.10gb}}\n",
		  "GPU-b", "MIG-9" },
		{ "another GPU has taken its place", FINE, WAS("Unhealthy", "identity: {uuid: GPU-b}\n"), "GPU-a",
		  NULL },
		{ "nothing is known of it", "metadata: {name: " A "}\nanswer: Lost\n", WAS("Healthy", ""), NULL, NULL },
	};

	EACH_ROW_ALONE (row, kept) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_health_facts f = { 0 };
		struct fl_plan plan;
		bool card = !row->cards, part = !row->part;

		OK(gather(&arena, READY, row->card, "", row->before, "", "", &f));
		fl_plan_init(&plan, &arena);
		fl_gpu_health_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next) {
			const struct fl_health *health = want->object;

			CHECK_INT(want->what, FL_WANT_OBJECT);
			CHECK_STR(health->identity.uuid, row->cards ? row->cards : "");
			CHECK_INT(health->identity.ecc, row->ecc);
			card |= !health->identity.has.part;
			part |= health->identity.has.part && row->part &&
				fl_str_eq(health->identity.part.uuid, fl_str(row->part));
		}
		CHECK(card && part);
	}
}

TEST(a_look_at_which_something_is_wrong_is_not_clean)
{
	static const struct {
		const char *says, *card;
		bool clean;
	} looks[] = {
		{ "it answers, and that is all", FINE, true },
		{ "all is well", FINE "recovery: None\nfabric: {state: 3, status: 0, health: 426}\n", true },
		{ "nobody has asked it", "metadata: {name: " A "}\nanswer: Unasked\n", false },
		{ "it is lost", "metadata: {name: " A "}\nanswer: Lost\n", false },
		{ "it answers with errors", "metadata: {name: " A "}\nanswer: Fails\n", false },
		{ "the driver requests a reset", FINE "recovery: Reset\n", false },
		{ "its IMEX domain is not the GPU", FINE "recovery: RecoverIMEX\n", true },
		{ "a row of memory could not be remapped", FINE "remapFailed: true\n", false },
		{ "a row that will be replaced is no fault by itself", FINE "remapPending: true\n", true },
		{ "it has not joined its fabric yet, which is no sickness", FINE "fabric: {state: 2}\n", true },
		{ "it could not join its fabric", FINE "fabric: {state: 3, status: 999}\n", false },
		{ "its fabric cannot be reached", FINE "fabric: {state: 3, health: 16}\n", false },
		{ "its fabric is set up wrongly", FINE "fabric: {state: 3, health: 1024}\n", false },
		{ "routes are repaired", FINE "fabric: {state: 3, health: 4}\n", false },
		{ "less bandwidth is no fault", FINE "fabric: {state: 3, health: 1}\n", true },
	};

	EACH_ROW_ALONE (row, looks) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_card *card = facts_object(&arena, fl_card_bind(), fl_str(row->card));

		OK(card ? 0 : -FL_E_NOMEM);
		CHECK_INT(fl_gpu_look_is_clean(card), row->clean);
	}
}

TEST(every_xid_has_words)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_err err = { 0 };

	for (int64_t n = -1; n < 200; n++)
		CHECK(fl_xid_find(n)->says && fl_xid_find(n)->remedy);
	CHECK_INT(fl_xid_find(79)->class, FL_XID_REBOOT);
	CHECK_INT(fl_xid_find(48)->class, FL_XID_RESET);
	CHECK_INT(fl_xid_find(64)->class, FL_XID_HARDWARE);
	CHECK_INT(fl_xid_find(13)->class, FL_XID_APPLICATION);
	CHECK_INT(fl_xid_find(12345)->class, FL_XID_LOOK);
	OK_ERR(fl_owner_check(&fl_gpu_health_owner, &err), &err);
}
