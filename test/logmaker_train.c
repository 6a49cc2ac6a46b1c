/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small logs of a made training loop, marked and not, as the fuzzer's corpus has them: what belongs together stands together.
 *
 * Rule: each record is one that the library writes in such a place; times go on by one microsecond a record.
 */
#include "test/logmaker_train.h"

#include <stdio.h>
#include <stdlib.h>

/* Ops whose arithmetic follows from their inputs, one of each formula; an input that tells nothing. */
static const char *const arithmetic[][2] = {
	{"aten::addmm", "float[4];half[8,16];half[16,4]"},
	{"aten::baddbmm", "float[1];double[3,8,16];double[3,16,4]"},
	{"aten::matmul", "float[2,1,5,6];float[3,6,7]"},
	{"aten::mv", "float[8,16];float[16]"},
	{"aten::scaled_dot_product_attention", "float[2,4,8,16];float[2,4,8,16];float[2,4,8,16]"},
	{"aten::_scaled_dot_product_flash_attention_backward",
	 "float[2,4,8,16];float[2,4,8,16];float[2,4,8,16];float[2,4,8,16];float[2,4,8,16];float[2,4,8]"},
	{"aten::conv2d", "float[2,3,8,8];float[4,3,3,3];float[4];(1,1);(1,1);(1,1)"},
	{"aten::convolution", "float[2,3,8,8];float[4,3,3,3];float[4];(1,1);(1,1);(1,1);(0,0)"},
	{"aten::conv_transpose2d", "float[2,3,8,8];float[3,4,3,3];float[4];(2,2);(1,1);(1,1);(1,1)"},
	{"aten::convolution_backward",
	 "float[2,4,8,8];float[2,3,8,8];float[4,3,3,3];(4);(1,1);(1,1);(1,1);(0,0);(1,1,1)"},
	{"aten::mm", "float[8,-1];float[16,4"},
	{"aten::bmm", ""},
};
#define ARITHMETIC (sizeof arithmetic / sizeof *arithmetic)

enum { LINEAR = 1, RELU, MM, LOADER, ZERO, STEP, ADD_BACKWARD, SHAPE, ALLOCATOR, REGION, TRAIN, NAMES };
#define LAYERS 3
#define STEPS 8
#define LOOPS 40
#define READ 1409 /* row of io.def */

void train_name(struct train *train, unsigned id, const char *text)
{
	char number[24];

	snprintf(number, sizeof number, "#%u", id);
	maker_fact(&train->maker, TFP_TAG_op_name, (const char *const[]){number, text, NULL});
}

static void add_names(struct train *train)
{
	struct maker *maker = &train->maker;
	static const char *const names[NAMES] = {[LINEAR] = "aten::linear",
						 [RELU] = "aten::relu",
						 [MM] = "aten::mm",
						 [LOADER] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
						 [ZERO] = "Optimizer.zero_grad#SGD.zero_grad",
						 [STEP] = "Optimizer.step#SGD.step",
						 [ADD_BACKWARD] = "autograd::engine::evaluate_function: AddmmBackward0",
						 [SHAPE] = "float[16,32];float[32,64]",
						 [ALLOCATOR] = "pytorch cpu",
						 [REGION] = "output",
						 [TRAIN] = "__inference_train_step_12"};

	for (unsigned i = LINEAR; i < NAMES; i++)
		train_name(train, i, names[i]);
	maker_fact(maker, TFP_TAG_framework, (const char *const[]){"pytorch", "on", "ops", NULL});
	maker_fact(maker, TFP_TAG_python_code, (const char *const[]){"#1", "train", "/home/one/train.py", "#10", NULL});
	maker_fact(maker, TFP_TAG_python_code,
		   (const char *const[]){"#2", "compile", "/usr/lib/python3/site-packages/torch/_dynamo/convert_frame.py", "#20",
					 NULL});
	maker_fact(maker, TFP_TAG_iterator, (const char *const[]){"#1", "#0", "Iterator::Root::Prefetch", NULL});
	maker_fact(maker, TFP_TAG_iterator, (const char *const[]){"#2", "#1", "Iterator::Root::Prefetch::ParallelMapV2", NULL});
	maker_fact(maker, TFP_TAG_iterator_parameters, (const char *const[]){"#2", "#3", "parallelism=2,deterministic=1", NULL});
	maker_fact(maker, TFP_TAG_system_file, (const char *const[]){"/proc/self/io", "#0", NULL});
	maker_fact(maker, TFP_TAG_nvml_device, (const char *const[]){"#0", "GPU-1", "Made GPU", NULL});
}

