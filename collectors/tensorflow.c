/* SPDX-License-Identifier: Apache-2.0 */
/* What TensorFlow's calls mean: ops, eager calls, steps, sessions; see collectors/tensorflow.h. */
#include "collectors/tensorflow.h"

#include "collectors/heap.h"
#include "collectors/opnames.h"
#include "collectors/process.h"
#include "collectors/ranges.h"
#include "collectors/tensorflow_prove.h"
#include "collectors/tensorflow_trace.h"
#include "collectors/window.h"
#include "writer/store.h"
#include "writer/sys.h"

#include <sys/syscall.h>

#include "writer/poison.h"

#define NAME_MOST 65536
#define LEVEL_ALL 3 /* TraceMe levels: 1 user, 2 info, 3 verbose (with shapes) */
#define LEVEL_OPS 2 /* ops where the ends of annotations cannot be seen */
#define LEVEL_USER 1
#define USER_SCOPE 7
#define YIELDS_MOST 1000
#define OK 0 /* TF_Code; else an iterator was at its end, or the function raised: either way nothing was learnt */

/* Written by the one thread that attaches, before anything is switched on; kept across fork. */
static struct tfp_tensorflow_api api;
static _Atomic int is_settled, is_attached;
static int our_level;
static uint32_t has_ops; /* OPS=steps: TensorFlow is never asked for TraceMes and annotations */
static _Atomic int sessions; /* of the host's own profiler, open now */
static struct tfp_proof annotations, names;

/*
 * What TensorFlow is asked for: only while a window is open, as making it costs more than we do; annotations only where ops are not seen
 * as devices compute them (collectors/tensorflow_compute.c).
 */
enum { TRACES = 1, ANNOTATIONS = 2 };
static _Atomic uint32_t wants = TRACES | ANNOTATIONS;
static _Atomic uint32_t is_listening;
/*
 * TensorFlow annotates what the executor runs, and not the kernels that an eager call of an op runs by itself: those are that op. So
 * annotations tell the two apart there, and are asked for from such a call to the next one of a function.
 */
static _Atomic uint32_t has_eager, eager_calls; /* ANNOTATIONS or 0; of ops, open now */
static _Atomic int is_changing; /* a thread is about that; the others go on */

static void change_listening(void);

static inline uint32_t wanted(void)
{
	return tfp_is_open & has_ops ? wants | has_eager : 0;
}

/* Where TensorFlow has called us: a window's edge may come from anywhere, also from inside malloc. */
static inline void follow_window(void)
{
	if (TFP_UNLIKELY(wanted() != is_listening))
		change_listening();
}

struct tfp_thread *tfp_tensorflow_enter(struct tfp_lane **lane)
{
	follow_window();
	return tfp_window_enter(lane);
}

static void tell(const char *how, const char *detail)
{
	tfp_fact_framework("tensorflow", how, detail);
}

void tfp_tensorflow_refuted(const char *what)
{
	tell("partly", what);
	if (tfp_state && tfp_state->phase == TFP_STATE_READY)
		tfp_fact_pair(TFP_TAG_note, "tensorflow_layout", what);
}

int tfp_tensorflow_is_settled(void)
{
	return is_settled;
}

void tfp_tensorflow_absent(const char *why)
{
	if (__atomic_exchange_n((int *)&is_settled, 1, __ATOMIC_ACQ_REL))
		return;
	tell("absent", why);
	tfp_fact_pair(TFP_TAG_note, "tensorflow_absent", why);
}

