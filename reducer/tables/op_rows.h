/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops of all wanted processes, on the host and on devices: what op_stats and the overview show.
 *
 * Rule: of an op that a framework tells twice one row counts. A device row is the device work that was launched inside the
 * op (innermost); its occurrences are those of the kernel that ran most often for it. Device work of no op is one row "".
 */
#ifndef REDUCER_TABLES_OP_ROWS_H
#define REDUCER_TABLES_OP_ROWS_H

#include "reducer/analysis/work.h"
#include "reducer/tables/request.h"

enum op_side { OP_HOST, OP_DEVICE };

struct op_row {
	enum op_side side;
	const char *name; /* as the framework has it; by --group-by a type, scope or module */
	unsigned source;  /* row of range_sources.def; SPAN_NO_SOURCE = several, or none */
	bool is_idle;
	bool has_allocations; /* the counts below are known */
	uint64_t occurrences, allocations, allocated;
	int64_t total, self;
	uint64_t runs, runs_ns; /* host: each run of it, also inside one of its name; device: each kernel, copy or set */
	spread_squares squares; /* of those runs' ns */
	uint64_t least, most; /* ns: host: of one run of it; device: of one kernel, copy or set */
	int64_t tensor;	     /* device: ns of kernels that use tensor cores */
	const char *forward; /* of backward functions; NULL = none or several */
	int eager;	     /* 1 = run one by one, 0 = inside a compiled function, -1 = not known */
	bool is_eligible;    /* device: a matrix product or convolution by its name */
	bool has_flops;	     /* what follows is known */
	uint64_t flops, flops_ns; /* arithmetic, and the time that it took; ns 0 = not known, or some of it was for what has no figure */
};

struct op_rows {
	struct op_row *items; /* device rows first, each side by self time */
	size_t count, device_count;
	int64_t self[2];    /* sums by side, as shown: with idle where it is */
	struct ops notes;   /* counts of what was left out */
	bool is_part;	    /* of the time or of the threads: allocations are not known */
	struct words words; /* names made here */
};

/* is_with_idle: with a row IDLE a side, as --idle=in asks for. */
void op_rows_find(struct op_rows *rows, const struct request *request, bool is_with_idle);
/* The same where the device work was found already; NULL = there is none. */
void op_rows_make(struct op_rows *rows, const struct request *request, const struct work *work, bool is_with_idle);
void op_rows_free(struct op_rows *rows);

/* Says why there is no row: that the part asked for holds none, or that nothing recorded any. */
void op_rows_note_none(struct table *table, const struct request *request);

/* "name" and "type" of an op as people write it; the name's length is that of the bytes to be shown. */
struct op_text {
	const char *type, *name;
	size_t type_length, name_length;
};
struct op_text op_text_of(const char *name);

#endif
