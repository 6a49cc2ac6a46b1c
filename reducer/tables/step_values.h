/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and the times that they are split into, for the tables that show them.
 *
 * Rule: of the wanted processes only those count whose units are of the best kind there is: steps before requests, requests
 * before calls, calls before the whole of a process.
 */
#ifndef REDUCER_TABLES_STEP_VALUES_H
#define REDUCER_TABLES_STEP_VALUES_H

#include "reducer/analysis/steps.h"
#include "reducer/tables/request.h"

#define STEPS_FEW 5

enum step_value {
#define STEP_VALUE(symbol, id, header, detail, help) VALUE_##symbol,
#include "reducer/tables/step_values.def"
#undef STEP_VALUE
	STEP_VALUES
};

uint64_t step_value(const struct step_row *row, enum step_value value);
const char *step_value_id(enum step_value value);
const char *step_value_help(enum step_value value);

/* The steps that the request wants, in order of process, then thread, then start. */
struct step_rows {
	const struct step_row **items;
	size_t count, whole_count; /* whole: those whose end is known, recorded from start to end */
	enum unit_kind kind;
	size_t all_count;    /* whether the filters want them or not */
	size_t processes;    /* with units of this kind, whether the filters want them or not */
	size_t left_out;     /* processes with units of a lesser kind */
	size_t unrecorded;   /* those that windows do not hold */
	size_t unended;	     /* of them those whose end is not in the log: a loader was asked once more, and had nothing */
	bool hides_roles;    /* some of these are TensorFlow's: which evaluate is not known */
	bool has_whole;      /* some unit has an end, whether --step and --window want it or not */
	bool has_ops;        /* frameworks told of some, in whatever time */
	bool has_ranges;     /* likewise the program, by NVTX or the C API */
	bool is_cut_counted; /* none has: those without count as whole, up to the end of the records */
	uint64_t late_ns;
	uint64_t unlooked; /* units.h */
	bool *is_first; /* of more than STEPS_FEW of a process */
	bool *is_dead;	/* of a process that went on after a fault of its device, which did nothing any more; NULL = none */
	size_t dead_count;
	size_t judged_count;
};
/* The units of all wanted processes, from the analysis of steps. step_rows_free after it. */
void step_rows_find(struct step_rows *rows, const struct request *request);
void step_rows_free(struct step_rows *rows);
/* Where the rows of a process begin, in equal time however many there are; *end: behind its last. */
size_t step_rows_of(const struct step_rows *rows, size_t process, size_t *end);
/* Likewise, and from when to when its judged steps ran. False: it has none. */
bool step_rows_ran(const struct step_rows *rows, size_t process, size_t *end, int64_t *from_ns, int64_t *to_ns);
/*
 * How many steps of a process lie between two moments, cut ones by their part: those that are judged, and those outside of windows, which
 * use what there is as well, and of which it is known how long they took.
 */
double step_rows_between(const struct step_rows *rows, size_t process, int64_t from_ns, int64_t to_ns);
/* Why there is none to tell of: nobody marked any, or the filters choose none. Not a sentence's end. */
void step_rows_say_none(struct text *text, const struct step_rows *rows);
/* Does this row take part in sums and statistics? */
bool step_rows_counts(const struct step_rows *rows, const struct step_row *row);

/*
 * Is that row judged? Of more than STEPS_FEW steps of a process the first is not: it traces, compiles, fills buffers and caches.
 * Nor is one that evaluates, nor one that began after a device's fault and found no device. Where no other counts, and with --step,
 * --window, --split, they are.
 */
bool step_rows_judges(const struct step_rows *rows, size_t i);

/* "12.3 us", "412 ms", "1.50 s": what a step took. */
void step_time_put(struct text *text, double ns);

/* The rows that count and are not judged. */
struct step_first {
	uint64_t ns, compilation_ns, input_ns; /* the last two: of ns */
	size_t count, evaluation; /* evaluation: more of them that evaluate; their time is not in ns */
};
struct step_first step_rows_first(const struct step_rows *rows);
/* Says what these took, and what step_unusual.h tells of steps that warm up. */
void step_rows_note_first(struct table *table, const struct step_rows *rows, const struct request *request);

/* What no record tells of the devices of the processes that these rows are of: there, "no device worked" is not known. */
struct step_unseen {
	uint64_t launches, of_launches; /* without a record of what the device did; of so many */
	bool is_much;			/* it may change what the parts say */
	bool has_strange;		/* a file has devices that are in no table: process_has_strange_devices */
	bool is_off;			/* calls of a GPU were not recorded at all */
};
struct step_unseen step_rows_unseen(const struct step_rows *rows, const struct request *request);

/* What a reader of any of these tables must know: which units, which split, what is inferred, what is missing. */
void step_rows_notes(struct table *table, const struct request *request, const struct step_rows *rows);

#endif
