/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of all settings, and the one parser that makes them from text; both come from preload/settings.def.
 *
 * Rule: the same code runs inside the host and in `tfprof run`, so it calls nothing at all: no libc, no system call, no
 * memory but the caller's, at most 1 KiB of stack. It does not read the environment (preload/settings.c does) and says
 * nothing (the caller decides who hears of a problem).
 */
#ifndef TFP_PRELOAD_SETTINGS_PARSE_H
#define TFP_PRELOAD_SETTINGS_PARSE_H

#include "writer/format.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Every variable of ours begins so. Three are no settings: `tfprof run` puts the job id into TFP_JOB_VARIABLE as 32
 * hexadecimal digits, first byte of tfp_file_header.job_id first; the library puts descent into TFP_PARENT_VARIABLE,
 * which begins with the same digits (preload/environment.h); TFP_TOOL_VARIABLE says that a tool of NVIDIA's has started what comes behind
 * it (preload/injection.c).
 */
#define TFP_SETTING_PREFIX "TFPROF_"
#define TFP_JOB_VARIABLE "TFPROF_JOB"
#define TFP_PARENT_VARIABLE "TFPROF_PARENT"
#define TFP_TOOL_VARIABLE "TFPROF_TOOL"

#define TFP_SETTING_TEXT 1024   /* bytes of a text or list with its terminator; Linux paths may be longer, ours not */
#define TFP_SETTING_REMEDY 384  /* bytes of a remedy with its terminator; longer ones are cut */
#define TFP_WINDOW_ENTRIES 16   /* windows in one setting */

/* The words of a choice stand in the same order in the row's range; the unit test holds them together. */
enum tfp_totals { TFP_TOTALS_BATCHED = 0, TFP_TOTALS_EXACT = 1 };
enum tfp_drain { TFP_DRAIN_AUTO = 0, TFP_DRAIN_INLINE = 1, TFP_DRAIN_THREAD = 2, TFP_DRAIN_HELPER = 3 };
enum tfp_full { TFP_FULL_STOP = 0, TFP_FULL_WRAP = 1 };
enum tfp_cuda { TFP_CUDA_OFF = 0, TFP_CUDA_HOOKS = 1, TFP_CUDA_CUPTI = 2 };
enum tfp_cuda_graph { TFP_CUDA_GRAPH_GRAPH = 0, TFP_CUDA_GRAPH_NODE = 1 };
enum tfp_ops { TFP_OPS_OFF = 0, TFP_OPS_STEPS = 1, TFP_OPS_ON = 2, TFP_OPS_SHAPES = 3 };
enum tfp_python { TFP_PYTHON_OFF = 0, TFP_PYTHON_SAMPLE = 1, TFP_PYTHON_LAUNCH = 2 };

enum tfp_window_kind { TFP_WINDOW_ALL = 0, TFP_WINDOW_OFF = 1, TFP_WINDOW_LIST = 2 };
enum tfp_window_unit { TFP_WINDOW_TIME = 0, TFP_WINDOW_STEP = 1, TFP_WINDOW_LAUNCH = 2, TFP_WINDOW_SLOW = 3, TFP_WINDOW_BUDGET = 4 };

/*
 * time: nanoseconds from the first intercepted call, `to` excluded. step, launch: numbers, `to` included. every: the same again
 * so much later, and so on for ever; longer than the window; 0 = once. slow: percent by which a step is longer, steps that are
 * recorded behind it, and from there to the next such window at least. budget: percent of the time that recording may cost, steps of a
 * window.
 */
struct tfp_window_entry {
	enum tfp_window_unit unit;
	uint64_t from, to, every;
};
struct tfp_window {
	enum tfp_window_kind kind;
	uint32_t count;
	struct tfp_window_entry entries[TFP_WINDOW_ENTRIES];
};

/* off is TFP_MODE_PASS. sample_bytes is the mean distance between samples, valid in every mode. */
struct tfp_malloc_setting {
	enum tfp_mode mode;
	uint64_t sample_bytes;
};

