/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that ended because memory ran out; see memory_end.h. */
#include "reducer/tables/memory_end.h"

#include "reducer/model/rank.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define NEAR_LIMIT                                                                                                               \
	0.9 /* of the limit: a control group that held this much at a process's last reading was about to be cut down */
#define ROOMY 0.25 /* of the machine's memory: so much is not used up */
#define RECENT_NS INT64_C(1000000000) /* before a process's end: until then */
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

static bool is_near_limit(const struct process *process)
{
	struct group group = read_group(process);

	return group.limit_bytes && (double)group.held_bytes >= NEAR_LIMIT * (double)group.limit_bytes;
}

static bool is_killed(const struct process *process)
{
	return process->end == END_UNKNOWN || (process->end == END_SIGNAL && process->end_status == SIGKILL);
}

/* Whether anything of the run ended badly, or somebody waited for a child that was killed: else what the kernel killed was not of it. */
static bool has_victims(const struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++) {
		const struct process *process = &run->processes[i];
		if (is_killed(process) || process_has_failed(process))
			return true;
		for (size_t k = 0; k < process->child_end_count; k++)
			if (WIFSIGNALED(process->child_ends[k].status) && WTERMSIG(process->child_ends[k].status) == SIGKILL)
				return true;
	}
	return false;
}

static void note_group_kills(struct table *table, const struct group *group)
{
	const char *s = group->kills == 1 ? "" : "es";

	if (group->limit_bytes)
		table_note(table, NOTE_INFO,
			   "Out of memory: meanwhile the kernel killed %llu process%s of the control group, whose "
			   "limit is %.5g MiB.",
			   (unsigned long long)group->kills, s, (double)group->limit_bytes / MIB);
	else
		table_note(table, NOTE_INFO,
			   "Out of memory: meanwhile the kernel killed %llu process%s of the control group for want "
			   "of memory; the group itself has no limit.",
			   (unsigned long long)group->kills, s);
}

/* By the counters of the kernel: those that `tfprof run` compared, else those that a process read. */
static struct group most_kills(const struct run *run)
{
	struct group most = {0};

	for (size_t i = 0; i < run->process_count; i++) {
		const struct tfp_end_payload *told = &run->processes[i].told;
		struct group group = read_group(&run->processes[i]);
		if (told->memory_kills > most.kills)
			most = (struct group){.kills = told->memory_kills, .limit_bytes = told->memory_limit_bytes};
		if (group.kills > most.kills)
			most = group;
	}
	return most;
}

/* What programs could at least still have had of the machine's memory, at the last reading before a process's end that tells of much. */
struct room {
	uint64_t bytes, of_bytes;
	int64_t before_ns; /* the end */
};

static void read_room(struct room *room, const struct process *process, const struct use_sample *sample)
{
	uint64_t bytes = sample->memory_free_bytes, available;

	if (use_value(&process->use, sample, USE_host_available, &available) && available > bytes)
		bytes = available;
	if (process->gone_ns - sample->time_ns <= RECENT_NS && sample->memory_bytes &&
	    (double)bytes >= ROOMY * (double)sample->memory_bytes)
		*room = (struct room){bytes, sample->memory_bytes, process->gone_ns - sample->time_ns};
}

/*
 * Whether the machine had room when the process ended, so that what the kernel killed was in another control group. What is free is
 * read more often than what could be had.
 */
static bool had_room(const struct process *process, struct room *room)
{
	*room = (struct room){0};
	for (size_t i = 0; i < process->use.count; i++)
		if (process->use.samples[i].of == USE_OF_PROCESS)
			read_room(room, process, &process->use.samples[i]);
	return room->of_bytes > 0;
}

/*
 * The kernel's kills on the whole machine explain a killed process only where the run has no more of those than the kernel
 * killed: of a server that ends its hundred workers by SIGKILL six kills in a quarter of an hour explain none. Nor where the machine
 * had room: then they were of other control groups. Returns whether a note was made.
 */
