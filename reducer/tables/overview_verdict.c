/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.verdict: what the steps wait for, in a sentence each, and the table to open next.
 *
 * Rule: shares are of the time of the steps that are judged (step_values.h), exposed time alone. The thresholds are those of the
 * TensorFlow Profiler (xprof's bottleneck analysis): input and output 20 and 5 percent, the rest 15 and 3. recommendations says
 * what to do.
 */
#include "reducer/tables/busy.h"
#include "reducer/tables/gpu_fault_say.h"
#include "reducer/tables/look_notes.h"
#include "reducer/tables/memory_out.h"
#include "reducer/tables/native_looks.h"
#include "reducer/tables/notes.h"
#include "reducer/tables/python_looks.h"
#include "reducer/tables/rare_rows.h"
#include "reducer/tables/rule_limits.h"
#include "reducer/tables/standstill.h"
#include "reducer/tables/step_unusual.h"
#include "reducer/tables/step_values.h"
#include "reducer/tables/verdict_lives.h"
#include "reducer/tables/verdict_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AREA, LEVEL, PERCENT, HIGH, MODERATE, SENTENCE, NEXT, COLUMNS };
static const struct table_column columns[] = {
	[AREA] = {"area", "area", TABLE_TEXT, UNIT_NONE, 0,
		  "what is judged; summary = all together; fault = that work on a device failed; memory = that memory "
		  "ran out, in a process that ended badly; standstill = that steps stopped"},
	[LEVEL] = {"level", "level", TABLE_TEXT, UNIT_NONE, 0,
		   "high, moderate, possible (input may hide in 'other'), none; unknown = there are no steps, or only devices would "
		   "tell and no record says what they did"},
	[PERCENT] = {"percent", "%", TABLE_REAL, UNIT_NONE, 0,
		     "of the time of the steps; of more than five the first does not count here"},
	[HIGH] = {"high_percent", "high from", TABLE_REAL, UNIT_NONE, 5, "threshold of the level high"},
	[MODERATE] = {"moderate_percent", "moderate from", TABLE_REAL, UNIT_NONE, 5, "threshold of the level moderate"},
	[SENTENCE] = {"sentence", "verdict", TABLE_TEXT, UNIT_NONE, 0, "what that means, in words"},
	[NEXT] = {"next", "next table", TABLE_TEXT, UNIT_NONE, 0, "that shows more of it (-t ID)"},
};

enum level { LEVEL_NONE, LEVEL_POSSIBLE, LEVEL_MODERATE, LEVEL_HIGH };
static const char *const level_names[] = {"none", "possible", "moderate", "high"};
#define COLLECTING_FROM 10.0 /* percent of the time */
#define PAUSES_FROM 0.1 /* likewise of steps that paused */
#define SMALLEST 0.05  /* percent that computes: less is not worth a clause */
#define MOST_FROM 75.0 /* percent of 'other' from which the processors' use speaks of it */
#define BUSY_FROM 0.7  /* processors: a thread that computes most of the time */
#define IDLE_FROM 0.1
#define LINE_FROM 5.0 /* percent of the time that make a line of Python worth naming */
#define MAIN_FROM 50.0 /* percent of 'other' from which nothing else can be the first thing to say */
#define HOST_FROM 50.0 /* percent that devices rest because of the host: then that is what to say first */
#define WITHOUT_FROM 0.05 /* of the judged time: of processes without devices, see devices.is_of_some */
#define PART_FROM 1.0  /* percent of a part of that that is worth naming */
#define POSSIBLE_FROM 3.0 /* percent of 'other' from which input may hide there */

static const struct area {
	const char *name;
	enum step_value value;
	double high, moderate; /* percent */
	const char *what;      /* "... % of the step time <what>" */
	const char *next;
} areas[] = {
	{"input", VALUE_INPUT, 20, 5, "goes to waiting for input", "input.verdict"},
	{"output", VALUE_OUTPUT, 20, 5, "goes to copies to the host that nothing hides", "copy_stats"},
	{"kernel launch", VALUE_KERNEL_LAUNCH, 15, 3, "goes to launching work", "api_stats"},
	{"collectives", VALUE_COLLECTIVES, 15, 3, "goes to communication between devices that no computing hides",
	 "stream_roles"},
	{"communication", VALUE_HOST_COMMUNICATION, 15, 3, "goes to exchanging data between processes or replicas while nothing computes",
	 "op_stats"},
	{"compilation", VALUE_COMPILATION, 15, 3, "goes to compiling or loading code", "compile_stats"},
	{"other", VALUE_OTHER, 15, 3, "goes to nothing that was recorded: ", "host_usage"},
};
#define AREAS (sizeof(areas) / sizeof(areas[0]))

/* What is known of devices. */
struct devices {
	bool did_work; /* some of it was recorded */
	bool is_of_some; /* much of the judged time is of processes that used none (actors of a learner): devices did not rest for it */
	bool has_no_python; /* of the host: no process is known to be an interpreter, and none would be passed over */
	struct step_unseen unseen;
};

#define WITH_PYTHON "Python, waiting, other libraries"
#define WITHOUT_PYTHON "its own code, waiting, other libraries"

static bool is_without_python(const struct run *run)
{
	for (size_t i = 0; i < run->process_count; i++)
		if (process_is_foreign(&run->processes[i]) || look_fact(&run->processes[i], "python") ||
		    strcmp(process_setting(&run->processes[i], "PYTHON"), "off") == 0)
			return false;
	return true;
}

/* "... % of the step time <that>": of what devices did meanwhile no more than the records tell. */
static void put_what(struct text *sentence, const struct area *area, const struct devices *devices)
{
	if (area->value == VALUE_OTHER && devices->unseen.has_strange) {
		text_string(sentence,
			    "goes to nothing that is counted here: devices told as ranges alone, " WITH_PYTHON);
		return;
	}
	text_string(sentence, area->what);
	if (area->value == VALUE_OTHER)
		text_string(sentence, devices->has_no_python ? WITHOUT_PYTHON : WITH_PYTHON);
	if (area->value == VALUE_INPUT && devices->did_work)
		text_string(sentence, " and copying it to the device");
	if (area->value == VALUE_KERNEL_LAUNCH)
		text_string(sentence, devices->unseen.is_much ? " (whether the devices rested then was not recorded)"
							      : " while the devices rest");
}

/* The table to open; of a file of another profiler, which knows nothing of processors, the ranges. */
static const char *next_of(const struct area *area, const struct request *request)
{
	const struct run *run = request->run;

	if (area->value == VALUE_OTHER && run->process_count && process_is_foreign(&run->processes[0]))
		return "range_stats";
	if ((area->value == VALUE_COLLECTIVES || area->value == VALUE_HOST_COMMUNICATION) && verdict_has_ranks(request))
		return "ranks";
	if (area->value != VALUE_OTHER)
		return area->next;
	return python_looks_any(request) ? "python_time" : native_looks_any(request) ? "native_time" : area->next;
}

struct judged {
	double percent[AREAS];
	enum level levels[AREAS];
	double compute, host; /* percent */
	size_t worst;	      /* index; AREAS = none */
	double host_bound;    /* percent that devices rest because of the host; 0 = that is not what to say first */
};

static double percent_of(const struct step_rows *rows, enum step_value value, uint64_t all)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_judges(rows, i))
			sum += step_value(rows->items[i], value);
	return all ? 100.0 * (double)sum / (double)all : 0;
}

