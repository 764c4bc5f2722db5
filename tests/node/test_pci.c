/* The bus as sysfs shows it: a tree of our own. */
#include "node/gpu/pci.h"
#include "io/io.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

static void make(const char *dir, const char *path, const char *text)
{
	char full[512];

	(void)snprintf(full, sizeof full, "%s/%s", dir, path);
	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(full, 0755);
	}
	if (text)
		(void)test_write_file(full, text);
	else
		(void)mkdir(full, 0755);
}

static void card(const char *dir, const char *address, const char *vendor, const char *device, const char *class,
		 const char *numa)
{
	const char *files[][2] = { { "vendor", vendor }, { "device", device }, { "class", class },
				   { "numa_node", numa } };
	char path[200];

	for (size_t i = 0; i < FL_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "bus/pci/devices/%s/%s", address, files[i][0]);
		make(dir, path, files[i][1]);
	}
}

static void bind(const char *dir, const char *address, const char *driver)
{
	char path[300];

	(void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/driver", dir, address);
	(void)unlink(path);
	if (driver)
		(void)!symlink(driver, path);
}

/* Under torture the tree is made past the seam; only the looking may fail. */
TEST(cards_are_known_without_a_driver)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_mem) struct fl_pci *pci = fl_zalloc(sizeof *pci);
	const char *dir = test_dir();
	uint64_t digest;

	GOT(io);
	GOT(pci);
	card(dir, "0000:0b:00.0", "0x10de\n", "0x2330\n", "0x030200\n", "1\n");
	card(dir, "0000:07:00.0", "0x10de\n", "0x20b2\n", "0x030000\n", "-1\n");
	card(dir, "0000:08:00.0", "0x10de\n", "0x1af1\n", "0x068000\n", "-1\n");   /* a switch */
	card(dir, "0000:00:02.0", "0x8086\n", "0x1234\n", "0x030000\n", "0\n");
	bind(dir, "0000:0b:00.0", "../../../bus/pci/drivers/nvidia");
	bind(dir, "0000:07:00.0", NULL);
	make(dir, "bus/pci/devices/0000:0b:00.0/current_link_width", "8\n");
	make(dir, "bus/pci/devices/0000:0b:00.0/max_link_width", "16\n");
	make(dir, "bus/pci/devices/0000:07:00.0/current_link_width", "255\n");   /* the link is down */
	make(dir, "bus/pci/devices/0000:0b:00.0/drm/renderD129", NULL);
	make(dir, "bus/pci/devices/0000:0b:00.0/drm/card1", NULL);
	make(dir, "bus/pci/devices/0000:0b:00.0/drm/card1-DP-1", NULL);

	fl_pci_look(fl_io_fs(io), dir, pci);
	if (test_tortured())
		return;   /* an attribute that could not be read is left out; the next look has it */
	CHECK_INT(pci->error, 0);
	CHECK_INT(pci->len, 2);
	CHECK_STR(fl_str(pci->at[0].address), "0000:07:00.0");
	CHECK_STR(fl_str(pci->at[0].device), "20b2");
	CHECK_STR(fl_str(pci->at[0].class), "0300");
	CHECK_STR(fl_str(pci->at[0].bound), "");
	CHECK_INT(pci->at[0].numa, -1);
	CHECK_STR(fl_str(pci->at[1].address), "0000:0b:00.0");
	CHECK_STR(fl_str(pci->at[1].vendor), "10de");
	CHECK_STR(fl_str(pci->at[1].class), "0302");
	CHECK_STR(fl_str(pci->at[1].bound), "nvidia");
	CHECK_INT(pci->at[1].numa, 1);
	CHECK_INT(pci->at[0].width, 0);
	CHECK_INT(pci->at[0].width_max, 0);
	CHECK_INT(pci->at[1].width, 8);
	CHECK_INT(pci->at[1].width_max, 16);
	CHECK_INT(pci->at[1].dri_len, 2);
	CHECK_STR(fl_str(pci->at[1].dri[0]), "card1");
	CHECK_STR(fl_str(pci->at[1].dri[1]), "renderD129");

	digest = fl_pci_digest(pci);
	fl_pci_look(fl_io_fs(io), dir, pci);
	CHECK(test_tortured() || fl_pci_digest(pci) == digest);
	bind(dir, "0000:0b:00.0", "../../../bus/pci/drivers/vfio-pci");
	fl_pci_look(fl_io_fs(io), dir, pci);
	if (test_tortured())
		return;
	CHECK_STR(fl_str(pci->at[1].bound), "vfio-pci");
	CHECK(fl_pci_digest(pci) != digest);
	card(dir, "0000:0c:00.0", "0x10de\n", "0x2330\n", "0x030200\n", "1\n");
	fl_pci_look(fl_io_fs(io), dir, pci);
	CHECK(test_tortured() || pci->len == 3);
}

