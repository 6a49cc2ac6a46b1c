/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of tfprof-reduce.
 *
 * Rule: one row an option.
 */
#include "reducer/options.h"

#include "reducer/base/pattern.h"
#include "writer/format.h"
#include "writer/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct option_row {
	const char *name;
	char letter;          /* 0 = none */
	const char *argument; /* what --help calls its value; NULL = takes none; "[...]" = may be left out, after = only */
	const char *help;
	/* What it does: stores its value at `text`, or chooses an action, or calls `take`. */
	size_t text; /* offset of a const char * in struct options; 0 = none */
	enum action action;
	void (*take)(struct options *options, const char *name, const char *value);
};

static uint64_t number(const char *name, const char *value, uint64_t smallest, uint64_t largest)
{
	char *end;
	unsigned long long parsed;

	errno = 0;
	parsed = strtoull(value, &end, 10);
	if (errno || value[0] < '0' || value[0] > '9' || *end || parsed < smallest || parsed > largest)
		base_die("--%s=%s: give a number from %llu to %llu", name, value, (unsigned long long)smallest,
			 (unsigned long long)largest);
	return parsed;
}

#define WINDOW_WORDS "write FROM-TO, for example 1.5s-20s, 300ms- or -2m; -60s- is the last minute"

#define MOMENT_MOST 9e18 /* ns that an int64_t holds: 285 years */

/* "1.5s" and the like, in ns; a bare number counts seconds. */
static int64_t moment(const char *name, const char *value, const char **end)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"", 1e9}};
	char *after;
	double count = strtod(value, &after);
	size_t i = 0;

	while (strncmp(after, units[i].suffix, strlen(units[i].suffix)) != 0)
		i++;
	if (after == value || !(count >= 0 && count * units[i].ns <= MOMENT_MOST))
		base_die("--%s: '%s' is no time; " WINDOW_WORDS, name, value);
	*end = after + strlen(units[i].suffix);
	return (int64_t)(count * units[i].ns);
}

static void take_window(struct options *options, const char *name, const char *value)
{
	const char *at = value;
	bool is_last = value[0] == '-' && strchr(value + 1, '-') == value + strlen(value) - 1;

	options->request.from_ns = INT64_MIN; /* of several the last one counts, whole */
	options->request.to_ns = INT64_MAX;
	options->request.last_ns = -1;
	if (is_last)
		options->request.last_ns = moment(name, at + 1, &at);
	else if (*at != '-')
		options->request.from_ns = moment(name, at, &at);
	if (*at != '-')
		base_die("--%s=%s: " WINDOW_WORDS, name, value);
	at++;
	if (*at)
		options->request.to_ns = moment(name, at, &at);
	if (*at || options->request.from_ns > options->request.to_ns)
		base_die("--%s=%s: " WINDOW_WORDS, name, value);
}

static void take_output(struct options *options, const char *name, const char *value)
{
	if (!value[0])
		base_die("--%s needs a path", name);
	options->output = value;
}

static void take_html(struct options *options, const char *name, const char *value)
{
	take_output(options, name, value);
	options->html = value;
	options->format = "html";
}

static void take_name(struct options *options, const char *name, const char *value)
{
	char reason[256];
	int error;

	if (options->name_regex)
		regfree(&options->name);
	options->name_regex = NULL;
	error = pattern_compile(&options->name, value, 0);
	if (error) {
		regerror(error, &options->name, reason, sizeof(reason));
		base_die("--%s=%s is no regular expression: %s", name, value, reason);
	}
	options->name_regex = value;
}

static void take_top(struct options *options, const char *name, const char *value)
{
	uint64_t top = number(name, value, 0, UINT32_MAX);

	options->request.top = top ? (size_t)top : SIZE_MAX;
	options->request.is_top_given = true;
}

/* A step's number, digits alone; false where there is none, or one too large. */
static bool step_number(const char **at, uint64_t *step)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*step = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

static void take_step(struct options *options, const char *name, const char *value)
{
	struct request *request = &options->request;
	const char *at = value;
	bool is_good = step_number(&at, &request->first_step);

	request->last_step = request->first_step;
	if (is_good && *at == '-') {
		request->last_step = UINT64_MAX;
		at++;
		is_good = !*at || step_number(&at, &request->last_step);
	}
	if (!is_good || *at || request->first_step > request->last_step)
		base_die("--%s=%s: write a step's number or FIRST-LAST, for example 10-20", name, value);
	request->has_steps = true;
}

