/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading baselines; the format `baseline`. See baseline.h.
 *
 * Rule: what cannot be read is refused with its line, so is a file that was cut off; a later version is not guessed at.
 */
#include "reducer/comparison/baseline.h"

#include "reducer/comparison/baseline_kept.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_LINE "tfprof-baseline 3"
#define FIRST_LINE_2 "tfprof-baseline 2" /* figures alone */
#define FIRST_LINE_1 "tfprof-baseline 1" /* without program and end, too */
#define ROWS_MOST 100 /* of a subject: some 100 bytes each, in a file that lies in a repository */

static const char *const units[] = {[UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes", [UNIT_NS] = "ns"};
static const char *const natures[] = {[FIGURE_WALL] = "wall", [FIGURE_TIME] = "processor", [FIGURE_FIXED] = "fixed"};
static const char *const kinds[] = {
	[UNIT_STEP] = "step", [UNIT_REQUEST] = "request", [UNIT_CALL] = "call", [UNIT_WHOLE] = "none"};
#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

static void put_figure(FILE *file, const struct figure *figure, const struct figures *runs, size_t run_count)
{
	fprintf(file, "figure\t%s\t%s\t%s", figure->id, units[figure->unit], natures[figure->nature]);
	for (size_t i = 0; i < run_count; i++) {
		const struct figure *of_run = figures_find(&runs[i], figure->id);
		if (of_run)
			fprintf(file, "\t%.0f", of_run->value);
		else
			fputs("\t-", file);
	}
	fputc('\n', file);
}

/* Tabs and ends of lines are the format's own. */
static void put_program(FILE *file, const char *program)
{
	fputs("\nprogram\t", file);
	for (const char *at = program; *at; at++)
		fputc((unsigned char)*at < ' ' ? '?' : *at, file);
}

static void write_baseline(FILE *file, const struct request *request)
{
	const struct figures *joined = &request->compared->after;
	const struct figures *runs = request->compared->after_runs ? request->compared->after_runs : joined;
	size_t written = 0, kept;

	fputs(FIRST_LINE, file);
	put_program(file, request->run->program);
	fprintf(file, "\nof\t%s\nruns\t%zu\n", kinds[joined->kind], joined->run_count);
	fputs("steps", file);
	for (size_t i = 0; i < joined->run_count; i++)
		fprintf(file, "\t%zu", runs[i].step_count);
	fputs("\nwaited", file); /* in thousandths of the steps' time */
	for (size_t i = 0; i < joined->run_count; i++)
		if (runs[i].busy >= 0)
			fprintf(file, "\t%.0f", runs[i].busy * 1000);
		else
			fputs("\t-", file);
	fputc('\n', file);
	for (size_t i = 0; i < joined->count; i++)
		if (joined->items[i].value > 0 || joined->items[i].nature == FIGURE_FIXED) { /* nothing live at the end is a figure */
			put_figure(file, &joined->items[i], runs, joined->run_count);
			written++;
		}
	kept = baseline_put_kept(file, request->compared->after_kept, ROWS_MOST);
	fprintf(file, "end\t%zu\t%zu\n", written, kept);
}

/* A file while it is read. */
struct baseline {
	const char *path;
	size_t line;
	struct figures *runs;
	size_t run_count, figure_count;
	enum unit_kind kind;
	char *program;
	struct kept *kept; /* NULL = it is of a version without */
	size_t kept_lines;
	bool has_end, is_ended;
	char **fields; /* of the line at hand: as many as runs, and four more */
	size_t field_count, field_room;
	off_t bytes; /* of the file */
};

static _Noreturn void refuse(const struct baseline *baseline, const char *reason)
{
	base_die("%s: line %zu: %s; write it again with -f baseline", baseline->path, baseline->line, reason);
}

bool baseline_is(const char *path)
{
	char begin[sizeof(FIRST_LINE)] = {0};
	struct stat status;
	FILE *file;
	bool is_one;

	/* Of a pipe nobody may ever write into the other end, and what was read could not be read again. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || !(file = fopen(path, "r")))
		return false;
	is_one = fgets(begin, sizeof(begin), file) && strncmp(begin, FIRST_LINE, strcspn(FIRST_LINE, " ") + 1) == 0;
	fclose(file);
	return is_one;
}

static size_t find(const struct baseline *baseline, const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && strcmp(words[i], word) == 0)
			return i;
	refuse(baseline, "a word that this program does not know");
}

/* A number, negative of "-". */
static double number(const struct baseline *baseline, const char *word)
{
	double value;

	if (!baseline_number(word, &value))
		refuse(baseline, "not a number");
	return value;
}

static size_t count_of(const struct baseline *baseline, const char *word)
{
	double count = number(baseline, word);

	if (count < 0)
		refuse(baseline, "not a number");
	return (size_t)count;
}

static void read_runs(struct baseline *baseline)
{
	double count = baseline->field_count == 2 ? number(baseline, baseline->fields[1]) : 0;

	if (baseline->run_count || count < 1 || count > (double)baseline->bytes || count != floor(count))
		refuse(baseline, "no number of runs");
	baseline->run_count = (size_t)count;
	baseline->runs = base_alloc(baseline->run_count, sizeof(*baseline->runs));
	for (size_t i = 0; i < baseline->run_count; i++)
		baseline->runs[i] = (struct figures){.run_count = 1, .busy = -1};
}

static void expect_values(const struct baseline *baseline, size_t from)
{
	if (!baseline->run_count || baseline->field_count != from + baseline->run_count)
		refuse(baseline, "not a value for each run");
}

static void read_figure(struct baseline *baseline)
{
	char **fields = baseline->fields;
	enum table_unit unit;
	enum figure_nature nature;

	expect_values(baseline, 4);
	baseline->figure_count++;
	unit = (enum table_unit)find(baseline, fields[2], units, COUNT(units));
	nature = (enum figure_nature)find(baseline, fields[3], natures, COUNT(natures));
	for (size_t i = 0; i < baseline->run_count; i++) {
		double value = number(baseline, fields[4 + i]);
		if (figures_find(&baseline->runs[i], fields[1]))
			refuse(baseline, "a figure for the second time");
		if (value >= 0)
			figures_add(&baseline->runs[i], fields[1], unit, nature, value, "of the baseline");
	}
}

static void read_end(struct baseline *baseline)
{
	if (count_of(baseline, baseline->fields[1]) != baseline->figure_count)
		refuse(baseline, "figures are missing above its end, or stand there twice");
	if (baseline->kept && count_of(baseline, baseline->fields[2]) != baseline->kept_lines)
		refuse(baseline, "rows or facts are missing above its end, or stand there twice");
	if (baseline->kept && (!baseline->kept->filters || baseline->kept->run_count != baseline->run_count))
		refuse(baseline, "it does not say of which runs its rows are");
	baseline->is_ended = true;
}

static void read_line(struct baseline *baseline)
{
	const char *what = baseline->fields[0];

	if (baseline->is_ended) {
		refuse(baseline, "it goes on behind its end");
	} else if (strcmp(what, "end") == 0 && baseline->field_count == (baseline->kept ? 3 : 2)) {
		read_end(baseline);
	} else if (baseline->kept && baseline_is_kept(what)) {
		const char *wrong = baseline_take_kept(baseline->kept, baseline->fields, baseline->field_count);
		if (wrong)
			refuse(baseline, wrong);
		baseline->kept_lines++;
	} else if (strcmp(what, "program") == 0 && baseline->field_count == 2 && !baseline->program) {
		baseline->program = base_copy(baseline->fields[1], strlen(baseline->fields[1]));
	} else if (strcmp(what, "runs") == 0) {
		read_runs(baseline);
	} else if (strcmp(what, "figure") == 0) {
		read_figure(baseline);
	} else if (strcmp(what, "of") == 0 && baseline->field_count == 2) {
		baseline->kind = (enum unit_kind)find(baseline, baseline->fields[1], kinds, COUNT(kinds));
	} else if (strcmp(what, "steps") == 0) {
		expect_values(baseline, 1);
		for (size_t i = 0; i < baseline->run_count; i++)
			baseline->runs[i].all_steps = baseline->runs[i].step_count = count_of(baseline, baseline->fields[1 + i]);
	} else if (strcmp(what, "waited") == 0) {
		expect_values(baseline, 1);
		for (size_t i = 0; i < baseline->run_count; i++) {
			double share = number(baseline, baseline->fields[1 + i]);
			baseline->runs[i].busy = share < 0 ? -1 : share / 1000;
		}
	} else {
		refuse(baseline, "nothing that this program knows");
	}
}

static void split(struct baseline *baseline, char *line)
{
	baseline->field_count = 0;
	line[strcspn(line, "\r\n")] = 0;
	for (char *at = line; at;) {
		char *tab = strchr(at, '\t');
		if (tab)
			*tab++ = 0;
		baseline->fields = base_grow(baseline->fields, &baseline->field_room, baseline->field_count + 1, sizeof(*baseline->fields));
		baseline->fields[baseline->field_count++] = at;
		at = tab;
	}
}

/* What the first line says. */
static void read_version(struct baseline *baseline, const char *line)
{
	bool is_newest = strcmp(line, FIRST_LINE) == 0;

	baseline->has_end = strcmp(line, FIRST_LINE_1) != 0;
	if (baseline->has_end && !is_newest && strcmp(line, FIRST_LINE_2) != 0)
		refuse(baseline, "a version of baselines that this program does not know");
	if (is_newest)
		baseline->kept = base_alloc(1, sizeof(*baseline->kept));
}

void baseline_read(struct compared *compared, const char *path)
{
	struct baseline baseline = {.path = path};
	FILE *file = fopen(path, "r");
	bool is_whole = true;
	struct stat status;
	char *line = NULL;
	size_t room = 0;

	if (!file || fstat(fileno(file), &status) != 0)
		base_die("%s: %s", path, strerror(errno));
	baseline.bytes = status.st_size;
	while (getline(&line, &room, file) > 0) {
		is_whole = strchr(line, '\n') != NULL;
		split(&baseline, line);
		if (++baseline.line == 1)
			read_version(&baseline, line);
		else if (line[0] && line[0] != '#')
			read_line(&baseline);
	}
	if ((baseline.has_end && !baseline.is_ended) || !is_whole)
		refuse(&baseline, "it is cut off here");
	if (!baseline.run_count || !baseline.runs[0].count)
		refuse(&baseline, "it ends here, without figures");
	free(line);
	free(baseline.fields);
	fclose(file);
	compared->before_runs = baseline.runs;
	figures_join(&compared->before, baseline.runs, baseline.run_count);
	compared->before.kind = baseline.kind;
	compared->before_program = baseline.program;
	compared->before_kept = baseline.kept;
}

const struct report_kind report_baseline = {
	.name = "baseline",
	.suffix = "baseline",
	.help = "figures of the run (--run=each: of each), its largest rows and its facts as a text file to keep, for --against",
	.tables = "op_stats,kernel_stats,python_time,native_time,memory.sites",
	.write_run = write_baseline,
};