static enum level level_of(const struct area *area, double percent)
{
	if (percent >= area->high)
		return LEVEL_HIGH;
	return percent >= area->moderate ? LEVEL_MODERATE : LEVEL_NONE;
}

/* Than the worst so far: by level, then share. What nobody recorded, the last of them, only where it is the larger part, too, and of
 * the same level only where it is most of the time: what has a name has a remedy. */
static bool is_worse(const struct judged *judged, size_t area)
{
	enum level level = judged->levels[area], worst = judged->levels[judged->worst];
	bool is_larger = judged->percent[area] > judged->percent[judged->worst], is_other = areas[area].value == VALUE_OTHER;

	if (level == worst)
		return is_larger && (!is_other || judged->percent[area] >= MAIN_FROM);
	return level > worst && (is_larger || !is_other);
}

static struct judged judge(const struct step_rows *rows, uint64_t all)
{
	struct judged judged = {.worst = AREAS,
				.compute = percent_of(rows, VALUE_COMPUTE, all),
				.host = percent_of(rows, VALUE_HOST_COMPUTE, all)};
	double other = percent_of(rows, VALUE_OTHER, all);

	for (size_t a = 0; a < AREAS; a++) {
		judged.percent[a] = percent_of(rows, areas[a].value, all);
		judged.levels[a] = level_of(&areas[a], judged.percent[a]);
	}
	/* What nobody recorded may be input: then 'other' is not judged a second time. */
	if (judged.levels[0] == LEVEL_NONE && other >= POSSIBLE_FROM) {
		judged.levels[0] = LEVEL_POSSIBLE;
		judged.levels[AREAS - 1] = judged.levels[AREAS - 1] == LEVEL_HIGH ? LEVEL_HIGH : LEVEL_NONE;
	}
	for (size_t a = 0; a < AREAS; a++)
		if (judged.levels[a] >= LEVEL_MODERATE && (judged.worst == AREAS || is_worse(&judged, a)))
			judged.worst = a;
	return judged;
}

