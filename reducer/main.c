/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfprof-reduce: from logs to reports.
 *
 * Rule: the edge of the offline side: here, and in base_die, things are printed and the exit status is decided: 0 whole,
 * 1 cannot (nothing printed but the reason), 2 answered but something was damaged or lost, 3 answered but a limit is exceeded,
 * 4 answered but a limit cannot be judged.
 */
#include "reducer/asked.h"
#include "reducer/base/output.h"
#include "reducer/check.h"
#include "reducer/dump.h"
#include "reducer/comparison/baseline.h"
#include "reducer/options.h"
#include "reducer/progress.h"
#include "reducer/report/catalogue.h"
#include "reducer/report/summary.h"
#include "reducer/sides.h"
#include "reducer/tables/losses.h"
#include "reducer/usage.h"

#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIDTH_UNKNOWN 100 /* where stdout is no terminal */
#define WIDTH_LEAST 40

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
	report->height =
		measure(size.ws_row ? size.ws_row - 1U : 0, "LINES", SUMMARY_LINES, SUMMARY_LINES_LEAST, SUMMARY_LINES_MOST);
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

	if (kind->is_single && (set->count > 1 || output_names_folder(options->output))) {
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
	for (size_t i = 0; i < table->note_count; i++) {
		fprintf(stderr, "%s: %s: ", table->kind->id, note_kind_name(table->notes[i].kind));
		base_print(stderr, table->notes[i].text);
		fputc('\n', stderr);
	}
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

/* What the first line of a report and stderr say when the answer is not whole. */
static void put_problem(struct text *problem, const struct run *run)
{
	uint64_t lost = 0, logs = 0;

	for (size_t i = 0; i < run->process_count; i++)
		for (size_t k = 0; k < run->processes[i].loss_count; k++) {
			const struct loss *loss = &run->processes[i].losses[k];
			if (loss_is_of_process(loss->kind))
				logs += loss->count;
			else if (!loss_is_degraded(loss->kind))
				lost += loss->count;
		}
	text_string(problem, "Not whole:");
	if (lost)
		text_format(problem, " %llu record%s lost", (unsigned long long)lost, lost == 1 ? " was" : "s were");
	if (logs)
		text_format(problem, "%s the log%s of %llu process%s %s missing", lost ? " and" : "", logs == 1 ? "" : "s",
			    (unsigned long long)logs, logs == 1 ? "" : "es", logs == 1 ? "is" : "are");
	if (run->diags->damage)
		text_format(problem, "%s %llu place%s in the logs %s damaged", lost || logs ? " and" : "",
			    (unsigned long long)run->diags->damage, run->diags->damage == 1 ? "" : "s",
			    run->diags->damage == 1 ? "is" : "are");
	if (!lost && !logs && !run->diags->damage)
		text_string(problem, " something about GPUs is missing");
	text_string(problem, " (-t losses says which).");
}

/* What a format draws of a run while others make its tables. */
struct drawing {
	const struct report_kind *format;
	const struct request *request;
	struct text text;
};

static void draw(void *context)
{
	struct drawing *drawing = context;

	drawing->format->draw(&drawing->text, drawing->request);
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
				 .problem = problem};
	struct drawing drawing = {.format = format, .request = request};
	struct run_errand *errand = NULL;

	if (format->draw && !options->tables) {
		errand = run_send(request->run, draw, &drawing);
		set.drawing = &drawing.text;
	}
	request_run_analyses(request, kinds, kind_count);
	for (size_t i = 0; i < kind_count; i++) {
		progress_step(&analysing, 0, 0);
		tables[i] = tables_make(kinds[i], request);
	}
	run_await(errand);
	progress_end(&analysing);
	write_report(options, format, &set);
	for (size_t i = 0; i < kind_count; i++) {
		if (format->is_single)
			tell_notes(tables[i]);
		table_free(tables[i]);
	}
	text_free(&drawing.text);
	free(tables);
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

static bool is_control(char byte)
{
	return (unsigned char)byte < ' ' || byte == 127;
}

/* With newlines and the like in it, which a terminal cannot show: bash, zsh and ksh take $'...'. */
static void put_controls(struct text *out, const char *word)
{
	text_string(out, "$'");
	for (; *word; word++)
		if (is_control(*word))
			text_format(out, "\\%03o", (unsigned)*word);
		else
			text_format(out, *word == '\'' || *word == '\\' ? "\\%c" : "%c", *word);
	text_char(out, '\'');
}

/* A word as a shell takes it, behind a blank if it is not the first. */
static void put_word(struct text *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:@%+,-";
	size_t controls = 0;

	for (const char *at = word; *at; at++)
		controls += is_control(*at);
	if (out->length)
		text_char(out, ' ');
	if (word[0] && strspn(word, plain) == strlen(word)) {
		text_string(out, word);
		return;
	}
	if (controls) {
		put_controls(out, word);
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

static void put_option(struct text *out, const char *option, const char *value)
{
	if (!value)
		return;
	put_word(out, option);
	put_word(out, value);
}

/* The logs, which run of them, and which processes of that, as the user named them. */
static void put_logs(struct text *out, const struct options *options)
{
	put_option(out, "--run", options->run);
	put_option(out, "--process", options->request.process);
	put_option(out, "--host", options->request.host);
	put_option(out, "--rank", options->request.rank);
	for (size_t i = 0; i < options->path_count; i++)
		put_word(out, options->paths[i]);
}

static void write_summary(const struct options *options, const struct report_kind *format, const char *name)
{
	FILE *file = output_open(options->output), *memory;
	struct report_options report = options->report;
	struct text program = {0}, logs = {0};
	char *text = NULL;
	size_t length;

	memory = open_memstream(&text, &length);
	if (!memory)
		base_die("out of memory for the summary");
	put_word(&program, name);
	put_logs(&logs, options);
	report.width = report.width > SUMMARY_WIDTH_LEAST ? report.width : SUMMARY_WIDTH_LEAST;
	summary_write(memory, &options->request, &report,
		      &(struct summary_call){program.bytes, logs.length ? logs.bytes : ""});
	fclose(memory);
	progress_end(&analysing);
	fputs(format->summary_begin ? format->summary_begin : "", file);
	fwrite(text, 1, length, file);
	fputs(format->summary_end ? format->summary_end : "", file);
	free(text);
	text_free(&program);
	text_free(&logs);
	output_close(file, options->output);
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

/* A view leaves out what has nothing to show; a table that was named says what it lacks. */
static size_t without_what_is_missing(const struct options *options, const struct report_kind *format, const struct table_kind **kinds,
				      size_t count)
{
	bool has_limits = options->figure_limits.count;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_named = options->tables ? strstr(options->tables, kinds[i]->id) != NULL : format->tables != NULL;
		if (kinds[i]->needs_limits && !has_limits && is_named && !(options->tables && options->against_count))
			base_die("-t %s tells of limits: give one, for example --limit=step_p50=5%%", kinds[i]->id);
		if (kinds[i]->needs_base && !options->against_count)
			base_die("-t %s compares two runs: name the older one with --against=LOG", kinds[i]->id);
		if (kinds[i]->needs_limits && !has_limits && (format->is_for_reading || !options->against_count) && !is_named)
			continue;
		kinds[kept++] = kinds[i];
	}
	return kept;
}

/* The tables that are wanted; none = the summary, or a time line. */
static size_t choose_tables(const struct options *options, const struct report_kind *format, const struct table_kind ***kinds)
{
	const char *words = options->tables ? options->tables : format->tables ? format->tables : "all";
	size_t count;

	if (format->write_run || format->write_folder || (!options->tables && format->is_for_reading && !options->against_count))
		return 0;
	if (!options->tables && options->against_count && !format->tables)
		words = format->is_for_reading ? "comparison" : "all,comparison";
	count = tables_select(words, kinds);
	count = without_what_is_missing(options, format, *kinds, count);
	return format->leaves_out_launches && !options->tables ? without_launches(*kinds, count) : count;
}

static void print(struct options *options, const struct report_kind *format, const struct table_kind *const *kinds,
		  size_t kind_count, const char *problem, const char *program)
{
	if (options->output || !isatty(STDOUT_FILENO) || !format->write_run) /* which would write to the terminal meanwhile */
		progress_start(&analysing, "analysing");
	run_progress(options->request.run, progress_step, &analysing);
	if (format->write_run || format->write_folder)
		write_run(options, format);
	else if (kind_count)
		report(options, format, kinds, kind_count, problem);
	else
		write_summary(options, format, program);
}

/* A folder of --sysroot or --symbols that is not there is a slip: names would be missing without a word. */
static void refuse_folders(const char *option, const char *list)
{
	for (const char *at = list; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int length = (int)(strcmp(option, "--sysroot") == 0 ? strlen(at) : strcspn(at, ":"));
		struct text path = {0};
		text_format(&path, "%.*s", length, at);
		if (length && !output_is_folder(path.bytes))
			base_die("%s=%s: %s", option, path.bytes,
				 access(path.bytes, F_OK) == 0 ? "this is no directory" : strerror(errno));
		text_free(&path);
		if (strcmp(option, "--sysroot") == 0)
			return;
	}
}

/* What was lost or damaged, of both runs that are shown and of the others. */
static void put_problems(struct text *problem, const struct run *run, const struct run *base, size_t further)
{
	if (losses_any(run))
		put_problem(problem, run);
	if (base && losses_any(base)) {
		text_string(problem, problem->length ? " Of the older run: " : "Of the older run: ");
		put_problem(problem, base);
	}
	if (further)
		text_format(problem, "%sOf %zu further run%s (--run=each) something was lost or damaged.",
			    problem->length ? " " : "", further, further == 1 ? "" : "s");
}

/* Exit status by the worst that was found. */
static int status_of(enum limit_state limits, const struct text *problem)
{
	if (limits == LIMIT_EXCEEDED)
		return 3;
	if (limits == LIMIT_UNSURE)
		return 4;
	return problem->length ? 2 : 0;
}

/* Opens both sides and works out their figures, where anybody asks for them. Returns how many further runs are damaged. */
static size_t open_sides(struct options *options, const struct report_kind *format, struct asked *asked, struct asked *base,
			 struct compared *compared, const struct table_kind *const *kinds, size_t kind_count)
{
	size_t count;
	const char *const *paths = asked_paths(options, &count);
	size_t further = 0;

	asked_open(asked, options->is_each ? &paths[count - 1] : paths, options->is_each ? 1 : count);
	if (options->against_count && sides_open_base(base, options)) {
		asked_ready(base, options, format, kinds, kind_count);
		request_run_analyses(base->request, kinds, kind_count);
		options->request.base = base->request;
	}
	asked_ready(asked, options, format, kinds, kind_count);
	if (format == &report_baseline) /* all at once: rows and figures */
		request_run_analyses(asked->request, kinds, kind_count);
	if (options->against_count || options->figure_limits.count || format == &report_baseline) {
		further = sides_compare(compared, options, format, kinds, kind_count, asked, options->request.base ? base : NULL);
		options->request.compared = compared;
	}
	return further;
}

/* What of call stacks is damaged is found where they are read: here, where the answer has them, before it says whether it is whole. */
static void read_stacks(const struct request *request, const struct report_kind *format, const struct table_kind *const *kinds,
			size_t kind_count)
{
	bool are_shown = !kind_count && !format->write_run && !format->write_folder;

	for (size_t i = 0; i < kind_count; i++)
		are_shown |= table_has_stacks(kinds[i]) || kinds[i] == &table_losses; /* which says all that is damaged */
	for (size_t i = 0; are_shown && i < request->run->process_count; i++)
		if (request_wants_process(request, &request->run->processes[i]))
			frames_load(request->frames, i);
}

/* The tables that are read: those that are printed, or what a format of the run makes its own of. */
static size_t choose_read(const struct report_kind *format, const struct table_kind **kinds, size_t kind_count,
			  const struct table_kind ***read)
{
	*read = kinds;
	return format->write_run && format->tables ? tables_select(format->tables, read) : kind_count;
}

static int reduce(struct options *options, const struct report_kind *format, const char *program)
{
	struct request base_request = options->request;
	struct asked asked = {.request = &options->request, .options = asked_options(options)};
	struct asked base = {.request = &base_request, .options = asked.options};
	const struct table_kind **kinds = NULL, **read;
	size_t kind_count = choose_tables(options, format, &kinds), read_count = choose_read(format, kinds, kind_count, &read), further;
	struct text problem = {0}, exceeded = {0};
	struct compared compared = {0};
	enum limit_state limits = LIMIT_NONE;
	int status;

	usage_check(options, format, kinds, kind_count);
	refuse_folders("--sysroot", options->symbols.sysroot);
	refuse_folders("--symbols", options->symbols.path);
	/* The first screen speaks of a run as a whole: of one of which some processes are wanted, as if there were no others. */
	asked.is_cut = !kind_count && !format->write_run && !format->write_folder;
	further = open_sides(options, format, &asked, &base, &compared, read, read_count);
	read_stacks(asked.request, format, read, read_count);
	put_problems(&problem, asked.run, base.run, further);
	if (options->figure_limits.count)
		limits = figure_limits_check(&options->figure_limits, &compared, &exceeded);
	print(options, format, kinds, kind_count, problem.bytes, program);
	if (problem.length)
		base_note("%s", problem.bytes);
	if (exceeded.length)
		fprintf(stderr, "%s", exceeded.bytes);
	compared_free(&compared);
	asked_forget(&asked);
	if (base.run)
		asked_forget(&base);
	phases_free(&options->request.phases);
	status = status_of(limits, &problem);
	text_free(&problem);
	text_free(&exceeded);
	if (read != kinds)
		free(read);
	free(kinds);
	return status;
}

/* --dump and --check: the logs themselves, not what they say; of all runs, unless one is named. */
static int inspect(struct options *options)
{
	struct asked asked = {.request = &options->request, .options = asked_options(options)};
	size_t count;
	const char *const *paths = asked_paths(options, &count);
	FILE *file;
	int status;

	asked.options.name = options->run ? options->run : "all";
	asked_open(&asked, paths, count);
	file = output_open(options->output);
	if (options->action == ACTION_CHECK) {
		asked_scan(&asked);
		status = check_run(file, asked.run, &asked.options);
		if (status == 1)
			base_die("out of memory while reading the logs");
	} else {
		dump_run(file, asked.run);
		status = asked.diags.damage ? 2 : 0;
	}
	output_close(file, options->output);
	run_close(asked.run);
	diag_free(&asked.diags);
	return status;
}

/* Bytes from which memory comes in pages of its own. */
#define LARGE (1 << 20)

int main(int count, char **words)
{
	struct options options;
	const struct report_kind *format;
	int status = 0;

	output_claim_standard();
	/* Large arrays grow in place and go back when they are freed; left to itself malloc copies them once one was freed. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, 8 * LARGE); /* what one block of a log was decoded to, the next one takes: not back in between */
	setlocale(LC_CTYPE, "");
	signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of the write, which names the file */
	options_parse(&options, count, words);
	output_keep(options.paths, options.path_count);
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
