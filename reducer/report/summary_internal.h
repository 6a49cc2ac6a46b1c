/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the first screen share. Private to the files summary*.c.
 *
 * Rule: a part writes lines through summary_end_line alone, which cuts them to the width and drops those beyond the part's
 * room; a part that would be a heading without a line writes nothing.
 */
#ifndef REDUCER_REPORT_SUMMARY_INTERNAL_H
#define REDUCER_REPORT_SUMMARY_INTERNAL_H

#include "reducer/report/causes.h"
#include "reducer/report/summary.h"
#include "reducer/tables/memory_out.h"
#include "reducer/tables/step_cover.h"

struct summary {
	FILE *file; /* of the part */
	const struct request *request;
	const struct report_options *options;
	const struct summary_call *call;
	struct text line;
	size_t room;	/* lines that this part may use, blank line and heading included */
	size_t used;	/* lines of this part so far */
	size_t screen_left; /* lines that the screen has for this part and those of lower rank */
	bool is_roomy;	/* blank lines between parts */
	bool has_bound; /* a peak was printed that is only a bound */
	bool has_near;	/* a name with a "~" was printed */
	struct table *verdict; /* overview.verdict */
	size_t verdict_lines;  /* that its sentence needs */
	bool is_out;	/* the run ended for want of memory, as far as is known: what held it goes before what took time */
	const char *out_allocator; /* of which; NULL = all */
	struct memory_out out;	   /* the allocations that failed, ended the run or not */
	struct causes causes;	   /* of it; see summary_causes */
	bool has_causes;
	struct summary_notes {
		struct summary_note {
			char *text;
			bool is_missing, is_shown; /* missing: it tells of what was not recorded */
		} *list;
		size_t count, room;
	} notes;
	unsigned loss_lines; /* that the first losses take; 0 = nothing was lost */
	struct text fault, standstill;	      /* that a device's work failed; that steps stopped, and where; empty = neither */
	struct text fallen;		      /* that a process other than the program's first was killed or failed; empty = none */
	unsigned fault_lines, standstill_lines, fallen_lines; /* that they take */
	bool shows_mmap;	/* the row of mapped memory was printed */
	unsigned device_rows;	/* of devices' memory, that have room for sure */
	unsigned missing_lines; /* of the notes on what the settings left unrecorded */
	struct {	/* the steps that were printed */
		const struct process *process; /* NULL = none were */
		enum unit_kind kind;
		struct step_cover cover;
	} steps;
};

/* Lines that the part may still write. */
size_t summary_left(const struct summary *summary);

/* Begins a colour (a number of SGR), "0" ends it; nothing where the output has none. */
void summary_colour(const struct summary *summary, const char *code);

/* Prints and empties summary->line, cut to the width, without blanks at its end. */
void summary_end_line(struct summary *summary);

/* A blank line where there is room for such. */
void summary_gap(struct summary *summary);

/* A gap and a bold line. False, and nothing is printed, where `lines` more would not fit behind it. */
bool summary_heading(struct summary *summary, const char *text, size_t lines);

/* A sentence behind `first`, on at most `lines` lines, harmless; ".." where it does not fit. Returns the lines used. */
size_t summary_sentence(struct summary *summary, const char *first, const char *text, size_t lines);

/* How many lines, of at most `lines`, that sentence takes. */
size_t summary_measure(const struct summary *summary, const char *first, const char *text, size_t lines);

/* Appends a cell to summary->line, cut and padded to `width`: to the right where it is a number, "-" where that is unknown. */
void summary_cell(struct summary *summary, const struct table *table, size_t row, const char *id, size_t width);

/* Appends a number, right-aligned in `width`. */
void summary_number(struct summary *summary, void (*print)(struct text *out, int64_t number), int64_t number, size_t width);

/* "  ... and N more: -t TABLE", where count is more than shown. */
void summary_more(struct summary *summary, size_t count, size_t shown, const char *table);

/* The text of a cell, harmless; "" where it is empty. Valid until the next call with the same room. */
const char *summary_text(struct text *room, const struct table *table, size_t row, const char *id);

/* Do the terminal's letters have blocks? */
bool summary_has_blocks(void);

/* Parts in files of their own. */
void summary_put_end(struct summary *summary);
/* Sets fault, standstill, fallen and their lines. */
void summary_measure_wrong(struct summary *summary);
/* Sets is_out and out_allocator. */
void summary_find_end(struct summary *summary);
void summary_put_losses(struct summary *summary);
/* Sets loss_lines. */
void summary_measure_losses(struct summary *summary);
void summary_put_verdict(struct summary *summary);
/* Sets verdict_lines. */
void summary_measure_verdict(struct summary *summary);
void summary_put_steps(struct summary *summary);
/* After it: what the process did beside these steps. */
void summary_put_outside(struct summary *summary);
void summary_put_split(struct summary *summary);
/* The parts are of the steps that are judged, the mean is of all: first steps that make much of the difference. */
void summary_put_first(struct summary *summary);
void summary_put_kernels(struct summary *summary);
void summary_put_ops(struct summary *summary);
/* range_stats with one row for all that a program numbers: "step 0" to "step 29" are "step # (30 names)". Frees what it was given. */
struct table *summary_join_ranges(struct table *table);
void summary_put_lines(struct summary *summary);
void summary_put_memory(struct summary *summary);
void summary_put_gpu(struct summary *summary);
void summary_put_processes(struct summary *summary);
void summary_put_sites(struct summary *summary);
/* The call stacks of the run, of out_allocator where it is set: looked up once. */
const struct causes *summary_causes(struct summary *summary);
/* The call stack that held most where memory ran out; NULL = it did not, or none was recorded. */
const struct cause *summary_holder(struct summary *summary);
void summary_put_advice(struct summary *summary);
void summary_put_notes(struct summary *summary);
void summary_measure_missing(struct summary *summary);

/* Sets device_rows. */
void summary_measure_memory(struct summary *summary);

/* What cost precision, no record: calls `note` with a sentence each. */
void summary_degraded(struct summary *summary, void (*note)(struct summary *summary, const char *text));

#endif