/* ---- vGPU ---- */

#define CAP(at, ...) [at] = __VA_ARGS__
#define HAS_CAPS [0x06] = 0x10, [0x34] = 0x40
#define MARKED(at, next, len) CAP(at, 9, next, len, 'V', 'F')

static const struct {
	const char *says;
	uint8_t config[256];
	size_t len;
	bool vgpu;
	const char *version, *branch;
} vgpus[] = {
	{ "no capabilities", { [0x40] = 9, 0, 40, 'V', 'F' }, 256, false, "", "" },
	{ "no vendor-specific one", { HAS_CAPS, CAP(0x40, 5, 0) }, 256, false, "", "" },
	{ "one with another mark", { HAS_CAPS, CAP(0x40, 9, 0, 40, 'V', 'G') }, 256, false, "", "" },
	{ "a vGPU with the host's version", { HAS_CAPS, MARKED(0x40, 0, 27), 0, 22,
	  '5', '5', '0', '.', '9', '0', 0, 0, 0, 0, 'r', '5', '5', '0', '_', '9', '0' },
	  256, true, "550.90", "r550_90" },
	{ "behind another capability and another record",
	  { HAS_CAPS, CAP(0x40, 5, 0x60), MARKED(0x60, 0, 31), 7, 4, 1, 2, 0, 22,
	    '5', '5', '0', '.', '1', '2', '3', '4', '5', '6', 'r', '5' }, 256, true, "550.123456", "r5" },
	{ "without a record", { HAS_CAPS, MARKED(0x40, 0, 5) }, 256, true, "", "" },
	{ "a record of no length ends the search", { HAS_CAPS, MARKED(0x40, 0, 40), 7, 0 }, 256, true, "", "" },
	{ "a record that is cut off", { HAS_CAPS, MARKED(0x40, 0, 20), 0, 22, '5' }, 256, true, "", "" },
	{ "text that is no text", { HAS_CAPS, MARKED(0x40, 0, 27), 0, 22, '5', 0xff, '5' }, 256, true, "5", "" },
	{ "a list that leads in a circle", { HAS_CAPS, CAP(0x40, 5, 0x50), CAP(0x50, 5, 0x40) }, 256, false, "", "" },
	{ "a list that leads out", { HAS_CAPS, CAP(0x40, 5, 0xfc) }, 256, false, "", "" },
	{ "64 bytes, for a reader without rights", { HAS_CAPS, MARKED(0x40, 0, 27) }, 64, false, "", "" },
	{ "nothing", { 0 }, 0, false, "", "" },
};

TEST(a_vgpu_names_the_driver_of_its_hypervisor)
{
	EACH_ROW (row, vgpus) {
		char version[FL_PCI_VGPU_TEXT], branch[FL_PCI_VGPU_TEXT];

		CHECK(fl_pci_vgpu(row->config, row->len, version, branch) == row->vgpu);
		CHECK_STR(fl_str(version), row->version);
		CHECK_STR(fl_str(branch), row->branch);
	}
}

