/* What is wrong inside of running Pods: a driver that was changed under them, devices that were taken away. I3, I6. */
#include "plan/gpu/inside.h"
#include "gpu_facts.h"

#define HOLDER(pod) \
	"metadata: {name: t/" pod "/c/nvidia.com/gpu}\nresource: nvidia.com/gpu\ndevices: [G1]\npodNamespace: t\n" \
	"pod: " pod "\ncontainer: c\n"
#define POD(pod, more) "metadata: {name: t/" pod "}\npodNamespace: t\npod: " pod "\n" more
#define UNNAMED(more) "metadata: {name: UID u-1}\n" more
#define OLD "library: libcuda.so.550.54.15\n"
#define NOW "library: libcuda.so.570.133.20\n"
#define USED "process: python3 (pid 812)\n"
#define DENIED "denied: /dev/nvidia0\n"
#define UNLINKED "unlinked: /dev/nvidiactl\n"
#define FOUND(pod) "metadata: {name: t/" pod "}\npodNamespace: t\npod: " pod "\n"
#define RISK(status) "status: {conditions: [{type: GPUAccessAtRisk, reason: X, message: m, lastTransitionTime: " \
		     "'1970-01-01T00:00:10Z', status: '" status "'}]}\n"

static const struct {
	const char *says, *settings, *holders, *insides, *findings, *node, *got;
} rows[] = {
	{ "containers are inspected once for a driver, where nobody holds a GPU", "", "", "", "", "", "570.133.20\n" },
	{ "and again and again where somebody does", "", HOLDER("p"), "", "", "", "570.133.20 again\n" },
	{ "a driver that was changed under a Pod: its process is named", "", "", POD("p", OLD USED), "", "",
	  "570.133.20 again\nt/p Driver=DriverChanged! its process python3 (pid 812) uses libcuda.so.550.54.15, and "
	  "the loaded driver is 570.133.20: the driver was changed under the running Pod, and CUDA fails in it: "
	  "kubectl delete pod -n t p\n" },
	{ "one that only has its files", "", HOLDER("p"), POD("p", OLD), "", "",
	  "570.133.20 again\nt/p Driver=DriverChanged! a container of it has libcuda.so.550.54.15, *\n" },
	{ "what was seen before this driver came is none", "", "", POD("p", NOW), "", "", "570.133.20 again\n" },
	{ "a Pod whose name is not known has its UID", "", "", UNNAMED(OLD), "", "",
	  "570.133.20 again\nUID u-1 Driver=DriverChanged! *: delete the Pod with this UID\n" },
	{ "a Pod that is gone has no finding", "", HOLDER("p"), "", FOUND("p"), "",
	  "570.133.20 again\ngone t/p\n" },
	{ "devices that were taken away", "", HOLDER("p"), POD("p", DENIED), "", "",
	  "570.133.20 again\nt/p Devices=DeviceAccessLost! a container of it may not open its /dev/nvidia0 any more: "
	  "with the systemd cgroup driver, systemctl daemon-reload takes devices away: kubectl delete pod -n t p; "
	  "--dev-char-links=true of the agent keeps it from happening again\n" },
	{ "who has that option needs no advice", "devCharLinks: true\n", HOLDER("p"), POD("p", DENIED), "", "",
	  "570.133.20 again\nt/p Devices=DeviceAccessLost! *: kubectl delete pod -n t p\n" },
	{ "a Pod that was given none by the kubelet has none to lose", "", HOLDER("q"), POD("p", DENIED), "", "",
	  "570.133.20 again\n" },
	{ "both at once", "", HOLDER("p"), POD("p", OLD DENIED), "", "",
	  "570.133.20 again\nt/p Driver=DriverChanged! *\n Devices=DeviceAccessLost! *\n" },
	{ "at risk: the Node says so once for all", "", HOLDER("p") "---\n" HOLDER("q"),
	  POD("p", UNLINKED) "---\n" POD("q", UNLINKED), "", "status: {}\n",
	  "570.133.20 again\nn1 NoCharLinks with runc 1.1.3 to 1.1.6, or a systemd before 240, systemctl daemon-reload "
	  "takes their GPUs away from 2 Pods, because /dev/char has no link to /dev/nvidiactl: start the agent with "
	  "--dev-char-links=true, then restart them: t/p, t/q\n" },
	{ "no longer at risk", "", HOLDER("p"), "", "", RISK("True"),
	  "570.133.20 again\nn1 None no running Pod is known *\n" },
	{ "never at risk: nothing is said", "", HOLDER("p"), "", "", "status: {}\n", "570.133.20 again\n" },
	{ "without an API server there is nobody to say it to", "", HOLDER("p"), POD("p", UNLINKED), "", "",
	  "570.133.20 again\n" },
};