/* Unless somebody traces already: then the level is theirs until they stop. */
static void raise_level(void)
{
	int off = -1;

	if (api.trace_level)
		__atomic_compare_exchange_n((int *)api.trace_level, &off, our_level, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int has_annotations(void)
{
	return api.enable_annotations && api.has_pop;
}

static void lower_level(void)
{
	int ours = our_level;

	if (api.trace_level)
		__atomic_compare_exchange_n((int *)api.trace_level, &ours, -1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * What the host's own profiler uses meanwhile stays on until it stops; and the level is not raised while it starts, for it starts
 * only where nobody traces. What stood in its way is done by whoever sees its session end, hence is_listening before sessions.
 */
static __attribute__((noinline)) void change_listening(void)
{
	if (!is_attached || __atomic_exchange_n((int *)&is_changing, 1, __ATOMIC_SEQ_CST))
		return;
	uint32_t now = wanted(), before = is_listening;
	if (now != before && (now || sessions <= 0)) {
		is_listening = now;
		if (!now)
			lower_level();
		else if (sessions <= 0)
			raise_level();
		if (has_annotations() && (now ^ before) & ANNOTATIONS)
			api.enable_annotations((now & ANNOTATIONS) != 0);
	}
	__atomic_store_n((int *)&is_changing, 0, __ATOMIC_RELEASE);
}

void tfp_tensorflow_attach(const struct tfp_tensorflow_api *found, int wants_ops, int wants_all)
{
	if (__atomic_exchange_n((int *)&is_settled, 1, __ATOMIC_ACQ_REL))
		return;
	api = *found;
	has_ops = wants_ops != 0;
	our_level = wants_all ? LEVEL_ALL : has_annotations() ? LEVEL_USER : LEVEL_OPS;
	tfp_tensorflow_begin_trace(&api);
	if (has_annotations() && has_ops && !wants_all && tfp_tensorflow_begin_compute(&api))
		wants = TRACES;
	is_attached = 1;
	follow_window();
	if (!has_ops) {
		tell("on", "steps, calls of functions and sessions (OPS=steps)");
		return;
	}
	tell(has_annotations() && api.trace_level ? "on" : "partly",
	     has_annotations()
		     ? "ops of devices or by annotations, eager calls, steps, TraceMe ranges, allocations of oneDNN's and of BFC "
		       "allocators"
		     : "ops by TraceMe (this TensorFlow does not show the ends of annotations), eager calls, steps, allocations "
		       "of "
		       "oneDNN's and of BFC allocators");
}

int tfp_tensorflow_is_watched(void)
{
	return sessions > 0;
}

static void put_session(int is_open, int level)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), framework_session, .is_open = (uint8_t)is_open, .level = (uint8_t)level,
		.source = TFP_FROM_traceme);
	tfp_thread_leave(thread);
}

void tfp_tensorflow_session_begin(int level)
{
	if (!is_attached || !api.trace_level)
		return;
	put_session(1, level);
	sessions++;
	for (int i = 0; i < YIELDS_MOST && is_changing; i++) /* a thread that has not seen the session may be about to raise the level */
		tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	lower_level(); /* Start answers "no" where the level is set already */
}

void tfp_tensorflow_session_began(int is_open)
{
	if (is_open || !is_attached || !api.trace_level)
		return;
	sessions--;
	put_session(0, 0);
	if (is_listening)
		raise_level();
}

void tfp_tensorflow_session_ended(void)
{
	if (!is_attached || !api.trace_level || sessions <= 0)
		return;
	sessions--;
	put_session(0, 0);
	if (is_listening)
		raise_level();
	if (is_listening & ANNOTATIONS && has_annotations())
		api.enable_annotations(1); /* a session that used a device has switched them off */
}

void tfp_tensorflow_annotate(void)
{
	wants = TRACES | ANNOTATIONS;
	if (is_attached)
		follow_window();
}

void tfp_tensorflow_computed(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), op_end, .source = TFP_FROM_annotation);
	tfp_thread_leave(thread);
}

