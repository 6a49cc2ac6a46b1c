/* SPDX-License-Identifier: Apache-2.0 */
/* What the verdict says of processes' lives; see reducer/tables/verdict_lives.h. */
#include "reducer/tables/verdict_lives.h"

#include "reducer/tables/asker.h"
#include "reducer/tables/busy.h"
#include "reducer/tables/verdict_steps.h"

#include <string.h>

#define WHOLE_FROM_S 0.5 /* of a run without steps: less is over before its readings say much */
#define NS_PER_MINUTE 6e10
#define MINUTES_LEAST 2.0 /* that memory lasts: a shorter time is over when it is read */
#define MINUTES_AN_HOUR 60.0
#define MINUTES_OF_HOURS 180.0 /* from here on told in hours */
#define IDLE_FROM 0.1 /* processors: likewise of steps */
#define ASKS_A_SECOND 1e6 /* allocations for each second of processor time worth a word: each and its release take 40 ns and more */
#define ASKS_FROM 1000000 /* in all */
#define ASKER_FROM 0.25	  /* of a process's allocations, from which on who asked is named */
#define ASKERS 2

void verdict_say_grew(struct text *sentence, const struct request *request, const struct growth *growth)
{
	text_format(sentence, " Live memory of %s", growth->account->allocator);
	if (request->run->process_count > 1)
		text_format(sentence, " in process %s", request->run->processes[growth->process].called);
	text_string(sentence, " grew all the while, by ");
	text_size(sentence, (int64_t)growth->bytes);
	text_string(sentence, " at least");
}

/* The process that asked the heap most often. NULL = none did. */
static const struct process *most_asking(const struct request *request, uint64_t *all)
{
	const struct process *most = NULL;

	*all = 0;
	for (size_t i = 0; i < request->run->process_count; i++) {
		const struct process *process = &request->run->processes[i];
		if (!request_wants_process(request, process))
			continue;
		*all += process->heap.allocations;
		if (process->heap.allocations > (most ? most->heap.allocations : 0))
			most = process;
	}
	return most;
}

/* Who asked so often, where that is most of it: each call stack that a good part of them came from, its function once. */
static void put_askers(struct text *sentence, const struct request *request, const struct process *process)
{
	struct text names = {0}, last = {0};
	uint64_t asked = 0;
	size_t named = 0;

	for (size_t i = 0; i < process->heap.site_count && named < ASKERS && request->frames; i++) {
		const struct heap_site *site = &process->heap.sites[i];
		struct text name = {0};
		if (site->stack && (double)site->allocations >= ASKER_FROM * (double)process->heap.allocations)
			asker_put(&name, request->frames, (size_t)(process - request->run->processes), site->stack);
		asked += name.length ? site->allocations : 0;
		if (name.length && (!last.length || strcmp(name.bytes, last.bytes) != 0)) {
			text_format(&names, "%s%s", named++ ? " and " : "", name.bytes);
			text_clear(&last);
			text_string(&last, name.bytes);
		}
		text_free(&name);
	}
	if (2 * asked > process->heap.allocations)
		text_format(sentence, ", most of them in %s", names.bytes);
	text_free(&names);
	text_free(&last);
}

/* Blocks that are made and given back all along cost processor time, and locks where threads share a heap. */
static void say_allocations(struct text *sentence, const struct request *request, const char *who, double cpu_s)
{
	uint64_t all;
	const struct process *most = most_asking(request, &all);

	if (!most || all < ASKS_FROM || (double)all < ASKS_A_SECOND * cpu_s)
		return;
	text_format(sentence, " %s allocated %.2f million times, %.1f million times for each second of processor time", who,
		    (double)all / 1e6, (double)all / cpu_s / 1e6);
	if (2 * most->heap.allocations > all)
		put_askers(sentence, request, most);
	text_string(sentence, " (-t memory.sites).");
}

void verdict_say_whole(struct text *sentence, const struct request *request)
{
	struct busy_whole whole = busy_of_run(request);
	double cpu = whole.user_s + whole.system_s;

	if (!whole.has_use || whole.seconds < WHOLE_FROM_S)
		return;
	text_format(sentence, " In %.2f s %s used %.2f s of processor time, %.2f s of it in the kernel", whole.seconds,
		    whole.processes == 1 ? "the process" : "the processes", cpu, whole.system_s);
	if (whole.delay_s >= VERDICT_WAITED_FROM * whole.seconds)
		text_format(sentence, "; threads that could have run waited for a processor at least %.2f s in all", whole.delay_s);
	else if (cpu < IDLE_FROM * whole.seconds)
		text_format(sentence, ": %s waited most of the time", whole.processes == 1 ? "it" : "they");
	text_string(sentence, " (-t host_usage; -t io_stats has its reads).");
	say_allocations(sentence, request, whole.processes == 1 ? "It" : "They", cpu);
}

void verdict_say_growth(struct text *sentence, const struct request *request)
{
	struct growth growth = growth_of_lives(request);
	double a_minute, minutes;

	if (growth.account == NULL || growth.percent < GROWTH_PERCENT || growth.bytes < GROWTH_BYTES)
		return;
	a_minute = (double)growth.bytes / (double)growth.ns * NS_PER_MINUTE;
	minutes = (double)growth.room_bytes / a_minute;
	verdict_say_grew(sentence, request, &growth);
	text_string(sentence, ", some ");
	text_size(sentence, (int64_t)a_minute);
	text_string(sentence, " a minute (-t memory.timeline; -t memory.sites).");
	if (minutes < MINUTES_LEAST)
		return;
	text_string(sentence, " At that rate the ");
	text_size(sentence, (int64_t)growth.room_bytes);
	text_format(sentence, " that were still to be had last for about %.0f %s.",
		    minutes < MINUTES_OF_HOURS ? minutes : minutes / MINUTES_AN_HOUR, minutes < MINUTES_OF_HOURS ? "minutes" : "hours");
}
