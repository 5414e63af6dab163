/* SPDX-License-Identifier: MIT */
/*
 * Writes the byte maps of doc/format.md: reads the page from standard input,
 * and writes it with a table of the fields of STRUCTURE between the lines
 *
 *	<!-- STRUCTURE: ... -->
 *	<!-- end -->
 *
 * Exit status 0; 1 with a message: a structure has no such place, or a place
 * no structure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shm/layout.h"

static void
put_field(unsigned offset, unsigned size, unsigned n, const char *name,
    const char *guard, const char *meaning)
{
	printf("| %u | %u", offset, size);
	if (n > 0)
		printf(" x %u", n);
	printf(" | %s |", name);
	if (strcmp(guard, "-") != 0)
		printf(" %s", guard);
	printf(" |");
	if (meaning[0] != '\0')
		printf(" %s", meaning);
	printf(" |\n");
}

#define STRUCT(s, size) static void put_##s(void) {
#define FIELD(offset, type, name, guard, meaning) \
	put_field(offset, sizeof(type), 0, #name, guard, meaning);
#define ARRAY(offset, type, name, n, guard, meaning) \
	put_field(offset, sizeof(type), n, #name, guard, meaning);
#define END(s) }
#include "shm/layout.def"
#define STRUCT(s, size) static void put_##s(void) {
#define FIELD(offset, type, name, guard, meaning) \
	put_field(offset, sizeof(type), 0, #name, guard, meaning);
#define ARRAY(offset, type, name, n, guard, meaning) \
	put_field(offset, sizeof(type), n, #name, guard, meaning);
#define END(s) }
#include "fence/range_file.def"

static struct {
	const char *name;
	void (*put)(void);
	int places;
} structs[] = {
#define STRUCT(s, size) { #s, put_##s, 0 },
#define FIELD(offset, type, name, guard, meaning)
#define ARRAY(offset, type, name, n, guard, meaning)
#define END(s)
#include "shm/layout.def"
#define STRUCT(s, size) { #s, put_##s, 0 },
#define FIELD(offset, type, name, guard, meaning)
#define ARRAY(offset, type, name, n, guard, meaning)
#define END(s)
#include "fence/range_file.def"
};

#define N_STRUCTS (sizeof(structs) / sizeof(structs[0]))

static void
put_table(const char *name, size_t len)
{
	for (size_t i = 0; i < N_STRUCTS; i++)
		if (strlen(structs[i].name) == len &&
		    memcmp(structs[i].name, name, len) == 0) {
			puts("\n| offset | size | field | who | |\n"
			    "|---|---|---|---|---|");
			structs[i].put();
			putchar('\n');
			structs[i].places++;
			return;
		}
	fprintf(stderr, "byte_map: there is no structure '%.*s'\n", (int)len,
	    name);
	exit(1);
}

int
main(void)
{
	static const char begin[] = "<!-- ";
	int bad = 0, inside = 0;
	char line[4096];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		const char *name = line + strlen(begin);

		if (strcmp(line, "<!-- end -->\n") == 0)
			inside = 0;
		else if (inside)
			continue;
		fputs(line, stdout);
		if (strncmp(line, begin, strlen(begin)) == 0 &&
		    strchr(line, ':') != NULL) {
			put_table(name, strcspn(name, ":"));
			inside = 1;
		}
	}
	for (size_t i = 0; i < N_STRUCTS; i++)
		if (structs[i].places != 1) {
			fprintf(stderr, "byte_map: %s has %d places\n",
			    structs[i].name, structs[i].places);
			bad = 1;
		}
	return bad;
}
