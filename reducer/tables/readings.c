/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the system as cells; see readings.h. */
#include "reducer/tables/readings.h"

#include "reducer/base/index.h"

#include <stdlib.h>
#include <string.h>

enum { FLAG_TOTAL = 1, FLAG_FROM_BEGIN = 2 };
#define KIND_LEVEL 0
#define KIND_TOTAL FLAG_TOTAL
#define OF_PROCESS FLAG_FROM_BEGIN
#define OF_THREAD FLAG_FROM_BEGIN
#define OF_GROUP 0
#define OF_HOST 0
#define OF_DEVICE 0

static const uint8_t flags[USE_READINGS] = {
#define TFP_READING(number, name, subject, kind, unit, help) [number] = KIND_##kind | OF_##subject,
#include "collectors/tables/readings.def"
#undef TFP_READING
};

/* What was last read of one subject. */
struct last {
	const struct use_sample *sample;
	bool is_known[USE_READINGS];
	uint64_t values[USE_READINGS];
};

struct readings {
	const struct use_rows *use;
	const uint16_t *columns;
	struct last *lasts;
	size_t count, room, newest; /* newest: the one found last */
	struct base_index index;    /* of lasts, by subject */
};

struct readings *readings_make(const struct use_rows *use, const uint16_t columns[USE_READINGS])
{
	struct readings *readings = calloc(1, sizeof *readings);

	if (readings != NULL)
		*readings = (struct readings){.use = use, .columns = columns};
	return readings;
}

void readings_free(struct readings *readings)
{
	if (readings == NULL)
		return;
	free(readings->lasts);
	base_index_free(&readings->index);
	free(readings);
}

static bool is_same(const struct last *last, const struct use_sample *sample)
{
	return last->sample->of == sample->of && last->sample->subject == sample->subject;
}

static bool is_subject(const void *context, const void *key, uint32_t number)
{
	return is_same(&((const struct readings *)context)->lasts[number], key);
}

static uint64_t hash_subject(const struct use_sample *sample)
{
	return base_mix((uint64_t)sample->of << 32 | sample->subject);
}

/* Subjects come in turn: the one behind the one found last is tried first. */
static struct last *find(struct readings *readings, const struct use_sample *sample)
{
	size_t at = (readings->newest + 1) % readings->count;
	uint32_t number;

	if (!is_same(&readings->lasts[at], sample)) {
		number = base_index_find(&readings->index, hash_subject(sample), is_subject, readings, sample);
		if (number == UINT32_MAX)
			return NULL;
		at = number;
	}
	readings->newest = at;
	return &readings->lasts[at];
}

static struct last *find_or_add(struct readings *readings, const struct use_sample *sample)
{
	struct last *last = readings->count ? find(readings, sample) : NULL;

	if (last != NULL)
		return last;
	if (readings->count == readings->room) {
		size_t room = readings->room ? readings->room * 2 : 16;
		struct last *lasts = realloc(readings->lasts, room * sizeof *lasts);
		if (lasts == NULL)
			return NULL;
		readings->lasts = lasts;
		readings->room = room;
	}
	base_index_add(&readings->index, hash_subject(sample), (uint32_t)readings->count);
	last = &readings->lasts[readings->count++];
	*last = (struct last){.sample = sample};
	return last;
}

const struct use_sample *readings_before(struct readings *readings, const struct use_sample *sample)
{
	const struct last *last = readings->count ? find(readings, sample) : NULL;

	return last != NULL ? last->sample : NULL;
}

void readings_note(struct table *table, const struct process *process)
{
	const struct use_rows *use = &process->use;

	if (use->each > 1)
		table_note(table, NOTE_MISSING,
			   "Process %s was read more often than is kept of one process: of up to %llu readings that follow each other the "
			   "last is shown. What was used lacks nothing; what was held between them may have been more.",
			   process->called, (unsigned long long)use->each);
	if (use->left_out)
		table_note(table, NOTE_MISSING,
			   "Process %s: %llu " BY_COUNT("reading", "readings") " found no room: it has too many threads.",
			   process->called, (unsigned long long)use->left_out);
}

void readings_cells(struct readings *readings, struct table *table, const struct use_sample *sample)
{
	struct last *last = find_or_add(readings, sample);

	if (last == NULL)
		return;
	last->sample = sample;
	for (uint32_t at = sample->readings; at != 0; at = readings->use->readings[at - 1].next) {
		const struct use_reading *reading = &readings->use->readings[at - 1];
		uint16_t kind = reading->kind;
		uint64_t before = last->is_known[kind] && (flags[kind] & FLAG_TOTAL) ? last->values[kind] : 0;
		bool shows = !(flags[kind] & FLAG_TOTAL) || last->is_known[kind] || (flags[kind] & FLAG_FROM_BEGIN);
		/* A total that went back (a control group left, an interface gone) tells no difference. */
		if (table != NULL && readings->columns[kind] && shows && reading->value >= before)
			table_integer(table, readings->columns[kind] - 1u, (int64_t)(reading->value - before));
		last->is_known[kind] = true;
		last->values[kind] = reading->value;
	}
}
