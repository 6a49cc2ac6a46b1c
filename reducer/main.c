/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof-reduce: from logs to reports.
 *
 * Rule: the edge of the offline side: here, and in base_die, things are printed and the exit status is decided: 0 whole,
 * 1 cannot (nothing printed but the reason), 2 answered but something was damaged or lost, 3 answered but a limit is exceeded.
 */
#include "reducer/base/output.h"
#include "reducer/check.h"
#include "reducer/dump.h"
#include "reducer/options.h"
#include "reducer/progress.h"
#include "reducer/report/catalogue.h"
#include "reducer/report/summary.h"
#include "reducer/tables/losses.h"
#include "reducer/tables/strangers.h"

#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOBS_MOST 8
#define WIDTH_UNKNOWN 100 /* where stdout is no terminal */
#define WIDTH_LEAST 40
#define POINTS_READ 40	 /* of a timeline: what a person looks through */
#define POINTS_FILE 1000 /* what a plot shows */

/* What the terminal says, else the environment, else `unknown`; within limits. */
static unsigned measure(unsigned told, const char *variable, unsigned unknown, unsigned least, unsigned most)
{
	const char *text = getenv(variable);
	unsigned long size = told;

	if (!size && text)
		size = strtoul(text, NULL, 10);
	if (!size || size > 1000) /* as nobody has */
		size = unknown;
	return size < least ? least : size > most ? most : (unsigned)size;
}

static void measure_terminal(struct report_options *report)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		size = (struct winsize){0};
	report->width = measure(size.ws_col, "COLUMNS", WIDTH_UNKNOWN, WIDTH_LEAST, 1000);
	/* The prompt that follows takes a line. */
	report->height = measure(size.ws_row ? size.ws_row - 1U : 0, "LINES", SUMMARY_LINES, SUMMARY_LINES_LEAST, SUMMARY_LINES_MOST);
}

/* https://no-color.org: any value that is not empty. */
static bool wants_colour(const struct options *options)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return !options->output && isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]) &&
	       !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Of what follows the first reading. Ends before something is printed. */
static struct progress analysing;

/* One file a table under the folder `output`, which is made when it is missing. */
static void write_files(const struct options *options, const struct report_kind *kind, const struct report_set *set)
{
	output_folder(options->output);
	for (size_t i = 0; i < set->count; i++) {
		struct report_set one = *set;
		struct text path = {0};
		FILE *file;
		text_format(&path, "%s/%s.%s", options->output, set->tables[i]->kind->id, kind->suffix);
		one.tables = &set->tables[i];
		one.count = 1;
		file = output_open(path.bytes);
		kind->write(file, &one, &options->report);
		output_close(file, path.bytes);
		text_free(&path);
	}
}

static void write_report(const struct options *options, const struct report_kind *kind, const struct report_set *set)
{
	FILE *file;

	if (kind->is_single && (set->count > 1 || output_is_folder(options->output))) {
		write_files(options, kind, set);
		return;
	}
	file = output_open(options->output);
	kind->write(file, set, &options->report);
	output_close(file, options->output);
}

/* csv has no place for notes: they go to stderr, so that they are not missed. */
static void tell_notes(const struct table *table)
{
	for (size_t i = 0; i < table->note_count; i++)
		fprintf(stderr, "%s: %s: %s\n", table->kind->id, note_kind_name(table->notes[i].kind), table->notes[i].text);
}

static int list(const struct options *options, const struct report_kind *format)
{
	const struct table_kind **kinds = NULL;
	size_t kind_count = 0, count;
	struct table **tables;
	struct report_set set;

	if (options->tables)
		kind_count = tables_select(options->tables, &kinds);
	if (format->write_run || format->write_folder)
		base_die("-f %s prints no tables: --list takes text, csv, json or markdown", format->name);
	tables = catalogue_make(kinds, kind_count, &count);
	set = (struct report_set){.tables = tables, .count = count, .title = "Tables of tfprof-reduce (--list)"};
	if (format->is_single && count > 1 && !options->output)
		base_die("-f %s prints one table a file: give -o DIR", format->name);
	write_report(options, format, &set);
	catalogue_free(tables, count);
	free(kinds);
	return 0;
}

static const char *const default_paths[] = {OPTIONS_DEFAULT_LOGS};

/* Opens the run; dies with the first reasons when there is none. */
static struct run *open_paths(const char *const *paths, size_t count, struct run_options *run_options, struct diag_list *diags)
{
	struct run *run = run_open(paths, count, run_options, diags);
	size_t i = 0;

