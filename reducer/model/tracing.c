/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a framework's compiler ran, from the Python frames that were read at allocations and by looks. See scan.h, python_rows.h.
 *
 * Rule: frames that stand on a stack only while something is traced or compiled, never while the result runs; a row each below
 * (PyTorch 2.0 to 2.15, JAX 0.4 to 0.10, TensorFlow 2.15 to 2.21). What lies between two stacks of one thread that both hold
 * such frames, without a step's border between them, was compiling, and a stack between them that was cut says nothing against
 * it. An inference, and called one wherever it shows.
 */
#include "reducer/model/op_typed.h"
#include "reducer/model/scan.h"
#include "reducer/model/tracing_looks.h"
#include "reducer/read/stacks.h"

#include <stdlib.h>
#include <string.h>

#define CODES_MAX 65536u /* as in python_scan.c */

static const struct frame_rule {
	const char *file;     /* the path ends so */
	const char *function; /* what stands behind the last dot of its name: "*word": holds that word, "*": any but a module's own code */
	enum python_tracer tracer;
} frame_rules[] = {
	/* Called where no compiled code fits; compile_fx.py also holds what calls the result, under names without that word. */
	{"torch/_dynamo/convert_frame.py", "*", TRACER_TORCH},
	{"torch/_dynamo/symbolic_convert.py", "*", TRACER_TORCH},
	{"torch/_inductor/compile_fx.py", "*compile", TRACER_TORCH},
	{"torch/_functorch/aot_autograd.py", "create_aot_dispatcher_function", TRACER_TORCH},
	{"torch/_functorch/aot_autograd.py", "aot_module_simplified", TRACER_TORCH},
	/* What these call stands deep: of a stack that is cut by STACKS they are what is left. Not what is loaded with them. */
	{"torch/_dynamo/side_effects.py", "*", TRACER_TORCH},
	{"torch/_dynamo/variables/builder.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/collect_metadata_analysis.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/dispatch_and_compile_graph.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/graph_capture.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/graph_capture_wrappers.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/graph_compile.py", "*", TRACER_TORCH},
	{"torch/_functorch/_aot_autograd/traced_function_transforms.py", "*", TRACER_TORCH},
	{"torch/_functorch/partitioners.py", "*", TRACER_TORCH},
	{"torch/_inductor/graph.py", "*", TRACER_TORCH},
	{"torch/_inductor/lowering.py", "*", TRACER_TORCH},
	{"torch/_inductor/pattern_matcher.py", "*", TRACER_TORCH},
	{"torch/_inductor/scheduler.py", "*", TRACER_TORCH},
	{"torch/_inductor/select_algorithm.py", "*", TRACER_TORCH},
	{"torch/export/_trace.py", "*", TRACER_TORCH},
	{"torch/fx/experimental/proxy_tensor.py", "*", TRACER_TORCH},
	{"torch/fx/experimental/symbolic_shapes.py", "*", TRACER_TORCH},
	{"torch/_subclasses/fake_tensor.py", "*", TRACER_TORCH},
	{"torch/jit/_trace.py", "trace", TRACER_TORCH_SCRIPT},
	{"torch/jit/_script.py", "script", TRACER_TORCH_SCRIPT},
	{"jax/_src/compiler.py", "*", TRACER_JAX},
	{"jax/_src/interpreters/mlir.py", "*lower", TRACER_JAX},
	{"jax/_src/interpreters/partial_eval.py", "*trace_to_jaxpr", TRACER_JAX},
	{"jax/_src/interpreters/pxla.py", "*compile", TRACER_JAX},
	{"jax/_src/interpreters/pxla.py", "*lower", TRACER_JAX},
	{"jax/_src/interpreters/pxla.py", "from_hlo", TRACER_JAX},
	{"tensorflow/python/framework/func_graph.py", "func_graph_from_py_func", TRACER_TENSORFLOW},
	{"tensorflow/python/eager/polymorphic_function/tracing_compilation.py", "_create_concrete_function", TRACER_TENSORFLOW},
	/* No compiler: fills 256 MB and runs a kernel, some thousand times, for an autotuner or whoever asks. Only looks tell it. */
	{"triton/testing.py", "do_bench", TRACER_MEASURES},
};

/* Of a stack whose outer frames were cut off, and whose others say nothing: it may be of a compiler, or of what the result runs in. */
#define TRACER_CUT_OFF 0xfeu
/*
 * Of a module of a compiler that is loaded, wherever that is first asked for: what it calls meanwhile (bodies of classes, tables that it
 * makes) compiles nothing, unless a compiler asked for it.
 */
#define TRACER_LOADED 0xfdu
#define CUT_OFF_MOST 1.0 /* seconds from one stack of a compiler to the next, with none but such ones between them */