/*
 * Devices that rest for most of the time because the host is at work: three areas of the split, each of which looks small beside that.
 * Where most of it is what nobody recorded, that has to be said first; of a run without steps most is start-up.
 */
static double host_bound_of(const struct judged *judged, const struct step_rows *rows, const struct devices *devices)
{
	double launch = 0, other = 0, most = 0, sum;

	for (size_t a = 0; a < AREAS; a++)
		if (areas[a].value == VALUE_KERNEL_LAUNCH)
			launch = judged->percent[a];
		else if (areas[a].value == VALUE_OTHER)
			other = judged->percent[a];
		else
			most = fmax(most, judged->percent[a]);
	sum = judged->host + launch + other;
	if (!devices->did_work || devices->is_of_some || devices->unseen.is_much || rows->kind == UNIT_WHOLE || sum < HOST_FROM ||
	    sum <= most || judged->host + launch < other)
		return 0;
	return sum;
}

/* Processors that the process of the first judged step kept busy from there to its last one, by the readings in between;
 * negative = too few of them. *of: the process. */
static double busy_processors(const struct step_rows *rows, const struct request *request, size_t *of)
{
	const struct use_sample *first = NULL, *last = NULL;
	const struct use_rows *use;
	int64_t from, to;
	size_t i = 0, end;

	*of = SIZE_MAX;
	while (i < rows->count && !step_rows_judges(rows, i))
		i++;
	if (i == rows->count || !step_rows_ran(rows, rows->items[i]->process, &end, &from, &to))
		return -1;
	*of = rows->items[i]->process;
	use = &request->run->processes[*of].use;
	for (i = 0; i < use->count; i++) {
		const struct use_sample *sample = &use->samples[i];
		if (sample->of != USE_OF_PROCESS || !sample->has_use || sample->time_ns < from || sample->time_ns > to)
			continue;
		first = first ? first : sample;
		last = sample;
	}
	if (!first || (last->time_ns - first->time_ns) * 2 < to - from)
		return -1;
	return (double)(last->user_ns + last->system_ns - first->user_ns - first->system_ns) /
	       (double)(last->time_ns - first->time_ns);
}