TEST(where_a_card_is_on_the_bus)
{
	static const struct {
		const char *says, *home, *path;
	} rows[] = {
		{ "behind a switch", "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:07:00.0",
		  "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:07:00.0" },
		{ "at the root, in a machine of a hypervisor", "devices/LNXSYSTM:00/pci0001:00/0000:07:00.0",
		  "pci0001:00/0000:07:00.0" },
		{ "nowhere that is a bus", "devices/other/0000:07:00.0", "" },
	};

	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_mem) struct fl_pci *pci = fl_zalloc(sizeof *pci);
		const char *dir = test_dir();
		char path[300], target[300];

		GOT(io);
		GOT(pci);
		make(dir, "bus/pci/devices", NULL);
		(void)snprintf(path, sizeof path, "%s/vendor", row->home);
		make(dir, path, "0x10de\n");
		(void)snprintf(path, sizeof path, "%s/class", row->home);
		make(dir, path, "0x030200\n");
		(void)snprintf(target, sizeof target, "../../../%s", row->home);
		(void)!symlink(target, test_path(dir, "bus/pci/devices/0000:07:00.0"));
		fl_pci_look(fl_io_fs(io), dir, pci);
		CHECK(test_tortured() || pci->len == 1);
		CHECK(test_tortured() || strcmp(pci->at[0].path, row->path) == 0);
		fl_pci_look(fl_io_fs(io), dir, pci);   /* and it stays so */
		CHECK(test_tortured() || strcmp(pci->at[0].path, row->path) == 0);
	}
}

/* From now on so many more files can be opened; < 0: as many as before. */
static void may_open(int more)
{
	static struct rlimit before;   /* of the whole process: kept here over the calls */
	struct rlimit now;
	int next = dup(STDIN_FILENO);

	(void)close(next);
	if (!before.rlim_max)
		(void)getrlimit(RLIMIT_NOFILE, &before);
	now = before;
	if (more >= 0)
		now.rlim_cur = (rlim_t)(next + more);
	(void)setrlimit(RLIMIT_NOFILE, &now);
}

/* Who may open no more files does not take the bus for empty, nor a card for one that is gone: at whichever open.
 * Once: the limit is the test program's own too. */
TEST_ONCE(what_cannot_be_opened_is_not_gone)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_mem) struct fl_pci *pci = fl_zalloc(sizeof *pci);
	const char *dir = test_dir();

	GOT(io);
	GOT(pci);
	card(dir, "0000:0b:00.0", "0x10de\n", "0x2330\n", "0x030200\n", "1\n");
	card(dir, "0000:0c:00.0", "0x10de\n", "0x2330\n", "0x030200\n", "1\n");
	for (int more = 0; more < 3; more++) {   /* the bus, a card, an attribute of it */
		memset(pci, 0, sizeof *pci);
		may_open(more);
		fl_pci_look(fl_io_fs(io), dir, pci);
		may_open(-1);
		CHECK_INT(pci->error, EMFILE);
		fl_pci_look(fl_io_fs(io), dir, pci);
		CHECK_INT(pci->error, 0);
		CHECK_INT(pci->len, 2);
	}
	may_open(1);
	fl_pci_look(fl_io_fs(io), dir, pci);
	may_open(-1);
	CHECK_INT(pci->error, EMFILE);
	fl_pci_look(fl_io_fs(io), dir, pci);
	CHECK_INT(pci->len, 2);
}

TEST(a_machine_without_a_bus_has_no_cards)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_mem) struct fl_pci *pci = fl_zalloc(sizeof *pci);

	GOT(io);
	GOT(pci);
	fl_pci_look(fl_io_fs(io), "/nowhere", pci);
	CHECK_INT(pci->len, 0);
	CHECK(test_tortured() || pci->error == 0);
}

static const struct {
	const char *says, *text, *want;
} addresses[] = {
	{ "as the bus has it", "0000:07:00.0", "0000:07:00.0" },
	{ "as the driver has it", "00000000:07:00.0", "0000:07:00.0" },
	{ "in capitals", "00000000:0A:00.0", "0000:0a:00.0" },
	{ "too short", "07:00.0", NULL },
	{ "a domain too large", "00010000:07:00.0", NULL },
	{ "no number", "0000:0g:00.0", NULL },
	{ "nothing", "", NULL },
};

TEST(an_address_has_one_form)
{
	char address[FL_PCI_ADDRESS];

	EACH_ROW (row, addresses) {
		CHECK(fl_pci_address(fl_str(row->text), address) == (row->want != NULL));
		if (row->want)
			CHECK_STR(fl_str(address), row->want);
	}
}
