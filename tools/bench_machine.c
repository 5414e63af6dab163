/* SPDX-License-Identifier: MIT */
/* Describes the machine, because figures mean nothing without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench_machine.h"

static void read_model(char *model, size_t size)
{
	char line[256];
	char *colon;
	FILE *file;

	snprintf(model, size, "unknown CPU");
	file = fopen("/proc/cpuinfo", "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(model, size, "%s", colon + 2);
		break;
	}
	fclose(file);
}

void bench_machine_read(struct bench_machine *machine)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname system;

	read_model(machine->model, sizeof(machine->model));
	(void)uname(&system);
	(void)snprintf(machine->kernel, sizeof(machine->kernel), "%s %s",
	    system.sysname, system.release);
	machine->cpus = cpus > 0 ? (unsigned int)cpus : 1;
	if (getloadavg(&machine->load, 1) != 1)
		machine->load = 0;
}