/* A stretch of a thread that has not ended. */
struct open_tracing {
	uint64_t from, to; /* ticks */
	uint32_t stacks;
	uint64_t before;	   /* when the thread was last seen in no compiler */
	enum python_tracer tracer; /* TRACER_NONE = there is none */
	int is_cut_off;		   /* the last stack was such a one */
};

struct tracing {
	struct scan *scan;
	uint8_t *codes; /* by code: its tracer; NULL = no code of any was named */
	struct stacks *stacks;
	uint8_t *known; /* by stack: its tracer + 1; 0 = not looked at */
	struct open_tracing *open; /* by stream */
	struct python_moment *against; /* where stretches were ended by what is in no compiler, and what stood last before they began */
	size_t against_count;
	int is_told; /* TensorFlow says itself when it traces: nothing is inferred */
};

static int ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum python_tracer tracer_of(const char *file, const char *function)
{
	const char *dot = strrchr(function, '.'), *last = dot != NULL ? dot + 1 : function;
	int is_nameless = last[0] == '<'; /* a module that is loaded, with its comprehensions; those of functions stand below these */

	for (size_t i = 0; i < sizeof frame_rules / sizeof *frame_rules; i++) {
		const struct frame_rule *rule = &frame_rules[i];
		if (!ends_with(file, rule->file))
			continue;
		if (strcmp(rule->function, last) == 0 || (rule->function[0] == '*' && !is_nameless && strstr(last, rule->function + 1)))
			return rule->tracer;
	}
	return TRACER_NONE;
}

/* Where the modules of compilers lie. */
static const char *const compilers[] = {"/torch/_dynamo/", "/torch/_functorch/", "/torch/_inductor/", "/torch/_subclasses/",
					"/torch/export/",  "/torch/fx/",	 "/torch/jit/",	      "/jax/_src/"};

static int is_loaded(const char *file, const char *function)
{
	for (size_t i = 0; strcmp(function, "<module>") == 0 && i < sizeof compilers / sizeof *compilers; i++)
		if (strstr(file, compilers[i]) != NULL)
			return 1;
	return 0;
}

/* Paths and names are cut at so much to be looked at: of the file its end counts. */
#define NAME_ROOM 256

/* What TorchInductor makes is kept on disk; what TorchDynamo and AOTAutograd trace for other backends is not. */
static int makes_code(const char *file, const char *function)
{
	return (ends_with(file, "torch/_inductor/compile_fx.py") && strstr(function, "compile") != NULL) ||
	       (ends_with(file, "torch/_inductor/graph.py") && strstr(function, "codegen") != NULL);
}

static void take_code(void *state, const struct fact *fact, const int *fields)
{
	struct tracing *tracing = state;
	const struct fact_value *function = fact_text(fact, fields[1]), *file = fact_text(fact, fields[2]);
	uint64_t id = fact_number(fact, fields[0]);
	char texts[2][NAME_ROOM] = {"", ""};
	unsigned tracer;

	if (id > CODES_MAX || function == NULL || file == NULL || function->length >= NAME_ROOM)
		return;
	memcpy(texts[0], function->text, function->length);
	size_t tail = file->length < NAME_ROOM ? file->length : NAME_ROOM - 1;
	memcpy(texts[1], file->text + file->length - tail, tail);
	tracer = is_loaded(texts[1], texts[0]) ? TRACER_LOADED : tracer_of(texts[1], texts[0]);
	tracing->scan->process->python.has_inductor |= makes_code(texts[1], texts[0]);
	if (tracer != TRACER_NONE && tracing->codes == NULL)
		tracing->codes = calloc(CODES_MAX + 1, 1);
	if (tracer != TRACER_NONE && tracing->codes != NULL)
		tracing->codes[id] = (uint8_t)tracer;
}

static unsigned tracer_of_pc(const struct tracing *tracing, uint64_t node)
{
	uint32_t pc = (uint32_t)node;

	if (pc < tracing->stacks->pc_count && (tracing->stacks->pcs[pc].flags & TFP_PC_CUT_DEPTH))
		return TRACER_CUT_OFF;
	if (pc >= tracing->stacks->pc_count || !(tracing->stacks->pcs[pc].flags & TFP_PC_PYTHON))
		return TRACER_NONE;
	uint64_t code = tracing->stacks->pcs[pc].pc >> 32;
	return code <= CODES_MAX ? tracing->codes[code] : TRACER_NONE;
}