static bool note_machine(struct table *table, const struct run *run, const struct process *process)
{
	uint64_t kills = 0, killed = 0;
	struct room room;

	for (size_t i = 0; i < run->process_count; i++) {
		if (!process_shares_machine(&run->processes[i], process))
			continue;
		kills = kills ? kills : run->processes[i].told.machine_memory_kills;
		killed += is_killed(&run->processes[i]);
	}
	if (!kills || killed > kills || had_room(process, &room))
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

/* Killed, says `tfprof run`, which compared the kernel's counters. */
static bool is_killed_as_told(const struct process *process)
{
	const struct tfp_end_payload *told = &process->told;

	return told->realtime_ns && WIFSIGNALED(told->wait_status) && WTERMSIG(told->wait_status) == SIGKILL;
}

/* A group's counter holds those of the groups in it only where it is of the second version, whose file has that name. */
static bool counts_below(const struct process *process)
{
	static const char name[] = "/memory.events";

	for (size_t i = 0; i < process->use.file_count; i++) {
		const char *path = process->use.files[i].path;
		size_t length = strlen(path);
		if (!process->use.files[i].error && length >= sizeof name - 1 && strcmp(path + length - (sizeof name - 1), name) == 0)
			return true;
	}
	return false;
}

/* The counters did not move: that of the group, and that of the machine where the group's may be that of a group above. */
static bool is_killed_by_somebody(const struct process *process)
{
	const struct tfp_end_payload *told = &process->told;

	return is_killed_as_told(process) && !told->memory_kills && (!told->machine_memory_kills || counts_below(process)) &&
	       knows_kills(process);
}

/* By circumstances: a process without a last word, on a machine or in a group whose memory was used up. */
static bool note_likely(struct table *table, const struct run *run, const struct process *process)
{
	struct group group = read_group(process);

	if (!is_killed(process) || is_killed_by_somebody(process))
		return false;
	if (note_machine(table, run, process))
		return true;
	if (!is_near_limit(process))
		return false;
	table_note(table, NOTE_INFERRED,
		   "Out of memory, it seems: process %s ended without a word when its control group held %.5g of %.5g MiB "
		   "(read %.0f ms before its last record).",
		   process->called, (double)group.held_bytes / MIB, (double)group.limit_bytes / MIB,
		   (double)(process->end_ns - group.time_ns) / NS_PER_MS);
	return true;
}

uint64_t memory_end_kills(const struct request *request, uint64_t *limit_bytes)
{
	struct group most = most_kills(request->run);

	*limit_bytes = most.limit_bytes;
	return has_victims(request->run) ? most.kills : 0;
}

void memory_end_note(struct table *table, const struct request *request)
{
	struct group most = most_kills(request->run);

	if (most.kills) {
		if (has_victims(request->run))
			note_group_kills(table, &most);
		return;
	}
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) &&
		    note_likely(table, request->run, &request->run->processes[i]))
			return;
}

/* What the kernel killed in the group, and all of the run ended well. */
static void note_strangers(struct table *table, const struct group *group)
{
	const char *s = group->kills == 1 ? "" : "es";

	table_note(table, NOTE_INFO,
		   "Meanwhile the kernel killed %llu process%s of the control group for want of memory, none of those shown here: these "
		   "ended otherwise.",
		   (unsigned long long)group->kills, s);
}

static bool note_somebody(struct table *table, const struct process *process)
{
	struct room room;

	if (is_killed_by_somebody(process)) {
		table_note(table, NOTE_INFERRED,
			   "Process %s was killed by SIGKILL, and not by the kernel for want of memory: its counter for the control group "
			   "did not move. It came from kill -9, from a limit of processor time (ulimit -t), or from what watches over jobs "
			   "(a scheduler's or a container's limit, systemd-oomd, earlyoom).",
			   process->called);
		return true;
	}
	if (!is_killed_as_told(process) || process->told.memory_kills || !process->told.machine_memory_kills ||
	    is_near_limit(process) || !had_room(process, &room))
		return false;
	table_note(table, NOTE_INFERRED,
		   "Process %s was killed by SIGKILL, hardly by the kernel, which killed %llu of the machine's processes for want of "
		   "memory meanwhile: %.0f ms before the end %.3g of %.3g GiB could still be had. It came from kill -9, it seems, from "
		   "a limit of processor time (ulimit -t), or from what watches over jobs.",
		   process->called, (unsigned long long)process->told.machine_memory_kills, (double)room.before_ns / NS_PER_MS,
		   (double)room.bytes / MIB / 1024, (double)room.of_bytes / MIB / 1024);
	return true;
}

void memory_end_note_other(struct table *table, const struct request *request)
{
	struct group most = most_kills(request->run);

	if (most.kills && !has_victims(request->run))
		note_strangers(table, &most);
	for (size_t i = 0; i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]) && note_somebody(table, &request->run->processes[i]))
			return;
}
