/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's functions as its libraries call them; see collectors/tables/tensorflow.def.
 *
 * Rule: each calls the real one with what it was given and returns what that returned; Record alone does so only while the
 * host's own profiler wants the event, because nobody else would ever collect it.
 */
#include "collectors/tensorflow.h"

#include "collectors/heap.h"
#include "collectors/iterators.h"
#include "collectors/returned.h"
#include "preload/caller.h"
#include "preload/cuda_real.h"
#include "preload/objects.h"
#include "preload/real.h"
#include "preload/settings.h"
#include "writer/sys.h"

#include <errno.h>
#include <stdlib.h>

#define TFP_HOOK(number, type, name, parameters, arguments, kind, help) \
	static struct tfp_cuda_slot slot_##name; \
	typedef type real_##name parameters; \
	TFP_EXPORT type name parameters;
#include "collectors/tables/tensorflow.def"
#undef TFP_HOOK

#define FRAMEWORK "libtensorflow_framework.so.2"
#define TSL(rest) "_ZN3tsl8profiler" rest

/* Further functions, which return a string: collectors/returned.h. Written by whoever attaches. */
static struct {
	void *(*allocator_name)(void *result, const void *self);
	void *(*describe_iterator)(void *result, void *self);
	void *(*trace_string)(void *result, const void *op, const void *context, unsigned char is_verbose);
} real;

/* As the caller means it; it lies in a library that is loaded for itself alone. */
#define REAL(name) TFP_REAL(name) /* a name may be a macro: here it is read */

static inline int is_wanted(void)
{
	return tfp_settings.ops != TFP_OPS_OFF;
}

/* Not only steps, and calls of functions. */
static inline int wants_ops(void)
{
	return tfp_settings.ops > TFP_OPS_STEPS;
}

/* Takes the text of a string that TensorFlow made for us: a short one lies within it, others came from malloc. */
static size_t take_text(struct tfp_cxx_string *made, char *text, size_t room)
{
	size_t length = made->length < room ? made->length : room;

	if (made->text)
		tfp_copy(text, made->text, length);
	if (made->text && made->text != made->within)
		free((void *)(uintptr_t)made->text);
	return length;
}

static size_t allocator_name(const void *self, char *text, size_t room)
{
	struct tfp_cxx_string name = {NULL, 0, {0}};

	if (!real.allocator_name)
		return 0;
	TFP_CALL_RETURNING(real.allocator_name, &name, self);
	return take_text(&name, text, room);
}

static size_t describe_iterator(void *self, char *text, size_t room)
{
	struct tfp_cxx_string name = {NULL, 0, {0}};
	int error = errno;

	TFP_CALL_RETURNING(real.describe_iterator, &name, self);
	room = take_text(&name, text, room);
	errno = error;
	return room;
}

static size_t op_text(const void *op, const void *context, char *text, size_t room)
{
	struct tfp_cxx_string made = {NULL, 0, {0}};
	int error = errno;

	TFP_CALL_RETURNING(real.trace_string, &made, op, context, 0);
	room = take_text(&made, text, room);
	errno = error;
	return room;
}

#define COMPUTE(class) _ZN10tensorflow##class##7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE
#define COMPUTE_ASYNC(class) _ZN10tensorflow##class##12ComputeAsyncEPNS_13AsyncOpKernelEPNS_15OpKernelContextESt8functionIFvvEE

/* Where devices compute ops: what their tables lead to. */
static void find_devices(struct tfp_tensorflow_api *api, void *framework)
{
	api->device_table = tfp_object_symbol(framework, "_ZTVN10tensorflow6DeviceE");
	api->local_table = tfp_object_symbol(framework, "_ZTVN10tensorflow11LocalDeviceE");
	api->pool_table = tfp_object_symbol(framework, "_ZTVN10tensorflow16ThreadPoolDeviceE");
	api->device_compute = (const void *)COMPUTE(6Device);
	api->pool_compute = (const void *)COMPUTE(16ThreadPoolDevice);
	api->xla_compute = (const void *)COMPUTE(20XlaCompilationDevice);
	api->renamed_compute =
		tfp_object_symbol(framework, "_ZN10tensorflow13RenamedDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE");
	*(void **)(void *)&real.trace_string =
		tfp_object_symbol(framework, "_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb");
	if (real.trace_string)
		api->op_text = op_text;
}

#define DATA(rest) "_ZN10tensorflow4data19DatasetBaseIterator" rest