/* Whether a stack holds such a frame: its outermost one that does says whose. Parents' ids are lower, so walks end. */
static unsigned tracer_of_stack(struct tracing *tracing, uint32_t stack)
{
	uint32_t at = stack;
	unsigned tracer = TRACER_NONE;

	while (at != 0 && at < tracing->stacks->node_count && tracing->known[at] == 0)
		at = (uint32_t)(tracing->stacks->nodes[at] >> 32);
	if (at != 0 && at < tracing->stacks->node_count)
		tracer = tracing->known[at] - 1u;
	if (tracer == TRACER_NONE || tracer == TRACER_CUT_OFF) /* none of those below `at`: those above may */
		for (uint32_t up = stack; up != at && up < tracing->stacks->node_count;
		     up = (uint32_t)(tracing->stacks->nodes[up] >> 32)) {
			unsigned own = tracer_of_pc(tracing, tracing->stacks->nodes[up]);
			tracer = own == TRACER_NONE || (own == TRACER_CUT_OFF && tracer != TRACER_NONE) ? tracer : own;
		}
	if (stack < tracing->stacks->node_count)
		tracing->known[stack] = (uint8_t)(tracer + 1);
	return tracer;
}

static void close_tracing(struct tracing *tracing, size_t stream)
{
	struct open_tracing *open = &tracing->open[stream];
	struct process *process = tracing->scan->process;
	struct python_rows *rows = &process->python;
	struct python_tracing *tracings;

	if (open->tracer == TRACER_NONE || open->tracer == TRACER_MEASURES) {
		open->tracer = TRACER_NONE;
		return;
	}
	tracings = open->to > open->from ? model_room(rows->tracings, rows->tracing_count, sizeof *tracings) : NULL;
	if (tracings != NULL) {
		rows->tracings = tracings;
		tracings[rows->tracing_count++] = (struct python_tracing){.from_ns = (int64_t)open->from,
									   .to_ns = (int64_t)open->to,
									   .thread = process->log->streams[stream].thread,
									   .stacks = open->stacks,
									   .tracer = open->tracer};
	}
	open->tracer = TRACER_NONE;
}

/* The thread was in no compiler: what looks say before and behind it is no one stretch. */
static void contradict(struct tracing *tracing, size_t stream, uint64_t time)
{
	struct python_moment *against = model_room(tracing->against, tracing->against_count, sizeof *against);

	if (against == NULL)
		return;
	tracing->against = against;
	against[tracing->against_count++] =
		(struct python_moment){(int64_t)time, tracing->scan->process->log->streams[stream].thread};
}

/* The stacks of the log are read when the first one comes that may matter. */
static int is_ready(struct tracing *tracing)
{
	if (tracing->codes == NULL)
		return 0;
	if (tracing->stacks == NULL) {
		tracing->stacks = stacks_load(tracing->scan->process->log);
		tracing->known = tracing->stacks == NULL ? NULL : calloc((size_t)tracing->stacks->node_count + 1, 1);
	}
	return tracing->known != NULL;
}

static void take_stack(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct tracing *tracing = state;
	struct open_tracing *open = &tracing->open[stream];
	uint64_t time = batch->times[i];
	unsigned tracer;

	if (!is_ready(tracing))
		return;
	tracer = tracer_of_stack(tracing, (uint32_t)batch_value(batch, i, fields[0]));
	tracer = tracer == TRACER_LOADED ? TRACER_NONE : tracer;
	if (open->is_cut_off && (double)(time - open->to) > CUT_OFF_MOST * (double)tracing->scan->process->log->header.clock_hz)
		close_tracing(tracing, stream);
	open->is_cut_off = tracer == TRACER_CUT_OFF;
	if (open->is_cut_off)
		return;
	if (tracer == TRACER_NONE && open->tracer != TRACER_NONE)
		contradict(tracing, stream, time);
	if (tracer != open->tracer)
		close_tracing(tracing, stream);
	if (tracer == TRACER_NONE) {
		open->before = time;
		return;
	}
	if (open->tracer == TRACER_NONE) {
		if (open->before != 0)
			contradict(tracing, stream, open->before);
		*open = (struct open_tracing){.from = time, .tracer = (enum python_tracer)tracer};
	}
	open->to = time;
	open->stacks++;
}

/* Whoever marks a step is in its loop. */
static void take_step(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct tracing *tracing = state;

	(void)fields;
	if (tracing->open[stream].tracer != TRACER_NONE)
		contradict(tracing, stream, batch->times[i]);
	close_tracing(tracing, stream);
}

static void take_trace(void *state, size_t stream, const struct batch *batch, size_t i, const int *fields)
{
	struct tracing *tracing = state;
	const struct scan_ops *ops = &tracing->scan->ops;

	(void)stream;
	if (tracing->is_told || ops->name == NULL)
		return;
	tracing->is_told =
		strncmp(ops->name(ops->name_state, batch_value(batch, i, fields[0])), OP_TRACED, sizeof OP_TRACED - 1) == 0;
}

