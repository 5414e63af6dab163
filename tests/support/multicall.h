/* SPDX-License-Identifier: MIT */
/*
 * main() of many tests in one program: each is called by the program's name
 * (a link to it), or by its first argument:
 *
 *	build/asan/tests/behaviour/fifo-order
 *	build/asan/tests/behaviour/all-in-one fifo-order
 *
 * The Makefile writes the file that includes this one: TESTS(X) there lists
 * the tests as main_of_NAME, with '_' for each '-'.
 */
#include <stdio.h>
#include <string.h>

#define DECLARE(fn) int fn(void);
TESTS(DECLARE)

static const struct {
	const char *name;
	int (*main)(void);
} tests[] = {
#define NAME(fn) { &#fn[sizeof("main_of_") - 1], fn },
	TESTS(NAME)
};

/* The test that is called so; its number, or -1. */
static int
find_test(const char *path)
{
	const char *base = strrchr(path, '/');
	char name[128];

	snprintf(name, sizeof(name), "%s", base != NULL ? base + 1 : path);
	for (char *p = name; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcmp(tests[i].name, name) == 0)
			return (int)i;
	return -1;
}

int
main(int argc, char **argv)
{
	int i = find_test(argv[0]);

	if (i < 0 && argc > 1)
		i = find_test(argv[1]);
	if (i < 0) {
		fprintf(stderr, "%s: no test is called so\n",
		    argc > 1 ? argv[1] : argv[0]);
		return 64;
	}
	return tests[i].main();
}