	if (run)
		return run;
	while (i + 1 < diags->count && i < 9) {
		fprintf(stderr, "tfprof-reduce: %s: %s\n", diags->items[i].file, diags->items[i].reason);
		i++;
	}
	if (i < diags->count)
		base_die("%s: %s%s%s", diags->items[i].file, diags->items[i].reason, diags->items[i].remedy[0] ? "; " : "",
			 diags->items[i].remedy);
	base_die("no logs (*.tfp) in %s", paths[0]);
}

static struct run *open_run(const struct options *options, struct run_options *run_options, struct diag_list *diags)
{
	if (!options->path_count && access(OPTIONS_DEFAULT_LOGS, F_OK) != 0)
		base_die("there is no directory " OPTIONS_DEFAULT_LOGS " here; name one that holds logs, or make some: "
			 "tfprof run -- PROGRAM");
	return open_paths(options->path_count ? options->paths : default_paths, options->path_count ? options->path_count : 1,
			  run_options, diags);
}

/* --against: a log or a directory, else the name of another run of the same logs. */
static struct run *open_base(const struct options *options, struct run_options *run_options, struct diag_list *diags)
{
	struct run *run;

	run_options->name = NULL;
	if (access(options->against, F_OK) == 0)
		return open_paths(&options->against, 1, run_options, diags);
	run_options->name = options->against;
	run = run_open(options->path_count ? options->paths : default_paths, options->path_count ? options->path_count : 1, run_options,
		       diags);
	if (!run)
		base_die("--against=%s: there is no log or directory of this name, and no run of it among the logs", options->against);
	return run;
}

/* What the first line of a report and stderr say when the answer is not whole. */
static void put_problem(struct text *problem, const struct run *run)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].loss_count; k++)
			if (!loss_is_degraded(run->processes[i].losses[k].kind))
				lost += run->processes[i].losses[k].count;
	text_string(problem, "Not whole:");
	if (lost)
		text_format(problem, " %llu record%s lost", (unsigned long long)lost, lost == 1 ? " was" : "s were");
	if (run->diags->damage)
		text_format(problem, "%s %llu place%s in the logs %s damaged", lost ? " and" : "",
			    (unsigned long long)run->diags->damage, run->diags->damage == 1 ? "" : "s",
			    run->diags->damage == 1 ? "is" : "are");
	if (!lost && !run->diags->damage)
		text_string(problem, " something about GPUs is missing");
	text_string(problem, " (-t losses says which).");
}

/* Runs the analyses and prints them. Returns the number of tables. */
static void report(struct options *options, const struct report_kind *format, const struct table_kind *const *kinds,
		   size_t kind_count, const char *problem)
{
	const struct request *request = &options->request;
	struct table **tables = base_alloc(kind_count, sizeof(*tables));
	struct report_set set = {.tables = tables,
				 .count = kind_count,
				 .run = request->run->name,
				 .request = options->tables ? NULL : request,
				 .problem = problem};

	request_run_analyses(request, kinds, kind_count);
	for (size_t i = 0; i < kind_count; i++) {
		progress_step(&analysing, 0, 0);
		tables[i] = tables_make(kinds[i], request);
	}
	progress_end(&analysing);
	write_report(options, format, &set);
	for (size_t i = 0; i < kind_count; i++) {
		if (format->is_single)
			tell_notes(tables[i]);
		table_free(tables[i]);
	}
	free(tables);
}

static bool any_needs_scan(const struct table_kind *const *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kinds[i]->needs_scan)
			return true;
	return false;
}

/* What the one pass must know beforehand. */
static void prepare_scan(struct run_options *run_options, const struct request *request, const struct table_kind *const *kinds,
			 size_t count)
{
	run_options->has_window = request->from_ns != INT64_MIN || request->to_ns != INT64_MAX;
	run_options->from_ns = request->from_ns;
	run_options->to_ns = request->to_ns;
	for (size_t i = 0; i < count; i++)
		if (kinds[i]->needs_launches)
			run_options->wants_launches = 1;
}

static void scan(struct run *run, struct run_options *run_options)
{
	struct progress progress;

	progress_start(&progress, "reading");
	run_options->progress = progress_step;
	run_options->context = &progress;
	if (run_scan(run, run_options) != 0)
		base_die("out of memory while reading the logs");
	progress_end(&progress);
}

/* A filter that nothing fits is a slip: an empty answer would hide it. */
static void refuse_strangers(const struct request *request, bool is_older)
{
	struct text problem = {0};

	strangers_find(request, is_older, &problem);
	if (problem.length)
		base_die("%s", problem.bytes);
}

