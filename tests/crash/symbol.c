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
#include <stdbool.h>
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

/* Calls fn for each function of the program until that returns false. */
static void
each_function(bool (*fn)(const Elf64_Sym *sym, const char *name, void *arg),
    void *arg)
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
			    sym[k].st_name >= names->sh_size)
				continue;
			if (!fn(&sym[k], image + names->sh_offset +
			    sym[k].st_name, arg))
				return;
		}
	}
}

struct named_place {
	uint64_t value, off;
	const char *name;
};

static bool
is_around(const Elf64_Sym *sym, const char *name, void *arg)
{
	struct named_place *p = arg;

	if (p->value < sym->st_value || p->value >= sym->st_value +
	    sym->st_size)
		return true;
	p->off = p->value - sym->st_value;
	p->name = name;
	return false;
}

struct prefix_search {
	const char *begin;
	struct span *span;
	size_t n, found;
};

static bool
collect_prefixed(const Elf64_Sym *sym, const char *name, void *arg)
{
	struct prefix_search *s = arg;

	if (strncmp(name, s->begin, strlen(s->begin)) != 0 ||
	    s->found == s->n)
		return true;
	s->span[s->found++] = (struct span){ load_base + sym->st_value,
	    load_base + sym->st_value + sym->st_size };
	return true;
}

size_t
symbol_find(const char *begin, struct span *span, size_t n)
{
	struct prefix_search s = { begin, span, n, 0 };

	if (image == NULL)
		load();
	if (image != NULL)
		each_function(collect_prefixed, &s);
	return s.found;
}

void
symbol_name(uint64_t address, char *buf, size_t size)
{
	struct named_place own = { 0 };
	const char *name, *file;
	uint64_t off;
	Dl_info info;

	if (image == NULL)
		load();
	if (image != NULL && address >= load_base && address < load_end) {
		own.value = address - load_base;
		each_function(is_around, &own);
		if (own.name != NULL) {
			snprintf(buf, size, "%s+0x%llx", own.name,
			    (unsigned long long)own.off);
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
