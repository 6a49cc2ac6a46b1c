/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the tree of processes that name each other as parent or share a job id, with everything tables ask for.
 *
 * Rule: run_open reads headers, facts and counters (cheap); what is marked [scan] is there after run_scan, which streams
 * all events of all processes once, in time order. All times are ns since the start of the run; TIME_UNKNOWN where they
 * are not known. Strings end with a zero and belong to the run. A table reads a struct run and changes nothing.
 */
#ifndef REDUCER_MODEL_RUN_H
#define REDUCER_MODEL_RUN_H

#include "reducer/model/heap.h"
#include "reducer/model/io_rows.h"
#include "reducer/model/native_rows.h"
#include "reducer/model/ops.h"
#include "reducer/model/python_rows.h"
#include "reducer/model/range_rows.h"
#include "reducer/model/refused_rows.h"
#include "reducer/model/use_rows.h"
#include "reducer/read/feed.h"
#include "reducer/read/log.h"
#include "reducer/read/stacks.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* How a process ended, as far as the log can say. */
enum end_kind {
	END_UNKNOWN = 0, /* no word from the process: killed (SIGKILL, SIGSEGV, ...), or ended by an instruction of its own (Go) */
	END_RUNNING = 1, /* a process with this pid and start time exists on this machine now */
	END_EXIT = 2,    /* exit() or return from main */
	END__EXIT = 3,   /* _exit(), quick_exit() */
	END_EXEC = 4,    /* replaced by another program */
	END_ABORT = 5,   /* abort() was entered */
	END_SIGNAL = 6,  /* killed by a signal, as waitpid told `tfprof run` or the process that waited */
	END_IMPORTED = 7, /* made from a file of another profiler, which does not say */
};

struct child_end {
	uint32_t pid;
	int status; /* waitpid's */
};

struct setting {
	const char *name, *value; /* name without TFPROF_ */
	int is_default;
};
struct setting_error {
	const char *name, *value, *remedy;
};
/* host, environment and note facts */
struct pair {
	const char *name, *value;
};

struct module {
	uint64_t id; /* what tfp_pc.module names */
	uint64_t bias, start, end, device, inode;
	const uint8_t *build_id; /* NULL = none */
	size_t build_id_bytes;
	const char *path;
	int64_t loaded_ns, unloaded_ns; /* first needed; dlclose, TIME_UNKNOWN = never */
	uint64_t loaded_ticks, unloaded_ticks; /* private to the model; 0 = never */
};

/* One thread, with its exact counters (both lanes). */
struct thread {
	uint32_t serial, tid; /* serial: ours, from 1; tid: the kernel's */
	char name[17];        /* "" = unknown */
	int has_ended;
	int64_t start_ns, end_ns; /* end: TIME_UNKNOWN while it runs */
	uint64_t allocations, frees, requested_bytes, allocated_bytes, freed_bytes;
	uint64_t unknown_frees, unknown_freed_bytes;
	uint64_t maps, unmaps, mapped_bytes, unmapped_bytes;
	uint64_t own_allocations, own_bytes; /* calls by the library itself, not in the totals */
};

/* Something was lost: one row for each thread and kind. */
struct loss {
	uint32_t thread; /* serial, 0 = of no thread */
	uint8_t kind;    /* number in losses.def */
	const char *name, *help, *remedy;
	uint64_t count;
	int64_t first_ns, last_ns;
};

/* An edge of a capture window. */
enum window_cause { WINDOW_BY_START = 0, WINDOW_BY_LIMIT = 6, WINDOW_BY_SLOW = 7 }; /* those that are asked for */

struct window {
	int64_t time_ns;
	int is_open;
	unsigned cause, index; /* see records.def; cause of enum window_cause, or a later one */
	uint64_t live_bytes; /* UINT64_MAX = unknown */
	uint64_t number;     /* of the process's edges, as they were made; 0 = an older log does not say */
};

/* A stretch of time in which events were recorded. */
struct window_range {
	int64_t from_ns, to_ns;
};

/* Piecewise linear: ticks since origin -> ns since the run's start. Private to the model. */
struct clock_map;

