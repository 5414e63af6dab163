/* SPDX-License-Identifier: MIT */
/* The daemon's metrics: see reaper_metrics.c. */
#ifndef REAPER_METRICS_H
#define REAPER_METRICS_H

#include <stdio.h>

/* Writes the metrics of all tables and of the daemon into f. */
void reaper_metrics_write(FILE *f);

#endif
