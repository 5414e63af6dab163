/* SPDX-License-Identifier: MIT */
#include <support/test-driver.c>
