/* SPDX-License-Identifier: MIT */
/* Standard output, for a verb's answer. See output.c. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

/* Flushes standard output.  Returns status, or EX_SYSTEM after a message if it
 * could not be written. */
int output_flush(int status);

#endif
