/* SPDX-License-Identifier: Apache-2.0 */
/* What a span has to do with input; see reducer/analysis/input_kinds.h. Rule: one table a question. */
#include "reducer/analysis/input_kinds.h"

#include "reducer/model/op_typed.h"

#include <string.h>
#include <strings.h>

#define REDUCE "ReduceIterator::"
#define SCAN "::Scan::"
#define LOADER "enumerate(DataLoader)#"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_one_of(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(name, *words) == 0)
			return true;
	return false;
}

/* What people call the part of a loop that fetches data. */
static bool is_named_input(const char *name)
{
	static const char *const words[] = {
		"input",       "data",	      "data loading", "data_loading", "dataloader", "data loader", "data_time",
		"data time",   "load_batch",  "load batch",   "next_batch",   "next batch", "get_batch",   "get batch",
		"fetch_batch", "fetch batch", "batch fetch",  "tfprof.input", "load data",  "load_data",   NULL};

	return is_one_of(name, words);
}

const char *input_iterator_name(const char *name)
{
	const char *last = name;

	for (const char *at = name; (at = strstr(at, "::")) != NULL; at += 2)
		last = at + 2;
	return last;
}

bool input_is_asked_by_loop(const char *name)
{
	const char *scan = begins(name, REDUCE) ? strstr(name, SCAN) : NULL;

	return scan && !strstr(scan + strlen(SCAN), "::");
}

enum input_loops input_loops_of(const struct process *process)
{
	for (size_t i = 0; i < process->iterator_count; i++)
		if (input_is_asked_by_loop(process->iterators[i].name))
			return LOOPS_IN_SCAN;
	return process->iterator_count ? LOOPS_PLAIN : LOOPS_UNKNOWN;
}

/* `rest`: what stands behind the first part of its long name. A root's has one part more, or none. */
static bool is_root(const char *name, const char *rest, enum input_loops loops)
{
	if (begins(name, REDUCE) && loops != LOOPS_PLAIN)
		return loops == LOOPS_IN_SCAN && input_is_asked_by_loop(name);
	return strstr(rest, "::") == NULL;
}

enum input_kind input_kind_of(const struct span *span, enum input_loops loops)
{
	const char *rest;

	if (span->what != SPAN_OP && span->what != SPAN_TRACE && span->what != SPAN_RANGE)
		return INPUT_NOT;
	if ((rest = op_iterator_rest(span->name)))
		return is_root(span->name, rest, loops) ? INPUT_ROOT : INPUT_ITERATOR;
	if (begins(span->name, LOADER))
		return INPUT_LOADER;
	if (begins(span->name, "IteratorGetNext") || strstr(span->name, ":IteratorGetNext") != NULL)
		return INPUT_GET;
	return span->what == SPAN_RANGE && is_named_input(span->name) ? INPUT_RANGE : INPUT_NOT;
}

bool input_is_named(const char *name)
{
	return begins(name, "Iterator::") || begins(name, REDUCE) || begins(name, LOADER) || is_named_input(name);
}

bool input_kind_is_wait(enum input_kind kind, const struct span *span, uint32_t step_thread)
{
	switch (kind) {
	case INPUT_ROOT:
	case INPUT_GET:
		return true;
	case INPUT_LOADER:
	case INPUT_RANGE:
		return step_thread == 0 || span->thread == 0 || span->thread == step_thread;
	default:
		return false;
	}
}

bool input_is_wait(const struct span *span, enum input_loops loops, uint32_t step_thread)
{
	return input_kind_is_wait(input_kind_of(span, loops), span, step_thread);
}

/* The name without a version and without the number of an input: TFRecordV2, Zip[0]. */
static size_t stem(const char *name)
{
	size_t length = strcspn(name, "[");

	if (length > 2 && name[length - 1] >= '2' && name[length - 1] <= '9' && name[length - 2] == 'V')
		length -= 2;
	return length;
}

static bool is_stem(const char *name, const char *const *words)
{
	size_t length = stem(name);

	for (; *words; words++)
		if (strlen(*words) == length && strncmp(name, *words, length) == 0)
			return true;
	return false;
}

static const char *const readers[] = {"TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO", "ArrayRecord", NULL};
static const char *const asyncs[] = {"Prefetch",
				     "ParallelInterleave",
				     "ParallelMap",
				     "ParseExample",
				     "MapAndBatch",
				     "DataService",
				     "LegacyParallelInterleave",
				     "ParallelBatch",
				     NULL};