/* A place in a pipeline of tf.data. */
struct iterator {
	uint64_t node, parent;	/* numbers of the log; parent 0 = a root */
	const char *name;	/* long name */
	const char *parameters; /* key=value,key=value; "" = not known */
};

enum window_start { WINDOW_UNSAID, WINDOW_OPEN, WINDOW_CLOSED };

struct process {
	struct log *log;       /* header, live words, blocks */
	uint64_t log_id;
	const char *path;      /* of the log */
	uint32_t pid, parent_pid;
	const char *of_host;   /* name of its machine or container where the run is of several; NULL = of one, or not told */
	uint64_t of_rank;      /* its rank where is_of_rank: the run has several, and it was told which it is */
	bool is_of_rank;
	const char *called;    /* in sentences: its pid and what else tells it apart: "12", "12 of node-a, rank 3" */
	const char *allocator_library; /* that serves malloc in place of libc, and maps memory for it; NULL = libc, or not told */
	const char *command;   /* comm */
	const char *title;     /* that it gave itself, the last that is told; NULL = none */
	const char *executable; /* host fact "executable", else the command */
	const char **arguments; /* argv; the last entry is NULL */
	size_t argument_count;
	size_t parent;         /* index in run.processes; PROCESS_NONE = root */
	size_t exec_before;    /* the image of the same pid that called exec to become this one, or PROCESS_NONE */
	int is_fork;           /* made by fork, not by exec */
	enum window_start window_start; /* of a fork, when its log began; OPEN also where a window of a list opened with the process */
	int has_static_allocator; /* malloc lies in the executable: heap calls cannot be seen */
	const char *allocator_before; /* the library whose malloc stands before ours in LD_PRELOAD; NULL = none */
	int is_heap_unseen;       /* either of them, and no call reached us */
	int are_releases_unsized; /* the allocator does not tell sizes: bytes released are known of events alone */
	int64_t start_ns, end_ns; /* end: best known (end record, else the last record) */
	int64_t gone_ns;       /* when `tfprof run` saw that it had ended; end_ns where nothing later is known */
	enum end_kind end;
	int end_status;        /* exit status for EXIT and _EXIT, signal number for SIGNAL */
	const char *end_doubt; /* of END_UNKNOWN: why it may be no kill; NULL = it is one. Of END_EXEC: that no log is the next one's */
	struct child_end *child_ends; /* of its children that were killed, as its waits said */
	size_t child_end_count;
	struct tfp_end_payload told; /* by `tfprof run` in this log, of this process or of one without a log; pid 0 = nothing */
	int mode;              /* enum tfp_mode last in force */
	int is_full;           /* setting MALLOC=full: heap account has kind EVENTS */

	struct setting *settings;
	size_t setting_count;
	struct setting_error *setting_errors;
	size_t setting_error_count;
	struct pair *hosts, *environment, *notes, *frameworks; /* frameworks: what was found, and what can be recorded of it */
	size_t host_count, environment_count, note_count, framework_count;
	struct module *modules; /* in the order seen; ids are distinct */
	size_t module_count;

