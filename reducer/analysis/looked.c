/* SPDX-License-Identifier: Apache-2.0 */
/* Looks while something was going on; see reducer/analysis/looked.h. */
#include "reducer/analysis/looked.h"

#include <inttypes.h>
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
	const struct looked_time *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return one->look < other->look ? -1 : one->look > other->look;
}

void looked_begin(struct looked_pass *pass, const struct process *process)
{
	size_t count = process->python.look_count;

	*pass = (struct looked_pass){.count = count};
	if (!count)
		return;
	pass->times = base_alloc(count, sizeof(*pass->times));
	for (size_t i = 0; i < count; i++)
		pass->times[i] = (struct looked_time){.time_ns = process->python.looks[i].time_ns, .look = (uint32_t)i};
	qsort(pass->times, count, sizeof(*pass->times), by_time);
}

/* The first look that is not before `time_ns`; it is mostly where the one before was. */
static size_t first_from(struct looked_pass *pass, int64_t time_ns)
{
	const struct looked_time *times = pass->times;
	size_t low = 0, high = pass->count, at = pass->hint;

	if ((at == pass->count || times[at].time_ns >= time_ns) && (at == 0 || times[at - 1].time_ns < time_ns))
		return at;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (times[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return pass->hint = low;
}

void looked_cover(struct looked_pass *pass, int64_t start_ns, int64_t end_ns)
{
	for (size_t i = first_from(pass, start_ns); i < pass->count && pass->times[i].time_ns < end_ns; i++)
		pass->times[i].is_marked = true;
}

static int by_log(const void *a, const void *b)
{
	const struct looked_mark *one = a, *other = b;

	if (one->log_id != other->log_id)
		return one->log_id < other->log_id ? -1 : 1;
	return one->look < other->look ? -1 : one->look > other->look;
}

/* In order, and each once: of one process two results may tell the same look. */
static void settle(struct looked *looked)
{
	size_t kept = 0;

	if (!looked->count)
		return;
	qsort(looked->marks, looked->count, sizeof(*looked->marks), by_log);
	for (size_t i = 1; i < looked->count; i++)
		if (by_log(&looked->marks[kept], &looked->marks[i]) != 0)
			looked->marks[++kept] = looked->marks[i];
	looked->count = kept + 1;
}

static void add(struct looked *looked, struct looked_mark mark)
{
	looked->marks = base_grow(looked->marks, &looked->room, looked->count + 1, sizeof(*looked->marks));
	looked->marks[looked->count++] = mark;
}

void looked_end(struct looked_pass *pass, const struct process *process, struct looked *looked)
{
	for (size_t i = 0; i < pass->count; i++)
		if (pass->times[i].is_marked)
			add(looked, (struct looked_mark){process->log_id, pass->times[i].look});
	settle(looked);
	free(pass->times);
	*pass = (struct looked_pass){0};
}

void looked_merge(struct looked *into, const struct looked *from)
{
	for (size_t i = 0; i < from->count; i++)
		add(into, from->marks[i]);
}

void looked_print(const struct looked *looked, struct text *text)
{
	struct looked settled = {0};

	looked_merge(&settled, looked);
	settle(&settled);
	for (size_t i = 0; i < settled.count; i++)
		text_format(text, "look %" PRIx64 " %" PRIu32 "\n", settled.marks[i].log_id, settled.marks[i].look);
	looked_free(&settled);
}

void looked_free(struct looked *looked)
{
	free(looked->marks);
	*looked = (struct looked){0};
}