/* Reads files. */
static bool is_reader(const char *name)
{
	return op_iterator_rest(name) && is_stem(input_iterator_name(name), readers);
}

bool input_is_async(const char *name)
{
	return is_stem(input_iterator_name(name), asyncs);
}

/* Something above it works ahead of whoever waits. */
static bool is_ahead(const char *name)
{
	static const char *const marks[] = {"::MemoryReader", "::MemoryWriter",	      "::Interleave", "::Prefetch",
					    "::ParallelMap",  "::ParallelInterleave", "::MapAndBatch"};
	const char *last = input_iterator_name(name);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *found = strstr(name, marks[i]);
		if (found && found + 2 < last)
			return true;
	}
	return false;
}

bool input_is_device(const char *name)
{
	return begins(name, "Iterator::Prefetch::Generator") || begins(name, "Iterator::Root::Prefetch::Generator");
}

const char *input_category_name(enum input_category category)
{
	static const char *const names[INPUT_CATEGORIES] = {"demand_read", "advance_read", "preprocessing", "enqueue", "other"};

	return names[category];
}

const char *input_category_remedy(enum input_category category)
{
	static const char *const remedies[INPUT_CATEGORIES] = {
		"Data are read when they are needed: read ahead (prefetch, interleave, DataLoader workers), or cache what fits.",
		"Data are read ahead, and reading takes this long: read more files at once, larger pieces, or from faster "
		"storage.",
		"Preparing samples takes this long: use more parallel calls or workers, prepare batches rather than samples, or "
		"do it "
		"once, offline.",
		"Handing batches to the device takes this long: pin memory, copy larger pieces, or overlap copies with work.",
		"Time in which nothing of the above was seen: queues between processes, Python, starting workers."};

	return remedies[category];
}

enum input_category input_category_of(const char *iterator)
{
	if (!is_reader(iterator))
		return INPUT_PREPROCESSING;
	return is_ahead(iterator) ? INPUT_ADVANCE_READ : INPUT_DEMAND_READ;
}

/* Kinds of iterators by what can be done; the names are the TensorFlow Profiler's and TensorFlow's own. */
static const struct kind {
	const char *kind, *remedy;
	const char *const *names;
} kinds[] = {
	{"slow source",
	 "The source itself is slow: read several files at once (interleave with num_parallel_calls), cache() what fits, or move "
	 "the "
	 "data to faster storage.",
	 (const char *const[]){"TFRecord",
			       "SSTable",
			       "RecordIO",
			       "ArrayRecord",
			       "Spanner",
			       "TFColumn",
			       "SleepwalkRemoteDataset",
			       "TextLine",
			       "StitchedTimelineDataset",
			       "DateKeyDataset",
			       "CapacitorProto",
			       "LMDB",
			       "ExternalDataset",
			       "PearModel",
			       "FixedLengthRecord",
			       "FromTensor",
			       "TensorSlice",
			       "FlatMap",
			       "SyntheticDatasetOp",
			       NULL}},
	{"slow source",
	 "A Python generator makes one sample after the other and needs the interpreter for it: let it yield whole batches, replace "
	 "it by files and tf ops, or run several of them with interleave.",
	 (const char *const[]){"Generator", NULL}},
	{"data service", "The data service does not keep up: find the slowest iterator of its workers' pipelines (tf_data.pipelines of the "
	 "workers' processes, where they are recorded), make that cheaper or more parallel, or add workers.",
	 (const char *const[]){"DataService", NULL}},
	{"remote source", "The data comes from elsewhere: look at that source and the network between.",
	 (const char *const[]){"GuzzlerDataGuzzlerRemoteDataset", "ReverbDataset", "DatasetSampleGame", "Courier",
			       "ReverbEpisodeDataset", NULL}},
	{"has a parallel version", "It works on one element after the other: give it num_parallel_calls=tf.data.AUTOTUNE.",
	 (const char *const[]){"Map", "Interleave", NULL}},
	{"runs in parallel",
	 "Its function takes the time: make the function cheaper (tf ops rather than py_function or numpy_function, on batches "
	 "rather "
	 "than on elements), raise num_parallel_calls, or do its work once, offline or behind cache().",
	 (const char *const[]){"ParallelMap", "MapAndBatch", "ParallelInterleave", "ParseExample", "ParallelBatch",
			       "LegacyParallelInterleave", NULL}},
	{"no parallel version",
	 "It has no parallel form: do less in it, move it behind batch() or in front of what makes elements larger, or do it "
	 "offline.",
	 (const char *const[]){"Filter", "Batch", "Unbatch", "PaddedBatch", "Shuffle", "Scan", NULL}},
	{"buffer",
	 "It waited for what fills it, and nothing below it was seen at work: its source may be no iterator (a generator, "
	 "another "
	 "process), or its buffer is too small for uneven elements.",
	 (const char *const[]){"Prefetch", "Root", NULL}},
};

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (is_stem(input_iterator_name(name), kinds[i].names))
			return &kinds[i];
	return NULL;
}

