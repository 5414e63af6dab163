/* SPDX-License-Identifier: MIT */
/* The keys of the configuration: see setting.c. */
#ifndef REAPER_SETTING_H
#define REAPER_SETTING_H

#include "conf.h"

/* The i-th key's name, in an order in which they may be set; NULL: no more. */
const char *setting_name(unsigned i);

/* May it be given several times, adding up? */
bool setting_adds(unsigned i);

/* 0; or not, and then setting_complaint() says what is wrong with the value of
 * what it calls `key`. */
int setting_set(struct conf *c, unsigned i, const char *key, const char *value);
int setting_add_table(struct conf *c, const char *key, const char *name);
int setting_unknown(const char *name);

/* The first complaint since the beginning. */
void setting_begin(void);
const char *setting_complaint(void);

#endif
