/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small logs of loops in other ways of training than logmaker_train.c's, as the fuzzer's corpus has them: TensorFlow op by op and by
 * functions, JAX, two optimizers of PyTorch that take turns.
 *
 * Rule: as there. Names are those by which the reducer knows what trains.
 */
#include "test/logmaker_train.h"

#include <stddef.h>
#include <stdlib.h>

#define TRACEME 3
#define ROUNDS 24
#define SEEN_EACH 6 /* rounds: then something is scored, too */

static void add_names(struct train *train, const char *const *names, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		train_name(train, i, names[i]);
}

static void one(struct train *train, uint32_t name, uint8_t source, uint8_t scope)
{
	train_end(train, train_begin(train, name, source, scope), source);
}

static void eager(struct train *train)
{
	enum { MAKE = 1, VARIABLE, BATCH, MATMUL, GRADIENT, CHANGE, READ, NAMES };
	static const char *const names[NAMES] = {[MAKE] = "MakeIterator",  [VARIABLE] = "VarHandleOp",
						 [BATCH] = "IteratorGetNext", [MATMUL] = "MatMul",
						 [GRADIENT] = "ReluGrad",  [CHANGE] = "AssignSubVariableOp",
						 [READ] = "ReadVariableOp"};

	add_names(train, names, NAMES);
	for (int i = 0; i < 4; i++)
		one(train, VARIABLE, EAGER, 0);
	for (int epoch = 0; epoch < 2; epoch++) {
		one(train, MAKE, EAGER, 0);
		for (int i = 0; i < ROUNDS; i++) {
			one(train, BATCH, EAGER, 0);
			one(train, MATMUL, EAGER, 0);
			for (int k = 0; k < 2 && i % SEEN_EACH; k++) {
				one(train, GRADIENT, EAGER, 0);
				one(train, CHANGE, EAGER, 0);
			}
		}
	}
	for (int i = 0; i < ROUNDS; i++) { /* no iterator, changes alone */
		one(train, READ, EAGER, 0);
		one(train, GRADIENT, EAGER, 0);
		one(train, CHANGE, EAGER, 0);
	}
}

/* A call of a function with one op in it. */
static void call(struct train *train, uint32_t function, uint32_t op, uint32_t update)
{
	uint64_t key = train_begin(train, function, EAGER, 0);

	one(train, op, TRACEME, 0);
	if (update)
		one(train, update, TRACEME, 0);
	train_end(train, key, EAGER);
}

static void functions(struct train *train)
{
	enum { MAKE = 1, LEARN, SCORE, RUN, FORWARD, TAPE, ADD, SUB, APPLY, BATCH, NAMES };
	static const char *const names[NAMES] = {[MAKE] = "MakeIterator",
						 [LEARN] = "__inference_learn_17",
						 [SCORE] = "__inference_score_19",
						 [RUN] = "__session_run Adam_1",
						 [FORWARD] = "model/dense/MatMul:MatMul",
						 [TAPE] = "gradient_tape/model/dense/MatMul:MatMul",
						 [ADD] = "while/body/sgd_1/AssignAddVariableOp_2:AssignAddVariableOp",
						 [SUB] = "adam/sub:AssignSubVariableOp",
						 [APPLY] = "Adam/ResourceApplyAdam:ResourceApplyAdam",
						 [BATCH] = "IteratorGetNext"};
	static const uint32_t updates[] = {ADD, SUB, APPLY};

	add_names(train, names, NAMES);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (i % SEEN_EACH == 0)
			one(train, MAKE, EAGER, 0);
		one(train, BATCH, EAGER, 0);
		call(train, LEARN, TAPE, updates[i % 3]);
		if (i % SEEN_EACH == 1)
			call(train, SCORE, FORWARD, 0);
		if (i > ROUNDS / 2)
			call(train, RUN, TAPE, APPLY);
	}
}