uint64_t train_begin(struct train *train, uint32_t name, uint8_t source, uint8_t scope)
{
	PUT(train, op_begin, .key = ++train->key, .name = name, .source = source, .scope = scope);
	return train->key;
}

void train_end(struct train *train, uint64_t key, uint8_t source)
{
	PUT(train, op_end, .key = key, .source = source);
}

static uint64_t begin(struct train *train, uint32_t name, uint8_t scope)
{
	return train_begin(train, name, RECORD_FUNCTION, scope);
}

static void end(struct train *train, uint64_t key)
{
	train_end(train, key, RECORD_FUNCTION);
}

static void block(struct train *train, uint64_t address, uint64_t bytes)
{
	PUT(train, block_detail, .requested = bytes - 8, .op = MM, .region = REGION, .shape = SHAPE, .type = 1);
	PUT(train, block, .address = address, .bytes = bytes, .total = bytes, .reserved = 2 * bytes, .allocator = ALLOCATOR,
	    .operation = 1);
}

static void op(struct train *train, uint32_t name, uint8_t scope, uint64_t sequence)
{
	uint64_t outer = begin(train, name, scope), inner;

	PUT(train, op_link, .sequence = sequence, .forward_thread = scope == BACKWARD);
	PUT(train, op_inputs, .shapes = SHAPE);
	inner = begin(train, MM, FUNCTION);
	block(train, sequence * 4096, 1024);
	end(train, inner);
	end(train, outer);
	PUT(train, block, .address = sequence * 4096, .bytes = 1024, .allocator = ALLOCATOR, .operation = 2);
}

static void next_element(struct train *train)
{
	PUT(train, op_begin, .key = 1, .name = LOADER, .source = ITERATOR, .scope = 0);
	PUT(train, op_begin, .key = 2, .name = LOADER, .source = ITERATOR, .scope = 0);
	PUT(train, io, .duration = 500, .span = 900, .file = 1, .bytes = 4096, .calls = 2, .function = READ);
	PUT(train, op_end, .key = 2, .source = ITERATOR);
	PUT(train, op_end, .key = 1, .source = ITERATOR);
}

static void readings(struct train *train, uint64_t step)
{
	for (uint16_t kind = 1; kind < 110; kind++)
		PUT(train, reading, .value = step * 1000 + kind, .subject = kind >= 80 ? 100 : 0, .kind = kind);
	PUT(train, device_process, .used = 4096, .device = 0, .process = 100);
	PUT(train, python_collections, .young = step, .middle = step / 2, .full = 1, .collected = step * 3);
}

static void train_step(struct train *train, uint64_t number)
{
	uint64_t first, key;

	PUT(train, step, .number = number);
	key = begin(train, LOADER, USER);
	next_element(train);
	end(train, key);
	end(train, begin(train, ZERO, USER));
	first = train->sequence;
	for (int i = 0; i < LAYERS; i++) {
		op(train, LINEAR, FUNCTION, train->sequence++);
		op(train, RELU, FUNCTION, train->sequence++);
	}
	for (uint64_t at = train->sequence; at-- > first;)
		op(train, ADD_BACKWARD, BACKWARD, at);
	PUT(train, python_stack, .stack = 1 + number % 2);
	PUT(train, python_time, .thread = 1, .stack = number % 3 + 2, .wall = 9000, .cpu = number % 2 * 4000);
	PUT(train, sample, .address = number << 16, .requested = 600000, .usable = 600008, .interval = 524288, .stack = 1);
	PUT(train, refused, .requested = UINT64_C(1) << 40, .stack = 1);
	key = begin(train, STEP, USER);
	op(train, MM, FUNCTION, train->sequence++);
	end(train, key);
	readings(train, number);
	PUT(train, step_end, .number = number);
}

