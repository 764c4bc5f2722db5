#include "api/admission.h"

FL_BIND(fl_hook_rule, FL_HOOK_RULE)
FL_BIND(fl_hook_service, FL_HOOK_SERVICE)
FL_BIND(fl_hook_client, FL_HOOK_CLIENT)
FL_BIND(fl_webhook, FL_WEBHOOK)
FL_BIND(fl_webhook_config, FL_WEBHOOK_CONFIG)

FL_NAMES(fl_operation_names, FL_OPERATION_COUNT_, [FL_OP_CREATE] = "CREATE", [FL_OP_UPDATE] = "UPDATE",
	 [FL_OP_DELETE] = "DELETE", [FL_OP_CONNECT] = "CONNECT");
FL_BIND(fl_review_resource, FL_REVIEW_RESOURCE)
FL_BIND(fl_review_user, FL_REVIEW_USER)
FL_BIND(fl_review_request, FL_REVIEW_REQUEST)
FL_BIND(fl_review_response, FL_REVIEW_RESPONSE)
FL_BIND(fl_review_doc, FL_REVIEW_DOC)
