/* pci.h - the vendor's GPUs on the bus, from sysfs, without a driver.
 *
 * Straight-line code over struct fl_fs, for a job: sysfs answers from memory, but a GPU that is being pulled out may
 * block a reader. Nothing is allocated.
 */
#pragma once
#include "api/node.h"
#include "base/str.h"
#include "io/fs.h"

#define FL_PCI_PATH_MAX 256          /* of a GPU on the bus, each bridge 13 bytes: three switches in a row are 9 */

#define FL_PCI_VGPU_TEXT 11          /* ten bytes in the configuration space, and the NUL */

#define FL_PCI_ADDRESS 13                    /* "0000:07:00.0" and the NUL */

struct fl_pci_card {
	char address[FL_PCI_ADDRESS];
	char vendor[5], device[5], class[5];     /* "10de", "2330", "0302" */
	char bound[24];                          /* the kernel's driver; "": none */
	int32_t numa;                            /* -1: none */
	/* The bridges above it and itself, from the root of the bus on:
	 * "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0"; "": not told, or deeper than any that
	 * is. */
	char path[FL_PCI_PATH_MAX];
	uint16_t width, width_max;               /* lanes of its PCIe link; 0: not told */
	bool vgpu;
	char vgpu_version[FL_PCI_VGPU_TEXT], vgpu_branch[FL_PCI_VGPU_TEXT];   /* the hypervisor's; "": not told */
	uint32_t dri_len;
	char dri[4][16];                         /* "card1", "renderD128", sorted */
};

struct fl_pci {
	uint64_t names;                          /* a digest of all names on the bus; 0: not looked at yet */
	uint32_t len;
	bool cut;                                /* there are more than FL_GPU_CARDS_MAX */
	int error;                               /* errno: scan of the bus failed; what was known stays */
	struct fl_pci_card at[FL_GPU_CARDS_MAX]; /* sorted by address */
};

/* Look, given what the last look found (zeroed: nothing). When the names on the bus are still the same, only the cards
 * among them are read again. */
void fl_pci_look(const struct fl_fs *fs, const char *sysfs, struct fl_pci *pci);

/* A digest of all that was found. */
uint64_t fl_pci_digest(const struct fl_pci *pci);

/* Is it a vGPU, by `len` bytes of its configuration space? The texts are the version and branch of the hypervisor's
 * driver, empty where they are not told. */
bool fl_pci_vgpu(const uint8_t *config, size_t len, char ret_version[FL_PCI_VGPU_TEXT],
		 char ret_branch[FL_PCI_VGPU_TEXT]);

/* "00000000:07:00.0" or "0000:07:00.0", in any case, to the latter in lower case; false: it is neither. */
bool fl_pci_address(struct fl_str text, char ret[FL_PCI_ADDRESS]);
