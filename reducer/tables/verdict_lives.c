/* SPDX-License-Identifier: Apache-2.0 */
/* What the verdict says of processes' lives; see reducer/tables/verdict_lives.h. */
#include "reducer/tables/verdict_lives.h"

#include "reducer/tables/busy.h"
#include "reducer/tables/verdict_steps.h"

#define WHOLE_FROM_S 0.5 /* of a run without steps: less is over before its readings say much */
#define NS_PER_MINUTE 6e10
#define MINUTES_LEAST 2.0 /* that memory lasts: a shorter time is over when it is read */
#define MINUTES_AN_HOUR 60.0
#define MINUTES_OF_HOURS 180.0 /* from here on told in hours */
#define IDLE_FROM 0.1 /* processors: likewise of steps */

void verdict_say_grew(struct text *sentence, const struct request *request, const struct growth *growth)
{
	text_format(sentence, " Live memory of %s", growth->account->allocator);
	if (request->run->process_count > 1)
		text_format(sentence, " in process %s", request->run->processes[growth->process].called);
	text_string(sentence, " grew all the while, by ");
	text_size(sentence, (int64_t)growth->bytes);
	text_string(sentence, " at least");
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
