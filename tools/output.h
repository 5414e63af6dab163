/* SPDX-License-Identifier: MIT */
/* Standard output, which has a verb's answer.  See output.c. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

/* Flushes what was printed.  Returns status, or EX_SYSTEM after a message where
 * it could not be written. */
int output_flush(int status);

#endif
