/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that ended because memory ran out; see memory_end.h. */
#include "reducer/tables/memory_end.h"

#include <signal.h>
#include <sys/wait.h>

#define NEAR_LIMIT                                                                                                               \
	0.9 /* of the limit: a control group that held this much at a process's last reading was about to be cut down */
#define MIB 1048576.0
#define NS_PER_MS 1e6

/* What a process read of its control group. */
struct group {
	uint64_t limit_bytes, held_bytes, kills; /* 0 = none, or not read */
	int64_t time_ns;			 /* of held_bytes */
};

static struct group read_group(const struct process *process)
{
	struct group group = {0};
	uint64_t kills_before = UINT64_MAX, value;

	for (size_t i = 0; i < process->use.count; i++) {
		const struct use_sample *sample = &process->use.samples[i];
		if (sample->of != USE_OF_PROCESS)
			continue;
		if (use_value(&process->use, sample, USE_group_memory_limit, &value))
			group.limit_bytes = value;
		if (use_value(&process->use, sample, USE_group_memory, &value)) {
			group.held_bytes = value;
			group.time_ns = sample->time_ns;
		}
		if (!use_value(&process->use, sample, USE_group_oom_kills, &value))
			continue;
		kills_before = kills_before == UINT64_MAX ? value : kills_before;
		group.kills = value > kills_before ? value - kills_before : 0;
	}
	return group;
}

static bool is_killed(const struct process *process)
{
	return process->end == END_UNKNOWN || (process->end == END_SIGNAL && process->end_status == SIGKILL);
}

static void note_group_kills(struct table *table, uint64_t kills, uint64_t limit_bytes)
{
	const char *s = kills == 1 ? "" : "es";

	if (limit_bytes)
		table_note(table, NOTE_INFO,
			   "Out of memory: meanwhile the kernel killed %llu process%s of the control group, whose "
			   "limit is %.5g MiB.",
			   (unsigned long long)kills, s, (double)limit_bytes / MIB);
	else
		table_note(table, NOTE_INFO,
			   "Out of memory: meanwhile the kernel killed %llu process%s of the control group for want "
			   "of memory; the group itself has no limit.",
			   (unsigned long long)kills, s);
}

/* By the counters of the kernel: those that `tfprof run` compared, else those that a process read. */
static bool note_counted(struct table *table, const struct request *request)
{
	const struct run *run = request->run;
	struct group most = {0};

	for (size_t i = 0; i < run->process_count; i++) {
		const struct tfp_end_payload *told = &run->processes[i].told;
		struct group group = read_group(&run->processes[i]);
		if (told->memory_kills > most.kills)
			most = (struct group){.kills = told->memory_kills, .limit_bytes = told->memory_limit_bytes};
		if (group.kills > most.kills)
			most = group;
	}
	if (most.kills)
		note_group_kills(table, most.kills, most.limit_bytes);
	return most.kills > 0;
}

/*
 * The kernel's kills on the whole machine explain a killed process only where the run has no more of those than the kernel
 * killed: of a server that ends its hundred workers by SIGKILL six kills in a quarter of an hour explain none. Returns whether
 * a note was made.
 */
static bool note_machine(struct table *table, const struct run *run, const struct process *process)
{
	uint64_t kills = 0, killed = 0;

	for (size_t i = 0; i < run->process_count; i++) {
		kills = kills ? kills : run->processes[i].told.machine_memory_kills;
		killed += is_killed(&run->processes[i]);
	}
	if (!kills || killed > kills)
		return false;
	table_note(table, NOTE_INFERRED,
		   "Out of memory, it seems: process %s was killed, and meanwhile the kernel killed %llu of the "
		   "machine's processes for want of memory.",
		   process->called, (unsigned long long)kills);
	return true;
}

/* Did the process read how many of its group the kernel killed? Then `tfprof run` could read it, too. */
static bool knows_kills(const struct process *process)
{
	uint64_t value;

	for (size_t i = 0; i < process->use.count; i++)
		if (process->use.samples[i].of == USE_OF_PROCESS &&
		    use_value(&process->use, &process->use.samples[i], USE_group_oom_kills, &value))
			return true;
	return false;
}

/* Killed, says `tfprof run`, which compared the kernel's counters: they did not move. */
static bool is_killed_by_somebody(const struct process *process)
{
	const struct tfp_end_payload *told = &process->told;

	return told->realtime_ns && WIFSIGNALED(told->wait_status) && WTERMSIG(told->wait_status) == SIGKILL &&
	       !told->memory_kills && !told->machine_memory_kills && knows_kills(process);
}

/* By circumstances: a process without a last word, on a machine or in a group whose memory was used up. */
static bool note_likely(struct table *table, const struct run *run, const struct process *process)
{
	struct group group = read_group(process);

	if (!is_killed(process) || is_killed_by_somebody(process))
		return false;
	if (note_machine(table, run, process))
		return true;
	if (!group.limit_bytes || (double)group.held_bytes < NEAR_LIMIT * (double)group.limit_bytes)
		return false;
	table_note(table, NOTE_INFERRED,
		   "Out of memory, it seems: process %s ended without a word when its control group held %.5g of %.5g MiB "
		   "(read %.0f ms before its last record).",
		   process->called, (double)group.held_bytes / MIB, (double)group.limit_bytes / MIB,
		   (double)(process->end_ns - group.time_ns) / NS_PER_MS);
	return true;
}

void memory_end_note(struct table *table, const struct request *request)
{
	if (note_counted(table, request))
		return;
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) &&
		    note_likely(table, request->run, &request->run->processes[i]))
			return;
}

void memory_end_note_other(struct table *table, const struct request *request)
{
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];

		if (!request_wants_process(request, process) || !is_killed_by_somebody(process))
			continue;
		table_note(table, NOTE_INFERRED,
			   "Process %s was killed by SIGKILL, and not by the kernel for want of memory: its counter for the control group "
			   "did not move. Somebody sent the signal: kill -9, or what watches over jobs (a scheduler's or a container's "
			   "limit, systemd-oomd, earlyoom).",
			   process->called);
		return;
	}
}
