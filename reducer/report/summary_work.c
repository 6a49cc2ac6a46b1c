/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, kernels and ops in the summary: a glance; the tables tell all.
 *
 * Rule: what is shown are rows of the tables step_stats, kernel_stats, op_stats and range_stats, or follows from them.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/step_changes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SPARK_LEAST 14 /* columns; each the longest step of its share */
#define SPARK_MOST 80
#define STEPS_WIDTH 66 /* of a line of steps without its bars */
#define WHO_WIDTH 16
#define WORK_ROWS 4
#define CHANGES_LINES 3
#define NUMBERS_WIDTH 43  /* of a line of work without its name */
#define OUTSIDE_PART 0.05 /* of it that is named */
#define NAME_MOST 100

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* The times of the steps, in order, as bars of eight heights; as darker and darker signs where the terminal has no bars. */
static void put_spark(struct text *out, const int64_t *times, size_t count, size_t width)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const signs[] = {".", ":", "-", "=", "+", "*", "#", "@"};
	const char *const *bars = summary_has_blocks() ? blocks : signs;
	int64_t longest = 1, most;

	if (count < 2)
		return;
	for (size_t i = 0; i < count; i++)
		longest = times[i] > longest ? times[i] : longest;
	text_string(out, "  ");
	for (size_t column = 0; column < width && column < count; column++) {
		size_t columns = count < width ? count : width;
		most = 0;
		for (size_t i = column * count / columns; i < (column + 1) * count / columns; i++)
			most = times[i] > most ? times[i] : most;
		text_string(out, bars[(size_t)((double)most / (double)longest * 7)]);
	}
}

/* As step_stats has it. */
static bool has_length(const struct step_rows *rows, size_t i)
{
	return step_rows_counts(rows, rows->items[i]) || !rows->items[i]->unit.is_cut;
}

/* The process, by its place in the run, with the most steps that have a length; SIZE_MAX = none. *others: further ones with some. */
static size_t busiest(const struct step_rows *rows, size_t *others)
{
	size_t best = SIZE_MAX, most = 0, processes = 0;

	for (size_t i = 0, count = 0; i < rows->count; i++) {
		count = i && rows->items[i]->process == rows->items[i - 1]->process ? count : 0;
		processes += has_length(rows, i) && count == 0;
		count += has_length(rows, i);
		if (count > most) {
			most = count;
			best = rows->items[i]->process;
		}
	}
	*others = processes ? processes - 1 : 0;
	return best;
}

/* What the rows are, and who marked them. */
static void put_who(struct summary *summary, const struct step_row *row)
{
	const struct process *process = &summary->request->run->processes[row->process];
	unsigned source = row->unit.step == SIZE_MAX ? SPAN_NO_SOURCE : process->steps[row->unit.step].source;
	const char *who = source == SPAN_NO_SOURCE ? "" : range_source_name(source);
	struct text name = {0};

	if (row->unit.step != SIZE_MAX && range_source_infers(source))
		text_string(&name, "  inferred");
	else if (source == SOURCE_record_function)
		text_string(&name, "  by PyTorch");
	else if (source == SOURCE_eager)
		text_string(&name, "  by TensorFlow");
	else if (*who)
		text_format(&name, "  by %s", who);
	else
		text_string(&name, row->kind == UNIT_CALL ? "  calls" : "  requests");
	escape_cut(&name, WHO_WIDTH);
	text_put(&summary->line, name.bytes, name.length);
	text_fill(&summary->line, ' ', WHO_WIDTH - escape_width(name.bytes, name.length));
	text_free(&name);
}

/* Of a run without steps: what is split below. */
static void put_whole(struct summary *summary, int64_t ns)
{
	struct text heading = {0};

	text_format(&heading, "%-*s%10s", WHO_WIDTH + 8, "No steps", "lasted");
	if (summary_heading(summary, heading.bytes, 1)) {
		text_format(&summary->line, "%-*s", WHO_WIDTH + 8, "  first op to last");
		summary_number(summary, human_ns, ns, 10);
		summary_end_line(summary);
	}
	text_free(&heading);
}

static void put_steps(struct summary *summary, int64_t *times, size_t count, const struct step_row *first)
{
	unsigned width = summary->options->width;
	size_t room = width > STEPS_WIDTH + SPARK_LEAST ? width - STEPS_WIDTH : SPARK_LEAST;
	struct text spark = {0}, heading = {0};
	double sum = 0;

	text_format(&heading, "%-*s%8s%10s%10s%10s%10s", WHO_WIDTH, "Steps", "number", "mean", "median", "p99", "longest");
	if (summary_heading(summary, heading.bytes, 1)) {
		for (size_t i = 0; i < count; i++)
			sum += (double)times[i];
		put_who(summary, first);
		summary_number(summary, human_count, (int64_t)count, 8);
		put_spark(&spark, times, count, room < SPARK_MOST ? room : SPARK_MOST);
		qsort(times, count, sizeof *times, by_value);
		summary_number(summary, human_ns, (int64_t)(sum / (double)count), 10);
		summary_number(summary, human_ns, times[(count + 1) / 2 - 1], 10); /* nearest rank, as overview.steps has it */
		summary_number(summary, human_ns, times[(count * 99 + 99) / 100 - 1], 10);
		summary_number(summary, human_ns, times[count - 1], 10);
		text_put(&summary->line, spark.length ? spark.bytes : "", spark.length);
		summary_end_line(summary);
	}
	text_free(&spark);
	text_free(&heading);
}

