/* SPDX-License-Identifier: Apache-2.0 */
/* What the time of a step is split into; see reducer/analysis/parts.h. */
#include "reducer/analysis/parts.h"

#include "reducer/analysis/input_kinds.h"
#include "reducer/model/op_typed.h"
#include "reducer/symbols/demangle.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *part_precision(enum step_part part)
{
	static const char *const names[] = {"16", "tf32", "8", "32", "64", "unknown"};

	return part <= PART_COMPUTE_UNKNOWN ? names[part] : NULL;
}

static bool holds_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

/* Parts of names as CUTLASS, cuBLAS, cuDNN, Triton, XLA, PyTorch write them; mangled names hold the words of their types. */
static const char *const half_words[] = {"half",  "Half",   "fp16", "bf16",  "bfloat16", "BFloat16", "f16f16", "h884",
					 "h1688", "h16816", "s884", "hgemm", "hmma",	 "_f16",     "16816",  "float16", NULL};
static const char *const tf32_words[] = {"tf32", "s1688gemm", NULL};
static const char *const eight_words[] = {"int8", "fp8", "e4m3", "e5m2", "imma", "i8816", "i16832", "_s8_", "_i8_", "Float8", NULL};
static const char *const double_words[] = {"double", "dgemm", "_f64", "d884", "dmma", "_64f", NULL};
static const char *const single_words[] = {"float", "sgemm", "_f32", "_32f", "fp32", "scudnn", NULL};

/*
 * cuBLAS's own kernels for 9.0 and newer: nvjet_sm90_tst_256x128_..., of older releases without the architecture; the letters are types of
 * the matrices and of the sum, of which the first is multiplied: h half, t bfloat16, q and r the 8-bit floats. Single precision says tf32.
 */
static enum step_part part_of_nvjet(const char *name)
{
	const char *types = strstr(name, "nvjet_");

	types = types ? types + strlen("nvjet_") : "";
	if (strncmp(types, "sm", 2) == 0 && strchr(types, '_'))
		types = strchr(types, '_') + 1;
	if (types[0] == 'h' || types[0] == 't')
		return PART_COMPUTE_16;
	return types[0] == 'q' || types[0] == 'r' ? PART_COMPUTE_8 : PART_COMPUTE_UNKNOWN;
}

/*
 * Of names with words of single and of double precision: PyTorch's optimizers take their rates as double, random numbers their mean
 * (FusedAdamMathFunctor<float, 4, ...>, float const*, double, ...). What a template is made for stands first in it.
 */
static bool is_made_for_single(const char *name)
{
	const char *single = strstr(name, "<float"), *twice = strstr(name, "<double");

	return single && (!twice || single < twice);
}

/* What a kernel without words in its name takes: pointers among its mangled parameters, behind its name. */
static enum step_part part_of_parameters(const char *mangled, const char *plain)
{
	const char *base = strrchr(plain, ':') ? strrchr(plain, ':') + 1 : plain, *tail = strstr(mangled, base);

	if (strncmp(mangled, "_Z", 2) != 0 || !base[0] || strchr(plain, '<') || !tail)
		return PART_COMPUTE_UNKNOWN;
	tail += strlen(base);
	if (strstr(tail, "Pd") || strstr(tail, "PKd"))
		return PART_COMPUTE_64;
	return strstr(tail, "Pf") || strstr(tail, "PKf") ? PART_COMPUTE_32 : PART_COMPUTE_UNKNOWN;
}

/* As the TensorFlow Profiler has it, which sees demangled names alone. */
static enum step_part part_of_kernel_tf(const char *name)
{
	if (strncasecmp(name, "nccl", 4) == 0)
		return PART_COLLECTIVES;
	return strstr(name, "half") || strstr(name, "fp16") ? PART_COMPUTE_16 : PART_COMPUTE_32;
}

enum step_part part_of_kernel(const char *mangled, bool is_tf)
{
	enum step_part part = PART_COMPUTE_UNKNOWN;
	struct text plain = {0};

	demangle(mangled, &plain);
	const char *name = plain.bytes ? plain.bytes : mangled;
	if (is_tf)
		part = part_of_kernel_tf(name);
	else if (holds_any(name, eight_words))
		part = PART_COMPUTE_8;
	else if (holds_any(name, tf32_words))
		part = PART_COMPUTE_TF32;
	else if (holds_any(name, half_words))
		part = PART_COMPUTE_16;
	else if (holds_any(name, double_words) && !is_made_for_single(name))
		part = PART_COMPUTE_64;
	else if (holds_any(name, single_words))
		part = PART_COMPUTE_32;
	else if ((part = part_of_nvjet(name)) == PART_COMPUTE_UNKNOWN)
		part = part_of_parameters(mangled, name);
	text_free(&plain);
	return part;
}