/* The place of a word in a list ended by NULL; dies where it is not there. */
static int choose(const char *name, const char *value, const char *const *words)
{
	struct text all = {0};

	for (int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			text_free(&all);
			return i;
		}
		text_format(&all, "%s%s", i ? ", " : "", words[i]);
	}
	base_die("--%s=%s: give one of %s", name, value, all.bytes);
}

static void take_split(struct options *options, const char *name, const char *value)
{
	static const char *const words[] = {"ours", "tf", "torch", NULL};

	options->request.analysis.split = (enum analysis_split)choose(name, value, words);
}

static void take_step_time(struct options *options, const char *name, const char *value)
{
	static const char *const words[] = {"period", "span", NULL};

	options->request.analysis.step_time = (enum analysis_step_time)choose(name, value, words);
}

static void take_group(struct options *options, const char *name, const char *value)
{
	options->request.group = (enum op_group)choose(name, value, request_groups);
}

static void take_idle(struct options *options, const char *name, const char *value)
{
	static const char *const words[] = {"out", "in", NULL};

	options->request.is_with_idle = choose(name, value, words) == 1;
}

static void take_phase(struct options *options, const char *name, const char *value)
{
	const char *equals = strchr(value, '=');
	char reason[256];
	int error;

	for (enum phase p = PHASE_FORWARD; equals && p < PHASES; p++) {
		if (strncmp(value, phase_name(p), (size_t)(equals - value)) != 0 || phase_name(p)[equals - value])
			continue;
		if (!equals[1])
			break; /* it would fit every name */
		error = phases_set(&options->request.phases, p, equals + 1);
		if (!error)
			return;
		regerror(error, &options->request.phases.patterns[p], reason, sizeof(reason));
		base_die("--%s=%s: '%s' is no regular expression: %s", name, value, equals + 1, reason);
	}
	base_die("--%s=%s: write PHASE=REGEX; PHASE is forward, backward, optimiser or communication", name, value);
}

static void take_points(struct options *options, const char *name, const char *value)
{
	options->request.points = (size_t)number(name, value, 6, 8192);
}

static void take_threshold(struct options *options, const char *name, const char *value)
{
	rule_limits_set(&options->limits, name, value);
}

static void take_against(struct options *options, const char *name, const char *value)
{
	if (!value[0])
		base_die("--%s needs a log, a directory, a baseline or the name of a run", name);
	options->against = base_grow(options->against, &options->against_room, options->against_count + 1, sizeof(*options->against));
	options->against[options->against_count++] = value;
}

static void take_limit(struct options *options, const char *name, const char *value)
{
	figure_limits_take(&options->figure_limits, name, value);
}

static void take_frames(struct options *options, const char *name, const char *value)
{
	options->has_frames = true;
	options->report.frames = (unsigned)number(name, value, 0, 1000);
}

static void take_temporary(struct options *options, const char *name, const char *value)
{
	options->temporary = (unsigned)number(name, value, 1, 16);
}

/* The three forms of the help, below the table that they print. */
static void print_help(FILE *file);
static void print_manual(FILE *file);
static void print_words(FILE *file);

static void take_help(struct options *options, const char *name, const char *value)
{
	options->action = ACTION_HELP;
	options->help = print_help;
	if (value && strcmp(value, "man") == 0)
		options->help = print_manual;
	else if (value && strcmp(value, "words") == 0)
		options->help = print_words;
	else if (value)
		base_die("--%s=%s: other forms of this text are man and words", name, value);
}

static void print_version(FILE *file)
{
	fprintf(file, "tfprof-reduce %s, log format %d.%d\n", TFP_VERSION, TFP_FORMAT_MAJOR, TFP_FORMAT_MINOR);
}

static void take_version(struct options *options, const char *name, const char *value)
{
	(void)name, (void)value;
	options->action = ACTION_HELP;
	options->help = print_version;
}

static void take_jobs(struct options *options, const char *name, const char *value)
{
	options->jobs = (unsigned)number(name, value, 0, 4096);
}

