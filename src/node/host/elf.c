#include "node/host/elf.h"
#include "base/bytes.h"
#include "base/mem.h"
#include <elf.h>
#include <errno.h>
#include <string.h>

/* More than any library has: a file that says more is none of ours. */
enum { SEGMENTS_MAX = 256, SECTIONS_MAX = 1024, DYNAMIC_MAX = 1024 };

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

static uint64_t get(const void *bytes, size_t at, unsigned len)
{
	return fl_bytes_get((const uint8_t *)bytes + at, len);
}

#define GET(bytes, type, member) get(bytes, offsetof(type, member), sizeof(((type *)0)->member))

static int pread_all(const struct fl_elf *elf, void *to, size_t len, uint64_t at)
{
	size_t got = 0;

	while (got < len) {
		int64_t n = elf->fs->pread(elf->fs, elf->fd, (char *)to + got, len - got, at + got);

		if (n <= 0)
			return n < 0 ? (int)n : -ENOEXEC;
		got += (size_t)n;
	}
	return 0;
}

/* All of it, or -ENOEXEC: the file says that there is something where it ends. Headers and what they lead to are a few
 * bytes each, side by side: read in blocks, a library takes three calls instead of forty. */
static int read_at(struct fl_elf *elf, void *to, size_t len, uint64_t at)
{
	struct fl_elf_block *block = &elf->blocks[at < sizeof block->bytes ? 0 : 1];
	uint64_t rest = elf->size - at;
	int r;

	if (at > elf->size || len > rest)
		return -ENOEXEC;
	if (len > sizeof block->bytes)
		return pread_all(elf, to, len, at);
	if (at < block->at || at - block->at > block->len || len > block->len - (at - block->at)) {
		block->at = block == elf->blocks && at + len <= sizeof block->bytes ? 0 : at;
		rest = elf->size - block->at;
		block->len = 0;
		r = pread_all(elf, block->bytes, rest < sizeof block->bytes ? rest : sizeof block->bytes, block->at);
		if (r < 0)
			return r;
		block->len = (uint32_t)(rest < sizeof block->bytes ? rest : sizeof block->bytes);
	}
	memcpy(to, block->bytes + (at - block->at), len);
	return 0;
}

int fl_elf_open(struct fl_elf *ret, const struct fl_fs *fs, int fd)
{
	static const unsigned char ident[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB };
	struct fl_stat stat = { 0 };
	int r = fs->stat(fs, fd, "", AT_EMPTY_PATH, &stat);

	_Static_assert(sizeof(Elf64_Ehdr) == sizeof ret->head, "the whole header is kept");
	if (r < 0)
		return r;
	*ret = (struct fl_elf){ .fs = fs, .fd = fd, .size = stat.size };
	if (!S_ISREG(stat.mode))
		return -ENOEXEC;
	r = read_at(ret, ret->head, sizeof ret->head, 0);
	if (r == 0 && (memcmp(ret->head, ident, sizeof ident) != 0 || GET(ret->head, Elf64_Ehdr, e_type) != ET_DYN ||
		       GET(ret->head, Elf64_Ehdr, e_machine) != MACHINE))
		r = -ENOEXEC;
	return r;
}

/* ---- segments ---- */

/* The segment of that number; -ENOENT: there are no more. */
static int segment(struct fl_elf *elf, unsigned at, uint8_t ret[sizeof(Elf64_Phdr)])
{
	uint64_t count = GET(elf->head, Elf64_Ehdr, e_phnum), begin = GET(elf->head, Elf64_Ehdr, e_phoff);

	if (GET(elf->head, Elf64_Ehdr, e_phentsize) != sizeof(Elf64_Phdr) || at >= count || at >= SEGMENTS_MAX ||
	    begin > elf->size)
		return -ENOENT;
	return read_at(elf, ret, sizeof(Elf64_Phdr), begin + (uint64_t)at * sizeof(Elf64_Phdr));
}

/* Where in the file what is at an address of the loaded library lies. */
static int file_offset(struct fl_elf *elf, uint64_t address, uint64_t *ret)
{
	uint8_t head[sizeof(Elf64_Phdr)];
	int r;

	for (unsigned i = 0; (r = segment(elf, i, head)) == 0; i++) {
		uint64_t from = GET(head, Elf64_Phdr, p_vaddr), len = GET(head, Elf64_Phdr, p_filesz);

		if (GET(head, Elf64_Phdr, p_type) != PT_LOAD || address < from || address - from >= len)
			continue;
		*ret = GET(head, Elf64_Phdr, p_offset) + (address - from);
		return 0;
	}
	return r == -ENOENT ? -ENOEXEC : r;
}

struct dynamic {
	uint64_t text, text_len, soname;       /* an address, bytes, an offset into it */
	bool has_text, has_soname;
};

static int read_dynamic(struct fl_elf *elf, uint64_t at, uint64_t len, struct dynamic *ret)
{
	uint64_t count = len / sizeof(Elf64_Dyn);

	for (uint64_t i = 0; i < count && i < DYNAMIC_MAX; i++) {
		uint8_t one[sizeof(Elf64_Dyn)];
		int r = read_at(elf, one, sizeof one, at + i * sizeof one);
		uint64_t value;

		if (r < 0)
			return r;
		value = GET(one, Elf64_Dyn, d_un);
		switch (GET(one, Elf64_Dyn, d_tag)) {
		case DT_NULL:
			return 0;
		case DT_STRTAB:
			ret->text = value;
			ret->has_text = true;
			break;
		case DT_STRSZ:
			ret->text_len = value;
			break;
		case DT_SONAME:
			ret->soname = value;
			ret->has_soname = true;
			break;
		default:
			break;
		}
	}
	return 0;
}