void tfp_tensorflow_push(const char *name, size_t length)
{
	struct tfp_lane *lane;

	if (!is_attached || !TFP_PROVE(&annotations, tfp_prove_text(name, length)))
		return;
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return;
	size_t visible = tfp_tensorflow_plain(name, length < NAME_MOST ? length : NAME_MOST);
	/* Ops have no arguments; what has some is a compiler's pass, a module or the like: a range. */
	TFP_PUT(thread, lane, tfp_now(), op_begin, .name = tfp_op_name(thread, name, visible), .source = TFP_FROM_annotation,
		.scope = visible < length ? USER_SCOPE : 0);
	thread->op_pushed = 1; /* the device that computes the op tells it no second time */
	tfp_thread_leave(thread);
}

void tfp_tensorflow_pop(void)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = tfp_self;

	if (thread && thread->is_ready == 1) /* outside of windows, too */
		thread->op_pushed = 0;
	thread = is_attached && !annotations.is_refuted ? tfp_tensorflow_enter(&lane) : NULL;
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), op_end, .source = TFP_FROM_annotation);
	tfp_thread_leave(thread);
}

static int holds(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t i = 0;
		while (part[i] && text[i] == part[i])
			i++;
		if (!part[i])
			return 1;
	}
	return 0;
}

/* Whether a name ends with a part, "_" and a number. */
static int ends_with(const char *name, const char *part)
{
	size_t end = tfp_length(name), length = tfp_length(part);

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	if (end < length + 1 || name[end - 1] != '_')
		return 0;
	for (size_t i = 0; i < length; i++)
		if (name[end - 1 - length + i] != part[i])
			return 0;
	return 1;
}

/*
 * Functions made by tf.function are called __inference_NAME_NUMBER. The first five are those by which Keras trains and tests (the
 * second is Keras 2's, to TensorFlow 2.15; the fifth is called for train_on_batch and test_on_batch alone); the others are what
 * people call theirs.
 */
static uint8_t kind_of(const char *name)
{
	static const char steps[][28] = {"_train_function", "__inference_test_function", "_multi_step_on_iterator",
					 "_one_step_on_iterator", "_one_step_on_data", "_train_step", "_training_step",
					 "_train_batch", "_train_one_batch", "_train_one_step"};

	if (!holds(name, "__inference_"))
		return TFP_OP_PLAIN;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (ends_with(name, steps[i]))
			return TFP_OP_STEP;
	return TFP_OP_FIRST;
}

/* The name of an eager op; NULL = cannot be had. Kind: TFP_OP_STEP a step, TFP_OP_FIRST another function. */
static const char *eager_name(const void *op)
{
	const char *name = is_attached && api.op_name ? api.op_name(op, NULL) : NULL;

	return name && TFP_PROVE(&names, tfp_prove_text(name, 1)) ? name : NULL;
}

/* OPS=steps: ops that are no functions. */
static inline int is_left_out(uint8_t kind)
{
	return !has_ops && kind == TFP_OP_PLAIN;
}

/*
 * Before anything of the call runs. A thread that was about the change when this process was forked is none here: it is waited for once.
 */
static void await_annotations(void)
{
	static _Atomic uint32_t is_stuck;

	for (int i = 0; i < YIELDS_MOST && !is_stuck && wanted() & ~is_listening; i++) {
		change_listening();
		if (wanted() & ~is_listening)
			tfp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		is_stuck = i == YIELDS_MOST - 1;
	}
}

/* An eager call begins, of an op or of a function. Whether of an op: then annotations are on. */
static int begin_eager(const char *name)
{
	int is_function = name && name[0] == '_' && name[1] == '_';
	struct tfp_thread *thread = tfp_self;

	tfp_tensorflow_look_at_devices();
	if (!thread || thread->is_ready != 1)
		thread = tfp_thread_start();
	if (!thread)
		return 0;
	if (is_function) {
		if (!eager_calls)
			has_eager = 0;
		return 0;
	}
	thread->op_eager++;
	eager_calls++;
	has_eager = ANNOTATIONS;
	await_annotations();
	return 1;
}

