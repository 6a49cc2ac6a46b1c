/* SPDX-License-Identifier: Apache-2.0 */
/* Opening runs. See asked.h. */
#include "reducer/asked.h"

#include "reducer/base/base.h"
#include "reducer/progress.h"
#include "reducer/tables/strangers.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define JOBS_MOST 8
#define POINTS_READ 40	 /* of a timeline: what a person looks through */
#define POINTS_FILE 1000 /* what a plot shows */

/* -j; beyond JOBS_MOST more threads only wait for the one that joins what they decode. */
static unsigned jobs(const struct options *options)
{
	cpu_set_t cpus;
	unsigned count = 1;

	if (options->jobs)
		return options->jobs < JOBS_MOST ? options->jobs : JOBS_MOST;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		count = (unsigned)CPU_COUNT(&cpus);
	return count < JOBS_MOST ? count : JOBS_MOST;
}

struct run_options asked_options(const struct options *options)
{
	return (struct run_options){.name = options->run, .temporary = options->temporary, .jobs = jobs(options)};
}

const char *const *asked_paths(const struct options *options, size_t *count)
{
	static const char *const default_paths[] = {OPTIONS_DEFAULT_LOGS};

	if (!options->path_count && access(OPTIONS_DEFAULT_LOGS, F_OK) != 0)
		base_die("there is no directory " OPTIONS_DEFAULT_LOGS " here; name one that holds logs, or make some: "
			 "tfprof run -- PROGRAM");
	*count = options->path_count ? options->path_count : 1;
	return options->path_count ? options->paths : default_paths;
}

bool asked_try(struct asked *asked, const char *const *paths, size_t count)
{
	asked->run = run_open(paths, count, &asked->options, &asked->diags);
	return asked->run != NULL;
}

/* The file, the place in it but its start, what is wrong there, what to do. */
static void put_diag(struct text *said, const struct diag *diag)
{
	text_clear(said);
	text_string(said, diag->file);
	if (diag->offset && diag->offset != DIAG_NO_OFFSET)
		text_format(said, " at byte %" PRIu64, diag->offset);
	text_format(said, ": %s%s%s", diag->reason, diag->remedy[0] ? "; " : "", diag->remedy);
}

void asked_open(struct asked *asked, const char *const *paths, size_t count)
{
	const struct diag_list *diags = &asked->diags;
	struct text said = {0};
	size_t i = 0;

	if (asked_try(asked, paths, count))
		return;
	while (i + 1 < diags->count && i < 9) {
		put_diag(&said, &diags->items[i++]);
		base_note("%s", said.bytes);
	}
	if (i < diags->count) {
		put_diag(&said, &diags->items[i]);
		base_die("%s", said.bytes);
	}
	base_die("no logs (*.tfp) in %s", paths[0]);
}

static bool any_needs_scan(const struct table_kind *const *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kinds[i]->needs_scan)
			return true;
	return false;
}

/* Whether the pass alone tells if a filter names somebody. */
static bool names_what_is_recorded(const struct request *request)
{
	return request->allocator || request->device || request->stream;
}

/* What the one pass must know beforehand. */
static void prepare_scan(struct run_options *run_options, const struct request *request, const struct table_kind *const *kinds,
			 size_t count)
{
	run_options->has_window = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX;
	run_options->from_ns = request->from_ns;
	run_options->to_ns = request->to_ns;
	run_options->without = RUN_SUM_ALL & ~RUN_SUM_WORK;
	for (size_t i = 0; i < count; i++) {
		run_options->without &= ~kinds[i]->sums;
		if (kinds[i]->needs_launches)
			run_options->wants_launches = 1;
	}
}

void asked_scan(struct asked *asked)
{
	struct progress progress;

	progress_start(&progress, "reading");
	asked->options.progress = progress_step;
	asked->options.context = &progress;
	if (run_scan(asked->run, &asked->options) != 0)
		base_die("out of memory while reading the logs");
	progress_end(&progress);
	asked->options.progress = NULL;
	asked->options.context = NULL;
}

/* A filter that nothing fits is a slip: an empty answer would hide it. */
static void refuse_strangers(const struct request *request, bool is_older)
{
	struct text problem = {0};

	strangers_find(request, is_older, &problem);
	if (problem.length)
		base_die("%s", problem.bytes);
}

static void refuse_steps(const struct request *request)
{
	struct text problem = {0};

	strangers_find_steps(request, &problem);
	if (problem.length)
		base_die("%s", problem.bytes);
}

static bool is_wanted(const void *context, const struct process *process)
{
	return request_wants_process(context, process);
}

static void keep_wanted(struct asked *asked, const struct options *options)
{
	struct request *request = asked->request;

	if (!request->process && !request->host && !request->rank)
		return;
	request->run = asked->run;
	refuse_strangers(request, request != &options->request);
	run_keep(asked->run, is_wanted, request);
}

void asked_ready(struct asked *asked, const struct options *options, const struct report_kind *format,
		 const struct table_kind *const *kinds, size_t kind_count)
{
	struct request *request = asked->request;

	if (asked->is_cut)
		keep_wanted(asked, options);
	if (request->last_ns >= 0)
		request->from_ns = (asked->run->gone_ns > asked->run->duration_ns ? asked->run->gone_ns : asked->run->duration_ns) -
				   request->last_ns;
	prepare_scan(&asked->options, request, kinds, kind_count);
	if (format->is_without_sums && !options->figure_limits.count)
		asked->options.without = RUN_SUM_ALL;
	if (!kind_count || any_needs_scan(kinds, kind_count) || options->figure_limits.count || names_what_is_recorded(request))
		asked_scan(asked);
	request->run = asked->run;
	refuse_strangers(request, request != &options->request);
	request->frames = frames_make(asked->run, &options->symbols);
	request->is_text = format->is_for_reading;
	if (!request->points)
		request->points = format->is_for_reading ? POINTS_READ : POINTS_FILE;
	request_open_analyses(request);
	if (request == &options->request)
		refuse_steps(request);
}

void asked_forget(struct asked *asked)
{
	request_close_analyses(asked->request);
	frames_free(asked->request->frames);
	run_close(asked->run);
	diag_free(&asked->diags);
}