/* Of several processes one is shown; the parts below are of all. */
static void put_whose(struct summary *summary, const struct process *process, size_t others)
{
	if (!others || !summary_left(summary))
		return;
	text_string(&summary->line, "  of process ");
	escape_visible(&summary->line, process->called, strlen(process->called));
	text_format(&summary->line, "; %zu more count%s below, too: -t overview.steps,ranks", others, others == 1 ? "s" : "");
	summary_end_line(summary);
}

/* From when on steps take longer. */
static void put_changes(struct summary *summary, const struct step_rows *rows, size_t process)
{
	struct text said = {0};

	step_changes_say(&said, rows, summary->request, process);
	if (said.length && summary_left(summary))
		summary_sentence(summary, "  ", said.bytes, CHANGES_LINES);
	text_free(&said);
}

void summary_put_steps(struct summary *summary)
{
	const struct run *run = summary->request->run;
	size_t count = 0, first = 0, others;
	struct step_rows rows;
	int64_t *times;

	step_rows_find(&rows, summary->request); /* every step counts, not only those that a screen would show */
	times = base_alloc(rows.count + 1, sizeof *times);
	size_t wanted = busiest(&rows, &others);
	for (size_t i = 0; i < rows.count && wanted != SIZE_MAX; i++) {
		const struct step_row *row = rows.items[i];
		if (row->process != wanted || !has_length(&rows, i) || row->is_evaluation) /* evaluation is no training */
			continue;
		first = count == 0 ? i : first;
		times[count++] = (int64_t)row->total_ns;
		step_cover_add(&summary->steps.cover, row->start_ns, times[count - 1]);
	}
	summary->steps.process = wanted == SIZE_MAX ? NULL : &run->processes[wanted];
	summary->steps.kind = rows.kind;
	if (count && rows.kind == UNIT_WHOLE)
		put_whole(summary, times[0]);
	else if (count)
		put_steps(summary, times, count, rows.items[first]);
	if (count)
		put_whose(summary, summary->steps.process, others);
	if (count)
		put_changes(summary, &rows, wanted);
	free(times);
	step_rows_free(&rows);
}

static void put_stretch(struct text *out, int64_t ns, int64_t life, const char *where, bool *any)
{
	if (ns < (int64_t)(OUTSIDE_PART * (double)life))
		return;
	text_string(out, *any ? ", " : ": ");
	human_ns(out, ns);
	text_string(out, where);
	*any = true;
}

/* What the process did beside its steps, where that is much of its life: they may be fast and the job slow all the same. Nothing
 * where windows left a part of its life out. */
void summary_put_outside(struct summary *summary)
{
	struct step_outside outside = {0};
	bool any = false, is_told = summary->steps.process && step_outside(summary->steps.process, &summary->steps.cover, &outside);

	free(summary->steps.cover.items);
	summary->steps.cover = (struct step_cover){0};
	if (!is_told || !summary_left(summary))
		return;
	if (summary->steps.kind == UNIT_WHOLE)
		text_string(&summary->line, "  beside that  ");
	else
		text_format(&summary->line, "  in no %s  ", unit_kind_name(summary->steps.kind));
	human_ns(&summary->line, outside.all);
	text_string(&summary->line, " of ");
	human_ns(&summary->line, outside.life);
	put_stretch(&summary->line, outside.before, outside.life, " before", &any);
	put_stretch(&summary->line, outside.between, outside.life, " between", &any);
	put_stretch(&summary->line, outside.after, outside.life, " after", &any);
	summary_end_line(summary);
}

/* Which columns of a table make a line. */
struct line_columns {
	const char *heading, *side, *name, *times, *total, *average;
	const char *share, *device_share; /* NULL = none; device_share: of rows whose side is "device" */
	double share_scale;		  /* to percent */
};

static bool is_device(const struct table *table, size_t row, const struct line_columns *columns)
{
	size_t length;

	return columns->side && table_get_text(table, row, table_find_column(table->kind, columns->side), &length)[0] == 'd';
}

/* Sums of what belongs to no op are no op. */
static bool is_named(const struct table *table, size_t row, const struct line_columns *columns)
{
	size_t name = table_find_column(table->kind, columns->name), length;

	return table_is_known(table, row, name) && table_get_text(table, row, name, &length)[0] != '(';
}

