/* SPDX-License-Identifier: Apache-2.0 */
/* Machines and ranks of processes; see reducer/model/rank.h. */
#include "reducer/model/rank.h"

#include "reducer/base/base.h"
#include "reducer/model/internal.h"
#include "reducer/model/tf_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *host_fact(const struct process *process, const char *name)
{
	for (size_t i = 0; i < process->host_count; i++)
		if (strcmp(process->hosts[i].name, name) == 0)
			return process->hosts[i].value;
	return "";
}

const char *process_host(const struct process *process)
{
	return host_fact(process, "hostname");
}

bool process_shares_machine(const struct process *one, const struct process *other)
{
	static const uint8_t not_told[sizeof(one->log->header.boot_id)];
	const uint8_t *boot;

	if (one == other)
		return true;
	boot = one->log->header.boot_id;
	return memcmp(boot, other->log->header.boot_id, sizeof(not_told)) == 0 &&
	       (memcmp(boot, not_told, sizeof(not_told)) != 0 || strcmp(process_host(one), process_host(other)) == 0);
}

uint64_t process_cpus(const struct process *process)
{
	return strtoull(host_fact(process, "cpus"), NULL, 10);
}

const struct rank_variables rank_variables[RANK_VARIABLES] = {
	{"RANK", "WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT"}},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE"}},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"PMI_RANK", "PMI_SIZE", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"HOROVOD_RANK", "HOROVOD_SIZE", {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"}},
	{"TF_CONFIG", "TF_CONFIG", {"TF_CONFIG"}, .is_tf_config = true},
	{"JAX_PROCESS_ID", "JAX_NUM_PROCESSES", {"JAX_COORDINATOR_ADDRESS"}},
	{"SLURM_PROCID", "SLURM_NTASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

static int read_digits(const char *value, uint64_t *number)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return -1;
	errno = 0;
	*number = strtoull(value, &end, 10);
	return !*end && !errno && *number <= INT64_MAX ? 0 : -1;
}

int rank_read(const struct rank_variables *variables, enum rank_variable which, const char *value, uint64_t *number)
{
	struct tf_config config;

	if (!variables->is_tf_config)
		return read_digits(value, number);
	if (tf_config_read(&config, value) != 0)
		return -1;
	*number = which == RANK_OF ? config.rank : config.ranks;
	tf_config_free(&config);
	return 0;
}

/* What one of these variables says. Returns -1 where it is not set, or to no number. */
static int read_number(const struct process *process, size_t v, enum rank_variable which, uint64_t *number)
{
	const struct rank_variables *variables = &rank_variables[v];
	const char *name = which == RANK_OF ? variables->rank : variables->ranks;

	for (size_t i = 0; i < process->environment_count; i++)
		if (strcmp(process->environment[i].name, name) == 0 &&
		    rank_read(variables, which, process->environment[i].value, number) == 0)
			return 0;
	return -1;
}

int process_rank(const struct process *process, uint64_t *rank)
{
	for (size_t v = 0; v < RANK_VARIABLES; v++)
		if (read_number(process, v, RANK_OF, rank) == 0)
			return 0;
	return -1;
}

const char *run_ranks(const struct run *run, uint64_t *ranks, bool is_there[RANKS_MOST])
{
	for (size_t v = 0; v < RANK_VARIABLES; v++) {
		uint64_t count = 0, told, rank;

		memset(is_there, 0, RANKS_MOST * sizeof(*is_there));
		for (size_t i = 0; i < run->process_count && rank_variables[v].ranks; i++) {
			const struct process *process = &run->processes[i];
			if (read_number(process, v, RANK_OF, &rank) != 0 ||
			    read_number(process, v, RANK_COUNT, &told) != 0)
				continue;
			if (told > RANKS_MOST || rank >= told || (count && told != count))
				return NULL; /* more than one job, or no numbers of ranks */
			count = told;
			is_there[rank] = true;
		}
		*ranks = count;
		if (count)
			return rank_variables[v].ranks;
	}
	return NULL;
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

const char *process_member(const struct process *process)
{
	return process->called == NULL ? "" : process->called + strspn(process->called, "0123456789");
}

char *process_file_name(const struct run *run, size_t index)
{
	const struct process *process = &run->processes[index];
	const char *host = process_host(process);
	size_t same = 1;
	struct text name = {0};

	for (size_t i = 0; i < index; i++)
		same += run->processes[i].pid == process->pid && strcmp(process_host(&run->processes[i]), host) == 0;
	for (const char *at = host[0] ? host : "host"; *at; at++)
		text_char(&name, *at == '/' ? '_' : *at);
	text_format(&name, ".%" PRIu32, process->pid);
	if (same > 1)
		text_format(&name, "-%zu", same);
	return name.bytes;
}

/* Has the run processes of two ranks? */
static int is_of_ranks(const struct run *run)
{
	uint64_t first = 0, rank;
	int is_any = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		if (process_rank(&run->processes[i], &rank) != 0)
			continue;
		if (is_any && rank != first)
			return 1;
		first = rank;
		is_any = 1;
	}
	return 0;
}

void run_name_processes(struct run *run)
{
	int is_of_hosts = run_hosts(run) > 1, has_ranks = is_of_ranks(run);

	for (size_t i = 0; i < run->process_count; i++) {
		struct process *process = &run->processes[i];
		const char *host = process_host(process);
		char called[320], member[32] = "";

		process->of_host = is_of_hosts && host[0] ? host : NULL;
		process->is_of_rank = has_ranks && process_rank(process, &process->of_rank) == 0;
		if (process->is_of_rank)
			snprintf(member, sizeof(member), ", rank %" PRIu64, process->of_rank);
		snprintf(called, sizeof(called), "%" PRIu32 "%s%.255s%s", process->pid, process->of_host ? " of " : "",
			 process->of_host ? host : "", member);
		process->called = run_text(run, called, strlen(called));
	}
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
