/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the length of a step hangs on, and how long it would be if something took less time.
 *
 * Rule: of each process some usual steps that follow each other become a graph (replay_graph.h): each call of the host waits for the
 * one before it, each piece of device work for its call and for the work before it on its stream, calls that wait for the device's end.
 * The graph is replayed with one thing's time changed; what else happens stays as it was and in its order. All of it is inferred:
 * usual_ns, the same steps with usual delays in the place of measured ones, says how well the graph explains
 * them. Collectives keep their durations, and with them what other ranks did.
 */
#ifndef REDUCER_ANALYSIS_REPLAY_H
#define REDUCER_ANALYSIS_REPLAY_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/words.h"

#define REPLAY_STEPS_MOST 16u
#define REPLAY_NODES_MOST (1u << 16) /* calls and works of these steps: some 8 MiB; with more fewer steps are looked at */
#define REPLAY_NAMES_MOST 16u	     /* of kernels and copies, and of ops: those that take most */

/* What a piece of the way from a step's start to its end is. */
enum replay_part {
	REPLAY_HOST,	  /* between two calls of the host: Python, the framework */
	REPLAY_INPUT,	  /* of that: waiting for input */
	REPLAY_CALL,	  /* in a call that waits for nothing */
	REPLAY_LAUNCH,	  /* from a call until its work begins, where the device was free */
	REPLAY_QUEUE,	  /* between two works of a stream, the second one being asked for in time */
	REPLAY_KERNEL, REPLAY_COPY, REPLAY_SET, REPLAY_GRAPH,
	REPLAY_WAKE,	  /* from the end of a work until the call that waited for it returns */
	REPLAY_LATE,	  /* a work began later than anything known explains */
	REPLAY_PARTS
};
const char *replay_part_name(enum replay_part part);

struct replay_step {
	enum replay_part part;
	uint32_t name, op; /* numbers of replay.words; op: in which the call was made, in none the range; host code has no name */
	uint64_t count;
	double ns;     /* on the way, of all steps */
	double all_ns; /* of all that is called so, on the way or not */
};

#define REPLAY_PIECES_MOST 8192u /* those at the end of the steps; trace_path.js has the number as well */

/* A piece of that way where and when it was measured; the next one begins at its end. */
struct replay_piece {
	enum replay_part part;
	uint32_t name, op; /* as in struct replay_step */
	bool is_on_queue;
	uint32_t track;	   /* thread's serial, or queue */
	int64_t start_ns;
	uint64_t duration_ns;
};

enum replay_what {
	REPLAY_ALL_DEVICE, REPLAY_COLLECTIVES, REPLAY_WORK_NAME, REPLAY_OP, REPLAY_ALL_HOST, REPLAY_HOST_OF, REPLAY_ALL_INPUT,
	REPLAY_ALL_CALLS, REPLAY_ALL_WAITS, REPLAY_WHATS
};
const char *replay_what_name(enum replay_what what);

struct replay_change {
	enum replay_what what;
	uint32_t name;
	enum replay_part part;	  /* of REPLAY_WORK_NAME */
	double all_ns;		  /* what it takes, of all steps */
	double half_ns, none_ns;  /* how long the steps take where it takes half of its time, none; half of waits: as measured */
};

enum replay_fault { REPLAY_FINE, REPLAY_NO_STEPS, REPLAY_NO_WORK, REPLAY_TOO_MUCH, REPLAY_MANY_THREADS };

struct replay_process {
	uint64_t log_id;
	enum replay_fault fault;
	uint64_t first_step, last_step, steps, all_steps; /* numbers; how many */
	uint64_t calls, works, waits, guessed_waits, guessed_orders, guessed_streams, guessed_turns;
	double measured_ns; /* of the steps, from mark to mark; how long devices took for what they asked for, where that is longer */
	double model_ns;    /* likewise, of the steps replayed as they were */
	double usual_ns;    /* likewise, with usual delays */
	bool is_device_end; /* measured_ns is of the devices: the host runs ahead */
	struct replay_step *path; /* most first; sum: model_ns */
	size_t path_count;
	struct replay_piece *pieces; /* last first */
	size_t piece_count;
	struct replay_change *changes;
	size_t change_count;
};

struct replay {
	struct words words;
	struct replay_process *processes; /* by log id */
	size_t count, room;
	struct replay_pass *pass; /* during the pass only */
};

#endif