/* Where most of the time is nobody's: whether the process computed meanwhile, or waited. Returns whether that speaks of it. */
static bool put_processors(struct text *sentence, const struct judged *judged, const struct step_rows *rows,
			   const struct request *request)
{
	size_t process = SIZE_MAX;
	struct busy waited;
	double busy;

	if (judged->worst == AREAS || areas[judged->worst].value != VALUE_OTHER || judged->percent[judged->worst] < MOST_FROM)
		return false;
	if (notes_is_steps_alone(request))
		text_string(sentence, " Which ops run there was not asked for (TFPROF_OPS=steps).");
	busy = busy_processors(rows, request, &process);
	if (busy < 0)
		return false;
	waited = busy_find(rows, request);
	text_format(sentence, " Meanwhile %s%s kept %.2f processors busy%s.", rows->processes > 1 ? "process " : "the process",
		    rows->processes > 1 ? request->run->processes[process].called : "", busy,
		    notes_is_steps_alone(request) ? "" /* of ops nobody asked, said elsewhere */
		    : busy >= BUSY_FROM		  ? ": it computes in code that announces no ops"
		    : busy > IDLE_FROM		  ? ""
		    : waited.share < 0		  ? ": it waits, be it for a processor"
		    : waited.share < VERDICT_WAITED_FROM ? ": it waits"
						  : "");
	verdict_say_waited(sentence, " From", rows, request, &waited);
	return true;
}

/* What only few steps do, where it is much of the time. */
static bool put_rare(struct text *sentence, const struct step_rows *rows, const struct request *request, uint64_t all)
{
	struct rare_most rare = rare_find(request, rows);
	double percent = all ? 100.0 * (double)rare.ns / (double)all : 0;
	bool is_much = percent >= rule_limits_of(request, LIMIT_rare_work);

	if (is_much)
		text_format(sentence, " %.0f %% of the time goes to what only few steps do (-t rare_work), above all: %.*s%s.", percent,
			    (int)base_without_address(rare.name.bytes, rare.name.length), rare.name.bytes,
			    rare_may_wait(rare.name.bytes) ? "; or it waits there for what the others only dispatched" : "");
	text_free(&rare.name);
	return is_much;
}

/* What may matter more than the parts of the time: few steps, no free processor, memory that grows without end. */
static void put_besides(struct text *sentence, const struct judged *judged, const struct step_rows *rows, const struct request *request,
			uint64_t all, bool has_waited)
{
	struct busy waited = {0};
	double said = judged->host_bound > 0 ? judged->host_bound : judged->worst == AREAS ? 0 : judged->percent[judged->worst];
	int64_t from = INT64_MAX, to = INT64_MIN;
	struct growth growth;

	if (!has_waited)
		waited = busy_find(rows, request);
	if (!put_rare(sentence, rows, request, all))
		verdict_say_longest(sentence, rows, request);
	verdict_say_waited(sentence, 100 * waited.share > said ? " But from" : " From", rows, request, &waited);
	verdict_say_machine(sentence, rows, request);
	for (size_t i = 0; i < rows->count; i++)
		if (step_rows_judges(rows, i)) {
			from = rows->items[i]->start_ns < from ? rows->items[i]->start_ns : from;
			to = rows->items[i]->start_ns > to ? rows->items[i]->start_ns : to;
		}
	growth = growth_find(request, from, to);
	if (growth.account == NULL || growth.percent < GROWTH_PERCENT || growth.bytes < GROWTH_BYTES)
		return;
	verdict_say_grew(sentence, request, &growth);
	text_string(sentence, " (-t recommendations).");
}

/* Ends the sentence: how much of the time computes; and how much the host alone does, where that is more than all that was said. */
static void put_busy(struct text *sentence, const struct judged *judged, const struct devices *devices, const char *time)
{
	double busy = devices->did_work ? judged->compute : judged->host;
	bool is_host = devices->did_work && judged->host > busy &&
		       (judged->worst == AREAS || judged->host > judged->percent[judged->worst]);
	const char *before = judged->worst == AREAS ? ": " : "; ";
	const char *whole = judged->worst == AREAS ? "the " : "it";

	if (judged->worst != AREAS)
		time = "";
	if (is_host)
		text_format(sentence, "%s%.1f %% of %s%s the host is in ops and calls%s", before, judged->host, whole, time,
			    devices->unseen.is_much || devices->is_of_some ? "" : " while the devices rest");
	if (is_host && busy >= SMALLEST)
		text_format(sentence, ", %.1f %% the devices compute", busy);
	else if (!is_host && (judged->worst == AREAS || busy >= SMALLEST))
		text_format(sentence, "%s%.1f %% of %s%s %s", before, busy, whole, time,
			    devices->did_work ? "the devices compute" : "ops run on the host");
	text_char(sentence, '.');
}