/* The C type of each `type` of settings.def. */
typedef char tfp_setting_text[TFP_SETTING_TEXT];
#define TFP_SETTING_C_text tfp_setting_text
#define TFP_SETTING_C_names tfp_setting_text
#define TFP_SETTING_C_pattern tfp_setting_text
#define TFP_SETTING_C_size uint64_t
#define TFP_SETTING_C_count uint32_t
#define TFP_SETTING_C_flag int
#define TFP_SETTING_C_window struct tfp_window
#define TFP_SETTING_C_signal_number int
#define TFP_SETTING_C_malloc_mode struct tfp_malloc_setting
#define TFP_SETTING_C_totals enum tfp_totals
#define TFP_SETTING_C_drain enum tfp_drain
#define TFP_SETTING_C_full enum tfp_full
#define TFP_SETTING_C_cuda enum tfp_cuda
#define TFP_SETTING_C_cuda_graph enum tfp_cuda_graph
#define TFP_SETTING_C_ops enum tfp_ops
#define TFP_SETTING_C_python enum tfp_python

/* One field a row, named as in the table; window_signal: 0 = none. */
struct tfp_settings {
#define TFP_SETTING(NAME, field, type, initial, range, help) TFP_SETTING_C_##type field;
#include "preload/settings.def"
#undef TFP_SETTING
};

/* The number of a row, in the order of the table: TFP_SETTING_OUT, TFP_SETTING_WINDOW, ... */
enum tfp_setting_number {
#define TFP_SETTING(NAME, field, type, initial, range, help) TFP_SETTING_##NAME,
#include "preload/settings.def"
#undef TFP_SETTING
	TFP_SETTING_COUNT
};

/* A row as text. name has neither prefix nor dashes. */
struct tfp_setting_row {
	const char *name, *type, *initial, *range, *help;
};

/* What was wrong. row: the setting meant or, for an unknown name, the nearest one; -1 where none is near. */
enum tfp_setting_fault { TFP_SETTING_FINE = 0, TFP_SETTING_UNKNOWN = 1, TFP_SETTING_BAD = 2 };
struct tfp_setting_problem {
	enum tfp_setting_fault fault;
	int row;
	char remedy[TFP_SETTING_REMEDY]; /* "no setting has such a name; the nearest is TFPROF_MALLOC", or the reason and the good values */
};

/* The row of that number, NULL beyond the last: loop with it. Static memory. */
const struct tfp_setting_row *tfp_setting_row(int number);

/* Every setting to its default. Any thread; writes only *settings. */
void tfp_settings_default(struct tfp_settings *settings);

/*
 * Sets the setting `name` (as in the table, MALLOC) from `value`. Returns 0. On a problem returns -1, leaves *settings
 * as it was and fills *problem. Any thread; writes only through its arguments.
 */
int tfp_settings_apply(struct tfp_settings *settings, const char *name, const char *value,
		       struct tfp_setting_problem *problem);

/*
 * Writes the value of row `number` as text that tfp_settings_apply takes back; cut to `room` with its terminator.
 * Returns the length written. TFP_SETTING_TEXT is always enough.
 */
size_t tfp_setting_format(const struct tfp_settings *settings, int number, char *to, size_t room);

/*
 * Whether `program` (a file name without its directory) is in a list of the settings ONLY or SKIP: names separated by
 * commas, `*` for any letters, `default` for the built-in list of shells, compilers and helpers.
 */
int tfp_settings_names_program(const char *list, const char *program);

/* Whether `list`, of the setting SKIP, has `program`, and it is a tool that looks at the machine: it starts no others to speak of. */
int tfp_settings_skips_tool(const char *list, const char *program);

/* The built-in list, one pattern after the other; NULL beyond the last. For the manual. */
const char *tfp_settings_default_skip(int number);

/* Of `count` words the one nearest to `word` by edit distance (case and - _ alike), -1 where none is near enough. */
int tfp_nearest_word(const char *word, const char *const *words, int count);

#endif
