#include "node/gpu/pci.h"
#include "base/mem.h"
#include "node/host/driver_root.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const classes[] = { "0300", "0302" };   /* VGA, 3D controller */

static uint64_t mix(uint64_t h, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
	return h;
}

uint64_t fl_pci_digest(const struct fl_pci *pci)
{
	uint64_t h = mix(0xcbf29ce484222325u, &pci->len, sizeof pci->len);

	/* Whole structs: they are zeroed before they are filled in, and have no padding that changes. */
	return mix(h, pci->at, pci->len * sizeof *pci->at);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool fl_pci_address(struct fl_str text, char ret[FL_PCI_ADDRESS])
{
	static const char shape[] = "xxxx:xx:xx.x";

	if (text.len == 16 && fl_str_starts(text, FL_S("0000")))
		text = fl_str_sub(text, 4, UINT32_MAX);
	if (text.len != sizeof shape - 1)
		return false;
	for (uint32_t i = 0; i < text.len; i++) {
		char c = text.p[i] >= 'A' && text.p[i] <= 'F' ? (char)(text.p[i] + 'a' - 'A') : text.p[i];

		if (shape[i] == 'x' ? !is_hex(c) : c != shape[i])
			return false;
		ret[i] = c;
	}
	ret[text.len] = '\0';
	return true;
}

/* What we lack says nothing of what is there: who may open no more files must not take the bus for empty. */
static int open_there(const struct fl_fs *fs, int dir, const char *path, int flags, int *error)
{
	int fd = fs->open(fs, dir, path, flags | O_CLOEXEC, 0);

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		*error = -fd;
	return fd;
}

/* The file's content without its line end, cut at size; false: it cannot be read. */
static bool read_text(const struct fl_fs *fs, int dir, const char *path, char *text, size_t size, int *error)
{
	int fd = open_there(fs, dir, path, O_RDONLY, error);
	int64_t n;

	text[0] = '\0';
	if (fd < 0)
		return false;
	n = fl_fs_read_all(fs, fd, text, size - 1);
	fs->close(fs, fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/* "0x10de" -> "10de"; "0x030200" -> "0302". */
static bool read_hex4(const struct fl_fs *fs, int dir, const char *path, char ret[5], int *error)
{
	char text[16];

	if (!read_text(fs, dir, path, text, sizeof text, error) || strlen(text) < 6 || memcmp(text, "0x", 2) != 0)
		return false;
	(void)snprintf(ret, 5, "%.4s", text + 2);
	return true;
}

static void read_bound(const struct fl_fs *fs, int dir, struct fl_pci_card *card)
{
	char target[256];
	int64_t n = fs->readlink(fs, dir, "driver", target, sizeof target - 1);
	const char *slash;

	if (n <= 0)
		return;
	target[n] = '\0';
	slash = strrchr(target, '/');
	(void)snprintf(card->bound, sizeof card->bound, "%.*s", (int)sizeof card->bound - 1,
		       slash ? slash + 1 : target);
}

/* The name on the bus is a link to where the card is: "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0". */
static void read_path(const struct fl_fs *fs, int bus, const char *name, struct fl_pci_card *card)
{
	char target[FL_PCI_PATH_MAX + 32];
	int64_t n = fs->readlink(fs, bus, name, target, sizeof target);
	const char *from;

	if (n <= 0 || n == (int64_t)sizeof target)
		return;
	target[n] = '\0';
	from = strstr(target, "/pci");
	if (from && strlen(from + 1) < sizeof card->path)
		memcpy(card->path, from + 1, strlen(from + 1));
}

/* ---- vGPU: a vendor-specific capability of the configuration space ---- */

enum {
	PCI_STATUS = 0x06, PCI_STATUS_CAPS = 0x10, PCI_CAPS = 0x34, PCI_CONFIG = 256,
	PCI_CAP_LEN = 2, PCI_CAP_VENDOR = 0x09,
	VGPU_MARK = 3, VGPU_RECORDS = 5, VGPU_TEXT = FL_PCI_VGPU_TEXT - 1,
};

/* The capability whose mark is "VF"; NULL: there is none. Its list is bounded, as it may lead in a circle. */
static const uint8_t *vgpu_capability(const uint8_t *config, size_t len, size_t *ret_len)
{
	size_t at;

	if (len <= PCI_CAPS || !(config[PCI_STATUS] & PCI_STATUS_CAPS))
		return NULL;
	at = config[PCI_CAPS] & ~3u;
	for (int steps = 0; at && at + VGPU_RECORDS <= len && steps < PCI_CONFIG / 4; steps++) {
		const uint8_t *cap = config + at;

		if (cap[0] == PCI_CAP_VENDOR && cap[VGPU_MARK] == 'V' && cap[VGPU_MARK + 1] == 'F') {
			*ret_len = at + cap[PCI_CAP_LEN] <= len ? cap[PCI_CAP_LEN] : len - at;
			return cap;
		}
		at = cap[1] & ~3u;
	}
	return NULL;
}

static void vgpu_text(const uint8_t *from, char ret[FL_PCI_VGPU_TEXT])
{
	for (int i = 0; i < VGPU_TEXT && from[i] > ' ' && from[i] <= '~'; i++)
		ret[i] = (char)from[i];
}

/* Records of the capability: a number, their length, and content. Number 0 has the host's version and branch. */
bool fl_pci_vgpu(const uint8_t *config, size_t len, char ret_version[FL_PCI_VGPU_TEXT],
		 char ret_branch[FL_PCI_VGPU_TEXT])
{
	size_t cap_len = 0, at = VGPU_RECORDS;
	const uint8_t *cap = vgpu_capability(config, len, &cap_len);

	memset(ret_version, 0, FL_PCI_VGPU_TEXT);
	memset(ret_branch, 0, FL_PCI_VGPU_TEXT);
	while (cap && at + 1 < cap_len && cap[at] != 0 && cap[at + 1] != 0)
		at += cap[at + 1];
	if (!cap || at + 2 + 2 * (size_t)VGPU_TEXT > cap_len || cap[at] != 0)
		return cap != NULL;
	vgpu_text(cap + at + 2, ret_version);
	vgpu_text(cap + at + 2 + VGPU_TEXT, ret_branch);
	return true;
}

/* Once for each GPU: reading wakes one that sleeps, and what a GPU is does not change. */
static void read_vgpu(const struct fl_fs *fs, int bus, const char *name, struct fl_pci_card *card, int *error)
{
	char path[FL_PCI_ADDRESS + sizeof "/config"];
	uint8_t config[PCI_CONFIG];
	int64_t n;
	int fd;

	(void)snprintf(path, sizeof path, "%s/config", name);
	fd = open_there(fs, bus, path, O_RDONLY, error);
	if (fd < 0)
		return;
	n = fl_fs_read_all(fs, fd, config, sizeof config);
	fs->close(fs, fd);
	if (n > 0)
		card->vgpu = fl_pci_vgpu(config, (size_t)n, card->vgpu_version, card->vgpu_branch);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void read_dri(const struct fl_fs *fs, int dir, struct fl_pci_card *card, int *error)
{
	int fd = open_there(fs, dir, "drm", O_RDONLY | O_DIRECTORY, error);
	char buf[FL_LIST_MIN];
	const char *name;
	int64_t n;

	if (fd < 0)
		return;
	while ((n = fs->list(fs, fd, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)n, &at, NULL))) {
			if ((strncmp(name, "card", 4) != 0 && strncmp(name, "renderD", 7) != 0) ||
			    strlen(name) >= sizeof card->dri[0] || card->dri_len == FL_LEN(card->dri) ||
			    strchr(name, '-'))   /* card0-DP-1 is a connector */
				continue;
			(void)snprintf(card->dri[card->dri_len++], sizeof card->dri[0], "%s", name);
		}
	}
	fs->close(fs, fd);
	qsort(card->dri, card->dri_len, sizeof card->dri[0], compare_names);
}

/* Of a card that is gone from its slot the kernel says 255, of one without a link 0. */
static uint16_t read_lanes(const struct fl_fs *fs, int dir, const char *name, int *error)
{
	char text[16], *end;
	long lanes;

	if (!read_text(fs, dir, name, text, sizeof text, error))
		return 0;
	lanes = strtol(text, &end, 10);
	return end != text && lanes > 0 && lanes <= 32 ? (uint16_t)lanes : 0;
}

/* All that sysfs says of one; false: it is no GPU of the vendor's, or gone; or *error is set, and nobody knows. */
static bool read_card(const struct fl_fs *fs, int bus, const char *name, struct fl_pci_card *card, int *error)
{
	int dir = open_there(fs, bus, name, O_RDONLY | O_DIRECTORY, error);
	bool is_gpu = false;
	char text[16], *end;

	memset(card, 0, sizeof *card);
	if (dir < 0)
		return false;
	if (fl_pci_address(fl_str(name), card->address) && read_hex4(fs, dir, "vendor", card->vendor, error) &&
	    strcmp(card->vendor, "10de") == 0 && read_hex4(fs, dir, "class", card->class, error))
		for (size_t i = 0; i < FL_LEN(classes); i++)
			is_gpu |= strcmp(card->class, classes[i]) == 0;
	if (is_gpu) {
		(void)read_hex4(fs, dir, "device", card->device, error);
		card->numa = -1;
		if (read_text(fs, dir, "numa_node", text, sizeof text, error)) {
			long numa = strtol(text, &end, 10);

			if (end != text && numa >= 0 && numa <= INT16_MAX)
				card->numa = (int32_t)numa;
		}
		card->width = read_lanes(fs, dir, "current_link_width", error);
		card->width_max = read_lanes(fs, dir, "max_link_width", error);
		read_bound(fs, dir, card);
		read_dri(fs, dir, card, error);
	}
	fs->close(fs, dir);
	return is_gpu;
}

static int compare_cards(const void *a, const void *b)
{
	return strcmp(((const struct fl_pci_card *)a)->address, ((const struct fl_pci_card *)b)->address);
}

/* The digest of all names; with `pci`, every card among them goes there. */
static int64_t walk(const struct fl_fs *fs, int bus, uint64_t *ret_names, struct fl_pci *pci)
{
	char buf[2048];
	const char *name;
	uint64_t names = 1;
	int error = 0;
	int64_t n;

	while ((n = fs->list(fs, bus, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)n, &at, NULL))) {
			struct fl_pci_card card;

			names += mix(0xcbf29ce484222325u, name, strlen(name));   /* in any order */
			if (!pci || !read_card(fs, bus, name, &card, &error))
				continue;
			read_path(fs, bus, name, &card);
			read_vgpu(fs, bus, name, &card, &error);
			if (pci->len < FL_GPU_CARDS_MAX)
				pci->at[pci->len++] = card;
			else
				pci->cut = true;
		}
	}
	*ret_names = names | 1;
	return error ? -error : n;
}

