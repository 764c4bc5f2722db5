#include "local/resource.h"

/* What is known of built-in kinds: defaults that clients see, and the lists that server-side apply merges by a key.
 * Everything else is kept as it comes. */
#define OPEN "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true"
/* A struct, which Go always has: see x-fairlead-present in schema.h. */
#define STRUCT(properties) "{" OPEN ",\"x-fairlead-present\":true,\"properties\":{" properties "}}"
#define ATOMIC "{" OPEN ",\"x-kubernetes-map-type\":\"atomic\"}"
#define TEXTS(name) "\"" name "\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}"
#define AMOUNTS(name) \
	"\"" name "\":{\"type\":\"object\",\"additionalProperties\":{\"x-kubernetes-int-or-string\":true}}"
#define NO_TIME(name) "\"" name "\":{\"type\":\"string\",\"nullable\":true,\"default\":null}"
#define OBJECT(properties) "{" OPEN ",\"properties\":{" properties "}}"
#define MAP_LIST(keys, item) "{" LISTED(keys, item)
#define MAP_LIST_STRUCT(keys, item) "{\"x-fairlead-present\":true," LISTED(keys, item)
#define LISTED(keys, item) "\"type\":\"array\",\"x-kubernetes-list-type\":\"map\"," \
			     "\"x-kubernetes-list-map-keys\":[" keys "],\"items\":" item "}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define TEXT_DEFAULT(name, value) "\"" name "\":{\"type\":\"string\",\"default\":\"" value "\"}"
#define NUMBER_DEFAULT(name, value) "\"" name "\":{\"type\":\"integer\",\"default\":" value "}"
#define BOOL_DEFAULT(name, value) "\"" name "\":{\"type\":\"boolean\",\"default\":" value "}"
#define NAMED(properties) "{" OPEN ",\"required\":[\"name\"],\"properties\":{" TEXT("name") properties "}}"
#define CONDITIONS "\"conditions\":{\"nullable\":true," LISTED("\"type\"", \
	"{" OPEN ",\"required\":[\"type\"],\"properties\":{" \
						    TEXT("type") "}}")

#define PORTS "\"ports\":" MAP_LIST("\"containerPort\",\"protocol\"", \
	"{" OPEN ",\"required\":[\"containerPort\"],\"properties\":{\"containerPort\":{\"type\":\"integer\"}," \
	TEXT_DEFAULT("protocol", "TCP") "}}")
#define CONTAINERS(name, list) "\"" name "\":" list("\"name\"", NAMED("," \
	TEXT_DEFAULT("terminationMessagePath", "/dev/termination-log") "," \
	TEXT_DEFAULT("terminationMessagePolicy", "File") "," \
	"\"resources\":{" OPEN ",\"default\":{},\"properties\":{" AMOUNTS("limits") "," AMOUNTS("requests") "}}," \
	"\"env\":" MAP_LIST("\"name\"", NAMED("")) "," PORTS "," \
	"\"volumeMounts\":" MAP_LIST("\"mountPath\"", "{" OPEN ",\"required\":[\"mountPath\"],\"properties\":{" \
		TEXT("mountPath") "}}")))
#define POD_SPEC(more) \
	"\"spec\":" STRUCT(CONTAINERS("containers", MAP_LIST_STRUCT) "," CONTAINERS("initContainers", MAP_LIST) "," \
	"\"schedulingGates\":" MAP_LIST("\"name\"", NAMED("")) "," \
	"\"volumes\":" MAP_LIST("\"name\"", NAMED("")) "," \
	"\"resourceClaims\":" MAP_LIST("\"name\"", NAMED("")) "," \
	"\"imagePullSecrets\":" MAP_LIST("\"name\"", NAMED("")) "," \
	TEXT_DEFAULT("restartPolicy", "Always") "," TEXT_DEFAULT("dnsPolicy", "ClusterFirst") "," \
	TEXT_DEFAULT("schedulerName", "default-scheduler") "," \
	NUMBER_DEFAULT("terminationGracePeriodSeconds", "30") "," more \
	"\"securityContext\":{" OPEN ",\"default\":{}}")

#define KEYED(key) "{" OPEN ",\"required\":[\"" key "\"],\"properties\":{" TEXT(key) "}}"
#define POD_CONDITIONS "\"conditions\":" MAP_LIST("\"type\"", "{" OPEN ",\"required\":[\"type\"],\"properties\":{" \
		TEXT("type") "," NO_TIME("lastProbeTime") "," NO_TIME("lastTransitionTime") "}}")
#define POD OBJECT(POD_SPEC(BOOL_DEFAULT("enableServiceLinks", "true") ",") ",\"status\":" \
		   STRUCT(POD_CONDITIONS "," TEXT_DEFAULT("phase", "Pending")))
#define NODE OBJECT("\"spec\":" STRUCT("") ",\"status\":" STRUCT(CONDITIONS ",\"addresses\":" MAP_LIST("\"type\"", \
		    KEYED("type"))))
