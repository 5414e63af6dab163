/* SPDX-License-Identifier: MIT */
/*
 * Addresses in words: which function of this program, static ones included, is
 * an address in?
 *
 * dladdr() knows exported symbols only, and would name a static function after
 * its exported neighbour; so the program's own ELF symbol table is read, which
 * is there unless somebody stripped it.  Addresses elsewhere (libc, the vDSO)
 * are dladdr()'s.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "crash/symbol.h"

static const char *image;	/* the program's file */
static size_t image_len;
static uint64_t load_base, load_end;

static int
first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	load_base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t end = load_base + info->dlpi_phdr[i].p_vaddr +
		    info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && end > load_end)
			load_end = end;
	}
	return 1;	/* the program itself comes first */
}

static void
load(void)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *m = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0)
		m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
		    0);
	if (fd >= 0)
		close(fd);
	if (m == MAP_FAILED)
		return;
	image = m;
	image_len = (size_t)st.st_size;
	dl_iterate_phdr(first_object, NULL);
}

/* The section header that fits into the file, or NULL. */
static const Elf64_Shdr *
section(const Elf64_Ehdr *eh, unsigned i)
{
	const Elf64_Shdr *sh;

	if (i >= eh->e_shnum ||
	    eh->e_shoff + (i + 1) * sizeof(*sh) > image_len)
		return NULL;
	sh = (const Elf64_Shdr *)(const void *)(image + eh->e_shoff) + i;
	return sh->sh_offset + sh->sh_size <= image_len ? sh : NULL;
}

static const char *
own_symbol(uint64_t value, uint64_t *off)
{
	const Elf64_Ehdr *eh = (const void *)image;

	for (unsigned i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *sh = section(eh, i), *names;
		const Elf64_Sym *sym;

		if (sh == NULL || sh->sh_type != SHT_SYMTAB)
			continue;
		names = section(eh, sh->sh_link);
		if (names == NULL)
			continue;
		sym = (const void *)(image + sh->sh_offset);
		for (size_t k = 0; k < sh->sh_size / sizeof(*sym); k++) {
			if (ELF64_ST_TYPE(sym[k].st_info) != STT_FUNC ||
			    value < sym[k].st_value ||
			    value >= sym[k].st_value + sym[k].st_size ||
			    sym[k].st_name >= names->sh_size)
				continue;
			*off = value - sym[k].st_value;
			return image + names->sh_offset + sym[k].st_name;
		}
	}
	return NULL;
}

void
symbol_name(uint64_t address, char *buf, size_t size)
{
	const char *name, *file;
	uint64_t off;
	Dl_info info;

	if (image == NULL)
		load();
	if (image != NULL && address >= load_base && address < load_end) {
		name = own_symbol(address - load_base, &off);
		if (name != NULL) {
			snprintf(buf, size, "%s+0x%llx", name,
			    (unsigned long long)off);
			return;
		}
	}
	if (dladdr((void *)(uintptr_t)address, &info) != 0 &&
	    info.dli_fname != NULL) {
		file = strrchr(info.dli_fname, '/');
		file = file != NULL ? file + 1 : info.dli_fname;
		name = info.dli_sname != NULL ? info.dli_sname : "?";
		off = address - (uint64_t)(uintptr_t)(info.dli_saddr != NULL ?
		    info.dli_saddr : info.dli_fbase);
		snprintf(buf, size, "%s:%s+0x%llx", file, name,
		    (unsigned long long)off);
		return;
	}
	snprintf(buf, size, "0x%llx", (unsigned long long)address);
}