/* A scoring without a backward pass, a function of TensorFlow, ranges that cross threads. */
static void others(struct train *train)
{
	op(train, LINEAR, FUNCTION, train->sequence++);
	op(train, RELU, FUNCTION, train->sequence++);
	for (uint64_t i = 0; i < 4; i++) {
		PUT(train, op_begin, .key = 900 + i, .name = TRAIN, .source = EAGER, .scope = 0);
		PUT(train, op_end, .key = 900 + i, .source = EAGER);
		PUT(train, trace, .name = TRAIN, .start = train->maker.header.origin.realtime_ns + train->time, .duration = 700,
		    .arguments = SHAPE, .source = 3, .kind = 0);
		PUT(train, trace_number, .name = STEP, .value = i);
	}
}

static void marked(struct train *train)
{
	add_names(train);
	for (uint64_t i = 1; i <= STEPS; i++)
		train_step(train, i);
	others(train);
}

static void compute(struct train *train)
{
	for (uint32_t i = 0; i < 2 * ARITHMETIC; i++)
		train_name(train, NAMES + i, arithmetic[i / 2][i % 2]);
	for (uint32_t i = 0; i < ARITHMETIC; i++) {
		uint64_t key = begin(train, NAMES + 2 * i, FUNCTION);
		PUT(train, op_inputs, .shapes = NAMES + 2 * i + 1);
		end(train, key);
	}
}

/* Steps that nobody marks: the same ops again and again, a few others first and in between, now and then somebody scores. */
static void unmarked(struct train *train)
{
	add_names(train);
	for (int i = 0; i < 7; i++)
		end(train, begin(train, i % 2 ? SHAPE : TRAIN, FUNCTION));
	for (int i = 0; i < LOOPS; i++) {
		end(train, begin(train, LOADER, USER));
		end(train, begin(train, LINEAR, FUNCTION));
		end(train, begin(train, RELU, FUNCTION));
		end(train, begin(train, MM, FUNCTION));
		for (int k = 0; k < 3 && i % 10 == 9; k++)
			end(train, begin(train, REGION, FUNCTION));
	}
	compute(train);
}

void train_make(struct maker *maker, void (*work)(struct train *train))
{
	struct train train = {.sequence = 1};
	struct tfp_thread_slot slots[1] = {{.state = 1, .serial = 1, .tid = 100, .name = "python3"}};
	const struct tfp_pc pcs[] = {{0, 0, 0},
				     {0x401000, 1, TFP_PC_WRITTEN},
				     {0x402000, 1, TFP_PC_WRITTEN | TFP_PC_EXACT},
				     {UINT64_C(1) << 32 | 12, 0, TFP_PC_WRITTEN | TFP_PC_PYTHON},
				     {UINT64_C(2) << 32 | 25, 0, TFP_PC_WRITTEN | TFP_PC_PYTHON}};
	const uint64_t nodes[] = {0, UINT64_C(0) << 32 | 1, UINT64_C(1) << 32 | 2, UINT64_C(0) << 32 | 3, UINT64_C(3) << 32 | 4};

	train.records = calloc(1, sizeof *train.records);
	if (!train.records)
		abort();
	maker_begin_seed(&train.maker);
	maker_live(&train.maker, TFP_BLOCK_THREADS, NULL, slots, sizeof slots);
	train.maker.live.threads_count = 1;
	maker_live(&train.maker, TFP_BLOCK_PCS, NULL, pcs, sizeof pcs);
	maker_live(&train.maker, TFP_BLOCK_NODES, NULL, nodes, sizeof nodes);
	work(&train);
	maker_events(&train.maker, 1, 0, 1, 0, train.records);
	train.maker.live.end_kind = TFP_END_EXIT;
	train.maker.live.end_time = train.time + 1000;
	maker_finish(&train.maker);
	free(train.records);
	*maker = train.maker;
}

void maker_seed_train(struct maker *maker)
{
	train_make(maker, marked);
}

void maker_seed_loop(struct maker *maker)
{
	train_make(maker, unmarked);
}