#define TEMPLATE(more) \
	OBJECT("\"spec\":" STRUCT("\"selector\":" ATOMIC "," more "\"template\":" \
				STRUCT("\"metadata\":" STRUCT("") "," POD_SPEC(""))) ",\"status\":" STRUCT(CONDITIONS))
#define SET_SPEC NUMBER_DEFAULT("revisionHistoryLimit", "10") ",\"updateStrategy\":{" OPEN \
	",\"x-fairlead-present\":true,\"default\":{},\"properties\":{" TEXT_DEFAULT("type", "RollingUpdate") "}},"
#define MAP OBJECT(TEXTS("data") "," TEXTS("binaryData") ",\"immutable\":{\"type\":\"boolean\"}")
#define SECRET OBJECT(TEXT_DEFAULT("type", "Opaque") "," TEXTS("data") ",\"immutable\":{\"type\":\"boolean\"}")
#define LEASE OBJECT("\"spec\":" STRUCT("\"leaseDurationSeconds\":{\"type\":\"integer\"}"))
#define EVENT OBJECT("\"involvedObject\":" ATOMIC ",\"source\":" STRUCT(""))
#define SLICE OBJECT("\"spec\":" STRUCT("\"pool\":" STRUCT("")))
#define STATUS OBJECT("\"status\":" OBJECT(CONDITIONS))
#define SERVICE_PORTS "\"ports\":" MAP_LIST("\"port\",\"protocol\"", \
	"{" OPEN ",\"required\":[\"port\"],\"properties\":{\"port\":{\"type\":\"integer\"}," \
	TEXT_DEFAULT("protocol", "TCP") "}}")
#define SERVICE \
	OBJECT("\"spec\":" OBJECT(SERVICE_PORTS "," TEXT_DEFAULT("type", "ClusterIP") "," \
				  TEXT_DEFAULT("sessionAffinity", "None")) ",\"status\":{" OPEN "}")
#define REQUESTS "\"requests\":{\"type\":\"array\",\"items\":{" OPEN ",\"properties\":{\"exactly\":{" OPEN \
	",\"properties\":{" TEXT_DEFAULT("allocationMode", "ExactCount") "}}}}}"
#define CLAIM OBJECT("\"spec\":" STRUCT("\"devices\":" STRUCT(REQUESTS)) ",\"status\":" \
	OBJECT("\"reservedFor\":" MAP_LIST("\"uid\"", KEYED("uid"))))
#define HOOKS(more) OBJECT("\"webhooks\":" MAP_LIST("\"name\"", NAMED("," TEXT_DEFAULT("failurePolicy", "Fail") "," \
	TEXT_DEFAULT("matchPolicy", "Equivalent") "," NUMBER_DEFAULT("timeoutSeconds", "10") "," \
	more "\"rules\":{\"type\":\"array\",\"items\":{" OPEN ",\"properties\":{" TEXT_DEFAULT("scope", "*") "}}}," \
	"\"namespaceSelector\":{" OPEN ",\"x-kubernetes-map-type\":\"atomic\",\"default\":{}}," \
	"\"objectSelector\":{" OPEN ",\"x-kubernetes-map-type\":\"atomic\",\"default\":{}}")))
#define CRD \
	OBJECT("\"spec\":" STRUCT("\"conversion\":{" OPEN ",\"default\":{\"strategy\":\"None\"}},\"names\":" \
				STRUCT("")) \
	       ",\"status\":" STRUCT("\"acceptedNames\":" STRUCT("") "," CONDITIONS))

static const char pod[] = POD;
static const char node[] = NODE;
static const char with_template[] = TEMPLATE("");
static const char daemon_set[] = TEMPLATE(SET_SPEC);
static const char with_conditions[] = STATUS;
static const char service[] = SERVICE;
static const char claim[] = CLAIM;
static const char map[] = MAP;
static const char secret[] = SECRET;
static const char lease[] = LEASE;
static const char event[] = EVENT;
static const char slice[] = SLICE;
static const char validating[] = HOOKS("");
static const char mutating[] = HOOKS(TEXT_DEFAULT("reinvocationPolicy", "Never") ",");
static const char crd[] = CRD;

#define POD_FIELDS "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,spec.hostNetwork," \
		   "status.phase,status.podIP,status.nominatedNodeName"
#define EVENT_FIELDS "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid," \
		     "involvedObject.apiVersion,involvedObject.resourceVersion,involvedObject.fieldPath,reason," \
		     "reportingComponent,source,type"
#define GENERATION FL_TRAIT_GENERATION
#define BLIND FL_TRAIT_BLIND
#define SHOWN FL_TRAIT_SHOWN
#define CORE "", "v1"
#define APPS "apps", "v1"
#define DRA "resource.k8s.io", "v1"
#define ADMISSION "admissionregistration.k8s.io", "v1"