static uint32_t device_phase(enum phase phase)
{
	return phase && phase < PHASES ? CLASS_BIT(CLASS_DEVICE_PHASE + phase - 1) : 0;
}

static uint32_t host_phase(enum phase phase)
{
	return phase && phase < PHASES ? CLASS_BIT(CLASS_HOST_PHASE + phase - 1) : 0;
}

/* What was launched in an op that nothing else says a phase of is of the forward pass. */
static uint32_t launched_phase(const struct span *span)
{
	return device_phase(span->phase ? (enum phase)span->phase : span->op ? PHASE_FORWARD : PHASE_NONE);
}

static uint32_t copy_classes(const struct span *span)
{
	uint32_t phase = launched_phase(span);

	if (span->copy_kind == 1 || span->copy_kind == 3)
		return CLASS_BIT(PART_INPUT_COPY) | phase;
	if (span->copy_kind == 2 || span->copy_kind == 4)
		return CLASS_BIT(PART_OUTPUT) | phase;
	return CLASS_BIT(PART_DEVICE_TO_DEVICE) | phase;
}

/* Compute of a precision, or a collective. */
static enum step_part kind_of_kernel(const char *name, bool is_tf)
{
	return !is_tf && phases_is_collective(name) ? PART_COLLECTIVES : part_of_kernel(name, is_tf);
}

static enum step_part known_kernel(struct parts *parts, const struct span *span)
{
	size_t place = span->shape ? span->shape->kernel : SIZE_MAX;

	if (place >= NUMBER_MAP_MAX)
		return kind_of_kernel(span->name, parts->split == SPLIT_TF);
	parts->kernels = base_reach(parts->kernels, &parts->kernel_room, place, 1);
	if (!parts->kernels[place])
		parts->kernels[place] = (uint8_t)(kind_of_kernel(span->name, parts->split == SPLIT_TF) + 1);
	return (enum step_part)(parts->kernels[place] - 1);
}

static uint32_t kernel_classes(struct parts *parts, const struct span *span)
{
	enum step_part part = known_kernel(parts, span);

	if (parts->split != SPLIT_TF && span->phase == PHASE_COMMUNICATION)
		part = PART_COLLECTIVES;
	/* There the shapes that the file says win over the kernel's name. */
	if (parts->split == SPLIT_TF && span->shapes && part != PART_COLLECTIVES)
		part = strstr(span->shapes, "half") ? PART_COMPUTE_16 : PART_COMPUTE_32;
	if (part == PART_COLLECTIVES)
		return CLASS_BIT(part) | device_phase(PHASE_COMMUNICATION);
	return CLASS_BIT(part) | launched_phase(span);
}

static uint32_t call_classes(const struct span *span)
{
	switch (span->call) {
	case GPU_LAUNCH:
	case GPU_COPY:
	case GPU_SET:
	case GPU_GRAPH:
		return CLASS_BIT(PART_KERNEL_LAUNCH);
	case GPU_MODULE:
		return CLASS_BIT(PART_COMPILATION);
	case GPU_SYNC:
		return 0;
	default:
		return CLASS_BIT(PART_HOST_COMPUTE);
	}
}

/* Names under which frameworks compile: XLA, TorchDynamo and Inductor, JAX. */
bool part_is_compiling(const char *name)
{
	static const char *const words[] = {
		"XlaCompile", "XlaCompilation", "XlaPass", "XlaOptimize", "XlaEmit", "_compile.compile_inner", "fx_codegen_and_compile",
		"async_compile", "backend_compile", "TritonCompile", OP_TRACED, NULL};

	return holds_any(name, words);
}

/* TensorFlow tells much of itself; only what is named like an op is one. */
bool part_is_op(const struct span *span)
{
	return span->what == SPAN_OP || (span->what == SPAN_TRACE && op_is_typed(span->name));
}

/* How the step's loop is marked and what only wraps others. */
static bool is_wrapper(const char *name)
{
	return strncmp(name, "ProfilerStep#", 13) == 0 || strncmp(name, "Optimizer.", 10) == 0;
}

