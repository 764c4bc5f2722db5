#include "local/resource.h"

/* What is known of built-in kinds: defaults that clients see, and the lists that server-side apply merges by a key.
 * Everything else is kept as it comes. */
#define OPEN "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true"
#define OBJECT(properties) "{" OPEN ",\"properties\":{" properties "}}"
#define MAP_LIST(keys, item) "{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\"," \
			     "\"x-kubernetes-list-map-keys\":[" keys "],\"items\":" item "}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define TEXT_DEFAULT(name, value) "\"" name "\":{\"type\":\"string\",\"default\":\"" value "\"}"
#define NUMBER_DEFAULT(name, value) "\"" name "\":{\"type\":\"integer\",\"default\":" value "}"
#define BOOL_DEFAULT(name, value) "\"" name "\":{\"type\":\"boolean\",\"default\":" value "}"
#define NAMED(properties) "{" OPEN ",\"required\":[\"name\"],\"properties\":{" TEXT("name") properties "}}"
#define CONDITIONS "\"conditions\":" MAP_LIST("\"type\"", "{" OPEN ",\"required\":[\"type\"],\"properties\":{" \
						    TEXT("type") "}}")

#define PORTS "\"ports\":" MAP_LIST("\"containerPort\",\"protocol\"", \
	"{" OPEN ",\"required\":[\"containerPort\"],\"properties\":{\"containerPort\":{\"type\":\"integer\"}," \
	TEXT_DEFAULT("protocol", "TCP") "}}")
#define CONTAINERS(name) "\"" name "\":" MAP_LIST("\"name\"", NAMED("," \
	TEXT_DEFAULT("terminationMessagePath", "/dev/termination-log") "," \
	TEXT_DEFAULT("terminationMessagePolicy", "File") "," \
	"\"resources\":{" OPEN ",\"default\":{}}," \
	"\"env\":" MAP_LIST("\"name\"", NAMED("")) "," PORTS "," \
	"\"volumeMounts\":" MAP_LIST("\"mountPath\"", "{" OPEN ",\"required\":[\"mountPath\"],\"properties\":{" \
		TEXT("mountPath") "}}")))
#define POD_SPEC \
	"\"spec\":" OBJECT(CONTAINERS("containers") "," CONTAINERS("initContainers") "," \
	"\"volumes\":" MAP_LIST("\"name\"", NAMED("")) "," \
	"\"resourceClaims\":" MAP_LIST("\"name\"", NAMED("")) "," \
	"\"imagePullSecrets\":" MAP_LIST("\"name\"", NAMED("")) "," \
	TEXT_DEFAULT("restartPolicy", "Always") "," TEXT_DEFAULT("dnsPolicy", "ClusterFirst") "," \
	TEXT_DEFAULT("schedulerName", "default-scheduler") "," \
	NUMBER_DEFAULT("terminationGracePeriodSeconds", "30") "," BOOL_DEFAULT("enableServiceLinks", "true") "," \
	"\"securityContext\":{" OPEN ",\"default\":{}}")

#define KEYED(key) "{" OPEN ",\"required\":[\"" key "\"],\"properties\":{" TEXT(key) "}}"
#define POD OBJECT(POD_SPEC ",\"status\":" OBJECT(CONDITIONS "," TEXT_DEFAULT("phase", "Pending")))
#define NODE OBJECT("\"status\":" OBJECT(CONDITIONS ",\"addresses\":" MAP_LIST("\"type\"", KEYED("type"))))
#define TEMPLATE \
	OBJECT("\"spec\":" OBJECT("\"template\":" OBJECT(POD_SPEC)) ",\"status\":" OBJECT(CONDITIONS))
#define STATUS OBJECT("\"status\":" OBJECT(CONDITIONS))
#define SERVICE_PORTS "\"ports\":" MAP_LIST("\"port\",\"protocol\"", \
	"{" OPEN ",\"required\":[\"port\"],\"properties\":{\"port\":{\"type\":\"integer\"}," \
	TEXT_DEFAULT("protocol", "TCP") "}}")
#define SERVICE \
	OBJECT("\"spec\":" OBJECT(SERVICE_PORTS "," TEXT_DEFAULT("type", "ClusterIP") "," \
				  TEXT_DEFAULT("sessionAffinity", "None")) ",\"status\":{" OPEN "}")
#define CLAIM OBJECT("\"status\":" OBJECT("\"reservedFor\":" MAP_LIST("\"uid\"", KEYED("uid"))))
#define HOOKS OBJECT("\"webhooks\":" MAP_LIST("\"name\"", NAMED("," TEXT_DEFAULT("failurePolicy", "Fail") "," \
	TEXT_DEFAULT("matchPolicy", "Equivalent") "," NUMBER_DEFAULT("timeoutSeconds", "10") "," \
	"\"namespaceSelector\":{" OPEN ",\"default\":{}},\"objectSelector\":{" OPEN ",\"default\":{}}")))
#define CRD \
	OBJECT("\"spec\":" OBJECT("\"conversion\":{" OPEN ",\"default\":{\"strategy\":\"None\"}}") \
	       ",\"status\":" OBJECT(CONDITIONS))

static const char pod[] = POD;
static const char node[] = NODE;
static const char with_template[] = TEMPLATE;
static const char with_conditions[] = STATUS;
static const char service[] = SERVICE;
static const char claim[] = CLAIM;
static const char secret[] = OBJECT(TEXT_DEFAULT("type", "Opaque"));
static const char hooks[] = HOOKS;
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
	{ CORE, "ConfigMap", "configmaps", "cm", .traits = BLIND },
	{ CORE, "Event", "events", "ev", .traits = BLIND | FL_TRAIT_MAKES, .fields = EVENT_FIELDS },
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
			.schema = with_template },
	{ APPS, "Deployment", "deployments", "deploy", .status = true, .traits = BLIND | GENERATION,
	  .schema = with_template },
	{ APPS, "ReplicaSet", "replicasets", "rs", .status = true, .traits = BLIND | GENERATION,
			.schema = with_template },
	{ APPS, "StatefulSet", "statefulsets", "sts", .status = true, .traits = BLIND | GENERATION,
	  .schema = with_template },
	{ APPS, "ControllerRevision", "controllerrevisions", NULL, .traits = BLIND },
	{ "batch", "v1", "Job", "jobs", NULL, .status = true, .traits = BLIND | GENERATION, .schema = with_template },
	{ "coordination.k8s.io", "v1", "Lease", "leases", NULL, .traits = FL_TRAIT_MAKES },
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
	  .fields = "spec.nodeName,spec.driver" },
	{ ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", NULL, .cluster = true,
	  .traits = GENERATION, .schema = hooks },
	{ ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", NULL, .cluster = true,
	  .traits = GENERATION, .schema = hooks },
	{ ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", NULL, .cluster = true, .status = true,
	  .traits = GENERATION },
	{ ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", NULL, .cluster = true,
	  .traits = GENERATION },
	{ "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd,crds",
	  .cluster = true, .status = true, .traits = GENERATION, .schema = crd },
};
const uint32_t fl_builtin_count = FL_LEN(fl_builtins);