static size_t name_width(const struct summary *summary)
{
	size_t room = summary->options->width > NUMBERS_WIDTH + 20 ? summary->options->width - NUMBERS_WIDTH : 20;

	return room < NAME_MOST ? room : NAME_MOST;
}

/* The identifier, or "(anonymous)", that a text ends with: its length, 0 = something else. */
static size_t last_word(const struct text *text)
{
	static const char anonymous[] = "(anonymous)";
	size_t length = 0;

	if (text->length >= sizeof(anonymous) - 1 &&
	    memcmp(&text->bytes[text->length - sizeof(anonymous) + 1], anonymous, sizeof(anonymous) - 1) == 0)
		return sizeof(anonymous) - 1;
	while (length < text->length && (isalnum((unsigned char)text->bytes[text->length - length - 1]) ||
					 text->bytes[text->length - length - 1] == '_'))
		length++;
	return length;
}

/*
 * A kernel's name that has no room: without namespaces but the first, for what it does stands behind them:
 * "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(..." is half of them.
 */
static void put_without_namespaces(struct text *out, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bool is_mark = i + 1 < length && name[i] == ':' && name[i + 1] == ':';
		size_t word = is_mark ? last_word(out) : 0;
		if (word == 0 || word == out->length) {
			text_put(out, &name[i], 1 + is_mark);
		} else {
			out->length -= word;
		}
		i += is_mark;
	}
}

static void put_row(struct summary *summary, const struct table *table, size_t row, const struct line_columns *columns)
{
	size_t width = name_width(summary), length;
	const char *bytes = table_get_text(table, row, table_find_column(table->kind, columns->name), &length);
	const char *share = is_device(table, row, columns) ? columns->device_share : columns->share;
	struct text cell = {0}, plain = {0};

	text_string(&cell, columns->side ? (is_device(table, row, columns) ? "  device  " : "  host    ") : "  ");
	length = base_without_address(bytes, length);
	if (table->kind == &table_kernel_stats && escape_width(bytes, length) > width) {
		put_without_namespaces(&plain, bytes, length);
		bytes = plain.bytes;
		length = plain.length;
	}
	escape_visible(&cell, bytes, length < 256 ? length : 256);
	escape_cut(&cell, width);
	text_put(&summary->line, cell.bytes, cell.length);
	text_fill(&summary->line, ' ', width - escape_width(cell.bytes, cell.length));
	text_free(&cell);
	text_free(&plain);
	summary_cell(summary, table, row, columns->times, 11);
	summary_cell(summary, table, row, columns->total, 11);
	summary_cell(summary, table, row, columns->average, 11);
	if (share && table_is_known(table, row, table_find_column(table->kind, share)))
		text_format(&summary->line, "%8.1f %%",
			    table_get_number(table, row, table_find_column(table->kind, share)) * columns->share_scale);
	summary_end_line(summary);
}

/* The first rows with a name, in the table's own order, under a heading. Returns how many. */
static size_t put_rows(struct summary *summary, const struct table_kind *kind, const struct line_columns *columns)
{
	struct request request = *summary->request;
	struct text heading = {0};
	struct table *table;
	size_t shown = 0;

	request.group = kind == &table_kernel_stats ? GROUP_KERNEL : request.group;
	request.is_text = request.is_text && kind != &table_range_stats; /* all names are needed to join them */
	table = tables_make(kind, &request);
	table = kind == &table_range_stats ? summary_join_ranges(table) : table;
	text_format(&heading, "%-*s%11s%11s%11s%10s", (int)name_width(summary), columns->heading, "times", "total", "average",
		    columns->share ? "of all" : "");
	for (size_t row = 0; row < table->shown_count && shown < WORK_ROWS; row++) {
		if (!is_named(table, row, columns))
			continue;
		if (shown ? !summary_left(summary) : !summary_heading(summary, heading.bytes, 1))
			break;
		put_row(summary, table, row, columns);
		shown++;
	}
	text_free(&heading);
	table_free(table);
	return shown;
}

void summary_put_kernels(struct summary *summary)
{
	static const struct line_columns kernels = {.heading = "Top kernels",
						    .name = "kernel_name",
						    .times = "occurrences",
						    .total = "total_ns",
						    .average = "avg_ns",
						    .share = "share",
						    .share_scale = 100};

	put_rows(summary, &table_kernel_stats, &kernels);
}

void summary_put_ops(struct summary *summary)
{
	static const struct line_columns ops = {.heading = "Top ops, by time of their own",
						.side = "side",
						.name = "name",
						.times = "occurrences",
						.total = "self_ns",
						.average = "avg_self_ns",
						.share = "host_self_percent",
						.device_share = "device_self_percent",
						.share_scale = 1};
	static const struct line_columns ranges = {
		.heading = "Top ranges", .name = "name", .times = "occurrences", .total = "total_ns", .average = "avg_ns"};

	if (!put_rows(summary, &table_op_stats, &ops))
		put_rows(summary, &table_range_stats, &ranges);
}