static const struct scan_record records[] = {
	{"python_stack", take_stack, NULL, {"stack"}},
	{"step", take_step, NULL, {NULL}},
	{"trace", take_trace, NULL, {"name"}},
};

static const struct scan_fact facts[] = {
	{"python_code", take_code, {"id", "function", "file"}},
};

static void drop(void *state)
{
	struct tracing *tracing = state;

	free(tracing->codes);
	free(tracing->known);
	free(tracing->open);
	free(tracing->against);
	if (tracing->stacks != NULL)
		stacks_free(tracing->stacks);
	free(tracing);
}

static void *begin(struct scan *scan)
{
	struct tracing *tracing = calloc(1, sizeof *tracing);

	if (tracing == NULL)
		return NULL;
	tracing->scan = scan;
	tracing->open = calloc(scan->process->log->stream_count + 1, sizeof *tracing->open);
	if (tracing->open != NULL)
		return tracing;
	free(tracing);
	return NULL;
}

/* The looks at Python that found it measuring kernels, by the same frames. */
static void find_measuring(struct tracing *tracing)
{
	struct python_rows *rows = &tracing->scan->process->python;

	for (size_t i = 0; i < rows->look_count && is_ready(tracing); i++) {
		const struct python_look *look = &rows->looks[i];
		struct python_moment *measured;
		if (look->stack == PYTHON_LOOK_IN_DOUBT || tracer_of_stack(tracing, look->stack) != TRACER_MEASURES)
			continue;
		measured = model_room(rows->measured, rows->measured_count, sizeof *measured);
		if (measured == NULL)
			return;
		rows->measured = measured;
		measured[rows->measured_count++] = (struct python_moment){look->time_ns, look->thread};
	}
}

/* The looks of which it is known where the thread was, and both ends of each stretch that stacks told, which are looks as good as any. */
static size_t take_looks(struct tracing *tracing, struct tracing_look *looks)
{
	const struct python_rows *rows = &tracing->scan->process->python;
	size_t count = 0;

	for (size_t i = 0; i < rows->look_count; i++) {
		const struct python_look *look = &rows->looks[i];
		unsigned tracer = look->stack == PYTHON_LOOK_IN_DOUBT ? TRACER_CUT_OFF : tracer_of_stack(tracing, look->stack);
		if (tracer == TRACER_CUT_OFF)
			continue;
		if (tracer >= TRACERS || (tracing->is_told && tracer == TRACER_TENSORFLOW))
			tracer = TRACER_NONE;
		looks[count++] = (struct tracing_look){look->time_ns, look->thread, (enum python_tracer)tracer};
	}
	for (size_t i = 0; i < rows->tracing_count; i++) {
		const struct python_tracing *told = &rows->tracings[i];
		looks[count++] = (struct tracing_look){told->from_ns, told->thread, told->tracer};
		looks[count++] = (struct tracing_look){told->to_ns, told->thread, told->tracer};
	}
	return count;
}

static void add_looks(struct tracing *tracing)
{
	struct python_rows *rows = &tracing->scan->process->python;
	double apart = CUT_OFF_MOST * (double)tracing->scan->process->log->header.clock_hz;
	struct tracing_look *looks;

	if (rows->look_count == 0 || !is_ready(tracing))
		return;
	looks = malloc((rows->look_count + 2 * rows->tracing_count) * sizeof *looks);
	if (looks == NULL)
		return;
	tracing_add_looks(rows, looks, take_looks(tracing, looks), tracing->against, tracing->against_count, (int64_t)apart);
	free(looks);
}

static int finish(void *state)
{
	struct tracing *tracing = state;
	struct python_rows *rows = &tracing->scan->process->python;
	size_t kept = 0;

	for (size_t s = 0; s < tracing->scan->process->log->stream_count; s++)
		close_tracing(tracing, s);
	for (size_t i = 0; i < rows->tracing_count; i++)
		if (!tracing->is_told || rows->tracings[i].tracer != TRACER_TENSORFLOW)
			rows->tracings[kept++] = rows->tracings[i];
	rows->tracing_count = kept;
	add_looks(tracing);
	find_measuring(tracing);
	return 0;
}

static void times(struct process *process)
{
	for (size_t i = 0; i < process->python.tracing_count; i++) {
		struct python_tracing *tracing = &process->python.tracings[i];
		tracing->from_ns = process_ns(process, (uint64_t)tracing->from_ns);
		tracing->to_ns = process_ns(process, (uint64_t)tracing->to_ns);
	}
}

const struct scan_subject tracing_subject = {
	.records = records,
	.record_count = sizeof records / sizeof *records,
	.facts = facts,
	.fact_count = sizeof facts / sizeof *facts,
	.begin = begin,
	.finish = finish,
	.free = drop,
	.times = times,
};
