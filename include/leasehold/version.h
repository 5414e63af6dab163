/* SPDX-License-Identifier: MIT */
/*
 * The version: of these headers (LEASEHOLD_VERSION...), and of the library that
 * runs (lh_version()).  A program that was compiled with one version may run
 * with a later one of the same soname.
 *
 *	#if LEASEHOLD_VERSION_NUMBER >= LEASEHOLD_VERSION_AT(0, 2, 0)
 *
 * This file is the only place that says which version it is.
 */
#ifndef LEASEHOLD_VERSION_H
#define LEASEHOLD_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define LEASEHOLD_VERSION_MAJOR 0
#define LEASEHOLD_VERSION_MINOR 2
#define LEASEHOLD_VERSION_PATCH 0

/* As a string: "0.2.0". */
#define LEASEHOLD_VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define LEASEHOLD_VERSION_TEXT(a, b, c) LEASEHOLD_VERSION_TEXT_(a, b, c)
#define LEASEHOLD_VERSION LEASEHOLD_VERSION_TEXT(LEASEHOLD_VERSION_MAJOR, \
	LEASEHOLD_VERSION_MINOR, LEASEHOLD_VERSION_PATCH)

/* As a number that rises with the version. */
#define LEASEHOLD_VERSION_AT(major, minor, patch) \
	((major) * 1000000 + (minor) * 1000 + (patch))
#define LEASEHOLD_VERSION_NUMBER LEASEHOLD_VERSION_AT( \
	LEASEHOLD_VERSION_MAJOR, LEASEHOLD_VERSION_MINOR, \
	LEASEHOLD_VERSION_PATCH)

/* Returns the version of the library that runs, as LEASEHOLD_VERSION; *number,
 * if it is not NULL, as LEASEHOLD_VERSION_NUMBER. */
const char *lh_version(int *number);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