const struct fl_builtin fl_builtins[] = {
	{ CORE, "ConfigMap", "configmaps", "cm", .traits = BLIND, .schema = map },
	{ CORE, "Event", "events", "ev", .traits = BLIND | FL_TRAIT_MAKES, .fields = EVENT_FIELDS, .schema = event },
	{ CORE, "Namespace", "namespaces", "ns", .cluster = true, .status = true, .traits = BLIND | FL_TRAIT_LABEL,
	  .fields = "status.phase", .schema = with_conditions },
	{ CORE, "Node", "nodes", "no", .cluster = true, .status = true, .traits = BLIND | FL_TRAIT_KEEPS_STATUS,
	  .fields = "spec.unschedulable", .schema = node },
	{ CORE, "Pod", "pods", "po", .status = true, .traits = BLIND | SHOWN | GENERATION | FL_TRAIT_GRACE,
	  .fields = POD_FIELDS, .schema = pod },
	{ CORE, "Secret", "secrets", NULL, .traits = BLIND, .fields = "type", .schema = secret },
	{ CORE, "Service", "services", "svc", .status = true, .traits = BLIND | SHOWN | FL_TRAIT_DNS1035,
	  .fields = "spec.clusterIP,spec.type", .schema = service },
	{ CORE, "ServiceAccount", "serviceaccounts", "sa", .traits = SHOWN },
	{ CORE, "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", .status = true, .traits = BLIND | SHOWN },
	{ CORE, "ResourceQuota", "resourcequotas", "quota", .status = true, .traits = BLIND | SHOWN },
	{ CORE, "LimitRange", "limitranges", "limits", .traits = BLIND },
	{ CORE, "Endpoints", "endpoints", "ep", .traits = BLIND },
	{ APPS, "DaemonSet", "daemonsets", "ds", .status = true, .traits = BLIND | GENERATION,
	  .schema = daemon_set },
	{ APPS, "Deployment", "deployments", "deploy", .status = true, .traits = BLIND | GENERATION,
	  .schema = with_template },
	{ APPS, "ReplicaSet", "replicasets", "rs", .status = true, .traits = BLIND | GENERATION,
			.schema = with_template },
	{ APPS, "StatefulSet", "statefulsets", "sts", .status = true, .traits = BLIND | GENERATION,
	  .schema = with_template },
	{ APPS, "ControllerRevision", "controllerrevisions", NULL, .traits = BLIND },
	{ "batch", "v1", "Job", "jobs", NULL, .status = true, .traits = BLIND | GENERATION, .schema = with_template },
	{ "coordination.k8s.io", "v1", "Lease", "leases", NULL, .traits = FL_TRAIT_MAKES,
	  .schema = lease },
	{ "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", NULL, .traits = BLIND | GENERATION },
	{ "events.k8s.io", "v1", "Event", "events", "ev", .traits = BLIND | FL_TRAIT_MAKES,
	  .fields = "regarding.kind,regarding.namespace,regarding.name,regarding.uid,regarding.apiVersion,reason,"
		    "reportingController,type" },
	{ "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", .status = true, .traits = GENERATION,
	  .schema = with_conditions },
	{ "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", .cluster = true,
	  .traits = BLIND | GENERATION },
	{ "storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", .cluster = true, .traits = BLIND },
	{ "rbac.authorization.k8s.io", "v1", "Role", "roles", NULL, .traits = BLIND },
	{ "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", NULL, .traits = BLIND },
	{ "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", NULL, .cluster = true, .traits = BLIND },
	{ "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", NULL, .cluster = true,
	  .traits = BLIND },
	{ "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", .traits = BLIND | GENERATION },
	{ DRA, "DeviceClass", "deviceclasses", NULL, .cluster = true, .traits = BLIND | SHOWN | GENERATION },
	{ DRA, "ResourceClaim", "resourceclaims", NULL, .status = true, .traits = BLIND | SHOWN, .schema = claim },
	{ DRA, "ResourceClaimTemplate", "resourceclaimtemplates", NULL, .traits = BLIND | SHOWN },
	{ DRA, "ResourceSlice", "resourceslices", NULL, .cluster = true, .traits = BLIND | SHOWN | GENERATION,
	  .fields = "spec.nodeName,spec.driver", .schema = slice },
	{ ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", NULL, .cluster = true,
	  .traits = GENERATION, .schema = mutating },
	{ ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", NULL, .cluster = true,
	  .traits = GENERATION, .schema = validating },
	{ ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", NULL, .cluster = true, .status = true,
	  .traits = GENERATION },
	{ ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", NULL, .cluster = true,
	  .traits = GENERATION },
	{ "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd,crds",
	  .cluster = true, .status = true, .traits = GENERATION, .schema = crd },
};
const uint32_t fl_builtin_count = FL_LEN(fl_builtins);