#define TEXT(member) .text = offsetof(struct options, member)
static const struct option_row rows[] = {
	{"tables", 't', "ID[,ID]", "tables to print; the dotted beginning of several (memory), or all", TEXT(tables)},
	{"format", 'f', "FORMAT", "how it is printed (default text); --list names the formats", TEXT(format)},
	{"output", 'o', "PATH", "write to a file, or a directory where there are several files; - = standard output", .take = take_output},
	{"html", 0, "FILE", "all tables and charts in one file for a browser: -f html -o FILE", .take = take_html},
	{"list", 0, NULL, "list tables and formats; with -t their columns", .action = ACTION_LIST},
	{"run", 0, "NAME|all|each", "another run than the newest; all logs as one; each as a measurement of its own, for --against",
	 TEXT(run)},
	{"against", 0, "LOG|DIR|RUN|FILE", "compare with an older run, or a baseline (-f baseline): tables comparison.*; may be repeated",
	 .take = take_against},
	{"limit", 0, "NAME=VALUE",
	 "exit status 3 if a figure of comparison.* is larger: step_p50=5% (than --against), step_p50=12ms, peak:heap=2GiB; 4 if that "
	 "cannot be told; may be repeated",
	 .take = take_limit},
	{"window", 0, "FROM-TO", "only this time, counted from the start of the run: 1.5s-20s; or the last of it: -60s-",
	 .take = take_window},
	{"process", 0, "PID|NAME", "only this process, or all of this program", TEXT(request.process)},
	{"host", 0, "NAME", "only processes of this machine or container", TEXT(request.host)},
	{"rank", 0, "N", "only processes of this rank of the job (RANK, or what MPI, Slurm, Horovod, JAX and TF_CONFIG call it)",
	 TEXT(request.rank)},
	{"thread", 0, "TID|NAME", "only this thread", TEXT(request.thread)},
	{"allocator", 0, "NAME", "only this allocator: heap, mmap, device:0, pinned, ...", TEXT(request.allocator)},
	{"device", 0, "N|NAME", "only this GPU", TEXT(request.device)},
	{"stream", 0, "N|NAME", "only this stream of a GPU", TEXT(request.stream)},
	{"step", 0, "N|N-M", "only these steps, by the numbers that step_stats shows", .take = take_step},
	{"split", 0, "ours|tf|torch", "how an instant of a step is given to one part: ours (default), or as these tools do",
	 .take = take_split},
	{"step-time", 0, "period|span", "a step lasts to the next one (default), or from its first device work to its last",
	 .take = take_step_time},
	{"group-by", 0, "op|type|scope|module|kernel", "join rows of op_stats (all but kernel) and kernel_stats (op, kernel)",
	 .take = take_group},
	{"idle", 0, "in|out", "op_stats with a row for the time in which no op ran, or without it (default)", .take = take_idle},
	{"phase", 0, "PHASE=REGEX", "ops and ranges that are forward, backward, optimiser or communication; may be repeated",
	 .take = take_phase},
	{"name", 0, "REGEX", "only rows with a text or a function that matches", .take = take_name},
	{"sort", 0, "COLUMN", "order rows by a column; -COLUMN the other way round", TEXT(request.sort)},
	{"top", 0, "N", "only the first N rows; 0 = all", .take = take_top},
	{"points", 0, "N", "rows of a timeline at most (default 1000; as text 40)", .take = take_points},
	{"threshold", 0, "NAME=VALUE",
	 "from where on a rule of recommendations, and the verdict of the same, speaks, or off; -t rules names them; may be repeated",
	 .take = take_threshold},
	{"frames", 0, "N", "frames of a stack shown as text (default 8)", .take = take_frames},
	{"value", 0, "COLUMN", "weight of folded stacks: peak (default), leaked, total, allocations", TEXT(report.value)},
	{"temporary", 0, "N", "a block is temporary when freed within N allocations of its thread (default 1)", .take = take_temporary},
	{"sysroot", 0, "DIR", "look for programs and libraries below DIR", TEXT(symbols.sysroot)},
	{"symbols", 0, "DIR[:DIR]", "folders with programs, libraries or debug files, looked in first", TEXT(symbols.path)},
	{"check", 0, NULL, "check the logs and say what is damaged or lost", .action = ACTION_CHECK},
	{"dump", 0, NULL, "print every record of a log", .action = ACTION_DUMP},
	{"jobs", 'j', "N", "threads to use, at most 8; 0, the default: one a processor; the answer is the same", .take = take_jobs},
	{"help", 'h', "[=man|words]", "this text, its manual page, or the options for a script", .take = take_help},
	{"version", 0, NULL, "the version of tfprof and of its logs", .take = take_version},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const char usage[] = "tfprof-reduce [OPTIONS] [LOG|DIR...]";
static const char description[] =
	"Reports on what libtfprof.so recorded: logs (*.tfp), directories of them, or of such directories. Without LOG or "
	"DIR: " OPTIONS_DEFAULT_LOGS ". Without -t: a summary of the newest run. A run is a tree of processes; other runs in the same "
	"directory are named.";
static const char environment[] =
	"COLUMNS and LINES are the size of the screen where stdout is no terminal; NO_COLOR, where it is not empty, turns colour off; "
	"TMPDIR is for what does not fit in memory.";
static const char exit_status[] =
	"0 whole, 1 cannot (nothing printed but the reason), 2 answered but something was damaged or lost, 3 answered but a --limit is "
	"exceeded, 4 answered but whether a --limit is exceeded cannot be told.";

/* "-t, --tables=ID[,ID]" */
static void put_term(struct text *term, const struct option_row *row)
{
	if (row->letter)
		text_format(term, "-%c, ", row->letter);
	text_format(term, "--%s", row->name);
	if (row->argument)
		text_format(term, row->argument[0] == '[' ? "%s" : "=%s", row->argument);
}

static void print_help(FILE *file)
{
	struct text lines = {0};

	text_wrap(&lines, "", description, 100);
	fprintf(file, "usage: %s\n%s\n", usage, lines.bytes);
	text_free(&lines);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct text term = {0};
		put_term(&term, &rows[i]);
		fprintf(file, "  %-24s %s\n", term.bytes, rows[i].help);
		text_free(&term);
	}
	fprintf(file, "\nExit status: %s\nEnvironment: %s\n", exit_status, environment);
}