/* Before any iterator is made. */
static void attach_iterators(void *framework)
{
	struct tfp_iterator_api api = {.describe = NULL};

	*(void **)(void *)&api.prefix =
		tfp_object_symbol(framework, "_ZNK10tensorflow4data19DatasetBaseIterator6prefixB5cxx11Ev");
	*(void **)(void *)&real.describe_iterator = tfp_object_symbol(framework, DATA("16BuildTraceMeNameB5cxx11Ev"));
	if (real.describe_iterator)
		api.describe = describe_iterator;
	tfp_iterators_attach(&api);
}

/* The annotation's switch to 2.16 is a plain word, and its ends cannot be seen: it is left alone. */
static void attach(void *framework)
{
	struct tfp_tensorflow_api api = {.allocator_name = allocator_name};
	void *cc = tfp_object_find("libtensorflow_cc.so.2");

	*(void **)(void *)&api.trace_level = tfp_object_symbol(framework, TSL("8internal13g_trace_levelE"));
	*(void **)(void *)&api.enable_annotations = tfp_object_symbol(framework, TSL("15AnnotationStack6EnableEb"));
	*(void **)(void *)&api.memory_annotation =
		tfp_object_symbol(framework, TSL("27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv"));
	*(void **)(void *)&api.block_bytes = tfp_object_symbol(framework, "_ZNK3tsl12BFCAllocator13AllocatedSizeEPKv");
	*(void **)(void *)&real.allocator_name = tfp_object_symbol(framework, "_ZN3tsl12BFCAllocator4NameB5cxx11Ev");
	api.has_pop = tfp_object_symbol(framework, TSL("15AnnotationStack13PopAnnotationEv")) != NULL;
	*(void **)(void *)&api.status_code = tfp_object_symbol(framework, "TF_GetCode");
	if (cc) {
		*(void **)(void *)&api.op_name = tfp_object_symbol(cc, "TFE_OpGetName");
		*(void **)(void *)&api.node_name = tfp_object_symbol(cc, "TF_OperationName");
	}
	find_devices(&api, framework);
	if (!api.trace_level && !api.enable_annotations)
		tfp_tensorflow_absent("TensorFlow was loaded, but exports neither its trace level nor its annotations.");
	else
		tfp_tensorflow_attach(&api, wants_ops(), tfp_settings.ops == TFP_OPS_SHAPES);
	attach_iterators(framework);
}

static __attribute__((noinline)) void meet(void)
{
	int error = errno;
	struct tfp_thread *thread = tfp_thread_have();
	void *framework = thread ? tfp_object_find(FRAMEWORK) : NULL;

	if (framework)
		attach(framework);
	else if (thread)
		tfp_tensorflow_absent("TensorFlow was met, but " FRAMEWORK " is not loaded: it is not recorded.");
	errno = error;
}

#define PASTE(begin, end) begin##end
#define REGISTER \
	PASTE(_ZN3tsl8profiler23RegisterProfilerFactoryESt8functionIFSt10unique_ptrINS0_17ProfilerInterfaceE, \
	      St14default_deleteIS3_EERKN10tensorflow14ProfileOptionsEEE)

/* TensorFlow's second library calls this from its constructors: the first one is there by then. */
void REGISTER(void *factory)
{
	void (*next)(void *) = REAL(REGISTER);

	if (is_wanted() && !tfp_tensorflow_is_settled())
		meet();
	if (next)
		next(factory);
}

void _ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE(void *event)
{
	void (*next)(void *) = REAL(_ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE);

	if (wants_ops())
		tfp_tensorflow_record(event);
	if (next && (!wants_ops() || !tfp_tensorflow_is_settled() || tfp_tensorflow_is_watched()))
		next(event);
}

#define START(name, parameters, arguments) \
	char name parameters \
	{ \
		char(*next) parameters = REAL(name); \
		char result = 0; \
\
		if (is_wanted()) \
			tfp_tensorflow_session_begin(level); \
		if (next) \
			result = next arguments; \
		if (is_wanted()) \
			tfp_tensorflow_session_began(result); \
		return result; \
	}
START(_ZN3tsl8profiler15TraceMeRecorder5StartEi, (int level), (level))
START(_ZN3tsl8profiler15TraceMeRecorder5StartEim, (int level, uint64_t filter), (level, filter))
START(_ZN3tsl8profiler15TraceMeRecorder5StartEimb, (int level, uint64_t filter, char flag), (level, filter, flag))
START(_ZN3tsl8profiler15TraceMeRecorder14StartRecordingEi, (void *self, int level), (self, level))

void _ZN3tsl8profiler15AnnotationStack14PushAnnotationESt17basic_string_viewIcSt11char_traitsIcEE(size_t length, const char *name)
{
	void (*next)(size_t, const char *) =
		REAL(_ZN3tsl8profiler15AnnotationStack14PushAnnotationESt17basic_string_viewIcSt11char_traitsIcEE);

	if (wants_ops())
		tfp_tensorflow_push(name, length);
	if (next)
		next(length, name);
}

