/* elf_file.h - a shared object that is nothing but its header and its soname, for trees of files that are looked at and
 * never loaded; and the linker's cache over such. */
#pragma once
#include "base/bytes.h"
#include <elf.h>
#include <stdio.h>
#include <string.h>

#define FAKE_ELF_MAX 512
#if defined(__aarch64__)
#define FAKE_ELF_MACHINE EM_AARCH64
#define FAKE_LD_FLAGS 0xa03
#else
#define FAKE_ELF_MACHINE EM_X86_64
#define FAKE_LD_FLAGS 0x303
#endif

/* How many bytes; a soname of "" is none. `bits`: 64, or 32 for one of another class. */
static inline size_t fake_elf(uint8_t to[FAKE_ELF_MAX], const char *soname, int bits)
{
	enum { HEADS = sizeof(Elf64_Ehdr), DYNAMIC = HEADS + 2 * sizeof(Elf64_Phdr),
	       TEXT = DYNAMIC + 4 * sizeof(Elf64_Dyn) };
	size_t text = strlen(soname) + 2, size = TEXT + text;
	Elf64_Ehdr head = { .e_type = ET_DYN, .e_machine = FAKE_ELF_MACHINE, .e_version = EV_CURRENT,
			    .e_phoff = HEADS, .e_ehsize = sizeof head, .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 };
	Elf64_Phdr parts[2] = { { .p_type = PT_LOAD, .p_filesz = size, .p_memsz = size },
				{ .p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_vaddr = DYNAMIC,
				  .p_filesz = 4 * sizeof(Elf64_Dyn) } };
	Elf64_Dyn dynamic[4] = { { .d_tag = DT_STRTAB, .d_un.d_ptr = TEXT },
				 { .d_tag = DT_STRSZ, .d_un.d_val = text },
				 { .d_tag = soname[0] ? DT_SONAME : DT_NULL, .d_un.d_val = 1 } };

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = bits == 64 ? ELFCLASS64 : ELFCLASS32;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	if (size > FAKE_ELF_MAX)
		return 0;
	memcpy(to, &head, sizeof head);
	memcpy(to + HEADS, parts, sizeof parts);
	memcpy(to + DYNAMIC, dynamic, sizeof dynamic);
	to[TEXT] = 0;
	memcpy(to + TEXT + 1, soname, strlen(soname) + 1);
	return size;
}

/* One with a section of that name and text, and with nothing else. */
static inline size_t fake_section_elf(uint8_t to[FAKE_ELF_MAX], const char *name, const char *text)
{
	enum { HEADS = sizeof(Elf64_Ehdr), NAMES = HEADS + 2 * sizeof(Elf64_Shdr) };
	size_t names = strlen(name) + 2, len = strlen(text), size = NAMES + names + len;
	Elf64_Ehdr head = { .e_type = ET_DYN, .e_machine = FAKE_ELF_MACHINE, .e_version = EV_CURRENT,
			    .e_shoff = HEADS, .e_ehsize = sizeof head, .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 2 };
	Elf64_Shdr parts[2] = { { .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = names },
				{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = NAMES + names, .sh_size = len } };

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	if (size > FAKE_ELF_MAX)
		return 0;
	memcpy(to, &head, sizeof head);
	memcpy(to + HEADS, parts, sizeof parts);
	to[NAMES] = 0;
	memcpy(to + NAMES + 1, name, strlen(name) + 1);
	memcpy(to + NAMES + names, text, len);
	return size;
}

/* The cache of one library: key, where it is, its flags. */
static inline size_t fake_ld_cache(uint8_t to[FAKE_ELF_MAX], const char *key, const char *value, uint32_t flags)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	size_t text = strlen(key) + strlen(value) + 2, at = 48 + 24;

	if (at + text > FAKE_ELF_MAX)
		return 0;
	memset(to, 0, at);
	memcpy(to, magic, sizeof magic - 1);
	fl_bytes_put(to + 20, 1, 4);
	fl_bytes_put(to + 24, text, 4);
	to[28] = 2;
	fl_bytes_put(to + 48, flags, 4);
	fl_bytes_put(to + 52, at, 4);
	fl_bytes_put(to + 56, at + strlen(key) + 1, 4);
	memcpy(to + at, key, strlen(key) + 1);
	memcpy(to + at + strlen(key) + 1, value, strlen(value) + 1);
	return at + text;
}

/* "libcuda.so.550.54.15" -> "libcuda.so.1": what a driver's library usually has. */
static inline void fake_soname(const char *name, char ret[64])
{
	const char *so = strstr(name, ".so");

	(void)snprintf(ret, 64, "%.*s.so.1", (int)(so ? so - name : 0), name);
}
