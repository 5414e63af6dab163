/* SPDX-License-Identifier: MIT */
/* The main() of glibc's tests. */
#include <support/check.h>

#ifndef TIMEOUT
#define TIMEOUT 20
#endif
#ifndef TEST_FUNCTION
#define TEST_FUNCTION do_test()
#endif

int
main(int argc, char *argv[])
{
	int result;

	(void)argc;
	(void)argv;
	(void)alarm(3 * TIMEOUT);
	result = TEST_FUNCTION;
	return result != 0 ? result : peer_failures != 0;
}
