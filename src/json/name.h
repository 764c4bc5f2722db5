/* name.h - may a text be a name in Kubernetes? The rules of its API for names, label keys and label values. */
#pragma once
#include "base/err.h"

enum fl_name_rule {
	FL_NAME_LABEL,         /* DNS-1123 label: Namespaces, and names that become part of others: a-z 0-9 - */
	FL_NAME_SUBDOMAIN,     /* DNS-1123 subdomain: most objects: labels with dots between them, 253 bytes */
	FL_NAME_DNS1035,       /* DNS-1035 label: Services: as LABEL, but begins with a letter */
	FL_NAME_QUALIFIED,     /* label and annotation keys, resource names: [SUBDOMAIN/]NAME */
	FL_NAME_VALUE,         /* label values: empty, or A-Z a-z 0-9 - _ . */
	FL_NAME_RULE_COUNT_
};

bool fl_name_ok(enum fl_name_rule rule, struct fl_str s);

/* FL_E_INVALID: "<what> '<s>': <what is allowed>". */
int fl_name_check(enum fl_name_rule rule, const char *what, struct fl_str s, struct fl_err *err) FL_MUSTUSE;
