/* SPDX-License-Identifier: MIT */
/*
 * Shared by the fuzzers.
 *
 * A fuzzer is one file, NAME.c (and what it needs beside it, NAME-*.c), that
 * defines LLVMFuzzerTestOneInput() and fuzz_name, and a corpus of small inputs
 * in corpus/NAME/.  It is linked twice:
 *
 *	build/asan/		by gcc, with main.c: the corpus and a fixed
 *				number of mutations of it, in `make check`
 *	build/libfuzzer/	by clang, with libFuzzer, for as long as one
 *				likes: `make fuzz`
 *
 * An input is a script, not the bytes that it leads to: a table's image has
 * some hundred kilobytes, and what was done to it fits into a hundred bytes.
 * Inputs must do the same each time they are given, but for what the clock and
 * the processes beside it do.
 *
 * Steps.  Both builds have LHI_HOOKS: fuzz_steps() counts each touch of shared
 * memory, and a call that needs more of them than it may is a finding, as a
 * crash is.  So "it comes to an end" is decided by counting and not by a clock.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern const char fuzz_name[];

/* libFuzzer's; main.c calls both likewise. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From here on that many steps may be made: `what` is in hand. */
void fuzz_steps(const char *what, uint64_t most);

/* A finding that no sanitizer makes: say it, and abort. */
void fuzz_finding(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* The rest of an input; past its end there are zeroes. */
struct fuzz_input {
	const uint8_t *p;
	size_t left;
};

uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes);

#endif