void _ZN3tsl8profiler15AnnotationStack13PopAnnotationEv(void)
{
	void (*next)(void) = REAL(_ZN3tsl8profiler15AnnotationStack13PopAnnotationEv);

	if (wants_ops())
		tfp_tensorflow_pop();
	if (next)
		next();
}

#define COMPUTES(name, parameters, arguments) \
	void name parameters \
	{ \
		void(*next) parameters = REAL(name); \
		int is_told = wants_ops() && tfp_tensorflow_compute(op, context); \
\
		if (next) \
			next arguments; \
		if (is_told) \
			tfp_tensorflow_computed(); \
	}
COMPUTES(COMPUTE(6Device), (void *self, void *op, void *context), (self, op, context))
COMPUTES(COMPUTE(16ThreadPoolDevice), (void *self, void *op, void *context), (self, op, context))
COMPUTES(COMPUTE_ASYNC(6Device), (void *self, void *op, void *context, void *done), (self, op, context, done))
COMPUTES(COMPUTE_ASYNC(16ThreadPoolDevice), (void *self, void *op, void *context, void *done), (self, op, context, done))

/* What XLA is about to compile: its passes are ranges by annotations alone. Not run by the executor, so not annotated itself. */
void COMPUTE(20XlaCompilationDevice)(void *self, void *op, void *context)
{
	void (*next)(void *, void *, void *) = REAL(COMPUTE(20XlaCompilationDevice));

	if (wants_ops() && tfp_tensorflow_is_settled())
		tfp_tensorflow_annotate();
	if (next)
		next(self, op, context);
}

#define MADE(name) \
	void name(void *self, void *environment, void *attributes) \
	{ \
		void (*next)(void *, void *, void *) = REAL(name); \
\
		if (wants_ops()) \
			tfp_tensorflow_device_made(self); \
		if (next) \
			next(self, environment, attributes); \
	}
MADE(_ZN10tensorflow6DeviceC2EPN3tsl3EnvENS_16DeviceAttributesE)
MADE(_ZN10tensorflow6DeviceC2EPN3tsl3EnvERKNS_16DeviceAttributesE)

/* A destructor. */
#define GONE(name, is_told, tell) \
	void name(void *self) \
	{ \
		void (*next)(void *) = REAL(name); \
\
		if (is_told) \
			tell(self); \
		if (next) \
			next(self); \
	}
GONE(_ZN10tensorflow6DeviceD2Ev, wants_ops(), tfp_tensorflow_device_gone)

#define ALLOCATE(name, parameters, arguments, allocator) \
	void *name parameters \
	{ \
		void *(*next)parameters = REAL(name); \
		int is_outer = is_wanted() && tfp_tensorflow_enter_allocator(); \
		void *block = next ? next arguments : NULL; \
\
		if (is_wanted()) \
			tfp_tensorflow_leave_allocator(); \
		if (is_outer && block && wants_ops()) \
			tfp_tensorflow_allocated(allocator, self, block, bytes, TFP_CALLER); \
		else if (is_outer && !block && next && bytes) \
			tfp_tensorflow_refused(allocator, self, bytes); \
		return block; \
	}
ALLOCATE(_ZN10tensorflow15MklCPUAllocator11AllocateRawEmm, (void *self, size_t alignment, size_t bytes), (self, alignment, bytes),
	 "mklcpu")
ALLOCATE(_ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE,
	 (void *self, size_t alignment, size_t bytes, const void *attributes), (self, alignment, bytes, attributes), NULL)

#define RELEASE(name, allocator) \
	void name(void *self, void *block) \
	{ \
		void (*next)(void *, void *) = REAL(name); \
		int is_outer = is_wanted() && tfp_tensorflow_enter_allocator(); \
\
		if (is_outer && block && wants_ops()) \
			tfp_tensorflow_freed(allocator, self, block); \
		if (next) \
			next(self, block); \
		if (is_wanted()) \
			tfp_tensorflow_leave_allocator(); \
	}
RELEASE(_ZN10tensorflow15MklCPUAllocator13DeallocateRawEPv, "mklcpu")
RELEASE(_ZN3tsl12BFCAllocator13DeallocateRawEPv, NULL)

void TFE_Execute(void *op, void **results, int *count, void *status)
{
	void (*next)(void *, void **, int *, void *) = REAL(TFE_Execute);

	int is_op = is_wanted() ? tfp_tensorflow_execute(op) : 0;

	if (next)
		next(op, results, count, status);
	if (is_wanted())
		tfp_tensorflow_executed(op, status, is_op);
}