static void compiled(struct train *train)
{
	enum { FIRST = 1, COMPILE, LEARN, SPLIT, EAGER_OP, KERAS, SCORE, PLACE, NAMES };
	static const char *const names[NAMES] = {[FIRST] = "XLA call: train (train.py, line 12) in __call__ +0x1",
						 [COMPILE] = "XLA call: train (train.py, line 12) in backend_compile +0x2",
						 [LEARN] = "XLA call: train (train.py, line 12) +0x3",
						 [SPLIT] = "XLA call: train (train.py, line 13) in random.split +0x3",
						 [EAGER_OP] = "XLA call: train (train.py, line 14) in apply_primitive +0x3",
						 [KERAS] = "XLA call: train (train.py, line 15) in fit.iterator_step +0x3",
						 [SCORE] = "XLA call: main (train.py, line 30) +0x3",
						 [PLACE] = "xla +0x9"};
	static const uint32_t loop[] = {SPLIT, LEARN, EAGER_OP, PLACE};

	add_names(train, names, NAMES);
	one(train, FIRST, XLA, 0);
	one(train, COMPILE, XLA, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < sizeof loop / sizeof *loop; k++)
			one(train, loop[k], XLA, 0);
		if (i % SEEN_EACH == 2)
			one(train, SCORE, XLA, 0);
	}
	for (int i = 0; i < ROUNDS; i++)
		one(train, KERAS, XLA, 0);
}

/* A layer with a gradient, and its backward function. */
static void learn(struct train *train, uint32_t layer, uint32_t gradient, int layers)
{
	uint64_t first = train->sequence;

	for (int i = 0; i < layers; i++) {
		uint64_t key = train_begin(train, layer, RECORD_FUNCTION, FUNCTION);
		PUT(train, op_link, .sequence = train->sequence++, .forward_thread = 0);
		train_end(train, key, RECORD_FUNCTION);
	}
	for (uint64_t at = train->sequence; at-- > first;) {
		uint64_t key = train_begin(train, gradient, RECORD_FUNCTION, BACKWARD);
		PUT(train, op_link, .sequence = at, .forward_thread = 1);
		train_end(train, key, RECORD_FUNCTION);
	}
}

static void turns(struct train *train)
{
	enum { LOADER = 1, LINEAR, CONV, LINEAR_BACKWARD, CONV_BACKWARD, CRITIC, MAKER, ZERO, DRAW, SCALE, NAMES };
	static const char *const names[NAMES] = {[LOADER] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
						 [LINEAR] = "aten::linear",
						 [CONV] = "aten::conv2d",
						 [LINEAR_BACKWARD] = "autograd::engine::evaluate_function: AddmmBackward0",
						 [CONV_BACKWARD] = "autograd::engine::evaluate_function: ConvolutionBackward0",
						 [CRITIC] = "Optimizer.step#SGD.step",
						 [MAKER] = "Optimizer.step#Adam.step",
						 [ZERO] = "Optimizer.zero_grad#SGD.zero_grad",
						 [DRAW] = "aten::randint",
						 [SCALE] = "aten::_amp_update_scale_"};

	add_names(train, names, NAMES);
	PUT(train, framework_thread, .id = 1, .source = RECORD_FUNCTION);
	for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
		int is_second = i >= ROUNDS; /* another training */
		one(train, is_second ? DRAW : LOADER, RECORD_FUNCTION, is_second ? FUNCTION : USER);
		one(train, ZERO, RECORD_FUNCTION, USER);
		learn(train, LINEAR, LINEAR_BACKWARD, is_second ? 3 : 1);
		PUT(train, step, .number = 2 * i + 1, .source = RECORD_FUNCTION);
		one(train, CRITIC, RECORD_FUNCTION, USER);
		if (i % SEEN_EACH == 3)
			for (int k = 0; k < 3; k++)
				one(train, LINEAR, RECORD_FUNCTION, FUNCTION);
		if (is_second)
			continue;
		learn(train, CONV, CONV_BACKWARD, 2);
		PUT(train, step, .number = 2 * i + 2, .source = RECORD_FUNCTION);
		one(train, MAKER, RECORD_FUNCTION, USER);
		one(train, SCALE, RECORD_FUNCTION, FUNCTION);
	}
}

void maker_seed_eager(struct maker *maker)
{
	train_make(maker, eager);
}

void maker_seed_functions(struct maker *maker)
{
	train_make(maker, functions);
}

void maker_seed_compiled(struct maker *maker)
{
	train_make(maker, compiled);
}

void maker_seed_turns(struct maker *maker)
{
	train_make(maker, turns);
}

#define READINGS 40

void maker_seed_later(struct maker *maker)
{
	struct maker_records *records = calloc(1, sizeof *records);

	if (records == NULL)
		abort();
	maker_begin_seed(maker);
	for (unsigned i = 0; i < READINGS; i++)
		MAKER_ADD(records, 1000 * (i + 1), reading, .value = i, .subject = 1, .kind = i % 2 ? 200 : 1);
	maker_chunk(maker, 1, 0, 1, records);
	maker_finish(maker);
	free(records);
}