	struct thread *threads; /* [scan] by serial; before the scan, without those whose slot was reused */
	size_t thread_count;
	uint64_t unlisted_calls; /* [scan] of the heap's and maps' sums: by threads that ended and that the log no longer names */
	struct loss *losses;    /* [scan] likewise */
	size_t loss_count;
	uint64_t logs_refused, logs_removed; /* of its directory (total.c), told by the run's first process there */
	struct account heap;    /* [scan] */
	struct account mmap;    /* [scan] */
	struct account *accounts; /* [scan] of other allocators: devices, pinned memory, frameworks; names are distinct */
	size_t account_count;
	struct gpu *gpu;        /* [scan] reducer/model/gpu.h; NULL = the log says nothing about GPUs */
	struct ops ops;         /* [scan] of frameworks */
	struct window *windows; /* [scan] by time */
	size_t window_count;
	struct window_range *ranges; /* [scan] */
	size_t range_count;
	struct step *steps;     /* [scan] by time; those of every source */
	size_t step_count;
	uint64_t steps_beyond;  /* [scan] that found no room among them; what some are made of: calls, batches, rounds */
	uint64_t layers_beyond; /* [scan] of PyTorch in steps of too many: what was evaluated in those is not told from them */
	uint64_t calls_beyond;  /* [scan] of TensorFlow's functions, where there are too many of those: none becomes a step */
	size_t batches_aside;   /* [scan] of tf.data, taken one by one in no step that TensorFlow marked: Keras' predict, say */
	size_t beside_count;    /* [scan] of them, those that are none as another process trains meanwhile: steps_beside.h */
	size_t unseen_count;    /* [scan] of them, those found in a window whose end none holds: steps_unseen.h */
	int has_measured; /* [scan] kernels were measured, which repeats, too, and is no step: step_measured.h */
	struct {
		char *line;	/* of JAX's; NULL = it has none */
		const char *function; /* of TensorFlow's, that trains; NULL = none does */
		uint64_t calls; /* or rounds; 0 = there is no such loop */
		enum loop_aside where;
	} aside; /* [scan] another loop than the one that is counted: xla_beside.h, periods_behind.h, functions_aside.c */
	int64_t awaited_from_ns, awaited_to_ns; /* [scan] the call behind the last step that waited for what others dispatched; 0 */
	struct range_rows range_rows; /* [scan] */
	struct iterator *iterators; /* [scan] of tf.data; a parent stands before its children */
	size_t iterator_count;
	struct io_rows io_rows; /* [scan] */
	struct python_rows python; /* [scan] */
	struct native_rows native; /* [scan] */
	struct use_rows use;    /* [scan] */
	struct refused_rows refused; /* [scan] */
	const char *const *op_names; /* [scan] operations that others name by number; [0] = "" */
	size_t op_count;
	uint64_t events;        /* [scan] records read */
	uint64_t unknown_records; /* [scan] of kinds this program has no use for: read past */
	struct clock_map *clock;
	uint64_t end_ticks;     /* private to the model */
	struct feed_kinds kinds; /* [scan] of its records; private to the model */
};

#define PROCESS_NONE SIZE_MAX

/* Whether that is a date: files of other profilers may count from anywhere, and are then taken to begin in January 1970. */
static inline bool run_is_date(int64_t realtime_ns)
{
	return realtime_ns >= INT64_C(100000000000000000); /* 1973 */
}

/* A run that was found but not chosen. */
struct run_brief {
	char name[17];
	int64_t realtime_ns;  /* start, since 1970 */
	size_t process_count;
	const char *program;  /* of its main process (program.h); who used a GPU is not known here */
};

struct run {
	char name[17];        /* what --run takes: hexadecimal */
	int64_t realtime_ns;  /* start of the run since 1970: the earliest origin of its processes */
	int utc_offset_s;
	const char *program;  /* as in struct run_brief, by which runs are told apart before they are scanned */
	int64_t duration_ns;  /* to the last end that is recorded */
	int64_t gone_ns;      /* to the last gone_ns of a process */
	struct process *processes; /* by start; a parent stands before its children */
	size_t process_count;
	uint64_t first_log_id; /* of the first process, be it here or left out */
	size_t whole_count;   /* how many processes there were before run_keep; 0 = all are here */
	size_t start_count;   /* trees of processes in it: more than one where ranks of a job were started apart; 0 = all were asked for */
	struct run_brief *others;  /* newest first */
	size_t other_count;
	int is_scanned;
	struct diag_list *diags;
	void *private; /* storage of the strings */
};

/* What run_scan adds up of GPUs for few tables, or for none of a time line: a bit each. */
enum run_sum {
	RUN_SUM_CALLS = 1,  /* calls by function, result and thread */
	RUN_SUM_DELAYS = 2, /* from a launch to its start */
	RUN_SUM_CURVES = 4, /* of queues and devices when they were busy, and the gaps; without it for how long, in all */
	RUN_SUM_WORK = 8,   /* kernels, copies, graphs and how long queues and devices were busy: all that is not named above */
	RUN_SUM_ALL = 15
};

