/* elf.h - what a 64-bit ELF shared object of this machine says of itself: its soname, a note.
 *
 * The file is not ours to trust: each read has a ceiling, and what does not fit the file is not there. Nothing of it is
 * loaded or run. Reads go through fl_fs at offsets, so the fd's position does not matter; the fd stays the caller's.
 */
#pragma once
#include "io/fs.h"

struct fl_elf {
	const struct fl_fs *fs;
	int fd;
	uint64_t size;
	uint8_t head[64];

	/* Blocks that were read: the file's begin, where headers are, and the last one elsewhere. */
	struct fl_elf_block {
		uint64_t at;
		uint32_t len;
		uint8_t bytes[1024];
	} blocks[2];
};

#define FL_ELF_SONAME_MAX 256        /* room for a soname and its end: a name in a directory */
#define FL_ELF_NOTE_MAX 4096         /* of a note: NVIDIA's is a line of JSON */

/* 0; -ENOEXEC: it is not such a file, a program or a library of another machine among them; or a negated errno. */
int fl_elf_open(struct fl_elf *ret, const struct fl_fs *fs, int fd);
/* Bytes of its soname, which is terminated; 0: it has none, or none that is a name; or a negated errno. */
int fl_elf_soname(struct fl_elf *elf, char ret[FL_ELF_SONAME_MAX]);
/* Where a section of this name lies in the file; -ENOENT: there is none; or a negated errno. */
int fl_elf_section(struct fl_elf *elf, const char *name, uint64_t *ret_at, uint64_t *ret_len);
/* Bytes of the first note in the section of this name whose owner has the other name; 0: there is none; or a negated
 * errno. */
int fl_elf_note(struct fl_elf *elf, const char *section, const char *owner, char ret[FL_ELF_NOTE_MAX]);
