/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering runs. See sides.h. */
#include "reducer/sides.h"

#include "reducer/comparison/baseline.h"
#include "reducer/comparison/kept.h"
#include "reducer/tables/losses.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What tells runs apart, whatever path led there. */
struct identity {
	int64_t realtime_ns;
	uint64_t log_id;
};

/* A side while its runs are read. */
struct gathering {
	const struct options *options;
	const struct report_kind *format;
	struct asked *shown; /* is open already */
	bool is_older;
	const char *program; /* of the newer run that is shown */
	char *taken;	     /* of the runs that count, of the path that was read last */
	struct figures *runs;
	size_t run_count, run_room;
	struct kept *kept;
	unsigned subjects; /* whose rows are wanted */
	struct identity *seen;
	size_t seen_count, seen_room;
	size_t twice, foreign, damaged;
};

static const char *last_against(const struct options *options)
{
	return options->against[options->against_count - 1];
}

bool sides_open_base(struct asked *base, const struct options *options)
{
	const char *last = last_against(options);
	const char *const *paths;
	size_t count;

	base->options.name = NULL;
	for (size_t i = 0; i < options->against_count; i++)
		if (baseline_is(options->against[i]) && options->against_count > 1)
			base_die("--against=%s: a baseline stands alone; it may hold several runs", options->against[i]);
	if (options->against_count > 1 && !options->is_each)
		base_die("several --against are compared with --run=each only");
	if (baseline_is(last))
		return false;
	if (access(last, F_OK) == 0) {
		asked_open(base, &last, 1);
		return true;
	}
	base->options.name = last;
	paths = asked_paths(options, &count);
	if (!asked_try(base, paths, count))
		base_die("--against=%s: there is no log or directory of this name, and no run of it among the logs", last);
	return true;
}

static struct identity identity_of(const struct run *run)
{
	return (struct identity){run->realtime_ns, run->first_log_id};
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->realtime_ns == b->realtime_ns && a->log_id == b->log_id;
}

static bool is_new(struct gathering *gathering, const struct run *run)
{
	struct identity identity = identity_of(run);

	for (size_t i = 0; i < gathering->seen_count; i++)
		if (is_same(&gathering->seen[i], &identity))
			return false;
	gathering->seen = base_grow(gathering->seen, &gathering->seen_room, gathering->seen_count + 1, sizeof(*gathering->seen));
	gathering->seen[gathering->seen_count++] = identity;
	return true;
}

static void take(struct gathering *gathering, const struct request *request)
{
	gathering->runs = base_grow(gathering->runs, &gathering->run_room, gathering->run_count + 1, sizeof(*gathering->runs));
	figures_make(&gathering->runs[gathering->run_count++], request);
	kept_add(gathering->kept, request, gathering->subjects);
}

/* One run, opened for its figures alone unless it is the one that is shown. */
static void take_run(struct gathering *gathering, const char *path, const char *name)
{
	struct request request = gathering->options->request;
	struct asked asked = {
		.request = &request, .options = asked_options(gathering->options), .is_cut = gathering->shown->is_cut};
	struct identity shown = identity_of(gathering->shown->run), this;

	asked.options.name = name;
	asked_open(&asked, &path, 1);
	this = identity_of(asked.run);
	if (!is_new(gathering, asked.run)) {
		gathering->twice++;
	} else if (is_same(&this, &shown)) {
		take(gathering, gathering->shown->request);
	} else {
		asked_ready(&asked, gathering->options, gathering->format, NULL, 0);
		take(gathering, &request);
		gathering->damaged += losses_any(asked.run);
		asked_forget(&asked);
		return;
	}
	run_close(asked.run);
	diag_free(&asked.diags);
}

/* The program whose runs count of a path: the one that the newer side shows, or where no run is of it that of the newest run. */
static const char *choose_program(const struct gathering *gathering, const struct run *run)
{
	for (size_t i = 0; i < run->other_count; i++)
		if (strcmp(run->others[i].program, gathering->program) == 0)
			return gathering->program;
	return run->program;
}