/* A part of what the devices rest for. */
struct host_part {
	double percent;
	const char *what, *next;
};

static int by_percent(const void *a, const void *b)
{
	const struct host_part *one = a, *other = b;

	return one->percent != other->percent ? (one->percent > other->percent ? -1 : 1) : strcmp(one->what, other->what);
}

/* "First of all: the devices rest in 80.0 % of the step time because of the host: ...". Returns the table that shows most of it. */
static const char *put_host_bound(struct text *sentence, const struct judged *judged, const struct step_rows *rows,
				  const struct request *request, const struct devices *devices, const char *time)
{
	struct host_part parts[] = {{judged->host, "in ops and calls", "op_stats"}, {0, "", ""}, {0, "", ""}};
	bool is_first = true;

	for (size_t a = 0; a < AREAS; a++) {
		if (areas[a].value == VALUE_KERNEL_LAUNCH)
			parts[1] = (struct host_part){judged->percent[a], "launching work", areas[a].next};
		if (areas[a].value == VALUE_OTHER)
			parts[2] = (struct host_part){judged->percent[a],
						      devices->has_no_python ? "in what was not recorded (" WITHOUT_PYTHON ")"
									     : "in what was not recorded (" WITH_PYTHON ")",
						      next_of(&areas[a], request)};
	}
	qsort(parts, sizeof(parts) / sizeof(parts[0]), sizeof(parts[0]), by_percent);
	text_format(sentence, "First of all: the devices rest in %.1f %% of the %s because of the host: ", judged->host_bound, time);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].percent >= PART_FROM) {
			text_format(sentence, "%s%.1f %% %s", is_first ? "" : ", ", parts[i].percent, parts[i].what);
			is_first = false;
		}
	text_format(sentence, "; they compute in %.1f %%.", judged->compute);
	for (size_t a = 0; a < AREAS; a++)
		if (judged->levels[a] == LEVEL_HIGH && areas[a].value != VALUE_KERNEL_LAUNCH && areas[a].value != VALUE_OTHER)
			text_format(sentence, " %.1f %% more %s.", judged->percent[a], areas[a].what);
	verdict_say_feeding(sentence, rows, request);
	return parts[0].next;
}

/* Of what nobody recorded and the worst of what has a name the one that was not said, where it is high or larger. */
static void put_second(struct text *sentence, const struct judged *judged, const struct devices *devices)
{
	size_t second = AREAS - 1; /* 'other' */

	if (judged->worst == second) {
		for (size_t a = 0; a < AREAS - 1; a++)
			if (judged->levels[a] == LEVEL_HIGH && (second == judged->worst || judged->percent[a] > judged->percent[second]))
				second = a;
	} else if (judged->percent[second] <= judged->percent[judged->worst]) {
		return;
	}
	if (second == judged->worst)
		return;
	text_format(sentence, "; %.1f %% of it ", judged->percent[second]);
	put_what(sentence, &areas[second], devices);
}

/* What stands out, and how much computes. Returns the table to open next. */
static const char *put_worst(struct text *sentence, const struct judged *judged, const struct step_rows *rows,
			     const struct request *request, const struct devices *devices, const char *time)
{
	const struct area *worst = judged->worst == AREAS ? NULL : &areas[judged->worst];

	if (judged->host_bound > 0)
		return put_host_bound(sentence, judged, rows, request, devices, time);
	if (!worst) {
		text_string(sentence, "No part of the time stands out");
	} else {
		text_format(sentence, "%s: %.1f %% of the %s ", judged->levels[judged->worst] == LEVEL_HIGH ? "First of all" : "In part",
			    judged->percent[judged->worst], time);
		put_what(sentence, worst, devices);
		put_second(sentence, judged, devices);
	}
	put_busy(sentence, judged, devices, time);
	if (worst)
		return next_of(worst, request);
	return devices->did_work ? "kernel_stats" : "op_stats";
}

