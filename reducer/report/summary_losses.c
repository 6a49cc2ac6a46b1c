/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary's lines about what was lost, damaged or refused.
 *
 * Rule: they come first, and say the remedy.
 */
#include "reducer/report/summary_internal.h"

#include "reducer/report/escape.h"
#include "reducer/report/human.h"
#include "reducer/tables/losses.h"

#include <stdlib.h>
#include <string.h>

#define LOSS_ROWS 6 /* refused settings included */
#define REFUSED_ROWS 4
#define LOSS_LINES 3 /* of one: what it is and what helps */
#define LOSSES_SURE 2 /* that have room for sure on a roomy screen */

static void put_assignment(struct text *out, const struct setting_error *error)
{
	text_string(out, "TFPROF_");
	escape_visible(out, error->name, strnlen(error->name, 64));
	text_char(out, '=');
	escape_visible(out, error->value, strnlen(error->value, 64));
}

/* Many refused settings: their names and values alone. Returns the lines used. */
static size_t list_refused(struct summary *summary, const struct process *process)
{
	struct text list = {0}, lines = {0};
	size_t used = 0;

	for (size_t i = 0; i < process->setting_error_count; i++) {
		put_assignment(&list, &process->setting_errors[i]);
		text_string(&list, " ");
	}
	text_string(&list, "(-t settings says why)");
	text_wrap(&lines, "  REFUSED ", list.bytes, summary->options->width);
	for (const char *at = lines.bytes; *at && used < REFUSED_ROWS; used++) {
		size_t length = strcspn(at, "\n");
		text_put(&summary->line, at, length);
		summary_end_line(summary);
		at += length + 1;
	}
	text_free(&list);
	text_free(&lines);
	return used;
}

/* Settings that were refused: the person meant something else. Returns the lines used. */
static size_t put_refused(struct summary *summary)
{
	const struct process *process = &summary->request->run->processes[0];

	if (process->setting_error_count > REFUSED_ROWS)
		return list_refused(summary, process);
	for (size_t i = 0; i < process->setting_error_count; i++) {
		text_string(&summary->line, "  REFUSED ");
		put_assignment(&summary->line, &process->setting_errors[i]);
		text_string(&summary->line, ": ");
		escape_visible(&summary->line, process->setting_errors[i].remedy,
			       strnlen(process->setting_errors[i].remedy, 256));
		summary_end_line(summary);
	}
	return process->setting_error_count;
}

/* Sentences about what is missing, each behind a word. */
struct told {
	struct text *list;
	size_t count, room;
};

static struct text *add_told(struct told *told)
{
	told->list = base_grow(told->list, &told->room, told->count + 1, sizeof(*told->list));
	told->list[told->count] = (struct text){0};
	return &told->list[told->count++];
}

/* From when on all is there, of each process. */
static int64_t whole_from(const struct run *run, unsigned kind)
{
	int64_t from = TIME_UNKNOWN;

	for (size_t i = 0; i < run->process_count; i++) {
		int64_t own = losses_whole_from(&run->processes[i], kind);
		if (own != TIME_UNKNOWN && (from == TIME_UNKNOWN || own > from))
			from = own;
	}
	return from;
}

static void add_losses(struct told *told, const struct run *run, const struct loss_sums *sums)
{
	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		int64_t from = sums->named[i] ? whole_from(run, sums->named[i]->kind) : TIME_UNKNOWN;
		struct text *line;
		if (!sums->named[i])
			continue;
		line = add_told(told);
		text_string(line, "LOST ");
		human_counted(line, sums->counts[i], sums->named[i]->help);
		text_format(line, " -> %s", sums->named[i]->remedy);
		if (from == TIME_UNKNOWN)
			continue;
		text_string(line, "; from about ");
		human_ns(line, from);
		text_string(line, " on all is there");
	}
}