static int find_dynamic(struct fl_elf *elf, struct dynamic *ret)
{
	uint8_t head[sizeof(Elf64_Phdr)];
	int r;

	for (unsigned i = 0; (r = segment(elf, i, head)) == 0; i++)
		if (GET(head, Elf64_Phdr, p_type) == PT_DYNAMIC)
			return read_dynamic(elf, GET(head, Elf64_Phdr, p_offset), GET(head, Elf64_Phdr, p_filesz), ret);
	return r == -ENOENT ? 0 : r;
}

static bool is_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int fl_elf_soname(struct fl_elf *elf, char ret[FL_ELF_SONAME_MAX])
{
	struct dynamic dynamic = { 0 };
	uint64_t at = 0, len;
	int r = find_dynamic(elf, &dynamic);

	if (r == 0 && (!dynamic.has_text || !dynamic.has_soname || dynamic.soname >= dynamic.text_len))
		return 0;
	if (r == 0)
		r = file_offset(elf, dynamic.text, &at);
	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	if (at > elf->size || dynamic.soname > elf->size - at)
		return 0;
	at += dynamic.soname;
	len = dynamic.text_len - dynamic.soname;
	if (len > elf->size - at)
		len = elf->size - at;
	if (len > FL_ELF_SONAME_MAX)
		len = FL_ELF_SONAME_MAX;
	r = read_at(elf, ret, (size_t)len, at);
	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	if (!memchr(ret, '\0', (size_t)len) || !is_name(ret))
		return 0;
	return (int)strlen(ret);
}

/* ---- sections ---- */

static int section(struct fl_elf *elf, uint64_t at, uint8_t ret[sizeof(Elf64_Shdr)])
{
	uint64_t count = GET(elf->head, Elf64_Ehdr, e_shnum), begin = GET(elf->head, Elf64_Ehdr, e_shoff);

	if (GET(elf->head, Elf64_Ehdr, e_shentsize) != sizeof(Elf64_Shdr) || at >= count || at >= SECTIONS_MAX ||
	    begin > elf->size)
		return -ENOENT;
	return read_at(elf, ret, sizeof(Elf64_Shdr), begin + at * sizeof(Elf64_Shdr));
}

/* 1: that is its name; 0: it is another, or lies outside; or a negated errno. */
static int is_named(struct fl_elf *elf, const uint8_t *names, const uint8_t *head, const char *name)
{
	uint64_t at = GET(head, Elf64_Shdr, sh_name), begin = GET(names, Elf64_Shdr, sh_offset);
	size_t len = strlen(name) + 1;
	char text[128];
	int r;

	if (len > sizeof text || begin > elf->size || at > elf->size - begin)
		return 0;
	r = read_at(elf, text, len, begin + at);
	if (r < 0)
		return r == -ENOEXEC ? 0 : r;
	return memcmp(text, name, len) == 0;
}

/* A note: lengths of its owner's name and of what it says, a type, then both, each filled up to a multiple of 4. */
static int take_note(const uint8_t *bytes, size_t len, const char *owner, char ret[FL_ELF_NOTE_MAX])
{
	uint64_t name_len, text_len, begin;

	if (len < sizeof(Elf64_Nhdr))
		return 0;
	name_len = GET(bytes, Elf64_Nhdr, n_namesz);
	text_len = GET(bytes, Elf64_Nhdr, n_descsz);
	begin = sizeof(Elf64_Nhdr) + (name_len + 3) / 4 * 4;
	if (begin > len || text_len > len - begin || name_len < strlen(owner) ||
	    memcmp(bytes + sizeof(Elf64_Nhdr), owner, strlen(owner)) != 0 ||
	    (name_len > strlen(owner) && bytes[sizeof(Elf64_Nhdr) + strlen(owner)]))
		return 0;
	memcpy(ret, bytes + begin, (size_t)text_len);
	return (int)text_len;
}

int fl_elf_section(struct fl_elf *elf, const char *name, uint64_t *ret_at, uint64_t *ret_len)
{
	uint8_t names[sizeof(Elf64_Shdr)], head[sizeof(Elf64_Shdr)];
	int r = section(elf, GET(elf->head, Elf64_Ehdr, e_shstrndx), names);

	for (uint64_t i = 0; r == 0; i++) {
		r = section(elf, i, head);
		if (r == 0)
			r = is_named(elf, names, head, name);
		if (r != 1)
			continue;
		*ret_at = GET(head, Elf64_Shdr, sh_offset);
		*ret_len = GET(head, Elf64_Shdr, sh_size);
		return *ret_at <= elf->size && *ret_len <= elf->size - *ret_at ? 0 : -ENOEXEC;
	}
	return r;
}

int fl_elf_note(struct fl_elf *elf, const char *name, const char *owner, char ret[FL_ELF_NOTE_MAX])
{
	uint8_t names[sizeof(Elf64_Shdr)], head[sizeof(Elf64_Shdr)], note[FL_ELF_NOTE_MAX];
	int r = section(elf, GET(elf->head, Elf64_Ehdr, e_shstrndx), names);

	for (uint64_t i = 0; r == 0; i++) {
		uint64_t len;

		r = section(elf, i, head);
		if (r == 0 && GET(head, Elf64_Shdr, sh_type) != SHT_NOTE)
			continue;
		if (r == 0)
			r = is_named(elf, names, head, name);
		if (r <= 0)
			continue;   /* an error ends the loop */
		len = GET(head, Elf64_Shdr, sh_size);
		if (len > sizeof note)
			return 0;
		r = read_at(elf, note, (size_t)len, GET(head, Elf64_Shdr, sh_offset));
		return r == 0 ? take_note(note, (size_t)len, owner, ret) : r == -ENOEXEC ? 0 : r;
	}
	return r == -ENOENT || r == -ENOEXEC ? 0 : r;
}
