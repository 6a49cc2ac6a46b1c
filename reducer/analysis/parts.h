/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the time of a step is split into, which span says what, and which of several things at once an instant belongs to.
 *
 * Rule: an instant belongs to exactly one part. Ours: what the device does comes before what the host does, so that host time
 * is only what the device waits for. tf, torch: the priorities that the TensorFlow Profiler and the PyTorch plugin publish.
 */
#ifndef REDUCER_ANALYSIS_PARTS_H
#define REDUCER_ANALYSIS_PARTS_H

#include "reducer/analysis/analysis.h"
#include "reducer/analysis/input_kinds.h"
#include "reducer/analysis/phases.h"
#include "reducer/analysis/words.h"

/* In the order of our own priority. */
enum step_part {
	PART_COMPUTE_16,
	PART_COMPUTE_TF32,
	PART_COMPUTE_8,
	PART_COMPUTE_32,
	PART_COMPUTE_64,
	PART_COMPUTE_UNKNOWN,
	PART_COLLECTIVES,
	PART_DEVICE_TO_DEVICE, /* copies on and between devices, memsets */
	PART_OUTPUT,	       /* copies to the host */
	PART_INPUT_COPY,       /* copies to the device */
	PART_COMPILATION,
	PART_INPUT_WAIT, /* the program waits for its input */
	PART_KERNEL_LAUNCH,
	PART_HOST_COMPUTE,
	PART_COMMUNICATION, /* the host: processes exchange data, and no op computes; in splits of other tools host compute */
	PART_OTHER, /* nothing of the above: Python, waiting for the device while it rests, what was not recorded */
	STEP_PARTS
};

/* What a span says is going on: a bit each of a sweep's mask. The parts, and: */
enum step_class {
	CLASS_SET = STEP_PARTS, /* a memset: its place depends on the split */
	CLASS_DEVICE_PHASE,	/* + enum phase - 1 */
	CLASS_HOST_PHASE = CLASS_DEVICE_PHASE + PHASES - 1,
	CLASS_HOST_UNSAID = CLASS_HOST_PHASE + PHASES - 1, /* an op of the host that nothing says a phase of */
	STEP_CLASSES
};
#define CLASS_BIT(class) (UINT32_C(1) << (class))
/* What ops and kernels of the forward and of the backward pass have one of. */
#define PASS_BITS(from) (CLASS_BIT((from) + PHASE_FORWARD - 1) | CLASS_BIT((from) + PHASE_BACKWARD - 1))
#define PASS_CLASSES (PASS_BITS(CLASS_DEVICE_PHASE) | PASS_BITS(CLASS_HOST_PHASE) | CLASS_BIT(CLASS_HOST_UNSAID))
#define DEVICE_PARTS (CLASS_BIT(PART_COMPILATION) - 1)

/*
 * The precision of a kernel by its name: a PART_COMPUTE_...; `is_tf`: 16, 32 or PART_COLLECTIVES, by the
 * TensorFlow Profiler's rule.
 */
enum step_part part_of_kernel(const char *mangled, bool is_tf);

/* "16", "tf32", "8", "32", "64", "unknown"; NULL for what is no precision. */
const char *part_precision(enum step_part part);

#define PARTS_ALIKE 1024u /* a power of two */

/* How spans of one process are read. Start from {.split, .step_thread}. */
struct parts {
	enum analysis_split split;
	uint32_t step_thread; /* serial of the thread that marks the steps, 0 = unknown */
	enum input_loops loops;
	uint8_t *kernels;     /* by place in gpu->names: part of the kernel + 1; 0 = not looked at yet */
	size_t kernel_room;
	struct words names;   /* of ranges, ops and traces, NAMES_MOST at most */
	uint8_t *hosts;	      /* by number of the name and SPAN_RANGE, SPAN_OP or SPAN_TRACE: what the name says, private */
	size_t host_room;
	struct parts_alike {
		uint64_t alike; /* of a span seen lately, 0 = none */
		uint32_t mask;
	} alikes[PARTS_ALIKE];
};

/* Whether a framework compiles under that name. */
bool part_is_compiling(const char *name);

/* Whether a span is an op of a framework. TensorFlow tells much of itself; only what is named like an op is one. */
bool part_is_op(const struct span *span);

/* The bits of a span. */
uint32_t part_classes_of(struct parts *parts, const struct span *span);
static inline uint32_t part_classes(struct parts *parts, const struct span *span)
{
	const struct parts_alike *known = &parts->alikes[span->alike % PARTS_ALIKE];

	return span->alike && known->alike == span->alike ? known->mask : part_classes_of(parts, span);
}
void parts_free(struct parts *parts);

/* The part that an instant of these bits belongs to. */
enum step_part part_of(uint32_t mask, enum analysis_split split);
/* The parts that were active, each bit once: a memset counts as the part it has in that split. */
uint32_t part_active(uint32_t mask, enum analysis_split split);
/* The phase that it belongs to; device work before what the host does, communication last. */
enum phase part_phase(uint32_t mask);

#endif
