/* SPDX-License-Identifier: Apache-2.0 */
/* Machines and ranks of processes; see reducer/model/rank.h. */
#include "reducer/model/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *process_host(const struct process *process)
{
	for (size_t i = 0; i < process->host_count; i++)
		if (strcmp(process->hosts[i].name, "hostname") == 0)
			return process->hosts[i].value;
	return "";
}

int process_rank(const struct process *process, uint64_t *rank)
{
	/* The one nearest to the framework first: torchrun under srun sets RANK for each of several processes of a task. */
	static const char *const variables[] = {"RANK",	    "OMPI_COMM_WORLD_RANK", "PMI_RANK",
						"HOROVOD_RANK", "JAX_PROCESS_ID",	    "SLURM_PROCID"};

	for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]); v++)
		for (size_t i = 0; i < process->environment_count; i++) {
			const struct pair *pair = &process->environment[i];
			char *end;
			if (strcmp(pair->name, variables[v]) != 0 || pair->value[0] < '0' || pair->value[0] > '9')
				continue;
			errno = 0;
			*rank = strtoull(pair->value, &end, 10);
			if (!*end && !errno && *rank <= INT64_MAX)
				return 0;
		}
	return -1;
}

size_t run_hosts(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		const char *host = process_host(&run->processes[i]);
		size_t k = 0;
		while (k < i && strcmp(process_host(&run->processes[k]), host) != 0)
			k++;
		count += k == i && host[0];
	}
	return count;
}

size_t run_clocks(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		size_t k = 0;
		while (k < i && run->processes[k].clock != run->processes[i].clock)
			k++;
		count += k == i;
	}
	return count;
}
