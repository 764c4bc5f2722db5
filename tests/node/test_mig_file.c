/* mig-parted's file, version v1. */
#include "node/settings/mig_file.h"
#include "test.h"

#define HEAD "version: v1\nmig-configs:\n"

static const struct {
	const char *says, *text;
	const char *why;               /* NULL: it is read */
	uint32_t configs, entries, counts;     /* of the first layout, and of its first entry */
} rows[] = {
	{ "one layout", HEAD "  x:\n  - devices: all\n    mig-enabled: true\n    mig-devices: {1g.10gb: 7}\n", NULL,
	  1, 1, 1 },
	{ "layouts are found by name", HEAD "  b: [{devices: all, mig-enabled: false}]\n"
	  "  a: [{devices: [0], mig-enabled: false}, {devices: [1], mig-enabled: false}]\n", NULL, 2, 2, 0 },
	{ "a filter, and a list of them", HEAD "  x: [{device-filter: '0x20B010DE', devices: all, mig-enabled: false}, "
	  "{device-filter: ['0x20B010DE', '0x233010DE'], devices: all, mig-enabled: false}]\n", NULL, 1, 2, 0 },
	{ "MIG mode without devices", HEAD "  x: [{devices: all, mig-enabled: true, mig-devices: {}}]\n", NULL, 1, 1,
	  0 },
	{ "a count of 0 beside others is none", HEAD "  x: [{devices: all, mig-enabled: true, mig-devices: {"
	  "1g.10gb: 0, 2g.20gb: 1}}]\n", NULL, 1, 1, 1 },
	{ "a field that is not there, with its line", HEAD "  y: [{devices: all, mig-enabled: false}]\n  x:\n"
	  "  - devices: all\n    mig-enabled: false\n    mig-device: {}\n",
	  "line 4: layout 'x', entry 0: there is no field 'mig-device'", 0, 0, 0 },
	{ "devices are wanted", HEAD "  x: [{mig-enabled: false}]\n", "line 3: layout 'x', entry 0: devices is missing",
	  0, 0, 0 },
	{ "the mode is wanted", HEAD "  x: [{devices: all}]\n",
	  "line 3: layout 'x', entry 0: mig-enabled is missing", 0, 0, 0 },
	{ "devices are wanted where MIG is on", HEAD "  x: [{devices: all, mig-enabled: true}]\n",
	  "line 3: layout 'x', entry 0: mig-devices is missing: write {} for no MIG devices", 0, 0, 0 },
	{ "none where it is off, as mig-parted exports it", HEAD
	  "  x: [{devices: all, mig-enabled: false, mig-devices: {}}]\n", NULL, 1, 1, 0 },
	{ "and forbidden where it is off", HEAD
	  "  x: [{devices: all, mig-enabled: false, mig-devices: {1g.10gb: 1}}]\n",
	  "line 3: layout 'x', entry 0: mig-devices is only for GPUs with mig-enabled: true", 0, 0, 0 },
	{ "not only zeros", HEAD "  x: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 0}}]\n",
	  "line 3: layout 'x', entry 0: mig-devices: all counts are 0: write {} for no MIG devices", 0, 0, 0 },
	{ "no profile", HEAD "  x: [{devices: all, mig-enabled: true, mig-devices: {big: 1}}]\n",
	  "line 3: layout 'x', entry 0: mig-devices: 'big' is no profile: write 1g.10gb, 1g.10gb+me or 1c.3g.40gb", 0,
	  0, 0 },
	{ "no index", HEAD "  x: [{devices: [a], mig-enabled: false}]\n",
	  "line 3: layout 'x', entry 0: devices: an index from 0 to 63 is wanted", 0, 0, 0 },
	{ "a filter by subsystem is refused by name", HEAD "  x: [{device-filter: '0x20B010DE:0x134F10DE', "
	  "devices: all, mig-enabled: false}]\n",
	  "line 3: layout 'x', entry 0: device-filter: the subsystem in '0x20B010DE:0x134F10DE' is not supported: "
	  "write the device ID alone", 0, 0, 0 },
	{ "another version", "version: v2\nmig-configs: {}\n", "version: v1 is wanted", 0, 0, 0 },
	{ "another field beside", "version: v1\nmig-configs: {x: [{devices: all, mig-enabled: false}]}\nhooks: {}\n",
	  "there is no field 'hooks'", 0, 0, 0 },
	{ "no layout", "version: v1\nmig-configs: {}\n", "mig-configs: 1 to 256 layouts are wanted", 0, 0, 0 },
};

TEST(mig_files)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_mig_file file = { 0 };
		struct fl_err err = { 0 };

		if (row->why) {
			REFUSED(fl_mig_file_read(fl_str(row->text), &arena, &file, &err), FL_E_INVALID);
			CHECK(err.code == FL_E_NOMEM || strcmp(err.text, row->why) == 0);
			continue;
		}
		OK_ERR(fl_mig_file_read(fl_str(row->text), &arena, &file, &err), &err);
		CHECK_INT(file.configs.len, row->configs);
		CHECK_INT(file.configs.at[0].entries.len, row->entries);
		CHECK_INT(file.configs.at[0].entries.at[0].counts.len, row->counts);
	}
}