struct run_options {
	const char *name;    /* NULL = the newest, "all" = every log as one run, else a name or the start of one */
	unsigned jobs;	     /* threads to use in all; 0 = one */
	unsigned temporary;  /* a block is temporary when freed within this many allocations of its thread; 0 = 1, at most 16 */
	int wants_launches;  /* keep every launch (gpu_launches.h): some 56 bytes each in a temporary file */
	unsigned without;    /* of enum run_sum what nobody asks for: it is not added up */
	int has_window;      /* GPU sums take only what began in from_ns .. to_ns (ns of the run; edges exact to the clock's error) */
	int64_t from_ns, to_ns;
	/* Called now and then with bytes of log read and in all; NULL = never. */
	void (*progress)(void *context, uint64_t done, uint64_t all);
	void *context;
};

/*
 * Opens every *.tfp under the paths (files, or directories read one level deep), forms runs, chooses one. Logs that
 * cannot be read are diags. NULL when nothing could be read: the diags say why. `diags` must outlive the run.
 */
struct run *run_open(const char *const *paths, size_t count, const struct run_options *options, struct diag_list *diags);
void run_close(struct run *run);

/* Leaves out, before a scan, the processes that are not wanted, as if they had no log; whole_count tells. One at least must stay. */
void run_keep(struct run *run, bool (*is_wanted)(const void *context, const struct process *process), const void *context);

/* Streams all events once and fills what is marked [scan]. Idempotent. Returns -1 without memory. */
int run_scan(struct run *run, const struct run_options *options);

/* Whom to tell, now and then, that a pass behind the first goes on; `done` and `all` are 0. Any thread may call it. */
void run_progress(struct run *run, void (*progress)(void *context, uint64_t done, uint64_t all), void *context);

/*
 * Calls `work` once for each process, for several at a time where there are threads for that (-j). It may read the run, stream
 * spans of its process, and write what is its process's alone. Comes back when all is done.
 */
void run_each(struct run *run, void (*work)(void *context, size_t process), void *context);

/*
 * Work on a scanned run that goes on beside other work on it: another thread does it where there is one, else run_await. It may read
 * the run and stream spans. run_await comes back when it is done; `context` must live until then.
 */
struct run_errand;
struct run_errand *run_send(struct run *run, void (*work)(void *context), void *context);
void run_await(struct run_errand *errand);

/* ns since the run's start of a time in the process's log (ticks since its origin). */
int64_t process_ns(const struct process *process, uint64_t ticks);

/* ns a tick over the whole process, for sums of durations: it differs from the clock's piecewise rate by ppm. 1 = nothing recorded. */
double process_rate(const struct process *process);

/*
 * Whether the counters of the threads and the events say the same of this account. A thread that was killed inside a hook
 * has counted a call that it had not recorded yet (nothing was lost: the call had not returned), so where the process
 * ended without a word or had several threads, a call more for each thread and lane agrees too, and so do bytes without the call.
 */
int process_counters_agree(const struct process *process, const struct account *account);

/* The account of that allocator, or NULL. */
const struct account *process_account(const struct process *process, const char *allocator);

/* The module of that id, or NULL. */
const struct module *process_module(const struct process *process, uint64_t id);

/* The thread of that serial, NULL = not known. */
const struct thread *process_thread(const struct process *process, uint32_t serial);

/*
 * The process that the run is about: the first that used a GPU (after run_scan), else of those that no other here began the first that
 * lasted half as long as any of them: what a script calls before the training may be recorded as well.
 */
const struct process *run_main(const struct run *run);

/* Value of a setting in force ("" when the log has none of that name). */
const char *process_setting(const struct process *process, const char *name);
/* Made from a file of another profiler (reducer/import)? */
bool process_is_foreign(const struct process *process);
/* A file with devices that are no GPUs, or that was written for viewers: what they did is ranges, and in no table of devices. */
bool process_has_strange_devices(const struct process *process);

/* Did it fail, or was it killed, as far as is known: an exit status that is not 0, abort, a signal, no word at its end? */
bool process_has_failed(const struct process *process);

/* Did it end by abort, or by a signal that programs do not end others by? */
bool process_has_crashed(const struct process *process);

/* One word or a short sentence: "exit status 0", "killed by signal 9", "no word: killed", ... `room` at least 80. */
const char *process_end_text(const struct process *process, char *text, size_t room);

#endif
