/* names.h - what GPUDevices are called: NODE-INDEX-VENDOR-DEVICE, at most 63 bytes.
 *
 * Pure, and allocates nothing: texts go into a buffer of the caller's. The Node's part of a name is the Node's name as
 * far as names of objects go, or, where that is too long or another Node has it, shortened with 8 digits of its
 * SHA-256.
 */
#pragma once
#include "api/pools.h"

#define FL_DEVICE_NAME 63              /* bytes: it also stands in labels */
#define FL_DEVICE_NODE_CUT 32          /* bytes of a Node's name that its shortened part keeps: the index has 11 then */
#define FL_DEVICE_TEXT 640             /* a buffer for any of these: a Node's name has 253 bytes, an index as many */

/* Lower case; what is no letter or digit becomes one '-', none at the ends; "gpu" when nothing is left. */
void fl_device_sanitise(struct fl_str text, struct fl_buf *out);

/* The Node's part of a name. */
void fl_device_prefix(struct fl_str node, bool hashed, struct fl_buf *out);

/* False: it has more than FL_DEVICE_NAME bytes. */
bool fl_device_name(struct fl_str node, bool hashed, struct fl_str index, const struct fl_device_pci *ids,
		    struct fl_buf *out);

/* What stands before "-INDEX-VENDOR-DEVICE" of a name; empty: it is none of ours. */
struct fl_str fl_device_prefix_of(struct fl_str name);

/* Is this the name of a GPU of that index and those ids, of whatever Node? */
bool fl_device_is_called(struct fl_str name, struct fl_str index, const struct fl_device_pci *ids);

/* A number without zeros in front; anything else as it is. */
struct fl_str fl_device_index(struct fl_str text);
/* Letters and digits alone: another index could be that of another GPU once it is in a name. */
bool fl_device_index_ok(struct fl_str index);

/* dddd:bb:dd.f in lower case, of NVML's eight digits the last four; another text stays as it is. */
void fl_device_address(struct fl_str text, struct fl_buf *out);

/* A label's value for a Node: its name, or where that is too long the shortened one. */
void fl_device_node_label(struct fl_str node, struct fl_buf *out);
