/* SPDX-License-Identifier: Apache-2.0 */
/* Fewer samples of a long run; see reducer/model/use_thin.h. */
#include "reducer/model/use_thin.h"

#include "reducer/base/index.h"
#include "reducer/model/number_map.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE SIZE_MAX

/* Samples of one subject with the same kinds of readings. */
struct series {
	size_t last;	 /* place of the last of all */
	size_t kept;	 /* where the one that stayed last stands now, NOWHERE = none has */
	uint32_t passed; /* what the samples behind that stood for */
};

struct thinning {
	struct use_rows *use;
	uint32_t *series_of; /* by sample: place in series */
	struct series *series;
	size_t count, room;
	struct number_map places;
	struct use_reading *readings; /* of those that stay */
	size_t reading_count;
};

/* The same for samples with the same kinds, in whatever order. */
static uint64_t kinds_of(const struct use_rows *use, const struct use_sample *sample)
{
	uint64_t kinds = sample->has_use;

	for (uint32_t at = sample->readings; at != 0; at = use->readings[at - 1].next)
		kinds += base_mix(use->readings[at - 1].kind + UINT64_C(2));
	return kinds;
}

/* Returns -1 without memory. */
static int find_series(struct thinning *thinning)
{
	const struct use_rows *use = thinning->use;

	for (size_t i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		uint64_t high = (uint64_t)(sample->of + 1u) << 32 | sample->subject, low = kinds_of(use, sample);
		uint32_t place = number_map_find(&thinning->places, high, low);

		if (place == NUMBER_MAP_NONE) {
			if (thinning->count == thinning->room) {
				size_t room = thinning->room ? thinning->room * 2 : 64;
				struct series *series = realloc(thinning->series, room * sizeof *series);
				if (series == NULL)
					return -1;
				thinning->series = series;
				thinning->room = room;
			}
			place = (uint32_t)thinning->count++;
			if (number_map_set(&thinning->places, high, low, place) != 0)
				return -1;
			thinning->series[place].kept = NOWHERE;
			thinning->series[place].passed = 0;
		}
		thinning->series_of[i] = place;
		thinning->series[place].last = i;
	}
	return 0;
}

static struct use_reading *reading_of(struct use_reading *readings, uint32_t first, uint16_t kind)
{
	for (uint32_t at = first; at != 0; at = readings[at - 1].next)
		if (readings[at - 1].kind == kind)
			return &readings[at - 1];
	return NULL;
}

/* The sample stays, as number `place`. */
static void keep(struct thinning *thinning, size_t place, const struct use_sample *sample)
{
	const struct use_rows *use = thinning->use;
	struct use_sample *kept = &thinning->use->samples[place];
	uint32_t first = sample->readings;

	*kept = *sample;
	kept->readings = first == 0 ? 0 : (uint32_t)thinning->reading_count + 1;
	for (uint32_t at = first; at != 0; at = use->readings[at - 1].next) {
		struct use_reading *reading = &thinning->readings[thinning->reading_count++];

		*reading = use->readings[at - 1];
		reading->next = reading->next == 0 ? 0 : (uint32_t)thinning->reading_count + 1;
	}
}

/* It does not: what it says was missed is added to the one that stayed before it. */
static void pass(struct thinning *thinning, struct series *series, const struct use_sample *sample)
{
	const struct use_reading *missed = reading_of(thinning->use->readings, sample->readings, USE_unread);
	struct use_sample *kept = &thinning->use->samples[series->kept];
	struct use_reading *sum = missed == NULL ? NULL : reading_of(thinning->readings, kept->readings, USE_unread);

	series->passed += sample->stands;
	if (sum != NULL)
		sum->value += missed->value;
}

/* One of so many of each series. */
static void thin_samples(struct thinning *thinning, uint64_t each)
{
	struct use_rows *use = thinning->use;
	size_t count = 0;

	for (size_t i = 0; i < use->count; i++) {
		struct series *series = &thinning->series[thinning->series_of[i]];
		struct use_sample sample = use->samples[i];

		if (series->kept != NOWHERE && i != series->last && series->passed + sample.stands < each) {
			pass(thinning, series, &sample);
			continue;
		}
		sample.stands += series->passed;
		series->passed = 0;
		series->kept = count;
		keep(thinning, count++, &sample);
	}
	use->count = count;
	memcpy(use->readings, thinning->readings, thinning->reading_count * sizeof *use->readings);
	use->reading_count = thinning->reading_count;
}

/* Who used a device at the time of a sample of it; such a sample may still come for the last ones. Both stand by time. */
static void thin_users(struct use_rows *use)
{
	int64_t last = use->count == 0 ? INT64_MIN : use->samples[use->count - 1].time_ns;
	size_t count = 0, at = 0;

	for (size_t i = 0; i < use->user_count; i++) {
		const struct device_user user = use->users[i];
		int stays = user.time_ns >= last;

		while (at < use->count && use->samples[at].time_ns < user.time_ns)
			at++;
		for (size_t k = at; !stays && k < use->count && use->samples[k].time_ns == user.time_ns; k++)
			stays = use->samples[k].of == USE_OF_DEVICE && use->samples[k].subject == user.device;
		if (stays)
			use->users[count++] = user;
	}
	use->user_count = count;
}

/* Returns whether there was memory for it. */
static bool thin_once(struct use_rows *use)
{
	struct thinning thinning = {.use = use};
	bool is_done = false;

	thinning.series_of = calloc(use->count + 1, sizeof *thinning.series_of);
	thinning.readings = calloc(use->reading_count + 1, sizeof *thinning.readings);
	if (thinning.series_of != NULL && thinning.readings != NULL && find_series(&thinning) == 0) {
		if (use->count != 0)
			thin_samples(&thinning, use->each);
		thin_users(use);
		is_done = true;
	}
	number_map_free(&thinning.places);
	free(thinning.series);
	free(thinning.series_of);
	free(thinning.readings);
	return is_done;
}

static size_t rows_of(const struct use_rows *use)
{
	size_t most = 2 * use->count > use->reading_count ? 2 * use->count : use->reading_count;

	return most > use->user_count ? most : use->user_count;
}

void use_thin(struct use_rows *use)
{
	size_t rows = rows_of(use), before = SIZE_MAX;
	uint64_t each;

	if (rows < (use->most != 0 ? use->most : USE_ROWS_MOST))
		return;
	if (use->each != 0 && thin_once(use)) /* what came since the last time becomes like what was there */
		rows = rows_of(use);
	for (each = use->each; rows > USE_ROWS_MOST / 2 && rows < before; rows = rows_of(use)) {
		before = rows;
		each = use->each;
		use->each = each == 0 ? 2 : each * 2;
		if (!thin_once(use))
			break;
	}
	use->each = rows < before ? use->each : each; /* the last time nothing was left out */
	/* Of many subjects each has a sample or two at least. */
	use->most = rows > USE_ROWS_MOST / 2 ? 2 * rows : USE_ROWS_MOST;
}