/* A format of the time line. */
static void write_run(const struct options *options, const struct report_kind *format)
{
	if (format->write_folder) {
		if (!options->output)
			base_die("-f %s writes a folder: give -o DIR", format->name);
		format->write_folder(options->output, &options->request);
		return;
	}
	FILE *file = output_open(options->output);
	format->write_run(file, &options->request);
	progress_end(&analysing);
	output_close(file, options->output);
}

/* A word as a shell takes it, behind a blank if it is not the first. */
static void put_word(struct text *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:@%+,-";

	if (out->length)
		text_char(out, ' ');
	if (word[0] && strspn(word, plain) == strlen(word)) {
		text_string(out, word);
		return;
	}
	text_char(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			text_string(out, "'\\''");
		else
			text_char(out, *word);
	text_char(out, '\'');
}

/* The logs, and which run of them, as the user named them. */
static void put_logs(struct text *out, const struct options *options)
{
	if (options->run) {
		put_word(out, "--run");
		put_word(out, options->run);
	}
	for (size_t i = 0; i < options->path_count; i++)
		put_word(out, options->paths[i]);
}

static void write_summary(const struct options *options, const char *name)
{
	FILE *file = output_open(options->output), *memory;
	struct text program = {0}, logs = {0};
	char *text = NULL;
	size_t length;

	memory = open_memstream(&text, &length);
	if (!memory)
		base_die("out of memory for the summary");
	put_word(&program, name);
	put_logs(&logs, options);
	summary_write(memory, &options->request, &options->report,
		      &(struct summary_call){program.bytes, logs.length ? logs.bytes : ""});
	fclose(memory);
	progress_end(&analysing);
	fwrite(text, 1, length, file);
	free(text);
	text_free(&program);
	text_free(&logs);
	output_close(file, options->output);
}

/* Filters without -t would be ignored by the summary: say so instead. */
static void check_usage(const struct options *options, const struct report_kind *format, size_t kind_count)
{
	const struct request *request = &options->request;

	if (options->against && (format->write_run || format->write_folder || format->tables))
		base_die("-f %s shows one run: leave --against out", format->name);
	if (format->write_run || format->write_folder) {
		if (options->tables)
			base_die("-f %s writes the time line, not tables: leave -t out", format->name);
		return;
	}
	if (!options->tables && !kind_count &&
	    (request->from_ns != INT64_MIN || request->to_ns != INT64_MAX || request->process || request->thread ||
	     request->allocator || request->device || request->stream || request->has_steps || request->name || request->sort ||
	     request->is_top_given))
		base_die("the summary takes no filters; choose a table, for example -t memory.sites");
	if (format->is_single && kind_count > 1 && !options->output)
		base_die("-f %s prints one table a file: give -o DIR, or name one table with -t", format->name);
}

/* Tables that need no single launches, moved to the front. Returns how many. */
static size_t without_launches(const struct table_kind **kinds, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kinds[i]->needs_launches)
			kinds[kept++] = kinds[i];
	return kept;
}

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

/* A run, and what is asked of it. */
struct asked {
	struct run *run;
	struct request *request;
	struct run_options options;
	struct diag_list diags;
};

static void ask(const struct options *options, const struct report_kind *format, struct asked *asked,
		const struct table_kind *const *kinds, size_t kind_count)
{
	struct request *request = asked->request;

	prepare_scan(&asked->options, request, kinds, kind_count);
	if (!kind_count || any_needs_scan(kinds, kind_count) || options->figure_limits.count)
		scan(asked->run, &asked->options);
	request->run = asked->run;
	refuse_strangers(request, request != &options->request);
	request->frames = frames_make(asked->run, &options->symbols);
	request->is_text = format->is_for_reading;
	if (!request->points)
		request->points = format->is_for_reading ? POINTS_READ : POINTS_FILE;
	request_open_analyses(request);
}

static void forget(struct asked *asked)
{
	request_close_analyses(asked->request);
	frames_free(asked->request->frames);
	run_close(asked->run);
	diag_free(&asked->diags);
}

/* The tables that are wanted; none = the summary, or a time line. */
static size_t choose_tables(const struct options *options, const struct report_kind *format, const struct table_kind ***kinds)
{
	const char *words = options->tables ? options->tables : format->tables ? format->tables : "all";
	size_t count;

	if (format->write_run || format->write_folder || (!options->tables && format->is_for_reading && !options->against))
		return 0;
	if (!options->tables && options->against)
		words = format->is_for_reading ? "comparison" : "all,comparison";
	count = tables_select(words, kinds);
	for (size_t i = 0; i < count; i++)
		if ((*kinds)[i]->needs_base && !options->against)
			base_die("-t %s compares two runs: name the older one with --against=LOG", (*kinds)[i]->id);
	return format->leaves_out_launches && !options->tables ? without_launches(*kinds, count) : count;
}