/* There everything that the host tells of counts but what only calls others, and what marks a step. */
static uint32_t host_classes_tf(const struct span *span)
{
	static const char *const callers[] = {"EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun"};
	static const char *const markers[] = {"train", "test", "TraceContext"};

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		if (strncmp(span->name, callers[i], strlen(callers[i])) == 0)
			return 0;
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++)
		if (strncmp(span->name, markers[i], strlen(markers[i])) == 0 && !strchr(span->name, '/'))
			return 0;
	/* The outermost iterator of a pipeline: "Iterator::" and one name. */
	if (strncmp(span->name, "IteratorGetNext", 15) == 0 ||
	    (strncmp(span->name, "Iterator::", 10) == 0 && !strstr(span->name + 10, "::")))
		return CLASS_BIT(PART_INPUT_WAIT);
	return CLASS_BIT(PART_HOST_COMPUTE);
}

/* PyTorch's range around a model that was compiled ahead of time (AOTInductor): its code announces no ops. */
static bool is_compiled(const struct span *span)
{
	static const char begin[] = "AOTIModelContainerRunner";

	return span->what == SPAN_RANGE && span->source == SOURCE_record_function && strncmp(span->name, begin, sizeof(begin) - 1) == 0;
}

/* What the name of a range, op or trace says. */
enum { NAME_KNOWN = 1, NAME_IS_OP = 2, NAME_IS_INPUT = 4, NAME_IS_COMPILING = 8, NAME_IS_WRAPPER = 16, NAME_IS_NCCL = 32 };
#define NAMES_MOST (1u << 16) /* names that are looked at once; others, where each is another, every time */
#define HOST_KINDS 3	      /* SPAN_RANGE, SPAN_OP, SPAN_TRACE */

static uint8_t read_name(const struct parts *parts, const struct span *span)
{
	return (uint8_t)(NAME_KNOWN | (part_is_op(span) || is_compiled(span) ? NAME_IS_OP : 0) |
			 (input_kind_of(span, parts->loops) != INPUT_NOT ? NAME_IS_INPUT : 0) |
			 (part_is_compiling(span->name) ? NAME_IS_COMPILING : 0) | (is_wrapper(span->name) ? NAME_IS_WRAPPER : 0) |
			 (strncmp(span->name, "nccl:", 5) == 0 ? NAME_IS_NCCL : 0));
}

static uint8_t known_name(struct parts *parts, const struct span *span)
{
	size_t place;

	if (parts->names.count >= NAMES_MOST)
		return read_name(parts, span);
	place = (size_t)words_lasting(&parts->names, span->name) * HOST_KINDS + span->what;
	parts->hosts = base_reach(parts->hosts, &parts->host_room, place, 1);
	if (!parts->hosts[place])
		parts->hosts[place] = read_name(parts, span);
	return parts->hosts[place];
}

static uint32_t read_classes(const struct span *span, uint32_t step_thread)
{
	return span->thread == step_thread && step_thread && input_is_data(span->name) ? CLASS_BIT(PART_INPUT_WAIT) : 0;
}

/* JAX and TensorFlow on the CPU: an instruction of what XLA compiled says so, and has no other sign of being an op. */
static bool is_of_xla(const struct span *span)
{
	const char *text = span->what == SPAN_TRACE && span->argument_count ? span->arguments[0].text : NULL;

	return text && (strncmp(text, "hlo_op=", 7) == 0 || strstr(text, ",hlo_op="));
}

static uint32_t host_classes(struct parts *parts, const struct span *span)
{
	uint8_t name = known_name(parts, span);
	uint32_t mask = span->phase ? host_phase((enum phase)span->phase) : name & NAME_IS_OP ? CLASS_BIT(CLASS_HOST_UNSAID) : 0;

	if (name & NAME_IS_INPUT)
		return input_is_wait(span, parts->loops, parts->step_thread) ? CLASS_BIT(PART_INPUT_WAIT) : 0;
	if (name & NAME_IS_COMPILING)
		return CLASS_BIT(PART_COMPILATION);
	/* Of NCCL the devices exchange, and the host only asks them to. */
	if (span->phase == PHASE_COMMUNICATION && parts->split == SPLIT_OURS)
		return mask | CLASS_BIT(name & NAME_IS_NCCL ? PART_HOST_COMPUTE : PART_COMMUNICATION);
	if ((name & NAME_IS_OP && !(name & NAME_IS_WRAPPER)) || is_of_xla(span))
		mask |= CLASS_BIT(PART_HOST_COMPUTE);
	return mask;
}

_Static_assert(SPAN_RANGE < HOST_KINDS && SPAN_OP < HOST_KINDS && SPAN_TRACE < HOST_KINDS, "hosts has a place for each");