/* Text in a manual page: a '-' that can be copied, no accidental request. */
static void put_roff(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			fputc('\\', file);
		fputc(*text == '\\' ? 'e' : *text, file);
	}
	fputc('\n', file);
}

static void put_roff_item(FILE *file, const char *term, const char *meaning)
{
	fputs(".TP\n.B ", file);
	put_roff(file, term);
	put_roff(file, meaning);
}

static void print_manual(FILE *file)
{
	fputs(".TH TFPROF-REDUCE 1 \"\" tfprof\n.SH NAME\ntfprof-reduce \\- report on the logs of libtfprof.so\n.SH USAGE\n.PP\n", file);
	put_roff(file, usage);
	fputs(".SH DESCRIPTION\n.PP\n", file);
	put_roff(file, description);
	fputs(".SH OPTIONS\n", file);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct text term = {0};
		put_term(&term, &rows[i]);
		put_roff_item(file, term.bytes, rows[i].help);
		text_free(&term);
	}
	fputs(".SH TABLES\n", file);
	for (size_t i = 0; i < table_kind_count; i++)
		put_roff_item(file, table_kinds[i]->id, table_kinds[i]->help);
	fputs(".SH FORMATS\n", file);
	for (size_t i = 0; i < report_kind_count; i++)
		put_roff_item(file, report_kinds[i]->name, report_kinds[i]->help);
	fputs(".SH EXIT STATUS\n.PP\n", file);
	put_roff(file, exit_status);
	fputs("\n.SH ENVIRONMENT\n.PP\n", file);
	put_roff(file, environment);
	fputs("\n.SH SEE ALSO\n.PP\n.BR tfprof (1),\n.BR tfprof\\-settings (7)\n", file);
}

/* Fields between tabs: what scripts/completion makes completion for shells of. */
static void print_words(FILE *file)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		fprintf(file, "option\t\t%.*s\t%s\t%s\t%s\n", rows[i].letter != 0, &rows[i].letter, rows[i].name,
			rows[i].argument ? rows[i].argument : "", rows[i].help);
}

static const struct option_row *find_name(const char *word, size_t length)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, word, length) == 0)
			return &rows[i];
	return NULL;
}