/* Those that are known, once more. false: one of them is not what it was. */
static bool again(const struct fl_fs *fs, int bus, struct fl_pci *pci)
{
	int error = 0;

	for (uint32_t i = 0; i < pci->len; i++) {
		const struct fl_pci_card was = pci->at[i];
		struct fl_pci_card *card = &pci->at[i];

		if (!read_card(fs, bus, was.address, card, &error) || error)
			return false;
		memcpy(card->path, was.path, sizeof card->path);   /* what has moved has another name */
		card->vgpu = was.vgpu;
		memcpy(card->vgpu_version, was.vgpu_version, sizeof card->vgpu_version);
		memcpy(card->vgpu_branch, was.vgpu_branch, sizeof card->vgpu_branch);
	}
	return true;
}

static int open_bus(const struct fl_fs *fs, const char *sysfs)
{
	char path[FL_GPU_PATH_MAX];

	if (snprintf(path, sizeof path, "%s/bus/pci/devices", sysfs) >= (int)sizeof path)
		return -ENAMETOOLONG;
	return fs->open(fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

void fl_pci_look(const struct fl_fs *fs, const char *sysfs, struct fl_pci *pci)
{
	int bus = open_bus(fs, sysfs);
	uint64_t names = 0;
	int64_t n;

	pci->error = 0;
	if (bus == -ENOENT) {   /* a machine without a bus: a container's view, some virtual ones */
		pci->len = 0;
		pci->names = 1;
		return;
	}
	n = bus < 0 ? bus : walk(fs, bus, &names, NULL);
	if (n == 0 && (names != pci->names || !again(fs, bus, pci))) {
		fs->close(fs, bus);
		bus = open_bus(fs, sysfs);
		pci->len = 0;
		pci->cut = false;
		n = bus < 0 ? bus : walk(fs, bus, &names, pci);
		qsort(pci->at, pci->len, sizeof *pci->at, compare_cards);
	}
	if (bus >= 0)
		fs->close(fs, bus);
	pci->error = n < 0 ? (int)-n : 0;
	pci->names = n < 0 ? 0 : names;
}