static uint32_t read_span(struct parts *parts, const struct span *span)
{
	switch (span->what) {
	case SPAN_KERNEL:
		return kernel_classes(parts, span);
	case SPAN_COPY:
		return copy_classes(span);
	case SPAN_SET:
		return CLASS_BIT(CLASS_SET) | launched_phase(span);
	case SPAN_GRAPH:
		return CLASS_BIT(parts->split == SPLIT_TF ? PART_COMPUTE_32 : PART_COMPUTE_UNKNOWN) | launched_phase(span);
	case SPAN_CALL:
		return call_classes(span) | host_phase((enum phase)span->phase);
	case SPAN_COMPILE:
		return CLASS_BIT(PART_COMPILATION);
	case SPAN_TRACE:
		if (parts->split == SPLIT_TF)
			return host_classes_tf(span);
		return host_classes(parts, span);
	case SPAN_OP:
	case SPAN_RANGE:
		return host_classes(parts, span);
	case SPAN_READ:
		return read_classes(span, parts->step_thread);
	default:
		return 0;
	}
}

uint32_t part_classes_of(struct parts *parts, const struct span *span)
{
	uint32_t mask = read_span(parts, span);

	if (span->alike)
		parts->alikes[span->alike % PARTS_ALIKE] = (struct parts_alike){span->alike, mask};
	return mask;
}

void parts_free(struct parts *parts)
{
	free(parts->kernels);
	parts->kernels = NULL;
	parts->kernel_room = 0;
	words_free(&parts->names);
	free(parts->hosts);
	parts->hosts = NULL;
	parts->host_room = 0;
}

uint32_t part_active(uint32_t mask, enum analysis_split split)
{
	uint32_t parts = mask & (CLASS_BIT(STEP_PARTS) - 1);

	if (mask & CLASS_BIT(CLASS_SET))
		parts |= CLASS_BIT(split == SPLIT_TF ? PART_COMPUTE_32 : PART_DEVICE_TO_DEVICE);
	return parts;
}

enum step_part part_of(uint32_t mask, enum analysis_split split)
{
	/* The TensorFlow Profiler's event types from high to low. */
	static const uint8_t tf[] = {PART_COMPUTE_16,  PART_COMPUTE_32,	 PART_OUTPUT,	     PART_DEVICE_TO_DEVICE,
				     PART_INPUT_WAIT,  PART_COLLECTIVES, PART_KERNEL_LAUNCH, PART_INPUT_COPY,
				     PART_COMPILATION, PART_HOST_COMPUTE};
	/* Kernel, Memcpy, Memset, Communication, Runtime, DataLoader, CpuOp. */
	static const uint8_t torch[] = {PART_COMPUTE_16,       PART_COMPUTE_TF32,    PART_COMPUTE_8,	 PART_COMPUTE_32,
					PART_COMPUTE_64,       PART_COMPUTE_UNKNOWN, PART_INPUT_COPY,	 PART_OUTPUT,
					PART_DEVICE_TO_DEVICE, PART_COLLECTIVES,     PART_KERNEL_LAUNCH, PART_INPUT_WAIT,
					PART_HOST_COMPUTE};
	const uint8_t *order = split == SPLIT_TF ? tf : torch;
	size_t count = split == SPLIT_TF ? sizeof(tf) : sizeof(torch);
	uint32_t parts = part_active(mask, split);

	if (split == SPLIT_OURS)
		return parts ? (enum step_part)__builtin_ctz(parts) : PART_OTHER;
	for (size_t i = 0; i < count; i++)
		if (parts & CLASS_BIT(order[i]))
			return (enum step_part)order[i];
	return PART_OTHER;
}

enum phase part_phase(uint32_t mask)
{
	static const uint8_t order[] = {PHASE_BACKWARD, PHASE_OPTIMISER, PHASE_FORWARD, PHASE_COMMUNICATION};
	static const uint8_t host_order[] = {PHASE_OPTIMISER, PHASE_BACKWARD, PHASE_COMMUNICATION, PHASE_FORWARD};

	if (mask < CLASS_BIT(CLASS_DEVICE_PHASE))
		return PHASE_NONE;
	for (size_t i = 0; i < sizeof(order); i++)
		if (mask & device_phase((enum phase)order[i]))
			return (enum phase)order[i];
	for (size_t i = 0; i < sizeof(host_order); i++)
		if (mask & host_phase((enum phase)host_order[i]))
			return (enum phase)host_order[i];
	/* While the step waits for its input, what computes on other threads makes that input. */
	return mask & CLASS_BIT(CLASS_HOST_UNSAID) && !(mask & CLASS_BIT(PART_INPUT_WAIT)) ? PHASE_FORWARD : PHASE_NONE;
}