static void put_summary(struct table *table, const struct judged *judged, const struct step_rows *rows,
			const struct request *request, const struct devices *devices, uint64_t all)
{
	static const char *const times[] = {[UNIT_STEP] = "step time",
					    [UNIT_REQUEST] = "requests' time",
					    [UNIT_CALL] = "calls' time",
					    [UNIT_WHOLE] = "time from the first op to the last"};
	struct text sentence = {0}, warm = {0}, pauses = {0};
	double busy = devices->did_work ? judged->compute : judged->host;
	enum level level = judged->host_bound > 0     ? LEVEL_HIGH
			   : judged->worst == AREAS ? LEVEL_NONE
						    : judged->levels[judged->worst];
	const char *next;
	bool has_waited;

	verdict_say_failed(&sentence, request);
	next = put_worst(&sentence, judged, rows, request, devices, times[rows->kind]);

	if (judged->host_bound == 0 && judged->worst != AREAS && areas[judged->worst].value == VALUE_OTHER) {
		python_looks_say(&sentence, request, judged->percent[judged->worst], LINE_FROM);
		python_looks_say_aside(&sentence, request);
		if (!python_looks_any(request))
			native_looks_say(&sentence, request, LINE_FROM);
	}
	python_looks_say_collecting(&sentence, request, COLLECTING_FROM);
	native_looks_say_lock(&sentence, request, rule_limits_of(request, LIMIT_python_lock));
	has_waited = put_processors(&sentence, judged, rows, request);
	verdict_say_between(&sentence, rows, request);
	put_besides(&sentence, judged, rows, request, all, has_waited);
	verdict_say_first(&sentence, rows, request, all);
	step_warm_say(&warm, rows, request, VERDICT_FIRST_FROM);
	if (warm.length)
		text_format(&sentence, " %s", warm.bytes);
	text_free(&warm);
	step_pauses_say(&pauses, rows, request, PAUSES_FROM, busy_find(rows, request).share);
	if (pauses.length)
		text_format(&sentence, " %s", pauses.bytes);
	text_free(&pauses);
	verdict_say_awaited(&sentence, rows, request);
	table_row(table);
	table_string(table, AREA, "summary");
	table_string(table, LEVEL, level_names[level]);
	table_real(table, PERCENT,
		   judged->host_bound > 0   ? judged->host_bound
		   : judged->worst == AREAS ? busy
					    : judged->percent[judged->worst]);
	table_string(table, SENTENCE, sentence.bytes);
	table_note(table, NOTE_INFO, "%s", sentence.bytes);
	table_string(table, NEXT, next);
	text_free(&sentence);
}

static void put_area(struct table *table, const struct area *area, double percent, enum level level, const struct devices *devices)
{
	bool is_of_devices = area->value == VALUE_OUTPUT || area->value == VALUE_COLLECTIVES;
	bool is_unknown = is_of_devices && devices->unseen.is_much && !devices->did_work;
	struct text sentence = {0};

	if (is_unknown) {
		text_format(&sentence, "Whether time %s is not known: what the devices did %s", area->what,
			    devices->unseen.has_strange ? "is not counted here" : "was not recorded");
	} else {
		text_format(&sentence, "%.1f %% ", percent);
		put_what(&sentence, area, devices);
	}
	text_char(&sentence, '.');
	if (level == LEVEL_POSSIBLE)
		text_string(&sentence, " Some of what was not recorded may be input.");
	table_row(table);
	table_string(table, AREA, area->name);
	table_string(table, LEVEL, is_unknown ? "unknown" : level_names[level]);
	if (!is_unknown)
		table_real(table, PERCENT, percent);
	table_real(table, HIGH, area->high);
	table_real(table, MODERATE, area->moderate);
	table_string(table, SENTENCE, sentence.bytes);
	table_string(table, NEXT, area->next);
	text_free(&sentence);
}