/* All runs of a path that are of that program, oldest first. */
static void take_path(struct gathering *gathering, const char *path)
{
	struct request request = gathering->options->request;
	struct asked asked = {.request = &request, .options = asked_options(gathering->options)};
	const char *program;

	asked_open(&asked, &path, 1);
	program = choose_program(gathering, asked.run);
	for (size_t i = asked.run->other_count; i-- > 0;)
		if (strcmp(asked.run->others[i].program, program) == 0)
			take_run(gathering, path, asked.run->others[i].name);
		else
			gathering->foreign++;
	if (strcmp(asked.run->program, program) == 0)
		take_run(gathering, path, asked.run->name);
	else
		gathering->foreign++;
	free(gathering->taken);
	gathering->taken = base_copy(program, strlen(program));
	run_close(asked.run);
	diag_free(&asked.diags);
}

static void finish(struct gathering *gathering, struct figures *joined, struct figures **runs)
{
	const char *side = gathering->is_older ? "the older side" : "the newer side";

	kept_finish(gathering->kept);
	if (gathering->twice)
		base_note("--run=each: %zu run%s of %s named twice: counted once", gathering->twice,
			  gathering->twice == 1 ? "" : "s", side);
	if (gathering->foreign)
		base_note("--run=each: %zu run%s of other programs than '%s' left out of %s", gathering->foreign,
			  gathering->foreign == 1 ? "" : "s", gathering->taken, side);
	if (gathering->run_count == 1) {
		*joined = gathering->runs[0];
		free(gathering->runs);
	} else {
		*runs = gathering->runs;
		figures_join(joined, gathering->runs, gathering->run_count);
	}
}

static void gather(struct gathering *gathering, struct figures *joined, struct figures **runs)
{
	const struct options *options = gathering->options;
	size_t count = options->against_count;
	const char *const *paths = gathering->is_older ? options->against : asked_paths(options, &count);

	if (!options->is_each || (gathering->is_older && access(last_against(options), F_OK) != 0)) {
		take(gathering, gathering->shown->request);
		is_new(gathering, gathering->shown->run);
	} else {
		for (size_t i = 0; i < count; i++)
			take_path(gathering, paths[i]);
	}
	finish(gathering, joined, runs);
}

/* A path mistyped compares runs with themselves, and each limit is kept. */
static void say_on_both(const struct gathering *after, const struct gathering *before)
{
	size_t both = 0;

	for (size_t i = 0; i < after->seen_count; i++)
		for (size_t k = 0; k < before->seen_count; k++)
			both += is_same(&after->seen[i], &before->seen[k]);
	if (both)
		base_note("--against: %zu of %zu newer runs stand%s on the older side, too: compared with %s", both, after->seen_count,
			  both == 1 ? "s" : "", both == 1 ? "itself" : "themselves");
}

static void say_of_another(const struct compared *compared, const struct options *options, const char *program)
{
	if (compared->before_program && strcmp(compared->before_program, program) != 0)
		base_note("--against=%s: the baseline is of '%s', these runs are of '%s'", last_against(options),
			  compared->before_program, program);
}

/* Of the run that is shown. */
static void take_traits(struct gathering *gathering)
{
	struct request plain = figures_plain(gathering->shown->request);

	if (gathering->subjects & KEPT_FACTS)
		traits_make(&gathering->kept->traits, &plain);
}

static struct gathering gathering_of(const struct options *options, const struct report_kind *format, struct asked *shown,
				     const struct table_kind *const *kinds, size_t kind_count)
{
	return (struct gathering){
		.options = options,
		.format = format,
		.shown = shown,
		.kept = base_alloc(1, sizeof(struct kept)),
		.subjects = format == &report_baseline ? KEPT_ALL : kept_wanted(kinds, kind_count),
	};
}

size_t sides_compare(struct compared *compared, const struct options *options, const struct report_kind *format,
		     const struct table_kind *const *kinds, size_t kind_count, struct asked *after, struct asked *base)
{
	struct gathering newer = gathering_of(options, format, after, kinds, kind_count);
	struct gathering older = {0};

	newer.program = after->run->program;
	gather(&newer, &compared->after, &compared->after_runs);
	compared->after_kept = newer.kept;
	take_traits(&newer);
	if (base) {
		older = gathering_of(options, format, base, kinds, kind_count);
		older.is_older = true;
		older.program = after->run->program;
		gather(&older, &compared->before, &compared->before_runs);
		compared->before_kept = older.kept;
		take_traits(&older);
	} else if (options->against_count) {
		baseline_read(compared, last_against(options));
	}
	say_of_another(compared, options, after->run->program);
	say_on_both(&newer, &older);
	free(newer.seen);
	free(newer.taken);
	free(older.seen);
	free(older.taken);
	return newer.damaged + older.damaged;
}