static const struct option_row *find_letter(char letter)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (letter && rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

static _Noreturn void unknown_option(const char *word, size_t length)
{
	char *name = base_copy(word, length);
	struct base_nearest nearest = base_nearest_start(name);

	for (size_t i = 0; i < ROW_COUNT; i++)
		base_nearest_offer(&nearest, rows[i].name);
	if (nearest.best)
		base_die("there is no option '--%s'; did you mean '--%s'? --help shows all", name, nearest.best);
	base_die("there is no option '--%s'; --help shows all", name);
}

/* Takes the option at words[*i]; its value may be the next word. */
static void take_option(struct options *options, int count, char **words, int *i)
{
	const char *word = words[*i], *value = NULL;
	const struct option_row *row;

	if (word[1] == '-') {
		size_t length = strcspn(word + 2, "=");
		row = find_name(word + 2, length);
		if (!row)
			unknown_option(word + 2, length);
		if (word[2 + length] == '=')
			value = word + 3 + length;
	} else {
		row = find_letter(word[1]);
		if (!row)
			base_die("there is no option '-%c'; --help shows all", word[1]);
		if (word[2])
			value = word + 2;
	}
	if (!row->argument && value)
		base_die("--%s takes no value", row->name);
	if (row->argument && row->argument[0] != '[' && !value) {
		if (*i + 1 >= count)
			base_die("--%s needs a value: %s", row->name, row->argument);
		value = words[++*i];
	}
	if (row->take)
		row->take(options, row->name, value);
	else if (row->text)
		*(const char **)((char *)options + row->text) = value;
	else
		options->action = row->action;
}

/* Whether anything was given that chooses among processes, or among what they did. */
static bool has_filters(const struct options *options)
{
	const struct request *request = &options->request;

	return request->process || request->host || request->rank || options_choose_events(options) || options->against_count ||
	       options->figure_limits.count;
}

/* What would be passed over in silence is refused. */
static void check_together(const struct options *options)
{
	const char *action = options->action == ACTION_CHECK ? "check" : options->action == ACTION_DUMP ? "dump" : NULL;

	if (options->html && (strcmp(options->format, "html") != 0 || strcmp(options->output, options->html) != 0))
		base_die("--html=%s is -f html -o %s: leave -f and -o out, or --html", options->html, options->html);
	if (action && (options->tables || options->format))
		base_die("--%s prints neither tables nor formats: leave -t, -f and --html out, or --%s", action, action);
	if (action && has_filters(options))
		base_die("--%s looks at whole logs: leave filters, --against and --limit out, and name the logs that are meant", action);
}

bool options_choose_events(const struct options *options)
{
	const struct request *request = &options->request;

	return request->from_ns != INT64_MIN || request->last_ns >= 0 || request->to_ns != INT64_MAX || request->thread ||
	       request->allocator || request->device || request->stream || request->has_steps || options->name_regex || request->sort ||
	       request->is_top_given;
}

const char *options_choose_rows(const struct options *options)
{
	const struct request *request = &options->request;

	return options->name_regex    ? "name"
	       : request->sort	      ? "sort"
	       : request->is_top_given ? "top"
	       : request->allocator   ? "allocator"
				      : NULL;
}

void options_parse(struct options *options, int count, char **words)
{
	bool only_paths = false;

	*options = (struct options){
		.request = {.from_ns = INT64_MIN, .to_ns = INT64_MAX, .last_ns = -1, .top = SIZE_MAX},
		.report = {.frames = 8},
		.limits = rule_limits_default,
	};
	options->request.limits = &options->limits;
	options->request.figure_limits = &options->figure_limits;
	options->paths = base_alloc((size_t)count + 1, sizeof(*options->paths));
	for (int i = 1; i < count; i++) {
		if (only_paths || words[i][0] != '-' || !words[i][1])
			options->paths[options->path_count++] = words[i];
		else if (strcmp(words[i], "--") == 0)
			only_paths = true;
		else
			take_option(options, count, words, &i);
	}
	check_together(options);
	if (options->output && strcmp(options->output, "-") == 0)
		options->output = NULL;
	if (options->name_regex)
		options->request.name = &options->name;
	options->is_each = options->run && strcmp(options->run, "each") == 0;
	if (options->is_each)
		options->run = NULL;
}

void options_free(struct options *options)
{
	if (options->name_regex)
		regfree(&options->name);
	figure_limits_free(&options->figure_limits);
	free(options->against);
	free(options->paths);
}