static void put_unknown(struct table *table, const struct step_rows *rows, const struct request *request)
{
	struct text sentence = {0};

	verdict_say_failed(&sentence, request);
	if (rows->unrecorded)
		text_format(&sentence, "No %s lies in a capture window: where the time went was not recorded.",
			    unit_kind_name(rows->kind));
	else {
		step_rows_say_none(&sentence, rows);
		text_char(&sentence, '.');
	}
	verdict_say_whole(&sentence, request);
	verdict_say_growth(&sentence, request);
	python_looks_say(&sentence, request, -1, LINE_FROM);
	python_looks_say_computing(&sentence, request, LINE_FROM);
	table_row(table);
	table_string(table, AREA, "summary");
	table_string(table, LEVEL, "unknown");
	table_string(table, SENTENCE, sentence.bytes);
	table_string(table, NEXT, rows->unrecorded ? "windows" : "memory.summary");
	text_free(&sentence);
}

/* What went wrong with the run, however its steps were. */
static void put_wrong(struct table *table, const struct request *request)
{
	static const struct {
		const char *area;
		void (*say)(struct text *text, const struct request *request);
		const char *next;
	} kinds[] = {{"fault", gpu_fault_say, "launches"},
		     {"memory", memory_out_verdict, "memory.refused"},
		     {"standstill", standstill_say, "threads_at_end"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct text sentence = {0};
		kinds[i].say(&sentence, request);
		if (sentence.length) {
			table_row(table);
			table_string(table, AREA, kinds[i].area);
			table_string(table, LEVEL, level_names[LEVEL_HIGH]);
			table_string(table, SENTENCE, sentence.bytes);
			table_string(table, NEXT, kinds[i].next);
		}
		text_free(&sentence);
	}
}

static void fill(struct table *table, const struct request *request)
{
	struct step_rows rows;
	struct devices devices = {.has_no_python = is_without_python(request->run)};
	uint64_t all = 0;

	step_rows_find(&rows, request);
	devices.unseen = step_rows_unseen(&rows, request);
	for (size_t i = 0; i < rows.count; i++) {
		all += step_rows_judges(&rows, i) ? rows.items[i]->total_ns : 0;
		devices.did_work |= rows.items[i]->has_device;
	}
	devices.is_of_some = (double)verdict_time_without_devices(&rows) > WITHOUT_FROM * (double)all;
	if (all) {
		struct judged judged = judge(&rows, all);
		judged.host_bound = host_bound_of(&judged, &rows, &devices);
		put_summary(table, &judged, &rows, request, &devices, all);
		put_wrong(table, request);
		for (size_t a = 0; a < AREAS; a++)
			put_area(table, &areas[a], judged.percent[a], judged.levels[a], &devices);
	} else {
		put_unknown(table, &rows, request);
		put_wrong(table, request);
	}
	if (all && !devices.did_work && !devices.unseen.is_much && !devices.unseen.is_off && !gpu_fault_any(request))
		table_note(table, NOTE_INFO, "No device work is in the logs: the host's ops are what computes.");
	step_rows_note_first(table, &rows, request);
	step_rows_notes(table, request, &rows);
	notes_ops(table, request);
	notes_recording(table, request);
	step_rows_free(&rows);
}

static const struct analysis_kind *const needs[] = {&analysis_steps, &analysis_rare_work, NULL};
const struct table_kind table_overview_verdict = {
	.id = "overview.verdict",
	.title = "Verdict",
	.help = "What the steps wait for: input, output, launches, communication, compilation or something else; and the table "
		"to open next.",
	.columns = columns,
	.column_count = COLUMNS,
	.filters = FILTER_PROCESS | FILTER_WINDOW | FILTER_STEP | FILTER_DEVICE | FILTER_STREAM | FILTER_THREAD,
	.needs_scan = true,
	.analyses = needs,
	.fill = fill,
};
