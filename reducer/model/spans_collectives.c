/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of TensorFlow between processes; see spans_collectives.h. */
#include "reducer/model/spans_collectives.h"

#include "reducer/model/spans.h"

#include <string.h>

/* TraceMe's producer and consumer name what they have in common so. */
static uint64_t number_of(const struct span *span, const char *name)
{
	for (size_t i = 0; i < span->argument_count; i++)
		if (span->arguments[i].text == NULL && strcmp(span->arguments[i].name, name) == 0)
			return span->arguments[i].number;
	return 0;
}

static struct collective_end *find(struct spans_collectives *collectives, uint64_t number, int is_done)
{
	for (size_t i = 0; i < COLLECTIVES_MOST; i++)
		if (collectives->ends[i].number == number && collectives->ends[i].is_done == is_done)
			return &collectives->ends[i];
	return NULL;
}

int collectives_take(struct spans_collectives *collectives, const struct span *span, int64_t *from, int64_t *to)
{
	int is_done = strcmp(span->name, "CollectiveExecutor::ExecuteAsync::Done") == 0;
	struct collective_end *other;
	uint64_t number;

	if (!is_done && strcmp(span->name, "CollectiveOpV2Kernel::Run") != 0)
		return 0;
	number = number_of(span, is_done ? "_c" : "_p");
	other = number == 0 ? NULL : find(collectives, number, !is_done);
	if (other == NULL) {
		collectives->ends[collectives->count++ % COLLECTIVES_MOST] = (struct collective_end){number, span->start_ns, is_done};
		return 0;
	}
	*from = is_done ? other->time_ns : span->start_ns;
	*to = is_done ? span->start_ns : other->time_ns;
	other->number = 0;
	return *to > *from;
}