static void add_pairs(struct told *told, const struct run *run, uint64_t *all)
{
	static const struct {
		enum gpu_pairing pairing;
		const char *what;
	} kinds[] = {{GPU_HOST_ONLY, "launches without the device's record"}, {GPU_DEVICE_ONLY, "device records without their call"}};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (unsigned reason = 1; reason < GPU_REASONS; reason++) {
			uint64_t count = 0;
			for (size_t i = 0; i < run->process_count; i++)
				count += losses_of_pairs(&run->processes[i], kinds[k].pairing, reason);
			*all += count;
			if (!count)
				continue;
			struct text *line = add_told(told);
			text_string(line, "LOST ");
			human_counted(line, count, kinds[k].what);
			text_format(line, ": %s -> -t launches shows %s", gpu_reason_text(reason), count == 1 ? "it" : "them");
		}
}

/* What of GPUs is missing, and no loss of the library's own tells. */
static void add_gpu(struct told *told, const struct run *run)
{
	uint64_t pairs = 0, all = 0;

	add_pairs(told, run, &pairs);
	for (size_t i = 0; i < run->process_count; i++)
		all += losses_of_gpu(&run->processes[i]);
	if (all <= pairs)
		return;
	struct text *line = add_told(told);
	text_string(line, "LOST ");
	human_counted(line, all - pairs, "records about GPUs that cannot be true, or with names that are not in the log");
	text_string(line, " -> -t losses says which");
}

static void add_damage(struct told *told, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (diag->level != DIAG_NOTE)
			text_format(add_told(told), "DAMAGED %s: %s", diag->file, diag->reason);
	}
}

static void collect(struct told *told, const struct run *run)
{
	struct loss_sums sums = losses_sum(run, false);

	add_losses(told, run, &sums);
	add_gpu(told, run);
	add_damage(told, run->diags);
}

static void free_told(struct told *told)
{
	for (size_t i = 0; i < told->count; i++)
		text_free(&told->list[i]);
	free(told->list);
}

/* As many as there is room for, the first in what room there is; the others are counted. */
static void put_told(struct summary *summary, const struct told *told, size_t most)
{
	size_t i = 0;

	for (; i < told->count && i < most; i++) {
		size_t lines = summary_measure(summary, "  ", told->list[i].bytes, LOSS_LINES), more = i + 1 < told->count;
		size_t left = summary_left(summary) > more ? summary_left(summary) - more : 0;
		if (lines > left && (i || !left))
			break;
		summary_sentence(summary, "  ", told->list[i].bytes, lines < left ? lines : left);
	}
	summary_more(summary, told->count, i, "losses");
}

void summary_measure_losses(struct summary *summary)
{
	size_t refused = summary->request->run->processes[0].setting_error_count;
	struct told told = {0};

	collect(&told, summary->request->run);
	summary->loss_lines = (unsigned)(refused < REFUSED_ROWS ? refused : REFUSED_ROWS);
	for (size_t i = 0; i < told.count && i < LOSSES_SURE; i++)
		summary->loss_lines += (unsigned)summary_measure(summary, "  ", told.list[i].bytes, LOSS_LINES);
	summary->loss_lines += told.count > LOSSES_SURE;
	free_told(&told);
}

void summary_put_losses(struct summary *summary)
{
	const struct run *run = summary->request->run;
	struct told told = {0};
	size_t refused;

	summary_colour(summary, "31");
	refused = put_refused(summary);
	collect(&told, run);
	put_told(summary, &told, LOSS_ROWS > refused ? LOSS_ROWS - refused : 1);
	summary_colour(summary, "0");
	if (!losses_any(run)) {
		text_string(&summary->line, "  Nothing was lost.");
		if (run->diags->count) /* notes: of damage something would be lost */
			text_string(&summary->line, " What is to know of the files: -t losses.");
		summary_end_line(summary);
	}
	free_told(&told);
}

void summary_degraded(struct summary *summary, void (*note)(struct summary *summary, const char *text))
{
	struct loss_sums sums = losses_sum(summary->request->run, true);

	for (size_t i = 0; i < TFP_LOSS_SLOTS; i++) {
		struct text text = {0};
		if (!sums.named[i])
			continue;
		human_counted(&text, sums.counts[i], sums.named[i]->help);
		text_char(&text, '.');
		note(summary, text.bytes);
		text_free(&text);
	}
}