static void end_eager(int is_op)
{
	struct tfp_thread *thread = tfp_self;

	if (!is_op)
		return;
	eager_calls -= eager_calls > 0;
	if (thread && thread->is_ready == 1)
		thread->op_eager -= thread->op_eager > 0;
}

int tfp_tensorflow_execute(const void *op)
{
	struct tfp_lane *lane;
	const char *text = eager_name(op);
	uint8_t kind = text ? kind_of(text) : TFP_OP_PLAIN;
	int is_op = is_attached && has_ops ? begin_eager(text) : 0;

	if (!text || is_left_out(kind))
		return is_op;
	if (kind == TFP_OP_STEP) {
		tfp_step_begin(TFP_FROM_eager, TFP_STEP_COUNTED, 0);
		if (tfp_self && tfp_self->is_ready == 1) /* outside of windows, too: a call without data counts no step */
			tfp_self->op_step = (uint64_t)(uintptr_t)op;
	}
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return is_op;
	TFP_PUT(thread, lane, tfp_now(), op_begin, .name = tfp_op_name(thread, text, tfp_op_length(text, NAME_MOST)),
		.key = (uint64_t)(uintptr_t)op, .source = TFP_FROM_eager, .scope = kind == TFP_OP_PLAIN ? 0 : USER_SCOPE);
	tfp_thread_leave(thread);
	return is_op;
}

void tfp_tensorflow_executed(const void *op, const void *status, int is_op)
{
	struct tfp_lane *lane;

	end_eager(is_op);
	const char *text = has_ops ? NULL : eager_name(op);
	int is_told = is_attached && !names.is_refuted && api.op_name && !(text && is_left_out(kind_of(text)));
	struct tfp_thread *thread = is_told ? tfp_tensorflow_enter(&lane) : NULL;

	if (thread) {
		TFP_PUT(thread, lane, tfp_now(), op_end, .key = (uint64_t)(uintptr_t)op, .source = TFP_FROM_eager);
		tfp_thread_leave(thread);
	}
	thread = tfp_self;
	if (thread && thread->is_ready == 1 && thread->op_step == (uint64_t)(uintptr_t)op) {
		thread->op_step = 0;
		tfp_step_end(TFP_FROM_eager, status && api.status_code && api.status_code(status) != OK);
	}
}

#define RUN "__session_run " /* as functions have it: what begins with "__" is a call of a graph */
#define NODE_MOST 200	     /* bytes of a node's name that are kept; they have some 50 */

void tfp_tensorflow_run(const void *node, const void *call)
{
	struct tfp_lane *lane;
	const char *name = node && is_attached && api.node_name ? api.node_name(node) : NULL;
	char text[sizeof(RUN) + NODE_MOST] = RUN;
	size_t length = sizeof(RUN) - 1, of_name;

	if (!is_attached || (name && !TFP_PROVE(&names, tfp_prove_text(name, 1))))
		return;
	if (has_ops)
		begin_eager(RUN);
	of_name = name ? tfp_length(name) : 0;
	of_name = of_name < NODE_MOST ? of_name : NODE_MOST;
	tfp_copy(text + length, name ? name : "", of_name);
	struct tfp_thread *thread = tfp_tensorflow_enter(&lane);
	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), op_begin, .name = tfp_op_name(thread, text, length + of_name),
		.key = (uint64_t)(uintptr_t)call, .source = TFP_FROM_eager, .scope = USER_SCOPE);
	tfp_thread_leave(thread);
}

void tfp_tensorflow_ran(const void *call)
{
	struct tfp_lane *lane;
	struct tfp_thread *thread = is_attached && !names.is_refuted ? tfp_tensorflow_enter(&lane) : NULL;

	if (!thread)
		return;
	TFP_PUT(thread, lane, tfp_now(), op_end, .key = (uint64_t)(uintptr_t)call, .source = TFP_FROM_eager);
	tfp_thread_leave(thread);
}