static void print(struct options *options, const struct report_kind *format, const struct table_kind *const *kinds, size_t kind_count,
		  const char *problem, const char *program)
{
	if (options->output || !isatty(STDOUT_FILENO) || !format->write_run) /* which would write to the terminal meanwhile */
		progress_start(&analysing, "analysing");
	run_progress(options->request.run, progress_step, &analysing);
	if (format->write_run || format->write_folder)
		write_run(options, format);
	else if (kind_count)
		report(options, format, kinds, kind_count, problem);
	else
		write_summary(options, program);
}

/* A folder of --sysroot or --symbols that is not there is a slip: names would be missing without a word. */
static void refuse_folders(const char *option, const char *list)
{
	for (const char *at = list; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int length = (int)(strcmp(option, "--sysroot") == 0 ? strlen(at) : strcspn(at, ":"));
		struct text path = {0};
		text_format(&path, "%.*s", length, at);
		if (length && !output_is_folder(path.bytes))
			base_die("%s=%s: %s", option, path.bytes, access(path.bytes, F_OK) == 0 ? "this is no directory" : strerror(errno));
		text_free(&path);
		if (strcmp(option, "--sysroot") == 0)
			return;
	}
}

static int reduce(struct options *options, const struct report_kind *format, const char *program)
{
	struct request base_request = options->request;
	struct asked asked = {.request = &options->request,
			      .options = {.name = options->run, .temporary = options->temporary, .jobs = jobs(options)}};
	struct asked base = {.request = &base_request, .options = asked.options};
	const struct table_kind **kinds = NULL;
	size_t kind_count = choose_tables(options, format, &kinds);
	struct text problem = {0}, exceeded = {0};
	int status = 0;

	check_usage(options, format, kind_count);
	refuse_folders("--sysroot", options->symbols.sysroot);
	refuse_folders("--symbols", options->symbols.path);
	asked.run = open_run(options, &asked.options, &asked.diags);
	if (options->against) {
		base.run = open_base(options, &base.options, &base.diags);
		ask(options, format, &base, kinds, kind_count);
		request_run_analyses(&base_request, kinds, kind_count);
		options->request.base = &base_request;
	}
	ask(options, format, &asked, kinds, kind_count);
	if (losses_any(asked.run))
		put_problem(&problem, asked.run);
	if (base.run && losses_any(base.run)) {
		text_string(&problem, problem.length ? " Of the older run: " : "Of the older run: ");
		put_problem(&problem, base.run);
	}
	if (problem.length)
		status = 2;
	if (figure_limits_check(&options->figure_limits, &options->request, &exceeded))
		status = 3;
	print(options, format, kinds, kind_count, problem.bytes, program);
	if (problem.length)
		fprintf(stderr, "tfprof-reduce: %s\n", problem.bytes);
	if (exceeded.length)
		fprintf(stderr, "%s", exceeded.bytes);
	forget(&asked);
	if (options->against)
		forget(&base);
	phases_free(&options->request.phases);
	text_free(&problem);
	text_free(&exceeded);
	free(kinds);
	return status;
}

/* --dump and --check: the logs themselves, not what they say; of all runs, unless one is named. */
static int inspect(struct options *options)
{
	struct diag_list diags = {0};
	struct run_options run_options = {
		.name = options->run ? options->run : "all", .temporary = options->temporary, .jobs = jobs(options)};
	struct run *run = open_run(options, &run_options, &diags);
	FILE *file = output_open(options->output);
	int status;

	if (options->action == ACTION_CHECK) {
		scan(run, &run_options);
		status = check_run(file, run, &run_options);
		if (status == 1)
			base_die("out of memory while reading the logs");
	} else {
		dump_run(file, run);
		status = diags.damage ? 2 : 0;
	}
	output_close(file, options->output);
	run_close(run);
	diag_free(&diags);
	return status;
}

int main(int count, char **words)
{
	struct options options;
	const struct report_kind *format;
	int status = 0;

	setlocale(LC_CTYPE, "");
	options_parse(&options, count, words);
	format = report_find(options.format ? options.format : "text");
	measure_terminal(&options.report);
	options.report.is_coloured = wants_colour(&options);
	switch (options.action) {
	case ACTION_HELP:
		options.help(stdout);
		output_close(stdout, NULL);
		break;
	case ACTION_LIST:
		status = list(&options, format);
		break;
	case ACTION_CHECK:
	case ACTION_DUMP:
		status = inspect(&options);
		break;
	case ACTION_REPORT:
		status = reduce(&options, format, words[0]);
		break;
	}
	output_commit();
	options_free(&options);
	return status;
}
