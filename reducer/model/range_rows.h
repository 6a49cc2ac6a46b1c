/* SPDX-License-Identifier: Apache-2.0 */
/* Named ranges of a process, summed by name, for the tables. See ranges.h for what the times mean. */
#ifndef REDUCER_MODEL_RANGE_ROWS_H
#define REDUCER_MODEL_RANGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_row {
	const char *name;   /* NULL = not kept: the table of names was full */
	const char *domain; /* "" = the default one of its source */
	unsigned source;    /* row of range_sources.def */
	uint64_t occurrences, nested, marks, cut, process_wide, elsewhere;
	uint64_t whole; /* outside of any of its name, and ended */
	int64_t total_ns, self_ns, max_ns, whole_ns, min_ns; /* min_ns: of those that ended */
	uint64_t bytes, with_bytes; /* of structured payloads that say so */
};

struct range_rows {
	struct range_row *items;
	size_t count;
	uint64_t unbegun, crossed, unfollowed; /* see struct ranges; unfollowed: too deep or too many at once */
	int is_shared; /* the first row stands for several names: there were too many */
};

/* Who says that a range, a mark or a step begins. */
enum range_source {
#define TFP_RANGE_SOURCE(number, name, trust, help) SOURCE_##name = number,
#include "collectors/tables/range_sources.def"
#undef TFP_RANGE_SOURCE
};

/* How a step is known: enum range_source, or found by its period. */
#define STEP_BY_PERIOD 255

/* Of range_sources.def, or of STEP_BY_PERIOD. */
const char *range_source_name(unsigned source);
/* Nobody marked such a step: it follows from what repeats, in the log or while the program ran. */
bool range_source_infers(unsigned source);

enum step_union {
	STEP_OF_TURNS, /* optimizers of one name take turns */
	STEP_OF_PASS,  /* a backward pass calls them, each for its parameters */
	STEP_OF_BATCH, /* one of them brought a batch, the others did not */
	STEP_OF_ROUND, /* one of them steps several times, each with data of its own, then the other one once */
};

/* Where another loop lies that may be meant as well: xla_beside.h, periods_behind.h, functions_aside.c. */
enum loop_aside {
	LOOP_NONE,
	LOOP_BEHIND,
	LOOP_BEFORE,
	LOOP_ABREAST, /* on another thread */
	LOOP_AROUND,  /* of the other loop: some of it before the steps, behind, or between them */
};

enum step_trained {
	TRAINED_UNKNOWN,
	TRAINED_ON_JAX,	  /* Keras calls what it trains by from fit or train_on_batch */
	COUNTED_ON_JAX,	  /* not known, and counted by the calls of the line that runs a compiled function */
	TRAINED_BACKWARD, /* a backward pass of PyTorch ran in it, and those without one are left out */
	TRAINED_REPLAY,	  /* a launch of a graph in which an Optimizer.step of PyTorch was captured */
};

struct step {
	int64_t time_ns;
	int64_t end_ns;     /* said or implied by its range; TIME_UNKNOWN = lasts until the next one of its source */
	uint64_t number;
	uint32_t thread;    /* serial, 0 = of no thread (found by a period that several threads make) */
	unsigned source;
	const char *name;   /* of the range or word that marks it; NULL = none */
	double confidence;  /* 1: marked; less: found by period */
	int is_chosen;      /* of the source that is trusted most */
	int is_empty;       /* there were no data left, or it failed: no step, never chosen; it ends the one before */
	int64_t rest_ns;    /* when the data ran out behind it, or a long pause began: what follows is in no step. 0 = neither */
	int is_evaluated;   /* what follows rest_ns (before the first step: what its optimizer's period began with) is forward work alone */
	int is_call;	    /* nobody marked it: a call of a function of TensorFlow that trains */
	int is_batch;	    /* nor this: a batch of tf.data that a loop took */
	int is_update;	    /* nor this: from one change of the weights of an eager loop of TensorFlow to the next */
	enum step_trained trained; /* nor this, but it is known to train */
	int is_scored;	    /* an eager loop of TensorFlow trains, but not by this one: evaluation */
	unsigned turns;     /* ends of PyTorch's Optimizer.step, or launches of graphs, that make this one; 0 = one */
	enum step_union as; /* why there are several */
};

#endif