static void print_condition(const struct fl_want *want, const struct fl_condition *condition, const char *as,
			    struct fl_buf *out)
{
	bool told = false;

	for (const struct fl_told *at = want->told; at; at = at->next)
		told |= fl_str_eq(at->type, condition->type);
	fl_buf_printf(out, " %s%.*s%s %.*s", as, FL_ARG(condition->reason), told ? "!" : "",
		      FL_ARG(condition->message));
}

static void print_want(const struct fl_want *want, struct fl_buf *out)
{
	if (want->what == FL_WANT_GONE) {
		fl_buf_printf(out, "gone %.*s", FL_ARG(want->ref.name));
	} else if (want->ref.kind == &fl_inspection_kind) {
		const struct fl_inspection *inspection = want->object;

		fl_buf_printf(out, "%.*s%s", FL_ARG(inspection->version), inspection->again ? " again" : "");
	} else if (want->ref.kind == &fl_own_node_kind) {
		const struct fl_own_node *node = want->object;

		fl_buf_printf(out, "%.*s", FL_ARG(want->ref.name));
		print_condition(want, &node->status.conditions.at[0], "", out);
	} else {
		const struct fl_pod_finding *finding = want->object;

		fl_buf_printf(out, "%.*s", FL_ARG(want->ref.name));
		for (uint32_t i = 0; i < finding->status.conditions.len; i++) {
			const struct fl_condition *c = &finding->status.conditions.at[i];

			if (i)
				fl_buf_char(out, '\n');
			print_condition(want, c, fl_str_starts(c->type, FL_S("Driver")) ? "Driver=" : "Devices=", out);
		}
	}
	fl_buf_char(out, '\n');
}

static int gather(struct fl_arena *arena, const char *settings_text, const char *node_text,
		  struct fl_gpu_inside_facts *ret)
{
	struct fl_str settings = fl_arena_printf(arena, "metadata: {name: settings}\n%s", settings_text);
	struct fl_str node = fl_arena_printf(arena, "metadata: {name: n1}\n%s", node_text);

	if (!settings.p || !node.p || !(ret->settings = facts_object(arena, fl_settings_bind(), settings)) ||
	    (*node_text && !(ret->node = facts_object(arena, fl_own_node_bind(), node))))
		return -FL_E_NOMEM;
	ret->driver = facts_object(arena, fl_driver_bind(),
				   FL_S("metadata: {name: driver}\nstate: Ready\nversion: 570.133.20\n"));
	return ret->driver ? 0 : -FL_E_NOMEM;
}

TEST(what_is_wrong_inside_of_pods)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_inside_facts f = { 0 };
		struct fl_plan plan;

		OK(gather(&arena, row->settings, row->node, &f));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.insides = facts_list(&arena, fl_inside_bind(), row->insides, &f.inside_len));
		GOT(f.findings = facts_list(&arena, fl_pod_finding_bind(), row->findings, &f.finding_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_inside_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			print_want(want, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

TEST(a_node_full_of_pods_at_risk_fits_into_one_event)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_gpu_inside_facts f = { 0 };
	const struct fl_want *want;
	struct fl_holder *holders;
	struct fl_inside *insides;
	struct fl_plan plan;

	OK(gather(&arena, "", "status: {}\n", &f));
	GOT(holders = fl_arena_get_n(&arena, 64, sizeof *holders));
	GOT(insides = fl_arena_get_n(&arena, 64, sizeof *insides));
	memset(insides, 0, 64 * sizeof *insides);
	memset(holders, 0, 64 * sizeof *holders);
	for (int i = 0; i < 64; i++) {
		struct fl_str name = fl_arena_printf(&arena, "t/training-job-worker-%03d", i);

		GOT(name.p);
		FL_SET(FL_IN(&insides[i], meta), name, name);
		FL_SET(&insides[i], pod_space, FL_S("t"));
		FL_SET(&insides[i], pod, fl_str_sub(name, 2, name.len));
		FL_SET(&insides[i], unlinked, FL_S("/dev/nvidia0"));
		holders[i].pod_space = insides[i].pod_space;
		holders[i].pod = insides[i].pod;
	}
	f.holders = holders;
	f.insides = insides;
	f.holder_len = f.inside_len = 64;
	fl_plan_init(&plan, &arena);
	fl_gpu_inside_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	want = fl_plan_find(&plan, &fl_gpu_access_owner, FL_REF(&fl_own_node_kind, f.node));
	CHECK(want != NULL);
	if (want) {
		const struct fl_own_node *node = want->object;

		CHECK(node->status.conditions.at[0].message.len < 1024);
		CHECK(fl_str_ends(node->status.conditions.at[0].message, FL_S(", ...")));
	}
}