/* What stands behind cache(), or writes a snapshot, works while it is filled and never again. */
static bool fills_cache(const char *name)
{
	static const char *const caches[] = {"::MemoryCache", "::FileCache"};
	const char *last = input_iterator_name(name);

	if (strstr(name, "::SnapshotWriter"))
		return true;
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (strstr(name, caches[i]) && !begins(last, caches[i] + 2))
			return true;
	return false;
}

bool input_is_python(const struct process *process, uint64_t node_ns)
{
	static const char *const words[] = {"PyFunc", "PyFuncStateless", "EagerPyFunc", NULL};
	uint64_t ns = 0;

	for (size_t i = 0; i < process->ops.count; i++) {
		const struct op *op = &process->ops.items[i];
		const char *type = strrchr(op->name, ':');
		if (op->self_ns > 0 && is_one_of(type ? type + 1 : op->name, words))
			ns += (uint64_t)op->self_ns;
	}
	return ns && 2 * ns >= node_ns;
}

const char *input_remedy(const char *name, bool is_python)
{
	static const char *const asks_function[] = {"Map", "ParallelMap", "MapAndBatch", NULL};
	const struct kind *kind = kind_of(name);

	if (fills_cache(name))
		return "It fills a cache or a snapshot, so only the first epoch waits for it: look at the steps behind that (--step) "
		       "before you mend it. In a run of one epoch cache() gains nothing.";
	if (is_python && is_stem(input_iterator_name(name), asks_function))
		return "Its function is Python's, it seems (tf.py_function, tf.numpy_function: -t op_stats --name=PyFunc), of which one "
		       "call runs at a time however high num_parallel_calls: write it with tf ops, on batches rather than on elements, "
		       "or do its work once, offline or behind cache().";
	return kind ? kind->remedy : "Make it cheaper, run it in parallel, or do its work once: cache() or offline.";
}

const char *input_bottleneck_kind(const char *name)
{
	const struct kind *kind = kind_of(name);

	return kind ? kind->kind : "other";
}

static bool ends(const char *path, const char *with)
{
	size_t length = strlen(path), wanted = strlen(with);

	return length >= wanted && strcmp(path + length - wanted, with) == 0;
}

bool input_is_code(const char *path)
{
	return path[0] == '/' && (ends(path, ".py") || ends(path, ".pyc") || ends(path, ".so") || strstr(path, ".so."));
}

bool input_is_file(const char *path)
{
	if (path[0] != '/' || begins(path, "/proc/") || begins(path, "/sys/") || begins(path, "/dev/"))
		return false;
	return !input_is_code(path) && !strstr(path, "/site-packages/");
}

bool input_is_queue(const char *path)
{
	return strcmp(path, "(pipe)") == 0 || strcmp(path, "(local socket)") == 0;
}

bool input_is_network(const char *path)
{
	return strcmp(path, "(internet socket)") == 0;
}

bool input_is_data(const char *path)
{
	return path[0] == '(' || input_is_file(path);
}

bool input_is_collate(const char *name)
{
	static const char *const words[] = {"aten::stack", "aten::cat", "aten::as_tensor", NULL};

	return is_one_of(name, words);
}

bool input_is_pinning(const char *name)
{
	return strcmp(name, "aten::pin_memory") == 0 || input_is_in_pinning(name);
}

bool input_is_in_pinning(const char *name)
{
	return strcmp(name, "aten::_pin_memory") == 0;
}