void *TF_NewGraph(void)
{
	void *(*next)(void) = REAL(TF_NewGraph);
	void *graph = next ? next() : NULL;

	if (wants_ops())
		tfp_tensorflow_graph_made(graph);
	return graph;
}

void *TF_GraphToFunctionWithControlOutputs(const void *graph, const char *name, unsigned char appends_hash, int node_count,
					   const void *nodes, int input_count, const void *inputs, int output_count,
					   const void *outputs, const void *output_names, int control_count, const void *controls,
					   const void *control_names, const void *options, const char *description, void *status)
{
	void *(*next)(const void *, const char *, unsigned char, int, const void *, int, const void *, int, const void *, const void *,
		      int, const void *, const void *, const void *, const char *, void *) = REAL(TF_GraphToFunctionWithControlOutputs);
	void *function = NULL;

	if (next)
		function = next(graph, name, appends_hash, node_count, nodes, input_count, inputs, output_count, outputs, output_names,
				control_count, controls, control_names, options, description, status);
	if (wants_ops() && function)
		tfp_tensorflow_graph_traced(graph, name);
	return function;
}

/* A run is for the sake of its first target (an op that trains has no result), else of its first result. */
void TF_SessionRun(void *session, const void *options, const void *inputs, void *const *values, int input_count,
		   const struct tfp_tensorflow_output *outputs, void **results, int output_count, const void *const *targets,
		   int target_count, void *metadata, void *status)
{
	void (*next)(void *, const void *, const void *, void *const *, int, const struct tfp_tensorflow_output *, void **, int,
		     const void *const *, int, void *, void *) = REAL(TF_SessionRun);
	const void *node = targets && target_count > 0 ? targets[0] : outputs && output_count > 0 ? outputs[0].node : NULL;

	if (is_wanted())
		tfp_tensorflow_run(node, status);
	if (next)
		next(session, options, inputs, values, input_count, outputs, results, output_count, targets, target_count, metadata,
		     status);
	if (is_wanted())
		tfp_tensorflow_ran(status);
}

/*
 * The functions that return an object. Each body is a function of its own, because what C++ calls need not be a C function;
 * the real one is looked up under the name that C++ calls.
 */
#define RETURNING(name, body, parameters) \
	__attribute__((visibility("hidden"))) void *body parameters; \
	TFP_RETURNING_ENTRY(name, body); \
	void *body parameters

RETURNING(_ZN3tsl8profiler15TraceMeRecorder4StopEv, tfp_tensorflow_stop, (void *result))
{
	void *(*next)(void *) = REAL(_ZN3tsl8profiler15TraceMeRecorder4StopEv);

	if (next)
		TFP_CALL_RETURNING(next, result);
	if (is_wanted())
		tfp_tensorflow_session_ended();
	return result;
}

RETURNING(_ZN3tsl8profiler15TraceMeRecorder13StopRecordingEv, tfp_tensorflow_stop_recording, (void *result, void *self))
{
	void *(*next)(void *, void *) = REAL(_ZN3tsl8profiler15TraceMeRecorder13StopRecordingEv);

	if (next)
		TFP_CALL_RETURNING(next, result, self);
	if (is_wanted())
		tfp_tensorflow_session_ended();
	return result;
}

RETURNING(_ZN10tensorflow4data12IteratorBase14InitializeBaseEPNS0_15IteratorContextEPKS1_, tfp_tensorflow_iterator_made,
	  (void *result, void *self, void *context, const void *parent))
{
	void *(*next)(void *, void *, void *, const void *) =
		REAL(_ZN10tensorflow4data12IteratorBase14InitializeBaseEPNS0_15IteratorContextEPKS1_);

	if (is_wanted())
		tfp_iterator_made(self, parent);
	if (next)
		TFP_CALL_RETURNING(next, result, self, context, parent);
	return result;
}

RETURNING(_ZN10tensorflow4data19DatasetBaseIterator7GetNextEPNS0_15IteratorContextEPSt6vectorINS_6TensorESaIS5_EEPb,
	  tfp_tensorflow_next_element, (void *result, void *self, void *context, void *tensors, void *is_over))
{
	void *(*next)(void *, void *, void *, void *, void *) =
		REAL(_ZN10tensorflow4data19DatasetBaseIterator7GetNextEPNS0_15IteratorContextEPSt6vectorINS_6TensorESaIS5_EEPb);
	uint64_t call = is_wanted() ? tfp_iterator_begun(self) : 0;

	if (next)
		TFP_CALL_RETURNING(next, result, self, context, tensors, is_over);
	tfp_iterator_ended(call);
	return result;
}

GONE(_ZN10tensorflow4data19DatasetBaseIteratorD2Ev, is_wanted(), tfp_iterator_gone)
